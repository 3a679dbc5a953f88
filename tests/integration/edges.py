"""Take random rows of the archive out of service, also at the edges of captures: bytes, gaps and cuts add up to what the
marks of each capture say, in every answer: edges.py BUILD-DIRECTORY [TEST…]

MPROF_SEED repeats a run. The archive's writer makes all guests in one archive, and `mprofd --fsck` repairs it once, so a case
costs no daemon of its own.
"""

import contextlib
import os
import random
import re
import sqlite3
import subprocess
import sys
import time

import daemons
from daemons import START, event, program

GUESTS = 40 if os.environ.get("MPROF_BRIEF") else 120
EVENT = len(event(1, 1))
SAID = GUESTS // 4  # captures that mprofctl fetches
ROOM = 4096
# Members of a capture that its list has with the same values: not what a reader finds meanwhile.
SAME = ("id", "run", "domain", "kind", "time", "note", "marks", "version", "complete", "streams", "lost_packets")
STEP = 1000000  # ns between the first events of two packets


class Guest:
    """A dead guest of one stream, as the test writes it."""

    def __init__(self, number, draw):
        self.number, self.name, self.captures = number, f"g{number}", {}
        self.lapped = set()  # packets that a gap declares, and that were never archived
        self.cut = set()  # packets of which a part was archived; a gap declares the rest
        self.lines = [f"run {number} xen key{number} {self.name} - -1 ended crash", f"stream {number} {number} 0 65536 8 0"]
        self.ends = {}  # chunk ends of each packet
        packets = draw.randint(1, 7)
        for sequence in range(packets):
            if 0 < sequence < packets - 1 and draw.random() < 0.15:
                self.lapped.add(sequence)
                self.lines.append(f"gap {number} lost lapped {sequence} {START} {sequence + 1} 1 0")
            else:
                is_cut = 0 < sequence < packets - 1 and draw.random() < 0.2
                self.write_packet(draw, sequence, sequence < packets - 1 and not is_cut)
                if is_cut:
                    self.cut.add(sequence)
            if sequence in self.ends and draw.random() < 0.4:
                self.capture(draw.choice(("manual", "periodic")), draw.randint(0, sequence), sequence, self.ends[sequence][-1], 0)
            if sequence in self.cut:
                self.lines.append(f"gap {number} lost queue {sequence} {self.ends[sequence][-1]} {sequence + 1} 1 0")
        self.capture("crash", 0, packets - 1, self.ends[packets - 1][-1], draw.choice((0, 0, 1, 2, 3)))

    def write_packet(self, draw, sequence, complete):
        at, ends = START, []
        pieces = draw.randint(1, 3)
        for piece in range(pieces):
            n = draw.randint(1, 5)
            flags = 1 if complete and piece == pieces - 1 else 0
            times = [STEP * (sequence + 1) + 1000 * ((at - START) // EVENT + i) for i in range(n)]
            ends.append(at + n * EVENT)
            self.lines.append(
                f"piece {self.number} {sequence} {at} {flags} {ROOM} {STEP * (sequence + 1)} {ends[-1]} {b''.join(event(t, 1) for t in times).hex()}"
            )
            at = ends[-1]
        self.ends[sequence] = ends

    def capture(self, kind, first, last, offset, tails):
        ident = 100 * self.number + len(self.captures)
        self.lines.append(f"capture {ident} {self.number} {kind} -")
        for i in range(tails):
            sequence, at = (last, offset) if i == 0 else (last + i, START)
            first_time = STEP * (sequence + 1)
            times = [first_time + 1000 * ((at - START) // EVENT + k) for k in range(2)]
            self.lines.append(f"tail {ident} {self.number} {sequence} {at} {ROOM} {first_time} {b''.join(event(t, 2) for t in times).hex()}")
        self.lines.append(f"range {ident} {self.number} {first} {last} {offset}")
        self.captures[ident] = (first, last, offset, [(last + i, offset if i == 0 else START) for i in range(tails)])


def covered(gaps, kind="lost"):
    """Return the packets that GAPS declare, wholly or in part."""
    out = set()
    for gap in gaps:
        if gap["kind"] == kind:
            assert gap["packets"] == gap["next_sequence"] - gap["after_sequence"], gap
            out.update(range(gap["after_sequence"], gap["next_sequence"]))
    return out


class Sums(daemons.Case):
    """Sums to which the answers of a server must add up. The server is self.d, and the archive is that of self.host."""

    def setUp(self):
        super().setUp()
        self.seed = int(os.environ.get("MPROF_SEED", time.time_ns() % 2**32))
        self.draw = random.Random(self.seed)
        self.addCleanup(
            lambda: print(f"MPROF_SEED={self.seed}", file=sys.stderr) if self._outcome.result.failures or self._outcome.result.errors else None
        )

    def use(self, host):
        """Make HOST the host and the server."""
        self.d = self.host = host
        self.path = os.path.join(host.state, "archive/trace.db")

    def key(self, ident):
        """Return what the server calls the capture IDENT."""
        return str(ident)

    def archive(self, lines):
        done = subprocess.run(
            [program("archive-driver"), self.host.state],
            input="\n".join(["begin", *lines, "commit", ""]),
            capture_output=True,
            text=True,
            timeout=daemons.HANGS,
        )
        self.assertEqual(set(done.stdout.split()), {"ok"}, done.stderr)

    def damage(self, choose):
        """Flip a bit of each row of chunks and tails that CHOOSE returns true for. Return the rows, by stream and table."""
        flipped = {}
        with contextlib.closing(sqlite3.connect(self.path, isolation_level=None)) as db:
            db.execute("BEGIN")
            for table in ("chunks", "tails"):
                rows = db.execute(f"SELECT id, stream, sequence, offset, length, data FROM {table}").fetchall()
                for row, stream, sequence, offset, length, data in rows:
                    if choose(table, stream, sequence, offset):
                        bad = bytearray(data)
                        bad[-1] ^= 4
                        db.execute(f"UPDATE {table} SET data = ? WHERE id = ?", (bytes(bad), row))
                        flipped.setdefault((stream, table), []).append((sequence, offset, length))
            db.execute("COMMIT")
        return flipped

    def take(self):
        """Take whole rows of all tables of captures away. Return what is gone."""
        gone = {"bad": {}, "gaps": set(), "ranges": set(), "lists": set(), "captures": set(), "flipped": set(), "streams": set(), "runs": set()}
        tables = {
            "chunks": ("id, stream, sequence, offset, length", 0.06),
            "tails": ("id, stream, sequence, offset, length", 0.15),
            "gaps": ("id, stream, after_sequence", 0.3),
            "capture_streams": ("capture, capture, stream", 0.25),
            "capture_lists": ("capture, capture", 0.15),
            "captures": ("id, id", 0.05),
        }
        # Columns that may be flipped in a row that stays.
        flips = {
            "gaps": ("packets = packets + 4", "kind = 'skipped'", "next_sequence = next_sequence + 1", "after_sequence = after_sequence + 1"),
            "captures": ("real = real + 1", "context = 'x'", "kind = 'crasi'", "note = note || 'x'", "marks = 'x'", "mono = mono + 7"),
            "streams": (
                "held = held + 1",
                "lost_packets = 9",
                "name = 'x'",
                "oldest = coalesce(oldest, 0) + 5",
                "newest = coalesce(newest, 0) + 1",
                "flags = 3",
            ),
            "runs": ("name = name || 'x'", "uuid = 'x'", "state = 'runnind'", "ended_real = 3", "source = 'dis'"),
        }
        with contextlib.closing(sqlite3.connect(self.path, isolation_level=None)) as db:
            db.execute("BEGIN")
            for table, (columns, share) in tables.items():
                for row in db.execute(f"SELECT {columns} FROM {table}").fetchall():
                    if self.draw.random() >= share:
                        continue
                    key = "id" if columns.startswith("id") else "capture"
                    if table.startswith("capture_") and self.draw.random() < 0.5:
                        db.execute(f"UPDATE {table} SET checksum = zeroblob(16) WHERE {key} = ?", row[:1])
                    elif table == "gaps" and self.draw.random() < 0.5:
                        db.execute(f"UPDATE gaps SET {self.draw.choice(flips[table])} WHERE id = ?", row[:1])
                    else:
                        db.execute(f"DELETE FROM {table} WHERE {key} = ?", row[:1])
                    if table in ("chunks", "tails"):
                        gone["bad"].setdefault((row[1], table), []).append(row[2:])
                    else:
                        gone[table.removeprefix("capture_").replace("streams", "ranges")].add(row[1] if len(row) == 2 else row[1:])
            for table, share in ("captures", 0.1), ("streams", 0.1), ("runs", 0.1):
                for (row,) in db.execute(f"SELECT id FROM {table}").fetchall():
                    if self.draw.random() < share:
                        db.execute(f"UPDATE {table} SET {self.draw.choice(flips[table])} WHERE id = ?", (row,))
                        gone["flipped" if table == "captures" else table].add(row)
            db.execute("COMMIT")
        return gone

    def repair(self):
        done = subprocess.run([program("mprofd"), "--fsck", "--state", self.host.state], capture_output=True, text=True, timeout=300)
        self.assertIn(done.returncode, (0, 1), done.stdout + done.stderr)
        return done.stdout + done.stderr

    # ---- one capture

    def listed(self, path):
        """Return the packets and gaps of all pages of PATH, with at most two packets on each; None if it is gone."""
        packets, gaps, cursor = {}, [], ""
        while True:
            status, _, body = self.d.ask(f"{path}/packets?limit=2{cursor}")
            if status == 410:
                return None
            self.assertEqual(status, 200, body)
            page = daemons.json.loads(body)
            packets.update((packet["sequence"], packet) for packet in page["packets"])
            gaps += page["gaps"]
            if not page["next"]:
                return packets, gaps
            cursor = f"&cursor={page['next']}"

    def check_capture(self, guest, ident, flipped, undeclared=frozenset(), whole_rows=False, lacks=False):
        """UNDECLARED: lapped and cut packets whose gap is gone. WHOLE_ROWS: rows are gone, and not flipped. LACKS: the row of the capture or of its stream was
        flipped."""
        first, last, offset, tails = guest.captures[ident]
        bad, bad_tails = flipped.get((guest.number, "chunks"), []), flipped.get((guest.number, "tails"), [])
        damaged = {s for s, at, _ in bad if first <= s < last or (s == last and at < offset)}
        # Only a capture that ends in a cut packet tells that it had more bytes before its gap, unless all are gone, or some behind them are left.
        untold = {s for s in guest.cut - undeclared if s < last and s in damaged and self.lacks_end(bad, guest, s)} if whole_rows else set()
        damaged -= untold
        left_tails = [t for t in tails if not any(t >= (s, at) for s, at, _ in bad_tails)]
        if whole_rows:  # behind a missing row the others stay, and nothing says how many are missing
            left_tails = [t for t in tails if not any(t == (s, at) for s, at, _ in bad_tails)]
        unsure = whole_rows and left_tails != tails
        complete = not lacks and not damaged and left_tails == tails and not any(first <= s < last + (s in guest.lapped) for s in undeclared)
        gone = not any(s in guest.ends and (s not in damaged or self.left(bad, guest, s)) for s in range(first, last + 1)) and not any(
            s > last for s, _ in left_tails
        )
        lost = (
            damaged
            | {s for s in guest.lapped | guest.cut if first <= s < last + (s in guest.lapped)}
            | ({s for s, _ in tails} - {s for s, _ in left_tails})
        )
        path, what = f"/v1/captures/{self.key(ident)}", (self.seed, guest.name, ident, guest.captures[ident], bad, bad_tails)
        says = self.d.json(path)["complete"]
        self.assertIn(says, (complete, complete and not untold), what)
        complete = says
        status, headers, body = self.d.ask(f"{path}/trace")
        found, tar = self.listed(path), self.d.ask(f"{path}/ctf.tar")
        self.assertEqual([status == 410, found is None, tar[0] == 410], 3 * [gone], (what, status, found, tar[0]))
        if gone:
            return
        packets, gaps = found
        self.assertEqual(len(body), sum(packet["bytes"] for packet in packets.values()), what)
        # Behind the end of a capture without a tail a gap may go on.
        end = last + 1 if whole_rows and not tails else last + 9
        found, told = covered(gaps) & set(range(first, end)), headers["Mprof-Lost-Packets"]
        if unsure:
            # A packet that is missing at an end of the tail is declared as "so many or more" behind what is left.
            inner = {s for s in lost if s <= last or any(s < left for left, _ in left_tails)} - ({s for s, _, _ in bad_tails} & {last})
            self.assertLessEqual(inner, found, (what, gaps))
            self.assertTrue(found and told.endswith("+") and int(told[:-1]) >= len(inner), (what, told, gaps))
        elif lacks:  # more may be declared: nothing says how much is missing
            self.assertLessEqual(lost, found, (what, gaps))
            self.assertGreaterEqual(int(told.rstrip("+")), len(lost), (what, gaps))
        else:
            self.assertEqual((found, told), (lost, str(len(lost))), (what, gaps))
        self.assertEqual([headers["Mprof-Complete"], tar[1]["Mprof-Complete"]], 2 * [str(complete).lower()], what)
        buckets = self.d.json(f"{path}/packets?buckets=3")["buckets"]
        if buckets and not unsure and not lacks:
            self.assertEqual(sum(bucket["lost_packets"] for bucket in buckets), len(lost), (what, gaps))
        for sequence in range(first, last + 1):
            end = packets[sequence]["bytes"] - packets[sequence]["tail_bytes"] + packets[sequence]["cut"] if sequence in packets else 0
            whole = end >= offset if sequence == last else sequence in packets and packets[sequence]["complete"]
            self.assertTrue(whole or any(g["after_sequence"] <= sequence < g["next_sequence"] for g in gaps), (what, sequence, packets, gaps))

    def left(self, bad, guest, sequence):
        """Return whether rows of the packet SEQUENCE are left before its first row in BAD."""
        return min(at for s, at, _ in bad if s == sequence) > START

    def lacks_end(self, bad, guest, sequence):
        """Return whether the rows of the packet SEQUENCE in BAD are its last ones, and not all."""
        begins, missing = [START, *guest.ends[sequence][:-1]], sorted(at for s, at, _ in bad if s == sequence)
        return missing == begins[-len(missing) :] and len(missing) < len(begins)

    def check_said(self, ident):
        """mprofctl's notes and its exit code say what the answers say."""
        path = f"/v1/captures/{self.key(ident)}"
        status, headers, body = self.d.ask(f"{path}/trace")
        code, said = self.fetch(ident)
        self.assertEqual(code == 0, status == 200, (self.seed, ident, code, said))
        if status != 200:
            self.assertIn("damaged on the disk", said)
            return
        with open(f"{ident}.ctf", "rb") as f:
            self.assertEqual(f.read(), body, (self.seed, ident))
        lost, cut = headers["Mprof-Lost-Packets"], headers["Mprof-Cut"]
        self.assertEqual(f"note: {lost} packets of this trace are lost" in said, lost != "0", (self.seed, ident, said))
        self.assertEqual("note: the capture is not complete" in said, headers["Mprof-Complete"] == "false", (self.seed, ident, said))
        self.assertEqual("note: an unproven tail was cut" in said, cut is not None, (self.seed, ident, said))

    def fetch(self, ident):
        """Return the exit code of mprofctl fetch, and what it says."""
        words = [program("mprofctl"), "--host", f"unix:{self.d.socket}", "fetch", f"capture:{self.key(ident)}", "-o", f"{ident}.ctf"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=daemons.HANGS)
        return done.returncode, done.stderr

    def check_list(self, idents):
        """The list says of each capture what the capture says of itself."""
        listed = {str(capture["id"]): capture for capture in self.d.json("/v1/captures?limit=1000")["captures"]}
        self.assertLessEqual({self.key(ident) for ident in idents}, set(listed), self.seed)
        for ident, capture in listed.items():
            found = self.d.json(f"/v1/captures/{ident}")
            self.assertEqual({k: v for k, v in capture.items() if k in SAME}, {k: v for k, v in found.items() if k in SAME}, self.seed)

    def modes(self, guests):
        """Choose for each guest which rows are damaged: none, a packet at either end, all, or any. Return a function of a row."""
        modes = {guest.number: self.draw.choice(("none", "first", "last", "all", "any", "any", "tail")) for guest in guests}
        newest = {guest.number: max(guest.ends) for guest in guests}

        def choose(table, stream, sequence, offset):
            mode = modes[stream]
            if mode in ("first", "last"):
                return table == "chunks" and sequence == (0 if mode == "first" else newest[stream]) and (self.draw.random() < 0.7 or offset == START)
            return mode == "all" or (mode == "tail" and table == "tails" and self.draw.random() < 0.6) or (mode == "any" and self.draw.random() < 0.3)

        return choose

    def check_rows(self, guests, gone):
        """Check the captures of GUESTS, where whole rows are GONE."""
        there = set()
        for guest in guests:
            undeclared = {sequence for stream, sequence in gone["gaps"] if stream == guest.number}
            for ident in guest.captures:
                path = f"/v1/captures/{self.key(ident)}"
                if ident in gone["captures"]:
                    self.assertEqual(self.d.ask(path)[0], 404, (self.seed, ident))
                elif ident in gone["lists"]:
                    # Another stream may have been in the list.
                    self.assertFalse(self.d.json(path)["complete"], (self.seed, ident))
                    status, headers, _ = self.d.ask(f"{path}/trace")
                    range_gone = (ident, guest.number) in gone["ranges"]
                    self.assertTrue(
                        status == 410 or (status == 200 and not range_gone and headers["Mprof-Complete"] == "false"), (self.seed, ident, status)
                    )
                else:
                    lacks = ident in gone["flipped"] or guest.number in gone["streams"]
                    self.check_capture(guest, ident, gone["bad"], undeclared, whole_rows=True, lacks=lacks)
                if ident not in gone["captures"]:  # a false name would show the guest to whoever may read that name
                    there.add(ident)
                    name = f"saved-{guest.number}" if guest.number in gone["runs"] else guest.name
                    self.assertEqual(self.d.json(path)["domain"], name, (self.seed, ident))
        self.check_list(there)


class Edges(Sums):
    def setUp(self):
        super().setUp()
        self.use(self.enterContext(daemons.Daemons()))

    def test_add_up(self):
        guests = [Guest(i + 1, self.draw) for i in range(GUESTS)]
        self.archive([line for guest in guests for line in guest.lines])
        flipped = self.damage(self.modes(guests))
        self.repair()
        self.d.start_server()
        for guest in guests:
            for ident in guest.captures:
                self.check_capture(guest, ident, flipped)
            self.check_run(guest, flipped)
        idents = [ident for guest in guests for ident in guest.captures]
        self.check_list(idents)
        for ident in self.draw.sample(idents, SAID):
            self.check_said(ident)

    def test_rows_taken_away(self):
        """Whole rows of the tables of captures are gone, or flipped: what a capture's marks say is there, or declared."""
        guests = [Guest(i + 1, self.draw) for i in range(GUESTS)]
        self.archive([line for guest in guests for line in guest.lines])
        gone = self.take()
        with contextlib.closing(sqlite3.connect(self.path)) as db:
            left = "SELECT capture FROM capture_lists UNION SELECT capture FROM capture_streams UNION SELECT capture FROM tails"
            strays = db.execute(f"SELECT count(*) FROM ({left}) WHERE capture NOT IN (SELECT id FROM captures)").fetchone()[0]
        said = self.repair()
        self.d.start_server()
        self.check_rows(guests, gone)
        # Each kind of row that was flipped or is gone is told.
        for table, rows in (
            ("gaps", gone["gaps"]),
            ("captures", gone["captures"] | gone["flipped"]),
            ("streams", gone["streams"]),
            ("runs", gone["runs"]),
        ):
            told = re.search(rf"table={table} damaged=(\d+) lost=(\d+)", said)
            self.assertEqual(sum(map(int, told.groups())) if told else 0, len(rows), (self.seed, table, said))
        # If the list and the range are gone, too, nothing is left that tells of the capture.
        if strays:
            self.assertIn(f"Captures are lost, because their rows are missing in the archive: captures={strays}", said)

    def check_run(self, guest, flipped):
        """The same for the whole run, and for times in it."""
        bad, bad_tails = flipped.get((guest.number, "chunks"), []), flipped.get((guest.number, "tails"), [])
        tails = next(c[3] for c in reversed(guest.captures.values()))
        left_tails = [t for t in tails if not any(t >= (s, at) for s, at, _ in bad_tails)]
        damaged = {s for s, _, _ in bad}
        path = f"/v1/domains/{guest.name}"
        status, headers, body = self.d.ask(f"{path}/trace")
        self.assertEqual(status, 200, (self.seed, guest.name, body))
        lost = damaged | guest.lapped | guest.cut | {s for s, _ in tails[len(left_tails) :]}
        found = covered(self.listed(path)[1])
        self.assertEqual(found, lost, (self.seed, guest.name, bad, bad_tails))
        # A tail may lack a part of the last packet, of which a part of the chunks is missing, too.
        self.assertGreaterEqual(int(headers["Mprof-Lost-Packets"]), len(lost), (self.seed, guest.name))
        for sequence in sorted(damaged):
            time_lost = STEP * (sequence + 1)
            found = self.d.ask(f"{path}/trace?from={time_lost}&to={time_lost + STEP - 1}")
            self.assertNotEqual(found[1]["Mprof-Lost-Packets"], "0", (self.seed, guest.name, sequence, bad))

    def test_said(self):
        """mprofctl says that packets of a capture are missing, or that nothing of it is left."""
        draw = random.Random(5)
        guests = [Guest(1, draw), Guest(2, draw), Guest(3, draw)]
        self.archive([line for guest in guests for line in guest.lines])
        whole, first, none = (max(guest.captures) for guest in guests)
        self.damage(lambda table, stream, sequence, offset: stream == 3 or (stream == 2 and table == "chunks" and sequence == 0))
        self.repair()
        self.d.start_server()

        code, said = self.fetch(whole)
        self.assertEqual((code, "not complete" in said), (0, False), said)
        code, said = self.fetch(first)
        self.assertEqual(code, 0, said)
        self.assertIn("packets of this trace are lost", said)
        self.assertIn("the capture is not complete", said)
        code, said = self.fetch(none)
        self.assertNotEqual(code, 0, said)
        self.assertIn("damaged on the disk", said)


if __name__ == "__main__":
    daemons.main()
