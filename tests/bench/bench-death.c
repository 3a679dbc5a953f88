/*
 * Measure the time from a guest's death to the commit of its last byte, with real rings, the queue
 * and a real archive.
 *
 * One guest with 1 MiB dies alone, and 64 guests die at the same moment, several times each. The
 * program prints the medians. The time includes the copy from the ring. The benchmark fails if a
 * capture lacks its guest's last event, or if a packet is lost.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mprof/event.h>
#include <mprof/packet.h>
#include <mprof/ring.h>

#include "commit-thread.h"
#include "guest.h"

#define RING_BYTES  (1u << 20)
#define PACKETS	    4u
#define EVENT_BYTES 25u
#define MANY	    64u
#define TURNS_MAX   31u

struct life {
	struct guest guest;
	struct stream stream;
	struct memory_array memory;
	uint8_t *bytes;
	uint32_t used; /* bytes used in the newest packet */
};

struct bench {
	struct guest_shared shared;
	struct config config;
	struct queue *queue;
	struct archive_writer *writer;
	struct commit_thread *commit_thread;
	uint64_t seed, time;
	struct life lives[MANY];
	uint64_t expected; /* content bytes that the archive must have at the end */
};

static uint64_t next_random(struct bench *b)
{
	b->seed = b->seed * 6364136223846793005u + 1442695040888963407u;
	return b->seed >> 33;
}

/* Make a full ring, as a guest leaves it. */
static void fill(struct bench *b, struct life *life)
{
	const uint32_t size = RING_BYTES / PACKETS;

	for (uint32_t i = 0; i < PACKETS; i++) {
		struct mprof_packet_header header = {.packet_bytes = size, .count = (uint16_t)i};
		uint32_t at = MPROF_PACKET_HEADER_BYTES;

		for (; at + EVENT_BYTES < size; at += EVENT_BYTES) {
			uint8_t *e = life->bytes + i * size + at;

			b->time += 50 + next_random(b) % 4000;
			mprof_store64(e, b->time);
			e[8] = next_random(b) % 3 ? MPROF_EVENT_read : MPROF_EVENT_fulfills;
			mprof_store64(e + 9, i * 64 + next_random(b) % 512);
			mprof_store64(e + 17, i * 64 + next_random(b) % 512);
		}
		header.content_bytes = at;
		mprof_packet_store(&header, life->bytes + i * size);
		b->expected += at - MPROF_PACKET_HEADER_BYTES;
	}
}

static int life_begin(struct bench *b, struct life *life)
{
	const struct guest_identity who = {.source = "dir", .name = "bench", .key = "bench", .domid = -1};
	const char *fault;
	int r;

	fill(b, life);
	memory_array_init(&life->memory, life->bytes, RING_BYTES);
	r = guest_init(&life->guest, &b->shared, &who, 0, 700 * NS_PER_MS);
	if (!r)
		r = stream_attach(&life->stream, &life->guest, 0, NULL, &life->memory.memory, RING_BYTES, NULL, false,
				  &fault);
	return r ? r : guest_set_state(&life->guest, "running", NULL);
}

/* Wait until all queued items are committed. */
static int wait_commit(struct bench *b)
{
	struct item *item = queue_item(b->queue, NULL, ITEM_PATCH, 0, false);
	struct commit_thread_state state = {0};
	uint64_t ticket;

	if (!item)
		return -1;
	item->patch.pinned = -1;
	item->urgent = true;
	ticket = queue_push(b->queue, item);
	do {
		usleep(100);
		commit_thread_state(b->commit_thread, &state);
	} while (state.committed < ticket && !state.failed);
	return state.failed ? -1 : 0;
}

/*
 * Let N guests die at once. Store in *TOOK the time until all their bytes are committed, and in
 * *COPIED the time until all their rings can be unmapped (ns).
 */
static int turn(struct bench *b, unsigned n, uint64_t *took, uint64_t *copied)
{
	uint64_t began, next;
	int r = 0;

	for (unsigned i = 0; i < n && !r; i++)
		r = life_begin(b, &b->lives[i]);
	if (!r)
		r = wait_commit(b);
	began = clock_mono();
	for (unsigned i = 0; i < n && !r; i++) {
		struct life *life = &b->lives[i];

		if (guest_capture_begin(&life->guest, "crash", NULL, true, NULL) <= 0)
			return -1;
		while (!guest_capture_done(&life->guest) && !r)
			r = stream_poll(&life->stream, clock_mono(), &next);
		if (!r)
			r = guest_set_state(&life->guest, "ended", "crash");
	}
	*copied = clock_mono() - began;
	if (!r)
		r = wait_commit(b);
	*took = clock_mono() - began;
	for (unsigned i = 0; i < n; i++)
		guest_deinit(&b->lives[i].guest);
	return r;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void print_line(const char *name, uint64_t *times, unsigned n, double aim)
{
	unsigned middle = n / 2;
	double ms;

	qsort(times, n, sizeof(*times), compare);
	ms = (double)times[middle] / 1e6;
	printf("{\"name\": \"%s\", \"ours\": %.2f, \"peer\": null, \"unit\": \"ms\", \"ratio\": null, ", name, ms);
	if (aim > 0)
		printf("\"aim\": %.0f, \"met\": %s}\n", aim, ms <= aim ? "true" : "false");
	else
		printf("\"aim\": null, \"met\": null}\n");
	fflush(stdout);
}

static int measure(struct bench *b, const char *name, unsigned n, unsigned turns, double aim)
{
	uint64_t took[TURNS_MAX], copied[TURNS_MAX];
	char text[64];

	for (unsigned i = 0; i < turns; i++) {
		int r = turn(b, n, &took[i], &copied[i]);

		if (r)
			return r;
		usleep(20000);
	}
	print_line(name, took, turns, aim);
	snprintf(text, sizeof(text), "%s-mapping", name);
	print_line(text, copied, turns, 0);
	return 0;
}

/* Check that the archive has all bytes, and a capture of each guest's end. */
static bool check_end(const struct bench *b)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *s = NULL;
	bool ok =
		sqlite3_open_v2("state/archive/trace.db", &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
		sqlite3_prepare_v2(db,
				   "SELECT (SELECT sum(length) FROM chunks) + (SELECT sum(length) FROM tails),"
				   " (SELECT count(*) FROM runs), (SELECT count(*) FROM captures WHERE kind = 'crash')",
				   -1, &s, NULL) == SQLITE_OK &&
		sqlite3_step(s) == SQLITE_ROW && (uint64_t)sqlite3_column_int64(s, 0) == b->expected &&
		sqlite3_column_int64(s, 1) == b->shared.last_run && sqlite3_column_int64(s, 2) == b->shared.last_run;

	sqlite3_finalize(s);
	sqlite3_close(db);
	return ok && !b->shared.counters.lost_packets;
}

static int begin(struct bench *b)
{
	struct archive_options options = {.wal_limit_bytes = 64u << 20, .level = 1};
	char sentence[256], error[256];
	int r = config_load(&b->config, "/dev/null", error, sizeof(error));

	if (r) {
		fprintf(stderr, "%s\n", error);
		return r;
	}
	mkdir("state", 0700);
	r = archive_writer_open(&b->writer, "state", &options, sentence, sizeof(sentence));
	if (r) {
		fprintf(stderr, "%s\n", sentence);
		return r;
	}
	b->seed = 1;
	b->time = 1000;
	b->queue = queue_new(b->config.queue_bytes, b->config.queue_per_guest_bytes, b->config.queue_reserve_bytes);
	b->shared = (struct guest_shared){.config = &b->config, .queue = b->queue, .archiving = true};
	for (unsigned i = 0; i < MANY; i++)
		b->lives[i].bytes = malloc(RING_BYTES);
	return commit_thread_start(&b->commit_thread, &b->writer, b->queue, &b->config,
				   eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

int main(int argc, char **argv)
{
	bool brief = argc > 1 && strcmp(argv[1], "--brief") == 0, ok;
	struct bench *b = calloc(1, sizeof(*b));
	int r = b ? begin(b) : -1;

	if (!r)
		r = measure(b, "death-one", 1, brief ? 3 : TURNS_MAX, 10);
	if (!r)
		r = measure(b, "death-64", MANY, brief ? 1 : 7, 2000);
	if (r)
		return 1;
	commit_thread_stop(b->commit_thread);
	ok = check_end(b);
	if (!ok)
		fprintf(stderr, "death: something is missing\n");
	for (unsigned i = 0; i < MANY; i++)
		free(b->lives[i].bytes);
	queue_free(b->queue);
	config_deinit(&b->config);
	free(b);
	return ok ? 0 : 1;
}
