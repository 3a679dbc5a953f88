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
	uint8_t type;	    /* thread type of a `creates` event, or kind of an `extra`; any value is possible */
	int64_t context;    /* the context thread; 0 if the event has none */
	int64_t number;	    /* the payload's thread, amount or duration; 0 if the event has none */
	const char *text;   /* NULL if the event has none */
	size_t text_bytes;  /* bytes, without the terminator */
	size_t bytes;	    /* bytes of the whole event */
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
 */
struct mprof_tail {
	uint64_t not_before; /* timestamp of the event before the tail; 0 = none */
	uint64_t not_after;  /* guest time of the capture; UINT64_MAX = unknown */
	/*
	 * Bytes that an earlier copy found at the place of the tail, in the packet that the slot
	 * held before; NULL = unknown.
	 */
	const uint8_t *before;
	size_t before_bytes; /* bytes at BEFORE */
};

/*
 * Return how many of the LEN bytes at P, an unproven tail, hold valid events. A valid event is
 * complete, not older than the event before it, not newer than the capture, and different from the
 * bytes of TAIL->before at the same place. That last check is needed because the writer counts an
 * event before it writes the event: the tail can end with an event of the packet that the slot held
 * before, and such an event parses.
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
