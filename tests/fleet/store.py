"""The fleet's database as hosts and people use it: captures and packets, quotas, months, pins, inventories, epochs.

    store.py single|sharded
"""

import contextlib
import datetime
import hashlib
import itertools
import os
import shutil
import subprocess
import tempfile
import threading
import time
import unittest
import uuid

import psycopg2
from cluster import TOP, ClusterError, Server, cluster, until
from forms import SHARDS, main
from sender import ARCHIVE, Host, month_of, noise, piece

NOW = time.time_ns()
DAY = 86400 * 10**9
UPTIME = 400 * DAY
LOSS = {"kind": "capture", "capture": 3, "stream": 0, "first_sequence": 0, "last_sequence": 0}


def month_before(months, real=NOW):
    """Return a time in the month that is MONTHS before that of REAL."""
    for _ in range(months):
        first = month_of(real)
        real = int(datetime.datetime(first.year, first.month, 1, tzinfo=datetime.timezone.utc).timestamp() - 86400) * 10**9
    return real


class Test(unittest.TestCase):
    """One cluster for all tests. Each test has a host of its own."""

    LAST_FORM = ("test_move_bucket", "test_one_bucket", "test_routing", "test_shard_of_another_migration")

    @classmethod
    def setUpClass(cls):
        cls.c = cls.enterClassContext(cluster(shards=SHARDS))
        cls.c.person_add("anna", "fleet_retention", "fleet_pin", "fleet_note", "fleet_read", "fleet_admin", "fleet_annotator")
        cls.anna = psycopg2.connect(cls.c.connection("anna"))
        cls.anna.autocommit = True
        cls.addClassCleanup(cls.anna.close)

    def host(self, name=None, quota=0, hello=True, archive=ARCHIVE):
        """Register a host, unless it is registered, and connect as it."""
        name = name or self._testMethodName.replace("_", "-")
        if self.c.hub.sql(f"SELECT count(*) FROM fleet.hosts WHERE host = '{name}'") == "0":
            self.c.host_add(name, quota)
        host = Host(self.c.connection(name), archive)
        host.name = name
        self.addCleanup(host.close)
        if hello:
            host.hello()
        return host

    def ask(self, sql, *values):
        """Run a statement as a person, and return the rows."""
        with self.anna.cursor() as c:
            c.execute(sql, values)
            return c.fetchall() if c.description else None

    @contextlib.contextmanager
    def refused(self, code, words=""):
        """Expect the SQLSTATE CODE, and WORDS in the sentence."""
        with self.assertRaises(psycopg2.Error) as caught:
            yield
        self.assertEqual(caught.exception.pgcode, code, caught.exception)
        self.assertIn(words, caught.exception.diag.message_primary)

    def keepers(self):
        """Return the servers that keep buckets."""
        own = "SELECT count(*) FROM fleet_store.bucket WHERE shard IS NULL"
        return [s for s in self.c.servers() if s.sql(own) != "0"]

    def test_capture(self):
        h = self.host()
        pieces = [
            piece(noise(size, size), part=part, number=n, ends=b"e" * 20)
            for n, (part, size) in enumerate([("trace", 1 << 20), ("tail", 1), ("context", 0)])
        ]
        self.assertEqual(h.begin(1, NOW, pieces), "new")
        self.assertEqual(h.begin(1, NOW, pieces), "open")
        self.assertEqual([h.put(1, NOW, p) for p in pieces[:2]], ["new", "new"])
        self.assertEqual(h.put(1, NOW, pieces[0]), "done")
        with self.refused("MP009", "2 of 3 pieces"):
            h.finish(1, NOW)
        self.assertEqual(h.call("inventory", month=month_of(NOW), after_archive=None, after_capture=None, max_rows=10), [])
        self.assertEqual(self.ask("SELECT count(*) FROM fleet.captures WHERE host = %s", h.name), [(0,)])
        there = h.call("capture_pieces", archive=ARCHIVE, month=month_of(NOW), capture=1)
        self.assertEqual([(p["part"], p["number"], p["sum"]) for p in there], [(p["part"], p["number"], p["sum"]) for p in (pieces[1], pieces[0])])
        self.assertEqual(h.put(1, NOW, pieces[2]), "new")
        self.assertEqual([h.finish(1, NOW), h.finish(1, NOW), h.begin(1, NOW, pieces), h.put(1, NOW, pieces[1])], ["new", "done", "done", "done"])
        stored = self.ask("SELECT part, data, ends FROM fleet.pieces WHERE host = %s AND month = %s ORDER BY number", h.name, month_of(NOW))
        self.assertEqual([(part, bytes(data), bytes(ends)) for part, data, ends in stored], [(p["part"], p["data"], p["ends"]) for p in pieces])

    def filed(self, h, number):
        """Return the month in which a capture is filed, and how long ago it was taken, in seconds."""
        ((month, ago),) = self.ask(
            "SELECT month, extract(epoch FROM now() - at) FROM fleet.captures WHERE host = %s AND capture = %s", h.name, number
        )
        return month, float(ago)

    def periods(self, h, *wrong, **more):
        """Send periods whose clocks were wrong by WRONG, in ns. At the time NOW the host has run for 400 days, and its age clock is its
        monotonic one."""
        rows = [
            {"id": n, "began_mono": 0, "ended_mono": UPTIME, "real_offset": NOW + by - UPTIME, "age_offset": 0} | more
            for n, by in enumerate(wrong, 1)
        ]
        return h.one("put_clock", archive=ARCHIVE, age=UPTIME, periods=rows)

    def test_clock(self):
        """A capture is filed in the month in which it was taken, by the periods of the host's clock; the host goes on to name it by the
        month of its stamp."""
        h = self.host()
        old, ahead, mono = NOW - 400 * DAY, NOW + 40 * DAY, str(UPTIME)
        with self.refused("MP010"):
            h.begin(2, ahead, [piece(b"ahead")], mono=mono)
        # A stamp that nobody knows to be wrong counts.
        self.assertEqual(h.send(3, old, [piece(b"three")], mono=mono), "new")
        self.assertLess(abs(self.periods(h, -400 * DAY, 40 * DAY) - time.time_ns()), DAY)
        pieces = [piece(b"one"), piece(b"two", number=1)]
        self.assertEqual(h.begin(1, old, pieces, mono=mono), "new")
        self.assertEqual(h.put(1, old, pieces[0]), "new")
        there = h.call("capture_pieces", archive=ARCHIVE, month=month_of(old), capture=1)
        self.assertEqual([p["number"] for p in there], [0])
        self.assertEqual(h.begin(1, old, pieces, mono=mono), "open")
        self.assertEqual([h.put(1, old, pieces[1]), h.finish(1, old)], ["new", "new"])
        self.assertEqual(h.send(2, ahead, [piece(b"ahead")], mono=mono), "new")
        self.assertEqual(self.filed(h, 3)[0], month_of(old))
        self.assertEqual(h.send(3, old, [piece(b"three")], mono=mono), "done")
        for number in (1, 2):
            month, ago = self.filed(h, number)
            self.assertEqual(month, month_of(NOW))
            self.assertLess(abs(ago), 3600)
        self.assertEqual(self.ask("SELECT what, month FROM fleet.changes WHERE host = %s AND capture = 1", h.name), [("made", month_of(NOW))])

        def listed(real):
            rows = h.call("inventory", month=month_of(real), after_archive=None, after_capture=None, max_rows=10)
            return [row["capture"] for row in rows]

        self.assertEqual((listed(old), listed(NOW), listed(ahead)), ([1, 3], [], [2]))
        sums = {row["month"]: row["captures"] for row in h.call("inventory_sums", archive=ARCHIVE, since=month_of(NOW))}
        self.assertEqual((sums[month_of(old)], sums[month_of(ahead)], sums[month_of(NOW)]), (1, 1, 0))

        # The host learns how wrong its clock was: the times are shown right, and nothing is sent again.
        correction = "SELECT fleet.correction(host, archive, head ->> 'real', head ->> 'mono') FROM fleet.captures WHERE host = %s AND capture = 1"
        self.assertEqual(self.ask(correction, h.name), [(None,)])
        self.periods(h, -400 * DAY, correction=400 * DAY)
        self.assertEqual(self.ask(correction, h.name), [(400 * DAY,)])
        self.assertEqual([h.begin(1, old, pieces, mono=mono), h.finish(1, old)], ["done", "done"])
        with self.refused("MP006"):
            h.begin(1, old, pieces[:1], mono=mono)
        self.assertEqual(self.ask("SELECT * FROM fleet.check()"), [])

    def test_clock_limits(self):
        """Old content stays old, nothing is of the future, a loss removes what was begun, and nonsense is refused."""
        h, now = self.host(), NOW
        for number, by in ((1, 0), (2, -50 * DAY), (5, 500 * DAY)):
            self.periods(h, by)
            h.send(number, now - 100 * DAY + by, [piece(b"1")], mono=str(UPTIME - 100 * DAY))
            month, ago = self.filed(h, number)
            self.assertEqual((month, round(ago / 86400)), (month_of(now - 100 * DAY), 100))
        self.periods(h, -500 * DAY, correction=900 * DAY)
        h.send(6, now - 500 * DAY, [piece(b"2")], mono=str(UPTIME))
        month, ago = self.filed(h, 6)
        self.assertEqual((month, abs(ago) < 3600), (month_of(time.time_ns()), True))
        h.begin(3, now - 500 * DAY, [piece(b"3")], mono=str(UPTIME))
        loss = LOSS | {"month": month_of(NOW), "bytes": 1, "reason": "quota", "archive": ARCHIVE}
        self.assertEqual(h.one("declare_lost", **loss), "new")
        self.assertEqual(
            self.c.hub.sql(f"SET ROLE fleet_owner; SELECT capture FROM fleet_store.capture WHERE host = '{h.name}' ORDER BY 1"), "1\n2\n5\n6"
        )
        good = {"id": 1, "began_mono": 0, "ended_mono": 1, "real_offset": 2, "age_offset": 3}
        for periods in ({}, [1], ["x"], [[]], [{}], [good, good], [good | {"id": 1.5}], [good | {"correction": "x"}], [good | {"age_offset": None}]):
            with self.refused("MP008"):
                h.one("put_clock", archive=ARCHIVE, age=1, periods=periods)
        for periods in ([good | {"id": n} for n in range(1025)], [good | {"real_offset": 10**19}], [good | {"more": "x" * 262144}]):
            with self.refused("MP008"):
                h.one("put_clock", archive=ARCHIVE, age=1, periods=periods)
        most = {"began_mono": 8 * 10**18, "ended_mono": -8 * 10**18, "real_offset": 8 * 10**18, "age_offset": 8 * 10**18}
        for sign in (1, -1):
            rows = [good | {k: sign * v for k, v in most.items()}, good | {"id": 2, "correction": sign * 8 * 10**18}]
            h.one("put_clock", archive=ARCHIVE, age=-sign * 8 * 10**18, periods=rows)
            h.begin(4, NOW, [piece(b"4")], mono=str(2**63 - 1))
        for stamps in (("no", None), ("9" * 20, "-1"), ("9" * 20, "0"), ("", "")):
            self.assertEqual(self.ask("SELECT fleet.correction(%s, %s, %s, %s)", h.name, str(ARCHIVE), *stamps), [(None,)])

    def test_other_values(self):
        """The same key with other values is an error, and the hub keeps its own."""
        h = self.host()
        pieces = [piece(b"one"), piece(b"two", number=1)]
        h.send(1, NOW, pieces)
        with self.refused("MP006", "capture 1"):
            h.begin(1, NOW, pieces, guest="other")
        with self.refused("MP006"):
            h.begin(1, NOW, pieces[:1])
        for change in (
            {"flags": 2},
            {"sequence": 8},
            {"offset": 31},
            {"length": 4},
            {"first_timestamp": 1},
            {"packet_bytes": 1},
            {"codec": 1},
            {"ends": b"e"},
        ):
            with self.refused("MP006"):
                h.put(1, NOW, pieces[0] | change)
        with self.refused("MP006"):
            h.put(1, NOW, piece(b"eno"))
        with self.refused("MP006", "complete without this piece"):
            h.put(1, NOW, piece(b"six", number=6))
        self.assertEqual(self.ask("SELECT data FROM fleet.pieces WHERE host = %s AND number = 0", h.name)[0][0].tobytes(), b"one")

    def test_unfinished_with_other_values(self):
        """A capture that changed before all of it was sent begins again, and its room is given back."""
        h = self.host(quota=100000)
        first, second = piece(noise(40000)), piece(noise(40000, 2), number=1)
        key = {"archive": ARCHIVE, "month": month_of(NOW), "capture": 1}
        self.assertEqual(h.begin(1, NOW, [first, second]), "new")
        self.assertEqual(h.put(1, NOW, first), "new")
        used = h.hello()["used_bytes"]
        # More than the quota: the hub keeps what it has.
        with self.refused("MP004"):
            h.begin(1, NOW, [first, second, piece(noise(40000, 3), number=2)])
        self.assertEqual((h.begin(1, NOW, [first, second]), len(h.call("capture_pieces", **key))), ("open", 1))
        for change, pieces in ({"guest": "other"}, [first, second]), ({}, [second, first]), ({}, [piece(noise(50000))]):
            self.assertEqual(h.begin(1, NOW, pieces, **change), "new")
            self.assertEqual(h.call("capture_pieces", **key), [])
            self.assertEqual(h.begin(1, NOW, pieces, **change), "open")
            h.put(1, NOW, pieces[0])
        self.assertLess(h.hello()["used_bytes"], used)
        self.assertEqual(h.finish(1, NOW), "new")
        stored = self.ask("SELECT data FROM fleet.pieces WHERE host = %s AND month = %s", h.name, month_of(NOW))
        self.assertEqual([bytes(data) for (data,) in stored], [noise(50000)])
        with self.refused("MP006", "capture 1"):
            h.begin(1, NOW, [first])
        self.assertEqual(self.ask("SELECT * FROM fleet.check()"), [])

    def test_values(self):
        """Values out of their ranges are refused, and nothing is stored."""
        h = self.host()
        with self.refused("MP007"):
            h.begin(1, NOW, [piece(b"data")])
            h.put(1, NOW, piece(b"data") | {"sum": bytes(32)})
        for change in ({"part": "other"}, {"stream": -1}, {"number": -1}, {"offset": -1}, {"length": (1 << 20) + 1}, {"codec": 2}, {"sum": b"short"}):
            with self.refused("MP008"):
                h.put(1, NOW, piece(b"data") | change)
        with self.refused("MP008", "1048576"):
            h.put(1, NOW, piece(bytes((1 << 20) + 1)))
        with self.refused("MP008", "more pieces or bytes"):
            h.put(1, NOW, piece(b"data and more"))
        with self.refused("MP009", "not begun"):
            h.put(2, NOW, piece(b"data"))
        for head in (
            {"kind": "other"},
            {"guest": ""},
            {"guest": "g" * 256},
            {"guest": None},
            {"real": "x"},
            {"real": str(NOW - 100 * DAY)},
            {"lost_packets": -1},
        ):
            with self.refused("MP008"):
                h.begin(3, NOW, [piece(b"data")], **head)
        with self.refused("MP008"):
            h.begin(3, NOW, [piece(b"data")], image="i" * 256)
        with self.refused("MP008", "65536"):
            h.begin(3, NOW, [piece(b"data")], more="m" * 65536)
        with self.refused("MP010"):
            h.begin(3, NOW + 40 * DAY, [piece(b"data")])
        with self.refused("MP008"):
            h.call("begin_capture", archive=ARCHIVE, month=month_of(NOW) + datetime.timedelta(days=1), capture=3, pieces=1, bytes=4, head={})
        self.assertEqual(h.put(1, NOW, piece(b"data")), "new")

    def test_times_and_settings(self):
        """Settings of a host in its session change nothing."""
        h = self.host()
        with h.db.cursor() as c:
            c.execute(
                "SET timezone = 'Pacific/Kiritimati'; SET datestyle = 'SQL, DMY'; SET search_path = public; SET standard_conforming_strings = off"
            )
        first = datetime.datetime.combine(month_of(NOW), datetime.time(), datetime.timezone.utc)
        real = int(first.timestamp()) * 10**9 - 1  # the last nanosecond of the month before
        last = (first - datetime.timedelta(days=1)).date()
        self.assertEqual(h.send(1, real, [piece(b"data")]), "new")
        rows = self.ask("SELECT month, at AT TIME ZONE 'UTC', week FROM fleet.captures WHERE host = %s", h.name)
        at = datetime.datetime.combine(last, datetime.time(23, 59, 59, 999999))
        self.assertEqual(rows, [(last.replace(day=1), at, last - datetime.timedelta(days=last.weekday()))])

    def test_date_styles(self):
        """A host makes months in a session with any format of dates: they are good for all hosts of its bucket."""
        names = self.c.hub.sql(
            "SELECT string_agg(h, ' ') FROM (SELECT concat('test-date-styles-', n) AS h FROM generate_series(1, 400) n) q WHERE fleet_store.bucket_of(h) = 6"
        )
        h, other = (self.host(name) for name in names.split()[:2])
        # In January the day and the month are alike, so each format gets two months.
        months = itertools.count(1)
        for style in ("German, MDY", "SQL, DMY", "Postgres, MDY"):
            with h.db.cursor() as c:
                c.execute("SELECT set_config('datestyle', %s, false)", (style,))
            for n in itertools.islice(months, 2):
                with self.subTest(style, month=month_of(month_before(n))):
                    self.assertEqual(h.send(n, month_before(n), [piece(b"data")]), "new")
                    self.assertEqual(other.send(n, month_before(n), [piece(b"data")]), "new")

    def test_packets(self):
        h = self.host()
        with self.refused("MP009", "put_run"):
            h.packet(NOW, piece(b"p"), 1)
        run = {"archive": ARCHIVE, "month": month_of(NOW), "run": 1}
        answers = [h.one("put_run", **run, head={"guest": "web", "image": i}) for i in ("a", "a", "b")]
        self.assertEqual(answers, ["new", "done", "changed"])
        self.assertEqual([h.packet(NOW, piece(b"p"), s) for s in (1, 2, 3, 5, 5)], ["new", "new", "new", "new", "done"])
        with self.refused("MP006", "packet 5"):
            h.packet(NOW, piece(b"q"), 5)
        h.packet(NOW, piece(b"p", number=1), 6, pieces=2)
        first = {"month": month_of(NOW), "after_archive": None, "after_stream": None, "after_sequence": None}
        ranges = [(r["first_sequence"], r["last_sequence"]) for r in h.call("inventory_packets", **first, max_rows=100)]
        self.assertEqual(ranges, [(1, 3), (5, 5)])
        h.packet(NOW, piece(b"o", number=0), 6, pieces=2)
        after, ranges = first, []
        while rows := h.call("inventory_packets", **after, max_rows=2):
            ranges += [(r["first_sequence"], r["last_sequence"]) for r in rows]
            after = first | {"after_archive": ARCHIVE, "after_stream": rows[-1]["stream"], "after_sequence": rows[-1]["last_sequence"]}
        self.assertEqual(ranges, [(1, 2), (3, 3), (5, 5), (6, 6)])

    def test_capture_inside_a_packet(self):
        """A capture that ends in the middle of a packet, and then the whole packet, do not meet."""
        h = self.host()
        whole = noise(5000)
        h.send(1, NOW, [piece(whole[:3000]), piece(whole[3000:3300], part="tail", offset=3030)])
        h.one("put_run", archive=ARCHIVE, month=month_of(NOW), run=1, head={"guest": "web"})
        self.assertEqual(h.packet(NOW, piece(whole), 7), "new")
        self.assertEqual(h.send(1, NOW, [piece(whole[:3000]), piece(whole[3000:3300], part="tail", offset=3030)]), "done")
        self.assertEqual(self.ask("SELECT data FROM fleet.packets WHERE host = %s", h.name)[0][0].tobytes(), whole)

    def test_quota(self):
        h = self.host(quota=100000)
        self.assertEqual(h.send(1, NOW, [piece(noise(60000))]), "new")
        used = h.hello()["used_bytes"]
        self.assertTrue(60000 < used < 61000, used)
        with self.refused("MP004", "100000"):
            h.begin(2, NOW, [piece(noise(50000))])
        with self.refused("MP004"):
            h.begin(2, month_before(1), [piece(noise(50000))])
        h.one("put_run", archive=ARCHIVE, month=month_of(NOW), run=1, head={"guest": "web"})
        with self.refused("MP004"):
            h.packet(NOW, piece(noise(50000)), 1)
        # Empty rows are no way around it.
        with self.refused("MP004"):
            for n in range(10, 1000):
                h.packet(NOW, piece(b""), n)
        self.assertEqual(h.begin(1, NOW, [piece(noise(60000))]), "done")
        self.ask("SELECT fleet.add_host(%s, 200000)", h.name)
        self.assertEqual(h.send(2, NOW, [piece(noise(50000))]), "new")

    def test_quota_and_snapshots(self):
        """Two sessions of a host do not take the same room, though one has read the usage before."""
        a, b = self.host(quota=100000), self.host()
        a.db.autocommit = False
        a.call("inventory_months")
        answers = []

        def begin(h, real):
            try:
                answers.append(h.begin(1, real, [piece(noise(60000))]))
            except psycopg2.Error as e:
                answers.append(e.pgcode)

        thread = threading.Thread(target=begin, args=(b, NOW))
        thread.start()
        waits = f"SELECT count(*) FROM pg_stat_activity WHERE usename = '{a.name}' AND wait_event_type = 'Lock'"
        until(lambda: answers or self.c.hub.sql(waits) == "1", "the other session begins its capture, or waits")
        begin(a, month_before(1))
        a.db.commit()
        thread.join()
        self.assertEqual(sorted(answers), ["MP004", "new"])

    def test_isolation(self):
        """A transaction that could read old usage is refused."""
        h = self.host()
        month = {"archive": ARCHIVE, "month": month_of(NOW)}
        calls = (
            h.hello,
            lambda: h.begin(1, NOW, [piece(b"data")]),
            lambda: h.put(1, NOW, piece(b"data")),
            lambda: h.finish(1, NOW),
            lambda: h.call("capture_pieces", **month, capture=1),
            lambda: h.one("put_run", **month, run=1, head={"guest": "web"}),
            lambda: h.packet(NOW, piece(b"p"), 1),
            lambda: h.call("inventory", month=month_of(NOW), after_archive=None, after_capture=None, max_rows=10),
            lambda: h.call("inventory_packets", month=month_of(NOW), after_archive=None, after_stream=None, after_sequence=None, max_rows=10),
            lambda: h.call("inventory_months"),
            lambda: h.call("inventory_sums", archive=ARCHIVE, since=month_of(NOW)),
            lambda: h.one("declare_lost", **month, **LOSS, bytes=1, reason="quota"),
        )
        for level in ("REPEATABLE READ", "SERIALIZABLE"):
            with h.db.cursor() as c:
                c.execute(f"SET default_transaction_isolation = '{level}'")
            for call in calls:
                with self.refused("MP008", f"{level} and must be READ COMMITTED"):
                    call()
        h.db.cursor().execute("RESET default_transaction_isolation")
        h.db.autocommit = False
        for call in calls:
            h.db.cursor().execute("SAVEPOINT s")
            with self.refused("25001", "subtransaction"):
                call()
            h.db.rollback()
        # After a call outside of it, a savepoint does no harm.
        h.call("inventory_months")
        h.db.cursor().execute("SAVEPOINT s")
        self.assertEqual(h.call("inventory_months"), [])
        with h.db.cursor() as c:
            c.execute("SELECT current_setting('fleet.locked')")
            mark = c.fetchone()[0]
        h.db.rollback()
        h.db.autocommit = True
        # A host cannot say that it has the lock: not with an old mark, and not with that of a transaction in the same message.
        for before, forged in ("SELECT", f"'{mark}'"), ("SELECT * FROM fleet.inventory_months()", "current_setting('fleet.kept')"):
            with self.refused("25001", "subtransaction"):
                h.db.cursor().execute(
                    f"""BEGIN; {before}; SELECT set_config('fleet.kept', current_setting('fleet.locked', true), false); COMMIT;
                    BEGIN; SAVEPOINT s; SELECT set_config('fleet.locked', {forged}, true); SELECT * FROM fleet.inventory_months()"""
                )
            h.db.cursor().execute("ROLLBACK")
        self.assertEqual(h.call("inventory_months"), [])

    def test_losses_inside_of_captures(self):
        """Damage on the host that the head of a capture tells is a loss, and nonsense in a head is none."""
        h = self.host()
        gap = {"stream": 2, "kind": "lost", "reason": "damaged", "after_sequence": "7", "after_offset": 30, "next_sequence": "9", "packets": 2}
        streams = [{"id": 2, "number": 0, "last_offset": 99}, {"id": 4, "number": 1, "last_offset": 0, "tail_marked": 1, "complete": False}]
        h.send(1, NOW, [piece(b"one")], gaps=[gap, gap | {"reason": "lapped"}], streams=streams)
        first = gap | {"after_sequence": "0", "next_sequence": "1", "packets": 1}
        h.send(2, NOW, [piece(b"two")], gaps=[gap | {"reason": "lapped"}, first], streams=streams[:1])
        h.send(3, NOW, [piece(b"three")], gaps=[], streams=[], lacks=True)
        odd = [5, {"reason": "damaged"}, gap | {"stream": "x", "after_sequence": "9" * 30, "next_sequence": None}, gap | {"stream": 10**12}]
        h.send(4, NOW, [piece(b"four")], gaps=odd, streams={"last_offset": 0})
        h.begin(5, NOW, [piece(b"five")], gaps=[gap], streams=streams)
        columns = "kind, capture, stream, first_sequence, last_sequence, bytes, reason"
        rows = self.ask(f"SELECT {columns} FROM fleet.losses WHERE host = %s ORDER BY capture, stream, first_sequence", h.name)
        self.assertEqual(
            rows,
            [
                ("range", 1, 2, 7, 8, 0, "damaged"),
                ("range", 1, 4, None, None, 0, "damaged"),
                ("range", 2, 2, 0, 0, 0, "damaged"),
                ("range", 3, 0, None, None, 0, "damaged"),
                ("range", 4, 0, 7, 8, 0, "damaged"),
                ("range", 4, 0, None, None, 0, "damaged"),
                ("range", 4, 0, None, None, 0, "damaged"),
            ],
        )
        # A head's losses are none of captures that were not sent.
        rows = self.ask("SELECT captures, unsent_captures FROM fleet.loss_by_host WHERE host = %s", h.name)
        self.assertEqual(rows, [(4, 0)])

    def unfinished(self, h):
        """Return how many captures of the host are unfinished, and how many months are noted of captures filed elsewhere."""
        tables = ("capture", "filed")
        return [self.c.hub.sql(f"SET ROLE fleet_owner; SELECT count(*) FROM fleet_store.{table} WHERE host = '{h.name}'") for table in tables]

    def test_lost_before_the_clock_is_known(self):
        """A capture that began before the hub knew the host's clock, and is then lost, leaves nothing unfinished; nor does one that is dropped."""
        # Another test has the hub drop what is older than a year.
        h, old, mono = self.host(), month_before(2), str(UPTIME)
        # It begins in the month of its stamp; the host knows later that this was wrong, and names the right one.
        h.begin(3, old, [piece(b"three")], mono=mono)
        self.periods(h, old - NOW)
        loss = LOSS | {"month": month_of(NOW), "bytes": 1, "reason": "quota", "archive": ARCHIVE}
        self.assertEqual([h.one("declare_lost", **loss) for _ in range(2)], ["new", "done"])
        self.assertEqual(self.unfinished(h), ["0", "0"])
        # It is filed in another month than that of its stamp.
        h.begin(4, old, [piece(b"four")], mono=mono)
        self.assertEqual(self.unfinished(h), ["1", "1"])
        loss |= {"capture": 4, "month": month_of(old)}
        self.assertEqual([h.one("declare_lost", **loss) for _ in range(2)], ["new", "done"])
        self.assertEqual(self.unfinished(h), ["0", "0"])
        h.begin(5, old, [piece(b"five")], mono=mono)
        h.send(6, old, [piece(b"six")], mono=mono)
        self.assertGreaterEqual(self.ask("SELECT fleet.drop_unfinished(interval '0')")[0][0], 1)
        self.assertEqual(self.unfinished(h), ["1", "1"])
        self.assertEqual(self.filed(h, 6)[0], month_of(NOW))
        self.assertEqual(h.send(6, old, [piece(b"six")], mono=mono), "done")

    def test_number_of_losses(self):
        """The losses of a host are bounded over all months."""
        h = self.host()
        self.assertEqual(h.one("declare_lost", archive=ARCHIVE, month=month_of(NOW), **LOSS, bytes=1, reason="quota"), "new")
        self.c.hub.sql(f"SET ROLE fleet_owner; UPDATE fleet_store.usage SET losses = 99999 WHERE host = '{h.name}'")
        # A capture is lost once, whatever month a call names: this is another one.
        last = {"archive": ARCHIVE, "month": month_of(month_before(1))} | LOSS | {"capture": 5}
        self.assertEqual(h.one("declare_lost", **last, bytes=1, reason="quota"), "new")
        for months in range(3):
            with self.refused("MP004", "100000 losses"):
                h.one("declare_lost", **last | {"month": month_of(month_before(months)), "capture": 4}, bytes=1, reason="quota")
        self.assertEqual(h.one("declare_lost", **last, bytes=1, reason="quota"), "done")

    def test_losses(self):
        h = self.host()
        loss = {"archive": ARCHIVE, "month": month_of(NOW)} | LOSS
        h.begin(3, NOW, [piece(b"one"), piece(b"two", number=1)])
        h.put(3, NOW, piece(b"one"))
        before = h.hello()["used_bytes"]
        answers = [h.one("declare_lost", **loss, bytes=6, reason="quota") for _ in range(2)]
        self.assertEqual(answers, ["new", "done"])
        with self.refused("MP006"):
            h.one("declare_lost", **loss, bytes=7, reason="quota")
        with self.refused("MP008"):
            h.one("declare_lost", **loss, bytes=7, reason="other")
        self.assertLess(h.hello()["used_bytes"], before)
        packets = loss | {"kind": "packets", "capture": 0, "stream": 1, "first_sequence": 5, "last_sequence": 9}
        h.one("declare_lost", **packets, bytes=60, reason="quota")
        # It grows on the host before the host knows that it is declared.
        self.assertEqual(h.one("declare_lost", **packets | {"last_sequence": 12}, bytes=100, reason="quota"), "done")
        for change in {"bytes": 99}, {"last_sequence": 11}, {"reason": "damaged"}, {"bytes": 101, "reason": "deleted"}:
            with self.refused("MP006"):
                h.one("declare_lost", **packets | {"last_sequence": 12, "bytes": 100, "reason": "quota"} | change)
        rows = self.ask("SELECT last_sequence, bytes, reason FROM fleet.losses WHERE host = %s AND kind = 'packets'", h.name)
        self.assertEqual(rows, [(12, 100, "quota")])
        h.send(4, NOW, [piece(b"one")], lost_packets=7)
        rows = self.ask("SELECT captures, lost_packets, unsent_captures, unsent_ranges, unsent_bytes FROM fleet.loss_by_host WHERE host = %s", h.name)
        self.assertEqual(rows, [(1, 7, 1, 1, 106)])

    def test_two_connections(self):
        """Two connections of a host send the same captures at once: each is there once."""
        a, b = self.host(), self.host()
        failures = []

        def send(h):
            for n in range(20):
                for _ in range(5):
                    try:
                        h.send(n, NOW, [piece(noise(1000, n), number=k) for k in range(3)])
                        break
                    except psycopg2.Error as e:
                        if e.pgcode.startswith("MP"):
                            failures.append(e)

        threads = [threading.Thread(target=send, args=(h,)) for h in (a, b)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(failures, [])
        rows = self.ask("SELECT count(*), sum(got) FROM (SELECT capture, count(*) AS got FROM fleet.pieces WHERE host = %s GROUP BY 1) c", a.name)
        self.assertEqual(rows, [(20, 60)])

    def test_one_bucket(self):
        """Two hosts of one bucket make the same months at once."""
        names = self.c.hub.sql(
            "SELECT string_agg(h, ' ') FROM (SELECT concat('test-one-bucket-', n) AS h FROM generate_series(1, 400) n) q WHERE fleet_store.bucket_of(h) = 5"
        )
        hosts = [self.host(name) for name in names.split()[:2]]
        failures = []

        def send(h, months):
            try:
                for n in months:
                    h.send(n, month_before(n), [piece(b"data")])
            except psycopg2.Error as e:
                failures.append(e)

        threads = [threading.Thread(target=send, args=(h, months)) for h, months in zip(hosts, (range(1, 7), range(6, 0, -1)))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(failures, [])
        self.assertEqual([len(h.call("inventory_months")) for h in hosts], [6, 6])

    def test_one_name(self):
        """Two hosts of one name are told apart, and a person decides."""
        old, new = self.host(), self.host(hello=False, archive=uuid.uuid4())
        old.send(1, NOW, [piece(b"old")])
        with self.refused("MP003", str(new.archive)):
            new.hello()
        with self.refused("MP003"):
            new.send(1, NOW, [piece(b"new")])
        self.ask("SELECT fleet.accept_archive(%s, %s)", new.name, str(new.archive))
        new.hello()
        self.assertEqual(new.send(1, NOW, [piece(b"new")]), "new")
        with self.refused("MP003"):
            old.hello()
        self.assertEqual(self.ask("SELECT count(*) FROM fleet.captures WHERE host = %s", old.name), [(2,)])

    def test_unknown_and_revoked(self):
        h = self.host(hello=False)
        with self.refused("MP009", "hello"):
            h.begin(1, NOW, [piece(b"data")])
        with self.refused("MP001", "upgrade the hub"):
            h.hello(version=2)
        with self.refused("MP001", "upgrade the host"):
            h.hello(version=0)
        h.hello(clock={"offset_ns": 5, "uncertainty_ns": 100})
        self.assertEqual(self.ask("SELECT clock_offset_ns FROM fleet.hosts WHERE host = %s", h.name), [(5,)])
        self.ask("SELECT fleet.revoke_host(%s)", h.name)
        again = Host(self.c.connection(h.name))
        self.addCleanup(again.close)
        with self.refused("MP002", "revoked"):
            again.hello()
        with self.refused("MP002"):
            again.call("inventory_months")
        self.c.certificate_make("stranger")
        self.c.hub.sql("CREATE ROLE stranger LOGIN IN ROLE fleet_host")
        stranger = Host(self.c.connection("stranger"))
        self.addCleanup(stranger.close)
        with self.refused("MP002", "not registered"):
            stranger.hello()

    def test_inventory(self):
        h, other = self.host(), self.host("test-inventory-other")
        other.send(9, NOW, [piece(b"other")])
        for n in range(5):
            h.send(n, NOW, [piece(b"data")])
        got, after = [], {"after_archive": None, "after_capture": None}
        while rows := h.call("inventory", month=month_of(NOW), **after, max_rows=2):
            got += [r["capture"] for r in rows]
            after = {"after_archive": ARCHIVE, "after_capture": rows[-1]["capture"]}
        self.assertEqual(got, [0, 1, 2, 3, 4])
        months = h.call("inventory_months")
        self.assertEqual([(m["month"], m["captures"]) for m in months], [(month_of(NOW), 5)])

    def test_sums(self):
        """The sums of a host cover its own finished captures of that archive, by the rule of the contract."""
        h, other = self.host(), self.host("test-sums-other")
        other.send(9, NOW, [piece(b"other")])
        old = month_before(7)
        self.assertEqual(h.call("inventory_sums", archive=ARCHIVE, since=month_of(old)), [])
        for n, real in ((1, NOW), (2, NOW), (2**40, NOW), (7, old)):
            h.send(n, real, [piece(b"data")])
        h.begin(3, NOW, [piece(b"never finished")])
        h.one("put_run", archive=ARCHIVE, month=month_of(NOW), run=1, head={"guest": "web"})
        h.packet(NOW, piece(b"packet"), 1)

        def total(*numbers):
            digests = [hashlib.sha256(n.to_bytes(8, "big")).digest() for n in numbers]
            return sum(int.from_bytes(digest[:7], "big") for digest in digests) % 2**56

        now = {"month": month_of(NOW), "captures": 3, "sum": total(1, 2, 2**40), "packet_pieces": 1}
        before = {"month": month_of(old), "captures": 1, "sum": total(7), "packet_pieces": 0}
        self.assertEqual(h.call("inventory_sums", archive=ARCHIVE, since=month_of(old)), [before, now])
        self.assertEqual(h.call("inventory_sums", archive=ARCHIVE, since=month_of(NOW)), [now])
        with self.refused("MP008", "since is no date"):
            h.call("inventory_sums", archive=ARCHIVE, since=None)
        with self.refused("MP003"):
            h.call("inventory_sums", archive=uuid.UUID(int=5), since=month_of(NOW))

    def test_retention(self):
        """Retention drops months, keeps pinned captures, and nothing that it dropped comes again."""
        h = self.host()
        old, older = month_before(7), month_before(9)
        for n, real in enumerate((NOW, old, older)):
            h.send(n, real, [piece(noise(5000, n))])
        h.send(7, older, [piece(noise(5000, 7))])
        h.begin(8, older, [piece(b"never finished")])
        h.one("put_run", archive=ARCHIVE, month=month_of(older), run=1, head={"guest": "web"})
        h.packet(older, piece(b"packet"), 1)
        self.assertEqual(self.partitions(older), 2)
        self.ask("SELECT fleet.pin(%s, %s, %s, 7, true)", h.name, month_of(older), str(ARCHIVE))
        self.assertEqual(h.put(7, older, piece(noise(5000, 7))), "done")
        self.anna.autocommit = False
        with self.assertRaisesRegex(psycopg2.Error, "commit set_keeps_since"):
            self.ask("SELECT fleet.set_keeps_since(%s)", month_of(old))
            self.ask("SELECT fleet.drop_months(n) FROM generate_series(0, 63) n")
        self.anna.rollback()
        self.anna.autocommit = True
        self.ask("SELECT fleet.set_keeps_since(%s)", month_of(old))
        with self.assertRaisesRegex(psycopg2.Error, "what was before is dropped"):
            self.ask("SELECT fleet.set_keeps_since(%s)", month_of(older))
        with self.refused("MP005"):
            h.begin(6, older, [piece(b"late")])
        self.ask("SELECT fleet.drop_months(n) FROM generate_series(0, 63) n")
        self.assertEqual(self.partitions(older), 0)
        self.assertEqual(self.partitions(old), 2)
        left = self.ask("SELECT capture, pinned FROM fleet.captures WHERE host = %s ORDER BY 1", h.name)
        self.assertEqual(left, [(0, False), (1, False), (7, True)])
        data = self.ask("SELECT data FROM fleet.pieces WHERE host = %s AND month = %s", h.name, month_of(older))
        self.assertEqual([bytes(d) for (d,) in data], [noise(5000, 7)])
        self.assertEqual(h.hello()["keeps_since"], month_of(old))
        self.assertEqual(len(h.call("inventory_months")), 3)
        # Without its pin it goes, too.
        self.ask("SELECT fleet.pin(%s, %s, %s, 7, false)", h.name, month_of(older), str(ARCHIVE))
        self.ask("SELECT fleet.drop_months(n) FROM generate_series(0, 63) n")
        self.assertEqual(self.ask("SELECT count(*) FROM fleet.pieces WHERE host = %s AND month = %s", h.name, month_of(older)), [(0,)])
        self.assertEqual(len(h.call("inventory_months")), 2)
        self.assertEqual(self.ask("SELECT * FROM fleet.check()"), [])

    def partitions(self, real):
        """Return the number of partitions of the month of REAL, on all servers."""
        like = month_of(real).strftime("%Y_%m")
        return sum(int(s.sql(f"SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relname ~ '_{like}$'")) for s in self.keepers())

    def test_unfinished(self):
        h = self.host()
        h.begin(1, NOW, [piece(b"one"), piece(b"two", number=1)])
        h.put(1, NOW, piece(b"one"))
        self.ask("SELECT fleet.drop_unfinished('1 hour')")
        self.assertEqual(len(h.call("capture_pieces", archive=ARCHIVE, month=month_of(NOW), capture=1)), 1)
        self.ask("SELECT fleet.drop_unfinished('0')")
        self.assertEqual(h.call("capture_pieces", archive=ARCHIVE, month=month_of(NOW), capture=1), [])
        self.assertEqual(h.hello()["used_bytes"], 0)

    def test_idle_sessions(self):
        """A host that keeps a transaction open is ended."""
        h = self.host()
        h.db.autocommit = False
        h.begin(1, NOW, [piece(b"one")])
        self.assertGreaterEqual(self.ask("SELECT fleet.end_idle('0')")[0][0], 1)
        with self.assertRaises(psycopg2.Error):
            h.finish(1, NOW)

    def test_check(self):
        """The check finds what keys would forbid."""
        h = self.host()
        h.send(1, NOW, [piece(b"one")])
        h.send(2, NOW, [piece(b"two")])
        h.one("put_run", archive=ARCHIVE, month=month_of(NOW), run=5, head={"guest": "web"})
        h.packet(NOW, piece(b"p"), 1, run=5)
        self.assertEqual(self.ask("SELECT * FROM fleet.check()"), [])
        for sql in (
            "DELETE FROM fleet_store.capture WHERE host = %s AND capture = 1",
            "DELETE FROM fleet_store.capture_piece WHERE host = %s AND capture = 2",
            "DELETE FROM fleet_store.run WHERE host = %s",
        ):
            self.c.hub.sql("SET ROLE fleet_owner; " + sql % f"'{h.name}'")
        rows = self.ask("SELECT what, host, key FROM fleet.check() ORDER BY 1")
        expected = [
            ("capture without some of its pieces", f"{ARCHIVE} 2"),
            ("packets without a run", f"{ARCHIVE} 5"),
            ("pieces without a capture", f"{ARCHIVE} 1"),
        ]
        self.assertEqual(rows, [(what, h.name, key) for what, key in expected])
        for table in ("capture", "capture_piece", "packet_piece"):
            self.c.hub.sql(f"SET ROLE fleet_owner; DELETE FROM fleet_store.{table} WHERE host = '{h.name}'")
        self.assertEqual(self.ask("SELECT * FROM fleet.check()"), [])

    def test_notes_and_causes(self):
        h = self.host()
        h.send(1, NOW, [piece(b"one")], image="kernel-1")
        key = (h.name, month_of(NOW), str(ARCHIVE), 1)
        self.ask("SELECT fleet.set_note(%s, %s, %s, %s, %s)", *key, "look at thread 5")
        self.ask("SELECT fleet.annotate(%s, %s, %s, %s, %s, %s, %s, NULL)", *key, "c1", "thread 5 waits for ever", "thread 5")
        rows = self.ask("SELECT note, cause, last_ran, head ->> 'image' FROM fleet.captures WHERE host = %s", h.name)
        self.assertEqual(rows, [("look at thread 5", "c1", "thread 5", "kernel-1")])
        with self.assertRaisesRegex(psycopg2.Error, "no capture 2"):
            self.ask("SELECT fleet.set_note(%s, %s, %s, 2, '')", *key[:3])

    def test_epoch(self):
        h = self.host()
        first = h.hello()["epoch"]
        self.assertEqual(h.hello()["epoch"], first)
        for server in {self.c.hub, *self.keepers()}:
            server.sql("SELECT fleet.new_epoch()")
        # It ends the sessions of hosts.
        with self.assertRaises(psycopg2.OperationalError):
            h.hello()
        second = self.host().hello()["epoch"]
        self.assertNotEqual(second, first)

    def test_bodies_are_stored_outside(self):
        h = self.host()
        h.send(1, NOW, [piece(bytes(100000))])
        sizes = sum(
            int(
                s.sql(
                    """SELECT coalesce(sum(pg_column_size(data)) FILTER (WHERE host = 'test-bodies-are-stored-outside'), 0)
            FROM fleet_store.capture_piece"""
                )
            )
            for s in self.keepers()
        )
        self.assertEqual(sizes, 100000)

    def test_routing(self):
        """Each row is on the server of its bucket and nowhere else, and a shard refuses rows of others."""
        hosts = [self.host(f"test-routing-{n}") for n in range(6)]
        for h in hosts:
            h.send(1, NOW, [piece(b"one")])
        counts = [int(s.sql("SELECT count(*) FROM fleet_store.own_capture WHERE host LIKE 'test-routing-%'")) for s in self.keepers()]
        self.assertEqual(sum(counts), 6)
        if SHARDS:
            self.assertGreater(len([n for n in counts if n]), 1, counts)
            self.assertEqual(self.c.hub.sql("SELECT count(*) FROM pg_class WHERE relname ~ '_p[0-9][0-9]$' AND relkind <> 'f'"), "0")

    def test_move_bucket(self):
        """A shard is added by moving a bucket to it, with all that a host has, and moved back."""
        h = self.host()
        h.send(1, NOW, [piece(noise(3000))])
        h.send(2, month_before(1), [piece(noise(3001))])
        self.ask("SELECT fleet.pin(%s, %s, %s, 2, true)", h.name, month_of(month_before(1)), str(ARCHIVE))
        h.one("put_run", archive=ARCHIVE, month=month_of(NOW), run=1, head={"guest": "web"})
        h.packet(NOW, piece(b"packet"), 1)
        bucket, old = self.c.hub.sql(
            f"SELECT b.bucket, coalesce(b.shard, '') FROM fleet_store.host JOIN fleet_store.bucket b USING (bucket) WHERE host = '{h.name}'"
        ).split("|")
        keeper = next((s for s in self.c.shards if s.name == old), self.c.hub)
        shard = self.c.shard_new("shard9")
        epochs = [s.sql("SELECT fleet_store.epoch_now()") for s in self.c.servers()]
        self.assertEqual(len(set(epochs)), len(epochs), "servers that come of one copy are two")
        before = h.hello()
        moves = [(keeper, shard, "shard9"), (shard, keeper, old)] if old else [(keeper, shard, "shard9")]
        for source, target, name in moves:
            done = subprocess.run(
                ["sh", os.path.join(TOP, "schema/fleet/move-bucket"), bucket, self.c.hub.admin(), source.admin(), target.admin(), name],
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            after = h.hello()
            self.assertNotEqual(after["epoch"], before["epoch"])
            self.assertEqual(after["used_bytes"], before["used_bytes"])
            self.assertEqual(
                [h.send(1, NOW, [piece(noise(3000))]), h.packet(NOW, piece(b"packet"), 1), h.put(2, month_before(1), piece(noise(3001)))],
                ["done"] * 3,
            )
            self.assertEqual(source.sql(f"SELECT count(*) FROM pg_class WHERE relkind <> 'f' AND relname ~ '_p{int(bucket):02}(_|$)'"), "0")
            self.assertEqual(self.ask("SELECT * FROM fleet.check()"), [])
            before = after
        self.assertEqual(h.send(3, NOW, [piece(b"after")]), "new")

    def test_migrations(self):
        """An older program meets a newer database, and a failing migration changes nothing."""
        with tempfile.TemporaryDirectory() as scratch:
            shutil.copytree(os.path.join(TOP, "schema/fleet"), scratch + "/fleet")
            migrate = ["sh", scratch + "/fleet/migrate", self.c.hub.admin()]
            self.assertEqual(subprocess.run(migrate, check=False).returncode, 0)
            numbers = sorted(name for name in os.listdir(scratch + "/fleet") if name.endswith(".sql"))
            count, bad = len(numbers), f"{int(numbers[-1][:4]) + 1:04}-bad.sql"
            with open(f"{scratch}/fleet/{bad}", "w", encoding="utf-8") as f:
                f.write("CREATE TABLE fleet_store.half (n integer); SELECT 1 / 0;\n")
            done = subprocess.run(migrate, stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"{bad} failed, and the database is as it was before it", done.stderr)
            self.assertEqual(self.c.hub.sql("SELECT to_regclass('fleet_store.half') IS NULL"), "t")
            for name in (bad, numbers[-1]):
                os.remove(f"{scratch}/fleet/{name}")
            done = subprocess.run(migrate, stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"The database has migration {count} and this version of mprofd knows {count - 1}", done.stderr)

    @unittest.skipUnless(SHARDS, "one server has one schema")
    def test_shard_of_another_migration(self):
        """A shard that is newer or older than the hub is not added, and the check finds one that became so."""
        shard, ours = self.c.shards[0], int(self.c.hub.sql("SELECT max(number) FROM fleet_store.migration"))
        alias = Server(self.c.directory, "shard8", shard.port)
        newer = "INSERT INTO fleet_store.migration VALUES (9999, 'newer')"
        older = f"UPDATE fleet_store.migration SET number = -number WHERE number = {ours}"
        for change, theirs, back in (
            (newer, 9999, "DELETE FROM fleet_store.migration WHERE number = 9999"),
            (older, ours - 1, f"UPDATE fleet_store.migration SET number = {ours} WHERE number = -{ours}"),
        ):
            shard.sql(change)
            with self.assertRaisesRegex(ClusterError, f'shard "shard8" has migration {theirs} and the hub has {ours}: migrate the older one'):
                self.c.shard_add(alias, ())
            self.assertEqual(self.ask("SELECT * FROM fleet.check()"), [("shard with another migration than the hub", None, None, "shard1")])
            shard.sql(back)
        self.assertEqual(self.ask("SELECT * FROM fleet.check()"), [])

    def test_command(self):
        """mprofd-fleet does the work of each day, and tells what it finds."""
        h = self.host()
        h.send(1, NOW, [piece(b"one")])
        h.send(2, month_before(13), [piece(b"old")])
        with tempfile.TemporaryDirectory() as scratch:
            with open(os.path.join(TOP, "schema/fleet/mprofd-fleet.in"), encoding="utf-8") as f:
                text = f.read().replace("@directory@", os.path.join(TOP, "schema/fleet")).replace("@version@", "1")
            with open(scratch + "/mprofd-fleet", "w", encoding="utf-8") as f:
                f.write(text)

            def run(*words):
                done = subprocess.run(["sh", scratch + "/mprofd-fleet", *words], capture_output=True, text=True, check=False)
                return done.returncode, done.stdout, done.stderr

            self.assertEqual(run("--version"), (0, "mprofd-fleet 1\n", ""))
            self.assertEqual(run("migrate", self.c.hub.admin()), (0, "", ""))
            self.assertEqual(run("daily", self.c.hub.admin(), "12"), (0, "", ""))
            self.assertEqual(self.ask("SELECT capture FROM fleet.captures WHERE host = %s", h.name), [(1,)])
            self.assertEqual(h.hello()["keeps_since"], month_of(month_before(12)))
            for months in ("0", "-1", "a", ""):
                code, _, said = run("daily", self.c.hub.admin(), months)
                self.assertEqual((code, said.split(" is no ")[0]), (2, f'"{months}"'))
            for words in ((), ("daily",), ("other",)):
                self.assertEqual(run(*words)[0], 2, words)
            self.c.hub.sql(f"SET ROLE fleet_owner; DELETE FROM fleet_store.capture_piece WHERE host = '{h.name}'")
            code, said, _ = run("daily", self.c.hub.admin())
            self.assertEqual((code, said.count("\n")), (1, 1))
            self.assertTrue(said.startswith(f"capture without some of its pieces | {h.name} | "), said)
            # A bucket whose months cannot be made keeps no other from its work.
            keeper = next(s for s in self.keepers() if s.sql("SELECT shard IS NULL FROM fleet_store.bucket WHERE bucket = 5") == "t")
            keeper.sql(
                """CREATE FUNCTION public.odd() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''this is odd''; END';
                CREATE TRIGGER a_odd BEFORE INSERT ON fleet_store.task_p05 FOR EACH ROW EXECUTE FUNCTION public.odd()"""
            )
            code, _, said = run("daily", self.c.hub.admin())
            keeper.sql("DROP FUNCTION public.odd CASCADE")
            self.assertEqual((code, said.count("ERROR:"), said.count("this is odd")), (1, 2, 2), said)
        self.c.hub.sql(f"SET ROLE fleet_owner; DELETE FROM fleet_store.capture WHERE host = '{h.name}'")


if __name__ == "__main__":
    main(Test)
