"""Reach the daemons of dom0 from another machine: remote.py BUILD-DIRECTORY [TEST…]

The other machine is a network namespace (namespaces.py). Its clients are real: curl, mprofctl over
TLS and ssh, Chromium, sslscan.
"""

import contextlib
import http.client
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time
import unittest
import xml.etree.ElementTree

import namespaces
from namespaces import ADDRESS, HONEST, HOST, IN_DOM0, PORT, URL, daemons, keys

ROTATIONS = 10
ANSWER = re.compile(r"\A(.*)\n(\d{3})\Z", re.DOTALL)


def run(*command, env=None, **options):
    options = {"capture_output": True, "text": True, "timeout": 120, **options}
    clean = {k: v for k, v in os.environ.items() if not k.startswith("MPROFCTL_") and k != "CREDENTIALS_DIRECTORY"}
    return subprocess.run(command, env={**clean, **(env or {})}, check=False, **options)


def mprofctl(*arguments, **options):
    return run(daemons.program("mprofctl"), *arguments, **options)


class Fetch(namespaces.Case):
    def check_mprofctl(self, *options, env=None):
        """List the guests, and fetch one: the bytes are those that root reads in dom0."""
        done = mprofctl(*options, "domains", env=env)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        self.assertRegex(done.stdout, r"\nweb +ended")
        done = mprofctl(*options, "fetch", "web", "-o", "web.ctf", env=env)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        with open("web.ctf", "rb") as f:
            self.assertEqual(f.read(), self.d.trace("web"))
        os.unlink("web.ctf")
        return done


class Clients(Fetch):
    """The clients that people use, with each kind of credentials."""

    guests = {"web": ["--rate", "2000"], "db": ["--rate", "200"]}

    def curl(self, path, *options, code=0):
        """Return (status, body)."""
        done = run("curl", "-sS", "--cacert", "tls/ca.pem", "-w", "\n%{http_code}", *options, URL + path)
        self.assertEqual(done.returncode, code, done.stderr)
        body, status = ANSWER.match(done.stdout).groups()
        return int(status), body

    def names(self, *options):
        status, body = self.curl("/v1/domains", *options)
        self.assertEqual(status, 200, body)
        return sorted(d["name"] for d in json.loads(body)["domains"])

    def test_curl(self):
        """A token, a certificate, and neither."""
        narrow, wrong = self.token("narrow", "read=db"), self.full[:-1] + ("0" if self.full[-1] != "0" else "1")
        self.assertEqual(self.names("-H", f"Authorization: Bearer {self.full}"), ["db", "web"])
        self.assertEqual(self.names("-H", f"Authorization: Bearer {narrow}"), ["db"])
        certificate = ["--cert", "tls/viewer.pem", "--key", "tls/viewer.key"]
        self.assertEqual(self.names(*certificate), ["web"])
        self.assertEqual(self.names("--tls-max", "1.2", *certificate), ["web"])
        for options in ([], ["-H", f"Authorization: Bearer {wrong}"], ["--cert", "tls/stranger.pem", "--key", "tls/stranger.key"]):
            self.assertEqual(self.curl("/v1/domains", *options)[0], 401, options)
        # The certificate is for the name, too; a client that trusts another authority sends nothing.
        self.assertEqual(self.curl("/healthz", "--connect-to", f"{HOST}:{PORT}:{ADDRESS}:{PORT}", "--url", f"https://{HOST}:{PORT}/healthz")[0], 200)
        done = run("curl", "-sS", "--cacert", "tls/other.pem", "-H", f"Authorization: Bearer {self.full}", f"{URL}/v1/domains")
        self.assertEqual(done.returncode, 60, done.stderr)

    def test_nothing_else_is_reached(self):
        """From afar there is the HTTPS port, and no other."""
        tables = []
        for name in "tcp", "tcp6":
            with open(f"/proc/{self.d.server.pid}/net/{name}", encoding="ascii") as f:
                tables += [line.split()[1] for line in f.readlines()[1:] if line.split()[3] == "0A"]
        self.assertEqual(tables, [f"{int.from_bytes(socket.inet_aton(ADDRESS), 'little'):08X}:{PORT:04X}"])
        done = run("curl", "-sS", "--max-time", "20", f"http://{ADDRESS}:{PORT}/healthz")
        self.assertNotEqual(done.returncode, 0, done.stdout)

    def test_mprofctl(self):
        self.end_guest("web")
        with open("token", "w", encoding="ascii") as f:
            f.write(self.full + "\n")
        os.chmod("token", 0o600)
        there = ["--host", URL, "--ca", "tls/ca.pem"]
        self.check_mprofctl(*there, "--token", "token")
        self.check_mprofctl(*there, env={"MPROFCTL_TOKEN": self.full})
        self.check_mprofctl(*there, "--cert", "tls/viewer.pem", "--key", "tls/viewer.key")
        for options, words in (
            (there, "token"),
            ([*there, "--cert", "tls/stranger.pem", "--key", "tls/stranger.key"], "certificate"),
            (["--host", URL, "--ca", "tls/other.pem"], "unknown CA"),
            (["--host", f"https://{ADDRESS}:{PORT + 1}", "--ca", "tls/ca.pem"], ADDRESS),
        ):
            done = mprofctl(*options, "domains")
            self.assertNotEqual(done.returncode, 0, done)
            self.assertEqual(done.stdout, "")
            self.assertIn(words, done.stderr)


@unittest.skipUnless(os.path.exists("/usr/sbin/sshd") and shutil.which("ssh"), "there is no ssh, or no sshd (package openssh-server)")
class Ssh(Fetch):
    def test_ssh(self):
        """Over a real sshd: nothing of mprofd listens for it."""
        self.end_guest("web")
        self.sshd()
        with open("ssh-config", "w", encoding="ascii") as f:
            f.write(f"IdentityFile {os.path.abspath('user-key')}\nIdentitiesOnly yes\nBatchMode yes\n")
            f.write(f"UserKnownHostsFile {os.path.abspath('known')}\nStrictHostKeyChecking yes\n")
        with open("ssh", "w", encoding="ascii") as f:
            f.write(f'#!/bin/sh\nexec ssh -F {os.path.abspath("ssh-config")} "$@"\n')
        os.chmod("ssh", 0o755)
        env = {"MPROFCTL_SSH": os.path.abspath("ssh")}
        self.check_mprofctl("--host", f"ssh:{ADDRESS}:{self.d.socket}", env=env)
        os.unlink("user-key")
        done = mprofctl("--host", f"ssh:{ADDRESS}:{self.d.socket}", "domains", env=env)
        self.assertEqual(done.returncode, 5, done)
        self.assertIn("Permission denied", done.stderr)

    def sshd(self):
        """Start a sshd in dom0 that knows one key of the present user."""
        for name in "host-key", "user-key":
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", name], check=True)
        shutil.copy("user-key.pub", "authorized")
        with open("host-key.pub", encoding="ascii") as key, open("known", "w", encoding="ascii") as known:
            known.write(f"{ADDRESS} {key.read()}")
        path = os.path.abspath(os.path.dirname(daemons.program("mprofctl")))
        with open("sshd-config", "w", encoding="ascii") as f:
            f.write(
                f"ListenAddress {ADDRESS}:22\nHostKey {os.path.abspath('host-key')}\n"
                f"AuthorizedKeysFile {os.path.abspath('authorized')}\nPidFile none\nStrictModes no\nUsePAM no\n"
                "PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n"
                f"SetEnv PATH={path}:/usr/bin:/bin\n"
            )
        os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        log = self.enterContext(open("sshd.log", "wb"))
        server = subprocess.Popen([*IN_DOM0, "/usr/sbin/sshd", "-D", "-e", "-f", os.path.abspath("sshd-config")], stderr=log)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        self.d.wait(lambda: server.poll() is not None or self.answers(22))
        self.assertIsNone(server.poll())

    @staticmethod
    def answers(port):
        with contextlib.suppress(OSError), socket.create_connection((ADDRESS, port), 5):
            return True
        return False


# Chromium reads policies from this directory alone.
POLICIES = "/etc/chromium"


@unittest.skipUnless(shutil.which("node") and "MPROF_BROWSER" in os.environ, "MPROF_BROWSER does not name the packages of tests/browser")
class Page(namespaces.Case):
    """The page, in a real browser."""

    guests = {"web": ["--rate", "2000"], "db": ["--rate", "200"]}

    def page(self, mode, *more, prefix=(), env=None):
        script = os.path.join(namespaces.HERE, "page.mjs")
        # Only Chromium itself has policies.
        browser = os.environ.get("MPROF_CHROMIUM", "/usr/bin/chromium")
        done = run(*prefix, "node", script, mode, URL, "web", *more, env={"MPROF_BUILD": daemons.BUILD, "MPROF_CHROMIUM": browser, **(env or {})})
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_token(self):
        self.page("token", self.full)

    def with_certificate(self, mode, name):
        """Open the page in a browser with the certificate NAME, and with trust in the server's authority."""
        home = os.path.abspath("home")
        store = f"sql:{home}/.pki/nssdb"
        os.makedirs(f"{home}/.pki/nssdb")
        for command in (
            ["certutil", "-d", store, "-N", "--empty-password"],
            ["certutil", "-d", store, "-A", "-n", "authority", "-t", "C,,", "-i", "tls/ca.pem"],
            ["openssl", "pkcs12", "-export", "-in", f"tls/{name}.pem", "-inkey", f"tls/{name}.key", "-out", "key.p12", "-passout", "pass:"],
            ["pk12util", "-d", store, "-i", "key.p12", "-W", ""],
        ):
            done = run(*command)
            self.assertEqual(done.returncode, 0, (command, done.stdout, done.stderr))
        # The browser chooses the certificate without asking. Only its own processes see the policy.
        shutil.copytree(POLICIES, "policies")
        os.makedirs("policies/policies/managed", exist_ok=True)
        with open("policies/policies/managed/certificate.json", "w", encoding="ascii") as f:
            json.dump({"AutoSelectCertificateForUrls": [json.dumps({"pattern": URL, "filter": {}})]}, f)
        mount = f'mount --bind "{os.path.abspath("policies")}" {POLICIES} && exec "$@"'
        self.page(mode, prefix=["unshare", "--mount", "sh", "-c", mount, "sh"], env={"HOME": home})

    @unittest.skipUnless(
        shutil.which("certutil") and os.path.isdir(POLICIES), "there is no certutil (package libnss3-tools), or no Chromium of Debian"
    )
    def test_certificate(self):
        self.with_certificate("certificate", "viewer")

    @unittest.skipUnless(
        shutil.which("certutil") and os.path.isdir(POLICIES), "there is no certutil (package libnss3-tools), or no Chromium of Debian"
    )
    def test_certificate_of_another_authority(self):
        self.with_certificate("stranger", "stranger")


class Refused(namespaces.Case):
    """The server refuses some settings at an address that others reach."""

    guests = {}

    def refused(self, text, sentence):
        self.d.stop_server()
        os.rename("mprofd.conf", "before.conf")
        self.d.configure(text)
        command = [daemons.program("mprofd-http"), "--state", self.d.state, "--run", self.d.runs, "--config", "mprofd.conf"]
        done = run(*IN_DOM0, *command)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, sentence)
        os.rename("before.conf", "mprofd.conf")

    def test_plain(self):
        with open("mprofd.conf", encoding="utf-8") as f:
            good = f.read()
        self.refused(good.replace(f"https:{ADDRESS}:{PORT}", f"{ADDRESS}:{PORT}"), rf"{ADDRESS}:{PORT}.*loopback")
        self.refused(good.partition("[access]")[0], rf"{ADDRESS}:{PORT}.*\[access\]")


class Rotation(namespaces.Case):
    """New certificates under load."""

    more = "handshakes-per-peer = 1000\n"
    guests = {"web": ["--rate", "0", "--count", "2500000", "--size", "134217728", "--packets", "64"]}

    def setUp(self):
        super().setUp()
        self.running["web"].wait(daemons.PATIENCE)
        self.d.wait_ended("web")
        self.over, self.authority = threading.Event(), os.path.abspath("tls/ca.pem")
        self.faults, self.counts, self.serials = [], {"kept": 0, "fresh": 0}, []

    def context(self):
        return ssl.create_default_context(cafile=self.authority)

    def connect(self):
        return http.client.HTTPSConnection(ADDRESS, PORT, context=self.context(), timeout=daemons.HANGS)

    def ask(self, connection):
        connection.request("GET", "/v1/domains", None, {"Authorization": f"Bearer {self.full}"})
        answer = connection.getresponse()
        names = [d["name"] for d in json.loads(answer.read())["domains"]]
        if (answer.status, names) != (200, ["web"]):
            raise AssertionError(f"{answer.status} {names}")

    def serial(self):
        """Make a handshake. Return the serial number of the server's certificate."""
        with socket.create_connection((ADDRESS, PORT), 60) as s, self.context().wrap_socket(s, server_hostname=ADDRESS) as t:
            return int(t.getpeercert()["serialNumber"], 16)

    def load(self):
        """Ask on one connection all the time, and on new ones."""
        kept = self.connect()
        self.ask(kept)
        first = kept.sock
        while not self.over.wait(0.03):
            try:
                self.ask(kept)
                self.counts["kept"] += 1
                with contextlib.closing(self.connect()) as fresh:
                    self.ask(fresh)
                self.counts["fresh"] += 1
                self.serials.append(self.serial())
                if kept.sock is not first:
                    raise AssertionError("the server closed the kept connection")
            except Exception as error:  # pylint: disable=broad-exception-caught
                self.faults.append(repr(error))
                return
        kept.close()

    def download(self, into):
        """Read the trace slowly until all certificates were replaced, then the rest."""
        connection = self.connect()
        connection.request("GET", "/v1/domains/web/trace", None, {"Authorization": f"Bearer {self.full}"})
        answer = connection.getresponse()
        while piece := answer.read(65536 if self.over.is_set() else 4096):
            into.append(piece)
            self.over.wait(0.02)
        connection.close()

    def replace(self):
        """Give the server a new certificate by renaming its files. Return its serial number."""
        with contextlib.chdir("tls"):
            namespaces.server_certificate("next")
            done = run("openssl", "x509", "-in", "next.pem", "-noout", "-serial")
            os.rename("next.pem", "server.pem")
            os.rename("next.key", "server.key")
        return int(done.stdout.strip().partition("=")[2], 16)

    def test_under_load(self):
        whole, pieces = self.d.trace("web"), []
        self.assertGreater(len(whole), 20 << 20)
        threads = [threading.Thread(target=self.load), threading.Thread(target=self.download, args=[pieces])]
        for thread in threads:
            thread.start()
        try:
            self.d.wait(lambda: pieces and self.counts["fresh"])
            before, seen = self.serial(), []
            for _ in range(ROTATIONS):
                seen.append(self.replace())
                self.d.wait(lambda wanted=seen[-1]: self.faults or self.serial() == wanted)
                n = self.counts["fresh"]
                self.d.wait(lambda n=n: self.faults or self.counts["fresh"] > n + 1)
            self.assertLess(sum(map(len, pieces)), len(whole) - (1 << 20), "the download ended before the last certificate came")
        finally:
            self.over.set()
            for thread in threads:
                thread.join()
        self.assertEqual(self.faults, [])
        self.assertEqual(b"".join(pieces), whole)
        # Each handshake had one of the certificates, and none an older one than the handshake before.
        order = [[before, *seen].index(serial) for serial in self.serials]
        self.assertEqual((order, set(order)), (sorted(order), set(range(ROTATIONS + 1))))
        print(f"{ROTATIONS} certificates, {self.counts}, {len(self.serials)} handshakes, {len(whole)} bytes", flush=True)


class Scan(namespaces.Case):
    """The judgement of sslscan on the server."""

    guests = {}
    more = "handshakes-per-peer = 10000\n"

    def scan(self, address, port):
        done = run("sslscan", "--xml=scan.xml", "--show-client-cas", f"{address}:{port}")
        self.assertEqual(done.returncode, 0, done.stderr)
        return xml.etree.ElementTree.parse("scan.xml").find("ssltest")

    def protocols(self, found):
        enabled = {f"{p.get('type')}{p.get('version')}" for p in found.findall("protocol") if p.get("enabled") == "1"}
        self.assertEqual(enabled, {"tls1.2", "tls1.3"})

    def ciphers(self, found):
        ciphers = found.findall("cipher")
        self.assertGreater(len(ciphers), 3)
        for cipher in ciphers:
            what = dict(cipher.attrib)
            self.assertIn(what["sslversion"], ("TLSv1.2", "TLSv1.3"), what)
            self.assertGreaterEqual(int(what["bits"]), 128, what)
            self.assertIn(what["strength"], ("strong", "acceptable"), what)
            # Each has forward secrecy, and authenticates what it encrypts.
            self.assertRegex(what["cipher"], r"^(TLS_AES|TLS_CHACHA20|ECDHE-)", what)
            self.assertRegex(what["cipher"], r"GCM|CCM|POLY1305", what)
        print(f"{len(ciphers)} ciphers: {' '.join(c.get('cipher') for c in ciphers)}", flush=True)

    def groups(self, found):
        groups = found.findall("group")
        self.assertGreater(len(groups), 2)
        for group in groups:
            self.assertGreaterEqual(int(group.get("bits")), 112, dict(group.attrib))
            self.assertNotIn("ffdhe", group.get("name").lower())

    @unittest.skipUnless(shutil.which("sslscan"), "there is no sslscan (package sslscan)")
    def test_sslscan(self):
        found = self.scan(ADDRESS, PORT)
        self.protocols(found)
        self.ciphers(found)
        self.groups(found)
        # An OpenSSL without compression cannot try it.
        self.assertIn("0", [c.get("supported") for c in found.findall("compression")] or ["0"])
        renegotiation = found.find("renegotiation")
        self.assertFalse(renegotiation.get("supported") == "1" and renegotiation.get("secure") == "0", renegotiation.attrib)
        said = run("openssl", "s_client", "-connect", f"{ADDRESS}:{PORT}", "-tls1_2", stdin=subprocess.DEVNULL).stdout
        self.assertIn("Secure Renegotiation IS supported", said)
        self.assertIn("Compression: NONE", said)
        self.assertEqual({h.get("sslversion"): h.get("vulnerable") for h in found.findall("heartbleed")}, {"TLSv1.2": "0", "TLSv1.3": "0"})

    @unittest.skipUnless(shutil.which("sslscan"), "there is no sslscan (package sslscan)")
    def test_a_weak_server_fails(self):
        """The same judgement refuses a server with old protocols and ciphers."""
        keys.openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "weak.key", "-out", "weak.pem", "-days", "2", "-subj", "/CN=weak")
        command = ["openssl", "s_server", "-accept", f"{HONEST}:{PORT}", "-cert", "weak.pem", "-key", "weak.key", "-quiet", "-www"]
        weak = subprocess.Popen(
            [*command, "-cipher", "AES128-SHA:DHE-RSA-AES128-SHA:@SECLEVEL=0"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        self.addCleanup(weak.wait)
        self.addCleanup(weak.kill)

        def answers():
            with contextlib.suppress(OSError), socket.create_connection((HONEST, PORT), 5):
                return True
            return False

        self.d.wait(answers)
        found = self.scan(HONEST, PORT)
        for judge in self.protocols, self.ciphers, self.groups:
            with self.assertRaises(AssertionError, msg=judge.__name__):
                judge(found)


if __name__ == "__main__":
    namespaces.main()
