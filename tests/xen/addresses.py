"""Who has an address, by what the toolstack wrote: addresses.py BUILD-DIRECTORY [TEST…]"""

import os
import socket

import sim


class Addresses(sim.Case):
    def say(self, d, line, *pairs):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.settimeout(10)
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
        """Several addresses, several vifs, both families; a guest without a ring is known too, by no run."""
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
        self.assertEqual((verb, answer["name"], "run" in answer), ("ok", "db", False))
        for address in ("10.0.0.7", "10.0.0.55", "0.0.0.5", "nonsense", "::ffff", ""):
            self.assertEqual(self.who(d, address)[1].get("status"), "404", address)

    def test_not_the_guests_word(self):
        """What a guest writes of itself is not believed; nor is an old life's address once it is gone."""
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
        """The first address, and where it offers profiles; a port that is none is not handed on."""
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


if __name__ == "__main__":
    sim.main()
