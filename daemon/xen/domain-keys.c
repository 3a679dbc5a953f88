/*
 * Read the keys that a domain writes to XenStore.
 *
 * XenStore delivers events in the order of the writes, and the event of a write before the answer
 * to a later read. So this file reads the keys, takes in all waiting events, and uses the answer
 * only if none of these events is about the keys. An event of a commit key that comes later then
 * means a new ring, even if the key's value is the same.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector.h"
#include "domain-steps.h"
#include "log.h"

/* ---- events: each one leaves a note at its attachment; nothing is read here ------------------ */

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
	if (!domain->ignored_until)
		keys_unwatch(domain);
	snprintf(path, sizeof(path), "/local/domain/%u/name", domain->domid);
	snprintf(token, sizeof(token), "n%llu", (unsigned long long)domain->serial);
	xen_unwatch(domain->host->xen, path, token);
}

void domain_scan_all(struct domain *domain)
{
	domain->scan = true;
	memset(domain->numbers_idle, 0, sizeof(domain->numbers_idle));
	for (struct attachment *a = domain->attachments; a; a = a->next)
		a->dirty = true;
}

void domain_ignore_keys(struct domain *domain, uint64_t now)
{
	domain_refuse(domain, 0, FAULT_CHANGES, "");
	if (!domain->ignored_until)
		keys_unwatch(domain);
	domain->ignored_until = now + RATE_IGNORE_NS;
	domain->scan = false;
	for (struct attachment *a = domain->attachments; a; a = a->next)
		a->dirty = false;
	domain_at(domain, domain->ignored_until);
}

/* Note the event of a write to KEY of stream NUMBER. */
static void on_key(struct domain *domain, uint32_t number, const char *key)
{
	bool commit = strcmp(key, "ring-ref") == 0 || strcmp(key, "directory-ref") == 0;
	bool port = strcmp(key, "event-channel") == 0;
	struct attachment *attachment;

	if (number == 0 && strcmp(key, "memtrace-port") == 0)
		domain->offer = true;
	if (*key && !commit && !port)
		return;
	domain_number_written(domain, number);
	attachment = attachment_get(domain, number);
	if (!attachment)
		return;
	attachment->dirty = true;
	attachment->writes += commit;
	attachment->rebind = attachment->rebind || port;
	attachment->tries = 0;
}

static void on_stream(struct domain *domain, const char *rest)
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

	if (domain->ignored_until)
		return;
	if (!rate_limit_take(&domain->rate_limit, now)) {
		domain_ignore_keys(domain, now);
		return;
	}
	keys_path(base, sizeof(base), domain->domid, 0);
	len = strlen(base);
	if (strncmp(path, base, len) == 0 && strncmp(path + len, "/stream/", 8) == 0) {
		on_stream(domain, path + len + 8);
	} else if (strncmp(path, base, len) == 0 && path[len] == '/' && strcmp(path + len, "/stream") != 0) {
		on_key(domain, 0, path + len + 1);
	} else {
		/*
		 * This is the first event of the watch, or a node above the keys was created or
		 * removed.
		 */
		domain_scan_all(domain);
	}
	if (domain->phase == PHASE_ON)
		domain_at(domain, now);
}

void domain_on_name(struct domain *domain, uint64_t now)
{
	domain->renamed = true;
	if (domain->phase == PHASE_ON)
		domain_at(domain, now);
}

/* ---- the offer of a memory profile, which mprofd-sink receives ------------------------------- */

uint32_t domain_memtrace_port(struct domain *domain)
{
	CLEANUP(freep) char *value = NULL;
	char path[64];
	uint32_t port = 0;
	size_t len;

	snprintf(path, sizeof(path), "/local/domain/%u/data/mprof/memtrace-port", domain->domid);
	if (xen_read(domain->host->xen, 0, path, &value, &len) != 0)
		return 0;
	return value_number(value, len, 1, 65535, &port) ? port : 0;
}

bool domain_offers(const struct domain *domain)
{
	return domain->memtrace_port || domain->profiled;
}

/* Give the domain a run without a ring, if the domain is alive and has no run. */
static void hold(struct domain *domain)
{
	if (domain->phase != PHASE_ON || domain->found_dead || (domain->has_guest && guest_is_running(&domain->guest)))
		return;
	if (domain_guest(domain, 0)) {
		log_warning("%s: out of memory", domain->name);
		return;
	}
	guest_begin(&domain->guest);
	if (guest_set_state(&domain->guest, "running", NULL))
		log_warning("%s: out of memory", domain->name);
	domain->without_ring = true;
	domain->reads_subtree = subtree_begin(&domain->subtree, domain->domid) == 0;
	log_write(LOG_LEVEL_INFO, domain->name, "without a ring: run=%lld", (long long)domain->guest.run);
}

static void offer_read(struct domain *domain)
{
	domain->offer = false;
	domain->memtrace_port = domain_memtrace_port(domain);
	if (domain_offers(domain))
		hold(domain);
}

void domain_is_profiled(struct domain *domain)
{
	domain->profiled = domain->phase == PHASE_ON;
	if (domain->profiled)
		hold(domain);
}

void domain_offer_gone(struct domain *domain, uint64_t now)
{
	if (!domain->keys_gone)
		domain_keys_gone(domain, now);
	else if (now >= domain->decide_by)
		domain_keys_gone_on_state(domain, NULL, 0, now);
	if (domain->phase == PHASE_ON && domain->keys_gone)
		domain_at(domain, domain->decide_by);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void attachment_read(struct attachment *attachment, uint64_t now)
{
	struct domain *domain = attachment->domain;
	struct host *host = domain->host;
	struct keys keys;
	enum fault fault;

	attachment->dirty = false;
	attachment->retry_at = 0;
	fault = keys_read(&keys, host->xen, domain->domid, attachment->number);
	host_drain(host);
	if (attachment->dirty || domain->ignored_until) {
		/*
		 * The guest wrote to the keys during the read. DIRTY is set, so they will be read
		 * again.
		 */
	} else if (fault == FAULT_STORE && ++attachment->tries < READY_TRIES) {
		attachment->retry_at = now + READY_NS;
		if (!attachment->attached)
			collector_at(host->collector, &attachment->task, attachment->retry_at);
	} else if (fault) {
		domain_refuse(domain, attachment->number, fault, "");
		attachment_unpublished(attachment, now);
	} else if (keys.published) {
		attachment_published(attachment, &keys, now);
	} else {
		attachment_unpublished(attachment, now);
	}
	keys_deinit(&keys);
}

/* List the streams that the domain publishes, and mark each of them dirty. */
static void streams_read(struct domain *domain)
{
	struct host *host = domain->host;
	char path[64], **names = NULL;
	struct attachment *attachment;
	uint32_t number;
	size_t n = 0;

	snprintf(path, sizeof(path), "/local/domain/%u/data/mprof/stream", domain->domid);
	domain->scan = false;
	domain->left_out = false;
	domain->offer = true;
	domain_attachments_sweep(domain);
	attachment = attachment_get(domain, 0);
	if (attachment)
		attachment->dirty = true;
	if (xen_list(host->xen, 0, path, &names, &n))
		return;
	for (size_t i = 0; i < n; i++)
		if (!value_number(names[i], strlen(names[i]), 1, VALUE_STREAMS - 1, &number) ||
		    !domain_number_is_idle(domain, number))
			on_stream(domain, names[i]);
	free(names);
}

bool domain_keys_step(struct domain *domain, uint64_t now)
{
	struct attachment *attachment = domain->attachments;

	if (domain->ignored_until && now >= domain->ignored_until) {
		domain->ignored_until = 0;
		domain->rate_limit = (struct rate_limit){0};
		domain_unwatch(domain);
		if (domain_watch(domain))
			domain->ignored_until = now + RATE_IGNORE_NS;
		else
			domain_scan_all(domain);
		return true;
	}
	if (domain->ignored_until)
		return false;
	if (domain->scan) {
		streams_read(domain);
		return true;
	}
	while (attachment && !attachment->dirty)
		attachment = attachment->next;
	if (attachment)
		attachment_read(attachment, now);
	else if (domain_has_room_again(domain))
		domain->scan = true;
	else if (domain->offer)
		offer_read(domain);
	else
		return false;
	return true;
}
