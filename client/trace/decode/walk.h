/*
 * The decoder's fast path: decode events that are complete in one piece of memory. Private to the
 * library.
 */
#ifndef TRACE_WALK_H
#define TRACE_WALK_H

#include <stddef.h>
#include <stdint.h>

#include <mprof/trace.h>

/*
 * Bytes of one packet's content to decode: from AT up to END. AT is at OFFSET of the input, bytes.
 */
struct walk {
	const uint8_t *at;
	const uint8_t *end;
	uint64_t offset;
	uint64_t latest; /* time with which the next event is compared, ns */
};

/*
 * Decode up to N events at AT into EVENTS, and advance AT, OFFSET and LATEST. Return the number of events.
 * Stop before an event near END, a damaged one, one longer than MPROF_EVENT_BYTES_MAX, and one whose time is not plainly sound:
 * mprof_decoder_next() decodes those. Nothing at or after END is read.
 */
size_t walk_events(struct walk *w, struct mprof_event *events, size_t n);

#endif
