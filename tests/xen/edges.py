"""Test events that come in unexpected states of a guest: edges.py BUILD-DIRECTORY [TEST…]"""

import contextlib
import os
import signal
import sqlite3
import time

import sim
from daemons import events_of
from turns import long


# Only a crash is kept, and nothing waits for the reader of captures (ends.py has what does).
ONLY_CRASHES = sim.QUIET + "keep-unread = 0\n[policy *]\nmode = on-crash\n"


class Edges(sim.Case):
    def kinds(self, d, name):
        return sorted(capture["kind"] for capture in d.captures(name))


class Streams(Edges):
    def test_number_comes_again(self):
        """A stream is withdrawn, and another ring published under its number: a run has each number
        once."""
        d = self.daemons()
        guest = self.guest(5, "again")
        ring = self.publish(guest)
        first = self.publish(guest, stream=1, base=3_000_000)
        self.attached(d, "again", 2)
        guest.withdraw(1)
        d.wait(lambda: guest.mapped() == 4)
        second = self.publish(guest, stream=1, base=6_000_000)
        listed = d.wait(lambda: len(found := d.run_list("again")) == 2 and found)
        d.wait(lambda: guest.mapped() == 8)
        guest.die("crashed")
        self.unmapped(d, guest)
        d.wait_ended("again", 2)
        runs = [run["run"] for run in sorted(listed, key=lambda run: run["run"])]
        for run, other in zip(runs, (first, second)):
            self.assertEqual(events_of(d.trace("again", f"?run={run}&stream=0")), ring.written)
            self.assertEqual(events_of(d.trace("again", f"?run={run}&stream=1")), other.written)
        d.check_integrity()

    @long
    def test_withdrawn_together(self):
        """Rings that a guest withdraws in one transaction, while others stay, are captured together: the daemon, which is stopped
        until the store has told of all of them, sees their events together."""
        d = self.daemons()
        guest = self.guest(5, "together")
        rings = {k: self.publish(guest, stream=k, base=1_000_000 * (k + 1)) for k in range(12)}
        self.attached(d, "together", 12)
        os.kill(d.collector.pid, signal.SIGSTOP)
        self.store.toolstack.watch(f"{guest.home}/data/mprof")
        with guest.transaction() as tx:
            for k in range(1, 12):
                guest.rm(f"data/mprof/stream/{k}", tx)
        self.store.toolstack.drain(f"{guest.home}/data/mprof/stream/11")
        os.kill(d.collector.pid, signal.SIGCONT)
        d.wait(lambda: guest.mapped() == 4)
        found = d.wait(lambda: (captures := d.captures("together")) and sum(len(c["streams"]) for c in captures) == 11 and captures)
        self.assertLess(len(found), 8)
        for capture in found:
            self.assertEqual(capture["kind"], "ended")
            for stream in capture["streams"]:
                held = events_of(d.get(f"/v1/captures/{capture['id']}/trace?stream={stream['stream']}"))
                self.assertEqual(held, rings.pop(stream["stream"]).written)
        self.assertEqual(set(rings), {0})

    def test_too_many(self):
        """A guest may have 64 rings. The daemon reports the 65th, and takes it when another one
        goes."""
        d = self.daemons()
        guest = self.guest(5, "many")
        rings = []
        for k in range(66):
            rings.append(guest.ring())
            self.addCleanup(rings[k].close)
            rings[k].add(2)
            guest.publish(rings[k], stream=k)
        d.wait(lambda: guest.mapped() == 4 * 64)
        d.wait(lambda: d.metric('mprofd_xenstore_refused_total{reason="streams"}') > 0)
        self.assertEqual(d.said().count("too many streams"), 1)
        self.assertEqual(guest.mapped(), 4 * 64)
        guest.withdraw(stream=1)
        guest.withdraw(stream=64)
        guest.withdraw(stream=65)
        d.wait(lambda: guest.mapped() == 4 * 63)
        guest.publish(rings[65], stream=65)
        d.wait(lambda: guest.mapped() == 4 * 64)

    @long
    def test_room_again(self):
        """A ring that was refused because the guest had 64 is attached when another one goes,
        without a new write to its keys. It does not matter when its keys were written: before the
        other's were removed, or while these are read again."""
        d = self.daemons()
        guest = self.guest(5, "full")
        rings = [guest.ring() for _ in range(65)]
        for stream, ring in enumerate(rings):
            self.addCleanup(ring.close)
            ring.add(2)
            guest.publish(ring, stream=stream)
        d.wait(lambda: d.metric('mprofd_xenstore_refused_total{reason="streams"}') > 0)
        d.wait(lambda: guest.mapped() == 4 * 64)
        guest.withdraw(stream=1)
        d.wait(lambda: d.ask("/v1/domains/full/trace?stream=64")[0] == 200)
        for k in range(65, 80):
            ring = guest.ring()
            self.addCleanup(ring.close)
            ring.add(2)
            guest.withdraw(stream=k - 1)
            guest.publish(ring, stream=k)
            d.wait(lambda k=k: d.ask(f"/v1/domains/full/trace?stream={k}")[0] == 200)
        self.assertEqual(guest.mapped(), 4 * 64)
        ring.add(2)
        guest.die("crashed")
        self.unmapped(d, guest)
        d.wait_ended("full")
        self.assertEqual(events_of(d.trace("full", "?stream=79")), ring.written)
        d.check_integrity()

    def test_not_ready_yet(self):
        """Keys come before their ring: the daemon tries again, and makes no run until then."""
        d = self.daemons()
        guest = self.guest(5, "early")
        ring = guest.ring()
        self.addCleanup(ring.close)
        with open(guest.ring_path(1), "r+b") as f:
            header = f.read(64)
            f.seek(0)
            f.write(bytes(64))
            f.flush()
            guest.publish(ring)
            d.wait(lambda: guest.map_counts()[0] >= 3)  # of twenty tries
            self.assertIsNone(d.domain("early"))
            f.seek(0)
            f.write(header)
        ring.add(20)
        self.attached(d, "early")
        guest.die("crashed")
        self.unmapped(d, guest)
        d.wait_ended("early")
        self.assertEqual(len(d.run_list("early")), 1)
        self.assertEqual(events_of(d.trace("early")), ring.written)
        self.assertEqual(d.metric('mprofd_xenstore_refused_total{reason="ring"}'), 0)
        self.assertNotIn("withdrawn", d.said())

    @long
    def test_refused_once(self):
        """The daemon does not retry a refused ring, and takes a ring that is published right
        afterwards."""
        d = self.daemons()
        guest = self.guest(5, "wrong")
        guest.write("data/mprof/ring-ref", "8,9")  # pages of zeros
        d.wait(lambda: d.metric('mprofd_xenstore_refused_total{reason="ring"}'))
        d.advance(3)
        self.assertEqual(d.metric('mprofd_xenstore_refused_total{reason="ring"}'), 1)
        self.assertEqual(d.metric('mprofd_xenstore_refused_total{reason="changes"}'), 0)
        self.publish(guest)
        self.attached(d, "wrong")

    @long
    def test_large_and_wrong(self):
        """A guest whose large pages are no ring cannot have them mapped all the time."""
        d = self.daemons()
        guest = self.guest(5, "waste")
        refs = guest.refs(1, 4096 * 1000)
        with open(guest.ring_path(1), "wb") as f:
            f.truncate(4096 * 1000)
        for i in range(40):
            guest.write("data/mprof/directory-ref" if i % 2 else "data/mprof/x", "8")
            guest.publish(range(refs.start, refs.start + 600))
            guest.rm("data/mprof/directory-ref") if i % 2 else None
            time.sleep(0.05)  # so that the daemon looks at most of them
        d.wait(lambda: not guest.mapped())
        self.assertLessEqual(guest.map_counts()[0], 80)  # two looks at each change, and no tries after them


class Busy(Edges):
    def test_others_are_heard(self):
        """Guests that make the daemon read all their streams as often as they may do not delay a
        withdrawal or death of another."""
        d = self.daemons()
        good = self.guest(5, "good")
        noisy = [self.guest(6 + i, f"noisy{i}") for i in range(3)]
        for guest in noisy:
            for k in range(1, 60):
                guest.write(f"data/mprof/stream/{k}/ring-ref", "7")
        self.publish(good)
        self.attached(d, "good")
        for end in (good.withdraw, lambda: good.die("crashed")):
            for i in range(24):
                for guest in noisy:
                    guest.write("data/mprof", str(i))
                time.sleep(0.04)
            end()
            self.unmapped(d, good)
            if end == good.withdraw:
                self.publish(good, base=9_000_000)
                d.wait(lambda: len(d.run_list("good")) == 2)
                d.wait(lambda: good.mapped() == 4)
        capture = d.wait(lambda: [c for c in d.captures("good") if c["kind"] == "crash"])[0]
        d.wait(lambda: d.json(f"/v1/captures/{capture['id']}/context")["reason"] == "crash")


class Suspended(Edges):
    def suspended(self, d, guest):
        guest.stop("suspend")
        d.wait(lambda: d.domain(guest.name)["state"] == "suspended")
        d.wait(lambda: not guest.mapped())

    @long
    def test_the_same_ring_published_again(self):
        """Keys written again mean a new ring, even if the old one seems to go on."""
        d = self.daemons()
        guest = self.guest(5, "same")
        ring = self.publish(guest)
        self.attached(d, "same")
        self.suspended(d, guest)
        guest.publish(ring)
        guest.resume()
        d.wait(lambda: len(d.run_list("same")) == 2)
        self.assertEqual(d.run_list("same")[0]["state"], "ended")
        self.attached(d, "same")

    def test_another_ring_afterwards(self):
        """A guest that publishes again while it runs has begun another run."""
        d = self.daemons()
        guest = self.guest(5, "fresh")
        first = self.publish(guest)
        self.attached(d, "fresh")
        self.suspended(d, guest)
        guest.withdraw()
        second = self.publish(guest, base=9_000_000)
        guest.resume()
        d.wait(lambda: len(d.run_list("fresh")) == 2)
        d.wait(lambda: guest.mapped() == 4)
        guest.die("crashed")
        self.unmapped(d, guest)
        runs = [run["run"] for run in d.wait_ended("fresh", 2)]
        traces = [events_of(d.trace("fresh", f"?run={run}")) for run in sorted(runs)]
        self.assertEqual(traces, [first.written, second.written])

    def test_number_used_again(self):
        """A guest was destroyed, and another has its number before the daemon notices."""
        d = self.daemons()
        guest = self.guest(5, "slept")
        self.publish(guest)
        self.attached(d, "slept")
        self.suspended(d, guest)
        guest.destroy()
        guest.forget()
        # Xen knows the new guest before the toolstack has written its nodes, for longer than the
        # collector takes to ask again.
        guest.set("running")
        guest.store.virq()
        d.advance(3)
        self.assertNotIn("goes on", d.said())
        guest.forget()
        other = self.guest(5, "other")
        self.publish(other, base=5_000_000)
        self.attached(d, "other")
        listed = d.wait_ended("slept")
        self.assertEqual([run["reason"] for run in listed], ["suspend"])
        self.assertEqual(self.kinds(d, "slept"), ["suspend"])

    def test_found_suspended(self):
        """The collector starts again while the guest is suspended: one run, one capture."""
        d = self.daemons()
        guest = self.guest(5, "dream")
        ring = self.publish(guest)
        self.attached(d, "dream")
        self.suspended(d, guest)
        for kill in (True, False):
            d.kill_collector() if kill else d.stop_collector()
            d.start_collector()
            d.advance(1)
            self.assertEqual(d.domain("dream")["state"], "suspended")
            d.wait(lambda: not guest.mapped())
        guest.resume()
        d.wait(lambda: guest.mapped() == 4)
        ring.add(30)
        guest.die("crashed")
        self.unmapped(d, guest)
        self.assertEqual(len(d.wait_ended("dream")), 1)
        self.assertEqual(events_of(d.trace("dream")), ring.written)
        self.assertEqual(self.kinds(d, "dream"), ["crash", "suspend"])


class Helper(Edges):
    """The helper, which tells the state of domains, is silent or gone."""

    def silences(self, d):
        """Return how often mprofd has said that a helper does not answer. The log outlives a collector."""
        return d.said().count("does not answer")

    def test_silent(self):
        d = self.daemons()
        withdrawn, destroyed = self.guest(5, "withdrawn"), self.guest(6, "destroyed")
        for guest in (withdrawn, destroyed):
            self.publish(guest)
            self.attached(d, guest.name)
        os.kill(self.helper(d), signal.SIGSTOP)
        withdrawn.withdraw()
        self.unmapped(d, withdrawn)
        destroyed.destroy()
        self.unmapped(d, destroyed)
        d.wait(lambda: "does not answer" in d.said())
        d.wait(lambda: self.kinds(d, "withdrawn") == ["ended"])
        d.wait_ended("destroyed")
        self.publish(withdrawn, base=8_000_000)
        self.attached(d, "withdrawn")
        # It goes on: now it is known again why a guest ends, and answers to what it was asked before are not taken for new ones.
        os.kill(self.helper(d), signal.SIGCONT)
        d.wait(lambda: "answers again" in d.said())
        withdrawn.die("crashed")
        self.unmapped(d, withdrawn)
        d.wait(lambda: self.kinds(d, "withdrawn") == ["crash", "ended"])
        self.assertEqual((self.silences(d), d.said().count("answers again")), (1, 1))

    @long
    def test_silent_while_suspended(self):
        """A guest that was suspended before the helper became silent, and after: it was suspended once, and captured once."""
        d = self.daemons()
        guest = self.guest(5, "asleep")
        ring = self.publish(guest)
        self.attached(d, guest.name)
        guest.stop("suspend")
        d.wait(lambda: d.domain("asleep")["state"] == "suspended")
        d.wait(lambda: self.kinds(d, "asleep") == ["suspend"])
        self.unmapped(d, guest)
        os.kill(self.helper(d), signal.SIGSTOP)
        d.wait(lambda: "does not answer" in d.said())
        d.advance(3)
        self.assertEqual((d.domain("asleep")["state"], guest.mapped()), ("suspended", 0))
        os.kill(self.helper(d), signal.SIGCONT)
        d.wait(lambda: "answers again" in d.said())
        guest.resume()
        d.wait(lambda: guest.mapped() == 4)
        ring.add(30)
        guest.die("crashed")
        self.unmapped(d, guest)
        self.assertEqual(len(d.wait_ended("asleep")), 1)
        self.assertEqual(events_of(d.trace("asleep")), ring.written)
        self.assertEqual(self.kinds(d, "asleep"), ["crash", "suspend"])

    def test_dies_unseen_after_resume(self):
        """A guest resumes while the helper is silent, and crashes before it answers: its end is captured, with what it wrote since."""
        d = self.daemons()
        guest = self.guest(5, "awoke")
        ring = self.publish(guest)
        self.attached(d, guest.name)
        guest.stop("suspend")
        d.wait(lambda: self.kinds(d, "awoke") == ["suspend"])
        self.unmapped(d, guest)
        os.kill(self.helper(d), signal.SIGSTOP)
        guest.resume()
        ring.add(30)
        guest.stop("crashed")
        os.kill(self.helper(d), signal.SIGCONT)
        d.wait(lambda: self.kinds(d, "awoke") == ["crash", "suspend"])
        self.unmapped(d, guest)
        guest.destroy()
        self.assertEqual(len(d.wait_ended("awoke")), 1)
        self.assertEqual(events_of(d.trace("awoke")), ring.written)

    @long
    def test_destroyed_after_soft_reset(self):
        """A guest resets softly, is captured, and is destroyed without having gone on, perhaps while the helper is silent. That is one end, with the
        reason of the reset."""
        d = self.daemons()
        for name in ("seen", "silent"):
            guest = self.guest(5, name)
            ring = self.publish(guest)
            self.attached(d, name)
            guest.stop("soft-reset")
            self.unmapped(d, guest)
            d.wait_ended(name)
            d.wait(lambda name=name: self.kinds(d, name) == ["reboot"])
            if name == "silent":
                os.kill(self.helper(d), signal.SIGSTOP)
            guest.destroy()
            guest.forget()
            if name == "silent":
                os.kill(self.helper(d), signal.SIGCONT)
            # The next guest has the number: the daemon knows that the first one is gone.
            other = self.guest(5, f"after-{name}")
            self.publish(other, base=8_000_000)
            self.attached(d, other.name)
            (capture,) = d.captures(name)
            self.assertEqual(capture["kind"], "reboot")
            context = f"/v1/captures/{capture['id']}/context"
            self.assertEqual(d.wait(lambda context=context: d.json(context)["reason"]), "soft-reset")
            self.assertEqual(len(d.run_list(name)), 1)
            self.assertEqual(events_of(d.trace(name)), ring.written)
            other.destroy()
            self.unmapped(d, other)
            d.wait_ended(other.name)
            other.forget()
        d.check_integrity()

    @long
    def test_withdrawn_without_helper(self):
        """Keys are withdrawn after the helper has ended, or it ends before it can answer for the domain: each ring is captured once as ended, and the
        guest can publish another one."""
        d = self.daemons()
        guest, asked = self.guest(5, "withdraws"), self.guest(6, "asked")
        rings = {one: self.publish(one) for one in (guest, asked)}
        for one in rings:
            self.attached(d, one.name)
        helper = self.helper(d)
        os.kill(helper, signal.SIGSTOP)
        asked.withdraw()
        self.unmapped(d, asked)  # the helper is asked whether the domain lives
        os.kill(helper, signal.SIGKILL)
        d.wait(lambda: "helper process has ended" in d.said())
        guest.withdraw()
        for one, ring in rings.items():
            self.unmapped(d, one)
            d.wait_ended(one.name)
            d.wait(lambda one=one: self.kinds(d, one.name) == ["ended"])
            self.assertEqual(events_of(d.trace(one.name)), ring.written)
        for one in rings:
            again = self.publish(one, base=8_000_000)
            self.attached(d, one.name)
            one.withdraw()
            self.unmapped(d, one)
            d.wait_ended(one.name, 2)
            d.wait(lambda one=one: self.kinds(d, one.name) == ["ended", "ended"])
            run = max(run["run"] for run in d.run_list(one.name))
            self.assertEqual(events_of(d.trace(one.name, f"?run={run}")), again.written)
        d.check_integrity()

    @long
    def test_answer_waits(self):
        """A helper that has answered a collector which had no time to read that is not silent."""
        d = self.daemons()
        guest = self.guest(5, "answered")
        self.publish(guest)
        self.attached(d, guest.name)
        helper = self.helper(d)
        os.kill(helper, signal.SIGSTOP)
        guest.withdraw()
        self.unmapped(d, guest)  # it was asked meanwhile whether the guest lives
        d.collector.freeze()
        os.kill(helper, signal.SIGCONT)
        time.sleep(5.5)  # longer than a helper may be silent; the answer comes after a moment
        os.kill(d.collector.pid, signal.SIGCONT)
        crashed = self.guest(6, "crashed")
        self.publish(crashed)
        self.attached(d, crashed.name)
        crashed.die("crashed")
        self.unmapped(d, crashed)
        d.wait(lambda: self.kinds(d, "crashed") == ["crash"])
        self.assertEqual(self.silences(d), 0)

    @long
    def test_late(self):
        """A helper that answers late, as in a busy dom0, tells of a guest that was dead when mprofd found it: no run begins meanwhile."""
        d = self.daemons(ONLY_CRASHES)
        for domid in range(5, 15):
            before = self.silences(d)
            os.kill(self.helper(d), signal.SIGSTOP)
            guest = self.guest(domid, f"dead{domid}")
            guest.set("poweroff")
            self.publish(guest)
            d.advance(3)
            found = d.domain(guest.name)
            if self.silences(d) > before:  # this machine was so busy that nothing waits for the helper any more
                os.kill(self.helper(d), signal.SIGCONT)
                d.wait(lambda: d.said().count("answers again") == self.silences(d))
                continue
            self.assertIsNone(found)
            os.kill(self.helper(d), signal.SIGCONT)
            d.advance(2)
            self.assertIsNone(d.domain(guest.name))
            self.assertEqual(guest.mapped(), 0)
            return
        self.skipTest("this machine is too busy for a helper that is late and not gone")

    @long
    def test_no_time_to_answer(self):
        """A helper that had no time to answer, though a test's clock says so, does not count as gone."""
        d = self.daemons()
        if not d.ask_collector("advance", "ns=0\n").startswith("ok "):
            self.skipTest("the build has no option test-clock")
        for domid in range(5, 15):
            guest = self.guest(domid, f"goes{domid}")
            self.publish(guest)
            self.attached(d, guest.name)
            began, before, helper = time.monotonic(), self.silences(d), self.helper(d)
            os.kill(helper, signal.SIGSTOP)
            guest.withdraw()
            self.unmapped(d, guest)  # it was asked meanwhile whether the guest lives
            d.advance(20)
            silent, took = self.silences(d) > before, time.monotonic() - began
            os.kill(helper, signal.SIGCONT)
            if not silent:
                return
            self.assertGreater(took, 5)  # a machine that is so busy gave it the time
            d.wait(lambda: d.said().count("answers again") == self.silences(d))
        self.skipTest("this machine is too busy for a helper that is late and not gone")

    def test_gone(self):
        d = self.daemons()
        guest, sleeper = self.guest(5, "goes"), self.guest(6, "sleeps")
        for one in (guest, sleeper):
            self.publish(one)
            self.attached(d, one.name)
        sleeper.stop("suspend")
        d.wait(lambda: d.domain("sleeps")["state"] == "suspended")
        os.kill(self.helper(d), signal.SIGKILL)
        d.wait(lambda: "helper process has ended" in d.said())
        sleeper.resume()
        d.wait(lambda: sleeper.mapped() == 4)
        guest.destroy()
        self.unmapped(d, guest)
        d.wait_ended("goes")


class Preserved(Edges):
    def test_kill_in_its_capture(self):
        """A kill during the capture of a preserved guest loses nothing of its end, and leaves one
        capture."""
        d = self.daemons()
        guest = self.guest(5, "half")
        ring = self.publish(guest)
        self.attached(d, "half")
        with contextlib.closing(sqlite3.connect(f"{d.state}/archive/trace.db", isolation_level=None)) as db:
            db.execute("PRAGMA busy_timeout = 300000")
            db.execute("BEGIN IMMEDIATE")
            ring.add(20)
            guest.stop("crashed")
            d.wait(lambda: not guest.mapped())
            d.kill_collector()
            run, last = db.execute("SELECT max(id), (SELECT max(id) FROM captures) FROM runs").fetchone()
            real = time.time_ns()
            db.execute(
                "INSERT INTO captures (id, run, kind, real, mono) VALUES (?, ?, 'crash', ?, 1)",
                ((last or 0) + 1, run, real),
            )
            db.execute("UPDATE identifiers SET capture = ?", ((last or 0) + 1,))
            db.execute("UPDATE row_sums SET unchecked = 1000")
            db.execute("COMMIT")
        for _ in range(2):
            d.start_collector()
            d.wait_ended("half")
            self.assertEqual(self.kinds(d, "half"), ["crash"])
            self.assertEqual(events_of(d.trace("half")), ring.written)
            d.wait(lambda: not guest.mapped())
            d.stop_collector()
        d.start_collector()

    def test_not_wanted(self):
        """Under the policy on-crash a preserved poweroff is not captured, at any start."""
        guest = self.guest(5, "plain")
        self.publish(guest)
        guest.stop("poweroff")
        d = self.daemons(ONLY_CRASHES)
        for _ in range(2):
            d.advance(1)
            self.assertIsNone(d.domain("plain"))
            self.assertEqual(guest.mapped(), 0)
            d.stop_collector()
            d.start_collector()

    @long
    def test_orderly_ends_not_wanted(self):
        """Guests end while they are watched: only a possible crash is captured."""
        d = self.daemons(ONLY_CRASHES)
        kinds = {"poweroff": [], "reboot": [], "suspend": [], "crashed": ["crash"], "watchdog": ["watchdog"]}
        guests = {}
        for i, reason in enumerate(kinds):
            guests[reason] = self.guest(5 + i, reason)
            self.publish(guests[reason])
            self.attached(d, reason)
        for reason, guest in guests.items():
            guest.die(reason)
        ended = lambda name: not (found := d.domain(name)) or found["state"] == "ended"  # an empty run is soon deleted

        def captured(name):
            d.wait(lambda: ended(name))
            return [capture["kind"] for capture in d.json("/v1/captures?limit=1000")["captures"] if capture["domain"] == name]

        for reason, wanted in kinds.items():
            self.assertEqual(captured(reason), wanted, reason)
        unknown = sim.Unknown(self, d)
        for domid in range(20, 30):
            guest = self.guest(domid, f"running-{domid}")
            self.publish(guest)
            self.attached(d, guest.name)
            with unknown.ending(guest.name):
                guest.destroy()
                found = captured(guest.name)
            if not unknown.found(guest.name):
                self.assertEqual(found, [])
                return
            self.assertEqual(found, ["ended"])  # it may be a crash
        self.skipTest("this machine is too busy for a helper that answers in half a second")


if __name__ == "__main__":
    sim.main()
