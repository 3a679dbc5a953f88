"""The PROXY protocol in front of mprofd-http, by bare sockets and by the real HAProxy: proxy.py BUILD-DIRECTORY [TEST…]"""

import os
import re
import shutil
import socket
import struct
import subprocess
import unittest

import access
import daemons

PROXY = "127.0.0.2"  # the address that the configuration lists
SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
BAD = "must begin with a header of the PROXY protocol"


def version_1(client="192.0.2.9"):
    return f"PROXY TCP4 {client} 127.0.0.1 5555 7080\r\n".encode()


def version_2(client="2001:db8::9"):
    addresses = socket.inet_pton(socket.AF_INET6, client) + socket.inet_pton(socket.AF_INET6, "::1") + struct.pack(">HH", 5555, 7080)
    return SIGNATURE + b"\x21\x21" + struct.pack(">H", len(addresses)) + addresses


class Case(access.Case):
    proxies = PROXY

    def configure(self, access=None):
        super().configure(access)
        with open("mprofd.conf", encoding="utf-8") as f:
            text = f.read()
        self.d.configure(text.replace("[http]\n", f"[http]\nproxy = {self.proxies}\n", 1))

    def connect(self, port, source=PROXY):
        s = socket.create_connection(("127.0.0.1", port), timeout=daemons.HANGS, source_address=(source, 0))
        self.addCleanup(s.close)
        return s

    def answer(self, s, token="mprof_0123456789abcdef_" + 64 * "0"):
        """Send a request with a wrong token, whose refusal is logged with the client's address. Return the status."""
        s.sendall(f"GET /v1/domains HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n".encode())
        return self.status(s)

    def status(self, s):
        text = b""
        while data := s.recv(65536):
            text += data
        found = re.match(rb"HTTP/1\.1 (\d+)", text)
        return int(found[1]) if found else text

    def peers(self):
        return re.findall(r"Wrong credentials were refused: peer=(\S+)", self.d.said())

    def metric(self, name):
        return int(re.search(rf"(?m)^{name} (\d+)$", self.d.get("/metrics").decode())[1])


class Header(Case):
    def test_address(self):
        """The address of the header is the client's, before a request and before a TLS handshake."""
        self.start()
        s = self.connect(self.plain)
        s.sendall(version_1())
        self.assertEqual(self.answer(s), 401)
        s = self.connect(self.port)
        s.sendall(version_2())
        with self.context().wrap_socket(s, server_hostname="127.0.0.1") as tls:
            self.assertEqual(self.answer(tls), 401)
        self.assertEqual(self.peers(), ["192.0.2.9", "2001:db8::/64"])
        self.assertEqual(self.metric("mprofd_http_proxied_total"), 2)

    def test_in_parts(self):
        """A header that comes byte by byte."""
        self.start()
        s = self.connect(self.plain)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in version_2("2001:db8:7::1"):
            s.sendall(bytes([byte]))
        self.assertEqual(self.answer(s), 401)
        self.assertEqual(self.peers(), ["2001:db8:7::/64"])

    def test_proxys_own(self):
        """LOCAL, and UNKNOWN: the connection is the proxy's own."""
        self.start()
        for header in (SIGNATURE + b"\x20\0\0\0", b"PROXY UNKNOWN\r\n"):
            s = self.connect(self.plain)
            s.sendall(header)
            self.assertEqual(self.answer(s), 401)
        self.assertEqual(set(self.peers()), {PROXY})
        self.assertEqual(self.metric("mprofd_http_proxied_total"), 2)

    def test_required(self):
        """From a listed address a header must come; from another one it is no request, and none is needed."""
        self.start()
        self.assertEqual(self.answer(self.connect(self.plain)), 400)
        self.assertIn(BAD, self.d.said())
        for header in (version_1(), version_2()):
            s = self.connect(self.plain, "127.0.0.3")
            s.sendall(header)
            self.assertIn(self.status_of_bad(s), (400, b""), "no request")
        self.assertEqual(self.answer(self.connect(self.plain, "127.0.0.3")), 401)
        self.assertEqual(self.peers(), ["127.0.0.3"])
        self.assertEqual(self.metric("mprofd_http_proxy_refused_total"), 1)

    def status_of_bad(self, s):
        s.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        return self.status(s)

    def test_hostile(self):
        """Headers that are malformed, too long, or never complete, are refused and counted; the server goes on."""
        self.start()
        bad = (
            b"PROXY TCP4 1 2 3 4\r\n",
            b"PROXY " + b"x" * 200,
            SIGNATURE + b"\x21\x11\xff\xff",
            SIGNATURE + b"\x31\x11\0\x0c" + bytes(12),
            b"\x16\x03\x01",
            os.urandom(300) + b"\0",
        )
        for n, header in enumerate(bad):
            s = self.connect(self.plain)
            s.sendall(header)
            self.assertEqual(self.status(s), 400, header)
            self.assertEqual(self.metric("mprofd_http_proxy_refused_total"), n + 1)
        s = self.connect(self.plain)
        s.sendall(version_1()[:10])
        self.assertEqual(self.status(s), 400)
        self.assertEqual(self.metric("mprofd_http_proxy_refused_total"), len(bad) + 1)
        self.connect(self.plain).close()
        self.assertEqual(self.ask("/v1/domains", token=self.full).status, 200)


class Peers(Case):
    more = ""

    def configure(self, access=None):
        super().configure(access)
        with open("mprofd.conf", encoding="utf-8") as f:
            text = f.read()
        self.d.configure(text.replace("[http]\n", "[http]\nconnections-per-peer = 2\n", 1))

    def test_limits(self):
        """Limits of a peer are those of the client that the header names, and not the proxy's."""
        self.start()
        held = []
        for n in range(6):
            s = self.connect(self.plain)
            s.sendall(version_1(f"192.0.2.{n // 2}") + b"GET / HTTP/1.1\r\nHost: x\r\n")
            held.append(s)
        for s in held:
            s.sendall(b"Connection: close\r\n\r\n")
            self.assertNotEqual(self.status(s), b"", "closed to make room")


class Real(Case):
    """HAProxy, which passes TCP through."""

    @unittest.skipUnless(shutil.which("haproxy") or os.path.exists("/usr/sbin/haproxy"), "no HAProxy here")
    def test_haproxy(self):
        self.start()
        ports = {}
        text = "defaults\n mode tcp\n timeout connect 10s\n timeout client 60s\n timeout server 60s\n"
        for way in ("send-proxy", "send-proxy-v2"):
            for name, port in (("plain", self.plain), ("tls", self.port)):
                ports[way, name] = daemons.free_port()
                text += f"listen {way}-{name}\n bind 127.0.0.1:{ports[way, name]}\n server one 127.0.0.1:{port} source {PROXY} {way}\n"
        with open("haproxy.cfg", "w", encoding="utf-8") as f:
            f.write(text)
        program = shutil.which("haproxy") or "/usr/sbin/haproxy"
        with subprocess.Popen([program, "-db", "-f", "haproxy.cfg"], stderr=subprocess.DEVNULL) as process:
            self.addCleanup(process.kill)
            self.d.wait(lambda: all(self.opens(port) for port in ports.values()))
            for n, ((_, name), port) in enumerate(ports.items()):
                s = socket.create_connection(("127.0.0.1", port), timeout=daemons.HANGS, source_address=(f"127.0.1.{n}", 0))
                self.addCleanup(s.close)
                if name == "tls":
                    s = self.enterContext(self.context().wrap_socket(s, server_hostname="127.0.0.1"))
                self.assertEqual(self.answer(s), 401)
            process.terminate()
        self.assertEqual(self.peers(), [f"127.0.1.{n}" for n in range(len(ports))])

    @staticmethod
    def opens(port):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            return False
        return True


if __name__ == "__main__":
    daemons.main()
