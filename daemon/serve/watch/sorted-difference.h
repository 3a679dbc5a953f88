/*
 * The difference between two sorted lists: entries that were added, changed and removed.
 *
 * The second list may come a few entries at a time; until its end the first one stays as it is.
 */
#ifndef SERVE_SORTED_DIFFERENCE_H
#define SERVE_SORTED_DIFFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct difference_entry {
	int64_t id;
	uint64_t fingerprint; /* of the content that is compared */
};

struct difference {
	struct difference_entry *last, *next;
	size_t n_last, at_last;
	size_t n_next, next_capacity;
};

enum difference_kind { DIFFERENCE_NONE, DIFFERENCE_ADDED, DIFFERENCE_CHANGED };

/* Take an entry of the first list that is not in the second. */
typedef void difference_removed(void *context, const struct difference_entry *entry);

/* Zeroed: two empty lists, ready. */
void difference_deinit(struct difference *d);
/* Drop the second list. */
void difference_begin(struct difference *d);
/*
 * Add ID to the second list; it is greater than every ID before. *BEFORE is its fingerprint in the
 * first list, if it is there. Return an enum difference_kind, or -ENOMEM, and ID was not added.
 */
int difference_add(struct difference *d, int64_t id, uint64_t fingerprint, uint64_t *before,
		   difference_removed *removed, void *context);
/* End the second list: it becomes the first list of the next difference. */
void difference_end(struct difference *d, difference_removed *removed, void *context);

#endif
