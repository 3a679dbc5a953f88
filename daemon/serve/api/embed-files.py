"""Write files as C arrays: embed-files.py OUT NAME FILE [NAME FILE]…"""

import sys

out, rest = sys.argv[1], sys.argv[2:]
with open(out, "w", encoding="ascii") as c:
    c.write('#include "embedded.h"\n')
    for name, path in zip(rest[::2], rest[1::2]):
        with open(path, "rb") as f:
            data = f.read()
        c.write(f"\nconst size_t embedded_{name}_bytes = {len(data)};\nconst char embedded_{name}[] = {{\n")
        for i in range(0, len(data), 20):
            c.write("\t" + ", ".join(str(b if b < 128 else b - 256) for b in data[i : i + 20]) + ",\n")
        c.write("};\n")
