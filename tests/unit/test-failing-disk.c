/* A disk that fails: an archive says which file failed and with which error. */
#include <errno.h>
#include <fcntl.h>

#include "archive-fixture.h"
#include "failing-disk.h"
#include "store.h"

/* Commit a run, and flush the commit if SYNC. Return the result. */
static int commit(struct fixture *f, int64_t id, bool sync)
{
	struct archive_run run = {.id = id,
				  .source = "dir",
				  .key = "key",
				  .name = "web",
				  .domid = -1,
				  .state = "running",
				  .began_real = 1000};
	struct store *s = archive_writer_store(f->w);
	int r = archive_writer_begin(f->w);

	if (r == 0)
		r = archive_writer_put_run(f->w, &run);
	if (r == 0)
		return store_commit(s, sync);
	archive_writer_rollback(f->w);
	return r;
}

/* Check that store_explain() of R names the file with SUFFIX and has TEXT behind it. */
static void check_text(const struct fixture *f, int r, const char *suffix, const char *text)
{
	char got[256], want[256];

	store_explain(archive_writer_store(f->w), r, got, sizeof(got));
	snprintf(want, sizeof(want), "%s/archive/trace.db%s: %s", f->state, suffix, text);
	CHECK_EQ_STR(got, want);
}

static void test_writes(void)
{
	static const struct {
		int error;
		const char *text;
	} cases[] = {
		{EIO, "Input/output error (errno 5, SQLite 778)"},
		{EROFS, "Read-only file system (errno 30, SQLite 778)"},
	};
	struct fixture f;

	if (!fixture_init(&f))
		return;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		broken_write.suffix = "trace.db-wal";
		broken_write.error = cases[i].error;
		CHECK_EQ_INT(commit(&f, 1, false), -EIO);
		check_text(&f, -EIO, "-wal", cases[i].text);
		broken_write.suffix = NULL;
	}
	CHECK_EQ_INT(commit(&f, 1, false), 0);
	fixture_deinit(&f);
}

static void test_flush(void)
{
	struct fixture f;

	if (!fixture_init(&f))
		return;
	broken_sync.suffix = "trace.db-wal";
	broken_sync.error = EIO;
	CHECK_EQ_INT(commit(&f, 1, true), -EIO);
	check_text(&f, -EIO, "-wal", "Input/output error (errno 5)");
	/* An error of another call is not taken for this one. */
	check_text(&f, -ENOMEM, "", "Cannot allocate memory (errno 12)");
	broken_sync.suffix = NULL;
	fixture_deinit(&f);
}

int main(void)
{
	CHECK_RUN(test_writes);
	CHECK_RUN(test_flush);
	return check_done();
}
