"""Write the head of the single-file page as C: onefile.py OUT DEPFILE DIRECTORY [WASM]

mprofctl appends traces to this head. The head holds all scripts, so the content policy, with the
hashes of these scripts, is valid for every file. Without WASM the head is empty, and mprofctl reports
it.

A page from a file cannot load module scripts, so the modules are joined into a classic script. Each
module becomes a function that is called once, in import order, and returns its exports. This has the
same effect as modules if no module imports itself in a cycle (cycles are refused) and no export is
assigned again (`export let` is refused). Unknown forms of import and export end the build.
"""

import base64
import gzip
import hashlib
import json
import os
import posixpath
import re
import sys

PAGE = "single-file.js"
WORKERS = {"WORKER": "worker/worker.js", "HEAP_WORKER": "worker/heap-worker.js"}
STYLES = ["style.css", "trace/timeline.css", "memory/memory.css"]
EMBEDDED = "embedded.js"  # a module that this script makes
POLICY = (
    "default-src 'none'; script-src {script} 'wasm-unsafe-eval'; worker-src blob:; style-src {style}; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)
HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>mprofd</title>
<link rel="icon" href="data:,">
<style>{style}</style>
<script>{script}</script>
</head>
<body>
<div id="page"><noscript>This file holds a trace and the scripts that show it. Allow scripts, or use <code>mprofctl</code>.</noscript></div>
"""

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


class Unknown(Exception):
    pass


def blank(text):
    """Return TEXT with spaces for comments and the content of strings, templates and regular expressions. Code in templates stays."""
    out, at, depths = [], 0, []  # DEPTHS: number of open braces in each open template

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
    return "".join(out)


def names_of(text):
    """Yield (exported name, local name) of each import."""
    for part in filter(None, (one.strip() for one in text.split(","))):
        match = NAME.match(part)
        if not match:
            raise Unknown(f"an import of {part!r}")
        yield match[1], match[2] or match[1]


class Module:
    def __init__(self, name, text):
        self.name, self.imports, edits = name, [], []
        code = blank(text)
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
        # A joined module has no URL: code that needs one fails with an error.
        edits += [(m.start(), m.end(), '"about:blank"') for m in re.finditer(re.escape(META) + r"\b", code)]
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


def join(read, root):
    """Return the module ROOT and its imports as one classic script. READ(name) returns a text."""
    done, open_, out = {}, [], []

    def visit(name):
        if name in open_:
            raise Unknown(f"modules that import each other: {' -> '.join([*open_, name])}")
        if name in done:
            return
        open_.append(name)
        module = Module(name, read(name))
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


def literal(text):
    return json.dumps(text).replace("<", "\\u003c")


def inside(text, what):
    """Return TEXT for an element. Refuse text that would end the element or change its hash."""
    found = re.search(r"</(?:script|style)|<!--|<script|\r|\0|@import", text, re.I)
    if found:
        raise Unknown(f"the {what} has {found[0]!r}")
    return text


def hashed(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def head(directory, wasm):
    """Return the document up to the traces, and the files that it was made of."""
    used = []

    def load(name):
        used.append(os.path.join(directory, name))
        if not os.path.exists(used[-1]):
            raise Unknown(f"there is no {used[-1]}")
        with open(used[-1], encoding="utf-8") as file:
            return file.read()

    packed = base64.b64encode(gzip.compress(wasm, 9, mtime=0)).decode()
    texts = {name: join(load, module) for name, module in WORKERS.items()} | {"WASM": packed}
    embedded = "".join(f"export const {name} = {literal(text)};\n" for name, text in texts.items())
    script = inside(join(lambda name: embedded if name == EMBEDDED else load(name), PAGE), "script")
    style = inside("\n".join(load(name) for name in STYLES), "style sheet")
    policy = POLICY.format(script=hashed(script), style=hashed(style))
    return HEAD.format(policy=policy, style=style, script=script), used


def write(out, data):
    with open(out, "w", encoding="ascii") as c:
        c.write('#include "viewer-page.h"\n\nconst unsigned char viewer_page[] = {\n')
        for at in range(0, len(data) or 1, 24):
            c.write("\t" + " ".join(f"{byte}," for byte in data[at : at + 24] or b"\0") + "\n")
        c.write(f"}};\nconst size_t viewer_page_bytes = {len(data)};\n")


def main(out, depfile, directory, wasm=None):
    text, used = "", []
    if wasm:
        with open(wasm, "rb") as file:
            text, used = head(directory, file.read())
    write(out, text.encode())
    with open(depfile, "w", encoding="utf-8") as file:
        file.write(f"{out}: " + " ".join(path.replace(" ", "\\ ") for path in used) + "\n")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Unknown as error:
        sys.exit(f"onefile.py: {error}")
