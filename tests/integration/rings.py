"""Write rings as guests write them, and read the events of CTF streams. Shared by the tests of the running daemons."""

import contextlib
import os
import struct
import threading
import time

HEADER = struct.Struct("<I16sIHI")
UUID = bytes.fromhex("05883b8d521a487bb397456ab150680c")
SWITCH = struct.Struct("<QBQ")
START = 30


def event(timestamp, thread=1):
    """Return a switch event of 17 bytes."""
    return SWITCH.pack(timestamp, 7, thread)


def header(room, count, content=0):
    return HEADER.pack(0xC1FC1FC1, UUID, room * 8, count, (START + content) * 8)


def image(bodies, rooms, first=0):
    """Return a ring of packets of ROOMS bytes. BODIES are the contents of its first packets, which
    are counted from FIRST."""
    parts = []
    for index, room in enumerate(rooms):
        body = bodies[index] if index < len(bodies) else b""
        parts.append((header(room, (first + index) & 0xFFFF, len(body)) + body).ljust(room, b"\0"))
    return b"".join(parts)


def rooms(size, n):
    return [size // n] * (n - 1) + [size - (n - 1) * (size // n)]


def small_ring(base=1000, n=10, size=4096, packets=4):
    """Return a ring of N events that was never full."""
    return image([b"".join(event(base + i, i) for i in range(n))], rooms(size, packets))


def newest(path, packets=4):
    """Return the highest count in the headers of a ring: the count of the packet that is being
    filled."""
    with open(path, "rb") as f:
        sizes = rooms(os.fstat(f.fileno()).st_size, packets)
        return max(HEADER.unpack(os.pread(f.fileno(), START, sum(sizes[:i])))[3] for i in range(packets))


class Ring:
    """A ring file that the test writes event by event, in the recorder's order, and keeps open."""

    def __init__(self, path, size=4096, packets=4, make=True, base=1_000_000):
        self.rooms, self.base = rooms(size, packets), base
        # A new file appears whole: the first packets of a half-written ring are a ring, too.
        new = make and not os.path.exists(path)
        written = f"{os.path.dirname(path)}/.{os.path.basename(path)}.new" if new else path
        self.file = open(written, "w+b" if make else "r+b", buffering=0)
        self.sequence = self.n = 0
        self.used = START
        self.written = []
        if make:
            self.file.write(image([], self.rooms))
        if new:
            os.rename(written, path)

    def add(self, n):
        """Add N events. Their threads count from 0."""
        for _ in range(n):
            slot = self.sequence % len(self.rooms)
            if self.used + 17 >= self.rooms[slot]:
                self.sequence, self.used = self.sequence + 1, START
                slot = self.sequence % len(self.rooms)
                self._put(slot, 26, struct.pack("<I", START * 8))
                self._put(slot, 24, struct.pack("<H", self.sequence & 0xFFFF))
            self.written.append((self.base + self.n, self.n))
            self._put(slot, self.used, event(self.base + self.n, self.n))
            self.used += 17
            self._put(slot, 26, struct.pack("<I", self.used * 8))
            self.n += 1

    def add_packet(self):
        """Add events up to the end of the current packet, and one event of the next packet, which
        proves the current one."""
        sequence = self.sequence
        while self.sequence == sequence:
            self.add(1)

    def add_slowly(self, n):
        """Add events so slowly that a collector that is not late sees each event as it comes. The last event of a ring at rest
        cannot be proven; if the collector is late, nothing that came since its last look can."""
        for _ in range(n):
            self.add(1)
            time.sleep(0.005)

    @contextlib.contextmanager
    def writing(self):
        """Add an event now and then until the end of the block, so that earlier ones are proven, however late the collector looks."""
        ends = threading.Event()

        def write():
            while not ends.wait(0.02):
                self.add(1)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            yield
        finally:
            ends.set()
            writer.join()

    def put_size(self):
        """Store the size of the current packet, which the test has changed."""
        self._put(self.sequence % len(self.rooms), 26, struct.pack("<I", self.used * 8))

    def _put(self, slot, at, data):
        os.pwrite(self.file.fileno(), data, sum(self.rooms[:slot]) + at)

    def close(self):
        self.file.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def events_of(stream):
    """Return (timestamp, thread) of the switches in a CTF stream."""
    found, at = [], 0
    while at < len(stream):
        _, _, size, _, content = HEADER.unpack_from(stream, at)
        body = stream[at + START : at + content // 8]
        found += [(time, thread) for time, _, thread in SWITCH.iter_unpack(body)]
        at += size // 8
    return found
