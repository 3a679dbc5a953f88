/*
 * The rings of the domains of an OCaml 5 program, which the keeper writes: `domain-0` for the main
 * domain, and so on. Domains beyond the last of them share it.
 */
#ifndef RUN_DOMAINS_H
#define RUN_DOMAINS_H

#include <mprof/runtime.h>
#include <stdint.h>

#include "keeper-ring.h"

struct domains;

/* The room of a process for the rings of its domains. */
struct domain_rings {
	struct ring_place place;
	uint32_t n;	/* so many rings, at most RUN_DOMAIN_RINGS; 0 = no event may come */
	uint64_t bytes; /* of each */
};

/*
 * Return the domains of a process that records them into RINGS, which is copied; its place is valid
 * until domains_free(). A ring is made with its first event. Return NULL without memory.
 */
struct domains *domains_new(const struct domain_rings *rings);
/* End the rings and free D, which may be NULL. The files stay. Return NULL. */
struct domains *domains_free(struct domains *d);
/* Return the functions that take the events of a translator and record them. D must outlive them. */
struct mprof_runtime_events domains_events(struct domains *d);
/* Record the losses that no event has followed. */
void domains_settle(struct domains *d);
/* Return the number of events and of damaged places that are in no ring. */
uint64_t domains_dropped(const struct domains *d);

#endif
