"""Shared by the benchmarks of answers over HTTP and HTTPS: nginx with the same bytes as files, and clients."""

import os
import re
import ssl
import statistics
import subprocess
import time
import urllib.request

from collector import BRIEF, line, wrong
from ports import free_port  # noqa: F401  pylint: disable=unused-import

PEERS = os.environ.get("MPROF_PEERS", "/")
TURNS = 2 if BRIEF else 9
SECONDS = 1 if BRIEF else 3

NGINX = """worker_processes 1; error_log {0}/nginx.log; pid {0}/nginx.pid; daemon off;
events {{ worker_connections 1024; }}
http {{ access_log off; sendfile on; keepalive_requests 100000000; client_body_temp_path {0}/body; proxy_temp_path {0}/proxy;
  fastcgi_temp_path {0}/fastcgi; uwsgi_temp_path {0}/uwsgi; scgi_temp_path {0}/scgi;
  {2} server {{ listen 127.0.0.1:{1} {3}; root {0}/www; }} }}
"""
TLS = "ssl_certificate {0}/server.pem; ssl_certificate_key {0}/server.key; ssl_protocols TLSv1.2 TLSv1.3;"


def fetch(url, encoding="identity", token=None):
    headers = {"Accept-Encoding": encoding} | ({"Authorization": f"Bearer {token}"} if token else {})
    context = ssl.create_default_context(cafile="server.pem") if url.startswith("https:") else None
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60, context=context) as answer:
        return answer.read()


class Nginx:
    """It serves the files of ./www; over TLS with server.pem and server.key."""

    def __init__(self, port, tls=False):
        here = os.getcwd()
        os.chmod(here, 0o755)
        with open("nginx.conf", "w", encoding="ascii") as f:
            f.write(NGINX.format(here, port, TLS.format(here) if tls else "", "ssl" if tls else ""))
        self.process = subprocess.Popen([f"{PEERS}/usr/sbin/nginx", "-c", f"{here}/nginx.conf", "-g", "user root;"])
        self.base = f"http{'s' * tls}://127.0.0.1:{port}"
        while True:
            try:
                fetch(self.base)
            except urllib.error.HTTPError:
                return
            except OSError:
                if self.process.poll() is not None:
                    wrong("nginx does not start")
                time.sleep(0.02)

    def stop(self):
        self.process.terminate()
        self.process.wait()


def seconds(urls, encoding="identity", token=None):
    """Seconds that curl waits for the whole bodies of URLS, over one connection."""
    headers = ["-H", f"Accept-Encoding: {encoding}"] + (["-H", f"Authorization: Bearer {token}"] if token else [])
    command = ["curl", "-sS", "-k", "--http1.1", *headers, "-w", "%{http_code} %{time_total} %{num_connects}\n"]
    for url in urls:
        command += ["-o", "/dev/null", url]
    said = [row.split() for row in subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout.splitlines()]
    if [row[0] for row in said] != ["200"] * len(urls) or sum(int(row[2]) for row in said) != 1:
        wrong(f"{urls} were answered {said}")
    return sum(float(row[1]) for row in said)


def rate(url, token=None):
    """Requests a second of eight connections."""
    headers = ["-H", f"Authorization: Bearer {token}"] if token else []
    said = subprocess.run(["wrk", "-t1", "-c8", f"-d{SECONDS}", *headers, url], stdout=subprocess.PIPE, text=True, check=True).stdout
    if "Non-2xx" in said or "Socket errors" in said:
        wrong(f"{url}: {said}")
    return float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1])


def long_body(name, server, nginx, path, encoding, content, aim):
    body = fetch(server.base + path, encoding, server.token)
    if body != fetch(server.base + path, encoding, server.token):
        wrong(f"two answers to {path} differ")
    with open(f"www/{name}", "wb") as f:
        f.write(body)
    ours, peer, cpu = [], [], server.cpu()
    for _ in range(TURNS):
        ours.append(seconds([server.base + path], encoding, server.token))
        peer.append(seconds([f"{nginx.base}/{name}"]))
    cpu = (server.cpu() - cpu) / TURNS
    mine, theirs = (content / statistics.median(t) / 1e6 for t in (ours, peer))
    line(name, mine, "MB/s", theirs, aim=aim, met=mine >= aim * theirs)
    line(f"{name}-cpu", cpu, "s")


def small_body(name, server, nginx, path, aim, bare=None):
    """BARE: the base of another peer with the same bytes."""
    turns = [(rate(server.base + path, server.token), rate(f"{bare or nginx.base}/{name}")) for _ in range(min(TURNS, 3))]
    ours, theirs = (statistics.median(t) for t in zip(*turns))
    line(name, ours, "requests/s", theirs, aim=aim, met=ours >= aim * theirs)
