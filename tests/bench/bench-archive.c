/*
 * Measure the archive's writer, and compare it with write and fdatasync of as many bytes. The two
 * take turns, so that both use the same state of the disk.
 *
 * The bytes are packets of a ring as guests write them: events with ascending times, of few
 * different threads. A turn is 32 MiB: the archive commits each MiB, as the collector does when it
 * has much to write, and the peer flushes each MiB. The archive writes in the background, so its
 * time has the flush of its files at the end of the turn, and nothing of it runs in the peer's time.
 * The benchmark fails if the archive does not end where the writing ended.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mprof/event.h>
#include <mprof/packet.h>

#include "clock.h"
#include "writer.h"

#define PACKET_BYTES (256u << 10)
#define PER_FLUSH    4u	 /* packets */
#define PER_TURN     32u /* flushes */
#define AIM_RAW	     0.8
#define AIM_ZSTD     1.0 /* the bytes shrink to less than a third */

struct bench {
	struct archive_writer *writer;
	int raw;
	uint8_t *packet; /* a packet of PACKET_BYTES */
	uint64_t time;	 /* time of the newest event */
	uint64_t seed;
	uint64_t sequence;   /* sequence number of the next packet */
	uint64_t archive_ns; /* time that the archive took; RAW_NS is that of write and fdatasync */
	uint64_t raw_ns;
};

static uint64_t next_random(struct bench *b)
{
	b->seed = b->seed * 6364136223846793005u + 1442695040888963407u;
	return b->seed >> 33;
}

/* Fill the packet with events of 25 bytes. Return the end of its content. */
static uint32_t fill(struct bench *b)
{
	struct mprof_packet_header header = {.packet_bytes = PACKET_BYTES, .count = (uint16_t)b->sequence};
	uint32_t at = MPROF_PACKET_HEADER_BYTES;

	for (; at + 25 < PACKET_BYTES; at += 25) {
		uint8_t *e = b->packet + at;

		b->time += 50 + next_random(b) % 4000;
		mprof_store64(e, b->time);
		e[8] = next_random(b) % 3 ? MPROF_EVENT_read : MPROF_EVENT_fulfills;
		mprof_store64(e + 9, b->sequence * 64 + next_random(b) % 512);
		mprof_store64(e + 17, b->sequence * 64 + next_random(b) % 512);
	}
	header.content_bytes = at;
	mprof_packet_store(&header, b->packet);
	return at;
}

static int append(struct bench *b, uint32_t end)
{
	struct moment now = moment_now();
	struct archive_end ends = {.offset = end, .mono = now.mono, .real = now.real};
	struct archive_piece piece = {
		.stream = 1,
		.sequence = b->sequence,
		.offset = MPROF_PACKET_HEADER_BYTES,
		.length = end - MPROF_PACKET_HEADER_BYTES,
		.flags = ARCHIVE_CHUNK_LAST,
		.packet_bytes = PACKET_BYTES,
		.first_timestamp = mprof_load64(b->packet + MPROF_PACKET_HEADER_BYTES),
		.ends = &ends,
		.n_ends = 1,
		.data = b->packet + MPROF_PACKET_HEADER_BYTES,
	};

	return archive_writer_append(b->writer, &piece);
}

/* Write one flush to the archive. The time to make the bytes is not measured. */
static int flush_archive(struct bench *b)
{
	int r = archive_writer_begin(b->writer);
	uint64_t began;

	for (unsigned i = 0; i < PER_FLUSH && !r; i++) {
		uint32_t end = fill(b);

		began = clock_mono();
		r = append(b, end);
		b->archive_ns += clock_mono() - began;
		b->sequence++;
	}
	if (r)
		return r;
	began = clock_mono();
	r = archive_writer_commit(b->writer);
	b->archive_ns += clock_mono() - began;
	return r;
}

/* Write one flush to the file. */
static int flush_raw(struct bench *b)
{
	uint64_t began;

	for (unsigned i = 0; i < PER_FLUSH; i++) {
		uint32_t end = fill(b);

		began = clock_mono();
		if (write(b->raw, b->packet, end) != (ssize_t)end)
			return -1;
		b->raw_ns += clock_mono() - began;
	}
	began = clock_mono();
	if (fdatasync(b->raw))
		return -1;
	b->raw_ns += clock_mono() - began;
	return 0;
}

/* Flush NAME, a file of the archive in the directory STATE. */
static int settle(const char *state, const char *name)
{
	char path[512];
	CLEANUP(closep) int fd = -1;

	snprintf(path, sizeof(path), "%s/archive/%s", state, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 || fdatasync(fd) ? -1 : 0;
}

static int turn(struct bench *b, const char *state)
{
	uint64_t began;
	int r = 0;

	for (unsigned i = 0; i < PER_TURN && !r; i++)
		r = flush_archive(b);
	began = clock_mono();
	if (!r)
		r = settle(state, "trace.db-wal");
	if (!r)
		r = settle(state, "trace.db");
	b->archive_ns += clock_mono() - began;
	for (unsigned i = 0; i < PER_TURN && !r; i++)
		r = flush_raw(b);
	return r;
}

static int begin(struct bench *b)
{
	struct archive_run run = {.id = 1,
				  .source = "dir",
				  .key = "bench",
				  .name = "bench",
				  .domid = -1,
				  .state = "running",
				  .began_real = 1};
	struct archive_stream stream = {.id = 1, .run = 1, .ring_bytes = 4 * PACKET_BYTES, .ring_packets = 4};
	int r = archive_writer_begin(b->writer);

	if (!r)
		r = archive_writer_put_run(b->writer, &run);
	if (!r)
		r = archive_writer_put_stream(b->writer, &stream);
	return r ? r : archive_writer_commit(b->writer);
}

static int check_end(void *context, const struct archive_resume *resume)
{
	struct bench *b = context;

	/* All packets are complete, so the next position is the first byte of the next packet. */
	b->seed = resume->any && resume->sequence == b->sequence && resume->offset == MPROF_PACKET_HEADER_BYTES;
	return 0;
}

static void print_line(const char *name, const struct bench *b, double aim)
{
	struct rusage usage;
	double bytes = (double)b->sequence * PACKET_BYTES / 1e6;
	double ours = bytes / ((double)b->archive_ns / 1e9), peer = bytes / ((double)b->raw_ns / 1e9);

	printf("{\"name\": \"%s\", \"ours\": %.1f, \"peer\": %.1f, \"unit\": \"MB/s\", \"ratio\": %.3f, "
	       "\"aim\": %.2f, \"met\": %s}\n",
	       name, ours, peer, ours / peer, aim, ours / peer >= aim ? "true" : "false");
	getrusage(RUSAGE_SELF, &usage);
	printf("{\"name\": \"%s-memory\", \"ours\": %.1f, \"peer\": null, \"unit\": \"MiB resident at most\", "
	       "\"ratio\": null, \"aim\": null, \"met\": null}\n",
	       name, (double)usage.ru_maxrss / 1024);
	fflush(stdout);
}

/* Archive TURNS turns in the directory STATE, with the compression level LEVEL. */
static bool measure(const char *name, const char *state, int level, unsigned turns)
{
	struct archive_options options = {.wal_limit_bytes = 64u << 20, .level = level};
	struct bench b = {.raw = -1, .packet = calloc(1, PACKET_BYTES), .seed = 1, .time = 1000};
	char sentence[256] = "no memory";
	int r;

	mkdir(state, 0700);
	r = b.packet ? archive_writer_open(&b.writer, state, &options, sentence, sizeof(sentence)) : -1;

	if (r)
		fprintf(stderr, "%s: %s\n", name, sentence);
	b.raw = open("raw", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (!r)
		r = b.raw < 0 ? -1 : begin(&b);
	for (unsigned i = 0; i < turns && !r; i++)
		r = turn(&b, state);
	if (!r)
		print_line(name, &b, level == 0 ? AIM_RAW : AIM_ZSTD);
	b.seed = 0;
	if (!r)
		r = archive_writer_resume(b.writer, check_end, &b);
	if (b.writer && (r || !b.seed))
		fprintf(stderr, "%s: the archive does not end where the writing did (%d)\n", name, r);
	archive_writer_free(b.writer);
	closep(&b.raw);
	free(b.packet);
	return !r && b.seed;
}

int main(int argc, char **argv)
{
	bool brief = argc > 1 && strcmp(argv[1], "--brief") == 0;
	unsigned turns = brief ? 1 : 16;
	bool ok = measure("archive-raw", "raw.state", 0, turns);

	return measure("archive-zstd", "zstd.state", 1, turns) && ok ? 0 : 1;
}
