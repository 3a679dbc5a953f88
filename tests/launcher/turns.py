"""Tests that exist in several forms, as over each of two stores. With MPROF_BRIEF each form has its turn of them, so that all forms together have
each test once; without it each form has all."""

import os
import unittest

_forms = {}  # the form of a class: its place, and how many there are


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
        if testCaseClass not in _forms or not os.environ.get("MPROF_BRIEF"):
            return names
        place, count = _forms[testCaseClass]
        last = sorted(getattr(testCaseClass, "LAST_FORM", ()))
        assert set(last) <= set(names), last
        taken = [name for name in names if name not in last][place::count]
        return taken + last if place == count - 1 else taken
