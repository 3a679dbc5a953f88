"""Test the table of a program's options: program-options.py SOURCE-ROOT COMPILER…

A line in a table is enough for a new option: the help, the function that takes it, the completions of three shells, and the comparison with the man page
have it. The other tests are about what that function refuses.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT, *CC = sys.argv[1:]
HERE = os.path.join(ROOT, "include/options")
TABLE = """# A comment.
# words {words}
Usage: program [OPTION]...

# once
  --source WHERE  find "it" there\\here (default: a)
  --state DIR     keep it's state there
# most 2
  --listen WHERE  listen there
  --check         check, and
                  exit
  --help          print this text
  --version       print the version
"""
NEW = "  --colour-of NAME  paint it\n"
MAIN = """
#include <getopt.h>
#include <stdio.h>
#include "program-options.made.h"

int main(int argc, char **argv)
{
	struct program_options o = {.source = "a", .state = "s"};
	int r = program_options_take(&o, "1.0", argc, argv);

	if (r >= 0)
		return r;
	printf("%s %s %zu %d", o.source, o.state, o.n_listen, o.check);
#ifdef NEW
	printf(" %s", o.colour_of ? o.colour_of : "-");
#endif
	for (int i = optind; i < argc; i++)
		printf(" %s", argv[i]);
	return 0;
}
"""
PAGE = """.SH SYNOPSIS
.B program
.RB [ \\-\\-source
.IR WHERE ]
.RB [ \\-\\-state
.IR DIR "] [" \\-\\-listen
.IR WHERE ]...
.B \\-\\-check \\-\\-help \\-\\-version
.SH OPTIONS
.TP
.BI \\-\\-source " WHERE"
.TP
.BI \\-\\-state\\~ DIR
.TP
.BI \\-\\-listen " WHERE"
.TP
.B \\-\\-check
.TP
.B \\-\\-help
.TP
.B \\-\\-version
"""


class Options(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.TemporaryDirectory()
        self.addCleanup(self.work.cleanup)

    def path(self, name):
        return os.path.join(self.work.name, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)
        return self.path(name)

    def make(self, *arguments, of="program"):
        done = subprocess.run([sys.executable, "-B", f"{HERE}/{of}-options.py", *arguments], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def build(self, table, *flags):
        self.write("program-options.made.h", self.make("header", self.write("table", table))[1])
        options = ["-std=gnu17", "-Wall", "-Wextra", "-Werror", *flags, "-I", self.work.name, "-I", HERE, "-I", f"{ROOT}/include"]
        subprocess.run([*CC, *options, "-o", self.path("program"), self.write("main.c", MAIN), f"{HERE}/program-options.c"], check=True)

    def run_it(self, *arguments):
        done = subprocess.run([self.path("program"), *arguments], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr.replace(self.path("program"), "program")

    def test_one_line_is_a_new_option(self):
        table = TABLE.format(words="none").replace("  --check ", NEW + "  --check ")
        self.build(table, "-DNEW")
        self.assertEqual(self.run_it("--colour-of", "red"), (0, "a s 0 0 red", ""))
        self.assertEqual(self.run_it()[1], "a s 0 0 -")
        self.assertIn(NEW, self.run_it("--help")[1])
        for shell in "bash", "zsh", "fish":
            script = self.make("complete", self.path("table"), f"{HERE}/completion/program.{shell}.in")[1]
            self.assertIn("-l colour-of" if shell == "fish" else "--colour-of", script)
            self.assertNotRegex(script, "--help 2>|@[a-z]+@")
            if shutil.which(shell):
                subprocess.run([shell, "-n", self.write("script", script)], check=True)
        self.assertEqual(
            self.make("man", self.path("table"), self.write("page.1", PAGE)),
            (1, "page.1: SYNOPSIS lacks --colour-of\npage.1: OPTIONS lacks --colour-of\n"),
        )

    def test_page(self):
        table = self.write("table", TABLE.format(words="none"))
        self.assertEqual(self.make("man", table, self.write("page.1", PAGE)), (0, ""))
        self.assertEqual(
            self.make("man", table, self.write("page.1", PAGE.replace("state\\~ DIR", "state\\~ PATH"))),
            (1, "page.1: OPTIONS has --state PATH, the table --state DIR\n"),
        )
        self.assertEqual(
            self.make("man", table, self.write("page.1", PAGE + ".TP\n.B \\-\\-old\n")), (1, "page.1: OPTIONS has --old, which the table lacks\n")
        )

    def test_help(self):
        """The help is the table without its comments."""
        table = TABLE.format(words="none")
        self.build(table)
        wanted = "".join(line for line in table.splitlines(keepends=True) if not line.startswith("#"))
        for option in "--help", "-h":
            self.assertEqual(self.run_it(option), (0, wanted, ""))
        self.assertEqual(self.run_it("--version"), (0, "program 1.0\n", ""))

    def test_taken(self):
        self.build(TABLE.format(words="none"))
        self.assertEqual(self.run_it("--source=b", "--state", "t", "--listen", "1", "--listen", "2", "--check"), (0, "b t 2 1", ""))
        self.assertEqual(self.run_it("--state", "t", "--state", "u"), (0, "a u 0 0", ""))
        for arguments, sentence in (
            (("--source", "b", "--source", "c"), "program: --source c: --source was given before; give it once\n"),
            (("--listen=1", "--listen=2", "--listen=3"), "program: --listen 3: --listen was given 2 times, and it may not be given more often\n"),
            (("--state", ""), "program: --state is empty: write a directory, or leave the option out for the default\n"),
            (("word",), "program: word: it takes options only; see program --help\n"),
            (("--check=1",), "program: option '--check' doesn't allow an argument\nprogram: see program --help\n"),
        ):
            self.assertEqual(self.run_it(*arguments), (2, "", sentence))

    def test_words(self):
        self.build(TABLE.format(words="behind"))
        self.assertEqual(self.run_it("--check", "word", "--listen", "1"), (0, "a s 0 1 word --listen 1", ""))
        self.build(TABLE.format(words="between"))
        self.assertEqual(self.run_it("--check", "word", "--listen", "1"), (0, "a s 1 1 word", ""))

    def test_one_line_is_a_new_option_of_a_verb(self):
        """The parser, the help and the completion of mprofctl have it, and the man page does not."""
        page = f"{ROOT}/docs/man/mprofctl.1"
        with open(f"{ROOT}/client/ctl/mprofctl.options", encoding="utf-8") as f:
            table = f.read()
        self.assertEqual(self.make("man", f"{ROOT}/client/ctl/mprofctl.options", page, of="verb"), (0, ""))
        note = "  --note TEXT       a note to keep with the capture\n"
        self.assertIn(note, table)
        new = self.write("new", table.replace(note, note + "# values red green\n  --colour-of NAME  paint it\n"))
        self.assertIn("\tconst char *colour_of;\n", self.make("header", new, of="verb")[1])
        source = self.make("source", new, of="verb")[1]
        row = '.name = "--colour-of", .at = offsetof(struct options, colour_of), .what = "paint it", .value = "NAME", .words = "red|green"'
        self.assertEqual(source.count(row), 1)
        self.assertIn("  --colour-of NAME  paint it\\n", source)
        self.assertEqual(
            self.make("man", new, page, of="verb"), (1, "mprofctl.1: no heading has --colour-of NAME\nmprofctl.1: snapshot lacks --colour-of\n")
        )
        other = self.write("other", table.replace("Usage: mprofctl snapshot DOMAIN ", "Usage: mprofctl snapshot DOMAIN|CAPTURE "))
        self.assertEqual(
            self.make("man", other, page, of="verb"), (1, "mprofctl.1: snapshot has the operands ['DOMAIN'], the table ['DOMAIN|CAPTURE']\n")
        )
        less = self.write("less", table.replace(note, "").replace(" [--note TEXT]", ""))
        self.assertEqual(
            self.make("man", less, page, of="verb"),
            (1, "mprofctl.1: a heading has --note, which the table lacks\nmprofctl.1: snapshot has --note, which the table lacks\n"),
        )


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
