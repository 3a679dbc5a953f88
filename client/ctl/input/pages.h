/* Pages of a list, which a server hands out one by one: they must come to an end. */
#ifndef CTL_PAGES_H
#define CTL_PAGES_H

#include <jansson.h>
#include <stdint.h>

#include "http.h"

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
