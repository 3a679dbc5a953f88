"""Print and export durations and interned texts: durations.py SOURCE-ROOT MPROFCTL [TEST…]

One packet has texts by number, durations, and a kind that nobody knows. Each verb must show what it means."""

import collections
import csv
import decimal
import json
import lzma
import os
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import babeltrace2
import fxts
import perfettos
import slice_events

ROOT, MPROFCTL = map(os.path.abspath, sys.argv[1:3])
OCAML = os.path.join(ROOT, "tests/traces/ocaml5")
UUID = bytes.fromhex("05883b8d521a487bb397456ab150680c")
TEXT, DURATION, LABEL, INCREASE, COUNTER = range(5)


def event(time, id_, body):
    return struct.pack("<QB", time, id_) + body


def extra(time, kind, body):
    return event(time, 14, struct.pack("<HB", len(body), kind) + body)


def text(time, number, words):
    return extra(time, TEXT, struct.pack("<I", number) + words + b"\0")


def packet(body, count=0):
    return struct.pack("<I16sIHI", 0xC1FC1FC1, UUID, (30 + len(body)) * 8, count, (30 + len(body)) * 8) + body


FIRST = [
    event(1000, 0, struct.pack("<qqB", -1, 5, 1)),
    text(1000, 1, b"read \xc3\xa9"),
    extra(1000, LABEL, struct.pack("<qI", 5, 1)),
    event(1100, 7, struct.pack("<q", 5)),
    text(1200, 7, b"queue"),
    extra(1200, COUNTER, struct.pack("<qqI", 5, -3, 7)),
    extra(1300, INCREASE, struct.pack("<qqI", 5, 4, 7)),
    extra(1400, DURATION, struct.pack("<qQI", 5, 100, 1)),
    extra(1450, 200, b"a later version"),
    extra(1500, DURATION, struct.pack("<qQI", 5, 350, 0) + b"in line\0"),
]
SECOND = [  # this packet lacks a text
    extra(2000, LABEL, struct.pack("<qI", 5, 1)),
    event(2100, 7, struct.pack("<q", -1)),
]
LINES = [
    "0.000001000 creates parent=-1 child=5 type=Task",
    '0.000001000 label thread=5 label="read é"',
    "0.000001100 switch thread=5",
    '0.000001200 counter thread=5 value=-3 counter="queue"',
    '0.000001300 increase thread=5 amount=4 counter="queue"',
    '0.000001400 duration thread=5 duration=0.000000100 name="read é"',
    '0.000001500 duration thread=5 duration=0.000000350 name="in line"',
    '0.000002000 label thread=5 label="#1"',
    "0.000002100 switch thread=-1",
]


class Durations(unittest.TestCase):
    def setUp(self):
        work = tempfile.mkdtemp(prefix="mprof.")
        self.addCleanup(shutil.rmtree, work)
        self.addCleanup(os.chdir, "/")
        os.chdir(work)
        with open("t.ctf", "wb") as f:
            f.write(packet(b"".join(FIRST)) + packet(b"".join(SECOND), 1))

    def run_ctl(self, *arguments):
        done = subprocess.run([MPROFCTL, *arguments], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def export(self, to):
        self.run_ctl("export", "t.ctf", "--to", to, "-o", f"out.{to}")
        return f"out.{to}"

    def test_dump(self):
        self.assertEqual(self.run_ctl("dump", "t.ctf").splitlines(), LINES)
        rows = [json.loads(line) for line in self.run_ctl("dump", "--json", "t.ctf").splitlines()]
        self.assertEqual(rows[5], {"time_ns": "1400", "event": "duration", "thread": 5, "duration_ns": "100", "name": "read é"})
        only = self.run_ctl("dump", "t.ctf", "--event", "duration", "--thread", "5").splitlines()
        self.assertEqual(only, LINES[5:7])

    def test_stats(self):
        stats = self.run_ctl("stats", "t.ctf")
        self.assertIn("duration", stats)
        self.assertIn("1 use of an interned text that the packet lacks", stats)
        self.assertIn("1 event of an unknown kind skipped", stats)
        found = json.loads(self.run_ctl("stats", "--json", "t.ctf"))
        self.assertEqual((found["unknown_texts"], found["skipped_extras"]), (1, 1))
        os.mkdir("two")
        for name in "one", "other":
            shutil.copy("t.ctf", f"two/{name}")
        found = json.loads(self.run_ctl("stats", "--json", "two"))
        self.assertEqual((found["unknown_texts"], found["skipped_extras"]), (2, 2))

    def test_ctf(self):
        """The exported stream has no interned texts, and means the same; babeltrace2 reads both."""
        out = self.export("ctf")
        self.assertEqual(self.run_ctl("dump", out).splitlines(), LINES)
        os.mkdir("whole")
        shutil.copy("t.ctf", "whole/stream")
        shutil.copy(os.path.join(ROOT, "schema/ctf/metadata.tsdl"), "whole/metadata")
        if not babeltrace2.usable():
            self.skipTest(babeltrace2.lacking())
        for path in (out, "whole"):
            done = subprocess.run(["babeltrace2", "--clock-cycles", "--no-delta", path], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            lines = done.stdout.splitlines()
            self.assertEqual(len([line for line in lines if "extra:" in line]), 2 if path == out else 9)
            self.assertIn("DURATION", done.stdout)
        self.assertIn("<unknown>", done.stdout)

    def test_csv_and_json(self):
        with open(self.export("csv"), newline="", encoding="utf-8") as f:
            rows = [row for row in csv.reader(f) if "duration" in row[:2]]
        self.assertEqual([[word for word in row if word in ("read é", "in line")] for row in rows], [["read é"], ["in line"]])
        self.assertTrue(all("5" in row for row in rows))
        self.assertTrue("100" in rows[0] and "350" in rows[1])
        with open(self.export("json"), encoding="utf-8") as f:
            records = json.load(f)["records"]
        self.assertEqual([r["name"] for r in records if r.get("event") == "duration"], ["read é", "in line"])

    def test_chrome(self):
        with open(self.export("chrome"), encoding="utf-8") as f:
            rows = json.load(f)["traceEvents"]
        found = [row for row in rows if row["ph"] == "X" and row["args"].get("event") == "duration"]
        self.assertEqual([row["name"] for row in found], ["in line", "read é"])
        self.assertEqual([row["args"]["duration_ns"] for row in found], [350, 100])
        self.assertEqual([(row["ts"], row["dur"]) for row in found], [(1.15, 0.35), (1.3, 0.1)])
        self.assertEqual(len({row["tid"] for row in found}), 1)
        self.assertIn("durations", [row["args"].get("name") for row in rows if row["ph"] == "M"])

    def nested(self):
        """Write a trace with durations inside of each other, across each other, alike and empty. Return {name: (begin, end)} in ns."""
        spans = {"db": (5, 7), "request": (1, 11), "across": (9, 15), "other": (12, 20), "alike": (12, 20), "none": (20, 20), "all": (0, 30)}
        with open("nested.ctf", "wb") as f:
            ends = sorted(spans.items(), key=lambda span: (span[1][1], list(spans).index(span[0])))
            body = [event(1, 7, struct.pack("<q", 5))]
            body += [extra(1000 + end, DURATION, struct.pack("<qQI", 5, end - begin, 0) + name.encode() + b"\0") for name, (begin, end) in ends]
            f.write(packet(b"".join(body) + event(2000, 7, struct.pack("<q", -1))))
        return {name: (1000 + begin, 1000 + end) for name, (begin, end) in spans.items()}

    def drawn(self, path, to):
        """Return (name, begin, end, track) of each duration in the export of PATH, and check that slices of a track nest. Times are in ns."""
        subprocess.run([MPROFCTL, "export", path, "--to", to, "-o", "out"], capture_output=True, check=False)  # 3 for a damaged trace
        with open("out", "rb") as f:
            data = f.read()
        os.remove("out")
        if to == "chrome":
            rows = [row for row in json.loads(data, parse_float=decimal.Decimal)["traceEvents"] if row["ph"] == "X"]
            rows = [row for row in rows if row["args"].get("event") == "duration"]
            found = [(row["name"], int(row["ts"] * 1000), int((row["ts"] + row["dur"]) * 1000), (row["pid"], row["tid"])) for row in rows]
        else:
            slices = slice_events.Slices({"fxt": fxts, "perfetto": perfettos}[to].read(data).events)
            found = [(begin.name, begin.time, end.time, begin.track) for begin, end in slices.others if begin.category == "duration"]
        open_ends = collections.defaultdict(list)
        for name, begin, end, track in sorted(found, key=lambda one: (one[1], -one[2])):
            ends = open_ends[track]
            while ends and ends[-1] <= begin:
                ends.pop()
            self.assertTrue(not ends or ends[-1] >= end, f"{path}, {to}: {name} overlaps another on its track")
            ends.append(end)
        return found

    def test_nested(self):
        """A slice begins where its duration began, with the others inside of it on its track."""
        spans = self.nested()
        for to in ("chrome", "fxt", "perfetto"):
            found = self.drawn("nested.ctf", to)
            self.assertEqual({name: (begin, end) for name, begin, end, _ in found}, spans, to)
            self.assertEqual(len({track for *_, track in found}), 2, to)

    def test_sums(self):
        """For each name the slices of a real program are as many, and take as long, as its durations."""
        names = sorted(name for name in os.listdir(OCAML) if name.endswith(".events.xz"))
        for name in names[:: 6 if os.environ.get("MPROF_BRIEF") else 1]:
            with lzma.open(os.path.join(OCAML, name)) as packed, open("trace.events", "wb") as plain:
                plain.write(packed.read())
            done = subprocess.run([MPROFCTL, "dump", "--json", "trace.events"], capture_output=True, text=True, check=False)
            events = [json.loads(line) for line in done.stdout.splitlines()]
            want = collections.Counter()
            for e in events:
                if e["event"] == "duration":
                    want.update({(e["name"], "times"): 1, (e["name"], "ns"): int(e["duration_ns"])})
            for to in ("chrome", "fxt", "perfetto"):
                have = collections.Counter()
                for span, begin, end, _ in self.drawn("trace.events", to):
                    have.update({(span, "times"): 1, (span, "ns"): end - begin})
                self.assertEqual(have, want, f"{name}, {to}")

    def test_sqlite(self):
        db = sqlite3.connect(self.export("sqlite"))
        rows = db.execute("SELECT d.start_ns, d.end_ns, d.duration_ns, d.name, t.id FROM durations d JOIN threads t USING (thread)")
        self.assertEqual(rows.fetchall(), [(1300, 1400, 100, "read é", 5), (1150, 1500, 350, "in line", 5)])
        db.close()

    def test_binary_formats(self):
        for to in ("perfetto", "fxt"):
            with open(self.export(to), "rb") as f:
                data = f.read()
            for words in ("read é", "in line", "durations"):
                self.assertIn(words.encode(), data, to)

    def test_svg(self):
        """Above the threads, a stripe shows the innermost duration of each moment, with its name."""
        with open("named.ctf", "wb") as f:
            spans = [(40, 20, b"inner"), (90, 80, b"a request")]
            body = [event(1_000_000, 7, struct.pack("<q", 5))]
            body += [extra(end * 10**6, DURATION, struct.pack("<qQI", 5, ns * 10**6, 0) + name + b"\0") for end, ns, name in spans]
            f.write(packet(b"".join(body) + event(100_000_000, 7, struct.pack("<q", -1))))
        svg = self.run_ctl("export", "named.ctf", "--to", "svg", "-o", "-")
        found = [(element.get("class"), element.text) for element in xml.etree.ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
        self.assertIn(("band", "inner"), found)
        self.assertTrue(any(kind == "band" and words.startswith("a request") for kind, words in found), found)
        self.assertIn('height="900"', svg)
        self.assertIn("The stripes at the top show the innermost duration", svg)
        plain = self.run_ctl("export", "named.ctf", "--to", "svg", "--from", "+95ms", "-o", "-")
        self.assertNotIn("inner</text>", plain)

    def test_pictures(self):
        for to in ("svg", "html"):
            self.assertGreater(os.path.getsize(self.export(to)), 500)

    def test_why_and_threads(self):
        self.assertIn("read é", self.run_ctl("threads", "t.ctf"))
        self.run_ctl("why", "t.ctf")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
