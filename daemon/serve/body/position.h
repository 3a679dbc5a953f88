/* Positions: run.stream.sequence.offset names a place in a trace, in the HTTP API. */
#ifndef SERVE_POSITION_H
#define SERVE_POSITION_H

#include <stdbool.h>
#include <stdint.h>

#define POSITION_TEXT 72u /* bytes of a position as text */

struct position {
	int64_t run;
	uint32_t stream;   /* its number, not its id */
	uint64_t sequence; /* below 2^63 */
	uint32_t offset;   /* content bytes, header included; 30 = the packet's first event */
};

/*
 * Parse TEXT: four decimal numbers in their ranges, joined by dots. False: TEXT is anything else.
 */
bool position_parse(struct position *p, const char *text);
/* Write P to TEXT, which has POSITION_TEXT bytes. */
void position_format(const struct position *p, char *text);

#endif
