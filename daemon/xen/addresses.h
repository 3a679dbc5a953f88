/*
 * Which domain has which network address: what the toolstack wrote to each vif's back end in XenStore.  What guests say of themselves is not
 * asked, since one could take another's name by it.
 */
#ifndef XEN_ADDRESSES_H
#define XEN_ADDRESSES_H

#include <stddef.h>
#include <stdint.h>

#define ADDRESSES_TEXT 256u

struct domain;
struct host;

/* What was read of one domain. */
struct addresses_entry {
	uint64_t serial;	   /* the domain's, which is never used again */
	uint64_t read_at;	   /* CLOCK_MONOTONIC ns */
	char text[ADDRESSES_TEXT]; /* addresses, between blanks */
};

/* Zeroed is empty and safe to deinit. */
struct addresses {
	struct addresses_entry *entries;
	size_t n, room;
};

void addresses_deinit(struct addresses *a);
/*
 * The domain that has ADDRESS (IPv4 or IPv6, as text), the youngest where several have; NULL: none is known.  Reads the keys of a few domains a
 * call, which costs some milliseconds at most; what was read counts for ten seconds.
 */
struct domain *addresses_find(struct addresses *a, struct host *host, const char *address);
/* DOMAIN's first address into TEXT of SIZE bytes; "" where none is known. */
void addresses_first(struct addresses *a, const struct domain *domain, char *text, size_t size);

#endif
