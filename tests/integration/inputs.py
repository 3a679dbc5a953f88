"""Test all inputs from which `mprofctl` reads a trace: inputs.py SOURCE-ROOT MPROFCTL [TEST…]

The same rings plain, compressed, as a directory, as an archive, merged, cut and hostile; and logs
of s-expressions. If the reference traces lie beside the checkout, their compressed traces and logs
too.
"""

import glob
import gzip
import io
import itertools
import json
import lzma
import os
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT, MPROFCTL = map(os.path.abspath, sys.argv[1:3])
TRACES = os.path.join(ROOT, "tests", "traces")
METADATA = os.path.join(ROOT, "schema", "ctf", "metadata.tsdl")
sys.path.append(os.path.join(ROOT, "tests", "traces"))
import unpack  # noqa: E402

PUBLIC = os.path.join(unpack.REFERENCE, "public")


def ring(name):
    return lzma.open(os.path.join(TRACES, name + ".ctf.xz")).read()


def lines(name):
    return lzma.open(os.path.join(TRACES, name + ".dump.txt.xz")).read().decode().splitlines()


def run(*arguments, stdin=None):
    done = subprocess.run([MPROFCTL, *arguments], input=stdin, capture_output=True, timeout=300)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def write(path, data):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def directory(path, *names):
    os.makedirs(path)
    for name in names:
        write(f"{path}/{name}", ring(name))
    shutil.copy(METADATA, f"{path}/metadata")


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, capture_output=True, check=True).stdout


class Inputs(unittest.TestCase):
    def test_equal_names(self):
        """Files of one name in several directories are told apart, also if the directories have one name, too."""
        for name in "a", "b", "b/a":
            os.mkdir(name)
            write(f"{name}/x.ctf", ring("small"))
        write("a/x.ctf (2)", ring("small"))
        code, out, said = run("stats", "--json", "a/x.ctf", "a/x.ctf (2)", "b/x.ctf", "b/a/x.ctf")
        self.assertEqual(code, 0, said)
        self.assertEqual([it["stream"] for it in json.loads(out)["streams"]], ["a/x.ctf", "a/x.ctf (2)", "b/x.ctf", "a/x.ctf (3)"])

    def setUp(self):
        self.home = os.getcwd()
        self.work = tempfile.mkdtemp()
        os.chdir(self.work)

    def tearDown(self):
        os.chdir(self.home)
        shutil.rmtree(self.work)

    def same(self, want, *arguments, stdin=None, code=0):
        got, out, said = run("dump", *arguments, stdin=stdin)
        self.assertEqual((got, said if code == 0 else ""), (code, ""))
        self.assertEqual(out.splitlines(), want)
        return said

    def test_compressed(self):
        data = ring("wrapped")
        packed = {"gz": gzip.compress(data), "xz": lzma.compress(data), "zst": zstd(data)}
        for form, bytes_ in packed.items():
            with self.subTest(form):
                write("file", bytes_)
                self.same(lines("wrapped"), "file")
                self.same(lines("wrapped"), "-", stdin=bytes_)

    def test_compressed_and_cut(self):
        whole = lines("wrapped-dense")
        data = ring("wrapped-dense")
        packed = gzip.compress(data, 1)
        code, out, said = run("dump", "-", stdin=packed[: len(packed) * 3 // 4])
        self.assertEqual(code, 3)
        self.assertRegex(said, r"^mprofctl: standard input: the packed data is damaged or cut: .+\n")
        self.assertTrue(set(out.splitlines()) <= set(whole))
        self.assertGreater(out.count("\n"), len(whole) // 3)
        for junk in (packed[:2], packed[:20], b"\x28\xb5\x2f\xfd" + bytes(100), b"\xfd7zXZ\0" + bytes(100)):
            code, out, said = run("dump", "-", stdin=junk)
            self.assertEqual((code, out), (3, ""))

    def test_compressed_is_what_it_was(self):
        """Compressed input gives the answer and exit code of the plain file: zeros (which some
        readers take for the end of an archive), an empty file, and zeros before a trace."""
        old = io.BytesIO()
        with tarfile.open(fileobj=old, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            member = tarfile.TarInfo("x/stream")
            member.size = 100
            tar.addfile(member, io.BytesIO(bytes(100)))
        for data in b"", b"\0", bytes(511), bytes(512), bytes(1024), bytes(100_000), bytes(4096) + ring("small"), b"\0" + old.getvalue()[1:]:
            write("plain", data)
            want = run("stats", "plain")
            self.assertEqual(want[0], 3 if data else 0)
            for form, bytes_ in {"gz": gzip.compress(data), "xz": lzma.compress(data), "zst": zstd(data)}.items():
                write(f"packed.{form}", bytes_)
                code, out, said = run("stats", f"packed.{form}")
                self.assertEqual((code, out, said.replace(f"packed.{form}", "plain")), want, (len(data), form))
            self.assertEqual(run("dump", "packed.gz")[:2], run("dump", "plain")[:2])

    def test_old_archive(self):
        """A tar from before 1988 has no magic, and its members are read all the same."""
        data = io.BytesIO()
        with open(METADATA, "rb") as file:
            metadata = file.read()
        with tarfile.open(fileobj=data, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for name, content in ("t/metadata", metadata), ("t/wrapped", ring("wrapped")):
                member = tarfile.TarInfo(name)
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
        new = data.getvalue()
        old, at = bytearray(new), 0
        while new[at]:
            size = int(new[at + 124 : at + 135], 8)
            old[at + 257 : at + 512] = bytes(255)
            old[at + 148 : at + 156] = b" " * 8
            old[at + 148 : at + 156] = b"%06o\0 " % sum(old[at : at + 512])
            at += 512 + (size + 511) // 512 * 512
        for archive in new, bytes(old):
            write("t.tar.gz", gzip.compress(archive))
            self.same(lines("wrapped"), "t.tar.gz")

    def test_directory_of_one(self):
        directory("trace", "wrapped")
        write("trace/.hidden", b"\xc1\x1f\xfc\xc1")
        write("trace/notes.txt", b"no stream")
        os.mkfifo("trace/pipe")
        self.same(lines("wrapped"), "trace")

    def test_directory_of_none(self):
        directory("trace")
        self.assertEqual(run("dump", "trace"), (1, "", "mprofctl: trace holds no stream of a trace\n"))

    def merged(self, text, *names):
        """Check that TEXT is the streams of NAMES, merged by time, each line with its stream."""
        left = {name: lines(name) for name in names}
        times = []
        for line in text.splitlines():
            line, name = re.match(r'(.*) stream="(.*)"$', line).groups()
            self.assertEqual(line, left[name].pop(0))
            times.append([int(part) for part in line.split(" ")[0].split(".")])
        self.assertEqual(list(left.values()), [[]] * len(names))
        self.assertEqual(times, sorted(times))

    def test_directory_of_several(self):
        directory("trace", "wrapped", "small", "eio", "oddsize")
        code, out, said = run("dump", "trace")
        self.assertEqual((code, said), (0, ""))
        self.merged(out, "wrapped", "small", "eio", "oddsize")

    def test_archive(self):
        directory("trace", "wrapped", "small")
        want = run("dump", "trace")[1]
        for mode in "w", "w:gz", "w:xz":
            with tarfile.open("archive", mode) as tar:
                tar.add("trace")
            self.assertEqual(run("dump", "archive"), (0, want, ""))
        with open("archive", "rb") as file:
            self.assertEqual(run("dump", "-", stdin=zstd(lzma.decompress(file.read()))), (0, want, ""))

    def test_archive_of_one_and_none(self):
        directory("trace", "wrapped")
        with tarfile.open("archive", "w") as tar:
            tar.add("trace")
        self.same(lines("wrapped"), "archive")
        with tarfile.open("none", "w") as tar:
            tar.add("trace/metadata")
        self.assertEqual(run("dump", "none"), (1, "", "mprofctl: none holds no stream of a trace\n"))

    def test_hostile_archive(self):
        """Names that lead elsewhere write nothing, links and devices are skipped, and a cut archive
        gives what it has."""
        data = ring("wrapped")
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            for name, kind in (("../out", tarfile.REGTYPE), ("/abs", tarfile.SYMTYPE), ("dev", tarfile.CHRTYPE), ("hard", tarfile.LNKTYPE)):
                info = tarfile.TarInfo(name)
                info.type = kind
                info.linkname = "/etc/passwd"
                info.size = len(data) if kind == tarfile.REGTYPE else 0
                tar.addfile(info, io.BytesIO(data))
        self.same(lines("wrapped"), "-", stdin=packed.getvalue())
        self.assertEqual(os.listdir("."), [])
        code, out, said = run("dump", "-", stdin=packed.getvalue()[:100_000])
        self.assertEqual(code, 3)
        self.assertTrue(set(out.splitlines()) <= set(lines("wrapped")))

    def test_too_many_streams(self):
        for i in range(257):
            write(f"trace/{i:03}", b"\xc1\x1f\xfc\xc1")
        self.assertEqual(run("dump", "trace"), (1, "", "mprofctl: trace has more than 256 streams\n"))

    def test_damaged_stream_of_several(self):
        directory("trace", "wrapped", "killed")
        code, out, said = run("dump", "trace")
        self.assertEqual(code, 3)
        self.assertIn("killed: packet 1 (count 397) at byte 4096: unknown event id 31", said)
        self.assertEqual(len(out.splitlines()), len(lines("wrapped")) + len(lines("killed")))

    def test_json_names_the_stream(self):
        directory("trace", "wrapped", "small")
        out = run("dump", "trace", "--json")[1].splitlines()
        self.assertEqual(sum(line.endswith(',"stream":"small"}') for line in out), len(lines("small")))

    def test_sexp(self):
        log = b'((time 8249.521266)(op(Switch 0)))\n((time 8249.5213)(op(Label 0"a b")))\noops\n((time 8250)(op(Gc 0.5)))\n'
        want = [
            "8249.521266000 switch thread=0",
            '8249.521300000 label thread=0 label="a b"',
            "8250.000000000 gc duration=0.500000000",
        ]
        for data in log, gzip.compress(log):
            self.assertIn("line 3 at byte 72: not an event; 5 bytes skipped", self.same(want, "-", stdin=data, code=3))

    def test_filters(self):
        write("file", ring("wrapped"))
        whole = lines("wrapped")
        self.same([line for line in whole if re.search(r" (gc|fails) ", line)], "file", "--event", "gc,fails")
        thread = re.search(r"resolver=(\d+) ", next(line for line in whole if " fails " in line)).group(1)
        wanted = re.compile(rf"(?!.* (?:amount|value|duration)={thread}\b).* [a-z]+={thread}\b")
        self.same([line for line in whole if wanted.match(line)], "file", "--thread", thread)
        times = [line.split(" ")[0] for line in whole]
        self.same(whole[100:200], "file", "--from", times[100], f"--to={times[199]}")
        self.same([line for line in whole if ' label="take rx"' in line], "file", "--label", "t*ke ?x", "--event=label")

    @unittest.skipUnless(os.path.isdir(PUBLIC), f"no published traces in {PUBLIC}")
    def test_reference(self):
        found = glob.glob(f"{PUBLIC}/*.ctf.xz")
        self.assertTrue(found)
        for path in found:
            self.assertEqual(run("dump", path), run("dump", "-", stdin=lzma.open(path).read()))
        for name, number in (("xen-sexp-untyped", 18780), ("xen-sexp-typed", 3915)):
            code, out, said = run("dump", f"{PUBLIC}/{name}.sexp.xz")
            self.assertEqual((code, out.count("\n"), said), (0, number, ""))
            self.check_log(lzma.open(f"{PUBLIC}/{name}.sexp.xz", "rt").read().splitlines(), out.splitlines())

    def check_log(self, log, dump):
        """Compare the times, operations and threads with the log by regular expressions, without a
        parser."""
        names = {
            "creates": "Creates",
            "read": "Reads",
            "becomes": "Becomes",
            "label": "Label",
            "switch": "Switch",
            "fulfills": "Resolves",
            "fails": "Resolves",
        }
        for theirs, ours in zip(log, dump, strict=True):
            seconds, operation, rest = re.match(r"\(\(time ([0-9.]+)\)\(op\((\w+) ?(.*)\)\)\)$", theirs).groups()
            time, name, fields = ours.split(" ", 2)
            self.assertEqual((f"{seconds:0<{len(time)}}", operation), (time, names[name]))
            threads = re.findall(r"-?\d+", rest)[: 2 if name != "label" and name != "switch" else 1]
            self.assertEqual(re.findall(r"=(-?\d+)", fields)[: len(threads)], threads)

    def test_hole(self):
        """A file that says it has 8 TiB, of which nearly all were never written, gets one sentence."""
        os.mkdir("d")
        for name in "web.ctf", "d/web.ctf":
            write(name, ring("eio"))
            os.truncate(name, 8 << 40)
        begin = os.lseek(fd := os.open("web.ctf", os.O_RDONLY), 0, os.SEEK_HOLE)
        os.close(fd)
        if begin == 8 << 40:
            self.skipTest("the file system knows no holes")
        told = f"web.ctf has a hole from byte {begin} to byte {8 << 40}, where nothing was ever written, so it is no whole trace; "
        told += f"`head -c {begin}` copies what is before the hole\n"
        for arguments in ["stats", "web.ctf"], ["why", "web.ctf"], ["dump", "web.ctf"], ["mem", "hotspots", "web.ctf"], ["stats", "d"]:
            self.assertEqual(run(*arguments), (1, "", f"mprofctl: {told}"))
        os.truncate("web.ctf", 64 << 20)
        self.assertEqual(run("stats", "web.ctf")[0], 3)  # a small hole is zeros behind the last packet

    def test_other_kinds(self):
        """A file of another kind gets one sentence that says what it is, and what reads it."""
        start = 1_700_000_000_000_000
        begins = "it does not begin like a memtrace stream"
        profile = struct.pack("<IIQQIHQHHQQQI", 0xC1FC1FC1, 8 * 95, start, start, 0, 3, 1, 0xFFFF, 0, 0, 0, 0, start & 0x1FFFFFF)
        profile += struct.pack("<dB", 1e-4, 64) + b"p\0h\0\0" + struct.pack("<Q", 1) + b"\0"
        kinds = {
            profile: "a memory profile; `mprofctl mem VERB` reads it",
            b"SQLite format 3\0" + bytes(100): "an SQLite database; sqlite3 reads it",
            b"\x7fELF" + bytes(100): "a program (ELF)",
            struct.pack("<Q", 0x0016547846040010) + bytes(64): "a Fuchsia trace; ui.perfetto.dev opens it",
            struct.pack("<IHHQII", 0xC1FC1FC1, 1, 0, 1000, 1234, 0) + bytes(30): "an eventlog of OCaml 4, which mprofctl does not read",
            struct.pack("<IHHQII", 0xC1FC1FC1, 0x100, 0, 1000, 1, 0) + bytes(30): "an eventlog of OCaml 4, which mprofctl does not read",
            b'{"traceEvents": []}': "JSON, which mprofctl does not read",
            b'\n[ {"ph": "X"}]': "JSON, which mprofctl does not read",
        }
        for data, what in kinds.items():
            write("other", data)
            write("other.gz", gzip.compress(data))
            for path, verb in itertools.product(("other", "other.gz"), (["stats"], ["why"], ["dump"], ["export", "--to", "csv", "-o", "out"])):
                self.assertEqual(run(*verb, path), (3, "", f"mprofctl: {path} is {what}\n"))
            self.assertEqual(run("stats", "-", stdin=data), (3, "", f"mprofctl: standard input is {what}\n"))
            if data is not profile:
                self.assertEqual(run("mem", "identify", "other"), (3, "", f"mprofctl: other is {what}\n"))
        for data in b"", b"words\n", b"\x89PNG\r\n" + bytes(100):
            write("other", data)
            code, out, said = run("mem", "identify", "other")
            self.assertEqual((code, out, said.splitlines()[-1]), (3, "", f"mprofctl: other is not a memory profile: {begins}"))
        reads = "`mprofctl stats`, `dump`, `why` and others read it"
        write("web.ctf", ring("eio"))
        self.assertEqual(run("mem", "hotspots", "web.ctf"), (3, "", f"mprofctl: web.ctf is a trace; {reads}\n"))
        with lzma.open(os.path.join(TRACES, "ocaml5", "alloc.events.xz")) as events:
            write("1.events", events.read())
        self.assertEqual(run("mem", "identify", "1.events"), (3, "", f"mprofctl: 1.events is a ring file of OCaml 5; {reads}\n"))
        # A ring whose first header is damaged is a trace nevertheless, and so is the rest of a cut file.
        for at in (0, 4, 5, 19, 20, 21):
            damaged = bytearray(ring("eio"))
            damaged[at] ^= 0xFF
            write("damaged", bytes(damaged))
            code, out, said = run("stats", "damaged")
            self.assertEqual((code, "packet " in said, "events" in out), (3, True, True))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
