/* Memory for one large array that grows in place, where the system can promise addresses without giving memory. */
#ifndef TRACE_LARGE_H
#define TRACE_LARGE_H

#include <stdbool.h>
#include <stddef.h>

/* Smaller ones are better off on the heap. */
#define LARGE_MIN ((size_t)2 << 20)

/* An array of more bytes than that is refused. */
#define LARGE_MAX ((size_t)1 << (sizeof(size_t) == 8 ? 38 : 30))

/* Addresses for LARGE_MAX bytes, none of which can be used yet.  NULL where the system has none to give: then the heap must do. */
void *large_reserve(void);
/* Room for BYTES bytes at P instead of HELD: how many there are now, or HELD without memory.  What is new is zero. */
size_t large_resize(void *p, size_t held, size_t bytes);
void large_release(void *p);

#endif
