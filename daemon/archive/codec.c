/*
 * Encode a row for storage, and compute its checksum.
 *
 * A row is stored as one zstd frame, so it can be deleted, served as stored, or read by itself. The
 * frame declares its content size, so a reader knows the size before it allocates. The frame also
 * has zstd's checksum of the content, for clients; the row's own checksum covers the frame and does
 * not leave the archive.
 */
#include "codec.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <mprof/bytes.h>

int codec_writer_init(struct codec_writer *c, int level, size_t max)
{
	*c = (struct codec_writer){.level = level, .buffer_size = ZSTD_compressBound(max)};
	c->zstd = ZSTD_createCCtx();
	c->buffer = malloc(c->buffer_size);
	if (c->zstd && c->buffer && !ZSTD_isError(ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_checksumFlag, 1)))
		return 0;
	codec_writer_deinit(c);
	return -ENOMEM;
}

void codec_writer_deinit(struct codec_writer *c)
{
	ZSTD_freeCCtx(c->zstd);
	free(c->buffer);
	*c = (struct codec_writer){0};
}

struct codec_row codec_encode(struct codec_writer *c, const uint8_t *data, size_t len)
{
	struct codec_row raw = {.codec = CODEC_RAW, .data = data, .length = len};
	size_t n;

	if (c->level == 0 || len == 0)
		return raw;
	ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_compressionLevel, c->level);
	n = ZSTD_compress2(c->zstd, c->buffer, c->buffer_size, data, len);
	if (ZSTD_isError(n) || n >= len) /* bytes that are not compressed are always valid */
		return raw;
	return (struct codec_row){.codec = CODEC_ZSTD, .data = c->buffer, .length = n};
}

size_t codec_frame(const uint8_t *data, size_t len, uint8_t *out)
{
	mprof_store32(out, ZSTD_MAGICNUMBER);
	out[4] = 1 << 5 | 1 << 2; /* a single segment with a checksum; the content size has one byte */
	out[5] = (uint8_t)len;
	out[6] = (uint8_t)(len << 3 | 1); /* the last block, raw, of LEN bytes: 24 bits */
	out[7] = (uint8_t)(len >> 5);
	out[8] = 0;
	memcpy(out + 9, data, len);
	mprof_store32(out + 9 + len, (uint32_t)XXH64(data, len, 0));
	return 9 + len + 4;
}

int codec_reader_init(struct codec_reader *c)
{
	c->zstd = ZSTD_createDCtx();
	return c->zstd ? 0 : -ENOMEM;
}

void codec_reader_deinit(struct codec_reader *c)
{
	ZSTD_freeDCtx(c->zstd);
	c->zstd = NULL;
}

bool codec_decode(struct codec_reader *c, int codec, const void *data, size_t data_len, uint8_t *out, size_t len)
{
	switch (codec) {
	case CODEC_RAW:
		if (data_len != len)
			return false;
		if (len)
			memcpy(out, data, len);
		return true;
	case CODEC_ZSTD:
		return ZSTD_decompressDCtx(c->zstd, out, len, data, data_len) == len;
	}
	return false;
}

bool codec_is_frame_of(const void *data, size_t data_len, size_t len)
{
	return data && ZSTD_getFrameContentSize(data, data_len) == len;
}

/* ---- checksums ------------------------------------------------------------------------------- */

#define HALF (CHECKSUM_BYTES / 2)

/* Compute the half of a checksum that covers the columns. DATA is the half that covers the data. */
static uint64_t row_sum(const struct checksum_row *row, uint64_t data)
{
	uint8_t numbers[9 * 8];
	XXH3_state_t state;

	for (size_t i = 0; i < row->n; i++)
		mprof_store64(numbers + 8 * i, (uint64_t)row->numbers[i]);
	mprof_store64(numbers + 8 * row->n, data);
	if (row->ends_bytes == 0)
		return XXH3_64bits(numbers, 8 * (row->n + 1));
	XXH3_64bits_reset(&state);
	XXH3_64bits_update(&state, numbers, 8 * (row->n + 1));
	XXH3_64bits_update(&state, row->ends, row->ends_bytes);
	return XXH3_64bits_digest(&state);
}

static uint64_t data_sum(const struct checksum_row *row)
{
	return XXH3_64bits(row->data_bytes ? row->data : "", row->data_bytes);
}

void checksum_make(const struct checksum_row *row, uint8_t out[CHECKSUM_BYTES])
{
	uint64_t data = data_sum(row);

	mprof_store64(out, data);
	mprof_store64(out + HALF, row_sum(row, data));
}

bool checksum_row_holds(sqlite3_stmt *s, int at, bool may_lack, const struct checksum_row *row)
{
	const uint8_t *stored = sqlite3_column_blob(s, at);

	if (!stored)
		return may_lack && sqlite3_column_type(s, at) == SQLITE_NULL;
	return sqlite3_column_bytes(s, at) == (int)CHECKSUM_BYTES &&
	       mprof_load64(stored + HALF) == row_sum(row, mprof_load64(stored));
}

bool checksum_holds(sqlite3_stmt *s, int at, bool may_lack, const struct checksum_row *row)
{
	const uint8_t *stored = sqlite3_column_blob(s, at);

	return checksum_row_holds(s, at, may_lack, row) && (!stored || mprof_load64(stored) == data_sum(row));
}
