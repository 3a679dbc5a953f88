"""Shared by the benchmarks of the running collector. They run in a directory of their own, from
tests/bench/run."""

import json
import os
import resource
import sqlite3
import subprocess
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../launcher"))

import launcher  # pylint: disable=wrong-import-position

BUILD = os.environ["MPROF_BUILD"]
# A thousand rings are a thousand open files.
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)

BRIEF = "--brief" in sys.argv[1:]


def line(name, ours, unit, peer=None, ratio=None, aim=None, met=None):
    """Print one measurement. RATIO defaults to ours over peer."""
    if ratio is None and peer:
        ratio = ours / peer
    row = {"name": name, "ours": ours, "peer": peer, "unit": unit, "ratio": ratio, "aim": aim, "met": met}
    print(json.dumps(row), flush=True)


def wrong(sentence):
    """End the benchmark: a result is wrong, whatever the time."""
    sys.exit(f"wrong: {sentence}")


class Load:
    """A writer-load in ./rings. The object exists once the rings exist; .report has the report
    after wait()."""

    def __init__(self, *arguments):
        os.makedirs("rings", exist_ok=True)
        self.process = subprocess.Popen(
            [f"{BUILD}/tests/bench/writer-load", "--dir", "rings", *map(str, arguments)],
            stdout=subprocess.PIPE,
            text=True,
        )
        if self.process.stdout.readline() != "ready\n":
            wrong("writer-load made no rings")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def wait(self):
        """Wait until the writer has written for the given time."""
        self.report = json.loads(self.process.stdout.readline())
        self.process.wait()


class Collector:
    """A running mprofd over ./rings, with its archive in ./state."""

    def __init__(self, *options, processor=None, again=False):
        """OPTIONS are further words of the command line; PROCESSOR is the number of the only one that it may use. AGAIN: the archive
        may exist."""
        for name, known in (("rings", True), ("state", again), ("run", again)):
            os.makedirs(name, exist_ok=known)
        self.process = launcher.Program(
            [f"{BUILD}/daemon/mprofd/mprofd", "--source", "dir:rings", "--state", "state", "--run", "run", *options],
            log="mprofd.log",
            prefix=[] if processor is None else ["taskset", "-c", str(processor)],
        ).wait_ready()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """End the collector and wait until all is committed."""
        self.process.stop()

    def kill(self):
        """Kill the collector. Return the time of that."""
        self.process.kill()
        killed = time.time()
        self.process.end()
        return killed

    def cpu(self, thread=None):
        """Return CPU seconds of the whole process, or of its thread 'loop' (the first) or 'rest'."""
        tasks = {task: self._task_cpu(f"/proc/{self.process.pid}/task/{task}") for task in self._tasks()}
        first = tasks[str(self.process.pid)]
        return {None: sum(tasks.values()), "loop": first, "rest": sum(tasks.values()) - first}[thread]

    def _tasks(self):
        return os.listdir(f"/proc/{self.process.pid}/task")

    @staticmethod
    def _task_cpu(path):
        with open(f"{path}/schedstat") as f:
            return int(f.read().split()[0]) / 1e9

    def rss(self):
        """Return resident bytes, without shared memory."""
        with open(f"/proc/{self.process.pid}/status") as f:
            return sum(int(row.split()[1]) for row in f if row.startswith(("RssAnon:", "RssFile:"))) * 1024

    def peak(self):
        """Return the most resident MiB until now, with the mapped pages of files."""
        with open(f"/proc/{self.process.pid}/status") as f:
            return next(int(row.split()[1]) for row in f if row.startswith("VmHWM:")) / 1024

    def written(self):
        """Return the bytes that the process caused to be written to disk."""
        with open(f"/proc/{self.process.pid}/io") as f:
            return next(int(row.split()[1]) for row in f if row.startswith("write_bytes:"))


def query(sql):
    """Return rows of the archive."""
    db = sqlite3.connect("file:state/archive/trace.db?mode=ro", uri=True)
    try:
        return db.execute(sql).fetchall()
    finally:
        db.close()


def content_bytes():
    """Return the number of content bytes in the archive, before compression."""
    return query("SELECT coalesce(sum(length), 0) FROM chunks")[0][0]


def check_sequences():
    """Check that every packet of a stream is either archived or in a gap."""
    for (stream,) in query("SELECT id FROM streams"):
        have = {row[0] for row in query(f"SELECT DISTINCT sequence FROM chunks WHERE stream = {stream}")}
        gone = set()
        # With an offset of 30 or less no byte of that packet came before the gap.
        for after, offset, following in query(f"SELECT after_sequence, after_offset, next_sequence FROM gaps WHERE stream = {stream}"):
            gone.update(range(after if offset <= 30 else after + 1, following))
        if not have:
            continue
        missing = set(range(min(have), max(have) + 1)) - have - gone
        if missing or have & gone:
            wrong(f"stream {stream}: {sorted(missing)[:9]} nowhere, {sorted(have & gone)[:9]} in a gap")
