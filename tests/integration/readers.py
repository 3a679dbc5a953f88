"""Run slow readers against the writer: readers.py BUILD-DIRECTORY [TEST…]

Ten clients download and follow, none faster than a slow line, while eight guests write. The
write-ahead log must begin anew meanwhile, each client must get whole and true packets, and no event
may be lost because of them.
"""

import os
import socket
import threading
import time

import daemons
from daemons import Lost, judge
from truth import packets

WAL = 2 << 20
CONFIG = f"""[collector]
flush-interval = 100ms
[archive]
wal-limit = {WAL}
free-space = 1M
reserve = 0
"""
RATE = 150_000


class Client(threading.Thread):
    """Read slowly, a few KiB at a time, with a small socket buffer."""

    def __init__(self, d, path):
        super().__init__()
        self.path, self.socket_path, self.error = path, d.socket, None
        self.bodies, self.whole, self.asked = [], 0, 0
        self.has_read = False
        self.stop = threading.Event()

    def run(self):
        try:
            while not self.stop.is_set():
                self.request()
        except Exception as error:  # the thread that waits for this one reports it
            self.error = error

    def request(self):
        self.asked += 1
        connection = daemons.UnixConnection(self.socket_path, daemons.HANGS)
        connection.connect()
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        body = []
        try:
            connection.request("GET", self.path)
            answer = connection.getresponse()
            if answer.status != 200:
                raise Lost(answer.status, answer.read())
            while not (self.stop.is_set() and "live" in self.path):
                piece = answer.read1(8192)
                if not piece:
                    self.whole += 1
                    break
                body.append(piece)
                self.has_read = True
                time.sleep(0.02)
        finally:
            connection.close()
        self.bodies.append(b"".join(body))


class Slow(daemons.Case):
    def wait_renewed(self, d, clients):
        """Wait until the log has begun anew twice during one request, for a download and for a live body: no request reads all the time
        from one state of the archive, which would keep the log of all that comes behind."""
        renewed, salt, since, wanted = 0, b"", {}, {True, False}

        def enough():
            nonlocal renewed, salt
            with open(f"{d.state}/archive/trace.db-wal", "rb") as f:
                now = os.pread(f.fileno(), 8, 16)  # they differ each time that the log begins anew
            renewed, salt = renewed + (now != salt), now
            for client in clients:
                asked, at = since.setdefault(client, (client.asked, renewed))
                if client.asked != asked:
                    since[client] = client.asked, renewed
                elif renewed - at >= 2:
                    wanted.discard("live" in client.path)
            return not wanted or not all(client.is_alive() for client in clients)

        d.wait(enough, daemons.HANGS)

    def check_body(self, name, client, index):
        """Check that every packet of every answer is true. The last packet of a stream that goes on
        may be cut."""
        for body in client.bodies:
            if "live" in client.path:
                body = whole_packets(body)
            packets(body, client.path)
            if body:
                judge(f"{name}-{index}", f"{name}.truth", body, [])

    def test_ten_clients(self):
        d = self.daemons(CONFIG)
        names = [f"guest-{i}" for i in range(8)]
        options = f"--size 1048576 --rate {RATE}".split()
        guests = {
            n: self.writer("writer-legacy", "--ring", f"rings/{n}.ctf", "--truth", f"{n}.truth", "--leash", f"{n}.leash", *options) for n in names
        }
        self.loosening(d)
        for name in names:
            d.wait(lambda name=name: d.domain(name) and d.domain(name)["streams"][0]["packets"] > 1)
        paths = [f"/v1/domains/{names[i % 8]}/{'live' if i % 2 else 'trace'}" for i in range(10)]
        clients = [Client(d, path) for path in paths]
        for client in clients:
            client.start()
        self.wait_renewed(d, clients)
        d.wait(lambda: all(client.has_read or not client.is_alive() for client in clients))
        for client in clients:
            client.stop.set()
        for client in clients:
            client.join(daemons.HANGS)
            self.assertFalse(client.is_alive())
            self.assertIsNone(client.error, client.path)
        for writer in guests.values():
            writer.terminate()
            writer.wait(daemons.HANGS)
        for name in names:
            d.wait_ended(name)
            pages = d.packets(name)
            judge(name, f"{name}.truth", d.trace(name), pages, "--ended", "--begin", "0")
            self.assertEqual([gap for page in pages for gap in page["gaps"]], [], name)
        for index, client in enumerate(clients):
            self.assertTrue(any(client.bodies), client.path)
            self.check_body(client.path.split("/")[3], client, index)
        metrics = d.metrics()
        self.assertIn("mprofd_queue_full_total 0", metrics)
        self.assertIn("mprofd_lost_packets_total 0", metrics)


def whole_packets(body):
    at = 0
    while at + daemons.START <= len(body):
        size = int.from_bytes(body[at + 20 : at + 24], "little") // 8
        if at + size > len(body):
            break
        at += size
    return body[:at]


if __name__ == "__main__":
    daemons.main()
