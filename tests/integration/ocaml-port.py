"""Test the recorder for OCaml: ocaml-port.py SOURCE-ROOT MPROFCTL [TEST…]

Builds the port with the installed OCaml, and runs programs that record with it; mprofctl judges what they
recorded.
"""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import ocaml_library

ROOT, MPROFCTL = map(os.path.abspath, sys.argv[1:3])
HERE = os.path.join(ROOT, "tests", "integration")
FLAGS = ["-g", "-w", "+a-4-9-40..42-44-45-70", "-warn-error", "+a"]
LWT = ["-I", "+lwt", "-I", "+lwt/unix", "-I", "+ocplib-endian", "-I", "+threads"]
LWT_LIBRARIES = ["unix", "bigarray", "threads", "ocplib_endian", "lwt", "lwt_unix", "mprof", "mprof_unix", "mprof_lwt", "mprof_lwt_unix"]


def ctl(*arguments):
    done = subprocess.run([MPROFCTL, *arguments], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def ctl_json(verb, *arguments):
    return json.loads(ctl(verb, "--json", *arguments))


def events(path):
    return [json.loads(line) for line in ctl("dump", "--json", path).splitlines()]


class Port(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="ocaml-port-")
        cls.addClassCleanup(cls.directory.cleanup)
        os.chdir(cls.directory.name)
        cls.found = ocaml_library.flags(ocaml_library.build(".", "mprof"), "mprof", "mprof.unix", "mprof.lwt", "mprof.lwt-unix")

    def make(self, source, libraries, *flags, native=True):
        """Compile and link a program of this directory. Return the command that runs it."""
        with open(os.path.join(HERE, source + ".ml"), encoding="utf-8") as file:
            program = file.read()
        with open(source + ".ml", "w", encoding="utf-8") as file:
            file.write(program)
        compiler, suffix = ("ocamlopt", ".cmxa") if native else ("ocamlc", ".cma")
        custom = [] if native else ["-custom"]
        output = source + (".native" if native else ".byte")
        subprocess.run(
            [compiler, *custom, *FLAGS, *self.found, *flags, *[name + suffix for name in libraries], source + ".ml", "-o", output],
            check=True,
        )
        return "./" + output

    def run_program(self, *command):
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_table(self):
        """The table finds every living block, whatever the collector does, and no other."""
        for native in (True, False):
            self.assertEqual(self.run_program(self.make("mprof_table_test", ["mprof"], native=native)), "ok\n")

    def test_plain(self):
        """Without Lwt: labels, counters, collections, idle times; a forked child records nothing."""
        for native in (True, False):
            self.run_program(self.make("mprof_plain", ["unix", "mprof", "mprof_unix"], native=native), "first.ctf", "second.ctf")
            for path, jobs in (("first.ctf", 7), ("second.ctf", 9)):
                seen = events(path)
                labels = [e["label"] for e in seen if e["event"] == "label"]
                self.assertEqual(labels, ["main", "begin", "end"])
                self.assertEqual([e["value"] for e in seen if e["event"] == "counter" and e["counter"] == "jobs"], [jobs])
                self.assertEqual([e["amount"] for e in seen if e["event"] == "increase" and e["counter"] == "steps"], [-3])
                self.assertEqual([e["thread"] for e in seen if e["event"] == "switch"], [0, -1, 0])
                self.assertGreater(len([e for e in seen if e["event"] == "gc" and int(e["duration_ns"]) > 0]), 1)
                self.assertEqual([e["type"] for e in seen if e["event"] == "creates"], ["Task", "Mutex"])
                self.assertEqual([e["exn"] for e in seen if e["event"] == "fails"], ['Failure("late")'])

    def test_arp(self):
        """The lost wake-up: `why` names the condition, the signal that nobody waited for, and its sender."""
        for native in (True, False):
            program = self.make("lwt_arp", LWT_LIBRARIES, *LWT, native=native)
            self.assertEqual(self.run_program(program, "good", "good.ctf"), "00:16:3e:00:00:01\n")
            self.assertIn("all threads that should resolve did, 1 of them", ctl("why", "good.ctf"))
            self.assertEqual(self.run_program(program, "bad", "bad.ctf"), "")
            (answer,) = ctl_json("why", "bad.ctf")["answers"]
            self.assertEqual((answer["label"], answer["verdict"]), ("TCP connect", "missed-signal"))
            self.assertEqual([link["label"] for link in answer["chain"]], ["ARP response"])
            self.assertEqual((answer["condition"]["type"], answer["condition"]["label"]), ("Condition", "ARP response"))
            self.assertEqual((answer["missed"]["label"], answer["missed_signals"]), ("arp.input", 1))
            late = int(answer["root"]["time_ns"]) - int(answer["missed"]["time_ns"])
            self.assertGreater(late, 9_000_000)
            counts = [e["value"] for e in events("bad.ctf") if e["event"] == "counter"]
            self.assertEqual(counts, [1, 2, 3])

    def test_echo(self):
        """A server and clients: the one that hangs is named with the read that it waits for."""
        program = self.make("lwt_echo", LWT_LIBRARIES, *LWT)
        self.run_program(program, "echo.ctf", "echo.socket")
        (answer,) = ctl_json("why", "echo.ctf")["answers"]
        self.assertEqual((answer["verdict"], answer["root"]["label"], answer["root"]["type"]), ("never-resolved", "read", "Task"))
        self.assertEqual([link["type"] for link in answer["chain"]][-1], "Task")
        threads = ctl_json("threads", "echo.ctf")["threads"]
        states = {t["label"]: t["state"] for t in threads if t["label"] and t["label"].startswith("client")}
        self.assertEqual(set(states), {"client 1", "client 2", "client 3"})
        types = {t["type"] for t in threads}
        self.assertLessEqual({"Task", "Wait", "Bind", "Map", "Try", "Join", "Async", "Mutex"}, types)
        # The picture of the whole: every thread but those of the hanging client, the server, and what they wait for.
        left = {t["label"] for t in threads if t["state"] in ("unresolved", "never resolved")}
        self.assertLessEqual(left, {"main", "server", "accept", "connection", "read", "client 3", None})
        labels = [e["label"] for e in events("echo.ctf") if e["event"] == "label"]
        self.assertGreater(labels.count("read"), 10)
        self.assertEqual(labels.count("sleep"), 6)
        lines = [e["value"] for e in events("echo.ctf") if e["event"] == "counter"]
        self.assertEqual(lines, [1, 2, 3, 4, 5])

    def test_off(self):
        """A program that is not told to record runs as before, with the wrappers linked."""
        with open("off.ml", "w", encoding="utf-8") as file:
            file.write(
                "open Mprof_lwt\nopen Mprof_lwt_unix\nopen Lwt.Infix\n"
                'let () = Lwt_main.run (Lwt_unix.sleep 0.001 >>= fun () -> Lwt.pause () >|= fun () -> print_endline "done")\n'
            )
        libraries = [name + ".cmxa" for name in LWT_LIBRARIES]
        subprocess.run(["ocamlopt", *FLAGS, *self.found, *LWT, *libraries, "off.ml", "-o", "off"], check=True)
        self.assertEqual(self.run_program("./off"), "done\n")


class Packages(unittest.TestCase):
    def test_same_repository(self):
        """MirageOS's build takes only packages that have a dev-repo, and takes those with the same one together."""
        found = {}
        for path in glob.glob(os.path.join(ROOT, "*.opam")):
            with open(path, encoding="utf-8") as file:
                found[os.path.basename(path)] = re.findall(r'(?m)^dev-repo: "(git\+.*/mprofd\.git)"$', file.read())
        self.assertLessEqual({"mprof.opam", "mprof-mirage.opam", "mprof-xen.opam"}, set(found))
        ((address,),) = {tuple(addresses) for addresses in found.values()}
        self.assertTrue(address)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
