/*
 * The interface to Xen: XenStore, grants of other domains' pages, event channels.
 *
 * xen.c alone includes Xen's headers and links its libraries. All bytes that these functions return
 * were written by a guest or a toolstack; the caller checks them. One thread makes all calls.
 * libxenstore starts a thread of its own at the first watch. Capabilities are per thread, so rights
 * are given up after xen_open() and before the first watch.
 */
#ifndef XEN_XEN_H
#define XEN_XEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"

#define XEN_PAGE_BYTES 4096u
#define XEN_PATH_MAX   4096u /* bytes of a XenStore path, with its terminator */

struct xen;

/*
 * Return whether this is a dom0: whether /proc/xen/capabilities has the word `control_d`. Guests
 * have the file too, without that word.
 */
bool xen_is_dom0(void);
/*
 * Open /dev/xen/gntdev, /dev/xen/evtchn and the connection to XenStore. None of them can be opened
 * again once rights are dropped. Return 0, with the handle in *XP; or -errno, with a sentence in
 * SENTENCE (SIZE bytes).
 */
int xen_open(struct xen **xp, char *sentence, size_t size);
struct xen *xen_close(struct xen *xen); /* also unmaps all pages and unbinds all ports; accepts NULL */
CLEANUP_DEFINE(struct xen, xen_close)

/*
 * ---- XenStore. Each call is a round trip to xenstored, which takes 50 us or more. ----
 *
 * -EPIPE from any of these functions: the connection is lost, which is fatal. Every other error is
 * xenstored's answer to this call only.
 */

/*
 * Watch PATH. A first event comes at once, without any write. TOKEN comes back with each event of
 * the watch. The first call starts libxenstore's thread. Return 0 or -errno.
 */
int xen_watch(struct xen *xen, const char *path, const char *token);
int xen_unwatch(struct xen *xen, const char *path, const char *token);
/* Return a descriptor that is readable when there are events, or -1 before the first watch. */
int xen_store_fd(struct xen *xen);
/*
 * Copy the path and token of the next event, each truncated to its buffer's size. Return 1, 0 (no
 * event now), or -errno: the connection is lost, which is fatal. A lost connection does not make
 * xen_store_fd() readable. So call this function once a second as well; it takes only a lock.
 */
int xen_store_event(struct xen *xen, char *path, size_t path_size, char *token, size_t token_size);

/*
 * Begin a transaction for reading; *T is its id. If xen_read_end() returns 0, all values that were
 * read in it existed at one moment. If it returns -EAGAIN, read again. A transaction id of 0 in the
 * calls below means no transaction.
 */
int xen_read_begin(struct xen *xen, uint32_t *t);
int xen_read_end(struct xen *xen, uint32_t t);
/*
 * Read the value of PATH in transaction T. *VALUE has *LEN bytes, which may include NULs, and a NUL
 * behind them; the caller frees it. Return 0, -ENOENT, -EACCES or another -errno.
 */
int xen_read(struct xen *xen, uint32_t t, const char *path, char **value, size_t *len);
/*
 * List the N names directly below PATH. The caller frees *NAMES with one free(). Return 0, -ENOENT
 * or another -errno.
 */
int xen_list(struct xen *xen, uint32_t t, const char *path, char ***names, size_t *n);

/* ---- grants ---- */

/*
 * Map the N pages of DOMID that REFS grants, read-only and at consecutive addresses: all of them or
 * none. Return 0, -EINVAL for a bad reference, -ENOMEM or another -errno.
 */
int xen_map(struct xen *xen, uint32_t domid, const uint32_t *refs, size_t n, const volatile uint8_t **bytes);
void xen_unmap(struct xen *xen, const volatile uint8_t *bytes, size_t n);

/*
 * Read into *ENTRIES the number of entries of dom0's maptrack table (gnttab_max_maptrack_frames *
 * 256 if that can be read, else Xen's default of 262,144), and into *PER_PAGE how many entries one
 * mapped page takes: 2 in a PV dom0, else 1.
 */
void xen_maptrack(struct xen *xen, uint64_t *entries, unsigned *per_page);

/* ---- event channels ---- */

int xen_event_fd(struct xen *xen); /* readable when a port is pending; reads do not block */
/*
 * Bind to PORT of DOMID. A port can be bound only once. *LOCAL is dom0's port. Binding makes the
 * local port pending once. Return 0 or -errno.
 */
int xen_bind(struct xen *xen, uint32_t domid, uint32_t port, uint32_t *local);
void xen_unbind(struct xen *xen, uint32_t local);
/*
 * Fetch the next pending port into *LOCAL and leave it masked. Return 1, 0 (none is pending), or
 * -errno, which is fatal.
 */
int xen_pending(struct xen *xen, uint32_t *local);
/*
 * Unmask the local port LOCAL. If the guest kicked it while it was masked, it is pending at once.
 */
void xen_unmask(struct xen *xen, uint32_t local);

#endif
