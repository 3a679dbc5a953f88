/*
 * Who was there at the last count, and as what: so that counting again, in order, tells what came, changed and went.
 *
 * A count may be made a few at a time; until its end the last one holds.
 */
#ifndef SERVE_CENSUS_H
#define SERVE_CENSUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct census_entry {
	int64_t id;
	uint64_t print; /* what of it is compared; the caller's */
};

struct census {
	struct census_entry *last, *next;
	size_t n_last, at_last;
	size_t n_next, room_next;
};

enum census_finding { CENSUS_SAME, CENSUS_NEW, CENSUS_CHANGED };

/* One that was there and is not any more. */
typedef void census_gone(void *context, const struct census_entry *entry);

/* A zeroed census is empty and ready. */
void census_deinit(struct census *c);
/* Drop the count that is under way. */
void census_begin(struct census *c);
/*
 * Count ID, which is greater than every one counted before it.  *BEFORE is its print at the last count where it was there.  A negative value is
 * -ENOMEM, and it was not counted; else a census_finding.
 */
int census_count(struct census *c, int64_t id, uint64_t print, uint64_t *before, census_gone *gone, void *context);
/* All were counted: this count is the last one now. */
void census_end(struct census *c, census_gone *gone, void *context);

#endif
