/* Whether a call on a file descriptor can wait. */
#ifndef SHIM_DESCRIPTOR_H
#define SHIM_DESCRIPTOR_H

#include <stdbool.h>

/*
 * Return whether a read or a write of FD can wait: FD is in blocking mode, and no regular file,
 * directory or device like /dev/null. The answer is kept until descriptor_changed().
 */
bool descriptor_waits(int fd);
/* FD was closed, opened or got another mode: forget the answer. */
void descriptor_changed(int fd);
/* FD is new, in blocking mode if BLOCKING. */
void descriptor_is_new(int fd, bool blocking);

#endif
