"""Start programs for tests, wait until they are ready, and end them.

    with launcher.Program([path, "--listen", "127.0.0.1:0"], log="http.log") as server:
        server.wait_ready()
        server.port()

A program's errors go to the end of its log. It is ready when it says READY=1 to the service manager, which this module stands in
for; a program that does not do that has a line in its log. Each program that ends by stop() or with the block must end well: with
status 0 and without a sanitizer's report. A failure has the last lines of the log.
"""

import contextlib
import glob
import math
import os
import re
import select
import signal
import socket
import subprocess
import tempfile
import threading
import time

PATIENCE = 300  # seconds to wait for an event that must come: only a program that hangs takes longer, on any machine
LATER_PATIENCE = 5  # after one missing event the script has failed, and later ones get less time
PATHS = {
    "mprofd": "daemon/mprofd/mprofd",
    "mprofd-http": "daemon/serve/mprofd-http",
    "mprofd-sink": "daemon/sink/mprofd-sink",
    "mprofd-forward": "daemon/forward/mprofd-forward",
    "mprof-annotate": "daemon/annotate/mprof-annotate",
    "mprofctl": "client/ctl/mprofctl",
    "mprof-demo-guest": "client/recorder/demo/mprof-demo-guest",
    "mprofd-sim": "tests/xen/sim/mprofd-sim",
}
FORKED = "tests/forked/mprofctl"
REPORT = re.compile(r"runtime error:|ERROR: \w+Sanitizer|WARNING: ThreadSanitizer")
COUNT = os.environ.get("MPROF_STARTS")  # a file that gets the name of each program that is started
for _name in ("PYTHONMALLOC", "GLIBC_TUNABLES"):  # these are for the memory of this Python (tests/steps.sh), and for no program of a test
    os.environ.pop(_name, None)


def path(build, name):
    """Return the path of a program of the project in the directory BUILD; other names are those of the integration tests' own. Beside a
    fork server mprofctl is its client (tests/forked)."""
    if name == "mprofctl" and "MPROF_FORK_SERVER" in os.environ and os.path.exists(os.path.join(build, FORKED)):
        return os.path.join(build, FORKED)
    return os.path.join(build, PATHS.get(name, f"tests/integration/{name}"))


class Patience:
    """How long to wait for an event that must come."""

    missed = False  # an event has not come

    @classmethod
    def over(cls, waited, seconds):
        """Return whether an event that has not come after WAITED seconds is missing. SECONDS is the test's own limit."""
        return waited > (min(seconds, LATER_PATIENCE) if cls.missed else seconds)


def stop(program):
    """Stop PROGRAM, if there is one."""
    if program:
        program.stop()


class Delay:
    """How long the processes PIDS wait for a processor from now on, and this process for "self"."""

    def __init__(self, *pids):
        self.pids = pids
        self.before = self.waited()

    def waited(self):
        """Return {(process, file of a thread): nanoseconds for which it has ever waited}, of the threads that live."""
        found = {}
        for pid in self.pids:
            for thread in glob.glob(f"/proc/{pid}/task/*/schedstat"):
                with contextlib.suppress(OSError), open(thread, encoding="ascii") as f:
                    found[pid, thread] = int(f.read().split()[1])
        return found

    def seconds(self):
        """Return the sum over the processes of how long the thread waited that waited longest; 0 for a process that has ended, or if the
        kernel does not count. A thread that sleeps, or that is stopped, waits for no processor: where tests/stress stops processes at
        random, the delay is infinite."""
        if "MPROF_STOPS" in os.environ:
            return math.inf
        longest = dict.fromkeys(self.pids, 0)
        for (pid, thread), waited in self.waited().items():
            longest[pid] = max(longest[pid], waited - self.before.get((pid, thread), 0))
        return sum(longest.values()) / 1e9


def wait(condition, seconds=PATIENCE, why=lambda: "", pause=0.02):
    """Wait until CONDITION() is true, and return its value. If it does not come, raise AssertionError with WHY()."""
    began = time.monotonic()
    while True:
        asked = time.monotonic()
        result = condition()
        if result:
            return result
        now = time.monotonic()
        if Patience.over(now - began, seconds):
            Patience.missed = True
            raise AssertionError(f"it did not come within {now - began:.0f} s:\n{why()}")
        time.sleep(max(pause, now - asked))  # the question takes half of the time at most


class Notices:
    """The service manager's end: a thread reads what the programs of this process tell it. A socket that nobody reads would block
    them."""

    lock = threading.Lock()
    place = poll = None
    readers = {}
    made = 0  # sockets

    @classmethod
    def listen(cls, heard):
        """Make a socket, and call HEARD with each text that comes. Return the socket."""
        with cls.lock:
            if cls.poll is None:
                cls.place = tempfile.TemporaryDirectory(prefix="mprof-notices.")
                os.chmod(cls.place.name, 0o711)  # some programs run as other users
                cls.poll = select.epoll()
                threading.Thread(target=cls._run, daemon=True).start()
            cls.made += 1
            name = os.path.join(cls.place.name, str(cls.made))
            notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            notices.bind(name)
            os.chmod(name, 0o666)
            cls.readers[notices.fileno()] = notices, heard
            cls.poll.register(notices.fileno(), select.EPOLLIN)
        return notices

    @classmethod
    def close(cls, notices):
        """Close a socket of listen(), after the last text that has come."""
        with cls.lock:
            while cls._read(notices.fileno()):
                pass
            cls.poll.unregister(notices.fileno())
            del cls.readers[notices.fileno()]
            os.unlink(notices.getsockname())
            notices.close()

    @classmethod
    def _run(cls):
        while True:
            for number, _ in cls.poll.poll():
                with cls.lock:
                    cls._read(number)

    @classmethod
    def _read(cls, number):
        """Read a text, if there is one. Return whether there was."""
        notices, heard = cls.readers.get(number, (None, None))
        if notices:
            with contextlib.suppress(BlockingIOError):
                heard(notices.recv(4096, socket.MSG_DONTWAIT).decode())
                return True
        return False


class Program(subprocess.Popen):
    """A program that was started. Its methods are those of subprocess.Popen, and these."""

    def __init__(self, words, log="log", prefix=(), environment=None, **options):
        """Start WORDS with its errors at the end of LOG, and ENVIRONMENT beside that of this process. PREFIX is a command that
        becomes WORDS, as another user or within limits."""
        self.name = os.path.basename(words[0])
        self.log = os.path.abspath(log)
        self.told = []  # texts for the service manager
        self.changed = threading.Condition()
        self.notices = Notices.listen(self._hear)
        environment = {**os.environ, "NOTIFY_SOCKET": self.notices.getsockname(), **(environment or {})}
        try:
            with open(self.log, "ab") as errors:
                self.begin = errors.tell()  # where this program's lines begin
                super().__init__([*prefix, *words], stderr=errors, env=environment, **options)
        except BaseException:
            self._forget()
            raise
        if COUNT:
            with open(COUNT, "a", encoding="utf-8") as f:
                f.write(f"{self.name}\n")

    def _hear(self, text):
        with self.changed:
            self.told.append(text)
            self.changed.notify_all()

    def _forget(self):
        notices, self.notices = self.notices, None
        if notices:
            Notices.close(notices)

    def poll(self):
        code = super().poll()
        if code is not None:
            self._forget()
        return code

    def wait(self, timeout=None):
        code = super().wait(timeout)
        self._forget()
        return code

    # ---- what it says

    def said(self):
        """Return the program's lines in its log; with those of other programs that write to the same log."""
        with open(self.log, "rb") as f:
            f.seek(self.begin)
            return f.read().decode(errors="replace")

    def until(self, condition, what, seconds=PATIENCE):
        """Wait until CONDITION() is true while the program runs, and return its value. WHAT the program is then, for a failure."""
        until = time.monotonic() + seconds
        while True:
            ended = self.poll()
            result = condition()
            if result:
                return result
            if ended is not None:
                raise AssertionError(f"{self.name} ended with {ended} before {what}:\n{self.said()[-5000:]}")
            if time.monotonic() > until:
                raise AssertionError(f"{self.name} is not {what} after {seconds} s:\n{self.said()[-5000:]}")
            with self.changed:
                self.changed.wait(0.01)

    def is_ready(self):
        return any("READY=1" in text for text in self.told)

    def wait_ready(self, seconds=PATIENCE):
        """Wait until the program says that it is ready. Return the program."""
        self.until(self.is_ready, "ready", seconds)
        return self

    def says(self, expression, seconds=PATIENCE):
        """Wait until the program's lines match EXPRESSION. Return the match."""
        return self.until(lambda: re.search(expression, self.said(), re.M), f"saying {expression}", seconds)

    def addresses(self):
        """Return the addresses at which the program listens, such as http://127.0.0.1:7080. They are complete when it is ready."""
        return re.findall(r"^\S+: listening on (\S+)", self.said(), re.M)

    def ports(self, scheme=""):
        """Return the TCP ports at which the program listens, of the addresses that begin with SCHEME."""
        return [int(found[1]) for a in self.addresses() if a.startswith(scheme) and (found := re.search(r":(\d+)$", a))]

    def port(self, scheme=""):
        """Return the first of ports()."""
        return self.ports(scheme)[0]

    def status(self):
        """Return the last STATUS that the program sent."""
        lines = [line for text in self.told for line in text.splitlines()]
        return next((line[7:] for line in reversed(lines) if line.startswith("STATUS=")), "")

    def freeze(self):
        """Stop the program by SIGSTOP, and wait until it stands still, or has ended. SIGCONT lets it go on."""
        self.send_signal(signal.SIGSTOP)
        with contextlib.suppress(ChildProcessError):  # send_signal() has taken the status of a program that had ended
            os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    # ---- its end

    def check(self, codes=(0,)):
        """The program has ended: check its status, and that no sanitizer has found anything."""
        said = self.said()
        if self.returncode not in codes or REPORT.search(said):
            raise AssertionError(f"{self.name} ended with {self.returncode}:\n{said[-5000:]}")

    def stop(self, how=signal.SIGTERM, seconds=PATIENCE):
        """End the program by a signal, if it runs. A program that fails while it ends (also by a leak) fails the test."""
        if self.poll() is None:
            self.send_signal(how)
        try:
            self.wait(seconds)
        except subprocess.TimeoutExpired:
            self.end()
            raise AssertionError(f"{self.name} does not end within {seconds} s:\n{self.said()[-5000:]}") from None
        self.check()

    def end(self):
        """Kill the program, if it runs. Check only that no sanitizer has found anything."""
        self.kill()
        self.wait()
        for pipe in (self.stdin, self.stdout):
            if pipe:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        self.check((self.returncode,))

    def __exit__(self, kind, *_):
        """Stop the program, or after a failure kill it."""
        if kind is None:
            self.stop()
        else:
            with contextlib.suppress(AssertionError):
                self.end()
        for pipe in (self.stdin, self.stdout):
            if pipe:
                pipe.close()
