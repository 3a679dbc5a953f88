"""Compare `mprofctl mem` with the reference tools and with an independent reader of the same
traces: mem-oracles.py SOURCE-ROOT MPROFCTL [TEST…]"""

import functools
import glob
import gzip
import http.server
import json
import lzma
import os
import re
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
import xml.etree.ElementTree

import parts
import schemas

ROOT, MPROFCTL = map(os.path.abspath, sys.argv[1:3])
sys.path.append(os.path.join(ROOT, "tests", "traces"))
import unpack  # noqa: E402

TRACES = os.path.join(unpack.scratch("memtrace"), "memtrace")
# Traces of which the reference reads nothing, or only a beginning.
RATE_AT = 70  # the place of the sampling rate in a stream of OCaml 4
CUT_HEADER, BAD_NAMES, CLOCK_BACK = "mirage-cut-header", "bad-badloc", "bad-clockback"
NAMED = {CUT_HEADER, BAD_NAMES, CLOCK_BACK, "leaky", "shortlived", "multidom-v3"}
ALIKE = {CUT_HEADER: "mirage-cut-locations", BAD_NAMES: "manylocs", CLOCK_BACK: "shortlived"}


def names():
    """Return the names of the traces. With MPROF_BRIEF, of two of three and of those that a test names; heap.mjs reads the others."""
    found = sorted(os.path.basename(path)[: -len(".trace")] for path in glob.glob(os.path.join(TRACES, "*.trace")))
    return [name for at, name in enumerate(found) if at % 3 or name in NAMED or not os.environ.get("MPROF_BRIEF")]


def mem(verb, name, *options, code=None):
    """Return the output of the verb. Run it in the directory of the trace, as the reference was
    run."""
    done = subprocess.run([MPROFCTL, "mem", verb, f"{name}.trace", *options], cwd=TRACES, capture_output=True, check=False, timeout=300)
    if done.returncode not in ((0, 3) if code is None else (code,)):
        raise AssertionError(f"{verb} {name}: {done.returncode}: {done.stderr.decode()[-2000:]}")
    return done.stdout


def oracle(name):
    """Return the fields of the reader's report, and its tables."""
    fields, tables = {}, {}
    with open(os.path.join(TRACES, f"{name}.oracle.txt"), encoding="utf-8") as f:
        for line in f:
            key, _, value = line.rstrip("\n").partition(" ")
            if key in ("site", "live_site", "peak_site", "domain"):
                tables.setdefault(key, []).append(value)
            else:
                fields[key] = value
    return fields, tables


def reference_dump(name):
    with lzma.open(os.path.join(TRACES, f"{name}.dump.txt.xz"), "rb") as f:
        return f.read()


class Oracles(unittest.TestCase):
    maxDiff = 2000

    def test_dump(self):
        """The dump is equal byte for byte."""
        for name in names():
            if name in (BAD_NAMES, CLOCK_BACK):
                continue
            with self.subTest(name):
                code = 3 if "cut" in name else 0
                self.assertEqual(mem("dump", name, code=code), reference_dump(name))

    def test_damaged(self):
        """mprofctl keeps all it can of traces that the reference does not read."""

        def fields(line, keep):
            # Time, id, event, numbers, and every frame of a stack.
            parts = line.split()
            return parts[keep:7]

        for name, keep in ((BAD_NAMES, 0), (CLOCK_BACK, 1)):
            with self.subTest(name):
                got = mem("dump", name, code=3 if name == BAD_NAMES else 0).decode().splitlines()
                want = reference_dump(ALIKE[name]).decode().splitlines()
                self.assertEqual([fields(line, keep) for line in got], [fields(line, keep) for line in want])
                times = [int(line.split()[0]) for line in got]
                self.assertEqual(times, sorted(times))
        got = mem("dump", CLOCK_BACK).decode().splitlines()
        want = reference_dump(ALIKE[CLOCK_BACK]).decode().splitlines()
        self.assertEqual([line.split()[1:] for line in got], [line.split()[1:] for line in want])

    def test_identify(self):
        for name in names():
            with open(os.path.join(TRACES, f"{name}.identify.txt"), encoding="utf-8") as f:
                want = f.read()
            got = mem("identify", name).decode()
            with self.subTest(name):
                if "exit 2" in want:
                    self.assertEqual(got.split("Trace statistics")[0], want.split("Trace statistics")[0])
                else:
                    self.assertEqual(got, want)

    def test_without_time(self):
        """Samples of which no time passed have no rate."""
        with tempfile.NamedTemporaryFile(suffix=".trace") as file:
            file.write(stackless(3))
            file.flush()
            said = run("identify", file.name).decode()
            self.assertIn("3 allocations were sampled; all came at the start, so there is no rate", said)
            self.assertNotRegex(said, r"\binf|\bnan")
            file.seek(0)
            file.write(stackless(1, early=5))
            file.truncate()
            file.flush()
            self.assertIn("1 allocation was sampled; the clock went back, so there is no rate", run("identify", file.name).decode())

    def test_sums(self):
        for name in names():
            if name in (BAD_NAMES, CLOCK_BACK):
                continue
            fields, tables = oracle(name)
            got = schemas.check(json.loads(mem("identify", name, "--json")), "profile")
            if len(tables.get("domain", [])) > 1:
                # The reader takes the peak in the order of the file. Events of several domains are
                # not sorted by time there.
                merged = viewer(name)
                self.assertNotEqual(merged["peak_merged_samples"], fields["peak_samples"])
                fields |= {"peak_samples": merged["peak_merged_samples"], "peak_time_us": merged["peak_merged_time_us"]}
                fields["peak_objects"] = got["peak_objects"]
            with self.subTest(name):
                for kind in ("minor", "major", "external"):
                    self.assertEqual(got["allocs"][kind], int(fields[f"events_alloc_{kind}"]))
                    self.assertEqual(got["samples"][kind], int(fields[f"samples_{kind}"]))
                for key, want in {
                    "promotes": "events_promote",
                    "collects": "events_collect",
                    "live_objects": "live_end_objects",
                    "live_samples": "live_end_samples",
                    "peak_samples": "peak_samples",
                    "peak_objects": "peak_objects",
                    "peak_us": "peak_time_us",
                    "max_words": "max_length_words",
                    "words": "sum_length_words",
                    "pid": "pid",
                }.items():
                    self.assertEqual(got[key], int(fields[want]), key)
                self.assertEqual(got["rate"], float(fields["sample_rate"].split()[1]))

    def test_compressed_and_piped(self):
        want = mem("dump", "leaky")
        with open(os.path.join(TRACES, "leaky.trace"), "rb") as f:
            data = lzma.compress(f.read())
        done = subprocess.run([MPROFCTL, "mem", "dump", "-"], input=data, capture_output=True, check=True, timeout=300)
        self.assertEqual(done.stdout, want)

    def test_dump_as_json(self):
        lines = [json.loads(line) for line in mem("dump", "leaky", "--json").splitlines()]
        allocs = [line for line in lines if line["event"] == "alloc"]
        fields, _ = oracle("leaky")
        self.assertEqual(sum(line["samples"] for line in allocs), int(fields["samples_total"]))
        self.assertEqual(sum(len(line["stack"]) for line in allocs), int(fields["sum_backtrace"]))


def viewer(name):
    """Return the viewer's lines by their first word, or None if there are none."""
    path = os.path.join(TRACES, f"{name}.viewer.txt")
    if not os.path.exists(path):
        return None
    lines = {"filter": [], "function": [], "timeline": []}
    with open(path, encoding="utf-8") as f:
        for line in f:
            key, *rest = re.split(r"\t| (?=[^\t]*$)" if "\t" not in line else r"\t", line.rstrip("\n"))
            if key in lines:
                lines[key].append(rest)
            else:
                lines[key] = rest[0]
    return lines


def options_of(text):
    """Return the options that mean the same filter as the viewer's oracle TEXT."""
    options = []
    for part in re.split(r" and (?=live|collected|inside|allocated)", text):
        for pattern, made in (
            (r"none$", []),
            (r"live at peak$", ["--live=peak"]),
            (r"live at end of trace$", ["--live=end"]),
            (r"live at (\d+) us$", ["--live={0}us"]),
            (r"on the (\w+) heap$", ["--heap={0}"]),
            (r"not on the minor heap$", ["--heap=major,external"]),
            (r"not on the major heap$", ["--heap=minor,external"]),
            (r"size at most (\d+) B$", ["--size=..{0}"]),
            (r"size at least (\d+) B$", ["--size={0}.."]),
            (r"size between (\d+) B and (\d+) B$", ["--size={0}..{1}"]),
            (r"lifetime at least (\d+) us$", ["--lifetime={0}us.."]),
            (r"lifetime at most (\d+) us$", ["--lifetime=..{0}us"]),
            (r"allocated at or before (\d+) us$", ["--allocated=..{0}us"]),
            (r"collected at or after (\d+) us$", ["--collected={0}us.."]),
            (r'inside (?:a function whose name contains )?"(.*)"$', ["--inside={0}"]),
            (r'not inside a function whose name contains "(.*)"$', ["--outside={0}"]),
        ):
            match = re.match(pattern, part)
            if match:
                options += [option.format(*match.groups()) for option in made]
                break
        else:
            raise AssertionError(f"no options for {part!r} of {text!r}")
    return options


class Viewer(unittest.TestCase):
    """Results by the reference viewer's rules."""

    def each(self, but=()):
        for name in names():
            told = viewer(name)
            # For several domains the oracle takes end and peak in the order of the file; mprofctl
            # takes them in the order of time.
            if told and name not in but:
                with self.subTest(name):
                    yield name, told, 3 if "cut" in name else 0

    def test_filters(self):
        for name, told, code in self.each(but=["multidom-v3"]):
            for text, objects, samples, _, most in told["filter"]:
                if text == "live at peak" and told["peak_time_us"] == told["end_us"]:
                    continue  # Here the oracle has the viewer's fault of showing nothing.
                got = schemas.check(json.loads(mem("timeline", name, "--json", "--points=1", *options_of(text), code=code)), "timeline")
                with self.subTest(text):
                    self.assertEqual(f"objects {got['objects']}", objects)
                    self.assertEqual(f"samples {got['samples']}", samples)
                    self.assertEqual(f"timeline_max_samples {got['peak_samples']}", most)

    def test_filtered_hotspots(self):
        """Hotspots count the allocations that the filter selects."""
        for options in (["--live=peak"], ["--inside=List", "--live=peak"], ["--heap=major,external"]):
            want = json.loads(mem("timeline", "leaky", "--json", "--points=1", *options))
            got = json.loads(mem("hotspots", "leaky", "--json", *options))
            self.assertEqual((got["objects"], got["samples"]), (want["objects"], want["samples"]), options)
            self.assertEqual(sum(spot["self"] for spot in got["functions"]), got["samples"])

    def test_timelines(self):
        for name, told, code in self.each():
            got = json.loads(mem("timeline", name, "--json", code=code))
            self.assertEqual(got["peak_samples"], int(told["peak_merged_samples"]))
            if name == "multidom-v3":
                continue
            self.assertEqual(len(got["points"]), len(told["timeline"]))
            for point, want in zip(got["points"], told["timeline"]):
                self.assertLessEqual(abs(int(point["ns"]) - float(want[1])), 1, want)
                self.assertLessEqual(abs(point["bytes"] - float(want[2])), 1, want)

    def test_functions(self):
        """Each function's samples, itself and all below, are the same in a share of hotspots and in
        a node of the export."""
        for name, told, code in self.each():
            totals = everything(name, code)
            for function, samples, allocs in told["function"]:
                self.assertEqual(totals.get(function), (int(samples.split()[1]), int(allocs.split()[1])), function)


def tree_sites(name, code, weight):
    """Return samples by the innermost location of the last frame, with the names of the reader's
    oracle."""
    tree = exported(name, code)
    sites = {}
    for node in tree["nodes"]:
        if not node[weight]:
            continue
        site = "<no backtrace>"
        if node["code"] == "truncated":
            node = dict(node, code=tree["nodes"][node["parent"]]["code"])
        if isinstance(node["code"], int):
            locations = tree["codes"][node["code"]]["locations"]
            last = locations[-1] if locations else None
            site = (
                f"{last['function']}@{last['file']}:{last['line']}:{last['first']}-{last['last']}"
                if last
                else "$" + tree["codes"][node["code"]]["code"]
            )
        sites[site] = sites.get(site, 0) + node[weight]
    return sites


class Trees(unittest.TestCase):
    """The stacks of allocations."""

    maxDiff = 3000

    def test_sites(self):
        for name in names():
            if name in (BAD_NAMES, CLOCK_BACK):
                continue
            code = 3 if "cut" in name else 0
            _, tables = oracle(ALIKE.get(name, name))
            for table, weight in (("site", "samples"), ("live_site", "live"), ("peak_site", "peak")):
                if name == "multidom-v3" and weight == "peak":
                    continue  # The oracle's peak is in the order of the file.
                got = tree_sites(name, code, weight)
                with self.subTest(f"{name} {table}"):
                    want = {row.split(" ", 2)[2]: int(row.split(" ", 2)[0]) for row in tables.get(table, ())}
                    self.assertEqual(got, want)

    def test_hotspots(self):
        """Compare the shown functions, their allocations and their shares."""
        for name in names():
            with open(os.path.join(TRACES, f"{name}.hotspots.txt"), encoding="utf-8") as f:
                text = f.read()
            wanted = re.findall(r"^ *(\S+ \w+) \( *([\d.]+)%\) at (\S+|#\S+) \(", text, re.M)
            if "exit 2" in text or not wanted or name == "truncstack":
                continue  # For truncated stacks the reference counts the last remaining frame as the allocating one.
            with self.subTest(name):
                got = schemas.check(json.loads(mem("hotspots", name, "--json", code=3 if "cut" in name else 0)), "hotspots")
                schemas.check(json.loads(mem("peak", name, "--json")), "hotspots")
                # The reference gives a code without a name the name of the frame before the code's
                # first use.
                _, tables = oracle(ALIKE.get(name, name))
                unnamed = sum(int(row.split()[0]) for row in tables["site"] if row.split()[2].startswith("$"))
                delta = 0.051 + 100 * unnamed / got["samples"]
                # Functions of several files can have the same name.
                shares = [(s["function"], 100 * s["self"] / got["samples"]) for s in got["functions"]]
                for _, share, function in wanted:
                    near = [f for f, of in shares if f == function and abs(of - float(share)) <= delta]
                    self.assertTrue(near, function)

    def test_tiny_rate(self):
        """A stream says that it samples next to no word: amounts stay large."""
        with open(os.path.join(TRACES, "leaky.trace"), "rb") as f:
            made = f.read()
        with tempfile.NamedTemporaryFile() as file:
            file.write(with_field(made, RATE_AT, 8, lambda _: struct.unpack("<Q", struct.pack("<d", 2.3e-308))[0]))
            file.flush()
            self.assertTrue(run("hotspots", file.name).startswith(b"8.0 EB allocated, estimated from "))
            self.assertEqual(json.loads(run("hotspots", file.name, "--json"))["samples_bytes"], 2.0**62 * 10104)

    def test_callers(self):
        """Compare the samples of each pair with the dump. (The reference counts events, a recursive
        function twice, and of inlined calls only the innermost.)
        """
        for name in (name for name in ("leaky", "ocamlopt-v3", "shortlived") if name in names()):
            pairs, totals = {}, {}
            for line in mem("dump", name, "--json").splitlines():
                event = json.loads(line)
                if event["event"] != "alloc" or not event["stack"]:
                    continue
                stack = [tuple(place.rsplit(":", 2)[0].rsplit("@", 1)) for frame in event["stack"] for place in frame.split() if "@" in place]
                if "@" not in event["stack"][-1]:
                    continue  # A code without a name borrows one.
                for function in set(stack):
                    totals[function] = totals.get(function, 0) + event["samples"]
                    if function != stack[-1]:
                        pairs[stack[-1], function] = pairs.get((stack[-1], function), 0) + event["samples"]
            got = json.loads(mem("hotspots", name, "--json"))
            with self.subTest(name):
                self.assertGreater(len(pairs), 20)
                told = {
                    ((spot["function"], spot["file"]), (by["function"], by["file"])): by["samples"]
                    for spot in got["functions"]
                    for by in spot["callers"]
                }
                for pair, samples in pairs.items():
                    self.assertGreaterEqual(told.get(pair, 0), samples, pair)
                if name == "shortlived":
                    continue
                exact = sum(told[pair] == samples for pair, samples in pairs.items())
                self.assertGreater(exact, 0.9 * len(pairs))

    def test_commas(self):
        """A comma in a name is escaped with a backslash."""
        with open(os.path.join(TRACES, "leaky.trace"), "rb") as f:
            data = f.read().replace(b"Leaky.handle", b"Leaky,handle")
        with tempfile.NamedTemporaryFile(suffix=".trace") as out:
            out.write(data)
            out.flush()
            want = json.loads(mem("hotspots", "leaky", "--json", "--inside=Leaky.handle"))
            got = json.loads(run("hotspots", out.name, "--json", r"--inside=Leaky\,handle"))
            self.assertGreater(got["objects"], 100)
            self.assertEqual(got["objects"], want["objects"])
            self.assertEqual(json.loads(run("hotspots", out.name, "--json", "--inside=Leaky.handle"))["objects"], 0)

    def test_collapsed(self):
        """The stacks are those of the reference, which loses stacks of one frame."""
        for name in names():
            path = os.path.join(TRACES, f"{name}.flamegraph.txt")
            if os.path.exists(path):
                with open(path, "rb") as f:
                    text = f.read().decode()
            else:
                with lzma.open(path + ".xz", "rb") as f:
                    text = f.read().decode()
            if re.search(r"^exit \d", text, re.M):
                continue
            got = {}
            for line in mem("export", name, "--to", "collapsed", code=3 if "cut" in name else 0).decode().splitlines():
                stack, samples = line.rsplit(" ", 1)
                stack = stack.removesuffix(";(truncated stack)")
                got[stack] = got.get(stack, 0) + int(samples)
            got = {stack: samples for stack, samples in got.items() if ";" in stack}
            want = {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in text.splitlines()}
            with self.subTest(name):
                self.assertEqual(got, want)


def covered(profile):
    """Return the bytes of a speedscope PROFILE that some frame has."""
    total, depth, since = 0, 0, 0
    for event in profile["events"]:
        if event["type"] == "O":
            since = since if depth else event["at"]
            depth += 1
        else:
            depth -= 1
            total += 0 if depth else event["at"] - since
    return total


def stackless(n, early=0):
    """Return a memtrace stream with N samples at a rate of 1e-4, in blocks of 100 words without a stack. Their times lie EARLY us before the start."""
    start = 1_700_000_000_000_000

    def packet(body, first, last):
        return struct.pack("<IIQQIHQHHQQQ", 0xC1FC1FC1, 8 * (66 + len(body)), start, start, 0, 2, 1, 0xFFFF, 0, 0, first, last) + body

    time = start & 0x1FFFFFF
    about = struct.pack("<IdB", time, 1e-4, 64) + b"program\0host\0s=256k\0" + struct.pack("<Q", 1) + b"\0"
    sample = struct.pack("<IBBBBH", (time - early) | 2 << 25, 100, 1, 0, 0, 0)
    return packet(about, 0, 0) + packet(n * sample, 0, n)


class Written(unittest.TestCase):
    """Output files for other programs, read by other readers."""

    def test_subsample_of_all(self):
        """A subsample of all samples gives the same answers. With one domain the ids are the same,
        too."""
        for name in {"leaky", "deep", "manylocs", "manylocs-v3", "ocamlopt-v3", "stripped-v3", "mirage-quiet", "v1-lists"} & set(names()):
            with self.subTest(name), tempfile.NamedTemporaryFile(suffix=".trace") as out:
                run("subsample", "1", os.path.join(TRACES, f"{name}.trace"), "-o", out.name)
                self.assertEqual(run("dump", out.name), mem("dump", name))

    def test_subsample_of_domains(self):
        with tempfile.NamedTemporaryFile(suffix=".trace") as out:
            run("subsample", "1", os.path.join(TRACES, "multidom-v3.trace"), "-o", out.name)
            drop = lambda text: [line.split()[:1] + line.split()[2:] for line in text.decode().splitlines()]
            self.assertEqual(drop(run("dump", out.name)), drop(mem("dump", "multidom-v3")))

    def test_subsample(self):
        """A tenth of the samples gives the same estimates. Each sample that stays keeps its end."""
        with tempfile.NamedTemporaryFile(suffix=".trace") as out:
            run("subsample", "10", os.path.join(TRACES, "leaky.trace"), "-o", out.name)
            whole = json.loads(mem("identify", "leaky", "--json"))
            less = json.loads(run("identify", out.name, "--json"))
            n = sum(whole["samples"].values()) / 10
            self.assertLess(abs(sum(less["samples"].values()) - n), 5 * n**0.5)
            self.assertAlmostEqual(less["rate"] * 10, whole["rate"])
            self.assertEqual((less["unknown"], less["damages"]), (0, 0))
            run("subsample", "1", os.path.join(TRACES, "leaky.trace"), "-o", out.name, "--from=100ms", "--to=150ms")
            times = [int(line.split()[0]) for line in run("dump", out.name).decode().splitlines() if "alloc" in line]
            self.assertTrue(times and min(times) >= 100000 and max(times) < 150000)

    def test_recordings(self):
        with tempfile.NamedTemporaryFile(suffix=".trace") as out:
            for name in ("leaky", "shortlived"):
                with open(os.path.join(TRACES, f"{name}.trace"), "rb") as f:
                    out.write(f.read())
            out.flush()
            self.assertEqual(run("dump", out.name, "--recording=1"), mem("dump", "leaky"))
            self.assertEqual(run("dump", out.name, "--recording", "2"), mem("dump", "shortlived"))
            self.assertEqual(run("dump", out.name), mem("dump", "leaky") + mem("dump", "shortlived"))
            for name, n in (("leaky", "1"), ("shortlived", "2")):
                options = ("--live=peak", "--json")
                self.assertEqual(run("hotspots", out.name, "--recording", n, *options), mem("hotspots", name, *options))
            self.assertEqual(run("hotspots", out.name, "--live=end"), mem("hotspots", "shortlived", "--live=end"))
            done = subprocess.run([MPROFCTL, "mem", "identify", out.name], capture_output=True, check=True, timeout=300)
            self.assertIn(b"2 recordings are joined here", done.stderr)
            done = subprocess.run([MPROFCTL, "mem", "identify", out.name, "--recording=3"], capture_output=True, check=False)
            self.assertEqual((done.returncode, b"there is no recording 3, only 2" in done.stderr), (4, True))

    def test_subsample_of_recordings(self):
        """Each recording has its own ids: the ids alive at its end mean other samples in the next
        recording."""
        with tempfile.NamedTemporaryFile(suffix=".trace") as joined, tempfile.NamedTemporaryFile(suffix=".trace") as out:
            with open(os.path.join(TRACES, "leaky.trace"), "rb") as f:
                joined.write(f.read() * 2)
            joined.flush()
            run("subsample", "1", joined.name, "-o", out.name)
            self.assertEqual(run("dump", out.name), mem("dump", "leaky") * 2)

    def test_speedscope(self):
        for name in ("leaky", "truncstack", "stripped-v3"):
            told = json.loads(mem("export", name, "--to", "speedscope"))
            fields, _ = oracle(name)
            scale = 8 / float(fields["sample_rate"].split()[1])
            frames = told["shared"]["frames"]
            for profile, key in zip(told["profiles"], ("samples_total", "live_end_samples", "peak_samples")):
                stack, last = [], 0
                for event in profile["events"]:
                    self.assertTrue(last <= event["at"] <= profile["endValue"])
                    self.assertIn("name", frames[event["frame"]])
                    last = event["at"]
                    if event["type"] == "O":
                        stack.append(event["frame"])
                    else:
                        self.assertEqual(stack.pop(), event["frame"])
                self.assertEqual(stack, [])
                self.assertLess(abs(profile["endValue"] - int(fields[key]) * scale), 1)
                self.assertEqual(covered(profile), profile["endValue"])

    def test_without_stacks(self):
        """Samples without a stack are in every export: as `(unknown stack)`, or `(no stack)`."""
        with tempfile.NamedTemporaryFile(suffix=".trace") as file:
            file.write(stackless(50))
            file.flush()
            for profile in json.loads(run("export", file.name, "--to", "speedscope"))["profiles"]:
                self.assertEqual((covered(profile), profile["endValue"]), (4000000, 4000000))
            self.assertEqual(run("export", file.name, "--to", "collapsed"), b"(no stack) 50\n")
            self.assertIn(b"(unknown stack)", gzip.decompress(run("export", file.name, "--to", "pprof")))

    def test_pprof(self):
        proto = os.path.join(ROOT, "client", "ctl", "memory")
        for name in ("leaky", "truncstack", "stripped-v3"):
            data = gzip.decompress(mem("export", name, "--to", "pprof"))
            done = subprocess.run(
                ["protoc", "--decode=pprof.Profile", "-I", proto, "pprof.proto"],
                input=data,
                capture_output=True,
                check=True,
                timeout=300,
            )
            text = done.stdout.decode()
            values = [[int(v) for v in re.findall(r"value: (\d+)", s)] for s in re.findall(r"^sample \{(.*?)^\}", text, re.M | re.S)]
            fields, _ = oracle(name)
            self.assertEqual(sum(v[0] for v in values), int(fields["samples_total"]))
            scale = 8 / float(fields["sample_rate"].split()[1])
            self.assertLess(abs(sum(v[3] for v in values) - int(fields["peak_samples"]) * scale), len(values))
            places = set(re.findall(r"^location \{\n  id: (\d+)", text, re.M))
            functions = set(re.findall(r"^function \{\n  id: (\d+)", text, re.M))
            self.assertLessEqual(set(re.findall(r"location_id: (\d+)", text)), places)
            self.assertLessEqual(set(re.findall(r"function_id: (\d+)", text)), functions)
            self.assertTrue(re.search(r'^string_table: ""', text, re.M))

    def test_flame(self):
        """The SVG is well-formed, as wide as the allocations, and its names are text."""
        space = "{http://www.w3.org/2000/svg}"
        for name in ("leaky", "deep", "stripped-v3"):
            for way in ([], ["--callers"]):
                with tempfile.NamedTemporaryFile(suffix=".svg") as out:
                    run("flame", os.path.join(TRACES, f"{name}.trace"), "-o", out.name, "--title", "<&\"'>", *way)
                    root = xml.etree.ElementTree.parse(out.name).getroot()
                frames = [g for g in root.iter(space + "g") if g.get("class") == "frame"]
                self.assertEqual(root.find(space + "title").text, "<&\"'>")
                self.assertEqual(float(frames[0].get("data-w")), 1)
                rows = {}
                for g in frames:
                    rows.setdefault(int(g.get("data-d")), []).append((float(g.get("data-x")), float(g.get("data-w"))))
                for row in rows.values():
                    row.sort()
                    for (x, w), (following, _) in zip(row, row[1:]):
                        self.assertLessEqual(x + w, following + 1e-6)
                self.assertEqual(len(list(root.iter(space + "script"))), 1)
                # All frames lie between the head and the line for the frame under the pointer.
                texts = {text.get("id"): float(text.get("y")) for text in root.iter(space + "text")}
                tops = [float(g.find(f".//{space}rect").get("y")) for g in frames]
                self.assertGreater(min(tops), texts["found"])
                self.assertLess(max(tops), texts["status"])
                self.assertLess(texts["status"], float(root.get("height")))

    def test_leaks(self):
        """The leaks of the program that leaks sessions are sessions and what belongs to them."""
        for name in names():
            schemas.check(json.loads(mem("leaks", name, "--json")), "leaks")
        got = json.loads(mem("leaks", "leaky", "--json"))
        stacks = [" ".join(frame["function"] for frame in leak["stack"]) for leak in got["leaks"] if leak["sure"] != "possible"]
        self.assertTrue(stacks and all("Session" in stack for stack in stacks), stacks)
        for leak in got["leaks"]:
            self.assertAlmostEqual(sum(leak["parts"]), leak["live_bytes"], delta=1)
        shares = [holder["share"] for holder in got["holders"]]
        self.assertEqual((len(shares), sorted(shares, reverse=True)), (3, shares))
        for holder in got["holders"]:
            self.assertAlmostEqual(holder["live_bytes"], holder["share"] * got["live_bytes"], delta=1)
        said = mem("leaks", "leaky").decode().splitlines()
        self.assertTrue(said[1].startswith(f"held: {100 * shares[0]:.1f} % by {got['holders'][0]['stack'][0]['function']} ("), said[1])

    def test_diff(self):
        self.assertIn(b"no function differs", run("diff", os.path.join(TRACES, "leaky.trace"), os.path.join(TRACES, "leaky.trace")))
        got = json.loads(run("diff", os.path.join(TRACES, "leaky.trace"), os.path.join(TRACES, "shortlived.trace"), "--json"))
        schemas.check(got, "profile-diff")
        grown = sum(row["grown_bytes_per_s"] for row in got["functions"])
        self.assertAlmostEqual(grown, got["bytes_per_s_b"] - got["bytes_per_s_a"], delta=1)
        self.assertEqual(got["functions"][0]["function"], "Dune__exe__Shortlived.arrays.(fun)")


def run(*arguments):
    done = subprocess.run([MPROFCTL, "mem", *arguments], capture_output=True, check=False, timeout=300)
    if done.returncode:
        raise AssertionError(f"{arguments}: {done.returncode}: {done.stderr.decode()[-2000:]}")
    return done.stdout


def everything(name, code):
    """Return each function's samples and allocations over the stacks that contain it, from the
    exported tree."""
    tree = exported(name, code)
    totals = {}
    sets = []
    for node in tree["nodes"]:
        above = sets[node["parent"]] if node["parent"] is not None else frozenset()
        here = set(above)
        if isinstance(node["code"], int):
            here.update(l["function"] for l in tree["codes"][node["code"]]["locations"])
        sets.append(frozenset(here))
        if node["samples"]:
            for function in here:
                a, b = totals.get(function, (0, 0))
                totals[function] = (a + node["samples"], b + node["allocs"])
    return totals


@functools.lru_cache(maxsize=4)
def exported(name, code):
    return json.loads(mem("export", name, "--to", "json", code=code))


class Mistakes(unittest.TestCase):
    def said(self, *arguments, **more):
        done = subprocess.run([MPROFCTL, "mem", *arguments], capture_output=True, check=False, timeout=300, **more)
        return done.returncode, done.stderr.decode()

    def test_sentences(self):
        code, said = self.said()
        self.assertEqual(code, 2)
        code, said = self.said("identfy", "x")
        self.assertEqual((code, "did you mean identify?" in said), (2, True))
        code, said = self.said("dump", "/there/is/none")
        self.assertEqual((code, "cannot open" in said), (4, True))
        for words in (("dump", ""), ("dump", "file:"), ("diff", "", ""), ("hotspots", "")):
            code, said = self.said(*words)
            self.assertEqual((code, said), (2, "mprofctl: the name is empty\nTry `mprofctl mem --help`.\n"), words)
        code, said = self.said("dump", "-", input=b"not a profile")
        self.assertEqual((code, "is not a memory profile" in said), (3, True))
        code, said = self.said("dump", "-", input=b"")
        self.assertEqual((code, "is not a memory profile" in said), (3, True))

    def test_filters(self):
        """Each mistake gets one sentence with the wrong text and the correct form."""
        for option, sentence in (
            ("--live=x", "1.5s..2s"),
            ("--allocated=2s..1s", "1.5s..2s"),
            ("--lifetime=5", "1.5s..2s"),
            ("--collected=soon", "1.5s..2s"),
            ("--size=5q", "64..256"),
            ("--heap=big", "minor, major and external"),
            ("--inside=a,b,c,d,e,f,g,h,i", "8"),
            ("--recording=0", "from 1 on"),
            ("--recording=x", "from 1 on"),
        ):
            with self.subTest(option):
                code, said = self.said("hotspots", "-", option, input=b"")
                self.assertEqual(code, 2)
                name, value = option.split("=")
                self.assertTrue(said.startswith("mprofctl: ") and name in said and sentence in said, said)
                self.assertEqual(len(said.splitlines()), 2, said)


def packets(name):
    """Return the packets of a stream."""
    with open(os.path.join(TRACES, f"{name}.trace"), "rb") as f:
        data = f.read()
    cut = []
    while data:
        size = int.from_bytes(data[4:8], "little") // 8
        cut.append(data[:size])
        data = data[size:]
    return cut


def with_field(packet, at, size, change):
    """Return PACKET with another value in a field of the header."""
    value = change(int.from_bytes(packet[at : at + size], "little"))
    return packet[:at] + value.to_bytes(size, "little") + packet[at + size :]


class Damaged(unittest.TestCase):
    """Sound streams, damaged in every known way: mprofctl keeps all it can and reports the rest."""

    def setUp(self):
        self.packets = packets("leaky")
        # Choose a packet of events, not of places in the source, in the middle of the stream: the
        # ids in its header go up.
        ids = [int.from_bytes(p[50:58], "little") for p in self.packets]
        ends = [int.from_bytes(p[58:66], "little") for p in self.packets]
        self.at = [i for i, p in enumerate(self.packets) if ends[i] > ids[i] and i > 3][2]
        self.ids = range(ids[self.at], ends[self.at])
        self.whole = [line.split() for line in mem("dump", "leaky").decode().splitlines()]

    def dumped(self, pieces):
        done = subprocess.run([MPROFCTL, "mem", "dump", "-"], input=b"".join(pieces), capture_output=True, check=False, timeout=300)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn(b"packet ", done.stderr)
        return [line.split() for line in done.stdout.decode().splitlines()]

    def replaced(self, packet):
        return self.dumped([*self.packets[: self.at], *packet, *self.packets[self.at + 1 :]])

    def test_tiny_rate(self):
        """At this rate one sample would be more than any number of bytes: amounts stay numbers."""
        at = (68 if self.packets[0][28] == 3 else 66) + 4
        first = self.packets[0][:at] + struct.pack("<d", 1e-307) + self.packets[0][at + 8 :]
        with tempfile.NamedTemporaryFile() as f:
            f.write(b"".join([first, *self.packets[1:]]))
            f.flush()
            for verb in ("hotspots", "peak", "leaks", "timeline", "diff", "flame", "collapsed", "json", "pprof", "speedscope"):
                words = ["diff", f.name] if verb == "diff" else ["flame", "-o", "-"] if verb == "flame" else [verb]
                words = ["export", "--to", verb] if verb in ("collapsed", "json", "pprof", "speedscope") else words
                for json_too in ([], ["--json"]) if len(words) < 3 else ([],):
                    done = subprocess.run([MPROFCTL, "mem", *words, f.name, *json_too], capture_output=True, check=False, timeout=300)
                    self.assertEqual((done.returncode, done.stderr), (0, b""), verb)
                    self.assertIsNone(re.search(rb"[ :]-?(inf|nan)\b", done.stdout), verb)

    def test_garbage_between(self):
        self.assertEqual(self.replaced([b"\xc1\x1f" + bytes(500), self.packets[self.at]]), self.whole)

    def test_another_process(self):
        other = with_field(self.packets[self.at], 30, 8, lambda pid: pid + 1)
        self.assertEqual(self.replaced([other, self.packets[self.at]]), self.whole)

    def test_ids_out_of_step(self):
        wrong = with_field(self.packets[self.at], 58, 8, lambda end: end + 5)
        self.assertEqual(self.replaced([wrong]), self.whole)

    def test_caches_out_of_step(self):
        """Stacks are lost from there on, and nothing else."""
        got = self.replaced([with_field(self.packets[self.at], 42, 8, lambda code: code ^ 16)])
        self.assertEqual([line[:6] for line in got], [line[:6] for line in self.whole])
        for line, want in zip(got, self.whole):
            if line[2].startswith("alloc"):
                known = int(line[1]) < self.ids[0]
                self.assertEqual(line[6:], want[6:] if known else line[6:7], line)

    def test_lost_packet(self):
        """Only the events of the lost packet are missing, and the stacks behind it are unknown."""
        got = self.replaced([])
        kept = {tuple(line[:3]) for line in got}
        lost = [line for line in self.whole if tuple(line[:3]) not in kept]
        self.assertEqual({int(line[1]) for line in lost if line[2].startswith("alloc")}, set(self.ids))
        self.assertLessEqual(kept, {tuple(line[:3]) for line in self.whole})

    def test_bad_event(self):
        """The rest of the packet is lost, and no other event."""
        packet = self.packets[self.at]
        got = self.replaced([packet[:66] + b"\xff\xff\xff\xff" + packet[70:]])
        kept = {tuple(line[:3]) for line in got}
        lost = {int(line[1]) for line in self.whole if tuple(line[:3]) not in kept and line[2].startswith("alloc")}
        self.assertEqual(lost, set(self.ids))

    def test_places_lost(self):
        """A packet of places is lost: every event is there, and some frames are numbers."""
        at = next(i for i, p in enumerate(self.packets) if i > 1 and p[50:58] == p[58:66])
        done = subprocess.run(
            [MPROFCTL, "mem", "dump", "-"], input=b"".join(self.packets[:at] + self.packets[at + 1 :]), capture_output=True, check=False, timeout=300
        )
        got = [line.split() for line in done.stdout.decode().splitlines()]
        self.assertEqual([line[:7] for line in got], [line[:7] for line in self.whole])
        self.assertTrue(any(frame.startswith("?") for line in got for frame in line[7:]))

    def test_clock_steps_forward(self):
        later = [with_field(with_field(p, 8, 8, lambda t: t + (1 << 30)), 16, 8, lambda t: t + (1 << 30)) for p in self.packets[self.at :]]
        done = subprocess.run(
            [MPROFCTL, "mem", "dump", "-"], input=b"".join(self.packets[: self.at] + later), capture_output=True, check=True, timeout=300
        )
        got = [line.split() for line in done.stdout.decode().splitlines()]
        self.assertEqual([line[1:] for line in got], [line[1:] for line in self.whole])
        self.assertEqual({int(b[0]) - int(a[0]) for a, b in zip(self.whole, got)}, {0, 1 << 30})
        self.assertEqual(done.stderr, b"")

    def test_clock_goes_back(self):
        """Each verb says that the clock went back, once, and no time goes back."""
        earlier = [with_field(with_field(p, 8, 8, lambda t: t - 300), 16, 8, lambda t: t - 300) for p in self.packets[self.at :]]
        for verb in "dump", "hotspots", "leaks", "identify":
            done = subprocess.run(
                [MPROFCTL, "mem", verb, "-"], input=b"".join(self.packets[: self.at] + earlier), capture_output=True, check=True, timeout=300
            )
            self.assertEqual(done.stderr.count(b"the clock went back before "), 1, (verb, done.stderr))


class Chosen(unittest.TestCase):
    def test_all_of_what_is_damaged(self):
        """A filter that all objects pass changes nothing: each answer is about the same object,
        whatever was skipped."""
        with open(os.path.join(ROOT, "tests", "fuzz", "corpus", "scan", "names-with-events"), "rb") as f:
            made = f.read()[5:]  # behind the fuzzer's choices
        said = []
        for option in ((), ("--allocated=0s..",)):
            done = subprocess.run([MPROFCTL, "mem", "hotspots", *option, "-"], input=made, capture_output=True, check=False, timeout=300)
            self.assertEqual(done.returncode, 3, done.stderr)
            said.append(done.stdout)
        self.assertIn(b" 71 samples", said[0])
        self.assertEqual(said[0], said[1])


class Recordings(unittest.TestCase):
    """The daemon's recordings, by number."""

    def setUp(self):
        with open(os.path.join(TRACES, "leaky.trace"), "rb") as f:
            body = f.read()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                found = self.path == "/v1/memtraces/7/data"
                said = body if found else b'{"title": "there is no memory profile 8", "status": 404}'
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", "application/octet-stream" if found else "application/problem+json")
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.host = f"http://127.0.0.1:{server.server_address[1]}"

    def ask(self, *arguments):
        done = subprocess.run([MPROFCTL, "--host", self.host, "mem", *arguments], capture_output=True, check=False, timeout=300)
        return done.returncode, done.stdout, done.stderr

    def test_verbs(self):
        self.assertEqual(self.ask("dump", "7"), (0, mem("dump", "leaky"), b""))
        for verb in ("hotspots", "peak", "leaks", "timeline"):
            self.assertEqual(self.ask(verb, "recording:7", "--live=peak", "--json"), (0, mem(verb, "leaky", "--live=peak", "--json"), b""))
        self.assertEqual(self.ask("export", "7", "--to", "collapsed")[1], mem("export", "leaky", "--to", "collapsed"))
        self.assertEqual(self.ask("subsample", "1", "7")[1], run("subsample", "1", os.path.join(TRACES, "leaky.trace")))
        self.assertIn(b"no function differs", self.ask("diff", "7", os.path.join(TRACES, "leaky.trace"))[1])

    def test_mistakes(self):
        self.assertEqual(self.ask("identify", "8"), (4, b"", b"mprofctl: there is no memory profile 8\n"))
        self.assertEqual(self.ask("identify", "recording:x")[0], 2)
        with tempfile.TemporaryDirectory() as made:
            # An existing file is read as a file, even if its name is a number.
            with open(os.path.join(made, "7"), "wb") as f:
                f.write(b"no profile")
            done = subprocess.run([MPROFCTL, "mem", "dump", "7"], cwd=made, capture_output=True, check=False, timeout=300)
            self.assertEqual((done.returncode, b"7 is not a memory profile" in done.stderr), (3, True))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *parts.names(sys.argv[3:])])
