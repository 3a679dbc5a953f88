"""From the guest's store, and from the commit, to the client's byte: 100 clients follow one guest.

Each packet of a live body begins with the oldest event that is new, and an event has the time of its store. One client's packets are
taken apart: the latency is the time since that store. A thread asks the archive for its data version, over and over, and so knows when a commit became visible. Another reads what each
client of /live gets.  The latency is the time from a commit to the first byte that a client gets behind it.  Wrong is: a client that
gets nothing.
"""

import http.client
import re
import selectors
import socket
import sqlite3
import struct
import threading
import time

import server
from collector import BRIEF, Collector, Load, line, wrong

FOLLOWERS = 5 if BRIEF else 100
SECONDS = 4 if BRIEF else 20
HEADER = 30  # bytes before a packet's first event


class Commits(threading.Thread):
    """Times at which a commit became visible."""

    def __init__(self):
        super().__init__(daemon=True)
        self.times = []
        self.over = threading.Event()

    def run(self):
        db = sqlite3.connect("file:state/archive/trace.db?mode=ro", uri=True)
        before = None
        while not self.over.is_set():
            version = db.execute("PRAGMA data_version").fetchone()[0]
            if version != before:
                self.times.append(time.monotonic())
                before = version
            time.sleep(0.0003)
        db.close()


class Stores(threading.Thread):
    """Milliseconds from the store of the first event of each packet that one client gets."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.connection = http.client.HTTPConnection("localhost")
        self.connection.sock = socket.socket(socket.AF_UNIX)
        self.connection.sock.connect(path)
        self.connection.request("GET", "/v1/domains/load-0/live")
        self.body = self.connection.getresponse()
        self.found = []
        self.over = False

    def run(self):
        data = b""
        while not self.over and (more := self.body.read1(1 << 20)):
            now = time.monotonic_ns()
            data += more
            while len(data) >= HEADER and len(data) >= (size := struct.unpack_from("<I", data, 20)[0] // 8):
                if size > HEADER:
                    self.found.append((now - struct.unpack_from("<Q", data, HEADER)[0]) / 1e6)
                data = data[size:]


class Server(server.Server):
    def follow(self):
        s = socket.socket(socket.AF_UNIX)
        s.connect(self.path)
        s.sendall(b"GET /v1/domains/load-0/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        if not re.match(rb"HTTP/1.1 200", s.recv(65536)):
            wrong("a follower is not answered 200")
        return s

    def cpu(self):
        """Processor seconds of the loop's thread alone."""
        with open(f"/proc/{self.process.pid}/schedstat", encoding="ascii") as f:
            return int(f.read().split()[0]) / 1e9


def arrivals(sockets, seconds):
    """For each socket the times at which bytes came, for SECONDS."""
    selector = selectors.EpollSelector()
    times = {}
    for s in sockets:
        s.setblocking(False)
        selector.register(s, selectors.EVENT_READ)
        times[s] = []
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        for key, _ in selector.select(left):
            now = time.monotonic()
            if not key.fileobj.recv(1 << 20):
                wrong("a follower's body ended")
            times[key.fileobj].append(now)
    return times.values()


def latencies(commits, times):
    """Milliseconds from each commit to the first byte of one client behind it, if one came before the next commit."""
    found, i = [], 0
    for commit, following in zip(commits, commits[1:]):
        while i < len(times) and times[i] < commit:
            i += 1
        if i < len(times) and times[i] < following:
            found.append((times[i] - commit) * 1000)
    return found


def main():
    with Collector(), Load("--rings", 1, "--size", 1 << 20, "--packets", 16, "--rate", 200_000, "--seconds", SECONDS + 30):
        time.sleep(2)
        host = Server()
        try:
            sockets = [host.follow() for _ in range(FOLLOWERS)]
            arrivals(sockets, 1)
            stores = Stores(host.path)
            stores.start()
            arrivals(sockets, 1)
            stores.found.clear()
            commits = Commits()
            commits.start()
            cpu = host.cpu()
            times = arrivals(sockets, SECONDS)
            cpu = host.cpu() - cpu
            commits.over.set()
            commits.join()
            stores.over = True
            stores.join()
            since_store = sorted(stores.found)
        finally:
            host.stop()
    if not all(times):
        wrong("a follower got nothing")
    all_of_them = sorted(ms for t in times for ms in latencies(commits.times, t))
    if not all_of_them:
        wrong("no byte came behind a commit")
    if not since_store:
        wrong("no event came to a client")
    line("live-store-median", since_store[len(since_store) // 2], "ms")
    line("live-store-99th", since_store[len(since_store) * 99 // 100], "ms")
    median = all_of_them[len(all_of_them) // 2]
    line("live-median", median, "ms", aim=5, met=median <= 5)
    line("live-99th", all_of_them[len(all_of_them) * 99 // 100], "ms")
    line("live-commits", len(commits.times), "commits")
    line("live-cpu", cpu / SECONDS * 100, "% of a core")


main()
