"""A host of the fleet, with collector, server and forwarder on ring files, and the hub that all hosts of a script share."""

import contextlib
import os
import re
import socket
import sqlite3
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "integration")]

import cluster
import daemons
from daemons import START, Ring
from frames import unzstd

FLEET = None  # the hub that all tests share


def setUpModule():
    global FLEET
    FLEET = unittest.enterModuleContext(cluster.cluster())


def unpack(codec, data):
    """Return the content of a piece from its hexadecimal digits."""
    data = bytes.fromhex(data)
    if codec == "0":
        return data
    return unzstd(data)


class Host(daemons.Daemons):
    """A host of the fleet: its daemons and its forwarder."""

    number = 0

    def __init__(self, send="send = captures", more="", quota=0, register=True):
        Host.number += 1
        self.name = f"host{Host.number}"
        self.connection = FLEET.connection(self.name)
        if register:
            FLEET.host_add(self.name, quota)
        super().__init__()
        self.more, self.send = more, send
        self.clock = os.path.join(self.root, "own", "clock.sock")  # for advance()
        self.fleet()

    def fleet(self, connection=None, rate=""):
        """Write the configuration."""
        words = "".join(f"connection = {word}\n" for word in (connection or self.connection).split())
        self.configure(f"{daemons.QUIET}{self.more}[fleet]\n{words}{rate}{self.send}\n")

    def start_forwarder(self):
        self.forwarder = self.launch("mprofd-forward", "--own", os.path.join(self.root, "own"))

    @contextlib.contextmanager
    def packet(self, **options):
        """A ring of the guest web, whose first packet is archived."""
        with Ring("rings/web.ctf", **options) as ring:
            self.wait(lambda: self.domain("web"))
            ring.add_packet()
            self.wait_archived(ring, "web", ring.n - 20)
            yield ring

    # ---- the hub

    def hub(self, sql):
        """Return the rows of a query on the hub about this host, which SQL calls $HOST."""
        text = FLEET.hub.sql(sql.replace("$HOST", f"'{self.name}'"))
        return [line.split("|") for line in text.splitlines()]

    def hub_number(self, sql):
        return int(self.hub(sql)[0][0])

    def hub_captures(self):
        """Return the captures that readers see."""
        return [int(row[0]) for row in self.hub("SELECT capture FROM fleet_store.capture WHERE host = $HOST AND finished IS NOT NULL ORDER BY 1")]

    def hub_capture(self, capture, part="trace"):
        """Return the content of each packet of a capture: {(stream, sequence): bytes}."""
        found = {}
        rows = self.hub(
            f"""SELECT stream, sequence, "offset", length, codec, encode(data, 'hex') FROM fleet_store.capture_piece
            WHERE host = $HOST AND capture = {capture} AND part = '{part}' ORDER BY stream, number"""
        )
        for stream, sequence, offset, length, codec, data in rows:
            content = unpack(codec, data)
            assert len(content) == int(length)
            key = int(stream), int(sequence)
            assert part != "trace" or int(offset) == START + len(found.get(key, b""))
            found[key] = found.get(key, b"") + content
        return found

    def hub_packets(self):
        """Return the content of each complete packet: {(stream, sequence): bytes}."""
        found = {}
        rows = self.hub(
            """SELECT stream, sequence, number, pieces, "offset", length, codec, encode(data, 'hex') FROM fleet_store.packet_piece
            WHERE host = $HOST ORDER BY stream, sequence, number"""
        )
        counted = {}
        for stream, sequence, number, pieces, _, length, codec, data in rows:
            content, key = unpack(codec, data), (int(stream), int(sequence))
            assert len(content) == int(length) and int(number) == counted.get(key, (0, 0))[0]
            counted[key] = (int(number) + 1, int(pieces))
            found[key] = found.get(key, b"") + content
        assert all(n == pieces for n, pieces in counted.values()), counted
        return found

    # ---- this host

    def outbox(self):
        return self.query("SELECT kind, ready, capture, stream, first_sequence, last_sequence FROM outbox ORDER BY id")

    def change(self, sql):
        """Change the archive behind the collector's back."""
        with contextlib.closing(sqlite3.connect(f"{self.state}/archive/trace.db", timeout=daemons.HANGS)) as db:
            db.executescript(sql)

    def contents(self, stream, where="1"):
        """Return the content of each packet in the archive, as a reader of the file finds it."""
        found = {}
        for sequence, codec, data in self.query(
            f"SELECT sequence, codec, hex(data) FROM chunks WHERE stream = {stream} AND {where} ORDER BY sequence, offset"
        ):
            found[stream, sequence] = found.get((stream, sequence), b"") + unpack(str(codec), data)
        return found

    def wait_complete(self, ring, n):
        """Write events slowly until N complete packets of the stream 1 are archived, and those that were filled meanwhile: later events
        prove earlier ones."""
        self.wait(lambda: len(self.contents(1, "flags & 1")) >= max(n, ring.sequence) or ring.add(1), pause=0.2)

    def capture(self, name):
        status, _, text = self.ask(f"/v1/domains/{name}/captures", "POST", "{}", {"Content-Type": "application/json"})
        assert status == 201, text
        return int(re.search(rb'"id": ?(\d+)', text)[1])

    def wait_sent(self):
        """Wait until everything that waits was sent."""
        self.wait(lambda: not self.query("SELECT 1 FROM outbox LIMIT 1"))


class Case(daemons.Case):
    def host(self, *arguments, forwarder=True, **options):
        host = self.enterContext(Host(*arguments, **options))
        host.start()
        if forwarder:
            host.start_forwarder()
        return host

    def request(self, host, text):
        """Return the collector's answer to a request."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.settimeout(daemons.HANGS)
            s.connect(os.path.join(host.runs, "collect.sock"))
            s.send(text.encode())
            return s.recv(65536).decode()

    def compare_capture(self, host, capture):
        """The hub has exactly the capture's frozen bytes, as the host's own server gives them."""
        served = b""
        for stream in host.json(f"/v1/captures/{capture}")["streams"]:
            served += host.get(f"/v1/captures/{capture}/trace?stream={stream['stream']}")
        at, contents = 0, []
        while at < len(served):
            size, content = (value // 8 for value in daemons.HEADER.unpack_from(served, at)[2::2])
            contents.append(served[at + START : at + content])
            at += size
        # The server shows the whole events of the tail behind the proven bytes.
        sent, tails = host.hub_capture(capture), host.hub_capture(capture, "tail")
        sent = {key: sent.get(key, b"") + tails.get(key, b"") for key in sorted({*sent, *tails})}
        joined = [content for content in sent.values() if content]
        contents = [content for content in contents if content]
        proven = [len(content) for content in host.hub_capture(capture).values() if content]
        self.assertEqual(len(joined), len(contents))
        self.assertTrue(all(content.startswith(shown) for content, shown in zip(joined, contents)))
        self.assertTrue(all(len(shown) >= least for least, shown in zip(proven, contents)))
