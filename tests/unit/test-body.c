/*
 * A body whose rows are decoded ahead in a thread has the same bytes as a body whose rows are
 * decoded one by one.
 */
#include "archive-fixture.h"
#include "body.h"

#define STREAM 5

/*
 * An archive with packets of several sizes (one is longer than a row, one is in small rows) and a
 * tail.
 */
struct served {
	struct fixture f;
	struct reader *reader;
	struct scratch scratch;
	struct decode_thread *thread;
	struct selection selection;
	struct plan plan;
	char *want; /* bytes of the whole body */
};

static void append(struct served *s, uint64_t sequence, uint32_t rows, uint32_t length)
{
	CHECK_EQ_INT(archive_writer_begin(s->f.w), 0);
	for (uint32_t i = 0; i < rows; i++)
		CHECK_EQ_INT(fixture_append(&s->f, STREAM, sequence, 30 + i * length, length,
					    i + 1 == rows ? ARCHIVE_CHUNK_LAST : 0, true, 1000 + sequence),
			     0);
	CHECK_EQ_INT(archive_writer_commit(s->f.w), 0);
}

static void plan_all(struct served *s)
{
	plan_init(&s->plan, s->reader, &s->scratch, &s->selection);
	while (CHECK_EQ_INT(plan_step(&s->plan, UINT64_MAX), 0) && !s->plan.done)
		;
}

static bool served_init(struct served *s)
{
	struct body b;
	size_t n, got;

	*s = (struct served){0};
	if (!fixture_init(&s->f) || !CHECK_EQ_INT(fixture_put(&s->f, 1, "web", "ended", STREAM), 0) ||
	    !CHECK_EQ_INT(reader_new(&s->reader, s->f.state), 0) || !CHECK_EQ_INT(scratch_init(&s->scratch), 0) ||
	    !CHECK_EQ_INT(decode_thread_new(&s->thread), 0))
		return false;
	for (uint64_t i = 0; i < 12; i++)
		append(s, i, 1, (uint32_t)(10000 + 9000 * i));
	append(s, 12, 3, ARCHIVE_PIECE_MAX);
	append(s, 13, 1, 1); /* too short to be compressed */
	append(s, 14, 7, 300);
	append(s, 15, 1, 60000);
	s->selection = (struct selection){.run = 1, .stream = STREAM, .ring_packets = 4, .raw = true};
	CHECK_EQ_INT(selection_all(&s->selection, s->reader), 0);
	plan_all(s);
	s->want = malloc(s->plan.total + 1);
	CHECK_EQ_INT(body_init(&b, s->reader, &s->scratch, &s->plan, false, false, s->plan.total), 0);
	for (n = 0; body_pull(&b, s->want + n, s->plan.total + 1 - n, &got) == 0; n += got)
		;
	body_deinit(&b);
	return CHECK_EQ_UINT(n, s->plan.total);
}

static void served_deinit(struct served *s)
{
	free(s->want);
	decode_thread_free(s->thread);
	reader_free(s->reader);
	scratch_deinit(&s->scratch);
	fixture_deinit(&s->f);
}

/*
 * Read the body of S's plan, or BYTES bytes of it from FIRST on, in steps of MAX bytes. Return the
 * last result, and store the number of bytes in *N.
 */
static int stream(struct served *s, uint64_t first, uint64_t bytes, size_t max, uint64_t *n)
{
	bool range = first || bytes != s->plan.total;
	struct body_stream b;
	char *out = malloc(max);
	size_t got;
	int rc;

	CHECK_EQ_INT(body_stream_init(&b, s->reader, &s->scratch, s->thread, &s->plan, false, range, bytes), 0);
	for (*n = 0; (rc = body_stream_pull(&b, out, max, &got)) == 0; *n += got)
		if (!CHECK(*n + got <= bytes) || !CHECK_EQ_MEM(out, s->want + first + *n, got))
			break;
	body_stream_deinit(&b);
	free(out);
	return rc;
}

static void test_whole(void)
{
	static const size_t steps[] = {999, 65536, 262144, 4u << 20};
	struct served s;
	uint64_t n;

	if (!served_init(&s))
		return;
	for (size_t i = 0; i < 4; i++) {
		CHECK_EQ_INT(stream(&s, 0, s.plan.total, steps[i], &n), BODY_E_END);
		CHECK_EQ_UINT(n, s.plan.total);
	}
	served_deinit(&s);
}

/* Read ranges that begin and end inside headers, inside rows, and at the borders of both. */
static void test_ranges(void)
{
	uint64_t x = 12345, total, n;
	struct served s;

	if (!served_init(&s))
		return;
	total = s.plan.total;
	for (unsigned i = 0; i < 200; i += check_step(4)) {
		uint64_t first, last;

		x = x * 6364136223846793005u + 1442695040888963407u;
		first = i < 50 ? i : (x >> 20) % total;
		x = x * 6364136223846793005u + 1442695040888963407u;
		last = i < 20 ? total - 1 - i : first + (x >> 20) % (total - first);
		plan_range(&s.plan, first, last);
		while (CHECK_EQ_INT(plan_step(&s.plan, UINT64_MAX), 0) && !s.plan.done)
			;
		CHECK_EQ_INT(stream(&s, first, last - first + 1, 65536, &n), BODY_E_END);
		CHECK_EQ_UINT(n, last - first + 1);
	}
	served_deinit(&s);
}

/* A row whose data does not decode is reported, and the body ends before the row. */
static void test_damaged_frame(void)
{
	struct reader_damage damage;
	struct served s;
	uint64_t n;

	if (!served_init(&s))
		return;
	/*
	 * Only a row without a checksum, written by an older version, can be damaged and still seem
	 * whole.
	 */
	fixture_number(&s.f, "UPDATE unchecked SET chunks = 1000");
	fixture_number(&s.f, "UPDATE chunks SET checksum = NULL, data = CAST(substr(data, 1, length(data) - 40) || "
			     "zeroblob(40) AS BLOB) WHERE sequence = 12 AND offset > 30");
	CHECK_EQ_INT(stream(&s, 0, s.plan.total, 65536, &n), ARCHIVE_E_DAMAGED);
	CHECK(n > 500000 && n < s.plan.total - 1000000);
	CHECK(reader_take_damage(s.reader, &damage) && damage.stream == STREAM && damage.sequence == 12);
	served_deinit(&s);
}

/* If rows are deleted, also while the body is being sent, the body never looks complete. */
static void test_rows_that_go(void)
{
	struct served s;
	uint64_t n;

	for (unsigned gone = 0; gone < 16; gone += 3 * check_step(2)) {
		if (!served_init(&s))
			return;
		fixture_number(&s.f, "DELETE FROM chunks WHERE sequence = %u", gone);
		CHECK(stream(&s, 0, s.plan.total, 65536, &n) != BODY_E_END);
		CHECK(n < s.plan.total);
		served_deinit(&s);
	}
}

/*
 * Each block has a row of packets whose rows are longer than a block: one with the next packet's header alone
 * would leave the thread without work while the row before it is sent.
 */
static void test_long_rows(void)
{
	struct block blocks[BLOCKS_AHEAD] = {{0}};
	struct served s;
	struct body b;
	unsigned n, short_ones = 0;

	if (!served_init(&s))
		return;
	for (uint64_t i = 16; i < 30; i++)
		append(&s, i, 1, ARCHIVE_PIECE_MAX - 30);
	CHECK_EQ_INT(selection_all(&s.selection, s.reader), 0);
	s.selection.first = 16;
	plan_all(&s);
	CHECK_EQ_INT(body_init(&b, s.reader, &s.scratch, &s.plan, false, false, s.plan.total), 0);
	for (n = 0;; n++) {
		struct block *block = &blocks[n % BLOCKS_AHEAD];

		decode_batch_clear(&block->batch);
		block->bytes = 0;
		if (!CHECK_EQ_INT(block_reserve(block, BLOCK_BYTES), 0) || body_fill(&b, block) != 0)
			break;
		short_ones += block->bytes < BLOCK_BYTES;
	}
	CHECK(n >= 14);
	CHECK(short_ones <= 1); /* the first header: nothing has said yet how long a row is */
	for (unsigned i = 0; i < BLOCKS_AHEAD; i++) {
		decode_batch_deinit(&blocks[i].batch);
		free(blocks[i].data);
	}
	body_deinit(&b);
	served_deinit(&s);
}

int main(void)
{
	CHECK_RUN(test_whole);
	CHECK_RUN(test_ranges);
	CHECK_RUN(test_damaged_frame);
	CHECK_RUN(test_rows_that_go);
	CHECK_RUN(test_long_rows);
	return check_done();
}
