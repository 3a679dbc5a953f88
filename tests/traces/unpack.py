"""Unpack the reference traces: unpack.py DIRECTORY [rings|memtrace|live|live-slow]…

Fills DIRECTORY, which must exist. Without a choice unpacks everything:

    NAME.ctf, NAME.expected.json   rings, and the output of other decoders
    memtrace/                      memory profiles and the output of other readers
    live/, live-slow/              snapshots of one ring, taken while it was written
    public                         a link to the published traces, which are not in this tree, if MPROF_REFERENCE has them

Links files that the tests read with lzma (*.dump.txt.xz, *.bt2.txt.xz, *.viewer-*.xz) without
unpacking. MPROF_REFERENCE is by default ../shared beside the checkout; memory profiles there that
this tree does not have are linked too.
"""

import atexit
import lzma
import os
import shutil
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
REFERENCE = os.path.abspath(os.path.join(os.environ.get("MPROF_REFERENCE", os.path.join(HERE, "..", "..", "..", "shared")), "traces"))
KEPT = (".dump.txt.xz", ".bt2.txt.xz", ".viewer-events.txt.xz", ".viewer-threads.jsonl.xz", ".model.jsonl.xz", ".model-raw.jsonl.xz", ".tar.xz")


def files(source, target):
    """Unpack or link each file of the directory SOURCE into TARGET."""
    for name in sorted(os.listdir(source)):
        path = os.path.join(source, name)
        if not name.endswith(".xz"):
            continue
        if name.endswith(KEPT):
            os.symlink(path, os.path.join(target, name))
            continue
        with lzma.open(path) as packed, open(os.path.join(target, name[: -len(".xz")]), "wb") as plain:
            plain.write(packed.read())


def link_missing(source, target):
    """Link the files of the directory SOURCE that TARGET does not have, packed or unpacked."""
    if not os.path.isdir(source):
        return
    have = {name.removesuffix(".xz") for name in os.listdir(target)}
    for name in sorted(os.listdir(source)):
        if name.removesuffix(".xz") not in have:
            os.symlink(os.path.join(source, name), os.path.join(target, name))


def rings(target):
    files(HERE, target)


def memtrace(target):
    target = os.path.join(target, "memtrace")
    os.mkdir(target)
    files(os.path.join(HERE, "memtrace"), target)
    link_missing(os.path.join(REFERENCE, "memtrace"), target)


def extract(tar, target):
    """Extract all of an open tar archive. Debian 12's Python does not know the filter and ignores
    the attribute. Later versions warn without a filter."""
    tar.extraction_filter = getattr(tarfile, "data_filter", None)
    tar.extractall(target)


def series(name, target):
    with tarfile.open(os.path.join(HERE, f"{name}.tar.xz")) as tar:
        extract(tar, target)


CHOICES = {
    "rings": rings,
    "memtrace": memtrace,
    "live": lambda target: series("live", target),
    "live-slow": lambda target: series("live-slow", target),
}


def main(target, *choices):
    for choice in choices or CHOICES:
        CHOICES[choice](target)
    public = os.path.join(REFERENCE, "public")
    if os.path.isdir(public):
        os.symlink(public, os.path.join(target, "public"))


def scratch(*choices):
    """Unpack into a temporary directory that ends with the process.  Return its path."""
    target = tempfile.mkdtemp(prefix="traces-")
    atexit.register(shutil.rmtree, target, ignore_errors=True)
    main(target, *choices)
    return target


if __name__ == "__main__":
    main(*sys.argv[1:])
