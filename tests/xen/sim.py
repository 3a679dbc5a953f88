"""A dom0 without a hypervisor: the store is real, and the test acts as guests and toolstack.
sim/sim.h describes the files."""

import contextlib
import glob
import mmap
import os
import socket
import struct
import subprocess
import sys
import time
import unittest.mock
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "integration"))

import daemons  # noqa: E402
import launcher  # noqa: E402
from daemons import BUILD, QUIET, Ring, image, rooms  # noqa: E402,F401

SIM = os.path.join(os.path.abspath(BUILD), "tests", "xen", "sim")
# The directory into which xen-utils was unpacked; tests/run sets it.
XEN = os.environ.get("MPROFD_XEN", "/")
STORES = ("xenstored", "oxenstored")
PAGE = 4096
SECOND = 1_000_000_000
DIRECTORY, READ, GET_PERMS, WATCH, UNWATCH, BEGIN, END, INTRODUCE, RELEASE = 1, 2, 3, 4, 5, 6, 7, 8, 9
WRITE, MKDIR, RM, SET_PERMS, EVENT, ERROR, IS_INTRODUCED, RESUME = 11, 12, 13, 14, 15, 16, 17, 18
WIRE = struct.Struct("<IIII")
VIRQ = 0xFFFFFFFF
VIRQ_DOM_EXC = 3


class Refused(Exception):
    """An error answer of the store, by its name."""


class Talk:
    """Requests to the store; a subclass sends and receives bytes."""

    def __init__(self):
        self.events = []

    def request(self, kind, *parts, tx=0):
        """Send a request. PARTS end with a NUL each, except the last one if it is bytes."""
        body = b"".join(part if isinstance(part, bytes) else str(part).encode() + b"\0" for part in parts)
        self._send(WIRE.pack(kind, 1, tx, len(body)) + body)
        while True:
            answer, _, _, size = WIRE.unpack(self._receive(WIRE.size))
            body = self._receive(size)
            if answer == EVENT:
                self.events.append(tuple(part.decode() for part in body.split(b"\0")[:2]))
            elif answer == ERROR:
                raise Refused(body.rstrip(b"\0").decode())
            else:
                return body

    def read(self, path, tx=0):
        return self.request(READ, path, tx=tx)

    def write(self, path, value, tx=0):
        self.request(WRITE, path, value if isinstance(value, bytes) else str(value).encode(), tx=tx)

    def mkdir(self, path, tx=0):
        self.request(MKDIR, path, tx=tx)

    def rm(self, path, tx=0):
        self.request(RM, path, tx=tx)

    def list(self, path):
        return [name.decode() for name in self.request(DIRECTORY, path).split(b"\0") if name]

    def watch(self, path, token="token"):
        self.request(WATCH, path, token)

    @contextlib.contextmanager
    def transaction(self):
        tx = int(self.request(BEGIN, "").rstrip(b"\0"))
        yield tx
        self.request(END, "T", tx=tx)

    def _send(self, data):
        raise NotImplementedError

    def _receive(self, n):
        raise NotImplementedError


class Toolstack(Talk):
    """dom0's connection to the store, over the socket."""

    MARK = "/local/domain/0/tests-mark"

    def __init__(self, path):
        super().__init__()
        self.marks = 0
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(daemons.HANGS)
        try:
            self.socket.connect(path)
        except OSError:
            self.socket.close()
            raise

    def close(self):
        self.socket.close()

    def _send(self, data):
        self.socket.sendall(data)

    def _receive(self, n):
        data = b""
        while len(data) < n:
            more = self.socket.recv(n - len(data))
            if not more:
                raise ConnectionError("the store has closed the connection")
            data += more
        return data

    def drain(self, until=None):
        """Return the events of all that the store has done until now, but not before one of the path UNTIL has come. The store tells
        of changes in their order, and of one that is made here as the last."""
        if not self.marks:
            self.watch(self.MARK)
        self.marks += 1
        self._come(until)
        mark = f"{self.MARK}/{self.marks}"
        self.write(mark, "")
        self._come(mark)
        events, self.events = [(path, token) for path, token in self.events if not path.startswith(self.MARK)], []
        return events

    def _come(self, path):
        """Wait for an event of PATH, if that is not None."""
        while path and path not in (seen for seen, _ in self.events):
            kind, _, _, size = WIRE.unpack(self._receive(WIRE.size))
            body = self._receive(size)
            if kind == EVENT:
                self.events.append(tuple(part.decode() for part in body.split(b"\0")[:2]))


def store_program(kind):
    found = glob.glob(os.path.join(XEN, "usr/lib/xen-*/bin", kind))
    return found[0] if found else None


class Store:
    """A running xenstored or oxenstored in the directory PATH."""

    def __init__(self, path, kind="xenstored"):
        self.path, self.kind = path, kind
        os.makedirs(path)
        os.chmod(path, 0o755)
        self.socket = os.path.join(path, "socket")
        self.fifo = os.open(self._fifo("store.fifo"), os.O_RDWR | os.O_NONBLOCK)
        program = store_program(kind)
        env = {"LD_PRELOAD": os.path.join(SIM, "sim-shim.so"), "MPROFD_SIM_DIR": path}
        env |= {"XENSTORED_RUNDIR": path, "XENSTORED_ROOTDIR": path, "XENSTORED_PATH": self.socket}
        env["LD_LIBRARY_PATH"] = ""  # the shim stands in front of the real libxenctrl
        if kind == "oxenstored":
            lines = ["xenstored-kva = /proc/xen/xsd_kva", "xenstored-port = /proc/xen/xsd_port", "persistent = false"]
            lines += [f"xenstored-log-file = {path}/xenstored.log", f"access-log-file = {path}/access.log"]
            with open(os.path.join(path, "oxenstored.conf"), "w", encoding="utf-8") as f:
                f.write("\n".join(lines) + "\n")
            options = ["--no-fork", "--config-file", os.path.join(path, "oxenstored.conf")]
        else:
            options = ["-N", "-I"]
        command = [program, *options, "--pid-file", os.path.join(path, "pid")]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
        self.process = launcher.Program(command, os.path.join(path, "said"), environment=env, **pipes)
        self.toolstack = self.process.until(self._connect, "listening")

    def _fifo(self, name):
        path = os.path.join(self.path, name)
        os.mkfifo(path, 0o666)
        return path

    def _connect(self):
        with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
            return Toolstack(self.socket)

    def tell(self, domid, port):
        """Send an event to the store."""
        os.write(self.fifo, struct.pack("<II", domid, port))

    def virq(self):
        """Send Xen's notification that a domain has changed."""
        self.tell(VIRQ, VIRQ_DOM_EXC)

    def kill(self):
        self.process.end()

    def close(self):
        self.toolstack.close()
        self.kill()
        os.close(self.fifo)


class Kicker:
    """The guests' event channels."""

    def __init__(self, path):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
        self.process = launcher.Program([os.path.join(SIM, "kicker")], os.path.join(path, "kicker"), environment={"MPROFD_SIM_DIR": path}, **pipes)

    def ask(self, *words):
        self.tell(*words)
        return self.answer()

    def tell(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")

    def answer(self):
        return int(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()  # which ends it
        self.process.wait()
        self.process.stdout.close()
        self.process.check()


class Guest(Talk):
    """A domain: the toolstack's operations on it, and the guest's own through its ring to the
    store."""

    SLOT = struct.Struct("<6I5Q")
    REQ, RSP = (PAGE + 2048) // 4, (PAGE + 2056) // 4  # consumer and producer of each half of the ring to the store

    def __init__(self, store, kicker, domid, name, handle=None):
        super().__init__()
        self.store, self.kicker, self.domid, self.name = store, kicker, domid, name
        self.uuid = handle or str(uuid.uuid4())
        self.home = f"/local/domain/{domid}"
        self.memory = self.words32 = None
        self.rings = 0
        self.words = ""

    def path(self, name):
        return os.path.join(self.store.path, f"{name}.{self.domid}")

    # ---- the toolstack

    def create(self, introduce=True):
        """Create the domain as xl does: the nodes come before the introduction."""
        if os.path.exists(self.path("dom")):
            raise AssertionError(f"there is a domain {self.domid}: {self.state()}")
        with contextlib.suppress(FileNotFoundError):
            for name in ("maps", "ports", "revoked", "slow", "scarce"):
                os.unlink(self.path(name))
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path("mem"))
        self.grow(64)
        self.set("running")
        tools, mine = self.store.toolstack, f"n{self.domid}".encode()
        with tools.transaction() as tx:
            tools.mkdir(self.home, tx)
            tools.request(SET_PERMS, self.home, b"n0\0" + f"r{self.domid}".encode() + b"\0", tx=tx)
            for node, value in {"vm": f"/vm/{self.uuid}", "name": self.name, "domid": self.domid}.items():
                tools.write(f"{self.home}/{node}", value, tx)
            for node in ("control/shutdown", "data"):
                tools.write(f"{self.home}/{node}", "", tx)
                tools.request(SET_PERMS, f"{self.home}/{node}", mine + b"\0", tx=tx)
            for node, value in {"uuid": self.uuid, "name": self.name}.items():
                tools.write(f"/vm/{self.uuid}/{node}", value, tx)
        if introduce:
            self.introduce()
        return self

    def grow(self, pages):
        """Give the guest PAGES pages of memory. Their numbers are the grant references."""
        with open(self.path("mem"), "a+b") as f:
            f.truncate(pages * PAGE)
            self.memory = mmap.mmap(f.fileno(), pages * PAGE)
            self.words32 = memoryview(self.memory).cast("I")  # whole words at a time, which struct does not store

    def introduce(self):
        self.store.toolstack.request(INTRODUCE, self.domid, 1, 1)

    def rename(self, name):
        self.name = name
        self.store.toolstack.write(f"{self.home}/name", name)

    def set(self, words):
        """Set the domain's state in Xen: running, crashed, poweroff dying…"""
        self.words = words
        with open(self.path("dom") + ".new", "w", encoding="utf-8") as f:
            f.write(words)
        # The name must not be dom.N.new: a name with dom. in front is a domain.
        os.rename(self.path("dom") + ".new", self.path("dom"))

    def state(self):
        with open(self.path("dom"), encoding="utf-8") as f:
            return f.read()

    def vcpus(self, *states):
        """Set what each vCPU does from now on: "running", "waiting", "blocked", "offline", or a number, the share of time that
        it runs; a share may stand with another state, as in ("waiting", 0.5)."""
        now, lines, self.ran = time.monotonic_ns(), [], getattr(self, "ran", {})
        for number, said in enumerate(states):
            state, share = said if isinstance(said, tuple) else (said, float(said == "running"))
            ran, since, rate = self.ran.get(number, (0, now, 0))
            self.ran[number] = (ran + (now - since) // 1000 * rate, now, round(share * 1000))
            lines.append(f"{int(state != 'offline')} {int(state == 'blocked')} {int(state == 'running')} {' '.join(map(str, self.ran[number]))}\n")
        self.replace("vcpu", "".join(lines))

    def replace(self, name, text):
        """Write a file of the simulation at once."""
        with open(os.path.join(self.store.path, "new"), "w", encoding="utf-8") as f:
            f.write(text)
        os.rename(f.name, self.path(name))

    def stop(self, reason):
        """Stop the guest by itself: crashed, poweroff, reboot, suspend, watchdog or soft-reset. Its
        nodes stay. Return when."""
        self.set(reason)
        at = time.monotonic_ns()
        self.store.virq()
        return at

    def destroy(self, after=0.0, held=False):
        """Remove the domain as the toolstack does: pause it, delete its nodes, then the domain. It
        is a zombie while any page is mapped, or others hold it (HELD)."""
        time.sleep(after)
        tools = self.store.toolstack
        self.set(f"{self.words} paused")
        for path in (self.home, f"/vm/{self.uuid}"):
            with contextlib.suppress(Refused):
                tools.rm(path)
        self.set(f"{self.words} dying{' held' if held else ''}")
        at = time.monotonic_ns()
        self.store.virq()
        return at

    def die(self, reason):
        """Stop and destroy the guest, as xl does with on_crash=destroy, once dom0 has noticed the
        stop. Return when it stopped."""
        at = self.stop(reason)
        launcher.wait(lambda: not self.mapped(), why=lambda: f"{self.mapped()} pages of domain {self.domid} are mapped")
        self.destroy(after=0.2)
        return at

    def forget(self):
        """Free the number for another domain, as Xen does when nothing is left of this one. Wait until
        the store has noticed: otherwise it would keep this one's page for the next one."""
        if self.mapped():
            raise AssertionError(f"domain {self.domid} is a zombie: {self.mapped()} pages are mapped")
        there = lambda: self.store.toolstack.request(IS_INTRODUCED, self.domid).startswith(b"T")
        launcher.wait(lambda: not there(), why=lambda: f"the store does not notice the end of domain {self.domid}", pause=0.001)
        os.unlink(self.path("dom"))

    def resume(self):
        """Resume from a suspension, under the same number. No watch fires."""
        self.set("running")
        self.store.toolstack.request(RESUME, self.domid)

    # ---- dom0's view of the guest

    def _maps(self):
        try:
            with open(self.path("maps"), "rb") as f:
                pid, pages, *rest = struct.unpack("<II5Q", f.read(48))
        except (FileNotFoundError, struct.error):
            return 0, 0, 0, 0, 0
        return pages if os.path.exists(f"/proc/{pid}") else 0, *rest

    def mapped(self, *refs):
        """Return the number of mapped pages; with REFS, how often each is mapped."""
        pages = self._maps()[0]
        if not refs:
            return pages
        with open(self.path("maps"), "rb") as f:
            return [os.pread(f.fileno(), 1, PAGE + ref)[0] if pages else 0 for ref in refs]

    def map_counts(self):
        """Return (maps, unmaps, refused) so far."""
        return self._maps()[1:4]

    def unmapped_at(self):
        """Return when the last mapping went, in CLOCK_MONOTONIC ns."""
        with open(self.path("maps"), "rb") as f:
            return struct.unpack("<Q", os.pread(f.fileno(), 8, 40))[0]

    def revoke(self, *refs):
        with open(self.path("revoked"), "a", encoding="utf-8") as f:
            f.writelines(f"{ref}\n" for ref in refs)

    # ---- the guest itself

    def _send(self, data):
        until = time.monotonic() + daemons.HANGS
        for byte in data:
            put = self.words32[self.REQ + 1]
            while (put - self.words32[self.REQ]) & 0xFFFFFFFF >= 1024:
                if time.monotonic() > until:
                    raise TimeoutError(f"the store does not listen to domain {self.domid}")
                self._nudge()
                time.sleep(0.0001)
            self.memory[PAGE + put % 1024] = byte
            self.words32[self.REQ + 1] = (put + 1) & 0xFFFFFFFF
        self._nudge()

    def _receive(self, n):
        data, until = b"", time.monotonic() + daemons.HANGS
        while len(data) < n:
            taken, put = self.words32[self.RSP], self.words32[self.RSP + 1]
            if put == taken:
                if time.monotonic() > until:
                    raise TimeoutError(f"the store does not answer domain {self.domid}")
                time.sleep(0.0001)
                continue
            room = min(n - len(data), (put - taken) & 0xFFFFFFFF, 1024 - taken % 1024)
            data += self.memory[PAGE + 1024 + taken % 1024 : PAGE + 1024 + taken % 1024 + room]
            self.words32[self.RSP] = (taken + room) & 0xFFFFFFFF
            self._nudge()
        return data

    def _nudge(self):
        self.store.tell(self.domid, 1)

    def ring_path(self, k):
        """Return the file behind references (K << 16) and up; K counts from 1."""
        return os.path.join(self.store.path, f"ring.{self.domid}.{k}")

    def ring(self, size=4 * PAGE, packets=4, k=None, **options):
        """Make a ring in memory of its own. Return a Ring with .refs."""
        self.rings += 1
        k = k or self.rings
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.ring_path(k))
        ring = Ring(self.ring_path(k), size, packets, **options)
        ring.refs = self.refs(k, size)
        return ring

    @staticmethod
    def refs(k, size):
        return range(k << 16, (k << 16) + -(-size // PAGE))

    @staticmethod
    def _under(stream):
        return f"data/mprof/stream/{stream}" if stream else "data/mprof"

    def publish(self, ring, stream=0, port=None, name=None):
        """Share a ring (or references), in a value or a directory, as its size requires. The commit
        key comes last."""
        refs = getattr(ring, "refs", ring)
        if port is not None:
            self.offer(port)
            self.write(f"{self._under(stream)}/event-channel", port)
        if name is not None:
            self.write(f"{self._under(stream)}/name", name)
        if len(refs) > 400:
            self.publish_directory(refs, stream)
        else:
            self.write(f"{self._under(stream)}/ring-ref", ",".join(map(str, refs)))

    def page(self, ref, data):
        """Put DATA into the grantable page REF, below the size that grow() set."""
        self.memory[ref * PAGE : ref * PAGE + len(data)] = data

    def publish_directory(self, ring, stream=0, pages=(40, 41, 42, 43)):
        """Share a ring through directory pages."""
        refs = list(getattr(ring, "refs", ring))
        parts = [refs[i : i + 1023] for i in range(0, len(refs), 1023)]
        for i, part in enumerate(parts):
            following = pages[i + 1] if i + 1 < len(parts) else 0
            words = part + [0] * (1023 - len(part)) + [following]
            self.page(pages[i], struct.pack("<1024I", *words))
        self.write(f"{self._under(stream)}/directory-ref", pages[0])

    def withdraw(self, stream=0, key="ring-ref"):
        self.rm(f"{self._under(stream)}/{key}")

    # ---- event channels

    def offer(self, port):
        self.kicker.ask("offer", self.domid, port)

    def take(self, port):
        """Bind the port for another process in dom0."""
        self.kicker.ask("take", self.domid, port)

    def kick(self, port):
        """Kick the port. Return when, or 0 if no process has bound it."""
        return self.kicker.ask("kick", self.domid, port)

    def port(self, port):
        """Return dom0's end of a port as a dict, or None."""
        try:
            with open(self.path("ports"), "rb") as f:
                word = struct.unpack("<I", os.pread(f.fileno(), 4, 4 * port))[0]
        except (FileNotFoundError, struct.error):
            return None
        if not word >> 31:
            return None
        with open(os.path.join(self.store.path, "evtchn"), "rb") as f:
            words = self.SLOT.unpack(os.pread(f.fileno(), self.SLOT.size, 64 + self.SLOT.size * (word & 0x7FFFFFFF)))
        names = "bound domid remote pending masked - kicks delivered kicked delivered_at unmasked".split()
        return dict(zip(names, words))


class Daemons(daemons.Daemons):
    """mprofd-sim over the simulated dom0, and mprofd-http."""

    def start_collector(self):
        self.collector = self.launch("mprofd-sim", "--source", "xen")

    def wait_captures(self, name, n=1, streams=1):
        """Wait until a guest has N captures, of STREAMS streams at least: a capture begins without, and has all events of a stream when
        the stream comes. Return them."""
        return self.wait(lambda: len(found := self.captures(name)) >= n and all(len(c["streams"]) >= streams for c in found) and found)

    def wait_file(self, path):
        self.wait(lambda: os.path.exists(path))

    def metric(self, name):
        """Return the value of a metric, given with its labels as printed; 0 if it does not exist."""
        for line in self.get("/metrics").decode().splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        return 0.0


class Case(daemons.Case):
    """A test with a store, guests and daemons of its own."""

    STORE = "xenstored"

    def setUp(self):
        super().setUp()
        self.directory = os.path.join(os.getcwd(), "sim")
        env = {"MPROFD_SIM_DIR": self.directory, "XENSTORED_PATH": os.path.join(self.directory, "socket")}
        self.enterContext(unittest.mock.patch.dict(os.environ, env))
        self.store = Store(self.directory, self.STORE)
        self.addCleanup(self.store.close)
        self.kicker = Kicker(self.directory)
        self.addCleanup(self.kicker.close)
        os.environ["LD_LIBRARY_PATH"] = SIM  # libxenctrl, for mprofd's helper

    def guest(self, domid=5, name=None, introduce=True, handle=None):
        return Guest(self.store, self.kicker, domid, name or f"guest{domid}", handle).create(introduce)

    def daemons(self, *arguments, **options):
        d = self.enterContext(Daemons(*arguments, **options))
        d.start()
        return d

    def publish(self, guest, n=60, stream=0, **options):
        """Share a ring with N events."""
        ring = guest.ring(**options)
        self.addCleanup(ring.close)
        ring.add(n)
        guest.publish(ring, stream=stream)
        return ring

    def attached(self, d, name, streams=1):
        """Wait until the guest runs with STREAMS streams. Return its entry."""

        def found():
            domain = d.domain(name)
            return domain if domain and domain["state"] == "running" and len(domain["streams"]) == streams else None

        return d.wait(found)

    def helper(self, d):
        """Return the process of mprofd's helper."""
        with open(f"/proc/{d.collector.pid}/task/{d.collector.pid}/children", encoding="ascii") as f:
            return int(f.read().split()[0])

    def nothing_lost(self, d, name, delay):
        """Check that the guest NAME, which takes more than two seconds to fill its ring, lost no packet; it may if the daemon had to wait
        for a processor so long, by its DELAY from the beginning of the ring on."""
        lost = d.domain(name)["streams"][0]["lost_packets"]
        self.assertTrue(lost == 0 or delay.seconds() > 2, f"{lost} packets are lost")

    def unmapped(self, d, guest):
        """Wait until no page of the guest is mapped. tests/bench measures how long that takes: bench-kick."""
        d.wait(lambda: not guest.mapped())


class Unknown:
    """Guests of which mprofd says that it does not know how they ended: its helper has not answered within half a second. That may be if
    the two had to wait for a processor so long, and for one guest of a test by another delay. The test repeats what it judges."""

    DECIDE = 0.5  # seconds: DECIDE_NS and ANSWER_NS of daemon/xen/domain-state.c

    def __init__(self, test, d):
        self.test, self.d, self.odd, self.waited = test, d, set(), {}

    @contextlib.contextmanager
    def ending(self, name):
        """The guest NAME ends, and mprofd sees it, in the block."""
        delay = launcher.Delay(self.d.collector.pid, self.test.helper(self.d))
        yield
        self.waited[name] = delay.seconds()

    def found(self, name):
        """Return whether mprofd does not know how the guest NAME, whose run has ended, did."""
        if f"{name}: unknown," not in self.d.said():
            return False
        if self.waited[name] < self.DECIDE:
            self.odd.add(name)
        self.test.assertLessEqual(len(self.odd), 1, f"{sorted(self.odd)}: mprofd does not know how they ended")
        return True


def main():
    """SCRIPT BUILD-DIRECTORY [TEST…]; skipped where there is no store to run."""
    if not store_program("xenstored"):
        print(f"SKIP: there is no xenstored below {XEN}; MPROFD_XEN names the directory that xen-utils was unpacked into")
        sys.exit(77)
    daemons.main()
