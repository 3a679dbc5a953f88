"""Measure the worker of a memory profile's page on 50 MB, in mprof.wasm under node.

Read the whole profile, then get a time line of 1,600 points with the profile of all allocations
(trees both ways, functions), then both for what lived at the peak, and for the stacks that contain
one function. The peers are `mprofctl mem` with the same question in the same run; it reads the file
for each question. All times are medians of processor time, including node's compiler threads. The
benchmark fails if the samples are not those of mprofctl.
"""

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys

from collector import BRIEF, BUILD, line, wrong

LOAD = f"{BUILD}/tests/bench/mem-load"
MPROFCTL = f"{BUILD}/client/ctl/mprofctl"
WASM = f"{BUILD}/client/trace/mprof.wasm"
BYTES = 4_000_000 if BRIEF else 50_000_000
ROUNDS = 1 if BRIEF else 7


def peer(*options):
    """Return the samples that mprofctl selects, and its processor time in ms."""
    taken = []
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        told = subprocess.run([MPROFCTL, "mem", "hotspots", "trace", "--json", *options], check=True, capture_output=True).stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000)
    return json.loads(told)["samples"], statistics.median(taken)


def main():
    if not os.path.exists(WASM) or not shutil.which("node"):
        print("there is no wasm, or no node", file=sys.stderr)
        return
    subprocess.run([LOAD, "trace", str(BYTES)], check=True)
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "heap.mjs")
    command = ["node", script, "trace", str(ROUNDS)]
    ours = json.loads(subprocess.run(command, check=True, capture_output=True, env={**os.environ, "MPROF_WASM": WASM}).stdout)
    for key, what, options in ("samples", "load", []), ("selected", "moment", ["--live=peak"]), ("through", "inside", ["--inside=_7"]):
        samples, milliseconds = peer(*options)
        if samples != ours[key]:
            wrong(f"{what}: {ours[key]} samples, and mprofctl says {samples}")
        line(f"heap-{what}", ours[what], "ms", peer=milliseconds, aim=1000, met=ours[what] < 1000)
    line("heap-questions", ours["questions"], "ms", aim=200, met=ours["questions"] < 200)
    line("heap-memory", ours["memory"] / 1e6, "MB")


main()
