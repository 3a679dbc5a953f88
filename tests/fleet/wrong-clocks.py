"""Hosts whose CLOCK_REALTIME is wrong, and a hub: wrong-clocks.py BUILD-DIRECTORY [TEST…]

The hub keeps what they send by the time at which it was taken, and shows corrected times beside their stamps.
"""

import datetime
import os
import re
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "integration")]

import clocks
import daemons
import fleethost
import sink
import turns
from daemons import Ring

DAY = clocks.DAY


def setUpModule():
    fleethost.setUpModule()
    fleethost.FLEET.person_add("people", "fleet_read", "fleet_http", "fleet_note", "fleet_pin")


def this_month():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-01")


def ago(text):
    """Return how many seconds ago a time of the API was, by the right clock."""
    return time.time() - datetime.datetime.fromisoformat(text[:19] + "+00:00").timestamp()


class Hub(daemons.Daemons):
    """mprofd-http --fleet in a directory of its own."""

    def start(self):
        self.server = self.launch("mprofd-http", "--fleet", fleethost.FLEET.connection("people"), "--listen", f"unix:{self.socket}")
        self.wait(lambda: self.ask("/readyz")[0] == 200 and b"mprofd_hub_connected 1" in self.get("/metrics"))


class WrongClocks(clocks.Shifted, fleethost.Case):
    def wrong(self, days, *arguments, **options):
        """Return a host whose clock is wrong by DAYS, without a forwarder. TLS lets a forwarder connect once the clock is right, so
        that of a test has the right clock."""
        host = self.enterContext(fleethost.Host(*arguments, **options))
        host.prefix = self.prefix(days)
        host.start()
        return host

    def hub(self):
        before = os.getcwd()
        os.makedirs("hub")
        os.chdir("hub")
        hub = self.enterContext(Hub())
        os.chdir(before)
        hub.start()
        return hub

    def keep_this_month(self):
        """Let the hub drop all months before this one."""
        fleethost.FLEET.hub.sql(f"SELECT fleet.set_keeps_since('{this_month()}')")
        fleethost.FLEET.hub.sql("SELECT fleet.drop_months(bucket) FROM fleet_store.bucket")

    def filed(self, host, capture):
        """Return the month in which the hub has a capture, and how long ago it was taken by the hub's word."""
        ((month, seconds),) = host.hub(
            f"SELECT month, extract(epoch FROM now() - at)::bigint FROM fleet_store.capture WHERE host = $HOST AND capture = {capture}"
        )
        return month, int(seconds)

    def stamps(self, hub, capture):
        """Return the stamps of all packets of a capture."""
        packets = hub.json(f"/v1/captures/{capture}/packets")["packets"]
        return [stamp for p in packets if p["copied"] for stamp in (p["copied"]["first"], p["copied"]["last"])]

    def said_by_mprofctl(self, hub, *words):
        command = [daemons.program("mprofctl"), "--host", f"unix:{hub.socket}", *words, "--utc"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def test_behind_and_ahead(self):
        """Captures of a host that is 400 days behind, and then 40 days ahead, are kept with those of this month, and shown right
        once the host's clock is synchronised."""
        self.keep_this_month()
        hub, host = self.hub(), self.wrong(-400)
        with host.packet() as ring:
            captures = [host.capture("web")]
            host.start_forwarder()
            host.wait(lambda: host.hub_captures() == captures)
            # No clock says how wrong the stamp is, but the hub's own clock and the host's age clock do.
            self.assertEqual(self.filed(host, captures[0])[0], this_month())
            self.assertLess(abs(self.filed(host, captures[0])[1]), 3600)
            (shown,) = hub.json(f"/v1/captures?host={host.name}")["captures"]
            self.assertGreater(ago(shown["time"]), 399 * DAY)
            self.assertIsNone(shown["time_corrected"])
            self.assertEqual({stamp["real_corrected"] for stamp in self.stamps(hub, shown["id"])}, {None})

            before = host.collector_metric("mprofd_clock_steps_total")
            self.shift(40)
            host.wait(lambda: host.collector_metric("mprofd_clock_steps_total") > before)
            ring.add(5)
            captures.append(host.capture("web"))
            host.wait(lambda: host.hub_captures() == captures)
            self.assertEqual(self.filed(host, captures[1])[0], this_month())
            self.assertLess(abs(self.filed(host, captures[1])[1]), 3600)
        host.wait(lambda: "is stamped" in host.said() and "as the clock of this host was wrong: the hub files it in" in host.said())

        # Retention keeps both. A comparison of what host and hub have finds no difference.
        self.keep_this_month()
        host.stop_forwarder()
        host.start_forwarder()
        host.wait(lambda: host.said().count("Connected to the hub") >= 2)
        host.wait_sent()
        os.unlink("rings/web.ctf")
        host.wait_ended("web")
        host.wait_sent()
        captures = sorted(c["id"] for c in host.captures("web"))
        self.assertEqual(host.hub_captures(), captures)
        self.assertNotIn("The hub lacks what this host holds", host.said())
        self.assertNotIn("The hub keeps nothing as old", host.said())

        before = host.collector_metric("mprofd_clock_steps_total")
        self.shift(0, synchronised=True)
        host.wait(lambda: host.collector_metric("mprofd_clock_steps_total") > before)
        host.advance(61, step=1)  # the periods are stored once a minute

        def corrected():
            listed = hub.json(f"/v1/captures?host={host.name}")["captures"]
            return listed if all(c["time_corrected"] for c in listed) else None

        for capture in host.wait(corrected):
            self.assertGreater(abs(ago(capture["time"])), 39 * DAY)
            self.assertLess(abs(ago(capture["time_corrected"])), DAY)
            own = host.json(f"/v1/captures/{capture['id'].rsplit('.')[-1]}")
            self.assertEqual([capture[name] for name in ("time", "time_corrected")], [own[name] for name in ("time", "time_corrected")])
            context = hub.json(f"/v1/captures/{capture['id']}/context")
            self.assertEqual([context[name] for name in ("time", "time_corrected")], [own[name] for name in ("time", "time_corrected")])
            self.assertLess(abs(ago(context["began_corrected"])), DAY)
            # The copy from which the hub serves was made before the hub knew the corrections.
            for stamp in self.stamps(hub, capture["id"]):
                self.assertGreater(abs(ago(stamp["real"])), 39 * DAY)
                self.assertLess(abs(ago(stamp["real_corrected"])), DAY)
        guest = hub.json(f"/v1/domains/{host.name}%2Fweb")
        self.assertGreater(abs(ago(guest["last_seen"])), 39 * DAY)
        self.assertLess(abs(ago(guest["last_seen_corrected"])), DAY)
        (run,) = guest["run_list"]
        self.assertGreater(ago(run["began"]), 399 * DAY)
        self.assertLess(abs(ago(run["began_corrected"])), DAY)

        said = self.said_by_mprofctl(hub, "captures")
        today = datetime.datetime.now(datetime.timezone.utc)
        self.assertTrue(re.search(str(today.year), said), said)
        said = self.said_by_mprofctl(hub, "show", hub.json(f"/v1/captures?host={host.name}")["captures"][0]["id"])
        self.assertIn("host's clock", said)

    def test_gaps_and_profiles(self):
        """The times of gaps and of memory profiles are on the hub as on the host, and corrected there, too."""
        hub, host = self.hub(), self.wrong(-400, more="[sink]\nlisten = 127.0.0.1:0\n")
        host.sink = host.launch("mprofd-sink", prefix=self.prefix(-400))
        with host.packet() as ring:
            ring.add_packet()
            host.wait_archived(ring, "web", ring.n - 20)
            host.change("UPDATE chunks SET data = CAST(data || x'00' AS BLOB) WHERE sequence = 1;")  # the collector declares a gap
            offer = sink.Offer(sink.stream())
            self.addCleanup(offer.close)
            body = b'{"address": "127.0.0.1", "port": %d}' % offer.port
            status, _, text = host.ask("/v1/domains/web/memtraces", "POST", body, {"Content-Type": "application/json"})
            self.assertEqual(status, 201, text)
            host.wait(lambda: host.json("/v1/memtraces")["memtraces"][0]["bytes"])
            running = host.capture("web")  # of a profile that goes on
            host.start_forwarder()
            host.wait(lambda: host.hub_captures() == [running])
            offer.close()
            offer.client.shutdown(socket.SHUT_RDWR)
            host.wait(lambda: host.json("/v1/memtraces")["memtraces"][0]["ended"])
        host.wait_ended("web")
        host.wait_sent()
        before = host.collector_metric("mprofd_clock_steps_total")
        self.shift(0, synchronised=True)
        host.wait(lambda: host.collector_metric("mprofd_clock_steps_total") > before)
        host.advance(61, step=1)  # the periods are stored once a minute
        host.advance(61, step=1, path="sink/sink.sock")
        host.wait(lambda: all(c["time_corrected"] for c in hub.json(f"/v1/captures?host={host.name}")["captures"]))

        own = host.json("/v1/memtraces")["memtraces"][0]
        names = ("began", "began_mono", "connected_mono")
        listed = hub.json(f"/v1/memtraces?host={host.name}")["memtraces"]
        self.assertEqual(len(listed), 2)
        for profile in listed:
            self.assertEqual([profile[name] for name in names], [own[name] for name in names])
            self.assertGreater(ago(profile["began"]), 399 * DAY)
            self.assertLess(abs(ago(profile["began_corrected"])), DAY)
        is_end = {profile["capture"]: profile["capture"].split(".")[-1] != str(running) for profile in listed}
        for profile in listed:
            self.assertEqual(profile["ended"], own["ended"] if is_end[profile["capture"]] else None)
            self.assertEqual(bool(profile["ended_corrected"]), is_end[profile["capture"]])
        for capture in hub.json(f"/v1/captures?host={host.name}")["captures"]:
            (gap,) = hub.json(f"/v1/captures/{capture['id']}/packets")["gaps"]
            self.assertEqual(gap, host.json(f"/v1/captures/{capture['id'].rsplit('.')[-1]}/packets")["gaps"][0])
            self.assertGreater(ago(gap["found"]), 399 * DAY)
            self.assertLess(abs(ago(gap["found_corrected"])), DAY)

    @turns.long
    def test_packets(self):
        """Packets of a host that is 400 days behind are kept with those of this month, and none is past the hub's retention."""
        self.keep_this_month()
        host = self.wrong(-400, "send = all")
        with host.packet() as ring:
            host.start_forwarder()
            for _ in range(3):
                ring.add_packet()
                host.wait_archived(ring, "web", ring.n - 20)
            host.wait(lambda: len(host.hub_packets()) >= 3)
        months = host.hub("SELECT DISTINCT month FROM fleet_store.packet_piece WHERE host = $HOST")
        self.assertEqual(months, [[this_month()]])
        self.assertNotIn("The hub keeps nothing as old", host.said())

    @turns.long
    def test_old_captures(self):
        """A capture that is really old, by the host's age clock, is past the hub's retention, however its stamp is wrong."""
        self.keep_this_month()
        host = self.wrong(0, more="[policy web]\nage = 400d\n")
        with host.packet():
            old = host.capture("web")
            host.advance(70 * DAY, step=70 * DAY)
            host.wait(lambda: host.query("SELECT age - began FROM age_clock")[0][0] > 69 * DAY * 10**9)
            self.shift(-10)
            new = host.capture("web")
            host.start_forwarder()
            host.wait(lambda: host.hub_captures() == [new])
            host.wait_sent()
        host.wait(lambda: f"The hub keeps nothing as old as capture {old}" in host.said())


if __name__ == "__main__":
    daemons.main()
