"""Measure the bytes written to disk for each archived byte, for a guest that writes 10 KB/s.

The benchmark fails if the archive's packets and gaps do not follow each other, or if it is empty.
"""

import subprocess
import time

from collector import BRIEF, BUILD, Collector, check_sequences, content_bytes, line, query, wrong

SECONDS = 5 if BRIEF else 60
EVENTS_PER_SECOND = 400  # each has about 25 bytes


def main():
    with Collector() as collector:
        before = collector.written()
        guest = [f"{BUILD}/client/recorder/demo/mprof-demo-guest", "--ring", "rings/trickle.ctf"]
        subprocess.run([*guest, "--rate", str(EVENTS_PER_SECOND), "--seconds", str(SECONDS)], check=True)
        time.sleep(3)
        written = collector.written() - before
    archived = content_bytes()
    if not archived:
        wrong("nothing was archived")
    check_sequences()
    lost = query("SELECT sum(lost_packets) FROM streams")[0][0]
    # The peer appends to a plain file once a second, a block each time.
    peer = max(1.0, SECONDS * 4096 / archived)
    line("trickle-written", written / archived, "bytes on disk per byte", peer=peer)
    line("trickle-lost", lost, "packets", aim=0, met=lost == 0)


main()
