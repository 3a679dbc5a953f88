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
#include "host-clock.h"
#include "log.h"
#include "own-state.h"
#include "postgres.h"
#include "regular.h"
#include "sender.h"
#include "test-clock.h"

#define BACKOFF_NS	NS_PER_S
#define BACKOFF_MOST_NS (300 * NS_PER_S)
#define STRANGER_NS	(60 * NS_PER_S) /* until a hub is asked again that does not take this host */
#define ARCHIVE_NS	(2 * NS_PER_S)	/* until the archive is looked for again */
#define HELLO_NS	(600 * NS_PER_S)
#define COMPARE_NS	(3600 * NS_PER_S)
#define PIECES_NS	(10 * NS_PER_S) /* how often the number of the hub's packets is written */
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
	struct periods periods; /* of the clocks */
	struct compare compare;
	uint64_t compared_at; /* CLOCK_MONOTONIC ns; 0 = not on this connection */
	uint64_t damaged;     /* rows of the outbox that were damaged at the last comparison */
	/*
	 * Pieces of packets that the hub had at the last comparison, and how many were committed since this
	 * program began then.
	 */
	uint64_t pieces, pieces_base;
	uint64_t pieces_at;	 /* when their number was written, CLOCK_MONOTONIC ns */
	uint64_t pieces_written; /* that number */
	bool has_pieces;
	uint64_t backoff;  /* how long the next failure waits, ns */
	uint64_t hello_at; /* of the last hello, CLOCK_MONOTONIC ns */
	uint64_t report_at;
	struct forwarded told; /* to the collector */
	char last[512];	       /* sentence of the last failure, to log it once */
	struct row rows[ROWS];
	size_t n_rows;
	/* Rows that the hub takes later: all are tried again at LATER_AT, CLOCK_MONOTONIC ns. */
	int64_t later[ROWS];
	size_t n_later;
	uint64_t later_at, later_wait; /* LATER_WAIT: how long the next ones wait, ns */
	char later_state[6];	       /* SQLSTATE of the last of them, to log it once */
};

static void forwarder_deinit(struct forwarder *f)
{
	sender_deinit(&f->sender);
	periods_deinit(&f->periods);
	hub_free(f->hub);
	collector_free(f->collector);
	reader_free(f->r);
	*f = (struct forwarder){0};
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
		    total->bytes != told->bytes || total->refused != told->refused || total->again != told->again;

	f->sender.total.connected = hub_connected(f->hub);
	if (f->report_at && total->connected == told->connected && age < (news ? (is_idle ? 0 : NEWS_NS) : REPORT_NS))
		return;
	f->report_at = now;
	f->told = *total;
	(void)collector_report(f->collector, total);
}

/* Wait until UNTIL, and meanwhile report. */
static void wait_until(void *context, uint64_t until)
{
	struct forwarder *f = context;

	for (uint64_t now = clock_mono(); now < until; now = clock_mono()) {
		uint64_t left = until - now < NS_PER_S ? until - now : NS_PER_S;

		report(f, true);
		clock_sleep(left);
	}
}

/* Return the time in NS, a half more or less: hosts do not come all at once. */
static uint64_t time_in(uint64_t ns)
{
	uint32_t random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
		random = 1u << 31;
	return clock_mono() + ns / 2 + (uint64_t)((double)ns * ((double)random / 4294967296.0));
}

static uint64_t longer(uint64_t ns)
{
	return ns * 2 > BACKOFF_MOST_NS ? BACKOFF_MOST_NS : ns * 2;
}

/* Wait longer after each failure. */
static void failed(struct forwarder *f)
{
	uint64_t ns = f->backoff;

	f->backoff = longer(ns);
	wait_until(f, time_in(ns));
}

/* Log that SUBJECT fails and why, unless that was logged last. */
static void tell(struct forwarder *f, const char *subject, const char *sentence)
{
	if (strcmp(f->last, sentence) == 0)
		return;
	log_warning("%s: %s", subject, sentence);
	snprintf(f->last, sizeof(f->last), "%s", sentence);
	sd_notifyf(0, "STATUS=%s", sentence);
}

/* Log why the hub takes a row later. Sentences of one SQLSTATE differ in the row's numbers. */
static void tell_later(struct forwarder *f)
{
	if (strcmp(f->later_state, hub_state(f->hub)) == 0)
		return;
	log_warning("The hub does not take something of this host now: %s", hub_sentence(f->hub));
	snprintf(f->later_state, sizeof(f->later_state), "%s", hub_state(f->hub));
	sd_notifyf(0, "STATUS=%s", hub_sentence(f->hub));
}

/* Log that the state cannot be written because of R, a -errno. */
static void tell_own(const struct forwarder *f, int r)
{
	if (r < 0)
		log_warning("The state in %s cannot be written: %s", f->options->own, strerror(-r));
}

/* Return the pieces of packets that the hub must have. */
static uint64_t pieces_now(const struct forwarder *f)
{
	return f->pieces + (hub_packet_pieces(f->hub) - f->pieces_base);
}

/* Write the number of pieces that the hub must have, if it has changed. */
static void keep_pieces(struct forwarder *f)
{
	if (!f->has_pieces || pieces_now(f) == f->pieces_written)
		return;
	f->pieces_at = clock_mono();
	f->pieces_written = pieces_now(f);
	tell_own(f, own_state_pieces_write(f->options->own, f->sender.keeps_since, f->pieces_written));
}

/*
 * Return whether the hub has lost packets: it has fewer pieces than it had. Packets are then compared one by one, and
 * else never, as that costs the hub a look at each.
 */
static bool has_lost_packets(const struct forwarder *f, const struct compare_result *result)
{
	char since[HUB_MONTH_BYTES];
	uint64_t had;

	return result->has_sums && own_state_pieces_read(f->options->own, since, &had) &&
	       strcmp(since, f->sender.keeps_since) == 0 && result->pieces < (f->has_pieces ? pieces_now(f) : had);
}

/* Log what a comparison has found, and count it. IS_FIRST: this host has sent nothing before. */
static void tell_again(struct forwarder *f, const struct compare_result *result, bool is_first)
{
	if (!result->captures && !result->streams)
		return;
	if (is_first) {
		log_info("Captures from before this host began to send are sent, too: captures=%llu",
			 (unsigned long long)result->captures);
		return;
	}
	f->sender.total.again += result->captures + result->streams;
	log_warning("The hub lacks what this host holds: captures=%llu are sent again, packets of streams=%llu",
		    (unsigned long long)result->captures, (unsigned long long)result->streams);
}

/*
 * Compare what the host holds with the hub. HAS_CHANGED: the hub has another epoch than before, so it may have lost
 * packets. IS_FIRST: this host knows no epoch. Return 0, a hub_condition or SENDER_E_ARCHIVE.
 */
static int compare(struct forwarder *f, bool has_changed, bool is_first)
{
	struct compare_result result;
	int r = compare_captures(&f->compare, f->r, f->hub, f->collector, f->sender.keeps_since, &result);

	if (r == 0 && !is_first && (has_changed || has_lost_packets(f, &result)))
		r = compare_all_packets(&f->compare, f->r, f->hub, f->collector, &result);
	tell_again(f, &result, is_first);
	if (r != 0)
		return r;
	f->compared_at = clock_mono();
	f->sender.total.compared++;
	f->has_pieces = result.has_sums;
	f->pieces = result.pieces;
	f->pieces_base = hub_packet_pieces(f->hub);
	f->pieces_written = UINT64_MAX; /* write it, also for another keeps_since */
	keep_pieces(f);
	return 0;
}

/* Compare, since the connection is new, the last comparison is long ago, or the hub said hello with another EPOCH. */
static int compare_if_due(struct forwarder *f, const char *epoch)
{
	char before[HUB_UUID_BYTES];
	bool has_changed, is_first, is_damaged;
	uint64_t damaged;
	int r;

	is_first = !own_state_read(f->options->own, before);
	has_changed = strcmp(before, epoch) != 0;
	if (reader_outbox_damaged(f->r, &damaged) != 0)
		return SENDER_E_ARCHIVE;
	is_damaged = damaged != f->damaged;
	if (!has_changed && !is_damaged && f->compared_at && clock_mono() - f->compared_at < COMPARE_NS)
		return 0;
	r = compare(f, has_changed || is_damaged, is_first);
	f->damaged = r == 0 ? damaged : f->damaged;
	if (r != 0 || !has_changed)
		return r;
	if (*before)
		log_info("The hub has another epoch: it was restored or moved");
	else if (!is_first)
		log_warning("The epoch of the hub in %s was damaged: everything was compared with the hub",
			    f->options->own);
	tell_own(f, own_state_write(f->options->own, epoch));
	return 0;
}

/* Connect and say hello, if that is due. Return 0, a hub_condition or SENDER_E_ARCHIVE. */
static int greet(struct forwarder *f)
{
	char archive[READER_ARCHIVE_BYTES], clock[HOST_CLOCK_BYTES];
	struct hub_hello hello;
	int r;

	if (hub_connected(f->hub) && f->hello_at && clock_mono() - f->hello_at < HELLO_NS)
		return periods_send_due(&f->periods, f->r, f->hub);
	r = reader_ready(f->r);
	if (r == 0)
		r = reader_archive(f->r, archive);
	if (r != 0) {
		if (r == ARCHIVE_E_NEWER)
			tell(f, "The archive cannot be used",
			     "it was written by a newer version of mprofd: install that one here, too");
		if (r == ARCHIVE_E_KIND)
			tell(f, "The archive cannot be used", REGULAR_KIND);
		return SENDER_E_ARCHIVE;
	}
	if (!hub_connected(f->hub)) {
		sender_forget(&f->sender);
		f->compared_at = 0;
	}
	(void)host_clock_now(clock);
	r = hub_hello(f->hub, archive, clock, &hello);
	if (r != 0)
		return r;
	f->hello_at = clock_mono();
	memcpy(f->sender.keeps_since, hello.keeps_since, sizeof(f->sender.keeps_since));
	r = periods_send(&f->periods, f->r, f->hub, true);
	if (r == 0)
		r = compare_if_due(f, hello.epoch);
	if (r == 0 && (*f->last || !f->told.connected)) {
		report(f, true);
		log_info("Connected to the hub");
		sd_notify(0, "STATUS=Connected to the hub");
		f->last[0] = f->later_state[0] = '\0';
	}
	if (r != 0)
		f->hello_at = 0; /* compare again */
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

/* Keep ID, of a row in f->rows, as one that the hub takes later. */
static void note_later(struct forwarder *f, int64_t id)
{
	size_t kept = 0;

	/* Forget those that are not in f->rows any more. At most ROWS - 1 are left, as ID is none of them. */
	for (size_t i = 0; i < f->n_later; i++)
		for (size_t j = 0; j < f->n_rows; j++)
			if (f->rows[j].outbox.id == f->later[i])
				f->later[kept++] = f->later[i];
	f->n_later = kept;
	if (f->n_later == 0) {
		f->later_at = time_in(f->later_wait);
		f->later_wait = longer(f->later_wait);
	}
	f->later[f->n_later++] = id;
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
	uint64_t damaged;
	int r;

	if (f->n_later && clock_mono() >= f->later_at)
		f->n_later = 0;
	f->n_rows = 0;
	r = reader_ready(f->r);
	if (r == 0)
		r = reader_outbox(f->r, ROWS, note_row, f);
	if (r == 0)
		r = reader_outbox_damaged(f->r, &damaged);
	if (r == 0 && damaged != f->damaged)
		f->hello_at = 0; /* what the rows named may be lost: compare */
	for (size_t i = 0; i < f->n_rows && r == 0 && !*row; i++)
		if (!is_later(f, f->rows[i].outbox.id))
			*row = &f->rows[i];
	return r == 0 ? 0 : SENDER_E_ARCHIVE;
}

/* Collect in ROWS the captures behind ROW, which is one, that can be sent now. Return their number, with ROW. */
static size_t captures_from(const struct forwarder *f, const struct row *row, const struct row *rows[SENDER_TOGETHER])
{
	size_t n = 0;

	for (const struct row *at = row; at < f->rows + f->n_rows && n < SENDER_TOGETHER; at++)
		if (strcmp(at->kind, "capture") == 0 && !is_later(f, at->outbox.id))
			rows[n++] = at;
	return n;
}

/* Send ROW, and with it other small captures. */
static int send_row(struct forwarder *f, const struct row *row)
{
	const struct row *rows[SENDER_TOGETHER];
	size_t n = strcmp(row->kind, "capture") == 0 ? captures_from(f, row, rows) : 0, sent = 0;
	int r = n > 1 ? sender_send_together(&f->sender, rows, n, &sent) : 0;

	return r != 0 || sent > 0 ? r : sender_send(&f->sender, row);
}

/* There is nothing to send now: wait for a commit, or until what the hub takes later is tried again. */
static void idle(struct forwarder *f)
{
	uint64_t now = clock_mono(), ms = IDLE_MS;

	if (f->n_rows == 0) { /* everything was sent */
		f->n_later = 0;
		f->later_wait = BACKOFF_NS;
		if (*f->later_state)
			sd_notify(0, "STATUS=Connected to the hub");
		f->later_state[0] = '\0';
	} else if (f->later_at < now + ms * NS_PER_MS) {
		ms = f->later_at > now ? (f->later_at - now) / NS_PER_MS + 1 : 0;
	}
	collector_wait(f->collector, (unsigned)ms);
	/* A hub that was stopped, or that has a new epoch, has ended the session: connect at once, and compare. */
	(void)hub_alive(f->hub);
}

/* Act on the failure R to greet, to find a row, or to send ROW. */
static void act(struct forwarder *f, const struct row *row, int r)
{
	bool is_greeted = !hub_connected(f->hub) || f->hello_at;

	if (r == SENDER_E_ARCHIVE && !row && is_greeted) {
		wait_until(f, time_in(ARCHIVE_NS));
		return;
	}
	if (row && (r == HUB_E_LATER || r == HUB_E_AGAIN)) {
		tell_later(f);
		note_later(f, row->outbox.id);
		return;
	}
	if (r == SENDER_E_ARCHIVE && !is_greeted)
		tell(f, "The hub and the archive cannot be compared now", "the archive or mprofd cannot be used");
	else if (r != SENDER_E_ARCHIVE)
		tell(f, r == HUB_E_STRANGER ? "The hub takes nothing of this host" : "The hub cannot be used",
		     r < 0 ? strerror(-r) : hub_sentence(f->hub));
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
	int r;

	f->sender.declared = false;
	r = greet(f);
	if (r == SENDER_E_ARCHIVE) /* a comparison may have met damage */
		(void)sender_tell_damage(&f->sender);
	if (r == 0)
		r = next_row(f, &row);
	if (row)
		r = send_row(f, row);
	report(f, !row);
	if (clock_mono() - f->pieces_at >= PIECES_NS)
		keep_pieces(f);
	if (r == SENDER_E_ARCHIVE && f->sender.declared) /* the next try meets less damage */
		f->backoff = BACKOFF_NS;
	else if (r != 0)
		act(f, row, r);
	else if (row)
		f->backoff = BACKOFF_NS;
	else
		idle(f);
}

static bool config_ok(const struct config *config, char *sentence, size_t size)
{
	char error[256];

	if (!*config->fleet_connection) {
		snprintf(sentence, size, "the configuration names no hub: write connection in the section [fleet]");
		return false;
	}
	if (!postgres_connection_ok(config->fleet_connection, error, sizeof(error))) {
		snprintf(sentence, size, "connection in [fleet] is no connection string of libpq: %s", error);
		return false;
	}
	return true;
}

static int forwarder_init(struct forwarder *f, const struct config *config, const struct forwarder_options *options,
			  char *sentence, size_t size)
{
	*f = (struct forwarder){.options = options, .backoff = BACKOFF_NS, .later_wait = BACKOFF_NS};
	if (mkdir(options->own, 0750) < 0 && errno != EEXIST) {
		snprintf(sentence, size, "%s cannot be made: %s", options->own, strerror(errno));
		return -errno;
	}
	snprintf(sentence, size, "out of memory");
	if (reader_new(&f->r, options->state) < 0 || hub_new(&f->hub, config->fleet_connection) < 0 ||
	    collector_new(&f->collector, options->run) < 0)
		return -ENOMEM;
	f->sender = (struct sender){.r = f->r,
				    .state = options->state,
				    .own = options->own,
				    .hub = f->hub,
				    .collector = f->collector,
				    .wait = wait_until,
				    .context = f,
				    .rate = config->fleet_rate,
				    .periods = &f->periods,
				    .compare = &f->compare};
	f->compare.config = config;
	f->compare.periods = &f->periods;
	return test_clock_start(options->own) == 0 ? sender_init(&f->sender) : -EIO;
}

int forwarder_run(const struct config *config, const struct forwarder_options *options, char *sentence, size_t size)
{
	struct forwarder *f = calloc(1, sizeof(*f));
	bool ok = config_ok(config, sentence, size);
	int r;

	if (!f)
		snprintf(sentence, size, "out of memory");
	r = f && ok ? forwarder_init(f, config, options, sentence, size) : -ENOMEM;
	if (r == 0) {
		sd_notify(0, "READY=1");
		for (;;)
			step(f);
	}
	if (f)
		forwarder_deinit(f);
	free(f);
	return ok ? 1 : 2;
}
