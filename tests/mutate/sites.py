"""Find the places of a C file for a small mistake.

libclang parses the file with the arguments of its compilation, so that comments, strings,
preprocessor lines and the text of macros are not taken for code. There are five kinds of mistakes:

  compare    flip a comparison: < to <=, < to >=, == to !=, and so on
  condition  drop one side of && or ||
  drop       drop a statement, or an if that has a block and no else
  constant   make an integer one greater or one less, or true false
  swap       swap two neighbouring arguments of one kind of type

Declarations, array sizes, calls that write to the log and casts to void stay unchanged.
"""

import bisect
import re
from collections import namedtuple

from clang import cindex
from clang.cindex import CursorKind, TypeKind

# BEGIN and END are byte offsets; LINE counts from 1; TEXT is that line without its indentation; WAS becomes BECOMES.
Site = namedtuple("Site", "path line text kind begin end was becomes")

COMPARE = {
    "<": ("<=", ">="),
    "<=": ("<", ">"),
    ">": (">=", "<="),
    ">=": (">", "<"),
    "==": ("!=",),
    "!=": ("==",),
}
BETWEEN = re.compile(r"(?:\s|//[^\n]*\n|/\*.*?\*/)*(<=|>=|==|!=|<|>|&&|\|\|)(?:\s|//[^\n]*\n|/\*.*?\*/)*", re.S)
INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|[0-9]+)([uUlL]*)")
# The children of a statement that are statements, by the kind of their parent.
BODIES = {
    CursorKind.COMPOUND_STMT: lambda children: children,
    CursorKind.IF_STMT: lambda children: children[1:],
    CursorKind.FOR_STMT: lambda children: children[-1:],
    CursorKind.WHILE_STMT: lambda children: children[-1:],
    CursorKind.DO_STMT: lambda children: children[:1],
    CursorKind.CASE_STMT: lambda children: children[-1:],
    CursorKind.DEFAULT_STMT: lambda children: children[-1:],
}
JUMPS = {CursorKind.BREAK_STMT, CursorKind.CONTINUE_STMT, CursorKind.RETURN_STMT}
INTEGERS = {
    TypeKind.BOOL,
    TypeKind.CHAR_U,
    TypeKind.UCHAR,
    TypeKind.CHAR_S,
    TypeKind.SCHAR,
    TypeKind.USHORT,
    TypeKind.SHORT,
    TypeKind.UINT,
    TypeKind.INT,
    TypeKind.ULONG,
    TypeKind.LONG,
    TypeKind.ULONGLONG,
    TypeKind.LONGLONG,
    TypeKind.ENUM,
}


class Finder:
    def __init__(self, path, source, unit):
        self.path = path
        self.source = source
        self.unit = unit
        self.sites = []
        self.starts = [0] + [at.end() for at in re.finditer(rb"\n", source)]
        self.macros = []
        for cursor in unit.cursor.get_children():
            if cursor.kind == CursorKind.MACRO_INSTANTIATION and self.is_here(cursor):
                self.macros.append((cursor.extent.start.offset, cursor.extent.end.offset, cursor.spelling))
        self.macros.sort()

    def is_here(self, cursor):
        return cursor.location.file is not None and cursor.location.file.name == self.unit.spelling

    def in_macro(self, begin, end):
        """Return whether BEGIN to END lies in a macro's use, or cuts one in two."""
        for a, b, _ in self.macros:
            if a >= end:
                break
            if b > begin and not (begin <= a and b <= end and (begin, end) != (a, b)):
                return True
        return False

    def in_directive(self, begin):
        """Return whether the line of offset BEGIN, or the line that it continues, is a preprocessor
        line."""
        n = bisect.bisect_right(self.starts, begin) - 1
        while n > 0 and self.source[self.starts[n - 1] : self.starts[n]].rstrip().endswith(b"\\"):
            n -= 1
        return self.source[self.starts[n] :].lstrip(b" \t").startswith(b"#")

    def slice(self, begin, end):
        return self.source[begin:end].decode()

    def text_of(self, cursor):
        return self.slice(cursor.extent.start.offset, cursor.extent.end.offset)

    def add(self, kind, begin, end, becomes):
        was = self.slice(begin, end)
        if was.split() == becomes.split() or self.in_macro(begin, end) or self.in_directive(begin):
            return
        n = bisect.bisect_right(self.starts, begin)
        line = self.source[self.starts[n - 1] :].split(b"\n", 1)[0].decode().strip()
        self.sites.append(Site(self.path, n, line, kind, begin, end, was, becomes))

    # ---- one method for each kind ----

    def binary(self, cursor, children):
        left, right = children
        begin, end = left.extent.end.offset, right.extent.start.offset
        found = BETWEEN.fullmatch(self.slice(begin, end))
        if not found:
            return
        operator = found.group(1)
        at = begin + len(self.slice(begin, end)[: found.start(1)].encode())
        if operator in COMPARE:
            for other in COMPARE[operator]:
                self.add("compare", at, at + len(operator), other)
        else:
            for kept in (left, right):
                self.add("condition", cursor.extent.start.offset, cursor.extent.end.offset, self.text_of(kept))

    def constant(self, cursor, parent):
        begin, end = cursor.extent.start.offset, cursor.extent.end.offset
        found = INTEGER.fullmatch(self.slice(begin, end))
        declares = parent.kind in (CursorKind.VAR_DECL, CursorKind.FIELD_DECL)
        if not found or (declares and self.source[:begin].rstrip().endswith(b"[")):
            return
        digits, suffix = found.groups()
        base, form = 10, "{}"
        if digits[:2] in ("0x", "0X"):
            base, form = 16, "0x{:x}"
        elif digits[0] == "0" and len(digits) > 1:
            base, form = 8, "0{:o}"
        value = int(digits, base)
        for other in (value + 1, value - 1):
            if other >= 0:
                self.add("constant", begin, end, form.format(other) + suffix)

    def truths(self, begin, end):
        for a, b, name in self.macros:
            if begin <= a and b <= end and name in ("true", "false"):
                self.truth(a, b, "false" if name == "true" else "true")

    def truth(self, begin, end, becomes):
        others = [m for m in self.macros if m[0] <= begin and end <= m[1] and (m[0], m[1]) != (begin, end)]
        if not others and not self.in_directive(begin):
            n = bisect.bisect_right(self.starts, begin)
            line = self.source[self.starts[n - 1] :].split(b"\n", 1)[0].decode().strip()
            self.sites.append(Site(self.path, n, line, "constant", begin, end, self.slice(begin, end), becomes))

    def arguments(self, cursor):
        given = list(cursor.get_arguments())
        for a, b in zip(given, given[1:]):
            if a is None or b is None or not alike(a.type, b.type):
                continue
            between = self.slice(a.extent.end.offset, b.extent.start.offset)
            if between.strip() != "," or self.text_of(a) == self.text_of(b):
                continue
            swapped = self.text_of(b) + between + self.text_of(a)
            self.add("swap", a.extent.start.offset, b.extent.end.offset, swapped)

    def statement(self, cursor, is_last):
        text = self.text_of(cursor)
        if cursor.kind == CursorKind.IF_STMT:
            children = list(cursor.get_children())
            if len(children) == 2 and children[1].kind == CursorKind.COMPOUND_STMT:
                self.add("drop", cursor.extent.start.offset, cursor.extent.end.offset, "{}")
        elif cursor.kind in JUMPS:
            if not is_last:
                self.add("drop", cursor.extent.start.offset, cursor.extent.end.offset, "")
        elif cursor.kind.is_expression() and text and not re.match(r"\(void\)\s*\w+$", text):
            self.add("drop", cursor.extent.start.offset, cursor.extent.end.offset, "")

    # ---- the walk ----

    def walk(self, cursor, parent, of_function):
        children = list(cursor.get_children())
        if cursor.kind == CursorKind.STATIC_ASSERT or (cursor.kind == CursorKind.CALL_EXPR and cursor.spelling.startswith("log_")):
            return
        if cursor.kind == CursorKind.BINARY_OPERATOR and len(children) == 2:
            self.binary(cursor, children)
        elif cursor.kind == CursorKind.INTEGER_LITERAL:
            self.constant(cursor, parent)
        elif cursor.kind == CursorKind.CALL_EXPR:
            self.arguments(cursor)
        for child in BODIES[cursor.kind](children) if cursor.kind in BODIES else ():
            if not is_log(child):
                self.statement(child, of_function and child == children[-1])
        for child in children:
            self.walk(child, cursor, cursor.kind == CursorKind.FUNCTION_DECL)

    def find(self):
        for cursor in self.unit.cursor.get_children():
            if not self.is_here(cursor) or cursor.kind not in (CursorKind.FUNCTION_DECL, CursorKind.VAR_DECL):
                continue
            if cursor.kind == CursorKind.FUNCTION_DECL and not cursor.is_definition():
                continue
            self.walk(cursor, self.unit.cursor, False)
            self.truths(cursor.extent.start.offset, cursor.extent.end.offset)
        return sorted(set(self.sites), key=lambda site: (site.begin, site.end, site.becomes))


def is_log(cursor):
    return cursor.kind == CursorKind.CALL_EXPR and cursor.spelling.startswith("log_")


def alike(a, b):
    a, b = a.get_canonical(), b.get_canonical()
    if a.kind in INTEGERS and b.kind in INTEGERS:
        return True
    if a.kind == TypeKind.POINTER and b.kind == TypeKind.POINTER:
        a, b = a.get_pointee().get_canonical(), b.get_pointee().get_canonical()
        return a.spelling.replace("const ", "") == b.spelling.replace("const ", "")
    return a.spelling == b.spelling


def sites_find(path, name, arguments):
    """Return the sites of the file PATH, compiled with ARGUMENTS; NAME is the file's name in them.
    Raise ValueError if it does not parse."""
    options = cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD
    unit = cindex.Index.create().parse(path, args=arguments, options=options)
    for said in unit.diagnostics:
        if said.severity >= cindex.Diagnostic.Error:
            raise ValueError(f"{path}: {said.spelling}")
    with open(path, "rb") as f:
        return Finder(name, f.read(), unit).find()


def site_apply(site, source):
    """Return SOURCE, the bytes of the site's file, with the mistake put in."""
    if source[site.begin : site.end].decode() != site.was:
        raise ValueError(f"{site.path}:{site.line} has changed")
    return source[: site.begin] + site.becomes.encode() + source[site.end :]


def site_change(site):
    """Return the change as one line of text."""
    was, becomes = " ".join(site.was.split()), " ".join(site.becomes.split())
    return f"drop {was}" if site.kind == "drop" else f"{was} -> {becomes}"
