/* Watch how fast an answer comes, without counting the time in which we do not read. */
#ifndef CTL_RATE_H
#define CTL_RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http-limits.h"

enum rate_verdict {
	RATE_OK = 0,
	RATE_SILENT, /* nothing came for the limit's seconds */
	RATE_SLOW,   /* less came in that time than the limit's rate; or the headers did not end in it */
};

struct rate {
	const struct limits *limits; /* borrowed */
	bool unending;	    /* a body that may be silent: the headers alone are watched, from their first byte on */
	bool began;	    /* a byte came */
	bool in_body;	    /* set by the caller when the headers are over */
	uint64_t waited_ms; /* of the present window */
	uint64_t bytes;	    /* in it */
};

/* N bytes came. */
void rate_add(struct rate *r, size_t n);
/* MS milliseconds were spent in waiting for the server. */
enum rate_verdict rate_wait(struct rate *r, uint64_t ms);

#endif
