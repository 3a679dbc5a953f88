/*
 * writer-legacy: write a ring as mirage-profile does, store by store, and record the truth.
 *
 * schema/mprof/ring.h has the order of the stores. First an event's size is counted, the low half
 * and then the high half, before any of its bytes are stored. Then the event's timestamp, its id,
 * and the other bytes follow. A reused packet first gets its count, then the low half of its size,
 * then the high half. While an event is being written, a garbage collection may happen: the
 * collection's event is stored behind the outer event's slot, or in the next packet, and is
 * complete before the outer event has its first byte.
 *
 * With --after, writing begins when that file exists, so that a reader can see the ring before. With
 * --leash the program begins at most one packet beyond the one whose number that file has, and waits
 * until it has a higher number, so that a reader loses nothing however slow it is.
 * Between any two stores the program may sleep (--pause-every, --pause-us) or be killed
 * (--kill-after), so that a reader may see any state. The truth (--truth FILE) is a CTF stream of
 * all packets that were ever written, the oldest first. A packet has exactly those events of which
 * the last byte was stored. The context of each event is a serial number, so that no two events are
 * equal.
 */
#include "writer.h"

#include <mprof/event.h>

#define PACKETS	  4u
#define EVENT_MAX 400u
#define TEXT_MAX  300u
#define GC_BYTES  17u
#define BATCH_NS  200000ull /* the rate is kept within each period of this length */

struct packet {
	volatile uint8_t *at;
	uint32_t bytes;
	uint8_t *truth; /* the same bytes without those of incomplete events */
	uint32_t used;
	uint64_t sequence;
};

struct legacy {
	struct packet packets[PACKETS];
	unsigned active;
	uint64_t sequence;
	uint64_t serial;
	uint64_t random;
	FILE *truth;
	bool between_halves; /* only the low half of a size is stored */
	/* The packet that was left while an event in it was incomplete; -1 for none. */
	int unfinished;

	uint64_t stores, pause_every, pause_ns, kill_after, next_pause;
	uint64_t gc_percent, torn;
	const char *leash;
	uint64_t leash_end; /* the number that the file had */
	uint64_t events, bytes, nested, nested_turned;
};

/* ---- the truth ------------------------------------------------------------------------------- */

static void truth_put(struct legacy *w, const struct packet *p)
{
	struct mprof_packet_header h = {
		.packet_bytes = p->used, .content_bytes = p->used, .count = (uint16_t)p->sequence};
	uint8_t header[MPROF_PACKET_HEADER_BYTES];

	if (!w->truth)
		return;
	mprof_packet_store(&h, header);
	if (fwrite(header, sizeof(header), 1, w->truth) != 1 ||
	    (p->used > sizeof(header) && fwrite(p->truth + sizeof(header), p->used - sizeof(header), 1, w->truth) != 1))
		writer_die("the truth: %s", strerror(errno));
}

/*
 * Write the active packet to the truth, and close the file. Leave out bytes from DONE on, which
 * belong to the first incomplete event.
 */
static void truth_end(struct legacy *w, uint32_t done)
{
	struct packet *p = &w->packets[w->active];

	if (done < p->used)
		p->used = done;
	truth_put(w, p);
	if (w->truth && fclose(w->truth) != 0)
		writer_die("the truth: %s", strerror(errno));
	w->truth = NULL;
}

/* ---- stores ---------------------------------------------------------------------------------- */

/* An event that is being written: the packet and offset of its slot, and the event around it. */
struct open_event {
	unsigned slot;
	uint32_t at;
	const struct open_event *outer;
};

/*
 * Kill the program. Before that, print the positions of the open events, and write the packets to
 * the truth without them: a packet's complete bytes end before its outermost open event.
 */
static void die_here(struct legacy *w, const struct open_event *e)
{
	uint32_t done = w->packets[w->active].used;
	const char *comma = "";

	printf("{\"open\": [");
	for (; e; e = e->outer) {
		printf("%s\"%u:%u\"", comma, (unsigned)(uint16_t)w->packets[e->slot].sequence, e->at);
		comma = ", ";
		if (e->slot == w->active)
			done = e->at;
		else if ((int)e->slot == w->unfinished)
			w->packets[e->slot].used = e->at;
	}
	printf("], \"torn\": %s}\n", w->between_halves ? "true" : "false");
	fflush(stdout);
	if (w->unfinished >= 0)
		truth_put(w, &w->packets[w->unfinished]);
	truth_end(w, done);
	raise(SIGKILL);
}

/* Sleep or die here, if the options say so. Called before each store. E is the open event. */
static void store_point(struct legacy *w, const struct open_event *e)
{
	w->stores++;
	if (w->kill_after && w->stores >= w->kill_after)
		die_here(w, e);
	if (w->pause_every && w->stores >= w->next_pause) {
		w->next_pause = w->stores + 1 + writer_random(&w->random, (uint32_t)(2 * w->pause_every));
		writer_sleep(writer_random(&w->random, (uint32_t)w->pause_ns + 1));
	}
}

/* These types make the compiler store N unaligned bytes with one store. */
struct piece16 {
	uint16_t v;
} __attribute__((packed));
struct piece64 {
	uint64_t v;
} __attribute__((packed));

static void store16(struct legacy *w, const struct open_event *e, volatile uint8_t *p, uint16_t v)
{
	store_point(w, e);
	((volatile struct piece16 *)p)->v = v;
}

static void store8(struct legacy *w, const struct open_event *e, volatile uint8_t *p, uint8_t v)
{
	store_point(w, e);
	*p = v;
}

static void store64(struct legacy *w, const struct open_event *e, volatile uint8_t *p, uint64_t v)
{
	if (!w->torn) {
		store_point(w, e);
		((volatile struct piece64 *)p)->v = v;
		return;
	}
	for (unsigned i = 0; i < 8; i++)
		store8(w, e, p + i, (uint8_t)(v >> 8 * i));
}

static void store_size(struct legacy *w, const struct open_event *e, struct packet *p)
{
	uint32_t bits = p->used * 8;

	store16(w, e, p->at + 26, (uint16_t)bits);
	/* If the upper half rises, the size is 8 KiB too small between the two stores. */
	w->between_halves = ((volatile struct piece16 *)(p->at + 28))->v != (uint16_t)(bits >> 16);
	store16(w, e, p->at + 28, (uint16_t)(bits >> 16));
	w->between_halves = false;
}

/* ---- packets --------------------------------------------------------------------------------- */

static void turn(struct legacy *w, const struct open_event *outer)
{
	struct packet *p;

	if (outer && outer->slot == w->active) {
		w->unfinished = (int)w->active;
		w->nested_turned++;
	} else {
		truth_put(w, &w->packets[w->active]);
	}
	w->active = (w->active + 1) % PACKETS;
	p = &w->packets[w->active];
	p->sequence = ++w->sequence;
	p->used = MPROF_PACKET_HEADER_BYTES;
	store16(w, outer, p->at + 24, (uint16_t)p->sequence);
	store_size(w, outer, p);
}

/* Take a slot of N bytes at the end of the content, and store the new size. */
static struct open_event slot_take(struct legacy *w, uint32_t n, const struct open_event *outer)
{
	struct open_event e = {.outer = outer};
	struct packet *p = &w->packets[w->active];

	if (p->used + n >= p->bytes)
		turn(w, outer);
	p = &w->packets[w->active];
	e.slot = w->active;
	e.at = p->used;
	p->used += n;
	w->events++;
	w->bytes += n;
	store_size(w, &e, p);
	return e;
}

/* Store the N bytes of an event in slot E. When the last byte is stored, copy them to the truth. */
static void slot_fill(struct legacy *w, const struct open_event *e, const uint8_t *bytes, uint32_t n)
{
	struct packet *p = &w->packets[e->slot];
	volatile uint8_t *to = p->at + e->at;
	uint32_t i = 9;

	store64(w, e, to, mprof_load64(bytes));
	store8(w, e, to + 8, bytes[8]);
	for (; i < n && i < 25 && i + 8 <= n; i += 8)
		store64(w, e, to + i, mprof_load64(bytes + i));
	for (; i < n; i++)
		store8(w, e, to + i, bytes[i]);
	memcpy(p->truth + e->at, bytes, n);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void collect_garbage(struct legacy *w, const struct open_event *outer)
{
	struct open_event e = slot_take(w, GC_BYTES, outer);
	uint8_t bytes[GC_BYTES];

	mprof_store64(bytes, writer_now());
	bytes[8] = MPROF_EVENT_gc;
	mprof_store64(bytes + 9, ++w->serial);
	slot_fill(w, &e, bytes, sizeof(bytes));
	if (outer)
		w->nested++;
}

static uint32_t put_text(struct legacy *w, uint8_t *to, uint32_t longest)
{
	uint32_t n = writer_random(&w->random, writer_chance(&w->random, 5) ? TEXT_MAX : 24);

	if (n > longest)
		n = longest;
	for (uint32_t i = 0; i < n; i++)
		to[i] = (uint8_t)(' ' + writer_random(&w->random, 95));
	to[n] = 0;
	return n + 1;
}

/*
 * Make an event of a random kind, at most ROOM bytes long, without its timestamp. Return its
 * length.
 */
static uint32_t event_make(struct legacy *w, uint8_t *bytes, uint32_t room)
{
	uint8_t id = (uint8_t)writer_random(&w->random, MPROF_EVENT_counter + 1);
	enum mprof_shape shape;
	uint32_t n = 17;

	if (id == MPROF_EVENT_gc)
		id = MPROF_EVENT_switch;
	shape = mprof_event_shape(id);
	bytes[8] = id;
	mprof_store64(bytes + 9, ++w->serial);
	if (shape != MPROF_SHAPE_NONE && shape != MPROF_SHAPE_TEXT) {
		mprof_store64(bytes + n, writer_random64(&w->random) >> writer_random(&w->random, 64));
		n += 8;
	}
	if (shape == MPROF_SHAPE_THREAD_TYPE)
		bytes[n++] = (uint8_t)writer_random(&w->random, MPROF_THREAD_Async + 1);
	if (shape == MPROF_SHAPE_TEXT || shape == MPROF_SHAPE_THREAD_TEXT || shape == MPROF_SHAPE_AMOUNT_TEXT)
		n += put_text(w, bytes + n, room - n - 1);
	return n;
}

/* Write one event. Sometimes a garbage collection happens in its middle. */
static void event_write(struct legacy *w)
{
	/* Any packet has room for at least two such events. */
	uint32_t room = (w->packets[0].bytes - MPROF_PACKET_HEADER_BYTES) / 2;
	uint8_t bytes[EVENT_MAX];
	uint32_t n = event_make(w, bytes, room < EVENT_MAX ? room : EVENT_MAX);
	struct open_event e = slot_take(w, n, NULL);

	mprof_store64(bytes, writer_now());
	if (writer_chance(&w->random, (uint32_t)w->gc_percent))
		collect_garbage(w, &e);
	slot_fill(w, &e, bytes, n);
	if (w->unfinished >= 0)
		truth_put(w, &w->packets[w->unfinished]);
	w->unfinished = -1;
}

/* ---- the ring -------------------------------------------------------------------------------- */

static void ring_make(struct legacy *w, uint8_t *memory, uint32_t size)
{
	struct mprof_packet_header h = {.content_bytes = MPROF_PACKET_HEADER_BYTES};
	uint8_t header[MPROF_PACKET_HEADER_BYTES];
	struct packet *p;

	for (unsigned i = 0; i < PACKETS; i++) {
		p = &w->packets[i];
		p->at = memory + (size_t)i * (size / PACKETS);
		p->bytes = i + 1 < PACKETS ? size / PACKETS : size - (PACKETS - 1) * (size / PACKETS);
		p->truth = malloc(p->bytes);
		p->used = MPROF_PACKET_HEADER_BYTES;
		p->sequence = i;
		if (!p->truth)
			writer_die("out of memory");
		h.packet_bytes = p->bytes;
		h.count = (uint16_t)i;
		mprof_packet_store(&h, header);
		for (unsigned k = 0; k < sizeof(header); k++)
			store8(w, NULL, p->at + k, header[k]);
	}
}

/* Read the number in the leash. A file that does not exist has none. */
static void leash_read(struct legacy *w)
{
	FILE *f = fopen(w->leash, "re");
	unsigned long long end;

	if (f && fscanf(f, "%llu", &end) == 1)
		w->leash_end = end;
	if (f)
		fclose(f);
}

/* Wait while the active packet is beyond the leash. Return for how long. */
static uint64_t leash_wait(struct legacy *w)
{
	uint64_t began = writer_now();

	if (!w->leash || w->sequence <= w->leash_end)
		return 0;
	for (leash_read(w); !writer_ended && w->sequence > w->leash_end; leash_read(w))
		writer_sleep(NS_PER_S / 1000);
	return writer_now() - began;
}

/*
 * Write events at RATE bytes per second (0: without limit) until COUNT events are written, the time
 * UNTIL is reached, or a signal comes.
 */
static void run(struct legacy *w, uint64_t rate, uint64_t until, uint64_t count)
{
	uint64_t began = writer_now(), now = began, due;

	while (!writer_ended && (!count || w->events < count) && (!until || now < until)) {
		began += leash_wait(w);
		for (unsigned i = 0; i < 16 && (!count || w->events < count); i++)
			event_write(w);
		now = writer_now();
		if (!rate)
			continue;
		due = began + (uint64_t)((double)w->bytes / (double)rate * (double)NS_PER_S);
		if (due > now + BATCH_NS)
			writer_sleep_until(due);
	}
}

int main(int argc, char **argv)
{
	struct legacy w = {.unfinished = -1, .gc_percent = 3};
	uint64_t size = 65536, rate = 0, seconds = 0, count = 0, pause_us = 0;
	const char *ring = NULL, *truth = NULL, *after = NULL;
	static const struct option options[] = {{"ring", required_argument, NULL, 0},
						{"truth", required_argument, NULL, 0},
						{"after", required_argument, NULL, 0},
						{"leash", required_argument, NULL, 0},
						{"size", required_argument, NULL, 0},
						{"rate", required_argument, NULL, 0},
						{"seconds", required_argument, NULL, 0},
						{"events", required_argument, NULL, 0},
						{"seed", required_argument, NULL, 0},
						{"pause-every", required_argument, NULL, 0},
						{"pause-us", required_argument, NULL, 0},
						{"kill-after", required_argument, NULL, 0},
						{"gc-percent", required_argument, NULL, 0},
						{"torn", required_argument, NULL, 0},
						{0}};
	uint64_t *const numbers[] = {NULL,	NULL,	       NULL,	      NULL,	 &size,
				     &rate,	&seconds,      &count,	      &w.random, &w.pause_every,
				     &pause_us, &w.kill_after, &w.gc_percent, &w.torn};
	const char **const texts[] = {&ring, &truth, &after, &w.leash};
	uint8_t *memory;

	writer_options(argc, argv, options, numbers, texts);
	if (!ring || size < MPROF_RING_BYTES_MIN || size > MPROF_RING_BYTES_MAX)
		writer_die("Usage: writer-legacy --ring FILE [--truth FILE] [--after FILE, which is waited for] "
			   "[--leash FILE, with the number of a packet]\n"
			   "       [--size BYTES, 1024 to 268435456] [--rate BYTES/S]\n"
			   "       [--seconds N] [--events N] [--seed N] [--pause-every STORES --pause-us MOST] "
			   "[--kill-after STORES]\n"
			   "       [--gc-percent N] [--torn 1]");
	w.pause_ns = pause_us * 1000;
	w.truth = truth ? fopen(truth, "we") : NULL;
	if (truth && !w.truth)
		writer_die("%s: %s", truth, strerror(errno));
	writer_catch_end();
	memory = writer_map(ring, O_CREAT | O_TRUNC, size);
	ring_make(&w, memory, (uint32_t)size);
	while (after && !writer_ended && access(after, F_OK) < 0)
		writer_sleep(NS_PER_S / 1000);
	run(&w, rate, seconds ? writer_now() + seconds * NS_PER_S : 0, count);
	truth_end(&w, UINT32_MAX);
	munmap(memory, size);
	printf("{\"events\": %llu, \"bytes\": %llu, \"packets\": %llu, \"nested\": %llu, \"nested_turned\": %llu, "
	       "\"stores\": %llu}\n",
	       (unsigned long long)w.events, (unsigned long long)w.bytes, (unsigned long long)w.sequence + 1,
	       (unsigned long long)w.nested, (unsigned long long)w.nested_turned, (unsigned long long)w.stores);
	for (unsigned i = 0; i < PACKETS; i++)
		free(w.packets[i].truth);
	return 0;
}
