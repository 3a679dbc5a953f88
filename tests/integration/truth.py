"""Check that a fetched stream is true and complete: truth.py TRUTH STREAM [OPTION...]

TRUTH is a CTF stream of every packet that the writer finished, oldest first. It may be compressed
with xz. STREAM is the fetched CTF stream; several chunks of one packet may be packets of their own.

  --packets FILE   the answer of /v1/domains/{domain}/packets for the same run and stream (several: its pages): its gaps must cover
                   every missing event and no other, and its sequences must count as the truth does
  --begin COUNT    the stream must begin with the first event of the packet of this count, or a gap must say why not
  --until C:O      the writer got to byte O of packet C of the truth, and no further
  --ended          the writer is gone: the packets' "cut" must cover what is missing at the end
  --torn           the writer was killed between the halves of a size, which is then up to 8 KiB too small: no reader can tell
  --open C:O...    the writer was killed in events that begin there: the bytes behind may be anything if they belong to a tail
  --end-events N   instead: at most N of the last events may be missing
  --match FILE --snapshot NAME
                   instead of all these: the stream is one image of the reference's, and must have at least its good events

Prints a line of JSON. Exits with 1 if an event is false or missing, with 2 if there was nothing to
check.
"""

import argparse
import bisect
import json
import lzma
import re
import struct
import sys

HEADER = struct.Struct("<I16sIHI")
START = 30
TORN = 8192  # the value of the lowest bit of a size's upper half
# Bytes before the text or the end, and whether there is a text; by event id.
FIXED = {0: 26, 1: 25, 2: 25, 3: 25, 4: 25, 5: 17, 6: 25, 7: 17, 8: 17, 9: 25, 10: 25, 11: 25, 12: 25, 13: 25}
TEXT = {3, 5, 6, 11}
EXTRA = 14  # has a length
# One event, but for an extra, which has its length inside.
EVENT = re.compile(
    rb"(?s:.{8})(?:%s)" % b"|".join(rb"\x%02x(?s:.{%d})" % (id_, size - 9) + (rb"[^\0]*\0" if id_ in TEXT else b"") for id_, size in FIXED.items())
)


class Fault(Exception):
    pass


def event_ends(body):
    """Return the offset at which each event of a packet's content ends, header excluded."""
    ends, at = [], 0
    while at < len(body):
        found = EVENT.scanner(body, at)
        ends += [event.end() for event in iter(found.match, None)]
        at = ends[-1] if ends else at
        if at == len(body):
            break
        if at + 9 > len(body) or body[at + 8] not in FIXED and body[at + 8] != EXTRA:
            raise Fault(f"no event at byte {at + START}")
        end = at + (12 + int.from_bytes(body[at + 9 : at + 11], "little") if body[at + 8] == EXTRA else FIXED[body[at + 8]])
        if body[at + 8] in TEXT:
            end = body.find(b"\0", end) + 1
        if end <= at or end > len(body):
            raise Fault(f"the event at byte {at + START} is cut")
        ends.append(end)
        at = end
    return ends


def read(path):
    with (lzma.open if path.endswith(".xz") else open)(path, "rb") as f:
        return f.read()


def packets(data, what):
    """Return (count, content without header) of each packet."""
    at, result = 0, []
    while at < len(data):
        if at + START > len(data):
            raise Fault(f"{what}: cut in the header at byte {at}")
        magic, _, size, count, content = HEADER.unpack_from(data, at)
        if magic != 0xC1FC1FC1 or size % 8 or content % 8 or not 240 <= content <= size or at + size // 8 > len(data):
            raise Fault(f"{what}: no whole packet at byte {at}")
        result.append((count, data[at + START : at + content // 8]))
        at += size // 8
    return result


class Truth:
    def __init__(self, path, until):
        self.packets = packets(read(path), "truth")
        if until:
            count, offset = (int(part) for part in until.split(":"))
            index = next(i for i, packet in enumerate(self.packets) if packet[0] == count)
            del self.packets[index + 1 :]
            self.packets[index] = (count, self.packets[index][1][: offset - START])
        self.ends = [event_ends(body) for _, body in self.packets]
        self.indexes = {}  # of packets, by count
        for index, (count, _) in enumerate(self.packets):
            self.indexes.setdefault(count, []).append(index)

    def place(self, count, body):
        """Return where in the truth a fetched packet's events are: (index, from, to)."""
        for index in self.indexes.get(count, []):
            at = self.find(index, body)
            if at is not None:
                return index, at, at + len(body)
        raise Fault(self.difference(count, body))

    def find(self, index, events):
        """Return where in a packet of the truth these events are, or None."""
        body, ends = self.packets[index][1], self.ends[index]
        at = body.find(events)
        while at > 0:
            before = bisect.bisect_left(ends, at)
            if before < len(ends) and ends[before] == at:
                break
            at = body.find(events, at + 1)
        return at if at >= 0 else None

    def difference(self, count, body):
        at = 0
        for number, end in enumerate(event_ends(body)):
            if all(self.find(index, body[at:end]) is None for index in self.indexes.get(count, [])):
                return f"packet {count}: its event {number} at byte {at + START} is not in the truth: {body[at:end].hex()}"
            at = end
        return f"packet {count}: its events are true, but not in this order"

    def events(self, first, last):
        """Return the number of events from place FIRST (index, offset) to before LAST."""
        return sum(
            sum((index, at) >= first and (index, at) < last for at in [0, *self.ends[index][:-1]])
            for index in range(first[0], min(last[0], len(self.packets) - 1) + 1)
            if self.ends[index]
        )

    def after(self, place):
        """Return the place of the next event at or behind a place: the end of a packet is the
        beginning of the next."""
        index, at = place
        while index < len(self.packets) and at >= len(self.packets[index][1]):
            index, at = index + 1, 0
        return index, at


class Declared:
    """Gaps and cuts of /packets, as places of the truth."""

    def __init__(self, paths, truth, places):
        # The time of an event that was never finished may be there, and is not in the truth.
        self.unfinished = {int(place.split(":")[0]) for place in places or [] if int(place.split(":")[1]) == START}
        pages = [json.loads(read(path)) for path in paths]
        self.listed = [packet for page in pages for packet in page["packets"]]
        self.shift = self._shift(truth)
        self.cut = sum(packet["cut"] for packet in self.listed)
        self.gaps, seen = [], set()
        for gap in (gap for page in pages for gap in page["gaps"]):
            key = (gap["after_sequence"], gap["after_offset"], gap["next_sequence"])
            if key not in seen:
                seen.add(key)
                first = (gap["after_sequence"] - self.shift, max(gap["after_offset"], START) - START)
                self.gaps.append((truth.after(first), (gap["next_sequence"] - self.shift, 0), gap))

    def _shift(self, truth):
        """Return the number to subtract from each sequence to get an index into the truth."""
        first = {body[:8]: index for index, (_, body) in enumerate(truth.packets) if body}
        shifts = {}
        for packet in self.listed:
            if packet["first_timestamp"] is None:
                continue
            index = first.get(struct.pack("<Q", int(packet["first_timestamp"])))
            if index is None and packet["sequence"] & 0xFFFF in self.unfinished:
                continue
            if index is None:
                raise Fault(f"packet {packet['sequence']} begins with a timestamp that the truth does not have")
            shifts.setdefault(packet["sequence"] - index, packet["sequence"])
        if len(shifts) > 1:
            raise Fault(f"sequences do not count as the truth does, from packets {sorted(shifts.values())} on")
        return next(iter(shifts), 0)

    def check(self, truth, have):
        """Check that no gap covers an event that is there, and that each gap has the right size."""
        for first, last, gap in self.gaps:
            for index, at, end in have:
                if (index, at) < last and (index, end) > first and end > at:
                    raise Fault(f"a gap says that {gap['after_sequence']} to {gap['next_sequence']} is lost, but it is there")
            lost = sum(1 for index in range(first[0], last[0]) if index < len(truth.packets))
            # A packet that was overtaken behind its last event may have had more events. The
            # collector cannot know.
            doubt = first[1] == 0 and gap["after_offset"] > START
            lap = 65536 if gap["at_least"] else 2**63
            if last[0] <= len(truth.packets) and (gap["packets"] - lost) % lap not in ([0, 1] if doubt else [0]):
                raise Fault(f"the gap from {gap['after_sequence']} says {gap['packets']} packets, the truth {lost}")

    def covers(self, first, last):
        at = first
        for begin, end, _ in sorted(self.gaps, key=lambda gap: gap[:2]):
            if begin <= at < end:
                at = end
        return at >= last


def check_missing(truth, have, declared, begin):
    """Check that each event between the first and the last fetched one is there or declared. Return
    the number of events in gaps."""
    covered = 0
    place = (begin, 0) if begin is not None else have[0][:2]
    for index, at, end in have:
        if (index, at) < place:
            raise Fault(f"packet {truth.packets[index][0]}: byte {at + START} came twice, or too late")
        if (index, at) > place:
            missing = truth.events(place, (index, at))
            where = f"{missing} events from packet {truth.packets[place[0]][0]}, byte {place[1] + START} on"
            if not declared or not declared.covers(place, (index, at)):
                raise Fault(f"{where} are missing, and no gap declares them")
            covered += missing
        place = truth.after((index, end))
    return covered, place


def joined(stream):
    """Return the stream with the chunks of each packet as one packet."""
    result = []
    for count, body in stream:
        if result and result[-1][0] == count:
            result[-1] = (count, result[-1][1] + body)
        else:
            result.append((count, body))
    return result


def forget_open(stream, declared, places):
    """Remove from the stream the bytes behind events that were never finished. A tail may have
    them."""
    for count, offset in (map(int, place.split(":")) for place in places):
        index = max((i for i, packet in enumerate(stream) if packet[0] == count), default=None)
        if index is None or START + len(stream[index][1]) <= offset:
            continue
        tail = max((p["sequence"], p["tail_bytes"]) for p in declared.listed if p["sequence"] & 0xFFFF == count)[1]
        if START + len(stream[index][1]) - tail > offset:
            raise Fault(f"packet {count}: the event at byte {offset} was never finished, but the packet list calls it proven")
        stream[index] = (count, stream[index][1][: offset - START])


def check_end(truth, place, declared, arguments):
    """Check that events missing at the end are declared. Return their number."""
    end = (len(truth.packets), 0)
    missing = truth.events(place, end) if place < end else 0
    if not missing or (declared and declared.covers(place, end)):
        return missing
    if arguments.end_events is not None and missing > arguments.end_events:
        raise Fault(f"{missing} events are missing at the end, and not at most {arguments.end_events}")
    if arguments.ended:
        lack = sum(len(body) for _, body in truth.packets[place[0] :]) - place[1]
        if not declared or lack > declared.cut + (TORN if arguments.torn else 0):
            raise Fault(f"{missing} events ({lack} bytes) are missing at the end, and no cut says so")
    return missing


def check_snapshot(truth, stream, arguments):
    """Check an image: each event is true, and all its good events are there."""
    lines = (json.loads(line) for line in read(arguments.match).decode().splitlines())
    wanted = next(line["packets"] for line in lines if line["file"] == arguments.snapshot)
    shown = {}
    for count, body in stream:
        if body:
            truth.place(count, body)
            shown[count] = shown.get(count, 0) + len(event_ends(body))
    for packet in wanted:
        if shown.get(packet["count"], 0) < packet["good_events"]:
            raise Fault(f"packet {packet['count']}: {shown.get(packet['count'], 0)} of {packet['good_events']} good events")
    return {"packets": len(shown), "events": sum(shown.values())}


def check(arguments):
    truth = Truth(arguments.truth, arguments.until)
    stream = packets(read(arguments.stream), "stream")
    if arguments.match:
        return check_snapshot(truth, stream, arguments)
    declared = Declared(arguments.packets, truth, arguments.open) if arguments.packets else None
    if arguments.open:
        stream = joined(stream)
        forget_open(stream, declared, arguments.open)
    have = [truth.place(count, body) for count, body in stream if body]
    result = {"packets": len({index for index, _, _ in have}), "events": 0, "gaps": 0, "in_gaps": 0, "at_end": 0}
    result["events"] = sum(len(event_ends(body)) for _, body in stream)
    if not have:
        return result
    if declared:
        declared.check(truth, have)
        result["gaps"] = len(declared.gaps)
    begin = arguments.begin
    if begin is not None:
        begin = next(i for i, packet in enumerate(truth.packets) if packet[0] == begin)
    result["in_gaps"], place = check_missing(truth, have, declared, begin)
    result["at_end"] = check_end(truth, place, declared, arguments)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("truth")
    parser.add_argument("stream")
    parser.add_argument("--packets", nargs="+")
    parser.add_argument("--begin", type=int)
    parser.add_argument("--until")
    parser.add_argument("--ended", action="store_true")
    parser.add_argument("--open", nargs="*")
    parser.add_argument("--torn", action="store_true")
    parser.add_argument("--end-events", type=int)
    parser.add_argument("--match")
    parser.add_argument("--snapshot")
    try:
        result = check(parser.parse_args())
    except Fault as fault:
        print(f"truth: {fault}", file=sys.stderr)
        return 1
    print(json.dumps(result))
    return 0 if result["events"] else 2


if __name__ == "__main__":
    sys.exit(main())
