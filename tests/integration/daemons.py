"""Start a collector and its server in a directory of their own. Shared by the tests of the running
daemons."""

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from ports import free_port

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = sys.argv[1] if len(sys.argv) > 1 else "build"
PROGRAMS = {
    "mprofd": "daemon/mprofd/mprofd",
    "mprofd-http": "daemon/serve/mprofd-http",
    "mprofd-sink": "daemon/sink/mprofd-sink",
    "mprofctl": "client/ctl/mprofctl",
    "mprof-demo-guest": "client/recorder/demo/mprof-demo-guest",
}
HEADER = struct.Struct("<I16sIHI")
UUID = bytes.fromhex("05883b8d521a487bb397456ab150680c")
START = 30
PATIENCE = 60  # seconds to wait for an event that must come, however busy the machine is
IDLE_PATIENCE = 20  # the same on a machine with no more to run than it has processors
LATER_PATIENCE = 5  # after one missing event the script has failed, and later ones get less time
LAZY = "[collector]\nflush-interval = 60s\n[archive]\nfree-space = 1M\nreserve = 0\n"
QUIET = "[collector]\nflush-interval = 100ms\n[archive]\nfree-space = 1M\nreserve = 0\n"


def program(name):
    return os.path.join(BUILD, PROGRAMS.get(name, f"tests/integration/{name}"))


class Patience:
    """How long to wait for an event that must come."""

    missed = False  # an event has not come

    @classmethod
    def over(cls, waited, seconds):
        """Return whether an event that has not come after WAITED seconds is missing. SECONDS is the
        test's own limit."""
        if cls.missed:
            return waited > min(seconds, LATER_PATIENCE)
        if waited > IDLE_PATIENCE and seconds >= PATIENCE:
            seconds = min(seconds, IDLE_PATIENCE * max(1, os.getloadavg()[0] / os.cpu_count()))
        return waited > seconds


class Lost(Exception):
    """An answer with an error status."""

    def __init__(self, status, body):
        super().__init__(f"status {status}: {body[:500]!r}")
        self.status, self.body = status, body


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Daemons:
    """mprofd over ./rings and mprofd-http, in the directory that is current when the object is
    made."""

    def __init__(self, config=QUIET, state="state"):
        self.root = os.getcwd()
        self.rings = os.path.join(self.root, "rings")
        self.state = os.path.join(self.root, state)
        self.runs = os.path.join(self.root, "run")
        self.socket = os.path.join(self.runs, "http.sock")
        self.log = os.path.join(self.root, "log")
        for path in (self.rings, self.state, self.runs):
            os.makedirs(path, exist_ok=True)
        self.configure(config)
        self.collector = self.server = None
        self.prefix = []  # a command that runs the collector as another user or within limits
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(os.path.join(self.root, "notify"))
        self.notify.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.told = {}
        self.listener = threading.Thread(target=self._listen, daemon=True)  # a test that fails early must still end
        self.listener.start()

    def configure(self, config):
        with open(os.path.join(self.root, "mprofd.conf"), "w", encoding="utf-8") as f:
            f.write(config)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.stop()
        finally:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
                end.sendto(b"", os.path.join(self.root, "notify"))
            self.listener.join()
            self.notify.close()

    # ---- the programs

    def _spawn(self, name, *options, prefix=()):
        paths = ["--state", self.state, "--run", self.runs, "--config", os.path.join(self.root, "mprofd.conf")]
        with open(self.log, "a", encoding="utf-8") as log:
            env = {**os.environ, "NOTIFY_SOCKET": os.path.join(self.root, "notify")}
            return subprocess.Popen([*prefix, program(name), *paths, *options], stderr=log, env=env)

    def _listen(self):
        """Read the programs' messages to a service manager. A socket that nobody reads would block
        them."""
        with contextlib.suppress(OSError):
            while True:
                text, control, _, _ = self.notify.recvmsg(4096, 256)
                if not text:
                    return
                for _, kind, data in control:
                    pid = struct.unpack("iII", data)[0] if kind == socket.SCM_CREDENTIALS else 0
                    self.told.setdefault(pid, []).append(text.decode())

    def _ready(self, process):
        until = time.monotonic() + 60
        while not any("READY=1" in text for text in self.told.get(process.pid, [])):
            if process.poll() is not None or time.monotonic() > until:
                raise AssertionError(f"not ready, exit code {process.poll()}:\n{self.said()[-3000:]}")
            time.sleep(0.005)

    def status(self, process):
        """Return the last STATUS that PROCESS sent."""
        lines = [line for text in self.told.get(process.pid, []) for line in text.splitlines()]
        return next((line[7:] for line in reversed(lines) if line.startswith("STATUS=")), "")

    def start(self):
        self.start_collector()
        self.start_server()

    def start_collector(self):
        self.collector = self._spawn("mprofd", "--source", f"dir:{self.rings}", prefix=self.prefix)
        self._ready(self.collector)

    def start_server(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.socket)
        self.server = self._spawn("mprofd-http", "--listen", f"unix:{self.socket}")
        self._ready(self.server)

    def stop(self):
        """Stop both, in order. A program that fails while it ends (also by a leak) fails the test."""
        self.stop_server()
        self.stop_collector()

    def stop_collector(self):
        self._end(self.collector)
        self.collector = None

    def stop_server(self):
        self._end(self.server)
        self.server = None

    def _end(self, process):
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        if code or "runtime error:" in self.said():
            raise AssertionError(f"{process.args[0]} ended with {code}:\n{self.said()[-5000:]}")

    def kill_collector(self):
        self.collector.kill()
        self.collector.wait()
        self.collector = None

    def kill_server(self):
        self.server.kill()
        self.server.wait()
        self.server = None

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()

    # ---- answers

    def ask(self, path, method="GET", body=None, headers=None, timeout=15):
        """Send a request. Return (status, headers, body)."""
        connection = UnixConnection(self.socket, timeout)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def get(self, path):
        status, _, body = self.ask(path)
        if status != 200:
            raise Lost(status, body)
        return body

    def json(self, path):
        return json.loads(self.get(path))

    def domain(self, name):
        """Return the server's entry for a guest, or None."""
        return next((d for d in self.json("/v1/domains?limit=1000")["domains"] if d["name"] == name), None)

    def captures(self, name):
        return self.json(f"/v1/domains/{name}/captures?limit=1000")["captures"]

    def run_list(self, name):
        """Return all runs of a guest, oldest first."""
        return sorted(self.json(f"/v1/domains/{name}?limit=1000")["run_list"], key=lambda run: run["run"])

    def packets(self, name, query=""):
        """Return all pages of /packets."""
        pages, cursor = [], ""
        while True:
            page = self.json(f"/v1/domains/{name}/packets?limit=1000{query}{cursor}")
            pages.append(page)
            if not page["next"]:
                return pages
            cursor = f"&cursor={page['next']}"

    def gaps(self, name, query=""):
        return [gap for page in self.packets(name, query) for gap in page["gaps"]]

    def trace(self, name, query=""):
        return self.get(f"/v1/domains/{name}/trace{query}")

    def wait(self, what, seconds=PATIENCE):
        """Wait until WHAT() is true. Return its value."""
        began = time.monotonic()
        while True:
            with contextlib.suppress(Lost):
                result = what()
                if result:
                    return result
            waited = time.monotonic() - began
            if Patience.over(waited, seconds):
                Patience.missed = True
                raise AssertionError(f"it did not come within {waited:.0f} s:\n{self.said()[-3000:]}")
            time.sleep(0.02)

    def wait_ended(self, name, runs=1, seconds=PATIENCE):
        """Wait until the guest has RUNS runs, all of them ended."""

        def ended():
            listed = self.run_list(name)
            return listed if len(listed) >= runs and all(run["state"] == "ended" for run in listed) else None

        try:
            return self.wait(ended, seconds)
        except AssertionError as error:
            raise AssertionError(f"{name} has not ended: {self.run_list(name)}") from error

    def wait_archived(self, ring, name, n):
        """Write events slowly until N of them are archived. Later events prove those that came
        between two polls."""

        def enough():
            found = len(events_of(self.trace(name)))
            if found < n:
                time.sleep(0.05)
                ring.add(1)
            return found >= n

        self.wait(enough)

    def wait_begun(self, path, n):
        """Wait until the writer of a ring has begun N more packets."""
        began = newest(path)
        self.wait(lambda: newest(path) >= began + n)

    def wait_written(self, name, n):
        """Wait until the writer of a guest's ring has begun N more packets."""
        self.wait_begun(os.path.join(self.rings, f"{name}.ctf"), n)

    def ask_collector(self, verb):
        """Ask the collector itself, which commits nothing for that. Return its answer."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.settimeout(30)
            s.connect(os.path.join(self.runs, "collect.sock"))
            s.send(f"{verb} 1\n".encode())
            return s.recv(65536).decode().replace("%0A", "\n")

    def collector_metric(self, name):
        return int(re.search(rf"^(?:text=)?{name} (\d+)$", self.ask_collector("metrics"), re.M)[1])

    def query(self, sql):
        """Return rows of the archive."""
        with contextlib.closing(sqlite3.connect(f"file:{self.state}/archive/trace.db?mode=ro", uri=True)) as db:
            return db.execute(sql).fetchall()

    def check_integrity(self):
        """Check the integrity of the archive's file."""
        rows = self.query("PRAGMA integrity_check")
        if rows != [("ok",)]:
            raise AssertionError(f"integrity_check: {rows}")


# ---- rings


def event(timestamp, thread=1):
    """Return a switch event of 17 bytes."""
    return struct.pack("<QBQ", timestamp, 7, thread)


def header(room, count, content=0):
    return HEADER.pack(0xC1FC1FC1, UUID, room * 8, count, (START + content) * 8)


def image(bodies, rooms, first=0):
    """Return a ring of packets of ROOMS bytes. BODIES are the contents of its first packets, which
    are counted from FIRST."""
    parts = []
    for index, room in enumerate(rooms):
        body = bodies[index] if index < len(bodies) else b""
        parts.append((header(room, (first + index) & 0xFFFF, len(body)) + body).ljust(room, b"\0"))
    return b"".join(parts)


def rooms(size, n):
    return [size // n] * (n - 1) + [size - (n - 1) * (size // n)]


def small_ring(base=1000, n=10, size=4096, packets=4):
    """Return a ring of N events that was never full."""
    return image([b"".join(event(base + i, i) for i in range(n))], rooms(size, packets))


def newest(path, packets=4):
    """Return the highest count in the headers of a ring: the count of the packet that is being
    filled."""
    with open(path, "rb") as f:
        sizes = rooms(os.fstat(f.fileno()).st_size, packets)
        return max(HEADER.unpack(os.pread(f.fileno(), START, sum(sizes[:i])))[3] for i in range(packets))


class Ring:
    """A ring file that the test writes event by event, in the recorder's order, and keeps open."""

    def __init__(self, path, size=4096, packets=4, make=True, base=1_000_000):
        self.rooms, self.base = rooms(size, packets), base
        # A new file appears whole: the first packets of a half-written ring are a ring, too.
        new = make and not os.path.exists(path)
        written = f"{os.path.dirname(path)}/.{os.path.basename(path)}.new" if new else path
        self.file = open(written, "w+b" if make else "r+b", buffering=0)
        self.sequence = self.n = 0
        self.used = START
        self.written = []
        if make:
            self.file.write(image([], self.rooms))
        if new:
            os.rename(written, path)

    def add(self, n):
        """Add N events. Their threads count from 0."""
        for _ in range(n):
            slot = self.sequence % len(self.rooms)
            if self.used + 17 >= self.rooms[slot]:
                self.sequence, self.used = self.sequence + 1, START
                slot = self.sequence % len(self.rooms)
                self._put(slot, 26, struct.pack("<I", START * 8))
                self._put(slot, 24, struct.pack("<H", self.sequence & 0xFFFF))
            self.written.append((self.base + self.n, self.n))
            self._put(slot, self.used, event(self.base + self.n, self.n))
            self.used += 17
            self._put(slot, 26, struct.pack("<I", self.used * 8))
            self.n += 1

    def add_packet(self):
        """Add events up to the end of the current packet, and one event of the next packet, which
        proves the current one."""
        sequence = self.sequence
        while self.sequence == sequence:
            self.add(1)

    def add_slowly(self, n):
        """Add events so slowly that the collector sees each event as it comes. The last event of a
        ring at rest cannot be proven."""
        for _ in range(n):
            self.add(1)
            time.sleep(0.005)

    def _put(self, slot, at, data):
        os.pwrite(self.file.fileno(), data, sum(self.rooms[:slot]) + at)

    def close(self):
        self.file.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def events_of(stream):
    """Return (timestamp, thread) of the switches in a CTF stream."""
    found, at = [], 0
    while at < len(stream):
        _, _, size, _, content = HEADER.unpack_from(stream, at)
        body = stream[at + START : at + content // 8]
        found += [struct.unpack_from("<QBQ", body, i)[::2] for i in range(0, len(body), 17)]
        at += size // 8
    return found


# ---- judging


def judge(what, truth, stream, pages, *options):
    """Run truth.py on a fetched stream. Return its counts."""
    with open(f"{what}.fetched.ctf", "wb") as f:
        f.write(stream)
    paths = []
    for index, page in enumerate(pages):
        paths.append(f"{what}.page-{index}.json")
        with open(paths[-1], "w", encoding="utf-8") as f:
            json.dump(page, f)
    command = [sys.executable, "-B", f"{HERE}/truth.py", truth, f"{what}.fetched.ctf"]
    command += [*(["--packets", *paths] if paths else []), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"{what}: truth.py says {done.returncode}: {done.stdout}{done.stderr}")
    return json.loads(done.stdout)


class Case(unittest.TestCase):
    """A test in a directory of its own, with daemons of its own."""

    def setUp(self):
        directory = tempfile.mkdtemp(prefix="mprof.")
        self.addCleanup(shutil.rmtree, directory)
        self.addCleanup(os.chdir, "/")
        os.chdir(directory)

    def daemons(self, *arguments, **options):
        """Start daemons and stop them at the end of the test."""
        daemons = self.enterContext(Daemons(*arguments, **options))
        daemons.start()
        return daemons

    def writer(self, name, *arguments):
        """Start a program and kill it at the end of the test, if it still runs."""
        process = subprocess.Popen([program(name), *map(str, arguments)], stdout=subprocess.PIPE, text=True)
        self.addCleanup(end_writer, process)
        return process

    def writer_seen(self, d, name, options):
        """Start writer-legacy, which waits until the collector knows ring RINGS/NAME.ctf. However
        fast it writes, the collector reads all of it or declares gaps."""
        paths = f"--ring rings/{name}.ctf --truth {name}.truth --after {name}.seen"
        process = self.writer("writer-legacy", *paths.split(), *options.split())
        d.wait(lambda: d.domain(name))
        with open(f"{name}.seen", "w", encoding="ascii"):
            pass
        return process

    def write(self, name, *arguments):
        """Run a program until it ends. Return its output."""
        process = self.writer(name, *arguments)
        said = process.communicate(timeout=120)[0]
        self.assertEqual(process.returncode, 0)
        return json.loads(said) if said else {}


def end_writer(process):
    if process.poll() is None:
        process.kill()
    process.wait()
    process.stdout.close()


def main():
    """SCRIPT BUILD-DIRECTORY [TEST…|--without TEST,…]"""
    import parts

    unittest.main(argv=[sys.argv[0], *parts.names(sys.argv[2:])], verbosity=2 if sys.stderr.isatty() else 1)
