/* Shared by the reader's files: its state and its statements. */
#ifndef ARCHIVE_READER_STATE_H
#define ARCHIVE_READER_STATE_H

#include <limits.h>
#include <sqlite3.h>

#include "age.h"
#include "clock-sql.h"
#include "codec.h"
#include "database.h"
#include "reader.h"
#include "row-sum.h"
#include "space.h"
#include "statement.h"

enum reader_statement {
#define STATEMENT(name, sql) S_##name,
#include "reader-statements.def"
	S_STATEMENTS,
};

/* A period of the clocks, with what is to be added to its stamps of CLOCK_REALTIME to show them; 0 = nothing. */
struct reader_period {
	int64_t began_mono, ended_mono, real_offset, correction;
	bool is_newest; /* it has no end */
};

struct reader {
	char *path;
	char *hold; /* path of the lock file */
	sqlite3 *db;
	struct database_file file;
	struct database_commits commits;
	uint64_t opened; /* a random number, and the number of times that it was opened */
	struct view view;
	struct statements statements;
	struct codec_reader codec;
	/* The periods of the archive's version PERIODS_OF, newest first; ARCHIVES 0 = they were not read. */
	struct reader_period periods[AGE_PERIODS_MAX];
	size_t n_periods;
	struct reader_version periods_of;
	unsigned running; /* number of statements that were begun and not reset */
	uint64_t since;	  /* begin of the open transaction, CLOCK_MONOTONIC ns; 0 = none is open */
	uint64_t longest;
	bool met_row; /* the statement that fails has met a damaged row (reader-rows.c) */
	bool met_damage;
	struct reader_damage damage; /* the last damage that was found, valid if MET_DAMAGE */
};

/*
 * Check the current row of S, which is a PIECE, TAIL_PIECE or ENDS statement for packet SEQUENCE.
 * WITH_DATA: check the stored data, too. Return 0; or ARCHIVE_E_DAMAGED, and the damage is stored
 * for reader_take_damage().
 */
int reader_row_check(struct reader *r, sqlite3_stmt *s, struct reader_source source, uint64_t sequence, bool with_data);
/*
 * Find the row of packet SEQUENCE of SOURCE that has the content at OFFSET, or the next one, as the current
 * row of *S, and check it with its data. Return 0, ARCHIVE_E_ABSENT, or an error of the reader.
 */
int reader_row_find(struct reader *r, struct reader_source source, uint64_t sequence, uint32_t offset,
		    sqlite3_stmt **s);
/*
 * Return whether the current row of S, a CHECK_RANGE or END_CAPTURES statement for SOURCE, agrees
 * with its checksum.
 */
bool reader_range_holds(sqlite3_stmt *s, struct reader_source source);
/*
 * If RC, the result of reading packet SEQUENCE, means damage, store that damage for
 * reader_take_damage(). Return RC.
 */
int reader_damaged(struct reader *r, int rc, struct reader_source source, uint64_t sequence);

/* Give R's connection the views that check rows. Return SQLite's result. */
int reader_rows_define(struct reader *r);

/* Do as statement_get(), but open the archive first if it is not open. */
int reader_statement(struct reader *r, enum reader_statement which, size_t n, const int64_t *values, sqlite3_stmt **sp);
/*
 * Read the number that S selects into *ID. Return ARCHIVE_E_ABSENT if there is no row or the number
 * is NULL.
 */
int reader_id(struct reader *r, sqlite3_stmt *s, int64_t *id);

/*
 * Return SEQUENCE as the value of a column. A sequence that a column cannot hold becomes INT64_MAX,
 * which no row has.
 */
static inline int64_t sequence_column(uint64_t sequence)
{
	return sequence > INT64_MAX ? INT64_MAX : (int64_t)sequence;
}

#endif
