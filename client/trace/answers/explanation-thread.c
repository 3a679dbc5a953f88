/* The history of one thread: its creation, what it did, what was done to it, and its end. */
#include <inttypes.h>

#include "explanation-parts.h"
#include "why-index.h"

#define ACTIONS_MAX 40u

/* Two lists in the order of time: the thread's interactions, and the signals that it received. */
struct actions {
	uint32_t own; /* next interaction of the thread, or MPROF_NONE */
	const uint32_t *signals;
	uint32_t signals_left;
};

static void tell_beginning(struct mprof_explanation *e, uint32_t thread)
{
	const struct mprof_thread *it = explain_thread(e, thread);

	explain_who(e, thread, it->created);
	if (it->flags & MPROF_THREAD_PREEXISTING) {
		explain_put(e, " was there before the trace began.");
	} else {
		explain_put(e, " was created by ");
		explain_who(e, it->creator, it->created);
		explain_put(e, " at ");
		explain_since(e, it->created);
		explain_put(e, ".");
	}
	explain_line(e);
	if ((it->flags & MPROF_THREAD_SIMPLIFIED) && it->parent != it->creator) {
		explain_put(e, "It is drawn from where it woke, ");
		explain_span(e, it->created, it->start);
		explain_put(e, " later, by reading ");
		explain_who(e, it->parent, it->start);
		explain_put(e, ".");
		explain_line(e);
	}
}

/*
 * LOOK is a try_read. Return the time at which the thread read the same thread later, or 0 if it
 * did not do so soon.
 */
static uint64_t read_after(const struct mprof_explanation *e, uint32_t look)
{
	const struct mprof_interaction *list = e->view->interactions;
	uint32_t steps = 0;

	for (uint32_t i = list[look].next; i != MPROF_NONE && steps++ < ACTIONS_MAX; i = list[i].next)
		if (list[i].kind == MPROF_INTERACTION_READ && list[i].other == list[look].other)
			return list[i].time;
	return 0;
}

static void tell_look(struct mprof_explanation *e, uint32_t i)
{
	const struct mprof_interaction *it = &e->view->interactions[i];
	uint64_t read = read_after(e, i);

	explain_put(e, "waited for ");
	explain_who(e, it->other, it->time);
	if (read) {
		explain_put(e, ", for ");
		explain_span(e, it->time, read);
	}
}

static void tell_read(struct mprof_explanation *e, const struct mprof_interaction *it)
{
	const struct mprof_thread *other = explain_thread(e, it->other);

	explain_put(e, "was woken by ");
	explain_who(e, it->other, it->time);
	if (!(other->flags & MPROF_THREAD_RESOLVED) || other->end > it->time)
		return;
	explain_put(e, other->failure != MPROF_NONE ? ", which had failed" : ", which had been resolved");
	if (other->resolver != MPROF_NONE && other->resolver != it->thread && other->resolver != it->other) {
		explain_put(e, " by ");
		explain_who(e, other->resolver, other->end);
	}
	explain_put(e, " ");
	explain_span(e, other->end, it->time);
	explain_put(e, " before");
}

static void tell_action(struct mprof_explanation *e, uint32_t i, bool received)
{
	const struct mprof_interaction *it = &e->view->interactions[i];

	explain_put(e, "At ");
	explain_since(e, it->time);
	explain_put(e, " it ");
	if (received) {
		explain_put(e, "was signalled by ");
		explain_who(e, it->thread, it->time);
	} else if (it->kind == MPROF_INTERACTION_TRY_READ) {
		tell_look(e, i);
	} else if (it->kind == MPROF_INTERACTION_READ) {
		tell_read(e, it);
	} else if (it->kind == MPROF_INTERACTION_RESOLVE && it->other == it->thread) {
		explain_put(e, "resolved itself");
	} else {
		explain_put(e, it->kind == MPROF_INTERACTION_SIGNAL ? "signalled " : "resolved ");
		explain_who(e, it->other, it->time);
	}
	explain_put(e, ".");
	explain_line(e);
}

/*
 * Return the next action in the order of time, an interaction, or MPROF_NONE after the last.
 * *RECEIVED: it is a signal that the thread received.
 */
static uint32_t actions_next(const struct mprof_explanation *e, struct actions *actions, bool *received)
{
	const struct mprof_interaction *list = e->view->interactions;
	uint32_t i = actions->own;

	*received = actions->signals_left && (i == MPROF_NONE || actions->signals[0] < i);
	if (*received) {
		i = *actions->signals++;
		actions->signals_left--;
	} else if (i != MPROF_NONE) {
		actions->own = list[i].next;
	}
	return i;
}

static void tell_actions(struct mprof_explanation *e, uint32_t thread)
{
	struct actions d = {.own = explain_thread(e, thread)->first_interaction};
	uint64_t more = 0;
	uint32_t i, listed = 0;
	bool received;

	d.signals = buckets_of(&e->why->signals, thread, &d.signals_left);
	while ((i = actions_next(e, &d, &received)) != MPROF_NONE) {
		if (listed++ < ACTIONS_MAX)
			tell_action(e, i, received);
		else
			more++;
	}
	if (more) {
		explain_put(e, "And %" PRIu64 " more.", more);
		explain_line(e);
	}
}

static void tell_running(struct mprof_explanation *e, uint32_t thread)
{
	const struct mprof_activation *list = e->view->activations;
	uint64_t ran = 0, longest = 0, span;
	uint32_t pieces = 0;

	for (uint32_t i = explain_thread(e, thread)->first_activation; i != MPROF_NONE; i = list[i].next, pieces++) {
		span = list[i].end - list[i].start;
		ran += span;
		longest = span > longest ? span : longest;
	}
	if (!pieces) {
		explain_put(e, "It never ran.");
	} else {
		explain_put(e, "It ran for ");
		explain_span(e, 0, ran);
		if (pieces > 1) {
			explain_put(e, " in %" PRIu32 " pieces, the longest of ", pieces);
			explain_span(e, 0, longest);
		}
		explain_put(e, ".");
	}
	explain_line(e);
}

/* Say what the last samples of THREAD tell, if it lives and its ring does not tell it. */
static void tell_state(struct mprof_explanation *e, uint32_t thread)
{
	struct mprof_why_state s;

	if ((explain_thread(e, thread)->flags & MPROF_THREAD_RESOLVED) || !why_state_of_thread(e->why, thread, &s))
		return;
	explain_put(e, "By the last samples of the system it");
	explain_state(e, &s);
	explain_put(e, ".");
	explain_line(e);
}

static void tell_resolution(struct mprof_explanation *e, uint32_t thread)
{
	const struct mprof_thread *it = explain_thread(e, thread);

	if (it->becomes != MPROF_NONE) {
		explain_put(e, "It became ");
		explain_who(e, it->becomes, it->end);
	} else {
		explain_put(e, it->failure != MPROF_NONE ? "It failed" : "It was resolved");
		explain_put(e, it->resolver == thread ? " by itself" : " by ");
		if (it->resolver != thread)
			explain_who(e, it->resolver, it->end);
	}
	if (why_end_is_unknown(e->view, thread)) {
		explain_put(e, ", at an unknown time, because the clock went back");
	} else {
		explain_put(e, " at ");
		explain_since(e, it->end);
		explain_put(e, ", ");
		explain_span(e, it->created, it->end);
		explain_put(e, it->flags & MPROF_THREAD_PREEXISTING ? " after the trace began" : " after its creation");
	}
	if (it->becomes == MPROF_NONE && it->failure != MPROF_NONE) {
		explain_put(e, ", with ");
		explain_quote(e, it->failure);
	}
	explain_put(e, ".");
}

static void tell_end(struct mprof_explanation *e, uint32_t thread)
{
	const struct mprof_thread *it = explain_thread(e, thread);

	if (it->flags & MPROF_THREAD_RESOLVED)
		tell_resolution(e, thread);
	else if (it->flags & MPROF_THREAD_END_UNSEEN)
		explain_put(
			e, "It should have been resolved. The trace has no resolution of it, and lacks events from its "
			   "creation on.");
	else if (it->flags & MPROF_THREAD_NEVER_RESOLVED)
		explain_put(e, "It should have been resolved, and never was up to the end of the trace.");
	else
		explain_put(e, "It was not resolved; its further history is unknown.");
	explain_line(e);
}

enum mprof_status mprof_explanation_thread(struct mprof_explanation *e, uint32_t thread)
{
	if (thread >= e->view->n_threads)
		return MPROF_CORRUPT;
	explain_begin(e);
	e->zero = e->view->streams[explain_thread(e, thread)->stream].start;
	if (explain_thread(e, thread)->flags & MPROF_THREAD_ROOT) {
		explain_put(e, "The program itself: it runs when no thread does, and sleeps.");
		explain_line(e);
		return explain_end(e);
	}
	tell_beginning(e, thread);
	tell_actions(e, thread);
	tell_running(e, thread);
	tell_state(e, thread);
	tell_end(e, thread);
	return explain_end(e);
}
