/*
 * /v1/events of a hub: the events of the feed, as server-sent events.
 *
 * A client without an id begins at the feed's newest state. A client with the id of a state, which any server of
 * this hub may have sent, first gets what is new since that state, which a worker asks for, and then follows the feed
 * from where it was when the worker began: it misses nothing, and may get something twice.
 */
#include "hub-events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "clock.h"
#include "fleet-feed.h"
#include "fleet.h"
#include "http-server.h"
#include "hub-routes.h"
#include "question.h"

#define CLIENTS_MOST 128u
/* After this time without an event a comment is sent, because proxies and clients end silent connections. */
#define COMMENT_NS (15 * NS_PER_S)
#define STALLED_NS (30 * NS_PER_S) /* a client that reads nothing for this time is disconnected */
#define RETRY	   "retry: 2000\n\n"

/* The changes since the state that a client knows. */
struct catch_up {
	struct job job;
	char *state;
	struct feed_batch batch;
	struct events *events; /* that wait; NULL: none */
};

/* The body of a hub; that of a host is another struct of this name (api/events.c). */
struct events {
	struct exchange *exchange;
	struct fleet *fleet;
	struct catch_up *catch_up; /* until it was sent; NULL = none */
	bool greeted, resets;	   /* RESETS: it is greeted with reset, not with hello */
	uint64_t serial;	   /* of the last event that it got, or that is hidden from it */
	bool more;		   /* other clients have their turn before E looks at more events */
	bool comment;		   /* a comment is due */
	char *text;		   /* owned */
	size_t at, bytes;
	uint64_t sent_at;
};

void hub_events_tick(struct events *e)
{
	e->comment = clock_mono() - e->sent_at >= COMMENT_NS;
	if (e->exchange->wait == WAIT_EVENT)
		exchange_resume(e->exchange);
	else if (clock_mono() - e->sent_at > STALLED_NS)
		client_end(e->exchange->client);
}

/* ---- catching up ---- */

/* In a worker. */
static int run_catch_up(struct job *job, struct postgres *p)
{
	struct catch_up *c = (struct catch_up *)job;

	feed_batch_deinit(&c->batch);
	return feed_ask(p, c->state, &c->batch);
}

static void free_catch_up(struct job *job)
{
	struct catch_up *c = (struct catch_up *)job;

	feed_batch_deinit(&c->batch);
	free(c->state);
	free(c);
}

static void on_caught_up(struct job *job)
{
	struct catch_up *c = (struct catch_up *)job;

	if (c->events->exchange && c->events->exchange->wait == WAIT_EVENT)
		exchange_resume(c->events->exchange);
}

/* Ask what is new since STATE. Return false if that is not possible now. */
static bool begin_catch_up(struct events *e, const char *state)
{
	struct catch_up *c = calloc(1, sizeof(*c));

	if (!c || !(c->state = strdup(state))) {
		free(c);
		return false;
	}
	feed_batch_init(&c->batch);
	c->job = (struct job){.run = run_catch_up, .free = free_catch_up, .done = on_caught_up};
	c->events = e;
	e->serial = feed_newest(e->fleet->feed);
	if (!workers_run(e->fleet->workers, &c->job)) {
		free_catch_up(&c->job);
		return false;
	}
	e->catch_up = c;
	return true;
}

static void drop_catch_up(struct events *e)
{
	if (e->catch_up)
		workers_abandon(e->fleet->workers, &e->catch_up->job);
	e->catch_up = NULL;
}

/* ---- texts ---- */

static bool sees(const struct events *e, const struct feed_event *event)
{
	const struct exchange *x = e->exchange;

	return !event->data || fleet_allows(x->sees ? x->who.scopes : NULL, SCOPE_READ, event->host, event->guest);
}

static void set_text(struct events *e, const char *name, const char *id, const char *data)
{
	free(e->text);
	e->at = 0;
	if (asprintf(&e->text, "id: %s\nevent: %s\ndata: %s\n\n", id, name, data) < 0)
		e->text = NULL;
	e->bytes = e->text ? strlen(e->text) : 0;
}

static void greet(struct events *e, const char *name)
{
	drop_catch_up(e);
	e->serial = feed_newest(e->fleet->feed);
	e->greeted = true;
	set_text(e, name, feed_state(e->fleet->feed), "{}");
}

/* Take the next event of what is new, or see that there is none any more. */
static void next_caught_up(struct events *e)
{
	struct catch_up *c = e->catch_up;
	struct feed_event *event;

	if (!c->job.is_done)
		return;
	if (c->job.rc != 0 || c->batch.reset) {
		greet(e, "reset");
		return;
	}
	e->greeted = true;
	while ((event = c->batch.oldest) && !e->bytes) {
		c->batch.oldest = event->next;
		if (!event->data)
			greet(e, "reset"); /* frees C */
		else if (sees(e, event))
			set_text(e, "capture", event->id, event->data);
		free(event->data);
		free(event->id);
		free(event);
		if (!e->catch_up)
			return;
	}
	if (!event)
		drop_catch_up(e);
}

/* Take the next event of the feed that E's client sees. */
static void next_event(struct events *e)
{
	uint64_t until = clock_mono() + EXCHANGE_STEP_NS;
	const struct feed_event *event;
	bool lost = false;

	while (!e->bytes && !e->more && (event = feed_next(e->fleet->feed, e->serial, &lost))) {
		e->serial = event->serial;
		if (!event->data)
			greet(e, "reset");
		else if (sees(e, event))
			set_text(e, "capture", event->id, event->data);
		e->more = !e->bytes && clock_mono() > until;
	}
	if (lost)
		greet(e, "reset");
}

/* Set TEXT to what E gets next. Return false if there is nothing to send now. */
static bool next(struct events *e)
{
	e->at = e->bytes = 0;
	e->more = false;
	if (e->catch_up)
		next_caught_up(e);
	if (!e->bytes && !e->catch_up && !e->greeted && feed_state(e->fleet->feed)[0])
		greet(e, e->resets ? "reset" : "hello");
	if (!e->bytes && !e->catch_up && e->greeted)
		next_event(e);
	if (!e->bytes && !e->more && e->comment) {
		free(e->text);
		e->text = strdup(":\n\n");
		e->bytes = e->text ? 3 : 0;
		e->at = 0;
	}
	return e->bytes > 0;
}

/* ---- the body ---- */

static ssize_t on_events(void *context, uint64_t position, char *out, size_t max)
{
	struct events *e = context;
	size_t n;

	(void)position;
	if (!e->exchange || exchange_must_end(e->exchange))
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (e->at == e->bytes && !next(e)) {
		exchange_suspend(e->exchange, e->more ? WAIT_AGAIN : WAIT_EVENT);
		return 0;
	}
	n = e->bytes - e->at < max ? e->bytes - e->at : max;
	memcpy(out, e->text + e->at, n);
	e->at += n;
	e->sent_at = clock_mono();
	e->comment = false;
	return (ssize_t)n;
}

static void on_events_free(void *context)
{
	struct events *e = context;

	if (e->exchange) {
		e->exchange->events = NULL;
		e->exchange->back = NULL;
	}
	drop_catch_up(e);
	free(e->text);
	free(e);
}

enum outcome hub_get_events(struct exchange *x)
{
	const char *id = exchange_header(x, "Last-Event-ID");
	struct fleet *fleet = exchange_services(x)->fleet;
	struct MHD_Response *response;
	struct events *e;

	if (!feed_ready(fleet->feed))
		return exchange_problem(
			x, MHD_HTTP_SERVICE_UNAVAILABLE,
			"The fleet's database does not answer; the server tries again by itself, so try "
			"later.");
	if (http_counts(x->http).events >= CLIENTS_MOST)
		return exchange_problem(
			x, MHD_HTTP_SERVICE_UNAVAILABLE,
			"%u clients already read events. Close a page of the viewer, or try again later.",
			CLIENTS_MOST);
	e = calloc(1, sizeof(*e));
	if (!e || !(e->text = strdup(RETRY))) {
		free(e);
		return exchange_reader_problem(x, -ENOMEM, "");
	}
	e->exchange = x;
	e->fleet = fleet;
	e->bytes = strlen(RETRY);
	e->sent_at = clock_mono();
	response = exchange_stream(x, EXCHANGE_BLOCK, on_events, e, on_events_free);
	if (!response) {
		free(e->text);
		free(e);
		return exchange_reader_problem(x, -ENOMEM, "");
	}
	if (id && *id && (!feed_is_state(id) || !begin_catch_up(e, id)))
		e->resets = true;
	x->events = e;
	x->back = &e->exchange;
	exchange_add_header(x, response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/event-stream");
	exchange_add_header(x, response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	return exchange_respond(x, MHD_HTTP_OK, response);
}
