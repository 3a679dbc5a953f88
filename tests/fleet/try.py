"""The commands of docs/fleet.md that show a hub, a host and a guest, on the built programs: try.py BUILD-DIRECTORY [TEST…]"""

import contextlib
import os
import re
import signal
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "integration")]

import daemons
from cluster import TOP, until

PROGRAMS = ("client/ctl", "client/run", "daemon/mprofd", "daemon/serve", "daemon/forward")


class Try(daemons.Case):
    def test_commands(self):
        """The commands of the page, one after the other, in one shell: the hub has the capture of the guest's end."""
        with open(os.path.join(TOP, "docs/fleet.md"), encoding="utf-8") as f:
            (text,) = re.findall(r"\n\n((?:    .*\n)*    sh tests/fleet/up --port 7443\n(?:    .*\n)*)", f.read())
        work, port = os.getcwd(), str(daemons.free_port())
        os.chmod(work, 0o711)  # for the user postgres
        text = re.sub("^    ", "", text, flags=re.M).replace("/tmp/", work + "/").replace("7443", port)
        *commands, ask = text.splitlines()
        self.assertTrue(ask.startswith("mprofctl "))
        env = {**os.environ, "TMPDIR": work, "PATH": ":".join(os.path.join(daemons.BUILD, p) for p in PROGRAMS) + ":" + os.environ["PATH"]}
        run = {"cwd": TOP, "env": env, "text": True}
        with open("said", "w", encoding="utf-8") as said, subprocess.Popen(
            ["sh", "-ec", "\n".join(commands)], stdout=said, stderr=said, start_new_session=True, **run
        ) as shell:
            try:
                self.assertEqual(shell.wait(daemons.PATIENCE * 3), 0)
                until(lambda: re.search(r"host1/sleep\.\d+ .* ended ", self.asked(ask, run)), "the hub has the capture")
                self.assertIn(f"http.conf: for mprofd-http, which serves the page at http://127.0.0.1:{port}\n", self.said())
            except BaseException:
                print(self.said()[-3000:], self.asked(ask, run), file=sys.stderr)
                raise
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(shell.pid, signal.SIGTERM)
                subprocess.run(["sh", "tests/fleet/down"], check=True, **run)
        self.assertFalse(os.path.exists(f"{work}/mprof-fleet"))

    @staticmethod
    def asked(command, run):
        return subprocess.run(["sh", "-c", command], capture_output=True, check=False, **run).stdout

    @staticmethod
    def said():
        with open("said", encoding="utf-8") as f:
            return f.read()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
