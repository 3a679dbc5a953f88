"""
Join the viewer's modules: a page that is served has one script and one style sheet, and each worker one script.

Each module becomes a function that is called once, in import order, and returns its exports. This has the same
effect as modules if no module imports itself in a cycle (cycles are refused) and no export is assigned again
(`export let` is refused). Unknown forms of import and export end the build. Comments are left out, and the code
stays as it is, so that one can read it in the browser.
"""

import json
import os
import posixpath
import re

SCRIPTS = ["main.js", "worker/worker.js", "worker/heap-worker.js"]
STYLES = ["style.css", "trace/timeline.css", "memory/memory.css"]
SERVED_STYLES = [*STYLES, "page/access.css"]
PAGE = "index.html"

# The end of an operand. A slash behind an operand divides; any other slash begins a regular
# expression.
OPERAND = re.compile(r"(?:[\w$)\]}]|\+\+|--)$")
KEYWORD = re.compile(r"\b(?:return|typeof|case|in|of|delete|void|throw|new|else|do|yield|await|instanceof)$")
PLAIN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'""",
    re.S,
)
REGEX = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/")
IMPORT = re.compile(r'^import\s*\{([^{}]*)\}\s*from\s*"( +)";$', re.M)
EXPORT = re.compile(r"^export (?=(?:class|function|async function|function\*|async function\*|const) ([A-Za-z_$][\w$]*))", re.M)
NAME = re.compile(r"([A-Za-z_$][\w$]*)(?:\s+as\s+([A-Za-z_$][\w$]*))?$")
META = "import.meta.url"
COMMENT = ("//", "/*")


class Unknown(Exception):
    pass


def blank(text):
    """
    Return TEXT with spaces for comments and the content of strings, templates and regular expressions, and the
    ranges of the comments. Code in templates stays.
    """
    out, at, depths, comments = [], 0, [], []  # DEPTHS: number of open braces in each open template

    def keep(to, inside=True):
        nonlocal at
        piece = text[at:to]
        out.append(re.sub(r"[^\n]", " ", piece) if inside else piece)
        at = to

    def template():
        """Skip to the end of the template or to the code in it."""
        while True:
            match = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*", re.S).match(text, at)
            keep(match.end())
            if text.startswith("${", at):
                keep(at + 2, False)
                depths.append(0)
                return
            if not text.startswith("`", at):
                raise Unknown("a template without an end")
            keep(at + 1, False)
            return

    while at < len(text):
        match = PLAIN.match(text, at)
        if match:
            quoted = text[at] in "\"'"
            if not quoted:
                comments.append(match.span())
            keep(at + 1, not quoted)
            keep(match.end() - 1)
            keep(match.end(), not quoted)
        elif text[at] == "/":
            before = "".join(out[-64:]).rstrip()
            if OPERAND.search(before) and not KEYWORD.search(before):
                keep(at + 1, False)
                continue
            match = REGEX.match(text, at)
            if not match:
                raise Unknown("a regular expression without an end")
            keep(match.end() - 1)
            out.append("0")  # an operand
            at += 1
        elif text[at] == "`":
            keep(at + 1, False)
            template()
        elif text[at] == "}" and depths and depths[-1] == 0:
            depths.pop()
            keep(at + 1, False)
            template()
        else:
            if depths:
                depths[-1] += {"{": 1, "}": -1}.get(text[at], 0)
            keep(at + 1, False)
    return "".join(out), comments


def without(text, start, end):
    """Return the range from START to END of TEXT, a comment, with the spaces before it at the end of a line, or with its whole line."""
    line = text.rfind("\n", 0, start) + 1
    if text[end : end + 1] not in ("\n", ""):
        return start, end
    if text[line:start].strip():
        return line + len(text[line:start].rstrip()), end
    return line, end + 1


def names_of(text):
    """Yield (exported name, local name) of each import."""
    for part in filter(None, (one.strip() for one in text.split(","))):
        match = NAME.match(part)
        if not match:
            raise Unknown(f"an import of {part!r}")
        yield match[1], match[2] or match[1]


class Module:
    """The module NAME with the text TEXT. ADDRESS is an expression of its address."""

    def __init__(self, name, text, address):
        self.name, self.imports, edits = name, [], []
        code, comments = blank(text)
        for match in IMPORT.finditer(code):
            source = text[match.start(2) : match.end(2)]
            if not re.fullmatch(r"(?:\./|(?:\.\./)+)(?:[a-z0-9-]+/)*[a-z0-9-]+\.js", source):
                raise Unknown(f"{name}: an import from {source!r}")
            source = posixpath.normpath(posixpath.join(posixpath.dirname(name), source))
            pairs = list(names_of(text[match.start(1) : match.end(1)]))
            self.imports.append((source, [exported for exported, _ in pairs]))
            used = ", ".join(a if a == b else f"{a}: {b}" for a, b in pairs)
            edits.append((match.start(), match.end(), f"const {{{used}}} = $modules[{json.dumps(source)}];"))
        found = list(EXPORT.finditer(code))
        self.exports = [match[1] for match in found]
        edits += [(match.start(), match.end(), "") for match in found]
        edits += [(m.start(), m.end(), address) for m in re.finditer(re.escape(META) + r"\b", code)]
        code_edits = list(edits)
        for start, end in comments:
            if not any(a < end and start < b for a, b, _ in code_edits):
                edits.append((*without(text, start, end), ""))
        rest, body = list(code), text
        for start, end, new in sorted(edits, reverse=True):
            rest[start:end] = " "
            body = body[:start] + new + body[end:]
        left = re.search(r"(?<![.\w$])(import|export)(?![\w$]|\s*:)[^\n]*", "".join(rest))
        if left or "$modules" in code:
            raise Unknown(f"{name}: this is not known: {left[0] if left else '$modules'}")
        self.body = body

    def wrapped(self):
        answer = "{" + ", ".join(self.exports) + "}"
        return f'$modules["{self.name}"] = (function () {{\n{self.body.strip()}\nreturn {answer};\n}})();\n'


def join(read, root, served=False):
    """
    Return the module ROOT and its imports as one script. READ(name) returns a text. A script that is SERVED is a
    module at the address of ROOT. Another one is a classic script without an address, and code that needs one
    fails with an error.
    """
    done, open_, out = {}, [], []

    def visit(name):
        if name in open_:
            raise Unknown(f"modules that import each other: {' -> '.join([*open_, name])}")
        if name in done:
            return
        open_.append(name)
        path = posixpath.relpath(name, posixpath.dirname(root) or ".")
        module = Module(name, read(name), f"new URL({json.dumps(path)}, {META}).href" if served else '"about:blank"')
        for source, wanted in module.imports:
            visit(source)
            missing = [one for one in wanted if one not in done[source].exports]
            if missing:
                raise Unknown(f"{name}: {source} does not export {', '.join(missing)}")
        open_.pop()
        done[name] = module
        out.append(module.wrapped())

    visit(root)
    return '(function () {\n"use strict";\nconst $modules = Object.create(null);\n' + "".join(out) + "})();\n"


class Folder:
    """Reads the files of DIRECTORY, and notes their paths in `used`."""

    def __init__(self, directory):
        self.directory, self.used = directory, []

    def read(self, name):
        path = os.path.join(self.directory, name)
        if not os.path.exists(path):
            raise Unknown(f"there is no {path}")
        self.used.append(path)
        with open(path, encoding="utf-8") as file:
            return file.read()


def served(directory):
    """Return the files that the server sends, as {name: text}, and the paths of the files that they were made of."""
    folder = Folder(directory)
    files = {name: join(folder.read, name, served=True) for name in SCRIPTS}
    files[STYLES[0]] = "\n".join(folder.read(name) for name in SERVED_STYLES)
    files[PAGE] = folder.read(PAGE)
    return files, folder.used
