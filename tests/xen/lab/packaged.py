"""The Debian packages in dom0: the units that they enable run after the boot, an upgrade finds the data
of the oldest schema, and a purge ends the daemons. Between, a program tries what the units forbid.

scenario.py calls packages(lab) on the machine of that name. /out has mprofd.deb, the same as an earlier
version (older.deb), the old data (state.tar, answers.json) and the program lab-probe.
"""

import ctypes
import os
import shutil
import socket

import xen
from xen import run, step

STATE = "/var/lib/mprofd"
TOKENS = "/var/lib/mprofd-http"
SOCKET = "/run/mprofd/http.sock"
PROBE = "/usr/local/libexec/lab-probe"
RATE = 10  # events a second: the ring holds them for a quarter of an hour, however long an upgrade takes
SHM_KEY = 0x6C6162  # of lab-probe.c, as is the port
PORT = 7999
IPC_CREAT = 0o1000
USERS = {"mprofd": "mprofd-archive", "mprofd-http": "mprofd-http", "mprofd-sink": "mprofd-archive"}
PROGRAMS = ("mprofd", "mprofd-http", "mprofd-sink", "mprofctl", "mprof-run")
UNITS = ("mprofd.service", "mprofd-sink.service", "mprofd-http.socket", "mprofd-http.service")
# The units, and copies of them with the lines that their comments advise, or with one barrier less so
# that the next one shows.
COPIES = {
    "mprofd-inet": ("mprofd", "RestrictAddressFamilies=AF_INET\n"),
    "mprofd-http-viewers": ("mprofd-http", "IPAddressAllow=192.0.2.0/24\n"),
    "mprofd-sink-guests": ("mprofd-sink", "IPAddressDeny=any\nIPAddressAllow=198.51.100.0/24\n"),
}


def states():
    """Return what systemd and dpkg say of the units and the package."""
    found = {"version": run("dpkg-query", "-W", "-f=${db:Status-Status} ${Version}", "mprofd", check=False).strip()}
    for unit in UNITS:
        found[unit] = run("systemctl", "show", "-p", "ActiveState,UnitFileState", "--value", unit, check=False).split()
    return found


def serves():
    xen.wait(lambda: xen.ask("/v1/domains") is not None, 180, "the socket answers")


def dpkg(*words):
    """Run dpkg, which takes half a minute under emulation, and minutes beside other work."""
    return run("dpkg", "--force-unsafe-io", *words, seconds=400)


@step
def boot(lab):
    """After the boot nobody has started anything yet."""
    serves()
    lab.note(boot=states(), programs=[run(program, "--version").split() for program in PROGRAMS])
    # mprof-run records a program of dom0 too, and ends as the program does.
    lab.note(recorded=run("mprof-run", "--keep", "--dir", "/run", "--", "sh", "-c", "ls -d /run/sh.*; exit 3", check=False).split())


@step
def older(lab):
    xen.log(dpkg("--force-downgrade", "-i", "/out/older.deb"))
    serves()
    lab.note(older=states())


@step
def old_data():
    """Replace the archives by those of the oldest schema, while no daemon runs."""
    run("systemctl", "stop", *UNITS)
    for name in os.listdir(STATE):
        shutil.rmtree(os.path.join(STATE, name)) if os.path.isdir(os.path.join(STATE, name)) else os.unlink(os.path.join(STATE, name))
    run("tar", "-C", STATE, "-xf", "/out/state.tar")
    run("chown", "-R", "mprofd:mprofd-archive", f"{STATE}/archive")
    run("chown", "-R", "mprofd-sink:mprofd-archive", f"{STATE}/memtraces")
    # The data are older than the age after which mprofd deletes them.
    with open("/etc/mprofd/mprofd.conf.d/keep.conf", "w", encoding="ascii") as f:
        f.write("[policy]\nage = 0\n[sink]\nage = 0\n")


@step
def upgrade(lab):
    """Upgrade while a guest writes, and compare what is served of the old data."""
    lab.create("legacy", f"rate={RATE}", crash="preserve")
    guest = lab.guests["legacy"]
    guest.ready()
    before = guest.do("write", 500)[0]
    xen.log(dpkg("-i", "/out/mprofd.deb"))
    serves()
    lab.note(upgraded=states(), serial=before, configuration=os.path.exists("/etc/mprofd/mprofd.conf.d/keep.conf"))
    xen.save("old-bodies.txt", run("python3", "-B", "/out/old-bodies", SOCKET, "/out/answers.json", check=False))
    lab.attached(["legacy"])
    size = lambda: len(xen.get("/v1/domains/legacy/trace")[2])
    first, _ = xen.wait(size, 60, "the trace of the guest")
    xen.wait(lambda: size() > first, 60, "the trace grows")
    lab.curl("upgraded.ctf", "/v1/domains/legacy/trace")


# ---- what the units forbid


def sysctl(name, value):
    with open(f"/proc/sys/{name}", "w", encoding="ascii") as f:
        f.write(str(value))


def prepare():
    """Let any user do outside of a unit what lab-probe tries. Return a listener, which the caller keeps."""
    os.makedirs("/usr/local/libexec", exist_ok=True)
    for path, mode in ((PROBE, 0o755), ("/usr/local/libexec/lab-suid", 0o4755)):
        shutil.copy("/out/lab-probe", path)
        os.chmod(path, mode)
    os.chmod(TOKENS, 0o711)
    for path in ("/srv/lab", f"{STATE}/lab", f"{STATE}/memtraces/lab", f"{TOKENS}/lab", "/sys/fs/cgroup/lab"):
        os.mkdir(path)
        os.chmod(path, 0o777)
    os.makedirs("/home/lab")
    for path in "/home/lab/file", "/tmp/lab-file":
        with open(path, "w", encoding="ascii") as f:
            f.write("lab\n")
    for path in "/dev/kmsg", "/dev/vda", "/dev/xen/gntdev", "/dev/xen/gntalloc":
        os.chmod(path, 0o666)
    for name, value in ("kernel/dmesg_restrict", 0), ("kernel/unprivileged_userns_clone", 1):
        sysctl(name, value)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.shmget(SHM_KEY, 4096, IPC_CREAT | 0o666) < 0:
        raise OSError(ctypes.get_errno(), "shmget")
    for address in "192.0.2.1", "198.51.100.1":
        run("ip", "address", "add", f"{address}/32", "dev", "lo")
    return socket.create_server(("0.0.0.0", PORT))


def drop_in(name, more=""):
    """Let the unit NAME run the probe in place of its daemon. All other lines stay."""
    directory = f"/run/systemd/system/{name}.service.d"
    os.makedirs(directory)
    with open(f"{directory}/probe.conf", "w", encoding="ascii") as f:
        f.write(
            f"[Service]\nType=oneshot\nExecCondition=\nExecStart=\nExecStart={PROBE}\nWatchdogSec=0\nRestart=no\n"
            f"StandardOutput=truncate:/out/evidence/probe-{name}.txt\n{more}"
        )
    return directory


@step
def probe():
    with prepare():
        xen.save("probe-root.txt", run(PROBE))
        for user, group in USERS.items():
            xen.save(f"probe-as-{user}.txt", run("setpriv", f"--reuid={user}", f"--regid={group}", "--init-groups", PROBE))
        run("systemctl", "stop", *UNITS)
        made = [drop_in(unit) for unit in USERS]
        for name, (unit, more) in COPIES.items():
            copy = f"/run/systemd/system/{name}.service"
            shutil.copy(f"/lib/systemd/system/{unit}.service", copy)
            made += [copy, drop_in(name, more)]
        run("systemctl", "daemon-reload")
        for name in (*USERS, *COPIES):
            # A start of mprofd-http gives the directory its own mode again.
            os.chmod(TOKENS, 0o711)
            run("systemctl", "start", f"{name}.service")
        for path in made:
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        run("systemctl", "daemon-reload")


@step
def purge(lab):
    """Purge the package while its daemons run and a guest writes."""
    run("systemctl", "start", "mprofd.service")
    serves()
    lab.attached(["legacy"])
    xen.save("purge.txt", dpkg("--purge", "mprofd"))
    paths = ["/etc/mprofd", "/run/mprofd", TOKENS, "/usr/sbin/mprofd", "/lib/systemd/system/mprofd.service", f"{STATE}/archive/trace.db"]
    lab.note(
        purged=states(),
        left=[path for path in paths if os.path.lexists(path)],
        links=[name for _, folders, files in os.walk("/etc/systemd/system") for name in folders + files if name.startswith("mprofd")],
        processes=run("ps", "-C", "mprofd,mprofd-http,mprofd-sink", "-o", "pid=", check=False).split(),
    )
    lab.guests["legacy"].do("say")


def packages(lab):
    boot(lab)
    older(lab)
    if old_data():
        upgrade(lab)
    probe()
    purge(lab)
