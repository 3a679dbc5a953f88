/*
 * The host: what all domains of this dom0 share in the collector.  Owned by the Xen source; domains and shares borrow it.
 */
#ifndef XEN_HOST_H
#define XEN_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "helper.h"
#include "limits.h"
#include "value.h"
#include "xen.h"

struct collector;
struct domain;
struct attachment;

struct host {
	struct collector *collector;
	struct xen *xen;
	struct helper *helper; /* NULL: it is gone */
	bool knows_states;     /* the helper can tell how domains are */
	char boot[40];	       /* dom0's boot id: domids count from anew with each boot */
	struct domain *domains;
	size_t n_domains;
	uint64_t serial; /* given to domains so far: stands in the tokens of their watches */
	struct allowance allowance;
	uint64_t refused[FAULT_MAX];
	struct attachment **ports; /* by local port */
	size_t n_ports;
	/* CLOCK_MONOTONIC ns: XenStore is not read before, so that rings are looked at meanwhile ... */
	uint64_t store_ready;
	uint64_t store_urgent; /* ... and for guests whose rings are not attached yet not before this */
	uint64_t
		asked; /* CLOCK_MONOTONIC ns: a question to the helper waits for its answer since then; 0 = none does */
	int lost;      /* -errno: the connection to XenStore is gone */
};

/* Take in all of XenStore's events; each only leaves a note at its domain. */
void host_drain(struct host *host);
/* The helper was asked something. */
void host_asked(struct host *host, uint64_t now);
/* Look soon which domains there are, and how they are. */
void host_sweep_soon(struct host *host);

/* Who waits at the local port LOCAL: SHARE, or nobody (NULL).  -ENOMEM. */
int host_port_set(struct host *host, uint32_t local, struct attachment *attachment);
struct attachment *host_port(const struct host *host, uint32_t local);

#endif
