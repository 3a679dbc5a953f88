"""Test the stream vcpu, Xen's view of a guest (schema/vcpu.md): vcpu.py BUILD-DIRECTORY [TEST…]"""

import contextlib
import json
import os
import re
import subprocess
import threading
import time

import sim
from daemons import QUIET, events_of, program
from turns import long

ON = QUIET + "[xen]\nvcpu-interval = 5ms\n[policy]\nvcpu = yes\n"
NUMBER = 1024  # of the first stream vcpu of a run
THREAD = -1986228341  # the id of vCPU 0
MS = 1_000_000
AHEAD = 7_000 * sim.SECOND  # how far the guests' clock is ahead of dom0's monotonic one
SAMPLED = {"running", "waiting", "blocked", "paused", "not running"}


class Writer(threading.Thread):
    """A guest that writes an event every few ms, with the time of its own clock, until close()."""

    def __init__(self, ring):
        super().__init__(daemon=True)
        self.ring, self.on, self.back = ring, True, 0
        self.start()

    def run(self):
        while self.on:
            self.ring.base = time.monotonic_ns() + AHEAD - self.back - self.ring.n
            self.ring.add(1)
            time.sleep(0.003)

    def close(self):
        self.on = False
        self.join()


class Vcpu(sim.Case):
    def begin(self, guest, *states, size=16 * sim.PAGE):
        """Let the guest run, with vCPUs in these states, publish a ring, and write to it."""
        guest.vcpus(*states)
        ring = guest.ring(size=size)
        self.addCleanup(ring.close)
        ring.base = time.monotonic_ns() + AHEAD
        ring.add(1)
        guest.publish(ring)
        writer = Writer(ring)
        self.addCleanup(writer.close)
        return writer

    def stream(self, d, name, number=NUMBER):
        """Wait until the guest's latest run has the stream."""

        def found():
            domain = d.domain(name)
            return domain and next((s for s in domain["streams"] if s["stream"] == number), None)

        return d.wait(found)

    def rows(self, d, path):
        """Return the events of a body of the server, as mprofctl prints them."""
        with open("body.ctf", "wb") as f:
            f.write(d.get(path))
        done = subprocess.run([program("mprofctl"), "dump", "body.ctf", "--json"], capture_output=True, text=True, check=True)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        return [row for row in rows if "event" in row]

    def durations(self, d, name, number=NUMBER, query=""):
        """Return (vCPU, name, begin, end) of all durations, times by the guest's clock, ns."""
        found = []
        for row in self.rows(d, f"/v1/domains/{name}/trace?stream={number}{query}"):
            if row["event"] == "duration":
                self.assertIn(row["name"], SAMPLED)
                end = int(row["time_ns"])
                found.append((THREAD - row["thread"], row["name"], end - int(row["duration_ns"]), end))
        return found

    def lasting(self, d, name, vcpu, state, seconds=1.0, number=NUMBER):
        """Wait until the vCPU was in the state for this long together."""

        def enough():
            lengths = [end - begin for v, what, begin, end in self.durations(d, name, number) if (v, what) == (vcpu, state)]
            return sum(lengths) >= seconds * sim.SECOND

        d.wait(enough)

    def asked(self):
        return os.path.exists(os.path.join(self.directory, "vcpu-asked"))


class Off(Vcpu):
    def test_off_by_default(self):
        """Nobody asks Xen for vCPUs, and the helper shares no memory."""
        d = self.daemons(QUIET)
        self.begin(self.guest(5, "web"), "running")
        self.attached(d, "web")
        d.wait(lambda: len(d.trace("web")) > 2000)
        self.assertFalse(self.asked())
        self.assertEqual(len(d.domain("web")["streams"]), 1)

    def test_by_name(self):
        """Only the guests are recorded whose policy says so."""
        d = self.daemons(QUIET + "[policy web*]\nvcpu = yes\n")
        self.begin(self.guest(5, "db"), "running")
        self.begin(self.guest(6, "web"), "running")
        self.stream(d, "web")
        self.assertEqual([s["stream"] for s in self.attached(d, "db")["streams"]], [0])


class States(Vcpu):
    def test_states(self):
        """Each state is drawn as it was, at its time on the guest's clock."""
        d = self.daemons(ON)
        guest = self.guest(5, "web")
        self.begin(guest, "running", "blocked", "waiting", "offline", ("blocked", 0.5))
        self.assertEqual(self.stream(d, "web")["name"], "vcpu")
        for vcpu, state in enumerate(("running", "blocked", "waiting")):
            self.lasting(d, "web", vcpu, state)
        began = time.monotonic_ns()
        guest.vcpus("waiting", "blocked", "running", "running", "blocked")
        self.lasting(d, "web", 0, "waiting")
        seen = time.monotonic_ns()
        found = self.durations(d, "web")
        self.assertEqual({v for v, *_ in found}, {0, 1, 2, 3, 4})
        self.assertEqual({what for v, what, *_ in found if v == 1}, {"blocked"})
        # The change, on the guest's clock: a sample is some ms late, on a busy machine more, and never early. It lasted for a second.
        moment = min(begin for v, what, begin, _ in found if (v, what) == (0, "waiting"))
        unsure = self.counters(d, "web")["vcpu clock uncertainty ns"]
        self.assertGreaterEqual(moment, began + AHEAD - unsure - 5 * MS)
        self.assertLessEqual(moment, seen + AHEAD + unsure - sim.SECOND)
        self.assertEqual({what for v, what, _, end in found if v == 0 and end <= began + AHEAD - unsure - 50 * MS}, {"running"})
        # Half of the time of vCPU 4 before that is running, wherever in the intervals.
        half = sum(end - begin for v, what, begin, end in found if (v, what) == (4, "running"))
        rest = sum(end - begin for v, what, begin, end in found if (v, what) == (4, "blocked") and end <= began + AHEAD)
        self.assertLess(abs(half - rest) / (half + rest), 0.2, (half, rest))
        for vcpu in range(5):
            mine = [(begin, end) for v, _, begin, end in found if v == vcpu]
            self.assertEqual(mine, sorted(mine))
            for (_, end), (begin, _) in zip(mine, mine[1:]):
                self.assertGreaterEqual(begin, end - unsure, "durations do not overlap")

    def counters(self, d, name):
        rows = self.rows(d, f"/v1/domains/{name}/trace?stream={NUMBER}")
        return {row["counter"]: int(row["value"]) for row in rows if row["event"] == "counter"}

    @long
    def test_counters(self):
        d = self.daemons(ON)
        guest = self.guest(5, "web")
        self.begin(guest, "running", ("waiting", 0.25))
        self.stream(d, "web")
        self.lasting(d, "web", 1, "waiting", 1.5)
        d.wait(lambda: self.counters(d, "web")["vcpu running ns"] > 2 * sim.SECOND)
        counters = self.counters(d, "web")
        self.assertGreater(counters["vcpu waiting ns"], sim.SECOND)
        self.assertEqual(set(counters), {"vcpu running ns", "vcpu waiting ns", "vcpu clock uncertainty ns"})
        self.assertTrue(events_of(d.trace("web")), "the guest's own stream needs no name")
        labels = {row["label"] for row in self.rows(d, f"/v1/domains/web/trace?stream={NUMBER}") if row["event"] == "label"}
        self.assertEqual(labels, {"vcpu0", "vcpu1"})

    def test_paused(self):
        d = self.daemons(ON)
        guest = self.guest(5, "web")
        self.begin(guest, "blocked", "waiting")
        self.stream(d, "web")
        guest.set("running paused")
        self.lasting(d, "web", 0, "paused", 0.5)
        self.lasting(d, "web", 1, "paused", 0.5)

    def test_clock(self):
        """The offset of the guest's clock is estimated from the guest's streams, also for the stream vcpu. Events are copied after they
        were written, and while this test runs."""
        began = time.monotonic_ns()
        d = self.daemons(ON)
        writer = self.begin(self.guest(5, "web"), "running")
        self.stream(d, "web")
        self.lasting(d, "web", 0, "running")
        writer.close()  # so that both fetches see the same packets

        def rests():
            before = d.trace("web", "?stream=0")
            d.advance(2)
            return d.trace("web", "?stream=0") == before

        d.wait(rests)
        real = time.time_ns() - time.monotonic_ns() - AHEAD
        clocks = []
        for number in (0, NUMBER):
            command = ["fetch", "web", "--host", f"unix:{d.socket}", "--stream", str(number), "-o", f"{number}.ctf"]
            subprocess.run([program("mprofctl"), *command], check=True)
            with open(f"{number}.ctf.clock.json", encoding="utf-8") as f:
                clocks.append(json.load(f))
        self.assertEqual(clocks[0]["offset_ns"], clocks[1]["offset_ns"])
        self.assertTrue(-sim.SECOND < int(clocks[1]["offset_ns"]) - real < time.monotonic_ns() - began, (clocks, real))

    def test_why(self):
        """The explanation of a wait says whether the guest was run meanwhile."""
        d = self.daemons(ON)
        guest = self.guest(5, "web")
        writer = self.begin(guest, "waiting", "blocked")
        self.stream(d, "web")
        self.lasting(d, "web", 0, "waiting", 2.0)
        said = r"in that time the guest was not run: its vCPUs waited for a processor for \d+\.\d+ s and were blocked for \d+\.\d+ s"
        self.assertRegex(self.why(d), said)
        guest.vcpus("running", "blocked")
        self.lasting(d, "web", 0, "running")
        writer.close()
        self.assertRegex(self.why(d), r"in that time the guest's vCPUs ran for .*, waited for a processor for .* and were blocked for ")

    def why(self, d):
        """Return what mprofctl says about a thread of the guest that is not resolved."""
        command = [program("mprofctl"), "why", "web", "3", "--host", f"unix:{d.socket}"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def test_drawn(self):
        """The picture has a row for each vCPU, and what it did. Parts shorter than a few pixels would be drawn as one, and shaded by
        their share, so the interval is long: parts of 100 ms are wide, however long the trace becomes on a busy machine."""
        d = self.daemons(ON.replace("5ms", "200ms"))
        self.begin(self.guest(5, "web"), "running", ("waiting", 0.5))
        self.stream(d, "web")
        self.lasting(d, "web", 0, "running", 2.0)
        with open("vcpu.ctf", "wb") as f:
            f.write(d.trace("web", f"?stream={NUMBER}"))
        subprocess.run([program("mprofctl"), "export", "--to", "svg", "vcpu.ctf", "-o", "vcpu.svg"], check=True)
        with open("vcpu.svg", encoding="utf-8") as f:
            picture = f.read()
        for text in ("vcpu0", "vcpu1", "vcpu waiting ns"):
            self.assertIn(text, picture)
        # White where a vCPU ran: the first one all the time, so at most one line for each second and packet.
        white = "".join(re.findall('<path stroke="#fff" stroke-width="3"[^>]* d="([^"]*)"', picture))
        lines = [(float(x), float(y), float(to)) for x, y, to in re.findall(r"M([\d.-]+) ([\d.-]+)H([\d.-]+)", white)]
        widths = [sum(to - x for x, at, to in lines if at == y) for y in sorted({y for _, y, _ in lines})]
        self.assertEqual(len(widths), 2, lines)
        self.assertGreater(max(widths), 700)
        self.assertLess(min(widths), 0.75 * max(widths))


class Hostile(Vcpu):
    def test_backwards(self):
        """A cpu_time that goes back is counted, and gives no running time."""
        d = self.daemons(ON)
        self.begin(self.guest(5, "web"), "running", ("running", -3.0))
        self.stream(d, "web")
        rows = []

        def refused():
            rows[:] = self.rows(d, f"/v1/domains/web/trace?stream={NUMBER}")
            return [row for row in rows if row.get("counter") == "vcpu refused" and int(row["value"]) > 100]

        d.wait(refused)
        names = {row["name"] for row in rows if row["event"] == "duration" and row["thread"] == THREAD - 1}
        self.assertEqual(names, {"not running"})

    @long
    def test_fast(self):
        """A cpu_time that grows faster than time is no more than the whole interval."""
        d = self.daemons(ON)
        self.begin(self.guest(5, "web"), ("running", 1000.0))
        self.lasting(d, "web", 0, "running", 1.0)
        rows = self.rows(d, f"/v1/domains/web/trace?stream={NUMBER}")
        ran = max(int(row["value"]) for row in rows if row.get("counter") == "vcpu running ns")
        self.assertLess(ran, 600 * sim.SECOND)

    @long
    def test_many(self):
        """At most 128 vCPUs are recorded, and the others are counted."""
        d = self.daemons(ON)
        self.begin(self.guest(5, "wide"), *["blocked"] * 200)
        self.stream(d, "wide")
        self.lasting(d, "wide", 127, "blocked", 0.5)
        rows = []

        def all_lasted():
            rows[:] = self.rows(d, f"/v1/domains/wide/trace?stream={NUMBER}")
            return {row["thread"] for row in rows if row["event"] == "duration"} >= {THREAD - i for i in range(128)}

        d.wait(all_lasted)
        self.assertEqual({int(row["value"]) for row in rows if row.get("counter") == "vcpu not sampled"}, {72})
        self.assertEqual({row["thread"] for row in rows if row["event"] == "duration"}, {THREAD - i for i in range(128)})

    def test_none(self):
        """A domain without vCPUs is said once, and its ring is recorded as ever."""
        d = self.daemons(ON)
        self.begin(self.guest(5, "none"))
        d.wait(lambda: "vCPUs cannot be recorded" in d.said())
        d.advance(2)
        self.assertEqual(d.said().count("vCPUs cannot be recorded"), 1)
        self.assertEqual([s["stream"] for s in self.attached(d, "none")["streams"]], [0])

    @long
    def test_name_is_taken(self):
        """A guest that calls a stream vcpu has another number."""
        d = self.daemons(ON)
        guest = self.guest(5, "web")
        self.begin(guest, "running")
        ring = guest.ring()
        self.addCleanup(ring.close)
        ring.add(3)
        guest.publish(ring, stream=1023, name="vcpu")
        self.stream(d, "web", 1023)
        self.stream(d, "web")
        self.assertEqual({s["stream"] for s in d.domain("web")["streams"]}, {0, 1023, NUMBER})


class Ends(Vcpu):
    def test_death(self):
        """The capture has the stream, up to the moment of the end."""
        d = self.daemons(ON)
        guest = self.guest(5, "web")
        writer = self.begin(guest, "running", "waiting")
        self.stream(d, "web")
        self.lasting(d, "web", 0, "running")
        delay = sim.launcher.Delay(d.collector.pid, self.helper(d))
        writer.close()
        at = guest.die("crashed")
        self.unmapped(d, guest)
        d.wait_ended("web")
        capture = d.wait(lambda: d.captures("web"))[0]
        self.assertEqual({s["stream"] for s in capture["streams"]}, {0, NUMBER})
        rows = self.rows(d, f"/v1/captures/{capture['id']}/trace?stream={NUMBER}")
        ends = [int(row["time_ns"]) for row in rows if row["event"] == "duration"]
        late = delay.seconds()
        self.assertTrue(max(ends) > at + AHEAD - 2 * sim.SECOND or late > 1, (max(ends), at, late))
        self.assertEqual(d.gaps("web", f"&stream={NUMBER}"), [])

    @long
    def test_reused(self):
        """Another domain of the same number has a run and a stream of its own."""
        d = self.daemons(ON)
        first = self.guest(5, "one")
        writer = self.begin(first, "running")
        self.stream(d, "one")
        self.lasting(d, "one", 0, "running")
        writer.close()
        first.die("poweroff")
        d.wait_ended("one")
        d.wait(lambda: not first.mapped())
        first.forget()
        self.begin(self.guest(5, "two"), "blocked")
        self.stream(d, "two")
        self.lasting(d, "two", 0, "blocked")
        self.assertNotIn("blocked", {what for _, what, *_ in self.durations(d, "one")})
        self.assertNotIn("running", {what for _, what, *_ in self.durations(d, "two")})

    def test_suspended(self):
        """The run goes on after a suspension, with another stream."""
        d = self.daemons(ON)
        guest = self.guest(5, "web")
        self.begin(guest, "running")
        self.stream(d, "web")
        guest.stop("suspend")
        d.wait(lambda: d.domain("web")["state"] == "suspended")
        guest.resume()
        d.wait(lambda: d.domain("web")["state"] == "running")
        self.stream(d, "web", NUMBER + 1)
        self.lasting(d, "web", 0, "running", number=NUMBER + 1)
        self.assertEqual(d.domain("web")["runs"], 1)

    def test_restart(self):
        """Another mprofd continues the run, with another stream."""
        d = self.daemons(ON)
        guest = self.guest(5, "web")
        self.begin(guest, "running")
        self.stream(d, "web")
        self.lasting(d, "web", 0, "running")
        d.kill_collector()
        d.start_collector()
        self.stream(d, "web", NUMBER + 1)
        self.lasting(d, "web", 0, "running", number=NUMBER + 1)
        self.assertEqual(d.domain("web")["runs"], 1)

    def test_clock_back(self):
        """When the guest's clock goes back, the stream ends, and the next one has the new time."""
        d = self.daemons(ON)
        guest = self.guest(5, "web")
        writer = self.begin(guest, "running")
        self.stream(d, "web")
        self.lasting(d, "web", 0, "running")
        writer.back = 1000 * sim.SECOND
        self.stream(d, "web", NUMBER + 1)
        self.lasting(d, "web", 0, "running", number=NUMBER + 1)
        self.assertLess(self.durations(d, "web", NUMBER + 1)[0][3], time.monotonic_ns() + AHEAD - 900 * sim.SECOND)

    @long
    def test_withdrawn(self):
        """When a ring goes away whose guest's clock went back once, the stream goes on."""
        d = self.daemons(ON)
        guest = self.guest(5, "web")
        self.begin(guest, "running")
        self.stream(d, "web")
        ring = guest.ring(size=16 * sim.PAGE)  # a packet lasts longer than a second: only then is its older time believed
        self.addCleanup(ring.close)
        ring.base = time.monotonic_ns() + AHEAD
        ring.add(1)
        guest.publish(ring, stream=1)
        writer = Writer(ring)
        self.addCleanup(writer.close)
        self.stream(d, "web", 1)
        d.wait(lambda: len(events_of(d.trace("web", "?stream=1"))) > 100)
        writer.back = 100 * sim.SECOND
        self.stream(d, "web", NUMBER + 1)
        self.lasting(d, "web", 0, "running", number=NUMBER + 1)
        writer.close()
        guest.withdraw(1)
        d.wait(lambda: "ring withdrawn: stream=1" in d.said())
        lengths = [end - begin for *_, begin, end in self.durations(d, "web", NUMBER + 1)]
        self.lasting(d, "web", 0, "running", sum(lengths) / sim.SECOND + 2.0, number=NUMBER + 1)
        self.assertEqual({s["stream"] for s in d.domain("web")["streams"]}, {0, 1, NUMBER, NUMBER + 1})

    def test_helper_dies(self):
        """The rest is recorded as ever, and the death of the guest has its capture."""
        d = self.daemons(ON)
        guest = self.guest(5, "web")
        writer = self.begin(guest, "running")
        self.stream(d, "web")
        os.kill(self.helper(d), 9)
        d.wait(lambda: "The helper process" in d.said())
        writer.close()
        guest.destroy()
        d.wait_ended("web")
        self.assertEqual({s["stream"] for s in d.wait(lambda: d.captures("web"))[0]["streams"]}, {0, NUMBER})

    @long
    def test_slots(self):
        """More guests one after the other than there are slots, and at most 64 at a time."""
        d = self.daemons(ON)
        guests = [self.guest(10 + i, f"g{i}") for i in range(66)]
        writers = [self.begin(guest, "blocked", size=4 * sim.PAGE) for guest in guests]
        tracks = lambda: sum(len(domain["streams"]) == 2 for domain in d.json("/v1/domains?limit=1000")["domains"])
        d.wait(lambda: tracks() == 64)
        d.wait(lambda: "The vCPUs of further guests are not recorded" in d.said())
        ended = next(i for i in range(66) if len(d.domain(f"g{i}")["streams"]) == 2)
        writers[ended].close()
        guests[ended].die("poweroff")
        d.wait(lambda: tracks() == 65)
        with contextlib.suppress(StopIteration):
            self.assertEqual(d.said().count("The vCPUs of further guests are not recorded"), 1)


if __name__ == "__main__":
    sim.main()
