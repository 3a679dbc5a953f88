"""Run a real program that the OCaml runtime profiles through the sink, HTTP and mprofctl:
profiled.py BUILD-DIRECTORY [TEST…]

profiled.ml reports how much each of its functions allocated. The estimate from the samples must be
that, within its error.
"""

import json
import os
import shutil
import subprocess
import time

import daemons
import sink
from daemons import HERE, program

SURE = 5  # standard errors


class Profiled(sink.Case):
    def build(self):
        shutil.copy(os.path.join(HERE, "profiled.ml"), "profiled.ml")
        subprocess.run(["ocamlopt", "-g", "-w", "+a-4-9-40..42-70", "-warn-error", "+a", "-o", "profiled", "unix.cmxa", "profiled.ml"], check=True)

    def start(self, *arguments):
        process = subprocess.Popen(["./profiled", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.kill)
        return process

    def wait_worked(self, d, guest, seconds):
        """Wait until the program has used SECONDS more of a processor."""

        def used():
            with open(f"/proc/{guest.pid}/stat", encoding="ascii") as f:
                return sum(map(int, f.read().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")

        before = used()
        d.wait(lambda: used() >= before + seconds)

    def mem(self, verb, path):
        return json.loads(subprocess.run([program("mprofctl"), "mem", verb, "--json", path], capture_output=True, check=True).stdout)

    def judge(self, d, recording, said):
        """Compare the archived profile, as mprofctl reads it, with the program's own report."""
        with open("profile.ctf", "wb") as f:
            f.write(d.get(f"/v1/memtraces/{recording}/data"))
        about = self.mem("identify", "profile.ctf")
        self.assertEqual((about["program"], about["word_bytes"], about["damages"], about["unknown"]), ("profiled", 8, 0, 0))
        hotspots = self.mem("hotspots", "profile.ctf")
        functions = {f["function"].rsplit(".", 1)[1]: f for f in hotspots["functions"] if f["self"]}
        for name, words in said.items():
            estimate, error = functions[name]["self_bytes"] / 8, functions[name]["error"]
            self.assertLess(error, 0.2)
            self.assertLess(abs(estimate - words), SURE * error * words, (name, estimate, words, error))
        # The only other allocations are the list of kept blocks; the sending code is not sampled.
        self.assertLess(sum(f["self_bytes"] for name, f in functions.items() if name not in said), 0.01 * hotspots["samples_bytes"])
        self.assertGreater(about["live_samples"] * 1000, 0.8 * said["keep"])
        return about

    def test_offered(self):
        """Start and stop over HTTP, twice. The program writes nearly all of its profile when it is
        stopped, and all of that arrives."""
        self.build()
        d = self.enterContext(sink.Sink())
        d.start_sink()
        d.start()
        guest = self.start("serve")
        port = int(guest.stdout.readline())
        for _ in range(2):
            began = time.time()
            body = json.dumps({"address": "127.0.0.1", "port": port})
            status, _, answer = d.ask("/v1/domains/profiled/memtraces", "POST", body, {"Content-Type": "application/json"})
            self.assertEqual(status, 201, answer)
            recording = json.loads(answer)
            home = f"/v1/memtraces/{recording['id']}"
            self.assertEqual((recording["says"]["program"], recording["packets"], recording["domain"]), ("profiled", 1, "profiled"))
            self.assertEqual(recording["says"]["context"], 'with <b>bold</b> & "quotes"')
            self.wait_worked(d, guest, 1.2)
            self.assertEqual(d.ask("/v1/domains/profiled/memtraces", "POST", body, {"Content-Type": "application/json"})[0], 409)
            before = d.json(home)["packets"]
            status, _, answer = d.ask(f"{home}/recording", "DELETE")
            ended = json.loads(answer)
            self.assertEqual((status, ended["state"], ended["reason"], ended["dropped"]), (200, "ended", "stopped", 0), answer)
            self.assertGreater(ended["packets"], before)
            about = self.judge(d, recording["id"], json.loads(guest.stdout.readline()))
            lasted = int(about["last_us"]) - int(about["start_us"])
            self.assertTrue(0 < lasted <= (time.time() - began) * 1e6, lasted)

    def test_command(self):
        """Do the same with mprofctl: start, list, ask by number while the profile grows, and stop."""
        self.build()
        d = self.enterContext(sink.Sink())
        d.start_sink()
        d.start()
        guest = self.start("serve")
        port = guest.stdout.readline().strip()
        command = [program("mprofctl"), "--host", f"unix:{d.socket}", "mem"]
        ctl = lambda *arguments: subprocess.run([*command, *arguments], capture_output=True, text=True, check=False, timeout=daemons.HANGS)
        started = ctl("start", "profiled", "--address", "127.0.0.1", "--port", port)
        self.assertEqual((started.stdout, started.returncode), ("1\n", 0), started)
        again = ctl("start", "profiled", "--address", "127.0.0.1", "--port", port)
        self.assertEqual((again.stdout, again.returncode), ("", 1), again)
        self.assertIn("recorded already", again.stderr)
        self.assertEqual(json.loads(ctl("identify", "1", "--json").stdout)["program"], "profiled")
        for which in ([], ["profiled"], ["domain:profiled"]):
            head, line = (line.split() for line in ctl("list", *which).stdout.splitlines())
            self.assertEqual(head[:4], ["ID", "DOMAIN", "ADDRESS", "PROGRAM"])
            self.assertEqual((line[:4], "recording" in line), (["1", "profiled", "127.0.0.1", "profiled"], True), line)
        stopped = ctl("stop", "recording:1", "--json")
        self.assertEqual(json.loads(stopped.stdout)["reason"], "stopped", stopped)
        self.judge(d, 1, json.loads(guest.stdout.readline()))
        self.assertIn("stopped", ctl("list").stdout)
        self.assertEqual(json.loads(ctl("list", "--json").stdout)["memtraces"][0]["id"], 1)
        self.assertEqual(ctl("stop", "1").returncode, 1)
        self.assertEqual(ctl("stop", "2").returncode, 4)
        for wrong, sentence in (
            (("stop", "web"), '"web" is not a recording\'s id, which is a number'),
            (("start", "web", "--port", "0"), '--port is not a number from 1 to 65535: "0"'),
            (("start", "web", "--port", "1x"), '--port is not a number from 1 to 65535: "1x"'),
        ):
            done = ctl(*wrong)
            self.assertEqual((done.returncode, sentence in done.stderr), (2, True), done)

    def test_connecting(self):
        """The program runs at full speed and ends by itself."""
        self.build()
        d = self.enterContext(sink.Sink())
        d.start_sink()
        d.start()
        guest = self.start("connect", str(d.sink.port()), "3000")
        said = json.loads(guest.stdout.readline())
        row = d.wait_rows(1, "state = 'ended'", "id, reason, dropped, packets")[0]
        self.assertEqual(row[1:3], ("closed", 0))
        self.assertGreater(row[3], 20)
        self.judge(d, row[0], said)


if __name__ == "__main__":
    daemons.main()
