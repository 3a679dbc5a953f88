"""Run hostile guests beside an honest one: hostile.py BUILD-DIRECTORY [TEST…]

For 30 seconds (5 with MPROF_BRIEF=1) one writer rewrites headers and bytes of its ring at random,
and another lies in every field but logs what it wrote. Both truncate, replace and remove their
files. Meanwhile both programs must answer, their memory and descriptors must stay bounded,
and the log must stay short. No archived packet may mix incarnations, the honest guest must lose
nothing, and all of it must be served.
"""

import contextlib
import json
import os
import random
import socket
import subprocess
import sys
import threading
import time

import daemons
from daemons import judge

SECONDS = 5 if os.environ.get("MPROF_BRIEF") else 30
MEMORY = 700 << 20  # limit of a collector under a sanitizer; the queue and its reserve take 128 MiB of it
GROWTH = 192 << 20  # growth in the last two thirds of the time: a slow disk fills the queue then
LINES = 400
# The archive of the wildest guest is deleted all the time; much of the judged one is kept.
CONFIG = daemons.QUIET + "[policy chaos]\nbytes = 16M\n[policy pattern]\nbytes = 96M\n"
DOCUMENTED = (200, 404, 409, 410)


def figures(process):
    """Return the resident bytes and open descriptors of PROCESS."""
    with open(f"/proc/{process.pid}/status", encoding="ascii") as f:
        resident = next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmRSS"))
    return resident, len(os.listdir(f"/proc/{process.pid}/fd"))


class Watch(threading.Thread):
    """Ask both programs for their status all the time."""

    def __init__(self, d):
        super().__init__(daemon=True)
        self.d, self.done = d, threading.Event()
        self.slowest, self.asked, self.faults, self.figures = 0.0, 0, [], []

    def run(self):
        with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)) as control:
            control.settimeout(daemons.HANGS)
            control.connect(os.path.join(self.d.runs, "collect.sock"))
            while not self.done.wait(0.1):
                try:
                    self.timed(self.ready)
                    self.timed(lambda: self.status(control))
                    self.figures.append((time.monotonic(), *figures(self.d.collector), *figures(self.d.server)))
                except (OSError, AssertionError, StopIteration) as error:
                    self.faults.append(repr(error))
                    return

    def timed(self, call):
        began = time.monotonic()
        call()
        self.asked += 1
        self.slowest = max(self.slowest, time.monotonic() - began)

    def ready(self):
        status, _, body = self.d.ask("/readyz", timeout=daemons.HANGS)
        # A slow machine may stop the collector for so long that the server does not wait for its answer.
        if status not in (200, 503):
            raise AssertionError(f"/readyz says {status}: {body[:200]}")

    @staticmethod
    def status(control):
        control.send(b"status 1")
        answer = control.recv(65536)
        if not answer.startswith(b"ok 1\n"):
            raise AssertionError(answer)

    def end(self):
        self.done.set()
        self.join()


class Hostile(daemons.Case):
    def setUp(self):
        super().setUp()
        # A sanitizer's quarantine would look like a leak.
        os.environ["ASAN_OPTIONS"] = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "quarantine_size_mb=8"]))
        self.d = self.daemons(CONFIG)
        self.answers = {}

    def ask(self, path):
        """Return an answer. A deleted resource is allowed; any other error is not."""
        status, _, body = self.d.ask(path, timeout=daemons.HANGS)
        self.answers[status] = self.answers.get(status, 0) + 1
        self.assertIn(status, DOCUMENTED, f"{path}: {body[:300]}")
        return body if status == 200 else None

    def browse(self, until):
        """Request everything while it changes, as a viewer does."""
        chance = random.Random(1)
        while time.monotonic() < until:
            name = chance.choice(["chaos", "pattern", "honest"])
            what = chance.choice(["", "/packets", "/packets?buckets=10", "/trace?last=100K", "/trace?last=1s", "/captures", "/ctf.tar?last=50K"])
            self.ask(f"/v1/domains/{name}{what}")
            self.ask(chance.choice(["/v1/domains", "/metrics", "/v1/captures?limit=20", "/healthz"]))
            time.sleep(0.05)

    def hostile(self, mode, *options):
        options = ["--mode", mode, "--seconds", SECONDS, "--seed", int(time.time()), "--spare", f"{mode}.spare", *options]
        return self.writer("writer-hostile", "--ring", f"rings/{mode}.ctf", *options)

    def test_all_at_once(self):
        d = self.d
        honest = self.writer("writer-legacy", *"--ring rings/honest.ctf --truth truth --size 1048576 --rate 200000 --leash honest.leash".split())
        self.loosening(d)
        d.wait(lambda: d.domain("honest"))
        before = figures(d.collector), figures(d.server)
        watch = Watch(d)
        watch.start()
        began = time.monotonic()
        writers = [self.hostile("pattern", "--log", "log.pattern"), self.hostile("chaos", "--size", 40961)]
        self.browse(began + SECONDS)
        d.wait(lambda: watch.asked > SECONDS or watch.faults)
        wrote = [json.loads(writer.communicate(timeout=daemons.HANGS)[0]) for writer in writers]
        honest.terminate()
        honest.wait(daemons.HANGS)
        d.wait_ended("honest")
        self.judge_honest()
        runs = {name: self.serve_all(name) for name in ("chaos", "pattern")}
        d.wait(lambda: d.ask("/readyz")[0] == 200)
        watch.end()
        self.check_watch(watch, began, before)
        self.judge_pattern(runs["pattern"])
        self.check_log(d.said(), time.monotonic() - began)
        d.stop()
        d.check_integrity()
        if os.environ.get("MPROF_VERBOSE"):
            figure = watch.figures[-1]
            print(f"{wrote} runs {[len(r) for r in runs.values()]} answers {self.answers} asked {watch.asked} slowest {watch.slowest:.2f} s")
            print(
                f"lines {d.said().count(chr(10))} before {before} after {figure} most {[max(f[i] for f in watch.figures) >> 20 for i in (1, 3)]} MiB"
            )

    def judge_honest(self):
        said = judge("honest", "truth", self.d.trace("honest"), self.d.packets("honest"), "--ended", "--begin", "0")
        self.assertEqual((said["gaps"], said["at_end"]), (0, 0))
        self.assertEqual(self.d.domain("honest")["streams"][0]["lost_packets"], 0)
        self.assertEqual(len(self.d.run_list("honest")), 1)

    def serve_all(self, name):
        """Request each run and each capture in each form."""
        streams = []
        runs = json.loads(self.ask(f"/v1/domains/{name}?limit=1000"))["run_list"]
        for number in (run["run"] for run in runs):
            stream = self.ask(f"/v1/domains/{name}/trace?run={number}")
            if stream:
                streams.append(f"{name}.{number}.ctf")
                with open(streams[-1], "wb") as f:
                    f.write(stream)
            for way in (f"packets?run={number}&limit=1000", f"trace?run={number}&tail=raw", f"ctf.tar?run={number}"):
                self.ask(f"/v1/domains/{name}/{way}")
        for capture in self.d.captures(name):
            for way in ("", "/trace", "/packets", "/context"):
                self.ask(f"/v1/captures/{capture['id']}{way}")
        self.assertTrue(streams, f"no event of {name} was archived: the test shows nothing")
        return streams

    def check_watch(self, watch, began, before):
        self.assertEqual(watch.faults, [])
        settled = [f for f in watch.figures if f[0] > began + SECONDS / 3] or watch.figures
        for what, at, was in (("mprofd", 1, before[0]), ("mprofd-http", 3, before[1])):
            resident, files = [f[at] for f in settled], [f[at + 1] for f in watch.figures]
            self.assertLess(max(resident), MEMORY, what)
            self.assertLess(max(resident[len(resident) // 2 :]), max(resident[: len(resident) // 2 + 1]) + GROWTH, what)
            self.assertLess(max(files), was[1] + 40, what)
        for process, was in ((self.d.collector, before[0]), (self.d.server, before[1])):
            self.d.wait(lambda p=process, w=was: figures(p)[1] <= w[1] + 6)  # no descriptor stays open

    def judge_pattern(self, streams):
        command = [sys.executable, "-B", f"{daemons.HERE}/incarnations.py", "log.pattern", *streams]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, f"{done.stdout}{done.stderr}")
        self.assertEqual(json.loads(done.stdout)["count"], 0, f"under another number: {done.stdout}{done.stderr}")
        if os.environ.get("MPROF_VERBOSE"):
            print(done.stdout)

    def check_log(self, said, seconds):
        self.assertLess(said.count("\n"), LINES + 10 * seconds, said[-3000:])
        for word in ("Sanitizer", "runtime error", "Assertion"):
            self.assertNotIn(word, said)


if __name__ == "__main__":
    daemons.main()
