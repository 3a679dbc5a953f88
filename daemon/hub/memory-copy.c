/*
 * Fetch the pieces of a memory profile, check each, and write their content one behind the other. The rows come
 * from hosts and are not trusted.
 */
#include "memory-copy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive.h"
#include "checksum.h"
#include "cleanup.h"
#include "codec.h"
#include "write-all.h"

#define PAGE "8"

enum column { COLUMN_NUMBER, COLUMN_OFFSET, COLUMN_LENGTH, COLUMN_CODEC, COLUMN_SUM, COLUMN_DATA };

struct memory {
	struct codec_reader decoder;
	uint8_t *plain;
	int fd;
	int64_t number; /* of the next piece */
	uint64_t bytes, most;
	const char *why; /* the sentence of a condition */
};

static void memory_deinit(struct memory *m)
{
	codec_reader_deinit(&m->decoder);
	free(m->plain);
	if (m->fd >= 0)
		close(m->fd);
}

static int refuse(struct memory *m, const char *why)
{
	m->why = why;
	return COPY_E_REFUSED;
}

static int put(struct memory *m, const uint8_t *bytes, size_t n)
{
	int r = write_all(m->fd, bytes, n);

	if (r == 0)
		return 0;
	m->why = strerror(-r);
	return COPY_E_DISK;
}

static int copy_piece(struct memory *m, const struct postgres_rows *rows, int row)
{
	int64_t length = postgres_number(rows, row, COLUMN_LENGTH), codec = postgres_number(rows, row, COLUMN_CODEC);
	size_t bytes;
	const uint8_t *data = postgres_bytes(rows, row, COLUMN_DATA, &bytes);

	if (postgres_number(rows, row, COLUMN_NUMBER) != m->number ||
	    (uint64_t)postgres_number(rows, row, COLUMN_OFFSET) != m->bytes || length < 0 ||
	    length > ARCHIVE_PIECE_MAX || (codec != CODEC_RAW && codec != CODEC_ZSTD) ||
	    (codec == CODEC_RAW && bytes != (size_t)length))
		return refuse(m, "its pieces do not follow each other");
	if (!piece_sum_holds(rows, row, COLUMN_DATA, COLUMN_SUM))
		return refuse(m, "a piece does not have its checksum");
	if (m->bytes + (uint64_t)length > m->most)
		return refuse(m, "it is too large");
	if (length > 0 && !codec_decode(&m->decoder, (int)codec, data, bytes, m->plain, (size_t)length))
		return refuse(m, "a piece cannot be decoded");
	m->number++;
	m->bytes += (uint64_t)length;
	return put(m, m->plain, (size_t)length);
}

/* Copy the next pieces. *N is their number. */
static int copy_page(struct memory *m, struct postgres *p, const struct capture_key *key, int32_t recording, int *n)
{
	CLEANUP(postgres_rows_freep) struct postgres_rows *rows = NULL;
	struct postgres_params params = {0};
	int rc;

	capture_key_add(key, &params);
	postgres_add_number(&params, recording);
	postgres_add_number(&params, m->number);
	rc = postgres_call_binary(
		p,
		"SELECT number, \"offset\", length, codec, sum, data FROM fleet.pieces WHERE host = $1 AND "
		"month = $2::date AND archive = $3::uuid AND capture = $4::bigint AND part = 'memory' AND "
		"stream = $5::integer AND number >= $6::integer ORDER BY number LIMIT " PAGE,
		&params, &rows);
	*n = postgres_count(rows);
	if (rc > 0) {
		m->why = postgres_sentence(p);
		return COPY_E_LOST;
	}
	for (int row = 0; row < *n && rc == 0; row++)
		rc = copy_piece(m, rows, row);
	return rc;
}

int memory_copy(struct postgres *p, const struct capture_key *key, int32_t recording, const char *directory,
		uint64_t most, char *sentence, size_t size)
{
	CLEANUP(memory_deinit) struct memory m = {.fd = -1, .most = most};
	char path[560];
	int rc = 0, n = 1;

	snprintf(sentence, size, "there is no memory left to copy the memory profile");
	m.plain = malloc(ARCHIVE_PIECE_MAX);
	if (!m.plain || codec_reader_init(&m.decoder) < 0)
		return -ENOMEM;
	snprintf(path, sizeof(path), "%s/" MEMORY_COPY_FILE, directory);
	m.fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (m.fd < 0) {
		snprintf(sentence, size, "%s", strerror(errno));
		return COPY_E_DISK;
	}
	while (rc == 0 && n > 0)
		rc = copy_page(&m, p, key, recording, &n);
	if (rc == 0 && m.number == 0)
		rc = COPY_E_ABSENT;
	if (rc > 0)
		snprintf(sentence, size, "%s", m.why ? m.why : "there is no such memory profile");
	return rc;
}
