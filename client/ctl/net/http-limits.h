/*
 * Limits on a server's answers: speed, silence, and length of lists. Environment variables set
 * them; mprofctl(1) describes the variables.
 */
#ifndef CTL_HTTP_LIMITS_H
#define CTL_HTTP_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

struct http;

struct limits {
	/* MPROFCTL_MIN_RATE: least speed of a body in bytes per second; 0 = no limit. */
	uint64_t rate;
	/*
	 * MPROFCTL_TIMEOUT: longest silence in seconds, and the length of the window in which the
	 * speed is measured; 1 to 86,400.
	 */
	uint64_t seconds;
	uint64_t pages; /* MPROFCTL_MAX_PAGES: most pages of one list; at least 1 */
};

/* Set L from the environment. Return an exit code. */
int limits_read(struct limits *l);

/* Measure the speed of an answer. Only the time counts in which mprofctl waits for the server. */
enum rate_verdict {
	RATE_OK = 0,
	RATE_SILENT, /* no byte came for SECONDS of struct limits */
	/*
	 * In one window of SECONDS fewer bytes came than RATE allows, or the headers did not end in
	 * time.
	 */
	RATE_SLOW,
};

struct rate {
	const struct limits *limits; /* borrowed */
	/*
	 * The body may pause without limit. Then only the headers are measured, from their first
	 * byte on.
	 */
	bool unending;
	bool began;	    /* at least one byte came */
	bool in_body;	    /* the headers are over; set by the caller */
	uint64_t waited_ms; /* milliseconds of waiting in the present window */
	uint64_t bytes;	    /* bytes that came in the present window */
};

/* Count N bytes that the server sent. */
void rate_add(struct rate *r, size_t n);
/* Count MS milliseconds of waiting for the server. Return the verdict on the speed. */
enum rate_verdict rate_wait(struct rate *r, uint64_t ms);

/*
 * The pages of a list, which the server sends in one answer each. A server cannot make the list
 * endless: the number of pages is limited.
 */

#define PAGES_BYTES_MAX (256u << 20) /* limit in bytes for a list that is kept in memory */
struct pages {
	const char *what; /* name of the list for messages; borrowed */
	/* Cursor that requests the next page; NULL before the first page and after the last one. */
	char *cursor;
	json_t *seen;	/* object with all cursors so far as keys, to find a repeated one; owned */
	uint64_t n;	/* number of pages so far */
	uint64_t bytes; /* bytes of the pages that are kept in memory; the caller counts them */
};

void pages_deinit(struct pages *p);
/*
 * Take the cursor of the next page from PAGE into P->cursor; NULL after the last page. Fail if the
 * server repeats a cursor, or sends more pages than the limit of H. Return an exit code.
 */
int pages_turn(struct pages *p, const struct http *h, const json_t *page);

#endif
