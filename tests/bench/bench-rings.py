"""Measure eight rings of 1 MiB, each written at 20 MB/s: lost packets, and the cost of copying
beside memcpy of the same bytes.

The benchmark fails if packets and gaps do not follow each other, or do not add up to the written
events.
"""

import time

from collector import BRIEF, Collector, Load, check_sequences, content_bytes, line, query, wrong

RINGS = 8
RATE = 20_000_000
SECONDS = 3 if BRIEF else 30


def memcpy_seconds(n):
    """Return the CPU seconds for copying N bytes in blocks of a packet's size out of a ring's worth
    of memory."""
    block = 256 << 10
    source = memoryview(bytearray(RINGS << 20))
    target = memoryview(bytearray(block))
    rounds = max(1, min(n, 4 << 30) // len(source))
    began = time.process_time()
    for _ in range(rounds):
        for at in range(0, len(source), block):
            target[:] = source[at : at + block]
    return (time.process_time() - began) * n / (rounds * len(source))


def main():
    with Collector() as collector:
        before = {thread: collector.cpu(thread) for thread in ("loop", "rest")}
        with Load("--rings", RINGS, "--size", 1 << 20, "--rate", RATE, "--seconds", SECONDS) as load:
            load.wait()
        time.sleep(3)
        spent = {thread: collector.cpu(thread) - before[thread] for thread in before}
        rss = collector.rss()
    check_sequences()
    archived = content_bytes()
    # The end of each ring is in the tail of its last capture, because no later event proves it.
    last = query(
        "SELECT stream, max(sequence) + 1 FROM" " (SELECT stream, sequence FROM chunks UNION ALL SELECT stream, sequence FROM tails) GROUP BY stream"
    )
    if len(last) != RINGS or sum(n for _, n in last) != load.report["packets"]:
        wrong(f"{last} and not {load.report['packets']} packets of {RINGS} rings")
    lost = query("SELECT sum(lost_packets) FROM streams")[0][0]
    line("rings-lost", lost, "packets", aim=0, met=lost == 0)
    line("rings-written", load.report["bytes"] / load.report["seconds"] / 1e6, "MB/s", peer=RINGS * RATE / 1e6)
    line("rings-copy", spent["loop"] / archived * 1e9, "ns a byte", peer=memcpy_seconds(archived) / archived * 1e9)
    line("rings-archive", spent["rest"] / archived * 1e9, "ns a byte")
    line("rings-cpu", sum(spent.values()) / load.report["seconds"] * 100, "% of a core")
    line("rings-memory", rss / 2**20, "MiB")


main()
