"""Measure a memory profile of 50 MB on one core, all in one run: reading it with stacks beside
`zstd -d` of the same file, and the verbs that a user waits for.

The profile is the OCaml runtime's of a busy program (mem-load.c). "read" decodes and counts every
event with its stack, as other readers are measured; "identify" is `mprofctl mem identify`, with all
sums and the live objects. The last lines use a profile in which a thousand objects live at a time,
through a pipe, and another one four times as long: memory must follow the live objects, not the
length. Times are processor time of whole processes, user and system, from start to exit, the median
of nine each; outputs go to /dev/null. The reference reader's published 26 million events a second
were measured on another machine and are printed for orientation. The benchmark fails if the number
of events is not the dump's number of lines, on damage, if memory exceeds 24 MiB, or if it grows by
more than 2 MiB with the length.
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
    "read": [LOAD, "--read", "trace"],
    "identify": [MPROFCTL, "mem", "identify", "trace"],
    "zstd": ["zstd", "-dc", "-q", "trace.zst"],
    "hotspots": [MPROFCTL, "mem", "hotspots", "trace"],
    "flame": [MPROFCTL, "mem", "flame", "trace", "-o", "flame.svg"],
}


def used(command):
    """Return the processor time of COMMAND, so that other work on this machine counts less."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        wrong(f"{command} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def resident(command, stdin=None):
    """Return the largest resident set of COMMAND in MiB."""
    run = subprocess.run([LOAD, "--memory", *command], stdin=stdin, stdout=subprocess.PIPE, check=True)
    return int(run.stdout) / 1024


def grows():
    """Measure the memory of each verb on a profile from a pipe, and on one four times as long."""
    for verb in (["hotspots"], ["identify"], ["leaks"], ["timeline"], ["flame", "-o", "live.svg"], ["dump"]):
        most = []
        for size in (BYTES // 4, BYTES):
            subprocess.run([LOAD, "few", str(size), "1000"], check=True)
            with subprocess.Popen(["cat", "few"], stdout=subprocess.PIPE) as cat:
                most.append(resident([MPROFCTL, "mem", *verb, "-"], cat.stdout))
        line(f"memory profile: {verb[0]} by a pipe, memory, four times as long", ours=most[1], peer=most[0], unit="MiB")
        if most[1] > most[0] + 2:
            wrong(f"{verb[0]} takes {most[0]:.1f} MiB, and of four times as much {most[1]:.1f} MiB")


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
    # Run the commands in turns, so that other work on the machine disturbs all alike.
    for _ in range(ROUNDS):
        for name, command in COMMANDS.items():
            taken[name].append(used(command))
    seconds = {name: statistics.median(times) for name, times in taken.items()}
    memory = {name: resident(COMMANDS[name]) for name in ("hotspots", "flame")}
    for name in ("read", "identify"):
        rate = events / seconds[name] / 1e6
        line(f"memory profile: {name}", ours=rate, peer=REFERENCE, unit="million events/s", aim="60", met=rate >= 60)
        line(f"memory profile: {name}, beside zstd -d", ours=seconds[name], peer=seconds["zstd"], unit="s")
    for verb in ("hotspots", "flame"):
        line(f"memory profile: {verb}", ours=seconds[verb], unit="s", aim="0.5", met=seconds[verb] < 0.5)
        line(f"memory profile: {verb}, memory", ours=memory[verb], unit="MiB", aim="16", met=memory[verb] < 16)
        if memory[verb] > 24:
            wrong(f"{verb} takes {memory[verb]:.0f} MiB")
    grows()


main()
