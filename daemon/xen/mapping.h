/* The pages of one ring, mapped one behind the other. */
#ifndef XEN_MAPPING_H
#define XEN_MAPPING_H

#include <stddef.h>
#include <stdint.h>

#include "value.h"

struct keys;
struct xen;

struct mapping {
	const volatile uint8_t *bytes; /* NULL: nothing is mapped */
	uint32_t *refs;		       /* owned */
	size_t pages;
};

/*
 * Find the references that KEYS tells of, in a directory too: MAPPING has refs and pages then, and nothing is mapped.  At most MAX pages.
 * FAULT_NONE, _REFERENCE, _DUPLICATE (among themselves), _PAGES, _DIRECTORY, _MAP (of a directory page), _STORE (no memory).
 */
enum fault mapping_find(struct mapping *mapping, struct xen *xen, uint32_t domid, struct keys *keys, size_t max);
/* Map them.  FAULT_NONE, or FAULT_MAP and *ERROR, -errno. */
enum fault mapping_map(struct mapping *mapping, struct xen *xen, uint32_t domid, int *error);
/* Unmap and forget; one that holds nothing too. */
void mapping_drop(struct mapping *mapping, struct xen *xen);

#endif
