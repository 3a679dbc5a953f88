"""Run the tests of a script in parts, so that meson runs the parts side by side: SCRIPT … [NAME…]
[--without NAME,NAME…]

A NAME is a class, or a class and a test (Class.test). --without skips tests that other parts run.
The last part has only --without, so it runs each new class and no test is in no part.
"""

import os
import sys
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../launcher"))
from turns import Loader  # noqa: E402


def names(arguments):
    """Return ARGUMENTS as unittest wants them: --without is replaced by the names of the remaining
    tests."""
    if "--without" not in arguments:
        return arguments
    at = arguments.index("--without")
    chosen, without = arguments[:at], arguments[at + 1].split(",")
    main = sys.modules["__main__"]
    left = []
    for name, case in vars(main).items():
        if not isinstance(case, type) or not issubclass(case, unittest.TestCase):
            continue
        for test in Loader().getTestCaseNames(case):
            both = {name, f"{name}.{test}"}
            if both.isdisjoint(without) and (not chosen or not both.isdisjoint(chosen)):
                left.append(f"{name}.{test}")
    loader = unittest.TestLoader()
    loader.loadTestsFromNames([*chosen, *without], main)
    if loader.errors or not left:
        raise SystemExit(f"no such tests: {' '.join(arguments)}\n{''.join(loader.errors)}")
    return left
