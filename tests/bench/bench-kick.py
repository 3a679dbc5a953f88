"""Measure the time from a kick to the copy, for a guest with an event channel whose idle ring would
be polled once a second; and the time from a guest's end until none of its pages is mapped, which the
contract limits to a second.

The store is real, grants and event channels are simulated (tests/xen). The benchmark fails if a
kick causes no copy, or if a page stays mapped.
"""

import contextlib
import statistics
import time

from collector import BRIEF, line, wrong
from dom0 import Dom0

KICKS = 20 if BRIEF else 200
PACKETS = 16
PORT = 3
ENDS = 4 if BRIEF else 40


def ends(stack, dom0):
    """Let guests crash, and withdraw their rings, in turns."""
    took = []
    for domid in range(2, 2 + ENDS):
        guest = dom0.guest(domid, f"ends{domid}")
        ring = guest.ring(size=1 << 20)
        stack.callback(ring.close)
        ring.add(50)
        guest.publish(ring)
        dom0.daemons.wait(lambda guest=guest: dom0.daemons.domain(guest.name) and guest.mapped())
        since = time.monotonic_ns()
        if domid % 2:
            since = guest.stop("crashed")
        else:
            guest.withdraw()
        dom0.daemons.wait(lambda guest=guest: not guest.mapped())
        took.append((guest.unmapped_at() - since) / 1e6)
    line("end-to-unmapped", statistics.median(took), "ms", aim=1000, met=max(took) <= 1000)
    line("end-to-unmapped-most", max(took), "ms")


def main():
    kicked = []
    with contextlib.ExitStack() as stack:
        dom0 = Dom0(stack, "[collector]\nflush-interval = 10ms\n[archive]\nfree-space = 1M\nreserve = 0\n")
        daemons, guest = dom0.daemons, dom0.guest(1, "kicks")
        ring = guest.ring(size=PACKETS * 1024, packets=PACKETS)
        stack.callback(ring.close)
        ring.add(5)
        guest.publish(ring, port=PORT)
        daemons.wait(lambda: daemons.domain("kicks") and guest.port(PORT))
        for _ in range(KICKS):
            time.sleep(0.1)
            ring.add_packet()  # this kick proves the packet before it
            kicked.append(guest.kick(PORT))

        def copies():
            """Return when each packet's last byte was copied."""
            rows = (p["copied"] for page in daemons.packets("kicks") for p in page["packets"])
            return sorted(int(copied["last"]["mono"]) for copied in rows if copied)

        ends(stack, dom0)
        copied = daemons.wait(lambda: (found := copies()) and found[-1] >= kicked[-2] and found)
    took = sorted(min(at - kick for at in copied if at >= kick) / 1e6 for kick in kicked[:-1] if copied[-1] >= kick)
    if len(took) < KICKS - 1:
        wrong(f"{len(took)} of {KICKS} kicks were answered")
    line("kick-to-copy", statistics.median(took), "ms", aim=5, met=statistics.median(took) <= 5)
    line("kick-to-copy-99%", took[int(len(took) * 0.99)], "ms")


main()
