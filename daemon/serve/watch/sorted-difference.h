/*
 * The difference between two sorted lists: which entries were added, changed and removed. The
 * second list is added entry by entry; the first list stays as it is until difference_end().
 */
#ifndef SERVE_SORTED_DIFFERENCE_H
#define SERVE_SORTED_DIFFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct difference_entry {
	int64_t id;
	uint64_t fingerprint; /* hash of the content; if it differs, the entry has changed */
};

struct difference {
	struct difference_entry *last, *next;
	size_t n_last, at_last;
	size_t n_next, next_capacity;
};

enum difference_kind { DIFFERENCE_NONE, DIFFERENCE_ADDED, DIFFERENCE_CHANGED };

/* Called for each entry of the first list that is not in the second. */
typedef void difference_removed(void *context, const struct difference_entry *entry);

/* A zeroed struct has two empty lists and is ready. */
void difference_deinit(struct difference *d);
/* Empty the second list. */
void difference_begin(struct difference *d);
/*
 * Append ID with FINGERPRINT to the second list. ID must be greater than all IDs before. If the
 * first list has ID, *BEFORE is its fingerprint there. REMOVED is called for the entries of the
 * first list that were skipped. Return an enum difference_kind; or -ENOMEM, and ID was not
 * appended.
 */
int difference_add(struct difference *d, int64_t id, uint64_t fingerprint, uint64_t *before,
		   difference_removed *removed, void *context);
/* End the second list. It becomes the first list of the next difference. */
void difference_end(struct difference *d, difference_removed *removed, void *context);

#endif
