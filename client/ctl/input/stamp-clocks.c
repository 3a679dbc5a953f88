/* This file reads the clock stamps of packets from the API. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/ids.h>
#include <mprof/ring.h>

#include "api.h"
#include "cleanup.h"
#include "http-limits.h"
#include "stamp-clocks.h"

#define PAGE 1000
/* Amount of a run's trace that is read to improve the estimate of a shorter part. */
#define RUN_AMOUNT "64MB"

/* Take in the stamp JSON, with the right time if the host knows that its clock was wrong. Return false if it is invalid. */
static bool take_stamp(const json_t *json, struct mprof_stamp *stamp)
{
	stamp->offset = (uint64_t)json_integer_value(json_object_get(json, "offset"));
	return api_ns(json_object_get(json, "mono"), &stamp->mono) &&
	       (api_real(json_object_get(json, "real_corrected"), &stamp->real) ||
		api_real(json_object_get(json, "real"), &stamp->real));
}

/* Take in the stamps LIST, which older servers do not send; or none of them if one is invalid. */
static void take_newest(const json_t *list, struct mprof_copied_packet *it)
{
	size_t n = json_array_size(list);

	it->n_newest = n <= MPROF_CLOCKS_POLLS ? (uint32_t)n : 0;
	for (uint32_t i = 0; i < it->n_newest; i++) {
		if (!take_stamp(json_array_get(list, i), &it->newest[i]))
			it->n_newest = 0;
	}
}

void clocks_packet(struct mprof_clocks *c, const json_t *packet)
{
	const json_t *copied = json_object_get(packet, "copied");
	struct mprof_copied_packet it = {.stepped = json_is_true(json_object_get(packet, "clock_stepped"))};

	/* If a packet's bytes are unproven, the server has verified its first event, or serves none of it. */
	if ((json_is_true(json_object_get(packet, "unproven")) &&
	     json_integer_value(json_object_get(packet, "bytes")) <= MPROF_PACKET_HEADER_BYTES) ||
	    !api_ns(json_object_get(packet, "first_timestamp"), &it.guest_ns) ||
	    !take_stamp(json_object_get(copied, "first"), &it.first) ||
	    !take_stamp(json_object_get(copied, "last"), &it.last))
		return;
	take_newest(json_object_get(copied, "newest"), &it);
	it.has_last_chunk = api_ns(json_object_get(copied, "last_chunk"), &it.last_chunk_ns);
	mprof_clocks_packet(c, &it);
}

static char *page_path(const char *path, const char *cursor)
{
	char *page = NULL;
	int n = asprintf(&page, "%s%climit=%d%s%s", path, strchr(path, '?') ? '&' : '?', PAGE, cursor ? "&cursor=" : "",
			 cursor ? cursor : "");

	return n < 0 ? NULL : page;
}

/* Read into C the page of PATH that P selects, then advance P to the next page. */
static int read_page(struct mprof_clocks *c, struct http *h, const char *path, struct pages *p)
{
	CLEANUP(freep) char *page = page_path(path, p->cursor);
	const json_t *packets;
	json_t *json = NULL;
	int r = page ? http_json_unless(h, page, 404, &json) : say_memory();

	if (r)
		return r;
	packets = json_object_get(json, "packets");
	for (size_t i = 0; i < json_array_size(packets); i++)
		clocks_packet(c, json_array_get(packets, i));
	r = pages_turn(p, h, json);
	json_decref(json);
	return r;
}

int clocks_read(struct mprof_clocks *c, struct http *h, const struct trace_source *t, const struct selection *s)
{
	CLEANUP(freep) char *path = trace_source_path(t, h, "packets", s);
	CLEANUP(pages_deinit) struct pages p = {.what = "packets"};
	int r;

	if (!path)
		return say_memory();
	mprof_clocks_stream(c);
	do
		r = read_page(c, h, path, &p);
	while (!r && p.cursor);
	return r;
}

int clocks_read_run(struct mprof_clocks *c, struct http *h, const json_t *capture, int64_t number)
{
	const char *uuid = json_string_value(json_object_get(capture, "uuid"));
	const char *name = json_string_value(json_object_get(capture, "domain"));
	struct trace_source guest = {.kind = SOURCE_DOMAIN, .name = uuid ? uuid : name};
	char run_text[CLOCKS_RUN_MAX], stream_text[24];
	struct selection s = {.last = RUN_AMOUNT, .run = run_text, .stream = stream_text};

	/* A hub has no more of the run than its captures. */
	if (!guest.name || c->mono.bounded_below || json_object_get(capture, "host"))
		return CTL_OK;
	snprintf(run_text, sizeof(run_text), "%" JSON_INTEGER_FORMAT,
		 json_integer_value(json_object_get(capture, "run")));
	snprintf(stream_text, sizeof(stream_text), "%" PRId64, number);
	return clocks_read(c, h, &guest, &s);
}

/* ---- the offset of one trace */

/* A trace whose clock is estimated. */
struct subject {
	struct http *h;
	const struct trace_source *trace;
	const struct selection *s;
	json_t *json;	  /* the daemon's description of the guest or capture; owned */
	const json_t *of; /* the run in JSON, or JSON itself for a capture; borrowed */
	struct mprof_clocks clocks;
	struct mprof_stamp newest; /* newest stamp of the packets that S selects */
};

static void subject_deinit(struct subject *s)
{
	json_decref(s->json);
}

/* Set *JSON to the description of T, or to NULL if there is none. Return an exit code. */
static int describe(struct http *h, const struct trace_source *t, json_t **json)
{
	CLEANUP(freep) char *path = trace_source_path(t, h, "", &(struct selection){0});
	CLEANUP(freep) char *page = NULL;

	if (!path)
		return say_memory();
	path[strlen(path) - 1] = 0; /* without the slash: the whole object */
	if (asprintf(&page, "%s%s", path, t->kind == SOURCE_CAPTURE ? "" : "?limit=1000") < 0) {
		page = NULL;
		return say_memory();
	}
	return http_json_unless(h, page, HTTP_ABSENT, json);
}

static const json_t *find_run(const json_t *domain, int64_t run)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(domain, "run_list"), i, one)
	{
		if (json_integer_value(json_object_get(one, "run")) == run)
			return one;
	}
	return NULL;
}

/*
 * Return whether stream NUMBER shall be read for the clock of S. Mprofd's own streams have the guest's
 * clock, and only the guest's streams determine it.
 */
static bool is_selected(const struct selection *s, int64_t number)
{
	int64_t wanted = s->stream ? strtoll(s->stream, NULL, 10) : MPROF_STREAM_HOST;

	return number < MPROF_STREAM_HOST && (wanted >= MPROF_STREAM_HOST || wanted == number);
}

/* Read the stamps of stream NUMBER: of the selected part first, then of more of the run. */
static int read_stream(struct subject *s, int64_t number)
{
	char stream_text[24];
	struct selection one = *s->s;
	int r;

	snprintf(stream_text, sizeof(stream_text), "%" PRId64, number);
	one.stream = stream_text;
	r = clocks_read(&s->clocks, s->h, s->trace, &one);
	if (!r && s->clocks.stamps && s->clocks.latest.real > s->newest.real)
		s->newest = s->clocks.latest;
	if (r || s->clocks.mono.bounded_below)
		return r;
	if (s->trace->kind == SOURCE_CAPTURE)
		return clocks_read_run(&s->clocks, s->h, s->json, number);
	if (!one.last)
		return CTL_OK;
	one.last = RUN_AMOUNT;
	return clocks_read(&s->clocks, s->h, s->trace, &one);
}

/* Set *LOCAL if the guest is a program of dom0 itself, whose clock is dom0's. Return an exit code. */
static int ask_local(struct subject *s, bool *local)
{
	const char *uuid = json_string_value(json_object_get(s->json, "uuid"));
	const char *name = json_string_value(json_object_get(s->json, "domain"));
	struct trace_source guest = {.kind = SOURCE_DOMAIN, .name = uuid ? uuid : name};
	CLEANUP(json_decrefp) json_t *domain = NULL;
	CLEANUP(freep) char *on_hub = api_hub_guest(s->json);
	const char *source = json_string_value(json_object_get(s->of, "source"));
	int r = CTL_OK;

	if (on_hub)
		guest.name = on_hub;
	if (s->trace->kind == SOURCE_CAPTURE && guest.name) {
		r = describe(s->h, &guest, &domain);
		source = json_string_value(json_object_get(domain, "source"));
	}
	*local = source && strcmp(source, "dir") == 0;
	return r;
}

static void take_offset(const struct subject *s, struct clock_offset *c)
{
	c->known = mprof_clocks_offset(&s->clocks, true, &c->ns, &c->uncertainty_ns);
	c->stepped = s->clocks.stepped;
	c->ends = c->known && s->newest.real && s->newest.real <= INT64_MAX;
	c->end_ns = c->ends ? (int64_t)s->newest.real : 0;
}

static int read_streams(struct subject *s)
{
	const json_t *stream;
	int r = CTL_OK;
	int64_t number;
	size_t i;

	json_array_foreach(json_object_get(s->of, "streams"), i, stream)
	{
		number = json_integer_value(json_object_get(stream, "stream"));
		if (!r && is_selected(s->s, number))
			r = read_stream(s, number);
	}
	return r;
}

int clocks_offset(struct clock_offset *c, struct http *h, const struct trace_source *t, struct selection *s, char *run)
{
	CLEANUP(subject_deinit) struct subject x = {.h = h, .trace = t, .s = s};
	bool local = false;
	int r = describe(h, t, &x.json);

	*c = (struct clock_offset){.missing = x.json ? CLOCK_MISSING_STAMPS : CLOCK_MISSING_GUEST};
	if (r || !x.json)
		return r;
	x.of = x.json;
	if (t->kind == SOURCE_DOMAIN) {
		if (!s->run && json_is_integer(json_object_get(x.json, "run"))) {
			snprintf(run, CLOCKS_RUN_MAX, "%" JSON_INTEGER_FORMAT,
				 json_integer_value(json_object_get(x.json, "run")));
			s->run = run;
		}
		x.of = s->run ? find_run(x.json, strtoll(s->run, NULL, 10)) : NULL;
	}
	r = read_streams(&x);
	r = r ? r : ask_local(&x, &local);
	if (r)
		return r;
	if (local)
		mprof_clocks_host(&x.clocks);
	take_offset(&x, c);
	return CTL_OK;
}
