"""Run a machine of the lab, and end it if it makes no progress: progress.py OUT SECONDS COMMAND…

A sign of life is a byte more, or another file, below OUT: the console, the steps of the scenario, the evidence. A step of the scenario
that waits says so twice a minute, and ends by its own limit. So only a machine that hangs gives no sign for SECONDS; it is ended, with a
sentence that names its step. A slow machine takes as long as it needs. Exit with COMMAND's code, or with 124.
"""

import os
import re
import signal
import subprocess
import sys
import time

HUNG = 124
POLL = 2  # seconds
TO_END = 20  # seconds between the request to end and the end by force


def signs(out):
    """Return what changes while the machine lives: the number of files below OUT, and their bytes."""
    files = size = 0
    for folder, _, names in os.walk(out):
        for name in names:
            try:
                size += os.stat(os.path.join(folder, name), follow_symlinks=False).st_size
                files += 1
            except FileNotFoundError:
                pass  # it was renamed
    return files, size


def step(out):
    """Return the name of the step that the scenario began last."""
    try:
        with open(os.path.join(out, "scenario.log"), encoding="utf-8", errors="replace") as f:
            begun = re.findall(r"^\[ *[0-9.]+\] ---- (\w+)$", f.read(), re.M)
    except FileNotFoundError:
        return "boot"
    return begun[-1] if begun else "start"


class Progress:
    """The time since the last sign of life."""

    def __init__(self, out, seconds, now):
        self.out, self.seconds, self.seen, self.since = out, seconds, signs(out), now

    def stands(self, now):
        """Return a sentence if the machine has made no progress for too long, or None."""
        seen = signs(self.out)
        if seen != self.seen:
            self.seen, self.since = seen, now
        if now - self.since < self.seconds:
            return None
        return f"the machine was ended: it gave no sign of life for {now - self.since:.0f} s, in the step `{step(self.out)}`"


def end(machine):
    machine.terminate()
    try:
        machine.wait(TO_END)
    except subprocess.TimeoutExpired:
        machine.kill()
        machine.wait()


def run(out, seconds, command, poll=POLL):
    with subprocess.Popen(command) as machine:
        progress = Progress(out, seconds, time.monotonic())
        try:
            while True:
                try:
                    return machine.wait(poll)
                except subprocess.TimeoutExpired:
                    hung = progress.stands(time.monotonic())
                if hung:
                    print(hung, flush=True)
                    return HUNG
        finally:
            if machine.poll() is None:
                end(machine)


def ended(*_):
    """A signal that ends this process ends the machine, too."""
    sys.exit(128 + signal.SIGTERM)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, ended)
    sys.exit(run(sys.argv[1], float(sys.argv[2]), sys.argv[3:]))
