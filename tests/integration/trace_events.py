"""Write events and streams of a trace (schema/ctf), for tests that need a trace of their own."""

import struct

import rings

CREATES, READ, FULFILLS, FAILS, BECOMES, LABEL, INCREASE, SWITCH, GC, SIGNAL, TRY_READ, COUNTER = range(12)
TEXTS = {FAILS, LABEL, INCREASE, COUNTER}
TASK, CONDITION = 1, 8


def event(time, kind, *numbers, text=b""):
    """Return the bytes of an event of KIND at TIME, ns; the last number of a `creates` is the type."""
    body = b"".join(struct.pack("<q", number) for number in numbers[: 2 if kind == CREATES else None])
    body += bytes(numbers[2:3]) if kind == CREATES else b""
    return struct.pack("<QB", time, kind) + body + (text + b"\0" if kind in TEXTS else b"")


def stream(events, room=4096):
    """Return EVENTS as packets of ROOM bytes, in the order of their counts."""
    bodies = [b""]
    for one in events:
        if rings.START + len(bodies[-1]) + len(one) >= room:
            bodies.append(b"")
        bodies[-1] += one
    return rings.image(bodies, [room] * len(bodies))
