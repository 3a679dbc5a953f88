"""The model of a trace of 160 MB, one core: events per second from the mapped file to the finished rows, and memory for each event.

The trace is that of bench-decode.py. Time is the processor's, page faults included. Memory is the most that the model held, room for growth included, as it counts itself. That the
time grows no worse than n log n is seen by a trace of a quarter of the size: its rate is the peer of the last line. Wrong is: another
number of events than was recorded, an id that was created twice, or a row that was not the first free one.
"""

import json
import os
import statistics
import subprocess

from collector import BRIEF, BUILD, line, wrong

BYTES = 8_000_000 if BRIEF else 160_000_000
ROUNDS = 1 if BRIEF else 5
AIM_RATE = 10e6
AIM_BYTES = 64


def make(name, size):
    made = subprocess.run([f"{BUILD}/tests/bench/decode-load", "make", name, str(size)], check=True, capture_output=True)
    return json.loads(made.stdout)["events"]


def model(name, events):
    done = subprocess.run([f"{BUILD}/tests/bench/model-load", name], check=True, capture_output=True)
    report = json.loads(done.stdout)
    if report["events"] != events or report["recreated"] or report["not_first"]:
        wrong(f"of {events} events the model says {report}")
    return report


def main():
    os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
    sizes = {"whole": BYTES, "quarter": BYTES // 4}
    events = {name: make(name, size) for name, size in sizes.items()}
    reports = {name: [] for name in sizes}
    for _ in range(ROUNDS):
        for name, runs in reports.items():
            runs.append(model(name, events[name]))

    def rate(name, *parts):
        return events[name] / statistics.median(sum(run[part] for part in parts) for run in reports[name]) * 1e9

    whole = rate("whole", "add_ns", "finish_ns")
    line("model-speed", whole, "events/s", aim=AIM_RATE, met=whole >= AIM_RATE)
    line("model-events-speed", rate("whole", "add_ns"), "events/s")
    line("model-finish-speed", rate("whole", "finish_ns"), "events/s")
    each = reports["whole"][0]["most"] / events["whole"]
    line("model-memory", each, "bytes/event", aim=AIM_BYTES, met=each <= AIM_BYTES)
    held = reports["whole"][0]["held"] / events["whole"]
    line("model-memory-finished", held, "bytes/event", aim=AIM_BYTES, met=held <= AIM_BYTES)
    line("model-growth", whole, "events/s", peer=rate("quarter", "add_ns", "finish_ns"))


main()
