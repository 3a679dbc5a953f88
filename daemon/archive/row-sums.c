/*
 * Keep and check the checksums of runs, streams, gaps and captures.
 *
 * Triggers of the writer's connection keep the checksum of each row, and the number of rows, in step with every statement
 * of the writer. Whoever else changes a table has no triggers, and so leaves a wrong checksum or number. A row that was
 * wrong before a change stays wrong until row_sums_check() has declared that.
 */
#include "row-sums.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "codec.h"
#include "writer-state.h"

#include <mprof/bytes.h>

/* ---- the function row_checksum() of SQL ------------------------------------------------------ */

/* Return how many bytes VALUE has in the data of a checksum. */
static size_t packed_bytes(sqlite3_value *value)
{
	switch (sqlite3_value_type(value)) {
	case SQLITE_INTEGER:
		return 9;
	case SQLITE_NULL:
		return 1;
	default:
		(void)sqlite3_value_text(value);
		return (size_t)sqlite3_value_bytes(value) + 2;
	}
}

/* Write VALUE to OUT, of packed_bytes() bytes. Return false without memory. */
static bool pack(sqlite3_value *value, size_t bytes, uint8_t *out)
{
	const void *text;

	switch (sqlite3_value_type(value)) {
	case SQLITE_INTEGER:
		out[0] = 1;
		mprof_store64(out + 1, (uint64_t)sqlite3_value_int64(value));
		return true;
	case SQLITE_NULL:
		out[0] = 0;
		return true;
	default:
		text = sqlite3_value_text(value);
		if (!text)
			return false;
		out[0] = 2;
		memcpy(out + 1, text, bytes - 2);
		out[bytes - 1] = 0;
		return true;
	}
}

static void compute(sqlite3_context *context, int n, sqlite3_value **values)
{
	CLEANUP(freep) uint8_t *data = NULL;
	struct checksum_row row = {.n = 0};
	uint8_t sum[CHECKSUM_BYTES];
	size_t bytes = 0, at = 0;

	for (int i = 0; i < n; i++)
		bytes += packed_bytes(values[i]);
	data = malloc(bytes + 1);
	for (int i = 0; data && i < n; i++) {
		size_t more = packed_bytes(values[i]);

		if (!pack(values[i], more, data + at))
			break;
		at += more;
	}
	if (!data || at < bytes) {
		sqlite3_result_error_nomem(context);
		return;
	}
	row.data = data;
	row.data_bytes = bytes;
	checksum_make(&row, sum);
	sqlite3_result_blob(context, sum, sizeof(sum), SQLITE_TRANSIENT);
}

/* ---- triggers -------------------------------------------------------------------------------- */

/* The columns that a checksum covers; T is "" or "OLD.". */
#define RUN_ROW(t)                                                                                       \
	t "id, " t "source, " t "key, " t "name, " t "uuid, " t "domid, " t "state, " t "began_real, " t \
	  "ended_real, " t "reason"
#define STREAM_ROW(t)                                                                                              \
	t "id, " t "run, " t "number, " t "name, " t "ring_bytes, " t "ring_packets, " t "flags, " t "packets, " t \
	  "bytes, " t "lost_packets, " t "skipped_packets, " t "deletions, " t "last_seen_real, " t "oldest, " t   \
	  "newest, " t "held, " t "damaged_packets"
#define GAP_ROW(t)                                                                                                  \
	t "id, " t "stream, " t "kind, " t "reason, " t "after_sequence, " t "after_offset, " t "next_sequence, " t \
	  "packets, " t "at_least, " t "real, " t "mono"
#define CAPTURE_ROW(t)                                                                                          \
	t "id, " t "run, " t "kind, " t "real, " t "mono, " t "pinned, " t "note, " t "marks, " t "version, " t \
	  "context_checksum"
#define CONTEXT(t) t "id, " t "context"

#define SUM(row)	     "row_checksum(" row ")"
#define HOLDS(row)	     "checksum IS " SUM(row)
#define RESUM(t, row, where) "UPDATE " t " SET checksum = " SUM(row) " WHERE " where ";"
#define COUNT(t, change)     "UPDATE row_sums SET held = held " change " WHERE name = '" t "';"

/* The triggers of table T, whose columns are ROW. FIRST runs before the checksum of a new row is made. */
#define KEEP(t, row, first)                                                                                         \
	"CREATE TEMP TRIGGER " t "_added AFTER INSERT ON main." t " BEGIN " first RESUM(t, row(""), "id = NEW.id")  \
		COUNT(t, "+ 1") " END;"                                                                             \
				"CREATE TEMP TRIGGER " t                                                            \
				"_changed AFTER UPDATE OF " row("") " ON main." t " WHEN OLD.checksum IS " SUM(     \
					row("OLD.")) " BEGIN " RESUM(t, row(""),                                    \
								     "id = NEW.id") " END;"                         \
										    "CREATE TEMP TRIGGER " t        \
										    "_gone AFTER DELETE ON main." t \
										    " BEGIN " COUNT(t, "- 1") " END;"
#define CONTEXT_RESUM "UPDATE captures SET context_checksum = " SUM(CONTEXT("")) " WHERE id = NEW.id;"

static const char *const keep_sums[] = {
	KEEP("runs", RUN_ROW, ""),
	KEEP("streams", STREAM_ROW, ""),
	KEEP("gaps", GAP_ROW, ""),
	KEEP("captures", CAPTURE_ROW, CONTEXT_RESUM),
	"CREATE TEMP TRIGGER captures_context AFTER UPDATE OF context ON main.captures"
	" WHEN OLD.context_checksum IS " SUM(CONTEXT("OLD.")) " BEGIN " CONTEXT_RESUM " END;",
};

/* Give checksums to the rows of a version that knew none, and a number of rows to tables that lack one. */
#define UNCHECKED(t) "checksum IS NULL AND id <= (SELECT unchecked FROM row_sums WHERE name = '" t "')"
#define NUMBER(t)    "INSERT OR IGNORE INTO row_sums (name, held, unchecked) SELECT '" t "', count(*), 0 FROM " t ";"
static const char add_sums[] = NUMBER("runs") NUMBER("streams") NUMBER("gaps") NUMBER("captures") RESUM(
	"runs", RUN_ROW(""), UNCHECKED("runs")) RESUM("streams", STREAM_ROW(""), UNCHECKED("streams"))
	RESUM("gaps", GAP_ROW(""), UNCHECKED("gaps")) "UPDATE captures SET context_checksum = " SUM(CONTEXT(
		"")) " WHERE " UNCHECKED("captures") ";" RESUM("captures", CAPTURE_ROW(""),
							       UNCHECKED("captures")) "UPDATE row_sums SET unchecked = "
										      "0 WHERE unchecked <> 0;";

int row_sums_open(struct archive_writer *w)
{
	sqlite3 *db = w->store.db;
	int r = database_error(db, sqlite3_create_function_v2(db, "row_checksum", -1,
							      SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
							      NULL, compute, NULL, NULL, NULL));

	for (size_t i = 0; i < ARRAY_SIZE(keep_sums) && r == 0; i++)
		r = database_run(db, keep_sums[i]);
	return r ? r : database_run(db, add_sums);
}

/* ---- the check ------------------------------------------------------------------------------- */

#define BAD(t, row) "SELECT count(*) FROM " t " WHERE NOT (" HOLDS(row("")) ")"
#define MISSING(t)  "SELECT held - (SELECT count(*) FROM " t ") FROM row_sums WHERE name = '" t "'"

/* Where a stream must begin or end: at a packet that it has, or that a capture names. */
#define EDGE(f, column)                                                                                      \
	"(SELECT " f "(n) FROM (SELECT " f "(sequence) AS n FROM chunks WHERE stream = streams.id UNION ALL" \
	" SELECT " f "(" column ") FROM capture_streams WHERE stream = streams.id))"

struct table {
	const char *name;
	const char *bad, *missing;
	/* What declares damaged rows, and gives the rows that stay new checksums. */
	const char *declare;
};

static const struct table tables[] = {
	{"gaps", BAD("gaps", GAP_ROW), MISSING("gaps"), "DELETE FROM gaps WHERE NOT (" HOLDS(GAP_ROW("")) ");"},
	{"captures", BAD("captures", CAPTURE_ROW) " OR context_checksum IS NOT " SUM(CONTEXT("")), MISSING("captures"),
	 "UPDATE captures SET kind = CASE WHEN kind IN ('crash', 'watchdog', 'poweroff', 'reboot', 'suspend', "
	 "'destroyed',"
	 " 'ended', 'periodic', 'manual', 'trigger') THEN kind ELSE 'ended' END, marks = CASE WHEN json_valid(marks) "
	 "THEN"
	 " marks ELSE '[]' END, note = coalesce(note, ''), context = CASE WHEN context_checksum IS " SUM(CONTEXT(
		 "")) " THEN context END WHERE id IN (SELECT id FROM temp.damaged);"
		      "UPDATE captures SET context_checksum = " SUM(CONTEXT(
			      "")) " WHERE id IN (SELECT id FROM temp.damaged);" RESUM("captures", CAPTURE_ROW(""),
										       "id IN (SELECT id FROM "
										       "temp.damaged)")},
	{"streams", BAD("streams", STREAM_ROW), MISSING("streams"),
	 "UPDATE streams SET held = NULL, oldest = " EDGE("min", "first_sequence") ", newest = " EDGE(
		 "max",
		 "last_sequence") " WHERE NOT (" HOLDS(STREAM_ROW("")) ");" RESUM("streams", STREAM_ROW(""),
										  "NOT (" HOLDS(STREAM_ROW("")) ")")},
	{"runs", BAD("runs", RUN_ROW), MISSING("runs"),
	 "UPDATE runs SET name = 'saved-' || id, uuid = NULL, state = CASE WHEN state IN ('running', 'suspended', "
	 "'ended')"
	 " THEN state ELSE 'ended' END, source = CASE WHEN source = 'xen' THEN source ELSE 'dir' END,"
	 " key = coalesce(key, 'saved-' || id) WHERE NOT (" HOLDS(RUN_ROW("")) ");" RESUM(
		 "runs", RUN_ROW(""), "NOT (" HOLDS(RUN_ROW("")) ")")},
};

/* The captures that are not complete any more: damaged ones, and those of damaged streams. */
static const char find_captures[] =
	"CREATE TEMP TABLE IF NOT EXISTS damaged (id INTEGER PRIMARY KEY);"
	"CREATE TEMP TABLE IF NOT EXISTS lacking (id INTEGER PRIMARY KEY);"
	"DELETE FROM temp.damaged; DELETE FROM temp.lacking;"
	"INSERT INTO temp.damaged SELECT id FROM captures WHERE NOT (" HOLDS(CAPTURE_ROW(
		"")) ") OR context_checksum IS NOT " SUM(CONTEXT("")) ";"
								      "INSERT OR IGNORE INTO temp.lacking SELECT id "
								      "FROM temp.damaged UNION SELECT a.capture FROM "
								      "capture_streams a"
								      " WHERE a.stream IN (SELECT id FROM streams "
								      "WHERE NOT (" HOLDS(STREAM_ROW("")) "));";

/* Note that the captures in temp.lacking may lack something. */
static int mark_captures(struct archive_writer *w)
{
	int64_t id = 0;
	int r;

	while ((r = database_number(w->store.db, "SELECT coalesce(min(id), 0) FROM temp.lacking", &id)) == 0 && id) {
		r = list_lack(w, id);
		if (r == 0)
			r = database_run(w->store.db,
					 "DELETE FROM temp.lacking WHERE id = (SELECT min(id) FROM temp.lacking);");
		if (r != 0)
			break;
	}
	return r;
}

/* Count the damaged and the missing rows of TABLE, and note the numbers. */
static int count(struct archive_writer *w, const struct table *t, int64_t *bad, int64_t *missing)
{
	char sql[256];
	int r = database_number(w->store.db, t->bad, bad);

	if (r == 0)
		r = database_number(w->store.db, t->missing, missing);
	if (r != 0 || (*bad == 0 && *missing == 0))
		return r;
	snprintf(sql, sizeof(sql),
		 "UPDATE row_sums SET damaged = damaged + %lld, lost = lost + %lld, held = held - %lld WHERE name = "
		 "'%s';",
		 (long long)*bad, (long long)(*missing > 0 ? *missing : 0), (long long)*missing, t->name);
	return database_run(w->store.db, sql);
}

static int check_all(struct archive_writer *w, int64_t *bad, int64_t *missing)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(tables) && r == 0; i++)
		r = count(w, &tables[i], &bad[i], &missing[i]);
	if (r == 0 && (bad[1] || bad[2])) {
		r = database_run(w->store.db, find_captures);
		if (r == 0)
			r = mark_captures(w);
	}
	for (size_t i = 0; i < ARRAY_SIZE(tables) && r == 0; i++)
		if (bad[i])
			r = database_run(w->store.db, tables[i].declare);
	return r;
}

int row_sums_check(struct archive_writer *w)
{
	int64_t bad[ARRAY_SIZE(tables)] = {0}, missing[ARRAY_SIZE(tables)] = {0};
	bool is_mine;
	int r = writer_enter(w, &is_mine);

	if (r != 0)
		return r;
	r = writer_leave(w, is_mine, check_all(w, bad, missing));
	for (size_t i = 0; i < ARRAY_SIZE(tables) && r == 0; i++) {
		if (bad[i] == 0 && missing[i] == 0)
			continue;
		w->damage.pieces += (uint64_t)bad[i] + (uint64_t)(missing[i] > 0 ? missing[i] : 0);
		log_warning("Rows of the archive were damaged or lost on the disk: table=%s damaged=%lld lost=%lld",
			    tables[i].name, (long long)bad[i], (long long)(missing[i] > 0 ? missing[i] : 0));
	}
	return r;
}
