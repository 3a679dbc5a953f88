/* The quotas of the archive, and the free space on its disk. */
#include <sys/stat.h>

#include "archive-fixture.h"
#include "clock.h"
#include "space.h"

#define PACKET 10030u /* bytes of a test packet; all but its 30-byte header are archived */

/*
 * Enforce the quota in steps of LIMIT packets until nothing more is deleted. Return the number of
 * steps.
 */
static unsigned enforce(struct fixture *f, const char *name, uint64_t bytes, uint64_t before_real, unsigned limit)
{
	unsigned steps = 0;
	bool more = true;

	while (more && steps < 1000) {
		if (!CHECK_EQ_INT(archive_writer_enforce(f->w, name, bytes, before_real, limit, &more), 0))
			break;
		steps++;
	}
	return steps;
}

static int64_t count(const struct fixture *f, int64_t stream)
{
	return fixture_number(f, "SELECT count(DISTINCT sequence) FROM chunks WHERE stream = %d", (int)stream);
}

static int64_t oldest(const struct fixture *f, int64_t stream)
{
	return fixture_number(f, "SELECT coalesce(min(sequence), -1) FROM chunks WHERE stream = %d", (int)stream);
}

static int put_capture(struct fixture *f, int64_t id, int64_t run, int64_t stream, uint64_t first, uint64_t last,
		       uint64_t real, bool pinned, uint32_t tail)
{
	static uint8_t data[ARCHIVE_PIECE_MAX];
	struct archive_capture capture = {.id = id, .run = run, .kind = "manual", .real = real, .pinned = pinned};
	struct archive_capture_stream range = {
		.capture = id, .stream = stream, .first_sequence = first, .last_sequence = last, .last_offset = PACKET};
	struct archive_piece piece = {
		.stream = stream, .sequence = last, .offset = PACKET, .length = tail, .data = data};
	int r = archive_writer_begin(f->w);

	if (r == 0)
		r = archive_writer_put_capture(f->w, &capture);
	if (r == 0)
		r = archive_writer_put_capture_stream(f->w, &range);
	if (r == 0 && tail)
		r = archive_writer_tail(f->w, id, &piece);
	return r ? r : archive_writer_commit(f->w);
}

static int put_gap(struct fixture *f, int64_t stream, uint64_t after, uint64_t next, uint64_t real)
{
	struct archive_gap gap = {.stream = stream,
				  .kind = "lost",
				  .reason = "lapped",
				  .after_sequence = after,
				  .after_offset = 30,
				  .next_sequence = next,
				  .packets = next - after - 1,
				  .real = real};
	int r = archive_writer_begin(f->w);

	if (r == 0)
		r = archive_writer_gap(f->w, &gap);
	return r ? r : archive_writer_commit(f->w);
}

static void test_bytes(void)
{
	struct fixture f;

	if (!fixture_init(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
	CHECK_EQ_INT(fixture_put(&f, 2, "web", "running", 2), 0); /* another run of the same guest */
	CHECK_EQ_INT(fixture_put(&f, 3, "db", "running", 3), 0);
	/* The two runs alternate, so either of them may have the oldest packet. */
	for (uint64_t i = 0; i < 20; i++) {
		CHECK_EQ_INT(fixture_packet(&f, 1, i, PACKET, 100 + 2 * i), 0);
		CHECK_EQ_INT(fixture_packet(&f, 2, i, PACKET, 101 + 2 * i), 0);
		CHECK_EQ_INT(fixture_packet(&f, 3, i, PACKET, 50 + i), 0);
	}
	CHECK_EQ_INT(put_gap(&f, 1, 3, 4, 0), 0);
	CHECK_EQ_INT(put_gap(&f, 1, 12, 13, 0), 0);
	CHECK_EQ_UINT(enforce(&f, "web", 400000, 0, 100), 1); /* exactly as much as is archived */
	CHECK_EQ_INT(count(&f, 1) + count(&f, 2), 40);
	CHECK_EQ_INT(fixture_number(&f, "SELECT sum(deletions) FROM streams"), 0);
	/* 21 packets are too many, and a call deletes at most 10. */
	CHECK_EQ_UINT(enforce(&f, "web", 199999, 0, 10), 3);
	CHECK_EQ_INT(oldest(&f, 1), 11);
	CHECK_EQ_INT(oldest(&f, 2), 10);
	CHECK_EQ_INT(count(&f, 3), 20);
	CHECK(fixture_number(&f, "SELECT deletions FROM streams WHERE id = 1") > 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT deletions FROM streams WHERE id = 3"), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT after_sequence FROM gaps"),
		     12); /* the gap before packet 4 was deleted with the packets around it */
	CHECK_EQ_INT(fixture_number(&f, "SELECT lost_packets FROM streams WHERE id = 1"), 0);
	/*
	 * The same for the sum of all guests, after the writer was opened again and counted the
	 * bytes anew.
	 */
	fixture_reopen(&f);
	CHECK_EQ_UINT(enforce(&f, NULL, 300000, 0, 100), 1);
	CHECK_EQ_INT(count(&f, 1) + count(&f, 2) + count(&f, 3), 30);
	CHECK_EQ_INT(oldest(&f, 3), 9); /* the packets of stream 3 were the oldest of all */
	/* The newest packet of a running guest's stream stays, whatever the quota is. */
	enforce(&f, NULL, 1, 0, 7);
	CHECK_EQ_INT(count(&f, 1) + count(&f, 2) + count(&f, 3), 3);
	CHECK_EQ_INT(oldest(&f, 1), 19);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM runs"), 3);
	/*
	 * If the transaction is rolled back, nothing is deleted, and the count of bytes is as
	 * before.
	 */
	CHECK_EQ_INT(fixture_packet(&f, 1, 20, PACKET, 200), 0);
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	enforce(&f, "web", 15000, 0, 100);
	archive_writer_rollback(f.w);
	CHECK_EQ_INT(count(&f, 1), 2);
	enforce(&f, "web", 30000, 0, 100);
	CHECK_EQ_INT(count(&f, 1), 2);
	enforce(&f, "web", 29999, 0, 100);
	CHECK_EQ_INT(count(&f, 1), 1);
	CHECK(fixture_integrity(&f));
	fixture_deinit(&f);
}

static void test_age(void)
{
	struct fixture f;

	if (!fixture_init(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
	CHECK_EQ_INT(fixture_put(&f, 2, "web", "running", 2), 0);
	for (uint64_t i = 0; i < 10; i++) {
		CHECK_EQ_INT(fixture_packet(&f, 1, i, PACKET, 100 + i), 0);
		CHECK_EQ_INT(fixture_packet(&f, 2, i, PACKET, 200 + i), 0);
	}
	CHECK_EQ_INT(put_capture(&f, 1, 1, 1, 2, 8, 108, false, 0), 0);
	CHECK_EQ_UINT(enforce(&f, "web", 0, 105, 100), 1);
	CHECK_EQ_INT(oldest(&f, 1), 5);
	CHECK_EQ_INT(oldest(&f, 2), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM captures"), 1);
	/*
	 * A run that has ended is deleted with its captures. A running one keeps its newest packet.
	 */
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "ended", 1), 0);
	CHECK_EQ_INT(put_gap(&f, 1, 9, 11, 0), 0);
	/* After a rollback the run's stream still takes bytes. */
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	enforce(&f, "web", 0, 1000, 3);
	archive_writer_rollback(f.w);
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(fixture_append(&f, 1, 11, 30, 10, 0, true, 5), 0);
	archive_writer_rollback(f.w);
	enforce(&f, "web", 0, 1000, 3);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM runs"), 1);
	CHECK_EQ_INT(fixture_number(&f, "SELECT id FROM runs"), 2);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM captures"), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM gaps"), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM streams"), 1);
	CHECK_EQ_INT(count(&f, 2), 1);
	/* The writer has forgotten the stream's byte count, too. */
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(fixture_append(&f, 1, 11, 30, 10, 0, true, 5), ARCHIVE_E_ABSENT);
	archive_writer_rollback(f.w);
	fixture_deinit(&f);
}

/* A run that never had a ring is deleted a day after its end. */
static void test_without_ring(void)
{
	const uint64_t now = clock_real(), hour = 3600 * NS_PER_S;
	struct archive_run run = {.source = "xen", .key = "key", .name = "web", .domid = 3, .state = "ended"};
	struct fixture f;

	if (!fixture_init(&f))
		return;
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	run.began_real = now - 30 * hour;
	for (int i = 0; i < 2; i++) {
		run.id = 1 + i;
		run.ended_real = now - (i ? 23 : 25) * hour;
		CHECK_EQ_INT(archive_writer_put_run(f.w, &run), 0);
	}
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	enforce(&f, "web", 1, 0, 100);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM runs"), 1);
	CHECK_EQ_INT(fixture_number(&f, "SELECT id FROM runs"), 2);
	fixture_deinit(&f);
}

/* A run that lost packets before one of them was archived says so for a day after its end; one that lost none is deleted at once. */
static void test_lost(void)
{
	const uint64_t now = clock_real(), hour = 3600 * NS_PER_S;
	struct archive_run run = {.source = "dir", .key = "key", .name = "web", .domid = -1, .state = "ended"};
	const struct archive_stream second = {.id = 4, .run = 2, .number = 1, .ring_bytes = 1 << 20, .ring_packets = 4};
	struct fixture f;
	bool more;

	if (!fixture_init(&f))
		return;
	for (int64_t i = 1; i <= 3; i++) {
		CHECK_EQ_INT(fixture_put(&f, i, "web", "running", i), 0);
		CHECK_EQ_INT(archive_writer_begin(f.w), 0);
		run.id = i;
		run.began_real = now - 30 * hour;
		run.ended_real = now - (i == 1 ? 25 : 23) * hour;
		CHECK_EQ_INT(archive_writer_put_run(f.w, &run), 0);
		CHECK_EQ_INT(archive_writer_commit(f.w), 0);
		if (i != 3)
			CHECK_EQ_INT(put_gap(&f, i, 0, 3, 0), 0);
	}
	enforce(&f, "web", 1, 0, 100);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM runs"), 1);
	CHECK_EQ_INT(fixture_number(&f, "SELECT id FROM runs"), 2);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM gaps"), 1);
	/* A further ring without events does not take the declaration away. */
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(archive_writer_put_stream(f.w, &second), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	enforce(&f, "web", 1, 0, 100);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM runs"), 1);
	/* Many such runs must not fill the disk. */
	CHECK_EQ_INT(archive_writer_make_room(f.w, 100, &more), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM runs"), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM gaps"), 0);
	fixture_deinit(&f);
}

static void test_pinned(void)
{
	struct fixture f;

	if (!fixture_init(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "ended", 1), 0);
	for (uint64_t i = 0; i < 20; i++)
		CHECK_EQ_INT(fixture_packet(&f, 1, i, PACKET, 100 + i), 0);
	CHECK_EQ_INT(put_capture(&f, 1, 1, 1, 3, 6, 106, true, 500), 0);
	CHECK_EQ_INT(put_capture(&f, 2, 1, 1, 5, 8, 108, true, 0), 0);
	CHECK_EQ_INT(put_capture(&f, 3, 1, 1, 9, 11, 111, false, 700), 0);
	/* Only pinned packets are left. The result says that nothing more can be deleted. */
	CHECK(enforce(&f, "web", 1, 0, 100) < 3);
	CHECK_EQ_INT(count(&f, 1), 6);
	CHECK_EQ_INT(oldest(&f, 1), 3);
	CHECK_EQ_INT(fixture_number(&f, "SELECT max(sequence) FROM chunks"), 8);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM captures"), 2);
	CHECK_EQ_INT(fixture_number(&f, "SELECT sum(length) FROM tails"), 500);
	enforce(&f, "web", 0, 100000, 100);
	CHECK_EQ_INT(count(&f, 1), 6);
	CHECK_EQ_INT(archive_writer_change_capture(
			     f.w, &(struct archive_capture_change){.capture = 1, .pinned = 0, .version = -1}),
		     0);
	enforce(&f, "web", 1, 0, 100);
	CHECK_EQ_INT(count(&f, 1), 4); /* capture 2 still pins packets 5 to 8 */
	CHECK_EQ_INT(oldest(&f, 1), 5);
	/* Capture 1 stays, because packets 5 and 6 of it are left. */
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM captures"), 2);
	CHECK_EQ_INT(archive_writer_delete_capture(f.w, 2), 0);
	enforce(&f, "web", 1, 0, 100);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM runs"), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM chunks"), 0);
	/* The numbers of deleted rows are not used again. */
	int64_t run, stream, capture;
	fixture_reopen(&f);
	CHECK_EQ_INT(archive_writer_last_ids(f.w, &run, &stream, &capture), 0);
	CHECK(run == 1 && stream == 1 && capture == 3);
	CHECK(fixture_integrity(&f));
	fixture_deinit(&f);
}

/*
 * A capture that only has a tail counts, and is deleted when it is the oldest. A capture that has
 * packets left is not deleted to save its bytes.
 */
static void test_tails(void)
{
	struct fixture f;

	if (!fixture_init(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "ended", 1), 0);
	for (int64_t i = 1; i <= 10; i++)
		CHECK_EQ_INT(put_capture(&f, i, 1, 1, 0, 0, 100 + (uint64_t)i, false, 10000), 0);
	enforce(&f, "web", 55000, 0, 2);
	CHECK_EQ_INT(fixture_number(&f, "SELECT sum(length) FROM tails"), 50000);
	CHECK_EQ_INT(fixture_number(&f, "SELECT min(id) FROM captures"), 6);
	CHECK_EQ_INT(fixture_put(&f, 2, "db", "running", 2), 0);
	CHECK_EQ_INT(fixture_packet(&f, 2, 0, PACKET, 50), 0);
	CHECK_EQ_INT(put_capture(&f, 11, 2, 2, 0, 0, 60, false, 10000), 0);
	enforce(&f, "db", 1, 0, 10);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM captures WHERE id = 11"), 1);
	fixture_deinit(&f);
}

static void test_vacuum(void)
{
	struct fixture f;
	struct stat before, after;
	char path[128];
	bool more;

	if (!fixture_init(&f))
		return;
	snprintf(path, sizeof(path), "%s/archive/trace.db", f.state);
	archive_writer_level(f.w, 0);
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
	for (uint64_t i = 0; i < 40; i++)
		CHECK_EQ_INT(fixture_packet(&f, 1, i, 1u << 20, i), 0);
	CHECK_EQ_INT(space_vacuum(archive_writer_store(f.w), 0, &more), 0);
	CHECK(!more);
	CHECK(stat(path, &before) == 0);
	enforce(&f, "web", 5u << 20, 0, 100);
	CHECK_EQ_INT(space_vacuum(archive_writer_store(f.w), (uint64_t)100 << 16, &more), 0);
	CHECK(more);
	CHECK(stat(path, &after) == 0);
	CHECK_EQ_INT(before.st_size - after.st_size, 100 * 65536);
	CHECK_EQ_INT(space_vacuum(archive_writer_store(f.w), (uint64_t)100000 << 16, &more), 0);
	CHECK(!more);
	CHECK(stat(path, &after) == 0 && after.st_size < (off_t)(8u << 20));
	CHECK(fixture_integrity(&f));
	fixture_deinit(&f);
}

static void test_reserve(void)
{
	struct archive_options options = {.wal_limit_bytes = FIXTURE_WAL, .reserve_bytes = 3u << 20};
	struct fixture f;
	struct stat st;
	uint64_t room;
	char path[128], sentence[256];

	if (!fixture_init(&f))
		return;
	f.w = archive_writer_free(f.w);
	CHECK_EQ_INT(archive_writer_open(&f.w, f.state, &options, sentence, sizeof(sentence)), 0);
	snprintf(path, sizeof(path), "%s/archive/reserve", f.state);
	CHECK(stat(path, &st) == 0 && st.st_size == 3 << 20 && st.st_blocks * 512 >= 3 << 20);
	CHECK_EQ_INT(space_free(archive_writer_store(f.w), &room), 0);
	CHECK(room > 0);
	CHECK_EQ_INT(space_release_reserve(archive_writer_store(f.w)), 0);
	CHECK_EQ_INT(space_release_reserve(archive_writer_store(f.w)), 0);
	CHECK(stat(path, &st) < 0);
	CHECK_EQ_INT(space_restore_reserve(archive_writer_store(f.w)), 0);
	/* A reserve file that a kill left incomplete is made again. */
	CHECK_EQ_INT(truncate(path, 5), 0);
	CHECK_EQ_INT(space_restore_reserve(archive_writer_store(f.w)), 0);
	CHECK(stat(path, &st) == 0 && st.st_size == 3 << 20);
	fixture_deinit(&f);
}

int main(void)
{
	CHECK_RUN(test_bytes);
	CHECK_RUN(test_age);
	CHECK_RUN(test_without_ring);
	CHECK_RUN(test_lost);
	CHECK_RUN(test_pinned);
	CHECK_RUN(test_tails);
	CHECK_RUN(test_vacuum);
	CHECK_RUN(test_reserve);
	return check_done();
}
