"""The answers of the fleet's views over a year of captures of 300 hosts, compared with answers computed here, and their
times. A time is printed and never fails.

    questions.py single|sharded

MPROF_FLEET_CAPTURES sets the number of captures.
"""

import collections
import datetime
import io
import json
import os
import random
import re
import time
import unittest

import dashboard
import psycopg2
from cluster import cluster
from forms import SHARDS
from sender import ARCHIVE
import turns

CAPTURES = int(os.environ.get("MPROF_FLEET_CAPTURES", "20000" if turns.BRIEF else "100000"))
ROUNDS = 1 if turns.BRIEF else 9  # how often each question is asked
HOSTS = 300
NOW = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
CRASHES = ("crash", "watchdog")
QUESTIONS = {"crashes_by_image", "crashes_by_cause", "crashes_by_host_week", "causes_returned", "loss_by_host"}
COLUMNS = (
    "host month archive capture kind at week guest image lost_packets pieces bytes got_pieces got_bytes room finished cause sentence annotated head"
)
COLUMNS = COLUMNS.split()
STREAM = {"id": 1, "number": 0, "ring_bytes": 1048576, "first_sequence": "1", "last_sequence": "16"}
HEAD = json.dumps({"kind": "crash", "guest": "web", "streams": [STREAM]})


def captures_make():
    """Return the captures as dictionaries. Cause 0 is absent for the middle of the year."""
    chance = random.Random(17)
    out = []
    for n in range(CAPTURES):
        at = NOW - datetime.timedelta(seconds=chance.randrange(365 * 86400))
        kind = chance.choice(("crash", "poweroff", "reboot", "watchdog", "manual"))
        cause = chance.randrange(50)
        if cause == 0 and 100 < (NOW - at).days < 200:
            cause = 1
        crashed = kind in CRASHES
        row = {"host": f"host{n % HOSTS}", "month": at.date().replace(day=1), "archive": ARCHIVE, "capture": n, "kind": kind, "at": at}
        row |= {"week": at.date() - datetime.timedelta(days=at.weekday()), "guest": f"guest{chance.randrange(20)}"}
        row |= {"image": f"image{chance.randrange(40)}" if chance.randrange(10) else None, "lost_packets": chance.randrange(7)}
        row |= {"pieces": 3, "bytes": 20000, "got_pieces": 3, "got_bytes": 20000, "room": 21000, "finished": at}
        row |= {"cause": f"cause{cause}" if crashed else None, "sentence": f"thread {cause} waits for ever" if crashed else None}
        out.append(row | {"annotated": at, "head": HEAD})
    return out


class Questions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.c = cls.enterClassContext(cluster(shards=SHARDS))
        cls.captures = captures_make()
        cls.crashes = [c for c in cls.captures if c["kind"] in CRASHES]
        cls.c.hub.sql(
            f"""INSERT INTO fleet_store.host (host, bucket, quota_bytes)
            SELECT h, fleet_store.bucket_of(h), 0 FROM generate_series(0, {HOSTS - 1}) n, concat('host', n) h"""
        )
        cls.buckets = dict(line.split("|") for line in cls.c.hub.sql("SELECT host, bucket FROM fleet_store.host").splitlines())
        for server in cls.c.shards or [cls.c.hub]:
            cls.fill(server)
        cls.c.person_add("reader", "fleet_read")
        cls.db = psycopg2.connect(cls.c.connection("reader"))
        cls.db.autocommit = True
        cls.addClassCleanup(cls.db.close)

    @classmethod
    def fill(cls, server):
        """Store the captures of the buckets that SERVER keeps, as if hosts had sent them."""
        kept = set(server.sql("SELECT bucket FROM fleet_store.bucket WHERE shard IS NULL").splitlines())
        rows = io.StringIO()
        for c in cls.captures:
            if cls.buckets[c["host"]] in kept:
                rows.write("\t".join("\\N" if c[name] is None else str(c[name]) for name in COLUMNS) + "\n")
        rows.seek(0)
        db = psycopg2.connect(server.admin())
        with db, db.cursor() as c:
            c.copy_expert(f"COPY fleet_store.capture ({', '.join(COLUMNS)}) FROM STDIN", rows)
        db.close()
        server.sql("VACUUM ANALYZE fleet_store.capture")

    def ask(self, what, sql):
        """Return the rows of SQL, and print the best and the median time of all rounds."""
        times = []
        for _ in range(ROUNDS):
            began = time.monotonic()
            with self.db.cursor() as c:
                c.execute(sql)
                rows = c.fetchall()
            times.append(1000 * (time.monotonic() - began))
        times.sort()
        print(
            f"{what}: best {times[0]:.1f} ms, median {times[ROUNDS // 2]:.1f} ms, {len(rows)} rows of {CAPTURES} captures, {SHARDS} shards",
            flush=True,
        )
        return rows

    def groups(self, key, rows=None):
        out = collections.defaultdict(list)
        for c in self.crashes if rows is None else rows:
            if (k := key(c)) is not None:
                out[k].append(c)
        return out

    def test_by_image(self):
        rows = self.ask("crashes by image", "SELECT image, crashes, hosts, first, last FROM fleet.crashes_by_image")
        expected = {
            (k[0], len(g), len({c["host"] for c in g}), min(c["at"] for c in g), max(c["at"] for c in g))
            for k, g in self.groups(lambda c: (c["image"],)).items()
        }
        self.assertEqual(set(rows), expected)
        self.assertIn(None, [row[0] for row in rows])

    def test_by_cause(self):
        rows = self.ask("crashes by cause", "SELECT cause, sentence, crashes, hosts, images, first, last FROM fleet.crashes_by_cause")
        expected = set()
        for cause, g in self.groups(lambda c: c["cause"]).items():
            images = {c["image"] for c in g} - {None}
            expected.add(
                (cause, "thread # waits for ever", len(g), len({c["host"] for c in g}), len(images), min(c["at"] for c in g), max(c["at"] for c in g))
            )
        self.assertEqual(set(rows), expected)

    def test_by_host_and_week(self):
        rows = self.ask("crashes by host and week", "SELECT host, week, crashes, guests FROM fleet.crashes_by_host_week")
        expected = {(*k, len(g), len({c["guest"] for c in g})) for k, g in self.groups(lambda c: (c["host"], c["week"])).items()}
        self.assertEqual(set(rows), expected)

    def test_returned(self):
        rows = self.ask("causes that came back", "SELECT cause, quiet_since, back_since, quiet_weeks FROM fleet.causes_returned")
        expected = set()
        for cause, g in self.groups(lambda c: c["cause"]).items():
            weeks = sorted({c["week"] for c in g})
            expected |= {(cause, a, b, (b - a).days // 7 - 1) for a, b in zip(weeks, weeks[1:]) if (b - a).days > 28}
        self.assertEqual(set(rows), expected)
        self.assertIn("cause0", [row[0] for row in rows])

    def test_loss(self):
        rows = self.ask("loss by host", "SELECT host, captures, lost_packets FROM fleet.loss_by_host")
        expected = {(h, len(g), sum(c["lost_packets"] for c in g)) for h, g in self.groups(lambda c: c["host"], self.captures).items()}
        self.assertEqual(set(rows), expected)

    def test_newest(self):
        rows = self.ask("newest of everything", "SELECT host, last_capture, last_crash FROM fleet.newest")
        crashes = {h: max(c["at"] for c in g) for h, g in self.groups(lambda c: c["host"]).items()}
        expected = {(h, max(c["at"] for c in g), crashes.get(h)) for h, g in self.groups(lambda c: c["host"], self.captures).items()}
        self.assertEqual(set(rows), expected)

    def test_lists(self):
        columns = "host, month, capture, kind, at, guest, image, cause"
        rows = self.ask("newest 50 captures", f"SELECT {columns} FROM fleet.captures ORDER BY at DESC LIMIT 50")
        self.assertEqual([r[4] for r in rows], sorted((c["at"] for c in self.captures), reverse=True)[:50])
        rows = self.ask("newest 50 captures of a host", f"SELECT {columns} FROM fleet.captures WHERE host = 'host17' ORDER BY at DESC LIMIT 50")
        self.assertEqual([r[4] for r in rows], sorted((c["at"] for c in self.captures if c["host"] == "host17"), reverse=True)[:50])

    def test_dashboard(self):
        """Each query of Grafana's dashboard runs as a reader, has the columns that the panel names, and shows something."""
        board = dashboard.dashboard()
        hosts = sorted(self.buckets)
        shown, ids = set(), [p["id"] for p in board["panels"]]
        self.assertEqual(len(ids), len(set(ids)))
        for title, panel, sql in dashboard.queries(board, hosts):
            with self.db.cursor() as c:
                c.execute(sql)
                self.assertTrue(c.fetchall(), title)
                names = [d.name for d in c.description]
            if panel:
                self.assertEqual(dashboard.faults(panel, names), [], title)
                self.assertEqual(len(names), len(set(names)), title)
            shown |= set(re.findall(r"fleet\.(\w+)", sql))
        self.assertLessEqual(QUESTIONS | {"captures", "hosts", "newest"}, shown)
        with self.assertRaisesRegex(ValueError, "no such macro"):
            dashboard.sent("SELECT $__unknown(at)", hosts)

    def test_documented(self):
        """Each view, and each column of it, has a comment."""
        bare = self.c.hub.sql(
            """SELECT format('%s.%s', c.relname, a.attname) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
            WHERE c.relkind = 'v' AND c.relnamespace = 'fleet'::regnamespace
                AND (col_description(c.oid, a.attnum) IS NULL OR obj_description(c.oid, 'pg_class') IS NULL)"""
        )
        self.assertEqual(bare, "")


if __name__ == "__main__":
    unittest.main()
