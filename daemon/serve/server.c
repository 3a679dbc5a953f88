/* The loop around libmicrohttpd: what the collector and the sink say, what the clock says, and who goes on by that. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "client.h"
#include "clock.h"
#include "damage.h"
#include "events.h"
#include "live.h"
#include "server-state.h"

#define TICK_US	     1000000u
#define STATUS_TICKS 10u /* at most one status in so many ticks */

void server_count(struct server *s, unsigned status)
{
	s->counts.refused += status >= 400 && status < 500;
	s->counts.failed += status >= 500;
}

struct server_counts server_counts(const struct server *s)
{
	struct server_counts c = s->counts;

	for (const struct exchange *x = s->exchanges; x; x = x->next) {
		c.open++;
		c.live += x->live != NULL;
		c.events += x->events != NULL;
	}
	for (size_t i = 0; i < s->n_listeners; i++)
		c.clients += s->listeners[i].n_clients;
	c.connected = notice_connected(s->notice);
	c.sink_connected = notice_connected(s->sink);
	c.longest_read = reader_longest(s->reader);
	return c;
}

static void resume_all(struct server *s, enum wait wait)
{
	for (struct exchange *x = s->exchanges; x; x = x->next)
		if (x->wait == wait)
			exchange_resume(x);
}

static int on_again(sd_event_source *source, void *context)
{
	(void)source;
	resume_all(context, WAIT_AGAIN);
	return 0;
}

/* The collector and the sink. */

static void on_commit(void *context)
{
	struct server *s = context;

	s->counts.commits++;
	resume_all(s, WAIT_COMMIT);
	watch_commit(s->watch);
}

static void on_news(void *context)
{
	resume_all(context, WAIT_EVENT);
}

static void answered(struct server *s, uint64_t tag, const struct message *m, bool sink)
{
	struct exchange *x;
	const char *text = message_value(m, "sentence");
	uint64_t status = 0;

	for (x = s->exchanges; x && !(x->wait == WAIT_ANSWER && x->answer.tag == tag && x->answer.sink == sink);
	     x = x->next)
		;
	if (!x)
		return;
	if (!text)
		text = message_value(m, "text");
	x->answer.arrived = true;
	x->answer.ok = strcmp(m->verb, "ok") == 0;
	message_number(m, "capture", &x->answer.capture);
	message_number(m, "recording", &x->answer.recording);
	message_number(m, "archiving", &x->answer.archiving);
	x->answer.source = 1;
	message_number(m, "source", &x->answer.source);
	if (message_number(m, "status", &status) && status < 1000)
		x->answer.status = (unsigned)status;
	x->answer.text = text ? strdup(text) : NULL;
	exchange_resume(x);
}

static void on_answer(void *context, uint64_t tag, const struct message *m)
{
	answered(context, tag, m, false);
}

static void on_sink_answer(void *context, uint64_t tag, const struct message *m)
{
	answered(context, tag, m, true);
}

/* Who waits for that one waits in vain. */
static void lost(struct server *s, bool sink)
{
	for (struct exchange *x = s->exchanges; x; x = x->next)
		if (x->wait == WAIT_ANSWER && x->answer.sink == sink)
			exchange_resume(x);
}

static void on_source(void *context, const char *sentence)
{
	struct server *s = context;

	snprintf(s->source_sentence, sizeof(s->source_sentence), "%s", sentence);
}

static void on_lost(void *context)
{
	on_source(context, "");
	lost(context, false);
}

static void on_sink_commit(void *context)
{
	struct server *s = context;

	watch_commit(s->watch);
}

static void on_sink_lost(void *context)
{
	lost(context, true);
}

static const struct notice_calls notice_calls = {
	.commit = on_commit, .source = on_source, .answer = on_answer, .lost = on_lost};
static const struct notice_calls sink_calls = {
	.commit = on_sink_commit, .answer = on_sink_answer, .lost = on_sink_lost};

/* Only what is new, and seldom: sending waits where the service manager does not read, and meanwhile nobody is served. */
static void say_status(struct server *s)
{
	struct server_counts c = server_counts(s);
	char text[128];

	if (s->ticks % STATUS_TICKS != 1)
		return;
	snprintf(text, sizeof(text), "STATUS=%llu requests under way, %llu of them live; %s",
		 (unsigned long long)c.open, (unsigned long long)c.live,
		 c.connected ? "the collector is connected" : "the collector is not there");
	if (strcmp(text, s->status) != 0)
		sd_notify(0, strcpy(s->status, text));
}

static int on_tick(sd_event_source *source, uint64_t usec, void *context)
{
	struct server *s = context;

	notice_tick(s->notice);
	notice_tick(s->sink);
	resume_all(s, WAIT_COMMIT); /* notices are only hints */
	for (struct exchange *x = s->exchanges; x; x = x->next)
		if (x->events)
			events_tick(x->events);
	watch_tick(s->watch);
	for (struct exchange *x = s->ticks++ % 2 ? NULL : s->exchanges; x; x = x->next)
		if (x->live)
			exchange_follow(x);
	for (size_t i = 0; i < s->n_listeners; i++) {
		clients_tick(&s->listeners[i], clock_mono());
		listener_run(&s->listeners[i]);
	}
	say_status(s);
	sd_event_source_set_time(source, usec + TICK_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* The server. */

/* After whatever happened: see which daemon wants to run again. */
static int on_post(sd_event_source *source, void *context)
{
	struct server *s = context;

	(void)source;
	damage_report(s);
	for (size_t i = 0; i < s->n_listeners; i++)
		listener_schedule(&s->listeners[i]);
	return 0;
}

static int server_events(struct server *s)
{
	int rc = sd_event_add_defer(s->event, &s->again, on_again, s);

	if (rc >= 0)
		rc = sd_event_source_set_enabled(s->again, SD_EVENT_OFF);
	if (rc >= 0)
		rc = sd_event_add_time_relative(s->event, &s->tick, CLOCK_MONOTONIC, 0, 10000, on_tick, s);
	if (rc >= 0)
		rc = sd_event_add_post(s->event, &s->post, on_post, s);
	return rc < 0 ? rc : 0;
}

int server_new(struct server **sp, sd_event *event, const struct server_options *options)
{
	CLEANUP(server_freep) struct server *s = calloc(1, sizeof(*s));
	CLEANUP(freep) char *path = NULL;
	CLEANUP(freep) char *sink = NULL;
	int rc;

	if (!s || asprintf(&path, "%s/collect.sock", options->run) < 0 ||
	    asprintf(&sink, "%s/sink/sink.sock", options->run) < 0)
		return -ENOMEM;
	s->sink_wanted = options->sink;
	s->event = event;
	s->connections = options->connections;
	s->peer_connections = options->peer_connections;
	s->header_timeout_ns = options->header_timeout_ns;
	s->body_timeout_ns = options->body_timeout_ns;
	s->idle_timeout_ns = options->idle_timeout_ns;
	if (gethostname(s->host, sizeof(s->host) - 1) < 0)
		strcpy(s->host, "localhost");
	rc = scratch_init(&s->scratch);
	if (rc == 0)
		rc = reader_new(&s->reader, options->state);
	if (rc == 0)
		rc = memtraces_reader_new(&s->memtraces, options->state);
	if (rc == 0)
		rc = watch_new(&s->watch, event, s->reader, s->memtraces, on_news, s);
	if (rc == 0)
		rc = notice_new(&s->notice, event, path, &notice_calls, s);
	if (rc == 0)
		rc = notice_new(&s->sink, event, sink, &sink_calls, s);
	if (rc == 0)
		rc = server_events(s);
	if (rc == 0)
		*sp = TAKE_PTR(s);
	return rc;
}

struct server *server_free(struct server *s)
{
	if (!s)
		return NULL;
	s->stopping = true;
	for (struct exchange *x = s->exchanges; x; x = x->next) {
		x->gone = true;
		exchange_resume(x);
	}
	for (size_t i = 0; i < s->n_listeners; i++)
		MHD_run(s->listeners[i].daemon); /* so that none is suspended when its daemon stops */
	for (size_t i = 0; i < s->n_listeners; i++)
		listener_stop(&s->listeners[i]);
	sd_event_source_disable_unref(s->again);
	sd_event_source_disable_unref(s->tick);
	sd_event_source_disable_unref(s->post);
	notice_free(s->notice);
	notice_free(s->sink);
	watch_free(s->watch);
	memtraces_reader_free(s->memtraces);
	reader_free(s->reader);
	scratch_deinit(&s->scratch);
	free(s);
	return NULL;
}
