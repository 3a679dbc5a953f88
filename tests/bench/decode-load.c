/*
 * decode-load: make a trace for the benchmarks of readers, or decode a trace with the library.
 *
 *  decode-load make FILE BYTES [N [NS]]
 *      Record the events of a busy guest with the recorder, with NS nanoseconds between two events
 *      (240), in N pieces (1), because a ring has a largest size. Print the number of events.
 *  decode-load decode FILE
 *      Map the file, run only the decoder, and print one line of JSON.
 *
 * The events are requests that wait for a device, sixteen at a time. The share of each kind of
 * event is that of the reference workload, with about 25 bytes per event, and the model of the
 * events is consistent.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <mprof/recorder.h>
#include <mprof/trace.h>

#define PACKET_BYTES 262144u
#define IN_FLIGHT    16u
#define PENDING	     5u
#define BATCH	     256u
#define PACE	     240u
/* More than the bytes of the events of one request. If less room is left, the trace is full. */
#define REQUEST_BYTES 2048u

/* A request that waits, with the threads that its answer will wake. */
struct request {
	int64_t task, bind, wait, map;
};

struct maker {
	struct mprof_recorder r;
	uint64_t now, random, pace;
	int64_t last; /* id of the newest thread */
	struct request waiting[IN_FLIGHT];
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t draw(struct maker *m, uint64_t below)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return (m->random >> 20) % below;
}

static struct mprof_recorder *next(struct maker *m)
{
	m->now += m->pace / 6 + draw(m, m->pace * 5 / 3);
	mprof_recorder_at(&m->r, m->now);
	return &m->r;
}

static int64_t create(struct maker *m, enum mprof_thread_type type)
{
	mprof_recorder_creates(next(m), ++m->last, type);
	return m->last;
}

static void ask(struct maker *m, struct request *q, uint64_t n)
{
	char text[32];
	int len = snprintf(text, sizeof(text), "read-sector-%" PRIu64, n);

	q->task = create(m, MPROF_THREAD_Task);
	if (draw(m, 3) == 0)
		mprof_recorder_label(next(m), q->task, text, (size_t)len);
	q->bind = create(m, MPROF_THREAD_Bind);
	q->wait = create(m, MPROF_THREAD_Wait);
	mprof_recorder_label(next(m), q->wait, "sleep", 5);
	mprof_recorder_try_read(next(m), q->bind, q->wait);
	q->map = create(m, draw(m, 2) ? MPROF_THREAD_Map : MPROF_THREAD_Try);
	mprof_recorder_try_read(next(m), q->map, q->bind);
	mprof_recorder_try_read(next(m), q->task, q->map);
	if (draw(m, 4) != 0)
		mprof_recorder_counter(next(m), (int64_t)draw(m, 100000) - 50, draw(m, 2) ? "gntref" : "tcp-to-ip",
				       draw(m, 2) ? 6 : 3);
	mprof_recorder_suspend(next(m));
}

static void answer(struct maker *m, const struct request *q)
{
	mprof_recorder_switch(next(m), 0);
	mprof_recorder_fulfills(next(m), q->wait);
	mprof_recorder_read(next(m), q->bind, q->wait);
	if (draw(m, 3) == 0)
		mprof_recorder_becomes(next(m), q->bind, create(m, MPROF_THREAD_Task));
	else
		mprof_recorder_fulfills(next(m), q->bind);
	mprof_recorder_read(next(m), q->map, q->bind);
	if (draw(m, 3) == 0)
		mprof_recorder_fails(next(m), q->map, "Timeout", 7);
	else
		mprof_recorder_fulfills(next(m), q->map);
	mprof_recorder_read(next(m), q->task, q->map);
	mprof_recorder_fulfills(next(m), q->task);
	if (draw(m, 4) == 0)
		mprof_recorder_signal(next(m), 1, q->task);
	if (draw(m, 8) == 0)
		mprof_recorder_gc(next(m), 2000 + draw(m, 9000));
}

/* Fill the ring once, without a second lap, so that its packets are in order. */
static void fill(struct maker *m, size_t size, unsigned packets)
{
	uint64_t n = 0;

	while (m->r.sequence + 1 < packets || m->r.last_bytes - m->r.content > REQUEST_BYTES) {
		struct request *q = &m->waiting[draw(m, IN_FLIGHT)];

		if (q->task)
			answer(m, q);
		ask(m, q, n++);
	}
	if (m->r.sequence + 1 != packets || m->r.events * 20 > size)
		die("the trace is not as it should be");
}

/* Make the next piece, at offset AT of the file. Return its number of events. */
static uint64_t piece(struct maker *m, int fd, size_t at, size_t size)
{
	unsigned int packets = (unsigned int)(size / PACKET_BYTES);
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)at);

	if (memory == MAP_FAILED)
		die("mmap");
	if (mprof_recorder_init(&m->r, memory, size, packets, NULL, NULL) != MPROF_RECORDER_OK)
		die("recorder");
	fill(m, size, packets);
	munmap(memory, size);
	return m->r.events;
}

static int make(const char *path, size_t size, unsigned int pieces, uint64_t pace)
{
	struct maker m = {.now = 1000000000, .random = 0x9e3779b97f4a7c15, .last = 1, .pace = pace};
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	uint64_t events = 0;
	unsigned int i;

	/* Each piece begins at a page. */
	if (pieces > 1)
		size -= size % PACKET_BYTES;
	if (fd < 0 || ftruncate(fd, (off_t)(size * pieces)) != 0)
		die(path);
	for (i = 0; i < pieces; i++)
		events += piece(&m, fd, size * i, size);
	printf("{\"events\": %" PRIu64 "}\n", events);
	return 0;
}

struct sum {
	uint64_t events, bytes, damages, check;
};

static void decode_all(struct mprof_decoder *d, struct sum *sum)
{
	struct mprof_event events[BATCH];
	enum mprof_status status = MPROF_OK;
	size_t i, n;

	while (status != MPROF_END) {
		n = mprof_decoder_batch(d, events, BATCH, &status);
		for (i = 0; i < n; i++) {
			sum->bytes += events[i].raw.bytes;
			sum->check += events[i].raw.timestamp ^ (uint64_t)events[i].raw.context ^
				      (uint64_t)events[i].raw.number;
		}
		sum->events += n;
		sum->damages += status == MPROF_CORRUPT;
	}
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int decode(const char *path)
{
	struct mprof_decoder *d = mprof_decoder_new();
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct sum sum = {0};
	struct stat st;
	uint64_t began;
	void *bytes;

	if (!d || fd < 0 || fstat(fd, &st) != 0)
		die(path);
	began = now_ns();
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		die(path);
	mprof_decoder_feed(d, bytes, (size_t)st.st_size);
	mprof_decoder_finish(d);
	decode_all(d, &sum);
	printf("{\"ns\": %" PRIu64 ", \"events\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"damages\": %" PRIu64
	       ", \"check\": %" PRIu64 "}\n",
	       now_ns() - began, sum.events, sum.bytes, sum.damages, sum.check);
	mprof_decoder_free(d);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc >= 4 && argc <= 6 && strcmp(argv[1], "make") == 0)
		return make(argv[2], strtoull(argv[3], NULL, 10),
			    argc > 4 ? (unsigned int)strtoul(argv[4], NULL, 10) : 1,
			    argc > 5 ? strtoull(argv[5], NULL, 10) : PACE);
	if (argc == 3 && strcmp(argv[1], "decode") == 0)
		return decode(argv[2]);
	fprintf(stderr, "Usage: decode-load make FILE BYTES [N [NS]] | decode FILE\n");
	return 2;
}
