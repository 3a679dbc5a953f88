"""Make a fleet's database of plain PostgreSQL processes on this machine: a hub, shards, synchronous standbys. Shared by
the tests of the fleet and by the scripts up and down.

    cluster.py up [--shards N] [--standby] [--host NAME]… [--port N] [DIRECTORY]
    cluster.py down [DIRECTORY]

Root runs the servers as the user postgres, because PostgreSQL refuses root. Superusers come through Unix sockets in a
directory that only this user (and root) enters; everybody else over TLS on localhost, with a client certificate.

Tests keep their servers in memory (tmpfs), if there is room: a server has thousands of small files, and to make and remove them
on a disk takes most of the processor time of a test. Nothing is flushed then: kill -9 of a server loses nothing that the kernel
has, and no test takes the power from a machine. Figures are measured on a disk, with flushes.
"""

import argparse
import contextlib
import fcntl
import glob
import hashlib
import json
import os
import pwd
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import psycopg2
import psycopg2.extensions

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.append(os.path.join(TOP, "tests/launcher"))

import launcher  # pylint: disable=wrong-import-position
from ports import free_port  # pylint: disable=wrong-import-position


def newest_bin():
    """Return the directory of the newest PostgreSQL that Debian's packages installed."""
    found = glob.glob("/usr/lib/postgresql/*/bin")
    return max(found, key=lambda path: float(path.split("/")[4]), default="/usr/lib/postgresql/bin")


BIN = os.environ.get("MPROF_POSTGRESQL") or newest_bin()
PATIENCE = 180  # seconds to wait for what must come, however busy the machine is
CONNECT = 120  # seconds for a connection to a server
SETTINGS = """
listen_addresses = 'localhost'
max_connections = 60
shared_buffers = 64MB
max_locks_per_transaction = 256
max_wal_size = 256MB
ssl = on
ssl_ca_file = '../pki/ca.crt'
ssl_cert_file = '../pki/server.crt'
ssl_key_file = '../pki/server.key'
logging_collector = off
log_line_prefix = '%m [%p] %q%u@%d '
log_timezone = 'UTC'
hot_standby = on
wal_keep_size = 256MB
"""
# Without flushes. Shared memory is in the server's directory, so that nothing of a killed server stays in /dev/shm.
SETTINGS_MEMORY = """
fsync = off
dynamic_shared_memory_type = mmap
"""
# One statement, which sets nothing for its session, and is no command that wants the database, or the server, for itself.
ALONE = re.compile(
    r"\s*(SELECT|WITH|INSERT|UPDATE|DELETE|TABLE)\b(?!.*\b(set_config|setval|pg_temp|pg_promote|pg_terminate_backend)\b)[^;]*;?\s*", re.S | re.I
)
MEMORY = os.environ.get("MPROF_FLEET_MEMORY", "/dev/shm")  # empty: always the disk
TEMPLATES = os.environ.get("MPROF_FLEET_TEMPLATES")  # a folder for servers to copy; unset: each is made anew
ROOM = 4 << 30  # free bytes that MEMORY must have
# A shard knows the hub and its standby only. The hub knows everybody but superusers, by their certificates.
HBA_HUB = """
local all all trust
hostssl replication fleet_standby localhost cert
hostssl all postgres,fleet_router,fleet_standby all reject
hostssl fleet all localhost cert
"""
HBA_SHARD = """
local all all trust
hostssl replication fleet_standby localhost cert
hostssl fleet fleet_router localhost cert
"""


class ClusterError(Exception):
    """The cluster cannot be made; the message is a sentence for a person."""


def account():
    """Return (uid, gid) for the servers: our own, or if we are root those of postgres."""
    if os.getuid() != 0:
        return os.getuid(), os.getgid()
    try:
        entry = pwd.getpwnam("postgres")
    except KeyError:
        raise ClusterError("There is no user postgres: install the package postgresql.") from None
    return entry.pw_uid, entry.pw_gid


def command(*words, ours=False, **options):
    """Run WORDS as the servers' user, or with OURS as we are, and return the output. Raise ClusterError with the output if it
    fails."""
    uid, gid = account()
    if os.getuid() == 0 and not ours:
        options |= {"user": uid, "group": gid, "extra_groups": []}
    env = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"}
    done = subprocess.run(words, env=env, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    if done.returncode:
        raise ClusterError(f"{' '.join(words[:3])}… ended with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


def in_memory(path):
    """Return whether PATH is in a file system in memory."""
    return command("stat", "-f", "-c", "%T", path, ours=True).strip() in ("tmpfs", "ramfs")


def folder(disk):
    """Return the folder for the directories of clusters: in memory, or with DISK or without room in memory that of temporary files."""
    if disk or not MEMORY or not os.access(MEMORY, os.W_OK | os.X_OK):
        return tempfile.gettempdir()
    with open("/proc/meminfo", encoding="ascii") as f:
        available = next(int(line.split()[1]) << 10 for line in f if line.startswith("MemAvailable:"))
    room = os.statvfs(MEMORY)
    return MEMORY if min(room.f_bavail * room.f_frsize, available) >= ROOM else tempfile.gettempdir()


class Server:
    """A PostgreSQL server, with its data in DIRECTORY/NAME."""

    def __init__(self, directory, name, port=None, hba=HBA_SHARD):
        self.directory, self.name, self.hba = directory, name, hba
        self.data = os.path.join(directory, name)
        self.port = port or free_port()
        self.sockets = os.path.join(directory, "s")
        self.idle = {name: [] for name in ("fleet", "postgres")}  # connections of ask() that no thread uses now, by database

    def admin(self, database="fleet"):
        """Return the connection string of a superuser."""
        return f"host={self.sockets} port={self.port} dbname={database} user=postgres"

    def settings_add(self, text):
        with open(os.path.join(self.data, "postgresql.conf"), "a", encoding="utf-8") as f:
            f.write(text)

    def make(self, buckets=range(0)):
        """Make the server with the fleet's tables and BUCKETS, and start it."""
        command("initdb", "-D", self.data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--data-checksums", "--no-sync")
        self.settings_add(SETTINGS)
        if in_memory(self.directory):
            self.settings_add(SETTINGS_MEMORY)
        self.hba_write()
        self.start()
        self.sql("CREATE DATABASE fleet", database="postgres")
        self.sql("CREATE ROLE fleet_standby LOGIN REPLICATION")
        command("sh", os.path.join(TOP, "schema/fleet/migrate"), self.admin(), ours=True)
        if buckets:
            self.sql(f"SELECT fleet.make_bucket(n), fleet.make_months(n) FROM generate_series({buckets[0]}, {buckets[-1]}) n")

    def bring_up(self, buckets=range(0)):
        """Make the server by the shortest way, and start it."""
        if TEMPLATES:
            self.copy(buckets)
        else:
            self.make(buckets)

    def hba_write(self):
        with open(os.path.join(self.data, "pg_hba.conf"), "w", encoding="utf-8") as f:
            f.write(self.hba)

    def copy(self, buckets=range(0)):
        """As make(), from a file that the first caller writes, after it made the server."""
        os.makedirs(TEMPLATES, exist_ok=True)
        with open(os.path.join(TEMPLATES, "lock"), "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            path = self.template_path(buckets)
            if os.path.exists(path):
                template = open(path, "rb")  # a process with another schema may remove the file
            else:
                template = None
                self.make(buckets)
                self.stop()
                self.template_write(path)
        if template:
            with template:
                os.mkdir(self.data, mode=0o700)
                command("tar", "-x", "-p", "--numeric-owner", "-C", self.data, ours=True, stdin=template)
            self.hba_write()
        self.start()
        self.sql("SELECT fleet.new_epoch()")  # each copy is a server of its own

    def template_path(self, buckets):
        """Return the name of the file that is a server of this kind: of this month, because the month's tables are in it."""
        parts = [BIN, account(), in_memory(self.directory), time.strftime("%Y-%m", time.gmtime()), command("postgres", "--version")]
        key = hashlib.sha256(repr(parts).encode())
        for name in (os.path.abspath(__file__), *sorted(glob.glob(os.path.join(TOP, "schema/fleet/*")))):
            with open(name, "rb") as f:
                key.update(f.read())
        return os.path.join(TEMPLATES, f"{key.hexdigest()[:16]}-{buckets.start}-{buckets.stop}.tar")

    def template_write(self, path):
        """Write this server, which is stopped, to PATH. Remove the files of other schemas."""
        command("pg_resetwal", "-D", self.data)  # leaves one segment of the log
        command("tar", "-c", "--numeric-owner", "-f", path + ".new", "-C", self.data, ".", ours=True)
        os.rename(path + ".new", path)
        key = os.path.basename(path).split("-")[0]
        for other in glob.glob(os.path.join(TEMPLATES, "*.tar*")):
            if not os.path.basename(other).startswith(key):
                os.remove(other)

    def start(self):
        options = f"-p {self.port} -k {self.sockets} -c cluster_name={self.name}"
        command("pg_ctl", "-D", self.data, "-l", self.data + ".log", "-o", options, "-w", "-t", str(PATIENCE), "start")

    def stop(self, mode="fast"):
        if os.path.exists(os.path.join(self.data, "postmaster.pid")):
            with contextlib.suppress(ClusterError):
                command("pg_ctl", "-D", self.data, "-m", mode, "-w", "-t", str(PATIENCE), "stop")

    def kill(self):
        """End the server and its processes with SIGKILL."""
        with open(os.path.join(self.data, "postmaster.pid"), encoding="utf-8") as f:
            pid = int(f.readline())
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False).stdout.split()
        for each in (pid, *map(int, children)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        until(lambda: not os.path.exists(f"/proc/{pid}"), f"{self.name} ends")
        os.remove(os.path.join(self.data, "postmaster.pid"))

    def promote(self):
        command("pg_ctl", "-D", self.data, "-w", "-t", str(PATIENCE), "promote")

    def sql(self, text, database="fleet"):
        """Run SQL as superuser and return what psql prints, unaligned and without headings. One statement that leaves nothing in its session
        goes through a connection that is kept, which takes a tenth of the processor time."""
        if ALONE.fullmatch(text):
            return self.ask(text, database)
        return command("psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", self.admin(database), "-c", text).strip()

    def ask(self, text, database):
        """Run one statement through a connection that no other thread uses now, and return its rows as psql prints them."""
        try:
            db = self.connection(database)
            with db.cursor() as c:
                c.execute(text)
                rows = c.fetchall() if c.description else []
        except psycopg2.Error as e:
            raise ClusterError(e.pgerror or str(e)) from None
        self.idle[database].append(db)
        return "\n".join("|".join("" if value is None else value for value in row) for row in rows).strip()

    def connection(self, database):
        """Return a connection that was kept, unless the server has ended it, or a new one, which returns each value as PostgreSQL writes it."""
        with contextlib.suppress(IndexError):
            while True:
                db = self.idle[database].pop()
                if not select.select([db], [], [], 0)[0]:
                    return db
                db.close()
        db = psycopg2.connect(self.admin(database))
        db.autocommit = True
        psycopg2.extensions.register_type(
            psycopg2.extensions.new_type(tuple(psycopg2.extensions.string_types), "AS_WRITTEN", lambda value, _: value), db
        )
        return db

    def standby_make(self, pki):
        """Make a synchronous standby of this server, which is running, and return it."""
        standby = Server(self.directory, self.name + "-standby")
        source = f"host=localhost port={self.port} user=fleet_standby application_name={standby.name} sslmode=verify-full"
        source += f" sslrootcert={pki}/ca.crt sslcert={pki}/fleet_standby.crt sslkey={pki}/fleet_standby.key"
        command("pg_basebackup", "-D", standby.data, "-d", source, "-R", "-X", "stream", "-c", "fast", "--no-sync")
        standby.start()
        self.sql(f"ALTER SYSTEM SET synchronous_standby_names = '\"{standby.name}\"'")
        self.sql("SELECT pg_reload_conf()")
        until(lambda: self.sql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == "1", f"{standby.name} is synchronous")
        return standby


def until(condition, what):
    """Wait until CONDITION() is true, and return its value. Raise ClusterError after PATIENCE."""
    try:
        return launcher.wait(condition, PATIENCE)
    except AssertionError:
        raise ClusterError(f"This did not come: {what}.") from None


class Cluster:
    """A hub, its shards and standbys, in a directory."""

    def __init__(self, directory):
        self.directory = os.path.abspath(directory)
        self.pki = os.path.join(self.directory, "pki")
        self.hub, self.shards, self.standbys = None, [], {}
        self.added = []  # shards of shard_new()

    def up(self, shards=0, standby=False, hosts=()):
        uid, gid = account()
        if not os.path.exists(os.path.join(BIN, "initdb")):
            raise ClusterError(f"There is no {BIN}/initdb: install the package postgresql, or name the directory in MPROF_POSTGRESQL.")
        if len(os.path.join(self.directory, "s/.s.PGSQL.65535")) > 107:
            raise ClusterError(f"{self.directory} is too long for the names of Unix sockets: choose a shorter directory.")
        for path in (self.directory, self.pki, os.path.join(self.directory, "s")):
            os.makedirs(path, mode=0o700, exist_ok=True)
            os.chown(path, uid, gid)
        self.authority_make()
        for name in ("fleet_standby", "fleet_router", *hosts):
            self.certificate_make(name)
        self.certificate_make("server", "subjectAltName=DNS:localhost,IP:127.0.0.1")
        self.hub = Server(self.directory, "hub", hba=HBA_HUB)
        self.shards = [Server(self.directory, f"shard{n + 1}") for n in range(shards)]
        with ThreadPoolExecutor() as pool:
            kept = [range(0 if shards else 64), *(range(n * 64 // shards, (n + 1) * 64 // shards) for n in range(shards))]
            list(pool.map(Server.bring_up, [self.hub, *self.shards], kept))
            if standby:
                servers = [self.hub, *self.shards]
                self.standbys = dict(zip((s.name for s in servers), pool.map(lambda s: s.standby_make(self.pki), servers)))
        for n, shard in enumerate(self.shards):
            self.shard_add(shard, kept[n + 1])
        for host in hosts:
            self.host_add(host)
        self.state_write()
        return self

    def shard_new(self, name):
        """Make a shard without buckets, and return it."""
        shard = Server(self.directory, name)
        self.added.append(shard)
        shard.bring_up()
        self.shard_add(shard, ())
        return shard

    def shard_add(self, shard, buckets):
        """Let the hub serve BUCKETS from SHARD, and from its standby if that was promoted."""
        ports = [s.port for s in (shard, self.standbys.get(shard.name)) if s]
        self.hub.sql(
            f"""
            CREATE SERVER {shard.name} FOREIGN DATA WRAPPER postgres_fdw OPTIONS (
                host '{','.join(['localhost'] * len(ports))}', port '{','.join(map(str, ports))}', dbname 'fleet',
                target_session_attrs 'read-write', sslmode 'verify-full', sslrootcert '{self.pki}/ca.crt',
                connect_timeout '{CONNECT}', async_capable 'true');
            GRANT USAGE ON FOREIGN SERVER {shard.name} TO fleet_owner;
            CREATE USER MAPPING FOR fleet_owner SERVER {shard.name} OPTIONS (user 'fleet_router', password_required 'false',
                sslcert '{self.pki}/fleet_router.crt', sslkey '{self.pki}/fleet_router.key');
            SELECT fleet.add_shard('{shard.name}');
            SELECT fleet.attach_bucket(n, '{shard.name}') FROM unnest('{{{','.join(map(str, buckets))}}}'::integer[]) n"""
        )

    def authority_make(self):
        self.certificate_request("ca", "fleet test authority", "-addext", "basicConstraints=critical,CA:TRUE")

    def certificate_make(self, name, extension="", authority="ca"):
        """Make NAME.crt and NAME.key, signed by the authority."""
        signer = os.path.join(self.pki, authority)
        more = ["-addext", extension] if extension else []
        self.certificate_request(name, name, "-CA", signer + ".crt", "-CAkey", signer + ".key", *more)

    def certificate_request(self, name, subject, *options):
        """Make NAME.crt and NAME.key by one start of openssl, which takes most of the time."""
        base, config = os.path.join(self.pki, name), os.path.join(self.pki, "openssl.cnf")
        if not os.path.exists(config):
            with open(config, "w", encoding="ascii") as f:
                f.write("[req]\ndistinguished_name = none\n[none]\n")
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc", "-keyout", base + ".key"]
        command("openssl", "req", "-config", config, "-x509", *key, "-subj", f"/CN={subject}", "-days", "30", "-out", base + ".crt", *options)

    def host_add(self, name, quota=0):
        """Register a sending host, with a role and a certificate."""
        if not os.path.exists(os.path.join(self.pki, name + ".crt")):
            self.certificate_make(name)
        self.hub.sql(f"CREATE ROLE \"{name}\" LOGIN CONNECTION LIMIT 8 IN ROLE fleet_host; SELECT fleet.add_host('{name}', {quota})")

    def person_add(self, name, *roles):
        """Make a role and a certificate for a person, or a program beside the hub."""
        self.certificate_make(name)
        self.hub.sql(f'CREATE ROLE "{name}" LOGIN IN ROLE {", ".join(roles)}')

    def connection(self, user, server=None, certificate=None):
        """Return the connection string of USER for the hub and its standby, or for SERVER."""
        servers = [server] if server else [s for s in (self.hub, self.standbys.get("hub")) if s]
        base = os.path.join(self.pki, certificate or user)
        hosts, ports = ",".join(["localhost"] * len(servers)), ",".join(str(s.port) for s in servers)
        words = f"host={hosts} port={ports} dbname=fleet user={user} sslmode=verify-full sslrootcert={self.pki}/ca.crt"
        # The programs' own limit is that of a quiet machine. A server that has ended refuses at once. One that hangs is given up before
        # this module's own patience ends.
        return f"{words} sslcert={base}.crt sslkey={base}.key target_session_attrs=read-write connect_timeout={CONNECT}"

    def configuration_write(self, user, section, key, more):
        """Write USER.conf, a configuration of the project's programs with the connection of USER."""
        with open(os.path.join(self.directory, user + ".conf"), "w", encoding="utf-8") as f:
            f.write(f"{section}\n{more}\n" + "".join(f"{key} = {word}\n" for word in self.connection(user).split()))

    def servers(self):
        return [self.hub, *self.shards, *self.standbys.values(), *self.added]

    def state_write(self):
        with open(os.path.join(self.directory, "state.json"), "w", encoding="utf-8") as f:
            json.dump({s.name: s.port for s in self.servers()}, f)

    def down(self):
        """Stop all servers and remove the directory."""
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda s: s.stop("immediate"), [s for s in self.servers() if s]))
        shutil.rmtree(self.directory, ignore_errors=True)


@contextlib.contextmanager
def cluster(disk=False, **options):
    """Make a cluster in a directory of its own, and remove it in the end. With DISK it is on a disk, with flushes, as figures need it."""
    directory = tempfile.mkdtemp(prefix="mprof-fleet-", dir=folder(disk))
    c = Cluster(directory)
    try:
        yield c.up(**options)
    except BaseException:
        for server in (s for s in c.servers() if s and os.path.exists(s.data + ".log")):
            with open(server.data + ".log", encoding="utf-8", errors="replace") as f:
                print(f"---- {server.name}\n" + f.read()[-3000:], file=sys.stderr)
        raise
    finally:
        c.down()


def up(arguments):
    if os.path.exists(os.path.join(arguments.directory, "state.json")):
        raise ClusterError(f"{arguments.directory} has a cluster: run sh tests/fleet/down first.")
    c = Cluster(arguments.directory)
    hosts = arguments.host or ["host1"]
    try:
        c.up(arguments.shards, arguments.standby, hosts)
        c.person_add("reader", "fleet_read")
        c.person_add("http", "fleet_read", "fleet_note", "fleet_pin", "fleet_http")
        c.configuration_write("http", "[http]", "fleet", f"listen = 127.0.0.1:{arguments.port}")
        for host in hosts:
            c.configuration_write(host, "[fleet]", "connection", "send = captures")
    except BaseException:
        c.down()
        raise
    for server in c.servers():
        print(f"{server.name}, superuser: {server.admin()}")
    for name in (*hosts, "reader"):
        print(f"{name}: {c.connection(name)}")
    page = f"serves the page at http://127.0.0.1:{arguments.port}" if arguments.port else "logs at which address it serves the page"
    print(f"{c.directory}/http.conf: for mprofd-http, which {page}")
    for host in hosts:
        print(f"{c.directory}/{host}.conf: for mprofd and mprofd-forward of {host}")


def down(arguments):
    try:
        with open(os.path.join(arguments.directory, "state.json"), encoding="utf-8") as f:
            ports = json.load(f)
    except FileNotFoundError:
        raise ClusterError(f"{arguments.directory} has no cluster.") from None
    c = Cluster(arguments.directory)
    c.hub, *c.shards = (Server(c.directory, name, port) for name, port in ports.items())
    c.down()


def main():
    parser = argparse.ArgumentParser(prog="fleet", description="Make a fleet's database of plain PostgreSQL processes on this machine.")
    verbs = parser.add_subparsers(required=True)
    for function in (up, down):
        verb = verbs.add_parser(function.__name__)
        verb.set_defaults(function=function)
        verb.add_argument("directory", nargs="?", default=os.path.join(tempfile.gettempdir(), "mprof-fleet"))
        if function is up:
            verb.add_argument("--shards", type=int, default=0, choices=range(0, 65), metavar="N", help="0 to 64; 0: the hub keeps everything")
            verb.add_argument("--standby", action="store_true", help="make a synchronous standby of each server")
            verb.add_argument("--host", action="append", metavar="NAME", help="register a sending host; without this option host1")
            verb.add_argument("--port", type=int, default=0, help="port of the page; without this option the kernel chooses one")
    arguments = parser.parse_args()
    try:
        arguments.function(arguments)
    except ClusterError as e:
        sys.exit(str(e))


if __name__ == "__main__":
    main()
