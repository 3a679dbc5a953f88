"""Every byte comes to the hub once, whatever fails: outages.py BUILD-DIRECTORY [TEST…]

kill -9 of the forwarder and the collector, a collector that was stopped, a hub that is away, ends, or is restored from a backup.
"""

import os
import re
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "integration")]

import daemons
import fleethost
import turns
from daemons import Ring

setUpModule = fleethost.setUpModule


class Outages(fleethost.Case):
    def test_killed_forwarder(self):
        """Numbered writers, and kill -9 of the forwarder again and again: every packet is there once, equal to the host's."""
        host = self.host("send = all", forwarder=False)
        writer = self.writer_seen(host, "web", "--size 262144 --rate 2000000 --seconds 3600")
        rounds, packets = (4, 3) if turns.BRIEF else (12, 10)
        for n in range(rounds):
            host.start_forwarder()
            host.wait_begun("rings/web.ctf", 2)
            time.sleep(0.05 * n)
            if n == rounds // 2:
                host.capture("web")
            host.kill_forwarder()
        writer.send_signal(signal.SIGTERM)
        host.wait(lambda: writer.poll() is not None)
        os.unlink("rings/web.ctf")
        host.wait_ended("web")
        host.start_forwarder()
        host.wait_sent()
        complete = host.contents(1, "flags & 1")
        self.assertGreater(len(complete), packets)
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

    @turns.long
    def test_stopped_collector(self):
        """A collector that was stopped has no socket: nothing is acknowledged until it is there again, and then once."""
        host = self.host(forwarder=False)
        with host.packet():
            capture = host.capture("web")
            host.stop_collector()
            self.assertFalse(os.path.exists(os.path.join(host.runs, "collect.sock")))
            host.start_forwarder()
            host.wait(lambda: host.said().count("mprofd cannot be told what the hub has") >= 2)
            self.assertEqual(host.hub_captures(), [capture])
            self.assertEqual(len(host.outbox()), 1)
            host.start_collector()
            host.wait_sent()
            host.wait(lambda: host.collector_metric("mprofd_forward_captures_total") > 0)
            self.assertEqual(host.collector_metric("mprofd_forward_captures_total"), 1)

    @turns.long
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
            self.assertEqual(host.said().count("The hub and the archive cannot be compared now"), 1)

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
            newest = "SELECT coalesce(max(sequence), -1) FROM chunks"
            for _ in range(12):
                ring.add_packet()
                host.wait(lambda whole=ring.sequence - 1: host.query(newest)[0][0] >= whole or ring.add(1))
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
            fleethost.FLEET.hub.kill()
            try:
                second = host.capture("web")
                host.wait(lambda: host.collector_metric("mprofd_forward_connected") == 0)
            finally:
                fleethost.FLEET.hub.start()
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
            host.wait(lambda: host.said().count("Connected to the hub") >= 3)
            self.assertEqual(host.said().count("are sent again"), 1)

    def lose(self, host, captures):
        """Let the hub lose captures."""
        of_lost = f"host = $HOST AND capture IN ({', '.join(map(str, captures))})"
        host.hub(f"DELETE FROM fleet_store.capture_piece WHERE {of_lost}; DELETE FROM fleet_store.capture WHERE {of_lost}")

    def test_restored_without_epoch(self):
        """A hub that was restored without a new epoch gets again what it lacks, and a host that has deleted captures asks for
        their month once."""
        host = self.host("send = all")
        with host.packet() as ring:
            captures = [host.capture("web") for _ in range(4)]
            for _ in range(3):
                ring.add_packet()
                ring.add_slowly(2)
            host.wait_complete(ring, 3)
            host.wait_sent()
            host.wait(lambda: host.collector_metric("mprofd_forward_compared_total") == 1)
            self.assertEqual(host.collector_metric("mprofd_forward_again_total"), 0)
            self.assertEqual(host.ask(f"/v1/captures/{captures[0]}", "DELETE")[0], 204)
            whole = host.hub_packets()
            self.lose(host, captures[1:3])
            host.hub("DELETE FROM fleet_store.packet_piece WHERE host = $HOST AND sequence = 1")
            host.hub("UPDATE fleet_store.usage SET packet_pieces = packet_pieces - 1 WHERE host = $HOST")
            fleethost.FLEET.hub.kill()
            fleethost.FLEET.hub.start()
            host.wait(lambda: host.hub_captures() == captures)
            host.wait(lambda: len(host.hub_packets()) >= len(whole))
            host.wait_sent()
            for capture in captures[1:]:
                self.compare_capture(host, capture)
            host.wait(lambda: host.hub_packets() == host.contents(1, "flags & 1"))
            host.wait(lambda: host.collector_metric("mprofd_forward_again_total") == 3)
            self.assertIn("The hub lacks what this host holds: captures=2 are sent again, packets of streams=1", host.said())
            self.assertNotIn("another epoch", host.said())

    @turns.long
    def test_epoch_at_once(self):
        """A new epoch ends the sessions of hosts, which compare at once."""
        host = self.host()
        with host.packet():
            captures = [host.capture("web") for _ in range(2)]
            host.wait_sent()
            self.lose(host, captures[:1])
            host.hub("SELECT fleet.new_epoch()")
            host.wait(lambda: host.hub_captures() == captures)
            host.wait(lambda: "another epoch" in host.said())

    @turns.long
    def test_damaged_while_compared(self):
        """The forwarder meets damaged rows while it compares the host with the hub: it tells mprofd, and goes on at once."""
        host = self.host("send = all", forwarder=False)
        with host.packet():
            captures = [host.capture("web") for _ in range(2)]
            host.wait(lambda: len(host.query("SELECT 1 FROM outbox WHERE kind = 'capture' AND ready = 1")) == 2)
            damaged = lambda table: host.query(f"SELECT damaged FROM row_sums WHERE name = '{table}'")[0][0]
            host.kill_server()  # it would tell mprofd, too
            host.change(f"UPDATE captures SET note = 'other' WHERE id = {captures[0]}")
            host.start_forwarder()
            host.wait(lambda: host.hub_captures() == captures)
            host.wait_sent()
            host.stop_forwarder()
            self.assertEqual([damaged("captures"), damaged("streams")], [1, 0])
            host.change("UPDATE streams SET ring_packets = ring_packets + 1")
            host.hub("SELECT fleet.new_epoch()")
            host.start_forwarder()
            host.wait(lambda: "another epoch" in host.said())
            self.assertEqual([damaged("captures"), damaged("streams")], [1, 1])

    def test_damaged_outbox(self):
        """Rows of the outbox that are edited or deleted are noticed and said, and the captures come to the hub."""
        host = self.host("send = all", forwarder=False)
        with host.packet():
            captures = []
            for sql in ("UPDATE outbox SET capture = capture + 1000", "UPDATE outbox SET ready = 0", "DELETE FROM outbox"):
                captures.append(host.capture("web"))
                host.wait(lambda: host.query("SELECT 1 FROM outbox WHERE kind = 'capture' AND ready = 1"))
                before = host.collector_metric("mprofd_outbox_damaged_total")
                host.change(sql)
                host.start_forwarder()
                host.advance(11)
                host.wait(lambda before=before: host.collector_metric("mprofd_outbox_damaged_total") > before)
                host.wait(lambda: host.hub_captures() == captures)
                host.wait_sent()
                host.stop_forwarder()
            self.assertEqual(host.hub_packets(), host.contents(1, "flags & 1"))
            said = host.said().count("Rows of the outbox were damaged or missing")
            self.assertGreater(said, 0)
            # Rows that were changed while mprofd was stopped are noticed at its start.
            captures.append(host.capture("web"))
            host.wait(lambda: host.query("SELECT 1 FROM outbox WHERE kind = 'capture' AND ready = 1"))
            host.stop_collector()
            host.change("DELETE FROM outbox")
            host.start_collector()
            host.start_forwarder()
            host.wait(lambda: host.hub_captures() == captures)
            host.wait(lambda: host.said().count("Rows of the outbox were damaged or missing") > said)

    @turns.long
    def test_damaged_outbox_without_packets(self):
        """Packets that are not to be sent are not said to be missing on the hub: also not if the hub's epoch that the forwarder keeps is
        damaged, which is said."""
        host = self.host()
        with host.packet() as ring:
            for _ in range(3):
                ring.add_packet()
                ring.add_slowly(2)
            captures = [host.capture("web")]
            host.wait_sent()
            host.stop_forwarder()
            captures.append(host.capture("web"))
            host.wait(lambda: host.query("SELECT 1 FROM outbox WHERE kind = 'capture' AND ready = 1"))
            host.change("DELETE FROM outbox")
            with open(os.path.join(host.root, "own", "hub-epoch"), "r+b") as f:
                f.write(b"?")
            self.lose(host, captures[:1])
            host.start_forwarder()
            host.advance(11)
            host.wait(lambda: host.hub_captures() == captures)
            host.wait_sent()
            host.wait(lambda: host.collector_metric("mprofd_forward_again_total") == 2)
            said = host.said()
            self.assertEqual(host.hub_packets(), {})
            self.assertNotRegex(said, "packets of streams=[^0]")
            self.assertRegex(said, "The epoch of the hub in .* was damaged")
            self.assertNotIn("from before this host began", said)
            self.assertNotIn("another epoch", said)

    def test_each_hour(self):
        """On a connection that lasts, host and hub are compared each hour."""
        host = self.host()
        with host.packet():
            captures = [host.capture("web") for _ in range(3)]
            host.wait_sent()
            host.wait(lambda: host.collector_metric("mprofd_forward_compared_total") == 1)
            connected = host.said().count("Connected to the hub")
            self.lose(host, captures[:2])
            hellos = "SELECT last_hello FROM fleet_store.host WHERE host = $HOST"
            first = host.hub(hellos)
            if not host.advance(1800, step=1800, path=host.clock):
                self.skipTest("the build has no option test-clock")
            host.wait(lambda: host.hub(hellos) != first)
            self.assertEqual(host.hub_captures(), captures[2:])
            host.advance(1801, step=1801, path=host.clock)
            host.wait(lambda: host.hub_captures() == captures)
            host.wait(lambda: host.collector_metric("mprofd_forward_compared_total") == 2)
            host.wait(lambda: host.collector_metric("mprofd_forward_again_total") == 2)
            self.assertIn("The hub lacks what this host holds: captures=2 are sent again", host.said())
            self.assertEqual(host.said().count("Connected to the hub"), connected)

    @turns.long
    def test_restored_packets(self):
        """A hub that lost packets gets them again, under the policy all."""
        host = self.host("send = all")
        with Ring("rings/web.ctf", size=16384, packets=8) as ring:
            host.wait(lambda: host.domain("web"))
            for _ in range(6):
                ring.add_packet()
                ring.add_slowly(2)
            host.wait_complete(ring, 6)
            host.wait(lambda: host.hub_packets() == host.contents(1, "flags & 1"))
            host.wait_sent()
            whole = host.hub_packets()
            host.stop_forwarder()
            host.hub("DELETE FROM fleet_store.packet_piece WHERE host = $HOST AND sequence IN (1, 2, 4)")
            self.assertEqual(len(host.hub_packets()), len(whole) - 3)
            host.hub("SELECT fleet.new_epoch()")
            host.start_forwarder()
            host.wait(lambda: host.hub_packets() == host.contents(1, "flags & 1"))
            self.assertGreaterEqual(len(host.hub_packets()), len(whole))


if __name__ == "__main__":
    daemons.main()
