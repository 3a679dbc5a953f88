"""Test the assumptions about libxenstore over the real stores: xenstore.py BUILD-DIRECTORY [TEST…]"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "xen")]

import broken  # noqa: E402
import sim  # noqa: E402
from sim import daemons  # noqa: E402

LIBRARY = broken.Library(sim.BUILD, "xenstore")


class Assumptions(sim.Case):
    def store_names(self):
        """Return the variables that tell the program of the store of this test."""
        return {"XENSTORED_PATH": self.store.socket, "MPROF_STORE": str(self.store.process.pid)}

    def test_hold(self):
        code, said = LIBRARY.ask("", [], **self.store_names())
        self.assertEqual(code, 0, said)

    def test_broken(self):
        """The test of each assumption fails over a library in which it does not hold. The last one kills the store."""
        self.assertEqual(LIBRARY.forgotten(), [])
        for how, names in broken.BROKEN["xenstore"].items():
            for name in names:
                with self.subTest(how=how, name=name):
                    failed, said = LIBRARY.fails(how, name, **self.store_names())
                    self.assertTrue(failed, said)


class AssumptionsOCaml(Assumptions):
    STORE = "oxenstored"


if __name__ == "__main__":
    daemons.main()
