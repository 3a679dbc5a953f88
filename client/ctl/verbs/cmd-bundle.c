/*
 * `mprofctl bundle`: put several captures, guests and files on one time line.
 *
 * A bundle is an archive with one member per stream. A guest or capture contributes all its
 * streams. Each trace is read once, and its member is written at the same time. The offsets between
 * the clocks are known only when all traces were read, so they are written last, in the manifest.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/ids.h>

#include "api.h"
#include "array.h"
#include "bundle.h"
#include "cleanup.h"
#include "input.h"
#include "json-whole.h"
#include "json.h"
#include "options.h"
#include "table.h"
#include "verbs.h"

/* The state of one bundle command, with the trace that is being added now. */
struct bundle_job {
	const struct ctl *ctl;
	const char *verb;
	struct bundle *bundle;
	const char *trace;
	const char *last; /* value of the option --last, or NULL */
	int verdict;	  /* exit code so far: CTL_OK or CTL_DAMAGED */
};

static void bundle_part_deinitp(struct bundle_part *p)
{
	bundle_part_deinit(p);
}

static int part_failed(int error)
{
	if (error == -ENOMEM)
		return say_memory();
	say("cannot write a temporary file: %s; set TMPDIR to another directory", strerror(-error));
	return CTL_FAILED;
}

/*
 * Read the part of the trace OPERAND of HOSTS that S selects, and write it to the bundle as member
 * M. Return an exit code.
 */
static int read_member(struct bundle_job *j, struct bundle_member *m, const struct hosts *hosts, const char *operand,
		       const struct selection *s)
{
	const struct ctl ctl = {.hosts = *hosts, .json = j->ctl->json};
	CLEANUP(input_deinit) struct input in = {0};
	CLEANUP(bundle_part_deinitp) struct bundle_part part = {0};
	int r = bundle_part_init(&part, j->bundle, m);

	if (r)
		return part_failed(r);
	r = input_run(&in, &ctl, &part.consumer, operand, s, false, j->verb);
	if (r == INPUT_REFUSED)
		return part_failed(in.refused);
	if (r != CTL_OK && r != CTL_DAMAGED)
		return r;
	j->verdict = r == CTL_DAMAGED ? r : j->verdict;
	r = bundle_part_finish(&part);
	return r ? part_failed(r) : CTL_OK;
}

static int take_file(struct bundle_job *j, const struct trace_source *t)
{
	struct selection none = {0};
	const char *name = t->kind == SOURCE_STDIN ? "stdin" : t->name, *slash = strrchr(name, '/');
	struct bundle_member *m;

	if (j->last) {
		say_usage(j->verb, "--last selects from the daemon's traces, but %s is a file", j->trace);
		trace_source_other(t, j->trace);
		return CTL_USAGE;
	}
	m = bundle_add(j->bundle, j->trace, slash && slash[1] ? slash + 1 : name, -1, -1);
	return m ? read_member(j, m, &j->ctl->hosts, j->trace, &none) : say_memory();
}

/*
 * Add stream NUMBER of T to the bundle. Then add to CLOCKS what the stream's packets tell about the
 * clock of the run. JSON is the daemon's description of the capture, or of the guest's stream.
 * Return an exit code.
 */
static int take_stream(struct bundle_job *j, struct http *h, const struct trace_source *t, const json_t *json,
		       int64_t number, struct mprof_clocks *clocks)
{
	const char *name = json_string_value(json_object_get(json, t->kind == SOURCE_CAPTURE ? "domain" : "name"));
	int64_t run = json_integer_value(json_object_get(json, "run"));
	CLEANUP(freep) char *on_hub = api_hub_guest(json);
	CLEANUP(freep) char *operand = NULL;
	char run_text[24], stream_text[24];
	struct selection s = {.last = j->last, .stream = stream_text};
	struct bundle_member *m;
	int r;

	snprintf(run_text, sizeof(run_text), "%" PRId64, run);
	snprintf(stream_text, sizeof(stream_text), "%" PRId64, number);
	if (t->kind == SOURCE_DOMAIN)
		s.run = run_text;
	if (asprintf(&operand, "%s:%s", t->kind == SOURCE_CAPTURE ? "capture" : "domain", t->name) < 0)
		return say_memory();
	name = on_hub ? on_hub : name;
	m = bundle_add(j->bundle, j->trace, name ? name : t->name, run, number);
	if (!m)
		return say_memory();
	r = read_member(j, m, &t->hosts, operand, &s);
	if (r || number >= MPROF_STREAM_HOST)
		return r;
	r = clocks_read(clocks, h, t, &s);
	return r || t->kind != SOURCE_CAPTURE ? r : clocks_read_run(clocks, h, json, number);
}

/*
 * If JSON is a capture of a hub, ask the hub for the clock of its host. A hub that does not know it is no
 * failure. Return an exit code.
 */
static int ask_host(struct http *h, const json_t *json, struct bundle_host *host)
{
	CLEANUP(json_decrefp) json_t *answer = NULL;
	const char *name = json_string_value(json_object_get(json, "host"));
	const json_t *clock, *offset, *uncertainty;
	char path[96];
	int r;

	*host = (struct bundle_host){0};
	if (!name)
		return CTL_OK;
	snprintf(host->name, sizeof(host->name), "%s", name);
	snprintf(path, sizeof(path), "/v1/hosts/%s", host->name);
	r = http_json_unless(h, path, 404, &answer);
	clock = json_object_get(answer, "clock");
	offset = json_object_get(clock, "offset_ns");
	uncertainty = json_object_get(clock, "uncertainty_ns");
	if (!json_is_integer(offset) || !json_is_integer(uncertainty) || json_integer_value(uncertainty) < 0)
		return r;
	host->known = true;
	host->offset_ns = json_integer_value(offset);
	host->uncertainty_ns = (uint64_t)json_integer_value(uncertainty);
	return r;
}

static int take_streams(struct bundle_job *j, struct http *h, const struct trace_source *t, const json_t *json)
{
	const json_t *streams = json_object_get(json, "streams");
	size_t first = j->bundle->n, i;
	struct mprof_clocks clocks = {0};
	struct bundle_host host;
	const json_t *stream;
	int r = ask_host(h, json, &host);

	if (!json_array_size(streams)) {
		say("%s has no stream", j->trace);
		return CTL_NOT_FOUND;
	}
	json_array_foreach(streams, i, stream)
	{
		if (r || j->bundle->n == BUNDLE_MEMBERS_MAX)
			break;
		r = take_stream(j, h, t, json, json_integer_value(json_object_get(stream, "stream")), &clocks);
	}
	for (i = first; i < j->bundle->n; i++) {
		j->bundle->list[i].clocks = clocks;
		j->bundle->list[i].host = host;
	}
	return r;
}

static int take_remote(struct bundle_job *j, struct trace_source *t, bool settled)
{
	CLEANUP(http_close) struct http h = HTTP_CLOSED;
	json_t *json = NULL;
	int r = http_open(&h, &t->hosts);

	if (!r && !settled)
		r = trace_source_ask(t, &h);
	r = r ? r : trace_source_json(t, &h, &json);
	r = r ? r : take_streams(j, &h, t, json);
	json_decref(json);
	if ((r == CTL_UNREACHABLE || r == CTL_NOT_FOUND) && t->name == j->trace)
		say("there is no file %s either", t->name);
	return r;
}

static int take(struct bundle_job *j, const char *trace)
{
	const struct selection none = {0};
	struct trace_source t;
	bool settled = trace_source_parse(&t, &j->ctl->hosts, trace, true);
	int r = trace_source_check(&t, &none, j->verb);

	j->trace = trace;
	if (r)
		return r;
	if (j->bundle->n == BUNDLE_MEMBERS_MAX) {
		say("a bundle holds at most %u streams", BUNDLE_MEMBERS_MAX);
		return CTL_FAILED;
	}
	if (t.kind == SOURCE_FILE || t.kind == SOURCE_STDIN)
		return take_file(j, &t);
	return take_remote(j, &t, settled);
}

/* ---- the report */

static void report_unknown(const struct bundle *b)
{
	for (size_t i = 0; i < b->n; i++) {
		const struct bundle_member *m = &b->list[i];

		if (!m->known)
			say("%s: its clock offset is unknown; its times are used as they are", m->trace);
		else if (m->clocks.stepped)
			say("%s: its clock stepped back; the offset holds for the events after the step", m->trace);
	}
}

static void add_seconds(struct table *t, const char *sign, uint64_t ns)
{
	char text[40];

	snprintf(text, sizeof(text), "%s%" PRIu64 ".%09" PRIu64 " s", sign, ns / 1000000000, ns % 1000000000);
	table_add(t, text);
}

static int show(const struct bundle *b)
{
	static const char *const heads[] = {"FILE", "TRACE", ">EVENTS", ">OFFSET", ">AT MOST LESS"};
	struct table t;
	int r;

	table_init(&t, heads, ARRAY_SIZE(heads));
	for (size_t i = 0; i < b->n; i++) {
		const struct bundle_member *m = &b->list[i];
		uint64_t size = m->offset_ns < 0 ? 0 - (uint64_t)m->offset_ns : (uint64_t)m->offset_ns;

		table_add(&t, m->path);
		table_add(&t, m->trace);
		table_add_number(&t, m->events);
		if (m->known)
			add_seconds(&t, m->offset_ns < 0 ? "-" : "+", size);
		else
			table_add(&t, "unknown");
		if (m->known && m->uncertainty_ns != UINT64_MAX)
			add_seconds(&t, "", m->uncertainty_ns);
		else
			table_add(&t, m->known ? "unknown" : NULL);
	}
	r = table_print(&t);
	table_deinit(&t);
	return r;
}

static int report(const struct ctl *ctl, const struct bundle *b, const struct output *o)
{
	json_t *json;
	int r;

	if (!o->path) /* standard output holds the archive, so print no report */
		return CTL_OK;
	if (!ctl->json)
		return show(b);
	json = bundle_json(b);
	if (json)
		json_add_member(&json, "path", text_json(o->path, strlen(o->path)));
	r = json ? json_print(json) : say_memory();
	json_decref(json);
	return r;
}

int cmd_bundle(const struct ctl *ctl, int argc, char **argv)
{
	CLEANUP(bundle_deinit) struct bundle bundle = {0};
	CLEANUP(output_close) struct output out = {.fd = -1};
	struct bundle_job x = {.ctl = ctl, .verb = argv[0], .bundle = &bundle};
	struct options o;
	struct operands left;
	int r = options_parse(ctl, argc, argv, &o, &left);

	x.last = o.last;
	r = r ? r : selection_check(&(struct selection){.last = x.last}, argv[0]);
	r = r ? r
	      : output_open(&out, o.output ? o.output : "bundle.tar", o.output ? OUTPUT_REPLACE : OUTPUT_NEW, argv[0]);
	for (size_t i = 0; i < left.n && !r; i++)
		r = take(&x, left.at[i]);
	if (r)
		return r;
	bundle_align(&bundle);
	report_unknown(&bundle);
	r = bundle_write(&bundle, &out);
	if (r)
		return r == -ENOMEM ? say_memory() : output_complain(&out, -r);
	r = output_commit(&out);
	r = r ? r : report(ctl, &bundle, &out);
	return r ? r : x.verdict;
}
