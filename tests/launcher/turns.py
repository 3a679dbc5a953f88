"""Which tests a run with MPROF_BRIEF has, as those of CI. A long test is not one of them. Where tests exist in several forms, as over each of two
stores, each form has its turn of them, so that all forms together have each test once. Without MPROF_BRIEF each form has all tests."""

import os
import unittest

BRIEF = bool(os.environ.get("MPROF_BRIEF"))

_forms = {}  # the form of a class: its place, and how many there are


def long(test):
    """TEST takes long, and a shorter one looks at its subject, too: it runs by name alone. Use this as a decorator of a method."""
    return None if BRIEF else test  # unittest takes what can be called for a test


def form(case, place, count):
    """CASE is a form of tests: the one at PLACE of COUNT. Tests that it names in LAST_FORM belong to the last form alone."""
    _forms[case] = place, count


def forms(*cases):
    """Each of CASES is a form of the same tests."""
    for place, case in enumerate(cases):
        form(case, place, len(cases))


class Loader(unittest.TestLoader):
    """Loads of a class the tests whose turn it is."""

    def getTestCaseNames(self, testCaseClass):  # pylint: disable=invalid-name
        names = super().getTestCaseNames(testCaseClass)
        if testCaseClass not in _forms or not BRIEF:
            return names
        place, count = _forms[testCaseClass]
        last = sorted(getattr(testCaseClass, "LAST_FORM", ()))
        assert set(last) <= set(names), last
        taken = [name for name in names if name not in last][place::count]
        return taken + last if place == count - 1 else taken
