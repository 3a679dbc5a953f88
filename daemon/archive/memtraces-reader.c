/*
 * The reader of memory profiles. A recording grows only at its end, and its pieces are never
 * rewritten, so an offset always names the same byte. database.c says what can happen to the file
 * under a reader.
 */
#include "memtraces-reader.h"

#include <errno.h>
#include <stdio.h>

#include "age.h"
#include "clock-sql.h"
#include "codec.h"
#include "database.h"
#include "statement.h"

#define MEMTRACES_VERSION 4 /* newest migration that this program knows */
#define COLUMNS                                                                                                        \
	"id, run, name, uuid, domid, address, port, origin, state, reason, began_real, began_mono, ended_real, "       \
	"ended_mono, bytes, packets, dropped, pinned, note, version, program, host, pid, rate, context, "              \
	"connected_mono, damaged, " CORRECTION_OF("recordings.began_mono",                                             \
						  "recordings.began_real") ", " CORRECTION_OF("recordings.ended_mono", \
											      "recordings.ended_real")

enum memtraces_reader_statement {
	M_VERSION,
	M_ALL,
	M_OF_RUN,
	M_RECORDING,
	M_ONE,
	M_AT,
	M_CHECK,
	M_PIECE,
	M_TOTALS,
	M_STATEMENTS,
};

static const char *const sql[M_STATEMENTS] = {
	[M_VERSION] = "PRAGMA data_version",
	[M_ALL] = "SELECT " COLUMNS " FROM recordings WHERE id < ?2 AND state <> 'deleted' AND sees(name) AND ?1 = 0 "
		  "ORDER BY id DESC LIMIT ?3",
	[M_OF_RUN] = "SELECT " COLUMNS " FROM recordings WHERE run = ?1 AND id < ?2 AND "
		     "state <> 'deleted' AND sees(name) ORDER BY id DESC LIMIT ?3",
	[M_RECORDING] = "SELECT " COLUMNS " FROM recordings WHERE state = 'recording' AND run IS NOT NULL AND "
			"sees(name) ORDER BY id",
	[M_ONE] = "SELECT " COLUMNS " FROM recordings WHERE id = ?1 AND state <> 'deleted' AND sees(name)",
	/* A guest may begin recordings without end, and each is compared with each period of the clocks. */
	[M_AT] =
		"SELECT id FROM recordings WHERE run = ?1 AND id >= coalesce((SELECT id FROM recordings WHERE run = ?1 "
		"ORDER BY id DESC LIMIT 1 OFFSET ?5), 0) AND state <> 'deleted' AND sees(name) AND " STAMP_FOLLOWS(
			"?2", "?3", "recordings.began_mono", "recordings.began_real",
			"0") " AND (ended_real IS NULL OR " STAMP_FOLLOWS("recordings.ended_mono",
									  "recordings.ended_real", "?2", "?3",
									  "?4") ") ORDER BY id DESC LIMIT 1",
	[M_CHECK] = "SELECT bytes = coalesce((SELECT offset + length FROM pieces WHERE recording = ?1 "
		    "ORDER BY offset DESC LIMIT 1), 0) FROM recordings WHERE id = ?1",
	[M_PIECE] = "SELECT offset, length, codec, data, checksum, id <= (SELECT pieces FROM unchecked) "
		    "FROM pieces WHERE recording = ?1 AND offset <= ?2 AND "
		    "EXISTS (SELECT 1 FROM recordings WHERE id = ?1 AND state <> 'deleted') "
		    "ORDER BY offset DESC LIMIT 1",
	[M_TOTALS] = "SELECT count(*), coalesce(sum(state = 'recording'), 0), coalesce(sum(bytes), 0), "
		     "coalesce(sum(dropped), 0), coalesce(sum(damaged), 0), (SELECT pieces > 0 FROM unchecked) "
		     "FROM recordings WHERE state <> 'deleted'",
};

struct memtraces_reader {
	char *path;
	struct database_file file;
	struct database_commits commits;
	sqlite3 *db;
	struct view view;
	struct statements statements;
	uint64_t opened; /* number of times that the archive was opened */
	uint64_t absent; /* when the archive was last looked for and not found, CLOCK_MONOTONIC ns; 0 = it was there */
	struct codec_reader codec;
	uint8_t *content; /* ARCHIVE_PIECE_MAX bytes */
	int64_t damaged;  /* recording in which damage was found; 0 = none */
};

static int on_error(void *context, int result)
{
	const struct memtraces_reader *r = context;

	return database_read_error(r->db, result);
}

int memtraces_reader_new(struct memtraces_reader **rp, const char *state)
{
	CLEANUP(memtraces_reader_freep) struct memtraces_reader *r = calloc(1, sizeof(*r));

	if (!r || codec_reader_init(&r->codec) < 0 ||
	    statements_init(&r->statements, sql, M_STATEMENTS, on_error, r) < 0)
		return -ENOMEM;
	r->content = malloc(ARCHIVE_PIECE_MAX);
	if (!r->content)
		return -ENOMEM;
	if (asprintf(&r->path, "%s/" MEMTRACES_FILE, state) < 0) {
		r->path = NULL;
		return -ENOMEM;
	}
	*rp = TAKE_PTR(r);
	return 0;
}

static void reader_close(struct memtraces_reader *r)
{
	statements_close(&r->statements);
	sqlite3_close(r->db);
	r->db = NULL;
	r->commits.known = false;
}

struct memtraces_reader *memtraces_reader_free(struct memtraces_reader *r)
{
	if (!r)
		return NULL;
	reader_close(r);
	statements_deinit(&r->statements);
	codec_reader_deinit(&r->codec);
	free(r->content);
	free(r->path);
	free(r);
	return NULL;
}

/* Return true if there is no archive. This looks again after DATABASE_LOOK_NS. */
static bool is_absent(struct memtraces_reader *r)
{
	uint64_t now = clock_mono();

	if (r->absent && now - r->absent < DATABASE_LOOK_NS)
		return true;
	r->absent = access(r->path, F_OK) < 0 && errno == ENOENT ? now : 0;
	return r->absent != 0;
}

int memtraces_reader_ready(struct memtraces_reader *r)
{
	int rc;

	if (r->db && database_file_changed(&r->file, r->path))
		reader_close(r);
	if (r->db)
		return 0;
	if (is_absent(r))
		return ARCHIVE_E_ABSENT;
	r->opened++;
	rc = database_read_open(&r->db, r->path, MEMTRACES_VERSION, &r->file);
	r->statements.db = r->db;
	if (rc == 0 && (view_register(r->db, &r->view) != SQLITE_OK || age_sum_define(r->db) != SQLITE_OK)) {
		reader_close(r);
		return -ENOMEM;
	}
	return rc;
}

void memtraces_look(struct memtraces_reader *r, struct view view)
{
	r->view = view;
}

uint64_t memtraces_begun(const struct memtraces_reader *r)
{
	return r->statements.begun;
}

/* Do as statement_get(), but open the archive first if it is not open. */
static int get(struct memtraces_reader *r, enum memtraces_reader_statement which, size_t n, const int64_t *values,
	       sqlite3_stmt **s)
{
	int rc = memtraces_reader_ready(r);

	return rc ? rc : statement_get(&r->statements, which, n, values, s);
}

int memtraces_version(struct memtraces_reader *r, struct memtraces_version *version)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int rc = get(r, M_VERSION, NO_VALUES, &s);

	if (rc != 0)
		return rc;
	if (!database_commits_hold(&r->commits, r->db)) {
		database_commits_begin(&r->commits, r->db);
		rc = statement_step(&r->statements, s);
		if (rc != STATEMENT_ROW) {
			r->commits.known = false;
			return rc;
		}
		database_commits_note(&r->commits, sqlite3_column_int64(s, 0));
	}
	*version = (struct memtraces_version){.commits = r->commits.number, .archives = r->opened};
	return 0;
}

static struct memtrace row(sqlite3_stmt *s)
{
	return (struct memtrace){
		.id = sqlite3_column_int64(s, 0),
		.run = sqlite3_column_int64(s, 1),
		.name = column_text(s, 2),
		.uuid = column_text(s, 3),
		.domid = sqlite3_column_type(s, 4) == SQLITE_NULL ? -1 : sqlite3_column_int64(s, 4),
		.address = column_text(s, 5),
		.port = (uint32_t)column_u64(s, 6),
		.origin = column_text(s, 7),
		.state = column_text(s, 8),
		.reason = column_text(s, 9),
		.began_real = column_u64(s, 10),
		.began_mono = column_u64(s, 11),
		.ended_real = column_u64(s, 12),
		.ended_mono = column_u64(s, 13),
		.bytes = column_u64(s, 14),
		.packets = column_u64(s, 15),
		.dropped = column_u64(s, 16),
		.pinned = column_u64(s, 17) != 0,
		.note = column_text(s, 18),
		.version = (uint32_t)column_u64(s, 19),
		.program = column_text(s, 20),
		.host = column_text(s, 21),
		.has_pid = sqlite3_column_type(s, 22) != SQLITE_NULL,
		.pid = sqlite3_column_int64(s, 22),
		.rate = sqlite3_column_double(s, 23),
		.context = column_text(s, 24),
		.connected_mono = column_u64(s, 25),
		.damaged = column_u64(s, 26),
		.began_correction = sqlite3_column_int64(s, 27),
		.ended_correction = sqlite3_column_int64(s, 28),
	};
}

static int rows(struct memtraces_reader *r, sqlite3_stmt *s, memtraces_call *call, void *context, size_t *n)
{
	int rc;

	for (*n = 0; (rc = statement_step(&r->statements, s)) == STATEMENT_ROW; ++*n) {
		struct memtrace t = row(s);

		rc = call(context, &t);
		if (rc != 0)
			return rc;
	}
	return rc;
}

int memtraces_list(struct memtraces_reader *r, int64_t run, int64_t before, unsigned limit, memtraces_call *call,
		   void *context)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	size_t n;
	int rc = get(r, run ? M_OF_RUN : M_ALL, VALUES(run, before, limit), &s);

	if (rc == ARCHIVE_E_ABSENT)
		return 0;
	return rc ? rc : rows(r, s, call, context, &n);
}

int memtraces_recording(struct memtraces_reader *r, memtraces_call *call, void *context)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	size_t n;
	int rc = get(r, M_RECORDING, NO_VALUES, &s);

	if (rc == ARCHIVE_E_ABSENT)
		return 0;
	return rc ? rc : rows(r, s, call, context, &n);
}

int memtraces_get(struct memtraces_reader *r, int64_t id, memtraces_call *call, void *context)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	size_t n = 0;
	int rc = get(r, M_ONE, VALUES(id), &s);

	if (rc == 0)
		rc = rows(r, s, call, context, &n);
	return rc ? rc : n ? 0 : ARCHIVE_E_ABSENT;
}

int memtraces_at(struct memtraces_reader *r, int64_t run, struct moment when, uint64_t grace, int64_t *id)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int rc = get(r, M_AT, VALUES(run, (int64_t)when.mono, (int64_t)when.real, (int64_t)grace, MEMTRACES_LOOKED - 1),
		     &s);

	if (rc == 0)
		rc = statement_step(&r->statements, s);
	if (rc != STATEMENT_ROW)
		return rc ? rc : ARCHIVE_E_ABSENT;
	*id = sqlite3_column_int64(s, 0);
	return 0;
}

/*
 * Step S to the next row of the recording ID. If SQLite finds damage, store ID in R->damaged.
 * Return as statement_step().
 */
static int step(struct memtraces_reader *r, sqlite3_stmt *s, int64_t id)
{
	int rc = statement_step(&r->statements, s);

	if (rc == -EBADMSG)
		r->damaged = id;
	return rc;
}

int memtraces_check(struct memtraces_reader *r, int64_t id)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int rc = get(r, M_CHECK, VALUES(id), &s);

	if (rc == 0)
		rc = step(r, s, id);
	if (rc != STATEMENT_ROW)
		return rc;
	if (column_u64(s, 0))
		return 0;
	r->damaged = id;
	return ARCHIVE_E_DAMAGED;
}

int memtraces_note_damage(struct memtraces_reader *r, int64_t id)
{
	r->damaged = id;
	return ARCHIVE_E_DAMAGED;
}

int64_t memtraces_take_damage(struct memtraces_reader *r)
{
	int64_t id = r->damaged;

	r->damaged = 0;
	return id;
}

/*
 * Fill *P from the current row of S. Return 0, or ARCHIVE_E_DAMAGED if the row contradicts itself
 * or its checksum.
 */
static int take_piece(struct memtraces_reader *r, sqlite3_stmt *s, int64_t id, enum memtraces_form form,
		      struct memtraces_piece *p)
{
	int64_t length = sqlite3_column_int64(s, 1);
	int codec = sqlite3_column_int(s, 2);
	struct checksum_row sum = {.numbers = {id}, .n = 4};

	*p = (struct memtraces_piece){.offset = column_u64(s, 0), .length = (uint32_t)length};
	p->data = sqlite3_column_blob(s, 3);
	p->bytes = (size_t)sqlite3_column_bytes(s, 3);
	for (int i = 0; i < 3; i++)
		sum.numbers[1 + i] = sqlite3_column_int64(s, i);
	sum.data = p->data;
	sum.data_bytes = p->bytes;
	if (!checksum_holds(s, 4, sqlite3_column_int(s, 5) != 0, &sum) || length < 1 || length > ARCHIVE_PIECE_MAX ||
	    !p->data)
		return ARCHIVE_E_DAMAGED;
	p->is_frame = form != MEMTRACES_DECODED && codec == CODEC_ZSTD;
	/* A frame that has no checksum is decoded once before it is passed on, to check it. */
	if (p->is_frame && (form == MEMTRACES_PACKED || sqlite3_column_type(s, 4) != SQLITE_NULL))
		return codec_is_frame_of(p->data, p->bytes, p->length) ? 0 : ARCHIVE_E_DAMAGED;
	if (!codec_decode(&r->codec, codec, p->data, p->bytes, r->content, p->length))
		return ARCHIVE_E_DAMAGED;
	if (p->is_frame)
		return 0;
	p->data = r->content;
	p->bytes = p->length;
	return 0;
}

int memtraces_read(struct memtraces_reader *r, int64_t id, uint64_t offset, enum memtraces_form form,
		   memtraces_piece_call *call, void *context)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	struct memtraces_piece piece;
	int rc = get(r, M_PIECE, VALUES(id, (int64_t)offset), &s);

	if (rc == 0)
		rc = step(r, s, id);
	if (rc != STATEMENT_ROW)
		return rc ? rc : ARCHIVE_E_ABSENT;
	rc = take_piece(r, s, id, form, &piece);
	if (rc == ARCHIVE_E_DAMAGED)
		r->damaged = id;
	if (rc == 0 && offset - piece.offset >= piece.length)
		return ARCHIVE_E_ABSENT;
	return rc ? rc : call(context, &piece);
}

int memtraces_totals(struct memtraces_reader *r, struct memtraces_totals *totals)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int rc;

	*totals = (struct memtraces_totals){0};
	rc = get(r, M_TOTALS, NO_VALUES, &s);
	if (rc != 0)
		return rc == ARCHIVE_E_ABSENT ? 0 : rc;
	rc = statement_step(&r->statements, s);
	if (rc != STATEMENT_ROW)
		return rc;
	*totals = (struct memtraces_totals){column_u64(s, 0), column_u64(s, 1), column_u64(s, 2),
					    column_u64(s, 3), column_u64(s, 4), column_u64(s, 5) != 0};
	return 0;
}
