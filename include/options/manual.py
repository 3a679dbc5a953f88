"""Read a man page: its sections, and its lines as text."""

import re

FONTS = (".B", ".I", ".BR", ".BI", ".RB", ".RI", ".IR", ".IB")


def plain(line):
    """Return LINE of a man page, a line of OPTIONS' headings or of SYNOPSIS, as text."""
    macro, _, rest = line.partition(" ")
    rest = re.sub(r"\\f.|\\&", "", rest if macro in FONTS else line)
    rest = rest.replace("\\-", "-")
    words = re.findall(r'"([^"]*)"|(\S+)', rest)
    joined = " " if macro in (".B", ".I") else ""
    return (joined.join(a or b for a, b in words) if macro.startswith(".") else rest).replace("\\~", " ")


class Page:
    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            self.text = f.read()
        self.sections = {name.strip('"'): text for name, text in re.findall(r"(?ms)^\.SH (\S.*?)\n(.*?)(?=^\.SH |\Z)", self.text)}

    def synopsis(self):
        """Return the names of the options in SYNOPSIS."""
        return set(re.findall(r"--([a-z][a-z-]*)", "\n".join(map(plain, self.sections["SYNOPSIS"].splitlines()))))

    def headings(self, section=None):
        """Return the options that have a heading, in SECTION or anywhere, with the lists of their values."""
        found = {}
        for line in re.findall(r"(?m)^\.T[PQ]\n(.*)$", self.sections[section] if section else self.text):
            for name, value in re.findall(r"--([a-z][a-z-]*)(?:[ =]([^ \[][^ ]*[^ ,]|[^ ,\[]))?", plain(line)):
                found.setdefault(name, []).append(value.strip())
        return found
