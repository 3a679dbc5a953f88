"""Read the Fuchsia trace format by its specification: records, tables, references. They become
slice events (see slice_events.py)."""

import struct

from slice_events import SliceEvent, Track

MAGIC = 0x0016547846040010
INSTANT, COUNTER, BEGIN, END, ASYNC_BEGIN, ASYNC_END, FLOW_BEGIN, FLOW_END = 0, 1, 2, 3, 5, 7, 8, 10


def bits(word, low, high):
    """Return the field [low .. high] of a word."""
    return word >> low & (1 << high - low + 1) - 1


class Record:
    """The words of a record, taken from the front."""

    def __init__(self, data, at):
        self.header = struct.unpack_from("<Q", data, at)[0]
        self.words = bits(self.header, 4, 15)
        assert self.words, "a record of no length"
        self.body = data[at + 8 : at + 8 * self.words]
        assert len(self.body) == 8 * (self.words - 1), "a record that is cut"
        self.at = 0

    def bits(self, low, high):
        return bits(self.header, low, high)

    def word(self):
        self.at += 8
        return struct.unpack_from("<Q", self.body, self.at - 8)[0]

    def stream(self, length):
        padded = (length + 7) // 8 * 8
        data = self.body[self.at : self.at + padded]
        assert len(data) == padded and not any(data[length:]), "a stream that is cut, or not padded with zeros"
        self.at += padded
        return data[:length].decode()

    def done(self):
        assert self.at == len(self.body), f"{len(self.body) - self.at} bytes left of a record"


class Reader:
    def __init__(self, data):
        assert len(data) % 8 == 0
        self.strings, self.threads, self.tracks, self.events = {}, {}, {}, []
        self.provider = self.ticks = None
        self.counts = {}
        at = 0
        while at < len(data):
            r = Record(data, at)
            kind = r.bits(0, 3)
            if at == 0:
                assert r.header == MAGIC
            else:
                self.take(kind, r)
            r.done()
            at += 8 * r.words
        assert self.provider is not None and self.ticks == 10**9

    def take(self, kind, r):
        assert kind == 0 or self.provider is not None, "a record of no provider"
        {0: self.metadata, 1: self.beginning, 2: self.string, 3: self.thread, 4: self.event, 7: self.object}[kind](r)

    def metadata(self, r):
        assert r.bits(16, 19) == 1 and r.bits(60, 63) == 0 and self.provider is None
        assert r.bits(20, 51) > 0
        self.provider = r.stream(r.bits(52, 59))

    def beginning(self, r):
        assert r.bits(16, 63) == 0 and self.ticks is None
        self.ticks = r.word()

    def string(self, r):
        index = r.bits(16, 30)
        assert index and r.bits(31, 31) == 0 and r.bits(47, 63) == 0
        self.strings[index] = r.stream(r.bits(32, 46))

    def thread(self, r):
        index = r.bits(16, 23)
        assert index and r.bits(24, 63) == 0
        self.threads[index] = (r.word(), r.word())

    def text(self, r, ref):
        if ref == 0:
            return ""
        if ref & 0x8000:
            assert ref & 0x7FFF <= 32000
            return r.stream(ref & 0x7FFF)
        return self.strings[ref]

    def arguments(self, r, n):
        found = {}
        for _ in range(n):
            start = r.at
            header = r.word()
            kind, size = bits(header, 0, 3), bits(header, 4, 15)
            key = self.text(r, bits(header, 16, 31))
            if kind == 6:
                found[key] = self.text(r, bits(header, 32, 47))
                assert bits(header, 48, 63) == 0
            else:
                assert kind in (3, 8) and bits(header, 32, 63) == 0, f"argument type {kind}"
                value = r.word()
                found[key] = value - (1 << 64) if kind == 3 and value >> 63 else value
            assert r.at - start == 8 * size, "an argument of another size"
        return found

    def object(self, r):
        kind, n = r.bits(16, 23), r.bits(40, 43)
        assert kind in (1, 2) and r.bits(44, 63) == 0
        koid = r.word()
        name = self.text(r, r.bits(24, 39))
        arguments = self.arguments(r, n)
        assert 0 < koid < 1 << 32
        process = arguments.pop("process") if kind == 2 else None
        assert not arguments
        if koid in self.tracks:
            assert self.tracks[koid].parent == process
            self.tracks[koid].name = name
        else:
            self.tracks[koid] = Track(koid, name, process, "process" if kind == 1 else "thread")

    def event(self, r):
        kind, n = r.bits(16, 19), r.bits(20, 23)
        time = r.word()
        ref = r.bits(24, 31)
        process, thread = self.threads[ref] if ref else (r.word(), r.word())
        category, name = self.text(r, r.bits(32, 47)), self.text(r, r.bits(48, 63))
        notes = self.arguments(r, n)
        last = r.word() if kind in (COUNTER, ASYNC_BEGIN, ASYNC_END, FLOW_BEGIN, FLOW_END) else None
        track = self.tracks[thread]
        assert track.parent == process and self.tracks[process].kind == "process"
        self.counts[kind] = self.counts.get(kind, 0) + 1
        self.put(kind, time, track, category, name, notes, last)

    def put(self, kind, time, track, category, name, notes, last):
        if kind == COUNTER:
            key = ("counter", track.parent, name)
            if key not in self.tracks:
                self.tracks[key] = Track(key, name, track.parent, "counter")
            self.events.append(SliceEvent("value", self.tracks[key], time, category, name, {}, None, notes["value"], thread=track))
        elif kind in (FLOW_BEGIN, FLOW_END):
            duration = self.events[-1]
            assert duration.kind == "begin" and duration.track is track and duration.time == time, "a flow outside of a duration"
            duration.flow = ("begins" if kind == FLOW_BEGIN else "ends", last)
        elif kind == END and self.events[-1].kind == "begin" and self.events[-1].flow:
            duration = self.events[-1]
            assert (duration.track, duration.time, duration.category, duration.name) == (track, time, category, name)
            duration.kind = "instant"
        else:
            assert kind in (INSTANT, BEGIN, END, ASYNC_BEGIN, ASYNC_END), f"event type {kind}"
            assert last is None or last == track.uuid
            word = {INSTANT: "instant", BEGIN: "begin", ASYNC_BEGIN: "begin"}.get(kind, "end")
            self.events.append(SliceEvent(word, track, time, category, name, notes, None, None, life=last is not None))


def read(data):
    return Reader(data)
