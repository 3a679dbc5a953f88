/*
 * writer-hostile: write a ring file as a hostile guest does, for --seconds. Some of the time the
 * guest behaves correctly.
 *
 *  --mode chaos     Write random values to all fields of all headers and to any byte behind them,
 *                   as fast as possible. The reader's output may have no meaning; the reader must
 *                   survive.
 *  --mode pattern   Fill each incarnation of a packet with records that have the incarnation's
 *                   number, and log the number, count, first timestamp and slot (--log). So
 *                   incarnations.py can check that the bytes of a packet are of one incarnation.
 *                   Counts jump, the clock goes back, sizes fall, are stored in halves, point into
 *                   a record or past the packet, and magics and sizes are invalid for a time. The
 *                   program never changes bytes that a size has counted while count and first
 *                   timestamp stay the same, because no reader could detect that.
 *
 * In both modes the program also truncates, extends, replaces (by rename), removes and makes the
 * file again, and makes a new ring in the same file.
 */
#include "writer.h"

#include <inttypes.h>
#include <mprof/event.h>

#define PACKETS	     4u
#define RECORD_BYTES 42u /* a counter event: 9 + 8 + 8 + 16 hexadecimal digits and a NUL */

struct hostile {
	const char *path, *spare;
	uint8_t *memory;
	/* Bytes of the ring; present bytes of the file, past which nothing may be stored. */
	size_t size, limit;
	uint64_t random;
	FILE *log;
	uint64_t incarnation, last_ns, pause_us;
	uint32_t generation, slot;
	uint16_t count;
	uint64_t stores, files, good;
};

static uint32_t chance(struct hostile *w, uint32_t below)
{
	return writer_random(&w->random, below);
}

static uint32_t packet_bytes(const struct hostile *w, uint32_t slot)
{
	uint32_t each = (uint32_t)w->size / PACKETS;

	return slot + 1 < PACKETS ? each : (uint32_t)w->size - slot * each;
}

/* Store N bytes at OFFSET of packet SLOT, unless they reach past the end of the file. */
static void put(struct hostile *w, uint32_t slot, uint32_t offset, const void *bytes, size_t n)
{
	size_t at = (size_t)slot * (w->size / PACKETS) + offset;

	w->stores++;
	if (at < w->limit && w->limit - at >= n)
		memcpy(w->memory + at, bytes, n);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static void put16(struct hostile *w, uint32_t slot, uint32_t offset, uint16_t v)
{
	uint8_t b[2];

	mprof_store16(b, v);
	put(w, slot, offset, b, sizeof(b));
}

static void put64(struct hostile *w, uint32_t slot, uint32_t offset, uint64_t v)
{
	uint8_t b[8];

	mprof_store64(b, v);
	put(w, slot, offset, b, sizeof(b));
}

static void pause_a_little(struct hostile *w)
{
	if (chance(w, 2000) == 0)
		writer_sleep(1000ull * chance(w, (uint32_t)w->pause_us + 1));
}

/*
 * Store the two halves of a size, with a pause between them. HIGH_FIRST says which half is first.
 */
static void put_size(struct hostile *w, uint32_t slot, uint32_t bytes, bool high_first)
{
	uint32_t bits = bytes * 8;

	if (high_first)
		put16(w, slot, 28, (uint16_t)(bits >> 16));
	pause_a_little(w);
	put16(w, slot, 26, (uint16_t)bits);
	pause_a_little(w);
	if (!high_first)
		put16(w, slot, 28, (uint16_t)(bits >> 16));
}

/* ---- the file -------------------------------------------------------------------------------- */

static void headers_put(struct hostile *w)
{
	struct mprof_packet_header h = {.content_bytes = MPROF_PACKET_HEADER_BYTES};
	uint8_t header[MPROF_PACKET_HEADER_BYTES];

	for (uint32_t i = 0; i < PACKETS; i++) {
		h.packet_bytes = packet_bytes(w, i);
		h.count = (uint16_t)i;
		mprof_packet_store(&h, header);
		put(w, i, 0, header, sizeof(header));
	}
	w->slot = PACKETS - 1;
	w->count = UINT16_MAX;
	w->generation++;
}

/*
 * Make the packets' counts and first timestamps invalid, because their bytes are about to change.
 */
static void identities_end(struct hostile *w)
{
	for (uint32_t i = 0; i < PACKETS; i++) {
		put16(w, i, 24, (uint16_t)chance(w, 65536));
		put64(w, i, 30, 0);
	}
}

static void file_length(struct hostile *w, size_t length)
{
	w->limit = length < w->size ? length : w->size;
	if (truncate(w->path, (off_t)length) < 0)
		writer_die("%s: %s", w->path, strerror(errno));
}

static void file_new(struct hostile *w, const char *path)
{
	if (w->memory)
		munmap(w->memory, w->size);
	w->memory = writer_map(path, O_CREAT | O_TRUNC, w->size);
	w->limit = w->size;
	w->files++;
}

/*
 * Change the file in one of six ways. In the end the file is whole; a new ring is in it, except
 * after some extensions.
 */
static void file_trick(struct hostile *w)
{
	switch (chance(w, 6)) {
	case 0: /* another file replaces it */
		file_new(w, w->spare);
		if (chance(w, 2))
			headers_put(w);
		if (rename(w->spare, w->path) < 0)
			writer_die("%s: %s", w->path, strerror(errno));
		break;
	case 1: /* the file is removed and made again */
		if (unlink(w->path) < 0)
			writer_die("%s: %s", w->path, strerror(errno));
		pause_a_little(w);
		file_new(w, w->path);
		break;
	case 2: /* the file is truncated to nothing */
		file_length(w, 0);
		writer_sleep(chance(w, 3000) * 1000ull);
		file_length(w, w->size);
		break;
	case 3: /* the file is truncated in its middle */
		identities_end(w);
		file_length(w, chance(w, (uint32_t)w->size));
		writer_sleep(chance(w, 3000) * 1000ull);
		file_length(w, w->size);
		break;
	case 4: /* the file is extended and truncated again */
		file_length(w, w->size + 1 + chance(w, 100000));
		writer_sleep(chance(w, 3000) * 1000ull);
		file_length(w, w->size);
		if (chance(w, 2))
			return;
		identities_end(w);
		break;
	default: /* a new ring is made in the same file */
		identities_end(w);
		break;
	}
	headers_put(w);
}

/* ---- pattern --------------------------------------------------------------------------------- */

/*
 * Append an incarnation whose first timestamp is FIRST to the log: incarnation u64, first timestamp
 * u64, count u32, slot u32, generation u32, zero u32, all of them little-endian.
 */
static void log_put(struct hostile *w, uint64_t first)
{
	uint8_t b[32] = {0};

	mprof_store64(b, w->incarnation);
	mprof_store64(b + 8, first);
	mprof_store32(b + 16, w->count);
	mprof_store32(b + 20, w->slot);
	mprof_store32(b + 24, w->generation);
	if (w->log && fwrite(b, sizeof(b), 1, w->log) != 1)
		writer_die("the log: %s", strerror(errno));
}

/*
 * Make record number K of an incarnation whose first timestamp is FIRST. incarnations.py makes the
 * same bytes.
 */
static void record_make(const struct hostile *w, uint8_t *b, uint64_t first, uint32_t k)
{
	char digits[17];

	mprof_store64(b, first + k);
	b[8] = MPROF_EVENT_counter;
	mprof_store64(b + 9, w->incarnation);
	mprof_store64(b + 17, w->incarnation * 0x9e3779b97f4a7c15ull);
	snprintf(digits, sizeof(digits), "%016" PRIx64, w->incarnation);
	memcpy(b + 25, digits, sizeof(digits));
}

/*
 * Return a new first timestamp. It usually is a little before the present time. No first timestamp
 * is used twice.
 */
static uint64_t first_timestamp(struct hostile *w)
{
	uint64_t now = writer_now();

	if (now <= w->last_ns)
		now = w->last_ns + 1;
	w->last_ns = now;
	return chance(w, 200) ? now : now - chance(w, 1000000000);
}

/*
 * Store a lie about the active packet, whose first WRITTEN bytes are valid. The caller restores the
 * truth.
 */
static void lie(struct hostile *w, uint32_t written)
{
	switch (chance(w, 6)) {
	case 0: /* a smaller size, also inside a record; neither half may make it larger than WRITTEN */
		put_size(w, w->slot, MPROF_PACKET_HEADER_BYTES + chance(w, written - MPROF_PACKET_HEADER_BYTES + 1),
			 true);
		break;
	case 1: /* a size that is no whole number of bytes */
		put16(w, w->slot, 26, (uint16_t)(1 + 8 * chance(w, 8192)));
		break;
	case 2: /* a size past the packet's end */
		put16(w, w->slot, 28, 0xffff);
		break;
	case 3:
		put16(w, chance(w, PACKETS), 2, (uint16_t)chance(w, 65536));
		break;
	case 4:
		put16(w, chance(w, PACKETS), 20, (uint16_t)chance(w, 65536));
		break;
	default:
		put16(w, chance(w, PACKETS), 4 + chance(w, 15), (uint16_t)chance(w, 65536));
		break;
	}
	pause_a_little(w);
}

/* Restore each packet's magic, uuid and packet size. Counts and content sizes stay. */
static void heads_mend(struct hostile *w)
{
	struct mprof_packet_header h = {.content_bytes = MPROF_PACKET_HEADER_BYTES};
	uint8_t header[MPROF_PACKET_HEADER_BYTES];

	for (uint32_t i = 0; i < PACKETS; i++) {
		h.packet_bytes = packet_bytes(w, i);
		mprof_packet_store(&h, header);
		put(w, i, 0, header, 24);
	}
}

/*
 * Begin a new incarnation in the next slot. DISCIPLINED: empty the packet before its count changes,
 * as mprofd's recorder does; otherwise after that, as mirage-profile does.
 */
static void incarnation_begin(struct hostile *w, bool disciplined)
{
	w->slot = (w->slot + 1) % PACKETS;
	w->count = (uint16_t)(w->count + 1);
	if (chance(w, 200) == 0)
		w->count = (uint16_t)chance(w, 65536);
	w->incarnation++;
	if (disciplined)
		put_size(w, w->slot, MPROF_PACKET_HEADER_BYTES, true);
	put16(w, w->slot, 24, w->count);
	pause_a_little(w);
	if (!disciplined)
		put_size(w, w->slot, MPROF_PACKET_HEADER_BYTES, false);
}

/*
 * Fill one packet with the records of a new incarnation. With LIES, about half of the packets
 * contain lies.
 */
static void incarnation_write(struct hostile *w, bool lies)
{
	uint32_t room = packet_bytes(w, w->slot), at = MPROF_PACKET_HEADER_BYTES;
	bool disciplined = chance(w, 2), behaves = !lies || chance(w, 2);
	uint64_t first = first_timestamp(w);
	uint8_t record[RECORD_BYTES];

	incarnation_begin(w, disciplined);
	room = packet_bytes(w, w->slot);
	log_put(w, first);
	for (uint32_t k = 0; at + RECORD_BYTES < room && (behaves || chance(w, 3000)); k++, at += RECORD_BYTES) {
		record_make(w, record, first, k);
		if (!disciplined)
			put_size(w, w->slot, at + RECORD_BYTES, false);
		pause_a_little(w);
		put(w, w->slot, at, record, sizeof(record));
		if (disciplined)
			put_size(w, w->slot, at + RECORD_BYTES, false);
		if (behaves || chance(w, 10))
			continue;
		lie(w, at + RECORD_BYTES);
		heads_mend(w);
		put_size(w, w->slot, at + RECORD_BYTES, false);
	}
	w->good += behaves;
}

/* ---- chaos ----------------------------------------------------------------------------------- */

static void chaos_store(struct hostile *w)
{
	static const uint32_t numbers[] = {0, 1, 29, 30, 240, 241, 0x7fffffff, 0xffffffff, 8, 31};
	uint32_t slot = chance(w, PACKETS), bytes = packet_bytes(w, slot);
	uint8_t noise[64];

	switch (chance(w, 12)) {
	case 0:
		put16(w, slot, 24, (uint16_t)chance(w, 65536));
		break;
	case 1:
		put16(w, slot, 24, (uint16_t)(w->count + chance(w, 3)));
		break;
	case 2:
		put_size(w, slot, chance(w, bytes + 10), chance(w, 2));
		break;
	case 3:
		put16(w, slot, 26, (uint16_t)numbers[chance(w, 10)]);
		break;
	case 4:
		put16(w, slot, 28, (uint16_t)numbers[chance(w, 10)]);
		break;
	case 5:
		put16(w, slot, chance(w, 23), (uint16_t)chance(w, 65536));
		break;
	case 6:
		put64(w, slot, 30, writer_now());
		break;
	case 7:
		put64(w, slot, 30, writer_random64(&w->random) >> chance(w, 64));
		break;
	case 8:
		heads_mend(w);
		break;
	default:
		for (unsigned i = 0; i < sizeof(noise); i += 8)
			mprof_store64(noise + i, writer_random64(&w->random) >> chance(w, 64));
		put(w, slot, chance(w, bytes - 64), noise, sizeof(noise));
	}
}

/* ---- the program ----------------------------------------------------------------------------- */

static void run(struct hostile *w, bool chaos, uint64_t until, bool files)
{
	uint64_t now = writer_now(), trick = now + NS_PER_S / 2;

	while (!writer_ended && (now = writer_now()) < until) {
		/* Every other fifth of a second the writer is hostile. */
		bool bad = now / (NS_PER_S / 5) % 2;

		if (chaos && bad)
			for (unsigned i = 0; i < 1000; i++)
				chaos_store(w);
		else
			incarnation_write(w, bad);
		if (!files || now < trick)
			continue;
		file_trick(w);
		trick = now + chance(w, 400) * 1000000ull;
	}
}

int main(int argc, char **argv)
{
	struct hostile w = {.pause_us = 300};
	uint64_t size = 65536, seconds = 30, files = 1;
	const char *ring = NULL, *log = NULL, *mode = "chaos", *aside = NULL;
	static const struct option options[] = {
		{"ring", required_argument, NULL, 0},	  {"log", required_argument, NULL, 0},
		{"mode", required_argument, NULL, 0},	  {"size", required_argument, NULL, 0},
		{"seconds", required_argument, NULL, 0},  {"seed", required_argument, NULL, 0},
		{"pause-us", required_argument, NULL, 0}, {"files", required_argument, NULL, 0},
		{"spare", required_argument, NULL, 0},	  {0}};
	uint64_t *const numbers[] = {NULL, NULL, NULL, &size, &seconds, &w.random, &w.pause_us, &files, NULL};
	const char **const texts[] = {[0] = &ring, [1] = &log, [2] = &mode, [8] = &aside};
	char spare[4096];

	writer_options(argc, argv, options, numbers, texts);
	if (!ring || size < MPROF_RING_BYTES_MIN || size > MPROF_RING_BYTES_MAX ||
	    (strcmp(mode, "chaos") != 0 && strcmp(mode, "pattern") != 0))
		writer_die("Usage: writer-hostile --ring FILE [--mode chaos|pattern] [--log FILE] [--size BYTES] "
			   "[--seconds N]\n"
			   "       [--seed N] [--pause-us MOST] [--files 0: leave the file alone]\n"
			   "       [--spare FILE: what is renamed over the ring]");
	w.path = ring;
	w.size = size;
	snprintf(spare, sizeof(spare), "%s%s", aside ? aside : ring, aside ? "" : ".new");
	w.spare = spare;
	w.log = log ? fopen(log, "we") : NULL;
	if (log && !w.log)
		writer_die("%s: %s", log, strerror(errno));
	writer_catch_end();
	file_new(&w, ring);
	headers_put(&w);
	run(&w, strcmp(mode, "chaos") == 0, writer_now() + seconds * NS_PER_S, files != 0);
	munmap(w.memory, w.size);
	if (w.log && fclose(w.log) != 0)
		writer_die("%s: %s", log, strerror(errno));
	printf("{\"incarnations\": %" PRIu64 ", \"well_behaved\": %" PRIu64 ", \"stores\": %" PRIu64
	       ", \"generations\": %u, "
	       "\"files\": %" PRIu64 "}\n",
	       w.incarnation, w.good, w.stores, w.generation, w.files);
	return 0;
}
