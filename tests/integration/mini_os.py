"""The stand-in for Mini-OS (mini-os/stand-in.h): how a guest is compiled and linked for it."""

import os
import subprocess

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mini-os")
INCLUDE = ["-isystem", os.path.join(HERE, "include")]
# As Mini-OS compiles its own code. No function may need what a kernel does not have.
KERNEL = ["-ffreestanding", "-fno-builtin", "-fno-stack-protector", "-fgnu89-inline", "-O2", "-mno-red-zone", "-mno-sse", "-Wall", "-Werror"]


def run(*command, cwd=None):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=cwd, check=False)
    if done.returncode:
        raise AssertionError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def symbols(path):
    """Return {name: its letters of nm}."""
    found = {}
    for line in run("nm", path).splitlines():
        name, kind = line.split()[-1], line.split()[-2]
        found.setdefault(name, set()).add(kind)
    return found


def objects(directory):
    """Compile the stand-in into DIRECTORY, which is made. Return the paths of its objects."""
    os.mkdir(directory)
    sources = sorted(name for name in os.listdir(HERE) if name.endswith(".c") and name != "guest.c")
    run(
        "cc",
        "-std=gnu11",
        "-O2",
        "-g",
        "-Wall",
        "-Wextra",
        "-Wno-unused-parameter",
        "-Werror",
        *INCLUDE,
        "-c",
        *(os.path.join(HERE, name) for name in sources),
        cwd=directory,
    )
    return [os.path.join(os.path.abspath(directory), f"{name[:-2]}.o") for name in sources]
