"""Checks of the guests on Mini-OS: what mprofctl says about their traces and captures.

A guest that dies by a mistake prints on its console the value of the counter that it sets last.
"""

import json
import os
import re

from serials import Wrong

# A full console loses bytes, so the words need not begin a line.
LAST = re.compile(r"lab: last (\w+) (\d+)\r?$", re.M)
FAULT = re.compile(r"^Page fault at linear address (\w+), rip (\w+),", re.M)


def need(condition, text):
    if not condition:
        raise Wrong(text)


def labels(text):
    """Return {id: first label} of the threads of a dump."""
    found = {}
    for match in re.finditer(r'^\S+ label thread=(-?\d+) label="((?:[^"\\]|\\.)*)"', text, re.M):
        found.setdefault(match[1], match[2])
    return found


class Guests:
    def __init__(self, judge):
        self.judge = judge

    def text(self, name):
        return self.judge.read(f"evidence/{name}")

    def console(self, name):
        return self.judge.read(f"log/console/guest-{name}.log")

    def dump(self, name):
        lines = self.text(f"{name}-dump.txt").splitlines()
        need(lines, f"the capture {name} is empty")
        return lines

    def check(self, name, step):
        return self.judge.check(f"Mini-OS: {name}", step)

    def all(self):
        self.serves()
        self.hangs()
        self.faults()
        self.spins()
        self.withdraws()

    def serves(self):
        @self.check("threads, their switches, semaphores, XenStore requests and event channels are in the trace by name", "mini_os_serves")
        def _():
            text = self.text("mini-live.txt")
            names = labels(text)
            for name in ("worker 1", "worker 2", "control", "xenstore", "shutdown", "scheduler", "requests", "served", "lock"):
                need(name in names.values(), f"no label {name}: {sorted(set(names.values()))[:40]}")
            for pattern in (
                r"down requests",
                r"XenStore read data/lab/cmd",
                r"XenStore write data/mprof/ring-ref",
                r"sleep 1 ms",
                r"event channel \d+ bell",
                r"event channel \d+ xenstore",
            ):
                need(any(re.fullmatch(pattern, name) for name in names.values()), f"no label {pattern}")
            ran = {names.get(match) for match in re.findall(r"^\S+ switch thread=(\d+)$", text, re.M)}
            need({"worker 1", "worker 2", "control", "xenstore"} <= ran, f"these ran: {ran}")

        @self.check("who wakes whom: the event channel lets a worker continue, and that resolves the controller's wait", "mini_os_serves")
        def _():
            text = self.text("mini-live.txt")
            names = labels(text)
            woken = set()
            for match in re.finditer(r"^\S+ fulfills resolver=(\d+) resolvee=(\d+)$", text, re.M):
                woken.add((re.sub(r"\d+ ", "", names.get(match[1], "")), names.get(match[2], "")))
            for pair in (("event channel bell", "down requests"), ("event channel xenstore", "blocked"), ("worker 1", "down served")):
                need(pair in woken, f"{pair} is not among {sorted(woken)[:30]}")

    def hangs(self):
        @self.check("why names the lost wake-up of the guest that hangs: the thread and the semaphore", "mini_os_hangs")
        def _():
            self.lost("mini-hang")

    def lost(self, name):
        answers = json.loads(self.text(f"{name}-why.json"))["answers"]
        found = [answer for answer in answers if answer["verdict"] == "missed-signal"]
        need(len(found) == 1, f"verdicts: {[answer['verdict'] for answer in answers]}")
        text = self.text(f"{name}-why.txt")
        for part in ('"client"', '"answer"', "missed wake-up", '"resolver"', '"down answer"'):
            need(part in text, f"{part} is not in: {text[:900]}")

    def ends(self, name, guest):
        """Check that the counter that the guest announced is there. Return the lines after it."""
        last = LAST.findall(self.console(guest))
        need(last, "the guest announced nothing")
        lines = self.dump(name)
        counter, value = last[-1]
        at = [i for i, line in enumerate(lines) if re.search(rf'counter .*value={value}\b.*"{counter}"', line)]
        need(len(at) == 1, f"the counter {counter} is not there: {lines[-3:]}")
        return lines[at[0] + 1 :]

    def faults(self):
        @self.check("a page fault: the capture's very last event is the fault, with its addresses", "mini_os_faults")
        def _():
            after = self.ends("mini-crash", "mini")
            fault = FAULT.search(self.console("mini"))
            need(fault, "the console shows no page fault")
            text = f"page fault at 0x{fault[1]}, instruction at 0x{fault[2]}"
            need(len(after) == 1 and " fails " in after[0] and text in after[0], f"after the counter: {after}, not {text}")

        @self.check("a page fault: why says what ran, and still names the lost wake-up", "mini_os_faults")
        def _():
            self.lost("mini-crash")
            self.ran("mini-crash", "parser")

    def ran(self, name, thread):
        line = next((line for line in self.text(f"{name}-why.txt").splitlines() if line.startswith("last")), "")
        need(f'"{thread}"' in line, f"why says: {line or self.text(f'{name}-why.txt')[-400:]}")

    def spins(self):
        @self.check("a thread that never yields: Xen's watchdog ends the guest, and the capture holds its very last event", "mini_os_spins")
        def _():
            after = self.ends("mini-spin-watchdog", "mini-spin")
            need(not after, f"after the last event: {after}")
            self.ran("mini-spin-watchdog", "parser")

        @self.check("more threads, semaphores and event channels than the recorder has room for", "mini_os_spins")
        def _():
            text = self.text("mini-spin-watchdog-dump.txt")
            names = labels(text)
            need("further threads" in names.values(), "no row for further threads")
            need(sum(name == "visitor" for name in names.values()) > 40, "the visitors are missing")
            named = sum(name == "crowd[i]" for name in names.values())
            need(200 < named < 256, f"{named} of 299 semaphores have a row; the recorder has room for 256 objects")

    def withdraws(self):
        @self.check("xl shutdown: the guest withdraws its ring of 300 pages, a capture of kind ended, and dropped no event", "mini_os_withdraws")
        def _():
            need(re.search(r"^lab: shutdown 0, dropped 0\r?$", self.console("mini-end"), re.M), self.console("mini-end")[-300:])
            need("XenStore rm data/mprof/directory-ref" in self.text("mini-end-ended-dump.txt"), "the last request is not there")
            rings = [stream["ring_bytes"] for stream in self.judge.guest("mini-end")["run_list"][0]["streams"]]
            need(rings == [300 * 4096], f"rings of {rings} bytes")
            need("still in use" not in self.console("mini-end"), "a grant was still in use when the guest ended it")


def judge(judge_of_lab):
    """Judge the guests on Mini-OS, or say why there are none."""
    if not os.path.exists(os.path.join(judge_of_lab.out, "mini-os.gz")):
        judge_of_lab.result("skipped", "Mini-OS", "no source of Mini-OS (MPROFD_MINI_OS)")
    elif judge_of_lab.scenario in ("full", "mini"):
        Guests(judge_of_lab).all()
