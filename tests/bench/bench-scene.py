"""Measure the viewer's pictures: the index over a model of 10 million events, and a tour of zooms
and pans at 1,600 x 1,000 pixels.

Measure native code, and mprof.wasm under node, where the compiler's threads count too, as well as
the loading time. All times are processor time. The peer is the same tour in native code with a scan
over every item of the model for each picture. Ratios are the peer's median over ours, so that more
is better. The benchmark fails if the number of events is not the recorded one, or if no line of the
picture covers a thread that the peer draws.
"""

import json
import os
import shutil
import subprocess

from collector import BRIEF, BUILD, line, wrong

LOAD = f"{BUILD}/tests/bench/scene-load"
WASM = f"{BUILD}/client/trace/mprof.wasm"
BYTES = 8_000_000 if BRIEF else 245_000_000
SHAPES = {"staircase": (2, 1_000_000), "deep": (2, 100_000), "anyhow": (2, 1_000_000)}


def run(events, *command, env=None):
    report = json.loads(subprocess.run(command, check=True, capture_output=True, env=env).stdout)
    if report["events"] != events:
        wrong(f"of {events} events the scene says {report}")
    if report.get("hidden"):
        wrong(f"{report['hidden']} threads are not in the pictures")
    return report


def tell(name, report, peer, index=None):
    line(f"{name}-index", report["index_ns"] / 1e6, "ms", aim=index, met=report["index_ns"] / 1e6 <= index if index else None)
    median, worst = report["median_ns"] / 1e6, report["p99_ns"] / 1e6
    line(f"{name}-picture", median, "ms", peer=peer / 1e6, ratio=peer / report["median_ns"], aim=8, met=median <= 8)
    line(f"{name}-picture-99", worst, "ms", aim=16, met=worst <= 16)


def main():
    made = subprocess.run([f"{BUILD}/tests/bench/decode-load", "make", "trace", str(BYTES)], check=True, capture_output=True)
    events = json.loads(made.stdout)["events"]
    native = run(events, LOAD, "trace")
    tell("scene", native, native["peer_median_ns"], 400)
    if os.path.exists(WASM) and shutil.which("node"):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "scene.mjs")
        wasm = run(events, "node", script, "trace", env={**os.environ, "MPROF_WASM": WASM})
        loaded = wasm["load_ns"] / 1e9
        line("scene-wasm-load", loaded, "s", aim=3, met=loaded <= 3)
        line("scene-wasm-memory", wasm["memory"] / events, "bytes/event", aim=64, met=wasm["memory"] <= 64 * events)
        tell("scene-wasm", wasm, native["peer_median_ns"])
    for name, (each, threads) in SHAPES.items():
        threads = threads // 50 if BRIEF else threads
        report = run(each * threads, LOAD, "shape", name, str(threads))
        tell(f"scene-{name}", report, report["peer_median_ns"])


main()
