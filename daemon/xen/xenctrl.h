/*
 * The one thing wanted of libxenctrl: a domain's state and why it shut down.
 *
 * Its soname is Xen's version and its structures change with it, so that it is found when it is wanted; what is used of it is the same in
 * each: three calls, and the first eight bytes of a domain's description.
 */
#ifndef XEN_XENCTRL_H
#define XEN_XENCTRL_H

#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"

struct domain_state;
struct xenctrl;

/* Load the library of this Xen's version and open Xen's privileged interface.  On failure -errno and a SENTENCE of SIZE bytes. */
int xenctrl_open(struct xenctrl **xp, char *sentence, size_t size);
struct xenctrl *xenctrl_close(struct xenctrl *xenctrl); /* NULL too */
CLEANUP_DEFINE(struct xenctrl, xenctrl_close)

/* The state of DOMID; flags without DOMAIN_KNOWN where Xen has no such domain.  -errno: Xen did not say. */
int xenctrl_state(struct xenctrl *xenctrl, uint32_t domid, struct domain_state *state);

#endif
