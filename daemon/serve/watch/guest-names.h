/*
 * Guest names: each text is stored once, however many rows and events have it, so equal names have
 * equal pointers. A name exists as long as something references it, so a table has as many names as
 * there are guests in the archives and in the journal.
 */
#ifndef SERVE_GUEST_NAMES_H
#define SERVE_GUEST_NAMES_H

#include <stddef.h>

#include "cleanup.h"

struct guest_names;

/* Immutable. NULL is the name of an unknown guest. */
struct guest_name {
	size_t references;
	struct guest_names *names; /* a reference */
	char text[];
};

/* Create a table. Return NULL without memory. */
struct guest_names *guest_names_new(void);
/* Release the table; it is freed with its last name. Return NULL. NAMES may be NULL. */
struct guest_names *guest_names_free(struct guest_names *names);
CLEANUP_DEFINE(struct guest_names, guest_names_free)
/* Return the number of names. */
size_t guest_names_count(const struct guest_names *names);

/*
 * Set *NAME to the name TEXT, with a reference for the caller; to NULL if TEXT is NULL. Return 0 or
 * -ENOMEM.
 */
int guest_name_get(struct guest_names *names, const char *text, struct guest_name **name);
struct guest_name *guest_name_ref(struct guest_name *name);
/* Drop a reference. Return NULL. NAME may be NULL. */
struct guest_name *guest_name_unref(struct guest_name *name);
CLEANUP_DEFINE(struct guest_name, guest_name_unref)
/* Return the text of NAME, borrowed; NULL for an unknown guest. */
static inline const char *guest_name_text(const struct guest_name *name)
{
	return name ? name->text : NULL;
}

#endif
