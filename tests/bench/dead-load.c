/*
 * dead-load STATE STREAMS PACKETS TAIL BYTES: write an archive to the new directory STATE. It has a guest "dead" that
 * crashed, with STREAMS rings of PACKETS packets of BYTES bytes each. The newest TAIL packets of each ring are the
 * unproven tail of capture 1; the last packet's last event is half written. TAIL may be PACKETS.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <mprof/event.h>
#include <mprof/ring.h>

#include "clock.h"
#include "writer.h"

#define PER_COMMIT 16u
#define LEVEL	   1
#define HEADER	   MPROF_PACKET_HEADER_BYTES
#define EVENT	   17u

struct load {
	struct archive_writer *w;
	uint32_t streams, packets, tail, bytes;
	uint8_t *data;
	uint64_t time;
};

/* Fill the content of a packet with switches of threads, as regular as the events of the other rings here. Return its bytes. */
static uint32_t fill(struct load *l, bool last)
{
	uint32_t at = 0, most = l->bytes - HEADER;

	for (; at + EVENT <= most; at += EVENT) {
		l->time += 1000 + at / EVENT % 8;
		mprof_store64(l->data + at, l->time);
		l->data[at + 8] = MPROF_EVENT_switch;
		mprof_store64(l->data + at + 9, 1 + at / EVENT % 64);
	}
	if (last)
		memset(l->data + at - EVENT, 0xff, 4); /* its time was not written to its end */
	return at;
}

static int put_packet(struct load *l, int64_t stream, uint64_t sequence)
{
	bool tail = sequence >= l->packets - l->tail;
	struct moment now = moment_now();
	struct archive_end end = {.mono = now.mono, .real = now.real};
	struct archive_piece piece = {.stream = stream,
				      .sequence = sequence,
				      .offset = HEADER,
				      .flags = tail ? 0 : ARCHIVE_CHUNK_LAST,
				      .packet_bytes = l->bytes,
				      .ends = &end,
				      .n_ends = 1};
	uint32_t left = fill(l, sequence == l->packets - 1), at = 0;
	int r = 0;

	piece.first_timestamp = mprof_load64(l->data);
	for (; left && r == 0; left -= piece.length, at += piece.length) {
		piece.length = left < ARCHIVE_PIECE_MAX ? left : ARCHIVE_PIECE_MAX;
		piece.offset = HEADER + at;
		piece.data = l->data + at;
		end.offset = piece.offset + piece.length;
		r = tail ? archive_writer_tail(l->w, 1, &piece) : archive_writer_append(l->w, &piece);
	}
	return r;
}

static int put_guest(struct load *l)
{
	uint64_t now = moment_now().real;
	struct archive_run run = {.id = 1,
				  .source = "dir",
				  .key = "dead",
				  .name = "dead",
				  .domid = -1,
				  .state = "ended",
				  .began_real = now,
				  .ended_real = now,
				  .reason = "crash"};
	struct archive_capture capture = {.id = 1, .run = 1, .kind = "ended", .mono = moment_now().mono, .real = now};
	int r = archive_writer_put_run(l->w, &run);

	for (uint32_t i = 0; i < l->streams && r == 0; i++) {
		struct archive_stream stream = {.id = i + 1,
						.run = 1,
						.number = i,
						.ring_bytes = (uint64_t)l->packets * l->bytes,
						.ring_packets = l->packets};

		r = archive_writer_put_stream(l->w, &stream);
	}
	return r == 0 ? archive_writer_put_capture(l->w, &capture) : r;
}

static int commit(struct load *l)
{
	int r = archive_writer_commit(l->w);

	return r == 0 ? archive_writer_begin(l->w) : r;
}

static int load(struct load *l)
{
	uint32_t proven = l->packets - l->tail;
	int r = archive_writer_begin(l->w);

	if (r == 0)
		r = put_guest(l);
	for (uint32_t stream = 1; stream <= l->streams && r == 0; stream++) {
		struct archive_capture_stream range = {
			.capture = 1,
			.stream = stream,
			.last_sequence = proven ? proven - 1 : 0,
			.last_offset = proven ? HEADER + (l->bytes - HEADER) / EVENT * EVENT : HEADER,
		};

		for (uint64_t i = 0; i < l->packets && r == 0; i++) {
			r = put_packet(l, stream, i);
			if (r == 0 && i % PER_COMMIT == PER_COMMIT - 1)
				r = commit(l);
		}
		if (r == 0)
			r = archive_writer_put_capture_stream(l->w, &range);
	}
	return r == 0 ? archive_writer_commit(l->w) : r;
}

int main(int argc, char **argv)
{
	const struct archive_options options = {.wal_limit_bytes = 64u << 20, .level = LEVEL};
	CLEANUP(archive_writer_freep) struct archive_writer *w = NULL;
	struct load l = {.time = 1000000000};
	char sentence[256];
	int r;

	if (argc != 6) {
		fprintf(stderr, "Usage: dead-load STATE STREAMS PACKETS TAIL BYTES\n");
		return 2;
	}
	l.streams = (uint32_t)strtoul(argv[2], NULL, 10);
	l.packets = (uint32_t)strtoul(argv[3], NULL, 10);
	l.tail = (uint32_t)strtoul(argv[4], NULL, 10);
	l.bytes = (uint32_t)strtoul(argv[5], NULL, 10);
	l.data = malloc(l.bytes);
	if (!l.data || l.tail > l.packets || l.bytes < 4096)
		return 2;
	mkdir(argv[1], 0700);
	r = archive_writer_open(&w, argv[1], &options, sentence, sizeof(sentence));
	if (r)
		fprintf(stderr, "dead-load: %s\n", sentence);
	l.w = w;
	if (r == 0)
		r = load(&l);
	if (r)
		fprintf(stderr, "dead-load: error %d\n", r);
	free(l.data);
	return r ? 1 : 0;
}
