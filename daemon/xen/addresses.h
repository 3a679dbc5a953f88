/*
 * Which domain has which network address, by what the toolstack wrote to each vif's back end in
 * XenStore. Guests' own statements are not used, because a guest could claim another's
 * address.
 */
#ifndef XEN_ADDRESSES_H
#define XEN_ADDRESSES_H

#include <stddef.h>
#include <stdint.h>

#define ADDRESSES_TEXT 256u

struct domain;
struct host;

/* Addresses read of one domain. */
struct addresses_entry {
	uint64_t serial;	   /* of the domain; never used again */
	uint64_t read_at;	   /* CLOCK_MONOTONIC ns */
	char text[ADDRESSES_TEXT]; /* addresses, separated by blanks */
};

/* Zeroed is empty and safe to deinit. */
struct addresses {
	struct addresses_entry *entries;
	size_t n, room;
};

void addresses_deinit(struct addresses *a);
/*
 * Return the domain that has ADDRESS (IPv4 or IPv6, as text), the youngest if several have it; NULL
 * if none is known. Each call reads the keys of a few domains, which costs some milliseconds at
 * most. A result counts for ten seconds.
 */
struct domain *addresses_find(struct addresses *a, struct host *host, const char *address);
/* Write DOMAIN's first address to TEXT of SIZE bytes; "" if none is known. */
void addresses_first(struct addresses *a, const struct domain *domain, char *text, size_t size);

#endif
