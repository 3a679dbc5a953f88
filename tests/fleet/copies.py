"""A capture of the hub, copied into an archive, is the host's own: copies.py BUILD-DIRECTORY [TEST…]"""

import contextlib
import os
import random
import sqlite3
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "integration")]

import psycopg2

import daemons
import edges
import fleethost
import sender
import turns
from daemons import Ring

LOST, ABSENT, REFUSED, DISK = 1, 2, 3, 4  # enum copy_condition
AT = 1_780_000_000_000_000_000
GUESTS, RANDOM = (4, 15) if turns.BRIEF else (12, 60)  # guests with damaged rows, captures of random pieces


def setUpModule():
    fleethost.setUpModule()
    fleethost.FLEET.person_add("reader", "fleet_read")
    fleethost.FLEET.person_add("people", "fleet_read", "fleet_note", "fleet_pin", "fleet_http")


class Copy(daemons.Daemons):
    """A server on the copy of a capture."""

    def __init__(self, host, capture):
        os.makedirs(f"copy{capture}")
        with contextlib.chdir(f"copy{capture}"):
            super().__init__()
        month, archive = host.hub(f"SELECT month, archive FROM fleet_store.capture WHERE host = $HOST AND capture = {capture}")[0]
        os.makedirs(self.state, exist_ok=True)
        self.code, self.sentence = copy(host.name, month, archive, capture, self.state)

    def start(self):
        self.start_server()


def copy(host, month, archive, capture, state, most=1 << 30):
    """Return the outcome of the copy of one capture, and its sentence."""
    return copy_all([(host, month, archive, str(capture), state)], most)[0]


def copy_all(captures, most=1 << 30):
    """Copy CAPTURES, each with the directory of its copy, by one start of the program. Return for each the outcome and its sentence."""
    arguments = [fleethost.FLEET.connection("reader"), str(most), *(word for capture in captures for word in capture)]
    done = subprocess.run([os.path.join(daemons.BUILD, "tests/fleet/fleet-copy"), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    outcomes = [line.partition(" ")[::2] for line in done.stdout.splitlines()]
    return [(int(code), sentence) for code, sentence in outcomes]


class Honest(fleethost.Case):
    maxDiff = None

    def compare(self, host, capture):
        """Everything that a server says of the capture and its copy is equal."""
        base = f"/v1/captures/{capture}"
        with Copy(host, capture) as copied:
            self.assertEqual((copied.code, copied.sentence), (0, ""))
            copied.start()
            # Each server's reader looks at the capture once it is asked for. Sanitizers need more than it may have.
            seen = lambda server: (one := server.json(base)) and (daemons.sanitized() or one.get("damages", 0) is not None) and one
            own, other = (server.wait(lambda s=server: seen(s)) for server in (host, copied))
            self.assertEqual(own, other | {"pinned": own["pinned"], "note": own["note"]})
            context = host.json(f"{base}/context")
            self.assertEqual(context, copied.json(f"{base}/context"))
            for stream in own["streams"]:
                query = f"?stream={stream['stream']}"
                self.assertEqual(host.get(f"{base}/trace{query}"), copied.get(f"{base}/trace{query}"))
                self.assertEqual(listing(host, base + "/packets" + query), listing(copied, base + "/packets" + query))
            self.assertEqual(host.ask(f"{base}/ctf.tar")[0], copied.ask(f"{base}/ctf.tar")[0])

    def test_parts(self):
        """A capture in the middle of a packet, and the end of a guest with a tail, large packets and gaps."""
        host = self.host()
        with Ring("rings/web.ctf", size=5 << 20) as ring:
            host.wait(lambda: host.domain("web"))
            ring.add_packet()
            ring.add(5)
            host.wait_archived(ring, "web", ring.n - 20)
            first = host.capture("web")
            ring.add_packet()
            ring.add(20)
            host.wait_archived(ring, "web", ring.n - 40)
        os.unlink("rings/web.ctf")
        host.wait_ended("web")
        last = host.captures("web")[0]["id"]
        host.wait_sent()
        for capture in (first, last):
            self.compare(host, capture)

    @turns.long
    def test_lapped(self):
        """A guest that was too fast: its gaps are those of the host."""
        host = self.host()
        writer = self.writer_seen(host, "web", "--size 65536 --rate 20000000 --seconds 2")
        host.wait(lambda: writer.poll() is not None)
        os.unlink("rings/web.ctf")
        host.wait_ended("web")
        host.wait_sent()
        self.compare(host, host.captures("web")[0]["id"])


class Writers(daemons.Case):
    def test_size_set_back(self):
        """Events that a ring's writer took away before they were copied are lost, and no damage of the host: all answers of host and hub say so alike."""
        host = self.enterContext(fleethost.Host())
        host.start()
        host.start_forwarder()
        with Ring("rings/web.ctf", size=16384) as ring:
            ring.add(1)
            host.wait_archived(ring, "web", 20)
            ring.used -= 3 * 17
            ring.put_size()
            host.wait(lambda: host.gaps("web"))
            ring.add_packet()
            host.wait_archived(ring, "web", 25)
        os.unlink("rings/web.ctf")
        host.wait_ended("web")
        host.wait_sent()
        number = host.captures("web")[0]["id"]
        archive = fleethost.FLEET.hub.sql(f"SELECT archive FROM fleet_store.host WHERE host = '{host.name}'")
        hub = self.enterContext(Hub())
        hub.start()
        for server, path in ((host, f"/v1/captures/{number}"), (hub, f"/v1/captures/{host.name}.{archive[:8]}.{number}")):
            self.assertTrue(server.json(path)["complete"])
            for part in "trace", "ctf.tar":
                status, headers, _ = server.ask(f"{path}/{part}")
                self.assertEqual((status, headers["Mprof-Lost-Packets"], headers["Mprof-Complete"]), (200, "1", "true"), (path, part))
        self.assertEqual(hub.json(path)["lost_packets"], 1)
        self.assertEqual(fleethost.FLEET.hub.sql(f"SELECT count(*) FROM fleet.losses WHERE host = '{host.name}'"), "0")


class Hub(daemons.Daemons):
    """mprofd-http --fleet."""

    def __init__(self):
        os.makedirs("hub")
        with contextlib.chdir("hub"):
            super().__init__()

    def start(self):
        self.server = self.launch("mprofd-http", "--fleet", fleethost.FLEET.connection("people"), "--listen", f"unix:{self.socket}")
        self.wait(lambda: self.ask("/readyz")[0] == 200)


class Damaged(edges.Sums):
    """Rows that were damaged or lost on the host before it sent them are declared on the hub as on the host."""

    def make(self):
        """Archive guests on a new host that does not run yet. Return them."""
        self.use(self.enterContext(fleethost.Host()))
        guests = [edges.Guest(number, self.draw) for number in range(1, GUESTS + 1)]
        self.archive([line for guest in guests for line in guest.lines])
        return guests

    def send(self, captures):
        """Run the host until the hub has CAPTURES. Let the checks ask the hub."""
        host = self.host
        host.start()
        host.start_forwarder()
        host.wait(lambda: captures <= set(host.hub_captures()))  # it compares, and finds that the hub has none
        host.wait_sent()
        self.archive_id = fleethost.FLEET.hub.sql(f"SELECT archive FROM fleet_store.host WHERE host = '{host.name}'")
        self.d = self.enterContext(Hub())
        self.d.start()

    def key(self, ident):
        return str(ident) if self.d is self.host else f"{self.host.name}.{self.archive_id[:8]}.{ident}"

    def check_alike(self, captures):
        """The hub answers as the host."""
        hub, host = self.d, self.host
        for ident in captures:
            base, own = f"/v1/captures/{self.key(ident)}", f"/v1/captures/{ident}"
            found = {server: server.ask(f"{path}/trace") for server, path in ((hub, base), (host, own))}
            self.assertEqual(found[hub][0], found[host][0], (self.seed, ident))
            self.assertEqual(hub.json(base)["complete"], host.json(own)["complete"], (self.seed, ident))
            if found[hub][0] != 200:
                continue
            self.assertEqual(found[hub][2], found[host][2], (self.seed, ident))
            for name in ("Mprof-Lost-Packets", "Mprof-Complete", "Mprof-Cut"):
                self.assertEqual(found[hub][1][name], found[host][1][name], (self.seed, ident))
            self.assertEqual(unfound(hub, base), unfound(host, own), (self.seed, ident))
            lost = host.hub(f"SELECT lost_packets FROM fleet_store.capture WHERE host = $HOST AND capture = {ident}")
            self.assertEqual(lost, [[found[host][1]["Mprof-Lost-Packets"].rstrip("+")]], (self.seed, ident))
        self.check_list(captures)
        for ident in self.draw.sample(sorted(captures), len(captures) // 4):
            self.check_said(ident)

    def test_add_up(self):
        """The forwarder meets damaged bytes, and the collector declares them: bytes, gaps and cuts add up to the marks of each capture."""
        guests = self.make()
        flipped = self.damage(self.modes(guests))
        captures = {ident for guest in guests for ident in guest.captures}
        self.send(captures)
        for guest in guests:
            for ident in guest.captures:
                self.check_capture(guest, ident, flipped)
        self.check_alike(captures)

    @turns.long
    def test_rows_taken_away(self):
        """Whole rows are gone, or flipped."""
        guests = self.make()
        gone = self.take()
        self.repair()
        captures = {ident for guest in guests for ident in guest.captures} - gone["captures"]
        self.send(captures)
        self.check_rows(guests, gone)
        self.check_alike(captures)


def unfound(server, base):
    """Return the gaps of a capture without the times when they were found, which the hub does not know."""
    return listing(server, f"{base}/packets?")[1]


def listing(server, path):
    """Return the packets and gaps of all pages. Left out is what changes on the host when a packet grows behind the
    capture's end, which may prove a tail, and when a gap was found, which the hub does not know."""
    packets, gaps, cursor = [], [], ""
    while True:
        page = server.json(f"{path}&limit=1000{cursor}")
        for packet in page["packets"]:
            grows = {"copied", "complete", *(["unproven"] if packet["tail_bytes"] else [])}
            packets.append({k: v for k, v in packet.items() if k not in grows})
        gaps += [{k: v for k, v in gap.items() if k not in ("found", "found_corrected", "mono")} for gap in page["gaps"]]
        if not page["next"]:
            return packets, gaps
        cursor = f"&cursor={page['next']}"


class Hostile(daemons.Case):
    """Rows that no honest host sends are refused with a sentence; nothing crashes."""

    STREAM = {"id": 1, "number": 0, "ring_bytes": 65536, "ring_packets": 4, "flags": 0, "tail_bytes": 0}
    STREAM |= {"first_sequence": "7", "last_sequence": "8", "last_offset": 40}
    GAP = {"stream": 1, "kind": "lost", "reason": "lapped", "after_sequence": "7", "after_offset": 40, "next_sequence": "8", "packets": 1}

    def setUp(self):
        super().setUp()
        if "liar" not in fleethost.FLEET.hub.sql("SELECT host FROM fleet_store.host").split():
            fleethost.FLEET.host_add("liar", 0)
        self.liar = sender.Host(fleethost.FLEET.connection("liar"))
        self.addCleanup(self.liar.close)
        self.liar.hello()

    def key(self, capture):
        """Return the key of a capture of this test's host, and a directory for its copy."""
        return "liar", str(sender.month_of(AT)), str(sender.ARCHIVE), str(capture), tempfile.mkdtemp(dir=os.getcwd())

    def copied(self, capture, most=1 << 20):
        key = self.key(capture)
        self.state = key[-1]
        return copy(*key, most)

    def sent(self, pieces, **head):
        """Send a capture. Return its number."""
        number = int(fleethost.FLEET.hub.sql("SELECT count(*) + 1 FROM fleet_store.capture WHERE host = 'liar'"))
        self.liar.send(number, AT, pieces, **({"streams": [self.STREAM], "gaps": []} | head))
        return number

    def send(self, pieces, **head):
        """Send a capture and return the outcome of its copy."""
        return self.copied(self.sent(pieces, **head))

    def refused(self, captures):
        """Each of CAPTURES, (words, pieces, head), is refused by its copy, with a sentence that has the words, or by the hub itself."""
        kept = []
        for words, pieces, head in captures:
            try:
                kept.append((words, self.key(self.sent(pieces, **head))))
            except psycopg2.DatabaseError as refusal:
                self.assertIn("out of its range", str(refusal))
        self.assertTrue(kept)
        for (words, _), (code, sentence) in zip(kept, copy_all([key for _, key in kept], 1 << 20), strict=True):
            self.assertEqual(code, REFUSED, (words, sentence))
            self.assertIn(words, sentence)

    def test_honest(self):
        """The pieces and gaps that the other tests change are accepted unchanged."""
        self.assertEqual(self.send([piece(bytes(10))]), (0, ""))
        self.assertEqual(self.send([piece(bytes(10))], gaps=[self.GAP]), (0, ""))
        self.assertEqual(self.send([piece(b"{}", part="context", stream=0, offset=0)]), (0, ""))

    def test_holes(self):
        """Packets that are missing without a gap were deleted on the host, which said so only since the head has a word for it."""
        pieces = [piece(bytes(10), sequence=7), piece(bytes(10), number=1, sequence=9)]
        stream, gap = self.STREAM | {"last_sequence": "9"}, self.GAP | {"next_sequence": "9"}
        for deleted, head in ((1, {"streams": [stream]}), (0, {"streams": [stream], "gaps": [gap]})):
            self.assertEqual(self.send(pieces, **head), (0, ""))
            self.assertEqual(self.deletions(), deleted)
        self.assertEqual(self.send(pieces, streams=[stream | {"complete": False}], gaps=[gap]), (0, ""))
        self.assertEqual(self.deletions(), 1)

    def test_missing_piece(self):
        """A piece that the hub has lost is no packet that the host had deleted."""
        self.assertEqual(self.send([piece(bytes(10)), piece(bytes(10), number=1, sequence=8)]), (0, ""))
        number = fleethost.FLEET.hub.sql("SELECT max(capture) FROM fleet_store.capture WHERE host = 'liar'")
        fleethost.FLEET.hub.sql(f"DELETE FROM fleet_store.capture_piece WHERE host = 'liar' AND capture = {number} AND number = 1")
        self.assertEqual(self.copied(int(number)), (REFUSED, "1 of its pieces are missing"))

    def deletions(self):
        with contextlib.closing(sqlite3.connect(f"{self.state}/archive/trace.db")) as db:
            return db.execute("SELECT deletions FROM streams").fetchone()[0]

    def test_absent(self):
        code, sentence = self.copied(999_999)
        self.assertEqual((code, sentence), (ABSENT, "there is no such capture"))

    def test_no_disk(self):
        number = int(fleethost.FLEET.hub.sql("SELECT count(*) + 1 FROM fleet_store.capture WHERE host = 'liar'"))
        self.liar.send(number, AT, [piece(bytes(10))], streams=[self.STREAM], gaps=[])
        code, sentence = copy("liar", str(sender.month_of(AT)), str(sender.ARCHIVE), number, "/proc/nowhere")
        self.assertEqual(code, DISK, sentence)

    def test_heads(self):
        """Heads that contradict themselves."""
        heads = (
            ("streams is no stream", {"streams": [7]}),
            ("streams is no stream", {"streams": [self.STREAM, self.STREAM]}),
            ("streams is no stream", {"streams": [self.STREAM | {"id": -1}]}),
            ("streams is no stream", {"streams": [self.STREAM | {"number": 1 << 40}]}),
            ("streams is no stream", {"streams": [self.STREAM | {"first_sequence": "9"}]}),
            ("streams is no stream", {"streams": [self.STREAM | {"last_sequence": "x"}]}),
            ("streams is no stream", {"streams": [self.STREAM | {"last_offset": 1 << 40}]}),
            ("does not list stream 1", {"streams": []}),
            ("does not list stream 1", {"streams": 5}),
            ("gaps is no gap", {"gaps": [{}]}),
            ("gaps is no gap", {"gaps": [self.GAP | {"packets": -1}]}),
            ("gaps is no gap", {"gaps": [self.GAP | {"after_offset": "30"}]}),
            ("gaps is no gap", {"gaps": [self.GAP | {"next_sequence": str(1 << 63)}]}),
            ("its time and its run", {"run": 0}),
            ("its time and its run", {"run": "1"}),
        )
        self.refused([(words, [piece(bytes(10))], head) for words, head in heads])

    def test_pieces(self):
        """Pieces that lie, overlap, or leave a hole."""
        end = struct.pack("<IQQ", 40, 1, 1)
        bomb = subprocess.run(["zstd", "-q", "-c"], input=bytes(1 << 20), capture_output=True, check=True).stdout
        lie = piece(bomb) | {"codec": 1}
        lies = (
            ("do not follow each other", [piece(bytes(10), offset=31)]),
            ("do not follow each other", [piece(bytes(10), flags=0), piece(bytes(10), number=1, offset=50)]),
            ("cannot be decoded", [lie | {"length": 10}]),
            ("cannot be decoded", [piece(b"no frame") | {"codec": 1}]),
            ("cannot be decoded", [piece(bytes(10)) | {"length": 11}]),
            ("cannot be decoded", [piece(bytes(10)) | {"codec": 2}]),
            ("out of range", [piece(bytes(10), sequence=-1)]),
            ("out of range", [piece(bytes(10)) | {"flags": 8}]),
            ("out of range", [piece(bytes(10), offset=(1 << 31) - 1)]),
            ("out of range", [piece(bytes(10), ends=end[:19])]),
            ("out of range", [piece(bytes(10), ends=struct.pack("<IQQ", 41, 1, 1))]),
            ("out of range", [piece(bytes(10), ends=end + struct.pack("<IQQ", 39, 1, 1))]),
            ("do not follow each other", [piece(b"{}", part="context", stream=0, offset=1)]),
            ("has a byte 0", [piece(b"{\0}", part="context", stream=0, offset=0)]),
            ("does not list stream 2", [piece(bytes(10), part="tail", stream=2)]),
        )
        self.refused([(words, pieces, {}) for words, pieces in lies])

    def test_too_large(self):
        number = int(fleethost.FLEET.hub.sql("SELECT count(*) + 1 FROM fleet_store.capture WHERE host = 'liar'"))
        self.liar.send(number, AT, [piece(bytes(100))], streams=[self.STREAM], gaps=[])
        code, sentence = self.copied(number, most=99)
        self.assertEqual((code, sentence), (REFUSED, "the capture is larger than this server copies"))

    def test_checksum(self):
        """A body that the database's disk has changed."""
        self.assertEqual(self.send([piece(bytes(10))]), (0, ""))
        number = int(fleethost.FLEET.hub.sql("SELECT count(*) FROM fleet_store.capture WHERE host = 'liar'"))
        fleethost.FLEET.hub.sql(f"UPDATE fleet_store.capture_piece SET data = '\\x01' || substr(data, 2) WHERE host = 'liar' AND capture = {number}")
        code, sentence = self.copied(number)
        self.assertEqual((code, sentence), (REFUSED, "piece 0 of stream 1 does not have its checksum"))

    def test_random(self):
        """Random pieces: each is refused, or copied."""
        draw, numbers = random.Random(7), []
        for _ in range(RANDOM):
            pieces, taken = [], set()
            for _ in range(draw.randrange(1, 6)):
                key = draw.choice(("trace", "tail")), draw.randrange(1, 3), draw.randrange(3)
                if key in taken:
                    continue
                taken.add(key)
                p = piece(draw.randbytes(draw.choice((0, 1, 10, 5000))), *key, sequence=draw.choice((0, 6, 7, 8, (1 << 63) - 1)))
                p |= {"offset": draw.choice((0, 30, 40, 1 << 20)), "flags": draw.randrange(8), "first_timestamp": draw.getrandbits(63)}
                pieces.append(p | {"packet_bytes": draw.choice((0, 30, 65536))})
            streams = [self.STREAM, self.STREAM | {"id": 2, "number": 1, "last_sequence": str(draw.getrandbits(63) | 8)}]
            gaps = [self.GAP | {"next_sequence": str(draw.getrandbits(draw.randrange(1, 64)))} for _ in range(draw.randrange(3))]
            numbers.append(self.sent(pieces, streams=streams, gaps=gaps))
        outcomes = copy_all([self.key(number) for number in numbers], 1 << 20)
        self.assertEqual(len(outcomes), len(numbers))
        for code, sentence in outcomes:
            self.assertIn(code, (0, REFUSED), sentence)


def piece(data, part="trace", stream=1, number=0, **more):
    return sender.piece(data, part, stream, number) | more


if __name__ == "__main__":
    daemons.main()
