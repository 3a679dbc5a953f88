/*
 * The difference between two sorted lists: which entries were added, changed and removed. The
 * second list is added entry by entry; the first list stays as it is until difference_end().
 */
#ifndef SERVE_SORTED_DIFFERENCE_H
#define SERVE_SORTED_DIFFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest-names.h"

struct difference_entry {
	int64_t id;
	uint64_t fingerprint;	  /* hash of the content; if it differs, the entry has changed */
	struct guest_name *guest; /* its guest, for the entries that are gone; a reference */
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
 * Append ENTRY to the second list, with a new reference to its guest. Its ID must be greater than
 * all IDs before. If the first list has the ID, *BEFORE is the entry there; its guest is borrowed
 * until difference_end(). REMOVED is called for the entries of the first list that were skipped.
 * Return an enum difference_kind; or -ENOMEM, and ENTRY was not appended.
 */
int difference_add(struct difference *d, const struct difference_entry *entry, struct difference_entry *before,
		   difference_removed *removed, void *context);
/* End the second list. It becomes the first list of the next difference. */
void difference_end(struct difference *d, difference_removed *removed, void *context);

#endif
