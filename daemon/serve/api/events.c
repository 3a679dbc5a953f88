/*
 * /v1/events: events of the watch, as server-sent events.
 *
 * A body has a number of the journal and the one event that is being sent, so a slow client costs
 * no more than a fast one. A client gets `reset` (read everything again) if its next event is not
 * in the journal any more, or if its number is of an earlier server process. A client that reads
 * nothing at all is disconnected.
 *
 * A client that may not read all guests gets the parts of events about those that it may read. Other
 * guests do not exist for it, except that the numbers of events count theirs: a lost event of theirs
 * causes no `reset`, and the time of a comment does not depend on them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client.h"
#include "clock.h"
#include "events.h"
#include "http-server.h"
#include "routes.h"
#include "row-json.h"
#include "watch.h"

/*
 * After this time without an event a comment is sent, because proxies and clients end silent
 * connections.
 */
#define COMMENT_NS (15 * NS_PER_S)
#define STALLED_NS (30 * NS_PER_S) /* a client that reads nothing for this time is disconnected */
#define RETRY	   "retry: 2000\n\n"

struct events {
	struct exchange *exchange;
	struct watch *watch;
	bool greeted;	   /* it has got `hello` or `reset`, or has resumed */
	bool resumes;	   /* it sent a Last-Event-ID */
	uint64_t restarts; /* journal_restarts() when it was greeted */
	uint64_t serial;   /* number of the last event that it got, or that is hidden from it */
	bool more;	   /* other clients have their turn before E looks at more events */
	bool comment;	   /* a comment is due. Only the tick says so: hidden events also wake E */
	struct event *event;
	char *shown;   /* what the client sees of an event of the journal; NULL = all */
	char own[128]; /* text that is no event of the journal */
	const char *text;
	size_t left; /* bytes of TEXT that are not sent yet */
	uint64_t sent_at;
};

void events_tick(struct events *e)
{
	watch_want(e->watch);
	e->comment = clock_mono() - e->sent_at >= COMMENT_NS;
	if (e->exchange->wait == WAIT_EVENT) {
		exchange_resume(e->exchange);
	} else if (clock_mono() - e->sent_at > STALLED_NS) {
		client_end(e->exchange->client);
	}
}

/* Send the event NAME. Its id is the newest number of the journal: E gets all later events. */
static void greet(struct events *e, const char *name)
{
	struct journal *j = watch_journal(e->watch);
	char id[JOURNAL_ID];
	int len;

	e->serial = journal_newest(j);
	e->restarts = journal_restarts(j);
	e->greeted = true;
	journal_id(j, e->serial, id);
	len = snprintf(e->own, sizeof(e->own), "id: %s\nevent: %s\ndata: {}\n\n", id, name);
	e->text = e->own;
	e->left = (size_t)len;
}

/* Return whether the client of the exchange CONTEXT may read the guest NAME. */
static bool sees(const void *context, const char *name)
{
	const struct exchange *x = context;

	return scopes_allow(x->who.scopes, SCOPE_READ, name);
}

/* Return the view of the guests that E's client may read. */
static struct view view_of(const struct events *e)
{
	return (struct view){.sees = e->exchange->sees ? sees : NULL, .context = e->exchange};
}

/* Show the guest of EVENT as VIEW shows it. Return what the reader returns. */
static int show_guest(struct events *e, const struct event *event, struct view view)
{
	CLEANUP(json_unrefp) json_t *guest = NULL;
	int rc = watch_guest(e->watch, event->run, view, &guest);

	if (rc == 0 && !(e->shown = event_with(event, guest, &e->left)))
		rc = -ENOMEM;
	return rc == ARCHIVE_E_ABSENT ? 0 : rc;
}

/*
 * Set TEXT to what E's client sees of EVENT; LEFT stays 0 if that is nothing. Return 0, or what the
 * reader returns.
 */
static int show(struct events *e, struct event *event)
{
	struct view view = view_of(e);
	enum event_form form = event_form(event, view);
	int rc = 0;

	if (form == EVENT_WHOLE) {
		e->event = event_ref(event);
		e->text = event->text;
		e->left = event->bytes;
		return 0;
	}
	if (form == EVENT_GUEST)
		rc = show_guest(e, event, view);
	else if (form == EVENT_PARTS && !(e->shown = event_parts(event, view, &e->left)))
		rc = -ENOMEM;
	e->text = e->shown;
	if (rc != 0)
		e->left = 0;
	return rc;
}

/* Set TEXT to the next event that E's client sees, or to `reset` if one was lost. */
static void next_event(struct events *e)
{
	struct journal *j = watch_journal(e->watch);
	uint64_t until = clock_mono() + EXCHANGE_STEP_NS;
	bool lost = false;
	int rc = 0;

	while (!e->left && rc == 0 && !e->more) {
		CLEANUP(event_unrefp) struct event *event = journal_next(j, e->serial, view_of(e), &lost);

		if (!event)
			break;
		e->serial = event->serial;
		rc = show(e, event);
		e->more = !e->left && clock_mono() > until;
	}
	if (lost || rc != 0)
		greet(e, "reset");
}

static void drop_text(struct events *e)
{
	e->event = event_unref(e->event);
	free(e->shown);
	e->shown = NULL;
	e->more = false;
}

/* Set TEXT to what E gets next. Return false if there is nothing to send now. */
static bool next(struct events *e)
{
	drop_text(e);
	if (watch_ready(e->watch) && !e->greeted)
		greet(e, e->resumes ? "reset" : "hello");
	else if (watch_ready(e->watch) && e->restarts != journal_restarts(watch_journal(e->watch)))
		greet(e, "reset");
	else if (watch_ready(e->watch))
		next_event(e);
	if (!e->left && !e->more && e->comment) {
		e->text = ":\n\n";
		e->left = 3;
	}
	return e->left > 0;
}

static ssize_t on_events(void *context, uint64_t position, char *out, size_t max)
{
	struct events *e = context;
	size_t n;

	(void)position;
	if (!e->exchange || exchange_must_end(e->exchange))
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (!e->left && !next(e)) {
		exchange_suspend(e->exchange, e->more ? WAIT_AGAIN : WAIT_EVENT);
		return 0;
	}
	n = e->left < max ? e->left : max;
	memcpy(out, e->text, n);
	e->text += n;
	e->left -= n;
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
	drop_text(e);
	free(e);
}

/* Let E continue behind the event ID, if the journal still has the events behind it. */
static void resume(struct events *e, const char *id)
{
	struct journal *j = watch_journal(e->watch);

	e->resumes = true;
	if (!watch_ready(e->watch) || !journal_resume(j, id, view_of(e), &e->serial))
		return;
	e->restarts = journal_restarts(j);
	e->greeted = true;
}

enum outcome get_events(struct exchange *x)
{
	const char *id = exchange_header(x, "Last-Event-ID");
	struct MHD_Response *response;
	struct events *e;

	if (http_counts(x->http).events >= EVENTS_MOST)
		return exchange_problem(
			x, MHD_HTTP_SERVICE_UNAVAILABLE,
			"%u clients already read events. Close a page of the viewer, or try again later.", EVENTS_MOST);
	e = calloc(1, sizeof(*e));
	if (!e)
		return exchange_reader_problem(x, -ENOMEM, "");
	*e = (struct events){.exchange = x, .watch = exchange_services(x)->watch, .text = RETRY, .left = strlen(RETRY)};
	e->sent_at = clock_mono();
	response = exchange_stream(x, EXCHANGE_BLOCK, on_events, e, on_events_free);
	if (!response) {
		free(e);
		return exchange_reader_problem(x, -ENOMEM, "");
	}
	watch_want(e->watch);
	if (id && *id)
		resume(e, id);
	x->events = e;
	x->back = &e->exchange;
	exchange_add_header(x, response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/event-stream");
	exchange_add_header(x, response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	return exchange_respond(x, MHD_HTTP_OK, response);
}
