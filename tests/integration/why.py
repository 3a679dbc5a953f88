"""Test `mprofctl why` and `mprofctl threads`: why.py SOURCE-ROOT MPROFCTL STORY [TEST…]

The traces are the story of the lost ARP reply, recorded by this project's recorder, and the
published traces of it, if they lie beside the checkout. The output of `threads` is compared with
the dump.
"""

import collections
import http.server
import json
import lzma
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT, MPROFCTL, STORY = map(os.path.abspath, sys.argv[1:4])
TRACES = os.path.join(ROOT, "tests", "traces")
sys.path.append(os.path.join(ROOT, "tests", "traces"))
import schemas  # noqa: E402
import unpack  # noqa: E402

PUBLIC = os.path.join(unpack.REFERENCE, "public")


def run(*arguments, stdin=None):
    done = subprocess.run([MPROFCTL, *arguments], input=stdin, capture_output=True, timeout=300)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def ask(*arguments):
    code, out, said = run("why", "--json", *arguments)
    assert (code, said) == (0, ""), said
    return schemas.check(json.loads(out), "why")


def threads(*arguments):
    code, out, said = run("threads", "--json", *arguments)
    assert code in (0, 3), said
    return schemas.check(json.loads(out), "threads")["threads"]


def names(who):
    return who["thread"], who["type"], who["label"]


def number(n):
    return n.to_bytes(8, "little", signed=True)


def event(id, *rest):
    return (5).to_bytes(8, "little") + bytes([id]) + b"".join(rest)


def packet(events, count=0):
    size = ((30 + len(events)) * 8).to_bytes(4, "little")
    return bytes.fromhex("c11ffcc105883b8d521a487bb397456ab150680c") + size + count.to_bytes(2, "little") + size + events


class Story(unittest.TestCase):
    """The recorder's own traces of the story."""

    def setUp(self):
        self.work = tempfile.TemporaryDirectory()
        for name in "good", "bad", "circle", "unsaid":
            subprocess.run([STORY, name, self.path(name)], check=True)

    def tearDown(self):
        self.work.cleanup()

    def path(self, name):
        return f"{self.work.name}/{name}"

    def test_bad(self):
        got = ask(self.path("bad"))
        (answer,) = got["answers"]
        self.assertEqual((got["should_resolve"], got["left_out"], got["lost_packets"]), (1, 0, 0))
        self.assertEqual(names(answer), (1, "Bind", "TCP connect"))
        self.assertEqual(answer["verdict"], "missed-signal")
        self.assertEqual([names(link) for link in answer["chain"]], [(4, "Bind", None), (5, "Task", "ARP response")])
        self.assertEqual([link["since_ns"] for link in answer["chain"]], ["1000005000", "1001011000"])
        self.assertEqual(names(answer["root"]), (5, "Task", "ARP response"))
        self.assertEqual(answer["root"]["time_ns"], "1001011000")
        self.assertEqual(names(answer["condition"]), (2, "Condition", "ARP response"))
        self.assertEqual(names(answer["missed"]), (6, "Task", "arp.input"))
        self.assertEqual(answer["missed"]["time_ns"], "1001007000")
        self.assertEqual((answer["missed_signals"], answer["signals"], answer["signals_since"]), (1, 1, 0))
        (last,) = got["last"]
        self.assertEqual(names(last["thread"]), (6, "Task", "arp.input"))

    def test_bad_in_words(self):
        code, out, said = run("why", self.path("bad"))
        self.assertEqual((code, said), (0, ""))
        for want in (
            r'^thread 1 \(Bind, "TCP connect"\) should resolve and never did$',
            r"^  1\.000005000  waits on 4 \(Bind\)$",
            r'^  1\.001011000  which waits on 5 \(Task, "ARP response"\)$',
            r'^missed wake-up: 2 \(Condition, "ARP response"\) was signalled by 6 \(Task, "arp\.input"\) at 1\.001007000, when nobody',
            r"4\.000 µs too late",
            r'^could have resolved it: 6 \(Task, "arp\.input"\)',
            r'^last: 6 \(Task, "arp\.input"\) ran ',
        ):
            self.assertRegex(out, re.compile(want, re.M))

    def test_unsaid(self):
        """A waiting thread that records no signal of its own gets the same explanation: the wake-up
        before the wait is the same."""
        (said,), (unsaid,) = (ask(self.path(name))["answers"] for name in ("bad", "unsaid"))
        for key in "verdict", "missed_signals", "signals", "signals_since":
            self.assertEqual(unsaid[key], said[key], key)
        self.assertEqual(unsaid["verdict"], "missed-signal")
        self.assertEqual(names(unsaid["missed"]), (6, "Task", "arp.input"))
        self.assertEqual(unsaid["missed"]["time_ns"], "1001007000")
        code, out, _ = run("why", self.path("unsaid"))
        self.assertEqual(code, 0)
        self.assertRegex(out, r'missed wake-up: 2 \(Condition, "ARP response"\) was signalled by 6 \(Task, "arp\.input"\) at 1\.001007000')
        self.assertNotIn("None came", out)

    def test_good(self):
        got = ask(self.path("good"))
        self.assertEqual((got["answers"], got["should_resolve"]), ([], 1))
        code, out, said = run("why", self.path("good"))
        self.assertEqual((code, said), (0, ""))
        self.assertEqual(out.splitlines()[0], "all threads that should resolve did, 1 of them")
        self.assertNotIn("missed", out)

    def test_at_another_time(self):
        """Before the answer comes, the good run waits. The signal of the wait itself does not
        count."""
        (answer,) = ask(self.path("good"), "--to", "+1.5ms")["answers"]
        self.assertEqual((answer["verdict"], answer["signals"], answer["missed"]), ("never-signalled", 0, None))
        code, out, said = run("why", self.path("good"), "--to", "+1.5ms")
        self.assertRegex(out, r'5 \(Task, "ARP response"\) waits for a signal of 2 .* None came, nor any before\.')
        self.assertEqual(ask(self.path("bad"), "--from", "+1s")["answers"], [])

    def test_named(self):
        (answer,) = ask(self.path("good"), "1")["answers"]
        self.assertEqual((answer["verdict"], answer["resolution"]["thread"]), ("resolved", 1))
        got = ask(self.path("bad"), "ARP *")["answers"]
        self.assertEqual([one["thread"] for one in got], [2, 5])
        self.assertEqual(got[1]["verdict"], "missed-signal")
        for name in "77", "nothing like it", "-1":
            code, out, said = run("why", self.path("bad"), "--", name)
            self.assertEqual((code, out), (4, ""))
            self.assertIn(f'"{name}"', said)

    def test_circle(self):
        (answer,) = ask(self.path("circle"))["answers"]
        self.assertEqual(answer["verdict"], "circle")
        self.assertEqual([link["thread"] for link in answer["chain"]], [4, 5, 1])
        self.assertIn("deadlock: each thread of this cycle waits for the next", run("why", self.path("circle"))[1])

    def test_several_streams(self):
        """Each stream has its own threads, whatever their ids."""
        os.mkdir(self.path("all"))
        for name in "good", "bad":
            os.rename(self.path(name), f"{self.path('all')}/{name}")
        # With metadata it is a CTF directory. Without, its files are the rings of one program.
        with open(self.path("all/metadata"), "w", encoding="ascii"):
            pass
        got = ask(self.path("all"))
        (answer,) = got["answers"]
        self.assertEqual((answer["stream"], answer["verdict"], got["should_resolve"]), ("bad", "missed-signal", 2))
        self.assertEqual(sorted(last["stream"] for last in got["last"]), ["bad", "good"])
        self.assertIn("of bad", run("why", self.path("all"))[1])
        listed = collections.Counter(thread["stream"] for thread in threads(self.path("all")))
        self.assertEqual(listed, {"bad": 7, "good": 7})
        self.assertRegex(run("threads", self.path("all"))[1], "TCP connect  stream=bad")

    def test_threads(self):
        got = {thread["thread"]: thread for thread in threads(self.path("bad"))}
        self.assertEqual(sorted(got), list(range(7)))
        self.assertEqual(got[3]["state"], "resolved")
        self.assertEqual((got[3]["start_ns"], got[3]["end_ns"], got[3]["parent"]), ("1000003000", "1001008000", 0))
        self.assertEqual((got[1]["state"], got[1]["should_resolve"]), ("never resolved", True))
        self.assertEqual([t["thread"] for t in threads(self.path("bad"), "--unresolved")], [0, 6, 2, 4, 1, 5])
        self.assertEqual([t["thread"] for t in threads(self.path("bad"), "--label", "?RP*")], [2, 5])
        self.assertEqual([t["thread"] for t in threads(self.path("bad"), "--label", "arp.input")], [6])
        self.assertEqual([t["thread"] for t in threads(self.path("bad"), "--longest", "3")], [6, 1, 2])
        self.assertEqual([t["thread"] for t in threads(self.path("bad"), "--from", "+2.5ms")], [6, 1])
        code, out, said = run("threads", self.path("bad"), "--label", "TCP*")
        self.assertEqual((code, said), (0, ""))
        self.assertRegex(
            out, r"^ID +TYPE +START +DURATION +STATE +TO +PARENT +LABEL\n 1 +Bind +1\.000005000 +3\.009 ms  never resolved +- +0  TCP connect\n$"
        )


class Api(http.server.BaseHTTPRequestHandler):
    """A daemon that serves one trace as captures of several kinds, of guests that ended for several
    reasons."""

    captures = {"12": "crash", "13": "manual", "14": "poweroff", "15": "destroyed"}
    runs = {"web": ("ended", "crash"), "db": ("running", None), "dns": ("ended", "reboot"), "lost": ("ended", None)}

    def answer(self):
        kind, name, *part = self.path.split("?")[0].removeprefix("/v1/").split("/")
        if part == ["trace"]:
            return "application/octet-stream", self.server.trace
        if kind == "captures" and name in self.captures:
            return "application/json", json.dumps({"id": int(name), "kind": self.captures[name]}).encode()
        if kind == "domains" and name in self.runs:
            state, reason = self.runs[name]
            older = {"run": 1, "state": "ended", "reason": "poweroff"}
            return "application/json", json.dumps({"run": 2, "run_list": [{"run": 2, "state": state, "reason": reason}, older]}).encode()
        return None, b""

    def do_GET(self):
        kind, body = self.answer()
        self.send_response(200 if kind else 404)
        self.send_header("Content-Type", kind or "application/problem+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Ending(unittest.TestCase):
    """The text names the thread that ran last only if the guest crashed, or may have. JSON always
    names it."""

    def test_all(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        with tempfile.TemporaryDirectory() as work:
            subprocess.run([STORY, "bad", f"{work}/bad"], check=True)
            with open(f"{work}/bad", "rb") as file:
                server.trace = file.read()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        host = ("--host", f"http://127.0.0.1:{server.server_address[1]}")
        for name, told in (
            ("12", True),
            ("13", False),
            ("capture:14", False),
            ("capture:15", True),
            ("web", True),
            ("db", False),
            ("domain:dns", False),
            ("lost", True),
        ):
            code, out, said = run(*host, "why", name)
            self.assertEqual((code, said), (0, ""))
            self.assertIn("should resolve and never did", out)
            self.assertEqual("\nlast: 6 (Task" in out, told, name)
            self.assertEqual(len(json.loads(run(*host, "why", name, "--json")[1])["last"]), 1)
        self.assertNotIn("last:", run(*host, "why", "web", "--run", "1")[1])


class Others(unittest.TestCase):
    def test_usage(self):
        path = f"{TRACES}/small.ctf.xz"
        for arguments in (
            ("why",),
            ("why", path, "1", "2"),
            ("why", path, "--label", "x"),
            ("threads",),
            ("threads", path, "--longest", "0"),
            ("threads", path, "--longest", "-1"),
            ("threads", path, "--longest", "many"),
            ("threads", path, "--from", "then"),
        ):
            code, out, said = run(*arguments)
            self.assertEqual((code, out), (2, ""), arguments)
            self.assertIn(f"Try `mprofctl {arguments[0]} --help`.", said)
        self.assertEqual(run("why", "/no/such/file")[0], run("stats", "/no/such/file")[0])

    def test_empty(self):
        self.assertEqual(run("threads", "-", stdin=b"")[1].split(), "ID TYPE START DURATION STATE TO PARENT LABEL".split())
        self.assertEqual(json.loads(run("threads", "-", "--json", stdin=b"")[1]), {"threads": []})
        code, out, said = run("why", "-", stdin=b"")
        self.assertEqual((code, said), (0, ""))
        self.assertEqual(out, "the trace has no event\nlast: no thread ran\n")

    def test_like_dump(self):
        """`threads` lists every thread of a dump, with its type, time and end."""
        for name in "small", "wrapped", "eio":
            path = f"{TRACES}/{name}.ctf.xz"
            created, resolved, seconds = {}, {}, lambda text: str(int(text.split(".")[0]) * 10**9 + int(text.split(".")[1]))
            for line in run("dump", path)[1].splitlines():
                match = re.match(r"(\S+) (\w+) \w+=(-?\d+) (?:child|resolvee|main)=(-?\d+)(?: type=(\w+))?", line)
                if match and match[2] == "creates":
                    created[int(match[4])] = (match[5], seconds(match[1]))
                elif match and match[2] in ("fulfills", "fails"):
                    resolved[int(match[4])] = seconds(match[1])
            got = {t["thread"]: t for t in threads(path)}
            self.assertGreater(len(created), 100)
            for thread, (kind, start) in created.items():
                self.assertEqual((got[thread]["type"], got[thread]["start_ns"]), (kind, start))
            ends = {t["thread"]: t["end_ns"] for t in got.values() if t["state"] in ("resolved", "failed")}
            self.assertEqual({t: resolved[t] for t in ends if t in resolved}, {t: e for t, e in ends.items() if t in resolved})
            self.assertGreater(len(ends), 100)
            for t in got.values():
                self.assertEqual(t["became"] is not None, t["state"] == "became")
            longest = threads(path, "--longest", "20")
            spans = [int(t["end_ns"]) - int(t["start_ns"]) for t in longest]
            self.assertEqual(spans, sorted((int(t["end_ns"]) - int(t["start_ns"]) for t in got.values()), reverse=True)[:20])

    def test_never_fulfilled(self):
        (answer,) = ask(f"{TRACES}/small.ctf.xz")["answers"]
        self.assertEqual((answer["verdict"], answer["root"]["label"]), ("never-resolved", "never fulfilled"))
        (answer,) = ask(f"{TRACES}/eio.ctf.xz")["answers"]
        self.assertEqual((answer["verdict"], answer["label"], answer["links"]), ("never-resolved", "never", 0))

    def test_damage(self):
        for verb in "why", "threads":
            code, out, said = run(verb, f"{TRACES}/killed.ctf.xz")
            self.assertEqual(code, 3)
            self.assertIn("unknown event id", said)
            self.assertIn("last:" if verb == "why" else "LABEL", out)

    def test_missing(self):
        """A note says how many packets are missing: one is, several are."""
        one = event(5, number(1))
        for count, words in ((2, "1 packet is missing"), (4, "3 packets are missing")):
            said = run("why", "-", stdin=packet(one) + packet(one, count))[1]
            self.assertIn(f"note: {words}; signals and resolutions there are unknown\n", said)

    def test_missing_resolution(self):
        """A thread that a gap follows may have been resolved in it."""
        marked = event(5, number(1), b"__should_resolve\0")
        for count, words, hole in (
            (1, "should resolve and never did\n", None),
            (3, "should resolve, and the trace has no resolution of it, which would not be here: the trace lacks packets from ", "gap"),
        ):
            data = packet(marked) + packet(event(5, number(2), b"other\0"), count)
            (answer,) = json.loads(run("why", "-", "--json", stdin=data)[1])["answers"]
            self.assertEqual((answer["resolution_coverage"] or {}).get("hole"), hole)
            self.assertIn(f"thread 1 (Unknown) {words}", run("why", "-", stdin=data)[1])

    def test_older_condition(self):
        """No wake-up is called missed of a condition that is older than the trace, or since whose creation packets are missing."""

        def at(time, *events):
            return b"".join(time.to_bytes(8, "little") + it[8:] for it in events)

        made = at(5, event(0, number(0), number(9), bytes([8])))
        signal, again = (at(time, event(9, number(9), number(5)), event(7, number(5))) for time in (10, 12))
        wait = at(20, event(7, number(9)), event(0, number(9), number(2), bytes([1])), event(0, number(0), number(1), bytes([2])))
        wait += at(21, event(5, number(1), b"__should_resolve\0"), event(10, number(1), number(2))) + at(90, event(7, number(7)))
        for data, verdict, words in (
            (packet(made + signal + wait), "missed-signal", "missed wake-up: "),
            (packet(made) + packet(signal + wait, 1), "missed-signal", "missed wake-up: "),
            (packet(signal + wait), "idle-or-missed", "came while the trace has no wait for it"),
            (packet(made) + packet(at(8, event(7, number(7))) + signal + wait, 2), "idle-or-missed", "came while the trace has no wait for it"),
            (packet(made) + packet(signal + wait, 2), "never-signalled", "came when the trace has no wait for it"),
            (packet(made + signal + again + wait), "idle-or-missed", "came while nobody waited for them"),
        ):
            (answer,) = json.loads(run("why", "-", "--json", stdin=data)[1])["answers"]
            self.assertEqual((answer["verdict"], answer["missed"] and answer["missed"]["thread"]), (verdict, 5))
            self.assertIn(words, run("why", "-", stdin=data)[1])

    def test_became(self):
        """A thread that became another is reported once, as the other, and also found by its own
        id."""
        events = event(5, number(1), b"__should_resolve\0") + event(5, number(2), b"__should_resolve\0")
        events += event(4, number(1), number(2)) + event(4, number(2), number(3)) + event(10, number(3), number(4))
        (answer,) = json.loads(run("why", "-", "--json", stdin=packet(events))[1])["answers"]
        self.assertEqual((answer["asked"], answer["thread"], answer["root"]["thread"]), (1, 3, 4))
        self.assertIn("thread 3 (Unknown), which 1 has become, should resolve and never did\n", run("why", "-", stdin=packet(events))[1])

    def test_many_answers(self):
        """Threads that wait for one thing are one answer, too many answers are only counted, a long chain is cut, and no label
        controls a terminal."""
        events = b""
        for i in range(1000):
            events += event(10, number(i), number(i + 1)) + event(5, number(i), b"__should_resolve\0") + event(5, number(i), b"\x1b[2J\xff\0")
        data = packet(events)
        code, text, said = run("why", "-", "--json", stdin=data)
        (answer,) = json.loads(text)["answers"]
        self.assertEqual((code, answer["asked"], answer["waiting"], answer["waiting_marked"], answer["cause"]), (0, 999, 1000, 1000, None))
        self.assertIn("\n999 more threads wait for the same, or behind it\n", run("why", "-", stdin=data)[1])
        got = json.loads(run("why", "-", "--json", "--all", stdin=data)[1])
        self.assertEqual((len(got["answers"]), got["left_out"]), (1000, 0))
        self.assertEqual((got["answers"][0]["links"], len(got["answers"][0]["chain"])), (1000, 64))
        text = run("why", "-", "0", stdin=data)[1]
        self.assertIn("and so on over 936 threads", text)
        self.assertNotIn("\x1b", text + run("threads", "-", stdin=data)[1])
        events = b"".join(event(10, number(i), number(i + 1)) + event(5, number(i), b"__should_resolve\0") for i in range(0, 2000, 2))
        got = json.loads(run("why", "-", "--json", stdin=packet(events))[1])
        self.assertEqual((len(got["answers"]), got["left_out"], got["waits"]["groups"]), (100, 900, 1000))
        self.assertIn("note: 900 more answers are left out", run("why", "-", stdin=packet(events))[1])

    def test_unmarked(self):
        """Without marks and without a name, the answer has each cause once, then the longest waits of named threads, and says
        that nothing is stuck only if the trace would show it."""
        circle = event(10, number(1), number(2)) + event(10, number(2), number(1))
        behind = b"".join(event(10, number(10 + i), number(1)) for i in range(200))
        waits = b"".join(event(10, number(1000 + i), number(2000 + i)) + event(5, number(1000 + i), b"w%d\0" % i) for i in range(8))
        got = json.loads(run("why", "-", "--json", stdin=packet(waits + circle + behind))[1])
        first = got["answers"][0]
        self.assertEqual((got["waits"]["groups"], got["waits"]["causes"], got["waits"]["shown"], got["should_resolve"]), (9, 1, 6, 0))
        self.assertEqual((first["cause"], first["thread"], first["waiting"], first["waiting_marked"]), ("deadlock", 1, 202, 0))
        self.assertEqual([one["label"] for one in got["answers"][1:]], [f"w{i}" for i in range(5)])
        text = run("why", "-", stdin=packet(circle + behind))[1]
        self.assertEqual(text.count("deadlock: "), 1)
        self.assertIn("\n200 more threads wait for the same, or behind it\n", text)
        self.assertLess(len(text.splitlines()), 10)
        self.assertIn("no cause of a hang is proven: each of these waits may still end\n", run("why", "-", stdin=packet(waits))[1])
        read = event(10, number(1), number(2)) + event(2, number(3), number(2)) + event(1, number(1), number(2)) + event(2, number(3), number(1))
        self.assertIn(
            "the trace has no thread that waits at its end. A wait would not be here: the trace begins at 0.000000005.\n",
            run("why", "-", stdin=packet(read))[1],
        )

    def test_hostile(self):
        """Randomly changed bytes give valid JSON."""
        generator = random.Random(4)
        whole = lzma.open(f"{TRACES}/wrapped.ctf.xz").read()
        for _ in range(30):
            data = bytearray(whole)
            for _ in range(generator.choice((3, 300))):
                data[generator.randrange(len(data))] = generator.randrange(256)
            for verb in "why", "threads":
                code, out, _ = run(verb, "-", "--json", *(["*"] if verb == "why" else []), stdin=bytes(data))
                self.assertIn(code, (0, 3, 4))
                if code != 4:
                    json.loads(out)


@unittest.skipUnless(os.path.isdir(PUBLIC), f"no published traces in {PUBLIC}")
class Arp(unittest.TestCase):
    """The published traces."""

    def test_bad(self):
        (answer,) = ask(f"{PUBLIC}/arp-bad.ctf")["answers"]
        self.assertEqual((answer["thread"], answer["verdict"]), (4466, "missed-signal"))
        self.assertEqual([link["thread"] for link in answer["chain"]], [4465, 4464, 4463, 4462, 4461, 4473, 4472])
        self.assertEqual(names(answer["root"]), (4472, "Task", "Wait for ARP response"))
        self.assertEqual(names(answer["condition"]), (4453, "Condition", "Wait for ARP response"))
        self.assertEqual((answer["missed"]["thread"], answer["missed"]["label"]), (4471, "arpv4.input"))
        self.assertEqual((answer["missed"]["time_ns"], answer["root"]["time_ns"]), ("100012479550", "100012491028"))
        self.assertIn("missed wake-up: 4453", run("why", f"{PUBLIC}/arp-bad.ctf")[1])

    def test_good(self):
        got = ask(f"{PUBLIC}/arp-good.ctf")
        self.assertEqual((got["waits"]["causes"], {one["cause"] for one in got["answers"]}), (0, {None}))
        code, out, said = run("why", f"{PUBLIC}/arp-good.ctf")
        self.assertEqual((code, said), (0, ""))
        self.assertIn("\nno cause of a hang is proven: each of these waits may still end\n", out)
        self.assertNotIn("missed", out)
        (waited,) = [one for one in ask(f"{PUBLIC}/arp-good.ctf", "Wait for ARP*")["answers"] if one["thread"] == 4472]
        self.assertEqual((waited["verdict"], waited["resolution"]["thread"]), ("resolved", 4453))

    def test_healthy(self):
        """No cause of a trace of a program that did not hang, whole, wrapped, or seen while it ran."""
        paths = [f"{PUBLIC}/{name}.ctf.xz" for name in ("net", "parallelisation-a", "parallelisation-b", "parallelisation-c")]
        paths += [f"{TRACES}/{name}.ctf.xz" for name in ("small", "wrapped", "wrapped-dense", "countwrap", "oddsize", "eio")]
        paths += [f"{os.path.dirname(PUBLIC)}/live/snap-{n:02}.ctf" for n in range(20)]
        for path in paths:
            self.assertEqual(json.loads(run("why", "--json", path)[1])["waits"]["causes"], 0, path)

    def test_an_idle_wait_is_no_fault(self):
        """A thread that waits for the next packet when the trace ends has missed nothing: the
        signals before woke other threads."""
        answers = [one for one in ask(f"{PUBLIC}/arp-bad.ctf", "port-4")["answers"] if one["verdict"] != "resolved"]
        self.assertEqual([(one["thread"], one["verdict"]) for one in answers], [(4499, "never-signalled")])
        self.assertEqual(answers[0]["like"]["thread"], 4494)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
