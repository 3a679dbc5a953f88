"""Compare the table of docs/libraries.md with the tests of assumptions, both ways: table.py DOCUMENT PROGRAM…

Each row names its test in its last column, and each test has a row."""

import re
import subprocess
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        rows = [line for line in f if line.startswith("| ") and not line.startswith("| assumption")]
    named = [re.findall(r"`([a-z0-9-]+)` \|$", row.strip()) for row in rows]
    wrong = [f"this row names no test in its last column: {row.strip()}" for row, names in zip(rows, named) if not names]
    documented = [name for names in named for name in names]
    tests = []
    for program in sys.argv[2:]:
        tests += subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split()
    wrong += [f"no row of {sys.argv[1]} names the test {name}" for name in tests if name not in documented]
    wrong += [f"{sys.argv[1]} names {name}, which is no test" for name in documented if name not in tests]
    wrong += [f"{name} has two rows" for name in set(documented) if documented.count(name) > 1]
    print("\n".join(wrong) or f"{len(tests)} assumptions")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
