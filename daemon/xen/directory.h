/* A directory page: the references of a large ring's pages.  A pure function over a private copy. */
#ifndef COLLECT_DIRECTORY_H
#define COLLECT_DIRECTORY_H

#include <stddef.h>
#include <stdint.h>

#include "value.h"

#define DIRECTORY_REFS 1023u /* of ring pages, in one directory page */

/*
 * Append the references of PAGE (4,096 bytes) to REFS, which holds *N of at most MAX.  *NEXT: the reference of the next directory page, or 0.
 * A zero among the references ends the ring: then *NEXT is 0, whatever the last word is.  FAULT_NONE, FAULT_REFERENCE, FAULT_PAGES; after
 * a fault what was appended means nothing.
 */
enum fault directory_page(const uint8_t *page, uint32_t *refs, size_t max, size_t *n, uint32_t *next);

#endif
