/* Why a thread waits, and what ran last: the answers of why.h in words. */
#include <inttypes.h>

#include "tale.h"

/* One answer on its way into words. */
struct telling {
	struct mprof_tale *t;
	const struct mprof_why_answer *a;
	const struct mprof_thread *thread;
	const struct mprof_thread *root;
	uint64_t end; /* of the stream */
};

static const struct mprof_interaction *interaction(const struct telling *w, uint32_t i)
{
	return &w->t->view->interactions[i];
}

/* Who made signal I, and when. */
static void tell_signal(const struct telling *w, uint32_t i)
{
	tale_deed(w->t, interaction(w, i)->thread, interaction(w, i)->time);
}

static void tell_root(const struct telling *w)
{
	tale_who(w->t, w->a->root, w->a->since);
}

static void tell_resolved(const struct telling *w)
{
	bool failed = w->thread->failure != MPROF_NONE;

	tale_put(w->t, failed ? "  failed by " : "  was resolved by ");
	tale_deed(w->t, w->thread->resolver, w->thread->end);
	tale_put(w->t, ", ");
	tale_span(w->t, w->thread->created, w->thread->end);
	tale_put(w->t, " after its creation");
	if (failed) {
		tale_put(w->t, ", with ");
		tale_quote(w->t, w->thread->failure);
	}
	tale_line(w->t);
}

static void tell_title(const struct telling *w, uint32_t asked)
{
	struct mprof_tale *t = w->t;

	tale_put(t, "thread ");
	tale_who(t, w->a->thread, w->thread->created);
	if (tale_thread(t, asked)->id != w->thread->id)
		tale_put(t, ", which %" PRId64 " has become,", tale_thread(t, asked)->id);
	if (w->a->verdict != MPROF_WHY_RESOLVED)
		tale_put(t, w->thread->flags & MPROF_THREAD_SHOULD_RESOLVE ? " should resolve and never did"
									   : " is not resolved");
	tale_line(t);
	tale_put(t, "  ");
	tale_time(t, w->thread->created);
	if (w->thread->flags & MPROF_THREAD_PREEXISTING) {
		tale_put(t, "  was there before");
	} else if (w->thread->creator == MPROF_NONE ||
		   (tale_thread(t, w->thread->creator)->flags & MPROF_THREAD_ROOT)) {
		tale_put(t, "  was created");
	} else {
		tale_put(t, "  was created by ");
		tale_who(t, w->thread->creator, w->thread->created);
	}
	tale_line(t);
}

static void tell_chain(const struct telling *w)
{
	uint64_t links = (uint64_t)w->a->links + w->a->circle, i;
	uint32_t thread = w->a->thread;
	const struct mprof_interaction *link;

	for (i = 0; i < links && i < MPROF_TALE_LINKS; i++) {
		link = interaction(w, mprof_why_link(w->t->why, thread));
		thread = mprof_why_final(w->t->why, link->other);
		tale_put(w->t, "  ");
		tale_time(w->t, link->time);
		tale_put(w->t, i ? "  which waits on " : "  waits on ");
		tale_who(w->t, thread, link->time);
		tale_line(w->t);
	}
	if (links > i) {
		tale_put(w->t, "  and so on over %" PRIu64 " threads", links - i);
		tale_line(w->t);
	}
}

static void say_missed_signal(const struct telling *w)
{
	const struct mprof_interaction *lost = interaction(w, w->a->lost);

	tale_put(w->t, "missed wake-up: ");
	tale_who(w->t, w->a->condition, w->a->since);
	tale_put(w->t, " was signalled by ");
	tell_signal(w, w->a->lost);
	tale_put(w->t, ", when nobody waited for it. ");
	tell_root(w);
	tale_put(w->t, " began to wait at ");
	tale_time(w->t, w->a->since);
	tale_put(w->t, ", ");
	tale_span(w->t, lost->time, w->a->since);
	tale_put(w->t, " too late, and no signal came in the ");
	tale_span(w->t, w->a->since, w->end);
	tale_put(w->t, " from then to the end of the trace.");
	tale_line(w->t);
	if (w->a->lost_signals > 1) {
		tale_put(w->t, "It was the last of %" PRIu32 " signals in a row that nobody waited for.",
			 w->a->lost_signals);
		tale_line(w->t);
	}
}

static void tell_root_resolution(const struct telling *w)
{
	tale_put(w->t, " was resolved by ");
	tale_deed(w->t, w->root->resolver, w->root->end);
}

static void say_missed_resolution(const struct telling *w)
{
	tale_put(w->t, "missed wake-up: ");
	tell_root(w);
	tell_root_resolution(w);
	tale_put(w->t, ", before it was looked at, and nobody has read it since.");
	tale_line(w->t);
}

static void say_not_woken(const struct telling *w)
{
	tell_root(w);
	tell_root_resolution(w);
	tale_put(w->t, ", and what waits on it has not run since, up to ");
	tale_time(w->t, w->end);
	tale_put(w->t, ".");
	tale_line(w->t);
}

/* From when to the end it waits for what. */
static void tell_waits(const struct telling *w)
{
	uint32_t condition = w->a->condition;

	tell_root(w);
	if (condition != MPROF_NONE && !(tale_thread(w->t, condition)->flags & MPROF_THREAD_ROOT) &&
	    condition != w->a->root) {
		tale_put(w->t, " waits for a signal of ");
		tale_who(w->t, condition, w->a->since);
		tale_put(w->t, " since ");
	} else {
		tale_put(w->t, " is open since ");
	}
	tale_time(w->t, w->a->since);
	tale_put(w->t, ", for the ");
	tale_span(w->t, w->a->since, w->end);
	tale_put(w->t, " to the end of the trace");
}

static void say_signalled_since(const struct telling *w)
{
	tell_waits(w);
	tale_put(w->t, ". Signalled %" PRIu32 " times since, it was still not resolved; the first was by ",
		 w->a->signals_since);
	tell_signal(w, w->a->first_since);
	tale_put(w->t, ".");
	tale_line(w->t);
}

static void say_never_signalled(const struct telling *w)
{
	tell_waits(w);
	tale_put(w->t, ". None came");
	if (w->a->signals) {
		tale_put(w->t, "; the last one before, by ");
		tell_signal(w, w->a->last_signal);
		tale_put(w->t, ", woke another");
	} else {
		tale_put(w->t, ", nor any before");
	}
	tale_put(w->t, ".");
	tale_line(w->t);
}

static void say_never_resolved(const struct telling *w)
{
	tell_waits(w);
	tale_put(w->t, ", and nothing has resolved it.");
	tale_line(w->t);
}

static void say_circle(const struct telling *w)
{
	tale_put(w->t, "the chain is a circle: it comes back to ");
	tell_root(w);
	tale_put(w->t, ", so that none of them can ever be resolved by another.");
	tale_line(w->t);
}

static void (*const verdicts[])(const struct telling *w) = {
	[MPROF_WHY_RESOLVED] = tell_resolved,
	[MPROF_WHY_MISSED_SIGNAL] = say_missed_signal,
	[MPROF_WHY_MISSED_RESOLVE] = say_missed_resolution,
	[MPROF_WHY_NOT_WOKEN] = say_not_woken,
	[MPROF_WHY_SIGNALLED_SINCE] = say_signalled_since,
	[MPROF_WHY_NEVER_SIGNALLED] = say_never_signalled,
	[MPROF_WHY_NEVER_RESOLVED] = say_never_resolved,
	[MPROF_WHY_CIRCLE] = say_circle,
};

/* Who could have resolved it: who signalled, and who resolved the like of it. */
static void tell_helpers(const struct telling *w)
{
	if (w->a->lost != MPROF_NONE) {
		tale_put(w->t, "could have resolved it: ");
		tale_who(w->t, interaction(w, w->a->lost)->thread, interaction(w, w->a->lost)->time);
		tale_put(w->t, ", by a signal after that time");
		tale_line(w->t);
	}
	if (w->a->like != MPROF_NONE) {
		tale_put(w->t, "the last one like it, ");
		tale_who(w->t, w->a->like, UINT64_MAX);
		tale_put(w->t, ", was resolved by ");
		tale_deed(w->t, tale_thread(w->t, w->a->like)->resolver, tale_thread(w->t, w->a->like)->end);
		tale_line(w->t);
	}
	if (w->root->flags & MPROF_THREAD_PREEXISTING) {
		tale_put(w->t, "it is older than the trace: what was done to it before is not known");
		tale_line(w->t);
	}
}

enum mprof_status mprof_tale_why(struct mprof_tale *t, uint32_t thread)
{
	struct mprof_why_answer a;
	struct telling w = {.t = t, .a = &a};

	if (thread >= t->view->n_threads)
		return MPROF_CORRUPT;
	tale_begin(t);
	mprof_why_ask(t->why, thread, &a);
	w.thread = tale_thread(t, a.thread);
	w.root = tale_thread(t, a.root);
	w.end = t->view->streams[w.thread->stream].end;
	tell_title(&w, thread);
	if (a.verdict != MPROF_WHY_RESOLVED)
		tell_chain(&w);
	verdicts[a.verdict](&w);
	if (a.verdict != MPROF_WHY_RESOLVED)
		tell_helpers(&w);
	return tale_end(t);
}

/* Since when the program sleeps at the end of STREAM; its end where it does not. */
static uint64_t asleep_since(const struct mprof_tale *t, uint32_t stream)
{
	uint32_t last = mprof_why_last(t->why, stream, false);
	const struct mprof_activation *a;

	if (last == MPROF_NONE)
		return UINT64_MAX;
	a = &t->view->activations[last];
	return tale_thread(t, a->thread)->flags & MPROF_THREAD_ROOT ? a->start : UINT64_MAX;
}

static void tell_last(struct mprof_tale *t, uint32_t stream, const struct mprof_activation *a)
{
	uint64_t end = t->view->streams[stream].end, asleep = asleep_since(t, stream);

	tale_who(t, a->thread, a->end);
	tale_put(t, " ran from ");
	tale_time(t, a->start);
	tale_put(t, " to ");
	tale_time(t, a->end);
	if (asleep < end) {
		tale_put(t, ", then the program slept for ");
		tale_span(t, asleep, end);
	}
	tale_put(t, ", to the end of the trace at ");
	tale_time(t, end);
}

enum mprof_status mprof_tale_last(struct mprof_tale *t, uint32_t stream)
{
	uint32_t last;

	if (stream >= t->view->n_streams)
		return MPROF_CORRUPT;
	tale_begin(t);
	tale_put(t, "last");
	if (t->streams) {
		tale_put(t, " of ");
		tale_name(t, stream);
	}
	tale_put(t, ": ");
	last = mprof_why_last(t->why, stream, true);
	if (last == MPROF_NONE)
		tale_put(t, "no thread ran");
	else
		tell_last(t, stream, &t->view->activations[last]);
	tale_line(t);
	return tale_end(t);
}
