"""Count one meson test log: count.py NAME LOG.json RESULTS WORDS

Appends a line per test (passed, failed or skipped; its name; the reason) to RESULTS, says what was skipped and why, and
prints what a failed test wrote, the end of it also to WORDS.  Exit code 1 where the log holds no test: a suite that does not run must not pass.
"""

import json
import re
import sys

PASSED = {"OK", "EXPECTEDFAIL"}


def said(test):
    return (test.get("stdout") or "") + (test.get("stderr") or "")


def main(name, log, results, words):
    try:
        with open(log, encoding="utf-8", errors="replace") as f:
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
    return 0 if tests else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
