/*
 * libxenctrl, for a domain's state and why it shut down.
 *
 * Its soname is Xen's version and its structures change with it, so it is loaded at run time.
 * mprofd uses what is the same in each version: three calls, and the first eight bytes of a
 * domain's description.
 */
#ifndef XEN_XENCTRL_H
#define XEN_XENCTRL_H

#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"

struct domain_state;
struct xenctrl;

/*
 * Load the library of this Xen's version and open Xen's privileged interface. On failure return
 * -errno and write a SENTENCE of SIZE bytes.
 */
int xenctrl_open(struct xenctrl **xp, char *sentence, size_t size);
struct xenctrl *xenctrl_close(struct xenctrl *xenctrl); /* accepts NULL */
CLEANUP_DEFINE(struct xenctrl, xenctrl_close)

/*
 * Read the state of DOMID; flags lack DOMAIN_KNOWN if Xen has no such domain. Return 0, or -errno
 * if Xen did not say.
 */
int xenctrl_state(struct xenctrl *xenctrl, uint32_t domid, struct domain_state *state);

#endif
