"""Test the completion of mprof-run in shells: run-completion.py SOURCE-ROOT MPROF-RUN [TEST…]

Check the words that bash, zsh and fish offer: the options of the help, directories, commands, and the
words of a command.
"""

import os
import re
import shutil
import subprocess
import sys
import unittest

import completion

RUN = os.path.abspath(sys.argv[2])
FOLDER = os.path.join(os.path.dirname(RUN), "completion")
SCRIPTS = {"bash": f"{FOLDER}/mprof-run", "zsh": f"{FOLDER}/_mprof-run", "fish": f"{FOLDER}/mprof-run.fish"}


class Shell:
    """Tests for every shell. self.offer(WORDS…) returns the shell's offers for the last word."""

    def setUp(self):
        super().setUp()
        os.symlink(RUN, f"{self.work.name}/bin/mprof-run")
        os.mkdir(f"{self.work.name}/rings")
        with open(f"{self.work.name}/bin/traced-program", "w", encoding="ascii") as f:
            f.write("#!/bin/sh\n")
        os.chmod(f"{self.work.name}/bin/traced-program", 0o755)

    def test_syntax(self):
        self.run_shell(self.shell, "-n", SCRIPTS[self.shell])

    def test_options(self):
        """All options of the help, and no other word."""
        text = subprocess.run([RUN, "--help"], capture_output=True, text=True, check=True).stdout
        options = set(re.findall(r"(?m)^  (--[a-z-]+)", text))
        self.assertLessEqual({"--ring", "--dir", "--keep"}, options)
        self.assertEqual(self.offer("--"), options)
        self.assertEqual(self.offer("--keep", "--ring", "8M", "--k"), {"--keep"})

    def test_values(self):
        self.assertEqual({word.rstrip("/") for word in self.offer("--dir", "ri")}, {"rings"})
        self.assertEqual(self.offer("--ring", ""), set())
        self.assertEqual({word.rstrip("/") for word in self.offer(*self.equals("--dir", "ri"))}, self.after_equals)

    def test_commands(self):
        for words in ((), ("--keep",), ("--dir", "rings"), ("--ring", "8M", "--")):
            self.assertEqual(self.offer(*words, "traced-p"), {"traced-program"}, words)

    def test_words_of_a_command(self):
        """They are the command's: no option of mprof-run, but files."""
        self.assertIn("good.ctf", self.offer("--keep", "traced-program", "go"))
        self.assertEqual(self.offer("traced-program", "--ke"), set())
        self.assertIn("good.ctf", self.offer("--", "traced-program", "--", "go"))


class Bash(Shell, completion.Case):
    shell = "bash"
    after_equals = {"rings"}

    def equals(self, option, value):
        return (option, "=", value)

    def offer(self, *words):
        script = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mprof_run; ((${#COMPREPLY[@]})) && printf "%s\\n" "${COMPREPLY[@]}"; :'
        return set(self.run_shell("bash", "--norc", "-c", script, SCRIPTS["bash"], "mprof-run", *words))

    def test_loaded(self):
        loaded = self.run_shell("bash", "--norc", "-c", 'source "$0"; complete -p mprof-run', SCRIPTS["bash"])
        self.assertEqual(loaded, ["complete -F _mprof_run mprof-run"])

    def test_own_completion_of_a_command(self):
        """With the package bash-completion the command's own completion is asked."""
        script = '_command_offset() { echo "$1"; }; source "$0"; COMP_WORDS=(mprof-run --keep program x); COMP_CWORD=3; _mprof_run'
        self.assertEqual(self.run_shell("bash", "--norc", "-c", script, SCRIPTS["bash"]), ["2"])


@unittest.skipUnless(shutil.which("zsh"), "no zsh here")
class Zsh(Shell, completion.Case):
    shell = "zsh"
    after_equals = {"rings"}

    # Stand-ins for zsh's own functions, which need a terminal. They print what zsh would offer.
    STUBS = """
        _describe() { local entry; for entry in "${(@P)${@[-1]}}"; do print -r -- "${entry%%:*}"; done | grep -- "^${words[CURRENT]}" }
        _files() { local -a found; [[ $1 == -/ ]] && found=("${words[CURRENT]}"*(N/)) || found=("${words[CURRENT]}"*(N)); print -rl -- $found }
        _command_names() { print -rl -- ${(Mk)commands:#${words[CURRENT]}*} }
        _normal() { [[ ${words[CURRENT]} == -* ]] || _files }
        compset() { words[CURRENT]=${words[CURRENT]#*=} }
        script=$1; shift; words=("$@"); CURRENT=$#
        complete_it() { source "$script" }
        complete_it
    """

    def equals(self, option, value):
        return (f"{option}={value}",)

    def offer(self, *words):
        return set(self.run_shell("zsh", "-f", "-c", self.STUBS, "zsh", SCRIPTS["zsh"], "mprof-run", *words)) - {""}

    def test_loaded(self):
        """The completion system recognizes the file."""
        shutil.copy(SCRIPTS["zsh"], f"{self.work.name}/_mprof-run")
        script = 'fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -d dump; print -r -- "${_comps[mprof-run]}"'
        self.assertEqual(self.run_shell("zsh", "-f", "-c", script), ["_mprof-run"])


@unittest.skipUnless(shutil.which("fish"), "no fish here")
class Fish(Shell, completion.Case):
    shell = "fish"
    after_equals = {"--dir=rings"}

    def equals(self, option, value):
        return (f"{option}={value}",)

    def offer(self, *words):
        line = " ".join(["mprof-run", *words])
        offered = self.run_shell("fish", "--no-config", "-c", f"source {SCRIPTS['fish']}; complete -C '{line}'")
        return {word.split("\t")[0].replace("\\ ", " ") for word in offered}


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
