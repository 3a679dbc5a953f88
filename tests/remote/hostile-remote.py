"""Attack mprofd-http from other addresses, beside an honest client: hostile-remote.py BUILD-DIRECTORY [TEST…]

Each attack (attackers.py) runs alone for MPROF_ATTACK seconds (10 by default). Meanwhile an honest
client at an address of its own sends small requests over TLS, on a kept connection and on new ones:
the median of its times must stay below 100 ms, every answer must be right, and its connection must
not be closed. A guest writes all the time: the collector must lose nothing. Prints a line of JSON
with the figures of each attack.
"""

import contextlib
import json
import math
import os
import subprocess
import sys
import time

import attackers
import namespaces
from namespaces import ADDRESS, HOST, PORT, daemons, keys

SECONDS = float(os.environ.get("MPROF_ATTACK", "10"))
MEDIAN = 0.1  # seconds, the aim for an honest client; it is printed and not judged
MEMORY = 192 << 20  # bytes of mprofd-http
SOURCES = [f"192.0.2.{n}" for n in range(101, 151)]
ATTACKERS = os.path.join(namespaces.HERE, "attackers.py")


class Client:
    """A process of attackers.py."""

    def __init__(self, kind, **plan):
        command = [sys.executable, "-B", ATTACKERS, kind]
        self.kind = kind
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdin.write(json.dumps(plan) + "\n")
        self.process.stdin.flush()

    def end(self):
        """Return its figures."""
        try:
            said = self.process.communicate(timeout=daemons.PATIENCE)[0]
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise
        if self.process.returncode:
            raise AssertionError(f"{self.kind} ended with {self.process.returncode}")
        return json.loads(said)


# ---- certificates


def self_signed(name, *options, key=None):
    new = ["-key", key] if key else [*keys.KEY_OPTIONS, "-keyout", f"{name}.key"]
    keys.openssl("req", "-x509", *new, "-out", f"{name}.pem", "-days", "2", "-subj", "/CN=viewer", *options)
    return [os.path.abspath(f"{name}.pem"), os.path.abspath(key or f"{name}.key")]


def oversized():
    """Make the certificates of the attack. Return {what: [certificate, key]}."""
    made = {}
    for what, size in (("60 KB", 60_000), ("1 MB", 1_000_000)):
        name = f"long-{size}"
        with open(f"{name}.cnf", "w", encoding="ascii") as f:
            f.write("[req]\ndistinguished_name = dn\n[dn]\n[long]\n1.2.3.4 = ASN1:UTF8String:" + "a" * min(size, 60_000) + "\n")
            f.writelines(f"1.2.3.{n} = ASN1:UTF8String:{'a' * 60_000}\n" for n in range(5, 4 + size // 60_000))
        made[what] = self_signed(name, "-config", f"{name}.cnf", "-extensions", "long")
    chain = self_signed("chain")
    with open("chain.pem", encoding="ascii") as f:
        text = f.read()
    with open("chain.pem", "w", encoding="ascii") as f:
        f.write(text * 200)
    made["a chain of 200"] = chain
    keys.costly_key("costly.key", 16, 512)
    made["RSA of 16,384 bits with a long exponent"] = self_signed("costly", key="costly.key")
    return made


# ---- the attacks


class Hostile(namespaces.Case):
    prefix = ["nice", "-n", str(attackers.PRIORITY)]
    more = "requests-per-identity = 64\nlive-per-identity = 16\n"
    guests = {"busy": ["--rate", "200000", "--size", "8388608"]}

    def setUp(self):
        super().setUp()
        self.honest_guest = self.writer("writer-legacy", *"--ring rings/honest.ctf --truth truth --size 1048576 --rate 100000".split())
        self.d.wait(lambda: self.d.domain("honest"))
        self.reader = self.token("reader", "read=*")
        self.plan = {"address": ADDRESS, "port": PORT, "ca": os.path.abspath("tls/ca.pem"), "names": ["busy", "honest"], "token": self.reader}

    def resident(self):
        with open(f"/proc/{self.d.server.pid}/status", encoding="ascii") as f:
            return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmRSS"))

    def attack(self, kind, most=None, **more):
        """Run an attack beside the honest client. Return the attacker's figures."""
        lines = self.d.said().count("\n")
        plan = {**self.plan, **more, "sources": SOURCES}
        attacker = Client(kind, **plan) if kind else None
        time.sleep(1)  # the attack has begun
        honest = Client("honest", **{**plan, "sources": [namespaces.HONEST]})
        began = time.monotonic()
        until, memory = began + SECONDS, 0
        while time.monotonic() < until:
            memory = max(memory, self.resident())
            self.assertIsNone(self.d.server.poll(), self.d.said()[-3000:])
            time.sleep(0.1)
        said = honest.end()
        figures = attacker.end() if attacker else {}
        self.judge(kind or "nothing", said, memory, figures, self.d.said().count("\n") - lines, time.monotonic() - began)
        return figures

    def judge(self, kind, said, memory, figures, lines, took):
        honest = {"faults": len(said["faults"])}
        for name, times in said["times"].items():
            times = sorted(times) or [math.inf]
            median = times[len(times) // 2]
            honest[name] = {"n": len(times), "median_ms": round(1e3 * median, 1), "met": median < MEDIAN, "worst_ms": round(1e3 * times[-1], 1)}
        # On a line of its own: unittest leaves its line open.
        print("\n" + json.dumps({"attack": kind, "honest": honest, "memory_mib": memory >> 20, "log_lines": lines, "attacker": figures}), flush=True)
        self.assertEqual(said["faults"], [])
        for name, times in said["times"].items():
            self.assertGreater(len(times), 0, name)
        self.assertLess(memory, MEMORY)
        self.assertLess(lines, 40 + 20 * took, self.d.said()[-3000:])

    def lost_nothing(self):
        """End the honest guest, and compare what was archived with what it wrote."""
        self.honest_guest.terminate()
        self.honest_guest.wait(60)
        self.d.wait_ended("honest")
        said = daemons.judge("honest", "truth", self.d.trace("honest"), self.d.packets("honest"), "--ended", "--begin", "0")
        print(json.dumps({"collector": said}), flush=True)
        self.assertEqual((said["gaps"], said["at_end"]), (0, 0))
        self.assertEqual(self.d.gaps("busy"), [])

    def tearDown(self):
        self.lost_nothing()

    def test_nothing(self):
        self.attack(None)

    def test_idle(self):
        figures = self.attack("idle")
        self.assertGreaterEqual(figures["opened"], 5000)

    def test_slow_handshakes(self):
        figures = self.attack("slow")
        self.assertGreaterEqual(figures["handshakes"], 500)

    def test_wrong_tokens(self):
        figures = self.attack("wrong_tokens")
        self.assertLessEqual(set(figures), {"401", "429"})
        # A slower machine sends fewer.
        self.assertGreater(sum(figures.values()), 300 * SECONDS)
        self.assertGreater(figures["429"], figures["401"])

    def test_header_floods(self):
        figures = self.attack("flood")
        self.assertLessEqual({k for k in figures if k.isdigit()}, {"400", "413", "414", "431"})
        self.assertGreater(figures["bytes"], 1 << 20)

    def test_smuggling(self):
        figures = self.attack("smuggle")
        self.assertEqual([k for k in figures if k.startswith("SMUGGLED")], [])
        self.assertGreater(figures["shapes"], 40)

    def test_renegotiation(self):
        figures = self.attack("renegotiate")
        self.assertGreater(figures["asked"], 0)
        self.assertEqual(figures["done"], 0)

    def test_early_data(self):
        """A change in early data could be replayed, so it must not be done."""
        self.foreign_session()
        with open("early", "w", encoding="ascii", newline="") as f:
            f.write(f"POST /v1/domains/honest/captures HTTP/1.1\r\nHost: {ADDRESS}\r\nAuthorization: Bearer {self.full}\r\nContent-Length: 0\r\n\r\n")
        figures = self.attack("early", session=os.path.abspath("session"), early=os.path.abspath("early"))
        self.assertGreater(figures["refused"], 0)
        self.assertEqual(set(figures), {"connections", "refused"})
        self.assertEqual(self.d.captures("honest"), [])

    def foreign_session(self):
        """Get a session that allows early data from a server of openssl, into the file session."""
        with contextlib.ExitStack() as stack:
            command = ["openssl", "s_server", "-accept", f"{namespaces.HONEST}:7444", "-cert", "tls/server.pem", "-key", "tls/server.key"]
            server = subprocess.Popen([*command, "-tls1_3", "-early_data", "-quiet"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
            stack.callback(server.wait)
            stack.callback(server.kill)
            client = ["openssl", "s_client", "-connect", f"{namespaces.HONEST}:7444", "-servername", HOST, "-tls1_3", "-sess_out", "session"]

            def made():
                said = subprocess.run(client, input=b"x\n", capture_output=True, check=False, timeout=20)
                return said.returncode == 0 and os.path.exists("session")

            self.d.wait(made)

    def test_oversized_certificates(self):
        figures = self.attack("certificates", certificates=oversized())
        self.assertEqual({k.partition(": ")[2] for k in figures} - {"401", "closed"}, set())

    def test_stops_to_read(self):
        tokens = [self.token(f"follower-{n}", "read=busy") for n in range(4)]
        self.d.wait(lambda: self.d.domain("busy"))
        figures = self.attack("stopped", tokens=tokens)
        self.assertGreaterEqual(figures["200"], 32)


if __name__ == "__main__":
    namespaces.main(SOURCES)
