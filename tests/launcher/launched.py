"""Test the launcher on small programs, and the ports of the daemons: launched.py BUILD-DIRECTORY [TEST…]"""

import contextlib
import os
import shutil
import signal
import socket
import sys
import tempfile
import unittest

import launcher
import ports

BUILD = os.path.abspath(sys.argv[1])
READY = 'import os, socket; s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.connect(os.environ["NOTIFY_SOCKET"])\n'


class Case(unittest.TestCase):
    def setUp(self):
        directory = tempfile.mkdtemp(prefix="mprof.")
        self.addCleanup(shutil.rmtree, directory)
        self.addCleanup(os.chdir, "/")
        os.chdir(directory)

    def python(self, text, **options):
        return launcher.Program([sys.executable, "-c", READY + text], **options)

    def daemon(self, name, config):
        for path in ("state", "run/sink"):
            os.makedirs(path, exist_ok=True)
        with open("conf", "w", encoding="utf-8") as f:
            f.write(f"[archive]\nfree-space = 1M\nreserve = 0\n{config}")
        return launcher.Program([launcher.path(BUILD, name), "--state", "state", "--run", "run", "--config", "conf"], log=f"{name}.log")


class Programs(Case):
    def test_ready(self):
        with self.python('s.send(b"READY=1\\nSTATUS=one"); s.send(b"STATUS=two"); input()', stdin=launcher.subprocess.PIPE) as program:
            program.wait_ready()
            launcher.wait(lambda: program.status() == "two")
            program.stdin.write(b"\n")
            program.stdin.flush()
            program.wait()

    def test_many_notices(self):
        """A program that tells more than its socket holds is not blocked."""
        with self.python('[s.send(b"STATUS=%d" % n) for n in range(5000)]; s.send(b"READY=1")') as program:
            program.wait_ready()
            program.wait(launcher.PATIENCE)
        self.assertEqual(program.status(), "4999")

    def test_ends_before_it_is_ready(self):
        program = self.python('import sys; sys.exit("no such thing")')
        with self.assertRaisesRegex(AssertionError, "ended with 1 before ready:\nno such thing"):
            program.wait_ready()

    def test_never_ready(self):
        program = self.python("import time; time.sleep(600)")
        with self.assertRaisesRegex(AssertionError, "is not ready after"):
            program.wait_ready(0.1)
        program.end()

    def test_says(self):
        """Only the lines of this start count."""
        with open("log", "w", encoding="utf-8") as f:
            f.write("python: listening on tcp://127.0.0.1:1\n")
        text = 'import sys; print("python: listening on https://[::1]:7443", file=sys.stderr, flush=True); input()'
        program = self.python(text, stdin=launcher.subprocess.PIPE)
        self.assertEqual(program.says(r"listening on (\S+)")[1], "https://[::1]:7443")
        self.assertEqual((program.ports(), program.ports("http:"), program.port("https:")), ([7443], [], 7443))
        program.end()

    def test_bad_ends(self):
        for text, found in (
            ("sys.exit(3)", "ended with 3"),
            ('print("x.c:1:2: runtime error: overflow", file=sys.stderr)', "runtime error: overflow"),
            ('print("==1==ERROR: AddressSanitizer: heap-use-after-free", file=sys.stderr)', "heap-use-after-free"),
        ):
            program = self.python(f"import sys; {text}")
            program.wait()
            with self.assertRaisesRegex(AssertionError, found):
                program.stop()

    def test_freeze_ended(self):
        """A program that ends before it is frozen has ended."""
        program = self.python("")
        os.waitid(os.P_PID, program.pid, os.WEXITED | os.WNOWAIT)
        program.freeze()
        self.assertEqual(program.returncode, 0)
        program.stop()

    def test_killed(self):
        program = self.python('s.send(b"READY=1"); import time; time.sleep(600)').wait_ready()
        program.end()
        self.assertEqual(program.returncode, -signal.SIGKILL)
        program = self.python('import sys, time; print("WARNING: ThreadSanitizer: race", file=sys.stderr, flush=True); time.sleep(600)')
        program.says("race")
        with self.assertRaisesRegex(AssertionError, "race"):
            program.end()

    def test_does_not_end(self):
        text = 'import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); s.send(b"READY=1"); time.sleep(600)'
        program = self.python(text).wait_ready()
        with self.assertRaisesRegex(AssertionError, "does not end"):
            program.stop(seconds=0.1)
        self.assertEqual(program.returncode, -signal.SIGKILL)

    def test_nothing_is_left(self):
        """A program that ended has no socket any more."""
        program = self.python("pass")
        program.wait()
        self.assertEqual(os.listdir(launcher.Notices.place.name), [])


class Ports(Case):
    def test_port_0(self):
        """The daemons log the ports that the kernel chose before they are ready, for each address."""
        addresses = ["127.0.0.1:0", "127.0.0.2:0", *(["[::1]:0"] if ports.has_ipv6() else [])]
        listen = "".join(f"listen = {address}\n" for address in addresses)
        for name, section, scheme in (("mprofd-http", "http", "http"), ("mprofd-sink", "sink", "tcp")):
            with self.daemon(name, f"[{section}]\n{listen}") as program:
                program.wait_ready()
                self.assertEqual([a.rsplit(":", 1)[0] for a in program.addresses()], [f"{scheme}://{a[:-2]}" for a in addresses])
                for address, port in zip(addresses, program.ports()):
                    self.assertGreater(port, 0)
                    socket.create_connection((address[:-2].strip("[]"), port), launcher.PATIENCE).close()

    def test_held(self):
        """Nobody gets a port of free_port() by chance. A server gets it by its number, also after it was killed."""
        held = {ports.free_port() for _ in range(100)}
        self.assertEqual(len(held), 100)
        with contextlib.ExitStack() as stack:
            server = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=200))
            for n in range(200):
                client = stack.enter_context(socket.create_connection(server.getsockname()))
                other = stack.enter_context(socket.socket())
                other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, n % 2)
                other.bind(("127.0.0.1" if n % 4 < 2 else "0.0.0.0", 0))
                self.assertTrue(held.isdisjoint({client.getsockname()[1], other.getsockname()[1]}))
        port = held.pop()
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))
        for _ in range(2):
            program = self.daemon("mprofd-http", f"[http]\nlisten = 127.0.0.1:{port}\n").wait_ready()
            with socket.create_connection(("127.0.0.1", port), launcher.PATIENCE):
                program.end()


if __name__ == "__main__":
    sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../integration"))
    import parts

    unittest.main(argv=[sys.argv[0], *parts.names(sys.argv[2:])])
