/* Whether the time can be had without the kernel. */
#ifndef RUN_KERNEL_CLOCK_H
#define RUN_KERNEL_CLOCK_H

#include <stdbool.h>

/*
 * Return whether clock_gettime() makes no system call, which depends on the clock source of Linux. The answer
 * is found in a child process that may make none.
 */
bool clock_is_memory(void);

#endif
