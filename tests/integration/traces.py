"""Drop every available trace into the directory and read it back over HTTP: traces.py
BUILD-DIRECTORY [TEST…]

`mprofctl dump` must print the same for the guest as for the file, and babeltrace2 must read the
same events with the same timestamps from the guest's ctf.tar.
"""

import glob
import io
import lzma
import os
import re
import shutil
import subprocess
import sys
import tarfile

import babeltrace2
import daemons
from daemons import program

TRACES = os.path.join(daemons.HERE, "..", "traces")
sys.path.append(TRACES)
import unpack  # noqa: E402

# Number of packets missing behind the end of a cut file, by name.
CUT = {"truncated": 1}
STAMP = re.compile(r"^\[(\d+)\]", re.M)


def sources():
    """Return name and path of each trace, with the published ones if available."""
    patterns = [f"{TRACES}/*.ctf.xz", f"{unpack.REFERENCE}/public/*.ctf*"]
    return {os.path.basename(path).split(".")[0]: path for pattern in patterns for path in glob.glob(pattern)}


def read(path):
    with (lzma.open if path.endswith(".xz") else open)(path, "rb") as f:
        return f.read()


def dump(*arguments):
    done = subprocess.run([program("mprofctl"), *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


def stamps(lines):
    return [line.split(" ", 1)[0] for line in lines]


def babeltrace(tar, name):
    """Return the timestamps of the guest's clock that babeltrace2 finds in a ctf.tar."""
    with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
        unpack.extract(archive, f"ctf-{name}")
    command = ["babeltrace2", "--clock-cycles", "--no-delta", f"ctf-{name}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    cycles = [int(text) for text in STAMP.findall(done.stdout)]
    return done.returncode, [f"{ns // 10**9}.{ns % 10**9:09}" for ns in cycles], done.stderr


class Traces(daemons.Case):
    def setUp(self):
        super().setUp()
        self.d = self.daemons()
        self.paths = sources()
        for name, path in self.paths.items():
            with open(f"{name}.ctf", "wb") as f:
                f.write(read(path))
            shutil.copy(f"{name}.ctf", "rings")

    def test_all_come_back(self):
        self.assertGreater(len(self.paths), 9)
        for name in self.paths:
            with self.subTest(name):
                self.d.wait_ended(name)
                self.compare(name)

    def compare(self, name):
        _, ours = dump("--host", f"unix:{self.d.socket}", "dump", f"domain:{name}")
        _, file = dump("dump", f"{name}.ctf")
        self.assertEqual(ours, file)
        # The packets behind the cut of a file are missing, and are reported.
        self.assertEqual(self.d.domain(name)["streams"][0]["lost_packets"], CUT.get(name, 0))
        capture = self.d.captures(name)
        self.assertEqual([c["kind"] for c in capture], ["ended"])
        _, captured = dump("--host", f"unix:{self.d.socket}", "dump", f"capture:{capture[0]['id']}")
        self.assertEqual(captured, ours)
        tar = self.d.get(f"/v1/domains/{name}/ctf.tar")
        with open(f"{name}.tar", "wb") as f:
            f.write(tar)
        self.assertEqual(dump("dump", f"{name}.tar")[1], ours)
        if not babeltrace2.usable():
            return
        code, found, said = babeltrace(tar, name)
        self.assertEqual(code, 0, said)
        self.assertEqual(found, stamps(ours))


if __name__ == "__main__":
    daemons.main()
