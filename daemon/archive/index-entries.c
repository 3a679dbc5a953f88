/*
 * Let the indexes of chunks and tails agree with their rows, at one place.
 *
 * An entry has copies of some columns and the row's identifier. SQLite has no statement that changes an entry alone. So an entry that names no row
 * gets a row with these columns, which makes the same entry again; and a row that differs from its entry gets the columns of the entry, by which
 * the entry becomes its own.
 *
 * If they differ, one of them was damaged. If another entry has all columns of the row, the identifier in this entry was: the row that has the columns
 * of the entry is looked for one bit away. If the checksum says that the row is right, the columns of the entry were: the row gets its own ones again,
 * by which the entry is replaced. Otherwise the columns of the row were damaged, and those of the entry may be what they were.
 */
#include "index-entries.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "writer-state.h"

#define COLUMNS_MOST 7u

/* An index. The columns of its entries are those of each statement, in one order; the row's identifier is behind them. */
struct table_index {
	enum writer_statement list;  /* entries of a place */
	enum writer_statement entry; /* select 1 if there is this entry */
	enum writer_statement row;   /* columns of the row with an identifier */
	enum writer_statement sums;  /* what its checksum covers, as READ_ENDS; without a checksum it does not hold */
	enum writer_statement fill;  /* insert a row; without an identifier it gets a new one */
	enum writer_statement move;  /* set the columns of a row */
	enum writer_statement drop;  /* delete the row with an identifier */
	size_t n;		     /* number of columns */
	size_t stream;		     /* number of the column with the stream, from 0 */
};

static const struct table_index by_position = {.list = STATEMENT_ENTRIES,
					       .entry = STATEMENT_ENTRY,
					       .row = STATEMENT_ENTRY_ROW,
					       .sums = STATEMENT_ENTRY_SUMS,
					       .fill = STATEMENT_ENTRY_FILL,
					       .move = STATEMENT_ENTRY_MOVE,
					       .drop = STATEMENT_DELETE_CHUNK,
					       .n = 7,
					       .stream = 0};
static const struct table_index by_capture = {.list = STATEMENT_TAIL_ENTRIES,
					      .entry = STATEMENT_TAIL_ENTRY,
					      .row = STATEMENT_TAIL_ENTRY_ROW,
					      .sums = STATEMENT_TAIL_ENTRY_SUMS,
					      .fill = STATEMENT_TAIL_ENTRY_FILL,
					      .move = STATEMENT_TAIL_ENTRY_MOVE,
					      .drop = STATEMENT_DELETE_TAIL,
					      .n = 4,
					      .stream = 1};

/* An entry, or the same of a row: its columns, and the identifier behind them. */
struct entry {
	int64_t values[COLUMNS_MOST + 1];
};

struct mending {
	struct archive_writer *w;
	const struct table_index *index;
	int64_t place[2]; /* the first two columns of the entries */
	struct entry *entries;
	size_t n;
	bool mended;
};

static int list(struct mending *m)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	size_t room = 0;
	int r = statement_get(&m->w->store.statements, m->index->list, VALUES(m->place[0], m->place[1]), &s);

	while (s && (r = statement_step(&m->w->store.statements, s)) == STATEMENT_ROW) {
		if (m->n == room) {
			struct entry *more = realloc(m->entries, (room = 2 * room + 16) * sizeof(*more));

			if (!more)
				return -ENOMEM;
			m->entries = more;
		}
		for (size_t i = 0; i <= m->index->n; i++)
			m->entries[m->n].values[i] = sqlite3_column_int64(s, (int)i);
		m->n++;
	}
	return r;
}

/* Read the row ID into *ROW. Return STATEMENT_ROW, 0 (there is none) or an error. */
static int row_read(const struct mending *m, int64_t id, struct entry *row)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&m->w->store.statements, m->index->row, 1, &id, &s);

	if (r == 0)
		r = statement_step(&m->w->store.statements, s);
	for (size_t i = 0; r == STATEMENT_ROW && i < m->index->n; i++)
		row->values[i] = sqlite3_column_int64(s, (int)i);
	row->values[m->index->n] = id;
	return r;
}

/* Set *HOLDS to whether the columns of the row ID agree with its checksum. */
static int row_holds(const struct mending *m, int64_t id, bool *holds)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&m->w->store.statements, m->index->sums, 1, &id, &s);

	*holds = false;
	if (r == 0)
		r = statement_step(&m->w->store.statements, s);
	if (r != STATEMENT_ROW)
		return r;
	*holds = writer_row_holds(s, false);
	return 0;
}

/* Set *HAS to whether the index has an entry of ROW as it is. */
static int has_entry(const struct mending *m, const struct entry *row, bool *has)
{
	int64_t one;
	bool is_none;
	int r = statement_number(&m->w->store.statements, m->index->entry, m->index->n + 1, row->values, &one,
				 &is_none);

	*has = r == 0 && !is_none;
	return r;
}

static bool is_equal(const struct mending *m, const struct entry *a, const struct entry *b)
{
	return memcmp(a->values, b->values, m->index->n * sizeof(*a->values)) == 0;
}

/* Run the statement WHICH with the columns of ENTRY, and with the identifier of ID. */
static int entry_write(const struct mending *m, enum writer_statement which, const struct entry *entry,
		       const struct entry *id)
{
	struct entry values = *entry;

	values.values[m->index->n] = id->values[m->index->n];
	return statement_run(&m->w->store.statements, which, m->index->n + 1, values.values);
}

/*
 * Find the whole row with the columns of ENTRY that no entry names, and whose identifier differs from that of ENTRY by one bit. *IS_ANY: it
 * is in *ROW. An entry has integers of several sizes, so a flipped sign sets all bits above.
 */
static int row_find(const struct mending *m, const struct entry *entry, struct entry *row, bool *is_any)
{
	const int64_t id = entry->values[m->index->n];
	int r = 0;

	*is_any = false;
	for (unsigned bit = 0; bit < 63 && r == 0 && !*is_any; bit++) {
		bool has = false;

		r = row_read(m, id < 0 ? id & (INT64_MAX >> bit) : id ^ (INT64_C(1) << bit), row);
		if (r != STATEMENT_ROW)
			continue;
		r = 0;
		if (!is_equal(m, row, entry))
			continue;
		r = row_holds(m, row->values[m->index->n], is_any);
		if (r == 0 && *is_any)
			r = has_entry(m, row, &has);
		*is_any &= !has;
	}
	return r;
}

/* The identifier in ENTRY is wrong. ROW has it, and has another entry; NULL = no row has it. */
static int identifier_mend(const struct mending *m, const struct entry *entry, const struct entry *row)
{
	struct entry whole;
	bool is_any;
	int r = row_find(m, entry, &whole, &is_any);

	/* Delete the entry. */
	if (r == 0)
		r = entry_write(m, row ? m->index->move : m->index->fill, entry, entry);
	if (r == 0 && row)
		r = entry_write(m, m->index->move, row, row);
	else if (r == 0 && is_any)
		r = WRITER_RUN(m->w, m->index->drop, entry->values[m->index->n]);
	if (r == 0 && is_any)
		r = entry_write(m, m->index->move, &whole, &whole);
	else if (r == 0 && row)
		r = statement_run(&m->w->store.statements, m->index->fill, m->index->n, entry->values);
	return r;
}

/* Let ENTRY, and ROW, which it names and which has no other entry, agree. */
static int columns_mend(const struct mending *m, const struct entry *entry, const struct entry *row)
{
	bool holds;
	int r = row_holds(m, row->values[m->index->n], &holds);

	if (r == 0)
		r = entry_write(m, m->index->move, entry, row);
	return r == 0 && holds ? entry_write(m, m->index->move, row, row) : r;
}

/* Let ENTRY, and ROW, which has its identifier (NULL = there is none), agree. */
static int mend(const struct mending *m, const struct entry *entry, const struct entry *row)
{
	sqlite3 *db = m->w->store.db;
	bool is_of_another = true;
	int r = row ? has_entry(m, row, &is_of_another) : 0;

	/*
	 * While the schema is writable, SQLite goes on if it does not find the entry that a statement replaces. The capture that a damaged column
	 * names need not be there.
	 */
	if (r == 0)
		r = database_error(db, sqlite3_db_config(db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, NULL));
	if (r == 0)
		r = database_error(db, sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FKEY, 0, NULL));
	if (r == 0)
		r = is_of_another ? identifier_mend(m, entry, row) : columns_mend(m, entry, row);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0, NULL);
	if (r == 0)
		r = writer_recount(m->w, entry->values[m->index->stream]);
	return r == 0 && row ? writer_recount(m->w, row->values[m->index->stream]) : r;
}

static int entry_check(struct mending *m, const struct entry *entry)
{
	struct entry row;
	int r = row_read(m, entry->values[m->index->n], &row);

	if (r != 0 && r != STATEMENT_ROW)
		return r;
	if (r == STATEMENT_ROW && is_equal(m, entry, &row))
		return 0;
	m->mended = true;
	return mend(m, entry, r == STATEMENT_ROW ? &row : NULL);
}

int index_entries_mend(struct archive_writer *w, int64_t stream, uint64_t sequence, int64_t capture, bool *mended)
{
	struct mending m = {.w = w, .index = &by_position, .place = {stream, (int64_t)sequence}};
	int r;

	if (capture)
		m = (struct mending){.w = w, .index = &by_capture, .place = {capture, stream}};
	r = list(&m);
	for (size_t i = 0; i < m.n && r == 0; i++)
		r = entry_check(&m, &m.entries[i]);
	free(m.entries);
	*mended = m.mended;
	return r;
}
