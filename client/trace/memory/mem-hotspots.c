/*
 * Functions by what they allocate, and their callers. A *hotspot* is such a function, a *spot* its
 * index.
 *
 * The profile's stack tree is walked depth first. The total of a function is the sum of the weights
 * of the subtrees at whose roots the function enters the stack, so a function that stays on the
 * stack costs nothing. Callers are counted at each node that allocates.
 */
#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "map.h"
#include "mem-walk.h"

/* A code without a name counts as its nearest caller with a name, at most this many frames away. */
#define BORROWED_MAX 2u
/* Largest number of pairs of caller and callee; further ones are left out. */
#define PAIRS_MAX (1u << 22)

struct mprof_hotspots {
	struct grow list;    /* struct mprof_hotspot */
	struct grow callers; /* struct mprof_hotspot_caller */
};

struct level {
	uint32_t spot;	  /* allocating function; MPROF_NONE at the root */
	uint32_t place;	  /* location of the allocation, or MPROF_NONE */
	uint32_t added;	  /* number of items of struct hotspot_build's ADDED before this level */
	uint32_t unnamed; /* number of consecutive codes without a name, up to this level */
};

struct pair {
	struct mprof_hotspot_caller sums;
	uint32_t node; /* node at which the pair was counted last */
};

struct hotspot_build {
	const struct mprof_mem *d;
	struct mprof_hotspots *h;
	enum mprof_weight weight;
	struct mem_walk walk;
	uint64_t *below;    /* for each node its weight and that of all nodes below it */
	uint64_t *at_place; /* for each location the weight of its allocations */
	uint32_t places;
	struct map spots;      /* from file and name to hotspot */
	struct map codes;      /* from a code without a name to hotspot */
	struct map pairs;      /* from callee and caller to pair */
	struct grow pair_list; /* struct pair */
	struct pair beyond;    /* collects all pairs past the limit */
	struct grow levels;
	struct grow on_stack; /* uint32_t for each hotspot: how often it is on the stack */
	struct grow added;    /* uint32_t: hotspots in the order in which they entered the stack */
};

static struct mprof_hotspot *spot_at(const struct mprof_hotspots *h, uint32_t i)
{
	return (struct mprof_hotspot *)h->list.items + i;
}

/*
 * Return the index of the hotspot that MAP has for KEY. If there is none, add *SPOT. Return
 * MPROF_NONE without memory.
 */
static uint32_t spot_get(struct hotspot_build *h, struct map *map, uint64_t key, const struct mprof_hotspot *spot)
{
	uint32_t i = map_get(map, key), *count;
	struct mprof_hotspot *new;

	if (i != MPROF_NONE)
		return i;
	if (!map_reserve(map, 1) || !grow_reserve(&h->h->list, sizeof(*new), 1) ||
	    !grow_reserve(&h->on_stack, sizeof(*count), 1))
		return MPROF_NONE;
	new = grow_take(&h->h->list, sizeof(*new));
	*new = *spot;
	new->places[0] = new->places[1] = new->places[2] = MPROF_NONE;
	count = grow_take(&h->on_stack, sizeof(*count));
	*count = 0;
	map_put(map, key, h->h->list.n - 1);
	return h->h->list.n - 1;
}

static uint32_t spot_named(struct hotspot_build *h, const struct mprof_mem_location *l)
{
	return spot_get(h, &h->spots, (uint64_t)l->file << 32 | l->function,
			&(struct mprof_hotspot){.name = l->function, .file = l->file, .code = MPROF_NONE});
}

static uint32_t spot_unnamed(struct hotspot_build *h, uint32_t code)
{
	return spot_get(h, &h->codes, code,
			&(struct mprof_hotspot){.name = MPROF_NONE, .file = MPROF_NONE, .code = code});
}

/* Put the hotspot SPOT on the stack. Return false without memory, or if SPOT is MPROF_NONE. */
static bool push(struct hotspot_build *h, uint32_t spot)
{
	uint32_t *count, *added;

	if (spot == MPROF_NONE)
		return false;
	count = (uint32_t *)h->on_stack.items + spot;
	if ((*count)++ == 0)
		spot_at(h->h, spot)->total += h->below[h->walk.at];
	added = grow_add(&h->added, sizeof(*added));
	if (added)
		*added = spot;
	return added;
}

static bool enter_code(struct hotspot_build *h, struct level *level, uint32_t i)
{
	const struct mprof_mem_code *code = mprof_mem_code(h->d, i);

	for (uint32_t k = 0; k < code->locations; k++) {
		level->place = code->first_location + k;
		level->spot = spot_named(h, mprof_mem_location(h->d, level->place));
		level->unnamed = 0;
		if (!push(h, level->spot))
			return false;
	}
	if (code->locations || (level->spot != MPROF_NONE && ++level->unnamed <= BORROWED_MAX))
		return true;
	level->place = MPROF_NONE;
	level->spot = spot_unnamed(h, i);
	level->unnamed = BORROWED_MAX;
	return push(h, level->spot);
}

/*
 * Return the pair of CALLEE and CALLER, and create it if needed; valid until the next call. Return
 * NULL without memory.
 */
static struct pair *pair_get(struct hotspot_build *h, uint32_t callee, uint32_t caller)
{
	uint64_t key = (uint64_t)callee << 32 | caller;
	uint32_t i = map_get(&h->pairs, key);
	struct pair *pair;

	if (i != MPROF_NONE)
		return (struct pair *)h->pair_list.items + i;
	if (h->pair_list.n == PAIRS_MAX)
		return &h->beyond;
	if (!map_reserve(&h->pairs, 1))
		return NULL;
	pair = grow_add(&h->pair_list, sizeof(*pair));
	if (!pair)
		return NULL;
	*pair = (struct pair){.sums = {.caller = caller, .callee = callee}, .node = MPROF_NONE};
	map_put(&h->pairs, key, h->pair_list.n - 1);
	return pair;
}

/*
 * Add WEIGHT, which CALLEE allocates, to the pair of CALLEE with each other hotspot on the stack,
 * once for each hotspot. Return false without memory.
 */
static bool count_callers(struct hotspot_build *h, uint32_t callee, uint64_t weight)
{
	const uint32_t *added = h->added.items;
	uint32_t counted = 0, i = h->added.n, steps = 4 * MPROF_HOTSPOT_CALLERS_MAX;

	/* Go from the innermost frame outwards. The limits bound the cost of deep stacks. */
	while (i-- > 0 && counted < MPROF_HOTSPOT_CALLERS_MAX && steps-- > 0) {
		struct pair *pair;

		if (added[i] == callee)
			continue;
		pair = pair_get(h, callee, added[i]);
		if (!pair)
			return false;
		if (pair->node == h->walk.at)
			continue;
		pair->node = h->walk.at;
		pair->sums.samples += weight;
		/* The first function that differs from CALLEE called it directly. */
		if (!counted++)
			pair->sums.direct += weight;
	}
	return true;
}

static bool enter(struct hotspot_build *h)
{
	const struct mprof_profile_node *node = &h->walk.nodes[h->walk.at];
	const struct level *levels = h->levels.items;
	struct level level = {.spot = MPROF_NONE, .place = MPROF_NONE}, *new;
	uint64_t weight = mem_weight(node, h->weight);

	if (node->parent != MPROF_NONE)
		level = levels[h->levels.n - 1];
	level.added = h->added.n;
	if (node->code == MPROF_CODE_TRUNCATED || node->code == MPROF_CODE_UNKNOWN) {
		level.place = MPROF_NONE;
		level.spot = spot_unnamed(h, node->code);
		if (!push(h, level.spot))
			return false;
	} else if (node->parent != MPROF_NONE && !enter_code(h, &level, node->code)) {
		return false;
	}
	new = grow_add(&h->levels, sizeof(*new));
	if (!new)
		return false;
	*new = level;
	if (!weight || level.spot == MPROF_NONE)
		return true;
	spot_at(h->h, level.spot)->self += weight;
	if (level.place != MPROF_NONE)
		h->at_place[level.place] += weight;
	return count_callers(h, level.spot, weight);
}

static void leave(struct hotspot_build *h)
{
	const struct level *levels = h->levels.items;
	uint32_t before = levels[--h->levels.n].added;

	while (h->added.n > before)
		((uint32_t *)h->on_stack.items)[((uint32_t *)h->added.items)[--h->added.n]]--;
}

/* ---- sorting the result ---- */

/* Insert PLACE, a location, among the three places at which its function allocates most. */
static void rank_place(struct hotspot_build *h, uint32_t place)
{
	const struct mprof_mem_location *l = mprof_mem_location(h->d, place);
	uint32_t i = map_get(&h->spots, (uint64_t)l->file << 32 | l->function), at = 2;
	struct mprof_hotspot *spot;

	if (i == MPROF_NONE)
		return;
	spot = spot_at(h->h, i);
	spot->n_places++;
	if (spot->places[2] != MPROF_NONE && h->at_place[spot->places[2]] >= h->at_place[place])
		return;
	while (at > 0 && (spot->places[at - 1] == MPROF_NONE || h->at_place[spot->places[at - 1]] < h->at_place[place]))
		at--;
	for (uint32_t k = 2; k > at; k--)
		spot->places[k] = spot->places[k - 1];
	spot->places[at] = place;
}

/* A hotspot with its name as a text, and the index that it had before sorting. */
struct ranked {
	struct mprof_hotspot spot;
	const char *name;
	size_t bytes;
	uint32_t was;
};

static int ranked_compare(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	size_t n = x->bytes < y->bytes ? x->bytes : y->bytes;
	int r;

	if (x->spot.self != y->spot.self)
		return x->spot.self > y->spot.self ? -1 : 1;
	r = n ? memcmp(x->name, y->name, n) : 0;
	if (r)
		return r;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? -1 : 1;
	return x->was < y->was ? -1 : x->was > y->was;
}

static int pair_compare(const void *a, const void *b)
{
	const struct mprof_hotspot_caller *x = &((const struct pair *)a)->sums, *y = &((const struct pair *)b)->sums;

	if (x->callee != y->callee)
		return x->callee < y->callee ? -1 : 1;
	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return x->caller < y->caller ? -1 : x->caller > y->caller;
}

/*
 * Sort the hotspots by SELF. IS[i] becomes the new index of the hotspot that had index i. Return
 * false without memory.
 */
static bool order_spots(struct hotspot_build *h, uint32_t *is)
{
	uint32_t n = h->h->list.n;
	struct ranked *ranked = calloc(n + 1u, sizeof(*ranked));

	if (!ranked)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		ranked[i] = (struct ranked){.spot = *spot_at(h->h, i), .name = "", .was = i};
		if (ranked[i].spot.name != MPROF_NONE)
			ranked[i].name = mprof_mem_string(h->d, ranked[i].spot.name, &ranked[i].bytes);
	}
	qsort(ranked, n, sizeof(*ranked), ranked_compare);
	for (uint32_t i = 0; i < n; i++) {
		*spot_at(h->h, i) = ranked[i].spot;
		is[ranked[i].was] = i;
	}
	free(ranked);
	return true;
}

static bool order_pairs(struct hotspot_build *h, const uint32_t *is)
{
	struct pair *pairs = h->pair_list.items;
	struct mprof_hotspot_caller *caller;
	uint32_t n = h->pair_list.n;

	if (!grow_reserve(&h->h->callers, sizeof(*caller), n))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		pairs[i].sums.caller = is[pairs[i].sums.caller];
		pairs[i].sums.callee = is[pairs[i].sums.callee];
	}
	if (n)
		qsort(pairs, n, sizeof(*pairs), pair_compare);
	for (uint32_t i = 0; i < n; i++) {
		struct mprof_hotspot *callee = spot_at(h->h, pairs[i].sums.callee);

		caller = grow_take(&h->h->callers, sizeof(*caller));
		*caller = pairs[i].sums;
		if (!callee->n_callers++)
			callee->first_caller = i;
	}
	return true;
}

static bool order(struct hotspot_build *h)
{
	uint32_t *is = malloc((h->h->list.n + 1u) * sizeof(*is));
	bool done;

	for (uint32_t i = 0; i < h->places; i++)
		if (h->at_place[i])
			rank_place(h, i);
	done = is && order_spots(h, is) && order_pairs(h, is);
	free(is);
	return done;
}

static bool find(struct hotspot_build *h, struct mprof_profile *p)
{
	enum mem_step step;

	if (!mem_walk_init(&h->walk, p))
		return false;
	map_init(&h->spots, h->walk.seed);
	map_init(&h->codes, h->walk.seed);
	map_init(&h->pairs, h->walk.seed);
	h->places = mprof_mem_locations(h->d);
	h->below = calloc(h->walk.n, sizeof(*h->below));
	h->at_place = calloc(h->places + 1u, sizeof(*h->at_place));
	if (!h->below || !h->at_place)
		return false;
	for (uint32_t i = h->walk.n; i-- > 0;) {
		h->below[i] += mem_weight(&h->walk.nodes[i], h->weight);
		if (i)
			h->below[h->walk.nodes[i].parent] += h->below[i];
	}
	while ((step = mem_walk_next(&h->walk)) != MEM_WALK_END) {
		if (step == MEM_WALK_LEAVE)
			leave(h);
		else if (!enter(h))
			return false;
	}
	return order(h);
}

struct mprof_hotspots *mprof_hotspots_new(struct mprof_profile *p, const struct mprof_mem *m, enum mprof_weight weight)
{
	struct hotspot_build f = {.d = m, .weight = weight, .h = calloc(1, sizeof(*f.h))};
	bool done = f.h && find(&f, p);

	mem_walk_deinit(&f.walk);
	free(f.below);
	free(f.at_place);
	map_deinit(&f.spots);
	map_deinit(&f.codes);
	map_deinit(&f.pairs);
	grow_deinit(&f.pair_list);
	grow_deinit(&f.levels);
	grow_deinit(&f.on_stack);
	grow_deinit(&f.added);
	return done ? f.h : mprof_hotspots_free(f.h);
}

struct mprof_hotspots *mprof_hotspots_free(struct mprof_hotspots *h)
{
	if (!h)
		return NULL;
	grow_deinit(&h->list);
	grow_deinit(&h->callers);
	free(h);
	return NULL;
}

const struct mprof_hotspot *mprof_hotspots_list(const struct mprof_hotspots *h, uint32_t *n)
{
	*n = h->list.n;
	return h->list.items;
}

const struct mprof_hotspot_caller *mprof_hotspots_callers(const struct mprof_hotspots *h, uint32_t *n)
{
	*n = h->callers.n;
	return h->callers.items;
}
