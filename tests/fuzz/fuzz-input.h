/* Input that is read byte by byte, to make events. */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include "fuzz.h"

struct input {
	const uint8_t *p;
	size_t left;
	uint64_t time; /* of the last event */
};

/* Return the next byte, or 0 behind the end. */
static inline uint8_t take(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->p++;
}

#endif
