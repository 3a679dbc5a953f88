/* A position: run.stream.sequence.offset, as the HTTP API names a place in a trace. */
#ifndef SERVE_POSITION_H
#define SERVE_POSITION_H

#include <stdbool.h>
#include <stdint.h>

#define POSITION_TEXT 72u /* room for a position as text */

struct position {
	int64_t run;
	uint32_t stream;   /* its number, not its id */
	uint64_t sequence; /* below 2^63 */
	uint32_t offset;   /* in content bytes, header included; 30 = the packet's first event */
};

/* False: TEXT is anything but four decimal numbers in their ranges, joined by dots. */
bool position_parse(struct position *p, const char *text);
/* TEXT has POSITION_TEXT bytes. */
void position_format(const struct position *p, char *text);

#endif
