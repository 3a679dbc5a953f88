"""Parse Perfetto traces by their bytes: tags, varints and lengths, with the numbers of Perfetto's
documentation instead of the project's .proto.

They become slice events (see slice_events.py).
"""

import subprocess

from slice_events import SliceEvent, Track

# Field numbers of TracePacket, TrackEvent, TrackDescriptor, InternedData, DebugAnnotation.
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
KINDS = {BEGIN: "begin", END: "end", INSTANT: "instant", COUNTER: "value"}
CLEARED, NEEDED = 1, 2


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            assert value < 1 << 64, "a varint of more than 64 bits"
            return value, at


def fields(data):
    """Yield (number, value) of a message: an integer, or bytes. Most varints have one byte: reading these here takes a quarter less time."""
    at, size = 0, len(data)
    while at < size:
        tag, at = data[at], at + 1
        if tag > 0x7F:
            tag, at = varint(data, at - 1)
        number, wire = tag >> 3, tag & 7
        assert number, "field 0"
        if wire == 1:
            value, at = int.from_bytes(data[at : at + 8], "little"), at + 8
        else:
            assert wire in (0, 2), f"wire type {wire}"
            value, at = data[at], at + 1
            if value > 0x7F:
                value, at = varint(data, at - 1)
        if wire == 2:
            length = value
            value, at = data[at : at + length], at + length
            assert len(value) == length, "a message that is cut"
        yield number, value


def message(data):
    """Return the fields of a message: number -> values."""
    found = {}
    for number, value in fields(data):
        found.setdefault(number, []).append(value)
    return found


def only(found, number, default=None):
    values = found.get(number, [default])
    assert len(values) == 1, f"field {number} is there {len(values)} times"
    return values[0]


def signed(value):
    return value - (1 << 64) if value >> 63 else value


class Reader:
    """A file: tracks by uuid, slice events in order, and clock snapshots."""

    def __init__(self, data):
        self.tracks, self.events, self.clocks = {}, [], []
        self.strings = {1: {}, 2: {}, 3: {}}
        self.packets = 0
        for number, packet in fields(data):
            assert number == 1, f"field {number} in a trace"
            self.packet(message(packet))

    def packet(self, p):
        assert set(p) <= {6, 8, 10, 11, 12, 13, 60, 87}, f"fields {sorted(p)} of a packet"
        assert len({6, 11, 60} & set(p)) == 1, "a packet of several kinds"
        assert only(p, 10) == 1, "another sequence"
        flags = only(p, 13)
        first = not self.packets
        assert flags & NEEDED
        assert bool(flags & CLEARED) == first and bool(only(p, 87, 0)) == first
        self.packets += 1
        if 12 in p:
            self.intern(message(only(p, 12)))
        if 60 in p:
            self.descriptor(message(only(p, 60)))
        if 11 in p:
            self.event(only(p, 8), message(only(p, 11)))
        if 6 in p:
            self.snapshot(message(only(p, 6)))

    def intern(self, data):
        for kind, entries in data.items():
            for entry in entries:
                e = message(entry)
                number, text = only(e, 1), only(e, 2).decode()
                assert number and number not in self.strings[kind], "a number twice"
                self.strings[kind][number] = text

    def descriptor(self, d):
        uuid, name = only(d, 1), only(d, 2).decode()
        assert uuid
        if uuid in self.tracks:
            self.tracks[uuid].name = name
            assert 3 not in d and 8 not in d
            return
        t = self.tracks[uuid] = Track(uuid, name, only(d, 5))
        if 3 in d:
            process = message(only(d, 3))
            t.kind, t.pid = "process", only(process, 1)
            assert only(process, 6).decode() == name and t.parent is None
            return
        assert self.tracks[t.parent].kind == "process", "a track below nothing"
        assert only(d, 15) == 2, "tracks of one name would be merged"
        if 8 in d:
            t.kind, t.scale = "counter", only(message(only(d, 8)), 7).decode()

    def event(self, time, e):
        kind = KINDS[only(e, 9)]
        track = self.tracks[only(e, 11)]
        assert (kind == "value") == (track.kind == "counter")
        name = None
        if 10 in e:
            name = self.strings[2][only(e, 10)]
        elif 23 in e:
            name = only(e, 23).decode()
        assert (name is None) == (kind in ("end", "value"))
        category = None if kind == "end" else self.strings[1][only(e, 3)]
        notes = {}
        for annotation in e.get(4, []):
            a = message(annotation)
            key = self.strings[3][only(a, 1)]
            notes[key] = only(a, 6).decode() if 6 in a else signed(only(a, 4))
        flow = None
        if 47 in e:
            flow = ("begins", only(e, 47))
        if 48 in e:
            assert flow is None
            flow = ("ends", only(e, 48))
        value = signed(only(e, 30)) if 30 in e else None
        assert (value is None) == (kind != "value")
        name = track.name if kind == "value" else name
        self.events.append(SliceEvent(kind, track, time, category, name, notes, flow, value))

    def snapshot(self, s):
        assert only(s, 2) == 3
        self.clocks.append({only(message(c), 1): only(message(c), 2) for c in s[1]})


def read(data):
    return Reader(data)


def protoc(data, proto):
    """Return protoc's output for DATA with the .proto: a list of packets, each as nested lists of
    (name, value)."""
    command = ["protoc", "--decode=perfetto.protos.Trace", "-I", proto, f"{proto}/perfetto.proto"]
    done = subprocess.run(command, input=data, capture_output=True, check=True)
    top, stack = [], []
    here = top
    for line in done.stdout.decode().splitlines():
        line = line.strip()
        if line.endswith("{"):
            inner = []
            here.append((line[:-2], inner))
            stack.append(here)
            here = inner
        elif line == "}":
            here = stack.pop()
        else:
            key, value = line.split(": ", 1)
            assert not key.isdigit(), f"protoc does not know field {key}"
            here.append((key, value))
    assert not stack
    return [inner for _, inner in top]
