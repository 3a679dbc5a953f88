"""Record the reference traces anew, and compare: compatible.py SOURCE-ROOT MPROFCTL RERECORD [TEST…]

tests/traces has rings that mirage-profile wrote, and the events that the original viewer's loader and
babeltrace2 found in them. The recorder must write the same bytes with `compatible`, so that loader reads
the same in them. With interned texts the bytes differ; mprofctl and babeltrace2 must find the same events.
"""

import glob
import lzma
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import babeltrace2
from exported import babeltrace

ROOT, MPROFCTL, RERECORD = map(os.path.abspath, sys.argv[1:4])
TRACES = os.path.join(ROOT, "tests/traces")
METADATA = os.path.join(ROOT, "schema/ctf/metadata.tsdl")
REFERENCE = os.environ.get("MPROF_REFERENCE", os.path.join(ROOT, "..", "shared"))
ORIGINAL_METADATA = os.path.join(REFERENCE, "traces/metadata")
HEADER = struct.Struct("<I16sIHI")
START = 30
BAD = {"killed", "truncated"}  # the last event is not whole


def packets(data):
    """Return (count, events) of each packet that has events."""
    at = 0
    while at + START <= len(data):
        _, _, size, count, content = HEADER.unpack_from(data, at)
        if content // 8 > START:
            yield count, data[at + START : at + content // 8]
        at += size // 8


def in_order(data):
    """Return the bytes of all events of a ring, the oldest first; its counts do not go round but once."""
    found = list(packets(data))
    newest = max(found, key=lambda one: (one[0] - found[0][0]) % 65536 if (one[0] - found[0][0]) % 65536 < 32768 else -1)[0]
    return b"".join(events for _, events in sorted(found, key=lambda one: -((newest - one[0]) % 65536)))


class Compatible(unittest.TestCase):
    def setUp(self):
        work = tempfile.mkdtemp(prefix="mprof.")
        self.addCleanup(shutil.rmtree, work)
        self.addCleanup(os.chdir, "/")
        os.chdir(work)

    def record(self, how, name, events):
        with open("events", "wb") as f:
            f.write(events)
        done = subprocess.run([RERECORD, how, "events", f"{name}.ring", str(4 * len(events) + 65536)], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(f"{name}.ring", "rb") as f:
            return f.read()

    def traces(self):
        paths = sorted(glob.glob(f"{TRACES}/*.ctf.xz"))
        self.assertGreater(len(paths), 7)
        for path in paths:
            name = os.path.basename(path)[: -len(".ctf.xz")]
            if name not in BAD:
                with lzma.open(path) as f:
                    yield name, in_order(f.read())

    def dump(self, path):
        done = subprocess.run([MPROFCTL, "dump", path], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.splitlines()

    def read_by_babeltrace(self, name, metadata):
        os.mkdir(f"{name}.ctf")
        shutil.copy(metadata, f"{name}.ctf/metadata")
        # babeltrace2 refuses the last packet of a ring that has not been used.
        with open(f"{name}.ring", "rb") as ring, open(f"{name}.ctf/stream", "wb") as stream:
            data = ring.read()
            stream.write(data[: HEADER.unpack_from(data)[2] // 8])
        lines, lost = babeltrace(f"{name}.ctf")
        self.assertEqual(lost, 0)
        return lines

    def test_bytes(self):
        """The events have the bytes that mirage-profile wrote."""
        for name, events in self.traces():
            recorded = list(packets(self.record("compatible", name, events)))
            self.assertEqual(len(recorded), 1)
            self.assertTrue(recorded[0][1] == events, f"{name}: other bytes")

    @unittest.skipUnless(babeltrace2.usable() and os.path.exists(ORIGINAL_METADATA), "no babeltrace2, or no description of the format")
    def test_description(self):
        """A description of the format that knows nothing of this project reads what `compatible` writes."""
        for name, events in self.traces():
            self.record("compatible", name, events)
            self.assertEqual(len(self.read_by_babeltrace(name, ORIGINAL_METADATA)), len(self.dump(f"{name}.ring")))

    def test_interned(self):
        """With interned texts the trace means the same."""
        for name, events in self.traces():
            self.record("compatible", "plain", events)
            data = self.record("interned", name, events)
            self.assertEqual(self.dump(f"{name}.ring"), self.dump("plain.ring"))
            if babeltrace2.usable():
                lines = self.read_by_babeltrace(name, METADATA)
                others = sum(b"extra:" in line and (b"TEXT" in line or b"RECORDER" in line) for line in lines)
                self.assertEqual(len(lines) - others, len(self.dump("plain.ring")))
                self.assertLessEqual(len(list(packets(data))[0][1]), 2 * len(events) + 4096)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
