"""Measure the viewer in Chromium: the time to a picture, the tasks that block the page, and the
cost of zooming and panning.

viewer.mjs measures, with the tools of tests/browser: ten million events by slices and as one model,
100,000 threads that live at once, a list of 1,000 guests, a day of 1 GiB in the archive. The
benchmark fails if a page does not show its trace. It writes up to 4 GB to $TMPDIR.
"""

import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BROWSER = os.path.join(HERE, "../browser")


def modules():
    """Return the directory of playwright, installed as `sh tests/run browser` does."""
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
