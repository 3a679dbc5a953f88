"""babeltrace2, where it reads packets without a time of their beginning.

Version 2.1.1, Debian 13's, ends with a failed assertion at the first packet of every ring: it gives the beginning of a
packet a time although the description of the stream says that packets have none. No description of the same bytes avoids
that. The tests leave out such a version, and test all else.
"""

import functools
import os
import shutil
import struct
import subprocess
import tempfile

METADATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../schema/ctf/metadata.tsdl")
UUID = bytes.fromhex("05883b8d521a487bb397456ab150680c")
FAULT = b"without-default-clock-snapshot"


@functools.cache
def lacking():
    """Return why babeltrace2 cannot be used, or None."""
    if not shutil.which("babeltrace2"):
        return "babeltrace2 is not installed"
    with tempfile.TemporaryDirectory() as path:
        shutil.copy(METADATA, os.path.join(path, "metadata"))
        with open(os.path.join(path, "stream"), "wb") as f:
            f.write(struct.pack("<I16sIHI", 0xC1FC1FC1, UUID, 30 * 8, 1, 30 * 8))
        done = subprocess.run(["babeltrace2", path], capture_output=True, check=False)
    return "this babeltrace2 fails at packets without a time of their beginning, as 2.1.1 does" if FAULT in done.stderr else None


def usable():
    return not lacking()


if __name__ == "__main__":
    # For scripts: print the reason, and fail.
    if lacking():
        raise SystemExit(f"SKIP: {lacking()}")
