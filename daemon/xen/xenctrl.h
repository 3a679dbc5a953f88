/*
 * Ask libxenctrl for a domain's state, and why the domain shut down.
 *
 * The library's soname is Xen's version, and its structures change with it, so it is loaded at run
 * time. mprofd uses only what all versions have in common: three functions, and the first eight
 * bytes of a domain's description.
 */
#ifndef XEN_XENCTRL_H
#define XEN_XENCTRL_H

#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"

struct domain_state;
struct xenctrl;

/*
 * Load the libxenctrl of the running Xen and open Xen's privileged interface. Return 0, with the
 * handle in *XP; or -errno, with a sentence in SENTENCE (SIZE bytes).
 */
int xenctrl_open(struct xenctrl **xp, char *sentence, size_t size);
struct xenctrl *xenctrl_close(struct xenctrl *xenctrl); /* accepts NULL */
CLEANUP_DEFINE(struct xenctrl, xenctrl_close)

/*
 * Read the state of DOMID into *STATE. Its flags lack DOMAIN_KNOWN if Xen has no such domain.
 * Return 0, or -errno if Xen did not answer.
 */
int xenctrl_state(struct xenctrl *xenctrl, uint32_t domid, struct domain_state *state);

#endif
