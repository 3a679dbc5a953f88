"""A thousand idle rings: the collector's share of a core, and its resident memory.

Each ring holds ten events and has a writer that does nothing.  Wrong is: a ring whose events are not in the archive.
"""

import mmap
import os
import struct
import time

from collector import BRIEF, Collector, line, query, wrong

RINGS = 200 if BRIEF else 1000
SECONDS = 3 if BRIEF else 20
RING_BYTES = 65536
EVENTS = 10
UUID = bytes.fromhex("05883b8d521a487bb397456ab150680c")


def ring(path):
    """A ring of four packets with a few events in the first.  Returns its mapping, which is its writer."""
    with open(path, "w+b") as f:
        f.truncate(RING_BYTES)
        ring_map = mmap.mmap(f.fileno(), RING_BYTES)
    packet = RING_BYTES // 4
    for count in range(4):
        content = 30 + (EVENTS * 25 if count == 0 else 0)
        head = struct.pack("<I16sIHI", 0xC1FC1FC1, UUID, packet * 8, count, content * 8)
        ring_map[count * packet : count * packet + 30] = head
    for i in range(EVENTS):
        ring_map[30 + i * 25 : 55 + i * 25] = struct.pack("<QBqq", time.monotonic_ns(), 1, i + 1, i)
    return ring_map


def main():
    os.mkdir("rings")
    writers = [ring(f"rings/idle-{i}.ctf") for i in range(RINGS)]
    with Collector() as collector:
        time.sleep(3)
        before = collector.cpu()
        time.sleep(SECONDS)
        share = (collector.cpu() - before) / SECONDS * 100
        resident = collector.rss() / 2**20
    found = query("SELECT count(*) FROM streams WHERE id IN (SELECT stream FROM chunks WHERE length > 0)")[0][0]
    if found != RINGS:
        wrong(f"{found} of {RINGS} rings have events in the archive")
    line("idle-cpu", share, "% of a core", aim=1, met=share < 1)
    line("idle-memory", resident, "MiB", aim=64, met=resident < 64)
    del writers


main()
