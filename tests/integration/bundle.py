"""Test `mprofctl bundle`, several guests on one time line: bundle.py BUILD-DIRECTORY [TEST…]

Two guests with clocks of their own write the host's time into their events. In the bundle each
event must stand at that time, within the bundle's own bound for the guest's offset.
"""

import json
import os
import subprocess
import tarfile
import time

import daemons
import perfettos
from daemons import program

HOUR = 3600 * 10**9
SHIFTS = {"early": -int(0.5 * 10**9), "late": 5 * HOUR + 123_456_789}


def run(*arguments):
    done = subprocess.run([program("mprofctl"), *arguments], capture_output=True, text=True, check=False, timeout=daemons.HANGS)
    return done.returncode, done.stdout, done.stderr


def unpack(path):
    """Return the manifest and the members of an archive."""
    with tarfile.open(path, format=tarfile.USTAR_FORMAT) as archive:
        members = {m.name: archive.extractfile(m).read() for m in archive.getmembers()}
        names = [m.name for m in archive.getmembers()]
    text = members.pop("perfetto_manifest.json").decode()
    assert names[0] == "perfetto_manifest.json" and text.startswith('{"perfetto_manifest":'), "not to be known as a manifest"
    manifest = json.loads(text)["perfetto_manifest"]
    assert manifest["version"] == 1
    assert [f["path"] for f in manifest["files"]] == list(members), "files and members are not the same"
    return manifest, members


class Bundles(daemons.Case):
    def check(self, path, clock="MONOTONIC"):
        """Check the times of all labels. Return the events by file, moved onto the host's clock,
        and the manifest."""
        manifest, members = unpack(path)
        self.assertEqual(manifest["trace_time"], {"clock": clock, "file": "host.pftrace"})
        host = perfettos.read(members["host.pftrace"])
        self.assertEqual(manifest["files"][0], {"path": "host.pftrace", "machine": {"name": "dom0"}})
        moved, pids = {}, [t.pid for t in host.tracks.values()]
        for file in manifest["files"][1:]:
            sync = {"file": "host.pftrace", "clock": clock}
            self.assertEqual(file["clocks"], {"sync_to": sync, "offset_ns": file["mprof"]["offset_ns"]})
            got = perfettos.read(members[file["path"]])
            self.assertFalse(got.clocks, "a file with clocks of its own cannot be pinned")
            labels = [act for act in got.events if act.category == "label"]
            self.assertTrue(labels)
            self.assertEqual(file["mprof"]["events"], sum(a.kind != "end" and a.category not in ("life", "gap") for a in got.events))
            moved[file["path"]] = [(act.time + file["clocks"]["offset_ns"], int(act.name)) for act in labels]
            pids += [t.pid for t in got.tracks.values() if t.kind == "process"]
        self.assertEqual(len(pids), len(set(pids)), "two processes of one number")
        return moved, manifest

    def aligned(self, moved, file):
        """Check that no event stands before it happened, or later than the bound."""
        late = [at - truth for at, truth in moved[file["path"]]]
        self.assertGreaterEqual(min(late), 0)
        self.assertLessEqual(max(late), file["mprof"]["uncertainty_ns"])

    def test_guests(self):
        d = self.daemons()
        os.environ["MPROFCTL_HOST"] = f"unix:{d.socket}"
        writers = [self.writer("shifted", f"rings/{name}.ctf", shift, 2500, 800) for name, shift in SHIFTS.items()]
        for writer in writers:
            writer.wait(daemons.HANGS)
        for name in SHIFTS:
            d.wait_ended(name)
        capture = d.captures("late")[0]["id"]
        code, out, said = run("bundle", "domain:early", f"capture:{capture}", "-o", "two.tar", "--json")
        self.assertEqual((code, said), (0, ""))
        told = json.loads(out)
        moved, manifest = self.check("two.tar")
        self.assertEqual(told["clock"], "MONOTONIC")
        self.assertEqual([t["file"] for t in told["traces"]], [f["path"] for f in manifest["files"][1:]])
        for file, name in zip(manifest["files"][1:], SHIFTS):
            self.assertEqual(file["machine"]["name"], name)
            self.assertTrue(file["mprof"]["offset_known"])
            # The true offset lies between the bundle's offset and the lower bound of that.
            self.assertLessEqual(-SHIFTS[name], file["mprof"]["offset_ns"])
            self.assertGreaterEqual(-SHIFTS[name], file["mprof"]["offset_ns"] - file["mprof"]["uncertainty_ns"])
            # The first copy was taken before now.
            self.assertLess(file["mprof"]["uncertainty_ns"], time.monotonic_ns() - min(truth for _, truth in moved[file["path"]]))
            self.aligned(moved, file)
        # Both guests ran at once, unless the machine was too busy to start them so: on one line
        # they overlap, though their own clocks are hours apart.
        true = [(events[0][1], events[-1][1]) for events in moved.values()]
        spans = [(events[0][0], events[-1][0]) for events in moved.values()]
        if max(start for start, _ in true) < min(end for _, end in true):
            self.assertLess(max(start for start, _ in spans), min(end for _, end in spans))
        self.clocks_of_host(d, "two.tar")
        self.table_and_refusals(d)

    def clocks_of_host(self, d, path):
        """Check that the host's file has readings of both host clocks, taken from stamps."""
        _, members = unpack(path)
        clocks = perfettos.read(members["host.pftrace"]).clocks
        self.assertEqual(len(clocks), 2)
        for reading in clocks:  # a slow machine may stop a program between the readings of two clocks
            self.assertLess(abs(reading[1] - reading[3] - (time.time_ns() - time.monotonic_ns())), 60 * 10**9)

    def table_and_refusals(self, d):
        code, out, said = run("bundle", "early", "late", "early", "-o", "three.tar")
        self.assertEqual((code, said), (0, ""))
        self.assertEqual([line.split()[0] for line in out.splitlines()], ["FILE", "early.pftrace", "late.pftrace", "early-2.pftrace"])
        code, out, said = run("bundle", "early", "nobody", "-o", "none.tar")
        self.assertEqual(code, 4)
        self.assertIn("nobody", said)
        self.assertFalse(os.path.exists("none.tar"))
        # A file beside a guest: the bundle keeps the file's times and says so.
        code, _, said = run("bundle", "early", "rings/late.ctf", "-o", "mixed.tar")
        self.assertEqual(code, 0)
        self.assertIn("rings/late.ctf: its clock offset is unknown", said)
        manifest, _ = unpack("mixed.tar")
        self.assertEqual(manifest["files"][2]["clocks"]["offset_ns"], 0)
        self.assertFalse(manifest["files"][2]["mprof"]["offset_known"])
        self.assertIsNone(manifest["files"][2]["mprof"]["uncertainty_ns"])
        # A file name need not be UTF-8.
        code, out, _ = run("bundle", "rings/late.ctf", "-o", b"a\xff.tar", "--json")
        self.assertEqual((code, json.loads(out)["path"]), (0, "a\ufffd.tar"))


if __name__ == "__main__":
    daemons.main()
