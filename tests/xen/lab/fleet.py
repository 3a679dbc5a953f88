"""Boot the lab's machine whose dom0 is a host of a fleet: fleet.py BUILD-DIRECTORY LAB OUT

On this machine run the fleet's database, with two shards and a synchronous standby of each server, two further hosts on ring files, and
the hub's mprofd-http. dom0 reaches them through QEMU's network. When dom0 asks for it, the primary that has dom0's captures is killed,
and its standby promoted. Afterwards OUT/evidence/hub gets what the hub serves of dom0, for judge.py. Exit with the scenario's code.
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD, LAB, OUT = map(os.path.abspath, sys.argv[1:])
sys.argv[1:] = [BUILD]
sys.path[:0] = [os.path.join(HERE, "../../fleet"), os.path.join(HERE, "../../integration")]

import daemons  # pylint: disable=wrong-import-position
import fleethost  # pylint: disable=wrong-import-position
import losses  # pylint: disable=wrong-import-position

NAME = "dom0-lab"
OUTSIDE = "10.0.2.2"  # this machine's localhost, in the network that QEMU makes


def setUpModule():
    losses.setUpModule()


class Lab(losses.Case):
    code = 1

    def runTest(self):
        fleet = fleethost.FLEET
        fleet.host_add(NAME)
        shard = fleet.hub.sql(f"SELECT shard FROM fleet_store.bucket WHERE bucket = fleet_store.bucket_of('{NAME}')")
        self.hand_out()
        others = self.hosts()[:2]
        with subprocess.Popen(["sh", f"{HERE}/boot", LAB, OUT, "fleet", "fleet"], env={**os.environ, "MPROF_LAB_FLEET": "handed"}) as machine:
            while machine.poll() is None:
                self.take(others, 1)
                if os.path.exists(f"{OUT}/fleet/asked") and not os.path.exists(f"{OUT}/fleet/answered"):
                    next(s for s in fleet.shards if s.name == shard).kill()
                    self.take(others, 2)
                    fleet.standbys[shard].promote()
                    with open(f"{OUT}/fleet/answered", "w", encoding="ascii"):
                        pass
                time.sleep(3)
        Lab.code = machine.returncode
        os.makedirs(f"{OUT}/evidence/hub", exist_ok=True)
        self.save("others.json", {host.name: host.taken for host in others})
        self.collect()
        self.check(others)
        self.save("checked.json", [host.name for host in others])

    def hand_out(self):
        """Write what dom0 gets: its certificate, and the connection string as dom0 needs it."""
        os.mkdir("handed")
        pki = fleethost.FLEET.pki
        for name in ("ca.crt", f"{NAME}.crt", f"{NAME}.key"):
            shutil.copy(f"{pki}/{name}", "handed")
        text = re.sub(" connect_timeout=[0-9]+", "", fleethost.FLEET.connection(NAME))  # the forwarder's own limit
        servers = text.count("localhost")
        with open("handed/connection", "w", encoding="utf-8") as f:
            f.write(f"hostaddr={','.join([OUTSIDE] * servers)} {text.replace(pki, '/etc/mprofd/fleet')}")

    @staticmethod
    def save(name, value):
        with open(f"{OUT}/evidence/hub/{name}", "wb") as f:
            f.write(value if isinstance(value, bytes) else json.dumps(value, indent=1).encode())

    def collect(self):
        """Save what the hub serves of dom0."""
        os.makedirs("hub")
        with contextlib.chdir("hub"):
            hub = self.enterContext(losses.Hub())
        hub.start()
        hub.wait(lambda: hub.ask("/readyz")[0] == 200)
        listed = hub.json(f"/v1/captures?host={NAME}&limit=1000")["captures"]
        self.save("captures.json", listed)
        for capture in listed:
            number = capture["id"].split(".")[-1]
            for stream in hub.json(f"/v1/captures/{capture['id']}")["streams"]:
                body = hub.get(f"/v1/captures/{capture['id']}/trace?stream={stream['stream']}")
                self.save(f"capture-{number}-{stream['stream']}.ctf", body)
            status, _, body = hub.ask(f"/v1/captures/{capture['id']}/context")
            self.save(f"context-{number}.json", body if status == 200 else {"status": status})
        command = [daemons.program("mprofctl"), "--host", f"unix:{hub.socket}"]
        self.save("domains.txt", subprocess.run([*command, "domains"], capture_output=True, check=True).stdout)
        self.save("check.txt", fleethost.FLEET.hub.sql("SELECT * FROM fleet.check()").encode())


if __name__ == "__main__":
    unittest.main(argv=["fleet", "Lab"], exit=False, verbosity=0)
    sys.exit(Lab.code)
