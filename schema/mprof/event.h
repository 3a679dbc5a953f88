/*
 * Events: the table as C, the one way to take one event apart, and the walk that cuts an unproven tail.
 *
 * Pure functions over private bytes: no I/O, no allocation, no state.
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
};

/* One event, taken apart.  TEXT points into the bytes it was read from and is NUL-terminated there. */
struct mprof_raw_event {
	uint64_t timestamp; /* nanoseconds, the guest's clock */
	uint8_t id;	    /* enum mprof_event_id */
	uint8_t type;	    /* creates: thread type, any value */
	int64_t context;    /* the context thread; 0 where the event has none */
	int64_t number;	    /* the payload's thread, amount or duration; 0 where it has none */
	const char *text;   /* NULL where the event has none */
	size_t text_bytes;  /* without the terminator */
	size_t bytes;	    /* the whole event */
};

enum mprof_event_status {
	MPROF_EVENT_OK = 0,
	MPROF_EVENT_CUT,	/* the bytes end inside the event */
	MPROF_EVENT_UNKNOWN_ID, /* the id is past the table */
};

/* The shape of event ID, which must be below MPROF_EVENT_IDS. */
static inline enum mprof_shape mprof_event_shape(uint8_t id)
{
	static const uint8_t shapes[MPROF_EVENT_IDS] = {
#define MPROF_EVENT(id, name, ctx, key, shape, number, text) [id] = MPROF_SHAPE_##shape,
#include <mprof/events.def>
	};

	return (enum mprof_shape)shapes[id];
}

/* Has event ID, which must be below MPROF_EVENT_IDS, a context thread? */
static inline bool mprof_event_has_context(uint8_t id)
{
	static const bool has[MPROF_EVENT_IDS] = {
#define MPROF_EVENT(id, name, ctx, key, shape, number, text) [id] = (ctx) != 0,
#include <mprof/events.def>
	};

	return has[id];
}

/* Its name, "unknown" past the table. */
static inline const char *mprof_event_name(uint8_t id)
{
	static const char *const names[MPROF_EVENT_IDS] = {
#define MPROF_EVENT(id, name, ctx, key, shape, number, text) [id] = #name,
#include <mprof/events.def>
	};

	return id < MPROF_EVENT_IDS ? names[id] : "unknown";
}

/* The name of a thread type, "Unknown" past the table. */
static inline const char *mprof_thread_type_name(uint8_t type)
{
	static const char *const names[MPROF_THREAD_TYPES] = {
#define MPROF_THREAD_TYPE(id, name) [id] = #name,
#include <mprof/events.def>
	};

	return type < MPROF_THREAD_TYPES ? names[type] : "Unknown";
}

/*
 * Take the event at P apart, of which LEN bytes are there.  On anything but MPROF_EVENT_OK only timestamp and id
 * of *E mean something, and those only if LEN reaches past them.  TEXT is borrowed from P.
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
	if (len < MPROF_EVENT_BYTES_MIN)
		return MPROF_EVENT_CUT;
	if (mprof_event_has_context(e->id)) {
		e->context = (int64_t)mprof_load64(p + at);
		at += 8;
	}
	shape = mprof_event_shape(e->id);
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

/* What a walk of an unproven tail knows besides the bytes. */
struct mprof_tail {
	uint64_t not_before;   /* timestamp of the event before the tail; 0 where there is none */
	uint64_t not_after;    /* guest time of the capture; UINT64_MAX where it is not known */
	const uint8_t *before; /* what the slot's incarnation before had at the same place, or NULL */
	size_t before_bytes;   /* how much of that is known */
};

/*
 * How many bytes of the tail at P, LEN bytes, hold: whole events, each not older than the one before it, none newer
 * than the capture, none that is byte for byte what the incarnation before had in its slot.  The writer counts an event
 * before it writes it, so that a tail can end in an old lap's event that parses.
 */
static inline size_t mprof_tail_walk(const struct mprof_tail *tail, const uint8_t *p, size_t len)
{
	uint64_t last = tail->not_before;
	struct mprof_raw_event e;
	size_t at = 0;

	while (at < len) {
		if (mprof_event_load(&e, p + at, len - at) != MPROF_EVENT_OK)
			break;
		if (e.timestamp < last || e.timestamp > tail->not_after || e.timestamp == 0)
			break;
		if (tail->before && at + e.bytes <= tail->before_bytes &&
		    memcmp(p + at, tail->before + at, e.bytes) == 0)
			break;
		last = e.timestamp;
		at += e.bytes;
	}
	return at;
}

#endif
