/*
 * What a domain offers beside rings: its memory profile, which the sink receives.  It holds a run as a ring does, so that a guest without
 * rings is known, and its profiles are of that run.
 */
#include <stdio.h>

#include "collector.h"
#include "domain-steps.h"
#include "log.h"

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

/* It has a run from now on, if it has none, and lives. */
static void hold(struct domain *domain)
{
	if (domain->life != LIFE_ON || domain->corpse || (domain->has_guest && guest_is_running(&domain->guest)))
		return;
	if (domain_guest(domain, 0)) {
		log_warning("%s: out of memory", domain->name);
		return;
	}
	guest_begin(&domain->guest);
	if (guest_set_state(&domain->guest, "running", NULL))
		log_warning("%s: out of memory", domain->name);
	domain->held = true;
	domain->reading = subtree_begin(&domain->subtree, domain->domid) == 0;
	log_write(LOG_LEVEL_INFO, domain->name, "without a ring: run=%lld", (long long)domain->guest.run);
}

void domain_offer_read(struct domain *domain)
{
	domain->offer = false;
	domain->memtrace_port = domain_memtrace_port(domain);
	if (domain_offers(domain))
		hold(domain);
}

void domain_is_profiled(struct domain *domain)
{
	domain->profiled = domain->life == LIFE_ON;
	if (domain->profiled)
		hold(domain);
}

void domain_offer_gone(struct domain *domain, uint64_t now)
{
	if (!domain->vanishing)
		domain_vanish(domain, now);
	else if (now >= domain->vanish_by)
		domain_vanish_told(domain, NULL, now);
	if (domain->life == LIFE_ON && domain->vanishing)
		domain_at(domain, domain->vanish_by);
}
