"""Access to a dom0 for the scenario: XenStore, guests, and the daemons' answers, without a process
for each request."""

import contextlib
import ctypes
import glob
import http.client
import json
import os
import re
import socket
import struct
import subprocess
import time

START = time.monotonic()
ARM = os.uname().machine == "aarch64"
STEPS = {}
TIMES = 8  # a limit of a quiet machine may be exceeded so many times
SAID = 30  # seconds between two lines that a wait goes on; they are signs of life (progress.py)


class Failed(Exception):
    """An error after which the scenario cannot go on."""


def log(text):
    print(f"[{time.monotonic() - START:7.2f}] {text}", flush=True)


class Patience:
    """The time by which all waits together may exceed the limits of a quiet machine. A machine beside other work is slow in each step,
    and one that never does what a step waits for must not take hours."""

    SECONDS = 1800

    def __init__(self, seconds=SECONDS):
        self.left = seconds

    def limit(self, seconds):
        """Return how long a wait may last whose limit is SECONDS."""
        return seconds + min(self.left, seconds * (TIMES - 1))

    def spend(self, seconds):
        self.left = max(0, self.left - seconds)


PATIENCE = Patience()


class Wait:
    """A wait with a limit. It tells that it goes on."""

    def __init__(self, seconds, why):
        self.seconds, self.why, self.limit = seconds, why, PATIENCE.limit(seconds)
        self.began = self.said = time.monotonic()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        PATIENCE.spend(max(0, self.took() - self.seconds))

    def took(self):
        return time.monotonic() - self.began

    def check(self):
        """Raise Failed after the limit."""
        if self.took() > self.limit:
            raise Failed(f"{self.why}: not within {self.limit:.3g} s")
        if time.monotonic() - self.said > SAID:
            self.said = time.monotonic()
            log(f"waits for {self.took():.0f} s: {self.why}")


def wait(what, seconds, why, step=0.05):
    """Wait until WHAT() is true. Return its value and the time that took. SECONDS is the limit on a quiet machine."""
    with Wait(seconds, why) as waiting:
        while True:
            result = what()
            if result:
                return result, waiting.took()
            waiting.check()
            time.sleep(step)


def run(*command, check=True, seconds=120):
    """Run a command, which takes at most SECONDS on a quiet machine. Return its output."""
    name = " ".join(command)
    with Wait(seconds, name) as waiting, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        while True:
            try:
                said = process.communicate(timeout=min(waiting.limit, SAID))[0]
                break
            except subprocess.TimeoutExpired:
                try:
                    waiting.check()
                except Failed:
                    process.kill()
                    raise
    if check and process.returncode:
        raise Failed(f"{name}: exit code {process.returncode}: {said}")
    return said


def create(name):
    """Create the guest of a file of configuration. The toolstack has limits of its own, of 10 s, for the console and the devices of a guest:
    where it gives up, it has destroyed the domain, and creates it again."""

    def created():
        try:
            run("xl", "create", "-q", f"/run/{name}.cfg")
        except Failed as error:
            if "timed out" not in str(error):
                raise
            log(f"tried again: {error}")
            return False
        return True

    wait(created, 60, f"xl creates {name}")


class XenStore:
    """The store's protocol over its socket; one request at a time."""

    READ, WRITE, DIRECTORY = 2, 11, 1
    HEADER = struct.Struct("<IIII")

    def __init__(self, path="/run/xenstored/socket"):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)

    def _receive(self, n):
        parts = b""
        while len(parts) < n:
            part = self.socket.recv(n - len(parts))
            if not part:
                raise Failed("XenStore closed the connection")
            parts += part
        return parts

    def _ask(self, kind, body):
        """Return the answer's body, or None for an error."""
        self.socket.sendall(self.HEADER.pack(kind, 0, 0, len(body)) + body)
        answer, _, _, length = self.HEADER.unpack(self._receive(self.HEADER.size))
        body = self._receive(length)
        return body if answer == kind else None

    def read(self, path):
        value = self._ask(self.READ, path.encode() + b"\0")
        return None if value is None else value.decode(errors="replace")

    def write(self, path, value):
        if self._ask(self.WRITE, path.encode() + b"\0" + value.encode()) is None:
            raise Failed(f"XenStore: {path} cannot be written")

    def list(self, path):
        value = self._ask(self.DIRECTORY, path.encode() + b"\0")
        return [] if value is None else [name.decode() for name in value.split(b"\0") if name]


SHUTDOWN_CRASH = 3


def shut_down(domid, reason):
    """End a domain as if it had ended itself for this reason."""
    library = ctypes.CDLL(glob.glob("/usr/lib/*/libxenctrl.so.4.*")[0], use_errno=True)
    library.xc_interface_open.restype = ctypes.c_void_p
    library.xc_domain_shutdown.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int]
    handle = library.xc_interface_open(None, None, 0)
    if not handle or library.xc_domain_shutdown(handle, domid, reason):
        raise Failed(f"domain {domid} cannot be shut down for reason {reason}: {os.strerror(ctypes.get_errno())}")
    library.xc_interface_close(ctypes.c_void_p(handle))


class Guest:
    """A guest of the lab. Its program is lab-guest, which takes commands."""

    domid = None  # not known yet

    def __init__(self, store, name, words, image="guest.cpio", memory=80, **events):
        memory += 48 if ARM else 0  # its kernel is larger
        self.store, self.name, self.commands = store, name, 0
        self.streams = 2 if "streams=2" in words else 1
        self.events = {"crash": "destroy", "poweroff": "destroy", "reboot": "destroy", "watchdog": "destroy", **events}
        with open(f"/run/{name}.cfg", "w", encoding="utf-8") as f:
            f.write(f'name="{name}"\nkernel="/run/lab/vmlinux-guest"\nramdisk="/run/lab/{image}"\nmemory={memory}\nvcpus=1\n')
            f.write(f'extra="console=hvc0 quiet lab={words}"\n')
            f.writelines(f'on_{event}="{action}"\n' for event, action in self.events.items())
        create(name)
        self.find()

    def find(self, seconds=60):
        """Find the guest's domid. After a reboot it is another one, as soon as the toolstack has made the domain."""

        def found():
            domid = run("xl", "domid", self.name, check=False).strip()
            return domid.isdecimal() and int(domid) != self.domid and [int(domid)]

        (self.domid,), _ = wait(found, seconds, f"{self.name} has a domain")
        self.node = f"/local/domain/{self.domid}"
        self.commands, self.alive = 0, True

    def ready(self, seconds=60):
        wait(lambda: self.store.read(f"{self.node}/data/lab/done"), seconds, f"{self.name} publishes")
        log(f"{self.name} is domain {self.domid} and has published")

    def tell(self, verb, number=0):
        self.commands += 1
        self.store.write(f"{self.node}/data/lab/cmd", f"{self.commands} {verb} {number}")

    def crash(self):
        """Let the guest write its last events, and crash. Linux does not tell Xen on Arm that it panics, so domain 0 does it there."""
        if ARM:
            self.do("last")
            shut_down(self.domid, SHUTDOWN_CRASH)
        else:
            self.tell("crash")

    def do(self, verb, number=0, seconds=60):
        """Send a command and wait for the answer: the last serial of each stream."""
        self.tell(verb, number)

        def done():
            answer = (self.store.read(f"{self.node}/data/lab/done") or "").split()
            return answer[1:] if answer and answer[0] == str(self.commands) else None

        serials, _ = wait(lambda: done() is not None and [done()], seconds, f"{self.name} obeys: {verb}")
        log(f"{self.name}: {verb} {number}: {serials[0]}")
        return [int(serial) for serial in serials[0]]


class UnixConnection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect("/run/mprofd/http.sock")


def get(path, method="GET"):
    """Return (status, headers, body)."""
    with contextlib.closing(UnixConnection("localhost", timeout=300)) as connection:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, dict(answer.headers), answer.read()


def ask(path):
    """Return a JSON answer, or None."""
    try:
        status, _, body = get(path)
    except (OSError, http.client.HTTPException):
        return None
    return json.loads(body) if status == 200 else None


def metrics():
    """Return the metrics, with those of the collector: which the answer of a busy machine may lack."""

    def text():
        found = get("/metrics")[2].decode()
        return found if "\nmprofd_looks_total " in found else None

    return wait(text, 60, "the collector's metrics")[0]


def domain(name):
    return ask(f"/v1/domains/{name}")


def captures(name):
    return (ask(f"/v1/domains/{name}/captures") or {}).get("captures", [])


def zombies(listed):
    """Return the lines of `xl list` about domains that are dying and held by a mapping. A domain
    under construction has no name either."""
    return [line for line in listed.splitlines() if re.match(r"\(null\) .* [-r][-b][-p][-s][-a-z]d ", line)]


def main_pid(unit="mprofd"):
    """Return the main process of the unit, or 0."""
    return int(run("systemctl", "show", "-p", "MainPID", "--value", unit))


def live_pid(unit="mprofd"):
    pid = main_pid(unit)
    if not pid:
        raise Failed(f"{unit} does not run")
    return pid


def maps(pid):
    """Return the number of grant mappings of a process."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        return sum("xen/gntdev" in line for line in f)


def save(name, data):
    if not isinstance(data, (bytes, str)):
        data = json.dumps(data, indent=1)
    with open(os.path.join("/out/evidence", name), "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())


def step(function):
    """Make FUNCTION a step, which returns whether it succeeded. evidence/steps.json gets the error."""

    def begin(*arguments, **options):
        name = function.__name__
        log(f"---- {name}")
        began = time.monotonic()
        failure = None
        try:
            function(*arguments, **options)
        except (Failed, subprocess.SubprocessError, OSError, KeyError, IndexError, AttributeError, TypeError, ValueError) as error:
            failure = f"{type(error).__name__}: {error}"
            log(f"{name} failed: {failure}")
        STEPS[name] = {"failure": failure, "seconds": round(time.monotonic() - began, 2)}
        save("steps.json", STEPS)
        return failure is None

    return begin
