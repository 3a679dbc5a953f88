"""Memory profiles: `mprofctl mem` against what the reference tools and an independent reader say of the same traces: mem-oracles.py SOURCE-ROOT MPROFCTL [TEST…]"""

import glob
import json
import lzma
import os
import subprocess
import sys
import unittest

ROOT, MPROFCTL = map(os.path.abspath, sys.argv[1:3])
REFERENCE = os.environ.get("MPROF_REFERENCE", os.path.join(ROOT, "..", "shared"))
TRACES = os.path.abspath(os.path.join(REFERENCE, "traces", "memtrace"))
# What the reference cannot read: of these it tells nothing, or a beginning.
CUT_HEADER, BAD_NAMES, CLOCK_BACK = "mirage-cut-header", "bad-badloc", "bad-clockback"
ALIKE = {CUT_HEADER: "mirage-cut-locations", BAD_NAMES: "manylocs", CLOCK_BACK: "shortlived"}


def names():
    return sorted(os.path.basename(path)[: -len(".trace")] for path in glob.glob(os.path.join(TRACES, "*.trace")))


def mem(verb, name, *options, code=None):
    """The output of the verb, run where the trace is, as the reference was."""
    done = subprocess.run(
        [MPROFCTL, "mem", verb, f"{name}.trace", *options], cwd=TRACES, capture_output=True, check=False, timeout=100
    )
    if code is not None and done.returncode != code:
        raise AssertionError(f"{verb} {name}: {done.returncode}: {done.stderr.decode()[-2000:]}")
    return done.stdout


def oracle(name):
    """The fields of the reader's report, and its tables."""
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


@unittest.skipUnless(names(), "no reference traces beside the checkout")
class Oracles(unittest.TestCase):
    maxDiff = 2000

    def test_dump(self):
        """Byte for byte."""
        for name in names():
            if name in (BAD_NAMES, CLOCK_BACK):
                continue
            with self.subTest(name):
                code = 3 if "cut" in name else 0
                self.assertEqual(mem("dump", name, code=code), reference_dump(name))

    def test_damaged(self):
        """All that can be kept of what the reference does not read."""

        def fields(line, keep):
            # Time, id, event, numbers; of a stack as many frames as there are.
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

    def test_sums(self):
        for name in names():
            if name in (BAD_NAMES, CLOCK_BACK):
                continue
            fields, _ = oracle(name)
            got = json.loads(mem("identify", name, "--json"))
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
        done = subprocess.run([MPROFCTL, "mem", "dump", "-"], input=data, capture_output=True, check=True, timeout=100)
        self.assertEqual(done.stdout, want)

    def test_dump_as_json(self):
        lines = [json.loads(line) for line in mem("dump", "leaky", "--json").splitlines()]
        allocs = [line for line in lines if line["event"] == "alloc"]
        fields, _ = oracle("leaky")
        self.assertEqual(sum(line["samples"] for line in allocs), int(fields["samples_total"]))
        self.assertEqual(sum(len(line["stack"]) for line in allocs), int(fields["sum_backtrace"]))


class Mistakes(unittest.TestCase):
    def said(self, *arguments, **more):
        done = subprocess.run([MPROFCTL, "mem", *arguments], capture_output=True, check=False, timeout=30, **more)
        return done.returncode, done.stderr.decode()

    def test_sentences(self):
        code, said = self.said()
        self.assertEqual(code, 2)
        code, said = self.said("identfy", "x")
        self.assertEqual((code, "did you mean identify?" in said), (2, True))
        code, said = self.said("dump", "/there/is/none")
        self.assertEqual((code, "cannot open" in said), (4, True))
        code, said = self.said("dump", "-", input=b"not a profile")
        self.assertEqual((code, "is no memory profile" in said), (1, True))
        code, said = self.said("dump", "-", input=b"")
        self.assertEqual((code, "is no memory profile" in said), (1, True))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
