/* One connection on standard input and output, for `mprofd-http --stdio`. */
#ifndef SERVE_STDIO_PUMP_H
#define SERVE_STDIO_PUMP_H

#include <sys/types.h>

/*
 * Start a process, *CHILD, that passes bytes between standard input and output and *FD, a new socket,
 * which the caller owns. The process ends when the socket is closed, or standard output. Return 0 or
 * -errno.
 */
int stdio_pump(int *fd, pid_t *child);

/* Wait until CHILD has written everything and ended. */
void stdio_pump_wait(pid_t child);

#endif
