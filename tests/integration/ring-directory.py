"""Test the ring directory itself: replaced, mounted over, with too many files, or not readable:
ring-directory.py BUILD-DIRECTORY [TEST…]"""

import ctypes
import json
import os
import shutil
import signal
import subprocess
import threading
import time
import unittest

import daemons
from daemons import Ring, events_of, small_ring

CLONE_NEWNS = 0x20000
LIMIT = 4096
NOBODY = 65534


def put(path, data):
    """Write a whole file at once, by a rename."""
    with open("whole", "wb") as f:
        f.write(data)
    os.rename("whole", path)


def metric(d, name):
    """Return a metric's value, or None."""
    lines = d.metrics().splitlines()
    return next((float(line.split()[-1]) for line in lines if line.startswith(f"{name} ")), None)


class Case(daemons.Case):
    def begin(self, name, n=100, directory="rings"):
        """Begin a ring that stays open for writing. Wait until N of its events are archived."""
        ring = Ring(f"{directory}/{name}.ctf")
        self.addCleanup(ring.close)
        self.d.wait(lambda: self.d.domain(name))
        ring.add_slowly(n)
        self.d.wait_archived(ring, name, n // 2 + 1)
        return ring

    def ended(self, name, ring, at_least=1):
        """Check that the first run of NAME has ended properly, with a capture and the contents of
        RING."""
        self.d.wait(lambda: self.d.run_list(name) and self.d.run_list(name)[0]["state"] == "ended")
        run = self.d.run_list(name)[0]
        self.assertEqual(run["reason"], "ended")
        self.assertIn(run["run"], [capture["run"] for capture in self.d.captures(name)])
        had = events_of(self.d.trace(name, f"?run={run['run']}"))
        self.assertEqual(had, ring.written[: len(had)])
        self.assertGreaterEqual(len(had), at_least)

    def ready(self, status):
        self.d.wait(lambda: self.d.ask("/readyz")[0] == status)

    def not_ready(self, *words):
        """Wait until /readyz has status 503 and WORDS. Its sentence is another while the collector gets no processor."""

        def told():
            status, _, body = self.d.ask("/readyz")
            return status == 503 and all(word in body.decode() for word in words)

        self.d.wait(told)

    def away(self):
        """Check that the daemon reports the missing directory, once in the log."""
        self.not_ready("ring directory", "rings")
        self.assertEqual(metric(self.d, "mprofd_directory_present"), 0)
        self.d.advance(5)  # more polls, which log nothing
        self.assertEqual(self.d.said().count("cannot be watched"), 1)


class Replaced(Case):
    """The path of the directory comes to mean another directory, or none."""

    def test_moved_away_and_back(self):
        self.d = self.daemons()
        old = self.begin("guest")
        os.rename("rings", "moved")
        self.away()
        self.ended("guest", old, 100)
        os.mkdir("rings")
        self.ready(200)
        with Ring("rings/other.ctf", base=5_000_000) as new:
            new.add(20)
        self.d.wait_ended("other")
        self.assertEqual(events_of(self.d.trace("other")), new.written)
        self.assertEqual(metric(self.d, "mprofd_directory_replacements_total"), 1)
        # A ring written into the old directory now is no guest.
        put("moved/lost.ctf", small_ring())
        put("rings/found.ctf", small_ring())
        self.d.wait_ended("found")
        self.assertIsNone(self.d.domain("lost"))

    def test_moved_and_another_in_its_place(self):
        """A rename over the directory leaves no moment without one."""
        self.d = self.daemons()
        old = self.begin("guest")
        os.mkdir("next")
        put("next/guest.ctf", small_ring())
        libc = ctypes.CDLL(None, use_errno=True)
        self.assertEqual(libc.renameat2(-100, b"next", -100, b"rings", 2), 0)  # RENAME_EXCHANGE
        self.d.wait_ended("guest", 2)
        self.ended("guest", old, 100)
        self.assertEqual(events_of(self.d.trace("guest")), [(1000 + i, i) for i in range(10)])
        self.d.wait(lambda: "is another directory now" in self.d.said())

    def test_removed_and_made_anew(self):
        """Many guests lose their directory at once: each ends with the whole contents of its ring."""
        self.d = self.daemons()
        names = [f"guest-{i}" for i in range(80)]
        rings = {name: self.enterContext(Ring(f"rings/{name}.ctf")) for name in names}
        self.d.wait(lambda: all(domain["state"] == "running" for domain in self.listed(names)))
        for ring in rings.values():
            ring.add(20)
        shutil.rmtree("rings")
        self.away()
        self.d.wait(lambda: all(domain["state"] == "ended" for domain in self.listed(names)))
        for name in names:
            self.ended(name, rings[name], 20)
        os.mkdir("rings")
        self.ready(200)
        put("rings/new.ctf", small_ring())
        self.d.wait_ended("new")

    def listed(self, names):
        found = [self.d.domain(name) for name in names]
        return found if all(found) else [{"state": "none"}]

    def test_under_load(self):
        """The old ring and the new one are written all the time."""
        self.d = self.daemons()
        stop = threading.Event()
        old, new = self.begin("old"), None
        os.mkdir("next")
        new = self.enterContext(Ring("next/new.ctf", 1 << 22, base=9_000_000))  # it holds minutes, so that no ring is lapped

        def write():
            while not stop.is_set():
                old.add(1)
                new.add(1)
                time.sleep(0.001)

        thread = threading.Thread(target=write)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(stop.set)
        for _ in range(3):
            os.rename("rings", "moved")
            os.rename("next", "rings")
            os.rename("moved", "next")
            time.sleep(0.3)
        self.ended("old", old, 100)
        self.d.wait(lambda: (self.d.domain("new") or {}).get("state") == "running")
        stop.set()
        thread.join()
        new.close()
        self.d.wait(lambda: all(run["state"] == "ended" for run in self.d.run_list("new")))
        run = self.d.run_list("new")[-1]["run"]
        had = events_of(self.d.trace("new", f"?run={run}"))
        self.assertEqual(had, new.written[-len(had) :])
        self.assertGreater(len(had), 20)
        self.ready(200)

    def test_absent_at_the_start(self):
        """The daemon reports a wrong path at once."""
        done = subprocess.run(
            [daemons.program("mprofd"), "--source", "dir:absent", "--state", "state", "--run", "run", "--config", os.devnull],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        self.assertEqual(done.returncode, 1)
        self.assertIn("dir:absent cannot be watched: error=No such file or directory", done.stderr)


class Mounted(Case):
    def test_mounted_and_unmounted(self):
        """inotify reports neither mount nor unmount."""
        libc = ctypes.CDLL(None, use_errno=True)
        if os.geteuid() != 0 or libc.unshare(CLONE_NEWNS) != 0:
            raise unittest.SkipTest("only root may mount, in a mount namespace of its own")
        if subprocess.run(["mount", "--make-rprivate", "/"], check=False).returncode:
            raise unittest.SkipTest("mounts cannot be made private here")
        self.d = self.daemons()
        old = self.begin("below")
        subprocess.run(["mount", "-t", "tmpfs", "rings", "rings"], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", "rings"], check=False, stderr=subprocess.DEVNULL)
        self.ended("below", old, 100)
        above = self.begin("above")
        self.assertIn("is another directory now", self.d.said())
        subprocess.run(["umount", "-l", "rings"], check=True)
        self.ended("above", above, 100)
        self.d.wait(lambda: len(self.d.run_list("below")) == 2)
        self.assertEqual(self.d.domain("below")["state"], "running")


class Limit(Case):
    def test_a_change_costs_the_same_among_many(self):
        """A change costs the same number of lookups and scans among many files."""
        self.d = self.daemons()
        for i in range(1500):
            put(f"rings/junk-{i}", b"no ring")
        self.d.wait(lambda: metric(self.d, "mprofd_directory_files") == 1500)
        lookups, scans = self.work()
        for i in range(100):
            put(f"rings/change-{i % 10}", b"another")
            if i % 3 == 0:
                os.unlink(f"rings/change-{i % 10}")
        put("rings/last.ctf", small_ring())
        self.d.wait_ended("last")
        more, again = self.work()
        self.assertEqual(again, scans)
        self.assertGreater(more, lookups)
        self.assertLess(more - lookups, 1000)

    def work(self):
        return metric(self.d, "mprofd_directory_lookups_total"), metric(self.d, "mprofd_directory_scans_total")

    def junk(self, n, name="junk"):
        for i in range(n):
            with open(f"rings/{name}-{i}", "wb"):
                pass

    def left(self, n):
        """Wait until N files are left out, and until /readyz says so."""
        self.d.wait(lambda: metric(self.d, "mprofd_directory_files_left") == n)
        answer = self.d.wait_ready()
        if n:
            self.assertIn(f"leaves out {n},", answer["note"])
        else:
            self.assertEqual(answer, {"status": "ok"})

    def test_past_the_limit(self):
        """The oldest files to which nobody writes are left out, so new guests are found. The log, the metrics, /readyz and answers about
        absent guests say so, until there is room."""
        os.makedirs("rings")
        self.junk(LIMIT)
        self.d = self.daemons()
        self.assertNotIn("holds more than", self.d.said())
        self.assertNotIn("holds more than", self.absent("nobody"))
        self.left(0)
        for name in ("guest", "second", "third"):
            put(f"rings/{name}.ctf", small_ring())
        for name in ("guest", "second", "third"):
            self.d.wait_ended(name)
        self.left(3)
        self.d.wait(lambda: "holds more than 4096 files" in self.absent("nobody"))
        self.assertEqual(self.d.said().count("holds more than 4096 files"), 1)
        self.assertEqual(metric(self.d, "mprofd_directory_files"), LIMIT)
        self.d.stop_server()
        self.d.start_server()
        self.d.wait(lambda: "holds more than 4096 files" in self.absent("nobody"))
        for i in range(3):
            os.unlink(f"rings/junk-{i}")
        self.left(0)
        self.d.wait(lambda: "holds more than" not in self.absent("nobody"))
        # The report also ends when the files past the limit go. The first time, a scan that is due
        # already may notice.
        for i in range(3):
            put(f"rings/more-{i}.ctf", small_ring())
        self.left(3)
        for i in range(3):
            os.unlink(f"rings/more-{i}.ctf")
            self.left(2 - i)
        self.d.wait(lambda: "holds more than" not in self.absent("nobody"))

    def test_known_come_first(self):
        """At the start a guest whose run goes on comes first, though it is the oldest file of 5,000, and then the newest. A directory is found,
        too, and a scan does not change what is watched."""
        self.d = self.daemons()
        ring = self.begin("old")
        self.d.stop_collector()
        put("rings/middle.ctf", small_ring())
        self.junk(5000)
        put("rings/new.ctf", small_ring())
        self.d.start_collector()
        self.d.wait_ended("new")
        self.left(5003 - LIMIT)
        self.assertEqual([run["state"] for run in self.d.run_list("old")], ["running"])
        self.assertIsNone(self.d.domain("middle"))
        ring.add_slowly(100)
        self.d.wait_archived(ring, "old", 150)
        os.makedirs("rings/set")
        put("rings/set/one.ctf", small_ring())
        self.d.wait(lambda: self.d.domain("set"))
        self.left(5005 - LIMIT)
        os.unlink("rings/new.ctf")
        self.left(5004 - LIMIT)
        self.assertEqual(metric(self.d, "mprofd_directory_files"), LIMIT)

    def test_lines(self):
        """Programs begin and end rings as often as they like, and do not flood the log with that."""
        self.d = self.daemons()
        began = time.monotonic()
        for i in range(150):
            put(f"rings/guest-{i}.ctf", small_ring())
        self.d.wait(lambda: metric(self.d, "mprofd_archive_runs") == 150 and metric(self.d, "mprofd_archive_runs_running") == 0)
        lines = [line for line in self.d.said().splitlines() if " run=" in line]
        self.assertIn("new run", lines[0])
        self.assertLessEqual(len(lines), 128 * (1 + (time.monotonic() - began) // 30))

    def absent(self, name):
        status, _, body = self.d.ask(f"/v1/domains/{name}/trace")
        self.assertEqual(status, 404)
        return body.decode()

    def test_many_at_once(self):
        """Between two polls more names change than the daemon remembers; it finds all of them."""
        self.d = self.daemons()
        self.d.collector.freeze()
        for i in range(2500):
            with open(f"rings/junk-{i}", "wb"):
                pass
            if i == 500:
                put("rings/guest.ctf", small_ring())
        self.d.collector.send_signal(signal.SIGCONT)
        self.d.wait_ended("guest")
        self.d.wait(lambda: metric(self.d, "mprofd_directory_files") == 2501)

    def test_lost_events(self):
        """The daemon is stopped until the kernel drops events: a close, a new ring and a deleted
        one are among them."""
        with open("/proc/sys/fs/inotify/max_queued_events", encoding="ascii") as f:
            queue = int(f.read())
        if queue > 100_000:
            raise unittest.SkipTest("inotify's queue is too long to be filled")
        self.d = self.daemons()
        closed, gone = self.begin("closed"), self.begin("gone")
        self.d.collector.freeze()
        for i in range(queue + 100):
            with open(f"rings/flood-{i % 2}", "wb"):
                pass
        for i in range(2):
            os.unlink(f"rings/flood-{i}")
        closed.add(10)
        closed.close()
        os.unlink("rings/gone.ctf")
        put("rings/new.ctf", small_ring())
        self.d.collector.send_signal(signal.SIGCONT)
        for name in ("new", "closed", "gone"):
            self.d.wait_ended(name)
        self.ended("closed", closed, 110)
        self.ended("gone", gone, 100)


class Closed(Case):
    """Permissions. They do not apply to root, so the collector runs as another user."""

    def start(self):
        d = self.enterContext(daemons.Daemons())
        if os.geteuid() == 0:
            for path in (d.rings, d.state, d.runs):
                os.chown(path, NOBODY, NOBODY)
            os.chmod(d.root, 0o755)
            d.prefix = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
            if subprocess.run([*d.prefix, daemons.program("mprofd"), "--version"], capture_output=True, check=False).returncode:
                raise unittest.SkipTest("the build directory is closed to other users, or setpriv is absent")
        d.start()
        return d

    def test_a_ring(self):
        """The collector takes an unreadable ring as soon as it may read it, without another event."""
        self.d = self.start()
        put("closed.ctf", small_ring())
        os.chmod("closed.ctf", 0)
        os.rename("closed.ctf", "rings/closed.ctf")
        self.d.wait(lambda: "closed.ctf cannot be read" in self.d.said())
        os.chmod("rings/closed.ctf", 0o644)
        self.d.wait(lambda: self.d.domain("closed"))

    def test_the_directory(self):
        self.d = self.start()
        os.chmod("rings", 0)
        self.not_ready("cannot be listed")
        put("new.ctf", small_ring())
        os.chmod("rings", 0o755)
        self.ready(200)
        os.chmod("rings", 0)
        self.ready(503)
        if os.geteuid() == 0:
            os.rename("new.ctf", "rings/new.ctf")
            os.chmod("rings", 0o755)
            self.d.wait(lambda: self.d.domain("new"))
        else:
            os.chmod("rings", 0o755)
        self.ready(200)


class Names(Case):
    def test_with_and_without_the_ending(self):
        """`honest` and `honest.ctf` are two guests, whichever comes first, also after a restart."""
        self.d = self.daemons()
        for first, second in (("a", "a.ctf"), ("b.ctf", "b")):
            one = self.enterContext(Ring(f"rings/{first}"))
            self.d.wait(lambda first=first: self.d.domain(first.removesuffix(".ctf")))
            two = self.enterContext(Ring(f"rings/{second}", base=7_000_000))
            self.d.wait(lambda second=second: self.d.domain(second.removesuffix(".ctf") + ".ctf"))
            rings = {first: one, second: two}
            for name, ring in rings.items():
                ring.add_slowly(20)
                self.d.wait_archived(ring, name, 11)
        self.d.stop_collector()
        self.d.start_collector()
        for name in ("a", "a.ctf", "b", "b.ctf"):
            self.d.wait(lambda name=name: self.d.domain(name)["state"] == "running")
            self.assertEqual(len(self.d.run_list(name)), 1)
        self.assertEqual(len(self.d.json("/v1/domains")["domains"]), 4)

    def test_a_name_taken_while_the_file_was_empty(self):
        """`web.ctf` exists first, and becomes a ring after `web` has become one."""
        self.d = self.daemons()
        with open("rings/web.ctf", "w+b"):
            self.enterContext(Ring("rings/other"))
            self.d.wait(lambda: self.d.domain("other"))  # the collector has seen the empty file
            self.enterContext(Ring("rings/web"))
            self.d.wait(lambda: self.d.domain("web"))
            self.enterContext(Ring("rings/web.ctf", base=7_000_000))
            self.d.wait(lambda: len(self.d.json("/v1/domains")["domains"]) == 3)
        self.assertEqual({d["name"] for d in self.d.json("/v1/domains")["domains"]}, {"other", "web", "web.ctf"})


if __name__ == "__main__":
    daemons.main()
