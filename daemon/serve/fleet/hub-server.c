/* The server of a hub: pass on what the database has answered, and do what is due each second. */
#include "hub-server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "access.h"
#include "clock.h"
#include "copies.h"
#include "decode-thread.h"
#include "fleet-feed.h"
#include "fleet.h"
#include "freshness.h"
#include "hub-events.h"
#include "hub-routes.h"
#include "packet.h"

#define TICK_NS	     NS_PER_S
#define STATUS_TICKS 10u /* ticks between two status messages */

struct hub_server {
	sd_event *event;
	struct http *http;
	struct services services;
	struct fleet fleet;
	struct freshness freshness; /* never asked: a hub has no collector */
	struct scratch scratch;
	struct timer tick;
	sd_event_source *post;
	uint64_t ticks;
	char status[128]; /* the status that the service manager got last */
};

static void on_news(void *context)
{
	struct hub_server *s = context;

	http_resume(s->http, WAIT_EVENT);
}

/* COPY is made or has failed: call the handlers that wait for it. */
static void on_ready(void *context, struct copy *copy)
{
	struct hub_server *s = context;

	for (struct exchange *x = http_exchanges(s->http); x; x = x->next)
		if (x->copy == copy && x->wait == WAIT_ANSWER)
			exchange_resume(x);
}

static void send_status(struct hub_server *s)
{
	struct http_counts c = http_counts(s->http);
	char text[128];

	if (s->ticks % STATUS_TICKS != 1)
		return;
	snprintf(text, sizeof(text), "STATUS=%llu requests in progress, %llu of events; %s", (unsigned long long)c.open,
		 (unsigned long long)c.events,
		 feed_ready(s->fleet.feed) ? "the fleet's database answers" : "the fleet's database does not answer");
	if (strcmp(text, s->status) != 0)
		sd_notify(0, strcpy(s->status, text));
}

static void on_tick(void *context)
{
	struct hub_server *s = context;

	access_refresh(s->services.access, false);
	for (struct exchange *x = http_exchanges(s->http), *next; x; x = next) {
		next = x->next;
		if (x->events)
			hub_events_tick(x->events);
	}
	http_tick(s->http);
	s->ticks++;
	send_status(s);
	timer_set_in(&s->tick, TICK_NS);
}

/* sd_event calls this after each event. */
static int on_post(sd_event_source *source, void *context)
{
	struct hub_server *s = context;

	(void)source;
	http_schedule(s->http);
	return 0;
}

struct http *hub_server_http(struct hub_server *s)
{
	return s->http;
}

static int new_fleet(struct hub_server *s, const struct hub_server_options *options, char *sentence, size_t size)
{
	int rc = workers_new(&s->fleet.workers, s->event, options->connection);

	if (rc == 0)
		rc = copies_new(&s->fleet.copies, s->fleet.workers, options->copies, options->copies_bytes, on_ready, s,
				sentence, size);
	if (rc == 0)
		rc = feed_new(&s->fleet.feed, s->event, options->connection, on_news, s);
	return rc;
}

int hub_server_new(struct hub_server **sp, sd_event *event, const struct hub_server_options *options, char *sentence,
		   size_t size)
{
	CLEANUP(hub_server_freep) struct hub_server *s = calloc(1, sizeof(*s));
	struct http_options http = options->http;
	int rc;

	if (!s)
		return -ENOMEM;
	http.hub = true;
	s->event = event;
	s->services.access = options->access;
	s->services.scratch = &s->scratch;
	s->services.freshness = &s->freshness;
	s->services.fleet = &s->fleet;
	json_object_seed(0); /* before there are threads that make objects */
	rc = scratch_init(&s->scratch);
	if (rc == 0)
		rc = decode_thread_new(&s->services.decode_thread);
	if (rc == 0)
		rc = http_new(&s->http, event, &http, &hub_routes, &s->services);
	if (rc == 0)
		rc = new_fleet(s, options, sentence, size);
	if (rc == 0)
		rc = timer_open(&s->tick, event, 10 * NS_PER_MS, on_tick, s);
	if (rc >= 0)
		rc = sd_event_add_post(event, &s->post, on_post, s);
	if (rc < 0)
		return rc;
	timer_set_in(&s->tick, 0);
	*sp = TAKE_PTR(s);
	return 0;
}

struct hub_server *hub_server_free(struct hub_server *s)
{
	if (!s)
		return NULL;
	http_free(s->http);
	timer_close(&s->tick);
	sd_event_source_disable_unref(s->post);
	feed_free(s->fleet.feed);
	workers_free(s->fleet.workers);
	copies_free(s->fleet.copies);
	decode_thread_free(s->services.decode_thread);
	scratch_deinit(&s->scratch);
	free(s);
	return NULL;
}
