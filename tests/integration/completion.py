"""Test the completion in shells: completion.py SOURCE-ROOT MPROFCTL [TEST…]

Check the words that bash, zsh and fish offer for mprofctl, with a daemon that answers, with one
that does not, and without one.
"""

import http.server
import json
import os
import re
import shutil
import socketserver
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../launcher"))

import launcher

ROOT, MPROFCTL = map(os.path.abspath, sys.argv[1:3])
SCRIPTS = os.path.join(ROOT, "client", "ctl", "verbs", "completion", "mprofctl.")
NAMES = ["web", "web-2", "$(touch pwned)", "a;b", "-rf", "x y", "", "line\nbreak", "`id`"]


class Daemon(http.server.BaseHTTPRequestHandler):
    """Serve guests that chose their own names, and captures."""

    def do_GET(self):
        if self.path.startswith("/v1/domains"):
            body = {"domains": [{"name": name, "state": "running"} for name in NAMES]}
        else:
            body = {"captures": [{"id": 12, "kind": "crash"}, {"id": 7, "kind": "manual"}]}
        body = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Mute(socketserver.BaseRequestHandler):
    """Accept a connection and send nothing, until OVER."""

    over = threading.Event()

    def handle(self):
        self.over.wait()


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False


def serve(handler):
    server = Server(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_address[1]}"


class Case(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.TemporaryDirectory()
        os.mkdir(f"{self.work.name}/bin")
        os.symlink(MPROFCTL, f"{self.work.name}/bin/mprofctl")
        for name in "good.ctf", "bad trace.ctf":
            open(f"{self.work.name}/{name}", "w").close()
        self.host = "unix:/nowhere"

    def tearDown(self):
        self.work.cleanup()

    def run_shell(self, *command):
        path = f"{self.work.name}/bin:{os.environ['PATH']}"
        environment = os.environ | {"PATH": path, "MPROFCTL_HOST": self.host, "HOME": self.work.name, "LC_ALL": "C.UTF-8"}
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=self.work.name, env=environment, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout.splitlines()


MEM = ["dump", "identify", "hotspots", "flame", "peak", "leaks", "timeline", "diff", "subsample", "export", "list", "start", "stop"]


def help_of(*verb):
    """Return the help of a verb, or of mprofctl."""
    return subprocess.run([MPROFCTL, *verb, "--help"], capture_output=True, text=True, check=True).stdout


class Words(Case):
    """The words that `mprofctl complete` prints, with their descriptions."""

    def complete(self, *words):
        return [line.split("\t") for line in self.run_shell("mprofctl", "complete", "--", *words)]

    def test_verbs(self):
        verbs = re.findall(r"^  ([a-z]+)\b", help_of().split("\nOptions")[0], re.M)
        self.assertEqual([word for word, _ in self.complete("")], verbs)
        self.assertIn(["stats", "summarize a trace in numbers"], self.complete("s"))
        self.assertEqual(self.complete("nothing", ""), [])

    def test_descriptions(self):
        self.assertIn(["--last", "for a domain or a capture, as for fetch"], self.complete("dump", "--"))
        self.assertIn(["-o", "write to FILE, replacing it"], self.complete("view", "-"))
        self.assertIn(["--unresolved", "only unresolved threads"], self.complete("threads", "--u"))
        self.assertEqual(self.complete("why", "--", "--"), [[":files"]])

    def test_values(self):
        self.assertEqual(self.complete("dump", "--event", "fails,la"), [["fails,label", ""]])
        self.assertEqual(self.complete("dump", "--event=cr"), [["--event=creates", ""]])
        self.assertEqual(self.complete("dump", "--event=rec"), [["--event=recorder", ""]])
        self.assertEqual(self.complete("dump", "--event", "gc,st"), [["gc,state", ""]])
        self.assertIn("ctf", [words[0] for words in self.complete("export", "x", "--to", "")])
        self.assertEqual(self.complete("stats", "x", "--to", ""), [])
        self.assertEqual(self.complete("fetch", "web", "-o", ""), [[":files"]])
        self.assertEqual([words[0] for words in self.complete("mem", "")], MEM)
        self.assertEqual(self.complete("mem", "dump", ""), [[":files"]])
        self.assertEqual(self.complete("stats", "one", ""), [])

    def test_usage(self):
        done = subprocess.run([MPROFCTL, "complete"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""))

    def test_mute(self):
        """With a daemon that never answers, completion offers the words that need no daemon."""
        server, self.host = serve(Mute)
        self.addCleanup(server.server_close)
        self.addCleanup(Mute.over.set)
        self.assertEqual(self.complete("dump", ""), [[":files"]])


NEXT = "next line of words"


class Shell:
    """Tests for every shell. self.offers(LINES) returns the shell's offers for the last word of each line, a list of words."""

    def offer(self, *words):
        """Return the shell's offers for the last of WORDS."""
        return self.offers([words])[0]

    def answered(self, wanted, *words):
        """Return the shell's offers for the last of WORDS, once WANTED, from the daemon, are among them. mprofctl waits two seconds for a
        daemon, and offers nothing then."""
        return launcher.wait(lambda: wanted <= (offered := self.offer(*words)) and offered)

    def split(self, lines):
        """Return the sets of LINES that end with lines NEXT."""
        sets = [set()]
        for line in lines:
            sets[-1].add(line)
            if line == NEXT:
                sets[-1].remove(line)
                sets.append(set())
        return sets[:-1]

    def words(self, lines):
        """Return the words of LINES, with NEXT behind each line."""
        return [word for line in lines for word in ("mprofctl", *line, NEXT)]

    def test_syntax(self):
        self.run_shell(self.shell, "-n", SCRIPTS + self.shell)

    def test_words(self):
        self.assertEqual(self.offer("st"), {"stats"})
        self.assertLessEqual({"--event", "--follow", "--json"}, self.offer("dump", "--"))
        self.assertEqual(self.offer("dump", "--event", "fa"), {"fails"})
        self.assertEqual(self.offer("--json", "why", "--fr"), {"--from"})

    def test_each_option(self):
        """Every verb of the help is offered, with every option that its help shows, and no other."""
        common = {"--ca", "--cert", "--help", "--host", "--json", "--key", "--token", "--version"}
        self.assertEqual(self.offer("--"), common | {"--stdio-proxy"})
        verbs = set(re.findall(r"^  ([a-z]+)\b", help_of().split("\nOptions")[0], re.M))
        self.assertEqual(self.offer(""), verbs)
        for verb, offered in zip(sorted(verbs), self.offers([(verb, "--") for verb in sorted(verbs)])):
            self.assertEqual(offered, common | set(re.findall(r"--[a-z][a-z-]*", help_of(verb))), verb)
        behind = re.findall(r"^(?:Usage:|      ) mprofctl (mem|token) (\S+)(.*)", help_of("mem") + help_of("token"), re.M)
        behind = [(verb, name, usage) for verb, names, usage in behind for name in names.split("|")]
        for (verb, name, usage), offered in zip(behind, self.offers([(verb, name, "--") for verb, name, _ in behind])):
            named = set(re.findall(r"--[a-z][a-z-]*", usage))
            self.assertLessEqual(named, offered, name)
            if "OPTION" not in usage and name != "subsample":
                self.assertEqual(offered, named | common, name)
        self.assertLessEqual({"--callers", "--heap", "--output", "--title"}, self.offer("mem", "flame", "--"))
        self.assertEqual(self.offer("mem", "flame", "--po"), set())

    def test_each_value(self):
        values = (
            (("dump", "--time", ""), {"wall", "guest", "relative"}),
            (("export", "x", "--to", ""), set(re.findall(r"^  ([a-z]+)  ", help_of("export").split("\nFormats:")[1], re.M))),
            (("fleet", ""), {"crashes-by-image", "crashes-by-cause", "crashes-by-host-week", "causes-returned", "loss-by-host", "newest"}),
            (("mem", ""), set(MEM)),
            (("mem", "export", "x", "--to", ""), {"collapsed", "html", "json", "pprof", "speedscope"}),
            (("mem", "leaks", "x", "--collected", ""), {"never"}),
            (("mem", "leaks", "x", "--heap", "minor,ma"), {"minor,major"}),
            (("mem", "leaks", "x", "--live", ""), {"end", "peak"}),
            (("token", ""), {"new", "list", "revoke"}),
            (("token", "new", "x", "--scope", "m"), {"metrics=yes"}),
        )
        for (words, wanted), offered in zip(values, self.offers([words for words, _ in values])):
            self.assertEqual(offered, wanted, words)

    def test_files_and_guests(self):
        server, self.host = serve(Daemon)
        self.addCleanup(server.server_close)
        self.assertLessEqual({"good.ctf", "bad trace.ctf"}, self.answered({"web", "web-2", "12", "7"}, "stats", ""))
        self.assertEqual(self.answered({"12", "7"}, "show", ""), {"12", "7"})
        self.assertEqual(self.answered({"web", "web-2"}, "snapshot", "we"), {"web", "web-2"})
        self.assertEqual(self.offer("diff", "good.ctf", "go") - {"good.ctf/"}, {"good.ctf"})

    def test_harmless(self):
        """Guests choose their names, and no name makes a shell run anything."""
        server, self.host = serve(Daemon)
        self.addCleanup(server.server_close)
        self.assertEqual(self.answered({"web", "web-2"}, "snapshot", ""), {"web", "web-2"})
        self.assertFalse(os.path.exists(f"{self.work.name}/pwned"))

    def test_without_daemon(self):
        self.assertEqual(self.offer("captures", ""), set())
        self.assertIn("good.ctf", self.offer("dump", "g"))


class Bash(Shell, Case):
    shell = "bash"

    SCRIPT = """
        source "$0"
        next=$1
        shift
        while (($#)); do
            COMP_WORDS=()
            while [[ $1 != "$next" ]]; do COMP_WORDS+=("$1"); shift; done
            shift
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            _mprofctl
            printf "%s\\n" "${COMPREPLY[@]}" "$next"
        done
    """

    def offers(self, lines):
        return [found - {""} for found in self.split(self.run_shell("bash", "--norc", "-c", self.SCRIPT, SCRIPTS + "bash", NEXT, *self.words(lines)))]

    def test_equals(self):
        """Bash splits an option, an equals sign and a value into separate words."""
        self.assertEqual(self.offer("dump", "--event", "=", "fa"), {"fails"})
        self.assertIn("fulfills", self.offer("dump", "--event", "="))

    def test_loaded(self):
        self.assertEqual(
            self.run_shell("bash", "--norc", "-c", 'source "$0"; complete -p mprofctl', SCRIPTS + "bash"), ["complete -F _mprofctl mprofctl"]
        )


@unittest.skipUnless(shutil.which("zsh"), "no zsh here")
class Zsh(Shell, Case):
    shell = "zsh"

    # Stand-ins for zsh's own functions, which need a terminal. They print the arguments.
    STUBS = """
        _describe() { local entry; for entry in "${(@P)${@[-1]}}"; do print -r -- "${${entry//\\\\\\\\:/}%%:*}"; done }
        _files() { print -rl -- "${words[CURRENT]}"*(N) }
        script=$1; next=$2; shift 2
        complete_it() { source "$script" }
        while (($#)); do
            words=()
            while [[ $1 != $next ]]; do words+=("$1"); shift; done
            shift
            CURRENT=$#words
            complete_it
            print -r -- $next
        done
    """

    def offers(self, lines):
        return self.split(self.run_shell("zsh", "-f", "-c", self.STUBS, "zsh", SCRIPTS + "zsh", NEXT, *self.words(lines)))

    def test_loaded(self):
        """The completion system recognizes the file."""
        shutil.copy(SCRIPTS + "zsh", f"{self.work.name}/_mprofctl")
        script = 'fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -d dump; print -r -- "${_comps[mprofctl]}"'
        self.assertEqual(self.run_shell("zsh", "-f", "-c", script), ["_mprofctl"])


@unittest.skipUnless(shutil.which("fish"), "no fish here")
class Fish(Shell, Case):
    shell = "fish"

    def offers(self, lines):
        script = "".join(f"complete -C '{' '.join(['mprofctl', *line])}'; echo '{NEXT}'; " for line in lines)
        offered = self.run_shell("fish", "--no-config", "-c", f"source {SCRIPTS}fish; {script}")
        return self.split(word.split("\t")[0].replace("\\ ", " ") for word in offered)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
