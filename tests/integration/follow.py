"""Follow a guest over connections that break at random: follow.py BUILD-DIRECTORY [TEST…]

One client reads the raw live body with ?after=, another is `mprofctl follow` through a relay. Both
are cut anywhere. Packet by packet, byte for byte, they must get the final contents of /trace,
nothing twice and nothing missing.
"""

import json
import os
import random
import socket
import subprocess
import threading
import time

import daemons
from daemons import HEADER, START, judge, program

LONGEST = 100_000  # bytes before a connection breaks; a packet of the ring has a third of that


def join(stream):
    """Return (count, content) of each packet, with the pieces of a packet joined."""
    joined, at = [], 0
    while at < len(stream):
        _, _, size, count, content = HEADER.unpack_from(stream, at)
        if at + size // 8 > len(stream):
            raise AssertionError(f"cut at byte {at}")
        body = stream[at + START : at + content // 8]
        if joined and joined[-1][0] == count:
            body = joined.pop()[1] + body
        joined.append((count, body))
        at += size // 8
    return [packet for packet in joined if packet[1]]


class Position:
    """A position, counted as the API's description tells a client to."""

    def __init__(self, text):
        self.run, self.stream, self.sequence, self.offset = map(int, text.split("."))

    def advance(self, count, content):
        if count == self.sequence & 0xFFFF:
            self.offset += content // 8 - START
        else:
            self.sequence += (count - self.sequence) & 0xFFFF
            self.offset = content // 8

    def __str__(self):
        return f"{self.run}.{self.stream}.{self.sequence}.{self.offset}"


class Raw(threading.Thread):
    """A client of the live body that leaves after some bytes, or some time, and comes back."""

    def __init__(self, d, name, seed):
        super().__init__(daemon=True)
        self.d, self.name_, self.chance = d, name, random.Random(seed)
        self.got, self.position, self.breaks, self.fault, self.repeat = b"", None, 0, None, 0

    def run(self):
        try:
            while self.body():
                self.breaks += 1
        except Exception as error:  # the test reports it
            self.fault = repr(error)

    def body(self):
        """Read one connection. Return false if the run has ended and the client has all of it."""
        connection = daemons.UnixConnection(self.d.socket, daemons.HANGS)
        after = f"?after={self.position}" if self.position else ""
        connection.request("GET", f"/v1/domains/{self.name_}/live{after}")
        answer = connection.getresponse()
        if answer.status != 200:
            raise AssertionError(f"{answer.status}: {answer.read()}")
        if self.position and answer.headers["Mprof-Position"] != str(self.position):
            # The body may begin elsewhere only behind lost packets.
            self.repeat += Position(answer.headers["Mprof-Position"]).sequence <= self.position.sequence
        self.position = Position(answer.headers["Mprof-Position"])
        ended, had = answer.headers["Mprof-Run-State"] == "ended", len(self.got)
        limit, until, held = self.chance.randrange(LONGEST), time.monotonic() + self.chance.random() * 2, b""
        try:
            while limit > 0 and time.monotonic() < until:
                piece = answer.read1(min(limit, 5000))
                if not piece:  # the end, or a gap: the body goes on behind it
                    return not ended or len(self.got) > had
                limit -= len(piece)
                held = self.take(held + piece)
        finally:
            connection.close()
        return True

    def take(self, held):
        """Take the whole packets of HELD. Return the rest."""
        while len(held) >= START:
            _, _, size, count, content = HEADER.unpack_from(held)
            if len(held) < size // 8:
                break
            self.got += held[: size // 8]
            self.position.advance(count, content)
            held = held[size // 8 :]
        return held


class Relay(threading.Thread):
    """A Unix socket in front of the server's, whose connections break."""

    def __init__(self, d, path, seed):
        super().__init__(daemon=True)
        self.d, self.chance, self.breaks = d, random.Random(seed), 0
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(8)

    def run(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.connection, args=(client, self.chance.randrange(LONGEST)), daemon=True).start()

    def connection(self, client, limit):
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(self.d.socket)
            threading.Thread(target=self.requests, args=(client, server), daemon=True).start()
            while limit > 0:
                piece = server.recv(min(limit, 5000))
                if not piece:
                    return
                client.sendall(piece)
                limit -= len(piece)
            self.breaks += 1
        except OSError:
            pass
        finally:
            for end in (client, server):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
                end.close()

    @staticmethod
    def requests(client, server):
        try:
            while piece := client.recv(5000):
                server.sendall(piece)
        except OSError:
            pass


class Follow(daemons.Case):
    def test_broken_connections(self):
        d = self.daemons()
        relay = Relay(d, "relay.sock", 1)
        relay.start()
        self.addCleanup(relay.listener.close)
        writer = self.writer_seen(d, "web", "--size 131072 --rate 400000 --events 40000 --gc-percent 20 --leash web.leash")
        self.loosening(d)
        raw = [Raw(d, "web", seed) for seed in range(3)]
        for one in raw:
            one.start()
        command = [program("mprofctl"), "--host", f"unix:{os.path.abspath('relay.sock')}", "follow", "web", "-o", "followed.ctf"]
        follower = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (follower.kill(), follower.wait(), follower.stderr.close()))
        said = json.loads(writer.communicate(timeout=daemons.HANGS)[0])
        d.wait_ended("web")
        follower.wait(daemons.HANGS)
        self.assertEqual(follower.returncode, 0, follower.stderr.read())
        trace = d.trace("web")
        counted = judge("web", "web.truth", trace, d.packets("web"), "--ended", "--begin", "0")
        self.assertEqual((counted["events"] + counted["at_end"], counted["in_gaps"]), (said["events"], 0))
        wanted = join(trace)
        for one in raw:
            one.join(daemons.HANGS)
            self.assertFalse(one.is_alive(), "it did not come to the run's end")
            self.assertEqual((one.fault, one.repeat), (None, 0))
            self.assertGreater(one.breaks, 10)
            self.assertTrue(join(one.got) == wanted, "the live body is not the trace")
        with open("followed.ctf", "rb") as f:
            self.assertTrue(join(f.read()) == wanted, "the followed stream differs from the trace")
        self.assertGreater(relay.breaks, 10)


if __name__ == "__main__":
    daemons.main()
