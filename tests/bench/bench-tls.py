"""Answers over HTTPS, at the client: curl for the page and a long body, wrk for a small one.

The peer is nginx over TLS, with the same certificate and the same bytes as files.  Both sides run in turns.  Our client also
sends a token, which is checked for each request.
"""

import os
import re
import ssl
import statistics
import subprocess
import urllib.request

from collector import BRIEF, Collector, Load, line, wrong
from nginx import TURNS, Nginx, fetch, free_port, long_body, seconds, small_body
from server import Server

RING = ("--rings", 1, "--size", 4 << 20, "--packets", 64, "--rate", 4_000_000 if BRIEF else 40_000_000, "--seconds", 1 if BRIEF else 4)
CERTIFICATE = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=bench"]


def files_of_page(server):
    """Return the paths of all files that the page of a time line loads."""
    request = urllib.request.Request(f"{server.base}/", headers={"Accept": "text/html"})
    with urllib.request.urlopen(request, timeout=60, context=ssl.create_default_context(cafile="server.pem")) as answer:
        text = answer.read().decode()
    named = re.findall(r'(?:src|href)="(viewer/[^"]+)"', text)
    return [f"/{name}" for name in (*named, "viewer/worker/worker.js", "viewer/mprof.wasm")]


def page(server, nginx, aim):
    """All files of the page over one connection, compressed as for a browser."""
    files = files_of_page(server)
    if len(files) < 4:
        wrong(f"the page has only the files {files}")
    for name in files:
        os.makedirs(os.path.dirname(f"www{name}"), exist_ok=True)
        with open(f"www{name}", "wb") as f:
            f.write(fetch(server.base + name, "gzip"))
    ours, peer = [], []
    for _ in range(TURNS):
        ours.append(seconds([server.base + name for name in files], "gzip"))
        peer.append(seconds([nginx.base + name for name in files]))
    mine, theirs = (statistics.median(t) * 1e3 for t in (ours, peer))
    line("tls-page", mine, "ms", theirs, aim=1 / aim, met=mine * aim <= theirs)


def main():
    os.makedirs("www")
    subprocess.run(
        [*CERTIFICATE, "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "server.key", "-out", "server.pem"], check=True, capture_output=True
    )
    with Collector() as collector:
        with Load(*RING) as load:
            load.wait()
        collector.stop()
    server = Server(tls=True)
    nginx = Nginx(free_port(), tls=True)
    try:
        path = "/v1/domains/load-0"
        content = len(fetch(f"{server.base}{path}/trace", token=server.token))
        page(server, nginx, 0.7)
        long_body("tls-trace", server, nginx, f"{path}/trace", "identity", content, 0.7)
        with open("www/tls-domain", "wb") as f:
            f.write(fetch(server.base + path, token=server.token))
        small_body("tls-domain", server, nginx, path, 0.7)
        line("tls-memory", server.peak(), "MiB resident at most, of mprofd-http")
    finally:
        nginx.stop()
        server.stop()


main()
