/*
 * The phases of a domain. XenStore's events and the helper's answers only set fields of struct
 * domain, called notes. One task per domain acts on the notes in small steps, because each read of
 * XenStore is a round trip and rings must be polled meanwhile.
 */
#include "domain.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector.h"
#include "domain-steps.h"
#include "log.h"
#include "printable.h"

#define IDENTIFY_NS  (100 * NS_PER_MS) /* time between attempts to read name and UUID */
#define IDENTIFY_MAX (5 * NS_PER_S)    /* after this time go on without a name or UUID */
#define AGAIN_NS     NS_PER_S
#define PATIENCE_NS  (700 * NS_PER_MS) /* time for a dead guest's capture; the pages are unmapped then */
#define STORE_SHARE  9u		       /* after a step, XenStore rests for this many times the step's duration */
#define STORE_MAX    (500 * NS_PER_MS)
#define UUID_LENGTH  36u
#define STORE_FIRST  1u /* the same factor for urgent steps */
/*
 * After this time go on without the helper's answer. Until the helper counts as silent its answer may
 * still come: a busy dom0 delays it, and a dead domain that is taken for alive meanwhile would get
 * another run.
 */
#define ANSWER_NS (HELPER_SILENT_NS + NS_PER_S)

/* ---- shared by the files of a domain --------------------------------------------------------- */

void domain_at(struct domain *domain, uint64_t due)
{
	collector_at(domain->host->collector, &domain->task, due);
}

void domain_phase_set(struct domain *domain, enum phase phase, uint64_t now)
{
	domain->phase = phase;
	domain->since = now;
	if (phase > PHASE_ASKED)
		domain->initial = false;
}

size_t domain_attached(const struct domain *domain)
{
	size_t n = 0;

	for (const struct attachment *a = domain->attachments; a; a = a->next)
		n += a->attached;
	return n;
}

bool domain_waits(const struct domain *domain)
{
	for (const struct attachment *a = domain->attachments; a; a = a->next)
		if (!a->attached && a->task.place)
			return true;
	return false;
}

void domain_refuse(struct domain *domain, uint32_t number, enum fault fault, const char *detail)
{
	domain->host->refused[fault]++;
	if (domain->refused & 1u << fault)
		return;
	domain->refused |= 1u << fault;
	log_write(LOG_LEVEL_WARNING, domain->name, "stream=%u refused: %s%s%s", number, fault_sentence(fault),
		  *detail ? ": " : "", detail);
}

void domain_ask(struct domain *domain)
{
	struct host *host = domain->host;

	if (!host->knows_states || helper_ask_states(host->helper, clock_mono(), &domain->domid, 1))
		host_sweep_soon(host);
	else
		host_asked(host, clock_mono());
}

int domain_guest(struct domain *domain, int64_t run)
{
	char key[128];
	struct guest_shared *shared = &domain->host->collector->shared;
	const struct guest_identity identity = {
		.source = "xen",
		.name = domain->raw_name ? domain->raw_name : domain->name,
		.key = key,
		.uuid = domain->uuid,
		.domid = domain->domid,
	};
	int r;

	if (domain->has_guest)
		return 0;
	/* An earlier run of the same boot, domid and UUID, also one of a domain that was forgotten, has a smaller epoch. */
	if (!run && (uint64_t)shared->last_run > domain->epoch)
		domain->epoch = (uint64_t)shared->last_run;
	snprintf(key, sizeof(key), "%s %u %s %" PRIu64, domain->host->boot, domain->domid,
		 domain->uuid ? domain->uuid : "-", domain->epoch);
	r = guest_init(&domain->guest, shared, &identity, run, PATIENCE_NS);
	domain->has_guest = r == 0;
	return r;
}

/* ---- name and UUID --------------------------------------------------------------------------- */

static bool uuid_is(const char *text)
{
	for (size_t i = 0; i < UUID_LENGTH; i++)
		if (!isxdigit((unsigned char)text[i]) && text[i] != '-')
			return false;
	return text[UUID_LENGTH] == '\0';
}

static char *node_read(struct domain *domain, const char *node)
{
	char path[64], *value;
	size_t len;

	snprintf(path, sizeof(path), "/local/domain/%u/%s", domain->domid, node);
	return xen_read(domain->host->xen, 0, path, &value, &len) ? NULL : value;
}

/*
 * Return the UUID that XenStore has for the domid now, or NULL if it has none. The caller frees it.
 */
static char *uuid_read(struct domain *domain)
{
	CLEANUP(freep) char *vm = node_read(domain, "vm");
	const char *slash = vm ? strrchr(vm, '/') : NULL;

	return slash && uuid_is(slash + 1) ? strdup(slash + 1) : NULL;
}

bool domain_uuid_matches(struct domain *domain)
{
	CLEANUP(freep) char *uuid = domain->uuid ? uuid_read(domain) : NULL;

	return !domain->uuid || (uuid && strcmp(uuid, domain->uuid) == 0);
}

/* Read the domain's name from XenStore. Return whether the domain has a name. */
static bool name_read(struct domain *domain)
{
	CLEANUP(freep) char *given = node_read(domain, "name");
	char *printable = given && *given ? text_printable(given) : NULL;

	if (!printable)
		return false;
	if (domain->name && strcmp(domain->name, printable) != 0) {
		log_write(LOG_LEVEL_INFO, printable, "was %s", domain->name);
		if (domain->has_guest && guest_rename(&domain->guest, given))
			log_warning("%s: out of memory", printable);
	}
	free(domain->name);
	domain->name = printable;
	free(domain->raw_name);
	domain->raw_name = TAKE_PTR(given);
	return true;
}

/* Wait until the toolstack has written name and UUID. It writes its nodes one after the other. */
static void step_new(struct domain *domain, uint64_t now)
{
	bool late = now - domain->since > IDENTIFY_MAX;
	char name[32];

	free(domain->uuid);
	domain->uuid = uuid_read(domain);
	if ((!name_read(domain) || !domain->uuid) && !late) {
		domain_at(domain, now + IDENTIFY_NS);
		return;
	}
	if (!domain->name) {
		snprintf(name, sizeof(name), "domain-%u", domain->domid);
		domain->name = strdup(name);
	}
	if (!domain->name || domain_watch(domain)) {
		domain_at(domain, now + AGAIN_NS);
		return;
	}
	domain_phase_set(domain, PHASE_ASKED, now);
	domain_at(domain, now + (domain->host->knows_states ? ANSWER_NS : 0));
	if (domain->host->knows_states)
		domain_ask(domain);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/*
 * Check by the UUID whether the domid belongs to a new domain now. Return true if this domain is
 * gone: it is then being closed, or is freed.
 */
static bool step_check(struct domain *domain, uint64_t now)
{
	struct host *host = domain->host;
	uint32_t domid = domain->domid;
	char *uuid = uuid_read(domain);
	bool same = !uuid || (domain->uuid && strcmp(uuid, domain->uuid) == 0);

	free(uuid);
	domain->check_uuid = false;
	if (same)
		return false;
	if (domain->has_guest && (domain->phase == PHASE_ON || domain->phase == PHASE_SUSPENDED)) {
		domain_close(domain,
			     domain->phase == PHASE_ON ? &(struct run_end){"destroyed", "destroyed", AFTER_OVER}
						       : &(struct run_end){"suspend", "suspend", AFTER_OVER},
			     now);
		host_sweep_soon(host);
		return true;
	}
	domain_free(domain);
	if (!domain_new(host, domid))
		host_sweep_soon(host);
	return true;
}

/* Nothing is attached any more: end the run, unless the domain still offers a memory profile. */
static void step_unpublished(struct domain *domain, uint64_t now)
{
	if (domain->guest.run && domain->without_ring) {
		domain_offer_gone(domain, now);
		return;
	}
	if (domain->guest.run) {
		domain_close(domain, &(struct run_end){"ended", "withdrawn", AFTER_RENEW}, now);
		return;
	}
	/* No run was begun, because all keys were refused. */
	guest_deinit(&domain->guest);
	domain->has_guest = false;
}

static void step_on(struct domain *domain, uint64_t now)
{
	uint64_t next = 0;

	if (domain->renamed) {
		domain->renamed = false;
		/* The subtree is read only for the context of a run's capture. */
		if (name_read(domain) && domain->has_guest)
			domain->reads_subtree = subtree_begin(&domain->subtree, domain->domid) == 0;
	} else if (!domain_keys_step(domain, now) && !domain_context_step(domain, now, &next)) {
		if (domain->found_dead)
			domain_close(
				domain,
				&(struct run_end){domain->ending.kind, domain->ending.reason, domain->ending.after},
				now);
		else if (domain->has_guest && !domain_attached(domain) && !domain->ignored_until &&
			 !domain_waits(domain) && !domain_offers(domain))
			step_unpublished(domain, now);
		else if (domain->ignored_until || next)
			domain_at(domain, domain->ignored_until && (!next || domain->ignored_until < next)
						  ? domain->ignored_until
						  : next);
		return;
	}
	if (domain->phase == PHASE_ON)
		domain_at(domain, clock_mono());
}

/* Ask each second whether the suspended domain was resumed. */
static void step_suspended(struct domain *domain, uint64_t now)
{
	const struct host *host = domain->host;
	uint64_t next;

	if (!host->knows_states && !host->silent) {
		/*
		 * Without the helper nobody reports the resume. So assume that the domain was
		 * resumed; if it was not, polling its ring does no harm.
		 */
		domain_resumed(domain, now);
		return;
	}
	/*
	 * Ask before any node is read: XenStore may be slow, and a guest that resumes meanwhile
	 * overwrites its ring. A silent helper is asked for all states when it answers again; a domain
	 * that counted as resumed until then would be captured twice for one suspension.
	 */
	if (now >= domain->asked_at + AGAIN_NS) {
		domain->asked_at = now;
		if (host->knows_states)
			domain_ask(domain);
	}
	if (domain_context_step(domain, now, &next)) {
		domain_at(domain, clock_mono());
		return;
	}
	next = next && next < domain->asked_at + AGAIN_NS ? next : domain->asked_at + AGAIN_NS;
	domain_at(domain, next > now ? next : now + NS_PER_MS);
}

static void step_over(struct domain *domain, uint64_t now)
{
	uint64_t next;

	if (domain_context_step(domain, now, &next))
		domain_at(domain, clock_mono());
	else if (next)
		domain_at(domain, next);
	else if (!domain->listed)
		host_sweep_soon(domain->host);
}

/*
 * Return whether the domain has work that must not wait: a new ring can be overwritten before it is
 * attached, and a dead guest's nodes can be removed before they are read.
 */
static bool domain_is_urgent(const struct domain *domain)
{
	bool keys = domain->scan || domain->found_dead;

	for (const struct attachment *a = domain->attachments; a; a = a->next)
		keys = keys || a->dirty;
	if (domain->capture && domain->reads_subtree)
		return true; /* its nodes may be removed at any moment */
	return domain->phase == PHASE_NEW || (domain->phase == PHASE_ON && keys);
}

/*
 * Read nothing from XenStore for a while after a step that took SPENT ns, so that rings are polled
 * in time. Guests can cause urgent steps (see domain_is_urgent()) all the time, so an urgent step
 * does not delay the steps that are not urgent.
 */
static void store_rest(struct host *host, uint64_t spent, bool urgent)
{
	uint64_t now = clock_mono(), rest = STORE_SHARE * spent;

	if (!urgent)
		host->store_ready = now + (rest < STORE_MAX ? rest : STORE_MAX);
	rest = STORE_FIRST * spent;
	host->store_urgent = now + (rest < STORE_MAX ? rest : STORE_MAX);
}

/*
 * Run the domain's task. All reads of XenStore happen below this function, which limits their share
 * of the time over all domains.
 */
static void domain_run(struct task *task, uint64_t now)
{
	struct domain *domain = (struct domain *)task;
	struct host *host = domain->host;
	bool urgent = domain_is_urgent(domain);
	uint64_t ready = urgent ? host->store_urgent : host->store_ready;

	if (domain->phase == PHASE_ASKED) {
		domain_decide(domain, NULL, now);
		return;
	}
	if (domain->phase == PHASE_ENDING) {
		domain_closed(domain, now); /* the time for its capture is over */
		return;
	}
	if (now < ready) {
		domain_at(domain, ready);
		return;
	}
	if (domain->check_uuid && step_check(domain, now))
		return;
	if (domain->phase == PHASE_NEW)
		step_new(domain, now);
	else if (domain->phase == PHASE_ON)
		step_on(domain, now);
	else if (domain->phase == PHASE_SUSPENDED)
		step_suspended(domain, now);
	else
		step_over(domain, now);
	store_rest(host, clock_mono() - now, urgent);
}

/* ---- new and free ---------------------------------------------------------------------------- */

struct domain *domain_new(struct host *host, uint32_t domid)
{
	struct domain *domain = calloc(1, sizeof(*domain));

	if (!domain)
		return NULL;
	domain->task.run = domain_run;
	domain->host = host;
	domain->domid = domid;
	domain->serial = ++host->serial;
	domain->since = domain->made_at = clock_mono();
	domain->listed = true;
	subtree_init(&domain->subtree);
	vcpu_track_init(&domain->vcpu, domain);
	domain->next = host->domains;
	host->domains = domain;
	host->n_domains++;
	domain_at(domain, domain->since);
	return domain;
}

void domain_free(struct domain *domain)
{
	struct host *host = domain->host;
	struct domain **at = &host->domains;

	while (*at != domain)
		at = &(*at)->next;
	*at = domain->next;
	host->n_domains--;
	schedule_remove(&host->collector->schedule, &domain->task);
	domain_unwatch(domain);
	domain_attachments_free(domain);
	vcpu_track_detach(&domain->vcpu);
	guest_deinit(&domain->guest);
	subtree_deinit(&domain->subtree);
	free(domain->name);
	free(domain->raw_name);
	free(domain->uuid);
	free(domain);
}
