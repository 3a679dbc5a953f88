"""Test mprof-run with real programs, whose waits are known: run.py BUILD-DIRECTORY [TEST…]"""

import collections
import contextlib
import ctypes
import fcntl
import glob
import json
import lzma
import os
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
import unittest

import daemons
import schemas
from daemons import program
from turns import long

TARGET = os.path.join(daemons.BUILD, "tests/integration/run/run-target")
REPORTS = os.path.join(daemons.BUILD, "tests/integration/run/run-reports")
RUN = os.path.join(daemons.BUILD, "client/run/mprof-run")
OCAML = os.path.join(daemons.BUILD, "tests/integration/run/run-ocaml")
TRACES = os.path.join(daemons.HERE, "../traces/ocaml5")
RINGS = 64
# Masks of inotify, which joins two events that are the same and follow each other.
IN_OPEN, IN_CHANGE, IN_CLOSE_NOWRITE, IN_MOVED_TO, IN_CREATE = 0x20, 0x06, 0x10, 0x80, 0x100
MAGIC = bytes.fromhex("c11ffcc1")  # of a packet
RUNTIME = 1 << 52  # from the ids of OCaml's runtime to those in the trace

# The calls that a program must have waited in, each for an object of this type ("" = for none).
THREADS = {
    "pthread_mutex_lock": "Mutex",
    "pthread_mutex_timedlock": "Mutex",
    "pthread_mutex_clocklock": "Mutex",
    "pthread_rwlock_rdlock": "Mutex",
    "pthread_rwlock_wrlock": "Mutex",
    "pthread_rwlock_timedrdlock": "Mutex",
    "pthread_rwlock_timedwrlock": "Mutex",
    "pthread_rwlock_clockrdlock": "Mutex",
    "pthread_rwlock_clockwrlock": "Mutex",
    "pthread_cond_wait": "Condition",
    "pthread_cond_timedwait": "Condition",
    "pthread_cond_clockwait": "Condition",
    "pthread_barrier_wait": "Condition",
    "pthread_join": "Task",
    "pthread_timedjoin_np": "Task",
    "pthread_clockjoin_np": "Task",
    "sem_wait": "Semaphore",
    "sem_timedwait": "Semaphore",
    "sem_clockwait": "Semaphore",
    "mtx_lock": "Mutex",
    "mtx_timedlock": "Mutex",
    "cnd_wait": "Condition",
    "cnd_timedwait": "Condition",
    "thrd_join": "Task",
    "futex": "Condition",
}
FILES = "read readv write writev recv recvfrom recvmsg recvmmsg send sendto sendmsg sendmmsg accept accept4 connect".split()
FILES += "poll ppoll epoll_wait epoll_pwait epoll_pwait2".split()
SLEEPS = "sleep usleep nanosleep clock_nanosleep thrd_sleep pause sigwait sigwaitinfo sigtimedwait sigsuspend".split()
SLEEPS += "wait waitpid wait3 wait4 waitid".split()
FIELD = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\S+)')
# The keeper looks at so many descriptors of all processes, and the machine may have more.
FOUND = r"(?:, and perhaps others)?"


class Watch:
    """The events of a directory's entries."""

    def __init__(self, directory, mask):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        assert libc.inotify_add_watch(self.fd, directory.encode(), mask) > 0, directory

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)

    def events(self):
        """Return (mask, name) of each event since the last call."""
        found, at, data = [], 0, b""
        try:
            while True:
                data += os.read(self.fd, 1 << 16)
        except BlockingIOError:
            pass
        while at < len(data):
            _, mask, _, bytes_ = struct.unpack_from("iIII", data, at)
            found.append((mask, data[at + 16 : at + 16 + bytes_].rstrip(b"\0").decode()))
            at += 16 + bytes_
        return found


def ctl(*words):
    """Return what mprofctl prints for WORDS."""
    done = subprocess.run([program("mprofctl"), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"mprofctl {' '.join(words)} ended with {done.returncode}: {done.stderr}"
    return done.stdout


class Wait:
    def __init__(self, place, time_ns):
        self.place, self.began, self.on, self.thread = place, time_ns, None, None
        self.ended, self.resolver, self.failure = None, None, None


class Trace:
    """The rings of one process, merged, and what they say. A contradiction is an error."""

    def __init__(self, directory):
        self.directory = directory
        self.types, self.labels, self.waits, self.events = {}, {}, {}, []
        self.signals, self.counters, self.parents, self.ended = [], {}, {}, set()
        for name in sorted(os.listdir(directory)):
            if not name.startswith("."):
                self.read(os.path.join(directory, name))
        self.events.sort(key=lambda event: event[0])
        waiting = {}
        for when, what, fields in self.events:
            self.take(when, what, fields, waiting)

    def read(self, path):
        before = 0
        for line in ctl("dump", path).splitlines():
            clock, what, rest = line.split(" ", 2)
            when = int(clock.replace(".", ""))
            fields = {}
            for name, value in FIELD.findall(rest):
                if value[0] == '"':
                    fields[name] = json.loads(value)
                else:
                    fields[name] = int(value) if re.fullmatch(r"-?\d+", value) else value
            assert when >= before, f"{path}: {line}: goes back"
            before = when
            self.events.append((when, what, fields))

    def take(self, when, what, f, waiting):
        if what == "creates":
            assert f["child"] not in self.types or self.types[f["child"]] == "Task", f"{f} twice"
            self.types[f["child"]] = f["type"]
            self.parents[f["child"]] = f["parent"]
            if f["type"] == "Wait":
                self.waits[f["child"]] = Wait(f["parent"], when)
        elif what == "label":
            self.labels[f["thread"]] = f["label"]
        elif what == "try_read" and f["reader"] in self.waits:
            self.waits[f["reader"]].on = f["source"]
        elif what == "try_read" and f["source"] in self.waits:
            assert f["reader"] not in waiting, f"{f} while it waits"
            waiting[f["reader"]] = f["source"]
            self.waits[f["source"]].thread = f["reader"]
        elif what in ("fulfills", "fails") and f["resolvee"] in self.waits:
            wait = self.waits[f["resolvee"]]
            wait.ended, wait.resolver, wait.failure = when, f["resolver"], f.get("exn")
        elif what in ("fulfills", "fails"):
            self.ended.add(f["resolvee"])
        elif what == "read" and f["source"] in self.waits:
            assert waiting.pop(f["reader"]) == f["source"], f
        elif what == "signal_noswitch":
            self.signals.append((f["sender"], f["receiver"]))
        elif what == "counter":
            self.counters.setdefault(f["counter"], []).append(f["value"])

    def call(self, wait):
        return self.labels.get(wait.place, "?").split(" in ")[0]

    def calls(self):
        """Return {call: its waits}."""
        found = {}
        for wait in self.waits.values():
            found.setdefault(self.call(wait), []).append(wait)
        return found


class Case(daemons.Case):
    def setUp(self):
        super().setUp()
        # A keeper removes its directory for OCaml's files a moment after its program's end.
        self.addCleanup(lambda: self.until(lambda: not glob.glob("rings/.runtime-*")))
        os.mkdir("rings")

    def start(self, *command, options=(), env=None, **popen):
        """Start COMMAND below mprof-run."""
        popen.setdefault("stdout", subprocess.PIPE)
        process = subprocess.Popen([RUN, "--dir", "rings", "--ring", "256K", *options, "--", *command], env=env, text=True, **popen)
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()

    def record(self, *arguments, code=0, **options):
        """Run a program of run-target to its end. Return its trace."""
        process = self.start(TARGET, *map(str, arguments), options=["--keep"], **options)
        self.said = process.communicate(timeout=300)[0]
        self.assertEqual(process.returncode, code)
        return self.trace(process.pid)

    def directory(self, pid):
        """Wait for the directory of the process PID. There may be several after an exec."""
        self.until(lambda: glob.glob(f"rings/*.{pid}"))
        return glob.glob(f"rings/*.{pid}")[0]

    def until(self, condition):
        began = time.monotonic()
        while not condition():
            self.assertFalse(daemons.Patience.over(time.monotonic() - began, daemons.PATIENCE), "it does not come")
            time.sleep(0.02)

    def quiet(self, directory):
        """Wait until no process writes to a ring of DIRECTORY: the keeper has recorded the end."""
        ring = os.path.realpath(f"{directory}/objects")

        def written():
            for path in glob.glob("/proc/[0-9]*/maps"):
                try:
                    with open(path, encoding="utf-8", errors="replace") as f:
                        if ring in f.read():
                            return True
                except OSError:
                    pass
            return False

        self.until(lambda: not written())

    def trace(self, pid):
        directory = self.directory(pid)
        self.quiet(directory)
        return Trace(directory)

    def dump(self, path):
        return [json.loads(line) for line in ctl("dump", "--json", path).splitlines()]

    def check_complete(self, trace):
        """Each wait has ended, in a thread that is known, for an object that has a type."""
        for number, wait in trace.waits.items():
            self.assertIsNotNone(wait.ended, f"{number} {trace.call(wait)}")
            self.assertEqual(trace.types.get(wait.thread), "Task", number)
            self.assertEqual(trace.types.get(wait.place), "Place", number)
            if wait.on is not None:
                self.assertIn(wait.on, trace.types, trace.call(wait))


class Calls(Case):
    def check_calls(self, trace, expected):
        calls = trace.calls()
        self.assertEqual(set(expected) - set(calls), set())
        self.check_complete(trace)
        for call, kind in expected.items():
            kinds = {trace.types.get(wait.on, "") for wait in calls[call]}
            self.assertIn(kind, kinds, call)
        return calls

    def test_threads(self):
        trace = self.record("calls-threads")
        calls = self.check_calls(trace, THREADS)
        for call, waits in calls.items():
            if "timed" in call or "clock" in call:
                self.assertEqual({wait.failure for wait in waits}, {"timed out"}, call)
        labels = [trace.labels[wait.place] for wait in calls["pthread_rwlock_wrlock"]]
        self.assertRegex(labels[0], r"^pthread_rwlock_wrlock in rwlocks\(\) at threads\.c:\d+$")
        names = {trace.labels[wait.on] for wait in calls["pthread_mutex_lock"]}
        self.assertEqual(names, {"mutex"})
        # Those that woke the waits are threads.
        for call in ("pthread_mutex_lock", "pthread_cond_wait", "sem_wait", "pthread_rwlock_wrlock", "cnd_wait"):
            for wait in calls[call]:
                self.assertEqual(trace.types[wait.resolver], "Task", call)
                self.assertNotEqual(wait.resolver, wait.thread, call)

    def test_files(self):
        trace = self.record("calls-files")
        calls = self.check_calls(trace, dict.fromkeys(FILES, "Stream") | {"select": "", "pselect": ""})
        # Neither calls that cannot wait, nor those of /dev/null and of regular files.
        self.assertEqual(len(calls["accept4"]), 1)
        self.assertLessEqual(len(calls["read"]), 3)
        self.assertTrue(all(trace.labels[wait.on].startswith("fd ") for wait in calls["read"]))

    def test_sleeps(self):
        trace = self.record("calls-sleeps")
        calls = self.check_calls(trace, dict.fromkeys(SLEEPS, ""))
        self.assertEqual(calls["pause"][0].failure, "interrupted by a signal")

    def test_uncontended(self):
        """Six million calls that do not wait are no events."""
        trace = self.record("uncontended")
        self.assertEqual(len(trace.waits), 0)
        self.assertLess(len(trace.events), 100)

    def test_old_condition(self):
        trace = self.record("old-condition")
        self.assertIn("pthread_cond_wait", trace.calls())

    def test_random(self):
        for seed in range(4):
            trace = self.record("random", seed)
            self.check_complete(trace)
            joins = trace.calls()["pthread_join"]
            self.assertLessEqual(len(joins), 6)


class Behaviour(Case):
    """The program does what it does without mprof-run."""

    def test_errno(self):
        self.record("errno")

    def test_cancel(self):
        trace = self.record("cancel")
        failures = {call: {wait.failure for wait in waits} for call, waits in trace.calls().items()}
        for call in ("read", "pthread_cond_wait", "sem_wait", "sleep"):
            self.assertEqual(failures[call], {"cancelled"}, call)
        self.check_complete(trace)
        self.assertEqual(len(trace.ended), 6)

    def test_signals(self):
        for _ in range(3):
            shutil.rmtree("rings")
            os.mkdir("rings")
            process = self.start(TARGET, "signals", options=["--keep"])
            self.assertEqual(process.wait(timeout=300), 0)

    def test_exit_codes(self):
        for name in ("exit", "_exit"):
            for code in (0, 7, 255):
                self.assertEqual(self.start(TARGET, name, str(code)).wait(timeout=daemons.HANGS), code)
        for number in (signal.SIGTERM, signal.SIGSEGV, signal.SIGKILL):
            self.assertEqual(self.start(TARGET, "raise", str(int(number))).wait(timeout=daemons.HANGS), -number)

    def test_pid_and_output(self):
        """The program has mprof-run's pid, and its output ends with it, not with the keeper."""
        process = self.start(TARGET, "pid")
        self.assertEqual(process.communicate(timeout=daemons.HANGS)[0], f"{process.pid}\n")

    def test_notify(self):
        """systemd hears of readiness from the process that it has started (Type=notify)."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
            server.bind("notify")
            server.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            server.settimeout(daemons.PATIENCE)
            notify = "import os, socket\ns = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
            notify += "s.connect(os.environ['NOTIFY_SOCKET'])\ns.send(b'READY=1')\n"
            process = self.start(sys.executable, "-c", notify, env={**os.environ, "NOTIFY_SOCKET": os.path.abspath("notify")})
            message, extra, _, _ = server.recvmsg(100, socket.CMSG_SPACE(12))
            self.assertEqual(process.wait(timeout=daemons.HANGS), 0)
        self.assertEqual((message, struct.unpack("3i", extra[0][2])[0]), (b"READY=1", process.pid))

    def test_terminal(self):
        """The program is in the foreground of the terminal and gets Ctrl-C."""

        def begin():
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # a test in the background may ignore it
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        leader, follower = os.openpty()
        process = self.start(
            TARGET,
            "hang",
            stdin=follower,
            stdout=follower,
            stderr=follower,
            start_new_session=True,
            preexec_fn=begin,
        )
        os.close(follower)
        self.assertIn(str(process.pid), os.read(leader, 100).decode())
        os.write(leader, b"\x03")
        self.assertEqual(process.wait(timeout=daemons.HANGS), -signal.SIGINT)
        os.close(leader)

    def test_preload_is_appended(self):
        other = os.path.abspath("librun-early.so")
        shutil.copy(os.path.join(daemons.BUILD, "tests/integration/run/librun-early.so"), other)
        process = self.start("sh", "-c", "echo $LD_PRELOAD", env=daemons.preloading(other))
        said = process.communicate(timeout=daemons.HANGS)[0].strip().split(":")
        self.assertEqual((said[0], os.path.basename(said[1])), (other, "libmprof-run.so"))

    def test_before_constructors(self):
        """A library's constructor locks, waits and starts threads before the shim's constructor."""
        early = os.path.join(daemons.BUILD, "tests/integration/run/librun-early.so")
        process = self.start(TARGET, "exit", "3", env=daemons.preloading(early))
        self.assertEqual(process.wait(timeout=daemons.HANGS), 3)

    def test_programs_that_cannot_be_recorded(self):
        for name, word in (("run-static", "statically"), ("run-go", "Go program")):
            path = os.path.join(daemons.BUILD, "tests/integration/run", name)
            done = subprocess.run([RUN, "--dir", "rings", path], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 5, done)
            self.assertIn(word, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
            self.assertEqual(os.listdir("rings"), [])

    def test_errors(self):
        for arguments, code, word in (
            ((), 2, "no command"),
            (("--ring", "3", "true"), 2, "--ring 3"),
            (("--ring", "8X", "true"), 2, "--ring 8X"),
            (("--dir", "nowhere", "true"), 125, "nowhere"),
            (("--dir", "rings", "nonsense-command"), 127, "nonsense-command"),
            (("--dir", "rings", "/etc/passwd"), 126, "/etc/passwd"),
        ):
            done = subprocess.run([RUN, *arguments], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, code, arguments)
            self.assertIn(word, done.stderr)


class Processes(Case):
    def test_fork_and_exec(self):
        trace = self.record("fork")
        pids = dict(line.split() for line in self.said.splitlines())
        self.check_complete(trace)
        child = self.trace(pids["child"])
        self.check_complete(child)
        self.assertEqual({wait.thread for wait in trace.waits.values()} & {int(pids["child"])}, set())
        self.assertIn("usleep", child.calls())
        self.assertIn("waitpid", child.calls())
        # It has executed a program: that has another name, and rings of its own.
        self.until(lambda: os.path.exists(f"rings/exe.{pids['grandchild']}"))
        self.quiet(f"rings/exe.{pids['grandchild']}")
        last = Trace(f"rings/exe.{pids['grandchild']}")
        self.assertEqual(set(SLEEPS) - set(last.calls()), set())

    def test_vfork(self):
        trace = self.record("vfork")
        self.check_complete(trace)
        self.assertNotIn("usleep", trace.calls())
        self.assertEqual(len(trace.calls()["waitpid"]), 50)

    def test_daemon(self):
        process = self.start(TARGET, "daemon")
        said = process.stdout.readline().split()
        self.assertEqual(process.wait(timeout=daemons.HANGS), 0)
        pid = int(said[1])
        directory = self.directory(pid)
        self.until(lambda: "sigwait" in Trace(directory).calls())
        os.kill(pid, signal.SIGTERM)
        self.until(lambda: not os.path.exists(directory))

    @unittest.skipUnless(os.uname().machine == "x86_64", "only there is a time stamp counter")
    def test_forbidden_counter(self):
        """A program that must not read the counter is recorded without it, and so is its child."""
        trace = self.record("no-counter")
        self.check_complete(trace)
        self.assertEqual(len(trace.calls()["poll"]), 60)
        child = self.trace(int(self.said))
        self.check_complete(child)
        self.assertEqual(len(child.calls()["poll"]), 40)

    def test_many_threads(self):
        trace = self.record("many")
        # A thread drops events if the one with which it shares a ring is not run for too long. 253 of 300 threads at a barrier share rings, and
        # each of their two waits is recorded, or counted as dropped.
        shared = [event for name in range(49, 63) for event in self.dump(f"{trace.directory}/thread-{name}")]
        waits = sum(event["event"] == "creates" and event["type"] == "Wait" for event in shared)
        self.assertGreaterEqual(waits + trace.counters["mprof-dropped"][-1], 2 * 253)
        self.assertGreater(waits, 0)
        names = [name for name in os.listdir(trace.directory) if not name.startswith(".")]
        self.assertLessEqual(len(names), RINGS)

    def test_withdrawn_at_exit_and_kept_after_a_kill(self):
        process = self.start(TARGET, "exit", "0")
        self.assertEqual(process.wait(timeout=daemons.HANGS), 0)
        self.until(lambda: not os.listdir("rings"))
        process = self.start(TARGET, "hang")
        self.assertEqual(process.stdout.readline(), f"{process.pid}\n")
        directory = self.directory(process.pid)
        self.until(lambda: "read" in Trace(directory).calls())
        process.kill()
        process.wait()
        self.quiet(directory)
        trace = Trace(directory)
        self.assertIsNone(trace.calls()["read"][0].ended)
        self.assertEqual(trace.counters["resident bytes"][-1], 0)
        self.assertGreater(max(trace.counters["resident bytes"]), 100_000)
        self.assertGreater(max(trace.counters["open descriptors"]), 2)
        with open(f"{directory}/.modules", encoding="utf-8") as f:
            modules = [line.split() for line in f]
        build_id = subprocess.run(["readelf", "-n", TARGET], capture_output=True, text=True, check=True).stdout
        self.assertIn(next(module[2] for module in modules if module[3] == os.path.realpath(TARGET)), build_id)

    def test_control_memory(self):
        """A process cannot cut the memory that the keeper reads, and the keeper goes on."""
        script = """if 1:
            import array, os, socket, struct
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            s.connect("\\0" + os.environ["MPROF_RUN_SOCKET"])
            s.send(struct.pack("=IIII", 0x31525550, 1, 0, 0))
            _, extra, _, _ = s.recvmsg(16, socket.CMSG_SPACE(4))
            fd = array.array("i", extra[0][2])[0]
            for size in (0, 1 << 30):
                try:
                    os.ftruncate(fd, size)
                    print("done")
                except PermissionError:
                    print("refused")
        """
        process = self.start("sh", "-c", f'{sys.executable} -c "$0"; exec {TARGET} uncontended', script, options=["--keep"])
        self.assertEqual(process.communicate(timeout=300)[0], "refused\nrefused\n")
        trace = self.trace(process.pid)
        self.assertEqual(trace.counters["resident bytes"][-1], 0)

    def test_false_stacks(self):
        """A process writes nonsense where the keeper looks for waiting threads, and the keeper goes on."""
        script = """if 1:
            import array, mmap, os, random, select, socket, struct, sys
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            s.connect("\\0" + os.environ["MPROF_RUN_SOCKET"])
            s.send(struct.pack("=IIII", 0x31525550, 1, 0, 0))
            _, extra, _, _ = s.recvmsg(16, socket.CMSG_SPACE(4))
            memory = mmap.mmap(array.array("i", extra[0][2])[0], 0)
            here = int(next(line for line in open("/proc/self/maps") if "[stack]" in line).split("-")[0], 16)
            r = random.Random(1)
            n, entry = (8, 128) if os.uname().machine == "x86_64" else (14, 192)
            for i in range(256):
                at = len(memory) - entry * (256 - i)
                registers = [r.choice((0, 8, here + r.randrange(1 << 14), r.getrandbits(47), r.getrandbits(64))) for _ in range(n)]
                # A lock, a descriptor that is there or not, or none; and any call.
                on, call = (r.getrandbits(62), -1000 - r.randrange(9), -1000 - r.getrandbits(20), 0)[i % 4], r.choice((r.randrange(80), r.getrandbits(32)))
                memory[at : at + 40 + 8 * n] = struct.pack(f"=qQqQIi{n}Q", -2000000 - i, 1, on, r.getrandbits(64), call, os.getpid(), *registers)
            print("written", flush=True)
            while not select.select([sys.stdin], [], [], 0.01)[0]:
                pass
        """
        process = self.start(sys.executable, "-c", script, options=["--keep"], stdin=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), "written\n")
        directory = self.directory(process.pid)
        # The keeper looks at each of its steps, and samples the counters each second.
        switches = lambda: len(Trace(directory).counters.get("context switches", ()))
        before = switches()
        self.until(lambda: switches() >= before + 4)
        process.communicate("\n", timeout=300)
        self.assertEqual(self.trace(process.pid).counters["resident bytes"][-1], 0)

    def test_no_runtime_directory(self):
        """If the directory for OCaml's files cannot be made, mprof-run says so and runs the program without it."""
        rings, top = os.path.realpath("rings"), os.open(".", os.O_RDONLY)
        self.addCleanup(os.close, top)
        # The path has room for a short name, and none for the directory's.
        try:
            os.chdir("rings")
            while (left := 4095 - 10 - len(rings)) > 0:
                name = "d" * min(200, max(left - 1, 1))
                os.mkdir(name)
                os.chdir(name)
                rings = f"{rings}/{name}"
            words = [RUN, "--dir", ".", "sh", "-c", "echo ${MPROF_RUN_RUNTIME-none}; exit 3"]
            done = subprocess.run(words, env={**os.environ, "MPROF_RUN_RUNTIME": "/outer"}, capture_output=True, text=True, check=False)
        finally:
            os.fchdir(top)
        self.assertEqual((done.returncode, done.stdout), (3, "none\n"), done.stderr)
        self.assertIn("runtime events of OCaml are not recorded", done.stderr)

    def test_whole_from_the_first(self):
        """A reader finds no directory without the keeper's rings, and no ring that is just made: both get their names by a rename."""
        watch = self.enterContext(Watch("rings", IN_CREATE | IN_MOVED_TO))
        script = "import threading, time; input(); t = threading.Thread(target=time.sleep, args=[0.01]); t.start(); t.join(); input()"
        process = self.start(sys.executable, "-c", script, options=["--keep"], stdin=subprocess.PIPE)
        directory = self.directory(process.pid)
        self.assertLessEqual({"objects", "counters"}, set(os.listdir(directory)))
        inner = self.enterContext(Watch(directory, IN_CREATE | IN_MOVED_TO))
        before = set(os.listdir(directory))
        process.stdin.write("\n")
        process.stdin.flush()
        self.until(lambda: {name for name in os.listdir(directory) if not name.startswith(".")} - before)
        for name in set(os.listdir(directory)) - before:
            if not name.startswith("."):
                with open(f"{directory}/{name}", "rb") as f:
                    self.assertEqual(f.read(4), MAGIC, name)
        process.communicate("\n", timeout=300)
        created = {name for each in (watch, inner) for mask, name in each.events() if mask & IN_CREATE and not name.startswith(".")}
        self.assertEqual(created, set())

    def test_executes_itself(self):
        """A process executes a program of the same name: its first rings are over, and the end of their time leaves the new ones."""
        os.symlink(shutil.which("sh"), "run-target")
        process = self.start("./run-target", "-c", f"read line; exec {TARGET} bare-sleep", stdin=subprocess.PIPE)
        directory = self.directory(process.pid)
        process.stdin.write("\n")
        process.stdin.flush()
        self.until(lambda: self.has_label(f"{directory}/objects", "sleeper"))
        # It waits half a second instead of five.
        os.kill(self.keeper(directory), signal.SIGTERM)
        samples = lambda: len(re.findall(" state thread=", ctl("dump", "--event", "state", f"{directory}/counters")))
        before = samples()
        self.until(lambda: samples() >= before + 3)
        process.kill()
        process.stdin.close()

    def has_label(self, ring, label):
        """Return whether the file RING, which may be replaced meanwhile, has LABEL."""
        done = subprocess.run([program("mprofctl"), "dump", ring], capture_output=True, text=True, check=False)
        return f'"{label}"' in done.stdout

    def keeper(self, directory):
        """Return the keeper of the process whose rings lie in DIRECTORY."""
        ring = os.path.realpath(f"{directory}/objects")
        for path in glob.glob("/proc/[0-9]*/maps"):
            with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as f:
                if ring in f.read():
                    return int(path.split("/")[2])
        raise AssertionError(f"nobody writes {ring}")

    def test_the_default_directory(self):
        env = {**os.environ, "XDG_RUNTIME_DIR": os.path.abspath(".")}
        process = subprocess.Popen([RUN, TARGET, "hang"], env=env, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        process.stdout.readline()
        self.assertTrue(glob.glob(f"mprof/run-target.{process.pid}/thread-01"))

    def test_links(self):
        """Another user has put links where the keeper makes a directory: what they lead to stays, and the program runs."""
        os.mkdir("victim")
        for name in ("objects", "kept"):
            with open(f"victim/{name}", "w", encoding="utf-8") as f:
                f.write(name)
        script = 'ln -s "$PWD/victim" "rings/$0run-target.$$" && exec "$@"'
        for hidden in (".", ""):
            done = subprocess.run(["sh", "-c", script, hidden, RUN, "--dir", "rings", "--", TARGET, "exit", "3"], timeout=300, check=False)
            self.assertEqual(done.returncode, 3)
            self.until(lambda: not glob.glob("rings/.runtime-*"))
            for name in ("objects", "kept"):
                with open(f"victim/{name}", encoding="utf-8") as f:
                    self.assertEqual(f.read(), name)


DEADLOCK = (
    r'\(Task, "teller"\)',
    r'\(Task, "auditor"\)',
    r'waits on -\d+ \(Wait, "pthread_mutex_lock in transfer\(\) at threads\.c:\d+"\)',
    r'which waits on \d+ \(Mutex, "account_a"\)',
    r'which waits on \d+ \(Mutex, "account_b"\)',
    r"deadlock: each thread of this cycle waits for the next",
)
MISSED = (
    r'waits on -\d+ \(Wait, "pthread_cond_wait in consume\(\) at threads\.c:\d+"\)',
    r'idle, or missed: the last (?:\d+ signals, the last one|signal,) by \d+ \(Task, "producer"\) at [\d.]+, came while nobody waited for \w+\. The trace does not say whether \d+ \(Task, "consumer"\) has seen',
)


class Answers(Case):
    """`mprofctl why` names threads, locks, functions and lines."""

    def why(self, *where):
        return ctl(*where)

    def check(self, text, lines):
        for line in lines:
            self.assertRegex(text, line)

    def hang(self, name, call, waits):
        """Start the program NAME and wait until WAITS waits in CALL have no end."""
        process = self.start(TARGET, name)
        directory = self.directory(process.pid)
        self.until(lambda: sum(not wait.ended for wait in Trace(directory).calls().get(call, [])) == waits)
        return process, directory

    def test_deadlock(self):
        """While the program hangs, and after it was killed."""
        process, directory = self.hang("deadlock", "pthread_mutex_lock", 2)
        self.check(self.why("why", directory), DEADLOCK)
        process.kill()
        process.wait()
        self.quiet(directory)
        self.check(self.why("why", directory), DEADLOCK)
        self.check(self.why("why", *glob.glob(f"{directory}/*")), DEADLOCK)

    def test_missed_signal(self):
        """Two waits before the one that misses its signal got theirs, and the producer has the mutex when it signals."""
        process, directory = self.hang("missed", "pthread_cond_wait", 1)
        self.until(lambda: "idle, or missed" in self.why("why", directory))
        self.check(self.why("why", directory), MISSED)
        process.kill()

    def test_idle_pool(self):
        """The last signals came while all workers were busy; then the workers emptied the queue."""
        _, directory = self.hang("idle-pool", "pthread_cond_wait", 3)
        self.until(lambda: "\n2 more threads wait for the same, or behind it\n" in self.why("why", directory))
        self.assertEqual(self.why("why", directory).count("idle, or missed: "), 1)
        self.assertEqual(self.why("why", "--all", directory).count("idle, or missed: "), 3)
        self.check(self.why("why", directory), (r"idle, or missed: the last 20 signals, the last one by \d+ \(Task,",))
        self.assertNotIn("missed wake-up", self.why("why", directory))

    def test_lost_wakeup(self):
        """A signal without the mutex, between the test and the wait, is missed: while the program hangs, and after it was killed."""
        process, directory = self.hang("lost-wakeup", "pthread_cond_wait", 1)
        lines = (
            r'missed wake-up: \d+ \(Condition, "work"\) was signalled by \d+ \(Task, "caller"\) at [\d.]+, when nobody waited for it\. '
            r'\d+ \(Task, "listener"\) began to wait at ',
            r'could have resolved it: \d+ \(Task, "caller"\)',
        )
        self.until(lambda: re.search(lines[0], self.why("why", directory)))
        process.kill()
        process.wait()
        self.quiet(directory)
        self.check(self.why("why", directory), lines)

    def test_holder_ends(self):
        """The holder of a mutex ended: while the program hangs, and after it was killed."""
        process, directory = self.hang("holder-ends", "pthread_mutex_lock", 1)
        line = r'\d+ \(Mutex, "queue_lock"\) is not released: its holder \d+ \(Task, "holder"\) ended at [\d.]+ without releasing it\.\n'
        self.until(lambda: re.search(line, self.why("why", directory)))
        process.kill()
        process.wait()
        self.quiet(directory)
        self.check(self.why("why", directory), (line, r'which is held by \d+ \(Task, "holder"\)\n'))

    def test_waits_for_itself(self):
        """A thread that locks its own mutex again."""
        process, directory = self.hang("waits-for-itself", "pthread_mutex_lock", 1)
        line = rf'deadlock: {process.pid} \(Task, "[^"]*"\) waits for itself: it holds \d+ \(Mutex, "queue_lock"\) already\.\n'
        self.until(lambda: re.search(line, self.why("why", directory)))
        answer = json.loads(self.why("why", "--json", directory))["answers"][0]
        self.assertEqual((answer["verdict"], answer["holder"]["itself"], answer["holder"]["thread"]), ("circle", True, process.pid))

    def test_ends_with_its_process(self):
        """Idle workers end with their process: by the return of main(), and by _exit() in a child."""
        trace = self.record("pool-ends")
        child = self.trace(int(self.said))
        for of in (trace, child):
            self.assertEqual(len(of.ended), 4, of.directory)
            self.assertIn("all threads that should resolve did, 4 of them\n", self.why("why", of.directory))

    def test_library_locks(self):
        """The code of the program that waits, where a language's library lies between it and the C library; also as the name of a lock."""
        process, directory = self.hang("library-locks", "pthread_mutex_lock", 2)
        lines = (
            r'waits on -\d+ \(Wait, "pthread_mutex_lock in pool_take\(\) at stacks\.c:36"\)\n',
            r'waits on -\d+ \(Wait, "pthread_mutex_lock in pool_give\(\) at stacks\.c:43"\)\n',
            r'\(Mutex, "0x[0-9a-f]+ of pool_(take\(\) at stacks\.c:36|give\(\) at stacks\.c:43)"\)',
        )
        self.until(lambda: re.search(lines[0], self.why("why", "--all", directory)))
        self.check(self.why("why", "--all", directory), lines)
        process.kill()

    def test_reports(self):
        """The answers of docs/reports.md; with MPROF_BRIEF, of each third row."""
        with open(os.path.join(daemons.HERE, "../../docs/reports.md"), encoding="utf-8") as file:
            rows = [line.split(" | ") for line in file if line.count(" | ") == 3 and not line.startswith("| report ")]
        self.assertEqual(len(rows), 15)
        for _, _, name, answer in rows[:: 3 if os.environ.get("MPROF_BRIEF") else 1]:
            before = set(glob.glob("rings/*"))
            process = self.start(REPORTS, name, start_new_session=True)
            # Its children hang, too, also if the test fails.
            self.addCleanup(self.end_group, process.pid)
            lines = [".+?".join(map(re.escape, line.split("…"))) for line in re.findall("`(.+?)`", answer)]
            with self.subTest(name):
                self.until(lambda lines=lines, before=before: self.has_answer(set(glob.glob("rings/*")) - before, lines))
            self.end_group(process.pid)

    def test_wait_that_gave_up(self):
        """The holder of a lock gives the lock back, which mprof-run does not write since nobody waits any more, and ends: no cause."""
        before = set(glob.glob("rings/*"))
        process = self.start(REPORTS, "gives-up", start_new_session=True)
        self.addCleanup(self.end_group, process.pid)
        self.until(lambda: self.has_answer(set(glob.glob("rings/*")) - before, [r'\(Wait, "pause in gives_up\(\) at reports\.c:\d+"\)']))
        (directory,) = set(glob.glob("rings/*")) - before
        self.assertNotIn("is not released", self.why("why", directory))
        self.end_group(process.pid)

    def end_group(self, pid):
        """Kill the processes of the session that PID began."""
        try:
            os.killpg(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def has_answer(self, directories, lines):
        """Return whether the answer about one of DIRECTORIES, whose rings may still be made, has all LINES."""
        for each in directories:
            done = subprocess.run([program("mprofctl"), "why", each], capture_output=True, text=True, check=False)
            if all(re.search(line, done.stdout) for line in lines):
                return True
        return False

    def answer(self, process, directory, *lines):
        """Ask until the answer has the first of LINES, and check the others."""
        self.until(lambda: re.search(lines[0], self.why("why", directory)))
        text = self.why("why", directory)
        self.check(text, lines)
        process.kill()
        return text

    def test_nobody_posted(self):
        """A post that nobody waits for is not recorded, so nothing is said of one before the wait."""
        process, directory = self.hang("permits", "sem_wait", 1)
        text = self.answer(
            process,
            directory,
            r'\(Semaphore, "permits"\) is unresolved since .* None came since then\. An earlier post would not be here if nobody waited for it',
        )
        self.assertNotIn("nor any before", text)

    def test_forgotten_signal(self):
        """The ring of the thread that signalled has wrapped since."""
        process, directory = self.hang("forgets", "pthread_cond_wait", 1)
        self.assertEqual(process.stdout.readline(), "forgotten\n")
        text = self.answer(
            process,
            directory,
            r"\(Condition, \"ready\"\) is unresolved since .* The trace has none since then\. "
            r"(Another|An earlier) signal would not be here: the ring of thread-\d\d begins ",
        )
        self.assertNotIn("None came", text)

    def test_computes(self):
        """Nobody sleeps while a thread computes, and a lock's holder is named."""
        process, directory = self.hang("computes", "pthread_mutex_lock", 1)
        text = self.answer(process, directory, r'\(Task, "computes"\) ran from .* and had not stopped;( .*;)? the trace ends at')
        self.assertNotIn("slept", text)

    def state(self, name, *lines, thread=None):
        """Start NAME, whose first thread waits for another, THREAD, until the answer has LINES. Return the answer's JSON."""
        process, directory = self.hang(name, "pthread_join", 1)
        self.until(lambda: all(re.search(line, self.why("why", directory)) for line in lines))
        answer = schemas.check(json.loads(self.why("why", "--json", directory)), "why")
        if thread:
            listed = self.why("threads", directory)
            self.assertRegex(listed, rf"(?m)^ *\d+ .* never resolved, {answer['last'][0]['state']['state']} .*  {thread}(  stream=.*)?$")
        process.kill()
        return answer

    def test_spins(self):
        """A thread that computes ran for as long as the system says."""
        process, directory = self.hang("computes", "pthread_mutex_lock", 1)
        ran = r"ran(, or waited for a processor| on a processor): [\d.]+ m?s of processor time in [\d.]+ s, in ([2-9]|\d\d+) samples from [\d.]+ to [\d.]+"
        self.until(lambda: re.search(rf"(?m)^last: .*; (it|\d+ \(Task, .*\)) {ran}; the trace ends at ", self.why("why", directory)))
        last = json.loads(self.why("why", "--json", directory))["last"][0]
        self.assertEqual((last["state"]["state"], last["state"]["label"]), ("runs", "computes"))
        self.assertIsNone(last["sleeping_from_ns"])
        self.assertGreater(int(last["state"]["processor_ns"]), 0)
        self.assertLessEqual(int(last["state"]["processor_ns"]), int(last["state"]["to_ns"]) - int(last["state"]["from_ns"]) + 50000000)
        self.assertRegex(self.why("threads", directory), r"(?m)^ *\d+ .* never resolved, runs .*  computes(  stream=.*)?$")
        process.kill()

    def test_bare_futex(self):
        """A futex without the C library, as of Rust's locks: the thread waits in the kernel, and did not run on."""
        line = r'\d+ \(Task, "futex"\) waited in the kernel\'s futex, by no call that its recorder writes, in \d+ samples from '
        answer = self.state("bare-futex", rf"(?m)^  {line}", rf"(?m)^last: .*; ({line[: line.index(' waited')]}|it) waited in", thread="futex")
        state = answer["answers"][0]["state"]
        self.assertEqual((state["state"], state["channel"], state["label"]), ("futex", None, "futex"))

    def test_bare_sleep(self):
        """A healthy thread that sleeps by a system call of its own."""
        line = r'(?m)^  \d+ \(Task, "sleeper"\) slept in the kernel( in \w+)?, by no call that its recorder writes, in \d+ samples from '
        self.assertEqual(self.state("bare-sleep", line, thread="sleeper")["answers"][0]["state"]["state"], "sleeps")

    def samples(self, directory):
        """Return the pairs (thread, state) of all samples of DIRECTORY."""
        return re.findall(r'state thread=(\d+) .*state="(\w+)', self.why("dump", "--event", "state", f"{directory}/counters"))

    def test_sleeps_then_waits(self):
        """A sample from before a thread's wait says nothing of it."""
        process = self.start(TARGET, "sleeps-then-waits", stdin=subprocess.PIPE)
        directory = self.directory(process.pid)
        self.until(lambda: re.search(r"(?m) never resolved, sleeps .*  sleeper", self.why("threads", directory)))
        process.stdin.write("x")
        process.stdin.flush()
        self.until(lambda: [wait for wait in Trace(directory).calls().get("sem_wait", []) if not wait.ended])
        self.assertRegex(self.why("threads", directory), r"(?m) never resolved .*  sleeper")
        self.assertNotIn("resolved, sleeps", self.why("threads", directory))
        self.assertEqual({thread["sample"] for thread in json.loads(self.why("threads", "--json", directory))["threads"]}, {None})
        process.kill()
        process.stdin.close()

    @long
    def test_crowd(self):
        """Each of many threads has its turn."""
        process, directory = self.hang("bare-crowd", "pthread_join", 1)
        # While the threads begin, the turns are others.
        turns = lambda: collections.Counter(thread for thread, state in self.samples(directory) if state == "sleeps")
        self.until(lambda: sum(n >= 3 for n in turns().values()) == 600)
        process.kill()

    def test_late_waiters(self):
        """A thread that found no room among those whose stacks are read waits as its ring says, also when there is room again."""
        process = self.start(TARGET, "late-waiters")
        directory = self.directory(process.pid)
        self.until(lambda: sum(state == "sleeps" for _, state in self.samples(directory)) >= 4)
        late = lambda: re.findall(r"(?m)^ *(\d+) .*  late", self.why("threads", directory))
        self.until(lambda: len(late()) == 4)
        self.assertLessEqual({dict(self.samples(directory)).get(thread, "waits") for thread in late()}, {"waits"})
        process.kill()

    def test_blocked(self):
        """The parent of a vfork() waits for its child in the state D."""
        line = r'(?m)^  \d+ \(Task, "blocked"\) was blocked in the kernel \(state D\)( in \w+)?, in \d+ samples from '
        self.assertEqual(self.state("blocked", line, thread="blocked")["answers"][0]["state"]["state"], "blocked")

    def test_stopped(self):
        """A program that a signal stopped, while its threads wait; and no longer when it continues."""
        process, directory = self.hang("deadlock", "pthread_mutex_lock", 2)
        self.addCleanup(process.send_signal, signal.SIGCONT)
        process.send_signal(signal.SIGSTOP)
        line = r"(?m)^last: .*; the program was stopped by a signal, in \d+ samples from [\d.]+ to [\d.]+; the trace ends at "
        self.until(lambda: re.search(line, self.why("why", directory)))
        self.assertNotIn("slept", self.why("why", directory))
        last = json.loads(self.why("why", "--json", directory))["last"][0]
        self.assertEqual((last["state"]["state"], last["state"]["thread"]), ("stopped", process.pid))
        process.send_signal(signal.SIGCONT)
        self.until(lambda: "then the program slept for " in self.why("why", directory))
        process.kill()

    def test_idle_has_no_state(self):
        """Threads that wait as their rings say have no samples: their rings have it all."""
        process, directory = self.hang("idle-pool", "pthread_cond_wait", 3)
        self.until(lambda: "then the program slept for " in self.why("why", directory))
        counters = lambda: self.why("dump", f"{directory}/counters").count('"resident bytes"')  # in every tenth sample
        before = counters()
        self.until(lambda: counters() > before)
        # A thread may have been looked at before it waited.
        self.assertLessEqual(set(dict(self.samples(directory)).values()), {"waits"})
        self.assertIsNone(json.loads(self.why("why", "--json", directory))["last"][0]["state"])
        process.kill()

    def test_reader(self):
        """A reader that has the lock is named, and not the thread that had it before it was made anew."""
        process, directory = self.hang("remade", "pthread_rwlock_wrlock", 1)
        holder = r'which waits on \d+ \(Mutex, "remade"\)\n.* which is held by \d+ \(Task, "reader"\)\n'
        self.until(lambda: re.search(holder, self.why("why", "--all", directory)))
        process.kill()

    def test_pipe(self):
        """The only writer is the process itself."""
        process, directory = self.hang("pipe", "read", 1)
        text = self.answer(process, directory, r'\(Stream, .* its other end was "fd \d+ pipe:\[\d+\]' + FOUND + r'" of this process\.\n')
        self.assertNotIn("None came", text)

    def test_sockets(self):
        """Each end of a pair of sockets sends, and nobody receives."""
        process, directory = self.hang("sockets", "send", 2)
        end = r'\(Stream, "fd \d+ socket:\[\d+\]"\) is unresolved since .* its other end was "fd \d+ socket:\[\d+\]'
        end += FOUND + r'" of this process, at which \d+ \(Task, '
        self.answer(process, directory, end + r'"run-target"\) waits, too\.\n(.*\n)*.*' + end)

    def test_two_readers(self):
        """The wait of one thread for a descriptor ends, and that of another goes on."""
        process = self.start(TARGET, "two-readers", stdin=subprocess.PIPE)
        directory = self.directory(process.pid)
        end = r'its other end was "fd \d+ pipe:\[\d+\]' + FOUND + r'" of this process\.\n'
        self.until(lambda: re.search(end, self.why("why", directory)))
        process.stdin.write("x")
        process.stdin.flush()
        self.until(lambda: sum(bool(wait.ended) for wait in Trace(directory).calls()["read"]) == 2)
        # The keeper looks many times before the next sample of the counters.
        before = len(Trace(directory).counters["resident bytes"])
        self.until(lambda: len(Trace(directory).counters["resident bytes"]) > before)
        self.until(lambda: re.search(end, self.why("why", directory)))
        process.kill()
        process.stdin.close()

    def test_watches(self):
        process, directory = self.hang("watches", "epoll_wait", 1)
        self.answer(process, directory, r'it watched "fd \d+ pipe:\[\d+\] \(edge-triggered\)"\.\n')

    def test_child_writes(self):
        """Parent and child wait for each other: in the rings of each, and in those of both together."""
        process, directory = self.hang("child-writes", "waitpid", 1)
        alone = (
            r'\(Wait, "waitpid in program_child_writes\(\) at far\.c:\d+"\) is unresolved since .*'
            r' it waited for the end of \d+ \(Process, "run-target"\), whose events are not in this trace\.\n'
        )
        self.until(lambda: re.search(alone, self.why("why", directory)))
        child = int(re.search(r"the end of (\d+) \(Process", self.why("why", directory))[1])
        lines = (
            rf'it waited for the end of {child} \(Process, .*\), whose main thread {child} \(Task, .*\) waits on .*"write in program_child_writes\(\)',
            rf'its other end was "fd \d+ pipe:.*" of {process.pid} \(Process, .*\), whose main thread {process.pid} \(Task, .*\) waits on .*"waitpid in ',
        )
        both = (directory, self.directory(child))
        for where in (os.path.dirname(directory),), both, [path for each in both for path in sorted(glob.glob(f"{each}/*"))]:
            self.until(lambda where=where: all(re.search(line, self.why("why", *where)) for line in lines))
        os.kill(child, signal.SIGKILL)
        process.kill()

    def descriptors(self, n):
        """Start processes that have N descriptors in all, until the test ends."""
        most = min(resource.getrlimit(resource.RLIMIT_NOFILE)[1], 10000)
        script = f"""
import os, resource
resource.setrlimit(resource.RLIMIT_NOFILE, ({most}, {most}))
for _ in range({most - 100}):
    os.dup(0)
print("open", flush=True)
input()
"""
        for _ in range(n // (most - 100) + 1):
            process = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.addCleanup(self.end, process)
            self.addCleanup(process.stdin.close)
            self.assertEqual(process.stdout.readline(), "open\n")

    def test_relatives(self):
        """A child has the other end. It is found before the descriptors of others, which are more than the keeper looks at."""
        self.descriptors(20000)
        process, directory = self.hang("connection", "recv", 1)
        self.until(lambda: re.search(rf' of (?!{process.pid} )\d+ \(Process, "run-target"\), whose events', self.why("why", directory)))
        self.assertIn(", and perhaps others", self.why("why", directory))
        process.kill()

    def test_connection(self):
        """The other end of a connection is found by its address."""
        process, directory = self.hang("connection", "recv", 1)
        ends = r'its other end was "fd \d+ 127\.0\.0\.1:\d+' + FOUND + r'" of (\d+) \(Process, "run-target"\), whose events are not in this trace\.\n'
        self.until(lambda: re.search(ends, self.why("why", directory)))
        child = int(re.search(ends, self.why("why", directory))[1])
        self.until(lambda: re.search(ends, self.why("why", self.directory(child))))
        self.assertEqual(int(re.search(ends, self.why("why", self.directory(child)))[1]), process.pid)
        os.kill(child, signal.SIGKILL)
        process.kill()

    def test_executes(self):
        """The threads of a program end when its process executes another one; of several programs, `last` is about those that go on."""
        process = self.start("/bin/sh", "-c", 'exec "$0" pipe', TARGET, options=("--keep",))
        self.until(lambda: "its other end was " in self.why("why", "rings") if os.path.isdir(f"rings/run-target.{process.pid}") else False)
        self.assertIn("all threads that should resolve did, 1 of them\n", self.why("why", f"rings/sh.{process.pid}"))
        self.assertEqual(re.findall(r"^last of ([a-z-]+)", self.why("why", "rings"), re.M), ["run-target"])
        process.kill()

    def test_captures(self):
        """mprofd takes a capture when a process is killed, and the capture has the same answer."""
        d = self.daemons()
        process, directory = self.hang("deadlock", "pthread_mutex_lock", 2)
        name = os.path.basename(directory)
        d.wait(lambda: d.domain(name))
        process.kill()
        process.wait()
        d.wait_ended(name)
        (capture,) = d.captures(name)
        self.assertEqual(capture["kind"], "ended")
        self.check(self.why("--host", f"unix:{os.path.abspath(d.socket)}", "why", str(capture["id"])), DEADLOCK)


class Runtime(Case):
    """The runtime events of OCaml 5: run-ocaml plays the rings of real programs, and worse."""

    THREADS = ("thread", "parent", "child", "resolver", "resolvee", "reader", "source", "sender", "receiver")

    def play(self, mode, name, options=("--keep", "--ring", "4M"), env=()):
        with lzma.open(os.path.join(TRACES, f"{name}.events.xz")) as packed, open(f"{name}.events", "wb") as plain:
            shutil.copyfileobj(packed, plain)
        env = {**{key: value for key, value in os.environ.items() if not key.startswith("OCAML")}, **dict(env)}
        return self.start(OCAML, mode, f"{name}.events", options=options, env=env, stdin=subprocess.PIPE)

    def end(self, process):
        super().end(process)
        if process.stdin:
            process.stdin.close()

    def recorded(self, process):
        process.communicate(timeout=300)
        self.assertEqual(process.returncode, 0)
        directory = self.directory(process.pid)
        self.quiet(directory)
        return directory

    def moved(self, event):
        """Return EVENT with the ids that it has in the trace of a process."""

        def move(value):
            return value if value == -1 else value + RUNTIME if value >= 0 else value - RUNTIME

        return {key: move(value) if key in self.THREADS else value for key, value in event.items() if key != "stream"}

    def test_played(self):
        """Each event of the rings, in the order of its ring, as mprofctl reads the file; also fibres and promises of Eio."""
        played = 0
        for name in ("eio", "eio-wrapped", "domains", "domains-gc", "custom", "custom-wrapped", "v51-gc", "v54-gc"):
            directory = self.recorded(self.play("end", name))
            want = {}
            for event in self.dump(f"{name}.events"):
                ring = re.search(r" ring (\d+)$", event.get("stream", ""))
                want.setdefault(int(ring[1]) if ring else 0, []).append(self.moved(event))
            for ring, events in want.items():
                got = [event for event in self.dump(f"{directory}/domain-{ring}") if event.get("counter") != "mprof-lost-words"]
                self.assertEqual(got, events, f"{name}, ring {ring}")
                played += len(events)
            self.assertEqual(sorted(glob.glob(f"{directory}/domain-*")), sorted(f"{directory}/domain-{ring}" for ring in want))
        self.assertGreater(played, 8000)

    def test_lost(self):
        """Bytes that were overwritten before the first reading are declared in front of the first event."""
        directory = self.recorded(self.play("end", "eio-wrapped"))
        first = self.dump(f"{directory}/domain-0")[0]
        with open("eio-wrapped.events", "rb") as file:
            head = int.from_bytes(file.read(72)[64:], "little")
        self.assertEqual((first["counter"], first["value"]), ("mprof-lost-words", head))

    def test_why(self):
        """A fibre that waits for ever: its promise is named while the program runs, and after it was killed."""
        process = self.play("hang", "eio-hang")
        self.assertEqual(process.stdout.readline(), "played\n")
        directory = self.directory(process.pid)
        thread, promise = str(RUNTIME + 12), str(RUNTIME + 11)

        def answer():
            done = subprocess.run([program("mprofctl"), "why", directory, thread], capture_output=True, text=True, check=False)
            return done.stdout

        self.until(lambda: f'{promise} (Promise, "reply 3")' in answer())
        process.kill()
        process.wait()
        self.quiet(directory)
        self.assertIn(f'thread {thread} (Task, "request 3") should resolve and never did', answer())
        self.assertIn(f'{promise} (Promise, "reply 3") is unresolved', answer())
        # The keeper removes the directory, too, soon after that.
        self.assertEqual(glob.glob("rings/.runtime-*/*"), [])

    def test_worse(self):
        """Whatever lies at the file's place: the keeper records the process to its end, and counts what it refuses."""
        modes = ["garbage", "fifo", "link", "cut", "lie"] + ["stranger"] * (os.geteuid() == 0)
        for mode in modes:
            directory = self.recorded(self.play(mode, "eio"))
            last = {event["counter"]: event["value"] for event in self.dump(f"{directory}/counters")}
            self.assertEqual(last["resident bytes"], 0, mode)
            # A file that is cut is given up, and each of its rings is damaged. A ring's lie is found at each reading.
            least, most = {"cut": (2, 10), "lie": (1, 10**6)}.get(mode, (1, 1))
            self.assertTrue(least <= last["mprof-dropped"] <= most, f"{mode}: {last}")
            domains = glob.glob(f"{directory}/domain-*")
            self.assertIn(len(domains), {"cut": {0, 1, 2}, "lie": {2}}.get(mode, {0}), mode)

    def test_not_opened(self):
        """A path that names anything but a regular file of the process's user is never opened, neither before nor after the program makes it."""
        os.mkdir("watched")
        os.chmod("watched", 0o777)
        os.mkfifo("watched/old")
        watch = self.enterContext(Watch("watched", IN_OPEN | IN_CHANGE | IN_CLOSE_NOWRITE))
        env = {"OCAML_RUNTIME_EVENTS_DIR": os.path.abspath("watched")}
        # The program itself opens the files that it makes, once and for writing.
        for mode, opened in (("garbage", None), ("fifo", 0), ("link", 0), *((("stranger", 1),) if os.geteuid() == 0 else ())):
            process = self.play(mode, "eio", env=env)
            directory = self.recorded(process)
            masks = [mask for mask, name in watch.events() if name == f"{process.pid}.events"]
            if mode == "garbage":
                self.assertTrue([mask for mask in masks if mask & IN_CLOSE_NOWRITE])
            else:
                self.assertEqual((sum(mask & IN_OPEN for mask in masks), sum(mask & IN_CLOSE_NOWRITE for mask in masks)), (opened * IN_OPEN, 0), mode)
            last = {event["counter"]: event["value"] for event in self.dump(f"{directory}/counters")}
            self.assertEqual(last["mprof-dropped"], 1, mode)
        path = os.path.abspath("watched/old").encode()
        script = f"""if 1:
            import os, socket, struct
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            s.connect("\\0" + os.environ["MPROF_RUN_SOCKET"])
            s.send(struct.pack("=IIII", 0x31525550, 1, 0, {len(path)}) + {path!r})
            print(struct.unpack("=IIQ", s.recv(16))[1])
        """
        process = self.start(sys.executable, "-c", script, options=["--keep"])
        self.assertEqual(process.communicate(timeout=300)[0], "0\n")
        self.quiet(self.directory(process.pid))
        self.assertEqual([mask for mask, name in watch.events() if name == "old"], [])

    def test_hostile_path(self):
        """Requests with paths that are no files of the process: the keeper opens no directory that the process cannot name, removes
        nothing, and serves the next process."""
        with open("kept.events", "wb") as file:
            file.write(b"kept")
        script = f"""if 1:
            import os, socket, struct
            name = "\\0" + os.environ["MPROF_RUN_SOCKET"]
            path = {os.path.abspath("kept.events")!r}.encode()
            long = b"/" + b"x" * 1022
            for length, text in ((0, b""), (len(path), path), (5, path), (2**32 - 1, path), (len(long), long), (2000, b"x" * 2000),
                                 (3, b"abc"), (1, b"/"), (4, b"/a/\\0"), (8, b"/etc/../")):
                s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                s.connect(name)
                s.send(struct.pack("=IIII", 0x31525550, 1, 0, length) + text)
                s.recv(16)
        """
        process = self.start("sh", "-c", f'{sys.executable} -c "$0"; exec {TARGET} uncontended', script, options=["--keep"])
        self.assertEqual(process.communicate(timeout=300)[0], "")
        trace = self.trace(process.pid)
        self.assertEqual(trace.counters["resident bytes"][-1], 0)
        with open("kept.events", "rb") as file:
            self.assertEqual(file.read(), b"kept")

    def test_threads(self):
        """A process with OCaml's runtime has fewer rings for threads, since there may be sixteen for domains."""
        directory = self.recorded(self.play("threads", "eio"))
        threads = glob.glob(f"{directory}/thread-*")
        self.assertIn(len(threads), range(33, 62 - 16 + 1))
        begun = [event for event in self.dump(f"{directory}/objects") if event["event"] == "creates" and event["type"] == "Task"]
        self.assertEqual(len(begun), 81)


class Code(unittest.TestCase):
    def undefined(self, path):
        done = subprocess.run(["nm", "-u", path], capture_output=True, text=True, check=True)
        return {line.split()[-1] for line in done.stdout.splitlines() if line.startswith(" ")}

    def test_neither_memory_nor_locks_of_the_program(self):
        """Recording calls no malloc, takes no lock, and finds its state without a call. A new thread's argument needs malloc."""
        forbidden = {"malloc", "calloc", "realloc", "free", "pthread_mutex_lock", "pthread_once", "__tls_get_addr"}
        objects = glob.glob(os.path.join(os.path.dirname(RUN), "libmprof-run.so.p", "*.o"))
        objects += glob.glob(os.path.join(os.path.dirname(RUN), "..", "recorder", "libmprof-recorder-tracer.a.p", "*.o"))
        self.assertGreater(len(objects), 10)
        for path in objects:
            found = self.undefined(path) & forbidden
            self.assertLessEqual(found, {"malloc", "free"} if path.endswith("wrap-thread.c.o") else set(), path)


if __name__ == "__main__":
    daemons.main()
