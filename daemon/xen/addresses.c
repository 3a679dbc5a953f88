/*
 * libxl writes the ip of a vif's configuration to /local/domain/0/backend/vif/<domid>/<n>/ip: one
 * or more addresses, separated by blanks. Other toolstacks write the same key for their hotplug
 * scripts. This file caches the addresses of a domain for FRESH_NS, because two hundred guests may
 * connect at once and reading a key is a round trip to xenstored.
 */
#include "addresses.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "domain.h"

#define FRESH_NS   (10 * NS_PER_S)
#define READS_MAX  32u /* domains per call */
#define VIFS_MAX   8u
#define SEPARATORS " ,\t\n"

void addresses_deinit(struct addresses *a)
{
	free(a->entries);
	*a = (struct addresses){0};
}

/* Remove the cache entries of domains that have ended. */
static void forget(struct addresses *a, const struct host *host)
{
	size_t kept = 0;

	for (size_t i = 0; i < a->n; i++) {
		const struct domain *d = host->domains;

		while (d && d->serial != a->entries[i].serial)
			d = d->next;
		if (d)
			a->entries[kept++] = a->entries[i];
	}
	a->n = kept;
}

static struct addresses_entry *entry_of(struct addresses *a, const struct domain *domain)
{
	struct addresses_entry *more;
	size_t room;

	for (size_t i = 0; i < a->n; i++)
		if (a->entries[i].serial == domain->serial)
			return &a->entries[i];
	if (a->n == a->room)
		forget(a, domain->host);
	if (a->n == a->room) {
		room = a->room ? a->room * 2 : 16;
		more = realloc(a->entries, room * sizeof(*more));
		if (!more)
			return NULL;
		a->entries = more;
		a->room = room;
	}
	a->entries[a->n] = (struct addresses_entry){.serial = domain->serial};
	return &a->entries[a->n++];
}

static void append(struct addresses_entry *e, const char *value)
{
	size_t used = strlen(e->text);

	if (used + strlen(value) + 2 <= sizeof(e->text))
		snprintf(e->text + used, sizeof(e->text) - used, "%s ", value);
}

static void read_entry(struct addresses_entry *e, const struct domain *domain)
{
	char path[96], **vifs, *value;
	size_t n, len;

	e->read_at = clock_mono();
	e->text[0] = '\0';
	snprintf(path, sizeof(path), "/local/domain/0/backend/vif/%u", domain->domid);
	if (xen_list(domain->host->xen, 0, path, &vifs, &n) != 0)
		return;
	for (size_t i = 0; i < n && i < VIFS_MAX; i++) {
		snprintf(path, sizeof(path), "/local/domain/0/backend/vif/%u/%.20s/ip", domain->domid, vifs[i]);
		if (xen_read(domain->host->xen, 0, path, &value, &len) != 0)
			continue;
		append(e, value);
		free(value);
	}
	free(vifs);
}

/*
 * Parse the next address at *AT. Copy its text to TEXT without a prefix length, and store its
 * family and binary form in *FAMILY and BYTES. Return false at the end of *AT.
 */
static bool next_address(const char **at, char *text, int *family, uint8_t bytes[16])
{
	size_t n;

	for (;;) {
		*at += strspn(*at, SEPARATORS);
		n = strcspn(*at, SEPARATORS "/");
		if (n == 0 && **at != '/')
			return false;
		snprintf(text, INET6_ADDRSTRLEN, "%.*s", (int)(n < INET6_ADDRSTRLEN ? n : 0), *at);
		*at += strcspn(*at, SEPARATORS);
		*family = strchr(text, ':') ? AF_INET6 : AF_INET;
		if (inet_pton(*family, text, bytes) == 1)
			return true;
	}
}

static bool has(const struct addresses_entry *e, int family, const uint8_t bytes[16])
{
	const char *at = e->text;
	char text[INET6_ADDRSTRLEN];
	uint8_t other[16];
	int other_family;

	while (next_address(&at, text, &other_family, other))
		if (other_family == family && memcmp(bytes, other, family == AF_INET ? 4 : 16) == 0)
			return true;
	return false;
}

struct domain *addresses_find(struct addresses *a, struct host *host, const char *address)
{
	uint64_t now = clock_mono();
	struct domain *found = NULL;
	char text[INET6_ADDRSTRLEN];
	unsigned reads = 0;
	uint8_t bytes[16];
	int family;

	if (!next_address(&address, text, &family, bytes))
		return NULL;
	for (struct domain *d = host->domains; d; d = d->next) {
		struct addresses_entry *e = d->phase == PHASE_OVER ? NULL : entry_of(a, d);

		if (!e)
			continue;
		if ((!e->read_at || now - e->read_at > FRESH_NS) && reads++ < READS_MAX)
			read_entry(e, d);
		if (has(e, family, bytes) && (!found || found->serial < d->serial))
			found = d;
	}
	return found;
}

void addresses_first(struct addresses *a, const struct domain *domain, char *text, size_t size)
{
	struct addresses_entry *e = entry_of(a, domain);
	const char *at;
	char first[INET6_ADDRSTRLEN];
	uint8_t bytes[16];
	int family;

	*text = '\0';
	if (!e)
		return;
	read_entry(e, domain);
	at = e->text;
	if (next_address(&at, first, &family, bytes))
		snprintf(text, size, "%s", first);
}
