/*
 * The cause of a trace's end.
 *
 * A cycle of waiting threads, and a missed wake-up, are causes by themselves. Everything else that
 * waits may wait as it always does, so it counts only when the program slept at the end; a program that
 * crashed while it ran has the thread that ran last as its cause.
 */
#include <mprof/cause.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "thread-label.h"
#include "why-index.h"

#define ASKED_MAX    1000u /* threads that should resolve */
#define CYCLE_MAX    16u   /* threads of a cycle that are named */
#define CREATORS_MAX 3u	   /* creators of the thread that ran last */
#define NAME_BYTES   128u  /* bytes of a thread's type and label */

struct finder {
	const struct mprof_model_view *view;
	const struct mprof_why *why;
	struct mprof_cause *cause;
};

const char *mprof_cause_name(enum mprof_cause_kind kind)
{
	static const char *const names[] = {
		[MPROF_CAUSE_NONE] = "none",
		[MPROF_CAUSE_DEADLOCK] = "deadlock",
		[MPROF_CAUSE_MISSED] = "missed-wakeup",
		[MPROF_CAUSE_FAILED] = "failed",
		[MPROF_CAUSE_WAITS] = "waits",
		[MPROF_CAUSE_LAST] = "last",
	};

	return names[kind];
}

/* ---- text ---- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Write TEXT, BYTES long, into OUT of SIZE bytes, with `#` for each number, and end it with a NUL. */
static void put_general(char *out, size_t size, const char *text, size_t bytes)
{
	size_t n = 0, i = 0;

	while (i < bytes && n + 1 < size) {
		if (!is_digit(text[i])) {
			out[n++] = text[i] == '\0' || text[i] == '\n' ? ' ' : text[i];
			i++;
			continue;
		}
		out[n++] = '#';
		if (text[i] == '0' && i + 2 < bytes && (text[i + 1] == 'x' || text[i + 1] == 'X') &&
		    is_hex(text[i + 2])) {
			for (i += 2; i < bytes && is_hex(text[i]);)
				i++;
		} else {
			while (i < bytes && is_digit(text[i]))
				i++;
		}
	}
	out[n] = '\0';
}

static void put_line(const struct finder *f, const char *line)
{
	struct mprof_cause *c = f->cause;
	size_t room = MPROF_CAUSE_BYTES - c->bytes, n = strlen(line) + (c->bytes > 0);

	if (n >= room)
		return;
	if (c->bytes)
		c->text[c->bytes] = '\n';
	memcpy(c->text + c->bytes + (c->bytes > 0), line, strlen(line) + 1);
	c->bytes += (uint32_t)n;
}

static void begin(const struct finder *f, enum mprof_cause_kind kind, uint32_t thread)
{
	*f->cause = (struct mprof_cause){.kind = kind, .thread = thread};
	put_line(f, mprof_cause_name(kind));
}

/* Write the type of THREAD, and its first label or that of the place that created it, into OUT. */
static void name_thread(const struct finder *f, uint32_t thread, char out[NAME_BYTES])
{
	const struct mprof_thread *t = &f->view->threads[thread];
	uint32_t text = thread_label(f->view, thread), label;
	int n;

	if (t->flags & MPROF_THREAD_ROOT) {
		snprintf(out, NAME_BYTES, "program");
		return;
	}
	if (text == MPROF_NONE) {
		label = mprof_why_label(f->why, thread, UINT64_MAX);
		text = label == MPROF_NONE ? MPROF_NONE : f->view->labels[label].text;
	}
	n = snprintf(out, NAME_BYTES, "%s ", mprof_thread_type_name(t->type));
	if (text != MPROF_NONE)
		put_general(out + n, NAME_BYTES - (size_t)n, f->view->text + f->view->strings[text].offset,
			    f->view->strings[text].bytes);
}

static void put_thread(const struct finder *f, uint32_t thread)
{
	char name[NAME_BYTES];

	if (thread == MPROF_NONE)
		return;
	name_thread(f, thread, name);
	put_line(f, name);
}

/* ---- deadlocks ---- */

/* Return the time at which the cycle that has THREAD closed: the last wait of its threads. */
static uint64_t closed_at(const struct finder *f, uint32_t thread)
{
	uint32_t t = thread;
	uint64_t at = 0, time;

	do {
		time = f->view->interactions[mprof_why_link(f->why, t)].time;
		at = time > at ? time : at;
		t = why_next(f->why, t);
	} while (t != thread);
	return at;
}

/*
 * Return a thread of the cycle that closed first, or MPROF_NONE. SEEN has a 0 for each thread: it gets
 * the number of the walk that came to the thread.
 */
static uint32_t first_cycle(const struct finder *f, uint32_t *seen)
{
	uint32_t first = MPROF_NONE, t;
	struct mprof_why_answer a;
	uint64_t best = 0, at;

	for (uint32_t i = 0; i < f->view->n_threads; i++) {
		for (t = mprof_why_final(f->why, i); t != MPROF_NONE && !seen[t]; t = why_next(f->why, t))
			seen[t] = i + 1;
		if (t == MPROF_NONE || seen[t] != i + 1)
			continue;
		mprof_why_ask(f->why, t, &a);
		if (a.verdict != MPROF_WHY_CYCLE) /* a packet is missing, or a clock went back */
			continue;
		at = closed_at(f, t);
		if (first == MPROF_NONE || at < best) {
			first = t;
			best = at;
		}
	}
	return first;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

static bool find_deadlock(const struct finder *f, uint32_t *seen)
{
	char names[CYCLE_MAX][NAME_BYTES];
	uint32_t first = first_cycle(f, seen), t = first, n = 0;

	if (first == MPROF_NONE)
		return false;
	begin(f, MPROF_CAUSE_DEADLOCK, first);
	do {
		name_thread(f, t, names[n++]);
		t = why_next(f->why, t);
	} while (t != first && n < CYCLE_MAX);
	qsort(names, n, sizeof(names[0]), compare_names);
	for (uint32_t i = 0; i < n; i++)
		put_line(f, names[i]);
	return true;
}

/* ---- threads that should resolve ---- */

/* Return the order of a verdict: the lower, the more it says of the cause. */
static unsigned rank(enum mprof_why_verdict verdict)
{
	static const unsigned char ranks[] = {
		[MPROF_WHY_MISSED_SIGNAL] = 0,	 [MPROF_WHY_MISSED_RESOLVE] = 0,  [MPROF_WHY_NOT_WOKEN] = 1,
		[MPROF_WHY_NEVER_SIGNALLED] = 2, [MPROF_WHY_SIGNALLED_SINCE] = 3, [MPROF_WHY_NEVER_RESOLVED] = 4,
		[MPROF_WHY_CYCLE] = 5,		 [MPROF_WHY_RESOLVED] = 6,	  [MPROF_WHY_HOLDER_ENDED] = 0,
		[MPROF_WHY_IDLE_OR_MISSED] = 4,
	};

	return ranks[verdict];
}

/* Find the thread that should resolve and did not whose answer says most; of equal ones that which waits longest. */
static bool find_waiting(const struct finder *f, struct mprof_why_answer *best)
{
	uint32_t asked = 0;

	for (uint32_t i = 0; i < f->view->n_expectations && asked < ASKED_MAX; i++) {
		uint32_t thread = f->view->expectations[i].final;
		struct mprof_why_answer a;

		if (f->view->threads[thread].flags & (MPROF_THREAD_RESOLVED | MPROF_THREAD_ROOT))
			continue;
		mprof_why_ask(f->why, thread, &a);
		if (!asked++ || rank(a.verdict) < rank(best->verdict) ||
		    (rank(a.verdict) == rank(best->verdict) && a.since < best->since))
			*best = a;
	}
	return asked > 0;
}

static void put_answer(const struct finder *f, enum mprof_cause_kind kind, const struct mprof_why_answer *a)
{
	static const char *const verdicts[] = {
		[MPROF_WHY_RESOLVED] = "resolved",	     [MPROF_WHY_MISSED_SIGNAL] = "signal",
		[MPROF_WHY_MISSED_RESOLVE] = "resolution",   [MPROF_WHY_NOT_WOKEN] = "not woken",
		[MPROF_WHY_SIGNALLED_SINCE] = "signalled",   [MPROF_WHY_NEVER_SIGNALLED] = "not signalled",
		[MPROF_WHY_NEVER_RESOLVED] = "not resolved", [MPROF_WHY_CYCLE] = "cycle",
		[MPROF_WHY_IDLE_OR_MISSED] = "idle",	     [MPROF_WHY_HOLDER_ENDED] = "holder ended",
	};

	begin(f, kind, a->thread);
	put_line(f, verdicts[a->verdict]);
	put_thread(f, a->thread);
	if (a->root != a->thread)
		put_thread(f, a->root);
	if (a->condition != a->root)
		put_thread(f, a->condition);
}

/* ---- what ran last ---- */

/* Return the last activation of a thread of the guest, MPROF_NONE if no thread ran. */
static uint32_t last_activation(const struct finder *f)
{
	uint32_t last = MPROF_NONE, i;

	for (uint32_t s = 0; s < f->view->n_streams; s++) {
		i = mprof_why_last(f->why, s, true);
		if (i != MPROF_NONE &&
		    (last == MPROF_NONE || f->view->activations[i].end > f->view->activations[last].end))
			last = i;
	}
	return last;
}

static bool slept(const struct finder *f)
{
	return f->view->n_streams && mprof_coverage_asleep(f->view, 0) != UINT64_MAX;
}

/* The last thread that failed, if it failed at or after FROM, ns. */
static bool find_failed(const struct finder *f, uint64_t from)
{
	const struct mprof_thread *t = f->view->threads;
	uint32_t last = MPROF_NONE;
	char text[NAME_BYTES];

	for (uint32_t i = 0; i < f->view->n_threads; i++)
		/* The model gives a thread that never resolved a failure of its own. */
		if (t[i].failure != MPROF_NONE && !(t[i].flags & MPROF_THREAD_NEVER_RESOLVED) && t[i].end >= from &&
		    (last == MPROF_NONE || t[i].end >= t[last].end))
			last = i;
	if (last == MPROF_NONE)
		return false;
	begin(f, MPROF_CAUSE_FAILED, last);
	put_general(text, sizeof(text), f->view->text + f->view->strings[t[last].failure].offset,
		    f->view->strings[t[last].failure].bytes);
	put_line(f, text);
	put_thread(f, last);
	return true;
}

/*
 * The thread that ran last, and the labelled ones of its creators. A ring forgets what is old, so threads that the
 * trace does not begin with, and those without a label, must not tell two ends from each other.
 */
static void put_last(const struct finder *f, uint32_t activation)
{
	const struct mprof_thread *threads = f->view->threads;
	uint32_t thread = activation == MPROF_NONE ? MPROF_NONE : f->view->activations[activation].thread;

	begin(f, thread == MPROF_NONE ? MPROF_CAUSE_NONE : MPROF_CAUSE_LAST, thread);
	put_thread(f, thread);
	for (uint32_t n = 0; n < CREATORS_MAX && thread != MPROF_NONE; n++) {
		thread = threads[thread].creator;
		if (thread == MPROF_NONE || threads[thread].flags & (MPROF_THREAD_ROOT | MPROF_THREAD_PREEXISTING))
			return;
		if (thread_label(f->view, thread) != MPROF_NONE)
			put_thread(f, thread);
	}
}

enum mprof_status mprof_cause_find(const struct mprof_model_view *view, const struct mprof_why *why,
				   struct mprof_cause *cause)
{
	const struct finder f = {view, why, cause};
	uint32_t *seen = calloc((size_t)view->n_threads + 1, sizeof(*seen)), last = last_activation(&f);
	struct mprof_why_answer a;
	bool waits;

	if (!seen)
		return MPROF_NOMEM;
	if (find_deadlock(&f, seen)) {
		free(seen);
		return MPROF_OK;
	}
	free(seen);
	waits = find_waiting(&f, &a);
	if (waits && (a.verdict == MPROF_WHY_MISSED_SIGNAL || a.verdict == MPROF_WHY_MISSED_RESOLVE))
		put_answer(&f, MPROF_CAUSE_MISSED, &a);
	else if (last != MPROF_NONE && find_failed(&f, view->activations[last].start))
		return MPROF_OK;
	else if (waits && slept(&f))
		put_answer(&f, MPROF_CAUSE_WAITS, &a);
	else
		put_last(&f, last);
	return MPROF_OK;
}
