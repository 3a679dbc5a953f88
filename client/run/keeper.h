/* The keeper: the process that holds the rings of the traced processes. */
#ifndef RUN_KEEPER_H
#define RUN_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct keeper_options {
	const char *dir;      /* directory of the directories; NULL with XEN */
	uint64_t ring_bytes;  /* size of a ring */
	const char *runtime;  /* directory for OCaml's files of runtime events, which the keeper removes */
	bool keep;	      /* do not remove the directory of a process that ended by itself */
	bool clock_is_memory; /* clock_gettime() makes no system call (kernel-clock.h) */
	bool xen;	      /* publish to domain 0 of Xen, and not in a directory */
};

/*
 * Create the keeper's socket. Write its abstract name to NAME (SIZE bytes). Return the socket or
 * -errno.
 */
int keeper_listen(char *name, size_t size);
/*
 * Start a keeper for the calling process and its descendants, which is no child of the calling
 * process. LISTENING is the socket, which the caller closes. Return 0 or -errno.
 */
int keeper_start(int listening, const struct keeper_options *options);

#endif
