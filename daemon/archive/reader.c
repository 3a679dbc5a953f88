/*
 * The read-only side of the archive.
 *
 * The file belongs to another process and user, who may not be there yet, may be recovering, and may replace it.  Whatever says "not now"
 * (busy, recovery, a WAL that cannot be opened) is ARCHIVE_E_BUSY and mends itself; the connection is opened again when it can be.
 *
 * A packet's rows change under a reader: small pieces are rewritten as few large ones when the packet is complete.  So rows are never named
 * by their ids from one call to the next, but by the position that they cover, and what must agree is read in one statement.
 */
#include <errno.h>
#include <limits.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

#include <mprof/bytes.h>
#include <mprof/ring.h>

#include "clock.h"
#include "codec.h"
#include "database-read.h"
#include "reader.h"

#define READER_VERSION 1 /* the newest migration that this program knows */

#define RUN_COLUMNS "r.id, r.source, r.key, r.name, r.uuid, r.domid, r.state, r.began_real, r.ended_real, r.reason"
#define GUEST_KEY   "CASE WHEN uuid IS NULL THEN 'n:' || name ELSE 'u:' || uuid END"
#define SAME_GUEST                                            \
	"(SELECT id FROM runs WHERE uuid = r.uuid UNION ALL " \
	"SELECT id FROM runs WHERE r.uuid IS NULL AND uuid IS NULL AND name = r.name)"
#define GUEST_COLUMNS                                                          \
	RUN_COLUMNS ", " GUEST_KEY ", (SELECT count(*) FROM " SAME_GUEST "), " \
		    "(SELECT count(*) FROM captures WHERE run IN " SAME_GUEST ")"
/*
 * Of a guest's runs the latest is one that has not ended, where there is one: a migration that failed leaves an ended run behind the one that
 * goes on.  An id with this bit sorts behind every id without it.
 */
#define ALIVE	   "4611686018427387904"
#define LATEST	   "max(id + CASE state WHEN 'ended' THEN 0 ELSE " ALIVE " END)"
#define LATEST_RUN "(" LATEST " & (" ALIVE " - 1))"
#define PACKET_COLUMNS                                                                                        \
	"sequence, max(first_timestamp), min(offset), max(offset + length), max(packet_bytes), sum(length), " \
	"count(*), max(id)"
#define CAPTURE_COLUMNS "c.id, c.run, c.kind, c.real, c.mono, c.pinned, c.note, r.name, r.uuid"

enum statement {
	S_BEGIN,
	S_COMMIT,
	S_GUESTS,
	S_GUEST,
	S_RUN,
	S_BY_UUID,
	S_BY_NAME,
	S_BY_DOMID,
	S_RUNS,
	S_ALL_RUNS,
	S_STREAMS,
	S_PACKETS,
	S_PACKETS_DOWN,
	S_TAIL_PACKETS,
	S_TAIL_PACKETS_DOWN,
	S_ENDS_BELOW,
	S_ENDS_ABOVE,
	S_CONTENT_ABOVE,
	S_PRESENT,
	S_PIECE,
	S_TAIL_PIECE,
	S_GAPS,
	S_LAST_GAP,
	S_CAPTURES,
	S_CAPTURES_OF,
	S_CAPTURE,
	S_CONTEXT,
	S_END_CAPTURE,
	S_RANGES,
	S_TOTALS,
	S_VERSION,
	S_STATEMENTS,
};

static const char *const sql[S_STATEMENTS] = {
	[S_BEGIN] = "BEGIN",
	[S_COMMIT] = "COMMIT",
	[S_GUESTS] = "SELECT " GUEST_COLUMNS " FROM runs r WHERE r.id IN (SELECT " LATEST_RUN
		     " FROM runs GROUP BY " GUEST_KEY ") AND " GUEST_KEY " > ?1 ORDER BY " GUEST_KEY " LIMIT ?2",
	[S_GUEST] = "SELECT " GUEST_COLUMNS " FROM runs r WHERE r.id = ?1",
	[S_RUN] = "SELECT " RUN_COLUMNS " FROM runs r WHERE r.id = ?1",
	[S_BY_UUID] = "SELECT " LATEST_RUN " FROM runs WHERE uuid = ?1",
	[S_BY_NAME] = "SELECT (SELECT " LATEST_RUN " FROM runs WHERE id IN " SAME_GUEST ") FROM runs r WHERE r.id = "
		      "(SELECT " LATEST_RUN " FROM runs WHERE name = ?1)",
	[S_BY_DOMID] = "SELECT max(id) FROM runs WHERE domid = ?1 AND state <> 'ended'",
	[S_RUNS] = "SELECT " RUN_COLUMNS " FROM runs r, runs g WHERE g.id = ?1 AND (r.uuid = g.uuid OR "
		   "(g.uuid IS NULL AND r.uuid IS NULL AND r.name = g.name)) AND r.id < ?2 ORDER BY r.id DESC LIMIT ?3",
	[S_ALL_RUNS] = "SELECT " RUN_COLUMNS " FROM runs r WHERE r.id > ?1 ORDER BY r.id LIMIT ?2",
	[S_STREAMS] =
		"SELECT id, run, number, name, ring_bytes, ring_packets, flags, packets, bytes, lost_packets, "
		"skipped_packets, deletions, last_seen_real, (SELECT count(*) FROM gaps WHERE stream = streams.id) "
		"FROM streams WHERE run = ?1 ORDER BY number",
	[S_PACKETS] =
		"SELECT " PACKET_COLUMNS ", max(flags & 1), max(flags & 4), min(CASE WHEN flags & 2 THEN offset END) "
		"FROM chunks WHERE stream = ?1 AND sequence BETWEEN ?2 AND ?3 GROUP BY sequence ORDER BY sequence "
		"LIMIT ?4",
	[S_PACKETS_DOWN] =
		"SELECT " PACKET_COLUMNS ", max(flags & 1), max(flags & 4), min(CASE WHEN flags & 2 THEN offset END) "
		"FROM chunks WHERE stream = ?1 AND sequence BETWEEN ?2 AND ?3 GROUP BY sequence "
		"ORDER BY sequence DESC LIMIT ?4",
	[S_TAIL_PACKETS] = "SELECT " PACKET_COLUMNS ", 1, 0, min(offset) FROM tails WHERE stream = ?1 AND "
			   "sequence BETWEEN ?2 AND ?3 AND capture = ?5 GROUP BY sequence ORDER BY sequence LIMIT ?4",
	[S_TAIL_PACKETS_DOWN] =
		"SELECT " PACKET_COLUMNS ", 1, 0, min(offset) FROM tails WHERE stream = ?1 AND "
		"sequence BETWEEN ?2 AND ?3 AND capture = ?5 GROUP BY sequence ORDER BY sequence DESC LIMIT ?4",
	[S_ENDS_BELOW] = "SELECT ends FROM chunks WHERE stream = ?1 AND sequence = ?2 AND offset <= ?3 "
			 "ORDER BY offset DESC",
	[S_ENDS_ABOVE] = "SELECT ends FROM chunks WHERE stream = ?1 AND sequence = ?2 AND offset >= coalesce("
			 "(SELECT max(offset) FROM chunks WHERE stream = ?1 AND sequence = ?2 AND offset <= ?3), 0) "
			 "ORDER BY offset",
	[S_CONTENT_ABOVE] = "SELECT coalesce(sum(length), 0) FROM chunks WHERE stream = ?1 AND sequence > ?2",
	[S_PRESENT] = "SELECT count(*) FROM (SELECT DISTINCT sequence FROM chunks WHERE stream = ?1 AND "
		      "sequence BETWEEN ?2 AND ?3)",
	[S_PIECE] = "SELECT offset, length, codec, data FROM chunks WHERE stream = ?1 AND sequence = ?2 AND "
		    "offset <= ?3 ORDER BY offset DESC LIMIT 1",
	[S_TAIL_PIECE] = "SELECT offset, length, codec, data FROM tails WHERE stream = ?1 AND sequence = ?2 AND "
			 "offset <= ?3 AND capture = ?4 ORDER BY offset DESC LIMIT 1",
	[S_GAPS] =
		"SELECT kind, reason, after_sequence, after_offset, next_sequence, packets, at_least, real, mono "
		"FROM gaps WHERE stream = ?1 AND after_sequence BETWEEN ?2 AND ?3 ORDER BY after_sequence, id LIMIT ?4",
	[S_LAST_GAP] =
		"SELECT kind, reason, after_sequence, after_offset, next_sequence, packets, at_least, real, mono "
		"FROM gaps WHERE stream = (SELECT id FROM streams WHERE run = ?1 AND number = ?2) "
		"ORDER BY after_sequence DESC, id DESC LIMIT 1",
	[S_CAPTURES] = "SELECT " CAPTURE_COLUMNS " FROM captures c JOIN runs r ON r.id = c.run WHERE c.id < ?1 "
		       "ORDER BY c.id DESC LIMIT ?2",
	[S_CAPTURES_OF] =
		"SELECT " CAPTURE_COLUMNS " FROM captures c JOIN runs r ON r.id = c.run JOIN runs g ON g.id = ?3 AND "
		"(r.uuid = g.uuid OR (g.uuid IS NULL AND r.uuid IS NULL AND r.name = g.name)) WHERE c.id < ?1 "
		"ORDER BY c.id DESC LIMIT ?2",
	[S_CAPTURE] = "SELECT " CAPTURE_COLUMNS " FROM captures c JOIN runs r ON r.id = c.run WHERE c.id = ?1",
	[S_CONTEXT] = "SELECT context FROM captures WHERE id = ?1",
	[S_END_CAPTURE] =
		"SELECT max(c.id) FROM capture_streams a JOIN captures c ON c.id = a.capture WHERE a.stream = ?1 AND "
		"c.kind NOT IN ('periodic', 'manual', 'trigger') AND NOT EXISTS (SELECT 1 FROM chunks k WHERE "
		"k.stream = a.stream AND k.sequence >= a.last_sequence AND "
		"(k.sequence > a.last_sequence OR k.offset + k.length > a.last_offset))",
	[S_RANGES] =
		"SELECT c.capture, c.stream, c.first_sequence, c.last_sequence, c.last_offset, s.number, s.name, "
		"(SELECT coalesce(sum(length), 0) FROM tails t WHERE t.capture = c.capture AND t.stream = c.stream), "
		"s.deletions "
		"FROM capture_streams c JOIN streams s ON s.id = c.stream WHERE c.capture = ?1 ORDER BY s.number",
	[S_TOTALS] = "SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM runs WHERE state <> 'ended'), "
		     "(SELECT count(*) FROM captures), coalesce(sum(packets), 0), coalesce(sum(bytes), 0), "
		     "coalesce(sum(lost_packets), 0), coalesce(sum(skipped_packets), 0) FROM streams",
	[S_VERSION] = "PRAGMA data_version",
};

struct reader {
	char *path;
	sqlite3 *db;
	struct database_file file;
	uint64_t opened; /* how often */
	sqlite3_stmt *statements[S_STATEMENTS];
	struct codec_reader codec;
	unsigned running; /* statements that were begun and are not over */
	uint64_t since;	  /* when the transaction that is open began; 0 = none is */
	uint64_t longest;
};

static void resetp(sqlite3_stmt **s)
{
	if (*s)
		sqlite3_reset(*s);
}

static void reader_close(struct reader *r)
{
	for (size_t i = 0; i < S_STATEMENTS; i++) {
		sqlite3_finalize(r->statements[i]);
		r->statements[i] = NULL;
	}
	sqlite3_close(r->db);
	r->db = NULL;
	r->running = 0;
	r->since = 0;
}

/* Of every statement, when it begins and when it is over: a transaction is open from the first to the last of those that overlap. */
static int on_trace(unsigned event, void *context, void *statement, void *detail)
{
	struct reader *r = context;
	uint64_t now = clock_mono();

	(void)statement;
	(void)detail;
	if (event == SQLITE_TRACE_STMT) {
		r->running++;
		r->since = r->since ? r->since : now;
	} else if (--r->running == 0 && sqlite3_get_autocommit(r->db)) {
		r->longest = now - r->since > r->longest ? now - r->since : r->longest;
		r->since = 0;
	}
	return 0;
}

uint64_t reader_longest(const struct reader *r)
{
	return r->longest;
}

int reader_new(struct reader **rp, const char *state)
{
	CLEANUP(reader_freep) struct reader *r = calloc(1, sizeof(*r));

	if (!r || codec_reader_init(&r->codec) < 0 || asprintf(&r->path, "%s/" ARCHIVE_FILE, state) < 0)
		return -ENOMEM;
	*rp = TAKE_PTR(r);
	return 0;
}

struct reader *reader_free(struct reader *r)
{
	if (!r)
		return NULL;
	reader_close(r);
	codec_reader_deinit(&r->codec);
	free(r->path);
	free(r);
	return NULL;
}

static int reader_open(struct reader *r)
{
	int rc = database_read_open(&r->db, r->path, READER_VERSION, &r->file);

	if (rc != 0)
		return rc;
	sqlite3_trace_v2(r->db, SQLITE_TRACE_STMT | SQLITE_TRACE_PROFILE, on_trace, r);
	r->opened++;
	return 0;
}

int reader_ready(struct reader *r)
{
	if (r->db && database_file_changed(&r->file, r->path))
		reader_close(r);
	return r->db ? 0 : reader_open(r);
}

/* The prepared statement WHICH, with N integers bound. */
static int reader_statement(struct reader *r, enum statement which, size_t n, const int64_t *values, sqlite3_stmt **sp)
{
	int rc;

	if (!r->db) {
		rc = reader_open(r);
		if (rc != 0)
			return rc;
	}
	if (!r->statements[which]) {
		rc = sqlite3_prepare_v3(r->db, sql[which], -1, SQLITE_PREPARE_PERSISTENT, &r->statements[which], NULL);
		if (rc != SQLITE_OK)
			return database_read_error(r->db, rc);
	}
	*sp = r->statements[which];
	for (size_t i = 0; i < n; i++)
		sqlite3_bind_int64(*sp, (int)i + 1, values[i]);
	return 0;
}

#define VALUES(...)                                                     \
	sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]) \
	{                                                               \
		__VA_ARGS__                                             \
	}

/* The next row; *HAVE false behind the last. */
static int reader_step(struct reader *r, sqlite3_stmt *s, bool *have)
{
	int rc = sqlite3_step(s);

	*have = rc == SQLITE_ROW;
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : database_read_error(r->db, rc);
}

static int reader_run_once(struct reader *r, enum statement which)
{
	CLEANUP(resetp) sqlite3_stmt *s = NULL;
	bool have;
	int rc = reader_statement(r, which, 0, NULL, &s);

	return rc == 0 ? reader_step(r, s, &have) : rc;
}

int reader_version(struct reader *r, struct reader_version *version)
{
	CLEANUP(resetp) sqlite3_stmt *s = NULL;
	bool have;
	int rc = reader_statement(r, S_VERSION, 0, NULL, &s);

	if (rc == 0)
		rc = reader_step(r, s, &have);
	if (rc == 0)
		*version = (struct reader_version){.commits = sqlite3_column_int64(s, 0), .archives = r->opened};
	return rc;
}

int reader_begin(struct reader *r)
{
	return reader_run_once(r, S_BEGIN);
}

void reader_end(struct reader *r)
{
	if (r->db && !sqlite3_get_autocommit(r->db))
		reader_run_once(r, S_COMMIT);
}

static uint64_t column_u64(sqlite3_stmt *s, int i)
{
	return (uint64_t)sqlite3_column_int64(s, i);
}

static uint32_t column_u32(sqlite3_stmt *s, int i)
{
	int64_t v = sqlite3_column_int64(s, i);

	return v < 0 ? 0 : v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

static const char *column_text(sqlite3_stmt *s, int i)
{
	return (const char *)sqlite3_column_text(s, i);
}

/* Text that the schema says is never NULL; a damaged archive may say otherwise. */
static const char *column_string(sqlite3_stmt *s, int i)
{
	const char *text = column_text(s, i);

	return text ? text : "";
}

static void run_columns(sqlite3_stmt *s, struct archive_run *run)
{
	*run = (struct archive_run){
		.id = sqlite3_column_int64(s, 0),
		.source = column_string(s, 1),
		.key = column_string(s, 2),
		.name = column_string(s, 3),
		.uuid = column_text(s, 4),
		.domid = sqlite3_column_type(s, 5) == SQLITE_NULL ? -1 : sqlite3_column_int64(s, 5),
		.state = column_string(s, 6),
		.began_real = column_u64(s, 7),
		.ended_real = column_u64(s, 8),
		.reason = column_text(s, 9),
	};
}

static int read_runs(struct reader *r, sqlite3_stmt *s, reader_run_call *call, void *context, bool *any)
{
	struct archive_run run;
	bool have;
	int rc;

	*any = false;
	while ((rc = reader_step(r, s, &have)) == 0 && have) {
		*any = true;
		run_columns(s, &run);
		rc = call(context, &run);
		if (rc != 0)
			break;
	}
	return rc;
}

static int read_guests(struct reader *r, sqlite3_stmt *s, reader_guest_call *call, void *context, bool *any)
{
	struct reader_guest guest;
	bool have;
	int rc;

	*any = false;
	while ((rc = reader_step(r, s, &have)) == 0 && have) {
		*any = true;
		run_columns(s, &guest.latest);
		guest.key = column_string(s, 10);
		guest.runs = column_u64(s, 11);
		guest.captures = column_u64(s, 12);
		rc = call(context, &guest);
		if (rc != 0)
			break;
	}
	return rc;
}

int reader_guests(struct reader *r, const char *after, unsigned limit, reader_guest_call *call, void *context)
{
	CLEANUP(resetp) sqlite3_stmt *s = NULL;
	bool any;
	int rc = reader_statement(r, S_GUESTS, VALUES(0, (int64_t)limit), &s);

	if (rc != 0)
		return rc;
	sqlite3_bind_text(s, 1, after, -1, SQLITE_TRANSIENT);
	return read_guests(r, s, call, context, &any);
}

int reader_guest(struct reader *r, int64_t id, reader_guest_call *call, void *context)
{
	CLEANUP(resetp) sqlite3_stmt *s = NULL;
	bool any = false;
	int rc = reader_statement(r, S_GUEST, VALUES(id), &s);

	if (rc == 0)
		rc = read_guests(r, s, call, context, &any);
	return rc == 0 && !any ? ARCHIVE_E_ABSENT : rc;
}

int reader_run(struct reader *r, int64_t id, reader_run_call *call, void *context)
{
	CLEANUP(resetp) sqlite3_stmt *s = NULL;
	bool any = false;
	int rc = reader_statement(r, S_RUN, VALUES(id), &s);

	if (rc == 0)
		rc = read_runs(r, s, call, context, &any);
	return rc == 0 && !any ? ARCHIVE_E_ABSENT : rc;
}

/* The one number that S answers with; NULL is ARCHIVE_E_ABSENT. */
static int read_id(struct reader *r, sqlite3_stmt *s, int64_t *id)
{
	bool have;
	int rc = reader_step(r, s, &have);

	if (rc != 0)
		return rc;
	if (!have || sqlite3_column_type(s, 0) == SQLITE_NULL)
		return ARCHIVE_E_ABSENT;
	*id = sqlite3_column_int64(s, 0);
	return 0;
}

static int run_by_text(struct reader *r, enum statement which, const char *text, int64_t *id)
{
	CLEANUP(resetp) sqlite3_stmt *s = NULL;
	int rc = reader_statement(r, which, 0, NULL, &s);

	if (rc != 0)
		return rc;
	sqlite3_bind_text(s, 1, text, -1, SQLITE_TRANSIENT);
	return read_id(r, s, id);
}

int reader_run_by_uuid(struct reader *r, const char *uuid, int64_t *id)
{
	return run_by_text(r, S_BY_UUID, uuid, id);
}

int reader_run_by_name(struct reader *r, const char *name, int64_t *id)
{
	return run_by_text(r, S_BY_NAME, name, id);
}

int reader_run_by_domid(struct reader *r, int64_t domid, int64_t *id)
{
	CLEANUP(resetp) sqlite3_stmt *s = NULL;
	int rc = reader_statement(r, S_BY_DOMID, VALUES(domid), &s);

	return rc == 0 ? read_id(r, s, id) : rc;
}

int reader_runs(struct reader *r, int64_t id, int64_t before, unsigned limit, reader_run_call *call, void *context)
{
	CLEANUP(resetp) sqlite3_stmt *s = NULL;
	bool any;
	int rc = reader_statement(r, S_RUNS, VALUES(id, before, (int64_t)limit), &s);

	return rc == 0 ? read_runs(r, s, call, context, &any) : rc;
}

int reader_all_runs(struct reader *r, int64_t after, unsigned limit, reader_run_call *call, void *context)
{
	CLEANUP(resetp) sqlite3_stmt *s = NULL;
	bool any;
	int rc = reader_statement(r, S_ALL_RUNS, VALUES(after, (int64_t)limit), &s);

	return rc == 0 ? read_runs(r, s, call, context, &any) : rc;
}

int reader_streams(struct reader *r, int64_t run, reader_stream_call *call, void *context)
{
	CLEANUP(resetp) sqlite3_stmt *s = NULL;
	struct reader_stream stream;
	bool have;
	int rc = reader_statement(r, S_STREAMS, VALUES(run), &s);

	while (rc == 0 && (rc = reader_step(r, s, &have)) == 0 && have) {
		stream = (struct reader_stream){
			.stream = {.id = sqlite3_column_int64(s, 0),
				   .run = sqlite3_column_int64(s, 1),
				   .number = column_u32(s, 2),
				   .name = column_text(s, 3),
				   .ring_bytes = column_u64(s, 4),
				   .ring_packets = column_u32(s, 5),
				   .flags = column_u32(s, 6)},
			.packets = column_u64(s, 7),
			.bytes = column_u64(s, 8),
			.lost_packets = column_u64(s, 9),
			.skipped_packets = column_u64(s, 10),
			.deletions = column_u64(s, 11),
			.last_seen_real = column_u64(s, 12),
			.gaps = column_u64(s, 13),
		};
		rc = call(context, &stream);
	}
	return rc;
}

static int64_t sequence_column(uint64_t sequence)
{
	return sequence > INT64_MAX ? INT64_MAX : (int64_t)sequence;
}

static void packet_columns(sqlite3_stmt *s, struct reader_packet *p)
{
	*p = (struct reader_packet){
		.sequence = column_u64(s, 0),
		.first_timestamp = column_u64(s, 1),
		.begin = column_u32(s, 2),
		.end = column_u32(s, 3),
		.room = column_u32(s, 4),
		.stamp = column_u64(s, 6) << 48 ^ column_u64(s, 7),
		.complete = sqlite3_column_int(s, 8) != 0,
		.clock = sqlite3_column_int(s, 9) != 0,
		.unproven_from = column_u32(s, 10),
	};
	p->whole = p->begin >= MPROF_PACKET_HEADER_BYTES && p->end >= p->begin &&
		   p->end - p->begin == column_u64(s, 5) && p->end <= MPROF_RING_BYTES_MAX;
}

int reader_packets(struct reader *r, struct reader_source source, uint64_t from, uint64_t to, bool descending,
		   struct reader_packet *packets, size_t *n)
{
	CLEANUP(resetp) sqlite3_stmt *s = NULL;
	enum statement which = source.capture ? (descending ? S_TAIL_PACKETS_DOWN : S_TAIL_PACKETS)
					      : (descending ? S_PACKETS_DOWN : S_PACKETS);
	size_t max = *n;
	bool have;
	int rc = reader_statement(r, which,
				  VALUES(source.stream, sequence_column(from), sequence_column(to), (int64_t)max), &s);

	*n = 0;
	if (rc == 0 && source.capture)
		sqlite3_bind_int64(s, 5, source.capture);
	while (rc == 0 && *n < max && (rc = reader_step(r, s, &have)) == 0 && have)
		packet_columns(s, &packets[(*n)++]);
	return rc;
}

/* Chunk end number I of the blob in column 0. */
static struct archive_end column_end(sqlite3_stmt *s, size_t i)
{
	const uint8_t *p = (const uint8_t *)sqlite3_column_blob(s, 0) + i * ARCHIVE_END_BYTES;

	return (struct archive_end){
		.offset = mprof_load32(p), .mono = mprof_load64(p + 4), .real = mprof_load64(p + 12)};
}

static size_t column_ends(sqlite3_stmt *s)
{
	return (size_t)sqlite3_column_bytes(s, 0) / ARCHIVE_END_BYTES;
}

int reader_end_below(struct reader *r, int64_t stream, uint64_t sequence, uint32_t most, struct archive_end *end)
{
	CLEANUP(resetp) sqlite3_stmt *s = NULL;
	bool have;
	int rc = reader_statement(r, S_ENDS_BELOW, VALUES(stream, sequence_column(sequence), most), &s);

	while (rc == 0 && (rc = reader_step(r, s, &have)) == 0 && have) {
		for (size_t i = column_ends(s); i-- > 0;) {
			*end = column_end(s, i);
			if (end->offset <= most)
				return 0;
		}
	}
	return rc == 0 ? ARCHIVE_E_ABSENT : rc;
}

int reader_end_copied(struct reader *r, int64_t stream, uint64_t sequence, uint64_t real, struct archive_end *end)
{
	CLEANUP(resetp) sqlite3_stmt *s = NULL;
	bool have;
	int rc = reader_statement(r, S_ENDS_BELOW, VALUES(stream, sequence_column(sequence), UINT32_MAX), &s);

	while (rc == 0 && (rc = reader_step(r, s, &have)) == 0 && have) {
		for (size_t i = column_ends(s); i-- > 0;) {
			*end = column_end(s, i);
			if (end->real <= real)
				return 0;
		}
	}
	return rc == 0 ? ARCHIVE_E_ABSENT : rc;
}

/* The one number that S answers with. */
static int read_number(struct reader *r, sqlite3_stmt *s, uint64_t *number)
{
	bool have;
	int rc = reader_step(r, s, &have);

	*number = rc == 0 && have ? column_u64(s, 0) : 0;
	return rc;
}

int reader_present(struct reader *r, int64_t stream, uint64_t from, uint64_t to, uint64_t *packets)
{
	CLEANUP(resetp) sqlite3_stmt *s = NULL;
	int rc = reader_statement(r, S_PRESENT, VALUES(stream, sequence_column(from), sequence_column(to)), &s);

	return rc == 0 ? read_number(r, s, packets) : rc;
}

int reader_content_above(struct reader *r, int64_t stream, uint64_t sequence, uint64_t *bytes)
{
	CLEANUP(resetp) sqlite3_stmt *s = NULL;
	int rc = reader_statement(r, S_CONTENT_ABOVE, VALUES(stream, sequence_column(sequence)), &s);

	return rc == 0 ? read_number(r, s, bytes) : rc;
}

int reader_end_above(struct reader *r, int64_t stream, uint64_t sequence, uint32_t above, uint32_t reach,
		     struct archive_end *end)
{
	CLEANUP(resetp) sqlite3_stmt *s = NULL;
	struct archive_end e;
	bool have, any = false;
	int rc = reader_statement(r, S_ENDS_ABOVE, VALUES(stream, sequence_column(sequence), above), &s);

	while (rc == 0 && (rc = reader_step(r, s, &have)) == 0 && have) {
		for (size_t i = 0; i < column_ends(s); i++) {
			e = column_end(s, i);
			if (e.offset <= above)
				continue;
			if (any && e.offset - above > reach)
				return 0;
			*end = e;
			any = true;
			if (reach == 0)
				return 0;
		}
	}
	return rc != 0 ? rc : any ? 0 : ARCHIVE_E_ABSENT;
}

/* Take the row that S stands at; its columns were checked to cover the offset. */
static int piece_take(struct reader *r, sqlite3_stmt *s, bool stored, uint8_t *out, struct reader_piece *piece)
{
	size_t bytes = (size_t)sqlite3_column_bytes(s, 3);
	const void *data = sqlite3_column_blob(s, 3);

	piece->codec = sqlite3_column_int(s, 2);
	piece->stored = stored;
	if (stored) {
		if (bytes > ARCHIVE_PIECE_MAX || !data || (piece->codec == CODEC_RAW && bytes != piece->length) ||
		    (piece->codec != CODEC_RAW && piece->codec != CODEC_ZSTD))
			return -EBADMSG;
		memcpy(out, data, bytes);
		piece->bytes = bytes;
		return 0;
	}
	if (!codec_decode(&r->codec, piece->codec, data, bytes, out, piece->length))
		return -EBADMSG;
	piece->bytes = piece->length;
	return 0;
}

int reader_piece(struct reader *r, struct reader_source source, uint64_t sequence, uint32_t offset, uint32_t limit,
		 bool stored, uint8_t *out, struct reader_piece *piece)
{
	CLEANUP(resetp) sqlite3_stmt *s = NULL;
	bool have;
	int rc = reader_statement(r, source.capture ? S_TAIL_PIECE : S_PIECE,
				  VALUES(source.stream, sequence_column(sequence), offset), &s);

	if (rc == 0 && source.capture)
		sqlite3_bind_int64(s, 4, source.capture);
	if (rc == 0)
		rc = reader_step(r, s, &have);
	if (rc != 0)
		return rc;
	if (!have)
		return ARCHIVE_E_ABSENT;
	*piece = (struct reader_piece){.offset = column_u32(s, 0), .length = column_u32(s, 1)};
	if (piece->length > ARCHIVE_PIECE_MAX || piece->offset > MPROF_RING_BYTES_MAX)
		return -EBADMSG;
	if (offset - piece->offset >= piece->length)
		return ARCHIVE_E_ABSENT;
	return piece_take(r, s, stored && piece->offset == offset && piece->offset + piece->length <= limit, out,
			  piece);
}

int reader_bytes(struct reader *r, struct reader_source source, uint64_t sequence, uint32_t offset, size_t len,
		 uint8_t *out, uint8_t *scratch, size_t *got)
{
	struct reader_piece piece;
	size_t skip, n;
	int rc;

	*got = 0;
	while (*got < len) {
		rc = reader_piece(r, source, sequence, offset, 0, false, scratch, &piece);
		if (rc == ARCHIVE_E_ABSENT)
			return 0;
		if (rc != 0)
			return rc;
		skip = offset - piece.offset;
		n = piece.length - skip < len - *got ? piece.length - skip : len - *got;
		memcpy(out + *got, scratch + skip, n);
		*got += n;
		offset += (uint32_t)n;
	}
	return 0;
}

static int read_gaps(struct reader *r, sqlite3_stmt *s, int64_t stream, reader_gap_call *call, void *context, bool *any)
{
	struct archive_gap gap;
	bool have;
	int rc;

	*any = false;
	while ((rc = reader_step(r, s, &have)) == 0 && have) {
		*any = true;
		gap = (struct archive_gap){
			.stream = stream,
			.kind = column_string(s, 0),
			.reason = column_string(s, 1),
			.after_sequence = column_u64(s, 2),
			.after_offset = column_u32(s, 3),
			.next_sequence = column_u64(s, 4),
			.packets = column_u64(s, 5),
			.at_least = sqlite3_column_int(s, 6) != 0,
			.real = column_u64(s, 7),
			.mono = column_u64(s, 8),
		};
		rc = call(context, &gap);
		if (rc != 0)
			break;
	}
	return rc;
}

int reader_gaps(struct reader *r, int64_t stream, uint64_t from, uint64_t to, unsigned limit, reader_gap_call *call,
		void *context)
{
	CLEANUP(resetp) sqlite3_stmt *s = NULL;
	bool any;
	int rc = reader_statement(r, S_GAPS, VALUES(stream, sequence_column(from), sequence_column(to), (int64_t)limit),
				  &s);

	return rc == 0 ? read_gaps(r, s, stream, call, context, &any) : rc;
}

int reader_last_gap(struct reader *r, int64_t run, uint32_t number, reader_gap_call *call, void *context)
{
	CLEANUP(resetp) sqlite3_stmt *s = NULL;
	bool any;
	int rc = reader_statement(r, S_LAST_GAP, VALUES(run, number), &s);

	if (rc == 0)
		rc = read_gaps(r, s, 0, call, context, &any);
	return rc == 0 && !any ? ARCHIVE_E_ABSENT : rc;
}

static int read_captures(struct reader *r, sqlite3_stmt *s, reader_capture_call *call, void *context, bool *any)
{
	struct reader_capture c;
	bool have;
	int rc;

	*any = false;
	while ((rc = reader_step(r, s, &have)) == 0 && have) {
		*any = true;
		c = (struct reader_capture){
			.capture = {.id = sqlite3_column_int64(s, 0),
				    .run = sqlite3_column_int64(s, 1),
				    .kind = column_string(s, 2),
				    .real = column_u64(s, 3),
				    .mono = column_u64(s, 4),
				    .pinned = sqlite3_column_int(s, 5) != 0,
				    .note = column_string(s, 6)},
			.name = column_string(s, 7),
			.uuid = column_text(s, 8),
		};
		rc = call(context, &c);
		if (rc != 0)
			break;
	}
	return rc;
}

int reader_captures(struct reader *r, int64_t run, int64_t before, unsigned limit, reader_capture_call *call,
		    void *context)
{
	CLEANUP(resetp) sqlite3_stmt *s = NULL;
	bool any;
	int rc = reader_statement(r, run ? S_CAPTURES_OF : S_CAPTURES, VALUES(before, (int64_t)limit), &s);

	if (rc == 0 && run)
		sqlite3_bind_int64(s, 3, run);
	return rc == 0 ? read_captures(r, s, call, context, &any) : rc;
}

int reader_capture(struct reader *r, int64_t id, reader_capture_call *call, void *context)
{
	CLEANUP(resetp) sqlite3_stmt *s = NULL;
	bool any = false;
	int rc = reader_statement(r, S_CAPTURE, VALUES(id), &s);

	if (rc == 0)
		rc = read_captures(r, s, call, context, &any);
	return rc == 0 && !any ? ARCHIVE_E_ABSENT : rc;
}

int reader_context(struct reader *r, int64_t capture, reader_context_call *call, void *context)
{
	CLEANUP(resetp) sqlite3_stmt *s = NULL;
	const char *text;
	bool have = false;
	int rc = reader_statement(r, S_CONTEXT, VALUES(capture), &s);

	if (rc == 0)
		rc = reader_step(r, s, &have);
	if (rc != 0)
		return rc;
	if (!have)
		return ARCHIVE_E_ABSENT;
	text = column_text(s, 0);
	return call(context, text, text ? (size_t)sqlite3_column_bytes(s, 0) : 0);
}

int reader_end_capture(struct reader *r, int64_t stream, int64_t *id)
{
	CLEANUP(resetp) sqlite3_stmt *s = NULL;
	int rc = reader_statement(r, S_END_CAPTURE, VALUES(stream), &s);

	return rc == 0 ? read_id(r, s, id) : rc;
}

int reader_capture_ranges(struct reader *r, int64_t capture, reader_range_call *call, void *context)
{
	CLEANUP(resetp) sqlite3_stmt *s = NULL;
	struct reader_capture_range range;
	bool have;
	int rc = reader_statement(r, S_RANGES, VALUES(capture), &s);

	while (rc == 0 && (rc = reader_step(r, s, &have)) == 0 && have) {
		range = (struct reader_capture_range){
			.range = {.capture = sqlite3_column_int64(s, 0),
				  .stream = sqlite3_column_int64(s, 1),
				  .first_sequence = column_u64(s, 2),
				  .last_sequence = column_u64(s, 3),
				  .last_offset = column_u32(s, 4)},
			.number = column_u32(s, 5),
			.name = column_text(s, 6),
			.tail_bytes = column_u64(s, 7),
			.deletions = column_u64(s, 8),
		};
		rc = call(context, &range);
	}
	return rc;
}

int reader_totals(struct reader *r, struct reader_totals *totals)
{
	CLEANUP(resetp) sqlite3_stmt *s = NULL;
	struct stat st;
	bool have;
	int rc = reader_statement(r, S_TOTALS, 0, NULL, &s);

	*totals = (struct reader_totals){0};
	if (rc == 0)
		rc = reader_step(r, s, &have);
	if (rc != 0 || !have)
		return rc;
	*totals = (struct reader_totals){
		.runs = column_u64(s, 0),
		.running = column_u64(s, 1),
		.captures = column_u64(s, 2),
		.packets = column_u64(s, 3),
		.bytes = column_u64(s, 4),
		.lost_packets = column_u64(s, 5),
		.skipped_packets = column_u64(s, 6),
		.file_bytes = stat(r->path, &st) == 0 ? (uint64_t)st.st_size : 0,
	};
	return 0;
}
