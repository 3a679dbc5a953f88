"""Run the commands of the documents on real daemons, and compare their output with the pages: pages.py
BUILD-DIRECTORY [TEST…]

In a block of the language console a line that begins with "$ " is a command, "> " continues it, and the
lines behind it are its output. The commands of a page run one after the other in one shell. A block
that begins with "# " has commands for root, which change the host and do not run. Any other line with
curl is an error, so no command can be missed.

The output may differ in numbers, times, and identifiers; JSON also in blanks. A list has at least one
element like each that the page shows, and none that is like no element of the page. Headers that the
page leaves out are ignored. A line "..." stands for any lines. Commands that the page shows without
output may print anything.
"""

import json
import os
import re
import shutil
import subprocess
import sys

import certificates
import daemons
import sink

TOP = os.path.normpath(os.path.join(daemons.HERE, "../.."))
DOCUMENTS = os.path.join(TOP, "docs")
CURL = re.compile(r"\bcurl\b")
CURL_IN_PROSE = re.compile(r"`curl |\bcurl\s+(?:-|['\"]?https?:)|^    .*\bcurl ")
MARK = "==== command "


class Command:
    def __init__(self, line, text):
        self.line, self.text, self.output = line, text, []


def page(name):
    with open(os.path.join(DOCUMENTS, name), encoding="utf-8") as f:
        return f.read()


def commands(name):
    """Return the commands of a page. Raise AssertionError for a curl outside of them."""
    found, language, command, root = [], None, None, False
    for number, line in enumerate(page(name).splitlines(), 1):
        here = False
        if line.startswith("```"):
            language, command, root = (line[3:].strip() if language is None else None), None, False
        elif language == "console" and (root or command is None and line.startswith("# ")):
            root = True
        elif language == "console":
            if line.startswith("$ "):
                command, here = Command(number, line[2:]), True
                found.append(command)
            elif line.startswith("> ") and command:
                command.text, here = f"{command.text}\n{line[2:]}", True
            elif command:
                command.output.append(line)
            else:
                raise AssertionError(f"docs/{name}:{number}: a line of output without a command")
        if (CURL_IN_PROSE if language is None else CURL).search(line) and not here:
            raise AssertionError(f'docs/{name}:{number}: write curl as a command in a block of the language console, behind "$ "')
    return found


# ---- comparing


def masked(text):
    """Return TEXT with a word in place of each identifier, time and number."""
    text = re.sub(r'^ETag: ".*"$', "ETag: TAG", text)
    text = re.sub(r"mprof_[0-9a-f]{16}_[0-9a-f]{64}", "TOKEN", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", "TIME", text)
    text = re.sub(r"\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b", "ID", text)
    text = re.sub(r"\d+(\.\d+)*", "N", text)
    return re.sub(r"(N )?(ID|N)\b", "N", re.sub(r"[ \t]+", " ", text)).strip()


def differ(shown, real, where="the answer"):
    """Return how REAL differs in shape from SHOWN, two values of JSON, or None."""
    if type(shown) is not type(real) and not (isinstance(shown, (int, float)) and isinstance(real, (int, float)) and not isinstance(shown, bool)):
        return f"{where} is {json.dumps(real)}, the page has {json.dumps(shown)}"
    if isinstance(shown, dict):
        if set(shown) != set(real):
            return f"{where} has the members {sorted(real)}, the page has {sorted(shown)}"
        return next((d for key in shown if (d := differ(shown[key], real[key], f"{where}.{key}"))), None)
    if isinstance(shown, list):
        for lonely, others, what in ((shown, real, "the answer"), (real, shown, "the page")):
            for one in lonely:
                if all(differ(one, other) for other in others):
                    return f"{where}: {what} has nothing like {json.dumps(one)}"
        return None
    if isinstance(shown, str) and masked(shown) != masked(real) or isinstance(shown, bool) and shown != real:
        return f"{where} is {json.dumps(real)}, the page has {json.dumps(shown)}"
    return None


def lines_differ(shown, real, mask=masked):
    """Compare lines of text, each after MASK."""
    shown, real = [mask(line) for line in shown], [mask(line) for line in real]
    pattern = "".join("(?:.*\n)*?" if line == "..." else re.escape(line) + "\n" for line in shown)
    if not re.fullmatch(pattern, "".join(f"{line}\n" for line in real)):
        return "the output is not that of the page"
    return None


def output_differs(shown, real, mask=masked):
    """Compare the output of a command with the lines SHOWN. Return a sentence, or None. MASK is for output that is not JSON."""
    while shown and not shown[-1]:
        shown = shown[:-1]
    if not shown:
        return None
    if shown[0].startswith("HTTP/"):
        real = [line.rstrip("\r") for line in real]
        end = real.index("") if "" in real else len(real)
        missing = {mask(line) for line in shown} - {mask(line) for line in real[:end]}
        return f"the answer has no {sorted(missing)}" if missing else None
    if shown[0][0] in "{[":
        try:
            page_value = json.loads("\n".join(shown))
        except ValueError:
            return lines_differ(shown, real, mask)
        try:
            return differ(page_value, json.loads("\n".join(real)))
        except ValueError:
            return "the answer is not JSON"
    while real and not real[-1]:
        real = real[:-1]
    return lines_differ(shown, real, mask)


# ---- running


def execute(found, replaced, environment, shell=("bash", "--norc")):
    """
    Run commands, one after the other in one SHELL, with the texts of REPLACED in place of its keys.
    Return (command, lines of its output, exit code) for each.
    """
    script = ["export LC_ALL=C.UTF-8", "set -o pipefail"]
    for index, command in enumerate(found):
        text = command.text
        for shown, real in replaced.items():
            text = text.replace(shown, real)
        script += [f"echo '{MARK}{index}'", text, f"code=$?; echo; echo '{MARK}code' $code"]
    piped = {"input": "\n".join(script) + "\n", "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace"}
    done = subprocess.run([*shell], env=environment, check=False, timeout=1800, **piped)  # of all commands of a page, which also compile
    parts = re.split(rf"(?m)^{MARK}", done.stdout)[1:]
    if len(parts) != 2 * len(found):
        raise AssertionError(f"the shell ended too early:\n{done.stdout}")
    outputs = [part.split("\n", 1)[1].removesuffix("\n").splitlines() for part in parts[::2]]
    return list(zip(found, outputs, [int(part.split()[1]) for part in parts[1::2]]))


def codes(command):
    """Return the exit codes that are right for a command."""
    if "| head" in command.text:
        return {0, 23, 141}  # head closes the pipe
    return {22} if "curl" in command.text and re.search(r"\b[45]\d\d\b", "\n".join(command.output)) else {0}


class Case(sink.Case):
    """Daemons as the pages describe them."""

    replaced = {}  # text of a command: text that runs in its place
    mask = staticmethod(masked)

    def setUp(self):
        super().setUp()
        self.port, self.secure = daemons.free_port(), daemons.free_port()
        self.d = self.enterContext(sink.Sink("[http]\nreader = no"))  # its results come at any time
        os.makedirs("bin")
        os.makedirs("home")

    def start(self):
        """Start the daemons, with the server at the addresses of the pages."""
        self.d.start_sink()
        self.d.start_collector()
        self.d.server = self.d.launch("mprofd-http", "--listen", f"unix:{self.d.socket}", "--listen", f"127.0.0.1:{self.port}")
        # curl connects to the daemons of this test; what the server reads is as on the page.
        with open("home/.curlrc", "w", encoding="utf-8") as f:
            f.write(
                f'fail-with-body\nconnect-to = "127.0.0.1:7080:127.0.0.1:{self.port}"\nconnect-to = "lab1.example:7443:127.0.0.1:{self.secure}"\n'
            )

    def wrap(self, name, *arguments):
        """Let the commands find a program of the build, which gets ARGUMENTS first."""
        with open(f"bin/{name}", "w", encoding="utf-8") as f:
            f.write(f'#!/bin/sh\nexec {daemons.program(name)} {" ".join(arguments)} "$@"\n')
        os.chmod(f"bin/{name}", 0o755)

    def run_page(self, name):
        found = commands(name)
        self.assertTrue(found, "no command")
        environment = {**os.environ, "HOME": os.path.abspath("home"), "PATH": f"{os.path.abspath('bin')}:{os.environ['PATH']}"}
        environment["MPROFCTL_HOST"] = f"unix:{self.d.socket}"
        for command, real, code in execute(found, self.replaced, environment):
            with self.subTest(f"docs/{name}:{command.line}: {command.text}"):
                self.assertIsNone(output_differs(command.output, real, self.mask), "\n".join(real))
                self.assertIn(code, codes(command), "\n".join(real))


class Http(Case):
    """The HTTP guide."""

    def setUp(self):
        super().setUp()
        self.start()
        self.writer("mprof-demo-guest", "--ring", "rings/web.ctf", "--size", 1 << 24)  # one packet for minutes
        self.offer_of_web = self.offer(first=sink.info(program="web", context="requests"))
        self.serve_afar()
        self.d.wait(lambda: (self.d.domain("web") or {"last_seen": None})["last_seen"])

    def serve_afar(self):
        """Start a second server of the same archive, with access control."""
        certificates.authority("ca", "Lab")
        certificates.certificate("server", "/CN=lab1.example", "ca", "subjectAltName = DNS:lab1.example", "extendedKeyUsage = serverAuth")
        certificates.certificate("viewer", "/CN=ada", "ca", *certificates.CLIENT)
        here, access = os.getcwd(), f"{self.d.runs}/access.sock"
        with open("afar.conf", "w", encoding="utf-8") as f:
            f.write(f"[access]\ncertificate = {here}/server.pem\nkey = {here}/server.key\nclient-ca = {here}/ca.pem\ntokens = {here}/tokens\n")
            f.write("[grant certificate:ada]\nread = *\n")
        paths = ["--state", self.d.state, "--run", self.d.runs, "--config", "afar.conf"]
        listen = ["--listen", f"https:127.0.0.1:{self.secure}", "--listen", f"unix:{access}"]
        server = daemons.Program([daemons.program("mprofd-http"), *paths, *listen], "afar.log")
        self.addCleanup(server.stop)
        server.wait_ready()  # the file of the socket is there before it listens
        self.wrap("mprofd-http", "--config", f"{here}/afar.conf")

    def test_guide(self):
        self.replaced = {
            "/run/mprofd/http.sock": self.d.socket,
            "/run/mprofd/access.sock": f"{self.d.runs}/access.sock",
            "192.0.2.7": "127.0.0.1",
            "4242": str(self.offer_of_web.port),
        }
        self.run_page("http.md")

    def test_routes(self):
        """The guide shows each route of the API once at least."""
        import yaml

        with open(os.path.join(TOP, "schema/http/openapi.yaml"), encoding="utf-8") as f:
            paths = yaml.safe_load(f)["paths"]
        hub = {route for route, item in paths.items() if all(op["x-served-by"] == "hub" for m, op in item.items() if m != "parameters")}
        routes = [route for route in paths if route != "/" and not route.startswith("/viewer") and route not in hub]
        text = "\n".join(command.text for command in commands("http.md"))
        patterns = {route: re.sub(r"\\\{\w+\\\}", r"(?:[\\w-]+|\\$\\w+)", re.escape(route)) for route in routes}
        missing = [route for route, pattern in patterns.items() if not re.search(rf":(?:7080|7443|//localhost){pattern}(?![\w/])", text)]
        self.assertEqual(missing, [])


class Tutorial(Case):
    """The tutorial. Its example's clock is its own, so every number must be that of the page."""

    mask = staticmethod(str.rstrip)

    def build_options(self):
        with open(os.path.join(daemons.BUILD, "meson-info/intro-buildoptions.json"), encoding="utf-8") as f:
            return {option["name"]: option["value"] for option in json.load(f)}

    def test_tutorial(self):
        self.start()
        self.wrap("mprofctl")
        sanitizers = self.build_options()["b_sanitize"]
        # The shell waits until mprofd knows the end of a run; a person is slower.
        ended = "until mprofctl domains | grep -q '^{} *ended'; do sleep 0.05; done"
        self.replaced = {
            "http://127.0.0.1:7080": f"http://127.0.0.1:{self.port}",
            "/usr/share/doc/libmprof-recorder-dev/examples": daemons.HERE,
            "pkg-config": f"PKG_CONFIG_PATH={os.path.abspath(daemons.BUILD)}/meson-uninstalled pkg-config",
            "cc -o": f"cc{'' if sanitizers == 'none' else f' -fsanitize={sanitizers}'} -Wl,-rpath,{os.path.abspath(daemons.BUILD)}/client/recorder -o",
            "/srv/rings/web.ctf": f"{self.d.rings}/web.ctf; {ended.format('web')}",
            "/srv/rings/fixed.ctf": f"{self.d.rings}/fixed.ctf; {ended.format('fixed')}",
        }
        self.run_page("tutorial.md")


class Others(Case):
    """Pages with few commands."""

    def setUp(self):
        super().setUp()
        self.start()
        self.replaced = {"/run/mprofd/http.sock": self.d.socket}
        self.wrap("mprofctl")

    def test_moving(self):
        self.write("story", "bad", "old.ctf")
        self.run_page("moving.md")

    def test_alerts(self):
        self.run_page("alerts.md")

    def test_operating(self):
        self.run_page("operating.md")


class Rest(daemons.Case):
    RUN = {"http.md", "tutorial.md", "moving.md", "alerts.md", "operating.md", "recorder.md"}  # recorder-page.py runs the last one

    def test_no_page_is_missed(self):
        """Each page with commands has a test that runs them."""
        for folder, _, names in os.walk(DOCUMENTS):
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), DOCUMENTS)
                if name.endswith(".md") and path not in self.RUN:
                    self.assertEqual([f"{path}:{command.line}" for command in commands(path)], [])

    def test_comparison(self):
        """Outputs that must be found different, and equal."""
        same = [
            (['{"a": [1, 2], "b": null}'], ['{"b":null,"a":[7]}']),
            (['{"t": "2026-11-25T18:05:15.17Z"}'], ['{"t": "2027-01-02T00:00:00.1Z"}']),
            (["HTTP/1.1 200 OK", 'ETag: "1-0"'], ["HTTP/1.1 200 OK\r", "Date: x\r", 'ETag: "22-7"\r', "\r", "body"]),
            (["id: 0f96e6dd3cf1b6a6.0", "...", "end"], ["id: 1f96e6dd3cf1b6a7.12", "a", "b", "end"]),
        ]
        different = [
            (['{"a": 1}'], ['{"a": 1, "b": 2}']),
            (['{"a": 1}'], ['{"a": "1"}']),
            (['{"a": null}'], ['{"a": 1}']),
            (['{"a": []}'], ['{"a": [1]}']),
            (['{"a": true}'], ['{"a": false}']),
            (['{"state": "running"}'], ['{"state": "ended"}']),
            (['{"a": 1}'], ["<html>"]),
            (["HTTP/1.1 200 OK"], ["HTTP/1.1 404 Not Found\r"]),
            (["one line"], ["one line", "another"]),
        ]
        for shown, real in same:
            self.assertIsNone(output_differs(shown, real))
        for shown, real in different:
            self.assertIsNotNone(output_differs(shown, real), (shown, real))


if __name__ == "__main__":
    daemons.main()
