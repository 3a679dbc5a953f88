"""Read `mprofctl export --to sqlite` back: sqlite-file.py SOURCE-ROOT MPROFCTL [TEST…]

The tables must hold what a small model of threads, written here, makes of the events that
`export --to json` prints, which exports.py has checked. The queries of mprofctl(1) are taken from
the page, run by sqlite3, and must give the answers of that model. The traces are own ones, a
directory of several streams, a log of s-expressions, a hostile trace, and damaged ones.
"""

import collections
import csv
import json
import lzma
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import parts
from exported import FIELDS, LOG, event, hostile, packet

ROOT, MPROFCTL = map(os.path.abspath, sys.argv[1:3])
TRACES = os.path.join(ROOT, "tests", "traces")
PAGE = os.path.join(ROOT, "docs", "man", "mprofctl.1")
LATEST = 2**63 - 1
SECOND = 10**9
MARKER = "__should_resolve"


def run(*arguments, code=0, stdin=None, text=False):
    done = subprocess.run(arguments, input=stdin, capture_output=True, timeout=300, text=text)
    if done.returncode != code:
        raise AssertionError(f"{arguments}: exit code {done.returncode} and not {code}: {done.stderr}")
    return done


def queries():
    """Return the queries of the page: (question, SQL)."""
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    part = page[page.index(".B sqlite\n") : page.index(".B svg\n")]
    found = re.findall(r"\n\.TP\n([^\n]+)\n\.nf\n\\&\n(.*?;)\n\.fi", part, re.S)
    return [(question, sql.replace("\\-", "-").replace("\\(aq", "'")) for question, sql in found]


class Thread:
    def __init__(self, stream, number, **rest):
        self.stream, self.number = stream, number
        self.id, self.type, self.origin, self.creator = rest["id"], rest["type"], rest["origin"], rest.get("creator")
        self.created = self.ended = self.last = rest.get("created")
        self.ending = self.resolver = self.became = self.failure = self.label = None
        self.expected = self.over = False
        self.alive = self.origin != "root"
        self.alias = self

    def final(self):
        return self if self.alias is self else self.alias.final()


class Stream:
    """Follow the events of one stream."""

    def __init__(self, model, number):
        self.model, self.number = model, number
        self.ids, self.values = {}, collections.defaultdict(int)
        self.root = self.running = self.first = self.now = self.start = None
        self.open, self.lost = False, 0

    def thread(self, **rest):
        one = Thread(self.number, len(self.model.threads) + 1, **rest)
        self.model.threads.append(one)
        return one

    def get(self, number):
        if number == -1:
            return self.root
        if number not in self.ids:
            self.ids[number] = self.thread(id=number, type="Unknown", origin="existing", created=self.first)
        return self.ids[number].final()

    def close(self, time):
        if self.open:
            self.open = False
            self.running.last = max(self.running.last or 0, time)
            self.model.activations.append((self.running.number, self.start, time))

    def stop(self):
        self.close(self.now)
        self.running = None

    def run(self, thread):
        if self.running is not thread:
            self.stop()
            self.running, self.open, self.start = thread, not thread.over, self.now

    def end(self, thread, ending, time, **rest):
        if thread is self.root:
            return
        thread.over = thread.over or ending is not None
        if not thread.alive:
            return
        if self.running is thread:
            self.close(time)
        thread.alive, thread.ended, thread.ending = False, time, ending
        for key, value in rest.items():
            setattr(thread, key, value)

    def interaction(self, kind, actor, other, text=None):
        self.model.interactions.append((self.time, kind, actor.number, other and other.number, text))

    def event(self, one):
        self.time = min(int(one["time_ns"]), LATEST)
        if self.root is None:
            self.first = self.now = self.time
            self.root = self.thread(id=-1, type="Unknown", origin="root")
        if self.lost:
            self.model.gaps.append((self.number, self.model.seen.get(self.number), self.time, self.lost))
            self.lost = 0
        self.now = self.model.seen[self.number] = max(self.now, self.time)
        self.model.seconds[self.number, self.time // SECOND] += 1
        kind = one["event"]
        first, second, number, text = (one.get(key) if key else None for key in FIELDS[kind])
        raw = FIELDS[kind][3]
        if raw and raw + "_hex" in one:
            text = bytes.fromhex(one[raw + "_hex"])
        getattr(self, "on_" + kind)(kind, first, second, number, text, one)

    def on_creates(self, kind, parent, child, _number, _text, one):
        creator = self.get(parent)
        if child == -1:
            self.interaction(kind, creator, None)
            return
        creator.last = self.now
        if child in self.ids:
            self.end(self.ids[child], kind, self.now)
        self.ids[child] = self.thread(id=child, type=one["type"], origin="created", creator=creator.number, created=self.now)

    def resolves(self, kind, resolver, resolvee, _number, text, _one):
        actor = self.get(resolver)
        other = self.get(resolvee)
        actor.last = self.now
        self.interaction(kind, actor, other, text)
        self.end(other, kind, self.now, resolver=actor.number, failure=text)

    on_fulfills = on_fails = resolves

    def on_becomes(self, kind, thread, main, *_rest):
        old, new = self.get(thread), self.get(main)
        old.last = self.now
        self.interaction(kind, old, new)
        if old is self.root or old is new:
            return
        old.alias = new
        new.expected = new.expected or (old.expected and new.alive)
        runs = self.running is old
        self.end(old, kind, self.now, became=new.number)
        if runs:
            self.run(new)

    def looks(self, kind, reader, source, *_rest):
        actor = self.get(reader)
        if source == -1:
            self.interaction(kind, actor, None)
            return
        other = self.get(source)
        if kind == "read":
            self.run(actor)
        if kind == "try_read":
            other.last = self.now
        actor.last = self.now
        self.interaction(kind, actor, other)

    on_read = on_try_read = on_read_later = looks

    def signals(self, kind, receiver, sender, *_rest):
        other = self.get(receiver)
        if kind == "signal":
            self.run(other)
        other.last = self.now
        actor = self.get(sender)
        actor.last = self.now
        self.interaction(kind, actor, other)

    on_signal = on_signal_noswitch = signals

    def on_label(self, _kind, thread, _other, _number, text, _one):
        one = self.get(thread)
        one.last = self.now
        self.model.labels.append((self.time, one.number, text))
        if text == MARKER:
            one.expected = True
        elif one is not self.root and one.label is None and text:
            one.label = text

    def on_switch(self, _kind, thread, *_rest):
        self.run(self.get(thread))

    def counts(self, kind, thread, _other, number, text, _one):
        one = self.get(thread)
        one.last = self.now
        value = number if kind == "counter" else (self.values[text] + number + 2**63) % 2**64 - 2**63
        self.values[text] = value
        self.model.samples.append((self.number, text, self.time, value, number if kind == "increase" else None, one.number))

    on_counter = on_increase = counts

    def on_gc(self, _kind, _thread, _other, number, _text, _one):
        duration = int(number)
        start = self.time - duration if duration < self.time else 0
        self.model.collections.append((self.number, start, self.time, min(duration, LATEST)))

    def finish(self):
        if self.lost:
            self.model.gaps.append((self.number, self.model.seen.get(self.number), None, self.lost))
        if self.root is None:
            return
        self.stop()
        for one in self.model.threads:
            if one.stream == self.number and one.alive:
                self.end(one, None, self.now if one.expected else min(one.last + 1000, LATEST))


class Model:
    """Threads, and what they did, from the records of the JSON export."""

    def __init__(self, document):
        self.threads, self.activations, self.interactions, self.labels = [], [], [], []
        self.samples, self.collections, self.gaps = [], [], []
        self.seconds, self.seen = collections.Counter(), {}
        names = document.get("streams", [None])
        streams = {name: Stream(self, number) for number, name in enumerate(names)}
        for one in document["records"]:
            stream = streams[one.get("stream")]
            if "gap" in one:
                stream.lost += one["gap"]["packets"]
                if stream.root:
                    stream.stop()
            elif "event" in one:
                stream.event(one)
        for stream in streams.values():
            stream.finish()
        self.streams = list(streams.values())

    def waits(self):
        for time, kind, actor, other, _text in self.interactions:
            if kind != "try_read" or other is None:
                continue
            final = self.threads[other - 1]
            while final.became:
                final = self.threads[final.became - 1]
            yield actor, other, final.ended - time if final.ending in ("fulfills", "fails") else None

    def answers(self):
        """Return the answers to the queries of the page, in their order."""
        at = {one.number: one for one in self.threads}
        lives = [one for one in self.threads if one.origin != "root"]
        waits = sorted(self.waits(), key=lambda one: (one[2] is None, -(one[2] or 0)))[:10]
        types, ran = collections.Counter(), set()
        for number, start, end in self.activations:
            if at[number].origin != "root":
                types[at[number].type] += end - start
                ran.add(at[number].type)
        shares = []
        for stream in self.streams:
            each = [end - start for number, start, end, _ in self.collections if number == stream.number]
            length = stream.now - stream.first if each else 0
            if each:
                shares.append((stream.number, len(each), sum(each), 100.0 * sum(each) / length if length else None))
        last = {(text, stream): (time, value) for stream, text, time, value, _, _ in self.samples}
        woken = collections.Counter((actor, other) for _, kind, actor, other, _ in self.interactions if kind.startswith("signal"))
        slow = sorted((one for one in lives if one.label is not None and one.ending), key=lambda one: (one.created - one.ended, one.number))
        begun = [stream for stream in self.streams if stream.root]
        middle = (min(one.first for one in begun) + max(one.now for one in begun)) // 2 if begun else 0
        alive = collections.Counter(one.type for one in lives if one.created <= middle < one.ended)
        never = sorted((one for one in lives if one.ending is None), key=lambda one: (not one.expected, one.number))
        rate = collections.Counter()
        for (_, second), number in self.seconds.items():
            rate[second] += number
        return [
            [(at[a].id, at[a].type, at[b].id, at[b].type, ns) for a, b, ns in waits],
            sorted(((name, types[name]) for name in ran), key=lambda one: (-one[1], one[0])),
            shares,
            [(name, *last[name, stream]) for name, stream in sorted(last, key=lambda one: (as_key(one[0]), one[1]))],
            [(at[a].id, at[b].id, n) for (a, b), n in sorted(woken.items(), key=lambda one: (-one[1], one[0]))[:10]],
            [(one.id, one.label, one.ended - one.created) for one in slow[:10]],
            sorted(alive.items()),
            [one[1:] for one in self.gaps],
            [(one.id, one.type, one.label, int(one.expected)) for one in never],
            sorted(rate.items()),
        ]


def as_key(text):
    """Sort as SQLite does: texts by their bytes, before blobs."""
    return (isinstance(text, bytes), text if isinstance(text, bytes) else text.encode())


class Case(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.mkdtemp(prefix="mprof.")
        self.addCleanup(shutil.rmtree, self.work)
        self.addCleanup(os.chdir, "/")
        os.chdir(self.work)
        self.maxDiff = 2000

    def write(self, path, data):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)

    def own(self, name, path=None):
        self.write(path or name, lzma.open(os.path.join(TRACES, name + ".ctf.xz")).read())

    def export(self, path, code=0, *options):
        return run(MPROFCTL, "export", path, "--to", "sqlite", "-o", "out.db", *options, code=code).stderr.decode()

    def document(self, path, code=0, *options):
        return json.loads(run(MPROFCTL, "export", path, "--to", "json", "-o", "-", *options, code=code).stdout)

    def database(self):
        db = sqlite3.connect("file:out.db?mode=ro", uri=True)
        self.addCleanup(db.close)
        self.assertEqual(db.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        return db

    def rows(self, db, sql):
        return db.execute(sql).fetchall()

    def same(self, path, code=0, *options):
        """Compare all tables with the model of the JSON export. Return the database and the model."""
        self.export(path, code, *options)
        document = self.document(path, code, *options)
        db, model = self.database(), Model(document)
        # The numbers of threads have holes, but ascend as in the model.
        rank = {number: place for place, (number,) in enumerate(self.rows(db, "SELECT thread FROM threads ORDER BY thread"), 1)}
        rank[None] = None
        threads = "SELECT thread, stream, id, type, origin, creator, created_ns, ended_ns, ending, resolver, became, failure, label, expected"
        found = [list(row) for row in self.rows(db, threads + " FROM threads ORDER BY thread")]
        for row in found:
            for at in 0, 5, 9, 10:
                row[at] = rank[row[at]]
        wanted = [
            [one.number, one.stream, one.id, one.type, one.origin, one.creator, one.created, one.ended, one.ending]
            + [one.resolver, one.became, one.failure if one.ending == "fails" else None, one.label, int(one.expected)]
            for one in model.threads
        ]
        self.assertEqual(found, wanted)
        found = [(rank[a], *rest) for a, *rest in self.rows(db, "SELECT thread, start_ns, end_ns FROM activations ORDER BY activation")]
        self.assertEqual(found, model.activations)
        found = self.rows(db, "SELECT time_ns, kind, thread, other, text FROM interactions ORDER BY interaction")
        self.assertEqual([(time, kind, rank[a], rank[b], text) for time, kind, a, b, text in found], model.interactions)
        found = self.rows(db, "SELECT time_ns, thread, text FROM labels ORDER BY label")
        self.assertEqual([(time, rank[a], text) for time, a, text in found], model.labels)
        samples = "SELECT stream, name, time_ns, value, increase, thread FROM samples JOIN counters USING (counter) ORDER BY sample"
        self.assertEqual([(*rest, rank[a]) for *rest, a in self.rows(db, samples)], model.samples)
        found = self.rows(db, "SELECT stream, start_ns, end_ns, duration_ns FROM collections ORDER BY collection")
        self.assertEqual(found, model.collections)
        self.assertEqual(self.rows(db, "SELECT stream, after_ns, before_ns, packets FROM gaps ORDER BY gap"), model.gaps)
        found = {(stream, second): events for stream, second, events in self.rows(db, "SELECT * FROM seconds")}
        self.assertEqual(found, dict(model.seconds))
        self.sums(db, document, model)
        return db, model

    def sums(self, db, document, model):
        """Check streams, packets, damage and views."""
        names = document.get("streams", [document["trace"]])
        events = collections.Counter(one.get("stream", names[0]) for one in document["records"] if "event" in one)
        found = self.rows(db, "SELECT name, events, first_ns, last_ns, lost_packets FROM streams ORDER BY stream")
        lost = collections.Counter()
        for stream, _, _, packets in model.gaps:
            lost[stream] += packets
        wanted = [(name, events[name], one.first, one.now, lost[one.number]) for name, one in zip(names, model.streams)]
        self.assertEqual(found, wanted)
        self.assertEqual(self.rows(db, "SELECT name, events, refused_events FROM trace"), [(document["trace"], document["events"], 0)])
        damages = [one["damage"] for one in document["records"] if "damage" in one]
        found = self.rows(db, "SELECT packet, offset, skipped, reason FROM damages ORDER BY damage")
        self.assertEqual(found, [(one["packet"], one["offset"], one["skipped"], one["reason"]) for one in damages])
        found = self.rows(db, "SELECT stream, count(*), sum(events), min(first_ns), max(last_ns) FROM packets GROUP BY stream")
        totals = "SELECT stream, packets, events, first_ns, last_ns FROM streams WHERE packets ORDER BY stream"
        self.assertEqual([(a, b, c) for a, b, c, _, _ in found], [row[:3] for row in self.rows(db, totals)])
        self.assertEqual([row[4] for row in found], [row[4] for row in self.rows(db, totals)])
        kinds = collections.Counter(kind for _, kind, _, _, _ in model.interactions)
        kinds["creates"] += sum(one.origin == "created" for one in model.threads)
        self.assertEqual(dict(self.rows(db, "SELECT kind, count(*) FROM relations GROUP BY kind")), {key: n for key, n in kinds.items() if n})
        self.assertEqual(self.rows(db, "SELECT count(*), count(DISTINCT thread) FROM finals"), [(len(model.threads),) * 2])

    def ask(self, sql):
        """Return what sqlite3 answers. Its JSON keeps types and quotes texts."""
        told = run("sqlite3", "-json", "out.db", sql, text=True).stdout
        return [tuple(row) for row in json.loads(told or "[]", object_pairs_hook=lambda pairs: [value for _, value in pairs])]


class Tables(Case):
    def test_own(self):
        for name in "small", "wrapped", "wrapped-dense", "oddsize", "countwrap", "eio", "eio-wrapped", "started-only":
            with self.subTest(name):
                self.own(name)
                self.same(name)

    def test_damaged(self):
        for name in "killed", "truncated":
            with self.subTest(name):
                self.own(name)
                db, _ = self.same(name, 3)
                self.assertTrue(self.rows(db, "SELECT * FROM damages"))

    def test_streams(self):
        for name in "wrapped", "small", "eio", "oddsize":
            self.own(name, "trace/" + name)
        _, model = self.same("trace")
        self.assertEqual(len(model.streams), 4)

    def test_log(self):
        self.write("log", LOG)
        db, _ = self.same("log")
        self.assertEqual(self.rows(db, "SELECT count(*) FROM packets"), [(0,)])

    def test_empty(self):
        self.write("none", packet(0))
        db, _ = self.same("none")
        self.assertEqual(self.rows(db, "SELECT events, packets, first_ns FROM streams"), [(0, 0, None)])

    def test_hostile(self):
        """Texts of any bytes, numbers at their limits, ids that are used twice, gaps."""
        self.write("hostile", hostile())
        db, _ = self.same("hostile")
        kinds = dict(self.rows(db, "SELECT typeof(text), count(*) FROM labels GROUP BY 1"))
        self.assertGreater(kinds["blob"], 3)
        self.assertGreater(kinds["text"], 20)

    def test_long_lives(self):
        """More threads than wait for their ends in memory, ended and labelled long after."""
        number = 70_000
        texts = [b"x" * 20_000, b"", b"\xff", b"y"]
        packets, time = [], 1000
        for first in range(0, number, 1000):
            packets.append(packet(len(packets), *[event(time + i, 0, -1, i, b"\x01") for i in range(first, first + 1000)]))
        for i in range(0, number, 97):
            body = [event(time + number, 5, i, texts[i % 4] + b"\0"), event(time + number, 3, i, i + 1, texts[i % 3] + b"\0")]
            packets.append(packet(len(packets), *body))
        self.write("long", b"".join(packets))
        self.same("long")

    def test_period(self):
        self.own("wrapped")
        times = [int(one["time_ns"]) for one in self.document("wrapped")["records"]]
        options = ["--from", f"{times[900]}ns", "--to", f"{times[3000]}ns"]
        db, model = self.same("wrapped", 0, *options)
        self.assertEqual(self.rows(db, "SELECT sum(events) FROM packets"), [(sum(model.seconds.values()),)])

    def test_late(self):
        """Times above 2^63-1 are clamped, counted, and told in one sentence."""
        late = [event(2**63 - 9, 7, 1), event(2**63, 7, 2), event(2**63 + 9, 5, 2, b"late\0"), event(2**63 - 1, 8, 2**63 - 1)]
        self.write("late", packet(0, *late))
        self.assertIn("for which the database has 9223372036854775807: 2\n", self.export("late"))
        db, _ = self.same("late")
        self.assertEqual(self.rows(db, "SELECT clamped_times FROM trace"), [(2,)])
        self.assertEqual(self.rows(db, "SELECT time_ns, text FROM labels"), [(LATEST, "late")])
        self.write("early", packet(0, event(5, 7, 1)))
        self.assertEqual(self.export("early"), "")

    def test_packets(self):
        """Packets are those of the headers, and a gap has its place."""
        first = [packet(7, event(10, 7, 1), event(12, 7, 2)), packet(9), packet(12, event(3 * SECOND, 7, 1))]
        self.write("gaps", b"".join(first))
        db, _ = self.same("gaps")
        found = self.rows(db, "SELECT sequence, offset, content_bytes, packet_bytes, events, first_ns, last_ns FROM packets")
        self.assertEqual(found, [(7, 0, 64, 64, 2, 10, 12), (12, 94, 47, 47, 1, 3 * SECOND, 3 * SECOND)])
        self.assertEqual(self.rows(db, "SELECT after_ns, before_ns, packets FROM gaps"), [(12, 3 * SECOND, 3)])


class Queries(Case):
    def check(self, path, code=0):
        """Compare the answer of each query of the page. Return the answers."""
        _, model = self.same(path, code)
        found = []
        self.assertEqual(len(queries()), 10)
        for (question, sql), wanted in zip(queries(), model.answers()):
            got = self.ask(sql)
            with self.subTest(question):
                self.assertEqual(len(got), len(wanted))
                for one, other in zip(got, wanted):
                    for a, b in zip(one, other):
                        if isinstance(b, float):
                            self.assertAlmostEqual(a, b, places=9)
                        else:
                            self.assertEqual(a, b)
            found.append(got)
        return found

    def test_own(self):
        """Each query has an answer in one of the traces."""
        answered = [False] * 10
        for name in "small", "wrapped", "oddsize", "eio":
            with self.subTest(name):
                self.own(name)
                answered = [old or bool(new) for old, new in zip(answered, self.check(name))]
        self.write("lost", b"".join([packet(0, event(10, 0, -1, 1, b"\1"), event(11, 5, 1, MARKER.encode() + b"\0")), packet(4, event(20, 7, 1))]))
        answered = [old or bool(new) for old, new in zip(answered, self.check("lost"))]
        self.assertEqual(answered, [True] * 10)

    def test_streams(self):
        for name in "wrapped", "small", "eio":
            self.own(name, "trace/" + name)
        self.check("trace")


class Files(Case):
    def test_outputs(self):
        """Standard output, a pipe and a new file get the same bytes; a file is replaced with -o only."""
        self.own("small")
        run(MPROFCTL, "export", "small", "--to", "sqlite")
        with open("small.db", "rb") as file:
            whole = file.read()
        self.assertEqual(run(MPROFCTL, "export", "small", "--to", "sqlite", "-o", "-").stdout, whole)
        with open("redirected", "wb") as file:
            subprocess.run([MPROFCTL, "export", "small", "--to", "sqlite", "-o", "-"], stdout=file, check=True, timeout=300)
        with open("redirected", "rb") as file:
            self.assertEqual(file.read(), whole)
        told = run(MPROFCTL, "export", "small", "--to", "sqlite", code=1).stderr
        self.assertIn(b"small.db is there already", told)
        self.write("small.db", b"x" * 10_000_000)
        run(MPROFCTL, "export", "small", "--to", "sqlite", "-o", "small.db")
        with open("small.db", "rb") as file:
            self.assertEqual(file.read(), whole)
        self.assertEqual(sorted(os.listdir()), ["redirected", "small", "small.db"])
        db = sqlite3.connect("small.db")
        self.assertEqual(db.execute("PRAGMA application_id").fetchone(), (0x6D70726F,))
        self.assertEqual(db.execute("PRAGMA user_version").fetchone(), (1,))
        db.close()

    def test_failures(self):
        """A failure leaves no file: no room, no trace, no place for temporary files, an interrupt."""
        self.own("small")
        for output in ["-o", "out.db"], []:
            done = subprocess.run(
                ["sh", "-c", 'ulimit -f 64; trap "" XFSZ; exec "$@"', "-", MPROFCTL, "export", "small", "--to", "sqlite", *output],
                capture_output=True,
                timeout=300,
            )
            self.assertEqual(done.returncode, 1)
            self.assertIn(b"File too large", done.stderr)
        done = subprocess.run([MPROFCTL, "export", "small", "--to", "sqlite", "-o", "/dev/full"], capture_output=True, timeout=300)
        self.assertEqual((done.returncode, b"No space left" in done.stderr), (1, True), done.stderr)
        run(MPROFCTL, "export", "file:none", "--to", "sqlite", code=4)
        with open("small", "rb") as file:
            data = file.read()
        with subprocess.Popen([MPROFCTL, "export", "-", "--to", "sqlite"], stdin=subprocess.PIPE) as process:
            process.stdin.write(data)
            process.stdin.flush()
            process.send_signal(signal.SIGTERM)
        self.assertEqual(process.returncode, -signal.SIGTERM)
        self.assertEqual(os.listdir(), ["small"])

    def test_schema(self):
        """The file has the tables, indices and views of schema/sqlite, and each column a comment."""
        self.own("started-only")
        self.export("started-only")
        wanted, text = sqlite3.connect(":memory:"), ""
        for part in "tables", "views":
            with open(os.path.join(ROOT, "schema", "sqlite", part + ".sql"), encoding="utf-8") as file:
                text += file.read()
        wanted.executescript(text)
        names = "SELECT type, name FROM sqlite_schema ORDER BY 1, 2"
        db = self.database()
        self.assertEqual(self.rows(db, names), self.rows(wanted, names))
        for view, columns in (("lives", 11), ("relations", 5), ("waits", 6), ("running", 3), ("last_values", 5), ("finals", 2)):
            self.assertEqual(len(db.execute(f"SELECT * FROM {view} LIMIT 1").description), columns)


def recipes():
    """Return the queries of docs/recipes.md."""
    with open(os.path.join(ROOT, "docs", "recipes.md"), encoding="utf-8") as file:
        return re.findall(r"```sql\n(.*?)\n```", file.read(), re.S)


class Sql(Case):
    def table(self, rows):
        """Return ROWS as a table has them, cell by cell; no cell of these has a blank."""
        return [["-" if cell is None else str(cell) for cell in row] for row in rows]

    def test_answers(self):
        """Each query of the man page and of the recipes gives what SQLite makes of the exported file, as a table, as CSV and as JSON."""
        asked = [sql for _, sql in queries()] + recipes()
        answered = set()
        for name in "eio", "killed", "small":
            damaged = 3 if name == "killed" else 0
            self.own(name)
            run(MPROFCTL, "export", name, "--to", "sqlite", code=damaged)
            db = sqlite3.connect(name + ".db")
            for sql in asked:
                cursor = db.execute(sql)
                heads, rows = [column[0] for column in cursor.description], [list(row) for row in cursor]
                answered |= {sql} if rows else set()
                with self.subTest(sql, trace=name):
                    got = json.loads(run(MPROFCTL, "--json", "sql", name, sql, code=damaged).stdout)
                    self.assertEqual((got["columns"], got["rows"]), (heads, rows))
            got = run(MPROFCTL, "sql", "--csv", name, "SELECT * FROM threads", code=damaged, text=True).stdout
            rows = db.execute("SELECT * FROM threads").fetchall()
            plain = [["" if cell is None else str(cell) for cell in row] for row in rows]
            self.assertEqual([[cell.removeprefix("'") for cell in row] for row in csv.reader(got.splitlines())][1:], plain)
            got = run(MPROFCTL, "sql", name, "SELECT activation, thread, NULL, end_ns FROM activations", code=damaged, text=True).stdout.splitlines()
            rows = db.execute("SELECT activation, thread, NULL, end_ns FROM activations").fetchall()
            self.assertEqual([line.split() for line in got], [["activation", "thread", "NULL", "end_ns"], *self.table(rows)])
            db.close()
        self.assertEqual([sql for sql in recipes() if sql not in answered and "durations" not in sql], [])

    def test_long(self):
        """Rows behind those that give the widths are printed, too, and a longer cell there is whole."""
        self.own("eio")
        numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000) "
        got = run(MPROFCTL, "sql", "eio", numbers + "SELECT i, CASE i WHEN 4000 THEN printf('%.500c', 'x') END AS t FROM n", text=True).stdout
        lines = got.splitlines()
        self.assertEqual([line.split()[0] for line in lines], ["i", *map(str, range(1, 5001))])
        self.assertEqual(lines[4000].split()[1], "x" * 500)
        self.assertEqual({len(line) for line in lines[2:900]}, {len(lines[0])})

    def test_texts(self):
        """A guest's text moves no cursor, and a spreadsheet runs no formula."""
        self.write("odd", packet(0, event(10, 0, -1, 1, b"\1"), event(11, 5, 1, b"=\x1b[31m\xff\0")))
        got = run(MPROFCTL, "sql", "odd", "SELECT text, 9e999, -9e999, 0.5 FROM labels").stdout
        self.assertIn(rb"=\x1b[31m\xff    Inf    -Inf  0.5", got)
        got = run(MPROFCTL, "sql", "--csv", "odd", "SELECT text, 1 FROM labels").stdout
        self.assertEqual(got, b'"text","1"\r\n"\'=\x1b[31m\xef\xbf\xbd",1\r\n')
        got = json.loads(run(MPROFCTL, "sql", "--json", "odd", "SELECT text, 9e999, 9007199254740993, NULL, 0.5 FROM labels").stdout)
        self.assertEqual(got["rows"], [["=\x1b[31m\ufffd", "Inf", 9007199254740993, None, 0.5]])

    def test_period(self):
        self.own("eio")
        whole = json.loads(run(MPROFCTL, "sql", "--json", "eio", "SELECT events, first_ns FROM streams").stdout)["rows"][0]
        part = json.loads(run(MPROFCTL, "sql", "--json", "eio", "SELECT events, first_ns FROM streams", "--from", "+5ms").stdout)["rows"][0]
        self.assertLess(part[0], whole[0])
        self.assertGreaterEqual(part[1], whole[1] + 5_000_000)

    def test_reads_only(self):
        """Each other statement is refused with one sentence, and no file appears."""
        self.own("eio")
        only = "a query can only read"
        for sql, said in (
            ("ATTACH 'other.db' AS other", only),
            ("VACUUM INTO 'other.db'", only),
            ("CREATE TABLE t (a)", only),
            ("CREATE TEMP TABLE t (a)", only),
            ("INSERT INTO labels SELECT * FROM labels", only),
            ("DELETE FROM labels", only),
            ("DROP VIEW waits", only),
            ("PRAGMA journal_mode = WAL", only),
            ("PRAGMA writable_schema = 1", only),
            ("BEGIN", only),
            ("SELECT load_extension('./x')", only),
            ("SELECT fts3_tokenizer('simple', x'4141414141414141'), (SELECT count(*) FROM pragma_table_info('fts3tokenize'))", only),
            ("SELECT hex(FTS3_TOKENIZER('simple'))", only),
            ("UPDATE sqlite_master SET sql = ''", "may not be modified"),
            ("UPDATE labels SET text = ''", only),
            ("SELECT 1; DELETE FROM labels", 'another one, "DELETE FROM labels"'),
            ("SELECT absent FROM labels", 'at "absent FROM labels": no such column'),
            ("SELECT * FROM absent", "no such table: absent"),
            ("SELCT", "syntax error"),
            ("  -- none", "the query is empty"),
            ("", "the query is empty"),
        ):
            with self.subTest(sql):
                done = run(MPROFCTL, "sql", "eio", sql, code=2, text=True)
                self.assertEqual((done.stdout, len(done.stderr.splitlines())), ("", 2))
                self.assertIn(said, done.stderr)
        for line, said in (
            ([], "needs a trace and a query"),
            (["eio"], "a query is missing"),
            (["--schema", "eio", "SELECT 1"], "takes no trace"),
            (["--csv", "--json", "eio", "SELECT 1"], "give one"),
        ):
            self.assertIn(said, run(MPROFCTL, "sql", *line, code=2, text=True).stderr)
        self.assertEqual(os.listdir(), ["eio"])
        for sql in "PRAGMA table_info(labels)", "PRAGMA TABLE_INFO(labels);", "SELECT * FROM pragma_table_info('labels') ; -- of one\n;":
            self.assertIn(b"text", run(MPROFCTL, "sql", "eio", sql).stdout)
        self.assertIn(b"2", run(MPROFCTL, "sql", "eio", "SELECT value FROM json_each('[1, 2]')").stdout)
        self.assertIn(b"too big", run(MPROFCTL, "sql", "eio", "SELECT zeroblob(600000000)", code=1).stderr)
        self.assertIn(b"labels_by_thread", run(MPROFCTL, "sql", "eio", "EXPLAIN QUERY PLAN SELECT * FROM labels WHERE thread = 1").stdout)
        schema = run(MPROFCTL, "sql", "--schema", text=True).stdout
        sqlite3.connect(":memory:").executescript(schema)

    def test_failures(self):
        """No room for the tables, a reader that goes, an output that is full, no trace."""
        self.own("small")
        limited = ["sh", "-c", 'ulimit -f 64; trap "" XFSZ; exec "$@"', "-", MPROFCTL, "sql", "small", "SELECT 1"]
        done = subprocess.run(limited, capture_output=True, timeout=300)
        self.assertEqual((done.returncode, b"cannot write the trace's tables" in done.stderr), (1, True), done.stderr)
        endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
        for options in [], ["--csv"], ["--json"]:
            with subprocess.Popen([MPROFCTL, "sql", *options, "small", endless], stdout=subprocess.PIPE) as process:
                process.stdout.readline()
                process.stdout.close()
                self.assertEqual(process.wait(300), 0)
            with open("/dev/full", "wb") as full:
                done = subprocess.run([MPROFCTL, "sql", *options, "small", "SELECT 1"], stdout=full, stderr=subprocess.PIPE, timeout=300)
            self.assertEqual((done.returncode, b"No space left" in done.stderr), (1, True), done.stderr)
        run(MPROFCTL, "sql", "file:none", "SELECT 1", code=4)
        self.assertEqual(os.listdir(), ["small"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *parts.names(sys.argv[3:])], verbosity=1)
