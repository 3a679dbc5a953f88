"""Test access control of mprofd-http, with real certificates, tokens, users and sockets: access.py
BUILD-DIRECTORY [TEST…]"""

import contextlib
import functools
import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time

import daemons
from certificates import CLIENT, KEY_OPTIONS, authority, certificate, costly_key, openssl, revoke
from daemons import Ring
from events import Follower, writer
from sink import Offer, packet

OPENAPI = os.path.join(daemons.HERE, "../../schema/http/openapi.yaml")
ALL = "read=*,context=*,write=*,metrics=yes"
HOST = "trace.test"
ID = re.compile(r"mprof_([0-9a-f]{16})_[0-9a-f]{64}")


SERVER = [f"subjectAltName = DNS:{HOST},IP:127.0.0.1", "extendedKeyUsage = serverAuth"]


@functools.cache
def templates():
    """Make the certificates of all tests once, and return their directory."""
    import tempfile

    where = tempfile.mkdtemp(prefix="access-certificates-")
    before = os.getcwd()
    os.chdir(where)
    try:
        authority("ca", "Test authority")
        authority("other", "Test authority")
        certificate("server", f"/CN={HOST}", "ca", *SERVER)
        certificate("server2", f"/CN={HOST}", "ca", *SERVER)
        authority("clients", "Viewers")
        certificate("good", "/CN=viewer", "clients", *CLIENT)
        certificate("unknown", "/CN=stranger", "clients", *CLIENT)
        certificate("revoked", "/CN=viewer", "clients", *CLIENT)
        certificate("expired", "/CN=viewer", "clients", *CLIENT, start="200101000000Z", end="200102000000Z")
        certificate("future", "/CN=viewer", "clients", *CLIENT, start="490101000000Z", end="490201000000Z")
        certificate("purpose", "/CN=viewer", "clients", "extendedKeyUsage = serverAuth")
        certificate("foreign", "/CN=viewer", "other", *CLIENT)
        certificate("two-names", "/CN=viewer/CN=root", "clients", *CLIENT)
        authority("self", "viewer")
        revoke("revoked", "clients")
    finally:
        os.chdir(before)
    return where


# ---- a server with access control


def quietly(call, *arguments):
    with contextlib.suppress(OSError):
        call(*arguments)


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)


def exchange(connection, method, path, body, headers):
    """Send a request over CONNECTION, and close it. Return the answer."""
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return Answer(answer.status, answer.headers, answer.read())
    finally:
        connection.close()


class Secure(http.client.HTTPSConnection):
    """A connection to HOST at ADDRESS, from the address SOURCE."""

    def __init__(self, port, context, source=None, name=HOST, timeout=daemons.HANGS):
        super().__init__(name, port, context=context, timeout=timeout)
        self.source = source

    def connect(self):
        s = socket.socket()
        s.settimeout(self.timeout)
        if self.source:
            s.bind((self.source, 0))
        s.connect(("127.0.0.1", self.port))
        self.sock = self._context.wrap_socket(s, server_hostname=HOST)


class Case(daemons.Case):
    grants = ""
    more = ""

    def setUp(self):
        super().setUp()
        self.port = self.plain = None  # of HTTPS and HTTP, once the server runs
        shutil.copytree(templates(), "tls")
        self.d = self.enterContext(daemons.Daemons())
        self.configure()
        self.full = self.token("full", ALL)

    def configure(self, access=None):
        tls = os.path.abspath("tls")
        if access is None:
            access = (
                f"[access]\ncertificate = {tls}/server.pem\nkey = {tls}/server.key\nclient-ca = {tls}/clients.pem\n"
                f"client-crl = {tls}/clients.crl\ntokens = {os.path.abspath('tokens')}\n{self.more}{self.grants}"
            )
        self.d.configure(f"{daemons.QUIET}[http]\nlisten = https:127.0.0.1:0\nlisten = 127.0.0.1:0\n" f"listen = unix:{self.d.socket}\n{access}")

    def start(self, *names):
        self.d.start_collector()
        self.start_server()
        self.rings = {name: self.enterContext(Ring(f"rings/{name}.ctf")) for name in names}
        for name in names:
            self.d.wait(lambda name=name: self.d.domain(name))
            self.rings[name].add_slowly(5)

    def start_server(self):
        """Start the server with the listeners of the configuration."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.d.socket)
        self.d.server = self.d.launch("mprofd-http")
        self.port, self.plain = self.d.server.port("https:"), self.d.server.port("http:")

    def command(self, *arguments, code=0):
        done = subprocess.run(
            [daemons.program("mprofd-http"), "--config", "mprofd.conf", *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=daemons.HANGS,
        )
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def token(self, name, *scopes, days=None):
        more = [a for s in scopes for a in ("--scope", s)] + (["--days", str(days)] if days else [])
        return self.command("--token", "new", name, *more).stdout.strip()

    def context(self, client=None):
        context = ssl.create_default_context(cafile="tls/ca.pem")
        if client:
            context.load_cert_chain(f"tls/{client}.pem", f"tls/{client}.key")
        return context

    def ask(self, path, method="GET", token=None, client=None, body=None, source=None, host=None, **headers):
        """Send a request over TLS."""
        headers = {k.replace("_", "-"): v for k, v in headers.items()}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if host:
            headers["Host"] = host
        if body is not None and not isinstance(body, str):
            body = json.dumps(body)
        return exchange(Secure(self.port, self.context(client), source), method, path, body, headers)

    def over_http(self, path, method="GET", token=None, **headers):
        if token:
            headers["Authorization"] = f"Bearer {token}"
        return exchange(http.client.HTTPConnection("127.0.0.1", self.plain, timeout=daemons.HANGS), method, path, None, headers)

    def names(self, answer):
        return sorted(d["name"] for d in answer.json()["domains"])

    def follow(self, path, token, **more):
        """
        Begin a live body. Return a function that waits for its end; its text() is what has come so far.
        """
        connection = Secure(self.port, self.context(more.pop("client", None)))
        connection.request("GET", path, None, {**({"Authorization": f"Bearer {token}"} if token else {}), **more})
        stream = connection.sock
        answer = connection.getresponse()
        self.assertEqual(answer.status, 200, answer.read(500) if answer.status != 200 else b"")
        self.addCleanup(connection.close)
        # Closing alone would wait for the thread that reads.
        self.addCleanup(quietly, stream.shutdown, socket.SHUT_RDWR)
        ended, came = [], []

        def read():
            with contextlib.suppress(OSError, http.client.HTTPException, AttributeError):  # closed by the test
                while data := answer.read1(65536):
                    came.append(data)
            ended.append(True)

        thread = threading.Thread(target=read, daemon=True)
        thread.start()

        def end():
            thread.join(daemons.PATIENCE)
            self.assertTrue(ended, "the body goes on")

        end.lives = lambda: not ended
        end.text = lambda: b"".join(came).decode()
        return end


class Operations(Case):
    """Each operation of the OpenAPI document, with each kind of credentials."""

    def test_every_operation(self):
        import yaml

        self.start("web1", "mail1")
        made = self.ask("/v1/domains/mail1/captures", "POST", self.full)
        self.assertEqual(made.status, 201, made.body)
        capture = made.json()["id"]
        narrow = self.token("narrow", "read=web*")
        reader = self.token("reader", "read=*")
        wrong = self.full[:-1] + ("0" if self.full[-1] != "0" else "1")
        expired = self.expire(self.token("expired", ALL))
        with open(OPENAPI, encoding="utf-8") as f:
            document = yaml.safe_load(f)
        operations = [(m.upper(), p, op["x-scope"]) for p, item in document["paths"].items() for m, op in item.items() if m != "parameters"]
        self.assertGreater(len(operations), 35)
        for method, path, scope in operations:
            real = path.replace("{domain}", "mail1").replace("{file}", "main.js").replace("/{folder}", "/trace")
            real = real.replace("{id}", str(capture) if "captures" in path else "1")
            last = path.startswith("/v1/captures/{id}") and method == "DELETE"
            with self.subTest(f"{method} {path}"):
                for token in (None, wrong, expired):
                    status = self.status(real, method, token)
                    if scope == "none":
                        self.assertNotEqual(status, 403, token)
                    else:
                        self.assertEqual(status, 401, token)
                if scope in ("read", "context", "write"):
                    self.assertEqual(self.status(real, method, narrow), 404)
                if scope in ("context", "write") and "memtraces/{id}" not in path:
                    self.assertEqual(self.status(real, method, reader), 403)
                if scope == "metrics":
                    self.assertEqual(self.status(real, method, reader), 403)
                if scope == "tokens":
                    self.assertEqual(self.status(real, method, self.full), 403)
                if not last and scope != "none":
                    self.assertNotIn(self.status(real, method, self.full), (401, 403) if scope != "tokens" else (401,))

    def status(self, path, method, token):
        """Return the status of a request. A body that lives is not read."""
        self.peers = getattr(self, "peers", 0) + 1
        source = f"127.1.{self.peers // 250}.{self.peers % 250 + 1}"  # no peer may send many wrong tokens
        connection = Secure(self.port, self.context(), source)
        try:
            connection.request(method, path, None, {"Authorization": f"Bearer {token}"} if token else {})
            return connection.getresponse().status
        finally:
            connection.close()

    def expire(self, token):
        """Let TOKEN have expired."""
        number = ID.fullmatch(token).group(1)
        with open("tokens", encoding="utf-8") as f:
            text = re.sub(rf"(?m)^({number} \S+ \d+) \d+", r"\1 1000000000", f.read())
        with open("tokens.new", "w", encoding="utf-8") as f:
            f.write(text)
        os.rename("tokens.new", "tokens")
        self.d.wait(lambda: self.ask("/v1/domains", token=token).status == 401)
        return token

    def test_malformed_credentials(self):
        self.start()
        for text in (
            "",
            "Bearer",
            "Bearer ",
            "Basic YTpi",
            "Bearer mprof_",
            self.full,
            f"Bearer {self.full}0",
            f"Bearer {self.full[:-1]}",
            f"Bearer {self.full.upper()}",
        ):
            self.assertEqual(self.ask("/v1/domains", Authorization=text).status, 401, text)
        self.assertEqual(self.ask("/v1/domains", Authorization=f"bearer  {self.full}").status, 200)
        answer = self.ask("/v1/domains")
        self.assertEqual(answer.headers["WWW-Authenticate"], "Bearer")
        self.assertEqual(answer.headers["Content-Type"], "application/problem+json")


class Sight(Case):
    """Objects that a client may not see do not exist for it."""

    def statements(self):
        text = self.ask("/metrics", token=self.full).body.decode()
        return int(re.search(r"(?m)^mprofd_http_statements_total (\d+)$", text).group(1))

    def cost(self, path, token):
        """Return the archive's statements for a request and for metrics, and the request's answer without the name."""
        before = self.statements()
        answer = self.ask(path, token=token)
        return self.statements() - before, (answer.status, re.sub(rb"(mail1|mail2)", b"X", answer.body))

    def check_same(self, token, *paths):
        """Check that requests for PATHS have the same answer, with status 404, and need as many statements."""
        least = {}

        def same():
            answers = set()
            for path in paths:
                statements, answer = self.cost(path, token)
                least[path] = min(least.get(path, statements), statements)
                answers.add(answer)
            self.assertEqual([status for status, _ in answers], [404], answers)
            return len(set(least.values())) == 1

        # The server may also look for what is new by itself meanwhile. So the fewest statements of several requests count.
        for _ in range(3):
            same()
        self.d.wait(same)

    def test_hidden_is_absent(self):
        self.start("web1", "mail1")
        uuid = self.d.domain("mail1")["uuid"]
        capture = self.ask("/v1/domains/mail1/captures", "POST", self.full).json()["id"]
        narrow = self.token("narrow", "read=web*,context=web*,write=web*")
        tails = ("", "/trace", "/packets", "/live", "/ctf.tar", "/captures", "/memtraces", "/trace?last=1s", "/packets?buckets=5")
        for tail in tails:
            with self.subTest(tail):
                self.check_same(narrow, f"/v1/domains/mail1{tail}", f"/v1/domains/mail2{tail}")
        for name in ("mail1", "name:mail1") + ((uuid,) if uuid else ()):
            for what in ("captures", "memtraces"):
                self.assertEqual(self.ask(f"/v1/domains/{name}/{what}", "POST", narrow).status, 404)
        for tail in ("", "/trace", "/packets", "/ctf.tar", "/context"):
            with self.subTest(tail):
                self.check_same(narrow, *(f"/v1/captures/{i}{tail}" for i in (capture, capture + 1000)))
        for method in ("PATCH", "DELETE"):
            self.assertEqual(self.ask(f"/v1/captures/{capture}", method, narrow, body={"pinned": True} if method == "PATCH" else None).status, 404)
        self.assertEqual(self.ask("/v1/captures", token=narrow).json(), {"captures": [], "next": None})
        self.assertEqual(self.names(self.ask("/v1/domains", token=narrow)), ["web1"])
        self.assertEqual(self.names(self.ask("/v1/domains?limit=1", token=narrow)), ["web1"])
        self.assertNotIn(b"mail1", self.ask("/v1/domains?limit=1", token=narrow).body)

    def test_answers_are_not_mixed(self):
        """An identity gets the same answer from the cache as from a fresh server."""
        self.start("web1", "web2", "mail1")
        for ring in self.rings.values():
            ring.close()
        for name in self.rings:
            self.d.wait_ended(name)
        self.d.wait_read()
        tokens = [self.token("a", "read=*"), self.token("b", "read=web*"), self.token("c", "read=*1"), self.token("d", "read=nobody")]
        paths = ["/v1/domains", "/v1/domains?limit=1", "/v1/captures", "/v1/domains/web1", "/v1/domains/mail1", "/v1/domains/web2/packets"]
        paths += ["/v1/domains/web1/trace", "/v1/domains/mail1/trace", "/v1/memtraces"]

        def answers(order):
            said = {}
            for token in order:
                for path in paths:
                    answer = self.ask(path, token=token)
                    said[path, token] = answer.status, answer.body, answer.headers["ETag"]
            return said

        warm = [answers(tokens), answers(reversed(tokens)), answers(tokens)]
        self.assertEqual(warm[0], warm[1])
        self.assertEqual(warm[0], warm[2])
        for token in tokens:  # each asks a fresh server
            self.d.stop_server()
            self.start_server()
            self.d.wait_read()
            fresh = answers([token])
            self.assertEqual(fresh, {k: v for k, v in warm[0].items() if k[1] == token})
        bodies = {}
        for (path, _), (status, body, tag) in warm[0].items():
            if tag and status == 200:
                self.assertEqual(bodies.setdefault((path, tag), body), body)

    def test_scopes(self):
        self.start("web1", "mail1")
        writer = self.token("writer", "read=web*,write=*,context=*")
        self.assertEqual(self.ask("/v1/domains/mail1/captures", "POST", writer).status, 404)  # write without read
        made = self.ask("/v1/domains/web1/captures", "POST", writer)
        self.assertEqual(made.status, 201, made.body)
        number = made.json()["id"]
        self.assertEqual(self.ask(f"/v1/captures/{number}/context", token=writer).status, 200)
        reader = self.token("reader", "read=web*")
        self.assertEqual(self.ask(f"/v1/captures/{number}", token=reader).status, 200)
        self.assertEqual(self.ask(f"/v1/captures/{number}/context", token=reader).status, 403)
        self.assertEqual(self.ask(f"/v1/captures/{number}", "DELETE", reader).status, 403)
        self.assertEqual(self.ask("/v1/domains/web1/memtraces", "POST", writer, body={"address": "127.0.0.1", "port": 9}).status, 403)
        self.assertEqual(self.ask("/metrics", token=writer).status, 403)
        self.assertEqual(self.ask("/v1/session", token=reader).json()["scopes"], {"read": ["web*"], "context": [], "write": [], "metrics": False})

    def test_a_run_belongs_to_its_name(self):
        """A guest that was renamed has runs of two names."""
        self.start("web1", "mail1")
        for ring in self.rings.values():
            ring.close()
        for name in self.rings:
            self.d.wait_ended(name)
        self.d.stop_collector()
        import sqlite3

        with contextlib.closing(sqlite3.connect(f"{self.d.state}/archive/trace.db")) as db:
            db.execute("UPDATE runs SET uuid = '11111111-2222-3333-4444-555555555555', checksum = NULL")
            db.execute("UPDATE row_sums SET unchecked = 1000")
            db.commit()
        narrow = self.token("narrow", "read=web*")
        uuid = "11111111-2222-3333-4444-555555555555"
        seen = self.ask(f"/v1/domains/{uuid}", token=narrow).json()
        self.assertEqual((seen["name"], seen["runs"], [r["name"] for r in seen["run_list"]]), ("web1", 1, ["web1"]))
        other = next(r["run"] for r in self.ask(f"/v1/domains/{uuid}", token=self.full).json()["run_list"] if r["name"] == "mail1")
        self.assertEqual(self.ask(f"/v1/domains/{uuid}/trace?run={other}", token=narrow).status, 404)
        self.assertEqual(self.ask(f"/v1/domains/{uuid}/trace?run={other}", token=self.full).status, 200)
        self.assertEqual(self.ask(f"/v1/domains/{uuid}/trace?first={other}.0.0.30", token=narrow).status, 404)


class Events(Case):
    """Each client gets the events of the guests that it may read, and no sign of the others."""

    def setUp(self):
        super().setUp()
        self.narrow = self.token("narrow", "read=web*")

    def listen(self, token, last=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.plain, timeout=daemons.HANGS)
        f = Follower(self.d, last, connection, Authorization=f"Bearer {token}")
        self.addCleanup(f.close)
        self.assertEqual(f.status, 200)
        if last is None:
            self.d.wait(lambda: f.named("hello"))
        return f

    def call(self, path, method, body=None, status=200):
        answer = self.ask(path, method, self.full, body=body)
        self.assertEqual(answer.status, status, answer.body)
        return answer.json() if answer.body else None

    def capture(self, guest, note=""):
        return self.call(f"/v1/domains/{guest}/captures", "POST", {"note": note}, 201)["id"]

    def wait_for(self, f, kind, test=lambda data: True):
        return self.d.wait(lambda: [data for data in f.named(kind) if test(data)])[0]

    def lose(self, guest):
        """Let GUEST write over packets while no collector reads them. Without an archived packet the stream would begin behind them."""
        self.d.wait_archived(self.rings[guest], guest, 1)
        self.d.kill_collector()
        self.rings[guest].add(1000)
        before = len(self.d.gaps(guest))
        self.d.start_collector()
        with self.rings[guest].writing():
            self.d.wait(lambda: len(self.d.gaps(guest)) > before)

    def profile(self, guest):
        """Record a memory profile of GUEST, and delete it. Return its number."""
        offer = Offer(tail=packet(b"the tail"))
        self.addCleanup(offer.close)
        number = self.call(f"/v1/domains/{guest}/memtraces", "POST", {"address": "127.0.0.1", "port": offer.port}, 201)["id"]
        self.call(f"/v1/memtraces/{number}", "PATCH", {"pinned": True})
        self.call(f"/v1/memtraces/{number}/recording", "DELETE")
        return number

    def of_web(self, events):
        """Return what is left of the events of all guests for a client that sees web1, whose run is
        self.web_run. There was no other number of web1 than the capture self.kept."""
        left = []
        for kind, data, number in events:
            if kind == "rates":
                data = {"streams": [s for s in data["streams"] if s["run"] == self.web_run]}
            shown = {
                "rates": lambda d: d["streams"],
                "domain": lambda d: d["run"] == self.web_run,
                "capture": lambda d: d["capture"]["domain"] == "web1",
                "capture-deleted": lambda d: d["id"] == self.kept,
                "gap": lambda d: d["stream"]["run"] == self.web_run,
            }
            if kind in shown and shown[kind](data):
                left.append((kind, data, number))
        return left

    def test_hidden_guests(self):
        self.start("web1", "mail1")
        self.d.start_sink()
        self.web_run = self.d.domain("web1")["run"]
        all_, web = self.listen(self.full), self.listen(self.narrow)

        # Each kind of event comes for a hidden guest.
        number = self.capture("mail1", "hidden")
        self.wait_for(all_, "capture")
        self.call(f"/v1/captures/{number}", "PATCH", {"pinned": True})
        self.wait_for(all_, "capture", lambda data: data["change"] == "changed")
        self.call(f"/v1/captures/{number}", "DELETE", status=204)
        self.wait_for(all_, "capture-deleted")
        with Ring("rings/mail2.ctf") as ring:
            ring.add_slowly(50)
            self.wait_for(all_, "domain", lambda data: data["domain"]["name"] == "mail2")
        self.wait_for(all_, "domain", lambda data: data["change"] == "ended")
        self.lose("mail1")
        self.wait_for(all_, "gap")
        self.wait_for(all_, "rates", lambda data: any(s["run"] != self.web_run for s in data["streams"]))
        number = self.profile("mail1")
        self.wait_for(all_, "memtrace", lambda data: data["change"] == "ended")
        self.call(f"/v1/memtraces/{number}", "DELETE", status=204)
        self.wait_for(all_, "memtrace-deleted")

        # Then one of each kind that can come for the visible one, after which the hidden ones would have come.
        self.kept = self.capture("web1", "seen")
        self.lose("web1")
        self.wait_for(web, "gap")
        self.call(f"/v1/captures/{self.kept}", "DELETE", status=204)
        self.wait_for(web, "capture-deleted")
        same = lambda: web.events[1:] == self.of_web(all_.events)
        self.d.wait(same)
        for hidden in ("mail1", "mail2", "hidden", "memtrace"):
            self.assertNotIn(hidden, json.dumps(web.events))
        self.assertEqual(self.wait_for(web, "capture")["capture"]["note"], "seen")

        # The replay has the same events, and the events that follow.
        before = web.events[1:]
        back = self.listen(self.narrow, web.events[0][2])
        self.d.wait(lambda: len(back.events) >= len(before))
        self.assertEqual(back.events[: len(before)], before)
        self.capture("mail1")
        number = self.capture("web1", "later")
        for f in (back, web):
            self.wait_for(f, "capture", lambda data: data["capture"]["id"] == number)
        self.assertEqual(back.named("hello") + back.named("reset") + web.named("reset"), [])

    def test_lost_events_of_others(self):
        """The journal drops the oldest events, since a hidden guest has too many. Only a client that sees
        the guest has to read everything again. The others get comments, as if nothing had happened."""
        self.start("web1", "mail1")
        all_, web = self.listen(self.full), self.listen(self.narrow)
        with self.rings["web1"].writing():
            self.d.wait(lambda: web.named("rates"))

        def at_rest():
            """Return whether the last event of web1 has come."""
            rates = web.named("rates")
            return rates and rates[-1]["streams"][0]["rate"] == 0 and rates[-1]["streams"] == self.d.domain("web1")["streams"]

        self.d.wait(at_rest)
        note = "\u00e9" * 2048  # six bytes each in an event
        numbers = [self.capture("mail1", note) for _ in range(30)]
        connection = Secure(self.port, self.context())
        self.addCleanup(connection.close)

        def pin(number, pinned):
            """Ask again if the collector was late, which 503 says."""
            connection.request("PATCH", f"/v1/captures/{number}", json.dumps({"pinned": pinned}), {"Authorization": f"Bearer {self.full}"})
            answer = connection.getresponse()
            text = answer.read()
            self.assertIn(answer.status, (200, 503), text)
            return answer.status == 200

        for pinned in [True, False] * 8:
            for number in numbers:
                self.d.wait(lambda n=number, p=pinned: pin(n, p))
            changed = lambda p=pinned: {data["capture"]["id"] for data in all_.named("capture") if data["capture"]["pinned"] == p}
            self.d.wait(lambda: changed() >= set(numbers))
            all_.events.clear()
        last = web.events[-1][2]
        lost = self.listen(self.full, last)
        self.d.wait(lambda: lost.events)
        self.assertEqual(lost.events[0][0], "reset")
        back = self.listen(self.narrow, last)
        self.d.wait(lambda: web.comments)
        number = self.capture("web1", "seen")
        for f in (back, web):
            self.wait_for(f, "capture", lambda data: data["capture"]["id"] == number)
            self.assertEqual(f.named("reset"), [])
            self.assertNotIn("mail1", json.dumps(f.events))

    def test_renamed(self):
        """A guest gets another name: who saw only the old one sees it go, who sees only the new one sees it come."""
        say = writer(self, self.d)
        uuid = "0a1b2c3d-0000-4000-8000-00000000000a"
        say(f"run 1 xen a web {uuid} 5 running -", "stream 1 1 0 4096 4 0")
        self.start_server()
        all_, web, db = self.listen(self.full), self.listen(self.narrow), self.listen(self.token("db", "read=db*"))
        say(f"run 1 xen a db {uuid} 5 running -")
        self.assertEqual(self.wait_for(db, "domain")["domain"]["name"], "db")
        self.wait_for(all_, "domain")
        self.assertEqual(self.wait_for(web, "forgotten"), {"run": 1})
        # A second run with the old name: each client sees the runs of its names, and counts them.
        say(f"run 1 xen a db {uuid} 5 ended crash", "capture 1 1 crash -", f"run 2 xen b web {uuid} 6 running -")
        began = self.wait_for(web, "domain")
        self.assertEqual((began["change"], began["run"], began["domain"]["name"], began["domain"]["runs"]), ("began", 2, "web", 1))
        ended = self.wait_for(db, "domain", lambda data: data["change"] == "ended")
        self.assertEqual((ended["run"], ended["domain"]["run"], ended["domain"]["name"], ended["domain"]["runs"]), (1, 1, "db", 1))
        both = self.wait_for(all_, "domain", lambda data: data["change"] == "began")
        self.assertEqual((both["domain"]["run"], both["domain"]["runs"]), (2, 2))
        self.assertEqual(self.wait_for(db, "capture")["capture"]["domain"], "db")
        self.assertEqual(web.named("capture") + all_.named("forgotten") + db.named("forgotten"), [])
        self.assertEqual(len(web.named("domain")), 1)


class Certificates(Case):
    grants = "[grant certificate:viewer]\nread = web*\n[grant certificate:root]\nread = *\nwrite = *\n"

    def test_clients(self):
        self.start("web1", "mail1")
        self.assertEqual(self.names(self.ask("/v1/domains", client="good")), ["web1"])
        self.assertEqual(self.ask("/v1/session", client="good").json()["kind"], "certificate")
        for name in ("self", "foreign", "expired", "future", "purpose", "revoked", "unknown", "two-names"):
            with self.subTest(name):
                self.assertEqual(self.ask("/v1/domains", client=name).status, 401)
        # A token has its own rights, whatever the certificate is.
        self.assertEqual(self.names(self.ask("/v1/domains", client="revoked", token=self.full)), ["mail1", "web1"])

    def test_revoked_while_it_follows(self):
        self.start("web1")
        end = self.follow("/v1/domains/web1/live", None, client="good")
        events = self.follow("/v1/events", None, client="good")
        time.sleep(1.5)
        self.assertTrue(end.lives() and events.lives())
        before = os.getcwd()
        os.chdir("tls")
        revoke("good", "clients")
        os.chdir(before)
        end()
        events()
        self.assertEqual(self.ask("/v1/domains", client="good").status, 401)

    def test_list_that_has_run_out(self):
        """An old revocation list might lack a revocation."""
        with open("tls/clients.cnf", encoding="utf-8") as f:
            text = f.read().replace("default_crl_days = 5", "default_crl_hours = 0")
        with open("tls/clients.cnf", "w", encoding="utf-8") as f:
            f.write(text)
        before = os.getcwd()
        os.chdir("tls")
        past = ["-crl_lastupdate", "20240101000000Z", "-crl_nextupdate", "20240102000000Z"]
        openssl("ca", "-config", "clients.cnf", "-gencrl", *past, "-out", "clients.crl")
        os.chdir(before)
        self.start()
        self.assertEqual(self.ask("/v1/domains", client="good").status, 401)


class Renewal(Case):
    def serial(self):
        context = self.context()
        with socket.create_connection(("127.0.0.1", self.port), daemons.HANGS) as s, context.wrap_socket(s, server_hostname=HOST) as t:
            return t.getpeercert()["serialNumber"]

    def replace(self, certificate, key):
        for kind, source in (("key", key), ("pem", certificate)):
            shutil.copy(source, f"tls/server.{kind}.new")
            os.rename(f"tls/server.{kind}.new", f"tls/server.{kind}")

    def reload(self):
        self.d.server.send_signal(signal.SIGHUP)

    def test_new_certificate(self):
        self.start("web1")
        first = self.serial()
        end = self.follow("/v1/domains/web1/live", self.full)
        self.replace("tls/server2.pem", "tls/server2.key")
        self.d.wait(lambda: self.serial() != first)
        second = self.serial()
        # A wrong pair is refused, and the old one stays.
        self.replace("tls/server2.pem", "tls/self.key")
        self.reload()
        self.d.wait(lambda: "it is not the key of the certificate" in self.d.said())
        self.assertEqual(self.serial(), second)
        with open("tls/nothing", "w", encoding="utf-8") as f:
            f.write("nothing\n")
        self.replace("tls/nothing", "tls/server2.key")
        self.reload()
        self.d.wait(lambda: self.d.said().count("the old certificate stays in use") >= 2)
        self.assertEqual(self.serial(), second)
        self.replace("tls/server2.pem", "tls/server2.key")
        self.rings["web1"].add_slowly(5)
        time.sleep(1.5)
        self.assertTrue(end.lives(), "the body ended with the old certificate")

    def test_refused_at_the_start(self):
        for change, sentence in (
            (lambda: self.replace("tls/server.pem", "tls/self.key"), "it is not the key of the certificate"),
            (lambda: os.unlink("tls/server.key"), "No such file"),
            (lambda: open("tls/server.pem", "w", encoding="utf-8").close(), "certificate"),
        ):
            shutil.rmtree("tls")
            shutil.copytree(templates(), "tls")
            change()
            done = self.command("--state", self.d.state, "--run", self.d.runs, code=1)
            self.assertIn(sentence, done.stderr)
            self.assertEqual(done.stderr.strip().count("\n"), 0, done.stderr)

    def test_addresses(self):
        done = self.command("--state", self.d.state, "--run", self.d.runs, "--listen", "0.0.0.0:0", code=1)
        self.assertIn("plain HTTP is served on Unix sockets", done.stderr)
        self.configure(access="")
        done = self.command("--state", self.d.state, "--run", self.d.runs, "--listen", "https:127.0.0.1:0", code=1)
        self.assertIn("HTTPS needs a certificate and a key", done.stderr)
        self.configure()
        with open("mprofd.conf", "a", encoding="utf-8") as f:
            f.write("[grant nobody]\n")
        self.assertIn("[grant nobody] names nobody", self.command("--token", "list", code=1).stderr)

    def test_from_systemd(self):
        """A socket named https is served with TLS, another without."""
        listeners = []
        for _ in range(2):
            s = socket.socket()
            s.bind(("127.0.0.1", 0))
            s.listen()
            listeners.append(s)
        with open("tool.py", "w", encoding="utf-8") as f:
            f.write(
                "import os, sys\nfds = [int(n) for n in sys.argv[1:3]]\nfor i, fd in enumerate(fds):\n    os.dup2(fd, 60 + i)\n"
                "for i in range(2):\n    os.dup2(60 + i, 3 + i)\nos.environ['LISTEN_PID'] = str(os.getpid())\n"
                "os.execv(sys.argv[3], sys.argv[3:])\n"
            )
        self.d.start_collector()
        env = {**os.environ, "LISTEN_FDS": "2", "LISTEN_FDNAMES": "https:http"}
        command = [sys.executable, "tool.py", *(str(s.fileno()) for s in listeners), daemons.program("mprofd-http")]
        command += ["--state", self.d.state, "--run", self.d.runs, "--config", "mprofd.conf"]
        with open("log2", "w", encoding="utf-8") as log:
            server = subprocess.Popen(command, env=env, stderr=log, pass_fds=[s.fileno() for s in listeners])
        self.addCleanup(lambda: (server.terminate(), server.wait()))
        self.port, self.plain = (s.getsockname()[1] for s in listeners)
        self.assertEqual(self.ask("/v1/session", token=self.full).json()["name"], "full")
        self.assertEqual(self.over_http("/v1/session", token=self.full).json()["name"], "full")


# Run a command where this program is the journal, and print the one entry.
JOURNAL = """
import os, socket, subprocess
subprocess.run(["mount", "-t", "tmpfs", "none", "/run"], check=True)
os.makedirs("/run/systemd/journal")
journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
journal.bind("/run/systemd/journal/socket")
subprocess.run({command!r}, check=True, capture_output=True)
print(journal.recv(65536, socket.MSG_DONTWAIT).decode())
"""


class Tokens(Case):
    def test_revoked_while_it_follows(self):
        self.start("web1")
        token = self.token("short", "read=*")
        end, events = self.follow("/v1/domains/web1/live", token), self.follow("/v1/events", token)
        other = self.follow("/v1/domains/web1/live", self.full)
        time.sleep(1.5)
        self.assertTrue(end.lives() and events.lives())
        self.command("--token", "revoke", ID.fullmatch(token).group(1))
        end()
        events()
        self.assertEqual(self.ask("/v1/domains", token=token).status, 401)
        self.assertTrue(other.lives())

    def test_command(self):
        token = self.token("web", "read=web* mail?", "context=web*", days=3)
        with open("tokens", encoding="utf-8") as f:
            text = f.read()
        self.assertNotIn(token.split("_")[2], text)
        self.assertEqual(os.stat("tokens").st_mode & 0o777, 0o600)
        self.assertIn("read=mail? web*;context=web*;write=;metrics=no", self.command("--token", "list").stdout)
        for wrong, sentence in (
            (["new"], "write --token new NAME"),
            (["new", "a b"], "a token's name has"),
            (["new", "x", "--scope", "read"], "is no scope"),
            (["new", "x", "--scope", "read=[a"], "has a glob with a [ without its ]"),
            (["new", "x", "--days", "0"], "--days takes a number"),
            (["list", "x"], "write --token"),
            (["renew", "x"], "write --token"),
        ):
            done = self.command("--token", *wrong, code=2)
            self.assertIn(sentence, done.stderr, wrong)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn("there is no token", self.command("--token", "revoke", "0" * 16, code=1).stderr)
        with open("tokens", "a", encoding="utf-8") as f:
            f.write("garbage\n")
        self.assertRegex(self.command("--token", "list", code=1).stderr, r"tokens:4 is no token: remove the line")

    def test_command_in_the_journal(self):
        """A token that is made or revoked on the command line is a line of the journal."""
        if os.geteuid() != 0:
            self.skipTest("a journal of its own can only be mounted by root")

        def entry(*arguments):
            code = JOURNAL.format(command=[daemons.program("mprofd-http"), "--config", "mprofd.conf", "--token", *arguments])
            done = subprocess.run(["unshare", "-m", sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=daemons.HANGS)
            return done.stdout

        made = entry("new", "web")
        token = re.search(r"token (\w{16}) was made: who=uid:0 peer=--token\n", made).group(1)
        self.assertIn("\nMESSAGE_ID=0c1d1f5f4d0e4f0f9a1b6a2b7d1c5e83\n", made)
        self.assertRegex(entry("revoke", token), f"token {token} was revoked: who=uid:0")

    def test_a_file_that_is_wrong(self):
        """No token is accepted while the file is wrong, because a revocation might be in it."""
        self.start()
        with open("tokens", encoding="utf-8") as f:
            good = f.read()
        with open("tokens", "a", encoding="utf-8") as f:
            f.write("garbage\n")
        self.d.wait(lambda: self.ask("/v1/domains", token=self.full).status == 401)
        self.d.wait_said("no token is accepted")
        with open("tokens", "w", encoding="utf-8") as f:
            f.write(good)
        self.d.wait(lambda: self.ask("/v1/domains", token=self.full).status == 200)

    def test_over_the_socket(self):
        self.start("web1")
        made = self.d.ask("/v1/tokens", "POST", json.dumps({"name": "grafana", "scopes": {"read": ["web*"], "metrics": True}, "days": 2}))
        self.assertEqual(made[0], 201, made[2])
        entry = json.loads(made[2])
        self.assertEqual(self.names(self.ask("/v1/domains", token=entry["token"])), ["web1"])
        listed = json.loads(self.d.get("/v1/tokens"))["tokens"]
        self.assertEqual({t["name"] for t in listed}, {"full", "grafana"})
        self.assertNotIn("token", listed[1])
        self.assertEqual(self.ask("/v1/tokens", token=self.full).status, 403)
        self.assertEqual(self.over_http("/v1/tokens", token=self.full).status, 403)
        status, _, _ = self.d.ask("/v1/tokens", headers={"Authorization": f"Bearer {entry['token']}"})
        self.assertEqual(status, 403)
        self.assertEqual(self.d.ask(f"/v1/tokens/{entry['id']}", "DELETE")[0], 204)
        self.assertEqual(self.d.ask(f"/v1/tokens/{entry['id']}", "DELETE")[0], 404)
        self.assertEqual(self.ask("/v1/domains", token=entry["token"]).status, 401)
        for body in (
            '{"name": "x"}',
            '{"name": "x", "scopes": {"raed": []}}',
            '{"name": "x", "scopes": {"read": ["a b"]}}',
            '{"name": "x", "scopes": {}, "days": 0}',
            "[]",
        ):
            self.assertEqual(self.d.ask("/v1/tokens", "POST", body)[0], 400, body)

    def test_without_access_control(self):
        self.configure(access="")
        self.d.start_collector()
        self.d.start_server()
        self.assertEqual(json.loads(self.d.get("/v1/session"))["kind"], "open")
        self.assertEqual(self.d.ask("/v1/tokens")[0], 409)
        self.assertEqual(self.d.ask("/v1/session", "POST", '{"token": "x"}')[0], 409)


class Sessions(Case):
    more = "session-life = 1d\n"

    def sign_in(self, token, **headers):
        answer = self.ask("/v1/session", "POST", body={"token": token}, **headers)
        self.assertEqual(answer.status, 200, answer.body)
        cookie = answer.headers["Set-Cookie"]
        self.assertRegex(cookie, r"^__Host-mprofd=[0-9a-f]{64}; Path=/; Max-Age=(86400|86[0-3]\d\d); HttpOnly; Secure; SameSite=Strict$")
        return cookie.split(";")[0]

    def test_session(self):
        self.start("web1", "mail1")
        cookie = self.sign_in(self.token("narrow", "read=web*,write=web*"))
        self.assertEqual(self.names(self.ask("/v1/domains", Cookie=cookie)), ["web1"])
        self.assertEqual(self.ask("/v1/session", Cookie=cookie).json()["kind"], "session")
        self.assertEqual(self.ask("/v1/domains/web1/captures", "POST", Cookie=cookie).status, 403)
        self.assertEqual(self.ask("/v1/domains/web1/captures", "POST", Cookie=cookie, Mprof_Request="1").status, 201)
        foreign = {"Origin": "https://evil.test", "Mprof_Request": "1"}
        self.assertEqual(self.ask("/v1/domains/web1/captures", "POST", Cookie=cookie, **foreign).status, 403)
        self.assertEqual(self.ask("/v1/session", "DELETE", Cookie=cookie).status, 403)
        end = self.follow("/v1/domains/web1/live", None, Cookie=cookie)
        time.sleep(1.2)
        self.assertTrue(end.lives())
        self.assertEqual(self.ask("/v1/session", "DELETE", Cookie=cookie, Mprof_Request="1").status, 204)
        end()
        self.assertEqual(self.ask("/v1/domains", Cookie=cookie).status, 401)
        self.assertEqual(self.ask("/v1/session", "POST", body={"token": "mprof_x"}).status, 401)

    def test_ends_with_its_token(self):
        self.start("web1")
        token = self.token("narrow", "read=web*")
        cookie = self.sign_in(token)
        self.command("--token", "revoke", ID.fullmatch(token).group(1))
        self.d.wait(lambda: self.ask("/v1/domains", Cookie=cookie).status == 401)

    def test_number(self):
        self.start()
        cookies = [self.sign_in(self.full) for _ in range(17)]
        self.assertEqual([self.ask("/v1/domains", Cookie=c).status for c in (cookies[0], cookies[1], cookies[-1])], [401, 200, 200])

    def test_hosts(self):
        self.start()
        for host, status in (
            (HOST, 200), (f"{HOST}:{self.port}", 200), ("127.0.0.1", 200), ("localhost", 421), ("evil.test", 421), (f"{HOST}.evil.test", 421),
            ("[::1]", 421), (f"{HOST}:port", 421),
        ):  # fmt: skip
            self.assertEqual(self.ask("/v1/domains", token=self.full, host=host).status, status, host)
        origin = {"token": self.full, "body": {"token": self.full}}
        for text, status in ((f"https://{HOST}:{self.port}", 200), (f"http://{HOST}:{self.port}", 403), (f"https://{HOST}", 403), ("null", 403)):
            self.assertEqual(self.ask("/v1/session", "POST", Origin=text, host=f"{HOST}:{self.port}", **origin).status, status, text)


class Names(Case):
    more = "names = other.test 10.1.2.3\n"

    def test_names(self):
        self.start()
        for host, status in (("other.test", 200), ("10.1.2.3:99", 200), ("third.test", 421)):
            self.assertEqual(self.ask("/v1/domains", token=self.full, host=host).status, status, host)


class Users(Case):
    """Users of the host on the Unix socket, as the kernel names them."""

    grants = "[grant user:nobody]\nread = web*\n[grant group:games]\nread = mail*\n"

    def as_user(self, path, uid, gid, groups=(), method="GET"):
        code = (
            "import os, socket, sys\n"
            f"os.setgroups({list(groups)})\nos.setgid({gid})\nos.setuid({uid})\n"
            "s = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n"
            f"s.sendall(b'{method} {path} HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n')\n"
            "while (d := s.recv(65536)):\n    sys.stdout.buffer.write(d)\n"
        )
        done = subprocess.run([sys.executable, "-c", code, self.d.socket], capture_output=True, check=True, timeout=daemons.HANGS)
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        return int(head.split()[1]), body

    def test_users(self):
        import grp
        import pwd

        if os.getuid() != 0:
            self.skipTest("only root can be other users")
        self.start("web1", "mail1")
        os.chmod(self.d.socket, 0o666)
        path = self.d.socket
        while path != "/":
            path = os.path.dirname(path)
            os.chmod(path, os.stat(path).st_mode | 0o111)
        nobody, games = pwd.getpwnam("nobody"), grp.getgrnam("games").gr_gid
        daemon = pwd.getpwnam("daemon")

        def names(*who):
            status, body = self.as_user("/v1/domains", *who)
            return sorted(d["name"] for d in json.loads(body)["domains"]) if status == 200 else status

        self.assertEqual(names(0, 0), ["mail1", "web1"])
        self.assertEqual(names(nobody.pw_uid, nobody.pw_gid), ["web1"])
        self.assertEqual(names(daemon.pw_uid, daemon.pw_gid), 401)
        self.assertEqual(names(daemon.pw_uid, games), ["mail1"])
        self.assertEqual(names(daemon.pw_uid, daemon.pw_gid, (games,)), ["mail1"])
        self.assertEqual(names(nobody.pw_uid, nobody.pw_gid, (games,)), ["mail1", "web1"])
        self.assertEqual(self.as_user("/v1/tokens", nobody.pw_uid, nobody.pw_gid)[0], 403)
        # Loopback needs credentials, as any address.
        self.assertEqual(self.over_http("/v1/domains").status, 401)
        self.assertEqual(self.names(self.over_http("/v1/domains", token=self.full)), ["mail1", "web1"])
        # A header of a proxy is no identity.
        self.assertEqual(self.over_http("/v1/domains", **{"X-Forwarded-User": "root", "Forwarded": "for=127.0.0.1"}).status, 401)


class Remote(Case):
    grants = "[grant remote:work-vm]\nread = web*\n"

    def stdio(self, *arguments, text=b"GET /v1/domains HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"):
        paths = ["--state", self.d.state, "--run", self.d.runs, "--config", "mprofd.conf"]
        return subprocess.run(
            [daemons.program("mprofd-http"), "--stdio", *arguments, *paths], input=text, capture_output=True, timeout=daemons.HANGS, check=False
        )

    def test_stdio(self):
        self.start("web1", "mail1")
        done = self.stdio("--as", "work-vm")
        self.assertIn(b" 200 OK\r\n", done.stdout)
        self.assertEqual([d["name"] for d in json.loads(done.stdout.partition(b"\r\n\r\n")[2])["domains"]], ["web1"])
        self.assertEqual(done.returncode, 0, done.stderr)
        for arguments in ((), ("--as", "other"), ("--as", "")):
            done = self.stdio(*arguments)
            self.assertNotEqual(done.returncode, 0)
            self.assertEqual(done.stdout, b"")
            self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)


class Limits(Case):
    more = "requests-per-identity = 5\nlive-per-identity = 2\n"

    def test_wrong_tokens(self):
        self.start("web1")
        wrong = self.full[:-1] + ("0" if self.full[-1] != "0" else "1")
        began = time.monotonic()
        # One more is allowed each second, so the requests come over one connection: a busy machine takes long for a handshake.
        connection = Secure(self.port, self.context(), "127.0.0.9")
        self.addCleanup(connection.close)
        said = []

        def refused():
            connection.request("GET", "/v1/domains", None, {"Authorization": f"Bearer {wrong}"})
            answer = connection.getresponse()
            answer.read()
            said.append(answer.status)
            return answer.status == 429

        self.d.wait(refused)
        self.assertGreaterEqual(len(said), 10)
        self.assertEqual(set(said[:-1]), {401})
        # A valid token is never refused, also of the same peer, and does not help its wrong ones.
        for _ in range(20):
            self.assertIn(self.ask("/v1/domains", token=wrong, source="127.0.0.9").status, (401, 429))
            self.assertEqual(self.ask("/v1/domains", token=self.full, source="127.0.0.9").status, 200)
        self.assertEqual(self.ask("/v1/domains", token=self.full, source="127.0.0.8").status, 200)
        # Each second allows one more, which may have a line.
        said = self.d.said().count("Wrong credentials were refused: peer=127.0.0.9")
        self.assertLessEqual(said, 3 + time.monotonic() - began)

    def test_many_addresses(self):
        """Wrong credentials of many addresses add a bounded number of lines to the log."""
        self.start("web1")
        wrong = self.full[:-1] + ("0" if self.full[-1] != "0" else "1")
        began, before = time.monotonic(), self.d.said().count("Wrong credentials were refused")
        for n in range(40):
            self.assertEqual(self.ask("/v1/domains", token=wrong, source=f"127.0.7.{n + 1}").status, 401)
        said = self.d.said().count("Wrong credentials were refused") - before
        self.assertLessEqual(said, 10 * (1 + (time.monotonic() - began) // 30))  # ten in half a minute

    def test_of_an_identity(self):
        self.start("web1")
        first, second = self.token("first", "read=*"), self.token("second", "read=*")
        ends = [self.follow("/v1/domains/web1/live", first) for _ in range(2)]
        self.assertEqual(self.ask("/v1/events", token=first).status, 429)
        self.assertEqual(self.ask("/v1/domains/web1/live", token=first).status, 429)
        self.assertEqual(self.ask("/v1/domains", token=first).status, 200)
        self.assertEqual(self.ask("/v1/domains", token=second).status, 200)
        self.assertTrue(all(end.lives() for end in ends))

    def test_changes_are_logged(self):
        self.start("web1")
        self.ask("/v1/domains/web1/captures", "POST", self.full)
        self.d.wait_said("POST /v1/domains/web1/captures was done: status=201 who=full kind=token peer=127.0.0.1")
        self.ask("/v1/captures/99", "DELETE", self.full)
        self.assertNotIn("DELETE", self.d.said())
        self.assertNotIn(self.full, self.d.said())


class Handshakes(Case):
    more = "handshakes-per-peer = 2\n"

    def test_handshakes(self):
        self.start()

        def refused():
            with contextlib.ExitStack() as stack:  # many at once: a busy machine takes half a second for a whole handshake
                for _ in range(30):
                    s = stack.enter_context(socket.socket())
                    s.bind(("127.0.0.9", 0))
                    s.settimeout(daemons.HANGS)
                    with contextlib.suppress(ConnectionError):
                        s.connect(("127.0.0.1", self.port))
                found = re.search(r"(?m)^mprofd_http_handshakes_refused_total (\d+)", self.d.get("/metrics").decode())
                return found and int(found[1]) > 0

        self.d.wait(refused)
        self.assertEqual(self.ask("/v1/domains", token=self.full, source="127.0.0.8").status, 200)


class Protocol(Case):
    def test_versions(self):
        self.start()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations("tls/ca.pem")
        for version, good in ((ssl.TLSVersion.TLSv1_1, False), (ssl.TLSVersion.TLSv1_2, True), (ssl.TLSVersion.TLSv1_3, True)):
            context.minimum_version = context.maximum_version = version
            context.set_ciphers("ALL:@SECLEVEL=0" if version == ssl.TLSVersion.TLSv1_1 else "DEFAULT")
            try:
                with socket.create_connection(("127.0.0.1", self.port), daemons.HANGS) as s, context.wrap_socket(s, server_hostname=HOST) as t:
                    said = t.version()
            except (ssl.SSLError, ConnectionError):
                said = None
            self.assertEqual(said is not None, good, version)

    def test_long_body_of_a_slow_client(self):
        """A body longer than all buffers arrives whole over TLS."""
        self.start("web1")
        self.rings["web1"].close()
        self.d.wait_ended("web1")
        whole = self.d.trace("web1")
        connection = Secure(self.port, self.context())
        connection.request("GET", "/v1/domains/web1/trace", None, {"Authorization": f"Bearer {self.full}"})
        answer = connection.getresponse()
        body = b""
        while piece := answer.read(100):
            body += piece
            time.sleep(0.001)
        self.assertEqual(body, whole)

    def processor_time(self):
        """Return the seconds of processor time that the server has used."""
        with open(f"/proc/{self.d.server.pid}/stat", encoding="ascii") as f:
            fields = f.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def hello(self):
        """Return the bytes of a ClientHello."""
        outgoing = ssl.MemoryBIO()
        with contextlib.suppress(ssl.SSLWantReadError):
            self.context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=HOST).do_handshake()
        return outgoing.read()

    def stalled(self, version):
        """Return a socket on which a handshake of VERSION stops within the client's second flight."""
        context = self.context()
        context.minimum_version = context.maximum_version = version
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing, server_hostname=HOST)
        s = socket.create_connection(("127.0.0.1", self.port), daemons.HANGS)
        with contextlib.suppress(ssl.SSLWantReadError):
            tls.do_handshake()
        s.sendall(outgoing.read())
        while not outgoing.pending:
            incoming.write(s.recv(65536))
            with contextlib.suppress(ssl.SSLWantReadError):
                tls.do_handshake()
        s.sendall(outgoing.read(1))
        return s

    def test_handshakes_that_wait(self):
        """A handshake that waits for its client costs nothing, in whatever part it waits; and it goes on
        when the client does."""
        self.start()
        hello = self.hello()
        held = []
        for part in (b"", hello[:1], hello[:100], hello):
            held.append(socket.create_connection(("127.0.0.1", self.port), daemons.HANGS))
            held[-1].sendall(part)
        self.assertTrue(held[-1].recv(1000))
        held += [self.stalled(version) for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)]
        self.assertEqual(self.ask("/v1/domains", token=self.full).status, 200)
        began, before = time.monotonic(), self.processor_time()
        time.sleep(2)
        used = self.processor_time() - before
        self.assertLess(used, (time.monotonic() - began) / 2)
        held[2].sendall(hello[100:])
        self.assertTrue(held[2].recv(1000))
        for s in held:
            s.close()

    def status_with(self, client):
        """Return the status of a request with the certificate CLIENT, or None without an answer."""
        try:
            return self.ask("/v1/domains", token=self.full, client=client).status
        except (OSError, http.client.HTTPException):
            return None

    def test_costly_key(self):
        """A client cannot make the server check a signature of a key as long as it likes."""
        self.start()
        for what, status in (((4, 256, 65537), 200), ((4, 256), None), ((17, 256, 65537), None)):
            costly_key("tls/costly.key", *what)
            openssl("req", "-x509", "-key", "tls/costly.key", "-out", "tls/costly.pem", "-subj", "/CN=viewer")
            self.assertEqual(self.status_with("costly"), status, what)

    def test_long_certificate(self):
        self.start()
        for size, status in ((8, 200), (20, None)):
            text = "".join(f"1.2.3.{n} = ASN1:UTF8String:{'a' * 1000}\n" for n in range(size))
            with open("long.cnf", "w", encoding="ascii") as f:
                f.write(f"[req]\ndistinguished_name = dn\n[dn]\n[long]\n{text}")
            files = ["-keyout", "tls/wide.key", "-out", "tls/wide.pem", "-config", "long.cnf", "-extensions", "long"]
            openssl("req", "-x509", *KEY_OPTIONS, "-subj", "/CN=viewer", *files)
            self.assertEqual(self.status_with("wide"), status, size)

    def test_plain_on_the_port(self):
        """Plain HTTP, garbage, and a client that stops in the handshake cost one connection each."""
        self.start()
        for text in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\xff\xff" + b"a" * 1000, struct.pack(">BHH", 22, 0x0301, 5)):
            with socket.create_connection(("127.0.0.1", self.port), daemons.HANGS) as s:
                with contextlib.suppress(OSError):
                    s.sendall(text)
                    s.shutdown(socket.SHUT_WR)
                    while s.recv(1000):
                        pass
        idle = [socket.create_connection(("127.0.0.1", self.port), daemons.HANGS) for _ in range(20)]
        self.assertEqual(self.ask("/v1/domains", token=self.full).status, 200)
        for s in idle:
            s.close()


if __name__ == "__main__":
    daemons.main()
