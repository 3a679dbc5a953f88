"""mprof-annotate reads the captures of a hub and stores what they have in common: annotate.py BUILD-DIRECTORY [TEST…]

The traces are those of the story of the lost ARP reply (tests/integration/story.c), with other times and thread ids on each host.
"""

import contextlib
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

import psycopg2
from cluster import cluster, launcher, until
from sender import Host, month_of, piece

BUILD = os.path.abspath(sys.argv.pop(1))
AT = 1_780_000_000_000_000_000
# Bytes behind an event's context thread, by id, without its text; those with a text.
THREADS = {0: 1, 1: 0, 2: 0, 4: 0, 9: 0, 10: 0}
LABEL, SWITCH, EXTRA = 5, 7, 14


def setUpModule():
    global FLEET
    FLEET = unittest.enterModuleContext(cluster())
    FLEET.person_add("annotator", "fleet_annotator", "fleet_read")


def told(name):
    """Return the events of the story NAME, without the recorder's declaration before them."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, name)
        subprocess.run([os.path.join(BUILD, "tests/integration/story"), name, path], check=True)
        with open(path, "rb") as f:
            ring = f.read()
    (bits,) = struct.unpack_from("<I", ring, 26)
    (extra,) = struct.unpack_from("<H", ring, 39)  # its bytes behind the kind
    assert ring[38] == EXTRA
    return ring[30 + 12 + extra : bits // 8]


def moved(events, later, ids):
    """Return EVENTS with times LATER ns later, and thread ids greater by IDS."""
    out, at = b"", 0
    while at < len(events):
        time, kind, thread = struct.unpack_from("<QBq", events, at)
        out += struct.pack("<QBq", time + later, kind, thread if thread < 0 else thread + ids)
        at += 17
        if kind == LABEL:
            end = events.index(b"\0", at) + 1
            out += events[at:end]
            at = end
        elif kind != SWITCH:
            (other,) = struct.unpack_from("<q", events, at)
            out += struct.pack("<q", other + ids) + events[at + 8 : at + 8 + THREADS[kind]]
            at += 8 + THREADS[kind]
    return out


def crashed(number):
    """Return the events of a program that crashed in a handler of request NUMBER."""

    def event(at, kind, thread, *rest):
        return struct.pack("<QBq", 10**9 * number + at, kind, thread) + b"".join(rest)

    main, handler = 100 * number, 100 * number + 7
    return (
        event(1000, SWITCH, main)
        + event(1000, LABEL, main, b"main\0")
        + event(2000, 0, main, struct.pack("<qB", handler, 1))
        + event(2000, LABEL, handler, f"request {number} at 0x{number * 7919:x}\0".encode())
        + event(3000, SWITCH, handler)
        + event(9000 + number, LABEL, handler, b"parse\0")
    )


class Case(unittest.TestCase):
    hosts = 0

    def setUp(self):
        self.work = self.enterContext(tempfile.TemporaryDirectory())
        os.chdir(self.work)
        self.running = []
        self.addCleanup(lambda: [self.end(p) for p in list(self.running)])

    def host(self):
        """Return a new host."""
        Case.hosts += 1
        name = f"host{Case.hosts}"
        FLEET.host_add(name, 0)
        host = Host(FLEET.connection(name))
        host.name = name
        self.addCleanup(host.close)
        host.hello()
        return host

    def send(self, host, number, events, damage=None, at=0, **head):
        """Send EVENTS as capture NUMBER of HOST. DAMAGE changes the piece."""
        end = 30 + len(events)
        stream = {"id": 1, "number": 0, "ring_bytes": 65536, "ring_packets": 4, "flags": 0, "tail_bytes": 0}
        stream |= {"first_sequence": "7", "last_sequence": "7", "last_offset": end}
        one = piece(events, ends=struct.pack("<IQQ", end, 1, 1)) | (damage or {})
        host.send(number, at or AT + number, [one], streams=[stream], gaps=[], **head)

    def send_large(self, host, number, megabytes=8):
        """Send a capture whose reading takes a while: one packet in pieces, full of threads."""
        pieces, at = [], 30
        for i in range(megabytes):
            data = b"".join(crashed(n) for n in range(i * 5000 + 1, i * 5000 + 5001))
            end = at + len(data)
            pieces.append(
                piece(data, number=i, offset=at, ends=struct.pack("<IQQ", end, 1, 1)) | {"flags": i + 1 == megabytes, "packet_bytes": 1 << 26}
            )
            at = end
        stream = {"id": 1, "number": 0, "ring_bytes": 1 << 28, "ring_packets": 4, "flags": 0, "tail_bytes": 0}
        stream |= {"first_sequence": "7", "last_sequence": "7", "last_offset": at}
        host.send(number, AT + number, [p | {"flags": int(p["flags"])} for p in pieces], streams=[stream], gaps=[])

    def start(self, *options):
        """Start an annotator."""
        os.makedirs("copies", exist_ok=True)
        command = [os.path.join(BUILD, "daemon/annotate/mprof-annotate"), "--fleet", FLEET.connection("annotator"), "--work", "copies"]
        process = launcher.Program([*command, *options])
        self.running.append(process)
        return process

    def end(self, process, how=signal.SIGTERM):
        process.send_signal(how)
        process.wait()
        self.running.remove(process)

    def said(self):
        with open("log", encoding="utf-8") as f:
            return f.read()

    def state(self, host, number):
        """Return (cause, first line of the sentence, last line, failure) of a capture, or None."""
        sql = (
            f"SELECT cause, split_part(sentence, E'\\n', 1), last_ran, failure FROM fleet.captures WHERE host = '{host.name}' AND capture = {number}"
        )
        row = FLEET.hub.sql(f"{sql} AND annotated IS NOT NULL")
        return row.split("|") if row else None

    def annotated(self, *captures):
        """Wait until all of these (host, number) are annotated, and return their states."""
        until(lambda: all(self.state(*c) for c in captures), "the captures are annotated")
        return [self.state(*c) for c in captures]

    def causes(self):
        """Return {cause: (crashes, hosts, images)} as readers see them."""
        rows = FLEET.hub.sql("SELECT cause, crashes, hosts, images FROM fleet.crashes_by_cause").splitlines()
        return {cause: tuple(map(int, numbers)) for cause, *numbers in (row.split("|") for row in rows)}


class Causes(Case):
    def test_alike(self):
        """A deadlock, a lost wake-up and a crash, each on two hosts and in two images, are three causes."""
        one, two = self.host(), self.host()
        for host, later, ids, image in ((one, 0, 0, "web-1.2"), (two, 77_000_000_123, 4000, "web-1.3")):
            self.send(host, 1, moved(told("circle"), later, ids), image=image)
            self.send(host, 2, moved(told("bad"), later, ids), image=image, kind="watchdog")
            self.send(host, 3, crashed(3 + ids // 1000), image=image)
        self.start()
        states = self.annotated(*((host, n) for host in (one, two) for n in (1, 2, 3)))
        self.assertEqual([s[0] for s in states[:3]], [s[0] for s in states[3:]])
        deadlock, missed, last = (s[0] for s in states[:3])
        self.assertRegex(deadlock, r"^deadlock-[0-9a-f]{24}$")
        self.assertRegex(missed, r"^missed-wakeup-[0-9a-f]{24}$")
        self.assertRegex(last, r"^last-[0-9a-f]{24}$")
        self.assertRegex(states[0][1], r"^deadlock: each thread of this cycle waits for the next; it comes back to ")
        self.assertRegex(states[1][1], r'^missed wake-up: 2 \(Condition, "ARP response"\) was signalled by 6 \(Task, "arp.input"\)')
        self.assertRegex(states[2][1], r'^last: 307 \(Task, "parse"\) ran from ')
        self.assertRegex(states[1][2], r'^last: 6 \(Task, "arp.input"\) ran from ')
        found = self.causes()
        for cause in (deadlock, missed, last):
            self.assertEqual(found[cause], (2, 2, 2), cause)
            self.same_sentence(cause)
        first, newest = FLEET.hub.sql(
            "SELECT first = min(c.at), last = max(c.at) FROM fleet.crashes_by_cause b JOIN fleet.captures c USING (cause) "
            f"WHERE cause = '{last}' GROUP BY first, last"
        ).split("|")
        self.assertEqual((first, newest), ("t", "t"))

    def same_sentence(self, cause):
        """The sentence of a cause is that of each of its captures without the numbers."""
        rows = FLEET.hub.sql(
            "SELECT DISTINCT split_part(c.sentence, E'\\n', 1), split_part(b.sentence, E'\\n', 1) "
            f"FROM fleet.captures c JOIN fleet.crashes_by_cause b USING (cause) WHERE cause = '{cause}'"
        ).splitlines()
        own, shared = zip(*(row.split("|") for row in rows))
        self.assertEqual((len(own), len(set(shared))), (2, 1), rows)
        self.assertNotRegex(shared[0], r"\d")
        self.assertEqual({re.sub(r"[\d.]+", "#", sentence) for sentence in own}, {re.sub(r"[#.]+", "#", shared[0])})

    def test_damages(self):
        """Bytes that cannot be decoded are counted, with the events behind them; a whole capture has none."""
        host = self.host()
        damaged = struct.pack("<QBq", 10**9 + 20000, 0xEE, 1)
        self.send(host, 1, crashed(1))
        self.send(host, 2, crashed(1) + damaged + crashed(2))
        FLEET.hub.sql(f"UPDATE fleet_store.capture SET annotated = now() WHERE host = '{host.name}' AND capture = 2")
        self.start()
        self.annotated((host, 1))
        sql = f"SELECT capture, damages, skipped_bytes, unproven_events FROM fleet.damages WHERE host = '{host.name}' ORDER BY 1"
        self.assertEqual(FLEET.hub.sql(sql), "1|0|0|0")  # another one was read by an annotator that did not count
        FLEET.hub.sql(f"UPDATE fleet_store.capture SET annotated = NULL WHERE host = '{host.name}' AND capture = 2")
        self.annotated((host, 2))
        self.assertEqual(FLEET.hub.sql(sql).splitlines()[1], f"2|1|{len(damaged)}|6")

    def test_new_capture(self):
        """A capture that comes while an annotator waits is read at once, by the hub's notification."""
        host = self.host()
        self.start()
        until(lambda: "Connected to the hub" in self.said(), "the annotator is connected")
        self.send(host, 1, told("bad"))
        (state,) = self.annotated((host, 1))
        self.assertRegex(state[0], "^missed-wakeup-")

    def test_no_events(self):
        """A guest that recorded nothing has a sentence and no cause."""
        host = self.host()
        self.send(host, 1, b"")
        self.start()
        self.assertEqual(self.annotated((host, 1)), [["", "the capture has no events", "", ""]])


class Failures(Case):
    def test_marked(self):
        """A capture that cannot be read is marked with a sentence, and the next one is read."""
        host = self.host()
        self.send(host, 1, told("bad"))
        FLEET.hub.sql(f"UPDATE fleet_store.capture_piece SET data = '\\x01' || substr(data, 2) WHERE host = '{host.name}'")
        self.send(host, 2, b"\xee" * 500)
        self.send(host, 3, told("circle"))
        self.start()
        states = self.annotated((host, 1), (host, 2), (host, 3))
        self.assertEqual(states[0], ["", "", "", "piece 0 of stream 1 does not have its checksum"])
        self.assertEqual(states[1], ["", "", "", "none of its packets can be decoded"])
        self.assertRegex(states[2][0], "^deadlock-")
        self.assertEqual(self.said().count("A capture cannot be read, and is left alone"), 2)
        self.assertEqual(FLEET.hub.sql("SELECT count(*) FROM fleet_store.annotation WHERE ends < 'infinity'"), "0")

    def test_too_large(self):
        host = self.host()
        self.send(host, 1, told("bad") * 4)
        self.start("--most", "1KB")
        self.assertEqual(self.annotated((host, 1))[0][3], "the capture is larger than this server copies")

    def test_memory(self):
        """A capture whose reading takes more memory than is allowed."""
        host = self.host()
        self.send_large(host, 1, 24)
        self.start("--memory", "64MB")
        self.assertEqual(self.annotated((host, 1))[0][3], "the reader needs more memory than it may have")

    def reader_of(self, process):
        """Stop the reader of an annotator, and return its process id; None if there is none that has locked itself in."""
        with contextlib.suppress(OSError, IndexError):
            with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as f:
                pid = int(f.read().split()[0])
            # Before, it may not end with its annotator yet.
            with open(f"/proc/{pid}/status", encoding="utf-8") as f:
                if "Seccomp:\t2\n" not in f.read():
                    return None
            os.kill(pid, signal.SIGSTOP)
            return pid
        return None

    def reading(self, host, annotator):
        """Send captures until the reader of an annotator is stopped in one, or was killed there. Return (number of the capture, reader or
        None)."""
        for number in range(1, 50):
            self.send_large(host, number)
            reader = until(lambda number=number: self.reader_of(annotator) or self.state(host, number), "the annotator reads")
            if isinstance(reader, int):
                return number, reader
            if reader[3]:
                return number, None
        raise AssertionError("the annotator reads each capture before it can be stopped")

    def test_time(self):
        """A reader that does not come to its end is killed, and the capture is marked."""
        host = self.host()
        number, _ = self.reading(host, self.start("--seconds", "1"))
        self.assertEqual(self.annotated((host, number))[0][3], "its reader gave no answer within 2 s")

    def test_killed(self):
        """An annotator that is killed while it reads leaves the capture to the next one, which finds it once."""
        host = self.host()
        first = self.start()
        number, reader = self.reading(host, first)
        self.assertIsNotNone(reader)
        self.end(first, signal.SIGKILL)
        until(lambda: not os.path.exists(f"/proc/{reader}"), "its reader ends, too")
        self.assertIsNone(self.state(host, number))
        self.release()
        self.start("--seconds", "600")
        state = self.annotated((host, number))[0]
        self.assertRegex(state[0], "^last-", state)
        self.assertEqual(os.listdir("copies"), [])

    def release(self):
        """Let the time for which captures are handed out be over."""
        FLEET.hub.sql("UPDATE fleet_store.annotation SET ends = now() WHERE ends < 'infinity'")

    def test_no_disk(self):
        """An annotator whose disk cannot be written gives the capture back, and marks nothing."""
        host = self.host()
        annotator = self.start()
        until(lambda: "Connected to the hub" in self.said(), "the annotator is connected")
        os.rename("copies", "moved")
        self.send(host, 1, told("bad"))
        until(lambda: "A capture cannot be read now: cannot make a directory below copies: No such file" in self.said(), "it says so")
        self.assertIsNone(self.state(host, 1))
        until(lambda: FLEET.hub.sql(f"SELECT attempts FROM fleet_store.annotation WHERE host = '{host.name}'") == "0", "it gives the capture back")
        os.rename("moved", "copies")
        self.release()
        self.assertRegex(self.annotated((host, 1))[0][0], "^missed-wakeup-")
        self.assertIsNone(annotator.poll())

    def test_outage(self):
        """The hub's server is stopped and started again: the annotator goes on."""
        host = self.host()
        self.start()
        until(lambda: "Connected to the hub" in self.said(), "the annotator is connected")
        FLEET.hub.stop()
        until(lambda: "The hub cannot be used" in self.said(), "the annotator notices")
        FLEET.hub.start()
        again = Host(FLEET.connection(host.name))
        self.addCleanup(again.close)
        again.name = host.name
        self.send(again, 1, told("bad"))
        self.assertRegex(self.annotated((again, 1))[0][0], "^missed-wakeup-")


class Sentences(Case):
    def refused(self, *options):
        command = [os.path.join(BUILD, "daemon/annotate/mprof-annotate"), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=launcher.PATIENCE)
        self.assertEqual(done.returncode, 2)
        return done.stderr.strip()

    def test_command_line(self):
        for words, options in (
            ("no hub is named: give --fleet CONNECTION", ()),
            ("--fleet is no connection string of libpq: ", ("--fleet", "nonsense", "--work", ".")),
            ("--work /no/where cannot be used: No such file or directory", ("--fleet", "host=x", "--work", "/no/where")),
            ("--most 1 is no size of 1KB to 64GB", ("--fleet", "host=x", "--most", "1")),
            ("--memory much is no size of 64MB to 1024GB", ("--fleet", "host=x", "--memory", "much")),
            ("--seconds 0 is no whole number of 1 to 600", ("--fleet", "host=x", "--seconds", "0")),
        ):
            self.assertIn(words, self.refused(*options))


if __name__ == "__main__":
    unittest.main()
