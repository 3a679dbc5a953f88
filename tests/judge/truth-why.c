/*
 * The sentences of `mprofctl why`, by the members of its JSON that they are made of.
 *
 * Times of the trace are the recorder's clock, so a time of the truth is converted before it is compared.
 */
#include "truth.h"

#include <inttypes.h>
#include <string.h>

#include "answers.h"

#define SAY(t, sentence, good, ...) figures_note((t)->figures, SENTENCE_##sentence, good, __VA_ARGS__)

static uint64_t clock_of(const struct trial *t, uint64_t time)
{
	return recording_clock(t->recording, time);
}

static struct entity entity_of(const struct trial *t, const json_t *who)
{
	struct entity none = {WORLD_NONE, WORLD_NONE, WORLD_NONE};

	return json_is_integer(json_object_get(who, "thread"))
		       ? recording_entity(t->recording, answers_number(who, "thread"))
		       : none;
}

/* Return when the thread or the wait E ended; WORLD_NEVER if it did not until the trace's end. */
static uint64_t end_of(const struct trial *t, const struct entity *e)
{
	uint64_t end = WORLD_NEVER;

	if (e->thread != WORLD_NONE)
		end = t->world->threads[e->thread].end;
	else if (e->wait != WORLD_NONE)
		end = recording_end(t->recording, e->wait);
	return end > t->recording->until ? WORLD_NEVER : end;
}

/* Return whether E is a lock, a condition, a semaphore or a pipe: these never end. */
static bool is_object(const struct entity *e)
{
	return e->object != WORLD_NONE;
}

/* Return whether E is a thread or a wait of the world, whose end is known. */
static bool has_end(const struct entity *e)
{
	return e->thread != WORLD_NONE || e->wait != WORLD_NONE;
}

/* ---- facts ---- */

/* Return whether F is what `why` calls a signal of OBJECT. */
static bool is_signal(const struct trial *t, const struct fact *f, int object)
{
	return f->process == t->recording->process && f->object == object &&
	       (f->kind == FACT_SIGNAL || f->kind == FACT_POST || f->kind == FACT_FREE);
}

/* Count the signals of OBJECT with FROM < time <= TO, ns of the recorder's clock. */
static unsigned count_signals(const struct trial *t, int object, uint64_t from, uint64_t to)
{
	unsigned n = 0;

	for (unsigned i = 0; i < t->world->n_facts && t->world->facts[i].time <= t->recording->until; i++) {
		const struct fact *f = &t->world->facts[i];
		uint64_t time = clock_of(t, f->time);

		n += is_signal(t, f, object) && time > from && time <= to;
	}
	return n;
}

/* Return the signal of OBJECT that the JSON object SIGNAL names, or NULL. */
static const struct fact *signal_of(const struct trial *t, int object, const json_t *signal)
{
	struct entity by = entity_of(t, signal);
	uint64_t time = answers_time(signal, "time_ns");

	for (unsigned i = 0; i < t->world->n_facts; i++) {
		const struct fact *f = &t->world->facts[i];

		if (is_signal(t, f, object) && f->thread == by.thread && clock_of(t, f->time) == time)
			return f;
	}
	return NULL;
}

/* ---- parts of an answer ---- */

static void judge_resolution(const struct trial *t, const json_t *answer)
{
	struct entity e = entity_of(t, answer);
	const json_t *resolution = json_object_get(answer, "resolution");
	uint64_t end = end_of(t, &e);

	if (!has_end(&e))
		return;
	if (strcmp(answers_text(answer, "verdict"), "resolved") != 0) {
		/* With a hole the answer says that the resolution would not be here. */
		if (!json_is_null(json_object_get(answer, "resolution_coverage")))
			return;
		SAY(t, UNRESOLVED, end == WORLD_NEVER, "%" PRId64 " ended at %" PRIu64,
		    answers_number(answer, "thread"), end);
		return;
	}
	SAY(t, RESOLVED,
	    end != WORLD_NEVER && (json_is_null(json_object_get(resolution, "time_ns")) ||
				   clock_of(t, end) == answers_time(resolution, "time_ns")),
	    "%" PRId64 " ended at %" PRIu64 ", not at %" PRIu64, answers_number(answer, "thread"), end,
	    answers_time(resolution, "time_ns"));
}

static void judge_creator(const struct trial *t, const json_t *answer)
{
	const json_t *creator = json_object_get(answer, "creator");
	struct entity e = entity_of(t, answer), by = entity_of(t, creator);

	if (e.thread != WORLD_NONE && by.thread != WORLD_NONE)
		SAY(t, CREATOR, t->world->threads[e.thread].creator == by.thread, "%" PRId64 " was created by %d",
		    answers_number(answer, "thread"), t->world->threads[e.thread].creator);
}

/*
 * Judge the link from E to NEXT, which the JSON object LINK has, where the answer names a hole: then it says that the
 * wait began, and not that it goes on.
 */
static void judge_old_link(const struct trial *t, const struct entity *e, const struct entity *next, const json_t *link)
{
	const struct wait *it = next->wait != WORLD_NONE ? &t->world->waits[next->wait] : NULL;

	if (it && e->thread != WORLD_NONE)
		SAY(t, WAITS, it->thread == e->thread && clock_of(t, it->begin) == answers_time(link, "since_ns"),
		    "thread %d did not begin wait %d then", e->thread, next->wait);
	else if (e->wait != WORLD_NONE && is_object(next))
		SAY(t, WAITS, t->world->waits[e->wait].object == next->object, "wait %d is not for object %d", e->wait,
		    next->object);
	else if (e->wait != WORLD_NONE && next->thread != WORLD_NONE)
		SAY(t, WAITS, t->world->waits[e->wait].joined == next->thread, "wait %d is not for thread %d", e->wait,
		    next->thread);
}

/* Judge the link from E to NEXT, which the JSON object LINK has. */
static void judge_link(const struct trial *t, const struct entity *e, const struct entity *next, const json_t *link)
{
	const struct world *w = t->world;
	uint64_t since = answers_time(link, "since_ns"), until = t->recording->until;
	int wait = e->thread != WORLD_NONE ? world_wait_at(w, e->thread, until) : e->wait;
	const struct wait *it = wait == WORLD_NONE ? NULL : &w->waits[wait];
	bool open = it && it->end > until;

	if (is_object(e) && next->thread != WORLD_NONE) {
		int holder = world_holder_at(w, t->recording->process, e->object, until);

		SAY(t, HOLDS, holder == next->thread, "object %d is held by thread %d, not by %d", e->object, holder,
		    next->thread);
		return;
	}
	if (e->thread != WORLD_NONE && next->wait != WORLD_NONE)
		SAY(t, WAITS, open && wait == next->wait && clock_of(t, it->begin) == since,
		    "thread %d waits in %d, not in %d", e->thread, wait, next->wait);
	else if (e->wait != WORLD_NONE && is_object(next))
		SAY(t, WAITS, open && it->object == next->object, "wait %d is over, or for object %d", e->wait,
		    it ? it->object : -1);
	else if (e->wait != WORLD_NONE && next->thread != WORLD_NONE)
		SAY(t, WAITS, open && it->joined == next->thread, "wait %d is over, or for thread %d", e->wait,
		    it ? it->joined : -1);
}

static void judge_chain(const struct trial *t, const json_t *answer)
{
	struct entity e = entity_of(t, answer), next;
	bool hole = json_is_object(json_object_get(answer, "resolution_coverage"));
	json_t *link;
	size_t i;

	json_array_foreach(json_object_get(answer, "chain"), i, link)
	{
		next = entity_of(t, link);
		(hole ? judge_old_link : judge_link)(t, &e, &next, link);
		e = next;
	}
}

/* Return the last wait of the answer's chain, or WORLD_NONE. */
static int last_wait(const struct trial *t, const json_t *answer)
{
	int wait = WORLD_NONE;
	json_t *link;
	size_t i;

	json_array_foreach(json_object_get(answer, "chain"), i, link)
	{
		struct entity e = entity_of(t, link);

		wait = e.wait != WORLD_NONE ? e.wait : wait;
	}
	return wait;
}

/* Return the last thread of the answer before its root, or WORLD_NONE. */
static int last_thread(const struct trial *t, const json_t *answer)
{
	const json_t *chain = json_object_get(answer, "chain");
	int thread = entity_of(t, answer).thread;

	for (size_t i = 0; i + 1 < json_array_size(chain); i++) {
		struct entity e = entity_of(t, json_array_get(chain, i));

		thread = e.thread != WORLD_NONE ? e.thread : thread;
	}
	return thread;
}

/* Return the object whose signals the answer counts. */
static int condition_of(const struct trial *t, const json_t *answer)
{
	return entity_of(t, json_object_get(answer, "condition")).object;
}

static uint64_t since_of(const json_t *answer)
{
	return answers_time(json_object_get(answer, "root"), "time_ns");
}

/* Return whether ANSWER says that what it did not see did not happen: KEY names no hole in the trace. */
static bool covers(const json_t *answer, const char *key)
{
	return !json_is_object(json_object_get(answer, key));
}

/* Return whether a thread of the process waited for OBJECT at TIME. A wait may just have been too long. */
static bool is_waited_for(const struct trial *t, int object, uint64_t time)
{
	for (unsigned i = 0; i < t->world->n_waits; i++) {
		const struct wait *it = &t->world->waits[i];

		if (it->process == t->recording->process && it->object == object && it->begin < time && it->end > time)
			return true;
	}
	return false;
}

static void judge_none_came(const struct trial *t, const json_t *answer)
{
	int object = condition_of(t, answer);
	const json_t *last = json_object_get(answer, "last_signal");
	const struct fact *f;
	unsigned later, before;

	if (object == WORLD_NONE || json_is_true(json_object_get(answer, "elsewhere")))
		return;
	later = count_signals(t, object, since_of(answer), UINT64_MAX);
	before = count_signals(t, object, 0, since_of(answer));
	if (covers(answer, "since_coverage"))
		SAY(t, NONE_CAME, later == 0, "%u signals of object %d came", later, object);
	if (json_is_null(last) || !last) {
		if (covers(answer, "since_coverage") && covers(answer, "before_coverage"))
			SAY(t, NOR_BEFORE, before == 0, "%u signals of object %d came before", before, object);
		return;
	}
	f = signal_of(t, object, last);
	if (json_is_object(json_object_get(answer, "missed")))
		return; /* it is not said that a thread took it */
	SAY(t, TAKEN, f && (f->n || is_waited_for(t, object, f->time)),
	    "nobody waited for object %d, or it was no signal", object);
}

static void judge_missed(const struct trial *t, const json_t *answer)
{
	int object = condition_of(t, answer);
	json_t *link;
	size_t i;
	bool missed = false;
	const struct fact *f;
	unsigned later;

	if (object == WORLD_NONE)
		return;
	f = signal_of(t, object, json_object_get(answer, "missed"));
	json_array_foreach(json_object_get(answer, "chain"), i, link)
	{
		struct entity e = entity_of(t, link);

		if (e.wait != WORLD_NONE && t->world->waits[e.wait].object == object)
			missed = t->world->waits[e.wait].end == WORLD_NEVER &&
				 world_satisfied(t->world, &t->world->waits[e.wait]);
	}
	SAY(t, MISSED, f && !f->n && missed, "%s",
	    !f	     ? "no such signal"
	    : f->n   ? "the signal woke a thread"
	    : missed ? ""
		     : "the thread does not wait for it for ever");
	later = count_signals(t, object, since_of(answer), UINT64_MAX);
	SAY(t, NO_LATER, later == 0, "%u signals of object %d came later", later, object);
}

/* At least N signals must have come; with everything visible no more. */
static void judge_signalled(const struct trial *t, const json_t *answer)
{
	int object = condition_of(t, answer);
	uint64_t said = (uint64_t)answers_number(answer, "signals_since");
	int wait = last_wait(t, answer);
	unsigned n;

	if (object == WORLD_NONE)
		return;
	n = count_signals(t, object, since_of(answer), UINT64_MAX);
	SAY(t, SIGNALLED, said == n || (said < n && !recording_is_whole(t->recording)),
	    "%u signals of object %d came, not %" PRIu64, n, object, said);
	if (wait != WORLD_NONE && covers(answer, "since_coverage"))
		SAY(t, SIGNALLED, recording_end(t->recording, wait) > t->recording->until, "wait %d is over", wait);
}

static void judge_cycle(const struct trial *t, const json_t *answer)
{
	json_t *link;
	size_t i;
	bool stuck = true;

	json_array_foreach(json_object_get(answer, "chain"), i, link)
	{
		struct entity e = entity_of(t, link);

		if (e.thread != WORLD_NONE)
			stuck = stuck && world_stuck(t->world, e.thread, t->recording->until);
	}
	SAY(t, CYCLE, stuck, "a thread of it goes on later, or has ended");
}

/* ROOT, a thread, is said to have ended with a lock. */
static void judge_holder_ended(const struct trial *t, const json_t *answer, const struct entity *root)
{
	int lock = entity_of(t, json_object_get(json_object_get(answer, "holder"), "holds")).object;

	SAY(t, HOLDER_ENDED,
	    lock != WORLD_NONE && end_of(t, root) != WORLD_NEVER &&
		    world_holder_at(t->world, t->recording->process, lock, t->recording->until) == root->thread,
	    "thread %d did not end with object %d", root->thread, lock);
}

/* A thread is idle, or has missed a signal: it waits, and the last signal woke nobody. */
static void judge_idle_or_missed(const struct trial *t, const json_t *answer)
{
	int object = condition_of(t, answer);
	const struct fact *f;
	unsigned later;

	if (object == WORLD_NONE)
		return;
	f = signal_of(t, object, json_object_get(answer, "missed"));
	later = count_signals(t, object, since_of(answer), UINT64_MAX);
	SAY(t, IDLE_OR_MISSED, f && (!f->n || f->kind != FACT_SIGNAL),
	    "the signal of object %d woke a thread, or was none", object);
	if (covers(answer, "since_coverage"))
		SAY(t, NO_LATER, later == 0, "%u signals of object %d came later", later, object);
}

/* Return whether ANSWER says that the thread at the end of its chain holds a lock, and is no thread of the process. */
static bool is_held_outside(const json_t *answer)
{
	const json_t *holder = json_object_get(answer, "holder");

	return json_is_true(json_object_get(holder, "outside")) &&
	       answers_number(holder, "thread") == answers_number(json_object_get(answer, "root"), "thread");
}

static bool is_elsewhere(const struct trial *t, int thread)
{
	return t->world->threads[thread].process != t->recording->process;
}

/* The root is said to have ended, and what waits on it not to have run since. */
static void judge_not_woken(const struct trial *t, const json_t *answer, uint64_t end)
{
	int thread = last_thread(t, answer);
	bool ran = false;

	for (unsigned i = 0; i < t->world->n_facts && t->world->facts[i].time <= t->recording->until; i++)
		ran = ran || (t->world->facts[i].thread == thread && t->world->facts[i].time > end);
	SAY(t, NOT_WOKEN, end != WORLD_NEVER && !ran, ran ? "thread %d ran" : "thread %d waits for what did not end",
	    thread);
}

static void judge_root(const struct trial *t, const json_t *answer, const char *verdict)
{
	struct entity root = entity_of(t, json_object_get(answer, "root"));
	uint64_t end = end_of(t, &root);

	if (!has_end(&root) && !is_held_outside(answer))
		return;
	if (is_held_outside(answer)) {
		SAY(t, OUTSIDE, root.thread == WORLD_NONE || is_elsewhere(t, root.thread), "it is of this process");
		return;
	}
	if (strcmp(verdict, "never-resolved") == 0 && covers(answer, "since_coverage") &&
	    !json_is_true(json_object_get(answer, "elsewhere")))
		SAY(t, NOTHING_RESOLVED, end == WORLD_NEVER, "it ended at %" PRIu64, end);
	else if (strcmp(verdict, "holder-ended") == 0)
		judge_holder_ended(t, answer, &root);
	else if (strcmp(verdict, "not-woken") == 0 && covers(answer, "since_coverage"))
		judge_not_woken(t, answer, end);
	else if (strcmp(verdict, "missed-resolution") == 0)
		SAY(t, MISSED_RESOLUTION, end != WORLD_NEVER, "it did not end");
}

static void judge_like(const struct trial *t, const json_t *answer)
{
	const json_t *like = json_object_get(answer, "like"), *resolution = json_object_get(like, "resolution");
	struct entity e = entity_of(t, like);
	uint64_t end = end_of(t, &e);

	if (!json_is_object(resolution) || !has_end(&e))
		return;
	SAY(t, LIKE, end != WORLD_NEVER && clock_of(t, end) == answers_time(resolution, "time_ns"),
	    "%" PRId64 " ended at %" PRIu64, answers_number(like, "thread"), end);
}

/* Return whether no thread of the process is for ever in a wait at the end of the trace. */
static bool is_healthy(const struct trial *t)
{
	for (unsigned i = 0; i < t->world->n_threads; i++)
		if (t->world->threads[i].process == t->recording->process &&
		    world_stuck(t->world, (int)i, t->recording->until))
			return false;
	return true;
}

static void judge_answer(const struct trial *t, const json_t *answer, bool healthy)
{
	const char *verdict = answers_text(answer, "verdict");
	bool cause = strcmp(verdict, "circle") == 0 || strncmp(verdict, "missed", 6) == 0 ||
		     strcmp(verdict, "holder-ended") == 0;

	judge_resolution(t, answer);
	judge_creator(t, answer);
	judge_chain(t, answer);
	judge_like(t, answer);
	judge_root(t, answer, verdict);
	if (strcmp(verdict, "never-signalled") == 0)
		judge_none_came(t, answer);
	else if (strcmp(verdict, "missed-signal") == 0)
		judge_missed(t, answer);
	else if (strcmp(verdict, "idle-or-missed") == 0)
		judge_idle_or_missed(t, answer);
	else if (strcmp(verdict, "signalled-since") == 0)
		judge_signalled(t, answer);
	else if (strcmp(verdict, "circle") == 0)
		judge_cycle(t, answer);
	if (healthy)
		SAY(t, CAUSE_OF_HEALTHY, !cause, "%s", verdict);
}

/* Sleeping is said of a program none of whose threads computes. */
static void judge_last(const struct trial *t, const json_t *last)
{
	uint64_t from = answers_time(last, "sleeping_from_ns"), end = answers_time(last, "end_ns");
	const struct fact *f = NULL;

	/* Lwt's threads run one at a time, and those of the machine together. */
	if (!from || from >= end || t->recording->lwt)
		return;
	for (unsigned i = 0; i < t->world->n_facts && !f; i++) {
		const struct fact *it = &t->world->facts[i];

		if (it->kind == FACT_RUN && it->process == t->recording->process && it->time <= t->recording->until &&
		    clock_of(t, it->time + it->n) > from && clock_of(t, it->time) < end)
			f = it;
	}
	SAY(t, SLEPT, !f, "thread %d computed", f ? f->thread : -1);
}

void truth_of_why(const struct trial *t, const json_t *why)
{
	bool healthy = is_healthy(t);
	json_t *answer;
	size_t i;

	json_array_foreach(json_object_get(why, "answers"), i, answer) judge_answer(t, answer, healthy);
	json_array_foreach(json_object_get(why, "last"), i, answer) judge_last(t, answer);
}

/* Return whether GROUPS has the cause NAME. */
static bool has_cause(const json_t *groups, const char *name)
{
	json_t *answer;
	size_t i;

	json_array_foreach(json_object_get(groups, "answers"), i, answer)
	{
		const char *cause = answers_text(answer, "cause");

		if (cause && strcmp(cause, name) == 0)
			return true;
	}
	return false;
}

/* Check that each proven cause of an answer of ALL is one of GROUPS. Return the number of unresolved threads of ALL. */
static int64_t judge_listed(const struct trial *t, const json_t *groups, const json_t *all)
{
	static const char *const causes[][2] = {
		{"circle", "deadlock"}, {"missed-signal", "missed-wakeup"}, {"holder-ended", "holder-ended"}};
	json_t *answer;
	int64_t n = 0;
	size_t i;

	json_array_foreach(json_object_get(all, "answers"), i, answer)
	{
		const char *verdict = answers_text(answer, "verdict");

		n += strcmp(verdict, "resolved") != 0;
		for (size_t k = 0; k < sizeof(causes) / sizeof(causes[0]); k++)
			if (strcmp(verdict, causes[k][0]) == 0)
				SAY(t, CAUSE_LISTED, has_cause(groups, causes[k][1]), "no %s", causes[k][1]);
	}
	return n;
}

void truth_of_groups(const struct trial *t, const json_t *groups, const json_t *all)
{
	const json_t *waits = json_object_get(groups, "waits");
	int64_t unresolved = judge_listed(t, groups, all), marked = 0;
	json_t *answer;
	size_t i;

	json_array_foreach(json_object_get(groups, "answers"), i, answer)
	{
		const char *cause = answers_text(answer, "cause");
		struct entity e = entity_of(t, answer);

		marked += answers_number(answer, "waiting_marked");
		if (cause)
			SAY(t, IS_CAUSE, e.thread == WORLD_NONE || world_stuck(t->world, e.thread, t->recording->until),
			    "%s of thread %d", cause, e.thread);
	}
	/* Without marks the answer has not all groups. */
	if (answers_number(groups, "should_resolve"))
		SAY(t, WAITING, marked == unresolved, "%" PRId64 " of %" PRId64, marked, unresolved);
	if (answers_number(waits, "groups") == 0 && json_is_null(json_object_get(waits, "coverage")))
		SAY(t, NOTHING_STUCK, is_healthy(t), "a thread is");
}
