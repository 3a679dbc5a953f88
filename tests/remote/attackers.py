"""Remote clients of mprofd-http, honest and hostile: attackers.py KIND

Standard input has one line, the JSON of a Plan. The client runs until standard input ends, and
prints its figures as one line of JSON. Each runs in a process of its own (hostile-remote.py), so that the
work of an attacker does not delay the honest client.
"""

import collections
import contextlib
import http.client
import itertools
import json
import os
import re
import resource
import selectors
import socket
import ssl
import subprocess
import sys
import threading
import time

HONEST_EVERY = 0.2  # seconds between requests of the honest client
IDLE_CLIENTS, SLOW_CLIENTS, WRONG_TOKENS = 5000, 500, 1000  # the last in each second
REOPEN = 1.0  # seconds until an idle client that the server has closed comes again
FLOOD = 1 << 20  # bytes of header that a client sends at most
# The daemons and the honest client have this priority, because the attackers' processors would be
# other machines'. So other work of this machine does not count, either.
PRIORITY = -10


class Plan:
    """The address of the server, the attacker's own addresses, and what it knows."""

    def __init__(self, text):
        self.__dict__.update(json.loads(text))
        self.over = threading.Event()
        self.counts = collections.Counter()
        self.next_source = itertools.cycle(self.sources)

    def wait_for_end(self):
        """Wait until standard input ends."""
        sys.stdin.read()
        self.over.set()

    def context(self, certificate=None):
        context = ssl.create_default_context(cafile=self.ca)
        if certificate:
            context.load_cert_chain(*certificate)
        return context

    def tcp(self, timeout=20):
        s = socket.socket()
        s.settimeout(timeout)
        s.bind((next(self.next_source), 0))
        s.connect((self.address, self.port))
        return s

    def tls(self, context=None):
        return (context or self.context()).wrap_socket(self.tcp(), server_hostname=self.address)

    def head(self, path, *lines, token=None, method="GET"):
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.address}", *lines]
        if token:
            lines.append(f"Authorization: Bearer {token}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def threads(self, n, work):
        """Run WORK in N threads again and again until the end. A connection that breaks is counted."""

        def repeat():
            while not self.over.is_set():
                try:
                    work()
                except (OSError, http.client.HTTPException) as error:
                    self.counts[f"broken by {type(error).__name__}"] += 1
                    self.over.wait(0.05)

        threads = [threading.Thread(target=repeat, daemon=True) for _ in range(n)]
        for thread in threads:
            thread.start()
        self.over.wait()
        for thread in threads:
            thread.join(30)


# ---- the honest client


def honest(plan):
    """Send small requests all the time, on one connection and on new ones."""
    context, times, faults = plan.context(), {"kept": [], "fresh": []}, []

    def connect():
        connection = http.client.HTTPSConnection(plan.address, plan.port, context=context, timeout=300)
        connection.auto_open = 0
        connection.connect()
        return connection

    def ask(connection):
        connection.request("GET", "/v1/domains", None, {"Authorization": f"Bearer {plan.token}"})
        answer = connection.getresponse()
        names = sorted(d["name"] for d in json.loads(answer.read()).get("domains", []))
        if (answer.status, names) != (200, plan.names):
            raise AssertionError(f"status {answer.status}, names {names}")

    def timed(kind, call):
        began = time.monotonic()
        try:
            call()
            times[kind].append(time.monotonic() - began)
            return True
        except (OSError, http.client.HTTPException, AssertionError, ValueError) as error:
            faults.append(f"{kind} after {time.monotonic() - began:.3f} s: {error!r}")
            return False

    def fresh():
        with contextlib.closing(connect()) as connection:
            ask(connection)

    kept = connect()
    while not plan.over.is_set() or not (faults or all(times.values())):  # at least one of each, however slow the machine is
        if not timed("kept", lambda: ask(kept)):
            with contextlib.suppress(OSError):
                kept = connect()
        timed("fresh", fresh)
        plan.over.wait(HONEST_EVERY)
    return {"times": times, "faults": faults}


# ---- attackers


def idle(plan):
    """Hold 5,000 connections that send nothing. One that the server closes comes again."""
    selector, later = selectors.DefaultSelector(), collections.deque()

    def open_one():
        s = socket.socket()
        s.setblocking(False)
        s.bind((next(plan.next_source), 0))
        s.connect_ex((plan.address, plan.port))
        selector.register(s, selectors.EVENT_READ)
        plan.counts["opened"] += 1

    for _ in range(IDLE_CLIENTS):
        open_one()
    while not plan.over.is_set():
        for key, _ in selector.select(0.05):
            with contextlib.suppress(BlockingIOError):
                with contextlib.suppress(ConnectionError):
                    if key.fileobj.recv(4096):
                        continue
                selector.unregister(key.fileobj)
                key.fileobj.close()
                plan.counts["closed by the server"] += 1
                later.append(time.monotonic() + REOPEN)
        while later and later[0] < time.monotonic():
            later.popleft()
            open_one()
    plan.counts["held at the end"] = len(selector.get_map())


def hello(plan):
    """Return the bytes of a ClientHello."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        plan.context().wrap_bio(incoming, outgoing, server_hostname=plan.address).do_handshake()
    return outgoing.read()


def slow(plan):
    """Hold 500 handshakes, each of which sends one byte in half a second."""
    text, held = hello(plan), []
    while not plan.over.is_set():
        began = time.monotonic()
        for client in list(held):
            s, at = client
            try:
                s.send(text[at : at + 1])
                client[1] = min(at + 1, len(text) - 1)
            except OSError:
                s.close()
                held.remove(client)
                plan.counts["closed by the server"] += 1
        while len(held) < SLOW_CLIENTS:
            try:
                held.append([plan.tcp(), 0])
                plan.counts["handshakes"] += 1
            except OSError:
                break
        plan.over.wait(max(0, 0.5 - (time.monotonic() - began)))
    plan.counts["held at the end"] = len(held)


def answer_status(stream):
    """Read an answer with Content-Length. Return its status, or raise ConnectionError."""
    line = stream.readline()
    if not line:
        raise ConnectionError("closed")
    size = 0
    while header := stream.readline().strip():
        if header.lower().startswith(b"content-length:"):
            size = int(header.split(b":")[1])
    stream.read(size)
    return int(line.split()[1])


def wrong_tokens(plan):
    """Send 1,000 wrong tokens a second: a known identifier with a wrong secret, and an unknown one."""
    known = plan.token[:-1] + ("0" if plan.token[-1] != "0" else "1")
    texts = [plan.head("/v1/domains", token=t) for t in (known, f"mprof_{'0' * 16}_{'0' * 64}")]
    each = WRONG_TOKENS / 10

    def work():
        with plan.tls() as s, s.makefile("rb") as stream:
            began, n = time.monotonic(), 0
            while not plan.over.is_set():
                s.sendall(texts[n % 2])
                plan.counts[answer_status(stream)] += 1
                n += 1
                time.sleep(max(0, began + n / each - time.monotonic()))

    plan.threads(10, work)


def flood(plan):
    """Send headers without end: a long one, many short ones, a long request line, and many cookies."""
    kinds = itertools.cycle([b"a" * 4096, b"X-A: b\r\n" * 512, b"Cookie: a=b; c=d\r\n" * 200, b"/" * 4096])

    def work():
        kind = next(kinds)
        with plan.tls() as s:
            s.sendall(b"GET /" if kind[:1] == b"/" else plan.head("/v1/domains")[:-2] + (b"X: " if kind[:1] == b"a" else b""))
            try:
                for _ in range(FLOOD // len(kind)):
                    s.sendall(kind)
                    plan.counts["bytes"] += len(kind)
            except OSError:
                plan.counts["cut off"] += 1
            got = b""
            with contextlib.suppress(OSError):
                got = s.recv(4096)
            plan.counts[int(got.split()[1]) if got else "closed without an answer"] += 1

    plan.threads(16, work)


# Each has a second request, for /smuggled, in a place that two readers of HTTP may understand in two ways.
INNER = b"GET /smuggled HTTP/1.1\r\nHost: %s\r\n\r\n"


def smuggling_shapes(host):
    """Return the shapes as {name: bytes}."""
    inner = INNER % host
    size = len(inner)

    def request(*lines, body=b"", start=b"POST /v1/session HTTP/1.1", hosts=(host,)):
        return b"\r\n".join([start, *[b"Host: " + h for h in hosts], *lines]) + b"\r\n\r\n" + body

    def chunked(head):
        """A body that is empty if it is in chunks, and INNER is in it if it is not."""
        return request(*head, body=b"0\r\n\r\n" + inner)

    length = b"Content-Length: %d" % (size + 5)
    shapes = {
        "length and chunks": chunked([length, b"Transfer-Encoding: chunked"]),
        "chunks and length": chunked([b"Transfer-Encoding: chunked", length]),
        "two lengths": request(b"Content-Length: 0", b"Content-Length: %d" % size, body=inner),
        "two lengths, the long one first": request(b"Content-Length: %d" % size, b"Content-Length: 0", body=inner),
        "two hosts": request(b"Content-Length: 0", hosts=(host, b"evil.test"), body=inner),
        "folded length": request(b"X: y", b" Content-Length: %d" % size, body=inner),
        "blank before the colon": request(b"Content-Length : %d" % size, body=inner),
        "chunks in HTTP/1.0": request(b"Transfer-Encoding: chunked", start=b"POST /v1/session HTTP/1.0", body=b"0\r\n\r\n" + inner),
        "NUL in a name": request(b"Content-\0Length: 0", b"Transfer-Encoding: chunked", length, body=b"0\r\n\r\n" + inner),
    }
    for value in (b"+%d", b"-%d", b"0x%x", b"%d,%d", b"%d junk", b"18446744073709551616%d", b" ", b"%d\x0b"):
        text = value % ((size,) * value.count(b"%"))
        shapes[f"length {text!r}"] = request(b"Content-Length: " + text, body=inner)
    for value in (
        b"xchunked",
        b"chunked, identity",
        b"identity, chunked",
        b"chunked, chunked",
        b"\x0bchunked",
        b"'chunked'",
        b"chunked\x00",
        b"gzip",
    ):
        shapes[f"encoding {value!r}"] = chunked([length, b"Transfer-Encoding: " + value])
        shapes[f"encoding {value!r} alone"] = chunked([b"Transfer-Encoding: " + value])
    for value in (b"0x0", b"-0", b"+0", b"0 0", b"0,0", b"", b"10000000000000000", b"0;\n"):
        shapes[f"chunk {value!r}"] = request(b"Transfer-Encoding: chunked", body=value + b"\r\n\r\n" + inner)
    return shapes


def smuggle(plan):
    """Send each shape. Count the answers that show that the second request was read."""
    shapes = smuggling_shapes(plan.address.encode())
    names = itertools.cycle(shapes)
    lock = threading.Lock()

    def work():
        with lock:
            name = next(names)
        got = b""
        with plan.tls() as s:
            s.settimeout(3)
            with contextlib.suppress(OSError):
                s.sendall(shapes[name])
                while piece := s.recv(65536):
                    got += piece
                plan.counts["closed by the server"] += 1
        statuses = [int(x) for x in re.findall(rb"(?:^|\n|\})HTTP/1\.[01] (\d{3}) ", got)]
        plan.counts["shapes"] += 1
        if b"No such route" in got or 404 in statuses:
            plan.counts[f"SMUGGLED {name}"] += 1
        if len(statuses) > 1 and os.environ.get("MPROF_VERBOSE"):
            plan.counts[f"{name}: {statuses}"] += 1
        for status in statuses[:1] or ["no answer"]:
            plan.counts[status] += 1

    plan.threads(8, work)


def s_client(plan, *options, text=b"", wait=0.0):
    """Run openssl s_client, send TEXT, and end it after WAIT seconds. Return its output."""
    process = subprocess.Popen(
        ["openssl", "s_client", "-connect", f"{plan.address}:{plan.port}", "-bind", next(plan.next_source), "-CAfile", plan.ca, *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    with contextlib.suppress(BrokenPipeError):
        for piece in text if isinstance(text, list) else [text]:
            process.stdin.write(piece)
            process.stdin.flush()
            plan.over.wait(wait)
    with contextlib.suppress(subprocess.TimeoutExpired):
        return process.communicate(timeout=10)[0]
    process.kill()
    return process.communicate()[0]


def renegotiate(plan):
    """Ask for another handshake on a connection of TLS 1.2."""

    def work():
        said = s_client(plan, "-tls1_2", text=[b"", b"R\n", b"R\n", b"R\n"], wait=0.15)
        plan.counts["connections"] += 1
        plan.counts["asked"] += said.count(b"RENEGOTIATING")
        # The client shows the chain of each handshake that is complete.
        plan.counts["done"] += max(0, said.count(b"verify return:1") // 2 - 1)

    plan.threads(4, work)


def early(plan):
    """Send early data with a session of another server, which promised to take them."""

    def work():
        said = s_client(plan, "-tls1_3", "-sess_in", plan.session, "-early_data", plan.early, "-servername", "trace.test", wait=0.1)
        plan.counts["connections"] += 1
        plan.counts["refused" if b"Early data was rejected" in said else "taken" if b"Early data was accepted" in said else "not sent"] += 1

    plan.threads(4, work)


def certificates(plan):
    """Offer certificates that are long, of many, or costly to check."""
    *others, costly = plan.certificates.items()
    kinds, number = itertools.cycle(others), itertools.count()
    local = threading.local()

    def work():
        # To use the costly key takes the client long, so one thread does it.
        local.costly = getattr(local, "costly", None) or next(number) + 1
        name, pair = costly if local.costly == 1 else next(kinds)
        try:
            with plan.tls(plan.context(pair)) as s, s.makefile("rb") as stream:
                s.sendall(plan.head("/v1/domains"))
                plan.counts[f"{name}: {answer_status(stream)}"] += 1
        except OSError:
            plan.counts[f"{name}: closed"] += 1

    plan.threads(4, work)


def stopped(plan):
    """Follow a busy guest, and stop to read."""

    def work():
        token = next(tokens)
        with plan.tcp() as raw:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            with plan.context().wrap_socket(raw, server_hostname=plan.address) as s:
                s.sendall(plan.head("/v1/domains/busy/live", token=token))
                got = s.recv(1000)
                plan.counts[int(got.split()[1])] += 1
                if b" 200 " in got:
                    plan.over.wait(30)
                else:
                    plan.over.wait(0.2)

    tokens = itertools.cycle(plan.tokens)
    plan.threads(64, work)


KINDS = {f.__name__: f for f in (honest, idle, slow, wrong_tokens, flood, smuggle, renegotiate, early, certificates, stopped)}


def main():
    hard = max(resource.getrlimit(resource.RLIMIT_NOFILE)[1], 2 * IDLE_CLIENTS)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    plan = Plan(sys.stdin.readline())
    kind = sys.argv[1]
    if kind == "honest":
        os.nice(PRIORITY)
    threading.Thread(target=plan.wait_for_end, daemon=True).start()
    figures = KINDS[kind](plan) or {str(name): n for name, n in plan.counts.items()}
    print(json.dumps(figures), flush=True)
    os._exit(0)  # threads may wait in the kernel


if __name__ == "__main__":
    main()
