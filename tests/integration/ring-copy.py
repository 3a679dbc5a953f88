"""Test the sequence-checked copy alone against each writer: ring-copy.py BUILD-DIRECTORY
writers|replay

truth.py judges the output of ring-follow: every event must be in the truth, and only events in a
declared gap may be missing. incarnations.py judges the output for the hostile writer.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "traces"))
import unpack  # noqa: E402

PROGRAMS = os.path.join(sys.argv[1], "tests", "integration")
BRIEF = bool(os.environ.get("MPROF_BRIEF"))
failures = 0

# Name, writer, microseconds between polls, whether gaps must, may or must not be there, and
# options.
RINGS = [
    ("legacy, slow", "writer-legacy", 300, "never", "--size 65536 --rate 2000000 --seconds 2"),
    ("legacy, odd size", "writer-legacy", 200, "may", "--size 10007 --rate 300000 --seconds 2 --torn 1"),
    ("legacy, pausing", "writer-legacy", 300, "may", "--size 16384 --seconds 3 --pause-every 200 --pause-us 800 --gc-percent 30"),
    ("legacy, torn halves", "writer-legacy", 300, "may", "--size 131072 --seconds 2 --pause-every 400 --pause-us 800 --torn 1"),
    ("legacy, overtaking", "writer-legacy", 500, "must", "--size 8192 --events 1500000"),
    ("legacy, counts overtaken", "writer-legacy", 100, "must", "--size 1024 --events 1000000"),
    ("legacy, killed", "writer-legacy", 300, "may", "--size 16384 --rate 1000000 --kill-after 300000 --pause-every 1000 --pause-us 500"),
    ("recorder, slow", "writer-recorder", 300, "never", "--rate 2000000 --seconds 2"),
    ("recorder, odd size", "writer-recorder", 300, "may", "--size 10007 --packets 5 --rate 1000000 --seconds 2"),
    ("recorder, many packets", "writer-recorder", 100, "may", "--size 262144 --packets 64 --rate 40000000 --seconds 2"),
    ("recorder, overtaking", "writer-recorder", 300, "must", "--size 8192 --events 2000000"),
]


def fail(what, said):
    global failures
    failures += 1
    print(f"FAILED: {what}: {said}")


def wait_for_attach():
    """Wait until the follower works: it has opened its first run."""
    deadline = time.monotonic() + 300
    while not os.path.exists("out.0.ctf") and time.monotonic() < deadline:
        time.sleep(0.01)


def follow(writer, poll_us):
    """Run a writer with the follower beside it. Return the output of both."""
    for name in os.listdir("."):
        if name.startswith(("out.", "ring.")):
            os.unlink(name)
    command = [f"{PROGRAMS}/ring-follow", "--ring", "ring.ctf", "--out", "out", "--poll-us", str(poll_us)]
    follower = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    done = subprocess.run(writer, stdout=subprocess.PIPE, text=True)
    wait_for_attach()
    time.sleep(0.1)
    follower.terminate()
    said, _ = follower.communicate(timeout=300)
    if follower.returncode != 0:
        fail(" ".join(writer), f"the follower ended with {follower.returncode}")
        return None, {}
    if done.returncode not in (0, -signal.SIGKILL):
        fail(" ".join(writer), f"the writer ended with {done.returncode}")
        return None, {}
    return json.loads(done.stdout) if done.stdout else {}, json.loads(said)


def judge(what, *arguments):
    done = subprocess.run([sys.executable, "-B", f"{HERE}/{arguments[0]}", *arguments[1:]], capture_output=True, text=True)
    if done.returncode != 0:
        fail(what, f"{done.stdout}{done.stderr}")


def briefly(options):
    """Return the options of a writer that writes for a second, or a quarter of its events."""
    for option, value in ("--seconds", lambda _: 1), ("--events", lambda n: n // 4):
        if option in options:
            at = options.index(option) + 1
            options[at] = str(value(int(options[at])))
    return options


def try_ring(what, program, poll_us, gaps, options):
    options = briefly(options.split()) if BRIEF else options.split()
    for _ in range(10):  # on a busy machine the reader may start when everything is written
        wrote, had = follow([f"{PROGRAMS}/{program}", "--ring", "ring.ctf", "--truth", "truth.ctf", *options], poll_us)
        if wrote is None:
            return
        if gaps != "must" or had["gaps"]:
            break
    # A killed writer may leave bytes of the lap before where it counted an event. They may pass for an event if the
    # reader did not copy that lap, and are unproven then.
    judge(what, "truth.py", "truth.ctf", "out.0.ctf", "--packets", "out.0.json", "--ended", "--open", *wrote.get("open", []))
    if had["unproven"] or had["runs"] != 1:
        fail(what, f"one writer, one life: {had}")
    if gaps == "must" and not had["gaps"]:
        fail(what, "the writer did not overtake the reader: the test shows nothing")
    # A busy machine may stop the reader until the writer overtakes it. The reader then reports a
    # gap, which is judged above.
    if gaps == "never" and had["gaps"]:
        print(f"{what}: {had['gaps']} gaps, on a busy machine")


def try_late(number):
    """Kill a writer before the reader comes: the reader knows no byte of an earlier lap."""
    for name in os.listdir("."):
        if name.startswith(("out.", "ring.")):
            os.unlink(name)
    options = f"--size 16384 --kill-after {30_000 + 7 * number} --gc-percent 30 --seed {number + 1}"
    writer = [f"{PROGRAMS}/writer-legacy", "--ring", "ring.ctf", "--truth", "truth.ctf", *options.split()]
    wrote = json.loads(subprocess.run(writer, stdout=subprocess.PIPE, text=True).stdout)
    subprocess.run([f"{PROGRAMS}/ring-follow", "--ring", "ring.ctf", "--out", "out", "--polls", "2"], stdout=subprocess.DEVNULL)
    judge(f"late, {options}", "truth.py", "truth.ctf", "out.0.ctf", "--packets", "out.0.json", "--ended", "--open", *wrote["open"])


def try_replay(name, jump):
    if not os.path.isdir(name):
        unpack.series(name, ".")
    command = f"{PROGRAMS}/replay --truth {name}/truth.ctf --ring ring.ctf --jump {jump} --rate 5000000 --reference".split()
    wrote, _ = follow([*command, name], 300)
    if wrote is None:
        return
    until = f"{wrote['count']}:{wrote['offset']}"
    what = f"replay of {name}, jump {jump}"
    judge(what, "truth.py", f"{name}/truth.ctf", "out.0.ctf", "--packets", "out.0.json", "--ended", "--until", until)


def try_hostile(mode, files):
    options = f"--mode {mode} --files {files} --seconds 4 --seed {int(time.time())} --log log".split()
    for _ in range(10):  # on a busy machine the reader may start when everything is over
        _, had = follow([f"{PROGRAMS}/writer-hostile", "--ring", "ring.ctf", "--spare", "ring.spare", *options], 200)
        if had.get("runs", 0):
            break
    runs = range(had.get("runs", 0))
    if not runs:
        fail(f"hostile, {mode}", "the reader attached no ring")
    elif mode == "pattern":
        judge(f"hostile, {' '.join(options)}", "incarnations.py", "log", *[f"out.{run}.ctf" for run in runs])


def main():
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        if sys.argv[2] == "writers":
            for ring in RINGS:
                try_ring(*ring)
            for number in range(20):
                try_late(number)
        else:
            for mode, files in (("pattern", 0), ("pattern", 1), ("chaos", 1)):
                try_hostile(mode, files)
            for name in ("live", "live-slow"):
                for jump in (0, 1):
                    try_replay(name, jump)
        os.chdir("/")
    return 1 if failures else 0


sys.exit(main())
