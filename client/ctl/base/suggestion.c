/* Find the word that was perhaps meant. */
#include <string.h>

#include "suggestion.h"

/*
 * The distance of two words is the least number of edits that turn one into the other. An edit
 * inserts, deletes or replaces a letter, or swaps two neighbouring letters.
 */

#define LEN_MAX 24u

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
	size_t rows[3][LEN_MAX + 1];

	for (size_t j = 0; j <= m; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t *row = rows[i % 3], *above = rows[(i - 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], rows[(i - 2) % 3][j - 2] + 1);
		}
	}
	return rows[n % 3][m];
}

void suggestion_consider(struct suggestion *s, const char *candidate)
{
	size_t len = strcspn(s->word, "="), other = strlen(candidate), d;

	if (len > LEN_MAX || other > LEN_MAX)
		return;
	d = distance(s->word, len, candidate, other);
	if (d <= (other - strspn(candidate, "-") > 4 ? 2u : 1u) && (!s->best || d < s->best_distance)) {
		s->best = candidate;
		s->best_distance = d;
	}
}
