"""The lab's own limits, without a machine: selftest.py"""

import contextlib
import io
import os
import re
import tempfile
import unittest
import unittest.mock

import progress
import xen

LIMIT = 600


class Machine(unittest.TestCase):
    def setUp(self):
        self.out = self.enterContext(tempfile.TemporaryDirectory())
        self.time = 0.0

    def write(self, name, text):
        with open(os.path.join(self.out, name), "a", encoding="utf-8") as f:
            f.write(text)

    def begin(self, name):
        self.write("scenario.log", f"[{self.time:7.2f}] ---- {name}\n")

    def test_slow(self):
        """A machine whose steps together take hours is not ended while each gives signs of life."""
        watched = progress.Progress(self.out, LIMIT, self.time)
        for name in ("console.log", *(f"step{i}" for i in range(20)), "evidence.json"):
            self.time += LIMIT - 1
            self.begin(name) if name.startswith("step") else self.write(name, "x")
            self.assertIsNone(watched.stands(self.time), name)
        self.assertGreater(self.time, 3 * 3600)

    def test_hangs(self):
        """A machine that stands is ended with its step: while it boots, and later."""
        watched = progress.Progress(self.out, LIMIT, self.time)
        self.assertRegex(watched.stands(LIMIT), r"no sign of life for 600 s, in the step `boot`$")
        self.begin("publish")
        self.begin("collect")
        self.assertIsNone(watched.stands(LIMIT))
        self.assertIsNone(watched.stands(2 * LIMIT - 1))
        self.assertRegex(watched.stands(2 * LIMIT), r"no sign of life for 600 s, in the step `collect`$")

    def test_processes(self):
        """The machine's own code is passed on. One that hangs is ended, also if it ignores the request."""
        self.assertEqual(progress.run(self.out, LIMIT, ["sh", "-c", "exit 3"], poll=0.01), 3)
        self.begin("kill")
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            self.assertEqual(progress.run(self.out, 0.1, ["sleep", "infinity"], poll=0.01), progress.HUNG)
        self.assertRegex(said.getvalue(), r"^the machine was ended: .*, in the step `kill`\n$")


class Waits(unittest.TestCase):
    """The limits inside of dom0."""

    def setUp(self):
        self.time = 0.0
        for name, fake in {"monotonic": lambda: self.time, "sleep": self.sleep}.items():
            self.enterContext(unittest.mock.patch.object(xen.time, name, fake))
        self.enterContext(unittest.mock.patch.object(xen, "PATIENCE", xen.Patience()))
        self.said = self.enterContext(contextlib.redirect_stdout(io.StringIO()))

    def sleep(self, seconds):
        self.time += seconds

    def test_slow(self):
        """A wait may take some times as long as on a quiet machine, and says twice a minute that it waits."""
        value, took = xen.wait(lambda: self.time > 200 and "there", 60, "the guest", step=1)
        self.assertEqual(value, "there")
        self.assertAlmostEqual(took, 201, delta=2)
        self.assertEqual(len(re.findall(r"waits .* the guest", self.said.getvalue())), 6)

    def test_never(self):
        """A wait for what never comes ends, and all such waits together take little more than the patience."""
        with self.assertRaisesRegex(xen.Failed, r"^the guest: not within \d+ s$"):
            xen.wait(lambda: False, 60, "the guest", step=1)
        self.assertLess(self.time, 60 * xen.TIMES + 2)
        for _ in range(30):
            with self.assertRaises(xen.Failed):
                xen.wait(lambda: False, 60, "the guest", step=1)
        self.assertLess(self.time, xen.Patience.SECONDS + 31 * 62)


class Commands(unittest.TestCase):
    def test_run(self):
        self.assertEqual(xen.run("echo", "said"), "said\n")
        with self.assertRaisesRegex(xen.Failed, "^false: exit code 1: $"):
            xen.run("false")
        self.assertEqual(xen.run("sh", "-c", "echo x; exit 2", check=False), "x\n")

    def test_hangs(self):
        with unittest.mock.patch.object(xen, "PATIENCE", xen.Patience(0)):
            with self.assertRaisesRegex(xen.Failed, "^sleep infinity: not within 0.1 s$"):
                xen.run("sleep", "infinity", seconds=0.1)


if __name__ == "__main__":
    unittest.main()
