/* A stack is printed for each allocation, and has few different frames: the text of each is made once. */
#include "mem-places.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "scope.h"

/* Of a name: a longer one says nothing more, and a code can have 255 locations. */
#define NAME_MAX_BYTES 4096u

void mem_places_deinit(struct mem_places *places)
{
	for (uint32_t i = 0; i < places->room; i++)
		free(places->list[i].text);
	free(places->list);
	*places = (struct mem_places){.raw = places->raw};
}

static void put_name(FILE *out, const struct mprof_mem *d, uint32_t string, bool raw)
{
	size_t bytes;
	const char *name = mprof_mem_string(d, string, &bytes);
	SCOPED(freep) char *safe = NULL;

	bytes = bytes < NAME_MAX_BYTES ? bytes : NAME_MAX_BYTES;
	if (raw) {
		fwrite(name, 1, bytes, out);
		return;
	}
	safe = printable(name, bytes);
	fputs(safe ? safe : "?", out);
}

static void put_location(FILE *out, const struct mprof_mem *d, const struct mprof_mem_location *l, bool raw)
{
	fputc(' ', out);
	put_name(out, d, l->function, raw);
	fputc('@', out);
	put_name(out, d, l->file, raw);
	fprintf(out, ":%" PRIu32 ":%u-%u", l->line, l->first, l->last);
}

/* Codes are 63 bits with a sign. */
static int64_t number_of(uint64_t code)
{
	return (int64_t)(code << 1) >> 1;
}

static bool place_make(struct mem_place *place, const struct mprof_mem *d, const struct mprof_mem_code *code, bool raw)
{
	FILE *out = open_memstream(&place->text, &place->bytes);

	if (!out)
		return false;
	if (!code->locations)
		fprintf(out, " %c%" PRId64, code->explained ? '$' : '?', number_of(code->code));
	for (uint32_t i = 0; i < code->locations; i++)
		put_location(out, d, mprof_mem_location(d, code->first_location + i), raw);
	if (fclose(out) == 0)
		return true;
	free(place->text);
	place->text = NULL;
	return false;
}

const struct mem_place *mem_places_at(struct mem_places *places, const struct mprof_mem *d, uint32_t i)
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
	if (!places->list[i].text && !place_make(&places->list[i], d, mprof_mem_code(d, i), places->raw))
		return NULL;
	return &places->list[i];
}
