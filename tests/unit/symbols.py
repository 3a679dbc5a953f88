#!/usr/bin/env python3
"""Check that each shared library exports what its public headers declare, and nothing else.

Arguments: the project's folder, and the shared libraries. Four places must have the same names: the
headers, the library, its version script, and the symbols file of its Debian package. libmprof must
also have no code that only the viewer needs.
"""

import glob
import os
import re
import subprocess
import sys

# For each library: the version script without its ending, the Debian package, and the public headers.
LIBRARIES = {
    "libmprof": ("client/trace/libmprof", "libmprof0", "client/trace/mprof/*.h"),
    "libmprof-recorder": ("client/recorder/libmprof-recorder", "libmprof-recorder0", "client/recorder/mprof/recorder.h"),
    "libmprof-recorder-file": ("client/recorder/libmprof-recorder-file", "libmprof-recorder0", "client/recorder/mprof/recorder-file.h"),
    "libmprof-recorder-tracer": (
        "client/recorder/libmprof-recorder-tracer",
        "libmprof-recorder0",
        "client/recorder/mprof/cycles.h client/recorder/mprof/publisher.h client/recorder/mprof/tracer.h",
    ),
    "libmprof-recorder-xen": ("client/recorder/libmprof-recorder-xen", "libmprof-recorder-xen0", "client/recorder/mprof/publisher-xen.h"),
}
# A header of the recorder that has inline functions alone.
INLINE = "client/recorder/mprof/pvclock.h"

COMMENT = re.compile(r"/\*.*?\*/", re.S)
DECLARATION = re.compile(r"^(?!static\b|typedef\b)[A-Za-z][\w *]*?[\s*](mprof_\w+)\([^;{]*\)[^;{]*;", re.M)
VARIABLE = re.compile(r"^extern [\w *]*?[\s*](mprof_\w+);", re.M)
FUNCTION = re.compile(r"^(?!static\b)[a-z][\w *]*?\b(\w+)\([^;]*?\)\n\{", re.M)
SCRIPT = re.compile(r"(\w+) \{\nglobal:\n((?:\t\w+;\n)+)local:\n\t\*;\n\};\n")


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def defined(library, *options):
    """Return the names that LIBRARY defines, each with its version if it has one."""
    out = subprocess.run(["nm", "--defined-only", *options, library], check=True, stdout=subprocess.PIPE, text=True).stdout
    return {line.split()[2].replace("@@", "@") for line in out.splitlines() if len(line.split()) == 3}


def declared(paths):
    """Return the functions and variables that the headers PATHS declare."""
    texts = [COMMENT.sub("", read(path)) for path in paths]
    return {name for text in texts for pattern in (DECLARATION, VARIABLE) for name in pattern.findall(text)}


def symbols_file(path, library):
    """Return the names of LIBRARY in Debian's symbols file PATH."""
    names, inside = set(), False
    for line in read(path).splitlines():
        if line[0] not in " *":
            inside = line.split()[0] == library
        elif line[0] == " " and inside:
            names.add(line.split()[0])
    return names


def check(top, library):
    """Return sentences about the names of LIBRARY that differ between the four places."""
    name = os.path.basename(library).split(".so")[0]
    script, package, headers = LIBRARIES[name]
    script += ".map"
    match = SCRIPT.fullmatch(read(os.path.join(top, script)))
    if not match:
        return [f"{script} is not one version with a name a line, and no wildcard but the last"]
    version = match[1]
    listed = match[2].replace(";", "").split()
    public = declared(path for pattern in headers.split() for path in glob.glob(os.path.join(top, pattern)))
    assert public, f"found no function in {headers}"
    dynamic = defined(library, "--dynamic")
    packaged = symbols_file(os.path.join(top, f"debian/{package}.symbols"), name + ".so.0")
    bad = [] if listed == sorted(set(listed)) else [f"{script} is not sorted"]
    for where, names in ((script, set(listed)), (name + ".so", dynamic - {version}), (f"debian/{package}.symbols", packaged)):
        wanted = public if where == script else {f"{one}@{version}" for one in public}
        wanted |= {f"{version}@{version}"} if where.startswith("debian/") else set()
        bad += [f"{where} lacks {one}, which a public header declares" for one in sorted(wanted - names)]
        bad += [f"{where} has {one}, which no public header declares" for one in sorted(names - wanted)]
    print(f"{name}: {len(public)} names")
    return bad


def main():
    top, *libraries = sys.argv[1:]
    bad = [sentence for library in libraries for sentence in check(top, library)]
    listed = {path for _, _, headers in LIBRARIES.values() for pattern in headers.split() for path in glob.glob(os.path.join(top, pattern))}
    for path in glob.glob(os.path.join(top, "client/*/mprof/*.h")):
        alone = path == os.path.join(top, INLINE)
        if alone and declared([path]) or not alone and path not in listed:
            bad.append(f"{path} belongs to no library: add it to LIBRARIES in tests/unit/symbols.py")
    page = {name for path in glob.glob(os.path.join(top, "client/trace/wasm/*.c")) for name in FUNCTION.findall(read(path))}
    assert page, "found no function in wasm/"
    bad += [f"{library} has {name} of wasm/: see meson.build" for library in libraries for name in sorted(page & defined(library))]
    print("\n".join(bad))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
