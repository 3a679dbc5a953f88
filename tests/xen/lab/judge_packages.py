"""Checks for the machine `packages`: the Debian packages in dom0, and what the units forbid. judge.py
calls judge(it) with itself."""

import re

import serials
from serials import Wrong

RUNNING = {
    "mprofd.service": ["active", "enabled"],
    "mprofd-sink.service": ["active", "enabled"],
    "mprofd-http.socket": ["active", "enabled"],
}
PRIVILEGED = {"mount", "chroot", "sethostname", "settime", "packet", "bind-low"}  # only root may, outside of a unit
# The result of each attempt of lab-probe in every unit.
FORBIDDEN = {
    **dict.fromkeys("ptrace setuid chown scheduler setrlimit mempolicy fanotify modify-ldt".split(), "EPERM"),
    **dict.fromkeys("mount chroot sethostname settime namespace personality set-suid run-suid kernel-log".split(), "EPERM"),
    **dict.fromkeys("write-and-execute write-then-execute".split(), "EPERM"),
    "foreign-abi": "SIGSYS",
    "processes": "EAGAIN",
    "unix": "done",
    "netlink": "EAFNOSUPPORT",
    "packet": "EAFNOSUPPORT",
    "write-system": "EROFS",
    "bind-low": "EACCES",
    "read-tmp": "ENOENT",
    "control-group": "EROFS",
    "shared-memory": "ENOENT",
}
ADDRESSES = [f"{verb}-{whose}" for verb in ("send", "connect") for whose in ("loopback", "viewer", "guest")]
# Those of the two units that have a network, and no device of Xen.
NETWORKED = {
    **dict.fromkeys("setpriority capset".split(), "EPERM"),
    **dict.fromkeys("inet inet6 send-loopback connect-loopback bind-high".split(), "done"),
    **dict.fromkeys("read-process read-meminfo kmsg disk grant-device grant-maker".split(), "ENOENT"),
    "read-home": "EACCES",
}
UNITS = {
    "mprofd": {
        # It drops its capabilities, and raises its priority.
        **dict.fromkeys("setpriority capset grant-device write-archive write-profiles read-process read-meminfo".split(), "done"),
        **dict.fromkeys(["inet", "inet6", *ADDRESSES, "bind-low", "bind-high"], "EAFNOSUPPORT"),
        **dict.fromkeys("disk grant-maker".split(), "EPERM"),
        "kmsg": "ENXIO",
        "write-tokens": "EROFS",
        "read-home": "ENOENT",
    },
    "mprofd-http": {
        **NETWORKED,
        **dict.fromkeys("send-viewer send-guest".split(), "EPERM"),
        **dict.fromkeys("connect-viewer connect-guest".split(), "ETIMEDOUT"),
        **dict.fromkeys("write-archive write-profiles".split(), "EROFS"),
        "write-tokens": "done",
    },
    "mprofd-sink": {
        **NETWORKED,
        **dict.fromkeys("send-viewer send-guest connect-viewer connect-guest write-profiles".split(), "done"),
        **dict.fromkeys("write-archive write-tokens".split(), "EROFS"),
    },
}
# Copies of the units: what differs.
COPIES = {
    # With a family that it has not, it has no network to use it in, and may not even use loopback.
    "mprofd-inet": (
        "mprofd",
        {
            **dict.fromkeys("inet bind-high".split(), "done"),
            "bind-low": "EACCES",
            "send-loopback": "EPERM",
            "connect-loopback": "ETIMEDOUT",
            **dict.fromkeys("send-viewer send-guest connect-viewer connect-guest".split(), "ENETUNREACH"),
        },
    ),
    "mprofd-http-viewers": ("mprofd-http", {"send-viewer": "done", "connect-viewer": "done"}),
    "mprofd-sink-guests": (
        "mprofd-sink",
        {"send-loopback": "EPERM", "connect-loopback": "ETIMEDOUT", "send-viewer": "EPERM", "connect-viewer": "ETIMEDOUT"},
    ),
}


def need(condition, text):
    if not condition:
        raise Wrong(text)


def attempts(it, name):
    """Return {attempt: result} of a run of lab-probe."""
    return dict(line.split() for line in it.read(f"evidence/probe-{name}.txt").splitlines())


def differences(found, expected):
    return ", ".join(
        f"{name}: {found.get(name)}, not {expected.get(name)}" for name in sorted({*found, *expected}) if found.get(name) != expected.get(name)
    )


def running(it, moment, version):
    """Check that all units run, and that the version is installed."""
    state = it.seen[moment]
    need(state["version"].startswith("installed ") and (state["version"] == "installed 0.0.1") == (version == "older"), str(state))
    need({unit: state[unit] for unit in RUNNING} == RUNNING, str(state))


def packaged(it):
    @it.check("the units that the package enabled run after the boot", "boot")
    def _():
        running(it, "boot", "new")

    @it.check("each program is installed in one version, and mprof-run records", "boot")
    def _():
        names, versions = zip(*it.seen["programs"])
        need(len(set(names)) == 5 and len(set(versions)) == 1, str(it.seen["programs"]))
        need(len(it.seen["recorded"]) == 1 and it.seen["recorded"][0].startswith("/run/sh."), str(it.seen["recorded"]))

    @it.check("the installation of a package restarts its units", "older")
    def _():
        running(it, "older", "older")

    @it.check("an upgrade starts the daemons on the data of the oldest schema", "old_data", "upgrade")
    def _():
        running(it, "upgraded", "new")
        need(it.seen["configuration"], "the administrator's configuration is gone")
        said = it.read("evidence/old-bodies.txt")
        need(re.fullmatch(r"[1-9][0-9]+ bodies compared\n", said), said)

    @it.check("a guest that writes during the upgrade loses no event", "upgrade")
    def _():
        found = serials.events(it.path("upgraded.ctf"))
        serials.consecutive(found, "the trace")
        need(found[0].serial == 1 and found[-1].serial >= it.seen["serial"], f"serials {found[0].serial} to {found[-1].serial}")

    @it.check("a purge ends the daemons, and leaves the archive and the guests", "purge")
    def _():
        need(not it.seen["purged"]["version"].startswith("installed"), it.seen["purged"]["version"])
        need(it.seen["processes"] == [], f"processes: {it.seen['processes']}")
        need(it.seen["left"] == ["/var/lib/mprofd/archive/trace.db"], f"left: {it.seen['left']}")
        need(it.seen["links"] == [], f"links: {it.seen['links']}")
        need("the archive stays in /var/lib/mprofd" in it.read("evidence/purge.txt"), "it does not print the archive's path")


def judge(it):
    packaged(it)

    @it.check("root does outside of the units what they forbid", "probe")
    def _():
        found = attempts(it, "root")
        need(set(found) == {*FORBIDDEN, *UNITS["mprofd"]}, "the attempts are not those of the table: " + " ".join(found))
        need(set(found.values()) == {"done"}, differences(found, dict.fromkeys(found, "done")))

    for unit, own in UNITS.items():

        @it.check(f"the user of {unit} does outside of the unit what needs no privilege", "probe")
        def _(unit=unit):
            found = attempts(it, f"as-{unit}")
            refused = {name for name, result in found.items() if result != "done"}
            need(refused == PRIVILEGED, f"refused: {sorted(refused)}")

        @it.check(f"the unit {unit} refuses what it forbids, and nothing that the daemon needs", "probe")
        def _(unit=unit, own=own):
            wrong = differences(attempts(it, unit), {**FORBIDDEN, **own})
            need(not wrong, wrong)

    for name, (unit, more) in COPIES.items():

        @it.check(f"{name}: the addresses that a line in a drop-in allows, and no others", "probe")
        def _(name=name, unit=unit, more=more):
            wrong = differences(attempts(it, name), {**FORBIDDEN, **UNITS[unit], **more})
            need(not wrong, wrong)
