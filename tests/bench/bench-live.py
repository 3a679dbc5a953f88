"""From the commit to the client's byte: 100 clients follow one guest.

A thread asks the archive for its data version, over and over, and so knows when a commit became visible. Another reads what each
client of /live gets.  The latency is the time from a commit to the first byte that a client gets behind it.  Wrong is: a client that
gets nothing.
"""

import os
import re
import selectors
import socket
import sqlite3
import subprocess
import threading
import time

from collector import BRIEF, BUILD, Collector, Load, line, wrong

FOLLOWERS = 5 if BRIEF else 100
SECONDS = 4 if BRIEF else 20


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


class Server:
    def __init__(self):
        self.path = os.path.abspath("http.sock")
        open("http.conf", "w", encoding="ascii").close()
        self.log = open("http.log", "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [f"{BUILD}/daemon/serve/mprofd-http", "--state", "state", "--run", "run", "--config", "http.conf"] + ["--listen", f"unix:{self.path}"],
            stderr=self.log,
        )
        while "listening on" not in open("http.log", encoding="utf-8").read():
            if self.process.poll() is not None:
                wrong("mprofd-http does not start")
            time.sleep(0.01)

    def follow(self):
        s = socket.socket(socket.AF_UNIX)
        s.connect(self.path)
        s.sendall(b"GET /v1/domains/load-0/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        if not re.match(rb"HTTP/1.1 200", s.recv(65536)):
            wrong("a follower is not answered 200")
        return s

    def cpu(self):
        with open(f"/proc/{self.process.pid}/schedstat", encoding="ascii") as f:
            return int(f.read().split()[0]) / 1e9

    def stop(self):
        self.process.terminate()
        self.process.wait()


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
        server = Server()
        try:
            sockets = [server.follow() for _ in range(FOLLOWERS)]
            arrivals(sockets, 1)
            commits = Commits()
            commits.start()
            cpu = server.cpu()
            times = arrivals(sockets, SECONDS)
            cpu = server.cpu() - cpu
            commits.over.set()
            commits.join()
        finally:
            server.stop()
    if not all(times):
        wrong("a follower got nothing")
    all_of_them = sorted(ms for t in times for ms in latencies(commits.times, t))
    if not all_of_them:
        wrong("no byte came behind a commit")
    median = all_of_them[len(all_of_them) // 2]
    line("live-median", median, "ms", aim=5, met=median <= 5)
    line("live-99th", all_of_them[len(all_of_them) * 99 // 100], "ms")
    line("live-commits", len(commits.times), "commits")
    line("live-cpu", cpu / SECONDS * 100, "% of a core")


main()
