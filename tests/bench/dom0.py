"""A dom0 for benchmarks: the real store, simulated grants and event channels (tests/xen), and the
daemons."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "xen")]

from collector import BUILD, wrong  # noqa: E402

sys.argv[1:] = [BUILD]

import sim  # noqa: E402


class Dom0:
    """A dom0 in the current directory. STACK closes its resources."""

    def __init__(self, stack, config):
        if not sim.store_program("xenstored"):
            wrong("there is no xenstored; MPROFD_XEN names the directory that xen-utils was unpacked into")
        directory = os.path.join(os.getcwd(), "sim")
        os.environ |= {"MPROFD_SIM_DIR": directory, "XENSTORED_PATH": os.path.join(directory, "socket")}
        self.store = sim.Store(directory)
        stack.callback(self.store.close)
        self.kicker = sim.Kicker(directory)
        stack.callback(self.kicker.close)
        os.environ["LD_LIBRARY_PATH"] = sim.SIM
        self.daemons = stack.enter_context(sim.Daemons(config))
        self.daemons.start()

    def guest(self, domid, name):
        return sim.Guest(self.store, self.kicker, domid, name).create()
