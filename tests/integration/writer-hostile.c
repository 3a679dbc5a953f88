/*
 * writer-hostile: a hostile guest that runs for N seconds and sometimes behaves correctly.
 *
 *  --mode chaos     Write every field of every header and any byte behind it, at random and at full
 *                   speed. The reader's output need not mean anything; the reader must survive.
 *  --mode pattern   Fill each incarnation of a packet with records that all have its number, and
 *                   write its number, count, first timestamp and slot to --log. A packet thus shows
 *                   whether its bytes are of one incarnation (incarnations.py). Counts jump, the
 *                   clock goes back, sizes fall, tear, point into the middle of a record or past
 *                   the packet; magic and sizes go bad and come back. The only omission is a lie
 *                   that no reader could detect: changing bytes that a size has counted under the
 *                   same count and the same first timestamp.
 *
 * Both modes truncate, extend, replace (rename over), remove and re-create the file, and make the
 * ring anew in place.
 */
#include "writer.h"

#include <inttypes.h>
#include <mprof/event.h>

#define PACKETS	     4u
#define RECORD_BYTES 42u /* a counter event: 9 + 8 + 8 + 16 hexadecimal digits and a NUL */

struct hostile {
	const char *path, *spare;
	uint8_t *memory;
	size_t size, limit; /* the file's present size: nothing may be stored past it */
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

/* Store N bytes at OFFSET of packet SLOT, as far as the file goes. */
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

/* Store the halves of a size, in either order, with time for a reader between them. */
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

/* No packet has a valid incarnation any more: its bytes change from outside. */
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

/* Do something to the file. Afterwards there is a new ring in a whole file. */
static void file_trick(struct hostile *w)
{
	switch (chance(w, 6)) {
	case 0: /* replaced */
		file_new(w, w->spare);
		if (chance(w, 2))
			headers_put(w);
		if (rename(w->spare, w->path) < 0)
			writer_die("%s: %s", w->path, strerror(errno));
		break;
	case 1: /* removed and made again */
		if (unlink(w->path) < 0)
			writer_die("%s: %s", w->path, strerror(errno));
		pause_a_little(w);
		file_new(w, w->path);
		break;
	case 2: /* cut to nothing */
		file_length(w, 0);
		writer_sleep(chance(w, 3000) * 1000ull);
		file_length(w, w->size);
		break;
	case 3: /* cut in the middle */
		identities_end(w);
		file_length(w, chance(w, (uint32_t)w->size));
		writer_sleep(chance(w, 3000) * 1000ull);
		file_length(w, w->size);
		break;
	case 4: /* extended, and shortened again */
		file_length(w, w->size + 1 + chance(w, 100000));
		writer_sleep(chance(w, 3000) * 1000ull);
		file_length(w, w->size);
		if (chance(w, 2))
			return;
		identities_end(w);
		break;
	default: /* made anew in place */
		identities_end(w);
		break;
	}
	headers_put(w);
}

/* ---- pattern --------------------------------------------------------------------------------- */

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
 * The log: incarnation u64, first timestamp u64, count u32, slot u32, generation u32, zero u32,
 * little-endian.
 */
/*
 * Make record K of an incarnation whose first timestamp is FIRST. incarnations.py makes the same
 * bytes.
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

/* The clock mostly rises; a first timestamp is never used twice. */
static uint64_t first_timestamp(struct hostile *w)
{
	uint64_t now = writer_now();

	if (now <= w->last_ns)
		now = w->last_ns + 1;
	w->last_ns = now;
	return chance(w, 200) ? now : now - chance(w, 1000000000);
}

/* Lie about a packet with WRITTEN true bytes, and then restore the truth. */
static void lie(struct hostile *w, uint32_t written)
{
	switch (chance(w, 6)) {
	case 0: /* a size that falls, also into the middle of a record; its halves never exceed the written bytes */
		put_size(w, w->slot, MPROF_PACKET_HEADER_BYTES + chance(w, written - MPROF_PACKET_HEADER_BYTES + 1),
			 true);
		break;
	case 1: /* not a whole number of bytes */
		put16(w, w->slot, 26, (uint16_t)(1 + 8 * chance(w, 8192)));
		break;
	case 2: /* past the packet's end */
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

/* Restore magic, uuid and packet sizes; count and content stay. */
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

/* Begin a new incarnation in the next slot, in the recorder's order or in mirage-profile's. */
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

/* Fill one packet with one incarnation. */
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
		/* Alternate between correct and hostile phases, a fifth of a second each. */
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
