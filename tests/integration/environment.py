"""Test how users, shells and service managers run the daemons: environment.py BUILD-DIRECTORY
[TEST…]"""

import itertools
import os
import random
import shutil
import subprocess

import daemons
from daemons import Ring, event, events_of, image, rooms, small_ring

DAEMONS = ("mprofd", "mprofd-http", "mprofd-sink")


class Arguments(daemons.Case):
    def refused(self, name, *arguments):
        """Check that NAME refuses its arguments with one sentence. Return the sentence."""
        done = subprocess.run([daemons.program(name), *arguments], capture_output=True, text=True, check=False, timeout=daemons.HANGS)
        self.assertIn(done.returncode, (1, 2), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith(name), done.stderr)
        return done.stderr

    def test_empty_directories(self):
        """An empty directory name would mean the root directory."""
        os.makedirs("rings")
        source = ["--source", "dir:rings"]
        for name in DAEMONS:
            for option, other in (("--state", "--run"), ("--run", "--state")):
                arguments = [option, "", other, os.getcwd(), "--config", os.devnull, *(source if name == "mprofd" else [])]
                self.assertIn(f"{option} is empty", self.refused(name, *arguments))
                self.assertIn(f"{option} is empty", self.refused(name, f"{option}=", *arguments[2:]))

    def test_two_sources(self):
        for first, second in (("dir:a", "dir:b"), ("xen", "dir:a"), ("dir:a", "dir:a")):
            self.assertIn(f"--source {second}: --source was given before", self.refused("mprofd", "--source", first, "--source", second))

    def test_a_glob_that_does_not_end(self):
        with open("mprofd.conf", "w", encoding="utf-8") as f:
            f.write("[policy [a]\nage = 1d\n")
        for name in DAEMONS:
            said = self.refused(name, "--config", "mprofd.conf", "--state", ".", "--run", ".")
            self.assertIn("mprofd.conf:1: the glob [a has a [ without its ]", said)


class Deleted(daemons.Case):
    """The archive is deleted while the daemon writes it. The daemon says so and ends, and the next
    one begins a new archive."""

    def check(self, make_room):
        d = self.daemons()
        ring = self.enterContext(Ring("rings/guest.ctf"))
        d.wait(lambda: d.domain("guest"))
        ring.add_slowly(20)
        make_room(d.state)
        self.assertEqual(d.collector.wait(daemons.PATIENCE), 1)
        self.assertEqual(d.said().count("was deleted or replaced"), 1)
        self.assertIn(f"{d.state}/archive/trace.db was deleted or replaced", d.said())
        d.collector = None
        d.start_collector()
        d.wait(lambda: (d.domain("guest") or {}).get("state") == "running")
        ring.add_slowly(20)
        ring.close()
        d.wait_ended("guest")
        self.assertEqual(events_of(d.trace("guest")), ring.written)

    def test_deleted(self):
        self.check(lambda state: shutil.rmtree(os.path.join(state, "archive")))

    def test_moved_away(self):
        self.check(lambda state: os.rename(os.path.join(state, "archive"), "before"))

    def test_another_in_its_place(self):
        def replace(state):
            path = os.path.join(state, "archive/trace.db")
            with open(path + ".new", "wb"):
                pass
            for end in ("-wal", "-shm"):
                os.unlink(path + end)
            os.rename(path + ".new", path)

        self.check(replace)

    def test_of_memory_profiles(self):
        os.makedirs("run/sink")
        os.makedirs("state")
        with open("mprofd.conf", "w", encoding="utf-8") as f:
            f.write(f"{daemons.QUIET}[sink]\nlisten = 127.0.0.1:0\n")
        sink = daemons.Program([daemons.program("mprofd-sink"), "--state", "state", "--run", "run", "--config", "mprofd.conf"])
        self.addCleanup(sink.end)
        sink.wait_ready()
        shutil.rmtree("state/memtraces")
        self.assertEqual(sink.wait(daemons.PATIENCE), 1)
        sink.says("memtraces.db was deleted or replaced")


class SizeLimit(daemons.Case):
    """The daemons report a limit of file sizes like a full disk, and are not killed by it."""

    def test_while_it_runs(self):
        d = self.enterContext(daemons.Daemons())
        d.prefix = ["sh", "-c", 'ulimit -S -f 8192 && exec "$@"', "sh"]  # 4 MiB
        d.start()
        d.wait_ready()
        parts, made = rooms(1 << 20, 4), itertools.count()

        def full():
            # Random threads make the archive grow.
            bodies = [b"".join(event(1000 + i, random.getrandbits(63)) for i in range(15000)) for _ in range(3)]
            with open(f"rings/guest-{next(made)}.ctf", "wb") as f:
                f.write(image(bodies, parts))
            status, _, body = d.ask("/readyz")
            return status == 503 and b"size limit of files" in body

        d.wait(full)
        d.wait(lambda: "size limit of files" in d.said())
        self.assertIsNone(d.collector.poll())
        subprocess.run(["prlimit", f"--pid={d.collector.pid}", "--fsize=unlimited:"], check=True)
        d.wait(lambda: d.ask("/readyz")[0] == 200)
        with open("rings/later.ctf", "wb") as f:
            f.write(small_ring())
        d.wait_ended("later")

    def test_at_the_start(self):
        os.makedirs("rings")
        done = subprocess.run(
            ["sh", "-c", 'ulimit -f 64 && exec "$@"', "sh", daemons.program("mprofd"), "--source", "dir:rings",
             "--state", "state", "--run", "run", "--config", os.devnull],
            capture_output=True, text=True, check=False, timeout=daemons.HANGS,
        )  # fmt: skip
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("size limit", done.stderr)


if __name__ == "__main__":
    daemons.main()
