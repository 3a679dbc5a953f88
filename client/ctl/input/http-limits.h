/*
 * Limits on a server's answers: speed, silence, and length of lists. The environment sets them;
 * mprofctl(1) describes the variables.
 */
#ifndef CTL_HTTP_LIMITS_H
#define CTL_HTTP_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

struct http;

struct limits {
	uint64_t rate; /* MPROFCTL_MIN_RATE: least bytes per second of a body; 0 = no limit */
	/* MPROFCTL_TIMEOUT: longest silence, and the window for the rate; 1 to 86,400. */
	uint64_t seconds;
	uint64_t pages; /* MPROFCTL_MAX_PAGES: most pages of one list; at least 1 */
};

/* Read the environment into L. Return an exit code. */
int limits_read(struct limits *l);

/* Measure how fast an answer comes. Time in which mprofctl itself does not read does not count. */
enum rate_verdict {
	RATE_OK = 0,
	RATE_SILENT, /* no byte came for the limit's seconds */
	/*
	 * Fewer bytes came in a window than the limit's rate, or the headers did not end in time.
	 */
	RATE_SLOW,
};

struct rate {
	const struct limits *limits; /* borrowed */
	/* The body may pause: watch the headers only, from their first byte on. */
	bool unending;
	bool began;	    /* a byte came */
	bool in_body;	    /* the headers are over; set by the caller */
	uint64_t waited_ms; /* in the present window */
	uint64_t bytes;	    /* in the present window */
};

/* Count N bytes that came. */
void rate_add(struct rate *r, size_t n);
/* Count MS milliseconds of waiting for the server. */
enum rate_verdict rate_wait(struct rate *r, uint64_t ms);

/* The pages of a list that a server sends one by one. The pages must come to an end. */

#define PAGES_BYTES_MAX (256u << 20) /* limit for a list that is kept in memory */
struct pages {
	const char *what; /* the list's name, for messages; borrowed */
	/* Cursor of the next page; NULL before the first and behind the last page. */
	char *cursor;
	json_t *seen;	/* all cursors so far, as keys */
	uint64_t n;	/* number of pages so far */
	uint64_t bytes; /* size of the pages that are kept; counted by the caller */
};

void pages_deinit(struct pages *p);
/*
 * Take the cursor of the next page from PAGE; NULL behind the last page. Return an exit code. Fail
 * if the server repeats a cursor or gives more pages than H's limit.
 */
int pages_turn(struct pages *p, const struct http *h, const json_t *page);

#endif
