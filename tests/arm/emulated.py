"""Run tests of a cross build under QEMU's user emulation: emulated.py ARCHITECTURE BUILD EMULATOR SYSROOT CANNOT RESULTS WANTED…

BUILD is a build directory of tests/arm/cross. Each WANTED is a suite of meson, or one test of it as SUITE/NAME. These are compiled and run. An executable of the other
architecture becomes a script that emulates it, so that tests in Python can start it as on a machine of that architecture.

CANNOT lists the tests that cannot run so: lines of ARCHITECTURE SUITE/NAME REASON. Such a test runs, too: it fails here, and if it passes,
the list is wrong. RESULTS gets a line for each test: passed, failed or skipped; the name; the reason.
"""

import collections
import json
import os
import stat
import subprocess
import sys

REAL = ".emulated"  # ends the name of the executable behind a script
ADDRESSES_KB = 6 << 20


def introspect(build, what):
    return json.loads(subprocess.run(["meson", "introspect", f"--{what}", build], stdout=subprocess.PIPE, check=True).stdout)


def cannot_read(path, architecture):
    """Return {test: reason} for ARCHITECTURE."""
    reasons = {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                on, name, reason = line.strip().split(None, 2)
                if on == architecture:
                    reasons[name] = reason
    return reasons


def targets_of(build, tests):
    """Return the files of the targets that TESTS need, from BUILD."""
    needed = {target for test in tests for target in test["depends"]}
    return [os.path.relpath(file, build) for target in introspect(build, "targets") if target["id"] in needed for file in target["filename"]]


def is_foreign(path):
    """Return whether PATH is an executable with a dynamic linker, of a machine that is not x86."""
    if os.path.islink(path) or not os.path.isfile(path) or not os.stat(path).st_mode & stat.S_IXUSR:
        return False
    with open(path, "rb") as f:
        head = f.read(20)
    return head[:4] == b"\x7fELF" and head[18:20] not in (b"\x3e\0", b"\x03\0") and ".so" not in os.path.basename(path)


def script_make(path, emulator, sysroot):
    """Replace the program PATH by a script. QEMU keeps a table of all pages that a program reserves, so no program may reserve much: it
    would take this machine's memory."""
    os.replace(path, path + REAL)
    with open(path, "w", encoding="utf-8") as f:
        f.write(f'#!/bin/sh\nulimit -v {ADDRESSES_KB}\nexec {emulator} -L {sysroot} -0 "$0" {path}{REAL} "$@"\n')
    os.chmod(path, 0o755)


def scripts_make(build, emulator, sysroot):
    for folder, _, names in os.walk(build):
        for name in names:
            path = os.path.join(folder, name)
            if not name.endswith(REAL) and is_foreign(path):
                script_make(path, emulator, sysroot)


def label(name, suites):
    """Return SUITE/NAME for meson's "PROJECT:SUITE+SUITE / NAME"."""
    of, name = name.split(" / ", 1)
    return next(suite for suite in suites if suite in of.split(":")[-1].split("+")) + "/" + name


def said(test):
    return (test.get("stdout") or "") + (test.get("stderr") or "")


def judge(test, reason):
    """Return the verdict about a test of meson's log, and its reason."""
    passed = test["result"] in ("OK", "EXPECTEDFAIL")
    if reason:
        return ("failed", "it passes, and tests/arm/cannot.list has it") if passed else ("skipped", reason)
    if passed:
        return "passed", ""
    if test["result"] == "SKIP":
        return "skipped", next((line[6:] for line in said(test).splitlines() if line.startswith("SKIP: ")), "it gave no reason")
    return "failed", f"{test['result']} after {test['duration']:.0f} s"


def is_wanted(test, wanted):
    return any(suite in wanted or f"{suite}/{test['name']}" in wanted for suite in (s.split(":")[-1] for s in test["suite"]))


def main(architecture, build, emulator, sysroot, cannot, results, *wanted):
    suites = sorted({word.split("/")[0] for word in wanted})
    tests = [t for t in introspect(build, "tests") if is_wanted(t, wanted)]
    made = subprocess.run(["ninja", "-C", build, *targets_of(build, tests)], stdout=subprocess.PIPE, text=True, check=False)
    if made.returncode:
        print(made.stdout[-4000:])
        return 1
    scripts_make(build, emulator, sysroot)
    log = os.path.join(build, "meson-logs", "emulated.json")
    if os.path.exists(log):
        os.remove(log)
    chosen = [word for suite in suites for word in ("--suite", suite)] + [word.split("/")[1] for word in wanted if "/" in word]
    subprocess.run(
        ["meson", "test", "-C", build, "--no-rebuild", "--logbase", "emulated", "--timeout-multiplier", "20", *chosen],
        stdout=subprocess.DEVNULL,
        check=False,
    )
    with open(log, encoding="utf-8", errors="replace") as f:
        ran = [json.loads(line) for line in f if line.strip()]
    reasons = cannot_read(cannot, architecture)
    numbers = collections.Counter()
    with open(results, "a", encoding="utf-8") as f:
        for test in ran:
            name = label(test["name"], suites)
            verdict, reason = judge(test, reasons.get(name))
            numbers[verdict] += 1
            f.write(f"{verdict}\t{name}\t{reason}\n")
            if verdict != "passed":
                print(f"{verdict}: {name}: {reason}")
            if verdict == "failed":
                print("\n".join(said(test).splitlines()[-40:]))
    print(f"{numbers['passed']} of {len(tests)} pass under emulation, {numbers['skipped']} cannot run, {numbers['failed']} failed")
    return 0 if ran and len(ran) == len(tests) and not numbers["failed"] else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
