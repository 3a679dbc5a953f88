/*
 * Find holes of the two traces.
 *
 * A difference can be in what one of them does not have: a part of a ring, or a kind of event that the recorder of the other
 * one writes.
 */
#include <string.h>

#include <mprof/ids.h>

#include "coverage-index.h"
#include "diff-state.h"
#include "map.h"

#define WRITES \
	(MPROF_WRITES_SIGNALS | MPROF_WRITES_WAKES | MPROF_WRITES_RELEASES | MPROF_WRITES_INPUT | MPROF_WRITES_ENDS)

static struct mprof_coverage *coverage_of(struct mprof_diff *d, int side)
{
	return side == GOOD ? &d->view.good_coverage : &d->view.bad_coverage;
}

/* Find a ring of the run SIDE that lacks its beginning, also if it is the one that begins first. */
static void find_beginning(struct mprof_diff *d, int side)
{
	const struct mprof_model_view *v = d->side[side].view;
	struct mprof_coverage *c = coverage_of(d, side);

	for (uint32_t i = 0; i < v->n_streams && c->hole == MPROF_HOLE_NONE; i++)
		if (coverage_lacks_beginning(v, i))
			*c = (struct mprof_coverage){.hole = MPROF_HOLE_BEGIN, .stream = i, .to = v->streams[i].start};
}

/* Find a hole of the run SIDE, of each guest from its first event on. Return false without memory. */
static bool find_hole(struct mprof_diff *d, int side)
{
	const struct diff_side *s = &d->side[side];
	const struct mprof_model_stream *streams = s->view->streams;
	struct mprof_coverage *c = coverage_of(d, side);
	struct map earliest; /* from a guest to the stream that begins first */
	bool fine;

	map_init(&earliest, d->options.seed);
	fine = map_reserve(&earliest, s->view->n_streams);
	for (uint32_t i = 0; fine && i < s->view->n_streams; i++) {
		uint32_t first = map_get(&earliest, streams[i].guest);

		if (streams[i].events && (first == MPROF_NONE || streams[i].start < streams[first].start))
			map_set(&earliest, streams[i].guest, i);
	}
	for (uint32_t i = 0; fine && i < s->view->n_streams && c->hole == MPROF_HOLE_NONE; i++)
		if (streams[i].events && !coverage_is_of_vcpus(s->view, i))
			coverage_stream(s->view, &s->why->coverage, i,
					streams[map_get(&earliest, streams[i].guest)].start, UINT64_MAX, c);
	map_deinit(&earliest);
	return fine;
}

/* Return why a stream A can lack events that its counterpart B has: the recorder does not write, or declare, a kind. */
static enum mprof_hole lacks_kind(const struct mprof_model_stream *a, const struct mprof_model_stream *b)
{
	if (!a->events || !(b->declares & MPROF_DECLARES_KINDS))
		return MPROF_HOLE_NONE;
	if (!(a->declares & MPROF_DECLARES_KINDS))
		return MPROF_HOLE_UNSAID;
	return b->declares & ~a->declares & WRITES ? MPROF_HOLE_KIND : MPROF_HOLE_NONE;
}

/* Find a recorder of the run SIDE that does not write what that of the other run writes. */
static void find_kind(struct mprof_diff *d, int side)
{
	const struct diff_side *s = &d->side[side], *other = &d->side[!side];
	struct mprof_coverage *c = coverage_of(d, side);

	for (uint32_t i = 0; i < s->view->n_streams && c->hole == MPROF_HOLE_NONE; i++) {
		uint32_t root = s->match[s->view->streams[i].root];

		if (root == MPROF_NONE)
			continue;
		c->hole = lacks_kind(&s->view->streams[i], &other->view->streams[diff_thread(other, root)->stream]);
		c->stream = c->hole == MPROF_HOLE_NONE ? 0 : i;
	}
}

/*
 * Find a ring of the other run that the run SIDE has not, and that a recorder need not write: one with counters, or one that
 * declares nothing. The ring of a thread is missing if the thread is.
 */
static void find_ring(struct mprof_diff *d, int side)
{
	const struct diff_side *other = &d->side[!side];
	const struct mprof_model_view *v = other->view;
	struct mprof_coverage *c = coverage_of(d, side);

	if (c->hole != MPROF_HOLE_NONE || !d->side[side].view->n_streams)
		return;
	for (uint32_t i = 0; i < v->n_counters; i++)
		if (other->match[v->streams[v->counters[i].stream].root] == MPROF_NONE)
			c->hole = MPROF_HOLE_KIND;
	for (uint32_t i = 0; i < v->n_streams; i++)
		if (v->streams[i].events && !(v->streams[i].declares & MPROF_DECLARES_KINDS) &&
		    other->match[v->streams[i].root] == MPROF_NONE)
			c->hole = MPROF_HOLE_KIND;
}

bool diff_coverage(struct mprof_diff *d)
{
	for (int side = GOOD; side <= BAD; side++) {
		if (!find_hole(d, side))
			return false;
		find_beginning(d, side);
		find_kind(d, side);
		find_ring(d, side);
	}
	return true;
}

/* Return the hole in which the end of THREAD of the run SIDE could be, which has none in the trace. */
static struct mprof_coverage end_hole(const struct mprof_diff *d, int side, uint32_t thread)
{
	const struct diff_side *s = &d->side[side];
	const struct mprof_thread *t = diff_thread(s, thread);
	struct mprof_coverage c;

	if (t->flags & MPROF_THREAD_SHOULD_RESOLVE)
		mprof_why_unresolved(s->why, thread, &c);
	else
		coverage_ask(s->view, &s->why->coverage, t->stream, MPROF_COVERAGE_RESOLVE, t->created, UINT64_MAX,
			     s->end, &c);
	return c;
}

void diff_outcome_coverage(struct mprof_diff *d, struct mprof_diff_outcome *o)
{
	bool in_bad = o->kind == MPROF_DIFF_BAD_WAITS || o->kind == MPROF_DIFF_GOOD_FAILS;
	int side = in_bad ? BAD : GOOD; /* the run that is said to lack an end, or the failure */
	uint32_t thread = in_bad ? o->bad : o->good;

	o->coverage = (struct mprof_coverage){0};
	if (thread == MPROF_NONE) {
		o->coverage = *coverage_of(d, side);
		return;
	}
	thread = d->side[side].why->final[thread];
	if (!(diff_thread(&d->side[side], thread)->flags & MPROF_THREAD_RESOLVED))
		o->coverage = end_hole(d, side, thread);
}

/* Find a hole behind FROM, ns, of a ring of the program of THREAD, in the run S. */
static struct mprof_coverage hole_since(const struct diff_side *s, uint32_t thread, uint64_t from)
{
	const struct mprof_model_stream *streams = s->view->streams;
	uint32_t guest = streams[diff_thread(s, thread)->stream].guest;
	struct mprof_coverage c = {0};

	for (uint32_t i = 0; i < s->view->n_streams && c.hole == MPROF_HOLE_NONE; i++)
		if (streams[i].guest == guest && !coverage_is_of_vcpus(s->view, i))
			coverage_stream(s->view, &s->why->coverage, i, from, UINT64_MAX, &c);
	return c;
}

/* Return whether the hole C is no place in a ring, but a kind of events. */
static bool is_of_kinds(const struct mprof_coverage *c)
{
	return c->hole == MPROF_HOLE_KIND || c->hole == MPROF_HOLE_UNSAID;
}

bool diff_hides_step(const struct mprof_diff *d, int side, uint32_t thread, uint32_t common)
{
	const struct mprof_coverage *c = side == GOOD ? &d->view.good_coverage : &d->view.bad_coverage;
	const struct mprof_diff_step *steps = d->steps.items;

	if (c->hole == MPROF_HOLE_NONE || common == MPROF_NONE || is_of_kinds(c))
		return c->hole != MPROF_HOLE_NONE;
	return hole_since(&d->side[side], thread, steps[common].time).hole != MPROF_HOLE_NONE;
}

/* Return a number of the type and the first label of THREAD of S, but for the numbers in the label. */
static uint64_t kind_of(const struct diff_side *s, uint32_t thread)
{
	return (uint64_t)diff_shape(s, thread) << 8 | diff_thread(s, thread)->type;
}

/* Return whether the text of the string I of S may be the number of an interned one that the trace lacks. */
static bool is_number(const struct diff_side *s, uint32_t i)
{
	const struct mprof_string *text = &s->view->strings[i];

	return text->bytes && s->view->text[text->offset] == '#';
}

/*
 * Return whether the run S, which has a hole, shows the type and the first label of THREAD, or that it has none. This is not known of a writer
 * with declarations: it may create an object once more, without its label.
 */
static bool is_known(const struct diff_side *s, uint32_t thread)
{
	uint32_t n;
	const uint32_t *labels = buckets_of(&s->why->labels, thread, &n);

	if ((diff_thread(s, thread)->flags & MPROF_THREAD_PREEXISTING) ||
	    (s->view->streams[diff_thread(s, thread)->stream].declares & MPROF_DECLARES_KINDS) ||
	    (n && is_number(s, s->view->labels[labels[0]].text)))
		return false;
	return hole_since(s, thread, diff_thread(s, thread)->created).hole == MPROF_HOLE_NONE;
}

/* Find a thread of the run SIDE, which has a hole, whose kind the other run, which has none, does not have. Return false without memory. */
static bool find_lone_thread(struct mprof_diff *d, int side)
{
	const struct diff_side *s = &d->side[side], *other = &d->side[!side];
	struct map kinds;
	bool fine;

	map_init(&kinds, d->options.seed);
	fine = map_reserve(&kinds, other->view->n_threads);
	for (uint32_t i = 0; fine && i < other->view->n_threads; i++)
		map_set(&kinds, kind_of(other, i), 1);
	for (uint32_t i = 0; fine && i < s->view->n_threads && !d->view.differs; i++)
		d->view.differs = s->match[i] == MPROF_NONE && diff_is_reported(s, i) &&
				  map_get(&kinds, kind_of(s, i)) == MPROF_NONE && is_known(s, i);
	map_deinit(&kinds);
	return fine;
}

/* Find a counter of the run SIDE, which has a hole, that the other run, which has none, does not have. */
static void find_lone_counter(struct mprof_diff *d, int side)
{
	const struct mprof_diff_counter *counters = d->counters.items;

	for (uint32_t i = 0; i < d->counters.n; i++) {
		uint32_t own = side == GOOD ? counters[i].good : counters[i].bad,
			 its = side == GOOD ? counters[i].bad : counters[i].good;

		if (own != MPROF_NONE && its == MPROF_NONE &&
		    !is_number(&d->side[side], d->side[side].view->counters[own].name))
			d->view.differs = 1;
	}
}

/* Return whether the run SIDE can lack a place of a ring, and so threads. */
static bool lacks_place(const struct mprof_diff *d, int side)
{
	const struct mprof_coverage *c = side == GOOD ? &d->view.good_coverage : &d->view.bad_coverage;

	return c->hole != MPROF_HOLE_NONE && !is_of_kinds(c);
}

/* Return whether THREAD, or MPROF_NONE, is the only one of its kind in the run S. */
static bool is_only(const struct diff_side *s, uint32_t thread)
{
	uint32_t n = 0;

	for (uint32_t i = 0; thread != MPROF_NONE && i < s->view->n_threads && n < 2; i++)
		n += kind_of(s, i) == kind_of(s, thread);
	return n == 1;
}

/*
 * Return whether the runs differ by the outcome O. A run that lacks a part of a ring may have other threads of the kind there, so a
 * thread that it shows is the counterpart only if the other run lacks nothing and has one thread of the kind.
 */
static bool is_proof(const struct mprof_diff *d, const struct mprof_diff_outcome *o)
{
	int side = lacks_place(d, BAD);
	uint32_t thread = side == GOOD ? o->good : o->bad, other = side == GOOD ? o->bad : o->good;
	const struct diff_side *s = &d->side[side];

	if (o->coverage.hole != MPROF_HOLE_NONE)
		return false;
	if (!lacks_place(d, GOOD) && !lacks_place(d, BAD))
		return true;
	return !lacks_place(d, !side) && thread != MPROF_NONE && is_known(s, thread) &&
	       is_only(&d->side[!side], other) && kind_of(s, thread) == kind_of(&d->side[!side], other);
}

bool diff_proof(struct mprof_diff *d)
{
	const struct mprof_diff_outcome *outcomes = d->outcomes.items;

	for (uint32_t i = 0; i < d->outcomes.n && !d->view.differs; i++)
		d->view.differs = is_proof(d, &outcomes[i]);
	for (int side = GOOD; side <= BAD; side++) {
		if (!lacks_place(d, side) || coverage_of(d, !side)->hole != MPROF_HOLE_NONE)
			continue;
		find_lone_counter(d, side);
		if (!find_lone_thread(d, side))
			return false;
	}
	return true;
}
