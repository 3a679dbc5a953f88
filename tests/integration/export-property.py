"""Send random models through recorder, ring, collector, HTTP and decoder: export-property.py
BUILD-DIRECTORY [N [FIRST]]

The output must be the events of the calls, computed here without the recorder, and the slow model
of model-property.py of these events. Each export format, read back by its reader, must hold them
too. Most rings hold all events, so nothing may be missing. In some rings the writer wraps and the
reader has to keep up; missing events are counted there.
"""

import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile

from daemons import Daemons, program
from exported import FIELDS, TYPES, babeltrace, bt_differ, differ, monotonic, read_csv, read_json

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = "creates read fulfills fails becomes label increase switch gc signal try_read counter read_later signal_noswitch".split()
SUSPEND = 14
TEXTS = [b"name", b"__should_resolve", b"", b"request 7", b"\xff\x01", b"\xed\xa0\x80", b'"a,b"\r\n', b"=1+1", b"'x", "\u202eé\U0001f42b".encode()]
TEXTS += [b"x" * 900, b"\xc3" * 700]
COUNTERS = [b"a", b"buf#1", b"buf#2", b"tcp-to-ip", b"#", b"", b"\xfe"]


def slow_model():
    """Load model-property.py as a module."""
    path = list(sys.path)
    spec = importlib.util.spec_from_file_location("model_property", os.path.join(HERE, "model-property.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.path[:] = path
    return module


class Scenario:
    """Random calls, and their events: (time, id, context, number, type, text)."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.laps = seed % 5 == 4
        self.time = self.r.choice([5, 10**9, 2**40])
        self.steps = self.r.choice([[0, 1], [1, 50, 900], [0, 0, 3000]])
        self.wild = self.r.randrange(3) == 0
        self.known, self.current = [0], -1
        self.calls, self.events = [], []
        for _ in range(self.r.choice([1, 20, 150, 600]) if not self.laps else 900):
            self.call()
        while not self.events:  # a call may add no event
            self.call()

    def thread(self):
        if self.wild and not self.r.randrange(8):
            return self.r.choice([-1, -2, 2**63 - 1, -(2**63), self.r.getrandbits(64) - 2**63])
        return self.r.choice(self.known[-12:] if self.r.randrange(6) else self.known)

    def tell(self, kind, a, b=0, text=None):
        self.calls.append(f"{self.time} {kind} {a} {b} {text.hex() if text else '-'}\n")

    def record(self, kind, context=0, number=0, kind_of=0, text=None):
        self.events.append((self.time, kind, context, number, kind_of, text))

    def call(self):
        r = self.r
        self.time += r.choice(self.steps) * r.randrange(1, 4)
        kind = r.choices(range(15), [8, 7, 6, 2, 3, 3, 1, 5, 1, 2, 5, 2, 1, 1, 2])[0]
        a, b = self.thread(), self.thread()
        if kind == 0:
            a = self.thread() if self.wild and not r.randrange(5) else max(self.known) + 1
            b = r.randrange(20)
            self.known += [a] if 0 <= a < 2**62 else []
            self.record(kind, self.current, a, b)
            self.tell(kind, a, b)
        elif kind in (2, 3):
            text = r.choice(TEXTS) if kind == 3 else None
            self.record(kind, self.current, a, 0, text)
            self.tell(kind, a, 0, text)
        elif kind == 5:
            text = r.choice(TEXTS)
            self.record(kind, a, 0, 0, text)
            self.tell(kind, a, 0, text)
        elif kind in (6, 11):
            a, text = r.choice([1, -1, r.randrange(-1000, 1000), r.getrandbits(64) - 2**63 if self.wild else 7]), r.choice(COUNTERS)
            self.record(kind, self.current, a, 0, text)
            self.tell(kind, a, 0, text)
        elif kind == 8:
            a = r.choice([0, 100, r.getrandbits(63)])
            self.record(kind, 0, a)
            self.tell(kind, a)
        elif kind in (7, SUSPEND):
            a = -1 if kind == SUSPEND else a
            if kind == SUSPEND or a != self.current:
                self.record(7, a)
            self.current = a
            self.tell(kind, a)
        else:
            self.current = a if kind in (1, 9) else self.current
            if kind != 1 or a != b:  # a thread that reads itself adds no event
                self.record(kind, a, b)
            self.tell(kind, a, b)

    def bytes(self):
        return sum(40 + len(event[5] or b"") for event in self.events)

    def script(self):
        """Return the calls as text. If the writer wraps, it rests after each quarter of a packet."""
        if not self.laps:
            return "".join(self.calls)
        return "".join(call + (".\n" if number % 8 == 7 else "") for number, call in enumerate(self.calls))

    def json(self):
        """Return the events as `dump --json` prints them."""
        for time, kind, context, number, kind_of, text in self.events:
            acts, other, amount, said = FIELDS[NAMES[kind]]
            one = {"time_ns": str(time), "event": NAMES[kind]}
            if acts:
                one[acts] = context
            if other:
                one[other] = number
            if amount:
                one[amount] = str(number) if amount == "duration_ns" else number
            if kind == 0:
                one["type"] = TYPES[kind_of]
            if said:
                one[said] = replaced(text)
                if one[said].encode() != text:
                    one[said + "_hex"] = text.hex()
            yield one


def replaced(text):
    """Replace each byte that is no UTF-8 by a replacement character."""
    out, at = "", 0
    while at < len(text):
        for n in (1, 2, 3, 4):
            try:
                out += text[at : at + n].decode()
                at += n
                break
            except UnicodeDecodeError:
                pass
        else:
            out += "\ufffd"
            at += 1
    return out


class Check:
    def __init__(self, d, seed, slow):
        self.d, self.seed, self.slow = d, seed, slow
        self.scenario = Scenario(seed)
        self.name = f"scenario-{seed}"
        self.writer = None

    def begin(self):
        """Start the writer, which makes its ring. All rings exist at once."""
        scenario = self.scenario
        size = 16384 if scenario.laps else max(4096, 2 * scenario.bytes() + 4096)
        packets = 8 if scenario.laps else random.Random(self.seed).choice([2, 3, 4])
        command = [program("recite"), os.path.join(self.d.rings, self.name + ".ctf"), str(size // 8 * 8), str(packets)]
        self.writer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.writer.stdin.write(scenario.script())
        self.writer.stdin.close()

    def ctl(self, *arguments):
        command = [program("mprofctl"), "--host", f"unix:{self.d.socket}", *arguments]
        done = subprocess.run(command, capture_output=True, timeout=300)
        if done.returncode:
            raise AssertionError(f"{arguments}: exit code {done.returncode}: {done.stderr.decode()}")
        return done.stdout

    def finish(self):
        """Return the error, or None."""
        said = self.writer.stdout.read()
        self.writer.stdout.close()
        if self.writer.wait():
            return "the writer failed"
        events = list(self.scenario.json())
        if int(said) != len(events):
            return f"{said.strip()} events were recorded and not {len(events)}"
        self.d.wait_ended(self.name)
        where = f"domain:{self.name}"
        got = [json.loads(line) for line in self.ctl("dump", where, "--json").splitlines()]
        lost = json.loads(self.ctl("stats", where, "--json"))["lost_packets"]
        if not self.scenario.laps and lost:
            return f"{lost} packets were lost of a ring that holds all"
        if lost:
            left = iter(events)
            wrong = None if all(one in left for one in got) else "something came that was not recorded, or in another order"
            print(f"{self.name}: {lost} packets were lost by the way, {len(got)} of {len(events)} events came")
        else:
            wrong = differ(got, events) or self.model()
        return wrong or self.exports(where, got, lost)

    def model(self):
        """Compare the model of the fetched trace with the slow model of the calls."""
        self.ctl("fetch", f"domain:{self.name}", "-o", self.name + ".fetched")
        with open(self.name + ".fetched", "rb") as file:
            mine, _ = self.slow.run(program("model-dump"), file.read())
        wanted = list(self.slow.Model(self.scenario.events, True).lines())
        return differ(mine, wanted)

    def exports(self, where, events, lost):
        for to in "ctf", "json", "csv", "chrome":
            self.ctl("export", where, "--to", to, "-o", f"{self.name}.{to}")
        document = read_json(self.name + ".json")
        wrong = differ([one for one in document["records"] if "event" in one], events)
        gaps = sum(one["gap"]["packets"] for one in document["records"] if "gap" in one)
        wrong = wrong or differ(list(read_csv(self.name + ".csv")), events)
        lines, missing = babeltrace(self.name + ".ctf")
        wrong = wrong or bt_differ(lines, monotonic(events))
        wrong = wrong or (None if gaps == missing == lost else f"{gaps}, {missing} and {lost} packets are lost")
        return wrong or self.chrome(events)

    def chrome(self, events):
        found = read_json(self.name + ".chrome")["traceEvents"]
        told = [one for one in found if one["ph"] in "bnX" and one["args"]["event"] in NAMES]
        counted = sum(one["ph"] == "C" for one in found)
        if len(told) + counted != len(events):
            return f"of {len(events)} events Chrome's has {len(told)} and {counted} of counters"
        if sorted(one["id"] for one in found if one["ph"] == "b") != sorted(one["id"] for one in found if one["ph"] == "e"):
            return "not every slice that begins ends"
        return None


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    slow, failed = slow_model(), 0
    sys.setrecursionlimit(10000)
    with tempfile.TemporaryDirectory(prefix="mprof.") as directory:
        os.chdir(directory)
        with Daemons() as d:
            d.start()
            checks = [Check(d, seed, slow) for seed in range(first, first + count)]
            for check in checks:
                check.begin()
            for check in checks:
                wrong = check.finish()
                if wrong:
                    failed += 1
                    print(f"seed {check.seed}: {wrong}")
        os.chdir("/")
    print(f"{count} traces, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
