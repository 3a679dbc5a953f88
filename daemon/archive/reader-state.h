/* What the reader's files share: its state, its kept statements, and what columns hold. */
#ifndef ARCHIVE_READER_STATE_H
#define ARCHIVE_READER_STATE_H

#include <limits.h>
#include <sqlite3.h>

#include "codec.h"
#include "database.h"
#include "reader.h"
#include "space.h"

enum statement {
#define STATEMENT(name, sql) S_##name,
#include "reader-statements.def"
	S_STATEMENTS,
};

struct reader {
	char *path;
	char *hold; /* a path, too */
	sqlite3 *db;
	struct database_file file;
	uint64_t opened; /* how often */
	sqlite3_stmt *statements[S_STATEMENTS];
	struct codec_reader codec;
	unsigned running; /* statements that were begun and are not over */
	uint64_t since;	  /* when the transaction that is open began; 0 = none is */
	uint64_t longest;
	bool met_damage;
	struct reader_damage damage; /* where it was met */
};

/*
 * Does the row that S stands at hold, which is PIECE, TAIL_PIECE or an ENDS one, and was asked for in packet SEQUENCE?  WITH_DATA: its stored data
 * too.  ARCHIVE_E_DAMAGED.
 */
int reader_row_check(struct reader *r, sqlite3_stmt *s, struct reader_source source, uint64_t sequence, bool with_data);
/* Does the row that S stands at hold, which is CHECK_RANGE or END_CAPTURES, of that capture and stream? */
bool reader_range_holds(sqlite3_stmt *s, struct reader_source source);
/* RC, which came up while packet SEQUENCE was read: notes damage. */
int reader_damaged(struct reader *r, int rc, struct reader_source source, uint64_t sequence);

/*
 * The kept statement WHICH with N integers bound, opening the archive where it is not.  Declare it with CLEANUP(statement_resetp): what is not reset
 * holds the transaction open.
 */
int reader_statement(struct reader *r, enum statement which, size_t n, const int64_t *values, sqlite3_stmt **sp);
#define VALUES(...)                                                     \
	sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]) \
	{                                                               \
		__VA_ARGS__                                             \
	}

/* The next row; *HAVE false behind the last. */
int reader_step(struct reader *r, sqlite3_stmt *s, bool *have);
/* The one number that S answers with; NULL is ARCHIVE_E_ABSENT. */
int reader_id(struct reader *r, sqlite3_stmt *s, int64_t *id);

static inline uint64_t column_u64(sqlite3_stmt *s, int i)
{
	return (uint64_t)sqlite3_column_int64(s, i);
}

static inline uint32_t column_u32(sqlite3_stmt *s, int i)
{
	int64_t v = sqlite3_column_int64(s, i);

	return v < 0 ? 0 : v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

static inline const char *column_text(sqlite3_stmt *s, int i)
{
	return (const char *)sqlite3_column_text(s, i);
}

/* Text that the schema says is never NULL; a damaged archive may say otherwise. */
static inline const char *column_string(sqlite3_stmt *s, int i)
{
	const char *text = column_text(s, i);

	return text ? text : "";
}

/* As a column: sequence numbers above what one holds are not there. */
static inline int64_t sequence_column(uint64_t sequence)
{
	return sequence > INT64_MAX ? INT64_MAX : (int64_t)sequence;
}

#endif
