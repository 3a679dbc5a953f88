"""Test what a host shows of its captures by its reader: readings.py BUILD-DIRECTORY [TEST…]

tests/unit/test-readings.c tests when a capture is read, and its cache.
"""

import os
import re
import struct
import subprocess

import daemons
from daemons import START, program, sanitized
from events import Follower

LABEL, FULFILLS, FAILS = 5, 2, 3


def said(exception):
    """Return the events of a guest whose thread 2 failed with the text EXCEPTION."""

    def event(at, kind, thread, rest=b""):
        return struct.pack("<QBq", 1_000_000 + at, kind, thread) + rest

    return (
        event(0, 7, 1)
        + event(1, 0, 1, struct.pack("<qB", 2, 1))
        + event(2, LABEL, 2, b"handler\0")
        + event(3, 7, 2)
        + event(9, FAILS, 2, struct.pack("<q", 2) + exception + b"\0")
    )


class Readings(daemons.Case):
    def setUp(self):
        super().setUp()
        self.cache = os.path.abspath("cache")
        os.mkdir(self.cache, 0o700)
        os.environ["CACHE_DIRECTORY"] = self.cache
        self.addCleanup(os.environ.pop, "CACHE_DIRECTORY")

    def serve(self, exception, config=daemons.QUIET, damage=lambda events: events):
        """Serve an archive with capture 1 of a guest that failed with EXCEPTION, and whose events went through DAMAGE."""
        d = self.enterContext(daemons.Daemons(config))
        events = damage(said(exception))
        end = START + len(events)
        lines = (
            "run 1 xen a web - 3 ended crash",
            "stream 1 1 0 65536 4 0",
            f"piece 1 0 {START} 0 65536 1000000 {end} {events.hex()}",
            "capture 1 1 crash -",
            f"range 1 1 0 0 {end}",
        )
        done = subprocess.run(
            [program("archive-driver"), d.state],
            input="\n".join(["begin", *lines, "commit", ""]),
            capture_output=True,
            text=True,
            timeout=daemons.HANGS,
        )
        self.assertEqual(set(done.stdout.split()), {"ok"}, done.stderr)
        d.start_server()
        return d

    def captures(self, d):
        return d.json("/v1/captures")["captures"]

    def metrics(self, d):
        found = re.findall(r"(?m)^mprofd_http_readings_?(\w*) (\S+)$", d.get("/metrics").decode())
        return {name: float(value) for name, value in found}

    def ctl(self, d, *arguments):
        done = subprocess.run(
            [program("mprofctl"), "--host", f"unix:{d.socket}", *arguments], capture_output=True, text=True, timeout=daemons.HANGS, check=True
        )
        return done.stdout

    def test_cause_and_text(self):
        d = self.serve(b'Failure("\x1b[31mno reply\xff")')
        if sanitized():
            self.assertIsNone(self.captures(d)[0]["sentence"])
            return
        d.wait(lambda: self.captures(d)[0]["sentence"])
        (capture,) = self.captures(d)
        self.assertRegex(capture["cause"], r"^failed-[0-9a-f]{24}$")
        self.assertIn("handler", capture["sentence"])
        self.assertEqual(capture["exception"], 'Failure("\\x1b[31mno reply\\xff")')
        self.assertIsNone(capture["failure"])
        self.assertEqual(d.json("/v1/captures/1"), capture)
        table = self.ctl(d, "captures")
        self.assertIn("CAUSE", table)
        self.assertIn("handler", table)
        shown = self.ctl(d, "show", "1")
        self.assertIn("no reply", shown)
        self.assertNotIn("\x1b", table + shown)
        metrics = self.metrics(d)
        kept = sum(os.path.getsize(f"{self.cache}/{name}") for name in os.listdir(self.cache))
        self.assertGreater(kept, 0)
        self.assertGreater(metrics.pop("seconds_total"), 0)
        self.assertEqual(metrics, {"total": 1, "failed_total": 0, "refused_total": 0, "waiting": 0, "cache_bytes": kept})
        # The next server has it at once.
        d.stop_server()
        d.start_server()
        self.assertEqual(self.captures(d), [capture])
        self.assertEqual(self.metrics(d), {"total": 0, "failed_total": 0, "refused_total": 0, "waiting": 0, "seconds_total": 0, "cache_bytes": kept})

    def test_main_thread(self):
        """If the main thread failed, the cause begins with that, and with its exception, whatever failed later. Thread 0 is the main thread if
        the recorder says that it is this project's."""
        declared = struct.pack("<QBHBBBH", 1_000_000, 14, 4, 5, 1, 1, 0)
        fails = struct.pack("<QBqq", 1_000_004, FAILS, 1, 0) + b'Failure("\x1b[31mno route")\0'
        shown = 'Failure("\\x1b[31mno route")'
        for name, before, exception in (("ours", declared, shown), ("other", b"", "Not_found")):
            with self.subTest(name):
                os.makedirs(name)
                os.chdir(name)
                d = self.serve(b"Not_found", damage=lambda events, before=before: before + events[:-35] + fails + events[-35:])
                if sanitized():
                    return
                d.wait(lambda: self.captures(d)[0]["sentence"])
                (capture,) = self.captures(d)
                self.assertEqual(capture["exception"], exception)
                first = capture["sentence"].split("\n")[0]
                self.assertEqual(first == f"the main thread failed: {shown}", name == "ours", first)
                self.assertEqual("the main thread failed" in self.ctl(d, "captures"), name == "ours")
                d.stop()
                os.chdir("..")

    def test_main_threads(self):
        """Each ring of a guest may have a main thread: that one has ended well says nothing of another."""
        if sanitized():
            return
        d = self.enterContext(daemons.Daemons(daemons.QUIET))
        declared = struct.pack("<QBHBBBH", 1_000_000, 14, 4, 5, 1, 1, 0)
        ends = struct.pack("<QBqq", 1_000_001, FULFILLS, 1, 0), struct.pack("<QBqq", 1_000_004, FAILS, 1, 0) + b"Not_found\0"
        lines = ["run 1 xen a web - 3 ended crash", "capture 1 1 crash -"]
        for i, end in enumerate(ends):
            events = declared + end
            stop = START + len(events)
            lines += [
                f"stream {i + 1} 1 {i} 65536 4 0",
                f"piece {i + 1} 0 {START} 0 65536 1000000 {stop} {events.hex()}",
                f"range 1 {i + 1} 0 0 {stop}",
            ]
        done = subprocess.run(
            [program("archive-driver"), d.state],
            input="\n".join(["begin", *lines, "commit", ""]),
            capture_output=True,
            text=True,
            timeout=daemons.HANGS,
        )
        self.assertEqual(set(done.stdout.split()), {"ok"}, done.stderr)
        d.start_server()
        d.wait(lambda: self.captures(d)[0]["sentence"])
        (capture,) = self.captures(d)
        self.assertEqual((capture["exception"], capture["sentence"].split("\n")[0]), ("Not_found", "the main thread failed: Not_found"))

    def test_damage(self):
        """The guest wrote bytes that cannot be decoded. They are proven, so they are served, and the reader counts them."""
        d = self.serve(b"Not_found", damage=lambda events: events[:8] + b"\xfe" + events[9:])
        if sanitized():
            return
        d.wait(lambda: self.captures(d)[0]["sentence"])
        (capture,) = self.captures(d)
        keys = "damages", "skipped_bytes", "unproven_events", "complete"
        self.assertEqual([capture[key] for key in keys], [1, 43, 3, True])
        for body in ("trace", "ctf.tar"):
            headers = d.ask(f"/v1/captures/1/{body}")[1]
            self.assertEqual(headers["Mprof-Damages"], "places=1; bytes=43; events=3", body)
        self.assertIn(
            "The trace is damaged in 1 place: 43 bytes cannot be decoded, and 3 events behind, to the ends of their packets, are unproven.",
            self.ctl(d, "show", "1"),
        )
        d.stop_server()
        d.start_server()
        self.assertEqual([self.captures(d)[0][key] for key in keys], [1, 43, 3, True])

    def test_event(self):
        d = self.serve(b"Not_found")
        follower = Follower(d)
        self.addCleanup(follower.close)
        d.wait(lambda: follower.named("hello"))
        if sanitized():
            return
        d.json("/v1/captures/1")  # it is read soon
        d.wait(lambda: follower.named("capture"))
        (event,) = follower.named("capture")
        self.assertEqual(event, {"change": "changed", "capture": d.json("/v1/captures/1")})
        self.assertEqual(event["capture"]["exception"], "Not_found")

    def test_without_a_reader(self):
        d = self.serve(b"Not_found", daemons.QUIET + "[http]\nreader = no\n")
        (capture,) = self.captures(d)
        self.assertFalse({"cause", "sentence", "last_ran", "exception", "failure", "damages", "skipped_bytes", "unproven_events"} & set(capture))
        self.assertNotIn("CAUSE", self.ctl(d, "captures"))
        self.assertEqual(self.metrics(d), {})
        self.assertEqual(os.listdir(self.cache), [])

    def dead(self, config=daemons.QUIET):
        """Serve an archive with the capture of a guest that crashed: two complete packets and four in its tail. Return also the length of their rows."""
        d = self.enterContext(daemons.Daemons(config))
        packets = [b"".join(struct.pack("<QBq", 10**6 * (i + 1) + k, 7, k % 50) for k in range(3000)) for i in range(6)]
        end = START + len(packets[0])
        lines = ["run 1 xen a web - 3 ended crash", "stream 1 1 0 524288 8 0"]
        lines += [f"piece 1 {i} {START} 1 65536 {10**6 * (i + 1)} {end} {packets[i].hex()}" for i in range(2)]
        lines += ["capture 1 1 crash -", f"range 1 1 0 1 {end}"]
        lines += [f"tail 1 1 {i} {START} 65536 {10**6 * (i + 1)} {packets[i].hex()}" for i in range(2, 6)]
        done = subprocess.run(
            [program("archive-driver"), d.state],
            input="\n".join(["begin", *lines, "commit", ""]),
            capture_output=True,
            text=True,
            timeout=daemons.HANGS,
        )
        self.assertEqual(set(done.stdout.split()), {"ok"}, done.stderr)
        d.start_server()
        return d, sum(map(len, packets))

    def decoded(self, d):
        found = re.findall(r"(?m)^mprofd_http_decoded_(\w*) (\S+)$", d.get("/metrics").decode())
        return {name: float(value) for name, value in found}

    def bodies(self, d):
        """Return the body of the capture's trace, which its parts and the archive of its streams must have, too."""
        trace = d.get("/v1/captures/1/trace")
        for first, last in ((0, 9), (40_000, 140_000), (len(trace) - 60_001, len(trace) - 1)):
            status, _, part = d.ask("/v1/captures/1/trace", headers={"Range": f"bytes={first}-{last}"})
            self.assertEqual((status, part), (206, trace[first : last + 1]))
        self.assertIn(trace, d.get("/v1/captures/1/ctf.tar"))
        return trace

    def test_decoded(self):
        """Rows are kept decoded once the reader has looked, and a wrong copy of them costs time alone."""
        d, rows = self.dead(daemons.QUIET + "[http]\ndecoded = 0\n")
        trace = self.bodies(d)
        self.assertEqual(self.decoded(d), {})
        d.stop_server()
        d.configure(daemons.QUIET)
        d.start_server()
        self.assertEqual(self.bodies(d), trace)
        if sanitized():
            return
        d.wait(lambda: self.decoded(d)["bytes"] == rows)
        before = self.decoded(d)["reads_total"]
        self.assertEqual(self.bodies(d), trace)
        used = self.decoded(d)["reads_total"] - before
        self.assertGreaterEqual(used, 12)
        self.assertFalse([name for name in os.listdir(self.cache) if len(name) != 32])
        descriptors = f"/proc/{d.server.pid}/fd"
        (file,) = [f"{descriptors}/{fd}" for fd in os.listdir(descriptors) if os.readlink(f"{descriptors}/{fd}").endswith("/decoded (deleted)")]
        with open(file, "r+b") as f:
            f.write(b"x" * (rows // 2))
        self.assertEqual(self.bodies(d), trace)
        missed = self.decoded(d)["missed_total"]
        self.assertGreater(missed, 0)
        os.truncate(file, 0)
        self.assertEqual(self.bodies(d), trace)
        self.assertGreater(self.decoded(d)["missed_total"], missed)


if __name__ == "__main__":
    daemons.main()
