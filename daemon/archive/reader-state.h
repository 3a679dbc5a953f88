/* Shared by the reader's files: its state and its statements. */
#ifndef ARCHIVE_READER_STATE_H
#define ARCHIVE_READER_STATE_H

#include <limits.h>
#include <sqlite3.h>

#include "codec.h"
#include "database.h"
#include "reader.h"
#include "space.h"
#include "statement.h"

enum reader_statement {
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
	struct statements statements;
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

/* As statement_get(); opens the archive if it is not open. */
int reader_statement(struct reader *r, enum reader_statement which, size_t n, const int64_t *values, sqlite3_stmt **sp);
/* Read the number that S answers with. Return ARCHIVE_E_ABSENT if there is no row, or NULL. */
int reader_id(struct reader *r, sqlite3_stmt *s, int64_t *id);

/* As a column: sequence numbers above what one holds are not there. */
static inline int64_t sequence_column(uint64_t sequence)
{
	return sequence > INT64_MAX ? INT64_MAX : (int64_t)sequence;
}

#endif
