"""Test a collector that ends and starts again while guests of Xen write: restart.py BUILD-DIRECTORY
[TEST…]"""

import os
import signal
import threading
import time
import unittest.mock

import sim
from daemons import events_of, judge
from turns import forms, long


class Restart(sim.Case):
    def restart(self, d, kill, meanwhile=lambda: None):
        if kill:
            d.kill_collector()
        else:
            d.stop_collector()
        meanwhile()
        d.start_collector()

    def archived(self, d):
        """Return the newest packet of which any byte is archived."""
        return d.query("SELECT coalesce(max(sequence), -1) FROM chunks")[0][0]

    def archive_more(self, d, streams=1):
        """Wait until more of each of the STREAMS rings is archived."""
        lengths = lambda: dict(d.query("SELECT stream, sum(length) FROM chunks GROUP BY stream"))
        before = lengths()
        d.wait(lambda: (now := lengths()) and len(now) >= streams and all(now[k] > before.get(k, 0) + 10_000 for k in now))

    def writing(self, d, guest, k=1, rate=50000, size=1 << 20, stream=0):
        """Start a guest with a real writer. Its ring wraps after 20 seconds: a restart takes less, however busy the machine is."""
        truth = f"truth.{guest.domid}.{k}"
        options = f"--ring {guest.ring_path(k)} --truth {truth} --after {truth}.seen --rate {rate} --size {size}"
        writer = self.writer("writer-legacy", *options.split())
        d.wait(lambda: os.path.exists(guest.ring_path(k)) and os.path.getsize(guest.ring_path(k)) == size)
        guest.publish(guest.refs(k, size), stream=stream)
        d.wait(lambda: (found := d.domain(guest.name)) and any(s["stream"] == stream for s in found["streams"]))
        with open(f"{truth}.seen", "w", encoding="ascii"):
            pass
        return writer, truth

    def end(self, d, guest, writers):
        for writer in writers:
            writer.terminate()
        for writer in writers:
            writer.wait(sim.daemons.HANGS)
        guest.die("poweroff")
        d.wait_ended(guest.name)
        self.assertEqual(len(d.run_list(guest.name)), 1, "the run goes on")
        self.assertEqual([c["kind"] for c in d.captures(guest.name)], ["poweroff"])
        d.wait(lambda: not guest.mapped())
        d.check_integrity()

    def test_while_it_writes(self):
        """A restart in time: same run, no duplicate. There is no gap, unless this machine took longer than the ring lasts."""
        d = self.daemons()
        guest = self.guest(5, "writes")
        writer, truth = self.writing(d, guest)
        self.archive_more(d)
        took = []
        for kill in (False, True, False, True):
            began = time.monotonic()
            self.restart(d, kill)
            self.archive_more(d)
            took.append(time.monotonic() - began)
        self.end(d, guest, [writer])
        judge("writes", truth, d.trace("writes"), d.packets("writes"), "--ended", "--begin", "0")
        lost = d.domain("writes")["streams"][0]["lost_packets"]
        self.assertTrue(lost == 0 or max(took) > 18, f"{lost} packets are lost; the restarts took {took} s")

    def test_overwritten(self):
        """A restart that is too late: the overwritten events are a declared gap, and nothing else
        is missing."""
        d = self.daemons()
        guest = self.guest(5, "fast")
        writer, truth = self.writing(d, guest, rate=500000, size=65536)
        for kill in (False, True):
            before = self.archived(d)
            d.wait(lambda: self.archived(d) > before)
            self.restart(d, kill, lambda: d.wait_begun(guest.ring_path(1), 12))
        self.end(d, guest, [writer])
        pages = d.packets("fast")
        judge("fast", truth, d.trace("fast"), pages, "--ended", "--begin", "0")
        gaps = [gap for page in pages for gap in page["gaps"]]
        self.assertIn("restart", {gap["reason"] for gap in gaps})
        self.assertGreater(sum(gap["packets"] for gap in gaps), 4)

    @long
    def test_streams(self):
        """Each of several rings goes on at its position."""
        d = self.daemons()
        guest = self.guest(5, "two")
        writers = [self.writing(d, guest, 1), self.writing(d, guest, 2, stream=1)]
        for kill in (True, False):
            self.archive_more(d, 2)
            self.restart(d, kill)
        self.archive_more(d, 2)
        self.end(d, guest, [writer for writer, _ in writers])
        for k, (_, truth) in enumerate(writers):
            query = f"&stream={k}"
            judge(f"two.{k}", truth, d.trace("two", f"?stream={k}"), d.packets("two", query), "--ended", "--begin", "0")

    @long
    def test_many(self):
        """All guests are mapped again, and each run goes on."""
        guests = []
        for i in range(64):
            guest = self.guest(10 + i)
            ring = guest.ring()
            ring.add(5)
            ring.close()
            guest.publish(ring)
            guests.append(guest)
        d = self.daemons()
        d.wait(lambda: all(guest.mapped() for guest in guests))
        d.wait(lambda: len(d.json("/v1/domains?limit=1000")["domains"]) == 64)
        d.kill_collector()
        d.start_collector()
        d.wait(lambda: all(guest.mapped() for guest in guests))
        self.assertEqual({domain["runs"] for domain in d.json("/v1/domains?limit=1000")["domains"]}, {1})

    def test_dies_meanwhile(self):
        """Guests die while no collector runs: if the pages still exist, their events are archived,
        else the run has ended."""
        d = self.daemons()
        kept, gone, again = (self.guest(5 + i, name) for i, name in enumerate(("kept", "gone", "again")))
        rings = []
        for guest in (kept, gone, again):
            ring = guest.ring()
            self.addCleanup(ring.close)
            guest.publish(ring)
            rings.append(ring)
            self.attached(d, guest.name)
            ring.add_slowly(30)
            # The collector soon forgets a run that ended without archived events.
            d.wait_archived(ring, guest.name, 1)
        d.kill_collector()
        for ring in rings:
            ring.add(20)
        kept.stop("crashed")
        gone.die("crashed")
        gone.forget()
        again.die("reboot")
        again.forget()
        reborn = self.guest(8, "again", handle=again.uuid)
        second = reborn.ring(base=9_000_000)
        self.addCleanup(second.close)
        second.add(10)
        reborn.publish(second)
        d.start_collector()
        d.wait_ended("kept")
        self.assertEqual([c["kind"] for c in d.captures("kept")], ["crash"])
        self.assertEqual(events_of(d.trace("kept")), rings[0].written)
        listed = d.wait_ended("gone")
        self.assertEqual([run["reason"] for run in listed], ["ended"])
        # Only what was lost is declared, and that is of unknown length.
        self.assertEqual(d.gaps("kept"), [])
        self.assertEqual([(gap["kind"], gap["reason"], gap["at_least"]) for gap in d.gaps("gone")], [("lost", "restart", True)])
        d.wait(lambda: len(d.run_list("again")) == 2)
        first = d.run_list("again")[0]["run"]
        d.wait(lambda: [(gap["reason"], gap["at_least"]) for gap in d.gaps("again", f"&run={first}")] == [("restart", True)])
        self.assertEqual(d.gaps("again"), [])
        self.assertEqual(d.domain("again")["state"], "running")
        reborn.die("crashed")
        listed = d.wait_ended("again", 2)
        self.assertEqual(events_of(d.trace("again", f"?run={listed[-1]['run']}")), second.written)

    def test_withdrawn_meanwhile(self):
        """Guests whose pages are gone while their nodes are still there: one crashes, and one goes on
        with the other of its two rings. A ring that was withdrawn before has lost nothing."""
        d = self.daemons()
        crashed, half = self.guest(5, "crashed"), self.guest(6, "half")
        one, rings = crashed.ring(), [half.ring() for _ in range(3)]
        crashed.publish(one)
        for k, ring in enumerate(rings):
            half.publish(ring, stream=k)
        for ring in (one, *rings):
            self.addCleanup(ring.close)
        self.attached(d, "crashed")
        self.attached(d, "half", 3)

        def all_archived():  # later events prove those that came between two polls
            for ring in (one, *rings):
                ring.add(1)
            return d.query("SELECT count(DISTINCT stream) FROM chunks") == [(4,)]

        d.wait(all_archived)
        half.withdraw(2)
        self.assertEqual([c["kind"] for c in d.wait_captures("half")], ["ended"])
        d.kill_collector()
        for guest, ring in [(crashed, one), (half, rings[1])]:
            ring.add(20)
            guest.revoke(*ring.refs)
        half.withdraw(1)
        crashed.stop("crashed")
        d.start_collector()
        d.wait_ended("crashed")
        self.assertEqual([(gap["reason"], gap["at_least"]) for gap in d.gaps("crashed")], [("restart", True)])
        d.wait(lambda: half.mapped() == 4)
        self.assertEqual(d.gaps("half", "&stream=1"), [])
        half.die("poweroff")
        d.wait_ended("half")
        found = [[(gap["reason"], gap["at_least"]) for gap in d.gaps("half", f"&stream={k}")] for k in (0, 1, 2)]
        self.assertEqual(found, [[], [("restart", True)], []])

    @long
    def test_slow_store(self):
        """A store that answers after more time than the collector waits for its guests, which no test's clock can shorten, since it stands in
        the start: the runs of guests that exist go on, and the run of one that is gone has ended."""
        d = self.daemons()
        guests = [self.guest(domid, name) for domid, name in ((5, "stays"), (6, "goes"))]
        rings = [self.publish(guest, 40) for guest in guests]
        for guest in guests:
            self.attached(d, guest.name)
        d.stop_collector()
        guests[1].die("poweroff")
        self.store.process.freeze()
        answers = threading.Timer(31, self.store.process.send_signal, [signal.SIGCONT])
        answers.start()
        d.start_collector()
        answers.join()
        d.wait_ended("goes")
        d.wait(lambda: guests[0].mapped() == 4)
        rings[0].add(30)
        guests[0].die("crashed")
        d.wait_ended("stays")
        self.assertEqual([(len(d.run_list(name)), d.domain(name)["streams"][0]["lost_packets"]) for name in ("stays", "goes")], [(1, 0), (1, 1)])
        self.assertEqual(events_of(d.trace("stays")), rings[0].written)
        self.assertIn("goes: gone while mprofd was down", d.said())
        self.assertNotIn("stays: gone while mprofd was down", d.said())

    def test_scarce_memory(self):
        """When mprofd starts, dom0 has no memory to map a guest's pages, and soon has: the run goes on, and nothing is lost."""
        d = self.daemons()
        guest = self.guest(5, "stays")
        ring = self.publish(guest, 40)
        self.attached(d, "stays")
        d.stop_collector()
        guest.replace("scarce", "5\n")
        d.start_collector()
        d.wait(lambda: guest.mapped() == 4)
        ring.add(30)
        guest.die("crashed")
        d.wait_ended("stays")
        self.assertEqual((len(d.run_list("stays")), d.gaps("stays")), (1, []))
        self.assertEqual(events_of(d.trace("stays")), ring.written)

    def test_suspended_meanwhile(self):
        """A suspended guest is the same after a restart, and after it resumes."""
        d = self.daemons()
        guest = self.guest(5, "sleeper")
        ring = self.publish(guest, 40)
        d.wait(lambda: d.domain("sleeper"))
        guest.stop("suspend")
        d.wait(lambda: d.domain("sleeper")["state"] == "suspended")
        self.restart(d, True)
        d.advance(3)  # it asks for the guest's state each second
        self.assertEqual(d.domain("sleeper")["state"], "suspended")
        self.assertEqual(guest.mapped(), 0)
        guest.resume()
        d.wait(lambda: guest.mapped() == 4)
        ring.add(30)
        guest.die("crashed")
        d.wait_ended("sleeper")
        self.assertEqual(len(d.run_list("sleeper")), 1)
        self.assertEqual(events_of(d.trace("sleeper")), ring.written)
        self.assertEqual(sorted(c["kind"] for c in d.captures("sleeper")), ["crash", "suspend"])


class StoreGone(sim.Case):
    def test_said_in_a_sentence(self):
        """Without the store the collector can learn nothing: it says so in one sentence and ends.
        The next one starts again."""
        d = self.daemons()
        guest = self.guest(5, "orphan")
        ring = self.publish(guest, 20)
        d.wait(lambda: d.domain("orphan"))
        process, d.collector = d.collector, None
        self.store.kill()
        self.assertEqual(process.wait(sim.daemons.HANGS), 1)
        self.assertRegex(d.said(), r"(?m)^mprofd: error: .*XenStore.*$")
        self.assertEqual(guest.mapped(), 0)
        self.assertNotIn("Sanitizer", d.said())

    def test_pages_of_the_kernel(self):
        """A kernel whose pages are larger than a grant gets a sentence at the start."""
        d = self.enterContext(sim.Daemons())
        with unittest.mock.patch.dict(os.environ, {"MPROFD_SIM_PAGE": "16384"}):
            process = d.spawn("mprofd-sim", "--source", "xen")
        self.assertEqual(process.wait(sim.daemons.HANGS), 1)
        self.assertRegex(d.said(), r"(?m)^mprofd: error: .*this kernel has pages of 16384 bytes.*$")

    def test_none_at_the_start(self):
        self.store.kill()
        d = self.enterContext(sim.Daemons())
        process = d.spawn("mprofd-sim", "--source", "xen")
        self.assertEqual(process.wait(sim.daemons.HANGS), 1)
        self.assertRegex(d.said(), r"(?m)^mprofd: error: .*XenStore.*$")


class StoreGoneOCaml(StoreGone):
    STORE = "oxenstored"


forms(StoreGone, StoreGoneOCaml)

if __name__ == "__main__":
    sim.main()
