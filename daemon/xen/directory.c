/* The page was copied out of the guest's memory before: what is checked here is what is used. */
#include "directory.h"

static uint32_t word(const uint8_t *page, size_t i)
{
	const uint8_t *p = page + 4 * i;

	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

enum fault directory_page(const uint8_t *page, uint32_t *refs, size_t max, size_t *n, uint32_t *next)
{
	*next = 0;
	for (size_t i = 0; i < DIRECTORY_REFS; i++) {
		uint32_t ref = word(page, i);

		if (!ref)
			return FAULT_NONE;
		if (ref < VALUE_REF_MIN)
			return FAULT_REFERENCE;
		if (*n >= max)
			return FAULT_PAGES;
		refs[(*n)++] = ref;
	}
	*next = word(page, DIRECTORY_REFS);
	return *next && *next < VALUE_REF_MIN ? FAULT_REFERENCE : FAULT_NONE;
}
