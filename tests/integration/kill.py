"""Kill each program at random with SIGKILL, under load: kill.py BUILD-DIRECTORY [TEST…]

Everything committed before a kill is in the archive after it. Some kills come when the archive has
reached what a guest had written before: the collector commits that by itself, since nobody reads.
commits.py tests that the flush interval is the latest. At the end each guest's trace is compared with
its truth: no event twice, no false gap. MPROF_KILLS is the number of kills of each program (100; 8
with --brief or MPROF_BRIEF=1).
"""

import json
import os
import random
import struct
import sys
import time

import daemons
from daemons import QUIET, judge

BRIEF = "--brief" in sys.argv or os.environ.get("MPROF_BRIEF") == "1"
KILLS = 8 if BRIEF else int(os.environ.get("MPROF_KILLS", "100"))
STEADY = ("steady", "--size 131072 --rate 250000 --leash steady.leash")
FAST = ("fast", "--size 32768 --rate 800000")
VICTIM = "--size 2097152 --rate 400000 --gc-percent 10"  # its ring holds more than the guest writes


class Killed(daemons.Case):
    def setUp(self):
        super().setUp()
        self.seed = int(os.environ.get("MPROF_SEED", time.time_ns() % 2**32))
        self.random = random.Random(self.seed)
        self.victims = 0
        self.last = {}  # the event and the store at which a victim was killed
        self.behind = []  # seconds from the newest archived copy to the kill

    def guest(self, name, options):
        return self.writer("writer-legacy", "--ring", f"rings/{name}.ctf", "--truth", f"{name}.truth", *options.split())

    def next_victim(self):
        """Start a guest that kills itself at some store, so that its truth is known to the byte."""
        self.victims += 1
        after = self.random.randrange(20_000, 200_000)
        return self.guest(f"victim-{self.victims}", f"{VICTIM} --kill-after {after} --seed {self.victims}")

    def committed(self, d):
        """Return the end of each stream in the archive."""
        rows = d.query("SELECT stream, sequence, max(offset + length) FROM chunks GROUP BY stream, sequence")
        ends = {}
        for stream, sequence, end in rows:
            ends[stream] = max(ends.get(stream, (0, 0)), (sequence, end))
        return ends

    def wait_reached(self, d):
        """Wait until the archive has what the steady guest has begun, and more."""
        begun = daemons.newest("rings/steady.ctf")
        d.wait(lambda: d.loosen()["steady"] > begun)

    def last_stamp(self, d):
        """Return the time at which the newest bytes of the steady guest were copied, in seconds."""
        sql = "SELECT ends FROM chunks WHERE stream = (SELECT s.id FROM streams s JOIN runs r ON s.run = r.id WHERE r.name = "
        rows = d.query(f"{sql} 'steady') AND length(ends) > 0 ORDER BY sequence DESC, offset DESC LIMIT 1")
        return struct.unpack_from("<IQQ", rows[0][0], len(rows[0][0]) - 20)[2] / 1e9 if rows else None

    def kill_collector(self, d, number):
        if number % 3 == 0:
            self.wait_reached(d)
        before = self.committed(d)
        d.collector.kill()
        killed = time.time()
        d.kill_collector()
        after = self.committed(d)
        for stream, end in before.items():
            self.assertGreaterEqual(after.get(stream, (0, 0)), end, f"stream {stream}: committed, and gone")
        stamp = self.last_stamp(d)
        if stamp and number > 2:
            self.behind.append(killed - stamp)
        if number % 10 == 0:
            d.check_integrity()
        d.start_collector()
        # The next kill comes at any moment: also while the program begins to copy, and a few polls later.
        time.sleep(self.random.random() * 0.2 + (0.3 if number % 4 == 0 else 0))

    def kill_server(self, d):
        d.kill_server()
        d.start_server()
        self.assertEqual(d.ask("/healthz")[0], 200)

    def test_each_of_them(self):
        print(f"MPROF_SEED={self.seed}", file=sys.stderr)
        d = self.daemons(QUIET)
        self.guests = {name: self.guest(name, options) for name, options in (STEADY, FAST)}
        d.wait(lambda: d.domain("steady") and d.domain("fast"))
        jobs = ["collector"] * KILLS + ["server"] * KILLS
        self.random.shuffle(jobs)
        number = 0
        victims = [self.next_victim()]
        for job in jobs:
            d.loosen()
            time.sleep(self.random.random() * 0.05)
            if job == "server":
                self.kill_server(d)
            else:
                number += 1
                self.kill_collector(d, number)
            if victims[-1].poll() is not None and len(victims) < KILLS:
                victims.append(self.next_victim())
        while len(victims) < KILLS or victims[-1].poll() is None:
            if victims[-1].poll() is not None:
                victims.append(self.next_victim())
            time.sleep(0.01)
        for index, victim in enumerate(victims):
            self.last[f"victim-{index + 1}"] = json.loads(victim.stdout.read())
        print(f"{number} collectors, {len(victims)} guests; at most {max(self.behind, default=0):.3f} s before a kill were lost", file=sys.stderr)
        self.finish(d)

    def finish(self, d):
        for writer in self.guests.values():
            writer.terminate()
            writer.wait(daemons.HANGS)
        for name in [*self.guests, *self.last]:
            listed = d.wait_ended(name)
            self.assertEqual(len(listed), 1, name)
            pages = d.packets(name)
            last = self.last.get(name, {"open": [], "torn": False})
            judge(name, f"{name}.truth", d.trace(name), pages, "--ended", *["--torn"] * last["torn"], "--open", *last["open"])
            gaps = [gap for page in pages for gap in page["gaps"]]
            # A ring whose writer waits for the archive is never lapped during a restart; a ring that
            # holds hundredths of a second is.
            if name != "fast":
                self.assertEqual(gaps, [], f"{name}: {d.said()[-3000:] if BRIEF else str()}")
            self.assertLessEqual({gap["kind"] for gap in gaps}, {"lost"}, name)
            self.assertEqual([c["kind"] for c in d.captures(name)], ["ended"], name)
        d.stop()
        d.check_integrity()


if __name__ == "__main__":
    if "--brief" in sys.argv:
        sys.argv.remove("--brief")
    daemons.main()
