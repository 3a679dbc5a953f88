"""Measure the cost of an event in the recorder, beside LTTng-UST.

The event has two 64-bit numbers and a time. It is recorded in a loop, in turns: with the clock, without it, into the ring of
the thread, by a recorder that is off, by one that is compiled out, and by LTTng-UST into buffers of the user's, which overwrite
the oldest events and which nobody reads meanwhile. Times are the thread's processor time. Callgrind counts the instructions of each. Wrong is: an event of the last
ones that is not read back, and an instruction of the recorder that is compiled out.
"""

import contextlib
import glob
import os
import re
import shutil
import statistics
import subprocess
import time

from collector import BRIEF, BUILD, line, wrong

TURNS = 1 if BRIEF else 61
EVENTS = 200_000 if BRIEF else 1_000_000
COUNTED = 20_000  # events that callgrind counts
MODES = ("plain", "clock", "tracer", "stopped", "off", "empty")
RECORDED = ("plain", "clock", "tracer")
LOAD = f"{BUILD}/tests/bench/recorder-load"
LTTNG = f"{BUILD}/tests/bench/lttng-load"


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        wrong(f"{' '.join(command)}: {done.stdout[-1000:]}")
    return done.stdout


def lttng(*words):
    return run("lttng", "--no-sessiond", *words)


@contextlib.contextmanager
def session():
    """A session daemon, and a session whose buffers keep the newest events."""
    os.environ["LTTNG_HOME"] = os.getcwd()
    daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while subprocess.run(["lttng", "--no-sessiond", "list"], capture_output=True, check=False).returncode:
            if daemon.poll() is not None:
                wrong("lttng-sessiond does not start")
            time.sleep(0.05)
        lttng("create", "bench", "--snapshot", "--output", f"{os.getcwd()}/snapshots")
        lttng("enable-channel", "--userspace", "--buffers-uid", "--num-subbuf", "8", "--subbuf-size", "1M", "--session", "bench", "all")
        lttng("enable-event", "--userspace", "--channel", "all", "--session", "bench", "mprof_bench:try_read")
        lttng("start", "bench")
        yield
        lttng("destroy", "bench")
    finally:
        daemon.terminate()
        daemon.wait()


def check(name, numbers, events):
    """Check that NUMBERS, of the events that were read back, are the last ones of EVENTS."""
    if not numbers or numbers != list(range(events - len(numbers), events)):
        wrong(f"{name}: {len(numbers)} events were read back, from {numbers[:1]} to {numbers[-1:]}, of {events}")


def read_ours(path):
    text = run(f"{BUILD}/client/ctl/mprofctl", "dump", path)
    return [int(number) for number in re.findall(r"try_read\s.*source=(\d+)", text)]


def read_lttng():
    """Read back the newest events, as babeltrace2 prints them, of the run that ended last."""
    lttng("snapshot", "record", "--session", "bench")
    text = run("babeltrace2", max(glob.glob("snapshots/*"), key=os.path.getmtime))
    shutil.rmtree("snapshots")
    numbers = [int(number) for number in re.findall(r"source = (\d+)", text)]
    # The buffers hold events of earlier runs, too, and a thread that changes its processor continues in other buffers.
    begins = max((i for i in range(1, len(numbers)) if numbers[i] < numbers[i - 1]), default=0)
    return numbers[begins:]


def instructions(command, loop):
    """Return the instructions of one event, as callgrind counts them in the function LOOP and what it calls."""
    counts = []
    for events in (COUNTED, 2 * COUNTED):
        said = run("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", f"--toggle-collect={loop}", *command, str(events))
        counts.append(int(re.search(r"Collected : (\d+)", said)[1]))
    return (counts[1] - counts[0]) / COUNTED


def main():
    peer = os.path.exists(LTTNG)
    commands = {mode: [LOAD, mode] for mode in MODES} | ({"lttng": [LTTNG]} if peer else {})
    with session() if peer else contextlib.nullcontext():
        turns = [{mode: float(run(*command, str(EVENTS))) for mode, command in commands.items()} for _ in range(TURNS)]
        if peer:
            check("LTTng-UST", read_lttng(), EVENTS)
        counted = {mode: instructions(command, f"loop_{mode}") for mode, command in commands.items()}
    for mode in RECORDED:
        run(LOAD, mode, str(EVENTS), "ring")
        check(mode, read_ours("ring"), EVENTS)
        # In a ring that was not lapped, all events are there.
        run(LOAD, mode, str(COUNTED), "ring")
        if read_ours("ring") != list(range(COUNTED)):
            wrong(f"{mode}: not all events are in the ring")
    if counted["off"] != counted["empty"]:
        wrong(f"the recorder that is compiled out has {counted['off'] - counted['empty']} instructions")

    def median(value):
        return statistics.median(value(turn) for turn in turns)

    for mode in commands:
        ours = median(lambda turn, mode=mode: turn[mode] - turn["empty"])
        if mode in RECORDED and peer:
            ratio = median(lambda turn, mode=mode: (turn[mode] - turn["empty"]) / (turn["lttng"] - turn["empty"]))
            theirs = median(lambda turn: turn["lttng"] - turn["empty"])
            line(f"recorder-{mode}", ours, "ns", theirs, ratio, 0.25, ratio <= 0.25)
        elif mode == "stopped":
            line(f"recorder-{mode}", ours, "ns", aim=1, met=ours <= 1)
        elif mode == "lttng":
            line("recorder-lttng", ours, "ns")
    clock = median(lambda turn: turn["clock"] - turn["plain"])
    line("recorder-clock-alone", clock, "ns", aim=10, met=clock <= 10)
    for mode in commands:
        theirs = counted["lttng"] - counted["empty"] if peer and mode in RECORDED else None
        line(f"recorder-{mode}-instructions", counted[mode] - counted["empty"], "instructions", theirs)


main()
