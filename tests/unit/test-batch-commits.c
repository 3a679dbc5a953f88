/* The commit thread of the sink, on a disk that fails. */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
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

/* ---- making room --------------------------------------------------------------------------------- */

#define RECORDINGS 64
#define PIECES	   160

/* While COUNTS is set, each sync of another thread than MAIN is counted, says that it has come, and waits until it may go on. */
static struct {
	bool counts;
	pthread_t main;
	unsigned syncs;
	int come; /* eventfd */
	sem_t go;
} gate;

static void gate_wait(void)
{
	if (!__atomic_load_n(&gate.counts, __ATOMIC_SEQ_CST) || pthread_equal(pthread_self(), gate.main))
		return;
	__atomic_add_fetch(&gate.syncs, 1, __ATOMIC_SEQ_CST);
	eventfd_write(gate.come, 1);
	sem_wait(&gate.go);
}

/* Open the gate for good. */
static void gate_open(void)
{
	__atomic_store_n(&gate.counts, false, __ATOMIC_SEQ_CST);
	sem_post(&gate.go);
}

/* Make an archive below STATE with RECORDINGS old recordings of PIECES pieces. */
static void make_recordings(const char *state)
{
	const struct archive_options options = {.wal_limit_bytes = FIXTURE_WAL};
	struct memtraces *m;
	char sentence[256];
	uint8_t data[1000];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * i * 31 >> 3);
	if (!CHECK_EQ_INT(memtraces_open(&m, state, &options, sentence, sizeof(sentence)), 0))
		return;
	CHECK_EQ_INT(memtraces_begin(m), 0);
	for (int64_t id = 1; id <= RECORDINGS; id++) {
		const struct memtrace recording = {.id = id,
						   .name = "web",
						   .domid = -1,
						   .address = "10.0.0.1",
						   .origin = "asked",
						   .state = "ended",
						   .reason = "closed",
						   .began_real = 1000,
						   .began_mono = 10,
						   .bytes = PIECES * sizeof(data),
						   .version = 2};

		CHECK_EQ_INT(memtraces_put(m, &recording), 0);
		for (uint64_t at = 0; at < recording.bytes; at += sizeof(data))
			CHECK_EQ_INT(memtraces_append(m, id, at, data, sizeof(data)), 0);
	}
	CHECK_EQ_INT(memtraces_commit(m), 0);
	memtraces_free(m);
}

/* Return the number that SQL selects from the archive below STATE. */
static int64_t number(const char *state, const char *sql)
{
	sqlite3_stmt *s = NULL;
	sqlite3 *db = NULL;
	char path[128];
	int64_t n = -1;

	snprintf(path, sizeof(path), "%s/memtraces/memtraces.db", state);
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
	    sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
		n = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	sqlite3_close(db);
	return n;
}

/* Give a batch to C while it makes room. Return the number of syncs until the batch is committed. */
static unsigned syncs_of_batch(struct commit_thread *c, int wake)
{
	struct pollfd both[] = {{.fd = wake, .events = POLLIN}, {.fd = gate.come, .events = POLLIN}};
	struct batch b;
	eventfd_t n;

	eventfd_read(gate.come, &n); /* it is making room */
	__atomic_store_n(&gate.syncs, 0, __ATOMIC_SEQ_CST);
	batch_init(&b);
	CHECK(batch_add(&b, ITEM_PATCH, RECORDINGS + 1) != NULL);
	commit_thread_give(c, &b);
	sem_post(&gate.go);
	for (commit_thread_take(c, &b); !b.first; commit_thread_take(c, &b)) {
		if (poll(both, 2, -1) < 0)
			break;
		if (both[0].revents)
			eventfd_read(wake, &n);
		if (both[1].revents && eventfd_read(gate.come, &n) == 0)
			sem_post(&gate.go);
	}
	batch_deinit(&b);
	return __atomic_load_n(&gate.syncs, __ATOMIC_SEQ_CST);
}

/* Much room is missing on the disk: the thread makes it in small steps, and commits a batch or ends between two of them. */
static void test_room_in_steps(void)
{
	char state[] = "/tmp/mprof-test-XXXXXX", sentence[256];
	struct commit_thread *thread = NULL;
	int wake = eventfd(0, EFD_CLOEXEC);
	struct config config;
	int64_t last;

	if (!CHECK(mkdtemp(state) != NULL) ||
	    !CHECK_EQ_INT(config_load(&config, "/dev/null", sentence, sizeof(sentence)), 0))
		return;
	config.free_space_bytes = 1ull << 60;
	config.reserve_bytes = 0;
	make_recordings(state);
	sem_init(&gate.go, 0, 0);
	gate.come = eventfd(0, EFD_CLOEXEC);
	gate.main = pthread_self();
	gate.counts = true;
	before_sync = gate_wait;
	CHECK_EQ_INT(commit_thread_start(&thread, state, &config, wake, &last, sentence, sizeof(sentence)), 0);
	CHECK(syncs_of_batch(thread, wake) <= 8);
	gate_open();
	commit_thread_stop(thread);
	before_sync = NULL;
	CHECK_EQ_INT(number(state, "SELECT count(*) FROM recordings WHERE state = 'ended'"), 0);
	CHECK(number(state, "SELECT count(*) FROM pieces") > RECORDINGS * PIECES / 4);
	config_deinit(&config);
	sem_destroy(&gate.go);
	close(gate.come);
	close(wake);
	nftw(state, fixture_remove, 16, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
	CHECK_RUN(test_report_fails);
	CHECK_RUN(test_room_in_steps);
	return check_done();
}
