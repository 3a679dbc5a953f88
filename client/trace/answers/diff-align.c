/*
 * Align two lists of keys with the fewest unmatched items, in order.
 *
 * This is Myers' algorithm: for each number of unmatched items, compute how far each diagonal
 * (position in A less position in B) reaches. The time is the length of the lists times the number
 * of unmatched items, so the algorithm stops after ODD_MAX of these. Then equal keys are paired
 * without regard to order, the first one of one list with the first one of the other.
 */
#include <stdlib.h>
#include <string.h>

#include "diff-state.h"

/*
 * Largest number of unmatched items of an alignment in order. When there are more, the order says
 * little.
 */
#define ODD_MAX 64
/* Position of a diagonal that cannot be reached. */
#define NOWHERE UINT32_MAX

struct lists {
	const uint64_t *a, *b;
	uint32_t n_a, n_b;
	uint64_t work;
};

/*
 * For each number D of unmatched items, the positions in A up to which the diagonals -D, -D + 2 … D
 * reach.
 */
struct reach {
	uint32_t at[(ODD_MAX + 1) * (ODD_MAX + 1)];
};

static uint32_t *reach_row(struct reach *r, int odd)
{
	return r->at + odd * odd + odd;
}

/*
 * Return the position in A at which diagonal K with ODD unmatched items starts: after one more
 * unmatched item of B, with *DOWN set, or of A.
 */
static uint32_t reach_begin(const struct lists *l, struct reach *r, int odd, int k, bool *down)
{
	const uint32_t *row = reach_row(r, odd - 1);
	uint32_t by_a = NOWHERE, by_b = NOWHERE;

	if (k > -odd && row[k - 1] != NOWHERE && row[k - 1] < l->n_a)
		by_a = row[k - 1] + 1;
	if (k < odd && row[k + 1] != NOWHERE && (int64_t)row[k + 1] - (k + 1) < l->n_b)
		by_b = row[k + 1];
	*down = by_a == NOWHERE || (by_b != NOWHERE && by_b >= by_a);
	return *down ? by_b : by_a;
}

/*
 * Follow diagonal K from position X in A as long as the keys are equal. Return the position in A
 * behind them.
 */
static uint32_t reach_along(struct lists *l, uint32_t x, int k)
{
	uint32_t from = x, y = (uint32_t)((int64_t)x - k);

	for (; x < l->n_a && y < l->n_b && l->a[x] == l->b[y]; x++, y++) {
	}
	l->work += x - from + 1;
	return x;
}

/*
 * Return the smallest number of unmatched items with which the ends of both lists are reached, or
 * -1 if it is more than ODD_MAX.
 */
static int reach_ends(struct lists *l, struct reach *r)
{
	int64_t end = (int64_t)l->n_a - l->n_b;
	bool down;

	if (end > ODD_MAX || end < -ODD_MAX)
		return -1;
	for (int odd = 0; odd <= ODD_MAX; odd++) {
		for (int k = -odd; k <= odd; k += 2) {
			uint32_t x = odd ? reach_begin(l, r, odd, k, &down) : 0;

			if (x != NOWHERE)
				x = reach_along(l, x, k);
			reach_row(r, odd)[k] = x;
			if (k == end && x == l->n_a)
				return odd;
		}
	}
	return -1;
}

/* Fill MATCH by following the path, with ODD unmatched items, back from the ends of the lists. */
static void match_back(const struct lists *l, struct reach *r, int odd, uint32_t *match)
{
	int k = (int)((int64_t)l->n_a - l->n_b);
	bool down = false;

	for (; odd >= 0; odd--) {
		/* The way back visits items that were set. */
		/* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign) */
		uint32_t x = reach_row(r, odd)[k], begin = odd ? reach_begin(l, r, odd, k, &down) : 0;

		for (; x > begin; x--)
			match[x - 1] = (uint32_t)((int64_t)x - 1 - k);
		k += down ? 1 : -1;
	}
}

struct entry {
	uint64_t key;
	uint32_t at;
};

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->key != y->key ? (x->key < y->key ? -1 : 1) : x->at < y->at ? -1 : 1;
}

static struct entry *sorted(const uint64_t *keys, uint32_t n)
{
	struct entry *list = malloc(((size_t)n + 1) * sizeof(*list));

	for (uint32_t i = 0; list && i < n; i++)
		list[i] = (struct entry){.key = keys[i], .at = i};
	if (list)
		qsort(list, n, sizeof(*list), compare_entries);
	return list;
}

/* Return the number of entries from AT on with the same key. */
static uint32_t same_from(const struct entry *list, uint32_t n, uint32_t at)
{
	uint32_t i = at + 1;

	while (i < n && list[i].key == list[at].key)
		i++;
	return i - at;
}

bool diff_count_off(const uint64_t *a, uint32_t n_a, const uint64_t *b, uint32_t n_b, bool equal, uint32_t *match,
		    uint64_t *work)
{
	struct entry *list_a = sorted(a, n_a), *list_b = sorted(b, n_b);
	uint32_t x, y;
	bool fine = list_a && list_b;

	memset(match, 0xff, n_a * sizeof(*match));
	for (uint32_t i = 0, k = 0; fine && i < n_a && k < n_b; i += x, k += y) {
		x = list_a[i].key > list_b[k].key ? 0 : same_from(list_a, n_a, i);
		y = list_b[k].key > list_a[i].key ? 0 : same_from(list_b, n_b, k);
		*work += x + y;
		if (equal && x != y)
			continue;
		for (uint32_t z = 0; z < x && z < y; z++)
			match[list_a[i + z].at] = list_b[k + z].at;
	}
	free(list_a);
	free(list_b);
	return fine;
}

/*
 * Align what is left of the lists without their equal beginnings and ends. Return false without
 * memory.
 */
static bool align_middle(struct lists *l, uint32_t *match, bool *ordered)
{
	struct reach *r;
	int odd;

	if (!l->n_a || !l->n_b)
		return true;
	r = malloc(sizeof(*r));
	if (!r)
		return false;
	odd = reach_ends(l, r);
	if (odd >= 0)
		match_back(l, r, odd, match);
	free(r);
	*ordered = odd >= 0;
	return odd >= 0 || diff_count_off(l->a, l->n_a, l->b, l->n_b, false, match, &l->work);
}

bool diff_align(const uint64_t *a, uint32_t n_a, const uint64_t *b, uint32_t n_b, uint32_t *match, bool *ordered,
		uint64_t *work)
{
	struct lists l = {.a = a, .b = b, .n_a = n_a, .n_b = n_b};
	uint32_t head = 0;
	bool fine;

	memset(match, 0xff, n_a * sizeof(*match));
	*ordered = true;
	for (; head < l.n_a && head < l.n_b && a[head] == b[head]; head++)
		match[head] = head;
	while (l.n_a > head && l.n_b > head && a[l.n_a - 1] == b[l.n_b - 1])
		match[--l.n_a] = --l.n_b;
	l.work = n_a - l.n_a + head + 1;
	l = (struct lists){.a = a + head, .b = b + head, .n_a = l.n_a - head, .n_b = l.n_b - head, .work = l.work};
	fine = align_middle(&l, match + head, ordered);
	for (uint32_t i = head; i < head + l.n_a; i++)
		match[i] += match[i] == MPROF_NONE ? 0 : head;
	*work += l.work;
	return fine;
}
