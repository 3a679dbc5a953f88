"""Compare `mprofctl dump` with other decoders of the same traces: dump-oracles.py SOURCE-ROOT
MPROFCTL own|reference|public

Part own compares each ring of tests/traces with its stored dump, text and JSON. Part reference
compares it with the output of the original viewer's loader, which prints strings in OCaml's way and
does not know the thread types Stream and Mutex. Part public does so for the published traces, if
MPROF_REFERENCE has them.
"""

import sys

sys.path.pop(0)  # the scripts beside this one are no modules, though one may have a module's name

import glob
import json
import lzma
import os
import re
import struct
import subprocess
import tempfile

root, mprofctl, part = sys.argv[1:4]
sys.path.append(os.path.join(root, "tests", "traces"))
import unpack  # noqa: E402

public = os.path.join(unpack.REFERENCE, "public")
failures = []

# Damaged traces: the exit code is 3, and stderr has this sentence after the file's name.
DAMAGE = {
    "killed": "packet 1 (count 397) at byte 4096: unknown event id 31 at byte 5259; 26 bytes skipped",
    "truncated": "packet 2 (count 90) at byte 65536: the input ends inside the packet at byte 90001; 22 bytes skipped",
}


def fail(what):
    failures.append(what)
    print("FAILED", what)


def read(path):
    return lzma.open(path).read() if path.endswith(".xz") else open(path, "rb").read()


def dump(data, *options):
    """Dump DATA from a file and through a pipe, which must be the same. Return exit code, lines,
    stderr."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        whole = subprocess.run([mprofctl, "dump", file.name, *options], capture_output=True)
        piped = subprocess.run([mprofctl, "dump", "-", *options], input=data, capture_output=True)
        said = whole.stderr.decode().replace(file.name, "NAME")
    if whole.stdout != piped.stdout or whole.returncode != piped.returncode:
        fail("file and pipe differ")
    if said != piped.stderr.decode().replace("standard input", "NAME"):
        fail("the messages for file and pipe differ")
    return whole.returncode, whole.stdout, said


def check_damage(name, code, said):
    want = "mprofctl: NAME: %s\n" % DAMAGE[name] if name in DAMAGE else ""
    if code != (3 if name in DAMAGE else 0):
        fail("%s: exit code %d" % (name, code))
    if said != want:
        fail("%s: stderr is %r" % (name, said))


ESCAPE = re.compile(rb"\\(\d{3}|.)", re.S)
SIMPLE = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"b": b"\b"}


def unescape(text):
    """Undo OCaml's %S."""

    def one(match):
        code = match.group(1)
        return bytes([int(code)]) if len(code) == 3 else SIMPLE.get(code, code)

    return ESCAPE.sub(one, text)


def escape(text):
    """Escape a text as mprofctl must. The strings of the reference have no unusual characters
    except controls."""
    out = []
    for char in text.decode("utf-8", "surrogateescape"):
        if char in '"\\':
            out.append("\\" + char)
        elif char.isprintable():
            out.append(char)
        else:
            out.extend("\\x%02x" % byte for byte in char.encode("utf-8", "surrogateescape"))
    return "".join(out).encode()


STRING = re.compile(rb'^(.*? (?:exn|label|counter)=")(.*)"$', re.S)


def oracle_lines(path):
    """Return the loader's lines, with strings as mprofctl writes them."""
    for line in read(path).split(b"\n"):
        match = STRING.match(line)
        yield match.group(1) + escape(unescape(match.group(2))) + b'"' if match else line


def same(ours, theirs):
    """Return whether two lines are equal. The loader prints Unknown for types that mprofctl names."""
    if ours == theirs:
        return True
    return re.sub(rb"type=(Stream|Mutex)$", b"type=Unknown", ours) == theirs


def check_oracle(path):
    base = re.sub(r"\.ctf(\.xz)?$", "", path)
    name = os.path.basename(base)
    code, out, said = dump(read(path))
    check_damage(name, code, said)
    if name == "truncated":  # the loader refuses this trace; mprofctl prints the whole events of its three packets
        whole = dump(read(base.replace("truncated", "wrapped") + ".ctf"))[1].splitlines()
        ours = out.splitlines()
        if len(ours) != 2598 or not set(ours) <= set(whole):
            fail("truncated: %d events, or some that wrapped.ctf does not have" % len(ours))
        return
    ours, theirs = out.split(b"\n"), list(oracle_lines(base + ".viewer-events.txt.xz"))
    if len(ours) != len(theirs):
        fail("%s: %d lines and not %d" % (name, len(ours), len(theirs)))
    for number, (mine, wanted) in enumerate(zip(ours, theirs), 1):
        if not same(mine, wanted):
            fail("%s: line %d is %r and not %r" % (name, number, mine, wanted))
            break


def check_own(path):
    name = os.path.basename(path)[: -len(".ctf.xz")]
    code, out, said = dump(read(path))
    check_damage(name, code, said)
    if out != read(path[: -len(".ctf.xz")] + ".dump.txt.xz"):
        fail("%s: not the dump that it was" % name)
    check_json(name, out, dump(read(path), "--json")[1])


def check_json(name, text, objects):
    """Check that each line of --json is an object of the same event with the same fields."""
    lines, objects = text.decode().splitlines(), objects.decode().split("\n")[:-1]
    if len(lines) != len(objects):
        fail("%s: %d lines of text and %d of JSON" % (name, len(lines), len(objects)))
    for line, written in zip(lines, objects):
        event = json.loads(written)
        time = int(event["time_ns"])
        word = "%d.%09d %s" % (time // 10**9, time % 10**9, event["event"])
        for key, value in list(event.items())[2:]:
            if key == "duration_ns":
                key, value = "duration", "%d.%09d" % divmod(int(value), 10**9)
            elif isinstance(value, str) and key != "type":
                value = '"%s"' % escape(value.encode()).decode()
            word += " %s=%s" % (key, value)
        if word != line:
            fail("%s: JSON %r is not %r" % (name, written, line))
            return


def packets(data):
    """Return (offset, count, content bytes) of each packet in file order."""
    at = 0
    while at < len(data):
        size, count, content = struct.unpack_from("<IHI", data, at + 20)
        yield at, count, content // 8
        at += size // 8


def check_long(path):
    """Check a long archive with one packet per count, whole and in two halves: as many events as
    lines, in file order."""
    data = read(path)
    code, out, said = dump(data)
    if code or said:
        fail("%s: exit code %d: %s" % (path, code, said))
    middle = [at for at, _, _ in packets(data)][len(list(packets(data))) // 2]
    if dump(data[:middle])[1] + dump(data[middle:])[1] != out:
        fail("%s: its halves do not make the whole" % path)


def check_live(directory):
    """Check snapshots of a ring that is being written: each dump has at least the events known to
    be good."""
    with open(os.path.join(directory, "match.jsonl")) as file:
        rows = [json.loads(line) for line in file]
    for row in rows:
        name = row.get("snapshot") or row.get("file") or row.get("snap")
        data = read(os.path.join(directory, name if name.endswith(".ctf") else name + ".ctf"))
        code, out, said = dump(data)
        good = sum(packet["good_events"] for packet in row["packets"])
        if code not in (0, 3) or out.count(b"\n") < good:
            fail("%s: exit code %d, %d events, %d are good" % (name, code, out.count(b"\n"), good))


if part == "own":
    for trace in sorted(glob.glob(os.path.join(root, "tests/traces/*.ctf.xz"))):
        check_own(trace)
elif part == "public":
    if not os.path.isdir(public):
        print("SKIP: there are no published traces at %s" % public)
        sys.exit(77)
    for trace in sorted(glob.glob(public + "/*.ctf*")):
        check_oracle(trace)
else:
    reference = unpack.scratch("rings", "live", "live-slow")
    for trace in sorted(glob.glob(reference + "/*.ctf")):
        check_oracle(trace)
    for directory in "live", "live-slow":
        check_long(os.path.join(reference, directory, "truth.ctf"))
        check_live(os.path.join(reference, directory))
sys.exit(1 if failures else 0)
