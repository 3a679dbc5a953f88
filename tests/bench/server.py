"""Shared by the benchmarks of mprofd-http."""

import os
import re
import subprocess
import time

from collector import BUILD, wrong


class Server:
    """The server over ./state, on a port that the kernel chose."""

    def __init__(self):
        self.log = open("http.log", "w+", encoding="utf-8")
        open("http.conf", "w", encoding="ascii").close()
        self.process = subprocess.Popen(
            [f"{BUILD}/daemon/serve/mprofd-http", "--state", "state", "--run", "run", "--config", "http.conf"] + ["--listen", "127.0.0.1:0"],
            stderr=self.log,
        )
        self.base = f"http://127.0.0.1:{self._port()}"

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
