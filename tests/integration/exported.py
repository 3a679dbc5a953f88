"""Read the output of `mprofctl export` as other programs do, and make odd traces. Shared by the tests
of exports."""

import csv
import json
import re
import struct
import subprocess
import unittest

import babeltrace2

TYPES = "Wait Task Bind Try Choose Pick Join Map Condition On_success On_failure On_termination On_any Ignore_result Async".split()
TYPES += "Promise Semaphore Switch Stream Mutex Place".split()

# Fields of each event: the acting thread, the other thread, a number, a text.
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


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def plain(cell):
    """Remove the apostrophe in front of a text that may be a formula."""
    return cell[1:] if cell.startswith("'") else cell


def read_csv(path):
    """Return the rows as `dump --json` prints them."""
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
                one[text] = plain(row["text"])
                if row["text_hex"]:
                    one[text + "_hex"] = row["text_hex"]
            if row["stream"]:
                one["stream"] = plain(row["stream"])
            yield one


SHORT = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 27: "e", 34: '"', 39: "'", 92: "\\"}


def bt_text(one, key):
    """Return a text as babeltrace2 prints it."""
    raw = bytes.fromhex(one[key + "_hex"]) if key + "_hex" in one else one[key].encode()
    text = "".join("\\" + SHORT[c] if c in SHORT else "\\x%02x" % c if c < 32 or c == 127 else chr(c) for c in raw)
    return b'"' + text.encode("latin-1") + b'"'


def bt_line(one):
    """Return the line that babeltrace2 prints for an event."""
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


# Fields that the metadata names differently.
NAMES = {"main": "sleeper", "sender": "source"}
UNKNOWN = re.compile(rb"thread_type = \( <unknown> : container = \d+ \)")


def babeltrace(path):
    """Return babeltrace2's lines of PATH, with times of the guest's clock, and the number of packets
    that it reports as lost. Cycles do not contain the offset to wall time that the metadata may have.
    """
    if not babeltrace2.usable():
        raise unittest.SkipTest(babeltrace2.lacking())
    done = subprocess.run(["babeltrace2", "--clock-cycles", "--no-delta", path], capture_output=True, timeout=300)
    if done.returncode:
        raise AssertionError(f"babeltrace2 {path}: {done.stderr.decode()[-2000:]}")
    lost = sum(int(n) for n in re.findall(r"discarded (\d+) packets?", done.stderr.decode()))
    seconds = re.compile(rb"^\[(\d+)\]")
    lines = [seconds.sub(lambda m: b"[%d.%09d]" % divmod(int(m[1]), 10**9), line) for line in done.stdout.splitlines()]
    return lines, lost


def monotonic(events):
    """Make times monotonic: CTF's times do not go back, and stop at 2^63 - 1."""
    last, out = {}, []
    for one in events:
        stream, time = one.get("stream"), int(one["time_ns"])
        last[stream] = time if last.get(stream, 0) <= time < 2**63 else last.get(stream, 0)
        out.append({**one, "time_ns": str(last[stream])})
    return out


def differ(got, wanted):
    """Return the first difference of two lists as a sentence, or None."""
    for number, (a, b) in enumerate(zip(got, wanted)):
        if a != b:
            return f"number {number} is {str(a)[:2000]} and not {str(b)[:2000]}"
    return None if len(got) == len(wanted) else f"{len(got)} and not {len(wanted)}"


def bt_differ(lines, events):
    """Return the first difference in babeltrace2's lines. Version 2.0.4 prints the text of another
    event for an empty text."""
    got, wanted = [], []
    for line, one in zip(lines, events):
        want = bt_line(one)
        empty = b' = "" }' in want and FIELDS[one["event"]][3]
        got.append(re.sub(rb' = ".*" }$', b' = "" }', line) if empty else UNKNOWN.sub(b"thread_type = ?", line))
        wanted.append(want)
    return differ(got, wanted) or differ(lines[len(events) :], [])


UUID = bytes.fromhex("05883b8d521a487bb397456ab150680c")


def packet(count, *events):
    body = b"".join(events)
    bits = (30 + len(body)) * 8
    return struct.pack("<I16sIHI", 0xC1FC1FC1, UUID, bits, count, bits) + body


def event(time, number, *fields):
    """Return an event. Threads and amounts are numbers, a type a byte, a text bytes."""
    parts = [struct.pack("<QB", time, number)]
    for field in fields:
        parts.append(struct.pack("<q", field) if isinstance(field, int) else field)
    return b"".join(parts)


# Unusual texts: quotes, lines, escapes, formulas, no UTF-8, half of a surrogate, directions, a
# character outside of the first plane.
TEXTS = [b"", b'"', b'""', b"a,b;c", b"\r\n", b"\n", b"\t", b"\x01\x1b[31m\x7f", b"\\x41\\", b"=1+1", b"+1", b"-1", b"@x", b"'", b"'=1"]
TEXTS += ["＝1".encode(), "＠".encode(), b"\xff\xfe", b"a\xc3", b"\xed\xa0\x80", "\u202eabc\u2066".encode(), "\U0001f42b".encode(), b"</script>"]
TEXTS += ["\u2028".encode(), b"\xe2\x80", b"x" * 100_000, b"\xf0\x9f" * 3000, b'"' * 9000, "é".encode() * 9000]


def hostile():
    """Return a stream with all texts in all events that have one, numbers at their limits, ids that
    are used twice, and gaps."""
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
