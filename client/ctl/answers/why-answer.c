/*
 * Make the answer of the verb `why`. Its JSON keys are an interface: docs/man/mprofctl.1 lists
 * them.
 */
#include <stdio.h>
#include <string.h>

#include "ctl.h"
#include "json.h"
#include "table.h"
#include "thread-json.h"
#include "why-answer.h"

/* The trace about which the verb asks. */
struct subject {
	const struct modeller *m;
	const struct mprof_why *w;
	const struct mprof_model_view *view;
};

static json_t *who(const struct subject *s, uint32_t thread, uint64_t time)
{
	return thread_json(s->m, s->w, thread, time);
}

/* Return a JSON object with the identity of THREAD at TIME, and with TIME itself. */
static json_t *who_at(const struct subject *s, uint32_t thread, uint64_t time)
{
	json_t *object = who(s, thread, time);

	if (json_is_null(object)) {
		json_decref(object);
		object = json_object();
	}
	json_object_set_new(object, "time_ns", modeller_time(time));
	return object;
}

static json_t *signal_json(const struct subject *s, uint32_t i)
{
	const struct mprof_interaction *it;

	if (i == MPROF_NONE)
		return json_null();
	it = &s->view->interactions[i];
	return who_at(s, it->thread, it->time);
}

static json_t *chain_json(const struct subject *s, const struct mprof_why_answer *a)
{
	json_t *array = json_array(), *object;
	uint64_t links = (uint64_t)a->links + a->cycle;
	uint32_t thread = a->thread, link;

	for (uint32_t i = 0; i < links && i < WHY_LINKS_MAX; i++) {
		link = mprof_why_link(s->w, thread);
		thread = mprof_why_final(s->w, s->view->interactions[link].other);
		object = who(s, thread, s->view->interactions[link].time);
		json_object_set_new(object, "since_ns", modeller_time(s->view->interactions[link].time));
		json_array_append_new(array, object);
	}
	return array;
}

static const char *verdict_name(enum mprof_why_verdict verdict)
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

/* Return the thread that resolved THREAD and the time of that, or JSON null if no thread did. */
static json_t *resolution_json(const struct subject *s, uint32_t thread)
{
	const struct mprof_thread *it;
	json_t *object;

	if (thread == MPROF_NONE || !(s->view->threads[thread].flags & MPROF_THREAD_RESOLVED))
		return json_null();
	it = &s->view->threads[thread];
	object = who_at(s, it->resolver, it->end);
	json_object_set_new(object, "failure", modeller_string(s->m, it->failure));
	return object;
}

static json_t *like_json(const struct subject *s, uint32_t like)
{
	json_t *object;

	if (like == MPROF_NONE)
		return json_null();
	object = who(s, like, UINT64_MAX);
	json_object_set_new(object, "resolution", resolution_json(s, like));
	return object;
}

static json_t *root_json(const struct subject *s, uint32_t root, uint64_t since)
{
	const struct mprof_thread *it = &s->view->threads[root];
	json_t *object = who_at(s, root, since);

	json_object_set_new(object, "time_ns", modeller_time(since));
	json_object_set_new(object, "creator", who(s, it->creator, it->created));
	json_object_set_new(object, "created_ns", modeller_time(it->created));
	json_object_set_new(object, "preexisting", json_boolean(it->flags & MPROF_THREAD_PREEXISTING));
	json_object_set_new(object, "resolution", resolution_json(s, root));
	return object;
}

/* Return the holder of the chain's last lock that the trace names, and that lock; JSON null without one. */
static json_t *holder_json(const struct subject *s, const struct mprof_why_answer *a)
{
	const struct mprof_thread *holder;
	json_t *object;

	if (a->holder == MPROF_NONE)
		return json_null();
	holder = &s->view->threads[a->holder];
	object = who(s, a->holder, a->since);
	if (json_is_null(object))
		return object;
	json_object_set_new(object, "holds", who(s, a->held, a->since));
	json_object_set_new(object, "ended_ns",
			    holder->flags & MPROF_THREAD_RESOLVED ? modeller_time(holder->end) : json_null());
	json_object_set_new(object, "itself", json_boolean(a->cycle));
	json_object_set_new(object, "outside", json_boolean(a->outside));
	return object;
}

/* Return what an absent event means: the hole in which it could be, or JSON null if it did not happen. */
static json_t *coverage_json(const struct subject *s, const struct mprof_coverage *c)
{
	json_t *object;

	if (c->hole == MPROF_HOLE_NONE)
		return json_null();
	object = json_pack("{ss so so}", "hole", mprof_hole_name(c->hole), "from_ns", modeller_time(c->from), "to_ns",
			   modeller_time(c->to));
	if (s->m->names)
		json_object_set_new(object, "stream",
				    text_json(s->m->names[c->stream], strlen(s->m->names[c->stream])));
	return object;
}

/* Set the members of OBJECT on the condition at the end of the chain of waiting threads. */
static void put_condition(const struct subject *s, const struct mprof_why_answer *a, json_t *object)
{
	json_object_set_new(object, "condition", who(s, a->condition, a->since));
	json_object_set_new(object, "missed", signal_json(s, a->lost_signal));
	json_object_set_new(object, "missed_signals", json_integer(a->lost_signals));
	json_object_set_new(object, "first_since", signal_json(s, a->first_signal_since));
	json_object_set_new(object, "signals_since", json_integer(a->signals_since));
	json_object_set_new(object, "last_signal", signal_json(s, a->last_signal));
	json_object_set_new(object, "signals", json_integer(a->signals));
	json_object_set_new(object, "since_coverage", coverage_json(s, &a->since_coverage));
	json_object_set_new(object, "before_coverage", coverage_json(s, &a->before_coverage));
	json_object_set_new(object, "elsewhere", json_boolean(a->elsewhere));
}

/* Set the members of OBJECT on the group of threads that wait for the same. */
static void put_group(const struct mprof_waits_group *group, json_t *object)
{
	const char *cause = mprof_waits_name(group->kind);

	json_object_set_new(object, "cause", cause ? json_string(cause) : json_null());
	json_object_set_new(object, "waiting", json_integer(group->threads));
	json_object_set_new(object, "waiting_marked", json_integer(group->marked));
}

json_t *why_waits_json(const struct modeller *m, const struct mprof_waits *waits)
{
	const struct subject t = {.m = m, .view = m->view};
	struct mprof_coverage c = {0};
	uint32_t n, causes = 0;
	const struct mprof_waits_group *groups;

	if (!waits)
		return json_null();
	groups = mprof_waits_groups(waits, &n);
	while (causes < n && mprof_waits_name(groups[causes].kind))
		causes++;
	for (uint32_t i = 0; i < m->view->n_streams && c.hole == MPROF_HOLE_NONE; i++)
		if (modeller_leads(m, i))
			mprof_waits_coverage(waits, i, &c);
	return json_pack("{sI sI sI so}", "groups", (json_int_t)n, "causes", (json_int_t)causes, "shown",
			 (json_int_t)mprof_waits_shown(waits), "coverage", coverage_json(&t, &c));
}

json_t *why_json(const struct modeller *m, const struct mprof_why *w, const struct mprof_waits_group *group,
		 uint32_t thread)
{
	const struct subject t = {.m = m, .w = w, .view = m->view};
	const struct mprof_thread *it = &m->view->threads[mprof_why_final(w, thread)];
	struct mprof_coverage unresolved;
	struct mprof_why_answer a;
	json_t *object;

	mprof_why_ask(w, thread, &a);
	object = who(&t, a.thread, it->created);
	if (!object)
		return NULL;
	if (group)
		put_group(group, object);
	json_object_set_new(object, "asked", json_integer(m->view->threads[thread].id));
	json_object_set_new(object, "should_resolve", json_boolean(it->flags & MPROF_THREAD_SHOULD_RESOLVE));
	json_object_set_new(object, "created_ns", modeller_time(it->created));
	json_object_set_new(object, "preexisting", json_boolean(it->flags & MPROF_THREAD_PREEXISTING));
	json_object_set_new(object, "creator", who(&t, it->creator, it->created));
	json_object_set_new(object, "end_ns", modeller_time(a.end));
	json_object_set_new(object, "verdict", json_string(verdict_name(a.verdict)));
	json_object_set_new(object, "resolution", resolution_json(&t, a.thread));
	if (a.verdict == MPROF_WHY_RESOLVED)
		return object;
	mprof_why_unresolved(w, a.thread, &unresolved);
	json_object_set_new(object, "resolution_coverage", coverage_json(&t, &unresolved));
	json_object_set_new(object, "links", json_integer((json_int_t)a.links + a.cycle));
	json_object_set_new(object, "chain", chain_json(&t, &a));
	json_object_set_new(object, "root", root_json(&t, a.root, a.since));
	json_object_set_new(object, "like", like_json(&t, a.similar));
	json_object_set_new(object, "holder", holder_json(&t, &a));
	put_condition(&t, &a, object);
	return object;
}

static json_t *activation_json(const struct subject *s, uint32_t i)
{
	const struct mprof_activation *it;
	json_t *object;

	if (i == MPROF_NONE)
		return json_null();
	it = &s->view->activations[i];
	object = who_at(s, it->thread, it->end);
	json_object_del(object, "time_ns");
	json_object_set_new(object, "from_ns", modeller_time(it->start));
	json_object_set_new(object, "to_ns", modeller_time(it->end));
	return object;
}

/* If the program sleeps at the end of the trace, return when its sleep began, else JSON null. */
static json_t *asleep_json(const struct subject *s, uint32_t stream)
{
	uint64_t since = mprof_coverage_asleep(s->view, stream);

	return since == UINT64_MAX ? json_null() : modeller_time(since);
}

json_t *why_last_json(const struct modeller *m, const struct mprof_why *w)
{
	const struct subject t = {.m = m, .w = w, .view = m->view};
	json_t *array = json_array(), *object;

	for (uint32_t i = 0; i < m->view->n_streams; i++) {
		if (!modeller_leads(m, i))
			continue;
		object = json_pack("{so so so}", "end_ns", modeller_time(m->view->streams[i].end), "thread",
				   activation_json(&t, mprof_why_last(w, i, true)), "sleeping_from_ns",
				   asleep_json(&t, i));
		if (m->names && !modeller_one_guest(m))
			json_object_set_new(object, "stream", text_json(m->names[i], strlen(m->names[i])));
		json_array_append_new(array, object);
	}
	return array;
}

/*
 * Print the answer as text. libmprof makes the sentences on the thread; this code adds sentences
 * on the whole trace.
 */

static void put_explanation(const struct mprof_explanation *explanation, struct timing *timing)
{
	const char *text = mprof_explanation_text(explanation);
	const struct mprof_explanation_piece *pieces;
	uint32_t n, line = 0;

	pieces = mprof_explanation_pieces(explanation, &n);
	for (uint32_t i = 0; i < n; i++) {
		if (pieces[i].line != line)
			putchar('\n');
		line = pieces[i].line;
		if (pieces[i].time != MPROF_EXPLANATION_UNTIMED)
			timing_print(timing, pieces[i].time);
		else
			fwrite(text + pieces[i].offset, 1, pieces[i].bytes, stdout);
	}
	putchar('\n');
}

/* Print what the N answers leave open. WAITS is NULL if the user names a thread. Return an exit code. */
static int show_rest(const json_t *json, struct mprof_explanation *explanation, struct timing *timing,
		     const struct mprof_waits *waits, uint32_t n)
{
	json_int_t marked = answer_count(json, "should_resolve");
	uint32_t pieces;

	if (answer_count(json, "left_out"))
		printf("note: %" JSON_INTEGER_FORMAT " more answers are left out\n", answer_count(json, "left_out"));
	if (!waits)
		return 0;
	if (marked) {
		if (!n)
			printf("all threads that should resolve did, %" JSON_INTEGER_FORMAT " of them\n", marked);
		return 0;
	}
	if (mprof_explanation_rest(explanation, waits) != MPROF_OK)
		return say_memory();
	mprof_explanation_pieces(explanation, &pieces);
	if (pieces)
		put_explanation(explanation, timing);
	return 0;
}

int why_show(const json_t *json, struct mprof_explanation *explanation, struct timing *timing,
	     const struct mprof_waits *waits, const struct mprof_waits_group *groups, uint32_t n,
	     const struct modeller *last)
{
	int r;

	for (uint32_t i = 0; i < n; i++) {
		if (mprof_explanation_group(explanation, &groups[i]) != MPROF_OK)
			return say_memory();
		put_explanation(explanation, timing);
		putchar('\n');
	}
	r = show_rest(json, explanation, timing, waits, n);
	if (r)
		return r;
	for (uint32_t i = 0; last && i < last->view->n_streams; i++) {
		if (!modeller_leads(last, i))
			continue;
		if (mprof_explanation_last(explanation, i) != MPROF_OK)
			return say_memory();
		put_explanation(explanation, timing);
	}
	if (answer_count(json, "lost_packets")) {
		fputs("note: ", stdout);
		print_missing(answer_count(json, "lost_packets"));
		puts("; signals and resolutions there are unknown");
	}
	if (answer_count(json, "damages")) {
		fputs("note: the trace is damaged in ", stdout);
		print_count(answer_count(json, "damages"), "place");
		if (answer_count(json, "unproven_events")) {
			fputs("; ", stdout);
			print_count(answer_count(json, "unproven_events"), "event");
			fputs(" behind, to the ends of their packets, are unproven", stdout);
		}
		putchar('\n');
	}
	if (answer_count(json, "cut_bytes"))
		printf("note: %" JSON_INTEGER_FORMAT " bytes of the unproven end were cut: they cannot be events\n",
		       answer_count(json, "cut_bytes"));
	return stdout_verdict();
}
