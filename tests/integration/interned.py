"""Test that whoever has a packet has its interned texts: interned.py BUILD-DIRECTORY [TEST…]

A program records interned texts and keeps the truth, all packets that it has written. In the image of a
lapped ring, in the newest packets of a guest, and behind a quota each text is there. A live body that
begins in the middle of a packet lacks the texts before: they are numbers, and counted, up to the next
packet.
"""

import json
import os
import re
import signal
import subprocess
import sys
import unittest

import daemons
from daemons import HEADER, QUIET, START, program

NUMBER = re.compile(r'"#\d+"')


def packets(stream):
    """Return {count: header and content} of a CTF stream whose counts do not go round."""
    found, at = {}, 0
    while at + START <= len(stream):
        _, _, size, count, content = HEADER.unpack_from(stream, at)
        found[count] = stream[at : at + content // 8]
        at += size // 8
    return found


def pieces(stream):
    """Return (count, end of the content) of each whole piece of a live body that its packet goes on behind."""
    found, at, before = [], 0, (None, START)
    while at + START <= len(stream):
        _, _, size, count, content = HEADER.unpack_from(stream, at)
        if before[0] == count:
            found.append(before)
        before = (count, content // 8 + (before[1] - START if before[0] == count else 0))
        at += size // 8
    return found


class Interned(daemons.Case):
    def setUp(self):
        super().setUp()
        self.options = "--dir rings --truth truth --threads 1 --name words --size 65536 --packets 16".split()
        # It holds more than a test writes before the collector reads, however late that is. Its packets are as long.
        self.roomy = [*self.options, "--size", "4194304", "--packets", "1024"]

    def ctl(self, *arguments):
        command = [program("mprofctl"), *arguments]
        if getattr(self, "d", None):
            command[1:1] = ["--host", f"unix:{self.d.socket}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def lines(self, *arguments):
        return self.ctl("dump", *arguments).splitlines()

    def unknown(self, *arguments):
        return json.loads(self.ctl("stats", "--json", *arguments))["unknown_texts"]

    def whole(self, *arguments, least):
        """Check that a trace is the end of the truth, with all of its texts."""
        lines, truth = self.lines(*arguments), self.lines("truth.ring-00")
        self.assertGreater(len(lines), least)
        self.assertEqual(lines, truth[-len(lines) :])
        self.assertEqual(self.unknown(*arguments), 0)
        return len(lines), len(truth)

    def test_image_of_a_lapped_ring(self):
        os.mkdir("rings")
        said = self.write("writer-threads", *self.options, "--events", 30000)
        lines, truth = self.whole(f"rings/{said['folder']}/ring-00", least=500)
        self.assertLess(lines, truth)

    def test_newest_packets(self):
        self.d = self.daemons(QUIET)
        said = self.write("writer-threads", *self.roomy, "--events", 6000, "--rate", 500000)
        self.d.wait_ended(said["folder"])
        self.assertEqual(self.d.gaps(said["folder"]), [])
        self.assertEqual(len(set(self.whole(said["folder"], least=6000))), 1)
        self.whole("--last", "9KB", said["folder"], least=100)
        self.whole("--last", "20ms", said["folder"], least=100)

    def test_quota(self):
        self.d = self.daemons(QUIET + "[policy]\nbytes = 20K\n")
        said = self.write("writer-threads", *self.roomy, "--events", 6000, "--rate", 500000)
        self.d.wait_ended(said["folder"])
        content = "SELECT coalesce(sum(length), 0) FROM chunks"
        self.d.wait(lambda: self.d.query(content)[0][0] <= 20 * 1024)
        lines, truth = self.whole(said["folder"], least=100)
        self.assertLess(lines, truth)

    def test_live_from_the_middle(self):
        """While the program runs."""
        self.d = self.daemons(QUIET)
        writer = self.writer("writer-threads", *self.roomy, "--rate", 4000)
        name = self.d.wait(lambda: [d["name"] for d in self.d.json("/v1/domains")["domains"]])[0]
        run = self.d.run_list(name)[0]["run"]
        # A position in the middle of a packet, where the packet's texts are defined: the end of a piece of a live body.
        middle = self.until(f"/v1/domains/{name}/live", lambda body: [at for at in pieces(body) if 1000 < at[1] < 2500])[1][0]
        path = f"/v1/domains/{name}/live?after={run}.0.{middle[0]}.{middle[1]}"
        body, _ = self.until(path, lambda body: middle[0] + 3 in packets(body))
        writer.send_signal(signal.SIGTERM)
        self.assertEqual(writer.wait(daemons.HANGS), 0)
        # The last packet may be cut: it is left out.
        with open("live.ctf", "wb") as f:
            f.write(body[: self.begin_of(body, max(packets(body)))])
        lines, truth = self.lines("live.ctf"), self.lines("truth.ring-00")
        whole = next(i for i, line in enumerate(lines) if not NUMBER.search(line))
        begin = truth.index(lines[whole]) - whole
        numbers = [i for i, line in enumerate(lines) if NUMBER.search(line)]
        for i, line in enumerate(lines):
            true = truth[begin + i]
            self.assertEqual(line, re.sub(r'"[^"]*"', NUMBER.search(line)[0], true) if i in numbers else true)
        self.assertGreater(len(numbers), 5)
        self.assertEqual(self.unknown("live.ctf"), len(numbers))
        # In the next packet the texts are there again.
        with open("first.ctf", "wb") as f:
            f.write(body[: self.begin_of(body, middle[0] + 1)])
        self.assertLess(numbers[-1], len(self.lines("first.ctf")))

    def until(self, path, found):
        """Read a live body until FOUND(body) is true. Return the body, and what FOUND returned."""
        connection = daemons.UnixConnection(self.d.socket, daemons.HANGS)
        self.addCleanup(connection.close)
        connection.request("GET", path)
        answer = connection.getresponse()
        self.assertEqual(answer.status, 200, answer.reason)
        body = b""
        while not (result := found(body)):
            got = answer.read1(65536)
            self.assertTrue(got, "the body has ended")
            body += got
        return body, result

    @staticmethod
    def begin_of(stream, count):
        at = 0
        while HEADER.unpack_from(stream, at)[3] != count:
            at += HEADER.unpack_from(stream, at)[2] // 8
        return at


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
