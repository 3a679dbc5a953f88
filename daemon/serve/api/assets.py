"""Write the viewer's files as C: assets.py OUT DEPFILE DIRECTORY [FILE…]

The output has the files that join.py of DIRECTORY makes of the viewer's pages, styles and scripts, and each FILE.
"""

import gzip
import hashlib
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../include"))
import literal

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".wasm": "application/wasm",
}


def row(i, name, data):
    """Return the arrays of the file NAME with the bytes DATA, and its row in the table."""
    packed = gzip.compress(data, 9, mtime=0)
    # A file that hardly shrinks gets no second, packed copy in the program.
    pays = len(packed) < len(data) * 0.9
    arrays = literal.array(f"static const uint8_t plain_{i}", data)
    arrays += literal.array(f"static const uint8_t gzip_{i}", packed) if pays else ""
    second = f"gzip_{i}, {len(packed)}" if pays else "NULL, 0"
    tag = hashlib.sha256(data).hexdigest()[:32]
    return arrays, f'\t{{"{name}", "{TYPES[os.path.splitext(name)[1]]}", "{tag}", plain_{i}, {len(data)}, {second}}},\n'


def main(out, depfile, directory, *paths):
    sys.path.insert(0, directory)
    import join

    texts, used = join.served(directory)
    files = {name: text.encode() for name, text in texts.items()}
    for path in paths:
        with open(path, "rb") as f:
            files[os.path.basename(path)] = f.read()
    rows = [row(i, name, files[name]) for i, name in enumerate(sorted(files))]
    with open(out, "w", encoding="ascii") as c:
        c.write('#include "assets.h"\n\n' + literal.IGNORE + "".join(arrays for arrays, _ in rows))
        c.write("\nconst struct asset assets[] = {\n" + "".join(text for _, text in rows) + "};\n")
        c.write(f"const size_t assets_count = {len(rows)};\n")
    with open(depfile, "w", encoding="utf-8") as d:
        d.write(f"{out}: " + " ".join(path.replace(" ", "\\ ") for path in [join.__file__, *used, *paths]) + "\n")


main(*sys.argv[1:])
