"""Stop processes at random: stops.py MARK

Each process whose environment has MPROF_STOPS=MARK stops often for a moment, and seldom for more than a second, as one does that gets
no processor. So the steps of a test and of its daemons come in orders that a quiet machine never shows. A process that something else
stops is left alone, also if that comes while it is stopped here.
"""

import contextlib
import heapq
import os
import random
import signal
import sys
import time

TICK = 0.1  # seconds
OFTEN = 0.2  # of the ticks of a process stop it
LONG = 0.2  # of its stops are long
LOOKS = 20  # ticks in which a process may still execute a program that is marked
MARKED = -1
SHORT_STOP, LONG_STOP = (0.02, 0.3), (0.3, 1.5)  # seconds


def state_of(pid):
    """Return (state, when it began) of a process, None if there is none."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
        fields = f.read().rpartition(")")[2].split()
        return fields[0], fields[19]
    return None


def waits_to_stop(pid):
    """Return whether a stopped process has got another SIGSTOP, which waits until the process goes on."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as f:
        pending = next(line for line in f if line.startswith("ShdPnd:"))
        return bool(int(pending.split()[1], 16) >> signal.SIGSTOP - 1 & 1)
    return False


def is_job(pid):
    """Return whether the parent of a process is a shell that takes a stopped child for a suspended job, and goes on without it: fish, also
    in a script."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
        parent = f.read().rpartition(")")[2].split()[1]
        with open(f"/proc/{parent}/comm", encoding="utf-8", errors="replace") as comm:
            return comm.read().strip() == "fish"
    return False


def marked(pid, mark):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as f:
        return mark in f.read().split(b"\0")
    return False


def send(pid, number):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


class Stops:
    def __init__(self, mark):
        self.mark = f"MPROF_STOPS={mark}".encode()
        self.known = {}  # (process, when it began): MARKED, or how often it is looked at again
        self.stopped = []  # (when it goes on, process, when it began)
        self.stopping = set()  # (process, when it began) of these: one that has not stopped yet is not stopped twice

    def go_on(self, until):
        """Let those go on whose stop ends before UNTIL."""
        while self.stopped and self.stopped[0][0] <= until:
            _, pid, began = heapq.heappop(self.stopped)
            self.stopping.remove((pid, began))
            state, of = state_of(pid) or ("gone", "")
            # One that got no processor to stop in has to be told, too: it would stop later, for ever.
            if of == began and not (state == "T" and waits_to_stop(pid)):
                send(pid, signal.SIGCONT)

    def tick(self):
        before, self.known = self.known, {}
        for pid in [int(name) for name in os.listdir("/proc") if name.isdigit()]:
            state, began = state_of(pid) or ("gone", "")
            key = pid, began
            # A process that has just begun may not have executed its program yet.
            known = before.get(key, LOOKS)
            if known > 0:
                known = MARKED if marked(pid, self.mark) else known - 1
            self.known[key] = known
            if known == MARKED and state in "RSD" and key not in self.stopping and random.random() < OFTEN and not is_job(pid):
                seconds = random.uniform(*(LONG_STOP if random.random() < LONG else SHORT_STOP))
                send(pid, signal.SIGSTOP)
                heapq.heappush(self.stopped, (time.monotonic() + seconds, *key))
                self.stopping.add(key)


def main():
    stops = Stops(sys.argv[1])
    with contextlib.suppress(PermissionError):  # a stop lasts no longer because this process has to wait for a processor
        os.setpriority(os.PRIO_PROCESS, 0, -15)
    ending = []
    # A signal ends no step: a process that was stopped and not noted would stay so.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: ending.append(True))
    try:
        while not ending:
            ends = time.monotonic() + TICK
            stops.tick()
            while (now := time.monotonic()) < ends and not ending:
                stops.go_on(now)
                time.sleep(0.01)
    finally:
        stops.go_on(float("inf"))


if __name__ == "__main__":
    main()
