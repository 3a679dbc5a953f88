"""Test the JSON of mprofctl for texts that could control a terminal: json-text.py SOURCE-ROOT
MPROFCTL MEM-RECORDING [TEST…]

Each verb with --json and each export as JSON reads a trace, a memory profile or a server's answer
whose texts hold controls, marks of direction, separators, noncharacters and bytes that are no
UTF-8. The output has none of them unescaped, and a JSON parser reads the original text.
"""

import base64
import http.server
import itertools
import json
import os
import re
import struct
import subprocess
import sys
import tarfile
import tempfile
import threading
import unicodedata
import unittest

MPROFCTL, RECORDING = map(os.path.abspath, sys.argv[2:4])
UUID = bytes.fromhex("05883b8d521a487bb397456ab150680c")

CODES = [0x01, 0x09, 0x0A, 0x1B, 0x22, 0x5C, 0x7F, 0x80, 0x85, 0x9B, 0x9F, 0x061C, 0x200E, 0x200F, 0x2028, 0x2029, 0x202A, 0x202E, 0x2066]
CODES += [0x2069, 0xFEFF, 0xFDD0, 0xFDEF, 0xFFFE, 0xFFFF, 0x1FFFE, 0x10FFFF]
TEXTS = [f"a{chr(code)}b".encode() for code in CODES]
TEXTS += [
    "é€🐫".encode(),
    b"</script>",
    b"a\xffb",
    b"a\xc3",
    b"\x9b31m",
    b"\xed\xa0\x80",
    b"\xe2\x80",
    b"\xf4\x90\x80\x80",
    b"\xc0\x80",
    b"\xf0\x9f\x90",
]
# A server's JSON is UTF-8.
WORDS = [text.decode() for text in TEXTS[: len(CODES) + 1]]
ALL = "".join(WORDS)


def forbidden(c):
    """Return whether client/trace/decode/text.c escapes C."""
    code = ord(c)
    if code in (0x061C, 0x200E, 0x200F, 0xFEFF) or 0x2028 <= code <= 0x202E or 0x2066 <= code <= 0x2069:
        return True
    return unicodedata.category(c) == "Cc" and c != "\n" or 0xFDD0 <= code <= 0xFDEF or code & 0xFFFE == 0xFFFE


def said(text):
    """Return the text that JSON holds: each byte that is no UTF-8 is a replacement character."""
    out, at = [], 0
    while at < len(text):
        for n in 1, 2, 3, 4:
            try:
                out.append(text[at : at + n].decode())
                break
            except UnicodeDecodeError:
                continue
        else:
            out.append("\ufffd")
            n = 1
        at += n
    return "".join(out)


def strings(value):
    """Return all strings in a value of JSON, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)
    elif isinstance(value, dict):
        for key, one in value.items():
            yield key
            yield from strings(one)


def event(time, number, *fields):
    parts = [struct.pack("<QB", time, number)]
    for field in fields:
        parts.append(struct.pack("<q", field) if isinstance(field, int) else field)
    return b"".join(parts)


def packet(count, *events):
    body = b"".join(events)
    bits = (30 + len(body)) * 8
    return struct.pack("<I16sIHI", 0xC1FC1FC1, UUID, bits, count, bits) + body


def trace(bad=False):
    """Return a trace of threads that are labelled, fail and should resolve, and of counters. If
    BAD, half of the threads never resolve."""
    events, time = [], 1000
    for i, text in enumerate(TEXTS):
        thread, waiter = 2 * i + 1, 2 * i + 2
        events += [
            event(time, 0, -1, thread, b"\0"),
            event(time + 1, 5, thread, text + b"\0"),
            event(time + 2, 7, thread),
            event(time + 3, 0, thread, waiter, b"\2"),
            event(time + 4, 5, waiter, text + b"\0"),
            event(time + 5, 10, waiter, thread),
            event(time + 6, 6, thread, i - 5, text + b"\0"),
            event(time + 7, 11, thread, i, text + b"\0"),
        ]
        if not (bad and i % 2):
            events += [event(time + 8, 3, waiter, thread, text + b"\0")]
        time += 10
    return packet(0, *events)


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.made = cls.enterClassContext(tempfile.TemporaryDirectory())

    def setUp(self):
        os.chdir(self.made)

    def run_it(self, *arguments, codes=(0, 3)):
        done = subprocess.run([MPROFCTL, *arguments], capture_output=True, check=False, timeout=300)
        self.assertIn(done.returncode, codes, (arguments, done.stderr))
        return done.stdout

    def read(self, out, what):
        text = out.decode()
        self.assertEqual(sorted({hex(ord(c)) for c in text if forbidden(c)}), [], what)
        return text

    def ask(self, *arguments, lines=False):
        """Return the strings in the JSON that mprofctl prints."""
        text = self.read(self.run_it(*arguments), arguments)
        value = [json.loads(line) for line in text.splitlines()] if lines else json.loads(text)
        return set(strings(value))

    def holds(self, found, texts=TEXTS, within=False):
        for text in texts:
            want = text if isinstance(text, str) else said(text)
            self.assertTrue(any(want in one for one in found) if within else want in found, (text, sorted(found)[:50]))


class Traces(Case):
    def setUp(self):
        super().setUp()
        for name, bad in ("good.ctf", False), ("bad.ctf", True):
            with open(name, "wb") as f:
                f.write(trace(bad))

    def test_verbs(self):
        self.holds(self.ask("dump", "bad.ctf", "--json", lines=True))
        for verb in "stats", "threads":
            self.holds(self.ask(verb, "bad.ctf", "--json"))
        for i, text in enumerate(TEXTS):
            self.assertIn(said(text), self.ask("why", "bad.ctf", str(2 * i + 2), "--json"))
        self.ask("why", "bad.ctf", "--json")
        self.holds(self.ask("diff", "good.ctf", "bad.ctf", "--json"), TEXTS[1::2])

    def test_bytes(self):
        """JSON adds the hexadecimal bytes of a text that it cannot hold."""
        for line in self.run_it("dump", "bad.ctf", "--json").splitlines():
            one = json.loads(line)
            for key in "label", "failure", "counter":
                if key in one and f"{key}_hex" in one:
                    self.assertIn(bytes.fromhex(one[f"{key}_hex"]), TEXTS)
        self.assertIn(b'_hex":"61ff62"', self.run_it("dump", "bad.ctf", "--json"))

    def test_exports(self):
        for form in "json", "chrome":
            self.holds(self.ask("export", "bad.ctf", "--to", form, "-o", "-"))

    def test_page(self):
        page = self.run_it("export", "bad.ctf", "--to", "html", "-o", "-", codes=(0, 1))
        if not page:
            self.skipTest("mprofctl was built without the viewer")
        head = re.search(rb'id="contents">([A-Za-z0-9+/=]*)<', page)
        self.assertIn("bad.ctf", set(strings(json.loads(self.read(base64.b64decode(head[1]), "html")))))

    def test_streams(self):
        """File names become names of streams."""
        os.makedirs("many", exist_ok=True)
        with open("many/metadata", "w") as f:
            f.write("/* CTF 1.8 */\n")
        names = [text for text in TEXTS if b"/" not in text]
        for name in names:
            with open(os.path.join(b"many", name), "wb") as f:
                f.write(trace(True))
        found = self.ask("stats", "many", "--json")
        self.holds(found, names)
        self.holds(self.ask("dump", "many", "--json", lines=True), names)
        self.holds(self.ask("threads", "many", "--json"), names)
        self.holds(self.ask("why", "many", "2", "--json"), names)
        for form in "json", "chrome":
            self.holds(self.ask("export", "many", "--to", form, "-o", "-"), names, within=True)

    def test_paths(self):
        for text in (b"a\x7fb", "\u009b\u202e".encode(), "\u2028\ufeff".encode(), b"a\xff\xc3", b'"\\', b"\xed\xa0\x80"):
            name = text + b".ctf"
            with open(name, "wb") as f:
                f.write(trace())
            for form in "json", "chrome":
                self.holds(self.ask("export", name, "--to", form, "-o", "-"), [name], within=True)
            self.holds(self.ask("export", name, "--to", "csv", "-o", text + b".csv", "--json"), [text + b".csv"])
            self.holds(self.ask("bundle", name, "-o", text + b".tar", "--json"), [text + b".tar"])
            with tarfile.open(text + b".tar") as tar:
                for member in tar.getmembers():
                    if member.name.endswith("json"):
                        self.holds(set(strings(json.loads(self.read(tar.extractfile(member).read(), "manifest")))), [text], within=True)
            os.unlink(name)


class Memory(Case):
    """A profile whose names were replaced by others of the same length."""

    def setUp(self):
        super().setUp()
        subprocess.run([RECORDING, "plain", "90000", "200"], check=True, capture_output=True)
        with open("plain", "rb") as f:
            data = f.read()
        # A function's name is `Dune__exe__Module_N.function_N`, and a file's `src/module_N.ml`.
        texts = [text for text in TEXTS if b"\0" not in text and len(text) <= 5]
        self.texts = texts
        for names in rb"Dune__exe__Module_\d+\.function_\d+", rb"src/module_\d+\.ml":
            turns = itertools.cycle(texts)
            new = {old: next(turns).ljust(len(old), b"x") for old in dict.fromkeys(re.findall(names, data))}
            data = re.sub(names, lambda match: new[match[0]], data)
        data = data.replace(b"mirage\0", b"m\xc2\x9bx\xff!\0")
        with open("profile", "wb") as f:
            f.write(data)

    def test_verbs(self):
        self.assertTrue(self.ask("mem", "identify", "profile", "--json") & {"m\x9bx\ufffd!"})
        found = self.ask("mem", "dump", "profile", "--json", lines=True)
        self.holds(found, self.texts, within=True)
        for verb in "hotspots", "peak", "leaks", "timeline":
            self.ask("mem", verb, "profile", "--json")
        self.holds(self.ask("mem", "hotspots", "profile", "--json"), [b"a\xc2\x9bb", b"a\xe2\x80\xaeb"], within=True)
        self.ask("mem", "diff", "profile", "plain", "--json")
        self.holds(self.ask("mem", "flame", "profile", "-o", b"a\xff\xc2\x9b.svg", "--json"), [b"a\xff\xc2\x9b.svg"])

    def test_exports(self):
        for form in "json", "speedscope":
            self.holds(self.ask("mem", "export", "profile", "--to", form), self.texts, within=True)


class Server(Case):
    """The strings in a server's answers."""

    def setUp(self):
        super().setUp()
        one = {
            "name": ALL,
            "id": 7,
            "run": 1,
            "note": ALL,
            "domain": {"name": ALL},
            "state": "running",
            "streams": [],
            "captures": [],
            "address": ALL,
        }
        answers = {
            "/v1/domains": {"domains": [one], "next": None},
            "/v1/captures": {"captures": [one], "next": None},
            "/v1/memtraces": {"memtraces": [one], "next": None},
        }

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self, status=200):
                body = json.dumps(answers.get(self.path.split("?")[0], one)).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.answer(201)

            do_GET = do_DELETE = answer

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.host = f"http://127.0.0.1:{server.server_address[1]}"

    def test_verbs(self):
        for words in (
            ["domains"],
            ["captures"],
            ["show", "7"],
            ["snapshot", "web", "--note", ALL],
            ["mem", "list"],
            ["mem", "start", "web"],
            ["mem", "stop", "7"],
        ):
            with self.subTest(words[0:2]):
                self.assertIn(ALL, self.ask("--host", self.host, "--json", *words))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
