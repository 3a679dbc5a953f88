/* Bytes as base64, into a writer, in pieces of any length. */
#ifndef CTL_BASE64_H
#define CTL_BASE64_H

#include <stddef.h>
#include <stdint.h>

#include "writer.h"

struct base64 {
	struct writer *out; /* borrowed */
	uint8_t rest[3];    /* what waits for more, up to two */
	size_t used;
};

void base64_put(struct base64 *b, const void *bytes, size_t len);
/* What waits, and what fills the last four characters up. */
void base64_end(struct base64 *b);

#endif
