"""Test mprofd-http beside the real collector: serving.py BUILD-DIRECTORY [TEST…]

serve/serve.py stands in for the collector, so that it can misbehave. Here the real collector
starts, stops, stalls and is killed.
"""

import concurrent.futures
import io
import json
import os
import re
import shutil
import signal
import subprocess
import tarfile
import threading
import time
import unittest

import babeltrace2
import daemons
from daemons import Case, Ring, events_of, program, small_ring

STOPPED = 503


class Served(Case):
    def guest(self, d, name="web", events=400):
        """Write a ring that holds all events of a test, so slowly that they are proven. Return the
        ring."""
        ring = self.enterContext(Ring(os.path.join(d.rings, name + ".ctf"), 16384, 16))
        ring.add_slowly(events)
        d.wait(lambda: d.domain(name))
        return ring

    def test_what_is_archived(self):
        d = self.daemons()
        ring = self.guest(d)
        d.wait_ready()
        domain = d.domain("web")
        self.assertEqual((domain["state"], domain["source"], domain["domid"], domain["uuid"]), ("running", "dir", None, None))
        ring.close()
        d.wait_ended("web")
        events = events_of(d.trace("web"))
        self.assertEqual(events, ring.written)
        pages = d.packets("web")
        packets = [p for page in pages for p in page["packets"]]
        self.assertEqual([p["sequence"] for p in packets], list(range(ring.sequence + 1)))
        self.assertEqual(sum(p["bytes"] - 30 for p in packets), 17 * len(events))
        self.assertEqual(sum(b["packets"] for b in d.json("/v1/domains/web/packets?buckets=5")["buckets"]), len(packets))
        tar = tarfile.open(fileobj=io.BytesIO(d.get("/v1/domains/web/ctf.tar")))
        name = next(n for n in tar.getnames() if "stream" in n)
        self.assertEqual(tar.extractfile(name).read(), d.trace("web"))
        if babeltrace2.usable():
            tar.extractall("ctf")
            said = subprocess.run(["babeltrace2", "ctf"], capture_output=True, text=True, check=True).stdout
            self.assertEqual(said.count("switch"), len(events))

    def test_live(self):
        """Follow the raw body and run mprofctl follow, from before the first event to the end of
        the run."""
        d = self.daemons()
        ring = self.guest(d, events=20)
        followed = subprocess.Popen([program("mprofctl"), "--host", f"unix:{d.socket}", "follow", "web", "-o", "followed.ctf"])
        body = []
        reader = threading.Thread(target=lambda: body.append(d.ask("/v1/domains/web/live", timeout=daemons.HANGS)[2]))
        reader.start()
        ring.add_slowly(600)
        ring.close()
        reader.join()
        self.assertEqual(followed.wait(daemons.HANGS), 0)
        self.assertEqual(events_of(body[0]), ring.written)
        with open("followed.ctf", "rb") as f:
            self.assertEqual(events_of(f.read()), ring.written)

    def test_live_comes_soon(self):
        """A follower does not wait for the flush interval, which is long here."""
        d = self.daemons(daemons.LAZY)
        ring = self.guest(d, events=20)

        def soon():
            d.wait(lambda: d.trace("web") and d.collector_metric("mprofd_queue_bytes") == 0)  # the interval begins with the first event that waits
            began = time.monotonic()
            self.read_live(d, ring)
            return time.monotonic() - began < 60  # a busy machine may need another try

        d.wait(soon)

    def read_live(self, d, ring):
        """Read the first byte of a live body while events are written."""
        connection = daemons.UnixConnection(d.socket, daemons.HANGS)
        connection.request("GET", "/v1/domains/web/live")
        answer = connection.getresponse()
        over = threading.Event()

        def write():
            while not over.is_set():
                ring.add_slowly(1)

        writing = threading.Thread(target=write)
        writing.start()
        try:
            self.assertTrue(answer.read1(1))
        finally:
            over.set()
            writing.join()
            connection.close()

    def test_captures(self):
        d = self.daemons()
        ring = self.guest(d)
        status, headers, body = d.ask("/v1/domains/web/captures", "POST", json.dumps({"note": "a = b\n50%"}))
        self.assertEqual(status, 201, body)
        capture = json.loads(body)
        where = headers["Location"]
        self.assertEqual((capture["kind"], capture["note"], capture["pinned"]), ("manual", "a = b\n50%", False))
        shown = json.loads(d.get(where))  # with what a reader finds in it, later
        self.assertEqual({name: shown[name] for name in capture}, capture)
        taken = events_of(d.get(where + "/trace"))
        self.assertEqual(taken, ring.written[-len(taken) :])
        self.assertGreater(len(taken), 0)
        status, _, body = d.ask(where, "PATCH", '{"pinned": true, "note": "kept"}')
        self.assertEqual((status, json.loads(body)["pinned"], json.loads(body)["note"]), (200, True, "kept"))
        said = subprocess.run([program("mprofctl"), "--host", f"unix:{d.socket}", "snapshot", "web", "--json"], capture_output=True, text=True)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertEqual(len(d.captures("web")), 2)
        self.assertEqual(d.ask(where, "DELETE")[0], 204)
        self.assertEqual([d.ask(where, method)[0] for method in ("GET", "DELETE", "PATCH")], [404, 404, 404])
        ring.close()
        d.wait_ended("web")
        self.assertEqual(d.ask("/v1/domains/web/captures", "POST")[0], 409)
        self.assertEqual(d.captures("web")[0]["kind"], "ended")

    def test_marks(self):
        """A capture keeps marks of its picture. A client that names the ETag that it has read
        changes nothing that somebody else has changed since."""
        d = self.daemons()
        self.guest(d)
        _, headers, body = d.ask("/v1/domains/web/captures", "POST")
        where = headers["Location"]
        self.assertEqual((json.loads(body)["marks"], json.loads(body)["version"]), ([], 0))
        tag = d.ask(where)[1]["ETag"]
        marks = [{"from": "0", "to": str(2**63 - 1), "text": "all <b>%0A\n\u2028" + "\U0001d11e" * 150}, {"from": "7", "to": "7", "text": "here"}]

        def patch(change, tag=None):
            status, headers, body = d.ask(where, "PATCH", json.dumps(change), {"If-Match": tag} if tag else None)
            return status, json.loads(body), headers.get("ETag")

        status, capture, second = patch({"marks": marks}, tag)
        self.assertEqual((status, capture["marks"], capture["version"]), (200, marks, 1))
        self.assertEqual((d.json(where)["marks"], d.ask(where)[1]["ETag"]), (marks, second))
        self.assertNotEqual(tag, second)
        for change in {"marks": []}, {"note": "x"}, {"pinned": True}:
            status, problem, _ = patch(change, tag)
            self.assertEqual((status, problem["status"]), (412, 412))
            self.assertIn("Somebody else", problem["detail"])
        self.assertEqual(d.json(where)["version"], 1)
        self.assertEqual(patch({"note": "y"}, f'"other", {second}')[0], 200)
        self.assertEqual(patch({"note": "z"}, "*")[0], 200)
        status, capture, _ = patch({"marks": []})
        self.assertEqual((status, capture["marks"], capture["note"], capture["version"]), (200, [], "z", 4))
        # Two changes that both read version 4: the collector itself refuses the second one.
        tag = d.ask(where)[1]["ETag"]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            told = list(pool.map(lambda n: patch({"marks": [{"from": "1", "to": "1", "text": str(n)}]}, tag)[0], range(8)))
        self.assertEqual(sorted(told), [200] + [412] * 7)
        self.assertEqual((d.json(where)["version"], len(d.json(where)["marks"])), (5, 1))

    def test_answers_are_as_new_as_the_archive(self):
        """The same question, asked again and again: a rate falls to 0 though nothing is committed, and a commit is seen at once."""
        d = self.daemons()
        ring = self.guest(d, events=400)
        with ring.writing():
            d.wait(lambda: d.domain("web")["streams"][0]["rate"] > 0)
        d.wait(lambda: d.domain("web")["streams"][0]["rate"] == 0)
        for path in ("/v1/domains", "/v1/domains/web", "/v1/captures", "/v1/domains/web/captures", "/v1/domains/web/packets"):
            self.assertEqual(d.get(path), d.get(path))
        self.assertEqual(d.trace("web"), d.trace("web"))
        for n in range(1, 4):
            where = d.ask("/v1/domains/web/captures", "POST")[1]["Location"]
            self.assertEqual((len(d.captures("web")), d.domain("web")["captures"]), (n, n))
            self.assertEqual(d.json(where)["note"], "")
            self.assertEqual(d.ask(where, "PATCH", '{"note": "%d"}' % n)[0], 200)
            self.assertEqual(d.json(where)["note"], str(n))
        self.assertEqual(d.ask(where, "DELETE")[0], 204)
        self.assertEqual((len(d.captures("web")), d.ask(where)[0]), (2, 404))
        seen = len(events_of(d.trace("web")))
        d.wait_archived(ring, "web", seen + 1)
        ring.close()

    def test_captures_at_once(self):
        """Several clients ask for a capture of the same guest at once: each gets an answer."""
        d = self.daemons()
        ring = self.guest(d)
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(d.ask("/v1/domains/web/captures", "POST")[0])) for _ in range(8)]
        for thread in threads:
            thread.start()
        ring.add_slowly(50)
        for thread in threads:
            thread.join()
        self.assertEqual(len(answers), 8)
        self.assertLessEqual(set(answers), {201, STOPPED})
        self.assertEqual(len(d.captures("web")), answers.count(201))

    def test_metrics(self):
        d = self.daemons()
        self.guest(d)
        wanted = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;q=0.5"
        _, headers, text = d.ask("/metrics", headers={"Accept": wanted})
        self.assertEqual(headers["Content-Type"], "application/openmetrics-text; version=1.0.0; charset=utf-8")
        self.assertEqual(headers["Vary"], "Accept")
        text = text.decode()
        for name in ("mprofd_copied_bytes_total", "mprofd_archive_running 1", "mprofd_archiving 1"):
            self.assertIn(name.replace("archive_running", "archive_runs_running"), text)
        names = re.findall(r"^# TYPE (\S+)", text, re.M)
        self.assertEqual(len(names), len(set(names)))
        self.assertTrue(text.endswith("# EOF\n"))
        for name, kind, about in re.findall(r"^# TYPE (\S+) (.*)\n# HELP \S+ (.*)", text, re.M):
            sample = f"{name}_total" if kind == "counter" else name
            self.assertIn(kind, ("counter", "gauge"), name)
            self.assertRegex(about, r"^[A-Z1].*\.$", name)
            self.assertRegex(text, rf"(?m)^{sample}(\{{.*\}})? [0-9.e+-]+$", name)
        self.assertEqual(len(names), len(re.findall(r"^# TYPE (\S+) .*\n# HELP \1 ", text, re.M)))

        # Other clients get the older format, in which a counter is named like its sample.
        for accept in ({}, {"Accept": "*/*"}, {"Accept": "application/openmetrics-text;version=0.0.1,text/plain"}):
            _, headers, older = d.ask("/metrics", headers=accept)
            self.assertEqual(headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8", accept)
            described = re.findall(r"^# TYPE (\S+) (.*)\n# HELP (\S+) .*\n([^ {]+)", older.decode(), re.M)
            self.assertEqual(len(described), len(names))
            for name, kind, helped, sample in described:
                self.assertEqual((helped, sample, kind == "counter"), (name, name, name.endswith("_total")))

    def test_collector_comes_and_goes(self):
        """/readyz shows each change."""
        d = self.daemons()
        d.wait(lambda: d.ask("/readyz")[0] == 200)
        d.stop_collector()
        self.assertEqual(d.ask("/readyz")[0], STOPPED)
        for stop in (d.stop_collector, d.kill_collector, d.stop_collector):
            d.start_collector()
            d.wait(lambda: d.ask("/readyz")[0] == 200)
            stop()
            self.assertEqual(d.ask("/readyz")[0], STOPPED)
            self.assertNotIn(b"mprofd_copied", d.ask("/metrics")[2])

    def test_collector_stalls(self):
        """The server waits for no collector that does not answer: these answers come while it is stopped."""
        d = self.daemons()
        shutil.copyfile(self.ring_file(), os.path.join(d.rings, "web.ctf"))
        d.wait(lambda: d.domain("web"))
        d.collector.freeze()
        try:
            self.assertEqual(d.ask("/readyz")[0], STOPPED)
            self.assertEqual(d.ask("/metrics")[0], 200)
            self.assertEqual(d.ask("/v1/domains")[0], 200)
            self.assertEqual(d.ask("/v1/captures/1?with=tail", "DELETE", patient=False)[0] in (404, STOPPED), True)
        finally:
            d.collector.send_signal(signal.SIGCONT)
        d.wait(lambda: d.ask("/readyz")[0] == 200)

    def ring_file(self):
        with open("ring", "wb") as f:
            f.write(small_ring())
        return "ring"

    def test_ready_while_everything_starts(self):
        """Ask all the time, from before the socket exists: each question gets an answer, and once all has started the status is 200."""
        d = self.enterContext(daemons.Daemons())
        for first in ("collector", "server"):
            codes, stop = [], threading.Event()

            def ask(codes=codes, stop=stop):
                while not stop.is_set():
                    try:
                        codes.append(d.ask("/readyz", timeout=daemons.HANGS)[0])
                    except (FileNotFoundError, ConnectionError):
                        time.sleep(0.001)
                    except BaseException as error:
                        codes.append(repr(error))
                        raise

            asking = [threading.Thread(target=ask) for _ in range(3)]
            for thread in asking:
                thread.start()
            for step in (d.start_collector, d.start_server) if first == "collector" else (d.start_server, d.start_collector):
                step()
            d.wait(lambda codes=codes: 200 in codes)
            stop.set()
            for thread in asking:
                thread.join()
            self.assertLessEqual(set(codes), {200, STOPPED})
            d.stop()

    def test_live_over_a_restart_of_the_collector(self):
        d = self.daemons()
        ring = self.guest(d, events=100)
        body = []
        reader = threading.Thread(target=lambda: body.append(d.ask("/v1/domains/web/live", timeout=daemons.HANGS)[2]))
        reader.start()
        ring.add_slowly(60)
        d.kill_collector()
        ring.add(5)
        d.start_collector()
        ring.add_slowly(100)
        ring.close()
        reader.join()
        self.assertEqual(events_of(body[0]), ring.written)


if __name__ == "__main__":
    daemons.main()
