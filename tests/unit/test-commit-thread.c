/*
 * The commit thread: the rows of a real archive that it makes of queue items, and the tickets that
 * it reports as committed.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "archive-fixture.h"
#include "catch.h"
#include "clock.h"
#include "commit-thread.h"
#include "failing-disk.h"
#include "log.h"

#define MIB    (1u << 20)
#define STREAM 71
#define HEADER 30u

struct world {
	struct fixture f;
	struct config config;
	struct queue *queue;
	struct commit_thread *commit_thread;
	int wake;
};

static bool world_init(struct world *w)
{
	char error[256];

	*w = (struct world){.wake = eventfd(0, EFD_CLOEXEC)};
	if (!CHECK(w->wake >= 0) || !fixture_init(&w->f) ||
	    !CHECK_EQ_INT(config_load(&w->config, "/dev/null", error, sizeof(error)), 0))
		return false;
	w->config.free_space_bytes = MIB;
	w->config.reserve_bytes = 0;
	w->config.flush_interval_ns = NS_PER_S;
	w->queue = queue_new(16 * MIB, 16 * MIB, MIB);
	return CHECK(w->queue != NULL);
}

/* Start the commit thread, which commits the queued items. */
static void world_start(struct world *w)
{
	CHECK_EQ_INT(commit_thread_start(&w->commit_thread, &w->f.w, w->queue, &w->config, w->wake), 0);
}

/* Wait until the commit thread has made COMMITS commits. Return its state then. */
static struct commit_thread_state world_wait(struct world *w, uint64_t commits)
{
	struct commit_thread_state state = {0};
	uint64_t n;

	for (commit_thread_state(w->commit_thread, &state); state.serial < commits && !state.failed;
	     commit_thread_state(w->commit_thread, &state))
		if (read(w->wake, &n, sizeof(n)) < 0)
			break;
	CHECK(!state.failed);
	return state;
}

static void world_stop(struct world *w)
{
	w->commit_thread = commit_thread_stop(w->commit_thread);
}

static void world_deinit(struct world *w)
{
	world_stop(w);
	queue_free(w->queue);
	config_deinit(&w->config);
	fixture_deinit(&w->f);
	close(w->wake);
}

/* Return the integer that an SQL query on the archive yields. */
static int64_t ask(const struct world *w, const char *sql)
{
	char path[128];
	sqlite3 *db = NULL;
	sqlite3_stmt *s = NULL;
	int64_t value = -1;

	snprintf(path, sizeof(path), "%s/archive/trace.db", w->f.state);
	if (CHECK_EQ_INT(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK) &&
	    CHECK_EQ_INT(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK) && sqlite3_step(s) == SQLITE_ROW)
		value = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	sqlite3_close(db);
	return value;
}

static uint64_t push_run(struct world *w, const char *state)
{
	struct item *item = queue_item(w->queue, NULL, ITEM_RUN, 0, false);

	item->run = (struct archive_run){.id = 41,
					 .source = "dir",
					 .key = "key",
					 .name = "web",
					 .state = state,
					 .domid = -1,
					 .began_real = 1000,
					 .ended_real = strcmp(state, "ended") == 0 ? clock_real() : 0};
	return queue_push(w->queue, item);
}

static uint64_t push_stream(struct world *w, int64_t id)
{
	struct item *item = queue_item(w->queue, NULL, ITEM_STREAM, 0, false);

	item->record = (struct archive_stream){
		.id = id, .run = 41, .number = (uint32_t)(id - STREAM), .ring_bytes = MIB, .ring_packets = 4};
	return queue_push(w->queue, item);
}

/* Queue LENGTH bytes of packet SEQUENCE from OFFSET on. Return the item's ticket. */
static uint64_t push_chunk(struct world *w, int64_t stream, uint64_t sequence, uint32_t offset, uint32_t length,
			   bool last)
{
	struct item *item = queue_item(w->queue, NULL, ITEM_CHUNK, length, false);

	if (!CHECK(item != NULL))
		return 0;
	item->stream = stream;
	item->piece.chunk = (struct ring_chunk){
		.sequence = sequence,
		.offset = offset,
		.length = length,
		.packet_bytes = MIB,
		.first_timestamp = 7000 + sequence,
		.last = last,
		.end = true,
		.copied = {.mono = 500 + offset, .real = clock_real()},
	};
	memset(item->data, (int)(offset % 251), length);
	return queue_push(w->queue, item);
}

static uint64_t push_capture(struct world *w, int64_t id)
{
	struct item *item = queue_item(w->queue, NULL, ITEM_CAPTURE, 0, false);

	item->capture =
		(struct archive_capture){.id = id, .run = 41, .kind = "manual", .real = clock_real(), .mono = 500};
	item->urgent = true;
	return queue_push(w->queue, item);
}

static uint64_t push_patch(struct world *w, enum item_kind kind, int64_t capture, int *result)
{
	struct item *item = queue_item(w->queue, NULL, kind, 0, false);

	item->patch.capture = capture;
	item->patch.pinned = 1;
	item->result = result;
	return queue_push(w->queue, item);
}

/*
 * One row has at most 512 chunk ends. More small adjacent chunks go into several rows, and no end
 * is lost.
 */
static void test_many_ends(void)
{
	const unsigned n = 2000;
	struct world w;

	if (!world_init(&w))
		return;
	push_run(&w, "running");
	push_stream(&w, STREAM);
	for (unsigned i = 0; i < n; i++)
		push_chunk(&w, STREAM, 0, HEADER + 9 * i, 9, false);
	world_start(&w);
	world_wait(&w, 1);
	world_stop(&w);
	CHECK_EQ_INT(ask(&w, "SELECT max(length(ends)) / 20 FROM chunks"), 512);
	CHECK_EQ_INT(ask(&w, "SELECT sum(length(ends)) / 20 FROM chunks"), n);
	CHECK_EQ_INT(ask(&w, "SELECT count(*) FROM chunks"), 4);
	CHECK_EQ_INT(ask(&w, "SELECT sum(length) FROM chunks"), 9 * n);
	CHECK_EQ_INT(ask(&w, "SELECT count(*) FROM chunks a WHERE a.offset <> 30 AND NOT EXISTS"
			     " (SELECT 1 FROM chunks b WHERE b.offset + b.length = a.offset)"),
		     0);
	world_deinit(&w);
}

/* Chunks join one row if they are adjacent and belong to the same packet of the same stream. */
static void test_joined(void)
{
	struct world w;

	if (!world_init(&w))
		return;
	push_run(&w, "running");
	push_stream(&w, STREAM);
	push_stream(&w, STREAM + 1);
	push_chunk(&w, STREAM, 0, HEADER, 40, false);
	push_chunk(&w, STREAM + 1, 0, HEADER, 40, false); /* between two chunks of STREAM */
	push_chunk(&w, STREAM, 0, HEADER + 40, 40, true);
	push_chunk(&w, STREAM, 1, HEADER, 10, false);
	push_chunk(&w, STREAM + 1, 0, HEADER + 40, 5, false);
	world_start(&w);
	world_wait(&w, 1);
	world_stop(&w);
	CHECK_EQ_INT(ask(&w, "SELECT count(*) FROM chunks WHERE stream = 71"), 2);
	CHECK_EQ_INT(ask(&w, "SELECT length FROM chunks WHERE stream = 71 AND sequence = 0"), 80);
	CHECK_EQ_INT(ask(&w, "SELECT flags FROM chunks WHERE stream = 71 AND sequence = 0"), ARCHIVE_CHUNK_LAST);
	CHECK_EQ_INT(ask(&w, "SELECT flags FROM chunks WHERE stream = 71 AND sequence = 1"), 0);
	CHECK_EQ_INT(ask(&w, "SELECT length FROM chunks WHERE stream = 72"), 45);
	CHECK_EQ_INT(ask(&w, "SELECT count(*) FROM chunks"), 3);
	world_deinit(&w);
}

/*
 * A chunk that does not begin at the end of its packet's rows is not joined to a row. It has no
 * valid position, so it is not archived at all.
 */
static void test_hole(void)
{
	struct world w;

	if (!world_init(&w))
		return;
	push_run(&w, "running");
	push_stream(&w, STREAM);
	push_chunk(&w, STREAM, 0, HEADER, 40, false);
	push_chunk(&w, STREAM, 0, HEADER + 50, 7, false);
	world_start(&w);
	world_wait(&w, 1);
	world_stop(&w);
	CHECK_EQ_INT(ask(&w, "SELECT sum(length) FROM chunks"), 40);
	world_deinit(&w);
}

/* A row takes at most 1 MiB. */
static void test_large_rows(void)
{
	struct world w;

	if (!world_init(&w))
		return;
	push_run(&w, "running");
	push_stream(&w, STREAM);
	for (unsigned i = 0; i < 5; i++)
		push_chunk(&w, STREAM, 0, HEADER + i * (MIB / 4), MIB / 4, false);
	world_start(&w);
	world_wait(&w, 1);
	world_stop(&w);
	CHECK_EQ_INT(ask(&w, "SELECT max(length) FROM chunks"), MIB);
	CHECK_EQ_INT(ask(&w, "SELECT sum(length) FROM chunks"), 5 * (MIB / 4));
	world_deinit(&w);
}

/*
 * The last item that a flush writes need not be the newest. The thread reports the greatest ticket
 * as committed: a smaller one would answer a waiter too late, a greater one before its item is
 * archived.
 */
static void test_committed(void)
{
	struct commit_thread_state state;
	uint64_t last;
	struct world w;
	int result = -1, absent = -1;

	if (!world_init(&w))
		return;
	push_capture(&w, 91);
	push_patch(&w, ITEM_PATCH, 91, &result);
	push_patch(&w, ITEM_DELETE, 92, &absent);
	push_run(&w, "running");
	push_chunk(&w, STREAM + 1, 0, HEADER, 10, false);
	push_stream(&w, STREAM + 1);
	push_stream(&w, STREAM);
	last = push_chunk(&w, STREAM, 0, HEADER, 10, false);
	world_start(&w);
	state = world_wait(&w, 1);
	CHECK_EQ_UINT(state.serial, 1);
	CHECK_EQ_UINT(state.committed, last);
	CHECK_EQ_UINT(state.bytes, 20);
	CHECK_EQ_INT(result, 0);
	CHECK_EQ_INT(absent, ARCHIVE_E_ABSENT);
	/* Rows for runs and streams were written before the chunks, and the capture after them. */
	CHECK_EQ_INT(ask(&w, "SELECT count(*) FROM chunks"), 2);
	CHECK_EQ_INT(ask(&w, "SELECT pinned FROM captures WHERE id = 91"), 1);
	last = push_run(&w, "ended");
	queue_hurry(w.queue);
	state = world_wait(&w, 2);
	CHECK_EQ_UINT(state.committed, last);
	CHECK_EQ_INT(ask(&w, "SELECT count(*) FROM runs WHERE state = 'ended' AND ended_real > 0"), 1);
	world_deinit(&w);
}

/*
 * If one flush has the beginning and the end of a run, the beginning is written before the run's
 * first bytes, and the end after its last bytes.
 */
static void test_run_of_one_flush(void)
{
	struct world w;

	if (!world_init(&w))
		return;
	push_chunk(&w, STREAM, 0, HEADER, 10, false);
	push_run(&w, "ended");
	push_run(&w, "running");
	push_stream(&w, STREAM);
	world_start(&w);
	world_wait(&w, 1);
	world_stop(&w);
	CHECK_EQ_INT(ask(&w, "SELECT count(*) FROM runs WHERE state = 'ended'"), 1);
	CHECK_EQ_INT(ask(&w, "SELECT count(*) FROM chunks"), 1);
	world_deinit(&w);
}

/* A chunk whose stream is unknown is dropped. The items after it are archived. */
static void test_orphan(void)
{
	struct world w;

	if (!world_init(&w))
		return;
	push_run(&w, "running");
	push_stream(&w, STREAM + 1);
	push_chunk(&w, STREAM, 0, HEADER, 10, false);
	push_chunk(&w, STREAM + 1, 0, HEADER, 10, false);
	world_start(&w);
	CHECK_EQ_UINT(world_wait(&w, 1).serial, 1);
	world_stop(&w);
	CHECK_EQ_INT(ask(&w, "SELECT count(*) FROM chunks"), 1);
	CHECK_EQ_INT(ask(&w, "SELECT count(*) FROM chunks WHERE stream = 72"), 1);
	world_deinit(&w);
}

/* Make a capture with a tail, and damage the tail on the disk. */
static void make_damaged_tail(struct world *w)
{
	const struct archive_capture capture = {.id = 9, .run = 41, .kind = "manual", .real = 5};
	const struct archive_capture_stream range = {9, STREAM, 0, 0, 530, 0};
	static const uint8_t data[100] = {1};
	const struct archive_piece tail = {
		.stream = STREAM, .offset = 530, .length = sizeof(data), .packet_bytes = 4096, .data = data};
	sqlite3 *db;

	CHECK_EQ_INT(fixture_put(&w->f, 41, "web", "running", STREAM), 0);
	CHECK_EQ_INT(archive_writer_begin(w->f.w), 0);
	CHECK_EQ_INT(fixture_append(&w->f, STREAM, 0, HEADER, 500, 0, true, 10), 0);
	CHECK_EQ_INT(archive_writer_put_capture(w->f.w, &capture), 0);
	CHECK_EQ_INT(archive_writer_tail(w->f.w, 9, &tail), 0);
	CHECK_EQ_INT(archive_writer_put_capture_stream(w->f.w, &range), 0);
	CHECK_EQ_INT(archive_writer_commit(w->f.w), 0);
	db = fixture_database(&w->f);
	CHECK_EQ_INT(sqlite3_exec(db, "UPDATE tails SET length = 99", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/*
 * Reports of damage in one flush. Equal reports are checked once. Reports on a packet and on a
 * capture's tail are checked separately.
 */
static void test_reports(void)
{
	int results[4] = {7, 7, 7, 7};
	struct world w;

	if (!world_init(&w))
		return;
	make_damaged_tail(&w);
	for (int i = 0; i < 4; i++) {
		struct item *item = queue_item(w.queue, NULL, ITEM_DAMAGE, 0, false);

		item->damage.stream = STREAM;
		item->damage.sequence = 0;
		item->damage.capture = i % 2 ? 9 : 0;
		item->result = &results[i];
		queue_push(w.queue, item);
	}
	world_start(&w);
	world_wait(&w, 1);
	CHECK(results[0] == ARCHIVE_E_ABSENT && results[2] == ARCHIVE_E_ABSENT);
	CHECK(results[1] == 0 && results[3] == 0);
	CHECK_EQ_INT(ask(&w, "SELECT count(*) FROM tails"), 0);
	world_deinit(&w);
}

/* Check that LOG has a line with SENTENCE, the write-ahead log of W's archive, and REST. */
static void check_line(const struct world *w, const char *log, const char *sentence, const char *suffix,
		       const char *rest)
{
	char want[512];

	snprintf(want, sizeof(want), "error: %s: %s/archive/trace.db%s: %s", sentence, w->f.state, suffix, rest);
	if (!CHECK(strstr(log, want) != NULL))
		fprintf(stderr, "not in the log: %s\nwhich is: %s\n", want, log);
}

/* Start and stop the commit thread on a disk that fails with ERROR. Return the lines of its log. */
static const char *log_of_failing_disk(struct world *w, struct catch *c, int error)
{
	catch_begin(c);
	broken_write.error = error;
	broken_write.suffix = "trace.db-wal";
	world_start(w);
	world_stop(w);
	broken_write.suffix = NULL;
	return catch_end(c);
}

/* A report of damage that the disk does not let mprofd declare: the answer points to the log, which has the file and its error. */
static void test_report_fails(void)
{
	static struct catch c;
	int result = 7;
	struct item *item;
	struct world w;

	if (!world_init(&w))
		return;
	make_damaged_tail(&w);
	item = queue_item(w.queue, NULL, ITEM_DAMAGE, 0, false);
	item->damage.stream = STREAM;
	item->damage.capture = 9;
	item->result = &result;
	item->urgent = true;
	queue_push(w.queue, item);
	check_line(&w, log_of_failing_disk(&w, &c, EIO), "A report of damage cannot be checked", "-wal",
		   "Input/output error (errno 5, SQLite 778): stream=71 sequence=0 capture=9");
	CHECK_EQ_INT(result, ARCHIVE_E_DAMAGED);
	world_deinit(&w);
}

/* Put capture 9 of the kind `unread`, whose run has ended. */
static void put_unread(struct world *w)
{
	const struct archive_capture capture = {.id = 9, .run = 41, .kind = ARCHIVE_UNREAD, .real = clock_real()};

	CHECK_EQ_INT(fixture_put(&w->f, 41, "web", "ended", STREAM), 0);
	CHECK_EQ_INT(archive_writer_begin(w->f.w), 0);
	CHECK_EQ_INT(archive_writer_put_capture(w->f.w, &capture), 0);
	CHECK_EQ_INT(archive_writer_commit(w->f.w), 0);
}

/* Queue the verdict on capture 9 that nothing crashed, with its answer in *RESULT. */
static void push_verdict(struct world *w, int *result)
{
	struct item *item = queue_item(w->queue, NULL, ITEM_JUDGE, 0, false);

	item->verdict.capture = 9;
	item->urgent = true;
	item->result = result;
	queue_push(w->queue, item);
}

/* Verdicts that cannot be written: the answers point to the log, which has the file and its error. */
static void test_verdict_fails(void)
{
	static const struct {
		int error;
		const char *suffix, *text;
	} cases[] = {
		{EIO, "-wal", "Input/output error (errno 5, SQLite 778): capture=9"},
		{ENOSPC, "", "the disk is full; make room: capture=9"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static struct catch c;
		int result = 7;
		struct world w;

		if (!world_init(&w))
			return;
		put_unread(&w);
		push_verdict(&w, &result);
		check_line(&w, log_of_failing_disk(&w, &c, cases[i].error),
			   "A capture of the kind unread cannot be decided on", cases[i].suffix, cases[i].text);
		CHECK_EQ_INT(result, ARCHIVE_E_DAMAGED);
		CHECK_EQ_INT(ask(&w, "SELECT count(*) FROM captures"), 1);
		world_deinit(&w);
	}
}

/* A verdict finds the rows of the capture and of its run damaged. They are declared, as the log says, and the capture is decided on. */
static void test_verdict_on_damage(void)
{
	static struct catch c;
	const char *log;
	int result = 7;
	struct world w;

	if (!world_init(&w))
		return;
	put_unread(&w);
	catch_begin(&c);
	world_start(&w);
	push_capture(&w, 91);
	world_wait(&w, 1); /* all rows were checked before */
	CHECK_EQ_INT(fixture_number(&w.f, "UPDATE captures SET mono = 77 WHERE id = 9 RETURNING 1"), 1);
	CHECK_EQ_INT(fixture_number(&w.f, "UPDATE runs SET reason = 'reboox' WHERE id = 41 RETURNING 1"), 1);
	push_verdict(&w, &result);
	world_stop(&w);
	log = catch_end(&c);
	CHECK(strstr(log, "table=captures damaged=1") && strstr(log, "table=runs damaged=1"));
	CHECK(!strstr(log, "cannot be decided on"));
	CHECK_EQ_INT(result, 0);
	CHECK_EQ_INT(ask(&w, "SELECT sum(id) FROM captures"), 91);
	world_deinit(&w);
}

/* Verdicts on two captures of the kind `unread`. The file was damaged at the first one since the last check: that verdict fails alone. */
static void test_verdicts(void)
{
	struct archive_capture capture = {.run = 41, .kind = ARCHIVE_UNREAD, .real = clock_real()};
	static const uint8_t data[100] = {1};
	const struct archive_piece tail = {
		.stream = STREAM, .offset = 530, .length = sizeof(data), .packet_bytes = 4096, .data = data};
	int results[2] = {7, 7};
	struct world w;

	if (!world_init(&w))
		return;
	CHECK_EQ_INT(fixture_put(&w.f, 41, "web", "ended", STREAM), 0);
	CHECK_EQ_INT(archive_writer_begin(w.f.w), 0);
	for (capture.id = 9; capture.id < 11; capture.id++) {
		const struct archive_capture_stream range = {capture.id, STREAM, 0, 0, 530, 0};

		CHECK_EQ_INT(archive_writer_put_capture(w.f.w, &capture), 0);
		CHECK_EQ_INT(archive_writer_tail(w.f.w, capture.id, &tail), 0);
		CHECK_EQ_INT(archive_writer_put_capture_stream(w.f.w, &range), 0);
	}
	CHECK_EQ_INT(archive_writer_commit(w.f.w), 0);
	world_start(&w);
	push_capture(&w, 91);
	world_wait(&w, 1); /* all rows were checked before */
	fixture_change_table(&w.f, "capture_streams", "capture_streams_by_stream",
			     "UPDATE capture_streams SET stream = 1000 WHERE capture = 9");
	for (int i = 0; i < 2; i++) {
		struct item *item = queue_item(w.queue, NULL, ITEM_JUDGE, 0, false);

		item->verdict.capture = 9 + i;
		item->urgent = true;
		item->result = &results[i];
		queue_push(w.queue, item);
	}
	world_stop(&w);
	CHECK_EQ_INT(results[0], ARCHIVE_E_DAMAGED);
	CHECK_EQ_INT(results[1], 0);
	CHECK_EQ_INT(ask(&w, "SELECT sum(id) FROM captures"), 100);
	world_deinit(&w);
}

/* Push a capture of the kind `unread` of packet 0 of STREAM, whose run has ended, and the packet. */
static void push_unread(struct world *w, int64_t id, int64_t stream)
{
	struct item *item;

	push_chunk(w, stream, 0, HEADER, 500, true);
	item = queue_item(w->queue, NULL, ITEM_CAPTURE, 0, false);
	item->capture =
		(struct archive_capture){.id = id, .run = 41, .kind = ARCHIVE_UNREAD, .real = clock_real(), .mono = 5};
	queue_push(w->queue, item);
	item = queue_item(w->queue, NULL, ITEM_RANGE, 0, false);
	item->range = (struct archive_capture_stream){id, stream, 0, 0, 530, 0};
	item->urgent = true;
	queue_push(w->queue, item);
}

/*
 * With mode = on-crash and send = all, nothing of a capture waits to be sent before the reader has looked. A crash is sent with its
 * packets; of another capture nothing is, and no loss is told.
 */
static void test_unread_is_not_sent(void)
{
	int results[2] = {7, 7};
	char path[32] = "/tmp/mprof-test-XXXXXX", error[256];
	int fd = mkostemp(path, O_CLOEXEC);
	struct world w;

	if (!CHECK(fd >= 0) || !world_init(&w))
		return;
	config_deinit(&w.config);
	CHECK(dprintf(fd, "[policy web]\nmode = on-crash\n[fleet]\nconnection = host=hub\nsend = all\n"
			  "[archive]\nfree-space = 1M\nreserve = 0\n") > 0);
	CHECK_EQ_INT(config_load(&w.config, path, error, sizeof(error)), 0);
	w.config.flush_interval_ns = NS_PER_S;
	world_start(&w);
	push_run(&w, "running");
	push_stream(&w, STREAM);
	push_stream(&w, STREAM + 1);
	push_run(&w, "ended");
	push_unread(&w, 9, STREAM);
	push_unread(&w, 10, STREAM + 1);
	for (uint64_t n = world_wait(&w, 1).serial; ask(&w, "SELECT count(*) FROM capture_streams") < 2; n++)
		world_wait(&w, n + 1);
	CHECK_EQ_INT(ask(&w, "SELECT count(*) FROM outbox"), 0);
	for (int i = 0; i < 2; i++) {
		struct item *item = queue_item(w.queue, NULL, ITEM_JUDGE, 0, false);

		item->verdict.capture = 9 + i;
		item->verdict.crashed = i;
		item->result = &results[i];
		item->urgent = true;
		queue_push(w.queue, item);
	}
	world_stop(&w);
	CHECK(results[0] == 0 && results[1] == 0);
	CHECK_EQ_INT(ask(&w, "SELECT count(*) FROM chunks WHERE stream = 71"), 0);
	CHECK_EQ_INT(ask(&w, "SELECT sum(capture) FROM outbox WHERE kind = 'capture' AND ready = 1"), 10);
	CHECK_EQ_INT(ask(&w, "SELECT count(*) FROM outbox"), 1);
	CHECK_EQ_INT(ask(&w, "SELECT packets + captures FROM outbox_sums"), 0);
	close(fd);
	unlink(path);
	world_deinit(&w);
}

/*
 * An urgent item is committed at once. A mark is reported as committed after the items before it,
 * and makes no commit of its own.
 */
static void test_when(void)
{
	struct commit_thread_state state;
	struct item *mark;
	struct world w;
	uint64_t ticket, n;

	if (!world_init(&w))
		return;
	w.config.flush_interval_ns = 3600 * NS_PER_S;
	world_start(&w);
	push_run(&w, "running");
	push_stream(&w, STREAM);
	ticket = push_capture(&w, 91);
	CHECK_EQ_UINT(world_wait(&w, 1).committed, ticket);
	push_chunk(&w, STREAM, 0, HEADER, 10, false);
	mark = queue_item(w.queue, NULL, ITEM_MARK, 0, false);
	mark->soon = true;
	ticket = queue_push(w.queue, mark);
	state = world_wait(&w, 2);
	CHECK(state.committed == ticket && state.bytes == 10);
	mark = queue_item(w.queue, NULL, ITEM_MARK, 0, false);
	mark->soon = true;
	ticket = queue_push(w.queue, mark);
	for (commit_thread_state(w.commit_thread, &state); state.committed < ticket;
	     commit_thread_state(w.commit_thread, &state))
		if (!CHECK(read(w.wake, &n, sizeof(n)) > 0))
			break;
	CHECK_EQ_UINT(state.serial, 2); /* with nothing waiting, the mark causes no commit */
	world_deinit(&w);
}

/* While the disk runs short, an item is committed after a second, however long the interval is. */
static void test_scarce(void)
{
	struct world w;

	if (!world_init(&w))
		return;
	w.config.flush_interval_ns = 3600 * NS_PER_S;
	w.config.free_space_bytes = UINT64_MAX / 4; /* no disk has that */
	world_start(&w);
	push_run(&w, "running");
	push_stream(&w, STREAM);
	world_wait(&w, 1);
	CHECK_EQ_INT(ask(&w, "SELECT count(*) FROM streams"), 1);
	world_deinit(&w);
}

int main(void)
{
	CHECK_RUN(test_many_ends);
	CHECK_RUN(test_joined);
	CHECK_RUN(test_hole);
	CHECK_RUN(test_large_rows);
	CHECK_RUN(test_committed);
	CHECK_RUN(test_run_of_one_flush);
	CHECK_RUN(test_orphan);
	CHECK_RUN(test_reports);
	CHECK_RUN(test_report_fails);
	CHECK_RUN(test_verdict_fails);
	CHECK_RUN(test_verdict_on_damage);
	CHECK_RUN(test_verdicts);
	CHECK_RUN(test_unread_is_not_sent);
	CHECK_RUN(test_when);
	CHECK_RUN(test_scarce);
	return check_done();
}
