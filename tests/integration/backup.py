"""Back up a live archive as the operator's guide says, and restore it: backup.py BUILD-DIRECTORY [TEST…]

The test takes the lines with sqlite3 from docs/operating.md, so that the page and the test are the
same. A guest writes all the time.
"""

import contextlib
import os
import re
import shutil
import subprocess
import threading

import daemons
import sink
from daemons import HEADER, START, program

PAGE = os.path.join(daemons.HERE, "../../docs/operating.md")
NAMES = {"trace.db": "archive", "memtraces.db": "memtraces"}


def backup_commands(state, target):
    """Return the commands of the page with the directories STATE and TARGET in place of the page's."""
    with open(PAGE, encoding="utf-8") as f:
        found = re.findall(r"(?m)^# (sqlite3 .*VACUUM INTO.*)$", f.read())
    return [command.replace("/var/lib/mprofd", state).replace("/var/backups/mprofd", target) for command in found]


def packets(stream):
    """Return the events of each packet of a CTF stream, as bytes."""
    found, at = [], 0
    while at < len(stream):
        _, _, size, _, content = HEADER.unpack_from(stream, at)
        found.append(stream[at + START : at + content // 8])
        at += size // 8
    return found


def restore(source, state):
    """Put a backup where mprofd looks for its archives."""
    for name, folder in NAMES.items():
        os.makedirs(os.path.join(state, folder), exist_ok=True)
        shutil.copy(os.path.join(source, name), os.path.join(state, folder, name))


class Backup(sink.Case):
    def setUp(self):
        super().setUp()
        os.mkdir("backup")
        self.d = self.enterContext(sink.Sink())
        self.d.start_sink()
        self.d.start()

    def guest(self, rate, size):
        """Start a guest that writes until the test ends."""
        self.writer("mprof-demo-guest", "--ring", "rings/web.ctf", "--rate", rate, "--size", size)
        self.d.wait(lambda: (self.d.domain("web") or {"last_seen": None})["last_seen"])

    def back_up(self):
        commands = backup_commands(self.d.state, os.path.abspath("backup"))
        self.assertEqual(len(commands), 2, "the page has a command for each archive")
        for command in commands:
            subprocess.run(["sh", "-c", command], check=True, timeout=300)

    def capture(self, note):
        status, _, body = self.d.ask("/v1/domains/web/captures", "POST", f'{{"note": "{note}"}}', {"Content-Type": "application/json"})
        self.assertEqual(status, 201, body)

    def wait_commits(self, n):
        """Wait until the collector has made N more commits."""
        before = self.d.collector_metric("mprofd_commits_total")
        self.d.wait(lambda: self.d.collector_metric("mprofd_commits_total") >= before + n)

    @contextlib.contextmanager
    def backups_go_on(self):
        """Make one backup after the other, each in place of the one before, until the block ends. Yield the list of what failed."""
        stop, failed = threading.Event(), []

        def work():
            while not stop.is_set():
                for name in NAMES:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(os.path.join("backup", name))
                try:
                    self.back_up()
                except (subprocess.SubprocessError, AssertionError) as error:
                    failed.append(error)
                    return

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield failed
        finally:
            stop.set()
            thread.join()

    def test_elsewhere(self):
        """A backup of a moment, beside writes, opens elsewhere with the same bytes, captures and profiles."""
        offer = self.offer()
        recording = self.d.say("start", address="127.0.0.1", port=offer.port)[1]["recording"]
        self.guest(20000, 1 << 24)
        self.capture("before")
        self.d.wait_read()
        with self.backups_go_on() as failed:
            self.wait_commits(20)
        self.assertEqual(failed, [])
        captures = self.d.json("/v1/captures")["captures"]
        profile = self.d.get(f"/v1/memtraces/{recording}/data")
        self.capture("after")
        self.assertEqual([c["note"] for c in captures], ["before"])
        restore("backup", os.path.abspath("elsewhere/state"))
        done = subprocess.run([program("mprofd"), "--fsck", "--state", "elsewhere/state"], capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        here = os.getcwd()
        os.chdir("elsewhere")
        other = self.enterContext(daemons.Daemons())
        os.chdir(here)
        other.start()
        other.check_integrity()
        other.wait_read()
        self.assertEqual(other.json("/v1/captures")["captures"], captures)
        self.assertEqual(other.get(f"/v1/memtraces/{recording}/data"), profile)
        other.wait_ended("web")
        # The live archive has the same packets and more: the backup's last packet has grown since.
        backed_up, live = packets(other.trace("web")), packets(self.d.trace("web"))
        self.assertGreater(sum(map(len, backed_up)), 10000)
        self.assertEqual(backed_up[:-1], live[: len(backed_up) - 1])
        self.assertTrue(live[len(backed_up) - 1].startswith(backed_up[-1]))
        self.assertGreater(sum(map(len, live)), sum(map(len, backed_up)))
        self.assertEqual(self.d.gaps("web"), [])

    def test_here(self):
        """A guest that runs on while its archive is restored goes on behind the backup's end, and its ring had all of it."""
        self.guest(2000, 1 << 24)
        self.back_up()
        self.wait_commits(3)
        newest = len(self.d.trace("web"))
        self.d.stop_server()
        self.d.stop_collector()
        self.d.stop_sink()
        os.rename("state", "state.old")
        restore("backup", self.d.state)
        self.d.start_sink()
        self.d.start()
        self.d.wait(lambda: len(self.d.trace("web")) > newest)
        self.assertEqual([run["state"] for run in self.d.run_list("web")], ["running"])
        self.assertEqual(self.d.gaps("web"), [])
        self.d.check_integrity()


if __name__ == "__main__":
    daemons.main()
