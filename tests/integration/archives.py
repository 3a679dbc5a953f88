"""Archives of earlier versions are migrated, even if the migration is killed, and are served as
before: archives.py BUILD-DIRECTORY [TEST…]. With MPROF_BRIEF=1, they are killed at each fourteenth write instead of
at each of about a hundred."""

import contextlib
import functools
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tarfile
import time

import daemons

ARCHIVES = os.path.join(daemons.HERE, "..", "archives")
TRACES = os.path.join(daemons.HERE, "..", "traces")
sys.path += [ARCHIVES, TRACES]

import make
import sink
from frames import unzstd
from unpack import extract

BETWEEN_KILLS = 14 if os.environ.get("MPROF_BRIEF") else 1  # writes
SETS = sorted(name for name in os.listdir(ARCHIVES) if os.path.exists(os.path.join(ARCHIVES, name, "answers.json")))
CLOCK = re.compile(rb"(?ms)^clock \{.*?^\};\n")
# Lines of the metadata today that all versions of the sets lacked.
LATER = ((b'\t"Process" = 21,\n', b""), (b'\t"STATE" = 6,\n', b""))
# Further lines today, and in versions before schema-4: they lacked a kind of event, and did not count the copy of an unproven tail as
# the newest one.
SINCE = ((b'\t"RECORDER" = 5,\n', b""), (b"last_copied_ns = 1795647496468419717;", b"last_copied_ns = 1795647496468351656;"))
FILES = ("archive/trace.db", "memtraces/memtraces.db")
# Fields that came later: the answers of an old set lack them.
NEW = {"damaged", "marks", "version", "newest", "last_chunk", "time_corrected", "began_corrected", "ended_corrected"}
NEW |= {"found_corrected", "real_corrected", "last_seen_corrected"}
NEW |= {"resumed", "cause", "sentence", "last_ran", "exception", "failure", "damages", "skipped_bytes", "unproven_events", "Mprof-Lost-Packets"}
SETTLED = ("/v1/memtraces",)  # mprofd-sink ends the recordings that were going on, so these answers change once it ran


def versions(state):
    """Return the migrations that each archive has."""
    found = []
    for name in FILES:
        with contextlib.closing(sqlite3.connect(f"file:{state}/{name}?mode=ro", uri=True)) as db:
            found.append(db.execute("PRAGMA user_version").fetchone()[0])
    return found


def migrations():
    """Return the number of migrations of each archive in the tree."""
    schema = os.path.join(daemons.HERE, "..", "..", "schema", "archive")
    return [sum(name.endswith(".sql") for name in os.listdir(os.path.join(schema, part))) for part in ("", "memtraces")]


def without(value, names):
    if isinstance(value, dict):
        return {key: without(inner, names) for key, inner in value.items() if key not in names}
    return [without(inner, names) for inner in value] if isinstance(value, list) else value


class Old(sink.Sink):
    """Today's programs over a state directory of an earlier version."""

    def __init__(self, name):
        super().__init__(config=make.CONFIG)
        with tarfile.open(os.path.join(ARCHIVES, name, "state.tar.xz")) as tar:
            extract(tar, self.state)
        with open(os.path.join(ARCHIVES, name, "answers.json"), encoding="utf-8") as f:
            self.then = json.load(f)
        self.since = LATER + (SINCE if name < "schema-4" else ())
        self.clocks = {}  # those in the version's ctf.tar, if it knew less of them: path -> text
        if os.path.exists(path := os.path.join(ARCHIVES, name, "clocks.json")):
            with open(path, encoding="utf-8") as f:
                self.clocks = json.load(f)
        self.metadata = None  # that in the version's ctf.tar, if it had no offset of the clock
        if os.path.exists(path := os.path.join(ARCHIVES, name, "metadata.tsdl")):
            with open(path, "rb") as f:
                self.metadata = f.read()

    def migrate(self):
        """Run the writers alone, which migrate both archives and end no run."""
        process = self.writer()
        process.stdin.close()
        process.wait()
        process.stdout.close()
        self.start_sink()
        self.stop_sink()

    def writer(self, **options):
        process = subprocess.Popen(
            [daemons.program("archive-driver"), self.state], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options
        )
        if not options:
            assert process.stdout.readline() == "ok\n"
        return process


def padded(data):
    return data + b"\0" * (-len(data) % 512)


def header(block, size):
    """Return the header BLOCK of a file in a tar with another SIZE."""
    block = block[:124] + b"%011o\0" % size + block[136:148] + b" " * 8 + block[156:]
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]


def offset(clock):
    """Return the offset of a clock in metadata, ns."""
    number = {key: int(value) for key, value in re.findall(rb"(offset|offset_s) = (-?\d+);", clock)}
    return number[b"offset_s"] * 10**9 + number[b"offset"]


class Archives(daemons.Case):
    def old(self, name):
        return self.enterContext(Old(name))

    def earlier(self, d, path, body):
        """Return the body of PATH with the metadata of the earlier version, if it is a ctf.tar."""
        if "/ctf.tar" not in path:
            return body
        now = body[512 : 512 + int(body[124:135], 8)]
        then = functools.reduce(lambda text, lines: text.replace(*lines), d.since, now)
        if path in d.clocks:
            self.assertLess(abs(offset(CLOCK.search(now)[0]) - offset(d.clocks[path].encode())), 10**6)
            then = CLOCK.sub(lambda _: d.clocks[path].encode(), then)
        elif d.metadata:
            then = d.metadata
            self.assertEqual(now[now.index(b"typealias") : now.index(b"/*", 99)], then[then.index(b"typealias") : then.index(b"/*", 99)])
        return header(body[:512], len(then)) + padded(then) + body[512 + len(padded(now)) :]

    def counted(self, d, path, then, now):
        """Earlier versions left the gaps at the edges of a run out of the number of a trace's lost packets. Compare it with the list
        of packets, and remove it from both answers."""
        if "/trace?run=" in path and "Mprof-Lost-Packets" in then:
            gaps = d.then[path.replace("/trace?", "/packets?").replace("&tail=raw", "") + "&limit=1000"]["json"]["gaps"]
            more = "+" if any(gap["at_least"] for gap in gaps) else ""
            self.assertEqual(now.pop("Mprof-Lost-Packets"), f"{sum(gap['packets'] for gap in gaps)}{more}", path)
            del then["Mprof-Lost-Packets"]

    def compare(self, d, bodies_only=False):
        for path, then in d.then.items():
            if bodies_only and not make.is_body(path):
                continue
            now = make.answer(d, path, lambda path, body: self.earlier(d, path, body))
            self.counted(d, path, then, now)
            if path.startswith(SETTLED) and not make.is_body(path):
                then, now = (without(answer, {"state", "reason", "ended"} | NEW) for answer in (then, now))
            # A set of a version that had some of these fields is compared in them, too.
            lacks = {name for name in NEW if f'"{name}"' not in json.dumps(then)}
            self.assertEqual(without(now, lacks), then, path)
            if make.is_body(path) and "/ctf.tar" not in path:
                body = d.ask(path, headers={"Accept-Encoding": "zstd"})[2]
                unpacked = unzstd(body)
                self.assertEqual(len(unpacked), then["bytes"], path)
                self.assertEqual(make.hashlib.sha256(unpacked).hexdigest(), then["sha256"], path)

    def test_served_as_ever(self):
        """Every answer about a migrated archive is the one of the earlier version."""
        for name in SETS:
            with self.subTest(name):
                os.makedirs(name)
                os.chdir(name)
                d = self.old(name)
                self.assertNotEqual(versions(d.state), migrations())
                d.migrate()
                self.assertEqual(versions(d.state), migrations())
                d.start_server()
                self.compare(d)
                os.chdir("..")

    def test_collector_goes_on(self):
        """The collector and the sink run on old archives, and the served bytes stay the same."""
        d = self.old(SETS[0])
        d.start_collector()
        d.start_sink()
        d.start_server()
        d.wait(lambda: not any(run["state"] == "running" for run in d.run_list("open")))
        self.compare_ended(d)
        d.stop_collector()
        d.check_integrity()

    def compare_ended(self, d):
        """Compare the bodies of runs that had ended before. A run that was going on has ended by
        now, and the archive has no tail of it."""
        for path, then in d.then.items():
            if make.is_body(path):
                status, _, body = d.ask(path)
                body = self.earlier(d, path, body)
                self.assertEqual((status, make.hashlib.sha256(body).hexdigest()), (200, then["sha256"]), path)

    def test_server_waits(self):
        """A server that starts before the writers answers 503 until they have migrated the
        archives, then serves them."""
        d = self.old(SETS[0])
        d.start_server()
        for path in ("/v1/domains", "/v1/captures/1/trace", "/v1/memtraces", "/v1/memtraces/1/data", "/readyz"):
            status, headers, _ = d.ask(path)
            self.assertEqual((status, headers["Retry-After"]), (503, "1"), path)
        self.assertEqual(versions(d.state), [1, 1])  # the server changes nothing by itself
        d.migrate()
        self.compare(d, bodies_only=True)

    def test_killed_while_migrating(self):
        """A kill at any write to the files leaves an archive that the next start migrates
        completely."""
        library = os.path.join(daemons.BUILD, "tests", "integration", "libdie-at-write.so")
        n, kills = 1 - BETWEEN_KILLS, 0
        while True:
            n += BETWEEN_KILLS
            os.makedirs(f"kill-{n}")
            os.chdir(f"kill-{n}")
            with Old(SETS[0]) as d:
                before = versions(d.state)
                env = {**os.environ, "LD_PRELOAD": library, "DIE_AT_WRITE": str(n), "ASAN_OPTIONS": "verify_asan_link_order=0"}
                process = d.writer(env=env, stderr=subprocess.DEVNULL)
                said = process.stdout.readline()
                process.stdin.close()
                process.stdout.close()
                if process.wait() != -signal.SIGKILL:
                    self.assertEqual(said, "ok\n")
                    break
                kills += 1
                self.assertIn(versions(d.state)[0], range(before[0], migrations()[0] + 1))
                d.migrate()
                self.assertEqual(versions(d.state), migrations())
                d.check_integrity()
                if n % 4 == 1:
                    d.start_server()
                    self.compare(d, bodies_only=True)
            os.chdir("..")
        self.assertGreater(kills, 5)

    def test_too_new(self):
        """The programs refuse an archive of a later version with one sentence, and do not change
        it."""
        d = self.old(SETS[0])
        d.migrate()
        with contextlib.closing(sqlite3.connect(f"{d.state}/archive/trace.db")) as db:
            db.execute("PRAGMA user_version = 99")
        done = subprocess.run(
            [daemons.program("mprofd"), "--source", f"dir:{d.rings}", "--state", d.state, "--run", d.runs],
            capture_output=True,
            text=True,
            timeout=daemons.HANGS,
            check=False,
        )
        self.assertEqual(done.returncode, 1)
        self.assertIn("newer version", done.stderr)
        d.start_server()
        self.assertEqual(d.ask("/v1/domains")[0], 503)

    def refused(self, d):
        """Return the sentence with which mprofd refuses the archive of D, also with --fsck."""
        words = [daemons.program("mprofd"), "--source", f"dir:{d.rings}", "--state", d.state, "--run", d.runs]
        done = subprocess.run(words, capture_output=True, text=True, timeout=daemons.HANGS, check=False)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
        return done.stderr

    def test_no_file(self):
        """A FIFO in the place of the archive's file, of its log, or of the memory profiles is named at once, and nobody waits for it."""
        d = self.old(SETS[0])
        d.migrate()
        for name in "archive/trace.db", "memtraces/memtraces.db":
            os.remove(f"{d.state}/{name}")
            os.mkfifo(f"{d.state}/{name}")
        self.assertIn("no regular file", self.refused(d))
        done = subprocess.run(
            [daemons.program("mprofd"), "--fsck", "--state", d.state], capture_output=True, text=True, timeout=daemons.HANGS, check=False
        )
        self.assertEqual(done.returncode, 2)
        self.assertIn("no regular file", done.stdout + done.stderr)
        d.start_server()
        for path in "/v1/domains", "/readyz", "/v1/memtraces":
            status, _, body = d.ask(path)
            self.assertEqual(status, 500, path)
            self.assertIn(b"FIFO", body, path)

    def test_wrong_version(self):
        """An archive whose number of the version does not agree with its tables is refused with that sentence; --fsck saves its rows."""
        d = self.old(SETS[0])
        d.migrate()
        with contextlib.closing(sqlite3.connect(f"{d.state}/archive/trace.db")) as db:
            db.execute("PRAGMA user_version = 0")
        said = self.refused(d)
        self.assertIn("user_version", said)
        self.assertNotIn("not an error", said)
        done = subprocess.run(
            [daemons.program("mprofd"), "--fsck", "--state", d.state], capture_output=True, text=True, timeout=daemons.HANGS, check=False
        )
        self.assertIn(done.returncode, (0, 1), done.stdout)
        d.migrate()
        self.assertEqual(versions(d.state), migrations())


if __name__ == "__main__":
    daemons.main()
