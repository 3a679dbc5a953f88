"""Measure one ring of 1 MiB in four packets that is written at 50, 100, 150 and 300 MB/s: lost
packets behind the first lap.

The peer is the number of packets that the guest wrote. The writer and the collector need a
processor each, so the figures mean little on a machine that does other work. The benchmark fails
if packets and gaps do not follow each other.
"""

import os
import tempfile
import time

from collector import BRIEF, Collector, Load, check_sequences, line, query

RATES = (50, 150) if BRIEF else (50, 100, 150, 300)
SECONDS = 2 if BRIEF else 8
PACKETS = 4


def measure(rate):
    with Collector() as collector:
        before = {thread: collector.cpu(thread) for thread in ("loop", "rest")}
        with Load("--rings", 1, "--size", 1 << 20, "--packets", PACKETS, "--rate", rate * 1_000_000, "--seconds", SECONDS) as load:
            load.wait()
        time.sleep(1)
        spent = {thread: collector.cpu(thread) - before[thread] for thread in before}
        peak = collector.peak()
    check_sequences()
    gaps = query("SELECT after_sequence, packets FROM gaps WHERE kind = 'lost'")
    first = sum(packets for after, packets in gaps if after < PACKETS)
    lost = sum(packets for after, packets in gaps) - first
    aim = 0 if rate <= 150 else None
    line(f"fast-{rate}MB/s-lost", lost, f"packets in {len(gaps)} gaps", peer=load.report["packets"], aim=aim, met=None if aim is None else lost == 0)
    line(f"fast-{rate}MB/s-lost-at-the-start", first, "packets", aim=PACKETS, met=first <= PACKETS)
    line(f"fast-{rate}MB/s-loop", spent["loop"] / load.report["seconds"] * 100, "% of a core")
    line(f"fast-{rate}MB/s-memory", peak, "MiB resident at most, of mprofd")
    line(f"fast-{rate}MB/s-written", load.report["bytes"] / load.report["seconds"] / 1e6, "MB/s", peer=rate)


def main():
    for rate in RATES:
        with tempfile.TemporaryDirectory(dir=".") as directory:
            os.chdir(directory)
            measure(rate)
            os.chdir("..")


main()
