/*
 * Counting sort.
 *
 * Invariant: the items of key K are ITEMS[START[K]] up to, but not including, ITEMS[START[K + 1]].
 * START[keys] is the number of items.
 */
#include <stdlib.h>
#include <string.h>

#include <mprof/ids.h>
#include <mprof/model.h>

#include "alias.h"
#include "why-index.h"

static void count(struct buckets *b, const void *context, uint32_t items, uint32_t keys,
		  uint32_t (*key)(const void *context, uint32_t i))
{
	uint32_t k, sum = 0, n;

	for (uint32_t i = 0; i < items; i++) {
		k = key(context, i);
		if (k != MPROF_NONE)
			b->start[k]++;
	}
	for (k = 0; k <= keys; k++) {
		n = b->start[k];
		b->start[k] = sum;
		sum += n;
	}
}

bool buckets_init(struct buckets *b, const void *context, uint32_t items, uint32_t keys,
		  uint32_t (*key)(const void *context, uint32_t i))
{
	uint32_t k;

	b->start = calloc((size_t)keys + 1, sizeof(*b->start));
	b->items = malloc(((size_t)items + 1) * sizeof(*b->items));
	if (!b->start || !b->items)
		return false;
	count(b, context, items, keys, key);
	for (uint32_t i = 0; i < items; i++) {
		k = key(context, i);
		if (k != MPROF_NONE)
			b->items[b->start[k]++] = i;
	}
	/*
	 * Storing the items moved each key's start to the start of the next key: move the starts
	 * back.
	 */
	for (k = keys; k > 0; k--)
		b->start[k] = b->start[k - 1];
	b->start[0] = 0;
	return true;
}

void buckets_deinit(struct buckets *b)
{
	free(b->start);
	free(b->items);
	*b = (struct buckets){0};
}

/* ---- the index ---- */

/*
 * Build the index.
 *
 * Invariants: all arrays have an item for each thread. A chain of links ends at ROOT after DEPTH
 * links. All threads of a cycle are roots, and their DEPTH is the length of the cycle.
 */

#define MISSED "missed" /* name of a duration of a wait that missed a signal */

#define BUSY (UINT32_MAX - 1) /* ROOT of a thread on the path that is being followed; no thread has this index */

static uint32_t receiver_of(const void *context, uint32_t i)
{
	const struct mprof_interaction *it = (const struct mprof_interaction *)context + i;

	return it->kind == MPROF_INTERACTION_SIGNAL ? it->other : MPROF_NONE;
}

/*
 * Return the thread below which thread I is in MADE: its creator, or for a wait that a place in the
 * code has created the object that it waits for.
 */
static uint32_t maker_of(const void *context, uint32_t i)
{
	const struct mprof_why *w = context;

	if (!why_at_place(w, i) || w->link[i] == MPROF_NONE)
		return w->view->threads[i].creator;
	return w->final[w->view->interactions[w->link[i]].other];
}

static uint32_t labelled_of(const void *context, uint32_t i)
{
	const struct mprof_label *label = (const struct mprof_label *)context + i;

	return label->sample == MPROF_NONE ? label->thread : MPROF_NONE;
}

static bool sort_all(struct mprof_why *w)
{
	const struct mprof_model_view *v = w->view;

	if (!buckets_init(&w->signals, v->interactions, v->n_interactions, v->n_threads, receiver_of) ||
	    !buckets_init(&w->made, w, v->n_threads, v->n_threads, maker_of) ||
	    !buckets_init(&w->labels, v->labels, v->n_labels, v->n_threads, labelled_of))
		return false;
	return signal_index_init(w);
}

static bool reserve(struct mprof_why *w)
{
	size_t n = (size_t)w->view->n_threads + 1;

	w->final = malloc(n * sizeof(*w->final));
	w->link = malloc(n * sizeof(*w->link));
	w->root = malloc(n * sizeof(*w->root));
	w->depth = malloc(n * sizeof(*w->depth));
	w->user = malloc(n * sizeof(*w->user));
	w->looked = malloc(n * sizeof(*w->looked));
	w->ends = malloc(n * sizeof(*w->ends));
	w->taken = malloc(n * sizeof(*w->taken));
	w->similar = malloc(((size_t)w->view->n_strings + 1) * sizeof(*w->similar));
	w->last = malloc(((size_t)w->view->n_streams + 1) * 2 * sizeof(*w->last));
	return w->final && w->link && w->root && w->depth && w->user && w->looked && w->ends && w->taken &&
	       w->similar && w->last && pair_index_init(&w->missed, w->view->n_durations) &&
	       pair_index_init(&w->siblings, w->view->n_threads) && pair_index_init(&w->mains, w->view->n_threads);
}

static void find_finals(struct mprof_why *w)
{
	uint32_t becomes;

	for (uint32_t i = 0; i < w->view->n_threads; i++) {
		becomes = w->view->threads[i].becomes;
		w->final[i] = becomes == MPROF_NONE ? i : becomes;
	}
	for (uint32_t i = 0; i < w->view->n_threads; i++)
		w->final[i] = alias_find(w->final, i);
}

/*
 * Return true for a thread that waits on several threads at once: on each unresolved thread that it
 * tried. All other threads wait on the thread that they tried last.
 */
static bool waits_on_many(const struct mprof_thread *t)
{
	return t->type == MPROF_THREAD_Join || t->type == MPROF_THREAD_Choose || t->type == MPROF_THREAD_Pick;
}

/* A thread that tries to read its far end does not wait on it: nobody signals or resolves that in this trace. */
bool why_is_far_end(const struct mprof_why *w, uint32_t thread, uint32_t other)
{
	const struct mprof_thread *threads = w->view->threads;

	return threads[other].type == MPROF_THREAD_Process ||
	       (threads[thread].type == MPROF_THREAD_Stream && threads[other].type == MPROF_THREAD_Stream);
}

/* Return the lock that THREAD waits on by its link, or MPROF_NONE. */
static uint32_t lock_of(const struct mprof_why *w, uint32_t thread)
{
	uint32_t on =
		w->link[thread] == MPROF_NONE ? MPROF_NONE : w->final[w->view->interactions[w->link[thread]].other];

	return on != MPROF_NONE && why_is_lock(&w->view->threads[on]) ? on : MPROF_NONE;
}

/* Return whether the recorder of LOCK writes no release that nobody waits for. */
static bool hides_releases(const struct mprof_why *w, uint32_t lock)
{
	uint32_t declares = w->view->streams[w->view->threads[lock].stream].declares;

	return (declares & MPROF_DECLARES_KINDS) && !(declares & MPROF_WRITES_RELEASES);
}

/*
 * Let no wait of THREAD for a lock be open. If it was the last one of that lock, the holder may release the lock later
 * without an event: then the lock has no link to it any more. OPEN has the number of open waits for each lock.
 */
static void end_wait(struct mprof_why *w, uint32_t thread, uint32_t *open)
{
	uint32_t lock = lock_of(w, thread);

	if (lock == MPROF_NONE || !open[lock])
		return;
	open[lock]--;
	if (!open[lock] && hides_releases(w, lock))
		w->link[lock] = MPROF_NONE;
}

/* Make interaction I, or MPROF_NONE, the link of THREAD. */
static void set_link(struct mprof_why *w, uint32_t thread, uint32_t i, uint32_t *open)
{
	uint32_t before = w->link[thread], lock;

	w->link[thread] = i;
	lock = lock_of(w, thread);
	if (lock != MPROF_NONE)
		open[lock]++;
	w->link[thread] = before;
	end_wait(w, thread, open);
	w->link[thread] = i;
}

static void note_look(struct mprof_why *w, uint32_t i, uint32_t *open)
{
	const struct mprof_interaction *it = &w->view->interactions[i];
	const struct mprof_thread *t = &w->view->threads[it->thread];
	uint32_t link = w->link[it->thread], on = MPROF_NONE;
	bool waits;

	if ((t->flags & MPROF_THREAD_ROOT) || why_is_far_end(w, it->thread, it->other))
		return;
	if (link != MPROF_NONE)
		on = w->final[w->view->interactions[link].other];
	waits = on != MPROF_NONE && !why_resolved(w, on);
	if (it->kind == MPROF_INTERACTION_TRY_READ && !(waits_on_many(t) && waits))
		set_link(w, it->thread, i, open);
	else if (it->kind == MPROF_INTERACTION_READ && (!waits_on_many(t) || on == w->final[it->other]))
		set_link(w, it->thread, MPROF_NONE, open);
}

/* Return false without memory. */
static bool find_links(struct mprof_why *w)
{
	const struct mprof_interaction *it = w->view->interactions;
	uint32_t *open = calloc((size_t)w->view->n_threads + 1, sizeof(*open));

	if (!open)
		return false;
	memset(w->link, 0xff, w->view->n_threads * sizeof(*w->link));
	memset(w->looked, 0xff, w->view->n_threads * sizeof(*w->looked));
	for (uint32_t i = 0; i < w->view->n_interactions; i++) {
		if (it[i].kind == MPROF_INTERACTION_RESOLVE)
			end_wait(w, it[i].other, open);
		if (it[i].kind != MPROF_INTERACTION_TRY_READ && it[i].kind != MPROF_INTERACTION_READ)
			continue;
		if (it[i].time < w->looked[it[i].other] && !why_at_place(w, it[i].thread))
			w->looked[it[i].other] = it[i].time;
		note_look(w, i, open);
	}
	free(open);
	return true;
}

/* Find for each object a thread that waits on it at a place in the code. */
static void find_users(struct mprof_why *w)
{
	uint32_t on;

	memset(w->user, 0xff, w->view->n_threads * sizeof(*w->user));
	for (uint32_t i = 0; i < w->view->n_threads; i++) {
		if (!why_is_thread(w, i) || w->final[i] != i)
			continue;
		on = why_next(w, i);
		if (on != MPROF_NONE && why_at_place(w, on))
			on = why_next(w, on);
		if (on != MPROF_NONE)
			w->user[on] = i;
	}
}

/* Threads of Linux have their number as id; the main thread has that of the process. Their recorder declares what it writes. */
static bool can_be_main(const struct mprof_model_view *v, const struct mprof_thread *t)
{
	return t->type == MPROF_THREAD_Task && t->id > 0 && t->id <= INT32_MAX &&
	       (v->streams[t->stream].declares & MPROF_DECLARES_KINDS);
}

static bool has_processes(const struct mprof_model_view *v)
{
	for (uint32_t i = 0; i < v->n_threads; i++)
		if (v->threads[i].type == MPROF_THREAD_Process)
			return true;
	return false;
}

static void find_mains(struct mprof_why *w)
{
	const struct mprof_thread *t = w->view->threads;
	uint32_t n = has_processes(w->view) ? w->view->n_threads : 0;

	for (uint32_t i = 0; i < n; i++)
		if (can_be_main(w->view, &t[i]))
			pair_index_add(&w->mains,
				       (struct pair){.key = (uint32_t)t[i].id, .rank = t[i].created, .item = i});
	pair_index_sort(&w->mains);
}

uint32_t why_main_thread(const struct mprof_why *w, uint32_t process)
{
	const struct mprof_model_view *v = w->view;
	const struct mprof_thread *t = &v->threads[process];
	uint32_t main = t->id > 0 && t->id <= INT32_MAX ? pair_index_last(&w->mains, (uint32_t)t->id, 0) : MPROF_NONE;

	if (main == MPROF_NONE || v->streams[v->threads[main].stream].guest == v->streams[t->stream].guest)
		return MPROF_NONE;
	return main;
}

/*
 * PATH has TOP threads and ends in a cycle, which begins at ENTRY: make each thread of the cycle a
 * root. Return the number of threads of PATH before the cycle.
 */
static uint32_t settle_cycle(struct mprof_why *w, uint32_t entry, const uint32_t *path, uint32_t top)
{
	uint32_t first = top;

	while (first > 0 && path[--first] != entry) {
	}
	for (uint32_t i = first; i < top; i++) {
		w->root[path[i]] = path[i];
		w->depth[path[i]] = top - first;
	}
	return first;
}

/*
 * Follow the links from THREAD to a thread whose root is known, and set ROOT and DEPTH of all
 * threads on the way. PATH has room for all threads.
 */
static void settle(struct mprof_why *w, uint32_t thread, uint32_t *path)
{
	uint32_t top = 0, root, depth;

	for (; w->root[thread] == MPROF_NONE; thread = why_next(w, thread)) {
		w->root[thread] = BUSY;
		path[top++] = thread;
		if (why_next(w, thread) == MPROF_NONE) {
			w->root[thread] = thread;
			w->depth[thread] = 0;
			top--;
			break;
		}
	}
	if (w->root[thread] == BUSY)
		top = settle_cycle(w, thread, path, top);
	root = w->root[thread];
	depth = root == thread ? 0 : w->depth[thread];
	while (top) {
		w->root[path[--top]] = root;
		w->depth[path[top]] = ++depth;
	}
}

static bool find_roots(struct mprof_why *w)
{
	uint32_t *path = malloc(((size_t)w->view->n_threads + 1) * sizeof(*path));

	if (!path)
		return false;
	memset(w->root, 0xff, w->view->n_threads * sizeof(*w->root));
	for (uint32_t i = 0; i < w->view->n_threads; i++)
		settle(w, i, path);
	free(path);
	return true;
}

/*
 * Return true if another thread resolved THREAD. A thread that resolved itself does not show which
 * thread could resolve a similar one.
 */
static bool was_resolved_by_another(const struct mprof_why *w, uint32_t thread)
{
	const struct mprof_thread *t = &w->view->threads[thread];

	return why_resolved(w, thread) && t->becomes == MPROF_NONE && t->resolver != MPROF_NONE &&
	       w->final[t->resolver] != thread;
}

static void find_likes(struct mprof_why *w)
{
	const struct mprof_model_view *v = w->view;
	const uint32_t *labels;
	uint32_t n, *similar;

	memset(w->similar, 0xff, v->n_strings * sizeof(*w->similar));
	for (uint32_t i = 0; i < v->n_threads; i++) {
		labels = buckets_of(&w->labels, i, &n);
		if (!n || !was_resolved_by_another(w, i))
			continue;
		similar = &w->similar[v->labels[labels[0]].text];
		if (*similar == MPROF_NONE || v->threads[i].end >= v->threads[*similar].end)
			*similar = i;
	}
}

/* Return whether D says that a wait missed a signal. */
static bool is_missed(const struct mprof_model_view *v, const struct mprof_duration *d)
{
	const struct mprof_string *name = &v->strings[d->name];

	return d->duration_ns <= d->time && name->bytes == sizeof(MISSED) - 1 &&
	       memcmp(v->text + name->offset, MISSED, sizeof(MISSED) - 1) == 0;
}

static void find_missed(struct mprof_why *w)
{
	for (uint32_t i = 0; i < w->view->n_durations; i++) {
		const struct mprof_duration *d = &w->view->durations[i];

		if (is_missed(w->view, d))
			pair_index_add(&w->missed, (struct pair){.key = d->thread, .value = d->time - d->duration_ns});
	}
	pair_index_sort(&w->missed);
}

/* Add thread I, which MAKER has in MADE, to the siblings of MAKER. */
static void note_made(struct mprof_why *w, uint32_t maker, uint32_t i)
{
	const struct mprof_thread *t = &w->view->threads[i];

	if (was_resolved_by_another(w, i))
		pair_index_add(&w->siblings, (struct pair){.key = maker, .value = t->type, .rank = t->end, .item = i});
}

static void find_made(struct mprof_why *w)
{
	uint32_t n;

	for (uint32_t i = 0; i < w->view->n_threads; i++) {
		const uint32_t *made = buckets_of(&w->made, i, &n);

		for (uint32_t k = 0; k < n; k++)
			note_made(w, i, made[k]);
	}
	pair_index_sort(&w->siblings);
}

/* Return the stream of activation I. */
static uint32_t stream_of(const struct mprof_model_view *v, uint32_t i)
{
	return v->threads[v->activations[i].thread].stream;
}

/* Make activation I the LAST one, if it is later: by the order of events, if its stream's clock stepped. */
static void keep_later(const struct mprof_why *w, uint32_t *last, uint32_t i)
{
	const struct mprof_activation *list = w->view->activations;
	uint32_t stream = stream_of(w->view, i);

	if (*last == MPROF_NONE || list[i].end >= list[*last].end ||
	    (stream == stream_of(w->view, *last) && w->view->streams[stream].back_ns > MPROF_MODEL_STEP))
		*last = i;
}

/*
 * Store in SLOTS, for each stream, the stream under which the activations of its threads are: the first one of its
 * guest. Return false without memory.
 */
static bool find_slots(const struct mprof_model_view *v, uint32_t *slots)
{
	struct pair_index first;
	bool ok = pair_index_init(&first, v->n_streams);

	for (uint32_t i = 0; ok && i < v->n_streams; i++)
		pair_index_add(&first, (struct pair){.key = v->streams[i].guest, .rank = v->n_streams - i, .item = i});
	if (ok)
		pair_index_sort(&first);
	for (uint32_t i = 0; ok && i < v->n_streams; i++)
		slots[i] = pair_index_last(&first, v->streams[i].guest, 0);
	pair_index_deinit(&first);
	return ok;
}

static bool find_last(struct mprof_why *w)
{
	const struct mprof_thread *t;
	uint32_t slot, n = w->view->n_streams, *slots = malloc(((size_t)n + 1) * sizeof(*slots));

	if (!slots || !find_slots(w->view, slots)) {
		free(slots);
		return false;
	}

	memset(w->last, 0xff, (size_t)n * 2 * sizeof(*w->last));
	for (uint32_t i = 0; i < w->view->n_activations; i++) {
		t = &w->view->threads[w->view->activations[i].thread];
		if (MPROF_IS_VCPU(t->id))
			continue;
		slot = slots[t->stream];
		keep_later(w, &w->last[slot], i);
		if (!(t->flags & MPROF_THREAD_ROOT))
			keep_later(w, &w->last[n + slot], i);
	}
	free(slots);
	return true;
}

bool why_end_is_unknown(const struct mprof_model_view *v, uint32_t i)
{
	const struct mprof_thread *t = &v->threads[i];

	if (t->end != t->start)
		return false;
	for (uint32_t k = 0; k < v->n_streams; k++)
		if (v->streams[k].guest == v->streams[t->stream].guest && v->streams[k].back_to)
			return true;
	return false;
}

struct mprof_why *mprof_why_new(const struct mprof_model_view *view)
{
	struct mprof_why *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->view = view;
	if (!reserve(w))
		return mprof_why_free(w);
	find_finals(w);
	if (!find_links(w))
		return mprof_why_free(w);
	find_users(w);
	if (!sort_all(w) || !find_roots(w) || !coverage_index_init(&w->coverage, view))
		return mprof_why_free(w);
	find_likes(w);
	find_missed(w);
	find_mains(w);
	find_made(w);
	if (!find_last(w) || !why_states_init(w))
		return mprof_why_free(w);
	return w;
}

struct mprof_why *mprof_why_free(struct mprof_why *w)
{
	if (!w)
		return NULL;
	free(w->final);
	free(w->link);
	free(w->root);
	free(w->depth);
	free(w->user);
	free(w->looked);
	free(w->similar);
	free(w->ends);
	free(w->taken);
	free(w->unheard);
	free(w->last);
	free(w->sampled);
	buckets_deinit(&w->signals);
	buckets_deinit(&w->made);
	buckets_deinit(&w->wakes);
	buckets_deinit(&w->labels);
	pair_index_deinit(&w->missed);
	pair_index_deinit(&w->siblings);
	pair_index_deinit(&w->mains);
	coverage_index_deinit(&w->coverage);
	free(w);
	return NULL;
}
