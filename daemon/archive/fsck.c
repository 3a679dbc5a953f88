/*
 * mprofd --fsck: check both archives.
 *
 * First SQLite checks the structure of the file. If the structure is damaged, all readable rows are
 * copied into a new file (salvage.c). Then each row is read and checked, as repair.c does after a
 * reader's report. A row without a checksum gets one.
 */
#include "fsck.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "cleanup.h"
#include "database.h"
#include "memtraces.h"
#include "row-sums.h"
#include "salvage.h"
#include "writer-state.h"

#define WAL_LIMIT (64u << 20)
#define STEPS	  256 /* packets to check in one transaction */

/* One of the two archives: its files, its tables and its check. */
struct part {
	const char *directory, *file, *owner, *of;
	struct salvage salvage;
	/*
	 * Check all rows and add the number of damaged ones to *DAMAGED. Report to OUT. Return as
	 * archive_writer_open(); -EBADMSG: SQLite cannot read the file.
	 */
	int (*check)(const char *state, FILE *out, uint64_t *damaged, char *sentence, size_t size);
};

/* ---- checksums ------------------------------------------------------------------------------- */

/* A table whose rows may have no checksum. */
struct unchecked_rows {
	/*
	 * SQL that lists some rows without a checksum, in order, behind the key (?1, ?2). The
	 * columns are the two numbers of the key, N numbers that the checksum covers, the ends, and
	 * the data.
	 */
	const char *list;
	const char *update; /* SQL that stores the checksum ?3 in the row with the key (?1, ?2) */
	size_t n;
};

/*
 * Add checksums to the next rows behind the key LAST, which becomes the key of the last of them.
 * Add their number to *ADDED. Return 0 or an error.
 */
static int add_some_checksums(sqlite3 *db, const struct unchecked_rows *rows, int64_t last[2], uint64_t *added)
{
	sqlite3_stmt *s = NULL, *u = NULL;
	uint8_t checksum[CHECKSUM_BYTES];
	struct checksum_row row = {.n = rows->n};
	int rc = sqlite3_prepare_v2(db, rows->list, -1, &s, NULL);
	int at = (int)rows->n + 2;

	sqlite3_bind_int64(s, 1, last[0]);
	sqlite3_bind_int64(s, 2, last[1]);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db, rows->update, -1, &u, NULL);
	while (rc == SQLITE_OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
		for (size_t i = 0; i < rows->n; i++)
			row.numbers[i] = sqlite3_column_int64(s, (int)i + 2);
		row.ends = sqlite3_column_blob(s, at);
		row.ends_bytes = (size_t)sqlite3_column_bytes(s, at);
		row.data = sqlite3_column_blob(s, at + 1);
		row.data_bytes = (size_t)sqlite3_column_bytes(s, at + 1);
		checksum_make(&row, checksum);
		for (int i = 0; i < 2; i++) {
			last[i] = sqlite3_column_int64(s, i);
			sqlite3_bind_int64(u, i + 1, last[i]);
		}
		sqlite3_bind_blob(u, 3, checksum, sizeof(checksum), SQLITE_STATIC);
		rc = sqlite3_step(u);
		sqlite3_reset(u);
		rc = rc == SQLITE_DONE ? SQLITE_OK : rc;
		++*added;
	}
	sqlite3_finalize(s);
	sqlite3_finalize(u);
	return rc == SQLITE_DONE ? 0 : database_error(db, rc);
}

/*
 * Add a checksum to each row of ROWS that has none, a few per transaction, because a transaction
 * must not become too large. Add their number to *TOTAL.
 */
static int add_checksums(struct store *store, const struct unchecked_rows *rows, uint64_t *total)
{
	int64_t last[2] = {INT64_MIN, 0};
	uint64_t added;
	int r;

	do {
		added = 0;
		r = store_begin(store);
		if (r == 0)
			r = add_some_checksums(store->db, rows, last, &added);
		r = store_end(store, r);
		*total += added;
	} while (r == 0 && added);
	return r;
}

/* ---- the trace archive ----------------------------------------------------------------------- */

static const struct salvage_table trace_tables[] = {
	{"identifiers", "identifiers", 1, 1},
	{"runs", "runs", 1, 1},
	{"streams", "streams", 1, 1},
	{"beginnings", "beginnings of streams", 1, 10},
	{"chunks", "pieces of packets", 1, 1},
	{"gaps", "gaps", 1, 1},
	{"captures", "captures", 1, 1},
	{"capture_streams", "ranges of captures", 0, 1},
	{"tails", "pieces of tails", 1, 1},
	{"capture_lists", "lists of ranges of captures", 1, 7},
	{"unchecked", "notes on checksums", 1, 2},
	{"outbox", "rows of the outbox", 1, 4},
	{"outbox_sums", "sums of the outbox", 1, 4},
	{"age_clock", "readings of the age clock", 1, 5},
	{"clock_periods", "periods of the clocks", 1, 5},
	{NULL, NULL, 0, 0},
};

/*
 * SQL that runs after the rows were copied. It creates a run for the packets of a stream whose row
 * is lost, and makes sure that no identifier is given twice. If the table `unchecked` could not be
 * read, or the file is of a version without checksums, any row may have no checksum.
 */
static const char trace_finish[] =
	"BEGIN;"
	"INSERT OR IGNORE INTO unchecked (id, chunks, tails, captures, lists) SELECT 0, coalesce((SELECT max(id) FROM "
	"chunks), 0), coalesce((SELECT max(id) FROM tails), 0), coalesce((SELECT max(capture) FROM capture_streams), "
	"0), "
	"coalesce((SELECT max(id) FROM captures), 0);"
	"INSERT OR IGNORE INTO streams (id, run, number, ring_bytes, ring_packets) SELECT DISTINCT stream, stream + "
	"1000000000, 0, 0, 0 FROM chunks WHERE stream NOT IN (SELECT id FROM streams) AND (checksum IS NOT NULL OR id "
	"<= (SELECT "
	"chunks FROM unchecked));"
	"INSERT OR IGNORE INTO runs (id, source, key, name, state, began_real, ended_real, reason) SELECT DISTINCT "
	"run, "
	"'dir', 'saved-' || run, 'saved-' || run, 'ended', 0, 1, 'ended' FROM (SELECT run FROM streams UNION SELECT "
	"run "
	"FROM captures) WHERE run NOT IN (SELECT id FROM runs);"
	"INSERT OR IGNORE INTO identifiers (id, run, stream, capture) VALUES (0, 0, 0, 0);"
	"UPDATE identifiers SET archive = coalesce(archive, lower(hex(randomblob(16))));"
	"INSERT OR IGNORE INTO outbox_sums (id, packets, captures, untold) VALUES (0, 0, 0, 0);"
	"UPDATE identifiers SET run = max(run, (SELECT coalesce(max(id), 0) FROM runs)), stream = max(stream, (SELECT "
	"coalesce(max(id), 0) FROM streams)), capture = max(capture, (SELECT coalesce(max(id), 0) FROM captures));"
	"DELETE FROM row_sums;"
	"INSERT INTO row_sums (name, held, unchecked) SELECT 'runs', count(*), coalesce(max(id), 0) FROM runs UNION ALL"
	" SELECT 'streams', count(*), coalesce(max(id), 0) FROM streams UNION ALL"
	" SELECT 'gaps', count(*), coalesce(max(id), 0) FROM gaps UNION ALL"
	" SELECT 'captures', count(*), coalesce(max(id), 0) FROM captures;"
	"COMMIT;";

/*
 * Run S, which selects the pair of numbers behind (*FIRST, *SECOND), and store that pair there.
 * Return false if there is none, or after an error, which is then in *R.
 */
static bool ask(struct archive_writer *w, sqlite3_stmt *s, int64_t *first, int64_t *second, int *r)
{
	int rc;

	sqlite3_reset(s);
	sqlite3_bind_int64(s, 1, *first);
	sqlite3_bind_int64(s, 2, *second);
	rc = sqlite3_step(s);
	*r = database_error(w->store.db, rc);
	if (rc != SQLITE_ROW)
		return false;
	if (sqlite3_column_int64(s, 0) < *first) { /* a damaged index would repeat a pair for ever */
		*r = -EBADMSG;
		return false;
	}
	*first = sqlite3_column_int64(s, 0);
	*second = sqlite3_column_int64(s, 1);
	sqlite3_reset(s);
	return true;
}

typedef int check_call(struct archive_writer *w, int64_t first, int64_t second);

static int check_packet(struct archive_writer *w, int64_t stream, int64_t sequence)
{
	/* Packets of a stream that has no row are strays: count_strays() counts them. */
	return usage_has(&w->usage, stream) ? packet_repair(w, stream, (uint64_t)sequence, &(bool){false}) : 0;
}

/* Check the list of CAPTURE, or make it for a capture of an earlier version. */
static int check_list(struct archive_writer *w, int64_t capture, int64_t none)
{
	bool damaged = false;
	int r = list_repair(w, capture, &damaged);

	(void)none;
	w->damage.pieces += damaged;
	return r ? r : list_make(w, capture);
}

static int check_capture(struct archive_writer *w, int64_t capture, int64_t stream)
{
	bool damaged;
	int r = archive_writer_repair(w, stream, 0, capture, &damaged);

	return r == ARCHIVE_E_ABSENT ? 0 : r;
}

/*
 * Call CALL for each pair of numbers that SQL selects, many in one transaction. SQL selects the
 * pair behind (?1, ?2). Return 0 or an error.
 */
static int for_each(struct archive_writer *w, const char *sql, check_call *call)
{
	int64_t first = INT64_MIN, second = INT64_MIN;
	sqlite3_stmt *s = NULL;
	bool have = true;
	int r = database_error(w->store.db, sqlite3_prepare_v2(w->store.db, sql, -1, &s, NULL));

	while (r == 0 && have) {
		r = archive_writer_begin(w);
		for (int i = 0; r == 0 && i < STEPS && (have = ask(w, s, &first, &second, &r)); i++)
			r = call(w, first, second);
		sqlite3_reset(s);
		if (r == 0)
			r = archive_writer_commit(w);
		else
			archive_writer_rollback(w);
	}
	sqlite3_finalize(s);
	return r;
}

/* Add the missing checksums, and the values of the columns that were added with them. */
static int check_unchecked(struct archive_writer *w, FILE *out)
{
	static const struct unchecked_rows lists[] = {
		{"SELECT id, 0, stream, sequence, offset, length, flags, first_timestamp, packet_bytes, codec, ends, "
		 "data FROM "
		 "chunks WHERE checksum IS NULL AND id > ?1 AND ?2 = 0 ORDER BY id LIMIT 256",
		 "UPDATE chunks SET checksum = ?3 WHERE id = ?1 AND ?2 = 0", 8},
		{"SELECT id, 0, capture, stream, sequence, offset, length, first_timestamp, packet_bytes, codec, NULL, "
		 "data "
		 "FROM tails WHERE checksum IS NULL AND id > ?1 AND ?2 = 0 ORDER BY id LIMIT 256",
		 "UPDATE tails SET checksum = ?3 WHERE id = ?1 AND ?2 = 0", 8},
		{"SELECT capture, stream, capture, stream, first_sequence, last_sequence, last_offset, tail_bytes, "
		 "reached, "
		 "NULL, NULL "
		 "FROM capture_streams WHERE checksum IS NULL AND (capture, stream) > (?1, ?2) ORDER BY capture, "
		 "stream LIMIT 256",
		 "UPDATE capture_streams SET checksum = ?3 WHERE capture = ?1 AND stream = ?2", 7},
	};
	uint64_t total = 0;
	int r = database_run(
		w->store.db,
		"UPDATE capture_streams SET tail_bytes = (SELECT coalesce(sum(length), 0) FROM tails t "
		"WHERE t.capture = capture_streams.capture AND t.stream = capture_streams.stream), reached "
		"= (SELECT coalesce(min(max(offset + length), last_offset), 0) FROM chunks k WHERE k.stream = "
		"capture_streams.stream AND k.sequence = last_sequence) "
		"WHERE checksum IS NULL");

	for (size_t i = 0; i < ARRAY_SIZE(lists) && r == 0; i++)
		r = add_checksums(&w->store, &lists[i], &total);
	if (r == 0)
		r = database_run(
			w->store.db,
			"UPDATE streams SET oldest = coalesce(oldest, (SELECT min(sequence) FROM chunks k WHERE "
			"k.stream = streams.id)), newest = coalesce(newest, (SELECT max(sequence) FROM chunks k "
			"WHERE k.stream = streams.id AND flags & 1)), held = coalesce(held, (SELECT count(*) FROM "
			"chunks k WHERE k.stream = streams.id AND flags & 1))");
	if (r == 0)
		r = database_run(w->store.db, "UPDATE unchecked SET chunks = 0, tails = 0, captures = 0");
	if (r == 0 && total)
		fprintf(out, "%" PRIu64 " rows from an earlier version have checksums now.\n", total);
	return r;
}

#define STRAYS "FROM chunks WHERE stream NOT IN (SELECT id FROM streams)"

static int count_strays(struct archive_writer *w, uint64_t *strays)
{
	struct deletion deletion = {.reason = DELETION_DAMAGE};
	int64_t n = 0, packets = 0;
	int r = database_number(w->store.db, "SELECT count(*) " STRAYS, &n);

	*strays = (uint64_t)n;
	if (r == 0 && n)
		r = database_number(w->store.db, "SELECT count(*) FROM (SELECT DISTINCT stream, sequence " STRAYS ")",
				    &packets);
	if (r != 0 || n == 0)
		return r;
	deletion.packets = (uint64_t)packets;
	r = database_run(w->store.db, "DELETE " STRAYS);
	if (r == 0)
		deletion_tally_add(archive_writer_deletions(w), &deletion);
	return r;
}

/* Write a line to OUT for each guest of which D has deletions. */
static void tell(FILE *out, const struct deletion_tally *d, const char *captures)
{
	for (unsigned i = 0; i < d->n; i++) {
		char text[512];

		deletion_sentence(&d->list[i], captures, text, sizeof(text));
		fprintf(out, "%s\n", text);
	}
}

static int check_trace(const char *state, FILE *out, uint64_t *damaged, char *sentence, size_t size)
{
	struct archive_options options = {.wal_limit_bytes = WAL_LIMIT, .level = 3};
	CLEANUP(archive_writer_freep) struct archive_writer *w = NULL;
	struct archive_damage d;
	uint64_t strays = 0;
	int r = archive_writer_open(&w, state, &options, sentence, size);

	if (r != 0)
		return r;
	r = database_intact(w->store.db);
	if (r == 0)
		r = lists_check(w);
	if (r == 0)
		r = row_sums_check(w);
	if (r == 0)
		r = for_each(w,
			     "SELECT stream, sequence FROM chunks WHERE (stream, sequence) > (?1, ?2) ORDER BY stream, "
			     "sequence "
			     "LIMIT 1",
			     check_packet);
	if (r == 0) /* streams that have no rows in chunks */
		r = for_each(w, "SELECT id, 0 FROM streams WHERE id > ?1 AND ?2 IS NOT NULL ORDER BY id LIMIT 1",
			     check_packet);
	if (r == 0)
		r = for_each(w,
			     "SELECT capture, stream FROM capture_streams WHERE (capture, stream) > (?1, ?2) ORDER BY "
			     "capture, "
			     "stream LIMIT 1",
			     check_capture);
	if (r == 0)
		r = count_strays(w, &strays);
	if (r == 0)
		r = check_unchecked(w, out);
	/* A list of an earlier version's capture takes the columns that check_unchecked() has filled. */
	if (r == 0)
		r = for_each(w, "SELECT id, 0 FROM captures WHERE id > ?1 AND ?2 IS NOT NULL ORDER BY id LIMIT 1",
			     check_list);
	if (r == 0)
		r = database_run(w->store.db, "UPDATE unchecked SET lists = 0");
	d = archive_writer_damage(w);
	tell(out, archive_writer_deletions(w), "captures");
	*damaged = d.pieces + strays + (d.pieces + strays ? 0 : d.packets);
	if (d.packets)
		fprintf(out, "packets lost wholly or in part: %" PRIu64 "; gaps of the reason damaged say which.\n",
			d.packets);
	return r;
}

/* ---- the archive of memory profiles ---------------------------------------------------------- */

static const struct salvage_table memtrace_tables[] = {
	{"identifiers", "identifiers", 1, 1},
	{"recordings", "recordings", 1, 1},
	{"pieces", "pieces of recordings", 1, 1},
	{"unchecked", "notes on checksums", 1, 2},
	{"age_clock", "readings of the age clock", 1, 3},
	{"clock_periods", "periods of the clocks", 1, 3},
	{NULL, NULL, 0, 0},
};

static const char memtrace_finish[] =
	"BEGIN;"
	"DELETE FROM pieces WHERE recording NOT IN (SELECT id FROM recordings);"
	"INSERT OR IGNORE INTO identifiers VALUES (0, 0);"
	"UPDATE identifiers SET recording = max(recording, (SELECT coalesce(max(id), 0) FROM recordings));"
	"INSERT OR IGNORE INTO unchecked SELECT 0, coalesce((SELECT max(id) FROM pieces), 0);"
	"COMMIT;";

/* Check all recordings, and add the number of damaged pieces to *PIECES. */
static int check_recordings(struct memtraces *m, uint64_t *pieces)
{
	struct store *store = memtraces_store(m);
	char next[128];
	int64_t id = 0;
	uint64_t n;
	int r;

	for (;;) {
		snprintf(next, sizeof(next), "SELECT min(id) FROM recordings WHERE id > %lld AND state <> 'deleted'",
			 (long long)id);
		id = 0;
		r = database_number(store->db, next, &id);
		if (r != 0 || id <= 0)
			return r;
		n = 0;
		r = store_begin(store);
		if (r == 0)
			r = memtraces_repair(m, id, &n);
		*pieces += r == 0 ? n : 0;
		r = store_end(store, r);
		if (r != 0)
			return r;
	}
}

static int check_memtraces(const char *state, FILE *out, uint64_t *damaged, char *sentence, size_t size)
{
	struct archive_options options = {.wal_limit_bytes = WAL_LIMIT, .level = 3};
	static const struct unchecked_rows pieces = {
		"SELECT id, 0, recording, offset, length, codec, NULL, data FROM pieces WHERE checksum IS NULL "
		"AND id > ?1 AND ?2 = 0 ORDER BY id LIMIT 64",
		"UPDATE pieces SET checksum = ?3 WHERE id = ?1 AND ?2 = 0", 4};
	CLEANUP(memtraces_freep) struct memtraces *m = NULL;
	struct store *store;
	uint64_t added = 0;
	int r = memtraces_open(&m, state, &options, sentence, size);

	if (r != 0)
		return r;
	store = memtraces_store(m);
	r = database_intact(store->db);
	if (r == 0)
		r = check_recordings(m, damaged);
	if (r == 0)
		r = add_checksums(store, &pieces, &added);
	if (r == 0)
		r = database_run(store->db, "UPDATE unchecked SET pieces = 0");
	tell(out, memtraces_deletions(m), "recordings");
	if (added)
		fprintf(out, "%" PRIu64 " pieces from an earlier version have checksums now.\n", added);
	return r;
}

/* ---- both archives --------------------------------------------------------------------------- */

static const char *words(int r)
{
	return r == -EBADMSG || r == ARCHIVE_E_DAMAGED ? "it is damaged"
	       : r == ARCHIVE_E_FULL		       ? "the disk is full"
	       : r == ARCHIVE_E_BUSY		       ? "another program holds it locked"
	       : r > 0				       ? "it cannot be read"
						       : strerror(-r);
}

/*
 * Lock the directory and copy the readable rows into a new file. Report to OUT. Return 0, -errno or
 * an archive_condition.
 */
static int save(const char *state, const struct part *p, const char *path, FILE *out)
{
	CLEANUP(freep) char *directory = NULL;
	CLEANUP(closep) int lock = -1;
	struct salvage s = p->salvage;
	char sentence[512];
	int r = database_directory(state, p->directory, &directory, &lock, sentence, sizeof(sentence));

	if (r != 0)
		return r;
	fprintf(out, "%s: SQLite cannot read all of it; what can be read is saved.\n", path);
	s.path = path;
	return salvage_run(&s, out);
}

/* How the file was repaired before it could be checked. */
struct rescue {
	bool was_saved, is_patched;
};

/*
 * Repair the file, which could not be checked for the reason FOUND, and check it again. If only the
 * file's header is wrong, the header is repaired; otherwise the readable rows are copied into a new
 * file. Return as part.check().
 */
static int rescue(const char *state, const struct part *p, const char *path, int found, struct rescue *rescue,
		  uint64_t *damaged, FILE *out)
{
	char sentence[512];
	int r = found;

	rescue->is_patched = salvage_header(path) == 1;
	if (found == ARCHIVE_E_NEWER && !rescue->is_patched)
		return found;
	*damaged = 0;
	if (rescue->is_patched)
		r = p->check(state, out, damaged, sentence, sizeof(sentence));
	if (r == 0)
		return 0;
	*damaged = 0;
	r = save(state, p, path, out);
	rescue->was_saved = r == 0;
	return r ? r : p->check(state, out, damaged, sentence, sizeof(sentence));
}

static int check_part(const char *state, const struct part *p, const char *path, FILE *out)
{
	struct rescue done = {0};
	char sentence[512] = "";
	uint64_t damaged = 0;
	int r = p->check(state, out, &damaged, sentence, sizeof(sentence));

	if (r == -EBUSY) {
		fprintf(out, "%s: %s runs on this archive; stop it first.\n", path, p->owner);
		return 2;
	}
	if (r == -EBADMSG || r == -EIO || r == ARCHIVE_E_NEWER || r == ARCHIVE_E_VERSION)
		r = rescue(state, p, path, r, &done, &damaged, out);
	if ((r == ARCHIVE_E_NEWER && !done.is_patched) || r == ARCHIVE_E_KIND) {
		fprintf(out, "%s\n", sentence);
		return 2;
	}
	if (r != 0) {
		fprintf(out, "%s: it cannot be checked: %s.\n", path, words(r));
		return 2;
	}
	if (done.is_patched && !done.was_saved)
		fprintf(out, "%s: the file's header was damaged, and is right again.\n", path);
	if (damaged)
		fprintf(out, "%s: %" PRIu64 " rows were damaged and are out of service.\n", path, damaged);
	if (!damaged && !done.was_saved)
		fprintf(out, "%s: all of it is whole.\n", path);
	else
		fprintf(out, "%s: all that is left is whole.\n", path);
	return damaged || done.was_saved || done.is_patched;
}

/*
 * If the process is root, take the user and group of DIRECTORY, so new files get the right owner;
 * NULL = become root again. Return 0 or -errno.
 */
static int act_as_owner(const char *directory)
{
	struct stat st = {.st_uid = 0};

	if (getuid() != 0)
		return 0;
	if (directory && stat(directory, &st) < 0)
		return -errno;
	if (seteuid(0) < 0 || setegid(st.st_gid) < 0 || seteuid(st.st_uid) < 0)
		return -errno;
	return 0;
}

int archive_fsck(const char *state, FILE *out)
{
	const struct part parts[] = {
		{"archive",
		 "archive/trace.db",
		 "mprofd",
		 "traces",
		 {NULL, migrations_trace, trace_tables, trace_finish},
		 check_trace},
		{"memtraces",
		 "memtraces/memtraces.db",
		 "mprofd-sink",
		 "memory profiles",
		 {NULL, migrations_memtraces, memtrace_tables, memtrace_finish},
		 check_memtraces},
	};
	int result = 0;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		CLEANUP(freep) char *path = NULL;
		CLEANUP(freep) char *directory = NULL;
		struct stat st;
		int r;

		if (asprintf(&path, "%s/%s", state, parts[i].file) < 0) {
			path = NULL;
			return 2;
		}
		directory = strndup(path, (size_t)(strrchr(path, '/') - path));
		if (stat(path, &st) < 0) {
			fprintf(out, "%s: there is no archive of %s.\n", path, parts[i].of);
			continue;
		}
		r = directory ? act_as_owner(directory) : -ENOMEM;
		if (r == 0)
			r = check_part(state, &parts[i], path, out);
		else
			fprintf(out, "%s: its owner's rights cannot be taken: %s.\n", path, strerror(-r));
		r = r < 0 || act_as_owner(NULL) < 0 ? 2 : r;
		result = r > result ? r : result;
		fflush(out);
	}
	return result;
}
