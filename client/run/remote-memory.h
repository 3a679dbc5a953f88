/* The memory of another process, read from outside. */
#ifndef RUN_REMOTE_MEMORY_H
#define RUN_REMOTE_MEMORY_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Copy the memory of the process PID from ADDRESS on to BYTES, N bytes at most, up to the first page that is not there. No
 * thread is stopped. Return the number of bytes, 0 if there are none or they may not be read.
 */
uint64_t remote_copy(pid_t pid, uint64_t address, void *bytes, uint64_t n);

#endif
