/*
 * What the collector asks of Xen: XenStore, grants of other domains' pages, event channels.
 *
 * The seam: xen.c alone includes Xen's headers and links its libraries.  Everything that comes through here was written by a guest or a
 * toolstack and is checked by who asks.  All calls are made by one thread; libxenstore adds one of its own at the first watch, which is
 * why rights are given up between xen_open and that (capabilities are per thread).
 */
#ifndef XEN_XEN_H
#define XEN_XEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"

#define XEN_PAGE_BYTES 4096u
#define XEN_VALUE_MAX  4096u /* bytes of a XenStore value, and of a path */

struct xen;

/* Is this a dom0?  `control_d` in /proc/xen/capabilities: the file exists in guests too. */
bool xen_is_dom0(void);
/* Open /dev/xen/gntdev, /dev/xen/evtchn and the connection to XenStore.  On failure -errno and a SENTENCE of SIZE bytes.  Nothing of it
 * can be opened again once rights are dropped. */
int xen_open(struct xen **xp, char *sentence, size_t size);
struct xen *xen_close(struct xen *xen); /* unmaps and unbinds what is left; NULL too */
CLEANUP_DEFINE(struct xen, xen_close)

/*
 * ---- XenStore.  Each call is a round trip to xenstored, of some 50 us and more. ----
 *
 * -EPIPE from any of them: the connection is lost, which is fatal.  Every other error is xenstored's answer to this one question.
 */

/* The first one starts libxenstore's thread.  It fires once at once.  TOKEN comes back with each event.  -errno. */
int xen_watch(struct xen *xen, const char *path, const char *token);
int xen_unwatch(struct xen *xen, const char *path, const char *token);
/* Becomes readable with events.  Before the first watch there is none: -1. */
int xen_store_fd(struct xen *xen);
/*
 * The next event, copied out and cut to the buffers' sizes: 1, 0 (none now), or -errno: the connection is lost, which is fatal.
 * A loss makes xen_store_fd NOT readable: call this once a second as well (it costs a lock), or an idle daemon never learns of it.
 */
int xen_store_event(struct xen *xen, char *path, size_t path_size, char *token, size_t token_size);

/*
 * A transaction for reading: what is read in it was so at one moment, if xen_read_end says 0.  -EAGAIN there: it was not, read again.
 * *T is 0 for no transaction.
 */
int xen_read_begin(struct xen *xen, uint32_t *t);
int xen_read_end(struct xen *xen, uint32_t t);
/* The value of PATH, NUL-terminated behind its *LEN bytes (which may hold NULs); free() it.  -ENOENT, -EACCES, -errno. */
int xen_read(struct xen *xen, uint32_t t, const char *path, char **value, size_t *len);
/* The names below PATH: one free() frees all.  -ENOENT, -errno. */
int xen_list(struct xen *xen, uint32_t t, const char *path, char ***names, size_t *n);
/* Does XenStore know the domain?  1, 0, -EPIPE. */
int xen_introduced(struct xen *xen, uint32_t domid);

/* ---- grants ---- */

/* Map N pages of DOMID read-only, one behind the other.  All or none: -EINVAL for a bad reference, -ENOMEM, -errno. */
int xen_map(struct xen *xen, uint32_t domid, const uint32_t *refs, size_t n, const volatile uint8_t **bytes);
void xen_unmap(struct xen *xen, const volatile uint8_t *bytes, size_t n);

/*
 * The entries of dom0's maptrack table (gnttab_max_maptrack_frames * 256 where it can be read, else Xen's default of 262,144) and
 * how many of them a page takes here: 2 in a PV dom0, else 1.
 */
void xen_maptrack(struct xen *xen, uint64_t *entries, unsigned *per_page);

/* ---- event channels ---- */

int xen_event_fd(struct xen *xen); /* becomes readable; never blocks */
/* Bind to PORT of DOMID: *LOCAL is ours and is made pending once by the bind itself.  A port can be bound once.  -errno. */
int xen_bind(struct xen *xen, uint32_t domid, uint32_t port, uint32_t *local);
void xen_unbind(struct xen *xen, uint32_t local);
/* The next port that is pending; from then on it is masked.  1, 0 (none), or -errno: fatal. */
int xen_pending(struct xen *xen, uint32_t *local);
/* Let it come again: at once if it was kicked meanwhile. */
void xen_unmask(struct xen *xen, uint32_t local);

#endif
