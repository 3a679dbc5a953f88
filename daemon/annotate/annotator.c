/*
 * The hub keeps the queue. It hands a capture out for a time; what is neither stored nor given back until
 * then is handed out again, so an annotator may be killed at any time, and any number may run.
 */
#include "annotator.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "clock.h"
#include "hub-input.h"
#include "log.h"

#define ANSWER_MS     60000u
#define IDLE_MS	      10000 /* between questions for new captures, if no notification comes */
#define BACKOFF_S     1u
#define BACKOFF_MAX_S 60u
#define LEASE_S	      120u /* beside the reader's own time: the copy of the capture */
#define PAUSE_S	      60u

struct annotator {
	const struct annotator_options *options;
	struct postgres *p;
	unsigned backoff; /* s */
	bool told;	  /* a failure to connect was logged */
	uint64_t read, failed;
	struct log_limit limit;
};

/* A capture that was handed out; strings are owned by ROWS. */
struct taken {
	struct postgres_rows *rows;
	struct capture_key key;
};

static const char *condition_text(const struct annotator *a, int r)
{
	return r < 0 ? strerror(-r) : postgres_sentence(a->p);
}

static void pause_after(struct annotator *a, const char *subject, const char *sentence)
{
	if (!a->told) {
		log_warning("%s: %s", subject, sentence);
		sd_notifyf(0, "STATUS=%s", sentence);
	}
	a->told = true;
	clock_sleep(a->backoff * NS_PER_S);
	a->backoff = a->backoff * 2 < BACKOFF_MAX_S ? a->backoff * 2 : BACKOFF_MAX_S;
}

/* Connect, listen, and have what other versions failed to read handed out again. */
static int greet(struct annotator *a)
{
	struct postgres_params params = {0};
	struct postgres_rows *rows = NULL;
	int64_t again;
	int r;

	if (postgres_connected(a->p))
		return 0;
	r = postgres_connect(a->p);
	if (r == 0)
		r = postgres_call(a->p, "LISTEN fleet", NULL, NULL);
	postgres_add_text(&params, VERSION);
	if (r == 0)
		r = postgres_call(a->p, "SELECT fleet.annotation_retry($1)", &params, &rows);
	again = postgres_number(rows, 0, 0);
	postgres_rows_free(rows);
	if (r != 0)
		return r;
	log_info("Connected to the hub: captures=%" PRId64 " that another version could not read are read again",
		 again);
	sd_notify(0, "STATUS=Connected to the hub");
	a->told = false;
	a->backoff = BACKOFF_S;
	return 0;
}

static int take(struct annotator *a, struct taken *t)
{
	static const char sql[] = "SELECT host, month::text, archive::text, capture "
				  "FROM fleet.annotation_take($1, make_interval(secs => $2::integer))";
	struct postgres_params params = {0};
	int r;

	postgres_add_text(&params, VERSION);
	postgres_add_number(&params, LEASE_S + (int64_t)a->options->limits.wall_seconds);
	r = postgres_call(a->p, sql, &params, &t->rows);
	if (r == 0 && postgres_count(t->rows))
		t->key = (struct capture_key){postgres_text(t->rows, 0, 0), postgres_text(t->rows, 0, 1),
					      postgres_text(t->rows, 0, 2), postgres_number(t->rows, 0, 3)};
	return r;
}

/*
 * Give T back: its capture was not read, for a reason of this process. A hub that cannot be asked hands it out
 * again by itself.
 */
static void give_back(struct annotator *a, const struct taken *t)
{
	struct postgres_params params = {0};

	if (!postgres_connected(a->p) && postgres_connect(a->p) != 0)
		return;
	capture_key_add(&t->key, &params);
	postgres_add_number(&params, PAUSE_S);
	(void)postgres_call(a->p,
			    "SELECT fleet.annotation_return($1, $2::date, $3::uuid, $4::bigint, "
			    "make_interval(secs => $5::integer))",
			    &params, NULL);
}

static const char *or_null(const char *text)
{
	return *text ? text : NULL;
}

/* Add N as a number if RESULT knows the damage; else NULL. TEXT has room for the digits. */
static void add_damage(struct postgres_params *params, const struct reading_result *result, uint64_t n, char text[24])
{
	snprintf(text, 24, "%" PRIu64, n);
	postgres_add_text(params, result->damage_known ? text : NULL);
}

/* Store RESULT of T. */
static int store(struct annotator *a, const struct taken *t, const struct reading_result *result)
{
	struct postgres_params params = {0};
	struct postgres_rows *rows = NULL;
	char numbers[3][24];
	int r;

	capture_key_add(&t->key, &params);
	postgres_add_text(&params, or_null(result->cause));
	postgres_add_text(&params, or_null(result->sentence));
	postgres_add_text(&params, or_null(result->last));
	postgres_add_text(&params, or_null(result->failure));
	add_damage(&params, result, result->damages, numbers[0]);
	add_damage(&params, result, result->skipped, numbers[1]);
	add_damage(&params, result, result->unproven, numbers[2]);
	r = postgres_call(a->p,
			  "SELECT fleet.annotation_done($1, $2::date, $3::uuid, $4::bigint, $5, $6, $7, $8, "
			  "$9::bigint, $10::bigint, $11::bigint)",
			  &params, &rows);
	if (r == 0 && postgres_number(rows, 0, 0)) {
		a->read += !*result->failure;
		a->failed += *result->failure != '\0';
		if (*result->failure)
			log_write_limited(&a->limit, LOG_LEVEL_WARNING, NULL,
					  "A capture cannot be read, and is left alone: %s: host=%s capture=%" PRId64,
					  result->failure, t->key.host, t->key.capture);
		sd_notifyf(0, "STATUS=%" PRIu64 " captures read, %" PRIu64 " that cannot be read", a->read, a->failed);
	}
	postgres_rows_free(rows);
	return r;
}

/*
 * Have the capture of T read, and store the result. Return 0; or what keeps this process from its work, with a
 * sentence.
 */
static int process(struct annotator *a, const struct taken *t, char *sentence, size_t size)
{
	struct reading_result result = {0};
	int fd = -1, r;

	r = input_make(a->p, &t->key, a->options->work, a->options->most, &fd, sentence, size);
	if (r == COPY_E_REFUSED)
		snprintf(result.failure, sizeof(result.failure), "%.250s", sentence);
	if (r == 0) {
		r = reader_process_run(fd, &a->options->limits, &result);
		if (r < 0)
			snprintf(sentence, size, "a reader cannot be begun: %s", strerror(-r));
		close(fd);
	}
	if (r != 0 && r != COPY_E_REFUSED) {
		give_back(a, t);
		return r == COPY_E_ABSENT ? 0 : r; /* retention was faster */
	}
	r = store(a, t, &result);
	if (r != 0) {
		snprintf(sentence, size, "%s", condition_text(a, r));
		give_back(a, t);
	}
	return r;
}

static void on_notice(void *context, const char *channel, const char *payload)
{
	(void)context;
	(void)channel;
	(void)payload;
}

/* Nothing is to be read: wait for a notification, which is only a hint. */
static void idle(struct annotator *a)
{
	struct pollfd p = {.fd = postgres_fd(a->p), .events = POLLIN};

	if (poll(&p, 1, IDLE_MS) > 0)
		(void)postgres_notified(a->p, on_notice, NULL);
}

static void step(struct annotator *a)
{
	struct taken t = {0};
	char sentence[512] = "";
	int r = greet(a);

	if (r == 0)
		r = take(a, &t);
	if (r != 0) {
		pause_after(a, "The hub cannot be used", condition_text(a, r));
		postgres_close(a->p);
	} else if (!t.key.host) {
		idle(a);
	} else if (process(a, &t, sentence, sizeof(sentence)) != 0) {
		pause_after(a, "A capture cannot be read now", sentence);
	} else {
		a->told = false;
		a->backoff = BACKOFF_S;
	}
	postgres_rows_free(t.rows);
}

int annotator_run(const struct annotator_options *options, char *sentence, size_t size)
{
	struct annotator a = {.options = options, .backoff = BACKOFF_S};
	char error[256];

	if (!postgres_connection_ok(options->connection, error, sizeof(error))) {
		snprintf(sentence, size, "--fleet is no connection string of libpq: %s", error);
		return 2;
	}
	if (access(options->work, W_OK | X_OK) < 0) {
		snprintf(sentence, size, "--work %s cannot be used: %s", options->work, strerror(errno));
		return 2;
	}
	if (postgres_new(&a.p, options->connection, "mprof-annotate", ANSWER_MS) < 0) {
		snprintf(sentence, size, "out of memory");
		return 1;
	}
	sd_notify(0, "READY=1");
	for (;;)
		step(&a);
}
