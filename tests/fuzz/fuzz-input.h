/* Input of a fuzzer, read byte by byte by the functions that make events. */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include "fuzz.h"

struct input {
	const uint8_t *p;
	size_t left;
	uint64_t time; /* time of the last event */
};

/* Return the next byte, or 0 at the end of the input. */
static inline uint8_t take(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->p++;
}

#endif
