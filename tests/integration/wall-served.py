"""Test the wall times of traces that the real daemons archived: wall-served.py BUILD-DIRECTORY [TEST…]

Guests with clocks of their own write the host's time into their events. Every way to the wall time
of an event must give that time, within the bound that is told.
"""

import datetime
import json
import os
import re
import subprocess
import tarfile
import time

import babeltrace2
import daemons
from daemons import program

S = 10**9
SHIFTS = {"early": -S // 2, "late": 5 * 3600 * S + 123_456_789}


def run(*arguments, zone="UTC0"):
    done = subprocess.run(
        [program("mprofctl"), *arguments], capture_output=True, text=True, check=False, timeout=daemons.HANGS, env={**os.environ, "TZ": zone}
    )
    return done.returncode, done.stdout, done.stderr


def nanoseconds(text):
    """Return the ns since 1970 of YYYY-MM-DD, a character, HH:MM:SS.NNNNNNNNN in UTC."""
    whole = datetime.datetime.strptime(text[:10] + "T" + text[11:19] + "Z", "%Y-%m-%dT%H:%M:%S%z")
    return int(whole.timestamp()) * S + int(text[20:29])


def babeltrace(*paths):
    """Return [(ns since 1970, label)] of the labels that babeltrace2 prints."""
    done = subprocess.run(["babeltrace2", "--clock-gmt", "--clock-date", *paths], capture_output=True, text=True, check=False, timeout=daemons.HANGS)
    if done.returncode:
        raise AssertionError(done.stderr)
    found = []
    for line in done.stdout.splitlines():
        if label := re.match(r'\[(\S+ \S+)\].* label: .*label = "(-?\d+)"', line):
            found.append((nanoseconds(label[1]), int(label[2])))
    return found


class Served(daemons.Case):
    def dumped(self, *arguments):
        """Return [(ns since 1970, label)] of the labels that mprofctl prints as JSON, and the uncertainty."""
        code, out, said = run("dump", *arguments, "--time", "wall", "--json", "--event", "label")
        self.assertEqual(code, 0, said)
        lines = [json.loads(line) for line in out.splitlines()]
        self.assertTrue(lines)
        return [(nanoseconds(line["wall"]), int(line["label"])) for line in lines], lines[0]["wall_uncertainty_ns"]

    def check(self, events, uncertainty):
        """Check wall times against the host's monotonic time in the labels."""
        before = time.time_ns()
        mono = time.monotonic_ns()
        after = time.time_ns()
        # The two clocks of the host move against each other a little, and a slow machine may stop mprofd between its readings of both.
        # bundle.py compares the monotonic clocks alone, to the nanosecond.
        self.assertGreaterEqual(min(wall - truth - (before - mono) for wall, truth in events), -S)
        bound = time.monotonic_ns() - min(truth for _, truth in events) if uncertainty is None else int(uncertainty)
        self.assertLessEqual(max(wall - truth - (after - mono) for wall, truth in events), bound + S)

    def unpack(self, d, name):
        data = d.get(f"/v1/domains/{name}/ctf.tar")
        self.assertEqual(data, d.get(f"/v1/domains/{name}/ctf.tar"), "the tar of one state of the archive changes")
        with open(f"{name}.tar", "wb") as f:
            f.write(data)
        with tarfile.open(f"{name}.tar") as tar:
            tar.extractall(".")
        with open(f"{name}/metadata", encoding="utf-8") as f:
            return f.read()

    def saved(self, verb, name):
        """Write the trace of NAME to a file. On a busy machine the writer was faster than mprofd, which mprofctl then says."""
        code, _, said = run(verb, f"domain:{name}", "-o", f"{name}.{verb}ed")
        self.assertEqual(code, 0, said)
        told = r"packets (?:of this trace are lost|were lost within this trace before .*)"  # by fetch, and by follow
        self.assertRegex(said, rf"\A(mprofctl: note: \d+\+? {told}\n)?\Z")

    def test_guests(self):
        d = self.daemons()
        os.environ["MPROFCTL_HOST"] = f"unix:{d.socket}"
        for writer in [self.writer("shifted", f"rings/{name}.ctf", shift, 2500, 800) for name, shift in SHIFTS.items()]:
            writer.wait(daemons.HANGS)
        for name in SHIFTS:
            d.wait_ended(name)
        for name, shift in SHIFTS.items():
            direct, uncertainty = self.dumped(f"domain:{name}")
            self.assertIsNotNone(uncertainty)
            self.check(direct, uncertainty)
            # A fetched file has the same times, also without the daemon.
            self.saved("fetch", name)
            os.environ["MPROFCTL_HOST"] = "unix:nowhere"
            self.assertEqual(self.dumped(f"{name}.fetched"), (direct, uncertainty))
            os.environ["MPROFCTL_HOST"] = f"unix:{d.socket}"
            self.saved("follow", name)
            self.assertEqual(self.dumped(f"{name}.followed"), (direct, uncertainty))
            # So has the CTF directory, and other programs find them there.
            metadata = self.unpack(d, name)
            self.assertIn("absolute = true;", metadata)
            self.assertNotIn("absolute = false;", metadata.replace('"absolute = false;"', ""))
            for path in (f"file:{name}", f"{name}.tar"):
                self.assertEqual(self.dumped(path), (direct, uncertainty))
            if babeltrace2.usable():
                self.assertEqual(babeltrace(name), direct)
            # A moment of the trace selects the same events everywhere.
            middle = direct[len(direct) // 2][0]
            at = f"{datetime.datetime.fromtimestamp(middle // S, datetime.timezone.utc):%H:%M:%S}.{middle % S:09}"
            wanted = [event for event in direct if event[0] >= middle]
            for path in (f"domain:{name}", f"{name}.fetched", f"file:{name}", f"{name}.tar"):
                self.assertEqual(self.dumped(path, "--from", at)[0], wanted, path)
            capture = d.captures(name)[0]["id"]
            self.check(*self.dumped(f"capture:{capture}"))

    def test_local(self):
        """A program of this host has dom0's own monotonic clock."""
        d = self.daemons()
        os.environ["MPROFCTL_HOST"] = f"unix:{d.socket}"
        self.writer("shifted", "rings/own.ctf", 0, 2500, 400).wait(daemons.HANGS)
        d.wait_ended("own")
        events, uncertainty = self.dumped("domain:own")
        self.assertEqual(uncertainty, "0")
        self.check(events, uncertainty)
        self.assertIn("precision = 0;", self.unpack(d, "own"))
        self.assertEqual(self.dumped("own.tar"), (events, uncertainty))
        self.assertIn("own.tar: wall times are dom0's; the guest has dom0's own clock\n", run("dump", "own.tar", "--time", "wall")[2])


if __name__ == "__main__":
    daemons.main()
