"""Measure a busy collector with mprofd-forward beside it, and without: lost packets, processor time, and how long an event waits until
it is copied.

Eight rings of 1 MiB are written at 5 MB/s each. The forwarder sends every packet to a hub, a PostgreSQL server with TLS, at 4 MB/s. Writer and
collector have one processor, forwarder and hub the others: on a real fleet the hub is another machine. The benchmark fails if
packets and gaps do not follow each other, or if the hub got nothing.
"""

import os
import statistics
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../fleet"))

import cluster
from collector import BRIEF, BUILD, Collector, Load, check_sequences, line, query, wrong

RINGS = 8
RATE = 5_000_000
SECONDS = 2 if BRIEF else 10
TURNS = 1 if BRIEF else 5
CONFIG = "[archive]\nfree-space = 1M\nreserve = 0\n"


def waits():
    """Return the times between copies of a stream that follow each other, in ms, sorted."""
    found = []
    for (stream,) in query("SELECT id FROM streams"):
        ends = [row[0] for row in query(f"SELECT ends FROM chunks WHERE stream = {stream} ORDER BY sequence, offset")]
        times = sorted({mono for blob in ends for _, mono, _ in struct.iter_unpack("<IQQ", blob)})
        found += [(b - a) / 1e6 for a, b in zip(times, times[1:])]
    return sorted(found)


def turn(number, fleet):
    """Run once, with FLEET if it is not None. Return (lost packets, CPU seconds, median wait, 99 % wait)."""
    os.makedirs(f"turn{number}")
    os.chdir(f"turn{number}")
    words = fleet.connection("host1").split() if fleet else []
    with open("mprofd.conf", "w", encoding="utf-8") as f:
        f.write(CONFIG + ("[fleet]\nsend = all\nrate = 4MB\n" + "".join(f"connection = {word}\n" for word in words) if fleet else ""))
    forwarder = None
    with Collector("--config", "mprofd.conf", processor=0) as collector:
        if fleet:
            command = [f"{BUILD}/daemon/forward/mprofd-forward", "--state", "state", "--run", "run", "--own", "own", "--config", "mprofd.conf"]
            forwarder = subprocess.Popen(["taskset", "-c", "1", *command], stderr=subprocess.DEVNULL)
        before = collector.cpu()
        with Load("--rings", RINGS, "--size", 1 << 20, "--rate", RATE, "--seconds", SECONDS) as load:
            load.wait()
        time.sleep(1)
        spent = collector.cpu() - before
        if forwarder:
            forwarder.terminate()
            forwarder.wait()
    check_sequences()
    between = waits()
    lost = query("SELECT sum(lost_packets) FROM streams")[0][0]
    os.chdir("..")
    return lost, spent, statistics.median(between), between[int(len(between) * 0.99)]


def median(rows, i):
    return statistics.median(row[i] for row in rows)


def main():
    with_it, without = [], []
    with cluster.cluster(hosts=["host1"]) as fleet:
        for number in range(TURNS):
            without.append(turn(2 * number, None))
            # A new archive is another one than the host's last: the hub is told that this is right.
            fleet.hub.sql("UPDATE fleet_store.host SET archive = NULL WHERE host = 'host1'")
            with_it.append(turn(2 * number + 1, fleet))
        sent = int(fleet.hub.sql("SELECT count(*) FROM fleet_store.packet_piece"))
    if not sent:
        wrong("the hub got no packet")
    line("forward-lost", sum(row[0] for row in with_it), "packets", peer=sum(row[0] for row in without))
    line("forward-cpu", median(with_it, 1), "s", peer=median(without, 1))
    line("forward-wait", median(with_it, 2), "ms", peer=median(without, 2))
    line("forward-wait-99%", median(with_it, 3), "ms", peer=median(without, 3))
    line("forward-sent", sent / TURNS / SECONDS, "packets/s")


main()
