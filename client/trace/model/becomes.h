/* Which thread goes on in place of one that became another: union-find over the threads' numbers. */
#ifndef TRACE_BECOMES_H
#define TRACE_BECOMES_H

#include <stdbool.h>
#include <stdint.h>

/* The thread at the end of the chain that THREAD is in. */
uint32_t becomes_find(uint32_t *aliases, uint32_t thread);
/* Let FROM, an end of a chain, go on as TO, another one; false, with nothing changed, where they are the same. */
bool becomes_join(uint32_t *aliases, uint32_t from, uint32_t to);

#endif
