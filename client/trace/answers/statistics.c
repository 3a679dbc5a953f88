/* Statistics, from one pass over each array of the model. */
#include <mprof/statistics.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/ids.h>

#include "thread-label.h"

struct mprof_statistics {
	struct mprof_statistics_totals all;
	struct mprof_statistics_counter *counters;
	struct mprof_statistics_thread busiest[MPROF_STATISTICS_BUSIEST];
};

const char *mprof_counter_kind_name(uint8_t kind)
{
	static const char *const names[MPROF_COUNTER_KINDS] = {
		[MPROF_COUNTER_GAUGE] = "gauge",
		[MPROF_COUNTER_TOTAL] = "total",
		[MPROF_COUNTER_AMOUNT] = "amount",
	};

	return kind < MPROF_COUNTER_KINDS ? names[kind] : NULL;
}

double mprof_statistics_rate(const struct mprof_statistics_counter *c, enum mprof_counter_kind kind, bool grows)
{
	bool counts = kind == MPROF_COUNTER_TOTAL || (kind == MPROF_COUNTER_UNDECLARED && grows);

	if (!counts || !c->samples || c->last_ns <= c->first_ns)
		return (double)NAN;
	return ((double)c->last - (double)c->first) / (double)(c->last_ns - c->first_ns) * 1e9;
}

struct walk {
	const struct mprof_model_view *v;
	struct mprof_statistics *n;
	uint64_t from;
	uint64_t to;
};

static bool inside(const struct walk *w, uint64_t time)
{
	return time >= w->from && time <= w->to;
}

static void count_thread(const struct walk *w, const struct mprof_thread *t)
{
	struct mprof_statistics_totals *all = &w->n->all;

	if (t->flags & MPROF_THREAD_ROOT)
		return;
	if (t->flags & MPROF_THREAD_PREEXISTING) {
		all->preexisting++;
	} else if (inside(w, t->created)) {
		all->created++;
		all->events_by_type[MPROF_EVENT_creates]++;
		all->threads_by_type[t->type < MPROF_THREAD_TYPES ? t->type : MPROF_THREAD_TYPES]++;
	}
	if (t->becomes != MPROF_NONE && inside(w, t->end))
		all->events_by_type[MPROF_EVENT_becomes]++;
}

static void count_interaction(const struct walk *w, const struct mprof_interaction *i)
{
	static const uint8_t ids[] = {
		[MPROF_INTERACTION_READ] = MPROF_EVENT_read,
		[MPROF_INTERACTION_TRY_READ] = MPROF_EVENT_try_read,
		[MPROF_INTERACTION_SIGNAL] = MPROF_EVENT_signal,
	};

	if (!inside(w, i->time))
		return;
	if (i->kind == MPROF_INTERACTION_RESOLVE)
		w->n->all.events_by_type[w->v->threads[i->other].failure == MPROF_NONE ? MPROF_EVENT_fulfills
										       : MPROF_EVENT_fails]++;
	else
		w->n->all.events_by_type[ids[i->kind]]++;
}

static void count_collection(const struct walk *w, const struct mprof_collection *c)
{
	struct mprof_statistics_totals *all = &w->n->all;

	if (!inside(w, c->time))
		return;
	all->events_by_type[MPROF_EVENT_gc]++;
	all->collections++;
	if (__builtin_add_overflow(all->collecting_ns, c->duration_ns, &all->collecting_ns))
		all->collecting_ns = UINT64_MAX;
	all->longest_ns = c->duration_ns > all->longest_ns ? c->duration_ns : all->longest_ns;
}

static void count_sample(const struct walk *w, const struct mprof_sample *s)
{
	struct mprof_statistics_counter *c = &w->n->counters[s->counter];
	bool relative = w->v->counters[s->counter].relative;

	if (!inside(w, s->time))
		return;
	w->n->all.events_by_type[relative ? MPROF_EVENT_increase : MPROF_EVENT_counter]++;
	if (!c->samples++) {
		c->first = c->min = c->max = s->value;
		c->first_ns = s->time;
	}
	c->last = s->value;
	c->last_ns = s->time;
	c->min = s->value < c->min ? s->value : c->min;
	c->max = s->value > c->max ? s->value : c->max;
	if (w->v->counters[s->counter].kind == MPROF_COUNTER_AMOUNT &&
	    __builtin_add_overflow(c->sum, s->value, &c->sum))
		c->sum = s->value < 0 ? INT64_MIN : INT64_MAX;
}

static void rate_counters(const struct walk *w)
{
	for (uint32_t i = 0; i < w->v->n_counters; i++) {
		const struct mprof_counter *c = &w->v->counters[i];

		w->n->counters[i].rate_per_s =
			mprof_statistics_rate(&w->n->counters[i], (enum mprof_counter_kind)c->kind, c->grows);
	}
}

static bool count_labels(const struct walk *w)
{
	uint8_t *seen = calloc((size_t)w->v->n_strings + 1, 1);

	if (!seen)
		return false;
	for (uint32_t i = 0; i < w->v->n_labels; i++) {
		const struct mprof_label *l = &w->v->labels[i];

		if (l->sample != MPROF_NONE || !inside(w, l->time))
			continue;
		w->n->all.events_by_type[MPROF_EVENT_label]++;
		w->n->all.labels += !seen[l->text];
		seen[l->text] = 1;
	}
	free(seen);
	return true;
}

/* Return the time of activation A that is inside of the range, ns. */
static uint64_t piece(const struct walk *w, const struct mprof_activation *a)
{
	uint64_t start = a->start > w->from ? a->start : w->from, end = a->end < w->to ? a->end : w->to;

	return end > start ? end - start : 0;
}

/*
 * Insert THREAD, which ran for RAN ns, into the list of the busiest threads, after threads that ran
 * as long; drop the last one if the list is full.
 */
static void offer(const struct walk *w, uint32_t thread, uint64_t ran)
{
	struct mprof_statistics_thread *best = w->n->busiest;
	uint32_t at = w->n->all.busiest;

	if (!ran || (at == MPROF_STATISTICS_BUSIEST && ran <= best[at - 1].running_ns))
		return;
	if (at == MPROF_STATISTICS_BUSIEST)
		at--;
	else
		w->n->all.busiest++;
	for (; at && best[at - 1].running_ns < ran; at--)
		best[at] = best[at - 1];
	best[at] = (struct mprof_statistics_thread){.running_ns = ran, .thread = thread};
}

static bool count_running(const struct walk *w)
{
	uint64_t *ran = calloc((size_t)w->v->n_threads + 1, sizeof(*ran));

	if (!ran)
		return false;
	for (uint32_t i = 0; i < w->v->n_activations; i++)
		ran[w->v->activations[i].thread] += piece(w, &w->v->activations[i]);
	for (uint32_t i = 0; i < w->v->n_threads; i++) {
		if (w->v->threads[i].flags & MPROF_THREAD_ROOT) {
			w->n->all.sleeping_ns += ran[i];
			continue;
		}
		w->n->all.running_ns += ran[i];
		offer(w, i, ran[i]);
	}
	for (uint32_t i = 0; i < w->n->all.busiest; i++)
		w->n->busiest[i].label = thread_label(w->v, w->n->busiest[i].thread);
	free(ran);
	return true;
}

static void bound(const struct walk *w)
{
	struct mprof_statistics_totals *all = &w->n->all;
	uint64_t first = UINT64_MAX, last = 0;

	for (uint32_t i = 0; i < w->v->n_streams; i++) {
		const struct mprof_model_stream *s = &w->v->streams[i];

		if (!s->events)
			continue;
		first = s->start < first ? s->start : first;
		last = s->end > last ? s->end : last;
	}
	all->first_ns = first > w->from ? first : w->from;
	all->last_ns = last < w->to ? last : w->to;
}

/* Return the sum of the counters NAME, each with the value of its last sample. */
static uint64_t counted(const struct mprof_model_view *v, const char *name)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < v->n_counters; i++) {
		const struct mprof_counter *c = &v->counters[i];
		const struct mprof_string *s = &v->strings[c->name];
		int64_t last = 0;

		if (s->bytes != strlen(name) || memcmp(v->text + s->offset, name, s->bytes) != 0)
			continue;
		for (uint32_t k = c->first; k != MPROF_NONE; k = v->samples[k].next)
			last = v->samples[k].value;
		if (last > 0 && __builtin_add_overflow(sum, (uint64_t)last, &sum))
			sum = UINT64_MAX;
	}
	return sum;
}

/* Return whether a thread of the stream S ran. */
static bool ran(const struct mprof_model_view *v, uint32_t s)
{
	for (uint32_t i = 0; i < v->n_threads; i++)
		if (v->threads[i].stream == s && i != v->streams[s].root &&
		    v->threads[i].first_activation != MPROF_NONE)
			return true;
	return false;
}

/* Return whether S has told of a time in which no thread of it ran. */
static bool slept(const struct mprof_model_view *v, const struct mprof_model_stream *s)
{
	for (uint32_t i = v->threads[s->root].first_activation; i != MPROF_NONE; i = v->activations[i].next)
		if (v->activations[i].end > v->activations[i].start)
			return true;
	return false;
}

/* Return whether some streams tell when no thread runs, and all those do in which threads run. */
static bool tells_sleep(const struct mprof_model_view *v)
{
	bool tells = false;

	for (uint32_t i = 0; i < v->n_streams; i++) {
		const struct mprof_model_stream *s = &v->streams[i];

		if (slept(v, s))
			tells = true;
		else if (!ran(v, i))
			continue;
		else if (s->declares & MPROF_WRITES_STOPS)
			tells = true;
		else
			return false;
	}
	return tells;
}

struct mprof_statistics *mprof_statistics_new(const struct mprof_model_view *view, uint64_t from, uint64_t to)
{
	struct mprof_statistics *n = calloc(1, sizeof(*n));
	const struct walk w = {.v = view, .n = n, .from = from, .to = to};

	if (!n)
		return NULL;
	n->counters = calloc((size_t)view->n_counters + 1, sizeof(*n->counters));
	if (!n->counters || !count_labels(&w) || !count_running(&w))
		return mprof_statistics_free(n);
	bound(&w);
	n->all.tells_sleep = tells_sleep(view);
	n->all.dropped_events = counted(view, MPROF_COUNTER_DROPPED);
	n->all.lost_words = counted(view, MPROF_COUNTER_LOST_WORDS);
	for (uint32_t i = 0; i < view->n_threads; i++)
		count_thread(&w, &view->threads[i]);
	for (uint32_t i = 0; i < view->n_interactions; i++)
		count_interaction(&w, &view->interactions[i]);
	for (uint32_t i = 0; i < view->n_collections; i++)
		count_collection(&w, &view->collections[i]);
	for (uint32_t i = 0; i < view->n_samples; i++)
		count_sample(&w, &view->samples[i]);
	rate_counters(&w);
	return n;
}

struct mprof_statistics *mprof_statistics_free(struct mprof_statistics *s)
{
	if (s)
		free(s->counters);
	free(s);
	return NULL;
}

const struct mprof_statistics_totals *mprof_statistics_totals(const struct mprof_statistics *s)
{
	return &s->all;
}

const struct mprof_statistics_counter *mprof_statistics_counters(const struct mprof_statistics *s)
{
	return s->counters;
}

const struct mprof_statistics_thread *mprof_statistics_busiest(const struct mprof_statistics *s)
{
	return s->busiest;
}
