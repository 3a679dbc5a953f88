/*
 * Leaks. A profile still has all objects that live at the end, with the times of their allocation:
 * add them up by allocating code and by part of the run.
 */
#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "mem-walk.h"
#include "wide.h"

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
	leak = grow_add(&b->leaks->list, sizeof(*leak));
	if (!leak)
		return NULL;
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
		uint64_t since;

		if (!object || !object->counted)
			continue;
		since = object->made_us > start_us ? object->made_us - start_us : 0;
		leak = leak_of(b, b->nodes[object->node].code);
		if (!leak)
			return false;
		leak->parts[wide_part(since, length, MPROF_LEAK_PARTS)] += object->samples;
	}
	return true;
}

static int leak_compare(const void *a, const void *b)
{
	const struct mprof_leak *x = a, *y = b;

	if (x->growth != y->growth)
		return x->growth > y->growth ? -1 : 1;
	if (x->live != y->live)
		return x->live > y->live ? -1 : 1;
	return x->code < y->code ? -1 : x->code > y->code;
}

static void judge(struct mprof_leak *leak)
{
	for (uint32_t i = 0; i < MPROF_LEAK_PARTS - 1; i++) {
		leak->steady += leak->parts[i] > 0;
		leak->growth += i ? leak->parts[i] : 0;
	}
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
		judge((struct mprof_leak *)list->items + i);
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
	done = f.leaks && f.nodes && find(&f, profile_live(p), start_us, last_us);
	free(f.of_code);
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
