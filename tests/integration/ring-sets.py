"""Test directories of rings: one guest with a ring for each file: ring-sets.py BUILD-DIRECTORY
[TEST…]"""

import json
import os
import shutil
import signal
import subprocess
import time
import unittest

import daemons
from daemons import Ring, events_of, image, judge, program, rooms, small_ring
from turns import long

RINGS_MAX = 64


class Case(daemons.Case):
    def ring(self, path, **options):
        ring = Ring(f"rings/{path}", **options)
        self.addCleanup(ring.close)
        return ring

    def stream_names(self, guest, index=-1):
        """Return {name: number} of the streams of a run of GUEST."""
        run = self.d.run_list(guest)[index]["run"]
        rows = self.d.query(f"SELECT name, number FROM streams WHERE run = {run} ORDER BY number")
        return dict(rows)

    def wait_streams(self, guest, names, index=-1):
        self.d.wait(lambda: self.d.domain(guest) and set(self.stream_names(guest, index)) == set(names))
        return self.stream_names(guest, index)

    def stream_events(self, guest, name, index=-1):
        run = self.d.run_list(guest)[index]["run"]
        number = self.stream_names(guest, index)[name]
        return events_of(self.d.trace(guest, f"?run={run}&stream={number}"))

    def whole(self, guest, rings, index=-1):
        """Check that the archive has all events of RINGS, {name: ring}."""
        for name, ring in rings.items():
            self.assertEqual(self.stream_events(guest, name, index), ring.written, name)


class Runs(Case):
    def test_a_ring_for_each_file(self):
        """The streams of one run have the names of their files. The run ends with the last writer,
        and one capture has the end of all rings."""
        self.d = self.daemons()
        os.mkdir("rings/web")
        os.mkdir("rings/web/below")
        shutil.copy("/dev/null", "rings/web/metadata")
        os.symlink("/dev/null", "rings/web/link")
        rings = {name: self.ring(f"web/{name}", base=1_000_000 + 7 * i) for i, name in enumerate(("main", "worker", "x.ctf"))}
        self.ring("web/below/lost").add(3)
        self.wait_streams("web", rings)
        for ring in rings.values():
            ring.add_slowly(30)
        self.assertEqual(self.d.domain("web")["state"], "running")
        rings["worker"].close()
        rings["main"].add_slowly(10)
        self.assertEqual(self.d.domain("web")["state"], "running")
        rings["main"].close()
        rings["x.ctf"].close()
        self.d.wait_ended("web")
        self.whole("web", rings)
        captures = self.d.captures("web")
        self.assertEqual([capture["kind"] for capture in captures], ["ended"])
        self.assertEqual(len(self.d.run_list("web")), 1)
        self.assertEqual([d["name"] for d in self.d.json("/v1/domains")["domains"]], ["web"])

    def test_the_directory_goes(self):
        """Its run ends with all rings, though programs still write to them."""
        self.d = self.daemons()
        os.mkdir("rings/.app.7")
        rings = {f"thread-{i}": self.ring(f".app.7/thread-{i}", base=1000 * i + 1000) for i in range(5)}
        for ring in rings.values():
            ring.add(20)
        os.rename("rings/.app.7", "rings/app.7")
        self.wait_streams("app.7", rings)
        os.rename("rings/app.7", "elsewhere")
        self.d.wait_ended("app.7")
        self.whole("app.7", rings)
        os.rename("elsewhere", "rings/other")
        self.wait_streams("other", rings)
        shutil.rmtree("rings/other")
        self.d.wait_ended("other")
        self.whole("other", rings)

    def test_rings_come_and_go(self):
        """A file that is removed is withdrawn with a capture; one of the same name is a new stream."""
        self.d = self.daemons()
        os.mkdir("rings/web")
        stays, goes = self.ring("web/stays"), self.ring("web/goes", base=5_000_000)
        numbers = self.wait_streams("web", ["stays", "goes"])
        self.assertEqual(set(numbers.values()), {0, 1})
        goes.add(50)
        os.unlink("rings/web/goes")
        self.d.wait(lambda: self.d.captures("web"))
        again = self.ring("web/goes", base=6_000_000)
        again.add(20)
        self.d.wait(lambda: self.stream_names("web")["goes"] == 2)
        stays.add(10)
        again.close()
        stays.close()
        self.d.wait_ended("web")
        self.whole("web", {"goes": again, "stays": stays})
        capture = min(capture["id"] for capture in self.d.captures("web"))
        taken = self.d.get(f"/v1/captures/{capture}/trace?stream={numbers['goes']}")
        self.assertEqual(events_of(taken), goes.written)
        self.assertEqual(len(self.d.run_list("web")), 1)

    @long
    def test_closed_by_other_names(self):
        """The writers have opened the rings by names that are not in the directory: no event tells of their death."""
        self.d = self.daemons()
        os.mkdir("rings/.web")
        rings = {f"thread-{i}": Ring(os.path.abspath(f"elsewhere-{i}"), base=1000 * i + 1000) for i in range(3)}
        for i, name in enumerate(rings):
            os.link(f"elsewhere-{i}", f"rings/.web/{name}")
        os.rename("rings/.web", "rings/web")
        self.wait_streams("web", rings)
        for ring in rings.values():
            ring.add(20)
        self.d.advance(6)
        self.assertEqual(self.d.domain("web")["state"], "running")
        for ring in rings.values():
            ring.close()
        self.d.advance(6)
        self.d.wait_ended("web")
        self.whole("web", rings)
        self.assertEqual([capture["kind"] for capture in self.d.captures("web")], ["ended"])

    def test_a_run_goes_on(self):
        """A program that opens a ring again continues the run; another ring begins a new one."""
        self.d = self.daemons()
        os.mkdir("rings/web")
        one, two = self.ring("web/one"), self.ring("web/two", base=4_000_000)
        self.wait_streams("web", ["one", "two"])
        one.add(10)
        two.add(10)
        one.close()
        two.close()
        self.d.wait_ended("web")
        one.file = open("rings/web/one", "r+b", buffering=0)
        one.add(10)
        self.d.wait(lambda: self.d.domain("web")["state"] == "running")
        one.close()
        self.d.wait_ended("web")
        self.whole("web", {"one": one, "two": two})
        three = self.ring("web/three", base=8_000_000)
        three.add(10)
        self.d.wait(lambda: len(self.d.run_list("web")) == 2)
        three.close()
        self.d.wait_ended("web", 2)
        self.whole("web", {"three": three})
        self.assertEqual(set(self.stream_names("web")), {"three"})
        self.assertEqual(len(self.d.run_list("web")), 2)

    def test_a_run_goes_on_beside_closed_rings(self):
        """A program opens one of eight rings again. mprofd polls the other seven before it polls this one
        a second time, and they do not end the run."""
        self.d = self.daemons()
        os.mkdir("rings/web")
        rings = {f"r{i}": self.ring(f"web/r{i}", base=1_000_000 * (i + 1)) for i in range(8)}
        self.wait_streams("web", rings)
        for ring in rings.values():
            ring.add(10)
            ring.close()
        self.d.wait_ended("web")
        for ends, name in enumerate(("r0", "r3", "r6"), 1):
            self.d.collector.freeze()
            rings[name].file = open(f"rings/web/{name}", "r+b", buffering=0)
            rings[name].add(10)
            time.sleep(1.1)  # each ring is polled once a second: now all are due
            self.d.collector.send_signal(signal.SIGCONT)
            self.d.wait(lambda: self.d.domain("web")["state"] == "running")
            rings[name].add_slowly(20)
            self.assertEqual(self.d.domain("web")["state"], "running")
            rings[name].close()
            self.d.wait_ended("web")
            self.assertEqual(len(self.d.captures("web")), ends + 1)
        self.whole("web", rings)
        self.assertEqual(len(self.d.run_list("web")), 1)


class Restarts(Case):
    def test_a_restart_continues_each_ring(self):
        self.d = self.daemons()
        os.mkdir("rings/web")
        rings = {f"t{i}": self.ring(f"web/t{i}", base=1_000_000 * (i + 1)) for i in range(3)}
        before = self.wait_streams("web", rings)
        for ring in rings.values():
            ring.add_slowly(10)
        self.d.kill_collector()
        for ring in rings.values():
            ring.add(10)
        rings["t3"] = self.ring("web/t3", base=9_000_000)
        rings["t3"].add(5)
        self.d.start_collector()
        after = self.wait_streams("web", rings)
        self.assertEqual({name: after[name] for name in before}, before)
        for ring in rings.values():
            ring.close()
        self.d.wait_ended("web")
        self.assertEqual(len(self.d.run_list("web")), 1)
        self.whole("web", rings)

    def test_a_restart_without_news(self):
        """A run that has ended stays ended, with one capture. A directory that went is over."""
        self.d = self.daemons()
        for guest in ("stays", "goes"):
            os.mkdir(f"rings/{guest}")
            with Ring(f"rings/{guest}/a") as ring:
                ring.add(30)
        self.d.wait_ended("stays")
        self.d.wait_ended("goes")
        self.d.stop_collector()
        shutil.rmtree("rings/goes")
        self.d.start_collector()
        os.mkdir("rings/next")
        with Ring("rings/next/a") as ring:
            ring.add(3)
        self.d.wait_ended("next")
        for guest in ("stays", "goes"):
            self.assertEqual([run["state"] for run in self.d.run_list(guest)], ["ended"])
            self.assertEqual(len(self.d.captures(guest)), 1)


class Writers(Case):
    """A program with a ring for each thread, while the collector reads."""

    def check(self, threads, *options):
        self.d = self.daemons()
        said = self.write("writer-threads", "--dir", "rings", "--truth", "truth", "--threads", threads, *options)
        guest = said["folder"]
        self.assertEqual((said["dropped"], said["rings"]), (0, threads))
        self.d.wait_ended(guest)
        names = self.stream_names(guest)
        self.assertEqual(len(names), threads)
        events = gaps = 0
        for name, number in names.items():
            stream = self.d.trace(guest, f"?stream={number}")
            pages = self.d.packets(guest, f"&stream={number}")
            gaps += sum(len(page["gaps"]) for page in pages)
            events += judge(name, f"truth.{name}", stream, pages, "--ended")["events"]
        return said["events"], events, gaps

    @long
    def test_ten_writers(self):
        """Each event is archived, or in a declared gap."""
        written, archived, gaps = self.check(10, "--events", 40000, "--rate", 400000, "--size", 65536)
        self.assertTrue(archived >= written or gaps, (written, archived))
        self.assertGreater(archived, written / 4)

    def test_ten_fast_writers(self):
        """They lap their rings before the collector can read them."""
        written, archived, gaps = self.check(10, "--events", 100000, "--size", 8192)
        self.assertTrue(archived >= written or gaps, (written, archived))

    @long
    def test_large_rings(self):
        """Nothing is lost in rings that have room for all."""
        written, archived, gaps = self.check(16, "--events", 3000, "--size", 1 << 20)
        # Each ring also has its recorder's declaration and a switch at its start, and four texts.
        self.assertEqual((archived, gaps), (written + 16 * 6, 0))


class Hostile(Case):
    def test_more_rings_than_the_limit(self):
        self.d = self.daemons()
        os.mkdir("rings/.many")
        for i in range(RINGS_MAX + 6):
            with open(f"rings/.many/{i:03}", "wb") as f:
                f.write(small_ring())
        os.rename("rings/.many", "rings/many")
        self.d.wait_ended("many")
        self.d.wait(lambda: "has more than 64 rings" in self.d.said())
        self.assertEqual(self.d.query("SELECT count(*) FROM streams"), [(RINGS_MAX,)])
        for name in list(self.stream_names("many"))[:10]:
            os.unlink(f"rings/many/{name}")
        with Ring("rings/many/new") as ring:
            self.d.wait(lambda: len(self.d.run_list("many")) == 2)
            ring.add(3)
        with Ring("rings/honest.ctf") as ring:
            ring.add(20)
        self.d.wait_ended("honest")

    def test_files_that_are_no_rings(self):
        self.d = self.daemons()
        os.mkdir("rings/web")
        for name, data in (("empty", b""), ("text", b"no ring\n" * 1000), ("\x01\xff".encode("latin1"), b"x" * 5000)):
            with open(os.path.join(b"rings/web", name if isinstance(name, bytes) else name.encode()), "wb") as f:
                f.write(data)
        os.mkfifo("rings/web/pipe")
        ring = self.ring("web/ring")
        ring.add(20)
        self.wait_streams("web", ["ring"])
        ring.close()
        self.d.wait_ended("web")
        self.whole("web", {"ring": ring})
        self.d.wait(lambda: self.d.collector_metric("mprofd_refused_rings_total") >= 3)

    def test_a_ring_that_is_begun_anew(self):
        self.d = self.daemons()
        os.mkdir("rings/web")
        other, ring = self.ring("web/other"), self.ring("web/ring", base=3_000_000)
        other.add(5)
        self.wait_streams("web", ["other", "ring"])
        with ring.writing():  # without an archived packet nothing is lost
            self.d.wait(lambda: self.d.query("SELECT 1 FROM chunks WHERE stream = (SELECT id FROM streams WHERE name = 'ring')"))
        ring.file.truncate(2048)
        ring.file.truncate(0)
        ring.file.seek(0)
        ring.file.write(image([], rooms(4096, 4)))
        self.d.wait(lambda: len(self.d.query("SELECT 1 FROM streams")) == 3 and self.d.query("SELECT 1 FROM gaps"))
        self.assertEqual(self.d.domain("web")["state"], "running")
        self.assertEqual(self.d.query("SELECT kind, reason, at_least, packets FROM gaps"), [("lost", "lapped", 1, 1)])


class Names(Case):
    def test_a_file_beside_the_directory(self):
        """`web.ctf` is called `web.ctf` while there is a directory `web`, whichever comes first."""
        self.d = self.daemons()
        self.ring("web.ctf")
        self.d.wait(lambda: self.d.domain("web"))
        os.mkdir("rings/web")
        self.ring("web/a", base=2_000_000)
        self.d.wait(lambda: self.d.domain("web.ctf"))
        self.wait_streams("web", ["a"])
        os.mkdir("rings/b")
        self.ring("b/a", base=3_000_000)
        self.wait_streams("b", ["a"])
        self.ring("b.ctf", base=4_000_000)
        self.d.wait(lambda: self.d.domain("b.ctf"))


class Read(Case):
    def test_the_verbs(self):
        """mprofctl reads the directory, or the files in it, as one trace, merged by time."""
        os.makedirs("rings/web")
        for i in range(3):
            with Ring(f"rings/web/t{i}", base=1_000_000 + i) as ring:
                ring.base, ring.n = 1_000_000 + i * 300, 0
                ring.add(300)

        def run(*arguments):
            return subprocess.run([program("mprofctl"), *arguments], capture_output=True, text=True, check=True).stdout

        files = [f"rings/web/t{i}" for i in range(3)]
        lines = run("dump", "rings/web").splitlines()
        times = [int(line.split(" ")[0].replace(".", "")) for line in lines]
        self.assertEqual(times, sorted(times))
        for i, path in enumerate(files):
            of = f' stream="t{i}"'
            self.assertEqual([line.removesuffix(of) for line in lines if line.endswith(of)], run("dump", path).splitlines())
        self.assertGreater(sum(line.endswith('"t0"') for line in lines), 100)
        for verb in ("dump", "why", "threads", "stats"):
            self.assertEqual(run(verb, *files), run(verb, "rings/web"), verb)
        for to in ("json", "csv", "chrome", "ctf"):
            run("export", "rings/web", "--to", to, "-o", f"out.{to}")
            run("export", *files, "--to", to, "-o", f"files.{to}")
        for to in ("json", "csv", "chrome"):
            # The trace is named like the operand.
            with open(f"out.{to}", encoding="utf-8") as whole, open(f"files.{to}", encoding="utf-8") as several:
                text = whole.read()
                self.assertGreater(len(text), 100)
                self.assertEqual(several.read().replace("rings/web/t0", "rings/web"), text, to)
        self.assertEqual(run("dump", "out.ctf"), run("dump", "files.ctf"))

    @long
    def test_names_that_are_no_files(self):
        """Several names are files and directories of rings, and nothing else."""
        os.makedirs("rings/web")
        for name in ("one", "two"):
            with Ring(f"rings/web/{name}") as ring:
                ring.add(10)
        with open("text", "w", encoding="ascii") as file:
            file.write("no ring")
        os.mkfifo("pipe")

        def fails(code, said, *arguments):
            done = subprocess.run([program("mprofctl"), *arguments], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (code, ""), arguments)
            self.assertIn(said, done.stderr)

        for verb in ("dump", "stats", "threads", "why"):
            fails(2, "one argument too many", verb, "rings/web/one", "absent", "rings/web/two")
            fails(1, "rings/web holds rings/web/one", verb, "rings/web/one", "rings/web")
            fails(1, "rings/web holds rings/web/one", verb, "rings/web", "rings/web/one")
            fails(1, "rings/web holds rings/web/one", verb, "file:rings/web/one", "rings/web")
            fails(1, "pipe is no file", verb, "rings/web/one", "pipe")
            fails(1, "text is no stream of a trace", verb, "rings/web/one", "text")
        fails(2, '"absent" is one argument too many', "dump", "rings/web/one", "absent")
        fails(2, '"absent" is one argument too many', "export", "rings/web/one", "absent", "--to", "json")
        self.assertFalse(os.path.exists("one.json"))
        fails(4, "there is no thread", "why", "rings/web/one", "rings/web/two", "absent")

    def test_programs(self):
        """The rings of each directory are a program: one id in two of them is two threads, also if the files are named one by one."""
        for name in ("a", "b"):
            os.makedirs(f"rings/{name}")
            with Ring(f"rings/{name}/one", base=1_000_000 if name == "a" else 2_000_000) as ring:
                ring.add(10)
        os.symlink("a", "rings/link")

        def run(*arguments):
            return subprocess.run([program("mprofctl"), *arguments], capture_output=True, text=True, check=True).stdout

        def threads(*arguments):
            return sorted((each["thread"], each["stream"]) for each in json.loads(run("threads", "--json", *arguments))["threads"])

        alone = {name: json.loads(run("threads", "--json", f"rings/{name}"))["threads"] for name in ("a", "b")}
        both = threads("rings")
        self.assertEqual(both, sorted((each["thread"], f"{name}/one") for name in alone for each in alone[name]))
        for where in (
            ("rings/a", "rings/b/"),
            ("rings/a/one", "rings/b/one"),
            ("rings/b/one", "rings/a"),
            ("rings/link", os.path.abspath("rings/b/one")),
            ("rings/",),
        ):
            self.assertEqual(threads(*where), both, where)


if __name__ == "__main__":
    daemons.main()
