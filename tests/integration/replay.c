/*
 * replay: lets a real mirage-profile writer write once more, from the snapshots that were taken of it.
 *
 * A reference directory has successive images of one ring (snap-NN.ctf), the truth beside them (every packet that the writer finished,
 * as one CTF stream) and says where in the truth each image stands. Replayed are the writer's stores between two images, into one ring
 * file that stays mapped: an event is counted (low half, high half) before its bytes come, a packet that is used again gets count, low
 * half, high half.  At each image the ring is as the writer had it, the event that was torn in the image torn in the same way, and the
 * replay holds for a while. An image that was copied slowly never was in memory as a whole: there the ring is what the writer had when
 * the image's newest packet was copied.
 *
 * Between two images the real writer wrote far more than they show. By default all of that is written too; with --jump 1 the replay goes
 * straight on to what the next image shows, as a reader sees it that was lapped.
 */
#include "writer.h"

#include <mprof/event.h>

#define PACKETS	  4u
#define SNAPS_MAX 100u

struct truth {
	const uint8_t **packets; /* each with its header, at its count minus FIRST */
	uint32_t first, n;
};

struct replay {
	uint8_t *ring;
	uint32_t packet_bytes;
	struct truth truth;
	uint32_t count;	   /* of the packet being written: the truth has no more than 65,536 */
	uint32_t used;	   /* of it, whole events */
	uint32_t torn;	   /* bytes of the event behind it that are counted and not written */
	uint64_t pause_ns; /* between two events */
	uint64_t rate, bytes, began;
	uint64_t events, torn_events, skipped;
};

/* ---- the files ----------------------------------------------------------------------------------------------------- */

static uint8_t *file_read(const char *path, size_t *size)
{
	FILE *f = fopen(path, "re");
	uint8_t *bytes = NULL;
	size_t room = 0, n;

	*size = 0;
	if (!f)
		return NULL;
	do {
		room = room ? 2 * room : 1 << 20;
		bytes = realloc(bytes, room);
		if (!bytes)
			writer_die("out of memory");
		n = fread(bytes + *size, 1, room - *size, f);
		*size += n;
	} while (*size == room);
	fclose(f);
	return bytes;
}

static struct mprof_packet_header header_load(const uint8_t *p, size_t n)
{
	struct mprof_packet_header h;
	enum mprof_packet_status status = mprof_packet_load(&h, p, n);

	if (status != MPROF_PACKET_OK)
		writer_die("the reference: %s", mprof_packet_status_text(status));
	return h;
}

static struct truth truth_read(const char *path)
{
	struct mprof_packet_header h;
	struct truth t = {0};
	size_t size, at = 0;
	uint8_t *bytes = file_read(path, &size);

	if (!bytes || !size)
		writer_die("%s: no truth there", path);
	t.packets = calloc(65536, sizeof(*t.packets));
	if (!t.packets)
		writer_die("out of memory");
	for (; at < size && t.n < 65536; at += h.packet_bytes) {
		h = header_load(bytes + at, size - at);
		if (h.packet_bytes > size - at)
			writer_die("%s: cut short", path);
		if (!t.n)
			t.first = h.count;
		if (h.count != t.first + t.n)
			writer_die("%s: count %u where %u belongs", path, h.count, t.first + t.n);
		t.packets[t.n++] = bytes + at;
	}
	return t;
}

/* The first packet begins where the file's bytes do. */
static void truth_free(struct truth *t)
{
	free((uint8_t *)(uintptr_t)t->packets[0]);
	free(t->packets);
}

static const uint8_t *truth_packet(const struct truth *t, uint32_t count)
{
	if (count < t->first || count - t->first >= t->n)
		writer_die("the truth has no packet %u", count);
	return t->packets[count - t->first];
}

static uint32_t content_of(const uint8_t *p)
{
	return mprof_load32(p + 26) / 8;
}

/* The length of the event at AT of a packet of the truth; 0 at its end. */
static uint32_t event_bytes(const uint8_t *p, uint32_t at)
{
	struct mprof_raw_event e;

	if (at == content_of(p))
		return 0;
	if (mprof_event_load(&e, p + at, content_of(p) - at) != MPROF_EVENT_OK)
		writer_die("the truth does not parse at byte %u", at);
	return (uint32_t)e.bytes;
}

/* ---- the writer ---------------------------------------------------------------------------------------------------- */

struct piece16 {
	uint16_t v;
} __attribute__((packed));

static void store16(uint8_t *p, uint16_t v)
{
	((volatile struct piece16 *)(void *)p)->v = v;
}

static uint8_t *slot(const struct replay *r, uint32_t count)
{
	return r->ring + (size_t)(count % PACKETS) * r->packet_bytes;
}

static void store_size(uint8_t *p, uint32_t bytes)
{
	store16(p + 26, (uint16_t)(bytes * 8));
	store16(p + 28, (uint16_t)(bytes * 8 >> 16));
}

static void store_bytes(uint8_t *to, const uint8_t *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		((volatile uint8_t *)to)[i] = from[i];
}

/* Wait as the options say. */
static void pace(struct replay *r)
{
	uint64_t due;

	if (r->pause_ns)
		writer_sleep(r->pause_ns);
	if (!r->rate)
		return;
	due = r->began + (uint64_t)((double)r->bytes / (double)r->rate * (double)NS_PER_S);
	if (due > writer_now() + 200000)
		writer_sleep_until(due);
}

/* Write packet COUNT on up to UNTIL, an end of an event. */
static void packet_fill(struct replay *r, uint32_t until)
{
	const uint8_t *from = truth_packet(&r->truth, r->count);
	uint8_t *to = slot(r, r->count);
	uint32_t n;

	if (r->torn) {
		store_bytes(to + r->used, from + r->used, r->torn);
		r->used += r->torn;
		r->torn = 0;
	}
	while (r->used < until) {
		n = event_bytes(from, r->used);
		store_size(to, r->used + n);
		store_bytes(to + r->used, from + r->used, n);
		r->used += n;
		r->events++;
		r->bytes += n;
		pace(r);
	}
}

/* Go on to packet COUNT. */
static void packet_turn(struct replay *r, uint32_t count)
{
	r->count = count;
	r->used = MPROF_PACKET_HEADER_BYTES;
	store16(slot(r, count) + 24, (uint16_t)count);
	store_size(slot(r, count), MPROF_PACKET_HEADER_BYTES);
}

/* Write everything up to byte UNTIL of packet COUNT; with JUMP only what a ring holds of it. */
static void advance(struct replay *r, uint32_t count, uint32_t until, bool jump)
{
	uint32_t next;

	while (r->count < count) {
		packet_fill(r, content_of(truth_packet(&r->truth, r->count)));
		next = r->count + 1;
		if (jump && next + PACKETS - 1 < count) {
			r->skipped += count - (PACKETS - 1) - next;
			next = count - (PACKETS - 1);
		}
		packet_turn(r, next);
	}
	packet_fill(r, until);
}

/* Count the next event as the image has it: its size is there, and of its bytes what the image shows. */
static void tear(struct replay *r, const uint8_t *image)
{
	uint32_t n = event_bytes(truth_packet(&r->truth, r->count), r->used);

	if (!n)
		return;
	store_size(slot(r, r->count), r->used + n);
	store_bytes(slot(r, r->count) + r->used, image + r->used, n);
	r->torn = n;
	r->torn_events++;
}

/* ---- the images ---------------------------------------------------------------------------------------------------- */

/* Where in an image the newest packet is. */
static const uint8_t *image_newest(const uint8_t *image, uint32_t each)
{
	const uint8_t *newest = image;

	for (uint32_t i = 0; i < PACKETS; i++)
		if (header_load(image + (size_t)i * each, each).count > header_load(newest, each).count)
			newest = image + (size_t)i * each;
	return newest;
}

/* How far the newest packet's bytes are the truth, in whole events. */
static uint32_t image_true(const struct replay *r, const uint8_t *newest)
{
	const uint8_t *from = truth_packet(&r->truth, mprof_load16(newest + 24));
	uint32_t at = MPROF_PACKET_HEADER_BYTES, n;

	while ((n = event_bytes(from, at)) && at + n <= content_of(newest) && memcmp(from + at, newest + at, n) == 0)
		at += n;
	return at;
}

/* The ring's first state, before anybody looks: full packets, and the newest as far as the first image shows it. */
static void ring_begin(struct replay *r, uint32_t count)
{
	const uint8_t *p;

	for (uint32_t c = count - (PACKETS - 1); c <= count; c++) {
		p = truth_packet(&r->truth, c);
		memcpy(slot(r, c), p, content_of(p));
		mprof_store32(slot(r, c) + 20, r->packet_bytes * 8);
	}
	packet_turn(r, count);
}

/* Is the ring what the image shows?  Only where the image was copied faster than the writer wrote. */
static bool image_shown(const struct replay *r, const uint8_t *image)
{
	const uint8_t *a, *b;

	for (uint32_t i = 0; i < PACKETS; i++) {
		a = r->ring + (size_t)i * r->packet_bytes;
		b = image + (size_t)i * r->packet_bytes;
		if (memcmp(a, b, content_of(b)) != 0)
			return false;
	}
	return true;
}

static void image_replay(struct replay *r, const uint8_t *image, bool jump)
{
	const uint8_t *newest = image_newest(image, r->packet_bytes);
	uint32_t until = image_true(r, newest);

	advance(r, mprof_load16(newest + 24), until, jump);
	if (content_of(newest) > until)
		tear(r, newest);
}

struct images {
	uint8_t *bytes[SNAPS_MAX];
	size_t size;
	uint32_t n;
};

static struct images images_read(const char *dir)
{
	struct images images = {0};
	char path[4096];
	size_t size;

	for (; images.n < SNAPS_MAX; images.n++) {
		snprintf(path, sizeof(path), "%s/snap-%02u.ctf", dir, images.n);
		images.bytes[images.n] = file_read(path, &size);
		if (!images.bytes[images.n])
			break;
		if (!size || (images.n && size != images.size))
			writer_die("%s: not as long as the others", path);
		images.size = size;
	}
	if (!images.n)
		writer_die("%s: no snap-00.ctf there", dir);
	return images;
}

int main(int argc, char **argv)
{
	uint64_t hold_ms = 20, pause_us = 0, jump = 0, shown = 0, limit = SNAPS_MAX;
	const char *reference = NULL, *truth = NULL, *ring = NULL, *spare = NULL;
	static const struct option options[] = {
		{"reference", required_argument, NULL, 0}, {"truth", required_argument, NULL, 0},
		{"ring", required_argument, NULL, 0},	   {"hold-ms", required_argument, NULL, 0},
		{"pause-us", required_argument, NULL, 0},  {"rate", required_argument, NULL, 0},
		{"jump", required_argument, NULL, 0},	   {"images", required_argument, NULL, 0},
		{"spare", required_argument, NULL, 0},	   {0}};
	struct replay r = {.rate = 2000000};
	uint64_t *const numbers[] = {NULL, NULL, NULL, &hold_ms, &pause_us, &r.rate, &jump, &limit, NULL};
	const char **const texts[] = {[0] = &reference, [1] = &truth, [2] = &ring, [8] = &spare};
	struct images images;
	char hidden[4096];

	writer_options(argc, argv, options, numbers, texts);
	if (!reference || !truth || !ring)
		writer_die("Usage: replay --reference DIR --truth FILE (its truth, not compressed) --ring FILE\n"
			   "       [--rate BYTES/S] [--pause-us BETWEEN EVENTS] [--hold-ms AT EACH IMAGE] [--jump 1] "
			   "[--images N]\n"
			   "       [--spare FILE: where the ring is made before it is moved to its place]");
	images = images_read(reference);
	r.truth = truth_read(truth);
	r.packet_bytes = (uint32_t)images.size / PACKETS;
	r.pause_ns = pause_us * 1000;
	r.began = writer_now();
	/* The writer is in the middle of its life: nobody sees the ring before its first state is there. */
	snprintf(hidden, sizeof(hidden), "%s%s", spare ? spare : ring, spare ? "" : ".new");
	r.ring = writer_map(hidden, O_CREAT | O_TRUNC, images.size);
	ring_begin(&r, mprof_load16(image_newest(images.bytes[0], r.packet_bytes) + 24));
	if (rename(hidden, ring) < 0)
		writer_die("%s: %s", ring, strerror(errno));
	for (uint32_t i = 0; i < images.n && i < limit; i++) {
		image_replay(&r, images.bytes[i], jump != 0);
		shown += image_shown(&r, images.bytes[i]);
		writer_sleep(hold_ms * 1000000);
		r.began += hold_ms * 1000000;
	}
	printf("{\"images\": %u, \"shown\": %llu, \"events\": %llu, \"bytes\": %llu, \"torn\": %llu, \"skipped\": "
	       "%llu, "
	       "\"count\": %u, \"offset\": %u}\n",
	       images.n, (unsigned long long)shown, (unsigned long long)r.events, (unsigned long long)r.bytes,
	       (unsigned long long)r.torn_events, (unsigned long long)r.skipped, r.count, r.used);
	munmap(r.ring, images.size);
	truth_free(&r.truth);
	for (uint32_t i = 0; i < images.n; i++)
		free(images.bytes[i]);
	return 0;
}
