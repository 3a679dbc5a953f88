"""Test the completions of the daemons and of the programs of a fleet in shells: program-completion.py SOURCE-ROOT BUILD-DIRECTORY [TEST…]

Check the words that bash, zsh and fish offer for each program: the options and verbs of its help, directories, files, and values.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import unittest

import completion

BUILD = os.path.abspath(sys.argv[2])
SCRIPTS = os.path.join(BUILD, "include/options/completion")
PROGRAMS = sorted(os.path.basename(name) for name in glob.glob(f"{SCRIPTS}/*") if re.fullmatch("[a-z-]+", os.path.basename(name)))
VALUES = {
    ("mprofd", "--source"): {"xen", "dir:"},
    ("mprofd-http", "--listen"): {"unix:", "https:"},
    ("mprofd-http", "--scope"): {"read=", "context=", "write=", "metrics=yes"},
    ("mprofd-http", "--token"): {"new", "list", "revoke", "admit"},
}


class Shell:
    """Tests for every shell. self.offer(PROGRAM, WORDS…) returns the shell's offers for the last word."""

    def setUp(self):
        super().setUp()
        os.mkdir(f"{self.work.name}/rings")
        self.helps = {}
        for program in PROGRAMS:
            (path,) = glob.glob(f"{BUILD}/daemon/*/{program}") or [f"{BUILD}/schema/{program}"]
            os.symlink(path, f"{self.work.name}/bin/{program}")
            self.helps[program] = subprocess.run([path, "--help"], capture_output=True, text=True, check=True).stdout

    def each_option(self):
        for program in PROGRAMS:
            for option, value in re.findall(r"(?m)^  (--[a-z-]+)(?: (\S+))?  ", self.helps[program]):
                yield program, option, value

    def test_syntax(self):
        for program in PROGRAMS:
            self.run_shell(self.shell, "-n", self.script(program))

    def test_options(self):
        """All options of the help, and no other word."""
        self.assertLessEqual({"mprofd", "mprofd-http", "mprofd-sink"}, set(PROGRAMS))
        for program in PROGRAMS:
            options = {option for p, option, _ in self.each_option() if p == program}
            self.assertLessEqual({"--help", "--version"}, options)
            self.assertEqual(self.offer(program, "--"), options)
            self.assertEqual(self.offer(program, "--vers"), {"--version"})

    def test_verbs(self):
        verbs = set(re.findall(r"(?m)^  ([a-z][a-z-]*)  ", self.helps["mprofd-fleet"]))
        self.assertIn("daily", verbs)
        self.assertEqual(self.offer("mprofd-fleet", ""), verbs)

    def test_values(self):
        """Directories, files, and the values of an enumeration; else nothing."""
        known = dict(VALUES)
        for program, option, value in self.each_option():
            if not value:
                continue
            wanted = known.pop((program, option), set())
            for words in (option, ""), self.equals(option, ""):
                offered = {re.sub(r"^--[a-z]+=", "", word).rstrip("/") for word in self.offer(program, *words)}
                if value == "DIR":
                    wanted = {"bin", "rings"}
                if value == "FILE":
                    self.assertLessEqual({"good.ctf", "bad trace.ctf"}, offered, (program, words))
                else:
                    self.assertEqual(offered, wanted, (program, words))
        self.assertEqual(known, {})


class Bash(Shell, completion.Case):
    shell = "bash"

    def script(self, program):
        return f"{SCRIPTS}/{program}"

    def equals(self, option, value):
        return (option, "=", value) if value else (option, "=")

    def offer(self, program, *words):
        script = (
            'source "$0"; f=$1; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); $f; ((${#COMPREPLY[@]})) && printf "%s\\n" "${COMPREPLY[@]}"; :'
        )
        function = "_" + program.replace("-", "_")
        return set(self.run_shell("bash", "--norc", "-c", script, self.script(program), function, program, *words))

    def test_loaded(self):
        for program in PROGRAMS:
            loaded = self.run_shell("bash", "--norc", "-c", f'source "$0"; complete -p {program}', self.script(program))
            self.assertEqual(loaded, [f"complete -F _{program.replace('-', '_')} {program}"])


@unittest.skipUnless(shutil.which("zsh"), "no zsh here")
class Zsh(Shell, completion.Case):
    shell = "zsh"

    # Stand-ins for zsh's own functions, which need a terminal. They print what zsh would offer.
    STUBS = """
        _describe() {
            local entry
            for entry in "${(@P)4}"; do entry=${entry//\\\\:/$'\\x01'}; print -r -- "${${entry%%:*}//$'\\x01'/:}"; done | { grep -- "^${words[CURRENT]}" || : }
        }
        _files() { local -a found; [[ $1 == -/ ]] && found=("${words[CURRENT]}"*(N/)) || found=("${words[CURRENT]}"*(N)); print -rl -- $found }
        compset() { words[CURRENT]=${words[CURRENT]#*=} }
        script=$1; shift; words=("$@"); CURRENT=$#
        complete_it() { source "$script" }
        complete_it
    """

    def script(self, program):
        return f"{SCRIPTS}/_{program}"

    def equals(self, option, value):
        return (f"{option}={value}",)

    def offer(self, program, *words):
        return set(self.run_shell("zsh", "-f", "-c", self.STUBS, "zsh", self.script(program), program, *words)) - {""}

    def test_loaded(self):
        """The completion system recognizes the files."""
        for program in PROGRAMS:
            shutil.copy(self.script(program), f"{self.work.name}/_{program}")
        script = 'fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -d dump; for program; do print -r -- "${_comps[$program]}"; done'
        self.assertEqual(self.run_shell("zsh", "-f", "-c", script, "zsh", *PROGRAMS), [f"_{program}" for program in PROGRAMS])


@unittest.skipUnless(shutil.which("fish"), "no fish here")
class Fish(Shell, completion.Case):
    shell = "fish"

    def script(self, program):
        return f"{SCRIPTS}/{program}.fish"

    def equals(self, option, value):
        return (f"{option}={value}",)

    def offer(self, program, *words):
        line = " ".join([program, *words])
        offered = self.run_shell("fish", "--no-config", "-c", f"source {self.script(program)}; complete -C '{line}'")
        return {word.split("\t")[0].replace("\\ ", " ") for word in offered}


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
