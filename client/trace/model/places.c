/*
 * Ranks of times.
 *
 * The layout only needs the order of times. A place has half the size of a time, and the places of
 * a thread are stored side by side.
 *
 * Times are radix sorted. A sorted word has the number of the time (struct sorting) in its low
 * bits, and above it as much of the time as fits, nearly always all of it. If not all of it fits, a
 * second pass sorts by the higher bits of the time.
 */
#include "places.h"

#include <string.h>

#define DIGIT_BITS 11u
#define DIGITS	   (1u << DIGIT_BITS)
#define SMALL_BITS 8u /* for fewer than DIGITS words */
#define FEW	   32u
#define AHEAD	   16u /* how many threads ahead to prefetch */

/*
 * The times being sorted. Each time has a number: 2 * I is the start of thread I of the list, 2 * I
 * + 1 the end.
 */
struct sorting {
	const struct mprof_model *m;
	const uint32_t *threads; /* NULL: consecutive threads from FIRST_THREAD on */
	uint32_t first_thread;
	uint64_t *from;
	uint64_t *to;
	size_t n;
	uint64_t first; /* earliest time */
	uint64_t range;
	unsigned number_bits;
};

static uint32_t thread_of(const struct sorting *s, uint64_t number)
{
	return s->threads ? s->threads[number / 2] : s->first_thread + (uint32_t)(number / 2);
}

static uint64_t time_of(const struct sorting *s, uint64_t number)
{
	const struct mprof_thread *t = model_thread(s->m, thread_of(s, number));

	return (number % 2 ? t->end : t->start) - s->first;
}

static uint64_t number_of(const struct sorting *s, uint64_t entry)
{
	return entry & ((UINT64_C(1) << s->number_bits) - 1);
}

/* Turn the count of each digit into the position at which the words with that digit begin. */
static void add_up(uint32_t *starts, uint32_t digits)
{
	uint32_t sum = 0, count;

	for (uint32_t i = 0; i < digits; i++) {
		count = starts[i];
		starts[i] = sum;
		sum += count;
	}
}

/*
 * Sort N words of FROM into TO by one digit: the BITS bits that begin at bit SHIFT. Words of the
 * same digit keep their order. STARTS has an entry for each value of the digit; on return it is the
 * index in TO behind the last word of that digit.
 */
static void sort_digit(const uint64_t *from, uint64_t *to, size_t n, unsigned shift, unsigned bits, uint32_t *starts)
{
	uint64_t mask = (UINT64_C(1) << bits) - 1;

	memset(starts, 0, sizeof(*starts) << bits);
	for (size_t i = 0; i < n; i++)
		starts[from[i] >> shift & mask]++;
	add_up(starts, UINT32_C(1) << bits);
	for (size_t i = 0; i < n; i++)
		to[starts[from[i] >> shift & mask]++] = from[i];
}

static void sort_few(uint64_t *words, size_t n, unsigned shift)
{
	size_t k;

	for (size_t i = 1; i < n; i++) {
		uint64_t word = words[i];

		for (k = i; k > 0 && words[k - 1] >> shift > word >> shift; k--)
			words[k] = words[k - 1];
		words[k] = word;
	}
}

/*
 * Sort N words by their bits from LOW up to, but not including, HIGH. ROOM is a buffer of the same
 * size.
 */
static void sort_words(uint64_t *words, uint64_t *room, size_t n, unsigned low, unsigned high)
{
	unsigned bits = n < DIGITS ? SMALL_BITS : DIGIT_BITS;
	uint64_t *from = words, *to = room, *swap;
	uint32_t starts[DIGITS];

	if (n <= FEW) {
		sort_few(words, n, low);
		return;
	}
	for (unsigned shift = low; shift < high; shift += bits) {
		sort_digit(from, to, n, shift, bits, starts);
		swap = from;
		from = to;
		to = swap;
	}
	if (from != words)
		memcpy(words, from, n * sizeof(*words));
}

/*
 * Sort all words by their bits from LOW up to, but not including, HIGH. First group them by their
 * highest digit, and then sort each group while it is in the cache.
 */
static void sort_all(struct sorting *s, unsigned low, unsigned high)
{
	unsigned top = high > low + DIGIT_BITS ? high - DIGIT_BITS : low;
	uint32_t ends[DIGITS], begin = 0;
	uint64_t *swap = s->from;

	sort_digit(s->from, s->to, s->n, top, DIGIT_BITS, ends);
	s->from = s->to;
	s->to = swap;
	for (uint32_t i = 0; i < DIGITS && top > low; begin = ends[i++])
		sort_words(s->from + begin, s->to + begin, ends[i] - begin, low, top);
}

/*
 * Sort by as many bits of the times, from bit LOW on, as fit into the words. With LOW 0 the words
 * are still the times themselves.
 */
static void sort_part(struct sorting *s, unsigned low)
{
	unsigned high;

	for (size_t i = 0; i < s->n; i++) {
		uint64_t number = low ? number_of(s, s->from[i]) : i;
		uint64_t time = low ? time_of(s, number) : s->from[i] - s->first;

		s->from[i] = time >> low << s->number_bits | number;
	}
	for (high = s->number_bits; high < 64 && s->range >> low >> (high - s->number_bits);)
		high++;
	sort_all(s, s->number_bits, high);
}

/* Load all times, in the order of their numbers, and find the earliest and the latest. */
static void measure(struct sorting *s)
{
	uint64_t last = 0;

	s->first = UINT64_MAX;
	for (size_t i = 0; i < s->n / 2; i++) {
		const struct mprof_thread *t = model_thread(s->m, thread_of(s, 2 * i));

		if (i + AHEAD < s->n / 2)
			__builtin_prefetch(&model_thread(s->m, thread_of(s, 2 * (i + AHEAD)))->start);
		s->from[2 * i] = t->start;
		s->from[2 * i + 1] = t->end;
		s->first = t->start < s->first ? t->start : s->first;
		last = t->end > last ? t->end : last;
	}
	s->range = s->n ? last - s->first : 0;
}

/*
 * Store the places of all times, which are in order. WHOLE: the words have the complete times.
 * Return the number of different times.
 */
static uint32_t number(struct places *p, const struct sorting *s, bool whole)
{
	uint64_t time, before = 0;
	uint32_t place = 0;

	for (size_t i = 0; i < s->n; i++) {
		uint64_t n = number_of(s, s->from[i]);
		struct life *life = (struct life *)p->of.items + thread_of(s, n);

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

	/*
	 * These are all threads of a single stream: take them in the order of their indices, in
	 * which their times are nearly sorted.
	 */
	if (n + 1 == model_count(m, MODEL_THREADS)) {
		s.threads = NULL;
		s.first_thread = 1;
	}
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
