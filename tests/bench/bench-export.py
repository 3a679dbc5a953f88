"""Measure exporting a trace of 160 MB on one core, each format beside babeltrace2's text in the
same run, and the most memory that dump, stats and each streaming format hold for a trace of 1 GiB.

The trace is that of bench-decode. Times are processor time of whole processes, user and system, the
median of three each, taken in turns; outputs go to /dev/null, except CTF, which is a
directory, and SQLite's file.
Memory is the largest resident set while the trace comes through a pipe, as the daemon serves it.
The benchmark fails if the number of events is not the recorded one, or memory exceeds what the
tables of threads need. The limit is below the size of the trace, so a format that holds the trace
fails.
"""

import csv
import json
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys

from collector import BRIEF, BUILD, line, wrong

LOAD = f"{BUILD}/tests/bench/decode-load"
MPROFCTL = f"{BUILD}/client/ctl/mprofctl"
METADATA = os.path.join(os.path.dirname(__file__), "..", "..", "schema", "ctf", "metadata.tsdl")
BYTES = 8_000_000 if BRIEF else 160_000_000
ROUNDS = 1 if BRIEF else 3
# Sizes for the memory test: bytes of a piece, pieces, and the limit in MiB.
LARGE, PIECES, MOST = (8 << 20, 12, 84) if BRIEF else (128 << 20, 8, 512)
# SQLite may also fill its page cache and its sorter, each of PRAGMA cache_size: 64 MiB. So the brief
# run does not notice a database that holds the trace; the long one does.
SQLITE_MOST = max(MOST, 84 + 2 * 64)
FORMATS = "ctf json csv chrome perfetto fxt sqlite".split()
TEXT = ["babeltrace2", "--clock-seconds", "--no-delta", "trace"]


def export(form, path):
    # SQLite needs a file; a pipe would cost a copy of the database.
    return [MPROFCTL, "export", path, "--to", form, "-o", {"ctf": "out-ctf", "sqlite": "out.db"}.get(form, "-")]


def make(path, size, pieces):
    made = subprocess.run([LOAD, "make", path, str(size), str(pieces)], check=True, capture_output=True)
    return json.loads(made.stdout)["events"]


def run(command, source=None):
    """Return processor time in seconds and the largest resident set in MiB of COMMAND. The trace at
    SOURCE comes through a pipe."""
    feeder = subprocess.Popen(["cat", source], stdout=subprocess.PIPE) if source else None
    process = subprocess.Popen(command, stdin=feeder.stdout if feeder else None, stdout=subprocess.DEVNULL)
    if feeder:
        feeder.stdout.close()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode or (feeder and feeder.wait()):
        wrong(f"{command} ended with {process.returncode}")
    shutil.rmtree("out-ctf", ignore_errors=True)
    if os.path.exists("out.db"):
        os.unlink("out.db")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def check(events):
    """Check that each format holds all events, as far as their number shows from outside."""
    done = subprocess.run(export("json", "trace/stream"), check=True, capture_output=True)
    document = json.loads(done.stdout)
    if len(document["records"]) != events or document["events"] != events:
        wrong(f"json has {len(document['records'])} of {events} events")
    done = subprocess.run(export("csv", "trace/stream"), check=True, capture_output=True, text=True)
    rows = sum(1 for _ in csv.reader(done.stdout.splitlines())) - 1
    if rows != events:
        wrong(f"csv has {rows} of {events} events")
    subprocess.run(export("ctf", "trace/stream"), check=True)
    lines = subprocess.run(["babeltrace2", "out-ctf"], check=True, capture_output=True).stdout.count(b"\n")
    shutil.rmtree("out-ctf")
    if lines != events:
        wrong(f"ctf has {lines} of {events} events")
    done = subprocess.run(export("chrome", "trace/stream"), check=True, capture_output=True)
    subprocess.run(export("sqlite", "trace/stream"), check=True)
    with sqlite3.connect("out.db") as db:
        rows = db.execute("SELECT events, (SELECT sum(events) FROM packets), (SELECT sum(events) FROM seconds) FROM trace").fetchone()
    os.unlink("out.db")
    if rows != (events,) * 3:
        wrong(f"sqlite has {rows} of {events} events")
    phases = [one["ph"] for one in json.loads(done.stdout)["traceEvents"]]
    if phases.count("b") != phases.count("e") or not phases.count("X"):
        wrong("chrome's slices do not end")


def speed():
    os.makedirs("trace")
    shutil.copy(METADATA, "trace/metadata")
    events = make("trace/stream", BYTES, 1)
    if BRIEF:
        check(events)
    commands = {"text": TEXT, **{form: export(form, "trace/stream") for form in FORMATS}}
    times = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            times[name].append(run(command)[0])
    rate = {name: events / statistics.median(each) for name, each in times.items()}
    for form in FORMATS:
        line(f"export-{form}-speed", rate[form], "events/s", peer=rate["text"])
    shutil.rmtree("trace")


def memory():
    make("ring", LARGE, PIECES)
    # Pack the trace as the daemon serves it: no packet has more room than it needs.
    subprocess.run(export("ctf", "ring"), check=True)
    os.rename("out-ctf/stream", "large")
    os.unlink("ring")
    shutil.rmtree("out-ctf")
    commands = {"dump": [MPROFCTL, "dump", "-"], "stats": [MPROFCTL, "stats", "-"]}
    commands |= {f"export-{form}": export(form, "-") for form in FORMATS}
    for name, command in commands.items():
        used = run(command, "large")[1]
        most = SQLITE_MOST if name == "export-sqlite" else MOST
        line(f"{name}-memory", used, "MiB", peer=os.path.getsize("large") / 2**20, aim=None, met=used <= most)
        if used > most:
            wrong(f"{name} held {used:.0f} MiB, and {most} are enough")


if shutil.which("babeltrace2") is None:
    sys.exit("babeltrace2 is not installed")
os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
memory()  # measure memory first: a process counts the memory of the program that it replaced
speed()
