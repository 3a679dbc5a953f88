"""Make a set of archives with the programs of a build, and the answers of its mprofd-http: make.py
BUILD-DIRECTORY OUT-DIRECTORY

OUT-DIRECTORY gets state.tar.xz and answers.json. The first is the state directory with its
write-ahead logs, as SIGKILL of all writers left it. The second has for each path the status, the
length and the SHA-256 of the body, and a JSON answer itself. README.md lists the sets in the tree.
"""

import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "integration"), os.path.join(HERE, "..", "integration", "serve")]

import daemons
import sink

GUEST_UUID = "0a1b2c3d-0000-4000-8000-00000000000a"
CONFIG = "[collector]\nflush-interval = 50ms\n[archive]\nfree-space = 1M\nreserve = 0\n"
LARGE = 1_300_000  # bytes of a packet that takes two rows


# ---- requests


def paths(d):
    """Return every path whose answer is stored, always in the same order."""
    found = ["/v1/domains?limit=1000", "/v1/captures?limit=1000", "/v1/memtraces?limit=1000"]
    for domain in d.json(found[0])["domains"]:
        for run in d.run_list(domain["name"]):
            of = f"/v1/domains/{domain['name']}"
            ask = f"run={run['run']}"
            found += [of, f"{of}/ctf.tar?{ask}"]
            for stream in streams(d, domain["name"], run["run"]):
                which = f"{ask}&stream={stream}"
                found += [f"{of}/{what}?{which}{more}" for what, more in (("trace", ""), ("trace", "&tail=raw"), ("packets", "&limit=1000"))]
    for capture in d.json(found[1])["captures"]:
        of = f"/v1/captures/{capture['id']}"
        found += [of, f"{of}/ctf.tar"]
        for stream in capture["streams"]:
            found += [f"{of}/trace?stream={stream['stream']}", f"{of}/trace?stream={stream['stream']}&tail=raw"]
    for recording in d.json(found[2])["memtraces"]:
        found += [f"/v1/memtraces/{recording['id']}", f"/v1/memtraces/{recording['id']}/data"]
    return sorted(set(found))


def streams(d, name, run):
    """Return the numbers of a run's streams, from the archive."""
    rows = d.query(f"SELECT number FROM streams WHERE run = {int(run)} ORDER BY number")
    return [row[0] for row in rows]


def is_body(path):
    """Return whether the answer of PATH holds bytes that a guest wrote."""
    return re.search(r"/(trace|ctf\.tar|data)(\?|$)", path) is not None


def without_rate(value):
    """Return JSON without the rates, which depend on the time of the request."""
    if isinstance(value, dict):
        return {key: without_rate(inner) for key, inner in value.items() if key != "rate"}
    return [without_rate(inner) for inner in value] if isinstance(value, list) else value


def answer(d, path, earlier=lambda path, body: body):
    """Return what is stored of the answer to PATH. EARLIER returns the body as an earlier version sent it."""
    status, headers, body = d.ask(path, timeout=60)
    body = earlier(path, body)
    kept = {"status": status, "bytes": len(body), "sha256": hashlib.sha256(body).hexdigest()}
    if not is_body(path):
        kept = {"status": status, "json": without_rate(json.loads(body))}
    for name in ("Mprof-Lost-Packets", "Mprof-Cut", "Mprof-Complete", "Mprof-Stream"):
        if headers.get(name):
            kept[name] = headers[name]
    return kept


def answers(d):
    """Return all answers by path, without fields that change with the clock."""
    return {path: answer(d, path) for path in paths(d)}


# ---- the archives' contents


class Set(sink.Sink):
    """All daemons of the build daemons.BUILD, in the current directory."""

    def __init__(self):
        super().__init__(config=CONFIG)

    def post(self, path, body, method="POST"):
        status, _, text = self.ask(path, method, json.dumps(body), {"Content-Type": "application/json"})
        assert status in (200, 201, 204), (path, status, text)
        return json.loads(text) if text else None

    def kill(self):
        self.kill_collector()
        self.kill_sink()


def ring(name, **options):
    return daemons.Ring(f"rings/{name}.ctf", **options)


def guests(d):
    """Write guests: one that ended and has a tail, one that goes on, one that was lapped, one that
    was captured and pinned."""
    with ring("ended") as ended:
        d.wait(lambda: d.domain("ended"))
        for _ in range(3):
            ended.add_packet()
            d.wait_archived(ended, "ended", ended.n - 20)
        ended.add(30)
    os.unlink("rings/ended.ctf")
    d.wait_ended("ended")
    names = ["open", "lapped", "pinned"]
    going = [ring(name) for name in names]
    for name, one in zip(names, going):
        d.wait(lambda name=name: d.domain(name))
        one.add_packet()
        d.wait_archived(one, name, one.n - 20)
    capture = d.post("/v1/domains/pinned/captures", {"note": "kept for ever"})["id"]
    d.post(f"/v1/captures/{capture}", {"pinned": True}, "PATCH")
    d.post("/v1/domains/open/captures", {"note": "<&> of the moment"})
    d.kill_collector()
    for _ in range(9):
        going[1].add_packet()
    d.start_collector()
    for one in going:
        one.add_slowly(40)
    d.wait(lambda: d.packets("lapped")[0]["gaps"])
    d.wait_archived(going[1], "lapped", 60)
    return going


def recordings(d):
    """Send recordings: one that ended, one cut inside a packet, one of two pieces, and one that
    goes on. Return the connection of the last."""
    large = sink.info("large") + b"".join(sink.packet(bytes([n]) * 30_000) for n in range(40)) + sink.packet(b"end" * 999)
    for data in (sink.stream(6, 1500, 1), sink.stream(4, 1500, 2)[:-100], large):
        with d.connect() as guest:
            guest.sendall(data)
    d.wait_rows(3, "state = 'ended'")
    first = d.rows("id")[0][0]
    d.post(f"/v1/memtraces/{first}", {"pinned": True, "note": "the first"}, "PATCH")
    goes_on = d.connect()
    goes_on.sendall(sink.stream(3, 1500, 3))
    d.wait_rows(1, "state = 'recording' AND packets = 4")
    return goes_on


def switches(first, n, thread=1):
    return b"".join(daemons.event(first + 10 * i, thread + i % 7) for i in range(n))


def hex_piece(stream, sequence, offset, content, flags=0, room=1 << 22, ends=None):
    first = int.from_bytes(content[:8], "little")
    ends = [offset + len(content)] if ends is None else ends
    return f"piece {stream} {sequence} {offset} {flags} {room} {first} {','.join(map(str, ends)) or '-'} {content.hex()}"


def large_packet(stream, sequence):
    """Yield a packet of more than a mebibyte, in pieces as they arrive."""
    content = switches(10_000_000, LARGE // 17)
    step = 17 * 20_000
    for at in range(0, len(content), step):
        part = content[at : at + step]
        yield hex_piece(stream, sequence, 30 + at, part, 1 if at + step >= len(content) else 0)


def domains_of_xen():
    """Yield archive lines: runs that crashed, with a UUID and two streams; several writers; quotas
    that left pinned packets."""
    yield "begin"
    yield f"run 101 xen dom0/7 web {GUEST_UUID} 7 ended crash"
    yield "stream 1001 101 0 4194304 4 0 main"
    yield "stream 1002 101 1 4194304 4 1 second"
    yield "gap 1001 lost lapped 0 30 65538 65538 1"
    yield hex_piece(1001, 65538, 30, switches(5_000_000, 300), 1)
    yield from large_packet(1001, 65539)
    yield hex_piece(1001, 65540, 30, switches(90_000_000, 49), 0, ends=[30 + 17 * 20, 30 + 17 * 49])
    yield hex_piece(1002, 0, 30, switches(5_000_000, 60), 3)
    yield hex_piece(1002, 1, 30, switches(5_100_000, 20), 2, ends=[30 + 17 * 20])
    yield f"capture 501 101 crash - {json.dumps({'reason': 'crash', 'console': 'Fatal error'}).encode().hex()}"
    yield "tail 501 1001 65540 863 4194304 90000000 " + switches(90_000_490, 25).hex()
    yield "tail 501 1001 65541 30 4194304 90001000 " + switches(90_001_000, 12).hex() + "ff" * 40
    yield "range 501 1001 65538 65540 863"
    yield "range 501 1002 0 1 370"
    yield "patch 501 1 -"
    yield "commit"
    yield "begin"
    yield "run 102 xen dom0/8 quota - 8 running -"
    yield "stream 1003 102 0 65536 4 0"
    for sequence in range(8):
        yield hex_piece(1003, sequence, 30, switches(1_000_000 * (sequence + 1), 100), 1, 16384)
    yield hex_piece(1003, 8, 30, switches(9_000_000, 40), 0, 16384, ends=[30 + 17 * 10, 30 + 17 * 30])
    yield "capture 502 102 manual kept"
    yield "range 502 1003 2 3 1730"
    yield "patch 502 1 -"
    yield "commit"
    yield "enforce quota 6000"


def drive(state):
    """Write runs of Xen with the archive's writer, and kill it at the end, so that its rows are in
    the write-ahead log alone."""
    driver = daemons.program("archive-driver")
    with subprocess.Popen([driver, state], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ok\n"
        for line in domains_of_xen():
            process.stdin.write(line + "\n")
            process.stdin.flush()
            said = process.stdout.readline()
            assert said == "ok\n", (line[:80], said)
        process.kill()


def pack(state, out):
    with tarfile.open(os.path.join(out, "state.tar.xz"), "w:xz", preset=9) as tar:
        for name in ("archive/trace.db", "archive/trace.db-wal", "memtraces/memtraces.db", "memtraces/memtraces.db-wal"):
            info = tar.gettarinfo(os.path.join(state, name), name)
            info.uid = info.gid = info.mtime = 0
            info.uname = info.gname = "root"
            with open(os.path.join(state, name), "rb") as f:
                tar.addfile(info, f)


def make(out):
    with Set() as d, contextlib.ExitStack() as stack:
        d.start()
        d.start_sink()
        for one in guests(d):
            stack.enter_context(one)
        stack.enter_context(recordings(d))
        d.kill()
        drive(d.state)
        time.sleep(1.1)  # a server that connected to the sink before notices that the sink is gone
        d.stop_server()
        d.start_server()
        with open(os.path.join(out, "answers.json"), "w", encoding="utf-8") as f:
            json.dump(answers(d), f, indent=1, sort_keys=True)
            f.write("\n")
        d.stop_server()
        pack(d.state, out)


def main():
    out = os.path.abspath(sys.argv[2])
    daemons.BUILD = os.path.abspath(sys.argv[1])
    os.makedirs(out, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="mprof.") as directory:
        os.chdir(directory)
        make(out)
        os.chdir("/")


if __name__ == "__main__":
    main()
