"""mprofd-forward sends what mprofd's outbox names to a real hub: forward.py BUILD-DIRECTORY [TEST…]

Each test is a host of its own, with collector and server on ring files; all share a hub.
"""

import contextlib
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "integration")]

import cluster
import daemons
from daemons import START, Ring

daemons.PROGRAMS["mprofd-forward"] = "daemon/forward/mprofd-forward"
FLEET = None  # the hub that all tests share


def setUpModule():
    global FLEET
    FLEET = unittest.enterModuleContext(cluster.cluster())


def unpack(codec, data):
    """Return the content of a piece from its hexadecimal digits."""
    data = bytes.fromhex(data)
    if codec == "0":
        return data
    return subprocess.run(["zstd", "-dc"], input=data, capture_output=True, check=True).stdout


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
        self.more, self.send, self.forwarder = more, send, None
        self.fleet()

    def fleet(self, connection=None, rate=""):
        """Write the configuration."""
        words = "".join(f"connection = {word}\n" for word in (connection or self.connection).split())
        self.configure(f"{daemons.QUIET}{self.more}[fleet]\n{words}{rate}{self.send}\n")

    def start_forwarder(self):
        self.forwarder = self._spawn("mprofd-forward", "--own", os.path.join(self.root, "own"))
        self._ready(self.forwarder)

    def stop_forwarder(self):
        self._end(self.forwarder)
        self.forwarder = None

    def kill_forwarder(self):
        self.forwarder.kill()
        self.forwarder.wait()
        self.forwarder = None

    def stop(self):
        self.stop_forwarder()
        super().stop()

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
        with contextlib.closing(sqlite3.connect(f"{self.state}/archive/trace.db", timeout=60)) as db:
            db.executescript(sql)

    def contents(self, stream, where="1"):
        """Return the content of each packet in the archive, as a reader of the file finds it."""
        found = {}
        for sequence, codec, data in self.query(
            f"SELECT sequence, codec, hex(data) FROM chunks WHERE stream = {stream} AND {where} ORDER BY sequence, offset"
        ):
            found[stream, sequence] = found.get((stream, sequence), b"") + unpack(str(codec), data)
        return found

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
            s.settimeout(30)
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


class Captures(Case):
    def test_sent_once(self):
        """A capture of a living guest, and that of its end with its tail, come to the hub once, with the host's bytes."""
        host = self.host(forwarder=False)
        with Ring("rings/web.ctf") as ring:
            host.wait(lambda: host.domain("web"))
            ring.add_packet()
            ring.add(5)
            host.wait_archived(ring, "web", ring.n - 20)
            first = host.capture("web")
            self.assertEqual([row[:3] for row in host.outbox()], [("capture", 1, first)])
            ring.add(20)
        os.unlink("rings/web.ctf")
        host.wait_ended("web")
        last = host.captures("web")[0]["id"]
        host.wait(lambda: len([row for row in host.outbox() if row[1]]) == 2)
        host.start_forwarder()
        host.wait_sent()
        self.assertEqual(host.hub_captures(), [first, last])
        for capture in (first, last):
            self.compare_capture(host, capture)
        tails = b"".join(unpack(str(codec), data) for codec, data in host.query(f"SELECT codec, hex(data) FROM tails WHERE capture = {last}"))
        self.assertGreater(len(tails), 0)
        self.assertEqual(b"".join(host.hub_capture(last, "tail").values()), tails)
        kind, guest, run = host.hub(f"SELECT kind, guest, head ->> 'run_source' FROM fleet_store.capture WHERE host = $HOST AND capture = {last}")[0]
        self.assertEqual((kind, guest, run), ("ended", "web", "dir"))

        host.wait(lambda: host.collector_metric("mprofd_forward_captures_total") == 2)
        self.assertEqual(host.collector_metric("mprofd_forward_connected"), 1)
        self.assertEqual(host.hub_packets(), {})

    def test_together(self):
        """Captures that wait are sent in few transactions, each once, and the collector is told of all."""
        host = self.host(forwarder=False)
        with host.packet() as ring:
            captures = []
            for _ in range(40):
                ring.add(2)
                captures.append(host.capture("web"))
            host.wait(lambda: len([row for row in host.outbox() if row[1]]) == 40)
            began = time.monotonic()
            host.start_forwarder()
            host.wait_sent()
            print(f"{len(captures)} captures were sent in {time.monotonic() - began:.2f} s", file=sys.stderr)
            self.assertEqual(host.hub_captures(), captures)
            transactions = host.hub_number("SELECT count(DISTINCT xmin::text) FROM fleet_store.capture WHERE host = $HOST")
            self.assertLessEqual(transactions, 4)
            for capture in captures[::13]:
                self.compare_capture(host, capture)

    def test_middle_of_packet(self):
        """A capture in the middle of a packet, and then the whole packet: the capture keeps its own end."""
        host = self.host("send = all", forwarder=False)
        with Ring("rings/web.ctf") as ring:
            host.wait(lambda: host.domain("web"))
            ring.add_packet()
            ring.add(10)
            host.wait_archived(ring, "web", ring.n - 5)
            capture = host.capture("web")
            host.start_forwarder()
            host.wait(lambda: host.hub_captures() == [capture])
            before = host.hub_capture(capture)
            for _ in range(3):
                ring.add_packet()
                host.wait_archived(ring, "web", ring.n - 20)
            host.wait(lambda: len(host.contents(1, "flags & 1")) >= 3)
            host.wait_sent()
            packets = host.hub_packets()
            self.assertEqual(packets, host.contents(1, "flags & 1"))
            self.assertEqual(host.hub_capture(capture), before)
            ((_, last),) = [key for key in before if key[1] == max(s for _, s in before)]
            self.assertTrue(packets[1, last].startswith(before[1, last]))
            self.assertLess(len(before[1, last]), len(packets[1, last]))
            self.compare_capture(host, capture)

    def test_off(self):
        """Without [fleet] there is no outbox and no metric of it."""
        with daemons.Daemons() as d:
            d.start()
            with Ring("rings/web.ctf") as ring:
                d.wait(lambda: d.domain("web"))
                ring.add_packet()
            os.unlink("rings/web.ctf")
            d.wait_ended("web")
            self.assertEqual(d.query("SELECT count(*) FROM outbox"), [(0,)])
            self.assertNotIn("mprofd_outbox", d.ask_collector("metrics"))

    def test_requests(self):
        """The collector refuses requests about the outbox that are wrong, and false acknowledgements change nothing."""
        host = self.host(forwarder=False)
        with host.packet():
            capture = host.capture("web")
            host.wait(lambda: [row[:2] for row in host.outbox()] == [("capture", 1)])
            before = host.outbox()
            for request, status in (
                ("sent 1", "400"),
                ("sent 1\nrow=-1", "400"),
                ("sent 1\nrow=18446744073709551615", "400"),
                ("sent 1\nrow=99", "404"),
                ("send-again 1", "400"),
                (f"send-again 1\ncapture={capture}\nstream=1\nfirst=0\nlast=1", "400"),
                ("send-again 1\nstream=1\nfirst=2\nlast=1", "400"),
                ("send-again 1\nstream=1\nfirst=2", "400"),
                ("send-again 1\ncapture=99", "404"),
                ("send-again 1\nstream=1\nfirst=0\nlast=5", None),  # its packets are not sent
                (f"send-again 1\ncapture={capture}", None),  # it waits already
            ):
                answer = self.request(host, request)
                self.assertTrue(answer.startswith("ok 1" if status is None else f"error 1\nstatus={status}"), (request, answer))
                self.assertEqual(host.outbox(), before)

    def test_policy(self):
        """Sections decide by the guest's name what is sent."""
        host = self.host("send = nothing\n[fleet web*]\nsend = captures\n[fleet db]\nsend = all")
        names = ["web1", "db", "other"]
        with contextlib.ExitStack() as stack:
            guests = {name: stack.enter_context(Ring(f"rings/{name}.ctf")) for name in names}
            for name, ring in guests.items():
                host.wait(lambda name=name: host.domain(name))
                ring.add_packet()
                host.wait_archived(ring, name, ring.n - 20)
        for name in names:
            os.unlink(f"rings/{name}.ctf")
            host.wait_ended(name)
        host.wait_sent()
        host.wait(lambda: len(host.hub_captures()) == 2)
        guests = [row[0] for row in host.hub("SELECT guest FROM fleet_store.capture WHERE host = $HOST ORDER BY 1")]
        self.assertEqual(guests, ["db", "web1"])
        of_db = host.query("SELECT s.id FROM streams s JOIN runs r ON r.id = s.run WHERE r.name = 'db'")[0][0]
        self.assertEqual(set(host.hub_packets()), set(host.contents(of_db, "flags & 1")))

    def test_many_gaps(self):
        """A guest whose gaps and labels would make the head too large is no reason to refuse its capture."""
        host = self.host(forwarder=False)
        with host.packet():
            capture = host.capture("web")
            host.change(
                f"""CREATE TEMP TABLE n AS WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 512) SELECT n FROM c;
                INSERT INTO gaps (stream, kind, reason, after_sequence, after_offset, next_sequence, packets, at_least, real, mono)
                    SELECT stream, 'lost', 'lapped', first_sequence, 30, last_sequence, 2, 0, 1, 1 FROM capture_streams, n WHERE capture = {capture};
                INSERT INTO streams (run, number, name, ring_bytes, ring_packets)
                    SELECT run, 1000 + n, replace(hex(zeroblob(8)), '00', '\\x1f""\\\\'), 4096, 4 FROM captures, n WHERE id = {capture} AND n < 250;
                INSERT INTO capture_streams (capture, stream, first_sequence, last_sequence, last_offset, tail_bytes)
                    SELECT {capture}, id, 0, 0, 30, 0 FROM streams WHERE number > 1000;"""
            )
            host.start_forwarder()
            host.wait_sent()
            self.assertEqual(host.hub_captures(), [capture], host.said())
            cut, lost, streams = host.hub(
                "SELECT head ->> 'cut', lost_packets, jsonb_array_length(head -> 'streams') FROM fleet_store.capture WHERE host = $HOST"
            )[0]
            self.assertEqual((cut, lost), ("true", "1024"))
            self.assertGreater(int(streams), 50)


class Failures(Case):
    def test_killed_forwarder(self):
        """Numbered writers, and kill -9 of the forwarder again and again: every packet is there once, equal to the host's."""
        host = self.host("send = all", forwarder=False)
        writer = self.writer_seen(host, "web", "--size 262144 --rate 2000000 --seconds 60")
        for n in range(12):
            host.start_forwarder()
            host.wait_begun("rings/web.ctf", 2)
            time.sleep(0.05 * n)
            if n == 6:
                host.capture("web")
            host.kill_forwarder()
        writer.send_signal(signal.SIGTERM)
        host.wait(lambda: writer.poll() is not None)
        os.unlink("rings/web.ctf")
        host.wait_ended("web")
        host.start_forwarder()
        host.wait_sent()
        complete = host.contents(1, "flags & 1")
        self.assertGreater(len(complete), 10)
        self.assertEqual(host.hub_packets(), complete)
        self.assertEqual(len(host.hub_captures()), 2)
        for capture in host.hub_captures():
            self.compare_capture(host, capture)
        self.assertEqual(host.hub("SELECT * FROM fleet_store.lost WHERE host = $HOST"), [])

    def test_killed_collector(self):
        """kill -9 of the collector loses no row of what it archived."""
        host = self.host(forwarder=False)
        with host.packet():
            capture = host.capture("web")
            host.kill_collector()
            host.start_forwarder()
            host.wait(lambda: host.hub_captures() == [capture])
            self.assertEqual(len(host.outbox()), 1)  # nobody can delete it yet
            host.start_collector()
            host.wait_sent()
            self.assertEqual(host.hub_captures(), [capture])
            self.compare_capture(host, capture)

    def test_stopped_collector(self):
        """A collector that was stopped has no socket: nothing is acknowledged until it is there again, and then once."""
        host = self.host(forwarder=False)
        with host.packet():
            capture = host.capture("web")
            host.stop_collector()
            self.assertFalse(os.path.exists(os.path.join(host.runs, "collect.sock")))
            host.start_forwarder()
            host.wait(lambda: host.said().count("mprofd cannot be told what the hub has") == 2)
            self.assertEqual(host.hub_captures(), [capture])
            self.assertEqual(len(host.outbox()), 1)
            host.start_collector()
            host.wait_sent()
            host.wait(lambda: host.collector_metric("mprofd_forward_captures_total") > 0)
            self.assertEqual(host.collector_metric("mprofd_forward_captures_total"), 1)

    def test_restored_while_stopped(self):
        """A hub that lost captures while the collector was stopped gets them when it is there again."""
        host = self.host()
        with host.packet():
            captures = [host.capture("web") for _ in range(2)]
            host.wait_sent()
            host.stop_forwarder()
            host.stop_collector()
            host.hub("DELETE FROM fleet_store.capture_piece WHERE host = $HOST; DELETE FROM fleet_store.capture WHERE host = $HOST")
            host.hub("SELECT fleet.new_epoch()")
            hellos = set()
            host.start_forwarder()
            # It says hello again, because it could not compare.
            host.wait(lambda: hellos.add(host.hub("SELECT last_hello FROM fleet_store.host WHERE host = $HOST")[0][0]) or len(hellos) == 3)
            host.start_collector()
            host.wait(lambda: host.hub_captures() == captures)
            host.wait_sent()
            self.assertEqual(host.said().count("What the hub has cannot be compared now"), 1)

    def test_hub_away(self):
        """While the hub is away captures wait, quotas delete as ever, and the hub is told what they took."""
        host = self.host("send = all", more="[policy]\nbytes = 8K\n", forwarder=False)
        connection = host.connection
        host.fleet(re.sub(r"port=\d+", f"port={daemons.free_port()}", connection))
        host.start_forwarder()
        host.wait(lambda: "The hub cannot be used: " in host.said())
        self.assertIn("Connection refused", host.said())
        with Ring("rings/web.ctf") as ring:
            host.wait(lambda: host.domain("web"))
            for _ in range(12):
                ring.add_packet()
                ring.add_slowly(2)
                host.wait(lambda: newest_archived(host) >= ring.sequence - 1)
            capture = host.capture("web")
            host.wait(lambda: host.query("SELECT 1 FROM outbox WHERE kind = 'lost'"))
            host.wait(lambda: host.collector_metric("mprofd_outbox_lost_packets_total") > 0)
            self.assertEqual(host.collector_metric("mprofd_forward_connected"), 0)
            self.assertIn("were not sent to the hub yet", host.said())
            host.stop_forwarder()
            host.fleet(connection)
            host.start_forwarder()
            host.wait_sent()
            self.assertEqual(host.hub_captures(), [capture])
            lost = host.hub("SELECT kind, stream, first_sequence, last_sequence, bytes, reason FROM fleet_store.lost WHERE host = $HOST ORDER BY 3")
            self.assertGreater(len(lost), 0)
            told = {n for row in lost for n in range(int(row[2]), int(row[3]) + 1)}
            self.assertEqual({row[5] for row in lost}, {"quota"})
            have = {sequence for _, sequence in host.hub_packets()}
            self.assertEqual(told | have, set(range(max(have) + 1)))
            self.assertEqual(told & have, set())

    def test_hub_stops(self):
        """A hub that ends and comes again gets what came meanwhile, without a restart here."""
        host = self.host("send = captures")
        with host.packet():
            first = host.capture("web")
            host.wait(lambda: host.hub_captures() == [first])
            FLEET.hub.kill()
            try:
                second = host.capture("web")
                host.wait(lambda: host.collector_metric("mprofd_forward_connected") == 0)
            finally:
                FLEET.hub.start()
            host.wait_sent()
            self.assertEqual(host.hub_captures(), [first, second])

    def test_restored_hub(self):
        """A hub that lost captures has a new epoch: they are sent again, and nothing else."""
        host = self.host()
        with host.packet():
            captures = [host.capture("web") for _ in range(4)]
            host.wait_sent()
            host.stop_forwarder()
            gone = captures[1:3]
            of_gone = f"host = $HOST AND capture IN ({gone[0]}, {gone[1]})"
            host.hub(f"DELETE FROM fleet_store.capture_piece WHERE {of_gone}; DELETE FROM fleet_store.capture WHERE {of_gone}")
            host.hub("SELECT fleet.new_epoch()")
            host.start_forwarder()
            host.wait(lambda: host.hub_captures() == captures)
            host.wait_sent()
            self.assertIn("captures=2 are sent again", host.said())
            for capture in captures:
                self.compare_capture(host, capture)
            # It is told once.
            host.stop_forwarder()
            host.start_forwarder()
            host.wait(lambda: host.said().count("Connected to the hub") == 3)
            self.assertEqual(host.said().count("are sent again"), 1)

    def test_restored_packets(self):
        """A hub that lost packets gets them again, under the policy all."""
        host = self.host("send = all")
        with Ring("rings/web.ctf", size=16384, packets=8) as ring:
            host.wait(lambda: host.domain("web"))
            for _ in range(6):
                ring.add_packet()
                ring.add_slowly(2)
            host.wait(lambda: newest_archived(host) >= ring.sequence - 1)
            host.wait(lambda: len(host.contents(1, "flags & 1")) >= 5)
            host.wait_sent()
            whole = host.hub_packets()
            self.assertEqual(whole, host.contents(1, "flags & 1"))
            host.stop_forwarder()
            host.hub("DELETE FROM fleet_store.packet_piece WHERE host = $HOST AND sequence IN (1, 2, 4)")
            self.assertEqual(len(host.hub_packets()), len(whole) - 3)
            host.hub("SELECT fleet.new_epoch()")
            host.start_forwarder()
            host.wait(lambda: len(host.hub_packets()) >= len(whole))
            host.wait_sent()
            self.assertEqual(host.hub_packets(), host.contents(1, "flags & 1"))

    def test_rate(self):
        """The rate is a limit: what it allows in some seconds is not sent in fewer."""
        host = self.host(forwarder=False)
        writer = self.writer_seen(host, "web", "--size 262144 --rate 1000000 --seconds 1")
        host.wait(lambda: writer.poll() is not None)
        host.wait_ended("web")
        capture = host.captures("web")[0]["id"]
        host.fleet(rate="rate = 32K\n")
        began = time.monotonic()
        host.start_forwarder()
        host.wait(lambda: host.hub_captures() == [capture])
        sent = host.hub_number("SELECT sum(length(data)) FROM fleet_store.capture_piece WHERE host = $HOST")
        self.assertGreater(sent, 65536)
        self.assertGreaterEqual(time.monotonic() - began, (sent - 32768) / 32768 * 0.9)
        self.compare_capture(host, capture)

    def test_low_rate(self):
        """A rate at which a piece takes minutes keeps no transaction open meanwhile, and the collector hears of the forwarder."""
        host = self.host(forwarder=False)
        with host.packet(size=65536):
            capture = host.capture("web")
            host.fleet(rate="rate = 8\n")
            host.start_forwarder()
            host.wait(lambda: host.hub_number("SELECT count(*) FROM fleet_store.capture WHERE host = $HOST AND finished IS NULL") == 1)
            host.wait(lambda: host.collector_metric("mprofd_forward_connected") == 1)
            host.stop_forwarder()
            host.fleet()
            host.start_forwarder()
            host.wait_sent()
            self.assertEqual(host.hub_captures(), [capture])
            self.compare_capture(host, capture)

    def test_past(self):
        """Packets of months that the hub does not keep are not sent, which is told once for all of them."""
        host = self.host("send = all", forwarder=False)
        with Ring("rings/web.ctf", size=16384, packets=8) as ring:
            host.wait(lambda: host.domain("web"))
            for _ in range(6):
                ring.add_packet()
                ring.add_slowly(2)
            host.wait(lambda: len(host.contents(1, "flags & 1")) >= 5)
            since = FLEET.hub.sql("SELECT keeps_since FROM fleet_store.server")
            try:
                FLEET.hub.sql("UPDATE fleet_store.server SET keeps_since = date_trunc('month', now() + interval '40 days')")
                host.start_forwarder()
                host.wait_sent()
            finally:
                FLEET.hub.sql(f"UPDATE fleet_store.server SET keeps_since = '{since}'")
            self.assertEqual(host.said().count("The hub keeps nothing as old as"), 1)
            self.assertEqual(host.hub_packets(), {})

    def test_quota_many(self):
        """A full quota is told once, whatever the objects are that do not fit."""
        host = self.host(quota=1, forwarder=False)
        with Ring("rings/web.ctf") as ring:
            host.wait(lambda: host.domain("web"))
            for _ in range(12):
                ring.add_packet()
                host.wait_archived(ring, "web", ring.n - 20)
                host.capture("web")
            host.start_forwarder()

            def refusals():
                with open(FLEET.hub.data + ".log", encoding="utf-8", errors="replace") as f:
                    return re.findall(rf" {host.name}@\S+ ERROR: +(the quota .*)", f.read())

            host.wait(lambda: len(refusals()) >= 36)
            self.assertGreater(len(set(refusals())), 1)  # the sentences differ
            self.assertEqual(host.said().count("The hub does not take something of this host now"), 1)

    def test_quota(self):
        """A hub whose quota is full gets the capture when there is room."""
        host = self.host(quota=1)
        with host.packet():
            capture = host.capture("web")
            host.wait(lambda: "The hub does not take something of this host now" in host.said())
            self.assertIn("(MP004)", host.said())
            self.assertEqual(host.hub_captures(), [])
            host.hub("UPDATE fleet_store.host SET quota_bytes = 0 WHERE host = $HOST")
            host.wait(lambda: host.hub_captures() == [capture])

    def test_other_bytes(self):
        """Other bytes under the same key are an error that is told, and not tried again."""
        host = self.host(forwarder=False)
        with host.packet():
            capture = host.capture("web")
            host.start_forwarder()
            host.wait_sent()
            host.stop_forwarder()
            host.hub("UPDATE fleet_store.capture SET bytes = bytes + 1 WHERE host = $HOST")
            self.assertTrue(self.request(host, f"send-again 1\ncapture={capture}").startswith("ok 1"))
            host.wait(lambda: host.outbox())
            host.start_forwarder()
            host.wait_sent()
            self.assertRegex(host.said(), rf"The hub refuses capture {capture}, which is not sent again: .*\(MP006\)")
            host.wait(lambda: host.collector_metric("mprofd_forward_refused_total") == 1)


class Strangers(Case):
    """Whom the hub refuses, and what the log says then."""

    def refused(self, host, sentence):
        host.start_forwarder()
        host.wait(lambda: re.search(sentence, host.said()))
        host.kill_forwarder()

    def test_no_host(self):
        host = self.host(forwarder=False, register=False)
        FLEET.certificate_make(host.name)
        self.refused(host, f'The hub cannot be used: .*role "{host.name}" does not exist')

    def test_other_name(self):
        host = self.host(forwarder=False)
        FLEET.certificate_make("another")
        host.fleet(FLEET.connection(host.name, certificate="another"))
        self.refused(host, f'The hub cannot be used: .*certificate authentication failed for user "{host.name}"')

    def test_no_certificate(self):
        host = self.host(forwarder=False)
        host.fleet(re.sub(r"sslcert=\S+ sslkey=\S+", "sslcert=/nonexistent/a sslkey=/nonexistent/b", host.connection))
        self.refused(host, "The hub cannot be used: .*certificate")

    def test_other_authority(self):
        host = self.host(forwarder=False)
        command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout other.key -out other.crt -days 9 -subj"
        subprocess.run([*command.split(), f"/CN={host.name}"], check=True, capture_output=True)
        host.fleet(re.sub(r"sslcert=\S+ sslkey=\S+", f"sslcert={host.root}/other.crt sslkey={host.root}/other.key", host.connection))
        self.refused(host, "The hub cannot be used: .*unknown ca")
        # A hub whose certificate is of another authority is no hub.
        host.fleet(re.sub(r"sslrootcert=\S+", f"sslrootcert={host.root}/other.crt", host.connection))
        self.refused(host, "The hub cannot be used: .*certificate verify failed")

    def test_revoked(self):
        host = self.host(forwarder=False)
        host.hub("UPDATE fleet_store.host SET revoked = true WHERE host = $HOST")
        self.refused(host, r"The hub takes nothing of this host: .*\(MP002\)")

    def test_two_of_one_name(self):
        host = self.host(forwarder=False)
        host.hub("UPDATE fleet_store.host SET archive = gen_random_uuid() WHERE host = $HOST")
        self.refused(host, r"The hub takes nothing of this host: .*\(MP003\)")

    def test_other_schema(self):
        """A hub that is newer or older than this program says which of both to upgrade; one without the schema is told apart."""
        host = self.host(forwarder=False)
        hello = FLEET.hub.sql("SELECT pg_get_functiondef('fleet.hello(integer, uuid, jsonb)'::regprocedure)")
        self.assertIn("version := 1;", hello)
        try:
            for version, older in ((2, "host"), (0, "hub")):
                FLEET.hub.sql(hello.replace("version := 1;", f"version := {version};"))
                self.refused(host, rf"The hub takes nothing of this host: the hub speaks version {version} .*: upgrade the {older} \(MP001\)")
            FLEET.hub.sql("ALTER FUNCTION fleet.hello RENAME TO hello_away")
            self.refused(host, r"The hub cannot be used: function fleet\.hello\(.*\) does not exist")
        finally:
            if FLEET.hub.sql("SELECT to_regproc('fleet.hello_away')"):
                FLEET.hub.sql("ALTER FUNCTION fleet.hello_away RENAME TO hello")
            FLEET.hub.sql(hello)

    def test_newer_archive(self):
        """An archive that is newer than the forwarder is told once, however often it is looked at."""
        host = self.host(forwarder=False)
        host.stop_collector()
        version = host.query("PRAGMA user_version")[0][0]
        host.change("PRAGMA user_version = 1000")
        reports = 0
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.bind(os.path.join(host.runs, "collect.sock"))
            s.listen()
            s.settimeout(60)
            host.start_forwarder()
            with s.accept()[0] as collector:
                collector.settimeout(60)
                while reports < 2:  # ten seconds lie between them
                    verb, tag = collector.recv(4096).decode().split()[:2]
                    collector.send(f"ok {tag}".encode())
                    reports += verb == "forwarding"
        os.unlink(os.path.join(host.runs, "collect.sock"))
        self.assertEqual(host.said().count("it was written by a newer version of mprofd"), 1)
        host.change(f"PRAGMA user_version = {version}")
        host.wait(lambda: "Connected to the hub" in host.said())

    def test_configuration(self):
        """A configuration without a hub, or with a connection that is none, is refused with a sentence."""
        for text, sentence in (
            ("", "names no hub: write connection in the section [fleet]"),
            ("[fleet]\nconnection = hst=hub\n", "is no connection string of libpq: invalid connection option"),
        ):
            with open("bad.conf", "w", encoding="utf-8") as f:
                f.write(text)
            done = subprocess.run(
                [daemons.program("mprofd-forward"), "--config", "bad.conf", "--own", "own"], capture_output=True, text=True, timeout=60
            )
            self.assertEqual(done.returncode, 2)  # the unit does not start it again
            self.assertIn(sentence, done.stderr)


def newest_archived(host):
    return host.query("SELECT coalesce(max(sequence), 0) FROM chunks")[0][0]


if __name__ == "__main__":
    daemons.main()
