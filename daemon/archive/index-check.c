/* Compare the indexes of the small tables with their rows, and make them anew. */
#include "index-check.h"

#include <errno.h>
#include <string.h>

#include "array.h"
#include "writer-state.h"

static const struct index_of {
	const char *table, *name;
	const char *
		all; /* how SQLite comes to read the rows themselves; in a table WITHOUT ROWID they are in the index of its key */
	const char *column; /* a column of it that is never NULL */
	const char *same;   /* condition: the entry i is that of the row t */
	const char *rows;   /* condition of the rows that it has */
} indexes[] = {
	{"gaps", "gaps_by_position", "NOT INDEXED", "stream",
	 "i.stream IS t.stream AND i.after_sequence IS t.after_sequence AND i.id = t.id", "1"},
	{"captures", "captures_by_run", "NOT INDEXED", "run", "i.run IS t.run AND i.id = t.id", "1"},
	{"captures", "captures_unread", "NOT INDEXED", "kind", "i.id = t.id", "kind = '" ARCHIVE_UNREAD "'"},
	{"capture_streams", "capture_streams_by_stream", "INDEXED BY sqlite_autoindex_capture_streams_1", "stream",
	 "i.stream IS t.stream AND i.capture IS t.capture", "1"},
	/* That of UNIQUE (run, number). */
	{"streams", "sqlite_autoindex_streams_1", "NOT INDEXED", "run",
	 "i.run IS t.run AND i.number IS t.number AND i.id = t.id", "1"},
	{"runs", "runs_by_name", "NOT INDEXED", "name", "i.name IS t.name AND i.id = t.id", "1"},
	{"runs", "runs_by_uuid", "NOT INDEXED", "uuid", "i.uuid IS t.uuid AND i.id = t.id", "uuid IS NOT NULL"},
};

/* Set *DIFFERS to whether index I lacks the entry of a row, or has one that is no row's. */
static int compare(sqlite3 *db, const struct index_of *i, int64_t *differs)
{
	char *sql = sqlite3_mprintf(
		"SELECT (SELECT count(%s) FROM %s INDEXED BY %s WHERE %s) <> (SELECT count(%s) FROM %s %s WHERE %s)"
		" OR EXISTS (SELECT 1 FROM %s t %s WHERE %s AND NOT EXISTS (SELECT 1 FROM %s i INDEXED BY %s WHERE %s "
		"AND %s))",
		i->column, i->table, i->name, i->rows, i->column, i->table, i->all, i->rows, i->table, i->all, i->rows,
		i->table, i->name, i->rows, i->same);
	int r = sql ? database_number(db, sql, differs) : -ENOMEM;

	sqlite3_free(sql);
	return r;
}

static int make_anew(struct archive_writer *w, const char *table)
{
	bool is_mine;
	int r = writer_enter(w, &is_mine);

	if (r != 0)
		return r;
	r = writer_leave(w, is_mine, database_run_made(w->store.db, sqlite3_mprintf("REINDEX main.%s", table)));
	if (r == 0)
		log_write_limited(&w->damage_lines, LOG_LEVEL_WARNING, NULL,
				  "Indexes of the archive did not agree with its rows, and are made anew: table=%s",
				  table);
	return r;
}

int index_check(struct archive_writer *w, const char *table)
{
	int64_t differs = 0;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(indexes) && r == 0 && !differs; i++)
		if (strcmp(indexes[i].table, table) == 0)
			r = compare(w->store.db, &indexes[i], &differs);
	if (r == -EBADMSG || (r == 0 && differs))
		r = make_anew(w, table);
	/* No row is lost, and what needs this index says so itself. */
	if (r != -EBADMSG && r != ARCHIVE_E_ABSENT)
		return r;
	log_write_limited(
		&w->failure_lines, LOG_LEVEL_ERROR, NULL,
		"Indexes of the archive are damaged, and cannot be made anew; mprofd --fsck saves what is whole: "
		"table=%s",
		table);
	return 0;
}
