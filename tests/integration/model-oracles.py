"""Compare the model of each trace with the original viewer's: model-oracles.py SOURCE-ROOT
MODEL-DUMP own|reference|public

Part own compares rings of tests/traces with their stored models. Part reference compares them with
the viewer's own output, thread by thread and in every field; docs/viewer-differences.md lists the
deliberate differences. Part public does so for the published traces, if MPROF_REFERENCE has them.
"""

import sys

sys.path.pop(0)  # the scripts beside this one are no modules, though one may have a module's name

import glob
import json
import lzma
import os
import re
import subprocess
import tempfile

root, model_dump, part = sys.argv[1:4]
sys.path.append(os.path.join(root, "tests", "traces"))
import unpack  # noqa: E402

public = os.path.join(unpack.REFERENCE, "public")
failures = []

RESOLVED, SIMPLIFIED, PREEXISTING = 4, 64, 2
# Thread types that the viewer does not know.
UNKNOWN = {"Stream", "Mutex"}
# The published model of arp-good has two arrows that its trace cannot have.
ARROWS = {"arp-good": 2}


def fail(what):
    failures.append(what)
    print("FAILED", what)


def read(path):
    with (lzma.open if path.endswith(".xz") else open)(path, "rb") as f:
        return f.read()


def model(data, *options):
    """Return the lines of model-dump for DATA: threads, and the rest."""
    with tempfile.NamedTemporaryFile() as f:
        f.write(data)
        f.flush()
        done = subprocess.run([model_dump, *options, f.name], capture_output=True, check=False)
    if done.returncode or done.stderr:
        fail("model-dump: exit code %d: %s" % (done.returncode, done.stderr.decode()))
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return lines[:-1], lines[-1]


def ns(seconds):
    return round(seconds * 1e9)


def text(string):
    """Return the oracle's form of a string's bytes: the character of each byte's number."""
    return list(string.encode("latin-1"))


def theirs(thread):
    """Convert a thread of the oracle to model-dump's fields."""
    return {
        "type": thread["type"],
        "start": ns(thread["start"]),
        "end": ns(thread["end"]),
        "resolved": thread["resolved"],
        "show_creation": thread["show_creation"],
        "failure": None if thread["failure"] is None else text(thread["failure"]),
        "becomes": thread["becomes"],
        "creates": thread["creates"],
        "labels": [[ns(time), text(label)] for time, label in thread["labels"]],
        "interactions": [[ns(time), kind, other] for time, kind, other in thread["interactions"]],
        "activations": [[ns(start), ns(end)] for start, end in thread["activations"]],
        "row": round((thread["y"] - 0.5) / 30) if isinstance(thread["y"], float) else None,
    }


def type_of(thread):
    if thread["flags"] & PREEXISTING:
        return "preexisting"
    return "unknown" if thread["type"] in UNKNOWN else thread["type"].lower()


def ours(thread):
    """Return a thread with the labels that the viewer shows: also its failure, and its id if it has
    nothing else."""
    labels = list(thread["labels"])
    if thread["failure"] is not None:
        labels.append([thread["end"], thread["failure"]])
    if not labels:
        labels.append([thread["start"], list(b"%d" % thread["tid"])])
    return {
        "type": type_of(thread),
        "start": thread["start"],
        "end": thread["end"],
        "resolved": bool(thread["flags"] & RESOLVED),
        "show_creation": not thread["flags"] & SIMPLIFIED,
        "failure": thread["failure"],
        "becomes": thread["becomes"],
        "creates": thread["creates"],
        "labels": labels,
        "interactions": thread["interactions"],
        "activations": thread["activations"],
        "row": thread["row"],
    }


def compare_threads(name, mine, wanted):
    """Compare threads field by field. Print the first that differ and return their number."""
    mine = {thread["tid"]: ours(thread) for thread in mine}
    wanted = {thread["tid"]: theirs(thread) for thread in wanted}
    if set(mine) != set(wanted):
        fail("%s: threads %s" % (name, sorted(set(mine) ^ set(wanted))[:10]))
    different = [tid for tid in sorted(set(mine) & set(wanted)) if mine[tid] != wanted[tid]]
    for tid in different[:3]:
        for key, value in wanted[tid].items():
            if mine[tid][key] != value:
                print("%s: thread %d: %s is %.300r and not %.300r" % (name, tid, key, mine[tid][key], value))
    return len(different)


def compare_rest(name, rest, wanted):
    """Compare the summary of the viewer's model: rows, collections, counters."""
    got = {
        "rows": rest["rows"],
        "end": rest["end"],
        "n_gc": len(rest["gc"]),
        "gc": sum(duration for _, duration in rest["gc"]),
        "counters": [
            [bytes(c["name"]).decode(), len(c["values"]), c["values"][0], c["values"][-1], c["scale_min"], c["scale_max"]] for c in rest["counters"]
        ],
    }
    want = {
        "rows": round((wanted["layout_max_y"] - 0.5) / 30) + 1,
        "end": ns(wanted["trace_end_time_s"]),
        "n_gc": wanted["n_gc"],
        "gc": ns(wanted["total_gc_s"]),
        "counters": [[c["name"], c["n_samples"], c["first"], c["final"], c["scale_min"], c["scale_max"]] for c in wanted["counters"]],
    }
    for key, value in want.items():
        if got[key] != value:
            fail("%s: %s is %r and not %r" % (name, key, got[key], value))


def check_oracle(path):
    base = re.sub(r"\.ctf(\.xz)?$", "", path)
    name = os.path.basename(base)
    threads, rest = model(read(path))
    if name == "truncated":  # the viewer refuses this trace
        if len(threads) < 500 or not rest["events"] == 2598:
            fail("truncated: %d threads of %d events" % (len(threads), rest["events"]))
        return
    wanted = [json.loads(line) for line in read(base + ".viewer-threads.jsonl.xz").splitlines()]
    if compare_threads(name, threads, wanted):
        fail("%s: threads differ" % name)
    compare_rest(name, rest, json.loads(read(base + ".expected.json"))["viewer"]["model"])
    if os.path.exists(base + ".model.json.xz"):
        check_published(name, threads, json.loads(read(base + ".model.json.xz"))["threads"])


def check_published(name, threads, wanted):
    """Compare with the model that the website published, which lacks the creation of a simplified
    bind."""
    different = compare_threads(name + " as published", threads, wanted)
    if different > ARROWS.get(name, 0):
        fail("%s as published: %d threads differ" % (name, different))


def consistent(name, threads, rest):
    """Check what holds for every model: a tree, rows, and no thread that ends before it begins."""
    placed = sum(len(thread["creates"]) for thread in threads)
    if placed != len(threads) - 1:
        fail("%s: %d threads, of which %d are below another" % (name, len(threads), placed))
    for thread in threads:
        if thread["end"] < thread["start"] or (thread["row"] is None) != (thread["tid"] == -1):
            fail("%s: thread %d" % (name, thread["tid"]))
            return


def check_live(directory):
    """Check torn copies of a ring. The viewer's model stops at some; model-dump prints a consistent
    model of each."""
    for path in sorted(glob.glob(os.path.join(directory, "snap-*.ctf"))):
        name = "/".join(path.split("/")[-2:])
        threads, rest = model(read(path))
        consistent(name, threads, rest)
        if rest["events"] < 100 or len(threads) < 10:
            fail("%s: %d threads of %d events" % (name, len(threads), rest["events"]))


def check_own(path):
    base = path[: -len(".ctf.xz")]
    for options, kind in ((), "model"), (("-r",), "model-raw"):
        threads, rest = model(read(path), *options)
        consistent(base, threads, rest)
        wanted = base + ".%s.jsonl.xz" % kind
        lines = [json.loads(line) for line in read(wanted).splitlines()]
        if [*threads, rest] != lines:
            fail("%s: not the model that it was" % wanted)


if part == "own":
    for trace in sorted(glob.glob(os.path.join(root, "tests/traces/*.ctf.xz"))):
        if os.path.exists(trace.replace(".ctf.xz", ".model.jsonl.xz")):
            check_own(trace)
elif part == "public":
    if not os.path.isdir(public):
        print("SKIP: there are no published traces at %s" % public)
        sys.exit(77)
    for trace in sorted(glob.glob(public + "/*.ctf*")):
        check_oracle(trace)
else:
    reference = unpack.scratch("rings", "live", "live-slow")
    for trace in sorted(glob.glob(reference + "/*.ctf")):
        check_oracle(trace)
    for directory in "live", "live-slow":
        check_live(os.path.join(reference, directory))
sys.exit(1 if failures else 0)
