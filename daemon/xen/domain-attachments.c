/*
 * What is held of each stream that a domain publishes: its record, the ring that is attached, and the looks at it.
 */
#include <stdlib.h>
#include <string.h>

#include "collector.h"
#include "domain-steps.h"
#include "log.h"

#define MAP_SHARE   4u	/* for as many times as long as it took to map a guest's pages no more of them are mapped ... */
#define MAP_REFUSED 20u /* ... where that was for nothing */

/* ---- records ----------------------------------------------------------------------------------------------------- */

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

/* ---- taking what is published ------------------------------------------------------------------------------------ */

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

void share_unpublished(struct share *share, uint64_t now)
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

void share_published(struct share *share, struct keys *keys, uint64_t now)
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

/* ---- withdrawn, one of several ----------------------------------------------------------------------------------- */

/* One of several rings was withdrawn: its end is a capture of its own.  True: it is let go of. */
static bool share_leave(struct share *share, uint64_t now)
{
	struct guest *guest = &share->domain->guest;

	if (guest_capture_done(guest) && !share->left)
		share->left = guest_capture_begin(guest, "ended", NULL, true, &share->stream) > 0;
	else if (guest_capture_done(guest))
		now = share->leave_by;
	if (now < share->leave_by)
		return false;
	log_write(LOG_LEVEL_INFO, share->domain->name, "ring withdrawn: stream=%u run=%lld", share->number,
		  (long long)guest->run);
	share_detach(share);
	return true;
}

/* ---- looks ------------------------------------------------------------------------------------------------------- */

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
