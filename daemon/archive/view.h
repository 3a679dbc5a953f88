/*
 * A view: which guests a reader shows.
 *
 * Each statement of a reader that finds runs, captures or recordings asks the view about the name
 * that the row has, so a hidden row is the same as no row: it costs the same statements, is in no
 * list and in no count. Statements that take the id of a stream do not ask: their caller has found
 * the stream's run before.
 */
#ifndef ARCHIVE_VIEW_H
#define ARCHIVE_VIEW_H

#include <sqlite3.h>
#include <stdbool.h>

struct view {
	/*
	 * Return whether rows of the guest NAME are shown; NULL = a recording of an unknown guest. SEES
	 * itself is NULL in a view of everything.
	 */
	bool (*sees)(const void *context, const char *name);
	const void *context; /* borrowed as long as the view is in use */
};

/*
 * Give DB the SQL function sees(name), which asks *VIEW. VIEW is borrowed until DB is closed, and
 * may be changed between statements. Return SQLite's result.
 */
int view_register(sqlite3 *db, struct view *view);

#endif
