"""The viewer in Chromium: how soon a picture is there, and what a hand that zooms and pans costs.

The measuring is done by viewer.mjs, with the tools of tests/browser.  Wrong is: a page that does not show the trace.
"""

import os
import shutil
import subprocess
import sys

BRIEF = "--brief" in sys.argv
HERE = os.path.dirname(os.path.abspath(__file__))
BROWSER = os.path.join(HERE, "../browser")
LOCK = os.path.join(BROWSER, "package-lock.json")


def modules():
    """Where playwright is: as `sh tests/run browser` installs it."""
    where = os.environ.get("MPROF_BROWSER") or os.path.join(os.environ["MPROF_BUILD"], "../browser")
    if not os.path.exists(os.path.join(where, "node_modules/playwright-core")):
        os.makedirs(where, exist_ok=True)
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(os.path.join(BROWSER, name), where)
        subprocess.run(["npm", "ci", "--ignore-scripts"], cwd=where, check=True, stdout=sys.stderr)
    return where


def main():
    env = {**os.environ, "MPROF_BROWSER": modules()}
    events = "200000" if BRIEF else "8000000"
    sys.exit(subprocess.run(["node", os.path.join(HERE, "viewer.mjs"), events], env=env).returncode)


main()
