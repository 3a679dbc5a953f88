/* The SQL function by which statements ask which guests a reader shows. */
#include <stddef.h>

#include "view.h"

static void on_sees(sqlite3_context *call, int n, sqlite3_value **values)
{
	const struct view *view = sqlite3_user_data(call);

	(void)n;
	sqlite3_result_int(call, !view->sees || view->sees(view->context, (const char *)sqlite3_value_text(values[0])));
}

int view_register(sqlite3 *db, struct view *view)
{
	return sqlite3_create_function(db, "sees", 1, SQLITE_UTF8 | SQLITE_DIRECTONLY, view, on_sees, NULL, NULL);
}
