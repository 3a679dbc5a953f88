"""Test that a real Prometheus scrapes a real server over TLS with a token, and that the documents in
docs/monitoring fit: monitored.py BUILD-DIRECTORY [TEST…]"""

import contextlib
import copy
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request

import access
import daemons

SOURCE = os.path.normpath(os.path.join(daemons.HERE, "../.."))
DOCUMENTS = os.path.join(SOURCE, "docs/monitoring")
NAME = re.compile(r"\bmprofd_\w+")
TYPE = re.compile(r"(?m)^# TYPE (\S+) ")
SAMPLE = re.compile(r"(?m)^(mprofd_\w+)(?:\{(.*)\})? ")
LABEL = re.compile(r"(\w+)=~?\\?\"")
TARGET = {"job", "instance"}  # labels that Prometheus gives to each series


def tool(name):
    """Return the path of prometheus or promtool: of the unpacked Debian package, or installed. None if there is none."""
    unpacked = os.path.join(os.environ.get("MPROFD_PROMETHEUS", "/nonexistent"), "usr/bin", name)
    return unpacked if os.access(unpacked, os.X_OK) else shutil.which(name)


def need_tools():
    """End the script as skipped where a tool is absent. tests/run unpacks both."""
    for name in ("prometheus", "promtool"):
        if not tool(name):
            print(f"SKIP: there is no {name}; MPROFD_PROMETHEUS names the directory that Debian's package was unpacked into")
            sys.exit(77)


def document(name):
    with open(os.path.join(DOCUMENTS, name), encoding="utf-8") as f:
        return f.read()


def expressions():
    """Return all expressions of the rules and the dashboard, as a Prometheus takes them."""
    import yaml

    found = [rule["expr"] for group in yaml.safe_load(document("alerts.yml"))["groups"] for rule in group["rules"]]
    board = json.loads(document("dashboard.json"))
    found += [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    found += [annotation["expr"] for annotation in board["annotations"]["list"]]
    found += [v["query"]["query"].split("(", 1)[1].rsplit(",", 1)[0] for v in board["templating"]["list"] if v["type"] == "query"]
    for variable, value in (("$__rate_interval", "1m"), ("$job", ".*"), ("$instance", ".*")):
        found = [expression.replace(variable, value) for expression in found]
    assert not [expression for expression in found if "$" in expression]
    return found


def labels_used():
    """Yield (metrics, labels) of each query of the dashboard: its matchers, its joins, and its legend."""
    board = json.loads(document("dashboard.json"))
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            expression = target["expr"]
            joins = ",".join(re.findall(r"\b(?:on|by|without|ignoring|group_left|group_right) *\(([^)]*)\)", expression))
            labels = {*LABEL.findall(expression), *re.findall(r"\w+", joins), *re.findall(r"\{\{(\w+)\}\}", target.get("legendFormat", ""))}
            yield set(NAME.findall(expression)), labels


class Prometheus:
    """A Prometheus on a port of loopback. Its data are in ./prometheus."""

    def __init__(self, config):
        self.port = daemons.free_port()
        with open("prometheus.yml", "w", encoding="utf-8") as f:
            json.dump(config, f)  # JSON is YAML
        subprocess.run([tool("promtool"), "check", "config", "prometheus.yml"], check=True, capture_output=True)
        with open("prometheus.log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [tool("prometheus"), "--config.file=prometheus.yml", "--storage.tsdb.path=prometheus", f"--web.listen-address=127.0.0.1:{self.port}"],
                stdout=log,
                stderr=log,
            )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(daemons.HANGS)

    def ask(self, path, **query):
        """Return the data of an answer, or None if there is no answer yet."""
        if self.process.poll() is not None:
            with open("prometheus.log", encoding="utf-8") as f:
                raise AssertionError(f"Prometheus ended with {self.process.returncode}:\n{f.read()[-3000:]}")
        with contextlib.suppress(ConnectionError, urllib.error.URLError):
            with urllib.request.urlopen(
                f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(query)}", timeout=daemons.HANGS
            ) as answer:
                return json.load(answer)["data"]
        return None

    def values(self, expression):
        """Return {job: value} of an expression."""
        found = self.ask("query", query=expression)
        return {one["metric"].get("job"): float(one["value"][1]) for one in found["result"]} if found else {}

    def errors(self):
        """Return {job: the error of its last scrape}."""
        found = self.ask("targets", state="active")
        return {target["labels"]["job"]: target["lastError"] for target in found["activeTargets"]} if found else {}


class Monitored(access.Case):
    def config(self, **jobs):
        """Return the configuration of docs/monitoring/prometheus.yml, scraping the server of this test. JOBS change copies of its job."""
        import yaml

        config = yaml.safe_load(document("prometheus.yml"))
        config["global"] = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
        config["rule_files"] = [os.path.join(DOCUMENTS, "alerts.yml")]
        (job,) = config["scrape_configs"]
        job["authorization"]["credentials_file"] = os.path.abspath("metrics.token")
        job["tls_config"]["ca_file"] = os.path.abspath("tls/ca.pem")
        job["static_configs"] = [{"targets": [f"127.0.0.1:{self.port}"]}]
        for name, change in jobs.items():
            other = copy.deepcopy(job)
            other["job_name"] = name
            change(other)
            config["scrape_configs"].append(other)
        return config

    def token_write(self, name, *scopes):
        with open(name, "w", encoding="ascii") as f:
            f.write(self.token(name.split(".")[0], *scopes) + "\n")
        os.chmod(name, 0o600)

    def test_scraped(self):
        """A Prometheus with the example's configuration gets metrics, and one with wrong credentials gets none."""
        self.token_write("metrics.token", "metrics=yes")
        self.token_write("reader.token", "read=*")
        self.start("web")
        config = self.config(
            without=lambda job: job.pop("authorization"),
            scope=lambda job: job["authorization"].update(credentials_file=os.path.abspath("reader.token")),
            authority=lambda job: job["tls_config"].update(ca_file=os.path.abspath("tls/clients.pem")),
        )
        with Prometheus(config) as p:
            self.d.wait(lambda: p.values("up").get("mprofd") == 1)

            def archived():
                self.rings["web"].add(1)
                return p.values("mprofd_archive_packets").get("mprofd", 0)

            self.assertLess(archived(), 3)
            self.d.wait(lambda: archived() >= 3)
            # Then it is the value that the server gives to others.
            told = lambda: re.search(r"(?m)^mprofd_archive_packets (\d+)$", self.ask("/metrics", token=self.full).body.decode()).group(1)
            self.d.wait(lambda: p.values("mprofd_archive_packets") == {"mprofd": float(told())})
            # On a busy machine a scrape now and then takes more than its second: then there is no value for a while, and another error.
            self.d.wait(lambda: p.values("mprofd_copied_bytes_total").get("mprofd", 0) > 0)
            self.d.wait(lambda: p.values("up") == {"mprofd": 1, "without": 0, "scope": 0, "authority": 0})
            wanted = {"without": "401 Unauthorized", "scope": "403 Forbidden", "authority": "certificate signed by unknown authority"}
            for job, words in wanted.items():
                self.d.wait(lambda job=job, words=words: words in p.errors().get(job, ""))
            self.d.wait(lambda: p.errors().get("mprofd") == "")
            self.d.wait(lambda: set(p.values("mprofd_archiving")) == {"mprofd"})
            described = p.ask("targets/metadata", match_target='{job="mprofd"}', metric="mprofd_copied_bytes_total") or []
            described += p.ask("targets/metadata", match_target='{job="mprofd"}', metric="mprofd_copied_bytes") or []
            self.assertEqual([one["type"] for one in described], ["counter"])

            # Prometheus takes every expression, and evaluates the rules without an error.
            for expression in expressions():
                with self.subTest(expression):
                    self.assertIsNotNone(p.ask("query", query=expression))
            # The labels of the target, of which the dashboard chooses, are those of each series.
            series = p.ask("series", **{"match[]": '{__name__=~"mprofd_.+",job="mprofd"}'})
            self.assertGreater(len(series), 50)
            self.assertEqual([one for one in series if not TARGET <= set(one)], [])
            rules = lambda: [rule for group in p.ask("rules")["groups"] for rule in group["rules"]]
            self.assertGreater(len(rules()), 20)
            self.d.wait(lambda: all(rule["health"] != "unknown" for rule in rules()))
            self.assertEqual([rule["lastError"] for rule in rules() if rule["health"] != "ok"], [])

            # An alert begins when the collector ends, and a revoked token gets no metrics.
            alerts = lambda: {(a["labels"]["alertname"], a["labels"]["job"]) for a in p.ask("alerts")["alerts"]}
            self.d.wait(lambda: ("MprofdCollectorDown", "mprofd") not in alerts())
            self.d.stop_collector()
            self.d.wait(lambda: ("MprofdCollectorDown", "mprofd") in alerts())
            with open("metrics.token", encoding="ascii") as f:
                self.command("--token", "revoke", access.ID.fullmatch(f.read().strip()).group(1))
            self.d.wait(lambda: "401 Unauthorized" in p.errors().get("mprofd", ""))
            # Prometheus reads the token's file for each scrape.
            self.token_write("metrics.token", "metrics=yes")
            self.d.wait(lambda: p.values("up").get("mprofd") == 1)

    def test_promtool(self):
        """promtool finds nothing to complain about in the metrics of all daemons, and these are all that the documents name."""
        with open("mprofd.conf", "a", encoding="utf-8") as f:
            f.write("[sink]\nlisten = 127.0.0.1:0\n[fleet]\nsend = captures\n")
        self.start("web")
        self.d.start_sink()
        text = self.d.wait(lambda: (lambda t: t if "mprofd_sink_streams" in t else None)(self.ask("/metrics", token=self.full).body.decode()))
        checked = subprocess.run([tool("promtool"), "check", "metrics"], input=text, capture_output=True, text=True, check=False)
        self.assertEqual((checked.returncode, checked.stdout, checked.stderr), (0, "", ""))
        exposed = set(TYPE.findall(text))
        self.assertGreater(len(exposed), 70)
        # These are exposed on Xen, where no test of this file runs; the judge of tests/xen/lab looks for them.
        with open(os.path.join(SOURCE, "daemon/xen/source-xen.c"), encoding="utf-8") as f:
            source = f.read()
        on_xen = {f"{name}_total" if kind == "counter" else name for name, kind in re.findall(r"# TYPE (mprofd_\w+) (\w+)\\n", source)}
        self.assertIn("mprofd_xenstore_refused_total", on_xen)
        named = {name for expression in expressions() for name in NAME.findall(expression)}
        self.assertGreater(len(named), 50)
        # TYPE lines alone do not suffice: each metric has a sample.
        samples = {name: set(LABEL.findall(labels)) for name, labels in SAMPLE.findall(text)}
        self.assertEqual(named - set(samples) - on_xen, set())
        samples.update({name: set(LABEL.findall(labels)) for name, labels in re.findall(r'"(mprofd_\w+)\{(.*)\} ', source)})
        used = list(labels_used())
        self.assertGreater(len(used), 60)
        for metrics, labels in used:
            for metric in metrics:
                self.assertEqual(labels - TARGET - samples.get(metric, set()), set(), metric)
        self.assertIn({"reason", "instance", "job"}, [labels for _, labels in used])
        # promtool parses every expression as a rule's.
        with open("rules.yml", "w", encoding="utf-8") as f:
            rules = [{"record": f"expression:{n}", "expr": expression} for n, expression in enumerate(expressions())]
            json.dump({"groups": [{"name": "expressions", "rules": rules}]}, f)
        checked = subprocess.run([tool("promtool"), "check", "rules", "rules.yml"], capture_output=True, text=True, check=False)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        self.assertIn(f"{len(rules)} rules found", checked.stdout)
        tested = set(NAME.findall(document("alerts-test.yml")))
        self.assertEqual(tested - exposed - on_xen, set())


if __name__ == "__main__":
    need_tools()
    daemons.main()
