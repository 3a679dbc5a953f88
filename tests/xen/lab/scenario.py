"""Run a scenario in dom0: guests publish, live and die, the daemons are restarted and killed.
/out/scenario names the scenario.

This script only checks what it needs to go on. It writes evidence/ for judge.py on the host. It
reports a failed step there and begins the next one.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time

import fleet_host
import linux_server
import packaged
import unikernels
import xen
from xen import step

RATE = 200  # events a second, in each stream
ENOUGH = 200 * 28  # bytes of events of a running guest
SLOW = 10  # the same while no daemon runs: the smallest ring then holds a quarter of an hour


class Lab:
    def __init__(self):
        self.store = xen.XenStore()
        self.guests = {}
        self.seen = {}  # measurements, by name

    def note(self, **what):
        self.seen.update(what)
        xen.save("seen.json", self.seen)

    # ---- the daemons

    def attached(self, names, seconds=60):
        """Wait until the daemon has mapped each ring of these guests, and lists them as running."""
        pid = xen.live_pid()
        rings = self.rings(names)
        _, took = xen.wait(lambda: xen.maps(pid) >= rings, seconds, f"mprofd maps {rings} rings")
        for name in names:
            xen.wait(lambda: self.running(name), seconds, f"mprofd has {name}")
        xen.log(f"{rings} rings were mapped after {took:.2f} s")
        return took

    def rings(self, names=None):
        return sum(self.guests[name].streams for name in names or self.names())

    @staticmethod
    def running(name):
        domain = xen.domain(name)
        return domain and domain["state"] == "running" and domain["streams"]

    def names(self):
        """Return the names of the live guests."""
        return [name for name, guest in self.guests.items() if guest and guest.alive]

    @step
    def enable(self):
        """The package has enabled the units. Disable and enable them as a person does."""
        xen.run("systemctl", "stop", *packaged.UNITS)
        xen.run("systemctl", "disable", "mprofd")
        self.note(disabled=packaged.states())
        xen.run("systemctl", "enable", "--now", "mprofd")
        xen.wait(lambda: xen.ask("/v1/domains") is not None, 30, "the socket answers")
        self.rights()

    def rights(self):
        pid = xen.live_pid()
        tasks = {}
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/status", encoding="utf-8") as f:
                tasks[task] = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
        shown = xen.run("ps", "-o", "user:16,pid,ppid,nlwp,comm", "-C", "mprofd,mprofd-http")
        active = {unit: xen.run("systemctl", "is-active", unit, check=False).strip() for unit in ("mprofd", "mprofd-http.socket")}
        self.note(tasks=tasks, processes=shown, active=active, user=xen.run("id", "-u", "mprofd").strip())

    # ---- guests

    def create(self, name, words, **options):
        self.guests[name] = None
        self.guests[name] = xen.Guest(self.store, name, words, **options)

    @step
    def publish(self, full):
        self.create("legacy", f"rate={RATE}", crash="preserve")
        self.create("directory", f"directory,pages=1280,rate={RATE}", memory=88)
        self.create("streams", f"streams=2,rate={RATE}")
        self.create("kick", f"kick,packets=16,rate={RATE}", reboot="restart" if full else "destroy")
        if os.path.exists("/run/lab/guest-play.cpio"):
            self.create("replay", "play=/traces", image="guest-play.cpio", memory=128)
        for name in self.names():
            self.guests[name].ready()
        self.attached(self.names())

    @step
    def live(self):
        """Save the lists and each trace while the guests write, by curl and by mprofctl."""
        xen.save("domains.json", xen.ask("/v1/domains"))
        for name in self.names():
            for stream in xen.domain(name)["streams"]:
                path = f"/v1/domains/{name}/trace?stream={stream['stream']}"
                if name != "replay":  # which writes later
                    xen.wait(lambda path=path: len(xen.get(path)[2]) > ENOUGH, 60, f"{name} has events")
                self.curl(f"live-{name}-{stream['stream']}.ctf", path)
        fetch = ["mprofctl", "--host", "unix:/run/mprofd/http.sock", "fetch", "legacy", "-o", "/out/evidence/live-mprofctl.ctf"]
        xen.log(xen.run(*fetch, check=False))

    @staticmethod
    def curl(name, path):
        url = f"http://localhost{path}"
        xen.run("curl", "-sS", "--fail", "--unix-socket", "/run/mprofd/http.sock", "-o", f"/out/evidence/{name}", url)

    @step
    def fill(self):
        """Fill the large ring's pages, with pauses in which they are copied."""
        for _ in range(6):
            self.guests["directory"].do("write", 34000)
            time.sleep(0.5)

    @step
    def play(self):
        self.guests["replay"].do("play")

    def write_at(self, rate):
        for name in self.names():
            if name != "replay":
                self.guests[name].do("rate", rate)

    @step
    def restart(self):
        """An emulated machine may need minutes to start mprofd again. The rings must hold that
        long, because the judge lets no event be lost."""
        self.write_at(SLOW)
        xen.run("systemctl", "restart", "mprofd")
        self.note(attached_again=self.attached(self.names()))
        self.write_at(RATE)

    @step
    def kill(self):
        self.write_at(SLOW)
        pid = xen.live_pid()
        os.kill(pid, signal.SIGKILL)
        xen.wait(lambda: xen.main_pid() not in (0, pid), 120, "systemd starts mprofd again")
        xen.wait(lambda: xen.run("systemctl", "is-active", "mprofd", check=False).strip() == "active", 120, "mprofd is ready")
        self.attached(self.names())
        self.write_at(RATE)

    @step
    def come_late(self):
        """Create a guest that crashes before any daemon has seen it. The machine decides how long
        that takes, so only one guest overwrites its ring meanwhile."""
        others = [self.guests[name] for name in self.names() if name not in ("legacy", "replay")]
        for guest in others:
            guest.do("rate", 0)
        xen.run("systemctl", "stop", "mprofd")
        self.create("unseen", f"rate={RATE}", crash="preserve")
        self.guests["unseen"].ready()
        self.guests["legacy"].do("write", 30000)
        self.guests["unseen"].crash()
        self.guests["unseen"].alive = False
        xen.wait(lambda: re.search(r"^unseen .*c- ", xen.run("xl", "list"), re.M), 20, "the guest has crashed")
        xen.run("systemctl", "start", "mprofd")
        self.attached(self.names())
        for guest in others:
            guest.do("rate", RATE)
        _, took = xen.wait(lambda: xen.captures("unseen"), 90, "the crashed guest is captured")
        self.note(unseen_took=took)

    @step
    def rename(self):
        xen.run("xl", "rename", "streams", "renamed")
        self.guests["renamed"] = self.guests.pop("streams")
        self.guests["renamed"].name = "renamed"
        xen.wait(lambda: self.running("renamed"), 20, "the new name is known")

    @step
    def withdraw(self):
        """Count the mappings before the commit key is deleted, after that, and after it is written
        again."""
        pid, kick = xen.live_pid(), self.guests["kick"]
        self.attached(self.names())
        before = xen.wait(lambda: xen.maps(pid) == self.rings() and self.rings(), 30, "mprofd maps what lives, and nothing else")[0]
        kick.tell("withdraw")
        xen.wait(lambda: self.store.read(f"{kick.node}/data/mprof/ring-ref") is None, 10, "the key is gone", step=0.01)
        _, took = xen.wait(lambda: xen.maps(pid) < before, 10, "mprofd unmaps", step=0.01)
        time.sleep(1.5)
        kick.do("publish")
        xen.wait(lambda: xen.maps(pid) >= before, 20, "mprofd maps it again")
        kick.do("rate", RATE)
        self.note(unmap_took=took)

    @step
    def storm(self):
        """Measure the cost of a guest that kicks in a storm. Count polls, because under emulation
        the kicks slow down everything."""

        def spent(seconds, began):
            time.sleep(max(0, began + seconds - time.monotonic()))
            return polls()

        def polls():
            return int(re.search(r"^mprofd_looks_total (\d+)$", xen.metrics(), re.M)[1])

        def counted():
            began, before = time.monotonic(), polls()
            return spent(3, began) - before

        calm = counted()
        self.guests["kick"].tell("kicks", 3000)
        storm = counted()
        self.guests["kick"].do("say")
        # The machine may have worked for others in one of the calm periods.
        self.note(storm_polls=storm, calm_polls=max(calm, counted()))

    # ---- deaths

    def captured(self, name, kind, had, seconds=30):
        """Wait until there is one more capture of this kind."""
        _, took = xen.wait(
            lambda: [c for c in xen.captures(name)[: len(xen.captures(name)) - had] if c["kind"] == kind],
            seconds,
            f"a capture {kind} of {name}",
        )
        return took

    def death(self, name, kind, how):
        """End the guest by HOW. Save the output of `xl list` until no zombie is left, and for two
        seconds at least after the daemon learned of the death."""
        guest = self.guests[name]
        had = len(xen.captures(name))
        guest.alive = False
        listed, dead, took = [], None, None
        waiting = xen.Wait(40, f"{name} is dead")
        how()
        try:
            with waiting:
                while dead is None or listed[-1]["at"] <= dead + 2.5 or listed[-1]["zombies"]:
                    text = xen.run("xl", "list")
                    mine = [line for line in text.splitlines() if re.search(rf"^\S+ +{guest.domid} ", line)]
                    listed.append({"at": round(waiting.took(), 2), "list": mine, "zombies": xen.zombies(text)})
                    if dead is None and not any(re.search(r" [-r][-b][-p]-[-a-z]- ", line) for line in mine):
                        dead = listed[-1]["at"]
                    waiting.check()
                    time.sleep(0.1)
            took = self.captured(name, kind, had)
        finally:
            self.note(**{f"death_{name}_{kind}": {"dead": dead, "listed": listed, "capture_after_watching": took}})

    @step
    def save(self):
        """Save a guest. The toolstack does not look after it any more afterwards, so the guest must
        be one to preserve."""
        guest = self.guests["legacy"]
        had = len(xen.captures("legacy"))
        guest.do("write", 5)
        xen.log(xen.run("xl", "save", "-c", "legacy", "/var/tmp/saved", seconds=240))
        os.unlink("/var/tmp/saved")
        self.captured("legacy", "suspend", had)
        guest.do("write", 500)
        self.attached(self.names())

    @step
    def crash_preserved(self):
        self.death("legacy", "crash", self.guests["legacy"].crash)

    @step
    def crash_destroyed(self):
        self.death("directory", "crash", self.guests["directory"].crash)

    @step
    def poweroff(self):
        self.death("renamed", "poweroff", lambda: self.guests["renamed"].tell("poweroff"))

    @step
    def reboot(self):
        guest, before = self.guests["kick"], xen.domain("kick")["run"]
        self.death("kick", "reboot", lambda: guest.tell("reboot"))
        guest.find()
        guest.ready()
        self.attached(self.names())
        xen.wait(lambda: xen.domain("kick")["run"] != before, 20, "the new life is a new run")

    @step
    def watchdog(self):
        self.death("kick", "watchdog", lambda: self.guests["kick"].tell("watchdog"))

    @step
    def destroy(self, name):
        guest = self.guests[name]
        if name != "replay":
            guest.do("rate", 0)
            guest.do("write", 5)
        guest.do("say")
        self.death(name, "destroyed", lambda: xen.run("xl", "destroy", name))

    @step
    def restart_preserved(self):
        """Restart the daemons, which find the preserved guests again; then destroy the guests."""
        xen.run("systemctl", "restart", "mprofd")
        xen.wait(lambda: xen.ask("/v1/domains") is not None, 30, "the socket answers")
        time.sleep(3)
        preserved = [name for name in ("legacy", "unseen") if self.guests.get(name)]
        self.note(preserved_captures={name: [c["kind"] for c in xen.captures(name)] for name in preserved})
        for name in preserved:
            xen.run("xl", "destroy", name)
        listed = []
        with xen.Wait(40, "no zombie is left") as waiting:
            while waiting.took() < 3 or listed[-1]["zombies"]:
                listed.append({"at": round(waiting.took(), 2), "zombies": xen.zombies(xen.run("xl", "list"))})
                waiting.check()
        self.note(zombies_left=listed)
        self.note(preserved_captures_after={name: [c["kind"] for c in xen.captures(name)] for name in preserved})

    # ---- evidence for the judge

    @step
    def collect(self):
        xen.save("metrics.txt", xen.metrics())
        listed = xen.ask("/v1/domains?limit=1000")["domains"]
        xen.save("domains-end.json", listed)
        for name in sorted({domain["name"] for domain in listed}):
            self.collect_guest(name)
        self.journal()

    @staticmethod
    def journal():
        xen.save("journal-mprofd.txt", xen.run("journalctl", "-b", "--no-pager", "-u", "mprofd", "-u", "mprofd-http", "-o", "short-monotonic"))

    def collect_guest(self, name):
        domain = xen.ask(f"/v1/domains/{name}?limit=1000")
        xen.save(f"domain-{name}.json", domain)
        for run in domain["run_list"]:
            for stream in run["streams"]:
                query = f"run={run['run']}&stream={stream['stream']}"
                self.curl(f"run-{run['run']}-{stream['stream']}.ctf", f"/v1/domains/{name}/trace?{query}")
                pages, cursor = [], ""
                while not pages or pages[-1]["next"]:
                    pages.append(xen.ask(f"/v1/domains/{name}/packets?limit=1000&{query}{cursor}"))
                    cursor = f"&cursor={pages[-1]['next']}"
                xen.save(f"run-{run['run']}-{stream['stream']}.json", pages)
        for capture in xen.captures(name):
            xen.save(f"capture-{capture['id']}.json", capture)
            xen.save(f"context-{capture['id']}.json", xen.ask(f"/v1/captures/{capture['id']}/context"))
            shown = xen.run("mprofctl", "--host", "unix:/run/mprofd/http.sock", "show", str(capture["id"]), check=False)
            xen.save(f"show-{capture['id']}.txt", shown)
            for stream in capture["streams"]:
                path = f"/v1/captures/{capture['id']}/trace?stream={stream['stream']}"
                self.curl(f"capture-{capture['id']}-{stream['stream']}.ctf", path)


def full(lab):
    if not lab.enable() or not lab.publish(True):
        return
    lab.live()
    if lab.guests.get("replay"):
        lab.play()
    lab.fill()
    lab.restart()
    lab.kill()
    lab.come_late()
    lab.rename()
    lab.withdraw()
    lab.storm()
    if not xen.ARM:  # its toolstack cannot save a guest
        lab.save()
    lab.crash_preserved()
    lab.crash_destroyed()
    lab.poweroff()
    lab.reboot()
    lab.watchdog()
    if lab.guests.get("replay"):
        lab.destroy("replay")
    lab.restart_preserved()
    lab.collect()


def server(lab):
    linux_server.configure()
    if lab.enable():
        for function in linux_server.steps():
            if not step(function)(lab):
                break
    lab.collect()


def fleet(lab):
    if lab.enable():
        for function in fleet_host.steps():
            if not step(function)(lab):
                break
    lab.collect()


def crowd(lab):
    if lab.enable():
        for function in unikernels.steps():
            if not step(function)(lab):
                break
    lab.journal()


def short(lab):
    if not lab.enable() or not lab.publish(False):
        return
    lab.live()
    lab.restart()
    lab.kill()
    lab.crash_preserved()
    lab.crash_destroyed()
    lab.destroy("streams")
    lab.restart_preserved()
    lab.collect()


def plain():
    """A machine without Xen skips the unit instead of failing it."""
    shown = {"enable": xen.run("systemctl", "start", "mprofd", check=False)}
    for unit in ("mprofd", "mprofd-http.socket"):
        shown[unit] = xen.run("systemctl", "show", "-p", "ActiveState,ConditionResult,Result,UnitFileState", unit)
    shown["failed"] = xen.run("systemctl", "list-units", "--failed", "--plain", "--no-legend")
    shown["by hand"] = xen.run("mprofd", check=False)
    xen.save("plain.json", shown)


def main():
    os.makedirs("/out/evidence", exist_ok=True)
    with open("/out/scenario", encoding="utf-8") as f:
        scenario = f.read().strip()
    if scenario == "plain":
        plain()
        return 0
    os.makedirs("/run/lab")
    for name in os.listdir("/out"):
        if name == "vmlinux-guest" or name.endswith(".cpio"):
            shutil.copy(f"/out/{name}", "/run/lab/")
    with open("/proc/uptime", encoding="utf-8") as f:
        xen.log(f"up for {f.read().split()[0]} s")
    lab = Lab()
    {"full": full, "short": short, "packages": packaged.packages, "server": server, "fleet": fleet, "unikernels": crowd}[scenario](lab)
    xen.log("done")
    return 0


sys.exit(main())
