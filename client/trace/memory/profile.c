/*
 * Profiles: sums and a tree over allocs, promotes and collects.
 *
 * Invariant: an object counts as live exactly while it is in LIVE or WINDOW. So contradictions in the
 * events (the end of an unknown object, an alloc with a live id) only change the sum that counts them.
 */
#include <mprof/profile.h>

#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "mem-batch.h"
#include "mem-levels.h"
#include "mem-live.h"
#include "mem-tree.h"
#include "mem-walk.h"
#include "mem-window.h"
#include "wide.h"

/* At most this many objects of struct mem_window's OTHERS are mostly in the cache. */
#define OTHERS_CACHED 4096u

struct mprof_profile {
	struct mprof_profile_options options;
	struct mprof_profile_sums sums;
	struct mem_live live;
	struct mem_window window; /* used instead of LIVE without options.tree and options.selection */
	struct mem_tree tree;	  /* used with options.tree */
	struct mem_levels levels; /* used with options.tree */
	bool rose;		  /* more samples live than ever before: they are a peak when the next object ends */
	uint64_t allocs;	  /* number of allocs so far */
	uint16_t domain;	  /* domain of the first event */
	struct grow waiting;	  /* struct mem_record: events to be sorted, with options.sort */
	/*
	 * Time line: the arguments of mprof_profile_timeline(), and in LINE_AT the number of its
	 * times that have passed.
	 */
	uint64_t *line;
	uint64_t line_start, line_length;
	uint32_t line_n, line_at;
};

/* Return true when P needs nothing but the samples of its live objects. */
static bool only_sums(const struct mprof_profile *p)
{
	return !p->options.tree && !p->options.selection;
}

struct mprof_profile *mprof_profile_new(const struct mprof_profile_options *options)
{
	struct mprof_profile *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->options = *options;
	mem_live_init(&p->live, options->seed, false);
	if (options->tree && !mem_tree_init(&p->tree, options->seed))
		return mprof_profile_free(p);
	if (only_sums(p) && !mem_window_init(&p->window, options->seed))
		return mprof_profile_free(p);
	return p;
}

struct mprof_profile *mprof_profile_free(struct mprof_profile *p)
{
	if (!p)
		return NULL;
	mem_live_deinit(&p->live);
	mem_window_deinit(&p->window);
	mem_tree_deinit(&p->tree);
	mem_levels_deinit(&p->levels);
	grow_deinit(&p->waiting);
	free(p);
	return NULL;
}

/* Discard everything and begin another recording. Return MPROF_OK or MPROF_NOMEM. */
static enum mprof_status begin(struct mprof_profile *p)
{
	struct mem_tree tree = {0};

	if (p->options.tree && !mem_tree_init(&tree, p->options.seed)) {
		mem_tree_deinit(&tree);
		return MPROF_NOMEM;
	}
	mem_tree_deinit(&p->tree);
	p->tree = tree;
	mem_levels_deinit(&p->levels);
	mem_live_deinit(&p->live);
	if (only_sums(p))
		mem_window_clear(&p->window);
	p->sums = (struct mprof_profile_sums){0};
	p->rose = false;
	p->allocs = 0;
	p->waiting.n = 0;
	p->line_at = 0;
	if (p->line_n)
		memset(p->line, 0, p->line_n * sizeof(*p->line));
	return MPROF_OK;
}

static inline void rise(struct mprof_profile *p, uint64_t now)
{
	struct mprof_profile_sums *s = &p->sums;

	if (s->live <= s->peak)
		return;
	s->peak = s->live;
	s->peak_objects = s->live_objects;
	s->peak_us = now;
	p->rose = true;
}

/*
 * An object ends: if more samples live than ever before, they are a peak. Until then each alloc
 * could still raise it.
 */
static inline void fall(struct mprof_profile *p)
{
	if (p->rose && p->options.tree)
		mem_tree_peak(&p->tree);
	p->rose = false;
}

/* Count OBJECT as live from the time NOW on. */
static inline void count(struct mprof_profile *p, struct mem_object *object, uint64_t now)
{
	struct mprof_profile_sums *s = &p->sums;

	s->live += object->samples;
	s->live_objects++;
	if (p->options.tree) {
		object->epoch = p->tree.epoch;
		mem_tree_made(&p->tree, object->node, object->samples);
	}
	rise(p, now);
}

/* Count OBJECT as live no more. */
static inline void uncount(struct mprof_profile *p, struct mem_object *object)
{
	fall(p);
	p->sums.live -= object->samples;
	p->sums.live_objects--;
	if (p->options.tree)
		mem_tree_ended(&p->tree, object->node, object->samples, object->epoch);
}

static inline void add_alloc(struct mprof_profile_sums *s, const struct mem_record *m)
{
	s->allocs[m->source]++;
	s->samples[m->source] += m->samples;
	s->small[0] += m->length <= 4 ? m->samples : 0;
	s->small[1] += m->length <= 16 ? m->samples : 0;
	s->small[2] += m->length <= 256 ? m->samples : 0;
	s->length += m->length;
	s->max_length = m->length > s->max_length ? m->length : s->max_length;
	s->left_out += m->left_out ? m->samples : 0;
}

static inline enum mprof_status alloc(struct mprof_profile *p, const struct mem_record *m,
				      const struct mprof_selection *selection)
{
	bool minor = m->source == MPROF_MEM_MINOR,
	     counted = !selection || !selection_from_promotion(selection) || !minor;
	struct mem_object *object;

	if (!m->samples || mem_live_find(&p->live, m->id)) {
		p->sums.repeated++;
		return MPROF_OK;
	}
	if (selection && !selection_has(selection, m->number))
		return MPROF_OK;
	object = mem_live_add(&p->live, m->id);
	if (!object)
		return MPROF_NOMEM;
	*object = (struct mem_object){
		.id = m->id,
		.samples = m->samples,
		.made_us = m->time_us,
		.node = m->node & MEM_NODE_MASK,
		.source = m->source & 3u,
		.minor = minor,
		.counted = counted,
	};
	add_alloc(&p->sums, m);
	if (counted)
		count(p, object, m->time_us);
	return MPROF_OK;
}

static inline void promote(struct mprof_profile *p, const struct mem_record *m, const struct mprof_selection *selection)
{
	struct mem_object *object = mem_live_find(&p->live, m->id);

	if (selection && !object)
		return;
	p->sums.promotes++;
	if (!object || !object->minor) {
		p->sums.unknown++;
		return;
	}
	object->minor = false;
	p->sums.promoted += object->samples;
	if (selection && selection_from_promotion(selection)) {
		object->counted = true;
		count(p, object, m->time_us);
	}
	if (selection && selection_to_promotion(selection)) {
		object->counted = false;
		uncount(p, object);
	}
}

static inline void collect(struct mprof_profile *p, const struct mem_record *m, const struct mprof_selection *selection)
{
	struct mem_object *object = mem_live_find(&p->live, m->id);
	struct mprof_profile_sums *s = &p->sums;

	if (selection && !object)
		return;
	s->collects++;
	if (!object) {
		s->unknown++;
		return;
	}
	s->collected += object->samples;
	s->collected_major += object->minor ? 0 : object->samples;
	/* Without a selection all objects count. */
	if (!selection || object->counted)
		uncount(p, object);
	mem_live_remove(&p->live, object);
}

/* Count the alloc M in a profile that only sums. Return MPROF_OK or MPROF_NOMEM. */
static inline enum mprof_status sum_alloc(struct mprof_profile *p, const struct mem_record *m)
{
	struct mprof_profile_sums *s = &p->sums;

	if (!m->samples || mem_window_is_live(&p->window, m->id)) {
		s->repeated++;
		return MPROF_OK;
	}
	if (!mem_window_add(&p->window, m->id, m->samples, m->source == MPROF_MEM_MINOR))
		return MPROF_NOMEM;
	add_alloc(s, m);
	s->live += m->samples;
	s->live_objects++;
	rise(p, m->time_us);
	return MPROF_OK;
}

/* Count the promote or collect M in a profile that only sums. */
static inline void sum_end(struct mprof_profile *p, const struct mem_record *m)
{
	struct mprof_profile_sums *s = &p->sums;
	uint64_t samples;
	bool minor;

	if (m->kind == MPROF_MEM_PROMOTE) {
		samples = mem_window_promote(&p->window, m->id);
		s->promotes++;
		s->promoted += samples;
		s->unknown += !samples;
		return;
	}
	samples = mem_window_remove(&p->window, m->id, &minor);
	s->collects++;
	s->collected += samples;
	s->collected_major += minor ? 0 : samples;
	s->live -= samples;
	s->live_objects -= samples > 0;
	s->unknown += !samples;
}

/* Store the live samples for all times of the time line before NOW. */
static inline void line_advance(struct mprof_profile *p, uint64_t now)
{
	for (; p->line_at < p->line_n; p->line_at++) {
		/* Compare as a fraction: t * (i + 1) / n need not be whole. */
		if (now < p->line_start || !wide_less(p->line_length, p->line_at + 1, now - p->line_start, p->line_n))
			return;
		p->line[p->line_at] = p->sums.live;
	}
}

static inline void add_time(struct mprof_profile_sums *s, uint64_t now)
{
	if (!s->first_us)
		s->first_us = now;
	if (now > s->last_us)
		s->last_us = now;
}

/* Count the event M in a profile that only sums. Return MPROF_OK or MPROF_NOMEM. */
static inline enum mprof_status sum(struct mprof_profile *p, const struct mem_record *m)
{
	enum mprof_status r = MPROF_OK;

	if (m->kind == MPROF_MEM_ALLOC)
		r = sum_alloc(p, m);
	else
		sum_end(p, m);
	add_time(&p->sums, m->time_us);
	return r;
}

/*
 * Count the event M in a profile with a tree or a selection. SELECTION is that of the options. Return
 * MPROF_OK or MPROF_NOMEM.
 */
static inline enum mprof_status apply(struct mprof_profile *p, const struct mem_record *m,
				      const struct mprof_selection *selection)
{
	enum mprof_status r = MPROF_OK;

	if (m->kind == MPROF_MEM_ALLOC)
		r = alloc(p, m, selection);
	else if (m->kind == MPROF_MEM_PROMOTE)
		promote(p, m, selection);
	else
		collect(p, m, selection);
	add_time(&p->sums, m->time_us);
	return r;
}

/* Take note of what lives now if a moment of the levels has come. Return MPROF_OK or MPROF_NOMEM. */
static inline enum mprof_status level(struct mprof_profile *p)
{
	uint64_t allocs = p->sums.allocs[0] + p->sums.allocs[1] + p->sums.allocs[2];

	if (!p->options.tree || !mem_levels_due(&p->levels, allocs) || !allocs)
		return MPROF_OK;
	return mem_levels_take(&p->levels, &p->tree, allocs) ? MPROF_OK : MPROF_NOMEM;
}

static enum mprof_status apply_any(struct mprof_profile *p, const struct mem_record *m)
{
	enum mprof_status r;

	line_advance(p, m->time_us);
	r = only_sums(p) ? sum(p, m) : apply(p, m, p->options.selection);
	return r ? r : level(p);
}

/* Keep M until all events are there and sorted. Return MPROF_OK or MPROF_NOMEM. */
static enum mprof_status wait(struct mprof_profile *p, const struct mem_record *m)
{
	struct mem_record *waiting = grow_add(&p->waiting, sizeof(*waiting));

	if (!waiting)
		return MPROF_NOMEM;
	*waiting = *m;
	return MPROF_OK;
}

static void meet_domain(struct mprof_profile *p, uint16_t domain)
{
	if (p->sums.domains && (p->sums.domains == 2 || domain == p->domain))
		return;
	p->sums.domains++;
	p->domain = domain;
}

enum mprof_status mprof_profile_add(struct mprof_profile *p, const struct mprof_mem_event *e)
{
	struct mem_record record = {.time_us = e->time_us, .id = e->id, .kind = e->kind};

	if (e->kind == MPROF_MEM_BEGIN)
		return begin(p);
	meet_domain(p, e->domain);
	if (e->kind == MPROF_MEM_ALLOC) {
		record.samples = e->samples;
		record.length = e->length;
		record.source = e->source;
		record.number = p->allocs;
		/*
		 * Look up the stacks of objects that are not selected, too: the next stack is coded
		 * as the difference from this one.
		 */
		record.node = p->options.tree ? mem_tree_node(&p->tree, e, &record.left_out) : 0;
		if (record.node == MPROF_NONE)
			return MPROF_NOMEM;
		p->allocs++;
	}
	return p->options.sort ? wait(p, &record) : apply_any(p, &record);
}

/* Prefetch what N events of a profile that only sums will read. Most of them need nothing. */
static void sum_prefetch(const struct mprof_profile *p, const struct mem_record *records, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (records[i].kind != MPROF_MEM_ALLOC && !mem_window_get(&p->window, records[i].id))
			mem_live_prefetch(&p->window.others, records[i].id, false);
}

/* Count N events of a profile that only sums. Return MPROF_OK or MPROF_NOMEM. */
static enum mprof_status sum_batch(struct mprof_profile *p, const struct mem_record *records, uint32_t n)
{
	enum mprof_status r = MPROF_OK;

	if (p->window.n_others > OTHERS_CACHED)
		sum_prefetch(p, records, n);
	for (uint32_t i = 0; !r && i < n; i++)
		r = sum(p, &records[i]);
	return r;
}

/* Count N events of a profile with a tree. Return MPROF_OK or MPROF_NOMEM. */
static enum mprof_status tree_batch(struct mprof_profile *p, const struct mem_record *records, uint32_t n)
{
	enum mprof_status r = MPROF_OK;

	for (uint32_t i = 0; i < n; i++)
		mem_live_prefetch(&p->live, records[i].id, records[i].kind == MPROF_MEM_ALLOC);
	for (uint32_t i = 0; !r && i < n; i++)
		r = apply(p, &records[i], NULL);
	return r ? r : level(p);
}

/* Count N events, none of them an MPROF_MEM_BEGIN. Return MPROF_OK or MPROF_NOMEM. */
static enum mprof_status apply_batch(struct mprof_profile *p, const struct mem_record *records, uint32_t n)
{
	enum mprof_status r = MPROF_OK;

	if (!p->options.sort && !p->options.selection && p->line_at == p->line_n)
		return p->options.tree ? tree_batch(p, records, n) : sum_batch(p, records, n);
	for (uint32_t i = 0; !r && i < n; i++)
		r = p->options.sort ? wait(p, &records[i]) : apply_any(p, &records[i]);
	return r;
}

enum mprof_status mprof_profile_read(struct mprof_profile *p, struct mprof_mem *m)
{
	struct mem_record records[MEM_BATCH];
	struct mprof_mem_event e;
	enum mprof_status r;
	uint32_t n;

	do {
		r = mem_batch_read(m, p->options.tree ? &p->tree : NULL, records, &p->allocs, &n);
		if (n)
			meet_domain(p, m->packet.domain);
		r = r ? r : apply_batch(p, records, n);
		if (r || n == MEM_BATCH)
			continue;
		r = mprof_mem_next(m, &e);
		r = r ? r : mprof_profile_add(p, &e);
	} while (!r);
	return r;
}

/*
 * Compare two pointers to events by time, then by address, which is the order in which the events
 * came.
 */
static int record_compare(const void *a, const void *b)
{
	const struct mem_record *x = *(const struct mem_record *const *)a, *y = *(const struct mem_record *const *)b;

	if (x->time_us != y->time_us)
		return x->time_us < y->time_us ? -1 : 1;
	return x < y ? -1 : x > y;
}

static enum mprof_status apply_sorted(struct mprof_profile *p)
{
	const struct mem_record *records = p->waiting.items;
	const struct mem_record **order = malloc((p->waiting.n + 1u) * sizeof(*order));
	enum mprof_status r = order ? MPROF_OK : MPROF_NOMEM;

	for (uint32_t i = 0; order && i < p->waiting.n; i++)
		order[i] = &records[i];
	if (order)
		qsort(order, p->waiting.n, sizeof(*order), record_compare);
	for (uint32_t i = 0; !r && i < p->waiting.n; i++)
		r = apply_any(p, order[i]);
	free(order);
	p->waiting.n = 0;
	return r;
}

void mprof_profile_timeline(struct mprof_profile *p, uint64_t start_us, uint64_t t, uint64_t *live, uint32_t n)
{
	p->line = live;
	p->line_n = n;
	p->line_at = 0;
	p->line_start = start_us;
	p->line_length = t;
	memset(live, 0, n * sizeof(*live));
}

uint64_t profile_seed(const struct mprof_profile *p)
{
	return p->options.seed;
}

const struct mem_levels *profile_levels(const struct mprof_profile *p, uint64_t *allocs)
{
	*allocs = p->sums.allocs[0] + p->sums.allocs[1] + p->sums.allocs[2];
	return &p->levels;
}

uint64_t profile_allocs(const struct mprof_profile *p)
{
	return p->allocs;
}

const struct mem_live *profile_live(const struct mprof_profile *p)
{
	return &p->live;
}

enum mprof_status mprof_profile_finish(struct mprof_profile *p)
{
	enum mprof_status r = p->options.sort ? apply_sorted(p) : MPROF_OK;

	if (r)
		return r;
	for (; p->line_at < p->line_n; p->line_at++)
		p->line[p->line_at] = p->sums.live;
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
