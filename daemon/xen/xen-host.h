/*
 * The host: state that all domains of this dom0 share. source-xen.c owns it; domains and
 * attachments borrow it.
 */
#ifndef XEN_HOST_H
#define XEN_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "helper.h"
#include "limits.h"
#include "value.h"
#include "vcpu-track.h"
#include "xen.h"

struct collector;
struct domain;
struct attachment;

/* If the helper is silent for this time, nothing waits for it or asks it, until it answers. */
#define HELPER_SILENT_NS (5 * NS_PER_S)

struct host {
	struct collector *collector;
	struct xen *xen;
	struct helper *helper; /* NULL = the helper is gone */
	bool silent;	       /* the helper has not answered for HELPER_SILENT_NS, and runs as far as is known */
	bool knows_states;     /* the helper can tell states of domains, and is not silent */
	char boot[40];	       /* dom0's boot id; part of a run's key, because each boot counts domids from 1 */
	struct domain *domains;
	size_t n_domains;
	uint64_t serial; /* last number given to a domain; see struct domain */
	struct allowance allowance;
	uint64_t refused[FAULT_MAX];
	struct attachment **ports; /* the attachment bound to each local port, by port */
	size_t n_ports;
	/*
	 * No step reads XenStore before this time, so that rings are polled meanwhile.
	 * CLOCK_MONOTONIC ns.
	 */
	uint64_t store_ready;
	uint64_t store_urgent; /* the same for urgent steps, see domain_is_urgent() */
	/*
	 * Since when a question waits for the helper's answer, by the machine's CLOCK_MONOTONIC, ns;
	 * 0 = none waits. A test's clock gives the helper no time.
	 */
	uint64_t asked;
	/*
	 * States in answers to questions from before this time, when a helper that had been silent
	 * answered again, are not used: a domid may have another domain by now. CLOCK_MONOTONIC ns.
	 */
	uint64_t states_from;
	struct vcpu_slots vcpus;
	int lost; /* -errno if the connection to XenStore is lost; else 0 */
};

/*
 * Take in all waiting events of XenStore. An event only leaves a note at its domain (see domain.c).
 */
void host_drain(struct host *host);
/* Return the helper, or NULL if it is gone or silent: then it is not to be asked. Borrowed. */
static inline struct helper *host_helper(const struct host *host)
{
	return host->silent ? NULL : host->helper;
}

/* Note that a question was sent to the helper. */
void host_asked(struct host *host, uint64_t now);
/* Schedule a sweep: ask for the states of all domains, and list the domains that exist. */
void host_sweep_soon(struct host *host);

/* Set the attachment that is bound to the local port LOCAL; NULL = none. Return 0 or -ENOMEM. */
int host_port_set(struct host *host, uint32_t local, struct attachment *attachment);
struct attachment *host_port(const struct host *host, uint32_t local);

#endif
