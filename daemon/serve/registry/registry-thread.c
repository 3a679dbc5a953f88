/*
 * Ask the hub's database.
 *
 * LOCK guards STATE and HINTED. The batch belongs to the loop while STATE is IDLE, and to the thread
 * otherwise. Between batches the thread waits for the next one and for notices.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "clock.h"
#include "json-whole.h"
#include "postgres.h"
#include "registry-thread.h"
#include "thread.h"

#define ANSWER_MS 2500u
#define HINT_NS	  (250 * NS_PER_MS) /* at most one hint in this time: anybody may send notices */

enum state { IDLE, BUSY, ENDING };

struct registry_thread {
	pthread_t thread;
	bool started;
	pthread_mutex_t lock;
	enum state state;
	bool hinted;
	int begun, done; /* eventfds: a batch was handed over; it is done, or a hint has come */
	struct postgres *postgres;
	uint64_t hint; /* when the last hint was passed on, CLOCK_MONOTONIC ns */
	bool pending;  /* a hint waits until HINT_NS are over */
	struct batch batch;
};

static void raise_fd(int fd)
{
	uint64_t one = 1;

	(void)!write(fd, &one, sizeof(one));
}

static void lower_fd(int fd)
{
	uint64_t n;

	(void)!read(fd, &n, sizeof(n));
}

/* ---- the thread ---- */

static bool has_hash(enum identity_kind kind)
{
	return kind == IDENTITY_TOKEN || kind == IDENTITY_SESSION;
}

/* Return the questions of B as JSON text, which the caller frees; NULL without memory. */
static char *questions_text(const struct batch *b)
{
	json_t *array = json_array();
	char *text;

	for (unsigned i = 0; i < b->n_questions; i++) {
		const struct registry_key *k = &b->questions[i].key;
		char hash[2 * SECRET_HASH + 1] = "";

		if (has_hash(k->kind))
			secret_digits(k->hash, sizeof(k->hash), hash);
		json_add_item(&array, json_pack("[s, s, s]", identity_word(k->kind), k->name, hash));
	}
	text = json_array_size(array) == b->n_questions ? json_whole_text(array, JSON_COMPACT | JSON_ENSURE_ASCII)
							: NULL;
	json_decref(array);
	return text;
}

/* Take ROW of the answer to the questions of B. A row that cannot be is left out, so its question does not hold. */
static void take_row(struct batch *b, const struct postgres_rows *rows, int row)
{
	int64_t number = postgres_number(rows, row, 0), expires = postgres_number(rows, row, 4);
	const char *token = postgres_text(rows, row, 1), *name = postgres_text(rows, row, 2);
	const char *scopes = postgres_text(rows, row, 3);
	struct batch_question *q;

	if (number < 1 || number > b->n_questions || expires < 0)
		return;
	q = &b->questions[number - 1];
	if (has_hash(q->key.kind)) {
		if (!token_id_ok(token) || !token_name_ok(name) || strlen(scopes) >= sizeof(q->scopes) || expires == 0)
			return;
		strcpy(q->token, token);
		strcpy(q->name, name);
		strcpy(q->scopes, scopes);
		q->expires = (uint64_t)expires;
	}
	q->holds = true;
}

static int ask(struct batch *b, struct postgres *p)
{
	CLEANUP(postgres_rows_freep) struct postgres_rows *rows = NULL;
	CLEANUP(freep) char *text = NULL;
	struct postgres_params params = {0};
	int rc;

	if (!b->n_questions)
		return 0;
	text = questions_text(b);
	if (!text)
		return -ENOMEM;
	postgres_add_text(&params, text);
	rc = postgres_call(p, "SELECT number, token, name, scopes, expires FROM fleet.access_check($1::jsonb)", &params,
			   &rows);
	for (int i = 0; rc == 0 && i < postgres_count(rows); i++)
		take_row(b, rows, i);
	return rc;
}

static int change(struct batch_change *c, struct postgres *p)
{
	CLEANUP(postgres_rows_freep) struct postgres_rows *rows = NULL;
	struct postgres_params params = {0};
	int rc;

	postgres_add_bytes(&params, c->hash, sizeof(c->hash));
	if (c->token[0]) {
		postgres_add_text(&params, c->token);
		postgres_add_bytes(&params, c->token_hash, sizeof(c->token_hash));
		postgres_add_number(&params, (int64_t)c->seconds);
		rc = postgres_call(p, "SELECT fleet.begin_session($1::bytea, $2, $3::bytea, $4::bigint)", &params,
				   &rows);
	} else {
		rc = postgres_call(p, "SELECT fleet.end_session($1::bytea)", &params, &rows);
	}
	if (rc != 0)
		return rc;
	c->asked = true;
	c->done = !postgres_is_null(rows, 0, 0);
	c->expires = c->token[0] && postgres_number(rows, 0, 0) > 0 ? (uint64_t)postgres_number(rows, 0, 0) : 0;
	return 0;
}

static int connect_and_listen(struct postgres *p)
{
	int rc;

	if (postgres_connected(p))
		return 0;
	rc = postgres_connect(p);
	return rc == 0 ? postgres_call(p, "LISTEN fleet_access", NULL, NULL) : rc;
}

static int run_once(struct registry_thread *t)
{
	struct batch *b = &t->batch;
	int rc = connect_and_listen(t->postgres);

	b->asked = clock_mono();
	for (unsigned i = 0; rc == 0 && i < b->n_changes; i++)
		if (!b->changes[i].asked)
			rc = change(&b->changes[i], t->postgres);
	return rc == 0 ? ask(b, t->postgres) : rc;
}

static void run_batch(struct registry_thread *t)
{
	struct batch *b = &t->batch;
	bool was_connected = postgres_connected(t->postgres);
	int rc = run_once(t);

	/* The server may have closed the connection since the last batch: that is no failure. All calls may be repeated. */
	if (rc == POSTGRES_E_LOST && was_connected)
		rc = run_once(t);
	b->answered = rc == 0;
	if (rc != 0)
		snprintf(b->sentence, sizeof(b->sentence), "%s",
			 rc > 0 ? postgres_sentence(t->postgres) : strerror(-rc));
}

static void on_notice(void *context, const char *channel, const char *payload)
{
	struct registry_thread *t = context;

	(void)channel;
	(void)payload;
	t->pending = true;
}

/* Pass on a hint that waits. Return the time until it can be passed on, ms; -1: there is none. */
static int hint(struct registry_thread *t)
{
	uint64_t now = clock_mono();

	if (!t->pending)
		return -1;
	if (t->hint && now - t->hint < HINT_NS)
		return (int)((HINT_NS - (now - t->hint)) / NS_PER_MS) + 1;
	t->pending = false;
	t->hint = now;
	pthread_mutex_lock(&t->lock);
	t->hinted = true;
	pthread_mutex_unlock(&t->lock);
	raise_fd(t->done);
	return -1;
}

/* Wait for a batch, and pass on hints meanwhile. Return false if the thread must end. */
static bool wait_for_batch(struct registry_thread *t)
{
	enum state state;

	for (;;) {
		struct pollfd fds[2] = {{.fd = t->begun, .events = POLLIN},
					{.fd = postgres_fd(t->postgres), .events = POLLIN}};

		if (poll(fds, 2, hint(t)) < 0 && errno != EINTR)
			return false;
		if (fds[1].revents && postgres_notified(t->postgres, on_notice, t) != 0)
			t->pending = true; /* a lost connection may have lost notices */
		if (!fds[0].revents)
			continue;
		lower_fd(t->begun);
		pthread_mutex_lock(&t->lock);
		state = t->state;
		pthread_mutex_unlock(&t->lock);
		if (state != IDLE)
			return state == BUSY;
	}
}

static void *registry_thread_run(void *context)
{
	struct registry_thread *t = context;

	pthread_setname_np(pthread_self(), "registry");
	while (wait_for_batch(t)) {
		run_batch(t);
		pthread_mutex_lock(&t->lock);
		t->state = t->state == ENDING ? ENDING : IDLE;
		pthread_mutex_unlock(&t->lock);
		raise_fd(t->done);
	}
	return NULL;
}

/* ---- the loop ---- */

int registry_thread_fd(const struct registry_thread *t)
{
	return t->done;
}

struct batch *registry_thread_batch(struct registry_thread *t)
{
	enum state state;

	pthread_mutex_lock(&t->lock);
	state = t->state;
	pthread_mutex_unlock(&t->lock);
	return state == IDLE ? &t->batch : NULL;
}

static void set_state(struct registry_thread *t, enum state state)
{
	pthread_mutex_lock(&t->lock);
	t->state = state;
	pthread_mutex_unlock(&t->lock);
	raise_fd(t->begun);
}

void registry_thread_begin(struct registry_thread *t)
{
	t->batch.answered = false;
	t->batch.sentence[0] = '\0';
	set_state(t, BUSY);
}

bool registry_thread_take(struct registry_thread *t)
{
	bool hinted;

	lower_fd(t->done);
	pthread_mutex_lock(&t->lock);
	hinted = t->hinted;
	t->hinted = false;
	pthread_mutex_unlock(&t->lock);
	return hinted;
}

int registry_thread_new(struct registry_thread **tp, const char *connection)
{
	CLEANUP(registry_thread_freep) struct registry_thread *t = calloc(1, sizeof(*t));
	int rc;

	if (!t)
		return -ENOMEM;
	pthread_mutex_init(&t->lock, NULL);
	t->begun = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	t->done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (t->begun < 0 || t->done < 0)
		return -errno;
	rc = postgres_new(&t->postgres, connection, "mprofd-http", ANSWER_MS);
	if (rc != 0)
		return rc;
	rc = thread_start(&t->thread, registry_thread_run, t);
	if (rc != 0)
		return rc;
	t->started = true;
	*tp = TAKE_PTR(t);
	return 0;
}

struct registry_thread *registry_thread_free(struct registry_thread *t)
{
	if (!t)
		return NULL;
	if (t->started) {
		set_state(t, ENDING);
		pthread_join(t->thread, NULL);
	}
	postgres_free(t->postgres);
	if (t->begun > 0)
		close(t->begun);
	if (t->done > 0)
		close(t->done);
	pthread_mutex_destroy(&t->lock);
	free(t);
	return NULL;
}
