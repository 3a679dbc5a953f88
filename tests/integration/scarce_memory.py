"""Let one allocation of a program fail, by the library of fail-memory.c."""

import mmap
import os
import struct

from daemons import BUILD

BRIEF = bool(os.environ.get("MPROF_BRIEF"))


class Memory:
    """The file of fail-memory.c."""

    def __init__(self, path):
        self.path = os.path.abspath(path)
        with open(path, "w+b") as f:
            f.write(struct.pack("qqq", 0, -1, 0))
            f.flush()
            self.map = mmap.mmap(f.fileno(), 24)

    def environment(self):
        library = os.path.abspath(os.path.join(BUILD, "tests", "integration", "libfail-memory.so"))
        return {"LD_PRELOAD": library, "FAIL_MEMORY": self.path, "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"}

    def words(self):
        """Return the environment as words of env(1)."""
        return [f"{name}={value}" for name, value in self.environment().items()]

    def count(self):
        """Return how many allocations there were."""
        return struct.unpack("qqq", self.map[:])[0]

    def fail(self, n):
        """Let the allocation N from now on fail; N counts from 0, -1: none."""
        self.map[8:] = struct.pack("qq", n, 0)

    def fail_parser(self, n):
        """Let the allocation N of jansson's parser from now on fail, and all behind it; N counts from 0."""
        self.map[8:] = struct.pack("qq", n, 1)


def chosen(n, most):
    """Return all numbers below N; with BRIEF at most MOST of them, evenly spaced."""
    return [i * n // most for i in range(most)] if BRIEF and n > most else range(n)
