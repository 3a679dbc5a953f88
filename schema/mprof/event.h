/*
 * Events: the event table as C, the parser of one event, and mprof_tail_walk(). Pure functions over
 * private bytes: no I/O, no allocation, no state.
 */
#ifndef MPROF_SCHEMA_EVENT_H
#define MPROF_SCHEMA_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <mprof/bytes.h>
#include <mprof/ids.h>
#include <mprof/ring.h>

enum mprof_shape {
	MPROF_SHAPE_NONE,
	MPROF_SHAPE_THREAD,
	MPROF_SHAPE_THREAD_TYPE,
	MPROF_SHAPE_THREAD_TEXT,
	MPROF_SHAPE_TEXT,
	MPROF_SHAPE_AMOUNT_TEXT,
	MPROF_SHAPE_DURATION,
	MPROF_SHAPE_EXTRA,
};

/*
 * One parsed event. TEXT points into the parsed bytes and is NUL-terminated there; only the bytes of
 * an event `extra` (mprof_extra_load()) are not terminated.
 */
struct mprof_raw_event {
	uint64_t timestamp; /* nanoseconds of the guest's clock */
	uint8_t id;	    /* enum mprof_event_id */
	/*
	 * Thread type of a `creates` event, or kind of an `extra`; any value is possible. A decoder stores here
	 * the enum mprof_counter_kind of a `counter` or `increase`.
	 */
	uint8_t type;
	int64_t context;   /* the context thread; 0 if the event has none */
	int64_t number;	   /* the payload's thread, amount or duration; 0 if the event has none */
	const char *text;  /* NULL if the event has none */
	size_t text_bytes; /* bytes, without the terminator */
	size_t bytes;	   /* bytes of the whole event */
};

enum mprof_event_status {
	MPROF_EVENT_OK = 0,
	MPROF_EVENT_CUT,	/* the bytes end inside the event */
	MPROF_EVENT_UNKNOWN_ID, /* the id is not in the table */
};

/* Return the shape of the event type ID, which must be below MPROF_EVENT_IDS. */
static inline enum mprof_shape mprof_event_shape(uint8_t id)
{
	static const uint8_t shapes[MPROF_EVENT_IDS] = {
#define MPROF_EVENT(id, name, ctx, key, shape, number, text) [id] = MPROF_SHAPE_##shape,
#include <mprof/events.def>
	};

	return (enum mprof_shape)shapes[id];
}

/* Return whether events of type ID have a context thread. ID must be below MPROF_EVENT_IDS. */
static inline bool mprof_event_has_context(uint8_t id)
{
	static const bool has[MPROF_EVENT_IDS] = {
#define MPROF_EVENT(id, name, ctx, key, shape, number, text) [id] = (ctx) != 0,
#include <mprof/events.def>
	};

	return has[id];
}

/*
 * Return the name of the event type ID, or "unknown" if ID is not in the table. An `extra` is called
 * "duration": a decoder gives out only durations under this id (mprof/extra.h).
 */
static inline const char *mprof_event_name(uint8_t id)
{
	static const char *const names[MPROF_EVENT_IDS] = {
#define MPROF_EVENT(id, name, ctx, key, shape, number, text) [id] = #name,
#include <mprof/events.def>
	};

	if (id == MPROF_EVENT_extra)
		return "duration";
	return id < MPROF_EVENT_IDS ? names[id] : "unknown";
}

/* Return the name of a thread type, or "Unknown" if the type is not in the table. */
static inline const char *mprof_thread_type_name(uint8_t type)
{
	static const char *const names[MPROF_THREAD_TYPES] = {
#define MPROF_THREAD_TYPE(id, name) [id] = #name,
#include <mprof/events.def>
	};

	return type < MPROF_THREAD_TYPES ? names[type] : "Unknown";
}

/* Return the name of the state KIND of a thread (enum mprof_state_kind), or "unknown" if KIND is not in the table. */
static inline const char *mprof_state_name(unsigned int kind)
{
	static const char *const names[MPROF_STATE_KINDS] = {
#define MPROF_STATE(id, name) [id] = #name,
#include <mprof/events.def>
	};

	return kind < MPROF_STATE_KINDS ? names[kind] : "unknown";
}

/* Return whether a thread in the state KIND does not run on by itself, whatever it was about to do. */
static inline bool mprof_state_is_stop(unsigned int kind)
{
	return kind == MPROF_STATE_blocked || kind == MPROF_STATE_stopped || kind == MPROF_STATE_traced;
}

/* Parse the rest of an event `extra`, of which the header is loaded. Return as mprof_event_load(). */
static inline enum mprof_event_status mprof_event_load_extra(struct mprof_raw_event *e, const uint8_t *p, size_t len)
{
	const size_t fixed = MPROF_EVENT_HEADER_BYTES + MPROF_EXTRA_HEADER_BYTES;
	size_t bytes;

	if (len < fixed)
		return MPROF_EVENT_CUT;
	bytes = mprof_load16(p + MPROF_EVENT_HEADER_BYTES);
	if (len - fixed < bytes)
		return MPROF_EVENT_CUT;
	e->type = p[MPROF_EVENT_HEADER_BYTES + 2];
	e->text = (const char *)p + fixed;
	e->text_bytes = bytes;
	e->bytes = fixed + bytes;
	return MPROF_EVENT_OK;
}

/*
 * Parse the event at P into *E, which then points into P. The bytes at P end after LEN bytes. If
 * the status is not MPROF_EVENT_OK, only the timestamp and the id of *E are valid, and only if LEN
 * covers them.
 */
static inline enum mprof_event_status mprof_event_load(struct mprof_raw_event *e, const uint8_t *p, size_t len)
{
	size_t at = MPROF_EVENT_HEADER_BYTES;
	enum mprof_shape shape;
	const uint8_t *end;

	memset(e, 0, sizeof(*e));
	if (len < MPROF_EVENT_HEADER_BYTES)
		return MPROF_EVENT_CUT;
	e->timestamp = mprof_load64(p);
	e->id = p[8];
	if (e->id >= MPROF_EVENT_IDS)
		return MPROF_EVENT_UNKNOWN_ID;
	shape = mprof_event_shape(e->id);
	if (shape == MPROF_SHAPE_EXTRA)
		return mprof_event_load_extra(e, p, len);
	if (len < MPROF_EVENT_BYTES_MIN)
		return MPROF_EVENT_CUT;
	if (mprof_event_has_context(e->id)) {
		e->context = (int64_t)mprof_load64(p + at);
		at += 8;
	}
	if (shape != MPROF_SHAPE_NONE && shape != MPROF_SHAPE_TEXT) {
		if (len - at < 8)
			return MPROF_EVENT_CUT;
		e->number = (int64_t)mprof_load64(p + at);
		at += 8;
	}
	if (shape == MPROF_SHAPE_THREAD_TYPE) {
		if (at == len)
			return MPROF_EVENT_CUT;
		e->type = p[at++];
	}
	if (shape == MPROF_SHAPE_TEXT || shape == MPROF_SHAPE_THREAD_TEXT || shape == MPROF_SHAPE_AMOUNT_TEXT) {
		end = at < len ? memchr(p + at, 0, len - at) : NULL;
		if (!end)
			return MPROF_EVENT_CUT;
		e->text = (const char *)p + at;
		e->text_bytes = (size_t)(end - (p + at));
		at += e->text_bytes + 1;
	}
	e->bytes = at;
	return MPROF_EVENT_OK;
}

/*
 * An unproven tail: bytes at the end of a packet that may be half written. mprof_tail_walk() judges
 * the events in it by the limits of this struct.
 *
 * An event is *stale* if its time is before that of its packet's first event, or after the copy's own, or if
 * its bytes are those of the lap before. Times that go back within these limits are in order: an interrupt may
 * record an event between the time and the publication of another one, and several writers may share a ring.
 */
struct mprof_tail {
	/*
	 * Earliest time of an event: that of the packet's first event. If the tail begins the packet (BEGINS),
	 * that of the first event of the packet before; the walk then raises the limit itself. 0 = unknown.
	 */
	uint64_t not_before;
	uint64_t not_after; /* latest time of an event; UINT64_MAX = unknown */
	bool begins;	    /* the tail's first event is its packet's first */
	/*
	 * Bytes that an earlier copy found at the place of the tail, in the packet that the slot
	 * held before; NULL = unknown.
	 */
	const uint8_t *before;
	size_t before_bytes; /* bytes at BEFORE */
	/*
	 * For mprof_tail_resume() alone. SETTLED: no byte of the packet is of the lap before, because the
	 * writer has left the packet, or its slot held no packet before. EARLIER: time of an event before the
	 * packet, 0 = unknown.
	 */
	bool settled;
	uint64_t earlier;
};

/*
 * Return the latest time that an event can have which was copied when the host's clocks showed MONO and REAL.
 * KNOWN is the time of an earlier event of the same guest, 0 = unknown. A guest's clock may begin anywhere, but since
 * that event it cannot have gone for longer than the host's clocks have; without such an event the guest's clock
 * is at most a century ahead of the host's. All in ns.
 */
static inline uint64_t mprof_tail_latest(uint64_t known, uint64_t mono, uint64_t real)
{
	const uint64_t year = 31557600u * 1000000000ull, host = mono > real ? mono : real;
	uint64_t latest;

	if (!host || __builtin_add_overflow(host, known ? year : 100 * year, &latest) ||
	    __builtin_add_overflow(latest, known, &latest))
		return UINT64_MAX;
	return latest;
}

/*
 * Return whether the event E, which begins at P and lies AT bytes behind the beginning of the tail, is stale.
 * FIRST is the earliest time that it can have.
 */
static inline bool mprof_tail_stale(const struct mprof_tail *tail, const struct mprof_raw_event *e, const uint8_t *p,
				    size_t at, uint64_t first)
{
	size_t same = tail->before && tail->before_bytes > at ? tail->before_bytes - at : 0;

	if (e->timestamp == 0 || e->timestamp < first || e->timestamp > tail->not_after)
		return true;
	/* If the lap before ended inside this event, compare the bytes that it had. */
	if (same > e->bytes)
		same = e->bytes;
	return same > sizeof(e->timestamp) && memcmp(p, tail->before + at, same) == 0;
}

/* Limits of mprof_tail_resume(). */
#define MPROF_RESUME_SPAN   16384u	/* bytes behind an invalid event in which a chain may begin */
#define MPROF_RESUME_EVENT  4096u	/* bytes of an event of a chain, at most */
#define MPROF_RESUME_EVENTS 2u		/* events of a chain, at least */
#define MPROF_RESUME_BACK   1000000000u /* ns that an event of a chain may be earlier than the latest one before it */
#define MPROF_RESUME_AHEAD  (3600 * (uint64_t)1000000000u) /* ns that it may be later */
#define MPROF_RESUME_IDLE   (720 * MPROF_RESUME_AHEAD) /* ns that the event before a chain may be later than others */

/*
 * Return whether an event of a chain can have TIME. NEWEST is the latest time before it. If damage hides the end of an
 * event, bytes that lie some bytes beside the next one may be taken for an event: its time then is about 256 times too
 * late at least, or too early.
 */
static inline bool mprof_tail_follows(uint64_t time, uint64_t newest)
{
	if (time < newest)
		return newest - time <= MPROF_RESUME_BACK;
	return time - newest <= MPROF_RESUME_AHEAD && time / 128 <= newest;
}

/*
 * Return whether an event with TIME, which is no part of a chain, says how late it was: events before it have the
 * latest time NEWEST, 0 = unknown.
 */
static inline bool mprof_tail_agrees(uint64_t time, uint64_t newest)
{
	return !newest || mprof_tail_follows(time, newest) ||
	       (time > newest && time - newest <= newest && time - newest <= MPROF_RESUME_IDLE);
}

/*
 * Walk the LEN bytes at P as mprof_tail_walk() does. Raise *NEWEST to the latest time of the valid events, without
 * those that do not agree with the ones before them (mprof_tail_agrees()).
 */
static inline size_t mprof_tail_walk_times(const struct mprof_tail *tail, const uint8_t *p, size_t len,
					   uint64_t *newest)
{
	uint64_t first = tail->not_before;
	struct mprof_raw_event e;
	size_t at = 0;

	while (at < len) {
		if (mprof_event_load(&e, p + at, len - at) != MPROF_EVENT_OK ||
		    mprof_tail_stale(tail, &e, p + at, at, first))
			break;
		if (at == 0 && tail->begins)
			first = e.timestamp;
		if (e.timestamp > *newest && mprof_tail_agrees(e.timestamp, *newest ? *newest : first))
			*newest = e.timestamp;
		at += e.bytes;
	}
	return at;
}

/*
 * Return how many of the LEN bytes at P, an unproven tail, hold valid events. A valid event is complete and not
 * stale. The bytes of the lap before are compared because mirage-profile counts an event before it writes the event:
 * the tail can end with an event of the packet that the slot held before, and such an event parses.
 */
static inline size_t mprof_tail_walk(const struct mprof_tail *tail, const uint8_t *p, size_t len)
{
	uint64_t newest = 0;

	return mprof_tail_walk_times(tail, p, len, &newest);
}

/* A search for a chain: the events from one offset to the end of the packet. */
struct mprof_tail_search {
	const struct mprof_tail *tail;
	const uint8_t *p;
	size_t len;
	uint64_t first; /* earliest time of an event */
	size_t work;	/* bytes that may still be read */
};

/* A place in a chain: the offset of its next event, and the latest time of the events before it. */
struct mprof_tail_place {
	size_t at;
	uint64_t newest;
};

/*
 * Return whether the event E of a chain, which begins at P and lies AT bytes behind the beginning of the tail,
 * may be one of the lap before with a few bytes of this lap: the writer died while it overwrote such an event.
 * Then the upper bytes of its time, or all bytes behind the lower ones, are as they were.
 */
static inline bool mprof_tail_mixed(const struct mprof_tail *tail, const struct mprof_raw_event *e, const uint8_t *p,
				    size_t at)
{
	return !tail->settled && (memcmp(p + 2, tail->before + at + 2, 6) == 0 ||
				  memcmp(p + 4, tail->before + at + 4, e->bytes - 4) == 0);
}

/*
 * Move PLACE over one event of a chain. Return false if there is none: it is broken, stale, too long, or too far
 * from the times before it; or if the search has read too much.
 */
static inline bool mprof_tail_step(struct mprof_tail_search *s, struct mprof_tail_place *place)
{
	size_t left = s->len - place->at, most = left < MPROF_RESUME_EVENT ? left : MPROF_RESUME_EVENT;
	struct mprof_raw_event e;
	uint64_t time;

	if (left < sizeof(time) || s->work < most)
		return false;
	time = mprof_load64(s->p + place->at);
	s->work -= sizeof(time);
	if (time < s->first || time > s->tail->not_after || !mprof_tail_follows(time, place->newest))
		return false;
	if (mprof_event_load(&e, s->p + place->at, most) != MPROF_EVENT_OK) {
		s->work -= most - sizeof(time);
		return false;
	}
	s->work -= e.bytes - sizeof(time);
	if (mprof_tail_stale(s->tail, &e, s->p + place->at, place->at, s->first) ||
	    mprof_tail_mixed(s->tail, &e, s->p + place->at, place->at))
		return false;
	if (time > place->newest)
		place->newest = time;
	place->at += e.bytes;
	return true;
}

/*
 * Follow the chain that begins at AT, and the chain CHAIN, until they meet. Return the offset of the event at
 * which they meet, at most the length; 0 = the first one breaks, at this event or before it, or it is too
 * short.
 */
static inline size_t mprof_tail_meet(struct mprof_tail_search *s, struct mprof_tail_place at,
				     struct mprof_tail_place chain)
{
	unsigned events = 0;
	size_t meet;

	while (at.at != chain.at) {
		events += at.at < chain.at;
		if (!mprof_tail_step(s, at.at < chain.at ? &at : &chain))
			return 0;
	}
	meet = at.at;
	if (meet == s->len)
		return events < MPROF_RESUME_EVENTS ? 0 : meet;
	return mprof_tail_step(s, &at) ? meet : 0;
}

/*
 * Return the offset at which all chains have met that begin in the span behind AT; the length if there is no
 * chain, or if two do not meet. NEWEST is the latest time before them.
 */
static inline size_t mprof_tail_chain(struct mprof_tail_search *s, size_t at, uint64_t newest)
{
	size_t limit = s->len - at > MPROF_RESUME_SPAN ? at + MPROF_RESUME_SPAN : s->len, from = s->len, meet;
	struct mprof_tail_place chain = {.at = 0};

	for (size_t c = at + 1; c < limit; c++) {
		struct mprof_tail_place start = {.at = c, .newest = newest}, end = start;

		if (from == s->len) { /* no chain yet */
			while (end.at < s->len && mprof_tail_step(s, &end))
				;
			if (end.at != s->len)
				continue;
			from = c;
			chain = start;
			continue;
		}
		while (chain.at < c)
			if (!mprof_tail_step(s, &chain))
				return s->len;
		if (start.newest < chain.newest)
			start.newest = chain.newest;
		meet = mprof_tail_meet(s, start, chain);
		if (meet == s->len)
			return s->len;
		if (meet > c && meet > from)
			from = meet;
	}
	/* If the search has read too much, a chain may have been left out. */
	return s->work < MPROF_RESUME_EVENT ? s->len : from;
}

/*
 * Return the offset of the first event in the chain at AT that is not later than the one behind it. Bytes of a damaged
 * event that look like an event before the chain have a time of their own, and the next one is mostly earlier.
 */
static inline size_t mprof_tail_in_order(const uint8_t *p, size_t len, size_t at)
{
	struct mprof_raw_event e;

	while (mprof_event_load(&e, p + at, len - at) == MPROF_EVENT_OK && e.bytes < len - at &&
	       mprof_load64(p + at + e.bytes) < e.timestamp)
		at += e.bytes;
	return at;
}

/*
 * Return the offset at which events go on behind the invalid event at AT, in the LEN bytes at P, an unproven
 * tail that ends with its packet; LEN if there is none. NEWEST is the latest time of the events before AT, 0 =
 * there are none.
 *
 * From that offset on the sizes of events lead exactly to the end of the packet: a *chain*. All events of a
 * chain are valid, none is more than a second earlier or an hour later than the latest one before it, nor 128 times
 * as late, and there are two at least. If several chains begin in the span behind AT, events go on where all of them have met; if
 * they meet nowhere, there is none. Events at the beginning that are later than the next one are left out. A writer that died may have left bytes of the lap before at the end of its
 * packet, so there is none either if these bytes are not known. If no time before the chain is known, the time that the
 * invalid event has is taken for one: such an event is noticed by its id or its length, so its time is mostly intact.
 * The bytes that the search reads are bounded by a multiple of LEN, whatever P holds; if that is not enough,
 * there is none.
 */
static inline size_t mprof_tail_resume(const struct mprof_tail *tail, const uint8_t *p, size_t len, size_t at,
				       uint64_t newest)
{
	struct mprof_tail_search s = {.tail = tail, .p = p, .len = len, .first = tail->not_before};
	struct mprof_tail_place end = {.newest = newest};
	unsigned events = 0;

	if (at >= len || (!tail->settled && (!tail->before || tail->before_bytes < len)))
		return len;
	if (at && tail->begins)
		s.first = mprof_load64(p);
	if (!newest)
		newest = s.first ? s.first : tail->earlier;
	if (!newest && len - at >= sizeof(newest))
		newest = mprof_load64(p + at);
	if (!newest || newest > tail->not_after)
		return len;
	end.newest = newest;
	s.work = 16 * len + 16 * (size_t)MPROF_RESUME_EVENT;
	end.at = mprof_tail_in_order(p, len, mprof_tail_chain(&s, at, newest));
	for (at = end.at, s.work = 2 * (len + MPROF_RESUME_EVENT); end.at < len; events++)
		if (!mprof_tail_step(&s, &end))
			return len;
	return events < MPROF_RESUME_EVENTS ? len : at;
}

#endif
