"""When mprofd commits what it copied: commits.py BUILD-DIRECTORY [TEST…]

The flush interval is longer than any test, so a commit that comes has another reason.
"""

import json
import os
import signal
import threading
import time

import daemons
from daemons import LAZY, Ring, events_of
from turns import BRIEF

RING = 1 << 20


class Commits(daemons.Case):
    def commits(self, d):
        return d.collector_metric("mprofd_commits_total")

    def copied(self, d):
        return d.collector_metric("mprofd_copied_bytes_total")

    def guest(self, d, size=RING):
        """Begin a guest whose run is committed. Return its ring."""
        ring = Ring("rings/web.ctf", size)
        self.addCleanup(ring.close)
        # The archive shows a commit a moment before the collector counts it.
        d.wait(lambda: d.query("SELECT count(*) FROM streams") == [(1,)] and self.commits(d) > 0)
        return ring

    def write(self, d, ring, n):
        """Write N bytes, and then an event at a time, which proves those before it, until N more bytes were copied."""
        before = self.copied(d)
        ring.add(n // 17)

        def enough():
            ring.add(1)
            return self.copied(d) >= before + n

        d.wait(enough)

    def stored(self, d):
        return d.query("SELECT coalesce(sum(length), 0) FROM chunks")[0][0]

    def check_waits(self, d, before, began):
        """Check that nothing was committed since there were BEFORE commits, unless the flush interval may be over since BEGAN."""
        committed = self.commits(d) != before
        self.assertFalse(committed and time.monotonic() - began < 60)

    def fresh(self, d, path):
        """Return (body, number of requests) of an answer that has all that was copied before. If the disk took longer than a second for
        the commit, an answer says how old it is, and the next one is asked for."""
        asked = 0
        time.sleep(0.11)  # a state of 100 ms ago counts as new

        def answer():
            nonlocal asked
            asked += 1
            status, headers, body = d.ask(path)
            self.assertEqual(status, 200)
            return headers["Mprof-Age"] is None and (body, asked)

        return d.wait(answer)

    def test_waits_for_a_reader(self):
        """Copied bytes wait. Each kind of answer has all of them."""
        d = self.daemons(LAZY)
        ring = self.guest(d)
        for path in ("", "/trace", "/packets", "/ctf.tar"):
            before, began = self.commits(d), time.monotonic()
            for _ in range(5):
                self.write(d, ring, 2000)
            self.check_waits(d, before, began)
            copied = self.copied(d)
            body, asked = self.fresh(d, f"/v1/domains/web{path}")
            self.assertGreaterEqual(self.stored(d), copied - 30)
            self.assertLessEqual(self.commits(d), before + 1 + asked)
            if path == "/trace":
                # Bytes that are copied from here on may miss the next answer, since its state may be 100 ms old.
                found = events_of(body)
                self.assertEqual(found, ring.written[: len(found)])
                self.assertGreaterEqual(17 * len(found), copied - 17)
            elif path == "/packets":
                self.assertGreaterEqual(sum(p["bytes"] - 30 for p in json.loads(body)["packets"]), copied - 17)

    def test_lists_and_metrics(self):
        """The list of all guests and the metrics have all copied bytes, too."""
        d = self.daemons(LAZY)
        ring = self.guest(d, 65536)
        ring.add(5)
        for path in ("/v1/domains", "/metrics"):
            self.write(d, ring, 2000)
            before, copied = self.stored(d), self.copied(d)
            self.assertLess(before, copied - 30)
            self.fresh(d, path)
            self.assertGreaterEqual(self.stored(d), copied - 30)
        # The last events of the ring may be copied between the commit and the answer.
        d.wait(lambda: b"\nmprofd_uncommitted_seconds 0\n" in d.ask("/metrics")[2])

    def test_tells_what_waits(self):
        """The collector tells how much it has copied and not yet committed, and since when."""
        d = self.daemons(LAZY)
        ring = self.guest(d)
        self.write(d, ring, 2000)
        self.assertGreater(d.collector_metric("mprofd_queue_bytes"), 2000)
        d.wait(lambda: d.collector_metric("mprofd_uncommitted_seconds") > 0)

        def at_rest():
            d.trace("web")
            return d.collector_metric("mprofd_queue_bytes") == 0

        d.wait(at_rest)
        self.assertEqual(d.collector_metric("mprofd_uncommitted_seconds"), 0)

    def test_latest(self):
        """Without a reader the flush interval is the latest."""
        d = self.daemons(LAZY.replace("60s", "20s"))
        ring = self.guest(d)
        began = time.monotonic()
        self.write(d, ring, 2000)
        copied = self.copied(d)
        before = self.commits(d)
        d.advance(10)
        early = self.commits(d) == before
        self.assertTrue(early or time.monotonic() - began > 10)
        d.advance(10)
        d.wait(lambda: self.stored(d) >= copied - 30)

    def test_nothing_waits(self):
        """Readers cause no commits where nothing waits."""
        d = self.daemons(LAZY)
        ring = self.guest(d)
        self.write(d, ring, 1000)
        d.trace("web")

        def quiet():
            before = self.commits(d)
            for _ in range(30):
                self.assertEqual(d.ask("/v1/domains")[0], 200)
                time.sleep(0.02)
            return self.commits(d) == before

        d.wait(quiet)  # the ring is at rest: at first a poll may still prove a byte

    def test_readers_share(self):
        """However many readers there are, they cause at most ten commits a second in all."""
        d = self.daemons(LAZY)
        ring = self.guest(d)
        self.write(d, ring, 1000)
        over = threading.Event()
        answers = []

        def read(path):
            while not over.is_set():
                answers.append(d.ask(path)[0])

        readers = [threading.Thread(target=read, args=(path,)) for path in ("/v1/domains", "/v1/domains/web/packets", "/v1/domains/web/trace") * 2]
        began, before = time.monotonic(), self.commits(d)
        for reader in readers:
            reader.start()
        try:
            for _ in range(8 if BRIEF else 40):
                self.write(d, ring, 1000)
        finally:
            over.set()
            for reader in readers:
                reader.join()
        commits, seconds = self.commits(d) - before, time.monotonic() - began
        self.assertEqual(set(answers), {200})
        self.assertGreater(commits, 1)
        self.assertLessEqual(commits, 10 * seconds + 2)

    def test_old_answer(self):
        """A collector that does not answer: the answer says how old it may be. The next readers do not
        wait for it, and nothing of that is kept."""
        d = self.daemons(LAZY)
        ring = self.guest(d)
        self.write(d, ring, 1000)
        newest = d.json("/v1/domains/web/packets")
        self.write(d, ring, 1000)
        d.collector.freeze()
        try:
            ages = []
            for _ in range(3):
                time.sleep(0.2)
                status, headers, body = d.ask("/v1/domains/web/packets")
                self.assertEqual((status, json.loads(body)), (200, newest))
                ages.append(float(headers["Mprof-Age"]))
            self.assertGreaterEqual(ages[0], 1)
            self.assertEqual(ages, sorted(set(ages)))
        finally:
            os.kill(d.collector.pid, signal.SIGCONT)
        d.wait(lambda: d.ask("/v1/domains/web/packets")[1]["Mprof-Age"] is None and d.json("/v1/domains/web/packets") != newest)

    def test_events(self):
        """Rates come while somebody reads events, though nobody asks for anything else."""
        d = self.daemons(LAZY)
        ring = self.guest(d)
        connection = daemons.UnixConnection(d.socket, daemons.PATIENCE)
        self.addCleanup(connection.close)
        connection.request("GET", "/v1/events")
        answer = connection.getresponse()
        over = threading.Event()

        def write():
            while not over.is_set():
                ring.add_slowly(20)

        writing = threading.Thread(target=write)
        writing.start()
        try:
            while answer.readline() != b"event: rates\n":
                self.assertFalse(answer.closed)
        finally:
            over.set()
            writing.join()

    def test_live(self):
        """A follower gets the bytes of its guest; another guest's bytes cause no commit for it."""
        d = self.daemons(LAZY)
        ring = self.guest(d)
        self.write(d, ring, 1000)
        connection = daemons.UnixConnection(d.socket, daemons.PATIENCE)
        self.addCleanup(connection.close)
        connection.request("GET", "/v1/domains/web/live")
        answer = connection.getresponse()
        for _ in range(3):
            over = threading.Event()

            def write():
                while not over.is_set():
                    ring.add_slowly(3)

            writing = threading.Thread(target=write)
            writing.start()
            try:
                self.assertTrue(answer.read1(1))
            finally:
                over.set()
                writing.join()
            answer.read1(1 << 20)

    def test_quarter_of_a_ring(self):
        """A quarter of a ring does not wait, so that a kill of mprofd loses nothing of a guest that goes
        on."""
        d = self.daemons(LAZY)
        ring = self.guest(d, 65536)
        before, began = self.commits(d), time.monotonic()
        self.write(d, ring, 8000)
        self.check_waits(d, before, began)
        self.write(d, ring, 8400)
        d.wait(lambda: self.stored(d) >= 16384)
        self.write(d, ring, 8000)
        d.kill_collector()
        self.assertLess(self.stored(d), 17 * (ring.n - 1))
        d.start_collector()
        ring.add_slowly(2)
        ring.close()
        d.wait_ended("web")
        self.assertEqual(events_of(d.trace("web")), ring.written)
        self.assertEqual(d.gaps("web"), [])

    def test_mebibyte(self):
        d = self.daemons(LAZY)
        ring = self.guest(d, 16 << 20)
        before, copied, began = self.commits(d), self.copied(d), time.monotonic()

        def enough(n):
            ring.add(1)  # proves the event before it
            return self.copied(d) >= copied + n

        ring.add(500_000 // 17)
        d.wait(lambda: enough(490_000))
        self.check_waits(d, before, began)
        ring.add(600_000 // 17)
        d.wait(lambda: enough(1_090_000))
        d.wait(lambda: self.commits(d) > before)

    def ended(self, end):
        """END ends the run: that is committed at once, with all bytes before it."""
        d = self.daemons(LAZY)
        ring = self.guest(d)
        self.write(d, ring, 2000)
        end()
        ring.close()
        d.wait(lambda: d.query("SELECT state FROM runs WHERE id = 1") == [("ended",)])
        self.assertEqual(events_of(d.trace("web", "?run=1")), ring.written)
        self.assertEqual(d.query("SELECT kind FROM captures WHERE run = 1"), [("ended",)])

    def replace(self):
        with open("rings/.new", "wb") as f:
            f.write(daemons.small_ring())
        os.rename("rings/.new", "rings/web.ctf")

    def test_writer_leaves(self):
        self.ended(lambda: None)

    def test_file_deleted(self):
        self.ended(lambda: os.unlink("rings/web.ctf"))

    def test_file_replaced(self):
        self.ended(self.replace)

    def test_new_ring(self):
        """A ring that is begun anew in its file ends the run. The bytes that were copied before are
        committed."""
        d = self.daemons(LAZY)
        ring = self.guest(d)
        self.write(d, ring, 2000)
        copied = self.copied(d)
        self.assertEqual(self.stored(d), 0)
        os.truncate("rings/web.ctf", RING // 2)
        d.wait(lambda: d.query("SELECT state FROM runs WHERE id = 1") == [("ended",)])
        self.assertGreaterEqual(self.stored(d), copied - 30)

    def test_capture(self):
        d = self.daemons(LAZY)
        ring = self.guest(d)
        self.write(d, ring, 2000)
        copied = self.copied(d)
        status, _, body = d.ask("/v1/domains/web/captures", "POST")
        self.assertEqual(status, 201, body)
        self.assertGreaterEqual(self.stored(d), copied - 30)

    def test_gap(self):
        """A loss is in the archive at once."""
        d = self.daemons(LAZY)
        ring = self.guest(d, 4096)
        before = self.commits(d)
        d.collector.freeze()
        ring.add(1000)
        os.kill(d.collector.pid, signal.SIGCONT)
        d.wait(lambda: d.query("SELECT count(*) FROM gaps WHERE reason = 'lapped'") != [(0,)])
        self.assertGreater(self.commits(d), before)

    def test_sigterm(self):
        d = self.daemons(LAZY)
        ring = self.guest(d)
        self.write(d, ring, 5000)
        copied = self.copied(d)
        d.stop_collector()
        self.assertGreaterEqual(self.stored(d), copied - 30)

    def test_drill(self):
        """kill -9 of mprofd, and the guest's file is deleted before mprofd is back: what the archive has
        is whole, and the rest is declared lost."""
        d = self.daemons(LAZY)
        ring = self.guest(d)
        self.write(d, ring, 5000)
        d.trace("web")
        kept = self.stored(d)
        self.write(d, ring, 5000)
        d.kill_collector()
        os.unlink("rings/web.ctf")
        d.start_collector()
        d.wait_ended("web")
        found = events_of(d.trace("web"))
        self.assertEqual(found, ring.written[: len(found)])
        self.assertGreaterEqual(17 * len(found), kept - 30)
        self.assertLess(len(found), ring.n)
        self.assertEqual([(gap["reason"], gap["at_least"]) for gap in d.gaps("web")], [("restart", True)])


if __name__ == "__main__":
    daemons.main()
