"""Test how mprofctl shows the bytes that were not proven when a guest ended: tails.py
BUILD-DIRECTORY [TEST…]

The archive's writer makes the tails, so the tests know to the nanosecond where each begins. One
tail is of a real ring that its writer left. ctl-client.py tests mprofctl against wrong answers
about tails, and tests/browser tests that the page draws them.
"""

import base64
import contextlib
import json
import os
import re
import sqlite3
import subprocess

import daemons
from daemons import START, event, program
from frames import unzstd
from rings import image, rooms

PROVEN, TAIL = range(1000000, 1040000, 1000), range(1100000, 1120000, 1000)
# Times of a guest that ran for hours: a shifted one is none.
HOURS = 10**13
OLD, LEFT, LATER = (range(HOURS + a, HOURS + b, 1000) for a, b in ((0, 40000), (100000, 120000), (130000, 136000)))


def said(times):
    return b"".join(event(time, time % 7) for time in times)


class Tails(daemons.Case):
    def setUp(self):
        super().setUp()
        self.d = self.enterContext(daemons.Daemons())

    def archive(self, *lines):
        done = subprocess.run(
            [program("archive-driver"), self.d.state], input="\n".join(["begin", *lines, "commit", ""]), capture_output=True, text=True, timeout=300
        )
        self.assertEqual(set(done.stdout.split()), {"ok"}, done.stderr)
        self.d.start_server()

    def web(self, *more):
        """Archive a guest that crashed while it wrote. Capture 1 is of its crash, capture 2 of an
        earlier time."""
        end = START + len(said(PROVEN))
        self.archive(
            "run 1 xen a web - 3 ended crash",
            "stream 1 1 0 65536 4 0",
            f"piece 1 0 {START} 0 65536 {PROVEN[0]} {end} {said(PROVEN).hex()}",
            "capture 1 1 crash -",
            f"range 1 1 0 0 {end}",
            f"tail 1 1 0 {end} 65536 {PROVEN[0]} {said(TAIL).hex()}",
            "capture 2 1 manual -",
            f"range 2 1 0 0 {end}",
            *more,
        )

    def ctl(self, *arguments, cut=0):
        """Return the output of mprofctl, which must say that it lacks CUT bytes, and nothing else."""
        done = subprocess.run(
            [program("mprofctl"), "--host", f"unix:{self.d.socket}", *arguments],
            capture_output=True,
            timeout=300,
            env={**os.environ, "BROWSER": "true"},
        )
        if b"without the viewer" in done.stderr:
            self.skipTest("mprofctl was built without the viewer")
        self.assertEqual(done.returncode, 0, arguments)
        self.assertEqual(re.findall(rb"(\d+) bytes of its unproven end were cut", done.stderr), [b"%d" % cut] if cut else [], done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), cut > 0, done.stderr)
        return done.stdout.decode()

    def svg(self, trace, *options, cut=0):
        """Return (from, to) in pixels of the unproven part in a picture 1400 wide, or None."""
        text = self.ctl("export", trace, "--to", "svg", "-o", "-", *options, cut=cut)
        bands = re.findall(r'<path fill="url\(#tail\)" d="M([\d.-]+) [\d.-]+H([\d.-]+)V', text)
        self.assertEqual("The part with a hatched foot was not proven." in text, bool(bands))
        self.assertLessEqual(len(bands), 1)
        return tuple(map(float, bands[0])) if bands else None

    def html(self, trace, *options, verb="export", cut=0):
        """Return each stream in the contents of the page: [(name, tail or None)]."""
        to = ["--to", "html"] if verb == "export" else []
        self.ctl(verb, trace, *to, "-o", "out.html", *options, cut=cut)
        with open("out.html", encoding="utf-8") as file:
            text = re.search(r'id="contents">([^<]*)<', file.read())[1]
        os.unlink("out.html")
        (told,) = json.loads(base64.b64decode(text))["traces"]
        return [(stream["name"], stream.get("tail")) for stream in told["streams"]]

    def near(self, got, wanted):
        for a, b in zip(got, wanted):
            self.assertAlmostEqual(a, b, delta=0.2)

    def test_where_it_begins(self):
        self.web()
        for trace in "capture:1", "1", "domain:web", "web":
            # Without edges there is a margin of 20 pixels, within a nanosecond.
            x = 20 + 1360 * (TAIL[0] - PROVEN[0]) / (TAIL[-1] - PROVEN[0])
            self.near(self.svg(trace), (x, 1380))
            self.assertEqual(self.html(trace), [("", str(TAIL[0]))])
            self.assertEqual(self.html(trace, verb="view"), [("", str(TAIL[0]))])
        for trace, options in ("web", ["--run", "1"]), ("capture:1", ["--stream", "0"]), ("web", ["--last", "1KB"]):
            self.assertTrue(self.svg(trace, *options), options)
            self.assertEqual(self.html(trace, *options), [("", str(TAIL[0]))])

    def test_inversion(self):
        """An interrupt recorded an event that is 3 us older than the one before it: nothing is cut. An event that is older than its packet is, alone."""
        end = START + len(said(PROVEN))
        older = [*TAIL[:5], TAIL[4] - 3000, *TAIL[5:]]
        stale = [*TAIL[:5], PROVEN[0] - 1, *TAIL[5:]]
        lines = []
        for run, times in (1, older), (2, stale):
            lines += [
                f"run {run} xen {run} web-{run} - 3 ended crash",
                f"stream {run} {run} 0 65536 4 0",
                f"piece {run} 0 {START} 0 65536 {PROVEN[0]} {end} {said(PROVEN).hex()}",
                f"capture {run} {run} crash -",
                f"range {run} {run} 0 0 {end}",
                f"tail {run} {run} 0 {end} 65536 {PROVEN[0]} {said(times).hex()}",
            ]
        self.archive(*lines)
        served = [int(time) for time, *_ in daemons.events_of(self.d.trace("web-1"))]
        self.assertEqual(served, [*PROVEN, *older])
        served = [int(time) for time, *_ in daemons.events_of(self.d.trace("web-2"))]
        self.assertEqual(served, [*PROVEN, *TAIL])

    def damaged(self):
        """Archive a guest whose tail has a damaged event in its first packet, and one at the beginning of its second."""
        end = START + len(said(OLD))
        first = said(LEFT[:5]) + b"\xff" * 17 + said(LEFT[6:])
        second = b"\xff" * 26 + said(LATER)
        self.archive(
            "run 1 xen a web - 3 ended crash",
            "stream 1 1 0 65536 4 0",
            f"piece 1 0 {START} 0 65536 {OLD[0]} {end} {said(OLD).hex()}",
            "capture 1 1 crash -",
            f"range 1 1 0 0 {end}",
            f"tail 1 1 0 {end} 65536 {OLD[0]} {first.hex()}",
            f"tail 1 1 1 {START} 65536 {2**63 - 1} {second.hex()}",
        )
        return [*OLD, *LEFT[:5], *LEFT[6:], *LATER]

    def test_resumed(self):
        """Behind a damaged event the tail goes on. All that is left out is declared."""
        wanted = self.damaged()
        end = START + len(said(OLD))
        path = "/v1/captures/1/trace"
        for again in range(2):
            status, headers, whole = self.d.ask(path)
            self.assertEqual((status, headers["Mprof-Cut"]), (200, f"bytes=43; packets=2; at=1.0.0.{end + 5 * 17}"))
            self.assertEqual([int(time) for time, *_ in daemons.events_of(whole)], wanted)
            self.assertEqual(unzstd(self.d.ask(path, headers={"Accept-Encoding": "zstd"})[2]), whole)
            if not again:
                self.d.stop_server()
                self.d.start_server()
        for at in sorted(
            {0, 29, 30, end - START, end + 5 * 17 - 1, end + 5 * 17, end + 5 * 17 + 1, end + 19 * 17, end + 19 * 17 + 30, len(whole) - 1}
        ):
            status, _, body = self.d.ask(path, headers={"Range": f"bytes={at}-"})
            self.assertEqual((status, body), (206, whole[at:]), at)
            self.assertEqual(self.d.ask(path, headers={"Range": f"bytes=0-{at}"})[2], whole[: at + 1], at)
        raw = self.d.get(f"{path}?tail=raw")
        self.assertEqual(len(raw), len(whole) + 43)
        self.assertIn(b"\xff" * 17, raw)
        (page,) = self.d.packets("web")
        self.assertEqual(page["end"], f"1.0.1.{START + 26 + len(said(LATER))}")
        keys = "bytes", "tail_bytes", "cut", "resumed", "first_timestamp"
        self.assertEqual(
            [tuple(packet[key] for key in keys) for packet in page["packets"]],
            [
                (end + 19 * 17, 19 * 17, 17, 14 * 17, str(OLD[0])),
                (START + len(said(LATER)), len(said(LATER)), 26, len(said(LATER)), str(LATER[0])),
            ],
        )
        body = self.d.trace("web", f"?first=1.0.0.{end}")
        self.assertEqual([int(time) for time, *_ in daemons.events_of(body)], wanted[len(OLD) :])
        body = self.d.trace("web", f"?first=1.0.1.{START}")
        self.assertEqual([int(time) for time, *_ in daemons.events_of(body)], list(LATER))

    def test_resumed_is_said(self):
        """Each verb has the events behind the damage, and says how many bytes were cut. These events are unproven."""
        wanted = self.damaged()
        self.assertEqual(json.loads(self.ctl("--json", "stats", "1", cut=43))["cut_bytes"], 43)
        self.assertEqual(json.loads(self.ctl("--json", "why", "1", "3", cut=43))["cut_bytes"], 43)
        self.assertEqual(len(self.ctl("dump", "1", cut=43).splitlines()), len(wanted))
        self.assertEqual(json.loads(self.ctl("--json", "show", "1"))["capture"]["streams"][0]["cut_bytes"], 43)
        self.assertEqual(self.html("1", cut=43), [("", str(LEFT[0]))])
        self.near(self.svg("1", cut=43), (20 + 1360 * (LEFT[0] - OLD[0]) / (LATER[-1] - OLD[0]), 1380))

    def test_resumed_is_followed(self):
        """The verbs that follow a trace have the events behind the damage, too, and say how much was cut."""
        wanted = self.damaged()
        for verb in ["dump", "--follow", "web"], ["follow", "web", "-o", "followed.ctf"]:
            done = subprocess.run([program("mprofctl"), "--host", f"unix:{self.d.socket}", *verb], capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("note: web: 43 unproven bytes were cut: no event can be read in them", done.stderr)
            if verb[0] == "dump":
                self.assertEqual(len(done.stdout.splitlines()), len(wanted))
        with open("followed.ctf", "rb") as file:
            self.assertEqual([int(time) for time, *_ in daemons.events_of(file.read())], wanted)

    def test_more_cut_than_left(self):
        """A tail of which more was cut than is left is marked as unproven, too."""
        end = START + len(said(PROVEN))
        self.archive(
            "run 1 xen a web - 3 ended crash",
            "stream 1 1 0 65536 4 0",
            f"piece 1 0 {START} 0 65536 {PROVEN[0]} {end} {said(PROVEN).hex()}",
            "capture 1 1 crash -",
            f"range 1 1 0 0 {end}",
            f"tail 1 1 0 {end} 65536 {PROVEN[0]} {(said(TAIL[:3]) + bytes([255]) * 400).hex()}",
        )
        self.assertEqual(self.html("1", cut=400), [("", str(TAIL[0]))])
        self.assertTrue(self.svg("1", cut=400))

    def test_clock_set_back(self):
        """The guest's clock was set back where the ring went to its next packet, in the first lap and later: all events are there."""
        times = [range(100000, 100020), range(60000, 60020), range(61000, 61005)]
        for first in 0, 9:
            name = f"back-{first}"
            with open(f"{self.d.rings}/{name}.ctf", "wb") as file:
                file.write(image([said(it) for it in times] + [b""] * (first == 0), rooms(4096, 4 if first == 0 else 3), first))
        self.d.start()
        for first in 0, 9:
            self.d.wait_ended(f"back-{first}")
            served = [int(time) for time, *_ in daemons.events_of(self.d.trace(f"back-{first}"))]
            self.assertEqual(served, [time for it in times for time in it])
            self.assertEqual(self.d.domain(f"back-{first}")["streams"][0]["lost_packets"], 0)

    def test_size_set_back(self):
        """A guest sets the size of a packet back, but not behind the bytes that were copied, and goes on: each answer says what is lost."""
        self.d.start()
        with daemons.Ring(f"{self.d.rings}/web.ctf", size=16384) as ring:
            ring.add(1)
            self.d.wait_archived(ring, "web", 20)
            ring.used -= 3 * 17  # one more event was not seen, at most
            ring.put_size()
            (gap,) = self.d.wait(lambda: self.d.gaps("web"))
            self.assertEqual((gap["kind"], gap["reason"], gap["packets"], gap["after_sequence"]), ("lost", "writer", 1, 0))
            self.assertEqual(self.d.ask("/v1/domains/web/trace")[1]["Mprof-Lost-Packets"], "1")
            ring.add_packet()
            self.d.wait_archived(ring, "web", 25)
        self.d.wait_ended("web")
        (stream,) = self.d.domain("web")["streams"]
        self.assertEqual((stream["lost_packets"], stream["several_writers"]), (1, True))
        served = daemons.events_of(self.d.trace("web"))
        self.assertTrue(set(served) <= set(ring.written))
        self.assertEqual(served[-1], ring.written[-1])
        for trace in "web", "capture:1":
            done = subprocess.run(
                [program("mprofctl"), "--host", f"unix:{self.d.socket}", "fetch", trace, "-o", "back.ctf"], capture_output=True, text=True
            )
            self.assertEqual(done.returncode, 0)
            self.assertIn("note: 1 packets of this trace are lost", done.stderr)
            self.assertNotIn("not complete", done.stderr)  # the archive never had these bytes

    def test_size_set_back_while_down(self):
        """While mprofd is down, a guest sets the size of a packet back, and writes over bytes that were copied, and more."""
        self.d.start()
        with daemons.Ring(f"{self.d.rings}/web.ctf", size=65536) as ring:
            ring.add(1)
            self.d.wait_archived(ring, "web", 20)
            self.d.kill_collector()
            ring.used = START + 10 * 17
            ring.put_size()
            ring.add(20)
            self.d.start_collector()

            def gaps():
                ring.add(1)
                return self.d.gaps("web")

            (gap,) = self.d.wait(gaps)
            self.assertEqual((gap["kind"], gap["reason"], gap["packets"], gap["after_sequence"]), ("lost", "writer", 1, 0))

    def test_none(self):
        """Proven bytes get no mark: another capture of the run, and a file with the same bytes."""
        self.web()
        self.ctl("fetch", "capture:1", "-o", "fetched.ctf")
        for trace in "capture:2", "fetched.ctf":
            self.assertIsNone(self.svg(trace))
            self.assertEqual(self.html(trace), [("", None)])

    def test_period(self):
        self.web()
        edges = lambda a, b: ("--from", f"{a // 10**9}.{a % 10**9:09}", "--to", f"{b // 10**9}.{b % 10**9:09}")
        self.near(self.svg("web", *edges(1000000, 1140000)), (1000, 1190))
        self.assertIsNone(self.svg("web", *edges(1000000, 1090000)))
        self.assertEqual(self.html("web", *edges(1000000, 1090000)), [("", None)])
        # The window shows the tail alone, which began before.
        self.assertLessEqual(self.svg("web", *edges(1105000, 1140000))[0], 0)
        self.assertEqual(self.html("web", *edges(1105000, 1140000)), [("", str(TAIL[0]))])

    def test_behind_whole_packets(self):
        """The packet in which the tail begins may be only tail, and the packet of the proven part
        may be deleted."""
        end = START + len(said(PROVEN))
        begin = lambda run, name: [f"run {run} xen {name} {name} - {run} ended crash", f"stream {run} {run} 0 65536 4 0"]
        self.archive(
            *begin(1, "fresh"),
            f"piece 1 0 {START} 1 4096 {PROVEN[0]} {end} {said(PROVEN).hex()}",
            "capture 1 1 crash -",
            f"range 1 1 0 0 {end}",
            f"tail 1 1 1 {START} 4096 {TAIL[0]} {said(TAIL).hex()}",
            *begin(2, "cut"),
            f"piece 2 0 {START} 0 4096 {PROVEN[0]} {end} {said(PROVEN).hex()}",
            "capture 2 2 crash -",
            f"range 2 2 0 0 {end}",
            f"tail 2 2 0 {end} 4096 {PROVEN[0]} {'ff' * 40}",
        )
        self.assertEqual(self.html("fresh"), [("", str(TAIL[0]))])
        self.assertTrue(self.svg("capture:1"))
        for trace in "cut", "capture:2":
            self.assertEqual(self.html(trace, cut=40), [("", None)])
            self.assertIsNone(self.svg(trace, cut=40))

    def test_cut_is_said(self):
        """Each answer says how many bytes of the unproven end were cut, as text and as JSON."""
        end = START + len(said(PROVEN))
        self.archive(
            "run 1 xen a web - 3 ended crash",
            "stream 1 1 0 65536 4 0",
            f"piece 1 0 {START} 0 65536 {PROVEN[0]} {end} {said(PROVEN).hex()}",
            "capture 1 1 crash -",
            f"range 1 1 0 0 {end}",
            f"tail 1 1 0 {end} 65536 {PROVEN[0]} {said([*TAIL, PROVEN[0] - 1]).hex()}",
        )
        self.assertRegex(self.ctl("stats", "1", cut=17), r"cut +17 bytes of the unproven end, in which no event can be read\n")
        self.assertEqual(json.loads(self.ctl("--json", "stats", "web", cut=17))["cut_bytes"], 17)
        self.assertIn("17 bytes of the unproven end were cut: no event can be read in them\n", self.ctl("why", "1", "3", cut=17))
        self.assertEqual(json.loads(self.ctl("--json", "why", "1", "3", cut=17))["cut_bytes"], 17)
        for options in [], ["--json"]:
            self.assertEqual(len(self.ctl(*options, "dump", "capture:1", cut=17).splitlines()), len(PROVEN) + len(TAIL))
        self.assertRegex(self.ctl("show", "1"), r"UNPROVEN\n.*\n17 bytes of the unproven end were cut")
        self.assertEqual(json.loads(self.ctl("--json", "show", "1"))["capture"]["streams"][0]["cut_bytes"], 17)

    def test_lost_range(self):
        """The row that says which packets of a stream a capture has was damaged, and the capture's list, too. The capture names the stream as
        lost, and has the other one."""
        end = START + len(said(PROVEN))
        lines = ["run 1 xen a web - 3 ended crash"]
        for i in 1, 2:
            lines += [f"stream {i} 1 {i + 3} 65536 4 0", f"piece {i} 0 {START} 0 65536 {PROVEN[0]} {end} {said(PROVEN).hex()}"]
        self.archive(
            *lines, "capture 1 1 crash -", f"range 1 1 0 0 {end}", f"range 1 2 0 0 {end}", f"tail 1 1 0 {end} 65536 {PROVEN[0]} {said(TAIL).hex()}"
        )
        self.assertTrue(self.d.json("/v1/captures/1")["complete"])
        self.d.stop_server()
        with contextlib.closing(sqlite3.connect(f"{self.d.state}/archive/trace.db", isolation_level=None)) as db:
            db.execute("UPDATE capture_streams SET first_sequence = 1 WHERE stream = 1")
            db.execute("UPDATE capture_lists SET ranges = zeroblob(length(ranges))")
        self.d.start()
        self.assertEqual(self.d.ask("/v1/captures/1/trace?stream=4")[0], 410)
        self.d.wait(lambda: "out of service" in self.d.said())
        capture = self.d.json("/v1/captures/1")
        self.assertEqual([(it["stream"], it.get("lost")) for it in capture["streams"]], [(4, True), (5, None)])
        self.assertFalse(capture["complete"])
        self.assertEqual(len(daemons.events_of(self.d.get("/v1/captures/1/trace?stream=5"))), len(PROVEN))
        for verb, out, code in ("show", 1, 0), ("why", 2, 0):
            done = subprocess.run([program("mprofctl"), "--host", f"unix:{self.d.socket}", verb, "1"], capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, code, done)
            self.assertIn("lost stream 4 of the capture", [done.stdout, done.stderr][out - 1])

    def test_streams(self):
        """Each stream has its own tail. A stream's number need not be its position."""
        end = START + len(said(PROVEN))
        lines = ["run 1 xen smp smp - 3 ended crash"]
        for i, number in enumerate((2, 5, 7), 1):
            lines += [f"stream {i} 1 {number} 65536 4 0 vcpu{number}", f"piece {i} 0 {START} 0 65536 {PROVEN[0]} {end} {said(PROVEN).hex()}"]
        lines += ["capture 1 1 crash -", *(f"range 1 {i} 0 0 {end}" for i in (1, 2, 3))]
        self.archive(*lines, f"tail 1 2 0 {end} 65536 {PROVEN[0]} {said(TAIL).hex()}", f"tail 1 3 0 {end} 65536 {PROVEN[0]} {said(TAIL[3:]).hex()}")
        wanted = [("vcpu2", None), ("vcpu5", str(TAIL[0])), ("vcpu7", str(TAIL[3]))]
        for trace in "smp", "capture:1":
            self.assertEqual(self.html(trace), wanted)
            self.assertEqual(self.html(trace, "--stream", "7"), [("", str(TAIL[3]))])
            self.assertEqual(self.html(trace, "--stream", "2"), [("", None)])
            self.assertTrue(self.svg(trace, "--stream", "5"))
            self.assertIsNone(self.svg(trace, "--stream", "2"))

    def test_newest_run(self):
        """The export of a guest that runs again is its newest run, without the earlier run's tail."""
        end = START + len(said(PROVEN))
        self.web("run 2 xen b web - 4 running -", "stream 2 2 0 65536 4 0", f"piece 2 0 {START} 0 65536 {PROVEN[0]} {end} {said(PROVEN).hex()}")
        self.assertEqual(self.html("web"), [("", None)])
        self.assertEqual(self.html("web", "--run", "1"), [("", str(TAIL[0]))])

    def test_real(self):
        """The ring of a guest that is gone: its last poll did not prove everything."""
        with open(f"{self.d.rings}/left.ctf", "wb") as file:
            file.write(daemons.small_ring())
        self.d.start()
        self.d.wait_ended("left")
        packet = next(it for page in self.d.packets("left") for it in page["packets"] if it["tail_bytes"])
        events = daemons.events_of(self.d.trace("left"))
        first = events[(packet["copied"]["last"]["offset"] - START) // len(event(0)) if packet["copied"] else 0][0]
        self.assertEqual(self.html("left"), [("", str(first))])
        self.assertTrue(self.svg("left"))


if __name__ == "__main__":
    daemons.main()
