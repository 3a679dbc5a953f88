"""Test the answers of mprofd-http over archives made for them: answers.py BUILD-DIRECTORY [TEST…]
"""

import contextlib
import http.client
import json
import os
import re
import signal
import sqlite3
import struct
import subprocess
import unittest

import daemons
from daemons import Case, Daemons, event, events_of, program

PROVEN, LAST, UNPROVEN = 0, 1, 2


def packets_of(body):
    """Return the counts in the headers of a CTF body's packets."""
    counts, at = [], 0
    while at < len(body):
        _, _, size, count, _ = daemons.HEADER.unpack_from(body, at)
        counts.append(count)
        at += size // 8
    return counts


class Archive:
    """The archive's writer in ./state, line by line."""

    def __init__(self):
        os.makedirs("state", exist_ok=True)
        self.process = subprocess.Popen([program("archive-driver"), "state"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.read()

    def read(self):
        if (said := self.process.stdout.readline()) != "ok\n":
            raise AssertionError(said)

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        self.read()

    def commit(self, *lines):
        for line in ("begin", *lines, "commit"):
            self.say(line)

    def run(self, name="web", state="ended", ring_packets=4):
        self.commit(f"run 1 dir key {name} - -1 {state} {'ended' if state == 'ended' else '-'}", f"stream 10 1 0 16384 {ring_packets} 0")

    def packet(self, sequence, content, flags=LAST, offset=30):
        first = struct.unpack_from("<Q", content)[0]
        self.commit(f"piece 10 {sequence} {offset} {flags} 4096 {first} {offset + len(content)} {content.hex()}")

    def tail(self, sequence, offset, content, capture=1):
        """Add a capture of the run's end with CONTENT behind its proven bytes, which end at OFFSET."""
        first = struct.unpack_from("<Q", content)[0]
        self.commit(
            f"capture {capture} 1 ended -",
            f"range {capture} 10 0 {sequence} {offset}",
            f"tail {capture} 10 {sequence} {offset} 4096 {first} {content.hex()}",
        )

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def events(sequence, n=4):
    return b"".join(event(1000 * (sequence + 1) + i, i) for i in range(n))


class Answers(Case):
    def served(self, collector=False):
        """Start a server of ./state."""
        d = self.enterContext(Daemons())
        if collector:
            d.start_collector()
        d.start_server()
        return d

    # ---- live

    def test_live_ends_where_counting_would_go_wrong(self):
        """A gap of at least N packets may be of N + 65,536. The body ends before such a gap, and
        the next body begins behind it."""
        with Archive() as archive:
            archive.run()
            for sequence in range(2):
                archive.packet(sequence, events(sequence))
            archive.commit("gap 10 lost lapped 1 98 9 7 1")
            for sequence in range(9, 11):
                archive.packet(sequence, events(sequence))
            archive.commit("gap 10 lost lapped 10 98 14 3 0")
            archive.packet(14, events(14))
        d = self.served()
        status, headers, body = d.ask("/v1/domains/web/live")
        self.assertEqual((status, headers["Mprof-Position"], packets_of(body)), (200, "1.0.0.30", [0, 1]))
        status, headers, body = d.ask("/v1/domains/web/live?after=1.0.1.98")
        self.assertEqual((status, headers["Mprof-Position"], packets_of(body)), (200, "1.0.9.30", [9, 10, 14]))
        self.assertEqual(events_of(body), events_of_contents(9, 10, 14))

    def test_live_ends_before_a_count_that_tells_nothing(self):
        """A gap up to the 65,536th packet leaves the count unchanged, so the body ends before it. A
        gap that is one packet shorter does not end it."""
        with Archive() as archive:
            archive.run()
            for sequence in range(2):
                archive.packet(sequence, events(sequence))
            for before, sequence in ((1, 65537), (65537, 131072)):
                archive.commit(f"gap 10 lost lapped {before} 98 {sequence} {sequence - before - 1} 0")
                archive.packet(sequence, events(sequence))
        d = self.served()
        status, headers, body = d.ask("/v1/domains/web/live")
        self.assertEqual((status, headers["Mprof-Position"], packets_of(body)), (200, "1.0.0.30", [0, 1]))
        status, headers, body = d.ask("/v1/domains/web/live?after=1.0.1.98")
        self.assertEqual((status, headers["Mprof-Position"], packets_of(body)), (200, "1.0.65537.30", [1, 0]))

    def test_live_goes_on_behind_what_does_not_hold(self):
        """A body ends before the broken part of a packet of several writers. The next one declares that part, and has the packets behind it."""
        with Archive() as archive:
            archive.run()
            archive.packet(0, events(0) + event(5, 9), LAST | UNPROVEN)
            for sequence in range(1, 3):
                archive.packet(sequence, events(sequence))
        d = self.served()
        _, headers, body = d.ask("/v1/domains/web/live")
        self.assertEqual((packets_of(body), events_of(body), headers["Mprof-Cut"]), ([0], events_of_contents(0), None))
        _, headers, body = d.ask("/v1/domains/web/live?after=1.0.0.98")
        self.assertEqual(
            (packets_of(body), events_of(body), headers["Mprof-Cut"]), ([1, 2], events_of_contents(1, 2), "bytes=17; packets=1; at=1.0.0.98")
        )

    def test_live_from_the_packet_to_come(self):
        """A body may begin right behind the newest packet, and no later."""
        with Archive() as archive:
            archive.run(state="running")
            for sequence in range(2):
                archive.packet(sequence, events(sequence))
        d = self.served()
        for sequence, status in ((1, 200), (2, 200), (3, 400)):
            connection = daemons.UnixConnection(d.socket, daemons.PATIENCE)
            connection.request("GET", f"/v1/domains/web/live?after=1.0.{sequence}.30")
            self.assertEqual(connection.getresponse().status, status, sequence)
            connection.close()

    def test_live_breaks_off_at_what_was_deleted(self):
        """Packets that are deleted before they are sent, without a gap that says so, end the body
        as an error."""
        with Archive() as archive:
            archive.run(state="running")
            for sequence in range(2):
                archive.packet(sequence, events(sequence))
            d = self.served()
            connection = daemons.UnixConnection(d.socket, daemons.PATIENCE)
            self.addCleanup(connection.close)
            connection.request("GET", "/v1/domains/web/live")
            answer = connection.getresponse()
            self.assertEqual(packets_of(answer.read(196)), [0, 1])
            d.server.freeze()
            try:
                for sequence in range(2, 6):
                    archive.packet(sequence, events(sequence))
                archive.say("enforce web 100")
            finally:
                d.server.send_signal(signal.SIGCONT)
            with self.assertRaises(http.client.IncompleteRead):
                answer.read()
        status, _, body = d.ask("/v1/domains/web/live?after=1.0.1.98")
        self.assertEqual(status, 410, body)

    # ---- what the server says about bodies

    def test_lost_packets(self):
        """Count the lost packets of a gap that lies within the body, up to the packet behind it."""
        with Archive() as archive:
            archive.run()
            for sequence in range(2):
                archive.packet(sequence, events(sequence))
            archive.commit("gap 10 lost lapped 1 98 9 7 0")
            archive.packet(9, events(9))
        d = self.served()
        for query, lost in (("", "7"), ("?end=1.0.1.98", "0"), ("?first=1.0.9.30", "0"), ("?first=1.0.1.30", "7")):
            self.assertEqual(d.ask(f"/v1/domains/web/trace{query}")[1]["Mprof-Lost-Packets"], lost, query)

    def test_tags_and_rows(self):
        """The same bytes in other rows make other frames: the tag of the zstd body changes, and the
        tag of the bytes does not."""
        with Archive() as archive:
            archive.run()
            archive.packet(0, events(0))
        d = self.served()

        def tags():
            return [d.ask("/v1/domains/web/trace", headers=h)[1]["ETag"] for h in ({}, {"Accept-Encoding": "zstd"})]

        before = tags()
        self.assertEqual(tags(), before)
        with contextlib.closing(sqlite3.connect("state/archive/trace.db")) as db:
            db.execute("UPDATE chunks SET id = id + 1000")
            db.commit()
        after = tags()
        self.assertEqual((after[0], after[1] != before[1]), (before[0], True))

    def test_what_gaps_do_not_explain(self):
        """A gap behind deleted packets does not mean that these packets never existed."""
        with Archive() as archive:
            archive.run()
            for sequence in range(6):
                archive.packet(sequence, events(sequence))
            archive.commit("gap 10 lost lapped 5 98 9 3 0")
            archive.packet(9, events(9))
            archive.commit("capture 1 1 manual -", "range 1 10 0 9 98")
        d = self.served()
        self.assertIs(d.json("/v1/captures/1")["complete"], True)
        with contextlib.closing(sqlite3.connect("state/archive/trace.db")) as db:
            db.execute("UPDATE streams SET deletions = 1, checksum = NULL")
            db.execute("UPDATE row_sums SET unchecked = 1000")
            db.commit()
            self.assertIs(d.json("/v1/captures/1")["complete"], True)
            db.execute("DELETE FROM chunks WHERE sequence BETWEEN 3 AND 5")
            db.commit()
        self.assertIs(d.json("/v1/captures/1")["complete"], False)

    # ---- tails

    def test_tail_of_a_period(self):
        """A period that reaches the end of a run has the run's tail, and If-Range accepts no other
        body."""
        with Archive() as archive:
            archive.run()
            for sequence in range(3):
                archive.packet(sequence, events(sequence), LAST if sequence < 2 else PROVEN)
            archive.tail(2, 98, event(3004, 4) + event(3005, 5))
        d = self.served()
        self.assertEqual(len(events_of(d.trace("web"))), 14)
        self.assertEqual(len(events_of(d.trace("web", "?from=3000&to=4000"))), 6)
        self.assertEqual(len(events_of(d.trace("web", "?from=1000&to=2000"))), 8)
        tags = {d.ask(f"/v1/domains/web/trace?first=1.0.{at}")[1]["ETag"] for at in ("0.30", "1.30", "2.30", "2.98")}
        self.assertEqual(len(tags), 4)
        for offset, found in ((98, 2), (115, 1), (132, 0)):
            self.assertEqual(len(events_of(d.get(f"/v1/domains/web/live?after=1.0.2.{offset}"))), found)
        self.assertEqual(d.ask("/v1/domains/web/live?after=1.0.2.133")[0], 400)
        whole = d.ask("/v1/domains/web/trace?first=1.0.1.30")
        other = d.ask("/v1/domains/web/trace?first=1.0.0.30", headers={"Range": "bytes=10-", "If-Range": whole[1]["ETag"]})
        self.assertEqual((other[0], len(other[2])), (200, len(d.trace("web"))))

    def test_deleting_the_end(self):
        """A capture that alone has the end of its run is not deleted without a confirmation."""
        with Archive() as archive:
            archive.run()
            archive.tail(0, 30, events(0, 6))
            archive.commit("capture 2 1 manual -", "range 2 10 0 0 30")
        d = self.served(collector=True)
        self.assertEqual(len(events_of(d.trace("web"))), 6)
        self.assertEqual(d.ask("/v1/captures/2", "DELETE")[0], 204)
        for query in ("", "?with=nothing"):
            status, _, body = d.ask(f"/v1/captures/1{query}", "DELETE")
            self.assertEqual(status, 400 if query else 409)
            self.assertIn("with", json.loads(body)["detail"])
        self.assertIn("last 102 bytes", json.loads(d.ask("/v1/captures/1", "DELETE")[2])["detail"])
        self.assertEqual(len(events_of(d.trace("web"))), 6)
        self.assertEqual(d.ask("/v1/captures/1?with=tail", "DELETE")[0], 204)
        self.assertEqual(d.ask("/v1/captures/1")[0], 404)

    def test_deleting_what_is_elsewhere(self):
        """A capture without a tail, and one whose run went on, are deleted without a confirmation."""
        with Archive() as archive:
            archive.run(state="running")
            archive.packet(0, events(0))
            archive.tail(1, 30, events(1, 2), capture=1)
            archive.packet(1, events(1))
            archive.commit("capture 2 1 ended -", "range 2 10 0 1 98")
        d = self.served(collector=True)
        self.assertEqual([d.ask(f"/v1/captures/{n}", "DELETE")[0] for n in (1, 2)], [204, 204])
        self.assertEqual(len(events_of(d.trace("web"))), 8)

    def test_a_name_cut_inside_a_character(self):
        """A sentence that quotes the beginning of a request is valid, wherever the server cut the
        quote."""
        with Archive() as archive:
            archive.run()
        d = self.served()
        for n in range(45, 52):
            status, _, body = d.ask("/v1/domains/a" + "%C3%A9" * n)
            self.assertEqual((status, json.loads(body)["status"]), (404, 404))
            status, _, body = d.ask("/v1/domains?a" + "%C3%A9" * n + "=1")
            self.assertEqual((status, json.loads(body)["status"]), (400, 400))

    # ---- pages

    def test_origins(self):
        """A page may change something only at the server that it came from: same scheme, host and
        port."""
        with Archive() as archive:
            archive.run()
        d = self.enterContext(Daemons(daemons.QUIET + "[http]\nlisten = 127.0.0.1:0\n"))
        d.server = d.launch("mprofd-http")
        port = int(re.search(r"127\.0\.0\.1:(\d+)", d.said())[1])

        def ask(method, host, origin):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=daemons.PATIENCE)
            try:
                connection.request(method, "/v1/captures/99", None, {"Host": host, "Origin": origin})
                return connection.getresponse().status
            finally:
                connection.close()

        for host in ("localhost", "127.0.0.1"):
            here = f"{host}:{port}"
            self.assertEqual(ask("DELETE", here, f"http://{here}"), 404)
            for other in (f"http://{host}:{port + 1}", f"http://{host}", f"https://{here}", "http://other:1", "null"):
                for method in ("DELETE", "POST", "PATCH"):
                    self.assertEqual(ask(method, here, other), 403, (host, other))
                self.assertEqual(ask("GET", here, other), 404)
        self.assertEqual(ask("DELETE", f"localhost:{port}", f"http://127.0.0.1:{port}"), 403)
        self.assertEqual(ask("DELETE", "localhost", "http://localhost:80"), 404)


def events_of_contents(*sequences):
    return [pair for sequence in sequences for pair in events_of(daemons.header(98, sequence & 0xFFFF, 68) + events(sequence))]


if __name__ == "__main__":
    daemons.main()
