/* How slow and how long the answers of a server may be.  The environment sets that; mprofctl(1) describes the variables. */
#ifndef CTL_HTTP_LIMITS_H
#define CTL_HTTP_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

struct http;

struct limits {
	uint64_t rate;	  /* MPROFCTL_MIN_RATE: bytes a second that a body must bring; 0 = any */
	uint64_t seconds; /* MPROFCTL_TIMEOUT: of silence, and over which the rate is taken; 1 to 86,400 */
	uint64_t pages;	  /* MPROFCTL_MAX_PAGES: of one list; at least 1 */
};

/* Read the environment into L.  Return an exit code, having said which variable is wrong. */
int limits_read(struct limits *l);

/* Watch how fast an answer comes, without counting the time in which we do not read. */

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

/* Pages of a list, which a server hands out one by one: they must come to an end. */

#define PAGES_BYTES_MAX (256u << 20) /* of one list that is kept */

struct pages {
	const char *what; /* the list's name, for sentences; borrowed */
	char *cursor;	  /* of the page to ask for, or NULL: the first, or none any more */
	json_t *seen;	  /* the cursors so far, as keys */
	uint64_t n;	  /* pages so far */
	uint64_t bytes;	  /* of those that are kept, counted by the caller */
};

void pages_deinit(struct pages *p);
/*
 * PAGE was read: keep the cursor of the next one, or NULL behind the last.  Return CTL_OK, or an exit code, having said why: the server gave that cursor
 * before, or more pages than H's limit.
 */
int pages_turn(struct pages *p, const struct http *h, const json_t *page);

#endif
