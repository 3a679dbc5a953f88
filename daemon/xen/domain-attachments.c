/*
 * The attachments of a domain: one for each stream that the domain publishes. This file creates,
 * attaches, polls and frees them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector.h"
#include "domain-steps.h"
#include "log.h"

/*
 * After a mapping, no other page of the guest is mapped for this many times the mapping's duration.
 */
#define MAP_SHARE   4u
#define MAP_REFUSED 20u /* the same factor after a mapping that was refused */

/* ---- sets of stream numbers ------------------------------------------------------------------ */

static void number_add(uint64_t *set, uint32_t number)
{
	set[number / 64] |= UINT64_C(1) << number % 64;
}

static bool number_in(const uint64_t *set, uint32_t number)
{
	return set[number / 64] >> number % 64 & 1;
}

bool domain_number_is_idle(const struct domain *domain, uint32_t number)
{
	return number_in(domain->numbers_idle, number);
}

void domain_number_written(struct domain *domain, uint32_t number)
{
	domain->numbers_idle[number / 64] &= ~(UINT64_C(1) << number % 64);
}

/* ---- the list of attachments ----------------------------------------------------------------- */

static struct attachment *attachment_find(const struct domain *domain, uint32_t number)
{
	for (struct attachment *a = domain->attachments; a; a = a->next)
		if (a->number == number)
			return a;
	return NULL;
}

/* Return whether nothing uses ATTACHMENT any more, after its keys were read. */
static bool attachment_idle(const struct attachment *attachment)
{
	return attachment->number && !attachment->attached && !attachment->has_held && !attachment->dirty &&
	       !attachment->task.place;
}

static bool attachments_idle(const struct domain *domain)
{
	for (const struct attachment *a = domain->attachments; a; a = a->next)
		if (attachment_idle(a))
			return true;
	return false;
}

bool domain_has_room_again(const struct domain *domain)
{
	return domain->left_out && (domain->n_attachments < DOMAIN_ATTACHMENTS_MAX || attachments_idle(domain));
}

void domain_attachments_sweep(struct domain *domain)
{
	struct attachment *attachment, *next;

	for (attachment = domain->attachments; attachment; attachment = next) {
		next = attachment->next;
		if (attachment->attached || attachment->has_held || !attachment->number) {
			attachment->dirty = true;
			continue;
		}
		if (attachment_idle(attachment))
			number_add(domain->numbers_idle, attachment->number);
		attachment_free(attachment);
	}
}

struct attachment *attachment_get(struct domain *domain, uint32_t number)
{
	struct attachment *attachment = attachment_find(domain, number);

	if (attachment)
		return attachment;
	if (domain->n_attachments == DOMAIN_ATTACHMENTS_MAX) {
		if (attachments_idle(domain))
			domain->scan = true;
		else
			domain_refuse(domain, number, FAULT_STREAMS, "");
		domain->left_out = true;
		return NULL;
	}
	attachment = calloc(1, sizeof(*attachment));
	if (!attachment)
		return NULL;
	attachment->task.run = domain_attachment_run;
	attachment->domain = domain;
	attachment->number = number;
	attachment->next = domain->attachments;
	domain->attachments = attachment;
	domain->n_attachments++;
	return attachment;
}

void attachment_free(struct attachment *attachment)
{
	struct attachment **at = &attachment->domain->attachments;

	while (*at != attachment)
		at = &(*at)->next;
	*at = attachment->next;
	attachment->domain->n_attachments--;
	attachment_detach(attachment);
	schedule_remove(&attachment->domain->host->collector->schedule, &attachment->task);
	free(attachment);
}

void domain_attachments_free(struct domain *domain)
{
	while (domain->attachments)
		attachment_free(domain->attachments);
}

/* ---- attaching published rings --------------------------------------------------------------- */

static const struct archive_resume *attachment_resume(const struct attachment *attachment)
{
	const struct domain *domain = attachment->domain;
	const struct resume_entry *entry;

	if (attachment->has_held)
		return &attachment->held;
	entry = collector_resume_stream(domain->host->collector, domain->guest.run, attachment->number);
	return entry ? &entry->resume : NULL;
}

static void attachment_taken(struct attachment *attachment, const struct keys *keys, bool goes_on, uint64_t now)
{
	struct domain *domain = attachment->domain;

	attachment->has_held = false;
	attachment->tries = 0;
	collector_resume_attached(domain->host->collector, domain->guest.run, attachment->number);
	number_add(domain->numbers_used, attachment->number);
	if (guest_set_state(&domain->guest, "running", NULL))
		log_warning("%s: out of memory", domain->name);
	log_write(LOG_LEVEL_INFO, domain->name, "%s: stream=%u bytes=%llu packets=%u run=%lld",
		  goes_on ? "ring goes on" : "new ring", attachment->number,
		  (unsigned long long)attachment->stream.ring.bytes, attachment->stream.ring.n,
		  (long long)domain->guest.run);
	if (keys->bad_port || (keys->port && !domain->found_dead && attachment_bind(attachment, keys->port)))
		domain_refuse(domain, attachment->number, FAULT_EVENT_CHANNEL, "");
	if (keys_note(keys, attachment->number, &domain->subtree))
		log_warning("%s: out of memory", domain->name);
	domain->reads_subtree = subtree_begin(&domain->subtree, domain->domid) == 0;
	collector_at(domain->host->collector, &attachment->task, now);
}

/*
 * Return whether a ring that was refused may be taken a moment later: the guest is about to fill
 * it, or this host lacks memory or room for mappings, in which a guest has no part.
 */
static bool attachment_may_come(enum fault fault, int condition)
{
	if (fault == FAULT_MAP)
		return condition == -ENOMEM || condition == -EAGAIN || condition == -ENOSPC;
	return fault == FAULT_STORE || condition == RING_E_NOT_YET;
}

static void attachment_take(struct attachment *attachment, struct keys *keys, uint64_t now)
{
	struct domain *domain = attachment->domain;
	const struct archive_resume *resume;
	const char *sentence;
	enum fault fault;
	int condition;

	/*
	 * Wait until the guest may map again. A dead guest cannot wait, because its pages must be
	 * unmapped soon.
	 */
	if (now < domain->map_at && !domain->found_dead) {
		collector_at(domain->host->collector, &attachment->task, domain->map_at);
		return;
	}
	if (domain_guest(domain, 0)) {
		log_warning("%s: out of memory", domain->name);
		return;
	}
	resume = attachment_resume(attachment);
	fault = attachment_attach(attachment, keys, resume, domain->found_dead, &sentence, &condition);
	domain->map_at = clock_mono();
	domain->map_at += (domain->map_at - now) * (fault ? MAP_REFUSED : MAP_SHARE);
	if (condition == RING_E_RENEWED) {
		attachment->dirty = true;
		domain_renew(domain, now);
	} else if (attachment_may_come(fault, condition) && !domain->found_dead && ++attachment->tries < READY_TRIES) {
		collector_at(domain->host->collector, &attachment->task, now + READY_NS);
	} else if (fault) {
		domain_refuse(domain, attachment->number, fault, sentence);
	} else {
		attachment_taken(attachment, keys, resume != NULL, now);
	}
}

/*
 * Return whether KEYS name the pages that are attached. If the ring has a directory, compare only
 * its first directory page.
 */
static bool same_pages(const struct attachment *attachment, const struct keys *keys)
{
	if (keys->directory || attachment->directory)
		return keys->directory == attachment->directory;
	return keys->n_refs == attachment->mapping.pages &&
	       memcmp(keys->refs, attachment->mapping.refs, keys->n_refs * sizeof(*keys->refs)) == 0;
}

void attachment_unpublished(struct attachment *attachment, uint64_t now)
{
	if (!attachment->attached)
		return;
	attachment->gone = true;
	domain_keys_gone(attachment->domain, now);
}

/*
 * For an attachment with nothing attached: return whether the published ring differs from the ring
 * that the run had under this stream number. A run uses each stream number once. A guest that was
 * suspended has not written its keys again after the resume if its ring is the same.
 */
static bool attachment_is_another(const struct attachment *attachment)
{
	const struct domain *domain = attachment->domain;

	if (attachment->has_held)
		return attachment->taken != attachment->writes;
	return number_in(domain->numbers_used, attachment->number);
}

void attachment_published(struct attachment *attachment, struct keys *keys, uint64_t now)
{
	struct domain *domain = attachment->domain;

	if (!attachment->attached && attachment_is_another(attachment)) {
		domain_close(domain, &(struct run_end){"ended", "republished", AFTER_RENEW}, now);
	} else if (!attachment->attached) {
		attachment->taken = attachment->writes;
		attachment_take(attachment, keys, now);
	} else if (attachment->taken != attachment->writes || !same_pages(attachment, keys)) {
		domain_close(domain, &(struct run_end){"ended", "republished", AFTER_RENEW}, now);
	} else if (attachment->rebind && (attachment_bind(attachment, keys->port) || keys->bad_port)) {
		domain_refuse(domain, attachment->number, FAULT_EVENT_CHANNEL, "");
	}
	attachment->rebind = false;
}

/* ---- withdrawing one of several rings -------------------------------------------------------- */

/* Begin a capture of all rings that are withdrawn at this moment, among them ATTACHMENT. */
static void attachments_capture(struct attachment *attachment)
{
	struct guest *guest = &attachment->domain->guest;

	attachment->capture_begun = guest_capture_begin(guest, "ended", NULL, true, &attachment->stream) > 0;
	for (struct attachment *a = attachment->domain->attachments; a && attachment->capture_begun; a = a->next)
		if (a->attached && a->withdrawn && !a->capture_begun) {
			guest_capture_join(guest, &a->stream);
			a->capture_begun = true;
		}
}

/*
 * End a withdrawn ring, one of several of the guest, with a capture. Return true if the ring is
 * detached, false if the capture is not complete yet.
 */
static bool attachment_withdraw(struct attachment *attachment, uint64_t now)
{
	struct guest *guest = &attachment->domain->guest;

	if (guest_capture_done(guest) && !attachment->capture_begun)
		attachments_capture(attachment);
	else if (guest_capture_done(guest))
		now = attachment->detach_by;
	if (now < attachment->detach_by)
		return false;
	log_write(LOG_LEVEL_INFO, attachment->domain->name, "ring withdrawn: stream=%u run=%lld", attachment->number,
		  (long long)guest->run);
	attachment_detach(attachment);
	return true;
}

/* ---- polls ----------------------------------------------------------------------------------- */

void domain_attachment_run(struct task *task, uint64_t now)
{
	struct attachment *attachment = (struct attachment *)task;
	struct domain *domain = attachment->domain;
	uint64_t next;
	int r;

	if (!attachment->attached || (attachment->retry_at && now >= attachment->retry_at)) {
		/* The ring was not ready, or its keys could not be read: read the keys again. */
		attachment->retry_at = 0;
		attachment->dirty = true;
		if (domain->phase == PHASE_ON)
			domain_at(domain, now);
	}
	/* The helper did not say in time why the keys are gone. */
	if (domain->keys_gone && now >= domain->decide_by)
		domain_keys_gone_on_state(domain, NULL, 0, now);
	if (!attachment->attached)
		return;
	r = attachment_poll(attachment, now, &next);
	if (r == RING_E_RENEWED || r == RING_E_GONE)
		stream_declare_unseen(&attachment->stream);
	if (domain->phase == PHASE_ENDING) {
		if (r == RING_E_RENEWED || r == RING_E_GONE)
			attachment_detach(attachment);
		if (guest_capture_done(&domain->guest))
			domain_closed(domain, now);
		else if (attachment->attached)
			collector_at(domain->host->collector, task, next);
		return;
	}
	if (r == RING_E_RENEWED || r == RING_E_GONE) {
		domain_renew(domain, now);
		return;
	}
	if (domain->phase == PHASE_ON)
		vcpu_track_step(&domain->vcpu, now);
	if (attachment->withdrawn && attachment_withdraw(attachment, now)) {
		/* Free the attachment, so another stream can have its place. */
		if (!attachment->dirty && attachment->number)
			attachment_free(attachment);
		if (domain->left_out)
			domain_at(domain, now);
		return;
	}
	if (attachment->withdrawn && next > now + NS_PER_MS)
		next = now + NS_PER_MS;
	if (domain->keys_gone && next > domain->decide_by)
		next = domain->decide_by;
	collector_at(domain->host->collector, task, next);
}
