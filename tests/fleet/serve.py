"""mprofd-http --fleet, two of them beside each other, on a real hub with captures of real hosts: serve.py BUILD-DIRECTORY [TEST…]

Every operation of schema/http/openapi.yaml that a hub serves is asked, and its answer is compared with the document
and with what the host itself answers.
"""

import contextlib
import datetime
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "integration")]

import yaml

import cluster
import daemons
import fleethost
import sender
import turns
from daemons import Ring
from frames import unzstd
from scarce_memory import Memory, chosen

with open(os.path.join(HERE, "../../schema/http/openapi.yaml"), encoding="utf-8") as document:
    OPENAPI = yaml.safe_load(document)
OPERATIONS = {
    (method.upper(), path): operation for path, item in OPENAPI["paths"].items() for method, operation in item.items() if method != "parameters"
}
FLEET = None  # the hub's database, which all tests share
HOSTS = {}
HUBS = []
ROOT = None  # the directory of all hosts and hubs


# ---- the document


class Mismatch(AssertionError):
    pass


TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None)}


def is_of(value, kind):
    return isinstance(value, TYPES[kind]) and not (kind in ("integer", "number") and isinstance(value, bool))


def check(value, schema, where="$"):
    """Raise Mismatch unless VALUE has SCHEMA, as far as the document uses JSON Schema."""
    if "$ref" in schema:
        target = OPENAPI
        for name in schema["$ref"].split("/")[1:]:
            target = target[name]
        check(value, target, where)
    kinds = schema.get("type")
    if kinds and not any(is_of(value, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
        raise Mismatch(f"{where} is {value!r}, not {kinds}")
    if "enum" in schema and value not in schema["enum"] or "const" in schema and value != schema["const"]:
        raise Mismatch(f"{where} is {value!r}")
    if isinstance(value, str):
        if "pattern" in schema and not re.search(schema["pattern"], value):
            raise Mismatch(f"{where} is {value!r}, not {schema['pattern']}")
        if schema.get("format") == "date-time" and not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z", value):
            raise Mismatch(f"{where} is {value!r}, no time")
        if schema.get("format") == "date":
            datetime.date.fromisoformat(value)
    if isinstance(value, dict):
        missing = set(schema.get("required", ())) - set(value)
        if missing:
            raise Mismatch(f"{where} lacks {missing}")
        for name, member in value.items():
            if name in schema.get("properties", {}):
                check(member, schema["properties"][name], f"{where}.{name}")
    if isinstance(value, list):
        if len(value) > schema.get("maxItems", len(value)):
            raise Mismatch(f"{where} has {len(value)} items")
        for n, item in enumerate(value):
            check(item, schema.get("items", {}), f"{where}[{n}]")
    for part in schema.get("allOf", ()):
        check(value, part, where)
    for several in ("oneOf", "anyOf"):
        if several in schema:
            some(value, schema[several], where)


def some(value, schemas, where):
    """Check VALUE against those of SCHEMAS that are a hub's, if there are some, else against all."""
    schemas = [s for s in schemas if "/Hub" in s.get("$ref", "")] or schemas
    for n, schema in enumerate(schemas):
        try:
            return check(value, schema, where)
        except Mismatch:
            if n == len(schemas) - 1:
                raise
    return None


def schema_of(method, path, status):
    """Return the JSON schema of an answer, or None."""
    answer = OPERATIONS[method, path]["responses"].get(str(status)) or OPERATIONS[method, path]["responses"]["default"]
    if "$ref" in answer:
        answer = OPENAPI["components"]["responses"][answer["$ref"].rsplit("/", 1)[1]]
    content = answer.get("content", {})
    return next((content[kind]["schema"] for kind in ("application/json", "application/problem+json") if kind in content), None)


# ---- servers


class Hub(daemons.Daemons):
    """mprofd-http --fleet in a directory of its own."""

    def __init__(self, name, config=""):
        before = os.getcwd()
        os.makedirs(os.path.join(ROOT, name))
        os.chdir(os.path.join(ROOT, name))
        super().__init__(config)
        os.chdir(before)
        self.name = name

    def start(self, prefix=()):
        self.server = self.launch("mprofd-http", "--fleet", FLEET.connection("people"), "--listen", f"unix:{self.socket}", prefix=prefix)
        self.wait(lambda: self.ask("/readyz")[0] == 200 and self.metric("mprofd_hub_connected") == 1)

    def metric(self, name):
        return int(re.search(rf"^{name} (\d+)$", self.get("/metrics").decode(), re.M)[1])

    def token(self, name, *scopes):
        """Make a token. Return the header that has it."""
        words = [word for scope in scopes for word in ("--scope", scope)]
        said = subprocess.run(
            [daemons.program("mprofd-http"), "--fleet", FLEET.connection("issuer"), "--token", "new", name, *words],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        return {"Authorization": "Bearer " + re.search(r"mprof_[0-9a-f_]+", said)[0]}


class Events:
    """A client of /v1/events."""

    def __init__(self, hub, last=None, headers=None):
        self.connection = daemons.UnixConnection(hub.socket, daemons.HANGS)
        self.connection.request("GET", "/v1/events", headers={**(headers or {}), **({"Last-Event-ID": last} if last else {})})
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200, self.answer.read()

    def next(self):
        """Return (id, event, data) of the next event."""
        fields = {}
        while True:
            line = self.answer.readline().decode().rstrip("\n")
            if line.startswith("retry") or line.startswith(":"):
                continue
            if line:
                key, _, value = line.partition(": ")
                fields[key] = value
            elif fields:
                return fields["id"], fields["event"], json.loads(fields["data"])

    def capture(self, wanted):
        """Return the id and the data of the next event about the capture WANTED."""
        while True:
            last, event, data = self.next()
            if event == "capture":
                check(data, OPENAPI["components"]["schemas"]["EventCapture"])
            if event == "capture" and data["capture"]["id"] == wanted:
                return last, data

    def close(self):
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


@contextlib.contextmanager
def inside(name):
    before = os.getcwd()
    os.makedirs(os.path.join(ROOT, name), exist_ok=True)
    os.chdir(os.path.join(ROOT, name))
    try:
        yield
    finally:
        os.chdir(before)


class Sent:
    """A host whose daemons run, with its captures on the hub."""

    def __init__(self, stack, guests):
        self.directory = f"host-{len(HOSTS)}"
        self.captures = []
        with inside(self.directory):
            self.host = stack.enter_context(fleethost.Host())
            self.host.start()
            self.host.start_forwarder()
            self.rings = {name: stack.enter_context(Ring(f"{self.host.rings}/{name}.ctf")) for name in guests}
        self.name = self.host.name
        for name, ring in self.rings.items():
            self.host.wait(lambda name=name: self.host.domain(name))
            ring.add_packet()
            ring.add(7)
            self.host.wait_archived(ring, name, ring.n - 20)
            self.capture(name)
        ended = guests[-1]
        os.unlink(f"{self.host.rings}/{ended}.ctf")
        self.host.wait_ended(ended)
        self.captures.append(self.host.captures(ended)[0]["id"])
        self.host.wait(lambda: set(self.captures) <= set(self.host.hub_captures()))
        self.archive = FLEET.hub.sql(f"SELECT archive FROM fleet_store.host WHERE host = '{self.name}'")
        self.capture_part(stack)

    def capture_part(self, stack):
        """Send a capture of which this host has deleted a packet, as a quota does, before it was sent."""
        host = self.host
        with inside(self.directory):
            ring = stack.enter_context(Ring(f"{host.rings}/part.ctf"))
        self.rings["part"] = ring
        host.wait(lambda: host.domain("part"))
        for _ in range(4):
            ring.add_packet()
            host.wait_archived(ring, "part", ring.n - 20)
        host.stop_forwarder()
        number = host.capture("part")
        host.stop_collector()
        stream = host.query(f"SELECT stream FROM capture_streams WHERE capture = {number}")[0][0]
        host.change(
            f"DELETE FROM chunks WHERE stream = {stream} AND sequence = 1;"
            f"UPDATE streams SET deletions = deletions + 1, held = held - 1, checksum = NULL WHERE id = {stream};"
            "UPDATE row_sums SET unchecked = 1000 WHERE name = 'streams'"
        )
        host.start_collector()
        host.start_forwarder()
        self.captures.append(number)
        host.wait(lambda: number in host.hub_captures())
        assert not host.json(f"/v1/captures/{number}")["complete"]

    def capture(self, name):
        number = self.host.capture(name)
        self.captures.append(number)
        self.host.wait(lambda: number in self.host.hub_captures())
        return number

    def id(self, number):
        return f"{self.name}.{self.archive[:8]}.{number}"


CONTEXT = {"reason": "crash", "xenstore": {"name": "web"}, "xenstore_complete": True, "console": "panic\n", "console_complete": True}
PROFILE = sender.noise(300_000)


def send_crashes():
    """Send captures of a host without daemons: crashes with image, context and a memory profile."""
    FLEET.host_add("dom0-x")
    host = sender.Host(FLEET.connection("dom0-x"), uuid.UUID("aaaaaaaa-0a3e-4b6e-9b3c-5f1d9fbb0c01"))
    host.hello(clock={"offset_ns": -1500, "uncertainty_ns": 20000, "source": "chrony"})
    now = time.time_ns()
    text = json.dumps(CONTEXT).encode()
    for number in (1, 2, 3):
        pieces = [sender.piece(text, part="context", stream=0, offset=0) | {"sequence": 0, "flags": 0, "first_timestamp": 0, "packet_bytes": 0}]
        if number == 3:
            for n in range(0, len(PROFILE), 100_000):
                p = sender.piece(PROFILE[n : n + 100_000], part="memory", stream=4, number=n // 100_000, offset=n)
                pieces.append(p | {"sequence": 0, "flags": 0, "first_timestamp": 0, "packet_bytes": 0})
        more = {"image": f"kernel-{number % 2}", "uuid": str(uuid.UUID(int=number)), "domid": 7, "run_source": "xen", "run_began": str(now - 10**9)}
        host.send(number, now - number * 10**9, pieces, guest=f"web{number}", run=number, streams=[], **more)
        month = sender.month_of(now - number * 10**9)
        texts = f"'c{number % 2}', 'It ends so' || chr(10) || 'and so on', 'main', NULL"
        FLEET.hub.sql(f"SELECT fleet.annotate('dom0-x', '{month}', '{host.archive}', {number}, {texts})")
    return host


def setUpModule():
    global FLEET, ROOT
    stack = contextlib.ExitStack()
    unittest.addModuleCleanup(stack.close)
    FLEET = fleethost.FLEET = stack.enter_context(cluster.cluster())
    ROOT = stack.enter_context(tempfile.TemporaryDirectory(prefix="mprof."))
    FLEET.person_add("people", "fleet_read", "fleet_note", "fleet_pin", "fleet_http")
    FLEET.person_add("issuer", "fleet_access")
    for guests in (["web", "db"], ["web", "mail"]):
        sent = Sent(stack, guests)
        HOSTS[sent.name] = sent
    stack.callback(send_crashes().close)
    for name in ("hub-a", "hub-b"):
        HUBS.append(stack.enter_context(Hub(name)))
        HUBS[-1].start()


def guest(host, name):
    return urllib.parse.quote(f"{host}/{name}", safe="")


class Case(unittest.TestCase):
    def ask(self, path, method="GET", route=None, status=200, hub=None, body=None, **headers):
        """Ask a hub, compare the answer with the document, and return its JSON or its bytes."""
        found = (hub or HUBS[0]).ask(
            path, method, body.encode() if body else None, {k.replace("_", "-"): v for k, v in headers.items()}, timeout=daemons.HANGS
        )
        self.assertEqual(found[0], status, (path, found[2][:500]))
        if found[1].get_content_type() in ("application/json", "application/problem+json"):
            value = json.loads(found[2])
            schema = schema_of(method, route or path.partition("?")[0], status)
            if schema:
                check(value, schema)
            return value
        return found[2]

    def pages(self, path, member, route=None, **options):
        """Return the items of all pages."""
        items, cursor = [], ""
        while True:
            page = self.ask(f"{path}{'&' if '?' in path else '?'}limit=1{cursor}", route=route or path.partition("?")[0], **options)
            items += page[member]
            if not page["next"]:
                return items
            self.assertLess(len(items), 1000)
            cursor = "&cursor=" + urllib.parse.quote(page["next"], safe="")


class Routes(Case):
    """Every operation that a hub serves."""

    def test_all(self):
        """Each operation with the mark hub or both has a check here, and the others answer 409, on a hub as on a host."""
        ours = {key for key, operation in OPERATIONS.items() if operation["x-served-by"] in ("hub", "both")}
        checks = {key: getattr(self, name) for key, name in CHECKS.items()}
        self.assertEqual(set(checks), ours)
        for (method, path), one in checks.items():
            with self.subTest(f"{method} {path}"):
                one()
        sent = next(iter(HOSTS.values()))
        for (method, path), operation in OPERATIONS.items():
            self.assertIn(operation["x-served-by"], ("host", "hub", "both"))
            real = path.replace("{domain}", guest(sent.name, "web")).replace("{id}", sent.id(1)).replace("{host}", sent.name)
            with self.subTest(f"not here: {method} {path}"):
                if operation["x-served-by"] == "host":
                    answer = self.ask(real + "?any=1", method, path, 409)
                    self.assertIn("on the host itself", answer["detail"])
                if operation["x-served-by"] == "hub":
                    status, _, body = sent.host.ask(real + "?any=1", method)
                    self.assertEqual(status, 409)
                    self.assertIn("ask the hub", json.loads(body)["detail"])

    def test_table(self):
        """The program's tables have the marks of the document."""
        for words, mark in ((["--fleet", "x"], "hub"), ([], "host")):
            said = subprocess.run([daemons.program("mprofd-http"), *words, "--routes"], capture_output=True, text=True, check=True).stdout
            here = {
                f"{method} {path} {op['x-scope']} {'here' if op['x-served-by'] in ('both', mark) else 'elsewhere'}"
                for (method, path), op in OPERATIONS.items()
            }
            self.assertEqual(set(said.splitlines()), here)

    def test_queries(self):
        """A hub takes every query parameter of the document for its operations, and no other."""
        names = OPENAPI["components"]["parameters"]
        for (method, path), operation in OPERATIONS.items():
            if method != "GET" or operation["x-served-by"] == "host" or path.startswith("/viewer"):
                continue
            real = path.replace("{domain}", "no%2Fbody").replace("{id}", "1").replace("{host}", "nobody")
            takes = {names[p["$ref"].rsplit("/", 1)[1]]["name"] for p in operation.get("parameters", ()) if "$ref" in p}
            for name in {n["name"] for n in names.values() if n["in"] == "query"}:
                if path == "/v1/events" and name in takes:
                    continue
                refused = b"is unknown, or given twice" in HUBS[0].ask(f"{real}?{name}=1")[2]
                self.assertEqual(refused, name not in takes, (path, name))

    # ---- one for each operation

    def hosts(self):
        names = [*sorted(HOSTS), "dom0-x"]
        self.assertEqual([h["host"] for h in self.pages("/v1/hosts", "hosts")], sorted(names))

    def host(self):
        for name, sent in HOSTS.items():
            found = self.ask(f"/v1/hosts/{name}", route="/v1/hosts/{host}")
            self.assertEqual((found["host"], found["archive"], found["revoked"]), (name, sent.archive, False))
        clock = self.ask("/v1/hosts/dom0-x", route="/v1/hosts/{host}")["clock"]
        self.assertEqual(clock, {"offset_ns": -1500, "uncertainty_ns": 20000, "source": "chrony"})
        self.ask("/v1/hosts/none", route="/v1/hosts/{host}", status=404)

    def domains(self):
        found = self.pages("/v1/domains", "domains")
        names = [(d["host"], d["name"]) for d in found]
        wanted = sorted((name, g) for name, sent in HOSTS.items() for g in sent.rings)
        self.assertEqual([n for n in names if n[0] in HOSTS], wanted)
        for name, sent in HOSTS.items():
            ours = self.pages(f"/v1/domains?host={name}", "domains", route="/v1/domains")
            self.assertEqual({d["name"] for d in ours}, set(sent.rings))
            for d in ours:
                of_host = sent.host.domain(d["name"])
                for member in ("name", "uuid", "source", "run", "runs", "captures"):
                    self.assertEqual(d[member], of_host[member], member)

    def domain(self):
        for name, sent in HOSTS.items():
            for g in sent.rings:
                found = self.ask(f"/v1/domains/{guest(name, g)}", route="/v1/domains/{domain}")
                runs = sent.host.run_list(g)
                self.assertEqual([r["run"] for r in found["run_list"]], [r["run"] for r in reversed(runs)])
                self.assertEqual([r["began"] for r in found["run_list"]], [r["began"] for r in reversed(runs)])
                again = self.ask(f"/v1/domains/{name}%2Fname:{g}", route="/v1/domains/{domain}")
                self.assertEqual(again, found)
        for path in ("none%2Fweb", "web", "%2Fweb", "dom0-x%2F", "dom0-x%2Fnone"):
            self.ask(f"/v1/domains/{path}", route="/v1/domains/{domain}", status=404)

    def same_capture(self, sent, found):
        number = int(found["id"].rsplit(".", 1)[1])
        self.assertEqual(found["id"], sent.id(number))
        of_host = sent.host.json(f"/v1/captures/{number}")
        for member in ("run", "domain", "uuid", "kind", "time", "mono", "complete", "streams"):
            self.assertEqual(found[member], of_host[member], member)

    def captures(self):
        found = self.pages("/v1/captures", "captures")
        self.assertEqual(found, self.ask("/v1/captures?limit=1000", route="/v1/captures")["captures"])
        self.assertEqual([c["time"] for c in found], sorted((c["time"] for c in found), reverse=True))
        for name, sent in HOSTS.items():
            ours = [c for c in found if c["host"] == name]
            self.assertEqual(ours, self.pages(f"/v1/captures?host={name}", "captures"))
            self.assertEqual({c["id"] for c in ours}, {sent.id(n) for n in sent.host.hub_captures()})
            for c in ours:
                self.same_capture(sent, c)
        for query, numbers in (("image=kernel-1", {1, 3}), ("cause=c0", {2}), ("kind=crash", {1, 2, 3}), ("image=none", set())):
            self.assertEqual({int(c["id"].rsplit(".", 1)[1]) for c in self.pages(f"/v1/captures?{query}", "captures")}, numbers)

    def domain_captures(self):
        for name, sent in HOSTS.items():
            for g in sent.rings:
                found = self.pages(f"/v1/domains/{guest(name, g)}/captures", "captures", route="/v1/domains/{domain}/captures")
                self.assertEqual([c["id"] for c in found], [sent.id(c["id"]) for c in sent.host.captures(g)])

    def capture(self):
        for sent in HOSTS.values():
            for number in sent.captures:
                found = self.ask(f"/v1/captures/{sent.id(number)}", route="/v1/captures/{id}")
                self.same_capture(sent, found)
                whole = self.ask(f"/v1/captures/{sent.name}.{sent.archive}.{number}", route="/v1/captures/{id}")
                self.assertEqual(whole, found)
        found = self.ask("/v1/captures/dom0-x.aaaaaaaa.1", route="/v1/captures/{id}")
        self.assertEqual((found["image"], found["cause"], found["last_ran"]), ("kernel-1", "c1", "main"))

    def patch(self):
        path = "/v1/captures/dom0-x.aaaaaaaa.2"
        one = {"route": "/v1/captures/{id}"}
        _, headers, _ = HUBS[0].ask(path)
        found = self.ask(path, "PATCH", body='{"note": "é 1", "pinned": true}', If_Match=headers["ETag"], **one)
        self.assertEqual((found["note"], found["pinned"]), ("é 1", True))
        self.assertEqual(self.ask(path, hub=HUBS[1], **one), found)
        self.ask(path, "PATCH", body='{"note": "2"}', If_Match=headers["ETag"], status=412, **one)
        self.ask(path, "PATCH", body='{"marks": []}', status=409, **one)
        self.ask(path, "PATCH", body="{}", status=400, **one)
        self.ask(path, "PATCH", body='{"pinned": 1}', status=400, **one)
        self.ask(path, "PATCH", body='{"note": "", "pinned": false}', **one)
        self.ask("/v1/captures/dom0-x.aaaaaaaa.99", "PATCH", body='{"note": ""}', status=404, **one)

    def bodies(self, what, query=""):
        """Yield (the host's status, headers and body, the hub's) of WHAT of each capture and stream."""
        for sent in list(HOSTS.values())[: 1 if turns.BRIEF else None]:
            for number in sent.captures:
                yield sent, number, f"/v1/captures/{sent.id(number)}/{what}{query}", f"/v1/captures/{number}/{what}{query}"

    def trace(self):
        for sent, number, of_hub, of_host in self.bodies("trace"):
            status, headers, body = HUBS[0].ask(of_hub)
            own = sent.host.ask(of_host)
            self.assertEqual((status, own[0]), (200, 200), body[:300])
            self.assertEqual(body, own[2])
            self.assertGreater(len(body), 0)
            for name in ("ETag", "Mprof-Run", "Mprof-Stream", "Mprof-Lost-Packets", "Mprof-Complete", "Mprof-Cut", "Content-Length", "Content-Type"):
                self.assertEqual(headers[name], own[1][name], name)
            for bounds in (f"bytes=0-{len(body) - 2}", "bytes=31-100", "bytes=-7", f"bytes={len(body) - 1}-"):
                part, of_own = HUBS[1].ask(of_hub, headers={"Range": bounds}), sent.host.ask(of_host, headers={"Range": bounds})
                self.assertEqual((part[0], part[1]["Content-Range"], part[2]), (206, of_own[1]["Content-Range"], of_own[2]))
            self.assertEqual(HUBS[1].ask(of_hub, headers={"Range": "bytes=99999999-"})[0], 416)
            self.assertEqual(HUBS[1].ask(of_hub, headers={"If-None-Match": headers["ETag"]})[0], 304)
            packed = HUBS[1].ask(of_hub, headers={"Accept-Encoding": "zstd"})
            self.assertEqual(packed[1]["Content-Encoding"], "zstd")
            self.assertEqual(unzstd(packed[2]), body)
            for query in ("?tail=raw", "?stream=0", "?last=100", "?from=1&to=2", "?stream=9", "?tail=x"):
                self.assertEqual(HUBS[0].ask(of_hub + query)[::2], sent.host.ask(of_host + query)[::2], query)
        sent, number, of_hub, _ = next(self.bodies("trace"))
        self.damages(sent, number, of_hub)

    def damages(self, sent, number, trace):
        """Damage that an annotator found in a capture is told with the capture, and with its bodies."""
        names, capture = ("damages", "skipped_bytes", "unproven_events"), f"/v1/captures/{sent.id(number)}"
        self.assertEqual([HUBS[0].json(capture)[name] for name in names], [None] * 3)
        self.assertIsNone(HUBS[0].ask(trace)[1].get("Mprof-Damages"))
        FLEET.hub.sql(
            "INSERT INTO fleet_store.damage SELECT host, month, archive, capture, 2, 30, 400 FROM fleet_store.capture "
            f"WHERE host = '{sent.name}' AND capture = {number}"
        )
        self.assertEqual([HUBS[1].json(capture)[name] for name in names], [2, 30, 400])
        for body in (trace, f"{capture}/ctf.tar"):
            self.assertEqual(HUBS[1].ask(body)[1]["Mprof-Damages"], "places=2; bytes=30; events=400")

    def packets(self):
        for sent, number, of_hub, of_host in self.bodies("packets"):
            for query in ("", "?limit=1", "?buckets=7", "?last=10"):
                found = self.ask(of_hub + query, route="/v1/captures/{id}/packets")
                own = sent.host.json(of_host + query)
                self.assertEqual(found, own, (of_hub, query))

    def ctf(self):
        for sent, number, of_hub, of_host in self.bodies("ctf.tar"):
            found, own = HUBS[0].ask(of_hub), sent.host.ask(of_host)
            self.assertEqual(found[0], 200, found[2][:300])
            self.assertEqual(found[2], own[2])
            self.assertEqual(found[1]["ETag"], own[1]["ETag"])

    def context(self):
        for sent, number, of_hub, of_host in self.bodies("context"):
            found = self.ask(of_hub, route="/v1/captures/{id}/context")
            own = sent.host.json(of_host)
            self.assertEqual(found, own | {"id": sent.id(number), "host": sent.name})
        found = self.ask("/v1/captures/dom0-x.aaaaaaaa.2/context", route="/v1/captures/{id}/context")
        self.assertEqual({name: found[name] for name in CONTEXT}, CONTEXT)

    def memtraces(self):
        found, cursor = [], ""
        while True:
            page = self.ask(f"/v1/memtraces?host=dom0-x{cursor}", route="/v1/memtraces")
            found += page["memtraces"]
            if not page["next"]:
                break
            cursor = f"&cursor={page['next']}"
        self.assertEqual([(m["id"], m["capture"], m["bytes"]) for m in found], [("dom0-x.aaaaaaaa.3.4", "dom0-x.aaaaaaaa.3", len(PROFILE))])
        self.assertEqual(self.ask("/v1/memtraces")["memtraces"], found)

    def domain_memtraces(self):
        for name, n in (("web3", 1), ("web2", 0)):
            found = self.ask(f"/v1/domains/{guest('dom0-x', name)}/memtraces", route="/v1/domains/{domain}/memtraces")
            self.assertEqual(len(found["memtraces"]), n)

    def memtrace(self):
        found = self.ask("/v1/memtraces/dom0-x.aaaaaaaa.3.4", route="/v1/memtraces/{id}")
        self.assertEqual(found["domain"], "web3")
        # The head is that of a host of an earlier version.
        self.assertEqual([found[name] for name in ("began", "began_mono", "ended", "began_corrected")], [None] * 4)
        for wrong in ("dom0-x.aaaaaaaa.3.5", "dom0-x.aaaaaaaa.3", "1", "dom0-x.aaaaaaaa.2.4"):
            self.ask(f"/v1/memtraces/{wrong}", route="/v1/memtraces/{id}", status=404)

    def memtrace_data(self):
        path = "/v1/memtraces/dom0-x.aaaaaaaa.3.4/data"
        status, headers, body = HUBS[0].ask(path)
        self.assertEqual((status, body), (200, PROFILE))
        part = HUBS[1].ask(path, headers={"Range": "bytes=99990-100009"})
        self.assertEqual((part[0], part[1]["Content-Range"], part[2]), (206, f"bytes 99990-100009/{len(PROFILE)}", PROFILE[99990:100010]))
        self.assertEqual(HUBS[1].ask(path, headers={"If-None-Match": headers["ETag"]})[0], 304)
        self.assertEqual(HUBS[1].ask(path, headers={"Range": f"bytes={len(PROFILE)}-"})[0], 416)

    def view(self, name, order, **more):
        """Compare a view's rows with its endpoint."""
        rows = self.pages(f"/v1/fleet/{name}", "rows")
        self.assertEqual(rows, self.ask(f"/v1/fleet/{name}?limit=1000", route=f"/v1/fleet/{name}")["rows"])
        view = name.replace("-", "_")
        wanted = json.loads(
            FLEET.hub.sql(f"SELECT coalesce(json_agg(to_json(v)), '[]') FROM (SELECT * FROM fleet.{view} ORDER BY {order}) v") or "[]"
        )
        self.assertEqual([{k: plain(v) for k, v in row.items()} for row in rows], [{k: plain(v) for k, v in row.items()} for row in wanted])
        return rows

    def crashes_by_image(self):
        self.assertEqual([r["image"] for r in self.view("crashes-by-image", "crashes DESC, image")], ["kernel-1", "kernel-0"])

    def crashes_by_cause(self):
        self.assertEqual([(r["cause"], r["crashes"]) for r in self.view("crashes-by-cause", "crashes DESC, cause")], [("c1", 2), ("c0", 1)])

    def crashes_by_host_week(self):
        rows = self.view("crashes-by-host-week", "week DESC, host")
        self.assertEqual({r["host"] for r in rows}, {"dom0-x"})
        name = next(iter(HOSTS))
        self.assertEqual(self.ask(f"/v1/fleet/crashes-by-host-week?host={name}", route="/v1/fleet/crashes-by-host-week")["rows"], [])

    def causes_returned(self):
        self.view("causes-returned", "back_since DESC, cause")

    def loss_by_host(self):
        self.assertEqual(len(self.view("loss-by-host", "host")), 3)

    def newest(self):
        self.assertEqual(len(self.view("newest", "host")), 3)

    def events(self):
        sent = next(iter(HOSTS.values()))
        with Events(HUBS[0]) as a, Events(HUBS[1]) as b:
            first, hello, data = a.next()
            self.assertEqual((hello, data), ("hello", {}))
            self.assertEqual(b.next()[1], "hello")
            number = sent.capture("web")
            for client in (a, b):
                _, data = client.capture(sent.id(number))
                self.assertEqual(data["change"], "made")
                self.same_capture(sent, data["capture"])
        # The other server goes on from an id of the first.
        with Events(HUBS[1], first) as again:
            last, _ = again.capture(sent.id(number))
        with Events(HUBS[0], last) as after:
            HUBS[1].ask(f"/v1/captures/{sent.id(number)}", "PATCH", '{"note": "seen"}')
            event = after.next()
            self.assertEqual((event[1], event[2]["change"], event[2]["capture"]["note"]), ("capture", "changed", "seen"))
        for wrong in ("1", "x" * 5000, f"{uuid.uuid4()}.1:1:", first.split(".")[0] + ".9:1:", first.split(".")[0] + ".5:99999999999:6,7,"):
            with Events(HUBS[0], wrong) as client:
                self.assertEqual(client.next()[1], "reset", wrong)

    def session(self):
        self.assertEqual(self.ask("/v1/session")["kind"], "open")

    def no_access(self):
        """Without access control there are neither sessions nor tokens."""
        self.ask("/v1/session", "POST", status=409, body='{"token": "x"}')
        self.ask("/v1/session", "DELETE", status=409)
        self.ask("/v1/tokens", status=409)
        self.ask("/v1/tokens", "POST", status=409, body='{"name": "x", "scopes": {}}')
        self.ask("/v1/tokens/0123456789abcdef", "DELETE", route="/v1/tokens/{id}", status=409)

    def service(self):
        self.assertIn(b"x-served-by", self.ask("/v1/openapi.yaml"))
        self.ask("/healthz")
        self.ask("/readyz")
        self.assertIn(b"mprofd_hub_copies_made_total", self.ask("/metrics"))

    def page(self):
        self.assertIn(b"<html", HUBS[0].ask("/", headers={"Accept": "text/html"})[2])
        self.assertEqual(HUBS[0].ask("/viewer/main.js")[0], 200)
        self.assertEqual(HUBS[0].ask("/viewer/none/none.js")[0], 404)


def plain(value):
    """Return a time as the hub's text and the database's have it in common."""
    if isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\dT", value):
        at = datetime.datetime.fromisoformat(re.sub(r"(\.\d{6})\d*Z$", r"\1+00:00", value))
        return at.timestamp()
    return value


CHECKS = {
    ("GET", "/v1/hosts"): "hosts",
    ("GET", "/v1/hosts/{host}"): "host",
    ("GET", "/v1/domains"): "domains",
    ("GET", "/v1/domains/{domain}"): "domain",
    ("GET", "/v1/domains/{domain}/captures"): "domain_captures",
    ("GET", "/v1/domains/{domain}/memtraces"): "domain_memtraces",
    ("GET", "/v1/captures"): "captures",
    ("GET", "/v1/captures/{id}"): "capture",
    ("PATCH", "/v1/captures/{id}"): "patch",
    ("GET", "/v1/captures/{id}/context"): "context",
    ("GET", "/v1/captures/{id}/trace"): "trace",
    ("GET", "/v1/captures/{id}/packets"): "packets",
    ("GET", "/v1/captures/{id}/ctf.tar"): "ctf",
    ("GET", "/v1/memtraces"): "memtraces",
    ("GET", "/v1/memtraces/{id}"): "memtrace",
    ("GET", "/v1/memtraces/{id}/data"): "memtrace_data",
    ("GET", "/v1/fleet/crashes-by-image"): "crashes_by_image",
    ("GET", "/v1/fleet/crashes-by-cause"): "crashes_by_cause",
    ("GET", "/v1/fleet/crashes-by-host-week"): "crashes_by_host_week",
    ("GET", "/v1/fleet/causes-returned"): "causes_returned",
    ("GET", "/v1/fleet/loss-by-host"): "loss_by_host",
    ("GET", "/v1/fleet/newest"): "newest",
    ("GET", "/v1/events"): "events",
    ("GET", "/v1/session"): "session",
    ("POST", "/v1/session"): "no_access",
    ("DELETE", "/v1/session"): "no_access",
    ("GET", "/v1/tokens"): "no_access",
    ("POST", "/v1/tokens"): "no_access",
    ("DELETE", "/v1/tokens/{id}"): "no_access",
    ("GET", "/v1/openapi.yaml"): "service",
    ("GET", "/metrics"): "service",
    ("GET", "/healthz"): "service",
    ("GET", "/readyz"): "service",
    ("GET", "/"): "page",
    ("GET", "/viewer/{file}"): "page",
    ("GET", "/viewer/{folder}/{file}"): "page",
}


class Requests(Case):
    def test_hostile(self):
        """Values that are no value of a hub get one clear answer, and no statement is made of them."""
        for path, status in (
            ("/v1/captures/1", 404),
            ("/v1/captures/%27%20OR%201=1--.aaaaaaaa.1", 404),
            ("/v1/captures/dom0-x.aaaaaaaa.0", 404),
            ("/v1/captures/dom0-x.aaaaaaaa.01", 404),
            ("/v1/captures/dom0-x.aaaaaaaa.9223372036854775808", 404),
            ("/v1/captures/dom0-x.AAAAAAAA.1", 404),
            ("/v1/captures/dom0-x.aaaaaaa.1", 404),
            ("/v1/captures/dom0-x.aaaaaaaa.1.1", 404),
            (f"/v1/captures/{'a' * 300}.aaaaaaaa.1", 404),
            ("/v1/captures/..aaaaaaaa.1", 404),
            ("/v1/captures/dom0-x.aaaaaaaa.1/trace?from=-1", 404),
            ("/v1/captures?limit=0", 400),
            ("/v1/captures?limit=1001", 400),
            ("/v1/captures?cursor=1", 400),
            ("/v1/captures?cursor=1.dom0-x.aaaaaaaa.1", 400),
            ("/v1/captures?cursor=9223372036854775807.dom0-x.aaaaaaaa-0a3e-4b6e-9b3c-5f1d9fbb0c01.1", 400),
            (f"/v1/captures?cursor={'1' * 400}", 400),
            ("/v1/captures?host=%27", 400),
            ("/v1/captures?kind=%27;DROP%20TABLE%20x", 200),
            ("/v1/captures?image=%25", 200),
            ("/v1/domains?cursor=x", 400),
            ("/v1/domains?cursor=a%2F" + "b" * 300, 400),
            ("/v1/domains/dom0-x%2F" + "b" * 300, 404),
            ("/v1/domains/%27%2Fweb", 404),
            ("/v1/hosts?cursor=%27", 400),
            ("/v1/hosts/%27", 404),
            ("/v1/fleet/newest?cursor=-1", 400),
            ("/v1/fleet/newest?cursor=2147483648", 400),
            ("/v1/memtraces?cursor=x", 400),
            ("/v1/memtraces/dom0-x.aaaaaaaa.3.2147483648", 404),
        ):
            found = HUBS[0].ask(path)
            self.assertEqual(found[0], status, (path, found[2]))
        # Bytes that are no UTF-8, which PostgreSQL refuses, end no worker.
        for path in ("/v1/captures?kind=%ff", "/v1/domains/dom0-x%2F%ff%fe"):
            self.assertIn(HUBS[0].ask(path)[0], (200, 400, 404), path)
        self.ask("/readyz")

    def test_one_copy(self):
        """Many requests for one capture make one copy, and each gets the same bytes."""
        sent = list(HOSTS.values())[-1]
        number = sent.capture("web")
        made = HUBS[0].metric("mprofd_hub_copies_made_total")
        found = [None] * 12

        def ask(n):
            found[n] = HUBS[0].ask(f"/v1/captures/{sent.id(number)}/trace", timeout=daemons.HANGS)[::2]

        threads = [threading.Thread(target=ask, args=(n,)) for n in range(len(found))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(set(found), {(200, sent.host.get(f"/v1/captures/{number}/trace"))})
        self.assertEqual(HUBS[0].metric("mprofd_hub_copies_made_total"), made + 1)

    @turns.long
    def test_verdict(self):
        """A capture that is refused is copied and logged once, with its name, however often it is asked for."""
        FLEET.host_add("dom0-bad")
        host = sender.Host(FLEET.connection("dom0-bad"), uuid.UUID("bbbbbbbb-0a3e-4b6e-9b3c-5f1d9fbb0c01"))
        self.addCleanup(host.close)
        host.hello()
        hub = HUBS[0]
        failed = hub.metric("mprofd_hub_copies_failed_total")
        for number in (1, 2):
            host.send(number, time.time_ns(), [sender.piece(b"abc")], guest="bad")
        said = len(hub.said())
        for number in (1, 2) * 50:
            status, _, body = hub.ask(f"/v1/captures/dom0-bad.bbbbbbbb.{number}/trace")
            self.assertEqual((status, b"cannot be served" in body), (500, True))
        lines = hub.said()[said:].splitlines()
        self.assertEqual(
            [line.partition(" cannot be copied")[0].rpartition(" ")[2] for line in lines], ["dom0-bad.bbbbbbbb.1", "dom0-bad.bbbbbbbb.2"]
        )
        self.assertEqual(hub.metric("mprofd_hub_copies_failed_total"), failed + 2)
        # A good capture is served beside them.
        sent = next(iter(HOSTS.values()))
        hub.get(f"/v1/captures/{sent.id(sent.captures[0])}/trace")

    def test_lost_stream(self):
        """A stream whose range was damaged on the host is named as lost, as there: the others can be read without it."""
        FLEET.host_add("dom0-lost")
        host = sender.Host(FLEET.connection("dom0-lost"), uuid.UUID("dddddddd-0a3e-4b6e-9b3c-5f1d9fbb0c01"))
        self.addCleanup(host.close)
        host.hello()
        stream = {"ring_bytes": 65536, "ring_packets": 4, "flags": 0, "tail_bytes": 0}
        kept = stream | {"id": 1, "number": 0, "first_sequence": "7", "last_sequence": "8", "last_offset": 40}
        lost = stream | {"id": 2, "number": 1, "first_sequence": "0", "last_sequence": "0", "last_offset": 0, "tail_marked": 1, "complete": False}
        host.send(1, time.time_ns(), [sender.piece(b"abc")], guest="part", streams=[kept, lost])
        found = self.ask("/v1/captures/dom0-lost.dddddddd.1", route="/v1/captures/{id}")
        self.assertEqual([(one["stream"], one.get("lost")) for one in found["streams"]], [(0, None), (1, True)])
        self.assertFalse(found["complete"])

    @turns.long
    def test_room(self):
        """Copies stay within their limit: the oldest are removed, and come again when they are asked for."""
        hub = self.enterContext(Hub("hub-small", "[http]\ncopies = 64M\n"))
        hub.start()
        paths = [f"/v1/captures/{sent.id(n)}/trace" for sent in HOSTS.values() for n in sent.captures]
        bodies = {path: hub.get(path) for path in paths}
        for path in reversed(paths):
            self.assertEqual(hub.get(path), bodies[path])
        self.assertLessEqual(hub.metric("mprofd_hub_copies_bytes"), 64 << 20)
        directories = os.listdir(hub.state)
        self.assertEqual([name[:7] for name in directories if name != "archive"], ["copies-"])
        self.assertEqual(os.stat(os.path.join(hub.state, directories[0])).st_mode & 0o77, 0)
        hub.stop_server()
        self.assertEqual(os.listdir(hub.state), [])

    def test_left_copies(self):
        """A server removes the files that a killed server left, and not those of a running one."""
        hub = self.enterContext(Hub("hub-killed"))
        hub.start()
        sent = next(iter(HOSTS.values()))
        hub.get(f"/v1/captures/{sent.id(sent.captures[0])}/trace")
        left = set(os.listdir(hub.state))
        hub.kill_server()
        self.assertEqual(set(os.listdir(hub.state)), left)
        hub.start()
        self.assertEqual(len(set(os.listdir(hub.state)) - left), 1)
        self.assertEqual(set(os.listdir(hub.state)) & left, set())

    def test_ambiguous(self):
        """A host with two archives whose UUIDs begin alike: the short id is refused, and the whole ones work."""
        FLEET.host_add("dom0-two")
        first, second = (uuid.UUID(f"bbbbbbbb-0000-4000-8000-00000000000{n}") for n in (1, 2))
        for archive in (first, second):
            FLEET.hub.sql(f"SELECT fleet.accept_archive('dom0-two', '{archive}')")
            host = sender.Host(FLEET.connection("dom0-two"), archive)
            host.hello()
            host.send(1, time.time_ns(), [sender.piece(b"x", part="context", stream=0, offset=0)])
            host.close()
        answer = self.ask("/v1/captures/dom0-two.bbbbbbbb.1", route="/v1/captures/{id}", status=409)
        self.assertIn(str(first), answer["detail"])
        for archive in (first, second):
            found = self.ask(f"/v1/captures/dom0-two.{archive}.1", route="/v1/captures/{id}")
            self.assertEqual(found["archive"], str(archive))


class Scopes(Case):
    """Rights are globs of HOST/GUEST: what one may not read is not there."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.hub = Hub("hub-scopes", "[access]\n")
        cls.enterClassContext(cls.hub)
        cls.hub.start()
        cls.one, cls.two = HOSTS.values()

    def test_lists(self):
        token = self.hub.token("lists", f"read={self.one.name}/w*")
        found = self.pages("/v1/captures", "captures", hub=self.hub, **token)
        self.assertGreater(len(found), 0)
        self.assertEqual({(c["host"], c["domain"]) for c in found}, {(self.one.name, "web")})
        self.assertEqual({(d["host"], d["name"]) for d in self.pages("/v1/domains", "domains", hub=self.hub, **token)}, {(self.one.name, "web")})
        self.assertEqual([h["host"] for h in self.pages("/v1/hosts", "hosts", hub=self.hub, **token)], [self.one.name])
        self.assertEqual(self.ask("/v1/memtraces", hub=self.hub, **token), {"memtraces": [], "next": None})
        for host, name, status in ((self.one.name, "web", 200), (self.one.name, "db", 404), (self.two.name, "web", 404)):
            for more in ("", "/captures", "/memtraces"):
                self.ask(f"/v1/domains/{guest(host, name)}{more}", route="/v1/domains/{domain}" + more, status=status, hub=self.hub, **token)
        self.ask(f"/v1/hosts/{self.two.name}", route="/v1/hosts/{host}", status=404, hub=self.hub, **token)

    def test_globs(self):
        """A glob means the same to the database as to the server."""
        globs = (
            ("*/w?b", {"web"}),
            ("*/[!w]*", {"db", "mail", "part"}),
            ("*/web*", {"web", "web1", "web2", "web3"}),
            ("*/we\\b", {"web"}),
            ("*/web", {"web"}),
            ("*/web[1-2]", {"web1", "web2"}),
            ("*/web.", set()),
            ("web", set()),
        )
        for n, (glob, wanted) in enumerate(globs[: 4 if turns.BRIEF else None]):
            token = self.hub.token(f"glob{n}", f"read={glob}")
            found = {c["domain"] for c in self.pages("/v1/captures", "captures", hub=self.hub, **token) if c["host"] != "dom0-bad"} - {"?"}
            self.assertEqual(found, wanted, glob)

    def test_bodies(self):
        read = self.hub.token("bodies", f"read={self.one.name}/web")
        for sent in HOSTS.values():
            for capture in self.ask(f"/v1/captures?host={sent.name}", route="/v1/captures")["captures"]:
                allowed = capture["host"] == self.one.name and capture["domain"] == "web"
                for more in ("", "/trace", "/packets", "/ctf.tar"):
                    path = f"/v1/captures/{capture['id']}{more}"
                    self.ask(path, route="/v1/captures/{id}" + more, status=200 if allowed else 404, hub=self.hub, **read)
                path = f"/v1/captures/{capture['id']}"
                self.ask(path + "/context", route="/v1/captures/{id}/context", status=403 if allowed else 404, hub=self.hub, **read)
                self.ask(path, "PATCH", "/v1/captures/{id}", 403 if allowed else 404, self.hub, '{"note": "x"}', **read)
        self.ask("/v1/memtraces/dom0-x.aaaaaaaa.3.4", route="/v1/memtraces/{id}", status=404, hub=self.hub, **read)
        self.ask("/v1/memtraces/dom0-x.aaaaaaaa.3.4/data", route="/v1/memtraces/{id}/data", status=404, hub=self.hub, **read)
        every = self.hub.token("every", "read=*", "context=*", f"write={self.one.name}/*")
        context = self.ask("/v1/captures/dom0-x.aaaaaaaa.1/context", route="/v1/captures/{id}/context", hub=self.hub, **every)
        self.assertEqual(context["console"], CONTEXT["console"])
        self.ask("/v1/captures/dom0-x.aaaaaaaa.1", "PATCH", "/v1/captures/{id}", 403, self.hub, '{"note": "x"}', **every)
        path = f"/v1/captures/{self.one.id(self.one.captures[0])}"
        self.assertEqual(self.ask(path, "PATCH", "/v1/captures/{id}", 200, self.hub, '{"note": "mine"}', **every)["note"], "mine")

    def test_questions(self):
        """Questions that count all guests need the right to read all."""
        token, every = self.hub.token("some", f"read={self.one.name}/*"), self.hub.token("all", "read=*")
        for (method, path), operation in OPERATIONS.items():
            if operation["x-scope"] == "all":
                self.ask(path, method, path, 403, self.hub, **token)
                self.ask(path, method, path, 200, self.hub, **every)

    def test_events(self):
        token = self.hub.token("events", f"read={self.one.name}/web")
        with Events(self.hub, headers=token) as client:
            first = client.next()
            self.assertEqual(first[1], "hello")
            self.two.capture("web")
            number = self.one.capture("web")
            self.only_web(client, number)
        with Events(self.hub, first[0], headers=token) as client:
            self.only_web(client, number)

    def only_web(self, client, number):
        """Read events until that of capture NUMBER: all are about the guest that may be read."""
        while True:
            _, name, data = client.next()
            self.assertEqual(name, "capture")
            self.assertEqual((data["capture"]["host"], data["capture"]["domain"]), (self.one.name, "web"))
            if data["capture"]["id"] == self.one.id(number):
                return

    def test_every_operation(self):
        """No operation but those without a scope answers without credentials."""
        hub = self.enterContext(Hub("hub-wrong", f"[access]\ntokens = {ROOT}/tokens\n"))  # it refuses this address from some time on
        hub.start()
        wrong = {"Authorization": "Bearer mprof_0123456789abcdef_" + "0" * 64}
        for (method, path), operation in OPERATIONS.items():
            real = path.replace("{domain}", "a%2Fb").replace("{id}", "dom0-x.aaaaaaaa.1").replace("{host}", "a")
            real = real.replace("{folder}", "trace").replace("{file}", "main.js")
            status = hub.ask(real, method, headers=wrong)[0]
            if operation["x-scope"] != "none":
                self.assertIn(status, (401, 429), (method, path))


class Outage(Case):
    def test_database(self):
        """Without its database a hub says so, and works again by itself when it is back."""
        sent = next(iter(HOSTS.values()))
        with Events(HUBS[0]) as client:
            first = client.next()
            FLEET.hub.stop()
            try:
                HUBS[0].wait(lambda: HUBS[0].ask("/readyz")[0] == 503)
                for path in ("/v1/hosts", "/v1/captures", f"/v1/captures/{sent.id(1)}/trace", "/v1/fleet/newest", "/readyz"):
                    status, headers, body = HUBS[0].ask(path, timeout=daemons.HANGS)
                    self.assertEqual(status, 503, path)
                    self.assertTrue(headers["Retry-After"])
                    self.assertIn("does not answer", json.loads(body)["detail"])
                HUBS[0].wait(lambda: HUBS[0].ask("/v1/events", timeout=daemons.HANGS)[0] == 503)
                for path in ("/healthz", "/metrics", "/v1/openapi.yaml", "/"):
                    self.assertEqual(HUBS[0].ask(path)[0], 200)
            finally:
                FLEET.hub.start()
            for hub in HUBS:
                hub.wait(lambda hub=hub: hub.ask("/readyz", timeout=daemons.HANGS)[0] == 200)
                hub.wait(lambda hub=hub: hub.metric("mprofd_hub_connected") == 1)
            number = sent.capture("web")
            client.capture(sent.id(number))
        with Events(HUBS[1], first[0]) as client:
            client.capture(sent.id(number))
        self.assertEqual(HUBS[0].get(f"/v1/captures/{sent.id(number)}/trace"), sent.host.get(f"/v1/captures/{number}/trace"))

    @turns.long
    def test_start(self):
        """A hub starts without its database, and serves when it comes. Another connection string gets a sentence."""
        FLEET.hub.stop()
        try:
            hub = self.enterContext(Hub("hub-early"))
            hub.server = hub.launch("mprofd-http", "--fleet", FLEET.connection("people"), "--listen", f"unix:{hub.socket}")
            self.assertEqual(hub.ask("/v1/hosts", timeout=daemons.HANGS)[0], 503)
            self.assertEqual(hub.ask("/healthz")[0], 200)
        finally:
            FLEET.hub.start()
        hub.wait(lambda: hub.ask("/readyz", timeout=daemons.HANGS)[0] == 200)
        done = subprocess.run(
            [daemons.program("mprofd-http"), "--fleet", "hst=x", "--state", hub.state], capture_output=True, text=True, timeout=daemons.HANGS
        )
        self.assertEqual(done.returncode, 2)
        self.assertIn('invalid connection option "hst"', done.stderr)

    def test_restored(self):
        """After a restore of the database, ids of events from before it get reset."""
        with Events(HUBS[0]) as client:
            first = client.next()
        FLEET.hub.sql("SELECT fleet.new_epoch()")
        with Events(HUBS[1], first[0]) as client:
            self.assertEqual(client.next()[1], "reset")

    def test_dropped(self):
        """When retention drops months, clients read everything again; bodies of what is dropped are gone."""
        FLEET.host_add("dom0-old")
        host = sender.Host(FLEET.connection("dom0-old"), uuid.UUID("cccccccc-0a3e-4b6e-9b3c-5f1d9fbb0c01"))
        host.hello()
        host.send(1, 1_600_000_000 * 10**9, [sender.piece(json.dumps(CONTEXT).encode(), part="context", stream=0, offset=0)])
        host.close()
        path = "/v1/captures/dom0-old.cccccccc.1/context"
        self.ask(path, route="/v1/captures/{id}/context")
        with Events(HUBS[0]) as client:
            self.assertEqual(client.next()[1], "hello")
            FLEET.hub.sql("SELECT fleet.set_keeps_since('2020-10-01')")
            bucket = FLEET.hub.sql("SELECT bucket FROM fleet_store.host WHERE host = 'dom0-old'")
            FLEET.hub.sql(f"SELECT fleet.drop_months({bucket})")
            while (kind := client.next()[1]) != "reset":
                self.assertEqual(kind, "capture")  # the server may learn of the capture after the client came
        self.ask(path, route="/v1/captures/{id}/context", status=404)


class Scarce(Case):
    def test_answers(self):
        """An answer of a hub is right, or a problem that says that there is no memory, whatever allocation fails; and the hub goes on."""
        memory = Memory(os.path.join(ROOT, "memory"))
        hub = self.enterContext(Hub("scarce"))
        hub.start(["env", *memory.words()])
        sent = next(iter(HOSTS.values()))
        recording = self.ask("/v1/memtraces")["memtraces"][0]["id"]
        paths = ["/v1/hosts", f"/v1/hosts/{sent.name}", "/v1/hosts?limit=1", "/v1/domains", "/v1/domains?limit=1", f"/v1/domains/{sent.name}%2Fweb"]
        paths += ["/v1/captures", "/v1/captures?limit=1", f"/v1/captures/{sent.id(max(sent.captures))}", f"/v1/domains/{sent.name}%2Fweb/captures"]
        paths += ["/v1/memtraces", f"/v1/memtraces/{recording}", f"/v1/domains/{sent.name}%2Fweb/memtraces"]
        paths += [f"/v1/fleet/{view}" for view in ("crashes-by-image", "crashes-by-cause", "loss-by-host?limit=1", "newest")]

        def ask(path):
            status, headers, body = hub.ask(path)
            return status, {name: value for name, value in headers.items() if name != "Date"}, body

        failed, most = 0, 3 if turns.BRIEF else 6
        for path in paths:
            before = memory.count()
            right = ask(path)
            self.assertEqual(right[0], 200, path)
            for n in chosen(memory.count() - before, most):
                memory.fail(n)
                answer = ask(path)
                memory.fail(-1)
                if answer != right:
                    failed += 1
                    self.assertEqual((answer[0], answer[1]["Content-Type"]), (503, "application/problem+json"), (path, n, answer))
                    self.assertIn("memory", json.loads(answer[2])["detail"])
        self.assertGreater(failed, most // 3 * len(paths))


class Ctl(Case):
    """mprofctl on a hub."""

    def ctl(self, *words, code=0):
        done = subprocess.run(
            [daemons.program("mprofctl"), "--host", f"unix:{HUBS[0].socket}", *words],
            capture_output=True,
            timeout=daemons.HANGS,
            cwd=self.work,
            check=False,
        )
        self.assertEqual(done.returncode, code, (words, done.stdout[-500:], done.stderr))
        return done.stdout

    def setUp(self):
        super().setUp()
        self.work = self.enterContext(tempfile.TemporaryDirectory())
        self.one, self.two = HOSTS.values()

    def test_lists(self):
        """Hosts, guests, captures and questions, as tables and as JSON."""
        names = [line.split()[0] for line in self.ctl("hosts").decode().splitlines()[1:]]
        self.assertLessEqual({self.one.name, self.two.name}, set(names))
        guests = [line.split()[0] for line in self.ctl("domains").decode().splitlines()[1:]]
        self.assertLessEqual({f"{self.one.name}/web", f"{self.one.name}/db", f"{self.two.name}/mail"}, set(guests))
        listed = self.ctl("captures", f"{self.one.name}/web").decode()
        self.assertIn("CAUSE", listed.splitlines()[0])
        for capture in json.loads(self.ctl("--json", "captures", f"{self.one.name}/web"))["captures"]:
            self.assertIn(capture["id"], listed)
        for question in ("crashes-by-image", "crashes-by-cause", "crashes-by-host-week", "causes-returned", "loss-by-host", "newest"):
            rows = json.loads(self.ctl("--json", "fleet", question))["rows"]
            self.assertEqual(len(self.ctl("fleet", question).splitlines()), 1 + len(rows), question)
        self.assertIn("It ends so", self.ctl("fleet", "crashes-by-cause").decode())
        self.ctl("fleet", "crashes", code=2)
        self.ctl("hosts", "more", code=2)

    def test_traces(self):
        """A capture by its id, and a guest by its newest one, give what the host gives."""
        number = max(n for n in self.one.captures if self.one.host.json(f"/v1/captures/{n}")["domain"] == "web")
        own = subprocess.run(
            [daemons.program("mprofctl"), "--host", f"unix:{self.one.host.socket}", "dump", f"capture:{number}"], capture_output=True, check=True
        ).stdout
        self.assertGreater(len(own), 0)
        self.assertEqual(self.ctl("dump", self.one.id(number)), own)
        self.assertEqual(self.ctl("dump", f"{self.one.name}/web"), own)
        shown = self.ctl("show", self.one.id(number)).decode()
        self.assertIn(self.one.name, shown)
        self.assertIn(self.one.id(number), shown)
        self.ctl("why", f"{self.one.name}/web")
        self.ctl("stats", self.one.id(number))
        self.ctl("fetch", self.one.id(number), "-o", "web.ctf")
        with open(os.path.join(self.work, "web.ctf"), "rb") as f:
            self.assertEqual(f.read(), self.one.host.get(f"/v1/captures/{number}/trace"))
        self.ctl("dump", f"{self.one.name}/absent", code=4)
        self.ctl("dump", f"capture:{self.one.name}.00000000.1", code=4)

    def test_two_hosts(self):
        """Two hosts are compared, and put on one time line of real time."""
        self.ctl("diff", f"{self.one.name}/web", f"{self.two.name}/web")
        told = json.loads(self.ctl("--json", "bundle", "-o", "both.tar", f"{self.one.name}/web", f"{self.two.name}/web"))
        self.assertEqual(told["clock"], "REALTIME")
        self.assertEqual([t["name"] for t in told["traces"]], [f"{self.one.name}/web", f"{self.two.name}/web"])
        self.assertTrue(all(t["uncertainty_ns"] is None for t in told["traces"]), "no host has told its clock")
        for sent, offset in ((self.one, 3_000_000_000), (self.two, -1_000_000_000)):
            clock = json.dumps({"offset_ns": offset, "uncertainty_ns": 1000, "source": "test"})
            FLEET.hub.sql(f"UPDATE fleet_store.host SET clock = '{clock}' WHERE host = '{sent.name}'")
        known = json.loads(self.ctl("--json", "bundle", "-o", "again.tar", f"{self.one.name}/web", f"{self.two.name}/web"))
        moved = [after["offset_ns"] - before["offset_ns"] for before, after in zip(told["traces"], known["traces"])]
        self.assertEqual(moved, [3_000_001_000, -999_999_000])


def load_tests(loader, tests, pattern):
    """Run Routes first: others register hosts, which its questions would count."""
    del tests, pattern
    return unittest.TestSuite(loader.loadTestsFromTestCase(case) for case in (Routes, Ctl, Scarce, Outage, Requests, Scopes))


if __name__ == "__main__":
    daemons.main()
