"""Run writers with known truths through a collector and its server: replay.py BUILD-DIRECTORY
[TEST…]

A trace fetched over HTTP may only have events of the truth. It may lack only the events in the gaps
of /packets and those behind the last proven byte, in its cuts. truth.py checks this.
"""

import functools
import json
import os
import signal
import sys

import daemons
from daemons import judge

sys.path.append(os.path.join(daemons.HERE, "..", "traces"))
import unpack  # noqa: E402
from truth import event_ends

BRIEF = bool(os.environ.get("MPROF_BRIEF"))  # kill half as many writers, and let the others write for a second
# Options of writer-legacy, and whether gaps must ("yes") or may ("maybe") be there.
LEGACY = [
    ("slow", "maybe", "--size 65536 --rate 1000000 --seconds 2"),
    ("nested", "maybe", "--size 16384 --rate 1000000 --seconds 2 --gc-percent 50"),
    ("pausing", "maybe", "--size 16384 --seconds 2 --pause-every 200 --pause-us 800 --gc-percent 30"),
    ("torn", "maybe", "--size 131072 --seconds 2 --pause-every 400 --pause-us 800 --torn 1"),
    ("odd", "maybe", "--size 10007 --rate 300000 --seconds 2 --torn 1"),
    ("overtaking", "yes", "--size 8192 --rate 8000000 --seconds 3"),
    ("counts", "yes", "--size 1024 --rate 12000000 --seconds 3"),
]
RECORDER = [
    ("slow", "maybe", "--size 65536 --rate 1000000 --seconds 2"),
    ("odd", "maybe", "--size 10007 --packets 5 --rate 300000 --seconds 2"),
    ("many", "maybe", "--size 262144 --packets 64 --rate 10000000 --seconds 1"),
    ("round", "maybe", "--size 32768 --packets 512 --events 70000 --rate 350000"),
    ("overtaking", "yes", "--size 8192 --rate 8000000 --seconds 3"),
]


class Judged(daemons.Case):
    def fetched(self, d, what, truth, *options):
        """Judge a run that has ended. Return the counts of truth.py."""
        listed = d.wait_ended(what, seconds=daemons.HANGS)
        self.assertEqual(len(listed), 1, what)
        return judge(what, truth, d.trace(what), d.packets(what), *options)

    def together(self, d, program, rings, width=6):
        """Run WIDTH writers at a time. Judge each while it writes, and when it has ended."""
        for at in range(0, len(rings), width):
            some = rings[at : at + width]
            running = []
            for name, gaps, options in some:
                arguments = ["--ring", f"rings/{name}.ctf", "--truth", f"{name}.truth", *options.split()]
                if BRIEF and "--seconds" in arguments:
                    arguments[arguments.index("--seconds") + 1] = "1"
                if gaps == "yes":  # a writer that ended before its ring was found would overtake nobody
                    arguments += ["--after", f"{name}.seen"]
                running.append(self.writer(program, *arguments))
            for name, gaps, _ in some:
                if gaps == "yes":
                    d.wait(lambda name=name: d.domain(name))
                    with open(f"{name}.seen", "w", encoding="ascii"):
                        pass
            said = [process.communicate(timeout=daemons.HANGS)[0] for process in running]
            for (name, gaps, options), process, text in zip(some, running, said):
                with self.subTest(name):
                    self.check(d, name, gaps, "--kill-after" in options, process.returncode, text)

    def check(self, d, name, gaps, killed, code, text):
        self.assertEqual(code, -9 if killed else 0)
        said = json.loads(text)
        had = self.fetched(d, name, f"{name}.truth", "--ended", "--open", *said.get("open", []))
        lost = sum(stream["lost_packets"] for stream in d.domain(name)["streams"])
        self.assertEqual(lost > 0, had["gaps"] > 0)
        if gaps == "yes":
            self.assertGreater(had["in_gaps"], 0, "the writer did not overtake the reader: the test shows nothing")
        if not killed and had["packets"] == said["packets"]:
            self.assertEqual(had["events"] + had["in_gaps"] + had["at_end"], said["events"])


class Writers(Judged):
    def test_legacy(self):
        self.together(self.daemons(), "writer-legacy", LEGACY)

    def test_legacy_killed(self):
        """Kill writers at any point: inside an event, its count, a new packet, or a collection
        inside an event."""
        rings = [
            (f"killed-{i}", "maybe", f"--size 16384 --rate 2000000 --kill-after {400_000 + 7_919 * i} --gc-percent 30 --seed {i}")
            for i in range(6 if BRIEF else 12)
        ]
        self.together(self.daemons(), "writer-legacy", rings)

    def test_recorder(self):
        self.together(self.daemons(), "writer-recorder", RECORDER)

    def test_while_it_writes(self):
        """A trace fetched from a running guest is true and whole up to its end."""
        d = self.daemons()
        process = self.writer_seen(d, "live", "--size 65536 --rate 500000 --seconds 3 --gc-percent 20")
        d.wait(lambda: d.trace("live"))
        fetched = []
        while process.poll() is None:
            fetched.append((d.trace("live"), d.packets("live")))
        self.fetched(d, "live", "live.truth", "--ended", "--begin", "0")
        for stream, pages in fetched[:: max(1, len(fetched) // 4)]:
            judge("live", "live.truth", stream, pages, "--begin", "0")


class Replayed(Judged):
    """A real mirage-profile writer, replayed."""

    def replay(self, name, width=2):
        d = self.daemons()
        unpack.series(name, ".")
        directory = os.path.abspath(name)
        ways = [
            (f"{name}-{way}", options)
            for way, options in {
                "paced": "--rate 5000000 --hold-ms 20",
                "jumping": "--rate 2000000 --hold-ms 10 --jump 1",
                "fast": "--rate 0 --hold-ms 40",
                "jumping-fast": "--rate 0 --hold-ms 5 --jump 1",
                "eventwise": "--rate 0 --pause-us 1 --jump 1 --images 4 --hold-ms 100",
                "fastest": "--rate 0 --hold-ms 0",
            }.items()
        ]
        for at in range(0, len(ways), width):
            running = [
                (
                    way,
                    self.writer("replay", *f"--reference {directory} --truth {directory}/truth.ctf --ring rings/{way}.ctf".split(), *options.split()),
                )
                for way, options in ways[at : at + width]
            ]
            for way, process in running:
                with self.subTest(way):
                    said = json.loads(process.communicate(timeout=daemons.HANGS)[0])
                    had = self.fetched(d, way, f"{directory}/truth.ctf", "--ended", "--until", f"{said['count']}:{said['offset']}")
                    self.assertEqual(had["in_gaps"] > 0, had["gaps"] > 0)

    def test_live(self):
        self.replay("live")

    def test_live_slow(self):
        self.replay("live-slow")


def timeless(body):
    """Return the events without their timestamps. A collection's duration is a time, too."""
    ends = event_ends(body)
    return [body[at + 8 : end] if body[at + 8] != 8 else b"\x08" for at, end in zip([0, *ends], ends)]


class Demo(Judged):
    """The demo guest. Its seed decides everything but the times, so a run whose ring holds
    everything is the truth for all others."""

    def setUp(self):
        super().setUp()
        self.d = self.daemons()

    def packets_of(self, stream):
        at = 0
        while at < len(stream):
            _, _, size, count, content = daemons.HEADER.unpack_from(stream, at)
            yield count, stream[at + daemons.START : at + content // 8]
            at += size // 8

    def demo(self, name, ring, *options):
        self.writer("mprof-demo-guest", "--ring", ring, "--seed", 7, *options).wait(daemons.HANGS)
        if ring.startswith("rings/"):
            self.d.wait_ended(name, seconds=daemons.HANGS)

    def compare(self, name, count, packets, write):
        """Compare a ring of PACKETS packets of 16 KiB, which WRITE fills, with a truth of a thousand packets."""
        write(name, f"rings/{name}.ctf", "--size", 16384 * packets, "--packets", packets, "--count", count)
        self.demo("truth", "truth.ring", "--size", 16384 * 1024, "--packets", 1024, "--rate", 0, "--count", count)
        with open("truth.ring", "rb") as f:
            truth = [timeless(body) for _, body in self.packets_of(f.read())]
        truth = truth[: max(index for index, body in enumerate(truth) if body) + 1]
        pages = self.d.packets(name)
        gaps = [gap for page in pages for gap in page["gaps"]]
        listed = {packet["sequence"]: packet for page in pages for packet in page["packets"]}
        begin = min(listed)  # the collector may have found the ring late
        had = {}
        for number, body in self.packets_of(self.d.trace(name)):
            had[number] = had.get(number, []) + timeless(body)
        self.assertEqual(sorted(had), sorted(sequence for sequence, packet in listed.items() if packet["bytes"] > daemons.START))
        for number, events in had.items():
            self.assertEqual(events, truth[number][: len(events)], f"packet {number}")
        for number, events in enumerate(truth):
            if number >= begin and had.get(number, []) != events:
                covered = any(gap["after_sequence"] <= number < gap["next_sequence"] for gap in gaps)
                self.assertTrue(covered, f"packet {number} is not whole, and no gap says so")
        return gaps

    def test_slowly(self):
        """The ring holds all, however slow the collector is."""
        self.assertEqual(self.compare("slowly", 4000, 8, lambda *words: self.demo(*words, "--rate", 1000)), [])

    def lapped(self, rate, name, ring, *words):
        """Write at RATE. The collector knows the ring, and is stopped until the writer has ended."""
        writer = self.writer("mprof-demo-guest", "--ring", ring, "--seed", 7, "--rate", rate, *words)
        self.d.wait(lambda: self.d.domain(name))
        self.d.collector.freeze()
        writer.wait(daemons.HANGS)
        self.d.collector.send_signal(signal.SIGCONT)
        self.d.wait_ended(name, seconds=daemons.HANGS)

    def test_overtaken(self):
        """On a slow machine the writer has ended before the collector finds its ring: then a slower one writes."""
        for rate in (100_000, 25_000, 5_000, 1_000):
            if self.compare(f"fast-{rate}", 100_000, 4, functools.partial(self.lapped, rate)):
                return
        self.fail("the writer did not overtake the reader: the test shows nothing")

    def test_full_speed(self):
        """The writer has often ended before the collector finds its ring."""
        self.compare("fast", 500_000, 4, lambda *words: self.demo(*words, "--rate", 0))


if __name__ == "__main__":
    daemons.main()
