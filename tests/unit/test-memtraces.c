/*
 * The archive of memory profiles: committed data stays complete and unchanged, whatever recordings
 * grow, end or are deleted.
 */
#include <time.h>

#include "archive-fixture.h"
#include "memtraces-reader.h"

struct bench {
	char state[64];
	struct memtraces *w;
	struct memtraces_reader *r;
};

static bool bench_open(struct bench *b)
{
	struct archive_options options = {.wal_limit_bytes = FIXTURE_WAL, .level = 1};
	char sentence[256];

	return CHECK_EQ_INT(memtraces_open(&b->w, b->state, &options, sentence, sizeof(sentence)), 0);
}

/* Wait until the reader has found the archive, which it looks for again after DATABASE_LOOK_NS. */
static bool is_found(const struct bench *b)
{
	for (int i = 0; i < 10000 && memtraces_reader_ready(b->r) == ARCHIVE_E_ABSENT; i++)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	return CHECK_EQ_INT(memtraces_reader_ready(b->r), 0);
}

static bool bench_init(struct bench *b)
{
	*b = (struct bench){.state = "/tmp/mprof-test-XXXXXX"};
	return CHECK(mkdtemp(b->state) != NULL) && CHECK_EQ_INT(memtraces_reader_new(&b->r, b->state), 0) &&
	       CHECK_EQ_INT(memtraces_reader_ready(b->r), ARCHIVE_E_ABSENT) && bench_open(b) && is_found(b);
}

static void bench_deinit(struct bench *b)
{
	memtraces_reader_free(b->r);
	memtraces_free(b->w);
	nftw(b->state, fixture_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static struct memtrace sample(int64_t id, const char *name)
{
	return (struct memtrace){
		.id = id,
		.run = 7,
		.name = name,
		.domid = -1,
		.address = "10.0.0.1",
		.port = 4242,
		.origin = "asked",
		.state = "recording",
		.began_real = 1000 + (uint64_t)id,
		.began_mono = 10,
		.connected_mono = 9,
		.version = 2,
		.program = "mirage",
		.rate = 1e-4,
		.has_pid = true,
		.pid = -1,
	};
}

static void put(struct bench *b, struct memtrace *t, const uint8_t *data, uint32_t length)
{
	CHECK_EQ_INT(memtraces_begin(b->w), 0);
	if (length)
		CHECK_EQ_INT(memtraces_append(b->w, t->id, t->bytes, data, length), 0);
	t->bytes += length;
	CHECK_EQ_INT(memtraces_put(b->w, t), 0);
	CHECK_EQ_INT(memtraces_commit(b->w), 0);
}

static int take_piece(void *context, const struct memtraces_piece *piece)
{
	*(struct memtraces_piece *)context = *piece;
	return 0;
}

static int take_id(void *context, const struct memtrace *t)
{
	int64_t *sum = context;

	*sum = *sum * 10 + t->id;
	return 0;
}

static int take_fields(void *context, const struct memtrace *t)
{
	(void)context;
	CHECK(strcmp(t->program, "mirage") == 0 && !t->host && !t->reason && t->has_pid);
	CHECK(strcmp(t->state, "recording") == 0 && strcmp(t->note, "keep") == 0 && t->pinned);
	CHECK_EQ_INT(t->pid, -1);
	CHECK_EQ_INT((int64_t)t->bytes, 3000);
	CHECK(t->connected_mono == 9 && t->began_mono == 10);
	CHECK(t->rate > 0.99e-4 && t->rate < 1.01e-4);
	return 0;
}

static void test_grows(void)
{
	struct memtraces_piece piece;
	struct memtrace t = sample(1, "web");
	uint8_t data[3000];
	struct bench b;
	int64_t id = 0;

	if (!bench_init(&b))
		return;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i / 7);
	put(&b, &t, data, 1000);
	put(&b, &t, data + 1000, 2000);
	CHECK_EQ_INT(memtraces_begin(b.w), 0);
	CHECK_EQ_INT(memtraces_patch(b.w, 1, 1, "keep"), 0);
	CHECK_EQ_INT(memtraces_patch(b.w, 2, 1, "keep"), ARCHIVE_E_ABSENT);
	CHECK_EQ_INT(memtraces_commit(b.w), 0);
	CHECK_EQ_INT(memtraces_get(b.r, 1, take_fields, NULL), 0);
	CHECK_EQ_INT(memtraces_read(b.r, 1, 999, MEMTRACES_DECODED, take_piece, &piece), 0);
	CHECK(piece.offset == 0 && piece.bytes == 1000 && memcmp(piece.data, data, 1000) == 0);
	CHECK_EQ_INT(memtraces_read(b.r, 1, 1000, MEMTRACES_DECODED, take_piece, &piece), 0);
	CHECK(piece.offset == 1000 && memcmp(piece.data, data + 1000, 2000) == 0);
	CHECK_EQ_INT(memtraces_read(b.r, 1, 2999, MEMTRACES_STORED, take_piece, &piece), 0);
	CHECK(piece.is_frame && piece.bytes < 2000);
	CHECK_EQ_INT(memtraces_read(b.r, 1, 3000, MEMTRACES_DECODED, take_piece, &piece), ARCHIVE_E_ABSENT);
	CHECK_EQ_INT(memtraces_at(b.r, 7, 5000, 0, &id), 0);
	CHECK_EQ_INT(id, 1);
	CHECK_EQ_INT(memtraces_at(b.r, 7, 1000, 0, &id), ARCHIVE_E_ABSENT);
	bench_deinit(&b);
}

/*
 * After a restart, bytes that were not committed are gone, and memtraces_end_all ends the
 * recordings that were being made.
 */
static void test_restart(void)
{
	struct memtraces_totals totals;
	struct memtrace t = sample(3, "web");
	struct bench b;
	int64_t id = 0;

	if (!bench_init(&b))
		return;
	put(&b, &t, (const uint8_t *)"abcdef", 6);
	CHECK_EQ_INT(memtraces_begin(b.w), 0);
	CHECK_EQ_INT(memtraces_append(b.w, 3, 6, (const uint8_t *)"x", 1), 0);
	b.w = memtraces_free(b.w);
	if (!bench_open(&b))
		return;
	CHECK_EQ_INT(memtraces_last_id(b.w, &id), 0);
	CHECK_EQ_INT(id, 3);
	CHECK_EQ_INT(memtraces_begin(b.w), 0);
	CHECK_EQ_INT(memtraces_end_all(b.w, "restart", 9, 9), 0);
	CHECK_EQ_INT(memtraces_commit(b.w), 0);
	CHECK_EQ_INT(memtraces_totals(b.r, &totals), 0);
	CHECK(totals.recordings == 1 && totals.recording == 0 && totals.bytes == 6);
	bench_deinit(&b);
}

static int take_sum(void *context, const char *guest, uint64_t bytes)
{
	uint64_t *sum = context;

	if (strcmp(guest, "n:web") == 0)
		*sum = bytes;
	return 0;
}

static void test_quota(void)
{
	uint64_t gone, sum = 0;
	struct bench b;
	int64_t ids = 0;
	bool more = true;

	if (!bench_init(&b))
		return;
	for (int64_t id = 1; id <= 4; id++) {
		struct memtrace t = sample(id, id == 4 ? "db" : "web");

		t.state = id == 2 ? "recording" : "ended";
		put(&b, &t, (const uint8_t *)"0123456789", 10);
	}
	CHECK_EQ_INT(memtraces_sums(b.w, take_sum, &sum), 0);
	CHECK_EQ_INT((int64_t)sum, 30 + 3 * 4096);
	CHECK_EQ_INT(memtraces_begin(b.w), 0);
	CHECK_EQ_INT(memtraces_delete_oldest(b.w, "n:web", 0, DELETION_QUOTA, &gone), 0); /* deletes recording 1 */
	CHECK_EQ_INT((int64_t)gone, 10 + 4096);
	CHECK_EQ_INT(memtraces_delete_oldest(b.w, "n:web", 1003, DELETION_QUOTA, &gone), ARCHIVE_E_ABSENT);
	/* Deletes recording 3, because recording 2 has not ended. */
	CHECK_EQ_INT(memtraces_delete_oldest(b.w, "n:web", 0, DELETION_QUOTA, &gone), 0);
	CHECK_EQ_INT(memtraces_delete_oldest(b.w, "n:web", 0, DELETION_QUOTA, &gone), ARCHIVE_E_ABSENT);
	CHECK_EQ_INT(memtraces_patch(b.w, 4, 1, NULL), 0);
	/* Recording 4 is pinned. */
	CHECK_EQ_INT(memtraces_delete_oldest(b.w, NULL, 0, DELETION_QUOTA, &gone), ARCHIVE_E_ABSENT);
	while (more)
		if (!CHECK_EQ_INT(memtraces_purge(b.w, 1, &more), 0))
			break;
	CHECK_EQ_INT(memtraces_commit(b.w), 0);
	CHECK_EQ_INT(memtraces_list(b.r, 0, INT64_MAX, 10, take_id, &ids), 0);
	CHECK_EQ_INT(ids, 42);
	bench_deinit(&b);
}

int main(void)
{
	CHECK_RUN(test_grows);
	CHECK_RUN(test_restart);
	CHECK_RUN(test_quota);
	return check_done();
}
