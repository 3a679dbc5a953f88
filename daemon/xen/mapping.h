/* The pages of one ring, mapped one after the other. */
#ifndef XEN_MAPPING_H
#define XEN_MAPPING_H

#include <stddef.h>
#include <stdint.h>

#include "value.h"

struct keys;
struct xen;

struct mapping {
	const volatile uint8_t *bytes; /* NULL = nothing is mapped */
	uint32_t *refs;		       /* owned */
	size_t pages;
};

/*
 * Find the references that KEYS name, through a directory if there is one, at most MAX. MAPPING
 * then has refs and pages; nothing is mapped. Return FAULT_NONE, _REFERENCE, _DUPLICATE (within the
 * ring), _PAGES, _DIRECTORY, _MAP (of a directory page) or _STORE (no memory).
 */
enum fault mapping_find(struct mapping *mapping, struct xen *xen, uint32_t domid, struct keys *keys, size_t max);
/* Map the pages. Return FAULT_NONE, or FAULT_MAP and set *ERROR to -errno. */
enum fault mapping_map(struct mapping *mapping, struct xen *xen, uint32_t domid, int *error);
/* Unmap and forget. Accept one that holds nothing. */
void mapping_drop(struct mapping *mapping, struct xen *xen);

#endif
