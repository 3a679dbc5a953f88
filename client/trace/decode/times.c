/*
 * Times out of order.
 *
 * An event is judged when the event behind it is known. Most events need no judgement: they are not earlier than the event
 * before, and not far behind it. Only if the last event of a batch needs one, it is kept, with a copy of its text.
 *
 * Invariant: BEFORE is the time of the last event that was given out, if there is one (BEGUN).
 */
#include <mprof/times.h>

#include <stdlib.h>
#include <string.h>

/* The neighbours of an event that stands out are nearer to each other by this factor. */
#define NEARER 16u

struct mprof_times {
	struct mprof_times_found found;
	uint64_t before;
	bool begun;
	bool holding;
	struct mprof_event held;
	/* Texts of the event that is kept, and of the one that was given out last: OWNED[WHICH] is the latter. Owned. */
	char *owned[2];
	unsigned int which;
};

struct mprof_times *mprof_times_new(void)
{
	return calloc(1, sizeof(struct mprof_times));
}

struct mprof_times *mprof_times_free(struct mprof_times *t)
{
	if (t) {
		free(t->owned[0]);
		free(t->owned[1]);
	}
	free(t);
	return NULL;
}

const struct mprof_times_found *mprof_times_found(const struct mprof_times *t)
{
	return &t->found;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Return true if an event at TIME needs the next event to be judged. */
static inline bool is_doubtful(const struct mprof_times *t, uint64_t time)
{
	return t->begun && distance(time, t->before) > MPROF_TIMES_ORDER_NS &&
	       (time < t->before || time - t->before > MPROF_TIMES_AWAY_NS);
}

/* Return true if an event at TIME stands out between that at T's BEFORE and one at NEXT. */
static bool stands_out(const struct mprof_times *t, uint64_t time, uint64_t next)
{
	uint64_t away = distance(time, next), apart = distance(next, t->before);

	if (next < t->before && apart > MPROF_TIMES_ORDER_NS)
		return false;
	return away > MPROF_TIMES_AWAY_NS && distance(time, t->before) > MPROF_TIMES_AWAY_NS && away / NEARER > apart &&
	       (time < t->before || time > next);
}

/* Return true if a TIME at an end of the stream is too far ahead of that of its only neighbour, OTHER. */
static bool is_far_ahead(uint64_t time, uint64_t other)
{
	return time > other && time - other > MPROF_TIMES_LAST_NS;
}

static void give_out(struct mprof_times *t, struct mprof_event *e, bool fault)
{
	struct mprof_times_found *found = &t->found;
	uint64_t time = e->raw.timestamp;

	if (fault) {
		e->raw.timestamp = t->before;
		found->faults++;
		found->fault_offset = e->offset;
		return;
	}
	if (t->begun && time < t->before && t->before - time > MPROF_TIMES_ORDER_NS) {
		if (!found->steps++) {
			found->step_ns = t->before;
			found->back_ns = t->before - time;
		}
		if (t->before - time > found->most_back_ns)
			found->most_back_ns = t->before - time;
	}
	t->before = time;
	t->begun = true;
}

/* Keep E. Return false without memory. */
static bool hold(struct mprof_times *t, const struct mprof_event *e)
{
	char **owned = &t->owned[!t->which];

	t->held = *e;
	if (e->raw.text) {
		char *text = realloc(*owned, e->raw.text_bytes + 1);

		if (!text)
			return false;
		*owned = text;
		memcpy(text, e->raw.text, e->raw.text_bytes);
		text[e->raw.text_bytes] = 0;
		t->held.raw.text = text;
	}
	t->which = !t->which;
	t->holding = true;
	return true;
}

/* Judge the N events; the last one is kept if it is doubtful. Return the number of those that are given out. */
static size_t judge(struct mprof_times *t, struct mprof_event *events, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t time = events[i].raw.timestamp;

		if (!t->begun && i + 1 < n && is_far_ahead(time, events[i + 1].raw.timestamp)) {
			t->before = events[i + 1].raw.timestamp;
			t->begun = true;
			give_out(t, &events[i], true);
			continue;
		}
		if (!is_doubtful(t, time)) {
			t->before = time;
			t->begun = true;
			continue;
		}
		if (i + 1 == n && hold(t, &events[i]))
			return i;
		/* Without memory to keep it the event is taken as it is. */
		give_out(t, &events[i], i + 1 < n && stands_out(t, time, events[i + 1].raw.timestamp));
	}
	return n;
}

size_t mprof_times_check(struct mprof_times *t, struct mprof_event *events, size_t n)
{
	if (!n)
		return 0;
	if (t->holding) {
		t->holding = false;
		give_out(t, &t->held, stands_out(t, t->held.raw.timestamp, events[0].raw.timestamp));
		memmove(events + 1, events, n * sizeof(*events));
		events[0] = t->held;
		return 1 + judge(t, events + 1, n);
	}
	return judge(t, events, n);
}

size_t mprof_times_end(struct mprof_times *t, struct mprof_event *event, bool last)
{
	if (!t->holding)
		return 0;
	t->holding = false;
	give_out(t, &t->held,
		 last && t->held.raw.timestamp > t->before && t->held.raw.timestamp - t->before > MPROF_TIMES_LAST_NS);
	*event = t->held;
	return 1;
}
