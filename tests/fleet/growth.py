"""How a fleet's database grows with hosts and months: sizes, planning, lists, inventories, questions, and what a host costs at rest.

    growth.py [--shards N] [--hosts N,N…] [--months N,N…] [--captures N] [--brief] [--http BUILD-DIRECTORY]

A cluster for each number of hosts with each number of months. A host has CAPTURES captures in each month, of one piece of 200 bytes, and
one host has 20,000 packets of two pieces in this month. Each question is asked nine times in one session; a time is printed and never
fails, a wrong answer does. Prints a line of JSON for each cluster. --brief also lets hosts send for a second. --http asks through
mprofd-http --fleet, too: the times are those of a client, from the request to the last byte.
"""

import argparse
import http.client as http_client
import json
import socket
import statistics
import tempfile
import time

import measure
import psycopg2
from cluster import cluster, launcher, until
from sender import ARCHIVE, Host, month_of, noise, piece

PACKETS = 20000  # more than a page has
TLS_HOSTS = ("host0", "host1", "host2", "host3")
LIST = "SELECT host, month, archive, capture, kind, at, guest, image, cause FROM fleet.captures"
ORDER = "ORDER BY at DESC, host, archive, capture LIMIT 50"
QUESTIONS = ("crashes_by_image", "crashes_by_cause", "crashes_by_host_week", "causes_returned", "loss_by_host", "newest")
FILL = """
SET ROLE fleet_owner;
INSERT INTO fleet_store.usage (host, month, bytes) SELECT h.host, m.month::date, 0 FROM host h, month m;
INSERT INTO fleet_store.capture (host, month, archive, capture, kind, at, week, guest, image, lost_packets, pieces, bytes, got_pieces,
		got_bytes, room, finished, cause, sentence, annotated, head)
	SELECT c.host, c.month, '{archive}', c.capture, c.kind, c.at, date_trunc('week', c.at AT TIME ZONE 'UTC')::date, 'guest' || c.chance % 20,
		CASE WHEN c.chance % 10 > 0 THEN 'image' || c.chance % 40 END, c.chance % 7, 1, 200, 1, 200, 900, c.at,
		CASE WHEN c.kind IN ('crash', 'watchdog') THEN 'cause' || c.chance / 100 % 50 END,
		CASE WHEN c.kind IN ('crash', 'watchdog') THEN 'thread ' || c.chance / 100 % 50 || ' waits for ever' END, c.at, '{head}'
	FROM (SELECT h.host, m.month, h.n + 10000 * row_number() OVER (PARTITION BY h.host ORDER BY m.month, k) AS capture,
		m.month AT TIME ZONE 'UTC' + random() * least(interval '28 days', now() - m.month AT TIME ZONE 'UTC') AS at,
		(ARRAY['crash', 'poweroff', 'reboot', 'watchdog', 'manual'])[1 + floor(random() * 5)] AS kind, floor(random() * 1000000)::bigint AS chance
		FROM host h, month m, generate_series(1, {captures}) k) c;
INSERT INTO fleet_store.capture_piece SELECT c.host, c.month, c.archive, c.capture, 'trace', 1, 0, 7, 30, 200, 1, 1000, 65536, 0,
	'\\x{sum}', '', '\\x{data}' FROM fleet_store.capture c;
"""
PACKET = """
SET ROLE fleet_owner;
INSERT INTO fleet_store.run VALUES ('host0', '{month}', '{archive}', 1, 'web', '{{"guest": "web"}}');
INSERT INTO fleet_store.packet_piece SELECT 'host0', '{month}', '{archive}', 1, 1, n, k, 2, 30, 200, 1, 1000, 65536, 0, '\\x{sum}', '',
	'\\x{data}' FROM generate_series(1, {packets}) n, generate_series(0, 1) k;
UPDATE fleet_store.usage SET packet_pieces = 2 * {packets} WHERE (host, month) = ('host0', '{month}');
"""


def ms(began):
    return round(1000 * (time.monotonic() - began), 2)


def fill(c, hosts, months, captures):
    """Store what the hosts would have sent, and return the time in seconds that PostgreSQL took."""
    began = time.monotonic()
    for name in TLS_HOSTS:
        c.host_add(name)
    c.hub.sql(
        f"""INSERT INTO fleet_store.host (host, bucket, quota_bytes, archive) SELECT h, fleet_store.bucket_of(h), 0, '{ARCHIVE}'
        FROM generate_series(0, {hosts - 1}) n, concat('host', n) h ON CONFLICT (host) DO UPDATE SET archive = EXCLUDED.archive"""
    )
    names = c.hub.sql("SELECT json_agg(json_build_object('host', host, 'n', substr(host, 5), 'bucket', bucket)) FROM fleet_store.host")
    head = json.dumps({"kind": "crash", "guest": "web", "real": "1", "run": 1, "streams": [{"id": 1, "number": 0, "ring_bytes": 1048576}]})
    p = piece(noise(200))
    values = {"archive": ARCHIVE, "captures": captures, "head": head, "sum": p["sum"].hex(), "data": p["data"].hex()}
    host0 = c.hub.sql("SELECT fleet_store.bucket_of('host0')")
    for server in c.shards or [c.hub]:
        kept = server.sql("SELECT bucket FROM fleet_store.bucket WHERE shard IS NULL").splitlines()
        db = psycopg2.connect(server.admin())
        with db, db.cursor() as q:
            q.execute("SET synchronous_commit = off")
            q.execute(
                "CREATE TEMPORARY TABLE month AS SELECT date_trunc('month', now() - n * interval '1 month')::date AS month FROM generate_series(0, %s) n",
                (months - 1,),
            )
            q.execute(
                "CREATE TEMPORARY TABLE host AS SELECT * FROM json_to_recordset(%s) AS h (host text, n bigint, bucket integer) WHERE bucket = ANY (%s::integer[])",
                (names, kept),
            )
            q.execute("GRANT SELECT ON month, host TO fleet_owner")
            for n in kept:
                q.execute("SELECT fleet_store.month_make(%s, month) FROM month", (n,))
            q.execute(FILL.format(**values))
            if host0 in kept:
                q.execute(PACKET.format(**values, packets=PACKETS, month=month_of(time.time_ns())))
        db.close()
        server.sql("VACUUM ANALYZE")
    return round(time.monotonic() - began, 1)


def sizes(c):
    """Return bytes of the databases, of their catalogs, and the number of relations, on all servers that keep buckets."""
    out = {"disk": 0, "catalog": 0, "relations": 0}
    for server in c.shards or [c.hub]:
        row = server.sql(
            """SELECT pg_database_size('fleet'), sum(pg_total_relation_size(oid)) FILTER (WHERE relnamespace = 'pg_catalog'::regnamespace
            AND relkind = 'r'), count(*) FROM pg_class"""
        )
        for name, value in zip(out, row.split("|")):
            out[name] += int(value)
    return out


def times(c, db, sql, values=()):
    """Return the first, the best and the median time of nine of SQL, and the mean time of the processor but for the first, ms; and its
    rows."""
    got = []
    for n in range(9):
        began = time.monotonic()
        with db.cursor() as q:
            q.execute(sql, values)
            rows = q.fetchall()
        got.append(ms(began))
        if n == 0:
            processes = pids(c)
            used = cpu(processes)
    took = round(1000 * (cpu(processes) - used) / 8, 2)
    return {"first": got[0], "best": min(got), "median": statistics.median(got), "cpu": took}, rows


def connect(c):
    db = psycopg2.connect(c.connection("reader"))
    db.autocommit = True
    return db


def expect(what, got, wanted):
    if got != wanted:
        raise SystemExit(f"{what}: {got}, not {wanted}")


def lists(c, hosts, months, captures):
    db, out = connect(c), {}
    total = hosts * months * captures
    out["all"], rows = times(c, db, f"{LIST} {ORDER}")
    expect("rows of the newest captures", len(rows), min(50, total))
    last = rows[-1]
    out["next"], rows = times(
        c,
        db,
        f"{LIST} WHERE at <= %s AND (at < %s OR (host, archive, capture) > (%s, %s, %s)) {ORDER}",
        (last[5], last[5], last[0], last[2], last[3]),
    )
    out["host"], rows = times(c, db, f"{LIST} WHERE host = 'host7' {ORDER}")
    expect("rows of a host", len(rows), min(50, months * captures))
    out["guest"], rows = times(c, db, f"{LIST} WHERE host = 'host7' AND guest = 'guest3' {ORDER}")
    out["guest anywhere"], rows = times(c, db, f"{LIST} WHERE guest = 'guest3' {ORDER}")
    out["guest nowhere"], rows = times(c, db, f"{LIST} WHERE guest = 'absent' {ORDER}")
    expect("rows of an absent guest", rows, [])
    for column in ("image", "cause", "kind"):
        out[f"{column} nowhere"], rows = times(c, db, f"{LIST} WHERE {column} = 'absent' {ORDER}")
    out["guests"], rows = times(c, db, "SELECT host, guest, count(*) FROM fleet.captures GROUP BY host, guest ORDER BY host, guest LIMIT 100")
    out["pieces"], rows = times(
        c, db, "SELECT part, stream, number, length(data) FROM fleet.pieces WHERE host = 'host7' AND month = %s", (month_of(time.time_ns()),)
    )
    expect("pieces of a host's month", len(rows), captures)
    out["pieces of a month"], rows = times(c, db, "SELECT count(*) FROM fleet.pieces WHERE month = %s", (month_of(time.time_ns()),))
    expect("pieces of a month", rows, [(hosts * captures,)])
    for view in QUESTIONS:
        out[view], rows = times(c, db, f"SELECT * FROM fleet.{view}")
    db.close()
    db = connect(c)
    with db.cursor() as q:
        for name, sql in ("captures", f"{LIST} {ORDER}"), ("pieces", "SELECT * FROM fleet.pieces WHERE host = 'host7' AND month = '2026-11-01'"):
            for time_of in ("first", "second"):
                q.execute("EXPLAIN (SUMMARY) " + sql)
                out[f"plan {name} {time_of}"] = next(float(r[0].split()[2]) for r in q.fetchall() if r[0].startswith("Planning Time"))
    db.close()
    return out


HTTP = {
    "hosts": "/v1/hosts?limit=1000",
    "captures": "/v1/captures?limit=50",
    "crashes": "/v1/captures?limit=50&kind=crash",
    "captures of a host": "/v1/captures?limit=50&host=host7",
    "captures of a cause": "/v1/captures?limit=50&cause=cause7",
    "guests": "/v1/domains?limit=100",
    **{name.replace("_", " "): f"/v1/fleet/{name.replace('_', '-')}?limit=100" for name in QUESTIONS},
}


def http(c, build, hosts):
    """Return the first, the median and the 95 % time of 40 answers of mprofd-http to each question, ms."""
    c.person_add("people", "fleet_read", "fleet_http")
    out = {}
    with tempfile.TemporaryDirectory() as directory:
        options = ["--fleet", c.connection("people"), "--state", directory, "--listen", f"unix:{directory}/http.sock"]
        open(f"{directory}/mprofd.conf", "w", encoding="utf-8").close()
        words = [f"{build}/daemon/serve/mprofd-http", *options, "--config", f"{directory}/mprofd.conf"]
        with launcher.Program(words, f"{directory}/log") as server:
            server.wait_ready()
            until(lambda: ask(directory, "/readyz")[0] == 200, "mprofd-http is ready")
            for name, path in HTTP.items():
                got = []
                for _ in range(40):
                    began = time.monotonic()
                    status, body = ask(directory, path)
                    got.append(ms(began))
                    expect(f"status of {path}", status, 200)
                out[name] = {"first": got[0], "median": statistics.median(got), "95%": sorted(got)[37]}
            expect("hosts over HTTP", len(json.loads(ask(directory, HTTP["hosts"])[1])["hosts"]), min(hosts, 1000))
    return out


def ask(directory, path):
    """Return the status and the body of an answer, over a new connection."""
    connection = http_client.HTTPConnection("localhost")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(f"{directory}/http.sock")
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body


def memory(pid):
    """Return the private bytes of a process."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
        rows = {line.split(":")[0]: int(line.split()[1]) for line in f if line.startswith("Private")}
    return 1024 * (rows["Private_Dirty"] + rows["Private_Clean"])


def pids(c):
    """Return the server processes of hosts and of the reader, and on shards those of the router."""
    sql = "SELECT pid FROM pg_stat_activity WHERE usename IN ('host0', 'host1', 'host2', 'host3', 'fleet_router', 'reader')"
    return [int(pid) for server in (c.hub, *c.shards) for pid in server.sql(sql).split()]


def cpu(processes):
    """Return the seconds of the processor that PROCESSES took."""
    total = 0
    for pid in processes:
        with open(f"/proc/{pid}/schedstat", encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total / 1e9


def rest(c, months):
    """The cost of a host for the servers: a first hello, a capture, a hello, memory and inventories."""
    now, out = time.time_ns(), {}
    began = time.monotonic()
    hosts = [Host(c.connection(name)) for name in TLS_HOSTS]
    for h in hosts:
        h.hello()
    out["connect and hello"] = ms(began) / len(hosts)
    out["memory after hello"] = sum(map(memory, pids(c))) // len(hosts)
    began = time.monotonic()
    for h in hosts:
        expect("a capture", h.send(1, now, [piece(noise(4096))]), "new")
    out["first capture"] = ms(began) / len(hosts)
    out["memory after a capture"] = sum(map(memory, pids(c))) // len(hosts)
    processes, used = pids(c), cpu(pids(c))
    began = time.monotonic()
    for _ in range(50):
        for h in hosts:
            h.hello()
    out["hello"] = ms(began) / 50 / len(hosts)
    out["cpu of a hello"] = round(1000 * (cpu(processes) - used) / 50 / len(hosts), 3)
    began = time.monotonic()
    for n in range(2, 12):
        for h in hosts:
            h.send(n, now, [piece(noise(4096))])
    out["next capture"] = ms(began) / 10 / len(hosts)
    h = hosts[0]
    got = []
    for _ in range(9):
        began = time.monotonic()
        rows = h.call("inventory", month=month_of(now), after_archive=None, after_capture=None, max_rows=10000)
        got.append(ms(began))
    out["inventory"] = statistics.median(got)
    got = []
    for _ in range(9):
        began = time.monotonic()
        expect("months of a host", len(h.call("inventory_months")), months)
        got.append(ms(began))
    out["inventory of months"] = statistics.median(got)
    began, after, packets, pages = time.monotonic(), {"after_archive": None, "after_stream": None, "after_sequence": None}, 0, 0
    while rows := h.call("inventory_packets", month=month_of(now), **after, max_rows=5000):
        packets += sum(r["last_sequence"] - r["first_sequence"] + 1 for r in rows)
        pages += 1
        after = {"after_archive": ARCHIVE, "after_stream": rows[-1]["stream"], "after_sequence": rows[-1]["last_sequence"]}
    expect("packets of the inventory", packets, PACKETS)
    out["inventory of packets, a page of 5000"] = ms(began) / pages
    for h in hosts:
        h.close()
    return out


def measure_one(shards, hosts, months, captures, brief, build):
    with cluster(disk=not brief, shards=shards, hosts=()) as c:
        c.person_add("reader", "fleet_read")
        out = {"hosts": hosts, "months": months, "shards": shards, "captures": hosts * months * captures, "empty": sizes(c)}
        out["fill seconds"] = fill(c, hosts, months, captures)
        out |= {"sizes": sizes(c), "lists": lists(c, hosts, months, captures), "rest": rest(c, months)}
        began = time.monotonic()
        problems = c.hub.sql("SELECT * FROM fleet.check()")
        out["check seconds"] = ms(began) / 1000
        expect("the check", problems, "")
        if build:
            out["http"] = http(c, build, hosts)
        if brief:
            out["captures in a second"] = measure.rate(c, TLS_HOSTS, 4096, 1)[0]
        print(json.dumps(out), flush=True)


def main():
    parser = argparse.ArgumentParser(description="Measure how a fleet's database grows.")
    parser.add_argument("--shards", type=int, default=0)
    parser.add_argument("--hosts", default="300")
    parser.add_argument("--months", default="12")
    parser.add_argument("--captures", type=int, default=28, help="captures of a host in a month")
    parser.add_argument("--brief", action="store_true", help="a small fleet on two shards, for its answers")
    parser.add_argument("--http", metavar="BUILD-DIRECTORY", help="ask mprofd-http of this build, too")
    a = parser.parse_args()
    if a.brief:
        a.shards, a.hosts, a.months = 2, "10", "2"
    for hosts in map(int, a.hosts.split(",")):
        for months in map(int, a.months.split(",")):
            measure_one(a.shards, hosts, months, a.captures, a.brief, a.http)


if __name__ == "__main__":
    main()
