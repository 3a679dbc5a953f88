"""Judge the results of the lab: judge.py MACHINE OUT RESULTS TRUTH

OUT is the output directory of `boot`. TRUTH has all packets of the ring that one guest replays.
RESULTS gets a line per check: passed, failed or skipped, its name, the reason. The script prints
the details of a failure.
"""

import json
import os
import re
import subprocess
import sys

import fleet_judge
import judge_packages
import linux_server_judge
import serials
import unikernels_judge
from serials import Wrong

HERE = os.path.dirname(os.path.abspath(__file__))
DEATHS = {  # the guest's last name: the capture's kind
    "full": {
        "legacy": "crash",
        "directory": "crash",
        "renamed": "poweroff",
        "kick": "reboot",
        "kick again": "watchdog",
        "replay": "destroyed",
    },
    "short": {"legacy": "crash", "directory": "crash", "streams": "destroyed"},
}


def need(condition, text):
    if not condition:
        raise Wrong(text)


class Judge:
    def __init__(self, machine, out, results, truth):
        self.machine, self.out, self.results, self.truth = machine, out, results, truth
        self.failed = False
        self.scenario = self.read("scenario").strip()
        self.steps = self.load("steps.json", {})
        self.seen = self.load("seen.json", {})

    def path(self, name):
        return os.path.join(self.out, "evidence", name)

    def read(self, name):
        with open(os.path.join(self.out, name), encoding="utf-8", errors="replace") as f:
            return f.read()

    def load(self, name, default=None):
        try:
            with open(self.path(name), encoding="utf-8") as f:
                return json.load(f)
        except FileNotFoundError:
            if default is None:
                raise Wrong(f"the scenario left no {name}") from None
            return default

    def result(self, verdict, name, reason=""):
        line = " ".join(str(reason).split())[:600]
        with open(self.results, "a", encoding="utf-8") as f:
            f.write(f"{verdict}\t{self.machine}: {name}\t{line}\n")

    def check(self, name, *steps):
        """Run a function as a check. It fails with the function's exception, or if one of the STEPS
        that it depends on failed."""

        def judge(function):
            try:
                for step in steps:
                    need(step in self.steps, f"the scenario never came to the step {step}")
                    need(not self.steps[step]["failure"], f"step {step}: {self.steps[step]['failure']}")
                function()
            except (Wrong, KeyError, IndexError, TypeError, ValueError, OSError, StopIteration) as error:
                self.failed = True
                self.result("failed", name, error if isinstance(error, Wrong) else repr(error))
            else:
                self.result("passed", name)

        return judge

    # ---- evidence

    def guest(self, name):
        return self.load(f"domain-{name}.json")

    def runs(self, name):
        return sorted(self.guest(name)["run_list"], key=lambda run: run["run"])

    def captures(self, run, kind=None):
        """Return the captures of a run, oldest first."""
        found = []
        for name in os.listdir(os.path.join(self.out, "evidence")):
            if re.fullmatch(r"capture-\d+\.json", name):
                capture = self.load(name)
                if capture["run"] == run and kind in (None, capture["kind"]):
                    found.append(capture)
        return sorted(found, key=lambda capture: capture["id"])

    def stream(self, run, stream):
        return serials.Stream(self.path(f"run-{run}-{stream}.ctf"), self.load(f"run-{run}-{stream}.json"))

    def said(self, console):
        """Return the output of a guest on its console."""
        return serials.said(self.read(f"log/console/guest-{console}.log"))


class Xen(Judge):
    """Checks for a boot of Xen."""

    def lives(self):
        """Yield (guest, name of its console, number of its life) for each guest that writes
        serials."""
        names = {"legacy": "legacy", "directory": "directory", "kick": "kick"}
        names["renamed" if self.scenario == "full" else "streams"] = "streams"
        if self.scenario == "full":
            names["unseen"] = "unseen"
        return names

    def judge(self):
        self.daemons()
        if self.scenario == "server":
            linux_server_judge.judge(self)
            return
        if self.scenario == "fleet":
            fleet_judge.judge(self)
            return
        if self.scenario == "unikernels":
            unikernels_judge.judge(self)
            self.errors("unikernels_crowd")
            return
        self.publishing()
        self.continuing()
        if self.scenario == "full":
            self.changes()
        self.deaths()
        self.contexts()
        self.end()

    # ---- the daemons

    def daemons(self):
        @self.check("systemctl enable --now mprofd starts it and the server's socket", "enable")
        def _():
            for unit in "mprofd.service", "mprofd-sink.service", "mprofd-http.socket":
                need(self.seen["disabled"][unit] == ["inactive", "disabled"], f"before: {self.seen['disabled']}")
            need(set(self.seen["active"].values()) == {"active"}, str(self.seen["active"]))

        @self.check("the collector is user mprofd and has no capability, in any thread", "enable")
        def _():
            need(len(self.seen["tasks"]) >= 2, "it has one thread")
            for task, status in self.seen["tasks"].items():
                need(set(status["Uid"].split()) == {self.seen["user"]}, f"thread {task}: Uid {status['Uid']}")
                for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
                    need(int(status[name], 16) == 0, f"thread {task}: {name} {status[name]}")
                need(status["NoNewPrivs"] == "1", f"thread {task}: NoNewPrivs {status['NoNewPrivs']}")

    # ---- publishing

    def publishing(self):
        @self.check("every guest is listed as running, with its UUID and domid", "publish", "live")
        def _():
            listed = {domain["name"]: domain for domain in self.load("domains.json")["domains"]}
            for name in ("legacy", "directory", "streams", "kick"):
                domain = listed[name]
                need(domain["state"] == "running" and domain["source"] == "xen", f"{name}: {domain}")
                need(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", domain["uuid"] or ""), f"{name}: {domain}")
                need(isinstance(domain["domid"], int), f"{name}: {domain}")
            need([stream["stream"] for stream in listed["streams"]["streams"]] == [0, 1], "streams has not two")
            need(listed["streams"]["streams"][1]["name"] == "lab stream 1", "stream 1 has not its name")

        ways = {"legacy": "ring-ref", "directory": "directory-ref", "streams": "two streams", "kick": "an event channel"}
        for name, way in ways.items():

            @self.check(f"{way}: the trace of the running guest has the written events", "publish", "live")
            def _(name=name):
                for stream in range(2 if name == "streams" else 1):
                    live = serials.events(self.path(f"live-{name}-{stream}.ctf"))
                    need(len(live) > 100, f"{len(live)} events of stream {stream}")
                    serials.consecutive(live, f"stream {stream}")
                    need(live[0].serial == 1, f"stream {stream} begins with serial {live[0].serial}")

        if self.scenario == "full":
            self.large()

        @self.check("mprofctl fetch gives the same bytes as curl", "live")
        def _():
            with open(self.path("live-legacy-0.ctf"), "rb") as f:
                curl = serials.body(f.read())
            with open(self.path("live-mprofctl.ctf"), "rb") as f:
                need(curl and serials.body(f.read()).startswith(curl), "they differ")

        if self.scenario == "full":
            self.replayed()

    def large(self):
        @self.check("directory-ref: a ring of 5 MiB, all of it", "publish", "fill", "collect")
        def _():
            stream = self.stream(self.runs("directory")[0]["run"], 0)
            need(len({event.packet for event in stream.events}) >= 5, "it did not go around")
            need(stream.pages[0]["packets"][0]["room"] == 1280 * 4096 // 4, "not the ring's size")

    def replayed(self):
        name = "the bytes of a real mirage-profile writer, played into granted pages, are in the trace"

        @self.check(name, "play", "collect")
        def _():
            run = self.runs("replay")[0]["run"]
            played = re.search(r"lab: played (\S+)", self.read("log/console/guest-replay.log"))
            need(played, "the guest never reported that it replayed")
            command = [sys.executable, "-B", os.path.join(HERE, "../../integration/truth.py"), self.truth]
            command += [self.path(f"run-{run}-0.ctf"), "--ended", "--until", played.group(1), "--packets"]
            for index, page in enumerate(self.load(f"run-{run}-0.json")):
                command.append(self.path(f"truth-page-{index}.json"))
                with open(command[-1], "w", encoding="utf-8") as f:
                    json.dump(page, f)
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            need(done.returncode == 0, done.stdout + done.stderr)
            need(json.loads(done.stdout)["events"] > 20000, done.stdout)

    # ---- restarts

    def continuing(self):
        """Check the archive of each life, from its first event to its last, over all restarts and
        kills."""
        for name, console in self.lives().items():

            @self.check(f"{name}: every serial once and in order, missing ones in declared gaps, and no false gap", "collect")
            def _(name=name, console=console):
                said = self.said(console)
                for run in self.runs(name):
                    for stream in run["streams"]:
                        serials.whole(self.stream(run["run"], stream["stream"]), f"run {run['run']}, stream {stream['stream']}")
                need(said, "the guest has no console output")

        @self.check("a restart and a kill -9 continue the runs", "restart", "kill", "collect")
        def _():
            for name in self.lives():
                runs = self.runs(name)
                most = 3 if name == "kick" and self.scenario == "full" else 1
                need(1 <= len(runs) <= most, f"{name} has {len(runs)} runs: {[run['run'] for run in runs]}")

        @self.check("a restart and a kill -9 while guests write lose no event that the rings still hold", "restart", "kill", "collect")
        def _():
            for name in set(self.lives()) - {"legacy"}:
                for run in self.runs(name):
                    for stream in run["streams"]:
                        gaps = self.stream(run["run"], stream["stream"]).gaps
                        need(not gaps, f"{name}, run {run['run']}, stream {stream['stream']}: {gaps}")

    # ---- changes

    def changes(self):
        @self.check("events overwritten while no daemon ran are a declared gap", "come_late", "collect")
        def _():
            stream = self.stream(self.runs("legacy")[0]["run"], 0)
            need(len(stream.gaps) == 1, f"gaps: {stream.gaps}")
            need(stream.gaps[0]["packets"] >= 5, f"gap: {stream.gaps}")

        @self.check("a crashed, preserved guest is found by a daemon started later", "come_late", "collect")
        def _():
            run = self.runs("unseen")[0]["run"]
            self.holds_last(self.captures(run, "crash")[0], "unseen")

        @self.check("xl rename: the guest has its new name, in the same run", "rename", "collect")
        def _():
            need(len(self.runs("renamed")) == 1, "it has several runs")
            need(self.guest("renamed")["runs"] == 1, "it has several runs")

        @self.check("a withdrawn ring is unmapped", "withdraw")
        def _():
            need(self.seen["unmap_took"] is not None, "it stays mapped")  # the benchmark bench-kick measures how long it takes

        @self.check("a ring that is published again is mapped again, and is no gap", "withdraw", "collect")
        def _():
            found = [self.stream(run["run"], 0).events for run in self.runs("kick")]
            need([events[0].life for events in found[:2]] == [1, 2], f"lives: {[events[:1] for events in found]}")
            withdrawn = next(said for said in self.said("kick") if said.what == "withdrawn")
            need(found[0][-1].serial == withdrawn.serial, f"withdrawn at serial {withdrawn.serial}, archived up to {found[0][-1].serial}")

        @self.check("a storm of kicks costs no more than polling", "storm")
        def _():
            # Without kicks a ring is polled up to 20 times a second. Kicks may add an eighth of
            # that, and a first burst.
            said = f"{self.seen['storm_polls']} polls in 3 s, and {self.seen['calm_polls']} in 3 s without a storm"
            need(self.seen["storm_polls"] < 2 * max(self.seen["calm_polls"], 3 * 20) + 80, said)

        saving = "xl save -c: a capture of kind suspend; the guest goes on, and its later events arrive"
        if self.machine == "arm64":
            self.result("skipped", saving, "Xen's toolstack cannot save a guest on Arm")
            return

        @self.check(saving, "save", "collect")
        def _():
            run = self.runs("legacy")[0]["run"]
            saved = self.captures(run, "suspend")
            need(len(saved) == 1, f"{len(saved)} captures of kind suspend")
            before = serials.events(self.path(f"capture-{saved[0]['id']}-0.ctf"))[-1].serial
            after = self.stream(run, 0).events[-1].serial
            need(after > before + 500, f"the capture ends at {before}, the run at {after}")

    # ---- deaths

    def holds_last(self, capture, console, life=-1):
        """Check that the capture's events end with the very last that the guest announced."""
        said = self.said(console)
        for stream in capture["streams"]:
            last = [s for s in said if s.what in ("last", "serial") and s.stream == stream["stream"]][life]
            had = serials.events(self.path(f"capture-{capture['id']}-{stream['stream']}.ctf"))
            if console != "legacy":  # the legacy guest's were overwritten while no daemon ran
                serials.consecutive(had, f"stream {stream['stream']} of the capture")
            need(had and had[-1].serial == last.serial, f"stream {stream['stream']} ends at {had and had[-1].serial}, not {last.serial}")
            need(had[-1].life == last.life, f"stream {stream['stream']}: life {had[-1].life}, not {last.life}")

    def deaths(self):
        for key, kind in DEATHS[self.scenario].items():
            name = key.split()[0]
            step = {"legacy": "crash_preserved", "directory": "crash_destroyed"}.get(name, kind if kind != "destroyed" else "destroy")
            console = "streams" if name == "renamed" else name

            @self.check(f"{name}: a capture of kind {kind}, which holds its last event", step, "collect")
            def _(name=name, kind=kind, console=console):
                runs = [run for run in self.runs(name) if self.captures(run["run"], kind)]
                need(len(runs) == 1, f"captures of kind {kind} in {len(runs)} runs")
                found = self.captures(runs[0]["run"], kind)
                need(len(found) == 1, f"{len(found)} captures of kind {kind}")
                need(runs[0]["state"] == "ended" and runs[0]["reason"] == kind, f"the run: {runs[0]['state']}, {runs[0]['reason']}")
                if name == "replay":
                    self.replay_captured(found[0])
                else:
                    self.holds_last(found[0], console, -2 if kind == "reboot" else -1)

            @self.check(f"{name}: no zombie is left after {kind}", step)
            def _(name=name, kind=kind):
                death = self.seen[f"death_{name}_{kind}"]
                need(death["dead"] is not None, "it did not die")
                need(not death["listed"][-1]["zombies"], f"dead at {death['dead']} s, and then: {death['listed'][-1]}")

        if self.scenario == "full":

            @self.check("a guest that reboots keeps its UUID, and its new life is a new run", "reboot", "collect")
            def _():
                runs = self.runs("kick")
                need(len({run["domid"] for run in runs}) == 2, f"domids: {[run['domid'] for run in runs]}")
                need(runs[-1]["run"] > runs[0]["run"], "no new run")

    def replay_captured(self, capture):
        """Check that the capture ends where the run does, which was judged with the truth."""
        with open(self.path(f"capture-{capture['id']}-0.ctf"), "rb") as f:
            had = serials.body(f.read())
        with open(self.path(f"run-{capture['run']}-0.ctf"), "rb") as f:
            need(had and serials.body(f.read()).endswith(had), "the capture does not end as the run does")

    # ---- contexts

    def contexts(self):
        guests = {"legacy": "legacy", "directory": "directory"}
        for name in guests:

            @self.check(f"{name}: the context of its crash", "collect")
            def _(name=name):
                run = next(run for run in self.runs(name) if self.captures(run["run"], "crash"))
                capture = self.captures(run["run"], "crash")[0]
                text = json.dumps(self.load(f"context-{capture['id']}.json"))
                need('"crash"' in text, "it does not name the crash")
                need(self.guest(name)["uuid"] in text, "it lacks the UUID")
                need(str(run["domid"]) in text, "it lacks the domid")
                need("data/mprof/" in text and "-ref" in text, "it lacks the guest's XenStore subtree")
                need("lab: last" in text, "it lacks the end of the console")
                shown = self.read(f"evidence/show-{capture['id']}.txt")
                need("crash" in shown and "lab: last" in shown, f"mprofctl show says: {shown[:300]}")

    def end(self):
        @self.check("preserved dead guests are not captured again, by a restarted daemon or when they are destroyed", "restart_preserved")
        def _():
            for moment in ("preserved_captures", "preserved_captures_after"):
                for name, kinds in self.seen[moment].items():
                    deaths = [kind for kind in kinds if kind not in ("suspend", "manual")]
                    need(deaths == ["crash"], f"{name}: {kinds}")
            last = self.seen["zombies_left"][-1]
            need(not last["zombies"], f"zombies of preserved guests that were destroyed: {last}")

        @self.check("the metrics have the right counts", "collect")
        def _():
            with open(self.path("metrics.txt"), encoding="utf-8") as f:
                text = f.read()
            need(text.rstrip().endswith("# EOF"), "no OpenMetrics")
            values = dict(line.rsplit(" ", 1) for line in text.splitlines() if line and line[0] != "#")
            captures = sum(domain["captures"] for domain in self.load("domains-end.json"))
            need(int(values["mprofd_archive_captures"]) == captures > 0, f"captures: {values['mprofd_archive_captures']}, not {captures}")
            for name in ("mprofd_looks_total", "mprofd_mapped_pages", "mprofd_mapped_pages_limit"):
                need(name in values, f"{name} is missing")
            refused = {name: value for name, value in values.items() if name.startswith('mprofd_xenstore_refused_total{reason="')}
            need(refused and set(refused.values()) == {"0"}, f"refused: {refused}")

        self.errors("collect")

    def errors(self, step):
        @self.check("mprofd logs no error", step)
        def _():
            lines = [line for line in self.read("evidence/journal-mprofd.txt").splitlines() if " error: " in line]
            need(not lines, f"{lines[:3]}")


class Plain(Judge):
    """Checks for the same root without Xen."""

    def judge(self):
        shown = self.load("plain.json")
        for unit in ("mprofd", "mprofd-http.socket"):

            @self.check(f"no dom0: {unit}, enabled, is skipped and has not failed")
            def _(unit=unit):
                for line in ("ActiveState=inactive", "ConditionResult=no", "Result=success", "UnitFileState=enabled"):
                    need(line in shown[unit].split(), f"{line} is not so: {shown[unit]}")
                need(unit.split(".", maxsplit=1)[0] not in shown["failed"], shown["failed"])

        @self.check("no dom0: mprofd by hand says so in one sentence, with advice")
        def _():
            need(shown["by hand"].count("\n") == 1 and "--source dir:" in shown["by hand"], shown["by hand"])


class Packages(Judge):
    """Checks for the packages in dom0."""

    def judge(self):
        judge_packages.judge(self)


def tail(path, lines):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return "".join(f.readlines()[-lines:])
    except OSError:
        return ""


def main(machine, out, results, truth):
    judge = {"linux": Plain, "packages": Packages}.get(machine, Xen)(machine, out, results, truth)
    judge.judge()
    if judge.failed:
        for name, lines in (("scenario.log", 60), ("evidence/journal-mprofd.txt", 80), ("journal.log", 30), ("console.log", 20)):
            print(f"---- {machine}: the end of {name}\n{tail(os.path.join(out, name), lines)}")


main(*sys.argv[1:])
