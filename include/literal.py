"""Bytes as a string literal of C. A compiler and clang-tidy read it in a hundredth of the time that a list of numbers takes."""

# A warning of gcc's and clang's -Wpedantic: C17 promises room for 4,095 characters.
IGNORE = '#pragma GCC diagnostic ignored "-Woverlength-strings"\n'
# A question mark could begin a trigraph. Three octal digits end an escape, whatever follows.
CHARACTERS = [chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}" for byte in range(256)]


def array(declared, data):
    """Return the definition of the array DECLARED with DATA and a null byte behind it."""
    lines = ["".join(CHARACTERS[byte] for byte in data[at : at + 96]) for at in range(0, len(data) or 1, 96)]
    return f"{declared}[] =\n" + "\n".join(f'\t"{line}"' for line in lines) + ";\n"
