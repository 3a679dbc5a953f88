"""Check that the simulated dom0 behaves like a real one: selftest.py BUILD-DIRECTORY [TEST…]"""

import os
import subprocess
import time

import sim
from sim import PAGE, Refused


class Selftest(sim.Case):
    def probe(self):
        process = subprocess.Popen([os.path.join(sim.SIM, "probe")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.addCleanup(self.end, process)

        def ask(command):
            process.stdin.write(command + "\n")
            return process.stdout.readline().strip()

        ask.process = process
        return ask

    @staticmethod
    def end(process):
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


class Stores(Selftest):
    """The watches that fire, and a guest's permissions."""

    def test_permissions(self):
        guest = self.guest(5)
        guest.write("data/mprof/ring-ref", "8,9")
        self.assertEqual(guest.read("data/mprof/ring-ref"), b"8,9")
        self.assertEqual(self.store.toolstack.read(f"{guest.home}/data/mprof/ring-ref"), b"8,9")
        for path in ("/local/domain/5/name", "/local/domain/0/x", "mprof", "/vm/x"):
            with self.assertRaisesRegex(Refused, "EACCES", msg=path):
                guest.write(path, "x")

    def test_quota(self):
        """A guest can fill its quota, and not more."""
        guest = self.guest(5)
        with self.assertRaisesRegex(Refused, "EQUOTA|ENOSPC"):
            for i in range(20000):
                guest.write(f"data/n{i}", "x")
        self.assertGreater(i, 100)

    def watched(self):
        tools = self.store.toolstack
        for path in ("@introduceDomain", "@releaseDomain", "/local/domain/5"):
            tools.watch(path)
        tools.drain()

        def fired(until=None):
            found = []
            for path, _ in tools.drain(until):
                found += [path] if path not in found else []
            return found

        return fired

    def test_creation(self):
        fired = self.watched()
        guest = self.guest(5, introduce=False)
        self.assertIn("/local/domain/5/data", fired("/local/domain/5/data"))
        guest.introduce()
        self.assertIn("@introduceDomain", fired("@introduceDomain"))
        for _ in range(2):
            guest.write("data/mprof/ring-ref", "8")
            self.assertIn("/local/domain/5/data/mprof/ring-ref", fired("/local/domain/5/data/mprof/ring-ref"))

    def test_deaths(self):
        """The order of the watches at each kind of death."""
        fired = self.watched()
        guest = self.guest(5)
        fired("@introduceDomain")
        guest.stop("crashed")
        self.assertEqual(fired("@releaseDomain"), ["@releaseDomain"])
        self.assertEqual(self.store.toolstack.read(f"{guest.home}/name"), b"guest5")
        guest.destroy()
        found = fired("@releaseDomain")
        self.assertTrue(found[0].startswith("/local/domain/5"), found)
        self.assertEqual(found[-1], "@releaseDomain")
        self.assertEqual(found.count("@releaseDomain"), 1)
        guest.forget()
        guest = self.guest(5)
        fired("@introduceDomain")
        guest.destroy()
        found = fired("@releaseDomain")
        self.assertTrue(found[0].startswith("/local/domain/5"), found)
        self.assertEqual(found[-1], "@releaseDomain")

    def test_suspension(self):
        """Resuming fires no watch."""
        fired = self.watched()
        guest = self.guest(5)
        fired("@introduceDomain")
        guest.stop("suspend")
        self.assertEqual(fired("@releaseDomain"), ["@releaseDomain"])
        guest.resume()
        self.assertEqual(fired(), [])


class StoresOCaml(Stores):
    STORE = "oxenstored"


class Fakes(Selftest):
    """Grants and event channels."""

    def test_grants(self):
        guest = self.guest(5)
        guest.page(8, b"\x11")
        guest.page(9, b"\x22")
        ring = guest.ring(size=8 * PAGE)
        self.addCleanup(ring.close)
        probe = self.probe()
        self.assertEqual(probe("map 5 9 8 10"), "34 17 0")
        self.assertEqual(guest.mapped(), 3)
        self.assertEqual(guest.mapped(7, 8, 9, 10, 11), [0, 1, 1, 1, 0])
        before = time.monotonic_ns()
        self.assertEqual(probe("unmap"), "ok")
        self.assertTrue(before <= guest.unmapped_at() <= time.monotonic_ns())
        self.assertEqual(guest.mapped(), 0)
        refs = [*ring.refs][::-1]
        self.assertEqual(probe("map 5 " + " ".join(map(str, refs))).split()[-1], "193")
        self.assertEqual(guest.mapped(), 8)
        for command in ("map 5 64", "map 5 4294967295", "map 6 8", "map 5 8 70000", "write 5 8", f"map 5 {refs[0] + 1}"):
            self.assertEqual(probe(command), "errno 22", command)
        guest.revoke(9)
        self.assertEqual(probe("map 5 8"), "17")
        self.assertEqual(probe("map 5 8 9"), "errno 22")

    def test_zombie(self):
        """A dead domain exists until its last page is unmapped. A killed daemon's mappings go with
        it."""
        guest = self.guest(5)
        probe = self.probe()
        self.assertEqual(probe("map 5 8"), "0")
        guest.stop("crashed")
        self.assertEqual(probe("map 5 9"), "0")
        guest.destroy()
        self.assertEqual(probe("map 5 10"), "0")
        with self.assertRaises(AssertionError):
            guest.forget()
        probe.process.kill()
        probe.process.wait()
        self.assertEqual(guest.mapped(), 0)
        other = self.probe()
        self.assertEqual(other("map 5 8"), "errno 22")
        guest.forget()

    def test_event_channel(self):
        guest = self.guest(5)
        probe = self.probe()
        self.assertEqual(probe("bind 5 3"), "errno 22")
        guest.offer(3)
        self.assertEqual(guest.kick(3), 0)
        port = probe("bind 5 3")
        self.assertEqual(probe("bind 5 3"), "errno 22")
        self.assertEqual(probe("bind 6 3"), "errno 3")
        self.assertEqual(probe("pending"), port)  # the bind itself triggers it
        self.assertEqual(probe("pending"), "0")
        guest.kick(3)
        self.assertEqual(probe("pending"), "0")  # masked
        self.assertEqual(probe(f"unmask {port}"), "ok")
        self.assertEqual(probe("pending"), port)
        self.assertEqual(probe(f"unmask {port}"), "ok")
        self.assertEqual(probe("pending"), "0")
        reached = self.kicker.ask("storm", 5, 3, 10, 500)
        self.assertGreater(reached, 0)
        self.assertEqual(probe("pending"), port)
        self.assertEqual(probe("pending"), "0")
        self.assertEqual(guest.port(3)["delivered"], 3)
        self.assertEqual(guest.port(3)["kicks"], reached + 1)
        self.assertEqual(probe(f"unbind {port}"), "ok")
        self.assertIsNone(guest.port(3))
        self.assertEqual(probe("bind 5 3"), port)
        probe.process.kill()
        probe.process.wait()
        self.assertEqual(self.probe()("bind 5 3"), port)
        guest.take(4)
        self.assertEqual(self.probe()("bind 5 4"), "errno 22")


if __name__ == "__main__":
    sim.main()
