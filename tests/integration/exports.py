"""Read the output of `mprofctl export` back: exports.py SOURCE-ROOT MPROFCTL own|reference [TEST…]

CTF is read by babeltrace2 and by mprofctl, JSON and Chrome's format by Python's json, CSV by
Python's csv. All must hold the events that `dump --json` prints, which dump-oracles.py has checked,
and babeltrace2's lines for the original ring where the tree has them. The traces are the generated
ones, a directory of several streams, a log of s-expressions, and a hostile trace; or the reference.
"""

import collections
import csv
import glob
import json
import lzma
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

from exported import LOG, babeltrace, bt_differ, differ, event, hostile, monotonic, packet, read_csv, read_json

# nohup ignores SIGINT, and the programs started here would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
ROOT, MPROFCTL = map(os.path.abspath, sys.argv[1:3])
PART = sys.argv[3]
TRACES = os.path.join(ROOT, "tests", "traces")
sys.path.append(TRACES)
import unpack  # noqa: E402

METADATA = os.path.join(ROOT, "schema", "ctf", "metadata.tsdl")
PUBLIC = os.path.join(unpack.REFERENCE, "public")


def run(*arguments, code=0, stdin=None):
    """Run mprofctl. Return its standard output and error."""
    done = subprocess.run([MPROFCTL, *arguments], input=stdin, capture_output=True, timeout=300)
    if done.returncode != code:
        raise AssertionError(f"{arguments}: exit code {done.returncode} and not {code}: {done.stderr.decode()}")
    return done.stdout, done.stderr.decode()


class Exports(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.mkdtemp(prefix="mprof.")
        self.addCleanup(shutil.rmtree, self.work)
        self.addCleanup(os.chdir, "/")
        os.chdir(self.work)

    def export(self, path, to, out, code, *options):
        """Export to OUT. For a file, standard output must get the same bytes."""
        said = run("export", path, "--to", to, "-o", out, *options, code=code)[1]
        if not os.path.isdir(out):
            with open(out, "rb") as file:
                self.assertEqual(run("export", path, "--to", to, "-o", "-", *options, code=code)[0], file.read())
        return said

    def same(self, got, wanted):
        self.assertIsNone(differ(got, wanted))

    def ctf(self, path, events, streams, lost, code, *options):
        shutil.rmtree("out.ctf", ignore_errors=True)
        said = self.export(path, "ctf", "out.ctf", code, *options)
        late = monotonic(events)
        self.assertEqual("older than the one before" in said, late != events)
        again = [json.loads(line) for line in run("dump", "out.ctf", "--json")[0].splitlines()]
        if streams:
            self.assertEqual(sorted(os.listdir("out.ctf")), sorted(["metadata", *streams]))
        else:
            self.assertEqual(sorted(os.listdir("out.ctf")), ["metadata", "stream"])
        self.same(again, late)
        lines, missed = babeltrace("out.ctf")
        self.assertEqual((len(lines), missed), (len(events), lost))
        if not streams:
            self.bt_same(lines, late)
        for name in streams or []:
            os.mkdir("one")
            for part in "metadata", name:
                shutil.copy(f"out.ctf/{part}", f"one/{part}")
            self.bt_same(babeltrace("one")[0], [one for one in late if one["stream"] == name])
            shutil.rmtree("one")

    def bt_same(self, lines, events):
        self.assertEqual(len(lines), len(events))
        self.assertIsNone(bt_differ(lines, events))

    def json(self, path, events, streams, lost, damages, code, *options):
        self.export(path, "json", "out.json", code, *options)
        document = read_json("out.json")
        self.assertEqual((document["format"], document["version"], document["trace"]), ("mprof-events", 1, path))
        self.assertEqual(document.get("streams"), streams)
        records = document["records"]
        self.same([one for one in records if "event" in one], events)
        self.assertEqual(document["events"], len(events))
        self.assertEqual(sum(one["gap"]["packets"] for one in records if "gap" in one), lost)
        self.assertEqual(sum("damage" in one for one in records), damages)
        self.assertEqual(sum("damage" in one or "gap" in one or "event" in one for one in records), len(records))

    def csv(self, path, events, code, *options):
        self.export(path, "csv", "out.csv", code, *options)
        self.same(list(read_csv("out.csv")), events)
        with open("out.csv", encoding="utf-8", newline="") as file:
            for row in csv.reader(file):
                for cell in row:
                    self.assertFalse(re.match(r"[=+@\t\r\n＝＋－＠]|-(?!\d+$)", cell), cell)

    def chrome(self, path, events, lost, damages, stats, code, *options):
        self.export(path, "chrome", "out.chrome", code, *options)
        found = read_json("out.chrome")["traceEvents"]
        by = collections.defaultdict(list)
        for one in found:
            by[one["ph"]].append(one)
        self.assertEqual(sorted(one["id"] for one in by["b"]), sorted(one["id"] for one in by["e"]))
        self.assertEqual(len({one["id"] for one in by["b"]}), len(by["b"]))
        ends = {one["id"]: one for one in by["e"]}
        for one in by["b"]:
            self.assertLessEqual(one["ts"], ends[one["id"]]["ts"])
        self.assertEqual(len(by["b"]), stats["threads"])
        self.assertEqual([one["id"] for one in by["s"]], [one["id"] for one in by["f"]])
        for start, finish in zip(by["s"], by["f"]):
            self.assertLessEqual(start["ts"], finish["ts"])
        told = collections.Counter(one["args"]["event"] for ph in "bnXi" for one in by[ph])
        wanted = collections.Counter(stats["events_by_type"])
        self.assertEqual(len(by["C"]), wanted.pop("counter", 0) + wanted.pop("increase", 0))
        for name, number in wanted.items():
            self.assertEqual(told[name], number, name)
        self.assertEqual(told["damage"], damages)
        self.assertEqual(sum(one["args"].get("packets", 0) for one in by["X"]), lost)
        # Each label is at its time.
        labels = collections.Counter((one["name"], one["ts"]) for one in by["n"] if one["args"]["event"] == "label")
        self.assertEqual(labels, collections.Counter((one["label"], int(one["time_ns"]) / 1000) for one in events if one["event"] == "label"))

    @staticmethod
    def stats(path, *options, code):
        """Return the counts of `stats`, summed over all streams."""
        told = json.loads(run("stats", path, "--json", *options, code=code)[0])
        told = told.get("streams", [told])
        sums = {key: sum(one[key] for one in told) for key in ("lost_packets", "damages", "threads", "events")}
        kinds = collections.Counter()
        for one in told:
            kinds.update(one["events_by_type"])
        return {**sums, "events_by_type": dict(kinds)}

    def all(self, path, code=0):
        """Check each format of the trace at PATH. Return its events."""
        events = [json.loads(line) for line in run("dump", path, "--json", code=code)[0].splitlines()]
        stats = self.stats(path, code=code)
        streams = sorted(name for name in os.listdir(path) if name != "metadata") if os.path.isdir(path) else None
        streams = streams if streams and len(streams) > 1 else None
        lost, damages = stats["lost_packets"], stats["damages"]
        self.assertEqual(stats["events"], len(events))
        self.json(path, events, streams, lost, damages, code)
        self.csv(path, events, code)
        self.chrome(path, events, lost, damages, stats, code)
        self.ctf(path, events, streams, lost, code)
        return events

    def write(self, path, data):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)

    def directory(self, path, *names):
        for name in names:
            self.write(f"{path}/{name}", lzma.open(os.path.join(TRACES, name + ".ctf.xz")).read())
        shutil.copy(METADATA, f"{path}/metadata")


class Decoded(Exports):
    """Compare with babeltrace2's lines for the original rings; with MPROF_BRIEF, of each third ring and of the damaged ones."""

    def decoded(self, pattern, least):
        found = sorted(glob.glob(pattern))
        self.assertGreaterEqual(len(found), least)
        for at, path in enumerate(found):
            name = os.path.basename(path).split(".")[0]
            damaged = name in ("killed", "truncated")
            if at % 3 and not damaged and os.environ.get("MPROF_BRIEF"):
                continue
            with self.subTest(name):
                events = self.all(path, 3 if damaged else 0)
                oracle = lzma.open(f"{os.path.dirname(path)}/{name}.bt2.txt.xz").read().splitlines()
                if not damaged:  # babeltrace2 stops at damage
                    self.bt_same([re.sub(rb"{ stream_packet_count = \d+ }(, )?", b"", line) for line in oracle], events)


class Reference(Decoded):
    def test_reference(self):
        self.decoded(TRACES + "/*.ctf.xz", 10)

    def test_long(self):
        """Export the first 64 packets of a writer at full speed."""
        with open(os.path.join(unpack.scratch("live"), "live", "truth.ctf"), "rb") as file:
            data, at = file.read(), 0
        for _ in range(64):
            at += struct.unpack_from("<I", data, at + 20)[0] // 8
        self.write("long", data[:at])
        self.all("long")


class Public(Decoded):
    def test_public(self):
        self.decoded(PUBLIC + "/*.ctf*", 6)

    def test_logs(self):
        found = sorted(glob.glob(PUBLIC + "/*.sexp.xz"))
        self.assertTrue(found)
        for path in found:
            with self.subTest(os.path.basename(path)):
                self.all(path)


class Own(Exports):
    def test_several_streams(self):
        self.directory("trace", "wrapped", "small", "eio", "oddsize")
        self.all("trace")

    def test_log(self):
        self.write("log", LOG)
        self.all("log")

    def test_hostile(self):
        self.write("hostile", hostile())
        self.all("hostile")

    def test_period(self):
        """The export of a period holds its events and is as valid as the whole. A gap belongs to
        the event behind it."""
        path = os.path.join(TRACES, "wrapped.ctf.xz")
        events = [json.loads(line) for line in run("dump", path, "--json")[0].splitlines()]
        times = [int(one["time_ns"]) for one in events]
        options = ["--from", f"{times[900] / 1e9:.9f}", f"--to=+{(times[3000] - times[0]) / 1e9:.9f}"]
        inside = [one for one in events if times[900] <= int(one["time_ns"]) <= times[3000]]
        stats = self.stats(path, *options, code=0)
        self.assertEqual(stats["events"], len(inside))
        self.ctf(path, inside, None, 0, 0, *options)
        self.json(path, inside, None, 0, 0, 0, *options)
        self.csv(path, inside, 0, *options)
        self.write("hostile", hostile())
        for first, lost in ((1099, 7), (1101, 0)):
            options = ["--from", f"{first}ns", "--to", "1200ns"]
            events = [json.loads(line) for line in run("dump", "hostile", "--json", *options)[0].splitlines()]
            self.json("hostile", events, None, lost, 0, 0, *options)

    def test_gaps(self):
        """Gaps of any length: one step of a count can show at most half of its range."""
        for steps, told in (([5], True), ([32767, 20000], True), ([32767, 32767, 32767], False)):
            count, packets, lost = 0, [packet(0, event(5, 7, 1))], 0
            for number, step in enumerate(steps):
                count += 1 + step
                lost += step
                packets.append(packet(count & 0xFFFF, *([event(10, 7, 2)] if number + 1 == len(steps) else [])))
            packets += [packet(count + 1 & 0xFFFF, event(11, 7, 3)), packet(count + 9 & 0xFFFF)]
            lost += 7
            self.write("gaps", b"".join(packets))
            with self.subTest(steps):
                events = [json.loads(line) for line in run("dump", "gaps", "--json")[0].splitlines()]
                self.json("gaps", events, None, lost, 0, 0)
                shutil.rmtree("out", ignore_errors=True)
                said = self.export("gaps", "ctf", "out", 0)
                self.assertEqual("other readers will not report" in said, not told)
                self.assertEqual(self.stats("out", code=0)["lost_packets"], lost)
                self.assertEqual(babeltrace("out")[1], lost if told else 0)

    def test_names_of_streams(self):
        """A stream's name becomes a file name."""
        with lzma.open(os.path.join(TRACES, "started-only.ctf.xz")) as file:
            data = file.read()
        names = ["a b", "a_b", "a\tb", "-x", "x" * 255, "\u202eé", "=1", '"']
        for name in names:
            self.write("trace/" + name, data)
        self.write("trace/metadata", b"")
        run("export", "trace", "--to", "ctf", "-o", "out")
        found = os.listdir("out")
        self.assertEqual(len(found), len(names) + 1)
        for name in found:
            self.assertRegex(name, r"\A[A-Za-z0-9_.+@][A-Za-z0-9_.+@-]{0,210}\Z")
        self.assertEqual(self.stats("out", code=0), self.stats("trace", code=0))
        run("export", "trace", "--to", "csv", "-o", "out.csv")
        self.assertEqual(sorted({one["stream"] for one in read_csv("out.csv")}), sorted(names))
        run("export", "trace", "--to", "json", "-o", "out.json")
        self.assertEqual(sorted(read_json("out.json")["streams"]), sorted(names))

    def test_empty(self):
        self.write("none", packet(0))
        self.all("none")


class Outputs(Exports):
    """The output files, and the messages about them."""

    def setUp(self):
        super().setUp()
        with lzma.open(os.path.join(TRACES, "small.ctf.xz")) as file:
            self.write("web.ctf", file.read())

    def test_names(self):
        shutil.copy(os.path.join(TRACES, "eio.ctf.xz"), "eio.ctf.xz")
        for path, to, name in (
            ("web.ctf", "json", "web.json"),
            ("./web.ctf", "csv", "web.csv"),
            ("eio.ctf.xz", "chrome", "eio.chrome.json"),
            (self.work + "/web.ctf", "ctf", "web-ctf"),
            ("web-ctf/", "json", "web-ctf.json"),
        ):
            run("export", path, "--to", to)
            self.assertTrue(os.path.exists(name), name)
            before = os.stat(name).st_mtime_ns
            self.assertIn(f"{name} is there already", run("export", path, "--to", to, code=1)[1])
            self.assertEqual(os.stat(name).st_mtime_ns, before)
        self.assertFalse([name for name in os.listdir() if name.startswith(".")])
        told = json.loads(run("export", "web.ctf", "--to", "json", "-o", "x", "--json")[0])
        self.assertEqual((told["format"], told["path"], told["events"]), ("json", "x", 4843))

    def test_piped(self):
        with open("web.ctf", "rb") as file:
            data = file.read()
        run("export", "-", "--to", "json", stdin=data)
        self.assertEqual(read_json("trace.json")["events"], 4843)

    def test_directories(self):
        os.mkdir("empty")
        run("export", "web.ctf", "--to", "ctf", "-o", "empty")
        self.assertEqual(sorted(os.listdir("empty")), ["metadata", "stream"])
        self.assertIn("is there already", run("export", "web.ctf", "--to", "ctf", "-o", "empty", code=1)[1])
        self.assertIn("is there already", run("export", "web.ctf", "--to", "ctf", "-o", "web.ctf", code=1)[1])
        self.assertIn("cannot go to standard output", run("export", "web.ctf", "--to", "ctf", "-o", "-", code=2)[1])
        self.assertIn("No such file", run("export", "web.ctf", "--to", "ctf", "-o", "none/here", code=1)[1])
        os.symlink("elsewhere", "link")
        self.assertIn("is there already", run("export", "web.ctf", "--to", "ctf", "-o", "link", code=1)[1])
        self.assertEqual(sorted(os.listdir()), ["empty", "link", "web.ctf"])

    def test_nothing_is_left(self):
        """A trace that cannot be read, or an output that is full, leaves no file, also none under
        another name."""
        for to in "ctf", "json", "csv", "chrome":
            self.assertIn("cannot open", run("export", "file:none", "--to", to, code=4)[1])
            self.assertIn("File too large", self.limited("export", "web.ctf", "--to", to))
        self.assertEqual(os.listdir(), ["web.ctf"])

    def test_interrupted(self):
        """An interrupted export leaves nothing, on file systems whose files need no name until they
        are complete."""
        with open("web.ctf", "rb") as file:
            data = file.read()
        try:
            os.close(os.open(".", os.O_TMPFILE | os.O_WRONLY))
        except OSError:
            return
        for number in signal.SIGINT, signal.SIGKILL:
            for arguments in ("--to", "json"), ("--to", "csv", "-o", "out.csv"), ("--to", "svg"), ("--to", "ctf"):
                with subprocess.Popen([MPROFCTL, "export", "-", *arguments], stdin=subprocess.PIPE) as process:
                    process.stdin.write(data)  # the text is more than a pipe holds, so the export has begun once this write returns
                    process.stdin.flush()
                    process.send_signal(number)
                self.assertEqual(process.returncode, -number)
                self.assertEqual(os.listdir(), ["web.ctf"])

    def test_modes(self):
        """A file gets the access mode of any new file, and replaces one of its name."""
        before = os.umask(0o027)
        try:
            for name in "one.json", "one.json", "other.json":
                run("export", "web.ctf", "--to", "json", "-o", name)
                self.assertEqual(os.stat(name).st_mode & 0o777, 0o640)
        finally:
            os.umask(before)
        self.assertEqual(sorted(os.listdir()), ["one.json", "other.json", "web.ctf"])

    @staticmethod
    def limited(*arguments):
        """Run mprofctl where no file grows past 8 KiB."""

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))

        done = subprocess.run([MPROFCTL, *arguments], capture_output=True, timeout=300, preexec_fn=limit)
        if done.returncode != 1:
            raise AssertionError(f"{arguments}: exit code {done.returncode}")
        return done.stderr.decode()

    def test_replaced(self):
        self.write("out", b"before")
        run("export", "web.ctf", "--to", "csv", "-o", "out")
        with open("out", "rb") as file:
            self.assertTrue(file.read().startswith(b"time_ns,"))

    def test_links(self):
        """The export writes to the target of a link, whether that exists or not, and the link
        stays."""
        os.mkdir("there")
        self.write("there/old", b"before")
        for name, target in ("a", "there/old"), ("there/b", "../a"), ("c", "there/new"), ("round", "round"):
            os.symlink(target, name)
        for name, written in ("there/b", "there/old"), ("c", "there/new"):
            run("export", "web.ctf", "--to", "json", "-o", name)
            self.assertTrue(os.path.islink(name) and not os.path.islink(written))
            self.assertEqual(read_json(written)["events"], 4843)
        self.assertTrue(os.path.islink("a"))
        self.assertIn("Too many levels", run("export", "web.ctf", "--to", "json", "-o", "round", code=1)[1])
        os.symlink("there/other", "web.json")
        self.assertIn("is there already", run("export", "web.ctf", "--to", "json", code=1)[1])
        self.assertEqual(sorted(os.listdir("there")), ["b", "new", "old"])

    @unittest.skipUnless(os.geteuid() == 0, "links of others need root to make")
    def test_links_of_others(self):
        """In a directory like /tmp mprofctl follows another user's link only if the kernel does."""
        os.mkdir("shared")
        os.chmod("shared", 0o1777)
        self.write("mine", b"before")
        os.symlink("../mine", "shared/link")
        os.chown("shared/link", 65534, 65534, follow_symlinks=False)
        try:
            os.stat("shared/link")
        except PermissionError:
            self.assertIn("Permission denied", run("export", "web.ctf", "--to", "json", "-o", "shared/link", code=1)[1])
            with open("mine", "rb") as file:
                self.assertEqual(file.read(), b"before")
        else:  # fs.protected_symlinks is 0
            run("export", "web.ctf", "--to", "json", "-o", "shared/link")
            self.assertEqual(read_json("mine")["events"], 4843)

    def test_words(self):
        for to in "json", "ctf":
            self.assertIn("the name of the output is empty", run("export", "web.ctf", "--to", to, "-o", "", code=2)[1])
        self.assertIn("did you mean json?", run("export", "web.ctf", "--to", "jsno", code=2)[1])
        self.assertIn("these are: ctf ", run("export", "web.ctf", "--to", "nothing-like-it", code=2)[1])
        self.assertIn("name a format with --to", run("export", "web.ctf", "--to", "+1s", code=2)[1])
        self.assertIn("is later than", run("export", "web.ctf", "--to", "json", "--from", "+2s", "--to", "+1s", code=2)[1])
        self.assertIn("select from the daemon's traces", run("export", "web.ctf", "--to", "json", "--last", "1s", code=2)[1])
        for pixels in "1000px", "nan", "wide", "99":
            for option in "--width", "--height":
                said = run("export", "web.ctf", "--to", "svg", option, pixels, code=2)[1]
                self.assertIn(f"{option} {pixels} is not a number of pixels from 100 to", said)
        self.assertIn("there is no option --form", run("export", "web.ctf", "--to", "json", "--form", "+2s", code=2)[1])
        self.assertIn(b"  csv ", run("export", "--help")[0])


if __name__ == "__main__":
    if PART == "public" and not os.path.isdir(PUBLIC):
        print("SKIP: there are no published traces at", PUBLIC)
        sys.exit(77)
    cases = {"own": (Own, Outputs), "reference": (Reference,), "public": (Public,)}[PART]
    suite = unittest.TestSuite(map(unittest.defaultTestLoader.loadTestsFromTestCase, cases))
    done = unittest.TextTestRunner(verbosity=2 if sys.stderr.isatty() else 1).run(suite)
    sys.exit(not done.wasSuccessful())
