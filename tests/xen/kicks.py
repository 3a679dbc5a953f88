"""Test guests that notify the collector of new events: kicks.py BUILD-DIRECTORY [TEST…]"""

import os
import statistics
import time

import sim
from daemons import events_of

MS = 1_000_000


class Kicks(sim.Case):
    def begin(self, d, domid=5, name="kicks", port=3, **options):
        guest = self.guest(domid, name)
        ring = guest.ring(**options)
        self.addCleanup(ring.close)
        ring.add(5)
        guest.publish(ring, port=port)
        d.wait(lambda: d.domain(name))
        return guest, ring

    def bound(self, d, guest, port=3):
        return d.wait(lambda: guest.port(port))

    def polls(self, d, seconds, ahead=0):
        """Return the number of polls in a second of the daemon's clock, in SECONDS that pass by themselves and AHEAD that a test's clock
        lets pass."""
        since = time.monotonic()
        began = d.metric("mprofd_looks_total")
        time.sleep(seconds)
        if ahead:
            since -= ahead if d.advance(ahead, 0.05) else 0
        return (d.metric("mprofd_looks_total") - began) / (time.monotonic() - since)

    def test_serviced(self):
        """The collector copies at once after a kick. It would poll an idle ring only once a second."""
        d = self.daemons("[collector]\nflush-interval = 10ms\n[archive]\nfree-space = 1M\nreserve = 0\n")
        guest, ring = self.begin(d, size=16384, packets=16)
        self.bound(d, guest)
        # By its polls alone the collector would never be so quick five times in nine; a busy machine is, sooner or later.
        d.wait(lambda: self.service(d, guest, ring) < 250 * MS)

    def service(self, d, guest, ring):
        """Kick nine times. Return the median of the times in ns from a kick to the next copy: a few ms if nothing else runs."""
        kicked = []
        for _ in range(10):
            time.sleep(0.15)
            ring.add_packet()
            kicked.append(guest.kick(3))
        # A kick proves the packet before its own at once; its own packet is proven by the next
        # events.
        copies = lambda: sorted(int(p["copied"]["last"]["mono"]) for page in d.packets("kicks") for p in page["packets"] if p["copied"])
        copied = d.wait(lambda: found if (found := copies()) and found[-1] >= kicked[-2] else ring.add(1))
        took = sorted(min(at - kick for at in copied if at >= kick) for kick in kicked if copied[-1] >= kick)
        self.assertGreaterEqual(len(took), 9)
        return statistics.median(took)

    def test_idle(self):
        """An idle ring with kicks costs about one poll a second; without kicks a few."""
        d = self.daemons()
        guest, _ = self.begin(d)
        self.bound(d, guest)
        d.advance(2, 0.05)
        self.assertLess(self.polls(d, 0, 20), 1.6)

    def test_bind_raises_once(self):
        d = self.daemons()
        guest, ring = self.begin(d)
        d.wait(lambda: (port := guest.port(3)) and port["delivered"] == 1 and not port["masked"])
        time.sleep(0.3)
        port = guest.port(3)
        self.assertEqual((port["kicks"], port["delivered"], port["masked"]), (0, 1, 0))
        ring.add(5)
        guest.kick(3)
        d.wait(lambda: guest.port(3)["delivered"] == 2)
        d.wait(lambda: not guest.port(3)["masked"])

    def test_storm(self):
        """A guest that kicks as fast as it can costs no more than a polled guest."""
        d = self.daemons()
        # Without kicks the collector polls an idle ring of this size four times a second.
        guest, _ = self.begin(d, size=4 << 20)
        quiet, _ = self.begin(d, 6, "quiet", 4, size=4 << 20)
        self.bound(d, guest)
        d.advance(2)
        delivered, began = guest.port(3)["delivered"], time.monotonic()
        self.kicker.tell("storm", 5, 3, 10, 3200)
        polls = self.polls(d, 3)
        kicks, seconds = self.kicker.answer(), time.monotonic() - began
        delivered = guest.port(3)["delivered"] - delivered
        self.assertLess(polls, 20)
        self.assertLess(delivered, 20 * seconds)
        self.assertGreater(kicks, 20 * delivered)
        # The other guest is served as before.
        before = quiet.port(4)["delivered"]
        quiet.kick(4)
        d.wait(lambda: quiet.port(4)["delivered"] == before + 1)
        # The kicking guest is served again when it is quiet.
        d.advance(4)
        d.wait(lambda: not guest.port(3)["masked"])
        before = guest.port(3)["delivered"]
        guest.kick(3)
        d.wait(lambda: guest.port(3)["delivered"] > before)

    def test_storm_on_a_small_ring(self):
        """A small ring is polled more often: at least as often as a burst fills three quarters of it. Kicks do not add to that."""
        d = self.daemons("[collector]\nflush-interval = 60s\nburst-rate = 1M\n[archive]\nfree-space = 1M\nreserve = 0\n")
        guest, _ = self.begin(d, size=16384)
        self.bound(d, guest)
        self.kicker.tell("storm", 5, 3, 10, 2800)
        polls = self.polls(d, 2.5)
        self.kicker.answer()
        self.assertLess(polls, 1.5 * (1 << 20) / (0.75 * 16384) + 10)

    def test_storm_of_a_writer(self):
        """Events and kicks at full speed lose no event."""
        d = self.daemons()
        guest = self.guest(5, "both")
        options = f"--ring {guest.ring_path(1)} --truth truth --rate 200000 --size 524288"
        delay = sim.launcher.Delay(d.collector.pid)
        writer = self.writer("writer-legacy", *options.split())
        d.wait(lambda: os.path.exists(guest.ring_path(1)) and os.path.getsize(guest.ring_path(1)) == 524288)
        guest.publish(guest.refs(1, 524288), port=3)
        self.bound(d, guest)
        self.kicker.ask("storm", 5, 3, 20, 2000)
        writer.terminate()
        writer.wait(sim.daemons.HANGS)
        guest.die("crashed")
        d.wait_ended("both")
        self.nothing_lost(d, "both", delay)

    def test_port_of_somebody_else(self):
        """The port is bound already: the collector polls the ring, and the log says why."""
        d = self.daemons()
        guest = self.guest(5, "taken")
        guest.take(3)
        ring = guest.ring()
        self.addCleanup(ring.close)
        guest.write("data/mprof/event-channel", "3")
        guest.publish(ring)
        d.wait(lambda: d.domain("taken"))
        ring.add_slowly(50)
        d.wait_archived(ring, "taken", 31)
        self.assertEqual(d.said().count("event channel"), 1, d.said())
        self.assertEqual(d.metric('mprofd_xenstore_refused_total{reason="event-channel"}'), 1)

    def test_bound_anew(self):
        """Writing event-channel again binds again, and restarts nothing."""
        d = self.daemons()
        guest, ring = self.begin(d)
        self.bound(d, guest)
        run = d.domain("kicks")["run"]
        guest.offer(8)
        guest.write("data/mprof/event-channel", "8")
        self.bound(d, guest, 8)
        d.wait(lambda: not guest.port(3))
        guest.write("data/mprof/event-channel", "8")
        time.sleep(0.3)
        self.bound(d, guest, 8)
        guest.rm("data/mprof/event-channel")
        d.wait(lambda: not guest.port(8))
        d.advance(2)  # the poll that was due when the guest kicked
        ring.add_slowly(30)
        d.wait_archived(ring, "kicks", 21)
        self.assertEqual(d.domain("kicks")["run"], run)
        self.assertEqual(guest.map_counts()[0], 1)

    def test_added_later(self):
        d = self.daemons()
        guest, _ = self.begin(d, port=None)
        guest.offer(3)
        guest.write("data/mprof/event-channel", "3")
        self.bound(d, guest)

    def test_let_go_at_the_end(self):
        """The port is released when the guest dies, when it withdraws, and when the collector ends."""
        d = self.daemons()
        guests = [self.begin(d, 5 + i, f"end{i}")[0] for i in range(3)]
        for guest in guests:
            self.bound(d, guest)
        guests[0].stop("crashed")
        d.wait(lambda: not guests[0].port(3))
        guests[1].withdraw()
        d.wait(lambda: not guests[1].port(3))
        d.stop_collector()
        self.assertIsNone(guests[2].port(3))
        d.start_collector()
        self.bound(d, guests[2])
        d.kill_collector()
        d.start_collector()
        time.sleep(0.5)
        self.bound(d, guests[2])

    def test_dead_port(self):
        """Binding the port of a dead guest triggers it once, without effect."""
        guest = self.guest(5, "dead")
        ring = guest.ring()
        self.addCleanup(ring.close)
        ring.add(20)
        guest.publish(ring, port=3)
        guest.stop("crashed")
        d = self.daemons()
        d.wait_ended("dead")
        self.assertEqual(events_of(d.trace("dead")), ring.written)
        d.wait(lambda: not guest.mapped() and not guest.port(3))

    def test_ports(self):
        """The lowest and the highest port, and invalid ones."""
        d = self.daemons()
        for i, port in enumerate((1, 131071)):
            guest, _ = self.begin(d, 5 + i, f"port{port}", port)
            self.bound(d, guest, port)
        for i, text in enumerate(("0", "131072", "03", "-1", "", "3,4", "3 ", "port", "4294967299")):
            guest = self.guest(20 + i, f"bad{i}")
            guest.write("data/mprof/event-channel", text)
            ring = guest.ring()
            self.addCleanup(ring.close)
            guest.publish(ring)
            d.wait(lambda guest=guest: guest.mapped() == 4)
            d.wait(lambda guest=guest: d.said().count(f"{guest.name}: ") >= 2)
            refusals = [line for line in d.said().splitlines() if f"{guest.name}: stream=0" in line and "event channel" in line]
            self.assertEqual(len(refusals), 1, (text, d.said()))
        d.wait(lambda: d.metric('mprofd_xenstore_refused_total{reason="event-channel"}') >= 9)
        self.assertEqual(d.metric('mprofd_xenstore_refused_total{reason="event-channel"}'), 9)


if __name__ == "__main__":
    sim.main()
