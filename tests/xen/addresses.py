"""Test the mapping of addresses to guests, from the toolstack's nodes: addresses.py BUILD-DIRECTORY
[TEST…]"""

import contextlib
import os
import socket
import struct
import threading

import sim
import daemons
import sink


class Addresses(sim.Case):
    def say(self, d, line, *pairs):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.settimeout(daemons.HANGS)
            s.connect(os.path.join(d.runs, "collect.sock"))
            s.send("\n".join([f"{line} 1", *pairs]).encode())
            head, *rest = s.recv(65536).decode().split("\n")
        return head.split(" ")[0], dict(part.split("=", 1) for part in rest if part)

    def who(self, d, address):
        return self.say(d, "who", f"address={address}")

    def ip(self, guest, value, vif=0):
        self.store.toolstack.write(f"/local/domain/0/backend/vif/{guest.domid}/{vif}/ip", value)

    def known(self, d, guest):
        d.wait(lambda: self.say(d, "where", f"domid={guest.domid}")[0] == "ok")

    def test_who(self):
        """Guests have several addresses, several vifs, both families. A guest without a ring is
        known too, and has a run from then on."""
        web, db = self.guest(5, "web"), self.guest(6, "db")
        self.ip(web, "10.0.0.5 fe80::5")
        self.ip(web, "192.168.7.5/24", 1)
        self.ip(db, "10.0.0.6,2001:db8::6")
        d = self.daemons()
        self.publish(web)
        self.attached(d, "web")
        self.known(d, db)
        run = str(d.domain("web")["run"])
        for address in ("10.0.0.5", "fe80:0::5", "192.168.7.5"):
            verb, answer = self.who(d, address)
            self.assertEqual((verb, answer), ("ok", {"run": run, "name": "web", "uuid": web.uuid, "domid": "5"}))
        verb, answer = self.who(d, "2001:db8:0::6")
        self.assertEqual((verb, answer["name"]), ("ok", "db"))
        d.wait(lambda: d.domain("db") and d.domain("db")["run"] == int(answer["run"]))
        for address in ("10.0.0.7", "10.0.0.55", "0.0.0.5", "nonsense", "::ffff", ""):
            self.assertEqual(self.who(d, address)[1].get("status"), "404", address)

    def test_not_the_guests_word(self):
        """The collector ignores addresses that a guest writes itself, and the address of a guest
        that is gone."""
        honest, liar = self.guest(5, "honest"), self.guest(6, "liar")
        self.ip(honest, "10.0.0.5")
        liar.write("data/ip", "10.0.0.5")
        liar.write("data/mprof/ip", "10.0.0.6")
        d = self.daemons()
        self.known(d, liar)
        self.assertEqual(self.who(d, "10.0.0.5")[1]["name"], "honest")
        self.assertEqual(self.who(d, "10.0.0.6")[0], "error")
        honest.destroy()
        d.wait(lambda: self.who(d, "10.0.0.5")[0] == "error")
        again = self.guest(7, "again")
        self.ip(again, "10.0.0.5")
        d.wait(lambda: self.who(d, "10.0.0.5")[1].get("name") == "again")

    def test_where(self):
        """The answer has the guest's first address and the port of its profiles. It leaves out an
        invalid port."""
        guest = self.guest(5, "web")
        d = self.daemons()
        self.known(d, guest)
        where = lambda: self.say(d, "where", "domid=5")[1]
        self.assertEqual((where().get("address"), where().get("memtrace-port")), (None, None))
        self.ip(guest, " 10.0.0.5  10.0.0.6")
        guest.write("data/mprof/memtrace-port", "1234")
        self.assertEqual((where()["address"], where()["memtrace-port"]), ("10.0.0.5", "1234"))
        for value in ("0", "65536", "12 ", "-1", "x", ""):
            guest.write("data/mprof/memtrace-port", value)
            self.assertNotIn("memtrace-port", where(), value)
        self.assertEqual(self.say(d, "where", "domid=6")[1]["status"], "404")
        self.assertEqual(self.say(d, "where")[1]["status"], "400")
        self.assertEqual(self.say(d, "who")[1]["status"], "400")

    def offers(self, d):
        return [part for part in self.say(d, "offers")[1]["offers"].split(",") if part]

    def test_without_a_ring(self):
        """A guest that offers its profile has a run without a ring. It publishes a ring, withdraws
        it, is suspended, and goes."""
        guest = self.guest(5, "web")
        d = self.daemons()
        self.known(d, guest)
        self.assertEqual((self.offers(d), d.domain("web")), ([], None))
        guest.write("data/mprof/memtrace-port", "1234")
        web = d.wait(lambda: d.domain("web"))
        self.assertEqual((web["state"], web["streams"], web["domid"], web["uuid"]), ("running", [], 5, guest.uuid))
        self.assertEqual(self.offers(d), [f"{web['run']}:5:1234"])
        guest.write("data/mprof/memtrace-port", "1235")
        d.wait(lambda: self.offers(d) == [f"{web['run']}:5:1235"])
        self.publish(guest)
        self.assertEqual(self.attached(d, "web")["run"], web["run"])
        guest.withdraw()
        d.wait(lambda: len(d.run_list("web")) == 2)
        d.wait(lambda: [(r["state"], r["reason"]) for r in d.run_list("web")] == [("ended", "ended"), ("running", None)])
        run = d.run_list("web")[1]["run"]
        d.kill_collector()
        d.start_collector()
        d.wait(lambda: self.offers(d) == [f"{run}:5:1235"])
        self.assertEqual(len(d.run_list("web")), 2)
        guest.withdraw(key="memtrace-port")
        d.wait(lambda: d.run_list("web")[1]["state"] == "ended")
        self.assertEqual((self.offers(d), d.run_list("web")[1]["reason"]), ([], "ended"))
        guest.write("data/mprof/memtrace-port", "1235")
        d.wait(lambda: len(d.run_list("web")) == 3)
        guest.destroy()
        d.wait(lambda: d.run_list("web")[2]["state"] == "ended")
        self.assertEqual((self.offers(d), d.run_list("web")[2]["reason"]), ([], "destroyed"))

    def sink(self, d):
        d.start_sink()
        d.wait(lambda: d.ask("/readyz")[0] == 200)

    def offering(self, domid, name, **options):
        """Make a guest that offers its profile, and the server behind the offer."""
        guest = self.guest(domid, name)
        self.ip(guest, "127.0.0.1")
        offer = sink.Offer(**options)
        self.addCleanup(offer.close)
        guest.write("data/mprof/memtrace-port", str(offer.port))
        return guest, offer

    def test_automatic(self):
        """The sink connects to a guest that offers, and again after a lost connection until the
        guest is gone. After a stop it connects again only on request."""
        web, offer = self.offering(5, "web", tail=sink.packet(b"the tail"))
        db, other = self.offering(6, "db", first=sink.info("db"))
        d = self.daemons(daemons.QUIET + "[policy d*]\nmemtrace = asked\n")
        self.sink(d)
        listed = lambda name, state: [t for t in d.json(f"/v1/domains/{name}/memtraces")["memtraces"] if t["state"] == state]
        first = d.wait(lambda: listed("web", "recording"))[0]
        self.assertEqual((first["domain"], first["uuid"], first["origin"]), ("web", web.uuid, "asked"))
        self.assertEqual((d.domain("web")["memtrace"], d.domain("web")["run"]), (first["id"], first["run"]))
        self.assertEqual((d.domain("web")["streams"], d.domain("db")["memtrace"]), ([], None))
        offer.client.shutdown(socket.SHUT_RDWR)
        second = d.wait(lambda: [t for t in listed("web", "recording") if t["id"] != first["id"]])[0]
        self.assertEqual(d.ask(f"/v1/memtraces/{second['id']}/recording", "DELETE")[0], 200)
        d.advance(5, path="sink/sink.sock")
        self.assertEqual((listed("web", "recording"), len(listed("web", "ended")), other.connections), ([], 2, 0))
        for name in ("web", "db"):
            status, _, answer = d.ask(f"/v1/domains/{name}/memtraces", "POST", "", {})
            self.assertEqual(status, 201, answer)
        self.assertEqual(d.ask("/v1/domains/web/memtraces", "POST", "", {})[0], 409)
        db.withdraw(key="memtrace-port")
        web.destroy()
        ended = d.wait(
            lambda: [t for t in d.json("/v1/memtraces")["memtraces"] if t["reason"] == "closed" and t["domain"] == "web" and t["id"] > second["id"]]
        )
        self.assertEqual(ended[0]["packets"], 7)  # with its tail
        d.wait(lambda: d.domain("web")["state"] == "ended")
        self.assertEqual(offer.got, [b"", b"", b""])

    def test_profiles(self):
        """The sink asks the collector: a connecting guest is known by its address, an offering
        guest is found by its domid."""
        guest = self.guest(5, "web")
        self.ip(guest, "127.0.0.1")
        d = self.daemons(daemons.QUIET + "[sink]\nlisten = 127.0.0.1:0\n")
        self.publish(guest)
        run = self.attached(d, "web")["run"]
        self.sink(d)
        body = struct.pack("<IdB", 0, 1e-4, 64) + b"mirage\0host\0\0" + b"\xff" * 8 + b"\0"
        info = (b"\xc1\x1f\xfc\xc1" + struct.pack("<I20xH", (66 + len(body)) * 8, 2)).ljust(66, b"\0") + body
        with socket.create_connection(("127.0.0.1", d.sink.port())) as client:
            client.sendall(info)  # the guest is gone before the sink can ask
        listed = lambda: d.json("/v1/memtraces")["memtraces"]
        got = d.wait(lambda: [t for t in listed() if t["state"] == "ended"])[0]
        self.assertEqual((got["domain"], got["uuid"], got["domid"], got["run"]), ("web", guest.uuid, 5, run))
        with socket.create_server(("127.0.0.1", 0)) as offer:
            guest.write("data/mprof/memtrace-port", str(offer.getsockname()[1]))
            offer.settimeout(daemons.HANGS)
            with contextlib.ExitStack() as stack:
                serve = threading.Thread(target=lambda: stack.enter_context(offer.accept()[0]).sendall(info))
                serve.start()
                status, _, answer = d.ask("/v1/domains/web/memtraces", "POST", "", {})
                serve.join()
                self.assertEqual(status, 201, answer)
                self.assertEqual(listed()[0]["origin"], "asked")


if __name__ == "__main__":
    sim.main()
