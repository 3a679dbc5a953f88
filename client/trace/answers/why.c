/*
 * Answers: the end of a thread's chain, and why it was never resolved.
 *
 * In a trace, a condition runs for a moment and creates the thread to wait on. mirage-profile
 * writes a signal of the waiting thread directly before that, which the model marks with
 * MPROF_INTERACTION_BEGINS_WAIT; other recorders write no such signal. Any other signal is a
 * wake-up. A wake-up is lost if no thread waits at that time, which is so when all threads that the
 * condition has created are resolved. A wait that begins after a lost wake-up, with no other
 * wake-up between, has missed it, if the waiting thread cannot have known of that wake-up. If there were several
 * waits or several wake-ups, a worker may have found the work of the last wake-up, and now be idle.
 *
 * In a trace of an unchanged program a place in the code creates the wait, and the wait tries to
 * read the condition: such a wait counts as one that the condition has created.
 *
 * A semaphore or mutex keeps a wake-up for the next thread. When a thread takes a kept wake-up, the
 * recorder lets the condition itself create and resolve a thread. Such a wake-up was not lost, and nobody
 * misses a wake-up that is kept.
 */
#include <mprof/ids.h>

#include "why-index.h"

static bool is_condition(const struct mprof_thread *t)
{
	return t->type == MPROF_THREAD_Condition || t->type == MPROF_THREAD_Semaphore ||
	       t->type == MPROF_THREAD_Stream || t->type == MPROF_THREAD_Mutex;
}

/*
 * Return the condition that must be signalled to resolve ROOT, or MPROF_NONE. The type of a thread
 * that existed before the trace is unknown: such a thread counts as a condition if there are
 * signals to it.
 */
static uint32_t condition_of(const struct mprof_why *w, uint32_t root)
{
	const struct mprof_thread *t = &w->view->threads[root], *creator;
	uint32_t n;

	if (is_condition(t))
		return root;
	if (t->creator == MPROF_NONE)
		return MPROF_NONE;
	creator = &w->view->threads[t->creator];
	if (creator->flags & MPROF_THREAD_ROOT)
		return MPROF_NONE;
	if (is_condition(creator))
		return t->creator;
	buckets_of(&w->signals, t->creator, &n);
	return creator->type == MPROF_THREAD_UNKNOWN && n ? t->creator : MPROF_NONE;
}

static bool keeps_signals(const struct mprof_thread *t)
{
	return t->type == MPROF_THREAD_Semaphore || t->type == MPROF_THREAD_Mutex;
}

static void count_signals(const struct mprof_why *w, struct mprof_why_answer *a)
{
	struct signal_count count;

	signal_index_count(w, a->condition, a->since, &count);
	a->signals = count.all;
	a->last_signal = count.last;
	a->signals_since = count.since;
	a->first_signal_since = count.first;
	a->lost_signals = count.unheard;
	a->lost_signal = count.lost;
}

/*
 * Return the last resolved thread that is similar to ROOT (struct mprof_why_answer), or MPROF_NONE:
 * that thread's resolver could have resolved ROOT.
 */
static uint32_t similar_to(const struct mprof_why *w, uint32_t root)
{
	const struct mprof_thread *threads = w->view->threads, *t = &threads[root];
	const uint32_t *list;
	uint32_t n;

	list = buckets_of(&w->labels, root, &n);
	if (n)
		return w->similar[w->view->labels[list[0]].text];
	if (t->creator == MPROF_NONE || (threads[t->creator].flags & MPROF_THREAD_ROOT))
		return MPROF_NONE;
	return pair_index_last(&w->siblings, t->creator, t->type);
}

/* Return the time at which the last thread of the chain began to wait on the root. */
static uint64_t last_look(const struct mprof_why *w, const struct mprof_why_answer *a)
{
	uint32_t thread = a->thread;
	uint64_t time = w->view->threads[a->root].created;

	for (uint32_t i = 0; i < a->links; i++) {
		time = w->view->interactions[w->link[thread]].time;
		thread = why_next(w, thread);
	}
	return time;
}

/* Return the thread of the chain before the root that is no wait of a place; the root if there is none. */
static uint32_t last_waiter(const struct mprof_why *w, const struct mprof_why_answer *a)
{
	uint32_t thread = a->thread, waiter = a->root;

	for (uint32_t i = 0; i < a->links; i++) {
		if (!why_at_place(w, thread))
			waiter = thread;
		thread = why_next(w, thread);
	}
	return waiter;
}

/* Return the thread of the chain that waits on the root itself, or the root if none does. */
static uint32_t last_link(const struct mprof_why *w, const struct mprof_why_answer *a)
{
	uint32_t thread = a->thread;

	for (uint32_t i = 1; i < a->links; i++)
		thread = why_next(w, thread);
	return thread;
}

bool why_lacks_wait(const struct mprof_why *w, uint32_t condition, uint64_t to)
{
	const struct mprof_thread *t = &w->view->threads[condition];
	struct mprof_coverage hole;

	if (t->flags & MPROF_THREAD_PREEXISTING)
		return true;
	coverage_losses(w->view, &w->coverage, t->stream, t->created, to, &hole);
	return hole.hole != MPROF_HOLE_NONE;
}

/* Return whether no other wait for a signal of the condition in A has begun, of any thread. */
static bool is_only_wait(const struct mprof_why *w, const struct mprof_why_answer *a)
{
	uint32_t n;

	buckets_of(&w->made, a->condition, &n);
	return n <= 1 && !why_lacks_wait(w, a->condition, a->since);
}

/*
 * Return whether the thread that waits in A cannot have known of the lost signal. A recorder that knows the mutexes
 * says so (schema/mprof/events.def). For a wait of another recorder, return whether it is the only wait for the
 * condition, and one signal came. If several threads wait for work, or several signals came while none waited, all
 * work may be done.
 */
static bool is_surely_missed(const struct mprof_why *w, const struct mprof_why_answer *a)
{
	uint32_t wait = last_link(w, a);
	uint64_t time = w->view->interactions[a->lost_signal].time;

	if (!why_at_place(w, wait))
		return a->lost_signals == 1 && is_only_wait(w, a);
	return pair_index_last(&w->missed, wait, time) != MPROF_NONE;
}

/* Return the verdict on a wait for a signal. */
static enum mprof_why_verdict judge_signals(const struct mprof_why *w, const struct mprof_why_answer *a)
{
	if (a->signals_since)
		return MPROF_WHY_SIGNALLED_SINCE;
	if (a->lost_signal == MPROF_NONE || a->since_coverage.hole != MPROF_HOLE_NONE)
		return MPROF_WHY_NEVER_SIGNALLED;
	if (keeps_signals(&w->view->threads[a->condition]) || !is_surely_missed(w, a))
		return MPROF_WHY_IDLE_OR_MISSED;
	return MPROF_WHY_MISSED_SIGNAL;
}

/*
 * Find out whether the holder in A is no thread of the program: no ring has its creation, and none can lack it. If a ring
 * can, store the hole as the one in which the end of the wait can be: nothing is known of the holder.
 */
static void find_outside(const struct mprof_why *w, struct mprof_why_answer *a)
{
	const struct mprof_thread *t = &w->view->threads[a->holder];
	struct mprof_coverage coverage;

	if (why_is_looked(w, a->holder)) {
		a->outside = t->type == MPROF_THREAD_UNKNOWN;
		return;
	}

	if (t->type != MPROF_THREAD_UNKNOWN || !(t->flags & MPROF_THREAD_PREEXISTING) ||
	    t->first_activation != MPROF_NONE || t->first_interaction != MPROF_NONE ||
	    !(w->view->streams[t->stream].declares & MPROF_DECLARES_KINDS))
		return;
	coverage_ask(w->view, &w->coverage, t->stream, MPROF_COVERAGE_RESOLVE, 0, a->end, a->end, &coverage);
	a->outside = coverage.hole == MPROF_HOLE_NONE;
	if (!a->outside && a->since_coverage.hole == MPROF_HOLE_NONE && a->holder == a->root)
		a->since_coverage = coverage;
}

/* Return whether the root of A holds a lock, and had ended when its writer looked. */
static bool had_ended(const struct mprof_why *w, const struct mprof_why_answer *a)
{
	struct mprof_why_state s;

	return a->links && a->holder == a->root && why_is_looked(w, a->root) && mprof_why_state(w, a->root, 0, &s) &&
	       s.kind == MPROF_STATE_ended;
}

/* Find the last lock of the chain, before the cycle, that waits on its holder. */
static void find_holder(const struct mprof_why *w, struct mprof_why_answer *a)
{
	uint32_t thread = a->thread;

	for (uint32_t i = 0; i < a->links; i++, thread = why_next(w, thread)) {
		if (!why_is_lock(&w->view->threads[thread]))
			continue;
		a->held = thread;
		a->holder = why_next(w, thread);
	}
}

/*
 * If the cycle has one thread that waits and locks of that thread, the thread waits for itself: store it as the
 * holder. A wait of a place in the code is part of the thread's own wait.
 */
static void find_self(const struct mprof_why *w, struct mprof_why_answer *a)
{
	uint32_t thread = a->root, held = MPROF_NONE, holder = MPROF_NONE;

	for (uint32_t i = 0; i < a->cycle; i++, thread = why_next(w, thread)) {
		if (why_is_lock(&w->view->threads[thread]))
			held = thread;
		else if (!why_at_place(w, thread) && holder != MPROF_NONE)
			return;
		else if (!why_at_place(w, thread))
			holder = thread;
	}
	if (held == MPROF_NONE || holder == MPROF_NONE)
		return;
	a->held = held;
	a->holder = holder;
}

/*
 * Store in A the hole of STREAM from FROM on: a missing packet; or a clock that went back, if the order of SEVERAL rings counts, or
 * if the ring lacks packets, which may be behind FROM by the order alone.
 */
static void find_ring_hole(const struct mprof_why *w, struct mprof_why_answer *a, uint32_t stream, uint64_t from,
			   bool several)
{
	const struct mprof_model_stream *s = &w->view->streams[stream];
	uint32_t gap = coverage_index_gap(&w->coverage, stream, from, a->end);
	bool order = several || coverage_index_gap(&w->coverage, stream, 0, UINT64_MAX) != MPROF_NONE;

	if (order && s->back_to && s->back_to >= from)
		a->since_coverage = (struct mprof_coverage){
			.hole = MPROF_HOLE_CLOCK, .stream = stream, .from = s->back_from, .to = s->back_to};
	else if (gap != MPROF_NONE)
		a->since_coverage = (struct mprof_coverage){.hole = MPROF_HOLE_GAP,
							    .stream = stream,
							    .from = w->view->gaps[gap].from,
							    .to = w->view->gaps[gap].to};
}

/* Rings in which the waits of a cycle can end. */
struct cycle_rings {
	uint64_t from; /* time of the first wait, ns */
	uint32_t one;  /* one of them */
	bool own;      /* each thread has a ring of its own, which would say that the thread runs again */
	bool several;
};

/* Add THREAD, one of a cycle, to R. A wait of a place is in the ring of the thread that waits. */
static void add_ring(const struct mprof_why *w, struct cycle_rings *r, uint32_t thread)
{
	uint32_t stream = w->view->threads[thread].stream;
	uint64_t time = w->view->interactions[w->link[thread]].time;

	r->from = time < r->from ? time : r->from;
	if (!why_at_place(w, thread)) {
		r->own = r->own && (why_is_lock(&w->view->threads[thread]) || why_at_place(w, why_next(w, thread)));
		return;
	}
	r->own = r->own && (w->view->streams[stream].declares & MPROF_WRITES_STOPS);
	r->several = r->several || (r->one != MPROF_NONE && r->one != stream);
	r->one = stream;
}

/*
 * Return whether a wait of the cycle in A may be over, and store that hole: a packet is missing since the first of them began,
 * or a clock went back, where the order of several rings tells who waits for whom. If each thread has its own ring, no other
 * ring counts.
 */
static bool find_cycle_hole(const struct mprof_why *w, struct mprof_why_answer *a)
{
	struct cycle_rings r = {.from = UINT64_MAX, .one = MPROF_NONE, .own = true};
	uint32_t thread = a->root, guest = w->view->streams[w->view->threads[a->root].stream].guest, n = 0;

	for (uint32_t i = 0; i < a->cycle; i++, thread = why_next(w, thread))
		add_ring(w, &r, thread);
	for (uint32_t i = 0; r.own && i < a->cycle; i++, thread = why_next(w, thread))
		if (why_at_place(w, thread))
			find_ring_hole(w, a, w->view->threads[thread].stream, r.from, r.several);
	if (r.own)
		return a->since_coverage.hole != MPROF_HOLE_NONE;
	for (uint32_t i = 0; i < w->view->n_streams; i++)
		n += w->view->streams[i].guest == guest;
	for (uint32_t i = 0; i < w->view->n_streams; i++)
		if (w->view->streams[i].guest == guest)
			find_ring_hole(w, a, i, r.from, n > 1);
	return a->since_coverage.hole != MPROF_HOLE_NONE;
}

/* Return the kind of event that ends a wait for CONDITION, or that ended an earlier one if BEFORE. */
static enum mprof_coverage_kind kind_of(const struct mprof_why *w, uint32_t condition, bool before)
{
	if (condition == MPROF_NONE)
		return MPROF_COVERAGE_RESOLVE;
	switch (w->view->threads[condition].type) {
	case MPROF_THREAD_Semaphore:
	case MPROF_THREAD_Mutex:
		return before ? MPROF_COVERAGE_RELEASE : MPROF_COVERAGE_WAKE;
	case MPROF_THREAD_Stream:
		return MPROF_COVERAGE_INPUT;
	default:
		return MPROF_COVERAGE_SIGNAL;
	}
}

/* Return the time from which a signal before SINCE would be missing in A, ns. */
static uint64_t known_from(const struct mprof_why *w, const struct mprof_why_answer *a)
{
	const struct mprof_thread *t;

	if (a->signals > a->signals_since)
		return w->view->interactions[a->last_signal].time;
	t = &w->view->threads[a->condition == MPROF_NONE ? a->root : a->condition];
	return t->flags & MPROF_THREAD_PREEXISTING ? 0 : t->created;
}

/* Find out in A what an absent signal, or resolution, means. */
static void find_coverage(const struct mprof_why *w, struct mprof_why_answer *a)
{
	uint32_t stream = w->view->threads[a->condition == MPROF_NONE ? a->root : a->condition].stream;
	uint64_t from = a->lost_signal == MPROF_NONE ? a->since : w->view->interactions[a->lost_signal].time;

	coverage_ask(w->view, &w->coverage, stream, kind_of(w, a->condition, false), from, a->end, a->since,
		     &a->since_coverage);
	coverage_ask(w->view, &w->coverage, stream, kind_of(w, a->condition, true), known_from(w, a), a->since,
		     a->since, &a->before_coverage);
	if (a->condition == MPROF_NONE)
		a->elsewhere = why_at_place(w, a->root) && w->link[a->root] == MPROF_NONE &&
			       (w->view->streams[w->view->threads[a->thread].stream].declares & MPROF_DECLARES_KINDS);
	else
		a->elsewhere = kind_of(w, a->condition, false) == MPROF_COVERAGE_INPUT &&
			       a->since_coverage.hole == MPROF_HOLE_KIND;
}

/* Return the interaction by which the recorder last told the far end of ROOT, or MPROF_NONE. */
static uint32_t far_end_of(const struct mprof_why *w, uint32_t root)
{
	uint32_t far = MPROF_NONE;

	for (uint32_t i = w->view->threads[root].first_interaction; i != MPROF_NONE;
	     i = w->view->interactions[i].next) {
		const struct mprof_interaction *it = &w->view->interactions[i];

		if (!why_is_far_end(w, root, it->other))
			continue;
		if (it->kind == MPROF_INTERACTION_TRY_READ)
			far = i;
		else if (it->kind == MPROF_INTERACTION_READ)
			far = MPROF_NONE;
	}
	return far;
}

/* Find the other end of what the chain in A waits for, and who has that. */
static void find_far_end(const struct mprof_why *w, struct mprof_why_answer *a)
{
	const struct mprof_thread *threads = w->view->threads;
	uint32_t found = far_end_of(w, a->root), creator;

	if (found == MPROF_NONE)
		return;
	a->far_end = w->view->interactions[found].other;
	a->far_found = w->view->interactions[found].time;
	creator = threads[a->far_end].creator;
	if (threads[a->far_end].type == MPROF_THREAD_Process) {
		a->far_process = a->far_end;
	} else if (creator == MPROF_NONE || (threads[creator].flags & MPROF_THREAD_ROOT)) {
		return;
	} else if (threads[creator].type == MPROF_THREAD_Process) {
		a->far_process = creator;
	} else {
		a->far_here = true;
		a->far_user = creator == a->root ? MPROF_NONE : w->user[creator];
	}
	if (a->far_process != MPROF_NONE)
		a->far_main = why_main_thread(w, a->far_process);
}

/* Return whether the trace has that THREAD ran at or before TIME, ns: then its ring reaches back to that time. */
static bool ran_before(const struct mprof_why *w, uint32_t thread, uint64_t time)
{
	uint32_t first = w->view->threads[thread].first_activation;

	return first != MPROF_NONE && w->view->activations[first].start <= time;
}

/*
 * Find out in A, whose root is resolved, whether what would have ended the wait could be missing from the trace: an
 * event of KIND, from FROM on, in the ring of THREAD.
 */
static void find_end(const struct mprof_why *w, struct mprof_why_answer *a, enum mprof_coverage_kind kind,
		     uint64_t from, uint32_t thread)
{
	uint32_t stream = w->view->threads[a->root].stream;

	coverage_ask(w->view, &w->coverage, stream, kind, from, a->end, from, &a->since_coverage);
	if (a->since_coverage.hole == MPROF_HOLE_UNSAID ||
	    (a->since_coverage.hole == MPROF_HOLE_BEGIN && ran_before(w, thread, from)))
		coverage_losses(w->view, &w->coverage, stream, from, a->end, &a->since_coverage);
}

/* Give the verdict on a chain that ends at a resolved thread. */
static void judge_resolved(const struct mprof_why *w, struct mprof_why_answer *a)
{
	const struct mprof_thread *root = &w->view->threads[a->root];
	bool holder = a->links && a->holder == a->root;

	if (holder)
		find_end(w, a, MPROF_COVERAGE_WAKE, a->since, a->root);
	else
		find_end(w, a, MPROF_COVERAGE_READ, root->end, last_waiter(w, a));
	if (a->since_coverage.hole != MPROF_HOLE_NONE)
		a->verdict = MPROF_WHY_NOT_WOKEN;
	else if (holder)
		a->verdict = MPROF_WHY_HOLDER_ENDED;
	else
		a->verdict = root->end <= a->since ? MPROF_WHY_MISSED_RESOLVE : MPROF_WHY_NOT_WOKEN;
}

static void explain(const struct mprof_why *w, struct mprof_why_answer *a)
{
	const struct mprof_thread *root = &w->view->threads[a->root];

	a->since = last_look(w, a);
	if (is_condition(root))
		a->waiter = last_waiter(w, a);
	if (a->cycle) {
		if (find_cycle_hole(w, a))
			return;
		a->verdict = MPROF_WHY_CYCLE;
		find_self(w, a);
		return;
	}
	find_holder(w, a);
	if (why_resolved(w, a->root)) {
		judge_resolved(w, a);
		return;
	}
	if (had_ended(w, a)) {
		a->verdict = MPROF_WHY_HOLDER_ENDED;
		return;
	}
	a->similar = similar_to(w, a->root);
	if (a->similar != MPROF_NONE && why_end_is_unknown(w->view, a->similar))
		a->similar = MPROF_NONE;
	a->condition = condition_of(w, a->root);
	if (a->condition != a->root)
		a->since = root->created;
	if (a->condition != MPROF_NONE)
		count_signals(w, a);
	find_coverage(w, a);
	if (a->elsewhere)
		find_far_end(w, a);
	if (a->holder != MPROF_NONE)
		find_outside(w, a);
	if (a->condition == MPROF_NONE)
		return;
	a->verdict = judge_signals(w, a);
	/* That the wait goes on in spite of the signals is no matter of signals. */
	if (a->verdict == MPROF_WHY_SIGNALLED_SINCE)
		coverage_losses(w->view, &w->coverage, w->view->threads[a->root].stream, a->since, a->end,
				&a->since_coverage);
}

/* Return the latest end of the streams of STREAM's guest, ns. */
static uint64_t guest_end(const struct mprof_model_view *view, uint32_t stream)
{
	uint64_t end = 0;

	for (uint32_t i = 0; i < view->n_streams; i++)
		if (view->streams[i].guest == view->streams[stream].guest && view->streams[i].end > end)
			end = view->streams[i].end;
	return end;
}

void mprof_why_ask(const struct mprof_why *w, uint32_t thread, struct mprof_why_answer *answer)
{
	uint32_t final = w->final[thread];

	*answer = (struct mprof_why_answer){
		.thread = final,
		.root = w->root[final],
		.waiter = w->root[final],
		.links = final == w->root[final] ? 0 : w->depth[final],
		.cycle = w->depth[w->root[final]],
		.verdict = MPROF_WHY_NEVER_RESOLVED,
		.condition = MPROF_NONE,
		.lost_signal = MPROF_NONE,
		.first_signal_since = MPROF_NONE,
		.last_signal = MPROF_NONE,
		.similar = MPROF_NONE,
		.held = MPROF_NONE,
		.holder = MPROF_NONE,
		.far_end = MPROF_NONE,
		.far_process = MPROF_NONE,
		.far_main = MPROF_NONE,
		.far_user = MPROF_NONE,
		.end = guest_end(w->view, w->view->threads[final].stream),
	};
	if (why_resolved(w, final))
		answer->verdict = MPROF_WHY_RESOLVED;
	else
		explain(w, answer);
}

void mprof_why_unresolved(const struct mprof_why *w, uint32_t thread, struct mprof_coverage *coverage)
{
	coverage_unresolved(w->view, &w->coverage, thread, guest_end(w->view, w->view->threads[thread].stream),
			    coverage);
}

uint32_t mprof_why_final(const struct mprof_why *w, uint32_t thread)
{
	return w->final[thread];
}

uint32_t mprof_why_link(const struct mprof_why *w, uint32_t thread)
{
	return why_resolved(w, thread) ? MPROF_NONE : w->link[thread];
}

uint32_t mprof_why_label(const struct mprof_why *w, uint32_t thread, uint64_t time)
{
	uint32_t n, low = 0;
	const uint32_t *labels = buckets_of(&w->labels, thread, &n);

	if (!n && why_at_place(w, thread))
		labels = buckets_of(&w->labels, w->view->threads[thread].creator, &n);
	if (!n)
		return MPROF_NONE;
	for (uint32_t high = n; low < high;) {
		uint32_t middle = low + (high - low) / 2;

		if (w->view->labels[labels[middle]].time <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return labels[low ? low - 1 : 0];
}

uint32_t mprof_why_last(const struct mprof_why *w, uint32_t stream, bool awake)
{
	return w->last[awake ? w->view->n_streams + stream : stream];
}
