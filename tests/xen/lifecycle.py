"""Test how guests of Xen come and go, and the runs and captures that result: lifecycle.py
BUILD-DIRECTORY [TEST…]"""

import contextlib
import json
import os
import signal
import sqlite3
import struct
import subprocess
import threading
import time

import sim
from daemons import event, events_of, header, image, judge, rooms
from sim import PAGE, SECOND
from turns import forms

# States in which Xen reports a stopped domain, and the resulting capture.
STOPS = {"crashed": "crash", "watchdog": "watchdog", "poweroff": "poweroff", "reboot": "reboot", "suspend": "suspend"}


class Lifecycle(sim.Case):
    def ended(self, d, guest, ring, kind, runs=1, captures=1):
        """Check that the latest run ended for this reason, with all its events and a capture."""
        listed = d.wait_ended(guest.name, runs)
        self.assertEqual(len(listed), runs)
        self.assertEqual(listed[-1]["reason"], kind)
        found = d.wait(lambda: len(found := d.captures(guest.name)) >= captures and found)
        self.assertEqual(len(found), captures, found)
        last = max(found, key=lambda capture: capture["id"])
        self.assertEqual(last["kind"], kind)
        self.assertEqual(last["run"], listed[-1]["run"])
        self.assertEqual(last["uuid"], guest.uuid)
        held = events_of(d.get(f"/v1/captures/{last['id']}/trace"))
        self.assertEqual(held, ring.written[-len(held) :])
        self.assertEqual(events_of(d.trace(guest.name, f"?run={listed[-1]['run']}")), ring.written)
        return last

    def reason(self, d, capture):
        """Return the reason in the context of a capture, which is committed after the run's end."""
        return d.wait(lambda: d.json(f"/v1/captures/{capture['id']}/context")["reason"])


class Found(Lifecycle):
    """The ways in which a guest can publish."""

    def test_before_and_after_the_start(self):
        early = self.guest(5, "early")
        ring = self.publish(early)
        d = self.daemons()
        self.assertEqual(self.attached(d, "early")["domid"], 5)
        self.assertEqual(early.mapped(*ring.refs), [1, 1, 1, 1])
        self.assertEqual(early.mapped(), 4)
        late = self.guest(6, "late")
        d.advance(2)
        self.assertIsNone(d.domain("late"))
        second = self.publish(late)
        said = self.attached(d, "late")
        self.assertEqual((said["uuid"], said["source"], said["runs"]), (late.uuid, "xen", 1))
        for guest, written in ((early, ring), (late, second)):
            guest.die("crashed")
            self.unmapped(d, guest)
            self.ended(d, guest, written, "crash")

    def test_written_while_polled(self):
        """A real writer at full speed, judged by truth.py."""
        d = self.daemons()
        guest = self.guest(5, "busy")
        options = f"--ring {guest.ring_path(1)} --truth truth.ctf --rate 200000 --size 524288"
        delay = sim.launcher.Delay(d.collector.pid)
        writer = self.writer("writer-legacy", *options.split())
        d.wait(lambda: os.path.exists(guest.ring_path(1)) and os.path.getsize(guest.ring_path(1)) == 524288)
        guest.publish(guest.refs(1, 524288))
        self.attached(d, "busy")
        d.wait_begun(guest.ring_path(1), 8)
        writer.terminate()
        writer.wait(sim.daemons.HANGS)
        guest.die("poweroff")
        self.unmapped(d, guest)
        d.wait_ended("busy")
        judge("busy", "truth.ctf", d.trace("busy"), d.packets("busy"), "--ended", "--begin", "0")
        self.nothing_lost(d, "busy", delay)

    def test_scattered_pages(self):
        """Pages in any order are one ring in that order."""
        d = self.daemons()
        guest = self.guest(5, "scattered")
        refs = [20, 8, 63, 9, 31, 30, 29, 50]
        ring = image([b"".join(struct.pack("<QBQ", 1000 + i, 7, i) for i in range(200))], rooms(8 * PAGE, 2))
        for i, ref in enumerate(refs):
            guest.page(ref, ring[i * PAGE : (i + 1) * PAGE])
        guest.publish(refs)
        self.attached(d, "scattered")
        self.assertEqual(guest.mapped(*refs), [1] * 8)
        self.assertEqual(guest.map_counts()[0], 1, "one mapping, whatever the pages")
        guest.die("crashed")
        d.wait_ended("scattered")
        self.assertEqual(events_of(d.trace("scattered")), [(1000 + i, i) for i in range(200)])

    def test_directory(self):
        """A ring of more pages than a value can name."""
        d = self.daemons()
        guest = self.guest(5, "large")
        ring = guest.ring(size=2000 * PAGE, packets=8)
        self.addCleanup(ring.close)
        ring.add(500)
        guest.publish_directory(ring)
        said = self.attached(d, "large")
        self.assertEqual(said["streams"][0]["ring_bytes"], 2000 * PAGE)
        self.assertEqual(guest.mapped(), 2000, "and no directory page any more")
        guest.die("crashed")
        self.unmapped(d, guest)
        self.ended(d, guest, ring, "crash")

    def test_streams(self):
        """Several rings of one guest, one of them later: each is a stream of its own."""
        d = self.daemons()
        guest = self.guest(5, "several")
        written = []
        for k in range(3):
            ring = guest.ring(base=1_000_000 * (k + 1))
            self.addCleanup(ring.close)
            ring.add(20 + k)
            written.append(ring)
        guest.publish(written[0])
        guest.publish(written[1], stream=1, name="vCPU 1")
        self.attached(d, "several", 2)
        run = d.domain("several")["run"]
        guest.publish(written[2], stream=1023)
        said = self.attached(d, "several", 3)
        self.assertEqual(said["run"], run, "a stream that is added joins the run")
        self.assertEqual([s["stream"] for s in said["streams"]], [0, 1, 1023])
        self.assertEqual([s["name"] for s in said["streams"]], [None, "vCPU 1", None])
        self.assertEqual(d.ask("/v1/domains/several/trace")[0], 409)
        guest.die("crashed")
        self.unmapped(d, guest)
        d.wait_ended("several")
        for k, ring in zip((0, 1, 1023), written):
            self.assertEqual(events_of(d.trace("several", f"?stream={k}")), ring.written)
        capture = d.captures("several")
        self.assertEqual([c["kind"] for c in capture], ["crash"])
        self.assertEqual(len(capture[0]["streams"]), 3)

    def test_in_one_transaction(self):
        """In a transaction the commit key need not be last."""
        d = self.daemons()
        guest = self.guest(5, "once")
        ring = guest.ring()
        self.addCleanup(ring.close)
        ring.add(5)
        guest.offer(9)
        with guest.transaction() as tx:
            guest.write("data/mprof/ring-ref", ",".join(map(str, ring.refs)), tx)
            guest.write("data/mprof/event-channel", "9", tx)
        self.attached(d, "once")
        d.wait(lambda: guest.port(9))

    def test_introduced_late(self):
        d = self.daemons()
        guest = self.guest(5, "slow", introduce=False)
        d.advance(2)
        guest.introduce()
        self.publish(guest)
        self.attached(d, "slow")

    def test_many(self):
        """A hundred guests at once."""
        guests = [self.guest(i, f"many{i}") for i in range(1, 51)]
        for guest in guests:
            self.publish(guest, n=5)
        d = self.daemons()
        for i in range(51, 101):
            guests.append(self.guest(i, f"many{i}"))
            self.publish(guests[-1], n=5)
        d.wait(lambda: len(d.json("/v1/domains?limit=1000")["domains"]) == 100)
        for guest in guests:
            guest.stop("crashed")
        d.wait(lambda: not any(guest.mapped() for guest in guests))
        d.wait(lambda: len(d.json("/v1/captures?limit=1000")["captures"]) == 100)
        self.assertEqual({c["kind"] for c in d.json("/v1/captures?limit=1000")["captures"]}, {"crash"})


class Changes(Lifecycle):
    """Changes that a guest makes to its keys while it runs."""

    def test_republished(self):
        """Another ring, or the same keys again: each time a new run, without events of the other."""
        d = self.daemons()
        guest = self.guest(5, "again")
        first = self.publish(guest)
        self.attached(d, "again")
        second = self.publish(guest, base=5_000_000)
        d.wait(lambda: len(d.run_list("again")) == 2)
        self.attached(d, "again")
        d.wait(lambda: guest.mapped(*first.refs, *second.refs) == [0] * 4 + [1] * 4)
        guest.publish(second)  # the same value
        d.wait(lambda: len(d.run_list("again")) == 3)
        self.attached(d, "again")
        second.add(20)
        guest.die("poweroff")
        self.unmapped(d, guest)
        listed = d.wait_ended("again", 3)
        self.assertEqual([run["reason"] for run in listed], ["ended", "ended", "poweroff"])
        self.assertEqual(d.query("SELECT count(DISTINCT key) FROM runs WHERE name = 'again'"), [(3,)])
        traces = [events_of(d.trace("again", f"?run={run['run']}")) for run in listed]
        self.assertEqual(traces, [first.written, second.written[:60], second.written])

    def test_begun_anew(self):
        """A guest that starts again in the pages that it shared has written over the end of its first run."""
        d = self.daemons()
        guest = self.guest(5, "anew")
        ring = self.publish(guest)
        self.attached(d, "anew")
        d.wait_archived(ring, "anew", 51)
        os.pwrite(ring.file.fileno(), image([], rooms(4 * sim.PAGE, 4)), 0)
        d.wait(lambda: len(d.run_list("anew")) == 2)
        self.assertEqual([gap["reason"] for gap in d.gaps("anew", f"&run={d.run_list('anew')[0]['run']}")], ["lapped"])
        self.assertEqual(d.query("SELECT kind, at_least, packets FROM gaps"), [("lost", 1, 1)])

    def test_withdrawn(self):
        """The daemon unmaps within a second and captures the rest, and the guest goes on."""
        d = self.daemons()
        guest = self.guest(5, "shy")
        ring = self.publish(guest)
        self.attached(d, "shy")
        guest.withdraw()
        self.unmapped(d, guest)
        self.ended(d, guest, ring, "ended")
        guest.revoke(*ring.refs)  # which the guest may do now
        other = self.publish(guest, base=9_000_000)
        d.wait(lambda: len(d.run_list("shy")) == 2)
        self.attached(d, "shy")
        guest.die("reboot")
        self.unmapped(d, guest)
        self.ended(d, guest, other, "reboot", runs=2, captures=2)

    def test_one_stream_withdrawn(self):
        """The other stream goes on in the same run."""
        d = self.daemons()
        guest = self.guest(5, "half")
        ring = self.publish(guest)
        other = guest.ring(base=7_000_000)
        self.addCleanup(other.close)
        other.add(30)
        guest.publish(other, stream=1)
        self.attached(d, "half", 2)
        guest.withdraw(1)
        d.wait(lambda: guest.mapped() == 4)
        self.assertEqual(guest.mapped(*ring.refs), [1] * 4)
        ring.add(10)
        guest.die("crashed")
        self.unmapped(d, guest)
        d.wait_ended("half")
        self.assertEqual(len(d.run_list("half")), 1)
        self.assertEqual(events_of(d.trace("half", "?stream=0")), ring.written)
        self.assertEqual(events_of(d.trace("half", "?stream=1")), other.written)

    def test_renamed(self):
        d = self.daemons()
        guest = self.guest(5, "before")
        ring = self.publish(guest)
        run = self.attached(d, "before")["run"]
        guest.rename("after")
        self.assertEqual(self.attached(d, "after")["run"], run)
        self.assertIsNone(d.domain("before"))
        guest.die("crashed")
        self.unmapped(d, guest)
        self.ended(d, guest, ring, "crash")

    def test_other_keys_restart_nothing(self):
        d = self.daemons()
        guest = self.guest(5, "steady")
        self.publish(guest)
        run = self.attached(d, "steady")["run"]
        for key, value in {"memtrace-port": "9999", "anything": "x", "stream/3/name": "soon"}.items():
            guest.write(f"data/mprof/{key}", value)
        guest.write("data/other", "x")
        d.advance(2)
        self.assertEqual(d.domain("steady")["run"], run)
        self.assertEqual(guest.map_counts()[0], 1)


class Deaths(Lifecycle):
    """All the ways in which a guest can die."""

    def test_kinds(self):
        """With on_crash=destroy and similar settings: the last bytes, the kind, no zombie."""
        d = self.daemons()
        unknown, left = sim.Unknown(self, d), [*STOPS, "running"]
        for turn in range(10):
            left = self.die_of(d, left, turn, unknown)
            if not left:
                return
        self.skipTest("this machine is too busy for a helper that answers in half a second")

    def die_of(self, d, reasons, turn, unknown):
        """Let a guest die of each of REASONS, and check its end. Return the reasons that mprofd could not learn in time."""
        guests = {}
        for i, reason in enumerate(reasons):
            guest = self.guest(5 + 10 * turn + i, f"dies-{reason}-{turn}")
            guests[reason] = guest, self.publish(guest)
        for guest, ring in guests.values():
            self.attached(d, guest.name)
            ring.add(50)
        for reason, (guest, ring) in guests.items():
            ring.add(3)  # its very last events
            with unknown.ending(guest.name):
                if reason == "running":
                    guest.destroy()
                else:
                    guest.die(reason)
                self.unmapped(d, guest)
            guest.forget()
        left = []
        for reason, (guest, ring) in guests.items():
            d.wait_ended(guest.name)
            kind = why = STOPS.get(reason, "destroyed")
            if unknown.found(guest.name):
                kind, why = "ended", "unknown"
                left.append(reason)
            capture = self.ended(d, guest, ring, kind)
            self.assertEqual(self.reason(d, capture), why)
        return left

    def test_nodes_go_before_it_is_paused(self):
        """An answer from before the pause does not count: the guest was destroyed, and withdrew
        nothing."""
        d = self.daemons()
        judged, unknown = 0, sim.Unknown(self, d)
        for i in range(12):
            guest = self.guest(20 + i, f"hasty-{i}")
            self.publish(guest)
            self.attached(d, guest.name)
            with unknown.ending(guest.name):
                began = time.monotonic()
                self.store.toolstack.rm(guest.home)
                time.sleep(0.03)
                guest.set("running paused dying")
                late = time.monotonic() - began > 0.1  # then mprofd was right to take the guest for alive
                self.store.virq()
                d.wait_ended(guest.name)
            if not late and not unknown.found(guest.name):
                self.assertEqual(d.run_list(guest.name)[-1]["reason"], "destroyed")
                judged += 1
            if judged == 3:
                return
        if not judged:
            self.skipTest("this machine is too busy to let it happen in a tenth of a second")

    def test_preserved(self):
        """A preserved guest stays. Its pages are unmapped, and its removal later makes no second
        capture."""
        d = self.daemons()
        guest = self.guest(5, "kept")
        ring = self.publish(guest)
        self.attached(d, "kept")
        guest.stop("crashed")
        self.unmapped(d, guest)
        self.ended(d, guest, ring, "crash")
        guest.destroy()
        guest.forget()
        d.advance(2)
        self.ended(d, guest, ring, "crash")

    def test_killed_while_it_writes(self):
        """The guest stops in the middle of an event: all other events are there."""
        d = self.daemons()
        guest = self.guest(5, "torn")
        options = f"--ring {guest.ring_path(1)} --truth truth.ctf --rate 300000 --size 65536 --kill-after 1000000"
        writer = self.writer("writer-legacy", *options.split())
        d.wait(lambda: os.path.exists(guest.ring_path(1)) and os.path.getsize(guest.ring_path(1)) == 65536)
        guest.publish(guest.refs(1, 65536))
        self.attached(d, "torn")
        writer.wait(sim.daemons.HANGS)
        unfinished = json.loads(writer.stdout.read())["open"]
        guest.die("crashed")
        self.unmapped(d, guest)
        d.wait_ended("torn")
        said = judge("torn", "truth.ctf", d.trace("torn"), d.packets("torn"), "--ended", "--open", *unfinished)
        self.assertEqual(said["at_end"], 0)

    def test_soft_reset(self):
        """The same domid goes on with another run."""
        d = self.daemons()
        guest = self.guest(5, "reset")
        ring = self.publish(guest)
        self.attached(d, "reset")
        guest.stop("soft-reset")
        self.unmapped(d, guest)
        d.wait_ended("reset")
        self.assertEqual(events_of(d.trace("reset")), ring.written)
        capture = d.wait(lambda: d.captures("reset"))[0]
        self.assertEqual(self.reason(d, capture), "soft-reset")
        guest.resume()
        second = self.publish(guest, base=8_000_000)
        d.wait(lambda: len(d.run_list("reset")) == 2)
        guest.die("crashed")
        self.unmapped(d, guest)
        self.ended(d, guest, second, "crash", runs=2, captures=2)

    def crash_context(self, d, domid, seconds):
        """Crash a guest SECONDS after it has published. Return the context of the capture."""
        guest = self.guest(domid, f"told{domid}")
        self.publish(guest)
        self.attached(d, guest.name)
        guest.write("data/note", b"bad\xffbyte")
        time.sleep(seconds)
        with open(f"console/guest-{guest.name}.log", "wb") as f:
            f.write(b"Fatal error: exception Out_of_memory\nsecond line\x00\n")
        guest.die("crashed")
        d.wait_ended(guest.name)
        capture = d.wait(lambda: d.captures(guest.name))[0]
        # A row is ready in the commit of the last context, or later.
        of_ready = f"SELECT c.context, urgency FROM outbox o JOIN captures c ON c.id = o.capture WHERE ready AND c.id = {capture['id']}"
        ((stored, urgency),) = d.wait(lambda: d.query(of_ready))
        context = d.json(f"/v1/captures/{capture['id']}/context")
        self.assertEqual(("Out_of_memory" in stored, urgency), (bool(context["console"]), 0))
        return guest, context

    def test_context(self):
        """The context holds the reason and the guest's subtree. The outbox has the crash once the context is complete."""
        os.makedirs("console")
        d = self.daemons(sim.QUIET + f"[xen]\nconsole-logs = {os.getcwd()}/console\n[fleet]\nsend = captures\n")
        # The subtree is read in the background, which takes time on a busy machine, and the helper has two seconds for the console.
        for domid, seconds in ((5, 0.5), (6, 2), (7, 10), (8, 30)):
            guest, context = self.crash_context(d, domid, seconds)
            if context["xenstore_complete"] and context["console_complete"]:
                break
            if "does not answer" in d.said():  # this machine was so busy that nothing waits for the helper any more
                d.kill_collector()
                d.start_collector()
        self.assertEqual((context["uuid"], context["domid"], context["domain"]), (guest.uuid, domid, guest.name))
        self.assertEqual((context["kind"], context["reason"]), ("crash", "crash"))
        self.assertEqual(context["xenstore"]["name"], guest.name)
        self.assertEqual(context["xenstore"]["data/mprof/ring-ref"], "65536,65537,65538,65539")
        self.assertTrue(context["xenstore_complete"])
        self.assertIn("Out_of_memory\nsecond line\\x00", context["console"])
        self.assertTrue(context["console_complete"])

    def test_context_at_once(self):
        """A guest is destroyed as soon as its ring is mapped, and the store answers slowly meanwhile. Its subtree has not been read, but the
        keys of its ring have."""
        d = self.daemons()
        guest = self.guest(5, "brief")
        self.publish(guest)
        sim.launcher.wait(guest.mapped, why=lambda: "nothing is mapped", pause=0)
        self.store.process.freeze()
        answers = threading.Timer(0.5, self.store.process.send_signal, [signal.SIGCONT])
        answers.start()
        guest.set("crashed")
        guest.destroy()
        answers.join()
        d.wait_ended("brief")
        capture = d.wait(lambda: d.captures("brief"))[0]
        context = d.wait(lambda: d.json(f"/v1/captures/{capture['id']}/context"))
        self.assertEqual(context["xenstore"]["data/mprof/ring-ref"], "65536,65537,65538,65539")
        self.assertFalse(context["xenstore_complete"])

    def test_reason_unknown(self):
        """Without libxenctrl a guest that is gone has ended for an unknown reason."""
        del os.environ["LD_LIBRARY_PATH"]
        d = self.daemons()
        guest = self.guest(5, "mute")
        ring = self.publish(guest)
        self.attached(d, "mute")
        guest.stop("crashed")  # which nobody notices
        guest.destroy()
        self.unmapped(d, guest)
        capture = self.ended(d, guest, ring, "ended")
        self.assertEqual(self.reason(d, capture), "unknown")


class Reused(Lifecycle):
    """Numbers and identities that are used again."""

    def test_reboot(self):
        """The same UUID under a new number is a new run of the same guest."""
        d = self.daemons()
        guest = self.guest(5, "phoenix")
        first = self.publish(guest)
        self.attached(d, "phoenix")
        guest.die("reboot")
        self.unmapped(d, guest)
        self.ended(d, guest, first, "reboot")
        again = self.guest(6, "phoenix", handle=guest.uuid)
        second = self.publish(again, base=4_000_000)
        d.wait(lambda: len(d.run_list("phoenix")) == 2)
        self.assertEqual(self.attached(d, "phoenix")["domid"], 6)
        again.die("poweroff")
        self.unmapped(d, again)
        self.ended(d, again, second, "poweroff", runs=2, captures=2)

    def test_number_used_again(self):
        """Another guest gets the number at once."""
        d = self.daemons()
        for i in range(5):
            guest = self.guest(7, f"one{i}")
            ring = self.publish(guest, base=1_000_000 * (i + 1))
            self.attached(d, guest.name)
            guest.die("crashed")
            self.unmapped(d, guest)
            self.ended(d, guest, ring, "crash")
            guest.forget()
        self.assertEqual(len(d.json("/v1/domains")["domains"]), 5)

    def test_number_and_uuid_used_again(self):
        """A guest is created again, with the number that its configuration gives it, while the capture of its first life waits for the console."""
        d = self.daemons()
        guest = self.guest(7, "same")
        rings = [self.publish(guest)]
        self.attached(d, "same")
        guest.die("crashed")
        self.unmapped(d, guest)
        guest.forget()
        guest = self.guest(7, "same", handle=guest.uuid)
        rings.append(self.publish(guest, base=4_000_000))
        d.wait(lambda: len(d.run_list("same")) == 2)
        guest.die("poweroff")
        self.unmapped(d, guest)
        runs = d.wait_ended("same", 2)
        self.assertEqual([run["reason"] for run in runs], ["crash", "poweroff"])
        self.assertEqual([events_of(d.trace("same", f"?run={run['run']}")) for run in runs], [ring.written for ring in rings])

    def come_back(self, restarts):
        """A guest ends, its domain is forgotten, and a guest with its number and UUID is created; RESTARTS times mprofd begins anew while the
        first one runs. Each life is a run of its own, with a key of its own."""
        d = self.daemons()
        rings = []
        guest = None
        for life in range(3):
            guest = self.guest(7, "same", handle=guest.uuid if guest else None)
            rings.append(self.publish(guest, base=4_000_000 * (life + 1)))
            self.attached(d, "same")
            d.wait(lambda: len(d.run_list("same")) == life + 1)
            if life == 0:
                for _ in range(restarts):
                    d.stop_collector()
                    d.start_collector()
                    self.attached(d, "same")
                    d.wait(guest.mapped)
            guest.die("poweroff")
            self.unmapped(d, guest)
            self.ended(d, guest, rings[-1], "poweroff", life + 1, life + 1)
            guest.forget()
            d.wait(lambda: d.metric("mprofd_domains") == 0)
        keys = [key for (key,) in d.query("SELECT key FROM runs")]
        self.assertEqual(len(set(keys)), 3, keys)

    def test_number_and_uuid_come_back(self):
        self.come_back(restarts=0)

    def test_number_and_uuid_come_back_after_a_restart(self):
        self.come_back(restarts=1)

    def test_suspended_and_resumed(self):
        """No watch fires: the collector asks each second, maps the ring again, and the run goes on."""
        d = self.daemons()
        guest = self.guest(5, "sleeper")
        ring = self.publish(guest)
        run = self.attached(d, "sleeper")["run"]
        for i in range(2):
            guest.stop("suspend")
            self.unmapped(d, guest)
            d.wait(lambda: d.domain("sleeper")["state"] == "suspended")
            captures = d.wait(lambda i=i: len(found := d.captures("sleeper")) == i + 1 and found)
            self.assertEqual({c["kind"] for c in captures}, {"suspend"})
            last = max(c["id"] for c in captures)
            self.assertEqual(events_of(d.get(f"/v1/captures/{last}/trace")), ring.written)
            guest.resume()
            ring.add(30)
            d.wait(lambda: guest.mapped() == 4)
            self.attached(d, "sleeper")
            ring.add(30)
        guest.die("crashed")
        self.unmapped(d, guest)
        listed = d.wait_ended("sleeper")
        self.assertEqual([r["run"] for r in listed], [run])
        self.assertEqual(events_of(d.trace("sleeper")), ring.written)
        self.assertEqual(d.domain("sleeper")["streams"][0]["lost_packets"], 0)
        self.assertEqual(sorted(c["kind"] for c in d.captures("sleeper")), ["crash", "suspend", "suspend"])

    def test_suspended_before_its_first_event(self):
        """The ring has no event to recognize it by; its run goes on all the same."""
        d = self.daemons()
        guest = self.guest(5, "empty")
        ring = self.publish(guest, n=0)
        run = self.attached(d, "empty")["run"]
        guest.stop("suspend")
        self.unmapped(d, guest)
        d.wait(lambda: d.domain("empty")["state"] == "suspended")
        ring.add(1)
        guest.resume()
        d.wait(lambda: guest.mapped() == 4)
        self.attached(d, "empty")
        ring.add(30)
        guest.die("crashed")
        self.unmapped(d, guest)
        self.assertEqual([r["run"] for r in d.wait_ended("empty")], [run])
        self.assertEqual(events_of(d.trace("empty")), ring.written)

    def test_suspended_and_gone(self):
        """The guest was saved or has migrated: no second capture."""
        d = self.daemons()
        guest = self.guest(5, "leaver")
        ring = self.publish(guest)
        self.attached(d, "leaver")
        guest.stop("suspend")
        self.unmapped(d, guest)
        d.wait(lambda: d.domain("leaver")["state"] == "suspended")
        guest.destroy()
        self.ended(d, guest, ring, "suspend")

    def test_saved_and_held(self):
        """The state after `xl save` while a back end is slow to release the domain: suspended,
        dying, and still there. The run is over."""
        d = self.daemons()
        guest = self.guest(5, "saved")
        ring = self.publish(guest)
        self.attached(d, "saved")
        guest.stop("suspend")
        self.unmapped(d, guest)
        d.wait(lambda: d.domain("saved")["state"] == "suspended")
        guest.destroy(held=True)
        self.ended(d, guest, ring, "suspend")

    def test_found_saved(self):
        """The collector starts while a saved guest is still held."""
        guest = self.guest(5, "found")
        ring = self.publish(guest)
        guest.set("suspend paused dying held")
        d = self.daemons()
        self.ended(d, guest, ring, "suspend")

    def test_found_dead(self):
        """A preserved, crashed guest that a collector finds is captured once, over any number of
        restarts."""
        guest = self.guest(5, "corpse")
        ring = self.publish(guest)
        guest.offer(4)
        guest.write("data/mprof/event-channel", "4")
        guest.stop("crashed")
        d = self.daemons()
        self.ended(d, guest, ring, "crash")
        d.wait(lambda: not guest.mapped())
        for kill in (False, True):
            if kill:
                d.kill_collector()
            else:
                d.stop_collector()
            d.start_collector()
            d.advance(3)
            self.ended(d, guest, ring, "crash")
            d.wait(lambda: not guest.mapped())


class SlowDisk(Lifecycle):
    """A dead guest's pages are unmapped, however slow the archive is."""

    def slow(self, ms):
        """Make each write take MS longer from now on."""
        with open(f"{self.directory}/slow-disk", "w", encoding="ascii") as f:
            f.write(str(ms))

    def test_slow(self):
        """A commit that takes seconds keeps no page mapped."""
        d = self.daemons()
        guest = self.guest(5, "waits")
        ring = self.publish(guest)
        other = self.guest(6, "writes")
        noise = self.publish(other)
        self.attached(d, "waits")
        self.attached(d, "writes")
        self.slow(500)
        noise.add(20)  # the commit thread waits for these
        time.sleep(0.3)
        ring.add(20)
        guest.die("crashed")
        self.unmapped(d, guest)
        guest.forget()
        self.slow(0)
        self.ended(d, guest, ring, "crash")

    def test_full(self):
        os.mkdir("state")
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "mprofd-test", "state"], capture_output=True, check=False)
        if mounted.returncode:
            self.skipTest("a small file system cannot be mounted here: that needs root")
        self.addCleanup(subprocess.run, ["umount", "-l", os.path.abspath("state")], check=True)
        small = "[collector]\nflush-interval = 100ms\nqueue = 1M\nqueue-per-guest = 1M\nqueue-reserve = 1M\n"
        d = self.daemons(small + "[archive]\nwal-limit = 1M\nfree-space = 0\nreserve = 0\n")
        guest = self.guest(5, "full")
        ring = self.publish(guest)
        other = self.guest(6, "noisy")
        writer = self.writer("writer-legacy", *f"--ring {other.ring_path(1)} --truth t --rate 2000000 --size 65536".split())
        d.wait(lambda: os.path.exists(other.ring_path(1)) and os.path.getsize(other.ring_path(1)) == 65536)
        other.publish(other.refs(1, 65536))
        self.attached(d, "full")
        self.attached(d, "noisy")
        with open("state/ballast", "wb", buffering=0) as f, contextlib.suppress(OSError):
            while True:
                f.write(bytes(65536))
        d.wait(lambda: d.ask("/readyz")[0] == 503)
        time.sleep(1)  # the queue is full
        ring.add(20)
        guest.die("crashed")
        self.unmapped(d, guest)
        guest.forget()
        writer.kill()
        other.die("crashed")
        self.unmapped(d, other)
        os.unlink("state/ballast")
        d.wait(lambda: d.ask("/readyz")[0] == 200)
        self.ended(d, guest, ring, "crash")

    def large(self):
        """Start a daemon with little room and a slow disk, and fill a guest's ring of 8 MiB while
        the daemon does not look."""
        small = "[collector]\nflush-interval = 100ms\nqueue = 4M\nqueue-per-guest = 1M\nqueue-reserve = 1M\n"
        d = self.daemons(small + "[archive]\nfree-space = 1M\nreserve = 0\n")
        guest, other = self.guest(5, "large"), self.guest(6, "writes")
        ring = guest.ring(size=8 << 20, packets=64)
        self.addCleanup(ring.close)
        noise = self.publish(other)
        ring.add(5)
        guest.publish_directory(ring, pages=range(8, 20))
        self.attached(d, "large")
        self.attached(d, "writes")
        self.slow(500)
        noise.add_slowly(20)
        os.kill(d.collector.pid, signal.SIGSTOP)
        room, n = ring.rooms[0], 7000
        for k in range(1, 64):
            first = 2_000_000 + k * n
            body = b"".join(event(first + i, i) for i in range(n))
            os.pwrite(ring.file.fileno(), header(room, k, len(body)) + body, k * room)
            ring.written += [(first + i, i) for i in range(n)]
        os.kill(d.collector.pid, signal.SIGCONT)
        return d, guest, ring

    def newest(self, d, ring):
        """Check that the newest packets are archived and the others declared."""
        d.wait_ended("large")
        found = events_of(d.trace("large"))
        self.assertEqual(found[-1], ring.written[-1])
        self.assertLessEqual(set(found), set(ring.written))
        self.assertGreater(sum(gap["packets"] for page in d.packets("large") for gap in page["gaps"]), 10)
        return found

    def test_large(self):
        """The ring is larger than the room for dead guests."""
        d, guest, ring = self.large()
        guest.die("crashed")
        self.unmapped(d, guest)
        self.slow(0)
        self.assertGreater(len(self.newest(d, ring)), 60_000)

    def test_large_terminated(self):
        """The daemon is told to end while it copies the rest of such a ring."""
        d, guest, ring = self.large()
        guest.stop("crashed")
        d.wait(lambda: "no room for all of a ring that goes" in d.said())  # the daemon has begun to copy the rest
        quick = threading.Timer(1, self.slow, [0])
        quick.start()
        d.stop_collector()
        quick.join()
        guest.destroy()
        guest.forget()
        d.start_collector()
        self.newest(d, ring)
        self.assertEqual([capture["kind"] for capture in d.captures("large")], ["crash"])


class FoundOCaml(Found):
    STORE = "oxenstored"


class ChangesOCaml(Changes):
    STORE = "oxenstored"


class DeathsOCaml(Deaths):
    STORE = "oxenstored"


class ReusedOCaml(Reused):
    STORE = "oxenstored"


forms(Found, FoundOCaml)
forms(Changes, ChangesOCaml)
forms(Deaths, DeathsOCaml)
forms(Reused, ReusedOCaml)

if __name__ == "__main__":
    sim.main()
