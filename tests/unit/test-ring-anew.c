/*
 * Random histories of a ring that is initialised again, of late polls, and of deaths between two stores: each event that was written
 * is handed over as it was written, or declared lost, and none twice.
 *
 * All events have different times, which ascend, also from one ring to the next. So a time that is missing between two events that were
 * handed over without a gap between them is a loss that nobody declared.
 */
#include <stdlib.h>

#include "ring-guest.h"

#define SEEDS	   400u
#define STORES	   1000u /* stores after which a writer that dies has died */
#define ATTEMPTS   8u
#define EVENTS	   8192u /* more than a history has */
#define FIRST_TIME 1000u /* time of the first event */

/* The clock hardly moves, so no count can wrap around between two polls. */
uint64_t clock_own = 1000 * NS_PER_S;

static struct guest g;
static uint64_t state;

/* The stores of a writer that dies: so many are left; the others do not happen. */
static unsigned stores;

/* The packets that the writer began, of all rings, and how many of them it had begun at each event, by the event's time. */
static unsigned begun, begun_at[EVENTS];

/* The output of the reader for one ring. */
static struct {
	uint64_t last; /* time of the last event that was handed over; of the one before the first */
	bool has_gap;  /* a gap came since then */
	unsigned wrong;
} out;

static uint32_t below(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % n;
}

/* ---- the reader's output ---- */

static void event_check(uint64_t time, uint64_t check)
{
	bool next = time == out.last + 1 || (out.has_gap && time > out.last);

	if (check != time * 3 || time >= g.time || time <= out.last || !next)
		out.wrong++;
	out.last = time;
	out.has_gap = false;
}

static void on_chunk(struct ring_sink *sink, const struct ring_chunk *chunk)
{
	(void)sink;
	if (chunk->length % GUEST_EVENT || (chunk->offset - MPROF_PACKET_HEADER_BYTES) % GUEST_EVENT)
		out.wrong++;
	for (uint32_t at = 0; at + GUEST_EVENT <= chunk->length; at += GUEST_EVENT)
		event_check(mprof_load64(g.buffer + at), mprof_load64(g.buffer + at + 9));
}

/*
 * No gap may claim more lost packets than the writer began since the last event that was handed over. Both rings number their packets
 * from 0, so a gap that spans both may claim as many more as a ring has.
 */
static bool on_gap(struct ring_sink *sink, const struct ring_gap *gap)
{
	const uint64_t last = out.last - FIRST_TIME;
	const unsigned passed = begun - (last < EVENTS ? begun_at[last] : 0);

	(void)sink;
	if (gap->packets > passed + g.n)
		out.wrong++;
	out.has_gap = true;
	return true;
}

/* ---- the writer: it stores as the recorder does ---- */

static bool lives(void)
{
	return stores && stores--;
}

static void turn(void)
{
	uint8_t *at;

	g.sequence++;
	begun++;
	g.used = MPROF_PACKET_HEADER_BYTES;
	at = guest_packet(&g, g.sequence);
	if (lives())
		mprof_store32(at + 26, g.used * 8);
	if (lives())
		mprof_store64(at + MPROF_PACKET_HEADER_BYTES, 0);
	if (lives())
		mprof_store16(at + 24, (uint16_t)g.sequence);
}

static void event(void)
{
	uint8_t bytes[GUEST_EVENT];
	uint8_t *at;

	if (g.used + GUEST_EVENT >= g.room)
		turn();
	at = guest_packet(&g, g.sequence) + g.used;
	mprof_store64(bytes, g.time);
	bytes[8] = 8;
	mprof_store64(bytes + 9, g.time * 3);
	if (lives())
		memcpy(at, bytes, 8);
	if (lives())
		memcpy(at + 8, bytes + 8, sizeof(bytes) - 8);
	if (!lives())
		return;
	if (CHECK(g.time - FIRST_TIME < EVENTS))
		begun_at[g.time - FIRST_TIME] = begun;
	g.time++;
	g.used += GUEST_EVENT;
	guest_size(&g, g.sequence, g.used);
}

/* Initialise the ring again, in place. */
static void again(void)
{
	for (uint32_t i = 0; i < g.n; i++) {
		struct mprof_packet_header h = {.packet_bytes = g.room, .content_bytes = 30, .count = (uint16_t)i};
		uint8_t raw[MPROF_PACKET_HEADER_BYTES];

		mprof_packet_store(&h, raw);
		for (uint32_t at = 4; at < sizeof(raw) && lives(); at += 2)
			memcpy(g.data + (size_t)i * g.room + at, raw + at, 2);
	}
	g.sequence = 0;
	begun++;
	g.used = MPROF_PACKET_HEADER_BYTES;
	/* Before a byte is copied, the reader cannot tell the other ring from a first timestamp that it loaded half-written (rule 2). */
	out.has_gap |= g.ring.cursor.sequence == 0 && g.ring.cursor.offset == MPROF_PACKET_HEADER_BYTES;
}

/* ---- histories ---- */

static void begin(uint32_t n, uint32_t room)
{
	guest_new(&g, n, room);
	g.sink.chunk = on_chunk;
	g.sink.gap = on_gap;
	memset(&out, 0, sizeof(out));
	begun = 1;
	out.last = g.time - 1;
	stores = UINT32_MAX;
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
}

/* The ring is another one: its source declares what was lost, and attaches it again. */
static void renewed(bool dead)
{
	out.has_gap = true;
	CHECK_EQ_INT(guest_attach(&g, NULL, dead), 0);
}

static void poll_once(void)
{
	g.room_for = below(4) ? UINT32_MAX : below(3);
	if (guest_poll(&g) == RING_E_RENEWED)
		renewed(false);
	g.room_for = UINT32_MAX;
}

/* The guest is dead: copy what is there. */
static void end(void)
{
	struct ring_mark at = {0};
	uint64_t bytes;
	int r = RING_E_RENEWED;

	ring_set_dead(&g.ring, true);
	for (unsigned i = 0; i < ATTEMPTS && r; i++) {
		r = below(2) ? ring_remaining(&g.ring, &g.sink, 0, &at, &bytes) : 0;
		if (r == 0)
			r = guest_poll(&g);
		if (r == RING_E_RENEWED)
			renewed(true);
	}
	CHECK_EQ_INT(r, 0);
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, true, &at), 0);
	if (out.last + 1 != g.time && !out.has_gap)
		out.wrong++;
}

static void history(void)
{
	const uint32_t n = 2 + below(4), room = 1024 / n + 1 + below(300), parts = 1 + below(6);

	begin(n, room);
	for (uint32_t part = 0; part < parts; part++) {
		const bool is_last = part + 1 == parts;

		if (is_last && below(2))
			stores = below(room / 4 * n);
		if (part && below(2))
			again();
		for (uint32_t events = below(below(3) ? 2 * room / GUEST_EVENT : 2 * n * room / GUEST_EVENT); events;
		     events--) {
			event();
			if (below(3) == 0 && stores > STORES)
				poll_once();
		}
	}
	end();
}

static void play(uint64_t seed)
{
	state = seed;
	below(1);
	history();
	if (!CHECK_EQ_UINT(out.wrong, 0))
		fprintf(stderr, "with MPROF_ANEW_SEED=%llu\n", (unsigned long long)seed);
}

/* MPROF_ANEW_SEED tries one history, MPROF_ANEW_SEEDS as many. */
static void test_histories(void)
{
	static const uint64_t kept[] = {
		/* Another ring whose writer came to the packet at the cursor, or behind it, before a poll. */
		455,
		1359,
		1392,
		1558,
		1799,
		2159,
		/* The same, and no byte of that packet was copied yet. */
		520,
		2816,
		13789,
		16031,
		/* The same, and bytes of it were copied: 65,536 packets were said to be lost. */
		852,
		2156,
		15624,
		/* The writer died while it initialised the ring again, over a packet that was not seen. */
		3506,
		3772,
	};
	const char *one = getenv("MPROF_ANEW_SEED");
	const char *many = getenv("MPROF_ANEW_SEEDS");
	const uint64_t first = one ? strtoull(one, NULL, 10) : 1;
	const uint64_t last = one ? first : many ? strtoull(many, NULL, 10) : SEEDS;

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]) && !one; i++)
		play(kept[i]);
	for (uint64_t seed = first; seed <= last; seed++)
		play(seed);
}

int main(void)
{
	CHECK_RUN(test_histories);
	ring_detach(&g.ring);
	return check_done();
}
