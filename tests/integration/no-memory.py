"""An answer is right, or there is none, whatever allocation fails: no-memory.py BUILD-DIRECTORY [TEST…]

Allocations of jansson and of libmicrohttpd's headers fail, one after the other (fail-memory.c). An answer that lacks a part would be false, for
example one without the number of lost packets. Each allocation of a question fails once; with MPROF_BRIEF=1, as many as fit, evenly spaced.
"""

import contextlib
import http.client
import itertools
import json
import lzma
import os
import signal
import sqlite3
import subprocess

import daemons
from daemons import Ring, program
from scarce_memory import Memory, chosen

MOST, MOST_RUNS = 40, 6  # with BRIEF, failures that are tried for a question to the server, and to mprofctl
TRACE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "traces", "small.ctf.xz")
CHANGES = {"Date", "Mprof-Age", "Connection"}


class Server(daemons.Case):
    def start(self):
        """Start a server on the archive of a guest that has lost packets, and was captured twice."""
        d = self.enterContext(daemons.Daemons())
        d.start()
        with Ring("rings/web.ctf") as ring:
            d.wait(lambda: d.domain("web"))
            d.wait_archived(ring, "web", 1)  # otherwise the stream would begin behind the loss
            d.collector.freeze()
            for _ in range(9):
                ring.add_packet()
            os.kill(d.collector.pid, signal.SIGCONT)
            d.wait(lambda: d.domain("web")["streams"][0]["lost_packets"])
            ring.add_slowly(3)
            status, _, body = d.ask("/v1/domains/web/captures", "POST", "{}", {"Content-Type": "application/json"})
            self.assertEqual(status, 201, body)
            marks = json.dumps({"marks": [{"from": str(n), "to": str(n), "text": f"mark {n}"} for n in range(9)]})
            status, _, body = d.ask(f"/v1/captures/{json.loads(body)['id']}", "PATCH", marks, {"Content-Type": "application/json"})
            self.assertEqual(status, 200, body)
        os.unlink("rings/web.ctf")
        d.wait_ended("web")
        d.wait_read()
        d.stop_collector()
        d.stop_server()
        memory = Memory("memory")
        d.server = d.launch("mprofd-http", "--listen", f"unix:{d.socket}", prefix=["env", *memory.words()])
        d.wait_read()
        return d, memory

    def ask(self, d, path):
        status, headers, body = d.ask(path, headers={"If-None-Match": '"other"'})  # such an answer does not come from the cache
        return status, {name: value for name, value in headers.items() if name not in CHANGES}, body

    def test_answers(self):
        d, memory = self.start()
        capture = d.captures("web")[0]["id"]
        paths = ["/v1/domains", "/v1/domains/web", "/v1/domains/web/packets?limit=2", "/v1/domains/web/packets?buckets=3", "/v1/domains/web/trace"]
        paths += [f"/v1/captures/{capture}{part}" for part in ("", "/trace", "/ctf.tar", "/context")] + ["/v1/captures", "/v1/captures?limit=1", "/"]
        failed = said = 0
        for path in paths:
            before = memory.count()
            right = self.ask(d, path)
            for n in chosen(memory.count() - before + 1, MOST):
                memory.fail(n)
                try:
                    answer = self.ask(d, path)
                except (http.client.HTTPException, ConnectionError):
                    failed += 1
                    answer = right
                memory.fail(-1)
                failed += answer[0] >= 500
                said += answer[0] == 503 and "memory" in json.loads(answer[2])["detail"]
                if answer[0] < 500:
                    self.assertEqual(answer, right, (path, n))
        self.assertGreater(failed, 50)
        self.assertGreater(said, failed * 3 // 4)
        self.assertIsNone(d.server.poll())

    def test_parser(self):
        """A parser that lacks memory, once or for long, finds no damage in the archive, and no fault in a request."""
        d, memory = self.start()
        capture = next(c["id"] for c in d.captures("web") if c["marks"])
        context = json.dumps({"reason": "crash", "xenstore": {"name": "web"}, "xenstore_complete": True, "console": None, "console_complete": False})
        with contextlib.closing(sqlite3.connect(f"{d.state}/archive/trace.db")) as db, db:
            db.execute("UPDATE captures SET context = ?, context_checksum = NULL, checksum = NULL", (context,))
            db.execute("UPDATE row_sums SET unchecked = ? WHERE name = 'captures'", (capture + 1,))
        marks = json.dumps({"marks": [{"from": "1", "to": "2", "text": "a mark"}]})
        questions = [lambda path=path: self.ask(d, path) for path in (f"/v1/captures/{capture}/context", f"/v1/captures/{capture}")]
        questions.append(lambda: d.ask(f"/v1/captures/{capture}", "PATCH", marks, {"Content-Type": "application/json"}))
        for question in questions:
            right = question()[::2]
            for n in itertools.count():
                memory.fail_parser(n)
                answer = question()
                memory.fail(-1)
                if answer[::2] == right:
                    break
                self.assertEqual(answer[0], 503, answer)
                self.assertIn("memory", json.loads(answer[2])["detail"])
            self.assertGreater(n, 5, answer)


class Changes(daemons.Case):
    def test_audit(self):
        """A change that has no answer is in the log, and no status that the client did not get."""
        d = self.enterContext(daemons.Daemons(f"{daemons.QUIET}[access]\ntokens = {os.path.abspath('tokens')}\n"))
        d.start_collector()
        memory = Memory("memory")
        d.server = d.launch("mprofd-http", "--listen", f"unix:{d.socket}", prefix=["env", *memory.words()])
        done = "POST /v1/domains/web/captures was done: status="

        def change():
            return d.ask("/v1/domains/web/captures", "POST", "{}", {"Content-Type": "application/json"})[0]

        with Ring("rings/web.ctf") as ring:
            d.wait(lambda: d.domain("web"))
            ring.add_slowly(3)
            before = memory.count()
            answers = [change()]
            n = memory.count() - before
            # The last allocations are headers, those before are the body; an answer of an earlier state of the archive has one more.
            while answers.count(None) < 5:
                n -= 1
                self.assertGreaterEqual(n, 0)
                memory.fail(n)
                try:
                    answers.append(change())
                except (http.client.HTTPException, ConnectionError):
                    answers.append(None)
            memory.fail(-1)
        self.assertEqual(set(answers), {201, None})
        self.assertEqual([d.said().count(done + status) for status in ("201", "none")], [answers.count(201), answers.count(None)])


class Program(daemons.Case):
    def test_mprofctl(self):
        """The commands whose answers are made of JSON values print a whole answer, or say that there is no memory."""
        with lzma.open(TRACE) as packed, open("web.ctf", "wb") as plain:
            plain.write(packed.read())
        memory = Memory("memory")
        environment = {**os.environ, **memory.environment()}

        def run(words):
            with contextlib.suppress(FileNotFoundError):
                os.unlink("out")
            done = subprocess.run([program("mprofctl"), *words], capture_output=True, env=environment, check=False)
            return done.returncode, done.stdout, done.stderr

        failed = 0
        for words in ("--json export --to csv web.ctf -o out", "--json export --to html web.ctf -o out"):
            before = memory.count()
            right = run(words.split())
            self.assertIn(right[0], (0, 3), right)
            n = memory.count() - before
            self.assertGreater(n, 10)
            for at in chosen(n, MOST_RUNS):
                memory.fail(at)
                answer = run(words.split())
                memory.fail(-1)
                if answer[0] == 1:
                    failed += 1
                    self.assertIn(b"memory", answer[2], (words, at))
                else:
                    self.assertEqual(answer, right, (words, at))
        self.assertGreater(failed, 5)


if __name__ == "__main__":
    daemons.main()
