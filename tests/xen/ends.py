"""Test what becomes of guests whose end Xen calls orderly, if only crashes are kept: ends.py BUILD-DIRECTORY [TEST…]

The guests' rings are written by the recorder (tests/integration/rerecord.c). With sanitizers the reader of captures cannot run: then only
what holds without one is tested."""

import re
import struct
import subprocess
import unittest

import sim
from daemons import HANGS, START, program, sanitized
from events import Follower

CREATES, FULFILLS, FAILS, BECOMES, SWITCH = 0, 2, 3, 4, 7
MAIN = 0
TEXT = b'Failure("no route")'
SHOWN = 'Failure("no route")'
KEEPS = sim.QUIET + "[policy *]\nmode = on-crash\n"
RING = 16384


def event(at, kind, thread, rest=b""):
    return struct.pack("<QBq", 1_000_000 + at, kind, thread) + rest


def resolves(at, kind, thread, text=None, by=MAIN):
    return event(at, kind, by, struct.pack("<q", thread) + (b"" if text is None else text + b"\0"))


def life(*end):
    """Return the events of a guest: thread 2 fails, its creator handles that, and END follows."""
    return b"".join(
        [
            event(0, SWITCH, MAIN),
            event(1, CREATES, MAIN, struct.pack("<qB", 2, 1)),
            event(2, SWITCH, 2),
            resolves(3, FAILS, 2, b"Not_found", by=2),
            event(4, SWITCH, MAIN),
            *end,
        ]
    )


NO_VERDICT = "mprofd-http gave no verdict on guests that ended in order"
FAILED = life(resolves(9, FAILS, MAIN, TEXT))
CLEAN = life()


class Case(sim.Case):
    def lives(self, domid, name, events=CLEAN, how="interned"):
        """Make a guest whose ring has EVENTS, and wait until mprofd has it."""
        guest = self.guest(domid, name)
        with open("events", "wb") as f:
            f.write(events)
        guest.rings += 1
        subprocess.run([program("rerecord"), how, "events", guest.ring_path(guest.rings), str(RING)], check=True)
        guest.publish(guest.refs(guest.rings, RING))
        return guest

    def kept(self, d):
        """Return (guest, kind) of each capture, as the archive has them."""
        return sorted(d.query("SELECT r.name, c.kind FROM captures c JOIN runs r ON r.id = c.run"))

    def packets(self, d, name):
        """Return the number of rows of packets of a guest, and of tails."""
        streams = f"SELECT s.id FROM streams s JOIN runs r ON r.id = s.run WHERE r.name = '{name}'"
        return tuple(d.query(f"SELECT count(*) FROM {table} WHERE stream IN ({streams})")[0][0] for table in ("chunks", "tails"))

    def reason(self, d, name):
        """Return why the last run of a guest ended; None if the archive has none of it."""
        found = d.query(f"SELECT reason FROM runs WHERE name = '{name}' ORDER BY id DESC LIMIT 1")
        return found[0][0] if found else None

    def wait_unread(self, d, *names):
        """Wait until the archive has the whole ends of the guests NAMES, and nobody has read them."""
        ended = "SELECT r.name, c.kind FROM captures c JOIN runs r ON r.id = c.run JOIN capture_streams s ON s.capture = c.id WHERE r.state = 'ended'"
        d.wait(lambda: sorted(d.query(ended)) == sorted((name, "unread") for name in names))

    def wait_ended(self, d, *names):
        """Wait until the runs of the guests NAMES have ended: their ends are captured then. An empty run is soon deleted."""
        d.wait(lambda: not set(names) & {name for (name,) in d.query("SELECT name FROM runs WHERE state != 'ended'")})

    def wait_kept(self, d, *kept):
        d.wait(lambda: self.kept(d) == sorted(kept))

    def needs_clock(self, d):
        if not d.ask_collector("advance", "ns=0\n").startswith("ok "):
            self.skipTest("the build has no option test-clock")

    def ctl(self, d, *arguments):
        command = [program("mprofctl"), "--host", f"unix:{d.socket}", *arguments]
        return subprocess.run(command, capture_output=True, timeout=HANGS, check=True).stdout.decode()


@unittest.skipIf(sanitized(), "the reader of captures needs a build without sanitizers")
class Read(Case):
    def test_verdicts(self):
        """The run of a guest whose main thread failed is a crash, and those of all others are as if they had not been captured."""
        d = self.daemons(KEEPS)
        follower = Follower(d)
        self.addCleanup(follower.close)
        d.wait(lambda: follower.named("hello"))
        guests = {
            "failed": (FAILED, "interned"),
            "silent": (life(resolves(9, FAILS, MAIN, b"")), "interned"),
            "clean": (CLEAN, "interned"),
            "fulfilled": (life(resolves(8, FULFILLS, MAIN), resolves(9, FAILS, MAIN, TEXT)), "interned"),
            "created": (life(event(8, CREATES, 2, struct.pack("<qB", MAIN, 1)), resolves(9, FAILS, MAIN, TEXT)), "interned"),
            "foreign": (FAILED, "compatible"),  # it does not say who wrote it, so thread 0 is any thread
        }
        made = {name: self.lives(5 + i, name, *what) for i, (name, what) in enumerate(guests.items())}
        for name in made:
            self.attached(d, name)
        for name, guest in made.items():
            guest.die("reboot" if name == "silent" else "poweroff")
        self.wait_ended(d, *made)
        self.wait_kept(d, ("failed", "crash"), ("silent", "crash"))
        for name in ("clean", "fulfilled", "created", "foreign"):
            self.assertEqual(self.packets(d, name), (0, 0))
            self.assertIn(self.reason(d, name), ("poweroff", None))  # an empty run is soon deleted
        self.assertEqual((self.reason(d, "failed"), self.reason(d, "silent")), ("crash", "crash"))
        self.assertEqual(self.runs_reasons(d, "failed"), ["crash"])
        d.wait(lambda: {c["kind"] for c in self.told(follower, "failed")} >= {"crash"})
        self.assertEqual({c["domain"] for c in (e["capture"] for e in follower.named("capture")) if c["kind"] == "crash"}, {"failed", "silent"})
        last = self.told(follower, "failed")[-1]
        self.assertEqual((last["exception"], last["sentence"].split("\n")[0]), (SHOWN, f"the main thread failed: {SHOWN}"))
        (capture,) = d.captures("failed")
        self.assertEqual((capture["exception"], capture["complete"]), (SHOWN, True))
        (silent,) = d.captures("silent")
        self.assertEqual((silent["exception"], silent["sentence"].split("\n")[0]), (None, "the main thread failed"))
        self.assertIn(f"the main thread failed: {SHOWN}", self.ctl(d, "captures", "failed"))
        shown = self.ctl(d, "show", str(capture["id"]))
        self.assertIn(f"the main thread failed: {SHOWN}", shown)
        self.assertRegex(shown, r"(?m)^ *reason +poweroff$")
        d.wait(lambda: "reason=policy" in d.said())
        d.check_integrity()

    def told(self, follower, name):
        return [e["capture"] for e in follower.named("capture") if e["capture"]["domain"] == name]

    def runs_reasons(self, d, name):
        return [run["reason"] for run in d.run_list(name)]

    def test_server_later(self):
        """Guests end while no server runs. The next one reads them, also if mprofd was killed meanwhile, and its own reader before."""
        d = self.daemons(KEEPS)
        failed, clean = self.lives(5, "failed", FAILED), self.guest(6, "clean")
        self.publish(clean, 700)  # three complete packets, and a part of the fourth
        for guest in (failed, clean):
            self.attached(d, guest.name)
        d.kill_server()
        failed.die("poweroff")
        clean.die("poweroff")
        self.wait_unread(d, "failed", "clean")
        self.assertGreater(self.packets(d, "clean")[0], 0)
        d.kill_collector()
        d.start_server()  # it reads them, and there is nobody to tell
        d.wait_read()
        self.assertEqual(self.kept(d), [("clean", "unread"), ("failed", "unread")])
        d.start_collector()
        self.wait_kept(d, ("failed", "crash"))
        self.assertEqual((self.packets(d, "clean"), self.reason(d, "failed")), ((0, 0), "crash"))

    def test_preserved(self):
        """A guest that is preserved after its end: its crash is captured once, however often mprofd starts, and else nothing stays."""
        d = self.daemons(KEEPS)
        failed, clean = self.lives(5, "failed", FAILED), self.lives(6, "clean")
        for guest in (failed, clean):
            self.attached(d, guest.name)
            guest.stop("poweroff")
        self.wait_ended(d, "failed", "clean")
        self.wait_kept(d, ("failed", "crash"))
        for _ in range(2):
            d.stop_collector()
            d.start_collector()
            d.advance(1)
            self.unmapped(d, failed)
            self.unmapped(d, clean)
            self.wait_kept(d, ("failed", "crash"))  # "clean" may be read and dropped again
            d.wait(lambda: self.packets(d, "clean") == (0, 0))
            self.assertEqual(len(d.run_list("failed")), 1)

    def test_changed(self):
        """Who pins a capture before it was read keeps it, with the reason of Xen."""
        d = self.daemons(KEEPS)
        guest = self.lives(5, "clean")
        self.attached(d, "clean")
        d.kill_server()
        guest.die("poweroff")
        self.wait_unread(d, "clean")
        ((capture,),) = d.query("SELECT id FROM captures")
        found = self.packets(d, "clean")
        self.assertTrue(d.ask_collector("patch-capture", f"capture={capture}\npinned=1\n").startswith("ok "))
        d.start_server()
        self.wait_kept(d, ("clean", "poweroff"))
        self.assertEqual(self.packets(d, "clean"), found)
        self.assertTrue(d.json(f"/v1/captures/{capture}")["pinned"])

    def test_hostile_text(self):
        """The text of an exception is any bytes. Nobody shows them as they are, and the verdict does not depend on them."""
        texts = [
            b"\x1b[31mred\x07\x9b\xff\xc0\x80",
            b"judge-capture 1\ncapture=1\ncrashed=0",
            b'"}],"captures":[{"id":1}]',
            b"<script>alert(1)</script>\r\ndata: x\n\nevent: crash\n",
            b"%0A%00=" * 100,
            "\u202eevil\u2028\u0000".encode().replace(b"\0", b"") * 60,
        ]
        d = self.daemons(KEEPS)
        follower = Follower(d)
        self.addCleanup(follower.close)
        d.wait(lambda: follower.named("hello"))
        guests = [self.lives(5 + i, f"hostile{i}", life(resolves(9, FAILS, MAIN, text))) for i, text in enumerate(texts)]
        for guest in guests:
            self.attached(d, guest.name)
        for guest in guests:
            guest.die("poweroff")
        self.wait_kept(d, *((guest.name, "crash") for guest in guests))
        d.wait(
            lambda: len({e["capture"]["domain"] for e in follower.named("capture") if e["capture"]["kind"] == "crash" and e["capture"]["exception"]})
            == len(guests)
        )
        self.assertLessEqual(
            {kind for kind, _, _ in follower.events}, {"hello", "domain", "capture", "rates", "gap", "reset", "forgotten", "capture-deleted"}
        )
        listed = {capture["domain"]: capture for capture in d.json("/v1/captures")["captures"]}
        for guest in guests:
            text = listed[guest.name]["exception"]
            self.assertLessEqual(len(text.encode()), 1024)
            self.assertNotRegex(text, r"[\x00-\x1f\x7f-\x9f\u202a-\u202e]")
            said = self.ctl(d, "show", str(listed[guest.name]["id"])) + self.ctl(d, "captures")
            self.assertNotRegex(said, r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]")
        self.assertNotRegex(d.said(), r"[\x00-\x09\x0b-\x1f\x7f]")


class Unread(Case):
    def test_without_a_reader(self):
        """`reader = no` says that nobody looks: nothing is kept of an orderly end, and the log says so once."""
        d = self.daemons(KEEPS + "[http]\nreader = no\n")
        guest, crashed = self.lives(5, "failed", FAILED), self.lives(6, "crashed")
        for one in (guest, crashed):
            self.attached(d, one.name)
            one.die("poweroff" if one is guest else "crashed")
        self.wait_kept(d, ("crashed", "crash"))
        d.wait(lambda: self.reason(d, "failed") in ("poweroff", None))
        self.assertEqual(self.packets(d, "failed"), (0, 0))
        self.assertEqual(d.query("SELECT capture FROM identifiers"), [(1,)])
        self.assertEqual(d.said().count("no reader looks at it"), 1)

    def test_nobody_reads(self):
        """While no server runs, captures are kept for keep-unread, and the log says once that they went unread."""
        d = self.daemons(KEEPS + "[archive]\nkeep-unread = 1h\n")
        guests = [self.lives(5, "first", FAILED), self.lives(6, "second")]
        for guest in guests:
            self.attached(d, guest.name)
        d.stop_server()
        self.needs_clock(d)
        for guest in guests:
            guest.die("poweroff")
            self.wait_unread(d, guest.name)
            d.advance(3000, step=100)
            self.assertEqual(self.kept(d), [(guest.name, "unread")])
            d.advance(700, step=100)
            self.wait_kept(d)
            self.assertEqual(self.packets(d, guest.name), (0, 0))
            d.wait_said(NO_VERDICT)
        self.assertEqual(d.said().count(NO_VERDICT), 1)

    def test_reader_fails(self):
        """A capture that the reader cannot read is not judged, nor one whose end does not tell: it waits, as if there were no reader."""
        d = self.enterContext(sim.Daemons(KEEPS + "[archive]\nkeep-unread = 1h\n"))
        bad = b"\xfe" * 300  # no events, and proven
        waits = {"broken": [bad], "damaged": [CLEAN + bad], "behind": [CLEAN + bad, CLEAN], "before": [CLEAN, None, CLEAN], "cut": [CLEAN, None]}
        runs = {**waits, "early": [bad, CLEAN, CLEAN], "whole": [CLEAN]}
        lines = []
        for run, (name, packets) in enumerate(runs.items(), 1):
            lines += [f"run {run} xen {name} {name} - {run} ended poweroff", f"stream {run} {run} 0 {RING} 4 0"]
            for sequence, events in enumerate(packets):
                end = START + len(events or CLEAN)
                if events:
                    lines.append(f"piece {run} {sequence} {START} 0 {RING // 2} 1000000 {end} {events.hex()}")
            lines += [f"capture {run} {run} unread -", f"range {run} {run} 0 {len(packets) - 1} {end}"]
        done = subprocess.run(
            [program("archive-driver"), d.state], input="\n".join(["begin", *lines, "commit", ""]), capture_output=True, text=True, timeout=HANGS
        )
        self.assertEqual(set(done.stdout.split()), {"ok"}, done.stderr)
        d.start()
        if not sanitized():  # else it cannot run at all
            self.wait_kept(d, *((name, "unread") for name in waits))
            d.wait_read()
            self.assertEqual([c["domain"] for c in d.json("/v1/captures")["captures"] if c["failure"]], ["broken"])
        kept = sorted((name, "unread") for name in (runs if sanitized() else waits))
        self.assertEqual(self.kept(d), kept)
        self.needs_clock(d)
        d.advance(3000, step=100)
        self.assertEqual(self.kept(d), kept)
        d.advance(700, step=100)
        self.wait_kept(d)
        d.wait_said(NO_VERDICT)

    def test_requests(self):
        """A verdict on anything else than a capture that waits is refused, and changes nothing."""
        d = self.daemons(KEEPS)
        crashed, waits = self.lives(5, "crashed"), self.lives(6, "waits", FAILED)
        for guest in (crashed, waits):
            self.attached(d, guest.name)
        d.kill_server()
        crashed.die("crashed")
        d.wait(lambda: self.reason(d, "crashed") == "crash")
        waits.die("poweroff")
        d.wait(lambda: self.reason(d, "waits") == "poweroff")
        kept = [("crashed", "crash"), ("waits", "unread")]
        self.assertEqual(self.kept(d), kept)
        numbers = dict(d.query("SELECT r.name, c.id FROM captures c JOIN runs r ON r.id = c.run"))

        ((archive,),) = d.query("SELECT archive FROM identifiers")

        def status(keys, archive=archive):
            answer = d.ask_collector("judge-capture", f"{keys}archive={archive}\n")
            return answer.split()[0] if answer.startswith("ok") else int(re.search(r"(?m)^status=(\d+)$", answer)[1])

        one = f"capture={numbers['waits']}\n"
        for keys in ("", one, "crashed=1\n", one + "crashed=2\n", one + "crashed=yes\n", one + "crashed=\n", "capture=-1\ncrashed=1\n"):
            self.assertEqual(status(keys), 400, keys)
        self.assertEqual(status(f"capture={2**63}\ncrashed=1\n"), 400)
        for capture in (0, 77, numbers["crashed"], 2**63 - 1):
            for crashed in (0, 1):
                self.assertEqual(status(f"capture={capture}\ncrashed={crashed}\n"), 404)
        for verdict in ("crashed=0\n", "crashed=1\n"):
            d.wait(lambda verdict=verdict: status(one + verdict, "0" * 32) == 404)  # a server has another archive, or a copy of one
            for name in ("", archive[:-1], archive + "0"):
                self.assertEqual(status(one + verdict, name), 400)
        self.assertEqual(self.kept(d), kept)
        d.wait(lambda: status(one + "crashed=1\nmore=x\n") != 503)  # 503 until its context has come
        self.assertEqual(self.kept(d), [("crashed", "crash"), ("waits", "crash")])
        self.assertEqual(status(one + "crashed=0\n"), 404)
        self.assertEqual(self.kept(d), [("crashed", "crash"), ("waits", "crash")])

    def test_other_policies(self):
        """Without the mode on-crash an orderly end is a capture of its own kind, and no verdict changes it."""
        d = self.daemons()
        guest = self.lives(5, "failed", FAILED)
        self.attached(d, "failed")
        guest.die("poweroff")
        (capture,) = d.wait_captures("failed")
        if not sanitized():
            (capture,) = d.wait(lambda: [c for c in d.captures("failed") if c["exception"]])
            self.assertEqual((capture["exception"], capture["sentence"].split("\n")[0]), (SHOWN, f"the main thread failed: {SHOWN}"))
        self.assertEqual((capture["kind"], self.reason(d, "failed")), ("poweroff", "poweroff"))


if __name__ == "__main__":
    sim.main()
