/*
 * The pieces of captures and packets: a capture has the same pieces whatever became of its packets
 * meanwhile, and no byte behind its end.
 */
#include "archive-fixture.h"
#include "piece.h"

#define MIB 1048576u

/* The pieces of one reading. */
struct seen {
	struct codec_reader codec;
	unsigned n;
	uint64_t sum; /* over all bytes and numbers, to compare two readings */
	uint32_t ends_most;
	unsigned empty;
	uint32_t last_end; /* offset of the last chunk end */
	char parts[256];
	bool is_right; /* the content is that which the fixture wrote */
};

static uint64_t mix(uint64_t sum, const void *data, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sum = (sum ^ ((const uint8_t *)data)[i]) * 1099511628211u;
	return sum;
}

static bool content_is(struct seen *seen, const struct piece *piece)
{
	uint8_t *got = malloc(piece->length + 1), *want = malloc(piece->length + 1);
	bool ok = codec_decode(&seen->codec, piece->codec, piece->data, piece->bytes, got, piece->length);

	fixture_fill(want, piece->stream, piece->sequence, piece->offset, piece->length);
	ok = ok && (piece->part[0] == 'c' || memcmp(got, want, piece->length) == 0);
	free(got);
	free(want);
	return ok;
}

static int see(void *context, const struct piece *piece)
{
	const uint64_t numbers[] = {piece->number, piece->sequence,	   piece->offset,	   piece->length,
				    piece->flags,  piece->first_timestamp, (uint64_t)piece->codec, piece->packet_bytes};
	struct seen *seen = context;
	size_t len = strlen(seen->parts);

	seen->n++;
	seen->sum = mix(seen->sum, numbers, sizeof(numbers));
	seen->sum = mix(seen->sum, piece->ends, piece->ends_bytes);
	seen->sum = mix(seen->sum, piece->data, piece->bytes);
	seen->empty += piece->length == 0;
	if (piece->ends_bytes)
		seen->last_end = mprof_load32(piece->ends + piece->ends_bytes - ARCHIVE_END_BYTES);
	seen->ends_most = piece->ends_bytes > seen->ends_most ? (uint32_t)piece->ends_bytes : seen->ends_most;
	snprintf(seen->parts + len, sizeof(seen->parts) - len, "%c%d.%u ", piece->part[0], (int)piece->stream,
		 piece->number);
	seen->is_right &= content_is(seen, piece);
	return 0;
}

struct world {
	struct fixture f;
	struct reader *r;
	struct memtraces_reader *m;
	struct pieces *p;
	struct memory_part memory;
};

static bool world_init(struct world *w)
{
	*w = (struct world){0};
	return fixture_init(&w->f) && CHECK_EQ_INT(reader_new(&w->r, w->f.state), 0) &&
	       CHECK_EQ_INT(memtraces_reader_new(&w->m, w->f.state), 0) &&
	       CHECK_EQ_INT(pieces_new(&w->p, w->r, w->m), 0);
}

static void world_deinit(struct world *w)
{
	pieces_free(w->p);
	memtraces_reader_free(w->m);
	reader_free(w->r);
	fixture_deinit(&w->f);
}

static struct seen read_capture(struct world *w, const struct archive_capture_stream *ranges, size_t n)
{
	struct seen seen = {.is_right = true};

	codec_reader_init(&seen.codec);
	CHECK_EQ_INT(pieces_of_capture(w->p, 1, &w->memory, ranges, n, see, &seen), 0);
	codec_reader_deinit(&seen.codec);
	CHECK(seen.is_right);
	return seen;
}

static struct seen read_packet(struct world *w, uint64_t sequence)
{
	struct seen seen = {.is_right = true};

	codec_reader_init(&seen.codec);
	CHECK_EQ_INT(pieces_of_packet(w->p, 1, sequence, see, &seen), 0);
	codec_reader_deinit(&seen.codec);
	CHECK(seen.is_right);
	return seen;
}

static void append(struct world *w, uint64_t sequence, uint32_t offset, uint32_t length, uint32_t flags)
{
	CHECK_EQ_INT(archive_writer_begin(w->f.w), 0);
	CHECK_EQ_INT(fixture_append(&w->f, 1, sequence, offset, length, flags, true, 100 + offset), 0);
	CHECK_EQ_INT(archive_writer_commit(w->f.w), 0);
}

static void put_capture(struct world *w, const struct archive_capture_stream *ranges, size_t n, const char *context)
{
	struct archive_capture capture = {.id = 1, .run = 1, .kind = "manual", .real = 5, .context = context};

	CHECK_EQ_INT(archive_writer_begin(w->f.w), 0);
	CHECK_EQ_INT(archive_writer_put_capture(w->f.w, &capture), 0);
	for (size_t i = 0; i < n; i++)
		CHECK_EQ_INT(archive_writer_put_capture_stream(w->f.w, &ranges[i]), 0);
	CHECK_EQ_INT(archive_writer_commit(w->f.w), 0);
}

/* A capture in the middle of a packet of small rows, which grows beyond a mebibyte and is compacted. */
static void test_grows(void)
{
	const struct archive_capture_stream range = {
		.capture = 1, .stream = 1, .first_sequence = 4, .last_sequence = 5, .last_offset = 700030};
	struct seen before, meanwhile, after;
	struct world w;

	if (!world_init(&w))
		return;
	CHECK_EQ_INT(fixture_put(&w.f, 1, "web", "running", 1), 0);
	CHECK_EQ_INT(fixture_packet(&w.f, 1, 4, 5030, 100), 0);
	for (uint32_t at = 0; at < 700000; at += 100000)
		append(&w, 5, 30 + at, 100000, 0);
	put_capture(&w, &range, 1, NULL);
	before = read_capture(&w, &range, 1);
	CHECK_EQ_STR(before.parts, "t1.0 t1.1 ");
	CHECK_EQ_UINT(before.last_end, 700030);
	append(&w, 5, 700030, 600000, ARCHIVE_CHUNK_CLOCK);
	meanwhile = read_capture(&w, &range, 1);
	append(&w, 5, 1300030, 5, ARCHIVE_CHUNK_LAST);
	CHECK_EQ_INT(fixture_read(&w.f, 1, 5).rows, 2);
	after = read_capture(&w, &range, 1);
	CHECK(before.n == meanwhile.n && before.sum == meanwhile.sum);
	CHECK(before.n == after.n && before.sum == after.sum);
	/* The whole packet is another object, with its rows as they are. */
	after = read_packet(&w, 5);
	CHECK_EQ_STR(after.parts, "t1.0 t1.1 ");
	CHECK_EQ_UINT(after.last_end, 1300035);
	world_deinit(&w);
}

/* A capture that ends behind its packet's first mebibyte is cut there, however the rows lie. */
static void test_long(void)
{
	const struct archive_capture_stream range = {
		.capture = 1, .stream = 1, .first_sequence = 5, .last_sequence = 5, .last_offset = 30 + 2 * MIB + 7};
	struct seen before, after;
	struct world w;

	if (!world_init(&w))
		return;
	CHECK_EQ_INT(fixture_put(&w.f, 1, "web", "running", 1), 0);
	for (uint32_t at = 0; at < 2 * MIB; at += MIB / 4)
		append(&w, 5, 30 + at, MIB / 4, 0);
	append(&w, 5, 30 + 2 * MIB, 7, 0);
	put_capture(&w, &range, 1, NULL);
	before = read_capture(&w, &range, 1);
	CHECK_EQ_STR(before.parts, "t1.0 t1.1 t1.2 ");
	append(&w, 5, 30 + 2 * MIB + 7, 100, ARCHIVE_CHUNK_LAST);
	after = read_capture(&w, &range, 1);
	CHECK(before.n == after.n && before.sum == after.sum);
	world_deinit(&w);
}

/* The order: context, tails by stream, traces by stream. */
static void test_order(void)
{
	static uint8_t tail[100];
	struct archive_capture_stream ranges[] = {
		{.capture = 1, .stream = 1, .first_sequence = 0, .last_sequence = 0, .last_offset = 1030},
		{.capture = 1, .stream = 2, .first_sequence = 3, .last_sequence = 4, .last_offset = 30},
	};
	struct archive_piece piece = {.stream = 2, .sequence = 4, .offset = 30, .length = 100, .data = tail};
	struct world w;

	if (!world_init(&w))
		return;
	fixture_fill(tail, 2, 4, 30, 100);
	CHECK_EQ_INT(fixture_put(&w.f, 1, "web", "running", 1), 0);
	CHECK_EQ_INT(fixture_put(&w.f, 2, "db", "running", 2), 0);
	CHECK_EQ_INT(fixture_packet(&w.f, 1, 0, 1030, 100), 0);
	CHECK_EQ_INT(fixture_packet(&w.f, 2, 3, 1030, 100), 0);
	put_capture(&w, ranges, 2, "{\"a\": \"" /* compresses */ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}");
	CHECK_EQ_INT(archive_writer_begin(w.f.w), 0);
	CHECK_EQ_INT(archive_writer_tail(w.f.w, 1, &piece), 0);
	CHECK_EQ_INT(archive_writer_commit(w.f.w), 0);
	CHECK_EQ_STR(read_capture(&w, ranges, 2).parts, "c0.0 t2.0 t1.0 t2.0 ");
	world_deinit(&w);
}

static void test_empty(void)
{
	const struct archive_capture_stream range = {.capture = 1, .stream = 1, .last_offset = 1030};
	struct seen seen;
	struct world w;

	if (!world_init(&w))
		return;
	CHECK_EQ_INT(fixture_put(&w.f, 1, "web", "running", 1), 0);
	CHECK_EQ_INT(fixture_packet(&w.f, 1, 0, 30, 100), 0);
	seen = read_packet(&w, 0);
	CHECK(seen.n == 1 && seen.empty == 1);
	CHECK_EQ_UINT(read_packet(&w, 1).n, 0);
	/* A range that ends where its packet has no bytes; the reading ends, too. */
	put_capture(&w, &range, 1, NULL);
	CHECK_EQ_UINT(read_capture(&w, &range, 1).n, 0);
	world_deinit(&w);
}

/* Chunk ends that are too many for the hub are thinned, and the last one stays. */
static void test_many_ends(void)
{
	enum { ENDS = 60000 };
	struct archive_end *ends = calloc(ENDS, sizeof(*ends));
	uint8_t *data = malloc(MIB);
	struct archive_piece piece = {.stream = 1,
				      .offset = 30,
				      .length = ENDS * 17,
				      .flags = ARCHIVE_CHUNK_LAST,
				      .ends = ends,
				      .n_ends = ENDS,
				      .data = data};
	struct seen seen;
	struct world w;

	if (!CHECK(ends && data) || !world_init(&w))
		return;
	for (uint32_t i = 0; i < ENDS; i++)
		ends[i].offset = 30 + 17 * (i + 1);
	fixture_fill(data, 1, 0, 30, ENDS * 17);
	CHECK_EQ_INT(fixture_put(&w.f, 1, "web", "running", 1), 0);
	CHECK_EQ_INT(archive_writer_begin(w.f.w), 0);
	CHECK_EQ_INT(archive_writer_append(w.f.w, &piece), 0);
	CHECK_EQ_INT(archive_writer_commit(w.f.w), 0);
	seen = read_packet(&w, 0);
	CHECK(seen.ends_most <= PIECE_ENDS_MOST && seen.ends_most > PIECE_ENDS_MOST / 2);
	CHECK_EQ_UINT(seen.last_end, 30 + 17 * ENDS);
	world_deinit(&w);
	free(ends);
	free(data);
}

/*
 * A memory profile is between the context and the tails; a part that is not there is reported, and nothing else is
 * wrong.
 */
static void test_memory(void)
{
	const struct archive_options options = {.wal_limit_bytes = FIXTURE_WAL, .level = 1};
	const struct memtrace one = {.id = 7,
				     .run = 1,
				     .domid = -1,
				     .address = "127.0.0.1",
				     .origin = "asked",
				     .state = "recording",
				     .bytes = 3000,
				     .version = 2};
	struct memtraces *writer;
	struct seen seen = {.is_right = true};
	uint8_t data[2000];
	char sentence[256];
	struct world w;

	if (!world_init(&w))
		return;
	CHECK_EQ_INT(fixture_put(&w.f, 1, "web", "running", 1), 0);
	put_capture(&w, NULL, 0, "{}");
	CHECK_EQ_INT(memtraces_open(&writer, w.f.state, &options, sentence, sizeof(sentence)), 0);
	CHECK_EQ_INT(memtraces_begin(writer), 0);
	CHECK_EQ_INT(memtraces_put(writer, &one), 0);
	fixture_fill(data, 7, 0, 0, 2000);
	CHECK_EQ_INT(memtraces_append(writer, 7, 0, data, 2000), 0);
	fixture_fill(data, 7, 0, 2000, 1000);
	CHECK_EQ_INT(memtraces_append(writer, 7, 2000, data, 1000), 0);
	CHECK_EQ_INT(memtraces_commit(writer), 0);
	w.memory = (struct memory_part){7, 3000, false};
	CHECK_EQ_STR(read_capture(&w, NULL, 0).parts, "c0.0 m7.0 m7.1 ");
	w.memory.bytes = 2000;
	CHECK_EQ_STR(read_capture(&w, NULL, 0).parts, "c0.0 m7.0 ");
	codec_reader_init(&seen.codec);
	for (int i = 0; i < 3; i++) {
		w.memory = (struct memory_part[]){{7, 2500, false}, {7, 3001, false}, {8, 1, false}}[i];
		CHECK_EQ_INT(pieces_of_capture(w.p, 1, &w.memory, NULL, 0, see, &seen), PIECES_E_MEMORY);
	}
	codec_reader_deinit(&seen.codec);
	memtraces_free(writer);
	world_deinit(&w);
}

int main(void)
{
	CHECK_RUN(test_grows);
	CHECK_RUN(test_long);
	CHECK_RUN(test_order);
	CHECK_RUN(test_empty);
	CHECK_RUN(test_many_ends);
	CHECK_RUN(test_memory);
	return check_done();
}
