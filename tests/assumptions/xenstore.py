"""Test the assumptions about libxenstore over the real stores: xenstore.py BUILD-DIRECTORY [TEST…]"""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "xen"))

import sim  # noqa: E402
from sim import daemons  # noqa: E402

PROGRAM = os.path.join(os.path.abspath(sim.BUILD), "tests", "assumptions", "assume-xenstore")
BREAK = os.path.join(os.path.abspath(sim.BUILD), "tests", "assumptions", "libbreak-xenstore.so")


class Assumptions(sim.Case):
    def ask(self, *names, **env):
        """Run the program over a store of its own. Return its exit code and what it said."""
        env = {**os.environ, "XENSTORED_PATH": self.store.socket, "MPROF_STORE": str(self.store.process.pid), **env}
        done = subprocess.run([PROGRAM, *names], env=env, capture_output=True, text=True, timeout=120, check=False)
        return done.returncode, done.stderr

    def test_hold(self):
        code, said = self.ask()
        self.assertEqual(code, 0, said)

    def test_broken(self):
        """A library that loses the first event of a watch fails the test of that."""
        name = "xenstore-first-event-at-once"
        self.assertEqual(self.ask(name)[0], 0)
        code, said = self.ask(name, LD_PRELOAD=BREAK, MPROF_BREAK="silent", ASAN_OPTIONS="verify_asan_link_order=0")
        self.assertEqual(code, 1, said)
        self.assertIn(f"the assumption {name} does not hold", said)


class AssumptionsOCaml(Assumptions):
    STORE = "oxenstored"


if __name__ == "__main__":
    daemons.main()
