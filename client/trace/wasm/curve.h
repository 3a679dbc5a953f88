/*
 * Live samples by time: an exact list of changes, in two or three bytes for each change. It gives
 * the time line of any range without another scan of the events.
 */
#ifndef TRACE_CURVE_H
#define TRACE_CURVE_H

#include <stdbool.h>
#include <stdint.h>

#include "grow.h"

/* A zeroed curve: nothing lives at any time. */
struct curve {
	struct grow pieces; /* struct curve_piece */
	uint64_t time;	    /* time of the last change, microseconds */
	uint64_t live;	    /* live samples after the last change */
};

void curve_deinit(struct curve *c);
/*
 * Record that LIVE samples live from TIME on. TIME must not be before the last change. Return false
 * without memory, with nothing changed.
 */
bool curve_add(struct curve *c, uint64_t time, uint64_t live);
/*
 * Store in OUT the live samples at N times, multiplied by SCALE. The times are FROM + LENGTH * i /
 * N for i from 1 to N; each item has the value after the last change at or before its time.
 */
void curve_line(const struct curve *c, uint64_t from, uint64_t length, double scale, double *out, uint32_t n);

#endif
