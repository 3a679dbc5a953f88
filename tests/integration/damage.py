"""Flip bits on the disk: no wrong byte is served, lost bytes are declared, and no program crashes
or hangs: damage.py BUILD-DIRECTORY [TEST…]

MPROF_SEED repeats a run. MPROF_FLIPS is the number of bits to flip in rows and pieces (40, or 6 with MPROF_BRIEF=1); half as
many flip anywhere in the files.
"""

import contextlib
import http.client
import os
import random
import shutil
import sqlite3
import struct
import subprocess
import sys
import tarfile
import tempfile
import time

import daemons

ARCHIVES = os.path.join(daemons.HERE, "..", "archives")
TRACES = os.path.join(daemons.HERE, "..", "traces")
sys.path += [ARCHIVES, TRACES]

import make
import sink
from frames import unzstd
from turns import BRIEF
from unpack import extract

FLIPS = int(os.environ.get("MPROF_FLIPS", "6" if BRIEF else "40"))
TRACE, MEMTRACES = "archive/trace.db", "memtraces/memtraces.db"
# Cells to flip: the file, the table, its key, and the columns.
ROWS = {
    "chunks": (
        TRACE,
        "rowid",
        ("stream", "sequence", "offset", "length", "flags", "first_timestamp", "packet_bytes", "codec", "ends", "data", "data", "data", "checksum"),
    ),
    "tails": (
        TRACE,
        "rowid",
        ("capture", "stream", "sequence", "offset", "length", "first_timestamp", "packet_bytes", "codec", "data", "data", "checksum"),
    ),
    "capture_streams": (TRACE, "capture * 1000000 + stream", ("first_sequence", "last_sequence", "last_offset", "tail_bytes", "reached", "checksum")),
    "pieces": (MEMTRACES, "rowid", ("recording", "offset", "length", "codec", "data", "data", "data", "checksum")),
}
# The rows that say what the packets are, without the columns of an index: a row that has another place in its index is not met, but missing.
DESCRIBING = {
    "runs": ("source", "key", "domid", "state", "began_real", "ended_real", "reason", "checksum"),
    "streams": (
        "ring_bytes",
        "flags",
        "packets",
        "bytes",
        "lost_packets",
        "deletions",
        "last_seen_real",
        "oldest",
        "newest",
        "held",
        "damaged_packets",
    ),
    "gaps": ("kind", "reason", "after_offset", "next_sequence", "packets", "at_least", "real", "mono", "checksum"),
    "captures": ("kind", "real", "mono", "pinned", "note", "marks", "version", "context", "context_checksum", "checksum"),
}
ROWS |= {table: (TRACE, "id", columns) for table, columns in DESCRIBING.items()}
WEIGHTS = {"chunks": 5, "tails": 2, "capture_streams": 1, "pieces": 3}
CORRUPT = "mprofd: error: "


class Flipped(sink.Sink):
    """A copy of the archives. Each row has a checksum unless OLD."""

    def __init__(self, source):
        super().__init__(config=make.CONFIG)
        shutil.rmtree(self.state)
        shutil.copytree(source, self.state)


def unpack(directory):
    """Unpack the set of an earlier version and bring it up to date with --fsck."""
    with tarfile.open(os.path.join(ARCHIVES, "schema-1", "state.tar.xz")) as tar:
        extract(tar, directory)
    return directory


def fsck(state, timeout=300):
    done = subprocess.run([daemons.program("mprofd"), "--fsck", "--state", state], capture_output=True, text=True, timeout=timeout, check=False)
    if done.returncode not in (0, 1, 2) or "ERROR: " in done.stderr or "runtime error" in done.stderr:
        raise AssertionError(f"--fsck ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.returncode, done.stdout + done.stderr


def settle(state):
    """Move the logs' pages into the files, so that no log hides a flip in a file."""
    for name in (TRACE, MEMTRACES):
        with contextlib.closing(sqlite3.connect(os.path.join(state, name))) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


class Damage(daemons.Case):
    @classmethod
    def setUpClass(cls):
        cls.seed = int(os.environ.get("MPROF_SEED", time.time_ns() % 2**32))
        cls.random = random.Random(cls.seed)
        cls.made = os.path.join(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="mprof.")), "made")
        code, said = fsck(unpack(cls.made))
        if code != 0 or "have checksums now" not in said:
            raise AssertionError(f"--fsck ended with {code}:\n{said}")
        settle(cls.made)

    def setUp(self):
        super().setUp()
        self.addCleanup(
            lambda: print(f"MPROF_SEED={self.seed}", file=sys.stderr) if self._outcome.result.failures or self._outcome.result.errors else None
        )
        self.whole = os.path.join(os.getcwd(), "whole")
        shutil.copytree(self.made, self.whole)

    def daemons_of(self, directory, serve=True):
        os.makedirs(directory)
        os.chdir(directory)
        d = Flipped(self.whole)
        self.addCleanup(d.__exit__)
        if serve:
            d.start_server()
        return d

    def bodies(self, d):
        """Return each body of the undamaged archives."""
        found = {}
        for path in make.paths(d):
            if make.is_body(path):
                status, _, body = d.ask(path)
                self.assertEqual(status, 200, path)
                found[path] = body
        return found

    def fetch(self, d, path, headers=None):
        """Return (status, body); the body is None if the server broke it off."""
        try:
            status, _, body = d.ask(path, headers=headers or {}, timeout=daemons.HANGS)
        except (ConnectionError, http.client.HTTPException):
            return 0, None
        if headers and status == 200:
            try:
                body = unzstd(body)
            except ValueError:
                body = b"not unpacked"
        return status, body

    # ---- flips

    def choose(self, state, table):
        """Choose a row and a column, by the weights of the columns: (file, table, key, column,
        value)."""
        file, key, columns = ROWS[table]
        with contextlib.closing(sqlite3.connect(os.path.join(state, file))) as db:
            keys = [row[0] for row in db.execute(f"SELECT {key} FROM {table} ORDER BY 1")]
            at, column = self.random.choice(keys), self.random.choice(columns)
            value = db.execute(f"SELECT {column} FROM {table} WHERE {key} = ?", (at,)).fetchone()[0]
        return file, key, at, column, value

    def flip_cell(self, state, table):
        """Flip one bit of one cell by SQL. Return the old value and a function that restores it."""
        file, key, at, column, value = self.choose(state, table)
        if value in (None, b"", "") or (table, column) == ("chunks", "stream") and self.is_last_commit(state, at):
            return None
        if isinstance(value, bytes):
            bit = self.random.randrange(8 * len(value))
            flipped = bytearray(value)
            flipped[bit // 8] ^= 1 << bit % 8
            flipped = bytes(flipped)
        elif isinstance(value, str):
            bit = 8 * self.random.randrange(len(value)) + self.random.randrange(4)
            flipped = value[: bit // 8] + chr(ord(value[bit // 8]) ^ 1 << bit % 8) + value[bit // 8 + 1 :]
        else:
            bit = self.random.randrange(63 if column not in ("codec", "flags") else 3)
            flipped = value ^ 1 << bit
        self.put(state, table, key, at, column, flipped)
        return f"{table} {at}.{column} bit {bit}", lambda: self.put(state, table, key, at, column, value)

    def is_last_commit(self, state, row):
        """Return whether ROW is the newest row of a running guest. Without it the archive is the
        one before the last commit, as after a loss of power: only the collector can notice."""
        sql = """SELECT 1 FROM chunks k JOIN streams s ON s.id = k.stream JOIN runs r ON r.id = s.run WHERE k.id = ? AND r.state <> 'ended' AND NOT k.flags & 1
            AND NOT EXISTS (SELECT 1 FROM chunks n WHERE n.stream = k.stream AND (n.sequence, n.offset) > (k.sequence, k.offset))"""
        with contextlib.closing(sqlite3.connect(os.path.join(state, TRACE))) as db:
            return db.execute(sql, (row,)).fetchone() is not None

    def put(self, state, table, key, at, column, value):
        with contextlib.closing(sqlite3.connect(os.path.join(state, ROWS[table][0]), isolation_level=None)) as db:
            db.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (value, at))
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def flip_stored(self, state, table):
        """Flip one bit of a blob in the file."""
        file, _, at, column, value = self.choose(state, table)
        path = os.path.join(state, file)
        if not isinstance(value, bytes) or len(value) < 12:
            return None
        with open(path, "rb") as f:
            content = f.read()
        where = content.find(value[: min(len(value), 64)])
        if where < 0:
            return None
        bit = self.random.randrange(8 * min(len(value), 64 if len(value) > 30_000 else len(value)))
        return f"{table} {at}.{column} in the file, bit {bit}", flip_file(path, where + bit // 8, bit % 8)

    def check(self, d, what, whole):
        """Check that no answer is wrong, and that a missing answer is an error that says so."""
        missing = 0
        for path, want in whole.items():
            for headers in (None, {"Accept-Encoding": "zstd"} if "ctf.tar" not in path else None):
                status, body = self.fetch(d, path, headers)
                self.assertTrue(
                    body == want or status in (0, 404, 410, 500, 503) or body is None,
                    f"{what}: {path} is wrong: status {status}, {len(body or b'')} bytes of {len(want)}",
                )
                missing += body != want
        return missing

    def test_flips_in_rows(self):
        """Flip bits in pieces, tails, ranges and their rows, by SQL and in the file: no flipped
        byte is served."""
        d = self.daemons_of("rows")
        whole = self.bodies(d)
        noticed = silent = 0
        while noticed + silent < FLIPS:
            table = self.random.choices(list(WEIGHTS), WEIGHTS.values())[0]
            flip = self.random.choice((self.flip_cell, self.flip_cell, self.flip_stored))(d.state, table)
            if not flip:
                continue
            what, undo = flip
            self.restart_reader(d)
            missing = self.check(d, what, whole)
            noticed += missing > 0
            silent += missing == 0
            undo()
        self.restart_reader(d)
        self.assertEqual(self.check(d, "nothing flipped", whole), 0)
        print(f"{FLIPS} flips in rows: {noticed} noticed, {silent} changed no answer", file=sys.stderr)
        self.assertGreater(noticed, FLIPS // 3)

    def answer(self, d, path):
        """Return an answer, without what a reader has found in a capture meanwhile."""
        try:
            found = make.answer(d, path)
            captures = found.get("json", {}).get("captures")
            for capture in (found.get("json", {}), *(captures if isinstance(captures, list) else ())):
                for key in ("cause", "sentence", "last_ran", "exception", "failure", "damages", "skipped_bytes", "unproven_events"):
                    capture.pop(key, None)
            return found
        except (ConnectionError, http.client.HTTPException):
            return {"status": 0}

    def test_flips_in_describing_rows(self):
        """Flip bits in the rows of runs, streams, gaps and captures, while nothing has checked them since: each answer is as before, or an
        error. None rests on a damaged row."""
        d = self.daemons_of("describing")
        whole = {path: self.answer(d, path) for path in make.paths(d)}
        contexts = [f"/v1/captures/{capture['id']}/context" for capture in d.json("/v1/captures")["captures"]]
        whole |= {path: self.answer(d, path) for path in contexts}
        flips, noticed = 0, 0
        while flips < FLIPS:
            flip = self.flip_cell(d.state, self.random.choice(sorted(DESCRIBING)))
            if not flip:
                continue
            what, undo = flip
            flips += 1
            failed = 0
            for path, want in whole.items():
                found = self.answer(d, path)
                failed += found["status"] in (500, 503)
                if found.get("Mprof-Lost-Packets", "").endswith("+"):  # the number is not known
                    failed += 1
                    want = want | {"Mprof-Lost-Packets": found["Mprof-Lost-Packets"]}
                self.assertTrue(found == want or found["status"] in (0, 500, 503), f"{what}: {path}: {found} is not {want}")
            noticed += failed > 0
            undo()
        self.assertEqual({path: self.answer(d, path) for path in whole}, whole)
        self.assertGreater(noticed, FLIPS // 2)

    def test_describing_rows_declared(self):
        """A reader meets a damaged row, and mprofd declares it at once: the next answers say what is lost."""
        d = self.daemons_of("told")
        d.start_collector()
        (capture, *_) = d.json("/v1/captures")["captures"]
        self.assertTrue(capture["complete"])
        before = d.collector_metric("mprofd_damaged_pieces_total")
        self.damage(d, f"UPDATE captures SET real = real + (1 << 50) WHERE id = {capture['id']}")
        path = f"/v1/captures/{capture['id']}"
        status, _, body = d.ask(path)
        self.assertEqual(status, 500, body)
        d.wait(lambda: d.ask(path)[0] == 200)
        self.assertFalse(d.json(path)["complete"])
        self.wait_counted(d, before + 1)
        d.wait_said("table=captures")

    def test_rows_behind_a_capture(self):
        """A capture ends in the middle of a packet. Bits that flip in the rows of that packet behind
        the capture's end change none of its answers: neither its packets nor the clock's offset."""
        d = self.daemons_of("behind")
        whole = {path: body for path, body in self.bodies(d).items() if "/captures/" in path}
        with contextlib.closing(sqlite3.connect(os.path.join(d.state, TRACE))) as db:
            rows = [
                row[0]
                for row in db.execute(
                    """SELECT DISTINCT k.id FROM chunks k JOIN capture_streams c ON c.stream = k.stream AND c.last_sequence = k.sequence
                AND k.offset >= c.last_offset ORDER BY 1"""
                )
            ]
        self.assertTrue(rows)
        flips = [("first_timestamp", 1 << 35), ("flags", 1), ("flags", 2), ("flags", 4), ("packet_bytes", 1 << 7)]
        for column, bit in flips[::4] if BRIEF else flips:
            for row in rows[::3] if BRIEF else rows:
                flip = f"UPDATE chunks SET {column} = ({column} | {bit}) - ({column} & {bit}) WHERE id = {row}"
                self.damage(d, flip)
                self.restart_reader(d)
                self.check(d, f"chunks {row}.{column}", whole)
                self.damage(d, flip)

    def restart_reader(self, d):
        """Restart the server, so that it holds no page from before."""
        d.kill_server()
        d.start_server()

    # ---- how the daemons react to damage

    def damage(self, d, sql, file=TRACE):
        with contextlib.closing(sqlite3.connect(os.path.join(d.state, file), isolation_level=None)) as db:
            db.execute(sql)

    def wait_counted(self, d, n):
        """Wait until mprofd has counted N damaged pieces, which it does behind the commit that takes them out of service."""
        d.wait(lambda: d.collector_metric("mprofd_damaged_pieces_total") == n)

    def test_declared(self):
        """The server reports damage to the collector, which checks by itself. A gap, the metrics
        and the log show the damage, and the rest is served."""
        d = self.daemons_of("declared")
        run = d.run_list("web")[0]["run"]
        path = f"/v1/domains/web/trace?run={run}&stream=0"
        before = d.get(path)
        self.damage(d, "UPDATE chunks SET data = CAST(zeroblob(length(data)) AS BLOB) WHERE sequence = 65539 AND offset = 30")
        status, body = self.fetch(d, path)
        self.assertTrue(body is None and status == 0, (status, body and len(body)))
        d.start_collector()
        d.wait(lambda: self.fetch(d, path)[0] == 200)
        after = d.get(path)
        self.assertLess(len(after), len(before) - 1_000_000)
        self.assertEqual(after[:5130], before[:5130])  # the packet before it
        gaps = [gap for page in d.packets("web", f"&run={run}&stream=0") for gap in page["gaps"] if gap["reason"] == "damaged"]
        self.assertEqual([(g["kind"], g["after_sequence"], g["next_sequence"], g["packets"]) for g in gaps], [("lost", 65539, 65540, 1)])
        self.assertEqual(d.served_metric("mprofd_archive_damaged_packets"), 1)
        self.wait_counted(d, 1)
        d.wait_said("damaged on the disk and are out of service")
        d.wait_said("damaged on the disk and not served")
        d.stop()
        self.assertEqual(fsck(d.state)[0], 0)

    def test_vanished(self):
        """The programs miss the rows of a packet that are gone, at either end or between."""
        for where, sequence in (("first", "min"), ("last", "max")):
            d = self.daemons_of(f"{where}")
            d.start_collector()
            with daemons.Ring("rings/new.ctf") as ring:
                d.wait(lambda d=d: d.domain("new"))
                for _ in range(4):
                    ring.add_packet()
                    ring.add_slowly(20)
                d.wait_archived(ring, "new", ring.n - 60)
                d.stop_collector()
                of = "stream = (SELECT s.id FROM streams s JOIN runs r ON r.id = s.run WHERE r.name = 'new')"
                complete = f"(SELECT {sequence}(sequence) FROM chunks WHERE {of} AND flags & 1)"
                self.damage(d, f"UPDATE chunks SET stream = 77777 WHERE {of} AND sequence {'<=' if where == 'first' else '>='} {complete}")
                self.assertEqual(d.ask("/v1/domains/new/trace")[0], 500)
                d.start_collector()
                d.wait(lambda d=d: self.fetch(d, "/v1/domains/new/trace")[0] == 200)
                gaps = [gap["reason"] for page in d.packets("new") for gap in page["gaps"]]
                self.assertIn("damaged", gaps)
            d.stop()

    def test_lengths(self):
        """Rows whose length is damaged keep the collector from nothing, and a limit of bytes deletes nothing for them."""
        d = self.daemons(f"{daemons.QUIET}bytes = 64M\n")
        for name in "web", "db":
            with daemons.Ring(f"rings/{name}.ctf") as ring:
                d.wait(lambda name=name: d.domain(name))
                ring.add(50)
                d.wait_archived(ring, name, 50)
                self.assertEqual(d.ask(f"/v1/domains/{name}/captures", "POST", "{}", {"Content-Type": "application/json"})[0], 201)
            d.wait_ended(name)
        d.stop_collector()
        others = "stream = (SELECT s.id FROM streams s JOIN runs r ON r.id = s.run WHERE r.name = 'db')"
        before = d.query(f"SELECT * FROM chunks WHERE {others}"), d.query("SELECT id FROM captures")
        for length in (1 << 62, (1 << 63) - 1, -(1 << 62)):
            with contextlib.closing(sqlite3.connect(f"{d.state}/archive/trace.db")) as db:
                for table in "chunks", "tails":
                    db.execute(f"UPDATE {table} SET length = {length} WHERE NOT {others}")
                db.commit()
            d.start_collector()
            d.advance(6, step=1)  # limits are checked after five seconds
            self.assertEqual((d.query(f"SELECT * FROM chunks WHERE {others}"), d.query("SELECT id FROM captures")), before)
            self.assertEqual(d.ask("/v1/domains")[0], 200)
            self.assertEqual(d.ask("/v1/domains/db/trace")[0], 200)
            d.stop_collector()
        self.assertNotIn("reason=quota", d.said())

    def test_end_hidden(self):
        """A range whose end is before its last rows is damage: a dead guest's trace is not served
        without its tail."""
        d = self.daemons_of("hidden")
        found = """SELECT a.capture, a.stream, r.id, s.number, r.name FROM capture_streams a JOIN captures c ON c.id = a.capture
            JOIN streams s ON s.id = a.stream JOIN runs r ON r.id = s.run
            WHERE a.tail_bytes > 0 AND a.last_offset >= 94 AND r.state = 'ended' AND c.kind NOT IN ('periodic', 'manual', 'trigger') LIMIT 1"""
        with contextlib.closing(sqlite3.connect(os.path.join(d.state, TRACE))) as db:
            capture, stream, run, number, name = db.execute(found).fetchone()
        paths = [f"/v1/domains/{name}/trace?run={run}&stream={number}", f"/v1/domains/{name}/ctf.tar?run={run}"]
        whole = {path: d.get(path) for path in paths}
        # The capture's list, which has the range, too, is damaged as well.
        self.damage(d, "UPDATE capture_lists SET checksum = zeroblob(16)")
        self.damage(d, f"UPDATE capture_streams SET last_offset = last_offset - 64 WHERE capture = {capture} AND stream = {stream}")
        for path in paths:
            self.assertEqual(self.fetch(d, path)[0], 500, path)
        d.start_collector()
        for path in paths:
            d.wait(lambda path=path: self.fetch(d, path)[0] == 200)
            self.assertLess(len(d.get(path)), len(whole[path]))
        d.wait_said("damaged on the disk")

    def test_started(self):
        """mprofd starts whatever one row of the archive says, and goes on: the row of the identifiers that is lost or flipped, and odd
        numbers of packets."""
        d = self.daemons_of("started")
        d.stop_server()
        shutil.copytree(d.state, "kept")
        with contextlib.closing(sqlite3.connect(os.path.join(d.state, TRACE))) as db:
            (runs,) = db.execute("SELECT max(id) FROM runs").fetchone()
            stream, first, last = db.execute(
                "SELECT stream, min(sequence), max(sequence) FROM chunks GROUP BY stream ORDER BY count(*) DESC"
            ).fetchone()
        odd = [
            f"UPDATE chunks SET sequence = {value} WHERE stream = {stream} AND sequence = {n}"
            for n in (first, last)
            for value in (-1, 2**62, 2**63 - 1)
        ]
        for sql in ("DELETE FROM identifiers", "UPDATE identifiers SET run = 0, stream = 0, capture = 0", *odd):
            with self.subTest(sql=sql):
                shutil.rmtree(d.state)
                shutil.copytree("kept", d.state)
                self.damage(d, sql)
                d.start_collector()
                with daemons.Ring(f"{d.rings}/new.ctf") as ring:
                    d.wait(lambda: d.query("SELECT 1 FROM runs WHERE name = 'new'"))
                    ring.add(3)
                self.assertGreater(d.query("SELECT id FROM runs WHERE name = 'new'")[0][0], runs)
                d.stop_collector()
        self.assertIn("The archive has lost the row of the identifiers", d.said())
        self.assertNotIn("Input/output error", d.said())

    def test_moved(self):
        """The programs miss a packet that one bit moved elsewhere in its stream, also among deleted
        packets."""
        d = self.daemons_of("moved")
        found = """SELECT DISTINCT k.id, a.capture FROM chunks k JOIN streams s ON s.id = k.stream JOIN capture_streams a ON a.stream = s.id
            WHERE s.deletions > 0 AND k.flags & 1 AND k.length > 0 AND k.sequence BETWEEN a.first_sequence AND a.last_sequence"""
        with contextlib.closing(sqlite3.connect(os.path.join(d.state, TRACE))) as db:
            rows = db.execute(found).fetchall()
        self.assertGreater(len(rows), 0)
        for row, capture in rows:
            path = f"/v1/captures/{capture}/ctf.tar"
            for bit in (30, 8, 3):
                self.damage(d, f"UPDATE chunks SET sequence = (sequence | {1 << bit}) - (sequence & {1 << bit}) WHERE id = {row}")
                self.restart_reader(d)
                self.assertIn(self.fetch(d, path)[0], (0, 500), (row, capture, bit))
                self.damage(d, f"UPDATE chunks SET sequence = (sequence | {1 << bit}) - (sequence & {1 << bit}) WHERE id = {row}")

    def test_packet_without_a_size(self):
        """A packet whose size became 0 is damaged. It is not left out without a word."""
        d = self.daemons_of("unsized")
        found = """SELECT DISTINCT k.id, r.name, r.id FROM {} k JOIN streams s ON s.id = k.stream JOIN runs r ON r.id = s.run
            WHERE k.length > 0 ORDER BY k.id LIMIT 64"""
        with contextlib.closing(sqlite3.connect(os.path.join(d.state, TRACE))) as db:
            rows = [(table, *row) for table in ("chunks", "tails") for row in db.execute(found.format(table)).fetchall()]
        self.assertEqual({table for table, _, _, _ in rows}, {"chunks", "tails"})
        for table, row, name, run in rows:
            path = f"/v1/domains/name:{name}/ctf.tar?run={run}"
            status, whole = self.fetch(d, path)
            with contextlib.closing(sqlite3.connect(os.path.join(d.state, TRACE))) as db:
                (size,) = db.execute(f"SELECT packet_bytes FROM {table} WHERE id = {row}").fetchone()
            self.damage(d, f"UPDATE {table} SET packet_bytes = 0 WHERE id = {row}")
            self.restart_reader(d)
            damaged, body = self.fetch(d, path)
            self.assertTrue(damaged != 200 or (status == 200 and body == whole), (table, row, path, damaged))
            self.damage(d, f"UPDATE {table} SET packet_bytes = {size} WHERE id = {row}")
            self.restart_reader(d)

    def test_profile(self):
        """A memory profile ends before its damaged part."""
        d = self.daemons_of("profile")
        with contextlib.closing(sqlite3.connect(os.path.join(d.state, MEMTRACES))) as db:
            (recording,) = db.execute("SELECT recording FROM pieces WHERE offset > 0").fetchone()
        path = f"/v1/memtraces/{recording}"
        whole = d.get(f"{path}/data")
        self.damage(d, f"UPDATE pieces SET data = CAST(data || x'00' AS BLOB) WHERE recording = {recording} AND offset > 0", MEMTRACES)
        self.assertIsNone(self.fetch(d, f"{path}/data")[1])
        d.start_sink()
        d.wait(lambda: d.json(path)["damaged"] or self.fetch(d, f"{path}/data") and None)
        after = d.get(f"{path}/data")
        self.assertTrue(0 < len(after) < len(whole) and whole.startswith(after))
        self.assertEqual(d.json(path)["damaged"], len(whole) - len(after))
        self.assertEqual(d.served_metric("mprofd_memtraces_damaged_bytes"), len(whole) - len(after))
        d.wait(lambda: d.metric("damaged_pieces_total") == 1)

    def test_profile_that_sqlite_cannot_read(self):
        """With a damaged page in the profiles' file the sink logs one sentence for each report, and
        goes on."""
        d = self.daemons_of("page")
        path = os.path.join(d.state, MEMTRACES)
        with contextlib.closing(sqlite3.connect(path)) as db:
            root = db.execute("SELECT rootpage FROM sqlite_schema WHERE tbl_name = 'pieces' AND type = 'index'").fetchone()[0]
            (recording,) = db.execute("SELECT recording FROM pieces").fetchone()
        with open(path, "r+b") as f:
            f.seek((root - 1) * 65536)
            f.write(b"\xff" * 4096)
        d.start_sink()
        for _ in range(3):
            self.assertEqual(d.say("damaged", recording=recording)[1]["status"], "503")
            self.assertIsNone(d.sink.poll())
        d.wait_said("mprofd --fsck saves what is whole")

    def test_reports_of_a_recording(self):
        """False reports of damage do not cut a recording that goes on."""
        d = self.daemons_of("going-on")
        d.start_sink()
        whole = sink.stream(400, size=30000)
        before = d.rows("max(id)")[0][0]
        with d.connect() as guest:
            half = len(whole) // 2
            guest.sendall(whole[:half])
            d.wait(lambda: d.rows("id", f"id > {before}"))
            for at in range(half, len(whole), 100_000):
                guest.sendall(whole[at : at + 100_000])
                self.assertEqual(d.say("damaged", recording=before + 1)[1]["status"], "404")
        d.wait_rows(1, f"id > {before} AND state = 'ended'")
        self.assertTrue(whole.startswith(d.bytes_of(before + 1)))
        self.assertEqual(d.rows("bytes, damaged", f"id = {before + 1}")[0], (len(whole), None))

    def test_false_reports(self):
        """The collector and the sink check each report and ignore false ones."""
        d = self.daemons_of("reports")
        whole = self.bodies(d)
        d.start_sink()
        d.start_collector()
        whole = self.bodies(d)
        for stream, sequence, capture in ((1001, 65538, 0), (1001, 65540, 501), (1001, 2**63 - 1, 0), (99, 1, 0), (1003, 2, 502), (1001, 0, 0)):
            self.assertEqual(ask(d, f"damaged 7\nstream={stream}\nsequence={sequence}\ncapture={capture}").split()[:3], ["error", "7", "status=404"])
        for text in ("damaged 7", "damaged 7\nstream=1", "damaged 7\nstream=-1\nsequence=1", f"damaged 7\nstream={2**64 - 1}\nsequence=1"):
            self.assertIn("status=400", ask(d, text))
        self.assertEqual(d.say("damaged", recording=1)[1]["status"], "404")
        self.assertEqual(d.say("damaged")[1]["status"], "400")
        self.assertEqual(self.check(d, "false reports", whole), 0)

    # ---- --fsck, and flips anywhere

    def test_fsck(self):
        """--fsck says what is lost, saves what is whole, and needs the archive for itself."""
        d = self.daemons_of("fsck")
        d.start_collector()
        d.start_sink()
        code, said = fsck(d.state)
        self.assertEqual(code, 2)
        self.assertIn("mprofd runs on this archive; stop it first", said)
        self.assertIn("mprofd-sink runs on this archive; stop it first", said)
        d.stop_collector()
        d.stop_sink()
        self.damage(d, "UPDATE chunks SET first_timestamp = first_timestamp + 1 WHERE stream = 1001 AND sequence = 65538")
        self.damage(d, "UPDATE pieces SET length = length - 1 WHERE recording = 1", MEMTRACES)
        code, said = fsck(d.state)
        self.assertEqual(code, 1, said)
        self.assertIn("packets lost wholly or in part: 1;", said)
        self.assertIn("Deleted from the archive: guest=web reason=damage packets=1 captures=0 ", said)
        self.assertRegex(said, r"Deleted from the archive: guest=\S+ reason=damage packets=0 recordings=0 runs=0 bytes=[1-9]")
        self.assertIn("all that is left is whole", said)
        self.assertEqual(fsck(d.state)[0], 0)
        self.assertEqual(d.json("/v1/memtraces/1")["bytes"], 0)
        self.assertIn("damaged", [gap["reason"] for page in d.packets("web", "&run=101&stream=0") for gap in page["gaps"]])

    def test_salvage(self):
        """SQLite cannot read the whole file: --fsck saves every packet that can be read, byte for
        byte."""
        d = self.daemons_of("salvage")
        whole = self.bodies(d)
        d.stop_server()
        path = os.path.join(d.state, TRACE)
        keyed = ("SELECT stream, sequence FROM beginnings", "SELECT * FROM capture_lists")
        with contextlib.closing(sqlite3.connect(path)) as db:
            with db:
                db.execute("INSERT OR IGNORE INTO beginnings SELECT id, id, NULL FROM streams")
            rows = [db.execute(sql).fetchall() for sql in keyed]
            root = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'chunks_by_position'").fetchone()[0]
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with open(path, "r+b") as f:
            f.seek((root - 1) * 65536)
            f.write(os.urandom(4096))
        code, said = fsck(d.state)
        self.assertEqual(code, 1, said)
        self.assertIn("what can be read is saved", said)
        self.assertNotIn("others cannot be read", said)
        self.assertTrue(os.path.exists(f"{path}.damaged-1"))
        # Rows whose number has another name than id are saved, too.
        with contextlib.closing(sqlite3.connect(path)) as db:
            self.assertEqual([db.execute(sql).fetchall() for sql in keyed], rows)
        self.assertTrue(all(rows))
        d.start_server()
        self.assertEqual(self.check(d, "salvage", whole), 0)
        self.assertEqual(fsck(d.state)[0], 0)

    def unpacked(self, name):
        """Return a copy of an earlier version's set with its logs checkpointed, the path of its
        archive, and its row counts."""
        state = unpack(os.path.join(os.getcwd(), name))
        settle(state)
        return state, os.path.join(state, TRACE), self.counts(state)

    def counts(self, state):
        """Return the number of rows in each table with bytes of guests."""
        found = []
        for table in WEIGHTS:
            file = ROWS[table][0]
            with contextlib.closing(sqlite3.connect(os.path.join(state, file))) as db:
                found.append(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
        return found

    def test_salvage_of_an_earlier_version(self):
        """Rows that never had a checksum are not damaged, even if their file's header, an index,
        the notes on checksums or a row of streams is."""
        state, path, whole = self.unpacked("header")
        for file in (path, os.path.join(state, MEMTRACES)):
            with open(file, "r+b") as f:
                f.write(b"not an SQLite file")
        code, said = fsck(state)
        self.assertEqual((code, self.counts(state)), (1, whole), said)
        self.assertIn("the file's header was damaged", said)
        self.assertEqual(fsck(state)[0], 0)

        for what in ("header and index", "index"):
            state, path, whole = self.unpacked(what)
            with contextlib.closing(sqlite3.connect(path)) as db:
                root = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'chunks_by_position'").fetchone()[0]
            with open(path, "r+b") as f:
                f.write(b"not an SQLite file" if what != "index" else b"")
                f.seek((root - 1) * 65536)
                f.write(b"\xff" * 4096)
            code, said = fsck(state)
            self.assertEqual((code, self.counts(state)), (1, whole), said)
            self.assertEqual(fsck(state)[0], 0)
            # The rows were saved into a file of today's page size, whose header can be repaired, too.
            settle(state)
            with open(path, "r+b") as f:
                self.assertEqual(struct.unpack_from(">H", f.read(18), 16), (16384,))
                f.seek(0)
                f.write(b"not an SQLite file")
            code, said = fsck(state)
            self.assertEqual((code, self.counts(state)), (1, whole), said)
            self.assertIn("the file's header was damaged", said)
            self.assertEqual(fsck(state)[0], 0)

        whole = self.counts(self.whole)
        with contextlib.closing(sqlite3.connect(os.path.join(self.whole, TRACE), isolation_level=None)) as db:
            db.execute("UPDATE chunks SET checksum = NULL")
            db.execute("UPDATE tails SET checksum = NULL")
            db.execute("UPDATE unchecked SET chunks = (SELECT max(id) FROM chunks), tails = (SELECT max(id) FROM tails)")
            db.execute("PRAGMA foreign_keys = OFF")
            db.execute("DELETE FROM streams WHERE id = 1001")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            root = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'unchecked'").fetchone()[0]
        with open(os.path.join(self.whole, TRACE), "r+b") as f:
            f.seek((root - 1) * 65536)
            f.write(b"\xff" * 4096)
        code, said = fsck(self.whole)
        self.assertEqual((code, self.counts(self.whole)), (1, whole), said)
        self.assertEqual(fsck(self.whole)[0], 0)

    def test_flips_anywhere(self):
        """Flip bits anywhere in the files, and overwrite sectors: each program answers or ends with
        a sentence, and never crashes or hangs."""
        d = self.daemons_of("anywhere", serve=False)
        d.start_server()
        paths = [path for path in make.paths(d) if "tail=raw" not in path]
        d.stop_server()
        codes = []
        for number in range(max(FLIPS // 2, 4)):
            shutil.rmtree(d.state)
            shutil.copytree(self.whole, d.state)
            file = self.random.choice((TRACE, TRACE, MEMTRACES))
            what = self.vandalize(os.path.join(d.state, file), number)
            try:
                codes.append(self.run_all(d, paths))
            except (AssertionError, subprocess.TimeoutExpired) as error:
                raise AssertionError(f"flip {number}: {file}, {what}: {error}") from error
        print(f"{len(codes)} flips anywhere: --fsck said {[codes.count(code) for code in (0, 1, 2)]} times 0, 1, 2", file=sys.stderr)

    def run_all(self, d, paths):
        """Run all programs on damaged archives. Return the output of --fsck."""
        d.start_server()
        for path in self.random.sample(paths, min(len(paths), 12)):
            self.fetch(d, path)
        self.assertIsNone(d.server.poll(), f"mprofd-http ended: {d.said()[-2000:]}")
        d.stop_server()
        self.run_briefly(d, "mprofd", "--source", f"dir:{d.rings}")
        self.run_briefly(d, "mprofd-sink")
        return fsck(d.state)[0]

    def vandalize(self, path, number):
        """Flip a bit. Every eighth time overwrite a whole sector at the beginning of a page, where
        structures are likely."""
        size = os.path.getsize(path)
        if number % 8 == 7:
            at = self.random.randrange(size // 65536) * 65536 + self.random.choice((0, 100, 512, 4096))
            with open(path, "r+b") as f:
                f.seek(at)
                f.write(self.random.randbytes(512))
            return f"512 bytes at {at}"
        page = self.random.randrange(size // 65536) * 65536
        at = page + self.random.choice((self.random.randrange(120), self.random.randrange(65536)))
        bit = self.random.randrange(8)
        flip_file(path, at, bit)
        return f"bit {bit} of byte {at}"

    def run_briefly(self, d, name, *options):
        """Start a program. It must end when it is told to, or end by itself with a sentence."""
        process = d.spawn(name, *options)
        d.wait(lambda: process.poll() is not None or process.is_ready())
        if process.poll() is None:
            process.terminate()
        code = process.wait(daemons.PATIENCE)
        process.check((0, 1))
        self.assertTrue(code == 0 or "error: " in process.said(), process.said()[-2000:])


def ask(d, text):
    with daemons.socket.socket(daemons.socket.AF_UNIX, daemons.socket.SOCK_SEQPACKET) as s:
        s.settimeout(daemons.HANGS)
        s.connect(os.path.join(d.runs, "collect.sock"))
        s.send(text.encode())
        return s.recv(65536).decode()


def flip_file(path, at, bit):
    """Flip a bit of a file. Return a function that flips it back."""

    def flip():
        with open(path, "r+b") as f:
            f.seek(at)
            byte = f.read(1)[0]
            f.seek(at)
            f.write(bytes([byte ^ 1 << bit]))

    flip()
    return flip


if __name__ == "__main__":
    daemons.main()
