"""Start a collector and its server in a directory of their own. Shared by the tests of the running
daemons."""

import contextlib
import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "../launcher"))

import launcher
from client import UnixConnection
from launcher import PATIENCE, Patience, Program  # noqa: F401  pylint: disable=unused-import
from ports import free_port  # noqa: F401  pylint: disable=unused-import
from rings import HEADER, START, UUID, Ring, event, events_of, header, image, newest, rooms, small_ring  # noqa: F401  pylint: disable=unused-import

BUILD = sys.argv[1] if len(sys.argv) > 1 else "build"
HANGS = 300  # seconds: only a program that hangs takes longer for an answer
PATIENT = "[http]\nheader-timeout = 1d\nbody-timeout = 1d\nidle-timeout = 1d\n"  # a client without a processor is no slow one
LAZY = "[collector]\nflush-interval = 60s\n[archive]\nfree-space = 1M\nreserve = 0\n"
QUIET = "[collector]\nflush-interval = 100ms\n[archive]\nfree-space = 1M\nreserve = 0\n"


def program(name):
    return launcher.path(BUILD, name)


def sanitized():
    """Return whether the programs have sanitizers: these need more than the reader of captures may have."""
    with open(os.path.join(BUILD, "meson-info/intro-buildoptions.json"), encoding="utf-8") as f:
        return next(option["value"] for option in json.load(f) if option["name"] == "b_sanitize") != "none"


class Lost(Exception):
    """An answer with an error status."""

    def __init__(self, status, body):
        super().__init__(f"status {status}: {body[:500]!r}")
        self.status, self.body = status, body


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
        self.collector = self.server = self.sink = self.forwarder = None
        self.prefix = []  # a command that runs the collector as another user or within limits

    def configure(self, config):
        with open(os.path.join(self.root, "mprofd.conf"), "w", encoding="utf-8") as f:
            f.write(PATIENT + config)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    # ---- the programs

    def spawn(self, name, *options, prefix=()):
        """Start a program in the directories of these daemons."""
        paths = ["--state", self.state, "--run", self.runs, "--config", os.path.join(self.root, "mprofd.conf")]
        return Program([program(name), *paths, *options], self.log, prefix)

    def launch(self, name, *options, prefix=()):
        """Start a program, and wait until it is ready."""
        return self.spawn(name, *options, prefix=prefix).wait_ready()

    def start(self):
        self.start_collector()
        self.start_server()

    def start_collector(self):
        self.collector = self.launch("mprofd", "--source", f"dir:{self.rings}", prefix=self.prefix)

    def start_sink(self):
        self.sink = self.launch("mprofd-sink")

    def start_server(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.socket)
        self.server = self.launch("mprofd-http", "--listen", f"unix:{self.socket}")

    def stop(self):
        """Stop all, in order. A program that fails while it ends (also by a leak) fails the test."""
        with contextlib.ExitStack() as stack:
            for stop in (self.stop_collector, self.stop_server, self.stop_sink, self.stop_forwarder):
                stack.callback(stop)  # the last one comes first

    def _take(self, name):
        """Return the program in the field NAME, or None, and empty the field."""
        process = getattr(self, name)
        setattr(self, name, None)
        return process

    def stop_collector(self):
        launcher.stop(self._take("collector"))

    def stop_server(self):
        launcher.stop(self._take("server"))

    def stop_sink(self):
        launcher.stop(self._take("sink"))

    def stop_forwarder(self):
        launcher.stop(self._take("forwarder"))

    def kill_collector(self):
        self._take("collector").end()

    def kill_server(self):
        self._take("server").end()

    def kill_sink(self):
        self._take("sink").end()

    def kill_forwarder(self):
        self._take("forwarder").end()

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()

    # ---- answers

    def ask(self, path, method="GET", body=None, headers=None, timeout=HANGS, patient=True):
        """Send a request. Return (status, headers, body). The server waits five seconds for a change: if PATIENT, wait then until a
        capture is changed or deleted, and answer as the server does that has not waited in vain."""
        answer = self._ask(path, method, body, headers, timeout)
        late = answer[0] == 503 and b"did not answer in time. The change may have been made" in answer[2]
        if late and patient and method in ("PATCH", "DELETE") and re.match(r"/v1/captures/\d+(\?|$)", path) and "If-Match" not in (headers or {}):
            return self.wait(lambda: self._changed(path.split("?")[0], method, body))
        return answer

    def _changed(self, path, method, body):
        """Return the answer to a change of PATH, if it has come into effect."""
        status, headers, found = self._ask(path, "GET", None, None, HANGS)
        if method == "DELETE":
            return status == 404 and (204, headers, b"")
        there = status == 200 and json.loads(found).items() >= json.loads(body).items()
        return there and (status, headers, found)

    def _ask(self, path, method, body, headers, timeout):
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

    def wait(self, what, seconds=PATIENCE, pause=0.02):
        """Wait until WHAT() is true, and PAUSE seconds between two questions. Return its value."""

        def answered():
            with contextlib.suppress(Lost):
                return what()

        return launcher.wait(answered, seconds, lambda: self.said()[-3000:], pause)

    def wait_ready(self):
        """Wait until /readyz says that the daemons are ready, and return what it says. A collector that gets no processor for a second
        and a half answers too late."""

        def ready():
            status, _, body = self.ask("/readyz")
            return status == 200 and json.loads(body)

        return self.wait(ready)

    def metrics(self):
        """Return the metrics of all daemons that run. Those of a daemon that answers too late are absent at first."""
        wanted = ["# EOF\n"] + ["\nmprofd_copied_bytes"] * bool(self.collector) + ["\nmprofd_sink_streams"] * bool(self.sink)

        def whole():
            text = self.get("/metrics").decode()
            return all(part in text for part in wanted) and text

        return self.wait(whole)

    def served_metric(self, name):
        """Return the value of one of metrics()."""
        return int(re.search(rf"(?m)^{re.escape(name)} (\d+)$", self.metrics())[1])

    def wait_said(self, words):
        """Wait until the log has WORDS: a line may come after what it tells of."""
        self.wait(lambda: words in self.said())

    def wait_ended(self, name, runs=1, seconds=PATIENCE):
        """Wait until the guest has RUNS runs, all of them ended."""

        def ended():
            listed = self.run_list(name)
            return listed if len(listed) >= runs and all(run["state"] == "ended" for run in listed) else None

        try:
            return self.wait(ended, seconds)
        except AssertionError as error:
            raise AssertionError(f"{name} has not ended: {self.run_list(name)}") from error

    def wait_read(self):
        """Wait until the reader has read each capture, or could not: answers change then. With sanitizers it cannot run."""
        if not sanitized():
            self.wait(lambda: all(c["cause"] or c["failure"] for c in self.json("/v1/captures?limit=1000")["captures"]))

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

    def ask_collector(self, verb, keys="", path="collect.sock"):
        """Ask the collector itself, which commits nothing for that. Return its answer."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.settimeout(HANGS)
            s.connect(os.path.join(self.runs, path))
            s.send(f"{verb} 1\n{keys}".encode())
            return s.recv(65536).decode().replace("%0A", "\n")

    def advance(self, seconds, step=0.25, path="collect.sock"):
        """Let SECONDS pass for the collector, or for the daemon with the socket PATH, STEP by STEP: all of its timers that were due
        have run then. A build without the option test-clock takes the time that it takes; for the forwarder return False at once."""
        if path.endswith("clock.sock") and not os.path.exists(path):
            return False
        while seconds > 0:
            now = min(step, seconds)
            answer = self.ask_collector("advance", f"ns={round(now * 1e9)}\n", path)
            if not answer.startswith("ok "):
                time.sleep(seconds)
                return True
            seconds -= now
        return True

    def collector_metric(self, name):
        return int(re.search(rf"^(?:text=)?{name} (\d+)$", self.ask_collector("metrics"), re.M)[1])

    def query(self, sql):
        """Return rows of the archive."""
        with contextlib.closing(sqlite3.connect(f"file:{self.state}/archive/trace.db?mode=ro", uri=True)) as db:
            return db.execute(sql).fetchall()

    def loosen(self, ahead=2):
        """Let each writer with the option --leash NAME.leash write AHEAD packets, half of its ring, beyond what the archive has of the
        guest NAME. So a slow machine laps no packet before it is copied. Return the newest archived packet of each guest."""
        newest = "coalesce((SELECT max(sequence) FROM chunks WHERE stream = s.id), -1)"
        reached = dict(self.query(f"SELECT r.name, max({newest}) FROM streams s JOIN runs r ON r.id = s.run GROUP BY r.name"))
        for name, sequence in reached.items():
            path = os.path.join(self.root, f"{name}.leash")
            with open(f"{path}.new", "w", encoding="ascii") as f:
                f.write(str(max(sequence, 0) + ahead))
            os.rename(f"{path}.new", path)
        return reached

    def check_integrity(self):
        """Check the integrity of the archive's file."""
        rows = self.query("PRAGMA integrity_check")
        if rows != [("ok",)]:
            raise AssertionError(f"integrity_check: {rows}")


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


def preloading(library):
    """Return the environment with a library in LD_PRELOAD, also where mprof-run has AddressSanitizer."""
    options = os.environ.get("ASAN_OPTIONS")
    return {**os.environ, "LD_PRELOAD": library, "ASAN_OPTIONS": f"{options + ':' if options else ''}verify_asan_link_order=0"}


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

    def loosening(self, d):
        """Call d.loosen() again and again until the test ends."""
        over = threading.Event()

        def loosen():
            while not over.wait(0.02):
                with contextlib.suppress(sqlite3.Error):  # the archive is being made, or is closed
                    d.loosen()

        thread = threading.Thread(target=loosen, daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(over.set)

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
        said = process.communicate(timeout=HANGS)[0]
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
    from turns import Loader

    unittest.main(argv=[sys.argv[0], *parts.names(sys.argv[2:])], testLoader=Loader(), verbosity=2 if sys.stderr.isatty() else 1)
