/*
 * Let the indexes of chunks and tails agree with their rows, at one place.
 *
 * An entry has copies of some columns and the row's identifier. SQLite has no statement that changes an entry alone. So an entry that names no row
 * gets a row with these columns, which makes the same entry again; and a row that differs from its entry gets the columns of the entry, by which
 * the entry becomes its own. If the checksum says that the row was right, it then gets its own columns again, by which the entry is replaced.
 * Otherwise the columns of the row were damaged, and those of the entry may be what they were.
 */
#include "index-entries.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "writer-state.h"

#define COLUMNS_MOST 7u

/* An index. The columns of its entries are those of each statement, in one order, behind the row's identifier. */
struct table_index {
	enum writer_statement list;  /* identifiers in the entries of a place */
	enum writer_statement entry; /* columns of the entry with an identifier, of that place */
	enum writer_statement row;   /* columns of the row with an identifier */
	enum writer_statement sums;  /* what its checksum covers, as READ_ENDS; without a checksum it does not hold */
	enum writer_statement fill;  /* insert a row */
	enum writer_statement move;  /* set the columns of a row */
	size_t n;		     /* number of columns */
};

static const struct table_index by_position = {STATEMENT_REPAIR_ROWS,
					       STATEMENT_ENTRY,
					       STATEMENT_ENTRY_ROW,
					       STATEMENT_ENTRY_SUMS,
					       STATEMENT_ENTRY_FILL,
					       STATEMENT_ENTRY_MOVE,
					       7};
static const struct table_index by_capture = {STATEMENT_TAIL_ENTRIES,
					      STATEMENT_TAIL_ENTRY,
					      STATEMENT_TAIL_ENTRY_ROW,
					      STATEMENT_TAIL_ENTRY_SUMS,
					      STATEMENT_TAIL_ENTRY_FILL,
					      STATEMENT_TAIL_ENTRY_MOVE,
					      4};

struct mending {
	struct archive_writer *w;
	const struct table_index *index;
	int64_t place[2]; /* the first two columns of the entries */
	int64_t *ids;
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
			int64_t *more = realloc(m->ids, (room = 2 * room + 16) * sizeof(*more));

			if (!more)
				return -ENOMEM;
			m->ids = more;
		}
		m->ids[m->n++] = sqlite3_column_int64(s, 0);
	}
	return r;
}

/* Read the first row of the statement WHICH into COLUMNS. Return STATEMENT_ROW, 0 (there is none) or an error. */
static int columns_read(const struct mending *m, enum writer_statement which, const int64_t *values, size_t n,
			int64_t columns[COLUMNS_MOST])
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&m->w->store.statements, which, n, values, &s);

	if (r == 0)
		r = statement_step(&m->w->store.statements, s);
	for (size_t i = 0; r == STATEMENT_ROW && i < m->index->n; i++)
		columns[i] = sqlite3_column_int64(s, (int)i);
	return r;
}

/* Run the statement WHICH with the identifier ID and COLUMNS. */
static int columns_write(const struct mending *m, enum writer_statement which, int64_t id,
			 const int64_t columns[COLUMNS_MOST])
{
	int64_t values[1 + COLUMNS_MOST] = {id};

	memcpy(values + 1, columns, m->index->n * sizeof(*columns));
	return statement_run(&m->w->store.statements, which, 1 + m->index->n, values);
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

/* Let the row ID, with the columns ROW, and its ENTRY agree: the row that does not hold takes the columns of the entry. */
static int entry_replace(const struct mending *m, int64_t id, const int64_t entry[COLUMNS_MOST],
			 const int64_t row[COLUMNS_MOST])
{
	sqlite3 *db = m->w->store.db;
	bool holds;
	int r = row_holds(m, id, &holds);

	/* While the schema is writable, SQLite goes on if it does not find the entry that a statement replaces. */
	if (r == 0)
		r = database_error(db, sqlite3_db_config(db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, NULL));
	if (r == 0)
		r = columns_write(m, m->index->move, id, entry);
	if (r == 0 && holds)
		r = columns_write(m, m->index->move, id, row);
	sqlite3_db_config(db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0, NULL);
	return r;
}

static int entry_mend(struct mending *m, int64_t id)
{
	const int64_t at[] = {m->place[0], m->place[1], id};
	int64_t entry[COLUMNS_MOST], row[COLUMNS_MOST];
	int r = columns_read(m, m->index->entry, at, 3, entry);

	if (r != STATEMENT_ROW)
		return r;
	r = columns_read(m, m->index->row, &id, 1, row);
	if (r != 0 && r != STATEMENT_ROW)
		return r;
	if (r == STATEMENT_ROW && memcmp(entry, row, m->index->n * sizeof(*row)) == 0)
		return 0;
	m->mended = true;
	return r == 0 ? columns_write(m, m->index->fill, id, entry) : entry_replace(m, id, entry, row);
}

int index_entries_mend(struct archive_writer *w, int64_t stream, uint64_t sequence, int64_t capture, bool *mended)
{
	struct mending m = {.w = w, .index = &by_position, .place = {stream, (int64_t)sequence}};
	int r;

	if (capture)
		m = (struct mending){.w = w, .index = &by_capture, .place = {capture, stream}};
	r = list(&m);
	for (size_t i = 0; i < m.n && r == 0; i++)
		r = entry_mend(&m, m.ids[i]);
	free(m.ids);
	*mended = m.mended;
	return r;
}
