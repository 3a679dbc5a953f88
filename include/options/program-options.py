#!/usr/bin/env python3
"""Read a program's table of options, its help, and make of it what else tells the options.

program-options.py header TABLE           a header of C: the help, and a function that takes the options
program-options.py complete TABLE SCRIPT  the completion for a shell, from the template SCRIPT
program-options.py man TABLE PAGE         fail if SYNOPSIS and OPTIONS of the man page have other options

A table is the text that --help prints. A line "  --name VALUE  what it does" is an option, and a line "  verb  what it does" a verb. A value
DIR is a directory, which must not be empty, and FILE a file. A line that begins with # is not printed. These say something of the next option or
of the program: `# most N` (the option may be given N times), `# once` (it may not be given twice), `# values` and the values that completions offer,
if VALUE does not name them, `# words behind` and `# words between` (other words may follow the options, or stand between them). The help in a shell script is such a table, too.
"""

import os
import re
import sys

import manual

OPTION = re.compile(r"^  --([a-z][a-z-]*)(?: (\S+))?(?:  +(.*))?$")
VERB = re.compile(r"^  ([a-z][a-z-]*)  +(.*)$")
WORDS = {"none": "OPTIONS_ONLY", "behind": "OPTIONS_BEFORE_WORDS", "between": "OPTIONS_AMONG_WORDS"}


class Option:
    def __init__(self, name, value, says, most, once, words):
        self.name, self.value, self.says, self.most, self.once = name, value or "", says or "", most, once
        self.field = name.replace("-", "_")
        self.kind = value if value in ("DIR", "FILE") else "VALUE" if value else ""
        named = words or [word for word in (re.match(r"[a-z-]*:?", part)[0] for part in self.value.split("|")) if word]
        self.offered = " ".join(named) or self.kind


class Table:
    def __init__(self, path):
        self.help, self.options, self.verbs, self.words = [], [], [], "none"
        with open(path, encoding="utf-8") as f:
            text = f.read()
        if text.startswith("#!"):
            text = re.sub(r"(?m)^\t+", "", re.search(r"<<-'END'\n(.*?)\n\t*END\n", text, re.S)[1]) + "\n"
        most, once, words = 0, False, []
        for line in text.splitlines():
            if line.startswith("#"):
                most = int(line[7:]) if line.startswith("# most ") else most
                once = once or line == "# once"
                self.words = line[8:] if line.startswith("# words ") else self.words
                words = line.split()[2:] if line.startswith("# values ") else words
                continue
            self.help.append(line)
            option, verb = OPTION.match(line), VERB.match(line)
            if option:
                self.options.append(Option(*option.groups(), most, once, words))
                most, once, words = 0, False, []
            elif verb:
                self.verbs.append(verb.groups())
        self.program = re.match(r"Usage: (\S+)", self.help[0])[1]

    def taken(self):
        """Return the options that the program gets, which are all but --help and --version."""
        return [o for o in self.options if o.name not in ("help", "version")]


def string(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def header(table):
    """Return a header with the help, struct program_options, and the function that fills it."""
    fields, values = [], []
    for o in table.taken():
        of = "NULL"
        if o.most:
            fields.append(f"\tconst char *{o.field}[{o.most}];\n\tsize_t n_{o.field};")
            of = f".value = o->{o.field}, .count = &o->n_{o.field}, .most = {o.most}"
        elif o.kind:
            fields.append(f"\tconst char *{o.field};")
            of = f".value = &o->{o.field}"
        else:
            fields.append(f"\tbool {o.field};")
            of = f".flag = &o->{o.field}"
        of += ", .is_directory = true" if o.kind == "DIR" else ""
        of += ", .is_single = true" if o.once else ""
        values.append(f"\t\t{{.name = {string(o.name)}, {of}}},")
    lines = [f"/* The options of {table.program}, made from its table by program-options.py. */"]
    lines += ["#include <stdbool.h>", "#include <stddef.h>", "", '#include "array.h"', '#include "program-options.h"', ""]
    lines += ["struct program_options {", *fields, "};", "", "/* Take ARGV into *O, which has the defaults. Return as options_take(). */"]
    lines += ["static inline int program_options_take(struct program_options *o, const char *version, int argc, char **argv)", "{"]
    lines += ["\tconst struct option_value values[] = {", *values, "\t};", "\tstatic const char help[] ="]
    lines += [f'\t\t{string(line)[:-1]}\\n"' for line in table.help]
    lines[-1] += ";"
    lines += ["\tconst struct option_table table = {", f"\t\t.program = {string(table.program)},", "\t\t.version = version,", "\t\t.help = help,"]
    lines += [f"\t\t.words = {WORDS[table.words]},", "\t\t.values = values,", "\t\t.n = ARRAY_SIZE(values),", "\t};", ""]
    lines += ["\treturn options_take(&table, argc, argv);", "}"]
    return "\n".join(lines) + "\n"


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def fish_quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


DIRECTORIES = '(__fish_complete_directories (commandline -ct | string replace -r -- "^--[a-z-]+=" ""))'
FISH = {"DIR": f" -x -a '{DIRECTORIES}'", "FILE": " -r -F", "VALUE": " -x", "": ""}


def fish_value(option):
    return FISH.get(option.offered, " -x -a " + fish_quoted(option.offered))


def complete(table, script):
    """Return the completion SCRIPT, a template, with the words of TABLE."""
    verb = f"complete -c {table.program} -n __fish_use_subcommand"
    words = {
        "program": table.program,
        "function": table.program.replace("-", "_"),
        "values": " ".join(f"[--{o.name}]={quoted(o.offered)}" for o in table.options),
        "verbs": " ".join(name for name, _ in table.verbs),
        "described": " ".join(quoted(f"--{o.name}:{o.says}") for o in table.options),
        "described-verbs": " ".join(quoted(f"{name}:{says}") for name, says in table.verbs),
        "with-value": " ".join(f"--{o.name}" for o in table.options if o.kind),
        "fish": "\n".join(f"complete $each -l {o.name} -d {fish_quoted(o.says)}{fish_value(o)}" for o in table.options),
        "fish-verbs": "\n".join(f"{verb} -a {name} -d {fish_quoted(says)}" for name, says in table.verbs),
    }
    with open(script, encoding="utf-8") as f:
        return re.sub(r"@([a-z-]+)@", lambda match: words[match[1]], f.read())


def man(table, page):
    """Return what differs between TABLE and the man page PAGE, a list of sentences."""
    synopsis, headings, said = page.synopsis(), page.headings("OPTIONS"), []
    for o in table.options:
        if o.name not in synopsis:
            said.append(f"SYNOPSIS lacks --{o.name}")
        if o.name not in headings:
            said.append(f"OPTIONS lacks --{o.name}")
        elif len(headings[o.name]) == 1 and headings[o.name][0] != o.value:
            said.append(f"OPTIONS has --{o.name} {headings[o.name][0]}, the table --{o.name} {o.value}")
    known = {o.name for o in table.options}
    said += [f"SYNOPSIS has --{name}, which the table lacks" for name in sorted(synopsis - known)]
    said += [f"OPTIONS has --{name}, which the table lacks" for name in sorted(set(headings) - known)]
    return said


def main(what, path, *more):
    table = Table(path)
    if what == "man":
        said = man(table, manual.Page(*more))
        sys.exit("\n".join(f"{os.path.basename(more[0])}: {sentence}" for sentence in said) if said else 0)
    print(header(table) if what == "header" else complete(table, *more), end="")


main(*sys.argv[1:])
