/* How a row is stored: its compression (the column codec) and its checksum. */
#ifndef ARCHIVE_CODEC_H
#define ARCHIVE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum codec { CODEC_RAW = 0, CODEC_ZSTD = 1 };

/*
 * A compressor and its buffer, used for all rows. A zeroed struct may be passed to
 * codec_writer_deinit().
 */
struct codec_writer {
	struct ZSTD_CCtx_s *zstd;
	int level; /* 0 = none, 1 to 19 as zstd's, -1 to -7 zstd's fast levels */
	uint8_t *buffer;
	size_t buffer_size;
};

struct codec_reader {
	struct ZSTD_DCtx_s *zstd;
};

/*
 * The encoded bytes of a row. DATA points to the buffer of the codec_writer, or to the input; it is
 * valid until the next call.
 */
struct codec_row {
	enum codec codec;
	const uint8_t *data;
	size_t length;
};

/* Initialise C for rows of at most MAX bytes. Return 0 or -ENOMEM. */
int codec_writer_init(struct codec_writer *c, int level, size_t max);
void codec_writer_deinit(struct codec_writer *c);

/*
 * Encode LEN bytes, at most the MAX of codec_writer_init(), as one zstd frame that declares its
 * content size. If the frame is not smaller than the bytes, return them as CODEC_RAW.
 */
struct codec_row codec_encode(struct codec_writer *c, const uint8_t *data, size_t len);

#define CODEC_FRAME_MOST 255u /* bytes of content of codec_frame() */
#define CODEC_FRAME_ROOM (CODEC_FRAME_MOST + 13u)
/*
 * Write LEN bytes, 1 to CODEC_FRAME_MOST, to OUT as one zstd frame that holds them uncompressed, with
 * its content size and checksum. Return the bytes of the frame, at most CODEC_FRAME_ROOM.
 */
size_t codec_frame(const uint8_t *data, size_t len, uint8_t *out);

int codec_reader_init(struct codec_reader *c);
void codec_reader_deinit(struct codec_reader *c);

/*
 * Return whether DATA is a zstd frame that declares LEN bytes of content. The frame is not decoded.
 */
bool codec_is_frame_of(const void *data, size_t data_len, size_t len);

/*
 * Decode a row into OUT, which gets exactly LEN bytes. Return false if the row is damaged or the
 * codec is unknown.
 */
bool codec_decode(struct codec_reader *c, int codec, const void *data, size_t data_len, uint8_t *out, size_t len);

/*
 * The checksum of a row: one half is XXH3 (64 bit) of the data as stored, the other half XXH3 of
 * the other columns. schema/archive/0002-checksums.sql lists the columns.
 *
 * Because of the two halves, the columns can be checked without reading the data, and stored data
 * without decoding it.
 */

#define CHECKSUM_BYTES 16u

struct sqlite3_stmt;

/* The values that a row's checksum covers, all borrowed. */
struct checksum_row {
	int64_t numbers[8];
	size_t n; /* at most 8 */
	const void *ends, *data;
	size_t ends_bytes, data_bytes;
};

/* Compute the checksum of ROW into OUT. */
void checksum_make(const struct checksum_row *row, uint8_t out[CHECKSUM_BYTES]);

/*
 * Return whether ROW agrees with the checksum in column AT of S. checksum_row_holds() checks all
 * columns but the data. If the column is NULL return MAY_LACK, which says whether the row may have
 * been written by a version without checksums.
 */
bool checksum_holds(struct sqlite3_stmt *s, int at, bool may_lack, const struct checksum_row *row);
bool checksum_row_holds(struct sqlite3_stmt *s, int at, bool may_lack, const struct checksum_row *row);

#endif
