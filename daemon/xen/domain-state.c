/*
 * Act on a domain's state. The state comes from the helper, or is concluded from nodes that are
 * gone. The domain then begins, continues, is suspended or has ended; this file decides which, and
 * why it ended.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "collector.h"
#include "domain-steps.h"
#include "log.h"

#define DECIDE_NS (150 * NS_PER_MS) /* time to wait for the helper to say why keys are gone */
#define ANSWER_NS (350 * NS_PER_MS) /* time to wait longer if the nodes are gone, too */
#define DETACH_NS (700 * NS_PER_MS) /* time for a capture of a withdrawn ring's remaining bytes */

/*
 * Return whether STATE says that the run has ended or the domain is suspended, and fill *ENDING
 * with the way it ended.
 */
static bool state_ends(const struct domain_state *state, struct run_end *ending)
{
	static const struct run_end endings[] = {
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
		*ending = state->reason < ARRAY_SIZE(endings) ? endings[state->reason]
							      : (struct run_end){"ended", "unknown", AFTER_OVER};
		/*
		 * A domain that is suspended and dying was saved or has migrated, and its toolstack
		 * is removing it: the domain does not continue.
		 */
		if (state->flags & DOMAIN_DYING)
			ending->after = AFTER_OVER;
		return true;
	}
	*ending = (struct run_end){"destroyed", "destroyed", AFTER_OVER};
	return !(state->flags & DOMAIN_KNOWN) || state->flags & DOMAIN_DYING;
}

/*
 * If the archive has a run of this domain that has not ended, continue that run. Return the
 * archive's record of the domain's last run before this process; NULL if the archive has none, or this
 * process has settled it. Borrowed from the resume index.
 */
static const struct archive_resume *run_resume(struct domain *domain)
{
	struct collector *c = domain->host->collector;
	const struct archive_resume *resume;
	const struct resume_entry *entry;
	char prefix[96];

	snprintf(prefix, sizeof(prefix), "%s %u %s ", domain->host->boot, domain->domid,
		 domain->uuid ? domain->uuid : "-");
	entry = collector_resume_life(c, "xen", prefix);
	if (!entry)
		return NULL;
	resume = &entry->resume;
	domain->epoch = strtoull(resume->key + strlen(prefix), NULL, 10);
	if (strcmp(resume->state, "ended") == 0) {
		domain->epoch++;
		return resume;
	}
	/* This process has continued that run, or found it over: the domain that had it is gone. */
	if (entry->settled) {
		domain->epoch++;
		return NULL;
	}
	if (domain_guest(domain, resume->run)) {
		log_warning("%s: out of memory", domain->name);
		return resume;
	}
	collector_resume_taken_up(c, resume->run);
	return resume;
}

/*
 * Return the capture of RUN's end that mprofd had begun when it was killed, or 0 if there is none.
 */
static int64_t run_unfinished(const struct collector *c, int64_t run)
{
	int64_t unfinished = 0;

	for (size_t i = 0; i < c->n_resume; i++)
		if (c->resume_index[i].resume.run == run && c->resume_index[i].resume.unfinished > unfinished)
			unfinished = c->resume_index[i].resume.unfinished;
	return unfinished;
}

/*
 * Do not capture the domain's end: the archive already has the capture, or the policy wants none.
 */
static void end_skip(struct domain *domain, uint64_t now)
{
	domain_run_end(domain);
	domain_phase_set(domain, domain->ending.after == AFTER_RESET ? PHASE_SUSPENDED : PHASE_OVER, now);
}

void domain_decide(struct domain *domain, const struct domain_state *state, uint64_t now)
{
	const struct archive_resume *resume = run_resume(domain);
	bool ends = state_ends(state, &domain->ending);

	domain_phase_set(domain, PHASE_ON, now);
	domain->scan = true;
	domain_at(domain, now);
	if (!ends)
		return;
	if (domain->ending.after == AFTER_SUSPEND && resume && strcmp(resume->state, "suspended") == 0) {
		domain_phase_set(domain, PHASE_SUSPENDED, now);
		return;
	}
	if (domain->has_guest)
		domain->unfinished = run_unfinished(domain->host->collector, resume->run);
	if (domain->ending.after != AFTER_SUSPEND &&
	    ((resume && resume->captured && !domain->unfinished) || !domain_end_kind(domain, &domain->ending))) {
		end_skip(domain, now);
		return;
	}
	domain->found_dead = true;
}

void domain_resumed(struct domain *domain, uint64_t now)
{
	domain_phase_set(domain, PHASE_ON, now);
	domain_scan_all(domain);
	log_write(LOG_LEVEL_INFO, domain->name, "goes on");
	domain_at(domain, now);
}

/* ---- keys that are gone: was the ring withdrawn, or has the domain died? --------------------- */

void domain_keys_gone(struct domain *domain, uint64_t now)
{
	if (domain->keys_gone)
		return;
	domain->keys_gone = true;
	domain->alive_from = domain->decide_by = now + DECIDE_NS;
	if (domain->host->knows_states)
		domain_ask(domain);
	else
		domain_keys_gone_on_state(domain, NULL, 0, now);
	/* If the helper does not answer, domain_attachment_run() decides at DECIDE_BY. */
	for (struct attachment *a = domain->attachments; a && domain->keys_gone; a = a->next)
		if (a->attached && (!a->task.place || a->task.due > domain->decide_by))
			collector_at(domain->host->collector, &a->task, domain->decide_by);
}

static bool nodes_gone(struct domain *domain)
{
	return !domain_uuid_matches(domain) || !domain->listed;
}

/* Return whether the keys of an attached ring have changed and are not yet read. */
static bool has_dirty(const struct domain *domain)
{
	for (const struct attachment *a = domain->attachments; a; a = a->next)
		if (a->attached && a->dirty)
			return true;
	return false;
}

void domain_keys_gone_on_state(struct domain *domain, const struct domain_state *state, uint64_t asked, uint64_t now)
{
	bool nodes = nodes_gone(domain);
	size_t gone = 0;

	/*
	 * When a toolstack destroys a domain, it pauses the domain, removes its nodes and then
	 * destroys it. A state that is neither paused nor dying may be from before the pause,
	 * however late its answer comes: ask again.
	 */
	if (nodes && state && !(state->flags & DOMAIN_PAUSED) && asked < domain->alive_from) {
		domain_ask(domain);
		return;
	}
	/* The helper has not answered yet. Only the helper knows how the domain ended. */
	if (nodes && !state && domain->host->knows_states && now < domain->alive_from + ANSWER_NS) {
		domain->decide_by = domain->alive_from + ANSWER_NS;
		return;
	}
	/* A guest may have withdrawn several rings at once: read the keys of all first. */
	if (!nodes && has_dirty(domain) && now < domain->alive_from + ANSWER_NS) {
		domain->decide_by = domain->alive_from + ANSWER_NS;
		if (state)
			domain_ask(domain);
		return;
	}
	domain->keys_gone = false;
	if (nodes && (!state || state->flags & DOMAIN_PAUSED)) {
		domain_close(
			domain,
			&(struct run_end){state ? "destroyed" : "ended", state ? "destroyed" : "unknown", AFTER_OVER},
			now);
		return;
	}
	for (struct attachment *a = domain->attachments; a; a = a->next)
		gone += a->attached && a->gone;
	if (gone ? gone == domain_attached(domain) : !domain_attached(domain) && !domain_offers(domain)) {
		domain_close(domain, &(struct run_end){"ended", "withdrawn", AFTER_RENEW}, now);
		return;
	}
	for (struct attachment *a = domain->attachments; a; a = a->next) {
		if (!a->attached || !a->gone || a->withdrawn)
			continue;
		a->withdrawn = true;
		a->detach_by = now + DETACH_NS;
		collector_at(domain->host->collector, &a->task, now);
	}
}

/* ---- states ---------------------------------------------------------------------------------- */

/*
 * Act on a state that is no end. The helper's answer has only a domid. A suspended domain may have
 * been removed and its domid given to a new domain, so domain_uuid_matches() is checked before this
 * domain counts as resumed.
 */
static void on_alive(struct domain *domain, const struct domain_state *state, uint64_t asked, uint64_t now)
{
	if (domain->phase == PHASE_SUSPENDED && state && domain_uuid_matches(domain))
		domain_resumed(domain, now);
	if (domain->phase == PHASE_OVER && state && domain_uuid_matches(domain)) {
		/* A domain that has ended stays so: this is another one, with the same domid and UUID. */
		domain_phase_set(domain, PHASE_ON, now);
		domain_scan_all(domain);
		log_write(LOG_LEVEL_INFO, domain->name, "was created again");
		domain_at(domain, now);
	}
	if (domain->phase == PHASE_ON && domain->keys_gone)
		domain_keys_gone_on_state(domain, state, asked, now);
}

static bool has_unread(const struct domain *domain)
{
	bool some = domain->scan || domain_waits(domain);

	for (const struct attachment *a = domain->attachments; a; a = a->next)
		some = some || a->dirty || a->tries;
	return some;
}

/*
 * Return whether a domain that was suspended, or whose soft reset was captured, has run since then if it ended by ENDING: else it is only
 * destroyed, or vanishes. Nobody saw the resume, because the helper was silent, or the domain ended before the next question.
 */
static bool has_run_since(const struct run_end *ending)
{
	static const char *const others[] = {"suspend", "soft-reset", "destroyed", "unknown"};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (strcmp(ending->reason, others[i]) == 0)
			return false;
	return true;
}

static void on_end(struct domain *domain, const struct run_end *ending, uint64_t now)
{
	if (domain->phase == PHASE_SUSPENDED && ending->after == AFTER_OVER && has_run_since(ending) &&
	    domain_uuid_matches(domain)) {
		domain_resumed(domain, now);
		domain->found_dead = true;
		domain->ending = *ending;
		return;
	}
	if (domain->phase == PHASE_SUSPENDED) {
		if (ending->after == AFTER_OVER) {
			/*
			 * domain_closed() writes the capture's context if that has not happened
			 * yet.
			 */
			domain->ending = (struct run_end){"suspend", "suspend", AFTER_OVER};
			domain_closed(domain, now);
		}
		return;
	}
	if (domain->phase != PHASE_ON)
		return;
	if (domain_attached(domain) || !has_unread(domain)) {
		domain_close(domain, ending, now);
		return;
	}
	/* Read the keys that the domain wrote last before it is closed. */
	domain->found_dead = true;
	domain->ending = *ending;
	domain_at(domain, now);
}

void domain_on_state(struct domain *domain, const struct domain_state *state, uint64_t asked, uint64_t now)
{
	struct run_end ending;

	if (state && asked < domain->made_at) /* it is about the domain that had this domid before */
		return;
	if (domain->phase == PHASE_ASKED)
		domain_decide(domain, state, now);
	else if (state_ends(state, &ending))
		on_end(domain, &ending, now);
	else
		on_alive(domain, state, asked, now);
}

bool domain_wants_state(const struct domain *domain)
{
	return domain->phase >= PHASE_ASKED && domain->phase != PHASE_ENDING;
}

/*
 * Return whether the domain has a run in the archive. A guest has none until something is attached
 * or its memory profile begins.
 */
static bool has_run(const struct domain *domain)
{
	return domain->has_guest && domain->guest.run;
}

void domain_missing(struct domain *domain, uint64_t now)
{
	bool knows = domain->host->knows_states;

	switch (domain->phase) {
	case PHASE_NEW:
	case PHASE_ASKED:
		domain_free(domain);
		return;
	case PHASE_ON:
		for (struct attachment *a = domain->attachments; a; a = a->next)
			a->gone = a->attached;
		if (domain_attached(domain))
			domain_keys_gone(domain, now);
		else if (has_run(domain))
			domain_close(domain,
				     &(struct run_end){knows ? "destroyed" : "ended", knows ? "destroyed" : "unknown",
						       AFTER_OVER},
				     now);
		else
			domain_free(domain);
		return;
	case PHASE_SUSPENDED:
		if (!knows)
			on_end(domain, &(struct run_end){"ended", "unknown", AFTER_OVER}, now);
		return;
	case PHASE_ENDING:
		return;
	case PHASE_OVER:
		if (!domain->capture)
			domain_free(domain);
		return;
	}
}
