"""Measure how long the last bytes of a Xen guest take to be committed when it dies with a full
ring: one guest alone and 64 at once.

The store is real, grants are simulated (tests/xen). Each ring has a mebibyte of new events. The
benchmark fails unless a capture has every byte of each ring and no page stays mapped.
"""

import contextlib
import random
import sqlite3
import statistics
import struct
import threading
import time

from collector import BRIEF, line, wrong
from dom0 import Dom0, sim

GUESTS = 8 if BRIEF else 64
ALONE = 3 if BRIEF else 15
STORMS = 1 if BRIEF else 5
SIZE = 1 << 20
PACKETS = 4


class Archive(threading.Thread):
    """The time at which each capture was committed, in CLOCK_MONOTONIC ns. Polls the archive all
    the time."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.path, self.seen, self.over = path, {}, False
        self.start()

    def run(self):
        with contextlib.closing(sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)) as db:
            while not self.over:
                # mprofd writes the row of a capture in capture_streams last, so such a capture is whole.
                for run, capture in db.execute("SELECT c.run, c.id FROM captures c JOIN capture_streams s ON s.capture = c.id"):
                    self.seen.setdefault((run, capture), time.monotonic_ns())
                time.sleep(0.002)


def ring_image():
    """Return a full ring and its events."""
    chance, at, written, bodies = random.Random(1), 1_000_000, [], []
    for room in sim.rooms(SIZE, PACKETS):
        body = []
        for _ in range((room - 30) // 17):
            at += chance.randrange(1, 5000)
            written.append((at, chance.randrange(1 << 20)))
            body.append(struct.pack("<QBQ", at, 7, written[-1][1]))
        bodies.append(b"".join(body))
    return sim.image(bodies, sim.rooms(SIZE, PACKETS)), b"".join(bodies)


class Bench:
    def __init__(self, stack):
        self.dom0 = Dom0(stack, "[archive]\nfree-space = 1M\nreserve = 0\n")
        self.daemons = self.dom0.daemons
        self.archive = Archive(f"{self.daemons.state}/archive/trace.db")
        self.full, self.content = ring_image()
        self.empty = sim.image([], sim.rooms(SIZE, PACKETS))
        self.mapped_s = 0.0  # the longest time that a ring stayed mapped after its guest's death

    def guests(self, n, name):
        """Return N attached guests with empty rings."""
        guests = []
        for i in range(n):
            guest = self.dom0.guest(1 + i, f"{name}-{i}")
            with open(guest.ring_path(1), "wb") as f:
                f.write(self.empty)
            guest.publish(guest.refs(1, SIZE))
            guests.append(guest)
        self.daemons.wait(lambda: all(guest.mapped() for guest in guests), 120)
        self.daemons.wait(lambda: all(self.daemons.domain(guest.name) for guest in guests), 60)
        return guests

    def storm(self, guests):
        """Let all guests die. Return the seconds from the death of each to its commit, and from the
        first death to the last commit."""
        for guest in guests:
            with open(guest.ring_path(1), "r+b") as f:
                f.write(self.full)
        died = {guest.name: guest.stop("crashed") for guest in guests}
        runs = {run: name for run, name in self.daemons.query("SELECT id, name FROM runs") if name in died}
        took = {}

        def committed():
            for (run, _), at in list(self.archive.seen.items()):
                if run in runs:
                    took[runs[run]] = (at - died[runs[run]]) / 1e9
            return len(took) == len(died)

        self.daemons.wait(committed, 120)
        self.daemons.wait(lambda: not any(guest.mapped() for guest in guests))
        whole = max(took[name] + died[name] / 1e9 for name in died) - min(died.values()) / 1e9
        for guest in guests:
            self.mapped_s = max(self.mapped_s, (guest.unmapped_at() - died[guest.name]) / 1e9)
            self.check(guest)
            guest.destroy()
        for guest in guests:
            guest.forget()
        return list(took.values()), whole

    def check(self, guest):
        """Check that one capture has every byte of the guest."""
        captures = self.daemons.captures(guest.name)
        if [capture["kind"] for capture in captures] != ["crash"]:
            wrong(f"{guest.name} has the captures {captures}")
        trace, content, at = self.daemons.get(f"/v1/captures/{captures[0]['id']}/trace"), [], 0
        while at < len(trace):
            size, used = struct.unpack_from("<I", trace, at + 20)[0] // 8, struct.unpack_from("<I", trace, at + 26)[0] // 8
            content.append(trace[at + 30 : at + used])
            at += size
        if b"".join(content) != self.content:
            wrong(f"{guest.name}: {sum(map(len, content))} bytes and not the {len(self.content)} that it wrote")


def main():
    with contextlib.ExitStack() as stack:
        bench = Bench(stack)
        alone = [bench.storm(bench.guests(1, f"alone{i}"))[0][0] for i in range(ALONE)]
        storms = [bench.storm(bench.guests(GUESTS, f"storm{i}"))[1] for i in range(STORMS)]
        bench.archive.over = True
        bench.archive.join()
    one, all_of_them = statistics.median(alone) * 1000, statistics.median(storms)
    line("storm-one", one, "ms a MiB", aim=10, met=one <= 10)
    aim = 2 * GUESTS / 64
    line(f"storm-{GUESTS}", all_of_them, "s", aim=aim, met=all_of_them <= aim)
    line(f"storm-{GUESTS}-worst", max(storms), "s")
    line("mapped-after-death", bench.mapped_s, "s", aim=1, met=bench.mapped_s <= 1)


main()
