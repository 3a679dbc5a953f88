/*
 * Random histories of a mirage-profile writer that dies at any store, and what the reader makes of its ring.
 *
 * The guest's clock may be set back or forth, an interrupt may record an event out of order, and the reader may
 * come late or be kept from running. Afterwards nothing that is called proven may be false, and each event that
 * was written in full is proven, in a tail or in a gap. An event of a tail that was never written is taken for
 * one only if its bytes are not those that the reader copied in the lap before. 10,000 histories, or
 * MPROF_TAIL_HISTORIES.
 *
 * Then an event of each tail is damaged, as a crash may have done it. The events behind the damage must be
 * found again, and nothing else (mprof_tail_resume()).
 */
#include <stdlib.h>
#include <string.h>

#include <mprof/event.h>
#include <mprof/packet.h>

#include "check.h"
#include "memory.h"
#include "ring.h"

#define HEADER	MPROF_PACKET_HEADER_BYTES
#define SLOTS	4u
#define ROOM	700u
#define LAPS	64u /* packets of a history */
#define EVENTS	48u /* events of a packet */
#define MINUTE	60000000000ull
#define HISTORY 10000u
#define WAYS	7u /* in which an event is damaged */

struct place {
	uint32_t at, bytes, stored; /* of the event's bytes behind its size, STORED were stored */
};

/* A packet: what the writer meant to write, and what the reader handed over. */
struct packet {
	uint8_t meant[ROOM], proven[ROOM], tail[ROOM];
	uint32_t used, proven_to, tail_from, tail_to;
	struct place events[EVENTS];
	unsigned n;
	uint64_t first; /* time of the first event */
};

struct history {
	struct ring_sink sink;
	struct memory_array memory;
	struct ring ring;
	uint8_t bytes[SLOTS * ROOM], buffer[ROOM];
	struct packet packets[LAPS];
	uint64_t random, time, sequence, left; /* LEFT: stores until the death */
	bool attached, stepped;
	uint64_t begin_sequence;
	struct ring_gap gaps[LAPS];
	unsigned n_gaps, late;
};

static struct history h;

/* Over all histories: tails with a damaged event, those in which it was found, and those that went on behind it. */
static struct {
	uint64_t tails, cut, resumed;
} damaged;

static uint64_t chance(uint64_t below)
{
	h.random ^= h.random << 13;
	h.random ^= h.random >> 7;
	h.random ^= h.random << 17;
	return h.random % below;
}

/* ---- the reader's output ---- */

static uint8_t *take_reserve(struct ring_sink *sink, size_t n, bool tail)
{
	(void)sink;
	(void)tail;
	return CHECK(n <= ROOM) ? h.buffer : NULL;
}

static void take_drop(struct ring_sink *sink)
{
	(void)sink;
}

static void take_chunk(struct ring_sink *sink, const struct ring_chunk *chunk)
{
	struct packet *p = &h.packets[chunk->sequence % LAPS];
	uint32_t to = chunk->offset + chunk->length;

	(void)sink;
	if (!CHECK(chunk->sequence < LAPS && to <= ROOM) || !chunk->length)
		return;
	memcpy((chunk->tail ? p->tail : p->proven) + chunk->offset, h.buffer, chunk->length);
	if (!chunk->tail) {
		CHECK(!chunk->unproven || RING_SETTLE);
		p->proven_to = to;
		return;
	}
	p->tail_from = chunk->offset;
	p->tail_to = to;
}

static bool take_gap(struct ring_sink *sink, const struct ring_gap *gap)
{
	(void)sink;
	if (CHECK(h.n_gaps < LAPS))
		h.gaps[h.n_gaps++] = *gap;
	return true;
}

/* ---- the writer ---- */

/* Store N bytes, unless the writer is dead. Let the reader run at times. */
static bool store(uint8_t *to, const void *from, size_t n)
{
	if (h.left == 0)
		return false;
	h.left--;
	memcpy(to, from, n);
	if (h.attached && chance(h.late) == 0)
		CHECK_EQ_INT(ring_poll(&h.ring, &h.sink), 0);
	return true;
}

static uint8_t *slot(void)
{
	return h.bytes + h.sequence % SLOTS * ROOM;
}

static bool store_size(uint32_t bytes)
{
	uint8_t raw[4];

	mprof_store32(raw, bytes * 8);
	return store(slot() + 26, raw, 2) && store(slot() + 28, raw + 2, 2);
}

static bool turn(void)
{
	uint8_t count[2];

	h.sequence++;
	h.packets[h.sequence].used = HEADER;
	mprof_store16(count, (uint16_t)h.sequence);
	return store(slot() + 24, count, 2) && store_size(HEADER);
}

static uint32_t make(uint8_t *event, bool gc)
{
	static const uint8_t ids[] = {MPROF_EVENT_switch, MPROF_EVENT_creates, MPROF_EVENT_label, MPROF_EVENT_counter};
	uint8_t id = gc ? MPROF_EVENT_gc : ids[chance(sizeof(ids))];
	uint32_t n = 17, text;

	if (chance(400) == 0) {
		h.stepped = true;
		h.time += chance(2) ? MINUTE : 0 - MINUTE;
	}
	h.time += 1 + chance(5000);
	mprof_store64(event, h.time - (chance(30) == 0 ? 3000 : 0));
	event[8] = id;
	for (unsigned i = 9; i < 17; i++)
		event[i] = (uint8_t)chance(256);
	if (id == MPROF_EVENT_creates || id == MPROF_EVENT_counter)
		for (; n < 25; n++)
			event[n] = (uint8_t)chance(256);
	if (id == MPROF_EVENT_creates)
		event[n++] = (uint8_t)chance(19);
	if (id != MPROF_EVENT_label && id != MPROF_EVENT_counter)
		return n;
	for (text = (uint32_t)chance(40); text; text--)
		event[n++] = (uint8_t)(' ' + chance(95));
	event[n++] = 0;
	return n;
}

/* Write one event; a garbage collection may write another one behind its size. Return false if the writer dies. */
static bool write_event(bool gc)
{
	uint8_t event[128], *to;
	uint32_t n = make(event, gc);
	struct packet *p = &h.packets[h.sequence];
	struct place *e;

	if (p->used + n >= ROOM || p->n == EVENTS) {
		if (!turn())
			return false;
		p = &h.packets[h.sequence];
	}
	e = &p->events[p->n++];
	*e = (struct place){.at = p->used, .bytes = n};
	to = slot() + p->used;
	memcpy(p->meant + p->used, event, n);
	if (p->n == 1)
		p->first = mprof_load64(event);
	p->used += n;
	if (!store_size(p->used) || (!gc && chance(12) == 0 && !write_event(true)) || !store(to, event, 8))
		return false;
	for (e->stored = 8; e->stored < n; e->stored++)
		if (!store(to + e->stored, event + e->stored, 1))
			return false;
	return true;
}

static void attach(void)
{
	const char *fault;

	memory_array_init(&h.memory, h.bytes, sizeof(h.bytes));
	h.attached =
		CHECK_EQ_INT(ring_attach(&h.ring, &h.memory.memory, sizeof(h.bytes), NULL, h.left == 0, &fault), 0);
	h.begin_sequence = h.ring.cursor.sequence;
}

/* ---- the judgement ---- */

static bool in_gap(uint64_t sequence, uint32_t at)
{
	for (unsigned i = 0; i < h.n_gaps; i++) {
		const struct ring_gap *g = &h.gaps[i];

		if (sequence < g->next_sequence &&
		    (sequence > g->after_sequence || (sequence == g->after_sequence && at >= g->after_offset)))
			return true;
	}
	return false;
}

/* Set TAIL for the tail of packet SEQUENCE, as mprofd-http does. */
static void limit(uint64_t sequence, struct mprof_tail *tail)
{
	const struct packet *p = &h.packets[sequence], *former = sequence >= SLOTS ? p - SLOTS : NULL;
	struct moment now = moment_now();
	uint64_t known = p->proven_to ? p->first : sequence ? h.packets[sequence - 1].first : 0;

	*tail = (struct mprof_tail){
		.not_before = known,
		.not_after = mprof_tail_latest(known, now.mono, now.real),
		.begins = p->tail_from == HEADER,
	};
	if (former && former->proven_to > p->tail_from) {
		tail->before = former->proven + p->tail_from;
		tail->before_bytes = former->proven_to - p->tail_from;
	}
	tail->earlier = sequence ? h.packets[sequence - 1].first : 0;
	tail->settled = !former || h.packets[sequence + 1].tail_to;
	if (tail->begins && (tail->settled || tail->before))
		tail->not_before = 0;
}

/*
 * Return whether the tail of packet SEQUENCE, which is valid to VALID, has an event at AT whose bytes the reader copied
 * in the lap before. The bytes of a garbage collection's event may have overwritten the end of a longer one: that is
 * one of neither lap, which nothing tells from an event of this lap. It is served as unproven.
 */
static bool is_former(uint64_t sequence, uint32_t at, uint32_t valid)
{
	const struct packet *p = &h.packets[sequence], *former = sequence >= SLOTS ? p - SLOTS : NULL;
	struct mprof_raw_event e;

	return former && valid > at && mprof_event_load(&e, p->tail + at, valid - at) == MPROF_EVENT_OK &&
	       former->proven_to >= at + e.bytes && memcmp(p->tail + at, former->proven + at, e.bytes) == 0;
}

/* Check an event E of packet SEQUENCE. VALID: end of the valid bytes of its tail. */
static bool event_right(uint64_t sequence, const struct place *e, uint32_t valid)
{
	const struct packet *p = &h.packets[sequence];
	uint32_t end = e->at + e->bytes;
	bool whole = e->stored == e->bytes;

	if (end <= p->proven_to) /* what is proven is true */
		return whole && memcmp(p->proven + e->at, p->meant + e->at, e->bytes) == 0;
	if (!whole) /* an event without any byte of its own: it is known if all its bytes are of the lap before */
		return e->stored || !is_former(sequence, e->at, valid);
	return in_gap(sequence, e->at) || (e->at >= p->tail_from && end <= p->tail_to);
}

static void show(uint64_t sequence, const struct place *e, uint32_t valid)
{
	const struct packet *p = &h.packets[sequence];

	fprintf(stderr,
		"packet %llu: event at %u, %u bytes, %u stored; proven to %u, tail %u to %u, valid to %u; written to "
		"%u of %llu\n",
		(unsigned long long)sequence, e->at, e->bytes, e->stored, p->proven_to, p->tail_from, p->tail_to, valid,
		p->used, (unsigned long long)h.sequence);
}

/* Return whether all of the packet SEQUENCE is right. */
static bool packet_right(uint64_t sequence)
{
	const struct packet *p = &h.packets[sequence];
	struct mprof_tail tail;
	uint32_t valid = p->tail_to, sure = p->used;
	bool right = true;

	if (p->tail_to) {
		limit(sequence, &tail);
		valid = p->tail_from +
			(uint32_t)mprof_tail_walk(&tail, p->tail + p->tail_from, p->tail_to - p->tail_from);
	}
	for (unsigned i = 0; i < p->n; i++) {
		if (!event_right(sequence, &p->events[i], valid)) {
			right = false;
			show(sequence, &p->events[i], valid);
		}
		if (p->events[i].stored < p->events[i].bytes && p->events[i].at < sure)
			sure = p->events[i].at;
		/* The packet's first event is an interrupt's: what is older is declared as cut. */
		if (i && mprof_load64(p->meant + p->events[i].at) < p->first && p->events[i].at < sure)
			sure = p->events[i].at;
	}
	/* Events that were whole before the first unfinished one are served, as long as the clock goes right. */
	if (!h.stepped && p->tail_to && valid < (sure < p->tail_to ? sure : p->tail_to)) {
		right = false;
		show(sequence, &p->events[p->n - 1], valid);
	}
	return right;
}

/* ---- damage ---- */

/* Damage the N bytes at P, an event, in one of several ways. */
static void damage(uint8_t *p, uint32_t n)
{
	uint64_t way = chance(WAYS), at = chance(n);

	if (way == 0)
		p[8] = (uint8_t)(MPROF_EVENT_IDS + chance(256 - MPROF_EVENT_IDS));
	else if (way == 1)
		mprof_store64(p, mprof_load64(p) - 1 - chance(mprof_load64(p) - 1));
	else if (way == 2)
		p[7] ^= (uint8_t)(0x80 >> chance(3));
	else if (way == 3)
		p[at] ^= (uint8_t)(1 << chance(8));
	else
		for (uint32_t i = way == 4 ? 0 : (uint32_t)at; i < n; i++)
			p[i] = way == 5 ? 0 : (uint8_t)chance(256);
}

/*
 * Return whether each event of BYTES, the tail of packet P, from RESUME to its end is one that was written. A
 * part of the last one may be missing: in a new ring it parses. So may the event HIT, whose damage may be as an
 * event's bytes.
 */
static bool resumed_right(const struct packet *p, const uint8_t *bytes, uint32_t resume, const struct place *hit)
{
	const struct place *e = p->events;

	for (uint32_t at = resume; at < p->tail_to; at += e->bytes) {
		while (e < p->events + p->n && e->at < at)
			e++;
		if (e == p->events + p->n || e->at != at || !e->stored ||
		    (e != hit && memcmp(bytes + at, p->meant + at, e->stored) != 0))
			return false;
	}
	return true;
}

/*
 * Return whether events must go on at event I of packet P, which was written in full from there on, behind a
 * damaged event: the tail has two of them at least, none is stale, the first is not later than the second, and no
 * clock step lies between them.
 */
static bool must_resume(const struct packet *p, const struct mprof_tail *tail, unsigned i)
{
	unsigned n = p->n;

	if (h.stepped || i + MPROF_RESUME_EVENTS > n || (p == h.packets && p->tail_from == HEADER && i == 1) ||
	    p->used != p->tail_to || (!tail->settled && tail->before_bytes < p->tail_to - p->tail_from))
		return false;
	if (i + 1 < n && mprof_load64(p->meant + p->events[i].at) > mprof_load64(p->meant + p->events[i + 1].at))
		return false;
	for (; i < n; i++)
		if (p->events[i].stored < p->events[i].bytes || mprof_load64(p->meant + p->events[i].at) < p->first)
			return false;
	return true;
}

/* Damage one event of the tail of packet SEQUENCE, or none. Return whether what is found behind it is right. */
static bool damage_right(uint64_t sequence, bool any)
{
	const struct packet *p = &h.packets[sequence];
	unsigned i = p->n ? (unsigned)chance(p->n) : 0;
	uint32_t begin = p->tail_from, valid, resume;
	const struct place *e = &p->events[i];
	struct mprof_tail tail;
	uint8_t bytes[ROOM];
	uint64_t newest = 0;

	if (!p->tail_to || (any && (!p->n || e->at < begin || e->at + e->bytes > p->tail_to)))
		return true;
	memcpy(bytes, p->tail, sizeof(bytes));
	if (any)
		damage(bytes + e->at, e->bytes);
	limit(sequence, &tail);
	valid = begin + (uint32_t)mprof_tail_walk_times(&tail, bytes + begin, p->tail_to - begin, &newest);
	resume = begin + (uint32_t)mprof_tail_resume(&tail, bytes + begin, p->tail_to - begin, valid - begin, newest);
	if (!any)
		return resumed_right(p, bytes, resume, NULL);
	damaged.tails++;
	damaged.cut += valid < p->tail_to;
	damaged.resumed += resume < p->tail_to;
	if (!CHECK(resume >= valid && resume <= p->tail_to) || !resumed_right(p, bytes, resume, e) ||
	    (valid == e->at && must_resume(p, &tail, i + 1) && resume != e->at + e->bytes)) {
		fprintf(stderr, "damaged event at %u, valid to %u, resumed at %u\n", e->at, valid, resume);
		show(sequence, e, valid);
		return false;
	}
	return true;
}

static bool run(uint64_t seed)
{
	static const unsigned late[] = {3, 20, 200, 1000000};
	uint64_t attach_at, stores;
	struct ring_mark at = {0};
	bool right = true;

	memset(&h, 0, sizeof(h));
	h.random = seed * 0x9e3779b97f4a7c15u + 1;
	h.sink = (struct ring_sink){take_reserve, take_chunk, take_drop, take_gap};
	h.time = 5000 * NS_PER_S;
	h.late = late[chance(4)];
	h.packets[0].used = HEADER;
	for (uint32_t i = 0; i < SLOTS; i++) {
		struct mprof_packet_header head = {.packet_bytes = ROOM, .content_bytes = HEADER, .count = (uint16_t)i};

		mprof_packet_store(&head, h.bytes + i * ROOM);
	}
	stores = h.left = 1 + chance(chance(3) ? 9000 : 1500);
	attach_at = chance(3) ? stores : chance(stores);
	while (h.left && h.sequence + 3 < LAPS) {
		if (!h.attached && h.left <= attach_at)
			attach();
		if (!write_event(false))
			break;
	}
	h.left = 0;
	if (!h.attached)
		attach();
	ring_set_dead(&h.ring, true);
	for (unsigned i = 0; i < 3; i++)
		CHECK_EQ_INT(ring_poll(&h.ring, &h.sink), 0);
	CHECK_EQ_INT(ring_capture(&h.ring, &h.sink, true, &at), 0);
	for (uint64_t q = h.begin_sequence; q <= h.sequence; q++)
		right = packet_right(q) && damage_right(q, false) && right;
	for (uint64_t q = h.begin_sequence; q <= h.sequence; q++)
		for (unsigned i = 0; i < 4; i++)
			right = damage_right(q, true) && right;
	ring_detach(&h.ring);
	return right;
}

static void test_histories(void)
{
	const char *most = getenv("MPROF_TAIL_HISTORIES");
	uint64_t n = most ? strtoull(most, NULL, 10) : HISTORY;

	/*
	 * Zeroes hid the end of an event, the walk took bytes two beside the next one for an event with 65,536 times its
	 * time, and the chain that begins two bytes beside the true one had such times, too.
	 */
	CHECK(run(149802));
	for (uint64_t seed = 0; seed < n; seed++)
		if (!CHECK(run(seed))) {
			fprintf(stderr, "history %llu\n", (unsigned long long)seed);
			break;
		}
	fprintf(stderr, "%llu tails with a damaged event: %llu cut, %llu of them resumed\n",
		(unsigned long long)damaged.tails, (unsigned long long)damaged.cut,
		(unsigned long long)damaged.resumed);
	CHECK(n < 1000 || (damaged.resumed > damaged.cut / 4 && damaged.cut > n));
}

int main(void)
{
	CHECK_RUN(test_histories);
	return check_done();
}
