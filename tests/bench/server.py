"""Shared by the benchmarks of mprofd-http and mprofd-sink."""

import os
import subprocess

from collector import BUILD, launcher

TLS = {"certificate": "server.pem", "key": "server.key", "tokens": "tokens"}


PROGRAM = f"{BUILD}/daemon/serve/mprofd-http"


class Server:
    """
    The server over ./state, on a port that the kernel chose, and at the Unix socket PATH. TLS: over HTTPS, with
    server.pem and server.key, for a token that may read all. CONFIG: more lines of the configuration.
    """

    def __init__(self, tls=False, config=""):
        self.path = os.path.abspath("http.sock")
        self.token = None
        with open("http.conf", "w", encoding="ascii") as f:
            f.write(config)
            if tls:
                f.write("[access]\nhandshakes-per-peer = 65536\n" + "".join(f"{k} = {os.path.abspath(v)}\n" for k, v in TLS.items()))
        if tls:
            made = [PROGRAM, "--config", "http.conf", "--token", "new", "bench", "--scope", "read=*"]
            self.token = subprocess.run(made, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        for path in ("state", "run"):
            os.makedirs(path, exist_ok=True)
        listen = ["--listen", f"{'https:' * tls}127.0.0.1:0", "--listen", f"unix:{self.path}"]
        words = [PROGRAM, "--state", "state", "--run", "run", "--config", "http.conf", *listen]
        self.process = launcher.Program(words, log="http.log").wait_ready()
        self.base = self.process.addresses()[0]
        self.port = self.process.port()

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
        self.process.stop()


def sink(config=""):
    """Start the sink over ./state, on a port that the kernel chose. CONFIG: more lines of its section."""
    for path in ("state", "run/sink"):
        os.makedirs(path, exist_ok=True)
    with open("sink.conf", "w", encoding="ascii") as f:
        f.write(f"[archive]\nfree-space = 1M\nreserve = 0\n[sink]\nlisten = 127.0.0.1:0\nrate = 0\nrate-per-guest = 0\nbytes-per-guest = 0\n{config}")
    words = [f"{BUILD}/daemon/sink/mprofd-sink", "--state", "state", "--run", "run", "--config", "sink.conf"]
    return launcher.Program(words, log="sink.log").wait_ready()
