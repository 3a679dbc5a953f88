"""A small request beside many clients: 200 followers of one guest, 50 downloads and 500 idle connections.

The small request is one domain, over and over on one connection, first alone and then beside the crowd; a guest writes 200 KB/s all the
time. The downloads of the first crowd take 2 MB/s each, those of the second as much as they get. The crowd is a process of its own.
Wrong is: a request that is not answered 200, and a follower or a download that gets nothing.
"""

import multiprocessing
import selectors
import socket
import time

import server
from collector import BRIEF, Collector, Load, line, wrong

FOLLOWERS, DOWNLOADS, IDLE = (10, 4, 20) if BRIEF else (200, 50, 500)
REQUESTS = 100 if BRIEF else 2000
RATE = 2_000_000
TRACE = ("--rings", 2, "--size", 1 << 20, "--packets", 16, "--rate")


class Server(server.Server):
    def __init__(self):
        super().__init__(config="[http]\nconnections = 1000\nconnections-per-peer = 1000\n")

    def connect(self, path=None):
        s = socket.socket(socket.AF_UNIX)
        s.connect(self.path)
        if path:
            s.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path)
        return s


def crowd(host, rate, ready):
    """Be the crowd until the process ends. READY gets a message when each client got its first bytes."""
    selector = selectors.EpollSelector()
    idle = [host.connect() for _ in range(IDLE)]
    due, new = {}, set()

    def begin(path):
        s = host.connect(path)
        s.setblocking(False)
        selector.register(s, selectors.EVENT_READ, path)
        new.add(s)

    for _ in range(FOLLOWERS):
        begin(b"/v1/domains/load-0/live")
    for _ in range(DOWNLOADS):
        begin(b"/v1/domains/load-1/trace")
    while idle:
        for key, _ in selector.select(0.005):
            s = key.fileobj
            got = s.recv(65536)
            new.discard(s)
            if ready and not new:
                ready.send("ready")
                ready = None
            if not got:
                selector.unregister(s)
                s.close()
                begin(key.data)
            elif rate and key.data.endswith(b"trace"):
                selector.unregister(s)
                due[s] = (time.monotonic() + len(got) / rate, key.data)
        for s, (when, path) in list(due.items()):
            if when <= time.monotonic():
                selector.register(s, selectors.EVENT_READ, path)
                del due[s]


def requests(host):
    """Milliseconds of each request, sorted."""
    times = []
    with host.connect() as s:
        s.settimeout(30)
        for _ in range(REQUESTS):
            began = time.monotonic()
            s.sendall(b"GET /v1/domains/load-0 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            said = s.recv(65536)
            times.append((time.monotonic() - began) * 1000)
            if not said.startswith(b"HTTP/1.1 200"):
                wrong(f"the small request was answered {said!r}")
            time.sleep(0.002)
    return sorted(times)


def measure(name, host, rate=None):
    """Measure beside a crowd, or alone if RATE is None."""
    if rate is not None:
        mine, theirs = multiprocessing.Pipe()
        process = multiprocessing.Process(target=crowd, args=(host, rate, theirs), daemon=True)
        process.start()
        if not mine.poll(60):
            wrong("a client of the crowd got nothing")
    times = requests(host)
    if rate is not None:
        if not process.is_alive():
            wrong("the crowd ended")
        process.kill()
        process.join()
    line(f"crowd-{name}-median", times[len(times) // 2], "ms")
    line(f"crowd-{name}-99th", times[len(times) * 99 // 100], "ms")


def main():
    with Collector():
        with Load(*TRACE, 10_000_000, "--seconds", 1 if BRIEF else 6) as load:
            load.wait()
        with Load(*TRACE, 100_000, "--seconds", 600):
            host = Server()
            try:
                measure("alone", host)
                measure("paced", host, RATE)
                measure("full", host, 0)
            finally:
                host.stop()


main()
