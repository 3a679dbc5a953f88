"""Check that each test of an assumption can fail: put a library before the real one in which the assumption does not hold, and expect
that the test fails and says so: broken.py BUILD-DIRECTORY LIBRARY"""

import os
import subprocess
import sys

# What a library of break-LIBRARY.c may do, and the assumptions that do not hold then.
BROKEN = {
    "microhttpd": {
        "never": ["mhd-announced", "mhd-announced-before-request", "mhd-stop-closes"],
        "open": ["mhd-refused-is-closed"],
        "idle": ["mhd-says-when-to-run"],
        "ignores": ["mhd-suspended-is-left-alone"],
        "asleep": ["mhd-resumed-is-called", "mhd-tls-suspended-between-runs"],
    },
    "sd-event": {
        "deaf": ["event-wish-reports-earlier-bytes"],
        "postless": ["event-post-after-each"],
        "keeps": ["event-unref-in-own-handler", "event-unref-of-pending", "event-owned-fd-is-closed"],
    },
    "sqlite": {
        "idle": ["sqlite-checkpoint-by-another", "sqlite-truncate-waits-and-truncates", "sqlite-vacuum-shortens-at-checkpoint"],
        "forgets": ["sqlite-wal-stays-at-close"],
    },
}


def failures(program, names, library=None, how=""):
    """Return those of NAMES whose test fails, and what the program said."""
    env = dict(os.environ)
    if library:
        # The library in front is no part of the program: AddressSanitizer would want to be the first, and report what it leaks.
        env |= {"LD_PRELOAD": library, "MPROF_BREAK": how, "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"}
    failed, text = [], ""
    for name in names:
        done = subprocess.run([program, name], env=env, capture_output=True, text=True, timeout=60, check=False)
        text += done.stderr
        if done.returncode == 1 and f"the assumption {name} does not hold" in done.stderr:
            failed.append(name)
    return failed, text


def main():
    where = os.path.join(os.path.abspath(sys.argv[1]), "tests", "assumptions")
    name = sys.argv[2]
    program, library = os.path.join(where, f"assume-{name}"), os.path.join(where, f"libbreak-{name}.so")
    wrong = 0
    for how, names in BROKEN[name].items():
        for preloaded, expected in ((None, []), (library, names)):
            failed, text = failures(program, names, preloaded, how)
            if failed != expected:
                print(f"{how}: the tests {failed} failed, and not {expected}:\n{text}")
                wrong += 1
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
