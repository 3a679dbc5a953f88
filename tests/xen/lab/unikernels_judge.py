"""Checks of the unikernels: each capture has the right reason, and ends with the guest's last event."""

import os
import re
import subprocess

from serials import Wrong
from unikernels import DEATHS

CTL = os.environ.get("MPROF_CTL", "mprofctl")


def need(condition, text):
    if not condition:
        raise Wrong(text)


class Unikernels:
    def __init__(self, judge):
        self.judge = judge

    def check(self, name, *steps):
        return self.judge.check(f"unikernel: {name}", *steps)

    def ctl(self, word, name):
        done = subprocess.run([CTL, word, self.judge.path(name)], capture_output=True, text=True, check=False)
        need(done.returncode == 0, f"mprofctl {word} {name}: {done.stderr}")
        return done.stdout

    def last(self, name):
        """Return the number that the guest announced as its last event, and its console."""
        text = self.judge.read(f"log/console/guest-{name}.log")
        found = re.findall(r"^lab: last (\d+)", text, re.M)
        need(found, f"{name} never announced its last event: {text[-300:]}")
        return int(found[-1]), text

    def ends(self, name, kind):
        """Return the events of a capture behind the one that the guest announced as its last."""
        value, _ = self.last(name)
        lines = self.ctl("dump", f"ends-{name}-{kind}.ctf").splitlines()
        at = [i for i, line in enumerate(lines) if re.search(rf'counter .*value={value}\b.*"last"', line)]
        need(len(at) == 1, f"{name}: the event {value} is there {len(at)} times; the last lines: {lines[-3:]}")
        return lines[at[0] + 1 :]

    def died(self, name, how):
        """Check the one capture of a guest that died, and its last events."""
        kind = DEATHS[how]
        captures = [capture for capture in self.judge.load(f"ends-{name}.json") if capture["kind"] != "manual"]
        need([capture["kind"] for capture in captures] == [kind], f"{name}: captures {[capture['kind'] for capture in captures]}, not {kind}")
        after = self.ends(name, kind)
        expected = {"fault": r" fails .*page fault at 0xdead0b1000, instruction at 0x[0-9a-f]+", "abort": r' fails .*"?abort'}.get(how)
        need(len(after) == (1 if expected else 0), f"{name}: behind the last event: {after[:3]}")
        need(not expected or re.search(expected, after[0]), f"{name}: {after}")

    def lives(self):
        @self.check(
            "mprofd collects the ring of a PVH guest: its threads, semaphores, event channels and requests to XenStore",
            "unikernels_publish",
            "unikernels_work",
        )
        def _():
            live = self.judge.load("uk-live.json")
            for how, domain in live.items():
                need(domain["state"] == "running" and len(domain["streams"]) == 1, f"{how}: {domain}")
            text = self.ctl("dump", "uk-live.ctf")
            labels = set(re.findall(r' label thread=\d+ label="([^"]*)"', text))
            wanted = ("main", "clerk", "customer", "xenstore", "scheduler", "orders", "served", "down orders", "XenStore read data/lab/cmd")
            need(set(wanted) <= labels, f"no label {set(wanted) - labels}")
            need(any(re.fullmatch(r"event channel \d+ xenstore", label) for label in labels), f"{sorted(labels)}")
            served = [int(value) for value in re.findall(r'counter .*value=(\d+).*"served"', text)]
            need(len(served) > 50 and served == list(range(served[0], served[0] + len(served))), f"served: {served[:5]}…{served[-5:]}")

        for how, kind in DEATHS.items():

            @self.check(f"{how}: a capture of kind {kind}, which holds its last event", "unikernels_die")
            def _(how=how):
                self.died(f"uk-{how}", how)

        @self.check("mprofctl why names the thread that never ends", "unikernels_die")
        def _():
            text = self.ctl("why", "ends-uk-spin-destroyed.ctf")
            need('"hanger"' in text and '"down never"' in text, text[:600])

    def changes(self):
        @self.check("xl save -c: a capture of kind suspend; the guest goes on and is shut down", "unikernels_suspend")
        def _():
            kinds = [capture["kind"] for capture in self.judge.load("ends-uk-saved.json")]
            need(sorted(kinds) == ["poweroff", "suspend"], f"captures: {kinds}")
            values = [int(value) for value in re.findall(r'counter .*value=(\d+).*"last"', self.ctl("dump", "ends-uk-saved-poweroff.ctf"))]
            need(len(values) == 2 and values[1] >= values[0] + 50, f"last: {values}")

        @self.check("a ring in a directory is withdrawn, and each grant of it ends", "unikernels_withdraw")
        def _():
            text = self.judge.read("log/console/guest-uk-withdrawn.log")
            need(re.search(r"^lab: withdrawn 1", text, re.M), text[-300:])
            dump = self.ctl("dump", "ends-uk-withdrawn-ended.ctf")
            need("XenStore rm data/mprof/directory-ref" in dump, dump[-300:])

    def crowd(self):
        @self.check("lives that end 30 at once: each has one capture with the right reason and its last event", "unikernels_crowd")
        def _():
            crowd = self.judge.load("uk-crowd.json")
            need(len(crowd) == int(self.judge.read("lives")), f"{len(crowd)} lives")
            for name, how in crowd.items():
                self.died(name, how)

        @self.check("no zombie is left", "unikernels_crowd")
        def _():
            need(not self.judge.seen["unikernel_zombies"], f"{self.judge.seen['unikernel_zombies']}")


def judge(judge_of_lab):
    checks = Unikernels(judge_of_lab)
    checks.lives()
    if judge_of_lab.scenario == "unikernels":
        checks.changes()
        checks.crowd()
