"""Compare decoder and model with a slow model, over random traces: model-property.py MODEL-DUMP [N
[FIRST]]. N is 160, or 24 with MPROF_BRIEF.

A recorder could write half of the traces; the others contradict themselves in every known way. The
slow model uses lists and quadratic time, and follows the rules of docs/viewer-differences.md and of
the viewer word for word.
"""

import sys

sys.path.pop(0)  # the scripts beside this one are no modules, though one may have a module's name

import json
import os
import random
import struct
import subprocess
import tempfile

UUID = bytes.fromhex("05883b8d521a487bb397456ab150680c")
TYPES = "Wait Task Bind Try Choose Pick Join Map Condition On_success On_failure On_termination On_any Ignore_result Async".split()
TYPES += "Promise Semaphore Switch Stream Mutex Place".split()
BINDS = {"Bind", "Try", "Map", "Ignore_result", "On_failure", "On_termination"}
NEVER = b"should-resolve thread never resolved"
TIME_MAX = 2**63 - 1


# Traces: (time, id, context, number, type, text)


def ids(r, chaos):
    """Return ids to choose from: counted up as a recorder does, or, for CHAOS, any numbers."""
    if chaos:
        return [r.choice([r.randrange(-3, 12), r.getrandbits(64) - 2**63, r.randrange(0, 400)]) for _ in range(r.randrange(2, 40))]
    return list(range(0, r.randrange(3, 60)))


class Maker:
    """Make a trace of about N events. An even seed keeps to what a recorder can write."""

    def __init__(self, seed, n):
        self.r = random.Random(seed)
        self.chaos = seed % 2
        self.pool = ids(self.r, self.chaos)
        self.time = self.r.choice([5, 10**9, 2**40])
        self.known = [0]
        self.sound = 0  # events since the last step of the clock
        self.resolved = set()
        self.steps = self.r.choice([[0, 1], [1, 50, 900], [0, 0, 3000]])
        self.events = [self.event() for _ in range(n)]

    def thread(self):
        if self.chaos:
            return self.r.choice([*self.pool, -1]) if self.r.randrange(12) else self.r.getrandbits(64) - 2**63
        return self.r.choice(self.known[-12:]) if self.r.randrange(6) else self.r.choice(self.known)

    def unresolved(self):
        """Return a thread to resolve; without chaos each only once."""
        if self.chaos:
            return self.thread()
        left = [thread for thread in self.known[-16:] if thread not in self.resolved] or [0]
        return self.r.choice(left)

    def child(self):
        if self.chaos and self.r.randrange(3):
            return self.thread()
        child = max(self.known) + 1 if not self.chaos else self.r.getrandbits(64) - 2**63
        self.known.append(child)
        return child

    def next_time(self):
        self.time += self.r.choice(self.steps) * self.r.randrange(1, 4)
        self.sound += 1
        if self.chaos and self.sound > 10 and not self.r.randrange(25):
            # The clock steps. A single time that is far from the others would be left out (schema/times.md).
            self.sound = 0
            self.time = self.r.choice([self.time - self.r.randrange(self.time), self.time + 10**6, self.r.randrange(1, 10**15)])
        return self.time

    def event(self):
        r = self.r
        kind = r.choices(range(14), [8, 7, 6, 2, 3, 3, 1, 5, 1, 2, 5, 2, 1, 1])[0]
        context, number, kind_of, text = self.thread(), 0, 0, None
        if kind == 0:
            number = self.child()
            kind_of = r.choice([0, 1, 2, 2, 2, 3, 7, 8, 13, r.randrange(20), r.randrange(256)])
        elif kind in (2, 3, 4):
            number = self.unresolved()
            self.resolved.add(number)
            if kind == 4:
                context, number = number, self.thread()
        elif kind in (1, 9, 10, 12, 13):
            number = self.thread()
        elif kind in (6, 11):
            number = r.choice([1, -1, r.randrange(-1000, 1000), (r.getrandbits(64) - 2**63) if self.chaos else 7])
        elif kind == 8:
            number = r.choice([0, 100, r.getrandbits(63)])
        if kind == 3:
            text = r.choice([b"Failure", b"", b"Not_found"])
        elif kind == 5:
            text = r.choice([b"__should_resolve", b"name", b"", b"\xff\x01", b"request %d" % r.randrange(50)])
        elif kind in (6, 11):
            text = r.choice([b"a", b"buf#1", b"buf#2", b"tcp-ackd-segs", b"tcp-to-ip", b"#", b""])
        return self.next_time(), kind, context, number, kind_of, text


def trace(events):
    body = b""
    for time, kind, context, number, kind_of, text in events:
        body += struct.pack("<QB", time, kind)
        if kind != 8:
            body += struct.pack("<q", context)
        if kind not in (5, 7):
            body += struct.pack("<q", number)
        if kind == 0:
            body += bytes([kind_of])
        if text is not None:
            body += text + b"\0"
    size = 8 * (30 + len(body))
    return struct.pack("<I16sIHI", 0xC1FC1FC1, UUID, size, 0, size) + body


# The slow model.


class Thread:
    def __init__(self, tid, start, kind, preexisting=False):
        self.tid, self.kind, self.preexisting = tid, kind, preexisting
        self.created = self.start = start
        self.end = None
        self.resolved = self.shown = False
        self.shown = True
        self.failure = self.becomes = self.row = None
        self.children, self.labels, self.interactions, self.activations = [], [], [], []  # newest last
        self.checked = 0
        self.first_checked = None
        self.placed = False


def name_of(kind):
    return TYPES[kind] if kind < len(TYPES) else "Unknown"


class Model:
    def __init__(self, events, simplify):
        self.zero = min(events[0][0], TIME_MAX)
        self.root = Thread(-1, self.zero, "Unknown", True)
        self.root.end = self.zero
        self.threads = [self.root]
        self.table = {}
        self.running = None
        self.expected = []
        self.counters = {}
        self.notes = {"recreated": 0, "cycles": 0, "late": 0, "refused": 0}
        last = back = 0
        for event in events:
            time = min(event[0], TIME_MAX)
            self.notes["late"] += time < last
            back = max(back, last - time)
            last = time
            self.root.end = max(self.root.end, time)
            self.apply(time, *event[1:])
        # If the clock went back by more than a second, the trace ends at the time of its last event.
        self.switch(last if back > 10**9 else self.root.end, None)
        self.finish(simplify)

    def replacement(self, thread):
        while thread.becomes:
            thread = thread.becomes
        return thread

    def get(self, tid):
        if tid == -1:
            return self.root
        if tid not in self.table:
            self.table[tid] = self.add(Thread(tid, self.zero, "Unknown", True), self.root)
        return self.replacement(self.table[tid])

    def add(self, thread, parent):
        self.threads.append(thread)
        parent.children.append(thread)
        return thread

    def switch(self, time, thread):
        if self.running and self.running[1] is thread:
            return
        if self.running:
            start, before = self.running
            end = time if before.end is None or before is self.root else min(time, before.end)
            before.activations.append([start, max(start, end)])
        self.running = (time, thread) if thread else None

    def apply(self, time, kind, context, number, kind_of, text):
        if kind == 0:
            parent = self.get(context)
            if number == -1:
                self.notes["refused"] += 1
                return
            self.notes["recreated"] += number in self.table
            self.table[number] = self.add(Thread(number, time, name_of(kind_of)), parent)
        elif kind in (1, 12, 10):
            if number == -1:
                return
            reader, source = self.get(context), self.get(number)
            if kind == 10:
                reader.interactions.append([time, "try_read", source])
                source.checked = time
                return
            if kind == 1:
                self.switch(time, reader)
            if reader.interactions and reader.interactions[-1][1:] == ["try_read", source]:
                reader.interactions.pop()
            reader.interactions.append([time, "read", source])
        elif kind in (2, 3):
            resolver, thread = self.get(context), self.get(number)
            if thread is self.root:
                self.notes["refused"] += 1
                return
            resolver.interactions.append([time, "resolve", thread])
            thread.failure, thread.end, thread.resolved = text, time, True
        elif kind == 4:
            thread, other = self.get(context), self.get(number)
            if thread is self.root:
                self.notes["refused"] += 1
            elif thread is other:
                self.notes["cycles"] += 1
            else:
                thread.end, thread.resolved, thread.becomes = time, True, other
                if self.running and self.running[1] is thread:
                    self.switch(time, other)
        elif kind == 5:
            if context == -1:
                return
            thread = self.get(context)
            if text == b"__should_resolve":
                self.expected.append(thread)
            else:
                thread.labels.append([time, text])
        elif kind in (6, 11):
            thread, values = self.get(context), self.counters.setdefault(text, [])
            before = values[-1] if values else 0
            value = max(-(2**63), min(2**63 - 1, before + number)) if kind == 6 else number
            values.append(value)
            thread.labels.append([time, text + b"%+d" % (value - before)])
        elif kind == 7:
            self.switch(time, self.get(context))
        elif kind in (9, 13):
            sender, receiver = self.get(number), self.get(context)
            if kind == 9:
                self.switch(time, receiver)
            sender.interactions.append([time, "signal", receiver])
            receiver.checked = time

    def last_event(self, thread):
        times = [thread.start, thread.checked]
        times += [child.start for child in thread.children[-1:]]
        times += [label[0] for label in thread.labels[-1:]]
        times += [interaction[0] for interaction in thread.interactions[-1:]]
        times += [activation[1] for activation in thread.activations[-1:]]
        return max(times)

    def finish(self, simplify):
        for thread in map(self.replacement, self.expected):
            if not thread.resolved and thread is not self.root:
                thread.failure, thread.end = NEVER, self.root.end
        for thread in self.threads:
            if thread.end is None:
                thread.end = min(self.last_event(thread) + 1000, TIME_MAX)
            thread.end = max(thread.end, thread.start)
        for thread in self.threads:
            thread.children.reverse()
            for time, kind, other in thread.interactions:
                if kind == "try_read":
                    other.first_checked = min(time, other.first_checked if other.first_checked is not None else time)
        self.parents = {child: thread for thread in self.threads for child in thread.children}
        if simplify:
            self.visited = set()
            self.simplify(self.root)
            self.break_circles()
        self.root.children.sort(key=lambda thread: thread.tid)
        self.rows = {}
        for thread in self.root.children:
            self.place(thread, self.root)

    def wake(self, thread):
        if thread.kind not in BINDS or not thread.interactions:
            return None
        time, kind, other = thread.interactions[0]
        label = thread.labels[0][0] if thread.labels else thread.end if thread.failure is not None else None
        if label is not None and label < time:
            return None
        if kind != "read" or (thread.first_checked is not None and time >= thread.first_checked) or time > thread.end:
            return None
        return time, other

    def simplify(self, parent):
        """Simplify depth first. Children moved to a thread that is being visited come before its
        own."""
        self.visited.add(parent)
        own, parent.children, kept, moved = parent.children, [], [], []
        for thread in own:
            if thread not in self.visited:
                self.simplify(thread)
            wake = None if parent.becomes is thread else self.wake(thread)
            if wake:
                thread.shown, thread.start = False, wake[0]
            if wake and wake[1] is not parent and wake[1] is not thread:
                moved.append((thread, wake[1]))
            else:
                kept.append(thread)
        parent.children += kept
        for thread, other in reversed(moved):
            other.children.insert(0, thread)
            self.parents[thread] = other

    def reach(self, thread, reached):
        reached.add(thread)
        for child in thread.children:
            self.reach(child, reached)

    def break_circles(self):
        reached = set()
        self.reach(self.root, reached)
        for thread in self.threads:
            if thread in reached:
                continue
            above = []
            while thread not in above:
                above.append(thread)
                thread = self.parents[thread]
            self.parents[thread].children.remove(thread)
            self.parents[thread] = self.root
            self.root.children.insert(0, thread)
            self.reach(thread, reached)

    @staticmethod
    def overlap(thread, placed):
        """Return whether PLACED is in the way of THREAD. The answer depends on which of them has no
        length."""
        if thread.start == thread.end:
            return placed.start <= thread.start < placed.end
        if placed.start == placed.end:
            return thread.start <= placed.start <= thread.end
        return placed.start < thread.end and placed.end > thread.start

    def place(self, thread, parent):
        others = [other for other in self.rows if self.overlap(thread, other)]
        row = 0
        if parent is not self.root:
            beside = self.overlap(thread, parent) and parent.becomes is not thread
            row = parent.row + beside
        while any(self.in_way(other, parent, row) for other in others):
            row += 1
        thread.row = self.rows[thread] = row
        for child in thread.children:
            self.place(child, thread)

    def in_way(self, other, parent, row):
        if other.row != row:
            return False
        return parent is self.root or row > parent.row or other.tid > parent.tid

    def lines(self):
        """Return the lines that model-dump writes."""
        for thread in self.threads:
            yield {
                "tid": thread.tid,
                "type": thread.kind,
                "start": thread.start - self.zero,
                "created": thread.created - self.zero,
                "end": thread.end - self.zero,
                "failure": None if thread.failure is None else list(thread.failure),
                "becomes": thread.becomes.tid if thread.becomes else None,
                "creates": [child.tid for child in thread.children],
                "labels": [[time - self.zero, list(text)] for time, text in thread.labels],
                "interactions": [[time - self.zero, kind, other.tid] for time, kind, other in thread.interactions],
                "activations": [[start - self.zero, end - self.zero] for start, end in thread.activations],
                "row": thread.row,
                "resolved": thread.resolved,
                "simplified": not thread.shown,
                "preexisting": thread.preexisting,
            }


def run(model_dump, data, *options):
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        done = subprocess.run([model_dump, *options, file.name], capture_output=True, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    for line in lines[:-1]:
        flags = line.pop("flags")
        line.update(resolved=bool(flags & 4), simplified=bool(flags & 64), preexisting=bool(flags & 2))
    return lines[:-1], lines[-1]


def check(seed, model_dump):
    """Return whether both models of the trace of SEED are equal."""
    sys.setrecursionlimit(10000)
    maker = Maker(seed, random.Random(seed).choice([1, 30, 150, 400]))
    for options in (), ("-r",):
        mine, rest = run(model_dump, trace(maker.events), *options)
        slow = Model(maker.events, not options)
        wanted = list(slow.lines())
        if mine != wanted:
            for got, want in zip(mine, wanted):
                for key in want:
                    if got[key] != want[key]:
                        print(f"seed {seed} {options}: thread {want['tid']}: {key} is {got[key]} and not {want[key]}")
                        return False
            print(f"seed {seed} {options}: {len(mine)} threads and not {len(wanted)}")
            return False
        values = {bytes(c["name"]): c["values"] for c in rest["counters"]}
        if values != slow.counters or list(values) != sorted(values):
            print(f"seed {seed}: counters are {values} and not {slow.counters}")
            return False
        notes = [slow.notes[key] for key in ("recreated", "cycles", "late")] + [slow.notes["refused"]]
        if rest["notes"][:3] + rest["notes"][4:5] != notes or rest["notes"][6]:
            print(f"seed {seed}: notes are {rest['notes']} and not {notes}")
            return False
    return True


if __name__ == "__main__":
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 24 if os.environ.get("MPROF_BRIEF") else 160
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    failed = [seed for seed in range(first, first + count) if not check(seed, sys.argv[1])]
    print(f"{count} traces, {len(failed)} failed")
    sys.exit(1 if failed else 0)
