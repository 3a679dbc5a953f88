"""The hub hands captures out to annotators, each to one, and marks those that cannot be read.

    annotations.py single|sharded
"""

import unittest
from concurrent.futures import ThreadPoolExecutor

import psycopg2
from cluster import cluster, until
from forms import SHARDS
from sender import Host, month_of, piece

AT = 1_780_000_000_000_000_000
SECOND = 10**9
TAKE = "SELECT host, capture, month, archive FROM fleet.annotation_take(%s, %s)"


class Annotations(unittest.TestCase):
    """One cluster for all tests. A test leaves no capture that is not annotated."""

    @classmethod
    def setUpClass(cls):
        cls.c = cls.enterClassContext(cluster(shards=SHARDS))
        cls.c.person_add("annotator", "fleet_annotator")
        cls.db = cls.connect()

    @classmethod
    def connect(cls):
        db = psycopg2.connect(cls.c.connection("annotator"))
        db.autocommit = True
        cls.addClassCleanup(db.close)
        return db

    def ask(self, sql, *values, db=None):
        with (db or self.db).cursor() as c:
            c.execute(sql, values)
            return c.fetchall()

    def take(self, version="1", lease="1 hour", db=None):
        """Return what is handed out, or None."""
        rows = self.ask(TAKE, version, lease, db=db)
        return rows[0] if rows else None

    def done(self, taken, cause=None, failure=None):
        host, capture, month, archive = taken
        sql = "SELECT fleet.annotation_done(%s, %s, %s, %s, %s, %s, %s, %s)"
        return self.ask(sql, host, month, archive, capture, cause, cause and "it ended", cause and "thread", failure)[0][0]

    def host(self, name):
        self.c.host_add(name)
        host = Host(self.c.connection(name))
        self.addCleanup(host.close)
        host.hello()
        return host

    def state(self, host):
        return self.c.hub.sql(f"SELECT capture, cause, failure FROM fleet.captures WHERE host = '{host}' ORDER BY capture").splitlines()

    def rows(self):
        return self.c.hub.sql("SELECT count(*) FROM fleet_store.annotation WHERE ends < 'infinity'")

    def test_order(self):
        """Crashes first, then the oldest. A capture that is not finished is not handed out."""
        h = self.host("order")
        for number, kind, at in ((1, "manual", AT), (2, "crash", AT + 3 * SECOND), (3, "watchdog", AT + 2 * SECOND)):
            h.send(number, at, [piece(b"one")], kind=kind)
        taken = []
        while one := self.take():
            taken.append(one)
        self.assertEqual([t[:2] for t in taken], [("order", 3), ("order", 2), ("order", 1)])
        self.assertEqual([t[2] for t in taken], [month_of(AT)] * 3)
        self.assertEqual([self.done(t, "c1") for t in taken], [True] * 3)
        self.assertEqual(self.state("order"), ["1|c1|", "2|c1|", "3|c1|"])
        self.assertEqual(self.rows(), "0")
        self.assertFalse(self.done(taken[0], "c2"))
        self.assertEqual(self.state("order")[2], "3|c1|")

    def test_two_annotators(self):
        """Four annotators at once: each capture is handed out once."""
        h = self.host("four")
        for number in range(40):
            h.send(number, AT + number, [piece(b"one")])

        def work(db):
            out = []
            while one := self.take(db=db):
                out.append(one)
            return out

        with ThreadPoolExecutor() as pool:
            taken = [t for part in pool.map(work, [self.connect() for _ in range(4)]) for t in part]
        self.assertEqual(sorted(t[1] for t in taken), list(range(40)))
        for t in taken:
            self.assertTrue(self.done(t, "c1"))

    def test_annotator_dies(self):
        """An annotator that ends three times leaves a mark, and the next capture goes on."""
        h = self.host("dies")
        h.send(1, AT, [piece(b"one")])
        h.send(2, AT + 1, [piece(b"two")])
        leased = "SELECT count(*) FROM fleet_store.annotation WHERE host = 'dies' AND ends > clock_timestamp()"
        for _ in range(3):
            self.assertEqual(self.take(lease="1 millisecond")[:2], ("dies", 1))
            until(lambda: self.c.hub.sql(leased) == "0", "the lease of capture 1 ends")
        self.assertEqual(self.take(lease="1 hour")[:2], ("dies", 2))
        self.assertEqual(self.state("dies")[0], "1||the annotator ended three times while it read this capture")
        self.assertFalse(self.done(("dies", 1, *self.ask_key(h)), "late"))
        self.assertTrue(self.done(("dies", 2, *self.ask_key(h)), "c1"))
        self.assertIsNone(self.take())

    def ask_key(self, host):
        return month_of(AT), str(host.archive)

    def test_failure(self):
        """A failure is left alone by its version; another version may try again."""
        h = self.host("failure")
        h.send(1, AT, [piece(b"one")])
        self.assertTrue(self.done(self.take(), failure="the reader took more than 5 s"))
        self.assertEqual(self.state("failure"), ["1||the reader took more than 5 s"])
        self.assertIsNone(self.take("2"))
        self.ask("SELECT fleet.annotation_retry(%s)", "1")
        self.assertIsNone(self.take("1"))
        self.assertGreaterEqual(self.ask("SELECT fleet.annotation_retry(%s)", "2")[0][0], 1)
        taken = []
        while one := self.take("2"):
            taken.append(one)
            self.assertTrue(self.done(one, "c1"))
        self.assertIn(("failure", 1), [t[:2] for t in taken])
        self.assertEqual(self.state("failure"), ["1|c1|"])

    def test_ranges(self):
        for version, lease in (("", "1 s"), ("x" * 65, "1 s"), ("1", "0 s"), ("1", "2 hours"), (None, "1 s"), ("1", None)):
            with self.assertRaisesRegex(psycopg2.Error, "version has 1 to 64 bytes"):
                self.take(version, lease)

    def test_rights(self):
        """The annotator sees no table, and a host may not take captures."""
        with self.assertRaises(psycopg2.errors.InsufficientPrivilege):
            self.ask("SELECT * FROM fleet_store.annotation")
        self.c.host_add("thief")
        db = psycopg2.connect(self.c.connection("thief"))
        self.addCleanup(db.close)
        with self.assertRaises(psycopg2.errors.InsufficientPrivilege):
            self.take(db=db)


if __name__ == "__main__":
    unittest.main()
