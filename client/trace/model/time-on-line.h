/* Times of a stream on the line of time of a trace, whose streams may have clocks of their own. */
#ifndef TRACE_TIME_ON_LINE_H
#define TRACE_TIME_ON_LINE_H

#include <stdint.h>

#include <mprof/model.h>

/*
 * Return TIMESTAMP, ns on the stream's clock, plus OFFSET, ns from that clock to the trace's. A time before 0 becomes 0, and one behind
 * MPROF_TIME_MAX, before or after the addition, becomes MPROF_TIME_MAX.
 */
static inline uint64_t time_on_line(uint64_t timestamp, int64_t offset)
{
	uint64_t back = 0 - (uint64_t)offset;

	if (timestamp > MPROF_TIME_MAX)
		timestamp = MPROF_TIME_MAX;
	if (offset < 0)
		return timestamp > back ? timestamp - back : 0;
	return timestamp > MPROF_TIME_MAX - (uint64_t)offset ? MPROF_TIME_MAX : timestamp + (uint64_t)offset;
}

#endif
