/*
 * The replayer of replayer.h. Each store is volatile and has the width of the original recorder's
 * store, so that a reader may see the ring in any state between two stores.
 */
#include "replayer.h"

#include "writer.h"

#include <mprof/event.h>

#define PACKETS 4u

/* ---- the files ------------------------------------------------------------------------------- */

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

static struct replayer_truth truth_read(const char *path)
{
	struct mprof_packet_header h;
	struct replayer_truth t = {0};
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

/* Free the packets. The first packet is at the start of the file's memory. */
static void truth_free(struct replayer_truth *t)
{
	free((uint8_t *)(uintptr_t)t->packets[0]);
	free(t->packets);
}

static const uint8_t *truth_packet(const struct replayer_truth *t, uint32_t count)
{
	if (count < t->first || count - t->first >= t->n)
		writer_die("the truth has no packet %u", count);
	return t->packets[count - t->first];
}

static uint32_t content_of(const uint8_t *p)
{
	return mprof_load32(p + 26) / 8;
}

/*
 * Return the length of the event at offset AT of the packet P of the truth, or 0 at the end of its
 * content.
 */
static uint32_t event_bytes(const uint8_t *p, uint32_t at)
{
	struct mprof_raw_event e;

	if (at == content_of(p))
		return 0;
	if (mprof_event_load(&e, p + at, content_of(p) - at) != MPROF_EVENT_OK)
		writer_die("the truth does not parse at byte %u", at);
	return (uint32_t)e.bytes;
}

/* ---- the writer ------------------------------------------------------------------------------ */

struct piece16 {
	uint16_t v;
} __attribute__((packed));

static void store16(uint8_t *p, uint16_t v)
{
	((volatile struct piece16 *)(void *)p)->v = v;
}

static uint8_t *slot(const struct replayer *r, uint32_t count)
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

/* Sleep as the options for pauses and the rate say. */
static void pace(struct replayer *r)
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

/* Write the events of the active packet up to UNTIL, which is the end of an event. */
static void packet_fill(struct replayer *r, uint32_t until)
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

/* Begin packet COUNT. */
static void packet_turn(struct replayer *r, uint32_t count)
{
	r->count = count;
	r->used = MPROF_PACKET_HEADER_BYTES;
	store16(slot(r, count) + 24, (uint16_t)count);
	store_size(slot(r, count), MPROF_PACKET_HEADER_BYTES);
}

/*
 * Write everything up to byte UNTIL of packet COUNT. With JUMP leave out the packets that would be
 * overwritten meanwhile.
 */
static void advance(struct replayer *r, uint32_t count, uint32_t until, bool jump)
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

/*
 * Store the size of the next event and those of its bytes that the image has. This is an event that
 * the image shows torn.
 */
static void tear(struct replayer *r, const uint8_t *image)
{
	uint32_t n = event_bytes(truth_packet(&r->truth, r->count), r->used);

	if (!n)
		return;
	store_size(slot(r, r->count), r->used + n);
	store_bytes(slot(r, r->count) + r->used, image + r->used, n);
	r->torn = n;
	r->torn_events++;
}

/* ---- the images ------------------------------------------------------------------------------ */

/* Return the newest packet of an image, whose packets have EACH bytes. */
static const uint8_t *image_newest(const uint8_t *image, uint32_t each)
{
	const uint8_t *newest = image;

	for (uint32_t i = 0; i < PACKETS; i++)
		if (header_load(image + (size_t)i * each, each).count > header_load(newest, each).count)
			newest = image + (size_t)i * each;
	return newest;
}

/* Return the offset up to which the events of the newest packet equal the truth. */
static uint32_t image_true(const struct replayer *r, const uint8_t *newest)
{
	const uint8_t *from = truth_packet(&r->truth, mprof_load16(newest + 24));
	uint32_t at = MPROF_PACKET_HEADER_BYTES, n;

	while ((n = event_bytes(from, at)) && at + n <= content_of(newest) && memcmp(from + at, newest + at, n) == 0)
		at += n;
	return at;
}

/*
 * Write the ring's first state: full packets, and an empty packet COUNT, which is the newest of the
 * first image.
 */
static void ring_begin(struct replayer *r, uint32_t count)
{
	const uint8_t *p;

	for (uint32_t c = count - (PACKETS - 1); c <= count; c++) {
		p = truth_packet(&r->truth, c);
		memcpy(slot(r, c), p, content_of(p));
		mprof_store32(slot(r, c) + 20, r->packet_bytes * 8);
	}
	packet_turn(r, count);
}

/*
 * Return whether the ring equals the image. If the image was copied more slowly than the writer
 * wrote, the ring never does.
 */
static bool image_shown(const struct replayer *r, const uint8_t *image)
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

static void image_replay(struct replayer *r, const uint8_t *image, bool jump)
{
	const uint8_t *newest = image_newest(image, r->packet_bytes);
	uint32_t until = image_true(r, newest);

	advance(r, mprof_load16(newest + 24), until, jump);
	if (content_of(newest) > until)
		tear(r, newest);
}

static void images_read(struct replayer *r, const char *dir)
{
	char path[4096];
	size_t size;

	for (; r->n < REPLAYER_IMAGES_MAX; r->n++) {
		snprintf(path, sizeof(path), "%s/snap-%02u.ctf", dir, r->n);
		r->images[r->n] = file_read(path, &size);
		if (!r->images[r->n])
			break;
		if (!size || (r->n && size != r->size))
			writer_die("%s: not as long as the others", path);
		r->size = size;
	}
	if (!r->n)
		writer_die("%s: no snap-00.ctf there", dir);
}

void replayer_init(struct replayer *r, const char *directory, const char *truth)
{
	*r = (struct replayer){0};
	images_read(r, directory);
	r->truth = truth_read(truth);
	r->packet_bytes = (uint32_t)r->size / PACKETS;
}

void replayer_deinit(struct replayer *r)
{
	truth_free(&r->truth);
	for (uint32_t i = 0; i < r->n; i++)
		free(r->images[i]);
}

void replayer_begin(struct replayer *r, uint8_t *ring)
{
	r->ring = ring;
	r->began = writer_now();
	ring_begin(r, mprof_load16(image_newest(r->images[0], r->packet_bytes) + 24));
}

void replayer_image(struct replayer *r, uint32_t i, bool jump)
{
	image_replay(r, r->images[i], jump);
	r->shown += image_shown(r, r->images[i]);
}
