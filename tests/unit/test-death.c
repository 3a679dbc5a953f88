/*
 * How the collector archives the last bytes of guests that die, with real rings, guests, the queue,
 * and a real archive.
 *
 * Each event has a number of its own, so the test compares all archived bytes, and checks that
 * every missing byte lies in a declared gap. The queue takes room back from running guests at any
 * moment, and the commit thread comes late, is slow, or never comes.
 */
#include <sys/eventfd.h>

#include <mprof/packet.h>
#include <mprof/ring.h>

#include "archive-fixture.h"
#include "commit-thread.h"
#include "guest.h"

/*
 * With a sanitizer the copying of single bytes is slow, so the tests do less and allow more time.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED 0
#endif

#define KIB	    1024u
#define MIB	    (KIB * KIB)
#define EVENT_BYTES 17u
#define PACKETS	    4u
#define PATIENCE    (40 * NS_PER_MS)
#define PAST	    256u /* streams of one test */

/* A guest with one ring, and its writer. */
struct life {
	struct guest guest;
	struct stream stream;
	struct memory_array memory;
	uint8_t *bytes;
	uint32_t size, used;
	uint64_t sequence;
};

/*
 * Position in a stream. At the end the archive must have every byte before it, or a gap that covers
 * the byte.
 */
struct past {
	int64_t stream;
	uint64_t sequence;
	uint32_t offset;
};

struct host {
	struct guest_shared shared;
	struct config config;
	struct queue *queue;
	enum policy_mode mode; /* of each guest that begins */
	uint64_t random;
	struct past past[PAST];
	size_t n_past;
};

static uint64_t random_below(struct host *host, uint64_t below)
{
	host->random = host->random * 6364136223846793005u + 1442695040888963407u;
	return below ? (host->random >> 33) % below : 0;
}

/* ---- the writer ------------------------------------------------------------------------------ */

static void event_make(int64_t stream, uint64_t sequence, uint32_t offset, uint8_t *event)
{
	uint64_t x = (uint64_t)stream * 0x9e3779b97f4a7c15u + sequence * 0xff51afd7ed558ccdu + offset;

	mprof_store64(event, 1 + sequence * 1000000 + offset);
	event[8] = 7;
	mprof_store64(event + 9, x ^ x >> 29);
}

static uint8_t *life_packet(struct life *life)
{
	return life->bytes + life->sequence % PACKETS * life->size;
}

/* Write at least N bytes of events. */
static void life_write(struct life *life, uint32_t n)
{
	for (uint32_t written = 0; written < n; written += EVENT_BYTES) {
		if (life->used + EVENT_BYTES >= life->size) {
			life->sequence++;
			life->used = MPROF_PACKET_HEADER_BYTES;
			mprof_store16(life_packet(life) + 24, (uint16_t)life->sequence);
		}
		event_make(life->stream.id, life->sequence, life->used, life_packet(life) + life->used);
		life->used += EVENT_BYTES;
		mprof_store32(life_packet(life) + 26, life->used * 8);
	}
}

/* Make an empty ring for the guest, not attached yet. */
static void ring_make(struct life *life, uint32_t ring_bytes)
{
	*life = (struct life){.size = ring_bytes / PACKETS, .used = MPROF_PACKET_HEADER_BYTES};
	life->bytes = calloc(1, ring_bytes);
	for (uint32_t i = 0; i < PACKETS; i++) {
		const struct mprof_packet_header h = {
			.packet_bytes = life->size, .content_bytes = MPROF_PACKET_HEADER_BYTES, .count = (uint16_t)i};

		mprof_packet_store(&h, life->bytes + i * life->size);
	}
	memory_array_init(&life->memory, life->bytes, ring_bytes);
}

static bool life_begin(struct life *life, struct host *host, uint32_t ring_bytes, uint64_t patience)
{
	const struct guest_identity who = {.source = "dir", .name = "guest", .key = "key", .domid = -1};
	const char *fault = "";

	ring_make(life, ring_bytes);
	if (!CHECK_EQ_INT(guest_init(&life->guest, &host->shared, &who, 0, patience), 0))
		return false;
	life->guest.policy.mode = host->mode;
	return CHECK_EQ_INT(stream_attach(&life->stream, &life->guest, 0, NULL, &life->memory.memory, ring_bytes, NULL,
					  false, &fault),
			    0) &&
	       CHECK_EQ_INT(guest_set_state(&life->guest, "running", NULL), 0);
}

static int life_poll(struct life *life)
{
	uint64_t next;

	return stream_poll(&life->stream, clock_mono(), &next);
}

static void past_add(struct host *host, int64_t stream, uint64_t sequence, uint32_t offset)
{
	if (CHECK(host->n_past < PAST))
		host->past[host->n_past++] = (struct past){stream, sequence, offset};
}

static void life_deinit(struct life *life)
{
	guest_deinit(&life->guest);
	free(life->bytes);
}

/* Kill the guest. The archive must account for all bytes up to its last event. */
static void life_end(struct life *life, struct host *host)
{
	CHECK(guest_capture_begin(&life->guest, "crash", NULL, true, NULL) > 0);
	while (!guest_capture_done(&life->guest)) {
		life_poll(life);
		if (!guest_capture_done(&life->guest))
			usleep(1000);
	}
	past_add(host, life->stream.id, life->sequence, life->used);
	CHECK_EQ_INT(guest_set_state(&life->guest, "ended", "crash"), 0);
	life_deinit(life);
}

/* Remove the guest's ring. The archive must account for all bytes that the ring handed over. */
static void life_leave(struct life *life, struct host *host)
{
	const struct ring *ring = &life->stream.ring;

	if (ring_owes(ring))
		past_add(host, life->stream.id, ring->debt.owed.sequence, ring->debt.owed.offset);
	else
		past_add(host, life->stream.id, ring->cursor.sequence, ring->cursor.offset);
	CHECK_EQ_INT(guest_set_state(&life->guest, "ended", "ended"), 0);
	life_deinit(life);
}

static bool host_init(struct host *host, uint64_t seed, size_t limit, size_t per_guest, size_t reserve)
{
	*host = (struct host){.random = seed};
	host->queue = queue_new(limit, per_guest, reserve);
	host->config = (struct config){.flush_interval_ns = 50 * NS_PER_MS};
	host->shared = (struct guest_shared){.config = &host->config, .queue = host->queue, .archiving = true};
	return CHECK(host->queue != NULL);
}

/* ---- the archive ----------------------------------------------------------------------------- */

/* Progress of a check that reads one stream of the archive in order. */
struct walk {
	int64_t stream;
	uint64_t sequence;
	uint32_t offset;
	bool complete; /* the packet is complete at OFFSET */
	uint64_t lost;
};

static bool bytes_hold(const struct walk *walk, uint32_t offset, const uint8_t *got, uint32_t length)
{
	uint8_t event[EVENT_BYTES];
	uint32_t at = offset - MPROF_PACKET_HEADER_BYTES;

	for (uint32_t i = 0; i < length; i++, at++) {
		if (i == 0 || at % EVENT_BYTES == 0)
			event_make(walk->stream, walk->sequence,
				   MPROF_PACKET_HEADER_BYTES + at / EVENT_BYTES * EVENT_BYTES, event);
		if (got[i] != event[at % EVENT_BYTES])
			return false;
	}
	return true;
}

/*
 * Check a row of chunks or tails. The row must begin where the previous row ended, and its bytes
 * must be those that the guest wrote there.
 */
static bool row_holds(struct walk *walk, sqlite3_stmt *s)
{
	uint32_t offset = (uint32_t)sqlite3_column_int64(s, 2), length = (uint32_t)sqlite3_column_int64(s, 3);
	CLEANUP(freep) uint8_t *got = malloc(length + 1);
	struct codec_reader codec = {0};
	bool ok;

	if (walk->complete || offset > MPROF_PACKET_HEADER_BYTES
		    ? (uint64_t)sqlite3_column_int64(s, 1) != walk->sequence || offset != walk->offset
		    : (uint64_t)sqlite3_column_int64(s, 1) != walk->sequence)
		return false;
	walk->offset = offset + length;
	ok = codec_reader_init(&codec) == 0 &&
	     codec_decode(&codec, sqlite3_column_int(s, 5), sqlite3_column_blob(s, 6),
			  (size_t)sqlite3_column_bytes(s, 6), got, length) &&
	     bytes_hold(walk, offset, got, length);
	codec_reader_deinit(&codec);
	if (sqlite3_column_int(s, 4) & ARCHIVE_CHUNK_LAST) {
		walk->sequence++;
		walk->offset = MPROF_PACKET_HEADER_BYTES;
	}
	return ok;
}

static bool gap_holds(struct walk *walk, sqlite3_stmt *s)
{
	uint64_t next = (uint64_t)sqlite3_column_int64(s, 3);

	if ((uint64_t)sqlite3_column_int64(s, 1) != walk->sequence ||
	    (uint32_t)sqlite3_column_int64(s, 2) != walk->offset ||
	    (uint64_t)sqlite3_column_int64(s, 4) != next - walk->sequence)
		return false;
	walk->lost += next - walk->sequence;
	walk->sequence = next;
	walk->offset = MPROF_PACKET_HEADER_BYTES;
	return true;
}

/*
 * All rows of the stream, in order: chunks, gaps, and the tail of its last capture. A dead ring's
 * packet counts as complete if the next packet, or a gap, begins behind it.
 */
static const char *const WALK =
	"SELECT 0, sequence, offset, length, flags, codec, data FROM chunks WHERE stream = ?1 UNION ALL "
	"SELECT 1, after_sequence, after_offset, next_sequence, packets, NULL, NULL FROM gaps WHERE stream = ?1 UNION "
	"ALL "
	"SELECT 2, t.sequence, t.offset, t.length, CASE WHEN (EXISTS (SELECT 1 FROM tails u WHERE u.stream = ?1 AND"
	" u.sequence > t.sequence) OR EXISTS (SELECT 1 FROM gaps g WHERE g.stream = ?1 AND"
	" g.after_sequence > t.sequence)) AND NOT EXISTS (SELECT 1 FROM tails u WHERE u.stream = ?1 AND"
	" u.sequence = t.sequence AND u.offset > t.offset) AND NOT EXISTS (SELECT 1 FROM gaps g WHERE g.stream = ?1 AND"
	" g.after_sequence = t.sequence AND g.after_offset > 30) THEN 1 ELSE 0 END, t.codec, t.data"
	" FROM tails t WHERE stream = ?1 ORDER BY 2, 3, 1";

static void walk_stream(sqlite3 *db, const struct past *past, uint64_t *lost)
{
	struct walk walk = {.stream = past->stream, .offset = MPROF_PACKET_HEADER_BYTES};
	sqlite3_stmt *s = NULL;
	bool ok = true;

	CHECK_EQ_INT(sqlite3_prepare_v2(db, WALK, -1, &s, NULL), SQLITE_OK);
	sqlite3_bind_int64(s, 1, past->stream);
	while (ok && sqlite3_step(s) == SQLITE_ROW) {
		ok = sqlite3_column_int(s, 0) == 1 ? gap_holds(&walk, s) : row_holds(&walk, s);
		if (!ok)
			fprintf(stderr, "stream %lld: at %llu:%u comes kind %d, %llu:%u\n", (long long)past->stream,
				(unsigned long long)walk.sequence, walk.offset, sqlite3_column_int(s, 0),
				(unsigned long long)sqlite3_column_int64(s, 1), (unsigned)sqlite3_column_int64(s, 2));
	}
	sqlite3_finalize(s);
	CHECK(ok);
	if (walk.sequence < past->sequence || (walk.sequence == past->sequence && walk.offset < past->offset)) {
		fprintf(stderr, "stream %lld ends at %llu:%u, not %llu:%u\n", (long long)past->stream,
			(unsigned long long)walk.sequence, walk.offset, (unsigned long long)past->sequence,
			past->offset);
		CHECK(false);
	}
	*lost += walk.lost;
}

static void archive_check(const struct fixture *f, const struct host *host, const char *reason)
{
	sqlite3 *db = fixture_database(f);
	uint64_t lost = 0, forgotten = 0;

	for (size_t i = 0; i < host->n_past; i++) {
		const struct past *past = &host->past[i];

		/* The archive deletes a run that has ended and has no rows left but gaps. */
		if (fixture_number(f, "SELECT count(*) FROM streams WHERE id = %lld", (long long)past->stream))
			walk_stream(db, past, &lost);
		else
			forgotten += past->sequence + (past->offset > MPROF_PACKET_HEADER_BYTES);
	}
	sqlite3_close(db);
	CHECK_EQ_UINT(lost + forgotten + host->shared.counters.recovered_packets, host->shared.counters.lost_packets);
	CHECK_EQ_UINT(lost, fixture_number(f, "SELECT sum(lost_packets) FROM streams"));
	CHECK_EQ_INT(fixture_number(f, "SELECT count(*) FROM gaps WHERE reason NOT IN ('lapped', '%s')", reason), 0);
}

/* ---- everything that was written is archived or declared ------------------------------------- */

static void rounds(struct host *host, struct life *lives, size_t n, unsigned count)
{
	while (count--) {
		for (size_t i = 0; i < n; i++) {
			life_write(&lives[i], (uint32_t)random_below(host, 6 * KIB));
			life_poll(&lives[i]);
		}
		if (random_below(host, 4) == 0) {
			struct life *life = &lives[random_below(host, n)];

			if (random_below(host, 4))
				life_end(life, host);
			else
				life_leave(life, host);
			life_begin(life, host, 32 * KIB, PATIENCE);
		}
	}
}

static void run_once(uint64_t seed, uint64_t *evicted)
{
	enum { LIVES = 12 };
	struct life lives[LIVES];
	struct commit_thread *commit_thread = NULL;
	struct host host;
	struct fixture f;
	int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (!fixture_init(&f) || !host_init(&host, seed, 256 * KIB, 160 * KIB, 64 * KIB))
		return;
	for (size_t i = 0; i < LIVES; i++)
		life_begin(&lives[i], &host, 32 * KIB, PATIENCE);
	rounds(&host, lives, LIVES, 20 + (unsigned)seed % 40); /* nothing is committed yet */
	CHECK_EQ_INT(commit_thread_start(&commit_thread, &f.w, host.queue, &host.config, wake), 0);
	rounds(&host, lives, LIVES, 200);
	for (size_t i = 0; i < LIVES; i++)
		life_end(&lives[i], &host);
	commit_thread_stop(commit_thread);
	*evicted += host.shared.counters.evicted_bytes;
	CHECK_EQ_UINT(queue_level(host.queue).bytes, 0);
	archive_check(&f, &host, "queue");
	queue_free(host.queue);
	fixture_deinit(&f);
	close(wake);
}

static void test_evictions(void)
{
	uint64_t evicted = 0;

	/*
	 * Each run may pass without an eviction, if the commit thread is fast. Continue until one
	 * evicts.
	 */
	for (uint64_t seed = 1; seed <= (SANITIZED ? 3 / check_step(3) : 8) || (evicted == 0 && seed <= 32); seed++)
		run_once(seed, &evicted);
	CHECK(evicted > 0);
}

/* ---- a mapping that must go ------------------------------------------------------------------ */

/*
 * Sixty-four guests die at once. Nothing is being archived, and running guests have filled the
 * queue. All data of the dead guests finds room at once.
 */
static void test_many(void)
{
	enum { DEAD = 64, LIVING = 4 };
	static struct life dead[DEAD], living[LIVING];
	struct host host;
	uint64_t began, took, full = 0, lost;

	if (!host_init(&host, 1, 64 * MIB, 32 * MIB, 48 * MIB))
		return;
	for (size_t i = 0; i < LIVING; i++)
		life_begin(&living[i], &host, MIB, 700 * NS_PER_MS);
	while (!full)
		for (size_t i = 0; i < LIVING; i++) {
			life_write(&living[i], 200 * KIB);
			full += life_poll(&living[i]) == RING_E_FULL;
		}
	CHECK(queue_level(host.queue).bytes > 60 * MIB);
	for (size_t i = 0; i < DEAD; i++) {
		life_begin(&dead[i], &host, MIB, 700 * NS_PER_MS);
		life_write(&dead[i], MIB - 1000);
	}
	full = host.shared.counters.queue_full;
	lost = host.shared.counters.lost_packets;
	began = clock_mono();
	for (size_t i = 0; i < DEAD; i++) {
		CHECK(guest_capture_begin(&dead[i].guest, "crash", NULL, true, NULL) > 0);
		life_poll(&dead[i]);
		CHECK(guest_capture_done(&dead[i].guest));
	}
	took = clock_mono() - began;
	fprintf(stderr, "64 rings of 1 MiB are copied in %.1f ms\n", (double)took / 1e6);
	CHECK_EQ_UINT(host.shared.counters.queue_full, full);
	CHECK(host.shared.counters.evicted_bytes >= 8 * MIB);
	CHECK(host.shared.counters.evicted_bytes < 17 * MIB); /* no more than needed */
	CHECK_EQ_UINT(host.shared.counters.lost_packets, lost);
	for (size_t i = 0; i < DEAD; i++)
		life_deinit(&dead[i]);
	for (size_t i = 0; i < LIVING; i++)
		life_deinit(&living[i]);
	queue_free(host.queue);
}

/*
 * A dead guest has more data than there is room, and no commit makes room. The newest data is kept,
 * and the ring is released when PATIENCE has passed.
 */
static void test_newest(void)
{
	struct host host;
	struct life life;
	struct fixture f;
	struct commit_thread *commit_thread = NULL;
	int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (!fixture_init(&f) || !host_init(&host, 1, MIB, MIB, MIB))
		return;
	life_begin(&life, &host, 4 * MIB, PATIENCE);
	life_write(&life, 5 * MIB / 2); /* packets 0 and 1, and a part of packet 2 */
	life_end(&life, &host);
	CHECK_EQ_UINT(host.shared.counters.lost_packets, 2);
	life_begin(&life, &host, 64 * KIB, PATIENCE); /* there is room for the next guest */
	life_write(&life, 60 * KIB);
	life_end(&life, &host);
	CHECK_EQ_UINT(host.shared.counters.lost_packets, 2);
	CHECK_EQ_INT(commit_thread_start(&commit_thread, &f.w, host.queue, &host.config, wake), 0);
	commit_thread_stop(commit_thread);
	archive_check(&f, &host, "queue");
	CHECK_EQ_INT(fixture_number(&f, "SELECT next_sequence FROM gaps WHERE stream = 1"), 2);
	CHECK(fixture_number(&f, "SELECT (SELECT coalesce(sum(length), 0) FROM chunks WHERE stream = 1) +"
				 " (SELECT coalesce(sum(length), 0) FROM tails WHERE stream = 1)") > 400 * KIB);
	queue_free(host.queue);
	fixture_deinit(&f);
	close(wake);
}

/*
 * As test_newest, with a ring of which nothing is proven, so all its data is a tail. Packets 0 and
 * 1 both keep the first bytes, for which there was room.
 */
static void test_newest_tail(void)
{
	struct host host;
	struct life life;
	struct fixture f;
	struct commit_thread *commit_thread = NULL;
	int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (!fixture_init(&f) || !host_init(&host, 1, 3 * MIB, 3 * MIB, 3 * MIB))
		return;
	life_begin(&life, &host, 16 * MIB, PATIENCE);
	life_write(&life, 15 * MIB / 2); /* packet 0, which has 4 MiB, and nearly all of packet 1 */
	life_end(&life, &host);
	CHECK_EQ_INT(commit_thread_start(&commit_thread, &f.w, host.queue, &host.config, wake), 0);
	commit_thread_stop(commit_thread);
	archive_check(&f, &host, "queue");
	CHECK_EQ_UINT(host.shared.counters.lost_packets, 2); /* a part of each packet */
	CHECK(fixture_number(&f, "SELECT sum(length) FROM tails WHERE sequence = 0") >= MIB);
	CHECK(fixture_number(&f, "SELECT sum(length) FROM tails WHERE sequence = 1") >= MIB);
	queue_free(host.queue);
	fixture_deinit(&f);
	close(wake);
}

/*
 * A guest initialises its ring again behind the packet PACKET, writes N bytes, and dies before the next poll. The capture ends where the
 * copy was, the rest is declared lost, and no byte of the other ring is taken for one of this ring. MODE is the guest's policy.
 */
static void renewed(enum policy_mode mode, uint64_t packet, uint32_t n)
{
	struct host host;
	struct life life, other;
	struct fixture f;
	struct commit_thread *commit_thread = NULL;
	struct ring_cursor at;
	int r = 0, wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (!fixture_init(&f) || !host_init(&host, 1, MIB, MIB, MIB))
		return;
	host.mode = mode;
	life_begin(&life, &host, 32 * KIB, PATIENCE);
	while (life.sequence < packet || life.used < 3 * KIB) {
		life_write(&life, 1);
		life_poll(&life);
	}
	at = life.stream.ring.cursor;
	ring_make(&other, 32 * KIB);
	other.stream.id = 77;
	life_write(&other, n);
	for (uint64_t i = 0; i <= other.sequence; i++) /* other times */
		mprof_store64(other.bytes + i * other.size + MPROF_PACKET_HEADER_BYTES, 2 + i * 1000000);
	memcpy(life.bytes, other.bytes, 32 * KIB);
	free(other.bytes);
	CHECK(guest_capture_begin(&life.guest, "crash", NULL, true, NULL) > 0);
	for (int i = 0; i < 5 && r != RING_E_RENEWED && !guest_capture_done(&life.guest); i++)
		r = life_poll(&life);
	if (!CHECK_EQ_INT(r, RING_E_RENEWED))
		fprintf(stderr, "policy %d, behind packet %llu, with %u bytes\n", mode, (unsigned long long)packet, n);
	CHECK(guest_capture_done(&life.guest));
	stream_declare_unseen(&life.stream);
	CHECK_EQ_INT(guest_set_state(&life.guest, "ended", "crash"), 0);
	life_deinit(&life);
	CHECK_EQ_INT(commit_thread_start(&commit_thread, &f.w, host.queue, &host.config, wake), 0);
	commit_thread_stop(commit_thread);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM tails"), 0);
	CHECK_EQ_INT(fixture_number(
			     &f, "SELECT count(*) FROM capture_streams WHERE last_sequence = %llu AND last_offset = %u",
			     (unsigned long long)at.sequence, at.offset),
		     1);
	CHECK_EQ_INT(fixture_number(&f,
				    "SELECT count(*) FROM gaps WHERE at_least AND packets = 1 AND after_sequence = %llu"
				    " AND after_offset = %u",
				    (unsigned long long)at.sequence, at.offset),
		     1);
	CHECK_EQ_UINT(host.shared.counters.lost_packets, 1);
	queue_free(host.queue);
	fixture_deinit(&f);
	close(wake);
}

static void test_renewed(void)
{
	for (uint64_t packet = 0; packet < 6; packet += check_step(2)) {
		renewed(POLICY_CONTINUOUS, packet, 1);
		renewed(POLICY_CONTINUOUS, packet, KIB);
		renewed(POLICY_CONTINUOUS, packet, 20 * KIB);
	}
	for (uint64_t packet = 5; packet < 10; packet += check_step(2)) {
		renewed(POLICY_ON_CRASH, packet, 1);
		renewed(POLICY_ON_CRASH, packet, KIB);
		renewed(POLICY_ON_CRASH, packet, 20 * KIB);
	}
}

/*
 * One guest has two rings, and there is too little room for either. Each ring keeps its newest
 * data.
 */
static void test_two_rings(void)
{
	struct host host;
	struct life first, second;
	struct fixture f;
	struct commit_thread *commit_thread = NULL;
	const char *fault;
	int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (!fixture_init(&f) || !host_init(&host, 1, 2 * MIB, 2 * MIB, 2 * MIB))
		return;
	host.shared.archiving = false;
	life_begin(&first, &host, 4 * MIB, PATIENCE);
	ring_make(&second, 4 * MIB);
	CHECK_EQ_INT(stream_attach(&second.stream, &first.guest, 1, NULL, &second.memory.memory, 4 * MIB, NULL, false,
				   &fault),
		     0);
	CHECK_EQ_INT(guest_set_state(&first.guest, "running", NULL), 0);
	life_write(&first, 13 * MIB / 4);
	life_write(&second, 13 * MIB / 4);
	CHECK(guest_capture_begin(&first.guest, "crash", NULL, true, NULL) > 0);
	life_poll(&first);
	CHECK(!guest_capture_done(&first.guest));
	life_poll(&second);
	CHECK(guest_capture_done(&first.guest));
	past_add(&host, 1, first.sequence, first.used);
	past_add(&host, 2, second.sequence, second.used);
	/* The second ring also gets the room that the first one left. */
	CHECK_EQ_UINT(host.shared.counters.lost_packets, 5);
	life_deinit(&first);
	free(second.bytes);
	CHECK_EQ_INT(commit_thread_start(&commit_thread, &f.w, host.queue, &host.config, wake), 0);
	commit_thread_stop(commit_thread);
	archive_check(&f, &host, "disk");
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(DISTINCT stream) FROM tails WHERE sequence = 3"), 2);
	queue_free(host.queue);
	fixture_deinit(&f);
	close(wake);
}

/* The disk is full, so a wait would not help: the capture ends at once. */
static void test_disk(void)
{
	struct host host;
	struct life life;
	struct fixture f;
	struct commit_thread *commit_thread = NULL;
	int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (!fixture_init(&f) || !host_init(&host, 1, MIB, MIB, MIB))
		return;
	host.shared.archiving = false;
	life_begin(&life, &host, 4 * MIB, 10 * NS_PER_S);
	life_write(&life, 7 * MIB / 2);
	CHECK(guest_capture_begin(&life.guest, "crash", NULL, true, NULL) > 0);
	life_poll(&life);
	CHECK(guest_capture_done(&life.guest));
	past_add(&host, life.stream.id, life.sequence, life.used);
	CHECK_EQ_UINT(host.shared.counters.lost_packets, 3);
	life_deinit(&life);
	CHECK_EQ_INT(commit_thread_start(&commit_thread, &f.w, host.queue, &host.config, wake), 0);
	commit_thread_stop(commit_thread);
	archive_check(&f, &host, "disk");
	queue_free(host.queue);
	fixture_deinit(&f);
	close(wake);
}

/*
 * A commit thread that keeps up makes room for a ring that is larger than the whole reserve. No
 * packet is lost.
 */
static void test_large(void)
{
	struct host host;
	struct life life;
	struct fixture f;
	struct commit_thread *commit_thread = NULL;
	int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (!fixture_init(&f) || !host_init(&host, 1, 4 * MIB, 4 * MIB, 4 * MIB))
		return;
	CHECK_EQ_INT(commit_thread_start(&commit_thread, &f.w, host.queue, &host.config, wake), 0);
	life_begin(&life, &host, 32 * MIB, 10 * NS_PER_S);
	life_write(&life, 31 * MIB);
	life_end(&life, &host);
	commit_thread_stop(commit_thread);
	CHECK_EQ_UINT(host.shared.counters.lost_packets, 0);
	archive_check(&f, &host, "queue");
	queue_free(host.queue);
	fixture_deinit(&f);
	close(wake);
}

int main(void)
{
	CHECK_RUN(test_evictions);
	CHECK_RUN(test_many);
	CHECK_RUN(test_newest);
	CHECK_RUN(test_newest_tail);
	CHECK_RUN(test_renewed);
	CHECK_RUN(test_two_rings);
	CHECK_RUN(test_disk);
	CHECK_RUN(test_large);
	return check_done();
}
