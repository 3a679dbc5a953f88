"""Test what mprofd commits at once for guests of Xen: commits.py BUILD-DIRECTORY [TEST…]

No test reads over HTTP before it has seen the commit in the archive's file. So a commit that comes before the flush interval is over has
another reason.
"""

import time

import sim
from daemons import LAZY, events_of

SOON = 40  # seconds: less than the flush interval
STORED = "SELECT coalesce(sum(length), 0) FROM chunks c JOIN streams s ON s.id = c.stream WHERE s.number = {}"


class Commits(sim.Case):
    def begin(self, name, streams=1):
        """Start a guest whose run is committed and whose newest events wait. Return the daemons, the
        guest and its rings."""
        d = self.daemons(LAZY)
        guest = self.guest(5, name)
        rings = [guest.ring(size=1 << 20, base=1_000_000 * (k + 1)) for k in range(streams)]
        for k, ring in enumerate(rings):
            self.addCleanup(ring.close)
            guest.publish(ring, stream=k)
        self.soon(d, "SELECT count(*) FROM streams", [(streams,)])
        for ring in rings:
            self.write_on(d, ring)
        return d, guest, rings

    def soon(self, d, sql, rows):
        """Wait until the query SQL has ROWS: before the next flush, unless the daemon or this test had to wait for a processor so long."""
        began, delay = time.monotonic(), sim.launcher.Delay("self", d.collector.pid)
        d.wait(lambda: d.query(sql) == rows)
        took, delayed = time.monotonic() - began, delay.seconds()
        self.assertTrue(took < SOON or delayed > 5, f"it took {took:.0f} s; the processes waited {delayed:.0f} s for a processor")

    def write_on(self, d, ring):
        """Write until a thousand more bytes were copied that the archive does not have."""
        copied = lambda: d.collector_metric("mprofd_copied_bytes_total")
        archived = lambda: d.query("SELECT coalesce(sum(length), 0) FROM chunks")[0][0]

        def waits(before):
            d.wait(lambda: ring.add(5) or copied() >= before + 1000)
            return archived() < before + 1000

        d.wait(lambda: waits(copied()))  # a flush may come between, once a minute

    def stored(self, d, stream=0):
        return d.query(STORED.format(stream))[0][0]

    def captured(self, d, kind, ring):
        """Wait until the archive has a capture of the first run, and check that it has all events of the ring."""
        self.soon(d, "SELECT kind FROM captures JOIN capture_streams ON capture = id WHERE run = 1", [(kind,)])
        self.assertEqual(events_of(d.get("/v1/captures/1/trace")), ring.written)

    def ended(self, end, state, kind):
        """END ends the guest's run or stops it: that is committed at once, with all bytes before it."""
        d, guest, rings = self.begin("web")
        end(guest)
        self.soon(d, "SELECT state FROM runs WHERE id = 1", [(state,)])
        self.captured(d, kind, rings[0])

    def test_death(self):
        self.ended(lambda guest: guest.die("crashed"), "ended", "crash")

    def test_withdrawn(self):
        self.ended(lambda guest: guest.withdraw(), "ended", "ended")

    def test_suspended(self):
        self.ended(lambda guest: guest.stop("suspend"), "suspended", "suspend")

    def test_another_ring(self):
        """The guest publishes another ring: its run ends, and a new one begins."""
        self.ended(lambda guest: self.publish(guest, base=9_000_000), "ended", "ended")

    def test_one_ring_withdrawn(self):
        """The run goes on with the other ring. All bytes of the withdrawn one are in the archive."""
        d, guest, rings = self.begin("web", 2)
        guest.withdraw(1)
        self.captured(d, "ended", rings[1])
        self.assertEqual(d.query("SELECT state FROM runs"), [("running",)])

    def test_new_ring_beside_it(self):
        """A further ring of a running guest is in the archive at once."""
        d, guest, _ = self.begin("web")
        self.publish(guest, stream=1)
        self.soon(d, "SELECT number FROM streams ORDER BY 1", [(0,), (1,)])

    def test_drill(self):
        """kill -9 of mprofd, and the guest is destroyed before mprofd is back: the archive's events are
        whole, and the rest is declared lost."""
        d, guest, rings = self.begin("web")
        d.trace("web")
        kept = self.stored(d)
        self.write_on(d, rings[0])
        self.write_on(d, rings[0])
        d.kill_collector()
        guest.die("crashed")
        guest.forget()
        d.start_collector()
        d.wait_ended("web")
        found = events_of(d.trace("web"))
        self.assertEqual(found, rings[0].written[: len(found)])
        self.assertGreaterEqual(17 * len(found), kept - 30)
        self.assertLess(len(found), rings[0].n)
        self.assertEqual([(gap["kind"], gap["reason"], gap["at_least"]) for gap in d.gaps("web")], [("lost", "restart", True)])


if __name__ == "__main__":
    sim.main()
