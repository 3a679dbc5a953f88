"""Test how ring files come and go, and the runs that result: lifecycle.py BUILD-DIRECTORY [TEST…]
"""

import contextlib
import json
import os
import subprocess
import sys
import time

import daemons
from daemons import Ring, events_of, image, judge, rooms, small_ring
from turns import long

SMALL = [(1000 + i, i) for i in range(10)]


def put(path, data):
    """Write a whole file at once, by a rename."""
    with open("whole", "wb") as f:
        f.write(data)
    os.rename("whole", path)


class Found(daemons.Case):
    """The collector finds a ring in whatever order file, size, headers and events come."""

    def test_before_and_after_the_start(self):
        os.makedirs("rings")
        put("rings/before.ctf", small_ring())
        with Ring("rings/open.ctf") as ring:
            ring.add(5)
            d = self.daemons()
            put("rings/after.ctf", small_ring())
            for name in ("before", "after"):
                d.wait_ended(name)
                self.assertEqual(events_of(d.trace(name)), SMALL)
                self.assertEqual(d.domain(name)["streams"][0]["lost_packets"], 0)
            self.assertEqual(d.domain("open")["state"], "running")
            ring.add(5)
        d.wait_ended("open")
        self.assertEqual(events_of(d.trace("open")), ring.written)

    def test_step_by_step(self):
        """The writer makes an empty file, sets its size, writes its headers one by one, and then
        events."""
        d = self.daemons()
        with open("rings/steps.ctf", "wb", buffering=0) as f:
            time.sleep(0.1)
            f.truncate(4096)
            time.sleep(0.1)
            for at in range(0, 4096, 1024):
                os.pwrite(f.fileno(), image([], [1024] * 4)[at : at + 30], at)
                time.sleep(0.03)
            ring = Ring("rings/steps.ctf", make=False)
            d.wait(lambda: d.domain("steps"))
            ring.add(200)
            ring.close()
        d.wait_ended("steps")
        self.assertEqual(events_of(d.trace("steps")), ring.written)
        self.assertEqual(len(d.run_list("steps")), 1)

    def copy_slowly(self, d, name, piece, pause):
        bodies = [b"".join(daemons.event(1000 + 10 * k + i, 10 * k + i) for i in range(10)) for k in range(4)]
        data = image(bodies, rooms(4096, 4))
        with open(f"rings/{name}.ctf", "wb", buffering=0) as f:
            for at in range(0, len(data), piece):
                f.write(data[at : at + piece])
                time.sleep(pause)
        d.wait_ended(name)
        d.wait(lambda: len(events_of(d.trace(name))) == 40)
        self.assertEqual(events_of(d.trace(name)), [(1000 + i, i) for i in range(40)])

    @long
    def test_copied_slowly(self):
        self.copy_slowly(self.daemons(), "slow", 100, 0.02)

    def test_copied_packet_by_packet(self):
        """A partial copy is a whole ring already, first of two packets and then of three."""
        self.copy_slowly(self.daemons(), "packets", 1024, 0.25)

    def test_sizes(self):
        d = self.daemons()
        sizes = [(1024, 2), (1024, 4), (1029, 3), (10007, 4), (65536, 1024), (262139, 333), (256 << 20, 4), (256 << 20, 1024)]
        for size, n in sizes:
            name = f"{size}-{n}"
            parts = rooms(size, n)
            with open("sparse", "wb") as f:
                f.truncate(size)
                at = 0
                for index, room in enumerate(parts):
                    body = daemons.event(1000 + index, index)
                    f.seek(at)
                    f.write(daemons.header(room, index, len(body)) + body)
                    at += room
            os.rename("sparse", f"rings/{name}.ctf")
        for size, n in sizes:
            with self.subTest(size=size, packets=n):
                d.wait_ended(f"{size}-{n}")
                self.assertEqual(events_of(d.trace(f"{size}-{n}")), [(1000 + i, i) for i in range(n)])
                stream = d.domain(f"{size}-{n}")["streams"][0]
                self.assertEqual((stream["ring_bytes"], stream["ring_packets"], stream["lost_packets"]), (size, n, 0))

    def test_names(self):
        """A guest's name is the file's, without .ctf; unprintable characters are escaped."""
        d = self.daemons()
        names = {b"plain": "plain", b"with space.ctf": "with space", "Gr\u00fc\u00dfe.ctf".encode(): "Gr\u00fc\u00dfe"}
        names |= {b"x" * 251 + b".ctf": "x" * 251, b"bad\xff\n.ctf": "bad\\xff\\x0a", b"back\\slash.ctf": "back\\\\slash"}
        for path in names:
            put(b"rings/" + path, small_ring())
        for name in names.values():
            d.wait(lambda name=name: d.domain(name))


class Refused(daemons.Case):
    def test_no_rings(self):
        """The log has one line for a file that is no ring. The collector does not touch what it
        cannot read as a file."""
        os.makedirs("rings")
        put("rings/noise.ctf", os.urandom(5000))
        put("rings/one.ctf", image([], [4096]))
        put("rings/many.ctf", image([], [64] * 1025))
        put("rings/small.ctf", image([], [500, 500]))
        put("rings/zeros.ctf", bytes(4096))
        put("rings/empty.ctf", b"")
        put("rings/noise.txt", os.urandom(5000))
        with open("rings/huge.ctf", "wb") as f:
            f.write(daemons.header(150 << 20, 0))
            f.seek(150 << 20)
            f.write(daemons.header(150 << 20, 1))
            f.truncate(300 << 20)
        put("elsewhere", small_ring())
        os.symlink("../elsewhere", "rings/link.ctf")
        os.mkfifo("rings/fifo.ctf")
        os.mkdir("rings/directory.ctf")
        put("rings/.hidden.ctf", small_ring())
        put("rings/metadata", small_ring())
        put("rings/good.ctf", small_ring())
        d = self.daemons()
        d.wait_ended("good")
        refused = ("noise.ctf", "one.ctf", "many.ctf", "small.ctf", "empty.ctf", "zeros.ctf", "huge.ctf")
        d.wait(lambda: all(name in d.said() for name in refused))
        for _ in range(3):  # asked again, but not logged again
            for name in refused:
                with open(f"rings/{name}", "ab"):
                    pass
            time.sleep(0.3)
        self.assertEqual([found["name"] for found in d.json("/v1/domains")["domains"]], ["good"])
        for name in refused:
            self.assertEqual(d.said().count(name), 1, name)
        for name in ("link", "fifo", "directory", "hidden", "metadata", "noise.txt"):
            self.assertNotIn(name, d.said())

    def test_not_while_it_is_being_made(self):
        """A process that has the file open for writing may still make a ring of it."""
        d = self.daemons()
        with open("rings/slow.ctf", "wb", buffering=0) as f:
            f.write(os.urandom(5000))
            for name in ("first", "second"):  # asked as often, and later
                put(f"rings/{name}.ctf", os.urandom(5000))
                d.wait(lambda name=name: f"{name}.ctf is no trace ring" in d.said())
            self.assertNotIn("slow.ctf", d.said())
        d.wait(lambda: "slow.ctf is no trace ring" in d.said())

    def test_a_flood_of_them(self):
        """A thousand files that are no rings do not log a thousand lines, and a ring among them is
        found."""
        d = self.daemons()
        for i in range(1000):
            put(f"rings/{i}.ctf", b"no ring" * 100)
        put("rings/good.ctf", small_ring())
        d.wait_ended("good")
        time.sleep(0.5)
        self.assertLess(d.said().count("no trace ring"), 100)

    def test_becomes_a_ring(self):
        """The collector takes a refused file once it has become a ring."""
        d = self.daemons()
        put("rings/late.ctf", os.urandom(4096))
        d.wait(lambda: "late.ctf is no trace ring" in d.said())
        with open("rings/late.ctf", "r+b") as f:
            f.write(small_ring())
        d.wait_ended("late")
        self.assertEqual(events_of(d.trace("late")), SMALL)


class Renewed(daemons.Case):
    """Each change begins a new run."""

    def begin(self, name, d=None):
        d = d or self.daemons()
        ring = Ring(f"rings/{name}.ctf")
        self.addCleanup(ring.close)
        d.wait(lambda: d.domain(name))
        ring.add_slowly(100)
        d.wait_archived(ring, name, 51)
        return d, ring

    def check(self, d, name, old, new):
        """Check that the old run has the events written to it, and the new run has the later
        events."""
        d.wait(lambda: d.run_list(name)[0]["state"] == "ended")
        listed = d.run_list(name)
        self.assertEqual([run["state"] for run in listed], ["ended", "running"])
        self.assertEqual(listed[0]["reason"], "ended")
        first, second = (run["run"] for run in listed)
        had = events_of(d.trace(name, f"?run={first}"))
        self.assertEqual(had, old[: len(had)])
        self.assertGreater(len(had), 50)
        new.add(100)
        new.close()
        d.wait_ended(name, 2)
        self.assertEqual(events_of(d.trace(name, f"?run={second}")), new.written)
        return had, [capture["run"] for capture in d.captures(name)], first, second

    def check_loss(self, d, name):
        """Check that what the old run had at its end is declared lost, once, behind all that is archived."""
        pages = d.packets(name, f"&run={d.run_list(name)[0]['run']}")
        last = [packet for page in pages for packet in page["packets"]][-1]
        gaps = [gap for page in pages for gap in page["gaps"]]
        self.assertEqual([(gap["kind"], gap["reason"], gap["at_least"], gap["packets"]) for gap in gaps], [("lost", "lapped", True, 1)])
        ends = [(last["sequence"], last["bytes"])] + [(last["sequence"] + 1, daemons.START)] * last["complete"]
        self.assertIn((gaps[0]["after_sequence"], gaps[0]["after_offset"]), ends)

    def test_truncated(self):
        d, ring = self.begin("cut")
        os.truncate("rings/cut.ctf", 0)
        d.wait(lambda: d.domain("cut")["state"] == "ended")
        new = Ring("rings/cut.ctf", base=9_000_000)
        ring.close()
        new.add(3)
        d.wait(lambda: len(d.run_list("cut")) == 2)
        self.check(d, "cut", ring.written, new)
        self.check_loss(d, "cut")

    @long
    def test_grown(self):
        d, ring = self.begin("grown")
        ring.file.truncate(1 << 20)
        self.assertEqual(len(d.wait_ended("grown")), 1)
        self.check_loss(d, "grown")

    def test_made_anew_in_place(self):
        """The same inode: a recorder that starts in the file writes its headers again."""
        d, ring = self.begin("anew")
        new = Ring("rings/anew.ctf", make=False, base=9_000_000)
        os.pwrite(new.file.fileno(), image([], rooms(4096, 4)), 0)
        ring.close()
        new.add(3)
        d.wait(lambda: len(d.run_list("anew")) == 2)
        self.check(d, "anew", ring.written, new)
        self.check_loss(d, "anew")

    def anew_at_once(self, d, name, old, new):
        """A guest that has written OLD events initialises its ring again, and writes NEW events of it before the next poll. Each event
        before and after is there, or declared lost; nothing else is."""
        _, ring = self.begin(name, d)
        while ring.n < old:
            ring.add_slowly(50)
            d.wait_archived(ring, name, ring.n - 60)
        other = Ring(f"rings/.{name}", base=9_000_000)
        other.add(new)
        with open(f"rings/.{name}", "rb") as f:
            os.pwrite(ring.file.fileno(), f.read(), 0)
        other.close()
        other.file, ring.file = ring.file, other.file
        d.wait(lambda: len(d.run_list(name)) == 2)
        _, _, _, second = self.check(d, name, ring.written, other)
        self.check_loss(d, name)
        self.assertEqual(d.gaps(name, f"&run={second}"), [])

    def test_made_anew_at_once(self):
        d = self.daemons()
        for old in 100, 300:  # in the first lap, and behind it
            for new in 3, 70, 110:
                with self.subTest(old=old, new=new):
                    self.anew_at_once(d, f"anew-{old}-{new}", old, new)

    def test_replaced(self):
        """The old writer goes on in a file without a name, and is captured at its end."""
        d, ring = self.begin("swap")
        new = Ring("rings/.swap", base=9_000_000)
        new.add(3)
        ring.add(7)
        os.rename("rings/.swap", "rings/swap.ctf")
        d.wait(lambda: len(d.run_list("swap")) == 2 and d.run_list("swap")[0]["state"] == "ended")
        had, captures, first, _ = self.check(d, "swap", ring.written, new)
        self.assertIn(first, captures)
        self.assertEqual(had, ring.written)

    def test_removed(self):
        d, ring = self.begin("gone")
        ring.add(7)
        os.unlink("rings/gone.ctf")
        listed = d.wait_ended("gone")
        self.assertEqual([c["kind"] for c in d.captures("gone")], ["ended"])
        self.assertEqual(events_of(d.trace("gone")), ring.written)
        with Ring("rings/gone.ctf", base=9_000_000) as new:
            new.add(3)
        self.assertEqual(len(d.wait_ended("gone", 2)), 2)
        self.assertEqual(events_of(d.trace("gone")), new.written)
        self.assertEqual(events_of(d.trace("gone", f"?run={listed[0]['run']}")), ring.written)

    @long
    def test_replaced_again_and_again(self):
        """The file is replaced faster than the collector polls: the last ring is found, no two are
        mixed, and nothing accumulates."""
        d = self.daemons()
        for i in range(300):
            put("rings/often.ctf", small_ring(base=1000 + 1000 * i))  # a first event at time 0 would be none
        d.wait(lambda: events_of(d.trace("often")) == [(300000 + i, i) for i in range(10)])
        listed = d.wait_ended("often")
        for run in listed:
            had = events_of(d.trace("often", f"?run={run['run']}"))
            self.assertEqual(len(had), 10)
            self.assertEqual(had, [(had[0][0] + i, i) for i in range(10)])
        files = f"/proc/{d.collector.pid}/fd"
        d.wait(lambda: len(os.listdir(files)) < 50)


class Writers(daemons.Case):
    """Which processes are writers, and when the last one is gone."""

    @long
    def test_mapping_counts(self):
        """A writer that holds only its mapping is a writer, also after another process has opened
        the file for writing and closed it."""
        d = self.daemons()
        writer = self.writer_seen(d, "map", "--rate 100000 --size 524288 --leash map.leash")
        self.loosening(d)
        for _ in range(10):
            subprocess.run([sys.executable, "-c", "open('rings/map.ctf', 'r+b').close()"], check=True)
            time.sleep(0.05)
        self.assertEqual(d.domain("map")["state"], "running")
        writer.terminate()
        writer.wait(daemons.HANGS)
        listed = d.wait_ended("map")
        self.assertEqual(len(listed), 1)
        self.assertEqual(len(d.captures("map")), 1)
        judge("map", "map.truth", d.trace("map"), d.packets("map"), "--ended", "--begin", "0")
        self.assertEqual(d.domain("map")["streams"][0]["lost_packets"], 0)

    def test_killed(self):
        """All events of a killed writer are archived, except the one that it was writing."""
        d = self.daemons()
        options = "--ring rings/dead.ctf --truth truth.ctf --rate 300000 --size 65536 --kill-after 1000000"
        writer = self.writer("writer-legacy", *options.split())
        writer.wait(daemons.HANGS)
        unfinished = json.loads(writer.stdout.read())["open"]
        d.wait_ended("dead")
        said = judge("dead", "truth.ctf", d.trace("dead"), d.packets("dead"), "--ended", "--open", *unfinished)
        self.assertEqual(said["at_end"], 0)

    @long
    def test_gone_before_the_scan(self):
        os.makedirs("rings")
        self.write("writer-legacy", *"--ring rings/was.ctf --truth truth.ctf --events 5000 --size 16384".split())
        d = self.daemons()
        d.wait_ended("was")
        judge("was", "truth.ctf", d.trace("was"), d.packets("was"), "--ended")
        self.assertEqual(len(d.captures("was")), 1)

    def test_writes_on(self):
        """After the end a process opens the file again and writes on: the run goes on, and no event
        comes twice."""
        d = self.daemons()
        ring = Ring("rings/on.ctf")
        ring.add(70)
        ring.close()
        listed = d.wait_ended("on")
        self.assertEqual(events_of(d.trace("on")), ring.written)
        for _ in range(2):
            ring.file = open("rings/on.ctf", "r+b", buffering=0)
            ring.add(60)
            d.wait(lambda: d.domain("on")["state"] == "running")
            ring.add(30)
            ring.close()
            d.wait_ended("on")
            self.assertEqual(events_of(d.trace("on")), ring.written)
        self.assertEqual([run["run"] for run in d.run_list("on")], [listed[0]["run"]])
        self.assertEqual(d.domain("on")["streams"][0]["lost_packets"], 0)

    @long
    def test_writes_on_by_another_name(self):
        """No event tells of this close: the poll that finds new events checks by itself whether a
        writer is left."""
        d = self.daemons()
        with Ring("rings/on.ctf") as ring:
            ring.add(70)
        d.wait_ended("on")
        os.link("rings/on.ctf", "other")
        ring.file = open("other", "r+b", buffering=0)
        ring.add(60)
        ring.close()
        d.wait(lambda: len(d.captures("on")) == 2)
        self.assertEqual(len(d.wait_ended("on")), 1)
        self.assertEqual(events_of(d.trace("on")), ring.written)

    def test_closed_by_another_name(self):
        """The writer has opened the ring by a name that is not in the directory: no event tells of its close, nor of its death."""
        d = self.daemons()
        ring = Ring(os.path.abspath("elsewhere"))
        os.link("elsewhere", "rings/far.ctf")
        d.wait(lambda: d.domain("far"))
        ring.add_slowly(70)
        d.advance(6)
        self.assertEqual(d.domain("far")["state"], "running")
        ring.close()
        d.advance(6)
        self.assertEqual(len(d.wait_ended("far")), 1)
        self.assertEqual(len(d.captures("far")), 1)
        self.assertEqual(events_of(d.trace("far")), ring.written)

    def test_gone_a_moment_after_the_event(self):
        """The kernel reports a close before it is complete. Here a writer remains behind a
        second name, whose close is not reported at all."""
        d = self.daemons()
        ring = Ring("rings/slow.ctf")
        ring.add(70)
        d.wait(lambda: d.domain("slow") and d.domain("slow")["state"] == "running")
        os.link("rings/slow.ctf", "elsewhere.ctf")
        with open("elsewhere.ctf", "r+b", buffering=0):
            ring.close()
            d.advance(5)
            self.assertEqual(d.domain("slow")["state"], "running")
        d.wait_ended("slow")
        self.assertEqual(events_of(d.trace("slow")), ring.written)


class NoDom0(daemons.Case):
    """mprofd started by hand with default options, on a machine without Xen."""

    def test_sentence(self):
        with contextlib.suppress(OSError), open("/proc/xen/capabilities", encoding="ascii") as f:
            if "control_d" in f.read():
                self.skipTest("this machine is a dom0")
        command = [daemons.program("mprofd"), "--state", "state", "--run", "run", "--config", "/dev/null"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=daemons.HANGS, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn("no Xen dom0", done.stderr)
        self.assertIn("--source dir:PATH", done.stderr)
        self.assertEqual(os.listdir("."), [], "files left in the directory")


if __name__ == "__main__":
    daemons.main()
