"""Count one meson test log: count.py NAME SUITE BUILD-DIRECTORY RESULTS WORDS [TEST…]

Reads meson-logs/NAME.json of the build directory. Appends a line per test (passed, failed or
skipped; its name; the reason) to RESULTS, prints which tests were skipped and why, and prints the
output of each failed test, its end also to WORDS. Exits with 1 if a test of the suite (of those
named, if any is) has no result, or if there is no test: a suite that does not run, or that breaks
off, must not pass.
"""

import collections
import json
import os
import re
import sys

PASSED = {"OK", "EXPECTEDFAIL"}


def said(test):
    return (test.get("stdout") or "") + (test.get("stderr") or "")


def defined(suite, build):
    """Return the number of tests of each name that meson defined for the suite."""
    with open(os.path.join(build, "meson-info", "intro-tests.json"), encoding="utf-8") as f:
        return collections.Counter(t["name"] for t in json.load(f) if suite in (s.split(":")[-1] for s in t["suite"]))


def main(name, suite, build, results, words, *only):
    try:
        with open(os.path.join(build, "meson-logs", f"{name}.json"), encoding="utf-8", errors="replace") as f:
            tests = [json.loads(line) for line in f if line.strip()]
    except FileNotFoundError:
        tests = []
    with open(results, "a", encoding="utf-8") as f, open(words, "a", encoding="utf-8") as last:
        for test in tests:
            label = f"{name}: {test['name'].split(' / ')[-1]}"
            if test["result"] in PASSED:
                f.write(f"passed\t{label}\t\n")
            elif test["result"] == "SKIP":
                reason = re.search(r"^SKIP: (.*)$", said(test), re.M)
                reason = reason.group(1) if reason else "it gave no reason"
                f.write(f"skipped\t{label}\t{reason}\n")
                print(f"skipped: {label}: {reason}")
            else:
                f.write(f"failed\t{label}\t{test['result']}\n")
                print(f"failed: {label}: {test['result']} after {test['duration']:.1f} s")
                lines = said(test).splitlines()
                print("\n".join(lines[-200:]))
                print(f"---- {label}", *lines[-40:], sep="\n", file=last)
        missing = defined(suite, build) - collections.Counter(test["name"].split(" / ")[-1] for test in tests)
        missing = [test for test in sorted(missing) if not only or test in only]
        for test in missing:
            f.write(f"failed\t{name}: {test}\tit did not run\n")
            print(f"failed: {name}: {test}: it did not run")
    return 0 if tests and not missing else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
