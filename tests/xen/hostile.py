"""Test that a hostile guest of Xen does not affect others: hostile.py BUILD-DIRECTORY [TEST…]"""

import contextlib
import os
import re
import struct
import sys
import threading
import time

import sim
from daemons import events_of, image, rooms
from sim import PAGE, Refused
from turns import forms

# Values of ring-ref and the reason for refusing each. Pages 8 to 11 hold a ring, which the daemon
# does not look for.
MALFORMED = {
    "": "grammar",
    ",": "grammar",
    "8,": "grammar",
    ",8": "grammar",
    "8,,9": "grammar",
    " 8": "grammar",
    "8 ": "grammar",
    "8, 9": "grammar",
    "+8": "grammar",
    "-8": "grammar",
    "08": "grammar",
    "0x8": "grammar",
    "8;9": "grammar",
    "8\n": "grammar",
    "8,9,": "grammar",
    "eight": "grammar",
    "8.0": "grammar",
    "\u0668": "grammar",
    b"\xff\xfe": "grammar",
    b"8\0": "grammar",
    b"8\0009": "grammar",
    b"\0": "grammar",
    "4294967296": "grammar",
    "99999999999999999999999": "grammar",
    "9" * 3000: "grammar",
    "8," * 1500: "grammar",
    "0": "reference",
    "7": "reference",
    "8,9,7": "reference",
    "8,9,8": "duplicate",
    ",".join(["8"] * 1000): "duplicate",
    "64": "map",
    "8,9,10,64": "map",
    "4294967295": "map",
    ",".join(map(str, range(8, 64))): "ring",
}


class Hostile(sim.Case):
    def neighbour(self, d):
        """Start another guest, which writes all the time."""
        guest = self.guest(1, "neighbour")
        ring = guest.ring(size=16 * PAGE)
        self.addCleanup(ring.close)
        guest.publish(ring)
        d.wait(lambda: d.domain("neighbour"))
        return guest, ring

    def unharmed(self, d, neighbour):
        """Check that all events of the neighbour are archived in time."""
        guest, ring = neighbour
        for _ in range(5):
            ring.add(20)
            time.sleep(0.01)
        self.assertEqual(d.collector.poll(), None)
        guest.die("crashed")
        self.unmapped(d, guest)
        d.wait_ended("neighbour")
        self.assertEqual(events_of(d.trace("neighbour")), ring.written)
        self.assertEqual(d.domain("neighbour")["streams"][0]["lost_packets"], 0)

    def lines(self, d, name):
        """Return the lines of the log about refusing the guest."""
        return [line for line in d.said().splitlines() if f"{name}: " in line and " refused: " in line]

    def refused(self, d, reason):
        return d.metric(f'mprofd_xenstore_refused_total{{reason="{reason}"}}')

    def check(self, d, guest, reason, lines=1):
        """Check that the guest is refused for REASON, with one line of the log and a metric."""
        found = d.wait(lambda: self.lines(d, guest.name))
        d.wait(lambda: self.refused(d, reason) >= 1)
        self.assertEqual(len(found), lines, found)
        self.assertEqual(guest.mapped(), 0)

    def fill(self, guest, refs, packets=4, n=20):
        """Write a ring into these pages of the guest's memory."""
        data = image([b"".join(struct.pack("<QBQ", 1000 + i, 7, i) for i in range(n))], rooms(len(refs) * PAGE, packets))
        for i, ref in enumerate(refs):
            guest.page(ref, data[i * PAGE : (i + 1) * PAGE])


class Values(Hostile):
    def test_malformed(self):
        """Each malformed value is refused, with one line and a count. A good value afterwards is
        taken."""
        d = self.daemons()
        neighbour = self.neighbour(d)
        counts, guests = {}, []
        # The stores let a guest write about two thousand bytes. The C store lets dom0 write more,
        # the other one does not.
        values = {v: r for v, r in MALFORMED.items() if len(v) < 1900 or self.STORE == "xenstored"}
        for i, (value, reason) in enumerate(values.items()):
            guest = self.guest(100 + i, f"bad{i}x")
            writer = guest if len(value) < 1900 else self.store.toolstack
            writer.write(f"{guest.home}/data/mprof/ring-ref", value)
            counts[reason] = counts.get(reason, 0) + 1
            guests.append(guest)
        for i, guest in enumerate(guests):
            found = d.wait(lambda guest=guest: self.lines(d, guest.name))
            self.assertEqual(len(found), 1, (list(values)[i], found))
        for reason, n in counts.items():
            d.wait(lambda reason=reason, n=n: self.refused(d, reason) >= n)
            self.assertEqual(self.refused(d, reason), n, reason)
        for guest in guests:
            self.fill(guest, [20, 21])
            guest.write("data/mprof/ring-ref", "20,21")
        for guest in guests:
            d.wait(lambda guest=guest: guest.mapped() == 2)
        self.unharmed(d, neighbour)

    def test_said_once(self):
        """The same mistake repeated is one line."""
        d = self.daemons()
        guest = self.guest(5, "stubborn")
        for _ in range(30):
            guest.write("data/mprof/ring-ref", "7")
            time.sleep(0.02)
        # Several writes between two reads count once.
        d.wait(lambda: self.refused(d, "reference") >= 5 or guest.write("data/mprof/ring-ref", "7"))
        self.assertEqual(len(self.lines(d, "stubborn")), 1)

    def test_limits_of_numbers(self):
        """The last accepted numbers, and the first refused ones."""
        d = self.daemons()
        cases = {"stream/1": True, "stream/1023": True, "stream/0": False, "stream/1024": False, "stream/01": False}
        cases |= {"stream/-1": False, "stream/x": False, "stream/99999999999": False}
        for i, (key, good) in enumerate(cases.items()):
            guest = self.guest(20 + i, f"number{i}x")
            self.fill(guest, [8, 9])
            guest.write(f"data/mprof/{key}/ring-ref", "8,9")
            if good:
                d.wait(lambda guest=guest: guest.mapped() == 2)
                self.assertEqual(self.lines(d, guest.name), [])
            else:
                self.check(d, guest, "stream-zero" if key == "stream/0" else "streams")

    def test_packets_of_a_ring(self):
        """A ring has 2 to 1,024 packets, which tile it exactly."""
        d = self.daemons()
        layouts = {
            "two": (rooms(16384, 2), True),
            "most": ([64] * 1023 + [65536 - 64 * 1023 + 0], True),
            "one": ([16384], False),
            "more": ([40] * 1025 + [65536 - 40 * 1025], False),
            "short": ([4096] * 3, False),
            "beyond": ([4096] * 3 + [8192], False),
        }
        for i, (name, (sizes, good)) in enumerate(layouts.items()):
            guest = self.guest(20 + i, name)
            size = 16384 if len(sizes) < 10 else 65536
            with open(guest.ring_path(1), "wb") as f:
                f.write(image([], sizes)[:size].ljust(size, b"\0"))
            guest.publish(guest.refs(1, size))
            if good:
                d.wait(lambda guest=guest, size=size: guest.mapped() == size // PAGE)
            else:
                d.wait(lambda guest=guest: self.lines(d, guest.name))
                self.assertEqual(guest.mapped(), 0)

    def test_pages(self):
        """A guest may have 65,536 pages. 65,537 are too many, also in two rings together."""
        d = self.daemons("[xen]\npages = 1000000\n" + sim.QUIET)
        guest = self.guest(5, "huge")
        ring = guest.ring(size=65536 * PAGE, packets=1024)
        ring.add(10)
        ring.close()
        guest.publish_directory(ring.refs, pages=self.pages(guest))
        d.wait(lambda: guest.mapped() == 65536)
        small = guest.ring(k=3)
        small.close()
        guest.publish(small, stream=1)
        d.wait(lambda: len(self.lines(d, "huge")) == 1)
        self.assertEqual(self.refused(d, "pages"), 1)
        self.assertEqual(guest.mapped(), 65536)
        guest.die("crashed")
        d.wait(lambda: not guest.mapped())
        other = self.guest(6, "huger")
        ring = other.ring(size=65536 * PAGE, packets=1024)
        ring.close()
        other.publish_directory([*ring.refs, (3 << 16) + 5], pages=self.pages(other))
        d.wait(lambda: self.lines(d, "huger"))
        self.assertEqual(other.mapped(), 0)

    def test_pages_just_fit(self):
        """A second ring may have exactly the pages that the first one leaves."""
        d = self.daemons("[xen]\npages = 1000000\n" + sim.QUIET)
        guest = self.guest(5, "full")
        ring = guest.ring(size=(65536 - 8) * PAGE, packets=1024)
        ring.add(10)
        ring.close()
        guest.publish_directory(ring.refs, pages=self.pages(guest))
        d.wait(lambda: guest.mapped() == 65536 - 8)
        small = guest.ring(size=8 * PAGE)
        small.close()
        guest.publish(small, stream=1)
        d.wait(lambda: guest.mapped() == 65536)
        self.assertEqual(self.refused(d, "pages"), 0)

    def pages(self, guest):
        """Give the guest more grantable pages for directories than a small guest has."""
        guest.grow(128)
        return range(8, 128)

    def test_pages_of_the_host(self):
        """A limit for all guests together: the first are served, the others get a reason, and freed
        room is used."""
        d = self.daemons("[xen]\npages = 10\n" + sim.QUIET)
        first = self.guest(5, "first")
        one = first.ring(size=8 * PAGE)
        one.close()
        first.publish(one)
        d.wait(lambda: first.mapped() == 8)
        second = self.guest(6, "second")
        two = second.ring(size=4 * PAGE)
        two.close()
        second.publish(two)
        self.check(d, second, "host-pages")
        small = self.guest(7, "small")
        three = small.ring(size=2 * PAGE)
        three.close()
        small.publish(three)
        d.wait(lambda: small.mapped() == 2)
        first.die("poweroff")
        d.wait(lambda: not first.mapped())
        second.publish(two)
        d.wait(lambda: second.mapped() == 4)

    def test_labels(self):
        """Labels are printable or escaped, up to 64 bytes."""
        d = self.daemons()
        labels = {b"plain": "plain", "Gr\u00fc\u00dfe".encode(): "Gr\u00fc\u00dfe", b"a\nb\x1b[31m": "a\\x0ab\\x1b[31m", b"x" * 64: "x" * 64}
        labels |= {b"\xff" * 64: "\\xff" * 64}
        guest = self.guest(5, "labels")
        for k, label in enumerate(labels, 1):
            self.fill(guest, [6 + 2 * k, 7 + 2 * k])
            guest.write(f"data/mprof/stream/{k}/name", label)
            guest.write(f"data/mprof/stream/{k}/ring-ref", f"{6 + 2 * k},{7 + 2 * k}")
        said = d.wait(lambda: (found := d.domain("labels")) and len(found["streams"]) == 5 and found)
        self.assertEqual([s["name"] for s in said["streams"]], list(labels.values()))
        long = self.guest(6, "long")
        self.fill(long, [8, 9])
        long.write("data/mprof/name", b"x" * 65)
        long.write("data/mprof/stream/1/name", b"x" * 65)
        long.write("data/mprof/stream/1/ring-ref", "8,9")
        d.wait(lambda: self.lines(d, "long") or long.mapped() == 2)
        self.assertEqual(d.collector.poll(), None)

    def test_both_keys(self):
        d = self.daemons()
        guest = self.guest(5, "both")
        self.fill(guest, [8, 9])
        with guest.transaction() as tx:
            guest.write("data/mprof/ring-ref", "8,9", tx)
            guest.write("data/mprof/directory-ref", "20", tx)
        self.check(d, guest, "both")
        guest.rm("data/mprof/directory-ref")
        d.wait(lambda: guest.mapped() == 2)

    def test_shared_between_streams(self):
        """A page may belong to one stream only."""
        d = self.daemons()
        guest = self.guest(5, "greedy")
        self.fill(guest, [8, 9])
        guest.write("data/mprof/ring-ref", "8,9")
        d.wait(lambda: guest.mapped() == 2)
        guest.write("data/mprof/stream/1/ring-ref", "10,9")
        d.wait(lambda: self.lines(d, "greedy"))
        self.assertEqual(self.refused(d, "duplicate"), 1)
        self.assertEqual(guest.mapped(8, 9, 10), [1, 1, 0])

    def test_names(self):
        """Users also choose a toolstack's names: they are escaped, one line each."""
        d = self.daemons()
        names = {"with space": "with space", "new\nline": "new\\x0aline", "esc\x1b]0;x": "esc\\x1b]0;x", "a/b": "a/b"}
        for i, (name, shown) in enumerate(names.items()):
            guest = self.guest(20 + i, name)
            self.fill(guest, [8, 9])
            guest.write("data/mprof/ring-ref", "8,9")
            d.wait(lambda shown=shown: d.domain(shown))
        self.assertNotIn("\x1b", d.said())


class Grants(Hostile):
    def test_revoked(self):
        """Pages are revoked before they are mapped, and afterwards."""
        d = self.daemons()
        guest = self.guest(5, "revoker")
        self.fill(guest, [8, 9, 10, 11])
        guest.revoke(10)
        guest.write("data/mprof/ring-ref", "8,9,10,11")
        self.check(d, guest, "map")
        other = self.guest(6, "later")
        self.fill(other, [8, 9])
        other.write("data/mprof/ring-ref", "8,9")
        d.wait(lambda: other.mapped() == 2)
        other.revoke(8, 9)  # mapped pages stay mapped
        other.stop("crashed")
        d.wait_ended("later")
        self.assertEqual(len(events_of(d.trace("later"))), 20)

    def test_dies_in_the_middle(self):
        """The guest dies during the mapping: no zombie, no run, and others are served."""
        d = self.daemons()
        neighbour = self.neighbour(d)
        for reason, removed in (("crashed", False), ("crashed", True), ("running", True)):
            guest = self.guest(5, f"mid-{reason}-{removed}")
            self.fill(guest, [8, 9])
            pause, paused = guest.path("pause"), guest.path("paused")
            with open(pause, "w", encoding="ascii"):
                pass
            guest.write("data/mprof/ring-ref", "8,9")
            d.wait_file(paused)
            guest.words = reason
            if reason != "running":
                guest.stop(reason)
            if removed:
                guest.destroy()
            os.unlink(pause)
            d.advance(3)
            d.wait(lambda: not guest.mapped())
            if not removed:
                d.wait(lambda: d.captures(guest.name))
                self.assertEqual([c["kind"] for c in d.captures(guest.name)], ["crash"])
                guest.destroy()
                d.advance(2)
            guest.forget()
        self.unharmed(d, neighbour)

    def test_slow_to_map(self):
        """A guest whose pages take long to map does not make others lose events."""
        d = self.daemons()
        neighbour = self.neighbour(d)
        guest = self.guest(5, "slow")
        with open(guest.path("slow"), "w", encoding="ascii") as f:
            f.write("20")
        self.fill(guest, [8, 9])
        for _ in range(20):
            neighbour[1].add(5)
            guest.write("data/mprof/ring-ref", "8,9")
            time.sleep(0.03)
        self.unharmed(d, neighbour)

    def test_rings_of_noise(self):
        """Rings of random pages."""
        d = self.daemons()
        neighbour = self.neighbour(d)
        for i in range(20):
            guest = self.guest(20 + i, f"noise{i}")
            for ref in range(8, 24):
                guest.page(ref, os.urandom(PAGE))
            if i % 2:
                self.fill(guest, range(8, 24))  # a ring, until ...
            guest.write("data/mprof/ring-ref", ",".join(map(str, range(8, 24))))
            if i % 2:
                d.wait(lambda guest=guest: guest.mapped() == 16)
                for ref in range(8, 24):
                    guest.page(ref, os.urandom(PAGE))
        d.advance(2)
        for i in range(20):
            self.store_guest(20 + i).stop("crashed")
        d.wait(lambda: not any(self.store_guest(20 + i).mapped() for i in range(20)))
        d.advance(2)
        self.unharmed(d, neighbour)

    def store_guest(self, domid):
        return sim.Guest(self.store, self.kicker, domid, "")


class Directories(Hostile):
    def put_directory(self, guest, page, refs, following=0):
        guest.page(page, struct.pack("<1024I", *refs, *[0] * (1023 - len(refs)), following))

    def test_malformed(self):
        d = self.daemons()
        neighbour = self.neighbour(d)
        full = [(1 << 16) + i for i in range(1023)]

        def make(name, reason, **pages):
            guest = self.guest(20 + len(made), f"{name}x")
            ring = guest.ring(size=3000 * PAGE, packets=4)
            ring.close()
            for page, (refs, following) in pages.items():
                self.put_directory(guest, int(page[1:]), refs, following)
            made.append((guest, reason))
            return guest

        made = []
        make("itself", "directory", p40=(full, 40))
        make("itself-short", "empty", p40=([], 40))
        make("cycle", "directory", p40=(full, 41), p41=([(1 << 16) + 1023 + i for i in range(1023)], 40))
        make("own-page", "duplicate", p40=([40, 41], 0))
        make("empty", "empty", p40=([], 0))
        make("low", "reference", p40=([9, 7], 0))
        make("low-next", "reference", p40=(full, 7))
        make("twice", "duplicate", p40=([9, 10, 9], 0))
        make("twice-far", "duplicate", p40=(full, 41), p41=([full[0]], 0))
        make("bad-next", "map", p40=(full, 4096))
        make("bad-page", "map", p40=([1000], 0))
        make("revoked", "map", p40=([8, 9], 0)).revoke(40)
        endless = self.guest(60, "endlessx")
        endless.grow(1000)
        for page in range(8, 990):
            self.put_directory(endless, page, [], page + 1)
        made.append((endless, ""))
        for guest, _ in made:
            guest.write("data/mprof/directory-ref", "40" if guest is not endless else "8")
        for guest, reason in made:
            found = d.wait(lambda guest=guest: self.lines(d, guest.name))
            self.assertEqual(len(found), 1, found)
            self.assertEqual(guest.mapped(), 0)
            if reason:
                self.assertGreaterEqual(self.refused(d, reason), 1, (guest.name, reason, found))
        for value in ("", "0", "7", "40,41", "040", "4294967296", "x"):
            guest = self.guest(70 + len(value) + ord((value or "0")[0]), f"ref-{value}x")
            guest.write("data/mprof/directory-ref", value)
            d.wait(lambda guest=guest: self.lines(d, guest.name))
            guest.die("crashed")
        self.assertLess(endless.map_counts()[0], 80, "directory pages that are mapped for one ring")
        self.unharmed(d, neighbour)

    def test_behind_a_zero(self):
        """A zero ends the list, and the daemon does not read on."""
        d = self.daemons()
        guest = self.guest(5, "zero")
        self.fill(guest, [8, 9])
        guest.page(40, struct.pack("<1024I", 8, 9, 0, 7, 8, *[3] * 1018, 40))
        guest.write("data/mprof/directory-ref", "40")
        d.wait(lambda: guest.mapped() == 2)
        self.assertEqual(self.lines(d, "zero"), [])

    def test_full_page(self):
        """One page holds 1,023 references; the next one is in another."""
        d = self.daemons()
        for i, n in enumerate((1023, 1024)):
            guest = self.guest(5 + i, f"n{n}")
            ring = guest.ring(size=n * PAGE)
            ring.close()
            guest.publish_directory(ring)
            d.wait(lambda guest=guest, n=n: guest.mapped() == n)

    def test_changes_while_it_is_read(self):
        """The daemon copies the list once: it maps one state of the list or another, and never a
        forbidden page."""
        d = self.daemons()
        neighbour = self.neighbour(d)
        guest = self.guest(5, "flicker")
        self.fill(guest, [8, 9])
        good = struct.pack("<1024I", 8, 9, *[0] * 1022)
        bad = [struct.pack("<1024I", *[i % 8] * 1023, 40) for i in range(8)]
        bad += [struct.pack("<1024I", *[9] * 1024), struct.pack("<1024I", *range(8, 1032)), os.urandom(PAGE)]
        stop = threading.Event()

        def flicker():
            i = 0
            while not stop.is_set():
                guest.page(40, good)
                guest.page(40, bad[i % len(bad)])
                i += 1

        thread = threading.Thread(target=flicker)
        thread.start()
        try:
            for _ in range(100):
                guest.write("data/mprof/directory-ref", "40")
                time.sleep(0.02)
        finally:
            stop.set()
            thread.join()
        guest.page(40, good)
        self.assertLessEqual(len(self.lines(d, "flicker")), 8)
        self.assertEqual(guest.mapped(0, 1, 2, 3, 4, 5, 6, 7), [0] * 8)
        self.unharmed(d, neighbour)


CHANGES_A_MINUTE = 1000  # changes of a guest that are processed in a minute: schema/xenstore.md


class Floods(Hostile):
    def flood(self, d, guest, write, seconds=3):
        """Call WRITE(i) as fast as the store takes it, and often enough on a slow machine, until
        the daemon ignores the guest."""
        until, i = time.monotonic() + seconds, 0
        while time.monotonic() < until or i < 2 * CHANGES_A_MINUTE:
            write(i)
            i += 1

        def ignored():  # some minute has enough of them sooner or later, on a slow machine, too
            found = self.lines(d, guest.name)
            for k in range(0 if found else 200):
                write(k)
            return found

        found = d.wait(ignored)
        d.wait(lambda: self.refused(d, "changes") >= 1)
        return i, found

    def writes(self, d):
        """Return how often the daemon has written: to the store, or to a file."""
        with open(f"/proc/{d.collector.pid}/io", encoding="ascii") as f:
            return int(re.search(r"^syscw: (\d+)$", f.read(), re.M)[1])

    def test_of_keys(self):
        """After some hundreds of changes the daemon ignores the guest: one line, and further writes
        cost nothing."""
        d = self.daemons()
        neighbour = self.neighbour(d)
        guest = self.guest(5, "flood")
        self.fill(guest, [8, 9])
        written, found = self.flood(d, guest, lambda i: guest.write("data/mprof/ring-ref", "8,9"))
        self.assertGreater(written, 1000)
        self.assertEqual(len([line for line in found if "change too often" in line]), 1)
        self.assertLess(len(d.run_list("flood")) if d.domain("flood") else 0, 50)
        spent, said = self.writes(d), len(d.said().splitlines())
        written, _ = self.flood(d, guest, lambda i: guest.write("data/mprof/ring-ref", "8,9"), 2)
        print(f"the daemon wrote {self.writes(d) - spent} times while the guest wrote {written} times", file=sys.stderr)
        self.assertLess(self.writes(d) - spent, written / 4)
        self.assertLess(len(d.said().splitlines()) - said, 5)
        self.unharmed(d, neighbour)

    def test_of_runs(self):
        """The guest publishes another ring repeatedly, too slowly for the limit of changes: ten runs
        a minute are allowed."""
        d = self.daemons()
        guest = self.guest(5, "restless")
        ring = guest.ring()
        self.addCleanup(ring.close)
        ring.add(10)
        guest.publish(ring)
        runs, began = 1, time.monotonic()
        minutes = lambda: 1 + (time.monotonic() - began) // 60
        while "change too often" not in d.said():
            d.wait(lambda: (d.domain("restless") and len(d.run_list("restless")) >= runs) or "change too often" in d.said())
            self.assertLess(runs, 20 * minutes())
            guest.publish(ring)
            runs += 1
        self.assertGreater(runs, 8)
        d.wait(lambda: not guest.mapped())
        self.assertLess(len(d.run_list("restless")), 14 * minutes())

    def test_of_names(self):
        """Changes of unknown keys count, too."""
        d = self.daemons()
        neighbour = self.neighbour(d)
        guest = self.guest(5, "names")
        self.flood(d, guest, lambda i: guest.write(f"data/mprof/x{i % 100}", "y"))
        self.unharmed(d, neighbour)

    def test_of_streams(self):
        """Each stream has a malformed value."""
        d = self.daemons()
        neighbour = self.neighbour(d)
        guest = self.guest(5, "many")
        self.flood(d, guest, lambda i: guest.write(f"data/mprof/stream/{i % 200 + 1}/ring-ref", "7"))
        self.assertLess(len(self.lines(d, "many")), 5)
        self.unharmed(d, neighbour)

    def test_crashes_while_it_is_left_alone(self):
        """The daemon still polls the mapped ring of an ignored guest, and unmaps it in time."""
        d = self.daemons()
        guest = self.guest(5, "rests")
        ring = self.publish(guest, 30)
        d.wait(lambda: d.domain("rests"))
        self.flood(d, guest, lambda i: guest.write(f"data/mprof/x{i % 100}", "y"), 1.5)
        ring.add(30)
        guest.die("crashed")
        self.unmapped(d, guest)
        d.wait_ended("rests")
        self.assertEqual(events_of(d.trace("rests")), ring.written)
        self.assertEqual([c["kind"] for c in d.captures("rests")], ["crash"])

    def test_of_domains(self):
        """Domains come and go without ever publishing."""
        d = self.daemons()
        neighbour = self.neighbour(d)
        for i in range(150):
            guest = self.guest(10 + i % 50, f"brief{i}")
            guest.write("data/mprof/ring-ref", "7" if i % 2 else "8")
            guest.destroy()
            d.wait(lambda guest=guest: not guest.mapped())  # so that the daemon sees each domain
            guest.forget()
        self.unharmed(d, neighbour)
        self.assertLess(len(d.said().splitlines()), 400)
        files = f"/proc/{d.collector.pid}/fd"
        d.wait(lambda: len(os.listdir(files)) < 50)
        d.wait(lambda: d.metric("mprofd_domains") < 5)


class Quotas(Hostile):
    def test_full(self):
        """A guest that has used up its quota of the store only hurts itself."""
        d = self.daemons()
        neighbour = self.neighbour(d)
        guest = self.guest(5, "full")
        with self.assertRaises(Refused):
            for i in range(20000):
                guest.write(f"data/n{i}", "x")
        with contextlib.suppress(Refused):
            guest.write("data/mprof/ring-ref", "8,9")
        self.unharmed(d, neighbour)

    def test_thousands_of_streams(self):
        """The daemon serves 64 streams of thousands, with one line for the others."""
        d = self.daemons()
        neighbour = self.neighbour(d)
        guest = self.guest(5, "wide")
        guest.grow(256)
        tools = self.store.toolstack  # the store itself would not let the guest write so many
        for k in range(1, 1024):
            self.fill(guest, [8 + 2 * (k % 100), 9 + 2 * (k % 100)])
            tools.mkdir(f"{guest.home}/data/mprof/stream/{k}")
        d.advance(2)
        d.wait(lambda: self.lines(d, "wide"))
        self.assertLessEqual(len(self.lines(d, "wide")), 2)
        self.unharmed(d, neighbour)

    def test_sixty_four_streams(self):
        """The 65th stream is refused."""
        d = self.daemons()
        guest = self.guest(5, "wide")
        guest.grow(256)
        for k in range(64):
            self.fill(guest, [8 + 2 * k, 9 + 2 * k])
            guest.write(f"data/mprof/{f'stream/{k}/' if k else ''}ring-ref", f"{8 + 2 * k},{9 + 2 * k}")
            time.sleep(0.01)
        d.wait(lambda: guest.mapped() == 128)
        self.assertEqual(self.lines(d, "wide"), [])
        self.fill(guest, [200, 201])
        guest.write("data/mprof/stream/64/ring-ref", "200,201")
        d.wait(lambda: self.lines(d, "wide"))
        self.assertGreaterEqual(self.refused(d, "streams"), 1)
        self.assertEqual(guest.mapped(), 128)
        guest.withdraw(63)
        d.wait(lambda: guest.mapped() == 126)
        guest.write("data/mprof/stream/64/ring-ref", "200,201")
        d.wait(lambda: guest.mapped() == 128)

    def test_large_subtree(self):
        """The context of a capture holds as much of the subtree as it may, and says that there was
        more."""
        d = self.daemons()
        guest = self.guest(5, "tree")
        ring = guest.ring()
        self.addCleanup(ring.close)
        ring.add(10)
        with contextlib.suppress(Refused):
            for i in range(400):
                guest.write(f"data/n{i}", "v" * 1000)
        guest.publish(ring)
        d.wait(lambda: d.domain("tree"))
        time.sleep(2)
        guest.die("crashed")
        d.wait_ended("tree")
        capture = d.wait(lambda: d.captures("tree"))[0]
        context = d.wait(lambda: (c := d.json(f"/v1/captures/{capture['id']}/context"))["reason"] and c)
        self.assertEqual(context["reason"], "crash")
        self.assertFalse(context["xenstore_complete"])
        self.assertLess(len(str(context["xenstore"])), 200_000)


class ValuesOCaml(Values):
    STORE = "oxenstored"


class DirectoriesOCaml(Directories):
    STORE = "oxenstored"


class FloodsOCaml(Floods):
    STORE = "oxenstored"


forms(Values, ValuesOCaml)
forms(Directories, DirectoriesOCaml)
forms(Floods, FloodsOCaml)

if __name__ == "__main__":
    sim.main()
