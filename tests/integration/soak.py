"""Run every attack at once beside honest guests and clients: soak.py BUILD-DIRECTORY [TEST…]

For MPROF_SOAK seconds (1,800 by default) one host gets, all at the same time:
  - 1,000 clients that connect, send a byte or nothing, and leave, so that the listener is at its limit;
  - a client that sends mutated requests, and one that reads everything while it changes;
  - hostile writers of rings, thousands of junk files, and a ring directory that is replaced every half minute;
  - hostile memtrace streams at the sink;
  - SIGKILL of the collector, the server and the sink;
  - a second archive in which bits flip while it is served.

Honest clients of a TCP listener ask all the time, and an honest guest writes all the time. Every
answer must be true or an error, every loss of the honest guest must be declared, memory and
descriptors must stay bounded, and no program may end by itself. Prints the figures as one line of
JSON.
"""

import collections
import contextlib
import http.client
import json
import os
import random
import select
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time

import daemons
import sink
from daemons import QUIET, judge

SECONDS = float(os.environ.get("MPROF_SOAK", "1800"))
IDLE_CLIENTS = 1000
CONNECTIONS = 256
GENERATION = 30  # seconds between replacements of the ring directory
KILL_EVERY = 45
JUNK = 2000
FLIPS = 16  # in one turn of damage.py
MEMORY = 900 << 20  # limit of each program under a sanitizer
HONEST_ADDRESS = "127.0.0.2"  # another peer than the idle clients
CONFIG = (
    QUIET + f"[http]\nconnections = {CONNECTIONS}\n" + "[policy chaos]\nbytes = 16M\n[policy pattern]\nbytes = 96M\n[policy honest*]\nbytes = 256M\n"
)


class Figures(collections.Counter):
    """Counts of events by name, and the times of honest requests."""

    def __init__(self):
        super().__init__()
        self.latency = collections.defaultdict(list)
        self.faults = []


class Worker(threading.Thread):
    """A thread that runs PART until the end. Any exception in it fails the run."""

    def __init__(self, soak, part):
        super().__init__(daemon=True, name=part.__name__)
        self.soak, self.part = soak, part

    def run(self):
        try:
            self.part()
        except Exception as error:  # pylint: disable=broad-exception-caught
            self.soak.figures.faults.append(f"{self.name}: {error!r}")


class Host(daemons.Daemons):
    """Collector, server and sink of one host, the server on TCP as well."""

    def __init__(self, config):
        self.port, self.sink_port = daemons.free_port(), daemons.free_port()
        super().__init__(f"{config}[sink]\nlisten = 127.0.0.1:{self.sink_port}\n")

    def start_server(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.socket)
        self.server = self.launch("mprofd-http", "--listen", f"unix:{self.socket}", "--listen", f"127.0.0.1:{self.port}")

    def start(self):
        super().start()
        self.start_sink()

    def restart(self, name):
        """Kill a program and start it again."""
        getattr(self, f"kill_{name}")()
        getattr(self, f"start_{name}")()


def resident(process):
    """Return the resident bytes and open descriptors of a process."""
    with open(f"/proc/{process.pid}/status", encoding="ascii") as f:
        size = next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmRSS"))
    return size, len(os.listdir(f"/proc/{process.pid}/fd"))


class Soak(daemons.Case):
    def setUp(self):
        super().setUp()
        os.environ["ASAN_OPTIONS"] = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "quarantine_size_mb=16"]))
        self.seed = int(os.environ.get("MPROF_SEED", time.time_ns() % 2**32))
        self.figures = Figures()
        self.over = threading.Event()
        self.host = None
        self.quiet_until = 0.0  # a killed program is away until then
        self.most = collections.defaultdict(lambda: [0, 0])

    # ---- hostile clients

    def hold_idle(self):
        """Hold 1,000 idle connections, each for a while."""
        chance = random.Random(self.seed)
        poll, held = select.poll(), {}
        while not self.over.is_set():
            while len(held) < IDLE_CLIENTS and not self.over.is_set():
                with contextlib.suppress(OSError):
                    s = socket.socket()
                    s.setblocking(False)
                    s.connect_ex(("127.0.0.1", self.host.port))
                    held[s.fileno()] = [s, time.monotonic() + chance.random() * 8, chance.choice("nGbhr")]
                    poll.register(s, select.POLLIN | select.POLLHUP)
                    self.figures["idle_clients"] += 1
                    continue
                break
            for number, _ in poll.poll(50):
                self._idle_heard(poll, held, number)
            now = time.monotonic()
            for number in list(held):
                self._idle_acts(poll, held, number, now, chance)
        for s, _, _ in held.values():
            s.close()

    def _idle_heard(self, poll, held, number):
        try:
            gone = not held[number][0].recv(65536)
        except BlockingIOError:
            return
        except OSError:
            gone = True
        if gone:
            self.figures["idle_clients_closed"] += 1
            poll.unregister(number)
            held.pop(number)[0].close()

    @staticmethod
    def _idle_acts(poll, held, number, now, chance):
        s, until, kind = held[number]
        with contextlib.suppress(OSError):
            if kind == "G":
                s.send(b"G")
                held[number][2] = "n"
            elif kind == "b" and chance.random() < 0.1:
                s.send(b"G")
            elif kind == "h":
                s.send(b"GET /v1/dom")
                s.shutdown(socket.SHUT_WR)
                held[number][2] = "n"
            elif kind == "r":
                s.send(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
                held[number][2] = "n"
        if now > until:
            poll.unregister(number)
            if chance.random() < 0.3:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            s.close()
            del held[number]

    def fuzz(self):
        """Send requests with bytes changed, dropped and doubled."""
        chance = random.Random(self.seed + 1)
        paths = ["/v1/domains", "/v1/domains/honest/trace?last=1K", "/v1/events", "/v1/captures?limit=3", "/metrics"]
        while not self.over.wait(0.02):
            text = bytearray(
                f"{chance.choice(['GET', 'POST', 'DELETE', 'PATCH', 'HEAD', 'PUT'])} {chance.choice(paths)} HTTP/1.1\r\n"
                f"Host: localhost\r\nRange: bytes=0-9\r\nContent-Length: {chance.choice([0, 3, 5, 99999999])}\r\n\r\n{{}}".encode()
            )
            for _ in range(chance.randrange(6)):
                at = chance.randrange(len(text))
                text[at : at + chance.randrange(3)] = chance.randbytes(chance.randrange(3))
            with contextlib.suppress(OSError), socket.socket() as s:
                s.bind(("127.0.0.3", 0))
                s.settimeout(0.2)
                s.connect(("127.0.0.1", self.host.port))
                s.sendall(text)
                self.figures["fuzzed"] += 1
                s.recv(65536)

    def memtraces(self):
        """Send streams of profiles with bytes changed to the sink."""
        chance = random.Random(self.seed + 2)
        good = sink.stream()
        while not self.over.wait(0.05):
            text = bytearray(good)
            for _ in range(chance.randrange(1, 8)):
                text[chance.randrange(len(text))] = chance.randrange(256)
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.host.sink_port), 2) as s:
                s.sendall(text[: chance.randrange(len(text))])
                self.figures["memtraces"] += 1

    # ---- honest clients

    def honest(self):
        """Send small requests all the time: by TCP from an address of its own, from the idle
        clients' address, and by the Unix socket."""
        asks = {
            "own_address": self._ask_tcp,
            "same_address": lambda: self._ask_tcp("127.0.0.1"),
            "unix": lambda: self.host.ask("/healthz")[0],
        }
        while not self.over.wait(0.1):
            for name, ask in asks.items():
                began = time.monotonic()
                try:
                    status = ask()
                    if status != 200:
                        raise AssertionError(f"status {status}")
                    self.figures.latency[name].append(time.monotonic() - began)
                except (OSError, http.client.HTTPException, AssertionError) as error:
                    if time.monotonic() < self.quiet_until or began < self.quiet_until:
                        continue
                    self.figures[f"refused_{name}"] += 1
                    if name != "same_address":
                        self.figures.faults.append(f"honest by {name}: {error!r}")

    def _ask_tcp(self, address=HONEST_ADDRESS):
        connection = http.client.HTTPConnection("127.0.0.1", self.host.port, timeout=20, source_address=(address, 0))
        try:
            connection.request("GET", "/healthz")
            answer = connection.getresponse()
            answer.read()
            return answer.status
        finally:
            connection.close()

    def browse(self):
        """Read everything while it changes."""
        chance = random.Random(self.seed + 3)
        while not self.over.wait(0.1):
            name = chance.choice(["chaos", "pattern", "honest"])
            what = chance.choice(["", "/packets", "/trace?last=100K", "/captures", "/ctf.tar?last=50K"])
            with contextlib.suppress(OSError, http.client.HTTPException):
                status, _, body = self.host.ask(f"/v1/domains/{name}{what}", timeout=300)
                self.figures[f"browsed_{status}"] += 1
                if status not in (200, 404, 409, 410, 503):
                    self.figures.faults.append(f"{name}{what}: {status} {body[:200]!r}")

    # ---- guests, directories and kills

    def generations(self):
        """Replace the ring directory repeatedly. Each has an honest writer, hostile writers and
        junk."""
        number = 0
        while not self.over.is_set():
            number += 1
            name = f"honest-{number}"
            options = f"--ring rings/{name}.ctf --truth {name}.truth --size 1048576 --rate 100000"
            writers = [self.writer("writer-legacy", *options.split())]
            for mode in ("chaos", "pattern"):
                options = f"--mode {mode} --seconds {int(GENERATION)} --seed {number} --spare {mode}.spare --ring rings/{mode}.ctf"
                writers.append(self.writer("writer-hostile", *options.split()))
            self.junk(number)
            self.over.wait(GENERATION)
            self.finish(name, writers)
            shutil.rmtree("old", ignore_errors=True)
            os.rename("rings", "old")
            self.over.wait(1 if number % 2 else 0)
            os.mkdir("rings")
            self.figures["directories"] += 1

    def finish(self, name, writers):
        """End the writers, and compare the honest writer's archive with its truth."""
        for writer in writers:
            writer.terminate()
            writer.wait(daemons.HANGS)
        self.patient(lambda: self.host.wait_ended(name))
        pages = self.patient(lambda: self.host.packets(name))
        runs = self.patient(lambda: self.host.run_list(name))
        if len(runs) == 1:
            said = judge(name, f"{name}.truth", self.patient(lambda: self.host.trace(name)), pages, "--ended")
            self.figures["judged"] += 1
            self.figures["honest_gaps"] += said["gaps"]
        for path in (f"{name}.truth", f"{name}.fetched.ctf"):
            with contextlib.suppress(OSError):
                os.unlink(path)

    def patient(self, ask):
        """Ask until the server answers."""
        until = time.monotonic() + 60
        while True:
            try:
                return ask()
            except (OSError, http.client.HTTPException, daemons.Lost):
                if time.monotonic() > until:
                    raise
                time.sleep(0.2)

    def junk(self, number):
        """Make files that are no rings, and change them."""

        def change():
            chance = random.Random(number)
            until = time.monotonic() + GENERATION
            while time.monotonic() < until and not self.over.wait(0.05):
                with contextlib.suppress(OSError), open(f"rings/junk-{chance.randrange(JUNK)}", "wb") as f:
                    f.write(chance.randbytes(chance.randrange(5000)))
                    self.figures["junk"] += 1

        for i in range(0, JUNK, 4):
            with contextlib.suppress(OSError), open(f"rings/junk-{i}", "wb") as f:
                f.write(b"junk" * (i % 700))
        threading.Thread(target=change, daemon=True).start()

    def kills(self):
        """Kill one of the programs, and start it again."""
        chance = random.Random(self.seed + 4)
        while not self.over.wait(KILL_EVERY * (0.5 + chance.random())):
            name = chance.choice(["collector", "server", "sink"])
            self.quiet_until = time.monotonic() + 60
            self.measure()
            self.host.restart(name)
            self.quiet_until = time.monotonic() + 1
            self.figures[f"killed_{name}"] += 1

    # ---- bit rot

    def rot(self):
        """Flip bits of served archives repeatedly. damage.py knows the true answers."""
        turn = 0
        while not self.over.is_set():
            turn += 1
            env = {**os.environ, "MPROF_FLIPS": str(FLIPS), "MPROF_SEED": str(self.seed + turn)}
            tests = ["Damage.test_flips_in_rows", "Damage.test_flips_anywhere"]
            command = [sys.executable, "-B", os.path.join(daemons.HERE, "damage.py"), daemons.BUILD, *tests]
            done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
            if done.returncode:
                raise AssertionError(f"MPROF_SEED={self.seed + turn} MPROF_FLIPS={FLIPS}: {done.stdout}{done.stderr}")
            self.figures["flips"] += FLIPS + FLIPS // 2

    # ---- figures

    def measure(self):
        for name in ("collector", "server", "sink"):
            process = getattr(self.host, name)
            with contextlib.suppress(OSError, AttributeError, StopIteration):
                for index, value in enumerate(resident(process)):
                    self.most[name][index] = max(self.most[name][index], value)

    def check_running(self):
        for name in ("collector", "server", "sink"):
            process = getattr(self.host, name)
            if process and process.poll() is not None and time.monotonic() > self.quiet_until:
                self.figures.faults.append(f"the {name} ended by itself:\n{self.host.said()[-3000:]}")

    def test_all_at_once(self):
        self.host = self.enterContext(Host(CONFIG))
        self.host.start()
        parts = [self.hold_idle, self.fuzz, self.memtraces, self.honest, self.browse, self.generations, self.kills, self.rot]
        workers = [Worker(self, part) for part in parts]
        for worker in workers:
            worker.start()
        until = time.monotonic() + SECONDS
        while time.monotonic() < until and not self.figures.faults:
            self.over.wait(1)
            if time.monotonic() > self.quiet_until:
                self.measure()
                self.check_running()
        self.over.set()
        for worker in workers:
            worker.join(180)
        self.host.stop()
        self.host.check_integrity()
        self.say()
        self.assertEqual(self.figures.faults, [])
        self.assertGreater(self.figures["judged"], 0)
        for name, (size, _) in self.most.items():
            self.assertLess(size, MEMORY, name)
        for word in ("Sanitizer", "runtime error", "Assertion"):
            self.assertNotIn(word, self.host.said())

    def say(self):
        latency = {}
        for name, times in self.figures.latency.items():
            times = sorted(round(1e3 * t, 1) for t in times)
            latency[name] = {"n": len(times), "median_ms": statistics.median(times), "p99_ms": times[len(times) * 99 // 100], "most_ms": times[-1]}
        figures = {"seed": self.seed, "seconds": SECONDS, **self.figures, "latency": latency, "most": self.most}
        print(json.dumps({**figures, "log_lines": self.host.said().count("\n")}), flush=True)


if __name__ == "__main__":
    daemons.main()
