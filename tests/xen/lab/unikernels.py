"""Steps of the scenario with unikernels (tests/xen/unikernel), which are PVH guests: each dies in its own way.

Each step has the Lab as its argument. The unikernel obeys commands as lab-guest does.
"""

import os
import re
import shutil

import xen

DEATHS = {  # the last command: the capture's kind
    "fault": "crash",
    "abort": "crash",
    "triple": "reboot",  # Xen ends a guest so whose processor has a triple fault
    "watchdog": "watchdog",
    "spin": "destroyed",
    "poweroff": "poweroff",
    "reboot": "reboot",
}
AT_ONCE = 30
GONE = 240  # seconds in which a crowd dies and is captured


class Unikernel(xen.Guest):
    def __init__(self, store, name, words):
        self.store, self.name, self.streams, self.commands = store, name, 1, 0
        with open(f"/run/{name}.cfg", "w", encoding="utf-8") as f:
            f.write(f'name="{name}"\ntype="pvh"\nkernel="/run/lab/unikernel"\nmemory=8\nvcpus=1\nextra="{words}"\n')
            # Xen would emulate the counter of a machine whose counter it does not trust, and the recorder reads the counter for each event.
            f.write('tsc_mode="native"\n')
            f.write("cpu_weight=8\n")  # guests that spin leave dom0 its processor; its own weight is 256
            f.writelines(f'on_{event}="destroy"\n' for event in ("crash", "poweroff", "reboot", "watchdog"))
        xen.create(name)
        self.find()


def console(name):
    try:
        with open(f"/var/log/xen/console/guest-{name}.log", encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def create(lab, name, words):
    lab.guests[name] = None
    lab.guests[name] = Unikernel(lab.store, name, words)


def ready(lab, names):
    for name in names:
        lab.guests[name].ready()
    lab.attached(names)


def say_last(name):
    """Return whether the guest has announced its last event."""
    return re.search(r"^lab: last \d+", console(name), re.M)


def end(lab, name, how):
    """Tell a guest to end. A guest that spins is destroyed, when it has nothing more to say."""
    guest = lab.guests[name]
    guest.alive = False
    guest.tell(how)
    if how == "spin":
        xen.wait(lambda: say_last(name), 60, f"{name} says its last words")
        xen.run("xl", "destroy", name)


def captured(name):
    """Wait until the guest's end is captured."""
    xen.wait(lambda: [c for c in xen.captures(name) if c["kind"] not in ("suspend", "manual")], GONE, f"a capture of {name}")


def save(name):
    """Save the list of a guest's captures, and the last one's trace."""
    found = xen.captures(name)
    xen.save(f"ends-{name}.json", found)
    for capture in found:
        path = f"/v1/captures/{capture['id']}/trace?stream=0"
        xen.save(f"ends-{name}-{capture['kind']}.ctf", xen.get(path)[2])


def unikernels_publish(lab):
    shutil.copy("/out/unikernel", "/run/lab/unikernel")
    for how in DEATHS:
        create(lab, f"uk-{how}", "pages=200 rate=5" if how == "abort" else "pages=64 rate=5")
    ready(lab, [f"uk-{how}" for how in DEATHS])


def unikernels_work(lab):
    for how in DEATHS:
        lab.guests[f"uk-{how}"].do("write", 100)
    lab.guests["uk-spin"].do("hang")
    xen.save("uk-live.json", {how: xen.domain(f"uk-{how}") for how in DEATHS})
    xen.save("uk-live.ctf", xen.get("/v1/domains/uk-fault/trace?stream=0")[2])


def unikernels_die(lab):
    """End all of them, each in its own way, before the first one is captured."""
    for how in DEATHS:
        end(lab, f"uk-{how}", how)
    for how in DEATHS:
        captured(f"uk-{how}")
        save(f"uk-{how}")


def unikernels_suspend(lab):
    """xl save lets the guest suspend itself, and it goes on."""
    create(lab, "uk-saved", "rate=5")
    ready(lab, ["uk-saved"])
    guest = lab.guests["uk-saved"]
    guest.do("write", 5)
    xen.log(xen.run("xl", "save", "-c", "uk-saved", "/var/tmp/saved", seconds=240))
    os.unlink("/var/tmp/saved")
    xen.wait(lambda: [c for c in xen.captures("uk-saved") if c["kind"] == "suspend"], 30, "a capture of kind suspend")
    guest.do("write", 50)
    lab.attached(["uk-saved"])
    xen.run("xl", "shutdown", "uk-saved")
    guest.alive = False
    captured("uk-saved")
    save("uk-saved")


def unikernels_withdraw(lab):
    """A guest withdraws its ring of 200 pages, in a directory, and ends all of its grants."""
    create(lab, "uk-withdrawn", "pages=200 rate=5")
    ready(lab, ["uk-withdrawn"])
    guest = lab.guests["uk-withdrawn"]
    guest.do("write", 5)
    guest.do("withdraw")
    xen.wait(lambda: xen.captures("uk-withdrawn"), 30, "a capture of the ring that is withdrawn")
    xen.wait(lambda: re.search(r"^lab: withdrawn \d", console("uk-withdrawn"), re.M), 30, "the guest says so")
    save("uk-withdrawn")
    guest.alive = False
    xen.run("xl", "destroy", "uk-withdrawn")


def lives(lab, first, n):
    """Let N guests live shortly, and die at once."""
    hows = list(DEATHS)
    crowd = {f"life-{i}": hows[i % len(hows)] for i in range(first, first + n)}
    for name in crowd:
        create(lab, name, "pages=4 packets=4 rate=0")
    ready(lab, crowd)
    for name, how in crowd.items():
        lab.guests[name].alive = False
        lab.guests[name].tell(how)
    for name, how in crowd.items():
        if how == "spin":
            end(lab, name, how)
    for name in crowd:
        captured(name)
        save(name)
    return crowd


def unikernels_crowd(lab):
    with open("/out/lives", encoding="ascii") as f:
        wanted = int(f.read())
    crowd = {}
    while len(crowd) < wanted:
        crowd.update(lives(lab, len(crowd), min(AT_ONCE, wanted - len(crowd))))
        xen.save("uk-crowd.json", crowd)
    zombies, _ = xen.wait(lambda: [xen.zombies(xen.run("xl", "list"))], 30, "xl list")
    lab.note(unikernel_zombies=zombies[0])


def deaths():
    """Return the steps that CI runs."""
    return (unikernels_publish, unikernels_work, unikernels_die)


def steps():
    return (*deaths(), unikernels_suspend, unikernels_withdraw, unikernels_crowd)
