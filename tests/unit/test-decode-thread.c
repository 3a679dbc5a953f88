/* The decoding thread, and bodies that are read in blocks, which the thread decodes. */
#include <errno.h>
#include <stdlib.h>

#include "blocks.h"
#include "check.h"
#include "codec.h"

#define ROW 20000u

/* Write LENGTH bytes of row NUMBER to OUT. The bytes depend on the number. */
static void row_make(uint8_t *out, size_t length, unsigned number)
{
	for (size_t i = 0; i < length; i++)
		out[i] = (uint8_t)(i / 7 * (number + 1));
}

static bool row_holds(const uint8_t *at, size_t length, unsigned number)
{
	for (size_t i = 0; i < length; i++)
		if (at[i] != (uint8_t)(i / 7 * (number + 1)))
			return false;
	return true;
}

/* Compress row NUMBER, and add it to batch B as a frame that will be decoded to OUT. */
static int row_add(struct codec_writer *codec, struct decode_batch *b, uint8_t *out, uint32_t length, unsigned number)
{
	struct decode_frame origin = {.sequence = number, .out = out, .length = length};
	static uint8_t plain[2u << 20];
	struct codec_row row;

	row_make(plain, length, number);
	row = codec_encode(codec, plain, length);
	CHECK_EQ_INT(row.codec, CODEC_ZSTD);
	return decode_batch_add(b, &origin, row.data, row.length);
}

/* Several bodies hand batches over, and wait for them in another order. */
static void test_batches(void)
{
	enum { BATCHES = 8, ROWS = 9 };
	CLEANUP(decode_thread_freep) struct decode_thread *t = NULL;
	static uint8_t out[BATCHES][ROWS][ROW];
	static struct decode_batch batches[BATCHES];
	struct codec_writer codec;

	CHECK_EQ_INT(codec_writer_init(&codec, 1, ROW), 0);
	CHECK_EQ_INT(decode_thread_new(&t), 0);
	for (unsigned round = 0; round < 20; round++) {
		memset(out, 0, sizeof(out));
		for (unsigned i = 0; i < BATCHES; i++) {
			decode_batch_clear(&batches[i]);
			for (unsigned k = 0; k < ROWS; k++)
				CHECK_EQ_INT(row_add(&codec, &batches[i], out[i][k], ROW, i * ROWS + k), 0);
			decode_begin(t, &batches[i]);
		}
		for (unsigned i = 0; i < BATCHES; i++) {
			unsigned at = (i * 3 + round) % BATCHES;

			if (i % 4 == 3) {
				decode_drop(t, &batches[at]);
				continue;
			}
			CHECK(decode_wait(t, &batches[at]) == NULL);
			for (unsigned k = 0; k < ROWS; k++)
				CHECK(row_holds(out[at][k], ROW, at * ROWS + k));
		}
	}
	for (unsigned i = 0; i < BATCHES; i++)
		decode_batch_deinit(&batches[i]);
	codec_writer_deinit(&codec);
}

/* If a frame does not decode, decode_wait returns this frame. The others are decoded. */
static void test_damage(void)
{
	CLEANUP(decode_thread_freep) struct decode_thread *t = NULL;
	static uint8_t out[3][ROW];
	struct decode_batch b = {0};
	const struct decode_frame *damage;
	struct codec_writer codec;

	CHECK_EQ_INT(codec_writer_init(&codec, 1, ROW), 0);
	CHECK_EQ_INT(decode_thread_new(&t), 0);
	for (unsigned k = 0; k < 3; k++)
		CHECK_EQ_INT(row_add(&codec, &b, out[k], ROW, k), 0);
	b.bytes[b.frames[1].at + b.frames[1].bytes - 1] ^= 1; /* a byte of the frame's checksum */
	decode_begin(t, &b);
	damage = decode_wait(t, &b);
	if (CHECK(damage != NULL))
		CHECK_EQ_UINT(damage->sequence, 1);
	CHECK(row_holds(out[0], ROW, 0) && row_holds(out[2], ROW, 2));
	decode_batch_deinit(&b);
	codec_writer_deinit(&codec);
}

static void test_full_batch(void)
{
	static uint8_t out[DECODE_FRAMES + 1];
	struct decode_batch b = {0};
	struct decode_frame origin = {.out = out, .length = 1};

	for (unsigned i = 0; i < DECODE_FRAMES; i++)
		CHECK_EQ_INT(decode_batch_add(&b, &origin, out, 1), 0);
	CHECK_EQ_INT(decode_batch_add(&b, &origin, out, 1), -ENOSPC);
	decode_batch_deinit(&b);
}

/* A body of ROWS rows. Every third row is not compressed, and row 5 is longer than a block. */
struct source {
	struct codec_writer codec;
	unsigned next, rows, filled, damaged;
	int end; /* result of the read after the last row */
};

static uint32_t length_of(unsigned number)
{
	return number == 5 ? BLOCK_BYTES + 7777 : 10000 + 1000 * (number % 50);
}

static int fill(void *context, struct block *block)
{
	struct source *s = context;

	s->filled++;
	while (s->next < s->rows) {
		uint32_t length = length_of(s->next);

		if (block->capacity - block->bytes < length && block->bytes)
			return 0;
		CHECK_EQ_INT(block_reserve(block, length), 0);
		if (s->next % 3 == 2)
			row_make(block->data + block->bytes, length, s->next);
		else
			CHECK_EQ_INT(row_add(&s->codec, &block->batch, block->data + block->bytes, length, s->next), 0);
		if (s->next == s->damaged)
			block->batch.bytes[block->batch.used - 1] ^= 1;
		block->bytes += length;
		s->next++;
	}
	return s->end;
}

static void source_init(struct source *s, unsigned rows)
{
	*s = (struct source){.rows = rows, .damaged = rows, .end = 100};
	CHECK_EQ_INT(codec_writer_init(&s->codec, 1, 1u << 20), 0);
}

/*
 * Read all of S in steps of MAX bytes, and check the bytes. Return the last result, and store the
 * number of rows in *ROWS.
 */
static int read_all(struct decode_thread *t, struct source *s, size_t max, unsigned *rows)
{
	static uint8_t body[16u << 20];
	size_t bytes = 0, n, at = 0;
	const struct decode_frame *damage;
	struct blocks blocks;
	int rc;

	blocks_init(&blocks, t, fill, s);
	while ((rc = blocks_read(&blocks, (char *)body + bytes, max, &n, &damage)) == 0) {
		CHECK(n > 0 && n <= max);
		bytes += n;
	}
	for (*rows = 0; *rows < s->rows && at + length_of(*rows) <= bytes; at += length_of((*rows)++))
		CHECK(row_holds(body + at, length_of(*rows), *rows));
	CHECK(at <= bytes);
	CHECK_EQ_UINT(bytes - at, 0);
	CHECK_EQ_INT(damage != NULL, s->damaged < s->rows);
	if (damage)
		CHECK_EQ_UINT(damage->sequence, s->damaged);
	blocks_deinit(&blocks);
	return rc;
}

static void test_blocks(void)
{
	static const size_t steps[] = {1000, 65536, 1u << 20};
	CLEANUP(decode_thread_freep) struct decode_thread *t = NULL;
	struct source s;
	unsigned rows;

	CHECK_EQ_INT(decode_thread_new(&t), 0);
	for (size_t i = 0; i < 3; i++) {
		source_init(&s, 100);
		CHECK_EQ_INT(read_all(t, &s, steps[i], &rows), 100);
		CHECK_EQ_UINT(rows, 100);
		codec_writer_deinit(&s.codec);
	}
	source_init(&s, 0); /* an empty body that fails at once */
	s.end = -EIO;
	CHECK_EQ_INT(read_all(t, &s, 1000, &rows), -EIO);
	codec_writer_deinit(&s.codec);
}

/* If a frame of a block does not decode, no byte of this block or of a later one is sent. */
static void test_damaged_block(void)
{
	CLEANUP(decode_thread_freep) struct decode_thread *t = NULL;
	struct source s;
	unsigned rows;

	CHECK_EQ_INT(decode_thread_new(&t), 0);
	source_init(&s, 100);
	s.damaged = 60;
	CHECK_EQ_INT(read_all(t, &s, 65536, &rows), ARCHIVE_E_DAMAGED);
	CHECK(rows > 30 && rows <= 60);
	codec_writer_deinit(&s.codec);
}

/*
 * At most BLOCKS_AHEAD blocks are filled for a client that takes no bytes. They can be freed while
 * the thread decodes them.
 */
static void test_slow(void)
{
	CLEANUP(decode_thread_freep) struct decode_thread *t = NULL;
	const struct decode_frame *damage;
	struct blocks blocks;
	struct source s;
	char out[100];
	size_t n;

	CHECK_EQ_INT(decode_thread_new(&t), 0);
	for (unsigned i = 0; i < 20; i++) {
		source_init(&s, 100);
		blocks_init(&blocks, t, fill, &s);
		CHECK_EQ_INT(blocks_read(&blocks, out, sizeof(out), &n, &damage), 0);
		CHECK_EQ_UINT(s.filled, BLOCKS_AHEAD);
		blocks_deinit(&blocks);
		codec_writer_deinit(&s.codec);
	}
}

int main(void)
{
	CHECK_RUN(test_batches);
	CHECK_RUN(test_damage);
	CHECK_RUN(test_full_batch);
	CHECK_RUN(test_blocks);
	CHECK_RUN(test_damaged_block);
	CHECK_RUN(test_slow);
	return check_done();
}
