/* The server: pass on the notices of the collector and the sink, and do what is due each second. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "access.h"
#include "clock.h"
#include "decode-thread.h"
#include "events.h"
#include "freshness.h"
#include "live-steps.h"
#include "live.h"
#include "log.h"
#include "memtraces-reader.h"
#include "notice.h"
#include "packet.h"
#include "reader.h"
#include "reading-json.h"
#include "routes.h"
#include "server.h"
#include "verdicts.h"
#include "watch.h"

#define TICK_NS	     NS_PER_S
#define STATUS_TICKS 10u /* ticks between two status messages */
/* Least time between two reports of damage: clients may repeat a request for damaged bytes. */
#define REPORT_NS (100 * NS_PER_MS)

struct server {
	sd_event *event;
	struct http *http;
	struct services services;
	struct freshness freshness;
	struct scratch scratch;
	struct live_steps live_steps;
	struct verdicts verdicts;
	struct timer tick;
	sd_event_source *post;
	uint64_t ticks;
	char status[128];	  /* the status that the service manager got last */
	uint64_t damage_reported; /* last report of damage, CLOCK_MONOTONIC ns; 0 = none yet */
	struct log_limit damage_log;
};

/* ---- notices of the collector and the sink ---- */

/* Something may have been committed. */
static void resume_live(struct server *s)
{
	live_steps_forget(&s->live_steps);
	http_resume(s->http, WAIT_COMMIT);
}

static void on_commit(void *context)
{
	struct server *s = context;

	s->services.commits++;
	resume_live(s);
	watch_commit(s->services.watch);
}

static void on_events(void *context)
{
	struct server *s = context;

	http_resume(s->http, WAIT_EVENT);
}

static void on_reading(void *context, int64_t capture)
{
	struct server *s = context;

	http_forget(s->http);
	watch_described(s->services.watch, capture);
}

static int on_describe(void *context, int64_t capture, json_t *json)
{
	const struct server *s = context;

	return reading_json_add(s->services.readings, capture, false, json);
}

static void on_answer(void *context, uint64_t tag, const struct message *m)
{
	struct server *s = context;

	if (freshness_answer(&s->freshness, tag, strcmp(m->verb, "ok") == 0))
		http_resume(s->http, WAIT_NEWEST);
	else if (!verdicts_answer(&s->verdicts, tag))
		http_answer(s->http, tag, m, false);
}

static void on_sink_answer(void *context, uint64_t tag, const struct message *m)
{
	struct server *s = context;

	http_answer(s->http, tag, m, true);
}

static void on_source(void *context, const char *sentence)
{
	struct server *s = context;

	snprintf(s->services.source_sentence, sizeof(s->services.source_sentence), "%s", sentence);
}

static void on_lost(void *context)
{
	struct server *s = context;

	on_source(context, "");
	freshness_lost(&s->freshness);
	verdicts_lost(&s->verdicts);
	http_resume(s->http, WAIT_NEWEST);
	http_lost(s->http, false);
}

static void on_sink_commit(void *context)
{
	struct server *s = context;

	watch_commit(s->services.watch);
}

static void on_sink_lost(void *context)
{
	struct server *s = context;

	http_lost(s->http, true);
}

static const struct notice_calls collector_calls = {
	.commit = on_commit, .source = on_source, .answer = on_answer, .lost = on_lost};
static const struct notice_calls sink_calls = {
	.commit = on_sink_commit, .answer = on_sink_answer, .lost = on_sink_lost};

/*
 * Report damage to the daemon that owns the archive (schema/control.md), which checks the place
 * itself and sends no answer. KEY and VALUE say which stream or recording; D may be NULL. Return
 * false if the daemon is absent; the next request for the same bytes then finds the damage again.
 */

static bool report(struct notice *to, const char *key, uint64_t value, const struct reader_damage *d)
{
	struct message_writer w;
	char text[256];

	message_begin(&w, text, sizeof(text), "damaged", notice_tag(to));
	message_add_number(&w, key, value);
	if (d) {
		message_add_number(&w, "sequence", d->sequence);
		message_add_number(&w, "capture", (uint64_t)d->capture);
		if (d->table)
			message_add(&w, "table", d->table);
	}
	return notice_send(to, &w);
}

static const char *owner_state(bool reported)
{
	return reported ? "its owner was told" : "its owner is not connected";
}

/* Report the damage that the readers have found since the last call. */
static void report_damage(struct server *s)
{
	uint64_t now = clock_mono();
	struct reader_damage d;
	int64_t recording;

	if (s->damage_reported && now - s->damage_reported < REPORT_NS)
		return;
	recording = memtraces_take_damage(s->services.memtraces);
	if (recording) {
		s->damage_reported = now;
		log_write_limited(&s->damage_log, LOG_LEVEL_WARNING, NULL,
				  "A memory profile is damaged on the disk and not served; %s: recording=%lld",
				  owner_state(report(s->services.sink, "recording", (uint64_t)recording, NULL)),
				  (long long)recording);
	}
	if (!reader_take_damage(s->services.reader, &d))
		return;
	s->damage_reported = now;
	if (d.table)
		log_write_limited(
			&s->damage_log, LOG_LEVEL_WARNING, NULL,
			"A row of the archive is damaged on the disk, and no answer uses it; %s: table=%s row=%lld",
			owner_state(report(s->services.collector, "stream", 0, &d)), d.table, (long long)d.sequence);
	else
		log_write_limited(
			&s->damage_log, LOG_LEVEL_WARNING, NULL,
			"A trace is damaged on the disk and not served; %s: stream=%lld sequence=%llu capture=%lld",
			owner_state(report(s->services.collector, "stream", (uint64_t)d.stream, &d)),
			(long long)d.stream, (unsigned long long)d.sequence, (long long)d.capture);
}

/* ---- what is due each second ---- */

/*
 * Send the status to the service manager every STATUS_TICKS seconds, if it has changed. Not more
 * often, because sending blocks the loop while the service manager does not read.
 */
static void send_status(struct server *s)
{
	struct http_counts c = http_counts(s->http);
	char text[128];

	if (s->ticks % STATUS_TICKS != 1)
		return;
	snprintf(text, sizeof(text), "STATUS=%llu requests in progress, %llu of them live; %s",
		 (unsigned long long)c.open, (unsigned long long)c.live,
		 notice_connected(s->services.collector) ? "the collector is connected"
							 : "the collector is not connected");
	if (strcmp(text, s->status) != 0)
		sd_notify(0, strcpy(s->status, text));
}

static void on_tick(void *context)
{
	struct server *s = context;

	access_refresh(s->services.access, false);
	notice_tick(s->services.collector);
	notice_tick(s->services.sink);
	resume_live(s); /* a notice of a commit may have been missed */
	for (struct exchange *x = http_exchanges(s->http); x; x = x->next) {
		if (!x->events)
			continue;
		events_tick(x->events);
		(void)freshness_ask(&s->freshness, clock_mono()); /* events tell what is committed */
	}
	watch_tick(s->services.watch);
	if (s->services.readings) {
		readings_tick(s->services.readings);
		verdicts_tick(&s->verdicts);
	}
	for (struct exchange *x = s->ticks++ % 2 ? NULL : http_exchanges(s->http); x; x = x->next)
		if (x->live)
			live_follow(x->live);
	http_tick(s->http);
	send_status(s);
	timer_set_in(&s->tick, TICK_NS);
}

/* sd_event calls this after each event. */
static int on_post(sd_event_source *source, void *context)
{
	struct server *s = context;

	(void)source;
	report_damage(s);
	http_schedule(s->http);
	return 0;
}

/* ---- creation and release ---- */

struct http *server_http(struct server *s)
{
	return s->http;
}

static int server_events(struct server *s)
{
	int rc = timer_open(&s->tick, s->event, 10 * NS_PER_MS, on_tick, s);

	if (rc < 0)
		return rc;
	timer_set_in(&s->tick, 0);
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
	s->event = event;
	s->services.access = options->access;
	s->services.sink_wanted = options->sink;
	s->services.scratch = &s->scratch;
	s->services.live_steps = &s->live_steps;
	s->services.freshness = &s->freshness;
	rc = scratch_init(&s->scratch);
	if (rc == 0)
		rc = decode_thread_new(&s->services.decode_thread);
	if (rc == 0)
		rc = reader_new(&s->services.reader, options->state);
	if (rc == 0 && options->readings)
		rc = readings_new(&s->services.readings, event, s->services.reader, &s->scratch, options->cache,
				  options->decoded, on_reading, s);
	if (rc == 0)
		rc = memtraces_reader_new(&s->services.memtraces, options->state);
	if (rc == 0)
		rc = watch_new(&s->services.watch, event, s->services.reader, s->services.memtraces, on_events, s);
	if (rc == 0)
		watch_describe_with(s->services.watch, on_describe, s);
	if (rc == 0)
		rc = http_new(&s->http, event, &options->http, &api_routes, &s->services);
	if (rc == 0)
		rc = notice_new(&s->services.collector, event, path, &collector_calls, s);
	if (rc == 0)
		freshness_init(&s->freshness, s->services.collector);
	s->verdicts = (struct verdicts){
		.reader = s->services.reader, .readings = s->services.readings, .collector = s->services.collector};
	if (rc == 0)
		rc = notice_new(&s->services.sink, event, sink, &sink_calls, s);
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
	http_free(s->http);
	timer_close(&s->tick);
	sd_event_source_disable_unref(s->post);
	notice_free(s->services.collector);
	notice_free(s->services.sink);
	watch_free(s->services.watch);
	readings_free(s->services.readings);
	memtraces_reader_free(s->services.memtraces);
	reader_free(s->services.reader);
	decode_thread_free(s->services.decode_thread);
	live_steps_deinit(&s->live_steps);
	scratch_deinit(&s->scratch);
	free(s);
	return NULL;
}
