/*
 * The source `xen`: every domain of this dom0 that publishes a ring, or offers a memory profile, is
 * a guest.
 */
#ifndef XEN_SOURCE_XEN_H
#define XEN_SOURCE_XEN_H

#include <stddef.h>

struct collector;
struct helper;
struct source;
struct xen;

/* Handles that take rights to open. */
struct xen_access {
	struct xen *xen;
	struct helper *helper;
};

/*
 * Open what takes rights, and give the rights up. To be called before there is another thread,
 * because capabilities are per thread, and before anything is opened that the helper must not
 * inherit: it is forked here. CONSOLE_LOGS as in helper_start. On failure return -errno and write a
 * SENTENCE of SIZE bytes; ACCESS is to be closed then too.
 */
int xen_access_open(struct xen_access *access, const char *console_logs, char *sentence, size_t size);
/* Close the handles that are left. */
void xen_access_close(struct xen_access *access);

/*
 * Watch the domains of this dom0. Take both handles out of ACCESS, also on failure. This starts the
 * thread of libxenstore. The first sweep is done on return. On failure return -errno and write a
 * SENTENCE of SIZE bytes.
 */
int source_xen_open(struct source **sp, struct collector *collector, struct xen_access *access, char *sentence,
		    size_t size);

#endif
