"""Test the policies, which choose by a guest's name what the archive keeps: policy.py
BUILD-DIRECTORY [TEST…]"""

import contextlib
import http.client
import json
import signal
import time

import daemons
from daemons import QUIET, Ring, events_of, judge

POLICIES = (
    QUIET
    + """
[policy p-*]
mode = periodic
interval = 500ms
[policy c-*]
mode = on-crash
[policy c-not]
mode = continuous
"""
)


class Modes(daemons.Case):
    def guest(self, name, rate, size=65536, more=""):
        options = f"--ring rings/{name}.ctf --truth {name}.truth --rate {rate} --size {size} {more}"
        return self.writer("writer-legacy", *options.split())

    def end(self, d, writer, name):
        writer.terminate()
        writer.wait(daemons.HANGS)
        self.assertEqual(len(d.wait_ended(name)), 1)
        stream = d.domain(name)["streams"][0]
        pages = d.packets(name)
        judge(name, f"{name}.truth", d.trace(name), pages, "--ended")
        return stream, [gap for page in pages for gap in page["gaps"]], d.captures(name)

    def test_continuous_beside_others(self):
        """The last glob that matches counts. The collector may skip one guest and keep all of
        another."""
        d = self.daemons(POLICIES)
        writer = self.guest("c-not", 200_000, 1 << 20, "--leash c-not.leash")
        self.loosening(d)
        d.wait(lambda: d.query("SELECT count(*) FROM chunks") > [(0,)])  # while it runs
        stream, gaps, captures = self.end(d, writer, "c-not")
        self.assertEqual((gaps, stream["lost_packets"], stream["skipped_packets"]), ([], 0, 0))
        self.assertEqual([c["kind"] for c in captures], ["ended"])

    def test_on_crash(self):
        """The archive has nothing until the writer is gone, and then the whole ring."""
        d = self.daemons(POLICIES)
        writer = self.guest("c-guest", 500_000)
        d.wait(lambda: d.domain("c-guest"))
        d.wait_written("c-guest", 40)
        self.assertEqual(d.query("SELECT count(*) FROM chunks"), [(0,)])
        self.assertEqual(d.domain("c-guest")["streams"][0]["lost_packets"], 0)
        stream, gaps, captures = self.end(d, writer, "c-guest")
        self.assertEqual(stream["lost_packets"], 0)
        self.assertGreater(stream["skipped_packets"], 20)
        self.assertEqual({(gap["kind"], gap["reason"]) for gap in gaps}, {("skipped", "policy")})
        self.assertEqual([c["kind"] for c in captures], ["ended"])
        packets = [packet for page in d.packets("c-guest") for packet in page["packets"]]
        self.assertEqual(len(packets), 4)
        self.assertEqual(events_in(d.get(f"/v1/captures/{captures[0]['id']}/trace")), events_in(d.trace("c-guest")))

    def test_on_crash_of_a_small_life(self):
        d = self.daemons(POLICIES)
        with Ring("rings/c-small.ctf") as ring:
            d.wait(lambda: d.domain("c-small"))
            ring.add_slowly(100)
        d.wait_ended("c-small")
        self.assertEqual(events_of(d.trace("c-small")), ring.written)
        self.assertEqual(d.domain("c-small")["streams"][0]["skipped_packets"], 0)

    def test_on_crash_over_a_restart(self):
        """Events written while no collector ran are skipped, too."""
        d = self.daemons(POLICIES)
        writer = self.guest("c-down", 500_000)
        d.wait(lambda: d.domain("c-down"))
        d.wait_written("c-down", 10)
        d.ask("/v1/domains/c-down/captures", "POST", "{}", {"Content-Type": "application/json"})
        d.kill_collector()
        d.wait_written("c-down", 20)
        d.start_collector()
        d.wait_written("c-down", 20)
        stream, gaps, _ = self.end(d, writer, "c-down")
        self.assertEqual(stream["lost_packets"], 0)
        self.assertEqual({(gap["kind"], gap["reason"]) for gap in gaps}, {("skipped", "policy")})

    def test_on_crash_asked_for(self):
        """A capture by hand has the contents of the ring, though the policy keeps nothing else of
        the guest."""
        d = self.daemons(POLICIES)
        writer = self.guest("c-hand", 300_000)
        d.wait(lambda: d.domain("c-hand"))
        d.wait_written("c-hand", 8)
        status, headers, body = d.ask("/v1/domains/c-hand/captures", "POST", "{}", {"Content-Type": "application/json"})
        self.assertEqual(status, 201, body)
        capture = json.loads(body)
        self.assertEqual(headers["Location"], f"/v1/captures/{capture['id']}")
        self.assertGreater(len(events_in(d.get(f"/v1/captures/{capture['id']}/trace"))), 500)
        before = d.query("SELECT count(*) FROM chunks")
        d.wait_written("c-hand", 12)
        self.assertEqual(d.query("SELECT count(*) FROM chunks"), before)
        _, gaps, captures = self.end(d, writer, "c-hand")
        self.assertIn("skipped", {gap["kind"] for gap in gaps})
        # On a busy machine the ring may wrap during the capture.
        self.assertEqual({gap["kind"] for gap in gaps} - {"lost"}, {"skipped"})
        self.assertEqual(sorted(c["kind"] for c in captures), ["ended", "manual"])

    def test_periodic(self):
        d = self.daemons(POLICIES)
        began = time.monotonic()
        writer = self.guest("p-guest", 500_000)
        d.wait(lambda: d.domain("p-guest"))
        taken = d.wait(lambda: len(found := [c for c in d.captures("p-guest") if c["kind"] == "periodic"]) >= 5 and found)
        self.assertLessEqual(len(taken), (time.monotonic() - began) / 0.5 + 1)
        d.wait_written("p-guest", 60)

        def newest():
            """Return the events of the newest capture. It is listed while it is being taken; its trace is answered 503 until then."""
            captures = [c for c in d.captures("p-guest") if c["kind"] == "periodic"]
            return events_in(d.get(f"/v1/captures/{max(c['id'] for c in captures)}/trace"))

        d.wait(lambda: len(newest()) > 100)
        d.wait(lambda: d.domain("p-guest")["streams"][0]["skipped_packets"] > 20)
        _, gaps, captures = self.end(d, writer, "p-guest")
        self.assertEqual({gap["kind"] for gap in gaps} - {"lost"}, {"skipped"})
        self.assertIn("ended", [c["kind"] for c in captures])


def events_in(stream):
    """Return the bytes of each event in a CTF stream, packet by packet."""
    from truth import event_ends, packets

    found = []
    for _, body in packets(stream, "stream"):
        at = 0
        for end in event_ends(body):
            found.append(body[at:end])
            at = end
    return found


class Quotas(daemons.Case):
    def fill(self, d, name, n=600):
        """Write a run of about ten packets, in a ring that holds them all."""
        with Ring(f"rings/{name}.ctf", 16384, 16) as ring:
            d.wait(lambda: d.domain(name))
            for _ in range(n // 20):
                ring.add(20)
                time.sleep(0.01)
        d.wait_ended(name)

    def content(self, d, name):
        sql = "SELECT coalesce(sum(length), 0) FROM chunks WHERE stream IN "
        return d.query(f"{sql}(SELECT s.id FROM streams s JOIN runs r ON s.run = r.id WHERE r.name = '{name}')")[0][0]

    def test_bytes(self):
        """The quota deletes the oldest packets of its guest only, and keeps those of a pinned
        capture."""
        d = self.daemons(QUIET + "[policy small-*]\nbytes = 4K\n")
        self.fill(d, "small-one")
        self.fill(d, "large")
        d.wait(lambda: 0 < self.content(d, "small-one") <= 4096)
        self.assertGreater(self.content(d, "large"), 6000)
        left = events_of(d.trace("small-one"))
        self.assertEqual(left, [(1_000_000 + i, i) for i in range(600 - len(left), 600)])
        gone = d.ask("/v1/domains/small-one/live?after=1.0.0.30")
        self.assertEqual(gone[0], 410)

    @contextlib.contextmanager
    def slow_download(self, d, name):
        """Begin a download. Yield a function that reads the rest."""
        connection = daemons.UnixConnection(d.socket, daemons.HANGS)
        connection.request("GET", f"/v1/domains/{name}/trace")
        answer = connection.getresponse()
        self.assertEqual((answer.status, len(answer.read(65536))), (200, 65536))
        yield answer.read
        connection.close()

    def test_read_at_the_quota(self):
        """Deletion waits for downloads that have begun, but not for long."""
        d = self.daemons("[collector]\nflush-interval = 100ms\n[policy]\nbytes = 8M\n")
        options = "--ring rings/full.ctf --truth truth.ctf --size 1048576 --rate 3000000"
        writer = self.writer("writer-legacy", *options.split())

        def oldest():
            return d.query("SELECT coalesce(min(sequence), 0) FROM chunks")[0][0]

        def wait_deleted():
            was = oldest()
            d.wait(lambda: oldest() > was)

        wait_deleted()
        whole = 0
        for _ in range(40):  # a slow machine needs more tries
            # A deletion that is behind waits for nobody anew, so let it end before the download begins.
            writer.send_signal(signal.SIGSTOP)
            d.wait(lambda: self.content(d, "full") <= 8 << 20)
            time.sleep(2)  # so that the next check, 5 s after this one, falls into the download
            began = time.monotonic()
            with self.slow_download(d, "full") as rest:
                writer.send_signal(signal.SIGCONT)
                time.sleep(4)
                try:
                    self.assertGreater(len(rest()), 4_000_000)
                    whole += 1
                except http.client.IncompleteRead:  # a busy machine took longer than a download holds back deletion
                    self.assertGreater(time.monotonic() - began, 5)
            if whole == 2:
                break
        self.assertEqual(whole, 2)
        with self.slow_download(d, "full") as rest:
            wait_deleted()
            d.wait(lambda: self.content(d, "full") < 10 << 20)
            with self.assertRaises(http.client.IncompleteRead):
                rest()

    def test_pinned(self):
        d = self.daemons(QUIET + "[policy]\nbytes = 100M\n")
        self.fill(d, "kept")
        capture = d.captures("kept")[0]["id"]
        before = d.get(f"/v1/captures/{capture}/trace")
        headers = {"Content-Type": "application/json"}
        status, _, body = d.ask(f"/v1/captures/{capture}", "PATCH", '{"pinned": true, "note": "why"}', headers)
        self.assertEqual(status, 200, body)
        d.stop_collector()
        d.configure(QUIET + "[policy]\nbytes = 1K\nage = 1ms\n")
        d.start_collector()
        self.fill(d, "other")
        d.wait(lambda: self.content(d, "other") == 0)
        self.assertEqual(d.get(f"/v1/captures/{capture}/trace"), before)
        d.ask(f"/v1/captures/{capture}", "PATCH", '{"pinned": false}', headers)
        d.wait(lambda: self.content(d, "kept") == 0)
        self.assertEqual(d.ask(f"/v1/captures/{capture}")[0], 404)

    def test_age(self):
        d = self.daemons(QUIET + "[policy]\nage = 1h\n")
        self.fill(d, "old")
        self.assertGreater(self.content(d, "old"), 6000)
        d.stop_collector()
        d.configure(QUIET + "[policy]\nage = 3s\n")
        d.start_collector()
        d.wait(lambda: d.query("SELECT count(*) FROM runs WHERE name = 'old'") == [(0,)])
        self.assertEqual(self.content(d, "old"), 0)
        self.assertEqual(d.query("SELECT count(*) FROM captures"), [(0,)])
        self.assertIsNone(d.domain("old"))


if __name__ == "__main__":
    daemons.main()
