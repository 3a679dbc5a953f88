"""Print and export durations and interned texts: durations.py SOURCE-ROOT MPROFCTL [TEST…]

One packet has texts by number, durations, and a kind that nobody knows. Each verb must show what it means."""

import csv
import json
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

ROOT, MPROFCTL = map(os.path.abspath, sys.argv[1:3])
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
        self.assertEqual([row["name"] for row in found], ["read é", "in line"])
        self.assertEqual([row["args"]["duration_ns"] for row in found], [100, 350])
        self.assertEqual([(row["ts"], row["dur"]) for row in found], [(1.3, 0.1), (1.4, 0.1)])
        self.assertIn("durations", [row["args"].get("name") for row in rows if row["ph"] == "M"])

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
