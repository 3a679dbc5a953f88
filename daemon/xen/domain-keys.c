/*
 * What a domain publishes, and what becomes of it.
 *
 * XenStore's events come in the order of the writes, and those of writes before a read come before its answer.  So: read, take in all
 * events, and believe what was read only if none of them was about it.  A write of a commit key that is seen later is then a new ring, also
 * where its value is the same.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector.h"
#include "domain-steps.h"
#include "keys.h"
#include "log.h"

#define READY_NS \
	(100 * NS_PER_MS) /* a ring that is not ready, or a store that gave no answer, is tried again after this ... */
#define READY_TRIES 20u	  /* ... so often */
#define MAP_SHARE   4u	/* for as many times as long as it took to map a guest's pages no more of them are mapped ... */
#define MAP_REFUSED 20u /* ... where that was for nothing */

/* ---- taking what is published ------------------------------------------------------------------------------------------- */

static const struct archive_resume *share_resume(const struct share *share)
{
	const struct domain *domain = share->domain;
	const struct known_stream *known;

	if (share->has_held)
		return &share->held;
	known = collector_known_stream(domain->host->collector, domain->guest.run, share->number);
	return known ? &known->resume : NULL;
}

static void share_taken(struct share *share, const struct keys *keys, bool goes_on, uint64_t now)
{
	struct domain *domain = share->domain;

	share->has_held = false;
	share->tries = 0;
	domain->had[share->number / 64] |= UINT64_C(1) << share->number % 64;
	if (guest_set_state(&domain->guest, "running", NULL))
		log_warning("%s: out of memory", domain->name);
	log_write(LOG_LEVEL_INFO, domain->name, "%s: stream=%u bytes=%llu packets=%u run=%lld",
		  goes_on ? "ring goes on" : "new ring", share->number, (unsigned long long)share->stream.ring.bytes,
		  share->stream.ring.n, (long long)domain->guest.run);
	if (keys->bad_port || (keys->port && !domain->corpse && share_bind(share, keys->port)))
		domain_refuse(domain, share->number, FAULT_EVENT_CHANNEL, "");
	domain->reading = subtree_begin(&domain->subtree, domain->domid) == 0;
	collector_at(domain->host->collector, &share->task, now);
}

static void share_take(struct share *share, struct keys *keys, uint64_t now)
{
	struct domain *domain = share->domain;
	const struct archive_resume *resume;
	const char *sentence;
	enum fault fault;
	int condition;

	/* The dead have no time. */
	if (now < domain->map_at && !domain->corpse) {
		collector_at(domain->host->collector, &share->task, domain->map_at);
		return;
	}
	if (domain_guest(domain, 0)) {
		log_warning("%s: out of memory", domain->name);
		return;
	}
	resume = share_resume(share);
	fault = share_attach(share, keys, resume, domain->corpse, &sentence, &condition);
	domain->map_at = clock_mono();
	domain->map_at += (domain->map_at - now) * (fault ? MAP_REFUSED : MAP_SHARE);
	if (condition == RING_E_RENEWED) {
		share->dirty = true;
		domain_renew(domain, now);
	} else if (condition == RING_E_NOT_YET && !domain->corpse && ++share->tries < READY_TRIES) {
		collector_at(domain->host->collector, &share->task, now + READY_NS);
	} else if (fault) {
		domain_refuse(domain, share->number, fault, sentence);
	} else {
		share_taken(share, keys, resume != NULL, now);
	}
}

/* The same pages, as far as the keys tell? */
static bool same_pages(const struct share *share, const struct keys *keys)
{
	if (keys->directory || share->directory)
		return keys->directory == share->directory;
	return keys->n_refs == share->mapping.pages &&
	       memcmp(keys->refs, share->mapping.refs, keys->n_refs * sizeof(*keys->refs)) == 0;
}

/* A share whose keys say nothing, or nothing that holds. */
static void share_unpublished(struct share *share, uint64_t now)
{
	if (!share->attached)
		return;
	share->gone = true;
	domain_vanish(share->domain, now);
}

/*
 * Where nothing is attached: is what is published another ring than the one that the run had under this number?  A run has each number once.
 * A suspended guest that goes on has not written its keys again.
 */
static bool share_is_another(const struct share *share)
{
	const struct domain *domain = share->domain;

	if (share->has_held)
		return share->taken != share->writes;
	return domain->had[share->number / 64] >> share->number % 64 & 1;
}

static void share_published(struct share *share, struct keys *keys, uint64_t now)
{
	struct domain *domain = share->domain;

	if (!share->attached && share_is_another(share)) {
		domain_close(domain, &(struct ending){"ended", "republished", AFTER_RENEW}, now);
	} else if (!share->attached) {
		share->taken = share->writes;
		share_take(share, keys, now);
	} else if (share->taken != share->writes || !same_pages(share, keys)) {
		domain_close(domain, &(struct ending){"ended", "republished", AFTER_RENEW}, now);
	} else if (share->rebind && (share_bind(share, keys->port) || keys->bad_port)) {
		domain_refuse(domain, share->number, FAULT_EVENT_CHANNEL, "");
	}
	share->rebind = false;
}

static void share_read(struct share *share, uint64_t now)
{
	struct domain *domain = share->domain;
	struct host *host = domain->host;
	struct keys keys;
	enum fault fault;

	share->dirty = false;
	share->again = 0;
	fault = keys_read(&keys, host->xen, domain->domid, share->number);
	host_drain(host);
	if (share->dirty || domain->rest) {
		/* Written meanwhile: what was read may be from before or after that. */
	} else if (fault == FAULT_STORE && ++share->tries < READY_TRIES) {
		share->again = now + READY_NS;
		if (!share->attached)
			collector_at(host->collector, &share->task, share->again);
	} else if (fault) {
		domain_refuse(domain, share->number, fault, "");
		share_unpublished(share, now);
	} else if (keys.published) {
		share_published(share, &keys, now);
	} else {
		share_unpublished(share, now);
	}
	keys_deinit(&keys);
}

/* Which streams are there? */
static void streams_read(struct domain *domain)
{
	struct host *host = domain->host;
	char path[64], **names = NULL;
	struct share *share, *next;
	size_t n = 0;

	snprintf(path, sizeof(path), "/local/domain/%u/data/mprof/stream", domain->domid);
	domain->scan = false;
	domain->offer = true;
	/* Records of streams that hold nothing make room for those that are there. */
	for (share = domain->shares; share; share = next) {
		next = share->next;
		if (!share->attached && !share->has_held && share->number)
			share_free(share);
		else
			share->dirty = true;
	}
	share = share_get(domain, 0);
	if (share)
		share->dirty = true;
	if (xen_list(host->xen, 0, path, &names, &n))
		return;
	for (size_t i = 0; i < n; i++)
		domain_on_stream(domain, names[i]);
	free(names);
}

bool domain_keys_step(struct domain *domain, uint64_t now)
{
	struct share *share = domain->shares;

	if (domain->rest && now >= domain->rest) {
		domain->rest = 0;
		domain->pace = (struct pace){0};
		domain_unwatch(domain);
		if (domain_watch(domain))
			domain->rest = now + PACE_REST_NS;
		else
			domain->scan = true;
		return true;
	}
	if (domain->rest)
		return false;
	if (domain->scan) {
		streams_read(domain);
		return true;
	}
	while (share && !share->dirty)
		share = share->next;
	if (share)
		share_read(share, now);
	else if (domain->offer)
		domain_offer_read(domain);
	else
		return false;
	return true;
}

/* ---- looks -------------------------------------------------------------------------------------------------------------- */

void domain_share_run(struct task *task, uint64_t now)
{
	struct share *share = (struct share *)task;
	struct domain *domain = share->domain;
	uint64_t next;
	int r;

	if (!share->attached || (share->again && now >= share->again)) {
		/* It was not ready, or its keys could not be read. */
		share->again = 0;
		share->dirty = true;
		if (domain->life == LIFE_ON)
			domain_at(domain, now);
	}
	/* Who should say what it means that keys are gone is silent. */
	if (domain->vanishing && now >= domain->vanish_by)
		domain_vanish_told(domain, NULL, now);
	if (!share->attached)
		return;
	r = share_look(share, now, &next);
	if (domain->life == LIFE_ENDING) {
		if (r == RING_E_RENEWED || r == RING_E_GONE)
			share_detach(share);
		if (guest_capture_done(&domain->guest))
			domain_closed(domain, now);
		else if (share->attached)
			collector_at(domain->host->collector, task, next);
		return;
	}
	if (r == RING_E_RENEWED || r == RING_E_GONE) {
		domain_renew(domain, now);
		return;
	}
	if (share->leaving && share_leave(share, now)) {
		/* Its record makes room for another stream. */
		if (!share->dirty && share->number)
			share_free(share);
		return;
	}
	if (share->leaving && next > now + NS_PER_MS)
		next = now + NS_PER_MS;
	if (domain->vanishing && next > domain->vanish_by)
		next = domain->vanish_by;
	collector_at(domain->host->collector, task, next);
}
