/* `mprofctl mem dump`: a memory profile, one event per line. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mem-input.h"
#include "mem-places.h"
#include "mem.h"
#include "options.h"
#include "scope.h"
#include "write-json.h"
#include "writer.h"

#define LINE_MAX_BYTES 200u

static const char *const sources[] = {"alloc", "alloc_major", "alloc_ext"};

struct dumping {
	struct writer out;
	struct mem_places places;
	bool json;
	uint64_t start_us;
};

static void dumping_deinit(struct dumping *d)
{
	writer_deinit(&d->out);
	mem_places_deinit(&d->places);
}

__attribute__((format(printf, 2, 3))) static void put_format(struct writer *out, const char *format, ...)
{
	char *at = writer_room(out, LINE_MAX_BYTES);
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(at, LINE_MAX_BYTES, format, args);
	va_end(args);
	writer_advance(out, n < 0 ? 0 : (size_t)n);
}

/* Behind a blank, or in a list of JSON. */
static int put_stack(struct dumping *d, const struct mprof_mem *decoder, const struct mprof_mem_event *e)
{
	for (uint32_t i = 0; i < e->frames; i++) {
		const struct mem_place *place = mem_places_at(&d->places, decoder, e->stack[i]);

		if (!place)
			return -ENOMEM;
		if (!d->json) {
			writer_put(&d->out, place->text, place->bytes);
			continue;
		}
		put_format(&d->out, i ? ",\"" : "\"");
		write_json_text(&d->out, place->text + 1, place->bytes - 1);
		put_format(&d->out, "\"");
	}
	return 0;
}

static int put_line(struct dumping *d, const struct mprof_mem *decoder, const struct mprof_mem_event *e)
{
	int r = 0;

	put_format(&d->out, "%010" PRId64 " %010" PRId64, (int64_t)(e->time_us - d->start_us), e->id);
	if (e->kind == MPROF_MEM_ALLOC) {
		put_format(&d->out, " %s %" PRIu64 " len=%" PRIu64 " dom=%u % 4" PRId64 ":", sources[e->source],
			   e->samples, e->length, e->domain, (int64_t)e->prefix);
		r = put_stack(d, decoder, e);
	} else {
		put_format(&d->out, e->kind == MPROF_MEM_PROMOTE ? " promote" : " collect");
	}
	writer_put(&d->out, "\n", 1);
	return r;
}

static int put_json_line(struct dumping *d, const struct mprof_mem *decoder, const struct mprof_mem_event *e)
{
	const char *event = e->kind == MPROF_MEM_PROMOTE ? "promote" : e->kind == MPROF_MEM_ALLOC ? "alloc" : "collect";
	int r = 0;

	put_format(&d->out, "{\"time_us\":\"%" PRIu64 "\",\"id\":\"%" PRId64 "\",\"event\":\"%s\",\"domain\":%u",
		   e->time_us, e->id, event, e->domain);
	if (e->kind == MPROF_MEM_ALLOC) {
		static const char *const heaps[] = {"minor", "major", "external"};

		put_format(&d->out, ",\"source\":\"%s\",\"samples\":%" PRIu64 ",\"words\":%" PRIu64, heaps[e->source],
			   e->samples, e->length);
		put_format(&d->out, ",\"truncated\":%s,\"stack\":[", e->flags & MPROF_MEM_TRUNCATED ? "true" : "false");
		r = put_stack(d, decoder, e);
		put_format(&d->out, "]");
	}
	put_format(&d->out, "}\n");
	return r;
}

static int dump_event(void *data, const struct mprof_mem *decoder, const struct mprof_mem_event *e)
{
	struct dumping *d = data;
	int r;

	if (e->kind == MPROF_MEM_BEGIN) {
		/* Codes begin anew. */
		mem_places_deinit(&d->places);
		d->start_us = e->time_us;
		return 0;
	}
	r = d->json ? put_json_line(d, decoder, e) : put_line(d, decoder, e);
	return r ? r : -d->out.error;
}

int mem_dump(const struct ctl *ctl, int argc, char **argv)
{
	SCOPED(mem_input_close) struct mem_input in = {.fd = -1, .host = ctl->host};
	SCOPED(dumping_deinit) struct dumping d = {.json = ctl->json, .places = {.raw = ctl->json}};
	const struct mem_sink sink = {.event = dump_event, .data = &d};
	const char *recording = NULL;
	const struct option_def defs[] = {{"--recording", NULL, &recording, NULL}};
	struct operands left;
	int r = options_parse(argc, argv, defs, 1, &left, 1, 1), error;

	r = r ? r : mem_input_open(&in, left.at[0], false);
	r = r ? r : mem_input_recording(recording, &in.recording);
	in.each = true;
	if (r)
		return r;
	if (!writer_init(&d.out, STDOUT_FILENO))
		return say_memory();
	r = mem_input_run(&in, &sink, true);
	error = in.refused ? in.refused : writer_flush(&d.out);
	if (error == -ENOMEM)
		return say_memory();
	if (error && error != -EPIPE)
		say("cannot write standard output: %s", strerror(-error));
	return error == -EPIPE ? CTL_OK : error ? CTL_FAILED : r;
}
