"""What `mprofctl export` writes, read back by others: exports.py SOURCE-ROOT MPROFCTL own|reference [TEST…]

CTF by babeltrace2 and by ourselves, JSON and Chrome's by Python's json, CSV by Python's csv: all hold the events that `dump --json` prints,
which the oracles have judged, and what babeltrace2 prints of the original where there is an oracle of that. The traces are the
generated ones, a directory of several streams, a log of s-expressions, and one with all that a hostile guest can say; or the reference.
"""

import sys

sys.path.pop(0)  # the scripts beside this one are no modules, though one may have the name of one

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
import tempfile
import unittest

ROOT, MPROFCTL = map(os.path.abspath, sys.argv[1:3])
PART = sys.argv[3]
TRACES = os.path.join(ROOT, "tests", "traces")
METADATA = os.path.join(ROOT, "schema", "ctf", "metadata.tsdl")
REFERENCE = os.path.abspath(os.path.join(os.environ.get("MPROF_REFERENCE", os.path.join(ROOT, "..", "shared")), "traces"))
UUID = bytes.fromhex("05883b8d521a487bb397456ab150680c")
TYPES = "Wait Task Bind Try Choose Pick Join Map Condition On_success On_failure On_termination On_any Ignore_result Async".split()
TYPES += "Promise Semaphore Switch Stream Mutex".split()

# Of each event: the field of the acting thread, of the other one, of a number, of a text.
FIELDS = {
    "creates": ("parent", "child", None, None),
    "read": ("reader", "source", None, None),
    "fulfills": ("resolver", "resolvee", None, None),
    "fails": ("resolver", "resolvee", None, "exn"),
    "becomes": ("thread", "main", None, None),
    "label": ("thread", None, None, "label"),
    "increase": ("thread", None, "amount", "counter"),
    "switch": ("thread", None, None, None),
    "gc": (None, None, "duration_ns", None),
    "signal": ("receiver", "sender", None, None),
    "try_read": ("reader", "source", None, None),
    "counter": ("thread", None, "value", "counter"),
    "read_later": ("reader", "source", None, None),
    "signal_noswitch": ("receiver", "sender", None, None),
}


def run(*arguments, code=0, stdin=None):
    """Standard output and error of mprofctl."""
    done = subprocess.run([MPROFCTL, *arguments], input=stdin, capture_output=True, timeout=120)
    if done.returncode != code:
        raise AssertionError(f"{arguments}: exit code {done.returncode} and not {code}: {done.stderr.decode()}")
    return done.stdout, done.stderr.decode()


def packet(count, *events):
    body = b"".join(events)
    bits = (30 + len(body)) * 8
    return struct.pack("<I16sIHI", 0xC1FC1FC1, UUID, bits, count, bits) + body


def event(time, number, *fields):
    """Threads and amounts are numbers, a type a byte, a text bytes."""
    parts = [struct.pack("<QB", time, number)]
    for field in fields:
        parts.append(struct.pack("<q", field) if isinstance(field, int) else field)
    return b"".join(parts)


# What texts can be: quotes, lines, escapes, formulas, no UTF-8, half of a surrogate, directions, a character outside of the first plane.
TEXTS = [b"", b'"', b'""', b"a,b;c", b"\r\n", b"\n", b"\t", b"\x01\x1b[31m\x7f", b"\\x41\\", b"=1+1", b"+1", b"-1", b"@x", b"'", b"'=1"]
TEXTS += ["＝1".encode(), "＠".encode(), b"\xff\xfe", b"a\xc3", b"\xed\xa0\x80", "\u202eabc\u2066".encode(), "\U0001f42b".encode(), b"</script>"]
TEXTS += ["\u2028".encode(), b"\xe2\x80", b"x" * 100_000, b"\xf0\x9f" * 3000, b'"' * 9000, "é".encode() * 9000]


def hostile():
    """One stream with all texts in all events that have one, numbers at their limits, ids that are made twice, gaps."""
    low, high = -(2**63), 2**63 - 1
    packets, time = [], 1000
    for count, text in enumerate(TEXTS):
        events = [
            event(time, 0, 7, count, bytes([count * 11 % 256])),
            event(time + 1, 5, count, text + b"\0"),
            event(time + 2, 3, high, low, text + b"\0"),
            event(time + 3, 11, low, count, text + b"\0"),
            event(time + 3, 6, count, -3, text + b"\0"),
            event(time + 4, 8, high if count == 3 else -1),
            event(time + 5, 7, -1),
            event(time + 6, 4, count, (count + 1) % 5),
            event(time + 7, 0, -1, 7, b"\x63"),
        ]
        time += 10
        packets.append(packet(count + (7 if count > 9 else 0), *events))
    return b"".join(packets)


LOG = b'((time 8249.521266)(op(Switch 0)))\n((time 8249.5213)(op(Label 0"a b")))\n((time 8249.6)(op(Creates 0 1 Task)))\n((time 8249.7)(op(Reads 1 0)))\n'


def strip(events):
    return [{key: value for key, value in one.items() if key != "stream"} for one in events]


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def read_csv(path):
    """The rows as `dump --json` has them."""
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, strict=True):
            acts, other, number, text = FIELDS[row["event"]]
            one = {"time_ns": row["time_ns"], "event": row["event"]}
            for key, column in ((acts, "thread"), (other, "other")):
                if key:
                    one[key] = int(row[column])
                elif row[column]:
                    raise AssertionError(f"{column} in {row}")
            if row["event"] == "creates":
                one["type"] = row["type"]
            if number:
                one[number] = row["value"] if number == "duration_ns" else int(row["value"])
            if text:
                one[text] = row["text"][1:] if row["text"].startswith("'") else row["text"]
                if row["text_hex"]:
                    one[text + "_hex"] = row["text_hex"]
            if row["stream"]:
                one["stream"] = row["stream"]
            yield one


SHORT = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 27: "e", 34: '"', 39: "'", 92: "\\"}


def bt_text(one, key):
    """A text as babeltrace2 prints it."""
    raw = bytes.fromhex(one[key + "_hex"]) if key + "_hex" in one else one[key].encode()
    text = "".join("\\" + SHORT[c] if c in SHORT else "\\x%02x" % c if c < 32 or c == 127 else chr(c) for c in raw)
    return b'"' + text.encode("latin-1") + b'"'


def bt_line(one):
    """The line that babeltrace2 prints of an event."""
    acts, other, number, text = FIELDS[one["event"]]
    time = int(one["time_ns"])
    fields = []
    for key in (other, number):
        if key:
            fields.append(f"{NAMES.get(key, key)} = {one[key]}".encode())
    if one["event"] == "creates":
        name, value = f'"{one["type"]}"', TYPES.index(one["type"]) if one["type"] in TYPES else None
        fields.append(f"thread_type = ( {name} : container = {value} )".encode() if value is not None else None)
    if text:
        fields.append(text.encode() + b" = " + bt_text(one, text))
    line = f"[{time // 10**9}.{time % 10**9:09}] {one['event']}: ".encode()
    if acts:
        line += b"{ thread = %d }" % one[acts]
    if fields:
        line += (b", " if acts else b"") + b"{ " + b", ".join(fields if None not in fields else [*fields[:-1], b"thread_type = ?"]) + b" }"
    return line


# What the metadata calls otherwise.
NAMES = {"main": "sleeper", "sender": "source"}
UNKNOWN = re.compile(rb"thread_type = \( <unknown> : container = \d+ \)")


def babeltrace(path):
    done = subprocess.run(["babeltrace2", "--clock-seconds", "--no-delta", path], capture_output=True, timeout=120)
    if done.returncode:
        raise AssertionError(f"babeltrace2 {path}: {done.stderr.decode()[-2000:]}")
    lost = sum(int(n) for n in re.findall(r"discarded (\d+) packets?", done.stderr.decode()))
    return done.stdout.splitlines(), lost


class Exports(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.mkdtemp(prefix="mprof.")
        self.addCleanup(shutil.rmtree, self.work)
        self.addCleanup(os.chdir, "/")
        os.chdir(self.work)

    def export(self, path, to, out, code, *options):
        """Written to OUT, and for a file the same to standard output."""
        said = run("export", path, "--to", to, "-o", out, *options, code=code)[1]
        if not os.path.isdir(out):
            with open(out, "rb") as file:
                self.assertEqual(run("export", path, "--to", to, "-o", "-", *options, code=code)[0], file.read())
        return said

    def same(self, got, wanted):
        """Of equal lists; what differs first is said, and no more: they are long."""
        for number, (a, b) in enumerate(zip(got, wanted)):
            if a != b:
                self.fail(f"number {number} is {str(a)[:2000]} and not {str(b)[:2000]}")
        self.assertEqual(len(got), len(wanted))

    def ctf(self, path, events, streams, lost, code, *options):
        shutil.rmtree("out.ctf", ignore_errors=True)
        said = self.export(path, "ctf", "out.ctf", code, *options)
        late = self.monotonic(events)
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
        """babeltrace2 2.0.4 prints of an empty text the text of another event."""
        got, wanted = [], []
        for line, one in zip(lines, events, strict=True):
            want = bt_line(one)
            empty = b' = "" }' in want and FIELDS[one["event"]][3]
            got.append(re.sub(rb' = ".*" }$', b' = "" }', line) if empty else UNKNOWN.sub(b"thread_type = ?", line))
            wanted.append(want)
        self.same(got, wanted)

    @staticmethod
    def monotonic(events):
        """CTF's times do not go back, and stop at 2^63 - 1."""
        last, out = collections.Counter(), []
        for one in events:
            stream, time = one.get("stream"), int(one["time_ns"])
            last[stream] = time if last[stream] <= time < 2**63 else last[stream]
            out.append({**one, "time_ns": str(last[stream])})
        return out

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
        # Each label is there, at its time.
        labels = collections.Counter((one["name"], one["ts"]) for one in by["n"] if one["args"]["event"] == "label")
        self.assertEqual(labels, collections.Counter((one["label"], int(one["time_ns"]) / 1000) for one in events if one["event"] == "label"))

    @staticmethod
    def stats(path, *options, code):
        """What `stats` counts, of all streams together."""
        told = json.loads(run("stats", path, "--json", *options, code=code)[0])
        told = told.get("streams", [told])
        sums = {key: sum(one[key] for one in told) for key in ("lost_packets", "damages", "threads", "events")}
        kinds = collections.Counter()
        for one in told:
            kinds.update(one["events_by_type"])
        return {**sums, "events_by_type": dict(kinds)}

    def all(self, path, code=0):
        """Each format of the trace at PATH; returns its events."""
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


class Reference(Exports):
    def test_reference(self):
        found = sorted(glob.glob(REFERENCE + "/*.ctf") + glob.glob(REFERENCE + "/public/*.ctf*"))
        self.assertGreater(len(found), 10)
        for path in found:
            name = os.path.basename(path).split(".")[0]
            with self.subTest(name):
                damaged = name in ("killed", "truncated")
                events = self.all(path, 3 if damaged else 0)
                oracle = lzma.open(f"{os.path.dirname(path)}/{name}.bt2.txt.xz").read().splitlines()
                if not damaged:  # it stops there
                    self.bt_same([re.sub(rb"{ stream_packet_count = \d+ }(, )?", b"", line) for line in oracle], events)

    def test_logs(self):
        for path in sorted(glob.glob(REFERENCE + "/public/*.sexp.xz")):
            with self.subTest(os.path.basename(path)):
                self.all(path)

    def test_long(self):
        """The first 64 packets of a writer at full speed."""
        data, at = lzma.open(f"{REFERENCE}/live/truth.ctf.xz").read(), 0
        for _ in range(64):
            at += struct.unpack_from("<I", data, at + 20)[0] // 8
        self.write("long", data[:at])
        self.all("long")


class Own(Exports):
    def test_generated(self):
        for path in sorted(glob.glob(TRACES + "/*.ctf.xz")):
            with self.subTest(os.path.basename(path)):
                self.all(path, 3 if re.search(r"killed|truncated", path) else 0)

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
        """What is inside, as valid as the whole; a gap counts with the event behind it."""
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

    def test_empty(self):
        self.write("none", packet(0))
        self.all("none")


class Outputs(Exports):
    """Where it goes, and what is said."""

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
        self.assertIn("standard output is not", run("export", "web.ctf", "--to", "ctf", "-o", "-", code=2)[1])
        self.assertIn("No such file", run("export", "web.ctf", "--to", "ctf", "-o", "none/here", code=1)[1])
        os.symlink("elsewhere", "link")
        self.assertIn("is there already", run("export", "web.ctf", "--to", "ctf", "-o", "link", code=1)[1])
        self.assertEqual(sorted(os.listdir()), ["empty", "link", "web.ctf"])

    def test_nothing_is_left(self):
        """A trace that cannot be read, an output that is full: no file, none under another name."""
        for to in "ctf", "json", "csv", "chrome":
            self.assertIn("cannot open", run("export", "file:none", "--to", to, code=4)[1])
            self.assertIn("File too large", self.limited("export", "web.ctf", "--to", to))
        self.assertEqual(os.listdir(), ["web.ctf"])

    @staticmethod
    def limited(*arguments):
        """Where no file grows past 8 KiB."""

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))

        done = subprocess.run([MPROFCTL, *arguments], capture_output=True, timeout=60, preexec_fn=limit)
        if done.returncode != 1:
            raise AssertionError(f"{arguments}: exit code {done.returncode}")
        return done.stderr.decode()

    def test_replaced(self):
        self.write("out", b"before")
        run("export", "web.ctf", "--to", "csv", "-o", "out")
        with open("out", "rb") as file:
            self.assertTrue(file.read().startswith(b"time_ns,"))

    def test_words(self):
        self.assertIn("did you mean json?", run("export", "web.ctf", "--to", "jsno", code=2)[1])
        self.assertIn("these are: ctf ", run("export", "web.ctf", "--to", "nothing-like-it", code=2)[1])
        self.assertIn("name a format with --to", run("export", "web.ctf", "--to", "+1s", code=2)[1])
        self.assertIn("is later than", run("export", "web.ctf", "--to", "json", "--from", "+2s", "--to", "+1s", code=2)[1])
        self.assertIn("select from what the daemon has", run("export", "web.ctf", "--to", "json", "--last", "1s", code=2)[1])
        self.assertIn("there is no option --form", run("export", "web.ctf", "--to", "json", "--form", "+2s", code=2)[1])
        self.assertIn(b"  csv ", run("export", "--help")[0])


if __name__ == "__main__":
    if PART == "reference" and not os.path.isdir(REFERENCE):
        print("SKIP: there are no reference traces at", REFERENCE)
        sys.exit(77)
    cases = {"own": (Own, Outputs), "reference": (Reference,)}[PART]
    suite = unittest.TestSuite(map(unittest.defaultTestLoader.loadTestsFromTestCase, cases))
    done = unittest.TextTestRunner(verbosity=2 if sys.stderr.isatty() else 1).run(suite)
    sys.exit(not done.wasSuccessful())
