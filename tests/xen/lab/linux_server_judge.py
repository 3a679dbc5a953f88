"""Checks of the Linux guest in which mprof-run records a Debian server: its keys, its trace, its capture."""

import json
import re
import tarfile

from serials import Wrong

MIB = 1 << 20
CLOCK_NS = 20 * 10**9  # some polls of the emulated machine; a packet of the server lasts longer


def need(condition, text):
    if not condition:
        raise Wrong(text)


class Server:
    def __init__(self, judge):
        self.judge = judge

    def text(self, name):
        return self.judge.read(f"evidence/{name}")

    def json(self, name):
        return json.loads(self.text(name))

    def check(self, name, step):
        return self.judge.check(f"Linux guest: {name}", step)

    def all(self):
        self.publishes()
        self.works()
        self.destroyed()
        self.together()

    def publishes(self):
        @self.check("rings of 8 MiB by directory-ref, each with an event channel, and two small ones of the keeper", "linux_server_publishes")
        def _():
            keys = self.json("server-keys.json").values()
            rings = {stream["name"].split()[-1]: stream for stream in keys}
            threads = [stream for ring, stream in rings.items() if ring.startswith("thread-")]
            need(len(threads) >= 3 and {"objects", "counters"} <= set(rings), f"rings: {sorted(rings)}")
            need(all("directory-ref" in stream and "ring-ref" not in stream for stream in threads), f"{threads}")
            need(all(int(stream["event-channel"]) > 0 for stream in rings.values()), "a ring has no event channel")
            sizes = {stream["name"].split()[-1]: stream["ring_bytes"] for stream in self.json("server-live.json")["streams"]}
            need(all(sizes[ring] == (8 * MIB if ring.startswith("thread-") else MIB) for ring in rings), f"{sizes}")

        @self.check("8 MiB exceed the kernel's default limit of grants: mprof-run says the sum, and that is enough", "linux_server_publishes")
        def _():
            said = self.text("server-console.txt")
            need(re.search(r"lab: refused 125 mprof-run: --xen: .* 2565 grants .* allows 1024 .*echo 29228 ", said), said[:600])

    def works(self):
        @self.check("the guest's event channels tell mprofd of finished packets", "linux_server_works")
        def _():
            need(self.judge.seen["server_kicks"] >= 1, f"{self.judge.seen['server_kicks']} kicks")

        @self.check("no ring is refused", "linux_server_works")
        def _():
            refused = re.findall(r'^mprofd_xenstore_refused_total\{reason="[^"]*"\} (\d+)$', self.text("server-metrics.txt"), re.M)
            need(refused and set(refused) == {"0"}, f"{refused}")

    def destroyed(self):
        @self.check("xl destroy: the capture has all rings of the server, and its threads by name", "linux_server_is_destroyed")
        def _():
            captures = [c for run in self.judge.runs("server") for c in self.judge.captures(run["run"])]
            need([capture["kind"] for capture in captures] == ["destroyed"], f"captures: {[c['kind'] for c in captures]}")
            need(len(captures[0]["streams"]) == len(self.json("server-live.json")["streams"]), "a stream is missing")
            dump = self.text("server-dump.txt")
            for name in ("redis-server", "bio_close_file", "io_thd_1"):
                need(re.search(rf'label="{name}"', dump), f"no thread {name}")

        @self.check("the capture's last event is of the server's last moment: it wrote until it was destroyed", "linux_server_is_destroyed")
        def _():
            times = {"counter": [], "fulfills": []}  # the keeper's samples, one a second; the ends of the server's waits
            for when, what in re.findall(r"^(\d+\.\d{9}) (counter|fulfills) ", self.text("server-dump.txt"), re.M):
                times[what].append(float(when))
            need(len(times["fulfills"]) > 10000, f"{len(times['fulfills'])} waits")
            late = times["counter"][-1] - times["fulfills"][-1]
            need(late < 3, f"the last wait ended {late} s before the last sample")

        @self.check("Xen's own view: the guest ran, and waited for the processor that domain 0 and others had", "linux_server_is_destroyed")
        def _():
            rows = [json.loads(line) for line in self.text("server-vcpu.json").splitlines()]
            need({row["label"] for row in rows if row.get("event") == "label"} == {"vcpu0"}, "not one vCPU")
            lengths, counters = {}, {}
            for row in rows:
                if row.get("event") == "duration":
                    lengths[row["name"]] = lengths.get(row["name"], 0) + int(row["duration_ns"])
                elif row.get("event") == "counter":
                    counters[row["counter"]] = int(row["value"])
            need(lengths.get("running") and lengths.get("waiting"), f"durations: {lengths}")
            need(counters.get("vcpu running ns") and counters.get("vcpu waiting ns"), f"counters: {counters}")
            need("vcpu refused" not in counters, f"counters: {counters}")
            # Threads of the pool wait nearly as long as the trace is; the main thread may have begun to wait when it was destroyed.
            said = re.findall(r"in that time the guest.* vCPUs .*", self.text("server-why.txt"))
            need(any("waited for a processor for" in one for one in said), f"why does not say whether the guest was run: {said}")

        @self.check("why and stats read the capture", "linux_server_is_destroyed")
        def _():
            need("redis-server" in self.text("server-threads.txt"), self.text("server-threads.txt")[:300])
            need(re.search(r"events", self.text("server-stats.txt")), self.text("server-stats.txt")[:300])
            need(self.text("server-why.txt").strip(), "why says nothing")

    def together(self):
        @self.check("both guests on one time line: the bundle has the clocks of both", "linux_server_together")
        def _():
            with tarfile.open(self.judge.path("server-bundle.tar")) as tar:
                manifest = json.load(tar.extractfile("perfetto_manifest.json"))["perfetto_manifest"]
            traces = {}
            for entry in (file["mprof"] for file in manifest["files"] if "mprof" in file):
                traces.setdefault(entry["trace"], []).append(entry)
            need(len(traces) == 2, f"traces: {list(traces)}")
            for name, streams in traces.items():
                known = [stream for stream in streams if stream["offset_known"] and stream["events"]]
                need(known, f"{name}: the offset of its clock is unknown: {streams}")

        @self.check("the clock of the server is known to some polls, though its rings have large packets", "linux_server_together")
        def _():
            with tarfile.open(self.judge.path("server-bundle.tar")) as tar:
                manifest = json.load(tar.extractfile("perfetto_manifest.json"))["perfetto_manifest"]
            run = max(run["run"] for run in self.judge.runs("server"))
            bounds = [it["uncertainty_ns"] for it in (file["mprof"] for file in manifest["files"] if "mprof" in file) if it["run"] == run]
            need(bounds and all(bound is not None and int(bound) < CLOCK_NS for bound in bounds), f"to {bounds} ns")


def judge(judge_of_lab):
    Server(judge_of_lab).all()
