"""Configuration of the set of pages: sphinx-build -W docs DIRECTORY. tests/lint/docs does that."""

import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))

project = "mprofd"
author = "the mprofd authors"
copyright = author  # pylint: disable=redefined-builtin
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
exclude_patterns = ["man/*"]
# A heading's anchor is made as other readers of Markdown make it, so that links work in both.
myst_heading_anchors = 4
# A block without a language is plain text.
highlight_language = "text"
nitpicky = True
html_theme = "alabaster"
html_theme_options = {
    "description": "traces of unikernels, also after they crashed",
    "page_width": "min(85em, 96%)",
    "body_max_width": "70em",
    "font_family": "sans-serif",
    "code_font_size": "0.8em",
    "show_powered_by": False,
}
html_sidebars = {"**": ["about.html", "navigation.html", "searchbox.html"]}
html_show_sourcelink = False
html_show_sphinx = False
html_copy_source = False

LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?![a-z]+:|#)([^)#]+)(#[^)]*)?\)")


def outside(app, docname, source):
    """Write a link to a file that is no page as its text and the file's path: readers of the pages may have no clone."""
    folder = os.path.dirname(os.path.join(HERE, docname))

    def text(match):
        path = os.path.normpath(os.path.join(folder, match[2]))
        if path.startswith(HERE + os.sep) and path.endswith(".md"):
            return match[0]
        name = os.path.relpath(path, os.path.dirname(HERE))
        return match[1] if match[1].strip("`") == name else f"{match[1]} (`{name}`)"

    source[0] = LINK.sub(text, source[0])


def version_of_project():
    """Return the version. meson.build is the one place for it."""
    with open(os.path.join(HERE, "../meson.build"), encoding="utf-8") as f:
        return re.search(r"version: '([^']*)'", f.read())[1]


version = release = version_of_project()


def setup(app):
    app.connect("source-read", outside)
