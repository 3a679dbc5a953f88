/*
 * The reader of the trace archive. database.c says what can happen to the file under a reader.
 *
 * The rows of a packet change while it is read: compaction.c rewrites small rows as few large ones.
 * So from one call to the next a row is never identified by its id, but by the position of its
 * bytes, and rows that must fit together are read in one statement.
 */
#include <errno.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "age.h"
#include "clock.h"
#include "outbox-sum.h"
#include "reader-state.h"

#define READER_VERSION 11 /* newest migration that this program knows */

static const char *const sql[S_STATEMENTS] = {
#define STATEMENT(name, text) [S_##name] = text,
#include "reader-statements.def"
};

static int on_error(void *context, int result)
{
	struct reader *r = context;

	if (r->met_row) {
		r->met_row = false;
		return ARCHIVE_E_DAMAGED;
	}
	return database_read_error(r->db, result);
}

static void reader_close(struct reader *r)
{
	statements_close(&r->statements);
	sqlite3_close(r->db);
	r->db = NULL;
	r->commits.known = false;
	r->running = 0;
	r->since = 0;
}

/*
 * SQLite calls this when a statement begins or ends. A transaction lasts from the begin of the
 * first to the end of the last of statements that overlap: measure it.
 */
static int on_trace(unsigned event, void *context, void *statement, void *detail)
{
	struct reader *r = context;
	uint64_t now = clock_mono();

	(void)statement;
	(void)detail;
	if (event == SQLITE_TRACE_STMT) {
		r->running++;
		r->since = r->since ? r->since : now;
	} else if (--r->running == 0 && sqlite3_get_autocommit(r->db)) {
		r->longest = now - r->since > r->longest ? now - r->since : r->longest;
		r->since = 0;
	}
	return 0;
}

uint64_t reader_longest(const struct reader *r)
{
	return r->longest;
}

int reader_new(struct reader **rp, const char *state)
{
	CLEANUP(reader_freep) struct reader *r = calloc(1, sizeof(*r));

	if (!r || codec_reader_init(&r->codec) < 0 ||
	    statements_init(&r->statements, sql, S_STATEMENTS, on_error, r) < 0 ||
	    asprintf(&r->path, "%s/" ARCHIVE_FILE, state) < 0 ||
	    asprintf(&r->hold, "%s/archive/" ARCHIVE_HOLD, state) < 0)
		return -ENOMEM;
	(void)!getrandom(&r->opened, sizeof(r->opened), 0);
	*rp = TAKE_PTR(r);
	return 0;
}

struct reader *reader_free(struct reader *r)
{
	if (!r)
		return NULL;
	reader_close(r);
	statements_deinit(&r->statements);
	codec_reader_deinit(&r->codec);
	free(r->path);
	free(r->hold);
	free(r);
	return NULL;
}

static int reader_open(struct reader *r)
{
	int rc = database_read_open(&r->db, r->path, READER_VERSION, &r->file);

	if (rc != 0)
		return rc;
	r->statements.db = r->db;
	if (view_register(r->db, &r->view) != SQLITE_OK || outbox_sum_define(r->db) != SQLITE_OK ||
	    age_sum_define(r->db) != SQLITE_OK || reader_rows_define(r) != SQLITE_OK) {
		reader_close(r);
		return -ENOMEM;
	}
	sqlite3_trace_v2(r->db, SQLITE_TRACE_STMT | SQLITE_TRACE_PROFILE, on_trace, r);
	r->opened++;
	return 0;
}

int reader_ready(struct reader *r)
{
	if (r->db && database_file_changed(&r->file, r->path))
		reader_close(r);
	return r->db ? 0 : reader_open(r);
}

int reader_age(struct reader *r, struct age *age)
{
	int rc = r->db ? 0 : reader_open(r);

	if (rc == 0 && (rc = age_load(age, r->db)) != SQLITE_OK)
		rc = on_error(r, rc);
	return rc;
}

void reader_look(struct reader *r, struct view view)
{
	r->view = view;
}

uint64_t reader_begun(const struct reader *r)
{
	return r->statements.begun;
}

int reader_hold(struct reader *r, int *fd)
{
	return hold_take(r->hold, fd);
}

int reader_statement(struct reader *r, enum reader_statement which, size_t n, const int64_t *values, sqlite3_stmt **sp)
{
	int rc = r->db ? 0 : reader_open(r);

	return rc ? rc : statement_get(&r->statements, which, n, values, sp);
}

static int run_once(struct reader *r, enum reader_statement which)
{
	int rc = r->db ? 0 : reader_open(r);

	return rc ? rc : statement_run(&r->statements, which, NO_VALUES);
}

uint64_t reader_archives(const struct reader *r)
{
	return r->opened;
}

int reader_version(struct reader *r, struct reader_version *version)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int rc;

	if (!r->db || !database_commits_hold(&r->commits, r->db)) {
		rc = reader_statement(r, S_VERSION, NO_VALUES, &s);
		if (rc != 0)
			return rc;
		database_commits_begin(&r->commits, r->db);
		rc = statement_step(&r->statements, s);
		if (rc != STATEMENT_ROW) {
			r->commits.known = false;
			return rc;
		}
		database_commits_note(&r->commits, sqlite3_column_int64(s, 0));
	}
	*version = (struct reader_version){.commits = r->commits.number, .archives = r->opened};
	return 0;
}

int reader_begin(struct reader *r)
{
	return run_once(r, S_BEGIN);
}

void reader_end(struct reader *r)
{
	if (r->db && !sqlite3_get_autocommit(r->db))
		run_once(r, S_COMMIT);
}

int reader_id(struct reader *r, sqlite3_stmt *s, int64_t *id)
{
	int rc = statement_step(&r->statements, s);

	if (rc != STATEMENT_ROW)
		return rc ? rc : ARCHIVE_E_ABSENT;
	if (column_is_null(s, 0))
		return ARCHIVE_E_ABSENT;
	*id = sqlite3_column_int64(s, 0);
	return 0;
}

int reader_totals(struct reader *r, struct reader_totals *totals)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	struct stat st;
	int rc = reader_statement(r, S_TOTALS, NO_VALUES, &s);

	*totals = (struct reader_totals){0};
	if (rc == 0)
		rc = statement_step(&r->statements, s);
	if (rc != STATEMENT_ROW)
		return rc;
	*totals = (struct reader_totals){
		.runs = column_u64(s, 0),
		.running = column_u64(s, 1),
		.captures = column_u64(s, 2),
		.packets = column_u64(s, 3),
		.bytes = column_u64(s, 4),
		.lost_packets = column_u64(s, 5),
		.skipped_packets = column_u64(s, 6),
		.damaged_packets = column_u64(s, 7),
		.unchecked = sqlite3_column_int(s, 8) != 0,
		.file_bytes = stat(r->path, &st) == 0 ? (uint64_t)st.st_size : 0,
	};
	return 0;
}
