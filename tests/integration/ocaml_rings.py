"""Write ring files of OCaml 5's runtime events (schema/runtime-events.md)."""

import struct

WORDS = 1 << 10  # of a ring
NAMES = 8192
NAME_BYTES = 128
LIFECYCLE, BEGIN, END, COUNTER = 1, 2, 3, 4
USER_INT = 1
START, STOP, FORK_PARENT, FORK_CHILD = 0, 1, 4, 5


def item(time, kind, number, *data, user=False):
    """Return the words of an item: of KIND, with the id NUMBER and the words DATA."""
    head = (2 + len(data)) << 54 | user << 53 | kind << 49 | number << 36
    return [head, time, *(word & (1 << 64) - 1 for word in data)]


def ring_file(rings, names=(), size=None):
    """Return the bytes of a file of SIZE rings; RINGS are lists of items. NAMES are those of user events."""
    size = size or len(rings)
    data = 64 + 80 * size
    names_at = data + 8 * WORDS * size
    out = bytearray(names_at + NAMES * NAME_BYTES)
    struct.pack_into("<8Q", out, 0, 1, size, 80, 8 * WORDS, WORDS, 64, data, names_at)
    for i, items in enumerate(rings):
        words = [word for one in items for word in one]
        if len(words) >= WORDS:
            raise ValueError("the items do not fit")
        struct.pack_into("<2Q", out, 64 + 80 * i, 0, len(words))
        struct.pack_into(f"<{len(words)}Q", out, data + 8 * WORDS * i, *words)
    for i, name in enumerate(names):
        place = names_at + NAME_BYTES * i
        out[place : place + len(name)] = name.encode()
    return bytes(out)
