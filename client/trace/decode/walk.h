/* The decoder's fast path: decode whole events in one piece of memory. Private to the library. */
#ifndef TRACE_WALK_H
#define TRACE_WALK_H

#include <stddef.h>
#include <stdint.h>

#include <mprof/trace.h>

/* Position in the content of one packet: from AT, at OFFSET in the input, up to END. */
struct walk {
	const uint8_t *at;
	const uint8_t *end;
	uint64_t offset;
};

/*
 * Decode up to N events at AT into EVENTS, and advance AT and OFFSET. Return their number. It stops
 * before an event near END, a damaged one, and one longer than MPROF_EVENT_BYTES_MAX, and leaves
 * those to the slow path. It reads nothing at or after END.
 */
size_t walk_events(struct walk *w, struct mprof_event *events, size_t n);

#endif
