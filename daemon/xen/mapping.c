/*
 * Find and map the pages of a ring. The guest can write to a directory page at any time. So the
 * page is mapped, copied once and unmapped, and only the copy is parsed.
 */
#include "mapping.h"

#include <stdbool.h>
#include <stdlib.h>

#include "keys.h"
#include "value.h"
#include "xen.h"

/* Copy to PAGE the page that DOMID grants by the reference REF. Return FAULT_NONE; or FAULT_MAP, with -errno in *ERROR. */
static enum fault page_copy(struct xen *xen, uint32_t domid, uint32_t ref, uint8_t *page, int *error)
{
	const volatile uint8_t *bytes;

	*error = xen_map(xen, domid, &ref, 1, &bytes);
	if (*error)
		return FAULT_MAP;
	for (size_t i = 0; i < XEN_PAGE_BYTES; i++)
		page[i] = bytes[i];
	xen_unmap(xen, bytes, 1);
	return FAULT_NONE;
}

/* Return whether a page of the ring is also one of its N directory pages. */
static bool tells_of_itself(const struct mapping *mapping, const uint32_t *directory, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < mapping->pages; j++)
			if (mapping->refs[j] == directory[i])
				return true;
	return false;
}

/*
 * Make room in MAPPING->refs for the references of one more directory page, up to MAX. Return false
 * without memory.
 */
static bool refs_grow(struct mapping *mapping, size_t max, size_t *room)
{
	size_t want = mapping->pages + DIRECTORY_REFS < max ? mapping->pages + DIRECTORY_REFS : max;
	uint32_t *refs = realloc(mapping->refs, want * sizeof(*refs));

	if (!refs)
		return false;
	mapping->refs = refs;
	*room = want;
	return true;
}

static enum fault directory_read(struct mapping *mapping, struct xen *xen, uint32_t domid, uint32_t next, size_t max,
				 int *error)
{
	size_t most = (max + DIRECTORY_REFS - 1) / DIRECTORY_REFS, n = 0, room;
	uint32_t *seen = calloc(most, sizeof(*seen));
	uint8_t page[XEN_PAGE_BYTES];
	enum fault fault = seen ? FAULT_NONE : FAULT_STORE;

	while (fault == FAULT_NONE && next) {
		if (n == most)
			fault = FAULT_PAGES;
		for (size_t i = 0; i < n && fault == FAULT_NONE; i++)
			if (seen[i] == next)
				fault = FAULT_DIRECTORY;
		if (fault == FAULT_NONE && !refs_grow(mapping, max, &room))
			fault = FAULT_STORE;
		if (fault == FAULT_NONE)
			fault = page_copy(xen, domid, next, page, error);
		if (fault == FAULT_NONE) {
			seen[n++] = next;
			fault = directory_page(page, mapping->refs, room, &mapping->pages, &next);
		}
	}
	if (fault == FAULT_NONE && mapping->pages == 0)
		fault = FAULT_EMPTY;
	if (fault == FAULT_NONE && tells_of_itself(mapping, seen, n))
		fault = FAULT_DUPLICATE;
	free(seen);
	return fault;
}

enum fault mapping_find(struct mapping *mapping, struct xen *xen, uint32_t domid, struct keys *keys, size_t max,
			int *error)
{
	enum fault fault = FAULT_NONE;
	uint32_t *scratch;

	*mapping = (struct mapping){0};
	if (keys->refs) {
		mapping->refs = keys->refs;
		mapping->pages = keys->n_refs;
		keys->refs = NULL;
		if (mapping->pages > max)
			fault = FAULT_PAGES;
	} else {
		fault = directory_read(mapping, xen, domid, keys->directory, max, error);
	}
	if (fault == FAULT_NONE) {
		scratch = malloc(mapping->pages * sizeof(*scratch));
		fault = !scratch						   ? FAULT_STORE
			: value_duplicates(mapping->refs, mapping->pages, scratch) ? FAULT_DUPLICATE
										   : FAULT_NONE;
		free(scratch);
	}
	if (fault)
		mapping_drop(mapping, xen);
	return fault;
}

enum fault mapping_map(struct mapping *mapping, struct xen *xen, uint32_t domid, int *error)
{
	*error = xen_map(xen, domid, mapping->refs, mapping->pages, &mapping->bytes);
	if (*error == 0)
		return FAULT_NONE;
	mapping->bytes = NULL;
	return FAULT_MAP;
}

void mapping_drop(struct mapping *mapping, struct xen *xen)
{
	if (mapping->bytes)
		xen_unmap(xen, mapping->bytes, mapping->pages);
	free(mapping->refs);
	*mapping = (struct mapping){0};
}
