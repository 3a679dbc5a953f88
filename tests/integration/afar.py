"""Test mprofctl with daemons of other machines: afar.py BUILD-DIRECTORY [TEST…|--without TEST,…]

TLS, tokens, ssh, named hosts, and several hosts at once, with a real mprofd-http. A front of this
script does TLS for it, with certificates that this script makes.
"""

import contextlib
import http.server
import json
import os
import re
import select
import shutil
import signal
import socket
import socketserver
import sqlite3
import ssl
import subprocess
import tempfile
import threading
import time
import unittest

import daemons
from certificates import authority, certificate
from daemons import Case, Daemons, Ring, program

TOKEN = "mprof_0123456789abcdef_" + "5e" * 32
SECRET = TOKEN.split("_")[2]


def run(*arguments, env=None, **options):
    """Run mprofctl to its end. Return the process with its output."""
    options = {"capture_output": True, "text": True, "timeout": daemons.HANGS, **options}
    clean = {k: v for k, v in os.environ.items() if not k.startswith("MPROFCTL_") and k != "CREDENTIALS_DIRECTORY"}
    return subprocess.run([program("mprofctl"), *arguments], env={**clean, **(env or {})}, check=False, **options)


# ---- certificates


class Authority:
    """A CA in a directory of its own, which makes certificates."""

    def __init__(self, path, name):
        self.path = path
        os.mkdir(path)
        self.certificate, _ = self.self_signed("ca", name, "basicConstraints=critical,CA:TRUE")

    def files(self, file):
        return f"{self.path}/{file}.pem", f"{self.path}/{file}.key"

    def self_signed(self, file, name, *extensions):
        authority(f"{self.path}/{file}", name, *extensions)
        return self.files(file)

    def make(self, file, name, *extensions, begin="20200101000000Z", end="20490101000000Z"):
        """Make a certificate and its key. Return their paths."""
        certificate(f"{self.path}/{file}", f"/CN={name}", f"{self.path}/ca", *extensions, start=begin, end=end)
        return self.files(file)


class Certificates:
    """All certificates of the tests, made once."""

    made = None

    @classmethod
    def get(cls):
        if not cls.made:
            cls.made = cls(tempfile.mkdtemp(prefix="mprof."))
        return cls.made

    def __init__(self, path):
        self.path = path
        self.ca, self.other = Authority(f"{path}/good", "Test CA"), Authority(f"{path}/other", "Other CA")
        here = "subjectAltName=DNS:localhost,IP:127.0.0.1"
        self.good = self.ca.make("good", "localhost", here)
        self.expired = self.ca.make("expired", "localhost", here, end="20210203040500Z")
        self.early = self.ca.make("early", "localhost", here, begin="20480102030400Z")
        self.named = self.ca.make("named", "dom0.example", "subjectAltName=DNS:dom0.example,DNS:trace.example")
        self.client_only = self.ca.make("client-only", "localhost", here, "extendedKeyUsage=clientAuth")
        self.foreign = self.other.make("foreign", "localhost", here)
        self.self_signed = self.ca.self_signed("self", "localhost", here)
        self.viewer = self.ca.make("viewer", "alice", "extendedKeyUsage=clientAuth")
        self.stranger = self.other.make("stranger", "alice", "extendedKeyUsage=clientAuth")


def tearDownModule():
    if Certificates.made:
        shutil.rmtree(Certificates.made.path)


class Front:
    """A TLS server on loopback that passes the bytes of each connection to a Unix socket."""

    def __init__(self, target, pair, client_ca=None):
        self.target = target
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(*pair)
        if client_ca:
            self.context.verify_mode = ssl.CERT_REQUIRED
            self.context.load_verify_locations(client_ca)
        self.came = 0  # bytes that clients sent inside of TLS
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=[self.listener.accept()[0]], daemon=True).start()

    def _serve(self, raw):
        with contextlib.suppress(OSError), raw.dup() as kept:
            try:
                client = self.context.wrap_socket(raw, server_side=True)
            except OSError:
                # Let the client read the alert before a reset could remove it.
                kept.shutdown(socket.SHUT_WR)
                kept.settimeout(daemons.HANGS)
                while kept.recv(65536):
                    pass
                return
            with client, socket.socket(socket.AF_UNIX) as daemon:
                daemon.connect(self.target)
                back = threading.Thread(target=self._back, args=[daemon, client], daemon=True)
                back.start()
                while piece := client.recv(65536):
                    self.came += len(piece)
                    daemon.sendall(piece)
                daemon.shutdown(socket.SHUT_WR)
                back.join()

    @staticmethod
    def _back(daemon, client):
        with contextlib.suppress(OSError):
            while piece := daemon.recv(65536):
                client.sendall(piece)
            client.shutdown(socket.SHUT_RDWR)


class Served(Case):
    """A guest "web" with its events in a daemon's archive."""

    def guest(self, d, name="web", events=50):
        ring = self.enterContext(Ring(os.path.join(d.rings, name + ".ctf"), 16384, 16))
        ring.add_slowly(events)
        ring.close()
        d.wait_ended(name)
        return d

    def refused(self, done, code, *words):
        """Check that mprofctl ended with CODE and one sentence that has all WORDS."""
        self.assertEqual(done.returncode, code, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertNotIn(SECRET, done.stdout + done.stderr)
        self.assertNotIn("Sanitizer", done.stderr)


class Tls(Served):
    def setUp(self):
        super().setUp()
        self.made = Certificates.get()
        self.d = self.guest(self.daemons())

    def front(self, pair, **options):
        return self.enterContext(Front(self.d.socket, pair, **options))

    def ask(self, front, *more, name="localhost", ca=True, env=None, verb=("domains",)):
        options = ["--ca", self.made.ca.certificate] if ca else []
        return run("--host", f"https://{name}:{front.port}", *options, *more, *verb, env=env)

    def test_good(self):
        front = self.front(self.made.good)
        for name in "localhost", "127.0.0.1":
            done = self.ask(front, name=name)
            self.assertEqual((done.returncode, done.stderr), (0, ""), done)
            self.assertRegex(done.stdout, r"\nweb +ended")
        done = self.ask(front, verb=("fetch", "web", "-o", "web.ctf"))
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        with open("web.ctf", "rb") as f:
            self.assertEqual(f.read(), self.d.trace("web"))

    def test_wrong(self):
        """Each wrong certificate is told from the others, by subject, issuer and dates. Nothing is
        sent to such a server, least of all the token."""
        common = ['subject "CN = localhost"', 'issuer "CN = Test CA"']
        for pair, *words in [
            (self.made.expired, *common, "has expired", "to 2021-02-03 04:05 UTC", "renew", "set the clock of this machine", "it says 20"),
            (self.made.early, *common, "is not yet valid", "from 2048-01-02 03:04 UTC", "set the clock"),
            (self.made.named, "is not for this address, but for DNS:dom0.example, DNS:trace.example", 'subject "CN = dom0.example"', "--host"),
            (self.made.foreign, 'issuer "CN = Other CA"', "unknown CA, which is not in ", self.made.ca.certificate, "--ca FILE"),
            (self.made.self_signed, "is self-signed", 'issuer "CN = localhost"', "--ca FILE"),
            (self.made.client_only, *common, "is not for servers", "serverAuth"),
        ]:
            with self.subTest(words[-1]):
                front = self.front(pair)
                done = self.ask(front, env={"MPROFCTL_TOKEN": TOKEN})
                self.refused(done, 5, f"https://localhost:{front.port}: the certificate ", "valid from 20", *words)
                self.assertEqual((done.stdout, done.stderr.count("\n"), front.came), ("", 1, 0))

    def test_system(self):
        """Without --ca the system's CAs count; with it only its own."""
        front = self.front(self.made.good)
        self.refused(self.ask(front, ca=False), 5, "unknown CA, which this system does not trust", 'issuer "CN = Test CA"')
        done = run("--host", f"https://localhost:{front.port}", "--ca", self.made.other.certificate, "domains")
        self.refused(done, 5, "unknown CA, which is not in")
        # libcurl's own variable names another file of CAs for its command only, and none here.
        self.refused(self.ask(front, ca=False, env={"CURL_CA_BUNDLE": self.made.ca.certificate}), 5, "unknown CA")

    def test_self_signed_trusted(self):
        front = self.front(self.made.self_signed)
        done = run("--host", f"https://localhost:{front.port}", "--ca", self.made.self_signed[0], "domains")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)

    def test_client(self):
        front = self.front(self.made.good, client_ca=self.made.ca.certificate)
        self.refused(self.ask(front), 5, "asks for a certificate of yours", "--cert FILE and --key FILE")
        done = self.ask(front, "--cert", self.made.viewer[0], "--key", self.made.viewer[1])
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        with open("both.pem", "w", encoding="ascii") as both:
            for path in self.made.viewer:
                with open(path, encoding="ascii") as f:
                    both.write(f.read())
        self.assertEqual(self.ask(front, "--cert=both.pem").returncode, 0)
        done = self.ask(front, "--cert", self.made.stranger[0], "--key", self.made.stranger[1])
        self.refused(done, 5, "refuses the certificate " + self.made.stranger[0], "unknown ca")

    def test_files(self):
        """Files that cannot be used."""
        front = self.front(self.made.good)
        self.refused(self.ask(front, "--cert", self.made.viewer[0], "--key", self.made.stranger[1]), 5, "cannot use", self.made.viewer[0], "PEM")
        with open("no.pem", "w", encoding="ascii") as f:
            f.write("no certificate\n")
        self.refused(self.ask(front, "--ca", "no.pem"), 5, "no.pem has no CA's certificate in PEM format")
        self.refused(self.ask(front, "--ca", "absent.pem"), 4, "cannot read absent.pem, the file of --ca: No such file")
        self.refused(self.ask(front, "--key", self.made.viewer[1]), 2, "--key needs --cert")
        self.refused(run("--host", f"unix:{self.d.socket}", "--ca", self.made.ca.certificate, "domains"), 2, "for https:// addresses")
        self.refused(run("--ca"), 2, "option --ca needs a value")
        self.refused(run("--ca=", "domains"), 2, "option --ca is empty")

    def test_no_tls(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            threading.Thread(target=lambda: answer_plainly(server), daemon=True).start()
            done = run("--host", f"https://localhost:{server.getsockname()[1]}", "domains")
        self.refused(done, 5, "no TLS answers on that port", "http://")


def answer_plainly(server):
    with contextlib.suppress(OSError):
        with server.accept()[0] as connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            connection.recv(65536)


# ---- tokens and statuses: a stand-in for a mprofd-http with access control


class Stand(http.server.BaseHTTPRequestHandler):
    """Answer with the server's script, and keep what came."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def address_string(self):
        return "client"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked.append((self.command, self.path, dict(self.headers), body))
        status, headers, value = self.server.script.get((self.command, self.path.split("?")[0]), (200, {}, {"domains": []}))
        text = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        for name, one in headers.items():
            self.send_header(name, one)
        if status != 204:
            self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        with contextlib.suppress(BrokenPipeError):  # mprofctl drops the body of a redirect
            self.wfile.write(text)

    do_GET = do_POST = do_DELETE = answer


class StandServer(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    block_on_close = False


class UnixStandServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    block_on_close = False


def problem(status, detail, **headers):
    return status, headers, {"type": "about:blank", "title": "t", "status": status, "detail": detail}


class Stood(Served):
    def stand(self, script=None, server=None):
        server = server or StandServer(("127.0.0.1", 0), Stand)
        server.script, server.asked = script or {}, []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server

    def url(self, server, scheme="http"):
        return f"{scheme}://127.0.0.1:{server.server_address[1]}"


class Tokens(Stood):
    def file(self, text, mode=0o600, path="token"):
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        os.chmod(path, mode)
        return path

    def sent(self, server):
        return [headers.get("Authorization") for _, _, headers, _ in server.asked]

    def test_sources(self):
        server = self.stand()
        os.mkdir("credentials")
        self.file("in-credentials\n", 0o440, "credentials/mprofctl-token")
        variables = {"MPROFCTL_TOKEN": "in-variable", "CREDENTIALS_DIRECTORY": os.path.abspath("credentials")}
        for options, env, wanted in [
            ([], {}, None),
            ([], {"MPROFCTL_TOKEN": ""}, None),
            ([], {"MPROFCTL_TOKEN": "in-variable"}, "Bearer in-variable"),
            ([], variables, "Bearer in-credentials"),
            ([], {**variables, "CREDENTIALS_DIRECTORY": "/nowhere"}, "Bearer in-variable"),
            (["--token", self.file(TOKEN + "\n")], variables, "Bearer " + TOKEN),
            (["--token=" + self.file(f" {TOKEN}\r\n", 0o400, "other")], {}, "Bearer " + TOKEN),
        ]:
            server.asked.clear()
            done = run("--host", self.url(server), *options, "domains", env=env)
            self.assertEqual((done.returncode, done.stderr), (0, ""), done)
            self.assertEqual(self.sent(server), [wanted])
            self.assertNotIn("in-", done.stdout)

    def test_open_file(self):
        """A token file that others can open is refused, before a connection is made."""
        server = self.stand()
        for mode in 0o640, 0o604, 0o660, 0o602, 0o644:
            path = self.file(TOKEN, mode)
            done = run("--host", self.url(server), "--token", path, "domains")
            self.refused(done, 1, f"token file token is open to others than its owner (mode 0{mode:o})", "chmod 600 token")
        os.mkdir("credentials")
        self.file(TOKEN, 0o444, "credentials/mprofctl-token")
        done = run("--host", self.url(server), "domains", env={"CREDENTIALS_DIRECTORY": os.path.abspath("credentials")})
        self.refused(done, 1, "is open to others")
        self.assertEqual(server.asked, [])

    def test_bad_file(self):
        server = self.stand()
        for text in "", "two words", "two\nlines", "bad\x01byte":
            self.refused(run("--host", self.url(server), "--token", self.file(text), "domains"), 1, "token holds no token")
        self.refused(run("--host", self.url(server), "--token", "absent", "domains"), 1, "cannot read the token file absent")
        self.refused(run("--host", self.url(server), "domains", env={"MPROFCTL_TOKEN": "a b"}), 1, "MPROFCTL_TOKEN holds no token")
        self.assertEqual(server.asked, [])

    def test_in_clear(self):
        """A token goes to a loopback address without TLS, and to no other."""
        environment = {"MPROFCTL_TOKEN": TOKEN, "http_proxy": self.url(self.stand()), "https_proxy": "http://127.0.0.1:1"}
        for address in "http://192.0.2.1", "http://127.0.0.1.example:1", "http://[2001:db8::1]:80", "http://dom0", "http://0.0.0.0":
            done = run("--host", address, "domains", env=environment)
            self.refused(done, 2, f"a token is not sent to {address}", "use https://")
        done = run("--host", "http://192.0.2.1", "--token", self.file(TOKEN), "domains")
        self.refused(done, 2, "a token is not sent")
        server = self.stand()
        for name in "127.0.0.1", "localhost", "127.1":
            done = run("--host", f"http://{name}:{server.server_address[1]}/", "domains", env=environment)
            self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        self.assertEqual(self.sent(server), [f"Bearer {TOKEN}"] * 3)

    def test_in_address(self):
        for address in [
            f"https://alice:{SECRET}@dom0",
            f"http://{TOKEN}@127.0.0.1",
            f"https://dom0/?token={TOKEN}",
            f"https://dom0/#{TOKEN}",
            f"https://dom0/{TOKEN}",
            f"ftp://x:{TOKEN}@dom0",
            f"https://x y:{TOKEN}@dom0",
            TOKEN,
        ]:
            self.refused(run("--host", address, "domains"), 2)
            self.refused(run("domains", env={"MPROFCTL_HOST": address}), 2)
        self.refused(run("--host", "https://a:b@dom0", "domains"), 2, "the address of dom0 has a user or a password in it")
        self.refused(run("--host", "unix:/x", "--token", self.file(TOKEN), "domains"), 2, "at unix:/x the Unix user is the identity")

    def test_redirect(self):
        """No redirect is followed, with a token or without one."""
        other = self.stand()
        server = self.stand({("GET", "/v1/domains"): (302, {"Location": self.url(other) + "/v1/domains"}, {})})
        for env in {"MPROFCTL_TOKEN": TOKEN}, {}:
            done = run("--host", self.url(server), "domains", env=env)
            self.refused(done, 1, f"redirects to {self.url(other)}/v1/domains", "follows no redirect", "--host")
        self.assertEqual((len(server.asked), other.asked), (2, []))

    def test_files_only(self):
        """A verb that needs no daemon does not look at hosts and tokens."""
        with Ring("web.ctf", 16384, 16) as ring:
            ring.add_slowly(10)
            done = run("--host", "nowhere", "--token", "absent", "stats", "web.ctf", env={"MPROFCTL_TOKEN": "a b"})
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)


class Statuses(Stood):
    """Statuses of access control. mprofd-http does not send 401, 421 and 429 yet; when it does, its
    own tests should make them."""

    def ask(self, answer, *options, env=None):
        server = self.stand({("GET", "/v1/domains"): answer})
        return run("--host", self.url(server), *options, "domains", env=env)

    def test_advice(self):
        token = {"MPROFCTL_TOKEN": TOKEN}
        self.refused(self.ask(problem(401, "No credentials.")), 1, "No credentials.", "wants to know who asks", "--token FILE", "--cert FILE")
        self.refused(self.ask(problem(401, "Bad token."), env=token), 1, "Bad token.", "does not accept the token", "expired or revoked")
        self.refused(self.ask(problem(403, "Not for you."), env=token), 1, "Not for you.", "scope", "administrator")
        self.refused(self.ask(problem(404, "No such thing.")), 4, "No such thing.")
        self.refused(self.ask(problem(404, "No such thing."), env=token), 4, "do not cover")
        self.refused(self.ask(problem(421, "Not my name.")), 1, "Not my name.", "names =", "[access]")
        self.refused(self.ask(problem(429, "Too many.", **{"Retry-After": "7"})), 1, "Too many.", "try again in 7 s")
        self.refused(self.ask(problem(429, "Too many.")), 1, "try again later")
        self.refused(self.ask((401, {}, None)), 1, "HTTP status 401", "--token FILE")


class TokenVerb(Stood):
    """`mprofctl token` with a stand-in for /v1/tokens, until mprofd-http has that route."""

    SCOPES = {"read": ["web*", "db*"], "context": [], "write": ["web1"], "metrics": True}
    ENTRY = {"id": "0123456789abcdef", "name": "graf\u001bana", "scopes": SCOPES, "made": "2026-11-25T01:02:03Z", "expires": None}

    def setUp(self):
        super().setUp()
        self.server = self.stand(
            {
                ("POST", "/v1/tokens"): (201, {}, {**self.ENTRY, "token": TOKEN}),
                ("GET", "/v1/tokens"): (200, {}, {"tokens": [self.ENTRY]}),
                ("DELETE", "/v1/tokens/0123456789abcdef"): (204, {}, None),
                ("DELETE", "/v1/tokens/0123456789abcdee"): problem(404, "There is no such token."),
            },
            UnixStandServer("stand.sock", Stand),
        )

    def token(self, *arguments, **options):
        return run("--host", "unix:stand.sock", "token", *arguments, **options)

    def test_new(self):
        done = self.token("new", "grafana", "--scope", "read=web*,read=db*,write=web1,metrics=yes", "--days", "30")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, TOKEN + "\n", ""))
        self.assertEqual(json.loads(self.server.asked[0][3]), {"name": "grafana", "scopes": self.SCOPES, "days": 30})
        done = self.token("new", "x", "--json")
        self.assertEqual(json.loads(done.stdout)["token"], TOKEN)
        wanted = {"name": "x", "scopes": {"read": ["*"], "context": [], "write": [], "metrics": False}}
        self.assertEqual(json.loads(self.server.asked[1][3]), wanted)

    def test_new_file(self):
        """The token alone goes into a file, which mprofctl then takes."""
        command = f"umask 077; '{program('mprofctl')}' --host unix:stand.sock token new x >file"
        subprocess.run(["sh", "-c", command], check=True)
        server = self.stand()
        self.assertEqual(run("--host", self.url(server), "--token", "file", "domains").returncode, 0)
        self.assertEqual(server.asked[0][2]["Authorization"], f"Bearer {TOKEN}")

    def test_list_revoke(self):
        done = self.token("list", "--utc")
        self.assertEqual(done.returncode, 0, done.stderr)
        heads, row = done.stdout.splitlines()
        self.assertEqual(heads.split(), ["ID", "NAME", "READ", "CONTEXT", "WRITE", "METRICS", "MADE", "EXPIRES"])
        self.assertRegex(row, r"^0123456789abcdef +graf\\x1bana +web\* db\* +- +web1 +\S+ +2026-11-25T01:02:03Z +-$")
        self.assertEqual(json.loads(self.token("list", "--json").stdout)["tokens"], [self.ENTRY])
        done = self.token("revoke", "0123456789abcdef")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(json.loads(self.token("revoke", "0123456789abcdef", "--json").stdout), {"id": "0123456789abcdef", "revoked": True})
        self.refused(self.token("revoke", "0123456789abcdee"), 4, "There is no such token.")

    def test_usage(self):
        for words in [
            (),
            ("now",),
            ("new",),
            ("revoke", "12"),
            ("revoke", TOKEN),
            (TOKEN,),
            ("new", "x", "--days", "0"),
            ("new", "x", "--days", "1d"),
        ]:
            self.refused(self.token(*words), 2, "token")
        for scope in "read", "read=", "admin=*", "metrics=", "read=web*,,":
            self.refused(self.token("new", "x", "--scope", scope), 2, "--scope")
        self.assertEqual(self.server.asked, [])
        self.refused(run("--host", "https://dom0", "token", "list"), 2, "over mprofd-http's Unix socket", "ssh:HOST")


# ---- ssh


FAKE = """#!/bin/sh
# Take the arguments of ssh, and run the command here.
printf '%s|' "$@" >>'{work}/ssh.log'
echo >>'{work}/ssh.log'
while [ "$1" != -- ]; do shift; done
shift 2
PATH='{bin}':$PATH
echo $$ >>'{work}/ssh.pids'
{run}
"""


class Ssh(Served):
    def fake(self, command='exec "$@"'):
        with open("fake-ssh", "w", encoding="ascii") as f:
            f.write(FAKE.format(work=os.getcwd(), bin=os.path.abspath(os.path.dirname(program("mprofctl"))), run=command))
        os.chmod("fake-ssh", 0o755)
        return {"MPROFCTL_SSH": os.path.abspath("fake-ssh"), "TMPDIR": os.getcwd()}

    def calls(self):
        with open("ssh.log", encoding="ascii") as f:
            return [line.rstrip("|\n").split("|") for line in f]

    def ended(self, path="ssh.pids"):
        """Wait until no started ssh runs any more. No socket of mprofctl is left."""
        self.assertEqual([name for name in os.listdir() if name.startswith("mprofctl.")], [])
        with open(path, encoding="ascii") as f:
            pids = f.read().split()
        until = time.monotonic() + daemons.PATIENCE
        while any(os.path.exists(f"/proc/{pid}") for pid in pids):
            self.assertLess(time.monotonic(), until, pids)
            time.sleep(0.01)

    def test_list_and_fetch(self):
        """One ssh serves all requests of a command, and ends with it."""
        d = self.guest(self.daemons())
        env = self.fake()
        host = f"ssh:alice@dom0:{d.socket}"
        done = run("--host", host, "domains", env=env)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        self.assertRegex(done.stdout, r"\nweb +ended")
        (call,) = self.calls()
        at = call.index("--")
        self.assertEqual(call[at:], ["--", "alice@dom0", "mprofctl", "--stdio-proxy", d.socket])
        self.assertIn("-oClearAllForwardings=yes", call[:at])
        done = run("--host", host, "fetch", "web", "-o", "web.ctf", env=env)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        with open("web.ctf", "rb") as f:
            self.assertEqual(f.read(), d.trace("web"))
        self.assertEqual(len(self.calls()), 2)
        self.ended()

    def test_follow(self):
        """A live body comes as it grows; SIGINT ends mprofctl and its ssh."""
        d = self.daemons()
        ring = self.enterContext(Ring(os.path.join(d.rings, "web.ctf"), 16384, 16))
        ring.add_slowly(20)
        d.wait(lambda: d.domain("web"))
        env = {**os.environ, **self.fake()}
        command = [program("mprofctl"), "--host", f"ssh:dom0:{d.socket}"]
        followed = subprocess.Popen([*command, "follow", "web", "-o", "followed.ctf"], env=env)
        stopped = subprocess.Popen([*command, "follow", "web"], env=env, stdout=subprocess.PIPE)
        with ring.writing():
            self.assertTrue(stopped.stdout.read(1))
        stopped.send_signal(signal.SIGINT)
        stopped.stdout.read()
        stopped.stdout.close()
        self.assertIn(stopped.wait(daemons.HANGS), (0, 1))
        ring.add_slowly(300)
        ring.close()
        self.assertEqual(followed.wait(daemons.HANGS), 0)
        d.wait_ended("web")
        with open("followed.ctf", "rb") as f:
            self.assertEqual(daemons.events_of(f.read()), ring.written)
        self.ended()

    def test_refused(self):
        """No host becomes an option of ssh, and no socket a command of the other shell."""
        env = self.fake()
        for host in "-oProxyCommand=x", "alice@-x", "-l@x", "", "@x", "x y", "x;y", "$(x)", "[::1", "[::1]x":
            self.refused(run("--host", "ssh:" + host, "domains", env=env), 2, "ssh:" + host)
        for path in "relative", "/a b", "/a;b", "/$(x)", "2222":
            self.refused(run("--host", "ssh:x:" + path, "domains", env=env), 2, "absolute path")
        self.assertFalse(os.path.exists("ssh.log"))
        done = run("--host", "ssh:alice@[::1%lo]:/x.sock", "domains", env=env)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertEqual(self.calls()[0][-4:], ["alice@::1%lo", "mprofctl", "--stdio-proxy", "/x.sock"])

    def test_fails(self):
        for command, code, *words in [
            ("echo 'Permission denied' >&2; exit 255", 5, "Permission denied", "ssh cannot log in to dom0", "try `ssh dom0`"),
            ("echo 'mprofctl: not found' >&2; exit 127", 5, "there is no mprofctl on that host"),
            ("exit 2", 5, "does not know --stdio-proxy"),
            ("exit 3", 5, "the connection over ssh broke"),
            ("kill -9 $$", 5, "the connection over ssh broke"),
            ("exit 0", 5, "ended before an answer came"),
            ('exec "$@"', 5, "cannot reach mprofd-http at /nowhere/http.sock: No such file", "its message is above"),
        ]:
            self.refused(run("--host", "ssh:dom0:/nowhere/http.sock", "domains", env=self.fake(command)), code, *words)
        done = run("--host", "ssh:dom0", "domains", env={"MPROFCTL_SSH": "/nowhere/ssh"})
        self.refused(done, 5, "there is no program /nowhere/ssh")

    def test_no_retry(self):
        """A login that fails is not tried again: somebody may have to type a password each time."""
        self.assertEqual(run("--host", "ssh:dom0", "fetch", "web", env=self.fake("exit 255")).returncode, 5)
        self.assertEqual(len(self.calls()), 1)

    def test_broken(self):
        """A download over an ssh that dies in the middle resumes over another one."""
        d = self.guest(self.daemons(), events=400)
        cut = 'if [ ! -e cut ]; then touch cut; "$@" | head -c 3000; else exec "$@"; fi'
        done = run("--host", f"ssh:dom0:{d.socket}", "fetch", "domain:web", "-o", "-", env=self.fake(cut), text=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""), done)
        self.assertEqual(done.stdout, d.trace("web"))
        self.assertEqual(len(self.calls()), 2)

    @unittest.skipUnless(os.path.exists("/usr/sbin/sshd") and shutil.which("ssh"), "no openssh-server here")
    def test_real(self):
        """A real ssh and sshd."""
        d = self.guest(self.daemons())
        port = self.sshd()
        with open("ssh-config", "w", encoding="ascii") as f:
            for name, value in {
                "Port": port,
                "HostName": "127.0.0.1",
                "IdentityFile": os.path.abspath("user-key"),
                "IdentitiesOnly": "yes",
                "UserKnownHostsFile": os.path.abspath("known"),
                "BatchMode": "yes",
                "LocalForward": "127.0.0.1:1 127.0.0.1:1",
                "RemoteCommand": "exit 9",
            }.items():
                f.write(f"{name} {value}\n")
        with open("ssh", "w", encoding="ascii") as f:
            f.write(f'#!/bin/sh\nexec ssh -F {os.path.abspath("ssh-config")} "$@"\n')
        os.chmod("ssh", 0o755)
        env = {"MPROFCTL_SSH": os.path.abspath("ssh")}
        done = run("--host", f"ssh:lab:{d.socket}", "domains", env=env)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        self.assertRegex(done.stdout, r"\nweb +ended")
        done = run("--host", f"ssh:lab:{d.socket}", "fetch", "web", "-o", "web.ctf", env=env)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        with open("web.ctf", "rb") as f:
            self.assertEqual(f.read(), d.trace("web"))
        self.refused(run("--host", "ssh:lab:/nowhere.sock", "domains", env=env), 5, "cannot reach mprofd-http at /nowhere.sock")
        os.unlink("user-key")
        self.refused(run("--host", f"ssh:lab:{d.socket}", "domains", env=env), 5, "Permission denied", "ssh cannot log in to lab")

    def sshd(self):
        """Start a sshd on loopback for the present user. Return its port."""
        for name in "host-key", "user-key":
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", name], check=True)
        shutil.copy("user-key.pub", "authorized")
        port = daemons.free_port()
        with open("host-key.pub", encoding="ascii") as key, open("known", "w", encoding="ascii") as known:
            known.write(f"[127.0.0.1]:{port} {key.read()}")
        path = os.path.abspath(os.path.dirname(program("mprofctl")))
        with open("sshd-config", "w", encoding="ascii") as f:
            f.write(
                f"""
ListenAddress 127.0.0.1:{port}
HostKey {os.path.abspath("host-key")}
AuthorizedKeysFile {os.path.abspath("authorized")}
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
SetEnv PATH={path}:/usr/bin:/bin
"""
            )
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        log = self.enterContext(open("sshd.log", "wb"))
        server = subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f", os.path.abspath("sshd-config")], stderr=log)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        until = time.monotonic() + daemons.PATIENCE
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5):
                return port
            with open("sshd.log", encoding="utf-8", errors="replace") as f:
                self.assertTrue(server.poll() is None and time.monotonic() < until, f.read())
            time.sleep(0.02)


class Proxy(Case):
    """`mprofctl --stdio-proxy`, between this script and a socket of this script."""

    def setUp(self):
        super().setUp()
        self.listener = self.enterContext(socket.socket(socket.AF_UNIX))
        self.listener.bind("sock")
        self.listener.listen()
        self.listener.settimeout(daemons.PATIENCE)

    def proxy(self, **options):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **options}
        process = subprocess.Popen([program("mprofctl"), "--stdio-proxy", "sock"], **pipes)
        self.addCleanup(process.kill)
        for pipe in process.stdin, process.stdout:
            if pipe:
                self.addCleanup(pipe.close)
        server = self.enterContext(self.listener.accept()[0])
        server.settimeout(daemons.PATIENCE)
        return process, server

    def test_half_close(self):
        """The server sees the end of standard input, and can answer then."""
        process, server = self.proxy()
        process.stdin.write(b"question")
        process.stdin.close()
        asked = b""
        while piece := server.recv(100):
            asked += piece
        self.assertEqual(asked, b"question")
        answer = os.urandom(3 << 20)
        sender = threading.Thread(target=lambda: (server.sendall(answer), server.shutdown(socket.SHUT_WR)))
        sender.start()
        self.assertEqual(process.stdout.read(), answer)
        sender.join()
        self.assertEqual(process.wait(daemons.HANGS), 0)

    def test_both_ways(self):
        """Neither direction waits for the other: both are full at the same time."""
        process, server = self.proxy()
        there, back = os.urandom(4 << 20), os.urandom(4 << 20)
        threads = [threading.Thread(target=server.sendall, args=[back]), threading.Thread(target=process.stdin.write, args=[there])]
        for thread in threads:
            thread.start()
        time.sleep(0.2)  # both have filled all buffers, or will; the answer is the same
        got = []
        reader = threading.Thread(target=lambda: got.append(process.stdout.read(len(back))))
        reader.start()
        came = b""
        while len(came) < len(there) - 65536:  # the rest is in the buffer of the file
            came += server.recv(1 << 20)
        reader.join()
        self.assertEqual((got[0] == back, there.startswith(came)), (True, True))
        threads[0].join()
        server.shutdown(socket.SHUT_WR)  # closing it with unread bytes would be an error for the proxy
        self.assertEqual(process.wait(daemons.HANGS), 0)
        threads[1].join(daemons.HANGS)

    def test_server_ends(self):
        process, server = self.proxy()
        server.sendall(b"last")
        server.close()
        self.assertEqual(process.stdout.read(), b"last")
        self.assertEqual(process.wait(daemons.HANGS), 0)

    def test_reader_ends(self):
        """The end of standard output ends the proxy, also while nothing comes from the server."""
        process, _ = self.proxy()
        process.stdout.close()
        self.assertEqual(process.wait(daemons.HANGS), 0)

    def test_socket_pair(self):
        """Standard input and output are one socket, as with ssh. Its half-close is passed on."""
        own, other = socket.socketpair()
        self.enterContext(own)
        with other:
            process, server = self.proxy(stdin=other, stdout=other)
        own.sendall(b"question")
        own.shutdown(socket.SHUT_WR)
        self.assertEqual(server.recv(100), b"question")
        self.assertEqual(server.recv(100), b"")
        self.assertFalse(select.select([own], [], [], 0)[0])
        server.sendall(b"answer")
        self.assertEqual(own.recv(100), b"answer")
        own.close()
        self.assertEqual(process.wait(daemons.HANGS), 0)
        self.assertEqual(server.recv(100), b"")

    def test_errors(self):
        for arguments, code, word in [
            (["--stdio-proxy", "absent"], 5, "cannot reach mprofd-http at absent: No such file"),
            (["--stdio-proxy", "x" * 200], 5, "File name too long"),
            (["--stdio-proxy", "a", "b"], 2, "no further argument"),
        ]:
            done = run(*arguments, stdin=subprocess.DEVNULL)
            self.assertEqual((done.returncode, done.stdout), (code, ""))
            self.assertIn(word, done.stderr)


# ---- several hosts


class Named(Served):
    def hosts(self, text, path="hosts"):
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return {"MPROFCTL_HOSTS": os.path.abspath(path)}

    def two(self):
        """Start the daemons of two hosts, lab1 with the guest web and lab2 with web and db. Return them and the environment."""
        found = []
        base = os.getcwd()
        for name in "lab1", "lab2":
            os.mkdir(name)
            os.chdir(name)
            found.append(self.daemons())
            os.chdir(base)
        self.guest(found[0], events=60)
        self.guest(found[1], events=90)
        self.guest(found[1], "db", events=30)
        lines = "".join(f"{name} unix:{d.socket}\n" for name, d in zip(("lab1", "lab2"), found))
        return *found, self.hosts(f"# hosts of the tests\n\n{lines}away unix:/nowhere/http.sock\n")

    def ask(self, env, hosts, *words, code=0, error=""):
        done = run("--host", hosts, *words, env=env)
        self.assertEqual((done.returncode, done.stderr), (code, error), done)
        return done.stdout

    def test_order(self):
        """Captures of several hosts are in the order of the right times, where a host knows that its clock was wrong."""
        first, second, env = self.two()
        for d in (first, second):
            d.wait(lambda d=d: d.captures("web"))

        def newest():
            rows = self.ask(env, "lab1,lab2", "captures").splitlines()[1:]
            return rows[0].split("/")[0].strip()

        self.assertEqual(newest(), "lab2")

        def corrected():
            # A row of an earlier version has no checksum; mprofd may write its own at any time.
            with contextlib.closing(sqlite3.connect(f"{first.state}/archive/trace.db", timeout=300)) as db:
                db.execute("UPDATE clock_periods SET correction = 3600000000000, checksum = NULL")
                db.commit()
            return first.json("/v1/captures")["captures"][0]["time_corrected"] and newest() == "lab1"

        first.wait(corrected)

    def test_several(self):
        first, second, env = self.two()
        self.assertEqual(self.ask(env, "lab1", "domains").splitlines()[1].split()[0], "web")
        lines = self.ask(env, "lab1,lab2", "domains").splitlines()
        self.assertEqual(sorted(line.split()[0] for line in lines[1:]), ["lab1/web", "lab2/db", "lab2/web"])
        answer = json.loads(self.ask(env, "lab1,lab2", "--json", "domains"))["domains"]
        self.assertEqual(sorted((d["host"], d["name"]) for d in answer), [("lab1", "web"), ("lab2", "db"), ("lab2", "web")])
        for d, host in (first, "lab1"), (second, "lab2"):
            wanted = sorted(c["id"] for c in d.captures("web"))
            rows = self.ask(env, "lab1,lab2", "captures", f"{host}/web").splitlines()[1:]
            self.assertEqual(sorted(row.split()[:2] for row in rows), [[f"{host}/{one}", f"{host}/web"] for one in wanted])
        self.ask(env, "lab2,lab1", "fetch", "lab1/web")
        self.ask(env, "lab1,lab2", "fetch", "lab2/domain:web", "-o", "second.ctf")
        for path, d in ("lab1_web.ctf", first), ("second.ctf", second):
            with open(path, "rb") as f:
                self.assertEqual(f.read(), d.trace("web"))
        self.assertIn("60", self.ask(env, "lab1,lab2", "stats", "lab1/web"))
        json.loads(self.ask(env, "lab1,lab2", "diff", "lab1/web", "lab2/web", "--json"))
        done = run("--host", "lab1,lab2", "bundle", "lab1/web", "lab2/web", "lab2/db", "--json", env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.ask(env, "lab1,lab2", "export", "lab2/db", "--to", "csv", "-o", "db.csv")
        self.assertIn("MPROFCTL_HOST", run("--help").stdout)
        self.assertEqual(run("domains", env={**env, "MPROFCTL_HOST": "lab1,lab2"}).stdout.count("lab2/"), 2)

    def test_captures(self):
        first, second, env = self.two()
        ids = []
        for d, host in (first, "lab1"), (second, "lab2"), (first, "lab1"):
            ring = self.enterContext(Ring(os.path.join(d.rings, f"run{len(ids)}.ctf"), 16384, 16))
            ring.add_slowly(20)
            d.wait(lambda: d.domain(f"run{len(ids)}"))
            ids.append(self.ask(env, "lab1,lab2", "snapshot", f"{host}/run{len(ids)}").strip())
            self.assertRegex(ids[-1], f"^{host}/[0-9]+$")
        rows = [line.split() for line in self.ask(env, "lab1,lab2", "captures").splitlines()[1:]]
        self.assertEqual([row[0] for row in rows if row[3] == "manual"], ids[::-1])
        self.assertIn("run1", self.ask(env, "lab1,lab2", "show", ids[1]))
        self.assertIn("capture    ", self.ask(env, "lab1,lab2", "show", ids[1].replace("/", "/capture:")))
        self.ask(env, "lab1,lab2", "dump", ids[2])
        self.assertEqual(json.loads(self.ask(env, "lab1,lab2", "mem", "list", "--json")), {"memtraces": []})

    def test_one_fails(self):
        """The rows of the other hosts come, with a sentence about the one that fails."""
        *_, env = self.two()
        done = run("--host", "lab1,away", "domains", env=env)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done)
        self.assertIn("cannot reach the daemon at away", done.stderr)
        self.assertEqual([line.split()[0] for line in done.stdout.splitlines()], ["NAME", "lab1/web"])
        done = run("--host", "lab1,gone", "--json", "captures", env=env)
        self.assertEqual((done.returncode, list(json.loads(done.stdout))), (1, ["captures"]))
        self.assertIn('there is no host "gone"', done.stderr)
        done = run("--host", "away,away", "domains", env=env)
        self.assertEqual((done.returncode, done.stdout), (5, ""))

    def test_one_host(self):
        """Requests to a single host name it, and get one sentence otherwise."""
        env = self.hosts("lab1 unix:/nowhere\nlab2 unix:/nowhere\n")
        for words in [
            ("fetch", "web"),
            ("dump", "web"),
            ("captures", "web"),
            ("snapshot", "web"),
            ("follow", "web"),
            ("show", "12"),
            ("mem", "start", "web"),
            ("mem", "list", "web"),
            ("mem", "stop", "3"),
            ("mem", "leaks", "3"),
            ("token", "list"),
            ("fetch", "lab3/web"),
        ]:
            done = run("--host", "lab1,lab2", *words, env=env)
            self.refused(done, 2, "works on one host at a time", "HOST/GUEST", "as in lab1/web")
        for option in "--ca", "--token":
            self.refused(run("--host", "lab1,lab2", option, "x", "domains", env=env), 2, "are for one host")

    def test_token_of_environment(self):
        """The environment's token is for one host, so several hosts do not get it."""
        env = {**self.hosts("a http://192.0.2.1\nb unix:/nowhere\n"), "MPROFCTL_TOKEN": TOKEN, "MPROFCTL_TIMEOUT": "1"}
        self.refused(run("--host", "a", "domains", env=env), 2, "a token is not sent to a")
        with contextlib.ExitStack() as stack:
            servers = [stack.enter_context(StandServer(("127.0.0.1", 0), Stand)) for _ in range(2)]
            for server in servers:
                server.script, server.asked = {}, []
                threading.Thread(target=server.serve_forever, daemon=True).start()
                stack.callback(server.shutdown)
            with open("own", "w", encoding="ascii", opener=lambda path, flags: os.open(path, flags, 0o600)) as f:
                f.write("own-token")
            lines = [f"{name} http://127.0.0.1:{s.server_address[1]} {more}\n" for name, s, more in zip("ab", servers, ("token=own", ""))]
            env = {**self.hosts("".join(lines)), "MPROFCTL_TOKEN": TOKEN}
            self.ask(env, "a,b", "domains")
            self.ask(env, "b", "domains")
            self.ask(env, "a", "domains")
            sent = [[headers.get("Authorization") for _, _, headers, _ in s.asked] for s in servers]
            self.assertEqual(sent, [["Bearer own-token"] * 2, [None, f"Bearer {TOKEN}"]])

    def test_file(self):
        """The places of the hosts file, and the paths in it."""
        made = Certificates.get()
        d = self.guest(self.daemons())
        front = self.enterContext(Front(d.socket, made.good))
        os.makedirs("home/.config/mprofctl")
        os.makedirs("xdg/mprofctl")
        shutil.copy(made.ca.certificate, "xdg/mprofctl/ca.pem")
        shutil.copy(made.ca.certificate, "home/ca.pem")
        self.hosts(f"lab https://localhost:{front.port} ca=ca.pem # no comment here\n", "xdg/mprofctl/hosts")
        self.hosts(f"lab https://localhost:{front.port} ca=~/ca.pem\n", "home/.config/mprofctl/hosts")
        home = {"HOME": os.path.abspath("home"), "XDG_CONFIG_HOME": ""}
        self.assertIn("web", self.ask(home, "lab", "domains"))
        xdg = {**home, "XDG_CONFIG_HOME": os.path.abspath("xdg")}
        self.refused(run("--host", "lab", "domains", env=xdg), 1, "xdg/mprofctl/hosts:1: there is no setting")
        self.hosts(f"  lab\thttps://localhost:{front.port}   ca=ca.pem  \r\n", "xdg/mprofctl/hosts")
        self.assertIn("web", self.ask(xdg, "lab", "domains"))
        # An option of the command line wins.
        self.refused(run("--host", "lab", "--ca", made.other.certificate, "domains", env=xdg), 5, "lab: the certificate", "unknown CA")

    def test_bad(self):
        """Unknown names and bad lines."""
        env = self.hosts("lab1 unix:/x\n")
        self.refused(run("--host", "lab2", "domains", env=env), 2, 'there is no host "lab2" in ', "did you mean lab1?")
        self.refused(run("--host", "other", "domains", env=env), 2, 'there is no host "other" in ', "https://HOST:PORT")
        self.refused(run("--host", "other", "domains", env={"MPROFCTL_HOSTS": "/nowhere"}), 2, "/nowhere, which does not exist")
        self.refused(run("--host", "lab1,,lab1", "domains", env=env), 2, "is no name")
        self.refused(run("--host", "lab1,https://x", "domains", env=env), 2, "is neither a name")
        for line, word in [
            ("lab2", "an address (https://HOST:PORT, ssh:HOST or unix:PATH) is missing behind"),
            ("lab2 dom0", "is missing behind"),
            ("la/b unix:/x", "a name has letters"),
            ("-b unix:/x", "a name has letters"),
            ("lab1 unix:/y", "an earlier line has the name"),
            ("lab2 https://x ca", "there is no setting"),
            ("lab2 https://x ca=", "no file behind"),
            ("lab2 https://x ca=a ca=b", "a second"),
            (f"lab2 https://x {TOKEN}", "there is no setting"),
            ("x" * 5000 + " unix:/x", "too long"),
        ]:
            env = self.hosts(f"lab1 unix:/x\n{line}\n")
            self.refused(run("--host", "lab1", "domains", env=env), 1, "hosts:2: ", word)
        os.mkdir("directory")
        self.refused(run("--host", "a", "domains", env={"MPROFCTL_HOSTS": "directory"}), 1, "cannot read the hosts file directory")

    def test_completion(self):
        """Shells offer the names of hosts, and HOST/GUEST."""
        *_, env = self.two()

        def offered(*words):
            return [line.split("\t")[0] for line in run("complete", "--", *words, env=env).stdout.splitlines()]

        def answered(wanted, *words):
            """Check offers that daemons give. mprofctl waits for them for two seconds."""
            found = daemons.launcher.wait(lambda: set(wanted) <= set(got := offered(*words)) and got)
            self.assertEqual(sorted(found), wanted)

        self.assertEqual(offered("--host", ""), ["lab1", "lab2", "away"])
        self.assertEqual(offered("--host", "lab1,l"), ["lab1,lab1", "lab1,lab2"])
        self.assertEqual(offered("--host=a"), ["--host=away"])
        answered(["lab1/web", "lab2/db", "lab2/web"], "--host", "lab1,lab2", "snapshot", "")
        answered(["db"], "--host", "lab2", "snapshot", "d")
        self.assertEqual(offered("domains", "--ca", ""), [":files"])
        self.assertEqual(offered("--st"), ["--stdio-proxy"])
        self.assertLessEqual({"--ca", "--cert", "--key", "--token", "--scope", "--days"}, set(offered("token", "--")))
        self.assertEqual(offered("token", ""), ["new", "list", "revoke"])


if __name__ == "__main__":
    daemons.main()
