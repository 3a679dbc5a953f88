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
	char *hold; /* path of the lock file */
	sqlite3 *db;
	struct database_file file;
	uint64_t opened; /* number of times it was opened */
	struct statements statements;
	struct codec_reader codec;
	unsigned running; /* statements that are under way */
	uint64_t since;	  /* CLOCK_MONOTONIC ns when the open transaction began; 0 = none is open */
	uint64_t longest;
	bool met_damage;
	struct reader_damage damage; /* last damage that was met */
};

/*
 * Check the current row of S, which is PIECE, TAIL_PIECE or an ENDS statement asked for packet
 * SEQUENCE; WITH_DATA checks the stored data too. Return 0, or ARCHIVE_E_DAMAGED after noting the
 * damage.
 */
int reader_row_check(struct reader *r, sqlite3_stmt *s, struct reader_source source, uint64_t sequence, bool with_data);
/*
 * Return true if the current row of S, which is CHECK_RANGE or END_CAPTURES of SOURCE, agrees with
 * its checksum.
 */
bool reader_range_holds(sqlite3_stmt *s, struct reader_source source);
/* Note damage if RC, a result of reading packet SEQUENCE, stands for damage. Return RC. */
int reader_damaged(struct reader *r, int rc, struct reader_source source, uint64_t sequence);

/* As statement_get(); opens the archive if it is not open. */
int reader_statement(struct reader *r, enum reader_statement which, size_t n, const int64_t *values, sqlite3_stmt **sp);
/* Read the number that S answers with. Return ARCHIVE_E_ABSENT if there is no row, or NULL. */
int reader_id(struct reader *r, sqlite3_stmt *s, int64_t *id);

/*
 * Return SEQUENCE as a column value. Sequence numbers that a column cannot hold become the largest
 * value, which no row has.
 */
static inline int64_t sequence_column(uint64_t sequence)
{
	return sequence > INT64_MAX ? INT64_MAX : (int64_t)sequence;
}

#endif
