"""Download and decode together: `mprofctl stats DOMAIN` of a trace of 160 MB that mprofd-http serves
from an archive, beside the longer of its two parts, which are curl's download of the same bytes, and
`mprofctl stats FILE` of them.

Times are of the clock, from the start of the program to its end, because the parts overlap; the
three take turns. The server, the client and all else share the processors. The ratio of a turn is that
of `stats DOMAIN` to the longer part of the same turn; the benchmark prints its median. The second line has
the processor time of `mprofctl stats DOMAIN` beside that of `mprofctl stats FILE`. The benchmark fails
if the two answers differ, or do not have the recorded number of events.
"""

import json
import os
import statistics
import subprocess
import time

from collector import BRIEF, BUILD, line, wrong
from server import Server

LOAD = f"{BUILD}/tests/bench/decode-load"
MPROFCTL = f"{BUILD}/client/ctl/mprofctl"
BYTES = 8_000_000 if BRIEF else 160_000_000
TURNS = 1 if BRIEF else 15


def timed(command):
    """Run COMMAND. Return the time that it took by the clock, and its processor time."""
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    took = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        wrong(f"{command} ended with {process.returncode}")
    return took, used.ru_utime + used.ru_stime


def answer(command):
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def measure(server, events):
    url = f"{server.base}/v1/domains/load/trace"
    commands = {
        "curl": ["curl", "-sSf", "-o", "/dev/null", url],
        "file": [MPROFCTL, "stats", "fetched", "--json"],
        "domain": [MPROFCTL, "--host", server.base, "stats", "domain:load", "--json"],
    }
    subprocess.run(["curl", "-sSf", "-o", "fetched", url], check=True)
    here, there = answer(commands["file"]), answer(commands["domain"])
    if here != there:
        wrong(f"stats of the file says {here}, and of the domain {there}")
    if here["events"] != events or here["damages"]:
        wrong(f"of {events} events stats counted {here['events']}")
    turns = [{name: timed(command) for name, command in commands.items()} for _ in range(TURNS)]
    wall = {name: statistics.median(turn[name][0] for turn in turns) for name in commands}
    used = {name: statistics.median(turn[name][1] for turn in turns) for name in commands}
    ratio = statistics.median(turn["domain"][0] / max(turn["curl"][0], turn["file"][0]) for turn in turns)
    longer = max(wall["curl"], wall["file"])
    line("download-stats", wall["domain"], "s", peer=longer, ratio=ratio, aim=1, met=ratio <= 1)
    line("download-alone", wall["curl"], "s")
    line("download-stats-cpu", used["domain"], "s", peer=used["file"])


def main():
    os.makedirs("run")
    made = subprocess.run([LOAD, "make", "trace", str(BYTES)], check=True, capture_output=True)
    subprocess.run([f"{BUILD}/tests/bench/archive-load", "state", "trace"], check=True)
    server = Server()
    try:
        measure(server, json.loads(made.stdout)["events"])
    finally:
        server.stop()


main()
