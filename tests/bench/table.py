"""Print lines of JSON from standard input as a table."""

import json
import sys

COLUMNS = ("name", "ours", "peer", "unit", "ratio", "aim", "met")


def shown(value):
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
    return str(value)


rows = [COLUMNS] + [tuple(shown(json.loads(line).get(c)) for c in COLUMNS) for line in sys.stdin if line.strip()]
widths = [max(len(row[i]) for row in rows) for i in range(len(COLUMNS))]
for row in rows:
    left = (0, 3, 5)
    print("  ".join(c.ljust(w) if i in left else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))).rstrip())
