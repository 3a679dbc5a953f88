/* The pages of one ring, mapped at consecutive addresses. */
#ifndef XEN_MAPPING_H
#define XEN_MAPPING_H

#include <stddef.h>
#include <stdint.h>

#include "value.h"

struct keys;
struct xen;

struct mapping {
	const volatile uint8_t *bytes; /* NULL = nothing is mapped */
	uint32_t *refs;		       /* grant references of the pages; owned */
	size_t pages;		       /* number of pages */
};

/*
 * Find the grant references that KEYS name, in the key itself or in directory pages, and store them
 * in MAPPING. MAX is the largest number of pages. Nothing stays mapped. Return FAULT_NONE,
 * FAULT_REFERENCE, FAULT_DUPLICATE (within the ring), FAULT_PAGES, FAULT_DIRECTORY, FAULT_EMPTY,
 * FAULT_MAP (of a directory page, with -errno in *ERROR) or FAULT_STORE (no memory).
 */
enum fault mapping_find(struct mapping *mapping, struct xen *xen, uint32_t domid, struct keys *keys, size_t max,
			int *error);
/* Map the pages of MAPPING->refs. Return FAULT_NONE; or FAULT_MAP, with -errno in *ERROR. */
enum fault mapping_map(struct mapping *mapping, struct xen *xen, uint32_t domid, int *error);
/* Unmap the pages and free the references. Do nothing for a zeroed MAPPING. */
void mapping_drop(struct mapping *mapping, struct xen *xen);

#endif
