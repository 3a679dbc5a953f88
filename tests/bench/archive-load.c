/*
 * archive-load STATE FILE: write the packets of FILE, a CTF stream without gaps, to a new archive in
 * the directory STATE, as the collector writes complete packets. They belong to a guest "load" that
 * has ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mprof/packet.h>

#include "clock.h"
#include "writer.h"

#define PER_COMMIT 4u
#define LEVEL	   1

static int put(struct archive_writer *w, uint32_t packets, uint32_t packet_bytes)
{
	uint64_t now = moment_now().real;
	struct archive_run run = {.id = 1,
				  .source = "dir",
				  .key = "load",
				  .name = "load",
				  .domid = -1,
				  .state = "ended",
				  .began_real = now,
				  .ended_real = now,
				  .reason = "unknown"};
	struct archive_stream stream = {
		.id = 1, .run = 1, .ring_bytes = (uint64_t)packets * packet_bytes, .ring_packets = packets};
	int r = archive_writer_put_run(w, &run);

	return r ? r : archive_writer_put_stream(w, &stream);
}

static int append(struct archive_writer *w, const uint8_t *packet, const struct mprof_packet_header *h,
		  uint64_t sequence)
{
	struct moment now = moment_now();
	struct archive_end end = {.offset = h->content_bytes, .mono = now.mono, .real = now.real};
	struct archive_piece piece = {
		.stream = 1,
		.sequence = sequence,
		.offset = MPROF_PACKET_HEADER_BYTES,
		.length = h->content_bytes - MPROF_PACKET_HEADER_BYTES,
		.flags = ARCHIVE_CHUNK_LAST,
		.packet_bytes = h->packet_bytes,
		.first_timestamp = mprof_load64(packet + MPROF_PACKET_HEADER_BYTES),
		.ends = &end,
		.n_ends = 1,
		.data = packet + MPROF_PACKET_HEADER_BYTES,
	};

	return archive_writer_append(w, &piece);
}

/* Write the LEN bytes at P to W. Return 0 or an error; -EINVAL when they are no stream. */
static int load(struct archive_writer *w, const uint8_t *p, size_t len)
{
	struct mprof_packet_header h;
	int r = archive_writer_begin(w);

	for (uint64_t n = 0; len && !r; n++, p += h.packet_bytes, len -= h.packet_bytes) {
		if (mprof_packet_load(&h, p, len) != MPROF_PACKET_OK || h.packet_bytes > len ||
		    h.content_bytes < MPROF_PACKET_HEADER_BYTES + 8)
			return -EINVAL;
		if (n == 0)
			r = put(w, (uint32_t)(len / h.packet_bytes), h.packet_bytes);
		if (!r && n && n % PER_COMMIT == 0)
			r = archive_writer_commit(w);
		if (!r && n && n % PER_COMMIT == 0)
			r = archive_writer_begin(w);
		if (!r)
			r = append(w, p, &h, n);
	}
	return r ? r : archive_writer_commit(w);
}

int main(int argc, char **argv)
{
	const struct archive_options options = {.wal_limit_bytes = 64u << 20, .level = LEVEL};
	CLEANUP(archive_writer_freep) struct archive_writer *w = NULL;
	char sentence[256];
	struct stat st;
	void *bytes;
	int fd, r;

	if (argc != 3) {
		fprintf(stderr, "Usage: archive-load STATE FILE\n");
		return 2;
	}
	fd = open(argv[2], O_RDONLY | O_CLOEXEC);
	bytes = fd >= 0 && fstat(fd, &st) == 0 ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
					       : MAP_FAILED;
	if (bytes == MAP_FAILED) {
		perror(argv[2]);
		return 1;
	}
	mkdir(argv[1], 0700);
	r = archive_writer_open(&w, argv[1], &options, sentence, sizeof(sentence));
	if (r)
		fprintf(stderr, "archive-load: %s\n", sentence);
	else
		r = load(w, bytes, (size_t)st.st_size);
	if (r)
		fprintf(stderr, "archive-load: error %d\n", r);
	return r ? 1 : 0;
}
