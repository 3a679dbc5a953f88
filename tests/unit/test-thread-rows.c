/*
 * The rows of a database: threads in memory and in the file, batches, texts, and errors of the
 * file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "cleanup.h"
#include "thread-rows.h"
#include "trace-tables.h"

#define MANY	  200000u /* more threads than wait in memory */
#define LONG_TEXT (1u << 20)

/* Return a file in memory. */
static int new_file(void)
{
	int fd = memfd_create("trace", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	CHECK(fd >= 0);
	return fd;
}

/* Return the number that SQL gives for the finished database. */
static int64_t ask(int fd, const char *sql)
{
	struct database_file file;
	sqlite3 *db = NULL;
	sqlite3_stmt *statement = NULL;
	int64_t n = -1;

	CHECK_EQ_INT(database_file_init(&file, fd), 0);
	CHECK_EQ_INT(database_file_open(&file, true, &db), SQLITE_OK);
	CHECK_EQ_INT(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
	if (sqlite3_step(statement) == SQLITE_ROW)
		n = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_close(db);
	database_file_deinit(&file);
	return n;
}

static int add(struct thread_rows *rows, uint32_t thread)
{
	return thread_rows_add(rows, &(struct thread_row){
					     .thread = thread,
					     .id = thread,
					     .type = "Task",
					     .origin = "created",
					     .lives = true,
					     .created = thread,
					     .ended = thread,
				     });
}

static int finish(struct thread_rows *rows, uint32_t thread, const char *failure)
{
	const struct thread_row end = {.thread = thread, .ended = 2 * (int64_t)thread, .ending = "fails"};

	return thread_rows_end(rows, &end, failure, strlen(failure));
}

/*
 * A row is the same whether its thread ends, gets its label and its mark in memory or in the file.
 * Numbers have holes.
 */
static void test_threads(void)
{
	struct trace_tables tables;
	struct thread_rows rows;
	int fd = new_file();

	CHECK_EQ_INT(trace_tables_init(&tables, fd), 0);
	CHECK_EQ_INT(thread_rows_init(&rows, &tables), 0);
	for (uint32_t i = 3; i < MANY; i += 3) {
		CHECK_EQ_INT(add(&rows, i), 0);
		if (i % 2)
			CHECK_EQ_INT(finish(&rows, i, "early"), 0);
	}
	for (uint32_t i = 3; i < MANY; i += 3 * 101) {
		CHECK_EQ_INT(finish(&rows, i, "late"), 0);
		CHECK_EQ_INT(thread_rows_label(&rows, i, "\xff", 1), 0);
		CHECK_EQ_INT(thread_rows_expect(&rows, i), 0);
	}
	CHECK_EQ_INT(thread_rows_flush(&rows), 0);
	CHECK_EQ_INT(trace_tables_finish(&tables), 0);
	thread_rows_deinit(&rows);
	trace_tables_deinit(&tables);
	CHECK_EQ_INT(ask(fd, "SELECT count(*) FROM threads"), (MANY - 1) / 3);
	CHECK_EQ_INT(ask(fd, "SELECT count(*) FROM threads WHERE thread % 3 OR id <> thread OR created_ns <> thread"),
		     0);
	CHECK_EQ_INT(ask(fd, "SELECT count(*) FROM threads WHERE ((thread - 3) % 303 = 0) <> "
			     "(expected AND failure = 'late' AND typeof(label) = 'blob' AND ended_ns = 2 * thread)"),
		     0);
	CHECK_EQ_INT(ask(fd, "SELECT count(*) FROM threads WHERE (thread - 3) % 303 AND "
			     "(thread % 2) <> (coalesce(failure, '') = 'early')"),
		     0);
	close(fd);
}

/* Long texts are not held in memory, and rows keep their order. */
static void test_texts(void)
{
	CLEANUP(freep) char *text = malloc(LONG_TEXT);
	struct trace_tables tables;
	struct thread_rows rows;
	int fd = new_file();
	const struct table_cell label[] = {cell_number(1), cell_thread(1), cell_text(text, LONG_TEXT)};

	memset(text, 'x', LONG_TEXT);
	CHECK_EQ_INT(trace_tables_init(&tables, fd), 0);
	CHECK_EQ_INT(thread_rows_init(&rows, &tables), 0);
	for (uint32_t i = 1; i <= 40; i++) {
		CHECK_EQ_INT(add(&rows, i), 0);
		CHECK_EQ_INT(thread_rows_label(&rows, i, text, LONG_TEXT), 0);
		CHECK(rows.text_bytes <= 17 * LONG_TEXT);
		CHECK_EQ_INT(trace_tables_put(&tables, ROW_LABEL,
					      (const struct table_cell[]){cell_number(i), cell_thread(i),
									  cell_text("short", 5)}),
			     0);
		if (i == 5)
			CHECK_EQ_INT(trace_tables_put(&tables, ROW_LABEL, label), 0);
	}
	CHECK_EQ_INT(thread_rows_flush(&rows), 0);
	CHECK_EQ_INT(trace_tables_finish(&tables), 0);
	thread_rows_deinit(&rows);
	trace_tables_deinit(&tables);
	CHECK_EQ_INT(ask(fd, "SELECT count(*) FROM threads WHERE length(label) = 1048576"), 40);
	CHECK_EQ_INT(ask(fd, "SELECT length(text) FROM labels WHERE label = 6"), LONG_TEXT);
	CHECK_EQ_INT(ask(fd, "SELECT count(*) FROM labels WHERE text = 'short'"), 40);
	close(fd);
}

/* A file that cannot grow, and one that cannot be read, give the errno of the system. */
static void test_errors(void)
{
	struct trace_tables tables;
	struct thread_rows rows;
	int fd = new_file(), null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	CHECK_EQ_INT(trace_tables_init(&tables, fd), 0);
	CHECK_EQ_INT(thread_rows_init(&rows, &tables), 0);
	for (uint32_t i = 1; i < 1000; i++)
		CHECK_EQ_INT(add(&rows, i), 0);
	CHECK_EQ_INT(thread_rows_flush(&rows), 0);
	CHECK_EQ_INT(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), 0);
	CHECK_EQ_INT(trace_tables_finish(&tables), -EPERM);
	thread_rows_deinit(&rows);
	trace_tables_deinit(&tables);
	close(fd);
	CHECK_EQ_INT(trace_tables_init(&tables, null), -EBADF);
	trace_tables_deinit(&tables);
	close(null);
}

int main(void)
{
	CHECK_RUN(test_threads);
	CHECK_RUN(test_texts);
	CHECK_RUN(test_errors);
	return check_done();
}
