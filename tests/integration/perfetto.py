"""Check that `mprofctl export --to perfetto` and `--to fxt` hold the events of the trace:
perfetto.py SOURCE-ROOT MPROFCTL [TEST…]

A reader of its own parses each format's bytes, and protoc reads the first one too. Compare the
result with `dump --json`, with the lives in `threads --json`, and with the running and sleeping
times in `stats --json`. With MPROF_BRIEF, each third trace, and the damaged ones.
"""

import collections
import functools
import glob
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT, MPROFCTL = map(os.path.abspath, sys.argv[1:3])
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fxts  # noqa: E402
import parts  # noqa: E402
import perfettos  # noqa: E402
import slice_events  # noqa: E402

sys.path.append(os.path.join(ROOT, "tests", "traces"))
import unpack  # noqa: E402

TRACES = os.path.join(ROOT, "tests", "traces")
PUBLIC = os.path.join(unpack.REFERENCE, "public")
READERS = {"perfetto": perfettos.read, "fxt": fxts.read}


def run(*arguments, stdin=None):
    done = subprocess.run([MPROFCTL, *arguments], input=stdin, capture_output=True, timeout=300)
    return done.returncode, done.stdout, done.stderr.decode()


@functools.cache
def answer(*arguments):
    code, out, said = run(*arguments)
    assert code in (0, 3), said
    return out.decode()


def sources():
    found = {}
    for pattern in (f"{TRACES}/*.ctf.xz", f"{PUBLIC}/*.ctf*", f"{PUBLIC}/*.sexp.xz"):
        for path in sorted(glob.glob(pattern)):
            found.setdefault(os.path.basename(path).split(".")[0], path)
    if os.environ.get("MPROF_BRIEF"):
        return {name: path for at, (name, path) in enumerate(sorted(found.items())) if at % 3 == 0 or name in ("killed", "truncated")}
    return found


def dumped(path):
    """Yield the events of dump, with texts as the exports can hold them."""
    for line in answer("dump", "--json", path).splitlines():
        event = json.loads(line)
        for key in ("label_hex", "counter_hex", "exn_hex"):
            event.pop(key, None)
        yield event


def record(time, number, rest):
    return struct.pack("<QB", time, number) + rest


def stream(events):
    body = b"".join(events)
    bits = (len(body) + 30) * 8
    uuid = bytes.fromhex("05883b8d521a487bb397456ab150680c")
    return struct.pack("<I16sIHI", 0xC1FC1FC1, uuid, bits, 0, bits) + body


def cut(text, most):
    """Return the whole characters of TEXT that fit into MOST bytes."""
    return text.encode()[:most].decode(errors="ignore")


class Exports(unittest.TestCase):
    def compare(self, got, path, kind):
        """Compare the events, their order and their fields. Collections come at the end, an enclosing one first."""
        want = list(dumped(path))
        have = slice_events.events(got.events)
        counts = [collections.Counter(e["event"] for e in some) for some in (have, want)]
        self.assertEqual(*counts)
        for a, b in zip(slice_events.wholes_last(have), slice_events.wholes_last(want)):
            a, b = dict(a), dict(b)
            if b["event"] == "creates":  # types are numbers in one output and names in the other
                a.pop("type"), b.pop("type")
            if kind == "fxt" and b["event"] in ("counter", "increase"):
                a.pop("thread", None), b.pop("thread"), a.pop("amount", None), b.pop("amount", None)
            for key in ("child", "parent"):
                a[key], b[key] = a.get(key), b.get(key)
            self.assertEqual(a, b)
        return want

    def increases(self, got, want):
        """Check that the sums of a counter's changes are its values."""
        sums = collections.defaultdict(int)
        values = [act for act in got.events if act.kind == "value"]
        changes = [e for e in want if e["event"] in ("counter", "increase")]
        self.assertEqual(len(values), len(changes))
        for act, e in zip(values, changes):
            sums[e["counter"]] = e["value"] if e["event"] == "counter" else sums[e["counter"]] + e["amount"]
            self.assertEqual((act.track.name, act.value), (e["counter"], sums[e["counter"]]))

    def lives(self, slices, path):
        """Check that each thread has one life, with the model's begin and end."""
        want = collections.Counter()
        for t in json.loads(answer("threads", "--json", path))["threads"]:
            want[(t["thread"], t["type"], int(t["start_ns"]), int(t["end_ns"]))] += 1
        have = collections.Counter()
        for begin, end in slices.lives.values():
            identity = begin.notes["other"] if begin.category == "creates" else begin.notes["thread"]
            have[(identity, begin.name, begin.time, end.time)] += 1
            self.assertTrue(begin.track.name.endswith(f"{begin.name} {identity}") or begin.track.name.endswith(f"({begin.name} {identity})"))
        self.assertEqual((have - want, want - have), (collections.Counter(), collections.Counter()))

    def times(self, slices, stats):
        """Check how long threads ran, and how long none did."""
        ran = collections.Counter()
        idle = 0
        for begin, end in slices.runs:
            if begin.name == "idle":
                idle += end.time - begin.time
            else:
                ran[begin.track] += end.time - begin.time
        self.assertEqual(idle, stats["sleeping_ns"] or 0)  # null: the trace does not tell when nothing runs
        best = sorted(ran.values(), reverse=True)[: len(stats["busiest"])]
        self.assertEqual(best, [t["running_ns"] for t in stats["busiest"]])

    def check(self, name, path, kind):
        code, data, said = run("export", path, "--to", kind, "-o", "-")
        self.assertIn(code, (0, 3), said)
        got = READERS[kind](data)
        want = self.compare(got, path, kind)
        self.increases(got, want)
        pairs = sum(e["event"] in slice_events.KEYS and len(slice_events.KEYS[e["event"]]) == 2 and e["event"] != "creates" for e in want)
        alone = sum(e["event"] in ("read", "try_read", "read_later") and e["source"] == -1 for e in want)
        self.assertEqual(slice_events.check_flows(got.events), pairs - alone)
        stats = json.loads(answer("stats", "--json", path))
        slices = slice_events.Slices(got.events)
        if not stats["lost_packets"]:  # a thread that ran before a gap does not count as running through it
            self.lives(slices, path)
            self.times(slices, stats)
        packets = sum(b.notes["packets"] for b, _ in slices.others if b.category == "gap")
        if name != "truncated":  # only the decoder counts what is missing behind the last event
            self.assertEqual(packets, stats["lost_packets"])
        if name == "killed":
            self.assertEqual(sum(a.category == "damage" for a in got.events), stats["damages"])
        return data, got

    def test_perfetto(self):
        for name, path in sources().items():
            with self.subTest(name):
                self.check(name, path, "perfetto")

    def test_fxt(self):
        for name, path in sources().items():
            with self.subTest(name):
                self.check(name, path, "fxt")

    def test_hostile(self):
        """Export strings that are long, empty, no UTF-8, or more than a table holds; more threads
        than a table holds; times past 63 bits."""
        base = (1 << 63) - 70002
        events = [record(base + 1000 + i, 0, struct.pack("<qqB", -1, i, 1 + i % 5)) for i in range(1000)]
        odd = [b"", b"\xff\xfe", b"a" * 255, b"b" * 256, b"c" * 257, "é".encode() * 9000, b"\xc3" * 20000, b"d" * 70000]
        odd += [b"label %d" % i for i in range(35000)]
        events += [record(base + 3000 + i, 5, struct.pack("<q", i % 1000) + text + b"\0") for i, text in enumerate(odd)]
        events += [record(base + 50000 + i, 6, struct.pack("<qq", i, 1 - i) + b"queue#%d\0" % (i % 3)) for i in range(300)]
        events += [record(base + 60000, 3, struct.pack("<qq", 1, 2) + b"e" * 20000 + b"\xff\0")]
        events += [record(base + 70000, 8, struct.pack("<Q", 1 << 40)), record(base + 70005, 7, struct.pack("<q", 4))]
        with open("hostile.ctf", "wb") as f:
            f.write(stream(events))
        want = list(dumped("hostile.ctf"))
        self.assertEqual(len(want), len(events))
        for kind, most in (("perfetto", 1 << 20), ("fxt", 16000)):
            code, data, said = run("export", "hostile.ctf", "--to", kind, "-o", "-")
            self.assertEqual((code, said), (0, ""))
            got = READERS[kind](data)
            have, want = (slice_events.wholes_last(some) for some in (slice_events.events(got.events), want))
            self.assertEqual([e["event"] for e in have], [e["event"] for e in want])
            for key, event in (("label", "label"), ("exn", "fails")):
                texts = [[e[key] for e in some if e["event"] == event] for some in (have, want)]
                self.assertEqual(texts[0], [cut(text, most) for text in texts[1]])
            self.assertEqual([e["time_ns"] for e in have], [e["time_ns"] for e in want])
            slice_events.Slices(got.events)
            slice_events.check_flows(got.events)
        scales = {t.scale for t in perfettos.read(run("export", "hostile.ctf", "--to", "perfetto", "-o", "-")[1]).tracks.values()}
        self.assertEqual(scales - {None}, {"queue"})

    def test_streams(self):
        """Each stream of a directory becomes a process with its events below it."""
        os.mkdir("two")
        shutil.copy(os.path.join(ROOT, "schema", "ctf", "metadata.tsdl"), "two/metadata")
        for name, count in (("net", 20), ("disk", 30)):
            with open(f"two/{name}", "wb") as f:
                f.write(stream([record(1000 + 10 * i, 7, struct.pack("<q", i % 3)) for i in range(count)]))
        for kind, read in READERS.items():
            code, data, said = run("export", "two", "--to", kind, "-o", "-")
            self.assertEqual((code, said), (0, ""))
            got = read(data)
            counts = collections.Counter()
            for act in got.events:
                process = got.tracks[act.track.parent]
                self.assertEqual(process.kind, "process")
                counts[process.name] += slice_events.event_of(act) is not None
            self.assertEqual(counts, {"net": 20, "disk": 30})
            if kind == "perfetto":
                self.assertEqual({t.pid for t in got.tracks.values() if t.kind == "process"}, {1, 2})

    def test_protoc(self):
        """protoc knows each field, and counts the same."""
        for name in ("small", "killed", "eio-wrapped"):
            with self.subTest(name):
                _, data, _ = run("export", f"{TRACES}/{name}.ctf.xz", "--to", "perfetto", "-o", "-")
                got = perfettos.read(data)
                packets = perfettos.protoc(data, os.path.join(ROOT, "client", "ctl", "export"))
                self.assertEqual(len(packets), got.packets)
                told = [(dict(p)["timestamp"], dict(dict(p)["track_event"])) for p in packets if "track_event" in dict(p)]
                self.assertEqual(len(told), len(got.events))
                names = {"begin": "TYPE_SLICE_BEGIN", "end": "TYPE_SLICE_END", "instant": "TYPE_INSTANT", "value": "TYPE_COUNTER"}
                for (time, event), act in zip(told, got.events):
                    self.assertEqual((time, event["type"], event["track_uuid"]), (str(act.time), names[act.kind], str(act.track.uuid)))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        unittest.main(argv=[sys.argv[0], *parts.names(sys.argv[3:])], verbosity=2)
