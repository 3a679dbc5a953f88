/*
 * Packets of translated events. A packet is filled and then passed on; an event that does not fit an
 * empty packet cannot occur, because the texts of a translator are shorter.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime-translate.h"

#define PACKET_BYTES 16384u
#define FIXED_MAX    64u     /* bytes of the longest event, and of the text in front of it, without their texts */
#define COUNT_MAX    0x7fffu /* a reader takes a larger jump of the count for a step back */
#define NAMES_MAX    64u     /* interned names of a packet; further names of counters declare no kind */

/* The name of a counter, interned with its kind. */
struct name {
	uint16_t at; /* offset of the name in the packet */
	uint16_t bytes;
	uint8_t kind; /* enum mprof_counter_kind */
};

struct packet {
	uint8_t *bytes; /* header first; owned; NULL until the stream's first event */
	size_t used;
	uint16_t count;
	uint16_t jump;	    /* packets that are missing before this one */
	bool written;	    /* the stream has a packet */
	struct name *names; /* behind BYTES; the name I has the id I + 1 */
	uint32_t n_names;
};

struct mprof_runtime_packets {
	mprof_runtime_write write;
	void *context;
	uint64_t ring_words;
	struct packet *streams; /* one for each ring */
};

struct mprof_runtime_packets *mprof_runtime_packets_new(mprof_runtime_write write, void *context)
{
	struct mprof_runtime_packets *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->write = write;
	p->context = context;
	p->streams = calloc(MPROF_RUNTIME_RINGS_MAX, sizeof(*p->streams));
	return p->streams ? p : mprof_runtime_packets_free(p);
}

struct mprof_runtime_packets *mprof_runtime_packets_free(struct mprof_runtime_packets *p)
{
	if (!p)
		return NULL;
	for (uint32_t i = 0; p->streams && i < MPROF_RUNTIME_RINGS_MAX; i++)
		free(p->streams[i].bytes);
	free(p->streams);
	free(p);
	return NULL;
}

/* Write the packet of RING, which may be empty. */
static int flush(struct mprof_runtime_packets *p, uint32_t ring)
{
	struct packet *k = &p->streams[ring];
	struct mprof_packet_header h = {
		.packet_bytes = (uint32_t)k->used,
		.content_bytes = (uint32_t)k->used,
		.count = k->count++,
	};
	int r;

	mprof_packet_store(&h, k->bytes);
	r = p->write(p->context, ring, k->bytes, k->used);
	k->used = MPROF_PACKET_HEADER_BYTES;
	k->n_names = 0;
	k->written = true;
	k->jump = 0;
	return r;
}

static bool begin(struct packet *p)
{
	if (p->bytes)
		return true;
	p->bytes = malloc(PACKET_BYTES + NAMES_MAX * sizeof(*p->names));
	p->used = MPROF_PACKET_HEADER_BYTES;
	if (p->bytes)
		p->names = (struct name *)(void *)(p->bytes + PACKET_BYTES);
	return p->bytes;
}

/* Store the fields of a duration in front of its name, as mprof/extra.h describes them. */
static size_t store_duration(const struct mprof_raw_event *e, uint8_t *p)
{
	mprof_store16(p, (uint16_t)(20 + e->text_bytes + 1));
	p[2] = MPROF_EXTRA_DURATION;
	mprof_store64(p + 3, (uint64_t)e->context);
	mprof_store64(p + 11, (uint64_t)e->number);
	mprof_store32(p + 19, 0); /* the name follows */
	return MPROF_EXTRA_HEADER_BYTES + 20;
}

/* Store E at P. Return its bytes. */
static size_t store(const struct mprof_raw_event *e, uint8_t *p)
{
	enum mprof_shape shape = mprof_event_shape(e->id);
	size_t at = MPROF_EVENT_HEADER_BYTES;

	mprof_store64(p, e->timestamp);
	p[8] = e->id;
	if (shape == MPROF_SHAPE_EXTRA) {
		at += store_duration(e, p + at);
	} else if (mprof_event_has_context(e->id)) {
		mprof_store64(p + at, (uint64_t)e->context);
		at += 8;
	}
	if (shape != MPROF_SHAPE_NONE && shape != MPROF_SHAPE_TEXT && shape != MPROF_SHAPE_EXTRA) {
		mprof_store64(p + at, (uint64_t)e->number);
		at += 8;
	}
	if (shape == MPROF_SHAPE_THREAD_TYPE)
		p[at++] = e->type;
	if (e->text) {
		memcpy(p + at, e->text, e->text_bytes);
		at += e->text_bytes;
		p[at++] = 0;
	}
	return at;
}

/* Store the header of an event `extra` of KIND at P, with LENGTH bytes behind the kind. Return the place for them. */
static uint8_t *store_extra(uint8_t *p, uint64_t time, enum mprof_extra_kind kind, size_t length)
{
	mprof_store64(p, time);
	p[8] = MPROF_EVENT_extra;
	mprof_store16(p + MPROF_EVENT_HEADER_BYTES, (uint16_t)length);
	p[MPROF_EVENT_HEADER_BYTES + 2] = (uint8_t)kind;
	return p + MPROF_EVENT_HEADER_BYTES + MPROF_EXTRA_HEADER_BYTES;
}

/* Store the counter's name of E, with its kind, in PACKET. Return its id. */
static uint32_t store_name(struct packet *packet, const struct mprof_raw_event *e)
{
	uint8_t *p = store_extra(packet->bytes + packet->used, e->timestamp, MPROF_EXTRA_TEXT, 4 + e->text_bytes + 2);

	mprof_store32(p, packet->n_names + 1);
	memcpy(p + 4, e->text, e->text_bytes);
	p[4 + e->text_bytes] = 0;
	p[4 + e->text_bytes + 1] = e->type;
	packet->names[packet->n_names++] =
		(struct name){(uint16_t)(p + 4 - packet->bytes), (uint16_t)e->text_bytes, e->type};
	packet->used = (size_t)(p + 4 + e->text_bytes + 2 - packet->bytes);
	return packet->n_names;
}

/* Return the id of the counter's name of E in PACKET, which has room for it; 0 if PACKET has too many names. */
static uint32_t name_id(struct packet *packet, const struct mprof_raw_event *e)
{
	for (uint32_t i = 0; i < packet->n_names; i++)
		if (packet->names[i].kind == e->type && packet->names[i].bytes == e->text_bytes &&
		    !memcmp(packet->bytes + packet->names[i].at, e->text, e->text_bytes))
			return i + 1;
	return packet->n_names < NAMES_MAX ? store_name(packet, e) : 0;
}

/* Store E, a sample of a counter whose kind is known, in PACKET. Return false if PACKET has too many names. */
static bool store_sample(struct packet *packet, const struct mprof_raw_event *e)
{
	enum mprof_extra_kind kind = e->id == MPROF_EVENT_increase ? MPROF_EXTRA_INCREASE : MPROF_EXTRA_COUNTER;
	uint32_t id = name_id(packet, e);
	uint8_t *p;

	if (!id)
		return false;
	p = store_extra(packet->bytes + packet->used, e->timestamp, kind, 20);
	mprof_store64(p, (uint64_t)e->context);
	mprof_store64(p + 8, (uint64_t)e->number);
	mprof_store32(p + 16, id);
	packet->used = (size_t)(p + 20 - packet->bytes);
	return true;
}

static bool has_kind(const struct mprof_raw_event *e)
{
	return (e->id == MPROF_EVENT_counter || e->id == MPROF_EVENT_increase) && e->type;
}

static int on_event(void *context, uint32_t ring, const struct mprof_raw_event *e)
{
	struct mprof_runtime_packets *p = context;
	struct packet *k = &p->streams[ring];
	int r = 0;

	if (!begin(k))
		return MPROF_RUNTIME_NOMEM;
	if (k->used + FIXED_MAX + e->text_bytes + 1 > PACKET_BYTES)
		r = flush(p, ring);
	if (!r && !(has_kind(e) && store_sample(k, e)))
		k->used += store(e, k->bytes + k->used);
	return r;
}

/* A reader sees a loss between two packets only, so the first packet of a stream may be an empty one. */
static int on_lost(void *context, uint32_t ring, uint64_t words)
{
	struct mprof_runtime_packets *p = context;
	struct packet *k = &p->streams[ring];
	uint64_t packets = words / p->ring_words + (words % p->ring_words != 0);
	int r = 0;

	if (!begin(k))
		return MPROF_RUNTIME_NOMEM;
	if (!k->written || k->used > MPROF_PACKET_HEADER_BYTES)
		r = flush(p, ring);
	packets = packets < COUNT_MAX - k->jump ? packets : COUNT_MAX - k->jump;
	k->jump = (uint16_t)(k->jump + packets);
	k->count = (uint16_t)(k->count + packets);
	return r;
}

struct mprof_runtime_events mprof_runtime_packets_events(struct mprof_runtime_packets *p, uint64_t ring_words)
{
	p->ring_words = ring_words;
	return (struct mprof_runtime_events){.event = on_event, .lost = on_lost, .context = p};
}

int mprof_runtime_packets_end(struct mprof_runtime_packets *p)
{
	int r = 0;

	for (uint32_t i = 0; i < MPROF_RUNTIME_RINGS_MAX && !r; i++)
		if (p->streams[i].bytes && (p->streams[i].used > MPROF_PACKET_HEADER_BYTES || !p->streams[i].written))
			r = flush(p, i);
	return r;
}
