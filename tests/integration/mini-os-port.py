#!/usr/bin/env python3
"""Build a guest on Mini-OS with the recorder's port, and check what the linker replaced:
mini-os-port.py SOURCE BUILD

Mini-OS's source is no part of the project: it is in $MPROFD_MINI_OS, by default mini-os in
$MPROF_REFERENCE or ../shared. Without it the test is skipped. The lab runs such guests
(tests/xen/lab).
"""

import os
import re
import shutil
import subprocess
import sys
import unittest

TOP, BUILD = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
REFERENCE = os.environ.get("MPROF_REFERENCE", os.path.join(TOP, "..", "shared"))
MINI_OS = os.path.abspath(os.environ.get("MPROFD_MINI_OS", os.path.join(REFERENCE, "mini-os")))
PORT = os.path.join(TOP, "client/recorder/ports/mini-os")
WORK = os.path.join(BUILD, "mini-os-port")
SKIP = 77


def run(*command, cwd=None):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=cwd, check=False)
    if done.returncode:
        raise AssertionError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def symbols(path):
    """Return {name: its letters of nm}."""
    found = {}
    for line in run("nm", path).splitlines():
        name, kind = line.split()[-1], line.split()[-2]
        found.setdefault(name, set()).add(kind)
    return found


class Port(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        guest = os.path.join(TOP, "tests/xen/lab/mini-os-guest.c")
        run("sh", os.path.join(TOP, "tests/xen/lab/mini-os-build"), MINI_OS, WORK, guest, os.path.join(WORK, "guest.gz"))
        with open(os.path.join(PORT, "wrap"), encoding="utf-8") as f:
            cls.wrapped = [line.removeprefix("--wrap=") for line in f.read().split()]

    def test_each_option_has_a_function_and_each_function_an_option(self):
        defined = {name.removeprefix("__wrap_") for name in symbols(os.path.join(WORK, "wraps.o")) if name.startswith("__wrap_")}
        self.assertEqual(sorted(self.wrapped), sorted(defined))

    def test_mini_os_has_each_function_and_some_object_calls_it(self):
        mini_os = os.path.join(WORK, "mini-os")
        called, defined = set(), set()
        for folder, _, files in os.walk(mini_os):
            for name in files:
                if name.endswith(".o") and name not in ("mini-os.o", "daytime.o", "test.o"):
                    for symbol, kinds in symbols(os.path.join(folder, name)).items():
                        (called if "U" in kinds else defined).add(symbol)
        called |= {name for name, kinds in symbols(os.path.join(WORK, "mini-os-guest.o")).items() if "U" in kinds}
        self.assertEqual([name for name in self.wrapped if name not in defined], [], "functions that Mini-OS does not have")
        # Guests may call these, and this one does not.
        optional = {"xenbus_get_perms", "xenbus_set_perms", "xenbus_ls", "xenbus_transaction_start", "xenbus_transaction_end"}
        optional.add("xenbus_wait_for_watch_return")
        self.assertEqual([name for name in self.wrapped if name not in called | optional], [], "functions that nobody calls")

    def test_the_guest_calls_the_recorded_functions_only(self):
        """The headers in `include` leave no call of the guest's own code unrecorded."""
        names = symbols(os.path.join(WORK, "mini-os-guest.o"))
        for name in ("mprof_mini_os_down", "mprof_mini_os_up", "mprof_mini_os_init_semaphore", "mprof_mini_os_wait", "mprof_mini_os_wake_up"):
            self.assertEqual(names.get(name), {"U"}, name)
        for name in ("wake", "block"):
            self.assertNotIn(name, names, "an inline function of Mini-OS's own header")

    def test_nothing_is_undefined(self):
        undefined = [name for name, kinds in symbols(os.path.join(WORK, "guest")).items() if "U" in kinds]
        self.assertEqual(undefined, [])

    def test_the_context_switch_is_replaced(self):
        code = run("objdump", "-d", "--no-show-raw-insn", "--disassemble=schedule", os.path.join(WORK, "guest"))
        calls = set(re.findall(r"call\s+\w+ <(\w+)>", code))
        self.assertIn("__wrap___arch_switch_threads", calls)
        self.assertNotIn("__arch_switch_threads", calls)


if __name__ == "__main__":
    if not os.path.isdir(MINI_OS):
        print(f"{MINI_OS}: no source of Mini-OS (MPROFD_MINI_OS names another directory)")
        sys.exit(SKIP)
    missing = [program for program in ("gcc", "make", "perl") if not shutil.which(program)]
    if missing or os.uname().machine != "x86_64":
        print(f"Mini-OS is built on x86-64 with gcc, make and perl; missing: {missing}")
        sys.exit(SKIP)
    unittest.main(argv=sys.argv[:1])
