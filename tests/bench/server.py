"""Shared by the benchmarks of mprofd-http."""

import os
import re
import subprocess
import time

from collector import BUILD, wrong

TLS = {"certificate": "server.pem", "key": "server.key", "tokens": "tokens"}


PROGRAM = f"{BUILD}/daemon/serve/mprofd-http"


class Server:
    """
    The server over ./state, on a port that the kernel chose. TLS: over HTTPS, with server.pem and
    server.key, for a token that may read all.
    """

    def __init__(self, tls=False):
        self.log = open("http.log", "w+", encoding="utf-8")
        self.token = None
        with open("http.conf", "w", encoding="ascii") as f:
            if tls:
                f.write("[access]\nhandshakes-per-peer = 65536\n" + "".join(f"{k} = {os.path.abspath(v)}\n" for k, v in TLS.items()))
        if tls:
            made = [PROGRAM, "--config", "http.conf", "--token", "new", "bench", "--scope", "read=*"]
            self.token = subprocess.run(made, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        self.process = subprocess.Popen(
            [PROGRAM, "--state", "state", "--run", "run", "--config", "http.conf", "--listen", f"{'https:' * tls}127.0.0.1:0"],
            stderr=self.log,
        )
        self.base = f"http{'s' * tls}://127.0.0.1:{self._port()}"

    def _port(self):
        while True:
            with open("http.log", encoding="utf-8") as log:
                found = re.search(r"127\.0\.0\.1:(\d+)", log.read())
            if found:
                return found[1]
            if self.process.poll() is not None:
                wrong("mprofd-http does not start")
            time.sleep(0.01)

    def cpu(self):
        """Processor seconds of all threads."""
        total = 0
        for task in os.listdir(f"/proc/{self.process.pid}/task"):
            with open(f"/proc/{self.process.pid}/task/{task}/schedstat", encoding="ascii") as f:
                total += int(f.read().split()[0])
        return total / 1e9

    def peak(self):
        """Most resident MiB until now, with the mapped pages of files."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as f:
            return next(int(row.split()[1]) for row in f if row.startswith("VmHWM:")) / 1024

    def stop(self):
        self.process.terminate()
        self.process.wait()
