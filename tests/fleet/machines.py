"""The pieces of docs/fleet.md on one machine: Patroni with etcd, HAProxy, pgBackRest. Their configuration files are those of the page, with
names, ports and paths of this machine. Needs Debian's packages patroni, etcd-server, etcd-client, haproxy and pgbackrest, and root or the
user postgres.
"""

import contextlib
import os
import re
import sys
import tempfile
import textwrap
import time
import unittest
import urllib.error
import urllib.request

import psycopg2
from cluster import TOP, BIN, Cluster, Server, account, command, free_port, launcher, until
from sender import Host, month_of, noise, piece

NOW = time.time_ns()
PROGRAMS = ("/usr/bin/patroni", "/usr/bin/etcd", "/usr/bin/etcdctl", "/usr/sbin/haproxy", "/usr/bin/pgbackrest")


def block(name):
    """Return the file NAME as docs/fleet.md has it."""
    with open(os.path.join(TOP, "docs/fleet.md"), encoding="utf-8") as f:
        blocks = re.findall(r"^( *)```\w*\n(.*?)^ *```$", f.read(), re.M | re.S)
    return next(text for text in (textwrap.dedent(b) for _, b in blocks) if text.startswith(f"# {name}\n"))


class Machines(unittest.TestCase):
    def setUp(self):
        missing = [p for p in PROGRAMS if not os.access(p, os.X_OK)]
        self.assertEqual(missing, [], "install patroni, etcd-server, etcd-client, haproxy and pgbackrest")
        self.c = Cluster(tempfile.mkdtemp(prefix="mprof-fleet-"))
        self.addCleanup(self.c.down)
        uid, gid = account()
        for path in (self.c.directory, self.c.pki, *(os.path.join(self.c.directory, d) for d in ("s", "hub1", "hub2", "repository", "log"))):
            os.makedirs(path, mode=0o700, exist_ok=True)
            os.chown(path, uid, gid)
        self.c.authority_make()
        for name in ("fleet_standby", "host1"):
            self.c.certificate_make(name)
        self.c.certificate_make("server", "subjectAltName=DNS:localhost,IP:127.0.0.1")
        self.nodes = [Server(self.c.directory, "hub1"), Server(self.c.directory, "hub2")]
        self.rest = {n.name: free_port() for n in self.nodes}
        self.running = {}
        self.port = free_port()
        self.etcd_start()

    def start(self, name, *words):
        """Start a program as the servers' user. It ends with the test."""
        uid, gid = account()
        user = {"user": uid, "group": gid, "extra_groups": []} if os.getuid() == 0 else {}
        env = {"PATH": f"{BIN}:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "HOME": self.c.directory}
        log = os.path.join(self.c.directory, "log", name)
        with open(log, "ab") as out:
            process = launcher.Program(words, log, environment=env, cwd="/", stdout=out, **user)
        self.running[name] = process
        self.addCleanup(self.end, name)
        return process

    def end(self, name, kill=False):
        process = self.running.pop(name, None)
        if process:
            (process.kill if kill else process.terminate)()
            process.wait(120)

    def write(self, name, text, replaced):
        """Write a file of the page, with each key of REPLACED as this machine has it."""
        for old, new in replaced.items():
            self.assertIn(old, text)
            text = text.replace(old, str(new))
        path = os.path.join(self.c.directory, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def etcd_start(self):
        self.etcd, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self.start(
            "etcd",
            *("etcd", "--data-dir", os.path.join(self.c.directory, "repository/etcd"), "--listen-client-urls", self.etcd),
            *("--advertise-client-urls", self.etcd, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer),
            *("--initial-cluster", f"default={peer}"),
        )

    def patroni_start(self, node):
        d, other = self.c.directory, block("/etc/patroni/config.yml")
        replaced = {
            "name: hub1": f"name: {node.name}",
            "0.0.0.0:8008": f"127.0.0.1:{self.rest[node.name]}",
            "hub1.example:8008": f"127.0.0.1:{self.rest[node.name]}",
            "etcd1.example:2379,etcd2.example:2379,etcd3.example:2379": self.etcd.removeprefix("http://"),
            "0.0.0.0:5432": f"127.0.0.1:{node.port}",
            "hub1.example:5432": f"localhost:{node.port}",
            "/var/lib/postgresql/15/main": node.data,
            "/usr/lib/postgresql/15/bin": BIN,
            "/var/run/postgresql": self.c.directory + "/s",
            "/etc/fleet": self.c.pki,
            "local all postgres peer": "local all postgres trust",
            "pgbackrest --stanza=hub": f"pgbackrest --config={d}/pgbackrest-{node.name}.conf --stanza=hub",
            "ttl: 30": "ttl: 20",
            "loop_wait: 10": "loop_wait: 2",
            "retry_timeout: 10": "retry_timeout: 5",
            "max_connections: 600": "max_connections: 60",
        }
        self.write(
            f"pgbackrest-{node.name}.conf",
            block("/etc/pgbackrest.conf").replace("[global]\n", f"[global]\nlog-path={d}/log\nlock-path={d}/log\nspool-path={d}/log\n"),
            {
                "/var/lib/pgbackrest": d + "/repository",
                "/var/lib/postgresql/15/main": node.data,
                "/var/run/postgresql": d + "/s",
                "pg1-port=5432": f"pg1-port={node.port}",
            },
        )
        self.start(node.name, "patroni", self.write(f"{node.name}.yml", other, replaced))

    def haproxy_start(self):
        text = block("/etc/haproxy/haproxy.cfg").replace("default-server check port 8008", "default-server check")
        replaced = {"bind :5432": f"bind 127.0.0.1:{self.port}"}
        for n in self.nodes:
            replaced[f"{n.name}.example:5432"] = f"127.0.0.1:{n.port} port {self.rest[n.name]}"
        self.start("haproxy", "haproxy", "-db", "-f", self.write("haproxy.cfg", text, replaced))

    def state(self, node, path):
        """Return the status of Patroni's answer to PATH, or 0 if there is none."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.rest[node.name]}/{path}", timeout=10) as r:
                return r.status
        except urllib.error.HTTPError as e:
            return e.code
        except OSError:
            return 0

    def primary(self):
        return next((n for n in self.nodes if self.state(n, "primary") == 200), None)

    def backrest(self, node, *words):
        return command("pgbackrest", f"--config={self.c.directory}/pgbackrest-{node.name}.conf", "--stanza=hub", *words)

    def host(self):
        """Return a connection of the host through HAProxy, after its hello."""
        connected = []
        proxy = Server(self.c.directory, "proxy", self.port)

        def connect():
            with contextlib.suppress(psycopg2.Error):
                h = Host(self.c.connection("host1", server=proxy) + " connect_timeout=10")
                self.addCleanup(h.close)
                connected.append((h, h.hello()["epoch"]))
            return connected

        until(connect, "the host reaches the hub through HAProxy")
        return connected[0]

    def captures(self, h):
        return [r["capture"] for r in h.call("inventory", month=month_of(NOW), after_archive=None, after_capture=None, max_rows=100)]

    def send(self, h, numbers):
        return [h.send(n, NOW, [piece(noise(3000, n))]) for n in numbers]

    def test_machines(self):
        try:
            self.scenario()
        except BaseException:
            for name in sorted(os.listdir(self.c.directory + "/log")):
                with open(f"{self.c.directory}/log/{name}", encoding="utf-8", errors="replace") as f:
                    print(f"---- {name}\n" + f.read()[-3000:], file=sys.stderr)
            raise

    def scenario(self):
        for n in self.nodes:
            self.patroni_start(n)
            until(lambda n=n: self.state(n, "health") == 200, f"Patroni starts {n.name}")
        self.haproxy_start()
        hub = self.primary()
        until(lambda: hub.sql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'", "postgres") == "1", "the standby is synchronous")
        hub.sql("CREATE DATABASE fleet", "postgres")
        command("sh", os.path.join(TOP, "schema/fleet/migrate"), hub.admin(), ours=True)
        hub.sql("SELECT fleet.make_bucket(n) FROM generate_series(0, 63) n")
        self.c.hub = hub
        self.c.host_add("host1")
        h, first = self.host()
        self.assertEqual(self.send(h, range(3)), ["new"] * 3)
        self.backrest(hub, "stanza-create")
        self.backrest(hub, "check")
        self.backrest(hub, "backup")
        print("a host sent through HAProxy, and there is a backup", flush=True)

        # The machine of the primary is lost.
        self.assertEqual(self.send(h, range(3, 5)), ["new"] * 2)
        self.end(hub.name, kill=True)
        hub.kill()
        other = next(n for n in self.nodes if n is not hub)
        until(lambda: self.primary() is other, "the standby is promoted")
        h, second = self.host()
        self.assertNotEqual(second, first)
        self.assertEqual(self.captures(h), [0, 1, 2, 3, 4])
        self.assertEqual(self.send(h, range(7)), ["done"] * 5 + ["new"] * 2)
        self.patroni_start(hub)
        until(lambda: self.state(hub, "replica") == 200, "the old primary is a standby")
        print("Patroni promoted the standby, and the old primary came back", flush=True)

        # Restore the hub from its backup, as the page says.
        for n in (hub, other):
            self.end(n.name)
            n.stop()
        self.backrest(hub, "--delta", "--type=immediate", "--target-action=promote", "restore")
        command("pg_ctl", "-D", hub.data, "-l", f"{self.c.directory}/log/restored", "-w", "-t", "120", "start")
        until(lambda: hub.sql("SELECT pg_is_in_recovery()") == "f", "the restored hub takes rows")
        # The configuration still names the standby, which does not run.
        hub.sql("SET synchronous_commit = local; SELECT fleet.new_epoch()")
        hub.stop()
        command("patronictl", "-c", f"{self.c.directory}/{hub.name}.yml", "remove", "hub", input="hub\nYes I am aware\n")
        self.patroni_start(hub)
        until(lambda: self.primary() is hub, "Patroni takes the restored hub")
        h, third = self.host()
        self.assertNotIn(third, (first, second))
        self.assertEqual(self.captures(h), [0, 1, 2])
        self.assertEqual(self.send(h, range(7)), ["done"] * 3 + ["new"] * 4)
        self.patroni_start(other)
        until(lambda: self.state(other, "replica") == 200, "the other server is a standby of the restored hub")
        self.assertEqual(hub.sql("SELECT * FROM fleet.check()"), "")
        print("the hub was restored from its backup, and the host sent the rest again", flush=True)


if __name__ == "__main__":
    unittest.main()
