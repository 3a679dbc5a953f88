"""Measure a fleet's database on this machine: captures a second and MB a second, and the size of what is stored.

    measure.py [--shards N] [--standby] [--seconds N] [--senders N] [--body BYTES]

Each sender is a process with a host of its own. A capture is one transaction with one piece of BODY bytes. Prints one line
of JSON.
"""

import argparse
import json
import multiprocessing
import time

from cluster import cluster
from sender import Host, noise, piece

FIRST = 1 << 40  # captures that were stored before have smaller numbers


def send(connection, body, seconds, ready, results):
    h = Host(connection)
    h.hello()
    h.db.autocommit = False
    p = piece(noise(body))
    ready.wait()
    began, sent, times = time.monotonic(), 0, []
    while time.monotonic() < began + seconds:
        at = time.monotonic()
        h.send(FIRST + sent, time.time_ns(), [p])
        h.db.commit()
        times.append(time.monotonic() - at)
        sent += 1
    results.put((sent, sorted(times)[len(times) // 2]))


def rate(c, hosts, body, seconds):
    """Let HOSTS send for SECONDS, and return the number of captures and the median time of one, of the slowest host. End if the hub has another
    number of them."""
    before = int(c.hub.sql("SELECT count(*) FROM fleet.captures"))
    ready, results = multiprocessing.Barrier(len(hosts)), multiprocessing.Queue()
    senders = [multiprocessing.Process(target=send, args=(c.connection(h), body, seconds, ready, results)) for h in hosts]
    for s in senders:
        s.start()
    got = [results.get() for _ in senders]
    for s in senders:
        s.join()
    sent, stored = sum(n for n, _ in got), int(c.hub.sql("SELECT count(*) FROM fleet.captures")) - before
    if sent != stored:
        raise SystemExit(f"hosts sent {sent} captures, and the hub has {stored}")
    return sent, max(t for _, t in got)


def main():
    parser = argparse.ArgumentParser(description="Measure a fleet's database on this machine.")
    parser.add_argument("--shards", type=int, default=0)
    parser.add_argument("--standby", action="store_true")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--senders", type=int, default=4)
    parser.add_argument("--body", type=int, default=262144)
    a = parser.parse_args()
    hosts = [f"host{n}" for n in range(a.senders)]
    with cluster(disk=True, shards=a.shards, standby=a.standby, hosts=hosts) as c:
        keepers = c.shards or [c.hub]
        before = sum(int(s.sql("SELECT pg_database_size('fleet')")) for s in keepers)
        sent, median = rate(c, hosts, a.body, a.seconds)
        after = sum(int(s.sql("SELECT pg_database_size('fleet')")) for s in keepers)
        out = {"shards": a.shards, "standby": a.standby, "senders": a.senders, "body": a.body, "captures_per_second": round(sent / a.seconds, 1)}
        out |= {"mb_per_second": round(sent * a.body / a.seconds / 1e6, 1), "median_ms": round(1000 * median, 1)}
        print(json.dumps(out | {"stored_per_capture": (after - before) // max(sent, 1), "empty_database": before}))


if __name__ == "__main__":
    main()
