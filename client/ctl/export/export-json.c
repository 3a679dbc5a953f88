/*
 * This file writes events as one JSON document, with one record per line.
 *
 * `dump --json` prints a JSON object per line, for pipes. This format is for programs that read one
 * document. Gaps and damage are records in their places among the events, so that a reader does not
 * take a gap for idle time.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter.h"
#include "json.h"

struct json_state {
	struct export_job *job;
	struct writer *out;   /* output; borrowed */
	char *const *streams; /* names of the streams; borrowed; NULL for a single stream */
	bool headed;	      /* the document's part before the first record was written */
	bool recorded;	      /* at least one record was written */
};

static void put(struct json_state *s, const char *text)
{
	writer_put(s->out, text, strlen(text));
}

static void put_string(struct json_state *s, const char *text)
{
	put(s, "\"");
	write_json_text(s->out, text, strlen(text));
	put(s, "\"");
}

/* Write the document up to its first record. */
static void put_head(struct json_state *s, unsigned int streams)
{
	put(s, "{\"format\":\"mprof-events\",\"version\":1,\"trace\":");
	put_string(s, s->job->trace);
	for (unsigned int i = 0; i < streams; i++) {
		put(s, i ? "," : ",\"streams\":[");
		put_string(s, s->streams[i]);
	}
	put(s, streams ? "],\"records\":[" : ",\"records\":[");
	s->headed = true;
}

/* Begin the line of a record. */
static void begin_record(struct json_state *s)
{
	if (!s->headed)
		put_head(s, 0);
	if (s->recorded)
		writer_put(s->out, ",\n", 2);
	else
		put(s, "\n");
	s->recorded = true;
}

/* End a record that is not an event. */
static void end_record(struct json_state *s, unsigned int stream)
{
	if (s->streams) {
		put(s, ",\"stream\":");
		put_string(s, s->streams[stream]);
	}
	put(s, "}");
}

static int json_streams(void *context, char *const *names, unsigned int count)
{
	struct json_state *s = context;

	s->streams = names;
	put_head(s, count);
	return -s->out->error;
}

static int json_events(void *context, unsigned int stream, const struct mprof_event *events, size_t n)
{
	struct json_state *s = context;
	const char *name = s->streams ? s->streams[stream] : NULL;

	for (size_t i = 0; i < n && !s->out->error; i++) {
		begin_record(s);
		write_json_event(s->out, &events[i].raw, name);
	}
	return -s->out->error;
}

static int json_gap(void *context, unsigned int stream, uint64_t packets)
{
	struct json_state *s = context;
	char text[48];

	begin_record(s);
	snprintf(text, sizeof(text), "{\"gap\":{\"packets\":%" PRIu64 "}", packets);
	put(s, text);
	end_record(s, stream);
	return -s->out->error;
}

static int json_damage(void *context, unsigned int stream, const struct mprof_damage *damage)
{
	struct json_state *s = context;
	char sentence[256], text[160];

	mprof_damage_text(damage, sentence, sizeof(sentence));
	begin_record(s);
	snprintf(text, sizeof(text),
		 "{\"damage\":{\"packet\":%" PRIu64 ",\"offset\":%" PRIu64 ",\"skipped\":%" PRIu64 ",\"reason\":",
		 damage->packet, damage->offset, damage->skipped);
	put(s, text);
	put_string(s, sentence);
	put(s, "}");
	end_record(s, stream);
	return -s->out->error;
}

static int json_open(struct export_job *job, struct consumer *consumer)
{
	struct json_state *s = calloc(1, sizeof(*s));

	job->state = s;
	if (!s)
		return -ENOMEM;
	s->job = job;
	s->out = job->out;
	*consumer = (struct consumer){
		.streams = json_streams,
		.events = json_events,
		.gap = json_gap,
		.damage = json_damage,
		.context = s,
	};
	return 0;
}

static int json_finish(struct export_job *job)
{
	struct json_state *s = job->state;
	char text[48];

	if (!s->headed)
		put_head(s, 0);
	snprintf(text, sizeof(text), "\n],\"events\":%" PRIu64 "}\n", job->events);
	put(s, text);
	return -s->out->error;
}

static void json_close(struct export_job *job)
{
	free(job->state);
}

const struct exporter export_json = {
	.name = "json",
	.what = "one JSON document with all events, gaps and damage",
	.suffix = ".json",
	.open = json_open,
	.finish = json_finish,
	.close = json_close,
};
