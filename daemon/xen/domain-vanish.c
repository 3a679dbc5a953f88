/*
 * What a domain publishes no more: withdrawn by the guest, or gone because the guest is.
 *
 * XenStore cannot tell these apart, so it is asked how the domain is.  What is mapped goes within a second all the same, whoever is silent.
 */
#include <stdlib.h>
#include <string.h>

#include "collector.h"
#include "domain-steps.h"
#include "log.h"

#define VANISH_NS (150 * NS_PER_MS) /* an answer that takes longer is not waited for */
#define LEAVE_NS  (700 * NS_PER_MS) /* what is not taken of a withdrawn ring after that is left */

/* ---- all of them -------------------------------------------------------------------------------------------------------- */

void domain_vanish(struct domain *domain, uint64_t now)
{
	if (domain->vanishing)
		return;
	domain->vanishing = true;
	domain->vanish_by = now + VANISH_NS;
	if (!domain->host->knows_states) {
		domain_vanish_told(domain, NULL, now);
		return;
	}
	domain_ask(domain);
	/* A look notices when nobody answers. */
	for (struct share *s = domain->shares; s; s = s->next)
		if (s->attached && (!s->task.place || s->task.due > domain->vanish_by))
			collector_at(domain->host->collector, &s->task, domain->vanish_by);
}

static bool nodes_gone(struct domain *domain)
{
	return !domain_is_itself(domain) || !domain->listed;
}

void domain_vanish_told(struct domain *domain, const struct domain_state *state, uint64_t now)
{
	bool nodes = nodes_gone(domain);
	size_t gone = 0;

	/* A toolstack that destroys a domain pauses it, removes its nodes, and then it dies: this answer may be from before that. */
	if (nodes && state && !(state->flags & DOMAIN_PAUSED) && now < domain->vanish_by) {
		domain_ask(domain);
		return;
	}
	domain->vanishing = false;
	if (nodes && (!state || state->flags & DOMAIN_PAUSED)) {
		domain_close(
			domain,
			&(struct ending){state ? "destroyed" : "ended", state ? "destroyed" : "unknown", AFTER_OVER},
			now);
		return;
	}
	for (struct share *s = domain->shares; s; s = s->next)
		gone += s->attached && s->gone;
	if (gone ? gone == domain_attached(domain) : !domain_attached(domain) && !domain_offers(domain)) {
		domain_close(domain, &(struct ending){"ended", "withdrawn", AFTER_RENEW}, now);
		return;
	}
	for (struct share *s = domain->shares; s; s = s->next) {
		if (!s->attached || !s->gone || s->leaving)
			continue;
		s->leaving = true;
		s->leave_by = now + LEAVE_NS;
		collector_at(domain->host->collector, &s->task, now);
	}
}

/* ---- one of several ---------------------------------------------------------------------------------------------------- */

/* One of several rings was withdrawn: its end is a capture of its own.  True: it is let go of. */
bool share_leave(struct share *share, uint64_t now)
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
