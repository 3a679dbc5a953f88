"""Check that each packet is of one incarnation: incarnations.py LOG STREAM.ctf...

LOG is the log of writer-hostile --mode pattern; the streams are the archive of its ring. The bytes
of each packet must be those of exactly one incarnation of the log, from any record on. Prints a
line of JSON. Exits with 1 if a packet is of none or of several, with 2 if there was nothing to
check. A whole packet whose count differs from the log is counted apart: a clock that goes back lets
an old incarnation pass for a new one.
"""

import json
import struct
import sys

HEADER = struct.Struct("<I16sIHI")
LOG = struct.Struct("<QQIIII")
RECORD = 42
U64 = 2**64 - 1


def pattern(incarnation, first, start, length):
    """Return LENGTH bytes of an incarnation from record START on."""
    number = struct.pack("<BQQ", 11, incarnation, incarnation * 0x9E3779B97F4A7C15 & U64) + b"%016x\0" % incarnation
    records = range(start, start + (length + RECORD - 1) // RECORD)
    return b"".join(struct.pack("<Q", first + k) + number for k in records)[:length]


def packets(data):
    at = 0
    while at < len(data):
        magic, _, size, count, content = HEADER.unpack_from(data, at)
        if magic != 0xC1FC1FC1 or size % 8 or content % 8 or not 240 <= content <= size or at + size // 8 > len(data):
            raise ValueError(f"no packet at byte {at}")
        yield count, data[at + 30 : at + content // 8]
        at += size // 8


def judge(log, count, body):
    """Return None, or the error of a packet. A packet may begin inside a record if a size was
    wrong; a short packet proves nothing."""
    fault = "of no incarnation"
    for shift in range(min(RECORD, max(0, len(body) - 17))):
        time, kind, incarnation = struct.unpack_from("<QBQ", body, shift)
        if kind != 11 or incarnation not in log:
            continue
        first, wanted = log[incarnation]
        start = time - first - (shift > 0)
        if not 0 <= start < 2**24:
            continue
        if body == pattern(incarnation, first, start, len(body) + RECORD)[-shift % RECORD :][: len(body)]:
            return None if count == wanted else "count"
        fault = "mixed"
    return fault if len(body) > 17 + RECORD else None


def main(log_path, *streams):
    with open(log_path, "rb") as f:
        log = {row[0]: (row[1], row[2]) for row in LOG.iter_unpack(f.read())}
    result = {"packets": 0, "bytes": 0, "count": 0, "mixed": 0, "of no incarnation": 0}
    for path in streams:
        with open(path, "rb") as f:
            data = f.read()
        for index, (count, body) in enumerate(packets(data)):
            fault = judge(log, count, body)
            result["packets"] += 1
            result["bytes"] += len(body)
            if fault:
                result[fault] += 1
            if fault and fault != "count":
                print(f"{path}: packet {index}, count {count}, {len(body)} bytes: {fault}", file=sys.stderr)
    print(json.dumps(result))
    if result["mixed"] or result["of no incarnation"]:
        return 1
    return 0 if result["bytes"] else 2


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
