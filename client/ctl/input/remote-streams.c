/*
 * This file reads all streams of a guest or capture from the daemon. The API sends one stream in
 * each answer, and a merge reads each stream from a file. So each stream is first downloaded to an
 * unnamed temporary file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mprof/trace.h>

#include "api.h"
#include "cleanup.h"
#include "ctl.h"
#include "download.h"
#include "output.h"
#include "remote-streams.h"

/*
 * Return the JSON object of the guest's run that REMOTE and S select. If the answer has no such run,
 * return NULL when S names the run, or else the whole answer.
 */
static const json_t *run_of(const struct remote *remote, const struct selection *s)
{
	const json_t *list = json_object_get(remote->json, "run_list"), *one;
	size_t i;

	json_array_foreach(list, i, one)
	{
		if (json_integer_value(json_object_get(one, "run")) == remote->run)
			return one;
	}
	return s->run ? NULL : remote->json;
}

int remote_ask(struct remote *remote, struct http *h, const struct trace_source *t, const struct selection *s)
{
	const json_t *of;
	int r;

	*remote = (struct remote){.source = t};
	r = trace_source_json(t, h, &remote->json);
	if (r)
		return r;
	remote->run = s->run ? strtoll(s->run, NULL, 10) : json_integer_value(json_object_get(remote->json, "run"));
	of = t->kind == SOURCE_CAPTURE ? remote->json : run_of(remote, s);
	remote->streams = json_object_get(of, "streams");
	remote->state = json_string_value(json_object_get(of, "state"));
	return CTL_OK;
}

void remote_deinit(struct remote *remote)
{
	json_decref(remote->json);
	remote->json = NULL;
}

static int to_file(void *context, const uint8_t *bytes, size_t len)
{
	return output_write(context, bytes, len);
}

static int start_over(void *context)
{
	return output_start_over(context);
}

static int fetch(struct merge *m, struct http *h, const char *path, const char *name)
{
	CLEANUP(closep) int fd = spool_file();
	struct output out = {.fd = fd};
	CLEANUP(download_deinit) struct download d = {.write = to_file, .start_over = start_over, .context = &out};
	int r;

	if (fd < 0)
		return fd;
	r = download_run(&d, h, path);
	if (r)
		return d.refused ? d.refused : r;
	r = merge_add(m, name, fd);
	fd = -1; /* merge_add() owns it in any case */
	if (!r)
		m->cut_bytes[m->n - 1] = download_cut_bytes(d.cut);
	return r;
}

static int fetch_stream(struct merge *m, struct http *h, const struct remote *remote, const struct selection *s,
			const json_t *stream)
{
	bool runs = remote->source->kind == SOURCE_DOMAIN && remote->run >= 0;
	int64_t number = json_integer_value(json_object_get(stream, "stream"));
	const char *name = json_string_value(json_object_get(stream, "name"));
	char number_text[24], run_text[24], otherwise[40];
	struct selection one = {.last = s->last, .stream = number_text, .run = runs ? run_text : NULL};
	CLEANUP(freep) char *path = NULL;

	snprintf(number_text, sizeof(number_text), "%" PRId64, number);
	snprintf(run_text, sizeof(run_text), "%" PRId64, remote->run);
	snprintf(otherwise, sizeof(otherwise), "stream %" PRId64, number);
	path = trace_source_path(remote->source, h, "trace", &one);
	return path ? fetch(m, h, path, name && *name ? name : otherwise) : -ENOMEM;
}

int remote_streams(struct merge *m, struct http *h, const struct remote *remote, const struct selection *s)
{
	const json_t *stream;
	size_t i, kept = 0;
	int r = 0;

	json_array_foreach(remote->streams, i, stream) kept += !json_is_true(json_object_get(stream, "lost"));
	json_array_foreach(remote->streams, i, stream)
	{
		/* If none is kept, the server's answer says so. */
		if (json_is_true(json_object_get(stream, "lost")) && kept)
			say("note: the archive has lost stream %" JSON_INTEGER_FORMAT
			    " of the capture: it was damaged on the disk",
			    json_integer_value(json_object_get(stream, "stream")));
		else
			r = r ? r : fetch_stream(m, h, remote, s, stream);
	}
	return r;
}

/*
 * Find the unproven tails of streams, by the rule of client/viewer/trace/tail.js. The tail of a stream begins
 * in the first packet that has bytes of a tail (`tail_bytes`) in the answer of the route /packets. If a part of
 * that packet is proven, the tail begins after the packet's own time. Then request the bytes after the proven
 * part and find their first event.
 */

#define NONE UINT64_MAX
/*
 * Request only the newest packets, as many bytes as a ring may have: no tail is longer than a ring.
 */
#define LAST	  "4194304"
#define PACKETS	  "1000"
#define FIRST_MAX 65536u /* an event must begin within this many bytes */

CLEANUP_DEFINE(struct mprof_decoder, mprof_decoder_free)

/* A stream of a run, as text for requests. */
struct place {
	char run[24];
	char stream[24];
};

static bool natural(const json_t *json, const char *key, uint64_t *value)
{
	const json_t *number = json_object_get(json, key);

	*value = (uint64_t)json_integer_value(number);
	return json_is_integer(number) && json_integer_value(number) >= 0;
}

/*
 * Return true if STREAM may have a tail: for a capture if its answer has tail bytes, for a guest if
 * the run ended.
 */
static bool may_tail(const struct remote *remote, const json_t *stream)
{
	uint64_t bytes;

	if (remote->source->kind == SOURCE_CAPTURE)
		return natural(stream, "tail_bytes", &bytes) && bytes;
	return remote->state && strcmp(remote->state, "ended") == 0;
}

/* Return the packet in which the tail begins, or NULL. */
static const json_t *tailed(const json_t *packets)
{
	const json_t *packet;
	uint64_t bytes;
	size_t i;

	json_array_foreach(packets, i, packet)
	{
		if (natural(packet, "tail_bytes", &bytes) && bytes)
			return packet;
	}
	return NULL;
}

static int ask_packets(const struct remote *remote, struct http *h, const struct place *at, json_t **json)
{
	struct selection s = {
		.run = remote->source->kind == SOURCE_DOMAIN ? at->run : NULL, .stream = at->stream, .last = LAST};
	CLEANUP(freep) char *path = trace_source_path(remote->source, h, "packets", &s);
	CLEANUP(freep) char *page = NULL;

	if (!path || asprintf(&page, "%s&limit=" PACKETS, path) < 0) {
		page = NULL;
		return say_memory();
	}
	return http_json_unless(h, page, HTTP_ABSENT, json);
}

/* ---- the first event after a position */
struct first {
	struct mprof_decoder *decoder;
	uint64_t ns;
	size_t bytes;
	bool memory;
};

/*
 * Decode bytes until the first event, and store its time in NS. Return false to stop the download.
 */
static bool take_first(void *context, const struct http_answer *answer, const uint8_t *bytes, size_t len)
{
	struct first *f = context;
	enum mprof_status status;
	struct mprof_event event;

	(void)answer;
	mprof_decoder_feed(f->decoder, bytes, len);
	do
		status = mprof_decoder_next(f->decoder, &event);
	while (status == MPROF_CORRUPT);
	if (status == MPROF_OK)
		f->ns = event.raw.timestamp;
	f->memory = status == MPROF_NOMEM;
	f->bytes += len;
	return status == MPROF_MORE && f->bytes < FIRST_MAX;
}

static int ask_first(struct http *h, const char *path, uint64_t *from_ns)
{
	CLEANUP(mprof_decoder_freep) struct mprof_decoder *decoder = mprof_decoder_new();
	CLEANUP(http_answer_deinit) struct http_answer answer = {0};
	struct first first = {.decoder = decoder, .ns = NONE};
	struct http_request request = {.path = path, .body = take_first, .context = &first};
	int r;

	if (!decoder)
		return say_memory();
	r = http_perform(h, &request, &answer);
	if (first.memory)
		return say_memory();
	*from_ns = first.ns;
	if (r == HTTP_E_REFUSED || (r == 0 && (answer.status / 100 == 2 || http_is(answer.status, HTTP_ABSENT))))
		return CTL_OK;
	return http_complain(h, r, &answer);
}

static int find_behind(const struct remote *remote, struct http *h, const struct place *at, const json_t *packet,
		       uint64_t *from_ns)
{
	const json_t *last = json_object_get(json_object_get(packet, "copied"), "last");
	const bool runs = remote->source->kind == SOURCE_DOMAIN;
	CLEANUP(freep) char *path = NULL;
	CLEANUP(freep) char *first = NULL;
	uint64_t sequence, offset;

	if (!natural(packet, "sequence", &sequence) || !natural(last, "offset", &offset))
		return CTL_OK;
	path = trace_source_path(remote->source, h, "trace",
				 &(struct selection){.run = runs ? at->run : NULL, .stream = at->stream});
	if (!path ||
	    asprintf(&first, "%s&first=%s.%s.%" PRIu64 ".%" PRIu64, path, at->run, at->stream, sequence, offset) < 0) {
		first = NULL;
		return say_memory();
	}
	return ask_first(h, first, from_ns);
}

/* Set *FROM_NS to the time of the first event in the tail of STREAM, or to NONE. */
static int find(const struct remote *remote, struct http *h, const json_t *stream, uint64_t *from_ns)
{
	CLEANUP(json_decrefp) json_t *json = NULL;
	const json_t *packet;
	struct place at;
	uint64_t number;
	int r;

	*from_ns = NONE;
	if (!may_tail(remote, stream) || !natural(stream, "stream", &number) || remote->run < 1)
		return CTL_OK;
	snprintf(at.run, sizeof(at.run), "%" PRId64, remote->run);
	snprintf(at.stream, sizeof(at.stream), "%" PRIu64, number);
	r = ask_packets(remote, h, &at, &json);
	packet = r ? NULL : tailed(json_object_get(json, "packets"));
	if (!packet)
		return r;
	if (json_is_object(json_object_get(packet, "copied")))
		return find_behind(remote, h, &at, packet, from_ns);
	if (!api_ns(json_object_get(packet, "first_timestamp"), from_ns))
		*from_ns = NONE;
	return CTL_OK;
}

int tails_report(const struct remote *remote, struct http *h, const struct selection *s, const struct consumer *to)
{
	const json_t *stream;
	unsigned int n = 0;
	uint64_t from_ns;
	size_t i;
	int r = 0;

	json_array_foreach(remote->streams, i, stream)
	{
		if (r || !to->tail)
			return r;
		if (s->stream && strtoll(s->stream, NULL, 10) != json_integer_value(json_object_get(stream, "stream")))
			continue;
		r = find(remote, h, stream, &from_ns);
		if (!r && from_ns != NONE)
			r = to->tail(to->context, n, from_ns);
		n++;
	}
	return r;
}
