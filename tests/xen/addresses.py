"""Who has an address, by what the toolstack wrote: addresses.py BUILD-DIRECTORY [TEST…]"""

import contextlib
import os
import socket
import struct
import subprocess
import threading

import sim
import daemons


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

    def test_profiles(self):
        """The sink asks: a guest that connects is known by its address, and one that offers is found by its domid."""
        guest = self.guest(5, "web")
        self.ip(guest, "127.0.0.1")
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        d = self.daemons(daemons.QUIET + f"[sink]\nlisten = 127.0.0.1:{port}\n")
        self.publish(guest)
        run = self.attached(d, "web")["run"]
        command = [os.path.join(daemons.BUILD, "daemon/sink/mprofd-sink"), "--state", d.state, "--run", d.runs]
        with open(d.log, "a", encoding="utf-8") as log:
            sink = subprocess.Popen([*command, "--config", os.path.join(d.root, "mprofd.conf")], stderr=log)
        self.addCleanup(sink.wait)
        self.addCleanup(sink.terminate)
        body = struct.pack("<IdB", 0, 1e-4, 64) + b"mirage\0host\0\0" + b"\xff" * 8 + b"\0"
        info = (b"\xc1\x1f\xfc\xc1" + struct.pack("<I20xH", (66 + len(body)) * 8, 2)).ljust(66, b"\0") + body
        d.wait(lambda: d.ask("/readyz")[0] == 200)
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(info)  # and is gone before anybody could be asked
        listed = lambda: d.json("/v1/memtraces")["memtraces"]
        got = d.wait(lambda: [t for t in listed() if t["state"] == "ended"])[0]
        self.assertEqual((got["domain"], got["uuid"], got["domid"], got["run"]), ("web", guest.uuid, 5, run))
        with socket.create_server(("127.0.0.1", 0)) as offer:
            guest.write("data/mprof/memtrace-port", str(offer.getsockname()[1]))
            offer.settimeout(10)
            with contextlib.ExitStack() as stack:
                serve = threading.Thread(target=lambda: stack.enter_context(offer.accept()[0]).sendall(info))
                serve.start()
                status, _, answer = d.ask("/v1/domains/web/memtraces", "POST", "", {})
                serve.join()
                self.assertEqual(status, 201, answer)
                self.assertEqual(listed()[0]["origin"], "asked")


if __name__ == "__main__":
    sim.main()
