"""Test mprof-run --pid with programs that run already: looks.py BUILD-DIRECTORY [TEST…]"""

import ctypes
import glob
import json
import os
import re
import signal
import subprocess
import sys
import time

import daemons
import schemas
from daemons import program

PROGRAMS = os.path.join(daemons.BUILD, "tests/integration/run")
TARGET = os.path.join(PROGRAMS, "run-target")
RUN = os.path.join(daemons.BUILD, "client/run/mprof-run")
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
                with open(path, encoding="utf-8") as f:
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

    def look(self, pid, *arguments, prefix=(), code=0):
        done = subprocess.run([*prefix, RUN, "--pid", str(pid), "--dir", "rings", *arguments], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done)
        return done.stderr if code else done.stdout

    def ctl(self, *words):
        done = subprocess.run([program("mprofctl"), *words], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done)
        return done.stdout

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

    def test_waits_for_itself(self):
        process = self.hang("waits-for-itself", 1, 0)
        self.assertRegex(self.why(process.pid)[0], r'deadlock: \d+ \(Task, "[^"]*"\) waits for itself: it holds \d+ \(Mutex, "queue_lock"\) already')

    def test_left_by_fork(self):
        """The holder is a thread of the parent process: whether it has ended is not known."""
        process = self.start(TARGET, "lock-over-fork")
        child = int(process.stdout.readline())
        self.addCleanup(os.kill, child, signal.SIGKILL)
        self.until(lambda: self.waits(child) == (1, 0))
        text, answer = self.why(child)
        self.assertRegex(
            text, r'\d+ \(Mutex, "queue_lock"\) is (held by \d+.*, which is no thread of this process: it ended, fork left|not released: its holder)'
        )
        self.assertIn(answer["answers"][0]["cause"], (None, "holder-ended"))

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

    def sleeper(self):
        process = self.start("sleep", "1000")
        self.until(lambda: self.states(process.pid) == "S")
        return process

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

    def test_another_directory(self):
        """While mprof-run looks, another one takes the place of its directory, with links."""
        process = self.sleeper()
        looking = subprocess.Popen([RUN, "--pid", str(process.pid), "--dir", "rings"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.until(lambda: glob.glob("rings/.*/.stacks"))
        name = f"rings/.sleep.{process.pid}"
        os.rename(name, "rings/away")
        os.mkdir(name)
        for file in (".modules", ".stacks", ".look", "look"):
            os.symlink(os.path.abspath("victim/kept"), f"{name}/{file}")
        if os.geteuid() == 0:
            os.chown(name, 65534, 65534)
        said = looking.communicate()[1]
        self.assertEqual((looking.returncode, said.count("\n")), (125, 1), said)
        self.check_victim()


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
        process = self.start("sleep", "1000")
        self.until(lambda: self.states(process.pid) == "S")
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

    def test_ends_meanwhile(self):
        process = self.hang("deadlock", 2, 1)
        looking = subprocess.Popen([RUN, "--pid", str(process.pid), "--dir", "rings"], stderr=subprocess.PIPE, text=True)
        self.until(lambda: glob.glob("rings/.*/.stacks"))
        process.kill()
        process.wait()
        self.assertRegex(looking.communicate()[1], r"^mprof-run: --pid \d+: process \d+ ended while it was looked at[^\n]*\.\n$")
        self.assertEqual((looking.returncode, os.listdir("rings")), (125, []))

    def test_other_root(self):
        """A program in another mount namespace, which has the file at a place where others have none."""
        if os.geteuid() != 0:
            return  # only root may make a mount namespace
        os.mkdir("elsewhere")
        place = os.path.abspath("elsewhere")
        script = f'mount -t tmpfs none "{place}" && cp "{TARGET}" "{place}/copy" && exec "{place}/copy" deadlock'
        process = self.start("unshare", "-m", "sh", "-c", script)
        self.until(lambda: self.waits(process.pid) == (2, 1))
        self.assertEqual(os.listdir("elsewhere"), [])
        self.assertRegex(self.why(process.pid)[0], r'"pthread_mutex_lock in transfer\(\) at threads\.c:\d+"')


if __name__ == "__main__":
    daemons.main()
