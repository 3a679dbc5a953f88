"""Measure a small request beside a thousand slow clients, all of one address and with default
settings.

A third of them connect, send a byte and close, over and over; a third send a byte now and then; a
third send FIN behind part of a request. Each reconnects as soon as its old connection is closed.
Meanwhile an honest client connects and asks for /healthz. The benchmark fails if an honest request
is not answered with 200.
"""

import resource
import selectors
import socket
import threading
import time

from collector import BRIEF, line, wrong
from server import Server

resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
CLIENTS = 1000
REQUESTS = 50 if BRIEF else 1000
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


class SlowClients(threading.Thread):
    """CLIENTS slow clients at ADDRESS, in one thread, slow enough to leave the processors to
    others."""

    def __init__(self, family, address):
        super().__init__()
        self.family, self.address = family, address
        self.selector = selectors.DefaultSelector()
        self.sockets = [None] * CLIENTS
        self.over = threading.Event()
        self.connected = 0

    def run(self):
        while not self.over.is_set():
            began = time.monotonic()
            for index in range(CLIENTS):
                self.step(index)
                if index % 20 == 19:
                    time.sleep(0.001)
            for key, _ in self.selector.select(0):
                self.drop(key.data)
            time.sleep(max(0, 0.1 - (time.monotonic() - began)))
        for index in range(CLIENTS):
            self.drop(index)

    def step(self, index):
        """Connect client INDEX if it has no connection, else do what its kind of client does."""
        s = self.sockets[index]
        try:
            if s is None:
                self.sockets[index] = s = socket.socket(self.family)
                s.setblocking(False)
                if s.connect_ex(self.address) == 0:
                    s.send(b"G")
                self.selector.register(s, selectors.EVENT_READ, index)
                self.connected += 1
            elif index % 3 == 0:
                self.drop(index)
            elif index % 3 == 1:
                s.send(b"x")
            else:
                s.shutdown(socket.SHUT_WR)
        except OSError:
            self.drop(index)

    def drop(self, index):
        if self.sockets[index]:
            try:
                self.selector.unregister(self.sockets[index])
            except KeyError:
                pass
            self.sockets[index].close()
            self.sockets[index] = None


def ask(family, address):
    """Return the seconds until an honest client has its answer."""
    began = time.monotonic()
    with socket.socket(family) as s:
        s.settimeout(300)
        s.connect(address)
        s.sendall(HEALTH)
        said = s.recv(100)
    if not said.startswith(b"HTTP/1.1 200"):
        wrong(f"an honest client was answered {said!r}")
    return time.monotonic() - began


def measure(name, family, address):
    slow_clients = SlowClients(family, address)
    slow_clients.start()
    try:
        while slow_clients.connected < CLIENTS:
            time.sleep(0.01)
        times = []
        for _ in range(REQUESTS):
            times.append(ask(family, address) * 1000)
            time.sleep(0.002)
    finally:
        slow_clients.over.set()
        slow_clients.join()
    times.sort()
    line(f"clients-{name}-median", times[len(times) // 2], "ms")
    line(f"clients-{name}-worst", times[-1], "ms", aim=100, met=times[-1] < 100)


def main():
    server = Server()
    try:
        measure("tcp", socket.AF_INET, ("127.0.0.1", server.port))
        measure("unix", socket.AF_UNIX, server.path)
    finally:
        server.stop()


main()
