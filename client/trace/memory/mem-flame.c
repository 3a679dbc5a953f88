/*
 * The tree of codes as a tree of functions.
 *
 * The codes' tree is walked depth first with the functions' node of each level beside it.  A function that stands on the stack already is known by
 * a count for each name, so that recursion of any depth costs nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "map.h"
#include "mem-flame.h"
#include "mem-select.h"
#include "mem-walk.h"

/* What is only there while it is made. */
struct making {
	const struct mprof_mem *d;
	const struct mprof_flame_options *options;
	struct mprof_flame *flame;
	struct mem_walk walk;
	struct map map;	    /* parent and key to node */
	struct grow levels; /* struct level: of each node of the codes' tree that was entered and not left */
	struct grow added;  /* uint32_t: the names that those levels added */
	uint8_t *hidden;    /* of each name: 1 no, 2 yes, 0 not known yet */
	uint32_t *on_stack; /* of each name: how often */
	uint32_t names;
};

struct level {
	uint32_t node;	   /* of functions, where the level's frames end */
	uint32_t added;	   /* names of the levels before */
	uint32_t location; /* of the innermost frame, or MPROF_NONE where it is hidden or has none */
};

static uint32_t child(struct making *m, uint32_t parent, enum mem_flame_key kind, uint32_t value)
{
	return mem_flame_child(m->flame, &m->map, parent, kind, value);
}

static bool is_hidden(struct making *m, uint32_t name)
{
	size_t bytes;
	const char *text;

	if (!m->options->n_hidden)
		return false;
	if (!m->hidden[name]) {
		text = mprof_mem_string(m->d, name, &bytes);
		m->hidden[name] = 1;
		for (size_t i = 0; i < m->options->n_hidden; i++)
			if (mem_clause_met(&m->options->hidden[i], text, bytes))
				m->hidden[name] = 2;
	}
	return m->hidden[name] == 2;
}

/* One function more on the stack of LEVEL.  False without memory. */
static bool push(struct making *m, struct level *level, uint32_t location)
{
	uint32_t name = mprof_mem_location(m->d, location)->function, *added;

	if (is_hidden(m, name)) {
		level->location = MPROF_NONE;
		return true;
	}
	level->location = location;
	if (!m->options->recursion && m->on_stack[name])
		return true;
	level->node = child(m, level->node, MEM_FLAME_NAME, name);
	added = grow_add(&m->added, sizeof(*added));
	if (level->node == MPROF_NONE || !added)
		return false;
	*added = name;
	m->on_stack[name]++;
	return true;
}

/* What is counted at a node of codes belongs to LEVEL, or to the place below it. */
static bool count(struct making *m, const struct level *level, const struct mprof_profile_node *from)
{
	uint64_t weight = mem_weight(from, m->options->weight);
	uint32_t node = level->node;

	if (!weight)
		return true;
	if (m->options->sites && level->location != MPROF_NONE)
		node = child(m, node, MEM_FLAME_LOCATION, level->location);
	if (node == MPROF_NONE)
		return false;
	mem_flame_at(m->flame, node)->self += weight;
	mem_flame_at(m->flame, node)->allocs += from->allocs;
	return true;
}

static bool enter(struct making *m)
{
	const struct mprof_profile_node *from = &m->walk.nodes[m->walk.at];
	const struct level *levels = m->levels.items;
	struct level level = {.location = MPROF_NONE}, *new;

	level.added = m->added.n;
	if (from->parent != MPROF_NONE)
		level.node = levels[m->levels.n - 1].node;
	if (from->code == MPROF_CODE_TRUNCATED || from->code == MPROF_CODE_UNKNOWN) {
		level.node = child(m, level.node, MEM_FLAME_CODE, from->code);
	} else if (from->parent != MPROF_NONE) {
		const struct mprof_mem_code *code = mprof_mem_code(m->d, from->code);

		for (uint32_t i = 0; i < code->locations; i++)
			if (!push(m, &level, code->first_location + i))
				return false;
	}
	new = grow_add(&m->levels, sizeof(*new));
	if (level.node == MPROF_NONE || !new)
		return false;
	*new = level;
	return count(m, &level, from);
}

static void leave(struct making *m)
{
	const struct level *levels = m->levels.items;
	const uint32_t *added = m->added.items;
	uint32_t before = levels[--m->levels.n].added;

	while (m->added.n > before)
		m->on_stack[added[--m->added.n]]--;
}

static bool make(struct making *m)
{
	enum mem_step step;

	while ((step = mem_walk_next(&m->walk)) != MEM_WALK_END) {
		if (step == MEM_WALK_LEAVE)
			leave(m);
		else if (!enter(m))
			return false;
	}
	return mem_flame_finish(m->flame, m->d);
}

static bool making_init(struct making *m, struct mprof_profile *p)
{
	m->names = mprof_mem_strings(m->d);
	m->hidden = calloc(m->names + 1u, sizeof(*m->hidden));
	m->on_stack = calloc(m->names + 1u, sizeof(*m->on_stack));
	if (!m->hidden || !m->on_stack || !mem_walk_init(&m->walk, p))
		return false;
	map_init(&m->map, m->walk.seed);
	return true;
}

struct mprof_flame *mprof_flame_new(struct mprof_profile *p, const struct mprof_mem *d,
				    const struct mprof_flame_options *options)
{
	struct making m = {.d = d, .options = options, .flame = mem_flame_new(profile_seed(p))};
	bool done = m.flame && making_init(&m, p) && make(&m);

	mem_walk_deinit(&m.walk);
	map_deinit(&m.map);
	grow_deinit(&m.levels);
	grow_deinit(&m.added);
	free(m.hidden);
	free(m.on_stack);
	return done ? m.flame : mprof_flame_free(m.flame);
}
