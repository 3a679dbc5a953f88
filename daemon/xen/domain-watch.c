/*
 * What XenStore's events say of a domain's keys: a note at the share that each is about.  Nothing is read here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector.h"
#include "domain-steps.h"
#include "keys.h"

/* ---- shares ------------------------------------------------------------------------------------------------------------- */

static struct share *share_find(const struct domain *domain, uint32_t number)
{
	for (struct share *s = domain->shares; s; s = s->next)
		if (s->number == number)
			return s;
	return NULL;
}

/* Are there records of streams that are no more?  A scan makes room. */
static bool shares_idle(const struct domain *domain)
{
	for (const struct share *s = domain->shares; s; s = s->next)
		if (s->number && !s->attached && !s->has_held && !s->dirty && !s->task.place)
			return true;
	return false;
}

struct share *share_get(struct domain *domain, uint32_t number)
{
	struct share *share = share_find(domain, number);

	if (share)
		return share;
	if (domain->n_shares == DOMAIN_SHARES_MAX) {
		if (shares_idle(domain))
			domain->scan = true;
		else
			domain_refuse(domain, number, FAULT_STREAMS, "");
		return NULL;
	}
	share = calloc(1, sizeof(*share));
	if (!share)
		return NULL;
	share->task.run = domain_share_run;
	share->domain = domain;
	share->number = number;
	share->next = domain->shares;
	domain->shares = share;
	domain->n_shares++;
	return share;
}

void share_free(struct share *share)
{
	struct share **at = &share->domain->shares;

	while (*at != share)
		at = &(*at)->next;
	*at = share->next;
	share->domain->n_shares--;
	share_detach(share);
	schedule_remove(&share->domain->host->collector->schedule, &share->task);
	free(share);
}

void domain_shares_free(struct domain *domain)
{
	while (domain->shares)
		share_free(domain->shares);
}

/* ---- events ------------------------------------------------------------------------------------------------------------- */

int domain_watch(struct domain *domain)
{
	struct xen *xen = domain->host->xen;
	char path[64], token[32];
	int r;

	keys_path(path, sizeof(path), domain->domid, 0);
	snprintf(token, sizeof(token), "k%llu", (unsigned long long)domain->serial);
	r = xen_watch(xen, path, token);
	if (r)
		return r;
	snprintf(path, sizeof(path), "/local/domain/%u/name", domain->domid);
	token[0] = 'n';
	r = xen_watch(xen, path, token);
	domain->watched = true;
	return r;
}

static void keys_unwatch(struct domain *domain)
{
	char path[64], token[32];

	keys_path(path, sizeof(path), domain->domid, 0);
	snprintf(token, sizeof(token), "k%llu", (unsigned long long)domain->serial);
	xen_unwatch(domain->host->xen, path, token);
}

void domain_unwatch(struct domain *domain)
{
	char path[64], token[32];

	if (!domain->watched)
		return;
	domain->watched = false;
	if (!domain->rest)
		keys_unwatch(domain);
	snprintf(path, sizeof(path), "/local/domain/%u/name", domain->domid);
	snprintf(token, sizeof(token), "n%llu", (unsigned long long)domain->serial);
	xen_unwatch(domain->host->xen, path, token);
}

void domain_rest(struct domain *domain, uint64_t now)
{
	domain_refuse(domain, 0, FAULT_CHANGES, "");
	if (!domain->rest)
		keys_unwatch(domain);
	domain->rest = now + PACE_REST_NS;
	domain->scan = false;
	for (struct share *s = domain->shares; s; s = s->next)
		s->dirty = false;
	domain_at(domain, domain->rest);
}

/* KEY of a stream was written. */
static void on_key(struct domain *domain, uint32_t number, const char *key)
{
	bool commit = strcmp(key, "ring-ref") == 0 || strcmp(key, "directory-ref") == 0;
	bool port = strcmp(key, "event-channel") == 0;
	struct share *share;

	if (number == 0 && strcmp(key, "memtrace-port") == 0)
		domain->offer = true;
	if (*key && !commit && !port)
		return;
	share = share_get(domain, number);
	if (!share)
		return;
	share->dirty = true;
	share->writes += commit;
	share->rebind = share->rebind || port;
	share->tries = 0;
}

void domain_on_stream(struct domain *domain, const char *rest)
{
	const char *key = strchr(rest, '/');
	size_t len = key ? (size_t)(key - rest) : strlen(rest);
	uint32_t number;

	if (!value_number(rest, len, 0, VALUE_STREAMS - 1, &number))
		domain_refuse(domain, 0, FAULT_STREAMS, "");
	else if (number == 0)
		domain_refuse(domain, 0, FAULT_STREAM_ZERO, "");
	else
		on_key(domain, number, key ? key + 1 : "");
}

void domain_on_keys(struct domain *domain, const char *path, uint64_t now)
{
	char base[64];
	size_t len;

	if (domain->rest)
		return;
	if (!pace_change(&domain->pace, now)) {
		domain_rest(domain, now);
		return;
	}
	keys_path(base, sizeof(base), domain->domid, 0);
	len = strlen(base);
	if (strncmp(path, base, len) == 0 && strncmp(path + len, "/stream/", 8) == 0) {
		domain_on_stream(domain, path + len + 8);
	} else if (strncmp(path, base, len) == 0 && path[len] == '/' && strcmp(path + len, "/stream") != 0) {
		on_key(domain, 0, path + len + 1);
	} else {
		/* The watch's first event, or something above the keys came or went. */
		domain->scan = true;
		for (struct share *s = domain->shares; s; s = s->next)
			s->dirty = true;
	}
	if (domain->life == LIFE_ON)
		domain_at(domain, now);
}

void domain_on_name(struct domain *domain, uint64_t now)
{
	domain->renamed = true;
	if (domain->life == LIFE_ON)
		domain_at(domain, now);
}
