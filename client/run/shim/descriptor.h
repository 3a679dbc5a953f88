/* Whether a call on a file descriptor can wait, and whom a write to it wakes. */
#ifndef SHIM_DESCRIPTOR_H
#define SHIM_DESCRIPTOR_H

#include <stdbool.h>

/*
 * Return whether a read or a write of FD can wait: FD is in blocking mode, and no regular file,
 * directory or device like /dev/null. The answer is kept until descriptor_changed().
 */
bool descriptor_waits(int fd);
/* FD was closed or opened: forget all that is known of it. */
void descriptor_changed(int fd);
/* The same for all from FIRST to LAST. */
void descriptors_changed(unsigned int first, unsigned int last);
/* FD may have got another mode. */
void descriptor_mode_changed(int fd);
/* TO is a new descriptor of the same open file as FD. */
void descriptor_copies(int fd, int to);
/* A write to the descriptor FROM can be read from TO. */
void descriptor_links(int from, int to);
/* A wait for EPOLL ends when FD can be read; EPOLL is -1 if it does so no longer. */
void descriptor_is_watched(int fd, int epoll);
/* The calling thread is about to write to FD: those that wait for it learn who has woken them. */
void descriptor_wakes(int fd);
/* The write failed. */
void descriptor_wakes_nobody(int fd);
/* FD is new, in blocking mode if BLOCKING. */
void descriptor_is_new(int fd, bool blocking);

#endif
