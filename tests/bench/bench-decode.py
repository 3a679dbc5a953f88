"""Measure reading a trace of 160 MB on one core. In one run, compare the decoder alone with
`babeltrace2 -o dummy`, and `mprofctl dump` and `mprofctl stats` with babeltrace2's text.

The trace is what the recorder writes for a busy guest, about 25 bytes an event (decode-load.c).
Times are processor time of whole processes, user and system, from start to exit, the median of
seven each; outputs go to /dev/null. The benchmark fails if the number of events is not the recorded
one, or the timestamps are not babeltrace2's.
"""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys

from collector import BRIEF, BUILD, line, wrong

LOAD = f"{BUILD}/tests/bench/decode-load"
MPROFCTL = f"{BUILD}/client/ctl/mprofctl"
METADATA = os.path.join(os.path.dirname(__file__), "..", "..", "schema", "ctf", "metadata.tsdl")
BYTES = 8_000_000 if BRIEF else 160_000_000
ROUNDS = 1 if BRIEF else 7
COMMANDS = {
    "decode": [LOAD, "decode", "trace/stream"],
    "dummy": ["babeltrace2", "-o", "dummy", "trace"],
    "dump": [MPROFCTL, "dump", "trace/stream"],
    "json": [MPROFCTL, "dump", "trace/stream", "--json"],
    "stats": [MPROFCTL, "stats", "trace/stream", "--json"],
    "text": ["babeltrace2", "--clock-seconds", "--no-delta", "trace"],
}


def make():
    """Make the trace as a CTF directory. Return its number of events."""
    os.makedirs("trace")
    shutil.copy(METADATA, "trace/metadata")
    made = subprocess.run([LOAD, "make", "trace/stream", str(BYTES)], check=True, capture_output=True)
    return json.loads(made.stdout)["events"]


def seconds(command):
    """Return the processor time of COMMAND, which leaves out other work on this machine."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        wrong(f"{command[0]} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime


def stamps(command, pattern):
    """Yield the timestamps that COMMAND prints, one a line. A recorder's declaration is no event of the guest."""
    run = subprocess.Popen(command, stdout=subprocess.PIPE)
    for row in run.stdout:
        if b'"RECORDER"' not in row:
            yield pattern.match(row).group(1)
    if run.wait() != 0:
        wrong(f"{command[0]} ended with {run.returncode}")


def check(events):
    decoded = json.loads(subprocess.run(COMMANDS["decode"], check=True, capture_output=True).stdout)
    if decoded["events"] != events or decoded["damages"]:
        wrong(f"of {events} events the decoder saw {decoded}")
    ours = stamps(COMMANDS["dump"], re.compile(rb"(\d+\.\d+) "))
    theirs = stamps(COMMANDS["text"], re.compile(rb"\[(\d+\.\d+)\]"))
    n = 0
    for n, (a, b) in enumerate(zip(ours, theirs, strict=True), 1):
        if a != b:
            wrong(f"event {n} is at {a} here and at {b} there")
    if n != events:
        wrong(f"{n} lines of {events} events")


def main():
    os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
    events = make()
    if BRIEF:
        check(events)
    # Run the commands in turns, so that other work on the machine disturbs all alike.
    times = {name: [] for name in COMMANDS}
    for _ in range(ROUNDS):
        for name, command in COMMANDS.items():
            times[name].append(seconds(command))
    rate = {name: events / statistics.median(each) for name, each in times.items()}
    for name, peer, aim in (("decode", "dummy", 25), ("dump", "text", 10), ("json", "text", None), ("stats", "dummy", None)):
        met = None if aim is None else rate[name] >= aim * rate[peer] or (name == "decode" and rate[name] >= 100e6)
        line(f"{name}-speed", rate[name], "events/s", peer=rate[peer], aim=aim, met=met)


if shutil.which("babeltrace2") is None:
    sys.exit("babeltrace2 is not installed")
main()
