"""Measure the sink's share of a core with 200 streams: at 1 MB/s together, at 1 MB/s each as far as
the machine can also send that, and at full speed.

The content is a guest's stream: packets of 28 KB that compress to about a third. The benchmark
fails if a recording is not there byte for byte, a stream was cut off, or memory was not freed.
"""

import concurrent.futures
import contextlib
import os
import random
import resource
import socket
import sqlite3
import struct
import threading
import time

import server
from collector import BRIEF, line, wrong

resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
STREAMS = 20 if BRIEF else 200
SECONDS = 3 if BRIEF else 15
BURST = (64 if BRIEF else 512) << 20
RATE = 1_000_000
SIZE = 28_573


def packet(body):
    return (b"\xc1\x1f\xfc\xc1" + struct.pack("<I20xH", (66 + len(body)) * 8, 2)).ljust(66, b"\0") + body


INFO = packet(struct.pack("<IdB", 0, 1e-4, 64) + b"mirage\0mirage_unikernel\0\0" + b"\xff" * 8 + b"\0")


def packets(n):
    """Return N packets whose bytes are random to a third."""
    rng = random.Random(7)
    return [packet(b"".join(rng.randbytes(6) + bytes(12) for _ in range((SIZE - 66) // 18))) for _ in range(n)]


def cpu(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid):
    """Return the anonymous memory of a process in MiB."""
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(row.split()[1]) for row in f if row.startswith("RssAnon:")) / 1024


@contextlib.contextmanager
def sink():
    with server.sink("streams-per-guest = 1000\nqueue = 512M\n") as process:
        yield process, process.port()


def check(streams, size):
    """Check that all recordings are there and complete."""
    with contextlib.closing(sqlite3.connect("file:state/memtraces/memtraces.db?mode=ro", uri=True)) as db:
        rows = db.execute("SELECT count(*), sum(bytes) FROM recordings WHERE reason = 'closed'").fetchone()
        held = db.execute("SELECT sum(length) FROM pieces").fetchone()[0]
    if rows != (streams, size) or held != size:
        wrong(f"{rows} and {held} bytes in the archive, not {(streams, size)}")


def steady(process, guests, bodies):
    """Send RATE bytes/s in all, from one guest after the other. Return the bytes that were sent, and the
    sink's processor time per second."""
    sent, began, before = 0, time.monotonic(), cpu(process.pid)
    for i in range(RATE * SECONDS // SIZE):
        guests[i % len(guests)].sendall(bodies[i % len(bodies)])
        sent += len(bodies[0])
        time.sleep(max(0, began + sent / RATE - time.monotonic()))
    return sent, (cpu(process.pid) - before) / (time.monotonic() - began)


class Senders:
    """Four threads that send for all guests, no further ahead of the archive than the sink may
    hold."""

    AHEAD = 256 << 20

    def __init__(self, process, guests, bodies):
        self.process, self.guests, self.bodies = process, guests, bodies
        self.sent, self.committed = 0, 0
        self.lock = threading.Lock()

    def archived(self):
        with contextlib.closing(sqlite3.connect("file:state/memtraces/memtraces.db?mode=ro", uri=True)) as db:
            return db.execute("SELECT coalesce(sum(bytes), 0) FROM recordings").fetchone()[0]

    def wait_for_room(self):
        with self.lock:
            while self.sent - self.committed > self.AHEAD:
                self.committed = self.archived()
                time.sleep(0.02)

    def _send(self, k, each, rate, began):
        for i in range(each):
            body = self.bodies[i % len(self.bodies)]
            self.guests[(i * 4 + k) % len(self.guests)].sendall(body)
            with self.lock:
                self.sent += len(body)
            self.wait_for_room()
            if rate:
                time.sleep(max(0, began + i * 4 * SIZE / rate - time.monotonic()))

    def send(self, size, rate=None):
        """Send about SIZE bytes, no faster than RATE a second if it is set. Return bytes and
        seconds."""
        before, began = self.sent, time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for done in [pool.submit(self._send, k, size // SIZE // 4, rate, began) for k in range(4)]:
                done.result()
        return self.sent - before, time.monotonic() - began


def at_rate(senders):
    """Send RATE for each guest, as far as the machine can."""
    rate = RATE * len(senders.guests)
    before = cpu(senders.process.pid)
    sent, seconds = senders.send(rate * SECONDS, rate)
    time.sleep(1)  # the last bytes are committed, too
    share = (cpu(senders.process.pid) - before) / sent * rate
    line("sink-1MB/s-of-each-stream", share * 100, f"% of a core, at {sent / seconds / 1e6:.0f} MB/s in all", aim=50, met=share < 0.5)


def main():
    bodies = packets(64)
    with sink() as (process, port):
        guests = [socket.create_connection(("127.0.0.1", port)) for _ in range(STREAMS)]
        for guest in guests:
            guest.sendall(INFO)
        time.sleep(1)
        own = memory(process.pid)
        sent, share = steady(process, guests, bodies)
        line("sink-1MB/s-of-200-streams", share * 100, "% of a core", aim=50, met=share < 0.5)
        senders = Senders(process, guests, bodies)
        at_rate(senders)
        before, began = cpu(process.pid), time.monotonic()
        more, _ = senders.send(BURST)
        for guest in guests:
            guest.close()
        total = STREAMS * len(INFO) + sent + senders.sent
        until = time.monotonic() + 60
        with contextlib.closing(sqlite3.connect("file:state/memtraces/memtraces.db?mode=ro", uri=True)) as db:
            while db.execute("SELECT count(*) FROM recordings WHERE reason IS NULL").fetchone()[0]:
                if time.monotonic() > until:
                    wrong("not all is committed after a minute")
                time.sleep(0.02)
        seconds, used = time.monotonic() - began, cpu(process.pid) - before
        line("sink-all-they-can", more / seconds / 1e6, "MB/s")
        line("sink-per-core", more / used / 1e6, "MB per second of one core")
        check(STREAMS, total)
        time.sleep(7)
        line("sink-memory-after", memory(process.pid), f"MiB of its own after all that; {own:.0f} before")
        if memory(process.pid) > own + 32:
            wrong(f"{memory(process.pid):.0f} MiB are still its own, of which it had {own:.0f} before")


main()
