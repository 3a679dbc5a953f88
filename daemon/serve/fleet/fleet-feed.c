/* Follow the changes of the fleet's captures. */
#include "fleet-feed.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "capture-rows.h"
#include "clock.h"
#include "json-whole.h"
#include "log.h"
#include "thread.h"

#define ANSWER_MS     30000u
#define POLL_MS	      5000 /* notices may be lost */
#define RETRY_MS      1000
#define EVENTS_MOST   2048u
#define BYTES_MOST    (16u << 20)
#define CHANGE_COLUMN CAPTURE_COLUMNS_N /* whether the capture is new, changed or dropped */

/* ---- asking ---- */

void feed_batch_init(struct feed_batch *b)
{
	*b = (struct feed_batch){0};
	b->end = &b->oldest;
}

static void free_event(struct feed_event *e)
{
	free(e->data);
	free(e->id);
	free(e);
}

static void free_events(struct feed_event *list)
{
	struct feed_event *e;

	while ((e = list)) {
		list = e->next;
		free_event(e);
	}
}

void feed_batch_deinit(struct feed_batch *b)
{
	free_events(b->oldest);
	free(b->state);
	feed_batch_init(b);
}

bool feed_is_state(const char *text)
{
	size_t epoch = strspn(text, "0123456789abcdef-"), n = strlen(text);

	return n < FEED_ID && epoch == FLEET_UUID - 1 && text[epoch] == '.' &&
	       strspn(text + epoch + 1, "0123456789:,") == n - epoch - 1;
}

/* Return the JSON of the change in ROW; NULL without memory. */
static char *change_text(const struct postgres_rows *rows, int row)
{
	const char *what = strcmp(postgres_text(rows, row, CHANGE_COLUMN), "made") == 0 ? "made" : "changed";
	json_t *json = json_pack("{s:s, s:o}", "change", what, "capture", capture_row_json(rows, row));
	char *text = json_whole_text(json, JSON_COMPACT | JSON_ENSURE_ASCII);

	json_decref(json);
	return text;
}

/* Add the change in ROW to B. BEFORE is the state before it. */
static int add_change(struct feed_batch *b, const struct postgres_rows *rows, int row, const char *before)
{
	bool dropped = strcmp(postgres_text(rows, row, CHANGE_COLUMN), "dropped") == 0;
	struct feed_event *e;

	if (!dropped && postgres_is_null(rows, row, CAPTURE_HOST)) /* it was dropped since */
		return 0;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	*b->end = e;
	b->end = &e->next;
	snprintf(e->host, sizeof(e->host), "%s", postgres_text(rows, row, CAPTURE_HOST));
	snprintf(e->guest, sizeof(e->guest), "%s", postgres_text(rows, row, CAPTURE_GUEST));
	e->id = strdup(before);
	e->data = dropped ? NULL : change_text(rows, row);
	e->bytes = e->data ? strlen(e->data) : 0;
	return e->id && (dropped || e->data) ? 0 : -ENOMEM;
}

/* The last event of a batch leads to the newest state. */
static int close_batch(struct feed_batch *b)
{
	struct feed_event *last = b->oldest;
	char *id;

	while (last && last->next)
		last = last->next;
	if (!last)
		return 0;
	id = strdup(b->state);
	if (!id)
		return -ENOMEM;
	free(last->id);
	last->id = id;
	return 0;
}

/* In a transaction: ask for what is not visible in STATE, of which SNAPSHOT is the part behind the epoch. */
static int ask_changes(struct postgres *p, const char *state, const char *snapshot, struct feed_batch *b)
{
	CLEANUP(postgres_rows_freep) struct postgres_rows *rows = NULL;
	struct postgres_params params = {0};
	int rc;

	postgres_add_text(&params, snapshot);
	postgres_add_number(&params, FEED_MOST + 1);
	rc = postgres_call(
		p,
		"SELECT " CAPTURE_COLUMNS
		", what FROM (SELECT h.what, h.id AS change, c.* FROM fleet.changes h LEFT JOIN "
		"fleet.captures c ON c.host = h.host AND c.month = h.month AND c.archive = h.archive AND c.capture = "
		"h.capture WHERE h.xid >= pg_snapshot_xmin($1::pg_snapshot) AND NOT pg_visible_in_snapshot(h.xid, "
		"$1::pg_snapshot) ORDER BY h.id LIMIT $2::integer) q ORDER BY change",
		&params, &rows);
	b->reset = rc == 0 && postgres_count(rows) > (int)FEED_MOST;
	for (int row = 0; row < postgres_count(rows) && rc == 0 && !b->reset; row++)
		rc = add_change(b, rows, row, state);
	return rc == 0 ? close_batch(b) : rc;
}

static int ask_state(struct postgres *p, const char *state, struct feed_batch *b)
{
	CLEANUP(postgres_rows_freep) struct postgres_rows *rows = NULL;
	struct postgres_params params = {0};
	int rc;

	postgres_add_text(&params, state ? state + FLEET_UUID : NULL);
	rc = postgres_call(
		p,
		"SELECT fleet.epoch()::text || '.' || pg_current_snapshot()::text, pg_snapshot_xmax($1::pg_snapshot) > "
		"pg_snapshot_xmax(pg_current_snapshot())",
		&params, &rows);
	if (rc == 0 && !(b->state = strdup(postgres_text(rows, 0, 0))))
		rc = -ENOMEM;
	b->reset = rc == 0 && postgres_number(rows, 0, 1); /* a state that has not come yet */
	return rc;
}

int feed_ask(struct postgres *p, const char *state, struct feed_batch *b)
{
	int rc = postgres_begin(p);

	if (rc == 0)
		rc = postgres_call(p, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY", NULL, NULL);
	if (rc == 0)
		rc = ask_state(p, state, b);
	if (rc == 0 && state && strncmp(state, b->state, FLEET_UUID) != 0)
		b->reset = true; /* another epoch: the database was restored */
	else if (rc == 0 && state && !b->reset)
		rc = ask_changes(p, state, state + FLEET_UUID, b);
	/* A state that no server of this hub made, such as 9:1: */
	if (rc == POSTGRES_E_REFUSED && strcmp(postgres_state(p), "22P02") == 0) {
		postgres_rollback(p);
		rc = b->state ? 0 : ask_state(p, NULL, b);
		b->reset = true;
		return rc;
	}
	postgres_rollback(p);
	return rc;
}

/* ---- the thread ---- */

struct feed {
	pthread_t thread;
	bool started;
	struct postgres *postgres; /* the thread's */
	void (*on_news)(void *context);
	void *context;
	sd_event_source *source;
	int news, stop; /* eventfds */
	pthread_mutex_t lock;
	struct feed_event *coming, **coming_end; /* guarded by LOCK, with the next two */
	char *coming_state;
	bool connected;
	struct log_limit log;
	/* The loop's thread. */
	struct feed_event *oldest, **end;
	uint64_t serial, events, bytes;
	char *state;
	bool ready;
};

static void say(struct feed *f)
{
	const uint64_t one = 1;
	ssize_t n = write(f->news, &one, sizeof(one));

	(void)n;
}

/* Hand B to the loop's thread. */
static void pass_on(struct feed *f, struct feed_batch *b)
{
	pthread_mutex_lock(&f->lock);
	if (b->oldest) {
		*f->coming_end = b->oldest;
		f->coming_end = b->end;
	}
	b->oldest = NULL;
	free(f->coming_state);
	f->coming_state = b->state ? strdup(b->state) : NULL;
	f->connected = true;
	pthread_mutex_unlock(&f->lock);
	say(f);
}

static void on_notice(void *context, const char *channel, const char *payload)
{
	(void)channel;
	(void)payload;
	*(bool *)context = true;
}

/* Wait for a notice, for POLL_MS, or until the feed ends. */
static int wait_for_notice(struct feed *f)
{
	bool noticed = false;
	struct pollfd fds[2] = {{.fd = f->stop, .events = POLLIN}, {.events = POLLIN}};
	int rc = postgres_notified(f->postgres, on_notice, &noticed);

	if (rc != 0 || noticed)
		return rc;
	fds[1].fd = postgres_fd(f->postgres);
	if (poll(fds, 2, POLL_MS) > 0 && fds[1].revents)
		rc = postgres_notified(f->postgres, on_notice, &noticed);
	return rc;
}

/* Make an event that says that everything must be read again. */
static int add_reset(struct feed_batch *b)
{
	struct feed_event *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	free_events(b->oldest);
	b->oldest = e;
	b->end = &e->next;
	e->id = strdup(b->state);
	return e->id ? 0 : -ENOMEM;
}

/* Ask for what is new since *STATE, pass it on, and wait. */
static int follow(struct feed *f, char **state)
{
	CLEANUP(feed_batch_deinit) struct feed_batch b;
	char *next;
	int rc = 0;

	feed_batch_init(&b);
	if (!postgres_connected(f->postgres)) {
		rc = postgres_connect(f->postgres);
		if (rc == 0)
			rc = postgres_call(f->postgres, "LISTEN fleet", NULL, NULL);
	}
	if (rc == 0)
		rc = feed_ask(f->postgres, *state, &b);
	if (rc == 0 && b.reset)
		rc = add_reset(&b);
	if (rc == 0 && !(next = strdup(b.state)))
		rc = -ENOMEM;
	if (rc != 0)
		return rc;
	free(*state);
	*state = next;
	pass_on(f, &b);
	return wait_for_notice(f);
}

static bool is_ending(struct feed *f, int ms)
{
	struct pollfd fd = {.fd = f->stop, .events = POLLIN};

	return poll(&fd, 1, ms) > 0;
}

static void *feed_run(void *context)
{
	struct feed *f = context;
	char *state = NULL;
	int rc;

	pthread_setname_np(pthread_self(), "fleet-feed");
	while (!is_ending(f, 0)) {
		rc = follow(f, &state);
		if (rc == 0)
			continue;
		log_write_limited(&f->log, LOG_LEVEL_WARNING, NULL, "Events of the fleet cannot be read: %s",
				  rc > 0 ? postgres_sentence(f->postgres) : strerror(-rc));
		postgres_close(f->postgres);
		pthread_mutex_lock(&f->lock);
		f->connected = false;
		pthread_mutex_unlock(&f->lock);
		say(f);
		if (is_ending(f, RETRY_MS))
			break;
	}
	free(state);
	return NULL;
}

/* ---- the loop's thread ---- */

static void drop_oldest(struct feed *f)
{
	struct feed_event *e = f->oldest;

	f->oldest = e->next;
	if (!f->oldest)
		f->end = &f->oldest;
	f->events--;
	f->bytes -= e->bytes;
	free_event(e);
}

static int on_coming(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct feed *f = context;
	struct feed_event *list, *e;
	uint64_t n;
	ssize_t got = read(fd, &n, sizeof(n));

	(void)got;
	(void)source;
	(void)events;
	pthread_mutex_lock(&f->lock);
	list = f->coming;
	f->coming = NULL;
	f->coming_end = &f->coming;
	if (f->coming_state) {
		free(f->state);
		f->state = f->coming_state;
		f->coming_state = NULL;
	}
	f->ready = f->connected;
	pthread_mutex_unlock(&f->lock);
	while ((e = list)) {
		list = e->next;
		e->next = NULL;
		e->serial = ++f->serial;
		*f->end = e;
		f->end = &e->next;
		f->events++;
		f->bytes += e->bytes;
	}
	while (f->events > EVENTS_MOST || f->bytes > BYTES_MOST)
		drop_oldest(f);
	f->on_news(f->context);
	return 0;
}

bool feed_ready(const struct feed *f)
{
	return f->ready && f->state;
}

const char *feed_state(const struct feed *f)
{
	return f->state ? f->state : "";
}

uint64_t feed_newest(const struct feed *f)
{
	return f->serial;
}

const struct feed_event *feed_next(const struct feed *f, uint64_t serial, bool *lost)
{
	const struct feed_event *e = f->oldest;

	*lost = serial < f->serial - f->events;
	while (e && e->serial <= serial)
		e = e->next;
	return *lost ? NULL : e;
}

int feed_new(struct feed **fp, sd_event *event, const char *connection, void (*on_news)(void *context), void *context)
{
	CLEANUP(feed_freep) struct feed *f = calloc(1, sizeof(*f));
	int rc;

	if (!f)
		return -ENOMEM;
	f->on_news = on_news;
	f->context = context;
	f->end = &f->oldest;
	f->coming_end = &f->coming;
	pthread_mutex_init(&f->lock, NULL);
	f->news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	f->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (f->news < 0 || f->stop < 0)
		return -errno;
	rc = postgres_new(&f->postgres, connection, "mprofd-http events", ANSWER_MS);
	if (rc == 0)
		rc = sd_event_add_io(event, &f->source, f->news, EPOLLIN, on_coming, f);
	if (rc < 0)
		return rc;
	rc = thread_start(&f->thread, feed_run, f);
	f->started = rc == 0;
	if (rc == 0)
		*fp = TAKE_PTR(f);
	return rc;
}

struct feed *feed_free(struct feed *f)
{
	const uint64_t one = 1;

	if (!f)
		return NULL;
	if (f->started) {
		ssize_t n = write(f->stop, &one, sizeof(one));

		(void)n;
		pthread_join(f->thread, NULL);
	}
	sd_event_source_disable_unref(f->source);
	postgres_free(f->postgres);
	free_events(f->oldest);
	free_events(f->coming);
	free(f->coming_state);
	free(f->state);
	if (f->news >= 0)
		close(f->news);
	if (f->stop >= 0)
		close(f->stop);
	pthread_mutex_destroy(&f->lock);
	free(f);
	return NULL;
}
