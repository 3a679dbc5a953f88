"""Test the finder of places on a file with all code that it must leave alone, then run a command:
test-sites.py [COMMAND…]"""

import os
import sys
import tempfile

import sites

SOURCE = r"""
#include <stdbool.h>
#define LESS(a, b) ((a) < (b)) /* 1 < 2 */
#if 1 < 2 && \
	3 > 2
#endif
/* if (a < b && c == 3) f(a, b); */
// x > 5;
_Static_assert(sizeof(int) > 3, "4 < 5");
static const char *const text = "a < b && 7";
static int table[4] = {1, 0x10, 010};
void log_write(int level, const char *what);
int two(int a, int b);
char *texts(char *to, const char *from, int n);
static int find(int a, int b)
{
	int array[8], c = LESS(a, 3) ? '<' : 0;
	char one[2] = "1";

	(void)a;
	log_write(4, "1 == 2");
	array[0] = two(a, b);
	texts(one, text, c);
	if (a <= b /* < */ && array[0] != c)
		return two(a, a);
	if (c) {
		c++;
	}
	for (int i = 0; i < 8; i++)
		if (table[i % 4] == a)
			break;
	return true;
}
int use(int a)
{
	return find(a, 2);
}
"""

WANT = """
11 constant: 1 -> 2
11 constant: 1 -> 0
11 constant: 0x10 -> 0x11
11 constant: 0x10 -> 0xf
11 constant: 010 -> 011
11 constant: 010 -> 07
17 constant: 0 -> 1
22 drop: drop array[0] = two(a, b)
22 constant: 0 -> 1
22 swap: a, b -> b, a
23 drop: drop texts(one, text, c)
23 swap: one, text -> text, one
24 condition: a <= b /* < */ && array[0] != c -> a <= b
24 condition: a <= b /* < */ && array[0] != c -> array[0] != c
24 compare: <= -> <
24 compare: <= -> >
24 constant: 0 -> 1
24 compare: != -> ==
25 drop: drop return two(a, a)
26 drop: drop if (c) { c++; }
27 drop: drop c++
29 constant: 0 -> 1
29 compare: < -> <=
29 compare: < -> >=
29 constant: 8 -> 9
29 constant: 8 -> 7
30 constant: 4 -> 5
30 constant: 4 -> 3
30 compare: == -> !=
31 drop: drop break
32 constant: true -> false
36 constant: 2 -> 3
36 constant: 2 -> 1
36 swap: a, 2 -> 2, a
"""


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "source.c")
        with open(path, "w", encoding="utf-8") as f:
            f.write(SOURCE)
        found = sites.sites_find(path, "source.c", ["-std=gnu17"])
    want = sorted(WANT.split("\n")[1:-1])
    got = sorted(f"{site.line} {site.kind}: {sites.site_change(site)}" for site in found)
    for line in sorted(set(got) ^ set(want)):
        print(f"{'not found' if line in want else 'found and not wanted'}: {line}")
    source = SOURCE.encode()
    changes = [site for site in found if sites.site_apply(site, source) == source]
    if got != want or changes:
        sys.exit("the finder of places for mistakes does not find what it should")


main()
if sys.argv[1:]:
    os.execvp(sys.argv[1], [sys.argv[1], "-B", *sys.argv[2:]])
