"""Test the recorder for MirageOS in guests of the simulation: mirage.py BUILD-DIRECTORY [TEST…]

The package is built against stand-ins for MirageOS's libraries (tests/xen/mirage), whose grants, event channels and XenStore are those of
the simulation; the unikernels are processes. $MPROF_MIRAGE is a directory with programs that another OCaml compiled."""

import os
import re
import shutil
import struct
import subprocess
import tempfile
import unittest

import publish
import sim
from sim import PAGE

import ocaml_library  # sim adds its folder to the path
import pages

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.environ.get("MPROF_MIRAGE")
REFUSED = "mprof: XenStore refuses the ring's keys: "


def compile_programs(directory):
    """Compile the unikernels in a workspace in DIRECTORY. Return the folder of the programs."""
    subprocess.run(["sh", os.path.join(HERE, "mirage", "workspace"), directory], check=True)
    done = subprocess.run(
        ["dune", "build", "--root", ".", "@stand-in/programs"],
        cwd=directory,
        env=ocaml_library.ENVIRONMENT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return os.path.join(directory, "_build/solo5/stand-in")


class Unikernel:
    """A running program in a guest, and its console."""

    def __init__(self, case, guest, program, arguments="", **environment):
        self.case = case
        environment = {**guest.env, "STAND_IN_COMMAND_LINE": arguments, **environment}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
        self.process = subprocess.Popen([os.path.join(case.programs, program + ".exe")], env=environment, **pipes)
        case.addCleanup(case.end, self.process)
        self.console = []

    def ready(self):
        """Wait until the unikernel reads what to do. Return the number of its free grants."""
        for line in self.process.stdout:
            self.console.append(line.rstrip("\n"))
            if found := re.fullmatch(r"ready (\d+)\n", line):
                return int(found[1])
        raise AssertionError(f"the unikernel ended: {self.console}")

    def say(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def ends(self):
        """Return the status with which the unikernel ends."""
        self.console += self.process.stdout.read().splitlines()
        return self.process.wait(timeout=sim.daemons.HANGS)

    def said(self):
        return [line for line in self.console if line.startswith("mprof: ")]


@unittest.skipUnless(PROGRAMS or ocaml_library.there("lwt", "cmdliner"), "no OCaml with dune, Lwt and cmdliner here")
class Case(publish.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.programs = PROGRAMS
        if not PROGRAMS:
            directory = tempfile.mkdtemp(prefix="mirage-")
            cls.addClassCleanup(shutil.rmtree, directory)
            cls.programs = compile_programs(directory)

    def unikernel_guest(self, domid=5, name="web"):
        guest = self.linux(domid, name)
        guest.grow(2100)
        return guest

    def begin(self, guest, program="automatic", arguments="", **environment):
        """Start a unikernel, and wait until it has published. Return it."""
        unikernel = Unikernel(self, guest, program, arguments, **environment)
        unikernel.ready()
        sim.launcher.wait(lambda: self.published_refs(guest), why=lambda: f"there is no ring: {unikernel.console}")
        return unikernel

    def key(self, guest, name):
        try:
            return self.store.toolstack.read(f"{guest.home}/data/mprof/{name}").decode()
        except sim.Refused:
            return None

    def published_refs(self, guest, base=""):
        """Return the references that the guest's commit key names, through the directory too."""
        value = self.key(guest, base + "ring-ref")
        if value:
            return [int(ref) for ref in value.split(",")]
        found, at = [], int(self.key(guest, base + "directory-ref") or 0)
        while at:
            *refs, at = struct.unpack("<1024I", guest.memory[at * PAGE : (at + 1) * PAGE])
            found += [ref for ref in refs if ref]
        return found

    def served(self, d, capture, stream=0):
        """Return the counter's values in a capture."""
        said = self.dump(d.get(f"/v1/captures/{capture['id']}/trace?stream={stream}"))
        return [int(value) for value in re.findall(r'counter .*value=(\d+) .*"served"', said)]


class Publishes(Case):
    def test_default(self):
        """Without a line of code: 64 pages, the event channel before the commit key; all events are captured when the unikernel ends."""
        d = self.daemons()
        guest = self.unikernel_guest()
        self.store.toolstack.watch(f"{guest.home}/data/mprof")
        unikernel = self.begin(guest)
        order = [path.rsplit("/", 1)[1] for path, _ in self.store.toolstack.drain(f"{guest.home}/data/mprof/ring-ref")]
        self.assertEqual([name for name in order if name != "mprof"], ["event-channel", "ring-ref"])
        self.assertEqual(len(self.published_refs(guest)), 64)
        self.assertEqual(self.attached(d, "web")["streams"][0]["ring_bytes"], 64 * PAGE)
        unikernel.say("serve 1000")
        self.assertEqual(unikernel.ready(), 2040 - 64)
        unikernel.say("return")
        self.assertEqual((unikernel.ends(), unikernel.said()), (0, []))
        guest.die("poweroff")
        self.unmapped(d, guest)
        (capture,) = d.wait_captures("web")
        self.assertEqual(capture["kind"], "poweroff")
        self.assertEqual(self.served(d, capture), list(range(1, 1001)))

    def test_directory(self):
        """A ring whose references do not fit into a value has directory pages: two for 1,200 pages."""
        d = self.daemons()
        guest = self.unikernel_guest()
        unikernel = self.begin(guest, arguments="--mprof-pages 1200")
        self.assertIsNone(self.key(guest, "ring-ref"))
        refs = self.published_refs(guest)
        self.assertEqual((len(refs), len(set(refs))), (1200, 1200))
        self.assertEqual(self.attached(d, "web")["streams"][0]["ring_bytes"], 1200 * PAGE)
        unikernel.say("serve 100000")
        self.assertEqual(unikernel.ready(), 2040 - 1202)
        unikernel.say("return")
        unikernel.ends()
        guest.die("poweroff")
        (capture,) = d.wait_captures("web")
        self.assertEqual(self.served(d, capture)[-1], 100000)

    def test_grants(self):
        """If few grants are free, the ring has fewer pages; with none the unikernel is not recorded. One sentence says so."""
        for domid, (free, asked, pages) in enumerate([(2040, 2000, 1526), (1000, 1000, 499), (30, 64, 14), (4, 64, 1)], 5):
            with self.subTest(free=free):
                guest = self.unikernel_guest(domid, f"short-{free}")
                unikernel = self.begin(guest, arguments=f"--mprof-pages={asked}", STAND_IN_GRANTS=str(free))
                self.assertEqual(len(self.published_refs(guest)), pages)
                (said,) = unikernel.said()
                self.assertIn(f"a ring of {asked} pages was wanted. The ring has {pages} pages, because", said)
        guest = self.unikernel_guest(20, "full")
        unikernel = Unikernel(self, guest, "automatic", STAND_IN_GRANTS="1")
        self.assertEqual(unikernel.ready(), 1)
        self.assertEqual(unikernel.said(), ["mprof: the grant table has no free entry for a ring. Nothing is recorded."])
        unikernel.say("return")
        self.assertEqual(unikernel.ends(), 0)

    def test_refused(self):
        """If XenStore does not take the keys, one sentence says so, the grants end, and the unikernel goes on."""
        guest = self.unikernel_guest()
        unikernel = Unikernel(self, guest, "automatic", XENSTORED_PATH="/nonexistent")
        while unikernel.ready() != 2040:
            unikernel.say("serve 1")
        (said,) = unikernel.said()
        self.assertTrue(said.startswith(REFUSED), said)
        unikernel.say("exit 3")
        self.assertEqual(unikernel.ends(), 3)

    def test_kicks(self):
        """Each packet that is finished is a kick."""
        d = self.daemons()
        guest = self.unikernel_guest()
        unikernel = self.begin(guest)
        port = int(self.key(guest, "event-channel"))
        d.wait(lambda: guest.port(port))
        before = guest.port(port)["kicks"]
        unikernel.say("serve 20000")
        unikernel.ready()
        self.assertGreater(guest.port(port)["kicks"], before + 2)

    def test_idle(self):
        """While the unikernel waits for a line no thread runs."""
        d = self.daemons()
        guest = self.unikernel_guest()
        unikernel = self.begin(guest)
        self.attached(d, "web")
        unikernel.say("serve 1")
        unikernel.ready()
        unikernel.say("return")
        unikernel.ends()
        guest.die("poweroff")
        (capture,) = d.wait_captures("web")
        said = self.dump(d.get(f"/v1/captures/{capture['id']}/trace"))
        switches = re.findall(r"switch thread=(-?\d+)", said)
        self.assertEqual(switches, ["0"] + ["-1", "0"] * (len(switches) // 2))
        # The counter is between the waits for two lines.
        self.assertRegex(said, r'(?s)switch thread=-1\n[^\n]*switch thread=0\n[^\n]*counter [^\n]*"served"')


class Tutorial(Case):
    def test_why(self):
        """The page's unikernel hangs, and the answer is the page's."""
        d = self.daemons()
        guest = self.unikernel_guest(name="hello")
        unikernel = self.begin(guest, "hello")
        self.attached(d, "hello")
        refs = self.published_refs(guest)
        ring = lambda: b"".join(guest.memory[ref * PAGE : (ref + 1) * PAGE] for ref in refs)
        self.write_until("hello.ctf", ring, self.hangs)
        capture = re.search(r"\d+", self.ctl("--host", f"unix:{d.socket}", "snapshot", "hello"))[0]
        said = self.ctl("--host", f"unix:{d.socket}", "why", capture)
        with open(os.path.join(ocaml_library.TOP, "docs/tutorial-mirage.md"), encoding="utf-8") as page:
            (shown,) = re.findall(r"(?s)```text\n(.*?)```", page.read())
        same_unit = lambda text: re.sub(r"N (ns|µs|ms)\b", "N ns", pages.masked(text))
        self.assertEqual(same_unit(said), same_unit(shown), said)
        unikernel.say("return")
        self.assertEqual(unikernel.ends(), 0)

    def hangs(self):
        """Return whether the connection waits in hello.ctf, and the unikernel is idle behind that."""
        idle = self.ctl("dump", "hello.ctf").endswith("switch thread=-1\n")
        return idle and "ARP response" in self.ctl("why", "hello.ctf")

    def write_until(self, path, content, holds):
        """Write CONTENT() to the file PATH, again and again, until HOLDS."""

        def written():
            with open(path, "wb") as f:
                f.write(content())
            return holds()

        sim.launcher.wait(written, why=lambda: self.ctl("dump", path))

    def ctl(self, *words):
        return subprocess.run([sim.daemons.program("mprofctl"), *words], capture_output=True, text=True, check=False).stdout


class Stops(Case):
    def test_withdrawn(self):
        """The explicit calls: a name, a ring withdrawn and captured, its grants ended, and another one under the same references."""
        d = self.daemons()
        guest = self.unikernel_guest()
        unikernel = Unikernel(self, guest, "explicit")
        self.assertEqual(unikernel.ready(), 2040 - 16)
        sim.launcher.wait(lambda: self.published_refs(guest, "stream/1/"), why=lambda: unikernel.console)
        self.assertEqual(self.key(guest, "stream/1/name"), "main ring")
        self.assertEqual(len(self.published_refs(guest, "stream/1/")), 16)
        self.attached(d, "web")
        unikernel.say("serve 10")
        unikernel.ready()
        unikernel.say("stop")
        self.assertEqual(unikernel.ready(), 2040, "all grants have ended")
        self.assertEqual(self.keys(guest), {})
        (capture,) = d.wait_captures("web")
        self.assertEqual((capture["kind"], self.served(d, capture, 1)), ("ended", list(range(1, 11))))
        unikernel.say("serve 5")  # is recorded nowhere
        unikernel.ready()
        unikernel.say("stop")  # does nothing
        unikernel.ready()
        unikernel.say("start")
        self.assertEqual(unikernel.ready(), 2040 - 16)
        self.attached(d, "web")
        unikernel.say("serve 2")
        unikernel.ready()
        unikernel.say("return")
        self.assertEqual((unikernel.ends(), unikernel.said()), (0, []))
        guest.die("poweroff")
        last = max(d.wait_captures("web", 2), key=lambda capture: capture["id"])
        self.assertEqual(self.served(d, last, 1), [16, 17])

    def test_busy(self):
        """A page that domain 0 keeps mapped stays granted, and a sentence says so."""
        guest = self.unikernel_guest()
        unikernel = Unikernel(self, guest, "explicit")
        unikernel.ready()
        sim.launcher.wait(lambda: self.published_refs(guest, "stream/1/"), why=lambda: unikernel.console)
        with open(guest.path("maps"), "wb") as maps:  # sim_maps of a process that does not unmap
            maps.write(bytes(PAGE) + bytes(8) + b"\1" * 3)
        unikernel.say("stop")
        self.assertEqual(unikernel.ready(), 2040 - 3)
        self.assertEqual(unikernel.said(), ["mprof: domain 0 still maps 3 pages of the ring. They stay granted."])


class Ends(Case):
    def ended(self, d, domid, command, arguments="", program="automatic"):
        """Run a unikernel that ends by COMMAND. Return its status, the kind of its capture, and the failures of thread 0."""
        name = f"end-{domid}"
        guest = self.unikernel_guest(domid, name)
        unikernel = self.begin(guest, program, arguments)
        self.attached(d, name)
        unikernel.say(command)
        status = unikernel.ends()
        # Xen sees Solo5's abort as a crash, and every other end as a power-off.
        guest.die("crashed" if status == 255 else "poweroff")
        (capture,) = d.wait_captures(name)
        said = self.dump(d.get(f"/v1/captures/{capture['id']}/trace"))
        return status, capture["kind"], re.findall(r'fails resolver=-?\d+ resolvee=0 exn="(.*)"', said)

    def test_ends(self):
        """A unikernel ends as without the recorder, and the trace says that it failed, and why."""
        d = self.daemons()
        for domid, (command, status, failures) in enumerate(
            [
                ("return", 0, []),
                ("exit 0", 0, []),
                ("exit 3", 3, ["exit 3"]),
                ("raise", 2, ["Broken: a pipe"]),
                ("nul", 2, [r"Failure(\"a\\000b\")"]),
                ("async", 2, ["Broken: a promise"]),
            ],
            5,
        ):
            with self.subTest(command):
                self.assertEqual(self.ended(d, domid, command), (status, "poweroff", failures))
        self.assertEqual(self.ended(d, 20, "abort"), (255, "crash", ["abort"]))

    def test_crashes(self):
        """With --mprof-crash Xen sees a crash where the status is not 0."""
        d = self.daemons()
        for domid, (command, status, failures) in enumerate(
            [("exit 0", 0, []), ("exit 3", 255, ["exit 3"]), ("raise", 255, ["Broken: a pipe"]), ("async", 255, ["Broken: a promise"])], 5
        ):
            with self.subTest(command):
                kind = "crash" if status else "poweroff"
                self.assertEqual(self.ended(d, domid, command, "--mprof-crash"), (status, kind, failures))

    @unittest.skipIf(sim.daemons.sanitized(), "the reader of captures needs a build without sanitizers")
    def test_on_crash(self):
        """Guests that ended by an exception or an error stay in the mode on-crash, though Xen saw a power-off, and no others."""
        d = self.daemons(sim.QUIET + "[policy *]\nmode = on-crash\n")
        ends = {"return": None, "exit 0": None, "exit 3": "exit 3", "raise": "Broken: a pipe", "async": "Broken: a promise"}
        for domid, command in enumerate(ends, 5):
            guest = self.unikernel_guest(domid, command.replace(" ", "-"))
            unikernel = self.begin(guest)
            self.attached(d, guest.name)
            unikernel.say(command)
            unikernel.ends()
            guest.die("poweroff")
        kept = {command.replace(" ", "-"): ("crash", text) for command, text in ends.items() if text}
        listed = lambda: {c["domain"]: (c["kind"], c["exception"]) for c in d.json("/v1/captures")["captures"]}
        d.wait(lambda: listed() == kept)

    def test_goes_on(self):
        """A hook of Lwt.async that goes on makes nothing fail, and its exception is not the reason of a later end."""
        d = self.daemons()
        guest = self.unikernel_guest()
        unikernel = self.begin(guest)
        self.attached(d, "web")
        unikernel.say("harmless")
        unikernel.ready()
        unikernel.say("exit 4")
        self.assertEqual(unikernel.ends(), 4)
        guest.die("poweroff")
        (capture,) = d.wait_captures("web")
        said = self.dump(d.get(f"/v1/captures/{capture['id']}/trace"))
        self.assertEqual(re.findall(r'fails .*exn="(.*)"', said), ["exit 4"])

    def test_at_once(self):
        """A unikernel that refuses its arguments ends before its main loop runs, and is published at its end."""
        d = self.daemons()
        guest = self.unikernel_guest()
        unikernel = Unikernel(self, guest, "automatic", "--mprof-pages=many")
        self.assertEqual(unikernel.ends(), 64)
        self.assertEqual(unikernel.said(), ["mprof: --mprof-pages=many is no number. The ring gets 64 pages."])
        self.attached(d, "web")
        guest.die("poweroff")
        (capture,) = d.wait_captures("web")
        self.assertIn('fails resolver=0 resolvee=0 exn="exit 64"', self.dump(d.get(f"/v1/captures/{capture['id']}/trace")))


if __name__ == "__main__":
    sim.main()
