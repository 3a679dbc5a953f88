/*
 * A field: an array of words with summary nodes above it.
 *
 * model/rows.c keeps the lives of threads in fields. Most lives are short, and threads of
 * neighbouring rows live at times close together. The words of a time are found without a search,
 * and words of neighbouring times are neighbours in memory.
 *
 * A range sets the words at its unaligned ends. For the aligned groups of FIELD_FAN words between
 * the ends it sets their nodes instead, and on each higher level again only the unaligned ends: at
 * most 2 * FIELD_FAN steps on each of log n levels.
 *
 * Invariant: ANY of a node has its own bits and all bits set below it. A bit in ANY of a node is in
 * ANY of all nodes above.
 */
#include "field.h"

#include <string.h>

static uint64_t *word_at(const struct field *f, uint32_t i)
{
	return (uint64_t *)f->words.items + i;
}

static struct field_node *nodes_of(const struct field *f, uint32_t level)
{
	return (struct field_node *)f->nodes.items + f->first[level];
}

/* Return the number of nodes of the level above N words or nodes. */
static uint32_t above(uint32_t n)
{
	return n / FIELD_FAN + (n % FIELD_FAN != 0);
}

/*
 * Return the number of nodes of all levels above N words. Store the number of levels in *LEVELS,
 * and the index of each level's first node in FIRST.
 */
static uint32_t plan(uint32_t n, uint32_t first[FIELD_LEVELS], uint32_t *levels)
{
	uint32_t total = 0;

	for (*levels = 0; n > 1; ++*levels) {
		n = above(n);
		first[*levels] = total;
		total += n;
	}
	return total;
}

uint64_t field_bytes(uint32_t n)
{
	uint32_t first[FIELD_LEVELS], levels;

	return (uint64_t)n * sizeof(uint64_t) + (uint64_t)plan(n, first, &levels) * sizeof(struct field_node);
}

bool field_init(struct field *f, uint32_t n, struct grow *spare)
{
	uint32_t nodes;

	*f = (struct field){0};
	nodes = plan(n, f->first, &f->levels);
	grow_pass(spare, &f->words, sizeof(uint64_t));
	if (!grow_zeroed(&f->words, sizeof(uint64_t), n) || !grow_zeroed(&f->nodes, sizeof(struct field_node), nodes))
		return false;
	return true;
}

void field_deinit(struct field *f)
{
	grow_deinit(&f->words);
	grow_deinit(&f->nodes);
}

/* Set BITS in ANY of the nodes above position AT. */
static void summarize(const struct field *f, uint32_t at, uint64_t bits)
{
	for (uint32_t level = 0; level < f->levels; level++) {
		struct field_node *n = nodes_of(f, level) + (at >> FIELD_FAN_BITS * (level + 1));

		if ((n->any & bits) == bits)
			return;
		n->any |= bits;
	}
}

static void set_nodes(struct field_node *n, uint32_t from, uint32_t to, uint64_t bits)
{
	for (; from < to; from++) {
		n[from].own |= bits;
		n[from].any |= bits;
	}
}

/* Return the first multiple of FIELD_FAN at or after FROM, or TO if that is smaller. */
static uint32_t first_group(uint32_t from, uint32_t to)
{
	uint32_t whole = (from + FIELD_FAN - 1) & ~(FIELD_FAN - 1);

	return whole < to ? whole : to;
}

static uint32_t last_group(uint32_t from, uint32_t to)
{
	uint32_t whole = to & ~(FIELD_FAN - 1);

	return whole > from ? whole : from;
}

void field_add(struct field *f, uint32_t from, uint32_t to, uint64_t bits)
{
	uint32_t begin = first_group(from, to), end = last_group(begin, to);
	uint64_t *words = word_at(f, 0);

	for (uint32_t i = from; i < begin; i++)
		words[i] |= bits;
	for (uint32_t i = end; i < to; i++)
		words[i] |= bits;
	summarize(f, from, bits);
	summarize(f, to - 1, bits);
	for (uint32_t level = 0; begin < end; level++) {
		struct field_node *n = nodes_of(f, level);

		from = begin >> FIELD_FAN_BITS;
		to = end >> FIELD_FAN_BITS;
		begin = level + 1 < f->levels ? first_group(from, to) : to;
		end = last_group(begin, to);
		set_nodes(n, from, begin, bits);
		set_nodes(n, end, to, bits);
	}
}

/*
 * Return the bits that any node above the word FIRST, or above the word LAST, sets in all words
 * below it.
 */
static uint64_t own_above(const struct field *f, uint32_t first, uint32_t last)
{
	uint64_t bits = 0;

	for (uint32_t level = 0; level < f->levels; level++) {
		const struct field_node *n = nodes_of(f, level);

		first >>= FIELD_FAN_BITS;
		last >>= FIELD_FAN_BITS;
		bits |= n[first].own | n[last].own;
	}
	return bits;
}

static uint64_t get_nodes(const struct field_node *n, uint32_t from, uint32_t to)
{
	uint64_t bits = 0;

	for (; from < to; from++)
		bits |= n[from].any;
	return bits;
}

uint64_t field_get(const struct field *f, uint32_t from, uint32_t to)
{
	uint32_t begin = first_group(from, to), end = last_group(begin, to);
	const uint64_t *words = word_at(f, 0);
	uint64_t bits = own_above(f, from, to - 1);

	for (uint32_t i = from; i < begin; i++)
		bits |= words[i];
	for (uint32_t i = end; i < to; i++)
		bits |= words[i];
	for (uint32_t level = 0; begin < end; level++) {
		const struct field_node *n = nodes_of(f, level);

		from = begin >> FIELD_FAN_BITS;
		to = end >> FIELD_FAN_BITS;
		begin = level + 1 < f->levels ? first_group(from, to) : to;
		end = last_group(begin, to);
		bits |= get_nodes(n, from, begin) | get_nodes(n, end, to);
	}
	return bits;
}

/*
 * Find the run of words around AT, inside of AT's group of FIELD_FAN words, that are all ones
 * together with the bits ABOVE. Store it in *FROM and *TO. Return false when the word at AT is not
 * all ones.
 */
static bool full_in_group(const struct field *f, uint32_t at, uint64_t above, uint32_t *from, uint32_t *to)
{
	const uint64_t *words = word_at(f, 0);
	uint32_t begin = at & ~(FIELD_FAN - 1), end = begin + FIELD_FAN < f->words.n ? begin + FIELD_FAN : f->words.n;

	if (~(words[at] | above))
		return false;
	for (*from = at; *from > begin && !~(words[*from - 1] | above);)
		--*from;
	for (*to = at + 1; *to < end && !~(words[*to] | above);)
		++*to;
	return true;
}

bool field_full(const struct field *f, uint32_t at, uint32_t *from, uint32_t *to)
{
	uint64_t bits = 0, behind;

	for (uint32_t level = f->levels; level-- > 0;) {
		uint32_t shift = FIELD_FAN_BITS * (level + 1);

		bits |= nodes_of(f, level)[at >> shift].own;
		if (~bits)
			continue;
		*from = at >> shift << shift;
		behind = (uint64_t)*from + (UINT64_C(1) << shift);
		*to = behind < f->words.n ? (uint32_t)behind : f->words.n;
		return true;
	}
	return full_in_group(f, at, bits, from, to);
}
