/* The streams of this guest in XenStore, for publisher-xen.c. */
#ifndef RECORDER_XEN_KEYS_H
#define RECORDER_XEN_KEYS_H

#include <mprof/publisher-xen.h>

#define XEN_REFS_BYTES 1900u /* of a value of references: the stores allow 2,048, some of them with the node's head */

/* Write who this process is, as `owner` in schema/xenstore.md, to TEXT. Return 0 or -errno. */
int xen_owner(char *text, size_t size);
/* Remove the streams whose owner, of this pid namespace, no longer runs. */
void xen_keys_sweep(struct xs_handle *store);
/* Write the keys of R under the next free number, which becomes R->stream. Return 0 or -errno. */
int xen_keys_write(struct xs_handle *store, struct mprof_xen_ring *r, const char *owner, const char *name);
/* Remove the keys of the N rings R[] that are published, or of none. Return 0 or -errno. */
int xen_keys_remove(struct xs_handle *store, struct mprof_xen_ring *const *r, size_t n);
/* Return the number of streams, or -errno. */
int xen_keys_count(struct xs_handle *store);
/* Return the number of bytes of N references, at least one, as a value. A signal handler may call it. */
size_t xen_refs_bytes(const uint32_t *refs, uint32_t n);

#endif
