/*
 * Places for the layout.
 *
 * Why: only the order of times matters to it.  Places have half the size of times, and lie side by side.
 *
 * Times are sorted digit by digit, from the lowest on.  What is sorted are words: the number of the time below and as much of the time as there is
 * room for above it, which nearly always is all of it.  Where it is not, the rest of the time takes its turn when the lower part
 * is in order.
 */
#include "places.h"

#define DIGIT_BITS 11u
#define DIGITS	   (1u << DIGIT_BITS)
#define AHEAD	   16u /* so many threads ahead they are asked for */

/* What is sorted: the start of thread I of the list is number 2 * I, its end the next one. */
struct sorting {
	const struct mprof_model *m;
	const uint32_t *threads;
	uint64_t *from;
	uint64_t *to;
	size_t n;
	uint64_t first; /* of all times */
	uint64_t range;
	unsigned number_bits;
};

static uint64_t time_of(const struct sorting *s, uint64_t number)
{
	const struct mprof_thread *t = model_thread(s->m, s->threads[number / 2]);

	return (number % 2 ? t->end : t->start) - s->first;
}

static uint64_t number_of(const struct sorting *s, uint64_t entry)
{
	return entry & ((UINT64_C(1) << s->number_bits) - 1);
}

/* One pass, in the order of the digit at SHIFT, otherwise as they were. */
static void sort_digit(struct sorting *s, unsigned shift)
{
	uint32_t starts[DIGITS] = {0}, sum = 0, count;
	const uint64_t *from = s->from;
	uint64_t *to = s->to;
	size_t i;

	for (i = 0; i < s->n; i++)
		starts[(from[i] >> shift) % DIGITS]++;
	for (i = 0; i < DIGITS; i++) {
		count = starts[i];
		starts[i] = sum;
		sum += count;
	}
	for (i = 0; i < s->n; i++)
		to[starts[(from[i] >> shift) % DIGITS]++] = from[i];
	s->from = to;
	s->to = (uint64_t *)from;
}

/* Sort by the bits of the times from LOW on, as many as there is room for; at first the words are the times. */
static void sort_part(struct sorting *s, unsigned low)
{
	unsigned shift;
	size_t i;

	for (i = 0; i < s->n; i++) {
		uint64_t number = low ? number_of(s, s->from[i]) : i;
		uint64_t time = low ? time_of(s, number) : s->from[i] - s->first;

		s->from[i] = time >> low << s->number_bits | number;
	}
	for (shift = s->number_bits; shift < 64 && s->range >> low >> (shift - s->number_bits); shift += DIGIT_BITS)
		sort_digit(s, shift);
}

/* The times of all, in the order of their numbers. */
static void measure(struct sorting *s)
{
	uint64_t last = 0;
	size_t i;

	s->first = UINT64_MAX;
	for (i = 0; i < s->n / 2; i++) {
		const struct mprof_thread *t = model_thread(s->m, s->threads[i]);

		if (i + AHEAD < s->n / 2)
			__builtin_prefetch(&model_thread(s->m, s->threads[i + AHEAD])->start);
		s->from[2 * i] = t->start;
		s->from[2 * i + 1] = t->end;
		s->first = t->start < s->first ? t->start : s->first;
		last = t->end > last ? t->end : last;
	}
	s->range = s->n ? last - s->first : 0;
}

/* WHOLE: a word has all of its time. */
static uint32_t number(struct places *p, const struct sorting *s, bool whole)
{
	uint64_t time, before = 0;
	uint32_t place = 0;
	size_t i;

	for (i = 0; i < s->n; i++) {
		uint64_t n = number_of(s, s->from[i]);
		struct life *life = (struct life *)p->of.items + s->threads[n / 2];

		time = whole ? s->from[i] >> s->number_bits : time_of(s, n);
		place += i && time != before;
		before = time;
		*(n % 2 ? &life->end : &life->start) = place;
	}
	return s->n ? place + 1 : 0;
}

void places_find(struct places *p, const struct mprof_model *m, const uint32_t *threads, uint32_t n)
{
	struct sorting s = {.m = m, .threads = threads, .from = p->entries[0].items, .to = p->entries[1].items};
	unsigned low, room;

	s.n = 2 * (size_t)n;
	s.number_bits = n ? 64 - (unsigned)__builtin_clzll(2 * (uint64_t)n) : 1;
	room = 64 - s.number_bits;
	measure(&s);
	low = 0;
	do {
		sort_part(&s, low);
		low += room;
	} while (low < 64 && s.range >> low);
	p->n = number(p, &s, low == room);
}

bool places_init(struct places *p, const struct mprof_model *m, struct grow *spare)
{
	uint32_t n = model_count(m, MODEL_THREADS);

	*p = (struct places){0};
	grow_pass(spare, &p->entries[0], sizeof(uint64_t));
	return n < UINT32_MAX / 2 && grow_reserve(&p->of, sizeof(struct life), n) &&
	       grow_reserve(&p->entries[0], sizeof(uint64_t), 2 * n) &&
	       grow_reserve(&p->entries[1], sizeof(uint64_t), 2 * n);
}

void places_deinit(struct places *p)
{
	grow_deinit(&p->entries[0]);
	grow_deinit(&p->entries[1]);
	grow_deinit(&p->of);
}

uint64_t places_memory(const struct places *p)
{
	return (uint64_t)p->of.room * sizeof(struct life) +
	       ((uint64_t)p->entries[0].room + p->entries[1].room) * sizeof(uint64_t);
}
