"""Steps of the scenario with a Linux guest in which mprof-run records a Debian server under load, until the guest is destroyed, beside
a guest of the lab.

Each step has the Lab as its argument. The evidence is the output of mprofctl.
"""

import os
import re

import xen

CTL = ["mprofctl", "--host", "unix:/run/mprofd/http.sock"]
NAME = "server"
BESIDE = "beside"
VCPU = 1024  # the stream of Xen's own view
PAGES = 60000  # a guest may have a quarter: seven rings of 8 MiB


def configure():
    with open("/etc/mprofd/mprofd.conf", "a", encoding="utf-8") as f:
        f.write(f"\n[xen]\npages = {PAGES}\n\n[policy {NAME}]\nvcpu = yes\n")


class Server(xen.Guest):
    """The guest, which takes no commands."""

    def ready(self, seconds=180):
        xen.wait(lambda: len(self.keys()) >= 5, seconds, f"{self.name} publishes")
        xen.log(f"{self.name} is domain {self.domid} and has published")

    def keys(self):
        """Return {stream: {key: value}}."""
        base = f"{self.node}/data/mprof/stream"
        return {k: {key: self.store.read(f"{base}/{k}/{key}") for key in self.store.list(f"{base}/{k}")} for k in self.store.list(base)}


def console():
    try:
        with open(f"/var/log/xen/console/guest-{NAME}.log", encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def turns():
    return len(re.findall(r"lab: served ", console()))


def interrupts():
    """Return how often the kernel of dom0 has told mprofd of an event on one of its event channels."""
    with open("/proc/interrupts", encoding="ascii") as f:
        return sum(int(line.split()[1]) for line in f if line.rstrip().endswith("evtchn:mprofd"))


def linux_server_publishes(lab):
    lab.guests[NAME] = None
    lab.guests[NAME] = server = Server(lab.store, NAME, "none", image="guest-server.cpio", memory=300)
    server.ready()
    # The server has its threads when its socket is there.
    xen.wait(lambda: "lab: server" in console(), 180, "the server runs", step=1)
    xen.wait(lambda: lab.running(NAME), 60, f"mprofd has {NAME}")
    keys = server.keys()
    xen.save("server-keys.json", keys)
    xen.wait(lambda: len((xen.domain(NAME) or {}).get("streams", [])) >= len(keys), 60, "mprofd has every stream")


def linux_server_works(lab):
    lab.create(BESIDE, "rate=20")
    lab.guests[BESIDE].ready()
    xen.wait(lambda: lab.running(BESIDE), 60, f"mprofd has {BESIDE}")
    kicks = interrupts()

    def worked():
        xen.log(f"{turns()} turns of the clients, {interrupts() - kicks} kicks")
        return turns() >= 5 and interrupts() > kicks and VCPU in [stream["stream"] for stream in xen.domain(NAME)["streams"]]

    xen.wait(worked, 400, "the server serves, mprofd gets a kick, and records the vCPU", step=5)
    lab.note(server_kicks=interrupts() - kicks)
    xen.save("server-live.json", xen.domain(NAME))
    xen.save("server-metrics.txt", xen.metrics())


def linux_server_is_destroyed(lab):
    lab.death(NAME, "destroyed", lambda: xen.run("xl", "destroy", NAME))
    capture = xen.captures(NAME)[0]
    os.mkdir("/out/evidence/server")
    for stream in capture["streams"]:
        lab.curl(f"server/{stream['stream']}.ctf", f"/v1/captures/{capture['id']}/trace?stream={stream['stream']}")
    for verb in ("dump", "why", "stats", "threads"):
        xen.save(f"server-{verb}.txt", xen.run("mprofctl", verb, "/out/evidence/server", check=False, seconds=300))
    xen.save("server-vcpu.json", xen.run("mprofctl", "dump", "--json", f"/out/evidence/server/{VCPU}.ctf"))
    xen.save("server-console.txt", console())


def linux_server_together(lab):
    """Both guests on one time line."""
    capture = str(xen.captures(NAME)[0]["id"])
    lab.guests[BESIDE].do("write", 5)
    lab.death(BESIDE, "destroyed", lambda: xen.run("xl", "destroy", BESIDE))
    both = [capture, str(xen.captures(BESIDE)[0]["id"])]
    xen.save("server-bundle.txt", xen.run(*CTL, "bundle", *both, "-o", "/out/evidence/server-bundle.tar", seconds=300))
    xen.run(*CTL, "view", *both, "-o", "/out/evidence/server-view.html", seconds=300)
    # The archive, for a look at the page.
    xen.run("systemctl", "stop", "mprofd")
    xen.run("tar", "cf", "/out/evidence/server-archive.tar", "-C", "/var/lib/mprofd", ".")
    xen.run("systemctl", "start", "mprofd")
    xen.wait(lambda: xen.ask("/v1/domains") is not None, 60, "the socket answers")


def steps():
    return [linux_server_publishes, linux_server_works, linux_server_is_destroyed, linux_server_together]
