/*
 * The host: shared by all domains of this dom0. Owned by the Xen source. Domains and attachments
 * borrow it.
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
	struct helper *helper; /* NULL = it is gone */
	bool knows_states;     /* the helper can tell the states of domains */
	char boot[40];	       /* dom0's boot id: each boot counts domids from the start */
	struct domain *domains;
	size_t n_domains;
	uint64_t serial; /* last one given to a domain; part of its watches' tokens */
	struct allowance allowance;
	uint64_t refused[FAULT_MAX];
	struct attachment **ports; /* attachments by local port */
	size_t n_ports;
	/*
	 * CLOCK_MONOTONIC ns before which XenStore is not read, so that rings are polled meanwhile
	 */
	uint64_t store_ready;
	uint64_t store_urgent; /* the same, for guests whose rings are not attached yet */
	uint64_t asked; /* CLOCK_MONOTONIC ns since when a question to the helper waits for its answer; 0 = none */
	int lost;	/* -errno: the connection to XenStore is gone */
};

/* Take in all of XenStore's events. Each only leaves a note at its domain. */
void host_drain(struct host *host);
/* Note that the helper was asked something. */
void host_asked(struct host *host, uint64_t now);
/* Sweep soon: list the domains and ask for their states. */
void host_sweep_soon(struct host *host);

/* Set the attachment that waits at the local port LOCAL; NULL = none. Return 0 or -ENOMEM. */
int host_port_set(struct host *host, uint32_t local, struct attachment *attachment);
struct attachment *host_port(const struct host *host, uint32_t local);

#endif
