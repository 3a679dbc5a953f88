"""The sink's share of a core: 200 streams that together send 1 MB/s; what it takes when they send all they can, and from that the share that 1 MB/s of
each would need, which is more than a machine that also plays the guests can be relied on to make.

The content is a stream's as a guest sends it: packets of 28 KB that compress to about a third.  Wrong is: a recording that is not there
byte for byte, or a stream that was cut off.
"""

import contextlib
import os
import random
import resource
import socket
import sqlite3
import struct
import subprocess
import threading
import time

from collector import BRIEF, BUILD, line, wrong

resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
STREAMS = 20 if BRIEF else 200
SECONDS = 3 if BRIEF else 15
BURST = (8 if BRIEF else 512) << 20
RATE = 1_000_000
SIZE = 28_573


def packet(body):
    return (b"\xc1\x1f\xfc\xc1" + struct.pack("<I20xH", (66 + len(body)) * 8, 2)).ljust(66, b"\0") + body


INFO = packet(struct.pack("<IdB", 0, 1e-4, 64) + b"mirage\0mirage_unikernel\0\0" + b"\xff" * 8 + b"\0")


def packets(n):
    """Bodies of which a third is noise."""
    rng = random.Random(7)
    return [packet(b"".join(rng.randbytes(6) + bytes(12) for _ in range((SIZE - 66) // 18))) for _ in range(n)]


def cpu(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def sink():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    os.makedirs("state", exist_ok=True)
    os.makedirs("run", exist_ok=True)
    limits = "streams-per-guest = 1000\nrate = 0\nrate-per-guest = 0\nbytes-per-guest = 0\nqueue = 512M"
    with open("conf", "w", encoding="utf-8") as f:
        f.write(f"[archive]\nfree-space = 1M\nreserve = 0\n[sink]\nlisten = 127.0.0.1:{port}\n{limits}\n")
    command = [f"{BUILD}/daemon/sink/mprofd-sink", "--state", "state", "--run", "run", "--config", "conf"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        while True:
            with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.05)
        yield process, port
        process.terminate()


def check(streams, size):
    """All are there, and whole."""
    with contextlib.closing(sqlite3.connect("file:state/memtraces/memtraces.db?mode=ro", uri=True)) as db:
        rows = db.execute("SELECT count(*), sum(bytes) FROM recordings WHERE reason = 'closed'").fetchone()
        held = db.execute("SELECT sum(length) FROM pieces").fetchone()[0]
    if rows != (streams, size) or held != size:
        wrong(f"{rows} and {held} bytes in the archive, not {(streams, size)}")


def steady(process, guests, bodies):
    """RATE over all of them."""
    sent, began, before = 0, time.monotonic(), cpu(process.pid)
    for i in range(RATE * SECONDS // SIZE):
        guests[i % len(guests)].sendall(bodies[i % len(bodies)])
        sent += len(bodies[0])
        time.sleep(max(0, began + sent / RATE - time.monotonic()))
    return sent, (cpu(process.pid) - before) / (time.monotonic() - began)


def burst(process, guests, bodies):
    """As fast as it goes, in a few threads; seconds and processor seconds."""
    each = BURST // SIZE // 4
    before, began = cpu(process.pid), time.monotonic()

    def send(k):
        for i in range(each):
            guests[(i * 4 + k) % len(guests)].sendall(bodies[i % len(bodies)])

    threads = [threading.Thread(target=send, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return each * 4 * len(bodies[0]), lambda: (time.monotonic() - began, cpu(process.pid) - before)


def main():
    bodies = packets(64)
    with sink() as (process, port):
        guests = [socket.create_connection(("127.0.0.1", port)) for _ in range(STREAMS)]
        for guest in guests:
            guest.sendall(INFO)
        time.sleep(1)
        sent, share = steady(process, guests, bodies)
        line("sink-1MB/s-of-200-streams", share * 100, "% of a core", aim=50, met=share < 0.5)
        more, measure = burst(process, guests, bodies)
        for guest in guests:
            guest.close()
        total = STREAMS * len(INFO) + sent + more
        until = time.monotonic() + 60
        with contextlib.closing(sqlite3.connect("file:state/memtraces/memtraces.db?mode=ro", uri=True)) as db:
            while db.execute("SELECT count(*) FROM recordings WHERE reason IS NULL").fetchone()[0]:
                if time.monotonic() > until:
                    wrong("not all is committed after a minute")
                time.sleep(0.02)
        seconds, used = measure()
        line("sink-all-they-can", more / seconds / 1e6, "MB/s")
        line("sink-per-core", more / used / 1e6, "MB per second of one core")
        share = STREAMS * RATE * used / more
        line("sink-1MB/s-of-each-stream", share * 100, "% of a core", aim=50, met=share < 0.5)
        check(STREAMS, total)


main()
