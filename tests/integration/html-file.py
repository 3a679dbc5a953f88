"""Test pages of one file: html-file.py SOURCE-ROOT MPROFCTL own|large [TEST…]

Parse the output of `mprofctl export --to html` and `mprofctl view` as a browser would: its policy
allows exactly its own parts, it loads nothing from elsewhere, guests' texts stand in it only as
base64, and its trace is the trace. tests/browser/single-file.mjs tests the page in a browser. node
checks the joining of modules (client/viewer/join.py, onefile.py).
"""

import ast
import base64
import contextlib
import glob
import gzip
import hashlib
import html.parser
import json
import lzma
import os
import re
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../client/viewer"))

import join

ROOT, MPROFCTL = map(os.path.abspath, sys.argv[1:3])
PART = sys.argv[3]
TRACES = os.path.join(ROOT, "tests", "traces")
ONEFILE = os.path.join(ROOT, "client", "viewer", "onefile.py")
UUID = bytes.fromhex("05883b8d521a487bb397456ab150680c")
NODE = shutil.which("node")
PATIENCE = 3  # seconds that mprofctl gives a browser for its failure: PATIENCE_MS of client/ctl/verbs/browser.c
QUIET = {"BROWSER": "", "DISPLAY": "", "WAYLAND_DISPLAY": ""}
# Texts that would be markup or a script, or would deceive, if they stood in a page unencoded.
HOSTILE = [b"</script><script>alert(1)</script>", b"<!--<script>", b"]]>", b"&lt;img src=x onerror=alert(1)&gt;", b"\xff\xfe</SCRIPT >"]
HOSTILE += ["\u2028\u202e".encode(), b'"><img src=//elsewhere.example/x>', b"javascript:alert(1)", b"@import url(//elsewhere.example)"]


def run(*arguments, code=0, stdin=None, env=None):
    """Run mprofctl. Return its standard output and error."""
    done = subprocess.run([MPROFCTL, *arguments], input=stdin, capture_output=True, timeout=300, env={**os.environ, **QUIET, **(env or {})})
    if done.returncode != code:
        raise AssertionError(f"{arguments}: exit code {done.returncode} and not {code}: {done.stderr.decode()}")
    return done.stdout, done.stderr.decode()


def packet(count, *events):
    body = b"".join(events)
    bits = (30 + len(body)) * 8
    return struct.pack("<I16sIHI", 0xC1FC1FC1, UUID, bits, count, bits) + body


def label(time, thread, text):
    return struct.pack("<QBq", time, 5, thread) + text + b"\0"


class Page(html.parser.HTMLParser):
    """A page as a browser parses it: [(tag, attributes, text)] of all elements in their order, text
    up to the next tag."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.ended, self.odd = [], [], []
        self.inside = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append([tag, dict(attrs), ""])
        self.inside = True

    def handle_endtag(self, tag):
        self.ended.append(tag)
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.elements[-1][2] += data

    def handle_decl(self, decl):
        if decl != "doctype html":
            self.odd.append(decl)

    def handle_comment(self, data):
        self.odd.append(data)

    def handle_pi(self, data):
        self.odd.append(data)

    def of(self, tag, **attributes):
        return [it for it in self.elements if it[0] == tag and all(it[1].get(key.replace("_", "-")) == value for key, value in attributes.items())]


def contents(page):
    (last,) = page.of("script", id="contents")
    return json.loads(base64.b64decode(last[2], validate=True))


def streams(page, trace=0):
    """Return the bytes of each stream of a trace."""
    out = []
    for i, stream in enumerate(contents(page)["traces"][trace]["streams"]):
        pieces = page.of("script", data_part=f"{trace}.{i}")
        assert len(pieces) == stream["pieces"], (len(pieces), stream)
        for one in pieces[:-1]:
            assert len(one[2]) == 4 << 20, len(one[2])
        out.append(gzip.decompress(b"".join(base64.b64decode(one[2], validate=True) for one in pieces)))
    return out


class Files(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.mkdtemp(prefix="mprof.")
        self.addCleanup(shutil.rmtree, self.work)
        self.addCleanup(os.chdir, "/")
        os.chdir(self.work)

    def write(self, path, data):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)

    def read(self, path):
        """Read a page and check its form."""
        with open(path, encoding="utf-8", newline="") as file:
            text = file.read()
        page = Page(text)
        self.sound(page)
        return page

    def sound(self, page):
        self.assertEqual([it[0] for it in page.elements[:4]], ["html", "head", "meta", "meta"])
        self.assertEqual(page.elements[2][1], {"charset": "utf-8"})
        self.assertEqual(page.ended[-2:], ["body", "html"])
        self.assertEqual(page.odd, [])
        policy = self.policy(page)
        for tag, attributes, _ in page.elements:
            self.assertNotIn(tag, ("iframe", "object", "embed", "base", "form", "img", "a", "template"))
            for key, value in attributes.items():
                self.assertFalse(key.startswith("on") or key in ("src", "style", "action", "integrity"), key)
                if key == "href":
                    self.assertEqual((tag, value), ("link", "data:,"))
        self.code(page, policy)
        for _, attributes, text in page.of("script"):
            if attributes:
                self.assertRegex(attributes["type"], r"\Aapplication/(octet-stream|json)\Z")
                self.assertRegex(text, r"\A[A-Za-z0-9+/]*={0,2}\Z")

    def policy(self, page):
        (meta,) = page.of("meta", http_equiv="Content-Security-Policy")
        # The policy applies only to what follows it.
        self.assertEqual(page.elements.index(meta), 3)
        policy = dict(part.strip().split(" ", 1) for part in meta[1]["content"].split(";"))
        self.assertEqual(set(policy), {"default-src", "script-src", "style-src", "worker-src", "img-src", "base-uri", "form-action"})
        for name in "default-src", "base-uri", "form-action":
            self.assertEqual(policy[name], "'none'")
        self.assertEqual((policy["worker-src"], policy["img-src"]), ("blob:", "data: blob:"))
        return policy

    def code(self, page, policy):
        """Check that the policy names exactly the scripts and styles in the page."""
        scripts = [text for _, attributes, text in page.of("script") if not attributes]
        styles = [text for _, attributes, text in page.of("style")]
        hashes = ["'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'" for text in scripts + styles]
        self.assertEqual((len(scripts), len(styles)), (1, 1))
        self.assertEqual(policy["script-src"].split(), [hashes[0], "'wasm-unsafe-eval'"])
        self.assertEqual(policy["style-src"].split(), [hashes[1]])

    def same(self, path, got, code=0):
        """Check that the streams GOT hold the events and gaps of the trace at PATH."""
        events = [json.loads(line) for line in run("dump", path, "--json", code=code)[0].splitlines()]
        for one in events:
            one.pop("stream", None)
        mine = []
        for data in got:
            self.write("again", data)
            mine += [json.loads(line) for line in run("dump", "again", "--json")[0].splitlines()]
        key = lambda it: (int(it["time_ns"]), json.dumps(it, sort_keys=True))
        if len(got) > 1:
            events.sort(key=key)
            mine.sort(key=key)
        self.assertEqual(mine, events)

    def lost(self, path, code=0):
        told = json.loads(run("stats", path, "--json", code=code)[0])
        return sum(one["lost_packets"] for one in told.get("streams", [told]))


class Own(Files):
    def test_generated(self):
        heads = set()
        for path in sorted(glob.glob(TRACES + "/*.ctf.xz")):
            with self.subTest(os.path.basename(path)):
                code = 3 if re.search(r"killed|truncated", path) else 0
                run("export", path, "--to", "html", "-o", "out.html", code=code)
                page = self.read("out.html")
                told = contents(page)
                self.assertEqual((told["version"], [it["name"] for it in told["traces"]]), (1, [os.path.basename(path)]))
                self.assertEqual([it["name"] for it in told["traces"][0]["streams"]], [""])
                self.assertEqual(bool(told["traces"][0]["notes"]), code == 3)
                self.same(path, streams(page), code)
                self.assertEqual(self.lost("again"), self.lost(path, code))
                with open("out.html", "rb") as file:
                    data = file.read()
                heads.add(data[: data.index(b"<script type=")])
                # A second export and an export to a pipe give the same bytes.
                self.assertEqual(run("export", path, "--to", "html", "-o", "-", code=code)[0], data)
        self.assertEqual(len(heads), 1)
        print(f"a page is {len(heads.pop()) / 1024:.0f} KiB and the trace", file=sys.stderr)

    def test_several_streams(self):
        for name in "wrapped", "small", "eio":
            self.write("trace/" + name, lzma.open(os.path.join(TRACES, name + ".ctf.xz")).read())
        shutil.copy(os.path.join(ROOT, "schema/ctf/metadata.tsdl"), "trace/metadata")
        run("export", "trace", "--to", "html")
        page = self.read("trace.html")
        names = [it["name"] for it in contents(page)["traces"][0]["streams"]]
        self.assertEqual(sorted(names), ["eio", "small", "wrapped"])
        for name, data in zip(names, streams(page)):
            self.same("trace/" + name, [data])

    def test_inputs(self):
        log = b'((time 8249.521266)(op(Switch 0)))\n((time 8249.5213)(op(Label 0"a b")))\n'
        self.write("log", log)
        run("export", "log", "--to", "html")
        self.same("log", streams(self.read("log.html")))
        run("export", "-", "--to", "html", stdin=log)
        self.same("log", streams(self.read("trace.html")))
        self.write("none", packet(0))
        run("export", "none", "--to", "html")
        self.same("none", streams(self.read("none.html")))

    def test_hostile(self):
        """Names and labels stand in the file only as base64."""
        events = [label(1000 + i, i, text) for i, text in enumerate(HOSTILE)] + [label(10, 1, b"back to 10"), label(2**64 - 1, 1, b"late")]
        for text in HOSTILE:
            self.write(b"trace/".decode() + os.fsdecode(text.replace(b"/", b"_")), packet(0, *events))
        self.write("trace/metadata", b"")
        run("export", "trace", "--to", "html", "-o", "out.html")
        plain = open("out.html", "rb").read()
        page = self.read("out.html")
        self.assertEqual(plain.count(b"<script"), 1 + 1 + len(HOSTILE))
        self.assertEqual(plain.count(b"<!"), 1)
        for text in HOSTILE[0], HOSTILE[4], b"elsewhere.example", b"back to 10":
            self.assertNotIn(text, plain)
        for data in streams(page):
            self.same("trace/" + os.fsdecode(HOSTILE[0].replace(b"/", b"_")), [data])
        self.assertEqual(len(contents(page)["traces"][0]["streams"]), len(HOSTILE))
        name = os.fsdecode(b"<img src=x>\xff\n.ctf")
        self.write(name, packet(0, *events))
        run("export", name, "--to", "html", "-o", "name.html")
        self.assertEqual(contents(self.read("name.html"))["traces"][0]["name"], "<img src=x>\ufffd\n.ctf")

    def test_damage(self):
        """The page has sentences for the damage, up to a bound."""
        self.write("damaged", b"".join(packet(i, label(i + 1, 1, b"x"), b"\1" * 8 + b"\xee") for i in range(300)))
        run("export", "damaged", "--to", "html", code=3)
        notes = contents(self.read("damaged.html"))["traces"][0]["notes"]
        self.assertEqual(len(notes), 101)
        self.assertRegex(notes[0], r"\ADamage: .*packet 0.*\.\Z")
        self.assertEqual(notes[-1], "Further damage is not listed.")
        self.same("damaged", streams(self.read("damaged.html")), 3)

    def test_period(self):
        path = os.path.join(TRACES, "wrapped.ctf.xz")
        times = [int(json.loads(line)["time_ns"]) for line in run("dump", path, "--json")[0].splitlines()]
        span = ["--from", f"{times[900]}ns", "--to", f"{times[3000]}ns"]
        run("export", path, "--to", "html", "-o", "out.html", *span)
        (data,) = streams(self.read("out.html"))
        self.write("part", data)
        self.assertEqual(run("dump", "part")[0], run("dump", path, *span)[0])

    def test_script(self):
        """node reads the page's script as a classic script, and the worker in it as another one."""
        if not NODE:
            self.skipTest("there is no node")
        run("export", os.path.join(TRACES, "small.ctf.xz"), "--to", "html", "-o", "out.html")
        (script,) = [text for _, attributes, text in self.read("out.html").of("script") if not attributes]
        workers = [json.loads(re.search(rf'^const {name} = (".*");$', script, re.M)[1]) for name in ("WORKER", "HEAP_WORKER")]
        for name, text in ("page.cjs", script), ("worker.cjs", workers[0]), ("heap-worker.cjs", workers[1]):
            self.write(name, text.encode())
            subprocess.run([NODE, "--check", name], check=True, timeout=300)
        for name in "eval(", "new Function(", "import(", "innerHTML", "document.write":
            self.assertNotIn(name, script)


class Memory(Files):
    """Memory profiles: all of their bytes are in the page, whatever is damaged in them."""

    def setUp(self):
        super().setUp()
        # The first five bytes of these inputs are the fuzzer's choices.
        with open(os.path.join(ROOT, "tests/fuzz/corpus/scan/joined"), "rb") as file:
            self.joined = file.read()[5:]
        self.write("joined.trace", self.joined)

    def test_export(self):
        run("mem", "export", "joined.trace", "--to", "html", "--recording", "2", "-o", "out.html", code=3)
        page = self.read("out.html")
        (told,) = contents(page)["traces"]
        self.assertEqual((told["name"], told["memory"], told["recording"], told["notes"]), ("joined.trace", True, 2, []))
        self.assertEqual(streams(page), [self.joined])
        with open("out.html", "rb") as file:
            self.assertEqual(run("mem", "export", "-", "--to", "html", "--recording", "2", stdin=self.joined, code=3)[0][:999], file.read()[:999])

    def test_view(self):
        self.write("packed.gz", gzip.compress(self.joined))
        self.write("small.ctf", lzma.open(os.path.join(TRACES, "small.ctf.xz")).read())
        said = run("view", "packed.gz", "small.ctf", "-o", "two.html", code=3)[1]
        self.assertIn("2 recordings" if "2 recordings" in said else "packet", said)
        page = self.read("two.html")
        self.assertEqual([(it["name"], it.get("memory")) for it in contents(page)["traces"]], [("packed.gz", True), ("small.ctf", None)])
        self.assertEqual(streams(page), [self.joined])
        self.same("small.ctf", streams(page, 1))
        with open("joined.trace", "rb") as file:
            subprocess.run(
                [MPROFCTL, "view", "-", "-o", "stdin.html"], stdin=file, capture_output=True, check=False, timeout=300, env={**os.environ, **QUIET}
            )
        self.assertEqual(streams(self.read("stdin.html")), [self.joined])

    def test_words(self):
        self.assertIn("choose filters in the page", run("mem", "export", "joined.trace", "--to", "html", "--size=8..", code=2)[1])
        self.assertIn("--hide means nothing", run("mem", "export", "joined.trace", "--to", "html", "--hide=x", code=2)[1])
        self.assertIn("shows all of it", run("view", "joined.trace", "--last=1s", code=2)[1])
        self.assertIn("shows all of it", run("view", "joined.trace", "--from=+1s", code=2)[1])
        self.assertIn("no recording 3", run("mem", "export", "joined.trace", "--to", "html", "--recording=3", "-o", "x.html", code=4)[1])
        self.write("none", b"x" * 99)
        self.assertIn("no memory profile", run("mem", "export", "none", "--to", "html", "-o", "x.html", code=1)[1])
        self.assertEqual(sorted(os.listdir()), ["joined.trace", "none"])


class View(Files):
    def setUp(self):
        super().setUp()
        for name in "small", "eio":
            self.write(name + ".ctf", lzma.open(os.path.join(TRACES, name + ".ctf.xz")).read())
        os.mkdir("tmp")

    def browser(self, name, last):
        self.write(name, b'#!/bin/sh\nprintf "%s\\n" "$0" "$@" >>"' + os.fsencode(self.work) + b'/asked"\n' + last)
        os.chmod(name, 0o755)
        return os.path.join(self.work, name)

    def asked(self):
        with open("asked", encoding="utf-8") as file:
            return file.read().splitlines()

    def view(self, *arguments, code=0, **env):
        return run("view", *arguments, code=code, env={"TMPDIR": self.work + "/tmp", **env})

    def repeated(self, good, wait, *arguments, **env):
        """As view(), again until GOOD(what it says) is true, as it is within WAIT seconds: but only if mprofctl took so long that it may have
        taken a browser that fails, or has not written yet, for one that runs."""
        for _ in range(10):
            with contextlib.suppress(FileNotFoundError):
                os.unlink("asked")
            began = time.monotonic()
            said = self.view(*arguments, **env)
            slow = time.monotonic() - began >= PATIENCE
            until = time.monotonic() + wait
            while not good(said) and slow and time.monotonic() < until:
                time.sleep(0.02)
            if good(said):
                return said
            if not slow:
                break
        raise AssertionError(f"not what was expected of the browsers: {said}")

    def ask(self, n, *arguments, **env):
        """As view(), and the browsers write N lines."""
        return self.repeated(lambda _: os.path.exists("asked") and len(self.asked()) >= n, 30, *arguments, **env)

    def test_opened(self):
        good = self.browser("good", b"exit 0\n")
        out, said = self.ask(2, "small.ctf", BROWSER=good)
        self.assertEqual((out, said), (b"", ""))
        program, path = self.asked()
        self.assertEqual(program, good)
        self.assertRegex(path, re.escape(self.work) + r"/tmp/mprofctl\.\w{6}/small\.html\Z")
        self.assertEqual(stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode), 0o700)
        self.same("small.ctf", streams(self.read(path)))

    def test_browsers(self):
        """mprofctl tries the browsers one after the other until one does not fail, and does not
        wait for a running one."""
        bad, late = self.browser("bad", b"exit 1\n"), self.browser("late", b"exec sleep 20\n")
        told = json.loads(self.ask(4, "small.ctf", "-o", "page.html", "--json", BROWSER=f":/no/such:{bad}:{late}:{bad}")[0])
        self.assertEqual(told, {"path": self.work + "/page.html", "opened": True})
        self.assertEqual(self.asked(), [bad, told["path"], late, told["path"]])

    def test_desktop(self):
        """On a desktop mprofctl runs xdg-open, then sensible-browser."""
        os.mkdir("bin")
        self.browser("bin/xdg-open", b"exit 3\n")
        sensible = self.browser("bin/sensible-browser", b"exit 0\n")
        path = {"PATH": self.work + "/bin:" + os.environ["PATH"]}
        self.ask(4, "small.ctf", "-o", "page.html", **path, WAYLAND_DISPLAY="wayland-0")
        self.assertEqual(self.asked()[2:], [sensible, self.work + "/page.html"])
        os.unlink("asked")
        self.assertIn(b"page.html", self.view("small.ctf", "-o", "page.html", **path)[0])
        self.assertFalse(os.path.exists("asked"))

    def test_arguments(self):
        """A browser's command has arguments, %s stands for the file, and the file's name cannot add
        to the command."""
        good = self.browser("good", b"exit 0\n")
        os.mkdir("a %s b")
        page = self.work + "/a %s b/page.html"
        for command, asked in (
            (good + " --new-window", ["--new-window", page]),
            (f" {good}  --file=%s:1 -x %s%s ", None),  # a colon ends a command
            (f"{good} --file=%s -x %s%s", ["--file=" + page, "-x", page + page]),
        ):
            asked = asked or ["--file=" + page]
            self.ask(1 + len(asked), "small.ctf", "-o", page, BROWSER=command)
            self.assertEqual(self.asked(), [good, *asked])
        self.assertIn("no browser", self.view("small.ctf", "-o", page, BROWSER=good + " x" * 99)[1])
        os.rename("good", "go od")
        self.ask(2, "small.ctf", "-o", page, BROWSER=self.work + "/go od")
        self.assertEqual(self.asked(), [self.work + "/go od", page])

    def test_none(self):
        out, said = self.repeated(lambda said: said[1], 0, "small.ctf", BROWSER="false")
        self.assertIn("no browser could be started", said)
        self.read(out.decode().rstrip("\n"))

    def test_two(self):
        self.view("small.ctf", "eio.ctf", "-o", "two.html")
        page = self.read("two.html")
        self.assertEqual([it["name"] for it in contents(page)["traces"]], ["small.ctf", "eio.ctf"])
        for i, name in enumerate(("small.ctf", "eio.ctf")):
            self.same(name, streams(page, i))
        with open("eio.ctf", "rb") as file:
            run("view", "small.ctf", "-", "-o", "two.html", stdin=file.read())
        self.same("eio.ctf", streams(self.read("two.html"), 1))

    def test_words(self):
        """mprofctl reports wrong arguments before it makes a file, and a failure leaves none."""
        self.assertIn("only one of the two", self.view("-", "-", code=2)[1])
        self.assertIn("a browser opens files", self.view("small.ctf", "-o", "-", code=2)[1])
        self.assertIn("one argument too many", self.view("a", "b", "c", code=2)[1])
        self.assertIn("an argument is missing", self.view(code=2)[1])
        self.assertIn("cannot open", self.view("file:none", code=4)[1])
        self.assertIn("select from the daemon's traces", self.view("small.ctf", "--last", "1s", code=2)[1])
        self.assertIn("cannot write", self.view("small.ctf", "-o", "no/where", code=1)[1])
        self.assertIn("set TMPDIR to another directory", run("view", "small.ctf", code=1, env={"TMPDIR": self.work + "/none"})[1])
        self.assertEqual(os.listdir("tmp"), [])
        self.assertEqual(sorted(os.listdir()), ["eio.ctf", "small.ctf", "tmp"])


class Joined(Files):
    """Tests of client/viewer/onefile.py and join.py."""

    GOOD = {
        "single-file.js": """import {
\tone,
\ttwo as second,
} from "./a.js";
import {Late} from "./b-c.js";
/* import {none} from "./none.js"; */
// export default none
const text = `import {x} from "./x.js"; ${[1].map((it) => { return `${it}}` + "`"; })}
import {x} from "./x.js";
export const y = 1;`;
const regex = /["'`/]export[/"]/.test('"export/'), half = 4 / 2 / 1;
console.log(one, second(), new Late().name, Late.name, text, regex, half, this === undefined, typeof import.meta.url === "string");
""",
        "a.js": 'import {Late} from "./b-c.js";\nexport const one = new Late().name + "\\u2028</p>";\nexport function two() {\n\treturn two.name + twice();\n}\n'
        "function twice() { return one + one; }\nexport async function* odd() {}\n".replace(
            "export async function* odd() {}\n", "export async function odd() {}\n"
        ),
        "b-c.js": 'console.log("once");\nexport class Late {\n\tname = "late";\n\texport = 1;\n}\n'.replace("\texport = 1;\n", "")
        + "const twice = {import: 1}.import;\nconsole.log(twice);\n",
        "worker/heap-worker.js": "console.log(1);\n",
        "worker/worker.js": 'import {Late} from "../b-c.js";\nconsole.log(new Late().name);\n',
    }
    STYLES = "style.css", "trace/timeline.css", "memory/memory.css"

    def join(self, code=0, **files):
        shutil.rmtree("viewer", ignore_errors=True)
        for name, text in {**self.GOOD, **files}.items():
            self.write("viewer/" + name, text.encode())
        for name in self.STYLES:
            self.write("viewer/" + name, files.get(name, "p { margin: 0; }").encode())
        self.write("viewer/package.json", b'{"type": "module"}')
        self.write("viewer.wasm", b"\0asm")
        done = subprocess.run([sys.executable, ONEFILE, "out.c", "out.d", "viewer", "viewer.wasm"], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr

    def page(self):
        with open("out.c", encoding="ascii") as file:
            pieces = re.findall(r'^\t"(.*)";?$', file.read(), re.M)
        # An escape has three octal digits, in C as in Python.
        return b"".join(ast.literal_eval(f'b"{piece}"') for piece in pieces).decode()

    def node(self, *arguments):
        done = subprocess.run([NODE, *arguments], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_same(self):
        """Joined modules behave like the separate ones."""
        self.join()
        if not NODE:
            self.skipTest("there is no node")
        (script,) = [text for _, attributes, text in Page(self.page()).of("script") if not attributes]
        self.write("page.cjs", script.encode())
        self.assertEqual(self.node("page.cjs"), self.node("viewer/single-file.js"))

    def test_embedded(self):
        files = {"single-file.js": 'import {WASM, WORKER} from "./embedded.js";\nconsole.log(WASM);\nconsole.log(WORKER);\n'}
        self.join(**files)
        if not NODE:
            self.skipTest("there is no node")
        (script,) = [text for _, attributes, text in Page(self.page()).of("script") if not attributes]
        self.write("page.cjs", script.encode())
        wasm, worker = self.node("page.cjs").split("\n", 1)
        self.assertEqual(gzip.decompress(base64.b64decode(wasm)), b"\0asm")
        self.write("worker.cjs", worker.encode())
        self.assertEqual(self.node("worker.cjs"), self.node("viewer/worker/worker.js"))

    def test_depends(self):
        self.join()
        with open("out.d", encoding="utf-8") as file:
            self.assertEqual(
                set(file.read().split()[1:]),
                {"viewer/" + name for name in (*self.GOOD, *self.STYLES)} | {os.path.join(os.path.dirname(ONEFILE), "join.py")},
            )

    def test_served(self):
        """A served script knows where its modules would be, and has no comments."""
        self.write(
            "viewer/host/a.js",
            b"/* a remark */\nexport const where = new URL('../b.wasm', import.meta.url).href; // a remark\n"
            b"export const text = '/* no remark */', /* a remark */ n = 1;\n",
        )
        self.write("viewer/main.js", b"""import {where, text} from "./host/a.js";\n\t// a remark\nconsole.log(where, text);\n""")
        script = join.join(join.Folder("viewer").read, "main.js", served=True)
        self.assertNotIn("a remark", script.replace("no remark", ""))
        self.assertIn('b.wasm\', new URL("host/a.js", import.meta.url).href).href;\nconst text', script)
        if not NODE:
            self.skipTest("there is no node")
        self.write("served/main.mjs", script.encode())
        self.assertEqual(self.node("served/main.mjs"), f"file://{os.path.abspath('served/b.wasm')} /* no remark */\n")

    def test_without_wasm(self):
        self.join()
        subprocess.run([sys.executable, ONEFILE, "out.c", "out.d", "viewer"], check=True, timeout=300)
        with open("out.c", encoding="ascii") as file:
            self.assertIn("viewer_page_bytes = 0;", file.read())

    def test_unknown(self):
        """The build ends with a sentence for each form of import or export that it would join
        wrongly."""
        head = 'import {one} from "./a.js";\n'
        for text, words in (
            ('import * as a from "./a.js";\n', "is not known"),
            ('import a from "./a.js";\n', "is not known"),
            ('import "./a.js";\n', "is not known"),
            ('import {one} from "./a.js"\n', "is not known"),
            ('import {one} from "a";\n', "an import from"),
            ('import {one} from "https://elsewhere.example/a.js";\n', "an import from"),
            ('import {none} from "./a.js";\n', "does not export none"),
            ('import {one} from "./none.js";\n', "there is no viewer/none.js"),
            ('import {one as default} from "./a.js", x;\n', "is not known"),
            ('import {"one" as one} from "./a.js";\n', "an import of"),
            (head + 'const a = await import("./a.js");\n', "is not known"),
            (head + "console.log(import.meta.resolve);\n", "is not known"),
            (head + "export default one;\n", "is not known"),
            (head + "export {one};\n", "is not known"),
            (head + 'export * from "./a.js";\n', "is not known"),
            (head + "export let x = 1;\n", "is not known"),
            (head + "export var x = 1;\n", "is not known"),
            (head + "export const {x} = {x: 1};\n", "is not known"),
            (head + "\texport const x = 1;\n", "is not known"),
            (head + "const $modules = 1;\n", "is not known"),
            (head + 'const x = "</script>";\n', "has '</script'"),
            (head + "const x = `<!--`;\n", "has '<!--'"),
        ):
            with self.subTest(text):
                self.assertIn(words, self.join(1, **{"single-file.js": text}))
        self.assertIn("import each other: ", self.join(1, **{"b-c.js": 'import {one} from "./a.js";\nexport class Late {}\n'}))
        self.assertIn("has '</style'", self.join(1, **{"style.css": "p { content: '</style>'; }"}))
        self.assertIn("has '@import'", self.join(1, **{"style.css": "@import 'x';"}))


class Large(Files):
    def test_bound(self):
        """A trace that is too long for a page gives a sentence and no file."""
        one = packet(0, label(1, 1, b"x" * (1 << 20)))
        packed = gzip.compress(b"".join([one] * 16), 1)
        self.write("long.gz", packed * 33)
        said = run("export", "long.gz", "--to", "html", code=1)[1]
        self.assertIn("longer than the 512 MiB that one page can hold", said)
        self.assertEqual(len(said.splitlines()), 1 + said.count("further damage"), said)
        self.assertIn("longer than the 512 MiB", run("view", "long.gz", code=1)[1])
        self.assertEqual(os.listdir(), ["long.gz"])

    def test_pieces(self):
        """Export a stream of many pieces."""
        noise = os.urandom(9 << 20).replace(b"\0", b"\1")
        self.write("noise", b"".join(packet(i, label(i + 1, 1, noise[i << 18 : (i + 1) << 18])) for i in range(36)))
        run("export", "noise", "--to", "html")
        page = self.read("noise.html")
        self.assertGreater(contents(page)["traces"][0]["streams"][0]["pieces"], 2)
        self.same("noise", streams(page))


if __name__ == "__main__":
    try:
        run("export", os.path.join(TRACES, "small.ctf.xz"), "--to", "html", "-o", "/dev/null")
    except AssertionError as error:
        if "without the viewer" in str(error):
            print("SKIP: mprofctl was built without the viewer")
            sys.exit(77)
    loader = unittest.defaultTestLoader
    cases = {"own": (Own, View, Joined), "large": (Large,)}[PART]
    if sys.argv[4:]:
        loader.testNamePatterns = [f"*{word}*" for word in sys.argv[4:]]
    done = unittest.TextTestRunner(verbosity=2 if sys.stderr.isatty() else 1).run(unittest.TestSuite(map(loader.loadTestsFromTestCase, cases)))
    sys.exit(not done.wasSuccessful())
