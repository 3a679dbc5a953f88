"""Test GET /v1/events of the running daemons: events.py BUILD-DIRECTORY [TEST…]

Compare the events that a client gets with the lists. Check the events for a client that comes back,
and that a client which does not read affects no other.
"""

import contextlib
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import threading

import daemons
from daemons import Case, Ring, program
from turns import BRIEF

MOST = 128
GUEST_UUID = "0a1b2c3d-0000-4000-8000-00000000000a"


class Follower(threading.Thread):
    """Read events until the test closes it, or the server ends them. Without a CONNECTION use the
    server's Unix socket."""

    def __init__(self, d, last=None, connection=None, **headers):
        super().__init__(daemon=True)
        self.connection = connection or daemons.UnixConnection(d.socket, daemons.HANGS)
        self.connection.request("GET", "/v1/events", headers={**headers, **({"Last-Event-ID": last} if last else {})})
        self.socket = self.connection.sock
        self.answer = self.connection.getresponse()
        self.status = self.answer.status
        self.events, self.comments, self.retry, self.over = [], 0, None, False
        if self.status == 200:
            self.start()

    def run(self):
        event = {}
        try:
            for line in self.answer:
                line = line.decode().rstrip("\n")
                key, _, value = line.partition(": ")
                if key == "retry":
                    self.retry = int(value)
                elif line.startswith(":"):
                    self.comments += 1
                elif line:
                    event[key] = value
                elif event:
                    self.events.append((event["event"], json.loads(event["data"]), event["id"]))
                    event = {}
        except (OSError, ValueError, http.client.HTTPException):
            pass
        self.over = True

    def named(self, name):
        return [data for kind, data, _ in self.events if kind == name]

    def close(self):
        """Close from another thread: a reading thread sees the end."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        if self.is_alive():
            self.join()
        self.connection.close()


def writer(case, d):
    """Start a writer of the archive without a collector. Return a function that commits lines."""
    driver = subprocess.Popen([program("archive-driver"), d.state], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    case.addCleanup(driver.stdout.close)
    case.addCleanup(driver.wait)
    case.addCleanup(driver.stdin.close)
    driver.stdout.readline()

    def say(*lines):
        for line in ("begin", *lines, "commit"):
            driver.stdin.write(line + "\n")
            driver.stdin.flush()
            case.assertEqual(driver.stdout.readline(), "ok\n", line)

    return say


class Events(Case):
    def daemons(self):
        """Without a reader of captures, which makes events of its own: readings.py tests those."""
        return super().daemons(daemons.QUIET + "[http]\nreader = no\n")

    def follow(self, d, last=None):
        follower = Follower(d, last)
        self.addCleanup(follower.close)
        if follower.status == 200 and last is None:
            d.wait(lambda: follower.named("hello"))
        return follower

    def told(self, d, follower, name, test=lambda data: True):
        return d.wait(lambda: [data for data in follower.named(name) if test(data)])[0]

    def come(self, d, guests):
        for n in range(guests):
            with open(os.path.join(d.rings, f".{n}"), "wb") as ring:
                ring.write(daemons.small_ring(base=1000 + n))
            os.rename(os.path.join(d.rings, f".{n}"), os.path.join(d.rings, f"guest-{n}.ctf"))

    def test_a_life(self):
        d = self.daemons()
        f = self.follow(d)
        self.assertEqual((f.answer.headers["Content-Type"], f.answer.headers["Cache-Control"], f.retry), ("text/event-stream", "no-store", 2000))
        ring = self.enterContext(Ring(os.path.join(d.rings, "web.ctf")))
        ring.add_slowly(400)
        began = self.told(d, f, "domain")
        self.assertEqual((began["change"], began["domain"]["name"], began["domain"]["state"]), ("began", "web", "running"))
        with ring.writing():
            grown = self.told(d, f, "rates", lambda data: data["streams"][0]["rate"] > 0 and data["streams"][0]["bytes"] > 400)["streams"][0]
        self.assertEqual((grown["run"], grown["stream"]), (began["run"], 0))
        ring.close()
        ended = self.told(d, f, "domain", lambda data: data["change"] == "ended")
        self.assertEqual(ended["run"], began["run"])
        capture = self.told(d, f, "capture")
        self.assertEqual((capture["change"], capture["capture"]["kind"], capture["capture"]["domain"]), ("made", "ended", "web"))
        # A client that applies all events has the contents of the lists.
        self.assertEqual(capture["capture"], d.captures("web")[0])
        d.wait(lambda: f.named("rates")[-1]["streams"] == d.domain("web")["streams"])
        domain = d.domain("web")
        last = [data for data in f.named("domain") if data["change"] == "ended"][-1]["domain"]
        self.assertIsNone(domain.pop("memtrace"))  # events do not carry this field
        self.assertEqual({**last, "streams": 0, "last_seen": 0, "captures": 0}, {**domain, "streams": 0, "last_seen": 0, "captures": 0})

    def test_captures(self):
        d = self.daemons()
        ring = self.enterContext(Ring(os.path.join(d.rings, "web.ctf")))
        ring.add_slowly(200)
        d.wait(lambda: d.domain("web"))
        f = self.follow(d)
        where = d.ask("/v1/domains/web/captures", "POST", '{"note": "a\\nb"}')[1]["Location"]
        made = self.told(d, f, "capture")
        self.assertEqual((made["change"], made["capture"]), ("made", d.json(where)))
        d.ask(where, "PATCH", '{"pinned": true}')
        changed = self.told(d, f, "capture", lambda data: data["change"] == "changed")
        self.assertEqual(changed["capture"], {**made["capture"], "pinned": True, "version": 1})
        d.ask(where, "DELETE")
        self.assertEqual(self.told(d, f, "capture-deleted"), {"id": made["capture"]["id"]})
        self.assertEqual(len(f.named("capture")), 2)

    def test_a_gap_and_restarts(self):
        """The collector is away while a ring laps. The stream of events goes on, and starts again
        with a new server."""
        d = self.daemons()
        ring = self.enterContext(Ring(os.path.join(d.rings, "web.ctf")))
        ring.add_slowly(100)
        d.wait(lambda: d.domain("web"))
        d.wait_archived(ring, "web", 1)  # without an archived packet the stream would begin behind the loss
        f = self.follow(d)
        d.kill_collector()
        ring.add(1000)
        d.start_collector()
        with ring.writing():
            d.wait(lambda: d.domain("web")["streams"][0]["gaps"])
        gap = self.told(d, f, "gap")
        pages = d.packets("web")
        gaps = [g for page in pages for g in page["gaps"]]
        self.assertEqual(gap["gap"], gaps[-1])
        self.assertEqual(gap["stream"]["lost_packets"], sum(g["packets"] for g in gaps))
        self.assertFalse(f.over)
        last = f.events[-1][2]
        d.stop_server()
        d.start_server()
        again = self.follow(d, last)
        d.wait(lambda: again.events)
        self.assertEqual(again.events[0][:2], ("reset", {}))
        d.wait(lambda: f.over)

    def test_resuming(self):
        d = self.daemons()
        ring = self.enterContext(Ring(os.path.join(d.rings, "web.ctf")))
        ring.add_slowly(100)
        d.wait(lambda: d.domain("web"))
        f = self.follow(d)
        for n in range(3):
            d.ask("/v1/domains/web/captures", "POST", json.dumps({"note": str(n)}))
        d.wait(lambda: len(f.named("capture")) == 3)
        middle = next(i for i, event in enumerate(f.events) if event[0] == "capture")
        missed = f.events[middle + 1 :]
        f.close()
        back = self.follow(d, f.events[middle][2])
        d.wait(lambda: len(back.events) >= len(missed))
        self.assertEqual(back.events[: len(missed)], missed)
        self.assertEqual(back.named("hello") + back.named("reset"), [])
        # A client that missed no event is up to date at once, and gets later events.
        newest = self.follow(d, back.events[-1][2])
        d.ask("/v1/captures/1", "DELETE")
        self.assertEqual(self.told(d, newest, "capture-deleted"), {"id": 1})
        epoch = back.events[-1][2].split(".")[0]
        for unknown in ("x", f"{epoch}.99999999", f"{epoch}.-1", f"{epoch}. 1", "0" * 16 + ".1", "0" * 5000):
            lost = self.follow(d, unknown)
            d.wait(lambda: lost.events)
            self.assertEqual(lost.events[0][0], "reset", unknown)
            lost.close()

    def test_another_archive(self):
        """Another archive takes the first one's place. A listening client is told to read
        everything again; a client that comes back later is not."""
        d = self.daemons()
        ring = self.enterContext(Ring(os.path.join(d.rings, "web.ctf")))
        ring.add_slowly(100)
        d.wait(lambda: d.domain("web"))
        f = self.follow(d)
        d.stop_collector()
        shutil.rmtree(os.path.join(d.state, "archive"))
        d.start_collector()
        d.wait(lambda: f.named("reset"))
        back = self.follow(d, f.events[-1][2])
        ring.add_slowly(50)
        d.wait(lambda: d.domain("web"))
        d.ask("/v1/domains/web/captures", "POST", "{}")
        self.told(d, back, "capture")
        self.assertEqual(back.named("hello") + back.named("reset"), [])

    def test_without_a_collector(self):
        """The server sees another process's changes without notices: a rename, a suspension,
        deletions by the quotas."""
        d = self.enterContext(daemons.Daemons())
        say = writer(self, d)
        say(f"run 1 xen a web {GUEST_UUID} 5 running -", "stream 1 1 0 4096 4 0")
        d.start_server()
        f = self.follow(d)
        for change in ("renamed", "suspended", "running"):
            state = "running" if change == "renamed" else change
            say(f"run 1 xen a other {GUEST_UUID} 5 {state} -")
            n = len(f.named("domain"))
            domain = d.wait(lambda: f.named("domain")[n:] or f.named("domain"))[-1]
            self.assertEqual((domain["change"], domain["domain"]["name"], domain["domain"]["uuid"]), ("changed", "other", GUEST_UUID))
            d.wait(lambda: f.named("domain")[-1]["domain"]["state"] == state)
        say(f"run 1 xen a other {GUEST_UUID} 5 ended crash", "capture 1 1 crash -", f"run 2 xen b other {GUEST_UUID} 6 running -")
        d.wait(lambda: {(e["change"], e["run"], e["domain"]["run"]) for e in f.named("domain")} >= {("ended", 1, 2), ("began", 2, 2)})
        self.assertEqual(self.told(d, f, "capture")["capture"]["kind"], "crash")
        say("delete 1", "enforce other 0")
        self.assertEqual(self.told(d, f, "forgotten"), {"run": 1})
        self.assertEqual(self.told(d, f, "capture-deleted"), {"id": 1})

    def test_many_at_once(self):
        """A thousand guests come at once, or 200 with MPROF_BRIEF: each gets one event, and the server answers others."""
        d = self.daemons()
        f, many = self.follow(d), 200 if BRIEF else 1000
        self.come(d, many)

        def all_came():
            self.assertEqual(d.ask("/healthz")[0], 200)
            return len({data["domain"]["name"] for data in f.named("domain")}) == many

        d.wait(all_came, daemons.HANGS)
        counted = [data["domain"]["name"] for data in f.named("domain") if data["change"] == "began"]
        self.assertEqual(len(counted), len(set(counted)))

    def test_many_clients(self):
        d = self.daemons()
        all_ = [self.follow(d) for _ in range(MOST)]
        refused = Follower(d)
        self.assertEqual((refused.status, refused.answer.headers["Retry-After"]), (503, "1"))
        self.assertIn("128 clients", json.loads(refused.answer.read())["detail"])
        refused.close()
        with open(os.path.join(d.rings, "web.ctf"), "wb") as ring:
            ring.write(daemons.small_ring())
        d.wait(lambda: all(f.named("domain") for f in all_))
        all_[0].close()
        # The server notices a client that left without sending an event, and frees its place.
        d.wait(lambda: (f := Follower(d)).status == 200 and self.addCleanup(f.close) is None)

    def test_a_stalled_client(self):
        """The server closes a client that reads nothing. A client that reads misses nothing, and
        gets a comment during silence."""
        d = self.daemons()
        stalled = daemons.UnixConnection(d.socket, daemons.HANGS)
        self.addCleanup(stalled.close)
        stalled.request("GET", "/v1/events")
        f = self.follow(d)
        open_ = lambda: int(re.search(r"(?m)^mprofd_http_events (\d+)$", d.get("/metrics").decode()).group(1))
        d.wait(lambda: open_() == 2)
        self.come(d, 1500)
        d.wait(lambda: len({data["domain"]["name"] for data in f.named("domain")}) == 1500)
        # The server waits for half a minute, which is more than an idle machine is given.
        d.wait(lambda: open_() == 1, daemons.HANGS)
        self.assertFalse(f.over)
        d.wait(lambda: f.comments)


if __name__ == "__main__":
    daemons.main()
