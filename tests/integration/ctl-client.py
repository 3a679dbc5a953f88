"""Test mprofctl against a server that misbehaves: ctl-client.py SOURCE-ROOT MPROFCTL

A stand-in for mprofd-http breaks connections at chosen bytes, changes bodies between two requests,
deletes, refuses and lies. Other tests run mprofctl against the real server, which cannot be made to
fail at exactly these places.
"""

import sys

sys.path.pop(0)  # the scripts beside this one are no modules, though one may have a module's name

import http.server
import json
import os
import pty
import re
import shutil
import signal
import socketserver
import struct
import subprocess
import tempfile
import threading
import time

# nohup ignores SIGINT, and the programs started here would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
root, mprofctl = map(os.path.abspath, sys.argv[1:3])
UUID = bytes.fromhex("05883b8d521a487bb397456ab150680c")
failures = []


def check(holds, what):
    if not holds:
        failures.append(what)
        print("FAILED", what)


def packet(count, events):
    """Return a packet as served, of EVENTS `switch` events that are numbered by it."""
    body = b"".join(struct.pack("<QBq", count * 1000 + i, 7, count * 1000 + i) for i in range(events))
    bits = 8 * (30 + len(body))
    return struct.pack("<I", 0xC1FC1FC1) + UUID + struct.pack("<IHI", bits, count % 65536, bits) + body


TRACE = b"".join(packet(count, 40) for count in range(65500, 65600))
EVIL = "we\u202eb\x1b[31m"


class Script:
    """The server's behaviour, and the requests it got."""

    def __init__(self):
        self.body = TRACE
        self.etag = '"one"'
        self.breaks = []  # number of bytes of each body after which the connection is cut
        self.change_after = None  # number of the request at which the body becomes another one
        self.deleted = 0  # how often the server says that a fixed range is deleted
        self.zstd = None
        self.asked = []
        self.live = []  # for each connection: (position, body, how it ends)
        self.shrinks = None  # how many bytes are left of the body, by the second request
        self.busy = []  # what each answer says of when to come again, while the server has no time: seconds, or None
        self.posted = None
        self.answers = {}  # path: (status, JSON, or the sentence of an error)
        self.behind = None  # answer to a request behind a position: bytes, or a status


script = Script()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def address_string(self):
        return "client"

    def reply(self, status, value, kind="application/json", **headers):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for name, text in headers.items():
            self.send_header(name.replace("_", "-"), text)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def problem(self, status, detail, **more):
        self.reply(status, {"type": "about:blank", "title": "t", "status": status, "detail": detail, **more}, "application/problem+json")

    def send_body(self, status, body, headers):
        """Send the body, or part of it, and then cut the connection."""
        self.send_response(status)
        for name, text in headers:
            self.send_header(name, text)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if script.breaks:
            self.wfile.write(body[: script.breaks.pop(0)])
            self.close_connection = True
        else:
            self.wfile.write(body)

    def trace(self):
        if script.change_after is not None and len(script.asked) > script.change_after:
            script.body, script.etag = TRACE[::-1][:5000], '"two"'
        if script.shrinks and script.asked[:-1]:
            script.body = script.body[: script.shrinks]
        if script.deleted and "first=" in self.path:
            script.deleted -= 1
            self.problem(410, "The resource was deleted.")
            return
        if script.busy:
            after = script.busy.pop(0)
            self.send_body(503, b"{}", [("Retry-After", after)] if after else [])
            return
        if script.behind is not None and "first=" in self.path:
            if isinstance(script.behind, int):
                self.problem(script.behind, "It is not there.")
            else:
                self.send_body(200, script.behind, [])
            return
        first = re.match(r"bytes=(\d+)-$", self.headers.get("Range", ""))
        headers = [("Content-Location", "/v1/domains/web/trace?first=1.0.0.30&end=1.0.9.30"), ("Accept-Ranges", "bytes")]
        if first and self.headers.get("If-Range") == script.etag:
            start = int(first.group(1))
            if start >= len(script.body):
                self.send_body(416, b"{}", [("Content-Range", "bytes */%d" % len(script.body))])
                return
            headers += [("ETag", script.etag)]
            headers += [("Content-Range", "bytes %d-%d/%d" % (start, len(script.body) - 1, len(script.body)))]
            self.send_body(206, script.body[start:], headers)
        elif script.zstd and "zstd" in self.headers.get("Accept-Encoding", ""):
            self.send_body(200, script.zstd, headers + [("Content-Encoding", "zstd"), ("ETag", '"z"')])
        else:
            self.send_body(200, script.body, headers + [("ETag", script.etag)])

    def live(self):
        position, body, end = script.live.pop(0)
        self.send_response(200)
        self.send_header("Mprof-Position", position)
        self.send_header("Mprof-Run-State", "ended" if end == "ended" else "running")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for at in range(0, len(body), 1000):
            piece = body[at : at + 1000]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        if end == "cut":
            self.close_connection = True
        elif end == "wait":
            self.wfile.flush()
            time.sleep(300)
        else:
            self.wfile.write(b"0\r\n\r\n")

    def do_GET(self):
        script.asked.append((self.path, dict(self.headers)))
        path = self.path.split("?")[0]
        if path.endswith("/live"):
            self.live()
        elif path in ("/v1/domains/web/trace", "/v1/captures/7/trace"):
            self.trace()
        elif path in script.answers:
            status, value = script.answers[path]
            self.reply(status, value) if status == 200 else self.problem(status, value)
        elif path == "/v1/captures/7":
            self.reply(200, {"id": 7})
        elif path == "/v1/domains":
            self.domains()
        elif path == "/v1/captures":
            self.reply(200, {"captures": [], "next": None})
        elif path == "/v1/domains/two/trace":
            self.problem(409, "several streams", streams=[{"stream": 0}, {"stream": 3}])
        elif path == "/v1/domains/late/trace":
            self.problem(410, "It was deleted.", oldest=None)
        else:
            self.problem(404, "There is no domain of that name, \x1b[31m%s." % EVIL)

    def domains(self):
        stream = {"packets": 3, "bytes": 2048, "lost_packets": 1, "rate": 1536}
        entry = {
            "name": EVIL,
            "uuid": None,
            "domid": None,
            "state": "running",
            "source": "dir",
            "runs": 2,
            "captures": 1,
            "streams": [stream, stream],
            "last_seen": "2026-11-21T13:05:40.123456789Z",
        }
        if "cursor" in self.path:
            self.reply(200, {"domains": [dict(entry, name="z")], "next": None})
        else:
            self.reply(200, {"domains": [entry], "next": "a/b"})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        script.posted = (self.path, body, self.headers.get("Content-Type"))
        self.reply(201, {"id": 12, "kind": "manual"}, Location="/v1/captures/12")


class UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def get_request(self):
        return super().get_request()[0], ("client", 0)

    def handle_error(self, request, client_address):
        pass


class TcpServer(http.server.ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        pass


work = tempfile.mkdtemp()
os.chdir(work)
unix_server = UnixServer(os.path.join(work, "s"), Handler)
tcp_server = TcpServer(("127.0.0.1", 0), Handler)
for server in unix_server, tcp_server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
UNIX = "unix:" + os.path.join(work, "s")
TCP = "http://127.0.0.1:%d" % tcp_server.server_port
ENV = dict(os.environ, MPROFCTL_HOST=UNIX, no_proxy="*", TZ="CET-1")


def run(*arguments, host=None, **more):
    global script
    result = subprocess.run(
        [mprofctl, *(["--host", host] if host else []), *arguments],
        env=ENV,
        timeout=300,
        stdout=more.pop("stdout", subprocess.PIPE),
        stderr=subprocess.PIPE,
        **more,
    )
    return result


def fresh():
    global script
    script = Script()
    for name in os.listdir(work):
        if name != "s":
            os.unlink(name)


def content(name):
    return open(name, "rb").read() if os.path.exists(name) else None


def only(*names):
    return sorted(os.listdir(work)) == sorted(("s",) + names)


def asked_for_traces():
    """Return the requests for traces: fetch also asks for the guest and its packets."""
    return [request for request in script.asked if "/trace" in request[0]]


def test_fetch():
    fresh()
    result = run("fetch", "web")
    check((result.returncode, result.stdout, result.stderr) == (0, b"", b""), "fetch says nothing: %r" % result)
    check(content("web.ctf") == TRACE and only("web.ctf", "web.ctf.clock.json"), "fetch writes web.ctf")
    result = run("fetch", "web")
    check(result.returncode == 1 and b"not overwritten" in result.stderr, "fetch does not overwrite")
    check(run("fetch", "web", "-o", "-").stdout == TRACE, "fetch to standard output")
    open("there", "w").write("old")
    check(run("fetch", "7", "-o", "there").returncode == 0 and content("there") == TRACE, "-o replaces, a capture's id")
    check(asked_for_traces()[-1][0] == "/v1/captures/7/trace", "a capture comes before a domain")
    run("fetch", "domain:web", "-o", "x", "--last", "5MB", "--run", "3", "--stream", "1")
    asked = asked_for_traces()[-1][0]
    check(asked == "/v1/domains/web/trace?run=3&stream=1&last=5MB", "selection: %s" % asked)
    check(run("fetch", "web", "-o", "/dev/null").returncode == 0 and os.path.exists("/dev/null"), "-o /dev/null")


def test_resume():
    for host in UNIX, TCP:
        fresh()
        script.breaks = [1000, 1, 0, 30000]
        result = run("fetch", "web", host=host)
        check(result.returncode == 0 and content("web.ctf") == TRACE and only("web.ctf", "web.ctf.clock.json"), "resumed: %r" % result.stderr)
        ranges = [(path, headers.get("Range"), headers.get("If-Range")) for path, headers in asked_for_traces()]
        fixed = "/v1/domains/web/trace?first=1.0.0.30&end=1.0.9.30"
        check(ranges[1] == (fixed, "bytes=1000-", '"one"'), "resumes at the fixed positions: %r" % ranges[1:2])
        check(ranges[2] == (fixed, "bytes=1001-", '"one"'), "resumes where it broke: %r" % ranges[2:3])
        fresh()
        script.breaks = [1000, 500]
        result = run("dump", "domain:web", host=host)
        check(result.returncode == 0 and result.stdout.count(b"\n") == 4000, "dump resumes")
    fresh()
    script.breaks = [len(TRACE) - 1, 0, 0, 0, 0, 0, 0, 0, 0]
    result = run("fetch", "web")
    check(result.returncode == 5 and only(), "gives up in the end, and nothing stays: %r" % result)


def test_busy():
    """mprofctl asks a busy server (503) again, and gives up in the end."""
    fresh()
    script.busy = [None]
    result = run("fetch", "web")
    check(result.returncode == 0 and content("web.ctf") == TRACE and len(asked_for_traces()) == 2, "asks again: %r" % result.stderr)
    fresh()
    script.busy = ["0"] * 50
    result = run("fetch", "web")
    check(result.returncode != 0 and only() and 1 < len(script.asked) < 50, "gives up: %r" % result)


def test_weak_tag():
    """A weak entity tag does not promise equal bytes, so mprofctl does not continue a body with it."""
    fresh()
    script.etag, script.breaks = 'W/"one"', [1000]
    result = run("fetch", "web")
    check(result.returncode == 0 and content("web.ctf") == TRACE, "fetched anew: %r" % result.stderr)
    check(all("Range" not in headers for _, headers in script.asked), "no range by a weak tag: %r" % script.asked)


def test_changed():
    fresh()
    script.breaks = [1000]
    script.change_after = 1
    result = run("fetch", "web")
    check(result.returncode == 0 and content("web.ctf") == TRACE[::-1][:5000], "a changed body is fetched anew")
    fresh()
    script.breaks = [1000]
    script.change_after = 1
    result = run("dump", "web")
    check(result.returncode == 1 and b"changed" in result.stderr, "dump cannot begin anew: %r" % result.stderr)


def test_shrunk():
    """A server with fewer bytes than came already has another trace: the fetch fails."""
    fresh()
    script.breaks, script.shrinks = [1000], 500
    result = run("fetch", "web")
    check(result.returncode != 0 and only(), "fewer bytes than came: %r" % result)
    fresh()
    script.breaks, script.shrinks = [1000], 1000
    result = run("fetch", "web")
    check(result.returncode == 0 and content("web.ctf") == TRACE[:1000], "as many bytes as came: %r" % result.stderr)


def test_deleted():
    """The range of the first answer is deleted before mprofctl has all of it: mprofctl asks for the
    whole again."""
    fresh()
    script.breaks, script.deleted, script.change_after = [1000], 1, 1
    result = run("fetch", "web")
    check(result.returncode == 0 and content("web.ctf") == TRACE[::-1][:5000], "asks anew: %r" % result.stderr)
    asked = [(path, headers.get("Range")) for path, headers in script.asked]
    check(asked[1][1] == "bytes=1000-" and asked[2] == ("/v1/domains/web/trace", None), "for the whole: %r" % asked)
    fresh()
    script.breaks, script.deleted = [1000] * 20, 20
    result = run("fetch", "web")
    check(result.returncode == 4 and only() and b"deleted" in result.stderr, "not for ever: %r" % result)
    fresh()
    script.breaks, script.deleted = [1000], 1
    result = run("dump", "web")
    check(result.returncode == 1 and b"changed" in result.stderr, "dump cannot begin anew: %r" % result.stderr)


def test_zstd():
    if not shutil.which("zstd"):
        print("zstd is not installed: compressed bodies are not tested")
        return
    half = len(TRACE) // 2
    parts = [subprocess.run(["zstd", "-c"], input=part, capture_output=True).stdout for part in (TRACE[:half], TRACE[half:])]
    for breaks in [], [len(parts[0]) + 10], [len(parts[0]) + 10, 5000]:
        fresh()
        script.zstd = b"".join(parts)
        script.breaks = breaks
        result = run("fetch", "web", host=TCP)
        check(result.returncode == 0 and content("web.ctf") == TRACE, "compressed, cut at %r: %r" % (breaks, result.stderr))
        check("zstd" in script.asked[0][1].get("Accept-Encoding", ""), "asks for zstd over TCP")
        check(all("zstd" not in headers.get("Accept-Encoding", "") for _, headers in script.asked[1:]), "asks for zstd only first")


def test_problems():
    fresh()
    result = run("fetch", "gone")
    check(result.returncode == 4 and only(), "404 is 4")
    check(
        result.stderr == b"mprofctl: There is no domain of that name, \\x1b[31mwe\\xe2\\x80\\xaeb\\x1b[31m.\n",
        "a problem is one escaped sentence: %r" % result.stderr,
    )
    check(run("fetch", "late").returncode == 4, "410 is 4")
    result = run("dump", "two")
    check(result.returncode == 1 and b"several streams; streams: 0, 3" in result.stderr, "409: %r" % result.stderr)
    result = run("domains", host="unix:" + work + "/none")
    check(result.returncode == 5 and b"cannot reach" in result.stderr, "unreachable is 5")
    check(run("domains", host="http://127.0.0.1:1").returncode == 5, "refused is 5")
    check(run("dump", "no-such-file", host="http://127.0.0.1:1").stderr.count(b"no file no-such-file"), "the sentence names the missing file, too")


def test_usage():
    fresh()
    for arguments in (
        (),
        ("nonsense",),
        ("fetch",),
        ("fetch", "a", "b"),
        ("fetch", "a", "--last", "soon"),
        ("--nonsense",),
        ("follow", "capture:7"),
        ("dump", mprofctl, "--run", "1"),
        ("fetch", "capture:x"),
        ("snapshot",),
        ("show",),
        ("show", "web"),
        ("show", "domain:web"),
        ("show", "7", "8"),
        ("--host", "gopher://x", "domains"),
        ("fetch", ""),
        ("domains", "x"),
    ):
        result = run(*arguments)
        check(result.returncode == 2 and result.stderr and not result.stdout, "usage %r: %r" % (arguments, result))
    for arguments in ("--help",), ("fetch", "--help"), ("--version",):
        result = run(*arguments)
        check(result.returncode == 0 and result.stdout and not result.stderr, "%r" % (arguments,))
    check(script.asked == [], "no request was sent")


def test_lists():
    fresh()
    result = run("domains")
    lines = result.stdout.decode().splitlines()
    check(result.returncode == 0 and len(lines) == 3, "domains: %r" % result)
    check(
        lines[1].split()
        == ["we\\xe2\\x80\\xaeb\\x1b[31m", "running", "dir", "-", "2", "2", "1", "6", "4.0", "KB", "3.0", "KB/s", "2", "2026-11-21T14:05:40+01:00"],
        "a row: %r" % lines[1],
    )
    check(run("domains", "--utc").stdout.decode().splitlines()[1].endswith("  2026-11-21T13:05:40Z"), "UTC")
    check(script.asked[1][0] == "/v1/domains?limit=1000&cursor=a%2Fb", "pages: %r" % script.asked[1][0])
    check([line.index("ing") - 4 for line in lines[1:]] == [lines[0].index("STATE")] * 2, "aligned")
    answer = json.loads(run("--json", "domains").stdout)
    check([d["name"] for d in answer["domains"]] == [EVIL, "z"], "JSON has all pages")
    check(json.loads(run("captures", "--json").stdout) == {"captures": []}, "no captures")
    result = run("snapshot", "web", "--note", 'why "so"')
    check(result.stdout == b"12\n", "snapshot prints the id")
    check(script.posted == ("/v1/domains/web/captures", b'{"note":"why \\"so\\""}', "application/json"), "its request")
    check(json.loads(run("snapshot", "web", "--json").stdout)["id"] == 12, "snapshot as JSON")
    with open("/dev/full", "w") as full:
        check(run("domains", stdout=full).returncode == 1, "a full disk is reported")


CAPTURE = {
    "id": 7,
    "run": 3,
    "domain": EVIL,
    "uuid": "0a1b2c3d-0000-4000-8000-00000000000a",
    "kind": "crash",
    "time": "2026-11-21T15:11:47.5Z",
    "mono": "1",
    "pinned": True,
    "note": "n\x1b[2J",
    "complete": False,
    "streams": [
        {"stream": 0, "name": None, "first_sequence": 5, "last_sequence": 9, "last_offset": 370, "tail_bytes": 12},
        {"stream": 3, "name": "vcpu-3\x07", "first_sequence": 0, "last_sequence": 1, "last_offset": 30, "tail_bytes": 0},
    ],
}
CONTEXT = {
    "id": 7,
    "run": 3,
    "domain": EVIL,
    "uuid": CAPTURE["uuid"],
    "domid": 12,
    "kind": "crash",
    "began": "2026-11-21T12:05:40.25Z",
    "time": CAPTURE["time"],
    "reason": "watchdog",
    "xenstore": {"name": "web", "data/mprof/ring-ref": "8," * 1000, "data/\x1b]0;x\x07": "a\nb"},
    "xenstore_complete": True,
    "console": "one\\x0D\ntwo\r\n\n\x1b[31mlast\\x1B",
    "console_complete": True,
}


def show(
    capture=CAPTURE,
    context=CONTEXT,
    overview=(200, {"stream": 0, "buckets": [{"packets": 5, "bytes": 1850, "lost_packets": 4, "skipped_packets": 0}]}),
):
    fresh()
    script.answers = {"/v1/captures/7": (200, capture), "/v1/captures/7/context": (200, context), "/v1/captures/7/packets": overview}
    return run("show", "7")


def test_show():
    result = show()
    lines = result.stdout.decode().splitlines()
    check(result.returncode == 0 and not result.stderr, "show: %r" % result)
    wanted = [*("/v1/captures/7/packets?stream=%d&buckets=1" % k for k in (0, 3)), "/v1/captures/7/trace?stream=0"]
    check([path for path, _ in script.asked][2:] == wanted, "asks for each stream, and for the cut of the one with a tail")
    head = dict(line.split(None, 1) for line in lines[: lines.index("")])
    check(
        head
        == {
            "capture": "7",
            "why": "crash",
            "reason": "watchdog",
            "guest": "we\\xe2\\x80\\xaeb\\x1b[31m",
            "uuid": CAPTURE["uuid"],
            "domid": "12",
            "run": "3",
            "when": "2026-11-21T16:11:47+01:00",
            "began": "2026-11-21T13:05:40+01:00",
            "lived": "3 h 6 min",
            "pinned": "yes",
            "note": "n\\x1b[2J",
        },
        "show's head: %r" % head,
    )
    table = lines[lines.index("") + 1 :][:4]
    check(
        [line.split() for line in table[1:3]]
        == [["0", "-", "5-9", "5", "1.8", "KB", "4", "0", "12", "B"], ["3", "vcpu-3\\x07", "0-1", "-", "0", "B", "-", "-", "0", "B"]],
        "its streams: %r" % table,
    )
    check(table[3].startswith("It is not complete: quotas"), "deleted packets are reported")
    store = lines[lines.index("XenStore, as last seen:") + 1 :][:3]
    check(
        store[0] == "  data/\\x1b]0;x\\x07 = a\\x0ab"
        and store[1].startswith("  data/mprof/ring-ref = 8,8,")
        and store[1].endswith(",8, ... (2000 bytes)")
        and len(store[1]) < 300
        and store[2] == "  name = web",
        "its XenStore: %r" % store,
    )
    check(lines[lines.index("Console:") + 1 :] == ["  one", "  two", "  ", "  \\x1b[31mlast\\x1B"], "its console: %r" % lines[-6:])
    check(b"\x1b" not in result.stdout and b"\x07" not in result.stdout, "no text controls the terminal")
    answer = json.loads(run("show", "capture:7", "--json").stdout)
    check((answer["capture"], answer["context"], len(answer["overviews"])) == (CAPTURE, CONTEXT, 2), "show as JSON: %r" % answer)


def test_show_less():
    nothing = dict.fromkeys(("uuid", "domid", "reason", "xenstore", "xenstore_complete", "console", "console_complete"))
    out = show(dict(CAPTURE, streams=[], complete=True, pinned=False, note=""), dict(CONTEXT, **nothing)).stdout.decode()
    check(
        "It holds no trace." in out
        and "Only the trace" in out
        and "XenStore" not in out
        and "onsole" not in out
        and "\nreason" not in out
        and "\npinned" not in out
        and "\nnote" not in out
        and re.search(r"\ndomid +-\n", out),
        "a file's capture: %r" % out,
    )
    out = show(context=dict(CONTEXT, reason="unknown", console=None, xenstore={}, xenstore_complete=False)).stdout.decode()
    check("unknown: Xen could not be asked" in out and "No console was logged." in out and "  (nothing)\n  (there were more" in out, "less: %r" % out)
    check("Console, its end:" in show(context=dict(CONTEXT, console_complete=False)).stdout.decode(), "the console was longer")
    check("lived" not in show(context=dict(CONTEXT, began="later")).stdout.decode(), "an invalid time")
    result = show(overview=(410, "It was deleted."))
    check(result.returncode == 0 and b" - " in result.stdout and not result.stderr, "a stream of which nothing is left: %r" % result)
    check(show(overview=(500, "no")).returncode == 1, "an answer that failed")
    script.answers["/v1/captures/7/context"] = (500, "The context of capture 7 is damaged.")
    result = run("show", "7")
    check(result.returncode == 1 and b"is damaged" in result.stderr, "a damaged context: %r" % result)
    odd = show(dict(CAPTURE, streams=7), {"xenstore": {"a": 1}, "console": 5, "reason": "x", "time": 5})
    check(odd.returncode == 0 and b"  a = \n" in odd.stdout, "a server that is none of ours: %r" % odd)
    check(run("show", "9").returncode == 4, "no such capture")


TOLD = {"sequence": 65590, "first_timestamp": "65590000", "tail_bytes": 170, "cut": 17, "copied": None}
COPIED = dict(TOLD, copied={"last": {"offset": 370}})


def tailed(packets, code=0, to="svg", target="domain:web", state="ended", behind=None, answer=None, capture=CAPTURE, streams=(0,), options=()):
    """Draw a trace whose packets the server describes as PACKETS. Return the marks for unproven
    bytes and the additional requests."""
    fresh()
    streams = [{"stream": number, "name": None, "tail_bytes": 0} for number in streams]
    script.answers = {
        "/v1/domains/web": (200, {"run": 3, "state": state, "streams": streams, "run_list": [{"run": 3, "state": state, "streams": streams}]}),
        "/v1/captures/7": (200, capture),
    }
    for path in "domains/web", "captures/7":
        script.answers["/v1/%s/packets" % path] = answer or (200, {"packets": packets, "next": None})
    script.answers["/v1/domains/%s/trace" % CAPTURE["uuid"]] = (404, "It is gone.")
    script.behind = behind
    result = run("export", target, "--to", to, "-o", "-", *options)
    check(result.returncode == code and (bool(result.stdout) == (code == 0)) and (bool(result.stderr) == (code != 0)), "export: %r" % result.stderr)
    asked = [path for path, _ in script.asked if "packets" in path or "first=" in path]
    return b'url(#tail)" d=' in result.stdout, asked, result.stderr


def test_tails():
    """Check which answers mprofctl accepts as an unproven tail. tails.py tests true answers."""
    packets = "/v1/domains/web/packets?run=3&stream=0&last=4194304&limit=1000"
    first = "/v1/domains/web/trace?run=3&stream=0&first=3.0.65590.370"
    behind = packet(65590, 9)
    proven = dict(TOLD, tail_bytes=0, cut=0)
    check(tailed([proven, dict(TOLD, tail_bytes=0, cut=170), TOLD]) == (True, [packets], b""), "no byte of its packet is proven")
    check(tailed([COPIED, dict(TOLD, first_timestamp="no")], behind=behind) == (True, [packets, first], b""), "a part of its packet is proven")
    check(tailed([proven]) == (False, [packets], b""), "the run has no tail")
    asked = tailed([TOLD], streams=(0, 1), options=("--stream", "1"))
    check(asked == (True, [packets.replace("stream=0", "stream=1")], b""), "of two streams the second is read: %r" % (asked,))
    check(tailed([TOLD], state="running") == (False, [], b""), "no request for a run that goes on")
    check(tailed([TOLD], to="chrome") == (False, [], b""), "no request for a format without the mark")
    check(
        tailed([TOLD], target="capture:7", capture=dict(CAPTURE, streams=CAPTURE["streams"][1:])) == (False, [], b""), "nor of a capture without one"
    )
    asked = tailed([COPIED], target="capture:7", capture=dict(CAPTURE, streams=CAPTURE["streams"][:1]))
    check(
        asked == (True, ["/v1/captures/7/packets?stream=0&last=4194304&limit=1000", "/v1/captures/7/trace?stream=0&first=3.0.65590.370"], b""),
        "a capture is asked itself: %r" % (asked,),
    )


def test_tails_refused():
    for status, code in (404, 0), (410, 0), (400, 1), (500, 1):
        drawn, _, said = tailed([], code, answer=(status, "It is not so."))
        check(not drawn and (b"It is not so." in said) == bool(code), "packets answered with %d: %r" % (status, said))
        drawn, _, said = tailed([COPIED], code, behind=status)
        check(not drawn and (b"It is not there." in said) == bool(code), "the first event answered with %d: %r" % (status, said))
    check(only(), "no file stays")


def test_tails_hostile():
    """mprofctl checks every answer about a tail; a wrong one gives no mark and does no harm."""
    odd = (None, True, -1, 1.5, "5", 10**30, [], {}, "")
    for value in odd:
        if isinstance(value, int) and value > 10**18:
            continue  # jansson takes this for no JSON, and mprofctl says so
        check(not tailed([dict(TOLD, tail_bytes=value)])[0], "tail_bytes is %r" % (value,))
    for value in odd[:5] + odd[6:] + ("-1", "+5", " 5", "5 ", "0x5", "1e3", str(2**64), "9" * 40, 5, str(2**64 - 1)):
        drawn = tailed([dict(TOLD, first_timestamp=value)])[0]
        check(drawn == (value == "5"), "first_timestamp is %r" % (value,))
    for copied in {}, {"last": None}, {"last": {}}, {"last": {"offset": "370"}}, {"last": {"offset": -1}}, {"last": {"offset": 0.5}}, {"last": [370]}:
        drawn, asked, _ = tailed([dict(TOLD, copied=copied)], behind=packet(65590, 9))
        check(not drawn and len(asked) == 1, "copied is %r: %r" % (copied, asked))
    for value in None, -1, "0", 2.5:
        check(len(tailed([dict(COPIED, sequence=value)])[1]) == 1, "sequence is %r" % (value,))
    for body in [], {}, {"packets": None}, {"packets": {"a": TOLD}}, {"packets": [None, 5, "x", [TOLD]]}:
        check(not tailed([], answer=(200, body))[0], "packets are %r" % (body,))
    for behind in b"", b"\0" * (1 << 20), packet(1, 0), packet(1, 0) * 9999, packet(65590, 9)[:35], b"((time 5)(op(Switch 0)))\n":
        check(not tailed([COPIED], behind=behind)[0], "behind it come %r, ..." % behind[:40])
    check(tailed([COPIED], behind=b"\xff" * 99 + packet(65590, 9))[0], "an event behind damage")


def test_two_meanings():
    """If a name is a file here and a guest, an error of the file says how to name the guest."""
    fresh()
    script.answers = {"/v1/domains/web": (200, {"name": "web"}), "/v1/domains/12": (200, {"name": "12"}), "/v1/captures/12": (200, {"id": 12})}
    os.mkdir("web")
    hint = b"mprofctl: web is a file here and a guest, and the file was taken: write domain:web for the guest\n"
    for words in ["dump", "web"], ["stats", "web"], ["why", "web"], ["dump", "web", "--last", "10s"], ["dump", "web", "--follow"], ["bundle", "web"]:
        result = run(*words)
        check(result.returncode in (1, 2) and result.stderr.endswith(hint), "%r: %r" % (words, result.stderr))
    result = run("bundle", "web", "--last", "10s")
    check(result.returncode == 2 and result.stderr.endswith(hint), "bundle --last: %r" % result.stderr)
    result = run("diff", "web", "web")
    check(result.returncode == 1 and result.stderr.count(hint) == 1, "diff: %r" % result.stderr)
    for words in ["dump", "file:web"], ["dump", "./web"]:
        result = run(*words)
        check(result.returncode == 1 and b"was taken" not in result.stderr, "the file is meant: %r" % result.stderr)
    result = run("dump", "web", host="unix:nowhere")
    check(result.stderr == b"mprofctl: web holds no stream of a trace\n", "without a daemon: %r" % result.stderr)
    del script.answers["/v1/domains/web"]
    check(run("dump", "web").stderr == b"mprofctl: web holds no stream of a trace\n", "no such guest")
    os.rmdir("web")
    open("web", "wb").write(TRACE)
    script.asked.clear()
    check(run("dump", "web").returncode == 0 and not script.asked, "a good file asks no daemon")
    os.mkdir("12")
    said = run("dump", "12").stderr
    check(b"12 is a file here and a capture, and the file was taken: write capture:12 for the capture" in said, "a capture: %r" % said)
    del script.answers["/v1/captures/12"]
    said = run("dump", "12").stderr
    check(b"write domain:12 for the guest" in said, "a guest called 12: %r" % said)
    os.rmdir("12")


def test_follow():
    packets = [packet(65534, 3), packet(65535, 2), packet(65535, 4), packet(65536, 1), packet(65536, 5), packet(65540, 2)]
    size = [len(p) for p in packets]
    fresh()
    script.live = [
        ("9.1.65534.30", packets[0] + packets[1][:40], "cut"),
        ("9.1.65534.81", b"", "cut"),
        ("9.1.65534.81", packets[1] + packets[2] + packets[3] + packets[4][:-1], "cut"),
        ("9.1.65536.47", packets[4], "gap"),
        ("9.1.65540.30", packets[5], "ended"),
        ("9.1.65540.64", b"", "ended"),
    ]
    result = run("follow", "web", "--stream", "1")
    check(result.returncode == 0 and result.stdout == b"".join(packets) and not result.stderr, "follow: %r" % result)
    asked = [path for path, _ in script.asked]
    check(
        asked
        == ["/v1/domains/web/live?stream=1"]
        + [
            "/v1/domains/web/live?after=" + position for position in ("9.1.65534.81", "9.1.65534.81", "9.1.65536.47", "9.1.65536.132", "9.1.65540.64")
        ],
        "positions: %r %r" % (asked, size),
    )
    fresh()
    script.live = [("nonsense", packets[0], "ended")]
    check(run("follow", "web").returncode == 1, "no position")
    fresh()
    script.live = [("1.0.1.30", b"this is no packet, but something else", "ended")]
    check(run("follow", "web").returncode == 1, "no packet")
    check(run("follow", "web", host="http://127.0.0.1:1").returncode == 5, "follow: unreachable")


def test_dump_follows():
    """dump --follow prints events at once, prints each event once over broken connections, and ends
    with the run."""
    packets = [packet(5, 3), packet(6, 2), packet(7, 1)]
    want = b"".join(b"0.%09d switch thread=%d\n" % (n * 1000 + i, n * 1000 + i) for n, count in ((5, 3), (6, 2), (7, 1)) for i in range(count))
    fresh()
    script.live = [
        ("9.1.5.30", packets[0] + packets[1][:40], "cut"),
        ("9.1.6.30", packets[1] + packets[2], "ended"),
        ("9.1.7.47", b"", "ended"),
    ]
    result = run("dump", "web", "--follow")
    check(result.returncode == 0 and result.stdout == want and not result.stderr, "dump --follow: %r" % result)
    fresh()
    script.live = [("1.0.5.30", packets[0] + packets[1][:35], "wait")]
    follow = subprocess.Popen([mprofctl, "dump", "--follow", "web", "--thread", "5000,5002", "--json"], env=ENV, stdout=subprocess.PIPE)
    first = follow.stdout.readline()
    check(first == b'{"time_ns":"5000","event":"switch","thread":5000}\n', "dump --follow prints at once: %r" % first)
    follow.send_signal(signal.SIGINT)
    rest = follow.stdout.read()
    check(follow.wait(300) == 0 and rest == b'{"time_ns":"5002","event":"switch","thread":5002}\n', "SIGINT ends it in good order: %r" % rest)
    fresh()
    script.live = [("1.0.5.30", b"".join(packet(n, 2000) for n in range(5, 20)), "wait")]
    follow = subprocess.Popen([mprofctl, "dump", "--follow", "web"], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    follow.stdout.read(10)
    follow.stdout.close()
    check(follow.wait(300) == 0 and follow.stderr.read() == b"", "a reader that left ends it")
    check(run("dump", "--follow", "-").returncode == 2, "standard input is not followed")
    check(run("dump", "--follow", "capture:7").returncode == 2, "a capture does not grow")
    check(run("dump", "--follow", "web", host="http://127.0.0.1:1").returncode == 5, "dump --follow: unreachable")


def wait_for(condition):
    until = time.monotonic() + 300
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.05)
    return False


def test_follow_stops():
    fresh()
    script.live = [("1.0.5.30", packet(5, 3) + packet(6, 3)[:35], "wait")]
    follow = subprocess.Popen([mprofctl, "follow", "web", "-o", "out.ctf"], env=ENV)
    check(wait_for(lambda: content("out.ctf") == packet(5, 3)), "follow writes whole packets at once")
    follow.send_signal(signal.SIGINT)
    check(follow.wait(300) == 0 and content("out.ctf") == packet(5, 3), "SIGINT ends it cleanly")
    fresh()
    script.live = [("1.0.5.30", b"".join(packet(n, 2000) for n in range(5, 20)), "wait")]
    follow = subprocess.Popen([mprofctl, "follow", "web"], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    follow.stdout.read(10)
    follow.stdout.close()
    check(follow.wait(300) == 0 and follow.stderr.read() == b"", "a reader that left ends it")
    fresh()
    script.live = [("1.0.5.30", packet(5, 3), "wait")]
    follow = subprocess.Popen([mprofctl, "follow", "web"], env=ENV, stdout=subprocess.PIPE)
    show = subprocess.Popen([mprofctl, "dump", "-"], stdin=follow.stdout, stdout=subprocess.PIPE)
    check(show.stdout.readline() == b"0.000005000 switch thread=5000\n", "follow | dump - prints at once")
    follow.terminate()
    check(follow.wait(300) == 0 and show.wait(300) == 0, "dump ends with follow")


def test_terminal():
    fresh()
    master, slave = pty.openpty()
    for verb in "fetch", "follow":
        result = subprocess.run([mprofctl, verb, "web", "-o", "-"], env=ENV, stdout=slave, stderr=subprocess.PIPE, timeout=300)
        check(result.returncode == 2 and b"terminal" in result.stderr, "%s refuses a terminal" % verb)
    script.body = TRACE * 300
    result = subprocess.Popen([mprofctl, "fetch", "web"], env=ENV, stdout=slave, stderr=slave)
    os.close(slave)
    shown = b""
    try:
        while piece := os.read(master, 4096):
            shown += piece
    except OSError:
        pass
    check(result.wait(300) == 0 and b"\rweb: " in shown and b"wrote web.ctf" in shown, "progress on a terminal: %r" % shown)


def test_pipe():
    fresh()
    open("t.ctf", "wb").write(TRACE)
    result = (
        subprocess.run('"%s" dump t.ctf | head -n 1; echo "${PIPESTATUS[0]}"' % mprofctl, shell=True, executable="/bin/bash", capture_output=True)
        if os.path.exists("/bin/bash")
        else None
    )
    check(not result or (result.stdout.split()[-1] == b"0" and not result.stderr), "dump | head: %r" % result)
    check(run("dump", "file:none").returncode == 4, "no such file is 4")
    os.mkdir("empty")
    check(run("dump", "empty").returncode == 1, "a directory without a stream is no trace")
    with open("/dev/full", "w") as full:
        check(run("dump", "t.ctf", stdout=full).returncode == 1, "dump: a full disk is reported")
        for option in "--help", "--version":
            check(run(option, stdout=full).returncode == 1, f"{option}: a full disk is reported")
    result = run("why", "t.ctf", "-2")
    check(result.returncode == 2 and b"write -- before it" in result.stderr, "a number below 0: %r" % result)


try:
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            print(name, flush=True)
            test()
finally:
    os.chdir("/")
    shutil.rmtree(work)
sys.exit(1 if failures else 0)
