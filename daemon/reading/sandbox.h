/* The limits of the process that reads a capture. */
#ifndef READING_SANDBOX_H
#define READING_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Limit the calling process to MEMORY bytes of address space and SECONDS of processor time, and
 * to the system calls of a program that computes: read, write, memory, clock, random numbers and its end. Any other
 * call kills the process. It must have one thread. Return 0 or -errno; then the process must end.
 */
int sandbox_enter(uint64_t memory, unsigned seconds);
/* Return whether this build can lock a process. */
bool sandbox_works(void);

#endif
