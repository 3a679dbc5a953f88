/*
 * Fuzz the reader of OCaml's ring files, and the translator. The input is a ring file without its names
 * and with any words: the first byte chooses the number of rings and their size, the second one how
 * the program moves the rings while they are read.
 */
#include <stdlib.h>
#include <string.h>

#include <mprof/runtime.h>

#include "fuzz.h"

#define NAMES_BYTES (8192u * 128u)

struct program {
	const uint8_t *bytes; /* ring headers and words */
	size_t size;
	uint64_t data, names;
	uint64_t loads;
	uint8_t moves;
};

static const char *const names[] = {
	"eio.fiber",	  "eio.suspend_fiber", "eio.get",   "eio.try_get",    "eio.put",	  "eio.suspend_domain",
	"eio.create_cc",  "eio.create_fiber",  "eio.error", "eio.create_obj", "eio.name",	  "eio.exit_cc",
	"eio.exit_fiber", "eio.enter_span",    "eio.log",   "eio.exit_span",  "eio.domain_spawn", "mine",
};

/* The bytes behind the input are zero; a few ids have names. */
static bool load(void *context, uint64_t offset, void *to, size_t words)
{
	struct program *p = context;

	memset(to, 0, words * 8);
	if (offset >= p->names) {
		uint64_t id = (offset - p->names) / 128;

		require(words == 16 && (offset - p->names) % 128 == 0 && id < 8192);
		if (id < sizeof(names) / sizeof(names[0]))
			strcpy(to, names[id]);
		return true;
	}
	require(offset >= 64 && offset + words * 8 <= p->names);
	offset -= 64;
	if (offset < p->size)
		memcpy(to, p->bytes + offset, p->size - offset < words * 8 ? p->size - offset : words * 8);
	/* The program moves on. */
	if (p->moves && words == 2 && offset + 64 < p->data && ++p->loads % 3 == 0) {
		mprof_store64(to, mprof_load64(to) + p->moves * p->loads);
		mprof_store64((uint8_t *)to + 8, mprof_load64((uint8_t *)to + 8) + p->moves * p->loads);
	}
	return true;
}

/* Checks of the translated events. */
struct checks {
	uint64_t last[16];
	uint64_t events;
	struct mprof_runtime_events to;
};

static int on_event(void *context, uint32_t ring, const struct mprof_raw_event *e)
{
	struct checks *c = context;

	require(ring < 16 && e->id < MPROF_EVENT_IDS && e->timestamp >= c->last[ring]);
	require(!e->text || (e->text[e->text_bytes] == 0 && !memchr(e->text, 0, e->text_bytes)));
	c->last[ring] = e->timestamp;
	c->events++;
	return c->to.event(c->to.context, ring, e);
}

static int on_lost(void *context, uint32_t ring, uint64_t words)
{
	struct checks *c = context;

	require(ring < 16 && words);
	return c->to.lost(c->to.context, ring, words);
}

/* The packets of each ring are decoded again: every event must come back. */
static int on_packets(void *context, uint32_t ring, const void *bytes, size_t len)
{
	struct mprof_decoder *d = mprof_decoder_new();
	struct mprof_event event;
	enum mprof_status status;
	uint64_t *decoded = context;

	(void)ring;
	require(d);
	mprof_decoder_feed(d, bytes, len);
	mprof_decoder_finish(d);
	while ((status = mprof_decoder_next(d, &event)) == MPROF_OK)
		++*decoded;
	require(status == MPROF_END);
	mprof_decoder_free(d);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct program program = {0};
	struct mprof_runtime_memory memory = {.load = load, .context = &program};
	struct mprof_runtime_layout layout = {0};
	struct mprof_runtime_sink sink;
	struct mprof_runtime_events events;
	struct mprof_runtime_packets *packets;
	struct mprof_runtime_translator *translator;
	struct mprof_runtime *reader;
	struct checks checks = {0};
	uint64_t decoded = 0;

	mprof_runtime_begins(data, size);
	if (size < 2)
		return 0;
	layout.rings = 1 + data[0] % 16;
	layout.ring_words = 16u << (data[0] >> 4);
	layout.data = 64 + layout.rings * 80;
	layout.names = layout.data + layout.rings * layout.ring_words * 8;
	layout.file_bytes = layout.names + NAMES_BYTES;
	program = (struct program){data + 2, size - 2, layout.data, layout.names, 0, data[1]};
	packets = mprof_runtime_packets_new(on_packets, &decoded);
	reader = mprof_runtime_new(&memory, &layout);
	require(packets && reader);
	checks.to = mprof_runtime_packets_events(packets, layout.ring_words);
	events = (struct mprof_runtime_events){.event = on_event, .lost = on_lost, .context = &checks};
	translator = mprof_runtime_translator_new(&events, 1);
	require(translator);
	sink = mprof_runtime_translator_sink(translator);
	for (int i = 0; i < 3; i++)
		require(mprof_runtime_read(reader, &sink, NULL) == MPROF_OK);
	require(mprof_runtime_translator_end(translator) == 0 && mprof_runtime_packets_end(packets) == 0);
	require(decoded == checks.events);
	require(mprof_runtime_totals(reader)->items <= 3 * layout.rings * layout.ring_words);
	mprof_runtime_translator_free(translator);
	mprof_runtime_packets_free(packets);
	mprof_runtime_free(reader);
	return 0;
}
