/*
 * Compression of one row.
 *
 * A row is one zstd frame by itself: it can be deleted, served as stored, or read alone.  The frame declares its content size, so that a
 * reader knows what to expect before it allocates, and zstd's own checksum of the content, for whoever unpacks it: the row's
 * checksum (checksum.h) covers the frame, and goes no further than the server.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "codec.h"

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
	if (ZSTD_isError(n) || n >= len) /* raw is always right */
		return raw;
	return (struct codec_row){.codec = CODEC_ZSTD, .data = c->buffer, .length = n};
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
