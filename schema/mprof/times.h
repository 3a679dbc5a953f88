/*
 * Times out of order (schema/times.md): the one rule by which events behind an event tell whether its time is damaged, or
 * whether the clock went back. Pure functions over private bytes: no I/O, no allocation, no state.
 */
#ifndef MPROF_SCHEMA_TIMES_H
#define MPROF_SCHEMA_TIMES_H

#include <mprof/event.h>

#define MPROF_TIMES_ORDER 1000000u /* ns that an event may be out of order without being judged */
#define MPROF_TIMES_LATEST \
	(10 * (uint64_t)1000000000) /* ns that an event may be published later than its clock was read */
#define MPROF_TIMES_FAR	       (100 * 86400 * (uint64_t)1000000000) /* ns that only events behind it can prove */
#define MPROF_TIMES_NEIGHBOURS 16u   /* number of events behind an event that are compared with it */
#define MPROF_TIMES_REACH      4096u /* bytes behind the end of an event in which they lie */
#define MPROF_TIMES_NEARER     16u   /* a time is near another one within this part of a distance */
#define MPROF_TIMES_MANY       4u    /* events behind an event that prove more than its writer's delay */

/* Verdict on an event's time. */
enum mprof_times_verdict {
	MPROF_TIMES_SOUND,   /* in order, or later: the program may have slept */
	MPROF_TIMES_LATE,    /* earlier, but in order: published late, or of the lap before */
	MPROF_TIMES_AHEAD,   /* later, but in order: the events behind it may have been published late */
	MPROF_TIMES_ALONE,   /* the events behind it are too few to tell whether its time is damaged */
	MPROF_TIMES_BACK,    /* the clock went back */
	MPROF_TIMES_DAMAGED, /* the event's time contradicts those before and behind it */
};

/* Times of the events behind an event, ns. */
struct mprof_times_behind {
	uint64_t time[MPROF_TIMES_NEIGHBOURS];
	unsigned n;
	bool broken; /* the bytes behind them are no event: these may be none either */
};

/* Return whether an event at TIME, ns, must be judged, if the latest event before it is at BEFORE. */
static inline bool mprof_times_doubt(uint64_t before, uint64_t time)
{
	return time - before + MPROF_TIMES_ORDER > 2 * (uint64_t)MPROF_TIMES_ORDER;
}

static inline uint64_t mprof_times_distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Return whether TIME is near OTHER, if AWAY lies between the event that is judged and the one before. All in ns. */
static inline bool mprof_times_near(uint64_t time, uint64_t other, uint64_t away)
{
	return mprof_times_distance(time, other) <= away / MPROF_TIMES_NEARER;
}

/*
 * Return whether an event BEHIND one at TIME lies between it and the latest one BEFORE it, near neither TIME nor later:
 * so the event at TIME was ahead of the ring. All in ns.
 */
static inline bool mprof_times_overtaken(uint64_t before, uint64_t time, uint64_t behind)
{
	uint64_t away = mprof_times_distance(time, before);

	return time > before && behind < time - away / MPROF_TIMES_NEARER &&
	       (behind >= before || mprof_times_near(behind, before, away));
}

/*
 * Return whether the event at TIME, which was alone (MPROF_TIMES_ALONE), was damaged: the one BEFORE it and the one
 * BEHIND it, which is now known, are near each other, and more than MPROF_TIMES_LATEST from it. All in ns.
 */
static inline bool mprof_times_stands_out(uint64_t before, uint64_t time, uint64_t behind)
{
	uint64_t away = mprof_times_distance(time, before);

	return away > MPROF_TIMES_LATEST && mprof_times_near(behind, before, away);
}

/*
 * Store in *B the times of the events in the LEN bytes at P, which begin behind an event and end with its packet (WHOLE) or
 * before.
 */
static inline void mprof_times_look(struct mprof_times_behind *b, const uint8_t *p, size_t len, bool whole)
{
	enum mprof_event_status status = MPROF_EVENT_OK;
	struct mprof_raw_event e;
	size_t at = 0;

	b->n = 0;
	whole = whole && len <= MPROF_TIMES_REACH;
	len = len < MPROF_TIMES_REACH ? len : MPROF_TIMES_REACH;
	while (at < len && b->n < MPROF_TIMES_NEIGHBOURS) {
		status = mprof_event_load(&e, p + at, len - at);
		if (status != MPROF_EVENT_OK)
			break;
		b->time[b->n++] = e.timestamp;
		at += e.bytes;
	}
	b->broken = status == MPROF_EVENT_UNKNOWN_ID || (status != MPROF_EVENT_OK && whole);
}

/*
 * Judge the first event of a trace, at TIME, by the events B behind it alone. The clock may have been set behind it, so
 * it must be far.
 */
static inline enum mprof_times_verdict mprof_times_judge_first(uint64_t time, const struct mprof_times_behind *b)
{
	uint64_t away;

	if (b->n < 2)
		return MPROF_TIMES_SOUND;
	away = mprof_times_distance(time, b->time[0]);
	for (unsigned i = 1; i < b->n; i++)
		if (!mprof_times_near(b->time[i], b->time[0], away))
			return MPROF_TIMES_SOUND;
	return away > MPROF_TIMES_FAR ? MPROF_TIMES_DAMAGED : MPROF_TIMES_SOUND;
}

/* Return how many of the first N events of B are near TIME, if AWAY lies between the judged event and the one before. */
static inline unsigned mprof_times_count(const struct mprof_times_behind *b, unsigned n, uint64_t time, uint64_t away)
{
	unsigned found = 0;

	for (unsigned i = 0; i < n; i++)
		found += mprof_times_near(b->time[i], time, away);
	return found;
}

/*
 * Return whether the events B, of which there is one, tell that TIME was damaged: they go on from BEFORE. A few events
 * within MPROF_TIMES_LATEST may have been published late together.
 */
static inline bool mprof_times_contradict(const struct mprof_times_behind *b, uint64_t before, uint64_t time)
{
	uint64_t away = mprof_times_distance(before, time);
	unsigned n = b->n;

	if (away > MPROF_TIMES_LATEST)
		return mprof_times_count(b, n, before, away) > mprof_times_count(b, n, time, away);
	n = n < 2 * MPROF_TIMES_MANY ? n : 2 * MPROF_TIMES_MANY;
	return n >= MPROF_TIMES_MANY && mprof_times_count(b, n, before, away) == n &&
	       mprof_times_count(b, n, time, away) == 0;
}

/*
 * Return whether the events B, of which there is one, go on from BEFORE, at once or behind a few that were late as well;
 * or are of writers with different times: some are early, and later ones not. A few events do not tell.
 */
static inline bool mprof_times_mixed(const struct mprof_times_behind *b, uint64_t before, uint64_t time)
{
	uint64_t limit = before - (before - time) / MPROF_TIMES_NEARER;

	if (b->n < MPROF_TIMES_MANY || b->time[0] >= limit)
		return true;
	for (unsigned i = 1; i < b->n; i++) {
		if (b->time[i] < limit && b->time[i - 1] >= limit)
			return true;
		if (i < MPROF_TIMES_MANY && mprof_times_near(b->time[i], before, before - time))
			return true;
	}
	return false;
}

/*
 * Return whether the event at TIME, and B behind it, which end at broken bytes, may be bytes beside an event, if the latest
 * one BEFORE it is true: it is much earlier, or about 256 times too late, or no event behind it is near it.
 */
static inline bool mprof_times_strange(const struct mprof_times_behind *b, uint64_t before, uint64_t time)
{
	uint64_t away = mprof_times_distance(before, time);

	return away > MPROF_TIMES_LATEST &&
	       (time < before || time / 128 > before || (b->n && !mprof_times_count(b, b->n, time, away)));
}

/*
 * Judge an event at TIME, ns, by the events B behind it and the latest one BEFORE it, 0 = it is the first of the trace,
 * or behind events at 0 alone.
 * LAP: bytes of the lap before may lie here, so an earlier time says nothing of the clock.
 */
static inline enum mprof_times_verdict mprof_times_judge(uint64_t before, uint64_t time,
							 const struct mprof_times_behind *b, bool lap)
{
	uint64_t away = mprof_times_distance(before, time);

	if (!before)
		return mprof_times_judge_first(time, b);
	if (!mprof_times_doubt(before, time))
		return MPROF_TIMES_SOUND;
	if (b->broken && mprof_times_strange(b, before, time))
		return MPROF_TIMES_DAMAGED;
	if (!b->n && away > MPROF_TIMES_FAR)
		return MPROF_TIMES_DAMAGED;
	if (!b->n)
		return time > before || away > MPROF_TIMES_LATEST ? MPROF_TIMES_ALONE : MPROF_TIMES_LATE;
	if (time > before && mprof_times_contradict(b, before, time))
		return MPROF_TIMES_DAMAGED;
	if (time > before && away <= MPROF_TIMES_LATEST && mprof_times_overtaken(before, time, b->time[0]))
		return MPROF_TIMES_AHEAD;
	if (time > before)
		return MPROF_TIMES_SOUND;
	if (away > MPROF_TIMES_LATEST && mprof_times_contradict(b, before, time))
		return MPROF_TIMES_DAMAGED;
	if (lap || (away <= MPROF_TIMES_LATEST && mprof_times_mixed(b, before, time)))
		return MPROF_TIMES_LATE;
	return MPROF_TIMES_BACK;
}

/* Times of the first and the last of some events, ns, without one that was alone and damaged. Zeroes at the beginning. */
struct mprof_times_span {
	uint64_t first;
	uint64_t last;
	uint64_t time, before;		    /* times of the last two events, 0 = none */
	uint64_t first_before, last_before; /* the span without the last event */
	bool begun;
};

/* Add an event at TIME, ns, to the span S. Events come in the order of their stream. */
static inline void mprof_times_span_add(struct mprof_times_span *s, uint64_t time)
{
	if (!s->begun)
		s->first = s->last = time;
	s->begun = true;
	if (s->before && mprof_times_stands_out(s->before, s->time, time)) {
		s->first = s->first_before;
		s->last = s->last_before;
		s->time = s->before;
	}
	s->first_before = s->first;
	s->last_before = s->last;
	s->before = s->time;
	s->time = time;
	s->first = time < s->first ? time : s->first;
	s->last = time > s->last ? time : s->last;
}

#endif
