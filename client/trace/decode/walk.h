/* The walk over whole events that lie in one piece of memory: the decoder's fast path.  Private to the library. */
#ifndef TRACE_WALK_H
#define TRACE_WALK_H

#include <stddef.h>
#include <stdint.h>

#include <mprof/trace.h>

/* A walk's place: content of one packet from AT up to END, AT standing at OFFSET in the input. */
struct walk {
	const uint8_t *at;
	const uint8_t *end;
	uint64_t offset;
};

/*
 * Take up to N events at AT apart into EVENTS and move AT and OFFSET behind them; returns how many.  Fewer than N where what stands at AT
 * is for the careful path to judge: near END, damaged, or longer than MPROF_EVENT_BYTES_MAX.  Reads nothing at or behind END.
 */
size_t walk_events(struct walk *w, struct mprof_event *events, size_t n);

#endif
