#!/usr/bin/python3
"""Put small mistakes into the C code, one at a time, and see which tests notice them.

  sh tests/run mutate [OPTION…] [FILE…]

  FILE           make mistakes in these files (default: in those of all areas, see tests/mutate/areas.py)
  --list         list the possible mistakes and make none
  --seed N       draw in the order that N gives; a draw is the same each time (default 1)
  --count N      end after N mistakes (default: 40 without FILE, else all)
  --longest S    skip tests that take longer than S seconds on the unchanged code (default 60)
  --jobs N       N copies of the tree at once (default 1; each builds with all processors)

The script works in copies of the checkout in $MPROFD_BUILD/mutate, never in the checkout. A mistake
that does not compile does not count. A mistake that no test notices needs a test, or, if it changes
nothing, a sentence in tests/mutate/equivalent.
"""

import argparse
import fnmatch
import itertools
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

import areas
import sites

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.realpath(os.path.join(HERE, "../.."))
BUILDS = os.path.realpath(os.environ.get("MPROFD_BUILD") or os.path.join(TOP, "build"))
NOTED = os.path.join(HERE, "equivalent")
SETUP = ["-Dwerror=false", "-Dviewer=disabled", "-Db_sanitize=address,undefined", "-Doptimization=1"]
NOT_COPIED = {".git", "build"}
SKIPPED = 77  # exit code of a test that cannot run here


def die(text):
    sys.exit(f"mutate: {text}")


def say(text):
    print(text, flush=True)


# ---- which files, and which area each is in ---------------------------------------------------------------------------------


def alternatives(pattern):
    """Expand {a,b} in PATTERN: return one pattern for each choice."""
    parts = re.split(r"\{([^{}]*)\}", pattern)
    choices = [part.split(",") if i % 2 else [part] for i, part in enumerate(parts)]
    return ["".join(choice) for choice in itertools.product(*choices)]


def files_all():
    """Return the C files of the checkout, each with its area."""
    found = {}
    for folder, folders, names in os.walk(TOP):
        folders[:] = [name for name in folders if name not in NOT_COPIED]
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), TOP)
            area = area_of(path) if path.endswith(".c") else None
            if area:
                found[path] = area
    return found


def area_of(path):
    for name, area in areas.AREAS.items():
        patterns = [(p.startswith("!"), q) for p in area["files"] for q in alternatives(p.lstrip("!"))]
        if any(not out and fnmatch.fnmatch(path, q) for out, q in patterns) and not any(out and fnmatch.fnmatch(path, q) for out, q in patterns):
            return name
    return None


def files_chosen(named):
    known = files_all()
    if not named:
        return known
    chosen = {}
    for name in named:
        path = os.path.relpath(os.path.abspath(name), TOP)
        if path not in known:
            die(f"{name} is in no area of tests/mutate/areas.py")
        chosen[path] = known[path]
    return chosen


# ---- judged places ---------------------------------------------------------------------------------------------------------


def noted_load():
    """Return {(file, line, change): sentence} of tests/mutate/equivalent."""
    noted, place, change = {}, None, None
    with open(NOTED, encoding="utf-8") as f:
        for line in f:
            if not line.strip() or line.startswith("#"):
                continue
            if not line.startswith("\t"):
                path, _, text = line.rstrip("\n").partition(": ")
                place, change = (path, text), None
            elif change is None:
                change = line.strip()
            else:
                noted[(*place, change)] = line.strip()
                change = None
    return noted


# ---- one copy of the tree, and its build ------------------------------------------------------------------------------------


class Copy:
    """A copy of the checkout with a build directory of its own, beside it."""

    def __init__(self, number):
        self.root = os.path.join(BUILDS, "mutate", f"tree-{number}")
        self.build = os.path.join(BUILDS, "mutate", f"build-{number}")
        self.log = os.path.join(BUILDS, "mutate", f"log-{number}")
        self.process = None
        self.sync()
        self.setup()
        self.generate()
        with open(os.path.join(self.build, "meson-info/intro-tests.json"), encoding="utf-8") as f:
            self.tests = {}
            for test in json.load(f):  # a unit test and an integration test may have the same name
                self.tests.setdefault(test["name"], []).append(test)
        with open(os.path.join(self.build, "meson-info/intro-targets.json"), encoding="utf-8") as f:
            self.targets = {target["id"]: target["filename"] for target in json.load(f)}

    def sync(self):
        """Make the copy equal to the checkout. Leave equal files alone, so that only changed files
        are compiled again."""
        wanted = set()
        for folder, folders, names in os.walk(TOP):
            at = os.path.relpath(folder, TOP)
            folders[:] = [n for n in folders if n not in NOT_COPIED and os.path.join(folder, n) != BUILDS]
            os.makedirs(os.path.join(self.root, at), exist_ok=True)
            for name in names:
                path = os.path.normpath(os.path.join(at, name))
                wanted.add(path)
                self.copy(path)
        for folder, _, names in os.walk(self.root):
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), self.root)
                if path not in wanted:
                    os.unlink(os.path.join(self.root, path))

    def copy(self, path):
        here, there = os.path.join(TOP, path), os.path.join(self.root, path)
        if os.path.islink(here) or not os.path.isfile(here):
            return
        with open(here, "rb") as f:
            content = f.read()
        try:
            with open(there, "rb") as f:
                if f.read() == content:
                    return
        except FileNotFoundError:
            pass
        with open(there, "wb") as f:
            f.write(content)
        shutil.copymode(here, there)

    def setup(self):
        if os.path.exists(os.path.join(self.build, "build.ninja")):
            return
        if self.run(["meson", "setup", self.build, self.root, *SETUP], 600):
            die(f"meson could not set up {self.build}; see {self.log}")

    def generate(self):
        """Make the sources that programs write: a parser needs their headers."""
        said = subprocess.run(["ninja", "-C", self.build, "-t", "targets", "all"], capture_output=True, text=True, check=True).stdout
        made = re.findall(r"^(.*\.[ch]): CUSTOM_COMMAND", said, re.MULTILINE)
        if made and self.run(["ninja", "-C", self.build, *made], 600) != 0:
            die(f"the sources that programs write could not be made; see {self.log}")

    def run(self, command, seconds, env=None, cwd=None):
        """Run COMMAND in a session of its own, and end all of it after SECONDS. Return its exit
        code, or None after that time."""
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env, cwd=cwd, start_new_session=True)
            try:
                return self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                return None
            finally:
                self.stop()
                self.process.wait()

    def stop(self):
        """End the running command and everything that it started."""
        if self.process:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def arguments(self, path):
        """Return the compiler's arguments for PATH that a parser needs."""
        with open(os.path.join(self.build, "compile_commands.json"), encoding="utf-8") as f:
            for entry in json.load(f):
                if os.path.normpath(os.path.join(entry["directory"], entry["file"])) == os.path.join(self.root, path):
                    given = [a for a in shlex.split(entry["command"]) if re.match(r"-[DIU]|-std|-f(no-)?strict", a)]
                    return ["-I" + os.path.join(entry["directory"], a[2:]) if a.startswith("-I") else a for a in given]
        return None

    def outputs(self, test):
        """Return the targets that ninja must make for the tests of the name TEST."""
        paths = []
        for about in self.tests[test]:
            paths += [os.path.normpath(a) for a in about["cmd"] if a.startswith(self.build + "/")]
            for target in about["depends"]:
                paths += self.targets.get(target, [])
        return sorted({os.path.relpath(p, self.build) for p in paths if p.startswith(self.build + "/") and not os.path.isdir(p)})

    def make(self, tests):
        """Build the targets of TESTS. Return false if they do not compile."""
        outputs = sorted({output for test in tests for output in self.outputs(test)})
        return not outputs or self.run(["ninja", "-C", self.build, *outputs], 1800) == 0

    def try_test(self, name, variables, seconds):
        """Run the tests of that NAME. Return the exit code of one that fails, or None after
        SECONDS."""
        codes = []
        for about in self.tests[name]:
            env = dict(os.environ, **about["env"], **variables)
            env.setdefault("MPROF_REFERENCE", os.path.normpath(os.path.join(TOP, "../shared")))
            code = self.run(about["cmd"], seconds, env, about["workdir"] or self.build)
            if code not in (0, SKIPPED):
                return code
            codes.append(code)
        return min(codes)


# ---- the tests of an area ---------------------------------------------------------------------------------------------------


class Test:
    def __init__(self, words, seconds):
        self.words = words
        self.name, *pairs = words.split()
        self.variables = dict(pair.split("=", 1) for pair in pairs)
        self.seconds = seconds
        # A test may take longer when others use the processors. The limit still finds a mistake
        # that makes it hang.
        self.limit = max(30, 8 * seconds)


def baseline(copy, area, longest):
    """Return the tests of AREA that pass on the unchanged code, the quickest first."""
    tests = []
    known = [words for words in areas.AREAS[area]["tests"] if words.split()[0] in copy.tests]
    for words in areas.AREAS[area]["tests"]:
        if words not in known:
            say(f"{area}: there is no test {words}")
    if not copy.make([words.split()[0] for words in known]):
        die(f"{area}: its tests do not build; see {copy.log}")
    for words in known:
        test = Test(words, 0)
        began = time.monotonic()
        code = copy.try_test(test.name, test.variables, longest)
        if code == 0:
            tests.append(Test(words, time.monotonic() - began))
        else:
            say(f"{area}: left out: {words}: " + {None: f"longer than {longest} s", SKIPPED: "skipped"}.get(code, f"it fails ({code})"))
    if not tests:
        die(f"{area}: no test passes")
    tests.sort(key=lambda test: test.seconds)
    say(f"{area}: " + ", ".join(f"{test.words} {test.seconds:.1f} s" for test in tests))
    return tests


def stages(tests):
    """Unit tests and fuzzers are built at once; programs that need more are built one after another."""
    quick = [test for test in tests if test.seconds < 2]
    return ([quick] if quick else []) + [[test] for test in tests if test not in quick]


def judge(copy, tests):
    """Return the name of the test that notices the mistake in COPY, "" if none does, None if it
    does not compile."""
    for stage in stages(tests):
        if not copy.make([test.name for test in stage]):
            return None
        for test in stage:
            code = copy.try_test(test.name, test.variables, test.limit)
            if code is None:
                return f"{test.words} (it hangs)"
            if code != 0:
                return test.words
    return ""


# ---- the draw ---------------------------------------------------------------------------------------------------------------


class Draw:
    """Mistakes to try, and their results. Several threads share it."""

    def __init__(self, drawn, count, noted):
        self.left = iter(drawn)
        self.count = count
        self.noted = noted
        self.lock = threading.Lock()
        self.begun = 0
        self.results = []
        self.broken = 0

    def next(self):
        with self.lock:
            if self.count is not None and self.begun >= self.count:
                return None
            site = next(self.left, None)
            self.begun += site is not None
            return site

    def done(self, site, area, noticed):
        with self.lock:
            if noticed is None:
                self.broken += 1
                self.begun -= 1  # another one is drawn instead
                return
            why = self.noted.get((site.path, site.text, sites.site_change(site))) if noticed == "" else None
            self.results.append((site, area, noticed, why))
            verdict = f"noticed by {noticed}" if noticed else "changes nothing" if why else "WENT THROUGH"
            say(f"{len(self.results)}. {site.path}:{site.line} {site.kind}: {sites.site_change(site)}: {verdict}")


def work(copy, draw, tests, chosen):
    """Try mistakes until none are left. Undo each before the next."""
    while (site := draw.next()) is not None:
        path = os.path.join(copy.root, site.path)
        with open(path, "rb") as f:
            source = f.read()
        try:
            with open(path, "wb") as f:
                f.write(sites.site_apply(site, source))
            noticed = judge(copy, tests[chosen[site.path]])
        finally:
            with open(path, "wb") as f:
                f.write(source)
        draw.done(site, chosen[site.path], noticed)


def report(draw, seed):
    say(f"\nseed {seed}: {len(draw.results)} mistakes tried, {draw.broken} more did not compile")
    for area in areas.AREAS:
        of_area = [result for result in draw.results if result[1] == area]
        equivalent = sum(1 for _, _, _, why in of_area if why)
        if of_area:
            noticed = sum(1 for _, _, by, _ in of_area if by)
            say(f"{area}: {noticed} of {len(of_area) - equivalent} noticed" + (f", {equivalent} more change nothing" if equivalent else ""))
    through = [site for site, _, by, why in draw.results if not by and not why]
    if through:
        say("\nWent through.  Each needs a test, or its three lines and a sentence in tests/mutate/equivalent:")
    for site in sorted(through):
        say(f"{site.path}: {site.text}\n\t{sites.site_change(site)}\n\t(line {site.line})")


def sites_load(copy, chosen):
    found = []
    for path in sorted(chosen):
        arguments = copy.arguments(path)
        if arguments is None:
            say(f"{path} is not compiled here")
            continue
        found += sites.sites_find(os.path.join(copy.root, path), path, arguments)
    return found


def main():
    parser = argparse.ArgumentParser(usage="sh tests/run mutate [OPTION…] [FILE…]", description=__doc__.split("\n", 1)[0])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int)
    parser.add_argument("--longest", type=float, default=60)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    chosen = files_chosen(given.files)
    os.makedirs(os.path.join(BUILDS, "mutate"), exist_ok=True)
    copies = [Copy(0)]
    found = sites_load(copies[0], chosen)
    if given.list:
        for site in found:
            say(f"{site.path}:{site.line}: {site.kind}: {sites.site_change(site)}")
        return
    random.Random(given.seed).shuffle(found)
    count = given.count if given.count is not None or given.files else 40
    copies += [Copy(number) for number in range(1, given.jobs)]
    tests = {area: baseline(copies[0], area, given.longest) for area in sorted(set(chosen.values()))}
    draw = Draw(found, count, noted_load())
    threads = [threading.Thread(target=work, args=(copy, draw, tests, chosen), daemon=True) for copy in copies]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:
        draw.count = 0
        for copy in copies:
            copy.stop()
        say("interrupted; the checkout was not touched")
    report(draw, given.seed)


if __name__ == "__main__":
    main()
