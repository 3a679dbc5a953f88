"""The events of the lab's guests: counters whose value is a serial number and whose name is the
life of the ring.

All have one size, and each packet begins with the recorder's declaration, so an event's place in its
ring follows from its serial. Every claim about what is there, what is missing and what a gap says can
be checked without other data.
"""

import collections
import os
import re
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../integration"))
from truth import Fault, START, packets  # noqa: E402

EVENT = struct.Struct("<QBqq3s")
COUNTER = 11
DECLARATION = struct.Struct("<QBHBBBH")  # the event `extra` of the kind RECORDER, with dialect, version and flags
EXTRA, RECORDER = 14, 5
FIRST = START + DECLARATION.size  # place of a packet's first counter

Event = collections.namedtuple("Event", "packet offset life serial")
Said = collections.namedtuple("Said", "what stream life serial")


class Wrong(Exception):
    """An error in a stream."""


def body(stream):
    """Return the bytes of the events in a CTF stream."""
    return b"".join(content for _, content in packets(stream, "stream"))


def declares(content):
    """Return whether CONTENT begins with a declaration. A trace may begin in the middle of a packet."""
    return len(content) >= DECLARATION.size and DECLARATION.unpack_from(content)[1:4] == (EXTRA, DECLARATION.size - 12, RECORDER)


def events(path):
    """Return the events of a CTF stream, in which chunks of one packet follow one another."""
    with open(path, "rb") as f:
        try:
            parts = packets(f.read(), os.path.basename(path))
        except Fault as fault:
            raise Wrong(str(fault)) from fault
    found, offset, before = [], START, None
    for count, content in parts:
        if count != before:
            content, offset = (content[DECLARATION.size :], FIRST) if declares(content) else (content, START)
        if len(content) % EVENT.size:
            raise Wrong(f"packet {count} holds {len(content)} bytes of events, which is no whole number of them")
        for at in range(0, len(content), EVENT.size):
            _, kind, _, serial, name = EVENT.unpack_from(content, at)
            if kind != COUNTER or name[:1] != b"e" or name[2:] != b"\0":
                raise Wrong(f"packet {count}, byte {offset + at}: not an event of the lab: {content[at : at + EVENT.size].hex()}")
            found.append(Event(count, offset + at, int(name[1:2]), serial))
        offset, before = offset + len(content), count
    return found


def consecutive(found, where):
    for before, event in zip(found, found[1:]):
        if (event.life, event.serial) != (before.life, before.serial + 1):
            raise Wrong(f"{where}: serial {event.serial} (life {event.life}) after {before.serial} (life {before.life})")


def said(console):
    """Return a guest's console output, in order."""
    return [Said(match[1], int(match[2]), int(match[3]), int(match[4])) for match in re.finditer(r"^lab: (\w+) (\d+) (\d+) (\d+)\r?$", console, re.M)]


class Stream:
    """A fetched stream, and its answers of /packets."""

    def __init__(self, path, pages):
        self.events, self.pages, self.gaps, seen = events(path), pages, [], set()
        self.listed = [packet for page in pages for packet in page["packets"]]
        for gap in (gap for page in pages for gap in page["gaps"]):
            key = (gap["after_sequence"], gap["after_offset"], gap["next_sequence"])
            if key not in seen:
                seen.add(key)
                self.gaps.append(gap)
        self.per_packet = (self.listed[0]["room"] - FIRST) // EVENT.size if self.listed else 0

    def serial_at(self, sequence, offset):
        """Return the serial of the event at a place."""
        return 1 + sequence * self.per_packet + (max(offset, FIRST) - FIRST) // EVENT.size


def whole(stream, where):
    """Check that every serial from 1 to the last is in its place, once and in order, or in a gap of
    exactly the right size."""
    if not stream.events:
        raise Wrong(f"{where}: no event")
    if len({event.life for event in stream.events}) != 1:
        raise Wrong(f"{where}: events of several lives")
    for event in stream.events:
        if event.serial != stream.serial_at(event.packet, event.offset):
            raise Wrong(f"{where}: serial {event.serial} in packet {event.packet} at byte {event.offset} is not in its place")
    holes = [(a.serial + 1, b.serial) for a, b in zip(stream.events, stream.events[1:]) if b.serial != a.serial + 1]
    if stream.events[0].serial != 1:
        holes.insert(0, (1, stream.events[0].serial))
    for first, following in holes:
        if following <= first:
            raise Wrong(f"{where}: serial {following} comes after {first - 1}")
    declared = [(stream.serial_at(gap["after_sequence"], gap["after_offset"]), stream.serial_at(gap["next_sequence"], START)) for gap in stream.gaps]
    if sorted(holes) != sorted(declared):
        raise Wrong(f"{where}: the missing serials are {holes[:5]} (from, to before), but the gaps declare {declared[:5]}")
