/*
 * Leaks. A profile still has all objects that live at the end, with the times of their allocation:
 * add them up by allocating code and by part of the run. Its levels have what lived earlier.
 */
#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "mem-walk.h"
#include "wide.h"

/*
 * Limits for a leak that is sure, for one that is likely, and for one that is possible. *_PARTS is the least value of
 * STEADY, *_GROWTH the least value of GROWTH.
 *
 * SURE_GROWTH is four samples for each of SURE_PARTS parts. With four samples on average, chance
 * leaves a given part empty in 2 of 100 runs.
 */
#define SURE_PARTS	(MPROF_LEAK_PARTS - 1)
#define SURE_GROWTH	28u
#define LIKELY_PARTS	(MPROF_LEAK_PARTS - 3)
#define LIKELY_GROWTH	8u
#define POSSIBLE_PARTS	3u
#define POSSIBLE_GROWTH 4u
/* More live at the end than ever before: by a quarter, and by so many samples. */
#define HIGHEST_PARTS  16u
#define HIGHEST_GROWTH 8u

struct mprof_leaks {
	struct grow list; /* struct mprof_leak */
};

/*
 * State of a search for leaks. OF_CODE has for each code the index of its leak; the special codes
 * come after the N_CODES codes of the decoder.
 */
struct leak_build {
	const struct mprof_profile_node *nodes;
	uint32_t n_nodes, n_codes;
	uint32_t *of_code;
	struct mprof_leaks *leaks;
	struct grow allocated; /* struct parts: for each leak its live samples by the part of the allocations */
	const struct mem_levels *levels;
	uint64_t allocs;     /* allocations of LEVELS */
	uint64_t all_allocs; /* allocations of the recording */
};

struct parts {
	uint64_t parts[MPROF_LEAK_PARTS];
};

static struct mprof_leak *leak_of(struct leak_build *b, uint32_t code)
{
	uint32_t at = code < b->n_codes		     ? code
		      : code == MPROF_CODE_TRUNCATED ? b->n_codes
		      : code == MPROF_CODE_UNKNOWN   ? b->n_codes + 1
						     : b->n_codes + 2;
	struct mprof_leak *leak;

	if (b->of_code[at] != MPROF_NONE)
		return (struct mprof_leak *)b->leaks->list.items + b->of_code[at];
	if (!grow_add(&b->allocated, sizeof(struct parts)))
		return NULL;
	leak = grow_add(&b->leaks->list, sizeof(*leak));
	if (!leak)
		return NULL;
	((struct parts *)b->allocated.items)[b->allocated.n - 1] = (struct parts){0};
	*leak = (struct mprof_leak){.code = code, .node = MPROF_NONE};
	b->of_code[at] = b->leaks->list.n - 1;
	return leak;
}

/* Count the live samples of each node for its code. Return false without memory. */
static bool add_nodes(struct leak_build *b)
{
	for (uint32_t i = 0; i < b->n_nodes; i++) {
		struct mprof_leak *leak;

		if (!b->nodes[i].live)
			continue;
		leak = leak_of(b, b->nodes[i].code);
		if (!leak)
			return false;
		leak->live += b->nodes[i].live;
		if (leak->node != MPROF_NONE && leak->at_node >= b->nodes[i].live)
			continue;
		leak->node = i;
		leak->at_node = b->nodes[i].live;
	}
	return true;
}

static bool add_objects(struct leak_build *b, const struct mem_live *live, uint64_t start_us, uint64_t last_us)
{
	uint64_t length = last_us > start_us ? last_us - start_us : 1;

	for (uint32_t i = 0; i < mem_live_end(live); i++) {
		const struct mem_object *object = mem_live_at(live, i);
		struct mprof_leak *leak;
		struct parts *of_allocs;
		uint64_t since;

		if (!object || !object->counted)
			continue;
		since = object->made_us > start_us ? object->made_us - start_us : 0;
		leak = leak_of(b, b->nodes[object->node].code);
		if (!leak)
			return false;
		leak->parts[wide_part(since, length, MPROF_LEAK_PARTS)] += object->samples;
		since = object->id > 0 ? (uint64_t)object->id : 0;
		of_allocs = (struct parts *)b->allocated.items + (leak - (struct mprof_leak *)b->leaks->list.items);
		of_allocs->parts[wide_part(since, b->all_allocs, MPROF_LEAK_PARTS)] += object->samples;
	}
	return true;
}

static uint64_t growth_of(const struct mprof_leak *leak)
{
	return leak->growth > leak->allocated_growth ? leak->growth : leak->allocated_growth;
}

static int leak_compare(const void *a, const void *b)
{
	const struct mprof_leak *x = a, *y = b;

	if ((x->sureness == MPROF_LEAK_NONE) != (y->sureness == MPROF_LEAK_NONE))
		return x->sureness == MPROF_LEAK_NONE ? 1 : -1;
	if (growth_of(x) != growth_of(y))
		return growth_of(x) > growth_of(y) ? -1 : 1;
	if (x->live != y->live)
		return x->live > y->live ? -1 : 1;
	return x->code < y->code ? -1 : x->code > y->code;
}

/* Count the PARTS but the last one, and the samples in those between the first and the last. */
static void count_parts(const uint64_t *parts, uint32_t *steady, uint64_t *growth)
{
	for (uint32_t i = 0; i < MPROF_LEAK_PARTS - 1; i++) {
		*steady += parts[i] > 0;
		*growth += i ? parts[i] : 0;
	}
}

/* Return true if an object of LEAK was made in the second half of the time. */
static bool is_late(const struct mprof_leak *leak)
{
	uint64_t late = 0;

	for (uint32_t i = MPROF_LEAK_PARTS / 2; i < MPROF_LEAK_PARTS; i++)
		late += leak->parts[i];
	return late > 0;
}

/* Return true if more samples of LEAK live at the end than ever before the last eighth of the allocations. */
static bool is_highest(const struct leak_build *b, const struct mprof_leak *leak)
{
	uint64_t most = 0, level;

	for (uint32_t i = 1; i < HIGHEST_PARTS - 1; i++) {
		level = mem_levels_at(b->levels, leak->code, b->allocs, i, HIGHEST_PARTS);
		most = level > most ? level : most;
	}
	return leak->live > most && leak->live - most >= HIGHEST_GROWTH && wide_less(most, 5, leak->live, 4);
}

static bool is_possible(const struct leak_build *b, const struct mprof_leak *leak)
{
	return leak->growth >= POSSIBLE_GROWTH || leak->allocated_growth >= POSSIBLE_GROWTH ||
	       (leak->growth && leak->steady >= POSSIBLE_PARTS) || is_highest(b, leak);
}

static enum mprof_sureness sureness_of(const struct leak_build *b, const struct mprof_leak *leak)
{
	uint64_t half = mem_levels_at(b->levels, leak->code, b->allocs, 2, 4),
		 three = mem_levels_at(b->levels, leak->code, b->allocs, 3, 4);

	if (!is_possible(b, leak))
		return MPROF_LEAK_NONE;
	/* A cache that is full replaces its objects: they are of all times, and not more than before. */
	if (wide_less(leak->live, 19, three, 20))
		return MPROF_LEAK_POSSIBLE;
	if (leak->steady >= SURE_PARTS && leak->growth >= SURE_GROWTH && wide_less(three, 100, leak->live, 92) &&
	    wide_less(half, 4, leak->live, 3))
		return MPROF_LEAK_SURE;
	if (leak->steady >= LIKELY_PARTS && leak->growth >= LIKELY_GROWTH)
		return MPROF_LEAK_LIKELY;
	/* If all objects were made early, the program has filled something, and stopped. */
	if (leak->allocated_steady >= LIKELY_PARTS && leak->allocated_growth >= LIKELY_GROWTH && is_late(leak))
		return MPROF_LEAK_LIKELY;
	return MPROF_LEAK_POSSIBLE;
}

static void judge(const struct leak_build *b, uint32_t i)
{
	struct mprof_leak *leak = (struct mprof_leak *)b->leaks->list.items + i;
	const struct parts *of_allocs = (const struct parts *)b->allocated.items + i;

	count_parts(leak->parts, &leak->steady, &leak->growth);
	count_parts(of_allocs->parts, &leak->allocated_steady, &leak->allocated_growth);
	leak->sureness = sureness_of(b, leak);
}

static bool find(struct leak_build *b, const struct mem_live *live, uint64_t start_us, uint64_t last_us)
{
	struct grow *list = &b->leaks->list;

	b->of_code = malloc((b->n_codes + 3u) * sizeof(*b->of_code));
	if (!b->of_code)
		return false;
	memset(b->of_code, 0xff, (b->n_codes + 3u) * sizeof(*b->of_code));
	if (!add_nodes(b) || !add_objects(b, live, start_us, last_us))
		return false;
	for (uint32_t i = 0; i < list->n; i++)
		judge(b, i);
	if (list->n)
		qsort(list->items, list->n, sizeof(struct mprof_leak), leak_compare);
	return true;
}

struct mprof_leaks *mprof_leaks_new(struct mprof_profile *p, const struct mprof_mem *m, uint64_t start_us,
				    uint64_t last_us)
{
	struct leak_build f = {.n_codes = mprof_mem_codes(m), .leaks = calloc(1, sizeof(*f.leaks))};
	bool done;

	f.nodes = mprof_profile_nodes(p, &f.n_nodes);
	f.levels = profile_levels(p, &f.allocs);
	f.all_allocs = profile_allocs(p) ? profile_allocs(p) : 1;
	done = f.leaks && f.nodes && find(&f, profile_live(p), start_us, last_us);
	free(f.of_code);
	grow_deinit(&f.allocated);
	return done ? f.leaks : mprof_leaks_free(f.leaks);
}

struct mprof_leaks *mprof_leaks_free(struct mprof_leaks *l)
{
	if (!l)
		return NULL;
	grow_deinit(&l->list);
	free(l);
	return NULL;
}

const struct mprof_leak *mprof_leaks_list(const struct mprof_leaks *l, uint32_t *n)
{
	*n = l->list.n;
	return l->list.items;
}
