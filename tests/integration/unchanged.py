"""Test that programs do below mprof-run what they do without it: unchanged.py BUILD-DIRECTORY [TEST…]"""

import glob
import json
import os
import re
import shutil
import subprocess
import unittest

import daemons
from run import RUN, Case, Trace

PROGRAMS = os.path.join(daemons.BUILD, "tests/integration/run")
README = os.path.join(daemons.HERE, "../../client/run/README.md")
LIBRARY = os.path.join(os.path.dirname(RUN), "libmprof-run.so")


class Unchanged(Case):
    def plain(self, *command, **options):
        """Run COMMAND. Return its status, its output and its errors."""
        done = subprocess.run(command, capture_output=True, text=True, timeout=daemons.HANGS, check=False, **options)
        return done.returncode, done.stdout, done.stderr

    def below(self, *command, run=RUN, options=(), **others):
        """The same below mprof-run."""
        return self.plain(run, "--dir", "rings", "--ring", "256K", *options, "--", *command, **others)


class Functions(Unchanged):
    """Each function of the table in client/run/README.md."""

    def table(self):
        """Return {function: (whether it is a cancellation point, whether handlers may call it)}."""
        found = {}
        with open(README, encoding="utf-8") as f:
            for line in f:
                cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
                for name in re.findall(r"`(\w+)`", cells[0]) if line.startswith("| `") else ():
                    self.assertNotIn(name, found)
                    found[name] = cells[1:3]
        return found

    def test_table(self):
        """The table has each function that the library wraps, and no other."""
        done = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True)
        wrapped = {line.split()[-1].split("@")[0] for line in done.stdout.splitlines() if line.split()[1] in "TW"}
        self.assertGreater(len(wrapped), 80)
        self.assertEqual(set(self.table()), wrapped)

    def test_same(self):
        """Results, errno, cancellation, interruption, in handlers too: as without mprof-run and as the table says."""
        twin = os.path.join(PROGRAMS, "run-twin")
        plain = self.plain(twin)
        self.assertEqual(plain[0], 0, plain[2])
        self.assertEqual(self.below(twin), plain)
        said, table = {}, self.table()
        for name, question, answer in re.findall(r"^(\w+) (\w+): (-?\w+)", plain[1], re.M):
            said.setdefault(name if name in table else re.sub(r"_\d$", "", name), {}).setdefault(question, set()).add(answer)
        for name, (point, handlers) in table.items():
            self.assertIn(name, said)
            # The child of vfork() and the functions that end a process are asked for their effect alone.
            if point != "–" and "cancelled" in said[name]:
                self.assertEqual(point.startswith("yes"), "yes" in said[name]["cancelled"], f"{name}: {point}")
            self.assertEqual(handlers == "yes", "handler" in said[name], name)


class Sandbox(Unchanged):
    """Programs that seccomp kills for a system call that is not theirs."""

    PROGRAM = os.path.join(PROGRAMS, "run-sandbox")

    def test_same(self):
        for mode in ("strict", "prctl", "seccomp", "execute"):
            plain = self.plain(self.PROGRAM, mode)
            self.assertEqual(plain[:2], (3, "pipe\n" if mode == "strict" else "pipe\nthread\nchild\n"), mode)
            self.assertEqual(self.below(self.PROGRAM, mode)[:2], plain[:2], mode)

    def test_said(self):
        """The trace says when, has the waits after it, also of a new thread, and mprof-run says what is missing."""
        process = self.start(self.PROGRAM, "hang", options=["--keep"], stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        self.assertRegex(process.stderr.readline(), rf"^mprof-run: run-sandbox \(process {process.pid}\) has turned seccomp on: .*not recorded\.$")
        directory = self.directory(process.pid)
        self.until(lambda: any(not wait.ended for wait in Trace(directory).calls().get("read", ())))
        process.kill()
        self.assertEqual(process.stderr.read(), "")
        trace = self.trace(process.pid)
        (when,) = [event[0] for event in trace.events if event[1] == "counter" and event[2]["counter"] == "seccomp"]
        after = {call for call, waits in trace.calls().items() for wait in waits if wait.began > when}
        self.assertLessEqual({"read", "pthread_mutex_lock", "waitpid"}, after)
        self.assertEqual(glob.glob("rings/*"), [directory])


class Sanitized(Unchanged):
    """Programs with gcc's AddressSanitizer, whose library wants to be the first."""

    PROGRAM = os.path.join(PROGRAMS, "run-asan")

    def environment(self, options):
        return {**{key: value for key, value in os.environ.items() if key != "ASAN_OPTIONS"}, **({"ASAN_OPTIONS": options} if options else {})}

    def test_same(self):
        """It runs, finds a mistake and a leak, and its waits are recorded; also as a child, and with options of the user's."""
        for mode, status, word in (("well", 4, ""), ("leak", 1, "byte(s) leaked"), ("over", 1, "heap-buffer-overflow")):
            for options in ("", "exitcode=9"):
                for command in ((self.PROGRAM, mode), ("sh", "-c", '"$0" "$@"', self.PROGRAM, mode)):
                    plain = self.plain(*command, env=self.environment(options))
                    below = self.below(*command, env=self.environment(options))
                    self.assertEqual(plain[0], 9 if options and word else status, plain)
                    self.assertEqual(below[:2], plain[:2], below)
                    self.assertIn(word, below[2])
        process = self.start(self.PROGRAM, "well", options=["--keep"], env=self.environment(""))
        process.communicate(timeout=daemons.HANGS)
        self.assertIn("read", self.trace(process.pid).calls())


@unittest.skipUnless(os.geteuid() == 0, "only root changes its root")
class Elsewhere(Unchanged):
    """Programs that leave the place of mprof-run's library or socket."""

    TARGET = os.path.join(PROGRAMS, "run-target")

    def root(self):
        """Make a root with run-target and the shell, and what they need."""
        for path in (self.TARGET, shutil.which("sh")):
            done = subprocess.run(["ldd", path], capture_output=True, text=True, check=True)
            for needed in [path, *re.findall(r"(/\S+) \(0x", done.stdout)]:
                place = "root" + (needed if needed != path else f"/{os.path.basename(path)}")
                os.makedirs(os.path.dirname(place), exist_ok=True)
                shutil.copy(needed, place)

    def said(self, words, *command):
        """Start COMMAND, which hangs after its first line. Its errors are one sentence with WORDS."""
        process = self.start(*command, stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        self.assertRegex(process.stdout.readline(), r"^\d+\n$")
        self.assertRegex(process.stderr.readline(), rf"^mprof-run: \S+ \(process \d+\) {words}.*not recorded\.$")
        process.kill()
        self.assertEqual(process.stderr.read(), "")

    def test_root(self):
        """In a root without the library each program has the errors that it has without mprof-run: none of the dynamic linker."""
        self.root()
        for command in (("/run-target", "pid"), ("/sh", "-c", "/run-target exit 7; /run-target exit 8")):
            plain, below = (run("chroot", "root", *command) for run in (self.plain, self.below))
            self.assertEqual((below[0], "ld.so" in below[2], plain[2]), (plain[0], False, ""), below)
        self.said("has changed to a root directory", "chroot", "root", "/run-target", "hang")

    def test_network(self):
        command = ("unshare", "-n", "sh", "-c", f"{self.TARGET} exit 7; {self.TARGET} exit 8")
        plain = self.plain(*command)
        self.assertEqual(plain[::2], (8, ""))
        self.assertEqual(self.below(*command)[:2], plain[:2])
        self.said("has changed to another network", "unshare", "-n", self.TARGET, "hang")


class Descriptors(Unchanged):
    """Numbers of descriptors that are used again, and who wakes those that wait for descriptors."""

    TARGET = os.path.join(PROGRAMS, "run-target")
    OPENS = "pipe pipe2 socketpair eventfd timerfd signalfd inotify dup fcntl open terminal message".split()

    def test_used_again(self):
        """A read that hangs on a number that was a regular file's before is in the trace, with the name of the new file."""
        ways = [("fclose", opens) for opens in self.OPENS] + [(closes, "pipe") for closes in ("close", "close_range", "syscall")]
        for closes, opens in ways:
            process = self.start(self.TARGET, "reuse", closes, opens)
            number = int(process.stdout.readline())
            directory = self.directory(process.pid)

            def hangs():
                trace = Trace(directory)
                waits = [wait for wait in trace.calls().get("read", ()) if not wait.ended]
                return [trace.labels.get(wait.on, "") for wait in waits]

            self.until(hangs)
            self.until(lambda: re.match(rf"fd {number} (?!/proc)", hangs()[0]))
            process.kill()
            process.wait()
            for name in glob.glob("fifo"):
                os.unlink(name)

    def test_who_wakes(self):
        """A write that itself never waits, to an eventfd, a pipe or a socket: the wait that it ends says who wrote."""
        for how, call in (
            ("eventfd", "read"),
            ("eventfd_write", "read"),
            ("pipe", "read"),
            ("writev", "read"),
            ("send", "read"),
            ("poll", "poll"),
            ("epoll", "epoll_wait"),
        ):
            process = self.start(self.TARGET, "reuse", "wakes", how, options=["--keep"])
            self.assertEqual(process.wait(timeout=daemons.HANGS), 0)
            trace = self.trace(process.pid)
            (wait,) = [wait for wait in trace.calls()[call] if wait.thread == process.pid]
            self.assertEqual(trace.types[wait.resolver], "Task", how)
            self.assertNotEqual(wait.resolver, wait.thread, how)


class Places(Unchanged):
    """mprof-run finds its library."""

    def install(self, top):
        """Copy the command and its library as an installation has them, below TOP."""
        with open(os.path.join(daemons.BUILD, "meson-info/intro-buildoptions.json"), encoding="utf-8") as f:
            options = {option["name"]: option["value"] for option in json.load(f)}
        commands, libraries = os.path.join(top, options["bindir"]), os.path.join(top, options["libdir"], "mprof-run")
        os.makedirs(commands)
        os.makedirs(libraries)
        shutil.copy(RUN, commands)
        shutil.copy(LIBRARY, libraries)
        return os.path.join(commands, "mprof-run"), os.path.join(libraries, "libmprof-run.so")

    def test_moved(self):
        """An installation that was unpacked elsewhere, also through a symbolic link."""
        run, library = self.install("first")
        os.symlink(os.path.abspath(run), "linked")
        for command, place in ((run, "first"), ("./linked", "first")):
            status, said, errors = self.below("sh", "-c", "echo $LD_PRELOAD; exit 3", run=command)
            self.assertEqual((status, errors), (3, ""))
            self.assertIn(os.path.realpath(library), said.strip().split(":"), place)
        os.rename("first", "second")
        status, said, errors = self.below("sh", "-c", "echo $LD_PRELOAD; exit 3", run=run.replace("first", "second"))
        self.assertEqual((status, errors), (3, ""))
        self.assertIn(os.path.realpath(library.replace("first", "second")), said.strip().split(":"))

    def test_missing(self):
        run, library = self.install("first")
        os.unlink(library)
        status, said, errors = self.below("true", run=run)
        self.assertEqual((status, said), (125, ""))
        self.assertRegex(errors, r"^mprof-run: libmprof-run\.so lies neither .*install mprof-run again\.\n$")


if __name__ == "__main__":
    daemons.main()
