/*
 * The archive on a full disk: nothing of a failed transaction stays, and the archive continues when
 * there is room.
 */
#include "archive-fixture.h"
#include "space.h"

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

/*
 * Append packets until the disk is full: two attempts in a row fail, since a checkpoint that ends
 * after the first one makes room in the WAL. Check that nothing of the failed transactions stays.
 * Return the next sequence number.
 */
static uint64_t fill_disk(struct fixture *f, uint64_t sequence)
{
	unsigned failed = 0;

	while (sequence < 1000 && failed < 2) {
		int r = fixture_packet(f, 1, sequence, 500030, sequence);

		if (r == 0) {
			sequence++;
			failed = 0;
		} else if (CHECK_EQ_INT(r, ARCHIVE_E_FULL)) {
			failed++;
		} else {
			break;
		}
	}
	CHECK_EQ_INT(failed, 2);
	return sequence;
}

static bool skipped;

static void test_full_disk(void)
{
	struct archive_options options = {.wal_limit_bytes = 2u << 20, .reserve_bytes = 4u << 20};
	struct fixture f = {.state = "/tmp/mprof-test-XXXXXX"};
	char sentence[256];
	uint64_t sequence;
	unsigned left;
	bool more;
	int r;

	if (!CHECK(mkdtemp(f.state) != NULL))
		return;
	if (!fixture_mount(f.state)) {
		fixture_deinit(&f);
		skipped = true;
		return;
	}
	CHECK_EQ_INT(archive_writer_open(&f.w, f.state, &options, sentence, sizeof(sentence)), 0);
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
	sequence = fill_disk(&f, 0);
	CHECK(sequence > 4);
	CHECK(fixture_integrity(&f));
	CHECK_EQ_INT(count(&f, 1), (int64_t)sequence);
	/* The reserve gives deletion room to work. Then the archive continues. */
	CHECK_EQ_INT(space_release_reserve(archive_writer_store(f.w)), 0);
	left = enforce(&f, NULL, 1500000, 0, 2);
	CHECK(left > 0);
	CHECK_EQ_INT(count(&f, 1), 3);
	do
		r = space_vacuum(archive_writer_store(f.w), (uint64_t)1000 << 16, &more);
	while (r == 0 && more);
	CHECK_EQ_INT(r, 0);
	CHECK_EQ_INT(space_restore_reserve(archive_writer_store(f.w)), 0);
	CHECK_EQ_INT(fixture_packet(&f, 1, sequence, 500030, sequence), 0);
	CHECK(fixture_read(&f, 1, sequence).is_complete);
	/*
	 * Fill the disk again and open the archive again. To open the archive uses up the reserve,
	 * and all committed data is still there.
	 */
	sequence = fill_disk(&f, sequence + 1);
	f.w = archive_writer_free(f.w);
	if (!CHECK_EQ_INT(archive_writer_open(&f.w, f.state, &options, sentence, sizeof(sentence)), 0))
		fprintf(stderr, "  %s\n", sentence);
	CHECK_EQ_INT(fixture_number(&f, "SELECT max(sequence) FROM chunks"), (int64_t)sequence - 1);
	sequence = fill_disk(&f, sequence);
	CHECK(fixture_integrity(&f));
	f.w = archive_writer_free(f.w);
	CHECK_EQ_INT(umount(f.state), 0);
	fixture_deinit(&f);
}

int main(void)
{
	CHECK_RUN(test_full_disk);
	if (skipped)
		return check_skip("a small file system of its own can only be mounted by root");
	return check_done();
}
