"""The tests of a script in parts, so that meson runs the parts side by side: SCRIPT … [NAME…] [--without NAME,NAME…]

A NAME is a class, or a class and a test (Class.test).  --without leaves the tests out that other parts run.  The last part names nothing but these:
it has each new class, so no test can be in no part.
"""

import sys
import unittest


def names(arguments):
    """Return ARGUMENTS as unittest wants them, with the names of the tests that are left instead of --without."""
    if "--without" not in arguments:
        return arguments
    at = arguments.index("--without")
    chosen, without = arguments[:at], arguments[at + 1].split(",")
    main = sys.modules["__main__"]
    left = []
    for name, case in vars(main).items():
        if not isinstance(case, type) or not issubclass(case, unittest.TestCase):
            continue
        for test in unittest.defaultTestLoader.getTestCaseNames(case):
            both = {name, f"{name}.{test}"}
            if both.isdisjoint(without) and (not chosen or not both.isdisjoint(chosen)):
                left.append(f"{name}.{test}")
    loader = unittest.TestLoader()
    loader.loadTestsFromNames([*chosen, *without], main)
    if loader.errors or not left:
        raise SystemExit(f"no such tests: {' '.join(arguments)}\n{''.join(loader.errors)}")
    return left
