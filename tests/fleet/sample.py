"""A fleet for the page's tests: sample.py BUILD-DIRECTORY

A hub, three hosts with crashes of two causes, mprofd-http --fleet and mprof-annotate. Prints the page's address when all captures have
been read. Commands on standard input: "crash HOST" sends another crash; "outage" and "back" stop and start the database; the end of the input
ends all.
"""

import os
import sys
import time
import urllib.request

from cluster import until
from sender import Host

BUILD = os.path.abspath(sys.argv[1])
import annotate  # pylint: disable=wrong-import-position

HOUR = 3600 * 10**9


class Sample(annotate.Case):
    """The hosts; their captures are those of annotate.py."""

    def runTest(self):
        annotate.setUpModule()
        annotate.FLEET.person_add("people", "fleet_read", "fleet_note", "fleet_pin", "fleet_http")
        self.start()
        self.hosts = {}
        now = time.time_ns()
        for i, name in enumerate(("dom0-berlin", "dom0-oslo", "dom0-quiet")):
            annotate.FLEET.host_add(name, 0)
            self.hosts[name] = host = Host(annotate.FLEET.connection(name))
            self.addCleanup(host.close)
            host.name = name
            host.hello(clock={"offset_ns": 1500000 * i, "uncertainty_ns": 250000, "source": "the kernel, by NTP"} if i < 2 else None)
        for i, name in enumerate(("dom0-berlin", "dom0-oslo")):
            for number, (story, image, kind) in enumerate(
                (("bad", "web-1.2", "crash"), ("circle", "dns-7", "watchdog"), ("good", "web-1.2", "ended")), 1
            ):
                events = annotate.moved(annotate.told(story), i * HOUR, i * 1000)
                self.send(self.hosts[name], number, events, at=now - (number * 2 + i) * HOUR, guest=image.split("-")[0], kind=kind, image=image)
        until(lambda: annotate.FLEET.hub.sql("SELECT count(*) FROM fleet.captures WHERE annotated IS NOT NULL") == "6", "all are read")
        os.makedirs("copies-http")
        with open("mprofd.conf", "w", encoding="utf-8"):
            pass
        command = [os.path.join(BUILD, "daemon/serve/mprofd-http"), "--fleet", annotate.FLEET.connection("people"), "--config", "mprofd.conf"]
        http = annotate.launcher.Program([*command, "--state", "copies-http", "--listen", "127.0.0.1:0"], "http.log").wait_ready()
        self.running.append(http)
        (address,) = http.addresses()
        until(lambda: self.ready(address), "mprofd-http follows the database")
        print(address, flush=True)
        number = 100
        for line in sys.stdin:
            word, *rest = line.split()
            number += 1
            if word == "crash":
                events = annotate.moved(annotate.told("bad"), number * HOUR, number)
                self.send(self.hosts[rest[0]], number, events, at=time.time_ns(), guest="late", kind="crash", image="late-1")
            elif word == "outage":
                annotate.FLEET.hub.stop()
            elif word == "back":
                annotate.FLEET.hub.start()
            print("done", flush=True)

    @staticmethod
    def ready(address):
        with urllib.request.urlopen(f"{address}/metrics") as answer:
            return b"\nmprofd_hub_connected 1\n" in answer.read()


if __name__ == "__main__":
    sys.argv = sys.argv[:1]
    annotate.unittest.main(module=None, argv=["sample", "__main__.Sample"], verbosity=0)
