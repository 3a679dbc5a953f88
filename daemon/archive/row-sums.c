/*
 * Keep and check the checksums of runs, streams, gaps and captures.
 *
 * Triggers of the writer's connection keep the checksum of each row, and the number of rows, in step with every statement
 * of the writer. Whoever else changes a table has no triggers, and so leaves a wrong checksum or number. A row that was
 * wrong before a change stays wrong until a check has declared that.
 */
#include "row-sums.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "clock.h"
#include "index-check.h"
#include "json-syntax.h"
#include "memory-stream.h"
#include "row-sum.h"
#include "writer-state.h"

/* ---- the tables ------------------------------------------------------------------------------ */

#define PART_ROWS   4096	    /* rows that one step checks */
#define SLACK_NS    (60 * NS_PER_S) /* a run's stamp is of CLOCK_REALTIME alone, which may have been adjusted */
#define CONTEXT_SUM "row_checksum(" CONTEXT_SUMMED ")"
/*
 * A damaged capture gets the run of its streams, so only readers of that guest see it. Without streams its run may be that
 * of another guest: it keeps no text.
 */
#define RUN_OF_STREAMS                                                                              \
	"(SELECT run FROM streams WHERE id IN (SELECT stream FROM capture_streams WHERE capture = " \
	"captures.id) AND checksum IS row_checksum(" STREAMS_SUMMED ") LIMIT 1)"
#define CAPTURE_RUN_KNOWN "(checksum IS row_checksum(" CAPTURES_SUMMED ") OR " RUN_OF_STREAMS " IS NOT NULL)"
/* The same for a damaged stream, and its captures. */
#define RUN_OF_CAPTURES                                                                              \
	"(SELECT run FROM captures WHERE id IN (SELECT capture FROM capture_streams WHERE stream = " \
	"streams.id) AND checksum IS row_checksum(" CAPTURES_SUMMED ") LIMIT 1)"

/* Statement that gives the damaged rows of TABLE the RUN that others say. */
#define RUN_SET(table, run) \
	"UPDATE OR IGNORE " table " SET run = " run " WHERE id IN (SELECT id FROM temp.damaged) AND " run " <> run;"

/* Columns of the nearest undamaged capture before a damaged one, and behind it. */
#define BEFORE(columns) BESIDE(columns, "<", "DESC")
#define BEHIND(columns) BESIDE(columns, ">", "ASC")
#define BESIDE(columns, sign, order)                           \
	"(SELECT " columns " FROM captures b WHERE b.id " sign \
	" captures.id AND b.checksum IS row_checksum(" CAPTURES_SUMMED ") ORDER BY b.id " order " LIMIT 1)"

struct table {
	const char *name;
	const char *columns; /* that the checksum covers, separated by ", " */
	const char *added;   /* statement on a new row, before its checksum is made */
	const char *wrong;   /* further condition of a damaged row, behind OR */
	const char *
		lacking; /* query of the captures that are not complete if the rows in temp.damaged are damaged; NULL = none */
	const char *run; /* statement that gives the rows in temp.damaged the run that other rows say; NULL = none */
	/* Statements that declare the rows in temp.damaged, the last one each of them. The rows that stay get new checksums after them. */
	const char *declare;
};

static const struct table tables[] = {
	{
		.name = "gaps",
		.columns = GAPS_SUMMED,
		.added = "",
		.wrong = "",
		.declare = "DELETE FROM gaps WHERE id IN (SELECT id FROM temp.damaged);",
	},
	{
		.name = "captures",
		.columns = CAPTURES_SUMMED,
		.added = "UPDATE captures SET context_checksum = " CONTEXT_SUM " WHERE id = NEW.id;",
		.wrong = " OR context_checksum IS NOT " CONTEXT_SUM,
		.lacking = "SELECT id FROM temp.damaged",
		.run = RUN_SET("captures", RUN_OF_STREAMS),
		.declare = "UPDATE captures SET"
			   " kind = CASE WHEN kind IN ('crash', 'watchdog', 'poweroff', 'reboot', 'suspend', "
			   "'destroyed', 'ended', 'periodic', 'manual', 'trigger', '" ARCHIVE_UNREAD
			   "') THEN kind ELSE 'ended' END,"
			   " marks = CASE WHEN json_is_right(marks) AND " CAPTURE_RUN_KNOWN " THEN marks ELSE '[]' END,"
			   " note = CASE WHEN " CAPTURE_RUN_KNOWN " THEN coalesce(note, '') ELSE '' END,"
			   " context = CASE WHEN context_checksum IS " CONTEXT_SUM " AND " CAPTURE_RUN_KNOWN
			   " THEN context END"
			   " WHERE id IN (SELECT id FROM temp.damaged);"
			   "UPDATE captures SET context_checksum = " CONTEXT_SUM
			   " WHERE id IN (SELECT id FROM temp.damaged);",
	},
	{
		.name = "streams",
		.columns = STREAMS_SUMMED,
		.added = "",
		.wrong = "",
		.lacking = "SELECT capture FROM capture_streams WHERE stream IN (SELECT id FROM temp.damaged)",
		.run = RUN_SET("streams", RUN_OF_CAPTURES),
		/*
		 * A stream begins and ends at packets that it has, or that a capture names. If a capture ends before the first
		 * byte of a packet, the stream need not have that packet.
		 */
		.declare = "UPDATE streams SET held = NULL,"
			   " oldest = (SELECT min(n) FROM (SELECT min(sequence) AS n FROM chunks WHERE stream = "
			   "streams.id UNION ALL SELECT min(first_sequence) FROM capture_streams WHERE stream = "
			   "streams.id)),"
			   " newest = (SELECT max(n) FROM (SELECT max(sequence) AS n FROM chunks WHERE stream = "
			   "streams.id UNION ALL SELECT max(last_sequence - (last_offset <= 30)) FROM "
			   "capture_streams WHERE stream = streams.id))"
			   " WHERE id IN (SELECT id FROM temp.damaged);",
	},
	{
		.name = "runs",
		.columns = RUNS_SUMMED,
		.added = "",
		.wrong = "",
		.declare = "UPDATE runs SET name = 'saved-' || id, uuid = NULL,"
			   " state = CASE WHEN state IN ('running', 'suspended', 'ended') THEN state ELSE 'ended' END,"
			   " source = CASE WHEN source = 'xen' THEN source ELSE 'dir' END,"
			   " key = coalesce(key, 'saved-' || id) WHERE id IN (SELECT id FROM temp.damaged);",
	},
};

/* Read the number in the first row of SQL, which sqlite3_mprintf() made, into *VALUE, and free SQL. Return 0 or an error. */
static int number(sqlite3 *db, int64_t *value, char *sql)
{
	int r = sql ? database_number(db, sql, value) : -ENOMEM;

	sqlite3_free(sql);
	return r;
}

/* ---- triggers -------------------------------------------------------------------------------- */

/* Return COLUMNS with "OLD." before each, to be freed. Return NULL without memory. */
static char *of_old_row(const char *columns)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	for (const char *at = columns; *at;) {
		size_t length = strcspn(at, ",");

		fprintf(f, "OLD.%.*s%s", (int)length, at, at[length] ? ", " : "");
		at += length + strspn(at + length, ", ");
	}
	if (!memory_stream_close(f, &text)) {
		free(text);
		return NULL;
	}
	return text;
}

/* Make the triggers that keep the checksums of T and the number of its rows. */
static int keep(sqlite3 *db, const struct table *t)
{
	CLEANUP(freep) char *old = of_old_row(t->columns);
	int r;

	if (!old)
		return -ENOMEM;
	r = database_run_made(db, sqlite3_mprintf("CREATE TEMP TRIGGER %s_added AFTER INSERT ON main.%s BEGIN %s"
						  " UPDATE %s SET checksum = row_checksum(%s) WHERE id = NEW.id;"
						  " UPDATE row_sums SET held = held + 1 WHERE name = '%s'; END;",
						  t->name, t->name, t->added, t->name, t->columns, t->name));
	if (r == 0)
		r = database_run_made(
			db, sqlite3_mprintf("CREATE TEMP TRIGGER %s_changed AFTER UPDATE OF %s ON main.%s"
					    " WHEN OLD.checksum IS row_checksum(%s) BEGIN"
					    " UPDATE %s SET checksum = row_checksum(%s) WHERE id = NEW.id; END;",
					    t->name, t->columns, t->name, old, t->name, t->columns));
	if (r == 0)
		r = database_run_made(db,
				      sqlite3_mprintf("CREATE TEMP TRIGGER %s_gone AFTER DELETE ON main.%s BEGIN"
						      " UPDATE row_sums SET held = held - 1 WHERE name = '%s'; END;",
						      t->name, t->name, t->name));
	return r;
}

/* Give checksums to the rows of T of a version that knew none, and a number of rows if T has none. */
static int fill(sqlite3 *db, const struct table *t)
{
	return database_run_made(
		db, sqlite3_mprintf(
			    "INSERT OR IGNORE INTO row_sums (name, held, unchecked) SELECT '%s', count(*), 0 FROM %s;"
			    "UPDATE %s SET checksum = row_checksum(%s)"
			    " WHERE checksum IS NULL AND id <= (SELECT unchecked FROM row_sums WHERE name = '%s');"
			    "UPDATE row_sums SET unchecked = 0 WHERE name = '%s' AND unchecked <> 0;",
			    t->name, t->name, t->name, t->columns, t->name, t->name));
}

static const char context_kept[] =
	"CREATE TEMP TRIGGER captures_context AFTER UPDATE OF context ON main.captures"
	" WHEN OLD.context_checksum IS row_checksum(OLD.id, OLD.context) BEGIN"
	" UPDATE captures SET context_checksum = " CONTEXT_SUM " WHERE id = NEW.id; END;"
	"UPDATE captures SET context_checksum = " CONTEXT_SUM
	" WHERE checksum IS NULL AND id <= (SELECT unchecked FROM row_sums WHERE name = 'captures');";

/* SQL function: return whether a reader of the archive can parse a value. json_valid() takes more, for example any bytes in strings. */
static void json_is_right(sqlite3_context *context, int n, sqlite3_value **values)
{
	const char *text = (const char *)sqlite3_value_text(values[0]);

	(void)n;
	sqlite3_result_int(context, text && json_syntax_is_right(text, (size_t)sqlite3_value_bytes(values[0])));
}

int row_sums_open(struct archive_writer *w)
{
	sqlite3 *db = w->store.db;
	int r = database_error(db, row_sum_define(db));

	if (r == 0)
		r = database_error(db, sqlite3_create_function_v2(db, "json_is_right", 1, SQLITE_UTF8, NULL,
								  json_is_right, NULL, NULL, NULL));
	if (r == 0)
		r = database_run(db, "CREATE TEMP TABLE damaged (id INTEGER PRIMARY KEY);"
				     "CREATE TEMP TABLE lacking (id INTEGER PRIMARY KEY);");
	for (size_t i = 0; i < ARRAY_SIZE(tables) && r == 0; i++)
		r = keep(db, &tables[i]);
	if (r == 0)
		r = database_run(db, context_kept);
	for (size_t i = 0; i < ARRAY_SIZE(tables) && r == 0; i++)
		r = fill(db, &tables[i]);
	return r;
}

/* ---- the check ------------------------------------------------------------------------------- */

/* Note that the captures that QUERY finds may lack something. */
static int mark_captures(struct archive_writer *w, const char *query)
{
	sqlite3 *db = w->store.db;
	int64_t id = 0;
	int r = database_run_made(
		db, sqlite3_mprintf("DELETE FROM temp.lacking; INSERT OR IGNORE INTO temp.lacking %s;", query));

	while (r == 0) {
		r = database_number(db, "SELECT coalesce(min(id), 0) FROM temp.lacking", &id);
		if (r != 0 || id == 0)
			break;
		r = list_lack(w, id);
		if (r == 0)
			r = database_run_made(
				db, sqlite3_mprintf("DELETE FROM temp.lacking WHERE id = %lld;", (long long)id));
	}
	return r;
}

/*
 * The stamps of a damaged capture may be wrong, and by them it is deleted. Captures are made one after the other. So it is not older than the one
 * before it, or than its run if that is undamaged, nor newer than the one behind it, or than now. Stamps that say so become those of the one behind it, or the current
 * ones: no false stamp deletes a capture early, or keeps it and all behind it for ever.
 */
static int bound_stamps(struct archive_writer *w)
{
	const struct moment now = moment_now();
	/* A stamp in the future has the current age. */
	const int64_t age = w->age.n ? w->age.now - 1 : (int64_t)now.real;

	return database_run_made(
		w->store.db,
		sqlite3_mprintf(
			"UPDATE captures SET real = coalesce(" BEHIND("real") ", %lld), mono = coalesce(" BEHIND(
				"mono") ", %lld) WHERE id IN (SELECT id FROM temp.damaged) AND age_at(mono, real) NOT "
					"BETWEEN "
					"coalesce(" BEFORE(
						"age_at(mono, real)") ", (SELECT age_at_real(began_real) - %lld "
								      "FROM runs WHERE id = captures.run AND checksum "
								      "IS row_checksum(" RUNS_SUMMED ")), 0) AND "
								      "coalesce(" BEHIND(
									      "age_at(mono, real)") ", %lld);",
			(long long)now.real, (long long)now.mono, (long long)SLACK_NS, (long long)age));
}

/*
 * Run T's statements, and set *N to the number of rows that they found. The indexes still have what the damaged columns were
 * before. While the schema is writable, SQLite goes on if it does not find the entry that a statement replaces. The
 * indexes are then made anew; that fails only if a damaged number of a stream is that of another one.
 */
static int run_declaration(struct archive_writer *w, const struct table *t, int64_t *n)
{
	sqlite3 *db = w->store.db;
	int r = database_error(db, sqlite3_db_config(db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, NULL));

	if (r == 0 && t->run)
		r = database_run(db, t->run);
	if (r == 0 && strcmp(t->name, "captures") == 0)
		r = bound_stamps(w);
	if (r == 0)
		r = database_run(db, t->declare);
	*n = sqlite3_changes(db);
	sqlite3_db_config(db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0, NULL);
	if (r != 0)
		return r;
	r = database_run_made(db, sqlite3_mprintf("REINDEX main.%s", t->name));
	return r == ARCHIVE_E_ABSENT ? 0 : r;
}

/* Declare the rows of T in temp.damaged, and set *N to their number: a row whose identifier was damaged is not found by it. */
static int declare(struct archive_writer *w, const struct table *t, int64_t *n)
{
	int r = t->lacking ? mark_captures(w, t->lacking) : 0;

	if (r == 0)
		r = run_declaration(w, t, n);
	return r ? r
		 : database_run_made(w->store.db, sqlite3_mprintf("UPDATE %s SET checksum = row_checksum(%s) WHERE id "
								  "IN (SELECT id FROM temp.damaged);",
								  t->name, t->columns));
}

/*
 * Note that BAD rows of T, which are in temp.damaged, are damaged, and that MISSING are lost, or -MISSING too many. Log it if
 * some of the BAD rows cannot be declared.
 */
static int note(struct archive_writer *w, const struct table *t, int64_t bad, int64_t missing)
{
	int64_t lost = missing > 0 ? missing : 0, declared = 0;
	bool is_mine;
	int r = writer_enter(w, &is_mine);

	if (r != 0)
		return r;
	r = database_run_made(w->store.db,
			      sqlite3_mprintf("UPDATE row_sums SET damaged = damaged + %lld, lost = lost + %lld, held "
					      "= held - %lld WHERE name = "
					      "'%s';",
					      (long long)bad, (long long)lost, (long long)missing, t->name));
	if (r == 0 && bad)
		r = declare(w, t, &declared);
	if (r == 0 && bad + lost && strcmp(t->name, "gaps") == 0)
		r = losses_declare(w);
	r = writer_leave(w, is_mine, r);
	if (r != 0 || bad + lost == 0)
		return r;
	if (declared < bad)
		log_write_limited(&w->failure_lines, LOG_LEVEL_ERROR, NULL,
				  "Damaged rows of the archive cannot be declared; mprofd --fsck saves what is whole: "
				  "table=%s rows=%" PRId64,
				  t->name, bad - declared);
	w->damage.pieces += (uint64_t)(bad + lost);
	log_write_limited(&w->damage_lines, LOG_LEVEL_WARNING, NULL,
			  "Rows of the archive were damaged or lost on the disk: table=%s damaged=%" PRId64
			  " lost=%" PRId64,
			  t->name, bad, lost);
	return 0;
}

/* Find the damaged rows of T with identifiers above AFTER, up to LAST: store them in temp.damaged, and their number in *BAD. */
static int find(struct archive_writer *w, const struct table *t, int64_t after, int64_t last, int64_t *bad)
{
	sqlite3 *db = w->store.db;
	int r = database_run_made(
		db, sqlite3_mprintf("DELETE FROM temp.damaged; INSERT INTO temp.damaged SELECT id FROM %s"
				    " WHERE id > %lld AND id <= %lld AND (checksum IS NOT row_checksum(%s)%s);",
				    t->name, (long long)after, (long long)last, t->columns, t->wrong));

	return r ? r : database_number(db, "SELECT count(*) FROM temp.damaged", bad);
}

/*
 * Check the rows of T with identifiers above AFTER, up to LAST; INT64_MAX = to the last row, and then the indexes and the number of rows. HAS_RANGES:
 * the index of the captures' ranges was compared already.
 */
static int check_part(struct archive_writer *w, const struct table *t, int64_t after, int64_t last, bool has_ranges)
{
	int64_t bad = 0, missing = 0;
	int r = find(w, t, after, last, &bad);

	/* Declaring damaged rows makes the indexes anew. */
	if (r == 0 && last == INT64_MAX && !bad)
		r = index_check(w, t->name);
	if (r == 0 && last == INT64_MAX && !has_ranges && strcmp(t->name, "captures") == 0)
		r = index_check(w, "capture_streams");
	if (r == 0 && last == INT64_MAX)
		r = number(
			w->store.db, &missing,
			sqlite3_mprintf(
				"SELECT held - (SELECT count(*) FROM %s NOT INDEXED) FROM row_sums WHERE name = '%s'",
				t->name, t->name));
	return r == 0 && (bad || missing) ? note(w, t, bad, missing) : r;
}

int row_sums_step(struct archive_writer *w, struct row_walk *walk)
{
	const struct table *t = &tables[walk->table];
	int64_t last = INT64_MAX;
	int r = number(w->store.db, &last,
		       sqlite3_mprintf("SELECT id FROM %s WHERE id > %lld ORDER BY id LIMIT 1 OFFSET %d", t->name,
				       (long long)walk->after, PART_ROWS - 1));

	if (r == 0)
		r = check_part(w, t, walk->after, last, walk->has_ranges);
	walk->after = last;
	if (r != 0 || last == INT64_MAX) {
		walk->after = 0;
		walk->table = (walk->table + 1) % ARRAY_SIZE(tables);
	}
	return r;
}

int row_sums_check_row(struct archive_writer *w, const char *name, int64_t id, bool *damaged)
{
	*damaged = false;
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		int64_t bad = 0;
		int r;

		if (strcmp(tables[i].name, name) != 0)
			continue;
		r = find(w, &tables[i], id - 1, id, &bad);
		*damaged = r == 0 && bad;
		return *damaged ? note(w, &tables[i], bad, 0) : r;
	}
	return ARCHIVE_E_ABSENT;
}

int row_sums_check(struct archive_writer *w)
{
	struct row_walk walk = {.has_ranges = true};
	int r;

	do
		r = row_sums_step(w, &walk);
	while (r == 0 && row_walk_goes_on(&walk));
	return r;
}
