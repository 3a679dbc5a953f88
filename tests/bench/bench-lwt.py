"""Measure the cost of the overlay of mprof-mirage-lwt: a round of wait, bind, map and wakeup.

The peer is the installed Lwt's own modules, built in the same way. Recording is off, and then on. Times are processor times
of a round, medians of turns in which all run. Wrong is: another sum of the rounds than the peer's, and a trace without them.
"""

import os
import statistics
import subprocess

from collector import BRIEF, BUILD, line, wrong

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "../integration/lwt-overlay")
COMMAND = os.path.join(HERE, "../../client/recorder/ports/mirage/lwt/mprof-mirage-lwt")
TURNS = 1 if BRIEF else 21
ROUNDS = 20_000 if BRIEF else 2_000_000
RECORDED = ROUNDS // 10


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        wrong(f"{' '.join(command)}: {done.stdout[-1000:]}")
    return done.stdout


def build():
    """Build the program in two workspaces: over the plain modules, and over those with the overlay."""
    for place in ("plain", "laid"):
        run("sh", f"{PROGRAMS}/workspace", place)
        if place == "laid":
            run("sh", COMMAND, "laid/lwt")
        run("dune", "build", "--root", place, "--profile", "release", "./round.exe")


def measure(place, rounds, *ring):
    """Return the nanoseconds of a round."""
    took, total = run(f"{place}/_build/default/round.exe", str(rounds), *ring).split()
    if int(total) != sum(i + 2 for i in range(1, rounds + 1)):
        wrong(f"{place}: the rounds' sum is {total}")
    return float(took)


def main():
    build()
    turns = [(measure("plain", ROUNDS), measure("laid", ROUNDS), measure("laid", RECORDED, "round.ctf")) for _ in range(TURNS)]
    seen = run(f"{BUILD}/client/ctl/mprofctl", "dump", "round.ctf")
    if "type=Bind" not in seen or "type=Map" not in seen:
        wrong("the trace has no bind and no map")
    plain, off, on = map(statistics.median, zip(*turns))
    ratio = statistics.median(turn[1] / turn[0] for turn in turns)
    line("lwt-round-off", off, "ns", plain, ratio, 1.4, ratio <= 1.4)
    line("lwt-round-on", on, "ns", plain)


main()
