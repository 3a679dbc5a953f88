"""The two forms of a database that a script tests: `single` is one server, `sharded` a hub with two shards."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../launcher"))
import turns  # noqa: E402

SHARDS = {"single": 0, "sharded": 2}[sys.argv.pop(1)]


def main(case):
    """Run the tests of CASE in this form."""
    turns.form(case, int(SHARDS > 0), 2)
    unittest.main(testLoader=turns.Loader())
