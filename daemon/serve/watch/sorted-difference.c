/* Merge two sorted lists while the second one grows. */
#include <errno.h>
#include <stdlib.h>

#include "sorted-difference.h"

static void entries_unref(struct difference_entry *entries, size_t n)
{
	for (size_t i = 0; i < n; i++)
		guest_name_unref(entries[i].guest);
}

void difference_deinit(struct difference *d)
{
	entries_unref(d->last, d->n_last);
	entries_unref(d->next, d->n_next);
	free(d->last);
	free(d->next);
	*d = (struct difference){0};
}

void difference_begin(struct difference *d)
{
	entries_unref(d->next, d->n_next);
	d->at_last = 0;
	d->n_next = 0;
}

static int difference_grow(struct difference *d)
{
	size_t capacity = d->next_capacity ? 2 * d->next_capacity : 64;
	struct difference_entry *next = realloc(d->next, capacity * sizeof(*next));

	if (!next)
		return -ENOMEM;
	d->next = next;
	d->next_capacity = capacity;
	return 0;
}

int difference_add(struct difference *d, const struct difference_entry *entry, struct difference_entry *before,
		   difference_removed *removed, void *context)
{
	const struct difference_entry *last;

	if (d->n_next == d->next_capacity && difference_grow(d) < 0)
		return -ENOMEM;
	d->next[d->n_next++] = *entry;
	guest_name_ref(entry->guest);
	for (; d->at_last < d->n_last && d->last[d->at_last].id < entry->id; d->at_last++)
		removed(context, &d->last[d->at_last]);
	last = d->at_last < d->n_last ? &d->last[d->at_last] : NULL;
	if (!last || last->id != entry->id)
		return DIFFERENCE_ADDED;
	*before = *last;
	d->at_last++;
	return before->fingerprint == entry->fingerprint ? DIFFERENCE_NONE : DIFFERENCE_CHANGED;
}

void difference_end(struct difference *d, difference_removed *removed, void *context)
{
	for (; d->at_last < d->n_last; d->at_last++)
		removed(context, &d->last[d->at_last]);
	entries_unref(d->last, d->n_last);
	free(d->last);
	d->last = d->next;
	d->n_last = d->n_next;
	d->next = NULL;
	d->n_next = d->next_capacity = 0;
	d->at_last = 0;
}
