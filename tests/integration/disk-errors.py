"""A daemon whose archive cannot be written ends, and says so, with the file and the error: disk-errors.py BUILD-DIRECTORY [TEST…]"""

import errno
import os

import daemons
import sink

ENDS = r"(archive[^\n]*) cannot be written, and (\S+) ends: (\S+): ([^:\n]*) \(errno (\d+), SQLite (\d+)\); check the disk"


class Errors(sink.Case):
    def failing(self, d):
        """Return a command before a program of D: its writes fail once fail() was called."""
        library = os.path.join(daemons.BUILD, "tests", "integration", "libfail-file.so")
        return ["env", f"LD_PRELOAD={library}", f"FAIL_FLAG={d.root}/fail", "ASAN_OPTIONS=verify_asan_link_order=0"]

    def fail(self, d, error):
        with open(f"{d.root}/fail.new", "w", encoding="ascii") as f:
            f.write(str(error))
        os.rename(f"{d.root}/fail.new", f"{d.root}/fail")

    def take(self, d, name):
        """Return a program of D, which D does not stop then."""
        program = getattr(d, name)
        setattr(d, name, None)
        return program

    def check(self, d, process, name, path, error):
        self.assertEqual(process.wait(daemons.HANGS), 1)
        found = process.says(ENDS)
        self.assertEqual(found.groups()[1:], (name, f"{d.state}/{path}-wal", os.strerror(error), str(error), "778"))
        self.assertIn(os.strerror(error), process.status())

    def test_collector(self):
        d = self.enterContext(daemons.Daemons())
        d.prefix = self.failing(d)
        d.start_collector()
        ring = daemons.Ring("rings/web.ctf", 1 << 20)
        self.addCleanup(ring.close)
        d.wait(lambda: d.query("SELECT count(*) FROM streams") == [(1,)])
        self.fail(d, errno.EIO)

        def ended():
            ring.add(5)
            return d.collector.poll() is not None

        d.wait(ended)
        self.check(d, self.take(d, "collector"), "mprofd", "archive/trace.db", errno.EIO)

    def test_sink(self):
        d = self.enterContext(sink.Sink())
        d.sink = d.launch("mprofd-sink", prefix=self.failing(d))
        self.fail(d, errno.EROFS)
        with d.connect() as guest:
            guest.sendall(sink.stream())
            self.check(d, self.take(d, "sink"), "mprofd-sink", "memtraces/memtraces.db", errno.EROFS)


if __name__ == "__main__":
    daemons.main()
