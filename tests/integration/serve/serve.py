"""Test mprofd-http with real HTTP over a Unix socket and loopback: serve.py MPROFD_HTTP
ARCHIVE_DRIVER OPENAPI MPROFCTL [TEST…]

The real writer writes the archive. This test stands in for the collector's control socket.
"""

import contextlib
import datetime
import gzip
import http.client
import io
import json
import os
import re
import select
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../launcher"))
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../client/viewer"))

import babeltrace2
import join
import launcher
import parts
from client import UnixConnection
from frames import unzstd
from ports import free_port
from turns import BRIEF

HTTP, DRIVER, OPENAPI, CTL = map(os.path.abspath, sys.argv[1:5])
VIEWER = os.path.join(os.path.dirname(OPENAPI), "../../client/viewer")
with open(HTTP, "rb") as program:
    SANITIZED = b"__asan_init" in program.read()  # a sanitizer costs memory and time that are not the server's
HANGS = 300  # seconds: only a program that hangs takes longer for an answer
ALWAYS_NEW = "age -3600"  # later chunks stay in the window of a rate, however long the test takes
UUID_BYTES = bytes.fromhex("05883b8d521a487bb397456ab150680c")
GUEST_UUID = "0a1b2c3d-0000-4000-8000-00000000000a"


def event(timestamp, thread=1):
    return struct.pack("<QBQ", timestamp, 7, thread)  # a switch of 17 bytes


def label(timestamp, text):
    return struct.pack("<QBQ", timestamp, 5, 1) + text + b"\0"


def packet(sequence, content):
    bits = 8 * (30 + len(content))
    return struct.pack("<I16sIHI", 0xC1FC1FC1, UUID_BYTES, bits, sequence & 0xFFFF, bits) + content


def split(body):
    """Split a CTF body into (count, content) pairs and the bytes of a partial last packet."""
    out = []
    while len(body) >= 30:
        magic, uuid, size, count, content = struct.unpack("<I16sIHI", body[:30])
        assert magic == 0xC1FC1FC1 and uuid == UUID_BYTES and size == content, body[:30]
        if len(body) < content // 8:
            break
        out.append((count, body[30 : content // 8]))
        body = body[content // 8 :]
    return out, body


def advance(position, packets):
    run, stream, sequence, offset = map(int, position.split("."))
    for count, content in packets:
        if count != sequence & 0xFFFF:
            sequence += (count - sequence) & 0xFFFF
            offset = 30
        offset += len(content)
    return f"{run}.{stream}.{sequence}.{offset}"


class Archive:
    def __init__(self, state):
        self.process = subprocess.Popen([DRIVER, state], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lock = threading.Lock()
        assert self.process.stdout.readline() == "ok\n"
        self.last_capture = 0

    def say(self, *lines):
        with self.lock:
            for line in lines:
                self.process.stdin.write(line + "\n")
                self.process.stdin.flush()
                answer = self.process.stdout.readline()
                assert answer == "ok\n", (line[:100], answer)

    def commit(self, *lines):
        self.say("begin", *lines, "commit")

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def piece(stream, sequence, offset, content, flags=0, room=4096, ends=None, first=None):
    if first is None:
        first = struct.unpack("<Q", content[:8])[0] if len(content) >= 8 else 0
    ends = [offset + len(content)] if ends is None else ends
    return f"piece {stream} {sequence} {offset} {flags} {room} {first} {','.join(map(str, ends)) or '-'} {content.hex() or '-'}"


class Collector(threading.Thread):
    """The control socket: answers requests, and sends commit notices when told to."""

    def __init__(self, path, archive):
        super().__init__(daemon=True)
        self.archive, self.asked, self.clients, self.mute = archive, [], [], False
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.bind(path)
        self.socket.listen(8)
        self.archiving = 1
        self.stop_r, self.stop_w = os.pipe()
        self.start()

    def run(self):
        while True:
            for s in select.select([self.socket, self.stop_r] + self.clients, [], [])[0]:
                if s == self.stop_r:
                    return
                if s is self.socket:
                    self.clients.append(s.accept()[0])
                    continue
                data = b""
                with contextlib.suppress(ConnectionError):
                    data = s.recv(65536)
                if data:
                    self.answer(s, data.decode())
                else:
                    self.clients.remove(s)
                    s.close()

    def answer(self, s, text):
        lines = text.split("\n")
        verb, tag = lines[0].split()
        keys = dict(line.split("=", 1) for line in lines[1:] if line)
        self.asked.append((verb, keys))
        if self.mute:
            return
        reply = f"ok {tag}\n"
        if verb == "capture":
            if keys["note"] == "full":
                reply = f"error {tag}\nstatus=503\nsentence=The disk is full.\n"
            else:
                self.archive.last_capture += 1
                self.archive.commit(f"capture {self.archive.last_capture} {keys['run']} {keys['kind']} {keys['note'] or '-'}")
                reply += f"capture={self.archive.last_capture}\n"
        elif verb == "patch-capture":
            self.archive.commit(f"patch {keys['capture']} {keys.get('pinned', -1)} {keys.get('note', '-')}")
        elif verb == "delete-capture":
            self.archive.commit(f"delete {keys['capture']}")
        elif verb == "metrics":
            reply += "text=# TYPE mprofd_passes counter%0Amprofd_passes_total 7%0A# EOF%0A\n"
        elif verb == "status":
            reply += f"guests=1\nrings=1\narchiving={self.archiving}\nsentence=The disk is full.\n"
        s.send(reply.encode())

    def notify(self):
        for s in self.clients:
            s.send(b"commit\nserial=1\n")

    def close(self):
        os.write(self.stop_w, b"x")
        self.join()
        for s in self.clients + [self.socket]:
            s.close()
        os.close(self.stop_r)
        os.close(self.stop_w)


class Answer:
    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    def json(self):
        return json.loads(self.body)


class Server:
    def __init__(self, root, *arguments):
        self.run = os.path.join(root, "run")
        self.state = os.path.join(root, "state")
        os.makedirs(self.run, exist_ok=True)
        os.makedirs(self.state, exist_ok=True)
        self.socket = os.path.join(self.run, "http.sock")
        self.config = os.path.join(root, "mprofd.conf")
        with open(self.config, "a") as f:
            f.write("[http]\nheader-timeout = 1d\nbody-timeout = 1d\nidle-timeout = 1d\n")  # a client without a processor is no slow one
        words = [HTTP, "--state", self.state, "--run", self.run, "--config", self.config]
        words += arguments or ["--listen", "unix:" + self.socket, "--listen", "127.0.0.1:0"]
        self.process = launcher.Program(words, os.path.join(root, "log")).wait_ready()
        self.port = next(iter(self.process.ports()), None)

    def get(self, path, method="GET", body=None, tcp=False, **headers):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANGS) if tcp else UnixConnection(self.socket)
        try:
            c.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
            return Answer(c.getresponse())
        finally:
            c.close()

    def stop(self):
        """End the server, and check that it ends well."""
        self.process.stop(seconds=HANGS)
        return 0


class Live:
    """A live body, read as it comes."""

    def __init__(self, server, path, **headers):
        self.connection = UnixConnection(server.socket)
        self.connection.request("GET", path, headers=headers)
        self.response = self.connection.getresponse()
        self.status, self.headers = self.response.status, self.response.headers
        self.data = b""

    def until(self, n):
        """Read until there are N packets."""
        while len(split(self.data)[0]) < n:
            got = self.response.read1(65536)
            if not got:
                break
            self.data += got
        return split(self.data)[0]

    def rest(self):
        self.data += self.response.read()
        return split(self.data)[0]

    def close(self):
        self.connection.close()


class Case(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="mprofd-http-")
        self.addCleanup(shutil.rmtree, self.root, True)
        self.server = Server(self.root)
        self.archive = Archive(self.server.state)
        self.collector = Collector(os.path.join(self.server.run, "collect.sock"), self.archive)
        self.addCleanup(self.finish)

    def finish(self):
        self.collector.close()
        self.archive.close()
        self.assertEqual(self.server.stop(), 0)

    def guest(self, run=1, name="web", state="running", streams=1, packets=4, uuid="-", domid=-1, flags=0, source="dir"):
        self.archive.commit(
            f"run {run} {source} key{run} {name} {uuid} {domid} {state} {'ended' if state == 'ended' else '-'}",
            *[f"stream {run * 10 + k} {run} {k} 16384 {packets} {flags}" for k in range(streams)],
        )

    def fill(self, stream=10, sequences=range(0, 6), events=20):
        """Write complete packets. Return the identity body."""
        out = []
        for s in sequences:
            content = b"".join(event(1000 * s + i + 1, i) for i in range(events))
            self.archive.commit(piece(stream, s, 30, content, flags=1, ends=[30 + 17 * (i + 1) for i in range(events)]))
            out.append(packet(s, content))
        return out

    def metric(self, name):
        return float(re.search(rf"(?m)^mprofd_http_{name} (\S+)$", self.server.get("/metrics").body.decode())[1])

    def wait(self, what, seconds=launcher.PATIENCE):
        """Wait until WHAT() is true. Return its value."""
        return launcher.wait(what, seconds)

    def connected(self):
        """Wait until the server is connected to the collector, which it tries once a second."""
        self.wait(lambda: any(verb == "watch" for verb, _ in self.collector.asked))

    def ctl(self, *arguments):
        """Run mprofctl on this server. Return (exit code, output, errors)."""
        got = subprocess.run(
            [CTL, "--host", "unix:" + self.server.socket, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.root, timeout=HANGS
        )
        return got.returncode, got.stdout, got.stderr.decode()

    def problem(self, answer, status):
        self.assertEqual(answer.status, status, answer.body)
        self.assertEqual(answer.headers["Content-Type"], "application/problem+json")
        self.assertEqual(answer.json()["status"], status)
        self.assertTrue(answer.json()["detail"])
        return answer.json()


class Domains(Case):
    def test_shape(self):
        self.guest()
        self.fill(sequences=range(3))
        open_part = event(5000)
        self.archive.commit(piece(10, 3, 30, open_part))
        d = self.server.get("/v1/domains").json()["domains"]
        self.assertEqual(len(d), 1)
        self.assertLessEqual({"name", "uuid", "domid", "state", "source", "streams", "runs", "captures"}, set(d[0]))
        self.assertEqual((d[0]["name"], d[0]["uuid"], d[0]["domid"], d[0]["state"]), ("web", None, None, "running"))
        s = d[0]["streams"][0]
        self.assertEqual((s["packets"], s["bytes"], s["ring_bytes"]), (4, 3 * 370 + 47, 16384))
        self.assertRegex(s["last_seen"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$")
        self.assertEqual(s["lost_packets"], 0)

    def rate(self, name="web"):
        return self.server.get("/v1/domains/" + name).json()["streams"][0]["rate"]

    def test_rate(self):
        self.guest()
        self.assertEqual(self.rate(), 0)
        self.archive.say("age 100")
        self.fill(sequences=range(50))
        self.archive.commit(piece(10, 50, 30, event(60000)))
        self.assertEqual(self.rate(), 0)
        self.archive.say(ALWAYS_NEW)
        self.archive.commit(piece(10, 50, 47, event(60001) * 9, ends=[64, 200]))  # most of its packet is old
        self.assertEqual(self.rate(), 15)
        self.archive.commit(piece(10, 50, 200, event(60002), flags=1))
        self.fill(sequences=range(51, 351))
        self.archive.commit(piece(10, 351, 30, event(400000) * 8))
        self.assertEqual(self.rate(), (10 * 17 + 300 * 340 + 8 * 17) // 10)
        self.archive.commit("run 1 dir key1 web - -1 ended ended")
        self.assertEqual(self.rate(), 0)
        self.guest(run=2, name="new")
        self.fill(stream=20, sequences=range(7, 10))  # the window reaches beyond its first packet
        self.assertEqual(self.rate("new"), 3 * 34)

    def test_a_thousand_guests(self):
        lines, guests = [], 100 if BRIEF else 1000
        for run in range(1, guests + 1):
            lines += [f"run {run} dir key{run} guest-{run} - -1 running -", f"stream {run * 10} {run} 0 16384 4 0"]
            for age, sequences in (("age 60", range(3)), (ALWAYS_NEW, range(3, 8))):
                lines += [age] + [piece(run * 10, s, 30, event(s + 1) * 20, flags=1) for s in sequences]
        self.archive.commit(*lines)
        for _ in range(2):
            domains = self.server.get("/v1/domains?limit=1000").json()["domains"]
            self.assertEqual(len(domains), guests)
            self.assertEqual({d["streams"][0]["rate"] for d in domains}, {5 * 34})

    def test_paging_and_names(self):
        for i in range(5):
            self.guest(run=i + 1, name=f"guest-{i}")
        self.guest(run=2, name="guest-1", state="ended")
        self.guest(run=6, name="guest-1", state="ended")
        names, cursor = [], ""
        while cursor is not None:
            page = self.server.get("/v1/domains?limit=2" + (f"&cursor={cursor}" if cursor else "")).json()
            names += [d["name"] for d in page["domains"]]
            cursor = page["next"]
        self.assertEqual(names, [f"guest-{i}" for i in range(5)])
        one = self.server.get("/v1/domains/guest-1?limit=1").json()
        self.assertEqual((one["runs"], one["state"], [r["run"] for r in one["run_list"]]), (2, "ended", [6]))
        two = self.server.get(f"/v1/domains/guest-1?limit=1&cursor={one['next']}").json()
        self.assertEqual([r["run"] for r in two["run_list"]], [2])

    def test_resolution(self):
        self.guest(run=1, name="7", uuid=GUEST_UUID, domid=3, source="xen")
        self.guest(run=2, name="other", uuid=GUEST_UUID.replace("a", "b"), domid=7, source="xen")
        self.guest(run=3, name="old", uuid=GUEST_UUID.replace("a", "c"), domid=9, source="xen", state="ended")
        for text, run in ((GUEST_UUID, 1), (GUEST_UUID.upper(), 1), ("7", 1), ("domid:7", 2), ("3", 1), ("other", 2)):
            self.assertEqual(self.server.get("/v1/domains/" + text).json()["run"], run, text)
        for text in ("9", "domid:9", "domid:other", "nobody", "domid:", "%FF", "a%2Fb"):
            self.problem(self.server.get("/v1/domains/" + text), 400 if text == "%FF" else 404)
        self.assertIsNone(self.server.get("/v1/domains/old").json()["domid"])

    def test_every_name_has_an_address(self):
        """A name that looks like another kind of address has an address, too."""
        names = ["domid:1", GUEST_UUID, "12", "name:x", "x", "domain:x", "name:"]
        for i, name in enumerate(names):
            self.guest(
                run=i + 1,
                name=name,
                domid=12 if name == "x" else 1 if name == "12" else 100 + i,
                source="xen",
                uuid=GUEST_UUID if name == "x" else GUEST_UUID.replace("a", str(i)),
            )
        self.assertEqual(self.server.get("/v1/domains/" + GUEST_UUID).json()["name"], "x")
        for i, name in enumerate(names):
            self.assertEqual(self.server.get("/v1/domains/name:" + name).json()["run"], i + 1, name)
        for text in ("name:none", "name:100", "name:" + GUEST_UUID.replace("a", "0")):
            self.problem(self.server.get("/v1/domains/" + text), 404)
        status, out, _ = self.ctl("captures", "domain:name:domid:1")
        self.assertEqual(status, 0, out)
        self.assertEqual(self.ctl("captures", "name:" + GUEST_UUID)[0], 0)
        self.assertNotEqual(self.ctl("captures", "name:none")[0], 0)

    def test_odd_name(self):
        self.guest(name="caf\u00e9+x")
        self.fill()
        self.assertEqual(self.server.get("/v1/domains/caf%C3%A9+x").json()["name"], "caf\u00e9+x")
        location = self.server.get("/v1/domains/caf%C3%A9+x/trace").headers["Content-Location"]
        self.assertEqual(self.server.get(location).status, 200)


class Trace(Case):
    def test_body_and_head(self):
        self.guest()
        want = b"".join(self.fill())
        got = self.server.get("/v1/domains/web/trace")
        self.assertEqual((got.status, got.body), (200, want))
        self.assertEqual(got.headers["Content-Length"], str(len(want)))
        self.assertEqual(got.headers["Vary"], "Accept-Encoding")
        head = self.server.get("/v1/domains/web/trace", "HEAD")
        self.assertEqual((head.status, head.body, head.headers["ETag"]), (200, b"", got.headers["ETag"]))
        self.assertEqual(head.headers["Content-Length"], str(len(want)))
        self.assertEqual(self.server.get("/v1/domains/web/trace", If_None_Match=got.headers["ETag"]).status, 304)
        self.assertEqual(self.server.get("/v1/domains/web/trace", If_Match=got.headers["ETag"]).status, 200)
        for path in ("trace", "ctf.tar"):
            self.problem(self.server.get(f"/v1/domains/web/{path}", If_Match='"x"'), 412)

    def follows(self, path, *lines, method="HEAD"):
        """Ask for PATH, and in the same connection for another thing. Return the header of the first answer, and what follows it."""
        host = "Host: localhost\r\n"
        text = f"{method} {path} HTTP/1.1\r\n{host}" + "".join(f"{line}\r\n" for line in lines)
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(HANGS)
            s.connect(self.server.socket)
            s.sendall(f"{text}\r\nGET /healthz HTTP/1.1\r\n{host}Connection: close\r\n\r\n".encode())
            said = b""
            with contextlib.suppress(ConnectionError):
                while piece := s.recv(65536):
                    said += piece
        head, _, rest = said.partition(b"\r\n\r\n")
        return head, rest

    def test_answers_without_a_body(self):
        """Behind the header stands the next answer, or nothing: a client takes every other byte for the next answer."""
        self.guest()
        content = b"".join(label(i + 1, os.urandom(40000).replace(b"\0", b"x")) for i in range(20))
        self.archive.commit(piece(10, 0, 30, content, flags=1, room=1 << 20))
        zstd = "Accept-Encoding: zstd"
        for path in ("trace", "live", "ctf.tar"):
            for lines in ([], [zstd]):
                with self.subTest(path=path, lines=lines):
                    head, rest = self.follows(f"/v1/domains/web/{path}", *lines)
                    self.assertRegex(head, rb"\AHTTP/1.1 200 ")
                    self.assertRegex(rest, rb"\A(HTTP/1.1 200 |\Z)")
        self.assertRegex(self.follows("/v1/events")[1], rb"\A(HTTP/1.1 200 |\Z)")
        for path in ("trace", "ctf.tar"):
            for lines in ([], [zstd]):
                with self.subTest(path=path, lines=lines):
                    got = self.server.get(f"/v1/domains/web/{path}", **({"Accept_Encoding": "zstd"} if lines else {}))
                    head, rest = self.follows(f"/v1/domains/web/{path}", f"If-None-Match: {got.headers['ETag']}", *lines, method="GET")
                    self.assertRegex(head, rb"\AHTTP/1.1 304 ")
                    self.assertRegex(rest, rb"\A(HTTP/1.1 200 |\Z)")
                    for length in re.findall(rb"Content-Length: (\d+)", head):
                        self.assertEqual(int(length), len(got.body))

    def test_open_packet_is_joined_and_cut_at_its_last_end(self):
        self.guest()
        a, b, c = event(1), event(2), event(3) + event(4)
        self.archive.commit(piece(10, 0, 30, a), piece(10, 0, 47, b))
        self.archive.commit(piece(10, 0, 64, c[:10], ends=[]))
        self.assertEqual(self.server.get("/v1/domains/web/trace").body, packet(0, a + b))
        before = self.server.get("/v1/domains/web/trace")
        self.archive.commit(piece(10, 0, 74, c[10:], flags=1))
        self.archive.commit(piece(10, 1, 30, event(9)))
        again = self.server.get(before.headers["Content-Location"])
        self.assertEqual((again.body, again.headers["ETag"]), (before.body, before.headers["ETag"]))
        self.assertNotEqual(self.server.get("/v1/domains/web/trace").headers["ETag"], before.headers["ETag"])
        self.assertEqual(self.server.get("/v1/domains/web/trace").body, packet(0, a + b + c) + packet(1, event(9)))

    def test_empty(self):
        self.guest()
        self.assertEqual(self.server.get("/v1/domains/web/trace").body, b"")
        self.archive.commit(piece(10, 0, 30, b"", flags=1, ends=[30]))
        self.assertEqual(self.server.get("/v1/domains/web/trace").body, packet(0, b""))

    def test_large_packet_in_rows(self):
        self.guest()
        content = b"".join(label(i + 1, os.urandom(40000).replace(b"\0", b"x")) for i in range(70))
        lines, at = [], 0
        while at < len(content):
            part = content[at : at + 1000000]
            lines.append(piece(10, 0, 30 + at, part, room=1 << 22, first=1, ends=[30 + len(content)] if at + len(part) == len(content) else []))
            at += len(part)
        for line in lines:
            self.archive.commit(line)
        want = packet(0, content)
        self.assertEqual(self.server.get("/v1/domains/web/trace").body, want)
        self.archive.commit(piece(10, 0, 30 + len(content), b"", flags=1, room=1 << 22, ends=[], first=1))
        self.assertEqual(self.server.get("/v1/domains/web/trace").body, want)
        z = self.server.get("/v1/domains/web/trace", Accept_Encoding="zstd")
        self.assertEqual(unzstd(z.body), want)
        live = Live(self.server, "/v1/domains/web/live")
        self.assertEqual(b"".join(c for _, c in live.until(1)), content)
        live.close()

    def test_ranges(self):
        self.guest()
        want = b"".join(self.fill(sequences=range(40)))
        full = self.server.get("/v1/domains/web/trace")
        tag = full.headers["ETag"]
        for text, part in (
            ("bytes=0-0", want[:1]),
            ("bytes=0-29", want[:30]),
            ("bytes=29-31", want[29:32]),
            ("bytes=370-", want[370:]),
            ("bytes=1000-9999", want[1000:10000]),
            ("bytes=-5", want[-5:]),
            (f"bytes=-{len(want) * 2}", want),
            (f"bytes={len(want) - 1}-{len(want) * 9}", want[-1:]),
        ):
            got = self.server.get("/v1/domains/web/trace", Range=text, Accept_Encoding="zstd")
            self.assertEqual((got.status, got.body), (206, part), text)
            self.assertEqual(got.headers["ETag"], tag)
            self.assertRegex(got.headers["Content-Range"], rf"^bytes \d+-\d+/{len(want)}$")
            self.assertIsNone(got.headers["Content-Encoding"])
        for text in ("bytes=1-2,4-5", "lines=1-2", "bytes=5-2", "bytes=", "bytes=a-b"):
            self.assertEqual(self.server.get("/v1/domains/web/trace", Range=text).status, 200, text)
        behind = self.server.get("/v1/domains/web/trace", Range=f"bytes={len(want)}-")
        self.assertEqual(self.problem(behind, 416)["bytes"], len(want))
        self.assertEqual(behind.headers["Content-Range"], f"bytes */{len(want)}")
        self.assertEqual(self.server.get("/v1/domains/web/trace", Range="bytes=5-", If_Range=tag).status, 206)
        self.assertEqual(self.server.get("/v1/domains/web/trace", Range="bytes=5-", If_Range='"x"').status, 200)
        # a client can continue every cut download from the fixed positions, although the guest goes
        # on
        self.fill(sequences=range(40, 44))
        where = full.headers["Content-Location"]
        for at in range(1, len(want), 997):
            got = self.server.get(where, Range=f"bytes={at}-", If_Range=tag)
            self.assertEqual((got.status, got.body), (206, want[at:]))

    def test_zstd(self):
        self.guest()
        want = b"".join(self.fill())
        self.archive.say("level 0")
        want += b"".join(self.fill(sequences=range(6, 8)))
        z = self.server.get("/v1/domains/web/trace", Accept_Encoding="gzip, zstd;q=0.5")
        self.assertEqual((z.headers["Content-Encoding"], unzstd(z.body)), ("zstd", want))
        self.assertNotEqual(z.headers["ETag"], self.server.get("/v1/domains/web/trace").headers["ETag"])
        self.assertIsNone(self.server.get("/v1/domains/web/trace", Accept_Encoding="zstd;q=0").headers["Content-Encoding"])
        part = self.server.get("/v1/domains/web/trace?first=1.0.1.64&end=1.0.2.47", Accept_Encoding="zstd")
        plain = self.server.get("/v1/domains/web/trace?first=1.0.1.64&end=1.0.2.47")
        self.assertEqual(unzstd(part.body), plain.body)
        contents = split(want)[0]
        self.assertEqual(plain.body, packet(1, contents[1][1][34:]) + packet(2, contents[2][1][:17]))

    def test_selections(self):
        self.guest()
        p = self.fill(sequences=range(10))
        get = lambda q: self.server.get("/v1/domains/web/trace?" + q).body
        self.assertEqual(get("from=3000"), b"".join(p[2:]))
        self.assertEqual(get("from=3001&to=4500"), b"".join(p[3:5]))
        self.assertEqual(get("to=0"), b"")
        self.assertEqual(get("to=1500"), b"".join(p[:2]))
        self.assertEqual(get("last=1B"), p[9])
        self.assertEqual(get("last=400B"), b"".join(p[8:]))
        self.assertEqual(get("last=1G"), b"".join(p))
        self.assertEqual(get("last=1us"), b"".join(p[8:]))
        self.assertEqual(get("last=10ns"), p[9])
        self.assertEqual(get("first=1.0.9.30"), p[9])
        for bad in (
            "last=x",
            "from=-1",
            "from=5&to=4",
            "last=1B&from=1",
            "first=1.0.1.31",
            "first=1",
            "tail=x",
            "nope=1",
            "from=1&from=2",
            "first=1.0.2.30&end=1.1.3.30",
            "end=1.0.2.33",
            "stream=x",
            "run=0",
            "first=01.0.0.30",
        ):
            self.problem(self.server.get("/v1/domains/web/trace?" + bad), 400)
        self.problem(self.server.get("/v1/domains/web/trace?run=99"), 404)
        self.problem(self.server.get("/v1/domains/web/trace?stream=4"), 404)

    def test_run_of_another_guest(self):
        self.guest()
        self.guest(run=2, name="other")
        self.problem(self.server.get("/v1/domains/web/trace?run=2"), 404)
        self.problem(self.server.get("/v1/domains/web/trace?first=2.0.0.30"), 404)

    def test_several_streams(self):
        self.guest(streams=2)
        a, b = self.fill(stream=10), self.fill(stream=11, sequences=range(2))
        conflict = self.problem(self.server.get("/v1/domains/web/trace"), 409)
        self.assertEqual([s["stream"] for s in conflict["streams"]], [0, 1])
        self.assertEqual(self.server.get("/v1/domains/web/trace?stream=1").body, b"".join(b))
        self.assertEqual(self.server.get("/v1/domains/web/trace?first=1.0.0.30").body, b"".join(a))
        self.problem(self.server.get("/v1/domains/web/packets"), 409)
        self.problem(self.server.get("/v1/domains/web/live"), 409)

    def test_every_gap_is_listed(self):
        """Gaps are listed before the first packet, behind the last, and in a packet of which
        nothing came."""
        self.guest()
        self.archive.commit("gap 10 lost lapped 3 30 5 2 0")
        self.fill(sequences=range(5, 7))
        self.archive.commit("gap 10 lost lapped 7 30 9 2 0")
        self.fill(sequences=range(9, 11))
        self.archive.commit("gap 10 lost lapped 11 30 14 3 0")
        for limit in (1, 2, 3, 100):
            gaps, cursor = [], ""
            while cursor is not None:
                page = self.server.get(f"/v1/domains/web/packets?limit={limit}{cursor}").json()
                gaps += [(g["after_sequence"], g["next_sequence"]) for g in page["gaps"]]
                cursor = page["next"] and f"&cursor={page['next']}"
            self.assertEqual(gaps, [(3, 5), (7, 9), (11, 14)], limit)
        self.list_many_gaps()

    def list_many_gaps(self):
        """List more gaps than fit on a page: the page ends earlier."""
        self.archive.commit(*[f"gap 10 lost lapped {s} 30 {s + 2} 2 0" for s in range(14, 2514, 2)])
        self.fill(sequences=range(2514, 2516))
        gaps, packets, cursor = [], [], ""
        while cursor is not None:
            page = self.server.get(f"/v1/domains/web/packets?limit=1000{cursor}").json()
            gaps += [g["after_sequence"] for g in page["gaps"]]
            packets += [p["sequence"] for p in page["packets"]]
            cursor = page["next"] and f"&cursor={page['next']}"
        self.assertEqual(gaps, [3, 7, 11, *range(14, 2514, 2)])
        self.assertEqual(packets, [5, 6, 9, 10, 2514, 2515])

    def test_gaps_of_a_part(self):
        self.guest()
        self.fill(sequences=range(5, 7))
        self.archive.commit("gap 10 lost lapped 7 30 9 2 0")
        self.fill(sequences=range(9, 11))
        self.archive.commit("gap 10 lost lapped 11 30 14 3 0")
        part = self.server.get("/v1/domains/web/packets?from=6000&to=9500").json()
        self.assertEqual([g["after_sequence"] for g in part["gaps"]], [7])

    def test_growing_packet(self):
        """The stamps of a packet that grows, over its rows, and the time of the first event of its last chunk."""
        self.guest()
        content = b"".join(event(1000 + i, i) for i in range(12))

        def grow(begin, end, *ends):
            self.archive.commit(piece(10, 3, 30 + 17 * begin, content[17 * begin : 17 * end], first=1000, ends=[30 + 17 * e for e in ends]))
            (packet,) = self.server.get("/v1/domains/web/packets").json()["packets"]
            stamps = [(s["offset"] - 30) // 17 for s in packet["copied"].get("newest", [])]
            self.assertEqual(packet["copied"]["last"]["offset"], 30 + 17 * end)
            return stamps, packet["copied"].get("last_chunk")

        self.assertEqual(grow(0, 2, 2), ([], None))
        self.assertEqual(grow(2, 5, 5), ([], "1002"))
        self.assertEqual(grow(5, 8, 6, 8), ([2, 5, 6, 8], "1006"))
        self.assertEqual(grow(8, 11, 9, 11), ([5, 6, 8, 9, 11], "1009"))
        self.archive.commit("capture 1 1 manual -", f"range 1 10 3 3 {30 + 17 * 8}")
        (part,) = self.server.get("/v1/captures/1/packets").json()["packets"]
        self.assertEqual((part["copied"]["last"]["offset"], part["copied"]["last_chunk"]), (30 + 17 * 8, "1006"), "as it was then")
        self.assertIn(
            "precision", tarfile.open(fileobj=io.BytesIO(self.server.get("/v1/domains/web/ctf.tar").body)).extractfile("web/metadata").read().decode()
        )

    def test_gaps_and_packets(self):
        self.guest()
        self.fill(sequences=range(3))
        self.archive.commit("gap 10 lost lapped 2 370 7 5 0")
        self.fill(sequences=range(7, 9))
        got = self.server.get("/v1/domains/web/packets?limit=4").json()
        self.assertEqual([p["sequence"] for p in got["packets"]], [0, 1, 2, 7])
        self.assertEqual([(g["packets"], g["next_sequence"]) for g in got["gaps"]], [(5, 7)])
        self.assertEqual(got["packets"][1]["first_timestamp"], "1001")
        self.assertEqual((got["packets"][1]["bytes"], got["packets"][1]["room"]), (370, 4096))
        self.assertEqual(got["packets"][1]["copied"]["last"]["offset"], 370)
        self.assertEqual(got["packets"][1]["copied"]["first"]["offset"], 47)
        self.assertEqual([s["offset"] for s in got["packets"][1]["copied"]["newest"]], [370 - 17 * i for i in range(4, -1, -1)])
        self.assertNotIn("last_chunk", got["packets"][1]["copied"], "a complete packet tells it by the next one")
        rest = self.server.get(f"/v1/domains/web/packets?cursor={got['next']}").json()
        self.assertEqual(([p["sequence"] for p in rest["packets"]], rest["next"]), ([8], None))
        trace = self.server.get("/v1/domains/web/trace")
        self.assertEqual(trace.headers["Mprof-Lost-Packets"], "5")
        view = self.server.get("/v1/domains/web/packets?buckets=8").json()
        self.assertEqual(sum(b["packets"] for b in view["buckets"]), 5)
        self.assertEqual(sum(b["bytes"] for b in view["buckets"]), len(trace.body))
        self.assertEqual([b["lost_packets"] for b in view["buckets"]][:2], [0, 5])

    def test_deleted(self):
        self.guest()
        self.fill(sequences=range(10))
        where = self.server.get("/v1/domains/web/trace").headers["Content-Location"]
        self.archive.say("enforce web 800")
        gone = self.problem(self.server.get(where), 410)
        self.assertEqual(gone["oldest"], "1.0.8.30")
        self.assertEqual(self.problem(self.server.get("/v1/domains/web/live?after=1.0.3.47"), 410)["oldest"], "1.0.8.30")

    def test_aborted_when_rows_vanish(self):
        self.guest()
        content = os.urandom(900000).replace(b"\0", b"x")
        for s in range(40):
            self.archive.commit(piece(10, s, 30, label(s + 1, content), flags=1, room=1 << 20))
        for headers in ({}, {"Accept-Encoding": "zstd"}):
            c = UnixConnection(self.server.socket)
            c.request("GET", "/v1/domains/web/trace?first=1.0.20.30" if headers else "/v1/domains/web/trace", headers=headers)
            r = c.getresponse()
            r.read(100000)
            self.archive.say("enforce web 2000000" if headers else "enforce web 20000000")
            with self.assertRaises((http.client.IncompleteRead, ConnectionError)):
                r.read()
            c.close()

    def test_slow_client_costs_little(self):
        self.guest()
        content = os.urandom(900000).replace(b"\0", b"x")
        for s in range(30):
            self.archive.commit(piece(10, s, 30, label(s + 1, content), flags=1, room=1 << 20))
        self.server.get("/v1/domains/web/trace")
        rss = lambda: int(open(f"/proc/{self.server.process.pid}/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")
        before, clients = rss(), []
        for _ in range(10):
            c = UnixConnection(self.server.socket)
            c.request("GET", "/v1/domains/web/trace")
            clients.append((c, c.getresponse()))
        self.assertEqual(self.server.get("/v1/domains").status, 200)
        self.assertLess((rss() - before) / len(clients), (4 if SANITIZED else 2) << 20)
        for c, _ in clients:
            c.close()


class Tails(Case):
    def test_unproven(self):
        self.guest(flags=1, packets=4)
        old = [event(100 + i) for i in range(10)]
        new = [event(200 + i) for i in range(10)]
        self.archive.commit(piece(10, 0, 30, b"".join(old), flags=1 | 2), "gap 10 lost lapped 0 200 4 3 0")
        mixed = b"".join(new[:6] + old[6:])
        self.archive.commit(piece(10, 4, 30, mixed, flags=1 | 2))
        got = self.server.get("/v1/domains/web/trace")
        self.assertEqual(split(got.body)[0], [(0, b"".join(old)), (4, b"".join(new[:6]))])
        self.assertEqual(got.headers["Mprof-Cut"], "bytes=68; packets=1; at=1.0.4.132")
        raw = self.server.get("/v1/domains/web/trace?tail=raw")
        self.assertEqual(split(raw.body)[0][1], (4, mixed))
        self.assertIsNone(raw.headers["Mprof-Cut"])
        packets = self.server.get("/v1/domains/web/packets").json()["packets"]
        self.assertEqual([(p["cut"], p["unproven"]) for p in packets], [(0, True), (68, True)])
        live = Live(self.server, "/v1/domains/web/live")
        self.assertEqual(live.until(2), [(0, b"".join(old)), (4, b"".join(new[:6]))])
        live.close()
        self.assertEqual(Live(self.server, "/v1/domains/web/live?after=1.0.4.132").status, 200)

    def lives(self, after=""):
        """Follow the guest's trace by the positions until its run ends. Return its packets, joined, and each header Mprof-Cut."""
        contents, cuts, position = {}, [], after
        while True:
            live = Live(self.server, f"/v1/domains/web/live{position and '?after=' + position}")
            self.assertEqual(live.status, 200)
            packets, position = live.rest(), live.headers["Mprof-Position"]
            cuts += [live.headers["Mprof-Cut"]] * (live.headers["Mprof-Cut"] is not None)
            for packet in packets:
                position = advance(position, [packet])
                contents[int(position.split(".")[2])] = contents.get(int(position.split(".")[2]), b"") + packet[1]
            if not packets and live.headers["Mprof-Run-State"] == "ended":
                return contents, cuts

    def test_live_goes_on_behind_damage(self):
        """A live body ends before bytes that cannot be events. The next one declares them, and goes on behind them as a trace does."""
        hour = 10**13
        said = lambda a, b: b"".join(event(hour + 1000 * i, i % 5) for i in range(a, b))
        damaged = said(0, 6) + b"\xff" * 17 + said(7, 20)
        first = b"\xff" * 26 + said(40, 50)
        last = said(60, 70) + b"\xff" * 30
        self.guest(flags=1, packets=8)
        self.archive.commit(piece(10, 0, 30, damaged[:170], flags=2, first=hour))
        live = Live(self.server, "/v1/domains/web/live")
        self.assertEqual(live.until(1), [(0, said(0, 6))])
        self.archive.commit(piece(10, 0, 200, damaged[170:], flags=1 | 2, first=hour))
        self.collector.notify()
        self.assertEqual(live.rest(), [(0, said(0, 6))])
        live = Live(self.server, "/v1/domains/web/live?after=1.0.0.132")
        self.assertEqual((live.headers["Mprof-Cut"], live.headers["Mprof-Position"]), ("bytes=17; packets=1; at=1.0.0.132", "1.0.0.149"))
        self.assertEqual(live.until(1), [(0, said(7, 20))])
        self.archive.commit(piece(10, 1, 30, first, flags=1 | 2, first=2**63 - 1), piece(10, 2, 30, last, flags=1 | 2, first=hour + 60000))
        self.collector.notify()
        self.assertEqual(live.rest(), [(0, said(7, 20))])
        self.archive.commit(piece(10, 3, 30, said(80, 90), flags=2, first=hour + 80000))
        self.archive.commit(
            "run 1 dir key1 web - -1 ended ended",
            "capture 1 1 ended -",
            "range 1 10 0 3 200",
            f"tail 1 10 3 200 4096 {hour + 80000} {(said(90, 94) + bytes([255]) * 17 + said(95, 99)).hex()}",
            f"tail 1 10 4 30 4096 {hour + 100000} {(said(100, 104) + bytes([255]) * 40).hex()}",
        )
        trace = self.server.get("/v1/domains/web/trace")
        contents, cuts = self.lives()
        self.assertEqual(contents, dict(split(trace.body)[0]))
        cut = [int(re.match(r"bytes=(\d+);", it)[1]) for it in cuts]
        self.assertEqual(cut, [17, 26, 30, 17, 40])
        self.assertEqual(trace.headers["Mprof-Cut"], "bytes=130; packets=5; at=1.0.0.132")
        # A body from any of its positions has the rest, and declares no cut twice.
        for sequence, offset, cuts in (0, 149, 4), (1, 226, 3), (2, 200, 3), (2, 230, 2), (3, 285, 1), (4, 98, 1), (4, 138, 0):
            self.assertEqual(len(self.lives(f"1.0.{sequence}.{offset}")[1]), cuts, (sequence, offset))

    def tail(self, tail):
        """Write a run that ended with a tail behind packet 5, in the slot of packet 1."""
        self.guest(state="running")
        p = self.fill(sequences=range(5))
        head = event(6000) + event(6001)
        self.archive.commit(piece(10, 5, 30, head))
        self.archive.commit(
            "run 1 dir key1 web - -1 ended ended", "capture 1 1 ended -", "range 1 10 0 5 64", f"tail 1 10 5 64 4096 6000 {tail.hex()}"
        )
        return p, head

    def test_capture_tail(self):
        good = event(6002) + event(6003)
        stale = event(1004, 3)  # the bytes of packet 1 at this place
        p, head = self.tail(good + event(1005, 4))
        want = b"".join(p) + packet(5, head + good)
        for path in ("/v1/domains/web/trace", "/v1/captures/1/trace"):
            got = self.server.get(path)
            self.assertEqual(got.body, want, path)
            self.assertEqual(got.headers["Mprof-Cut"], "bytes=17; packets=1; at=1.0.5.98")
            self.assertEqual(unzstd(self.server.get(path, Accept_Encoding="zstd").body), want)
            self.assertEqual(self.server.get(path, Range=f"bytes={len(want) - 40}-").body, want[-40:])
            self.assertEqual(self.server.get(path + "?tail=raw").body, b"".join(p) + packet(5, head + good + event(1005, 4)))
        self.assertTrue(stale)
        last = self.server.get("/v1/captures/1/packets").json()["packets"][-1]
        self.assertEqual((last["sequence"], last["tail_bytes"], last["cut"], last["bytes"]), (5, 34, 17, 98))
        live = Live(self.server, "/v1/domains/web/live")
        self.assertEqual(live.headers["Mprof-Run-State"], "ended")
        packets = live.rest()
        self.assertEqual(b"".join(c for _, c in packets), b"".join(c for _, c in split(want)[0]))
        end = advance(live.headers["Mprof-Position"], packets)
        self.assertEqual(end, "1.0.5.98")
        self.assertEqual(Live(self.server, f"/v1/domains/web/live?after={end}").rest(), [])
        for n in range(len(packets)):
            at = advance(live.headers["Mprof-Position"], packets[:n])
            self.assertEqual(
                b"".join(c for _, c in Live(self.server, f"/v1/domains/web/live?after={at}").rest()), b"".join(c for _, c in packets[n:])
            )

    def test_stale_last_packet_is_not_served(self):
        p, head = self.tail(event(6002))
        self.archive.commit("tail 1 10 6 30 4096 2001 " + b"".join(event(2001 + i, i) for i in range(20)).hex())
        got = self.server.get("/v1/domains/web/trace")
        self.assertEqual(got.body, b"".join(p) + packet(5, head + event(6002)))
        self.assertIn("bytes=340", got.headers["Mprof-Cut"])

    def test_fresh_packet_of_tail(self):
        p, head = self.tail(event(6002))
        self.archive.commit("tail 1 10 6 30 4096 7001 " + (event(7001) + event(7002)).hex())
        want = b"".join(p) + packet(5, head + event(6002)) + packet(6, event(7001) + event(7002))
        self.assertEqual(self.server.get("/v1/domains/web/trace").body, want)
        for at in range(0, len(want), 13):
            self.assertEqual(self.server.get("/v1/domains/web/trace", Range=f"bytes={at}-").body, want[at:])
        self.assertEqual(b"".join(c for _, c in Live(self.server, "/v1/domains/web/live").rest()), b"".join(c for _, c in split(want)[0]))


class LiveBodies(Case):
    def test_follows_and_resumes(self):
        self.connected()
        self.guest()
        sent, position, got = [], None, b""
        live = Live(self.server, "/v1/domains/web/live")
        self.assertEqual(live.headers["Mprof-Position"], "1.0.0.30")
        self.assertIsNone(live.headers["ETag"])
        position = live.headers["Mprof-Position"]
        for i in range(60):
            sequence, k = divmod(i, 6)
            e = event(i + 1, i)
            sent.append(e)
            self.archive.commit(piece(10, sequence, 30 + 17 * k, e, flags=1 if k == 5 else 0, first=sequence * 6 + 1))
            if i % 2 == 0:
                self.collector.notify()
            if i % 7 == 3:  # drop the connection at any point
                packets = live.until(1)
                got += b"".join(c for _, c in packets)
                position = advance(position, packets)
                live.close()
                live = Live(self.server, f"/v1/domains/web/live?after={position}", **({"Accept-Encoding": "x"} if i % 2 else {}))
                again = live.headers["Mprof-Position"]  # the end of a packet is the beginning of the next
                self.assertIn(again, (position, "1.0.%d.30" % (int(position.split(".")[2]) + 1)))
                position = again
        self.archive.commit("run 1 dir key1 web - -1 ended ended")
        self.collector.notify()
        got += b"".join(c for _, c in live.rest())
        self.assertEqual(got, b"".join(sent))
        self.wait(lambda: ("follow", {"run": "1", "stream": "0"}) in self.collector.asked)

    def test_many_followers(self):
        """Followers that begin at different times get the same bytes, though one of them reads for all."""
        self.connected()
        self.guest()
        sent, lives = b"", []
        for i in range(40):
            sequence, k = divmod(i, 6)
            sent += event(i + 1, i)
            self.archive.commit(piece(10, sequence, 30 + 17 * k, event(i + 1, i), flags=1 if k == 5 else 0, first=sequence * 6 + 1))
            if i % 3 == 0:
                self.collector.notify()
            if i % 4 == 0:
                lives.append((Live(self.server, "/v1/domains/web/live"), 0))
            if i % 10 == 5:
                lives.append((Live(self.server, f"/v1/domains/web/live?after=1.0.{sequence}.{30 + 17 * k}"), i))
        self.archive.commit("run 1 dir key1 web - -1 ended ended")
        self.collector.notify()
        for live, begun in lives:
            self.assertEqual(b"".join(content for _, content in live.rest()), sent[17 * begun :])
            live.close()

    def test_without_notices(self):
        """The server finds events by itself: each is written when the last one has come, so the body waits already."""
        self.guest()
        live, sent = Live(self.server, "/v1/domains/web/live"), b""
        for i in range(3):
            self.archive.commit(piece(10, i, 30, event(i + 1), flags=1))
            sent += packet(i, event(i + 1))
            self.assertEqual(live.until(i + 1), split(sent)[0])
        live.close()

    def test_zstd(self):
        self.guest()
        want = self.fill()
        self.archive.commit("run 1 dir key1 web - -1 ended ended")
        got = self.server.get("/v1/domains/web/live", Accept_Encoding="zstd")
        self.assertEqual(got.headers["Content-Encoding"], "zstd")
        self.assertEqual(unzstd(got.body), b"".join(want))

    def test_bad_positions(self):
        self.guest()
        self.fill()
        for bad in ("1.0.2.31", "1.0.2.999", "1.0.99.30", "x", "1.0.2", "1.0.2.29", "2.0.2.30x"):
            self.problem(self.server.get("/v1/domains/web/live?after=" + bad), 400)
        self.problem(self.server.get("/v1/domains/web/live?after=2.0.2.30"), 404)

    def test_gaps(self):
        self.guest()
        self.fill(sequences=range(2))
        self.archive.commit("gap 10 lost lapped 1 370 9 7 0")
        self.fill(sequences=range(9, 11))
        self.archive.commit("gap 10 lost lapped 10 370 70000 3 1")
        tail = self.fill(sequences=range(70000, 70002))
        live = Live(self.server, "/v1/domains/web/live")
        packets = live.rest()
        self.assertEqual([c for c, _ in packets], [0, 1, 9, 10])
        end = advance(live.headers["Mprof-Position"], packets)
        self.assertEqual(end, "1.0.10.370")
        live = Live(self.server, f"/v1/domains/web/live?after={end}")
        self.assertEqual(live.headers["Mprof-Position"], "1.0.70000.30")
        self.assertEqual(live.until(2), split(b"".join(tail))[0])
        live.close()

    def test_client_that_left_is_noticed(self):
        self.guest()
        lives = [Live(self.server, "/v1/domains/web/live") for _ in range(20)]
        self.assertEqual(self.metric("live"), 20)
        for live in lives:
            live.close()
        self.wait(lambda: self.metric("live") == 0)

    def test_events_that_are_forgotten(self):
        """A client that reads more slowly than events come is told to read everything again, and
        then gets later events."""
        self.guest()
        captures = range(1, 1301)
        while not self.forgets(captures):  # the slow client was disconnected, since it read nothing for too long
            captures = range(captures.stop, captures.stop + 1300)

    def forgets(self, captures):
        """See a client that reads nothing while CAPTURES are made. Return False if it was disconnected."""

        def until(live, text):
            while text not in live.data:
                got = live.response.read1(65536)
                live.data += got
                if not got:
                    return False
            return True

        slow, began = Live(self.server, "/v1/events"), time.monotonic()
        self.assertTrue(until(slow, b"event: hello"))
        first = re.search(rb"id: (\S+)", slow.data)[1].decode()
        self.archive.commit(*[f"capture {n} 1 manual {'x' * 4000}" for n in captures])

        def forgotten():
            with contextlib.closing(Live(self.server, "/v1/events", **{"Last-Event-ID": first})) as back:
                self.assertTrue(until(back, b"event: "))
                return b"event: reset" in back.data

        self.wait(forgotten)
        # From here on fewer events come than the server keeps: FRESH gets all, and only SLOW is reset.
        fresh = Live(self.server, "/v1/events")
        self.assertTrue(until(fresh, b"event: hello"))
        self.archive.commit("patch 1 -1 all-came")
        self.assertTrue(until(fresh, b"all-came"))
        if not until(slow, b"event: reset"):
            self.assertGreater(time.monotonic() - began, 30)
            return False
        self.archive.commit("patch 1 -1 goes-on")
        self.assertTrue(until(slow, b"goes-on"))
        slow.close()
        fresh.close()
        return True

    def test_stops_while_clients_wait(self):
        self.guest()
        lives = [Live(self.server, "/v1/domains/web/live") for _ in range(5)]
        self.assertEqual(self.server.stop(), 0)
        for live in lives:
            live.close()

    def test_collector_restarts(self):
        self.guest()
        live = Live(self.server, "/v1/domains/web/live")
        self.collector.close()
        os.unlink(os.path.join(self.server.run, "collect.sock"))
        self.wait(lambda: self.metric("collector_connected") == 0)
        self.problem(self.server.get("/readyz"), 503)
        self.collector = Collector(os.path.join(self.server.run, "collect.sock"), self.archive)
        self.wait(lambda: self.server.get("/readyz").status == 200)
        self.archive.commit(piece(10, 0, 30, event(1)))
        self.collector.notify()
        self.assertEqual(live.until(1), [(0, event(1))])
        live.close()


class Captures(Case):
    def test_life(self):
        self.connected()
        self.guest()
        self.fill()
        self.archive.last_capture = 3
        made = self.server.get("/v1/domains/web/captures", "POST", json.dumps({"note": "before-fix"}), Content_Type="application/json")
        self.assertEqual((made.status, made.headers["Location"]), (201, "/v1/captures/4"), made.body)
        self.assertEqual((made.json()["kind"], made.json()["note"], made.json()["pinned"]), ("manual", "before-fix", False))
        self.assertEqual(self.server.get("/v1/domains/web/captures", "POST").status, 201)
        patched = self.server.get("/v1/captures/4", "PATCH", '{"pinned": true, "note": "kept"}')
        self.assertEqual((patched.status, patched.json()["pinned"], patched.json()["note"]), (200, True, "kept"))
        self.assertEqual([c["id"] for c in self.server.get("/v1/captures").json()["captures"]], [5, 4])
        page = self.server.get("/v1/domains/web/captures?limit=1").json()
        self.assertEqual(([c["id"] for c in page["captures"]], page["next"]), ([5], "5"))
        self.assertEqual([c["id"] for c in self.server.get("/v1/domains/web/captures?cursor=5").json()["captures"]], [4])
        self.assertEqual(self.server.get("/v1/domains/web").json()["captures"], 2)
        self.assertEqual(self.server.get("/v1/captures/4", "DELETE").status, 204)
        self.problem(self.server.get("/v1/captures/4", "DELETE"), 404)
        self.problem(self.server.get("/v1/captures/4"), 404)
        self.problem(self.server.get("/v1/captures/x"), 404)

    def test_refusals(self):
        self.connected()
        self.guest()
        post = lambda body, **h: self.server.get("/v1/domains/web/captures", "POST", body, **h)
        for bad in ("[]", "{", '{"kind":"crash"}', '{"note":1}', '{"x":1}', '{"note":"a\\u0000b"}', '"x"', '{"note":"' + "x" * 5000 + '"}'):
            self.problem(post(bad), 400)
        self.problem(post("{}", Content_Type="text/plain"), 415)
        self.problem(post(" " * 70000), 413)
        self.problem(post('{"note":"full"}'), 503)
        self.problem(self.server.get("/v1/captures/9", "PATCH", '{"pinned":true}'), 404)
        self.server.get("/v1/domains/web/captures", "POST")
        self.problem(self.server.get("/v1/captures/1", "PATCH", "{}"), 400)
        self.problem(self.server.get("/v1/captures/1", "PATCH", '{"pinned":1}'), 400)
        good = {"from": "1", "to": "2", "text": "x"}
        for bad in (
            [None, {}, "x", [1], [good, 1], [good] * 51],
            [[{**good, **change}] for change in ({"from": 1}, {"from": "3"}, {"from": "-1"}, {"to": str(2**63)}, {"to": ""}, {"more": 1})],
            [[{**good, "text": text}] for text in ("", 1, None, "x" * 201, "\U0001d11e" * 201)],
            [[{key: good[key] for key in good if key != lacking}] for lacking in good],
            [[{**good, "text": "\u0800" * 200}] * 30],
        ):
            for marks in bad:
                answer = self.server.get("/v1/captures/1", "PATCH", json.dumps({"marks": marks}))
                self.assertIn("marks must be a list", self.problem(answer, 400)["detail"], marks)
        self.guest(state="ended")
        self.problem(post(""), 409)

    def test_no_collector(self):
        self.guest()
        self.collector.close()
        os.unlink(os.path.join(self.server.run, "collect.sock"))
        self.wait(lambda: self.metric("collector_connected") == 0)
        answer = self.server.get("/v1/domains/web/captures", "POST")
        self.problem(answer, 503)
        self.assertEqual(answer.headers["Retry-After"], "1")
        self.assertEqual(self.server.get("/metrics").status, 200)
        self.collector = Collector(os.path.join(self.server.run, "collect.sock"), self.archive)

    def test_trace(self):
        self.guest(streams=2)
        p = self.fill(sequences=range(8))
        self.fill(stream=11)
        self.archive.commit("capture 1 1 manual -", "range 1 10 2 4 200")
        want = b"".join(p[2:4]) + packet(4, split(p[4])[0][0][1][:170])
        self.assertEqual(self.server.get("/v1/captures/1/trace").body, want)
        tar = tarfile.open(fileobj=io.BytesIO(self.server.get("/v1/captures/1/ctf.tar").body))
        self.assertEqual(tar.extractfile("web/run-1-stream-0").read(), want)
        self.assertEqual(tar.getnames(), ["web/metadata", "web/run-1-stream-0"])
        self.assertEqual([q["sequence"] for q in self.server.get("/v1/captures/1/packets").json()["packets"]], [2, 3, 4])
        self.problem(self.server.get("/v1/captures/1/trace?stream=1"), 404)
        self.problem(self.server.get("/v1/captures/9/trace"), 404)

    def test_not_taken(self):
        """A capture is archived before the range of its streams: it is being taken. Much later it never was finished."""
        self.guest()
        self.fill()
        self.archive.commit("capture 1 1 manual - - 1700000000000000000")
        number = 1
        for path in ("trace", "packets", "ctf.tar"):
            self.assertIn("has no packets", self.problem(self.server.get(f"/v1/captures/1/{path}"), 404)["detail"])
            taking = None
            while not taking or taking.status == 404:
                number, began = number + 1, time.monotonic()
                self.archive.commit(f"capture {number} 1 periodic -")
                taking = self.server.get(f"/v1/captures/{number}/{path}")
                if taking.status == 404:  # it took so long that the capture is taken for unfinished: ask for a new one
                    self.assertGreater(time.monotonic() - began, 60)
            self.assertIn("still being taken", self.problem(taking, 503)["detail"])
            self.assertEqual(taking.headers["Retry-After"], "1")
        self.archive.commit(f"range {number} 10 0 0 47")
        self.assertEqual(len(split(self.server.get(f"/v1/captures/{number}/trace").body)[0]), 1)

    def kept(self, capture, path="trace"):
        """Return (complete, from the header; sequences), or the status."""
        answer = self.server.get(f"/v1/captures/{capture}/{path}")
        if answer.status != 200:
            return self.problem(answer, answer.status)["status"]
        complete = self.server.get(f"/v1/captures/{capture}").json()["complete"]
        return complete, answer.headers["Mprof-Complete"], [sequence for sequence, _ in split(answer.body)[0]]

    def test_deleted_in_part(self):
        self.guest()
        self.fill(sequences=range(4))
        self.archive.commit("gap 10 lost lapped 3 370 6 2 0")
        self.fill(sequences=range(6, 20))
        for capture, (first, last) in enumerate(((0, 1), (2, 8), (6, 9), (10, 13)), 1):
            self.archive.commit(f"capture {capture} 1 manual -", f"range {capture} 10 {first} {last} 370")
        self.assertEqual(self.kept(2), (True, "true", [2, 3, 6, 7, 8]))
        self.archive.commit("patch 3 1 -")  # pinned: packets 6 to 9 stay
        seen = []
        for packets in range(17, 4, -1):  # each step deletes one packet
            self.archive.say(f"enforce web {packets * 340}")
            sequences = [p["sequence"] for p in self.server.get("/v1/domains/web/packets").json()["packets"]]
            for capture, first, last in ((1, 0, 1), (2, 2, 8), (3, 6, 9), (4, 10, 13)):
                names = [s for s in range(first, last + 1) if s not in (4, 5)]
                left = [s for s in names if s in sequences]
                want = (left == names, str(left == names).lower(), left) if left else 410
                got = self.kept(capture)
                if got == 404 and not left:
                    continue  # a capture without packets is deleted itself, soon
                self.assertEqual(got, want, (capture, sequences))
                seen.append((capture, len(left)))
                if not left:
                    self.assertEqual((self.kept(capture, "packets"), self.kept(capture, "ctf.tar")), (410, 410))
        self.assertLessEqual({(1, 1), (1, 0), (2, 5), (2, 4), (2, 3), (3, 4), (4, 4), (4, 2), (4, 0)}, set(seen))
        self.assertIs(self.server.get("/v1/captures/3").json()["complete"], True)


class Xen(Case):
    """Guests of Xen: UUIDs and domids, several streams, suspension, names that change."""

    def life(self, run, name, domid, state="running", uuid=GUEST_UUID, streams=1):
        self.guest(run=run, name=name, state=state, uuid=uuid, domid=domid, source="xen", streams=streams)

    def of(self, text):
        answer = self.server.get("/v1/domains/" + text)
        return answer.json() if answer.status == 200 else answer.status

    def test_reboots_are_runs_of_one_guest(self):
        self.life(1, "web", 4, "ended")
        self.life(2, "web", 5, "ended")
        self.life(3, "web", 6)
        self.life(4, "db", 5, uuid=GUEST_UUID.replace("a", "b"))  # a domid that another guest had before
        first = self.fill(stream=10, sequences=range(2))
        last = self.fill(stream=30, sequences=range(5, 8))
        domains = self.server.get("/v1/domains").json()["domains"]
        self.assertEqual([(d["name"], d["domid"], d["runs"], d["run"]) for d in domains], [("web", 6, 3, 3), ("db", 5, 1, 4)])
        web = self.of(GUEST_UUID)
        self.assertEqual(
            [(r["run"], r["domid"], r["state"], r["reason"]) for r in web["run_list"]],
            [(3, 6, "running", None), (2, 5, "ended", "ended"), (1, 4, "ended", "ended")],
        )
        self.assertEqual([self.of(text)["run"] for text in ("web", "6", "domid:6", "domid:5", "5")], [3, 3, 3, 4, 4])
        self.assertEqual((self.of("domid:4"), self.of("4")), (404, 404))
        for text in ("web", GUEST_UUID, "domid:6"):
            self.assertEqual(self.server.get(f"/v1/domains/{text}/trace").body, b"".join(last))
            self.assertEqual(self.server.get(f"/v1/domains/{text}/trace?run=1").body, b"".join(first))
        self.problem(self.server.get("/v1/domains/web/trace?run=4"), 404)
        self.archive.commit("capture 1 1 crash -", "capture 2 4 crash -", "capture 3 3 manual -")
        self.assertEqual([c["id"] for c in self.server.get("/v1/domains/domid:6/captures").json()["captures"]], [3, 1])
        self.assertEqual(self.server.get("/v1/captures/1").json()["uuid"], GUEST_UUID)

    def test_renamed(self):
        self.life(1, "web", 4, "ended")
        self.life(2, "web", 5)
        self.archive.commit(f"run 2 xen key2 web-new {GUEST_UUID} 5 running -")
        for text in ("web", "web-new", GUEST_UUID):  # no other guest has the old name
            self.assertEqual((self.of(text)["name"], self.of(text)["run"], self.of(text)["runs"]), ("web-new", 2, 2), text)
        self.assertEqual([d["name"] for d in self.server.get("/v1/domains").json()["domains"]], ["web-new"])
        self.life(3, "web", 6, uuid=GUEST_UUID.replace("a", "b"))
        self.assertEqual((self.of("web")["run"], self.of("web-new")["run"]), (3, 2))
        self.life(3, "web", 6, "ended", uuid=GUEST_UUID.replace("a", "b"))
        self.assertEqual(self.of("web")["run"], 3)

    def test_migration_that_failed(self):
        self.life(1, "web", 4)
        self.life(2, "web--incoming", 5, "ended")
        for text in ("web", GUEST_UUID, "4", "web--incoming"):
            self.assertEqual((self.of(text)["run"], self.of(text)["state"]), (1, "running"), text)
        self.assertEqual([(d["name"], d["state"], d["domid"]) for d in self.server.get("/v1/domains").json()["domains"]], [("web", "running", 4)])
        self.life(1, "web", 4, "ended")
        self.assertEqual(self.of("web")["run"], 2)  # the newest run, if all have ended

    def test_suspended(self):
        self.connected()
        self.life(1, "web", 4, "suspended")
        p = self.fill(sequences=range(3))
        self.assertEqual(
            (self.of("web")["state"], self.of("web")["domid"], self.of("domid:4")["run_list"][0]["state"]), ("suspended", 4, "suspended")
        )
        self.assertEqual(self.server.get("/v1/domains").json()["domains"][0]["state"], "suspended")
        live = Live(self.server, "/v1/domains/web/live")
        self.assertEqual((len(live.until(3)), live.headers["Mprof-Run-State"]), (3, "running"))
        self.assertEqual(self.server.get("/v1/domains/web/captures", "POST").status, 201)
        self.assertRegex(self.server.get("/metrics").body.decode(), r"(?m)^mprofd_archive_runs_running 1$")
        self.life(1, "web", 4)  # the guest resumes, and the body goes on
        self.archive.commit(piece(10, 3, 30, event(9000)))
        self.collector.notify()
        self.assertEqual(len(live.until(4)), 4)
        live.close()
        self.assertEqual(self.server.get("/v1/domains/web/trace").body, b"".join(p) + packet(3, event(9000)))

    def test_tail_of_a_suspension_is_not_the_end(self):
        self.life(1, "web", 4)
        proven, tail, more = event(1) + event(2), event(3), event(10) + event(11)
        self.archive.commit(piece(10, 0, 30, proven))
        self.archive.commit("capture 1 1 suspend -", "range 1 10 0 0 64", f"tail 1 10 0 64 4096 1 {tail.hex()}")
        self.assertEqual(self.server.get("/v1/captures/1/trace").body, packet(0, proven + tail))
        self.archive.commit(f"run 1 xen key1 web {GUEST_UUID} 4 ended suspend")
        self.assertEqual(self.server.get("/v1/domains/web/trace").body, packet(0, proven + tail))
        self.archive.commit(f"run 1 xen key1 web {GUEST_UUID} 4 ended destroyed")  # the stream came back before the run ended
        self.archive.commit(piece(10, 0, 64, more))
        self.assertEqual(self.server.get("/v1/domains/web/trace").body, packet(0, proven + more))

    def test_each_stream_has_its_own_end(self):
        self.life(1, "web", 4, streams=3)
        for k in range(3):
            self.archive.commit(piece(10 + k, 0, 30, event(1)))
        tail = lambda capture, k, t: f"tail {capture} {10 + k} 0 47 4096 1 {event(t).hex()}"
        self.archive.commit("capture 1 1 ended -", "range 1 10 0 0 47", tail(1, 0, 2))  # stream 0 is withdrawn ...
        self.archive.commit("capture 2 1 ended -", "range 2 12 0 0 47", tail(2, 2, 2))  # ... and 2, which is published again
        self.archive.commit(piece(12, 0, 47, event(3)))
        self.archive.commit("capture 3 1 crash -", "range 3 11 0 0 47", "range 3 12 0 0 64", tail(3, 1, 4))
        self.life(1, "web", 4, "ended", streams=3)
        for k, want in enumerate((event(1) + event(2), event(1) + event(4), event(1) + event(3))):
            self.assertEqual(self.server.get(f"/v1/domains/web/trace?stream={k}").body, packet(0, want), k)
            live = Live(self.server, f"/v1/domains/web/live?stream={k}")
            self.assertEqual(b"".join(c for _, c in live.rest()), want, k)
            live.close()

    def test_several_streams(self):
        self.life(1, "web", 4, streams=3)
        self.archive.commit("stream 10 1 0 16384 4 0 main", "stream 12 1 2 16384 4 0 vcpu-2")
        bodies = [b"".join(self.fill(stream=10 + k, sequences=range(k, k + 4))) for k in range(3)]
        self.archive.commit(
            "gap 11 lost lapped 4 370 9 4 0",
            "capture 1 1 crash -",
            "range 1 10 1 3 370",
            "range 1 12 2 5 370",
            "capture 2 1 crash -",
            "range 2 11 1 4 370",
        )
        for path in ("domains/web/trace", "domains/web/packets", "domains/web/live", "captures/1/trace", "captures/1/packets"):
            said = self.problem(self.server.get("/v1/" + path), 409)
            want = [(0, "main"), (2, "vcpu-2")] if path[0] == "c" else [(0, "main"), (1, None), (2, "vcpu-2")]
            self.assertEqual([(s["stream"], s["name"]) for s in said["streams"]], want, path)
            self.assertIn("capture" if path[0] == "c" else "run", said["detail"])
        for k in range(3):
            got = self.server.get(f"/v1/domains/web/trace?stream={k}")
            self.assertEqual((got.body, got.headers["Mprof-Stream"]), (bodies[k], str(k)))
            live = Live(self.server, f"/v1/domains/web/live?stream={k}")
            live.until(4)
            self.assertEqual((live.data, live.headers["Mprof-Position"].split(".")[1]), (bodies[k], str(k)))
            live.close()
        self.problem(self.server.get("/v1/domains/web/trace?stream=3"), 404)
        self.problem(self.server.get("/v1/domains/web/live?stream=3"), 404)
        self.assertEqual([s for s, _ in split(self.server.get("/v1/captures/1/trace?stream=2").body)[0]], [2, 3, 4, 5])
        self.assertIn("capture", self.problem(self.server.get("/v1/captures/1/trace?stream=1"), 404)["detail"])
        self.assertEqual(split(self.server.get("/v1/captures/2/trace").body), split(bodies[1]))  # its only stream
        names = lambda path: tarfile.open(fileobj=io.BytesIO(self.server.get(path).body)).getnames()[1:]
        self.assertEqual(names("/v1/domains/web/ctf.tar"), [f"web/run-1-stream-{k}" for k in range(3)])
        self.assertEqual(names("/v1/captures/1/ctf.tar"), ["web/run-1-stream-0", "web/run-1-stream-2"])
        self.assertEqual(
            [(s["stream"], s["name"], s["last_sequence"]) for s in self.server.get("/v1/captures/1").json()["streams"]],
            [(0, "main", 3), (2, "vcpu-2", 5)],
        )
        domain = self.server.get("/v1/domains").json()["domains"][0]
        self.assertEqual([(s["packets"], s["lost_packets"]) for s in domain["streams"]], [(4, 0), (4, 4), (4, 0)])
        self.assertEqual(domain["last_seen"], max(s["last_seen"] for s in domain["streams"]))
        metrics = self.server.get("/metrics").body.decode()
        for name, value in (("packets", 12), ("content_bytes", 12 * 370), ("lost_packets", 4), ("runs", 1), ("captures", 2)):
            self.assertRegex(metrics, rf"(?m)^mprofd_archive_{name} {value}$")

    def test_mprofctl_names_streams(self):
        self.life(1, "web", 4, "ended", streams=2)
        a, b = (b"".join(self.fill(stream=10 + k, sequences=range(k, k + 3))) for k in range(2))
        self.archive.commit("capture 1 1 crash -", "range 1 10 1 2 370", "range 1 11 1 3 370", "capture 2 1 poweroff -", "range 2 11 1 3 370")
        for verb in (("fetch", "web", "-o", "-"), ("fetch", "1", "-o", "-"), ("follow", "web"), ("dump", "domid:4"), ("dump", "capture:1")):
            code, out, said = self.ctl(*verb)
            if verb[1] == "domid:4":
                self.assertEqual((code, out), (4, b""))  # the run has ended
                continue
            self.assertEqual((code, out), (1, b""), verb)
            self.assertIn("several streams", said)
            self.assertTrue(said.endswith("; streams: 0, 1\n"), said)
        for name in "web", GUEST_UUID, GUEST_UUID.upper():
            for k, body in (0, a), (1, b):
                self.assertEqual(self.ctl("fetch", name, "-o", "-", "--stream", str(k)), (0, body, ""))
                self.assertEqual(self.ctl("follow", name, "--stream", str(k)), (0, body, ""))
        self.assertEqual(self.ctl("dump", "web", "--stream", "1")[1].count(b"\n"), 60)
        self.assertEqual(self.ctl("fetch", "1", "-o", "-", "--stream", "0")[1], a[370:])
        self.assertEqual(self.ctl("fetch", "2", "-o", "-"), (0, b, ""))  # a capture of one stream needs no --stream
        self.assertEqual(
            [self.ctl(verb, "web", "--stream", "2", *more)[0] for verb, *more in (("fetch", "-o", "-"), ("follow",), ("dump",))], [4, 4, 4]
        )
        self.life(1, "web", 4, "suspended", streams=2)
        self.assertEqual(self.ctl("fetch", "domid:4", "-o", "-", "--stream", "0"), (0, a, ""))
        line = self.ctl("domains")[1].decode().splitlines()[1].split()
        self.assertEqual(line[:8], ["web", "suspended", "xen", "4", "2", "1", "2", "6"])

    def test_mprofctl_shows(self):
        self.life(1, "web", 4, "ended", streams=2)
        for k in range(2):
            self.fill(stream=10 + k, sequences=range(3))
        context = {"reason": "crash", "xenstore": {"name": "web"}, "xenstore_complete": True, "console": None, "console_complete": True}
        self.archive.commit(
            "stream 11 1 1 16384 4 0 vcpu-1",
            "gap 11 lost lapped 2 370 9 6 0",
            "capture 1 1 crash -",
            "range 1 10 1 2 370",
            "range 1 11 0 2 370",
            f"capture 1 1 crash - {json.dumps(context).encode().hex()}",
            "capture 2 1 manual -",
            "range 2 10 0 0 370",
        )
        code, out, said = self.ctl("show", "1")
        lines = [line.split() for line in out.decode().splitlines()]
        self.assertEqual(
            (code, said, lines[:6]),
            (0, "", [["capture", "1"], ["why", "crash"], ["reason", "crash"], ["guest", "web"], ["uuid", GUEST_UUID], ["domid", "4"]]),
        )
        self.assertIn(["0", "-", "1-2", "2", "740", "B", "0", "0", "0", "B"], lines)
        self.assertIn(["1", "vcpu-1", "0-2", "3", "1.1", "KB", "6", "0", "0", "B"], lines)
        self.assertIn(["name", "=", "web"], lines)
        shown = json.loads(self.ctl("show", "1", "--json")[1])
        self.assertEqual(shown["capture"], self.server.get("/v1/captures/1").json())
        self.assertEqual(shown["context"], self.server.get("/v1/captures/1/context").json())
        self.archive.commit("patch 1 1 -")  # pinned; capture 2 loses all its packets
        self.fill(sequences=range(3, 9))
        self.archive.say("enforce web 1")
        self.assertEqual([self.ctl("show", k)[0] for k in ("1", "9")], [0, 4])


class Context(Case):
    WHOLE = {
        "reason": "crash",
        "xenstore": {"name": "web", "data/mprof/ring-ref": "8,9", "data/odd": "\\x1B[31m"},
        "xenstore_complete": True,
        "console": "Fatal error: Not_found\n\\x07",
        "console_complete": False,
    }

    def put(self, text, capture=1):
        self.archive.commit(f"capture {capture} 1 crash - {text.encode(errors='surrogateescape').hex()}")

    def get(self, capture=1):
        return self.server.get(f"/v1/captures/{capture}/context")

    def test_life(self):
        before = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
        self.guest(name="web", uuid=GUEST_UUID, domid=12, source="xen", state="ended")
        self.archive.commit("capture 1 1 crash -")
        began = self.server.get("/v1/domains/web").json()["run_list"][0]["began"]
        time_ = self.server.get("/v1/captures/1").json()["time"]
        self.assertLess(before, began)
        self.assertLessEqual(began, time_)
        want = {"id": 1, "run": 1, "domain": "web", "uuid": GUEST_UUID, "domid": 12, "kind": "crash", "began": began, "time": time_, "memtrace": None}
        want |= {"began_corrected": None, "time_corrected": None}
        self.assertEqual(self.get().json(), {**want, **dict.fromkeys(self.WHOLE)})
        self.put(json.dumps(self.WHOLE))  # the collector follows a moment later
        self.assertEqual(self.get().json(), {**want, **self.WHOLE})
        self.assertEqual(self.server.get("/v1/captures/1").json()["time"], time_)
        self.put(json.dumps({**self.WHOLE, "reason": "unknown", "console": None, "xenstore": {}, "later": [1]}), 2)
        self.assertEqual({**self.get(2).json(), "id": 1, "time": time_}, {**want, **self.WHOLE, "reason": "unknown", "console": None, "xenstore": {}})
        self.guest(run=3, name="demo")
        self.archive.commit("capture 3 3 manual -")
        demo = self.get(3).json()
        self.assertEqual((demo["domain"], demo["uuid"], demo["domid"], demo["reason"], demo["console"]), ("demo", None, None, None, None))
        head = self.server.get("/v1/captures/1/context", "HEAD")
        self.assertEqual((head.status, head.body), (200, b""))
        for bad in ("9", "0", "x", "-1", "99999999999999999999"):
            self.problem(self.get(bad), 404)
        self.problem(self.server.get("/v1/captures/1/context?stream=0"), 400)
        self.problem(self.server.get("/v1/captures/1/context", "DELETE"), 405)
        self.archive.commit("delete 1")
        self.problem(self.get(), 404)

    def test_damaged(self):
        self.guest(name="web", uuid=GUEST_UUID, domid=12, source="xen")
        self.fill()
        without = lambda key: {k: v for k, v in self.WHOLE.items() if k != key}
        texts = [
            " ",
            "{",
            "[]",
            "null",
            "7",
            '"x"',
            "{}",
            json.dumps(self.WHOLE)[:-1],
            json.dumps(self.WHOLE) + "x",
            '{"reason":"a","reason":"b"}',
            "[" * 100000,
            '{"a":' * 3000,
            json.dumps({**self.WHOLE, "console": "x" * (1 << 20)}),
            '{"reason":"\udcff"}',
            '{"reason":"\\u0000"}',
        ]
        texts += [json.dumps(without(key)) for key in self.WHOLE]
        texts += [
            json.dumps({**self.WHOLE, **wrong})
            for wrong in (
                {"reason": None},
                {"reason": 1},
                {"reason": "x" * 65},
                {"xenstore": []},
                {"xenstore": {"a": 1}},
                {"xenstore": {"a": {"b": "c"}}},
                {"xenstore_complete": 1},
                {"console": 1},
                {"console": ["x"]},
                {"console_complete": None},
            )
        ]
        for i, text in enumerate(texts, 1):
            self.put(text, i)
            said = self.problem(self.get(i), 500)
            self.assertIn(f"context of capture {i} is damaged in the archive (", said["detail"])
            self.assertEqual(self.server.get(f"/v1/captures/{i}").status, 200)
        self.assertEqual(len(self.server.get("/v1/captures").json()["captures"]), len(texts))

    def test_unreadable_marks(self):
        """A daemon of an earlier version has kept a damaged capture's marks that no reader can parse: the capture has none."""
        self.guest(name="web")
        self.fill()
        texts = (b'[{"text":"\xe1"}]', b'[{"text":"\\u0000"}]', b'[{"text":"\\ud83d"}]', b"7", b'"x"')
        self.archive.commit(*[f"capture {i} 1 crash -" for i in range(1, len(texts) + 1)])
        with contextlib.closing(sqlite3.connect(os.path.join(self.server.state, "archive", "trace.db"))) as db, db:
            for i, text in enumerate(texts, 1):
                db.execute("UPDATE captures SET marks = CAST(? AS TEXT), checksum = NULL WHERE id = ?", (text, i))
            db.execute("UPDATE row_sums SET unchecked = ? WHERE name = 'captures'", (len(texts),))
        answer = self.server.get("/v1/captures")
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual([capture["marks"] for capture in answer.json()["captures"]], [[]] * len(texts))

    def test_lists_do_not_read_it(self):
        many = 20 if BRIEF else 100
        self.guest(name="web", uuid=GUEST_UUID, domid=12, source="xen")
        text = json.dumps({**self.WHOLE, "console": "x" * 1000000})
        self.archive.commit(*[f"capture {i} 1 crash - {text.encode().hex()}" for i in range(1, many + 1)])

        def read_bytes():
            with open(f"/proc/{self.server.process.pid}/io", encoding="ascii") as f:
                return int(re.search(r"^rchar: (\d+)$", f.read(), re.M)[1])

        self.assertEqual(self.server.get("/v1/captures?limit=1").status, 200)  # the archive is open
        before = read_bytes()
        self.assertEqual(len(self.server.get("/v1/captures?limit=1000").json()["captures"]), many)
        self.assertLess(read_bytes() - before, many * 500000)  # the contexts alone are twice as many bytes
        self.assertEqual(len(self.get(many // 2).json()["console"]), 1000000)


class Tar(Case):
    def test_tar(self):
        self.guest(streams=3)
        a = b"".join(self.fill(stream=10))
        b = b"".join(self.fill(stream=11, sequences=range(3, 5)))
        got = self.server.get("/v1/domains/web/ctf.tar")
        self.assertEqual((got.status, int(got.headers["Content-Length"])), (200, len(got.body)))
        tar = tarfile.open(fileobj=io.BytesIO(got.body))
        self.assertEqual(tar.getnames(), ["web/metadata", "web/run-1-stream-0", "web/run-1-stream-1", "web/run-1-stream-2"])
        self.assertEqual([tar.extractfile(f"web/run-1-stream-{k}").read() for k in range(3)], [a, b, b""])
        self.assertIn(b"CTF 1.8", tar.extractfile("web/metadata").read())
        self.assertEqual(self.server.get("/v1/domains/web/ctf.tar", If_None_Match=got.headers["ETag"]).status, 304)
        self.assertEqual(self.server.get("/v1/domains/web/ctf.tar").body, got.body)
        self.clock(tar.extractfile("web/metadata").read().decode())
        if not babeltrace2.usable():
            return
        out = os.path.join(self.root, "ctf")
        tar.extractall(out)
        text = subprocess.run(["babeltrace2", out], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual((text.returncode, text.stdout.count("switch")), (0, 120 + 40), text.stderr)

    def clock(self, metadata):
        """Check the offset of the clock in METADATA: it is the least that any stamp allows."""
        packets = [p for k in range(2) for p in self.server.get(f"/v1/domains/web/packets?stream={k}&limit=1000").json()["packets"]]

        def real(packet, which):
            text = packet["copied"][which]["real"]
            whole = datetime.datetime.strptime(text[:19] + "Z", "%Y-%m-%dT%H:%M:%S%z")
            return int(whole.timestamp()) * 10**9 + int(text[20:-1].ljust(9, "0"))

        numbers = {key: int(value) for key, value in re.findall(r"\t(\w+) = (-?\d+);", metadata)}
        offset = min(real(p, "first") - int(p["first_timestamp"]) for p in packets)
        self.assertEqual(numbers["offset_s"] * 10**9 + numbers["offset"], offset)
        self.assertEqual(numbers["last_copied_ns"], max(real(p, "last") for p in packets))
        self.assertTrue(0 <= numbers["offset"] < 10**9)
        self.assertEqual(re.findall(r"\n\tabsolute = (\w+);", metadata), ["true"])

    def test_tar_of_many_packets(self):
        """The server reads the stamps of 16 blocks of 512 packets of a long stream."""
        self.guest(streams=1)
        n, first, began = 9000, {}, time.time_ns()
        for at in range(0, n, 500):
            lines = []
            for sequence in range(at, at + 500):
                # Each packet bounds the offset differently. Number 530, between two blocks, has the largest time.
                first[sequence] = 10**15 + sequence * 1000 + ((sequence * 7919 + 5929) % n) * 10**9
                content = struct.pack("<QBq", first[sequence], 7, 1)
                lines.append(f"piece 10 {sequence} 30 1 4096 {first[sequence]} {30 + len(content)} {content.hex()}")
            self.archive.commit(*lines)
        got = self.server.get("/v1/domains/web/ctf.tar")
        metadata = tarfile.open(fileobj=io.BytesIO(got.body)).extractfile("web/metadata").read().decode()
        numbers = {key: int(value) for key, value in re.findall(r"\t(\w+) = (-?\d+);", metadata)}
        offset = numbers["offset_s"] * 10**9 + numbers["offset"]
        apart = (n - 1 - 512) // 15
        read = {sequence for block in range(16) for sequence in range(block * apart, block * apart + 512)}
        largest = max(first[sequence] for sequence in read if sequence < n)
        self.assertNotEqual(largest, max(first.values()), "the test cannot tell blocks from all packets")
        self.assertTrue(began <= largest + offset <= time.time_ns(), (began, offset, largest))  # when it was copied

    def test_tar_without_stamps(self):
        self.guest(streams=1)
        got = self.server.get("/v1/domains/web/ctf.tar")
        metadata = tarfile.open(fileobj=io.BytesIO(got.body)).extractfile("web/metadata").read()
        self.assertIn(b"\n\tabsolute = false;", metadata)
        self.assertNotIn(b"\toffset_s", metadata)


class Service(Case):
    def test_documents(self):
        self.connected()
        self.assertEqual(self.server.get("/healthz").json(), {"status": "ok"})
        self.wait(lambda: self.server.get("/readyz").status == 200)
        self.collector.archiving = 0
        self.wait(lambda: self.problem(self.server.get("/readyz"), 503)["detail"] == "The disk is full.")
        self.assertIn(b"/v1/openapi.yaml", self.server.get("/").body)
        self.assertEqual(self.server.get("/v1/openapi.yaml").body, open(OPENAPI, "rb").read())
        metrics = self.wait(lambda: "mprofd_passes_total 7\n" in (text := self.server.get("/metrics").body.decode()) and text)
        self.assertTrue(metrics.endswith("\n# EOF\n") and metrics.count("# EOF") == 1, metrics)
        self.assertRegex(metrics, r"(?m)^mprofd_archive_runs 0$")

    def test_the_front_door(self):
        """A browser gets the page, and any other client gets the sentence."""
        page = self.server.get("/", Accept="text/html,application/xhtml+xml,*/*;q=0.8")
        with open(os.path.join(VIEWER, "index.html"), "rb") as f:
            self.assertEqual(page.body, f.read())
        self.assertEqual(page.headers["Content-Type"], "text/html; charset=utf-8")
        for accept in ({}, {"Accept": "*/*"}, {"Accept": "application/json"}, {"Accept": "text/html;q=0"}):
            answer = self.server.get("/", **accept)
            self.assertIn(b"/v1/openapi.yaml", answer.body)
            self.assertEqual((answer.headers["Content-Type"], answer.headers["Vary"]), ("text/plain; charset=utf-8", "Accept"))
        self.assertEqual(self.server.get("/", "HEAD", Accept="text/html").body, b"")

    def test_the_viewer(self):
        """The server sends each file of the viewer, by tag and packed, and the page loads nothing
        from elsewhere."""
        types = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
        files = {name: text.encode() for name, text in join.served(VIEWER)[0].items() if os.path.splitext(name)[1] in types}
        self.assertEqual(set(files), {"main.js", "style.css", "worker/worker.js", "worker/heap-worker.js"})
        for name, content in files.items():
            plain, packed = (self.server.get(f"/viewer/{name}", **h) for h in ({}, {"Accept_Encoding": "gzip, deflate, br, zstd"}))
            self.assertEqual((plain.status, plain.body, plain.headers["Content-Type"]), (200, content, types[os.path.splitext(name)[1]]))
            if packed.headers["Content-Encoding"]:
                self.assertEqual((packed.headers["Content-Encoding"], gzip.decompress(packed.body)), ("gzip", content))
                self.assertLess(len(packed.body), len(content))
                self.assertNotEqual(plain.headers["ETag"], packed.headers["ETag"])
            for answer in (plain, packed):
                policy = dict(part.strip().split(" ", 1) for part in answer.headers["Content-Security-Policy"].split(";"))
                self.assertEqual((policy["default-src"], policy["script-src"]), ("'none'", "'self' 'wasm-unsafe-eval'"))
                self.assertNotIn("unsafe-inline", str(policy))
                self.assertEqual((answer.headers["X-Content-Type-Options"], answer.headers["Cache-Control"]), ("nosniff", "no-cache"))
                encoding = {"Accept_Encoding": "gzip"} if answer.headers["Content-Encoding"] else {}
                again = self.server.get(f"/viewer/{name}", If_None_Match=answer.headers["ETag"], **encoding)
                self.assertEqual((again.status, again.body, again.headers["ETag"]), (304, b"", answer.headers["ETag"]))
        for name in (
            "index.html",
            "README.md",
            "none.js",
            "join.py",
            "host/host.js",
            "..%2Fmain.js",
            "",
            "main.js/",
            "host",
            "host/",
            "host/main.js",
            "host/../main.js",
            "host/README.md",
            "a" * 200 + "/main.js",
        ):
            self.problem(self.server.get(f"/viewer/{name}"), 404)
        self.problem(self.server.get("/viewer/main.js", "POST"), 405)

    def ask_everything(self):
        """Ask each route once."""
        for path in (
            "/v1/domains",
            "/v1/domains/web",
            "/v1/domains/web/trace",
            "/v1/domains/web/trace?last=100KB",
            "/v1/domains/web/trace?last=10us",
            "/v1/domains/web/trace?from=500000&to=1500000",
            "/v1/domains/web/packets?limit=1000",
            "/v1/domains/web/packets?buckets=1000",
            "/v1/domains/web/ctf.tar",
            "/v1/captures",
            "/v1/captures/1",
            "/v1/captures/1/context",
            "/v1/captures/1/trace",
            "/v1/captures/1/packets?limit=1000",
        ):
            self.assertEqual(self.server.get(path).status, 200, path)
            self.assertEqual(self.server.get(path, Accept_Encoding="zstd").status, 200, path)
        live = Live(self.server, "/v1/domains/web/live")
        self.assertGreaterEqual(len(live.until(20)), 20)
        live.close()

    def test_every_route_of_a_long_trace(self):
        """The archive has 2,000 packets, or 200 with MPROF_BRIEF."""
        packets, packet_bytes = 200 if BRIEF else 2000, 34030
        self.guest()
        content = b"".join(event(i + 1, i) for i in range(2000))
        for s in range(packets):
            self.archive.commit(piece(10, s, 30, struct.pack("<Q", 1000 * s + 1) + content[8:], flags=1, room=1 << 16))
        self.archive.commit("capture 1 1 manual -", f"range 1 10 10 {packets - 1} {packet_bytes}")
        self.archive.say(f"enforce web {packets * packet_bytes - 360_000}")  # so that the archive has deleted packets, and the server counts captures
        for s in range(packets, packets + 9):
            self.archive.commit(piece(10, s, 30, struct.pack("<Q", 1000 * s + 1) + content[8:], flags=1, room=1 << 16))
        self.ask_everything()
        self.assertGreater(self.metric("read_seconds_max"), 0)

    def test_mute_collector(self):
        """The collector is stopped, or does not read yet: every wait for it has a limit."""
        self.guest()
        self.archive.commit("capture 1 1 manual -")
        self.collector.mute = True
        self.problem(self.server.get("/readyz"), 503)
        self.assertNotIn(b"mprofd_passes", self.server.get("/metrics").body)
        for request in (("/v1/domains/web/captures", "POST"), ("/v1/captures/1", "PATCH", '{"pinned":true}'), ("/v1/captures/1", "DELETE")):
            said = self.problem(self.server.get(*request), 503)["detail"]
            self.assertRegex(said, "^The collector did not answer in time. The change may have been made")

    def leave_under_way(self):
        """Let the collector leave while it is asked three things. Return what the server says to the change among them."""
        began, answers = time.monotonic(), {}
        self.collector.mute = True
        requests = ("/readyz", "GET"), ("/v1/domains/web/captures", "POST"), ("/readyz", "GET")
        threads = [threading.Thread(target=lambda r=r, i=i: answers.update({i: self.server.get(*r)})) for i, r in enumerate(requests)]
        for thread in threads:
            thread.start()
        self.wait(lambda: sum(verb in ("status", "capture") for verb, _ in self.collector.asked) >= 3)
        self.collector.close()
        os.unlink(os.path.join(self.server.run, "collect.sock"))
        for thread in threads:
            thread.join()
        self.assertEqual([answers[i].status for i in range(3)], [503] * 3)
        said = answers[1].json()["detail"]
        if "did not answer in time" in said:
            self.assertGreater(time.monotonic() - began, 5)
        return said

    def test_collector_leaves_with_requests_under_way(self):
        self.connected()
        self.guest()
        while "did not answer in time" in (said := self.leave_under_way()):  # the collector left too late
            self.collector = Collector(os.path.join(self.server.run, "collect.sock"), self.archive)
            self.wait(lambda: self.server.get("/readyz").status == 200)
        self.assertIn("The collector closed the connection before it answered. The change may have been made", said)
        self.collector = Collector(os.path.join(self.server.run, "collect.sock"), self.archive)
        began = time.monotonic()
        if self.server.get("/readyz").status != 200:  # the server looks for the collector at once, and waits a second and a half for its answer
            self.assertGreater(time.monotonic() - began, 1.5)

    def test_methods(self):
        for path, method, allow in (
            ("/v1/domains", "POST", "GET, HEAD"),
            ("/v1/captures/1", "PUT", "GET, HEAD, PATCH, DELETE"),
            ("/v1/domains/x/captures", "DELETE", "GET, HEAD, POST"),
            ("/", "OPTIONS", "GET, HEAD"),
        ):
            answer = self.server.get(path, method)
            self.problem(answer, 405)
            self.assertEqual(answer.headers["Allow"], allow)
        for path in ("/nope", "/v1", "/v1/domains/", "/v1/domains/a/b", "/v1/domains/a/trace/x", "//", "/v1/captures/1/live"):
            self.problem(self.server.get(path), 404)
        self.problem(self.server.get("/v1/domains?limit=0"), 400)
        self.problem(self.server.get("/v1/domains?limit=1001"), 400)
        self.problem(self.server.get("/v1/domains?x=1"), 400)
        self.problem(self.server.get("/%zz"), 400)
        self.problem(self.server.get("/" + "a" * 5000), 414)

    def test_hosts_and_origins(self):
        port = self.server.port
        get = lambda host, **h: self.server.get("/v1/domains", tcp=True, Host=host, **h)
        for host in ("localhost", f"localhost:{port}", "127.0.0.1", f"127.0.0.1:{port}", "[::1]:80", socket.gethostname()):
            self.assertEqual(get(host).status, 200, host)
        for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil", "localhost:x", "10.0.0.1", "[::2]"):
            self.problem(get(host), 421)
        self.guest()
        post = lambda **h: self.server.get("/v1/captures/99", "DELETE", tcp=True, **h)
        self.problem(post(Origin="http://evil.example"), 403)
        self.problem(post(Origin="null"), 403)
        self.problem(post(Sec_Fetch_Site="cross-site"), 403)
        self.problem(post(Sec_Fetch_Site="same-site"), 403)
        self.problem(post(Origin=f"http://127.0.0.1:{port}", Sec_Fetch_Site="same-origin"), 404)
        self.problem(post(), 404)
        self.assertEqual(get("localhost", Origin="http://evil.example").status, 200)
        self.problem(self.server.get("/v1/captures/99", "DELETE", Origin="http://evil.example"), 404)  # only TCP checks the origin

    def test_hostile(self):
        for text in (
            b"\0\0\0\0",
            b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 20000 + b"\r\n",
            b"GET " + b"/" * 100000 + b" HTTP/1.1\r\n\r\n",
            b"POST /v1/domains/x/captures HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n" + b"x" * 3000000,
            b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
            b"GET / HTTP/9.9\r\n\r\n",
            b"\r\n" * 1000,
        ):
            s = socket.socket(socket.AF_UNIX)
            s.settimeout(HANGS)
            s.connect(self.server.socket)
            said = b""
            with contextlib.suppress(OSError):
                s.sendall(text)
                s.shutdown(socket.SHUT_WR)  # the client sends nothing more, so the server need not wait for the rest of a request
                said = s.recv(100)
            s.close()
            self.assertRegex(said, rb"\A(HTTP/1.1 (400|413|414|431|505) .*)?", text[:40])
        self.assertEqual(self.server.get("/healthz").status, 200)

    def test_routes_are_the_document(self):
        import yaml

        document = yaml.safe_load(open(OPENAPI))
        self.assertEqual(document["openapi"], "3.1.0")
        said = {
            f"{m.upper()} {p} {op['x-scope']} {'elsewhere' if op['x-served-by'] == 'hub' else 'here'}"
            for p, item in document["paths"].items()
            for m, op in item.items()
            if m != "parameters"
        }
        served = set(subprocess.run([HTTP, "--routes"], stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n")) - {""}
        self.assertEqual(said, served)
        # the server takes every query parameter of the document, and no other
        names = document["components"]["parameters"]
        for path, item in document["paths"].items():
            real = path.replace("{domain}", "nobody").replace("{id}", "1")
            if item.get("get", {}).get("x-served-by") == "hub":
                self.assertEqual(self.server.get(f"{real}?any=1").status, 409)
                continue
            takes = [names[p["$ref"].rsplit("/", 1)[1]] for p in item.get("get", {}).get("parameters", [])]
            takes = {n["name"] for n in takes if n.get("x-served-by") != "hub"}
            for name in {n["name"] for n in names.values() if n["in"] == "query"} if "get" in item else ():
                refused = b"is unknown, or given twice" in self.server.get(f"{real}?{name}=1").body
                self.assertEqual(refused, name not in takes, (path, name))

    def test_shapes_are_the_document(self):
        import yaml

        schemas = yaml.safe_load(open(OPENAPI))["components"]["schemas"]
        self.guest()
        self.fill()
        self.archive.commit("gap 10 lost lapped 5 370 9 3 0", "capture 1 1 manual -", "range 1 10 0 5 370")
        self.fill(sequences=range(9, 10))

        def same(name, value):
            # events do not carry some of them
            optional = {
                "Domain": {"memtrace", "last_seen_corrected"},
                "Stream": {"last_seen_corrected"},
                "Stamp": {"real_corrected"},
                "Gap": {"found_corrected"},
                "Capture": {"cause", "sentence", "last_ran", "exception", "failure", "damages", "skipped_bytes", "unproven_events", "time_corrected"},
                "Run": {"began_corrected", "ended_corrected"},
                "Context": {"time_corrected", "began_corrected"},
            }
            optional = optional.get(name, set())
            self.assertEqual(set(schemas[name]["required"]) | optional, set(schemas[name]["properties"]), name)
            self.assertEqual(set(value), set(schemas[name]["properties"]), name)

        domain = self.server.get("/v1/domains").json()["domains"][0]
        packets = self.server.get("/v1/domains/web/packets").json()
        run = self.server.get("/v1/domains/web").json()["run_list"][0]
        for name, value in (
            ("Domain", domain),
            ("Stream", domain["streams"][0]),
            ("Run", run),
            ("Packets", packets),
            ("Packet", packets["packets"][0]),
            ("Stamp", packets["packets"][0]["copied"]["first"]),
            ("Gap", packets["gaps"][0]),
            ("Capture", self.server.get("/v1/captures/1").json()),
            ("Context", self.server.get("/v1/captures/1/context").json()),
            ("Overview", self.server.get("/v1/domains/web/packets?buckets=3").json()),
        ):
            same(name, value)


class Start(unittest.TestCase):
    def refuse(self, *arguments):
        with tempfile.TemporaryDirectory() as root:
            open(os.path.join(root, "c"), "w").close()
            done = subprocess.run(
                [HTTP, "--run", root, "--state", root, "--config", os.path.join(root, "c"), *arguments],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                timeout=HANGS,
            )
            self.assertNotEqual(done.returncode, 0, arguments)
            return done.stderr

    def test_foreign_addresses(self):
        for address in ("0.0.0.0:8080", "[::]:8080", "10.0.0.1:80", "example.org:80", "8080", "*:80"):
            text = self.refuse("--listen", address)
            self.assertIn(address, text)
            self.assertIn("access control", text)

    def test_arguments(self):
        for word in ("--nonsense", "extra"):
            text = self.refuse(word)
            self.assertIn(word, text)
            self.assertIn("see mprofd-http --help", text)
        for option in ("--help", "--version"):
            self.assertEqual(subprocess.run([HTTP, option], stdout=subprocess.DEVNULL).returncode, 0)

    def test_no_archive_yet(self):
        with tempfile.TemporaryDirectory() as root:
            server = Server(root)
            answer = server.get("/v1/domains")
            self.assertEqual((answer.status, answer.headers["Retry-After"]), (503, "1"))
            self.assertEqual(server.get("/healthz").status, 200)
            archive = Archive(server.state)
            self.assertEqual(server.get("/v1/domains").json()["domains"], [])
            self.assertEqual(os.stat(server.socket).st_mode & 0o777, 0o660)
            archive.close()
            self.assertEqual(server.stop(), 0)
            self.assertFalse(os.path.exists(server.socket))

    @unittest.skipIf(os.geteuid() != 0, "only root can run the server as somebody else")
    def test_reads_as_another_user(self):
        with tempfile.TemporaryDirectory() as root:
            os.chmod(root, 0o755)
            state, program = os.path.join(root, "state"), os.path.join(root, "mprofd-http")
            os.mkdir(state)
            archive = Archive(state)  # files 0640, directory 0750: the group may read
            subprocess.run(["chgrp", "-R", "65534", state], check=True)
            archive.commit("run 1 dir key1 web - -1 running -", "stream 10 1 0 16384 4 0", piece(10, 0, 30, event(1)))
            os.mkdir(os.path.join(root, "run"))
            os.chown(os.path.join(root, "run"), 65534, 65534)
            shutil.copy(HTTP, program)  # in a directory where the user may run it
            os.chmod(program, 0o755)
            config = os.path.join(root, "c")
            open(config, "w").close()
            words = [program, "--state", state, "--run", os.path.join(root, "run"), "--config", config]
            process = launcher.Program(words, os.path.join(root, "log"), user=65534, group=65534, extra_groups=[]).wait_ready()
            path = os.path.join(root, "run", "http.sock")

            def get(url):
                with contextlib.closing(UnixConnection(path)) as connection:
                    connection.request("GET", url)
                    return Answer(connection.getresponse())

            self.assertEqual(get("/v1/domains/web/trace").body, packet(0, event(1)))
            archive.commit(piece(10, 0, 47, event(2)))
            self.assertEqual(get("/v1/domains/web/trace").body, packet(0, event(1) + event(2)))
            archive.close()  # the writer leaves its WAL behind
            self.assertEqual(get("/v1/domains/web/trace").body, packet(0, event(1) + event(2)))
            archive = Archive(state)
            archive.commit(piece(10, 0, 64, event(3)))
            self.assertEqual(get("/v1/domains/web/trace").body, packet(0, event(1) + event(2) + event(3)))
            archive.process.kill()
            archive.process.wait()
            archive.process.stdin.close()
            archive.process.stdout.close()
            self.assertIn(get("/v1/domains/web/trace").status, (200, 503))
            process.stop(seconds=HANGS)

    def test_watchdog(self):
        """The service manager gets the loop's keep-alive messages, also while followers wait and a
        request is half sent."""
        with tempfile.TemporaryDirectory() as root, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.bind(os.path.join(root, "notify"))
            notify.settimeout(HANGS)
            environment = {**os.environ, "NOTIFY_SOCKET": os.path.join(root, "notify"), "WATCHDOG_USEC": "400000"}
            environment.pop("WATCHDOG_PID", None)
            path = os.path.join(root, "s")
            open(os.path.join(root, "c"), "w").close()
            process = subprocess.Popen(
                [HTTP, "--run", root, "--state", root, "--config", os.path.join(root, "c"), "--listen", "unix:" + path],
                stderr=subprocess.DEVNULL,
                env=environment,
            )
            said, half, heard = [], None, 0
            try:
                while heard < 8:
                    said.append(notify.recv(4096).decode())
                    heard += "WATCHDOG=1" in said[-1]
                    if "READY=1" in said[-1]:
                        half = socket.socket(socket.AF_UNIX)
                        half.connect(path)
                        half.sendall(b"GET /v1/dom")
                self.assertTrue(any("READY=1" in text for text in said))
                self.assertLessEqual(sum("STATUS=" in text for text in said), 1)  # a status is sent when it is new, and seldom
            finally:
                process.terminate()
                self.assertEqual(process.wait(HANGS), 0)
                if half:
                    half.close()

    def test_socket_left_behind(self):
        with tempfile.TemporaryDirectory() as root:
            server = Server(root)
            server.process.end()
            self.assertTrue(os.path.exists(server.socket))
            again = Server(root)
            self.assertEqual(again.get("/healthz").status, 200)
            self.assertIn("Address already in use", self.refuse("--listen", "unix:" + again.socket))
            self.assertEqual(again.stop(), 0)

    def test_default_and_configured(self):
        with tempfile.TemporaryDirectory() as root:
            server = Server(root, "--listen", f"unix:{root}/a.sock")
            self.assertTrue(os.path.exists(f"{root}/a.sock"))
            server.stop()
            with open(os.path.join(root, "mprofd.conf"), "w") as f:
                f.write(f"[http]\nlisten = unix:{root}/b.sock\n")
            server = Server(root, "--state", os.path.join(root, "state"))
            self.assertTrue(os.path.exists(f"{root}/b.sock"))
            server.stop()

    def activated(self, root, *sockets):
        """Start the server with the configuration ROOT/c, and with sockets as systemd passes them. Return its process id."""

        def hand_over():
            for index, passed in enumerate(sockets):
                os.dup2(passed.fileno(), 50 + index)  # a later one may have the number that this one gets
            for index in range(len(sockets)):
                os.dup2(50 + index, 3 + index)
            os.environ["LISTEN_PID"], os.environ["LISTEN_FDS"] = str(os.getpid()), str(len(sockets))
            os.execv(HTTP, [HTTP, "--state", root, "--run", root, "--config", os.path.join(root, "c")])

        pid = os.fork()
        if pid == 0:
            try:
                hand_over()
            finally:
                os._exit(99)
        return pid

    def unix_listener(self, path):
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(path)
        listener.listen(5)
        return listener

    def healthy(self, connection):
        with contextlib.closing(connection):
            connection.request("GET", "/healthz", headers={"Host": "localhost"})
            return connection.getresponse().status == 200

    def test_socket_activation(self):
        with tempfile.TemporaryDirectory() as root:
            open(os.path.join(root, "c"), "w").close()
            pid = self.activated(root, self.unix_listener(f"{root}/s"))
            self.assertTrue(self.healthy(UnixConnection(f"{root}/s")))
            os.kill(pid, signal.SIGTERM)
            self.assertEqual(os.waitpid(pid, 0)[1], 0)
            self.assertTrue(os.path.exists(f"{root}/s"))
            self.assertFalse(os.path.exists(f"{root}/http.sock"))

    def test_socket_activation_and_configuration(self):
        """The configured addresses are served beside systemd's sockets. An address that systemd has passed is left to it, and not
        another address of its port."""
        with tempfile.TemporaryDirectory() as root, socket.create_server(("127.0.0.1", 0)) as tcp:
            passed, port = tcp.getsockname()[1], free_port()
            with open(os.path.join(root, "c"), "w") as f:
                f.write(f"[http]\nlisten = unix:{root}/s\nlisten = 127.0.0.1:{passed}\n")
                f.write(f"listen = 127.0.0.1:{port}\nlisten = 127.0.0.2:{passed}\n")
            pid = self.activated(root, self.unix_listener(f"{root}/s"), tcp)
            self.assertTrue(self.healthy(UnixConnection(f"{root}/s")))
            for address in (("127.0.0.1", passed), ("127.0.0.1", port), ("127.0.0.2", passed)):
                self.assertTrue(self.healthy(http.client.HTTPConnection(*address, timeout=HANGS)), address)
            os.kill(pid, signal.SIGTERM)
            self.assertEqual(os.waitpid(pid, 0)[1], 0)
            self.assertTrue(os.path.exists(f"{root}/s"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *parts.names(sys.argv[5:])], verbosity=1)
