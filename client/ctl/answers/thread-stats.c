/*
 * Statistics of threads.
 *
 * The events switch, read and signal tell which thread runs, as in the model (client/trace). The
 * running time of a thread is cut at the end of the thread. A thread that became another thread
 * has that thread as its alias. Chains of aliases are shortened when they are followed.
 */
#include <stdlib.h>
#include <string.h>

#include "seed.h"
#include "thread-stats.h"

void thread_stats_init(struct thread_stats *r, uint32_t most)
{
	*r = (struct thread_stats){.most = most, .to = UINT64_MAX, .running = THREAD_STAT_NONE};
	id_index_init(&r->ids, seed_new(r));
}

void thread_stats_deinit(struct thread_stats *r)
{
	free(r->list);
	r->list = NULL;
	id_index_deinit(&r->ids);
}

static bool grow(struct thread_stats *r)
{
	uint32_t room = r->room ? r->room * 2 : 1024;
	struct thread_stat *list;

	room = room < r->most ? room : r->most;
	list = realloc(r->list, room * sizeof(*list));
	if (!list)
		return false;
	r->list = list;
	r->room = room;
	return true;
}

uint32_t thread_stats_alias(struct thread_stats *r, uint32_t i)
{
	struct thread_stat *list = r->list;

	while (list[i].alias != i) {
		list[i].alias = list[list[i].alias].alias;
		i = list[i].alias;
	}
	return i;
}

/* Insert T into BEST, a list of *N threads with the longest running times, longest first. */
static void offer(struct thread_stat *best, uint32_t *n, const struct thread_stat *t)
{
	uint32_t at = *n;

	if (!t->running_ns || (at == THREAD_STATS_BUSIEST && t->running_ns <= best[at - 1].running_ns))
		return;
	if (at == THREAD_STATS_BUSIEST)
		at--;
	else
		++*n;
	for (; at && best[at - 1].running_ns < t->running_ns; at--)
		best[at] = best[at - 1];
	best[at] = *t;
}

/*
 * Choose the threads to keep: threads that have not ended, the running thread, marked threads,
 * and the aliases of all these. Return an array with an element for each thread; an element of a
 * thread to forget is THREAD_STAT_NONE. The caller frees the array. Return NULL without memory.
 */
static uint32_t *mark_kept(struct thread_stats *r)
{
	uint32_t *map = malloc(r->n * sizeof(*map));

	if (!map)
		return NULL;
	memset(map, 0xff, r->n * sizeof(*map));
	for (uint32_t i = 0; i < r->n; i++) {
		if ((r->list[i].flags & THREAD_STAT_ENDED) && !(r->list[i].flags & THREAD_STAT_EXPECTED) &&
		    !(r->state == RUNNING_THREAD && r->running == i))
			continue;
		map[i] = 0;
		map[thread_stats_alias(r, i)] = 0;
	}
	return map;
}

/* Map the id of thread I to I. CREATED: the trace contains the creation of the thread. */
static void index_thread(struct thread_stats *r, uint32_t i, bool created)
{
	if (id_index_reserve(&r->ids, 1))
		id_index_put(&r->ids, r->list[i].id, i, created);
	else
		r->failed = true;
}

/* Forget the threads that have ended. */
static void forget(struct thread_stats *r)
{
	uint32_t *map = mark_kept(r), n = 0;

	if (!map) {
		r->failed = true;
		return;
	}
	for (uint32_t i = 0; i < r->n; i++) {
		if (map[i] != THREAD_STAT_NONE)
			map[i] = n++;
		else
			offer(r->retired, &r->retired_n, &r->list[i]);
	}
	/*
	 * mark_kept() has shortened all chains of aliases. So the alias of each kept thread is
	 * kept too.
	 */
	for (uint32_t i = 0; i < r->n; i++) {
		uint32_t final = map[i] == THREAD_STAT_NONE ? 0 : thread_stats_alias(r, i);

		if (map[i] == THREAD_STAT_NONE)
			continue;
		r->list[i].alias = final;
	}
	for (uint32_t i = 0; i < r->n; i++) {
		if (map[i] == THREAD_STAT_NONE)
			continue;
		r->list[map[i]] = r->list[i];
		r->list[map[i]].alias = map[r->list[i].alias];
	}
	if (r->state == RUNNING_THREAD && r->running != THREAD_STAT_NONE)
		r->running = map[r->running];
	r->forgotten += r->n - n;
	r->n = n;
	free(map);
	id_index_clear(&r->ids);
	for (uint32_t i = 0; i < n && !r->failed; i++)
		index_thread(r, i, false);
}

/*
 * Return true if the list has room for another thread. If the list is full, first forget the
 * threads that have ended. Each attempt to forget visits all threads. So if an attempt freed little
 * room, wait before the next attempt. Return false also without memory.
 */
static bool has_room(struct thread_stats *r)
{
	if (r->n < r->most)
		return r->n < r->room || grow(r);
	if (r->untracked >= r->retry_at) {
		forget(r);
		if (r->n > r->most - r->most / 16)
			r->retry_at = r->untracked + r->most / 16 + 1;
	}
	return r->n < r->most;
}

static uint32_t thread_add(struct thread_stats *r, int64_t id, uint8_t type, bool created)
{
	if (!has_room(r)) {
		r->failed = r->failed || r->n < r->most;
		r->untracked++;
		return THREAD_STAT_NONE;
	}
	r->list[r->n] = (struct thread_stat){.id = id, .alias = r->n, .label = THREAD_STAT_NO_LABEL, .type = type};
	index_thread(r, r->n, created);
	return r->n++;
}

/*
 * Return the number of the thread that ID names: the thread with this id, or the thread that it
 * became. If there is none, add a thread with this id. Return THREAD_STAT_NONE if there is no room.
 */
static uint32_t thread_of(struct thread_stats *r, int64_t id)
{
	uint32_t i = id_index_find(&r->ids, id);

	if (i != THREAD_STAT_NONE)
		return thread_stats_alias(r, i);
	/*
	 * The id is unknown. If no thread was forgotten, the thread is older than the trace.
	 * Otherwise the id may be the id of a forgotten thread.
	 */
	r->preexisting += !r->forgotten;
	return thread_add(r, id, MPROF_THREAD_UNKNOWN, false);
}

static uint64_t piece(const struct thread_stats *r, uint64_t start, uint64_t end)
{
	start = start > r->from ? start : r->from;
	end = end < r->to ? end : r->to;
	return end > start ? end - start : 0;
}

static void close_piece(struct thread_stats *r, uint64_t ns)
{
	if (r->state == RUNNING_NOTHING)
		r->sleeping_ns += piece(r, r->since, ns);
	else if (r->state == RUNNING_THREAD && r->running != THREAD_STAT_NONE)
		r->list[r->running].running_ns += piece(r, r->since, r->cut && r->cut_ns < ns ? r->cut_ns : ns);
}

static void run_thread(struct thread_stats *r, uint32_t thread, uint64_t ns)
{
	if (r->state == RUNNING_THREAD && r->running == thread)
		return;
	close_piece(r, ns);
	r->state = RUNNING_THREAD;
	r->running = thread;
	r->since = ns;
	r->cut = thread != THREAD_STAT_NONE && (r->list[thread].flags & THREAD_STAT_ENDED);
	r->cut_ns = 0; /* it ended earlier, so none of this time counts */
}

static void run(struct thread_stats *r, int64_t id, uint64_t ns)
{
	if (id != MPROF_THREAD_NONE) {
		run_thread(r, thread_of(r, id), ns);
	} else if (r->state != RUNNING_NOTHING) {
		close_piece(r, ns);
		r->state = RUNNING_NOTHING;
		r->since = ns;
	}
}

static void end(struct thread_stats *r, uint32_t thread, uint64_t ns)
{
	if (thread == THREAD_STAT_NONE)
		return;
	r->list[thread].flags |= THREAD_STAT_ENDED;
	if (r->state == RUNNING_THREAD && r->running == thread) {
		r->cut = true;
		r->cut_ns = ns;
	}
}

static void on_becomes(struct thread_stats *r, const struct mprof_raw_event *e)
{
	uint32_t from, to;
	uint64_t forgotten;

	if (e->context == MPROF_THREAD_NONE || e->number == MPROF_THREAD_NONE)
		return;
	thread_of(r, e->context);
	to = thread_of(r, e->number);
	forgotten = r->forgotten;
	from = thread_of(r, e->context);
	if (r->forgotten != forgotten) /* all threads moved; this cannot happen twice in a row */
		to = thread_of(r, e->number);
	if (from == THREAD_STAT_NONE || to == THREAD_STAT_NONE || from == to)
		return;
	end(r, from, e->timestamp);
	r->list[from].alias = to;
	if (r->state == RUNNING_THREAD && r->running == from)
		run_thread(r, to, e->timestamp);
}

static void on_label(struct thread_stats *r, const struct mprof_raw_event *e, uint32_t label, bool marker)
{
	uint32_t thread;

	if (e->context == MPROF_THREAD_NONE)
		return;
	thread = thread_of(r, e->context);
	if (thread == THREAD_STAT_NONE)
		return;
	if (marker)
		r->list[thread].flags |= THREAD_STAT_EXPECTED;
	else if (r->list[thread].label == THREAD_STAT_NO_LABEL && label < THREAD_STAT_NO_LABEL)
		r->list[thread].label = label & THREAD_STAT_NO_LABEL;
}

/*
 * Add the thread ID if it is unknown. An event names the thread but does not tell that it runs.
 */
static void mention(struct thread_stats *r, int64_t id)
{
	if (id != MPROF_THREAD_NONE && id_index_find(&r->ids, id) == ID_INDEX_NONE)
		thread_of(r, id);
}

static void on_looks(struct thread_stats *r, const struct mprof_raw_event *e, bool runs)
{
	/* An event that names no other thread is ignored, as in the model. */
	if (e->number == MPROF_THREAD_NONE && e->id != MPROF_EVENT_signal && e->id != MPROF_EVENT_signal_noswitch)
		return;
	mention(r, e->number);
	if (runs)
		run(r, e->context, e->timestamp);
	else
		mention(r, e->context);
}

void thread_stats_event(struct thread_stats *r, const struct mprof_raw_event *e, uint32_t label, bool marker)
{
	switch ((enum mprof_event_id)e->id) {
	case MPROF_EVENT_creates:
		mention(r, e->context);
		if (e->number != MPROF_THREAD_NONE)
			thread_add(r, e->number, e->type, true);
		break;
	case MPROF_EVENT_fulfills:
	case MPROF_EVENT_fails:
		mention(r, e->context);
		if (e->number != MPROF_THREAD_NONE)
			end(r, thread_of(r, e->number), e->timestamp);
		break;
	case MPROF_EVENT_becomes:
		on_becomes(r, e);
		break;
	case MPROF_EVENT_label:
		on_label(r, e, label, marker);
		break;
	case MPROF_EVENT_switch:
		run(r, e->context, e->timestamp);
		break;
	case MPROF_EVENT_read:
	case MPROF_EVENT_signal:
		on_looks(r, e, true);
		break;
	case MPROF_EVENT_try_read:
	case MPROF_EVENT_read_later:
	case MPROF_EVENT_signal_noswitch:
		on_looks(r, e, false);
		break;
	case MPROF_EVENT_increase:
	case MPROF_EVENT_counter:
	case MPROF_EVENT_extra: /* a duration */
		mention(r, e->context);
		break;
	case MPROF_EVENT_gc:
	case MPROF_EVENT_IDS:
		break;
	}
}

void thread_stats_end(struct thread_stats *r, uint64_t ns)
{
	close_piece(r, ns);
	r->state = RUNNING_UNKNOWN;
}

size_t thread_stats_busiest(const struct thread_stats *r, struct thread_stat *out)
{
	uint32_t n = r->retired_n;

	memcpy(out, r->retired, n * sizeof(*out));
	for (uint32_t i = 0; i < r->n; i++)
		offer(out, &n, &r->list[i]);
	return n;
}
