/*
 * The model of a ring that a recorder writes. test-recorder-model.c compares it with the recorder.
 *
 * It follows schema/README.md and the comments of mprof/recorder.h: an event is a list of bytes, and is put
 * behind the last one, or into the next packet. Nothing in it is made to be fast, to be read meanwhile, or to
 * be interrupted.
 */
#ifndef UNIT_RECORDER_MODEL_H
#define UNIT_RECORDER_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <mprof/bytes.h>
#include <mprof/recorder.h>

#define MODEL_BYTES_MAX 16384u
#define TEXTS		16u
#define TEXT_MAX	3000u
#define SECOND		1000000000u

enum kind {
	CREATES,
	READ,
	TRY_READ,
	FULFILLS,
	FAILS,
	BECOMES,
	LABEL,
	SHOULD_RESOLVE,
	INCREASE,
	COUNTER,
	DURATION,
	SWITCH,
	SUSPEND,
	GC,
	SIGNAL,
	READ_LATER,
	SIGNAL_NOSWITCH,
	INTERNED, /* the kinds behind it have an interned text */
	LABEL_TEXT = INTERNED,
	INCREASE_TEXT,
	COUNTER_TEXT,
	DURATION_TEXT,
	KINDS,
};

struct call {
	enum kind kind;
	int64_t a, b;
	unsigned type;
	const char *text;
	size_t n;
	unsigned interned; /* index of the interned text */
};

static char letters[TEXT_MAX];
/* Aligned so that the recorder remembers all of them at once. */
static _Alignas(512) struct mprof_text texts[TEXTS];

/* The times that the clock returns during the next call: for the call in the clock, and for the call itself. */
static uint64_t times[2];
static bool has_inner; /* the clock makes the call INNER */
static struct call inner;

struct model {
	uint8_t ring[MODEL_BYTES_MAX];
	size_t size, packets, packet_bytes, active, used;
	uint64_t sequence, first, newest;
	int64_t current;
	uint64_t drops, said;
	uint32_t ids[TEXTS]; /* numbers of the texts in this packet, 0 = none */
	uint32_t last_id;
	bool compatible, clock, inside;
};

static struct model model;

/* A list of bytes. */
struct bytes {
	uint8_t at[TEXT_MAX + 64];
	size_t n;
};

static void put(struct bytes *b, uint64_t v, unsigned width)
{
	for (unsigned i = 0; i < width; i++)
		b->at[b->n++] = (uint8_t)(v >> 8 * i);
}

static void put_text(struct bytes *b, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		b->at[b->n++] = (uint8_t)text[i];
	b->at[b->n++] = 0;
}

static size_t room(const struct model *m)
{
	return m->active + 1 == m->packets ? m->size - m->active * m->packet_bytes : m->packet_bytes;
}

/* Write the header of packet I. */
static void header(struct model *m, size_t i, uint64_t count, size_t used)
{
	static const uint8_t uuid[] = MPROF_PACKET_UUID;
	struct bytes b = {.n = 0};
	size_t bytes = i + 1 == m->packets ? m->size - i * m->packet_bytes : m->packet_bytes;

	put(&b, MPROF_PACKET_MAGIC, 4);
	for (size_t k = 0; k < sizeof(uuid); k++)
		put(&b, uuid[k], 1);
	put(&b, bytes * 8, 4);
	put(&b, count & 0xffff, 2);
	put(&b, used * 8, 4);
	memcpy(m->ring + i * m->packet_bytes, b.at, b.n);
}

static void turn(struct model *m)
{
	m->active = (m->active + 1) % m->packets;
	m->sequence++;
	m->used = MPROF_PACKET_HEADER_BYTES;
	memset(m->ids, 0, sizeof(m->ids));
	m->last_id = 0;
}

/* Return the bytes of the declaration that a packet of M begins with. */
static size_t declaration(const struct model *m)
{
	return m->compatible || m->packet_bytes < 128 ? 0 : 16;
}

/* Append the event ID at the time NS with the fields F. */
static void append(struct model *m, uint64_t ns, unsigned id, const struct bytes *f)
{
	struct bytes b = {.n = 0};

	if (m->used + 9 + f->n >= room(m))
		turn(m);
	if (ns < m->newest && m->newest - ns <= SECOND)
		ns = m->newest;
	if (m->used == MPROF_PACKET_HEADER_BYTES) {
		if (ns == 0)
			ns = 1;
		if (ns <= m->first && m->first - ns <= SECOND)
			ns = m->first + 1;
		m->first = ns;
	}
	m->newest = ns;
	/* An empty packet gets its writer's declaration first: its dialect, version and flags. */
	if (m->used == MPROF_PACKET_HEADER_BYTES && declaration(m)) {
		put(&b, ns, 8);
		put(&b, 14, 1);
		put(&b, 4, 2);
		put(&b, MPROF_EXTRA_RECORDER, 1);
		put(&b, MPROF_DIALECT_MPROF, 1);
		put(&b, MPROF_DIALECT_VERSION, 1);
		put(&b, MPROF_DECLARES_ORDER | (m->sequence ? 0 : MPROF_DECLARES_FIRST), 2);
	}
	put(&b, ns, 8);
	put(&b, id, 1);
	memcpy(b.at + b.n, f->at, f->n);
	b.n += f->n;
	memcpy(m->ring + m->active * m->packet_bytes + m->used, b.at, b.n);
	m->used += b.n;
	header(m, m->active, m->sequence, m->used);
}

static bool fits(const struct model *m, size_t bytes)
{
	return MPROF_PACKET_HEADER_BYTES + declaration(m) + bytes < m->packet_bytes;
}

static void model_call(struct model *m, const struct call *c);

/* Return the time of the event. */
static uint64_t model_time(struct model *m)
{
	if (m->inside)
		return times[0];
	if (m->clock && has_inner) {
		m->inside = true;
		model_call(m, &inner);
		m->inside = false;
	}
	return times[1];
}

/* Say how many events were dropped, if that is news. */
static void say(struct model *m, uint64_t ns)
{
	struct bytes f = {.n = 0};

	if (m->drops == m->said || !fits(m, 39))
		return;
	put(&f, (uint64_t)m->current, 8);
	put(&f, m->drops, 8);
	put_text(&f, "mprof-dropped", 13);
	m->said = m->drops;
	append(m, ns, 11, &f);
}

/* Record the event ID with the fields F. */
static void record(struct model *m, unsigned id, const struct bytes *f)
{
	uint64_t ns = model_time(m);

	if (!fits(m, 9 + f->n)) {
		m->drops++;
		return;
	}
	say(m, ns);
	append(m, ns, id, f);
}

static void record_numbers(struct model *m, unsigned id, int64_t a, int64_t b)
{
	struct bytes f = {.n = 0};

	put(&f, (uint64_t)a, 8);
	put(&f, (uint64_t)b, 8);
	record(m, id, &f);
}

static void record_number(struct model *m, unsigned id, int64_t a)
{
	struct bytes f = {.n = 0};

	put(&f, (uint64_t)a, 8);
	record(m, id, &f);
}

/* Record an event with the fields A, B if HAS_B, and a text. */
static void record_text(struct model *m, unsigned id, int64_t a, bool has_b, int64_t b, const char *text, size_t n)
{
	struct bytes f = {.n = 0};

	if (n >= m->packet_bytes || memchr(text, 0, n)) {
		m->drops++;
		return;
	}
	put(&f, (uint64_t)a, 8);
	if (has_b)
		put(&f, (uint64_t)b, 8);
	put_text(&f, text, n);
	record(m, id, &f);
}

static void record_duration(struct model *m, int64_t thread, int64_t ns, const char *text, size_t n)
{
	struct bytes f = {.n = 0};

	if (m->compatible)
		return;
	if (n >= m->packet_bytes || memchr(text, 0, n)) {
		m->drops++;
		return;
	}
	put(&f, 8 + 8 + 4 + n + 1, 2);
	put(&f, MPROF_EXTRA_DURATION, 1);
	put(&f, (uint64_t)thread, 8);
	put(&f, (uint64_t)ns, 8);
	put(&f, 0, 4);
	put_text(&f, text, n);
	record(m, 14, &f);
}

/* Record an event with the number of the text I. Return false if it must have the text itself. */
static bool record_interned(struct model *m, unsigned kind, int64_t a, bool has_b, int64_t b, unsigned i)
{
	struct bytes text = {.n = 0}, f = {.n = 0};
	uint64_t ns;

	put(&f, has_b ? 20 : 12, 2);
	put(&f, kind, 1);
	put(&f, (uint64_t)a, 8);
	if (has_b)
		put(&f, (uint64_t)b, 8);
	put(&text, 4 + texts[i].bytes + 1 + (texts[i].counter ? 1 : 0), 2);
	put(&text, MPROF_EXTRA_TEXT, 1);
	put(&text, 0, 4);
	put_text(&text, texts[i].text, texts[i].bytes);
	if (texts[i].counter)
		put(&text, texts[i].counter, 1);
	if (m->compatible || !fits(m, 9 + text.n + 9 + f.n + 4))
		return false;
	ns = model_time(m);
	say(m, ns);
	if (!m->ids[i] || m->used + 9 + f.n + 4 >= room(m)) {
		if (memchr(texts[i].text, 0, texts[i].bytes)) {
			m->drops++;
			return true;
		}
		/* The text stands before the event, in the same packet. */
		if (m->used + 9 + text.n + 9 + f.n + 4 >= room(m))
			turn(m);
		m->ids[i] = ++m->last_id;
		mprof_store32(text.at + 3, m->ids[i]);
		append(m, ns, 14, &text);
	}
	put(&f, m->ids[i], 4);
	append(m, ns, 14, &f);
	return true;
}

static void model_interned(struct model *m, const struct call *c)
{
	const char *text = texts[c->interned].text;
	size_t n = texts[c->interned].bytes;
	int64_t current = m->current;

	switch (c->kind) {
	case LABEL_TEXT:
		if (!record_interned(m, MPROF_EXTRA_LABEL, c->a, false, 0, c->interned))
			record_text(m, 5, c->a, false, 0, text, n);
		break;
	case INCREASE_TEXT:
		if (!record_interned(m, MPROF_EXTRA_INCREASE, current, true, c->b, c->interned))
			record_text(m, 6, current, true, c->b, text, n);
		break;
	case COUNTER_TEXT:
		if (!record_interned(m, MPROF_EXTRA_COUNTER, current, true, c->b, c->interned))
			record_text(m, 11, current, true, c->b, text, n);
		break;
	default:
		if (!record_interned(m, MPROF_EXTRA_DURATION, c->a, true, c->b, c->interned))
			record_duration(m, c->a, c->b, text, n);
	}
}

/* The calls that change the running thread, which is changed before the clock is read. */
static void model_running(struct model *m, const struct call *c)
{
	int64_t before = m->current;

	m->current = c->kind == SUSPEND ? MPROF_THREAD_NONE : c->a;
	switch (c->kind) {
	case READ:
		if (c->a != c->b % 3)
			record_numbers(m, 1, c->a, c->b % 3);
		break;
	case SIGNAL:
		record_numbers(m, 9, c->a, c->b);
		break;
	case SWITCH:
		if (c->a != before)
			record_number(m, 7, c->a);
		break;
	default:
		record_number(m, 7, -1);
	}
}

static void model_call(struct model *m, const struct call *c)
{
	struct bytes f = {.n = 0};

	switch (c->kind) {
	case CREATES:
		put(&f, (uint64_t)m->current, 8);
		put(&f, (uint64_t)c->b, 8);
		put(&f, c->type, 1);
		record(m, 0, &f);
		break;
	case FULFILLS:
		record_numbers(m, 2, m->current, c->b);
		break;
	case FAILS:
		record_text(m, 3, m->current, true, c->b, c->text, c->n);
		break;
	case BECOMES:
		record_numbers(m, 4, c->a, c->b);
		break;
	case LABEL:
		record_text(m, 5, c->a, false, 0, c->text, c->n);
		break;
	case SHOULD_RESOLVE:
		record_text(m, 5, c->a, false, 0, "__should_resolve", 16);
		break;
	case INCREASE:
		record_text(m, 6, m->current, true, c->b, c->text, c->n);
		break;
	case COUNTER:
		record_text(m, 11, m->current, true, c->b, c->text, c->n);
		break;
	case DURATION:
		record_duration(m, c->a, c->b, c->text, c->n);
		break;
	case GC:
		record_number(m, 8, c->b);
		break;
	case TRY_READ:
		record_numbers(m, 10, c->a, c->b);
		break;
	case READ_LATER:
		record_numbers(m, 12, c->a, c->b);
		break;
	case SIGNAL_NOSWITCH:
		record_numbers(m, 13, c->a, c->b);
		break;
	case READ:
	case SIGNAL:
	case SWITCH:
	case SUSPEND:
		model_running(m, c);
		break;
	default:
		model_interned(m, c);
	}
}

/* Format the ring, which holds the bytes of something else. */
static void model_init(struct model *m, size_t size, size_t packets, bool clock)
{
	m->size = size;
	m->packets = packets;
	m->packet_bytes = size / packets / 8 * 8;
	m->active = 0;
	m->used = MPROF_PACKET_HEADER_BYTES;
	m->sequence = m->first = m->newest = m->drops = m->said = 0;
	m->current = MPROF_THREAD_NONE;
	memset(m->ids, 0, sizeof(m->ids));
	m->last_id = 0;
	m->compatible = false;
	m->clock = clock;
	for (size_t i = 0; i < packets; i++) {
		header(m, i, i, MPROF_PACKET_HEADER_BYTES);
		memset(m->ring + i * m->packet_bytes + MPROF_PACKET_HEADER_BYTES, 0, 8);
	}
}

/* Another program continues the ring. */
static void model_continue(struct model *m)
{
	m->current = MPROF_THREAD_NONE;
	m->drops = m->said = 0;
	m->compatible = false;
	memset(m->ids, 0, sizeof(m->ids));
}

#endif
