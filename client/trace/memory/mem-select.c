/*
 * Select objects by a filter. Each object is tested when it ends, or at the end of the recording,
 * because then all is known of it. One bit for each object says whether it is selected.
 *
 * Conditions on stacks are evaluated once for each node of the stack tree, from the result of its
 * parent.
 */
#include "mem-walk.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "mem-live.h"
#include "mem-tree.h"

struct mprof_selection {
	struct mprof_mem_filter filter;
	uint64_t start_us, last_us;
	uint64_t word_bytes;
	struct mem_live live;
	struct mem_tree tree;
	/*
	 * A uint8_t for each node of the tree of stacks. Bit K is set if clause K matches a function
	 * on the way from the root to the node.
	 */
	struct grow nodes;
	uint8_t *bits; /* a bit for each alloc: its object is selected */
	uint64_t room; /* number of bits */
	uint64_t allocs;
	uint64_t objects, samples;
};

struct mprof_selection *mprof_selection_new(const struct mprof_mem_filter *filter, uint64_t last_us, uint64_t seed)
{
	struct mprof_selection *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->filter = *filter;
	s->last_us = last_us;
	mem_live_init(&s->live, seed, true);
	return mem_tree_init(&s->tree, seed) ? s : mprof_selection_free(s);
}

struct mprof_selection *mprof_selection_free(struct mprof_selection *s)
{
	if (!s)
		return NULL;
	mem_live_deinit(&s->live);
	mem_tree_deinit(&s->tree);
	grow_deinit(&s->nodes);
	free(s->bits);
	free(s);
	return NULL;
}

bool selection_has(const struct mprof_selection *s, uint64_t number)
{
	return number < s->allocs && s->bits[number / 8] >> (number % 8) & 1;
}

bool selection_from_promotion(const struct mprof_selection *s)
{
	return (s->filter.heaps & (MPROF_HEAP_MINOR | MPROF_HEAP_MAJOR)) == MPROF_HEAP_MAJOR;
}

bool selection_to_promotion(const struct mprof_selection *s)
{
	return (s->filter.heaps & (MPROF_HEAP_MINOR | MPROF_HEAP_MAJOR)) == MPROF_HEAP_MINOR;
}

/* ---- stacks ---- */

bool mem_clause_met(const struct mprof_mem_clause *clause, const char *name, size_t bytes)
{
	size_t n = strlen(clause->name);

	return clause->whole ? n == bytes && memcmp(name, clause->name, n) == 0
			     : memmem(name, bytes, clause->name, n) != NULL;
}

/* Return a bit for each clause that matches a function of code I. */
static uint8_t code_met(const struct mprof_selection *s, const struct mprof_mem *m, uint32_t i)
{
	const struct mprof_mem_code *code = mprof_mem_code(m, i);
	uint8_t met = 0;

	for (uint32_t k = 0; k < code->locations; k++) {
		size_t bytes;
		const char *name =
			mprof_mem_string(m, mprof_mem_location(m, code->first_location + k)->function, &bytes);

		for (uint8_t c = 0; c < s->filter.n_clauses; c++)
			met |= (uint8_t)(mem_clause_met(&s->filter.clauses[c], name, bytes) << c);
	}
	return met;
}

/*
 * Evaluate the clauses for the nodes that the tree has got since the last call. Return false
 * without memory.
 */
static bool nodes_meet(struct mprof_selection *s, const struct mprof_mem *m)
{
	const struct mem_node *nodes = s->tree.nodes.items;
	uint8_t *met;

	if (!grow_reserve(&s->nodes, 1, s->tree.nodes.n - s->nodes.n))
		return false;
	met = s->nodes.items;
	for (; s->nodes.n < s->tree.nodes.n; s->nodes.n++) {
		const struct mem_node *node = &nodes[s->nodes.n];

		met[s->nodes.n] = node->parent == MPROF_NONE ? 0 : met[node->parent];
		if (node->code < MPROF_CODE_UNKNOWN)
			met[s->nodes.n] |= code_met(s, m, node->code);
	}
	return true;
}

static bool stack_fits(const struct mprof_selection *s, uint32_t node)
{
	const uint8_t *met = s->nodes.items;

	for (uint8_t c = 0; c < s->filter.n_clauses; c++)
		if ((met[node] >> c & 1) == s->filter.clauses[c].outside)
			return false;
	return true;
}

/* ---- objects ---- */

static bool range_has(const struct mprof_mem_range *range, uint64_t value)
{
	return (!range->has_least || value >= range->least) && (!range->has_most || value <= range->most);
}

/*
 * Return true when OBJECT counts on the heaps of the filter. Then change *BEGIN, *END and
 * *COLLECTED to its time on these heaps, and to whether it ends there.
 */
static bool heap_fits(const struct mprof_selection *s, const struct mem_object *object, uint64_t *begin, uint64_t *end,
		      bool *collected)
{
	uint8_t heaps = s->filter.heaps;
	bool minor = object->source == MPROF_MEM_MINOR, promoted = minor && !object->minor;

	*begin = object->made_us;
	if (!heaps)
		return true;
	if (!minor)
		return heaps >> object->source & 1;
	if (heaps & MPROF_HEAP_MINOR) {
		if (promoted && selection_to_promotion(s)) {
			*end = mem_live_details(&s->live, object)->promoted_us;
			*collected = true;
		}
		return true;
	}
	*begin = mem_live_details(&s->live, object)->promoted_us;
	return promoted && heaps & MPROF_HEAP_MAJOR;
}

/*
 * Select OBJECT if it meets the filter. It ended at END, or lives at the end of the recording
 * (COLLECTED is false).
 */
static void judge(struct mprof_selection *s, const struct mem_object *object, uint64_t end, bool collected)
{
	const struct mprof_mem_filter *f = &s->filter;
	const struct mem_details *details = mem_live_details(&s->live, object);
	uint64_t begin;

	if (!heap_fits(s, object, &begin, &end, &collected) || !stack_fits(s, object->node))
		return;
	begin -= s->start_us;
	end -= s->start_us;
	if (!range_has(&f->allocated, begin) || !range_has(&f->collected, end) ||
	    !range_has(&f->lifetime, end > begin ? end - begin : 0) ||
	    !range_has(&f->bytes, details->length * s->word_bytes) || (f->never_collected && collected))
		return;
	if ((f->live.has_most && begin > f->live.most) || (f->live.has_least && collected && end <= f->live.least))
		return;
	s->bits[details->number / 8] |= (uint8_t)(1u << details->number % 8);
	s->objects++;
	s->samples += object->samples;
}

static bool bits_room(struct mprof_selection *s)
{
	uint64_t room = s->room ? s->room * 2 : 1 << 16;
	uint8_t *bits;

	if (s->allocs < s->room)
		return true;
	bits = room / 8 > SIZE_MAX ? NULL : realloc(s->bits, (size_t)(room / 8));
	if (!bits)
		return false;
	memset(bits + s->room / 8, 0, (size_t)((room - s->room) / 8));
	s->bits = bits;
	s->room = room;
	return true;
}

static enum mprof_status select_alloc(struct mprof_selection *s, const struct mprof_mem *m,
				      const struct mprof_mem_event *e)
{
	struct mem_object *object;
	bool left_out;
	uint32_t node = 0;

	if (!bits_room(s))
		return MPROF_NOMEM;
	s->allocs++;
	if (!e->samples || mem_live_find(&s->live, e->id))
		return MPROF_OK;
	if (s->filter.n_clauses)
		node = mem_tree_node(&s->tree, e, &left_out);
	if (node == MPROF_NONE || !nodes_meet(s, m))
		return MPROF_NOMEM;
	object = mem_live_add(&s->live, e->id);
	if (!object)
		return MPROF_NOMEM;
	*object = (struct mem_object){
		.id = e->id,
		.samples = e->samples,
		.made_us = e->time_us,
		.node = node & MEM_NODE_MASK,
		.minor = e->source == MPROF_MEM_MINOR,
		.source = e->source & 3u,
	};
	*mem_live_details(&s->live, object) = (struct mem_details){.length = e->length, .number = s->allocs - 1};
	return MPROF_OK;
}

/* Handle the begin of another recording: discard the previous one, as a profile does. */
static enum mprof_status begin(struct mprof_selection *s, const struct mprof_mem *m, const struct mprof_mem_event *e)
{
	uint64_t seed = s->live.seed;

	mem_live_deinit(&s->live);
	mem_tree_deinit(&s->tree);
	grow_deinit(&s->nodes);
	mem_live_init(&s->live, seed, true);
	if (s->bits)
		memset(s->bits, 0, (size_t)(s->room / 8));
	s->allocs = s->objects = s->samples = 0;
	s->start_us = e->time_us;
	s->word_bytes = mprof_mem_info(m)->word_bytes;
	return mem_tree_init(&s->tree, seed) ? MPROF_OK : MPROF_NOMEM;
}

enum mprof_status mprof_selection_add(struct mprof_selection *s, const struct mprof_mem *m,
				      const struct mprof_mem_event *e)
{
	struct mem_object *object;

	if (e->kind == MPROF_MEM_BEGIN)
		return begin(s, m, e);
	if (e->kind == MPROF_MEM_ALLOC)
		return select_alloc(s, m, e);
	object = mem_live_find(&s->live, e->id);
	if (!object)
		return MPROF_OK;
	if (e->kind == MPROF_MEM_COLLECT) {
		judge(s, object, e->time_us, true);
		mem_live_remove(&s->live, object);
	} else if (object->minor) {
		object->minor = false;
		mem_live_details(&s->live, object)->promoted_us = e->time_us;
	}
	return MPROF_OK;
}

enum mprof_status mprof_selection_finish(struct mprof_selection *s)
{
	for (uint32_t i = 0; i < mem_live_end(&s->live); i++) {
		const struct mem_object *object = mem_live_at(&s->live, i);

		if (object)
			judge(s, object, s->last_us, false);
	}
	mem_live_deinit(&s->live);
	return MPROF_OK;
}

void mprof_selection_count(const struct mprof_selection *s, uint64_t *objects, uint64_t *samples)
{
	*objects = s->objects;
	*samples = s->samples;
}
