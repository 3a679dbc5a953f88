/*
 * Objects come, are promoted and go; sums and a tree follow them.
 *
 * Invariant: an object is counted as live exactly while it is in LIVE, so that what contradicts itself (an end of what never was, an id that
 * lives twice) changes no sum but the one that counts it.
 */
#include <mprof/profile.h>

#include <stdlib.h>
#include <string.h>

#include "mem-live.h"
#include "mem-tree.h"

struct mprof_profile {
	struct mprof_profile_options options;
	struct mprof_profile_sums sums;
	struct mem_live live;
	struct mem_tree tree; /* with options.tree */
	bool rose;	      /* more lives than ever before; the next end makes it a peak */
};

struct mprof_profile *mprof_profile_new(const struct mprof_profile_options *options)
{
	struct mprof_profile *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->options = *options;
	mem_live_init(&p->live, options->seed);
	if (options->tree && !mem_tree_init(&p->tree, options->seed))
		return mprof_profile_free(p);
	return p;
}

struct mprof_profile *mprof_profile_free(struct mprof_profile *p)
{
	if (!p)
		return NULL;
	mem_live_deinit(&p->live);
	mem_tree_deinit(&p->tree);
	free(p);
	return NULL;
}

/* Another recording begins. */
static enum mprof_status begin(struct mprof_profile *p)
{
	struct mem_tree tree = {0};

	if (p->options.tree && !mem_tree_init(&tree, p->options.seed)) {
		mem_tree_deinit(&tree);
		return MPROF_NOMEM;
	}
	mem_tree_deinit(&p->tree);
	p->tree = tree;
	mem_live_deinit(&p->live);
	p->sums = (struct mprof_profile_sums){0};
	p->rose = false;
	return MPROF_OK;
}

static void rise(struct mprof_profile *p, uint64_t now)
{
	struct mprof_profile_sums *s = &p->sums;

	if (s->live <= s->peak)
		return;
	s->peak = s->live;
	s->peak_objects = s->live_objects;
	s->peak_us = now;
	p->rose = true;
}

/* The peak is only told from what follows when something ends: until then each alloc only makes it higher. */
static void fall(struct mprof_profile *p)
{
	if (p->rose && p->options.tree)
		mem_tree_peak(&p->tree);
	p->rose = false;
}

static enum mprof_status alloc(struct mprof_profile *p, const struct mprof_mem_event *e)
{
	struct mprof_profile_sums *s = &p->sums;
	struct mem_object object = {.id = e->id, .samples = e->samples, .minor = e->source == MPROF_MEM_MINOR};
	bool left_out = false;

	if (!e->samples || mem_live_find(&p->live, e->id)) {
		s->repeated++;
		return MPROF_OK;
	}
	if (!mem_live_reserve(&p->live))
		return MPROF_NOMEM;
	if (p->options.tree) {
		object.node = mem_tree_node(&p->tree, e, &left_out);
		if (object.node == MPROF_NONE)
			return MPROF_NOMEM;
		mem_tree_made(&p->tree, object.node, e->samples);
		object.epoch = p->tree.epoch;
	}
	mem_live_add(&p->live, &object);
	s->allocs[e->source]++;
	s->samples[e->source] += e->samples;
	s->left_out += left_out ? e->samples : 0;
	s->small[0] += e->length <= 4 ? e->samples : 0;
	s->small[1] += e->length <= 16 ? e->samples : 0;
	s->small[2] += e->length <= 256 ? e->samples : 0;
	s->length += e->length;
	s->max_length = e->length > s->max_length ? e->length : s->max_length;
	s->live += e->samples;
	s->live_objects++;
	rise(p, e->time_us);
	return MPROF_OK;
}

static void promote(struct mprof_profile *p, const struct mprof_mem_event *e)
{
	struct mem_object *object = mem_live_find(&p->live, e->id);

	p->sums.promotes++;
	if (!object || !object->minor) {
		p->sums.unknown++;
		return;
	}
	object->minor = false;
	p->sums.promoted += object->samples;
}

static void collect(struct mprof_profile *p, const struct mprof_mem_event *e)
{
	struct mem_object *object = mem_live_find(&p->live, e->id);
	struct mprof_profile_sums *s = &p->sums;

	s->collects++;
	if (!object) {
		s->unknown++;
		return;
	}
	fall(p);
	s->collected += object->samples;
	s->collected_major += object->minor ? 0 : object->samples;
	s->live -= object->samples;
	s->live_objects--;
	if (p->options.tree)
		mem_tree_ended(&p->tree, object->node, object->samples, object->epoch);
	mem_live_remove(&p->live, object);
}

enum mprof_status mprof_profile_add(struct mprof_profile *p, const struct mprof_mem_event *e)
{
	enum mprof_status r = MPROF_OK;

	if (e->kind == MPROF_MEM_BEGIN)
		return begin(p);
	if (e->kind == MPROF_MEM_ALLOC)
		r = alloc(p, e);
	else if (e->kind == MPROF_MEM_PROMOTE)
		promote(p, e);
	else
		collect(p, e);
	if (r)
		return r;
	if (!p->sums.first_us)
		p->sums.first_us = e->time_us;
	if (e->time_us > p->sums.last_us)
		p->sums.last_us = e->time_us;
	return MPROF_OK;
}

const struct mprof_profile_sums *mprof_profile_sums(const struct mprof_profile *p)
{
	return &p->sums;
}

const struct mprof_profile_node *mprof_profile_nodes(struct mprof_profile *p, uint32_t *n)
{
	*n = 0;
	if (!p->options.tree)
		return NULL;
	fall(p);
	return mem_tree_nodes(&p->tree, n);
}
