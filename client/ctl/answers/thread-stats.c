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

void thread_stats_init(struct thread_stats *s, uint32_t most)
{
	*s = (struct thread_stats){.most = most, .to = UINT64_MAX, .running = THREAD_STAT_NONE};
	id_index_init(&s->ids, seed_new(s));
}

void thread_stats_deinit(struct thread_stats *s)
{
	free(s->list);
	s->list = NULL;
	id_index_deinit(&s->ids);
}

static bool grow(struct thread_stats *s)
{
	uint32_t room = s->room ? s->room * 2 : 1024;
	struct thread_stat *list;

	room = room < s->most ? room : s->most;
	list = realloc(s->list, room * sizeof(*list));
	if (!list)
		return false;
	s->list = list;
	s->room = room;
	return true;
}

uint32_t thread_stats_alias(struct thread_stats *s, uint32_t i)
{
	struct thread_stat *list = s->list;

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
static uint32_t *mark_kept(struct thread_stats *s)
{
	uint32_t *map = malloc(s->n * sizeof(*map));

	if (!map)
		return NULL;
	memset(map, 0xff, s->n * sizeof(*map));
	for (uint32_t i = 0; i < s->n; i++) {
		if ((s->list[i].flags & THREAD_STAT_ENDED) && !(s->list[i].flags & THREAD_STAT_EXPECTED) &&
		    !(s->state == RUNNING_THREAD && s->running == i))
			continue;
		map[i] = 0;
		map[thread_stats_alias(s, i)] = 0;
	}
	return map;
}

/* Map the id of thread I to I. CREATED: the trace contains the creation of the thread. */
static void index_thread(struct thread_stats *s, uint32_t i, bool created)
{
	if (id_index_reserve(&s->ids, 1))
		id_index_put(&s->ids, s->list[i].id, i, created);
	else
		s->failed = true;
}

/* Forget the threads that have ended. */
static void forget(struct thread_stats *s)
{
	uint32_t *map = mark_kept(s), n = 0, before_gap = 0;

	if (!map) {
		s->failed = true;
		return;
	}
	for (uint32_t i = 0; i < s->n; i++) {
		before_gap += i < s->before_gap && map[i] != THREAD_STAT_NONE;
		if (map[i] != THREAD_STAT_NONE)
			map[i] = n++;
		else
			offer(s->retired, &s->retired_n, &s->list[i]);
	}
	/*
	 * mark_kept() has shortened all chains of aliases. So the alias of each kept thread is
	 * kept too.
	 */
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t final = map[i] == THREAD_STAT_NONE ? 0 : thread_stats_alias(s, i);

		if (map[i] == THREAD_STAT_NONE)
			continue;
		s->list[i].alias = final;
	}
	for (uint32_t i = 0; i < s->n; i++) {
		if (map[i] == THREAD_STAT_NONE)
			continue;
		s->list[map[i]] = s->list[i];
		s->list[map[i]].alias = map[s->list[i].alias];
	}
	if (s->state == RUNNING_THREAD && s->running != THREAD_STAT_NONE)
		s->running = map[s->running];
	s->forgotten += s->n - n;
	s->n = n;
	s->before_gap = before_gap;
	free(map);
	id_index_clear(&s->ids);
	for (uint32_t i = 0; i < n && !s->failed; i++)
		index_thread(s, i, false);
}

/*
 * Return true if the list has room for another thread. If the list is full, first forget the
 * threads that have ended. Each attempt to forget visits all threads. So if an attempt freed little
 * room, wait before the next attempt. Return false also without memory.
 */
static bool has_room(struct thread_stats *s)
{
	if (s->n < s->most)
		return s->n < s->room || grow(s);
	if (s->untracked >= s->retry_at) {
		forget(s);
		if (s->n > s->most - s->most / 16)
			s->retry_at = s->untracked + s->most / 16 + 1;
	}
	return s->n < s->most;
}

static uint32_t thread_add(struct thread_stats *s, int64_t id, uint8_t type, bool created)
{
	if (!has_room(s)) {
		s->failed = s->failed || s->n < s->most;
		s->untracked++;
		return THREAD_STAT_NONE;
	}
	s->list[s->n] = (struct thread_stat){.id = id, .alias = s->n, .label = THREAD_STAT_NO_LABEL, .type = type};
	index_thread(s, s->n, created);
	return s->n++;
}

/*
 * Return the number of the thread that ID names: the thread with this id, or the thread that it
 * became. If there is none, add a thread with this id. Return THREAD_STAT_NONE if there is no room.
 */
static uint32_t thread_of(struct thread_stats *s, int64_t id)
{
	uint32_t i = id_index_find(&s->ids, id);

	if (i != THREAD_STAT_NONE)
		return thread_stats_alias(s, i);
	/*
	 * The id is unknown. If no thread was forgotten, the thread is older than the trace.
	 * Otherwise the id may be the id of a forgotten thread.
	 */
	s->preexisting += !s->forgotten;
	return thread_add(s, id, MPROF_THREAD_UNKNOWN, false);
}

static uint64_t piece(const struct thread_stats *s, uint64_t start, uint64_t end)
{
	start = start > s->from ? start : s->from;
	end = end < s->to ? end : s->to;
	return end > start ? end - start : 0;
}

static void close_piece(struct thread_stats *s, uint64_t ns)
{
	s->slept = s->slept || (s->state == RUNNING_NOTHING && ns > s->since);
	if (s->state == RUNNING_NOTHING)
		s->sleeping_ns += piece(s, s->since, ns);
	else if (s->state == RUNNING_THREAD && s->running != THREAD_STAT_NONE)
		s->list[s->running].running_ns += piece(s, s->since, s->cut && s->cut_ns < ns ? s->cut_ns : ns);
}

static void run_thread(struct thread_stats *s, uint32_t thread, uint64_t ns)
{
	if (s->state == RUNNING_THREAD && s->running == thread)
		return;
	close_piece(s, ns);
	s->state = RUNNING_THREAD;
	s->ran = true;
	s->running = thread;
	s->since = ns;
	s->cut = thread != THREAD_STAT_NONE && (s->list[thread].flags & THREAD_STAT_ENDED);
	s->cut_ns = 0; /* it ended earlier, so none of this time counts */
}

static void run(struct thread_stats *s, int64_t id, uint64_t ns)
{
	if (id != MPROF_THREAD_NONE) {
		run_thread(s, thread_of(s, id), ns);
	} else if (s->state != RUNNING_NOTHING) {
		close_piece(s, ns);
		s->state = RUNNING_NOTHING;
		s->since = ns;
	}
}

static void end(struct thread_stats *s, uint32_t thread, uint64_t ns)
{
	if (thread == THREAD_STAT_NONE)
		return;
	s->list[thread].flags |= THREAD_STAT_ENDED;
	if (s->state == RUNNING_THREAD && s->running == thread) {
		s->cut = true;
		s->cut_ns = ns;
	}
}

static void on_becomes(struct thread_stats *s, const struct mprof_raw_event *e)
{
	uint32_t from, to;
	uint64_t forgotten;

	if (e->context == MPROF_THREAD_NONE || e->number == MPROF_THREAD_NONE)
		return;
	thread_of(s, e->context);
	to = thread_of(s, e->number);
	forgotten = s->forgotten;
	from = thread_of(s, e->context);
	if (s->forgotten != forgotten) /* all threads moved; this cannot happen twice in a row */
		to = thread_of(s, e->number);
	if (from == THREAD_STAT_NONE || to == THREAD_STAT_NONE || from == to)
		return;
	end(s, from, e->timestamp);
	s->list[from].alias = to;
	if (s->state == RUNNING_THREAD && s->running == from)
		run_thread(s, to, e->timestamp);
}

static void on_label(struct thread_stats *s, const struct mprof_raw_event *e, uint32_t label, bool marker)
{
	uint32_t thread;

	if (e->context == MPROF_THREAD_NONE)
		return;
	thread = thread_of(s, e->context);
	if (thread == THREAD_STAT_NONE)
		return;
	if (marker)
		s->list[thread].flags |= THREAD_STAT_EXPECTED;
	else if (s->list[thread].label == THREAD_STAT_NO_LABEL && label < THREAD_STAT_NO_LABEL)
		s->list[thread].label = label & THREAD_STAT_NO_LABEL;
}

/*
 * Add the thread ID if it is unknown. An event names the thread but does not tell that it runs.
 */
static void mention(struct thread_stats *s, int64_t id)
{
	if (id != MPROF_THREAD_NONE && id_index_find(&s->ids, id) == ID_INDEX_NONE)
		thread_of(s, id);
}

static void on_looks(struct thread_stats *s, const struct mprof_raw_event *e, bool runs)
{
	/* An event that names no other thread is ignored, as in the model. */
	if (e->number == MPROF_THREAD_NONE && e->id != MPROF_EVENT_signal && e->id != MPROF_EVENT_signal_noswitch)
		return;
	mention(s, e->number);
	if (runs)
		run(s, e->context, e->timestamp);
	else
		mention(s, e->context);
}

void thread_stats_event(struct thread_stats *s, const struct mprof_raw_event *e, uint32_t label, bool marker)
{
	switch ((enum mprof_event_id)e->id) {
	case MPROF_EVENT_creates:
		mention(s, e->context);
		if (e->number != MPROF_THREAD_NONE)
			thread_add(s, e->number, e->type, true);
		break;
	case MPROF_EVENT_fulfills:
	case MPROF_EVENT_fails:
		mention(s, e->context);
		if (e->number != MPROF_THREAD_NONE)
			end(s, thread_of(s, e->number), e->timestamp);
		break;
	case MPROF_EVENT_becomes:
		on_becomes(s, e);
		break;
	case MPROF_EVENT_label:
		on_label(s, e, label, marker);
		break;
	case MPROF_EVENT_switch:
		run(s, e->context, e->timestamp);
		break;
	case MPROF_EVENT_read:
	case MPROF_EVENT_signal:
		on_looks(s, e, true);
		break;
	case MPROF_EVENT_try_read:
	case MPROF_EVENT_read_later:
	case MPROF_EVENT_signal_noswitch:
		on_looks(s, e, false);
		break;
	case MPROF_EVENT_increase:
	case MPROF_EVENT_counter:
	case MPROF_EVENT_extra: /* a duration */
		mention(s, e->context);
		break;
	case MPROF_EVENT_gc:
	case MPROF_EVENT_IDS:
		break;
	}
}

void thread_stats_gap(struct thread_stats *s, uint64_t ns)
{
	close_piece(s, ns);
	s->state = RUNNING_UNKNOWN;
	thread_stats_loss(s);
}

void thread_stats_loss(struct thread_stats *s)
{
	s->before_gap = s->n;
}

void thread_stats_end(struct thread_stats *s, uint64_t ns)
{
	close_piece(s, ns);
	s->state = RUNNING_UNKNOWN;
}

size_t thread_stats_busiest(const struct thread_stats *s, struct thread_stat *out)
{
	uint32_t n = s->retired_n;

	memcpy(out, s->retired, n * sizeof(*out));
	for (uint32_t i = 0; i < s->n; i++)
		offer(out, &n, &s->list[i]);
	return n;
}
