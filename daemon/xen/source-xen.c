/*
 * The source `xen`: finds the domains of this host, and passes on their XenStore events, the
 * helper's answers and their event channels.
 *
 * There are watches on @introduceDomain, @releaseDomain, and each domain's own data/mprof and name.
 * There is none on /local/domain, because it would fire for every write of every guest. The events
 * of @introduceDomain and @releaseDomain carry no domid, so each of them causes a *sweep*: ask the
 * helper for the states of all known domains, and list the domains that exist. libxenstore queues
 * events without bound, so each wake-up takes in all of them; an event only leaves a note at its
 * domain (see domain.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "addresses.h"
#include "collector.h"
#include "domain-steps.h"
#include "log.h"
#include "source-xen.h"

#define SWEEP_LEAST (10 * NS_PER_MS) /* least time between two sweeps */
#define SWEEP_SLOW  (60 * NS_PER_S)  /* time between sweeps without any event, to find what was missed */
#define PULSE_NS    NS_PER_S	     /* interval of checks of the connection, because its loss wakes nobody up */
#define SETTLE_NS   (100 * NS_PER_MS)
#define SETTLE_MAX \
	(30 * NS_PER_S) /* after this time end the runs of domains that are gone, though others are undecided */
#define SETTLE_LATE NS_PER_S
#define SILENCES_SAID \
	3u /* lines about a silent helper in LOG_LIMIT_INTERVAL_NS: a starved one is silent each few seconds */
#define KICKS_MAX  1024u /* kicks fetched in one go, before rings are polled */
#define PORTS_STEP 256u

struct source_xen {
	struct source source; /* first */
	struct host host;
	struct addresses addresses;
	sd_event_source *store, *events, *answers;
	struct task sweep, settle, pulse;
	uint64_t swept, began; /* when the last sweep and the source began, CLOCK_MONOTONIC ns */
	bool listed;	       /* a sweep has listed the domains at least once */
	struct helper_answer answer;
	struct log_limit silences; /* of lines that say that the helper does not answer */
	bool said_silent;	   /* the log has said that of the last silence */
};

static struct source_xen *source_of(struct host *host)
{
	return (struct source_xen *)((char *)host - offsetof(struct source_xen, host));
}

static void lost(struct host *host, int r)
{
	if (host->lost)
		return;
	host->lost = r;
	log_error("The connection to XenStore is lost and cannot be opened again without rights; ending, to be started "
		  "anew: error=%s",
		  strerror(-r));
	host->collector->failed = r;
	sd_event_exit(host->collector->event, 1);
}

/* ---- XenStore's events ----------------------------------------------------------------------- */

static struct domain *domain_of_token(const struct host *host, const char *token)
{
	uint64_t serial = strtoull(token + 1, NULL, 10);

	for (struct domain *d = host->domains; d; d = d->next)
		if (d->serial == serial)
			return d;
	return NULL;
}

static void on_event(struct host *host, const char *path, const char *token, uint64_t now)
{
	struct domain *domain;

	if (path[0] == '@') {
		host_sweep_soon(host);
		return;
	}
	domain = domain_of_token(host, token); /* NULL if the domain was freed meanwhile */
	if (domain && token[0] == 'k')
		domain_on_keys(domain, path, now);
	else if (domain && token[0] == 'n')
		domain_on_name(domain, now);
}

void host_drain(struct host *host)
{
	char path[XEN_PATH_MAX], token[64];
	uint64_t now = clock_mono();
	int r;

	while ((r = xen_store_event(host->xen, path, sizeof(path), token, sizeof(token))) > 0)
		on_event(host, path, token, now);
	if (r < 0)
		lost(host, r);
}

static int on_store(sd_event_source *source, int fd, uint32_t events, void *context)
{
	(void)source;
	(void)fd;
	(void)events;
	host_drain(context);
	return 0;
}

static void answers_take(struct source_xen *source);

static void helper_lost(struct host *host)
{
	log_error("The helper process has ended; why guests stop and what their consoles say is not known any more");
	host->silent = host->knows_states = false;
	host->asked = 0;
	source_of(host)->answers = sd_event_source_disable_unref(source_of(host)->answers);
	host->helper = helper_stop(host->helper);
	vcpu_slots_lost(host, clock_mono());
}

/*
 * Go on without a helper that does not answer. It is not stopped: it may only be starved, and no
 * other helper can be started, because the collector has given up the rights that a helper needs.
 */
static void helper_silent(struct host *host)
{
	source_of(host)->said_silent = log_write_limited(
		&source_of(host)->silences, LOG_LEVEL_ERROR, NULL,
		"The helper process does not answer; why guests stop and what their consoles say is not known until it "
		"does");
	host->silent = true;
	host->knows_states = false;
	vcpu_slots_lost(host, clock_mono());
}

static void helper_back(struct host *host, uint64_t now)
{
	if (source_of(host)->said_silent)
		log_info("The helper process answers again");
	host->silent = false;
	host->states_from = now;
	host->knows_states = helper_knows_states(host->helper, NULL);
	host_sweep_soon(host);
}

/*
 * The task that checks, each PULSE_NS, for a lost connection to XenStore and a helper that does not
 * answer. Answers that already wait are taken first, since it may be this process that was starved.
 */
static void pulse_run(struct task *task, uint64_t now)
{
	struct source_xen *source = (struct source_xen *)((char *)task - offsetof(struct source_xen, pulse));

	host_drain(&source->host);
	answers_take(source);
	if (host_helper(&source->host) && source->host.asked &&
	    now - clock_ahead_ns() > source->host.asked + HELPER_SILENT_NS)
		helper_silent(&source->host);
	vcpu_slots_pulse(&source->host);
	collector_at(source->host.collector, task, now + PULSE_NS);
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

void host_asked(struct host *host, uint64_t now)
{
	if (!host->asked)
		host->asked = now - clock_ahead_ns();
}

void host_sweep_soon(struct host *host)
{
	struct source_xen *source = source_of(host);
	uint64_t due = clock_mono();

	if (due < source->swept + SWEEP_LEAST)
		due = source->swept + SWEEP_LEAST;
	if (!source->sweep.place || source->sweep.due > due)
		collector_at(host->collector, &source->sweep, due);
}

/*
 * Ask the helper for the states of all domains whose state a sweep needs. Return false if not all
 * questions could be sent: the caller tries again in the next sweep.
 */
static bool states_ask(struct host *host)
{
	uint32_t domids[HELPER_DOMIDS_MAX];
	struct domain *d = host->domains;
	size_t n = 0;
	int r = 0;

	while (host->knows_states && d && r == 0) {
		for (n = 0; d && n < HELPER_DOMIDS_MAX; d = d->next)
			if (domain_wants_state(d))
				domids[n++] = d->domid;
		r = n ? helper_ask_states(host->helper, clock_mono(), domids, n) : 0;
		if (n && r == 0)
			host_asked(host, clock_mono());
	}
	if (r == -EPIPE)
		helper_lost(host);
	return r == 0 || r == -EPIPE;
}

static void domain_listed(struct host *host, uint32_t domid, bool initial, uint64_t now)
{
	struct domain *domain = host->domains;

	while (domain && domain->domid != domid)
		domain = domain->next;
	if (!domain) {
		domain = domain_new(host, domid);
		if (domain)
			domain->initial = initial;
		return;
	}
	domain->listed = true;
	/*
	 * While pages of a dead domain are mapped, Xen cannot use its domid again, so the UUID
	 * needs no check.
	 */
	if (domain->pages == 0 && domain->phase >= PHASE_ON) {
		domain->check_uuid = true;
		if (domain->phase != PHASE_ENDING)
			collector_at(host->collector, &domain->task, now);
	}
}

/*
 * List the domains that exist. Create those that are new, and tell those that are gone. Return 0 or
 * -errno.
 */
static int domains_list(struct host *host, uint64_t now)
{
	struct domain *domain, *next;
	char **names = NULL;
	/* XenStore may be slow, so the first list has the domains that existed when mprofd started, however late it comes. */
	const bool initial = !source_of(host)->listed;
	uint32_t domid;
	size_t n = 0;
	int r = xen_list(host->xen, 0, "/local/domain", &names, &n);

	if (r && r != -ENOENT)
		return r;
	source_of(host)->listed = true;
	for (domain = host->domains; domain; domain = domain->next)
		domain->listed = false;
	for (size_t i = 0; i < n; i++)
		if (value_number(names[i], strlen(names[i]), 1, 32767, &domid))
			domain_listed(host, domid, initial, now);
	free(names);
	for (domain = host->domains; domain; domain = next) {
		next = domain->next;
		if (!domain->listed)
			domain_missing(domain, now);
	}
	return 0;
}

static void sweep_run(struct task *task, uint64_t now)
{
	struct source_xen *source = (struct source_xen *)((char *)task - offsetof(struct source_xen, sweep));
	struct host *host = &source->host;
	uint64_t next = now + SWEEP_SLOW;
	int r;

	source->swept = now;
	/*
	 * Ask for the states first, while the nodes of a domain that has just died may still exist.
	 */
	if (!states_ask(host))
		next = now + SWEEP_LEAST;
	r = domains_list(host, now);
	if (r) {
		log_debug("XenStore lists no domains: error=%s", strerror(-r));
		next = now + NS_PER_S;
	}
	host_drain(host);
	if (!task->place || task->due > next)
		collector_at(host->collector, task, next);
}

/* Return whether nobody knows yet if the domain of a run goes on: a domain of this domid existed when mprofd started, and is undecided. */
static bool is_undecided(const void *context, const struct archive_resume *resume)
{
	const struct host *host = context;
	const size_t boot = strlen(host->boot);

	if (strncmp(resume->key, host->boot, boot) != 0 || resume->key[boot] != ' ')
		return false; /* dom0 has booted since */
	for (const struct domain *d = host->domains; d; d = d->next)
		if (d->initial && resume->domid == d->domid)
			return true;
	return false;
}

/*
 * The task that ends the archive's runs whose domains are gone. Until SETTLE_MAX it waits for the state of each domain that existed when
 * mprofd started. After that, only the runs of domains that are still undecided wait.
 */
static void settle_run(struct task *task, uint64_t now)
{
	struct source_xen *source = (struct source_xen *)((char *)task - offsetof(struct source_xen, settle));
	const bool late = now - source->began >= SETTLE_MAX;
	bool undecided = false;

	for (const struct domain *d = source->host.domains; d; d = d->next)
		undecided = undecided || d->initial;
	if (source->listed && (late || !undecided))
		collector_resume_settle(source->host.collector, "xen", is_undecided, &source->host);
	if (!source->listed || undecided)
		collector_at(source->host.collector, task, now + (late ? SETTLE_LATE : SETTLE_NS));
}

/* ---- the helper's answers -------------------------------------------------------------------- */

static void on_states(struct host *host, const struct helper_answer *answer, uint64_t now)
{
	struct domain *domain, *next;

	for (size_t i = 0; i < answer->n; i++)
		for (domain = host->domains; domain; domain = next) {
			next = domain->next;
			if (domain->domid == answer->states[i].domid)
				domain_on_state(domain, &answer->states[i], answer->tag, now);
		}
}

static void on_console(struct host *host, const struct helper_answer *answer)
{
	for (struct domain *d = host->domains; d; d = d->next)
		domain_on_console(d, answer);
}

/* Take the answers that wait. */
static void answers_take(struct source_xen *source)
{
	struct host *host = &source->host;
	const struct helper_answer *answer = &source->answer;
	int r = 0;

	while (host->helper && (r = helper_next(host->helper, &source->answer)) > 0) {
		host->asked = 0;
		if (host->silent)
			helper_back(host, clock_mono());
		if (answer->is_vcpu)
			vcpu_slots_answer(host, answer, clock_mono());
		else if (answer->is_console)
			on_console(host, answer);
		else if (answer->tag >= host->states_from)
			on_states(host, answer, clock_mono());
	}
	if (r < 0)
		helper_lost(host);
}

static int on_answer(sd_event_source *source, int fd, uint32_t events, void *context)
{
	(void)source;
	(void)fd;
	(void)events;
	answers_take(context);
	return 0;
}

/* ---- event channels -------------------------------------------------------------------------- */

int host_port_set(struct host *host, uint32_t local, struct attachment *attachment)
{
	size_t room = (local / PORTS_STEP + 1) * (size_t)PORTS_STEP;
	struct attachment **ports;

	if (local >= host->n_ports && attachment) {
		ports = realloc(host->ports, room * sizeof(*ports));
		if (!ports)
			return -ENOMEM;
		memset(ports + host->n_ports, 0, (room - host->n_ports) * sizeof(*ports));
		host->ports = ports;
		host->n_ports = room;
	}
	if (local < host->n_ports)
		host->ports[local] = attachment;
	return 0;
}

struct attachment *host_port(const struct host *host, uint32_t local)
{
	return local < host->n_ports ? host->ports[local] : NULL;
}

static int on_kick(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct host *host = context;
	struct attachment *attachment;
	uint32_t local;
	int r = 0;

	(void)source;
	(void)fd;
	(void)events;
	for (unsigned i = 0; i < KICKS_MAX && (r = xen_pending(host->xen, &local)) > 0; i++) {
		attachment = host_port(host, local);
		if (!attachment || !attachment->attached)
			continue;
		kick_come(&attachment->kick);
		collector_at(host->collector, &attachment->task, clock_mono());
	}
	if (r < 0) {
		/*
		 * Without this read no port is ever unmasked, and rings with an event channel would
		 * be polled only once a second.
		 */
		log_error("Event channels cannot be read; ending, to be started anew: error=%s", strerror(-r));
		host->collector->failed = r;
		sd_event_exit(host->collector->event, 1);
	}
	return 0;
}

/* ---- the interface of the source ------------------------------------------------------------- */

static struct domain *domain_of_run(struct source *source, int64_t run)
{
	for (struct domain *d = ((struct source_xen *)source)->host.domains; d; d = d->next)
		if (d->has_guest && d->guest.run == run)
			return d;
	return NULL;
}

static struct guest *xen_find(struct source *source, int64_t run)
{
	struct domain *domain = domain_of_run(source, run);

	return domain ? &domain->guest : NULL;
}

static bool xen_identify(struct source *source, const char *address, uint32_t domid, struct source_guest *guest)
{
	struct source_xen *xen = (struct source_xen *)source;
	struct domain *domain = xen->host.domains;

	if (address)
		domain = addresses_find(&xen->addresses, &xen->host, address);
	while (!address && domain && (domain->domid != domid || domain->phase == PHASE_OVER))
		domain = domain->next;
	if (!domain)
		return false;
	if (address)
		domain_is_profiled(domain);
	*guest = (struct source_guest){
		.run = domain->has_guest ? domain->guest.run : 0,
		.name = domain->name,
		.uuid = domain->uuid,
		.domid = domain->domid,
	};
	if (!address) {
		addresses_first(&xen->addresses, domain, guest->address, sizeof(guest->address));
		guest->memtrace_port = domain_memtrace_port(domain);
	}
	return true;
}

static void xen_offers(const struct source *source, source_offer *offer, void *context)
{
	for (const struct domain *d = ((const struct source_xen *)source)->host.domains; d; d = d->next)
		if (d->memtrace_port && d->has_guest && d->guest.run &&
		    (d->phase == PHASE_ON || d->phase == PHASE_SUSPENDED))
			offer(context, d->guest.run, d->domid, d->memtrace_port);
}

static void xen_poll_soon(struct source *source, int64_t run)
{
	struct domain *domain = domain_of_run(source, run);

	for (struct attachment *a = domain ? domain->attachments : NULL; a; a = a->next)
		if (a->attached)
			collector_at(domain->host->collector, &a->task, clock_mono());
	if (domain)
		vcpu_track_poll_soon(&domain->vcpu, clock_mono());
}

static void xen_count(const struct source *source, size_t *guests, size_t *rings)
{
	*guests = *rings = 0;
	for (const struct domain *d = ((const struct source_xen *)source)->host.domains; d; d = d->next) {
		*guests += d->has_guest && guest_is_running(&d->guest);
		for (const struct attachment *a = d->attachments; a; a = a->next)
			*rings += a->attached;
	}
}

static void xen_metrics(const struct source *source, char *text, size_t size)
{
	const struct host *host = &((const struct source_xen *)source)->host;
	int n;

	n = snprintf(text, size,
		     "# TYPE mprofd_domains gauge\n# HELP mprofd_domains Domains of this host that are known.\n"
		     "mprofd_domains %zu\n"
		     "# TYPE mprofd_mapped_pages gauge\n# HELP mprofd_mapped_pages Pages of guests that are mapped.\n"
		     "mprofd_mapped_pages %llu\n"
		     "# TYPE mprofd_mapped_pages_limit gauge\n"
		     "# HELP mprofd_mapped_pages_limit Most pages that may be mapped.\nmprofd_mapped_pages_limit %llu\n"
		     "# TYPE mprofd_xenstore_refused counter\n"
		     "# HELP mprofd_xenstore_refused Values and rings of guests that were refused, by reason.\n",
		     host->n_domains, (unsigned long long)host->allowance.used,
		     (unsigned long long)host->allowance.limit);
	for (unsigned i = FAULT_NONE + 1; i < FAULT_MAX && n > 0 && (size_t)n < size; i++)
		n += snprintf(text + n, size - (size_t)n, "mprofd_xenstore_refused_total{reason=\"%s\"} %llu\n",
			      fault_name((enum fault)i), (unsigned long long)host->refused[i]);
}

static bool xen_takes(const struct source *source, int64_t capture)
{
	const struct source_xen *xen = (const struct source_xen *)source;

	for (const struct domain *d = xen->host.domains; d; d = d->next)
		if (d->capture == capture || (d->has_guest && d->guest.capture.id == capture))
			return true;
	return false;
}

static void xen_close_source(struct source *source)
{
	struct source_xen *xen = (struct source_xen *)source;
	struct schedule *schedule = &xen->host.collector->schedule;

	/*
	 * Complete the captures of dead guests now, because their pages are unmapped when the
	 * process ends.
	 */
	for (struct domain *d = xen->host.domains; d; d = d->next)
		domain_finish(d);
	while (xen->host.domains)
		domain_free(xen->host.domains);
	schedule_remove(schedule, &xen->sweep);
	schedule_remove(schedule, &xen->settle);
	schedule_remove(schedule, &xen->pulse);
	sd_event_source_disable_unref(xen->store);
	sd_event_source_disable_unref(xen->events);
	sd_event_source_disable_unref(xen->answers);
	free(xen->host.ports);
	addresses_deinit(&xen->addresses);
	helper_stop(xen->host.helper);
	vcpu_area_free(xen->host.vcpus.area);
	xen_close(xen->host.xen);
	free(xen);
}

/* Read dom0's boot id, a line of 36 characters, into BOOT (SIZE bytes). Return 0 or -EIO. */
static int boot_read(char *boot, size_t size)
{
	CLEANUP(fclosep) FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!f || !fgets(boot, (int)size, f))
		return -EIO;
	boot[strcspn(boot, "\n")] = '\0';
	return 0;
}

static uint64_t pages_limit(struct xen *xen, const struct config *config)
{
	unsigned per_page;
	uint64_t entries;

	xen_maptrack(xen, &entries, &per_page);
	return config->xen_pages ? config->xen_pages : entries / 4 / per_page;
}

static int wait_for_events(struct source_xen *xen)
{
	struct host *host = &xen->host;
	sd_event *event = host->collector->event;
	int r = xen_watch(host->xen, "@introduceDomain", "i");

	if (r == 0)
		r = xen_watch(host->xen, "@releaseDomain", "r");
	if (r == 0)
		r = sd_event_add_io(event, &xen->store, xen_store_fd(host->xen), EPOLLIN, on_store, host);
	if (r >= 0)
		r = sd_event_add_io(event, &xen->events, xen_event_fd(host->xen), EPOLLIN, on_kick, host);
	if (r >= 0)
		r = sd_event_add_io(event, &xen->answers, helper_fd(host->helper), EPOLLIN, on_answer, xen);
	return r < 0 ? r : 0;
}

int source_xen_open(struct source **sp, struct collector *collector, struct xen_access *access, char *sentence,
		    size_t size)
{
	struct source_xen *xen = calloc(1, sizeof(*xen));
	struct host *host = &xen->host;
	const char *why = "";
	int r;

	if (!xen)
		return -ENOMEM;
	xen->source = (struct source){
		.find = xen_find,
		.poll_soon = xen_poll_soon,
		.takes = xen_takes,
		.identify = xen_identify,
		.offers = xen_offers,
		.count = xen_count,
		.metrics = xen_metrics,
		.close = xen_close_source,
	};
	xen->sweep.run = sweep_run;
	xen->settle.run = settle_run;
	xen->pulse.run = pulse_run;
	xen->began = clock_mono();
	xen->silences.burst = SILENCES_SAID;
	host->collector = collector;
	host->xen = TAKE_PTR(access->xen);
	host->helper = TAKE_PTR(access->helper);
	host->vcpus.area = TAKE_PTR(access->vcpu_area);
	host->allowance.limit = pages_limit(host->xen, collector->config);
	host->knows_states = helper_knows_states(host->helper, &why);
	if (!host->knows_states)
		log_warning("Why guests stop is not known: %s", why);
	if (config_any_on_crash(collector->config) && !config_keep_unread(collector->config))
		log_info("A guest whose mode is on-crash, and which failed and powered off, is not kept: no reader "
			 "looks at it, by the configuration");
	r = boot_read(host->boot, sizeof(host->boot));
	if (r == 0)
		r = wait_for_events(xen);
	if (r) {
		snprintf(sentence, size, "XenStore cannot be watched: error=%s", strerror(-r));
		xen_close_source(&xen->source);
		return r;
	}
	sweep_run(&xen->sweep, xen->began);
	collector_at(collector, &xen->settle, xen->began + SETTLE_NS);
	collector_at(collector, &xen->pulse, xen->began + PULSE_NS);
	*sp = &xen->source;
	return 0;
}
