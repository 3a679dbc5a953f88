"""The tests of each meson suite, as tests/suites.list names them.

    suites.py compare BUILD [SUITE…]   compare the list with the tests that meson defined in BUILD
    suites.py renew BUILD              write the list anew from BUILD, which has all parts
    suites.py programs BUILD SUITE…    print what ninja must make in BUILD for the tests of these suites
    suites.py without BUILD SUITE…     print what ninja makes in BUILD but for the programs of tests/unit and tests/fuzz that no test of
                                       these suites runs; with sanitizers also without those of tests/bench and tests/xen/lab

A line of the list is SUITE NAME [PART…]: meson defines the test NAME of SUITE in every build that
has each PART. A part is one of meson's options (daemon, forward, viewer, xen). A build lacks a part if its
option is disabled. suites.py reads the options and not what meson found, so that a missing package
shows. --without PART says that a build with automatic options lacks PART too.

compare prints a line NAME<tab>REASON for each difference. Exit code 1 if there is any, 2 if BUILD
is not configured.
"""

import json
import os
import sys

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "suites.list")
PARTS = ("daemon", "forward", "viewer", "xen")
HEAD = """\
# Each test that meson defines: SUITE NAME [PART...]. A test that needs a part of the project is absent where -DPART=disabled.
# sh tests/run fails if meson defines other tests. Renew this list: python3 tests/suites.py renew build/gcc
# Renewing keeps the parts of a test. Write those of a new test by hand.
"""


def listed(path):
    """Return {(suite, name): parts} of the list."""
    tests = {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                suite, name, *parts = line.split()
                unknown = set(parts) - set(PARTS)
                if unknown:
                    raise SystemExit(f"{path}: {line.strip()}: no such part: {' '.join(sorted(unknown))}")
                tests[suite, name] = parts
    return tests


def introspect(build, what):
    try:
        with open(os.path.join(build, "meson-info", f"intro-{what}.json"), encoding="utf-8") as f:
            return json.load(f)
    except FileNotFoundError:
        print(f"{build} is not configured", file=sys.stderr)
        raise SystemExit(2) from None


def defined(build):
    """Return the (suite, name) pairs that meson defined."""
    return {(suite.split(":")[-1], test["name"]) for test in introspect(build, "tests") for suite in test["suite"]}


def disabled(build):
    options = {option["name"]: option["value"] for option in introspect(build, "buildoptions")}
    lacking = {part for part in PARTS if options.get(part) == "disabled"}
    return lacking | ({"forward", "xen"} if "daemon" in lacking else set())


def compare(tests, build, suites, without):
    """Return the differences as (name, reason) pairs."""
    lacking = disabled(build) | without
    expected = {key for key, parts in tests.items() if not lacking & set(parts)}
    found = defined(build)
    chosen = suites or sorted({suite for suite, _ in expected | found})
    differences = []
    for suite in chosen:
        for _, name in sorted(key for key in expected - found if key[0] == suite):
            differences.append((name, f"meson did not define it in suite {suite}: something that it needs is missing"))
        for key in sorted(key for key in found - expected if key[0] == suite):
            reason = (
                f"tests/suites.list has it for builds with {' '.join(tests[key])}"
                if key in tests
                else f"tests/suites.list does not have it in suite {suite}"
            )
            differences.append((key[1], f"{reason}; renew: python3 tests/suites.py renew BUILD"))
        if not any(key[0] == suite for key in expected | found):
            differences.append((suite, "there is no such suite"))
    return differences


def programs(build, suites):
    """Return the files of BUILD that the tests of SUITES run or need."""
    files = {target["id"]: target["filename"] for target in introspect(build, "targets")}
    tests = [test for test in introspect(build, "tests") if suites & {suite.split(":")[-1] for suite in test["suite"]}]
    named = {file for test in tests for target in test["depends"] for file in files.get(target, [])}
    return (named | {word for test in tests for word in test["cmd"]}) & {file for names in files.values() for file in names}


def without(build, suites):
    """Return the files that BUILD makes, but for the programs of unit tests and fuzzers that no test of SUITES runs, and, with sanitizers,
    those of benchmarks and of the lab: they run without."""
    made, needed = set(), programs(build, suites)
    sanitized = any(option["name"] == "b_sanitize" and option["value"] != "none" for option in introspect(build, "buildoptions"))
    left_out = ("unit", "fuzz", "bench", "lab") if sanitized else ("unit", "fuzz")
    for target in introspect(build, "targets"):
        folder = os.path.basename(os.path.dirname(target["defined_in"]))
        if target["build_by_default"] and (folder not in left_out or needed & set(target["filename"])):
            made.update(target["filename"])
    return made


def renew(tests, build, path):
    lines = [" ".join((*key, *tests.get(key, ()))) for key in sorted(defined(build))]
    with open(path, "w", encoding="utf-8") as f:
        f.write(HEAD + "\n".join(lines) + "\n")


def main(verb, build, *rest):
    path = os.environ.get("MPROF_SUITES", LIST)
    suites, lacking = [], set()
    rest = list(rest)
    while rest:
        word = rest.pop(0)
        if word == "--without":
            lacking.add(rest.pop(0))
        else:
            suites.append(word)
    if verb == "renew":
        renew(listed(path) if os.path.exists(path) else {}, build, path)
        return 0
    if verb in VERBS:
        top = os.path.realpath(build)
        print(*sorted(os.path.relpath(os.path.realpath(file), top) for file in VERBS[verb](build, set(suites))))
        return 0
    differences = compare(listed(path), build, suites, lacking)
    for name, reason in differences:
        print(f"{name}\t{reason}")
    return 1 if differences else 0


VERBS = {"programs": programs, "without": without}

if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in ("compare", "renew", *VERBS):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
