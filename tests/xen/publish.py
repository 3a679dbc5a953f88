"""Test Linux guests that publish rings of their own, by mprof-run --xen and by libmprof-recorder-xen: publish.py BUILD-DIRECTORY [TEST…]

The program runs on this machine, and sim/guest-shim.c puts it into a guest of the simulation. XenStore is real: libxenstore's requests
go through the guest's own ring to the store."""

import contextlib
import errno
import fcntl
import glob
import json
import lzma
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import sim
from sim import BUILD, PAGE, WIRE
from turns import long

import ocaml_library  # sim adds its folder to the path

RUN = os.path.join(BUILD, "client/run/mprof-run")
TARGET = os.path.join(BUILD, "tests/integration/run/run-target")
OCAML = os.path.join(BUILD, "tests/integration/run/run-ocaml")
EVENTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../traces/ocaml5/domains.events.xz")
MIB = 1 << 20
WRITE, RM, ERROR = 11, 13, 16  # types of XenStore's messages
NAME = re.compile(rb"data/mprof/stream/(\d+)/name\0(.*)", re.S)
OWNER = re.compile(r"\d+\.\d+\.\d+")


class Proxy:
    """A socket for libxenstore, whose requests the guest sends through its ring."""

    def __init__(self, guest, path):
        self.guest, self.path, self.lock = guest, path, threading.Lock()
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(path)
        self.listening.listen()
        self.refuse = 0  # so many requests to remove a key fail
        self.refused = 0
        self.at_gate, self.gate = None, threading.Event()  # the request that would be refused as this one waits for the event
        self.names = {}  # of streams, as the guest's programs wrote them, also of those that have gone
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection = self.listening.accept()[0]
                threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with contextlib.suppress(OSError, ValueError), connection, connection.makefile("rb") as file:
            while len(head := file.read(WIRE.size)) == WIRE.size:
                body = file.read(WIRE.unpack(head)[3])
                kind = WIRE.unpack(head)[0]
                if kind == WRITE and (found := NAME.fullmatch(body)):
                    self.names[int(found[1])] = found[2].decode()
                if self.refuse and kind == RM:
                    self.refuse -= 1
                    self.refused += 1
                    if self.refused == self.at_gate:
                        self.gate.wait()
                    connection.sendall(WIRE.pack(ERROR, *WIRE.unpack(head)[1:3], 4) + b"EIO\0")
                    continue
                with self.lock:
                    self.guest._send(head + body)
                    head = self.guest._receive(WIRE.size)
                    answer = head + self.guest._receive(WIRE.unpack(head)[3])
                connection.sendall(answer)

    def close(self):
        self.listening.close()


class Case(sim.Case):
    def setUp(self):
        super().setUp()
        self.limit(65536)

    def limit(self, grants):
        with open(os.path.join(self.directory, "gntalloc"), "w", encoding="ascii") as f:
            f.write(f"{grants}\n")

    def linux(self, domid=5, name="linux"):
        """Make a guest in which programs can run. Return it."""
        guest = self.guest(domid, name)
        proxy = Proxy(guest, os.path.join(self.directory, f"xenbus.{domid}"))
        self.addCleanup(proxy.close)
        self.addCleanup(self.kill_keepers)
        guest.proxy = proxy
        guest.env = {
            **os.environ,
            "LD_PRELOAD": os.path.join(sim.SIM, "sim-guest.so"),
            "MPROFD_SIM_DOMID": str(domid),
            "XENSTORED_PATH": proxy.path,
        }
        options = os.environ.get("ASAN_OPTIONS")
        guest.env["ASAN_OPTIONS"] = f"{options + ':' if options else ''}verify_asan_link_order=0"
        guest.env.pop("LD_LIBRARY_PATH", None)
        return guest

    def start(self, guest, *command, ring="64K", program=TARGET, **popen):
        """Run a program of run-target in GUEST below mprof-run --xen."""
        popen.setdefault("stdout", subprocess.PIPE)
        words = [RUN, "--xen", "--ring", ring, "--", program, *map(str, command)]
        process = subprocess.Popen(words, env=guest.env, text=True, **popen)
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        with contextlib.suppress(ProcessLookupError):
            if os.getpgid(process.pid) == process.pid:
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.wait()
        for file in (process.stdin, process.stdout):
            if file:
                file.close()

    def keys(self, guest):
        """Return {stream: {key: value}} of the guest, as dom0 sees them."""
        tools, streams = self.store.toolstack, {}
        base = f"{guest.home}/data/mprof/stream"
        with contextlib.suppress(sim.Refused):  # a stream goes while it is read
            for k in tools.list(base):
                streams[int(k)] = {}
                streams[int(k)] = {key: tools.read(f"{base}/{k}/{key}").decode() for key in tools.list(f"{base}/{k}")}
        return streams

    def streams(self, guest, of, rings):
        """Wait until the streams of the process OF have the names RINGS at least. Return {ring: (stream, keys)}."""
        found = {}

        def all_there():
            found.clear()
            for k, keys in self.keys(guest).items():
                name, _, ring = keys.get("name", "").partition(" ")
                if name.endswith(f".{of}"):
                    found[ring] = k, keys
            return set(rings) <= set(found)

        sim.launcher.wait(all_there, why=lambda: f"{rings} are not among {found}")
        return found

    def published(self, guest, of, n, *rings):
        """Wait until the process OF, which ends by itself, has published N streams and withdrawn them. RINGS are among their names.
        The guest's own counter says that there were no more: a look at the keys may come before the last stream."""
        path = f"{guest.home}/data/mprof/stream-next"

        def all_gone():
            with contextlib.suppress(sim.Refused):
                return not self.keys(guest) and int(self.store.toolstack.read(path)) > n

        sim.launcher.wait(all_gone, why=lambda: f"{n} streams are not published and withdrawn: {self.keys(guest)}")
        self.assertEqual(int(self.store.toolstack.read(path)), n + 1)
        names = self.named(guest, of)
        self.assertLessEqual(set(rings), set(names))
        self.assertEqual(len(names), n)

    def named(self, guest, of):
        """Return {ring: stream} of the streams that the process OF has published, also of those that have gone."""
        return {name.partition(" ")[2]: k for k, name in list(guest.proxy.names.items()) if name.partition(" ")[0].endswith(f".{of}")}

    def held(self, guest):
        """Return the files of grants that some process holds."""
        found = []
        for path in glob.glob(os.path.join(self.directory, f"ring.{guest.domid}.*")):
            with open(path, "rb") as f:
                try:
                    fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    found.append(path)
        return found

    def dump(self, data, name="trace.ctf"):
        with open(name, "wb") as f:
            f.write(data)
        return subprocess.run([sim.daemons.program("mprofctl"), "dump", name], capture_output=True, text=True, check=True).stdout

    def captured(self, d, guest, n, streams=1):
        """Wait for N captures of GUEST, of STREAMS streams. Return them, and the trace of each stream, from its newest capture."""
        found = d.wait_captures(guest.name, n, streams)
        traces = {}
        for capture in reversed(found):
            for stream in capture["streams"]:
                traces[stream["stream"]] = d.get(f"/v1/captures/{capture['id']}/trace?stream={stream['stream']}")
        return found, traces

    def ended(self, d, guest, n):
        """Wait until N streams of GUEST, which end, have captures: one of all, or on a busy machine several. Return the trace of each."""
        d.wait(lambda: len({stream["stream"] for capture in d.captures(guest.name) for stream in capture["streams"]}) == n)
        return self.captured(d, guest, 1)[1]

    def hang(self, guest, thread="thread-01", **options):
        process = self.start(guest, "hang", **options)
        self.assertEqual(process.stdout.readline(), f"{process.pid}\n")
        return process, self.streams(guest, process.pid, ["objects", "counters", thread])

    def holders(self):
        """Return the processes that hold grants: keepers, and programs that share their own rings."""
        found = set()
        for path in glob.glob("/proc/[0-9]*/fd/*"):
            with contextlib.suppress(OSError):
                if os.readlink(path).startswith(os.path.join(self.directory, "ring.")):
                    found.add(int(path.split("/")[2]))
        return found - {os.getpid()}

    def kill_keepers(self):
        for pid in self.holders():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


class Run(Case):
    def test_keys(self):
        """The layout in XenStore, with a directory for 8 MiB, and what the collector makes of it."""
        d = self.daemons()
        guest = self.linux()
        process, rings = self.hang(guest, ring="8M")
        for ring, (_, keys) in rings.items():
            self.assertEqual(keys["name"], f"run-target.{process.pid} {ring}")
            self.assertTrue(OWNER.fullmatch(keys["owner"]), keys)
            self.assertEqual(set(keys) - {"ring-ref", "directory-ref"}, {"name", "owner", "event-channel"})
        self.assertIn("directory-ref", rings["thread-01"][1])
        self.assertNotIn("ring-ref", rings["thread-01"][1])
        numbers = sorted(k for k, _ in rings.values())
        self.assertEqual(numbers, [1, 2, 3])
        self.assertEqual(int(self.store.toolstack.read(f"{guest.home}/data/mprof/stream-next")), 4)
        entry = self.attached(d, "linux", 3)
        sizes = {stream["name"].split()[1]: stream["ring_bytes"] for stream in entry["streams"]}
        self.assertEqual(sizes, {"objects": MIB, "counters": MIB, "thread-01": 8 * MIB})
        self.assertEqual(guest.mapped(), 2048 + 256 + 256)
        d.wait(lambda: all(guest.port(int(keys["event-channel"])) for _, keys in rings.values()))
        self.directory_is_right(guest, int(rings["thread-01"][1]["directory-ref"]))

    def directory_is_right(self, guest, ref):
        """The directory has three pages: 1,023, 1,023 and 2 references, in the ring's order."""
        refs, pages = [], 0
        while ref:
            with open(guest.ring_path(ref >> 16), "rb") as f:
                f.seek((ref & 0xFFFF) * PAGE)
                words = struct.unpack("<1024I", f.read(PAGE))
            refs += [word for word in words[:1023] if word]
            ref, pages = words[1023], pages + 1
        self.assertEqual(pages, 3)
        self.assertEqual(len(refs), 2048)
        self.assertEqual(refs, list(range(refs[0], refs[0] + 2048)))

    @long
    def test_small_rings_have_values(self):
        guest = self.linux()
        _, rings = self.hang(guest, ring="5000")  # two pages
        refs = [int(ref) for ref in rings["thread-01"][1]["ring-ref"].split(",")]
        self.assertEqual(len(refs), 2)

    def test_withdrawn_at_exit(self):
        """A program that ends by itself: its rings are withdrawn and captured, and freed when nothing is mapped."""
        d = self.daemons()
        guest = self.linux()
        delay = sim.launcher.Delay(d.collector.pid)
        process = self.start(guest, "calls-threads")
        self.assertEqual(process.wait(timeout=sim.daemons.HANGS), 0)
        d.wait(lambda: {"objects", "counters", "thread-01"} <= set(self.named(guest, process.pid)))
        rings = self.named(guest, process.pid)
        d.wait(lambda: not self.keys(guest))

        def freed():
            held = self.held(guest)
            early = not held and guest.mapped()
            self.assertFalse(early and delay.seconds() < 1, "the pages went before the collector could let go of them")
            return not held

        d.wait(freed)
        d.wait(lambda: not guest.mapped())
        # The keeper publishes the rings of further threads when it comes to them, so only the counter tells how many there were.
        published = set(range(1, int(self.store.toolstack.read(f"{guest.home}/data/mprof/stream-next"))))
        # The collector may see the rings go one after the other, and then makes a capture of each.
        traces = self.ended(d, guest, len(published))
        found = d.captures("linux")
        self.assertEqual({capture["kind"] for capture in found}, {"ended"})
        self.assertEqual(set(traces), published)
        said = self.dump(traces[rings["objects"]])
        self.assertRegex(said, r"pthread_rwlock_wrlock in rwlocks\(\) at threads\.c:\d+")

    def test_killed(self):
        """kill -9 gives a capture, in which the thread still waits."""
        d = self.daemons()
        guest = self.linux()
        process, rings = self.hang(guest)
        self.attached(d, "linux", 3)
        process.kill()
        process.wait()
        traces = self.ended(d, guest, 3)
        lines = self.dump(traces[rings["thread-01"][0]]).splitlines()
        self.assertRegex(lines[-1], r"(try_read|suspend|creates|switch)")
        self.assertIn("read in hang() at target.c", self.dump(traces[rings["objects"][0]]))
        self.assertIn('"resident bytes"', self.dump(traces[rings["counters"][0]]))
        d.wait(lambda: not self.held(guest))

    def test_ocaml(self):
        """The rings of OCaml's domains are published beside the others, and kill -9 gives a capture with all of their events."""
        d = self.daemons()
        guest = self.linux()
        with lzma.open(EVENTS) as packed, open("domains.events", "wb") as plain:
            plain.write(packed.read())
        said = subprocess.run([sim.daemons.program("mprofctl"), "dump", "--json", "domains.events"], capture_output=True, text=True, check=True)
        events = [json.loads(line)["stream"][-1] for line in said.stdout.splitlines()]
        process = self.start(guest, "hang", "domains.events", ring="4M", program=OCAML, stdin=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), "played\n")
        rings = self.streams(guest, process.pid, ["objects", "counters", *(f"domain-{domain}" for domain in sorted(set(events)))])
        self.assertGreater(len(set(events)), 1)
        self.attached(d, "linux", len(rings))
        process.kill()
        process.wait()
        traces = self.ended(d, guest, len(rings))
        for domain in set(events):
            got = self.dump(traces[rings[f"domain-{domain}"][0]]).splitlines()
            self.assertEqual(len(got), events.count(domain), domain)
        d.wait(lambda: not self.held(guest))

    @long
    def test_ocaml_without_room(self):
        """Without room for the rings of a process, or of its domains, its file of runtime events goes with it nevertheless."""
        for taken in (64, 44):
            with self.subTest(taken=taken):
                guest = self.linux(taken, f"linux-{taken}")
                with lzma.open(EVENTS) as packed, open("domains.events", "wb") as plain:
                    plain.write(packed.read())
                script = f'echo "$MPROF_RUN_RUNTIME"; read go; {OCAML} hang domains.events; echo ended; read go'
                process = self.start(guest, "-c", script, ring="4M", program="sh", stdin=subprocess.PIPE)
                directory = process.stdout.readline().strip()
                self.addCleanup(shutil.rmtree, directory, True)
                mine = self.streams(guest, process.pid, ["objects", "counters", "thread-01"])
                with guest.proxy.lock, self.store.toolstack.transaction() as tx:
                    for k in range(101, 101 + taken - (len(mine) if taken == 64 else 0)):
                        self.store.toolstack.write(f"{guest.home}/data/mprof/stream/{k}/name", "other", tx)
                process.stdin.write("\n")
                process.stdin.flush()
                self.assertEqual(process.stdout.readline(), "played\n")
                (name,) = os.listdir(directory)
                pid = int(name.split(".")[0])
                if taken == 44:  # two rings for threads, and no domain
                    self.streams(guest, pid, ["objects", "counters", "thread-01"])
                self.assertFalse([keys for keys in self.keys(guest).values() if " domain-" in keys.get("name", "")])
                process.stdin.write("\n")
                process.stdin.flush()
                self.assertEqual(process.stdout.readline(), "ended\n")
                sim.launcher.wait(lambda directory=directory: not os.listdir(directory), why=lambda: "the file is still there")
                self.assertIsNone(process.poll())

    @unittest.skipIf(os.geteuid() != 0, "only root can become another user")
    def test_another_user_gets_no_device(self):
        """A process that gave up the keeper's user gets no descriptor of /dev/xen/gntalloc."""
        guest = self.linux()
        script = """if 1:
            import os, socket, struct
            def ask(slot):
                s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                s.connect("\\0" + os.environ["MPROF_RUN_SOCKET"])
                s.send(struct.pack("=IIII", 0x31525550, 2, slot, 0))
                data, extra, _, _ = s.recvmsg(16, socket.CMSG_SPACE(4))
                print(struct.unpack("=IIQ", data)[1], len(extra))
            ask(3)
            os.setresuid(65534, 65534, 65534)
            ask(4)
        """
        process = self.start(guest, "-c", script, program=sys.executable)
        self.assertEqual(process.communicate(timeout=sim.daemons.HANGS)[0], f"0 1\n{errno.EACCES} 0\n")

    def test_the_guest_crashes(self):
        """Nobody withdraws anything: the rings are in place, and the capture has their end."""
        d = self.daemons()
        guest = self.linux()
        process, rings = self.hang(guest, ring="8M")
        self.attached(d, "linux", 3)
        guest.die("crashed")
        self.unmapped(d, guest)
        found, traces = self.captured(d, guest, 1, len(rings))
        self.assertEqual([capture["kind"] for capture in found], ["crash"])
        self.assertEqual(set(traces), {k for k, _ in rings.values()})
        process.kill()

    def test_fork_and_exec(self):
        """Each process has streams of its own, also behind exec."""
        d = self.daemons()
        guest = self.linux()
        process = self.start(guest, "fork")
        said = process.communicate(timeout=sim.daemons.HANGS)[0]
        self.assertEqual(process.returncode, 0)
        pids = dict(line.split() for line in said.splitlines())
        wanted = {f"run-target.{process.pid}", f"run-target.{pids['child']}", f"exe.{pids['grandchild']}"}
        d.wait(lambda: wanted <= {name.split(" ")[0] for name in list(guest.proxy.names.values())})
        d.wait(lambda: not self.keys(guest))
        d.wait(lambda: not self.held(guest))

    def test_kicks(self):
        """Domain 0 is told of finished packets."""
        d = self.daemons()
        guest = self.linux()
        self.start(guest, "-c", "yes | cat >/dev/null", program="sh", ring="256K", start_new_session=True)

        def kicked():
            ports = {
                keys["name"].split(".")[0]: int(keys["event-channel"]) for keys in self.keys(guest).values() if "thread-01" in keys.get("name", "")
            }
            return "yes" in ports and (found := guest.port(ports["yes"])) and found["kicks"] > 5 and found["delivered"] > 1

        d.wait(kicked)

    @long
    def test_many_threads(self):
        """A process has at most 16 streams; further threads share rings."""
        guest = self.linux()
        process = self.start(guest, "many")
        self.published(guest, process.pid, 16, "objects", "counters", "thread-12", "thread-49")
        self.assertEqual(process.wait(timeout=sim.daemons.HANGS), 0)

    @long
    def test_the_next_process_gets_less(self):
        """The first processes get 16 of 64 streams each, the next ones half of the rest, and the last ones none."""
        guest = self.linux()
        with self.store.toolstack.transaction() as tx:
            for k in range(1, 61):
                self.store.toolstack.write(f"{guest.home}/data/mprof/stream/{k}/name", "other", tx)
        process, rings = self.hang(guest)
        self.assertEqual(sorted(k for k, _ in rings.values()), [61, 62, 63])
        other = self.start(guest, "hang")
        self.assertEqual(other.stdout.readline(), f"{other.pid}\n")
        third = self.start(guest, "exit", 3)  # not recorded, and otherwise the same
        self.assertEqual(third.wait(timeout=sim.daemons.HANGS), 3)
        self.assertFalse([keys for keys in self.keys(guest).values() if keys.get("name", "").partition(" ")[0].endswith(f".{third.pid}")])
        process.kill()

    @long
    def test_the_keeper_is_late(self):
        """A thread does not wait for ever, and the rings that come too late are freed."""
        guest = self.linux()
        code = "import sys, threading, time\n"
        code += "for line in sys.stdin:\n t = threading.Thread(target=time.sleep, args=(0.01,)); t.start(); t.join(); print('done', flush=True)"
        process = self.start(guest, "-c", code, program=sys.executable, stdin=subprocess.PIPE)

        def work():
            process.stdin.write("\n")
            process.stdin.flush()
            self.assertEqual(process.stdout.readline(), "done\n")

        self.streams(guest, process.pid, ["thread-01"])
        keeper = (self.holders() - {process.pid}).pop()
        os.kill(keeper, signal.SIGSTOP)
        work()
        os.kill(keeper, signal.SIGCONT)
        work()
        rings = self.streams(guest, process.pid, ["objects", "counters", "thread-01", "thread-03"])
        sim.launcher.wait(lambda: len(self.held(guest)) == len(rings), why=lambda: f"{self.held(guest)} are held, and not only {rings}")

    @long
    def test_numbers_go_round(self):
        guest = self.linux()
        self.store.toolstack.write(f"{guest.home}/data/mprof/stream-next", "1022")
        with guest.proxy.lock:
            guest.write("data/mprof/stream/1023/name", "other")
        _, rings = self.hang(guest)
        self.assertEqual(sorted(k for k, _ in rings.values()), [1, 2, 1022])

    def test_the_keeper_is_killed(self):
        """The keys stay. The next program removes them; those of a process that lives, and of another namespace, stay."""
        guest = self.linux()
        process, rings = self.hang(guest)
        sim.launcher.wait(lambda: len(self.holders()) == 1, why=self.holders)  # the program closes what it maps
        os.kill(self.holders().pop(), signal.SIGKILL)
        self.assertEqual(len(self.keys(guest)), 3)
        owner = rings["objects"][1]["owner"].split(".")
        for k, other in ((70, [*owner[:2], "1"]), (71, None), (72, ["x"])):
            with guest.proxy.lock:
                guest.write(f"data/mprof/stream/{k}/name", "other")
                if other:
                    guest.write(f"data/mprof/stream/{k}/owner", ".".join(other))
        _, later = self.hang(guest)
        self.hang(guest)
        self.assertTrue({70, 71, 72} | {k for k, _ in later.values()} <= set(self.keys(guest)))
        self.assertFalse({k for k, _ in rings.values()} & set(self.keys(guest)))

    def refused(self, guest, *arguments):
        done = subprocess.run([RUN, *arguments], env=guest.env, capture_output=True, text=True, check=False)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertNotIn("ran", done.stdout)
        return done.returncode, done.stderr

    def test_limit(self):
        """The kernel's limit of grants: the error has the sum that is needed, and the way to raise it."""
        guest = self.linux()
        self.limit(1024)
        code, said = self.refused(guest, "--xen", "--ring", "8M", "echo", "ran")
        self.assertEqual(code, 125)
        for part in ("2565 grants", "29228", "allows 1024", "/sys/module/xen_gntalloc/parameters/limit", "xen_gntalloc.limit=29228"):
            self.assertIn(part, said)
        self.limit(2565)
        self.hang(guest, "thread-49", ring="8M")  # by one shared ring

    @long
    def test_one_ring_for_all(self):
        """If the limit leaves one ring, all threads share it."""
        guest = self.linux()
        self.limit(100)
        process = self.start(guest, "calls-threads", ring="128K")
        self.published(guest, process.pid, 3, "objects", "counters", "thread-49")
        self.assertEqual(process.wait(timeout=sim.daemons.HANGS), 0)

    def test_pages(self):
        """A kernel whose pages are larger than a grant gets a sentence, and the command does not run."""
        guest = self.linux()
        guest.env["MPROFD_SIM_PAGE"] = "65536"
        code, said = self.refused(guest, "--xen", "echo", "ran")
        self.assertEqual(code, 125)
        self.assertIn("this kernel's pages are larger than 4,096 bytes", said)

    def test_errors(self):
        guest = self.linux()
        self.assertEqual(self.refused(guest, "--xen", "--keep", "true")[0], 2)
        self.assertEqual(self.refused(guest, "--xen", "--dir", ".", "true")[0], 2)
        guest.env.pop("LD_PRELOAD")
        code, said = self.refused(guest, "--xen", "echo", "ran")
        self.assertEqual(code, 125)
        self.assertIn("modprobe xen-gntalloc", said)


class RunOCaml(Case):
    STORE = "oxenstored"

    @long
    def test_keys(self):
        d = self.daemons()
        guest = self.linux()
        processes = [self.hang(guest)[0] for _ in range(3)]
        self.attached(d, "linux", 9)
        for process in processes:
            process.kill()
        d.wait(lambda: not self.keys(guest))
        d.wait(lambda: not self.held(guest))


class Embedded(Case):
    """A program with libmprof-recorder-xen."""

    def begin(self, guest, bytes_=4 << 20):  # all events of three threads fit into one ring
        words = [os.path.join(sim.SIM, "embedder"), "shop", str(bytes_)]
        process = subprocess.Popen(words, env=guest.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        return process

    def test_rings(self):
        d = self.daemons()
        guest = self.linux()
        process = self.begin(guest)
        word, n, dropped = process.stdout.readline().split()
        self.assertEqual((word, dropped), ("ready", "0"))
        rings = self.streams(guest, process.pid, [f"ring-{i:02}" for i in range(int(n))])
        self.assertIn(f"shop.{process.pid} ring-00", [keys["name"] for _, keys in rings.values()])
        self.attached(d, "linux", len(rings))
        d.wait(lambda: all(guest.port(int(keys["event-channel"])) for _, keys in rings.values()))
        process.stdin.write("\n")
        process.stdin.flush()
        self.assertEqual(process.wait(timeout=sim.daemons.HANGS), 0)
        self.assertEqual(self.keys(guest), {})
        self.assertEqual(self.held(guest), [])
        traces = self.ended(d, guest, len(rings))
        said = "".join(self.dump(trace) for trace in traces.values())
        for name in ("first", "second", "third"):
            self.assertEqual(len(re.findall(rf'counter .*value=20000 .*"{name}"', said)), 1)
        self.assertNotIn('"child"', said)

    def test_pages(self):
        guest = self.linux()
        guest.env["MPROFD_SIM_PAGE"] = "16384"
        process = self.begin(guest)
        self.assertEqual(process.stdout.read(), os.strerror(errno.ENOSYS) + "\n")
        self.assertEqual(process.wait(timeout=sim.daemons.HANGS), 1)

    @long
    def test_withdrawal_is_refused(self):
        """XenStore refuses to remove the keys: the rings stay until it does, or until the process ends."""
        for refuse, left in ((3, False), (1 << 30, True)):
            with self.subTest(refuse=refuse):
                guest = self.linux(7 if left else 6, f"linux-{left}")
                process = self.begin(guest)
                word, n, _ = process.stdout.readline().split()
                self.assertEqual(word, "ready")
                self.streams(guest, process.pid, [f"ring-{i:02}" for i in range(int(n))])
                guest.proxy.refuse = refuse
                guest.proxy.at_gate = 3 if left else None
                process.stdin.write("\n")
                process.stdin.flush()
                if left:
                    sim.launcher.wait(lambda guest=guest: guest.proxy.refused == 3, why=lambda guest=guest: guest.proxy.refused)
                    self.assertIsNone(process.poll())
                    self.assertEqual(len(self.held(guest)), int(n))
                    guest.proxy.gate.set()  # it ends after twenty tries
                self.assertEqual(process.wait(timeout=sim.daemons.HANGS), 0)
                self.assertEqual(len(self.keys(guest)), int(n) if left else 0)
                if left:  # the next process that opens Xen removes them
                    guest.proxy.refuse = 0
                    self.begin(guest).stdout.readline()
                    self.assertFalse([keys for keys in self.keys(guest).values() if keys["name"].startswith(f"shop.{process.pid} ")])

    def test_no_room(self):
        """Without grants nothing is recorded, and the program runs."""
        guest = self.linux()
        self.limit(3)
        process = self.begin(guest)
        self.assertEqual(process.stdout.readline().split(), ["ready", "0", "60000"])
        process.stdin.write("\n")
        process.stdin.flush()
        self.assertEqual(process.wait(timeout=sim.daemons.HANGS), 0)


@unittest.skipUnless(ocaml_library.there(), "no OCaml with dune here")
class Port(Case):
    """An OCaml program with MProf_xen."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        directory = tempfile.mkdtemp(prefix="ocaml-xen-")
        cls.addClassCleanup(shutil.rmtree, directory)
        cls.programs = {}
        shutil.copy(os.path.join(sim.HERE, "ocaml_shop.ml"), directory)
        found = ocaml_library.flags(ocaml_library.build(directory, "mprof", "mprof-xen"), "mprof", "mprof-xen")
        for compiler, suffix in (["ocamlopt"], "cmxa"), (["ocamlc", "-custom"], "cma"):
            cls.programs[suffix] = os.path.join(directory, f"shop.{suffix}.exe")
            libraries = [f"{name}.{suffix}" for name in ("unix", "mprof", "mprof_xen")]
            words = [*compiler, "-w", "+a-4-9-40..42-44-45-70", "-warn-error", "+a", *found, *libraries]
            subprocess.run([*words, "ocaml_shop.ml", "-o", cls.programs[suffix]], cwd=directory, check=True)

    def begin(self, guest, bytes_=1 << 20, count=20000, kind="cmxa", **popen):
        words = [self.programs[kind], str(bytes_), str(count)]
        process = subprocess.Popen(words, env=guest.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **popen)
        self.addCleanup(self.end, process)
        return process

    def say(self, process, text="end"):
        process.stdin.write(text + "\n")
        process.stdin.flush()

    def orders(self, d, capture, stream):
        """Return the counter's values in a capture, which has one stream."""
        self.assertEqual([s["stream"] for s in capture["streams"]], [stream])
        said = self.dump(d.get(f"/v1/captures/{capture['id']}/trace?stream={stream}"))
        self.assertNotIn('"child"', said)
        self.assertNotIn('"nowhere"', said)
        return [int(value) for value in re.findall(r'counter .*value=(\d+) .*"orders"', said)]

    @long
    def test_shared(self):
        """The ring is published, kicked and withdrawn at exit, and the capture has all events; in native code and in bytecode."""
        d = self.daemons()
        for domid, kind in (5, "cmxa"), (6, "cma"):
            with self.subTest(kind):
                guest = self.linux(domid, f"linux-{kind}")
                process = self.begin(guest, kind=kind)
                self.assertEqual(process.stdout.readline(), "ready 0\n")
                ((stream, keys),) = self.streams(guest, process.pid, ["ring-00"]).values()
                self.assertEqual(keys["name"], f"shop.{process.pid} ring-00")
                self.assertTrue(OWNER.fullmatch(keys["owner"]), keys)
                self.assertEqual(self.attached(d, guest.name)["streams"][0]["ring_bytes"], MIB)
                d.wait(lambda guest=guest, keys=keys: guest.port(int(keys["event-channel"])))
                self.say(process)
                self.assertEqual(process.wait(timeout=sim.daemons.HANGS), 0)
                self.assertEqual((self.keys(guest), self.held(guest)), ({}, []))
                (capture,) = d.wait_captures(guest.name)
                self.assertEqual(capture["kind"], "ended")
                self.assertEqual(self.orders(d, capture, stream), list(range(1, 20001)))

    @long
    def test_kicks(self):
        """Each packet that is finished is a kick."""
        d = self.daemons()
        guest = self.linux()
        process = self.begin(guest, bytes_=1 << 16, count=0)
        self.assertEqual(process.stdout.readline(), "ready 0\n")
        ((_, keys),) = self.streams(guest, process.pid, ["ring-00"]).values()
        port = int(keys["event-channel"])
        d.wait(lambda: guest.port(port))
        before = guest.port(port)["kicks"]
        self.say(process, "10")
        self.assertEqual(process.stdout.readline(), "ready 0\n")
        self.assertEqual(guest.port(port)["kicks"], before, "no packet is finished")
        self.say(process, "20000")
        self.assertEqual(process.stdout.readline(), "ready 0\n")
        self.assertGreater(guest.port(port)["kicks"], before + 4)

    @long
    def test_again(self):
        """A program withdraws its ring, and makes another one."""
        d = self.daemons()
        guest = self.linux()
        process = self.begin(guest, count=7)
        self.assertEqual(process.stdout.readline(), "ready 0\n")
        ((first, _),) = self.streams(guest, process.pid, ["ring-00"]).values()
        self.attached(d, "linux")
        self.say(process, "again")
        self.assertEqual(process.stdout.readline(), "ready 0\n")
        ((second, _),) = self.streams(guest, process.pid, ["ring-00"]).values()
        self.assertNotEqual(first, second)
        (capture,) = d.wait_captures("linux")
        self.assertEqual(self.orders(d, capture, first), list(range(1, 8)))
        self.attached(d, "linux")
        self.say(process)
        self.assertEqual(process.wait(timeout=sim.daemons.HANGS), 0)
        self.assertEqual((self.keys(guest), self.held(guest)), ({}, []))
        d.wait_captures("linux", 2)
        self.assertIn('"again"', self.dump(d.trace("linux", f"?stream={second}")))

    @long
    def test_killed(self):
        """The ring of a killed program goes when another program begins, and its last events are captured."""
        d = self.daemons()
        guest = self.linux()
        process = self.begin(guest)
        self.assertEqual(process.stdout.readline(), "ready 0\n")
        ((stream, _),) = self.streams(guest, process.pid, ["ring-00"]).values()
        self.attached(d, "linux")
        process.kill()
        process.wait()
        self.assertEqual(len(self.keys(guest)), 1)
        self.begin(guest, count=1).stdout.readline()
        self.assertNotIn(stream, self.keys(guest))
        (capture,) = d.wait_captures("linux")
        self.assertEqual(self.orders(d, capture, stream), list(range(1, 20001)))

    @long
    def test_refused(self):
        """One sentence says what is missing."""
        guest = self.linux()
        self.limit(255)
        said = self.begin(guest, stderr=subprocess.PIPE).communicate(timeout=sim.daemons.HANGS)[1]
        self.assertIn("MProf_xen.make_shared_buffer: a ring of 1048576 bytes needs 257 grants, and the kernel allows 255 ", said)
        self.assertEqual((self.keys(guest), self.held(guest)), ({}, []))
        self.limit(65536)
        with self.store.toolstack.transaction() as tx:
            for k in range(1, 65):
                self.store.toolstack.write(f"{guest.home}/data/mprof/stream/{k}/name", "other", tx)
        said = self.begin(guest, stderr=subprocess.PIPE).communicate(timeout=sim.daemons.HANGS)[1]
        self.assertIn("MProf_xen.share_with: the guest has 64 streams", said)
        plain = subprocess.run([self.programs["cmxa"], "4096", "1"], capture_output=True, text=True, check=False)
        self.assertEqual(plain.returncode, 2)
        self.assertIn("MProf_xen.make_shared_buffer: this is no guest of Xen", plain.stderr)


if __name__ == "__main__":
    sim.main()
