/*
 * The life of a domain.  XenStore's events and the helper's answers only say that something has happened; what is to be done about it is
 * done by one task, a small step at a time, because each read of XenStore is a round trip and rings must be looked at meanwhile.
 */
#include "domain.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector.h"
#include "domain-steps.h"
#include "log.h"
#include "text.h"

#define IDENTIFY_NS  (100 * NS_PER_MS) /* between two tries to learn who it is ... */
#define IDENTIFY_MAX (5 * NS_PER_S)    /* ... and when a toolstack that writes no name is not waited for any more */
#define ANSWER_NS    (2 * NS_PER_S)    /* a helper that is silent for so long does not know */
#define AGAIN_NS     NS_PER_S
#define PATIENCE_NS  (700 * NS_PER_MS) /* of a capture of the dead, before its mapping goes */
#define STORE_SHARE  9u		       /* XenStore is read for a tenth of the time at most ... */
#define STORE_MAX    (500 * NS_PER_MS)
#define STORE_FIRST  1u /* ... but for half of it where a guest waits for its ring to be attached */
#define UUID_LENGTH  36u

/* ---- small things ------------------------------------------------------------------------------------------------------- */

void domain_at(struct domain *domain, uint64_t due)
{
	collector_at(domain->host->collector, &domain->task, due);
}

static void domain_live(struct domain *domain, enum life life, uint64_t now)
{
	domain->life = life;
	domain->since = now;
	if (life > LIFE_ASKED)
		domain->initial = false;
}

size_t domain_attached(const struct domain *domain)
{
	size_t n = 0;

	for (const struct share *s = domain->shares; s; s = s->next)
		n += s->attached;
	return n;
}

bool domain_waits(const struct domain *domain)
{
	for (const struct share *s = domain->shares; s; s = s->next)
		if (!s->attached && s->task.place)
			return true;
	return false;
}

/* A guest of which nothing could be attached yet has none. */
static bool domain_has_run(const struct domain *domain)
{
	return domain->has_guest && domain->guest.run;
}

void domain_refuse(struct domain *domain, uint32_t number, enum fault fault, const char *detail)
{
	domain->host->refused[fault]++;
	if (domain->refused & 1u << fault)
		return;
	domain->refused |= 1u << fault;
	log_write(LOG_LEVEL_WARNING, domain->name, "%s: stream=%u refused: %s%s%s", domain->name, number,
		  fault_sentence(fault), *detail ? ": " : "", detail);
}

void domain_ask(struct domain *domain)
{
	struct host *host = domain->host;

	if (!host->knows_states || helper_ask_states(host->helper, &domain->domid, 1))
		host_sweep_soon(host);
	else
		host_asked(host, clock_mono());
}

int domain_guest(struct domain *domain, int64_t run)
{
	char key[128];
	const struct guest_identity identity = {
		.source = "xen",
		.name = domain->given ? domain->given : domain->name,
		.key = key,
		.uuid = domain->uuid,
		.domid = domain->domid,
	};
	int r;

	if (domain->has_guest)
		return 0;
	snprintf(key, sizeof(key), "%s %u %s %u", domain->host->boot, domain->domid, domain->uuid ? domain->uuid : "-",
		 domain->epoch);
	r = guest_init(&domain->guest, &domain->host->collector->shared, &identity, run, PATIENCE_NS);
	domain->has_guest = r == 0;
	return r;
}

/* ---- who it is ---------------------------------------------------------------------------------------------------------- */

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

char *domain_uuid_read(struct domain *domain)
{
	CLEANUP(freep) char *vm = node_read(domain, "vm");
	const char *slash = vm ? strrchr(vm, '/') : NULL;

	return slash && uuid_is(slash + 1) ? strdup(slash + 1) : NULL;
}

/* Its name as it is now; true if it has one. */
static bool name_read(struct domain *domain)
{
	CLEANUP(freep) char *given = node_read(domain, "name");
	char *printable = given && *given ? text_printable(given) : NULL;

	if (!printable)
		return false;
	if (domain->name && strcmp(domain->name, printable) != 0) {
		log_write(LOG_LEVEL_INFO, printable, "%s: was %s", printable, domain->name);
		if (domain->has_guest && guest_rename(&domain->guest, given))
			log_warning("%s: out of memory", printable);
	}
	free(domain->name);
	domain->name = printable;
	free(domain->given);
	domain->given = TAKE_PTR(given);
	return true;
}

/* The toolstack writes the nodes one by one. */
static void step_new(struct domain *domain, uint64_t now)
{
	bool late = now - domain->since > IDENTIFY_MAX;
	char name[32];

	free(domain->uuid);
	domain->uuid = domain_uuid_read(domain);
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
	domain_live(domain, LIFE_ASKED, now);
	domain_at(domain, now + (domain->host->knows_states ? ANSWER_NS : 0));
	if (domain->host->knows_states)
		domain_ask(domain);
}

/* ---- how it is ---------------------------------------------------------------------------------------------------------- */

/* The end that STATE tells of; false: it lives. */
static bool state_ends(const struct domain_state *state, struct ending *ending)
{
	static const struct ending endings[] = {
		[SHUTDOWN_POWEROFF] = {"poweroff", "poweroff", AFTER_OVER},
		[SHUTDOWN_REBOOT] = {"reboot", "reboot", AFTER_OVER},
		[SHUTDOWN_SUSPEND] = {"suspend", "suspend", AFTER_SUSPEND},
		[SHUTDOWN_CRASH] = {"crash", "crash", AFTER_OVER},
		[SHUTDOWN_WATCHDOG] = {"watchdog", "watchdog", AFTER_OVER},
		[SHUTDOWN_SOFT_RESET] = {"reboot", "soft-reset", AFTER_RESET},
	};

	if (!state)
		return false;
	if (state->flags & DOMAIN_SHUTDOWN) {
		*ending = state->reason < sizeof(endings) / sizeof(*endings)
				  ? endings[state->reason]
				  : (struct ending){"ended", "unknown", AFTER_OVER};
		/* One that was saved or has migrated and is being removed does not go on. */
		if (state->flags & DOMAIN_DYING)
			ending->after = AFTER_OVER;
		return true;
	}
	*ending = (struct ending){"destroyed", "destroyed", AFTER_OVER};
	return !(state->flags & DOMAIN_KNOWN) || state->flags & DOMAIN_DYING;
}

/* Take up the run that the archive has of this life, if it has not ended.  Returns what it has. */
static const struct archive_resume *life_known(struct domain *domain)
{
	struct collector *c = domain->host->collector;
	const struct archive_resume *known;
	char prefix[96];

	snprintf(prefix, sizeof(prefix), "%s %u %s ", domain->host->boot, domain->domid,
		 domain->uuid ? domain->uuid : "-");
	known = collector_known_life(c, "xen", prefix);
	if (!known)
		return NULL;
	domain->epoch = (unsigned)strtoul(known->key + strlen(prefix), NULL, 10);
	if (strcmp(known->state, "ended") == 0) {
		domain->epoch++;
		return known;
	}
	if (domain_guest(domain, known->run)) {
		log_warning("%s: out of memory", domain->name);
		return known;
	}
	collector_taken_up(c, known->run);
	return known;
}

/* The capture of RUN's end that a kill came into, or 0. */
static int64_t run_unfinished(const struct collector *c, int64_t run)
{
	int64_t unfinished = 0;

	for (size_t i = 0; i < c->n_known; i++)
		if (c->known[i].resume.run == run && c->known[i].resume.unfinished > unfinished)
			unfinished = c->known[i].resume.unfinished;
	return unfinished;
}

/* Its end was archived, or is not wanted: nothing of it is looked at. */
static void domain_rests_in_peace(struct domain *domain, uint64_t now)
{
	if (domain->has_guest && guest_set_state(&domain->guest, "ended", domain->ending.kind))
		log_warning("%s: out of memory", domain->name);
	domain->epoch += domain->has_guest;
	guest_deinit(&domain->guest);
	domain->has_guest = false;
	domain_live(domain, domain->ending.after == AFTER_RESET ? LIFE_SUSPENDED : LIFE_OVER, now);
}

/* A guest that was there before us: go on with it, or take what a dead one has left, once. */
static void domain_decide(struct domain *domain, const struct domain_state *state, uint64_t now)
{
	const struct archive_resume *known = life_known(domain);
	bool ends = state_ends(state, &domain->ending);

	domain_live(domain, LIFE_ON, now);
	domain->scan = true;
	domain_at(domain, now);
	if (!ends)
		return;
	if (domain->ending.after == AFTER_SUSPEND && known && strcmp(known->state, "suspended") == 0) {
		domain_live(domain, LIFE_SUSPENDED, now);
		return;
	}
	if (domain->has_guest)
		domain->unfinished = run_unfinished(domain->host->collector, known->run);
	if (domain->ending.after != AFTER_SUSPEND &&
	    ((known && known->captured && !domain->unfinished) || !domain_wants_end(domain, &domain->ending))) {
		domain_rests_in_peace(domain, now);
		return;
	}
	domain->corpse = true;
}

/* A suspended one was resumed. */
static void domain_goes_on(struct domain *domain, uint64_t now)
{
	domain_live(domain, LIFE_ON, now);
	domain->scan = true;
	for (struct share *s = domain->shares; s; s = s->next)
		s->dirty = true;
	log_write(LOG_LEVEL_INFO, domain->name, "%s: goes on", domain->name);
	domain_at(domain, now);
}

/* It lives, as far as anybody can tell. */
static void told_alive(struct domain *domain, const struct domain_state *state, uint64_t now)
{
	if (domain->life == LIFE_SUSPENDED && state)
		domain_goes_on(domain, now);
	if (domain->life == LIFE_ON && domain->vanishing)
		domain_vanish_told(domain, state, now);
}

/* Is there something published that has not been read? */
static bool unread(const struct domain *domain)
{
	bool some = domain->scan || domain_waits(domain);

	for (const struct share *s = domain->shares; s; s = s->next)
		some = some || s->dirty || s->tries;
	return some;
}

static void told_ending(struct domain *domain, const struct ending *ending, uint64_t now)
{
	if (domain->life == LIFE_SUSPENDED) {
		if (ending->after == AFTER_OVER) {
			/* Its context may still be on its way. */
			domain->ending = (struct ending){"suspend", "suspend", AFTER_OVER};
			domain_closed(domain, now);
		}
		return;
	}
	if (domain->life != LIFE_ON)
		return;
	if (domain_attached(domain) || !unread(domain)) {
		domain_close(domain, ending, now);
		return;
	}
	/* What it published last is read first. */
	domain->corpse = true;
	domain->ending = *ending;
	domain_at(domain, now);
}

void domain_told(struct domain *domain, const struct domain_state *state, uint64_t now)
{
	struct ending ending;

	if (domain->life == LIFE_ASKED)
		domain_decide(domain, state, now);
	else if (state_ends(state, &ending))
		told_ending(domain, &ending, now);
	else
		told_alive(domain, state, now);
}

bool domain_wants_state(const struct domain *domain)
{
	return domain->life == LIFE_ASKED || domain->life == LIFE_ON || domain->life == LIFE_SUSPENDED;
}

void domain_missing(struct domain *domain, uint64_t now)
{
	bool knows = domain->host->knows_states;

	switch (domain->life) {
	case LIFE_NEW:
	case LIFE_ASKED:
		domain_free(domain);
		return;
	case LIFE_ON:
		for (struct share *s = domain->shares; s; s = s->next)
			s->gone = s->attached;
		if (domain_attached(domain))
			domain_vanish(domain, now);
		else if (domain_has_run(domain))
			domain_close(domain,
				     &(struct ending){knows ? "destroyed" : "ended", knows ? "destroyed" : "unknown",
						      AFTER_OVER},
				     now);
		else
			domain_free(domain);
		return;
	case LIFE_SUSPENDED:
		if (!knows)
			told_ending(domain, &(struct ending){"ended", "unknown", AFTER_OVER}, now);
		return;
	case LIFE_ENDING:
		return;
	case LIFE_OVER:
		if (!domain->capture)
			domain_free(domain);
		return;
	}
}

/* ---- steps -------------------------------------------------------------------------------------------------------------- */

/* A domid was used again?  True: this domain is no more. */
static bool step_check(struct domain *domain, uint64_t now)
{
	struct host *host = domain->host;
	uint32_t domid = domain->domid;
	char *uuid = domain_uuid_read(domain);
	bool same = !uuid || (domain->uuid && strcmp(uuid, domain->uuid) == 0);

	free(uuid);
	domain->check = false;
	if (same)
		return false;
	if (domain->has_guest && (domain->life == LIFE_ON || domain->life == LIFE_SUSPENDED)) {
		domain_close(domain,
			     domain->life == LIFE_ON ? &(struct ending){"destroyed", "destroyed", AFTER_OVER}
						     : &(struct ending){"suspend", "suspend", AFTER_OVER},
			     now);
		host_sweep_soon(host);
		return true;
	}
	domain_free(domain);
	if (!domain_new(host, domid))
		host_sweep_soon(host);
	return true;
}

/* It has a run, and nothing of it is mapped. */
static void step_unpublished(struct domain *domain, uint64_t now)
{
	if (domain->guest.run) {
		domain_close(domain, &(struct ending){"ended", "withdrawn", AFTER_RENEW}, now);
		return;
	}
	/* What was published was refused: no run has begun. */
	guest_deinit(&domain->guest);
	domain->has_guest = false;
}

static void step_on(struct domain *domain, uint64_t now)
{
	uint64_t next = 0;

	if (domain->renamed) {
		domain->renamed = false;
		/* Of one without a run nothing is told. */
		if (name_read(domain) && domain->has_guest)
			domain->reading = subtree_begin(&domain->subtree, domain->domid) == 0;
	} else if (!domain_keys_step(domain, now) && !domain_context_step(domain, now, &next)) {
		if (domain->corpse)
			domain_close(domain,
				     &(struct ending){domain->ending.kind, domain->ending.reason, domain->ending.after},
				     now);
		else if (domain->has_guest && !domain_attached(domain) && !domain->rest && !domain_waits(domain))
			step_unpublished(domain, now);
		else if (domain->rest || next)
			domain_at(domain, domain->rest && (!next || domain->rest < next) ? domain->rest : next);
		return;
	}
	if (domain->life == LIFE_ON)
		domain_at(domain, clock_mono());
}

/* Each second: does it go on? */
static void step_suspended(struct domain *domain, uint64_t now)
{
	uint64_t next;

	if (domain_context_step(domain, now, &next)) {
		domain_at(domain, clock_mono());
		return;
	}
	if (!domain->host->knows_states) {
		/* The helper is gone: nobody will tell, and a guest that does not go on is not harmed. */
		domain_goes_on(domain, now);
		return;
	}
	if (now >= domain->asked_at + AGAIN_NS) {
		domain->asked_at = now;
		domain_ask(domain);
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
 * Does a guest wait for its ring to be attached, or let go of?  Until it is mapped it may be overwritten, and with it goes what was read of
 * nobody; the rest can wait.
 */
static bool domain_is_urgent(const struct domain *domain)
{
	bool keys = domain->scan || domain->corpse;

	for (const struct share *s = domain->shares; s; s = s->next)
		keys = keys || s->dirty;
	return domain->life == LIFE_NEW || (domain->life == LIFE_ON && keys);
}

/*
 * After what took SPENT nothing is read for a while: other looks have their turn.  What is urgent, which guests can cause all the time, does
 * not put off what is not.
 */
static void store_rest(struct host *host, uint64_t spent, bool urgent)
{
	uint64_t now = clock_mono(), rest = STORE_SHARE * spent;

	if (!urgent)
		host->store_ready = now + (rest < STORE_MAX ? rest : STORE_MAX);
	rest = STORE_FIRST * spent;
	host->store_urgent = now + (rest < STORE_MAX ? rest : STORE_MAX);
}

/* All that reads XenStore passes here, so that it takes its share of the time at most, over all domains. */
static void domain_run(struct task *task, uint64_t now)
{
	struct domain *domain = (struct domain *)task;
	struct host *host = domain->host;
	bool urgent = domain_is_urgent(domain);
	uint64_t ready = urgent ? host->store_urgent : host->store_ready;

	if (domain->life == LIFE_ASKED) {
		domain_decide(domain, NULL, now);
		return;
	}
	if (domain->life == LIFE_ENDING) {
		domain_closed(domain, now); /* its time is over */
		return;
	}
	if (now < ready) {
		domain_at(domain, ready);
		return;
	}
	if (domain->check && step_check(domain, now))
		return;
	if (domain->life == LIFE_NEW)
		step_new(domain, now);
	else if (domain->life == LIFE_ON)
		step_on(domain, now);
	else if (domain->life == LIFE_SUSPENDED)
		step_suspended(domain, now);
	else
		step_over(domain, now);
	store_rest(host, clock_mono() - now, urgent);
}

/* ---- life --------------------------------------------------------------------------------------------------------------- */

struct domain *domain_new(struct host *host, uint32_t domid)
{
	struct domain *domain = calloc(1, sizeof(*domain));

	if (!domain)
		return NULL;
	domain->task.run = domain_run;
	domain->host = host;
	domain->domid = domid;
	domain->serial = ++host->serial;
	domain->since = clock_mono();
	domain->listed = true;
	subtree_init(&domain->subtree);
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
	domain_shares_free(domain);
	guest_deinit(&domain->guest);
	subtree_deinit(&domain->subtree);
	free(domain->name);
	free(domain->given);
	free(domain->uuid);
	free(domain);
}
