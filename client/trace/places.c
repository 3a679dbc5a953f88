/*
 * Positions for the layout.
 *
 * Why: only the order of times matters to it.  A place among them has half the size of a time, which is what most of the layout's memory is, and
 * no time is too late for it.
 *
 * The times are sorted digit by digit, from the lowest on: as many passes as the range of the times has digits, whatever they are.
 */
#include "places.h"

#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 11u
#define DIGITS	   (1u << DIGIT_BITS)
#define PLACE_MAX  (UINT32_MAX / 2 - 2) /* what is twice that, and a little more, is a position */

struct entry {
	uint64_t time;
	uint32_t which; /* in P->of */
};

/* One pass: N entries from A to B in the order of the digit at SHIFT, otherwise as they were. */
static void sort_digit(const struct entry *a, struct entry *b, size_t n, unsigned shift)
{
	uint32_t starts[DIGITS] = {0}, sum = 0, count;
	size_t i;

	for (i = 0; i < n; i++)
		starts[(a[i].time >> shift) % DIGITS]++;
	for (i = 0; i < DIGITS; i++) {
		count = starts[i];
		starts[i] = sum;
		sum += count;
	}
	for (i = 0; i < n; i++)
		b[starts[(a[i].time >> shift) % DIGITS]++] = a[i];
}

/* The starts and ends of all threads but the roots, from the earliest on; how many. */
static size_t gather(const struct mprof_model *m, struct entry *list, uint64_t *range)
{
	uint64_t first = UINT64_MAX, last = 0;
	size_t n = 0;
	uint32_t i;

	for (i = 0; i < model_count(m, MODEL_THREADS); i++) {
		const struct mprof_thread *t = model_thread(m, i);

		if (t->flags & MPROF_THREAD_ROOT)
			continue;
		list[n++] = (struct entry){t->start, 2 * i};
		list[n++] = (struct entry){t->end, 2 * i + 1};
		first = t->start < first ? t->start : first;
		last = t->end > last ? t->end : last;
	}
	for (size_t k = 0; k < n; k++)
		list[k].time -= first;
	*range = n ? last - first : 0;
	return n;
}

static bool number(struct places *p, const struct entry *list, size_t n)
{
	uint32_t place = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		place += i && list[i].time != list[i - 1].time;
		if (place > PLACE_MAX)
			return false;
		p->of[list[i].which] = 2 * place;
	}
	return true;
}

static bool sort(struct places *p, const struct mprof_model *m, struct entry *a, struct entry *b)
{
	uint64_t range;
	size_t n = gather(m, a, &range);
	unsigned shift;

	for (shift = 0; shift < 64 && range >> shift; shift += DIGIT_BITS) {
		struct entry *sorted = b;

		sort_digit(a, b, n, shift);
		b = a;
		a = sorted;
	}
	return number(p, a, n);
}

bool places_init(struct places *p, const struct mprof_model *m)
{
	size_t n = 2 * (size_t)model_count(m, MODEL_THREADS) + 1;
	struct entry *a = NULL, *b = NULL;
	bool ok = false;

	*p = (struct places){.bytes = n * (2 * sizeof(*a) + sizeof(*p->of))};
	if (n < UINT32_MAX && n <= SIZE_MAX / sizeof(*a)) {
		p->of = malloc(n * sizeof(*p->of));
		a = malloc(n * sizeof(*a));
		b = malloc(n * sizeof(*b));
		ok = p->of && a && b && sort(p, m, a, b);
	}
	free(a);
	free(b);
	if (!ok)
		places_deinit(p);
	return ok;
}

void places_deinit(struct places *p)
{
	free(p->of);
	p->of = NULL;
}
