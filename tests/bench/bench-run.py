"""Measure the cost of mprof-run for a threaded server under load, beside `strace -f` and `ltrace -f`.

nginx reads its files with a pool of threads, MariaDB has a thread for each client. In each turn a server runs plain and under
the three tools at once, and is loaded in short slices, in an order that changes. Measured are the requests of a second, and the
processor time of a request: that of the server's processes and of the tool, the keeper too, without the client. The ratios are
medians of those of the turns. Wrong is a request without its answer, and a trace without the waits of the server's threads.
With --long there are eleven turns.
"""

import contextlib
import ctypes
import glob
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

from collector import BRIEF, BUILD, line, wrong
from nginx import PEERS, fetch, free_port

TURNS = 1 if BRIEF else 11 if "--long" in sys.argv[1:] else 5
SLICES = 1 if BRIEF else 6
SECONDS = 1
PR_SET_CHILD_SUBREAPER = 36
CALLS = "pthread_mutex_lock+pthread_cond_wait+pthread_cond_signal+read+write+poll+epoll_wait"
TOOLS = {
    "plain": [],
    "mprof-run": [f"{BUILD}/client/run/mprof-run", "--dir", "rings", "--keep", "--"],
    "strace": ["strace", "-f", "-o", "/dev/null"],
    "ltrace": ["ltrace", "-f", "-o", "/dev/null", "-e", CALLS],
}
NGINX = """worker_processes 1; error_log {0}/nginx.log; pid {0}/{1}.pid; daemon off; user root; thread_pool default threads=4;
events {{ worker_connections 1024; }}
http {{ access_log off; sendfile off; aio threads; keepalive_requests 100000000; client_body_temp_path {0}/body;
  proxy_temp_path {0}/proxy; fastcgi_temp_path {0}/fastcgi; uwsgi_temp_path {0}/uwsgi; scgi_temp_path {0}/scgi;
  server {{ listen 127.0.0.1:{1}; root {0}/www; }} }}
"""
BYTES = 8192


class Died(Exception):
    """The server has died under a tool."""


class Server:
    """A server, under TOOL."""

    name, waits = "", ()

    def __init__(self, tool):
        self.tool, self.requests, self.seconds, self.spent = tool, 0, 0.0, 0.0
        with open(f"{self.name}-{tool}.log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([*TOOLS[tool], *self.command()], stdout=log, stderr=log, start_new_session=True)
        end = time.monotonic() + 60
        while not self.lives():
            if self.process.poll() is not None or time.monotonic() > end:
                self.stop()
                raise Died
            time.sleep(0.05)

    def lives(self):
        try:
            return self.answers()
        except subprocess.CalledProcessError:
            return False

    def command(self):
        raise NotImplementedError

    def answers(self):
        raise NotImplementedError

    def load(self):
        """Load the server for SECONDS. Return the number of requests and the seconds."""
        raise NotImplementedError

    def slice(self):
        before = self.processor_time()
        try:
            requests, seconds = self.load()
        except subprocess.CalledProcessError as error:
            raise Died from error
        self.spent += self.processor_time() - before
        self.requests += requests
        self.seconds += seconds

    def processes(self):
        keepers = {pid for pid in below(os.getpid()) if comm(pid) == "mprof-keeper"} if self.tool == "mprof-run" else set()
        return below(self.process.pid) | {self.process.pid} | keepers

    def processor_time(self):
        """Return the processor time of the server and its tool, seconds."""
        ticks = 0
        for pid in self.processes():
            fields = stat_of(pid)
            ticks += int(fields[11]) + int(fields[12]) if fields else 0
        return ticks / os.sysconf("SC_CLK_TCK")

    def stop(self):
        for pid in self.processes():
            if comm(pid) != self.tool:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            for pid in self.processes():
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait()


class Nginx(Server):
    name, waits = "nginx", ("pthread_cond_wait", "epoll_wait")

    def command(self):
        port, here = free_port(), os.getcwd()
        os.makedirs("www", exist_ok=True)
        with open("www/file", "wb") as f:
            f.write(os.urandom(BYTES))
        with open(f"nginx-{self.tool}.conf", "w", encoding="ascii") as f:
            f.write(NGINX.format(here, port))
        self.url = f"http://127.0.0.1:{port}/file"
        return [f"{PEERS}/usr/sbin/nginx", "-c", f"{here}/nginx-{self.tool}.conf"]

    def answers(self):
        try:
            return len(fetch(self.url)) == BYTES
        except OSError:
            return False

    def load(self):
        command = ["wrk", "-t1", "-c16", "--timeout", "120s", f"-d{SECONDS}", self.url]
        said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        if "Non-2xx" in said or "Socket errors" in said:
            wrong(f"nginx: {said}")
        requests, seconds = re.search(r"(\d+) requests in ([\d.]+)s", said).groups()
        return int(requests), float(seconds)


class Mariadb(Server):
    """A table of counters, which clients read and increment."""

    name, waits = "mariadb", ("poll", "pthread_mutex_lock")
    clients = 8
    wanted = {}  # number of requests in SECONDS, for each tool

    def command(self):
        here = os.getcwd()
        data = f"--datadir={here}/data-{self.tool}"
        self.socket = f"--socket={here}/sql-{self.tool}"
        shutil.rmtree(f"data-{self.tool}", ignore_errors=True)
        install = "mariadb-install-db --no-defaults --auth-root-authentication-method=normal --skip-test-db --user=root"
        subprocess.run([*install.split(), data], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        options = "--no-defaults --skip-networking --user=root --innodb-flush-log-at-trx-commit=0 --pid-file=pid"
        return ["mariadbd", *options.split(), data, self.socket]

    def sql(self, text):
        command = ["mariadb", "--no-defaults", self.socket, "-uroot", "-BNe", text]
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout.strip()

    def answers(self):
        self.sql("CREATE DATABASE IF NOT EXISTS bench; CREATE TABLE IF NOT EXISTS bench.t (id INT PRIMARY KEY, n INT) ENGINE=InnoDB")
        self.sql("REPLACE INTO bench.t VALUES " + ", ".join(f"({i}, 0)" for i in range(1000)))
        # Short runs say how many requests are enough.
        self.wanted.setdefault(self.tool, 20 * self.clients)
        while self.load()[1] < SECONDS * 0.5:
            pass
        return True

    def load(self):
        requests = self.wanted[self.tool]
        queries = ";".join(f"SELECT n FROM bench.t WHERE id = {i}; UPDATE bench.t SET n = n + 1 WHERE id = {i}" for i in range(1, 11))
        command = ["mariadb-slap", "--no-defaults", self.socket, "-uroot", f"--concurrency={self.clients}", "--delimiter=;"]
        command += [f"--query={queries}", f"--number-of-queries={requests}", "--create-schema=bench", "--no-drop", "--silent"]
        before, began = int(self.sql("SELECT sum(n) FROM bench.t")), time.monotonic()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        seconds = time.monotonic() - began
        if int(self.sql("SELECT sum(n) FROM bench.t")) - before != requests // 2:
            wrong("mariadb has not made the requested changes")
        step = 20 * self.clients
        self.wanted[self.tool] = min(10 * requests, max(1, int(requests / seconds * SECONDS / step)) * step)
        return requests, seconds


def stat_of(pid):
    """Return the fields of /proc/PID/stat behind the name; [] if the process has gone."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
        return f.read().rpartition(")")[2].split()
    return []


def comm(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as f:
        return f.read().strip()
    return ""


def below(pid):
    """Return the children of PID, and theirs."""
    pids = [int(path[6:]) for path in glob.glob("/proc/[0-9]*")]
    parents = {child: int(fields[1]) for child in pids if (fields := stat_of(child))}
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def terminate_keepers():
    for pid in below(os.getpid()):
        if comm(pid) == "mprof-keeper":
            os.kill(pid, signal.SIGTERM)


def reap():
    """Wait for processes that their parents left behind, as the keeper and a server's children."""
    end = time.monotonic() + 60
    while below(os.getpid()):
        with contextlib.suppress(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)
        if time.monotonic() > end:
            wrong(f"the processes {below(os.getpid())} do not end")
        time.sleep(0.02)


def traces():
    """Return the directories of the processes. A hidden one is the keeper's."""
    return sorted(name for name in os.listdir("rings") if not name.startswith("."))


def dump(folder):
    """Return the text of a trace."""
    done = subprocess.run([f"{BUILD}/client/ctl/mprofctl", "dump", f"rings/{folder}"], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        wrong(f"mprofctl cannot read the trace of {folder}")
    return done.stdout


def check(server):
    """Check the traces of the server's processes."""
    places, folders = set(), traces()
    for folder in folders:
        places.update(re.findall(r'label="(\w+)', dump(folder)))
    if not places.issuperset(server.waits):
        wrong(f"{server.name} was not seen to wait in {server.waits}: {sorted(places)[:40]}")


def turn(kind, tools):
    """Return {tool: (requests of a second, processor time of one in µs)}. A server that dies under a tool has no numbers."""
    shutil.rmtree("rings", ignore_errors=True)
    os.mkdir("rings")
    servers, result = [], {}
    for tool in tools:
        with contextlib.suppress(Died):
            servers.append(kind(tool))
    for i in range(SLICES):
        for server in servers[:: -1 if i % 2 else 1]:
            # The slow tools need no such care.
            if server.tool in ("strace", "ltrace") and i % 3:
                continue
            try:
                server.slice()
            except Died:
                server.stop()
                servers = [other for other in servers if other is not server]
    for server in servers:
        server.stop()
        result[server.tool] = (server.requests / server.seconds, server.spent / server.requests * 1e6)
        if server.tool == "mprof-run":
            check(server)
    reap()
    return result


def compare(kind):
    """Measure all tools in turns, and print medians, and the medians of each turn's ratios."""
    tools, rows = list(TOOLS), []
    for _ in range(TURNS):
        rows.append(turn(kind, tools))
        tools = [tool for tool in tools if tool in rows[-1]]
        if not {"plain", "mprof-run"}.issubset(tools):
            wrong(f"{kind.name} died")
    for tool in TOOLS:
        aims = (0.95, 1.05) if tool == "mprof-run" else (None, None)
        for i, (what, unit) in enumerate((("rate", "requests/s"), ("cpu", "µs"))):
            name = f"{kind.name}-{tool}-{what}"
            if tool not in tools:
                line(name, None, unit)
                continue
            ours, peer = (statistics.median(row[t][i] for row in rows) for t in (tool, "plain"))
            ratio = statistics.median(row[tool][i] / row["plain"][i] for row in rows)
            met = None if aims[i] is None else bool(ratio >= aims[i] if i == 0 else ratio <= aims[i])
            line(name, ours, unit, peer, ratio, aims[i], met)


def calls():
    """Measure single calls that mprof-run wraps: the processor time of one, beside the call alone."""
    load, rows = f"{BUILD}/tests/bench/run-load", []
    count = 20_000 if BRIEF else 200_000
    for _ in range(TURNS):
        shutil.rmtree("rings", ignore_errors=True)
        os.mkdir("rings")
        row = []
        for tool in ("plain", "mprof-run"):
            said = subprocess.run([*TOOLS[tool], load, str(count)], stdout=subprocess.PIPE, text=True, check=True).stdout
            row.append({name: float(ns) for name, ns in (text.split() for text in said.splitlines())})
        rows.append(row)
        terminate_keepers()
        reap()
    seen = dump(traces()[0])
    # The ring has the newest waits, which are those of poll, and none of a call that did not have to wait.
    waits, ends = seen.count("type=Wait"), seen.count(" fulfills ")
    if '"poll in ' not in seen or "sem_wait in" in seen or "_lock in" in seen or waits < 1000 or abs(waits - ends) > 2:
        wrong(f"run-load has another trace than it should have: {waits} waits, {ends} ends")
    for name in rows[0][0]:
        ours, peer = (statistics.median(row[i][name] for row in rows) for i in (1, 0))
        line(f"run-{name}", ours - peer, "ns more", peer)


def main():
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    os.chmod(os.getcwd(), 0o755)
    try:
        calls()
        for kind in (Nginx, Mariadb):
            compare(kind)
    finally:
        for pid in below(os.getpid()):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)


main()
