/* The packets of each ring, in memory. */
#include "runtime-streams.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"

struct runtime_streams {
	struct grow packets[MPROF_RUNTIME_RINGS_MAX]; /* bytes */
	uint64_t damages;
};

static int write_packets(void *context, uint32_t ring, const void *bytes, size_t len)
{
	struct grow *g = &((struct runtime_streams *)context)->packets[ring];

	if (!grow_reserve(g, 1, (uint32_t)len))
		return MPROF_RUNTIME_NOMEM;
	memcpy((uint8_t *)g->items + g->n, bytes, len);
	g->n += (uint32_t)len;
	return 0;
}

/* Read the rings of MAP. Return false without memory. */
static bool read_rings(struct runtime_streams *s, struct mprof_runtime_map *map,
		       const struct mprof_runtime_layout *layout, uint64_t seed)
{
	const struct mprof_runtime_memory memory = {.load = mprof_runtime_map_load, .context = map};
	struct mprof_runtime_packets *packets = mprof_runtime_packets_new(write_packets, s);
	struct mprof_runtime *reader = mprof_runtime_new(&memory, layout);
	struct mprof_runtime_translator *translator = NULL;
	struct mprof_runtime_events events;
	struct mprof_runtime_sink sink;
	int stopped = MPROF_RUNTIME_NOMEM;

	if (packets && reader) {
		events = mprof_runtime_packets_events(packets, layout->ring_words);
		translator = mprof_runtime_translator_new(&events, seed);
	}
	if (translator) {
		sink = mprof_runtime_translator_sink(translator);
		if (mprof_runtime_read(reader, &sink, &stopped) != MPROF_OK)
			stopped = MPROF_RUNTIME_NOMEM;
		stopped = stopped ? stopped : mprof_runtime_translator_end(translator);
		stopped = stopped ? stopped : mprof_runtime_packets_end(packets);
		s->damages = mprof_runtime_totals(reader)->damages;
	}
	mprof_runtime_translator_free(translator);
	mprof_runtime_packets_free(packets);
	mprof_runtime_free(reader);
	return !stopped;
}

struct runtime_streams *runtime_streams_new(const void *bytes, size_t len, uint64_t seed)
{
	struct mprof_runtime_map map = {.bytes = bytes, .len = len};
	const struct mprof_runtime_memory memory = {.load = mprof_runtime_map_load, .context = &map};
	struct runtime_streams *s = calloc(1, sizeof(*s));
	struct mprof_runtime_layout layout;

	if (!s || mprof_runtime_layout_load(&layout, &memory, len) != MPROF_OK)
		return s;
	return read_rings(s, &map, &layout, seed) ? s : runtime_streams_free(s);
}

struct runtime_streams *runtime_streams_free(struct runtime_streams *s)
{
	if (!s)
		return NULL;
	for (uint32_t i = 0; i < MPROF_RUNTIME_RINGS_MAX; i++)
		grow_deinit(&s->packets[i]);
	free(s);
	return NULL;
}

uint32_t runtime_streams_ring(const struct runtime_streams *s, uint32_t ring)
{
	while (ring < MPROF_RUNTIME_RINGS_MAX && !s->packets[ring].n)
		ring++;
	return ring;
}

const uint8_t *runtime_streams_bytes(const struct runtime_streams *s, uint32_t ring)
{
	return s->packets[ring].items;
}

size_t runtime_streams_size(const struct runtime_streams *s, uint32_t ring)
{
	return s->packets[ring].n;
}

uint32_t runtime_streams_damages(const struct runtime_streams *s)
{
	return s->damages < UINT32_MAX ? (uint32_t)s->damages : UINT32_MAX;
}
