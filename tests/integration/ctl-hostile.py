"""Test mprofctl against a server that wastes its time, its disk, or sends a wrong file:
ctl-hostile.py SOURCE-ROOT MPROFCTL [TEST…]

The server sends endless lists, answers byte by byte, bodies that unpack to thousands of times their
size, and wrong ranges. mprofctl must end each with a sentence, and must not end for a slow link, a
slow reader or a silent guest that it follows. Environment variables make the limits short.
"""

import contextlib
import http.server
import itertools
import os
import re
import resource
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

MPROFCTL = os.path.abspath(sys.argv[2])
UUID = bytes.fromhex("05883b8d521a487bb397456ab150680c")
MiB = 1 << 20


def packet(count, events):
    body = b"".join(struct.pack("<QBq", count * 1000 + i, 7, count * 1000 + i) for i in range(events))
    bits = 8 * (30 + len(body))
    return struct.pack("<I16sIHI", 0xC1FC1FC1, UUID, bits, count, bits) + body


TRACE = b"".join(packet(count, 40) for count in range(50))


def bomb(mib):
    """Return a zstd frame of MIB zeros: four bytes for each block of 128 KiB."""
    blocks = [(131072 << 3 | 1 << 1 | (i + 1 == mib * 8)).to_bytes(3, "little") + b"\0" for i in range(mib * 8)]
    return b"\x28\xb5\x2f\xfd\x00\x38" + b"".join(blocks)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_GET(self):
        if not self.server.describes and re.fullmatch(r"/v1/domains/\w+\?limit=1000", self.path):
            self.body(b"{}", 404)  # fetch asks for the guest's clock
            return
        self.server.asked.append((self.path, dict(self.headers)))
        with contextlib.suppress(OSError):
            self.server.answer(self)

    def head(self, length, status=200, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def body(self, body, status=200, **headers):
        self.head(len(body), status, **headers)
        self.wfile.write(body)

    def drip(self, body, seconds, most=30):
        """Send a byte every SECONDS, until the client leaves or MOST seconds have passed."""
        until = time.monotonic() + most
        for byte in body:
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
            time.sleep(seconds)
            if time.monotonic() > until:
                return


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        pass


class Case(unittest.TestCase):
    def setUp(self):
        self.work = self.enterContext(tempfile.TemporaryDirectory())
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.asked = []
        self.server.describes = False  # answer() also describes guests
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.host = f"http://127.0.0.1:{self.server.server_address[1]}"

    def start(self, *arguments, answer=None, **environment):
        if answer:
            self.server.answer = answer
        limit = 200 * MiB
        return subprocess.Popen(
            [MPROFCTL, "--host", self.host, *arguments],
            cwd=self.work,
            env=dict(os.environ, no_proxy="*", TMPDIR=self.work, **environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        )

    def ended(self, process):
        out, said = process.communicate(timeout=300)
        return process.returncode, out, said.decode()

    def run_it(self, *arguments, **more):
        return self.ended(self.start(*arguments, **more))

    def path(self, name):
        return os.path.join(self.work, name)


class Pauses(threading.Thread):
    """Measure for how long this process, which is the server, got no processor: a client with a limit of a second takes that for a slow link."""

    def __init__(self):
        super().__init__(daemon=True)
        self.longest = 0  # seconds
        self.over = threading.Event()

    def run(self):
        last = time.monotonic()
        while not self.over.wait(0.05):
            now = time.monotonic()
            self.longest, last = max(self.longest, now - last), now


class Lists(Case):
    LISTS = (("domains", ["domains"]), ("captures", ["captures"]), ("memtraces", ["mem", "list"]))

    def pages(self, key, cursors, entries=1):
        def answer(h):
            h.body(f'{{"{key}":[{",".join(["{}"] * entries)}],"next":"{next(cursors)}"}}'.encode())

        return answer

    def test_repeated(self):
        """The list repeats one cursor for ever, or three in turns."""
        for key, words in self.LISTS:
            for most in 1, 3:
                self.server.asked.clear()
                code, out, said = self.run_it(*words, answer=self.pages(key, itertools.cycle("abc"[:most])))
                self.assertEqual((code, out), (1, b""))
                self.assertIn(f"gives the same page of {key} again and again", said)
                self.assertEqual(len(self.server.asked), most + 1)

    def test_endless(self):
        """The list gives a new cursor each time, with entries and without."""
        for key, words in self.LISTS:
            for entries in 0, 5:
                self.server.asked.clear()
                code, out, said = self.run_it(*words, answer=self.pages(key, itertools.count(), entries), MPROFCTL_MAX_PAGES="20")
                self.assertEqual((code, out), (1, b""))
                self.assertIn(f"has given 20 pages of {key} and has more; MPROFCTL_MAX_PAGES allows", said)
                self.assertEqual(len(self.server.asked), 20)

    def test_as_many_as_allowed(self):
        def answer(h):
            last = len(self.server.asked) == 20
            h.body(b'{"domains":[{}],"next":%s}' % (b"null" if last else b'"%d"' % len(self.server.asked)))

        code, out, said = self.run_it("domains", "--json", answer=answer, MPROFCTL_MAX_PAGES="20")
        self.assertEqual((code, out.count(b"{}"), said), (0, 20, ""))

    def test_packets(self):
        """The pages of /packets, from which a bundle learns the guest's clock, never end."""
        self.server.describes = True

        def answer(h):
            if "/packets" in h.path:
                h.body(b'{"packets":[],"next":"again"}')
            elif h.path.split("?")[0].endswith("/trace"):
                h.body(TRACE)
            else:
                h.body(
                    b'{"id":7,"name":"web","run":1,"state":"ended","run_list":[{"run":1,"state":"ended","streams":[{"stream":0}]}],"streams":[{"stream":0}]}'
                )

        code, _, said = self.run_it("bundle", "domain:web", "-o", "b.tar", answer=answer)
        self.assertEqual(code, 1)
        self.assertIn("gives the same page of packets again and again", said)
        self.assertFalse(os.path.exists(self.path("b.tar")))

    def test_environment(self):
        for name, value in ("MAX_PAGES", "0"), ("MAX_PAGES", "-1"), ("TIMEOUT", "0"), ("TIMEOUT", "1x"), ("MIN_RATE", "fast"), ("TIMEOUT", "9" * 30):
            code, _, said = self.run_it("domains", answer=self.pages("domains", itertools.count()), **{f"MPROFCTL_{name}": value})
            self.assertEqual(code, 2, said)
            self.assertIn(f"MPROFCTL_{name} is not a number", said)
        self.assertEqual(self.server.asked, [])


class Slow(Case):
    def steadily(self, attempt):
        """Call ATTEMPT until it does not fail, or fails while the server had a processor all the time."""
        pauses = Pauses()
        pauses.start()
        self.addCleanup(pauses.over.set)
        until = time.monotonic() + 300
        while True:
            self.server.asked.clear()
            for name in os.listdir(self.work):
                os.unlink(self.path(name))
            pauses.longest = 0
            try:
                return attempt()
            except AssertionError:
                if pauses.longest < 0.5 or time.monotonic() > until:
                    raise

    def test_drops(self):
        """Send a byte each tenth of a second: of a body, of a header, and of the header of an
        answer that may be silent later."""

        def body(h):
            h.head(100000)
            h.drip(b'{"domains":[' + b" " * 90000, 0.1)

        def header(h):
            h.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
            h.drip(b"x" * 90000, 0.1)

        def answer(h):
            for name, way in (("domains", body), ("captures", header), ("live", header), ("memtraces", lambda _: time.sleep(20))):
                if name in h.path.split("?")[0].split("/")[-1]:
                    way(h)

        self.server.answer = answer

        def attempt():
            # Run all commands at once: each answer would take half a minute.
            tries = [
                (self.start(*words, MPROFCTL_TIMEOUT="1"), want)
                for words, want in (
                    (["domains"], "is too slow: less than 1024 bytes a second came for 1 s; MPROFCTL_MIN_RATE=0"),
                    (["captures"], "is too slow"),
                    (["follow", "domain:web", "-o", "x"], "is too slow"),
                    (["mem", "list"], "nothing came for 1 s"),
                )
            ]
            for (code, out, said), want in [(self.ended(process), want) for process, want in tries]:
                self.assertEqual((code, out), (5, b""), said)
                self.assertIn(want, said)

        self.steadily(attempt)

    def test_without_body(self):
        """Bytes come fast, and none of them is of the body: the extension of a chunk, and trailers."""
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

        def answer(h):
            h.close_connection = True
            if "captures" in h.path:
                h.wfile.write(head + b"2\r\n{}\r\n0\r\n" + b"T: x\r\n" * 300_000)
                return
            until = time.monotonic() + 100  # far longer than the client waits
            h.wfile.write(head + b"5;")
            while time.monotonic() < until:
                h.wfile.write(b"x" * 8192)

        code, out, said = self.run_it("domains", answer=answer, MPROFCTL_TIMEOUT="1")
        self.assertEqual((code, out), (5, b""), said)
        self.assertRegex(said, "is too slow|nothing came for 1 s")
        code, out, said = self.run_it("captures", answer=answer, MPROFCTL_TIMEOUT="1")
        self.assertEqual((code, out), (5, b""), said)
        self.assertIn("its headers have more than 524288 bytes", said)

    def test_long_header(self):
        """A line of a header is longer than libcurl takes, which libcurl may call a lack of memory."""

        def answer(h):
            h.close_connection = True
            with contextlib.suppress(OSError):
                h.wfile.write(b"HTTP/1.1 200 OK\r\nETag: " + b"x" * (200 << 10) + b"\r\nContent-Length: 2\r\n\r\n{}")

        code, out, said = self.run_it("domains", answer=answer)
        self.assertEqual((code, out), (1, b""), said)
        self.assertRegex(said, r"^mprofctl: a line of the headers of \S+ is longer than 100 KiB, or memory is lacking$")

    def test_fetch(self):
        """Each retry must bring more than a few bytes. One server breaks the connection, the other
        is slow."""

        def part(h):
            at = int(h.headers.get("Range", "bytes=0-")[6:-1])
            headers = {"ETag": '"e"', "Retry_After": "0"}
            if at:
                headers["Content_Range"] = f"bytes {at}-{len(TRACE) - 1}/{len(TRACE)}"
            h.head(len(TRACE) - at, 206 if at else 200, **headers)
            return TRACE[at:]

        def broken(h):
            h.wfile.write(part(h)[:1])
            h.close_connection = True

        def slow(h):
            h.drip(part(h), 0.1)

        self.server.answer = lambda h: (broken if "/broken/" in h.path else slow)(h)
        names = "broken", "slow"

        def attempt():
            processes = [self.start("fetch", f"domain:{name}", MPROFCTL_TIMEOUT="1") for name in names]
            for code, _, said in [self.ended(process) for process in processes]:
                self.assertEqual(code, 5, said)
            for name in names:
                self.assertEqual(sum(f"/{name}/" in path for path, _ in self.server.asked), 7)
            self.assertEqual(os.listdir(self.work), [])

        self.steadily(attempt)

    def test_honest(self):
        """These do not fail: a link of 8 KiB/s over some windows, a reader that pauses, and any
        link when the limit is lower."""

        def link(h):
            h.head(len(TRACE))
            for at in range(0, len(TRACE), 1024):
                h.wfile.write(TRACE[at : at + 1024])
                time.sleep(0.125)

        def drops(h):
            h.head(15)
            h.drip(b'{"captures":', 0.2)
            h.wfile.write(b"[]}")

        def answer(h):
            if "/captures" in h.path:
                drops(h)
            elif "/link/" in h.path:
                link(h)
            else:
                h.body(TRACE * 30)

        self.server.answer = answer

        def attempt():
            paused = self.start("dump", "domain:paused", MPROFCTL_TIMEOUT="1")
            slow = [self.start("captures", "--json", MPROFCTL_TIMEOUT="1", MPROFCTL_MIN_RATE=rate) for rate in ("0", "2")]
            fetched = self.run_it("fetch", "domain:link", "-o", "x", MPROFCTL_TIMEOUT="1")
            code, out, said = self.ended(paused)
            codes = [self.ended(process)[0] for process in slow]
            self.assertEqual(fetched, (0, b"", ""))
            with open(self.path("x"), "rb") as f:
                self.assertEqual(f.read(), TRACE)
            self.assertEqual((code, out.count(b"\n"), said, codes), (0, 60000, "", [0, 0]))

        self.steadily(attempt)

    def test_follow(self):
        """Following does not fail for a guest that is silent for some windows, or a server that
        answers late."""

        def live(h):
            time.sleep(1.5 if len(self.server.asked) == 1 else 0)
            h.head(None, Mprof_Position="1.0.0.30", Mprof_Run_State="ended", Connection="close")
            h.close_connection = True
            if len(self.server.asked) > 1:
                return
            h.wfile.write(packet(0, 3))
            h.wfile.flush()
            time.sleep(2)
            h.wfile.write(packet(1, 3))

        def attempt():
            code, out, said = self.run_it("follow", "web", "-o", "-", answer=live, MPROFCTL_TIMEOUT="1")
            self.assertEqual((code, out, said), (0, packet(0, 3) + packet(1, 3), ""))

        self.steadily(attempt)


class Bodies(Case):
    def test_bomb(self):
        """64 KiB unpack to 2 GiB: mprofctl does not fill the disk, and accepts the same body
        uncompressed."""
        packed = bomb(2048)
        self.assertLess(len(packed), 68000)

        def stubborn(h):
            h.body(packed, Content_Encoding="zstd")

        def honest(h):
            zstd = "zstd" in h.headers.get("Accept-Encoding", "")
            h.body(packed if zstd else TRACE, **({"Content_Encoding": "zstd"} if zstd else {"ETag": '"e"'}))

        code, _, said = self.run_it("fetch", "domain:web", answer=stubborn)
        self.assertEqual(code, 1, said)
        self.assertIn("unpacks to more than 1000 times its size", said)
        self.assertIn("encoded as zstd, which was not asked for", said)
        self.assertEqual(os.listdir(self.work), [])
        code, _, said = self.run_it("fetch", "domain:web", answer=honest)
        self.assertEqual(code, 0, said)
        self.assertIn("note: the compressed answer", said)
        with open(self.path("web.ctf"), "rb") as f:
            self.assertEqual(f.read(), TRACE)

    def test_not_yet_a_bomb(self):
        """A trace of zeros also unpacks to much more than its size, and is accepted."""
        code, _, said = self.run_it("fetch", "domain:web", answer=lambda h: h.body(bomb(16), Content_Encoding="zstd"))
        self.assertEqual((code, said), (0, ""))
        self.assertEqual(os.path.getsize(self.path("web.ctf")), 16 * MiB)

    def ranged(self, says, bytes_of=lambda at: TRACE[at:], tail=206):
        """Break the connection in the middle and answer the Range request with the Content-Range
        SAYS."""

        def answer(h):
            if "Range" not in h.headers:
                h.head(len(TRACE), ETag='"e"', Retry_After="0")
                h.wfile.write(TRACE[:1000])
                h.close_connection = True
                return
            at = int(h.headers["Range"][6:-1])
            h.body(bytes_of(at), tail, ETag='"e"', Content_Range=says(at), Retry_After="0")

        self.server.asked.clear()
        code, _, said = self.run_it("fetch", "domain:web", "-o", "x", answer=answer)
        got = None
        if os.path.exists(self.path("x")):
            with open(self.path("x"), "rb") as f:
                got = f.read()
            os.unlink(self.path("x"))
        return code, got, said

    def test_ranges(self):
        last, all_of = len(TRACE) - 1, len(TRACE)
        self.assertEqual(self.ranged(lambda at: f"bytes {at}-{last}/{all_of}"), (0, TRACE, ""))
        self.assertEqual(self.ranged(lambda at: f"bytes {at}-{last}/*"), (0, TRACE, ""))
        for says in (
            lambda at: f"bytes {at + 1}-{last}/{all_of}",
            lambda at: f"bytes {at - 1}-{last}/{all_of}",
            lambda at: f"bytes 0-{last}/{all_of}",
            lambda at: f"bytes {at}-{at - 1}/{all_of}",
            lambda at: f"bytes {at}-{last}/{last}",
            lambda at: "octets 1-2/3",
            lambda at: "",
        ):
            code, got, said = self.ranged(says)
            self.assertEqual((code, got), (1, None), (says(1000), said))
            self.assertIn("the trace changed while it was fetched", said)

    def test_part_of_a_range(self):
        """A server may answer with less than the requested range: mprofctl fetches the rest."""
        few = lambda at: TRACE[at : at + 9000]
        got = self.ranged(lambda at: f"bytes {at}-{at + len(few(at)) - 1}/{len(TRACE)}", few)
        self.assertEqual(got, (0, TRACE, ""))
        # A range that is larger than the whole is refused.
        code, got, said = self.ranged(lambda at: f"bytes {at}-{len(TRACE) - 1}/{len(TRACE)}", lambda at: TRACE[at:] + b"more")
        self.assertEqual((code, got), (1, None), said)

    def test_many_breaks(self):
        """mprofctl fetches everything over a link that breaks often and brings something each time."""
        whole = TRACE * 40

        def answer(h):
            at = int(h.headers.get("Range", "bytes=0-")[6:-1])
            ranged = {"Content_Range": f"bytes {at}-{len(whole) - 1}/{len(whole)}"} if at else {}
            h.head(len(whole) - at, 206 if at else 200, ETag='"e"', Retry_After="0", **ranged)
            h.wfile.write(whole[at : at + 140_000])
            h.close_connection = True

        self.assertEqual(self.run_it("fetch", "domain:web", "-o", "x", answer=answer), (0, b"", ""))
        with open(self.path("x"), "rb") as f:
            self.assertEqual(f.read(), whole)
        self.assertGreater(len(self.server.asked), 8)

    def test_part_unasked(self):
        code, _, said = self.run_it("fetch", "domain:web", answer=lambda h: h.body(TRACE[:500], 206, Content_Range=f"bytes 0-499/{len(TRACE)}"))
        self.assertEqual((code, os.listdir(self.work)), (1, []), said)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
