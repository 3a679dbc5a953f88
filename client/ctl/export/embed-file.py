"""Write the bytes of a file as a C array: embed-file.py NAME FILE"""

import sys

name, path = sys.argv[1:]
with open(path, "rb") as file:
    data = file.read()
print(f"/* Generated. */\nstatic const unsigned char {name}[] = {{")
for at in range(0, len(data), 16):
    print("\t" + " ".join(f"{byte}," for byte in data[at : at + 16]))
print("};")
