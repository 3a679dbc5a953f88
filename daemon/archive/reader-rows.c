/*
 * Check the rows of runs, streams, gaps and captures as they are read.
 *
 * Views of the connection hide these tables from the reader's statements: each row is compared with its checksum, and a
 * damaged one ends the statement (ARCHIVE_E_DAMAGED). So no answer rests on a row that the disk changed. mprofd is told,
 * and declares what is lost.
 */
#include <string.h>

#include "array.h"
#include "reader-state.h"
#include "row-sum.h"

#define TABLE(name) {name, "SELECT unchecked FROM main.row_sums WHERE name = '" name "'"}

static const struct table {
	const char *name;
	const char *unchecked; /* query of the largest identifier of rows that may lack a checksum */
} tables[] = {TABLE("runs"), TABLE("streams"), TABLE("gaps"), TABLE("captures")};

/* Return whether the row ID of T may lack a checksum: a version wrote it that knew none. */
static bool may_lack(sqlite3 *db, const struct table *t, int64_t id)
{
	int64_t unchecked = 0;

	return database_number(db, t->unchecked, &unchecked) == 0 && id <= unchecked;
}

/* The SQL function row_holds(table, checksum, id, ...), whose first argument is an index of tables[]: 1, or an error if the row is damaged. */
static void holds(sqlite3_context *context, int n, sqlite3_value **values)
{
	struct reader *r = sqlite3_user_data(context);
	sqlite3_int64 index = n < 3 ? -1 : sqlite3_value_int64(values[0]), id;
	uint8_t sum[CHECKSUM_BYTES];
	const struct table *t;
	bool holds;

	if (index < 0 || index >= (sqlite3_int64)ARRAY_SIZE(tables)) {
		sqlite3_result_error(context, "row_holds() has other arguments", -1);
		return;
	}
	t = &tables[index];
	id = sqlite3_value_int64(values[2]);
	if (sqlite3_value_type(values[1]) == SQLITE_NULL) {
		holds = may_lack(r->db, t, id);
	} else {
		if (!row_sum(n - 2, values + 2, sum)) {
			sqlite3_result_error_nomem(context);
			return;
		}
		holds = sqlite3_value_bytes(values[1]) == (int)sizeof(sum) &&
			memcmp(sqlite3_value_blob(values[1]), sum, sizeof(sum)) == 0;
	}
	if (holds) {
		sqlite3_result_int(context, 1);
		return;
	}
	r->met_row = r->met_damage = true;
	r->damage = (struct reader_damage){.table = t->name, .sequence = (uint64_t)id};
	sqlite3_result_error(context, "a row is damaged", -1);
}

/*
 * The function stands in a query of its own: SQLite puts a constant with which a statement compares a column into the other terms of its
 * WHERE, so the function would get that constant in place of the column of rows that differ.
 */
#define VIEW(number, name, columns)                                                                \
	"CREATE TEMP VIEW " name " AS SELECT * FROM main." name " WHERE (SELECT row_holds(" number \
	", checksum, " columns "));"

/* The views are temporary, so they may call a function that no object of the file may call. */
int reader_rows_define(struct reader *r)
{
	int rc = sqlite3_create_function_v2(r->db, "row_holds", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, r, holds, NULL,
					    NULL, NULL);

	return rc != SQLITE_OK
		       ? rc
		       : sqlite3_exec(r->db,
				      VIEW("0", "runs", RUNS_SUMMED) VIEW("1", "streams", STREAMS_SUMMED)
					      VIEW("2", "gaps", GAPS_SUMMED) VIEW("3", "captures", CAPTURES_SUMMED),
				      NULL, NULL, NULL);
}
