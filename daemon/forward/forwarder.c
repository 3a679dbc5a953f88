/*
 * The loop of mprofd-forward. It keeps no connection to what is absent: the hub, the archive and the
 * collector may come and go, and each failure waits longer, up to BACKOFF_MOST_NS.
 *
 * The process may be killed at any time: the hub has whole transactions, the collector deletes rows
 * of the outbox only when they are acknowledged, and what was sent twice is done already.
 */
#include "forwarder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <time.h>

#include "clock.h"
#include "compare.h"
#include "log.h"
#include "own-state.h"
#include "sender.h"

#define BACKOFF_NS	NS_PER_S
#define BACKOFF_MOST_NS (300 * NS_PER_S)
#define STRANGER_NS	(60 * NS_PER_S) /* until a hub is asked again that does not take this host */
#define ARCHIVE_NS	(2 * NS_PER_S)	/* until the archive is looked for again */
#define HELLO_NS	(600 * NS_PER_S)
#define REPORT_NS	(10 * NS_PER_S)
#define NEWS_NS		NS_PER_S
#define IDLE_MS		5000u
#define ROWS		64u /* rows that are looked at for one that can be sent now */

struct forwarder {
	const struct forwarder_options *options;
	struct reader *r;
	struct hub *hub;
	struct collector_client *collector;
	struct sender sender;
	uint64_t backoff;  /* how long the next failure waits, ns */
	uint64_t hello_at; /* of the last hello, CLOCK_MONOTONIC ns */
	uint64_t report_at;
	struct forwarded told; /* to the collector */
	char last[512];	       /* sentence of the last failure, to log it once */
	struct row rows[ROWS];
	size_t n_rows;
	int64_t later[ROWS]; /* rows that the hub takes later */
	size_t n_later;
};

static void forwarder_deinit(struct forwarder *f)
{
	sender_deinit(&f->sender);
	hub_free(f->hub);
	collector_free(f->collector);
	reader_free(f->r);
	*f = (struct forwarder){0};
}

static int forwarder_init(struct forwarder *f, const struct config *config, const struct forwarder_options *options,
			  char *sentence, size_t size)
{
	char error[256];

	*f = (struct forwarder){.options = options, .backoff = BACKOFF_NS};
	if (!*config->fleet_connection) {
		snprintf(sentence, size, "the configuration names no hub: write connection in the section [fleet]");
		return -EINVAL;
	}
	if (!hub_connection_ok(config->fleet_connection, error, sizeof(error))) {
		snprintf(sentence, size, "connection in [fleet] is no connection string of libpq: %s", error);
		return -EINVAL;
	}
	if (mkdir(options->own, 0750) < 0 && errno != EEXIST) {
		snprintf(sentence, size, "%s cannot be made: %s", options->own, strerror(errno));
		return -errno;
	}
	snprintf(sentence, size, "out of memory");
	if (reader_new(&f->r, options->state) < 0 || hub_new(&f->hub, config->fleet_connection) < 0 ||
	    collector_new(&f->collector, options->run) < 0)
		return -ENOMEM;
	return sender_init(&f->sender, f->r, f->hub, f->collector, config->fleet_rate);
}

/*
 * Report to the collector: each REPORT_NS; NEWS_NS after something was acknowledged or refused; and at
 * once if the connection came or went, or there is nothing else to do (IS_IDLE).
 */
static void report(struct forwarder *f, bool is_idle)
{
	const uint64_t now = clock_mono(), age = now - f->report_at;
	const struct forwarded *total = &f->sender.total, *told = &f->told;
	bool news = total->captures != told->captures || total->packets != told->packets ||
		    total->bytes != told->bytes || total->refused != told->refused;

	f->sender.total.connected = hub_connected(f->hub);
	if (f->report_at && total->connected == told->connected && age < (news ? (is_idle ? 0 : NEWS_NS) : REPORT_NS))
		return;
	f->report_at = now;
	f->told = *total;
	(void)collector_report(f->collector, total);
}

/* Wait for NS, a half more or less, and meanwhile report. */
static void back_off(struct forwarder *f, uint64_t ns)
{
	uint32_t random = 0;
	uint64_t until;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
		random = 1u << 31;
	until = clock_mono() + ns / 2 + (uint64_t)((double)ns * ((double)random / 4294967296.0));
	for (uint64_t now = clock_mono(); now < until; now = clock_mono()) {
		uint64_t left = until - now < NS_PER_S ? until - now : NS_PER_S;

		report(f, true);
		nanosleep(&(struct timespec){.tv_sec = (time_t)(left / NS_PER_S), .tv_nsec = (long)(left % NS_PER_S)},
			  NULL);
	}
}

/* Wait longer after each failure. */
static void failed(struct forwarder *f)
{
	uint64_t ns = f->backoff;

	f->backoff = ns * 2 > BACKOFF_MOST_NS ? BACKOFF_MOST_NS : ns * 2;
	back_off(f, ns);
}

/* Log why the hub does not take something, unless that was logged last. */
static void tell(struct forwarder *f, int r)
{
	const char *sentence = r < 0 ? strerror(-r) : hub_sentence(f->hub);

	if (strcmp(f->last, sentence) == 0)
		return;
	log_warning("%s: %s",
		    r == HUB_E_STRANGER			   ? "The hub takes nothing of this host"
		    : r == HUB_E_LATER || r == HUB_E_AGAIN ? "The hub does not take something of this host now"
							   : "The hub cannot be used",
		    sentence);
	snprintf(f->last, sizeof(f->last), "%s", sentence);
	sd_notifyf(0, "STATUS=%s", sentence);
}

/* The hub says hello with another epoch than before: it may have lost something. */
static int new_epoch(struct forwarder *f, const struct hub_hello *hello, bool is_first)
{
	uint64_t again = 0;
	int r = is_first ? 0 : compare_inventories(f->r, f->hub, f->collector, hello->keeps_since, &again);

	if (r != 0)
		return r;
	if (!is_first)
		log_info("The hub has another epoch: it was restored or moved; captures=%llu are sent again",
			 (unsigned long long)again);
	r = own_state_write(f->options->own, hello->epoch);
	if (r < 0)
		log_warning("The state in %s cannot be written: %s", f->options->own, strerror(-r));
	return 0;
}

/* Connect and say hello, if that is due. Return 0, a hub_condition or SENDER_E_ARCHIVE. */
static int greet(struct forwarder *f)
{
	char archive[READER_ARCHIVE_BYTES], epoch[HUB_UUID_BYTES];
	struct hub_hello hello;
	int r;

	if (hub_connected(f->hub) && clock_mono() - f->hello_at < HELLO_NS)
		return 0;
	r = reader_ready(f->r);
	if (r == 0)
		r = reader_archive(f->r, archive);
	if (r != 0) {
		if (r == ARCHIVE_E_NEWER)
			log_warning("The archive was written by a newer version of mprofd: install that one here, too");
		return SENDER_E_ARCHIVE;
	}
	if (!hub_connected(f->hub))
		sender_forget(&f->sender);
	r = hub_hello(f->hub, archive, &hello);
	if (r != 0)
		return r;
	f->hello_at = clock_mono();
	own_state_read(f->options->own, epoch);
	if (strcmp(epoch, hello.epoch) != 0)
		r = new_epoch(f, &hello, !*epoch);
	if (r == 0 && (*f->last || !f->told.connected)) {
		report(f, true);
		log_info("Connected to the hub");
		sd_notify(0, "STATUS=Connected to the hub");
		f->last[0] = '\0';
	}
	if (r != 0)
		f->hello_at = 0;
	return r;
}

static int note_row(void *context, const struct reader_outbox *outbox)
{
	struct forwarder *f = context;
	struct row *row = &f->rows[f->n_rows++];

	*row = (struct row){.outbox = *outbox};
	snprintf(row->kind, sizeof(row->kind), "%s", outbox->kind);
	snprintf(row->reason, sizeof(row->reason), "%s", outbox->reason);
	row->outbox.kind = row->outbox.reason = NULL;
	return 0;
}

static bool is_later(const struct forwarder *f, int64_t id)
{
	for (size_t i = 0; i < f->n_later; i++)
		if (f->later[i] == id)
			return true;
	return false;
}

/* Find the first row that can be sent now; *ROW is NULL if there is none. Return 0 or SENDER_E_ARCHIVE. */
static int next_row(struct forwarder *f, struct row **row)
{
	int r;

	f->n_rows = 0;
	r = reader_ready(f->r);
	if (r == 0)
		r = reader_outbox(f->r, ROWS, note_row, f);
	for (size_t i = 0; i < f->n_rows && r == 0 && !*row; i++)
		if (!is_later(f, f->rows[i].outbox.id))
			*row = &f->rows[i];
	return r == 0 ? 0 : SENDER_E_ARCHIVE;
}

/* There is nothing to send now: wait for a commit, or try again what the hub takes later. */
static void idle(struct forwarder *f)
{
	if (f->n_later) {
		f->n_later = 0;
		failed(f);
		return;
	}
	collector_wait(f->collector, IDLE_MS);
}

/* Act on the failure R to send ROW, or to find one. */
static void act(struct forwarder *f, const struct row *row, int r)
{
	if (r == SENDER_E_ARCHIVE && !row) {
		back_off(f, ARCHIVE_NS);
		return;
	}
	if (r != SENDER_E_ARCHIVE)
		tell(f, r);
	if (row && (r == HUB_E_LATER || r == HUB_E_AGAIN)) {
		f->later[f->n_later++] = row->outbox.id;
		if (f->n_later < ROWS)
			return;
		f->n_later = 0;
	}
	if (r == HUB_E_STRANGER) {
		hub_close(f->hub);
		f->backoff = f->backoff < STRANGER_NS ? STRANGER_NS : f->backoff;
	}
	failed(f);
}

/* Send a row. */
static void step(struct forwarder *f)
{
	struct row *row = NULL;
	int r = greet(f);

	if (r == 0)
		r = next_row(f, &row);
	if (row)
		r = sender_send(&f->sender, row);
	report(f, !row);
	if (r != 0)
		act(f, row, r);
	else if (row)
		f->backoff = BACKOFF_NS;
	else
		idle(f);
}

int forwarder_run(const struct config *config, const struct forwarder_options *options, char *sentence, size_t size)
{
	struct forwarder *f = calloc(1, sizeof(*f));
	int r = f ? forwarder_init(f, config, options, sentence, size) : -ENOMEM;

	if (r == 0) {
		sd_notify(0, "READY=1");
		for (;;)
			step(f);
	}
	if (f)
		forwarder_deinit(f);
	free(f);
	return 1;
}
