/*
 * Live samples by time, exact, in two or three bytes per change. A time line of any range is read
 * from it without another scan of the events.
 */
#ifndef TRACE_CURVE_H
#define TRACE_CURVE_H

#include <stdbool.h>
#include <stdint.h>

#include "grow.h"

/* Zeroed: nothing lives at any time. */
struct curve {
	struct grow pieces; /* struct curve_piece */
	uint64_t time;	    /* time of the last change */
	uint64_t live;	    /* live samples after it */
};

void curve_deinit(struct curve *c);
/*
 * Record LIVE samples from TIME on, which is not before the last change. Return false without
 * memory, with nothing changed.
 */
bool curve_add(struct curve *c, uint64_t time, uint64_t live);
/*
 * Store the live samples, multiplied by SCALE, at N times in OUT: FROM + LENGTH * i / N for i from
 * 1 to N, by the last change at or before each.
 */
void curve_line(const struct curve *c, uint64_t from, uint64_t length, double scale, double *out, uint32_t n);

#endif
