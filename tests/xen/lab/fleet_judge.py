"""Checks of dom0 as a host of a fleet: what the hub has is what dom0 has."""

import json
import os
import re

import serials
from serials import Wrong

NAME = "dom0-lab"


def need(condition, text):
    if not condition:
        raise Wrong(text)


class Fleet:
    def __init__(self, judge):
        self.judge = judge

    def check(self, name, *steps):
        return self.judge.check(f"a host of a fleet: {name}", *steps)

    def own(self):
        """Return dom0's captures, by id."""
        names = os.listdir(self.judge.path("."))
        return {int(name[8:-5]): self.judge.load(name) for name in names if re.fullmatch(r"capture-\d+\.json", name)}

    def of_hub(self):
        """Return the hub's captures of dom0, by the id that they have there."""
        found = {}
        for capture in self.judge.load("hub/captures.json"):
            number = int(capture["id"].split(".")[-1])
            need(capture["host"] == NAME and number not in found, f"{capture['id']} is there twice, or of {capture['host']}")
            found[number] = capture
        return found

    def bytes(self, name):
        with open(self.judge.path(name), "rb") as f:
            return f.read()

    def all(self):
        self.begins()
        self.is_there()
        self.losses()
        self.others()

    def begins(self):
        @self.check("systemctl enable --now mprofd-forward starts it, as its own user", "fleet_begins")
        def _():
            need(
                set(self.judge.seen["forwarder"]) == {"ActiveState=active", "UnitFileState=enabled", "User=mprofd-forward"},
                self.judge.seen["forwarder"],
            )
            need(self.judge.seen["forwarder_user"] == "mprofd-forward", self.judge.seen["forwarder_user"])

    def is_there(self):
        @self.check("the hub has every capture of dom0, and each once", "fleet_ends", "collect")
        def _():
            need(len(self.own()) >= 10 and sorted(self.of_hub()) == sorted(self.own()), f"{sorted(self.of_hub())}, not {sorted(self.own())}")

        @self.check("trace and context of each capture are dom0's own, byte by byte", "fleet_ends", "collect")
        def _():
            for number, capture in self.own().items():
                for stream in capture["streams"]:
                    name = f"capture-{number}-{stream['stream']}.ctf"
                    need(self.bytes(f"hub/{name}") == self.bytes(name), f"{name} differs")
                of_hub, own = self.judge.load(f"hub/context-{number}.json"), self.judge.load(f"context-{number}.json")
                need(own and of_hub == own | {"id": self.of_hub()[number]["id"], "host": NAME}, f"context {number} differs: {str(of_hub)[:200]}")

        @self.check("the hub's capture of a crashed guest holds its very last event", "fleet_guests_crash", "collect")
        def _():
            capture = next(c for c in self.own().values() if c["kind"] == "crash")
            need(self.of_hub()[capture["id"]]["kind"] == "crash", "the hub calls it otherwise")
            for stream in capture["streams"]:
                last = [s for s in self.judge.said("db") if s.what in ("last", "serial") and s.stream == stream["stream"]][-1]
                had = serials.events(self.judge.path(f"hub/capture-{capture['id']}-{stream['stream']}.ctf"))
                serials.consecutive(had, f"stream {stream['stream']}")
                need(had and had[-1].serial == last.serial, f"stream {stream['stream']} ends at {had and had[-1].serial}, not {last.serial}")

    def losses(self):
        ways = {
            "taken_killed": ("the forwarder is killed by SIGKILL: what was taken then is there", "fleet_forwarder_is_killed"),
            "taken_away": ("the network is away: what was taken then comes when it is back", "fleet_network_is_away"),
            "taken_lost": (
                "the server with dom0's captures is killed, and its standby promoted: what was taken then is there",
                "fleet_server_is_lost",
            ),
        }
        for key, (name, step) in ways.items():

            @self.check(name, step)
            def _(key=key):
                taken = set(self.judge.seen[key])
                need(len(taken) >= 2 and taken <= set(self.of_hub()), f"taken {sorted(taken)}, there {sorted(self.of_hub())}")

        @self.check("captures waited while the network was away", "fleet_network_is_away")
        def _():
            need(self.judge.seen["waiting_away"]["rows"] >= 2, f"{self.judge.seen['waiting_away']}")

        @self.check("nothing was lost on the way, and mprofd says so", "fleet_ends")
        def _():
            said = self.judge.seen["outbox"]
            need(said["rows"] == said["lost_captures_total"] == said["lost_packets_total"] == 0, f"{said}")

        @self.check("the servers of the hub agree")
        def _():
            need(not self.bytes("hub/check.txt").strip(), self.bytes("hub/check.txt").decode()[:400])

    def others(self):
        @self.check("two hosts on ring files, which sent all the time, have all of their captures there, too")
        def _():
            taken = self.judge.load("hub/others.json")
            need(len(taken) == 2 and min(map(len, taken.values())) >= 5, f"{taken}")
            need(self.judge.load("hub/checked.json") == list(taken), "they were not compared to the end")

        @self.check("mprofctl lists the guests of all three hosts on the hub")
        def _():
            said = self.bytes("hub/domains.txt").decode()
            for name in (f"{NAME}/web", f"{NAME}/db", f"{NAME}/dns", *(f"{host}/web" for host in self.judge.load("hub/others.json"))):
                need(re.search(rf"(^|\s){re.escape(name)}(\s|$)", said), f"no {name} in: {said[:600]}")


def judge(judge_of_lab):
    Fleet(judge_of_lab).all()
