"""mprofd-forward sends what mprofd's outbox names to a real hub: forward.py BUILD-DIRECTORY [TEST…]

Nothing fails here. The tests send captures, packets and policies, and reach the limits of a host and of the hub.
"""

import contextlib
import os
import re
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "integration")]

import daemons
import fleethost
import turns
from daemons import Ring

setUpModule = fleethost.setUpModule


class Captures(fleethost.Case):
    def test_sent_once(self):
        """A capture of a living guest, and that of its end with its tail, come to the hub once, with the host's bytes."""
        host = self.host(forwarder=False)
        with Ring("rings/web.ctf") as ring:
            host.wait(lambda: host.domain("web"))
            ring.add_packet()
            ring.add(5)
            host.wait_archived(ring, "web", ring.n - 20)
            first = host.capture("web")
            host.wait(lambda: [row[:3] for row in host.outbox()] == [("capture", 1, first)])
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
        tails = b"".join(
            fleethost.unpack(str(codec), data) for codec, data in host.query(f"SELECT codec, hex(data) FROM tails WHERE capture = {last}")
        )
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
            took = time.monotonic() - began
            print(f"{len(captures)} captures were sent in {took:.2f} s", file=sys.stderr)
            self.assertEqual(host.hub_captures(), captures)
            transactions = host.hub_number("SELECT count(DISTINCT xmin::text) FROM fleet_store.capture WHERE host = $HOST")
            self.assertLessEqual(transactions, 4 + took // 60)  # one ends when it is a minute old, too
            for capture in captures[::13]:
                self.compare_capture(host, capture)

    @turns.long
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
            host.wait_complete(ring, 3)
            # The archive may complete one more packet between two looks.
            packets = host.wait(lambda: (found := host.hub_packets()) == host.contents(1, "flags & 1") and found)
            host.wait_sent()
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

    def test_damaged_before_it_was_sent(self):
        """Bytes that the disk damages before they are sent are a loss on the hub: packets, a part of a capture, and a capture's streams."""
        host = self.host("send = all", forwarder=False)
        with host.packet() as ring:
            for _ in range(3):
                ring.add_packet()
                host.wait_archived(ring, "web", ring.n - 20)
            part, lacks = host.capture("web"), host.capture("web")
            host.stop_collector()
            host.change(
                f"""UPDATE chunks SET data = zeroblob(length(data)) WHERE sequence = 1;
                DELETE FROM capture_streams WHERE capture = {lacks};
                DELETE FROM capture_lists WHERE capture = {lacks};"""
            )
            host.start_collector()
            host.wait(lambda: host.ask(f"/v1/captures/{part}/trace")[0] == 200)
            self.assertEqual(host.ask(f"/v1/captures/{part}/trace")[1]["Mprof-Lost-Packets"], "1")
            self.assertEqual([host.json(f"/v1/captures/{capture}")["complete"] for capture in (part, lacks)], [False, False])
            self.assertEqual(host.ask(f"/v1/captures/{lacks}/trace")[0], 410)
            host.start_forwarder()
            host.wait_sent()
            self.assertEqual(host.hub_captures(), [part, lacks])
            losses = host.hub(
                "SELECT DISTINCT kind, capture, coalesce(first_sequence, -1), coalesce(last_sequence, -1), reason FROM fleet.losses WHERE host = $HOST ORDER BY 1, 2"
            )
            self.assertEqual(
                losses,
                [["packets", "0", "1", "1", "damaged"], ["range", str(part), "1", "1", "damaged"], ["range", str(lacks), "-1", "-1", "damaged"]],
            )
            whole = """SELECT capture FROM fleet_store.capture WHERE host = $HOST AND NOT head -> 'streams' @> '[{"complete": false}]'"""
            self.assertEqual(host.hub(whole), [])

    @turns.long
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
                    SELECT {capture}, id, 0, 0, 30, 0 FROM streams WHERE number > 1000;
                UPDATE row_sums SET unchecked = 1000000;"""
            )
            host.start_forwarder()
            host.wait_sent()
            self.assertEqual(host.hub_captures(), [capture], host.said())
            cut, lost, streams = host.hub(
                "SELECT head ->> 'cut', lost_packets, jsonb_array_length(head -> 'streams') FROM fleet_store.capture WHERE host = $HOST"
            )[0]
            self.assertEqual((cut, lost), ("true", "1024"))
            self.assertGreater(int(streams), 50)

    @turns.long
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


class Limits(fleethost.Case):
    """Captures and packets that a rate, a quota or the months that the hub keeps hold back."""

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

    @turns.long
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

    @turns.long
    def test_past(self):
        """Packets of months that the hub does not keep are not sent, which is told once for all of them."""
        host = self.host("send = all", forwarder=False)
        with Ring("rings/web.ctf", size=16384, packets=8) as ring:
            host.wait(lambda: host.domain("web"))
            for _ in range(6):
                ring.add_packet()
                ring.add_slowly(2)
            host.wait_complete(ring, 6)
            since = fleethost.FLEET.hub.sql("SELECT keeps_since FROM fleet_store.server")
            try:
                fleethost.FLEET.hub.sql("UPDATE fleet_store.server SET keeps_since = date_trunc('month', now() + interval '40 days')")
                host.start_forwarder()
                host.wait_sent()
            finally:
                fleethost.FLEET.hub.sql(f"UPDATE fleet_store.server SET keeps_since = '{since}'")
            self.assertEqual(host.said().count("The hub keeps nothing as old as"), 1)
            self.assertEqual(host.hub_packets(), {})

    @turns.long
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
                with open(fleethost.FLEET.hub.data + ".log", encoding="utf-8", errors="replace") as f:
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


if __name__ == "__main__":
    daemons.main()
