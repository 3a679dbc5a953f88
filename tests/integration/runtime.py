"""Test the reader of OCaml 5's runtime events: runtime.py SOURCE-ROOT MPROFCTL RUNTIME-DUMP [TEST…]

tests/traces/ocaml5 has ring files, and what OCaml's own reader and Eio's own reader make of them. The
reader is compared with both, event by event; mprofctl is run on the files.
"""

import contextlib
import json
import lzma
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import ocaml_rings as made
import trace_events as events

ROOT, MPROFCTL, DUMP = map(os.path.abspath, sys.argv[1:4])
TRACES = os.path.join(ROOT, "tests", "traces", "ocaml5")
SCRATCH = tempfile.TemporaryDirectory(prefix="runtime-")
ESCAPES = {"n": 10, "t": 9, "r": 13, "b": 8}
NAMES = sorted(name[: -len(".events.xz")] for name in os.listdir(TRACES) if name.endswith(".events.xz"))


def text(name):
    with lzma.open(os.path.join(TRACES, name), "rt") as file:
        return file.read().splitlines()


def ring(name):
    """Unpack a ring file once, with holes where it is zero. Return its path."""
    path = os.path.join(SCRATCH.name, name + ".events")
    if not os.path.exists(path):
        with lzma.open(os.path.join(TRACES, name + ".events.xz")) as packed, open(path, "wb") as plain:
            while piece := packed.read(1 << 20):
                if piece.strip(b"\0"):
                    plain.write(piece)
                else:
                    plain.seek(len(piece), os.SEEK_CUR)
            plain.truncate()
    return path


def string_bytes(body):
    """Return the bytes of a string in OCaml's %S, without its quotes."""
    out, at = bytearray(), 0
    while at < len(body):
        if body[at] != "\\":
            out.append(ord(body[at]))
            at += 1
        elif body[at + 1].isdigit():
            out.append(int(body[at + 1 : at + 4]))
            at += 4
        else:
            out.append(ESCAPES.get(body[at + 1], ord(body[at + 1])))
            at += 2
    return bytes(out)


def oracle_line(line):
    """Return LINE with the bytes of a custom event instead of its decoded string."""
    found = re.fullmatch(r'(.*) str:"(.*)"', line)
    return f"{found[1]} hex:{string_bytes(found[2]).hex()}" if found else line


def oracle(name):
    lines = [oracle_line(line) for line in text(name + ".oracle.txt.xz") if not line.startswith("#")]
    if name.startswith(("v51", "v52")):  # these readers take a word that ring_stop does not have
        lines = [re.sub(r"ring_stop -?\d+", "ring_stop -", line) for line in lines]
    return lines


def dump(*arguments):
    done = subprocess.run([DUMP, *arguments], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.splitlines()


def ctl(*arguments, stdin=None):
    done = subprocess.run([MPROFCTL, *arguments], input=stdin, capture_output=True, timeout=300)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def mix(n):
    """The third word of the event `checked` of the program flood.ml."""
    mask = (1 << 64) - 1
    z = (n + 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


def checked(lines):
    """Return the numbers of the events `checked` in LINES, after checking their payload."""
    numbers = []
    for line in lines:
        found = re.search(r'user-custom "checked" hex:(\w+)$', line)
        if not found:
            continue
        data = bytes.fromhex(found[1])
        n, inverse, hashed = (int.from_bytes(data[i : i + 8], "little") for i in (0, 8, 16))
        assert n == inverse ^ ((1 << 64) - 1) and hashed == mix(n), line
        numbers.append(n)
    return numbers


class Oracle(unittest.TestCase):
    def test_equal(self):
        """Every event of every ring, its time, name and value, and the number of lost words. With MPROF_BRIEF, of each second file."""
        compared, brief = 0, bool(os.environ.get("MPROF_BRIEF"))
        for name in NAMES[:: 1 + brief]:
            if name.startswith("torn"):
                continue
            want, got = oracle(name), dump(ring(name))
            for i, (one, other) in enumerate(zip(want, got)):
                self.assertEqual(one, other, f"{name}, line {i}")
            self.assertEqual(len(want), len(got), name)
            compared += len(want)
        self.assertGreater(compared, 5000 if brief else 31000)

    def test_torn(self):
        """A ring that the program overwrote while it was copied: what is left is whole, and the newest."""
        for kind in ("fast", "mid", "slow"):
            for copy in map(json.loads, text(f"torn-{kind}.copies.jsonl.xz")):
                head, tail = copy["head_tail_after"]["0"]
                want = copy["from_head_after"]
                lines = dump("-m", str(head), str(tail), ring(copy["file"][: -len(".events")]))
                numbers = checked(lines)
                self.assertEqual(len(numbers), want["events"], copy["file"])
                if numbers:
                    self.assertEqual([numbers[0], numbers[-1]], [want["first"], want["last"]])
                    self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))
                self.assertEqual([line for line in lines if "damage" in line], [])
                self.assertIn(f"ring=0 lost-words {head}", lines)

    def test_torn_unchecked(self):
        """The same copies without the check have torn events, so the check is needed."""
        torn = 0
        for copy in map(json.loads, text("torn-mid.copies.jsonl.xz")):
            lines = dump(ring(copy["file"][: -len(".events")]))
            try:
                numbers = checked(lines)
                torn += any("damage" in line for line in lines) or numbers != list(range(numbers[0], numbers[0] + len(numbers)))
            except AssertionError:
                torn += 1
        self.assertGreater(torn, 0)

    def test_growing(self):
        """One reader on ten copies of a ring that grows: all events, in order, with each loss declared."""
        copies = list(map(json.loads, text("growing.copies.jsonl.xz")))
        files = [copy["file"][: -len(".events")] for copy in copies] + ["growing-final"]
        every = [oracle_line(line) for line in text("growing.all.txt.xz") if not line.startswith("#")]
        got = dump(*map(ring, files))
        lost = [line for line in got if "lost-words" in line]
        positions = [copy["head_tail"]["0"] for copy in copies]
        words = [head - tail for (_, tail), (head, _) in zip(positions, positions[1:]) if head > tail]
        self.assertEqual(lost[: len(words)], [f"ring=0 lost-words {n}" for n in words])
        at = 0
        for line in got:
            if "lost-words" in line:
                at = None
            elif at is None:
                at = every.index(line) + 1
            else:
                self.assertEqual(line, every[at])
                at += 1
        self.assertEqual(at, len(every))


class Eio(unittest.TestCase):
    """The events of Eio, as its own reader names them, against what `mprofctl dump` prints."""

    PATTERNS = [
        (r"create fiber (\d+) in CC \d+", r"creates parent=(-?\d+) child=\1 type=Task"),
        (r"create (promise|stream|mutex|semaphore) (\d+)", r"creates parent=(-?\d+) child=\2 type=(Promise|Stream|Mutex|Semaphore)"),
        (r"create \w+ CC (\d+)", r"creates parent=(-?\d+) child=\1 type=Switch"),
        (r"fiber (\d+) is now running", r"switch thread=\1"),
        (r"waiting to get from (\d+)", r"try_read reader=(-?\d+) source=\1"),
        (r"get from (\d+)", r"read reader=(-?\d+) source=\1"),
        (r"put (\d+)", r"(fulfills resolver=-?\d+ resolvee=\1|signal_noswitch sender=-?\d+ receiver=\1)"),
        (r"fiber (\d+) finishes", r"(fulfills resolver=-?\d+ resolvee=\1|switch thread=-?\d+)"),
        (r'(\d+) is named "(.*)"', r'label thread=\1 label="\2"'),
        (r'log: "(.*)"', r'label thread=(-?\d+) label="\1"'),
        (r"domain spawned by fiber (\d+)", r"signal_noswitch sender=\1 receiver=-\d+"),
    ]

    def expected(self, what):
        for pattern, event in self.PATTERNS:
            found = re.fullmatch(pattern, what)
            if not found:
                continue
            for i, group in enumerate(found.groups(), 1):
                event = event.replace(f"\\{i}", re.escape(group))
            return event
        return None

    def test_events(self):
        for name in ("eio", "eio-wrapped", "eio-hang", "eio-hang-live", "eio-hang-half", "eio-hang-wrapped"):
            code, out, _ = ctl("dump", ring(name))
            self.assertEqual(code, 0)
            events = {}
            for line in out.splitlines():
                seconds, rest = line.split(" ", 1)
                stream = re.search(r' stream="\S+ ring (\d+)"$', rest)
                rest = rest[: stream.start()] if stream else rest
                time = int(seconds.replace(".", ""))
                events.setdefault((int(stream[1]) if stream else 0, time), []).append(rest)
            found = 0
            for line in text(name + ".eio.txt.xz"):
                place = re.match(r"ring=(\d+) t=(\d+) (.*)", line)
                want = place and self.expected(place[3])
                if not want:
                    continue
                here = events.get((int(place[1]), int(place[2])), [])
                self.assertTrue(any(re.fullmatch(want, event) for event in here), f"{name}: {line}: {want} is not in {here}")
                found += 1
            self.assertGreater(found, 10, name)

    def test_waits(self):
        """Each thread that is left waiting waits for the object that the program which wrote the ring says."""
        with open(os.path.join(TRACES, "eio-hang.expected.json")) as file:
            rings = json.load(file)["rings"]
        waits = 0
        for name in rings:
            for fibre, state in rings[name]["fibres_alive_at_end"].items():
                if state["state"] != "suspended":
                    continue
                code, out, _ = ctl("why", "--json", ring(name), fibre)
                self.assertEqual(code, 0)
                answer = json.loads(out)["answers"][0]
                link = answer["chain"][0] if answer["chain"] else None
                if state["awaits"] is not None:
                    self.assertEqual((link["thread"], link["label"]), (state["awaits"], state["awaits_name"]), (name, fibre))
                    waits += 1
                elif link and state["op"]:
                    self.assertEqual(link["label"], state["op"], (name, fibre))
                    waits += 1
        self.assertGreaterEqual(waits, 10)

    def test_why(self):
        """`why` without a thread names the fibre that hangs, and the promise that nobody resolves."""
        code, out, said = ctl("why", ring("eio-hang"))
        self.assertEqual((code, said), (0, ""))
        self.assertIn('thread 12 (Task, "request 3") should resolve and never did\n', out)
        self.assertIn('waits on 11 (Promise, "reply 3")\n', out)
        self.assertRegex(out, r'\n11 \(Promise, "reply 3"\) is unresolved since .* the trace has no resolution of it\. ')
        self.assertNotIn('"request 1"', out)
        # The mutex has a holder, which waits for its own cancellation.
        self.assertIn("waits on 5 (Mutex)\n", out)
        self.assertIn('which is held by 6 (Task, "server holds the lock and stops serving")\n', out)
        self.assertRegex(out, r'which waits on -\d+ \(Wait, "await_cancel"\)\n')
        answer = json.loads(ctl("why", "--json", ring("eio-hang"), "16")[1])["answers"][0]
        self.assertEqual((answer["holder"]["thread"], answer["holder"]["type"]), (6, "Task"))
        self.assertEqual((answer["holder"]["holds"]["thread"], answer["holder"]["ended_ns"], answer["holder"]["itself"]), (5, None, False))

    def test_domains(self):
        """Domains share their ids: a fibre of one waits for a promise of the other, which is one thread."""
        code, out, _ = ctl("threads", "--json", ring("eio"))
        self.assertEqual(code, 0)
        promises = [t for t in json.loads(out)["threads"] if t["type"] == "Promise" and t["state"] != "resolved"]
        self.assertEqual([t["thread"] for t in promises], [40])
        self.assertTrue(promises[0]["stream"].endswith("ring 0"))
        self.assertEqual([t["type"] for t in json.loads(out)["threads"] if t["thread"] == 40], ["Promise"])
        self.assertTrue(any("try_read reader=1027 source=40" in line for line in ctl("dump", ring("eio"))[1].splitlines()))


class Runtime(unittest.TestCase):
    def test_name_after_fork(self):
        """A domain keeps its name when its process forks, or when its ring goes on."""
        for name, mark in (("lifecycle-fork-parent", "fork_parent 9000"), ("lifecycle-fork-child", "fork_child")):
            self.assertIn(f'label thread=-2 label="{mark}"', ctl("dump", ring(name))[1])
            self.assertIn('-2 (Task, "main domain")', ctl("why", ring(name), "--", "-2")[1], name)
            threads = json.loads(ctl("threads", "--json", ring(name))[1])["threads"]
            self.assertEqual([t["label"] for t in threads if t["thread"] == -2], ["main domain"], name)

    def counts(self, name):
        code, out, _ = ctl("dump", "--json", ring(name))
        self.assertEqual(code, 0)
        counts = {}
        for event in map(json.loads, out.splitlines()):
            counts.setdefault(event["event"], []).append(event)
        return counts

    def test_collections(self):
        """Each phase that ends, and each collection once; counters with their values."""
        for name in ("gc", "v51-gc", "v52-gc", "v530-gc", "v54-gc"):
            lines, depth, want, phases, values = oracle(name), [], [], [], []
            for line in lines:
                _, time, rest = line.split(" ", 2)
                time, words = int(time[2:]), rest.split(" ")
                if words[0] == "begin":
                    depth.append((words[1], time))
                elif words[0] == "end" and any(phase == words[1] for phase, _ in depth):
                    while depth[-1][0] != words[1]:
                        depth.pop()
                    phase, since = depth.pop()
                    phases.append((time, time - since, phase))
                    outer = [p for p, _ in depth] + [phase]
                    collections = [
                        p for p in outer if re.fullmatch("minor|major|empty_minor|compaction|major_finish_cycle|explicit_gc_(?!set|stat).*", p)
                    ]
                    if collections == [phase]:
                        want.append((time, time - since))
                elif words[0] == "counter" and not words[1].startswith(("force_", "request_")):
                    values.append((time, words[1], int(words[2])))
            counts = self.counts(name)
            self.assertEqual([(int(e["time_ns"]), int(e["duration_ns"])) for e in counts["gc"]], want, name)
            self.assertEqual([(int(e["time_ns"]), int(e["duration_ns"]), e["name"]) for e in counts["duration"]], phases, name)
            self.assertEqual([(int(e["time_ns"]), e["counter"], e["value"]) for e in counts["counter"]], values, name)
            self.assertGreater(len(want), 5)

    def test_domains(self):
        """A domain is a thread from its spawn to its end; a ring is used by several in turn."""
        counts = self.counts("domains")
        self.assertEqual(len(counts["creates"]), 6)
        self.assertEqual(len([e for e in counts["fulfills"] if e["resolver"] == e["resolvee"]]), 6)

    def test_spans_of_fibres(self):
        """Spans of different fibres interleave: each is a duration of its own fibre."""
        want, running, open_spans = [], -2, {}
        for line in text("eio.eio.txt.xz"):
            place = re.match(r"ring=(\d+) t=(\d+) (.*)", line)
            if not place or place[1] != "0":
                continue
            time, what = int(place[2]), place[3]
            if found := re.fullmatch(r"fiber (\d+) is now running", what):
                running = int(found[1])
            elif what.endswith("finishes") and what.startswith("fiber"):
                running = -2  # the domain's thread
            elif found := re.fullmatch(r'enter span "?(.*?)"?', what):
                open_spans.setdefault(running, []).append((found[1], time))
            elif what == "exit span":
                name, since = open_spans[running].pop()
                want.append((time, running, time - since, name))
        names = {name for _, _, _, name in want}
        got = [e for e in self.counts("eio")["duration"] if e["name"] in names and e["stream"].endswith("ring 0")]
        self.assertEqual([(int(e["time_ns"]), e["thread"], int(e["duration_ns"]), e["name"]) for e in got], want)
        self.assertEqual(len(want), 8)

    def test_lost(self):
        """Words that were overwritten are said, and are missing packets."""
        code, out, said = ctl("stats", "--json", ring("wrapped"))
        self.assertEqual(code, 0)
        self.assertIn("ring 0: the program overwrote 14730 words before they were read", said)
        self.assertEqual(json.loads(out)["lost_packets"], 15)

    def test_user_events(self):
        counts = self.counts("custom")
        labels = [e["label"] for e in counts["label"]]
        self.assertIn("z.unit", labels)
        self.assertIn("text: abcdef", labels)
        self.assertIn("pair: efcdab8967452301c8", labels)
        self.assertIn("late: registered late", labels)
        spans = [e for e in counts["duration"] if e["name"] == "span/of work"]
        times = [int(line.split(" ")[1][2:]) for line in oracle("custom") if "user-span" in line]
        self.assertEqual([int(e["duration_ns"]) for e in spans], [times[2] - times[1], times[3] - times[0]])
        self.assertIn(-2147483648, [e["value"] for e in counts["counter"] if e["counter"] == "an int"])
        blocks = [e for e in self.counts("alloc")["increase"] if e["counter"].startswith("allocated blocks#")]
        self.assertGreater(len(blocks), 20)


class Processes(unittest.TestCase):
    """Each ring file is one process: the same id in two files is two threads."""

    SECOND = 10**9
    SPANS = {"7.events ring 0": [(-2, "resolved", 40)], "8.events ring 0": [(-2, "unresolved", 3)]}

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.directory = scratch.name
        t = self.SECOND
        # The child of a fork leaves by _exit, 3 ms after it began; its parent ends at 40 ms.
        parent = [
            made.item(t, made.LIFECYCLE, made.START, 7),
            made.item(t + 10**6, made.LIFECYCLE, made.FORK_PARENT, 8),
            made.item(t + 40 * 10**6, made.LIFECYCLE, made.STOP),
        ]
        child = [
            made.item(t + 2 * 10**6, made.LIFECYCLE, made.START, 8),
            made.item(t + 2 * 10**6, made.LIFECYCLE, made.FORK_CHILD, 0),
            made.item(t + 5 * 10**6, made.USER_INT, 0, 9, user=True),
        ]
        self.files = [self.write(f"{pid}.events", made.ring_file([items], ["n"])) for pid, items in ((7, parent), (8, child))]

    def write(self, name, content):
        path = os.path.join(self.directory, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def spans(self, *operands):
        code, out, said = ctl("threads", "--json", *operands)
        self.assertEqual(code, 0, said)
        found = {}
        for thread in json.loads(out)["threads"]:
            lived = round((int(thread["end_ns"]) - int(thread["start_ns"])) / 10**6)
            found.setdefault(thread["stream"], []).append((thread["thread"], thread["state"], lived))
        return found

    def test_threads(self):
        self.assertEqual(self.spans(*self.files), self.SPANS)
        self.assertEqual(self.spans(self.directory), self.SPANS)

    def test_archive(self):
        packed = os.path.join(self.directory, "both.tar")
        subprocess.run(["tar", "cf", packed, "-C", self.directory, "7.events", "8.events"], check=True)
        self.assertEqual(self.spans(packed), self.SPANS)

    def test_beside_rings(self):
        """Rings beside ring files of OCaml are a third program, and stay one."""
        t = self.SECOND
        self.write("a.ctf", events.stream([events.event(t, events.CREATES, 0, 1, events.TASK)]))
        self.write("b.ctf", events.stream([events.event(t + 2 * 10**6, events.FULFILLS, 1, 1)]))
        found = self.spans(self.directory)
        self.assertEqual(found, self.SPANS | {"a.ctf": [(0, "unresolved", 0), (1, "resolved", 2)]})

    def test_why(self):
        """Each process has its own last thread, and its own end."""
        code, out, said = ctl("why", *self.files)
        self.assertEqual(code, 0, said)
        last = [line for line in out.splitlines() if line.startswith("last of")]
        self.assertEqual(len(last), 2)
        for line, name, end in zip(last, self.SPANS, ("1.040000000", "1.005000000")):
            self.assertIn(f"last of {name}: ", line)
            self.assertTrue(line.endswith(f"; the trace ends at {end}"), line)
        code, out, _ = ctl("why", "--json", *self.files)
        self.assertEqual(
            [(it["stream"], it["end_ns"]) for it in json.loads(out)["last"]], [("7.events ring 0", "1040000000"), ("8.events ring 0", "1005000000")]
        )

    def test_statistics(self):
        code, out, said = ctl("stats", "--json", *self.files)
        self.assertEqual(code, 0, said)
        self.assertEqual([it["busiest"][0]["running_ns"] for it in json.loads(out)["streams"]], [40 * 10**6, 3 * 10**6])


class Numbering(unittest.TestCase):
    """Nothing in a file names the table of its ids: what the items show decides, and else it is unknown."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = os.path.join(scratch.name, "9.events")

    def names(self, items, *options):
        """Return the names of phases and counters in a file of ITEMS, and the note about its numbering."""
        whole = [(made.LIFECYCLE, made.START, 9), *items, (made.LIFECYCLE, made.STOP)]
        with open(self.path, "wb") as file:
            file.write(made.ring_file([[made.item(10**9 + i, *item) for i, item in enumerate(whole)]], size=128))
        code, out, said = ctl("dump", *options, self.path)
        self.assertEqual(code, 0, said)
        return re.findall(r'(?:name|counter)="([^"]*)"', out), said

    @staticmethod
    def nested(*phases):
        """Return the items of PHASES, each inside of the one before it."""
        return [(made.BEGIN, phase) for phase in phases] + [(made.END, phase) for phase in reversed(phases)]

    def test_oxcaml(self):
        """Its phase 48 is inside of `minor`; OCaml's contains it."""
        self.assertEqual(self.names(self.nested(11, 48)), (["minor_ephe_clean", "minor"], ""))
        self.assertEqual(self.names(self.nested(48, 11)), (["minor", "empty_minor"], ""))
        self.assertEqual(self.names(self.nested(11, 48) + self.nested(11, 49))[0][2:], ["minor_dependent", "minor"])

    def test_counters(self):
        """OCaml writes 17 to 25 in one go; OxCaml's 17 stands alone, and its 23 behind a slice."""
        run = [(made.COUNTER, number, 5) for number in range(17, 26)]
        names, said = self.names(run)
        self.assertEqual((names[0], names[6], names[8], said), ("major_heap_words", "major_alloc_counter", "major_slice_budget", ""))
        names, said = self.names([(made.COUNTER, 17, 1), *self.nested(11)])
        self.assertEqual((names[0], said), ("request_minor_realloc_dependent_table", ""))
        names, said = self.names([*self.nested(27), (made.COUNTER, 23, 7)])
        self.assertEqual((names, said), (["major_slice", "major_slice_work_done"], ""))

    def test_unknown(self):
        """An id that two tables name differently has a number, and the user is told."""
        names, said = self.names([(made.BEGIN, 11), (made.BEGIN, 31), (made.END, 31), (made.END, 11), (made.COUNTER, 19, 3)])
        self.assertEqual(names, ["minor_global_roots", "minor", "counter 19"])
        self.assertIn("the runtime's numbering is unknown, and 1 phases and counters may have other names", said)
        names, said = self.names(self.nested(12))
        self.assertEqual(names, ["minor_local_roots"])
        self.assertIn("numbering is unknown, and 2 phases", said)

    def test_named(self):
        """--runtime names the table, and then nothing is unknown."""
        items = [(made.COUNTER, 19, 3), *self.nested(12)]
        for runtime, want in (
            ("oxcaml", ["major_slice_alloc_dependent_words", "minor_local_roots"]),
            ("ocaml-5.4", ["major_allocated_work", "minor_local_roots"]),
            ("ocaml-5.10", ["major_allocated_work", "minor_local_roots"]),
            ("ocaml-5.2", ["counter 19", "minor_finalized"]),
        ):
            with self.subTest(runtime):
                self.assertEqual(self.names(items, "--runtime", runtime), (want, ""))
        for runtime in ("ocaml", "ocaml-5.", "ocaml-5.x", "OxCaml"):
            code, _, said = ctl("dump", "--runtime", runtime, self.path)
            self.assertEqual(code, 2, said)


class Command(unittest.TestCase):
    def test_packed(self):
        """A packed file, a pipe, a directory and a tar give the same events as the file."""
        plain = ctl("dump", ring("eio-hang"))[1]
        self.assertEqual(ctl("dump", os.path.join(TRACES, "eio-hang.events.xz"))[1], plain)
        with open(ring("eio-hang"), "rb") as file:
            self.assertEqual(ctl("dump", "-", stdin=file.read())[1], plain)
        with tempfile.TemporaryDirectory() as directory:
            os.link(ring("eio-hang"), os.path.join(directory, "app"))
            self.assertEqual(ctl("dump", directory)[1], plain)
            packed = os.path.join(directory, "app.tar")
            subprocess.run(["tar", "cf", packed, "-C", directory, "app"], check=True)
            self.assertEqual(ctl("dump", packed)[1], plain)

    def test_export(self):
        with tempfile.TemporaryDirectory() as directory:
            for name in ("eio", "domains-gc"):
                for to in ("ctf", "perfetto", "sqlite", "chrome", "json", "svg"):
                    path = os.path.join(directory, f"{name}.{to}")
                    code, _, said = ctl("export", ring(name), "--to", to, "-o", path)
                    self.assertEqual(code, 0, said)
                    self.assertTrue(os.path.getsize(path))
            again = ctl("stats", "--json", os.path.join(directory, "eio.ctf"))
            first = ctl("stats", "--json", ring("eio"))
            events = [json.loads(out)["events_by_type"] for _, out, _ in (first, again)]
            self.assertEqual(events[0], events[1])

    def test_kinds(self):
        """The runtime's amounts are summed, its gauges have no rate, and no export makes a running total of an amount."""
        values = {}
        for line in oracle("alloc"):
            if found := re.match(r"ring=0 t=\d+ counter (\w+) (-?\d+)$", line):
                values.setdefault(found[1], []).append(int(found[2]))
        counters = json.loads(ctl("stats", "--json", ring("alloc"))[1])["counters"]
        amounts = [name for name, it in counters.items() if it["kind"] == "amount"]
        self.assertEqual(
            set(amounts),
            {"minor_promoted", "minor_allocated", "major_allocated_words", "major_allocated_work", "major_dependent_work", "major_extra_work"},
        )
        for name in amounts:
            self.assertEqual((counters[name]["sum"], counters[name]["rate_per_s"]), (sum(values[name]), None), name)
        self.assertEqual({counters[name]["kind"] for name in counters if name.startswith("major_heap_")}, {"gauge"})
        for name, it in counters.items():
            self.assertEqual("sum" in it, it["kind"] == "amount", name)
            if it["kind"] != "total":
                self.assertIsNone(it["rate_per_s"], name)
        # This total is the runtime's own sum of that amount.
        self.assertEqual(counters["major_alloc_counter"]["kind"], "total")
        self.assertGreater(counters["major_alloc_counter"]["rate_per_s"], 0)
        self.assertEqual(counters["major_allocated_work"]["sum"], counters["major_alloc_counter"]["last"])
        self.assertRegex(ctl("stats", ring("alloc"))[1], r"\nminor_promoted +amount +35 +4536 +0 +0 +131136 +791288 +-\n")
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "alloc")
            self.assertEqual(ctl("export", ring("alloc"), "--to", "chrome", "-o", path)[0], 0)
            with open(path, encoding="utf-8") as file:
                drawn = [e["args"]["value"] for e in json.load(file)["traceEvents"] if e["ph"] == "C" and e["name"] == "minor_promoted"]
            self.assertEqual(drawn, values["minor_promoted"])
            self.assertEqual(ctl("export", ring("alloc"), "--to", "sqlite", "-o", path)[0], 0)
            with contextlib.closing(sqlite3.connect(path)) as database:
                kinds = dict(database.execute("SELECT name, kind FROM counters"))
                summed = database.execute("SELECT sum(value) FROM samples JOIN counters USING (counter) WHERE name = 'minor_promoted'")
                self.assertEqual(summed.fetchone()[0], sum(values["minor_promoted"]))
            self.assertEqual(kinds, {name: it["kind"] for name, it in counters.items()})

    def test_differ(self):
        """Two runs differ in an amount if its sums do, not if its last samples do."""
        paths = []
        with tempfile.TemporaryDirectory() as directory:
            for n, amounts in ((1, (700, 300)), (2, (300, 700)), (3, (300, 300))):
                items = [(made.LIFECYCLE, made.START, 9), *((made.COUNTER, 4, amount) for amount in amounts), (made.LIFECYCLE, made.STOP)]
                paths.append(os.path.join(directory, f"{n}.events"))
                with open(paths[-1], "wb") as file:
                    file.write(made.ring_file([[made.item(10**9 + i, *item) for i, item in enumerate(items)]], size=128))
            self.assertNotIn("minor_promoted", ctl("diff", paths[0], paths[1])[1])
            self.assertIn("minor_promoted: sum 1000 and 600, largest 700 and 300", ctl("diff", paths[0], paths[2])[1])

    def test_damaged(self):
        """A cut file is refused with a sentence; damage in a ring is said, and the rest is read."""
        with open(ring("eio-hang"), "rb") as file:
            image = bytearray(file.read())
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "x.events")
            with open(path, "wb") as file:
                file.write(image[:-8])
            code, out, said = ctl("dump", path)
            self.assertEqual((code, out), (1, ""))
            self.assertIn("is cut: a ring file of OCaml has a fixed size", said)
            # A length of 0 in the third item: everything behind it is lost.
            data = int.from_bytes(image[48:56], "little")
            at = data + 8 * 3
            image[at + 7] = image[at + 6] = 0
            with open(path, "wb") as file:
                file.write(image)
            code, out, said = ctl("dump", path)
            self.assertEqual((code, len(out.splitlines())), (3, 3))
            self.assertIn("ring 0, word 3: an item has an impossible length", said)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
