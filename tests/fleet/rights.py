"""A captured host has the certificate and the key of a sending host, and tries everything."""

import json
import os
import select
import time
import unittest

import psycopg2
from cluster import PATIENCE, cluster, command
from sender import ARCHIVE, Host, month_of, piece

NOW = time.time_ns()
DENIED = "42501"
# The functions that README.md gives to a sending host.
ALLOWED = {"hello", "begin_capture", "put_capture_piece", "finish_capture", "capture_pieces", "put_run", "put_packet_piece", "inventory"}
ALLOWED |= {"inventory_packets", "inventory_months", "inventory_sums", "declare_lost", "put_clock"}
RELATIONS = """SELECT format('%I.%I', relnamespace::regnamespace, relname) FROM pg_class WHERE relkind IN ('r', 'p', 'v', 'm', 'f', 'S', 't')
    AND relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace) ORDER BY 1"""
FUNCTIONS = """SELECT p.proname, format('%s.%I(%s)', p.pronamespace::regnamespace, p.proname,
    (SELECT coalesce(string_agg('NULL::' || format_type(t, NULL), ', '), '') FROM unnest(p.proargtypes::oid[]) t)) FROM pg_proc p
    WHERE p.prorettype <> 'trigger'::regtype AND p.pronamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace) ORDER BY 1"""
# Each is refused for lack of a right. The last words are of the sentence.
STATEMENTS = {
    "CREATE TEMPORARY TABLE t (n integer)": "temporary tables",
    "CREATE TABLE public.t (n integer)": "schema public",
    "CREATE TABLE fleet.t (n integer)": "schema fleet",
    "CREATE FUNCTION fleet.f() RETURNS integer LANGUAGE sql AS 'SELECT 1'": "schema fleet",
    "CREATE SCHEMA s": "database",
    "CREATE EXTENSION dblink SCHEMA fleet": "extension",
    "CREATE SERVER s FOREIGN DATA WRAPPER postgres_fdw": "foreign-data wrapper",
    "CREATE USER MAPPING FOR CURRENT_USER SERVER shard1 OPTIONS (user 'fleet_router')": "foreign server",
    "ALTER USER MAPPING FOR fleet_owner SERVER shard1 OPTIONS (SET user 'postgres')": "foreign server",
    "CREATE ROLE r": "create role",
    "ALTER ROLE fleet_owner LOGIN": "permission denied",
    "SET ROLE fleet_owner": "role",
    "SET SESSION AUTHORIZATION postgres": "session authorization",
    "ALTER SYSTEM SET fsync = off": "parameter",
    "SET session_replication_role = replica": "parameter",
    "COPY (SELECT 1) TO PROGRAM 'true'": "external program",
    "COPY (SELECT 1) TO '/tmp/f'": "file",
    "SELECT pg_read_file('pg_hba.conf')": "pg_read_file",
    "SELECT pg_ls_dir('.')": "pg_ls_dir",
    "SELECT * FROM pg_authid": "pg_authid",
    "SELECT * FROM pg_hba_file_rules": "pg_hba_file_rules",
    "SELECT pg_reload_conf()": "pg_reload_conf",
    "SELECT lo_create(0)": "lo_create",
    "SELECT lo_creat(-1)": "lo_creat",
    "SELECT lo_from_bytea(0, 'x')": "lo_from_bytea",
    "SELECT lo_get(1)": "lo_get",
    "SELECT lo_import('/etc/passwd')": "lo_import",
    "SELECT pg_advisory_lock(1836085861, 1)": "pg_advisory_lock",
    "SELECT pg_notify('fleet', 'capture')": "pg_notify",
    "SELECT pg_create_physical_replication_slot('s')": "replication slots",
    "SELECT fleet_store.epoch_now()": "schema fleet_store",
    "DO $$BEGIN PERFORM * FROM fleet_store.host; END$$": "schema fleet_store",
}


class Captured(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.c = cls.enterClassContext(cluster(shards=2, hosts=("captured", "honest")))
        cls.honest = Host(cls.c.connection("honest"))
        cls.addClassCleanup(cls.honest.close)
        cls.honest.hello()
        cls.honest.send(1, NOW, [piece(b"secret")])
        cls.captured = Host(cls.c.connection("captured"))
        cls.addClassCleanup(cls.captured.close)
        cls.captured.hello()

    def denied(self, sql, words=""):
        """Expect that the captured host lacks the right to do SQL."""
        with self.captured.db.cursor() as c:
            with self.assertRaises(psycopg2.Error, msg=sql) as caught:
                c.execute(sql)
        self.assertIn(caught.exception.pgcode, (DENIED, "42704") if sql.startswith("ALTER SYSTEM") else (DENIED,), f"{sql}: {caught.exception}")
        self.assertIn(words, caught.exception.diag.message_primary, sql)

    def rows(self, server, sql):
        return [line.split("|", 1) for line in server.sql(sql).splitlines()]

    def test_relations(self):
        """Each table, partition, foreign table, view and sequence, by each statement."""
        relations = [name for (name,) in self.rows(self.c.hub, RELATIONS)]
        self.assertGreater(len(relations), 64 * 8)
        for name in relations:
            for sql in (
                "SELECT * FROM {}",
                "INSERT INTO {} DEFAULT VALUES",
                "DELETE FROM {}",
                "TRUNCATE {}",
                "COPY {} TO STDOUT",
                "DO $$BEGIN LOCK {}; END$$",
            ):
                if name.startswith("fleet.") and sql.startswith(("INSERT", "DELETE", "TRUNCATE", "COPY", "DO")):
                    continue  # views; has_table_privilege() speaks for them
                self.denied(sql.format(name))
        rights = self.c.hub.sql(
            """SELECT count(*) FROM pg_class c, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) r
            WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
                AND c.relnamespace IN ('fleet'::regnamespace, 'fleet_store'::regnamespace, 'public'::regnamespace)
                AND (has_table_privilege('captured', c.oid, r) OR r <> 'DELETE' AND r <> 'TRUNCATE' AND r <> 'TRIGGER'
                    AND has_any_column_privilege('captured', c.oid, r))"""
        )
        self.assertEqual(rights, "0")

    def test_functions(self):
        """Each function: a host may execute those of the contract, and no other."""
        allowed = set()
        for name, call in self.rows(self.c.hub, FUNCTIONS):
            try:
                with self.captured.db.cursor() as c:
                    c.execute(f"SELECT {call}")
                allowed.add(name)
            except psycopg2.Error as e:
                if e.pgcode != DENIED:
                    allowed.add(name)
        self.assertEqual(allowed, ALLOWED)
        definers = self.c.hub.sql(
            """SELECT string_agg(proname, ' ') FROM pg_proc WHERE prosecdef AND pronamespace IN ('fleet'::regnamespace,
            'fleet_store'::regnamespace) AND NOT coalesce(proconfig @> ARRAY['search_path=pg_catalog, pg_temp', 'DateStyle=ISO, YMD'], false)"""
        )
        self.assertEqual(definers, "", "a SECURITY DEFINER function has no fixed search_path, or no fixed format of dates")

    def test_statements(self):
        for sql, words in STATEMENTS.items():
            self.denied(sql, words)

    def test_secrets(self):
        """Nothing in the catalogs that it reads has a key of the router or a row of another host."""
        with self.captured.db.cursor() as c:
            c.execute("SELECT * FROM pg_user_mappings")
            self.assertNotIn("sslkey", str(c.fetchall()))
            c.execute("SELECT usename, query FROM pg_stat_activity WHERE usename <> session_user")
            self.assertTrue(all(query == "<insufficient privilege>" for _, query in c.fetchall()))
            c.execute("SELECT count(*) FROM pg_stats WHERE schemaname LIKE 'fleet%'")
            self.assertEqual(c.fetchone(), (0,))

    def test_other_hosts(self):
        """It sees and changes its own captures alone."""
        first = {"month": month_of(NOW), "after_archive": None, "after_capture": None, "max_rows": 100}
        self.assertEqual(self.captured.call("inventory", **first), [])
        self.assertEqual(self.captured.call("inventory_sums", archive=ARCHIVE, since=month_of(NOW)), [])
        self.assertEqual(self.captured.call("capture_pieces", archive=ARCHIVE, month=month_of(NOW), capture=1), [])
        self.assertEqual(self.captured.send(1, NOW, [piece(b"mine")]), "new")
        self.assertEqual(self.honest.put(1, NOW, piece(b"secret")), "done")
        with self.captured.db.cursor() as c:
            c.execute("SELECT pg_backend_pid()")
            mine = c.fetchone()[0]
        other = self.c.hub.sql("SELECT pid FROM pg_stat_activity WHERE usename = 'honest'")
        self.assertNotEqual(str(mine), other)
        self.denied(f"SELECT pg_terminate_backend({other})")
        self.denied(f"SELECT pg_cancel_backend({other})")

    def test_channels(self):
        """A notice is a hint: it names nothing, and a full queue stops nobody."""
        with self.captured.db.cursor() as c:
            c.execute("LISTEN fleet")
            self.honest.send(2, NOW, [piece(b"second")])
            select.select([self.captured.db], [], [], PATIENCE)
            self.captured.db.poll()
            self.assertEqual([(n.channel, n.payload) for n in self.captured.db.notifies], [("fleet", "capture")])
            c.execute("NOTIFY fleet, 'capture'")  # cannot be forbidden
            c.execute("UNLISTEN *")

    def refused(self, connection, words):
        with self.assertRaises(psycopg2.OperationalError) as caught:
            psycopg2.connect(connection).close()
        self.assertIn(words, str(caught.exception))

    def test_connections(self):
        c = self.c
        # Its certificate is good for its own role, on the hub's database of the fleet.
        for user in ("honest", "fleet_owner", "fleet_router", "postgres"):
            self.refused(c.connection(user, certificate="captured"), "rejects" if user in ("postgres", "fleet_router") else "authentication failed")
        self.refused(c.connection("captured").replace("dbname=fleet", "dbname=postgres"), "no pg_hba.conf entry")
        self.refused(c.connection("captured") + " replication=true", "no pg_hba.conf entry")
        self.refused(c.connection("captured").replace("verify-full", "disable").split(" sslroot")[0], "no pg_hba.conf entry")
        # A certificate of another authority, and none.
        pki = os.path.join(c.pki, "other")
        command("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=captured", "-keyout", pki + ".key", "-out", pki + ".crt")
        self.refused(c.connection("captured", certificate="other"), "alert unknown ca")
        self.refused(c.connection("captured").split(" sslcert")[0] + " sslcert=/nonexistent", "requires a valid client certificate")
        # A shard knows the hub alone.
        for shard in c.shards:
            for user in ("captured", "honest", "fleet_owner", "postgres"):
                self.refused(c.connection(user, server=shard, certificate="captured"), "no pg_hba.conf entry")
            self.refused(c.connection("fleet_router", server=shard, certificate="captured"), "certificate authentication failed")
            roles = shard.sql("SELECT count(*) FROM pg_roles WHERE rolname IN ('captured', 'honest')")
            self.assertEqual(roles, "0")

    def test_connection_limit(self):
        held = [psycopg2.connect(self.c.connection("captured")) for _ in range(7)]
        self.refused(self.c.connection("captured"), "too many connections")
        for db in held:
            db.close()

    def test_router(self):
        """The hub's role on a shard reads and writes rows, and nothing else. It reaches no bucket of another shard."""
        for shard in self.c.shards:
            db = psycopg2.connect(self.c.connection("fleet_router", server=shard))
            db.autocommit = True
            with db.cursor() as c:
                for sql in (
                    "CREATE TEMPORARY TABLE t (n integer)",
                    "SELECT pg_read_file('pg_hba.conf')",
                    "SET ROLE fleet_owner",
                    "DROP TABLE fleet_store.capture",
                ):
                    with self.assertRaises(psycopg2.Error) as caught:
                        c.execute(sql)
                    self.assertEqual(caught.exception.pgcode, DENIED, sql)
                with self.assertRaises(psycopg2.Error):
                    for n in range(64):
                        c.execute("INSERT INTO fleet_store.usage VALUES (%s, '2026-11-01')", (f"stray-{n}",))
            db.close()
            shard.sql("DELETE FROM fleet_store.usage WHERE host LIKE 'stray-%'")


class CapturedHub(unittest.TestCase):
    """A captured mprofd-http has the role of a hub, and tries what it can do with the tokens of others."""

    ALLOWED = {"access_check", "begin_session", "end_session"}

    @classmethod
    def setUpClass(cls):
        cls.c = cls.enterClassContext(cluster(shards=1))
        cls.c.person_add("hub", "fleet_http")
        cls.c.person_add("issuer", "fleet_access")
        cls.db = {name: psycopg2.connect(cls.c.connection(name)) for name in ("hub", "issuer")}
        for db in cls.db.values():
            db.autocommit = True
            cls.addClassCleanup(db.close)
        cls.id, cls.hash = "0123456789abcdef", "ab" * 32
        cls.call("issuer", "SELECT fleet.new_token(%s, %s, 'alice', 'read=*', 3600)", cls.id, bytes.fromhex(cls.hash))

    @classmethod
    def call(cls, name, sql, *values):
        with cls.db[name].cursor() as c:
            c.execute(sql, values)
            return c.fetchall()

    def denied(self, name, sql, *values):
        with self.assertRaises(psycopg2.Error, msg=sql) as caught:
            self.call(name, sql, *values)
        self.assertEqual(caught.exception.pgcode, DENIED, sql)

    def test_relations(self):
        for name in ("hub", "issuer"):
            for server in [self.c.hub]:
                for line in server.sql(RELATIONS).splitlines():
                    self.denied(name, f"SELECT * FROM {line}")
        for table in ("token", "session", "revocation"):
            for sql in ("INSERT INTO {} DEFAULT VALUES", "DELETE FROM {}", "TRUNCATE {}", "COPY {} TO STDOUT"):
                self.denied("hub", sql.format("fleet_store." + table))
        for server in (self.c.hub, *self.c.shards):
            rights = server.sql(
                """SELECT count(*) FROM unnest(ARRAY['token', 'session', 'revocation']) t, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) r
                WHERE has_table_privilege('fleet_router', 'fleet_store.' || t, r)"""
            )
            self.assertEqual(rights, "0")

    def test_functions(self):
        people = {"new_token", "revoke_token", "revoke_identity", "admit_identity", "list_tokens", "list_revocations"}
        for name, allowed in (("hub", self.ALLOWED), ("issuer", people)):
            found = set()
            for line in self.c.hub.sql(FUNCTIONS).splitlines():
                function, call = line.split("|", 1)
                try:
                    self.call(name, f"SELECT {call}")
                    found.add(function)
                except psycopg2.Error as e:
                    if e.pgcode != DENIED:
                        found.add(function)
            self.assertEqual(found, allowed)

    def test_statements(self):
        for name in ("hub", "issuer"):
            for sql in STATEMENTS:
                if not sql.startswith(("ALTER SYSTEM", "SELECT * FROM pg_authid")):
                    self.denied(name, sql)

    def check(self, *questions):
        return self.call("hub", "SELECT number, token, name, scopes FROM fleet.access_check(%s::jsonb)", json.dumps(questions))

    def test_guesses(self):
        """It learns about credentials that it has seen, and about no others."""
        cookie = "cd" * 32
        self.assertEqual(self.check(["token", self.id, self.hash], ["user", "x", ""]), [(1, self.id, "alice", "read=*"), (2, "", "x", "")])
        self.assertEqual(self.check(["token", self.id, "00" * 32], ["token", "", self.hash], ["session", "", self.hash]), [])
        begin = "SELECT fleet.begin_session(%s, %s, %s, 60)"
        self.assertEqual(self.call("hub", begin, bytes.fromhex(cookie), self.id, bytes(32)), [(None,)])
        self.assertEqual(self.check(["session", "", cookie]), [])
        ends = self.call("hub", begin, bytes.fromhex(cookie), self.id, bytes.fromhex(self.hash))
        self.assertGreater(ends[0][0], time.time())
        self.assertEqual(self.call("hub", begin, bytes.fromhex(cookie), self.id, bytes.fromhex(self.hash)), ends)
        self.assertEqual(self.check(["session", "", cookie]), [(1, self.id, "alice", "read=*")])
        self.assertEqual(self.call("hub", "SELECT fleet.end_session(%s)", bytes(32)), [(False,)])

    def test_hostile_questions(self):
        for text in ("null", "{}", "[1]", "[[]]", '[["token"]]', '[["x", "", ""]]', '[["token", null, ""]]', '[["token", "", "zz"]]', "[[1, 2, 3]]"):
            with self.assertRaises(psycopg2.Error, msg=text) as caught:
                self.call("hub", "SELECT fleet.access_check(%s::jsonb)", text)
            self.assertEqual(caught.exception.pgcode, "MP008", text)
        with self.assertRaises(psycopg2.Error):
            self.check(*[["user", "x", ""]] * 257)
        for values in ((None, self.id, bytes(32), 60), (bytes(31), self.id, bytes(32), 60), (bytes(32), self.id, bytes(32), 0)):
            with self.assertRaises(psycopg2.Error):
                self.call("hub", "SELECT fleet.begin_session(%s, %s, %s, %s)", *values)

    def test_issuer(self):
        new = "SELECT fleet.new_token(%s, %s, %s, %s, %s)"
        for values in (
            ("x", bytes(32), "a", "", 60),
            ("f" * 16, bytes(31), "a", "", 60),
            ("f" * 16, bytes(32), "a b", "", 60),
            ("f" * 16, bytes(32), "a", "read=\n", 60),
            ("f" * 16, bytes(32), "a", "x" * 1024, 60),
            ("f" * 16, bytes(32), "a", "", 0),
            ("f" * 16, bytes(32), "a", "", None),
            (self.id, bytes(32), "a", "", 60),
        ):
            with self.assertRaises(psycopg2.Error, msg=values):
                self.call("issuer", new, *values)
        row = self.call("issuer", "SELECT id, name, made_by FROM fleet.list_tokens()")
        self.assertEqual(row, [(self.id, "alice", "issuer")])


if __name__ == "__main__":
    unittest.main()
