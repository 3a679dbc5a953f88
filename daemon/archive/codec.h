/* Compression of one row: what the column chunks.codec names. */
#ifndef ARCHIVE_CODEC_H
#define ARCHIVE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum codec { CODEC_RAW = 0, CODEC_ZSTD = 1 };

/* Contexts and one buffer, made once and used for every row.  Zeroed is safe to deinit. */
struct codec_writer {
	struct ZSTD_CCtx_s *zstd;
	int level; /* 0 raw, 1 to 19, -1 to -7 */
	uint8_t *buffer;
	size_t buffer_size;
};

struct codec_reader {
	struct ZSTD_DCtx_s *zstd;
};

/* What is to be stored.  DATA is borrowed from the codec_writer or from its input, until the next call. */
struct codec_row {
	enum codec codec;
	const uint8_t *data;
	size_t length;
};

/* Pieces of at most MAX bytes will be compressed.  0 or -ENOMEM. */
int codec_writer_init(struct codec_writer *c, int level, size_t max);
void codec_writer_deinit(struct codec_writer *c);

/* As one zstd frame that declares its content size, or raw where that is not larger.  LEN is at most MAX. */
struct codec_row codec_encode(struct codec_writer *c, const uint8_t *data, size_t len);

int codec_reader_init(struct codec_reader *c);
void codec_reader_deinit(struct codec_reader *c);

/* Is it a frame that says that it unpacks to LEN bytes?  It is not unpacked. */
bool codec_is_frame_of(const void *data, size_t data_len, size_t len);

/* Undo it into exactly LEN bytes at OUT.  False: the row is damaged, or its codec unknown. */
bool codec_decode(struct codec_reader *c, int codec, const void *data, size_t data_len, uint8_t *out, size_t len);

/*
 * Checksums of rows: XXH3 (64 bit) over the stored bytes and over the rest of the row.  schema/archive/0002-checksums.sql says which columns.
 *
 * The two are apart so that a row's columns can be checked without its data, and stored data without being unpacked.
 */

#define CHECKSUM_BYTES 16u

struct sqlite3_stmt;

/* What a row's checksum is made of.  All borrowed. */
struct checksum_row {
	int64_t numbers[8];
	size_t n; /* numbers that are used, at most 8 */
	const void *ends, *data;
	size_t ends_bytes, data_bytes;
};

/* Compute the checksum of ROW. */
void checksum_make(const struct checksum_row *row, uint8_t out[CHECKSUM_BYTES]);

/*
 * Does ROW agree with the checksum in column AT of S, all of it or (checksum_row_holds) but for its data?  Where the column is NULL the answer
 * is MAY_LACK: whether the row may be one from before there were checksums.
 */
bool checksum_holds(struct sqlite3_stmt *s, int at, bool may_lack, const struct checksum_row *row);
bool checksum_row_holds(struct sqlite3_stmt *s, int at, bool may_lack, const struct checksum_row *row);

#endif
