"""Measure the model of a trace of 160 MB on one core: events per second from the mapped file to the
finished rows, and memory for each event.

The trace is that of bench-decode.py. The peer, in turns with mprofctl's model, is `babeltrace2 -o
dummy`, which only decodes. Time is processor time, page faults included. The first line is
decoding, the model and its layout. The second is decoding and applying each event to the model. The
third is the ends, the chains, the tree and the rows. Memory is the most that the model held by its
own count, including room for growth. A trace of a quarter of the size shows that the time grows no
worse than n log n: its rate is the peer of model-growth.

The shapes are models that could be slow (shapes.c), a million threads each; the peer is again a
quarter of them. The benchmark fails if the number of events is not the recorded one, an id was
created twice, or a row was not the first free one.
"""

import json
import os
import shutil
import statistics
import subprocess

from collector import BRIEF, BUILD, line, wrong

LOAD = f"{BUILD}/tests/bench/model-load"
METADATA = os.path.join(os.path.dirname(__file__), "..", "..", "schema", "ctf", "metadata.tsdl")
BYTES = 8_000_000 if BRIEF else 160_000_000
ROUNDS = 1 if BRIEF else 5
THREADS = 20_000 if BRIEF else 1_000_000
SHAPES = {"children": 2, "becomes": 3, "counters": 1, "combs": 2, "staircase": 2, "deep": 2, "anyhow": 2}
AIM_RATE = 10e6
AIM_BYTES = 64


def make(name, size):
    made = subprocess.run([f"{BUILD}/tests/bench/decode-load", "make", name, str(size)], check=True, capture_output=True)
    return json.loads(made.stdout)["events"]


def model(events, *arguments):
    report = json.loads(subprocess.run([LOAD, *arguments], check=True, capture_output=True).stdout)
    if report["events"] != events or report["recreated"] or report["not_first"]:
        wrong(f"of {events} events the model says {report}")
    return report


def dummy():
    """Return the processor time of the peer, or None if it is not installed."""
    if shutil.which("babeltrace2") is None:
        return None
    process = subprocess.Popen(["babeltrace2", "-o", "dummy", "trace"], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        wrong(f"babeltrace2 ended with {process.returncode}")
    return used.ru_utime + used.ru_stime


def rate(reports, *parts):
    return reports[0]["events"] / statistics.median(sum(run[part] for part in parts) for run in reports) * 1e9


def trace():
    os.makedirs("trace")
    shutil.copy(METADATA, "trace/metadata")
    events = {"trace/stream": make("trace/stream", BYTES), "quarter": make("quarter", BYTES // 4)}
    reports = {name: [] for name in events}
    peers = []
    for _ in range(ROUNDS):
        for name, runs in reports.items():
            runs.append(model(events[name], name))
        peers.append(dummy())
    whole = reports["trace/stream"]
    peer = None if None in peers else whole[0]["events"] / statistics.median(peers)
    speed = rate(whole, "add_ns", "finish_ns")
    line("model-speed", speed, "events/s", peer=peer, aim=AIM_RATE, met=speed >= AIM_RATE)
    line("model-events-speed", rate(whole, "add_ns"), "events/s", peer=peer)
    line("model-finish-speed", rate(whole, "finish_ns"), "events/s")
    each = whole[0]["most"] / whole[0]["events"]
    line("model-memory", each, "bytes/event", aim=AIM_BYTES, met=each <= AIM_BYTES)
    held = whole[0]["held"] / whole[0]["events"]
    line("model-memory-finished", held, "bytes/event", aim=AIM_BYTES, met=held <= AIM_BYTES)
    line("model-growth", speed, "events/s", peer=rate(reports["quarter"], "add_ns", "finish_ns"))


def shape(name, each):
    runs = {threads: [] for threads in (THREADS, THREADS // 4)}
    for _ in range(1 if BRIEF else 3):
        for threads, reports in runs.items():
            reports.append(model(each * threads, "shape", name, str(threads)))
    whole, quarter = (rate(reports, "add_ns", "finish_ns") for reports in runs.values())
    line(f"model-{name}", whole, "events/s", peer=quarter)
    most = runs[THREADS][0]["most"] / runs[THREADS][0]["events"]
    line(f"model-{name}-memory", most, "bytes/event")


def main():
    os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
    trace()
    for name, each in SHAPES.items():
        shape(name, each)


main()
