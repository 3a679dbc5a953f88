"""Test the connections of mprofd-http on every kind of listener: limits, deadlines, and clients
that leave: connections.py BUILD-DIRECTORY [TEST…]

A held client has one answer already, so the server is known to have accepted it.
"""

import contextlib
import json
import os
import re
import resource
import signal
import socket
import ssl
import subprocess
import sys
import time
import unittest

import daemons
from certificates import authority
from daemons import Case, Ring, events_of, program
from turns import BRIEF, long

LONG = "header-timeout = 1d\nbody-timeout = 1d\nidle-timeout = 1d\n"
ASK = b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n"
HEALTH = ASK % b"/healthz"
EVENTS = ASK % b"/v1/events"
# Take over descriptor argv[1] as systemd hands it to a service, and become argv[2:].
ACTIVATED = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1');"
    " os.execv(sys.argv[2], sys.argv[2:])"
)


def has_ipv6():
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6) as probe:
        probe.bind(("::1", 0))
        return True
    return False


KINDS = ["ipv4", "unix", "activated-unix", "activated-tcp", *(["ipv6"] if has_ipv6() else [])]


class Client:
    """A connection that sends and reads raw bytes."""

    def __init__(self, server, source=None):
        self.socket = socket.socket(server.family)
        self.socket.settimeout(daemons.PATIENCE)
        if source:
            self.socket.bind((source, 0))
        self.socket.connect(server.address)
        self.stream = self.socket.makefile("rb")

    def send(self, data):
        self.socket.sendall(data)
        return self

    def head(self):
        """Read a header. Return (status, headers); the status is 0 if the server closed the
        connection."""
        first = self.stream.readline().split()
        headers = {}
        while line := self.stream.readline().strip():
            name, value = line.decode().split(":", 1)
            headers[name.lower()] = value.strip()
        return int(first[1]) if first else 0, headers

    def answer(self):
        """Read an answer with a Content-Length. Return (status, body)."""
        status, headers = self.head()
        return status, self.stream.read(int(headers.get("content-length", 0)))

    def ask(self, request=HEALTH):
        return self.send(request).answer()[0]

    def finish(self):
        self.socket.shutdown(socket.SHUT_WR)
        return self

    def is_open(self):
        """Return whether the server has neither closed the connection nor sent anything."""
        self.socket.setblocking(False)
        try:
            self.socket.recv(1, socket.MSG_PEEK)
            return False
        except BlockingIOError:
            return True
        except OSError:
            return False
        finally:
            self.socket.settimeout(daemons.PATIENCE)

    def rest(self):
        """Read until the server closes the connection. A connection closed with unread bytes is
        reset."""
        data = b""
        with contextlib.suppress(ConnectionError):
            while got := self.stream.read1(65536):
                data += got
        return data

    def close(self):
        self.stream.close()
        self.socket.close()


class Server:
    """mprofd-http alone, without an archive, at a listener of KIND."""

    breaks = None  # a way of libmicrohttpd in tests/assumptions/break-microhttpd.c

    def __init__(self, kind, config=""):
        tcp = {"ipv4": "127.0.0.1:0", "ipv6": "[::1]:0", "https": "https:127.0.0.1:0"}.get(kind)
        path = os.path.abspath(f"{kind}.sock")
        activated = kind.startswith("activated")
        with open("http.conf", "w", encoding="ascii") as f:
            f.write(f"[http]\n{config}")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        command = [program("mprofd-http"), "--state", os.getcwd(), "--run", os.getcwd(), "--config", "http.conf"]
        if activated:
            handed = socket.socket(socket.AF_INET if kind.endswith("tcp") else socket.AF_UNIX)
            handed.bind(("127.0.0.1", 0) if kind.endswith("tcp") else path)
            handed.listen(512)
            command = [sys.executable, "-c", ACTIVATED, str(handed.fileno()), *command]
        else:
            command += ["--listen", tcp or f"unix:{path}"]
        with open("http.log", "w", encoding="ascii") as log:
            self.process = subprocess.Popen(command, stderr=log, pass_fds=[handed.fileno()] if activated else [], env=self._environment())
        if activated:
            handed.close()
        families = {"ipv6": socket.AF_INET6, "ipv4": socket.AF_INET, "https": socket.AF_INET, "activated-tcp": socket.AF_INET}
        self.family = families.get(kind, socket.AF_UNIX)
        port = re.search(r":(\d+)$", self._said_where())
        self.address = ("::1" if kind == "ipv6" else "127.0.0.1", int(port[1])) if port else path

    def _environment(self):
        if not self.breaks:
            return None
        library = os.path.join(daemons.BUILD, "tests", "assumptions", "libbreak-microhttpd.so")
        options = os.environ.get("ASAN_OPTIONS", "")
        preload = {"LD_PRELOAD": library, "ASAN_OPTIONS": f"{options + ':' if options else ''}verify_asan_link_order=0"}
        return {**os.environ, **preload, "MPROF_BREAK": self.breaks}

    def _said_where(self):
        until = time.monotonic() + daemons.PATIENCE
        while time.monotonic() < until and self.process.poll() is None:
            with open("http.log", encoding="ascii") as log:
                said = re.search(r"listening on (\S+)", log.read())
            if said:
                return said[1]
            time.sleep(0.005)
        raise AssertionError("it does not listen")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(daemons.HANGS)
        with open("http.log", encoding="ascii", errors="replace") as log:
            text = log.read()
        if code or "runtime error:" in text:
            raise AssertionError(f"it ended with {code}:\n{text[-5000:]}")


def counters(client):
    """Return the counters of connections in /metrics, read over CLIENT."""
    text = client.send(ASK % b"/metrics").answer()[1].decode()
    return {name: int(value) for name, value in re.findall(r"(?m)^mprofd_http_connections_?(\w*) (\d+)$", text)}


def ticks(process):
    """Return the processor time of PROCESS, in ticks of 10 ms."""
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as f:
        return sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13]))


class Serving(Case):
    def server(self, kind="unix", config=LONG):
        return self.enterContext(Server(kind, config))

    def client(self, server, source=None):
        client = Client(server, source)
        self.addCleanup(client.close)
        return client

    def wait(self, what):
        until = time.monotonic() + daemons.PATIENCE
        while not what():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)

    def wait_timed_out(self, server):
        """Wait until the server has counted a client whose time is over. One that asks, on a slow machine, may be another."""

        def counted():
            with contextlib.suppress(ConnectionError, AssertionError), contextlib.closing(Client(server)) as asking:
                return counters(asking).get("timed_out_total", 0) >= 1

        self.wait(counted)

    def timed_out(self, server, client):
        self.assertEqual(client.rest(), b"")
        self.wait_timed_out(server)

    def hold(self, server, n):
        """Return N connected clients that have one answer each, in that order."""
        clients = []
        for _ in range(n):
            clients.append(self.client(server))
            self.assertEqual(clients[-1].ask(), 200)
        return clients

    def listen_to(self, server, n):
        """Return N clients whose answers do not end."""
        clients = [self.client(server).send(EVENTS) for _ in range(n)]
        for client in clients:
            self.assertEqual(client.head()[0], 200)
        return clients

    def held(self, server, limit, n):
        """Check N clients at a limit: each client above it closes the client that has waited
        longest, and no other."""
        clients = self.hold(server, n)
        for client in clients[: max(0, n - limit)]:
            self.assertEqual(client.rest(), b"")
        for client in clients[max(0, n - limit) :]:
            self.assertTrue(client.is_open())
        for client in clients:
            client.close()
        self.assertEqual(self.client(server).ask(), 200)


class Connections(Serving):
    # ---- framing

    def test_framing(self):
        """A header that says in two ways where the body ends is refused, the connection is closed, and
        what follows is no request."""
        start, inner = b" /healthz HTTP/1.1\r\nHost: localhost\r\n", b"GET /v1/nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"
        chunks, length = b"Transfer-Encoding: chunked\r\n", b"Content-Length: %d\r\n" % (len(inner) + 5)
        two = [length + chunks, chunks + length, length + length, b"X: y\r\n " + length, length.replace(b":", b" :"), b"Host: b\r\n"]
        for kind in "unix", "ipv4":
            with self.subTest(kind=kind), Server(kind, LONG) as server:
                for lines in (*two, b"Transfer-Encoding: gzip\r\n"):
                    for method in b"GET", b"POST":
                        client = self.client(server).send(method + start + lines + b"\r\n0\r\n\r\n" + inner)
                        status, headers = client.head()
                        self.assertEqual((status, headers.get("connection")), (400, "close"), lines)
                        self.assertNotIn(b"HTTP/1.1", client.rest(), lines)
                # Chunks have an answer, and end the connection. A strict libmicrohttpd refuses a line that ends without CR.
                for end, statuses in (b"0\r\n\r\n", (405,)), (b"0;\n\r\n", (400, 405)):
                    client = self.client(server).send(b"POST" + start + chunks + b"\r\n" + end + inner)
                    self.assertIn(client.head()[0], statuses)
                    self.assertNotIn(b"HTTP/1.1", client.rest())
                client = self.client(server).send(b"GET" + start + b"Content-Length: 2\r\n\r\nab")
                self.assertEqual((client.answer()[0], client.ask()), (200, 200))

    def over_tls(self):
        """Return an HTTPS server, and a function that connects to it."""
        authority("own", "localhost", "subjectAltName = DNS:localhost")
        server = self.enterContext(Server("https", f"{LONG}[access]\ncertificate = {os.getcwd()}/own.pem\nkey = {os.getcwd()}/own.key\n"))
        context = ssl.create_default_context(cafile="own.pem")

        def connect():
            plain = socket.create_connection(server.address, timeout=daemons.HANGS)
            return self.enterContext(context.wrap_socket(plain, server_hostname="localhost"))

        return connect

    def test_framing_bytes(self):
        """A NUL in any part of a header, a line that ends without CR, and a length that is no number get one 400, and what follows is no
        request. So it is over TLS, where nobody sees the bytes before libmicrohttpd."""
        get, host, inner = b"GET /healthz HTTP/1.1\r\n", b"Host: localhost\r\n", b"GET /v1/nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"
        headers = [
            get + b"Host: localhost\0.evil.test\r\n\r\n",
            get + host + b"X: a\0b\r\n\r\n",
            get + host + b"X: a\0\r\n\r\n",
            get + host + b"X\0Y: a\r\n\r\n",
            get + host + b"\0Content-Length: 9\r\n\r\n",
            get.replace(b"healthz", b"healthz\0/../x") + host + b"\r\n",
            get.replace(b"healthz", b"healthz x") + host + b"\r\n",
            get.replace(b"1.1", b"1.1\0x") + host + b"\r\n",
            b"G\0" + get[1:] + host + b"\r\n",
            get.replace(b"\r", b"") + host + b"\r\n",
            get + host.replace(b"\r", b"") + b"\r\n",
            get + host + b"X: a\nContent-Length: 2\r\n\r\n",
            get + host + b"\n",
            *(get + host + b"Content-Length: %s\r\n\r\n" % length for length in (b"+2", b"-2", b"", b"2x", b"0x2", b"2 2", b"9" * 30)),
        ]
        tls = self.over_tls()
        for kind in "unix", "ipv4":
            server = self.enterContext(Server(kind, LONG))
            for header in headers:
                client = self.client(server).send(header + inner)
                status, answered = client.head()
                self.assertIn(status, (0, 400), header)  # 0: libmicrohttpd 1.0 answers a few by closing the connection
                self.assertEqual(answered.get("connection", "close").lower(), "close", header)
                self.assertNotIn(b"HTTP/1.", client.rest(), header)
            # Lines that belong in a header stay possible, also many lines that come in many pieces.
            good = (
                get
                + host
                + b"Host-Of: a\r\nX:\r\nY: \t a \t\r\nCookie: a=b; c=d\r\n"
                + b"".join(b"L%d: %s\r\n" % (i, b"v" * i) for i in range(150))
                + b"\r\n"
            )
            client = self.client(server)
            for at in range(0, len(good), 997):
                client.send(good[at : at + 997])
            self.assertEqual([client.answer()[0], client.ask(good), client.ask(b"\r\n" + good)], [200] * 3)
        for header in headers:
            client = tls()
            client.sendall(header + inner)
            said = b""
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                while piece := client.recv(65536):
                    said += piece
            self.assertIn(said[:13], (b"", b"HTTP/1.1 400 "), header)
            self.assertLessEqual(said.count(b"HTTP/1."), 1, (header, said))
        client = tls()
        client.sendall(good)
        self.assertEqual(client.recv(12), b"HTTP/1.1 200")

    # ---- limits

    def test_users_stay(self):
        """Connections that send nothing push out each other, and no connection with credentials, as
        long as such connections take at most half of the places."""
        path = ASK % b"/v1/session"
        for kind in KINDS:
            with self.subTest(kind=kind), Server(kind, f"connections = 8\n{LONG}") as server:
                users = [self.client(server) for _ in range(4)]
                self.assertEqual([user.ask(path) for user in users], [200] * 4)
                silent = [self.client(server) for _ in range(20)]
                for client in silent[:16]:
                    self.assertEqual(client.rest(), b"")
                self.assertEqual([user.ask(path) for user in users], [200] * 4)
                # With a fifth user more than half is theirs, and the one that waits longest must leave.
                fifth = self.client(server)
                self.assertEqual(fifth.ask(path), 200)
                late = self.client(server)
                self.assertEqual(users[0].rest(), b"")
                self.assertEqual([user.ask(path) for user in (*users[1:], fifth)], [200] * 4)
                for client in [*users, *silent, fifth, late]:
                    client.close()

    def test_at_the_limit(self):
        """Try one client less than the limit, exactly the limit, and one more, on every kind of
        listener. When all have gone, the next client gets an answer."""
        for kind in KINDS:
            for limit in (2,) if BRIEF else (1, 2, 4, 8):
                with self.subTest(kind=kind, limit=limit), Server(kind, f"connections = {limit}\n{LONG}") as server:
                    for n in (limit - 1, limit, limit + 1):
                        self.held(server, limit, n)

    @long
    def test_at_the_default_limit(self):
        for kind in ("unix", "ipv4"):
            with self.subTest(kind=kind), Server(kind, f"connections-per-peer = 256\n{LONG}") as server:
                for n in (255, 256, 257):
                    self.held(server, 256, n)

    def test_answers_are_not_cut_for_others(self):
        """If every place has an answer under way, the next client waits until one of the answers
        ends."""
        for kind in KINDS:
            for limit in (1, 4):
                with self.subTest(kind=kind, limit=limit), Server(kind, f"connections = {limit}\n{LONG}") as server:
                    busy = self.listen_to(server, limit)
                    late = [self.client(server).send(HEALTH) for _ in range(2)]
                    self.assertTrue(all(client.is_open() for client in late))
                    busy[0].close()
                    self.assertEqual([client.answer()[0] for client in late], [200, 200])
                    for client in (*busy[1:], *late):
                        client.close()
                    self.assertEqual(self.client(server).ask(), 200)

    def test_whole_requests_do_not_wait_for_headers(self):
        """The server closes the waiting client whose last request header began first: a slow start
        costs later clients nothing."""
        server = self.server(config=f"connections = 3\n{LONG}")
        first, second = self.hold(server, 2)
        self.assertEqual(first.ask(), 200)
        third, fourth = self.hold(server, 2)
        self.assertEqual(second.rest(), b"")
        self.assertEqual([client.ask() for client in (first, third, fourth)], [200] * 3)
        self.assertEqual(counters(fourth), {"": 3, "refused_total": 0, "evicted_total": 1, "timed_out_total": 0})

    def test_one_peer(self):
        """A peer at its limit closes its own oldest connections. It is refused if all of them have
        answers under way, and other peers are not affected."""
        server = self.server("ipv4", f"connections = 4\nconnections-per-peer = 2\n{LONG}")
        other = self.client(server, "127.0.0.2")
        self.assertEqual(other.ask(), 200)
        first, second, third = self.hold(server, 3)
        self.assertEqual(first.rest(), b"")
        self.assertEqual(second.send(EVENTS).head()[0], 200)
        self.assertEqual(third.send(EVENTS).head()[0], 200)
        refused = self.client(server).send(HEALTH)
        status, body = refused.answer()
        self.assertEqual((status, json.loads(body)["status"], refused.rest()), (503, 503, b""))
        self.assertEqual(other.ask(), 200)
        self.assertEqual(self.client(server, "127.0.0.3").ask(), 200)
        third.close()
        self.wait(lambda: self.client(server).ask() == 200)
        self.assertEqual(counters(other)["evicted_total"], 1)
        self.assertGreaterEqual(counters(other)["refused_total"], 1)

    def test_one_user(self):
        server = self.server("unix", f"connections = 8\nconnections-per-peer = 2\n{LONG}")
        self.listen_to(server, 2)
        self.assertEqual(self.client(server).answer()[0], 503)  # also to a client that has sent nothing
        if os.geteuid() != 0:
            self.skipTest("only root can be another user")
        os.chmod(server.address, 0o666)
        os.chmod(".", 0o755)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.setresuid(65534, 65534, 65534)
                with contextlib.closing(Client(server)) as other:
                    status = int(other.ask() != 200)
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_without_descriptors(self):
        """A server without free descriptors answers again when clients have gone."""
        for kind in ("unix", "ipv4"):
            with self.subTest(kind=kind), Server(kind, LONG) as server:
                used = len(os.listdir(f"/proc/{server.process.pid}/fd"))
                resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (used + 8, used + 8))
                clients = [self.client(server).send(HEALTH) for _ in range(20)]
                self.assertEqual(clients[0].answer()[0], 200)
                for client in clients:
                    client.close()
                self.assertEqual(self.client(server).ask(), 200)

    # ---- deadlines

    def test_header_deadline(self):
        """The deadline also closes a client that sends a byte now and then."""
        for part in (b"", b"G", b"GET /healthz HTTP/1.1\r\nHost: loc"):
            with self.subTest(part=part), Server("unix", LONG.replace("header-timeout = 1d", "header-timeout = 1s")) as server:
                self.timed_out(server, self.client(server).send(part))
        with Server("ipv4", LONG.replace("header-timeout = 1d", "header-timeout = 1s")) as server:
            client = self.client(server)
            with contextlib.suppress(ConnectionError):
                for byte in b"GET /healthz HTTP/1.1\r\n" + b"A" * 10000:
                    client.send(bytes([byte]))
                    if not client.is_open():
                        break
                    time.sleep(0.05)
            self.timed_out(server, client)

    def test_body_deadline(self):
        server = self.server(config=LONG.replace("body-timeout = 1d", "body-timeout = 1s"))
        head = b"POST /v1/domains/web/captures HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n"
        client = self.client(server).send(head)
        with contextlib.suppress(ConnectionError):
            for _ in range(10000):
                client.send(b"x")
                if not client.is_open():
                    break
                time.sleep(0.05)
        self.timed_out(server, client)

    def test_idle_deadline(self):
        """The server closes a client that sends no further request, and keeps one whose answer goes
        on."""
        server = self.server(config=LONG.replace("idle-timeout = 1d", "idle-timeout = 1s"))
        (listener,) = self.listen_to(server, 1)
        (idle,) = self.hold(server, 1)
        self.timed_out(server, idle)
        listener.stream.readline()  # the line "retry:"
        listener.stream.readline()
        self.assertTrue(listener.is_open())

    def test_nothing_taken(self):
        """The server closes a client that reads nothing of its answers."""
        server = self.server(config=LONG.replace("idle-timeout = 1d", "idle-timeout = 1s"))
        client = self.client(server)
        client.socket.settimeout(0.2)
        with contextlib.suppress(OSError):  # until neither side takes any more bytes, or the server has closed the connection
            client.send(ASK % b"/v1/openapi.yaml" * 1000)
        self.wait_timed_out(server)

    # ---- clients that send FIN

    def test_fin_before_the_request_is_whole(self):
        """FIN inside a request ends the connection before any deadline."""
        parts = (b"", b"G", b"GET /healthz HTTP/1.1\r\nHost: l", b"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n1234")
        for kind in KINDS:
            with self.subTest(kind=kind), Server(kind, LONG) as server:
                for part in parts:
                    self.assertEqual(self.client(server).send(part).finish().rest(), b"", part)
                    client = self.hold(server, 1)[0]
                    self.assertEqual(client.send(part).finish().rest(), b"", part)
                last = self.client(server)
                self.wait(lambda: counters(last)[""] == 1)

    def test_left_at_once(self):
        """Clients that send a byte and close occupy no place."""
        for kind in KINDS:
            with self.subTest(kind=kind), Server(kind, LONG) as server:
                for _ in range(50):
                    self.client(server).send(b"G").close()
                last = self.client(server)
                self.wait(lambda: counters(last)[""] == 1)
                self.assertEqual(counters(last)["evicted_total"], 0)

    def test_fin_behind_the_request(self):
        """The server still answers each complete request, then ends the connection."""
        for kind in KINDS:
            with self.subTest(kind=kind), Server(kind, LONG) as server:
                for behind in (b"", b"GET /hea"):
                    client = self.client(server).send(HEALTH + ASK % b"/v1/openapi.yaml" + HEALTH + behind).finish()
                    self.assertEqual([client.answer()[0] for _ in range(3)], [200] * 3)
                    self.assertEqual(client.rest(), b"")
                client = self.hold(server, 1)[0]
                client.finish()
                self.assertEqual(client.rest(), b"")

    def test_fin_ends_what_follows(self):
        server = self.server("ipv4")
        (client,) = self.listen_to(server, 1)
        self.assertTrue(client.finish().rest().endswith(b"0\r\n\r\n"))
        client = self.client(server).send(EVENTS).finish()
        self.assertEqual(client.head()[0], 200)
        self.assertTrue(client.rest().endswith(b"0\r\n\r\n"))


class Announced(Serving):
    """libmicrohttpd announces a connection at once (0.9.75), in its next turn (1.0.1), or as break-microhttpd.c does."""

    def breaks(self, way):
        Server.breaks = way
        self.addCleanup(setattr, Server, "breaks", None)

    def test_late(self):
        """A client has its place, its limits and its deadlines from accept on, and the rights of its socket."""
        self.breaks("late")
        tests = Connections.test_users_stay, Connections.test_whole_requests_do_not_wait_for_headers, Connections.test_one_peer
        if not BRIEF:
            tests += Connections.test_answers_are_not_cut_for_others, Connections.test_left_at_once
        for test in tests:
            with self.subTest(test=test.__name__):
                test(self)
        with self.subTest("header deadline"), Server("unix", LONG.replace("header-timeout = 1d", "header-timeout = 1s")) as server:
            self.timed_out(server, self.client(server))
        with self.subTest("the server ends"), Server("unix", LONG) as server:
            for _ in range(20):
                self.client(server)

    def test_late_over_tls(self):
        """A connection gets its certificate, and waits for its client in the handshake without using the processor."""
        self.breaks("late")
        authority("own", "localhost", "subjectAltName = DNS:localhost")
        server = self.enterContext(Server("https", f"{LONG}[access]\ncertificate = {os.getcwd()}/own.pem\nkey = {os.getcwd()}/own.key\n"))
        silent = self.client(server)
        context = ssl.create_default_context(cafile="own.pem")
        for _ in range(3):
            with socket.create_connection(server.address) as plain, context.wrap_socket(plain, server_hostname="localhost") as secure:
                secure.sendall(HEALTH)
                self.assertEqual(secure.recv(12), b"HTTP/1.1 200")
        began, before = time.monotonic(), ticks(server.process)
        time.sleep(0.5)
        used = ticks(server.process) - before
        self.assertLess(used / 100, (time.monotonic() - began) / 2)
        self.assertTrue(silent.is_open())

    def test_lost(self):
        """A connection that libmicrohttpd closes without a word leaves no client behind, whoever gets its descriptor next."""
        self.breaks("lost")
        for kind in "unix", "ipv4":
            with self.subTest(kind=kind), Server(kind, f"connections = 8\n{LONG}") as server:
                answers = []
                for _ in range(60):
                    client = self.client(server)
                    with contextlib.suppress(ConnectionError):
                        client.send(HEALTH)
                    answers.append(client.rest() if len(answers) % 3 == 2 else client.head()[0])
                    client.close()
                self.assertEqual(answers, [200, 200, b""] * 20)
                last = self.client(server)
                self.wait(lambda: counters(last)[""] == 1)
                self.assertEqual({n: c for n, c in counters(last).items() if c}, {"": 1})


class Followed(Case):
    """Connections to a server with a collector."""

    def test_fin(self):
        d = self.daemons()
        ring = self.enterContext(Ring(os.path.join(d.rings, "web.ctf"), 65536, 16))
        ring.add_slowly(1000)
        d.wait(lambda: d.domain("web"))

        class Running:
            family, address = socket.AF_UNIX, d.socket

        def client(request):
            made = Client(Running)
            self.addCleanup(made.close)
            return made.send(request)

        live = client(ASK % b"/v1/domains/web/live")
        self.assertEqual(live.head()[0], 200)
        self.assertTrue(live.finish().rest().endswith(b"0\r\n\r\n"))
        # A capture takes a while: its client has sent FIN long before the answer.
        post = client(b"POST /v1/domains/web/captures HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}").finish()
        self.assertEqual(post.answer()[0], 201)
        self.assertEqual(post.rest(), b"")
        ring.close()
        d.wait_ended("web")
        status, body = client(ASK % b"/v1/domains/web/trace").finish().answer()
        self.assertEqual((status, events_of(body)), (200, ring.written))


if __name__ == "__main__":
    daemons.main()
