/*
 * Tree of stacks. An alloc says how many frames its stack shares with that of the previous alloc of
 * its domain, so only the other frames are looked up.
 *
 * The samples that lived at the peak are known without a second scan: they are the live samples,
 * less those allocated since the peak, plus those that lived at the peak and ended since. Each new
 * peak sets the last two sums to 0; EPOCH of a node tells whether that is still to be done.
 */
#include <stdlib.h>
#include <string.h>

#include "mem-tree.h"
#include "mem-walk.h"

static struct mem_node *node_at(const struct mem_tree *t, uint32_t i)
{
	return (struct mem_node *)t->nodes.items + i;
}

bool mem_tree_init(struct mem_tree *t, uint64_t seed)
{
	struct mem_node *root;

	*t = (struct mem_tree){0};
	map_init(&t->map, seed);
	root = grow_add(&t->nodes, sizeof(*root));
	if (root)
		*root = (struct mem_node){.parent = MPROF_NONE, .code = MPROF_NONE};
	return root;
}

void mem_tree_deinit(struct mem_tree *t)
{
	for (uint32_t i = 0; i < t->n_paths; i++)
		free(t->paths[i].nodes);
	t->n_paths = 0;
	grow_deinit(&t->nodes);
	grow_deinit(&t->out);
	map_deinit(&t->map);
}

/*
 * Return the child of PARENT for CODE, and create it if needed. Return PARENT itself when the tree
 * is full, or MPROF_NONE without memory.
 */
static uint32_t child(struct mem_tree *t, uint32_t parent, uint32_t code)
{
	uint64_t key = (uint64_t)parent << 32 | code;
	uint32_t i = map_get(&t->map, key);
	struct mem_node *node;

	if (i != MPROF_NONE)
		return i;
	if (t->nodes.n >= MPROF_PROFILE_NODES_MAX)
		return parent;
	if (!map_reserve(&t->map, 1))
		return MPROF_NONE;
	node = grow_add(&t->nodes, sizeof(*node));
	if (!node)
		return MPROF_NONE;
	i = t->nodes.n - 1;
	*node = (struct mem_node){
		.parent = parent,
		.code = code,
		.depth = node_at(t, parent)->depth + 1,
	};
	map_put(&t->map, key, i);
	return i;
}

/* Return the path of DOMAIN, or NULL when there are paths for too many other domains. */
static struct mem_path *path_of(struct mem_tree *t, uint16_t domain)
{
	for (uint32_t i = 0; i < t->n_paths; i++)
		if (t->paths[i].domain == domain)
			return &t->paths[i];
	if (t->n_paths == MPROF_MEM_DOMAINS_MAX)
		return NULL;
	t->paths[t->n_paths] = (struct mem_path){.domain = domain};
	return &t->paths[t->n_paths++];
}

static bool path_room(struct mem_path *path, uint32_t n)
{
	uint32_t room = path->room ? path->room : 64;
	uint32_t *nodes;

	while (room < n)
		room *= 2;
	if (room == path->room)
		return true;
	nodes = realloc(path->nodes, room * sizeof(*nodes));
	if (!nodes)
		return false;
	path->nodes = nodes;
	path->room = room;
	return true;
}

/*
 * Return the node at which the frames of E end, or MPROF_NONE without memory. PATH becomes the
 * nodes of these frames.
 */
static uint32_t frames_node(struct mem_tree *t, struct mem_path *path, const struct mprof_mem_event *e)
{
	/* PATH is shorter than COMMON if the last call ran out of memory: continue from there. */
	uint32_t i = e->common < path->n ? e->common : path->n, node = i ? path->nodes[i - 1] : 0;

	for (path->n = i; i < e->frames; i++) {
		node = child(t, node, e->stack[i]);
		if (node == MPROF_NONE)
			return MPROF_NONE;
		path->nodes[i] = node;
		path->n = i + 1;
	}
	return node;
}

uint32_t mem_tree_node(struct mem_tree *t, const struct mprof_mem_event *e, bool *left_out)
{
	struct mem_path *path = e->frames ? path_of(t, e->domain) : NULL;
	uint32_t node = 0;

	if (e->flags & MPROF_MEM_NO_STACK)
		return child(t, 0, MPROF_CODE_UNKNOWN);
	if (path) {
		if (!path_room(path, e->frames))
			return MPROF_NONE;
		node = frames_node(t, path, e);
		if (node == MPROF_NONE)
			return MPROF_NONE;
	}
	*left_out = node_at(t, node)->depth != e->frames;
	return e->flags & MPROF_MEM_TRUNCATED ? child(t, node, MPROF_CODE_TRUNCATED) : node;
}

/* Return node I, with MADE and ENDED set to 0 if they are of an older epoch. */
static struct mem_node *node_now(struct mem_tree *t, uint32_t i)
{
	struct mem_node *node = node_at(t, i);

	if (node->epoch != t->epoch) {
		node->epoch = t->epoch;
		node->made = node->ended = 0;
	}
	return node;
}

void mem_tree_made(struct mem_tree *t, uint32_t node, uint64_t samples)
{
	struct mem_node *n = node_now(t, node);

	n->allocs++;
	n->samples += samples;
	n->live += samples;
	n->made += samples;
}

void mem_tree_ended(struct mem_tree *t, uint32_t node, uint64_t samples, uint32_t epoch)
{
	struct mem_node *n = node_now(t, node);

	n->live -= samples;
	if (epoch == t->epoch)
		n->made -= samples;
	else
		n->ended += samples;
}

const struct mprof_profile_node *mem_tree_nodes(struct mem_tree *t, uint32_t *n)
{
	struct mprof_profile_node *out;

	*n = 0;
	t->out.n = 0;
	if (!grow_reserve(&t->out, sizeof(*out), t->nodes.n))
		return NULL;
	out = t->out.items;
	for (; *n < t->nodes.n; ++*n) {
		const struct mem_node *node = node_now(t, *n);

		out[*n] = (struct mprof_profile_node){
			.parent = node->parent,
			.code = node->code,
			.depth = node->depth,
			.allocs = node->allocs,
			.samples = node->samples,
			.live = node->live,
			.peak = node->live - node->made + node->ended,
		};
	}
	return out;
}

/* ---- walks ---- */

/*
 * A walk without a stack: after a node comes its parent, for which FIRST has the next child to
 * visit.
 */

bool mem_walk_init(struct mem_walk *w, struct mprof_profile *p)
{
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
	for (uint32_t i = 1; i < w->n; i++) {
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
	/* FIRST of the parent becomes the child to visit after this one. */
	w->first[w->at] = w->next[child];
	w->at = child;
	return MEM_WALK_ENTER;
}

uint64_t mem_weight(const struct mprof_profile_node *node, enum mprof_weight weight)
{
	return weight == MPROF_WEIGHT_ALL ? node->samples : weight == MPROF_WEIGHT_LIVE ? node->live : node->peak;
}
