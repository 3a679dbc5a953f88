"""Restart the collector over the archive of the previous one: restart.py BUILD-DIRECTORY [TEST…]"""

import contextlib
import os
import sqlite3
import struct
import time

import daemons
from daemons import Ring, events_of, judge, small_ring
from turns import long

CLOCK_REALTIME_COARSE = 5  # gives files their times, up to a tick behind; Python has no name for it
# A kill before a range was written: the capture's list has no range, either.
NO_LISTS = ("DELETE FROM capture_lists", "UPDATE unchecked SET lists = 1000000")
TAILS = "SELECT sequence, offset, length(data) FROM tails ORDER BY sequence, offset"


class Restarted(daemons.Case):
    """The guest writes during the restart. The run goes on: no event comes twice, and only
    overwritten events are lost."""

    def end(self, d, kill):
        if kill:
            d.kill_collector()
        else:
            d.stop_collector()

    def archive_more(self, d):
        """Wait until more of the guest is archived, in three commits."""
        newest = lambda: d.query("SELECT max(sequence), sum(length) FROM chunks")
        for _ in range(3):
            before = newest()
            d.wait(lambda before=before: newest() != before)

    def restarts(self, kill, rate, size, down):
        """Restart several times. DOWN is the number of packets that the guest begins while no
        collector runs."""
        d = self.daemons()
        writer = self.writer_seen(d, "busy", f"--rate {rate} --size {size}{'' if down else ' --leash busy.leash'}")
        self.loosening(d)
        for _ in range(3):
            self.archive_more(d)
            self.end(d, kill)
            d.wait_written("busy", down)
            d.start_collector()
        self.archive_more(d)
        writer.terminate()
        writer.wait(daemons.HANGS)
        self.assertEqual(len(d.wait_ended("busy")), 1)
        self.assertEqual([c["kind"] for c in d.captures("busy")], ["ended"])
        pages = d.packets("busy")
        judge("busy", "busy.truth", d.trace("busy"), pages, "--ended", "--begin", "0")
        return [gap for page in pages for gap in page["gaps"]]

    def test_slow_guest_and_sigterm(self):
        self.assertEqual(self.restarts(False, 50_000, 1 << 20, 0), [])

    @long
    def test_slow_guest_and_sigkill(self):
        self.assertEqual(self.restarts(True, 50_000, 1 << 20, 0), [])

    def fast(self, kill):
        gaps = self.restarts(kill, 2_000_000, 262_144, 8)
        self.assertGreaterEqual(len([gap for gap in gaps if gap["reason"] == "restart"]), 3, gaps)
        self.assertEqual({gap["kind"] for gap in gaps}, {"lost"})

    @long
    def test_fast_guest_and_sigterm(self):
        self.fast(False)

    def test_fast_guest_and_sigkill(self):
        self.fast(True)


class Down(daemons.Case):
    """Events while no collector runs."""

    def begin(self, kill=True):
        """Start a guest, then stop the collector."""
        d = self.daemons()
        ring = Ring("rings/guest.ctf")
        self.addCleanup(ring.close)
        d.wait(lambda: d.domain("guest"))
        ring.add_slowly(100)
        d.wait_archived(ring, "guest", 61)
        if kill:
            d.kill_collector()
        else:
            d.stop_collector()
        return d, ring

    def check_loss(self, d, run):
        """Check that the run's last bytes are declared lost: behind all that is archived, and of
        unknown length."""
        pages = d.packets("guest", f"&run={run}")
        last = [packet for page in pages for packet in page["packets"]][-1]
        gaps = [gap for page in pages for gap in page["gaps"]]
        self.assertEqual([(gap["kind"], gap["reason"], gap["at_least"]) for gap in gaps], [("lost", "restart", True)])
        self.assertIn(gaps[0]["after_sequence"], (last["sequence"], last["sequence"] + 1))
        self.assertGreater(gaps[0]["next_sequence"], last["sequence"])
        self.assertEqual(d.query(f"SELECT lost_packets FROM streams WHERE run = {run}"), [(1,)])

    def check_two(self, d, ring, new):
        """Check that the old run has ended with its archived events, and that the new run is whole."""
        listed = d.wait_ended("guest", 2)
        self.assertEqual(len(listed), 2)
        old = events_of(d.trace("guest", f"?run={listed[0]['run']}"))
        self.assertGreater(len(old), 60)
        self.assertEqual(old, ring.written[: len(old)])
        self.assertEqual(events_of(d.trace("guest")), new)
        self.check_loss(d, listed[0]["run"])
        self.assertEqual(d.query(f"SELECT lost_packets FROM streams WHERE run = {listed[1]['run']}"), [(0,)])

    def commits_of(self, log):
        """Return where the frames of a write-ahead log begin that end a commit, and the bytes of a frame."""
        with open(log, "rb") as f:
            head = f.read(32)
            frame_bytes = 24 + struct.unpack_from(">I", head, 8)[0]
            frames = range(32, os.path.getsize(log) - frame_bytes + 1, frame_bytes)
            headers = {at: (f.seek(at), f.read(24))[1] for at in frames}
        return [at for at in frames if headers[at][8:16] == head[16:24] and any(headers[at][4:8])], frame_bytes

    def test_damaged_log(self):
        """A bit of the log flips before SQLite recovers it. Its commits are told, and what the ring still has is copied again."""
        d, ring = self.begin()
        d.stop_server()
        log = os.path.join(d.state, "archive/trace.db-wal")
        commits, frame_bytes = self.commits_of(log)
        self.assertGreater(len(commits), 4)
        with open(log, "r+b") as f:
            at = commits[-4] + frame_bytes + 24 + 50  # in the first frame of the last commit but two
            f.seek(at)
            byte = f.read(1)[0]
            f.seek(at)
            f.write(bytes([byte ^ 1]))
        d.start()
        # The last commit may end in the flipped frame's own commit, so at least two are behind it.
        lost = d.collector_metric("mprofd_lost_commits_total")
        self.assertIn(lost, (2, 3))
        self.assertRegex(d.said(), rf"Commits of the archive are lost: .* file=\S+/archive/trace.db-wal commits={lost:.0f}\n")
        d.wait_archived(ring, "guest", 61)
        self.assertEqual(events_of(d.trace("guest")), ring.written[: len(events_of(d.trace("guest")))])
        d.kill_collector()
        d.start_collector()
        self.assertEqual(d.collector_metric("mprofd_lost_commits_total"), 0)

    def test_writer_ended(self):
        d, ring = self.begin()
        ring.add(30)
        ring.close()
        d.start_collector()
        self.assertEqual(len(d.wait_ended("guest")), 1)
        self.assertEqual(events_of(d.trace("guest")), ring.written)
        self.assertEqual([c["kind"] for c in d.captures("guest")], ["ended"])
        self.assertEqual(d.domain("guest")["streams"][0]["lost_packets"], 0)

    def test_writer_rests(self):
        d, ring = self.begin()
        d.start_collector()
        d.advance(5)
        self.assertEqual(d.domain("guest")["state"], "running")
        ring.add_slowly(30)
        ring.close()
        self.assertEqual(len(d.wait_ended("guest")), 1)
        self.assertEqual(events_of(d.trace("guest")), ring.written)

    def test_lapped(self):
        """Events overwritten during the restart are a gap with a reason."""
        d, ring = self.begin()
        ring.add(1000)
        ring.close()
        d.start_collector()
        self.assertEqual(len(d.wait_ended("guest")), 1)
        found = events_of(d.trace("guest"))
        gaps = [gap for page in d.packets("guest") for gap in page["gaps"]]
        self.assertEqual([(gap["kind"], gap["reason"]) for gap in gaps], [("lost", "restart")])
        self.assertEqual(found, sorted(set(found)))
        self.assertLessEqual(set(found), set(ring.written))
        self.assertEqual(found[-150:], ring.written[-150:])
        self.assertEqual(gaps[0]["next_sequence"] - gaps[0]["after_sequence"], gaps[0]["packets"])

    def test_before_first_commit(self):
        """mprofd was killed before it archived a byte of the ring, and the guest went on: the loss is a gap at the beginning."""
        d = self.daemons()
        with Ring("rings/guest.ctf") as ring:
            ring.add(1)  # one event is not proven
            d.wait(lambda: (d.domain("guest") or {}).get("streams"))
            d.kill_collector()
            ring.add(1000)
            d.start_collector()
            d.wait_archived(ring, "guest", 150)
            found = events_of(d.trace("guest"))
            self.assertEqual(found, ring.written[-len(found) - (ring.n - ring.written.index(found[-1]) - 1) :][: len(found)])
            (gap,) = d.gaps("guest")
            self.assertEqual((gap["kind"], gap["reason"], gap["after_sequence"], gap["at_least"]), ("lost", "restart", 0, True))
            (first, *_), *_ = ([p["sequence"] for p in page["packets"]] for page in d.packets("guest"))
            self.assertEqual((gap["packets"], gap["next_sequence"]), (first, first))
            self.assertEqual(d.ask("/v1/domains/guest/trace")[1]["Mprof-Lost-Packets"], f"{first}+")

    def kill_twice(self, d, ring):
        """Kill mprofd before it archives a byte of the ring, which has one event; and again, when more is in its queue."""
        ring.add(1)
        d.wait(lambda: (d.domain("guest") or {}).get("streams"))
        d.kill_collector()
        d.start_collector()
        d.wait(lambda: "run goes on" in d.said())
        with contextlib.closing(sqlite3.connect(f"{d.state}/archive/trace.db", isolation_level=None)) as db:
            db.execute("BEGIN IMMEDIATE")  # mprofd commits nothing from here on
            ring.add(1000)
            d.wait(lambda: d.collector_metric("mprofd_copied_bytes_total"))
            d.kill_collector()
            db.execute("ROLLBACK")
        self.assertEqual(d.query("SELECT count(*) FROM chunks"), [(0,)])

    @long
    def test_before_first_commit_twice(self):
        """The ring goes on: what is lost is one gap at the beginning, and no event comes twice."""
        d = self.daemons()
        with Ring("rings/guest.ctf") as ring:
            self.kill_twice(d, ring)
            ring.add(1000)
            d.start_collector()
            d.wait_archived(ring, "guest", 150)
            found = events_of(d.trace("guest"))
            first = ring.written.index(found[0])
            self.assertEqual(found, ring.written[first : first + len(found)])
            (gap,) = d.gaps("guest")
            self.assertEqual((gap["kind"], gap["reason"], gap["after_sequence"], gap["at_least"]), ("lost", "restart", 0, True))
            self.assertEqual(gap["next_sequence"], d.packets("guest")[0]["packets"][0]["sequence"])
            self.assertEqual(gap["packets"], gap["next_sequence"])
            self.assertEqual(len(d.run_list("guest")), 1)

    @long
    def test_before_first_commit_removed(self):
        """The ring is gone: its run has no packet, and says that it lost some."""
        d = self.daemons()
        with Ring("rings/guest.ctf") as ring:
            self.kill_twice(d, ring)
            os.unlink("rings/guest.ctf")
            d.start_collector()
            (run,) = d.wait_ended("guest")
            (gap,) = d.gaps("guest", f"&run={run['run']}")
            self.assertEqual((gap["kind"], gap["reason"], gap["after_sequence"], gap["packets"], gap["at_least"]), ("lost", "restart", 0, 1, True))
            self.assertEqual(d.query("SELECT lost_packets FROM streams"), [(1,)])
            d.advance(5)
            self.assertEqual(len(d.run_list("guest")), 1)

    def test_met_late(self):
        """mprofd meets a ring past its first lap, and is killed before its first commit of bytes. Nothing is written over: no gap."""
        d = self.daemons()
        with Ring("late.ctf") as ring:
            ring.add(1000)
            os.rename("late.ctf", "rings/guest.ctf")
            found = d.wait(lambda: (events := events_of(d.trace("guest")))[100:] and events)
            d.kill_collector()
            with contextlib.closing(sqlite3.connect(f"{d.state}/archive/trace.db")) as db, db:
                db.execute("DELETE FROM chunks")
                db.execute("UPDATE streams SET packets = 0, bytes = 0, oldest = NULL, newest = NULL, held = 0, checksum = NULL")
                db.execute("UPDATE row_sums SET unchecked = 1000")
            d.start_collector()
            self.assertEqual(d.wait(lambda: (events := events_of(d.trace("guest")))[100:] and events)[:100], found[:100])
            self.assertEqual(d.gaps("guest"), [])

    def test_replaced(self):
        d, ring = self.begin()
        with open("rings/.new", "wb") as f:
            f.write(small_ring(9_000_000))
        os.rename("rings/.new", "rings/guest.ctf")
        d.start_collector()
        self.check_two(d, ring, [(9_000_000 + i, i) for i in range(10)])

    def test_begun_anew(self):
        d, ring = self.begin()
        with open("rings/guest.ctf", "r+b") as f:
            f.write(small_ring(9_000_000))
        ring.close()
        d.start_collector()
        self.check_two(d, ring, [(9_000_000 + i, i) for i in range(10)])

    def removed(self, kill):
        """A run whose file is gone has ended, at an unknown time, and an unknown part of it is lost.
        That is declared once."""
        d, ring = self.begin(kill)
        ring.add(1000)
        os.unlink("rings/guest.ctf")
        d.start_collector()
        listed = d.wait_ended("guest")
        self.check_loss(d, listed[0]["run"])
        d.kill_collector()
        d.start_collector()
        d.advance(5)
        self.check_loss(d, listed[0]["run"])
        self.assertEqual(len(listed), 1)
        self.assertLessEqual(listed[0]["began"], listed[0]["ended"])
        found = events_of(d.trace("guest"))
        self.assertEqual(found, ring.written[: len(found)])

    def test_declared_before_the_end(self):
        """A kill between the two: the run ends later, and the loss stays one."""
        d, _ = self.begin()
        os.unlink("rings/guest.ctf")
        d.start_collector()
        listed = d.wait_ended("guest")
        d.kill_collector()
        with contextlib.closing(sqlite3.connect(f"{d.state}/archive/trace.db")) as db, db:
            db.execute("UPDATE runs SET state = 'running', ended_real = NULL, reason = NULL, checksum = NULL")
            db.execute("UPDATE row_sums SET unchecked = 1000")
        d.start_collector()
        d.wait_ended("guest")
        self.check_loss(d, listed[0]["run"])

    def test_removed_after_sigkill(self):
        self.removed(True)

    @long
    def test_removed_after_sigterm(self):
        self.removed(False)

    def test_ended_once(self):
        """A run that has ended stays so and has one capture, however often the collector starts."""
        d = self.daemons()
        with Ring("rings/guest.ctf") as ring:
            d.wait(lambda: d.domain("guest"))
            for n in (100, 200, 300):
                ring.add_slowly(n - ring.n)
                d.wait_archived(ring, "guest", n - 5)
        d.wait_ended("guest")
        for kill in (False, True, True):
            if kill:
                d.kill_collector()
            else:
                d.stop_collector()
            d.start_collector()
            d.advance(5)
        self.assertEqual([run["state"] for run in d.run_list("guest")], ["ended"])
        self.assertEqual(len(d.captures("guest")), 1)
        self.assertEqual(events_of(d.trace("guest")), ring.written)
        ring.file = open("rings/guest.ctf", "r+b", buffering=0)  # the run goes on if a process writes on
        ring.add_slowly(20)
        ring.close()
        d.wait(lambda: events_of(d.trace("guest")) == ring.written)
        self.assertEqual([run["state"] for run in d.wait_ended("guest")], ["ended"])

    def test_written_on_while_down(self):
        d = self.daemons()
        with Ring("rings/guest.ctf") as ring:
            d.wait(lambda: d.domain("guest"))
            ring.add_slowly(100)
        d.wait_ended("guest")
        d.stop_collector()
        stopped = time.time_ns()
        d.wait(lambda: time.clock_gettime_ns(CLOCK_REALTIME_COARSE) > stopped)
        ring.file = open("rings/guest.ctf", "r+b", buffering=0)
        ring.add(20)
        ring.close()
        d.start_collector()
        d.wait(lambda: events_of(d.trace("guest")) == ring.written)
        self.assertEqual([run["state"] for run in d.wait_ended("guest")], ["ended"])
        self.assertEqual(len(d.wait(lambda: len(found := d.captures("guest")) > 1 and found)), 2)


class Ending(daemons.Case):
    """A kill between the first and the last row of a run's end. The test makes the archive as such
    a kill leaves it."""

    def ended(self):
        d = self.daemons()
        with Ring("rings/guest.ctf") as ring:
            d.wait(lambda: d.domain("guest"))
            ring.add_slowly(100)
            d.wait_archived(ring, "guest", 61)
        d.wait_ended("guest")
        self.found = d.trace("guest")
        self.assertEqual(events_of(self.found), ring.written)
        self.capture = d.captures("guest")[0]
        self.captured = d.get(f"/v1/captures/{self.capture['id']}/trace")
        self.tails = d.query(TAILS)
        d.kill_collector()
        return d, ring

    def undo(self, d, *statements):
        with contextlib.closing(sqlite3.connect(f"{d.state}/archive/trace.db")) as db, db:
            db.execute("UPDATE runs SET state = 'running', ended_real = NULL, reason = NULL, checksum = NULL")
            db.execute("UPDATE row_sums SET unchecked = 1000")
            for statement in statements:
                self.assertGreater(db.execute(statement).rowcount, 0, statement)

    def check(self, d, captures=1):
        for _ in range(2):
            d.start_collector()
            self.assertEqual([run["reason"] for run in d.wait_ended("guest")], ["ended"])
            d.advance(5)
            self.assertEqual([c["kind"] for c in d.captures("guest")], ["ended"] * captures)
            d.kill_collector()

    def check_same(self, d):
        """Check that the run has its one capture and all its events."""
        self.check(d)
        read = "cause", "sentence", "last_ran", "exception", "failure", "damages", "skipped_bytes", "unproven_events"  # of the reader, at any time
        told = [{key: capture[key] for key in capture if key not in read} for capture in (*d.captures("guest"), self.capture)]
        self.assertEqual(told[:-1], told[-1:])
        self.assertEqual(d.trace("guest"), self.found)
        self.assertEqual(d.get(f"/v1/captures/{self.capture['id']}/trace"), self.captured)
        self.assertEqual(d.query(TAILS), self.tails)

    def test_before_the_end(self):
        d, _ = self.ended()
        self.undo(d)
        self.check_same(d)

    def test_before_the_range(self):
        d, _ = self.ended()
        self.undo(d, "DELETE FROM capture_streams", *NO_LISTS)
        self.check_same(d)

    def test_before_the_tail(self):
        d, _ = self.ended()
        self.undo(d, "DELETE FROM capture_streams", "DELETE FROM tails", *NO_LISTS)
        self.check_same(d)

    def test_written_on(self):
        """A second end makes a second capture."""
        d, ring = self.ended()
        self.undo(d)
        ring.file = open("rings/guest.ctf", "r+b", buffering=0)
        ring.add(20)
        ring.close()
        self.check(d, 2)
        self.assertEqual(events_of(d.trace("guest")), ring.written)

    @long
    def test_before_the_range_of_a_second_end(self):
        """A kill cost the second end its range. The first end is complete, and the file's time is as
        old as that of a file written through a mapping."""
        d = self.daemons()
        with Ring("rings/guest.ctf") as ring:
            d.wait(lambda: d.domain("guest"))
            ring.add_slowly(20)
        d.wait_ended("guest")
        old = os.stat("rings/guest.ctf")
        ring.file = open("rings/guest.ctf", "r+b", buffering=0)
        ring.add(20)
        d.wait(lambda: d.domain("guest")["state"] == "running")
        ring.close()
        d.wait(lambda: len(d.captures("guest")) == 2 and d.domain("guest")["state"] == "ended")
        second = d.captures("guest")[0]["id"]
        found = d.trace("guest")
        d.kill_collector()
        self.undo(d, f"DELETE FROM capture_streams WHERE capture = {second}", *NO_LISTS)
        os.utime("rings/guest.ctf", ns=(old.st_atime_ns, old.st_mtime_ns))
        self.check(d, 2)
        self.assertEqual(d.trace("guest"), found)
        self.assertEqual(events_of(found), ring.written)
        self.assertEqual(d.query(f"SELECT count(*) FROM capture_streams WHERE capture = {second}"), [(1,)])


class Archives(daemons.Case):
    def test_two_collectors(self):
        """A second collector on the same archive says so and exits."""
        d = self.daemons()
        second = d.spawn("mprofd", "--source", f"dir:{d.rings}")
        self.assertEqual(second.wait(daemons.HANGS), 1)
        self.assertRegex(d.said(), "(?i)another|already|in use")
        with open("rings/still.ctf", "wb") as f:
            f.write(small_ring())
        d.wait_ended("still")


if __name__ == "__main__":
    daemons.main()
