/*
 * End a domain's run. When a run ends, a capture takes the bytes that are still in its rings;
 * within a second everything is detached; and then the capture gets its context: the XenStore nodes
 * as last seen, and the end of the guest's console.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "clock.h"
#include "collector.h"
#include "domain-steps.h"
#include "log.h"
#include "subtree.h"

#define CLOSE_NS (800 * NS_PER_MS) /* time for a capture of the rings' remaining bytes */
/* Wait before asking for the console: xenconsoled writes its log a moment after the end. */
#define CONSOLE_NS   (300 * NS_PER_MS)
#define ANSWER_NS    (2 * NS_PER_S)
#define SUBTREE_STEP 2u
#define FINISH_NS    NS_PER_MS
#define RENEWALS_MAX 10u /* new runs of a guest in a minute */

/* ---- the end of a run ------------------------------------------------------------------------ */

/*
 * With the policy on-crash, only an end that may be a crash is captured. To Xen a guest that failed by an exception is one
 * that powered off, so the reader of mprofd-http looks at all whose end is orderly.
 */
const char *domain_end_kind(const struct domain *domain, const struct run_end *ending)
{
	const char *const orderly[] = {"poweroff", "reboot", "destroyed"};
	const struct config *config = domain->host->collector->config;

	if (config_policy(config, domain->name).mode != POLICY_ON_CRASH)
		return ending->kind;
	if (strcmp(ending->kind, "suspend") == 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(orderly); i++)
		if (strcmp(ending->kind, orderly[i]) == 0)
			return config_keep_unread(config) ? ARCHIVE_UNREAD : NULL;
	return ending->kind;
}

void domain_close(struct domain *domain, const struct run_end *ending, uint64_t now)
{
	const char *kind = domain_end_kind(domain, ending);
	int64_t capture = 0;

	domain->ending = *ending;
	domain->phase = PHASE_ENDING;
	domain->since = now;
	domain->capture = 0;
	domain->keys_gone = false;
	vcpu_track_end(&domain->vcpu, now);
	if (domain->has_guest && domain_attached(domain) && kind) {
		guest_capture_abandon(&domain->guest);
		capture = domain->unfinished ? guest_capture_again(&domain->guest, domain->unfinished, true)
					     : guest_capture_begin(&domain->guest, kind, NULL, true, NULL);
	}
	if (capture <= 0) {
		domain_closed(domain, now);
		return;
	}
	domain->capture = capture;
	domain->guest.capture.has_context = true;
	domain->context_reason = ending->reason;
	for (struct attachment *a = domain->attachments; a; a = a->next)
		if (a->attached)
			collector_at(domain->host->collector, &a->task, now);
	domain_at(domain, now + CLOSE_NS);
}

void domain_run_end(struct domain *domain)
{
	/* Rings of an earlier process that this one never saw. */
	if (domain->has_guest && domain_end_kind(domain, &domain->ending))
		collector_resume_declare(domain->host->collector, domain->guest.run);
	if (domain->has_guest && guest_set_state(&domain->guest, "ended", domain->ending.kind))
		log_warning("%s: out of memory", domain->name);
	domain->epoch += domain->has_guest;
	guest_deinit(&domain->guest);
	domain->has_guest = domain->without_ring = domain->profiled = false;
	vcpu_track_renew(&domain->vcpu);
	domain->unfinished = 0;
	memset(domain->numbers_used, 0, sizeof(domain->numbers_used));
	for (struct attachment *a = domain->attachments; a; a = a->next)
		a->has_held = false;
	domain_scan_all(domain);
}

/*
 * End the run and begin another one. If a guest begins more than RENEWALS_MAX runs in a minute, its
 * keys are ignored for a while, because it could fill the archive with runs.
 */
static void renew(struct domain *domain, uint64_t now)
{
	domain_run_end(domain);
	domain->phase = PHASE_ON;
	if (now - domain->renewed >= 60 * NS_PER_S) {
		domain->renewed = now;
		domain->renewals = 0;
	}
	if (++domain->renewals > RENEWALS_MAX)
		domain_ignore_keys(domain, now);
	/* The domain may have died meanwhile. */
	host_sweep_soon(domain->host);
}

static void context_begin(struct domain *domain, uint64_t now);

void domain_closed(struct domain *domain, uint64_t now)
{
	const struct run_end *ending = &domain->ending;
	uint64_t pages = domain->pages;

	if (domain->has_guest)
		guest_capture_abandon(&domain->guest);
	for (struct attachment *a = domain->attachments; a; a = a->next) {
		if (ending->after == AFTER_SUSPEND && a->attached)
			attachment_hold(a);
		attachment_detach(a);
	}
	vcpu_track_detach(&domain->vcpu);
	domain->found_dead = false;
	domain->since = now;
	if (domain->has_guest && domain->guest.run)
		log_write(LOG_LEVEL_INFO, domain->name, "%s, run=%lld capture=%lld pages=%llu", ending->reason,
			  (long long)domain->guest.run, (long long)domain->capture, (unsigned long long)pages);
	switch (ending->after) {
	case AFTER_OVER:
		domain_run_end(domain);
		domain->phase = PHASE_OVER;
		break;
	case AFTER_SUSPEND:
		if (domain->has_guest && guest_set_state(&domain->guest, "suspended", NULL))
			log_warning("%s: out of memory", domain->name);
		domain->phase = PHASE_SUSPENDED;
		break;
	case AFTER_RENEW:
		renew(domain, now);
		break;
	case AFTER_RESET:
		renew(domain, now);
		domain->phase = PHASE_SUSPENDED;
		break;
	}
	context_begin(domain, now);
	domain_at(domain, now);
}

void domain_finish(struct domain *domain)
{
	uint64_t until = domain->since + CLOSE_NS;

	while (domain->phase == PHASE_ENDING && clock_mono() < until) {
		for (struct attachment *a = domain->attachments; a && domain->phase == PHASE_ENDING; a = a->next)
			if (a->attached)
				domain_attachment_run(&a->task, clock_mono());
		if (domain->phase == PHASE_ENDING)
			domain->vcpu.task.run(&domain->vcpu.task, clock_mono());
		if (domain->phase == PHASE_ENDING)
			clock_sleep(FINISH_NS);
	}
	if (domain->phase == PHASE_ENDING)
		domain_closed(domain, clock_mono());
}

void domain_renew(struct domain *domain, uint64_t now)
{
	domain->ending = (struct run_end){"ended", "ring begun anew", AFTER_RENEW};
	domain->capture = 0;
	domain_closed(domain, now);
}

/* ---- the context of a capture ---------------------------------------------------------------- */

static void context_write(struct domain *domain, const struct helper_answer *console)
{
	const struct context context = {
		.reason = domain->context_reason,
		.subtree = &domain->subtree,
		.console = console && console->error == 0 ? console->console : NULL,
		.console_len = console ? console->n : 0,
		.console_complete = !console || console->complete,
	};
	char *json = context_json(&context);

	if (!json || guest_capture_context(&domain->host->collector->shared, domain->capture, json))
		log_warning("%s: out of memory", domain->name);
}

/*
 * Write the context without the console at once, and ask for the console later. If mprofd ends
 * before the console comes, the capture keeps this context.
 */
static void context_begin(struct domain *domain, uint64_t now)
{
	domain->console_at = 0;
	if (!domain->capture)
		return;
	domain->console_at = now + CONSOLE_NS;
	domain->console_asked = false;
	context_write(domain, NULL);
	domain->reads_subtree = subtree_begin(&domain->subtree, domain->domid) == 0;
}

void domain_on_console(struct domain *domain, const struct helper_answer *answer)
{
	if (!domain->capture || !domain->console_at || (uint64_t)domain->capture != answer->tag)
		return;
	context_write(domain, answer);
	guest_capture_finish(&domain->host->collector->shared, domain->capture);
	domain->console_at = 0;
	domain->capture = 0;
	domain_at(domain, clock_mono());
}

bool domain_context_step(struct domain *domain, uint64_t now, uint64_t *next)
{
	struct host *host = domain->host;
	int r;

	*next = 0;
	if (domain->reads_subtree) {
		r = subtree_step(&domain->subtree, host->xen, SUBTREE_STEP);
		domain->reads_subtree = r > 0;
		return true;
	}
	if (!domain->console_at)
		return false;
	*next = domain->console_at;
	if (now < domain->console_at)
		return false;
	if (!domain->console_asked && host_helper(host) &&
	    helper_ask_console(host->helper, (uint64_t)domain->capture,
			       domain->raw_name ? domain->raw_name : domain->name) == 0) {
		host_asked(host, now);
		domain->console_asked = true;
		domain->console_at = *next = now + ANSWER_NS;
		return false;
	}
	/* The helper is gone, silent, or has not answered in time: the context stays without a console. */
	context_write(domain, NULL);
	guest_capture_finish(&host->collector->shared, domain->capture);
	domain->console_at = 0;
	domain->capture = 0;
	return true;
}
