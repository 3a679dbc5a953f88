/*
 * Find which domain has a network address, and which address a domain has. Both come from the keys
 * that the toolstack wrote to each vif's back end in XenStore. Keys that guests write are not used,
 * because a guest could claim the address of another one.
 */
#ifndef XEN_ADDRESSES_H
#define XEN_ADDRESSES_H

#include <stddef.h>
#include <stdint.h>

#define ADDRESSES_TEXT 256u

struct domain;
struct host;

/* Cache entry: the addresses of one domain. */
struct addresses_entry {
	uint64_t serial;	   /* serial number of struct domain */
	uint64_t read_at;	   /* when the keys were read, CLOCK_MONOTONIC ns */
	char text[ADDRESSES_TEXT]; /* addresses, separated by blanks */
};

/* The cache. A zeroed struct is an empty cache. */
struct addresses {
	struct addresses_entry *entries;
	size_t n, room;
};

void addresses_deinit(struct addresses *a);
/*
 * Return the domain that has ADDRESS (IPv4 or IPv6, as text), or NULL if none is known. If several
 * domains have it, return the newest. Each call reads the keys of at most READS_MAX domains, which
 * takes some milliseconds. A cached result is used for ten seconds.
 */
struct domain *addresses_find(struct addresses *a, struct host *host, const char *address);
/* Write DOMAIN's first address to TEXT (SIZE bytes), or "" if none is known. */
void addresses_first(struct addresses *a, const struct domain *domain, char *text, size_t size);

#endif
