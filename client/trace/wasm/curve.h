/*
 * How much lived when, exactly, in two or three bytes for each change: what a time line of any range is read from without going through the
 * events again.
 */
#ifndef TRACE_CURVE_H
#define TRACE_CURVE_H

#include <stdbool.h>
#include <stdint.h>

#include "grow.h"

/* Zeroed it is empty: nothing lives. */
struct curve {
	struct grow pieces; /* struct curve_piece */
	uint64_t time;	    /* of the last change */
	uint64_t live;	    /* behind it */
};

void curve_deinit(struct curve *c);
/* LIVE samples live from TIME on, which is not before the last one's; false without memory, with nothing changed. */
bool curve_add(struct curve *c, uint64_t time, uint64_t live);
/*
 * What lives at N times, FROM + LENGTH * i / N for i from 1 to N, by the last change at or before each, as SCALE for each sample, into OUT.
 */
void curve_line(const struct curve *c, uint64_t from, uint64_t length, double scale, double *out, uint32_t n);

#endif
