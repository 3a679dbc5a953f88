"""Compare `mprofctl stats --json` with other counts: stats.py SOURCE-ROOT MPROFCTL [TEST…]

Each reference trace is compared with the original viewer's loader and model, and each generated
trace with its dump, which the tests count.
"""

import collections
import glob
import json
import lzma
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT, MPROFCTL = map(os.path.abspath, sys.argv[1:3])
TRACES = os.path.join(ROOT, "tests", "traces")
sys.path += [os.path.join(ROOT, "tests", "traces"), os.path.join(ROOT, "tests", "integration")]
import schemas  # noqa: E402
import rings  # noqa: E402
import trace_events as written  # noqa: E402
import unpack  # noqa: E402

REFERENCE = unpack.scratch("rings")
PUBLIC = ["public/"] if os.path.isdir(f"{REFERENCE}/public") else []


def run(*arguments, stdin=None):
    done = subprocess.run([MPROFCTL, *arguments], input=stdin, capture_output=True, timeout=300)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def stats(path, *options):
    code, out, said = run("stats", path, "--json", *options)
    assert code in (0, 3), said
    return schemas.check(json.loads(out), "stats")


def nanoseconds(text):
    seconds, fraction = text.split(".")
    return int(seconds) * 10**9 + int(fraction)


class Counted(unittest.TestCase):
    """The generated traces, counted from their dumps."""

    def events(self, name):
        text = lzma.open(os.path.join(TRACES, name + ".dump.txt.xz")).read().decode()
        for line in text.splitlines():
            time, event, fields = re.match(r"(\S+) (\S+) ?(.*)", line).groups()
            string = re.search(r' (?:label|counter|exn)="(.*)"$', " " + fields)
            yield nanoseconds(time), event, dict(re.findall(r"(\w+)=(-?\d+|[A-Z]\w*)", fields.split('"')[0])), string and string.group(1)

    def check(self, got, events):
        """Compare the statistics with those of EVENTS, a list."""
        kinds = collections.Counter(event for _, event, _, _ in events)
        self.assertEqual(got["events"], len(events))
        self.assertEqual(got["events_by_type"], kinds)
        types = collections.Counter(fields["type"] for _, event, fields, _ in events if event == "creates")
        self.assertEqual(got["threads_by_type"], types)
        self.assertEqual(got["threads"], sum(types.values()) + got["preexisting"])
        self.assertEqual(got["labels"], len({text for _, event, _, text in events if event == "label"}))
        self.assertEqual(got["first_ns"], str(min(time for time, *_ in events)))
        self.assertEqual(got["last_ns"], str(max(time for time, *_ in events)))

    def test_own(self):
        for path in glob.glob(f"{TRACES}/*.ctf.xz"):
            name = os.path.basename(path)[: -len(".ctf.xz")]
            with self.subTest(name):
                self.check(stats(path), list(self.events(name)))

    def test_period(self):
        path = f"{TRACES}/wrapped.ctf.xz"
        events = list(self.events("wrapped"))
        times = sorted(time for time, *_ in events)
        low, high = times[1000], times[3000]
        inside = [event for event in events if low <= event[0] <= high]
        for options in (
            ("--from", f"{low // 10**9}.{low % 10**9:09}", "--to", f"{high // 10**9}.{high % 10**9:09}"),
            ("--from", f"+{low - events[0][0]}ns", "--to", f"+{high - events[0][0]}ns"),
        ):
            got = stats(path, *options)
            self.check(got, inside)
            self.assertLess(got["sleeping_ns"], high - low)

    def test_pieces_add_up(self):
        """Running and sleeping times of two halves add up to those of the whole."""
        path = f"{TRACES}/wrapped.ctf.xz"
        middle = "2364.000000000"
        whole, before, after = stats(path), stats(path, "--to", middle), stats(path, "--from", middle)
        self.assertEqual(whole["sleeping_ns"], before["sleeping_ns"] + after["sleeping_ns"])
        self.assertEqual(whole["events"], before["events"] + after["events"])

    def test_damage(self):
        got = stats(f"{TRACES}/killed.ctf.xz")
        self.assertEqual((got["damages"], got["packets"], got["lost_packets"]), (1, 4, 0))
        self.assertEqual(run("stats", f"{TRACES}/killed.ctf.xz")[0], 3)
        data = lzma.open(f"{TRACES}/wrapped-dense.ctf.xz").read()
        with tempfile.NamedTemporaryFile() as file:  # the trace without its second oldest packet
            quarter = len(data) // 4
            packets = sorted((data[i * quarter : (i + 1) * quarter] for i in range(4)), key=lambda p: p[24:26][::-1])
            file.write(packets[0] + packets[2] + packets[3])
            file.flush()
            self.assertEqual((stats(file.name)["packets"], stats(file.name)["lost_packets"]), (3, 1))

    def test_several_streams(self):
        with tempfile.TemporaryDirectory() as work:
            for name in "wrapped", "small":
                with open(f"{work}/{name}", "wb") as file:
                    file.write(lzma.open(f"{TRACES}/{name}.ctf.xz").read())
            got = {one.pop("stream"): one for one in stats(work)["streams"]}
            self.assertEqual(got, {name: stats(f"{work}/{name}") for name in ("wrapped", "small")})

    def test_sum_of_streams(self):
        """The sum of the streams stands beside them under the same keys. A counter of both begins
        with the earlier and ends with the later stream."""
        with tempfile.TemporaryDirectory() as work:
            for name in "wrapped", "small":
                with open(f"{work}/{name}", "wb") as file:
                    file.write(lzma.open(f"{TRACES}/{name}.ctf.xz").read())
            got, one, two = stats(work), stats(f"{work}/wrapped"), stats(f"{work}/small")
        for key in "events", "packets", "lost_packets", "damages", "bytes", "gcs", "gc_ns":
            self.assertEqual(got[key], one[key] + two[key], key)
        # Rings of one directory are of one program, whose threads they share.
        self.assertLess(got["preexisting"], one["preexisting"] + two["preexisting"])
        self.assertEqual(got["threads"], sum(got["threads_by_type"].values()) + got["preexisting"])
        for key in "events_by_type", "threads_by_type":
            self.assertEqual(got[key], collections.Counter(one[key]) + collections.Counter(two[key]))
        self.assertEqual(got["gc_longest_ns"], max(one["gc_longest_ns"], two["gc_longest_ns"]))
        self.assertEqual(int(got["first_ns"]), min(int(one["first_ns"]), int(two["first_ns"])))
        self.assertEqual(int(got["last_ns"]), max(int(one["last_ns"]), int(two["last_ns"])))
        texts = {text for name in ("wrapped", "small") for _, event, _, text in self.events(name) if event == "label"}
        self.assertEqual(got["labels"], len(texts))
        self.assertLess(got["labels"], one["labels"] + two["labels"])
        self.assertEqual(set(got["counters"]), set(one["counters"]) | set(two["counters"]))
        early, late = (one, two) if int(one["first_ns"]) < int(two["first_ns"]) else (two, one)
        for name in set(one["counters"]) & set(two["counters"]):
            mine, first, last = got["counters"][name], early["counters"][name], late["counters"][name]
            self.assertEqual((mine["first"], mine["last"]), (first["first"], last["last"]))
            self.assertEqual((mine["min"], mine["max"]), (min(first["min"], last["min"]), max(first["max"], last["max"])))
            self.assertEqual(mine["samples"], first["samples"] + last["samples"])
        expected = [thread | {"stream": name} for name, of in (("small", two), ("wrapped", one)) for thread in of["should_resolve"]]
        key = lambda thread: (thread["stream"], thread["thread"])
        self.assertEqual(sorted(got["should_resolve"], key=key), sorted(expected, key=key))
        self.assertGreater(len(expected), 0)
        self.assertEqual(set(one) - set(got), {"busiest", "sleeping_ns", "sleeping_share"})

    def test_empty(self):
        code, out, said = run("stats", "-", "--json", stdin=b"")
        got = json.loads(out)
        self.assertEqual((code, got["events"], got["first_ns"], got["packets"], got["sleeping_share"]), (0, 0, None, 0, None))
        self.assertEqual(run("stats", "-", stdin=b"")[0], 0)

    def test_hostile(self):
        """Extreme numbers and strings that are no UTF-8 give valid JSON."""
        event = lambda time, id, *rest: time.to_bytes(8, "little") + bytes([id]) + b"".join(rest)
        number = lambda n: n.to_bytes(8, "little", signed=True)
        low, high = number(-(2**63)), number(2**63 - 1)
        content = event(5, 6, low, high, b"\xff\x01\0") + event(4, 6, high, high, b"\xff\x01\0") + event(2**64 - 1, 8, number(-1)) * 2
        content += event(1, 0, low, high, b"\xff") + event(1, 4, low, high) + event(1, 4, high, low) + event(1, 4, low, low)
        content += event(1, 0, high, number(-1), b"\0") + event(0, 5, high, b"\xc3\0") + event(0, 5, high, b"__should_resolve\0") + event(7, 7, high)
        head = bytes.fromhex("c11ffcc105883b8d521a487bb397456ab150680c")
        size = (30 + len(content)) * 8
        data = head + size.to_bytes(4, "little") + b"\0\0" + size.to_bytes(4, "little") + content
        code, out, said = run("stats", "-", "--json", stdin=data)
        got = json.loads(out)
        self.assertEqual((code, said), (0, ""))
        self.assertEqual(got["counters"]["\ufffd\x01"]["last"], -2)
        self.assertEqual(got["gc_ns"], 2**63 - 1)
        self.assertEqual(got["last_ns"], str(2**64 - 1))
        self.assertEqual(len(got["should_resolve"]), 1)
        self.assertEqual(run("stats", "-", stdin=data)[0], 0)

    def test_people(self):
        code, out, said = run("stats", f"{TRACES}/wrapped.ctf.xz")
        self.assertEqual((code, said), (0, ""))
        for want in (
            r"^events    4223$",
            r"^time      2363\.936046027 to 2364\.021838816, 85\.793 ms$",
            r"^packets   4, 0 lost",
            r"^creates +835$",
            r"^gntref +- +83 ",
        ):
            self.assertRegex(out, re.compile(want, re.M))

    def test_usage(self):
        for arguments in ((), ("a", "b"), ("a", "--from", "x"), ("a", "--frm", "1")):
            self.assertEqual(run("stats", *arguments)[0], 2)
        self.assertEqual(run("stats", "file:none")[0], 4)


class Written(unittest.TestCase):
    """Traces that the tests write."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = os.path.join(scratch.name, "x.ctf")

    def write(self, events, room=4096):
        with open(self.path, "wb") as file:
            file.write(written.stream(events, room))

    def test_times_back(self):
        """If the same time comes twice, what slept is no share of the time from the first to the last event."""
        events, second = [], 10**9
        for i in range(1, 41):
            t = (3 * second + i * second // 4) % (4 * second)  # the clock goes back 4 s, twice
            events += [written.event(t, written.SWITCH, i), written.event(t + 1000, written.SWITCH, -1)]
        self.write(events)
        got = stats(self.path)
        self.assertEqual((got["sleeping_ns"], got["sleeping_share"]), (None, None))
        out = run("stats", self.path)[1]
        self.assertIn("\nsleeping  unknown: the times go back, so that the same time comes several times\n", out)

    def test_clock_back(self):
        """A clock that goes back is said once by each verb; a gap of two hours, and a clock that goes on, are not."""
        events, second = [], 10**9
        for i in range(1, 25):
            t = (3 * second + i * second // 4) % (5 * second)  # the clock goes back 4.75 s at the eighth thread
            events += [
                written.event(t, written.CREATES, 0, i, written.TASK),
                written.event(t, written.SWITCH, i),
                written.event(t + 1000, written.SWITCH, -1),
            ]
        self.write(events)
        code, out, said = run("stats", "--json", self.path)
        got = json.loads(out)
        self.assertEqual((code, got["damages"], got["events"], got["clock_back_ns"]), (0, 0, 72, 19 * second // 4 + 1000))
        # The difference of the first and last time is no length, and the times between are no times asleep.
        self.assertEqual(
            (got["first_ns"], got["last_ns"], got["sleeping_ns"], got["sleeping_share"]), ("0", str(19 * second // 4 + 1000), None, None)
        )
        self.assertIn("\ntime      0.000000000 to 4.750001000, how long is unknown: the times go back\n", run("stats", self.path)[1])
        chrome = self.path + ".json"
        for line in ["stats"], ["threads"], ["why"], ["dump"], ["export", "--to", "chrome", "-o", chrome]:
            code, out, said = run(*line, self.path)
            self.assertEqual(said.count("the clock went back 4.750 s at 4.750001000; times before and behind it are not comparable"), 1, said)
        self.assertEqual(run("diff", self.path, self.path)[2].count("the clock went back 4.750 s at 4.750001000"), 2)
        self.write([written.event(1 + t, written.SWITCH, 1) for t in (0, second, 7200 * second, 7201 * second, 9 * 7200 * second)])
        self.assertEqual(run("stats", self.path)[::2], (0, ""))

    def test_clock_back_twice(self):
        """The note has the largest step, with the time from which the clock made it, and how often it went back."""
        events, second = [], 10**9
        for i in range(30):
            back = (0, 20, 120)[i // 10] * second
            events.append(written.event(500 * second + i * 1000 - back, written.SWITCH, i))
        self.write(events)
        code, out, said = run("stats", "--json", self.path)
        self.assertEqual((code, json.loads(out)["clock_back_ns"]), (0, 100 * second - 1000))
        self.assertIn(": the clock went back 2 times, at most 100.000 s at 480.000019000; times before and behind these are not comparable\n", said)

    def test_last_behind_step(self):
        """The last in the order of events ran last, and a program is not said to sleep up to a time before the step."""
        second = 10**9
        self.write(
            [
                written.event(8 * second, written.SWITCH, 1),
                written.event(9 * second, written.SWITCH, -1),
                *(written.event(second + i * second // 10, written.SWITCH, 2 if i % 2 == 0 else -1) for i in range(10)),
            ]
        )
        out = run("why", self.path)[1]
        self.assertIn("\nlast: 2 ", out)
        self.assertNotIn("slept", out)
        self.assertIn("\nsleeping  unknown: the times go back", run("stats", self.path)[1])

    def test_running_behind_step(self):
        """The thread that runs last ran up to the last event, and not to the greatest time, which is before the step."""
        second = 10**9
        for back in 50 * second, 4 * second, second * 8 // 10:
            times = [100 * second + i * second // 10 for i in range(10)]
            times += [times[-1] - back + i * second // 20 for i in range(11)]
            self.write(
                [written.event(time, written.SWITCH, 1 if i < 20 else 2) for i, time in enumerate(times)]
                + [written.event(times[-1] + 500, written.CREATES, 2, 9, written.TASK)]
            )
            got = stats(self.path)
            running = {it["thread"]: it["running_ns"] for it in got["busiest"]}
            self.assertEqual((got["clock_back_ns"], running[2]), (back, 500))

    def test_late_end(self):
        """An event that comes late, as the last one, does not shorten the run of the thread."""
        second = 10**9
        times = [10 * second + i * second // 10 for i in range(100)] + [15 * second]
        self.write(
            [written.event(times[0], written.SWITCH, 1)]
            + [written.event(time, written.CREATES, 1, 9 + i, written.TASK) for i, time in enumerate(times)]
        )
        got = stats(self.path)
        self.assertEqual((got["clock_back_ns"], got["busiest"][0]["running_ns"]), (0, 99 * second // 10))

    def test_late_event(self):
        """An event that is some microseconds out of order is no fault, and no step of the clock."""
        times = [10**9 + i * 10**4 - (3000 if i == 50 else 0) - (20 * 10**6 if i == 60 else 0) for i in range(100)]
        self.write([written.event(time, written.SWITCH, 1 + i) for i, time in enumerate(times)])
        code, out, said = run("stats", "--json", self.path)
        got = json.loads(out)
        self.assertEqual((code, said, got["events"], got["damages"], got["clock_back_ns"]), (0, "", 100, 0, 0))

    def test_flipped_time(self):
        """One flipped bit of one time is a fault, wherever it is, and does not move the ends of the trace."""
        times = [10**9 + i * 10**6 for i in range(100)]
        for at in 0, 1, 50, 98, 99:
            for bit in (54, 62, 63) if at in (0, 99) else (36, 54, 62, 63) if at == 98 else (31, 36, 54, 62, 63):
                events = [written.event(time ^ (1 << bit if i == at else 0), written.SWITCH, 1 + i) for i, time in enumerate(times)]
                self.write(events, 4096)
                code, out, said = run("stats", "--json", self.path)
                got = json.loads(out)
                self.assertEqual((code, got["damages"], got["events"]), (3, 1, 99), (at, bit, said))
                self.assertIn("the event's time contradicts those of its neighbours", said)
                self.assertTrue(times[0] <= int(got["first_ns"]) <= times[1] and times[98] <= int(got["last_ns"]) <= times[99])

    def test_sleep_untold(self):
        """That nothing slept is said only of a trace that tells when no thread runs."""
        self.write([written.event(1000 * i, written.SWITCH, i) for i in range(1, 10)])
        got = stats(self.path)
        self.assertEqual((got["sleeping_ns"], got["sleeping_share"]), (None, None))
        out = run("stats", self.path)[1]
        self.assertIn("\nsleeping  unknown: the trace does not tell when no thread runs\n", out)
        self.write([written.event(1000 * i, written.SWITCH, -1 if i == 5 else i) for i in range(1, 10)])
        got = stats(self.path)
        self.assertEqual((got["sleeping_ns"], got["sleeping_share"]), (1000, 0.125))
        # In a part of it nothing slept.
        self.assertEqual(stats(self.path, "--to", "+3us")["sleeping_ns"], 0)

    def marked(self, time, thread):
        return [
            written.event(time, written.CREATES, 0, thread, written.TASK),
            written.event(time, written.LABEL, thread, text=b"__should_resolve"),
        ]

    def test_missing_packet(self):
        """Nobody knows which thread ran while a packet is missing, nor whether a thread ended there that was created before."""
        before = [*self.marked(1000, 1), written.event(2000, written.SWITCH, -1), written.event(3000, written.SWITCH, 1)]
        after = [*self.marked(50000, 2), written.event(60000, written.SWITCH, 2), written.event(62000, written.SWITCH, -1)]
        bodies = [b"".join(before), written.event(4000, written.SWITCH, 3), b"".join([*after, written.event(65000, written.SWITCH, 2)])]
        with open(self.path, "wb") as file:
            file.write(rings.image(bodies, [4096] * 3))
        whole = stats(self.path)
        self.assertEqual({it["thread"]: it["running_ns"] for it in whole["busiest"]}, {3: 56000, 2: 2000, 1: 1000})
        self.assertEqual({it["thread"]: it["resolved"] for it in whole["should_resolve"]}, {1: False, 2: False})
        with open(self.path, "wb") as file:
            file.write(rings.image(bodies, [4096] * 3)[:4096] + rings.image(bodies, [4096] * 3)[8192:])
        got = stats(self.path)
        self.assertEqual((got["lost_packets"], got["sleeping_ns"], got["sleeping_share"]), (1, 4000, None))
        self.assertEqual({it["thread"]: it["running_ns"] for it in got["busiest"]}, {2: 2000})
        self.assertEqual({it["thread"]: it["resolved"] for it in got["should_resolve"]}, {1: None, 2: False})
        out = run("stats", self.path)[1]
        self.assertIn("\nsleeping  at least 4.000 µs: parts of the trace are missing\n", out)
        self.assertRegex(out, r"\n +1  unknown   -\n +2  no        -\n")

    def test_dropped(self):
        """Events that a recorder dropped are told, and may be the end of a thread."""
        events = [*self.marked(1000, 1), written.event(2000, written.SWITCH, -1), written.event(3000, written.SWITCH, 1)]
        self.write([*events, written.event(4000, written.COUNTER, -1, 7, text=b"mprof-dropped"), *self.marked(5000, 2)])
        got = stats(self.path)
        self.assertEqual((got["dropped_events"], got["sleeping_ns"], got["sleeping_share"]), (7, 1000, None))
        self.assertEqual({it["thread"]: it["resolved"] for it in got["should_resolve"]}, {1: None, 2: False})
        self.assertIn("\ndropped   7 events by the recorder\n", run("stats", self.path)[1])
        self.write(events)
        self.assertNotIn("dropped", run("stats", self.path)[1])

    def test_rings_of_a_program(self):
        """A thread that one ring marks may have ended in another ring of its program."""
        one = [*self.marked(1000, 1), *self.marked(1000, 2), *self.marked(1000, 3), *self.marked(1000, 4), *self.marked(2000, 3)]
        other = [written.event(3000, written.SWITCH, i) for i in (1, 2, 3, 4)]
        other += [written.event(4000 + i, written.FULFILLS, i, i) for i in (1, 3)]
        other.append(written.event(4005, written.BECOMES, 4, 5))
        directory = os.path.dirname(self.path)
        for name, events in ("a", one), ("b", other):
            with open(f"{directory}/{name}", "wb") as file:
                file.write(written.stream(events))
        got = stats(directory)
        # Two threads have had the id 3, and nothing says which of them ended. The thread 4 became 5, which may end in any ring.
        resolved = [(1, True), (2, False), (3, None), (4, None), (3, None)]
        self.assertEqual([(it["thread"], it["resolved"]) for it in got["should_resolve"]], resolved)
        self.assertEqual((got["threads"], got["preexisting"]), (7, 2))
        with open(f"{directory}/b", "ab") as file:
            file.write(rings.image([b""] * 5, [4096] * 5)[4 * 4096 :])  # packets before it are missing
        got = stats(directory)
        resolved[1] = (2, None)
        self.assertEqual([(it["thread"], it["resolved"]) for it in got["should_resolve"]], resolved)

    def test_long_names(self):
        """A name of any length does not make rows of that length; JSON has all of it."""
        name = "é" * 100000
        events = [
            written.event(1, written.CREATES, 0, 1, written.TASK),
            written.event(2, written.LABEL, 1, text=name.encode()),
            written.event(3, written.COUNTER, 1, 5, text=name.encode()),
            written.event(4, written.SWITCH, 1),
            written.event(9, written.SWITCH, -1),
        ]
        self.write(events, 500000)
        code, out, said = run("stats", self.path)
        self.assertEqual((code, said), (0, ""))
        self.assertIn("é" * 197 + "...  ", out)
        self.assertLess(max(map(len, out.splitlines())), 300)
        self.assertEqual(list(stats(self.path)["counters"]), [name])


class Reference(unittest.TestCase):
    def test_all(self):
        n = 0
        for expected in glob.glob(f"{REFERENCE}/*.expected.json") + glob.glob(f"{REFERENCE}/public/*.expected.json"):
            name = expected[: -len(".expected.json")]
            with open(expected) as file:
                viewer = json.load(file)["viewer"]
            if not viewer or not viewer["n_events"]:
                continue
            with self.subTest(os.path.basename(name)):
                self.check(stats(name + (".ctf" if os.path.exists(name + ".ctf") else ".ctf.xz")), viewer)
            n += 1
        self.assertEqual(n, 15 if PUBLIC else 9)

    def check(self, got, viewer):
        model = viewer["model"]
        self.assertEqual(got["events"], viewer["n_events"])
        self.assertEqual(got["events_by_type"], viewer["events_by_type"])
        types = dict(got["threads_by_type"])
        unknown = sum(types.pop(name, 0) for name in ("Stream", "Mutex", "Unknown"))
        self.assertEqual(types | ({"Unknown": unknown} if unknown else {}), viewer["creates_by_thread_type"])
        self.assertEqual(got["labels"], viewer["n_distinct_labels"])
        for mine, theirs in (("first_ns", "min_time_s"), ("last_ns", "max_time_s")):
            self.assertEqual(f"{int(got[mine]) / 1e9:.9f}", f"{viewer[theirs]:.9f}")
        self.assertEqual({name: c["last"] for name, c in got["counters"].items()}, viewer["counter_last_value"])
        self.assertEqual({name: c["samples"] for name, c in got["counters"].items()}, viewer["counter_samples"])
        if "error" in model:
            return
        self.assertEqual(got["threads"] + 1, model["n_threads_including_top"])
        self.assertEqual(got["gcs"], model["n_gc"])
        self.assertAlmostEqual(got["gc_ns"] / 1e9, model["total_gc_s"], 6)
        self.assertAlmostEqual((got["sleeping_ns"] or 0) / 1e9, model["total_idle_s"], 6)
        for counter in model["counters"]:
            mine = got["counters"][counter["name"]]
            self.assertEqual((mine["first"], mine["last"]), (counter["first"], counter["final"]))

    def threads(self, name):
        for line in lzma.open(f"{REFERENCE}/{name}.viewer-threads.jsonl.xz", "rt"):
            yield json.loads(line)

    def test_busiest(self):
        """Compare the threads that ran longest with the activations of the original's model."""
        for name in "wrapped", "small", "eio", *(p + name for p in PUBLIC for name in ("net", "parallelisation-a")):
            ran = {}
            for thread in self.threads(name):
                if thread["tid"] != -1:
                    ran[thread["tid"]] = sum(end - start for start, end in thread["activations"])
            got = stats(f"{REFERENCE}/{name}.ctf" + (".xz" if name in ("public/net", "public/parallelisation-a") else ""))["busiest"]
            best = sorted(ran.values(), reverse=True)[: len(got)]
            for mine, theirs in zip(got, best):
                self.assertAlmostEqual(mine["running_ns"] / 1e9, theirs, 6)
                self.assertAlmostEqual(mine["running_ns"] / 1e9, ran[mine["thread"]], 6)

    def test_should_resolve(self):
        never = {}
        for name in "small", "wrapped", "eio", "eio-wrapped", "started-only", *(p + name for p in PUBLIC for name in ("arp-good", "arp-bad")):
            never[name] = {t["tid"] for t in self.threads(name) if t["failure"] == "should-resolve thread never resolved"}
            got = stats(f"{REFERENCE}/{name}.ctf")["should_resolve"]
            self.assertEqual({one["thread"] for one in got if not one["resolved"]}, never[name], name)
        self.assertEqual([name for name in never if never[name]], ["small", "eio", "eio-wrapped", "started-only", *(p + "arp-bad" for p in PUBLIC)])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
