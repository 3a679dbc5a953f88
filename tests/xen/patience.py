"""Tests that take a minute: patience.py BUILD-DIRECTORY [TEST…]"""

import time

import sim
from daemons import events_of


class Patience(sim.Case):
    def test_accepted_again(self):
        """The daemon ignores a guest that changed its keys too often for a minute, then takes what
        it publishes."""
        d = self.daemons()
        guest = self.guest(5, "calm")
        began = time.monotonic()
        while "change too often" not in d.said():
            for i in range(100):
                guest.write(f"data/mprof/x{i}", "y")
        ring = guest.ring()
        self.addCleanup(ring.close)
        ring.add(30)
        guest.publish(ring, port=3)
        d.wait(lambda: guest.mapped() == 4)
        self.assertGreater(time.monotonic() - began, 60)
        d.wait(lambda: guest.port(3))
        guest.withdraw()  # and the daemon sees its keys again
        d.wait(lambda: not guest.mapped())
        d.wait_ended("calm")
        self.assertEqual(events_of(d.trace("calm")), ring.written)
        self.assertEqual(d.said().count("change too often"), 1)


if __name__ == "__main__":
    sim.main()
