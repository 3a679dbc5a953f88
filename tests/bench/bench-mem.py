"""A memory profile of 50 MB, one core, all in the same run: reading it with stacks beside `zstd -d` of the same file, and the verbs that a person
waits for.

The profile is what the OCaml runtime tells of a busy program (mem-load.c). Times are processor time of whole processes, user and system, from start
to exit, the median of nine each; outputs go to /dev/null. The known figure of the reference reader, 26 million events a second, is of another
machine and stands beside ours for orientation. Wrong is: another number of events than the dump has lines, damage, or more memory than 24 MiB.
"""

import json
import os
import statistics
import subprocess

from collector import BRIEF, BUILD, line, wrong

LOAD = f"{BUILD}/tests/bench/mem-load"
MPROFCTL = f"{BUILD}/client/ctl/mprofctl"
BYTES = 4_000_000 if BRIEF else 50_000_000
ROUNDS = 1 if BRIEF else 9
REFERENCE = 26.0
COMMANDS = {
    "read": [MPROFCTL, "mem", "identify", "trace"],
    "zstd": ["zstd", "-dc", "-q", "trace.zst"],
    "hotspots": [MPROFCTL, "mem", "hotspots", "trace"],
    "flame": [MPROFCTL, "mem", "flame", "trace", "-o", "flame.svg"],
}


def used(command):
    """Processor time, so that what others do on this machine counts less."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        wrong(f"{command} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def resident(command):
    """The largest resident set, in MiB, looked at while it runs: what wait4() tells of it is that of this script too, from which it forked."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    most = 0
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
                text = status.read()
        except OSError:
            continue
        if "VmHWM" in text and "Name:\tmprofctl" in text:
            most = max(most, int(text.split("VmHWM:")[1].split()[0]))
    return most / 1024


def main():
    os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
    subprocess.run([LOAD, "trace", str(BYTES)], check=True)
    subprocess.run(["zstd", "-q", "trace", "-o", "trace.zst"], check=True)
    told = json.loads(subprocess.run([MPROFCTL, "mem", "identify", "trace", "--json"], check=True, capture_output=True).stdout)
    events = sum(told["allocs"].values()) + told["promotes"] + told["collects"]
    if BRIEF:
        dump = subprocess.run([MPROFCTL, "mem", "dump", "trace"], check=True, capture_output=True).stdout
        if dump.count(b"\n") != events:
            wrong(f"{dump.count(bytes([10]))} lines of {events} events")
    if told["damages"] or told["unknown"] or told["live_objects"] < 20000 - 1:
        wrong(f"the profile reads as {told}")
    taken = {name: [] for name in COMMANDS}
    # One after the other, so that a noisy neighbour disturbs all alike.
    for _ in range(ROUNDS):
        for name, command in COMMANDS.items():
            taken[name].append(used(command))
    seconds = {name: statistics.median(times) for name, times in taken.items()}
    memory = {name: resident(COMMANDS[name]) for name in ("hotspots", "flame")}
    line("memory profile: read", ours=events / seconds["read"] / 1e6, peer=REFERENCE, unit="million events/s", aim="60", met=events / seconds["read"] >= 60e6)
    line("memory profile: read, beside zstd -d", ours=seconds["read"], peer=seconds["zstd"], unit="s")
    for verb in ("hotspots", "flame"):
        line(f"memory profile: {verb}", ours=seconds[verb], unit="s", aim="0.5", met=seconds[verb] < 0.5)
        line(f"memory profile: {verb}, memory", ours=memory[verb], unit="MiB", aim="16", met=memory[verb] < 16)
        if memory[verb] > 24:
            wrong(f"{verb} takes {memory[verb]:.0f} MiB")


main()
