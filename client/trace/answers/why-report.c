/* Write the answer of `why` as JSON. Its keys are an interface: schema/answers/why.json and docs/man/mprofctl.1 list them. */
#include <mprof/why-report.h>

#include "answer-json.h"
#include "why-index.h"

/* Write the members of a moment: THREAD, if it has a name, and TIME. */
static void put_moment(const struct answer_trace *t, struct mprof_json *j, uint32_t thread, uint64_t time)
{
	if (answer_names(t, thread))
		answer_put_members(t, j, thread, time);
	mprof_json_time(j, "time_ns", time);
}

static void put_signal(const struct answer_trace *t, struct mprof_json *j, const char *key, uint32_t i)
{
	if (i == MPROF_NONE) {
		mprof_json_null(j, key);
		return;
	}
	mprof_json_open(j, key, '{');
	put_moment(t, j, t->view->interactions[i].thread, t->view->interactions[i].time);
	mprof_json_close(j, '}');
}

static void put_chain(const struct answer_trace *t, struct mprof_json *j, const struct mprof_why_answer *a)
{
	uint64_t links = (uint64_t)a->links + a->cycle;
	uint32_t thread = a->thread, link;

	mprof_json_open(j, "chain", '[');
	for (uint32_t i = 0; i < links && i < MPROF_EXPLANATION_LINKS; i++) {
		link = mprof_why_link(t->why, thread);
		thread = mprof_why_final(t->why, t->view->interactions[link].other);
		mprof_json_open(j, NULL, '{');
		if (answer_names(t, thread))
			answer_put_members(t, j, thread, t->view->interactions[link].time);
		mprof_json_time(j, "since_ns", t->view->interactions[link].time);
		mprof_json_close(j, '}');
	}
	mprof_json_close(j, ']');
}

const char *mprof_why_verdict_name(enum mprof_why_verdict verdict)
{
	static const char *const names[] = {
		[MPROF_WHY_RESOLVED] = "resolved",
		[MPROF_WHY_MISSED_SIGNAL] = "missed-signal",
		[MPROF_WHY_MISSED_RESOLVE] = "missed-resolution",
		[MPROF_WHY_NOT_WOKEN] = "not-woken",
		[MPROF_WHY_SIGNALLED_SINCE] = "signalled-since",
		[MPROF_WHY_NEVER_SIGNALLED] = "never-signalled",
		[MPROF_WHY_NEVER_RESOLVED] = "never-resolved",
		[MPROF_WHY_CYCLE] = "circle",
		[MPROF_WHY_IDLE_OR_MISSED] = "idle-or-missed",
		[MPROF_WHY_HOLDER_ENDED] = "holder-ended",
	};

	return names[verdict];
}

/* Write the thread that resolved THREAD and the time of that, or null if no thread did. */
static void put_resolution(const struct answer_trace *t, struct mprof_json *j, uint32_t thread)
{
	const struct mprof_thread *it = &t->view->threads[thread];

	if (!(it->flags & MPROF_THREAD_RESOLVED)) {
		mprof_json_null(j, "resolution");
		return;
	}
	mprof_json_open(j, "resolution", '{');
	if (why_end_is_unknown(t->view, thread)) {
		if (answer_names(t, it->resolver))
			answer_put_members(t, j, it->resolver, it->end);
		mprof_json_null(j, "time_ns");
	} else {
		put_moment(t, j, it->resolver, it->end);
	}
	answer_put_string(t, j, "failure", it->failure);
	mprof_json_close(j, '}');
}

static void put_root(const struct answer_trace *t, struct mprof_json *j, uint32_t root, uint64_t since)
{
	const struct mprof_thread *it = &t->view->threads[root];

	mprof_json_open(j, "root", '{');
	put_moment(t, j, root, since);
	answer_put_thread(t, j, "creator", it->creator, it->created);
	mprof_json_time(j, "created_ns", it->created);
	mprof_json_boolean(j, "preexisting", it->flags & MPROF_THREAD_PREEXISTING);
	put_resolution(t, j, root);
	mprof_json_close(j, '}');
}

static void put_like(const struct answer_trace *t, struct mprof_json *j, uint32_t like)
{
	if (!answer_names(t, like)) {
		mprof_json_null(j, "like");
		return;
	}
	mprof_json_open(j, "like", '{');
	answer_put_members(t, j, like, UINT64_MAX);
	put_resolution(t, j, like);
	mprof_json_close(j, '}');
}

/* Write the holder of the chain's last lock that the trace names, and that lock; null without one. */
static void put_holder(const struct answer_trace *t, struct mprof_json *j, const struct mprof_why_answer *a)
{
	const struct mprof_thread *holder;

	if (!answer_names(t, a->holder)) {
		mprof_json_null(j, "holder");
		return;
	}
	holder = &t->view->threads[a->holder];
	mprof_json_open(j, "holder", '{');
	answer_put_members(t, j, a->holder, a->since);
	answer_put_thread(t, j, "holds", a->held, a->since);
	if (holder->flags & MPROF_THREAD_RESOLVED)
		mprof_json_time(j, "ended_ns", holder->end);
	else
		mprof_json_null(j, "ended_ns");
	mprof_json_boolean(j, "itself", a->cycle);
	mprof_json_boolean(j, "outside", a->outside);
	mprof_json_close(j, '}');
}

/* Write the other end of what the thread waits for, if the recorder found it; else null. */
static void put_far_end(const struct answer_trace *t, struct mprof_json *j, const struct mprof_why_answer *a)
{
	if (!answer_names(t, a->far_end)) {
		mprof_json_null(j, "far_end");
		return;
	}
	mprof_json_open(j, "far_end", '{');
	answer_put_members(t, j, a->far_end, UINT64_MAX);
	mprof_json_time(j, "found_ns", a->far_found);
	answer_put_thread(t, j, "process", a->far_process, UINT64_MAX);
	answer_put_thread(t, j, "main", a->far_main, UINT64_MAX);
	mprof_json_boolean(j, "here", a->far_here);
	answer_put_thread(t, j, "user", a->far_user, UINT64_MAX);
	mprof_json_close(j, '}');
}

/* Write the members on the condition at the end of the chain of waiting threads. */
static void put_condition(const struct answer_trace *t, struct mprof_json *j, const struct mprof_why_answer *a)
{
	answer_put_thread(t, j, "condition", a->condition, a->since);
	put_signal(t, j, "missed", a->lost_signal);
	mprof_json_number(j, "missed_signals", a->lost_signals);
	put_signal(t, j, "first_since", a->first_signal_since);
	mprof_json_number(j, "signals_since", a->signals_since);
	put_signal(t, j, "last_signal", a->last_signal);
	mprof_json_number(j, "signals", a->signals);
	answer_put_coverage(t, j, "since_coverage", &a->since_coverage);
	answer_put_coverage(t, j, "before_coverage", &a->before_coverage);
	mprof_json_boolean(j, "elsewhere", a->elsewhere);
	put_far_end(t, j, a);
}

/* Write the state S of THREAD, or null if THREAD is MPROF_NONE. */
static void put_state(const struct answer_trace *t, struct mprof_json *j, uint32_t thread,
		      const struct mprof_why_state *s)
{
	const struct mprof_string *channel;

	if (!answer_names(t, thread)) {
		mprof_json_null(j, "state");
		return;
	}
	mprof_json_open(j, "state", '{');
	answer_put_members(t, j, thread, s->to);
	mprof_json_word(j, "state", mprof_why_state_name(s->kind));
	if (s->channel == MPROF_NONE) {
		mprof_json_null(j, "channel");
	} else {
		channel = &t->view->strings[s->channel];
		mprof_json_text(j, "channel", t->view->text + channel->offset + s->channel_offset,
				channel->bytes - s->channel_offset);
	}
	mprof_json_number(j, "samples", s->samples);
	mprof_json_time(j, "from_ns", s->from);
	mprof_json_time(j, "to_ns", s->to);
	mprof_json_time(j, "processor_ns", s->processor_ns);
	mprof_json_close(j, '}');
}

/* Write the members about a thread that is not resolved. */
static void put_wait(const struct answer_trace *t, struct mprof_json *j, const struct mprof_why_answer *a)
{
	struct mprof_coverage unresolved;
	struct mprof_why_state state;

	mprof_why_unresolved(t->why, a->thread, &unresolved);
	answer_put_coverage(t, j, "resolution_coverage", &unresolved);
	mprof_json_number(j, "links", (int64_t)a->links + a->cycle);
	put_chain(t, j, a);
	put_root(t, j, a->root, a->since);
	put_like(t, j, a->similar);
	put_holder(t, j, a);
	put_condition(t, j, a);
	put_state(t, j, why_state_of_answer(t->why, a, &state), &state);
}

/* Write the members on the group of threads that wait for the same. */
static void put_group(struct mprof_json *j, const struct mprof_waits_group *group)
{
	mprof_json_word(j, "cause", mprof_waits_name(group->kind));
	mprof_json_number(j, "waiting", group->threads);
	mprof_json_number(j, "waiting_marked", group->marked);
}

/* Write the answer about the thread of GROUP, and about GROUP if it has threads. */
static enum mprof_status put_answer(const struct answer_trace *t, struct mprof_json *j,
				    const struct mprof_waits_group *group)
{
	enum mprof_status status = MPROF_OK;
	struct mprof_why_answer a;
	const struct mprof_thread *it;

	mprof_why_ask(t->why, group->thread, &a);
	it = &t->view->threads[a.thread];
	mprof_json_open(j, NULL, '{');
	answer_put_members(t, j, a.thread, it->created);
	if (group->threads)
		put_group(j, group);
	mprof_json_number(j, "asked", t->view->threads[group->thread].id);
	mprof_json_boolean(j, "should_resolve", it->flags & MPROF_THREAD_SHOULD_RESOLVE);
	mprof_json_time(j, "created_ns", it->created);
	mprof_json_boolean(j, "preexisting", it->flags & MPROF_THREAD_PREEXISTING);
	answer_put_thread(t, j, "creator", it->creator, it->created);
	mprof_json_time(j, "end_ns", a.end);
	mprof_json_word(j, "verdict", mprof_why_verdict_name(a.verdict));
	put_resolution(t, j, a.thread);
	if (a.verdict != MPROF_WHY_RESOLVED)
		put_wait(t, j, &a);
	if (t->explanation)
		status = answer_put_story(t, j, "story", mprof_explanation_group(t->explanation, group));
	mprof_json_close(j, '}');
	return status;
}

/* Return whether STREAM is the first one of its guest. */
static bool leads(const struct mprof_model_view *v, uint32_t stream)
{
	for (uint32_t i = 0; i < stream; i++)
		if (v->streams[i].guest == v->streams[stream].guest)
			return false;
	return true;
}

/* Write how many groups of waiting threads there are, and whether a thread can wait unseen; null if a person has named threads. */
static void put_waits(const struct answer_trace *t, struct mprof_json *j, const struct mprof_waits *waits)
{
	const struct mprof_waits_group *groups;
	struct mprof_coverage c = {0};
	uint32_t n, causes = 0;

	if (!waits) {
		mprof_json_null(j, "waits");
		return;
	}
	groups = mprof_waits_groups(waits, &n);
	while (causes < n && mprof_waits_name(groups[causes].kind))
		causes++;
	for (uint32_t i = 0; i < t->view->n_streams && c.hole == MPROF_HOLE_NONE; i++)
		if (leads(t->view, i))
			mprof_waits_coverage(waits, i, &c);
	mprof_json_open(j, "waits", '{');
	mprof_json_number(j, "groups", n);
	mprof_json_number(j, "causes", causes);
	mprof_json_number(j, "shown", mprof_waits_shown(waits));
	answer_put_coverage(t, j, "coverage", &c);
	mprof_json_close(j, '}');
}

static void put_activation(const struct answer_trace *t, struct mprof_json *j, uint32_t i)
{
	const struct mprof_activation *it;

	if (i == MPROF_NONE) {
		mprof_json_null(j, "thread");
		return;
	}
	it = &t->view->activations[i];
	mprof_json_open(j, "thread", '{');
	if (answer_names(t, it->thread))
		answer_put_members(t, j, it->thread, it->end);
	mprof_json_time(j, "from_ns", it->start);
	mprof_json_time(j, "to_ns", it->end);
	mprof_json_close(j, '}');
}

/* Write what ran last in the guest of STREAM. NAMED: there are several guests. */
static enum mprof_status put_last(const struct answer_trace *t, struct mprof_json *j, uint32_t stream, bool named)
{
	uint64_t asleep = mprof_coverage_asleep(t->view, stream);
	enum mprof_status status = MPROF_OK;
	struct mprof_why_state state;

	mprof_json_open(j, NULL, '{');
	mprof_json_time(j, "end_ns", t->view->streams[stream].end);
	put_activation(t, j, mprof_why_last(t->why, stream, true));
	if (asleep == UINT64_MAX)
		mprof_json_null(j, "sleeping_from_ns");
	else
		mprof_json_time(j, "sleeping_from_ns", asleep);
	put_state(t, j, mprof_why_program_state(t->why, stream, &state), &state);
	if (named)
		mprof_json_word(j, "stream", t->streams[stream]);
	if (t->explanation)
		status = answer_put_story(t, j, "story", mprof_explanation_last(t->explanation, stream));
	mprof_json_close(j, '}');
	return status;
}

static enum mprof_status put_lasts(const struct answer_trace *t, struct mprof_json *j)
{
	enum mprof_status status = MPROF_OK;
	uint32_t guests = 0;

	for (uint32_t i = 0; i < t->view->n_streams; i++)
		guests += leads(t->view, i);
	mprof_json_open(j, "last", '[');
	for (uint32_t i = 0; i < t->view->n_streams && status == MPROF_OK; i++)
		if (leads(t->view, i))
			status = put_last(t, j, i, t->streams && guests > 1);
	mprof_json_close(j, ']');
	return status;
}

enum mprof_status mprof_why_write(const struct mprof_why_report *r, struct mprof_json *j)
{
	const struct answer_trace t = {.view = r->view,
				       .why = r->why,
				       .streams = r->streams,
				       .explanation = r->explanation,
				       .indexed = r->explanation != NULL};
	enum mprof_status status = MPROF_OK;

	mprof_json_open(j, "answers", '[');
	for (uint32_t i = 0; i < r->n && status == MPROF_OK; i++)
		status = put_answer(&t, j, &r->asked[i]);
	mprof_json_close(j, ']');
	mprof_json_number(j, "left_out", r->left_out);
	put_waits(&t, j, r->waits);
	mprof_json_number(j, "should_resolve", (int64_t)r->should_resolve);
	mprof_json_number(j, "lost_packets", (int64_t)r->lost_packets);
	mprof_json_number(j, "cut_bytes", (int64_t)r->cut_bytes);
	mprof_json_number(j, "damages", (int64_t)r->damages);
	mprof_json_number(j, "unproven_events", (int64_t)r->unproven_events);
	if (status == MPROF_OK)
		status = put_lasts(&t, j);
	if (status == MPROF_OK && t.explanation && r->waits)
		status = answer_put_story(&t, j, "rest", mprof_explanation_rest(t.explanation, r->waits));
	return status;
}
