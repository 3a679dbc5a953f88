"""Test mprof-run --pid with programs that run already: looks.py BUILD-DIRECTORY [TEST…]"""

import ctypes
import errno
import glob
import json
import os
import re
import signal
import struct
import subprocess
import sys
import time

import daemons
import schemas
from daemons import program
from turns import long

PROGRAMS = os.path.join(daemons.BUILD, "tests/integration/run")
TARGET = os.path.join(PROGRAMS, "run-target")
RUN = os.path.join(daemons.BUILD, "client/run/mprof-run")
LATE = os.path.join(daemons.BUILD, "tests", "integration", "liblate-stop.so")
PTRACE_SEIZE = 0x4206
FUTEX = "202" if os.uname().machine == "x86_64" else "98"

# Threads that wait for a lock, and then end. The last line that is read releases it.
CROWD = """
import sys, threading
lock = threading.Lock()
lock.acquire()
def wait():
    with lock:
        pass
threads = [threading.Thread(target=wait) for _ in range(300)]
for thread in threads:
    thread.start()
print("ready", flush=True)
sys.stdin.readline()
lock.release()
for thread in threads:
    thread.join()
print("done", flush=True)
"""
# A call that a stop by a tracer or a signal ends with EINTR.
WATCHES = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
end, other = os.pipe()
watch = libc.epoll_create1(0)
event = ctypes.create_string_buffer(16)
event[0] = 1
libc.epoll_ctl(watch, 1, 0, event)
print("ready", flush=True)
print(libc.epoll_wait(watch, event, 1, -1), ctypes.get_errno(), flush=True)
"""


def forbidding(*rules):
    """Return a function that forbids its process what RULES, instructions behind the load of a system call's number, return an error for."""
    lines = ((0x20, 0, 0, 0), *rules, (6, 0, 0, 0x7FFF0000))
    text = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in lines))
    libc = ctypes.CDLL(None, use_errno=True)

    def forbid():
        head = struct.pack("@HP", len(lines), ctypes.addressof(text))
        if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, head, 0, 0):
            os._exit(1)

    return forbid


def knows_filters():
    """Return whether the kernel has filters of system calls: it looks for the one that is not there."""
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.prctl(22, 2, None, 0, 0) == -1 and ctypes.get_errno() == errno.EFAULT


class Case(daemons.Case):
    def setUp(self):
        super().setUp()
        os.mkdir("rings")

    def start(self, *command, **popen):
        process = subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **popen)
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            pipe.close()

    def until(self, condition):
        began = time.monotonic()
        while not condition():
            self.assertFalse(daemons.Patience.over(time.monotonic() - began, daemons.PATIENCE), "it does not come")
            time.sleep(0.02)

    def states(self, pid):
        """Return the states of the threads of PID, a letter for each."""
        letters = ""
        for path in glob.glob(f"/proc/{pid}/task/*/stat"):
            try:
                with open(path, encoding="utf-8", errors="replace") as f:
                    letters += f.read().rpartition(")")[2].split()[0]
            except OSError:
                pass
        return letters

    def calls(self, pid):
        """Return the system calls in which the threads of PID wait: numbers, and arguments in hexadecimal digits."""
        calls = []
        for path in glob.glob(f"/proc/{pid}/task/*/syscall"):
            try:
                with open(path, encoding="utf-8") as f:
                    calls.append(f.read().split())
            except OSError:
                pass
        return calls

    def waits(self, pid):
        """Return how many threads of PID wait for a mutex, and how many for a condition, a semaphore or the end of a thread."""
        futexes = [(int(call[2], 16) & 0x7F, int(call[3], 16)) for call in self.calls(pid) if call[0] == FUTEX]
        return sum(futex == (0, 2) for futex in futexes), sum(operation == 9 for operation, _ in futexes)

    def hang(self, name, mutexes, others):
        """Start the program NAME of run-target, and wait until that many of its threads wait."""
        process = self.start(TARGET, name)
        self.until(lambda: process.poll() is not None or self.waits(process.pid) == (mutexes, others))
        self.assertIsNone(process.poll())
        return process

    def sleeper(self, *prefix):
        process = self.start(*prefix, "sleep", "1000")
        self.until(lambda: self.states(process.pid) == "S")
        return process

    def look(self, pid, *arguments, prefix=(), code=0, **run):
        command = [*prefix, RUN, "--pid", str(pid), "--dir", "rings", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, **run)
        self.assertEqual(done.returncode, code, done)
        return done.stderr if code else done.stdout

    def ctl(self, *words):
        done = subprocess.run([program("mprofctl"), *words], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done)
        return done.stdout

    def held(self, pid):
        """Start a mprof-run that looks at PID, and stays between its looks until the file `held` is removed. Return it when it is there."""
        with open("held", "w", encoding="utf-8"):
            pass
        looking = subprocess.Popen(
            [RUN, "--pid", str(pid), "--dir", "rings"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**daemons.preloading(LATE), "LOOK_HELD": os.path.abspath("held")},
        )
        self.addCleanup(looking.communicate)
        self.addCleanup(looking.kill)
        self.until(lambda: looking.poll() is not None or os.path.getsize("held"))
        self.assertIsNone(looking.poll())
        return looking

    def release(self, looking):
        """Let LOOKING go on to its end. Return its exit code and what it has written to the standard error output."""
        os.remove("held")
        said = looking.communicate()[1]
        return looking.returncode, said

    def why(self, pid):
        """Look at the process PID. Return the answer's text and JSON."""
        self.look(pid)
        (directory,) = glob.glob(f"rings/*.{pid}")
        text = self.ctl("why", directory)
        # The look tells what was so at two times, and nothing of the time before.
        for word in (" never", "None came", "nor any before", " since 8", " slept for "):
            self.assertNotIn(word, text)
        return text, schemas.check(json.loads(self.ctl("why", "--json", directory)), "why")

    def check_unharmed(self, process, states):
        self.assertIsNone(process.poll())
        self.until(lambda: self.states(process.pid) == states)
        with open(f"/proc/{process.pid}/status", encoding="utf-8") as f:
            self.assertIn("TracerPid:\t0\n", f.read())


class Hangs(Case):
    def test_deadlock(self):
        """Two mutexes in opposite orders: a cycle, with the function, file and line."""
        process = self.hang("deadlock", 2, 1)
        text, answer = self.why(process.pid)
        for line in (
            r'thread \d+ \(Task, "(teller|auditor)"\) had not ended when it was looked at\n',
            r'waits on -\d+ \(Wait, "pthread_mutex_lock in transfer\(\) at threads\.c:\d+"\)\n',
            r'which waits on \d+ \(Mutex, "account_a"\)\n',
            r'which waits on \d+ \(Mutex, "account_b"\)\n',
            r'which is held by \d+ \(Task, "teller"\)\n',
            r'which is held by \d+ \(Task, "auditor"\)\n',
            r"deadlock: each thread of this cycle waits for the next",
            r"1 more thread waits for the same, or behind it\n",
        ):
            self.assertRegex(text, line)
        self.assertEqual((answer["answers"][0]["cause"], answer["answers"][0]["preexisting"]), ("deadlock", True))
        self.check_unharmed(process, "SSS")
        # The whole directory is one answer, the stacks are beside the ring, and a second look takes the place of the first.
        self.assertIn("deadlock: ", self.ctl("why", "rings"))
        (stacks,) = glob.glob("rings/*/.stacks")
        with open(stacks, encoding="utf-8") as f:
            self.assertRegex(f.read(), r'thread \d+ "teller", futex\n(?:  .*\n)*  transfer\(\) at threads\.c:\d+\n')
        self.look(process.pid)
        self.assertEqual(len(os.listdir("rings")), 1)
        self.assertNotIn("never resolved", self.ctl("threads", "rings"))

    @long
    def test_holder_ended(self):
        process = self.hang("holder-ends", 1, 0)
        text, answer = self.why(process.pid)
        holder = r"\d+ \(Task\)"
        self.assertRegex(
            text,
            rf'\d+ \(Mutex, "queue_lock"\) is not released: its holder {holder} had ended by [\d.]+, as a thread of this process or of the one that forked it\.\n  {holder} had ended, in ',
        )
        first = answer["answers"][0]
        self.assertEqual((first["cause"], first["verdict"], first["holder"]["ended_ns"]), ("holder-ended", "holder-ended", None))
        self.check_unharmed(process, "S")

    @long
    def test_waits_for_itself(self):
        process = self.hang("waits-for-itself", 1, 0)
        self.assertRegex(self.why(process.pid)[0], r'deadlock: \d+ \(Task, "[^"]*"\) waits for itself: it holds \d+ \(Mutex, "queue_lock"\) already')

    def left_by_fork(self, child):
        self.addCleanup(os.kill, child, signal.SIGKILL)
        self.until(lambda: self.waits(child) == (1, 0))
        text, answer = self.why(child)
        return text, answer["answers"][0]["cause"]

    def test_left_by_fork(self):
        """The holder is a thread of the parent process, and has ended."""
        process = self.start(TARGET, "lock-over-fork")
        child = int(process.stdout.readline())
        self.until(lambda: len(self.states(process.pid)) == 1)
        text, cause = self.left_by_fork(child)
        self.assertRegex(
            text, r'\d+ \(Mutex, "queue_lock"\) is not released: its holder \d+ \(Task\) had ended by [\d.]+, as a thread of this process or'
        )
        self.assertEqual(cause, "holder-ended")

    @long
    def test_left_by_fork_alive(self):
        """The holder is a thread of the parent process, which goes on: the parent waits to write the number of its child."""
        end, full = os.pipe()
        os.set_blocking(full, False)
        try:
            while True:
                os.write(full, bytes(4096))
        except BlockingIOError:
            os.set_blocking(full, True)
        process = subprocess.Popen([TARGET, "lock-over-fork"], stdout=full)
        os.close(full)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(os.close, end)
        path = f"/proc/{process.pid}/task/{process.pid}/children"

        def children():
            with open(path, encoding="utf-8") as f:
                return f.read().split()

        self.until(children)
        child = int(children()[0])
        text, cause = self.left_by_fork(child)
        self.assertRegex(text, r'\d+ \(Mutex, "queue_lock"\) is held by \d+.*, which is no thread of this process: it ended, fork left')
        self.assertIsNone(cause)

    def test_condition(self):
        """Idle workers: nobody knows whether a signal came before the look."""
        process = self.hang("idle-pool", 0, 3)
        # The first thread pauses when all work is done.
        self.until(lambda: self.waits(process.pid) == (0, 3) and len(self.calls(process.pid)) == 4 and self.calls(process.pid)[0][0] != FUTEX)
        text, answer = self.why(process.pid)
        self.assertRegex(text, r'waits on -\d+ \(Wait, "pthread_cond_wait in worker\(\) at hangs\.c:\d+"\)\n')
        self.assertRegex(
            text,
            r'\d+ \(Condition, "work"\) is waited for at [\d.]+, where the trace ends; since when is not in the trace\. '
            r"No cause can be told: a signal before the look would not be here\.\n",
        )
        self.assertEqual({one["cause"] for one in answer["answers"]}, {None})

    def test_runs(self):
        process = self.hang("computes", 1, 0)
        text, answer = self.why(process.pid)
        self.assertRegex(text, r'\d+ \(Task, "computes"\) ran(, or waited for a processor| on a processor)[:,] .*in compute\(\) at unknown\.c:\d+')
        self.assertIn("\n1 more thread waits for the same, or behind it\n", text)
        self.assertEqual((answer["last"][0]["state"]["state"], answer["last"][0]["state"]["label"]), ("runs", "computes"))

    def test_library(self):
        """The C++ library lies between the program and the C library; the main thread joins one that waits for its own lock."""
        text = self.why(self.hang("library-locks", 2, 1).pid)[0]
        self.assertRegex(text, r'waits on -\d+ \(Wait, "pthread_mutex_lock in pool_take\(\) at stacks\.c:36"\)\n')
        self.assertRegex(text, r'waits on -\d+ \(Wait, "pthread_join in program_library_locks\(\) at stacks\.c:\d+"\)\n')
        self.assertIn("deadlock: each thread of this cycle waits for the next", text)

    @long
    def test_moves(self):
        """A shell that waits for one child after the other moves."""
        process = self.start("sh", "-c", "while :; do sleep 0.01; done")

        def answer():
            return self.why(process.pid)

        self.until(
            lambda: re.search(r"that ran between and wait again: 1\b", self.look(process.pid))
            and " ran since the sample before, and waited" in answer()[0]
        )
        self.assertEqual([one["cause"] for one in answer()[1]["answers"]], [None])


class Waits(Case):
    """A thread that waits where it waited is told from one that ran between."""

    def waiter(self, script, call):
        """Start a program of Python that waits in the system call, whose numbers are CALL."""
        process = self.start(sys.executable, "-c", script)
        self.until(lambda: self.states(process.pid) == "S" and self.calls(process.pid)[0][0] in call)
        return process

    def test_goes_on(self):
        """Calls with a time limit, which the kernel begins anew after the stop under another number."""
        for process in (
            self.sleeper(),
            self.waiter("import select; select.poll().poll(1000000)", ("7", "73")),
            self.waiter("import threading; l = threading.Lock(); l.acquire(); l.acquire(timeout=1000)", (FUTEX,)),
        ):
            for _ in range(2):
                self.assertIn("threads that wait where they waited: 1, that run: 0, that ran between and wait again: 0.", self.look(process.pid))

    def test_hostile_name(self):
        """The name of a thread has bytes that would move a terminal."""
        process = self.start(
            sys.executable, "-c", "import ctypes, time; ctypes.CDLL(None).prctl(15, b'\\x1b[31mX\\x07\\xff\\x5c\\x22'); time.sleep(1000)"
        )
        self.until(lambda: self.states(process.pid) == "S" and b"[31m" in self.comm(process.pid))
        self.look(process.pid)
        (stacks,) = glob.glob(f"rings/*.{process.pid}/.stacks")
        with open(stacks, "rb") as f:
            text = f.read()
        self.assertIn(rb'"\x1b[31mX\x07\xff\\\"", sleeps', text)
        self.assertNotRegex(text, rb"[^\n -~]")

    def comm(self, pid):
        with open(f"/proc/{pid}/comm", "rb") as f:
            return f.read()

    def hide(self, process, mode):
        """Return what runs mprof-run where the system call of PROCESS cannot be read: the file is empty, with MODE."""
        with open("hidden", "w", encoding="utf-8"):
            pass
        os.chmod("hidden", mode)
        return ("unshare", "-m", "sh", "-c", f'mount --bind hidden /proc/{process.pid}/task/{process.pid}/syscall && exec "$@"', "sh")

    def test_unknown_call(self):
        """The system call is unknown: nobody knows that the thread ran."""
        if os.geteuid() != 0:
            self.skipTest("only root may make a mount namespace")
        process = self.sleeper()
        said = self.look(process.pid, prefix=self.hide(process, 0o644))
        self.assertIn("wait where they waited: 0, that run: 0, that ran between and wait again: 0, whose wait is unknown: 1.", said)
        (directory,) = glob.glob(f"rings/*.{process.pid}")
        self.assertNotIn(" ran ", self.ctl("why", directory))

    def test_forbidden_call(self):
        """The system forbids to read the call of a thread that waits, as Yama does: one sentence says so."""
        if os.geteuid() != 0:
            self.skipTest("only root may make a mount namespace")
        user = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        process = self.sleeper(*user)
        os.chmod("rings", 0o777)
        os.chmod(".", 0o755)
        said = self.look(process.pid, prefix=(*self.hide(process, 0), *user), code=125)
        self.assertRegex(said, r"^mprof-run: --pid \d+: process \d+ may not be looked at: [^\n]*\.\n$")
        self.assertEqual(os.listdir("rings"), [])

    def test_groups(self):
        """The context switches stand behind 400 groups."""
        if os.geteuid() != 0:
            self.skipTest("only root may give a process groups")
        groups = ",".join(str(1000000000 + i) for i in range(400))
        process = self.start("setpriv", f"--groups={groups}", sys.executable, "-c", "import select\nwhile True: select.poll().poll(37)")
        self.until(lambda: self.calls(process.pid)[0][0] in ("7", "73"))
        self.assertRegex(
            self.look(process.pid),
            r"wait where they waited: 0, that run: (0, that ran between and wait again: 1|1, that ran between and wait again: 0)\.",
        )

    def late(self, process, milliseconds):
        """Look at PROCESS with a mprof-run that notices the stop of a thread late."""
        said = self.look(process.pid, env={**daemons.preloading(LATE), "LATE_STOP_MS": str(milliseconds)})
        (directory,) = glob.glob(f"rings/*.{process.pid}")
        self.assertNotIn("debugger", self.ctl("why", directory))
        self.check_unharmed(process, "S")
        return said

    def test_late_stop(self):
        """A thread that stops late is let go on at once; one that does not stop at all is no thread that a debugger has stopped."""
        process = self.sleeper()
        self.assertIn("wait where they waited: 1, that run: 0, that ran between and wait again: 0.", self.late(process, 1300))
        self.assertIn("wait again: 0, whose wait is unknown: 1.", self.late(process, 1000000))


class Harm(Case):
    """The program goes on as if nobody had looked."""

    def crowd(self):
        process = self.start(sys.executable, "-c", CROWD)
        self.assertEqual(process.stdout.readline(), "ready\n")
        self.until(lambda: self.states(process.pid).count("S") == 301)
        return process

    def finish(self, process):
        process.stdin.write("\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), "done\n")
        self.assertEqual(process.wait(), 0)

    @long
    def test_python(self):
        """A healthy program of Python, whose threads wait for a lock of the interpreter: no cause, and it goes on."""
        process = self.crowd()
        text, answer = self.why(process.pid)
        self.assertEqual({one["cause"] for one in answer["answers"]}, {None})
        self.assertIn("No cause can be told: a ", text)
        self.finish(process)

    def test_killed(self):
        """mprof-run is killed while it has stopped a thread."""
        process = self.crowd()
        stopped = False
        began = time.monotonic()
        while not stopped:
            self.assertFalse(daemons.Patience.over(time.monotonic() - began, daemons.PATIENCE), "no thread stops")
            looking = subprocess.Popen([RUN, "--pid", str(process.pid), "--dir", "rings"], stdout=subprocess.DEVNULL)
            while looking.poll() is None and not stopped:
                stopped = "t" in self.states(process.pid)
            looking.kill()
            looking.wait()
        self.until(lambda: self.states(process.pid).count("S") == 301)
        self.check_unharmed(process, "S" * 301)
        self.finish(process)

    def test_not_interrupted(self):
        """A call that would end if the thread was stopped goes on: the thread is not stopped."""
        process = self.start(sys.executable, "-c", WATCHES)
        self.assertEqual(process.stdout.readline(), "ready\n")
        self.until(lambda: self.states(process.pid) == "S" and self.calls(process.pid)[0][0] in ("232", "281", "22"))
        text = self.why(process.pid)[0]
        self.assertRegex(text, r"\(Wait, \"epoll_p?wait in ")
        process.stdin.write("\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), "1 0\n")


class Links(Case):
    """Another user may write the directory of the rings: nothing of others is removed or written."""

    def setUp(self):
        super().setUp()
        os.mkdir("victim")
        for name in ("look", "kept"):
            with open(f"victim/{name}", "w", encoding="utf-8") as f:
                f.write(name)
        os.chmod("victim/kept", 0o600)

    def check_victim(self):
        for name in ("look", "kept"):
            with open(f"victim/{name}", encoding="utf-8") as f:
                self.assertEqual(f.read(), name)

    def test_at_its_place(self):
        process = self.sleeper()
        for name in (f".sleep.{process.pid}", f"sleep.{process.pid}"):
            os.symlink(os.path.abspath("victim"), f"rings/{name}")
            self.assertIn(f"/{name}", self.look(process.pid, code=125))
            self.check_victim()
            self.assertEqual(os.listdir("rings"), [name])
            os.remove(f"rings/{name}")

    def test_foreign_files(self):
        """A directory of this user's that the look has not made was given its name: its files stay."""
        process = self.sleeper()
        name = f"rings/.sleep.{process.pid}"
        os.rename("victim", name)
        self.look(process.pid, code=125)
        with open(f"{name}/kept", encoding="utf-8") as f:
            self.assertEqual(f.read(), "kept")

    @long
    def test_another_directory(self):
        """While mprof-run looks, another one takes the place of its directory, with links."""
        process = self.sleeper()
        looking = self.held(process.pid)
        name = f"rings/.sleep.{process.pid}"
        os.rename(name, "rings/away")
        os.mkdir(name)
        for file in (".modules", ".stacks", ".look", "look"):
            os.symlink(os.path.abspath("victim/kept"), f"{name}/{file}")
        if os.geteuid() == 0:
            os.chown(name, 65534, 65534)
        code, said = self.release(looking)
        self.assertEqual((code, said.count("\n")), (125, 1), said)
        self.check_victim()
        self.assertEqual(sorted(os.listdir(name)), [".look", ".modules", ".stacks", "look"])

    def test_earlier_look(self):
        """While mprof-run looks, its directory is moved away: an earlier look stays."""
        process = self.sleeper()
        self.look(process.pid)
        earlier = os.stat(f"rings/sleep.{process.pid}/look").st_ino
        looking = self.held(process.pid)
        os.rename(f"rings/.sleep.{process.pid}", "rings/away")
        os.mkdir(f"rings/.sleep.{process.pid}")
        code, said = self.release(looking)
        self.assertEqual((code, said.count("\n")), (125, 1), said)
        self.assertEqual(os.stat(f"rings/sleep.{process.pid}/look").st_ino, earlier)
        self.assertEqual(os.listdir(f"rings/.sleep.{process.pid}"), [])

    @long
    def test_two_looks(self):
        """Two looks at one process at once: one says that the other is there, which is complete."""
        process = self.sleeper()
        looking = self.held(process.pid)
        self.assertRegex(
            self.look(process.pid, code=125), r"^mprof-run: --pid \d+: [^\n]*: cannot make this directory: another mprof-run makes it [^\n]*\.\n$"
        )
        self.assertEqual(self.release(looking), (0, ""))
        self.assertEqual(os.listdir("rings"), [f"sleep.{process.pid}"])
        self.assertEqual(sorted(os.listdir(f"rings/sleep.{process.pid}")), [".modules", ".stacks", "look"])
        # A look that was killed left its directory: the next one takes its place.
        looking = self.held(process.pid)
        looking.kill()
        looking.communicate()
        os.remove("held")
        self.look(process.pid)
        self.assertEqual(os.listdir("rings"), [f"sleep.{process.pid}"])


class Errors(Case):
    def refuse(self, pid, words, **options):
        said = self.look(pid, code=125, **options)
        self.assertRegex(said, rf"^mprof-run: --pid \d+: {words}[^\n]*\.\n$")
        self.assertEqual(os.listdir("rings"), [])

    def test_command_line(self):
        for arguments, word in (
            (("--pid", "1x"), "not the number of a process"),
            (("--pid", "-1"), "not the number of a process"),
            (("--pid", "1", "true"), "a command"),
            (("--pid", "1", "--xen"), "--xen"),
            (("--pid", "1", "--ring", "64K"), "--ring"),
        ):
            done = subprocess.run([RUN, *arguments], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done)
            self.assertIn(word, done.stderr)

    def test_no_process(self):
        process = self.start("true")
        self.until(lambda: self.states(process.pid) == "Z")
        self.refuse(process.pid, r"process \d+ has ended, and its parent has not waited")
        process.wait()
        self.refuse(process.pid, r"there is no process \d+")

    def test_itself(self):
        done = subprocess.run(["sh", "-c", f'exec "{RUN}" --pid $$ --dir rings'], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 125)
        self.assertRegex(done.stderr, r"^mprof-run: --pid \d+: process \d+ is mprof-run itself: [^\n]*\.\n$")

    def test_thread(self):
        process = self.hang("deadlock", 2, 1)
        thread = max(map(int, os.listdir(f"/proc/{process.pid}/task")))
        self.refuse(thread, rf"{thread} is a thread of process {process.pid}: write --pid {process.pid}")

    def test_other_programs(self):
        for name, word in (("run-static", "is statically linked"), ("run-go", "is a Go program")):
            process = self.start(os.path.join(PROGRAMS, name), "hang")
            self.until(lambda process=process: self.states(process.pid) == "S")
            self.refuse(process.pid, rf"process \d+ {word}")

    def test_traced(self):
        process = self.sleeper()
        self.assertEqual(ctypes.CDLL(None).ptrace(PTRACE_SEIZE, process.pid, None, None), 0)
        self.refuse(process.pid, rf"process \d+ is traced by process {os.getpid()}")

    def test_not_permitted(self):
        """Another user's process, if this is root; else one of root."""
        if os.geteuid() == 0:
            process = self.start("sleep", "1000")
            os.chmod("rings", 0o777)
            os.chmod(".", 0o755)
            self.refuse(process.pid, r"process \d+ belongs to another user", prefix=("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"))
        else:
            self.refuse(1, r"process 1 belongs to another user")

    def test_owners(self):
        """The file system gives new directories another owner: one sentence says so, and no directory is left."""
        if os.geteuid() != 0:
            self.skipTest("only root may give files away")
        self.refuse(
            self.sleeper().pid,
            r"[^\n]*: cannot make this directory: the file system gives it another owner",
            env={**daemons.preloading(LATE), "MADE_OWNER": "65534"},
        )

    def test_no_descriptor(self):
        """Without a descriptor of the process another one could take its number unseen."""
        if not knows_filters():
            self.skipTest("the kernel has no filters of system calls")
        process = self.sleeper()
        # pidfd_open(): EMFILE
        forbid = forbidding((0x15, 0, 1, 434), (6, 0, 0, 0x50000 | errno.EMFILE))
        self.refuse(process.pid, r"process \d+ cannot be watched: Too many open files", preexec_fn=forbid)

    def test_full_disk(self):
        """The files beside the ring cannot be written: it is said, they are not there, and the ring is."""
        if not knows_filters():
            self.skipTest("the kernel has no filters of system calls")
        process = self.sleeper()
        # write() to another descriptor than 0, 1 and 2: ENOSPC
        write = 1 if os.uname().machine == "x86_64" else 64
        forbid = forbidding((0x15, 0, 3, write), (0x20, 0, 0, 16), (0x25, 0, 1, 2), (6, 0, 0, 0x50000 | errno.ENOSPC))
        done = subprocess.run(
            [RUN, "--pid", str(process.pid), "--dir", "rings"], capture_output=True, text=True, check=False, preexec_fn=forbid
        )  # pylint: disable=subprocess-popen-preexec-fn
        self.assertEqual(done.returncode, 0, done)
        self.assertNotIn("the stacks are in", done.stdout)
        said = r"mprof-run: [^\n]*/\.{}: cannot write this file: No space left on device\.\n"
        self.assertRegex(done.stderr, f"^{said.format('stacks')}{said.format('modules')}$")
        (directory,) = glob.glob(f"rings/*.{process.pid}")
        self.assertEqual(os.listdir(directory), ["look"])

    @long
    def test_ends_meanwhile(self):
        process = self.hang("deadlock", 2, 1)
        looking = self.held(process.pid)
        process.kill()
        process.wait()
        code, said = self.release(looking)
        self.assertRegex(said, r"^mprof-run: --pid \d+: process \d+ ended while it was looked at[^\n]*\.\n$")
        self.assertEqual((code, os.listdir("rings")), (125, []))

    def test_other_root(self):
        """A program in another mount namespace, which has the file at a place where others have none."""
        if os.geteuid() != 0:
            self.skipTest("only root may make a mount namespace")
        os.mkdir("elsewhere")
        place = os.path.abspath("elsewhere")
        script = f'mount -t tmpfs none "{place}" && cp "{TARGET}" "{place}/copy" && exec "{place}/copy" deadlock'
        process = self.start("unshare", "-m", "sh", "-c", script)
        self.until(lambda: self.waits(process.pid) == (2, 1))
        self.assertEqual(os.listdir("elsewhere"), [])
        self.assertRegex(self.why(process.pid)[0], r'"pthread_mutex_lock in transfer\(\) at threads\.c:\d+"')


if __name__ == "__main__":
    daemons.main()
