"""Test `mprofctl diff`: diff.py SOURCE-ROOT MPROFCTL STORY [TEST…]

The story of the lost ARP reply, with a good and a bad end: recorded by this project's recorder, and
as the published traces have it, if they lie beside the checkout. Every trace is equal to itself.
"""

import glob
import json
import lzma
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT, MPROFCTL, STORY = map(os.path.abspath, sys.argv[1:4])
TRACES = os.path.join(ROOT, "tests", "traces")
sys.path += [os.path.join(ROOT, "tests", "traces"), os.path.join(ROOT, "tests", "integration")]
import schemas  # noqa: E402
import unpack  # noqa: E402

PUBLIC = os.path.join(unpack.REFERENCE, "public")

# The parts that each trace lacks. Those of mirage-profile whose recorder ran from the start of the program have their beginning; the published ones of
# the tutorials have threads that were there before.
HOLES = {name: "begin" for name in ("countwrap", "eio-wrapped", "oddsize", "wrapped-dense", "wrapped", "arp-bad", "arp-good")}
HOLES |= {f"parallelisation-{name}": "begin" for name in "abc"}
HOLES |= {"killed": "gap", "truncated": "gap"}


def run(*arguments, stdin=None):
    done = subprocess.run([MPROFCTL, "diff", *arguments], input=stdin, capture_output=True, timeout=300)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def ask(*arguments, code=0):
    got, out, said = run("--json", *arguments)
    assert got == code and (code or said == ""), said
    return schemas.check(json.loads(out), "diff")


def names(who):
    return who["thread"], who["type"], who["label"]


def steps(run):
    return [(step["step"], step["other"] and step["other"]["thread"]) for step in run["next"]]


class Story(unittest.TestCase):
    """The recorder's own traces of the story."""

    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.TemporaryDirectory()
        cls.good, cls.bad = (f"{cls.work.name}/{name}" for name in ("good", "bad"))
        for name in "good", "bad":
            subprocess.run([STORY, name, f"{cls.work.name}/{name}"], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.work.cleanup()

    def test_story(self):
        got = ask(self.good, self.bad)
        self.assertEqual((got["alike"], got["counterparts"], got["lone"], got["counters"]), (False, 7, [], []))
        (outcome,) = got["outcomes"]
        self.assertEqual((outcome["outcome"], outcome["threads"], outcome["should_resolve"]), ("bad-waits", 3, 1))
        self.assertEqual(names(outcome["bad"]), (1, "Bind", "TCP connect"))
        self.assertEqual((outcome["good"]["lasted_ns"], outcome["good"]["end"]["since_start_ns"]), ("2011000", "2016000"))
        self.assertEqual((outcome["bad"]["end"], outcome["bad"]["lasted_ns"]), (None, "3009000"))
        self.assertEqual(names(outcome["root"]), (5, "Task", "ARP response"))
        self.assertEqual(names(outcome["root_counterpart"]["end"]["by"]), (2, "Condition", "ARP response"))
        self.assertEqual(names(outcome["condition"]), (2, "Condition", "ARP response"))
        self.assertEqual(names(outcome["missed"]["by"]), (6, "Task", "arp.input"))
        self.assertEqual((outcome["missed"]["time_ns"], outcome["missed"]["since_start_ns"]), ("1001007000", "1007000"))

    def test_parting(self):
        parting = ask(self.good, self.bad)["outcomes"][0]["parting"]
        good, bad = parting["good"], parting["bad"]
        self.assertEqual(names(good["thread"]), (2, "Condition", "ARP response"))
        self.assertEqual((good["common"]["step"], good["common"]["label"]), ("label", "ARP response"))
        self.assertEqual(steps(good), [("signalled", 4), ("creates", 5), ("signalled", 6), ("resolves", 5)])
        self.assertEqual(steps(bad), [("signalled", 6), ("signalled", 4), ("creates", 5)])
        self.assertEqual((good["later"]["since_start_ns"], bad["later"]["since_start_ns"]), ("2013000", "1010000"))
        self.assertEqual(parting["since_start_ns"], "1007000")

    def test_in_words(self):
        code, out, said = run(self.good, self.bad)
        self.assertEqual((code, said), (0, ""))
        self.assertLess(len(out.splitlines()), 45)
        at = 0
        for want in (
            r'^never resolved in the bad run: 1 \(Bind, "TCP connect"\), which should resolve, and for the same reason 2 threads more$',
            r"^  in the good run it was resolved 2\.011 ms after its creation, at \+2\.016 ms$",
            r'^  in the bad run it waits on 5 \(Task, "ARP response"\), for the 3\.009 ms to the end of the trace$',
            r'^  missed wake-up: 2 \(Condition, "ARP response"\) was signalled by 6 \(Task, "arp\.input"\) at \+1\.007 ms',
            r'^  the runs part at 2 \(Condition, "ARP response"\):$',
            r"^    good +\+1\.009 ms  is signalled by 4 \(Bind\)$",
            r'^    bad +\+1\.007 ms  is signalled by 6 \(Task, "arp\.input"\)$',
            r"^ +\(in the good run at \+2\.013 ms\)$",
            r"^the first step that differs at all, which may not be the cause, is of 6 ",
        ):
            found = re.compile(want, re.M).search(out, at)
            self.assertTrue(found, f"{want} in {out[at:]}")
            at = found.end()

    def test_other_way_round(self):
        (outcome,) = ask(self.bad, self.good)["outcomes"]
        self.assertEqual((outcome["outcome"], outcome["good"]["end"]), ("good-waits", None))
        self.assertIn("never resolved in the good run", run(self.bad, self.good)[1])

    def test_alike(self):
        """The ring begins with packet 0, and only the thread that runs first was not created in it."""
        got = ask(self.good, self.good)
        self.assertEqual((got["alike"], got["good"]["coverage"]), (True, None))
        self.assertEqual((got["outcomes"], got["slower"], got["first_parting"], got["partings"]), ([], [], None, 0))
        self.assertEqual(
            run(self.good, self.good)[1].splitlines()[-1], "the two are alike: the same threads, each with the same steps in the same order"
        )

    def test_alike_without_the_beginning(self):
        path = f"{self.work.name}/later"
        with open(self.good, "rb") as file:
            body = bytearray(file.read())
        at = 0
        while at < len(body):
            count = int.from_bytes(body[at + 24 : at + 26], "little") + 1
            body[at + 24 : at + 26] = count.to_bytes(2, "little")
            at += int.from_bytes(body[at + 20 : at + 24], "little") // 8
        with open(path, "wb") as file:
            file.write(body)
        got = ask(path, path)
        self.assertEqual((got["alike"], got["good"]["coverage"]["hole"]), (None, "begin"))
        code, out, said = run(path, path)
        self.assertEqual((code, said), (0, ""))
        hole = "run a thread, a step or a counter would not be here: the trace begins at +0 ns"
        self.assertEqual(
            out.splitlines()[-3:],
            [f"of the good {hole}", f"of the bad {hole}", "no difference is in the traces; the two may differ in what these lack"],
        )

    def made(self, work, name, *threads):
        """Write a trace in which THREADS, labels, are created and run. Nothing is missing."""
        events = b""
        for i, label in enumerate(threads, 1):
            who, at = i.to_bytes(8, "little"), (10 * i).to_bytes(8, "little")
            events += at + bytes([0]) + b"\xff" * 8 + who + bytes([5]) + at + bytes([5]) + who + label.encode() + b"\0" + at + bytes([7]) + who
        size = ((30 + len(events)) * 8).to_bytes(4, "little")
        with open(f"{work}/{name}", "wb") as file:
            file.write(bytes.fromhex("c11ffcc105883b8d521a487bb397456ab150680c") + size + bytes(2) + size + events)
        return f"{work}/{name}"

    def test_whole(self):
        """A "none" is said if the traces lack nothing."""
        with tempfile.TemporaryDirectory() as work:
            one, two = self.made(work, "one", "a"), self.made(work, "two", "a", "b")
            self.assertIs(ask(one, one)["alike"], True)
            self.assertEqual(run(one, one)[1].splitlines()[-1], "the two are alike: the same threads, each with the same steps in the same order")
            got = ask(one, two)
            self.assertEqual((got["alike"], [(it["label"], it["good"], it["bad"]) for it in got["lone"]]), (False, [("b", 0, 1)]))
            self.assertRegex(run(one, two)[1], r"\n +0 +1  \w+, \"b\"\n")

    def test_lone_where_packets_are_missing(self):
        """A thread that is in one trace only may be in the missing packets of the other one."""
        with tempfile.TemporaryDirectory() as work:
            two, gap = self.made(work, "two", "a", "b"), self.made(work, "gap", "a")
            with open(gap, "rb") as file:
                body = file.read()
            later = (
                body[:24]
                + (3).to_bytes(2, "little")
                + body[26:30]
                + b"".join((50 + i).to_bytes(8, "little") + bytes([7]) + (1).to_bytes(8, "little") for i in range(1))
            )
            size = (len(later) * 8).to_bytes(4, "little")
            with open(gap, "ab") as file:
                file.write(later[:20] + size + later[24:26] + size + later[30:])
            got = ask(two, gap)
            self.assertEqual((got["alike"], got["bad"]["coverage"]["hole"]), (None, "gap"))
            self.assertIn(("b", 1, None), [(it["label"], it["good"], it["bad"]) for it in got["lone"]])
            out = run(two, gap)[1]
            self.assertRegex(out, r"\n +1 +\?  \w+, \"b\"\n")
            self.assertRegex(out, r"\nof the bad run a thread, a step or a counter would not be here: the trace lacks packets from \+")

    def test_alike_with_missing_packets(self):
        """In packets that are missing the runs may differ."""
        with tempfile.TemporaryDirectory() as work:
            path = f"{work}/gap"
            magic = bytes.fromhex("c11ffcc105883b8d521a487bb397456ab150680c")
            with open(path, "wb") as file:
                for count in 0, 3:
                    event = (5 + count).to_bytes(8, "little") + bytes([7]) + (1).to_bytes(8, "little")
                    size = ((30 + len(event)) * 8).to_bytes(4, "little")
                    file.write(magic + size + count.to_bytes(2, "little") + size + event)
            code, out, said = run(path, path)
            self.assertEqual((code, said), (0, ""))
            self.assertIn("2 packets are missing", out)
            self.assertEqual(out.splitlines()[-1], "no difference is in the traces; the two may differ in the missing packets")
            self.assertIsNone(ask(path, path)["alike"])

    def packet(self, count, *events):
        """Return the packet COUNT with EVENTS, (time, id, bytes)."""
        body = b"".join(at.to_bytes(8, "little") + bytes([what]) + rest for at, what, rest in events)
        size = ((30 + len(body)) * 8).to_bytes(4, "little")
        return bytes.fromhex("c11ffcc105883b8d521a487bb397456ab150680c") + size + count.to_bytes(2, "little") + size + body

    def test_end_of_another_thread(self):
        """A request that never ends is in the whole trace alone: the other one lacks the beginning. So the two may be of one run."""

        def request(at, thread, *more):
            who = thread.to_bytes(8, "little")
            return (
                (at, 0, bytes(8) + who + bytes([5])),
                *((at, 5, who + text + bytes(1)) for text in (b"__should_resolve", b"request %d" % thread)),
                *more,
            )

        first = self.packet(0, (5, 7, bytes(8)), *request(10, 1))
        second = self.packet(1, *request(20, 2, (30, 2, bytes(8) + (2).to_bytes(8, "little"))), (900, 7, bytes(8)))
        with tempfile.TemporaryDirectory() as work:
            whole, hidden, one = f"{work}/whole", f"{work}/hidden", f"{work}/one"
            for path, body in (whole, first + second), (hidden, second), (one, first + self.packet(1, (900, 7, bytes(8)))):
                with open(path, "wb") as file:
                    file.write(body)
            for good, bad in (whole, hidden), (hidden, whole):
                got = ask(good, bad)
                self.assertTrue(got["outcomes"], got)
                self.assertIsNone(got["alike"], got)
            # A whole trace with a single request shows that the runs differ.
            self.assertIs(ask(hidden, one)["alike"], False)

    def test_at_another_time(self):
        """Before the answer comes, the good run waits, too. A difference in later threads does not
        count for earlier ones."""
        got = ask(self.good, self.bad, "--to", "+1.005ms")
        self.assertEqual((got["alike"], got["outcomes"], got["lone"], got["partings"]), (True, [], [], 0), got)
        self.assertEqual(ask(self.good, self.bad, "--from", "+1s")["outcomes"], [])
        outcome = ask(self.good, self.bad, "--from", "+1ms")["outcomes"][0]
        self.assertEqual((outcome["threads"], names(outcome["bad"])), (1, (5, "Task", "ARP response")))

    def test_several_streams(self):
        """Streams of two directories are matched by their names. A stream that only one of them has
        stays unmatched."""
        for name, streams in ("one", (("a", self.good), ("b", self.bad))), ("two", (("0", self.good), ("a", self.good), ("b", self.good))):
            os.mkdir(f"{self.work.name}/{name}")
            for stream, path in streams:
                os.link(path, f"{self.work.name}/{name}/{stream}")
            # Without metadata the files are rings of one program, which share their threads.
            os.link(f"{ROOT}/schema/ctf/metadata.tsdl", f"{self.work.name}/{name}/metadata")
        got = ask(f"{self.work.name}/two", f"{self.work.name}/one")
        self.assertEqual(got["counterparts"], 14)
        (outcome,) = got["outcomes"]
        self.assertEqual((outcome["bad"]["stream"], outcome["good"]["stream"]), ("b", "b"))
        self.assertEqual({one["first_good"]["stream"] for one in got["lone"]}, {"0"})


class Others(unittest.TestCase):
    def test_usage(self):
        path = f"{TRACES}/small.ctf.xz"
        for arguments in (
            (),
            (path,),
            (path, path, path),
            ("-", "-"),
            (path, path, "--last", "1s"),
            (path, path, "--good-run", "1"),
            (path, path, "--run", "1"),
            (path, path, "--from", "then"),
        ):
            code, out, said = run(*arguments)
            self.assertEqual((code, out), (2, ""), arguments)
            self.assertIn("Try `mprofctl diff --help`.", said)
        self.assertEqual(run(path, "file:/no/such/file")[0], 4)
        self.assertEqual(run("file:/no/such/file", path)[0], 4)

    def test_empty(self):
        self.assertTrue(ask("-", f"{TRACES}/small.ctf.xz", code=0)["outcomes"] is not None)
        self.assertTrue(ask("-", "/dev/null")["alike"])

    def traces(self):
        return glob.glob(f"{TRACES}/*.ctf.xz") + glob.glob(f"{PUBLIC}/*.ctf*")

    def test_alike(self):
        """No available trace differs from itself."""
        self.assertGreater(len(self.traces()), 5)
        for path in self.traces():
            code, out, _ = run(path, path, "--json")
            self.assertIn(code, (0, 3), path)
            got = json.loads(out)
            hole = HOLES.get(os.path.basename(path).split(".")[0])
            self.assertEqual((got["alike"], (got["good"]["coverage"] or {}).get("hole")), (None if hole else True, hole), path)
            self.assertEqual((got["outcomes"], got["partings"], got["lone"], got["counters"]), ([], 0, [], []), path)
            self.assertEqual(got["counterparts"], got["good"]["threads"])

    def test_rings_of_ocaml(self):
        """Rings of a program begin when their domains do; one of which nothing was overwritten has its beginning."""
        for name, whole in ("domains", True), ("eio", True), ("wrapped", False):
            with tempfile.TemporaryDirectory() as work:
                path = f"{work}/{name}.events"
                with open(path, "wb") as file, lzma.open(f"{TRACES}/ocaml5/{name}.events.xz") as packed:
                    file.write(packed.read())
                got = json.loads(run("--json", path, path)[1])
            self.assertEqual((got["alike"], got["good"]["coverage"] is None), (True if whole else None, whole), name)

    def test_any_two(self):
        """diff reports something about any two traces, within bounds, and the unmatched threads add
        up."""
        paths = sorted(self.traces())
        for good, bad in zip(paths, paths[1:]):
            code, out, _ = run(good, bad)
            self.assertIn(code, (0, 3))
            self.assertLess(len(out), 30000)
            words = run(good, bad, "--json")[1]
            self.assertEqual(run(good, bad, "--json")[1], words, "the same question has the same answer")
            got = schemas.check(json.loads(words), "diff")
            for side in "good", "bad":
                lone = sum(kind[side] or 0 for kind in got["lone"])
                self.assertEqual(lone <= got[side]["threads"] - got["counterparts"], True)
                if not got["left_out"]["lone"]:
                    self.assertEqual(lone, got[side]["threads"] - got["counterparts"])


@unittest.skipUnless(os.path.isdir(PUBLIC), f"no published traces in {PUBLIC}")
class Arp(unittest.TestCase):
    """The two published traces of the tutorial."""

    def test_story(self):
        got = ask(f"{PUBLIC}/arp-good.ctf", f"{PUBLIC}/arp-bad.ctf")
        self.assertGreater(got["counterparts"], 390)
        outcome = got["outcomes"][0]
        self.assertEqual((outcome["outcome"], outcome["should_resolve"], outcome["bad"]["thread"]), ("bad-waits", 1, 4466))
        self.assertEqual(outcome["good"]["thread"], 4466)
        self.assertEqual(names(outcome["root"]), (4472, "Task", "Wait for ARP response"))
        self.assertEqual(names(outcome["missed"]["by"]), (4471, "Bind", "arpv4.input"))
        good, bad = outcome["parting"]["good"], outcome["parting"]["bad"]
        self.assertEqual(names(bad["thread"]), (4453, "Condition", "Wait for ARP response"))
        self.assertEqual(steps(good), [("signalled", 4460), ("creates", 4472), ("signalled", 4483), ("resolves", 4472)])
        self.assertEqual(steps(bad), [("signalled", 4471), ("signalled", 4460), ("creates", 4472)])
        self.assertEqual(good["later"]["other"]["label"], "arpv4.input")

    def test_in_words(self):
        out = run(f"{PUBLIC}/arp-good.ctf", f"{PUBLIC}/arp-bad.ctf")[1].split("\n\n")
        self.assertRegex(out[1], r"^never resolved in the bad run: 4466 \(Bind, .*, which should resolve")
        self.assertIn('missed wake-up: 4453 (Condition, "Wait for ARP response") was signalled by 4471 (Bind, "arpv4.input")', out[1])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
