#!/usr/bin/env python3
"""Build a guest with the recorder's port for Mini-OS, run it and judge its trace: mini-os-port.py SOURCE BUILD

Mini-OS's source is no part of the project. The port is compiled against declarations of Mini-OS's interface that were written for
this test (mini-os/include), and linked with a stand-in that runs as a process (mini-os/stand-in.h).
"""

import json
import os
import re
import shutil
import sys
import unittest

import mini_os

TOP, BUILD = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
PORT = os.path.join(TOP, "client/recorder/ports/mini-os")
WORK = os.path.join(BUILD, "mini-os-port")
CTL = os.path.join(BUILD, "client/ctl/mprofctl")
CC = ["cc", "-std=gnu11", "-g", "-Wextra", "-Wno-unused-parameter", *mini_os.KERNEL, *mini_os.INCLUDE]
HEADERS = [f"-I{os.path.join(TOP, path)}" for path in ("client/recorder/ports/mini-os/include", PORT, "client/recorder", "schema")]
REQUESTS = 40
SKIP = 77


def run(*command):
    return mini_os.run(*command, cwd=WORK)


def symbols(name):
    return mini_os.symbols(os.path.join(WORK, name))


def build():
    """Compile the port, the recorder and the guest as a guest is compiled, and the stand-in as Mini-OS is."""
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)
    ours = ["mini-os-port.o", "waits.o", "wraps.o", "share.o", "recorder.o", "guest.o"]
    sources = [os.path.join(PORT, f"{name[:-2]}.c") for name in ours[:4]]
    sources += [f"{TOP}/client/recorder/recorder.c", f"{mini_os.HERE}/guest.c"]
    run(*CC, *HEADERS, f"-I{mini_os.HERE}", "-c", *sources)
    run("ld", "-r", f"@{PORT}/wrap", *mini_os.objects(os.path.join(WORK, "kernel")), *ours, "-o", "all.o")
    run("cc", "all.o", "-o", "guest")


def labels(text):
    """Return {id: first label} of the threads of a dump."""
    found = {}
    for match in re.finditer(r'^\S+ label thread=(-?\d+) label="((?:[^"\\]|\\.)*)"', text, re.M):
        found.setdefault(match[1], match[2])
    return found


class Link(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(os.path.join(PORT, "wrap"), encoding="utf-8") as f:
            cls.wrapped = [line.removeprefix("--wrap=") for line in f.read().split()]

    def test_each_option_has_a_function_and_each_function_an_option(self):
        defined = {name.removeprefix("__wrap_") for name in symbols("wraps.o") if name.startswith("__wrap_")}
        self.assertEqual(sorted(self.wrapped), sorted(defined))

    def test_the_guest_calls_the_recorded_functions_only(self):
        """The headers in `include` leave no call of the guest's own code unrecorded."""
        names = symbols("guest.o")
        for name in ("down", "up", "init_semaphore", "wait", "wait_end", "wake_up", "notify"):
            self.assertEqual(names.get(f"mprof_mini_os_{name}"), {"U"}, name)
        for name in ("down", "up", "init_SEMAPHORE", "add_wait_queue", "remove_wait_queue", "wake_up", "wake", "block", "notify_remote_via_evtchn"):
            self.assertNotIn(name, names, "a function of Mini-OS's own header")

    def test_the_context_switch_is_replaced(self):
        code = run("objdump", "-d", "--no-show-raw-insn", "--disassemble=schedule", "guest")
        calls = set(re.findall(r"(?:call|jmp)\s+\w+ <(\w+)>", code))
        self.assertIn("__wrap___arch_switch_threads", calls)
        self.assertNotIn("__arch_switch_threads", calls)

    def test_the_guest_needs_the_kernel_alone(self):
        """The port and the recorder call nothing but functions that the headers declare."""
        declared = ""
        for folder, _, names in os.walk(os.path.join(mini_os.HERE, "include")):
            for name in names:
                with open(os.path.join(folder, name), encoding="utf-8") as f:
                    declared += f.read()
        ours = ["mini-os-port.o", "waits.o", "wraps.o", "share.o", "recorder.o"]
        defined = {name for path in ours for name, kinds in symbols(path).items() if kinds != {"U"}}
        needed = {name for path in ours for name, kinds in symbols(path).items() if kinds == {"U"}} - defined
        words = set(re.findall(r"\w+", declared))
        libc = {"free", "memcpy", "memset", "printf", "snprintf", "strcmp", "strlen"}
        self.assertEqual({name for name in needed if name.removeprefix("__real_") not in words | libc}, set())


class Trace(unittest.TestCase):
    """Each test boots a guest, which ends after the last word."""

    def boot(self, *words):
        self.ring = f"{self.id().rsplit('.', maxsplit=1)[-1]}.ctf"
        return run("./guest", self.ring, *words)

    def ctl(self, *words):
        return run(CTL, *words, self.ring)

    def lost(self):
        """why names the semaphore whose signal was lost when it was initialised again, the thread, and who signalled."""
        answers = json.loads(self.ctl("--json", "why"))["answers"]
        found = [answer for answer in answers if answer["verdict"] == "idle-or-missed"]
        self.assertEqual(len(found), 1, [answer["verdict"] for answer in answers])
        text = self.ctl("why")
        for part in ('"client"', '"answer"', "came while nobody waited for it. A semaphore keeps a signal: ", '"resolver"', '"down answer"'):
            self.assertIn(part, text)

    def ends(self, console):
        """Return the lines after the counter that the guest announced."""
        counter, value = re.findall(r"^lab: last (\w+) (\d+)$", console, re.M)[-1]
        lines = self.ctl("dump").splitlines()
        at = [i for i, line in enumerate(lines) if re.search(rf'counter .*value={value}\b.*"{counter}"', line)]
        self.assertEqual(len(at), 1, lines[-3:])
        return lines[at[0] + 1 :]

    def test_names_and_wake_ups(self):
        """Threads, their switches, semaphores, XenStore requests and event channels have their names, and who wakes whom is there."""
        self.boot(f"serve:{REQUESTS}", "bell")
        text = self.ctl("dump")
        names = labels(text)
        every = ("worker 1", "worker 2", "control", "xenstore", "scheduler", "requests", "served", "lock")
        self.assertLessEqual(set(every), set(names.values()))
        patterns = (
            r"down requests",
            r"wait client_wanted",
            r"XenStore read data/lab/cmd",
            r"XenStore write data/mprof/ring-ref",
            r"sleep 1 ms",
            r"event channel \d+ bell",
            r"event channel \d+ xenstore",
        )
        for pattern in patterns:
            self.assertTrue(any(re.fullmatch(pattern, name) for name in names.values()), pattern)
        ran = {names.get(match) for match in re.findall(r"^\S+ switch thread=(\d+)$", text, re.M)}
        self.assertLessEqual({"worker 1", "worker 2", "control", "xenstore"}, ran)
        woken = set()
        for match in re.finditer(r"^\S+ fulfills resolver=(\d+) resolvee=(\d+)$", text, re.M):
            woken.add((re.sub(r"\d+ ", "", names.get(match[1], "")), names.get(match[2], "")))
        wakes = (
            ("event channel bell", "down requests"),
            ("event channel xenstore", "blocked"),
            ("worker 1", "down served"),
            ("scheduler", "sleep 1 ms"),
            ("xenstore", "XenStore read data/lab/cmd"),
        )
        for pair in wakes:
            self.assertIn(pair, woken)
        served = [int(value) for value in re.findall(r'counter .*value=(\d+).*"served"', text)]
        self.assertEqual(served, list(range(1, REQUESTS + 2)))

    def test_lost_wake_up(self):
        self.boot("serve:5", "lookup", "serve:3")
        self.lost()

    def test_page_fault(self):
        """The ring's very last event is the fault, with its addresses; why says what ran, and still names the lost wake-up."""
        console = self.boot("serve:5", "lookup", "fault")
        fault = re.search(r"^Page fault at linear address (\w+), rip (\w+)$", console, re.M)
        self.assertEqual(fault[1], "dead0b10")
        after = self.ends(console)
        self.assertEqual(len(after), 1, after)
        self.assertIn(" fails ", after[0])
        self.assertIn(f"page fault at 0x{fault[1]}, instruction at 0x{fault[2]}", after[0])
        self.assertRegex(self.ctl("why"), r'(?m)^last.*"parser"')
        self.lost()

    def test_bug(self):
        after = self.ends(self.boot("bug"))
        self.assertEqual(len(after), 1, after)
        self.assertRegex(after[0], ' fails .*"do_exit"')

    def test_more_than_there_is_room_for(self):
        """There are more threads, semaphores and event channels than the recorder has room for."""
        self.boot("pages=512", "many")
        names = labels(self.ctl("dump"))
        self.assertIn("further threads", names.values())
        self.assertGreater(sum(name == "visitor" for name in names.values()), 40)
        named = sum(name == "crowd[i]" for name in names.values())
        self.assertTrue(200 < named < 256, f"{named} of 299 semaphores have a row; the recorder has room for 256 objects")

    def test_withdraws(self):
        """A guest that ends on purpose withdraws its ring, here one with a directory, and ends each grant."""
        console = self.boot("pages=300", "serve:3", "shutdown")
        self.assertRegex(console, r"(?m)^lab: shutdown 0, dropped 0$")
        self.assertRegex(console, r"(?m)^lab: end shutdown, 0 grants$")
        self.assertIn("XenStore rm data/mprof/directory-ref", self.ctl("dump"))
        self.assertEqual(os.path.getsize(os.path.join(WORK, self.ring)), 300 * 4096)


if __name__ == "__main__":
    missing = [program for program in ("cc", "ld", "nm", "objdump") if not shutil.which(program)]
    if missing or os.uname().machine != "x86_64":
        print(f"The port is for x86-64, and is built with a compiler; missing: {missing}")
        sys.exit(SKIP)
    build()
    unittest.main(argv=sys.argv[:1])
