/*
 * The causes of a hang, found in the machine's state, and whether `why` names them.
 *
 * A thread that waits for ever waits for a thread that does, or for something that nobody does. The last
 * of such a chain is a cause.
 */
#include "truth.h"

#include <string.h>

#include "answers.h"

enum cause_kind {
	CAUSE_NONE,
	CAUSE_CYCLE,  /* threads that wait for each other's locks */
	CAUSE_GONE,   /* THREAD ended, or stayed in the parent process, with lock OBJECT */
	CAUSE_MISSED, /* the signal of condition OBJECT came before the wait */
	CAUSE_NOBODY, /* nobody signals, posts or writes OBJECT */
	CAUSE_OTHER,  /* of another process, or readers of a lock, whom no recorder writes */
};

struct cause {
	enum cause_kind kind;
	int thread, object;
	int wait;	/* the last wait of the chain */
	uint64_t cycle; /* a bit for each thread */
	/*
	 * For a missed signal: the waiter had the mutex from before the signal, so it cannot have looked after the signal
	 * whether to wait; and the thread that signalled had no mutex since its signal before, so the waiter had not
	 * looked for the thing that it signals. Without both the waiter may as well be idle: a trace cannot tell.
	 */
	bool provable;
	/*
	 * The recorder wrote who holds each lock of the cause. A thread that takes a free lock, past a waiter that was
	 * woken, writes nothing.
	 */
	bool told;
};

static int process_of(const struct trial *t, int thread)
{
	return t->world->threads[thread].process;
}

/* Return the last signal of the condition for which WAIT waits, or NULL. */
static const struct fact *last_signal(const struct trial *t, const struct wait *wait)
{
	const struct fact *last = NULL;

	for (unsigned i = 0; i < t->world->n_facts; i++) {
		const struct fact *f = &t->world->facts[i];

		if (f->kind == FACT_SIGNAL && f->process == wait->process && f->object == wait->object)
			last = f;
	}
	return last;
}

/* Return whether the waiter locked a mutex after TIME, and before its wait. */
static bool locked_after(const struct trial *t, const struct wait *wait, uint64_t time)
{
	for (unsigned i = 0; i < t->world->n_facts && t->world->facts[i].time < wait->begin; i++)
		if (t->world->facts[i].kind == FACT_TAKE && t->world->facts[i].thread == wait->thread &&
		    t->world->facts[i].time > time)
			return true;
	return false;
}

/* Return whether the thread of SIGNAL released a mutex since it signalled the condition before. */
static bool released_since(const struct trial *t, const struct fact *signal)
{
	for (const struct fact *f = signal; f-- > t->world->facts;) {
		if (f->thread != signal->thread)
			continue;
		if (f->kind == FACT_FREE)
			return true;
		if (f->kind == FACT_SIGNAL && f->object == signal->object)
			return false;
	}
	return false;
}

/* Set C, of WAIT for a condition: its last signal woke nobody, or nobody signals it. */
static void cause_at_condition(const struct trial *t, const struct wait *wait, struct cause *c)
{
	const struct fact *last = last_signal(t, wait);
	bool missed = last && last->n == 0 && last->time < wait->begin && world_satisfied(t->world, wait);

	c->kind = missed ? CAUSE_MISSED : CAUSE_NOBODY;
	c->provable = missed && !locked_after(t, wait, last->time) && !released_since(t, last);
}

/* Return the cause at WAIT, or CAUSE_NONE and the next thread in *NEXT. */
static struct cause cause_at(const struct trial *t, int index, int *next)
{
	const struct wait *wait = &t->world->waits[index];
	struct cause c = {.thread = WORLD_NONE, .object = wait->object, .wait = index};
	enum object_kind kind = wait->object == WORLD_NONE ? OBJECT_NONE : t->world->objects[0][wait->object].kind;
	int holder;

	*next = wait->joined;
	if (wait->joined != WORLD_NONE) {
		c.kind = process_of(t, wait->joined) == wait->process ? CAUSE_NONE : CAUSE_OTHER;
		return c;
	}
	if (kind == OBJECT_CONDITION) {
		cause_at_condition(t, wait, &c);
		return c;
	}
	if (kind != OBJECT_MUTEX && kind != OBJECT_RWLOCK) {
		c.kind = CAUSE_NOBODY;
		return c;
	}
	holder = world_holder_at(t->world, wait->process, wait->object, WORLD_NEVER);
	if (holder == WORLD_NONE) {
		c.kind = CAUSE_OTHER;
	} else if (process_of(t, holder) != wait->process || t->world->threads[holder].end != WORLD_NEVER) {
		c.kind = CAUSE_GONE;
		c.thread = holder;
	}
	*next = holder;
	return c;
}

/* Return whether others waited for OBJECT of PROCESS at TIME. */
static bool others_wait(const struct trial *t, int process, int object, uint64_t time)
{
	for (unsigned i = 0; i < t->world->n_waits; i++) {
		const struct wait *it = &t->world->waits[i];

		if (it->process == process && it->object == object && it->begin < time && it->end > time)
			return true;
	}
	return false;
}

/* Return whether the recorder wrote who holds the lock for which WAIT waits: a wait began since, or a waiter took it. */
static bool is_told(const struct trial *t, const struct wait *wait)
{
	const struct world *w = t->world;
	const struct fact *take = NULL;
	bool waited = false;

	if (wait->joined != WORLD_NONE)
		return true;
	for (unsigned i = 0; i < w->n_facts; i++) {
		const struct fact *f = &w->facts[i];

		if (f->process != wait->process || f->object != wait->object)
			continue;
		if (f->kind == FACT_TAKE && !f->n)
			take = f;
		else if (f->kind == FACT_RESUME && take && f->time == take->time && f->thread == take->thread)
			waited = waited || others_wait(t, wait->process, wait->object, f->time);
		else if (f->kind == FACT_FREE)
			take = NULL;
		waited = waited && take;
		if (f->kind == FACT_BLOCK && f->time <= t->recording->until && take &&
		    w->waits[f->wait].begin > take->time)
			waited = true;
	}
	return waited || !take; /* without TAKE a fork left it behind: each wait says so */
}

static struct cause cause_of(const struct trial *t, int thread)
{
	struct cause c = {.kind = CAUSE_NONE};
	bool told[WORLD_THREADS];
	int path[WORLD_THREADS], next;
	unsigned n = 0;
	uint64_t seen = 0;

	for (;; thread = next) {
		int wait = world_wait_at(t->world, thread, t->recording->until);

		if (wait == WORLD_NONE || t->world->waits[wait].end != WORLD_NEVER)
			return (struct cause){.kind = CAUSE_NONE}; /* it comes to its last wait later */
		if (seen >> thread & 1) {
			c.kind = CAUSE_CYCLE;
			c.told = true;
			do {
				n--;
				c.told = c.told && told[n];
				c.cycle |= UINT64_C(1) << path[n];
			} while (path[n] != thread);
			return c;
		}
		seen |= UINT64_C(1) << thread;
		told[n] = is_told(t, &t->world->waits[wait]);
		path[n++] = thread;
		c = cause_at(t, wait, &next);
		c.told = c.kind != CAUSE_GONE || told[n - 1];
		if (c.kind != CAUSE_NONE)
			return c;
	}
}

/* ---- what the trace still proves ---- */

static bool shows_block(const struct trial *t, int wait)
{
	for (unsigned i = 0; i < t->world->n_facts; i++)
		if (t->world->facts[i].kind == FACT_BLOCK && t->world->facts[i].wait == wait)
			return recording_shows(t->recording, i);
	return false;
}

/* Return whether the ring of names and all rings reach back to the beginning: nothing could be unseen. */
static bool is_proven(const struct trial *t, const struct cause *c)
{
	/* Lwt's traces have no mutexes. */
	if (t->recording->lwt && c->kind != CAUSE_MISSED && c->kind != CAUSE_NOBODY)
		return false;
	if (recording_is_whole(t->recording))
		return true;
	/* In a missing packet a wait may have ended. */
	if (c->kind != CAUSE_CYCLE || t->recording->hiding->kinds || t->recording->cut)
		return false;
	for (int i = 0; i < (int)t->world->n_threads; i++)
		if (c->cycle >> i & 1 && !shows_block(t, world_wait_at(t->world, i, t->recording->until)))
			return false;
	return true;
}

/* ---- whether it is named ---- */

static bool chain_has(const struct trial *t, const json_t *answer, int thread, int object, int wait)
{
	json_t *link;
	size_t i;

	json_array_foreach(json_object_get(answer, "chain"), i, link)
	{
		struct entity e = recording_entity(t->recording, answers_number(link, "thread"));

		if ((thread != WORLD_NONE && e.thread == thread) || (object != WORLD_NONE && e.object == object) ||
		    (wait != WORLD_NONE && e.wait == wait))
			return true;
	}
	return false;
}

static bool names(const struct trial *t, const struct cause *c, const json_t *answer)
{
	const char *verdict = answers_text(answer, "verdict");

	switch (c->kind) {
	case CAUSE_CYCLE:
		for (int i = 0; i < (int)t->world->n_threads; i++)
			if (c->cycle >> i & 1 && !chain_has(t, answer, i, WORLD_NONE, WORLD_NONE))
				return false;
		return strcmp(verdict, "circle") == 0;
	case CAUSE_GONE:
		return chain_has(t, answer, c->thread, WORLD_NONE, WORLD_NONE);
	case CAUSE_MISSED:
		return (strcmp(verdict, "missed-signal") == 0 ||
			(!c->provable && strcmp(verdict, "idle-or-missed") == 0)) &&
		       chain_has(t, answer, WORLD_NONE, WORLD_NONE, c->wait);
	default:
		return chain_has(t, answer, WORLD_NONE, c->object, WORLD_NONE) ||
		       recording_entity(t->recording, answers_number(json_object_get(answer, "condition"), "thread"))
				       .object == c->object;
	}
}

static bool is_named(const struct trial *t, const struct cause *c, const json_t *why)
{
	json_t *answer;
	size_t i;

	json_array_foreach(json_object_get(why, "answers"), i, answer)
	{
		if (names(t, c, answer))
			return true;
	}
	return false;
}

void truth_of_causes(const struct trial *t, const json_t *why)
{
	static const char *const kinds[] = {[CAUSE_CYCLE] = "a cycle",
					    [CAUSE_GONE] = "a holder that is gone",
					    [CAUSE_MISSED] = "a missed signal",
					    [CAUSE_NOBODY] = "an object that nobody signals"};

	for (unsigned i = 0; i < t->world->n_threads; i++) {
		struct cause c;

		if (process_of(t, (int)i) != t->recording->process ||
		    !world_stuck(t->world, (int)i, t->recording->until))
			continue;
		c = cause_of(t, (int)i);
		if (c.kind == CAUSE_NONE || c.kind == CAUSE_OTHER || !is_proven(t, &c))
			continue;
		figures_note(t->figures,
			     !c.told				? SENTENCE_NAMED_UNTOLD
			     : recording_is_whole(t->recording) ? SENTENCE_NAMED_WHOLE
								: SENTENCE_NAMED_HIDDEN,
			     is_named(t, &c, why), "%s, object %d", kinds[c.kind], c.object);
	}
}
