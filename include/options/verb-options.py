#!/usr/bin/env python3
"""Read the table of a program with verbs, its help and that of each verb, and make of it what else tells the options.

verb-options.py header TABLE    a header of C: a struct with a field for each option
verb-options.py source TABLE    the rows of all verbs in C, and their help
verb-options.py man TABLE PAGE  fail if the man page tells other verbs, operands, options or values

The text before the first line `# verb` is the help of the program. An option is a line "  -o, --name VALUE  what it does", where several options can be
in front of the gap, or a word of a line of usage, [--name VALUE]; without a value it is a flag. The operands of a line of usage say how many a verb takes.
`# verb NAME` begins the help of a verb, and `# verb NAME VERB` that of a verb with verbs behind it. Options that only some of these have, or only one
format, follow `# of` and their names, up to the next `# of`. `# values` has the values of the next option, if its VALUE does not name them. `# operand`
says of the name of an operand what it stands for.
"""

import os
import re
import sys

import manual

LINE = re.compile(r"^  ((?:-\w|--[a-z][a-z-]*)(?:,? .*)?)$")
WORD = re.compile(r"(-\w|--[a-z][a-z-]*)(?: ([A-Z]+(?:,\.\.\.)?(?:\|[a-z-]+)*|[a-z]+(?:\|[a-z]+)+)(?=[ ,]|$))?(, |,$|)")
USAGE = re.compile(r"^(?:Usage:|      ) \S+ (.*)$")
KINDS = {"FILE": 1, "PATH": 1, "DIR": 1, "DOMAIN": 2, "CAPTURE": 4}


class Option:
    def __init__(self, name, value, what, of, values):
        self.name, self.value, self.what, self.of, self.letter = name, value, what, of, None
        self.values = values or [word for word in (value or "").split("|") if re.match(r"[a-z]", word)]

    @property
    def field(self):
        return self.name[2:].replace("-", "_")


class Verb:
    """A verb, or a verb BEHIND another, or the program itself."""

    def __init__(self, name, behind="", what=""):
        self.name, self.behind, self.what, self.help, self.has_verbs = name, behind, what, [], False
        self.options, self.operands = {}, []

    @property
    def symbol(self):
        return "_".join(["VERB", self.name or "none", *([self.behind] if self.behind else [])]).upper()

    def add(self, option):
        known = self.options.setdefault(option.name, option)
        known.value = known.value or option.value


def words_of_usage(text):
    """Return the operands of a line of usage, and its options with their values."""
    operands, options, tokens = [], {}, text.split()
    while tokens:
        token = tokens.pop(0)
        if re.match(r"\[?--?[a-z]", token):
            value = None if token.endswith("]") else tokens.pop(0).rstrip(".").rstrip("]")
            options[token.strip("[]")] = value
        elif not token.startswith("[OPTION"):
            operands.append(token)
    return operands, options


class Table:
    def __init__(self, path):
        self.verbs, self.stands, self.letters, self.everywhere = [Verb("")], {}, {}, {}
        with open(path, encoding="utf-8") as f:
            self.read(f.read().splitlines())
        self.program = self.verbs[0].help[0].split()[1]
        for verb in self.verbs:
            for option in verb.options.values():
                self.everywhere.setdefault(option.name, []).append(option)
        for verb in self.verbs:
            if verb.behind:
                verb.what = self.described(self.help_of(verb), f"{verb.name} {verb.behind}").rstrip(":")
            for option in verb.options.values():
                self.complete(option)

    def complete(self, option):
        """Take what the line of OPTION lacks from the first line of another verb that has it."""
        for other in self.everywhere[option.name]:
            option.value = option.value or other.value
            option.what = option.what or other.what
        option.letter = self.letters.get(option.name)

    def read(self, lines):
        verb, of, values = self.verbs[0], [], []
        for at, line in enumerate(lines):
            directive = line[2:].split() if line.startswith("# ") else [""]
            if directive[0] == "verb":
                verb, of = Verb(directive[1]), []
                verb.has_verbs = len(directive) > 2
                verb.what = self.described(self.verbs[0].help, verb.name)
                self.verbs.append(verb)
            elif directive[0] == "of":
                of = directive[1:]
            elif directive[0] == "values":
                values = directive[1:]
            elif directive[0] == "operand":
                self.stands[directive[1]] = directive[2]
            if line.startswith("#"):
                continue
            verb.help.append(line)
            if USAGE.match(line) and verb.name:
                self.usage(verb, USAGE.match(line)[1])
            elif LINE.match(line):
                self.option_line(verb, line, lines[at + 1] if at + 1 < len(lines) else "", of, values)
                values = []

    @staticmethod
    def described(lines, names):
        """Return what the help LINES say of the verb NAMES, in its line or in the next one."""
        for line, after in zip(lines, [*lines[1:], ""]):
            if re.match(rf"  {names}( |$)", line):
                return re.sub(rf"^  {names}( \S+)*(  +|$)", "", line) or after.strip()
        return ""

    def help_of(self, verb):
        """Return the lines of the help of VERB, which is that of the verb in front."""
        return next(v for v in self.verbs if v.name == verb.name and not v.behind).help

    def verb_behind(self, verb, name):
        for other in self.verbs:
            if (other.name, other.behind) == (verb.name, name):
                return other
        other = Verb(verb.name, name)
        self.verbs.append(other)
        return other

    def usage(self, verb, text):
        """Take the options of a line of usage, and its operands: those of the verb, or of the verbs behind it."""
        operands, options = words_of_usage(text.split(" ", 1)[1] if " " in text else "")
        targets = [verb]
        if verb.has_verbs:
            targets = [verb, *(self.verb_behind(verb, name) for name in operands.pop(0).split("|"))]
        for target in targets:
            for name, value in options.items():
                target.add(Option("--output" if name == "-o" else name, value, "", [], []))
        for target in targets[verb.has_verbs :]:
            if target.operands:
                target.operands = [f"{a}|{b}" for a, b in zip(target.operands, operands)]
            else:
                target.operands = operands

    def option_line(self, verb, line, after, of, values):
        at, found, letter = 2, [], None
        while line[at : at + 1] == "-":
            match = WORD.match(line, at)
            at = match.end()
            if match[1].startswith("--"):
                found.append(match.groups()[:2])
            else:
                letter = match[1]
            if not match[3]:
                break
        what = line[at:].strip() or after.strip()
        if letter:
            self.letters[found[0][0]] = letter
        behind = [v for v in self.verbs if v.behind and v.name == verb.name]
        for name, value in found:
            for v in [verb, *(v for v in behind if v.behind in of or (not of and name in v.options))]:
                # A line tells more than the usage.
                if name in v.options and not v.options[name].what:
                    del v.options[name]
                v.add(Option(name, value, what, [] if verb.has_verbs else of, values))


def string(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def header(table):
    flags = sorted({o.field for all_of in table.everywhere.values() for o in all_of if not o.value})
    values = sorted({o.field for all_of in table.everywhere.values() for o in all_of if o.value})
    assert not set(flags) & set(values), f"these are flags and have values: {set(flags) & set(values)}"
    lines = [f"/* The verbs and options of {table.program}, made from its table by verb-options.py. */"]
    lines += ["#ifndef VERB_OPTIONS_H", "#define VERB_OPTIONS_H", "", "#include <stdbool.h>", ""]
    lines += ["enum verb_number {", *(f"\t{verb.symbol}," for verb in table.verbs), "\tVERBS", "};", ""]
    lines += ["/* The values of the options; NULL, or false, for those that were not given. */", "struct options {"]
    lines += [f"\tconst char *{field};" for field in values] + [f"\tbool {field};" for field in flags]
    return lines + ["};", "", "#endif"]


def kinds(table, text):
    """Return a sum of KINDS, and the words to choose from, of the name of an operand or of a value."""
    names = "|".join(table.stands.get(name, name) for name in text.replace("...", "").strip("[],").split("|")).split("|")
    return sum({KINDS[name] for name in names if name in KINDS}), "|".join(name for name in names if re.match(r"[a-z]", name))


def row(table, o):
    fields = [f".name = {string(o.name)}", f".at = offsetof(struct options, {o.field})", f".what = {string(o.what)}"]
    if o.letter:
        fields.append(f".letter = {string(o.letter)}")
    if o.value:
        fields.append(f".value = {string(o.value)}")
        fields += [f".kinds = {kinds(table, o.value)[0]}"] if kinds(table, o.value)[0] else []
    if o.values:
        fields.append(f".words = {string('|'.join(o.values))}")
    if o.value == "LIST" or (o.value or "").endswith(",..."):
        fields.append(".is_list = true")
    if o.of:
        fields.append(f".of = {string(o.of[0])}")
    return "\t{" + ", ".join(fields) + "},"


def source(table):
    lines = [f"/* The verbs and options of {table.program}, made from its table by verb-options.py. */", "#include <stddef.h>", ""]
    lines += ['#include "array.h"', '#include "options.h"', ""]
    rows = []
    for verb in table.verbs:
        name = verb.symbol.lower()
        most = "OPERANDS_MAX" if any("..." in o for o in verb.operands) else len(verb.operands)
        least = sum(not o.startswith("[") for o in verb.operands)
        fields = [f".name = {string(verb.name)}", f".what = {string(verb.what)}", f".help = help_{Verb(verb.name).symbol.lower()}"]
        fields += [f".behind = {string(verb.behind)}"] if verb.behind else []
        fields += [".has_verbs = true"] if verb.has_verbs else []
        if verb.options:
            lines += [f"static const struct option_row options_{name}[] = {{", *(row(table, o) for o in verb.options.values()), "};"]
            fields += [f".options = options_{name}", f".n_options = ARRAY_SIZE(options_{name})"]
        if verb.operands:
            lines += [f"static const struct operand_row operands_{name}[] = {{"]
            for operand in verb.operands:
                number, words = kinds(table, operand)
                fields_of = [f".kinds = {number}", f".words = {string(words)}", f".repeats = {'true' if operand.endswith('...') else 'false'}"]
                lines += ["\t{" + ", ".join(fields_of) + "},"]
            lines += ["};"]
            fields += [f".operands = operands_{name}", f".n_operands = ARRAY_SIZE(operands_{name})"]
        fields += [f".least = {least}", f".most = {most}"]
        if not verb.behind:
            lines += [f"static const char help_{name}[] =", *(f'\t{string(line)[:-1]}\\n"' for line in verb.help)]
            lines[-1] += ";"
        rows += [f"\t[{verb.symbol}] = {{{', '.join(fields)}}},"]
    return lines + ["", "const struct verb_row verb_rows[VERBS] = {", *rows, "};"]


def entries(page):
    """Return the entries of the section VERBS: the text of each heading, and the entry as text."""
    for entry in re.split(r"(?m)^\.TP\n", page.sections["VERBS"])[1:]:
        lines = [manual.plain(line) for line in entry.splitlines()]
        yield lines[0], "\n".join(lines)


def man_verb(table, verb, page):
    """Return what differs between VERB and its entry in the section VERBS of PAGE. That of a verb behind another is in a section of its own."""
    name = " ".join([verb.name, verb.behind]).strip()
    if verb.has_verbs:
        behind = [v.behind for v in table.verbs if v.behind and v.name == verb.name]
        text = page.sections.get(name.upper(), "")
        return [
            f"there is no {name} {b}" for b in behind if f"{name} {b}" not in text and not any(e.startswith(f"{name} {b}") for e, _ in entries(page))
        ]
    found = [(heading, text) for heading, text in entries(page) if heading == name or heading.startswith(name + " ")]
    if not found:
        return [] if verb.behind else [f"VERBS lacks {name}"]
    (heading, text), *_ = found
    operands, _ = words_of_usage(heading[len(name) :].strip())
    said = (
        []
        if "|".join(operands) == "|".join(verb.operands) or verb.name == "fleet"
        else [f"{name} has the operands {operands}, the table {verb.operands}"]
    )
    shown = {"--output" if o == "-o" else o for o in re.findall(r"(?<![\w-])(--[a-z][a-z-]*|-o\b)", text)}
    own = {o.name for o in verb.options.values() if not o.of}
    said += [f"{name} lacks {o}" for o in sorted(own - shown)]
    return said + [f"{name} has {o}, which the table lacks" for o in sorted(shown - own - set(table.verbs[0].options))]


def man(table, page):
    """Return what differs between TABLE and the man page PAGE, a list of sentences."""
    headings, said = page.headings(), []
    known = {name[2:] for name in table.everywhere}
    said += [f"SYNOPSIS lacks {name}" for name in table.verbs[0].options if name[2:] not in page.synopsis()]
    for name, options in table.everywhere.items():
        for value in sorted({o.value or "" for o in options}):
            if value.replace("|", " | ") not in headings.get(name[2:], []) and value not in headings.get(name[2:], []):
                said.append(f"no heading has {name} {value}".rstrip())
    said += [f"a heading has --{name}, which the table lacks" for name in sorted(set(headings) - known)]
    return said + [sentence for verb in table.verbs[1:] for sentence in man_verb(table, verb, page)]


def main(what, path, *more):
    table = Table(path)
    if what == "man":
        said = man(table, manual.Page(*more))
        sys.exit("\n".join(f"{os.path.basename(more[0])}: {sentence}" for sentence in said) if said else 0)
    print("\n".join({"header": header, "source": source}[what](table)))


main(*sys.argv[1:])
