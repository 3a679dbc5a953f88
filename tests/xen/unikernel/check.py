#!/usr/bin/env python3
"""Build the unikernel and check what it is made of, without Xen: check.py BUILD

The lab boots it on a real Xen (tests/xen/README.md).
"""

import os
import re
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
WORK = os.path.join(os.path.abspath(sys.argv[1]), "unikernel")
KERNEL = os.path.join(WORK, "unikernel")
LINES = 1500  # of code: small enough to read in an evening
PHYS32_ENTRY = 18
SKIP = 77


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
    return done.stdout


def code(path):
    """Return the lines of a source file that are neither blank nor comments."""
    with open(path, encoding="utf-8") as f:
        return [line for line in re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S).splitlines() if line.strip()]


class Kernel(unittest.TestCase):
    def test_needs_nothing(self):
        """It is linked without a library, and no symbol is missing."""
        self.assertEqual(run("nm", "-u", KERNEL), "")
        self.assertNotRegex(run("readelf", "-lW", KERNEL), r"INTERP|DYNAMIC")

    def test_entry(self):
        """The note says where Xen enters, and that is the first instruction of start32."""
        notes = run("readelf", "-nW", KERNEL)
        self.assertRegex(notes, rf"(?s)Xen\s+0x0+8\s.*0x0*{PHYS32_ENTRY:x}\b")
        start = re.search(r"^([0-9a-f]+) T start32$", run("nm", KERNEL), re.M)[1]
        told = re.search(r"description data: ([0-9a-f ]+)", notes)[1].split()
        self.assertEqual(int.from_bytes(bytes.fromhex("".join(told)), "little"), int(start, 16))
        self.assertRegex(run("readelf", "-lW", KERNEL), r"(?m)^\s*NOTE ")

    def test_general_registers(self):
        """Interrupts save no other registers."""
        self.assertNotRegex(run("objdump", "-d", "--no-show-raw-insn", KERNEL), r"%([xyz]mm|st|mm)\d*\b")

    def test_recorder(self):
        """It records through the recorder and the ports' table of threads."""
        objects = os.path.join(WORK, "unikernel.objects")
        needed = set(re.findall(r"^ +U (\w+)$", run("nm", "-u", f"{objects}/trace.o"), re.M))
        self.assertLessEqual({"mprof_recorder_init", "mprof_recorder_do_fails", "mprof_recorder_do_creates"}, needed)
        defined = set(re.findall(r" T (\w+)$", run("nm", f"{objects}/recorder.o"), re.M))
        self.assertLessEqual({name for name in needed if name.startswith("mprof_")}, defined)

    def test_size(self):
        lines = {name: len(code(os.path.join(HERE, name))) for name in os.listdir(HERE) if name.endswith((".c", ".h", ".S", ".ld"))}
        self.assertGreater(sum(lines.values()), 1000, f"{lines}")
        self.assertLessEqual(sum(lines.values()), LINES, f"{lines}")

    @unittest.skipUnless(shutil.which("qemu-system-x86_64"), "QEMU is not installed")
    def test_without_xen(self):
        """A machine that is no guest of Xen is told so: the way into 64 bits works, and what is a failure without Xen ends."""
        machine = ["qemu-system-x86_64", "-accel", "tcg", "-cpu", "qemu64", "-m", "32", "-nodefaults", "-display", "none", "-no-reboot"]
        self.assertEqual(run(*machine, "-kernel", KERNEL, "-debugcon", "stdio"), "unikernel: this machine is no guest of Xen\n")


if __name__ == "__main__":
    missing = [program for program in ("cc", "ld", "nm", "objdump", "readelf") if not shutil.which(program)]
    if missing or os.uname().machine != "x86_64":
        print(f"The unikernel is for x86-64, and is built with a compiler; missing: {missing}")
        sys.exit(SKIP)
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)
    print(run("sh", os.path.join(HERE, "build"), KERNEL))
    unittest.main(argv=sys.argv[:1])
