/*
 * writer-load: write rings for benchmarks, with as little processor time as possible, so that the
 * benchmark measures the reader.
 *
 * The program writes --rings rings at --rate bytes per second each, in the recorder's order: it
 * copies a prepared batch of events behind the content, sets their timestamps, and moves the size
 * past all of them with one store. Another --idle rings have ten events each and stay mapped. The
 * program prints "ready" when all rings exist, and at the end one line of JSON with the bytes
 * written and their cost.
 *
 * No batch is larger than BATCH_EVENTS, and no ring is written faster than at twice the rate: if
 * the program had to wait for a processor, it does not catch up in one burst, because no guest does
 * that and no reader could follow.
 */
#include <inttypes.h>
#include <sys/resource.h>

#include <mprof/event.h>
#include <mprof/recorder.h>

#include "writer.h"

#define BATCH_EVENTS 32u
#define BATCH_BYTES  2048u
#define TICK_NS	     1000000ull
#define IDLE_BYTES   65536u
#define RINGS_MAX    1024u

/* Prepared events. AT[i] is the offset of event i, and AT[BATCH_EVENTS] is their end. */
struct batch {
	uint8_t bytes[BATCH_BYTES];
	uint32_t at[BATCH_EVENTS + 1];
};

struct ring {
	uint8_t *memory;
	uint32_t packets, packet_bytes, last_bytes;
	uint32_t active, content, room;
	uint64_t sequence, last_ns;
	uint64_t bytes, events;
};

struct load {
	const char *dir;
	uint64_t rings, size, packets, rate, seconds, idle;
	struct ring *ring;
	struct batch batch;
	uint64_t late_ns;
};

/* Make the batch with the recorder: the events of the first packet of a new ring. */
static void batch_make(struct batch *b)
{
	static _Alignas(8) uint8_t memory[2 * BATCH_BYTES + 64];
	struct mprof_recorder r;

	if (mprof_recorder_init(&r, memory, sizeof(memory), 2, NULL, NULL) != MPROF_RECORDER_OK)
		writer_die("the batch's ring");
	/* Without the declaration that begins a packet: the batch is written many times to each packet. */
	mprof_recorder_compatible(&r, true);
	mprof_recorder_at(&r, 1);
	for (unsigned i = 0; i < BATCH_EVENTS; i++) {
		b->at[i] = r.content - MPROF_PACKET_HEADER_BYTES;
		switch (i % 8) {
		case 0:
			mprof_recorder_signal(&r, i + 1, 3);
			break;
		case 1:
			mprof_recorder_creates(&r, 1000 + i, MPROF_THREAD_Bind);
			break;
		case 2:
			mprof_recorder_try_read(&r, 1000 + i, 900 + i);
			break;
		case 3:
			mprof_recorder_counter(&r, 12345 + i, "net.rx", 6);
			break;
		case 4:
			mprof_recorder_read(&r, 800 + i, 700 + i);
			break;
		case 5:
			mprof_recorder_fulfills(&r, 600 + i);
			break;
		case 6:
			mprof_recorder_label(&r, 600 + i, "sleep", 5);
			break;
		default:
			mprof_recorder_suspend(&r);
			break;
		}
	}
	b->at[BATCH_EVENTS] = r.content - MPROF_PACKET_HEADER_BYTES;
	if (r.events != BATCH_EVENTS || r.sequence != 0)
		writer_die("the batch does not fit");
	memcpy(b->bytes, memory + MPROF_PACKET_HEADER_BYTES, b->at[BATCH_EVENTS]);
}

static struct mprof_recorder ring_new(const char *dir, const char *name, uint64_t i, size_t size, uint64_t packets)
{
	struct mprof_recorder r;
	enum mprof_recorder_status status;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s-%" PRIu64 ".ctf", dir, name, i);
	status =
		mprof_recorder_init(&r, writer_map(path, O_CREAT | O_TRUNC, size), size, (unsigned)packets, NULL, NULL);
	if (status != MPROF_RECORDER_OK)
		writer_die("%s: %s", path, mprof_recorder_status_text(status));
	mprof_recorder_at(&r, writer_now());
	return r;
}

static void idle_make(const struct load *l)
{
	struct mprof_recorder r;

	for (uint64_t i = 0; i < l->idle; i++) {
		r = ring_new(l->dir, "idle", i, IDLE_BYTES, MPROF_RECORDER_PACKETS);
		for (int64_t k = 0; k < 10; k++)
			mprof_recorder_creates(&r, k + 1, MPROF_THREAD_Task);
	}
}

static void ring_open(struct load *l, uint64_t i)
{
	struct mprof_recorder r = ring_new(l->dir, "load", i, l->size, l->packets);

	l->ring[i] = (struct ring){.memory = r.memory,
				   .packets = r.packets,
				   .packet_bytes = r.packet_bytes,
				   .last_bytes = r.last_bytes,
				   .room = r.room,
				   .content = MPROF_PACKET_HEADER_BYTES};
}

/*
 * Store count and size of the active packet with one store. All earlier stores are visible before
 * it.
 */
static void publish(uint8_t *p, uint64_t sequence, uint32_t content)
{
	uint64_t word = (uint16_t)sequence | (uint64_t)(content * 8) << 16 | (uint64_t)mprof_load16(p + 30) << 48;

	__atomic_store_n((uint64_t *)(void *)(p + 24), word, __ATOMIC_RELEASE);
}

static uint8_t *turn(struct ring *r)
{
	uint8_t *p;

	r->active = (r->active + 1) % r->packets;
	r->sequence++;
	r->room = r->active + 1 < r->packets ? r->packet_bytes : r->last_bytes;
	r->content = MPROF_PACKET_HEADER_BYTES;
	p = r->memory + (size_t)r->active * r->packet_bytes;
	if (r->sequence >= r->packets)
		publish(p, r->sequence - r->packets, r->content);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	return p;
}

/* Write as many events of the batch as fit into the packet, with the time NOW. */
static void batch_write(struct ring *r, const struct batch *b, uint64_t now)
{
	uint8_t *p = r->memory + (size_t)r->active * r->packet_bytes;
	uint32_t n = BATCH_EVENTS;

	if (b->at[1] >= r->room - r->content)
		p = turn(r);
	while (b->at[n] >= r->room - r->content)
		n--;
	if (now <= r->last_ns)
		now = r->last_ns + 1;
	memcpy(p + r->content, b->bytes, b->at[n]);
	for (uint32_t i = 0; i < n; i++)
		mprof_store64(p + r->content + b->at[i], now + i);
	r->last_ns = now + n - 1;
	r->content += b->at[n];
	publish(p, r->sequence, r->content);
	r->bytes += b->at[n];
	r->events += n;
}

static void run(struct load *l)
{
	uint64_t began = writer_now(), until = l->seconds ? began + l->seconds * NS_PER_S : UINT64_MAX;
	uint64_t now, due, most = 2 * l->rate * TICK_NS / NS_PER_S + BATCH_BYTES;
	uint64_t next = began;
	struct ring *r;

	while (!writer_ended && (now = writer_now()) < until) {
		if (now - next > l->late_ns)
			l->late_ns = now - next;
		due = (uint64_t)((double)(now - began) / (double)NS_PER_S * (double)l->rate);
		for (uint64_t i = 0; i < l->rings; i++) {
			r = &l->ring[i];
			for (uint64_t end = r->bytes + most; r->bytes < due && r->bytes < end;)
				batch_write(r, &l->batch, writer_now());
		}
		next = now + TICK_NS;
		writer_sleep_until(next);
	}
}

static void report(const struct load *l, uint64_t ns)
{
	uint64_t bytes = 0, events = 0, packets = 0;
	struct rusage usage;

	for (uint64_t i = 0; i < l->rings; i++) {
		bytes += l->ring[i].bytes;
		events += l->ring[i].events;
		packets += l->ring[i].sequence + 1;
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("{\"rings\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"events\": %" PRIu64 ", \"packets\": %" PRIu64
	       ", \"seconds\": %.3f, \"cpu_seconds\": %.3f, \"latest_ms\": %.3f}\n",
	       l->rings, bytes, events, packets, (double)ns / 1e9,
	       (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
		       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6,
	       (double)l->late_ns / 1e6);
}

int main(int argc, char **argv)
{
	struct load l = {.size = 1 << 20, .packets = MPROF_RECORDER_PACKETS, .rate = 20000000};
	static const struct option options[] = {
		{"dir", required_argument, NULL, 0},  {"rings", required_argument, NULL, 0},
		{"size", required_argument, NULL, 0}, {"packets", required_argument, NULL, 0},
		{"rate", required_argument, NULL, 0}, {"seconds", required_argument, NULL, 0},
		{"idle", required_argument, NULL, 0}, {0}};
	uint64_t *const numbers[] = {NULL, &l.rings, &l.size, &l.packets, &l.rate, &l.seconds, &l.idle};
	const char **const texts[] = {&l.dir};
	uint64_t began;

	writer_options(argc, argv, options, numbers, texts);
	if (!l.dir || l.rings > RINGS_MAX || (!l.rings && !l.idle))
		writer_die("Usage: writer-load --dir DIR [--rings K] [--size BYTES] [--packets N] [--rate BYTES/S of "
			   "each]\n"
			   "       [--seconds N, 0 until SIGTERM] [--idle N]");
	l.ring = calloc(l.rings + 1, sizeof(*l.ring));
	if (!l.ring)
		writer_die("out of memory");
	writer_catch_end();
	batch_make(&l.batch);
	idle_make(&l);
	for (uint64_t i = 0; i < l.rings; i++)
		ring_open(&l, i);
	puts("ready");
	fflush(stdout);
	began = writer_now();
	run(&l);
	report(&l, writer_now() - began);
	free(l.ring);
	return 0;
}
