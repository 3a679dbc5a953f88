/* Without a stack of its own: a node that is left leads to its parent, which knows what children are still to come. */
#include "mem-walk.h"

#include <stdlib.h>
#include <string.h>

bool mem_walk_init(struct mem_walk *w, struct mprof_profile *p)
{
	uint32_t i;

	*w = (struct mem_walk){.seed = profile_seed(p)};
	w->nodes = mprof_profile_nodes(p, &w->n);
	if (!w->nodes || !w->n)
		return false;
	w->first = malloc(w->n * sizeof(*w->first));
	w->next = malloc(w->n * sizeof(*w->next));
	if (!w->first || !w->next)
		return false;
	memset(w->first, 0xff, w->n * sizeof(*w->first));
	w->next[0] = MPROF_NONE;
	for (i = 1; i < w->n; i++) {
		w->next[i] = w->first[w->nodes[i].parent];
		w->first[w->nodes[i].parent] = i;
	}
	return true;
}

void mem_walk_deinit(struct mem_walk *w)
{
	free(w->first);
	free(w->next);
	*w = (struct mem_walk){0};
}

enum mem_step mem_walk_next(struct mem_walk *w)
{
	uint32_t child;

	if (!w->begun) {
		w->begun = true;
		return MEM_WALK_ENTER;
	}
	if (w->left) {
		w->left = false;
		w->at = w->nodes[w->at].parent;
		if (w->at == MPROF_NONE)
			return MEM_WALK_END;
	}
	child = w->first[w->at];
	w->left = child == MPROF_NONE;
	if (w->left)
		return MEM_WALK_LEAVE;
	/* The children still to come stay with the parent. */
	w->first[w->at] = w->next[child];
	w->at = child;
	return MEM_WALK_ENTER;
}

uint64_t mem_weight(const struct mprof_profile_node *node, enum mprof_weight weight)
{
	return weight == MPROF_WEIGHT_ALL ? node->samples : weight == MPROF_WEIGHT_LIVE ? node->live : node->peak;
}
