#!/usr/bin/env python3
"""Check that libmprof.so exports the functions of its public headers, and has no code that only the
viewer needs.

Arguments: the library, the folder of its sources.
"""

import glob
import os
import re
import subprocess
import sys

CALL = re.compile(r"MPROF_API\b[^;(]*?\b(mprof_\w+)\s*\(", re.S)
FUNCTION = re.compile(r"^(?!static\b)[a-z][\w *]*?\b(\w+)\([^;]*?\)\n\{", re.M)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def symbols(library, *options):
    """Return the names that LIBRARY defines, without their versions."""
    out = subprocess.run(["nm", "--defined-only", *options, library], check=True, stdout=subprocess.PIPE, text=True).stdout
    return {line.split()[2].split("@")[0] for line in out.splitlines() if len(line.split()) == 3}


def main():
    library, sources = sys.argv[1:]
    declared = {name for path in glob.glob(os.path.join(sources, "mprof/*.h")) for name in CALL.findall(read(path))}
    exported = {name for name in symbols(library, "--dynamic") if name.startswith("mprof_")}
    page = {name for path in glob.glob(os.path.join(sources, "wasm/*.c")) for name in FUNCTION.findall(read(path))}
    assert declared and page, "found no function in the headers or in wasm/"
    bad = [f"{name} is declared in a public header and not exported: see libmprof.map" for name in sorted(declared - exported)]
    bad += [f"{name} is exported and declared in no public header: see libmprof.map" for name in sorted(exported - declared)]
    bad += [f"{name} of wasm/ is linked into the library: see meson.build" for name in sorted(page & symbols(library))]
    print("\n".join(bad) if bad else f"{len(exported)} functions exported, none of the {len(page)} of wasm/ linked")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
