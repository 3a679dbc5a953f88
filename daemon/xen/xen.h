/*
 * The interface to Xen: XenStore, grants of other domains' pages, event channels.
 *
 * xen.c alone includes Xen's headers and links its libraries. All bytes that come through here were
 * written by a guest or a toolstack; the caller checks them. One thread makes all calls.
 * libxenstore adds a thread of its own at the first watch, so rights are given up between xen_open
 * and that watch (capabilities are per thread).
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

/*
 * Return true if this is a dom0: /proc/xen/capabilities has `control_d`. Guests have the file too.
 */
bool xen_is_dom0(void);
/*
 * Open /dev/xen/gntdev, /dev/xen/evtchn and the connection to XenStore. None of them can be opened
 * again once rights are dropped. On failure return -errno and write a SENTENCE of SIZE bytes.
 */
int xen_open(struct xen **xp, char *sentence, size_t size);
struct xen *xen_close(struct xen *xen); /* unmaps and unbinds what is left; accepts NULL */
CLEANUP_DEFINE(struct xen, xen_close)

/*
 * ---- XenStore. Each call is a round trip to xenstored, of some 50 us and more. ----
 *
 * -EPIPE from any of them: the connection is lost, which is fatal. Every other error is xenstored's
 * answer to this one question.
 */

/*
 * Watch PATH. The watch fires once at once. TOKEN comes back with each event. The first watch
 * starts libxenstore's thread. Return 0 or -errno.
 */
int xen_watch(struct xen *xen, const char *path, const char *token);
int xen_unwatch(struct xen *xen, const char *path, const char *token);
/* Return a descriptor that is readable when there are events; -1 before the first watch. */
int xen_store_fd(struct xen *xen);
/*
 * Copy the next event, cut to the buffers' sizes. Return 1, 0 (none now), or -errno: the connection
 * is lost, which is fatal. A loss does not make xen_store_fd readable: call this once a second as
 * well (it costs a lock), or an idle daemon never learns of it.
 */
int xen_store_event(struct xen *xen, char *path, size_t path_size, char *token, size_t token_size);

/*
 * Begin a transaction for reading. All that is read in it was so at one moment, if xen_read_end
 * returns 0. -EAGAIN there: read again. *T is 0 for no transaction.
 */
int xen_read_begin(struct xen *xen, uint32_t *t);
int xen_read_end(struct xen *xen, uint32_t t);
/*
 * Read the value of PATH, NUL-terminated after its *LEN bytes (which may hold NULs); the caller
 * frees it. Return 0, -ENOENT, -EACCES or -errno.
 */
int xen_read(struct xen *xen, uint32_t t, const char *path, char **value, size_t *len);
/* List the names below PATH. One free() frees all of them. Return 0, -ENOENT or -errno. */
int xen_list(struct xen *xen, uint32_t t, const char *path, char ***names, size_t *n);

/* ---- grants ---- */

/*
 * Map N pages of DOMID read-only, one after the other, all or none. Return 0, -EINVAL for a bad
 * reference, -ENOMEM or -errno.
 */
int xen_map(struct xen *xen, uint32_t domid, const uint32_t *refs, size_t n, const volatile uint8_t **bytes);
void xen_unmap(struct xen *xen, const volatile uint8_t *bytes, size_t n);

/*
 * Read the number of entries of dom0's maptrack table (gnttab_max_maptrack_frames * 256 if it can
 * be read, else Xen's default of 262,144), and how many of them a page takes: 2 in a PV dom0, else
 * 1.
 */
void xen_maptrack(struct xen *xen, uint64_t *entries, unsigned *per_page);

/* ---- event channels ---- */

int xen_event_fd(struct xen *xen); /* becomes readable; never blocks */
/*
 * Bind to PORT of DOMID. *LOCAL is dom0's port, which the bind itself makes pending once. A port
 * can be bound once. Return 0 or -errno.
 */
int xen_bind(struct xen *xen, uint32_t domid, uint32_t port, uint32_t *local);
void xen_unbind(struct xen *xen, uint32_t local);
/*
 * Fetch the next pending port and leave it masked. Return 1, 0 (none), or -errno, which is fatal.
 */
int xen_pending(struct xen *xen, uint32_t *local);
/* Unmask the port LOCAL. It is pending at once if it was kicked meanwhile. */
void xen_unmask(struct xen *xen, uint32_t local);

#endif
