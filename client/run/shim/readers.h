/* Which threads have a reader-writer lock for reading: the lock itself has their number alone. */
#ifndef SHIM_READERS_H
#define SHIM_READERS_H

#include <stdint.h>

/*
 * The calling thread has taken the lock ID for reading, or is about to release it. Neither makes a system call. A lock, or
 * a reader of it, that finds no room is not known.
 */
void readers_took(int64_t id);
void readers_releases(int64_t id);
/* The lock ID is made or destroyed: nobody has it. */
void readers_clear(int64_t id);
/*
 * Return a thread that has the lock ID for reading, the calling one if that is known to; 0 if none is known. ACTUAL is the number that
 * the lock has: if more are known, they are not those of this lock, and the result is 0.
 */
int readers_one(int64_t id, uint32_t actual);
/* After a fork: the locks of the parent are not known. */
void readers_forget(void);

#endif
