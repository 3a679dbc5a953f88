/*
 * Find once, for each signal, whether a thread waited for it, so that a question about a condition
 * need not walk its signals and its threads.
 *
 * A wake-up is lost if no thread waits at that time, which is so when all threads that the condition has
 * created are resolved. A semaphore or mutex keeps it: a thread that the semaphore created and
 * resolved later takes it.
 *
 * Invariant: the items of WAKES, and those of MADE, of one thread are in the order of time.
 */
#include "signal-index.h"

#include <stdlib.h>

#include "why-index.h"

static bool keeps_signals(const struct mprof_why *w, uint32_t condition)
{
	return why_is_lock(&w->view->threads[condition]);
}

static uint32_t woken_of(const void *context, uint32_t i)
{
	const struct mprof_interaction *it = (const struct mprof_interaction *)context + i;

	return it->kind == MPROF_INTERACTION_SIGNAL && !(it->flags & MPROF_INTERACTION_BEGINS_WAIT) ? it->other
												    : MPROF_NONE;
}

static uint64_t signal_time(const struct mprof_why *w, uint32_t i)
{
	return w->view->interactions[i].time;
}

static uint64_t creation_time(const struct mprof_why *w, uint32_t i)
{
	return w->view->threads[i].created;
}

/* Return the number of the first ones of N ITEMS whose times are before NOW, ns. */
static uint32_t count_before(const struct mprof_why *w, const uint32_t *items, uint32_t n, uint64_t now,
			     uint64_t (*time)(const struct mprof_why *, uint32_t))
{
	uint32_t low = 0, high = n, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (time(w, items[middle]) < now)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct timed {
	uint64_t time;
	uint32_t item;
	uint32_t at; /* keeps the order of items of one time */
};

static int compare_timed(const void *a, const void *b)
{
	const struct timed *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* Sort the N ITEMS by TIME; ROOM has room for them. They mostly are sorted: then nothing is done. */
static void sort_items(const struct mprof_why *w, uint32_t *items, uint32_t n,
		       uint64_t (*time)(const struct mprof_why *, uint32_t), struct timed *room)
{
	bool sorted = true;

	for (uint32_t i = 1; i < n && sorted; i++)
		sorted = time(w, items[i - 1]) <= time(w, items[i]);
	if (sorted)
		return;
	for (uint32_t i = 0; i < n; i++)
		room[i] = (struct timed){time(w, items[i]), items[i], i};
	qsort(room, n, sizeof(*room), compare_timed);
	for (uint32_t i = 0; i < n; i++)
		items[i] = room[i].item;
}

static bool sort_buckets(const struct mprof_why *w, struct buckets *b,
			 uint64_t (*time)(const struct mprof_why *, uint32_t))
{
	uint32_t most = 0, n, keys = w->view->n_threads;
	struct timed *room;

	for (uint32_t i = 0; i < keys; i++) {
		n = b->start[i + 1] - b->start[i];
		most = n > most ? n : most;
	}
	room = malloc(((size_t)most + 1) * sizeof(*room));
	if (!room)
		return false;
	for (uint32_t i = 0; i < keys; i++)
		sort_items(w, b->items + b->start[i], b->start[i + 1] - b->start[i], time, room);
	free(room);
	return true;
}

/* Return true if thread I, which CONDITION created, shows that a kept wake-up was taken. */
static bool is_taken(const struct mprof_why *w, uint32_t i, uint32_t condition)
{
	const struct mprof_thread *t = &w->view->threads[i];

	return why_resolved(w, i) && t->becomes == MPROF_NONE && t->resolver == condition;
}

static void count_taken(struct mprof_why *w)
{
	uint32_t n;

	w->taken[0] = 0;
	for (uint32_t i = 0; i < w->view->n_threads; i++) {
		const uint32_t *made = buckets_of(&w->made, i, &n);
		uint32_t *taken = w->taken + w->made.start[i];

		for (uint32_t k = 0; k < n; k++)
			taken[k + 1] = taken[k] + is_taken(w, made[k], i);
	}
}

static int compare_times(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void sort_ends(struct mprof_why *w)
{
	const struct mprof_model_view *v = w->view;
	uint32_t n, at = 0;

	for (uint32_t i = 0; i < v->n_threads; i++, at += n) {
		const uint32_t *made = buckets_of(&w->made, i, &n);

		for (uint32_t k = 0; k < n; k++)
			w->ends[at + k] = why_resolved(w, made[k]) ? v->threads[made[k]].end : UINT64_MAX;
		if (n > 1)
			qsort(w->ends + at, n, sizeof(*w->ends), compare_times);
	}
}

/* Return UNHEARD signals of CONDITION less those that threads took between FROM and TO, ns. */
static uint32_t take_kept(const struct mprof_why *w, uint32_t condition, uint32_t unheard, uint64_t from, uint64_t to)
{
	uint32_t n, first, last, taken;
	const uint32_t *made = buckets_of(&w->made, condition, &n), *sums = w->taken + w->made.start[condition];

	if (!unheard || !keeps_signals(w, condition))
		return unheard;
	first = count_before(w, made, n, from, creation_time);
	last = count_before(w, made, n, to, creation_time);
	taken = last > first ? sums[last] - sums[first] : 0;
	return taken < unheard ? unheard - taken : 0;
}

/* Find for which signals of CONDITION nobody waited. */
static void find_unheard(struct mprof_why *w, uint32_t condition)
{
	uint32_t n, n_made, began = 0, ended = 0, unheard = 0;
	const uint32_t *wakes = buckets_of(&w->wakes, condition, &n);
	const uint32_t *made = buckets_of(&w->made, condition, &n_made);
	const uint64_t *ends = w->ends + w->made.start[condition];
	uint64_t now, before = 0;

	for (uint32_t i = 0; i < n; i++, before = now) {
		now = signal_time(w, wakes[i]);
		unheard = take_kept(w, condition, unheard, before, now);
		while (began < n_made && creation_time(w, made[began]) < now)
			began++;
		while (ended < n_made && ends[ended] < now)
			ended++;
		unheard = began <= ended && now < w->looked[condition] ? unheard + 1 : 0;
		w->unheard[w->wakes.start[condition] + i] = unheard;
	}
}

bool signal_index_init(struct mprof_why *w)
{
	const struct mprof_model_view *v = w->view;

	if (!buckets_init(&w->wakes, v->interactions, v->n_interactions, v->n_threads, woken_of) ||
	    !sort_buckets(w, &w->wakes, signal_time) || !sort_buckets(w, &w->made, creation_time))
		return false;
	w->unheard = malloc(((size_t)w->wakes.start[v->n_threads] + 1) * sizeof(*w->unheard));
	if (!w->unheard)
		return false;
	sort_ends(w);
	count_taken(w);
	for (uint32_t i = 0; i < v->n_threads; i++)
		find_unheard(w, i);
	return true;
}

void signal_index_count(const struct mprof_why *w, uint32_t condition, uint64_t since, struct signal_count *count)
{
	uint32_t n, before;
	const uint32_t *wakes = buckets_of(&w->wakes, condition, &n);

	before = count_before(w, wakes, n, since + 1, signal_time);
	*count = (struct signal_count){
		.all = n,
		.last = n ? wakes[n - 1] : MPROF_NONE,
		.since = n - before,
		.first = before < n ? wakes[before] : MPROF_NONE,
		.lost = MPROF_NONE,
	};
	if (!before)
		return;
	count->unheard = take_kept(w, condition, w->unheard[w->wakes.start[condition] + before - 1],
				   signal_time(w, wakes[before - 1]), since);
	if (count->unheard)
		count->lost = wakes[before - 1];
}
