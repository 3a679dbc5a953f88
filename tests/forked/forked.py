"""Test the fork server of mprofctl: forked.py BUILD

A call through the server is like a start of the program, or the client starts the program; and the sanitizers find in it what they find
in the program.
"""

import os
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "../launcher"), os.path.join(HERE, "../traces"), os.path.join(HERE, "../integration")]

import launcher
import unpack

BUILD = os.path.abspath(sys.argv[1])
PROGRAM = os.path.join(BUILD, "client/ctl/mprofctl")
CLIENT = os.path.join(BUILD, "tests/forked/mprofctl")
SERVER = os.path.join(BUILD, "tests/forked/fork-server")


def verbs():
    said = subprocess.run([PROGRAM, "complete", "--", ""], capture_output=True, text=True, check=True).stdout
    return [line.split("\t")[0] for line in said.splitlines()]


def timeless(text):
    return re.sub(rb"after \d+ ms", b"", text)


@unittest.skipUnless(os.path.exists(SERVER), "the build has no AddressSanitizer")
class Forked(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="mprof."))
        cls.addClassCleanup(os.chdir, "/")
        os.chdir(cls.work)
        path = os.path.join(unpack.scratch("rings"), "countwrap.ctf")
        shutil.copy(path, "whole.ctf")
        with open(path, "rb") as f, open("damaged.ctf", "wb") as damaged:
            damaged.write(f.read()[:5000] + b"\xff" * 100)
        cls.server = cls.enterClassContext(launcher.Program([SERVER, f"{cls.work}/socket"]))
        cls.server.until(cls.answers, "listening")

    @classmethod
    def answers(cls):
        with socket.socket(socket.AF_UNIX) as s:
            return s.connect_ex(f"{cls.work}/socket") == 0

    def environment(self, **more):
        return {**os.environ, "MPROF_FORK_SERVER": f"{self.work}/socket", "MPROF_FORK_ONLY": "1", **more}

    def call(self, *arguments, program=CLIENT, **options):
        """Run the client, which must reach the server. Return the exit status and both outputs."""
        options.setdefault("env", self.environment())
        done = subprocess.run([program, *arguments], capture_output=True, check=False, timeout=launcher.PATIENCE, **options)
        return done.returncode, done.stdout, done.stderr

    def begin(self):
        """Start the client, with a server that never answers. Return it and the connection, when the program has made it."""
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"{self.work}/http")
            self.addCleanup(os.unlink, f"{self.work}/http")
            listener.listen()
            listener.settimeout(launcher.PATIENCE)
            process = subprocess.Popen([CLIENT, "--host", f"unix:{self.work}/http", "domains"], env=self.environment())
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            connection = listener.accept()[0]
        connection.settimeout(launcher.PATIENCE)
        self.addCleanup(connection.close)
        return process, connection

    def test_alike(self):
        """The answers of all verbs, of files, and of failures are those of the program, whatever was called before."""
        calls = [(verb, "--help") for verb in verbs()] + [
            ("domains",),
            ("--version",),
            (),
            ("nothing",),
            ("stats", "whole.ctf"),
            ("dump", "damaged.ctf", "--json"),
        ]
        more = {"MPROFCTL_HOST": f"unix:{self.work}/none"}
        for arguments in calls:
            with self.subTest(arguments=arguments):
                code, out, said = self.call(*arguments, program=PROGRAM, env={**os.environ, **more})
                for _ in range(2):
                    again = self.call(*arguments, env=self.environment(**more))
                    self.assertEqual((*again[:2], timeless(again[2])), (code, out, timeless(said)))

    def test_inherited(self):
        """Input, directory and umask are the caller's."""
        with open("whole.ctf", "rb") as f:
            self.assertEqual(self.call("stats", "-", stdin=f)[1], self.call("stats", "whole.ctf", program=PROGRAM)[1])
        for mask in (0o027, 0o077):
            os.makedirs(f"umask-{mask}")
            code = self.call("export", "../whole.ctf", "--to", "chrome", "-o", "out.json", cwd=f"umask-{mask}", umask=mask)[0]
            self.assertEqual(code, 0)
            self.assertEqual(os.stat(f"umask-{mask}/out.json").st_mode & 0o777, 0o666 & ~mask)

    def test_leaks(self):
        """One byte that is lost in a call of any verb is reported, and fails the call."""
        for verb in verbs():
            with self.subTest(verb=verb):
                code, _, said = self.call(verb, "--nothing", env=self.environment(MPROF_FORK_LOSE="1"))
                self.assertEqual(code, 1, said)
                self.assertIn(b"1 byte(s) leaked in 1 allocation(s)", said)
        code, _, said = self.call("stats", "whole.ctf", env=self.environment(MPROF_FORK_LOSE="1"))
        self.assertEqual(code, 1, said)

    def test_findings(self):
        """A finding of AddressSanitizer ends the call as it ends the program."""
        code, _, said = self.call("stats", "whole.ctf", env=self.environment(MPROF_FORK_LOSE="-1"))
        self.assertEqual(code, 1, said)
        self.assertIn(b"AddressSanitizer: heap-use-after-free", said)

    def test_signals(self):
        """A signal reaches the program, and ends the client as it ended the program. A client that is killed takes the program with it."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL):
            with self.subTest(number=number):
                if number != signal.SIGKILL:
                    self.addCleanup(signal.signal, number, signal.signal(number, signal.SIG_DFL))  # a shell's background process ignores SIGINT
                process, connection = self.begin()
                process.send_signal(number)
                self.assertEqual(process.wait(launcher.PATIENCE), -number)
                while connection.recv(4096):  # its end is the end of the program
                    pass
                self.doCleanups()

    def test_early_signal(self):
        """A signal that comes before the client knows the program is passed on as soon as it does."""
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.SIG_DFL))
        program = subprocess.Popen(["sleep", "infinity"])
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"{self.work}/slow")
            self.addCleanup(os.unlink, f"{self.work}/slow")
            listener.listen()
            listener.settimeout(launcher.PATIENCE)
            client = subprocess.Popen([CLIENT, "domains"], env=self.environment(MPROF_FORK_SERVER=f"{self.work}/slow"))
            self.addCleanup(client.wait)
            self.addCleanup(client.kill)
            connection = listener.accept()[0]
            connection.settimeout(launcher.PATIENCE)
            self.addCleanup(connection.close)
            while asked := connection.recv(1 << 20):
                if asked.endswith(b"\0"):
                    break
            self.assertTrue(asked, "the client ended before its request did")
            client.send_signal(signal.SIGINT)
            connection.sendall(struct.pack("=i", program.pid))
            self.assertEqual(program.wait(launcher.PATIENCE), -signal.SIGINT)
            connection.sendall(struct.pack("=i", signal.SIGINT))  # the status of waitpid()
            self.assertEqual(client.wait(launcher.PATIENCE), -signal.SIGINT)

    def test_ignored(self):
        """A signal that the caller ignores reaches neither the client nor the program."""
        self.addCleanup(signal.signal, signal.SIGQUIT, signal.signal(signal.SIGQUIT, signal.SIG_IGN))
        process, connection = self.begin()
        process.send_signal(signal.SIGQUIT)
        connection.recv(4096, socket.MSG_PEEK)
        with open(f"/proc/{process.pid}/status", encoding="ascii") as f:
            self.assertTrue(int(re.search(r"SigIgn:\s*(\w+)", f.read())[1], 16) & 1 << signal.SIGQUIT - 1)
        connection.close()  # the program fails, and was not ended by the signal
        self.assertGreater(process.wait(launcher.PATIENCE), 0)

    def test_refused(self):
        """If a fork would differ from the program, the client starts the program."""
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        self.addCleanup(os.close, writer)
        first, second = os.openpty()
        self.addCleanup(os.close, first)
        self.addCleanup(os.close, second)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_FSIZE, (soft, hard))
        whole = self.call("stats", "whole.ctf", program=PROGRAM)
        cases = [{"pass_fds": [reader]}, {"stdin": second}, {"stdin": second, "start_new_session": True}, {"limit": 1 << 30}]
        cases += [{"variables": {name: "verbosity=0"}} for name in ("LSAN_OPTIONS", "LD_DEBUG_OUTPUT", "OPENSSL_CONF", "LD_BIND_NOW")]
        cases += [{"variables": {"MPROF_FORK_SERVER": f"{self.work}/none"}}]
        for case in cases:
            with self.subTest(case=case):
                if "limit" in case:
                    resource.setrlimit(resource.RLIMIT_FSIZE, (case.pop("limit"), hard))
                variables = case.pop("variables", {})
                code, _, said = self.call("stats", "whole.ctf", env=self.environment(**variables), **case)
                resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
                self.assertEqual((code, said[-23:]), (125, b"no fork of the server.\n"))
                environment = self.environment(**variables)
                del environment["MPROF_FORK_ONLY"]
                self.assertEqual(self.call("stats", "whole.ctf", env=environment, **case)[:2], whole[:2])

    @unittest.skipUnless("MPROF_FORK_SERVER" in os.environ, "tests/run starts no server")
    def test_used(self):
        """Tests reach the server that tests/run started, as they are: meson adds variables to their environment."""
        self.assertEqual(self.call("stats", "whole.ctf", env={**os.environ, "MPROF_FORK_ONLY": "1"})[0], 0)

    def test_beside(self):
        """Many calls at once: each gets its own answer."""
        calls = [subprocess.Popen([CLIENT, *([verb, "--help"])], stdout=subprocess.PIPE, env=self.environment()) for verb in verbs() * 3]
        for verb, process in zip(verbs() * 3, calls):
            said = process.communicate(timeout=launcher.PATIENCE)[0]
            self.assertEqual(process.returncode, 0)
            self.assertTrue(re.search(rf"\b{verb}\b", said.decode()))

    def test_launcher(self):
        """The launcher gives the client to tests beside a server, and else the program."""
        with unittest.mock.patch.dict(os.environ, {"MPROF_FORK_SERVER": "x"}):
            self.assertEqual(launcher.path(BUILD, "mprofctl"), CLIENT)
        environment = {name: value for name, value in os.environ.items() if name != "MPROF_FORK_SERVER"}
        with unittest.mock.patch.dict(os.environ, environment, clear=True):
            self.assertEqual(launcher.path(BUILD, "mprofctl"), PROGRAM)


if __name__ == "__main__":
    import parts

    unittest.main(argv=[sys.argv[0], *parts.names(sys.argv[2:])])
