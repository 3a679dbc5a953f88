"""Measure the bytes written to disk for each archived byte, for a guest with a ring of 1 MiB that
writes 10 KB/s, and for one that writes 20 MB/s.

The kernel counts the bytes that mprofd dirtied, and those of a final checkpoint of the write-ahead
log. Archived bytes are content before compression, also what quotas deleted since. With --long each guest writes for ten minutes.

Then mprofd, with a flush interval of 100 ms, is killed again and again while a guest writes 250 KB/s: the time from the newest copy
that the archive has to the kill.

The benchmark fails if the archive's packets and gaps do not follow each other, if it is empty, or if a kill loses what was committed.
"""

import random
import shutil
import sqlite3
import statistics
import struct
import sys
import time

from collector import BRIEF, Collector, Load, check_sequences, line, query, wrong

RING = 1 << 20
KILLS = 3 if BRIEF else 30
FLUSH = "[collector]\nflush-interval = 100ms\n"
SECONDS = 600 if "--long" in sys.argv[1:] else 5 if BRIEF else 60


def own_bytes():
    with open("/proc/self/io", encoding="ascii") as f:
        return next(int(row.split()[1]) for row in f if row.startswith("write_bytes:"))


def checkpoint_bytes():
    """Bring the rest of the write-ahead log into the file. Return the bytes written for it."""
    before = own_bytes()
    db = sqlite3.connect("state/archive/trace.db")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    db.close()
    return own_bytes() - before


def archived_bytes():
    """Return the content bytes of all packets that were ever complete, and of the newest ones."""
    ever = query("SELECT sum(bytes) FROM streams")[0][0]
    newest = "SELECT coalesce(sum(k.length), 0) FROM chunks k JOIN streams s ON s.id = k.stream WHERE k.sequence > coalesce(s.newest, -1)"
    return ever + query(newest)[0][0]


def measure(name, rate, seconds, aim):
    with Collector() as collector:
        before = collector.written()
        with Load("--rings", 1, "--size", RING, "--rate", rate, "--seconds", seconds) as load:
            load.wait()
        while not query("SELECT count(*) FROM runs WHERE state = 'ended'")[0][0]:
            if collector.process.poll() is not None:
                wrong("mprofd ended")
            time.sleep(0.1)
        written = collector.written() - before
    written += checkpoint_bytes()
    archived = archived_bytes()
    if not archived:
        wrong("nothing was archived")
    check_sequences()
    lost = query("SELECT sum(lost_packets) FROM streams")[0][0]
    # The peer appends to a plain file once a second, whole blocks each time.
    peer = max(1.0, seconds * 4096 / archived)
    line(f"{name}-written", written / archived, "bytes on disk per byte", peer=peer, aim=aim, met=written / archived <= aim)
    line(f"{name}-lost", lost, "packets", aim=0, met=lost == 0)


def newest():
    """Return the end of the newest archived bytes, and the time at which they were copied, in seconds."""
    rows = query("SELECT sequence, offset + length, ends FROM chunks WHERE length(ends) > 0 ORDER BY sequence DESC, offset DESC LIMIT 1")
    if not rows:
        return (), None
    sequence, end, ends = rows[0]
    return (sequence, end), struct.unpack_from("<IQQ", ends, len(ends) - 20)[2] / 1e9


def measure_kills():
    chance, behind = random.Random(1), []
    with open("mprofd.conf", "w", encoding="ascii") as f:
        f.write(FLUSH)
    with Load("--rings", 1, "--size", 4 * RING, "--rate", 250_000, "--seconds", 600):
        while len(behind) < KILLS:
            collector = Collector("--config", "mprofd.conf", again=True)
            before = newest()[0]
            while newest()[0] <= before:  # it has begun to commit
                if collector.process.poll() is not None:
                    wrong("mprofd ended")
                time.sleep(0.01)
            time.sleep(chance.random() / 5)
            before = newest()[0]
            killed = collector.kill()
            after, stamp = newest()
            if after < before:
                wrong(f"{before} was committed, and the newest is {after} after a kill")
            behind.append(killed - stamp)
    check_sequences()
    line("killed-behind", statistics.median(behind) * 1e3, "ms before a kill are lost, median", aim=200, met=statistics.median(behind) <= 0.2)
    line("killed-behind-most", max(behind) * 1e3, "ms before a kill are lost at most")


def main():
    measure("trickle", 10_000, SECONDS, 2)
    for path in ("state", "run", "rings"):
        shutil.rmtree(path)
    measure("flood", 20_000_000, SECONDS, 1.3)
    for path in ("state", "run", "rings"):
        shutil.rmtree(path)
    measure_kills()


main()
