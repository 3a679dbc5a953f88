"""Steps of the scenario in which dom0 is a host of a fleet: the packages' mprofd-forward sends to a hub that runs on the machine
outside, below QEMU.

/out/fleet has the certificates and the connection string. A file asked there asks the outside to lose a server of the hub; the file
answered says that its standby has taken over.
"""

import os
import re
import shutil
import time

import xen

HERE = "/out/fleet"
KEYS = "/etc/mprofd/fleet"
UNIT = "mprofd-forward"
GUESTS = {"web": "rate=200", "db": "rate=200,streams=2", "dns": "rate=50"}
POST = ["curl", "-sS", "--fail", "--unix-socket", "/run/mprofd/http.sock", "-H", "Content-Type: application/json", "-d", "{}"]
AWAY = 15  # seconds without a network


def interface():
    """Return the name of the network interface."""
    return next(name for name in os.listdir("/sys/class/net") if name not in ("lo", "sit0"))


def outbox():
    """Return what mprofd says of its outbox: {metric: value}."""
    return {name: int(value) for name, value in re.findall(r"^mprofd_outbox_(\w+) (\d+)$", xen.metrics(), re.M)}


def sent(seconds=240):
    xen.wait(lambda: outbox()["rows"] == 0, seconds, "everything is sent", step=0.5)


def take(lab, name, n=1):
    """Take N captures of a running guest, and return their ids."""
    for _ in range(n):
        lab.guests[name].do("write", 3)
        xen.run(*POST, f"http://localhost/v1/domains/{name}/captures")
    return [capture["id"] for capture in xen.captures(name)[:n]]


def fleet_begins(lab):
    """Install the package and write the configuration as docs/fleet.md has it."""
    device = interface()
    for words in (f"link set {device} up", f"addr add 10.0.2.15/24 dev {device}"):
        xen.run("ip", *words.split())
    xen.run("dpkg", "--force-unsafe-io", "-i", "/out/mprofd-forward.deb", seconds=400)
    os.mkdir(KEYS)
    for name in os.listdir(HERE):
        if name.endswith((".crt", ".key")):
            shutil.copy(f"{HERE}/{name}", KEYS)
            os.chmod(f"{KEYS}/{name}", 0o640)
            shutil.chown(f"{KEYS}/{name}", "root", UNIT)
    with open(f"{HERE}/connection", encoding="utf-8") as f, open("/etc/mprofd/mprofd.conf", "a", encoding="utf-8") as conf:
        conf.write("\n[fleet]\nsend = captures\n")
        conf.writelines(f"connection = {word}\n" for word in f.read().split())
    xen.run("systemctl", "restart", "mprofd")
    xen.run("systemctl", "enable", "--now", UNIT)
    xen.wait(lambda: xen.ask("/v1/domains") is not None, 60, "the socket answers")
    lab.note(forwarder=xen.run("systemctl", "show", "-p", "ActiveState,UnitFileState,User", UNIT).split())
    lab.note(forwarder_user=xen.run("ps", "-o", "user:20=", "-p", str(xen.live_pid(UNIT))).strip())


def fleet_guests_crash(lab):
    for name, words in GUESTS.items():
        lab.create(name, words)
    for name in GUESTS:
        lab.guests[name].ready()
    lab.attached(list(GUESTS))
    take(lab, "web")
    lab.death("db", "crash", lab.guests["db"].crash)
    lab.death("dns", "destroyed", lambda: xen.run("xl", "destroy", "dns"))
    sent()


def fleet_forwarder_is_killed(lab):
    before = xen.live_pid(UNIT)
    xen.run("systemctl", "kill", "-s", "KILL", UNIT)
    taken = take(lab, "web", 2)
    xen.wait(lambda: xen.main_pid(UNIT) not in (0, before), 120, "systemd starts the forwarder again", step=0.5)
    sent()
    lab.note(taken_killed=taken)


def fleet_network_is_away(lab):
    device = interface()
    xen.run("ip", "link", "set", device, "down")
    taken, began = [], time.monotonic()
    while time.monotonic() < began + AWAY:
        taken += take(lab, "web")
        time.sleep(AWAY / 4)
    lab.note(waiting_away=outbox())
    xen.run("ip", "link", "set", device, "up")
    sent(400)
    lab.note(taken_away=taken)


def fleet_server_is_lost(lab):
    with open(f"{HERE}/asked", "w", encoding="ascii"):
        pass
    taken = []

    def answered():
        taken.extend(take(lab, "web"))
        return os.path.exists(f"{HERE}/answered")

    xen.wait(answered, 240, "the standby takes over", step=3)
    taken += take(lab, "web")
    sent(400)
    lab.note(taken_lost=taken)


def fleet_ends(lab):
    lab.death("web", "destroyed", lambda: xen.run("xl", "destroy", "web"))
    sent()
    lab.note(outbox=outbox())
    xen.save("journal-forward.txt", xen.run("journalctl", "-b", "--no-pager", "-u", UNIT, "-o", "short-monotonic"))


def steps():
    return [fleet_begins, fleet_guests_crash, fleet_forwarder_is_killed, fleet_network_is_away, fleet_server_is_lost, fleet_ends]
