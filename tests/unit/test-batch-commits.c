/* The commit thread of the sink, on a disk that fails. */
#include <sys/eventfd.h>

#include "archive-fixture.h"
#include "batch-commits.h"
#include "catch.h"
#include "failing-disk.h"
#include "memtraces.h"

/* Make an archive below STATE with recording 3, whose only piece is damaged. */
static void make_damaged(const char *state)
{
	const struct archive_options options = {.wal_limit_bytes = FIXTURE_WAL, .level = 1};
	const struct memtrace recording = {.id = 3,
					   .run = 7,
					   .name = "web",
					   .domid = -1,
					   .address = "10.0.0.1",
					   .origin = "asked",
					   .state = "recording",
					   .began_real = 1000,
					   .began_mono = 10,
					   .version = 2};
	static const uint8_t data[100] = {1};
	struct memtraces *m;
	char sentence[256], path[128];
	sqlite3 *db = NULL;

	if (!CHECK_EQ_INT(memtraces_open(&m, state, &options, sentence, sizeof(sentence)), 0))
		return;
	CHECK_EQ_INT(memtraces_begin(m), 0);
	CHECK_EQ_INT(memtraces_put(m, &recording), 0);
	CHECK_EQ_INT(memtraces_append(m, 3, 0, data, sizeof(data)), 0);
	CHECK_EQ_INT(memtraces_commit(m), 0);
	memtraces_free(m);
	snprintf(path, sizeof(path), "%s/memtraces/memtraces.db", state);
	CHECK_EQ_INT(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	CHECK_EQ_INT(sqlite3_exec(db, "UPDATE pieces SET length = 99", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* Report recording 3 as damaged to C. Return the result of the report. */
static int report(struct commit_thread *c, int wake)
{
	struct batch b;
	uint64_t n;
	int result;

	batch_init(&b);
	CHECK(batch_add(&b, ITEM_DAMAGE, 3) != NULL);
	commit_thread_give(c, &b);
	for (commit_thread_take(c, &b); !b.first; commit_thread_take(c, &b))
		if (read(wake, &n, sizeof(n)) < 0)
			break;
	result = b.first ? b.first->result : -1;
	batch_deinit(&b);
	return result;
}

/* The answer to a report that cannot be checked points to the log, which has the file and its error. */
static void test_report_fails(void)
{
	static struct catch c;
	char state[] = "/tmp/mprof-test-XXXXXX", sentence[256], want[256];
	struct commit_thread *thread = NULL;
	int wake = eventfd(0, EFD_CLOEXEC), result;
	struct config config;
	const char *log;
	int64_t last;

	if (!CHECK(mkdtemp(state) != NULL) ||
	    !CHECK_EQ_INT(config_load(&config, "/dev/null", sentence, sizeof(sentence)), 0))
		return;
	config.free_space_bytes = 1u << 20;
	config.reserve_bytes = 0;
	make_damaged(state);
	CHECK_EQ_INT(commit_thread_start(&thread, state, &config, wake, &last, sentence, sizeof(sentence)), 0);
	catch_begin(&c);
	broken_write.error = EIO;
	broken_write.suffix = "memtraces.db-wal";
	result = report(thread, wake);
	commit_thread_stop(thread);
	broken_write.suffix = NULL;
	log = catch_end(&c);
	snprintf(want, sizeof(want),
		 "error: A report of damage cannot be checked: %s/memtraces/memtraces.db-wal: Input/output error "
		 "(errno 5, SQLite 778): recording=3",
		 state);
	if (!CHECK(strstr(log, want) != NULL))
		fprintf(stderr, "not in the log: %s\nwhich is: %s\n", want, log);
	CHECK_EQ_INT(result, ARCHIVE_E_DAMAGED);
	config_deinit(&config);
	close(wake);
	nftw(state, fixture_remove, 16, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
	CHECK_RUN(test_report_fails);
	return check_done();
}
