"""Tokens, sessions and revocations of several hubs in one database: access.py BUILD-DIRECTORY [TEST…]

As many mprofd-http as a test needs, three at most, run side by side on a real PostgreSQL, each with its own connection.
"""

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "integration")]

import cluster
import daemons
import psycopg2
import turns
from certificates import CLIENT, authority, certificate

FLEET = None
TLS = None  # the directory of the certificates
BELIEF = 5  # seconds for which a hub believes an answer: REGISTRY_BELIEF_NS
ALL = "read=*,context=*,write=*,metrics=yes"
AWAY = "The fleet's database does not answer"


def setUpModule():
    global FLEET, TLS
    TLS = unittest.enterModuleContext(tempfile.TemporaryDirectory(prefix="mprof."))
    with contextlib.chdir(TLS):
        authority("ca", "Test authority")
        certificate("server", "/CN=localhost", "ca", "subjectAltName = DNS:localhost,IP:127.0.0.1", "extendedKeyUsage = serverAuth")
        authority("clients", "Viewers")
        certificate("viewer", "/CN=viewer", "clients", *CLIENT)
    FLEET = unittest.enterModuleContext(cluster.cluster())
    FLEET.hub.sql("ALTER DATABASE fleet SET track_functions = 'pl'")
    FLEET.person_add("issuer", "fleet_access")
    for name in ("hub1", "hub2", "hub3"):
        FLEET.person_add(name, "fleet_http", "fleet_read")


class Answer:
    def __init__(self, answer):
        self.status, self.headers, self.body = answer.status, answer.headers, answer.read()

    def detail(self):
        return json.loads(self.body)["detail"]


def answer_to(connect, again, *request):
    """Return the answer to a request over the connection that CONNECT makes; with AGAIN the first one that does not say that the database
    does not answer."""

    def ask():
        with contextlib.closing(connect()) as connection:
            connection.request(*request)
            answer = Answer(connection.getresponse())
        away = answer.status == 503 and AWAY.encode() in answer.body
        return answer if not away or not again else None

    return daemons.launcher.wait(ask, why=lambda: "the database does not answer")


class Hub(daemons.Daemons):
    """One mprofd-http of the fleet, with plain HTTP on loopback and HTTPS."""

    def __init__(self, name, more=""):
        self.place = os.path.abspath(name)
        os.makedirs(self.place)
        before = os.getcwd()
        os.chdir(self.place)
        try:
            super().__init__()
        finally:
            os.chdir(before)
        self.name, self.port, self.tls = name, None, None
        tls = os.path.abspath("tls")
        self.configure(
            f"[http]\nlisten = 127.0.0.1:0\nlisten = https:127.0.0.1:0\nlisten = unix:{self.socket}\n[access]\n"
            f"certificate = {tls}/server.pem\nkey = {tls}/server.key\nclient-ca = {tls}/clients.pem\n"
            f"[grant certificate:viewer]\nread = *\n[grant user:nobody]\nread = *\n{more}"
        )

    def start_server(self):
        self.server = self.launch("mprofd-http", "--fleet", FLEET.connection(self.name))
        self.port, self.tls = self.server.port("http:"), self.server.port("https:")

    def send(self, path, method="GET", token=None, cookie=None, body=None, again=True):
        """Send a request. With AGAIN, send it again while the database, which is busy, has not answered the hub in time."""
        headers = {"Mprof-Request": "1"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if cookie:
            headers["Cookie"] = f"__Host-mprofd={cookie}"
        connect = lambda: http.client.HTTPConnection("127.0.0.1", self.port, timeout=daemons.HANGS)
        return answer_to(connect, again, method, path, body and json.dumps(body), headers)

    def certified(self, client):
        """Ask who the holder of the certificate CLIENT is."""
        context = ssl.create_default_context(cafile="tls/ca.pem")
        context.load_cert_chain(f"tls/{client}.pem", f"tls/{client}.key")
        return answer_to(
            lambda: http.client.HTTPSConnection("127.0.0.1", self.tls, context=context, timeout=daemons.HANGS), True, "GET", "/v1/session"
        )

    def status(self, **options):
        return self.send("/v1/session", **options).status


class Access(daemons.Case):
    def setUp(self):
        super().setUp()
        shutil.copytree(TLS, "tls")
        self.hubs = []

    def start(self, count):
        """Start COUNT hubs, hub1 and so on, and return them."""
        for n in range(count):
            self.hubs.append(self.enterContext(Hub(f"hub{n + 1}")))
            self.hubs[-1].start_server()
        return self.hubs

    def command(self, *words, role="issuer", code=0):
        done = subprocess.run(
            [daemons.program("mprofd-http"), "--fleet", FLEET.connection(role), "--token", *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=daemons.HANGS,
        )
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def token(self, name, scopes=ALL, *more):
        return self.command("new", name, "--scope", scopes, *more).stdout.strip()

    def until(self, condition, what):
        """Wait until CONDITION holds."""
        daemons.launcher.wait(condition, daemons.HANGS, lambda: what)

    def refused_everywhere(self, status=401, **who):
        """Wait until each hub refuses WHO. A machine with nothing else to do takes BELIEF seconds at most, which the documents name."""
        began = time.monotonic()
        self.until(lambda: all(h.status(**who) == status for h in self.hubs), "a revocation holds everywhere")
        print(f"refused everywhere after {time.monotonic() - began:.2f} s", file=sys.stderr)

    def test_token(self):
        self.start(2)
        text = self.token("alice", "read=web*")
        self.assertRegex(text, r"^mprof_[0-9a-f]{16}_[0-9a-f]{64}$")
        for hub in self.hubs:
            answer = json.loads(hub.send("/v1/session", token=text).body)
            self.assertEqual((answer["name"], answer["kind"], answer["scopes"]["read"]), ("alice", "token", ["web*"]))
            self.assertEqual(hub.status(token=text[:-1] + ("0" if text[-1] != "0" else "1")), 401)
            self.assertEqual(hub.status(), 401)
        identifier = text.split("_")[1]
        listed = self.command("list").stdout
        self.assertIn(f"{identifier} alice made=", listed)
        self.assertNotIn(text.split("_")[2], FLEET.hub.sql("SELECT * FROM fleet_store.token"))
        self.command("revoke", identifier)
        self.refused_everywhere(token=text)
        self.assertRegex(self.command("list").stdout, rf"{identifier} alice .*revoked=2")
        self.assertIn("no token", self.command("revoke", identifier, code=1).stderr)
        # The role of a hub cannot give access to anybody.
        for words in (("new", "mallory", "--scope", ALL), ("list",), ("revoke", identifier)):
            self.assertIn("this role may not give access", self.command(*words, role="hub1", code=1).stderr)
        for words in (("list", "more"), ("admit",), ("steal", "x"), ("new", "a b")):
            self.assertEqual(self.command(*words, code=2).stdout, "")
        self.assertIn("certificate:NAME", self.command("revoke", "nonsense", code=1).stderr)

    def test_wrong_tokens(self):
        """Wrong tokens never refuse a valid one of the same address, also if the hub has not asked about it before."""
        text, [hub] = self.token("bob"), self.start(1)
        # One more is allowed each second. On a busy machine one after the other takes longer, so there are many at once.
        said = []

        def ask():
            for i in range(14):
                said.append(hub.status(token=f"{text[:-64]}{i:064x}"))

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertGreaterEqual(said.count(401), 10)
        self.assertEqual(set(said), {401, 429})
        self.assertEqual(hub.status(token=text), 200)

    def test_expiry(self):
        text = self.token("short")
        self.assertEqual(self.start(2)[0].status(token=text), 200)
        FLEET.hub.sql(f"UPDATE fleet_store.token SET expires = now() WHERE id = '{text.split('_')[1]}'")
        self.refused_everywhere(token=text)

    def sign_in(self, hub, token):
        answer = hub.send("/v1/session", "POST", body={"token": token})
        self.assertEqual(answer.status, 200, answer.body)
        return re.match(r"__Host-mprofd=([0-9a-f]{64});", answer.headers["Set-Cookie"])[1]

    def test_session(self):
        """Sign in at one hub, use the session at the next, and sign out at the third."""
        one, two, three = self.start(3)
        token = self.token("bob")
        cookie = self.sign_in(one, token)
        for hub in self.hubs:
            answer = json.loads(hub.send("/v1/session", cookie=cookie).body)
            self.assertEqual((answer["name"], answer["kind"]), ("bob", "session"))
        self.assertNotIn(cookie, FLEET.hub.sql("SELECT * FROM fleet_store.session"))
        self.assertEqual(three.send("/v1/session", "DELETE", cookie=cookie).status, 204)
        self.assertEqual(three.status(cookie=cookie), 401)
        self.refused_everywhere(cookie=cookie)
        self.assertEqual(two.status(token=token), 200)
        self.assertEqual(two.send("/v1/session", "POST", body={"token": token[:-4] + "0000"}).status, 401)
        # A session ends with its token, and a token has 16 sessions: another one ends the oldest.
        cookies = [self.sign_in(self.hubs[n % 3], token) for n in range(17)]
        self.until(lambda: one.status(cookie=cookies[0]) == 401, "the oldest session ends")
        self.assertEqual([h.status(cookie=cookies[16]) for h in self.hubs], [200] * 3)
        self.command("revoke", token.split("_")[1])
        self.refused_everywhere(cookie=cookies[16])

    def test_names(self):
        """A certificate, a token's name and a user of the machine are refused until they are admitted."""
        hub = self.start(2)[1]
        token = self.token("carol")
        self.assertEqual((hub.certified("viewer").status, hub.status(token=token)), (200, 200))
        self.command("revoke", "certificate:viewer")
        self.command("revoke", "token:carol")
        self.refused_everywhere(token=token)
        self.until(lambda: all(h.certified("viewer").status == 401 for h in self.hubs), "the certificate is revoked")
        self.assertIn("revoked certificate:viewer", self.command("list").stdout)
        self.command("admit", "certificate:viewer")
        self.command("admit", "token:carol")
        self.until(lambda: all(h.certified("viewer").status == 200 and h.status(token=token) == 200 for h in self.hubs), "they are admitted")
        self.assertIn("not revoked", self.command("admit", "token:carol", code=1).stderr)

    def asked(self):
        """Return how often the hubs have asked the database about rights."""
        calls = "SELECT pg_stat_clear_snapshot(), coalesce(sum(calls), 0) FROM pg_stat_user_functions WHERE funcname = 'access_check'"
        return int(FLEET.hub.sql(calls).split("|")[1])

    def running(self, token):
        """Begin a body. Return an event that is set when it has ended."""

        def begun():
            connection = http.client.HTTPConnection("127.0.0.1", self.hubs[0].port, timeout=daemons.HANGS)
            self.addCleanup(connection.close)
            connection.request("GET", "/v1/events", None, {"Authorization": f"Bearer {token}"})
            answer = connection.getresponse()
            self.assertIn(answer.status, (200, 503))  # 503: the database, which is busy, has not answered in time
            return answer.status == 200 and answer

        answer, ended = daemons.launcher.wait(begun), threading.Event()

        def read():
            with contextlib.suppress(OSError, http.client.HTTPException):
                while answer.read1(65536):
                    pass
            ended.set()

        threading.Thread(target=read, daemon=True).start()
        return ended

    def test_running_request(self):
        """A body that is being sent ends, too, when its sender loses the right. Before that the hub asks again each second, and the body
        goes on, unless the database takes longer for its answer than one is believed."""
        self.start(1)
        token = self.token("dave")
        for _ in range(10):
            ended, before = self.running(token), self.asked()
            self.until(lambda ended=ended, before=before: ended.is_set() or self.asked() > before + BELIEF + 1, "the hub asks again")
            if not ended.is_set():
                break
        self.assertFalse(ended.is_set())
        self.command("revoke", token.split("_")[1])
        self.assertTrue(ended.wait(daemons.HANGS))

    def test_database_away(self):
        """A known identity goes on for the time of belief; others get 503, and the loop goes on."""
        token, other = self.token("erin"), self.token("frank")
        hub = self.start(2)[0]
        known = time.monotonic()
        self.assertEqual(hub.status(token=token), 200)
        FLEET.hub.stop("immediate")
        try:
            answer = hub.send("/v1/session", token=token, again=False)
            if time.monotonic() - known < BELIEF:
                self.assertEqual(answer.status, 200)
            answer = hub.send("/v1/session", token=other, again=False)
            self.assertEqual((answer.status, answer.headers["Retry-After"]), (503, "1"))
            self.assertIn(AWAY, answer.detail())
            self.assertEqual(hub.send("/v1/session", "POST", body={"token": other}, again=False).status, 503)
            self.until(lambda: hub.status(token=token, again=False) == 503, "nobody is believed")
            self.assertGreater(time.monotonic() - known, BELIEF)
        finally:
            FLEET.hub.start()
        self.until(lambda: all(h.status(token=t) == 200 for h in self.hubs for t in (token, other)), "the database is back")

    @turns.long
    def test_database_hangs(self):
        """A database that takes connections and answers nothing stops nobody who needs none."""
        token = self.token("grace")
        [hub] = self.start(1)
        self.assertEqual(hub.status(token=token), 200)
        with open(os.path.join(FLEET.hub.data, "postmaster.pid"), encoding="utf-8") as f:
            pid = int(f.readline())
        pids = [pid, *map(int, subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=True).stdout.split())]
        for each in pids:
            os.kill(each, signal.SIGSTOP)
        try:
            answers = []
            unknown = "mprof_" + "0" * 16 + "_" + "1" * 64
            threads = [threading.Thread(target=lambda: answers.append(hub.status(token=unknown, again=False))) for _ in range(8)]
            for thread in threads:
                thread.start()
            took = 0
            for _ in range(20):
                began = time.monotonic()
                self.assertEqual(hub.send("/v1/openapi.yaml").status, 200)
                took = max(took, time.monotonic() - began)
            print(f"the longest answer beside a database that hangs: {took * 1000:.0f} ms", file=sys.stderr)
            for thread in threads:
                thread.join()
            self.assertEqual(answers, [503] * 8)
            self.until(lambda: hub.status(token=token, again=False) == 503, "nobody is believed")
        finally:
            for each in reversed(pids):
                os.kill(each, signal.SIGCONT)
        self.until(lambda: hub.status(token=token) == 200, "the database answers again")

    def test_end_while_database_hangs(self):
        """A server of the hub ends at once, and with 0, while its threads wait for the database; the database does not go on for it."""
        [hub], token = self.start(1), self.token("ivan")
        self.assertEqual(hub.send("/v1/hosts", token=token).status, 200)
        with psycopg2.connect(FLEET.hub.admin()) as db, db.cursor() as c:
            c.execute("LOCK TABLE fleet_store.host IN ACCESS EXCLUSIVE MODE")
            waiting = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'hub1' AND wait_event_type = 'Lock'"
            asking = [threading.Thread(target=self.unanswered, args=(hub, token)) for _ in range(6)]
            for thread in asking:
                thread.start()
            self.until(lambda: FLEET.hub.sql(waiting) != "0", "a statement waits")
            hub.server.send_signal(signal.SIGTERM)
            self.assertEqual(hub.server.wait(daemons.HANGS), 0)  # the table is locked until then, and longer
            self.until(lambda: FLEET.hub.sql(waiting) == "0", "the database has given up")
        db.close()
        for thread in asking:
            thread.join()
        hub.server = None
        hub.start_server()

    @staticmethod
    def unanswered(hub, token):
        with contextlib.suppress(OSError, http.client.HTTPException):
            hub.send("/v1/hosts", token=token, again=False)

    @turns.long
    def test_notices(self):
        """A revocation is noticed at once; and a flood of notices, which anybody may send, costs four questions a second."""
        token = self.token("heidi")
        hub = self.start(3)[0]
        db = psycopg2.connect(FLEET.connection("issuer"))
        self.addCleanup(db.close)
        db.autocommit = True
        over = threading.Event()

        def flood():
            with db.cursor() as c:
                while not over.is_set():
                    c.execute("NOTIFY fleet_access, 'x'")

        thread = threading.Thread(target=flood)
        self.assertEqual(hub.status(token=token), 200)
        began, before = time.monotonic(), self.asked()
        thread.start()
        try:
            while time.monotonic() - began < 4:
                self.assertEqual(hub.status(token=token), 200)
        finally:
            over.set()
            thread.join()
        asked = self.asked() - before
        print(f"{asked / (time.monotonic() - began):.1f} questions a second of three hubs under a flood of notices", file=sys.stderr)
        self.assertLess(asked, 3 * 6 * (time.monotonic() - began))
        self.command("revoke", token.split("_")[1])
        self.refused_everywhere(token=token)

    def test_tokens_route(self):
        """Tokens of a hub are not made over HTTP."""
        self.assertEqual(os.getuid(), 0, "this test runs as root, who may do everything on the Unix socket")
        status, _, body = self.start(1)[0].ask("/v1/tokens")
        self.assertEqual(status, 409, body)
        self.assertIn("fleet_access", json.loads(body)["detail"])


if __name__ == "__main__":
    daemons.main()
