/*
 * Remember what the hub's database says about credentials.
 *
 * An entry is free, or about one key. It has an answer (CHECKED is when that was asked for), or waits for
 * its first one. The entries whose answer is due are asked for in batches, one at a time. An entry that
 * somebody uses is never taken for another key, so nobody loses a download because others try credentials.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "clock.h"
#include "fleet-registry.h"
#include "log.h"
#include "postgres.h"
#include "registry-thread.h"
#include "timer.h"

#define ENTRIES	  1024u
#define CHANGES	  64u
#define RENEW_NS  NS_PER_S	    /* age of an answer that is asked for again, if the entry is in use */
#define USE_NS	  (10 * NS_PER_S)   /* an entry is in use for this time after it was needed */
#define AGAIN_NS  (300 * NS_PER_MS) /* between a failure and the next batch */
#define FORGET_NS (10 * NS_PER_S)   /* a change that nobody asks about any more */

struct entry {
	bool taken, asking, holds;
	bool failed; /* the last question was not answered; CHECKED is that of the answer before it */
	struct registry_key key;
	uint64_t checked, used; /* CLOCK_MONOTONIC ns; CHECKED 0 = there is no answer yet */
	/* These are of a token or a session that holds. */
	char token[TOKEN_ID_TEXT], name[TOKEN_NAME_MAX];
	struct scopes *scopes; /* a reference */
	uint64_t expires;
};

struct change {
	struct batch_change batch; /* its ticket is 0: the place is free */
	uint64_t since;		   /* CLOCK_MONOTONIC ns */
	bool asking, failed;
};

struct fleet_registry {
	struct registry_thread *thread;
	sd_event_source *io;
	struct timer timer;
	sd_event *event;
	void (*watch)(void *context);
	void *watch_context;
	uint64_t tickets, failed; /* FAILED: when the last batch failed, CLOCK_MONOTONIC ns; 0 = it did not */
	uint64_t hinted;	  /* answers asked for before then are asked for again */
	bool busy;		  /* the thread has a batch */
	struct log_limit log;
	struct entry entries[ENTRIES];
	struct change changes[CHANGES];
};

static uint64_t seconds(void)
{
	return clock_real_seconds();
}

/* ---- entries ---- */

static void entry_clear(struct entry *e)
{
	scopes_unref(e->scopes);
	*e = (struct entry){0};
}

static bool key_same(const struct registry_key *a, const struct registry_key *b)
{
	return a->kind == b->kind && memcmp(a->hash, b->hash, sizeof(a->hash)) == 0 && strcmp(a->name, b->name) == 0;
}

static struct entry *find(struct fleet_registry *r, const struct registry_key *key)
{
	for (size_t i = 0; i < ENTRIES; i++)
		if (r->entries[i].taken && key_same(&r->entries[i].key, key))
			return &r->entries[i];
	return NULL;
}

/* Return whether somebody uses E, which holds, or waits for it. */
static bool in_use(const struct entry *e, uint64_t now)
{
	return e->asking || (now - e->used < USE_NS && (e->holds || !e->checked));
}

/* Return a place for KEY, or NULL: all are in use. */
static struct entry *place(struct fleet_registry *r, const struct registry_key *key, uint64_t now)
{
	struct entry *oldest = NULL;

	for (size_t i = 0; i < ENTRIES; i++) {
		struct entry *e = &r->entries[i];

		if (e->taken && in_use(e, now))
			continue;
		if (!oldest || !e->taken || (oldest->taken && e->used < oldest->used))
			oldest = e;
		if (!e->taken)
			break;
	}
	if (!oldest)
		return NULL;
	entry_clear(oldest);
	oldest->taken = true;
	oldest->key = *key;
	return oldest;
}

/* Return whether E should be asked about. */
static bool is_due(const struct fleet_registry *r, const struct entry *e, uint64_t now)
{
	if (!e->taken || e->asking || now - e->used >= USE_NS)
		return false;
	if (!e->checked)
		return true;
	return e->holds && (now - e->checked >= RENEW_NS || e->checked < r->hinted);
}

/* ---- batches ---- */

static void fill(struct fleet_registry *r, struct batch *b, uint64_t now)
{
	b->n_questions = b->n_changes = 0;
	for (size_t i = 0; i < CHANGES && b->n_changes < BATCH_CHANGES; i++) {
		struct change *c = &r->changes[i];

		if (!c->batch.ticket || c->batch.asked || c->failed)
			continue;
		c->asking = true;
		b->changes[b->n_changes++] = c->batch;
	}
	for (size_t i = 0; i < ENTRIES && b->n_questions < BATCH_QUESTIONS; i++) {
		struct entry *e = &r->entries[i];

		if (!is_due(r, e, now))
			continue;
		e->asking = true;
		b->questions[b->n_questions++] = (struct batch_question){.key = e->key};
	}
}

/* Ask what is due, unless the thread is busy, or the last batch has just failed. */
static void begin(struct fleet_registry *r)
{
	uint64_t now = clock_mono();
	struct batch *b = r->busy ? NULL : registry_thread_batch(r->thread);

	if (!b)
		return;
	if (r->failed && now - r->failed < AGAIN_NS) {
		timer_set(&r->timer, r->failed + AGAIN_NS + NS_PER_MS);
		return;
	}
	fill(r, b, now);
	if (!b->n_questions && !b->n_changes)
		return;
	r->busy = true;
	registry_thread_begin(r->thread);
}

static void on_timer(void *context)
{
	begin(context);
}

/* Take the answer Q, which was asked for at ASKED, for E. */
static void take_answer(struct entry *e, const struct batch_question *q, uint64_t asked)
{
	const char *before = e->scopes ? scopes_text(e->scopes) : "";
	char sentence[256];

	if (asked < e->checked)
		return; /* a session has ended since then */
	e->checked = asked;
	e->failed = false;
	e->holds = q->holds;
	if (q->holds && q->token[0] && (!e->scopes || strcmp(before, q->scopes) != 0)) {
		scopes_unref(e->scopes);
		e->scopes = scopes_parse(q->scopes, sentence, sizeof(sentence));
		/* Rights that this version does not understand are none. */
		e->holds = e->scopes != NULL;
	}
	if (!e->holds)
		e->scopes = scopes_unref(e->scopes);
	memcpy(e->token, q->token, sizeof(e->token));
	memcpy(e->name, q->name, sizeof(e->name));
	e->expires = q->expires;
}

static void take_questions(struct fleet_registry *r, const struct batch *b)
{
	for (unsigned i = 0; i < b->n_questions; i++) {
		struct entry *e = find(r, &b->questions[i].key);

		if (!e)
			continue;
		e->asking = false;
		if (b->answered)
			take_answer(e, &b->questions[i], b->asked);
		else
			e->failed = true;
	}
}

static void take_changes(struct fleet_registry *r, const struct batch *b)
{
	for (unsigned i = 0; i < b->n_changes; i++) {
		for (size_t j = 0; j < CHANGES; j++) {
			struct change *c = &r->changes[j];

			if (c->batch.ticket != b->changes[i].ticket)
				continue;
			c->batch = b->changes[i];
			c->asking = false;
			c->failed = !c->batch.asked;
		}
	}
}

static int on_done(sd_event_source *source, int fd, uint32_t revents, void *context)
{
	struct fleet_registry *r = context;
	bool hint = registry_thread_take(r->thread);
	struct batch *b = registry_thread_batch(r->thread);

	(void)source;
	(void)fd;
	(void)revents;
	if (hint)
		r->hinted = clock_mono();
	if (r->busy && b) {
		r->busy = false;
		r->failed = b->answered ? 0 : clock_mono();
		if (!b->answered)
			log_write_limited(&r->log, LOG_LEVEL_WARNING, NULL,
					  "The fleet's database does not say who may do what: %s", b->sentence);
		take_changes(r, b);
		take_questions(r, b);
		if (r->watch)
			r->watch(r->watch_context);
	}
	begin(r);
	return 0;
}

/* ---- the calls ---- */

/* Return the answer about KEY, and if it is REGISTRY_YES its entry in *EP. */
static enum registry_answer look_up(struct fleet_registry *r, const struct registry_key *key, struct entry **ep)
{
	uint64_t now = clock_mono();
	struct entry *e = find(r, key);

	if (!e)
		e = place(r, key, now);
	if (!e)
		return REGISTRY_AWAY;
	e->used = now;
	*ep = e;
	if (e->checked && now - e->checked < (e->holds ? REGISTRY_BELIEF_NS : RENEW_NS)) {
		begin(r);
		return e->holds && (!e->expires || seconds() < e->expires) ? REGISTRY_YES : REGISTRY_NO;
	}
	if (!e->holds)
		e->checked = 0; /* the answer is asked for anew */
	begin(r);
	if (!e->failed || e->asking)
		return REGISTRY_LATER;
	/* The next one who asks waits for the next batch. */
	e->failed = r->failed && now - r->failed < AGAIN_NS;
	return e->failed ? REGISTRY_AWAY : REGISTRY_LATER;
}

static void set_who(struct identity *who, const struct entry *e)
{
	who->kind = e->key.kind;
	strcpy(who->name, e->name);
	who->scopes = scopes_ref(e->scopes);
	who->expires = e->expires;
	memcpy(who->token, e->token, sizeof(who->token));
	memcpy(who->hash, e->key.hash, sizeof(who->hash));
}

static enum registry_answer identify(struct fleet_registry *r, const struct registry_key *key, struct identity *who)
{
	struct entry *e;
	enum registry_answer answer = look_up(r, key, &e);

	if (answer == REGISTRY_YES)
		set_who(who, e);
	return answer;
}

static enum registry_answer on_token(void *context, const char *text, struct identity *who)
{
	struct registry_key key = {.kind = IDENTITY_TOKEN};

	return token_parse(text, key.name, key.hash) ? identify(context, &key, who) : REGISTRY_NO;
}

static enum registry_answer on_session(void *context, const char *cookie, struct identity *who)
{
	struct registry_key key = {.kind = IDENTITY_SESSION};

	if (strlen(cookie) != SESSION_TEXT - 1 || !secret_hash(cookie, key.hash))
		return REGISTRY_NO;
	return identify(context, &key, who);
}

static struct registry_key key_of(const struct identity *who)
{
	struct registry_key key = {.kind = who->kind};

	if (who->kind == IDENTITY_TOKEN)
		strcpy(key.name, who->token);
	memcpy(key.hash, who->hash, sizeof(key.hash));
	return key;
}

static enum registry_answer on_holds(void *context, const struct identity *who)
{
	struct registry_key key = key_of(who);
	struct entry *e;
	enum registry_answer answer = look_up(context, &key, &e);

	if (answer == REGISTRY_YES && strcmp(scopes_text(e->scopes), scopes_text(who->scopes)) != 0)
		return REGISTRY_NO;
	return answer;
}

static bool is_text(const char *name)
{
	json_t *json = json_string(name);

	json_decref(json);
	return json != NULL;
}

static enum registry_answer on_admits(void *context, enum identity_kind kind, const char *name)
{
	struct registry_key key = {.kind = kind};
	struct entry *e;

	/* A name that is no text, or too long, cannot be revoked, so it is not admitted. */
	if (strlen(name) >= sizeof(key.name) || !*name || !is_text(name))
		return REGISTRY_NO;
	strcpy(key.name, name);
	return look_up(context, &key, &e);
}

/* Return the change with TICKET, or if TICKET is 0 a free place; NULL: there is none. */
static struct change *change_at(struct fleet_registry *r, uint64_t ticket)
{
	uint64_t now = clock_mono();

	for (size_t i = 0; i < CHANGES; i++) {
		struct change *c = &r->changes[i];

		if (!ticket && c->batch.ticket && !c->asking && now - c->since >= FORGET_NS)
			*c = (struct change){0};
		if (c->batch.ticket == ticket)
			return c;
	}
	return NULL;
}

/* Ask for the change B. */
static enum registry_answer change_begin(struct fleet_registry *r, struct registry_change *change,
					 const struct batch_change *b)
{
	struct change *c = change_at(r, 0);

	if (!c)
		return REGISTRY_AWAY;
	*c = (struct change){.batch = *b, .since = clock_mono()};
	c->batch.ticket = change->ticket = ++r->tickets;
	begin(r);
	return REGISTRY_LATER;
}

/* Return the state of CHANGE, which was asked for. *B is what the database returned, if it is REGISTRY_YES. */
static enum registry_answer change_state(struct fleet_registry *r, struct registry_change *change,
					 struct batch_change *b)
{
	struct change *c = change_at(r, change->ticket);

	if (c && !c->failed && !c->batch.asked)
		return REGISTRY_LATER;
	if (!c || c->failed) {
		if (c)
			*c = (struct change){0};
		return REGISTRY_AWAY;
	}
	*b = c->batch;
	*c = (struct change){0};
	return b->done ? REGISTRY_YES : REGISTRY_NO;
}

static enum registry_answer on_begin(void *context, struct registry_change *change, struct identity *who,
				     uint64_t expires)
{
	struct fleet_registry *r = context;
	struct registry_key key = {.kind = IDENTITY_SESSION};
	struct batch_change b = {0};
	enum registry_answer answer;
	struct entry *e;
	uint64_t now = seconds();

	if (!change->ticket) {
		if (!secret_new(SECRET_BYTES, change->cookie) || !secret_hash(change->cookie, b.hash) || expires <= now)
			return REGISTRY_AWAY;
		memcpy(b.token, who->token, sizeof(b.token));
		memcpy(b.token_hash, who->hash, sizeof(b.token_hash));
		b.seconds = expires - now;
		return change_begin(r, change, &b);
	}
	answer = change_state(r, change, &b);
	if (answer != REGISTRY_YES)
		return answer;
	memcpy(key.hash, b.hash, sizeof(key.hash));
	who->kind = IDENTITY_SESSION;
	who->expires = b.expires;
	memcpy(who->hash, b.hash, sizeof(who->hash));
	(void)look_up(r, &key, &e); /* the next request with the cookie comes soon */
	return REGISTRY_YES;
}

static enum registry_answer on_end(void *context, struct registry_change *change, const struct identity *who)
{
	struct registry_key key = key_of(who);
	struct fleet_registry *r = context;
	struct batch_change b = {0};
	enum registry_answer answer;
	struct entry *e;

	if (!change->ticket) {
		memcpy(b.hash, who->hash, sizeof(b.hash));
		return change_begin(r, change, &b);
	}
	answer = change_state(r, change, &b);
	e = answer == REGISTRY_YES ? find(r, &key) : NULL;
	if (e) {
		e->holds = false;
		e->checked = clock_mono();
		e->scopes = scopes_unref(e->scopes);
	}
	return answer;
}

static void on_refresh(void *context)
{
	begin(context);
}

static bool on_connected(void *context)
{
	const struct fleet_registry *r = context;

	return !r->failed;
}

static const struct registry_calls calls = {.token = on_token,
					    .session = on_session,
					    .holds = on_holds,
					    .admits = on_admits,
					    .begin = on_begin,
					    .end = on_end,
					    .refresh = on_refresh,
					    .connected = on_connected};

struct registry fleet_registry(struct fleet_registry *r)
{
	return (struct registry){.calls = &calls, .context = r};
}

void fleet_registry_watch(struct fleet_registry *r, void (*call)(void *context), void *context)
{
	r->watch = call;
	r->watch_context = context;
}

bool fleet_connection_ok(const char *connection, char *sentence, size_t size)
{
	return postgres_connection_ok(connection, sentence, size);
}

int fleet_registry_new(struct fleet_registry **rp, sd_event *event, const char *connection)
{
	CLEANUP(fleet_registry_freep) struct fleet_registry *r = calloc(1, sizeof(*r));
	int rc = r ? registry_thread_new(&r->thread, connection) : -ENOMEM;

	if (rc < 0)
		return rc;
	rc = sd_event_add_io(event, &r->io, registry_thread_fd(r->thread), EPOLLIN, on_done, r);
	if (rc >= 0)
		rc = timer_open(&r->timer, event, 10 * NS_PER_MS, on_timer, r);
	if (rc < 0)
		return rc;
	timer_set_in(&r->timer, 0);
	*rp = TAKE_PTR(r);
	return 0;
}

struct fleet_registry *fleet_registry_free(struct fleet_registry *r)
{
	if (!r)
		return NULL;
	sd_event_source_disable_unref(r->io);
	timer_close(&r->timer);
	registry_thread_free(r->thread);
	for (size_t i = 0; i < ENTRIES; i++)
		entry_clear(&r->entries[i]);
	free(r);
	return NULL;
}
