"""Slice events of exported traces, and the events they must hold: those that `mprofctl dump --json`
prints."""

import collections

SENT = ("signal", "signal_noswitch")
# For each event the keys of the acting thread and the other thread.
KEYS = {
    "creates": ("parent", "child"),
    "read": ("reader", "source"),
    "try_read": ("reader", "source"),
    "read_later": ("reader", "source"),
    "fulfills": ("resolver", "resolvee"),
    "fails": ("resolver", "resolvee"),
    "becomes": ("thread", "main"),
    "signal": ("sender", "receiver"),
    "signal_noswitch": ("sender", "receiver"),
    "label": ("thread",),
    "switch": ("thread",),
    "counter": ("thread",),
    "increase": ("thread",),
}
TYPES = "Wait Task Bind Try Choose Pick Join Map Condition On_success On_failure On_termination On_any Ignore_result Async".split()


class Track:
    def __init__(self, uuid, name, parent, kind="thread"):
        self.uuid, self.name, self.parent, self.kind = uuid, name, parent, kind
        self.pid = self.scale = None


class SliceEvent:
    def __init__(self, kind, track, time, category, name, notes, flow, value, thread=None, life=None):
        self.kind, self.track, self.time, self.category, self.name = kind, track, time, category, name
        self.notes, self.flow, self.value, self.thread, self.life = notes, flow, value, thread, life


def event_of(act):
    """Return the event of slice event ACT, as `dump --json` prints it, or None."""
    if act.kind == "end" or act.category not in KEYS and act.category != "gc":
        return None
    event = {"time_ns": str(act.notes.get("time_ns", act.time) % (1 << 64)), "event": act.category}
    ids = [act.notes.get("thread"), act.notes.get("other")]
    event.update(zip(KEYS.get(act.category, ()), ids))
    if act.category == "creates":
        event["type"] = act.notes["type"]
    elif act.category == "label":
        event["label"] = act.name
    elif act.category == "fails":
        event["exn"] = act.notes["failure"]
    elif act.category in ("counter", "increase"):
        event["counter"] = act.name
        if act.category == "counter":
            event["value"] = act.value
        else:
            event["amount"] = act.notes.get("amount")
    elif act.category == "gc":
        event["duration_ns"] = str(act.notes["duration_ns"] % (1 << 64))
        event["time_ns"] = None  # the time of its end, set there
    return event


def events(slice_events):
    """Return all events. A collection's time is that of its slice's end, and it begins its duration before."""
    found, open_gc = [], collections.defaultdict(list)
    for act in slice_events:
        event = event_of(act)
        if event and act.category == "gc":
            open_gc[act.track].append((event, act))
        if act.kind == "end" and open_gc[act.track]:
            gc, begin = open_gc[act.track].pop()
            gc["time_ns"] = str(begin.notes.get("time_ns", act.time))
            assert begin.time == max(0, act.time - int(gc["duration_ns"])), "a collection's beginning"
        if event:
            found.append(event)
    return found


def wholes_last(found):
    """Return the events FOUND in order, with the collections behind all others, by their ends."""
    late = [e for e in found if e["event"] == "gc"]
    return [e for e in found if e["event"] != "gc"] + sorted(late, key=lambda e: (int(e["time_ns"]), int(e["duration_ns"])))


class Slices:
    """Slices in order of the file, nested on each track. The lives are separate if the format
    separates them."""

    def __init__(self, slice_events):
        self.lives, self.runs, self.open = {}, [], collections.defaultdict(list)
        self.others = []
        for act in slice_events:
            stack = self.open[(act.track, bool(act.life))]
            if act.kind == "begin":
                stack.append(act)
            elif act.kind == "end":
                assert stack, f"an end without a beginning on {act.track.name}"
                self.close(stack.pop(), act)
        left = [track.name for (track, _), stack in self.open.items() if stack]
        assert not left, f"slices without an end on {left[:5]}"

    def close(self, begin, end):
        assert begin.time <= end.time
        if begin.category in ("life", "creates"):
            assert begin.track not in self.lives, "two lives on one track"
            self.lives[begin.track] = begin, end
        elif begin.category in ("run", "switch"):
            self.runs.append((begin, end))
        else:
            self.others.append((begin, end))


def check_flows(slice_events):
    """Check that each flow begins once and ends once, not before its beginning."""
    open_flows, seen = {}, set()
    for act in slice_events:
        if not act.flow:
            continue
        way, number = act.flow
        assert act.kind == "instant" and number
        if way == "begins":
            assert number not in seen, "a flow begins twice"
            seen.add(number)
            open_flows[number] = act
        else:
            begin = open_flows.pop(number)
            assert begin.time == act.time and {begin.category, act.category} & {"target"} and begin.category != act.category
    assert not open_flows, f"{len(open_flows)} flows without an end"
    return len(seen)
