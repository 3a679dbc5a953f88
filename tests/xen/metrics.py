"""Test the metrics of a collector of Xen guests, and that docs/monitoring names them right: metrics.py BUILD-DIRECTORY [TEST…]"""

import re
import subprocess

import sim
import monitored  # below the folders that sim adds

REFUSED = re.compile(r'(?m)^mprofd_xenstore_refused_total\{reason="[a-z-]+"\} \d+$')


class Metrics(sim.Case):
    def test_metrics(self):
        d = self.daemons()
        self.publish(self.guest())
        self.attached(d, "guest5")
        self.assertGreater(d.metric("mprofd_mapped_pages"), 0)
        self.assertGreater(d.metric("mprofd_mapped_pages_limit"), d.metric("mprofd_mapped_pages"))
        text = d.get("/metrics").decode()
        self.assertGreater(len(REFUSED.findall(text)), 3)
        promtool = monitored.tool("promtool")
        checked = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True, check=False)
        self.assertEqual((checked.returncode, checked.stdout, checked.stderr), (0, "", ""))
        # The source of directories has metrics of its own; the sink's exist only with a sink, and those of a fleet with [fleet].
        named = {name for expression in monitored.expressions() for name in monitored.NAME.findall(expression)}
        elsewhere = re.compile("mprofd_(directory|sink|outbox|forward)_|mprofd_http_certificate_")
        exposed = set(monitored.TYPE.findall(text))
        self.assertEqual({name for name in named - exposed if not elsewhere.match(name)}, set())
        self.assertLess({"mprofd_domains", "mprofd_mapped_pages", "mprofd_xenstore_refused_total"}, named & exposed)


if __name__ == "__main__":
    monitored.need_tools()
    sim.main()
