/*
 * The threads of an area in groups.
 *
 * A thread belongs to the group of its first label and its type. For each label's string there is a
 * list of groups, one for each type of its threads; threads without a label have a list of their own.
 */
#include <stdlib.h>
#include <string.h>

#include <mprof/area.h>
#include <mprof/ids.h>

#include "coverage-index.h"
#include "grow.h"
#include "map.h"
#include "thread-label.h"

/* A group in the list while it is sorted: by NUMBER, then by the BYTES of TEXT, then by GROUP. */
struct entry {
	uint64_t number;
	const char *text;
	uint32_t bytes;
	uint32_t group;
};

struct mprof_area {
	const struct mprof_model_view *v;
	struct mprof_area_place place;
	struct mprof_area_totals all;
	struct mprof_coverage coverage;
	uint64_t waits[MPROF_AREA_WAITS];
	struct grow groups; /* struct mprof_area_group */
	struct grow next;   /* uint32_t, by group: next group of the same label, or MPROF_NONE */
	uint32_t *first;    /* by string, and at last for threads without a label: first group, or MPROF_NONE */
	uint32_t *group;    /* by thread: its group; MPROF_NONE: the thread is not in the area */
	uint8_t *tells;	    /* by stream: 1 if its ring tells when threads run */
	/* Room for all groups, and the listed groups: mprof_area_list() needs no more memory, and cannot fail. */
	struct entry *entries;
	uint32_t *order;
};

/* ---- one thread ---- */

/* Return the length that FROM to TO has inside of the range, ns. */
static uint64_t inside(const struct mprof_area *a, uint64_t from, uint64_t to)
{
	from = from > a->place.from ? from : a->place.from;
	to = to < a->place.to ? to : a->place.to;
	return to > from ? to - from : 0;
}

static bool is_in_area(const struct mprof_area *a, const struct mprof_thread *t)
{
	return !(t->flags & MPROF_THREAD_ROOT) && t->row != MPROF_NONE && t->row >= a->place.first_row &&
	       t->row <= a->place.last_row && t->start <= a->place.to && t->end >= a->place.from;
}

/* Return the item of mprof_area_waits() that counts waits of NS. */
static unsigned bucket(uint64_t ns)
{
	static const uint8_t parts[] = {1, 2, 5};
	uint64_t ten = 1;
	unsigned i = 0;

	while (i + 1 < MPROF_AREA_WAITS) {
		unsigned next = i + 1;

		if (next % 3 == 0)
			ten *= 10;
		if (ns < parts[next % 3] * ten)
			break;
		i = next;
	}
	return i;
}

/* Count the wait FROM to TO, if WAITS is not NULL. Return its length inside of the range, ns. */
static uint64_t wait(const struct mprof_area *a, uint64_t *waits, uint64_t from, uint64_t to)
{
	uint64_t ns = inside(a, from, to);

	if (ns && waits)
		waits[bucket(ns)]++;
	return ns;
}

/* Return the times of THREAD inside of the range. Count its waits in WAITS, unless that is NULL. */
static struct mprof_area_thread times(const struct mprof_area *a, uint32_t thread, uint64_t *waits)
{
	const struct mprof_thread *t = &a->v->threads[thread];
	struct mprof_area_thread out = {.thread = thread, .alive_ns = inside(a, t->start, t->end)};
	uint64_t since = t->start; /* the thread waits since then */

	for (uint32_t i = t->first_activation; i != MPROF_NONE; i = a->v->activations[i].next) {
		const struct mprof_activation *run = &a->v->activations[i];

		/* If time went back, an activation further on may be an earlier one: go on. */
		if (run->start > a->place.to)
			continue;
		out.running_ns += inside(a, run->start, run->end);
		out.waiting_ns += wait(a, waits, since, run->start < t->end ? run->start : t->end);
		since = run->end > since ? run->end : since;
	}
	out.waiting_ns += wait(a, waits, since, t->end);
	return out;
}

/* ---- what the rings have ---- */

/* Note which rings tell when threads run: they show it, or their writer declares that it writes each stop. */
static void note_tellers(struct mprof_area *a)
{
	const struct mprof_model_view *v = a->v;

	for (uint32_t i = 0; i < v->n_streams; i++)
		a->tells[i] = (v->streams[i].declares & MPROF_WRITES_STOPS) != 0;
	for (uint32_t i = 0; i < v->n_activations; i++) {
		const struct mprof_activation *run = &v->activations[i];
		const struct mprof_thread *t = &v->threads[run->thread];

		if (!(t->flags & MPROF_THREAD_ROOT) || run->end > run->start)
			a->tells[t->stream] = 1;
	}
}

/* Return whether threads of the stream S have rows of the area, or could have one there if S has none. */
static bool has_rows(const struct mprof_area *a, const struct mprof_model_stream *s)
{
	return s->first_row <= a->place.last_row && s->first_row + (s->rows ? s->rows : 1) > a->place.first_row;
}

/*
 * Find a ring of GUESTS that lacks its beginning. Each event of the area is there, but a thread that did nothing since the ring begins is
 * not: then the hole ends where it begins.
 */
static void find_beginning(struct mprof_area *a, const struct map *guests)
{
	const struct mprof_model_stream *s = a->v->streams;

	for (uint32_t i = 0; i < a->v->n_streams && a->coverage.hole == MPROF_HOLE_NONE; i++)
		if (map_get(guests, s[i].guest) != MPROF_NONE && coverage_lacks_beginning(a->v, i))
			a->coverage = (struct mprof_coverage){
				.hole = MPROF_HOLE_BEGIN, .stream = i, .from = s[i].start, .to = s[i].start};
}

/* Find what can be missing. The rings of vCPUs count where their rows are in the area. Return false without memory. */
static bool find_hole(struct mprof_area *a)
{
	const struct mprof_model_stream *s = a->v->streams;
	struct coverage_index index;
	struct map guests;
	bool fine = coverage_index_init(&index, a->v);

	map_init(&guests, 0);
	fine = fine && map_reserve(&guests, a->v->n_streams);
	for (uint32_t i = 0; fine && i < a->v->n_streams; i++)
		if (has_rows(a, &s[i]))
			map_set(&guests, s[i].guest, 1);
	for (uint32_t i = 0; fine && i < a->v->n_streams && a->coverage.hole == MPROF_HOLE_NONE; i++)
		if (map_get(&guests, s[i].guest) != MPROF_NONE &&
		    (!coverage_is_of_vcpus(a->v, i) || has_rows(a, &s[i])))
			coverage_stream(a->v, &index, i, a->place.from, a->place.to, &a->coverage);
	if (fine)
		find_beginning(a, &guests);
	map_deinit(&guests);
	coverage_index_deinit(&index);
	return fine;
}

/* ---- groups ---- */

/* Return the group of LABEL and TYPE, new if there is none; MPROF_NONE without memory. */
static uint32_t group_of(struct mprof_area *a, uint32_t label, uint8_t type)
{
	uint32_t *first = &a->first[label == MPROF_NONE ? a->v->n_strings : label];
	const struct mprof_area_group *groups = a->groups.items;
	const uint32_t *next = a->next.items;
	struct mprof_area_group *g;

	for (uint32_t i = *first; groups && i != MPROF_NONE; i = next[i])
		if (groups[i].type == type)
			return i;
	if (!grow_reserve(&a->groups, sizeof(*g), 1) || !grow_reserve(&a->next, sizeof(uint32_t), 1))
		return MPROF_NONE;
	g = grow_take(&a->groups, sizeof(*g));
	*g = (struct mprof_area_group){.label = label, .type = type, .first = MPROF_NONE};
	*(uint32_t *)grow_take(&a->next, sizeof(uint32_t)) = *first;
	*first = a->groups.n - 1;
	return *first;
}

static void sum(struct mprof_area_sum *sum, uint64_t ns)
{
	if (__builtin_add_overflow(sum->total_ns, ns, &sum->total_ns))
		sum->total_ns = UINT64_MAX;
	sum->longest_ns = ns > sum->longest_ns ? ns : sum->longest_ns;
}

static bool add(struct mprof_area *a, uint32_t thread)
{
	struct mprof_area_thread t = times(a, thread, a->waits);
	uint32_t i = group_of(a, thread_label(a->v, thread), a->v->threads[thread].type);
	struct mprof_area_group *g;

	if (i == MPROF_NONE)
		return false;
	g = (struct mprof_area_group *)a->groups.items + i;
	a->group[thread] = i;
	g->first = g->threads++ ? g->first : thread;
	if (a->v->threads[thread].first_activation == MPROF_NONE && !a->tells[a->v->threads[thread].stream]) {
		g->untold = 1;
		a->all.untold = 1;
	}
	sum(&g->alive, t.alive_ns);
	sum(&g->running, t.running_ns);
	sum(&g->waiting, t.waiting_ns);
	sum(&a->all.alive, t.alive_ns);
	sum(&a->all.running, t.running_ns);
	sum(&a->all.waiting, t.waiting_ns);
	a->all.threads++;
	return true;
}

static bool add_all(struct mprof_area *a)
{
	const struct mprof_model_view *v = a->v;

	for (uint32_t i = 0; i < v->n_threads; i++) {
		a->group[i] = MPROF_NONE;
		if (is_in_area(a, &v->threads[i]) && !add(a, i))
			return false;
	}
	a->all.groups = a->groups.n;
	for (unsigned i = 0; i < MPROF_AREA_WAITS; i++)
		a->all.waits += a->waits[i];
	for (uint32_t i = 0; i < v->n_gaps; i++)
		if (v->gaps[i].from <= a->place.to && v->gaps[i].to >= a->place.from &&
		    __builtin_add_overflow(a->all.lost_packets, v->gaps[i].packets, &a->all.lost_packets))
			a->all.lost_packets = UINT64_MAX;
	a->entries = malloc(((size_t)a->groups.n + 1) * sizeof(*a->entries));
	a->order = malloc(((size_t)a->groups.n + 1) * sizeof(*a->order));
	return a->entries && a->order;
}

struct mprof_area *mprof_area_new(const struct mprof_model_view *view, const struct mprof_area_place *place)
{
	struct mprof_area *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->v = view;
	a->place = *place;
	a->first = malloc(((size_t)view->n_strings + 1) * sizeof(*a->first));
	a->group = malloc(((size_t)view->n_threads + 1) * sizeof(*a->group));
	a->tells = malloc((size_t)view->n_streams + 1);
	if (!a->first || !a->group || !a->tells || !find_hole(a))
		return mprof_area_free(a);
	note_tellers(a);
	for (uint32_t i = 0; i <= view->n_strings; i++)
		a->first[i] = MPROF_NONE;
	return add_all(a) ? a : mprof_area_free(a);
}

struct mprof_area *mprof_area_free(struct mprof_area *a)
{
	if (a) {
		grow_deinit(&a->groups);
		grow_deinit(&a->next);
		free(a->first);
		free(a->group);
		free(a->tells);
		free(a->entries);
		free(a->order);
	}
	free(a);
	return NULL;
}

const struct mprof_area_totals *mprof_area_totals(const struct mprof_area *a)
{
	return &a->all;
}

const struct mprof_area_group *mprof_area_groups(const struct mprof_area *a)
{
	return a->groups.items;
}

const uint64_t *mprof_area_waits(const struct mprof_area *a)
{
	return a->waits;
}

const struct mprof_coverage *mprof_area_coverage(const struct mprof_area *a)
{
	return &a->coverage;
}

/* ---- the list ---- */

static uint64_t number_of(const struct mprof_area_group *g, enum mprof_area_key key)
{
	switch (key) {
	case MPROF_AREA_LABEL:
		return g->label == MPROF_NONE;
	case MPROF_AREA_TYPE:
		return g->type;
	case MPROF_AREA_THREADS:
		return g->threads;
	case MPROF_AREA_ALIVE:
		return g->alive.total_ns;
	case MPROF_AREA_ALIVE_LONGEST:
		return g->alive.longest_ns;
	case MPROF_AREA_RUNNING:
		return g->running.total_ns;
	case MPROF_AREA_RUNNING_LONGEST:
		return g->running.longest_ns;
	case MPROF_AREA_WAITING:
		return g->waiting.total_ns;
	case MPROF_AREA_WAITING_LONGEST:
		return g->waiting.longest_ns;
	}
	return 0;
}

static int compare(const struct entry *x, const struct entry *y)
{
	uint32_t bytes = x->bytes < y->bytes ? x->bytes : y->bytes;
	int r = (x->number > y->number) - (x->number < y->number);

	if (r == 0 && bytes)
		r = memcmp(x->text, y->text, bytes);
	return r ? r : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static int compare_up(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;
	int r = compare(a, b);

	return r ? r : (a->group > b->group) - (a->group < b->group);
}

static int compare_down(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;
	int r = compare(b, a);

	return r ? r : (a->group > b->group) - (a->group < b->group);
}

static char small(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Return true if the BYTES of WORD are in the N bytes of TEXT, in any case of the letters A to Z. */
static bool has(const char *text, size_t n, const char *word, size_t bytes)
{
	for (size_t at = 0; at + bytes <= n; at++) {
		size_t i = 0;

		while (i < bytes && small(text[at + i]) == small(word[i]))
			i++;
		if (i == bytes)
			return true;
	}
	return false;
}

static bool is_listed(const struct mprof_area *a, const struct mprof_area_group *g, const char *text, uint32_t bytes)
{
	const char *type = mprof_thread_type_name(g->type);

	if (has(type, strlen(type), text, bytes))
		return true;
	return g->label != MPROF_NONE &&
	       has(a->v->text + a->v->strings[g->label].offset, a->v->strings[g->label].bytes, text, bytes);
}

uint32_t mprof_area_list(struct mprof_area *a, enum mprof_area_key key, bool descending, const char *text,
			 uint32_t bytes)
{
	const struct mprof_area_group *groups = a->groups.items;
	struct entry *list = a->entries;
	uint32_t n = 0;

	for (uint32_t i = 0; i < a->groups.n; i++) {
		const struct mprof_area_group *g = &groups[i];

		if (!is_listed(a, g, text, bytes))
			continue;
		list[n] = (struct entry){.number = number_of(g, key), .group = i};
		if (key == MPROF_AREA_LABEL && g->label != MPROF_NONE) {
			list[n].text = a->v->text + a->v->strings[g->label].offset;
			list[n].bytes = a->v->strings[g->label].bytes;
		}
		n++;
	}
	qsort(list, n, sizeof(*list), descending ? compare_down : compare_up);
	for (uint32_t i = 0; i < n; i++)
		a->order[i] = list[i].group;
	return n;
}

const uint32_t *mprof_area_order(const struct mprof_area *a)
{
	return a->order;
}

/* Insert T into the N threads of OUT, of which there can be MOST. Return their number now. */
static uint32_t insert(struct mprof_area_thread *out, uint32_t n, uint32_t most, struct mprof_area_thread t)
{
	uint32_t at = n;

	if (n == most && (n == 0 || out[n - 1].waiting_ns >= t.waiting_ns))
		return n;
	if (n == most)
		at--;
	for (; at && out[at - 1].waiting_ns < t.waiting_ns; at--)
		out[at] = out[at - 1];
	out[at] = t;
	return n < most ? n + 1 : n;
}

uint32_t mprof_area_threads(const struct mprof_area *a, uint32_t group, struct mprof_area_thread *out, uint32_t most)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < a->v->n_threads; i++)
		if (a->group[i] == group)
			n = insert(out, n, most, times(a, i, NULL));
	return n;
}
