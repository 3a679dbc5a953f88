/* fnmatch() can take exponential time over a guest's label; with the last star alone to come back to, this cannot. */
#include "glob.h"

/* Does one byte of the text match what stands at *P, other than a star?  Moves *P behind it. */
static bool one_matches(const char **p, char c)
{
	const char *at = *p;

	if (*at == '\\' && at[1])
		at++;
	else if (*at == '?') {
		*p = at + 1;
		return true;
	}
	*p = at + 1;
	return *at && *at == c;
}

bool glob_match(const char *pattern, const char *text, size_t len)
{
	const char *star = NULL, *p = pattern;
	size_t star_at = 0, i = 0;

	while (i < len) {
		const char *next = p;

		if (*p == '*') {
			star = ++p;
			star_at = i;
		} else if (*p && one_matches(&next, text[i])) {
			p = next;
			i++;
		} else if (star) {
			p = star;
			i = ++star_at;
		} else {
			return false;
		}
	}
	while (*p == '*')
		p++;
	return *p == 0;
}
