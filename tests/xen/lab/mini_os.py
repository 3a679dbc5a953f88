"""Steps of the scenario with guests on Mini-OS, if the image has been built: they serve, one hangs in
a lost wake-up and crashes by a page fault, one is ended by Xen's watchdog, one is shut down.

Each step has the Lab as its argument. The evidence is the output of mprofctl, by guest and moment.
"""

import ctypes
import json
import os
import re

import xen

IMAGE = "/out/mini-os.gz"
REQUESTS = 40
PAGES = 300  # their references do not fit into a value: the ring has a directory
CTL = ["mprofctl", "--host", "unix:/run/mprofd/http.sock"]


class MiniOs(xen.Guest):
    """A guest of mini-os-guest.c. It takes commands as the other guests do."""

    def __init__(self, store, name, words):
        # pylint: disable=super-init-not-called
        self.store, self.name, self.commands, self.streams = store, name, 0, 1
        with open(f"/run/{name}.cfg", "w", encoding="utf-8") as f:
            f.write(f'name="{name}"\nkernel="{IMAGE}"\nmemory=24\nvcpus=1\nextra="{words}"\n')
            f.writelines(f'on_{event}="destroy"\n' for event in ("crash", "poweroff", "reboot", "watchdog"))
        xen.run("xl", "create", "-q", f"/run/{name}.cfg")
        self.find()


def create(lab, name, words=""):
    lab.guests[name] = MiniOs(lab.store, name, words)
    lab.guests[name].ready()
    xen.wait(lambda: lab.running(name), 30, f"mprofd has {name}")


def dump(what):
    return xen.run(*CTL, "dump", what)


def save(name, capture):
    """Save what mprofctl says about a capture."""
    for verb in ("dump", "why", "threads", "stats"):
        xen.save(f"{name}-{verb}.txt", xen.run(*CTL, verb, str(capture), check=False))
    xen.save(f"{name}-why.json", xen.run(*CTL, "--json", "why", str(capture), check=False))


def ring(domid, port):
    """Notify a guest's event channel."""
    library = ctypes.CDLL("libxenevtchn.so.1")
    library.xenevtchn_open.restype = ctypes.c_void_p
    library.xenevtchn_close.argtypes = [ctypes.c_void_p]
    library.xenevtchn_bind_interdomain.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32]
    library.xenevtchn_notify.argtypes = [ctypes.c_void_p, ctypes.c_uint32]
    handle = library.xenevtchn_open(None, 0)
    local = library.xenevtchn_bind_interdomain(handle, domid, port)
    if local < 0 or library.xenevtchn_notify(handle, local) < 0:
        raise xen.Failed(f"the event channel {port} of domain {domid} cannot be notified")
    library.xenevtchn_close(handle)


def served(name):
    """Return the last value of the counter `served` in the guest's trace."""
    found = re.findall(r"counter\b.*?value=(\d+).*?served", dump(name))
    return int(found[-1]) if found else 0


def mini_os_serves(lab):
    create(lab, "mini")
    guest = lab.guests["mini"]
    guest.do("serve", REQUESTS)
    ring(guest.domid, int(lab.store.read(f"{guest.node}/data/lab/event-channel")))
    xen.wait(lambda: served("mini") == REQUESTS + 1, 30, "the trace has every request", step=1)
    xen.save("mini-live.txt", dump("mini"))


def mini_os_hangs(lab):
    guest = lab.guests["mini"]
    guest.do("lookup")
    guest.do("serve", 3)
    xen.wait(lambda: served("mini") == REQUESTS + 4, 30, "the guest serves while its client hangs", step=1)
    status, _, body = xen.get("/v1/domains/mini/captures", method="POST")
    if status not in (200, 201, 202):
        raise xen.Failed(f"the capture: {status} {body}")
    lab.captured("mini", "manual", 0)
    save("mini-hang", xen.captures("mini")[0]["id"])


def dies(lab, name, kind, how):
    lab.death(name, kind, how)
    capture = xen.captures(name)[0]
    save(f"{name}-{kind}", capture["id"])
    lab.note(**{f"mini_os_{name}": capture})


def mini_os_faults(lab):
    dies(lab, "mini", "crash", lambda: lab.guests["mini"].tell("fault"))


def mini_os_spins(lab):
    create(lab, "mini-spin")
    lab.guests["mini-spin"].do("serve", 3)
    lab.guests["mini-spin"].do("many")
    dies(lab, "mini-spin", "watchdog", lambda: lab.guests["mini-spin"].tell("spin"))


def mini_os_withdraws(lab):
    create(lab, "mini-end", f"pages={PAGES}")
    lab.guests["mini-end"].do("serve", 3)
    dies(lab, "mini-end", "ended", lambda: xen.run("xl", "shutdown", "mini-end"))


def steps():
    """Return the steps, which are none without the image."""
    if not os.path.exists(IMAGE):
        return []
    return [mini_os_serves, mini_os_hangs, mini_os_faults, mini_os_spins, mini_os_withdraws]
