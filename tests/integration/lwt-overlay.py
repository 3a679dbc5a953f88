"""Test the overlay over Lwt: lwt-overlay.py SOURCE-ROOT MPROFCTL [TEST…]

mprof-mirage-lwt lays it over the modules of the installed Lwt, and over Debian's source packages of Lwt. A library
that was not changed is built with it, and mprofctl judges what it recorded.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../launcher"))
from turns import long  # noqa: E402

ROOT, MPROFCTL = map(os.path.abspath, sys.argv[1:3])
HERE = os.path.join(ROOT, "tests/integration/lwt-overlay")
COMMAND = os.path.join(ROOT, "client/recorder/ports/mirage/lwt/mprof-mirage-lwt")
# Debian's source packages: release, version, and the checksum of the archive.
SOURCES = {
    "12": ("5.6.1", "eb49470d2e18492f2502f69012066001f8a5384d4ca0a75000a8a8659f8a67a0"),
    "13": ("5.9.1", "03bf4bae6908a947582485c2a0b8f96428f39f97efd540573a613632be56ad2a"),
}


def run(*words, code=0):
    """Run a command. Return what it printed: its output, or its errors if it shall fail."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, env={**os.environ, "DUNE_CACHE": "disabled"}, check=False)
    assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
    assert code or not done.stderr, done.stderr
    return done.stderr if code else done.stdout


def overlay(*words, code=0):
    return run("sh", COMMAND, *words, code=code)


def ctl(verb, path):
    return json.loads(run(MPROFCTL, verb, "--json", path))


def events(path):
    return [json.loads(line) for line in run(MPROFCTL, "dump", "--json", path).splitlines()]


def tree(directory):
    """Return each path below DIRECTORY with its bytes, its mode and its time; None for a folder."""
    found = {}
    for path, folders, files in os.walk(directory):
        found.update((os.path.join(path, name), None) for name in folders)
        for name in files:
            at = os.path.join(path, name)
            with open(at, "rb") as file:
                found[at] = (file.read(), os.stat(at).st_mode, os.stat(at).st_mtime_ns)
    return found


def edit(path, *changes):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for old, new in changes:
        assert text.count(old) == 1, (old, text.count(old))
        text = text.replace(old, new)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Workspace(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="lwt-overlay-")
        self.addCleanup(directory.cleanup)
        os.chdir(directory.name)

    def workspace(self, *source):
        run("sh", os.path.join(HERE, "workspace"), ".", *source)

    def build(self, *programs):
        self.assertEqual(run("dune", "build", "--root", ".", "--no-print-directory", *[f"./{name}.exe" for name in programs]), "")

    def program(self, name, *words):
        return run(f"_build/default/{name}.exe", *words)

    def lost_wakeup(self):
        """Build the client over the tree, and see that `why` names the wake-up that was lost in the library."""
        self.build("lost")
        for order, printed in (("good", "00:16:3E:00:00:0A\nserved: 1\n"), ("bad", "served: 1\n")):
            self.assertEqual(self.program("lost", order), printed)
            self.assertEqual(self.program("lost", order, f"{order}.ctf"), printed)
        (answer,) = ctl("why", "bad.ctf")["answers"]
        self.assertEqual((answer["label"], answer["verdict"]), ("TCP connect", "missed-signal"))
        self.assertEqual((answer["condition"]["type"], answer["condition"]["label"]), ("Condition", "ARP response"))
        self.assertEqual(answer["missed_signals"], 1)
        # The threads of the library alone are between the program's and the condition's.
        self.assertEqual([link["type"] for link in answer["chain"]][:2], ["Try", "Map"])
        self.assertIn("all threads that should resolve did, 1 of them", run(MPROFCTL, "why", "good.ctf"))
        types = {event["type"] for event in events("good.ctf") if event["event"] == "creates"}
        self.assertLessEqual({"Task", "Wait", "Bind", "Map", "Try", "Async", "Condition", "Mutex", "Stream"}, types)


class Overlay(Workspace):
    @long
    def test_installed(self):
        """Over the installed modules: laid, laid twice, built, restored with each byte, mode and time."""
        self.workspace()
        before = tree("lwt")
        # Without the overlay the same library and program run, and the library records nothing.
        self.build("lost")
        self.assertEqual(self.program("lost", "bad", "plain.ctf"), "served: 1\n")
        self.assertNotIn("Try", {event["type"] for event in events("plain.ctf") if event["event"] == "creates"})
        self.assertIn("The overlay lies over lwt:", overlay("lwt"))
        laid = tree("lwt")
        self.assertNotEqual(laid, before)
        self.assertIn("The overlay lies over lwt already", overlay("lwt/"))
        self.assertEqual(tree("lwt"), laid)
        self.lost_wakeup()
        self.assertEqual(overlay("--undo", "lwt"), "The overlay was removed from lwt.\n")
        self.assertEqual(tree("lwt"), before)
        self.assertIn("there is nothing to undo", overlay("--undo", "lwt", code=1))

    @long
    def test_located(self):
        """If lwt_ppx gives file and line, as for Lwt 6, they are the labels of the threads."""
        self.workspace()
        calls = ("bind", "catch", "finalize", "try_bind")
        edit("lwt/src/core/lwt.mli", *[(f"val backtrace_{name} :\n", f"val backtrace_{name} :\n  string -> int ->\n") for name in calls])
        with open("lwt/src/core/lwt.ml", "a", encoding="utf-8") as file:
            file.writelines(f"let backtrace_{name} _file _line = backtrace_{name}\n" for name in calls)
        overlay("lwt")
        self.build("located")
        self.assertEqual(self.program("located", "shop.ctf"), 'Failure("Failure(\\"sold out\\")")\n')
        labels = [event["label"] for event in events("shop.ctf") if event["event"] == "label"]
        self.assertEqual(labels, ["main", *[f"shop.ml:{line}" for line in (12, 18, 17, 23, 27, 31)], "user's", "__should_resolve"])
        (answer,) = ctl("why", "shop.ctf")["answers"]
        self.assertEqual((answer["label"], answer["verdict"]), ("shop.ml:31", "never-resolved"))

    def test_refused(self):
        """A tree that the overlay does not know stays as it is, and one sentence says why."""
        self.workspace()
        core = "lwt/src/core/"
        for change, words in (
            (lambda: os.remove(core + "lwt_mvar.mli"), "lwt/src/core has no lwt_mvar.mli"),
            (
                lambda: shutil.copy(core + "lwt_mvar.ml", core + "lwt_other.ml"),
                "lwt/src/core/lwt_other.ml is a module that the overlay does not know",
            ),
            (lambda: os.remove(core + "dune"), "lwt/src/core has no dune file"),
            (lambda: edit(core + "dune", (" (wrapped false)\n", "")), "lwt/src/core/dune defines the library lwt in no way"),
            (lambda: edit(core + "lwt.mli", ("val backtrace_bind :", "val backtrace_bind : unit ->")), "lwt.mli declares backtrace_bind in no way"),
            (lambda: os.mkdir("lwt/src/mprof"), "lwt/src/mprof is in the overlay's way"),
        ):
            with self.subTest(words):
                shutil.copytree("lwt", "kept")
                change()
                before = tree("lwt")
                said = overlay("lwt", code=1)
                self.assertIn(words, said)
                self.assertIn("nothing was changed. This overlay is for Lwt 5.6 to 6.1", said)
                self.assertEqual(said.count("\n"), 1)
                self.assertEqual(tree("lwt"), before)
                shutil.rmtree("lwt")
                os.rename("kept", "lwt")
        self.assertIn("no directory src/core: name the source tree of Lwt", overlay("mprofd", code=1))
        self.assertIn("usage: mprof-mirage-lwt", overlay(code=2))
        self.assertIn("usage: mprof-mirage-lwt", overlay("--help"))

    @long
    def test_package(self):
        """The command of the opam package lays the same overlay, wherever the switch is, also by a symbolic link."""
        self.workspace()
        before = tree("lwt")
        overlay("lwt")
        laid = {path: entry and entry[0] for path, entry in tree("lwt").items()}
        overlay("--undo", "lwt")
        self.assertEqual(run("dune", "build", "--root", "mprofd", "--no-print-directory", "--only-packages", "mprof-mirage", "@install"), "")
        shutil.copytree("mprofd/_build/install/default", "a switch")
        shutil.rmtree("mprofd")
        os.symlink("a switch/bin/mprof-mirage-lwt", "link")
        for command in ("a switch/bin/mprof-mirage-lwt", "./link"):
            run(command, "lwt")
            self.assertEqual({path: entry and entry[0] for path, entry in tree("lwt").items()}, laid)
            run(command, "--undo", "lwt")
            self.assertEqual(tree("lwt"), before)

    def test_edited(self):
        """An edited file of the overlay is not lost: --undo refuses until the user removed it."""
        self.workspace()
        before = tree("lwt")
        overlay("lwt")
        edit("lwt/src/core/lwt_mutex.ml", ("include", "let mine = 1 include"))
        laid = tree("lwt")
        self.assertIn("lwt/src/core/lwt_mutex.ml was changed since", overlay("--undo", "lwt", code=1))
        self.assertEqual(tree("lwt"), laid)
        os.remove("lwt/src/core/lwt_mutex.ml")
        overlay("--undo", "lwt")
        self.assertEqual(tree("lwt"), before)

    @long
    def test_stopped(self):
        """Wherever a run is stopped, at each of its calls of mv and rm, --undo restores the tree."""
        self.workspace()
        before = tree("lwt")
        os.mkdir("tools")
        for name in ("mv", "rm"):
            with open(f"tools/{name}", "w", encoding="utf-8") as file:
                file.write('#!/bin/sh\necho >>"$CALLS"\n[ $(wc -l <"$CALLS") -le "$LIMIT" ] || kill -9 $PPID\n' f'exec {shutil.which(name)} "$@"\n')
            os.chmod(f"tools/{name}", 0o755)

        def stopped(limit, *words):
            """Run the command until its call of number LIMIT. Return whether it was stopped."""
            with open("calls", "w", encoding="utf-8"):
                pass
            environment = {**os.environ, "PATH": f"{os.getcwd()}/tools:{os.environ['PATH']}", "CALLS": "calls", "LIMIT": str(limit)}
            return subprocess.run(["sh", COMMAND, *words], env=environment, capture_output=True, check=False).returncode != 0

        limit = 0
        while stopped(limit, "lwt"):
            if os.path.exists("lwt/.mprof-overlay"):
                self.assertIn("--undo lwt removes it", overlay("lwt", code=1 if os.path.exists("lwt/.mprof-overlay/laid.d") else 0))
                overlay("--undo", "lwt")
            else:
                self.assertIn("nothing to undo", overlay("--undo", "lwt", code=1))
            self.assertEqual(tree("lwt"), before)
            limit += 1
        self.assertGreater(limit, 20)
        limit = 0
        while stopped(limit, "--undo", "lwt"):
            if os.path.exists("lwt/.mprof-overlay"):
                overlay("--undo", "lwt")
            else:
                overlay("--undo", "lwt", code=1)
            self.assertEqual(tree("lwt"), before)
            overlay("lwt")
            limit += 3
        self.assertEqual(tree("lwt"), before)


class Sources(Workspace):
    """Over the source packages of Debian's releases, as far as the mirror of this machine has them."""

    @long
    def test_sources(self):
        mirror = subprocess.run(["sh", f"{ROOT}/tests/fresh/root", "mirror", "debian"], capture_output=True, text=True, check=False).stdout.strip()
        if not mirror:
            self.skipTest("the sources of apt on this machine name no mirror of Debian")
        missing = []
        for release, (version, checksum) in SOURCES.items():
            with self.subTest(release=release):
                archive = f"lwt_{version}.orig.tar.gz"
                words = ["curl", "-sSfL", "--retry", "2", "--max-time", "60", "-o", archive, f"{mirror}/pool/main/l/lwt/{archive}"]
                if subprocess.run(words, check=False).returncode:
                    missing.append(f"{mirror} has no {archive}")
                    continue
                with open(archive, "rb") as file:
                    self.assertEqual(hashlib.sha256(file.read()).hexdigest(), checksum)
                run("tar", "xf", archive)
                os.mkdir(release)
                os.chdir(release)
                self.workspace(f"../lwt-{version}")
                before = tree("lwt")
                overlay("lwt")
                self.lost_wakeup()
                overlay("--undo", "lwt")
                self.assertEqual(tree("lwt"), before)
                os.chdir("..")
        if missing:
            self.skipTest("; ".join(missing))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
