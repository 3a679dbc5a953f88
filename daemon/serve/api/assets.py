"""Write the viewer's files as C: assets.py OUT DEPFILE DIRECTORY [FILE…]

The output has the pages, styles, scripts and pictures of DIRECTORY and its folders, and each FILE.
DEPFILE also names the folders, because a new file changes its folder.
"""

import gzip
import hashlib
import os
import sys

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".wasm": "application/wasm",
}


def array(name, data):
    lines = [", ".join(str(b) for b in data[i : i + 24]) for i in range(0, len(data), 24)]
    return f"static const uint8_t {name}[] = {{\n" + "".join(f"\t{line},\n" for line in lines) + "};\n"


def main(out, depfile, directory, *files):
    folders, names = [], {path: os.path.basename(path) for path in files}
    for folder, _, inside in os.walk(directory):
        folders.append(folder)
        names |= {path: os.path.relpath(path, directory) for path in (os.path.join(folder, name) for name in inside)}
    paths = sorted((path for path in names if os.path.splitext(path)[1] in TYPES), key=names.get)
    arrays, rows = [], []
    for i, path in enumerate(paths):
        with open(path, "rb") as f:
            data = f.read()
        packed = gzip.compress(data, 9, mtime=0)
        # A file that hardly shrinks gets no second, packed copy in the program.
        pays = len(packed) < len(data) * 0.9
        arrays.append(array(f"plain_{i}", data or b"\n"))
        arrays.append(array(f"gzip_{i}", packed) if pays else "")
        name, kind = names[path], TYPES[os.path.splitext(path)[1]]
        second = f"gzip_{i}, {len(packed)}" if pays else "NULL, 0"
        tag = hashlib.sha256(data).hexdigest()[:32]
        rows.append(f'\t{{"{name}", "{kind}", "{tag}", plain_{i}, {len(data)}, {second}}},\n')
    with open(out, "w", encoding="ascii") as c:
        c.write('#include "assets.h"\n\n' + "".join(arrays))
        c.write("\nconst struct asset assets[] = {\n" + "".join(rows) + "};\n")
        c.write(f"const size_t assets_count = {len(rows)};\n")
    with open(depfile, "w", encoding="utf-8") as d:
        d.write(f"{out}: " + " ".join(path.replace(" ", "\\ ") for path in [*folders, *paths]) + "\n")


main(*sys.argv[1:])
