"""Every acknowledged row outlives its server: kill -9 of a shard's primary and of the hub under load, promotion of the
standby, and a server restored from an older backup.
"""

import os
import threading
import time
import unittest

import psycopg2
from cluster import PATIENCE, Server, cluster, command, until
from sender import Host, month_of, noise, piece
import turns

NOW = time.time_ns()
WRITERS = 4
PAUSE = 0.05 if turns.BRIEF else 0  # seconds between two captures of a host


class Writer(threading.Thread):
    """A host that sends numbered captures, and repeats each until it is acknowledged."""

    def __init__(self, c, name):
        super().__init__(daemon=True)
        self.c, self.name = c, name
        self.acknowledged, self.failures, self.refusals = 0, 0, []
        self.stopping = threading.Event()
        self.epochs = []

    @staticmethod
    def pieces(n):
        return [piece(noise(2000 + n % 7, f"{n} {k}"), number=k) for k in range(2)]

    def run(self):
        while not self.stopping.is_set():
            try:
                h = Host(self.c.connection(self.name))
                self.epochs.append(h.hello()["epoch"])
                while not self.stopping.is_set():
                    n = self.acknowledged
                    h.db.autocommit = False
                    h.send(n, NOW, self.pieces(n))
                    h.db.commit()
                    self.acknowledged = n + 1
                    self.stopping.wait(PAUSE)
            except psycopg2.Error as e:
                if (e.pgcode or "").startswith("MP"):
                    self.refusals.append(e)
                    return
                self.failures += 1
                self.stopping.wait(0.1)

    def stop(self):
        self.stopping.set()
        self.join(PATIENCE)


class Failover(unittest.TestCase):
    def setUp(self):
        self.c = self.enterContext(cluster(shards=2, standby=True))
        self.hosts = self.hosts_add()

    def hosts_add(self):
        """Register WRITERS hosts, so that each shard has two."""
        hosts, n = {"shard1": [], "shard2": []}, 0
        while min(map(len, hosts.values())) < WRITERS // 2:
            name, n = f"host-{n}", n + 1
            shard = self.c.hub.sql(f"SELECT shard FROM fleet_store.bucket WHERE bucket = fleet_store.bucket_of('{name}')")
            if len(hosts[shard]) < WRITERS // 2:
                self.c.host_add(name)
                hosts[shard].append(name)
        return hosts

    def progress(self, writers, more):
        """Wait until each of WRITERS has sent MORE captures than now."""
        goals = [(w, w.acknowledged + more) for w in writers]
        until(lambda: all(w.acknowledged >= goal or w.refusals for w, goal in goals), f"{more} captures of each host")

    def verify(self, hub, writers):
        """Each acknowledged capture is there, once, with the bytes that were sent."""
        for w in writers:
            self.assertEqual(w.refusals, [])
            rows = hub.sql(
                f"""SELECT p.capture, p.number, encode(p.sum, 'hex'), encode(p.data, 'hex') FROM fleet.pieces p
                JOIN fleet.captures c USING (host, month, archive, capture)
                WHERE p.host = '{w.name}' AND p.month = '{month_of(NOW)}' ORDER BY 1, 2"""
            )
            rows = rows.splitlines()
            got = [tuple(row.split("|")) for row in rows]
            self.assertGreaterEqual(len(got), 2 * w.acknowledged)
            self.assertLessEqual(len(got), 2 * (w.acknowledged + 1), "more than the last one was not acknowledged")
            expected = [(str(n), str(p["number"]), p["sum"].hex(), p["data"].hex()) for n in range(len(got) // 2) for p in Writer.pieces(n)]
            self.assertEqual(got, expected, w.name)
        self.assertEqual(hub.sql("SELECT * FROM fleet.check()"), "")

    def test_kill(self):
        writers = [Writer(self.c, name) for names in self.hosts.values() for name in names]
        for w in writers:
            w.start()
        self.progress(writers, 5)
        hub = self.c.hub
        for name in ("shard1", "hub") if turns.BRIEF else ("shard1", "shard2", "hub"):
            victim = next(s for s in self.c.servers() if s.name == name)
            standby = self.c.standbys[name]
            if name.startswith("shard"):
                # The hosts of the other shard go on.
                victim.kill()
                self.progress([w for w in writers if w.name not in self.hosts[name]], 3)
            else:
                victim.kill()
                hub = standby
            standby.promote()
            self.progress(writers, 5)
        for w in writers:
            w.stop()
        self.verify(hub, writers)
        for w in writers:
            # Each saw the epochs of the hub, and of its shard if that was killed, before and after.
            self.assertGreaterEqual(len(set(w.epochs)), 2, w.name)
            print(f"{w.name}: {w.acknowledged} captures, {w.failures} failures, {len(set(w.epochs))} epochs")

    @turns.long
    def test_restored(self):
        """A shard is restored from an older backup: the epoch changes, and what is missing is sent again."""
        shard = self.c.shards[0]
        name = self.hosts["shard1"][0]
        h = Host(self.c.connection(name))
        epoch = h.hello()["epoch"]
        other = Host(self.c.connection(self.hosts["shard2"][0]))
        self.addCleanup(other.close)
        other_epoch = other.hello()["epoch"]
        for n in range(3):
            h.send(n, NOW, Writer.pieces(n))
        backup = Server(self.c.directory, "backup", shard.port)
        source = self.c.connection("fleet_standby", server=shard).replace("dbname=fleet ", "").replace("target_session_attrs=read-write", "")
        command("pg_basebackup", "-D", backup.data, "-d", source, "-X", "stream", "-c", "fast", "--no-sync")
        for n in range(3, 6):
            h.send(n, NOW, Writer.pieces(n))
        h.close()
        shard.stop("immediate")
        self.c.standbys["shard1"].stop("immediate")
        with open(os.path.join(backup.data, "postgresql.auto.conf"), "a", encoding="utf-8") as f:
            f.write("synchronous_standby_names = ''\nrestore_command = 'false'\nrecovery_target = 'immediate'\nrecovery_target_action = 'promote'\n")
        open(os.path.join(backup.data, "recovery.signal"), "w", encoding="utf-8").close()
        backup.start()
        self.addCleanup(backup.stop, "immediate")
        until(lambda: backup.sql("SELECT pg_is_in_recovery()") == "f", "the restored server takes rows")
        h = Host(self.c.connection(name))
        self.addCleanup(h.close)
        self.assertNotEqual(h.hello()["epoch"], epoch)
        rows = h.call("inventory", month=month_of(NOW), after_archive=None, after_capture=None, max_rows=100)
        self.assertEqual([r["capture"] for r in rows], [0, 1, 2])
        self.assertEqual([h.send(n, NOW, Writer.pieces(n)) for n in range(6)], ["done"] * 3 + ["new"] * 3)
        self.assertEqual(other.hello()["epoch"], other_epoch, "the other shard was not restored")


if __name__ == "__main__":
    unittest.main()
