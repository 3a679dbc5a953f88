/* The functions open and open64 of a library for LD_PRELOAD, which decides about each path. */
#ifndef XEN_SIM_OPENS_H
#define XEN_SIM_OPENS_H

#include <sys/types.h>

/* The library's: open PATH as the function NAME ("open" or "open64") would. */
int open_as(const char *name, const char *path, int flags, mode_t mode);
/* Open PATH by the C library's function NAME. */
int open_really(const char *name, const char *path, int flags, mode_t mode);

#endif
