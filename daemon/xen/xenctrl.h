/*
 * Ask libxenctrl for a domain's state, why the domain shut down, and what its vCPUs do.
 *
 * The library's soname is Xen's version, and its structures change with it, so it is loaded at run
 * time. mprofd uses only what all versions have in common: four functions, the first eight bytes of
 * a domain's description, and the description of a vCPU.
 */
#ifndef XEN_XENCTRL_H
#define XEN_XENCTRL_H

#include <stdbool.h>
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

struct vcpu_info {
	bool online, blocked, running;
	uint64_t cpu_time; /* how long it has run since the domain was created, ns */
};

/* Return whether the library has the call that xenctrl_vcpu() makes. */
bool xenctrl_has_vcpus(const struct xenctrl *xenctrl);
/*
 * Read what vCPU number VCPU of DOMID does into *INFO. Return 0; -ENOSYS without the call; or -errno
 * if there is no such domain or vCPU, or Xen did not answer.
 */
int xenctrl_vcpu(struct xenctrl *xenctrl, uint32_t domid, uint32_t vcpu, struct vcpu_info *info);

#endif
