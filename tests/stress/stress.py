"""Run the tests beside busy processes and a writer of the disk, since no test may depend on a quiet
machine: sh tests/run stress [OPTION…] [SUITE|TEST…]

Every test of CI runs three times beside two busy processes for each processor. A test whose source
sleeps, binds or polls also runs twenty times beside eight for each. A browser test is named by a
part of its name. A suite that is no list of tests (lint, xen…) runs whole and alone, three times.
With --stops each test runs on a quiet machine instead, and its processes are stopped at random.

A journal in $MPROFD_BUILD/stress notes each run, so the same command continues after an
interruption. The logs of failed runs lie beside it. The last lines are a table of the failures, and
N passed, N failed. The busy processes end with this program, whatever ends it.

  --list        print the chosen tests and how often each runs, and run nothing
  --new         forget the journal
  --again       forget the failed runs of the chosen tests in the journal, and run them again
  --light N     run each test N times beside two busy processes for each processor (default: 3)
  --heavy N     run those that sleep, bind or poll N times beside eight (default: 20)
  --stops N     run each test N times while its processes stop at random (then --light and --heavy count
                only where they are given)
  --lanes N     run N tests side by side (default: twice the number of processors)
  --builds      print the build directories that the chosen tests need, and run nothing
"""

import argparse
import collections
import ctypes
import json
import os
import random
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILDS = os.environ.get("MPROFD_BUILD") or os.path.join(TOP, "build")
BRIEF = {"MPROF_BRIEF": "1"}
# The suites that meson defines: (suite, build directory, meson's suite, environment), as tests/run runs them.
MESON = (
    ("unit", "asan", "unit", {}),
    ("unit", "tsan", "threads", {}),
    ("unit", "gcc", "schedules", {"MPROF_RING_SEEDS": "600"}),
    ("fuzz", "asan", "fuzz", BRIEF),
    ("model", "gcc", "model", {}),
    ("integration", "asan", "integration", BRIEF),
    ("fleet", "asan", "fleet", {}),
    ("fleet", "gcc", "fleet-plain", {}),
)
WHOLE = ("lint", "fresh", "ocaml5", "distributor", "debian13", "arm64", "bench", "remote", "xen")
LIGHT, HEAVY = 2, 8  # busy processes for each processor
STOPS = "stops"  # no load: the processes of the tests stop at random
# The source of a test that depends on time or on ports.
TIMED = re.compile(r"\b(?:u|nano|clock_nano)?sleep\s*\(|\b(?:bind|listen|free_?[pP]orts?|p?poll|select|setTimeout|waitForTimeout)\s*\(")
PATIENCE = 20  # times meson's limit: only a hang meets it
WHOLE_LIMIT = 6 * 3600
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


class Test:
    def __init__(self, suite, name, build, command, limit, alone=False, env=None):
        self.suite, self.name, self.build, self.command = suite, name, build, command
        self.limit, self.alone, self.env = limit, alone, env or {}
        self.timed = False

    @property
    def id(self):
        return f"{self.suite}/{self.build}/{self.name}" if self.build else f"{self.suite}/{self.name}"


# ---- the tests


def sources():
    """Return {name of a file below tests: its path}."""
    return {name: os.path.join(path, name) for path, _, names in os.walk(os.path.join(TOP, "tests")) for name in names}


def meson_listed(suite):
    with open(os.path.join(TOP, "tests/suites.list"), encoding="utf-8") as f:
        return [line.split()[1] for line in f if line.split()[:1] == [suite]]


def meson_tests():
    """Return the tests of all build directories, from the list. prepare() finds their commands."""
    return [Test(suite, name, build, None, 0, env=env) for suite, build, meson, env in MESON for name in meson_listed(meson)]


def prepare(tests):
    """Fill in the command, limit and source of each test that meson defined."""
    known, files = {}, sources()
    for test in tests:
        if test.command is None:
            if test.build not in known:
                with open(os.path.join(BUILDS, test.build, "meson-info/intro-tests.json"), encoding="utf-8") as f:
                    known[test.build] = {entry["name"]: entry for entry in json.load(f)}
            entry = known[test.build].get(test.name)
            if not entry:
                sys.exit(f"The build {test.build} has no test {test.name}; sh tests/run {test.suite} says more.")
            test.command, test.env = entry["cmd"], {**entry["env"], **test.env}
            test.limit = (entry["timeout"] or 30) * PATIENCE
            test.alone = not entry["is_parallel"]
            paths = [os.path.join(BUILDS, test.build, word) for word in entry["cmd"]]
            paths = [path for path in paths if os.path.realpath(path).startswith(os.path.join(TOP, "tests/"))]
            program = files.get(os.path.basename(entry["cmd"][0]) + ".c")
            test.timed = any(is_timed(path) for path in paths + ([program] if program else []) if os.path.isfile(path))


def is_timed(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return TIMED.search(f.read()) is not None


def browser_tests():
    """Return a test for each file unit-*.mjs, and for each test that another file registers."""
    folder, found = os.path.join(TOP, "tests/browser"), []
    start = ["node", os.path.join(folder, "run.mjs"), os.path.join(BUILDS, "gcc"), os.path.join(BUILDS, "browser"), "/dev/null"]
    for file in sorted(os.listdir(folder)):
        path = os.path.join(folder, file)
        if not file.endswith(".mjs") or file in ("run.mjs", "harness.mjs"):
            continue
        with open(path, encoding="utf-8") as f:
            names = [file] if file.startswith("unit-") else re.findall(r'^\s*test\(\s*"((?:[^"\\]|\\.)+)"', f.read(), re.M)
        for name in names:
            test = Test("browser", name, "gcc", start + [name], 300 * PATIENCE)
            test.timed = is_timed(path)
            found.append(test)
    return found


def whole_suites():
    with open(os.path.join(TOP, "tests/run"), encoding="utf-8") as f:
        text = f.read()
    return [
        Test(name, "all", "", ["sh", os.path.join(TOP, "tests/run"), name], WHOLE_LIMIT, True) for name in WHOLE if re.search(rf"\b{name}\b", text)
    ]


def choose(words):
    """Return the tests that WORDS name; all tests, if there is none."""
    tests = meson_tests() + browser_tests() + whole_suites()
    chosen = []
    for word in words:
        found = [t for t in tests if word in (t.suite, t.name, t.id) or (t.suite == "browser" and " " in word and word in t.name)]
        if not found:
            sys.exit(f'No suite and no test is called "{word}"; --list prints all.')
        chosen += [test for test in found if test not in chosen]
    return chosen if words else tests


# ---- the load


def die_with_parent(parent, by=signal.SIGKILL):
    """Call it in a new process: the kernel ends it by the signal BY when this program ends, whatever ends it."""

    def prepare_child():
        LIBC.prctl(PR_SET_PDEATHSIG, by)
        if os.getppid() != parent:
            os._exit(1)

    return prepare_child


def stops_mark():
    """Return the environment by which stops.py finds the processes that it stops."""
    return {"MPROF_STOPS": str(os.getpid())}


BUSY = "while True: pass"
# The file has no name, so nothing of it remains.
WRITER = """
import os, sys, tempfile
with tempfile.TemporaryFile(dir=sys.argv[1]) as file:
    while True:
        for at in range(128):
            os.pwrite(file.fileno(), os.urandom(1 << 20), at << 20)
        os.fsync(file.fileno())
"""


class Load:
    """N busy processes for each processor, and a writer of the disk, until the end of the block. If N is STOPS, the processes of the
    tests stop at random."""

    def __init__(self, n, directory):
        self.n, self.directory = n, directory
        self.processes = []

    def programs(self):
        if self.n == STOPS:
            return [[os.path.join(TOP, "tests/stress/stops.py"), str(os.getpid())]]
        return [["-c", BUSY]] * (self.n * (os.cpu_count() or 1)) + [["-c", WRITER, self.directory]]

    def __enter__(self):
        programs = self.programs()
        # stops.py lets the stopped processes go on before it ends.
        child = die_with_parent(os.getpid(), signal.SIGTERM if self.n == STOPS else signal.SIGKILL)
        self.processes = [subprocess.Popen([sys.executable, *program], preexec_fn=child) for program in programs]
        return self

    def __exit__(self, kind, *_):
        early = [process.args for process in self.processes if process.poll() is not None]
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait()
        if early and kind is None:
            sys.exit(f"The load ended before the tests, so they had none: {early[0]}")


def answers(path):
    with socket.socket(socket.AF_UNIX) as s:
        return s.connect_ex(path) == 0


class ForkServer:
    """The servers of tests/forked, by which tests/run lets mprofctl start in builds with AddressSanitizer, until the end of the block."""

    def __init__(self, tests, load):
        self.tests, self.load, self.processes = tests, load, []

    def __enter__(self):
        self.directory = tempfile.TemporaryDirectory(prefix="mprof.")
        for build in {test.build for test in self.tests if test.build}:
            server, path = os.path.join(BUILDS, build, "tests/forked/fork-server"), os.path.join(self.directory.name, build)
            if not os.access(server, os.X_OK):
                continue
            env = {**os.environ, **(stops_mark() if self.load == STOPS else {})}  # mprofctl inherits it
            child = die_with_parent(os.getpid())
            self.processes.append(subprocess.Popen([server, path], env=env, stdin=subprocess.DEVNULL, preexec_fn=child))
            while self.processes[-1].poll() is None and not answers(path):
                time.sleep(0.05)
            for test in self.tests:
                if test.build == build:
                    test.env = {**test.env, "MPROF_FORK_SERVER": path}
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.terminate()
        codes = [process.wait() for process in self.processes]
        self.directory.cleanup()
        if any(codes):
            sys.exit(f"A fork server of mprofctl ended with {max(codes, key=abs)}; a sanitizer has found something in it.")


# ---- the journal


class Journal:
    """The runs so far: a line of JSON for each run."""

    def __init__(self, directory):
        self.path = os.path.join(directory, "journal")
        self.runs = {}
        if os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as f:
                for line in f:
                    # The last line may be cut, if the machine was lost.
                    try:
                        run = json.loads(line)
                    except ValueError:
                        continue
                    self.runs[run["test"], run["load"], run["turn"]] = run

    def forget(self, wanted):
        """Forget the runs for which WANTED is true."""
        self.runs = {key: run for key, run in self.runs.items() if not wanted(run)}
        with open(f"{self.path}.new", "w", encoding="utf-8") as f:
            f.writelines(json.dumps(run) + "\n" for run in self.runs.values())
        os.rename(f"{self.path}.new", self.path)

    def add(self, **run):
        self.runs[run["test"], run["load"], run["turn"]] = run
        with open(self.path, "a", encoding="utf-8") as f:
            f.write(json.dumps(run) + "\n")


# ---- the runs


class Running:
    """A test that runs, in a session of its own."""

    def __init__(self, test, load, turn, directory):
        self.test, self.load, self.turn = test, load, turn
        name = re.sub(r"[^\w.-]+", "-", f"{test.id}.{load}.{turn}")
        self.log = os.path.join(directory, "logs", f"{name}.log")
        self.began = time.monotonic()
        cwd = os.path.join(BUILDS, test.build) if test.build else TOP
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                test.command,
                cwd=cwd,
                env={**os.environ, **test.env, **(stops_mark() if load == STOPS else {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=die_with_parent(os.getpid()),
            )
        self.pidfd = os.pidfd_open(self.process.pid)

    def late(self):
        return time.monotonic() - self.began > self.test.limit

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.end()

    def end(self):
        """Return (verdict, reason)."""
        code = self.process.wait()
        os.close(self.pidfd)
        if code == 0:
            return "passed", ""
        if code == 77:
            return "skipped", ""
        return "failed", f"it ended with {code}"


class Stress:
    def __init__(self, directory, journal, lanes):
        self.directory, self.journal, self.lanes = directory, journal, lanes
        self.left = 0

    def run(self, load, runs):
        """Run RUNS, pairs of a test and its turn, beside LOAD busy processes for each processor."""
        runs = [(test, turn) for test, turn in runs if (test.id, load, turn) not in self.journal.runs]
        if not runs:
            return
        if load == STOPS:
            print(f"{len(runs)} runs, whose processes stop at random", flush=True)
        else:
            print(f"{len(runs)} runs beside {load} busy processes for each processor and a writer of the disk", flush=True)
        self.left = len(runs)
        with Load(load, self.directory), ForkServer([test for test, _ in runs], load):
            self.lane(load, [run for run in runs if not run[0].alone], self.lanes)
            self.lane(load, [run for run in runs if run[0].alone], 1)

    def lane(self, load, waiting, lanes):
        running = []
        try:
            while waiting or running:
                while waiting and len(running) < lanes:
                    test, turn = waiting.pop(0)
                    running.append(Running(test, load, turn, self.directory))
                select.select([one.pidfd for one in running], [], [], 10)
                for one in list(running):
                    if one.process.poll() is not None:
                        running.remove(one)
                        self.note(one, *one.end())
                    elif one.late():
                        running.remove(one)
                        one.kill()
                        self.note(one, "failed", f"it hung: it had not ended after {one.test.limit} s")
        finally:
            for one in running:
                one.kill()

    def note(self, one, verdict, reason):
        seconds = round(time.monotonic() - one.began, 1)
        self.left -= 1
        self.journal.add(
            test=one.test.id,
            load=one.load,
            turn=one.turn,
            verdict=verdict,
            reason=reason,
            seconds=seconds,
            log=one.log if verdict == "failed" else "",
        )
        if verdict != "failed":
            os.unlink(one.log)
        said = f": {reason}" if reason else ""
        print(f"{verdict}: {one.test.id}, turn {one.turn}, {seconds} s, {self.left} to go{said}", flush=True)


def table(journal, tests):
    """Print the failures and the counts of the tests' runs. Return whether all passed."""
    ids = {test.id for test in tests}
    runs = [run for run in journal.runs.values() if run["test"] in ids]
    failed = collections.defaultdict(list)
    for run in runs:
        if run["verdict"] == "failed":
            failed[run["test"], run["load"]].append(run)
    if failed:
        print("\nfailed     load  test")
    for (test, load), some in sorted(failed.items(), key=str):
        turns = sum(run["test"] == test and run["load"] == load for run in runs)
        print(f"{len(some):3d} of {turns:2d}  {load:>5}  {test}: {some[-1]['reason']}; see {some[-1]['log']}")
    counts = collections.Counter(run["verdict"] for run in runs)
    skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
    print(f"{counts['passed']} passed, {counts['failed']} failed{skipped}")
    return counts["passed"] > 0 and not counts["failed"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--list", "--new", "--again", "--builds"):
        parser.add_argument(name, action="store_true", help=argparse.SUPPRESS)
    for name in ("--light", "--heavy", "--stops"):
        parser.add_argument(name, type=int, help=argparse.SUPPRESS)
    parser.add_argument("--lanes", type=int, default=2 * (os.cpu_count() or 1), help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*", metavar="SUITE|TEST")
    options = parser.parse_args()
    defaults = (3, 20) if options.stops is None else (0, 0)
    options.light = defaults[0] if options.light is None else options.light
    options.heavy = defaults[1] if options.heavy is None else options.heavy
    return options


def on_signal(number, _):
    raise SystemExit(128 + number)


def main():
    options = arguments()
    tests = choose(options.names)
    if options.builds:
        print(*sorted({test.build for test in tests if test.build}))
        return 0
    prepare(tests)
    if options.list:
        for test in tests:
            stopped = f" and {options.stops} with stops" if options.stops else ""
            print(f"{test.id}: {options.light}{f' and {options.heavy}' if test.timed else ''}{stopped}")
        return 0
    directory = os.path.join(BUILDS, "stress")
    os.makedirs(os.path.join(directory, "logs"), exist_ok=True)
    journal, ids = Journal(directory), {test.id for test in tests}
    if options.new or options.again:
        journal.forget(lambda run: options.new or (run["test"] in ids and run["verdict"] == "failed"))
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, on_signal)
    stress = Stress(directory, journal, options.lanes)
    light = [(test, turn) for turn in range(1, options.light + 1) for test in tests]
    heavy = [(test, turn) for turn in range(1, options.heavy + 1) for test in tests if test.timed]
    stops = [(test, turn) for turn in range(1, (options.stops or 0) + 1) for test in tests]
    # The order is drawn, but the same each time: neighbours on the processor differ.
    random.Random(1).shuffle(light)
    random.Random(2).shuffle(heavy)
    random.Random(3).shuffle(stops)
    try:
        stress.run(LIGHT, light)
        stress.run(HEAVY, heavy)
        stress.run(STOPS, stops)
    except SystemExit:
        table(journal, tests)
        print("It was interrupted; the same command continues.")
        raise
    return 0 if table(journal, tests) else 1


if __name__ == "__main__":
    sys.exit(main())
