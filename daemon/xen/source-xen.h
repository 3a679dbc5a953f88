/*
 * The source `xen`: a guest for every domain of this dom0 that publishes a ring or offers a memory
 * profile.
 */
#ifndef XEN_SOURCE_XEN_H
#define XEN_SOURCE_XEN_H

#include <stddef.h>

struct collector;
struct config;
struct helper;
struct source;
struct vcpu_area;
struct xen;

/* Handles that can be opened only before rights are dropped. */
struct xen_access {
	struct xen *xen;
	struct helper *helper;
	struct vcpu_area *vcpu_area; /* NULL = no vCPUs are recorded */
};

/*
 * Open the handles that need rights, fork the helper, and then give up the rights. No other thread
 * may exist yet, because capabilities are per thread. The helper inherits every open descriptor, so
 * call this before opening anything that the helper must not have. CONFIG is borrowed
 * for the call. Return 0; or -errno, with a sentence in SENTENCE (SIZE bytes), and the caller
 * still closes ACCESS.
 */
int xen_access_open(struct xen_access *access, const struct config *config, char *sentence, size_t size);
/* Close the handles that source_xen_open() has not taken. */
void xen_access_close(struct xen_access *access);

/*
 * Watch the domains of this dom0. Take all handles from ACCESS, also on failure. This starts
 * libxenstore's thread. The first sweep is complete on return. Return 0, with the source in *SP; or
 * -errno, with a sentence in SENTENCE (SIZE bytes).
 */
int source_xen_open(struct source **sp, struct collector *collector, struct xen_access *access, char *sentence,
		    size_t size);

#endif
