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

#endif
