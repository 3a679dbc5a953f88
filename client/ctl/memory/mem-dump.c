/* `mprofctl mem dump`: print the events of a memory profile, one per line. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mprof/memtrace.h>

#include "cleanup.h"
#include "ctl.h"
#include "json.h"
#include "mem-formats.h"
#include "mem-input.h"
#include "mem.h"
#include "memory-stream.h"
#include "options.h"
#include "output-writer.h"

/*
 * The text of a code, which is the number of a place in the program: all locations of that place,
 * as in ` Function@file.ml:10:3-20`.
 */
struct mem_place {
	char *text; /* owned; NULL before its first use */
	size_t bytes;
};

/*
 * The texts of the codes of a decoder, by the number of the code in the decoder. Each text is made
 * once, at its first use, because many stacks contain the same few codes. Control characters are
 * escaped unless RAW is set. A zeroed struct is empty.
 */
struct mem_places {
	/* Do not escape names, because the caller does; mem_places_deinit() keeps this value. */
	bool raw;
	struct mem_place *list;
	uint32_t room;
};

/*
 * Longest part of a name that is printed. The limit bounds the output: a code can have 255
 * locations, and a name from a guest can have any length.
 */
#define NAME_MAX_BYTES 4096u

static void mem_places_deinit(struct mem_places *places)
{
	for (uint32_t i = 0; i < places->room; i++)
		free(places->list[i].text);
	free(places->list);
	*places = (struct mem_places){.raw = places->raw};
}

static void put_name(FILE *out, const struct mprof_mem *m, uint32_t string, bool raw)
{
	size_t bytes;
	const char *name = mprof_mem_string(m, string, &bytes);
	CLEANUP(freep) char *safe = NULL;

	bytes = bytes < NAME_MAX_BYTES ? bytes : NAME_MAX_BYTES;
	if (raw) {
		fwrite(name, 1, bytes, out);
		return;
	}
	safe = printable(name, bytes);
	fputs(safe ? safe : "?", out);
}

static void put_location(FILE *out, const struct mprof_mem *m, const struct mprof_mem_location *l, bool raw)
{
	fputc(' ', out);
	put_name(out, m, l->function, raw);
	fputc('@', out);
	put_name(out, m, l->file, raw);
	fprintf(out, ":%" PRIu32 ":%u-%u", l->line, l->first, l->last);
}

/* Return the lower 63 bits of CODE as a signed number. */
static int64_t number_of(uint64_t code)
{
	return (int64_t)(code << 1) >> 1;
}

static bool place_make(struct mem_place *place, const struct mprof_mem *m, const struct mprof_mem_code *code, bool raw)
{
	FILE *out = open_memstream(&place->text, &place->bytes);

	if (!out)
		return false;
	if (!code->locations)
		fprintf(out, " %c%" PRId64, code->explained ? '$' : '?', number_of(code->code));
	for (uint32_t i = 0; i < code->locations; i++)
		put_location(out, m, mprof_mem_location(m, code->first_location + i), raw);
	if (memory_stream_close(out, &place->text))
		return true;
	free(place->text);
	place->text = NULL;
	return false;
}

/*
 * Return the text of code I: its locations, outermost first, with a space before each. The text is
 * " $NUMBER" if the trace says that the code has no location, and " ?NUMBER" if the trace does not
 * describe the code. PLACES owns the result. Return NULL without memory.
 */
static const struct mem_place *mem_places_at(struct mem_places *places, const struct mprof_mem *m, uint32_t i)
{
	uint32_t room = places->room ? places->room : 256;
	struct mem_place *list;

	while (room <= i)
		room *= 2;
	if (room != places->room) {
		list = realloc(places->list, room * sizeof(*list));
		if (!list)
			return NULL;
		memset(list + places->room, 0, (room - places->room) * sizeof(*list));
		places->list = list;
		places->room = room;
	}
	if (!places->list[i].text && !place_make(&places->list[i], m, mprof_mem_code(m, i), places->raw))
		return NULL;
	return &places->list[i];
}

static const char *const sources[] = {"alloc", "alloc_major", "alloc_ext"};

struct dump_state {
	struct writer out;
	struct mem_places places;
	bool json;
	uint64_t start_us;
};

static void dump_state_deinit(struct dump_state *d)
{
	writer_deinit(&d->out);
	mem_places_deinit(&d->places);
}

/*
 * Write the stack of event E: as text with a space before each frame, or as the items of a JSON
 * list. Return 0 or -ENOMEM.
 */
static int put_stack(struct dump_state *d, const struct mprof_mem *decoder, const struct mprof_mem_event *e)
{
	for (uint32_t i = 0; i < e->frames; i++) {
		const struct mem_place *place = mem_places_at(&d->places, decoder, e->stack[i]);

		if (!place)
			return -ENOMEM;
		if (!d->json) {
			writer_put(&d->out, place->text, place->bytes);
			continue;
		}
		mem_put_format(&d->out, i ? ",\"" : "\"");
		write_json_text(&d->out, place->text + 1, place->bytes - 1);
		mem_put_format(&d->out, "\"");
	}
	return 0;
}

static int put_line(struct dump_state *d, const struct mprof_mem *decoder, const struct mprof_mem_event *e)
{
	int r = 0;

	mem_put_format(&d->out, "%010" PRId64 " %010" PRId64, (int64_t)(e->time_us - d->start_us), e->id);
	if (e->kind == MPROF_MEM_ALLOC) {
		mem_put_format(&d->out, " %s %" PRIu64 " len=%" PRIu64 " dom=%u % 4" PRId64 ":", sources[e->source],
			       e->samples, e->length, e->domain, (int64_t)e->prefix);
		r = put_stack(d, decoder, e);
	} else {
		mem_put_format(&d->out, e->kind == MPROF_MEM_PROMOTE ? " promote" : " collect");
	}
	writer_put(&d->out, "\n", 1);
	return r;
}

static int put_json_line(struct dump_state *d, const struct mprof_mem *decoder, const struct mprof_mem_event *e)
{
	const char *event = e->kind == MPROF_MEM_PROMOTE ? "promote" : e->kind == MPROF_MEM_ALLOC ? "alloc" : "collect";
	int r = 0;

	mem_put_format(&d->out, "{\"time_us\":\"%" PRIu64 "\",\"id\":\"%" PRId64 "\",\"event\":\"%s\",\"domain\":%u",
		       e->time_us, e->id, event, e->domain);
	if (e->kind == MPROF_MEM_ALLOC) {
		static const char *const heaps[] = {"minor", "major", "external"};

		mem_put_format(&d->out, ",\"source\":\"%s\",\"samples\":%" PRIu64 ",\"words\":%" PRIu64,
			       heaps[e->source], e->samples, e->length);
		mem_put_format(&d->out, ",\"truncated\":%s,\"stack\":[",
			       e->flags & MPROF_MEM_TRUNCATED ? "true" : "false");
		r = put_stack(d, decoder, e);
		mem_put_format(&d->out, "]");
	}
	mem_put_format(&d->out, "}\n");
	return r;
}

static int dump_event(void *context, const struct mprof_mem *decoder, const struct mprof_mem_event *e)
{
	struct dump_state *d = context;
	int r;

	if (e->kind == MPROF_MEM_BEGIN) {
		/*
		 * Codes have another meaning in each recording, so drop the texts of the last
		 * recording.
		 */
		mem_places_deinit(&d->places);
		d->start_us = e->time_us;
		return 0;
	}
	r = d->json ? put_json_line(d, decoder, e) : put_line(d, decoder, e);
	return r ? r : -d->out.error;
}

int mem_dump(const struct ctl *ctl, int argc, char **argv)
{
	CLEANUP(mem_input_close) struct mem_input in = {.fd = -1, .hosts = ctl->hosts};
	CLEANUP(dump_state_deinit) struct dump_state d = {.json = ctl->json, .places = {.raw = ctl->json}};
	const struct mem_consumer consumer = {.event = dump_event, .context = &d};
	struct options o;
	struct operands left;
	int r = options_parse(ctl, argc, argv, &o, &left), error;

	r = r ? r : mem_input_open(&in, left.at[0], false);
	r = r ? r : mem_input_recording(o.recording, &in.recording);
	in.each = true;
	if (r)
		return r;
	if (!writer_init(&d.out, STDOUT_FILENO))
		return say_memory();
	r = mem_input_run(&in, &consumer, true);
	error = in.refused ? in.refused : writer_flush(&d.out);
	if (error == -ENOMEM)
		return say_memory();
	if (error && error != -EPIPE)
		say("cannot write standard output: %s", strerror(-error));
	return error == -EPIPE ? CTL_OK : error ? CTL_FAILED : r;
}
