/* A tree of functions while it is made, whichever way it grows, and its order when it is. */
#include <stdlib.h>
#include <string.h>

#include "mem-flame.h"

struct mprof_flame *mem_flame_new(uint64_t seed)
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

uint32_t mem_flame_child(struct mprof_flame *f, struct map *map, uint32_t parent, enum mem_flame_key kind,
			 uint32_t value)
{
	/* Nodes and values of all kinds are far below 2^30. */
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

/* Totals, which go from the children up. */
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

/* Link those that count, by what they are worth. */
static bool order(struct mprof_flame *f, const struct mprof_mem *d)
{
	struct place *places = malloc((f->nodes.n + 1u) * sizeof(*places));
	uint32_t n = 0, i;

	if (!places)
		return false;
	for (i = 1; i < f->nodes.n; i++) {
		const struct mprof_flame_node *node = mem_flame_at(f, i);

		if (!node->total)
			continue;
		places[n] = (struct place){.node = node, .text = "", .i = i};
		if (node->name != MPROF_NONE)
			places[n].text = mprof_mem_string(d, node->name, &places[n].bytes);
		n++;
	}
	qsort(places, n, sizeof(*places), place_compare);
	for (i = n; i-- > 0;) {
		struct mprof_flame_node *node = mem_flame_at(f, places[i].i), *parent = mem_flame_at(f, node->parent);

		node->next_sibling = parent->first_child;
		parent->first_child = places[i].i;
	}
	free(places);
	return true;
}

bool mem_flame_finish(struct mprof_flame *f, const struct mprof_mem *d)
{
	total(f);
	return order(f, d);
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
