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

static int at(const struct bench *b, uint64_t mono, uint64_t real, int64_t *id)
{
	return memtraces_at(b->r, 7, (struct moment){.mono = mono, .real = real}, 5 * NS_PER_S, id);
}

/* Add a period of the clocks, from S seconds on: REAL is that far ahead of CLOCK_MONOTONIC, and is corrected by CORRECTION. */
static void add_period(const struct bench *b, const char *boot, int s, int real, int correction)
{
	CLEANUP(freep) char *path = NULL, *sql = NULL;
	sqlite3 *db = NULL;

	if (!CHECK(asprintf(&path, "%s/" MEMTRACES_FILE, b->state) > 0 &&
		   asprintf(&sql,
			    "INSERT INTO clock_periods (boot, began_mono, ended_mono, real_offset, age_offset, "
			    "correction)"
			    " VALUES ('%s', %d000000000, %d000000000, %d000000000, 0, %d000000000)",
			    boot, s, s + 1000, real, correction) > 0))
		return;
	CHECK_EQ_INT(sqlite3_open(path, &db), SQLITE_OK);
	CHECK_EQ_INT(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* Store recording ID, which began at the seconds MONO and REAL, and ended ten seconds later if ENDED. */
static void record_at(struct bench *b, int64_t id, uint64_t mono, uint64_t real, bool ended)
{
	struct memtrace t = sample(id, "web");

	t.began_mono = mono * NS_PER_S;
	t.began_real = real * NS_PER_S;
	if (ended) {
		t.state = "ended";
		t.reason = "closed";
		t.ended_mono = (mono + 10) * NS_PER_S;
		t.ended_real = (real + 10) * NS_PER_S;
	}
	put(b, &t, NULL, 0);
}

/* CLOCK_REALTIME is set while a guest is profiled: the profile of a moment is found by the clock that nobody sets. */
static void test_clock_set(void)
{
	struct bench b;
	int64_t id = 0;

	if (!bench_init(&b))
		return;
	/* Boot "b": 5,000 s after its start, the clock goes back by 100,000 s. Boot "c" has the right time. */
	add_period(&b, "b", 4000, 500000, -100000);
	add_period(&b, "b", 5000, 400000, 0);
	add_period(&b, "c", 10, 450000, 0);
	record_at(&b, 1, 4500, 504500, true);
	record_at(&b, 2, 4600, 504600, false);
	CHECK_EQ_INT(at(&b, 5100 * NS_PER_S, 405100 * NS_PER_S, &id), 0); /* it began in the future */
	CHECK_EQ_INT(id, 2);
	record_at(&b, 2, 4600, 504600, true);
	CHECK_EQ_INT(at(&b, 5100 * NS_PER_S, 405100 * NS_PER_S, &id), ARCHIVE_E_ABSENT);
	CHECK_EQ_INT(at(&b, 4613 * NS_PER_S, 504613 * NS_PER_S, &id), 0);
	CHECK_EQ_INT(id, 2);
	CHECK_EQ_INT(at(&b, 4520 * NS_PER_S, 504520 * NS_PER_S, &id), ARCHIVE_E_ABSENT);
	CHECK_EQ_INT(at(&b, 4505 * NS_PER_S, 504505 * NS_PER_S, &id), 0);
	CHECK_EQ_INT(id, 1);
	/* After the next boot corrected times tell. */
	record_at(&b, 3, 4700, 504700, false);
	CHECK_EQ_INT(at(&b, 20 * NS_PER_S, 450020 * NS_PER_S, &id), 0);
	CHECK_EQ_INT(id, 3);
	bench_deinit(&b);
}

/* A guest that records again and again costs a question about its captures no more than its newest recordings do. */
static void test_many_of_a_run(void)
{
	struct bench b;
	int64_t id = 0;

	if (!bench_init(&b))
		return;
	for (int64_t i = 1; i <= MEMTRACES_LOOKED; i++)
		record_at(&b, i, 100 * (uint64_t)i, 5000 + 100 * (uint64_t)i, true);
	CHECK_EQ_INT(at(&b, 105 * NS_PER_S, 5105 * NS_PER_S, &id), 0);
	CHECK_EQ_INT(id, 1);
	record_at(&b, MEMTRACES_LOOKED + 1, 100 * (MEMTRACES_LOOKED + 1), 5000 + 100 * (MEMTRACES_LOOKED + 1), true);
	CHECK_EQ_INT(at(&b, 105 * NS_PER_S, 5105 * NS_PER_S, &id), ARCHIVE_E_ABSENT);
	CHECK_EQ_INT(at(&b, 205 * NS_PER_S, 5205 * NS_PER_S, &id), 0);
	CHECK_EQ_INT(id, 2);
	bench_deinit(&b);
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
	CHECK_EQ_INT(at(&b, 50, 5000, &id), 0);
	CHECK_EQ_INT(id, 1);
	CHECK_EQ_INT(at(&b, 5, 1000, &id), ARCHIVE_E_ABSENT);
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

static int take_sum(void *context, const char *guest, uint64_t bytes, uint64_t deletable)
{
	uint64_t *sum = context;

	if (strcmp(guest, "n:web") == 0) {
		sum[0] = bytes;
		sum[1] = deletable;
	}
	return 0;
}

static void test_quota(void)
{
	uint64_t gone, sum[2] = {0};
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
	CHECK_EQ_INT(memtraces_sums(b.w, take_sum, sum), 0);
	CHECK_EQ_INT((int64_t)sum[0], 30 + 3 * 4096);
	CHECK_EQ_INT((int64_t)sum[1], 20 + 2 * 4096); /* recording 2 goes on */
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
	CHECK_RUN(test_clock_set);
	CHECK_RUN(test_many_of_a_run);
	CHECK_RUN(test_restart);
	CHECK_RUN(test_quota);
	return check_done();
}
