/* The story of one thread: where it comes from, what it did, what was done to it, how it ended. */
#include <inttypes.h>

#include "tale.h"
#include "why-index.h"

#define DEEDS_MAX 40u

/* Of two lists in the order of time, what the thread did and the signals that it was sent, the item that comes next. */
struct deeds {
	uint32_t own; /* interaction, or MPROF_NONE */
	const uint32_t *signals;
	uint32_t signals_left;
};

static void tell_beginning(struct mprof_tale *t, uint32_t thread)
{
	const struct mprof_thread *it = tale_thread(t, thread);

	tale_who(t, thread, it->created);
	if (it->flags & MPROF_THREAD_PREEXISTING) {
		tale_put(t, " was there before the trace began.");
	} else {
		tale_put(t, " was created by ");
		tale_who(t, it->creator, it->created);
		tale_put(t, " at ");
		tale_since(t, it->created);
		tale_put(t, ".");
	}
	tale_line(t);
	if ((it->flags & MPROF_THREAD_SIMPLIFIED) && it->parent != it->creator) {
		tale_put(t, "It is drawn from where it woke, ");
		tale_span(t, it->created, it->start);
		tale_put(t, " later, by reading ");
		tale_who(t, it->parent, it->start);
		tale_put(t, ".");
		tale_line(t);
	}
}

/* When THREAD, which looked at OTHER by interaction LOOK, read it; 0 where it never did. */
static uint64_t read_after(const struct mprof_tale *t, uint32_t look)
{
	const struct mprof_interaction *list = t->view->interactions;
	uint32_t i, steps = 0;

	for (i = list[look].next; i != MPROF_NONE && steps++ < DEEDS_MAX; i = list[i].next)
		if (list[i].kind == MPROF_INTERACTION_READ && list[i].other == list[look].other)
			return list[i].time;
	return 0;
}

static void tell_look(struct mprof_tale *t, uint32_t i)
{
	const struct mprof_interaction *it = &t->view->interactions[i];
	uint64_t read = read_after(t, i);

	tale_put(t, "waited for ");
	tale_who(t, it->other, it->time);
	if (read) {
		tale_put(t, ", for ");
		tale_span(t, it->time, read);
	}
}

static void tell_read(struct mprof_tale *t, const struct mprof_interaction *it)
{
	const struct mprof_thread *other = tale_thread(t, it->other);

	tale_put(t, "was woken by ");
	tale_who(t, it->other, it->time);
	if (!(other->flags & MPROF_THREAD_RESOLVED) || other->end > it->time)
		return;
	tale_put(t, other->failure != MPROF_NONE ? ", which had failed" : ", which had been resolved");
	if (other->resolver != MPROF_NONE && other->resolver != it->thread && other->resolver != it->other) {
		tale_put(t, " by ");
		tale_who(t, other->resolver, other->end);
	}
	tale_put(t, " ");
	tale_span(t, other->end, it->time);
	tale_put(t, " before");
}

static void tell_deed(struct mprof_tale *t, uint32_t i, bool received)
{
	const struct mprof_interaction *it = &t->view->interactions[i];

	tale_put(t, "At ");
	tale_since(t, it->time);
	tale_put(t, " it ");
	if (received) {
		tale_put(t, "was signalled by ");
		tale_who(t, it->thread, it->time);
	} else if (it->kind == MPROF_INTERACTION_TRY_READ) {
		tell_look(t, i);
	} else if (it->kind == MPROF_INTERACTION_READ) {
		tell_read(t, it);
	} else if (it->kind == MPROF_INTERACTION_RESOLVE && it->other == it->thread) {
		tale_put(t, "resolved itself");
	} else {
		tale_put(t, it->kind == MPROF_INTERACTION_SIGNAL ? "signalled " : "resolved ");
		tale_who(t, it->other, it->time);
	}
	tale_put(t, ".");
	tale_line(t);
}

/* The next deed in the order of time; MPROF_NONE behind the last. */
static uint32_t deeds_next(const struct mprof_tale *t, struct deeds *d, bool *received)
{
	const struct mprof_interaction *list = t->view->interactions;
	uint32_t i = d->own;

	*received = d->signals_left && (i == MPROF_NONE || d->signals[0] < i);
	if (*received) {
		i = *d->signals++;
		d->signals_left--;
	} else if (i != MPROF_NONE) {
		d->own = list[i].next;
	}
	return i;
}

static void tell_deeds(struct mprof_tale *t, uint32_t thread)
{
	struct deeds d = {.own = tale_thread(t, thread)->first_interaction};
	uint64_t more = 0;
	uint32_t i, told = 0;
	bool received;

	d.signals = buckets_of(&t->why->signals, thread, &d.signals_left);
	while ((i = deeds_next(t, &d, &received)) != MPROF_NONE) {
		if (told++ < DEEDS_MAX)
			tell_deed(t, i, received);
		else
			more++;
	}
	if (more) {
		tale_put(t, "And %" PRIu64 " more.", more);
		tale_line(t);
	}
}

static void tell_running(struct mprof_tale *t, uint32_t thread)
{
	const struct mprof_activation *list = t->view->activations;
	uint64_t ran = 0, longest = 0, span;
	uint32_t i, pieces = 0;

	for (i = tale_thread(t, thread)->first_activation; i != MPROF_NONE; i = list[i].next, pieces++) {
		span = list[i].end - list[i].start;
		ran += span;
		longest = span > longest ? span : longest;
	}
	if (!pieces) {
		tale_put(t, "It never ran.");
	} else {
		tale_put(t, "It ran for ");
		tale_span(t, 0, ran);
		if (pieces > 1) {
			tale_put(t, " in %" PRIu32 " pieces, the longest of ", pieces);
			tale_span(t, 0, longest);
		}
		tale_put(t, ".");
	}
	tale_line(t);
}

static void tell_resolution(struct mprof_tale *t, uint32_t thread)
{
	const struct mprof_thread *it = tale_thread(t, thread);

	if (it->becomes != MPROF_NONE) {
		tale_put(t, "It became ");
		tale_who(t, it->becomes, it->end);
	} else {
		tale_put(t, it->failure != MPROF_NONE ? "It failed" : "It was resolved");
		tale_put(t, it->resolver == thread ? " by itself" : " by ");
		if (it->resolver != thread)
			tale_who(t, it->resolver, it->end);
	}
	tale_put(t, " at ");
	tale_since(t, it->end);
	tale_put(t, ", ");
	tale_span(t, it->created, it->end);
	tale_put(t, it->flags & MPROF_THREAD_PREEXISTING ? " after the trace began" : " after its creation");
	if (it->becomes == MPROF_NONE && it->failure != MPROF_NONE) {
		tale_put(t, ", with ");
		tale_quote(t, it->failure);
	}
	tale_put(t, ".");
}

static void tell_end(struct mprof_tale *t, uint32_t thread)
{
	const struct mprof_thread *it = tale_thread(t, thread);

	if (it->flags & MPROF_THREAD_RESOLVED)
		tell_resolution(t, thread);
	else if (it->flags & MPROF_THREAD_NEVER_RESOLVED)
		tale_put(t, "It should have been resolved, and never was up to the end of the trace.");
	else
		tale_put(t, "It was not resolved; nothing more is known of it.");
	tale_line(t);
}

enum mprof_status mprof_tale_thread(struct mprof_tale *t, uint32_t thread)
{
	if (thread >= t->view->n_threads)
		return MPROF_CORRUPT;
	tale_begin(t);
	t->zero = t->view->streams[tale_thread(t, thread)->stream].start;
	if (tale_thread(t, thread)->flags & MPROF_THREAD_ROOT) {
		tale_put(t, "The program itself: it runs where no thread does, and sleeps.");
		tale_line(t);
		return tale_end(t);
	}
	tell_beginning(t, thread);
	tell_deeds(t, thread);
	tell_running(t, thread);
	tell_end(t, thread);
	return tale_end(t);
}
