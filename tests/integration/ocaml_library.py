"""Build the libraries for OCaml of this project with dune."""

import os
import shutil
import subprocess

TOP = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
# With it every warning is an error.
WORKSPACE = os.path.join(TOP, "tests/ocaml5/dune-workspace")

ENVIRONMENT = {**os.environ, "DUNE_CACHE": "disabled"}


def there(*libraries):
    """Return whether OCaml, dune and LIBRARIES are installed."""
    if not (shutil.which("ocamlopt") and shutil.which("dune")):
        return False
    folder = subprocess.run(["ocamlc", "-where"], capture_output=True, text=True, check=True).stdout.strip()
    return all(os.path.isdir(os.path.join(folder, name)) for name in libraries)


def build(directory, *packages):
    """Build PACKAGES below DIRECTORY. Return the folder of the libraries, as they would be installed."""
    built = os.path.join(os.path.abspath(directory), "built")
    options = ["--no-print-directory", "--root", TOP, "--workspace", WORKSPACE, "--build-dir", built]
    words = ["dune", "build", *options, "--only-packages", ",".join(packages), "@install"]
    done = subprocess.run(words, capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done.stdout + done.stderr
    return os.path.join(built, "install", "default", "lib")


def flags(libraries, *names):
    """Return the compiler's options that find the libraries NAMES of the folder LIBRARIES."""
    return [word for name in names for word in ("-I", os.path.join(libraries, *name.split(".")))]
