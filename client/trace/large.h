/* Memory for one large array that grows in place, where the system can promise addresses without giving memory. */
#ifndef TRACE_LARGE_H
#define TRACE_LARGE_H

#include <stdbool.h>
#include <stddef.h>

/* Smaller ones are better off on the heap. */
#define LARGE_MIN ((size_t)2 << 20)

/*
 * Addresses for BYTES bytes, rounded up into *RESERVED, none of which can be used yet.  NULL where the system has no such thing, or no
 * room for it: then the heap must do.
 */
void *large_reserve(size_t bytes, size_t *reserved);
/* Room for BYTES bytes at P instead of HELD: how many there are now, or HELD without memory.  What is new is zero. */
size_t large_resize(void *p, size_t held, size_t bytes, size_t reserved);
void large_release(void *p, size_t reserved);

#endif
