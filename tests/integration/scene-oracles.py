"""Check that mprofctl and the page draw what the original viewer would draw.

    scene-oracles.py SOURCE-ROOT SCENE-MARKS MPROFCTL
    scene-oracles.py SOURCE-ROOT --windows    print the windows as JSON, for tests/browser/original.mjs
    scene-oracles.py SOURCE-ROOT --judge      judge what that page painted in them, from standard input

The script computes everything that must be visible in a window from the original's model and layout
of a trace (*.viewer-threads.jsonl.xz) by the drawing rules alone: lines from start and end, rows by
the fisheye, arrows with their ends, labels, steps of counters. It compares the result both ways
with the marks that scene-marks prints, or with those behind the page's canvas. `mprofctl export
--to svg` must make valid XML with all of the marks.
"""

import bisect
import json
import lzma
import math
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

ROOT, DUMP, MPROFCTL = (sys.argv[1:] + [None])[:3]
sys.path.append(os.path.join(ROOT, "tests", "traces"))
import unpack  # noqa: E402

MARGIN, ROW, LETTER = 30, 30, 7
# Name, from and to in parts of the trace's time, width, height, focused row.
TRACES = ["small", "wrapped"]
PUBLIC = ["public/net", "public/arp-good", "public/arp-bad"]  # if MPROF_REFERENCE has them
if os.path.isdir(os.path.join(unpack.REFERENCE, "public")):
    TRACES += PUBLIC
WINDOWS = [
    (0, 1, 1400, 900, 0),
    (0, 1, 1400, 900, 20),
    (0.25, 0.5, 800, 600, 5),
    (0.05, 0.06, 1200, 1500, 12),
    (0.9, 1.02, 1000, 700, 40),
]
NEAR = 0.06  # pixels: times here are floats of seconds
SLACK = 1  # pixels by which a column of links may be wider
CELL, STEPS = 6, 8  # height of a shade's cell, pixels; number of different shades
MANY = 0.4  # part of a column's links that cross a cell, from which on samples of them do not miss the cell
failures = 0


def fail(message):
    global failures
    failures += 1
    if failures < 40:
        print(message)


def read(path):
    path = path if os.path.exists(path) else path + ".xz"
    with (lzma.open if path.endswith(".xz") else open)(path, "rb") as f:
        return f.read()


class View:
    """A window over a model, in the units of the original: seconds, and 30 a row."""

    def __init__(self, threads, window, letter=LETTER, shaded=False):
        """WINDOW: from and to in nanoseconds from the first event, size in pixels, focused row. In a
        SHADED picture columns of links are wider, and more links of a column are drawn each."""
        self.shaded = shaded
        self.column, self.few = (3, 21) if shaded else (1, 7)
        self.start, self.end, self.width, self.height, focus = window
        self.threads = {thread["tid"]: thread for thread in threads}
        self.last = max(thread["y"] for thread in threads if thread["tid"] != -1) - 0.5
        self.letter = letter
        self.scale = self.width / (self.end - self.start)
        self.focus = min(focus * ROW, self.last + ROW)
        self.stretch = self.height * (0.5 - 0.25 * math.tanh(min(self.focus, self.last - self.focus) / 1000)) * 2

    def arguments(self):
        return [str(n) for n in (self.start, self.end, self.width, self.height, self.focus / ROW)]

    def x(self, seconds):
        return (seconds * 1e9 - self.start) * self.scale

    def clip(self, x):
        return min(max(x, -self.width), 2 * self.width)

    def y(self, units):
        def project(y):
            return math.tanh((y - self.focus) / self.stretch)

        inner = self.height - 2 * MARGIN
        return MARGIN + inner * (project(units) - project(0)) / (project(self.last) - project(0))

    def row(self, thread):
        return self.y(thread["y"] - 0.5)

    def seen(self, thread):
        return thread["tid"] != -1 and self.x(thread["start"]) <= self.width and self.x(thread["end"]) >= 0


def by_kind(marks):
    kinds = {}
    for mark in marks:
        kinds.setdefault(mark["kind"], []).append(mark)
    return kinds


def marks_of(path, view):
    done = subprocess.run([DUMP, path, *view.arguments()], check=True, stdout=subprocess.PIPE)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return lines[0]["rows"], lines[1:]


def near(a, b, by=NEAR):
    return abs(a - b) <= by


class Place:
    """Marks by their position, found again within a pixel."""

    def __init__(self, marks, *keys):
        self.keys = keys
        self.cells = {}
        for mark in marks:
            mark["matched"] = False
            self.cells.setdefault(tuple(round(mark[key]) for key in keys), []).append(mark)

    def find(self, *values, by=NEAR):
        """Return a mark near VALUES, or None. All marks near VALUES count as found."""
        best, cells = None, [()]
        for value in values:
            cells = [cell + (round(value) + step,) for cell in cells for step in (-1, 0, 1)]
        for cell in cells:
            for mark in self.cells.get(cell, ()):
                if all(near(mark[key], value, by) for key, value in zip(self.keys, values)):
                    mark["matched"] = True
                    best = mark
        return best


def rest(name, marks, what):
    """Check that every mark was called for."""
    left = [mark for mark in marks if not mark["matched"]]
    if left:
        fail(f"{name}: {len(left)} {what} too many, the first {left[0]}")


def failed(thread):
    return thread["failure"] is not None


def is_part(mark):
    """Return whether a line stands for several items, or for a part of their time."""
    return mark["count"] > 0 or mark["shade"] < 65535


def join(marks):
    """Give each line the ends LEFT and RIGHT of the lines that it touches. Several items on a row
    are drawn as parts of one line, each part with its share of time."""
    rows = {}
    for mark in marks:
        rows.setdefault(mark["y0"], []).append(mark)
    for row in rows.values():
        row.sort(key=lambda m: m["x0"])
        chain = []
        for mark in [*row, None]:
            if chain and not (mark and mark["x0"] - chain[-1]["x1"] <= 0.01 and (is_part(mark) or is_part(chain[-1]))):
                for part in chain:
                    part["left"], part["right"] = chain[0]["x0"], max(m["x1"] for m in chain)
                chain = []
            chain.append(mark)


def check_lines(name, view, kinds):
    """Check that each visible thread lies on a line of its kind and row. A thread of at least two
    pixels has its own line, with its ends."""
    for kind, wanted in (("thread", False), ("failed", True)):
        marks = kinds.get(kind, [])
        join(marks)
        for mark in marks:
            mark["n"] = 0
        for thread in filter(view.seen, view.threads.values()):
            if failed(thread) != wanted:
                continue
            x0, x1, y = view.clip(view.x(thread["start"])), view.clip(view.x(thread["end"])), view.row(thread)
            on = [m for m in marks if m["left"] - NEAR <= x0 and m["right"] + NEAR >= x1 and near(m["y0"], y, 2)]
            on = [m for m in on if m["x0"] - NEAR <= x1 and m["x1"] + NEAR >= x0]
            if not on:
                fail(f"{name}: no {kind} line for {thread['tid']} at {x0:.2f} to {x1:.2f}, {y:.2f}")
                continue
            for mark in on:
                mark["n"] += 1
            if x1 - x0 < 2.1:
                continue
            if not any(m["id"] == thread["tid"] and near(m["x0"], x0) and near(m["x1"], x1) and near(m["y0"], y) for m in on):
                if not any(m["count"] for m in on):
                    fail(f"{name}: {thread['tid']} is not a line of its own at {x0:.2f} to {x1:.2f}, {y:.2f}")
        for mark in marks:
            if not mark["n"]:
                fail(f"{name}: a {kind} line that is none: {mark}")


def check_running(name, view, kinds):
    marks = kinds.get("running", [])
    join(marks)
    spans = {}
    for mark in marks:
        spans.setdefault(round(mark["y0"]), []).append(mark)
    for thread in view.threads.values():
        for start, end in thread["activations"] if thread["tid"] != -1 else ():
            x0, x1, y = view.x(start), view.x(end), view.row(thread)
            if x1 < 0 or x0 > view.width:
                continue
            x0, x1 = view.clip(x0), view.clip(x1)
            on = [m for cell in range(round(y) - 2, round(y) + 3) for m in spans.get(cell, ())]
            if not any(m["left"] - NEAR <= x0 and m["right"] + NEAR >= x1 for m in on):
                fail(f"{name}: {thread['tid']} does not run at {x0:.2f} to {x1:.2f}, {y:.2f}")


def check_bands(name, view, kinds):
    marks = kinds.get("sleeping", [])
    place = Place(marks, "x0")
    for start, end in view.threads[-1]["activations"]:
        x0, x1 = view.x(start), view.x(end)
        if x1 < 0 or x0 > view.width:
            continue
        if x1 - x0 > 1.05:
            mark = place.find(view.clip(x0))
            if not mark or not near(mark["x1"], view.clip(x1)):
                fail(f"{name}: no sleep from {x0:.2f} to {x1:.2f}")
        elif not place.find(math.floor(x0), by=1.1):
            fail(f"{name}: no short sleep at {x0:.2f}")
    rest(name, marks, "times of sleep")
    if any(mark["y0"] != 0 or mark["y1"] != view.height for mark in marks):
        fail(f"{name}: a band is not of full height")


class Link:
    """A link as it must be drawn: from X0, Y0 to X, Y1, and the heights of its rows, TOP and BOTTOM.
    A link that is too long is FAINT, not drawn."""

    def __init__(self, x0, y0, x, y1):
        self.x0, self.y0, self.x, self.y1 = x0, y0, x, y1
        self.top, self.bottom = min(y0, y1), max(y0, y1)
        self.faint = 1 - (x - x0) / 6000 <= 0.01

    def clip(self, left):
        if self.x0 < left:
            self.y0 += (self.y1 - self.y0) * (left - self.x0) / (self.x - self.x0)
            self.x0 = left


class Columns:
    """Items by their member X. Items of one column of WIDTH pixels are drawn together, perhaps with
    those of the first SLACK pixels of the next column."""

    def __init__(self, items, width, slack):
        self.items = sorted(items, key=lambda item: item.x)
        self.at = [item.x for item in self.items]
        self.width, self.slack = width, slack

    def __iter__(self):
        """Return the numbers of the columns with items."""
        return iter(sorted({math.floor(x / self.width) for x in self.at}))

    def between(self, x0, x1):
        return self.items[bisect.bisect_left(self.at, x0) : bisect.bisect_left(self.at, x1)]

    def sure(self, column):
        """Return the items that are together in COLUMN in any case. Those of its first SLACK pixels may
        be with the column before, if that has items. A column as narrow as the slack has no sure items
        then: return all of it."""
        before = self.between((column - 1) * self.width - NEAR, column * self.width + NEAR)
        slack = self.slack if before and self.slack < self.width else 0
        return self.between(column * self.width + slack + NEAR, (column + 1) * self.width - NEAR)

    def most(self, column):
        """Return all items that may be together with those of sure(COLUMN)."""
        before = self.width if self.slack >= self.width else 0
        return self.between(column * self.width - before - NEAR, (column + 1) * self.width + self.slack + NEAR)


def check_column(name, columns, column, few):
    """Check the links of a column in the picture. Up to FEW are all drawn. If there are more, those
    are drawn that reach the farthest up and down, with heights exact to a pixel."""
    sure, most = columns.sure(column), columns.most(column)
    if len(most) <= few:
        missing = [link for link in sure if not link.found and not link.faint]
        if missing:
            fail(f"{name} at {column * columns.width}: {len(missing)} of {len(most)} are not drawn: {vars(missing[0])}")
        return
    drawn = [link for link in most if link.found or link.faint]
    if not drawn:
        fail(f"{name} at {column * columns.width}: none of {len(sure)} is drawn")
    elif sure and min(link.top for link in drawn) > min(link.top for link in sure) + 1:
        fail(f"{name} at {column * columns.width}: the uppermost is not drawn")
    elif sure and max(link.bottom for link in drawn) < max(link.bottom for link in sure) - 1:
        fail(f"{name} at {column * columns.width}: the lowest is not drawn")


def check_links(name, view, kind, kinds, wanted):
    """Compare marks with WANTED links. Each mark must be wanted, and each wanted link must be a mark
    unless its column has too many. Then the extent of all is drawn, and in a shaded picture a shade
    says how many they are."""
    marks = kinds.get(kind, [])
    place = Place(marks, "x0", "y0", "x1", "y1")
    for link in wanted:
        link.found = not link.faint and place.find(link.x0, link.y0, link.x, link.y1) is not None
    rest(name, marks, kind)
    inside = Columns([link for link in wanted if link.x <= view.width], view.column, SLACK)
    for column in inside:
        check_column(f"{name}: {kind}", inside, column, view.few)
    # Arrows that end right of the picture have no shade. The first of each column are drawn.
    right = Columns([link for link in wanted if link.x > view.width], view.column, SLACK)
    for column in right:
        enough = min(view.few, len(right.sure(column)))
        if sum(link.found or link.faint for link in right.most(column)) < enough:
            fail(f"{name}: {kind} at {column * view.column}: fewer than {enough} are drawn")
    shades = [mark for mark in kinds.get("shade", []) if mark["of"] == kind]
    if view.shaded:
        check_shades(f"{name}: shade of {kind}", view, shades, inside, view.few)


def step_of(n):
    return min(1 + math.floor(math.log2(n) / 2), STEPS) if n >= 1 else 0


def check_shades(name, view, marks, columns, few):
    """Check that a cell that MANY items of a full column cross has a shade of about their number, and
    that each shaded cell is in a full column and crossed by one of its items."""
    cells = max(view.height // CELL, 1)
    height = view.height / cells
    steps = {}
    for mark in marks:
        step = mark["shade"] * STEPS / 65535
        left, right = mark["x0"] / columns.width, mark["x1"] / columns.width
        top, bottom = mark["y0"] / height, mark["y1"] / height
        if any(not near(n, round(n), 0.01) for n in (step, left, right, top, bottom)) or not 1 <= round(step) <= STEPS:
            fail(f"{name}: no cells are {mark}")
        for column in range(round(left), round(right)):
            for cell in range(round(top), round(bottom)):
                if (column, cell) in steps:
                    fail(f"{name}: two shades at {column * columns.width}, {cell * height:.2f}")
                steps[column, cell] = round(step)

    def crossing(items, cell, by):
        top, bottom = cell * height - by, (cell + 1) * height + by
        return sum(item.top < bottom and item.bottom > top for item in items)

    for (column, cell), step in steps.items():
        most = columns.most(column)
        if len(most) <= few or not crossing(most, cell, 1) or step > step_of(len(most)):
            fail(f"{name}: {step} steps are too many at {column * columns.width}, {cell * height:.2f}")
    for column in columns:
        sure, most = columns.sure(column), columns.most(column)
        for cell in range(cells) if len(sure) > few else ():
            n = crossing(sure, cell, -1)
            if n >= MANY * len(most) and steps.get((column, cell), 0) < step_of(n) - 1:
                fail(f"{name}: too weak for {n} at {column * columns.width}, {cell * height:.2f}")
        if len(sure) > few and not any(steps.get((column, cell)) for cell in range(cells)):
            fail(f"{name}: none at {column * columns.width} for {len(sure)}")


def check_births(name, view, kinds):
    created, becomes = [], []
    for thread in view.threads.values():
        if thread["tid"] == -1:
            continue
        for tid in thread["creates"]:
            child = view.threads[tid]
            x = view.x(child["start"])
            if child["show_creation"] and 0 <= x <= view.width:
                created.append(Link(x, view.row(thread), x, view.row(child)))
        other = view.threads.get(thread["becomes"]) if thread["becomes"] is not None else None
        x = view.x(thread["end"])
        if other and other["y"] != thread["y"] and 0 <= x <= view.width:
            becomes.append(Link(x, view.row(thread), x, view.row(other)))
    check_links(name, view, "creation", kinds, created)
    check_links(name, view, "becomes", kinds, becomes)


def arrow(view, source, begin, target, time):
    """Return an arrow clipped as the picture clips it, or None if it is outside of the picture."""
    if source["tid"] == -1 or target["tid"] == -1 or source["tid"] == target["tid"]:
        return None
    x0, x1 = view.x(begin), view.x(time)
    if x1 < 0 or x0 > view.width or x1 > 2 * view.width:
        return None
    link = Link(x0, view.row(source), x1, view.row(target))
    link.clip(-view.width)
    return link


def check_arrows(name, view, kinds):
    wanted = {"resolve": [], "read": [], "read-failed": [], "try-read": [], "signal": []}
    for thread in view.threads.values():
        for time, kind, tid in thread["interactions"]:
            kind = kind.replace("_", "-")
            other = view.threads[tid]
            if kind == "read":
                kind = "read-failed" if failed(other) else kind
                link = arrow(view, other, min(time, other["end"]), thread, time)
            else:
                begin = min(time, thread["end"]) if kind == "resolve" else time
                link = arrow(view, thread, begin, other, time)
            if link:
                wanted[kind].append(link)
    for kind, links in wanted.items():
        check_links(name, view, kind, kinds, links)


def check_open_ends(name, view, kinds):
    marks = kinds.get("open-end", [])
    place = Place(marks, "x0", "y0")
    for thread in filter(view.seen, view.threads.values()):
        wide = (thread["end"] - thread["start"]) * 1e9 * view.scale
        x = view.x(thread["end"])
        if thread["becomes"] is None and not thread["resolved"] and wide > 3.9 and 0 <= x <= view.width + 6:
            if not place.find(x, view.row(thread), by=2) and wide > 4.1:
                fail(f"{name}: {thread['tid']} has no open end at {x:.2f}, {view.row(thread):.2f}")
    rest(name, marks, "open ends")


def room(view, thread, beside):
    units = thread["y"] - 0.5 + beside * ROW
    if units < 0 or units > view.last:
        return MARGIN
    return abs(view.y(units) - view.row(thread))


def printable(text):
    """Return the printable part of an oracle's text, which has a character for each byte."""
    try:
        decoded = text.encode("latin-1").decode()
    except (UnicodeDecodeError, UnicodeEncodeError):
        return None
    return decoded if decoded.isprintable() else None


def check_labels(name, view, kinds):
    """Check that each label in the picture is one of its thread's labels, and that a thread's only
    label stands there whole if it has room."""
    texts, own = {}, 0
    for mark in kinds.get("label", []):
        texts.setdefault(mark["id"], []).append(mark)
    for thread in filter(view.seen, view.threads.values()):
        x0, x1 = view.x(thread["start"]) + 2, view.x(thread["end"])
        other = view.threads.get(thread["becomes"]) if thread["becomes"] is not None else None
        if other and other["y"] == thread["y"]:
            x1 = view.x(other["start"])
        x0, x1 = max(x0, 4), min(x1, view.width)
        drawn = texts.pop(thread["tid"], [])
        labels = [printable(text) for _, text in thread["labels"]]
        for mark in drawn:
            # The oracle may show a thread's id instead of a label, and its failure.
            if None not in labels and not any(label.startswith(mark["text"][:-1] or mark["text"]) for label in labels):
                fail(f"{name}: {thread['tid']} has no label {mark['text']!r}, but {labels[:5]}")
            if not near(mark["y0"], view.row(thread)) or mark["x0"] < x0 - NEAR or mark["x0"] > x1 + NEAR:
                fail(f"{name}: {mark} is not in {x0:.2f} to {x1:.2f}, {view.row(thread):.2f}")
        for mark, after in zip(drawn, drawn[1:]):
            if mark["x0"] > after["x0"]:
                fail(f"{name}: labels over each other: {mark}, {after}")
        if len(labels) != 1 or not labels[0] or (x1 - x0) / view.letter < len(labels[0]) + 0.1:
            continue
        if view.x(thread["end"]) - view.x(thread["start"]) < 16.1 or room(view, thread, -1) < 1.6 * view.letter + 0.1:
            continue
        x = view.x(thread["labels"][0][0])
        width = len(labels[0]) * view.letter
        at = max(min(x - width / 2, x1 - width), x0)
        if x > view.width:
            continue
        own += 1
        if not any(mark["text"] == labels[0] and near(mark["x0"], at) for mark in drawn):
            fail(f"{name}: {thread['tid']} wants {labels[0]!r} at {at:.2f}, {view.row(thread):.2f}, and has {drawn}")
    if texts:
        fail(f"{name}: labels of threads that are not seen: {list(texts.items())[:2]}")
    return own


def check_counters(name, view, kinds, samples):
    """Check that each sample is on a step of its counter, and every step is at a sample's value."""
    by_item = {}
    for mark in kinds.get("counter", []):
        by_item.setdefault(mark["item"], []).append(mark)
    for item, (counter, ((low, high), values)) in enumerate(sorted(samples.items())):
        before = 0
        heights = set()
        for time, value in values:
            x = view.x(time)
            y = view.height - 5 - (view.height - 10) * (value - low) / (high - low)
            if x > view.width + NEAR:
                break
            if x < 0:
                before = value
                continue
            heights.add(y)
            if not any(near(m["x0"], x, 1.1) and min(m["y0"], m["y1"]) - 0.1 <= y <= max(m["y0"], m["y1"]) + 0.1 for m in by_item.get(item, ())):
                fail(f"{name}: {counter} is not {value} at {x:.2f}, {y:.2f}")
        heights.add(view.height - 5 - (view.height - 10) * (before - low) / (high - low))
        for mark in by_item.get(item, ()):
            if mark["x0"] != mark["x1"] and not any(near(mark["y0"], y, 0.1) for y in heights):
                fail(f"{name}: {counter} has a step at no value: {mark}")


class Word:
    """A label of a thread as shades count it: at X, at the height of the thread's row. The root's
    labels have no row; they count in a column, and shade nothing."""

    def __init__(self, view, thread, time):
        self.x = view.x(time)
        self.top = self.bottom = math.nan if thread["tid"] == -1 else view.row(thread)


def check_label_shades(name, view, kinds):
    """Check the shades of labels, whose columns are twice as wide as those of links. In the oracle's
    model ids and failures are labels, too."""
    words = [
        Word(view, thread, time)
        for thread in view.threads.values()
        for time, text in thread["labels"]
        if text not in (str(thread["tid"]), thread["failure"])
    ]
    columns = Columns([word for word in words if 0 <= word.x <= view.width], 2 * view.column, 0)
    shades = [mark for mark in kinds.get("shade", []) if mark["of"] == "label"]
    check_shades(f"{name}: shade of labels", view, shades, columns, 2 * view.few)


def samples_of(base, model):
    """Return scale and samples of each counter by name, from the original loader's events: absolute
    values, and sums of increases."""
    samples, first = {}, None
    for line in read(base + ".viewer-events.txt").decode("latin-1").splitlines():
        time = float(line.split(" ", 1)[0])
        first = time if first is None else min(first, time)
        found = re.match(r'\S+ (counter|increase) thread=-?\d+ \w+=(-?\d+) counter="(.*)"$', line)
        if not found:
            continue
        values = samples.setdefault(found[3], [])
        value = int(found[2])
        values.append((time, value + values[-1][1] if found[1] == "increase" and values else value))
    scales = {counter["name"]: (counter["scale_min"], counter["scale_max"]) for counter in model["counters"]}
    return {name: (scales[name], [(time - first, value) for time, value in values]) for name, values in samples.items()}


def check_svg(path, name):
    with tempfile.TemporaryDirectory() as directory:
        out = os.path.join(directory, "out.svg")
        subprocess.run([MPROFCTL, "export", path, "--to", "svg", "-o", out], check=True)
        text = open(out, encoding="utf-8").read()
    tree = xml.etree.ElementTree.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    names = [element.tag.replace(space, "") for element in tree.iter()]
    if (
        names.count("title") != 1
        or names.count("desc") != 1
        or set(names) - {"svg", "title", "desc", "style", "defs", "pattern", "path", "g", "text"}
    ):
        fail(f"{name}: elements of the SVG: {set(names)}")
    if "http" in text.replace("http://www.w3.org/2000/svg", "") or "script" in names:
        fail(f"{name}: the SVG refers to something")
    if not any("preexisting" in (element.text or "") for element in tree.iter(space + "text")):
        fail(f"{name}: the SVG has no types")


class Oracle:
    """The original's results for a trace."""

    def __init__(self, trace):
        self.name = trace
        self.base = os.path.join(unpack.REFERENCE if trace in PUBLIC else unpack.HERE, trace)
        threads = [json.loads(line) for line in read(self.base + ".viewer-threads.jsonl").splitlines()]
        self.threads = [{**t, "y": float(t["y"])} for t in threads]
        self.samples = samples_of(self.base, json.loads(read(self.base + ".expected.json"))["viewer"]["model"])
        self.own = 0

    def window(self, window):
        """Return WINDOW with its times in nanoseconds."""
        total = max(thread["end"] for thread in self.threads if thread["tid"] == -1)
        start = round(window[0] * total * 1e9)
        return (start, max(round(window[1] * total * 1e9), start + 1), *window[2:])

    def judge(self, view, window, rows, marks):
        name = f"{self.name} {window}"
        kinds = by_kind(marks)
        if (rows - 1) * ROW != view.last:
            fail(f"{name}: {rows} rows and not up to {view.last}")
        for part in check_lines, check_running, check_bands, check_births, check_arrows, check_open_ends:
            part(name, view, kinds)
        self.own += check_labels(name, view, kinds)
        if view.shaded:
            check_label_shades(name, view, kinds)
        check_counters(name, view, kinds, self.samples)

    def end(self):
        if self.own < 10:
            fail(f"{self.name}: only {self.own} labels were looked at")


def check(trace, directory):
    oracle = Oracle(trace)
    path = os.path.join(directory, os.path.basename(trace) + ".ctf")
    with open(path, "wb") as f:
        f.write(read(oracle.base + ".ctf"))
    for window in WINDOWS:
        view = View(oracle.threads, oracle.window(window))
        oracle.judge(view, window, *marks_of(path, view))
    oracle.end()
    check_svg(path, trace)


def check_painted(page):
    """Check a page's picture of a trace: {trace, letter, rows, windows: [{window, marks}]}."""
    oracle = Oracle(page["trace"])
    for painted in page["windows"]:
        view = View(oracle.threads, painted["window"], page["letter"], shaded=True)
        oracle.judge(view, painted["window"], page["rows"], painted["marks"])
    oracle.end()


def main():
    if DUMP == "--windows":
        print(json.dumps({trace: [Oracle(trace).window(window) for window in WINDOWS] for trace in TRACES}))
    elif DUMP == "--judge":
        check_painted(json.load(sys.stdin))
    else:
        with tempfile.TemporaryDirectory() as scratch:
            for trace in TRACES:
                check(trace, scratch)
    sys.exit(1 if failures else 0)


main()
