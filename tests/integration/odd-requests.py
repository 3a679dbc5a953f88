"""Odd requests get one answer each, on every kind of listener: odd-requests.py BUILD-DIRECTORY [TEST…]

Each row of the tables is a request, behind which a second one follows. Either the first has the statuses of its row and the connection goes
on, so the second one is answered; or the connection ends with at most one answer, and what follows is no request.
"""

import contextlib
import os
import re
import socket
import ssl

import connections
import daemons
from certificates import authority

HOST = b"Host: localhost\r\n"
GET = b"GET /healthz HTTP/1.1\r\n" + HOST
POST = b"POST /v1/domains/none/captures HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
CHUNK = b"2\r\n{}\r\n0\r\n\r\n"
SECOND = b"GET /v1/nothing HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"
KINDS = "unix", "ipv4", "https"
TAKEN = {401, 503}  # what the route answers: without credentials, or without a collector


def line(target=b"/healthz", method=b"GET", version=b"HTTP/1.1"):
    return method + b" " + target + b" " + version + b"\r\n" + HOST + b"\r\n"


# Requests with an answer, after which the connection goes on.
ANSWERED = {
    **{method: (line(method=method.encode()), {405}) for method in ("OPTIONS", "TRACE", "CONNECT", "PUT", "DELETE", "FOO", "get", "PRI", "G(T")},
    "HEAD": (line(method=b"HEAD"), {200}),
    "POST without a length": (line(method=b"POST"), {405}),
    "a long method": (line(method=b"A" * 20000), {405}),
    "two slashes": (line(b"//healthz"), {404}),
    "another authority in the path": (line(b"//evil.test/healthz"), {404}),
    "the directory above": (line(b"/../../etc/passwd"), {404}),
    "a long query": (line(b"/healthz?" + b"a" * 20000), {414}),
    "a later minor version": (line(version=b"HTTP/1.2"), {200, 505}),
    "no Host": (b"GET /healthz HTTP/1.1\r\n\r\n", {400, 421}),
    **{
        f"Host: {value}": (GET[:23] + b"Host:" + value + b"\r\n\r\n", {421})
        for value in (b"", b"localhost, evil.test", b"a@localhost", b"localhost/evil", b"localhost:9x")
    },
    "bytes above 127 in a value": (GET + b"X: \xff\r\n\r\n", {200}),
    "a header of 30 KB": (GET + b"X: " + b"a" * 30000 + b"\r\n\r\n", {200}),
    "empty lines before": (b"\r\n" + GET + b"\r\n", {200}),
    "Upgrade: websocket": (GET + b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n\r\n", {200}),
    "Upgrade: h2c": (GET + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n", {200}),
    "Expect": (POST + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}", TAKEN),
    "Expect of something else": (POST + b"Expect: 200-ok\r\nContent-Length: 2\r\n\r\n{}", {*TAKEN, 417}),
    "a length with zeros": (POST + b"Content-Length: 0000002\r\n\r\n{}", TAKEN),
    "a thousand ranges": (GET + b"Range: bytes=" + b",".join(b"%d-%d" % (i, i) for i in range(1000)) + b"\r\n\r\n", {200}),
}

# Requests that end the connection. 0: libmicrohttpd has no answer, or the answer is lost with the bytes that nobody has read.
CLOSED = {
    **{
        f"target {target!r}": (line(target), {400})
        for target in (b"*", b"healthz", b"http://localhost/healthz", b"http://evil.test/healthz", b"localhost:80")
    },
    **{f"target {target!r}": (line(target), {400}) for target in (b"/healthz#x", b"/v1/domains/%zz", b"/v1/domains/%00", b"/v1/\xff", b"/v1/\x01")},
    "OPTIONS *": (line(b"*", b"OPTIONS"), {400}),
    "an authority for CONNECT": (line(b"localhost:80", b"CONNECT"), {400}),
    "tabs in the request line": (b"GET\t/healthz\tHTTP/1.1\r\n" + HOST + b"\r\n", {0, 400}),
    "two blanks in the request line": (line(b" /healthz"), {400}),
    "a blank behind the version": (line(version=b"HTTP/1.1 "), {400}),
    **{
        version: (line(version=version.encode()), {400, 505})
        for version in ("HTTP/0.9", "HTTP/2.0", "HTTP/9.9", "HTTP/1.10", "HTTP/1", "http/1.1", "FTP/1.1")
    },
    "the preface of HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {400, 505}),
    "no version": (b"GET /healthz\r\n" + HOST + b"\r\n", {0, 400}),
    "HTTP/1.0 without Host": (b"GET /healthz HTTP/1.0\r\n\r\n", {421}),
    "the same Host twice": (GET + HOST + b"\r\n", {400}),
    "two hosts": (GET + b"Host: evil.test\r\n\r\n", {400}),
    "a folded line": (GET + b"X: a\r\n b\r\n\r\n", {400}),
    "a line folded by a tab": (GET + b"X: a\r\n\tb\r\n\r\n", {400}),
    "a folded Host": (GET[:23] + b"Host:\r\n localhost\r\n\r\n", {400}),
    "a fold before all lines": (GET[:23] + b" X: a\r\n" + HOST + b"\r\n", {400}),
    **{f"line {text!r}": (GET + text + b"\r\n\r\n", {0, 400}) for text in (b"Xa", b": a", b"X y: a", b"X : a", b"X: a\rb", b"X: a\x01b")},
    "a long target": (line(b"/" + b"a" * 70000), {0, 414}),
    "a long line": (GET + b"X: " + b"a" * 100000 + b"\r\n\r\n", {0, 431}),
    "a long name": (GET + b"X" * 100000 + b": a\r\n\r\n", {0, 431}),
    "many lines": (GET + b"".join(b"X%d: a\r\n" % i for i in range(20000)) + b"\r\n", {0, 431}),
    "Expect without a body": (GET + b"Expect: 100-continue\r\n\r\n", {400}),
    "Expect with an empty body": (POST + b"Expect: 100-continue\r\nContent-Length: 0\r\n\r\n", {400}),
    "Expect of a body that is too long": (POST + b"Expect: 100-continue\r\nContent-Length: 99999999\r\n\r\n", {413}),
    "a body that is too long": (POST + b"Content-Length: 99999999\r\n\r\n", {413}),
    "a length beyond all numbers": (POST + b"Content-Length: 18446744073709551617\r\n\r\n", {400, 413}),
    "a list of lengths": (POST + b"Content-Length: 2, 2\r\n\r\n{}", {400}),
    **{
        f"Transfer-Encoding: {value}": (POST + b"Transfer-Encoding: %s\r\n\r\n" % value.encode() + CHUNK, {400})
        for value in ("gzip, chunked", "identity", "chunked, chunked", "chunked;q=1", "xchunked")
    },
    "two lines Transfer-Encoding": (POST + b"Transfer-Encoding: chunked\r\n" * 2 + b"\r\n" + CHUNK, {400}),
    "CHUNKED": (POST + b"Transfer-Encoding: CHUNKED\r\n\r\n" + CHUNK, TAKEN),
    **{f"chunk {body!r}": (CHUNKED + body + b"\r\n{}\r\n0\r\n\r\n", TAKEN) for body in (b"2", b"0000002", b"2;a=b", b'2;a="b;c"')},
    "ten bytes in hexadecimal": (CHUNKED + b"A\r\n{        }\r\n0\r\n\r\n", TAKEN),
    "a chunk for each byte": (CHUNKED + b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n", TAKEN),
    "a trailer": (CHUNKED + b"2\r\n{}\r\n0\r\nX: y\r\n\r\n", TAKEN),
    **{f"chunk {body!r}": (CHUNKED + body + b"\r\n{}\r\n0\r\n\r\n", {0, 400}) for body in (b"-2", b"+2", b"0x2", b"zz", b" 2", b"2 ", b"", b"1")},
    "a size beyond all numbers": (CHUNKED + b"10000000000000002\r\n{}\r\n0\r\n\r\n", {0, 400, 413}),
    "chunks with LF alone": (CHUNKED + b"2\n{}\n0\n\n", {0, 400, *TAKEN}),
    "chunks with CR alone": (CHUNKED + b"2\r{}\r0\r\r", {0, 400}),
}

# Requests whose body does not come: the deadline ends them.
WAITING = {
    "a chunk of 2 GiB": CHUNKED + b"80000000\r\n{}",
    "the largest chunk": CHUNKED + b"FFFFFFFFFFFFFFFF\r\n{}",
    "a long extension of a chunk": CHUNKED + b"2;" + b"a" * 70000,
    "half of the body": POST + b"Content-Length: 2\r\n\r\n{",
}


class Requests(daemons.Case):
    def server(self, kind, config=connections.LONG):
        if kind == "https":
            authority("own", "localhost", "subjectAltName = DNS:localhost")
            config += f"[access]\ncertificate = {os.getcwd()}/own.pem\nkey = {os.getcwd()}/own.key\n"
        return connections.Server(kind, config)

    def connect(self, kind, server):
        client = socket.socket(server.family)
        self.addCleanup(client.close)
        client.settimeout(daemons.HANGS)
        client.connect(server.address)
        if kind != "https":
            return client
        client = ssl.create_default_context(cafile="own.pem").wrap_socket(client, server_hostname="localhost")
        self.addCleanup(client.close)
        return client

    def said(self, client, data):
        """Send DATA, and read until the connection is closed. Return the statuses of the answers but 100."""
        said = b""
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            client.sendall(data)
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            while piece := client.recv(65536):
                said += piece
        client.close()
        return [status for status in map(int, re.findall(rb"HTTP/1\.\d (\d+)", said)) if status != 100]

    def allowed(self, kind, name, statuses):
        """Return the statuses that a server of KIND may answer with: on a Unix socket any Host will do."""
        return statuses | {200} if kind == "unix" and "Host" in name else statuses

    def test_answered(self):
        for kind in KINDS:
            with self.server(kind) as server:
                for name, (request, statuses) in ANSWERED.items():
                    with self.subTest(kind=kind, request=name):
                        said = self.said(self.connect(kind, server), request + SECOND)
                        self.assertEqual(len(said), 2, said)
                        self.assertIn(said[0], self.allowed(kind, name, statuses))
                        self.assertEqual(said[1], 404)

    def test_closed(self):
        for kind in KINDS:
            with self.server(kind) as server:
                for name, (request, statuses) in CLOSED.items():
                    with self.subTest(kind=kind, request=name):
                        said = self.said(self.connect(kind, server), request + SECOND)
                        self.assertIn(said or [0], [[status] for status in self.allowed(kind, name, statuses)])

    def test_deadline(self):
        for kind in KINDS:
            with self.server(kind, "body-timeout = 1s\n") as server:
                clients = [self.connect(kind, server) for _ in WAITING]
                for client, request in zip(clients, WAITING.values()):
                    client.sendall(request)
                for client, name in zip(clients, WAITING):
                    with self.subTest(kind=kind, request=name):
                        self.assertIn(self.said(client, b""), ([], [400], [408], [413]))


if __name__ == "__main__":
    daemons.main()
