/* Explain why a thread waits, and what ran last. */
#include <inttypes.h>

#include <mprof/ids.h>

#include "explanation-parts.h"
#include "why-index.h"

#define WAITS_MAX 8u /* waits of a resolved thread that are told, each for the next thread */

/* An answer that is being written as text. */
struct why_text {
	struct mprof_explanation *e;
	const struct mprof_why_answer *a;
	const struct mprof_thread *thread;
	const struct mprof_thread *root;
};

static const struct mprof_interaction *interaction(const struct why_text *w, uint32_t i)
{
	return &w->e->view->interactions[i];
}

/* Append the sender of signal I, an interaction, and the signal's time. */
static void tell_signal(const struct why_text *w, uint32_t i)
{
	explain_who_when(w->e, interaction(w, i)->thread, interaction(w, i)->time);
}

/* Return whether what the answer is about was only looked at from outside. */
static bool is_looked(const struct why_text *w)
{
	return why_is_looked(w->e->why, w->a->root);
}

static void tell_root(const struct why_text *w)
{
	explain_who(w->e, w->a->root, w->a->since);
}

/* A wait that a read has ended. */
struct wait {
	uint64_t from, to; /* ns */
	uint32_t other;	   /* the thread that was read, or MPROF_NONE if there is no wait */
};

/*
 * Return the longest wait of THREAD that ends at or before LIMIT, ns. A thread waits from its
 * creation, or from its read before, until it reads another thread.
 */
static struct wait longest_wait(const struct mprof_explanation *e, uint32_t thread, uint64_t limit)
{
	struct wait longest = {.other = MPROF_NONE};
	uint64_t from = explain_thread(e, thread)->created;

	for (uint32_t i = explain_thread(e, thread)->first_interaction; i != MPROF_NONE;
	     i = e->view->interactions[i].next) {
		const struct mprof_interaction *it = &e->view->interactions[i];

		if (it->kind != MPROF_INTERACTION_READ || it->other == thread || it->time > limit)
			continue;
		if (it->time > from && it->time - from > longest.to - longest.from)
			longest = (struct wait){from, it->time, it->other};
		from = it->time > from ? it->time : from;
	}
	return longest;
}

/* Say what the resolved thread waited for longest, what that waited for longest until then, and so on. */
static void tell_waited(const struct why_text *w)
{
	uint32_t thread = w->a->thread;
	uint64_t limit = w->thread->end;

	for (uint32_t n = 0; n < WAITS_MAX; n++) {
		struct wait wait = longest_wait(w->e, thread, limit);

		if (wait.other == MPROF_NONE)
			return;
		explain_put(w->e, n ? "  which waited longest for " : "  waited longest for ");
		explain_who(w->e, wait.other, wait.to);
		explain_put(w->e, ", for ");
		explain_span(w->e, wait.from, wait.to);
		explain_put(w->e, ", up to ");
		explain_time(w->e, wait.to);
		explain_line(w->e);
		if (n == 0)
			explain_vcpus(w->e, w->thread->stream, wait.from, wait.to);
		thread = wait.other;
		limit = wait.to;
	}
}

/* Append who resolved thread I, and when, which is unknown if the clock went back. */
static void tell_resolver(const struct why_text *w, uint32_t i)
{
	const struct mprof_thread *t = explain_thread(w->e, i);

	if (!why_end_is_unknown(w->e->view, i)) {
		explain_who_when(w->e, t->resolver, t->end);
		return;
	}
	explain_who(w->e, t->resolver, t->end);
	explain_put(w->e, ", at an unknown time, because the clock went back");
}

static void tell_resolved(const struct why_text *w)
{
	bool failed = w->thread->failure != MPROF_NONE;

	explain_put(w->e, failed ? "  failed by " : "  was resolved by ");
	tell_resolver(w, w->a->thread);
	if (!why_end_is_unknown(w->e->view, w->a->thread)) {
		explain_put(w->e, ", ");
		explain_span(w->e, w->thread->created, w->thread->end);
		explain_put(w->e, " after its creation");
	}
	if (failed) {
		explain_put(w->e, ", with ");
		explain_quote(w->e, w->thread->failure);
	}
	explain_line(w->e);
}

/* Say that the thread is unresolved, or name the hole in which its resolution could be. */
static void tell_unresolved(const struct why_text *w)
{
	bool should = w->thread->flags & MPROF_THREAD_SHOULD_RESOLVE;
	struct mprof_coverage c;

	if (why_is_looked(w->e->why, w->a->thread)) {
		explain_put(w->e, why_is_thread(w->e->why, w->a->thread) ? " had not ended when it was looked at"
									 : " was not over when it was looked at");
		return;
	}
	mprof_why_unresolved(w->e->why, w->a->thread, &c);
	if (c.hole == MPROF_HOLE_NONE) {
		explain_put(w->e, should ? " should resolve and never did" : " is not resolved");
		return;
	}
	explain_put(w->e, should ? " should resolve, and the trace has no resolution of it, which would not be here"
				 : " has no resolution in the trace. It would not be here");
	explain_hole(w->e, &c, UINT64_MAX);
}

static void tell_title(const struct why_text *w, uint32_t asked)
{
	struct mprof_explanation *e = w->e;

	explain_put(e, "thread ");
	explain_who(e, w->a->thread, w->thread->created);
	if (explain_thread(e, asked)->id != w->thread->id)
		explain_put(e, ", which %" PRId64 " has become,", explain_thread(e, asked)->id);
	if (w->a->verdict != MPROF_WHY_RESOLVED)
		tell_unresolved(w);
	explain_line(e);
	explain_put(e, "  ");
	explain_time(e, w->thread->created);
	if (w->thread->flags & MPROF_THREAD_PREEXISTING) {
		explain_put(e, "  was there before");
	} else if (w->thread->creator == MPROF_NONE ||
		   (explain_thread(e, w->thread->creator)->flags & MPROF_THREAD_ROOT)) {
		explain_put(e, "  was created");
	} else {
		explain_put(e, "  was created by ");
		explain_who(e, w->thread->creator, w->thread->created);
	}
	explain_line(e);
}

static void tell_chain(const struct why_text *w)
{
	uint64_t links = (uint64_t)w->a->links + w->a->cycle, i;
	uint32_t thread = w->a->thread;
	const struct mprof_interaction *link;

	for (i = 0; i < links && i < MPROF_EXPLANATION_LINKS; i++) {
		const char *does = i && why_is_lock(explain_thread(w->e, thread)) ? "  which is held by "
				   : i						  ? "  which waits on "
										  : "  waits on ";

		link = interaction(w, mprof_why_link(w->e->why, thread));
		thread = mprof_why_final(w->e->why, link->other);
		explain_put(w->e, "  ");
		explain_time(w->e, link->time);
		explain_put(w->e, "%s", does);
		explain_who(w->e, thread, link->time);
		explain_line(w->e);
	}
	if (links > i) {
		explain_put(w->e, "  and so on over %" PRIu64 " threads", links - i);
		explain_line(w->e);
	}
}

/* End a sentence: no signal came from the wait to the end of the trace. */
static void tell_no_later(const struct why_text *w)
{
	if (w->a->since < w->a->end) {
		explain_put(w->e, "and no signal came in the ");
		explain_span(w->e, w->a->since, w->a->end);
		explain_put(w->e, " from then to the end of the trace.");
	} else {
		explain_put(w->e, "where the trace ends.");
	}
	explain_line(w->e);
}

static void say_missed_signal(const struct why_text *w)
{
	const struct mprof_interaction *lost = interaction(w, w->a->lost_signal);

	explain_put(w->e, "missed wake-up: ");
	explain_who(w->e, w->a->condition, w->a->since);
	explain_put(w->e, " was signalled by ");
	tell_signal(w, w->a->lost_signal);
	explain_put(w->e, ", when nobody waited for it. ");
	explain_who(w->e, w->a->waiter, w->a->since);
	explain_put(w->e, " began to wait at ");
	explain_time(w->e, w->a->since);
	explain_put(w->e, ", ");
	explain_span(w->e, lost->time, w->a->since);
	explain_put(w->e, " too late, ");
	tell_no_later(w);
	if (w->a->lost_signals > 1) {
		explain_put(w->e, "It was the last of %" PRIu32 " signals in a row that nobody waited for.",
			    w->a->lost_signals);
		explain_line(w->e);
	}
}

/* Return whether the trace may lack a wait that the last signal, for which nobody waited, has ended. */
static bool hides_wait(const struct why_text *w)
{
	return why_lacks_wait(w->e->why, w->a->condition, interaction(w, w->a->lost_signal)->time);
}

/* Append the number of the last signals, for which nobody waited, and the last of them. */
static void tell_unheard(const struct why_text *w)
{
	if (w->a->lost_signals == 1)
		explain_put(w->e, "the last signal, by ");
	else
		explain_put(w->e, "the last %" PRIu32 " signals, the last one by ", w->a->lost_signals);
	tell_signal(w, w->a->lost_signal);
	explain_put(w->e, ", came while %s for %s", hides_wait(w) ? "the trace has no wait" : "nobody waited",
		    w->a->lost_signals == 1 ? "it" : "them");
}

static void say_idle_or_missed(const struct why_text *w)
{
	const struct mprof_thread *condition = explain_thread(w->e, w->a->condition);

	explain_who(w->e, w->a->condition, w->a->since);
	explain_put(w->e, " is waited for since ");
	explain_time(w->e, w->a->since);
	explain_put(w->e, ", ");
	tell_no_later(w);
	if (why_is_lock(condition)) {
		tell_unheard(w);
		explain_put(w->e, ". A %s keeps a signal: another thread took it unseen, or it was initialised again.",
			    condition->type == MPROF_THREAD_Mutex ? "mutex" : "semaphore");
	} else {
		explain_put(w->e, "idle, or missed: ");
		tell_unheard(w);
		explain_put(w->e, ". The trace does not say whether ");
		explain_who(w->e, w->a->waiter == w->a->root ? w->a->thread : w->a->waiter, w->a->since);
		explain_put(w->e,
			    w->a->lost_signals == 1 ? " has seen what it was for." : " has seen what they were for.");
	}
	explain_line(w->e);
}

static void tell_root_resolution(const struct why_text *w)
{
	explain_put(w->e, " was resolved by ");
	tell_resolver(w, w->a->root);
}

static void say_missed_resolution(const struct why_text *w)
{
	explain_put(w->e, "missed wake-up: ");
	tell_root(w);
	tell_root_resolution(w);
	explain_put(w->e, ", before it was looked at, and nobody has read it since.");
	explain_line(w->e);
}

static bool covers(const struct mprof_coverage *c)
{
	return c->hole == MPROF_HOLE_NONE;
}

/* End a sentence: the trace does not have what would have ended the wait, and may lack it. */
static void tell_no_end(const struct why_text *w)
{
	if (w->a->holder == w->a->root) {
		explain_put(w->e, ", and the trace has no release of ");
		explain_who(w->e, w->a->held, w->a->since);
	} else {
		explain_put(w->e, ", and the trace has no run of what waits on it since then");
	}
	explain_put(w->e, ". It would not be here");
	explain_hole(w->e, &w->a->since_coverage, UINT64_MAX);
	explain_put(w->e, ".");
}

static void say_not_woken(const struct why_text *w)
{
	tell_root(w);
	tell_root_resolution(w);
	if (!covers(&w->a->since_coverage)) {
		tell_no_end(w);
	} else {
		explain_put(w->e, ", and what waits on it has not run since, up to ");
		explain_time(w->e, w->a->end);
		explain_put(w->e, ".");
	}
	explain_line(w->e);
}

static void say_holder_ended(const struct why_text *w)
{
	explain_who(w->e, w->a->held, w->a->since);
	explain_put(w->e, " is not released: its holder ");
	tell_root(w);
	if (is_looked(w)) {
		struct mprof_why_state s;

		mprof_why_state(w->e->why, w->a->root, 0, &s);
		explain_put(w->e, " had ended by ");
		explain_time(w->e, s.from);
		explain_put(w->e, ", as a thread of this process or of the one that forked it.");
	} else {
		explain_put(w->e, " ended at ");
		explain_time(w->e, w->root->end);
		explain_put(w->e, " without releasing it.");
	}
	explain_line(w->e);
}

/* Append that the root is unresolved in the last look: since when is unknown. */
static void tell_looked(const struct why_text *w)
{
	tell_root(w);
	if (why_is_thread(w->e->why, w->a->root)) {
		explain_put(w->e, " had not ended at ");
		explain_time(w->e, w->a->end);
		explain_put(w->e, ", where the trace ends");
		return;
	}
	explain_put(w->e, w->a->condition == w->a->root ? " is waited for at " : " is unresolved at ");
	explain_time(w->e, w->a->end);
	explain_put(w->e, ", where the trace ends; since when is not in the trace");
}

/*
 * Append the root, the condition that must be signalled to resolve it, and how long it has been
 * waited for.
 */
static void tell_waits(const struct why_text *w)
{
	uint32_t condition = w->a->condition;

	if (is_looked(w)) {
		tell_looked(w);
		return;
	}
	tell_root(w);
	if (condition != MPROF_NONE && !(explain_thread(w->e, condition)->flags & MPROF_THREAD_ROOT) &&
	    condition != w->a->root) {
		explain_put(w->e, " waits for a signal of ");
		explain_who(w->e, condition, w->a->since);
		explain_put(w->e, " since ");
	} else {
		explain_put(w->e, " is unresolved since ");
	}
	explain_time(w->e, w->a->since);
	if (w->a->since >= w->a->end) {
		explain_put(w->e, ", where the trace ends");
		return;
	}
	explain_put(w->e, ", for the ");
	explain_span(w->e, w->a->since, w->a->end);
	explain_put(w->e, " to the end of the trace");
}

/* Append the name of the event that would end the wait, in the singular. */
static void tell_awaited(const struct why_text *w)
{
	uint32_t condition = w->a->condition;
	uint8_t type = condition == MPROF_NONE ? MPROF_THREAD_UNKNOWN : explain_thread(w->e, condition)->type;

	explain_put(w->e, condition == MPROF_NONE	   ? "resolution"
			  : type == MPROF_THREAD_Mutex	   ? "release"
			  : type == MPROF_THREAD_Semaphore ? "post"
							   : "signal");
}

/*
 * Append a sentence that names the hole C of A: why an event, or an earlier one, can be missing from the
 * trace.
 */
static void tell_hole(const struct why_text *w, const struct mprof_coverage *c)
{
	explain_put(w->e, c == &w->a->before_coverage ? " An earlier " : " Another ");
	tell_awaited(w);
	explain_put(w->e, " would not be here");
	if (c->hole == MPROF_HOLE_KIND)
		explain_put(w->e, " if nobody waited for it: the recorder does not write that");
	else
		explain_hole(w->e, c, w->a->since);
	explain_put(w->e, ".");
}

static void say_signalled_since(const struct why_text *w)
{
	tell_waits(w);
	if (w->a->signals_since == 1)
		explain_put(w->e, ". Signalled once since, by ");
	else
		explain_put(w->e, ". Signalled %" PRIu32 " times since, the first time by ", w->a->signals_since);
	tell_signal(w, w->a->first_signal_since);
	if (covers(&w->a->since_coverage)) {
		explain_put(w->e, ", it was still not resolved.");
	} else {
		explain_put(w->e, ", and the trace has no resolution of it. It would not be here");
		explain_hole(w->e, &w->a->since_coverage, UINT64_MAX);
		explain_put(w->e, ".");
	}
	explain_line(w->e);
}

/* Append the last signal before the wait. */
static void tell_last_signal(const struct why_text *w)
{
	explain_put(w->e, covers(&w->a->before_coverage) ? "; the last one before, by "
							 : "; the last one that the trace has, by ");
	tell_signal(w, w->a->last_signal);
	if (w->a->lost_signal != MPROF_NONE)
		explain_put(w->e, ", came when %s for it", hides_wait(w) ? "the trace has no wait" : "nobody waited");
	else
		explain_put(w->e, why_is_lock(explain_thread(w->e, w->a->condition))
					  ? ", was taken by a thread"
					  : ", came while a thread waited for it");
}

/* Append the label of the far end. */
static void tell_far_label(const struct why_text *w)
{
	uint32_t label = mprof_why_label(w->e->why, w->a->far_end, UINT64_MAX);

	if (label == MPROF_NONE)
		explain_who(w->e, w->a->far_end, w->a->end);
	else
		explain_quote(w->e, w->e->view->labels[label].text);
}

/* Append the process that has the far end of the wait, and what its main thread waits for. */
static void tell_far_process(const struct why_text *w)
{
	uint32_t main = w->a->far_main, link = main == MPROF_NONE ? MPROF_NONE : mprof_why_link(w->e->why, main);

	explain_who(w->e, w->a->far_process, w->a->end);
	if (main == MPROF_NONE) {
		explain_put(w->e, ", whose events are not in this trace");
	} else if (link != MPROF_NONE) {
		explain_put(w->e, ", whose main thread ");
		explain_who(w->e, main, w->a->end);
		explain_put(w->e, " waits on ");
		explain_who(w->e, interaction(w, link)->other, w->a->end);
		explain_put(w->e, " since ");
		explain_time(w->e, interaction(w, link)->time);
	}
	explain_put(w->e, ".");
}

/* Append where the far end of the wait is. */
static void tell_far_end(const struct why_text *w)
{
	const struct mprof_why_answer *a = w->a;

	explain_put(w->e, ". At ");
	explain_time(w->e, a->far_found);
	if (a->far_process == a->far_end) {
		explain_put(w->e, " it waited for the end of ");
		tell_far_process(w);
		return;
	}
	if (explain_thread(w->e, a->far_end)->creator == a->root) {
		explain_put(w->e, " it watched ");
		tell_far_label(w);
		explain_put(w->e, ".");
		return;
	}
	explain_put(w->e, " its other end was ");
	tell_far_label(w);
	if (a->far_process != MPROF_NONE) {
		explain_put(w->e, " of ");
		tell_far_process(w);
	} else if (!a->far_here) {
		explain_put(w->e, ", whose events are not in this trace.");
	} else if (a->far_user != MPROF_NONE) {
		explain_put(w->e, " of this process, at which ");
		explain_who(w->e, a->far_user, a->end);
		explain_put(w->e, " waits, too.");
	} else {
		explain_put(w->e, " of this process.");
	}
}

/* Say that the other end of the wait is not in this trace, or where it is. */
static void say_elsewhere(const struct why_text *w)
{
	tell_waits(w);
	if (w->a->far_end != MPROF_NONE)
		tell_far_end(w);
	else
		explain_put(w->e,
			    w->a->condition == MPROF_NONE
				    ? ". The other end is not in this trace: it waits for a time, a signal of the "
				      "system, another process or one of several descriptors."
				    : ". The other end is not in this trace: what makes it ready is not recorded.");
	explain_line(w->e);
}

static void say_never_signalled(const struct why_text *w)
{
	const struct mprof_coverage *since = &w->a->since_coverage, *before = &w->a->before_coverage;

	if (w->a->elsewhere) {
		say_elsewhere(w);
		return;
	}
	tell_waits(w);
	if (is_looked(w)) {
		explain_put(w->e, ". No cause can be told: a ");
		tell_awaited(w);
		explain_put(w->e, " before the look would not be here.");
		explain_line(w->e);
		return;
	}
	explain_put(w->e, covers(since) ? ". None came" : ". The trace has none");
	if (w->a->signals)
		tell_last_signal(w);
	else if (covers(since) && covers(before))
		explain_put(w->e, ", nor any before");
	else
		explain_put(w->e, " since then");
	explain_put(w->e, ".");
	if (!covers(since))
		tell_hole(w, since);
	else if (!covers(before) && !w->a->signals)
		tell_hole(w, before);
	explain_line(w->e);
}

/* Say that the holder of the lock is no thread of the program. */
static void say_outside(const struct why_text *w)
{
	explain_who(w->e, w->a->held, w->a->since);
	explain_put(w->e, " is held by ");
	tell_root(w);
	explain_put(w->e, is_looked(w) ? ", which is no thread of this process: it ended, fork left it behind in the "
					 "parent process, or another process shares the lock."
				       : ", which is no thread of this process: fork left it behind in the parent "
					 "process, or another process shares the lock.");
	explain_line(w->e);
}

static void say_never_resolved(const struct why_text *w)
{
	if (w->a->outside && w->a->holder == w->a->root) {
		say_outside(w);
		return;
	}
	if (w->a->elsewhere) {
		say_elsewhere(w);
		return;
	}
	tell_waits(w);
	if (is_looked(w)) {
		explain_put(w->e, ".");
	} else if (covers(&w->a->since_coverage)) {
		explain_put(w->e, ", and nothing has resolved it.");
	} else {
		explain_put(w->e, ", and the trace has no resolution of it.");
		tell_hole(w, &w->a->since_coverage);
	}
	explain_line(w->e);
}

static void say_circle(const struct why_text *w)
{
	if (w->a->holder != MPROF_NONE) {
		explain_put(w->e, "deadlock: ");
		explain_who(w->e, w->a->holder, w->a->since);
		explain_put(w->e, " waits for itself: it holds ");
		explain_who(w->e, w->a->held, w->a->since);
		explain_put(w->e, " already.");
		explain_line(w->e);
		return;
	}
	explain_put(w->e, "deadlock: each thread of this cycle waits for the next; it comes back to ");
	tell_root(w);
	explain_put(w->e, ".");
	explain_line(w->e);
}

static void (*const verdicts[])(const struct why_text *w) = {
	[MPROF_WHY_RESOLVED] = tell_resolved,
	[MPROF_WHY_MISSED_SIGNAL] = say_missed_signal,
	[MPROF_WHY_MISSED_RESOLVE] = say_missed_resolution,
	[MPROF_WHY_NOT_WOKEN] = say_not_woken,
	[MPROF_WHY_SIGNALLED_SINCE] = say_signalled_since,
	[MPROF_WHY_NEVER_SIGNALLED] = say_never_signalled,
	[MPROF_WHY_NEVER_RESOLVED] = say_never_resolved,
	[MPROF_WHY_CYCLE] = say_circle,
	[MPROF_WHY_IDLE_OR_MISSED] = say_idle_or_missed,
	[MPROF_WHY_HOLDER_ENDED] = say_holder_ended,
};

/*
 * Append the threads that could have resolved the root: the sender of the lost signal, and the
 * resolver of a similar thread.
 */
static void tell_helpers(const struct why_text *w)
{
	if (w->a->verdict == MPROF_WHY_MISSED_SIGNAL) {
		explain_put(w->e, "could have resolved it: ");
		explain_who(w->e, interaction(w, w->a->lost_signal)->thread, interaction(w, w->a->lost_signal)->time);
		explain_put(w->e, ", by a signal after that time");
		explain_line(w->e);
	}
	if (w->a->similar != MPROF_NONE) {
		explain_put(w->e, "the last one like it, ");
		explain_who(w->e, w->a->similar, UINT64_MAX);
		explain_put(w->e, ", was resolved by ");
		explain_who_when(w->e, explain_thread(w->e, w->a->similar)->resolver,
				 explain_thread(w->e, w->a->similar)->end);
		explain_line(w->e);
	}
	if ((w->root->flags & MPROF_THREAD_PREEXISTING) && !w->a->outside) {
		explain_put(w->e, "it is older than the trace: its history before the trace is unknown");
		explain_line(w->e);
	}
}

/* Say what the thread at the end of the chain did, or that the asked thread was stopped, if samples of them say so. */
static void tell_states(const struct why_text *w)
{
	struct mprof_why_state s;
	uint32_t thread = why_state_of_answer(w->e->why, w->a, &s);

	if (thread == MPROF_NONE)
		return;
	explain_put(w->e, "  ");
	explain_who(w->e, thread, s.to);
	explain_state(w->e, &s);
	explain_line(w->e);
}

static void tell_why(struct mprof_explanation *e, uint32_t thread)
{
	struct mprof_why_answer a;
	struct why_text w = {.e = e, .a = &a};

	mprof_why_ask(e->why, thread, &a);
	w.thread = explain_thread(e, a.thread);
	w.root = explain_thread(e, a.root);
	tell_title(&w, thread);
	if (a.verdict == MPROF_WHY_RESOLVED)
		tell_waited(&w);
	else
		tell_chain(&w);
	verdicts[a.verdict](&w);
	if (a.verdict != MPROF_WHY_RESOLVED) {
		explain_vcpus(e, w.thread->stream, a.since, a.end);
		tell_states(&w);
		tell_helpers(&w);
	}
}

enum mprof_status mprof_explanation_why(struct mprof_explanation *e, uint32_t thread)
{
	if (thread >= e->view->n_threads)
		return MPROF_CORRUPT;
	explain_begin(e);
	tell_why(e, thread);
	return explain_end(e);
}

/* Return the number of threads of the chain of THREAD that wait, or should resolve; no locks, conditions and places. */
static uint32_t count_chain(const struct mprof_explanation *e, uint32_t thread)
{
	struct mprof_why_answer a;
	uint32_t n = 0, t;

	mprof_why_ask(e->why, thread, &a);
	t = a.thread;
	for (uint64_t i = 0; i < (uint64_t)a.links + a.cycle; i++) {
		n += why_is_thread(e->why, t);
		t = why_next(e->why, t);
	}
	return n + (!a.cycle && why_is_thread(e->why, t) && !why_resolved(e->why, t) &&
		    (explain_thread(e, t)->flags & MPROF_THREAD_SHOULD_RESOLVE));
}

enum mprof_status mprof_explanation_group(struct mprof_explanation *e, const struct mprof_waits_group *group)
{
	uint32_t told;

	if (group->thread >= e->view->n_threads)
		return MPROF_CORRUPT;
	explain_begin(e);
	tell_why(e, group->thread);
	told = count_chain(e, group->thread);
	if (group->threads > told) {
		explain_put(e,
			    group->threads - told == 1 ? "1 more thread waits for the same, or behind it"
						       : "%" PRIu32 " more threads wait for the same, or behind it",
			    group->threads - told);
		explain_line(e);
	}
	return explain_end(e);
}

/* Return the latest end of the streams of STREAM's guest, ns. */
static uint64_t end_of(const struct mprof_explanation *e, uint32_t stream)
{
	uint64_t end = e->view->streams[stream].end;

	for (uint32_t i = 0; i < e->view->n_streams; i++)
		if (e->view->streams[i].guest == e->view->streams[stream].guest && e->view->streams[i].end > end)
			end = e->view->streams[i].end;
	return end;
}

/*
 * Name a thread of STREAM's guest, other than LAST, that had not stopped to run when its ring's last event came. Its name is the one
 * that it has at END, ns: it may have got it while it ran. Return the thread, or MPROF_NONE.
 */
static uint32_t tell_running(struct mprof_explanation *e, uint32_t stream, uint32_t last, uint64_t end)
{
	for (uint32_t i = 0; i < e->view->n_streams; i++) {
		const struct mprof_model_stream *s = &e->view->streams[i];

		if (s->guest != e->view->streams[stream].guest || s->running == MPROF_NONE || s->running == s->root ||
		    s->running == last)
			continue;
		explain_put(e, "; ");
		explain_who(e, s->running, end);
		explain_put(e, " ran from ");
		explain_time(e, s->since);
		explain_put(e, " and had not stopped");
		return s->running;
	}
	return MPROF_NONE;
}

/* Say what THREAD did by its samples S: that the program was stopped, or else THREAD; NAMED is the thread that the sentence named last. */
static void tell_program(struct mprof_explanation *e, uint32_t thread, const struct mprof_why_state *s, uint32_t named)
{
	explain_put(e, "; ");
	if (s->kind == MPROF_STATE_stopped)
		explain_put(e, "the program");
	else if (thread == named)
		explain_put(e, "it");
	else
		explain_who(e, thread, s->to);
	explain_state(e, s);
}

/* Say what the program did, if it was only looked at from outside; the trace ends at END. */
static void tell_look(struct mprof_explanation *e, uint32_t stream, uint64_t end)
{
	struct mprof_why_state s;
	uint32_t thread = mprof_why_program_state(e->why, stream, &s);

	if (thread == MPROF_NONE) {
		explain_put(e, "the trace does not tell which thread ran; it ends at ");
	} else {
		if (s.kind == MPROF_STATE_stopped)
			explain_put(e, "the program");
		else
			explain_who(e, thread, s.to);
		explain_state(e, &s);
		explain_put(e, "; the trace ends at ");
	}
	explain_time(e, end);
}

/* Say what the program did after the thread LAST ran, the last one that its rings have; the trace ends at END. */
static void tell_awake(struct mprof_explanation *e, uint32_t stream, uint32_t last, uint64_t end)
{
	struct mprof_why_state s;
	uint32_t thread = mprof_why_program_state(e->why, stream, &s), named = last;

	if (thread == MPROF_NONE || s.kind == MPROF_STATE_runs || s.kind == MPROF_STATE_stopped)
		named = tell_running(e, stream, last, end);
	if (thread != MPROF_NONE)
		tell_program(e, thread, &s, named);
	explain_put(e, "; the trace ends at ");
}

static void tell_last(struct mprof_explanation *e, uint32_t stream, const struct mprof_activation *a)
{
	uint64_t end = end_of(e, stream), asleep = mprof_coverage_asleep(e->view, stream);
	struct mprof_why_state s;

	explain_who(e, a->thread, a->end);
	explain_put(e, " ran from ");
	explain_time(e, a->start);
	explain_put(e, " to ");
	explain_time(e, a->end);
	if (asleep >= end) {
		tell_awake(e, stream, a->thread, end);
	} else if (mprof_why_program_state(e->why, stream, &s) != MPROF_NONE && s.kind == MPROF_STATE_stopped) {
		tell_program(e, MPROF_NONE, &s, MPROF_NONE);
		explain_put(e, "; the trace ends at ");
	} else {
		explain_put(e, ", then the program slept for ");
		explain_span(e, asleep, end);
		explain_put(e, ", to the end of the trace at ");
	}
	explain_time(e, end);
}

enum mprof_status mprof_explanation_last(struct mprof_explanation *e, uint32_t stream)
{
	uint32_t last;

	if (stream >= e->view->n_streams)
		return MPROF_CORRUPT;
	explain_begin(e);
	explain_put(e, "last");
	if (e->streams && e->guests > 1) {
		explain_put(e, " of ");
		explain_name(e, stream);
	}
	explain_put(e, ": ");
	last = mprof_why_last(e->why, stream, true);
	if (last == MPROF_NONE && (e->view->streams[stream].declares & MPROF_DECLARES_LOOKED))
		tell_look(e, stream, end_of(e, stream));
	else if (last == MPROF_NONE)
		explain_put(e, "no thread ran");
	else
		tell_last(e, stream, &e->view->activations[last]);
	explain_line(e);
	return explain_end(e);
}
