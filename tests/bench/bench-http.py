"""Answers over HTTP, at the client: curl for long bodies, wrk for small ones.

The peers have the same bytes: nginx as a file, and for one small answer a program of libmicrohttpd alone. Both sides run in
turns.  Wrong is: a body that differs between two answers, or a request that is not answered 200.
"""

import contextlib
import json
import os
import random
import re
import socket
import sqlite3
import statistics
import struct
import subprocess
import time
import urllib.request

from collector import BRIEF, BUILD, Collector, Load, line, wrong
from server import Server

PEERS = os.environ.get("MPROF_PEERS", "/")
TURNS = 2 if BRIEF else 9
SECONDS = 1 if BRIEF else 3
MANY = 50 if BRIEF else 1000
RING = ("--rings", 1, "--size", 4 << 20, "--packets", 64, "--rate", 4_000_000 if BRIEF else 40_000_000, "--seconds", 1 if BRIEF else 4)

NGINX = """worker_processes 1; error_log {0}/nginx.log; pid {0}/nginx.pid; daemon off;
events {{ worker_connections 1024; }}
http {{ access_log off; sendfile on; keepalive_requests 100000000; client_body_temp_path {0}/body; proxy_temp_path {0}/proxy;
  fastcgi_temp_path {0}/fastcgi; uwsgi_temp_path {0}/uwsgi; scgi_temp_path {0}/scgi;
  server {{ listen 127.0.0.1:{1}; root {0}/www; }} }}
"""


def fetch(url, encoding="identity"):
    request = urllib.request.Request(url, headers={"Accept-Encoding": encoding})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def packet(body):
    """Return a packet of a memtrace stream."""
    return (b"\xc1\x1f\xfc\xc1" + struct.pack("<I20xH", (66 + len(body)) * 8, 2)).ljust(66, b"\0") + body


def record(size):
    """Have the sink record a memory profile of SIZE bytes, which are random to a third."""
    rng = random.Random(7)
    first = packet(struct.pack("<IdB", 0, 1e-4, 64) + b"mirage\0mirage_unikernel\0\0" + b"\xff" * 8 + b"\0")
    packets = [packet(b"".join(rng.randbytes(6) + bytes(12) for _ in range(1584))) for _ in range(50)]
    port = free_port()
    with open("sink.conf", "w", encoding="ascii") as f:
        f.write(f"[sink]\nlisten = 127.0.0.1:{port}\nrate = 0\nrate-per-guest = 0\nbytes-per-guest = 0\nqueue = 512M\n")
    sink = subprocess.Popen([f"{BUILD}/daemon/sink/mprofd-sink", "--state", "state", "--run", "run", "--config", "sink.conf"])
    while True:
        try:
            guest = socket.create_connection(("127.0.0.1", port))
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
    guest.sendall(first)
    sent = len(first)
    while sent < size:
        guest.sendall(packets[sent % len(packets)])
        sent += len(packets[0])
    guest.close()
    with contextlib.closing(sqlite3.connect("file:state/memtraces/memtraces.db?mode=ro", uri=True)) as db:
        while db.execute("SELECT max(bytes) FROM recordings WHERE reason = 'closed'").fetchone()[0] != sent:
            if sink.poll() is not None:
                wrong("the sink ended")
            time.sleep(0.05)
    sink.terminate()
    sink.wait()


class Nginx:
    """It serves the files of ./www."""

    def __init__(self, port):
        here = os.getcwd()
        os.chmod(here, 0o755)
        with open("nginx.conf", "w", encoding="ascii") as f:
            f.write(NGINX.format(here, port))
        self.process = subprocess.Popen([f"{PEERS}/usr/sbin/nginx", "-c", f"{here}/nginx.conf", "-g", "user root;"])
        self.base = f"http://127.0.0.1:{port}"
        while True:
            try:
                urllib.request.urlopen(self.base, timeout=1)
            except urllib.error.HTTPError:
                return
            except OSError:
                if self.process.poll() is not None:
                    wrong("nginx does not start")
                time.sleep(0.02)

    def stop(self):
        self.process.terminate()
        self.process.wait()


def seconds(url, encoding="identity"):
    """Seconds that curl waits for the whole body."""
    said = subprocess.run(
        ["curl", "-sS", "-o", "/dev/null", "-H", f"Accept-Encoding: {encoding}", "-w", "%{http_code} %{time_total}", url],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    ).stdout.split()
    if said[0] != "200":
        wrong(f"{url} was answered {said}")
    return float(said[1])


def rate(url):
    """Requests a second of eight connections."""
    said = subprocess.run(["wrk", "-t1", "-c8", f"-d{SECONDS}", url], stdout=subprocess.PIPE, text=True, check=True).stdout
    if "Non-2xx" in said or "Socket errors" in said:
        wrong(f"{url}: {said}")
    return float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1])


def long_body(name, server, nginx, path, encoding, content, aim):
    body = fetch(server.base + path, encoding)
    if body != fetch(server.base + path, encoding):
        wrong(f"two answers to {path} differ")
    with open(f"www/{name}", "wb") as f:
        f.write(body)
    ours, peer, cpu = [], [], server.cpu()
    for _ in range(TURNS):
        ours.append(seconds(server.base + path, encoding))
        peer.append(seconds(f"{nginx.base}/{name}"))
    cpu = (server.cpu() - cpu) / TURNS
    mine, theirs = (content / statistics.median(t) / 1e6 for t in (ours, peer))
    line(f"http-{name}", mine, "MB/s", theirs, aim=aim, met=mine >= aim * theirs)
    line(f"http-{name}-cpu", cpu, "s")


def small_body(name, server, nginx, path, aim, bare=False):
    body = fetch(server.base + path)
    with open(f"www/{name}", "wb") as f:
        f.write(body)
    if bare:
        peer = subprocess.Popen([f"{BUILD}/tests/bench/bare-http", f"www/{name}"], stdout=subprocess.PIPE, text=True)
        base = f"http://127.0.0.1:{int(peer.stdout.readline())}"
    turns = [(rate(server.base + path), rate(f"{base if bare else nginx.base}/{name}")) for _ in range(min(TURNS, 3))]
    if bare:
        peer.kill()
        peer.wait()
    ours, theirs = (statistics.median(t) for t in zip(*turns))
    line(f"http-{name}", ours, "requests/s", theirs, aim=aim, met=ours >= aim * theirs)


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
        long_body("trace", server, nginx, f"{path}/trace", "identity", content, 0.8)
        long_body("trace-zstd", server, nginx, f"{path}/trace", "zstd", content, 0.8)
        long_body("ctf-tar", server, nginx, f"{path}/ctf.tar", "identity", content, 0.8)
        data = "/v1/memtraces/1/data"
        content = len(fetch(f"{server.base}{data}"))
        long_body("memtrace", server, nginx, data, "identity", content, 0.8)
        long_body("memtrace-zstd", server, nginx, data, "zstd", content, 0.8)
        small_body("domain", server, nginx, path, 0.7, bare=True)
        small_body("domains-12", server, nginx, "/v1/domains?limit=12", 0.7, bare=True)
        small_body("domains-1000", server, nginx, "/v1/domains?limit=1000", 0.7, bare=True)
        small_body("trace-83K", server, nginx, f"{path}/trace?last=83KB", 0.3)
        small_body("packets", server, nginx, f"{path}/packets?limit=100", 0.3)
        line("http-memory", server.peak(), "MiB resident at most, of mprofd-http")
    finally:
        nginx.stop()
        server.stop()


main()
