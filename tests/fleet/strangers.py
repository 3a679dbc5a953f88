"""Whom the hub refuses, and what the log says then: strangers.py BUILD-DIRECTORY [TEST…]"""

import contextlib
import os
import re
import selectors
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "integration")]

import daemons
import fleethost
import turns

setUpModule = fleethost.setUpModule


class Strangers(fleethost.Case):
    def refused(self, host, sentence):
        host.start_forwarder()
        host.wait(lambda: re.search(sentence, host.said()))
        host.kill_forwarder()

    def test_no_host(self):
        host = self.host(forwarder=False, register=False)
        fleethost.FLEET.certificate_make(host.name)
        self.refused(host, f'The hub cannot be used: .*role "{host.name}" does not exist')

    def test_other_name(self):
        host = self.host(forwarder=False)
        fleethost.FLEET.certificate_make("another")
        host.fleet(fleethost.FLEET.connection(host.name, certificate="another"))
        self.refused(host, f'The hub cannot be used: .*certificate authentication failed for user "{host.name}"')

    def test_no_certificate(self):
        host = self.host(forwarder=False)
        host.fleet(re.sub(r"sslcert=\S+ sslkey=\S+", "sslcert=/nonexistent/a sslkey=/nonexistent/b", host.connection))
        self.refused(host, "The hub cannot be used: .*certificate")

    def test_other_authority(self):
        host = self.host(forwarder=False)
        command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout other.key -out other.crt -days 9 -subj"
        subprocess.run([*command.split(), f"/CN={host.name}"], check=True, capture_output=True)
        host.fleet(re.sub(r"sslcert=\S+ sslkey=\S+", f"sslcert={host.root}/other.crt sslkey={host.root}/other.key", host.connection))
        self.refused(host, "The hub cannot be used: .*unknown ca")
        # A hub whose certificate is of another authority is no hub.
        host.fleet(re.sub(r"sslrootcert=\S+", f"sslrootcert={host.root}/other.crt", host.connection))
        self.refused(host, "The hub cannot be used: .*certificate verify failed")

    def test_revoked(self):
        host = self.host(forwarder=False)
        host.hub("UPDATE fleet_store.host SET revoked = true WHERE host = $HOST")
        self.refused(host, r"The hub takes nothing of this host: .*\(MP002\)")

    def test_two_of_one_name(self):
        host = self.host(forwarder=False)
        host.hub("UPDATE fleet_store.host SET archive = gen_random_uuid() WHERE host = $HOST")
        self.refused(host, r"The hub takes nothing of this host: .*\(MP003\)")

    def test_other_schema(self):
        """A hub that is newer or older than this program says which of both to upgrade; one without the schema is told apart."""
        host = self.host(forwarder=False)
        hello = fleethost.FLEET.hub.sql("SELECT pg_get_functiondef('fleet.hello(integer, uuid, jsonb)'::regprocedure)")
        self.assertIn("version := 1;", hello)
        try:
            for version, older in ((2, "host"), (0, "hub")):
                fleethost.FLEET.hub.sql(hello.replace("version := 1;", f"version := {version};"))
                self.refused(host, rf"The hub takes nothing of this host: the hub speaks version {version} .*: upgrade the {older} \(MP001\)")
            fleethost.FLEET.hub.sql("ALTER FUNCTION fleet.hello RENAME TO hello_away")
            self.refused(host, r"The hub cannot be used: function fleet\.hello\(.*\) does not exist")
        finally:
            if fleethost.FLEET.hub.sql("SELECT to_regproc('fleet.hello_away')"):
                fleethost.FLEET.hub.sql("ALTER FUNCTION fleet.hello_away RENAME TO hello")
            fleethost.FLEET.hub.sql(hello)

    @turns.long
    def test_newer_archive(self):
        """An archive that is newer than the forwarder is told once, however often it is looked at."""
        host = self.host(forwarder=False)
        host.stop_collector()
        version = host.query("PRAGMA user_version")[0][0]
        host.change("PRAGMA user_version = 1000")
        reports = 0
        with contextlib.ExitStack() as stack, selectors.DefaultSelector() as ready:
            listener = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            listener.bind(os.path.join(host.runs, "collect.sock"))
            listener.listen()
            ready.register(listener, selectors.EVENT_READ)
            host.start_forwarder()
            until = time.monotonic() + daemons.HANGS
            while reports < 2:  # ten seconds lie between them
                events = ready.select(until - time.monotonic())
                self.assertTrue(events, "the forwarder does not report")
                for key, _ in events:
                    if key.fileobj is listener:  # mprofd-http connects, too
                        ready.register(stack.enter_context(listener.accept()[0]), selectors.EVENT_READ)
                        continue
                    words = key.fileobj.recv(4096).decode().split()[:2]
                    if words:
                        key.fileobj.send(f"ok {words[1]}".encode())
                        reports += words[0] == "forwarding"
                    else:
                        ready.unregister(key.fileobj)
        os.unlink(os.path.join(host.runs, "collect.sock"))
        self.assertEqual(host.said().count("it was written by a newer version of mprofd"), 1)
        host.change(f"PRAGMA user_version = {version}")
        host.wait(lambda: "Connected to the hub" in host.said())

    def test_configuration(self):
        """A configuration without a hub, or with a connection that is none, is refused with a sentence."""
        for text, sentence in (
            ("", "names no hub: write connection in the section [fleet]"),
            ("[fleet]\nconnection = hst=hub\n", "is no connection string of libpq: invalid connection option"),
        ):
            with open("bad.conf", "w", encoding="utf-8") as f:
                f.write(text)
            done = subprocess.run(
                [daemons.program("mprofd-forward"), "--config", "bad.conf", "--own", "own"], capture_output=True, text=True, timeout=daemons.HANGS
            )
            self.assertEqual(done.returncode, 2)  # the unit does not start it again
            self.assertIn(sentence, done.stderr)


if __name__ == "__main__":
    daemons.main()
