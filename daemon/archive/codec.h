/* A row as it is stored: compression (the column codec) and checksum. */
#ifndef ARCHIVE_CODEC_H
#define ARCHIVE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum codec { CODEC_RAW = 0, CODEC_ZSTD = 1 };

/* A compressor and its buffer, used for every row. A zeroed one may be deinitialized. */
struct codec_writer {
	struct ZSTD_CCtx_s *zstd;
	int level; /* 0 stores raw, 1 to 19 as zstd's, -1 to -7 its fast ones */
	uint8_t *buffer;
	size_t buffer_size;
};

struct codec_reader {
	struct ZSTD_DCtx_s *zstd;
};

/* Bytes to store. DATA is borrowed from the codec_writer or from its input, until the next call. */
struct codec_row {
	enum codec codec;
	const uint8_t *data;
	size_t length;
};

/* Set up C for pieces of at most MAX bytes. Return 0 or -ENOMEM. */
int codec_writer_init(struct codec_writer *c, int level, size_t max);
void codec_writer_deinit(struct codec_writer *c);

/*
 * Encode LEN bytes, at most the MAX of codec_writer_init(), as one zstd frame that declares its
 * content size; raw if the frame would not be smaller.
 */
struct codec_row codec_encode(struct codec_writer *c, const uint8_t *data, size_t len);

int codec_reader_init(struct codec_reader *c);
void codec_reader_deinit(struct codec_reader *c);

/* Return true if DATA is a frame that declares LEN bytes of content. The frame is not decoded. */
bool codec_is_frame_of(const void *data, size_t data_len, size_t len);

/*
 * Decode a row into exactly LEN bytes at OUT. Return false if the row is damaged or the codec is
 * unknown.
 */
bool codec_decode(struct codec_reader *c, int codec, const void *data, size_t data_len, uint8_t *out, size_t len);

/*
 * The checksum of a row: XXH3 (64 bit) of the stored data, and XXH3 of the other columns.
 * schema/archive/0002-checksums.sql lists the columns.
 *
 * The two halves are separate so that the columns can be checked without the data, and stored data
 * without decoding it.
 */

#define CHECKSUM_BYTES 16u

struct sqlite3_stmt;

/* The parts of a row's checksum, all borrowed. */
struct checksum_row {
	int64_t numbers[8];
	size_t n; /* at most 8 */
	const void *ends, *data;
	size_t ends_bytes, data_bytes;
};

/* Compute the checksum of ROW. */
void checksum_make(const struct checksum_row *row, uint8_t out[CHECKSUM_BYTES]);

/*
 * Return true if ROW agrees with the checksum in column AT of S; checksum_row_holds() ignores the
 * data. If the column is NULL return MAY_LACK: whether the row may be from before there were
 * checksums.
 */
bool checksum_holds(struct sqlite3_stmt *s, int at, bool may_lack, const struct checksum_row *row);
bool checksum_row_holds(struct sqlite3_stmt *s, int at, bool may_lack, const struct checksum_row *row);

#endif
