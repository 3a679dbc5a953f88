"""No capture is lost, and none is there twice: losses.py BUILD-DIRECTORY [TEST…]

Three hosts with real daemons send to a hub with two shards and a synchronous standby each, while the forwarders and the primaries of the
servers are killed, and while a host's network is away. MPROF_ROUNDS (1) is how often each forwarder is killed; above 1 each server loses its
primary, and not a shard alone. MPROF_OUTAGE (2) is how many seconds the network is away.
"""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "integration")]

import cluster
import daemons
import fleethost
import psycopg2
import turns
from daemons import Ring

ROUNDS = int(os.environ.get("MPROF_ROUNDS", "1"))
OUTAGE = float(os.environ.get("MPROF_OUTAGE", "2"))
PATIENCE = 180
SERVERS = ("shard1", "shard2", "hub") if ROUNDS > 1 else ("shard1",)  # whose primaries are killed


def setUpModule():
    """The one test of a brief run loses no server, and needs one only."""
    servers = {} if turns.BRIEF else {"shards": 2, "standby": True}
    fleethost.FLEET = unittest.enterModuleContext(cluster.cluster(**servers))
    fleethost.FLEET.person_add("reader", "fleet_read")
    fleethost.FLEET.person_add("people", "fleet_read", "fleet_http")


class Host(fleethost.Host):
    """A host whose captures are read as a person reads them: through the views, from whichever shard has them."""

    prefix_of_forwarder = ()

    def hub(self, sql):
        sql = sql.replace("fleet_store.capture_piece", "fleet.pieces").replace("fleet_store.capture ", "fleet.captures ")
        with psycopg2.connect(fleethost.FLEET.connection("reader")) as db, db.cursor() as c:
            c.execute(sql.replace("$HOST", f"'{self.name}'").replace("%", "%%"))
            rows = c.fetchall()
        db.close()
        return [["" if value is None else str(value) for value in row] for row in rows]

    def start_forwarder(self):
        self.forwarder = self.launch("mprofd-forward", "--own", os.path.join(self.root, "own"), prefix=self.prefix_of_forwarder)

    def wait_sent(self):
        self.wait(lambda: not self.query("SELECT 1 FROM outbox LIMIT 1"), PATIENCE)


class Hub(daemons.Daemons):
    """mprofd-http on the fleet."""

    def start(self):
        self.server = self.launch("mprofd-http", "--fleet", fleethost.FLEET.connection("people"), "--listen", f"unix:{self.socket}")


class Case(fleethost.Case):
    def hosts(self):
        """Return three running hosts, of which each shard has one at least."""
        of_shard, found = {}, []
        for n in range(Host.number + 1, Host.number + 40):
            shard = fleethost.FLEET.hub.sql(f"SELECT shard FROM fleet_store.bucket WHERE bucket = fleet_store.bucket_of('host{n}')")
            if len(found) < 3 and len(of_shard.setdefault(shard, [])) < 2:
                of_shard[shard].append(n)
                found.append(n)
        self.assertEqual(len(of_shard), 2)
        return [self.one(n) for n in found]

    def one(self, n):
        fleethost.Host.number = n - 1
        os.makedirs(f"host{n}")
        with contextlib.chdir(f"host{n}"):
            host = self.enterContext(Host())
        host.start()
        host.start_forwarder()
        host.ring = self.enterContext(Ring(f"{host.rings}/web.ctf"))
        host.wait(lambda: host.domain("web"))
        host.taken = []
        return host

    def take(self, hosts, n=4):
        """Let each host take N captures."""
        for _ in range(n):
            for host in hosts:
                host.ring.add(7)
                host.taken.append(host.capture("web"))

    def check(self, hosts):
        """The hub has each capture once, with the bytes of its host."""
        for host in hosts:
            host.wait_sent()
            self.assertEqual(host.hub_captures(), host.taken, host.name)
            for capture in host.taken:
                self.compare_capture(host, capture)
            self.assertEqual(host.collector_metric("mprofd_outbox_lost_captures_total"), 0)

    def check_served(self, hosts):
        """The server of the hub, whose captures lie on two shards, answers as the hosts do."""
        os.makedirs("hub")
        with contextlib.chdir("hub"):
            hub = self.enterContext(Hub())
        hub.start()
        hub.wait(lambda: hub.ask("/readyz")[0] == 200)
        for host in hosts:
            listed = hub.json(f"/v1/captures?host={host.name}&limit=1000")["captures"]
            self.assertEqual(sorted(int(capture["id"].split(".")[-1]) for capture in listed), host.taken)
            for capture in listed[::5]:
                number = capture["id"].split(".")[-1]
                self.assertEqual(hub.get(f"/v1/captures/{capture['id']}/trace"), host.get(f"/v1/captures/{number}/trace"))
        names = {host.name for host in hosts}
        self.assertLessEqual(names, {row["host"] for row in hub.json("/v1/fleet/newest")["rows"]})
        self.assertLessEqual(names, {row["host"] for row in hub.json("/v1/hosts?limit=1000")["hosts"]})
        for question in ("crashes-by-image", "crashes-by-cause", "crashes-by-host-week", "causes-returned", "loss-by-host"):
            self.assertIn("rows", hub.json(f"/v1/fleet/{question}"))


class Servers(Case):
    @turns.long
    def test_killed(self):
        """Primaries, the hub and forwarders are killed by SIGKILL while captures come; standbys take over."""
        fleet, hosts = fleethost.FLEET, self.hosts()
        self.take(hosts)
        for _ in range(ROUNDS):
            for host in hosts:
                self.take([host], 2)
                host.kill_forwarder()
                self.take([host], 1)
                host.start_forwarder()
        for name in SERVERS:
            self.take(hosts, 2)
            next(s for s in fleet.servers() if s.name == name).kill()
            self.take(hosts, 2)
            fleet.standbys[name].promote()
            if name == "hub":
                fleet.hub = fleet.standbys["hub"]
            self.take(hosts, 2)
        self.check(hosts)
        self.check_served(hosts)


class Relay(threading.Thread):
    """Passes TCP connections from ADDRESS to the same port of localhost."""

    def __init__(self, address, port):
        super().__init__(daemon=True)
        self.port = port
        self.listener = socket.create_server((address, port))

    def run(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.create_connection(("localhost", self.port))
            for a, b in ((near, far), (far, near)):
                threading.Thread(target=self.copy, args=(a, b), daemon=True).start()

    @staticmethod
    def copy(a, b):
        try:
            while data := a.recv(65536):
                b.sendall(data)
            b.shutdown(socket.SHUT_WR)
        except OSError:
            b.close()


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


@unittest.skipUnless(os.getuid() == 0 and shutil.which("ip"), "only root makes network namespaces")
class Network(Case):
    """A host in a network namespace of its own."""

    def setUp(self):
        super().setUp()
        self.space = f"mprof{os.getpid()}"
        self.near, self.far = f"mpa{os.getpid()}", f"mpb{os.getpid()}"
        ip("netns", "add", self.space)
        self.addCleanup(ip, "netns", "del", self.space)
        ip("link", "add", self.near, "type", "veth", "peer", "name", self.far, "netns", self.space)
        ip("addr", "add", "198.18.7.1/30", "dev", self.near)
        ip("link", "set", self.near, "up")
        ip("-n", self.space, "addr", "add", "198.18.7.2/30", "dev", self.far)
        ip("-n", self.space, "link", "set", self.far, "up")

    def test_away(self):
        """The network of a host is away while captures come: they are sent when it is back."""
        fleet = fleethost.FLEET
        servers = [s for s in (fleet.hub, fleet.standbys.get("hub")) if s and s is not fleet.hub] + [fleet.hub]
        for port in {s.port for s in servers}:
            relay = Relay("198.18.7.1", port)
            self.addCleanup(relay.listener.close)
            relay.start()
        host = self.one(Host.number + 1)
        host.kill_forwarder()
        host.prefix_of_forwarder = ("ip", "netns", "exec", self.space)
        own = re.sub(" connect_timeout=[0-9]+", "", host.connection)  # the program's own limit: nobody answers meanwhile
        host.fleet(own.replace("host=", "hostaddr=" + ",".join(["198.18.7.1"] * own.count("localhost")) + " host="))
        host.start_forwarder()
        self.take([host])
        host.wait_sent()
        ip("link", "set", self.near, "down")
        began = time.monotonic()
        while time.monotonic() < began + OUTAGE:
            self.take([host], 1)
            time.sleep(OUTAGE / (5 if turns.BRIEF else 20))
        self.assertTrue(host.outbox())
        self.assertLess(len(host.hub_captures()), len(host.taken))
        ip("link", "set", self.near, "up")
        self.check([host])
        print(f"after {OUTAGE:g} s without a network, {len(host.taken)} captures are there", file=sys.stderr)


if __name__ == "__main__":
    daemons.main()
