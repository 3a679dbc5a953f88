"""Write the head of the single-file page as C: onefile.py OUT DEPFILE DIRECTORY [WASM]

mprofctl appends traces to this head. The head holds all scripts, so the content policy, with the
hashes of these scripts, is valid for every file. Without WASM the head is empty, and mprofctl reports
it. A page from a file cannot load module scripts, so join.py joins the modules into classic scripts.
"""

import base64
import gzip
import hashlib
import json
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../include"))
import literal as c_literal
import join as joined
from join import STYLES, Folder, Unknown, join

PAGE = "single-file.js"
WORKERS = {"WORKER": "worker/worker.js", "HEAP_WORKER": "worker/heap-worker.js"}
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
    folder = Folder(directory)
    load = folder.read

    packed = base64.b64encode(gzip.compress(wasm, 9, mtime=0)).decode()
    texts = {name: join(load, module) for name, module in WORKERS.items()} | {"WASM": packed}
    embedded = "".join(f"export const {name} = {literal(text)};\n" for name, text in texts.items())
    script = inside(join(lambda name: embedded if name == EMBEDDED else load(name), PAGE), "script")
    style = inside("\n".join(load(name) for name in STYLES), "style sheet")
    policy = POLICY.format(script=hashed(script), style=hashed(style))
    return HEAD.format(policy=policy, style=style, script=script), folder.used


def write(out, data):
    with open(out, "w", encoding="ascii") as c:
        c.write('#include "viewer-page.h"\n\n' + c_literal.IGNORE + c_literal.array("const unsigned char viewer_page", data))
        c.write(f"const size_t viewer_page_bytes = {len(data)};\n")


def main(out, depfile, directory, wasm=None):
    text, used = "", []
    if wasm:
        with open(wasm, "rb") as file:
            text, used = head(directory, file.read())
    write(out, text.encode())
    with open(depfile, "w", encoding="utf-8") as file:
        file.write(f"{out}: " + " ".join(path.replace(" ", "\\ ") for path in [joined.__file__, *used]) + "\n")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Unknown as error:
        sys.exit(f"onefile.py: {error}")
