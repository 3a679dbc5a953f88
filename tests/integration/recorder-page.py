"""Make and run the programs of docs/recorder.md: recorder-page.py BUILD-DIRECTORY [TEST…]

A block of C or OCaml whose first line is a comment that begins with a file's name is that file. The
commands of a section run in one shell, in a directory with the section's files, against the headers and
libraries that `meson install` installs; pages.py has the rules of the comparison. A program of a
platform that is not here is skipped.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import unittest

import daemons
import mini_os
import ocaml_library
import pages

sys.path.insert(0, os.path.join(daemons.HERE, "../xen"))

import publish  # noqa: E402

PAGE = "recorder.md"
BUILD = os.path.abspath(daemons.BUILD)
PORTS = os.path.join(pages.TOP, "client/recorder/ports")
REFERENCE = os.environ.get("MPROF_REFERENCE", os.path.join(pages.TOP, "..", "shared"))
UNIKRAFT = os.path.abspath(os.environ.get("MPROFD_UNIKRAFT", os.path.join(REFERENCE, "unikraft")))
FILE = re.compile(r"```(?:c|ocaml)\n((?:/\*|\(\*) (\w+\.\w+)\b.*\n(?:.*\n)*?)```\n")
LWT = "/usr/lib/ocaml/lwt/unix/lwt_unix.cmxa"


def masked(text):
    """Return TEXT with a word for numbers, and one unit for all times."""
    return re.sub(r"N (ns|µs|ms)\b", "N ns", pages.masked(text))


def sections():
    """Return {heading: (files, commands)} of the page: {name: text} and a list."""
    found, commands = {}, pages.commands(PAGE)
    parts = re.split(r"(?m)^## (.*)\n", pages.page(PAGE))
    line = parts[0].count("\n") + 1
    for heading, text in zip(parts[1::2], parts[2::2]):
        end = line + 1 + text.count("\n")
        files = {name: source for source, name in FILE.findall(text)}
        found[heading] = files, [c for c in commands if line <= c.line < end]
        line = end
    return found


class Sections:
    """The page's sections, and what is installed for them. The classes of tests share that."""

    installed = False

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not Sections.installed:
            Sections.install()

    @classmethod
    def install(cls):
        cls.sections = sections()
        cls.work = os.path.join(BUILD, "recorder-page")
        shutil.rmtree(cls.work, ignore_errors=True)
        cls.root = os.path.join(cls.work, "root")
        # Without --no-rebuild the test would compile what a run of ninja beside it compiles.
        subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", cls.root], check=True)
        with open(os.path.join(BUILD, "meson-info/intro-buildoptions.json"), encoding="utf-8") as f:
            options = {option["name"]: option["value"] for option in json.load(f)}
        cls.sanitizers = options["b_sanitize"]
        cls.libraries = os.path.join(cls.root, options["prefix"].lstrip("/"), options["libdir"])
        # In this directory the linker finds only static libraries. gcc cannot link a sanitizer with -static.
        cls.static = os.path.join(cls.work, "static")
        os.makedirs(cls.static)
        for name in os.listdir(cls.libraries):
            if name.startswith("libmprof-recorder") and name.endswith(".a"):
                shutil.copy(os.path.join(cls.libraries, name), cls.static)
        cls.installed = True

    def environment(self):
        programs = [os.path.dirname(os.path.join(BUILD, path)) for path in ("client/run/mprof-run", "client/ctl/mprofctl")]
        return {
            **os.environ,
            "PATH": ":".join([*programs, os.environ["PATH"]]),
            "LD_LIBRARY_PATH": self.libraries,
            "PKG_CONFIG_PATH": os.path.join(self.libraries, "pkgconfig"),
            "PKG_CONFIG_SYSROOT_DIR": self.root,
            "PKG_CONFIG_ALLOW_SYSTEM_CFLAGS": "1",
            "PKG_CONFIG_ALLOW_SYSTEM_LIBS": "1",
        }

    def replaced(self):
        """Return what stands for the texts of commands: warnings are errors, and the sanitizer of the libraries is there."""
        compiler = "cc -Wall -Wextra -Werror" + ("" if self.sanitizers == "none" else f" -fsanitize={self.sanitizers}")
        return {
            "/path/to/mprofd": pages.TOP,
            "cc -static -o": f"{compiler} -static -o" if self.sanitizers == "none" else f"{compiler} -L{self.static} -o",
            "cc -o": f"{compiler} -o",
        }

    def write(self, heading, directory):
        """Write the files of a section, and enter their directory."""
        path = os.path.join(self.work, directory)
        os.makedirs(path, exist_ok=True)
        os.chdir(path)
        for name, text in self.sections[heading][0].items():
            with open(name, "w", encoding="utf-8") as f:
                f.write(text)

    def follow(self, heading, directory, replaced=None, environment=None):
        """Run the commands of a section, and compare their output."""
        self.write(heading, directory)
        found = self.sections[heading][1]
        self.assertTrue(found, f"no command in {heading}")
        environment = {**self.environment(), **(environment or {})}
        for command, real, code in pages.execute(found, {**self.replaced(), **(replaced or {})}, environment):
            with self.subTest(f"docs/{PAGE}:{command.line}: {command.text}"):
                self.assertIsNone(pages.output_differs(command.output, real, masked), "\n".join(real))
                self.assertEqual(code, 0, "\n".join(real))


class Page(Sections, unittest.TestCase):
    @unittest.skipUnless(os.path.exists(os.path.join(BUILD, "client/run/mprof-run")), "mprof-run is not built here")
    def test_unchanged(self):
        """The shell waits until both threads wait, and the keeper has found the lines where; a person is slower."""
        waiting = "until mprofctl why missed.$! 2>&1 | grep -q 'waits on .*pthread_cond_wait in work'; do sleep 0.05; done"
        self.follow("A Linux program, unchanged", "unchanged", {"./missed &": f"./missed & {waiting}"})

    def test_c(self):
        self.follow("A Linux program in C", "c")

    def test_threads(self):
        self.follow("A Linux program in C, with threads", "threads")

    @unittest.skipUnless(ocaml_library.there(), "no OCaml with dune here")
    def test_ocaml(self):
        """The section of Lwt uses the library that the one before it builds."""
        self.follow("OCaml", "ocaml")
        if not os.path.exists(LWT):
            self.skipTest("no Lwt here")
        self.follow("OCaml with Lwt", "ocaml")

    @unittest.skipUnless(ocaml_library.there(), "no OCaml with dune here")
    def test_ocaml_xen(self):
        """The program runs in a guest of tests/xen, whose XenStore is real, and the collector captures its ring."""
        if not publish.sim.store_program("xenstored"):
            self.skipTest("MPROFD_XEN names no directory with a store")
        case = publish.Case()
        case.setUp()
        self.addCleanup(case.doCleanups)
        d, guest = case.daemons(), case.linux()
        put = [f"{name}={guest.env[name]}" for name in ("LD_PRELOAD", "MPROFD_SIM_DIR", "MPROFD_SIM_DOMID", "XENSTORED_PATH")]
        press = os.path.join(self.work, "press")

        def enter():
            """Press Enter when the collector has the ring."""
            try:
                case.attached(d, "linux")
            finally:
                open(press, "w", encoding="ascii").close()

        person = threading.Thread(target=enter)
        person.start()
        shop = f"(until [ -e {press} ]; do sleep 0.05; done; echo) | env {' '.join(put)} ./shop"
        self.follow("OCaml in a Linux guest of Xen", "ocaml-xen", {"./shop": shop})
        person.join()
        (capture,) = d.wait(lambda: d.captures("linux"))
        self.assertEqual(capture["kind"], "ended")
        self.assertRegex(case.dump(d.get(f"/v1/captures/{capture['id']}/trace")), r'counter thread=0 value=3 counter="orders"')

    @unittest.skipUnless(os.uname().machine == "x86_64", "the port is for x86-64")
    def test_mini_os(self):
        """The page's commands link the guest with the stand-in for Mini-OS, and it boots."""
        self.write("Mini-OS", "mini-os")
        variables = {
            "mini_os_flags": " ".join([*mini_os.KERNEL, *mini_os.INCLUDE]),
            "mini_os_objects": " ".join(mini_os.objects("kernel")),
            "mini_os_libraries": "",
        }
        self.follow("Mini-OS", "mini-os", environment=variables)
        mini_os.run("cc", "all.o", "-o", "server")
        # The recorder sees the context switch.
        self.assertIn("__wrap___arch_switch_threads", mini_os.symbols("server"))
        mini_os.run("./server", "ring.ctf")
        said = mini_os.run(os.path.join(BUILD, "client/ctl/mprofctl"), "dump", "ring.ctf")
        self.assertRegex(said, r'label thread=\d+ label="down requests"')

    def test_unikraft(self):
        """Unikraft's source is not here: the program is compiled against the port's header."""
        self.write("Unikraft", "unikraft")
        include = f"-I{PORTS}/unikraft/include"
        subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-ffreestanding", include, "-c", "main.c"], check=True)
        names = subprocess.run(["nm", "-u", "main.o"], capture_output=True, text=True, check=True).stdout.split()
        with open(os.path.join(PORTS, "unikraft/exportsyms.uk"), encoding="ascii") as f:
            exported = f.read().split()
        self.assertLessEqual({name for name in names if name != "U"}, set(exported))

    @unittest.skipUnless(os.path.isdir(UNIKRAFT) and shutil.which("qemu-system-x86_64"), f"{UNIKRAFT}: no source of Unikraft, or no QEMU")
    def test_unikraft_runs(self):
        """The port's example, as its README says: built with Unikraft, run under QEMU, and its ring copied by QEMU's monitor."""
        path = os.path.join(self.work, "unikraft-runs")
        shutil.copytree(os.path.join(PORTS, "unikraft/example"), os.path.join(path, "app"))
        os.chdir(path)
        make = ["make", "-C", UNIKRAFT, f"A={path}/app", f"L={PORTS}/unikraft", f"O={path}/app/build"]
        for more in ([f"UK_DEFCONFIG={path}/app/config", "defconfig"], ["-j2"]):
            done = subprocess.run(make + more, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, (done.stdout + done.stderr)[-3000:])
            self.assertNotRegex(done.stderr, r"(?m)^/.*/(ports/|app/main\.c|recorder\.c).*warning")
        devices = "-m 64 -cpu max -display none -vga none -no-reboot -serial file:serial.txt -monitor stdio"
        command = ["qemu-system-x86_64", "-kernel", "app/build/example_qemu-x86_64", *devices.split()]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as qemu:
            self.addCleanup(qemu.kill)
            until = time.monotonic() + 120
            while not self.saves("serial.txt"):
                self.assertLess(time.monotonic(), until, "the unikernel does not say where its ring is")
                time.sleep(0.05)
            qemu.communicate(f"{self.saves('serial.txt')}\nquit\n", timeout=daemons.HANGS)
        ctl = [os.path.join(BUILD, "client/ctl/mprofctl")]
        said = subprocess.run([*ctl, "dump", "--json", "ring.ctf"], capture_output=True, text=True, check=True).stdout
        events = [json.loads(line) for line in said.splitlines()]
        self.assertEqual([e["value"] for e in events if e["event"] == "counter" and e["counter"] == "served"], [1, 2, 3, 4, 5])
        names = {e["label"]: e["thread"] for e in events if e["event"] == "label"}
        self.assertLessEqual({"main", "server", "client", "idle"}, set(names))
        waits = [e["source"] for e in events if e["event"] == "try_read" and e["reader"] == names["server"]]
        woken = [e["resolvee"] for e in events if e["event"] == "fulfills" and e["resolver"] == names["main"]]
        self.assertEqual(waits[:-1], woken, "main wakes the server from each wait but the last")
        why = subprocess.run([*ctl, "why", "ring.ctf"], capture_output=True, text=True, check=True).stdout
        self.assertRegex(why, r'thread \d+ \(Task, "client"\) should resolve and never did\n.*\n.*waits on \d+ \(Wait\)')

    @staticmethod
    def saves(path):
        """Return the command for QEMU's monitor in the console's copy, or None."""
        if not os.path.exists(path):
            return None
        with open(path, encoding="utf-8", errors="replace") as f:
            found = re.search(r"(?m)^(memsave 0x[0-9a-f]+ \d+ ring\.ctf)\r?$", f.read())
        return found and found[1]

    def test_no_section_is_missed(self):
        """Each section with a program has a test above, and each block of code is a file or a command."""
        with open(os.path.abspath(__file__), encoding="utf-8") as f:
            source = f.read()
        for heading, (files, commands) in self.sections.items():
            self.assertTrue(not files and not commands or f'"{heading}"' in source, heading)
        blocks = [language for language in re.findall(r"(?m)^```(\w+)$", pages.page(PAGE)) if language != "console"]
        self.assertEqual(len(blocks), sum(len(files) for files, _ in self.sections.values()))


@unittest.skipUnless(os.path.exists(os.path.join(BUILD, "tests/xen/sim/sim-guest.so")), "the part xen is not built here")
@unittest.skipUnless(publish.sim.store_program("xenstored"), "no xenstored: set MPROFD_XEN, as tests/run does")
class Guest(Sections, publish.Case):
    def test_xen(self):
        """The program runs in a guest of the simulation, the last command in its dom0, when mprofd knows of the withdrawal."""
        d = self.daemons()
        guest = self.linux(name="web")
        inside = f"LD_PRELOAD={guest.env['LD_PRELOAD']} MPROFD_SIM_DOMID={guest.domid} XENSTORED_PATH={guest.env['XENSTORED_PATH']}"
        dom0 = "until mprofctl captures web | grep -q web; do sleep 0.05; done"
        host = {"MPROFCTL_HOST": f"unix:{d.socket}", "ASAN_OPTIONS": guest.env["ASAN_OPTIONS"]}
        self.follow("A Linux guest of Xen", "xen", {"./shop": f"{inside} ./shop; {dom0}"}, host)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
