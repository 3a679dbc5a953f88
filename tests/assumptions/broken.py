"""Check that the test of each assumption can fail: put a library before the real one in which the assumption does not hold, and expect
that the test fails and says so: broken.py BUILD-DIRECTORY LIBRARY"""

import os
import subprocess
import sys

# The ways in which a library of break-LIBRARY.c breaks, and the assumptions that do not hold then. The second program of xenctrl.c sees another Xen.
BROKEN = {
    "microhttpd": {
        "never": ["mhd-announced", "mhd-announced-before-request", "mhd-stop-closes"],
        "open": ["mhd-refused-is-closed"],
        "idle": ["mhd-says-when-to-run"],
        "ignores": ["mhd-suspended-is-left-alone"],
        "asleep": ["mhd-resumed-is-called", "mhd-tls-suspended-between-runs"],
        "blind": ["mhd-shut-down-is-closed"],
        "early": ["mhd-closed-before-close"],
        "twice": ["mhd-completed-once"],
        "behind": ["mhd-one-after-the-other"],
        "joined": ["mhd-upload-in-calls"],
        "merges": ["mhd-every-header-line"],
        "folds": ["mhd-folded-is-refused"],
        "moves": ["mhd-header-stays-in-place"],
        "leaks": ["mhd-response-is-freed"],
        "quiet": ["mhd-wrong-length-is-logged"],
        "keyless": ["mhd-tls-session-before-handshake"],
    },
    "sd-event": {
        "deaf": ["event-wish-reports-earlier-bytes"],
        "postless": ["event-post-after-each"],
        "keeps": ["event-unref-in-own-handler", "event-unref-of-pending", "event-owned-fd-is-closed"],
        "unfair": ["event-busy-is-fair"],
        "sinks": ["event-floating-lives-with-event"],
        "late": ["event-edge-reports-earlier-bytes"],
        "merges": ["event-hangup-unasked"],
        "awake": ["event-timer-once"],
        "clock": ["event-now-is-of-this-turn"],
        "drains": ["event-exit-drops-pending"],
        "forgets": ["event-exit-before-loop"],
        "number": ["event-signal-without-handler"],
    },
    "sqlite": {
        "idle": ["sqlite-checkpoint-by-another", "sqlite-truncate-waits-and-truncates", "sqlite-vacuum-shortens-at-checkpoint"],
        "forgets": ["sqlite-wal-stays-at-close"],
        "moves": ["sqlite-reader-keeps-its-state"],
        "shares": ["sqlite-second-writer-is-busy"],
        "one": ["sqlite-data-version-of-others"],
        "frozen": ["sqlite-index-header-of-commits"],
        "needs": ["sqlite-passive-waits-for-nobody"],
        "private": ["sqlite-files-have-the-mode"],
        "corrupt": ["sqlite-stranger-cannot-recover"],
        "loses": ["sqlite-killed-loses-no-commit"],
    },
    "xenstore": {
        "silent": ["xenstore-first-event-at-once"],
        "eager": ["xenstore-thread-at-first-watch"],
        "fails": ["xenstore-readable-while-events-wait"],
        "bare": ["xenstore-values-and-names"],
        "torn": ["xenstore-transaction-of-one-moment"],
        "rooted": ["xenstore-works-without-rights"],
        "times": ["xenstore-lost-says-so"],
    },
    "xenctrl": {
        "another Xen": ["xenctrl-domain-layout", "xenctrl-domain-flags", "xenctrl-vcpu-layout", "xenctrl-library-by-version"],
    },
}
# Assumptions that no library and no other program can break, and why.
UNBROKEN = {
    "xenctrl-parameters": "the compiler compares the types of the parameters; meson.build expects that another type does not compile",
}


class Library:
    def __init__(self, build, name):
        where = os.path.join(os.path.abspath(build), "tests", "assumptions")
        self.name = name
        self.program = os.path.join(where, f"assume-{name}")
        self.broken_program = f"{self.program}-broken" if name == "xenctrl" else self.program
        self.preloaded = os.path.join(where, f"libbreak-{name}.so")

    def environment(self, how):
        """The library in front is no part of the program: AddressSanitizer would want to be the first, and report what it leaks."""
        if self.name == "xenctrl":
            return dict(os.environ)
        return {
            **os.environ,
            "LD_PRELOAD": self.preloaded,
            "MPROF_BREAK": how,
            "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0",
        }

    def ask(self, how, names, **env):
        """Run the tests NAMES (all, if there is none) over the library that is broken so; HOW "" breaks nothing. Return the exit code, and what
        the program said."""
        program = self.broken_program if how else self.program
        env = self.environment(how) | env
        done = subprocess.run([program, *names], env=env, capture_output=True, text=True, timeout=120, check=False)
        return done.returncode, done.stderr

    def fails(self, how, name, **env):
        """Return whether the test NAME alone fails, and what the program said."""
        code, said = self.ask(how, [name], **env)
        return code == 1 and f"the assumption {name} does not hold" in said, said

    def forgotten(self):
        """Return sentences about assumptions that nothing breaks, and about others that are none."""
        done = subprocess.run([self.program, "--list"], capture_output=True, text=True, check=True)
        tests = set(done.stdout.split())
        broken = {name for names in BROKEN[self.name].values() for name in names}
        said = [f"nothing breaks {name}" for name in sorted(tests - broken - UNBROKEN.keys())]
        return said + [f"{name} is no test" for name in sorted(broken - tests)]


def main():
    library = Library(sys.argv[1], sys.argv[2])
    wrong = library.forgotten()
    code, said = library.ask("", [])
    if code:
        wrong.append(f"with a library in front that breaks nothing a test failed:\n{said}")
    for how, names in BROKEN[library.name].items():
        for name in names:
            failed, said = library.fails(how, name)
            if not failed:
                wrong.append(f"{how}: the test {name} did not fail:\n{said}")
    print("\n".join(wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
