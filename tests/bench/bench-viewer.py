"""The viewer in Chromium: how soon a picture is there, what blocks it, and what a hand that zooms and pans costs.

The measuring is done by viewer.mjs, with the tools of tests/browser: ten million events by slices and as one model, 100,000 threads that live at
once, a list of 1,000 guests, a day of 1 GiB in the archive.  Wrong is: a page that does not show the trace.  It writes up to 4 GB to $TMPDIR.
"""

import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BROWSER = os.path.join(HERE, "../browser")


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
    sys.exit(subprocess.run(["node", os.path.join(HERE, "viewer.mjs"), *sys.argv[1:]], env=env).returncode)


main()
