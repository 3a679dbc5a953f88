"""Test mprof-run with programs of OCaml 5: MPROF_OCAML5=DIRECTORY ocaml5.py BUILD-DIRECTORY [TEST…]

DIRECTORY is what tests/ocaml5/root made. The programs keep their files of runtime events where the tests say. The
rings of mprof-run are compared with these files, as mprofctl reads them and as OCaml's own reader does, event by event.
"""

import contextlib
import glob
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../integration"))

# pylint: disable=wrong-import-position
import daemons
import run
from daemons import program

PROGRAMS = os.path.join(os.path.abspath(os.environ["MPROF_OCAML5"]), "root/programs")
COLLECTION = re.compile("minor|major|empty_minor|compaction|major_finish_cycle|explicit_gc_(?!set$|stat$).*")
THREADS = ("thread", "parent", "child", "resolver", "resolvee")


def ocaml(name):
    return os.path.join(PROGRAMS, name)


def dump(*where, host=()):
    """Return the events of `mprofctl dump` by stream."""
    done = subprocess.run([program("mprofctl"), *host, "dump", "--json", *where], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    streams = {}
    for event in map(json.loads, done.stdout.splitlines()):
        streams.setdefault(event.pop("stream", ""), []).append(event)
    return streams


def named(ring, events):
    """Return EVENTS as tuples, in which each domain has a name that does not depend on its number."""
    names = {-1: None}
    found = []
    for event in events:
        if event["event"] == "creates":
            names[event["child"]] = f"{ring}.{len(names)}"
        items = [(key, names.setdefault(value, value) if key in THREADS else value) for key, value in sorted(event.items())]
        found.append(tuple((key, int(value) if key in ("time_ns", "duration_ns") else value) for key, value in items))
    return found


def recorded(streams):
    """Return the events of the domains in the rings of mprof-run, by domain."""
    return {int(name[7:]): named(int(name[7:]), events) for name, events in streams.items() if name.startswith("domain-")}


def rings_of(streams):
    """Return the events of a file of runtime events, by domain."""
    found = {}
    for name, events in streams.items():
        number = re.search(r"ring (\d+)$", name)
        ring = int(number[1]) if number else 0
        found[ring] = named(ring, events)
    return found


def overwritten(path):
    """Return the rings of a file of runtime events that lost their begin. A domain that waits for a stopped one can write a whole ring."""
    with open(path, "rb") as f:
        headers = f.read(64 + 128 * 80)
    return {ring for ring in range(128) if struct.unpack_from("<Q", headers, 64 + 80 * ring)[0]}


def lapped(streams):
    """Return the rings of which mprof-run declares that OCaml overwrote events before they were recorded."""
    counted = {name for name, events in streams.items() if any(event.get("counter") == "mprof-lost-words" for event in events)}
    assert all(name.startswith("domain-") for name in counted), counted
    return {int(name[7:]) for name in counted}


def newest(events, n):
    """Return the last N of EVENTS, with threads named in the order in which they come there."""
    names = {}

    def renamed(key, value):
        return names.setdefault(value, str(len(names))) if key in THREADS and value is not None else value

    return [tuple((key, renamed(key, value)) for key, value in event) for event in events[len(events) - n :]]


class Domain:
    """The events that a domain's ring of runtime events becomes, from the lines of OCaml's own reader."""

    def __init__(self, ring):
        self.ring, self.number, self.begun, self.me = ring, 0, False, None
        self.phases, self.spans, self.events = [], [], []

    def add(self, time, event, **fields):
        self.events.append(tuple(sorted({"time_ns": time, "event": event, **fields}.items())))

    def begin(self, time):
        self.end(time)
        self.number += 1
        self.begun, self.me = True, f"{self.ring}.{self.number}"
        self.add(time, "creates", parent=None, child=self.me, type="Task")
        self.name(time)
        self.add(time, "switch", thread=self.me)

    def name(self, time):
        self.add(time, "label", thread=self.me, label=f"domain in ring {self.ring}" if self.ring else "main domain")

    def end(self, time):
        if self.begun:
            self.add(time, "fulfills", resolver=self.me, resolvee=self.me)
            self.add(time, "switch", thread=None)
        self.begun, self.phases, self.spans = False, [], []

    def end_phase(self, time, name):
        if name not in [phase for phase, _ in self.phases]:
            return
        while self.phases[-1][0] != name:
            self.phases.pop()
        _, since = self.phases.pop()
        self.add(time, "duration", thread=self.me, duration_ns=time - since, name=name)
        if COLLECTION.fullmatch(name) and not any(COLLECTION.fullmatch(phase) for phase, _ in self.phases):
            self.add(time, "gc", duration_ns=time - since)

    def leave(self, time, name):
        place = max((i for i, (span, _) in enumerate(self.spans) if span == name), default=None)
        if place is None:  # it began before the ring does
            return
        _, since = self.spans.pop(place)
        self.add(time, "duration", thread=self.me, duration_ns=time - since, name=name)

    def take(self, time, what, rest):
        if not self.number and what != "lifecycle":
            self.begin(time)  # the begin was overwritten
        if what == "lifecycle":
            kind = rest.split(" ")[0]
            if kind in ("ring_start", "domain_spawn"):
                self.begin(time)
            elif kind in ("ring_stop", "domain_terminate"):
                self.end(time)
            else:
                self.add(time, "label", thread=self.me, label=rest.removesuffix(" 0"))
                self.name(time)
        elif what == "begin":
            self.phases.append((rest, time))
        elif what == "end":
            self.end_phase(time, rest)
        elif what == "enter":
            self.spans.append((rest, time))
        elif what == "leave":
            self.leave(time, rest)
        elif what == "unit":
            self.add(time, "label", thread=self.me, label=rest)
        elif what == "text":
            self.add(time, "label", thread=self.me, label=rest.replace(" ", ": ", 1))
        else:
            name, value = rest.rsplit(" ", 1)
            if what == "counter" and name.startswith(("request_", "force_")):
                self.add(time, "increase", thread=self.me, counter=name, amount=int(value))
            else:
                self.add(time, "counter", thread=self.me, counter=name, value=int(value))


def oracle(directory, pid):
    """Return what OCaml's own reader finds in the file of PID, as the events that it should become, by domain."""
    done = subprocess.run([ocaml("events.exe"), directory, str(pid)], capture_output=True, text=True, check=True)
    found = {}
    for line in done.stdout.splitlines():
        ring, time, what, *rest = line.split(" ", 3)
        if not rest:  # RING lost WORDS
            continue
        rest = rest[0]
        found.setdefault(int(ring), Domain(int(ring))).take(int(time), what, rest)
    return {ring: domain.events for ring, domain in found.items()}


class Case(run.Case):
    def end(self, process):
        super().end(process)
        if process.stdin:
            process.stdin.close()

    def begin(self, *command, user=True, **options):
        """Start a program below mprof-run. If USER, the environment asks for the files in the folder events."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("OCAML")}
        env["OCAMLRUNPARAM"] = "e=19"
        os.makedirs("events", exist_ok=True)
        if user:
            env |= {"OCAML_RUNTIME_EVENTS_DIR": "events", "OCAML_RUNTIME_EVENTS_PRESERVE": "1"}
        return self.start(*command, options=["--keep", "--ring", "16M"], env={**env, **options.pop("env", {})}, **options)

    def rings(self, pid):
        directory = self.directory(pid)
        self.quiet(directory)
        return directory

    def ends(self, process, code=0, said_in=None):
        said = process.communicate(said_in, timeout=600)[0]
        self.assertEqual(process.returncode, code)
        return said

    def check_equal(self, got, want, least, wrapped, lost=()):
        """
        GOT and WANT are events by domain; there are at LEAST so many of them. The file has the end of the rings WRAPPED alone, and mprof-run
        says that it lacks events of those LOST: it had no processor in time.
        """
        self.assertEqual(sorted(got), sorted(want))
        for ring, events in want.items():
            mine = got[ring]
            if ring in lost:
                self.assertIn(ring, wrapped)
                continue
            if ring in wrapped:
                self.assertGreater(len(mine), len(events), f"domain {ring} was overwritten, and mprof-run has no more of it")
                mine, events = newest(mine, len(events) // 2), newest(events, len(events) // 2)
            for i, (one, other) in enumerate(zip(mine, events)):
                self.assertEqual(one, other, f"domain {ring}, event {i} of {len(mine)} and {len(events)}")
            self.assertEqual(len(mine), len(events), f"domain {ring}")
        self.assertGreater(sum(map(len, got.values())), least)

    def check_oracles(self, pid, streams, least):
        got, wrapped, lost = recorded(streams), overwritten(f"events/{pid}.events"), lapped(streams)
        self.check_equal(got, rings_of(dump(f"events/{pid}.events")), least, wrapped, lost)
        self.check_equal(got, oracle("events", pid), least, wrapped, lost)

    def labels(self, streams):
        return [event["label"] for name, events in streams.items() if name.startswith("domain-") for event in events if "label" in event]


class Events(Case):
    def test_equal(self):
        """Each event of four domains in three rings: native code, and bytecode."""
        for name in ("work.exe", "work.bc"):
            process = self.begin(ocaml(name))
            self.ends(process)
            streams = dump(self.rings(process.pid))
            self.check_oracles(process.pid, streams, 3000)
            # The rings of threads are there, too: OCaml's domains wait for each other.
            self.assertTrue(any(event["event"] == "try_read" for event in streams["thread-01"]))

    def by_label(self, streams):
        """Return the events that name a domain, by its label, without their times and without switches."""
        labels, found = {}, {}
        for event in (event for events in streams for event in events):
            if event["event"] == "creates":
                labels[event["child"]] = []
            elif event["event"] == "label" and event["label"].startswith("domain in ring "):
                found[event["label"]] = labels[event["thread"]]
            elif event["event"] != "switch" and event.get("thread") in labels:
                kept = {key: value for key, value in event.items() if key not in ("time_ns", "thread")}
                labels[event["thread"]].append(kept)
        return found

    def test_many(self):
        """Twenty domains: those from ring 15 on share a ring, which names the domain of each event."""
        process = self.begin(ocaml("many.exe"))
        self.ends(process)
        streams = dump(self.rings(process.pid))
        self.assertLessEqual(len(streams), run.RINGS)
        got, want = recorded(streams), rings_of(dump(f"events/{process.pid}.events"))
        self.assertEqual(sorted(got), list(range(16)))
        for ring in range(15):
            self.assertEqual(got[ring], want[ring], ring)
        shared = [events for name, events in dump(f"events/{process.pid}.events").items() if int(name.rsplit(" ", 1)[1]) >= 15]
        want = self.by_label(shared)
        self.assertEqual(self.by_label([streams["domain-15"]]), want)
        self.assertEqual(len(want), 6)
        self.assertGreater(sum(map(len, want.values())), 200)

    def test_killed(self):
        """The events are recorded while the program runs, and those before a kill -9 are all there, also in mprofd's capture."""
        d = self.daemons()
        process = self.begin(ocaml("work.exe"), "hold", stdin=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), "holding\n")
        directory = self.directory(process.pid)
        self.until(lambda: "note: holding" in self.labels(dump(directory)))
        name = os.path.basename(directory)
        d.wait(lambda: d.domain(name))
        process.kill()
        process.wait()
        self.quiet(directory)
        self.check_oracles(process.pid, dump(directory), 1500)
        d.wait_ended(name)
        (capture,) = d.captures(name)
        host = ("--host", f"unix:{os.path.abspath(d.socket)}")
        numbers = {stream["name"]: str(stream["stream"]) for stream in capture["streams"] if stream["name"].startswith("domain-")}
        streams = {name: sum(dump(str(capture["id"]), "--stream", k, host=host).values(), []) for name, k in numbers.items()}
        self.check_oracles(process.pid, streams, 1500)

    def test_deadlock(self):
        """The rings of threads name the cycle of two domains; those of domains have what each said before."""
        process = self.begin(ocaml("deadlock.exe"), user=False)
        directory = self.directory(process.pid)

        def answer():
            done = subprocess.run([program("mprofctl"), "why", "--all", directory], capture_output=True, text=True, check=False)
            return done.stdout

        self.until(lambda: "deadlock: each thread of this cycle waits for the next" in answer())
        self.until(lambda: self.labels(dump(directory)).count("takes the second") == 2)
        process.kill()
        process.wait()
        self.quiet(directory)
        self.assertEqual(len(re.findall(r'\(Wait, "pthread_mutex_lock in caml_ml_mutex_lock\(\)', answer())), 4)
        self.assertEqual(self.labels(dump(directory)).count("takes the second"), 2)


class Environment(Case):
    def test_own_directory(self):
        """Without a wish of the user the file lies in mprof-run's own directory, and goes with the process."""
        process = self.begin(ocaml("work.exe"), "hold", user=False, stdin=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), "holding\n")
        (file,) = glob.glob(f"rings/.runtime-*/{process.pid}.events")
        self.ends(process, said_in="\n")
        streams = dump(self.rings(process.pid))
        self.until(lambda: not os.path.exists(file))
        self.assertIn("note: three is done", self.labels(streams))
        last = recorded(streams)[0][-2:]
        self.assertEqual([dict(event)["event"] for event in last], ["fulfills", "switch"])
        self.until(lambda: not glob.glob("rings/.runtime-*"))
        self.assertEqual(os.listdir("events"), [])

    def test_short(self):
        """A program that ends at once has its events, too."""
        for _ in range(10):
            process = self.begin(ocaml("processes.exe"), user=False)
            self.ends(process)
            (events,) = recorded(dump(self.rings(process.pid))).values()
            self.assertEqual([dict(e)["value"] for e in events if dict(e).get("counter") == "who"], [3])

    def test_started_by_the_user(self):
        """The variable START alone: the file lies where the program runs, which removes it. All is recorded."""
        os.mkdir("elsewhere")
        env = {"OCAML_RUNTIME_EVENTS_START": "1"}
        process = self.begin("sh", "-c", f"cd elsewhere && exec {ocaml('work.exe')}", user=False, env=env)
        self.ends(process)
        events = recorded(dump(glob.glob(f"rings/work.exe.{process.pid}")[0]))
        self.assertEqual(dict(events[0][-1])["event"], "switch")
        self.assertEqual(os.listdir("elsewhere"), [])

    def test_other_programs(self):
        """No other program gets a variable of OCaml's, nor a ring for domains."""
        process = self.begin("env", user=False)
        said = self.ends(process)
        self.assertEqual(re.findall("^OCAML_.*", said, re.M), [])
        self.assertEqual([name for name in os.listdir(self.rings(process.pid)) if name.startswith("domain")], [])

    def test_no_directory(self):
        """OCaml would end a program that cannot write the directory: it runs without events."""
        process = self.begin("env", "MPROF_RUN_RUNTIME=/nonexistent", ocaml("work.exe"), user=False)
        self.ends(process)
        # In another root neither the shim nor the directory is there.
        root = os.path.dirname(PROGRAMS)
        process = self.begin("chroot", root, "/usr/bin/ocaml", "-e", 'print_string "hello"', user=False, stderr=subprocess.DEVNULL)
        self.assertEqual(self.ends(process), "hello")

    def test_cut(self):
        """A file that another program cuts: the keeper goes on, and so do the rings of threads."""
        process = self.begin(ocaml("work.exe"), "hold", stdin=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), "holding\n")
        directory = self.directory(process.pid)
        self.until(lambda: "note: holding" in self.labels(dump(directory)))
        process.send_signal(signal.SIGSTOP)
        os.truncate(f"events/{process.pid}.events", 4096)
        self.until(lambda: run.Trace(directory).counters.get("mprof-dropped", [0])[-1] > 0)
        process.kill()
        process.wait()
        self.quiet(directory)
        self.assertEqual(run.Trace(directory).counters["resident bytes"][-1], 0)


class Processes(Case):
    def test_fork_and_exec(self):
        """A forked child and an executed program have rings and files of their own."""
        shutil.copy(ocaml("processes.exe"), "again.exe")
        for user in (True, False):
            process = self.begin(ocaml("processes.exe"), os.path.abspath("again.exe"), user=user)
            child = int(self.ends(process))
            for name, pid, who in (("processes.exe", process.pid, 1), ("processes.exe", child, 2), ("again.exe", process.pid, 3)):
                self.until(lambda name=name, pid=pid: os.path.isdir(f"rings/{name}.{pid}"))
                self.quiet(f"rings/{name}.{pid}")
                (events,) = recorded(dump(f"rings/{name}.{pid}")).values()
                values = [dict(e)["value"] for e in events if dict(e).get("counter") == "who"]
                self.assertEqual(values, [who], name)
                collections = [dict(e) for e in events if dict(e).get("name") == "explicit_gc_full_major"]
                self.assertEqual(len(collections), who != 1, name)
            if user:
                self.check_oracles(child, dump(f"rings/processes.exe.{child}"), 50)


class Losses(Case):
    def test_lapped(self):
        """A program that writes faster than anybody can read: each number is there, or in a declared loss."""
        process = self.begin(ocaml("flood.exe"), "2000000", env={"OCAMLRUNPARAM": "e=12"})
        self.ends(process)
        events = [dict(event) for event in recorded(dump(self.rings(process.pid)))[0]]
        before, lost, pending, losses = None, None, None, 0
        for event in events:
            if event.get("counter") == "mprof-lost-words":
                pending, lost = event["value"] - (lost or 0), event["value"]
            elif event.get("counter") == "number":
                number = event["value"]
                if before is not None and pending is None:
                    self.assertEqual(number, before + 1)
                elif before is not None and losses:
                    # An event has three words. At the end of the ring up to two are left free.
                    words = 3 * (number - before - 1)
                    self.assertLessEqual(words, pending)
                    self.assertLessEqual(pending, words + 2 * (words // 4096 + 2) + 4096)
                losses += pending is not None
                before, pending = number, None
        self.assertEqual(before, 2000000)
        self.assertGreater(losses, 0)
        # The file has the newest events at the end, and they were recorded.
        left = [dict(event)["value"] for event in rings_of(dump(f"events/{process.pid}.events"))[0] if dict(event).get("counter") == "number"]
        self.assertEqual(left, list(range(2000000 - len(left) + 1, 2000001)))
        numbers = [event["value"] for event in events if event.get("counter") == "number"]
        self.assertEqual(numbers[-len(left) :], left)


class Port(unittest.TestCase):
    """The recorder for OCaml, built by OCaml 5: mprofctl reads what the program says that it recorded."""

    WORDS = {
        "creates": ("parent", "child", "type"),
        "label": ("thread", "label"),
        "switch": ("thread",),
        "counter": ("thread", "value", "counter"),
        "increase": ("thread", "amount", "counter"),
        "fulfills": ("resolver", "resolvee"),
        "fails": ("resolver", "resolvee", "exn"),
    }

    def setUp(self):
        self.enterContext(contextlib.chdir(self.enterContext(tempfile.TemporaryDirectory(prefix="ocaml5-port-"))))

    def words(self, path):
        """Return the events of a ring, without collections, as the program writes them, and the number of collections."""
        ((_, events),) = dump(path).items()
        times = [int(event["time_ns"]) for event in events]
        self.assertEqual(times, sorted(times))
        said = [" ".join([e["event"], *(str(e[key]) for key in self.WORDS[e["event"]])]) for e in events if e["event"] != "gc"]
        return said, sum(event["event"] == "gc" for event in events)

    def test_domains(self):
        """One domain records, while four others call the same functions; then another one records. On one processor they wait for each other."""
        for kind in ("exe", "bc"):
            for prefix in ([], ["taskset", "-c", str(min(os.sched_getaffinity(0)))]):
                with self.subTest(kind=kind, prefix=prefix):
                    command = [*prefix, ocaml(f"domains.{kind}"), "first.ctf", "second.ctf"]
                    done = subprocess.run(command, capture_output=True, text=True, check=False)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    for ring in ("first", "second"):
                        want = [line.partition(" ")[2] for line in done.stdout.splitlines() if line.startswith(ring + " ")]
                        self.assertGreater(len(want), 15000)
                        got, collections = self.words(f"{ring}.ctf")
                        self.assertEqual(got, want)
                        self.assertGreater(collections, 3)
                        # A domain that waits for others collects in slices of a microsecond, which would fill the ring.
                        self.assertLess(collections, 5000)


class Overlay(unittest.TestCase):
    """Debian 13's Lwt below the overlay of mprof-mirage-lwt, with a library that was not changed."""

    def setUp(self):
        self.enterContext(contextlib.chdir(self.enterContext(tempfile.TemporaryDirectory(prefix="ocaml5-overlay-"))))

    def test_filtered(self):
        """Exceptions that Lwt's filter excludes pass through, as without the overlay."""
        subprocess.run([ocaml("overlay-filtered.exe"), "filtered.ctf"], check=True)

    def test_lost(self):
        """`why` names the wake-up that was lost in the library."""
        for order, verdicts in (("good", []), ("bad", ["missed-signal"])):
            subprocess.run([ocaml("overlay-lost.exe"), order, f"{order}.ctf"], stdout=subprocess.DEVNULL, check=True)
            done = subprocess.run([program("mprofctl"), "why", "--json", f"{order}.ctf"], stdout=subprocess.PIPE, check=True)
            answers = json.loads(done.stdout)["answers"]
            self.assertEqual([answer["verdict"] for answer in answers], verdicts)
        self.assertEqual((answers[0]["label"], answers[0]["condition"]["label"]), ("TCP connect", "ARP response"))


if __name__ == "__main__":
    daemons.main()
