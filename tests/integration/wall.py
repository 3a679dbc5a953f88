"""Test the wall times of mprofctl: wall.py SOURCE-ROOT MPROFCTL [TEST…]

The traces are files with an offset beside them, or come from a stand-in for mprofd-http whose stamps
are chosen. Every zone is given by TZ.
"""

import sys

sys.path.pop(0)  # the scripts beside this one are no modules, though one may have a module's name

import base64
import datetime
import http.server
import json
import lzma
import os
import re
import shutil
import socketserver
import struct
import subprocess
import tarfile
import tempfile
import threading
import unittest

root, mprofctl = map(os.path.abspath, sys.argv[1:3])
UUID = bytes.fromhex("05883b8d521a487bb397456ab150680c")
S = 10**9
BERLIN, KOLKATA = "CET-1CEST,M3.5.0,M10.5.0/3", "IST-5:30"


def utc(*parts):
    return int(datetime.datetime(*parts, tzinfo=datetime.timezone.utc).timestamp()) * S


AT = utc(2026, 11, 23, 2, 12, 44)  # 03:12:44 in Berlin


def event(time, thread):
    return struct.pack("<QBq", time, 7, thread)


def packet(count, events):
    body = b"".join(events)
    bits = 8 * (30 + len(body))
    return struct.pack("<I", 0xC1FC1FC1) + UUID + struct.pack("<IHI", bits, count, bits) + body


def trace(*times):
    return packet(0, [event(time, number) for number, time in enumerate(times)])


def clock(size, **values):
    whole = {"version": 1, "guest": "web", "run": 1, "stream": None, "bytes": size, "offset_ns": str(AT), "uncertainty_ns": "250000000"}
    return {**whole, "stepped": False, "copied": None, "fetched": None, **values}


def rfc(ns):
    return datetime.datetime.fromtimestamp(ns // S, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S") + f".{ns % S:09}Z"


class Case(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.mkdtemp(prefix="mprof.")
        self.addCleanup(shutil.rmtree, self.work)
        self.host = "unix:" + os.path.join(self.work, "nobody")

    def path(self, name):
        return os.path.join(self.work, name)

    def put(self, name, data):
        with open(self.path(name), "wb") as f:
            f.write(data if isinstance(data, bytes) else json.dumps(data).encode())

    def file(self, name, *times, **values):
        """Write a trace with events at TIMES, and its clock beside it."""
        data = trace(*times)
        self.put(name, data)
        self.put(name + ".clock.json", clock(len(data), **values))

    def run_it(self, *arguments, zone="UTC0", **more):
        return subprocess.run(
            [mprofctl, *arguments],
            env={**os.environ, "TZ": zone, "MPROFCTL_HOST": self.host, "no_proxy": "*"},
            cwd=self.work,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            **more,
        )

    def ok(self, *arguments, zone="UTC0", code=0):
        """Run mprofctl. Return its output and what it said."""
        done = self.run_it(*arguments, zone=zone)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout, done.stderr

    def times(self, *arguments, zone="UTC0"):
        """Return the first words of the lines of a dump."""
        return [line.split()[0] for line in self.ok("dump", *arguments, zone=zone)[0].splitlines()]

    def refused(self, *arguments, code=2, zone="UTC0"):
        done = self.run_it(*arguments, zone=zone)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        return done.stderr


class Shown(Case):
    def test_dump(self):
        self.file("web.ctf", 0, S // 2, 5 * S)
        self.assertEqual(self.times("web.ctf"), ["0.000000000", "0.500000000", "5.000000000"])
        self.assertEqual(self.times("web.ctf", "--time", "guest"), self.times("web.ctf"))
        self.assertEqual(self.times("web.ctf", "--time", "relative"), ["+0.000000000", "+0.500000000", "+5.000000000"])
        out, said = self.ok("dump", "web.ctf", "--time", "wall", zone=BERLIN)
        self.assertEqual(out.splitlines()[0], "2026-11-23T03:12:44.000000000+01:00 switch thread=0")
        self.assertEqual(out.splitlines()[2], "03:12:49.000000000+01:00 switch thread=2")
        self.assertEqual(said, "mprofctl: web.ctf: wall times are dom0's; an event happened at its time, or up to 250.000 ms earlier\n")
        kolkata = ["2026-11-23T07:42:44.000000000+05:30", "07:42:44.500000000+05:30", "07:42:49.000000000+05:30"]
        self.assertEqual(self.times("web.ctf", "--time=wall", zone=KOLKATA), kolkata)
        inutc = ["2026-11-23T02:12:44.000000000Z", "02:12:44.500000000Z", "02:12:49.000000000Z"]
        self.assertEqual(self.times("web.ctf", "--time=wall", "--utc", zone=KOLKATA), inutc)

    def test_relative_begins_with_the_trace(self):
        self.file("web.ctf", 7 * S, 8 * S, 9 * S)
        self.assertEqual(self.times("web.ctf", "--time", "relative", "--from", "8"), ["+1.000000000", "+2.000000000"])
        self.assertEqual(self.times("web.ctf", "--time", "relative", "--from", "+2.000000000"), ["+2.000000000"])

    def test_summer_time_ends(self):
        begin = utc(2026, 10, 25, 0, 59, 59)
        self.file("web.ctf", 0, 2 * S, 3600 * S, 7200 * S, offset_ns=str(begin))
        got = self.times("web.ctf", "--time", "wall", zone=BERLIN)
        want = ["2026-10-25T02:59:59.000000000+02:00", "02:00:01.000000000+01:00", "02:59:59.000000000+01:00", "03:59:59.000000000+01:00"]
        self.assertEqual(got, want)
        self.assertEqual(self.times("web.ctf", "--from", "2026-10-25 02:30", "--to", "2026-10-25 02:30", zone=BERLIN), ["0.000000000", "2.000000000"])
        self.assertEqual(self.times("web.ctf", "--from", "2026-10-25 02:30+01:00", zone=BERLIN), ["3600.000000000", "7200.000000000"])

    def test_summer_time_begins(self):
        self.file("web.ctf", 0, 2 * S, offset_ns=str(utc(2026, 3, 29, 0, 59, 59)), copied="2026-03-29T01:30:00Z")
        got = self.times("web.ctf", "--time", "wall", zone=BERLIN)
        self.assertEqual(got, ["2026-03-29T01:59:59.000000000+01:00", "03:00:01.000000000+02:00"])
        said = self.refused("dump", "web.ctf", "--from", "2026-03-29T02:30:00", zone=BERLIN)
        self.assertIn("--from 2026-03-29T02:30:00: there is no such time", said)
        # The last 02:30 was on the day before.
        self.assertEqual(self.times("web.ctf", "--from", "02:30", zone=BERLIN), ["0.000000000", "2.000000000"])

    def test_midnight(self):
        begin = utc(2026, 11, 22, 22, 59, 59)
        self.file("web.ctf", 0, S // 2, 2 * S, 3 * S, offset_ns=str(begin))
        got = self.times("web.ctf", "--time", "wall", zone=BERLIN)
        self.assertEqual([len(time) for time in got], [35, 24, 35, 24])
        self.assertEqual(got[0][:19] + got[2][:19], "2026-11-22T23:59:592026-11-23T00:00:01")
        threads = self.ok("threads", "web.ctf", "--time", "wall", zone=BERLIN)[0]
        self.assertIn("2026-11-22T23:59:59.000000000+01:00", threads)
        # In UTC the trace passes no midnight.
        threads = self.ok("threads", "web.ctf", "--time", "wall", "--utc", zone=BERLIN)[0]
        self.assertIn(" 22:59:59.000000000Z", threads)
        self.assertNotIn("2026", threads)

    def test_answers(self):
        self.file("web.ctf", 0, S)
        self.file("late.ctf", 0, S, offset_ns=str(AT + 60 * S), uncertainty_ns=None)
        stats, said = self.ok("stats", "web.ctf", "--time", "wall", zone=BERLIN)
        self.assertIn("time      2026-11-23T03:12:44.000000000+01:00 to 2026-11-23T03:12:45.000000000+01:00, 1.000 s\n", stats)
        self.assertEqual(said.count("\n"), 1)
        self.assertIn("time      +0.000000000 to +1.000000000, 1.000 s\n", self.ok("stats", "web.ctf", "--time", "relative")[0])
        why = self.ok("why", "web.ctf", "1", "--time", "wall", zone=KOLKATA)[0]
        self.assertIn("the trace ends at 07:42:45.000000000+05:30", why)
        self.assertNotIn("1.000000000", why.replace("45.000000000", ""))
        self.assertIn("the trace ends at +1.000000000", self.ok("why", "web.ctf", "1", "--time", "relative")[0])
        diff, said = self.ok("diff", "web.ctf", "late.ctf", "--time", "wall", zone=BERLIN)
        self.assertIn("good  web.ctf: 2 threads in 1.000 s from 03:12:44.000000000+01:00\n", diff)
        self.assertIn("bad   late.ctf: 2 threads in 1.000 s from 03:13:44.000000000+01:00\n", diff)
        answer = json.loads(self.ok("diff", "web.ctf", "late.ctf", "--time", "wall", "--json", zone=BERLIN)[0])
        walls = [(run["first_wall"], run["wall_uncertainty_ns"]) for run in (answer["good"], answer["bad"])]
        self.assertEqual(walls, [(rfc(AT), "250000000"), (rfc(AT + 60 * S), None)])
        self.assertIn("late.ctf: wall times are dom0's; an event happened at its time, or earlier by an unknown time\n", said)

    def test_diff_steps(self):
        """Each time in the text of a difference is of its own run."""

        def steps(*labels):
            events = [struct.pack("<QBqqB", S, 0, -1, 1, 1), struct.pack("<QBq", 2 * S, 5, 1) + b"same\0"]
            return packet(0, events + [struct.pack("<QBq", (3 + i) * S, 5, 1) + label + b"\0" for i, label in enumerate(labels)])

        for name, offset, labels in (("good", AT, [b"a"]), ("bad", AT + 3600 * S, [b"b", b"c"])):
            data = steps(*labels)
            self.put(name, data)
            self.put(name + ".clock.json", clock(len(data), offset_ns=str(offset)))
        wall = self.ok("diff", "good", "bad", "--time", "wall")[0]
        self.assertRegex(wall, r'both  02:12:46\.000000000\S*  gets the label "same"')
        self.assertRegex(wall, r'good  02:12:47\.000000000\S*  gets the label "a"')
        self.assertRegex(wall, r'bad   03:12:47\.000000000\S*  gets the label "b"')
        relative = self.ok("diff", "good", "bad")[0]
        self.assertRegex(relative, r'good  +\+2\.000 s  gets the label "a"')
        self.assertEqual(self.ok("diff", "good", "bad", "--time", "relative")[0], relative)
        self.assertRegex(self.ok("diff", "good", "bad", "--time", "guest")[0], r'bad    3\.000000000  gets the label "b"')
        answer = json.loads(self.ok("diff", "good", "bad", "--time", "wall", "--json")[0])
        self.assertEqual((answer["good"]["first_wall"], answer["bad"]["first_wall"]), (rfc(AT + S), rfc(AT + 3601 * S)))
        parting = answer["first_parting"]
        self.assertEqual(parting["good"]["next"][0]["wall"], rfc(AT + 3 * S))
        self.assertEqual(parting["bad"]["next"][0]["wall"], rfc(AT + 3603 * S))
        self.assertEqual(answer["bad"]["wall_uncertainty_ns"], "250000000")

    def test_json(self):
        """--time wall adds members to the JSON, and changes none."""
        self.file("web.ctf", 5, S)

        def without(value):
            if isinstance(value, list):
                return [without(item) for item in value]
            if not isinstance(value, dict):
                return value
            return {key: without(item) for key, item in value.items() if "wall" not in key}

        def read(*arguments):
            return [json.loads(line) for line in re.sub(r"\n *", "", self.ok("--json", *arguments)[0]).replace("}{", "}\n{").splitlines()]

        for verb in (["dump", "web.ctf"], ["stats", "web.ctf"], ["threads", "web.ctf"], ["why", "web.ctf", "1"], ["diff", "web.ctf", "web.ctf"]):
            plain, wall = read(*verb), read(*verb, "--time", "wall")
            self.assertNotEqual(plain, wall)
            self.assertEqual(plain, without(wall), verb)
            self.assertEqual(plain, read(*verb, "--time", "relative"), verb)
        line = read("dump", "web.ctf", "--time", "wall")[0]
        self.assertEqual((line["time_ns"], line["wall"], line["wall_uncertainty_ns"]), ("5", rfc(AT + 5), "250000000"))
        threads = read("threads", "web.ctf", "--time", "wall")[0]
        self.assertEqual(threads["threads"][1]["start_wall"], rfc(AT + 5))
        self.assertEqual(threads["wall_uncertainty_ns"], "250000000")
        answer = read("why", "web.ctf", "1", "--time", "wall")[0]
        self.assertEqual(answer["last"][0]["thread"]["from_wall"], rfc(AT + S))
        self.assertEqual(answer["answers"][0]["end_wall"], rfc(AT + S))
        stats = read("stats", "web.ctf", "--time", "wall")[0]
        self.assertEqual((stats["first_wall"], stats["last_wall"]), (rfc(AT + 5), rfc(AT + S)))
        os.unlink(self.path("web.ctf.clock.json"))
        line = read("dump", "web.ctf", "--time", "wall")[0]
        self.assertEqual((line["wall"], line["wall_uncertainty_ns"]), (None, None))

    def test_wrong_option(self):
        self.file("web.ctf", 0)
        self.assertIn("--time clock is none of wall, guest and relative", self.refused("dump", "web.ctf", "--time", "clock"))


class Periods(Case):
    def setUp(self):
        super().setUp()
        self.file("web.ctf", *(n * S for n in range(10)), copied=rfc(AT + 9 * S))

    def shown(self, *arguments, zone=BERLIN):
        return [int(float(time)) for time in self.times("web.ctf", *arguments, zone=zone)]

    def test_forms(self):
        self.assertEqual(self.shown("--from", "03:12:50"), [6, 7, 8, 9])
        self.assertEqual(self.shown("--to", "03:12:46.999999999"), [0, 1, 2])
        self.assertEqual(self.shown("--from", "03:12:46", "--to", "03:12:48"), [2, 3, 4])
        self.assertEqual(self.shown("--from", "02:12:50", "--utc"), [6, 7, 8, 9])
        self.assertEqual(self.shown("--from", "02:12:50", zone="UTC0"), [6, 7, 8, 9])
        self.assertEqual(self.shown("--from", "07:42:50", zone=KOLKATA), [6, 7, 8, 9])
        self.assertEqual(self.shown("--from", "2026-11-23T03:12:50"), [6, 7, 8, 9])
        self.assertEqual(self.shown("--from", "2026-11-23 03:12:50"), [6, 7, 8, 9])
        self.assertEqual(self.shown("--from", "2026-11-23T02:12:50Z"), [6, 7, 8, 9])
        self.assertEqual(self.shown("--from", "2026-11-23T07:42:49.5+05:30"), [6, 7, 8, 9])
        # A time that dump prints can be given back.
        self.assertEqual(self.shown("--from", "03:12:50.000000000+01:00", zone=KOLKATA), [6, 7, 8, 9])
        self.assertEqual(self.shown("--from", "03:12:50", "--to", "8"), [6, 7, 8])
        self.assertEqual(self.shown("--from", "+6s", "--to", "03:12:52"), [6, 7, 8])
        # The trace ends at 03:12:53, so 03:13 was yesterday; after 03:12:50 it comes today.
        self.assertEqual(self.shown("--from", "03:13"), list(range(10)))
        self.assertEqual(self.shown("--to", "03:13"), [])
        self.assertEqual(self.shown("--from", "03:12:50", "--to", "03:13"), [6, 7, 8, 9])
        self.assertEqual(self.shown("--from", "1999-01-01 00:00"), list(range(10)))
        self.assertEqual(self.shown("--from", "2099-01-01 00:00"), [])

    def test_ago(self):
        now = int(datetime.datetime.now().timestamp())
        self.file("web.ctf", *(n * 3600 * S for n in range(48)), offset_ns=str((now - 47 * 3600 - 1800) * S))
        self.assertEqual(len(self.shown("--from", "1 h ago")), 1)
        self.assertEqual(len(self.shown("--from", "59.5 min ago")), 1)
        self.assertEqual(len(self.shown("--from", "10 min ago")), 0)
        self.assertEqual(len(self.shown("--from", "3h ago", "--to", "7200 s ago")), 1)
        self.assertEqual(len(self.shown("--from", "1 d ago")), 24)

    def test_every_verb(self):
        self.assertIn("events    4\n", self.ok("stats", "web.ctf", "--from", "02:12:50")[0])
        self.assertIn("events    4\n", self.ok("stats", "web.ctf", "--from", "03:12:50", zone=BERLIN)[0])
        self.assertEqual(self.ok("threads", "web.ctf", "--from", "02:12:50")[0], self.ok("threads", "web.ctf", "--from", "6")[0])
        last = json.loads(self.ok("why", "web.ctf", "--json", "--to", "02:12:46")[0])["last"][0]
        self.assertEqual(last["end_ns"], str(2 * S))
        diff = json.loads(self.ok("diff", "web.ctf", "web.ctf", "--json", "--to", "02:12:46")[0])
        self.assertEqual((diff["good"]["last_ns"], diff["bad"]["last_ns"]), (str(2 * S), str(2 * S)))
        events = json.loads(self.ok("export", "web.ctf", "--to", "json", "--json", "--from", "03:12:50+01:00", zone=KOLKATA)[0])["events"]
        self.assertEqual(events, 4)

    def test_one_sentence(self):
        said = self.ok("dump", "web.ctf", "--from", "02:12:50")[1]
        self.assertEqual(said.count("\n"), 1)
        self.assertEqual(self.ok("dump", "web.ctf", "--from", "5")[1], "")

    def test_refused(self):
        for text in ("3:12:44", "03:12:44x", "25:00", "2026-11-23", "noon", "10 min", "10 fortnights ago", "ago", "03:12:44 CET", "1e5"):
            said = self.refused("dump", "web.ctf", "--from", text)
            self.assertIn(f"--from {text} is no time; write one as dump prints it", said)
        self.assertIn("is later than", self.refused("dump", "web.ctf", "--from", "2026-11-23 02:12:50", "--to", "2026-11-23 02:12:49"))
        self.assertIn("is later than", self.refused("dump", "web.ctf", "--from", "02:12:50", "--to", "3"))
        self.file("web.ctf", 0)
        said = self.refused("dump", "web.ctf", "--from", "02:12:44", code=1)
        self.assertIn("--from 02:12:44: the day is unknown, because the end of web.ctf is; write the date, too", said)
        os.unlink(self.path("web.ctf.clock.json"))
        said = self.refused("dump", "web.ctf", "--from", "2026-11-23 02:12:44", code=1)
        want = "web.ctf: its wall time is unknown, because there is no web.ctf.clock.json, which fetch writes; "
        self.assertEqual(said, f"mprofctl: {want}write 2026-11-23 02:12:44 as a time that dump prints\n")


class Exported(Case):
    """The offset of the clock goes into the formats that can say it."""

    def test_ctf(self):
        for offset, uncertainty, copied in ((AT, "250000000", rfc(AT + 9 * S)), (-7, None, None), (-3 * S, "0", None)):
            self.file("web.ctf", 5, 2 * S, offset_ns=str(offset), uncertainty_ns=uncertainty, copied=copied)
            shutil.rmtree(self.path("out"), ignore_errors=True)
            self.assertEqual(self.ok("export", "web.ctf", "--to", "ctf", "-o", "out")[1], "")
            for verb in (["dump", "--time", "wall"], ["dump", "--time", "wall", "--json"]):
                self.assertEqual(self.ok(*verb, "out")[0], self.ok(*verb, "web.ctf")[0], offset)
            said = [self.ok("dump", "--time", "wall", name)[1].partition(":")[2].partition(":")[2] for name in ("out", "web.ctf")]
            self.assertEqual(*said)
            period = ["dump", "--from", "2026-11-23 02:12:45"]
            if copied:
                self.assertEqual(self.ok(*period, "out")[0], self.ok(*period, "web.ctf")[0])
                self.assertEqual(self.ok("dump", "--from", "02:12:45", "out")[0], self.ok("dump", "--from", "02:12:45", "web.ctf")[0])
        os.unlink(self.path("web.ctf.clock.json"))
        self.ok("export", "web.ctf", "--to", "ctf", "-o", "none")
        self.file("late.ctf", 2**63 - 9, 2**63 - 1)  # the wall times exceed 64 bits
        self.ok("export", "late.ctf", "--to", "ctf", "-o", "late")
        for name in ("none", "late"):
            with open(self.path(f"{name}/metadata"), encoding="utf-8") as f:
                self.assertIn("\tabsolute = false;\n", f.read())

    def contents(self, name):
        """Return the contents of the page NAME."""
        with open(self.path(name), encoding="utf-8") as f:
            return json.loads(base64.b64decode(f.read().partition('id="contents">')[2].partition("<")[0]))

    def test_html(self):
        for uncertainty in ("250000000", None):
            self.file("web.ctf", 5, uncertainty_ns=uncertainty)
            done = self.run_it("export", "web.ctf", "--to", "html", "-o", "web.html")
            if done.returncode and "without the viewer" in done.stderr:
                self.skipTest("mprofctl was built without the viewer")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            wall = {"offset_ns": str(AT), **({"uncertainty_ns": uncertainty} if uncertainty else {})}
            self.assertEqual(self.contents("web.html")["traces"][0]["wall"], wall)
        os.unlink(self.path("web.ctf.clock.json"))
        self.ok("export", "web.ctf", "--to", "html", "-o", "none.html")
        self.assertNotIn("wall", self.contents("none.html")["traces"][0])


class Beside(Case):
    """The file beside a trace."""

    def test_without(self):
        self.put("web.ctf", trace(0, 1))
        out, said = self.ok("dump", "web.ctf", "--time", "wall")
        self.assertEqual(out.split()[0], "0.000000000")
        want = (
            "web.ctf: its wall time is unknown, because there is no web.ctf.clock.json, which fetch writes; times are those of the guest's own clock"
        )
        self.assertEqual(said, f"mprofctl: {want}\n")
        self.assertEqual(self.ok("dump", "web.ctf")[1], "")

    def test_pipe(self):
        done = self.run_it("dump", "-", "--time", "wall", stdin=self.piped())
        self.assertEqual((done.returncode, done.stdout.split()[0]), (0, "0.000000000"))
        self.assertIn("standard input: its wall time is unknown, because a pipe has no file with the offset of the clock beside it", done.stderr)

    def piped(self):
        self.file("web.ctf", 0)
        f = open(self.path("web.ctf"), "rb")
        self.addCleanup(f.close)
        return f

    def test_compressed(self):
        self.file("web.ctf", 0, 1)
        self.put("web.ctf.xz", lzma.compress(trace(0, 1)))
        os.unlink(self.path("web.ctf"))
        self.assertEqual(self.times("web.ctf.xz", "--time", "wall")[0], "2026-11-23T02:12:44.000000000+00:00")
        os.rename(self.path("web.ctf.clock.json"), self.path("web.ctf.xz.clock.json"))
        self.assertEqual(self.times("web.ctf.xz", "--time", "wall")[0], "2026-11-23T02:12:44.000000000+00:00")

    def test_sure(self):
        for values, want in (
            ({"uncertainty_ns": None}, "an event happened at its time, or earlier by an unknown time"),
            ({"uncertainty_ns": "0"}, "wall times are dom0's; the guest has dom0's own clock"),
            ({"stepped": True}, "earlier; its clock stepped back, and only the times after the step are right"),
            ({"offset_ns": None}, "its wall time is unknown, because mprofd did not know it when the trace was fetched"),
        ):
            self.file("web.ctf", 0, **values)
            said = self.ok("dump", "web.ctf", "--time", "wall")[1]
            self.assertEqual((want in said, said.count("\n")), (True, 1), said)

    def test_extremes(self):
        """No offset makes mprofctl fail, and a time outside of the range is shown as the guest's."""
        # Times that are far from each other in one trace would be damaged.
        begins = (0, 2**62, 2**63 - 1, 2**64 - 2)
        for i, offset in enumerate((2**63 - 1, -(2**63 - 1), 0, -1, AT, 10**18, -(2**63 - 1), 2**63 - 1)):
            self.file("web.ctf", begins[i % 4], begins[i % 4] + 1, offset_ns=str(offset), copied="2200-01-01T00:00:00Z")
            for verb in ("dump", "stats", "threads", "why"):
                for options in ([], ["--json"], ["--utc"], ["--from", "02:12"], ["--to", "2026-11-23 02:12"], ["--from", "1 d ago"]):
                    self.ok(verb, "web.ctf", "--time", "wall", *options, zone=BERLIN)
            self.ok("diff", "web.ctf", "web.ctf", "--time", "wall", zone=BERLIN)
        for time, wall in ((0, "2262-04-11T23:47:16.854775807+00:00"), (2**64 - 1, "18446744073.709551615")):
            self.file("web.ctf", time, offset_ns=str(2**63 - 1))
            self.assertEqual(self.times("web.ctf", "--time", "wall"), [wall])
        self.file("web.ctf", 0, offset_ns=str(-(2**63 - 1)))
        self.assertEqual(self.times("web.ctf", "--time", "wall", "--utc"), ["1677-09-21T00:12:43.145224193Z"])

    def test_hostile(self):
        data = trace(0, 1)
        self.put("web.ctf", data)
        whole = clock(len(data))
        texts = [b"", b"{", b"[]", b"null", b"5", b"\xff\xfe", b'{"version":1,"version":1}', b"[" * 60000, b" " * 70000, b"{" * 65536]
        texts += [json.dumps(whole).encode()[:-1], json.dumps(whole).encode() + b"x", b"\0" * 100]
        for key, values in {
            "version": (0, 2, "1", None, 1.5),
            "bytes": (0, -1, len(data) + 1, "x", None, 2**62),
            "offset_ns": (5, "", "x", "1.5", " 1", "+1", "--1", "-", "1 ", "9223372036854775808", "-9223372036854775808", "9" * 100, True, []),
            "uncertainty_ns": (5, "", "-1", "x", "9223372036854775808", {}),
            "stepped": (0, "true", None),
            "copied": (
                5,
                "",
                "03:12",
                "2026-11-23",
                "2026-11-23T03:12:44",
                "2026-11-23T03:12:44+01:00",
                "9999-12-31T00:00:00Z",
                "1900-01-01T00:00:00Z",
            ),
        }.items():
            texts += [json.dumps({**whole, key: value}).encode() for value in values]
            if key != "uncertainty_ns" and key != "copied":
                texts.append(json.dumps({k: v for k, v in whole.items() if k != key}).encode())
        for text in texts:
            self.put("web.ctf.clock.json", text)
            out, said = self.ok("dump", "web.ctf", "--time", "wall")
            with self.subTest(text=text[:200]):
                self.assertEqual(out.split()[0], "0.000000000")
                self.assertIn("mprofctl: web.ctf.clock.json cannot be used: ", said)
        self.put("web.ctf.clock.json", {**whole, "more": [1]})
        self.assertEqual(self.times("web.ctf", "--time", "wall")[0][:4], "2026")

    def test_no_file(self):
        """A directory, a pipe and a link to nothing in the file's place do not stop mprofctl."""
        self.put("web.ctf", trace(0))
        beside = self.path("web.ctf.clock.json")
        os.mkfifo(beside)
        self.assertIn("cannot be used: it is not a regular file", self.ok("dump", "web.ctf", "--time", "wall")[1])
        os.unlink(beside)
        os.mkdir(beside)
        self.assertIn("cannot be used: it is not a regular file", self.ok("dump", "web.ctf", "--time", "wall")[1])
        os.rmdir(beside)
        os.symlink("nowhere", beside)
        self.assertIn("there is no web.ctf.clock.json", self.ok("dump", "web.ctf", "--time", "wall")[1])


class Metadata(Case):
    """The clock in the metadata of a CTF directory, and of a tar of one."""

    def setUp(self):
        super().setUp()
        with open(os.path.join(root, "schema/ctf/metadata.tsdl"), encoding="utf-8") as f:
            self.plain = f.read()
        os.mkdir(self.path("web"))
        self.put("web/stream", trace(0, 5 * S))

    def with_offset(self, *lines, env="last_copied_ns = %d;" % (AT + 6 * S)):
        """Return metadata whose clock has LINES."""
        self.assertEqual(self.plain.count("\tabsolute = false;\n"), 1)
        return self.plain.replace("\tabsolute = false;\n", "".join(f"\t{line}\n" for line in lines)) + "env { " + env + " };\n"

    def told(self, metadata, *arguments):
        self.put("web/metadata", metadata.encode() if isinstance(metadata, str) else metadata)
        return self.ok("dump", "file:web", "--time", "wall", *arguments)

    def test_offset(self):
        metadata = self.with_offset("precision = 5000000;", f"offset_s = {AT // S};", "offset = 7;", "absolute = true;")
        out, said = self.told(metadata)
        self.assertEqual(out.split()[0], "2026-11-23T02:12:44.000000007+00:00")
        self.assertEqual(said, "mprofctl: web: wall times are dom0's; an event happened at its time, or up to 5.000 ms earlier\n")
        self.assertEqual(len(self.told(metadata, "--from", "02:12:46")[0].splitlines()), 1)
        with tarfile.open(self.path("web.tar.gz"), "w:gz") as tar:
            tar.add(self.path("web/stream"), "web/stream")
            tar.add(self.path("web/metadata"), "web/metadata")
        self.assertEqual(self.ok("dump", "web.tar.gz", "--time", "wall"), (out, said.replace("web:", "web.tar.gz:")))
        with open(self.path("web.tar.gz"), "rb") as f:
            piped = self.run_it("dump", "-", "--time", "wall", stdin=f)
        self.assertEqual((piped.stdout, piped.returncode), (out, 0))
        self.assertEqual(self.told(self.with_offset("offset = -5;"))[0].split()[0], "1969-12-31T23:59:59.999999995+00:00")
        self.assertIn("earlier by an unknown time", self.told(self.with_offset("offset_s = 5;"))[1])
        self.assertEqual(self.told(self.with_offset("offset_s/*c*/=//x\n5 ;"))[0].split()[0], "1970-01-01T00:00:05.000000000+00:00")

    def test_without(self):
        want = "web: its wall time is unknown, because its metadata has no offset of the clock; times are those of the guest's own clock"
        for text in (
            self.plain,
            "",
            "clock",
            "clock {",
            "clock { offset_s",
            "env {",
            '"clock { offset_s = 5; }"',
            "/* clock { offset_s = 5; } */",
        ):
            out, said = self.told(text)
            self.assertEqual((out.split()[0], said), ("0.000000000", f"mprofctl: {want}\n"), text)
        os.unlink(self.path("web/metadata"))
        self.assertIn(want, self.ok("dump", "file:web", "--time", "wall")[1])
        os.mkfifo(self.path("web/metadata"))
        self.assertIn(want, self.ok("dump", "file:web", "--time", "wall")[1])
        with tarfile.open(self.path("web.tar"), "w") as tar:
            tar.add(self.path("web/stream"), "web/stream")
        self.assertIn("its metadata has no offset", self.ok("dump", "web.tar", "--time", "wall")[1])

    def test_no_end(self):
        metadata = self.with_offset(f"offset_s = {AT // S};", env="")
        self.put("web/metadata", metadata.encode())
        said = self.refused("dump", "file:web", "--from", "02:12:46", code=1)
        self.assertIn("--from 02:12:46: the day is unknown, because the end of web is; write the date, too", said)

    def test_hostile(self):
        offset = "offset_s = 5;"
        texts = {
            self.with_offset("offset_s = 9223372036854775807;"): "the offset of its clock is too large",
            self.with_offset("offset_s = 9223372037;"): "the offset of its clock is too large",
            self.with_offset("offset_s = -9223372037;"): "the offset of its clock is too large",
            self.with_offset("offset_s = 9223372036;", "offset = 999999999;"): "the offset of its clock is too large",
            self.with_offset("offset_s = 99999999999999999999;"): "a number of its clock is invalid",
            self.with_offset("offset_s = x;"): "a number of its clock is invalid",
            "clock { offset_s =": "a number of its clock is invalid",
            "clock { offset_s = 5": "a number of its clock is invalid",
            self.with_offset("offset_s = - ;"): "a number of its clock is invalid",
            self.with_offset("offset_s = 0x5;"): "a number of its clock is invalid",
            self.with_offset(offset, "precision = 9999999999999999999;"): "a number of its clock is invalid",
            self.with_offset(offset, env="last_copied_ns = 1.5;"): "a number of its clock is invalid",
            self.with_offset(offset).replace("freq = 1000000000", "freq = 1000"): "its clock does not count nanoseconds",
            self.with_offset(offset) + "clock { offset_s = 6; };": "it has several clocks",
            self.with_offset(offset) + " " * (1 << 20): "it is too large",
        }
        for text, want in texts.items():
            out, said = self.told(text)
            self.assertEqual(out.split()[0], "0.000000000")
            self.assertIn(f"mprofctl: the metadata of web cannot be used: {want}\n", said)
        for text in (b"\0" * 5000, b"{" * 90000, b"}" * 90000, b"/*" * 50000, b'"\\' * 50000, os.urandom(5000), b"clock{" * 5000, b"clock{a=" * 5000):
            self.told(text)
        self.told(self.with_offset(offset, "precision = -1;"))

    def test_several(self):
        """A tar of two traces has one time line only if their clocks agree."""
        for second, known in ((5, True), (6, False)):
            with tarfile.open(self.path("two.tar"), "w") as tar:
                for name, seconds in (("a", 5), ("b", second)):
                    self.put("web/metadata", self.with_offset(f"offset_s = {seconds};").encode())
                    tar.add(self.path("web/metadata"), f"{name}/metadata")
                    tar.add(self.path("web/stream"), f"{name}/stream")
            out, said = self.ok("dump", "two.tar", "--time", "wall")
            self.assertEqual(out.startswith("1970-01-01T00:00:05"), known, out)
            self.assertEqual("two.tar has several traces with different clocks" in said, not known)


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def get_request(self):
        return super().get_request()[0], ("client", 0)

    def handle_error(self, request, client_address):
        pass


class Daemon(Case):
    """Guests of a stand-in for mprofd-http."""

    def setUp(self):
        super().setUp()
        case = self
        self.answers, self.asked = {}, []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def address_string(self):
                return "client"

            def date_time_string(self, timestamp=None):
                return "Mon, 23 Nov 2026 02:20:00 GMT"

            def do_GET(self):
                case.asked.append(self.path)
                path = self.path.split("?")[0]
                body = case.answers.get(path)
                self.send_response(404 if body is None else 200)
                if path.endswith("/trace"):
                    self.send_header("Content-Location", path + "?first=3.0.0.30&end=3.0.0.60")
                body = body if isinstance(body, bytes) else json.dumps({"detail": "None."} if body is None else body).encode()
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        server = Server(self.path("s"), Handler)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.host = "unix:" + self.path("s")

    def stamp(self, ns):
        return {"offset": 60, "mono": str(ns - AT + 50 * S), "real": rfc(ns)}

    def guest(self, name="web", times=(0, 2 * S, 4 * S, 6 * S, 8 * S, 10 * S), lag=0, source="xen", stamped=True, streams=(0,)):
        """Add a guest with a packet at each of TIMES, which is copied LAG later by a clock that is AT at
        the guest's 0."""
        copied = [self.stamp(AT + time + lag) for time in times]
        packets = [
            {
                "sequence": i,
                "first_timestamp": str(time),
                "room": 4096,
                "unproven": False,
                "clock_stepped": False,
                "copied": {"first": copied[i], "last": copied[i]} if stamped else None,
            }
            for i, time in enumerate(times)
        ]
        run = {"run": 3, "source": source, "state": "running", "streams": [{"stream": n, "name": f"s{n}"} for n in streams]}
        self.answers[f"/v1/domains/{name}"] = {"name": name, "run": 3, "source": source, "run_list": [run], **run}
        self.answers[f"/v1/domains/{name}/trace"] = b"".join(packet(i, [event(time, i)]) for i, time in enumerate(times))
        self.answers[f"/v1/domains/{name}/packets"] = {"packets": packets, "next": None}

    def test_guest(self):
        self.guest()
        out, said = self.ok("dump", "web", "--time", "wall", zone=BERLIN)
        self.assertEqual(out.splitlines()[0], "2026-11-23T03:12:44.000000000+01:00 switch thread=0")
        self.assertEqual(said, "mprofctl: web: wall times are dom0's; an event happened at its time, or up to 8.000 s earlier\n")
        self.assertIn("/v1/domains/web/trace?run=3", self.asked)
        # Without wall times nothing more is asked for.
        self.asked.clear()
        self.ok("dump", "domain:web")
        self.assertEqual(self.asked, ["/v1/domains/web/trace"])
        self.assertEqual(self.times("web", "--from", "03:12:50", zone=BERLIN), ["6.000000000", "8.000000000", "10.000000000"])
        self.assertEqual(self.times("web", "--to", "02:12:46.5"), ["0.000000000", "2.000000000"])
        stats = json.loads(self.ok("stats", "web", "--time", "wall", "--json")[0])
        self.assertEqual((stats["last_wall"], stats["wall_uncertainty_ns"]), (rfc(AT + 10 * S), str(8 * S)))

    def test_local(self):
        """A program of dom0 has dom0's own clock, if its stamps agree with that."""
        self.guest(times=tuple((50 + 2 * n) * S for n in range(6)), source="dir")
        shift = 50 * S
        for it in self.answers["/v1/domains/web/packets"]["packets"]:
            for which in it["copied"].values():
                which["real"] = rfc(AT + int(it["first_timestamp"]) - shift + 100)
                which["mono"] = str(int(it["first_timestamp"]) + 100)
        out, said = self.ok("dump", "web", "--time", "wall")
        self.assertEqual(out.split()[0], "2026-11-23T02:12:44.000000000+00:00")
        self.assertEqual(said, "mprofctl: web: wall times are dom0's; the guest has dom0's own clock\n")

    def test_unknown(self):
        self.guest(stamped=False)
        out, said = self.ok("dump", "web", "--time", "wall")
        self.assertEqual(out.split()[0], "0.000000000")
        want = "web: its wall time is unknown, because mprofd stamped none of its packets; times are those of the guest's own clock"
        self.assertEqual(said, f"mprofctl: {want}\n")
        said = self.refused("dump", "web", "--from", "03:12", code=1)
        self.assertEqual(
            said, "mprofctl: web: its wall time is unknown, because mprofd stamped none of its packets; write 03:12 as a time that dump prints\n"
        )
        said = self.refused("dump", "nobody", "--time", "wall", code=4)
        self.assertNotIn("wall time", said)
        # A server that knows the trace of a guest, and not the guest.
        self.answers["/v1/domains/odd/trace"] = self.answers["/v1/domains/web/trace"]
        self.assertNotIn("wall time", self.refused("dump", "odd", "--from", "03:12", code=4))

    def test_capture(self):
        """A capture takes the bounds of its run, too."""
        self.guest()
        self.answers["/v1/captures/7"] = {"id": 7, "domain": "web", "uuid": None, "run": 3, "streams": [{"stream": 0, "tail_bytes": 0}]}
        self.answers["/v1/captures/7/trace"] = packet(0, [event(10 * S, 1)])
        last = self.answers["/v1/domains/web/packets"]["packets"][-1]
        self.answers["/v1/captures/7/packets"] = {"packets": [last], "next": None}
        out, said = self.ok("dump", "7", "--time", "wall")
        self.assertEqual(out.split()[0], "2026-11-23T02:12:54.000000000+00:00")
        self.assertIn("up to 8.000 s earlier", said)

    def test_fetch(self):
        self.guest(times=(0, 2 * S, 4 * S, 6 * S, 8 * S, 10 * S), lag=5)
        self.assertEqual(self.ok("fetch", "web"), ("", ""))
        with open(self.path("web.ctf.clock.json"), encoding="utf-8") as f:
            beside = json.load(f)
        want = {"version": 1, "guest": "web", "run": 3, "stream": None, "bytes": os.path.getsize(self.path("web.ctf")), "stepped": False}
        want |= {"offset_ns": str(AT + 5), "uncertainty_ns": str(8 * S), "copied": rfc(AT + 10 * S + 5), "fetched": rfc(utc(2026, 11, 23, 2, 20))}
        self.assertEqual(beside, want)
        from_daemon = self.ok("dump", "domain:web", "--time", "wall")[0]
        self.answers.clear()
        self.assertEqual(self.ok("dump", "web.ctf", "--time", "wall")[0], from_daemon)
        self.assertEqual(self.times("web.ctf", "--from", "02:12:50"), ["6.000000000", "8.000000000", "10.000000000"])

    def test_fetch_replaces(self):
        """The clock of an earlier trace does not stay beside a later one."""
        self.guest()
        self.ok("fetch", "web", "-o", "x")
        self.guest(stamped=False)
        self.ok("fetch", "web", "-o", "x")
        self.assertIn("mprofd did not know it when the trace was fetched", self.ok("dump", "x", "--time", "wall")[1])
        del self.answers["/v1/domains/web"]
        self.ok("fetch", "domain:web", "-o", "y")
        with open(self.path("y.clock.json"), encoding="utf-8") as f:
            self.assertIsNone(json.load(f)["offset_ns"])

    def test_fetch_elsewhere(self):
        self.guest()
        self.ok("fetch", "web", "-o", "/dev/null")
        self.assertFalse(os.path.exists("/dev/null.clock.json"))
        done = subprocess.run(
            [mprofctl, "--host", self.host, "fetch", "web", "-o", "-"], cwd=self.work, capture_output=True, timeout=300, check=False
        )
        self.assertEqual((done.returncode, done.stdout), (0, self.answers["/v1/domains/web/trace"]))
        self.assertEqual([name for name in os.listdir(self.work) if "clock" in name], [])

    def test_hostile_stamps(self):
        """Values that a server of the wrong kind sends never make mprofctl crash."""
        wrong = ["", "x", None, 5, [], "-1", "99999999999999999999", str(2**64 - 1), "2026-11-23T03:12:44Z", "9999-12-31T23:59:59.999999999Z"]
        for value in wrong:
            for key in ("mono", "real"):
                self.guest()
                for it in self.answers["/v1/domains/web/packets"]["packets"]:
                    it["copied"]["first"] = {**it["copied"]["first"], key: value}
                self.ok("dump", "web", "--time", "wall")
            self.guest()
            for it in self.answers["/v1/domains/web/packets"]["packets"]:
                it["first_timestamp"] = value
            self.ok("stats", "web", "--time", "wall")
            self.run_it("dump", "web", "--from", "03:12")
        for key in ("run", "run_list", "source", "streams"):
            for value in wrong + [{}, [5], [{}], [{"run": 3, "streams": 5}], 2**62]:
                self.guest()
                self.answers["/v1/domains/web"][key] = value
                done = self.run_it("dump", "web", "--time", "wall")
                self.assertIn(done.returncode, (0, 1), done)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
