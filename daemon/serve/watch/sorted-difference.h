/*
 * Who was there at the last count, and as what: so that counting again, in order, tells what came, changed and went.
 *
 * A count may be made a few at a time; until its end the last one holds.
 */
#ifndef SERVE_SORTED_DIFFERENCE_H
#define SERVE_SORTED_DIFFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct difference_entry {
	int64_t id;
	uint64_t fingerprint; /* what of it is compared; the caller's */
};

struct difference {
	struct difference_entry *last, *next;
	size_t n_last, at_last;
	size_t n_next, next_capacity;
};

enum difference_kind { DIFFERENCE_NONE, DIFFERENCE_ADDED, DIFFERENCE_CHANGED };

/* One that was there and is not any more. */
typedef void difference_removed(void *context, const struct difference_entry *entry);

/* A zeroed census is empty and ready. */
void difference_deinit(struct difference *d);
/* Drop the count that is under way. */
void difference_begin(struct difference *d);
/*
 * Count ID, which is greater than every one counted before it.  *BEFORE is its fingerprint at the last count where it was there.  A negative value is
 * -ENOMEM, and it was not counted; else a difference_finding.
 */
int difference_add(struct difference *d, int64_t id, uint64_t fingerprint, uint64_t *before,
		   difference_removed *removed, void *context);
/* All were counted: this count is the last one now. */
void difference_end(struct difference *d, difference_removed *removed, void *context);

#endif
