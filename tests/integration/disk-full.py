"""Test a disk that becomes full and has room again: disk-full.py BUILD-DIRECTORY [TEST…]"""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import daemons
from daemons import judge

CONFIG = """[collector]
flush-interval = 100ms
queue = 1M
queue-per-guest = 1M
queue-reserve = 1M
[archive]
wal-limit = 1M
free-space = {free}
reserve = {reserve}
"""


def mount(path, megabytes):
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "mprofd-test", path], capture_output=True, check=False)
    return done.returncode == 0


def may_mount():
    path = tempfile.mkdtemp()
    try:
        if not mount(path, 1):
            return False
        subprocess.run(["umount", path], check=True)
        return True
    finally:
        os.rmdir(path)


class Full(daemons.Case):
    def disk(self, megabytes):
        os.mkdir("state")
        self.assertTrue(mount("state", megabytes))
        self.addCleanup(subprocess.run, ["umount", "-l", os.path.abspath("state")], check=True)

    def take(self, f):
        with contextlib.suppress(OSError):
            while True:
                f.write(bytes(65536))

    def fill(self):
        """Fill the disk from outside."""
        with open("state/ballast", "wb", buffering=0) as f:
            self.take(f)

    @contextlib.contextmanager
    def filled(self):
        """Fill the disk from outside, and keep taking freed space until the block ends."""
        done = threading.Event()

        def taker():
            with open("state/ballast", "wb", buffering=0) as f:
                while not done.wait(0.002):
                    self.take(f)

        thread = threading.Thread(target=taker)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
            os.unlink("state/ballast")

    def guest(self, rate):
        return self.writer("writer-legacy", *f"--ring rings/guest.ctf --truth truth.ctf --size 65536 --rate {rate}".split())

    def end(self, d, writer):
        writer.terminate()
        writer.wait(daemons.HANGS)
        d.wait_ended("guest")
        pages = d.packets("guest")
        judge("guest", "truth.ctf", d.trace("guest"), pages, "--ended")
        d.check_integrity()
        return [gap for page in pages for gap in page["gaps"]]

    def refused(self, d):
        """Return how often the queue had no room."""
        return d.collector_metric("mprofd_queue_full_total")

    def check_told(self, said, began):
        """Check that each stop was told once. There are several if this process is too slow to take what the collector frees, when it
        tries again: once a second, on a disk that has been full since BEGAN."""
        told = re.findall("Archiving (stopped|again)", said)
        self.assertLessEqual(len(told) // 2, 2 + time.monotonic() - began)
        self.assertEqual(told, ["stopped", "again"] * (len(told) // 2) + ["stopped"] * (len(told) % 2))

    def test_stops_says_so_and_goes_on(self):
        self.disk(32)
        d = self.daemons(CONFIG.format(free="0", reserve="0"))
        collector = d.collector
        writer = self.guest(2_000_000)
        d.wait(lambda: d.domain("guest") and d.domain("guest")["streams"][0]["packets"] > 10)
        d.wait_ready()
        began = time.monotonic()
        with self.filled():
            d.wait(lambda: d.ask("/readyz")[0] == 503 and b"disk is full" in d.ask("/readyz")[2])
            d.wait(lambda: d.served_metric("mprofd_archiving") == 0)
            before = self.refused(d)
            # A collector that seldom runs finds most packets overwritten: its queue may be full only after these.
            d.wait_written("guest", 60)
            d.wait(lambda: self.refused(d) > before)
            self.check_told(d.said(), began)
            self.assertEqual(d.domain("guest")["state"], "running")
            self.assertEqual(d.ask("/healthz")[0], 200)
            d.wait(lambda: "not archiving: the disk is full" in collector.status())
        d.wait(lambda: d.ask("/readyz")[0] == 200)
        self.assertIs(d.collector, collector)
        self.assertIsNone(collector.poll())
        d.wait_said("Archiving again")
        self.check_told(d.said(), began)
        d.wait_written("guest", 12)
        gaps = self.end(d, writer)
        self.assertIn("disk", {gap["reason"] for gap in gaps})
        self.assertGreater(d.domain("guest")["streams"][0]["lost_packets"], 10)

    def test_stopped_while_full(self):
        """The daemon ends in time, and the next one declares what was not written."""
        self.disk(32)
        d = self.daemons(CONFIG.format(free="0", reserve="0"))
        writer = self.guest(1_000_000)
        d.wait(lambda: d.domain("guest") and d.domain("guest")["streams"][0]["packets"] > 10)
        self.fill()
        d.wait(lambda: d.ask("/readyz")[0] == 503)
        d.collector.terminate()
        self.assertIn(d.collector.wait(daemons.HANGS), (0, 1))
        self.assertNotIn("Sanitizer", d.said())
        os.unlink("state/ballast")
        d.start_collector()
        d.wait_written("guest", 12)
        gaps = self.end(d, writer)
        self.assertEqual(len(d.run_list("guest")), 1)
        self.assertLessEqual({gap["reason"] for gap in gaps}, {"disk", "queue", "lapped", "restart"})

    def test_small_disk(self):
        """A file system that is no larger than what is to stay free is told at the start, before anything is deleted."""
        self.disk(128)
        told = "the file system of .*/(?:archive|memtraces) has 128 MiB in all, and free-space, twice wal-limit and reserve are 448 MiB"
        d = self.enterContext(daemons.Daemons(""))
        d.start()
        self.assertRegex(d.said(), told)
        d.start_sink()
        d.wait(lambda: len(re.findall(told, d.said())) == 2)
        d.stop_collector()
        d.configure(CONFIG.format(free="1M", reserve="1M"))
        d.start_collector()
        d.wait(lambda: d.ask("/readyz")[0] == 200)
        self.assertEqual(len(re.findall("the file system of", d.said())), 2)

    def test_full_at_the_start(self):
        self.disk(4)
        self.fill()
        d = self.enterContext(daemons.Daemons(CONFIG.format(free="0", reserve="0")))
        process = d.spawn("mprofd", "--source", f"dir:{d.rings}")
        self.assertEqual(process.wait(daemons.HANGS), 1)
        self.assertRegex(d.said(), "(?i)full|no space|room")

    def test_oldest_packets_make_room(self):
        """The archive itself fills the disk: the daemon deletes the oldest packets and loses no new
        one."""
        self.disk(16)
        d = self.daemons(CONFIG.format(free="2M", reserve="2M"))
        writer = self.guest(3_000_000)
        d.wait(lambda: d.domain("guest"))
        first = d.wait(lambda: d.packets("guest")[0]["packets"])[0]["sequence"]
        d.wait(lambda: (left := d.packets("guest")[0]["packets"]) and left[0]["sequence"] > first)
        d.wait_written("guest", 100)
        d.wait(lambda: d.ask("/readyz")[0] == 200)  # not while the daemon makes room
        writer.terminate()
        writer.wait(daemons.HANGS)
        d.wait_ended("guest")

        def whole():
            """Return the trace and its packets, if nothing was deleted meanwhile. On a full disk deletion does not wait for readers."""
            before, trace = d.packets("guest"), d.trace("guest")
            d.advance(2)
            pages = d.packets("guest")
            return pages == before and (trace, pages)

        trace, pages = d.wait(whole)
        judge("guest", "truth.ctf", trace, pages, "--ended")
        disk = os.statvfs("state")
        self.assertGreater(disk.f_bavail * disk.f_frsize, 0)
        d.check_integrity()


if __name__ == "__main__":
    if not shutil.which("mount") or not may_mount():
        print("SKIP: a small file system cannot be mounted here: that needs root")
        sys.exit(77)
    daemons.main()
