"""Answers over HTTP, at the client: curl for long bodies, wrk for small ones.

The peers have the same bytes: nginx as a file, and for one small answer a program of libmicrohttpd alone. Both sides run in
turns.  Wrong is: a body that differs between two answers, or a request that is not answered 200.
"""

import contextlib
import json
import os
import random
import re
import shutil
import socket
import sqlite3
import struct
import subprocess
import time

from collector import BRIEF, BUILD, Collector, Load, line, wrong
from nginx import Nginx, fetch, free_port, long_body, small_body
from server import Server, sink

MANY = 50 if BRIEF else 1000
# Bodies of 8 GB: their packets, the bytes of a packet, and the most ms to the first byte.
PLANNED = (("1M", 8192, 1 << 20, 20), ("4K", 2_000_000, 4096, 20))
RING = ("--rings", 1, "--size", 4 << 20, "--packets", 64, "--rate", 4_000_000 if BRIEF else 40_000_000, "--seconds", 1 if BRIEF else 4)


def packet(body):
    """Return a packet of a memtrace stream."""
    return (b"\xc1\x1f\xfc\xc1" + struct.pack("<I20xH", (66 + len(body)) * 8, 2)).ljust(66, b"\0") + body


def record(size):
    """Have the sink record a memory profile of SIZE bytes, which are random to a third."""
    rng = random.Random(7)
    first = packet(struct.pack("<IdB", 0, 1e-4, 64) + b"mirage\0mirage_unikernel\0\0" + b"\xff" * 8 + b"\0")
    packets = [packet(b"".join(rng.randbytes(6) + bytes(12) for _ in range(1584))) for _ in range(50)]
    process = sink("queue = 512M\n")
    guest = socket.create_connection(("127.0.0.1", process.port()))
    guest.sendall(first)
    sent = len(first)
    while sent < size:
        guest.sendall(packets[sent % len(packets)])
        sent += len(packets[0])
    guest.close()
    with contextlib.closing(sqlite3.connect("file:state/memtraces/memtraces.db?mode=ro", uri=True)) as db:
        while db.execute("SELECT max(bytes) FROM recordings WHERE reason = 'closed'").fetchone()[0] != sent:
            if process.poll() is not None:
                wrong("the sink ended")
            time.sleep(0.05)
    process.stop()


@contextlib.contextmanager
def bare(name):
    """Run a program of libmicrohttpd alone that serves the file www/NAME. Yield its base."""
    peer = subprocess.Popen([f"{BUILD}/tests/bench/bare-http", f"www/{name}"], stdout=subprocess.PIPE, text=True)
    try:
        yield f"http://127.0.0.1:{int(peer.stdout.readline())}"
    finally:
        peer.kill()
        peer.wait()


def small(name, server, nginx, path, aim, against_bare=False):
    with open(f"www/{name}", "wb") as f:
        f.write(fetch(server.base + path))
    if not against_bare:
        small_body(name, server, nginx, path, aim)
        return
    with bare(name) as base:
        small_body(name, server, nginx, path, aim, base)


# Dead rings of 160 MB together: their names, and what dead-load takes: streams, packets and packets of the tail of each, bytes of a packet.
DEAD = (
    ("no-tail", 1, 160, 0, 1 << 20),
    ("short-tail", 1, 160, 1, 1 << 20),
    ("half-tail", 1, 160, 80, 1 << 20),
    ("whole-tail", 1, 160, 160, 1 << 20),
    ("64-streams", 64, 20, 10, 1 << 17),
)


def decoded(server):
    """Bytes of decoded rows."""
    return int(re.search(r"(?m)^mprofd_http_decoded_bytes (\S+)$", fetch(f"{server.base}/metrics").decode())[1])


def looked(server):
    """Wait until the reader has looked at capture 1, and its rows are decoded: for a second none was added."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        capture = json.loads(fetch(f"{server.base}/v1/captures/1"))
        if capture.get("sentence") or capture.get("failure"):
            break
        time.sleep(0.1)
    before = -1
    while time.monotonic() < end and (not before or before != decoded(server)):
        before = decoded(server)
        time.sleep(1)


def first_byte(url):
    """Seconds until the first byte of the answer."""
    words = ["curl", "-sS", "-o", "/dev/null", "-r", "0-9999", "-w", "%{time_starttransfer}", url]
    return float(subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout)


def dead(name, streams, packets, tail, size):
    """The trace of a guest that crashed with such rings, once the reader has looked."""
    packets, tail = (packets // 10 or 1, -(-tail // 10)) if BRIEF else (packets, tail)
    os.makedirs(name)
    os.chdir(name)
    os.makedirs("www")
    os.makedirs("cache")
    os.environ["CACHE_DIRECTORY"] = os.path.abspath("cache")
    subprocess.run([f"{BUILD}/tests/bench/dead-load", "state", str(streams), str(packets), str(tail), str(size)], check=True)
    server = Server()
    nginx = Nginx(free_port())
    try:
        looked(server)
        path = f"/v1/captures/1/{'trace' if streams == 1 else 'ctf.tar'}"
        content = len(fetch(server.base + path))
        long_body(f"http-dead-{name}", server, nginx, path, "identity", content, 0.8)
        if streams == 1:
            long_body(f"http-dead-{name}-zstd", server, nginx, path, "zstd", content, 0.8)
        waits = sorted(first_byte(server.base + path) * 1000 for _ in range(9))
        line(f"http-dead-{name}-first", waits[4], "ms to the first byte", aim=20, met=waits[4] < 20)
        waits = sorted(answer_part(server.base + path, content // 2)[0] * 1000 for _ in range(9)) if streams == 1 else []
        if waits:
            line(f"http-dead-{name}-middle", waits[4], "ms to the first byte of a range in the middle", aim=20, met=waits[4] < 20)
    finally:
        nginx.stop()
        server.stop()
        os.chdir("..")


def answer_part(url, first):
    """Seconds until the first byte of an answer with 10,000 bytes from FIRST on, and the length of the whole body."""
    form = "%{http_code} %{time_starttransfer} %header{content-range}"
    words = ["curl", "-sS", "-o", "part", "-r", f"{first}-{first + 9999}", "-w", form, url]
    code, seconds, *content = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    if code != "206" or os.path.getsize("part") != 10_000:
        wrong(f"{url}: status {code} for a range, {os.path.getsize('part')} bytes")
    return float(seconds), int(content[-1].split("/")[1])


def planned(name, packets, size, aim):
    """The first byte of 8 GB in packets of SIZE bytes, and of a range in the middle: the server looks at each packet once."""
    os.makedirs(name)
    os.chdir(name)
    subprocess.run([f"{BUILD}/tests/bench/dead-load", "state", "1", str(packets // 100 if BRIEF else packets), "1", str(size)], check=True)
    server = Server(config="[http]\nreader = no\n")
    try:
        url = f"{server.base}/v1/captures/1/trace"
        seconds, length = answer_part(url, 0)
        line(f"http-plan-{name}-new", seconds * 1000, "ms to the first byte of a body that nobody asked for before")
        for where, first in (("first", 0), ("middle", length // 2)):
            waits = sorted(answer_part(url, first)[0] * 1000 for _ in range(5))
            line(f"http-plan-{name}-{where}", waits[2], "ms to the first byte", aim=None if BRIEF else aim, met=None if BRIEF else waits[2] < aim)
    finally:
        server.stop()
        os.chdir("..")
        shutil.rmtree(name)


def main():
    os.makedirs("www")
    with Collector() as collector:
        with Load(*RING, "--idle", MANY - 1) as load:
            load.wait()
        collector.stop()
    record(4_000_000 if BRIEF else 160_000_000)
    server = Server()
    nginx = Nginx(free_port())
    try:
        guests = json.loads(fetch(f"{server.base}/v1/domains?limit=1000"))["domains"]
        if len(guests) != MANY:
            wrong(f"{len(guests)} guests in place of {MANY}")
        path = "/v1/domains/load-0"
        content = len(fetch(f"{server.base}{path}/trace"))
        long_body("http-trace", server, nginx, f"{path}/trace", "identity", content, 0.8)
        long_body("http-trace-zstd", server, nginx, f"{path}/trace", "zstd", content, 0.8)
        long_body("http-ctf-tar", server, nginx, f"{path}/ctf.tar", "identity", content, 0.8)
        data = "/v1/memtraces/1/data"
        content = len(fetch(f"{server.base}{data}"))
        long_body("http-memtrace", server, nginx, data, "identity", content, 0.8)
        long_body("http-memtrace-zstd", server, nginx, data, "zstd", content, 0.8)
        small("http-domain", server, nginx, path, 0.7, against_bare=True)
        small("http-domains-12", server, nginx, "/v1/domains?limit=12", 0.7, against_bare=True)
        small("http-domains-1000", server, nginx, "/v1/domains?limit=1000", 0.7, against_bare=True)
        small("http-trace-83K", server, nginx, f"{path}/trace?last=83KB", 0.3)
        small("http-packets", server, nginx, f"{path}/packets?limit=100", 0.3)
        longest = float(re.search(r"(?m)^mprofd_http_read_seconds_max (\S+)$", fetch(f"{server.base}/metrics").decode())[1]) * 1000
        line("http-read-longest", longest, "ms, the longest read transaction of these answers", aim=50, met=longest < 50)
        line("http-memory", server.peak(), "MiB resident at most, of mprofd-http")
    finally:
        nginx.stop()
        server.stop()
    for rings in DEAD:
        dead(*rings)
    for bodies in PLANNED:
        planned(*bodies)


main()
