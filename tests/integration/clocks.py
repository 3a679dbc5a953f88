#!/usr/bin/env python3
"""Test daemons whose CLOCK_REALTIME is wrong: clocks.py BUILD-DIRECTORY [TEST…]

clock-shim.c shifts CLOCK_REALTIME alone. No wrong clock deletes anything, and what is deleted is told."""

import contextlib
import datetime
import json
import os
import re
import shutil
import sqlite3
import subprocess
import time

import daemons
import sink
from daemons import QUIET, Ring
from rings import events_of

DAY = 86400
# Limits of age: the default of 30 days for most guests, and a minute for some.
LIMITS = QUIET + "[policy short-*]\nage = 60s\n[policy small-*]\nbytes = 4K\n"
CHECK = 6  # seconds: retention checks its limits after 5 s


def age_of(text):
    """Return how many seconds ago a time of the API was, by the right clock."""
    return time.time() - datetime.datetime.fromisoformat(text[:19] + "+00:00").timestamp()


class Shifted(daemons.Case):
    def prefix(self, days, synchronised=False):
        """Return a command that runs a program whose clock is wrong by DAYS."""
        self.shift(days, synchronised)
        library = os.path.join(daemons.BUILD, "tests", "integration", "libclock-shim.so")
        options = os.environ.get("ASAN_OPTIONS", "")
        return [
            "env",
            f"LD_PRELOAD={library}",
            f"ASAN_OPTIONS={options + ':' if options else ''}verify_asan_link_order=0",
            f"CLOCK_SHIM={os.path.abspath('clock')}",
        ]

    def shift(self, days, synchronised=False):
        with open("clock.new", "w", encoding="ascii") as f:
            f.write(f"{days * DAY} {int(synchronised)}\n")
        os.rename("clock.new", "clock")


class Clocks(Shifted):
    def shifted(self, config=LIMITS, days=0):
        """Start daemons whose clock is wrong by DAYS."""
        d = self.enterContext(daemons.Daemons(config))
        d.prefix = self.prefix(days)
        d.start()
        return d

    def step(self, d, days, synchronised=False):
        """Set the clock, and wait until mprofd has noticed."""
        before = d.collector_metric("mprofd_clock_steps_total")
        self.shift(days, synchronised)
        d.wait(lambda: d.collector_metric("mprofd_clock_steps_total") > before)

    def capture(self, d, name):
        status, _, body = d.ask(f"/v1/domains/{name}/captures", "POST", '{"note": "keep"}', {"Content-Type": "application/json"})
        self.assertEqual(status, 201, body)
        return json.loads(body)["id"]

    def record(self, d, name, n=50):
        """Make a guest that lives, writes N events, gets a capture, and ends."""
        with Ring(f"rings/{name}.ctf") as ring:
            d.wait(lambda: d.domain(name))
            ring.add(n)
            d.wait_archived(ring, name, n)
            self.capture(d, name)
        d.wait_ended(name)

    def content(self, d):
        """Return all that the archive has."""
        return [d.query(f"SELECT {what}") for what in ("* FROM captures", "id, name FROM runs", "id FROM chunks", "id FROM gaps")]

    def deleted(self, d, what, reason):
        return d.collector_metric(f'mprofd_deleted_{what}_total{{reason="{reason}"}}')

    def test_wrong_clock_deletes_nothing(self):
        """The host boots 400 days behind, and its clock is corrected; then it stands 40 days ahead
        for a while, and 40 days behind."""
        d = self.shifted(days=-400)
        self.record(d, "ended")
        with Ring("rings/runs.ctf") as ring:
            d.wait(lambda: d.domain("runs"))
            ring.add(50)
            d.wait_archived(ring, "runs", 50)
            self.capture(d, "runs")
            before = self.content(d)
            self.assertEqual(d.wait_ready(), {"status": "ok"})
            for days in (0, 40, 0, -40, 0):
                self.step(d, days)
                self.assertRegex(d.wait_ready()["note"], r"^The system clock was set by [+-]\d+ s \d+ min ago")
                d.advance(CHECK, step=1)
                self.assertEqual(self.content(d), before)
            # A restart, and another one while the clock is wrong.
            d.kill_collector()
            self.shift(40)
            d.start_collector()
            d.wait(lambda: "The system clock was set: seconds=3456000" in d.said().split("listening")[-1])
            d.advance(CHECK, step=1)
            # The file system's clock is not shifted, so the ended guest may get another capture.
            for now, then in zip(self.content(d), before):
                self.assertEqual(set(then) - set(now), set())
        self.assertIn("The system clock was set: seconds=34560000", d.said())
        self.assertNotIn("Deleted from the archive", d.said())

    def restart(self, d, days, meanwhile):
        """Kill mprofd, call MEANWHILE, and start it with another clock."""
        d.kill_collector()
        meanwhile()
        self.shift(days)
        d.start_collector()

    def test_set_back_while_down(self):
        """The clock is set back by a day while mprofd is down and a writer laps its ring: nobody knows how many packets have
        passed, so a gap says `at_least`, as it does with a right clock."""
        d = self.shifted(days=0)
        with Ring("rings/web.ctf") as ring:
            d.wait(lambda: d.domain("web"))
            ring.add(50)
            d.wait_archived(ring, "web", 50)

            def lap():
                time.sleep(0.5)  # a writer of 500 MB/s could make 65,536 packets of 1 KiB meanwhile
                for _ in range(2 * len(ring.rooms)):
                    ring.add_packet()

            self.restart(d, -1, lap)
            gap = d.wait(lambda: [g for g in d.gaps("web") if g["reason"] == "restart"])[0]
            self.assertTrue(gap["at_least"], gap)

    def test_written_after_the_capture(self):
        """A file that a program writes on while mprofd is down, and while the clock is set back, has an mtime before the capture of
        its end. Its new bytes are archived all the same."""
        d = self.shifted(days=0)
        ring = Ring("rings/web.ctf")
        d.wait(lambda: d.domain("web"))
        ring.add(50)
        d.wait_archived(ring, "web", 50)
        ring.close()
        d.wait_ended("web")
        self.assertEqual(len(d.captures("web")), 1)

        def write():
            ring.file = open("rings/web.ctf", "r+b", buffering=0)
            ring.add(20)
            ring.close()
            yesterday = time.time() - DAY
            os.utime("rings/web.ctf", (yesterday, yesterday))

        self.restart(d, -1, write)
        d.wait(lambda: len(d.captures("web")) == 2)
        d.wait_ended("web")
        number = d.captures("web")[0]["id"]
        self.assertEqual(events_of(d.get(f"/v1/captures/{number}/trace"))[-20:], ring.written[-20:])

    def change(self, d, *statements):
        """Change the archive while the collector is stopped."""
        with contextlib.closing(sqlite3.connect(f"{d.state}/archive/trace.db")) as db:
            for sql in statements:
                db.execute(sql)
            db.commit()

    def test_damaged_age_clock(self):
        """One flipped bit in the rows of the age clock deletes nothing, and is said."""
        d = self.shifted(days=-10)
        self.record(d, "ended")
        d.advance(61, step=1)  # the periods are stored once a minute
        d.stop_collector()
        self.shift(0)
        self.change(d, "UPDATE age_clock SET boot = 'an earlier one'", "UPDATE clock_periods SET boot = 'an earlier one'")
        d.stop_server()
        shutil.copytree(d.state, "kept")
        before = self.content(d)
        whole = ("age_clock.age", "age_clock.began", "age_clock.boottime", "age_clock.real", "clock_periods.began_mono")
        for column in (*whole, *(f"clock_periods.{name}" for name in ("ended_mono", "real_offset", "age_offset"))):
            for bit in (52, 58, 61):
                with self.subTest(column=column, bit=bit):
                    table, name = column.split(".")
                    shutil.rmtree(d.state)
                    shutil.copytree("kept", d.state)
                    self.change(d, f"UPDATE {table} SET {name} = ({name} | (1 << {bit})) - ({name} & (1 << {bit}))")
                    d.start_collector()
                    d.advance(CHECK, step=1)
                    d.wait(lambda: d.collector_metric("mprofd_age_clock_damaged_total") == 1)
                    d.stop_collector()
                    for now, then in zip(self.content(d), before):
                        self.assertEqual(set(then) - set(now), set())
                    self.assertIn("The age clock of the archive was damaged", d.said())

    def lap(self, d):
        """Make a guest whose writer laps its ring, so that packets are lost."""
        with Ring("rings/lapped.ctf") as ring:
            d.wait(lambda: d.domain("lapped"))
            ring.add(5)
            d.wait_archived(ring, "lapped", 5)
            d.kill_collector()
            for _ in range(2 * len(ring.rooms)):
                ring.add_packet()
            d.start_collector()
            d.wait(lambda: d.gaps("lapped"))
        d.wait_ended("lapped")

    def test_times_are_corrected(self):
        """Once the clock is synchronised, the times that were stamped in this boot are shown right, beside
        the stamps."""
        d = self.shifted(days=-400)
        self.record(d, "old")
        self.lap(d)
        self.assertIsNone(d.captures("old")[0]["time_corrected"])
        self.step(d, 0, synchronised=True)

        def corrected():
            d.advance(61, step=1)  # the periods are stored once a minute
            return d.captures("old")[0]["time_corrected"]

        d.wait(corrected)
        run = d.run_list("old")[0]
        for capture in d.captures("old"):
            self.assertGreater(age_of(capture["time"]), 399 * DAY)
            self.assertLess(abs(age_of(capture["time_corrected"])), DAY)
        (stream,), domain = run["streams"], d.domain("old")
        copied = d.packets("old")[0]["packets"][0]["copied"]
        (gap,) = d.gaps("lapped")
        stamps = [copied["first"], copied["last"], *copied.get("newest", [])]
        pairs = [(it, "real") for it in stamps] + [(gap, "found"), (stream, "last_seen"), (domain, "last_seen"), (run, "began"), (run, "ended")]
        for entry, name in pairs:
            self.assertGreater(age_of(entry[name]), 399 * DAY, name)
            self.assertLess(abs(age_of(entry[f"{name}_corrected"])), DAY, name)
        with Ring("rings/new.ctf") as ring:
            d.wait(lambda: d.domain("new"))
            d.wait_archived(ring, "new", 10)
            self.capture(d, "new")
            self.assertIsNone(d.captures("new")[0]["time_corrected"])
        number = d.captures("old")[0]["id"]
        for words in (["captures", "old", "--utc"], ["show", str(number), "--utc"]):
            said = subprocess.run(
                [daemons.program("mprofctl"), "--host", f"unix:{d.socket}", *words], capture_output=True, text=True, check=True
            ).stdout
            self.assertIn(str(datetime.datetime.now(datetime.timezone.utc).year), said)
        self.assertIn("host's clock", said)

    def test_deletions_are_told(self):
        """Age, quota and a request delete: each has a line in the log with the guest, and metrics."""
        d = self.shifted(days=-400)
        began = time.monotonic()
        self.record(d, "short-one")
        self.record(d, "stays")
        capture = min(c["id"] for c in d.captures("stays"))
        self.step(d, 0)
        d.advance(40, step=1)
        kept = d.captures("short-one")
        self.assertTrue(kept or time.monotonic() - began > 20, "deleted before its time")
        d.advance(40, step=1)
        d.wait(lambda: not d.domain("short-one"))
        d.wait(lambda: self.deleted(d, "captures", "age") == 2)  # the one by hand, and that of the end
        self.assertGreater(self.deleted(d, "packets", "age"), 0)
        self.assertTrue(d.captures("stays"))
        with Ring("rings/small-one.ctf") as ring:
            d.wait(lambda: d.domain("small-one"))
            for _ in range(30):
                ring.add_slowly(20)
        d.wait_ended("small-one")
        d.advance(CHECK, step=1)
        d.wait(lambda: self.deleted(d, "packets", "quota") > 0)
        self.assertEqual(d.ask(f"/v1/captures/{capture}", "DELETE")[0], 204)
        d.wait(lambda: self.deleted(d, "captures", "request") == 1)
        d.advance(61, step=1)
        for guest, reason in (("short-one", "age"), ("small-one", "quota"), ("stays", "request")):
            d.wait(lambda g=guest, r=reason: re.search(rf"Deleted from the archive: guest={g} reason={r} packets=", d.said()))
        self.assertIn('mprofd_deleted_captures_total{reason="age"} 2', d.metrics())


class Profiles(Shifted):
    def record(self, d):
        with d.connect() as guest:
            guest.sendall(sink.stream())
        return d.wait_rows(1, "state = 'ended'", "id")[-1][0]

    def test_times_are_corrected(self):
        """Once the clock is synchronised, the times of a memory profile are shown right, beside the stamps."""
        d = self.enterContext(sink.Sink())
        d.sink = d.launch("mprofd-sink", prefix=self.prefix(-400))
        d.start_server()
        number = self.record(d)
        self.shift(0, synchronised=True)
        d.wait(lambda: d.metric("clock_steps_total") == 1)

        def corrected():
            d.advance(61, step=1, path="sink/sink.sock")  # the periods are stored once a minute
            it = d.json(f"/v1/memtraces/{number}")
            return it if it["began_corrected"] and it["ended_corrected"] else None

        profile = d.wait(corrected)
        for name in ("began", "ended"):
            self.assertGreater(age_of(profile[name]), 399 * DAY)
            self.assertLess(abs(age_of(profile[f"{name}_corrected"])), DAY)

    def test_wrong_clock_deletes_nothing(self):
        """The clock of mprofd-sink is 400 days behind, is corrected, and stands 40 days ahead. The limit of
        age of [sink] deletes a memory profile once it is old, and that is told."""
        d = self.enterContext(sink.Sink("age = 10m"))
        d.sink = d.launch("mprofd-sink", prefix=self.prefix(-400))
        number = self.record(d)
        for step, days in enumerate((0, 40, 0), 1):
            self.shift(days)
            d.wait(lambda s=step: d.metric("clock_steps_total") == s)
            d.advance(3, step=1, path="sink/sink.sock")
            self.assertEqual(d.rows("id"), [(number,)])
        self.assertNotIn("Deleted from the archive", d.said())
        d.advance(660, step=20, path="sink/sink.sock")
        d.wait(lambda: d.rows("id") == [])
        d.wait(lambda: "Deleted from the archive: guest=127.0.0.1 reason=age packets=0 recordings=1" in d.said())
        d.wait(lambda: d.metric('deleted_recordings_total{reason="age"}') == 1)


if __name__ == "__main__":
    daemons.main()
