"""A sending host as the tests play it: the calls of schema/fleet/README.md over a TLS connection with its certificate."""

import datetime
import hashlib
import json
import random
import uuid

import psycopg2

ARCHIVE = uuid.UUID("3a2dd9a8-0a3e-4b6e-9b3c-5f1d9fbb0c01")


def month_of(real_ns):
    """Return the first day of the month of a time, in UTC."""
    at = datetime.datetime.fromtimestamp(real_ns // 10**9, datetime.timezone.utc)
    return datetime.date(at.year, at.month, 1)


def piece(data, part="trace", stream=1, number=0, sequence=7, offset=30, ends=b""):
    """Return the arguments of a piece."""
    return {"part": part, "stream": stream, "number": number, "sequence": sequence, "offset": offset, "length": len(data), "flags": 1} | {
        "first_timestamp": 1000,
        "packet_bytes": 65536,
        "codec": 0,
        "ends": ends,
        "data": data,
        "sum": hashlib.sha256(data).digest(),
    }


class Host:
    """A connection of a sending host. Each call is a transaction of its own unless autocommit is off."""

    def __init__(self, connection, archive=ARCHIVE):
        self.db = psycopg2.connect(connection)
        self.db.autocommit = True
        self.archive = archive

    def close(self):
        self.db.close()

    def call(self, function, **arguments):
        """Call fleet.FUNCTION and return its rows as dictionaries."""
        names = ", ".join(f'"{name}" => %({name})s{cast(value)}' for name, value in arguments.items())
        with self.db.cursor() as c:
            c.execute(f"SELECT * FROM fleet.{function}({names})", {k: plain(v) for k, v in arguments.items()})
            return [dict(zip((d.name for d in c.description), map(back, row))) for row in c.fetchall()]

    def one(self, function, **arguments):
        return self.call(function, **arguments)[0][function]

    def hello(self, version=1, clock=None):
        return self.call("hello", schema_version=version, archive=self.archive, clock=clock)[0]

    def begin(self, number, at, pieces, **head):
        head = {"kind": "crash", "real": str(at), "mono": "1", "guest": "web", "run": 1} | head
        size = sum(len(p["data"]) + len(p["ends"]) for p in pieces)
        return self.one("begin_capture", archive=self.archive, month=month_of(at), capture=number, pieces=len(pieces), bytes=size, head=head)

    def put(self, number, real, p):
        return self.one("put_capture_piece", archive=self.archive, month=month_of(real), capture=number, **p)

    def finish(self, number, real):
        return self.one("finish_capture", archive=self.archive, month=month_of(real), capture=number)

    def send(self, number, real, pieces, **head):
        """Send a whole capture and return the answer to finish_capture."""
        self.begin(number, real, pieces, **head)
        for p in pieces:
            self.put(number, real, p)
        return self.finish(number, real)

    def packet(self, real, p, sequence, pieces=1, run=1, **other):
        arguments = {k: v for k, v in p.items() if k != "part"} | {"sequence": sequence, "run": run, "pieces": pieces} | other
        return self.one("put_packet_piece", archive=self.archive, month=month_of(real), **arguments)


def cast(value):
    """Return the cast of a parameter whose type PostgreSQL cannot guess."""
    if isinstance(value, (dict, list)):
        return "::jsonb"
    return {uuid.UUID: "::uuid", int: "", datetime.date: "::date", bytes: "::bytea"}.get(type(value), "")


def plain(value):
    if isinstance(value, (dict, list)):
        return json.dumps(value)
    return str(value) if isinstance(value, uuid.UUID) else value


def back(value):
    return bytes(value) if isinstance(value, memoryview) else value


def noise(size, seed=1):
    return random.Random(seed).randbytes(size)
