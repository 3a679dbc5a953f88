/* A position names a place in a trace: run.stream.sequence.offset in the HTTP API. */
#ifndef BODY_POSITION_H
#define BODY_POSITION_H

#include <stdbool.h>
#include <stdint.h>

#define POSITION_TEXT 72u /* bytes of a position as text, with its terminator */

struct position {
	int64_t run;
	uint32_t stream;   /* number of the stream in its run, not its id */
	uint64_t sequence; /* below 2^63 */
	uint32_t offset;   /* offset in bytes, header included; 30 = the packet's first event */
};

/*
 * Parse TEXT, four decimal numbers joined by dots, each in its range. Return false if TEXT is
 * anything else.
 */
bool position_parse(struct position *p, const char *text);
/* Write P to TEXT (POSITION_TEXT bytes). */
void position_format(const struct position *p, char *text);

#endif
