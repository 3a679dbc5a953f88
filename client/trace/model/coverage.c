/* Whether the model would have an event if it had happened (<mprof/coverage.h>). */
#include <mprof/coverage.h>

#include <string.h>

#include <mprof/ids.h>

#include "coverage-index.h"

const char *mprof_hole_name(enum mprof_hole hole)
{
	static const char *const names[MPROF_HOLES] = {
		[MPROF_HOLE_NONE] = "none",   [MPROF_HOLE_KIND] = "kind",	[MPROF_HOLE_UNSAID] = "unsaid",
		[MPROF_HOLE_BEGIN] = "begin", [MPROF_HOLE_GAP] = "gap",		[MPROF_HOLE_CLOCK] = "clock",
		[MPROF_HOLE_RING] = "ring",   [MPROF_HOLE_DROPPED] = "dropped",
	};

	return names[hole];
}

/* Return the flag MPROF_WRITES_* of KIND. */
static uint32_t flag_of(enum mprof_coverage_kind kind)
{
	static const uint16_t flags[MPROF_COVERAGE_KINDS] = {
		[MPROF_COVERAGE_SIGNAL] = MPROF_WRITES_SIGNALS,	  [MPROF_COVERAGE_WAKE] = MPROF_WRITES_WAKES,
		[MPROF_COVERAGE_RELEASE] = MPROF_WRITES_RELEASES, [MPROF_COVERAGE_INPUT] = MPROF_WRITES_INPUT,
		[MPROF_COVERAGE_READ] = MPROF_WRITES_ENDS,	  [MPROF_COVERAGE_RESOLVE] = MPROF_WRITES_ENDS,
	};

	return flags[kind];
}

/* Return the time of the first event of KIND in S, ns, or UINT64_MAX. */
static uint64_t first_of(const struct mprof_model_stream *s, enum mprof_coverage_kind kind)
{
	switch (kind) {
	case MPROF_COVERAGE_READ:
		return s->first_read;
	case MPROF_COVERAGE_RESOLVE:
		return s->first_resolve;
	default:
		return s->first_signal;
	}
}

static bool declares_kinds(const struct mprof_model_stream *s)
{
	return s->declares & MPROF_DECLARES_KINDS;
}

/* Return whether events on an object of A can be in B: the two are of one guest, and of writers of one sort. */
static bool belong_together(const struct mprof_model_stream *a, const struct mprof_model_stream *b)
{
	return a->guest == b->guest && b->events && declares_kinds(a) == declares_kinds(b);
}

bool coverage_is_of_vcpus(const struct mprof_model_view *v, uint32_t stream)
{
	uint32_t child = v->threads[v->streams[stream].root].first_child;

	return child != MPROF_NONE && MPROF_IS_VCPU(v->threads[child].id);
}

static struct mprof_coverage hole(enum mprof_hole reason, uint32_t stream, uint64_t from, uint64_t to)
{
	return (struct mprof_coverage){.hole = reason, .stream = stream, .from = from, .to = to};
}

/* Return a gap of STREAM that has times from FROM to TO, or MPROF_NONE. X may be NULL. */
static uint32_t find_gap(const struct mprof_model_view *v, const struct coverage_index *x, uint32_t stream,
			 uint64_t from, uint64_t to)
{
	if (x)
		return coverage_index_gap(x, stream, from, to);
	for (uint32_t i = 0; i < v->n_gaps; i++) {
		const struct mprof_gap *g = &v->gaps[i];

		if (g->stream == stream && g->from <= to && (g->to >= from || coverage_is_open(g)))
			return i;
	}
	return MPROF_NONE;
}

/* Return whether a thread whose first event is in S has its ring elsewhere, not in the model. */
static bool lacks_ring(const struct mprof_model_stream *s)
{
	return declares_kinds(s) && s->silent != MPROF_NONE;
}

/*
 * Find a ring that is not there, a step of the clock of STREAM between FROM and TO, or a gap between KNOWN, at or
 * before FROM, and TO.
 */
static struct mprof_coverage find_loss(const struct mprof_model_view *v, const struct coverage_index *x,
				       uint32_t stream, uint64_t known, uint64_t from, uint64_t to)
{
	const struct mprof_model_stream *s = &v->streams[stream];
	uint32_t gap;

	if (lacks_ring(s))
		return hole(MPROF_HOLE_RING, stream, v->threads[s->silent].created, 0);
	if (s->back_to && s->back_from <= to && s->back_to >= from)
		return hole(MPROF_HOLE_CLOCK, stream, s->back_from, s->back_to);
	gap = find_gap(v, x, stream, known, to);
	if (gap != MPROF_NONE)
		return hole(MPROF_HOLE_GAP, stream, v->gaps[gap].from, v->gaps[gap].to);
	return (struct mprof_coverage){0};
}

static bool has_beginning(const struct mprof_model_stream *s)
{
	return s->declares & MPROF_DECLARES_FIRST || s->begin == MPROF_BEGIN_FIRST;
}

bool coverage_lacks_beginning(const struct mprof_model_view *v, uint32_t stream)
{
	const struct mprof_model_stream *s = &v->streams[stream];

	if (!s->events || coverage_is_of_vcpus(v, stream))
		return false;
	return declares_kinds(s) ? !has_beginning(s) : s->begin == MPROF_BEGIN_LATER;
}

/* As find_loss(), and find whether STREAM begins behind FROM. */
static struct mprof_coverage find_begin_or_loss(const struct mprof_model_view *v, const struct coverage_index *x,
						uint32_t stream, uint64_t known, uint64_t from, uint64_t to)
{
	const struct mprof_model_stream *s = &v->streams[stream];

	if (!lacks_ring(s) && s->start > from && !has_beginning(s))
		return hole(MPROF_HOLE_BEGIN, stream, from, s->start);
	return find_loss(v, x, stream, known, from, to);
}

static struct mprof_coverage ask_stream(const struct mprof_model_view *v, const struct coverage_index *x,
					uint32_t stream, enum mprof_coverage_kind kind, uint64_t from, uint64_t to,
					uint64_t at)
{
	const struct mprof_model_stream *s = &v->streams[stream];
	uint64_t known = from; /* from then on the ring must have no gap */

	if (declares_kinds(s)) {
		if (!(s->declares & flag_of(kind)))
			return hole(MPROF_HOLE_KIND, stream, 0, 0);
	} else {
		if (first_of(s, kind) > at)
			return hole(MPROF_HOLE_UNSAID, stream, 0, 0);
		known = first_of(s, kind) < from ? first_of(s, kind) : from;
	}
	return find_begin_or_loss(v, x, stream, known, from, to);
}

bool coverage_is_of_losses(const struct mprof_model_view *v, uint32_t name)
{
	static const char *const names[] = {MPROF_COUNTER_DROPPED, MPROF_COUNTER_LOST_WORDS};
	const struct mprof_string *s = &v->strings[name];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (s->bytes == strlen(names[i]) && !memcmp(v->text + s->offset, names[i], s->bytes))
			return true;
	return false;
}

bool coverage_is_drop(const struct mprof_model_view *v, uint32_t i)
{
	const struct mprof_sample *s = &v->samples[i];

	return s->value > (s->previous == MPROF_NONE ? 0 : v->samples[s->previous].value);
}

uint64_t coverage_drop_since(const struct mprof_model_view *v, uint32_t i)
{
	const struct mprof_sample *s = &v->samples[i];

	return s->previous == MPROF_NONE ? 0 : v->samples[s->previous].time;
}

/* As find_dropped(), of a view without an index. */
static struct mprof_coverage walk_drops(const struct mprof_model_view *v, uint32_t guest, uint64_t from, uint64_t to)
{
	struct mprof_coverage first = {0};

	for (uint32_t i = 0; i < v->n_counters; i++) {
		const struct mprof_counter *c = &v->counters[i];

		if (v->streams[c->stream].guest != guest || c->max <= 0 || !coverage_is_of_losses(v, c->name))
			continue;
		for (uint32_t k = c->first; k != MPROF_NONE; k = v->samples[k].next)
			if (v->samples[k].time >= from && coverage_drop_since(v, k) < to && coverage_is_drop(v, k) &&
			    (first.hole == MPROF_HOLE_NONE || v->samples[k].time < first.to))
				first = hole(MPROF_HOLE_DROPPED, c->stream, 0, v->samples[k].time);
	}
	return first;
}

/*
 * Find events that a recorder of GUEST can have dropped between FROM and TO. A sample says how many events it dropped before,
 * so the first greater one from FROM on tells, if the sample before it is older than TO; the counter of a ring that lost its beginning may
 * tell of earlier ones.
 */
static struct mprof_coverage find_dropped(const struct mprof_model_view *v, const struct coverage_index *x,
					  uint32_t guest, uint64_t from, uint64_t to)
{
	const struct coverage_drop *drop;

	if (!x)
		return walk_drops(v, guest, from, to);
	drop = coverage_index_drop(x, guest, from, to);
	return drop ? hole(MPROF_HOLE_DROPPED, drop->stream, 0, drop->time) : (struct mprof_coverage){0};
}

void coverage_ask(const struct mprof_model_view *v, const struct coverage_index *x, uint32_t stream,
		  enum mprof_coverage_kind kind, uint64_t from, uint64_t to, uint64_t at,
		  struct mprof_coverage *coverage)
{
	*coverage = (struct mprof_coverage){0};
	for (uint32_t i = 0; i < v->n_streams && coverage->hole == MPROF_HOLE_NONE; i++)
		if (belong_together(&v->streams[stream], &v->streams[i]) && !coverage_is_of_vcpus(v, i))
			*coverage = ask_stream(v, x, i, kind, from, to, at);
	if (coverage->hole == MPROF_HOLE_NONE)
		*coverage = find_dropped(v, x, v->streams[stream].guest, from, to);
}

void coverage_stream(const struct mprof_model_view *v, const struct coverage_index *x, uint32_t stream, uint64_t from,
		     uint64_t to, struct mprof_coverage *coverage)
{
	*coverage = (struct mprof_coverage){0};
	if (!v->streams[stream].events)
		return;
	*coverage = find_begin_or_loss(v, x, stream, from, from, to);
	if (coverage->hole == MPROF_HOLE_NONE)
		*coverage = find_dropped(v, x, v->streams[stream].guest, from, to);
}

void coverage_losses(const struct mprof_model_view *v, const struct coverage_index *x, uint32_t stream, uint64_t from,
		     uint64_t to, struct mprof_coverage *coverage)
{
	*coverage = (struct mprof_coverage){0};
	for (uint32_t i = 0; i < v->n_streams && coverage->hole == MPROF_HOLE_NONE; i++)
		if (belong_together(&v->streams[stream], &v->streams[i]) && !coverage_is_of_vcpus(v, i))
			*coverage = find_loss(v, x, i, from, from, to);
	if (coverage->hole == MPROF_HOLE_NONE)
		*coverage = find_dropped(v, x, v->streams[stream].guest, from, to);
}

/*
 * Return whether the order of the events of STREAM's guest is known without their times: the guest has one ring, and that has
 * all its packets.
 */
static bool has_order(const struct mprof_model_view *v, const struct coverage_index *x, uint32_t stream)
{
	uint32_t rings = 0;

	for (uint32_t i = 0; i < v->n_streams; i++)
		rings += v->streams[i].guest == v->streams[stream].guest && v->streams[i].events;
	return rings == 1 && find_gap(v, x, stream, 0, UINT64_MAX) == MPROF_NONE;
}

void coverage_unresolved(const struct mprof_model_view *v, const struct coverage_index *x, uint32_t thread,
			 uint64_t end, struct mprof_coverage *coverage)
{
	const struct mprof_thread *t = &v->threads[thread];

	/* Its writer looked whether the thread was there, and wrote no end. */
	if (v->streams[t->stream].declares & MPROF_DECLARES_LOOKED) {
		*coverage = hole(MPROF_HOLE_KIND, t->stream, 0, 0);
		return;
	}
	coverage_ask(v, x, t->stream, MPROF_COVERAGE_RESOLVE, t->created, end, end, coverage);
	if (coverage->hole == MPROF_HOLE_KIND || coverage->hole == MPROF_HOLE_UNSAID ||
	    coverage->hole == MPROF_HOLE_BEGIN || coverage->hole == MPROF_HOLE_CLOCK)
		coverage_losses(v, x, t->stream, t->created, end, coverage);
	if (coverage->hole == MPROF_HOLE_CLOCK && has_order(v, x, t->stream))
		*coverage = find_dropped(v, x, v->streams[t->stream].guest, t->created, end);
}

void mprof_coverage_ask(const struct mprof_model_view *v, uint32_t stream, enum mprof_coverage_kind kind, uint64_t from,
			uint64_t to, uint64_t at, struct mprof_coverage *coverage)
{
	coverage_ask(v, NULL, stream, kind, from, to, at, coverage);
}

/*
 * Return whether S, a ring, tells about its end: whether its threads ran, or had stopped. If its clock went back, its last
 * times may be before those of rings that ended earlier.
 */
static bool tells_of_end(const struct mprof_model_stream *s)
{
	if (s->back_to)
		return false;
	if (!declares_kinds(s))
		return true;
	return s->silent == MPROF_NONE && (s->running == MPROF_NONE || (s->declares & MPROF_WRITES_STOPS));
}

/* Return whether a ring of GUEST that has events ends with a gap. */
static bool ends_with_gap(const struct mprof_model_view *v, uint32_t guest)
{
	for (uint32_t i = 0; i < v->n_gaps; i++) {
		const struct mprof_model_stream *s = &v->streams[v->gaps[i].stream];

		if (s->guest == guest && s->events && coverage_is_open(&v->gaps[i]))
			return true;
	}
	return false;
}

/* Return whether a sample says that a thread of GUEST ran after SINCE, ns. */
static bool ran_after(const struct mprof_model_view *v, uint32_t guest, uint64_t since)
{
	for (uint32_t i = 0; i < v->n_streams; i++)
		if (v->streams[i].guest == guest && v->streams[i].ran > since)
			return true;
	return false;
}

uint64_t mprof_coverage_asleep(const struct mprof_model_view *v, uint32_t stream)
{
	uint64_t since = UINT64_MAX;

	if (ends_with_gap(v, v->streams[stream].guest))
		return UINT64_MAX;
	for (uint32_t i = 0; i < v->n_streams; i++) {
		const struct mprof_model_stream *s = &v->streams[i];

		if (s->guest != v->streams[stream].guest || !s->events)
			continue;
		if (!tells_of_end(s) || (s->running != MPROF_NONE && s->running != s->root))
			return UINT64_MAX;
		if (s->running == s->root && (since == UINT64_MAX || s->since > since))
			since = s->since;
	}
	return since != UINT64_MAX && ran_after(v, v->streams[stream].guest, since) ? UINT64_MAX : since;
}
