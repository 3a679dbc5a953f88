/*
 * Trees of functions, made from a profile's stack tree, whose nodes are codes.
 *
 * The stack tree is walked depth first. For each node on the current path a level remembers the
 * node of the tree of functions that belongs to it. A counter for each name tells whether the
 * function is on the stack already, so recursion of any depth costs nothing.
 */
#include <stdlib.h>
#include <string.h>

#include <mprof/flame.h>

#include "grow.h"
#include "map.h"
#include "mem-walk.h"

struct mprof_flame {
	struct grow nodes; /* struct mprof_flame_node */
	uint64_t seed;	   /* seed of the profile, for maps */
};

static inline struct mprof_flame_node *mem_flame_at(const struct mprof_flame *f, uint32_t i)
{
	return (struct mprof_flame_node *)f->nodes.items + i;
}

/* The property that distinguishes a node from its siblings: a name, a location, or a code that has neither. */
enum mem_flame_key { MEM_FLAME_NAME, MEM_FLAME_LOCATION, MEM_FLAME_CODE };

/* ---- a tree that grows ---- */

/* Building a tree, and sorting siblings. */

/* Return a tree that only has a root, or NULL without memory. */
static struct mprof_flame *mem_flame_new(uint64_t seed)
{
	struct mprof_flame *f = calloc(1, sizeof(*f));
	struct mprof_flame_node *root = f ? grow_add(&f->nodes, sizeof(*root)) : NULL;

	if (!root)
		return mprof_flame_free(f);
	f->seed = seed;
	*root = (struct mprof_flame_node){
		.parent = MPROF_NONE,
		.first_child = MPROF_NONE,
		.next_sibling = MPROF_NONE,
		.name = MPROF_NONE,
		.location = MPROF_NONE,
		.code = MPROF_NONE,
	};
	return f;
}

/*
 * Return the child of PARENT that KIND and VALUE identify, and create it if needed. Return
 * MPROF_NONE without memory. MAP finds the nodes of F.
 */
static uint32_t mem_flame_child(struct mprof_flame *f, struct map *map, uint32_t parent, enum mem_flame_key kind,
				uint32_t value)
{
	/* Nodes and values are far below 2^30. */
	uint64_t key = (uint64_t)kind << 62 | (uint64_t)(value & 0x3fffffff) << 32 | parent;
	uint32_t i = map_get(map, key);
	struct mprof_flame_node *node;

	if (i != MPROF_NONE)
		return i;
	if (!map_reserve(map, 1))
		return MPROF_NONE;
	node = grow_add(&f->nodes, sizeof(*node));
	if (!node)
		return MPROF_NONE;
	i = f->nodes.n - 1;
	*node = (struct mprof_flame_node){
		.parent = parent,
		.first_child = MPROF_NONE,
		.next_sibling = MPROF_NONE,
		.name = kind == MEM_FLAME_NAME ? value : MPROF_NONE,
		.location = kind == MEM_FLAME_LOCATION ? value : MPROF_NONE,
		.code = kind == MEM_FLAME_CODE ? value : MPROF_NONE,
		.depth = mem_flame_at(f, parent)->depth + 1,
	};
	map_put(map, key, i);
	return i;
}

/* Compute the total of each node, from the last node to the root. */
static void total(struct mprof_flame *f)
{
	for (uint32_t i = f->nodes.n; i-- > 0;) {
		struct mprof_flame_node *node = mem_flame_at(f, i);

		node->total += node->self;
		if (node->parent != MPROF_NONE)
			mem_flame_at(f, node->parent)->total += node->total;
	}
}

/* ---- the order of siblings ---- */

struct place {
	const struct mprof_flame_node *node;
	const char *text;
	size_t bytes;
	uint32_t i;
};

static int place_compare(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	size_t n = x->bytes < y->bytes ? x->bytes : y->bytes;
	int r;

	if (x->node->parent != y->node->parent)
		return x->node->parent < y->node->parent ? -1 : 1;
	if (x->node->total != y->node->total)
		return x->node->total > y->node->total ? -1 : 1;
	r = n ? memcmp(x->text, y->text, n) : 0;
	if (r)
		return r;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? -1 : 1;
	return x->i < y->i ? -1 : x->i > y->i;
}

/* Link the siblings whose total is not 0, sorted by total and name. Return false without memory. */
static bool order(struct mprof_flame *f, const struct mprof_mem *m)
{
	struct place *places = malloc((f->nodes.n + 1u) * sizeof(*places));
	uint32_t n = 0;

	if (!places)
		return false;
	for (uint32_t i = 1; i < f->nodes.n; i++) {
		const struct mprof_flame_node *node = mem_flame_at(f, i);

		if (!node->total)
			continue;
		places[n] = (struct place){.node = node, .text = "", .i = i};
		if (node->name != MPROF_NONE)
			places[n].text = mprof_mem_string(m, node->name, &places[n].bytes);
		n++;
	}
	qsort(places, n, sizeof(*places), place_compare);
	for (uint32_t i = n; i-- > 0;) {
		struct mprof_flame_node *node = mem_flame_at(f, places[i].i), *parent = mem_flame_at(f, node->parent);

		node->next_sibling = parent->first_child;
		parent->first_child = places[i].i;
	}
	free(places);
	return true;
}

/*
 * Compute the totals and the order of siblings. Call it when SELF of all nodes is set. Return false
 * without memory.
 */
static bool mem_flame_finish(struct mprof_flame *f, const struct mprof_mem *m)
{
	total(f);
	return order(f, m);
}

struct mprof_flame *mprof_flame_free(struct mprof_flame *f)
{
	if (!f)
		return NULL;
	grow_deinit(&f->nodes);
	free(f);
	return NULL;
}

const struct mprof_flame_node *mprof_flame_nodes(const struct mprof_flame *f, uint32_t *n)
{
	*n = f->nodes.n;
	return f->nodes.items;
}

/* ---- callers above ---- */

/* State of building a tree. */
struct flame_build {
	const struct mprof_mem *d;
	const struct mprof_flame_options *options;
	struct mprof_flame *flame;
	struct mem_walk walk;
	struct map map;	    /* from a node's parent and what identifies the node (mem_flame_child()) to its index */
	struct grow levels; /* struct level, for each node of the stack tree on the current path */
	struct grow added;  /* uint32_t: names that the levels on the path put on the stack, in order */
	uint8_t *hidden;    /* for each name whether options.hidden matches it: 1 no, 2 yes, 0 not tested yet */
	uint32_t *on_stack; /* for each name how often it is on the stack */
	uint32_t names;
};

struct level {
	uint32_t node;	/* node of the tree of functions at which the frames of this level end */
	uint32_t added; /* number of items of ADDED before this level */
	/* Location of the innermost frame, or MPROF_NONE when it is hidden or unknown. */
	uint32_t location;
};

static uint32_t child(struct flame_build *f, uint32_t parent, enum mem_flame_key kind, uint32_t value)
{
	return mem_flame_child(f->flame, &f->map, parent, kind, value);
}

static bool is_hidden(struct flame_build *f, uint32_t name)
{
	size_t bytes;
	const char *text;

	if (!f->options->n_hidden)
		return false;
	if (!f->hidden[name]) {
		text = mprof_mem_string(f->d, name, &bytes);
		f->hidden[name] = 1;
		for (size_t i = 0; i < f->options->n_hidden; i++)
			if (mem_clause_met(&f->options->hidden[i], text, bytes))
				f->hidden[name] = 2;
	}
	return f->hidden[name] == 2;
}

/*
 * Add the function at LOCATION to the stack: LEVEL moves to the function's node, unless the
 * function is hidden or skipped. Return false without memory.
 */
static bool push(struct flame_build *f, struct level *level, uint32_t location)
{
	uint32_t name = mprof_mem_location(f->d, location)->function, *added;

	if (is_hidden(f, name)) {
		level->location = MPROF_NONE;
		return true;
	}
	level->location = location;
	if (!f->options->recursion && f->on_stack[name])
		return true;
	level->node = child(f, level->node, MEM_FLAME_NAME, name);
	added = grow_add(&f->added, sizeof(*added));
	if (level->node == MPROF_NONE || !added)
		return false;
	*added = name;
	f->on_stack[name]++;
	return true;
}

/*
 * Count the samples of FROM, a node of the stack tree, at LEVEL's node, or at a place of allocation
 * below it. Return false without memory.
 */
static bool count(struct flame_build *f, const struct level *level, const struct mprof_profile_node *from)
{
	uint64_t weight = mem_weight(from, f->options->weight);
	uint32_t node = level->node;

	if (!weight)
		return true;
	if (f->options->sites && level->location != MPROF_NONE)
		node = child(f, node, MEM_FLAME_LOCATION, level->location);
	if (node == MPROF_NONE)
		return false;
	mem_flame_at(f->flame, node)->self += weight;
	mem_flame_at(f->flame, node)->allocs += from->allocs;
	return true;
}

static bool enter(struct flame_build *f)
{
	const struct mprof_profile_node *from = &f->walk.nodes[f->walk.at];
	const struct level *levels = f->levels.items;
	struct level level = {.location = MPROF_NONE}, *new;

	level.added = f->added.n;
	if (from->parent != MPROF_NONE)
		level.node = levels[f->levels.n - 1].node;
	if (from->code == MPROF_CODE_TRUNCATED || from->code == MPROF_CODE_UNKNOWN) {
		level.node = child(f, level.node, MEM_FLAME_CODE, from->code);
	} else if (from->parent != MPROF_NONE) {
		const struct mprof_mem_code *code = mprof_mem_code(f->d, from->code);

		for (uint32_t i = 0; i < code->locations; i++)
			if (!push(f, &level, code->first_location + i))
				return false;
	}
	new = grow_add(&f->levels, sizeof(*new));
	if (level.node == MPROF_NONE || !new)
		return false;
	*new = level;
	return count(f, &level, from);
}

static void leave(struct flame_build *f)
{
	const struct level *levels = f->levels.items;
	const uint32_t *added = f->added.items;
	uint32_t before = levels[--f->levels.n].added;

	while (f->added.n > before)
		f->on_stack[added[--f->added.n]]--;
}

static bool make(struct flame_build *f)
{
	enum mem_step step;

	while ((step = mem_walk_next(&f->walk)) != MEM_WALK_END) {
		if (step == MEM_WALK_LEAVE)
			leave(f);
		else if (!enter(f))
			return false;
	}
	return mem_flame_finish(f->flame, f->d);
}

static bool build_init(struct flame_build *f, struct mprof_profile *p)
{
	f->names = mprof_mem_strings(f->d);
	f->hidden = calloc(f->names + 1u, sizeof(*f->hidden));
	f->on_stack = calloc(f->names + 1u, sizeof(*f->on_stack));
	if (!f->hidden || !f->on_stack || !mem_walk_init(&f->walk, p))
		return false;
	map_init(&f->map, f->walk.seed);
	return true;
}

struct mprof_flame *mprof_flame_new(struct mprof_profile *p, const struct mprof_mem *mem,
				    const struct mprof_flame_options *options)
{
	struct flame_build m = {.d = mem, .options = options, .flame = mem_flame_new(profile_seed(p))};
	bool done = m.flame && build_init(&m, p) && make(&m);

	mem_walk_deinit(&m.walk);
	map_deinit(&m.map);
	grow_deinit(&m.levels);
	grow_deinit(&m.added);
	free(m.hidden);
	free(m.on_stack);
	return done ? m.flame : mprof_flame_free(m.flame);
}

/* ---- callers below ---- */

/*
 * The inverted tree: follow each node that allocates up to the root, and insert that path below the
 * root of a new tree.
 */

/*
 * Return the child of the node AT of F that stands for the same function, place or code as NODE,
 * and create it if needed.
 */
static uint32_t same(struct mprof_flame *f, struct map *map, uint32_t at, const struct mprof_flame_node *node)
{
	if (node->name != MPROF_NONE)
		return mem_flame_child(f, map, at, MEM_FLAME_NAME, node->name);
	if (node->location != MPROF_NONE)
		return mem_flame_child(f, map, at, MEM_FLAME_LOCATION, node->location);
	return mem_flame_child(f, map, at, MEM_FLAME_CODE, node->code);
}

static bool turn(struct mprof_flame *to, const struct mprof_flame *from, struct map *map)
{
	for (uint32_t i = 0; i < from->nodes.n; i++) {
		const struct mprof_flame_node *node = mem_flame_at(from, i);
		uint64_t self = node->self, allocs = node->allocs;
		uint32_t at = 0, steps = MPROF_FLAME_CALLERS_MAX;

		if (!self)
			continue;
		for (; node->parent != MPROF_NONE && steps && to->nodes.n < MPROF_PROFILE_NODES_MAX; steps--) {
			at = same(to, map, at, node);
			if (at == MPROF_NONE)
				return false;
			node = mem_flame_at(from, node->parent);
		}
		mem_flame_at(to, at)->self += self;
		mem_flame_at(to, at)->allocs += allocs;
	}
	return true;
}

struct mprof_flame *mprof_flame_callers(const struct mprof_flame *f, const struct mprof_mem *m)
{
	struct mprof_flame *to = mem_flame_new(f->seed);
	struct map map;
	bool done;

	map_init(&map, f->seed);
	done = to && turn(to, f, &map) && mem_flame_finish(to, m);
	map_deinit(&map);
	return done ? to : mprof_flame_free(to);
}
