"""The parts of memory profiles that go to the hub with captures: profiles.py BUILD-DIRECTORY [TEST…]"""

import contextlib
import os
import random
import socket
import sqlite3
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "integration")]

import daemons
import fleethost
import sink
import turns
from daemons import Ring


def setUpModule():
    fleethost.setUpModule()


class Host(fleethost.Host):
    """A host with a sink."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, more="[sink]\nlisten = 127.0.0.1:0\n", **options)

    def hub_memory(self, capture):
        """Return {recording: bytes} of the parts that the hub has."""
        return {recording: data for (recording, _), data in self.hub_capture(capture, "memory").items()}

    def change_profiles(self, sql):
        """Change the archive of profiles behind the sink's back."""
        with contextlib.closing(sqlite3.connect(f"{self.state}/memtraces/memtraces.db", timeout=daemons.HANGS)) as db:
            db.executescript(sql)


class Profiles(fleethost.Case):
    def profiled(self, **options):
        """Return a host without forwarder, whose guest web runs with a profile, and the profile's offer and path."""
        host = self.enterContext(Host(**options))
        host.start()
        host.start_sink()
        ring = self.enterContext(Ring("rings/web.ctf"))
        ring.add(20)
        host.wait(lambda: host.domain("web") and host.domain("web")["state"] == "running")
        data = sink.info() + b"".join(sink.packet(random.Random(n).randbytes(30000) + bytes(30000)) for n in range(60))
        offer = sink.Offer(data)
        self.addCleanup(offer.close)
        body = b'{"address": "127.0.0.1", "port": %d}' % offer.port
        status, _, text = host.ask("/v1/domains/web/memtraces", "POST", body, {"Content-Type": "application/json"})
        self.assertEqual(status, 201, text)
        (one,) = host.json("/v1/memtraces")["memtraces"]
        path = f"/v1/memtraces/{one['id']}"
        host.wait(lambda: host.json(path)["bytes"] == len(data))
        return host, ring, offer, path

    def grow(self, host, offer, path):
        """Let the profile grow."""
        before = host.json(path)["bytes"]
        offer.client.sendall(sink.packet(bytes(range(256)) * 100))
        host.wait(lambda: host.json(path)["bytes"] > before)

    def test_end(self):
        """The profile of a guest that ended is on the hub, whole, with the capture of its end."""
        host, ring, offer, path = self.profiled()
        offer.close()
        offer.client.shutdown(socket.SHUT_RDWR)
        ring.close()
        host.wait_ended("web")
        (capture,) = host.captures("web")
        host.start_forwarder()
        host.wait_sent()
        own = host.get(f"{path}/data")
        self.assertEqual(list(host.hub_memory(capture["id"]).values()), [own])
        self.compare_capture(host, capture["id"])

    def test_running(self):
        """A capture of a running guest has the profile up to then; what comes later is in the next capture."""
        host, _, offer, path = self.profiled()
        first, own = host.capture("web"), host.get(f"{path}/data")
        host.start_forwarder()
        host.wait_sent()
        self.grow(host, offer, path)
        second = host.capture("web")
        host.wait_sent()
        self.assertEqual(list(host.hub_memory(first).values()), [own])
        self.assertEqual(list(host.hub_memory(second).values()), [host.get(f"{path}/data")])
        self.assertEqual(host.hub_captures(), [first, second])

    def test_killed(self):
        """A forwarder that is killed while it sends goes on with the part that it had chosen, though the profile has grown."""
        host, _, offer, path = self.profiled()
        capture, own = host.capture("web"), host.get(f"{path}/data")
        host.fleet(rate="rate = 20KB\n")
        host.start_forwarder()
        host.wait(lambda: os.path.exists(f"{host.root}/own/memory-part"))
        host.kill_forwarder()
        self.assertEqual(host.hub_captures(), [])
        self.grow(host, offer, path)
        host.fleet()
        host.start_forwarder()
        host.wait_sent()
        self.assertEqual(list(host.hub_memory(capture).values()), [own])
        self.assertLess(len(own), len(host.get(f"{path}/data")))

    @turns.long
    def test_damaged(self):
        """A profile that cannot be read does not keep its capture from the hub."""
        host, _, _, path = self.profiled()
        capture = host.capture("web")
        host.change_profiles("UPDATE pieces SET data = zeroblob(length(data)) WHERE offset > 0")
        host.start_forwarder()
        host.wait_sent()
        self.assertEqual(host.hub_captures(), [capture])
        self.assertEqual(host.hub_memory(capture), {})
        self.assertIn(f"cannot be read, and is not sent with capture {capture}", host.said())
        self.compare_capture(host, capture)

    @turns.long
    def test_too_large(self):
        """A profile of more bytes than are sent stays on its host."""
        host, _, _, path = self.profiled()
        capture = host.capture("web")
        host.change_profiles("UPDATE recordings SET bytes = 300 * 1048576")
        host.start_forwarder()
        host.wait_sent()
        self.assertEqual(host.hub_memory(capture), {})
        self.assertIn(f"The memory profile of capture {capture} is too large to be sent", host.said())


if __name__ == "__main__":
    daemons.main()
