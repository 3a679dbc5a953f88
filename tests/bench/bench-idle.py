"""Measure a thousand idle rings: the collector's share of a core, and its resident memory.

Each ring holds ten events and has a writer that does nothing, so nothing in it is proven yet. The
benchmark fails if a ring is not in the archive as a running guest's.
"""

import time

from collector import BRIEF, Collector, Load, line, query, wrong

RINGS = 200 if BRIEF else 1000
SECONDS = 3 if BRIEF else 20


def main():
    with Load("--idle", RINGS), Collector() as collector:
        time.sleep(3)
        before = collector.cpu()
        time.sleep(SECONDS)
        share = (collector.cpu() - before) / SECONDS * 100
        resident = collector.rss() / 2**20
        found = query("SELECT count(*) FROM runs JOIN streams ON streams.run = runs.id WHERE state = 'running' AND ring_bytes > 0")[0][0]
    if found != RINGS:
        wrong(f"{found} of {RINGS} rings are in the archive as running")
    line("idle-cpu", share, "% of a core", aim=1, met=share < 1)
    line("idle-memory", resident, "MiB", aim=64, met=resident < 64)


main()
