/*
 * The read-only side of the archive of memory profiles.  What database.c says of connections holds here too.
 *
 * A recording grows at its end only and its pieces are never rewritten, so an offset names the same byte for ever.
 */
#include "memtraces-reader.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>

#include "codec.h"
#include "database.h"

#define MEMTRACES_VERSION 2 /* the newest migration that this program knows */
#define COLUMNS                                                                                                  \
	"id, run, name, uuid, domid, address, port, origin, state, reason, began_real, began_mono, ended_real, " \
	"ended_mono, bytes, packets, dropped, pinned, note, version, program, host, pid, rate, context, "        \
	"connected_mono, damaged"

struct memtraces_reader {
	char *path;
	struct database_file file;
	sqlite3 *db;
	uint64_t opened; /* how often it was */
	struct codec_reader codec;
	uint8_t *content; /* ARCHIVE_PIECE_MAX bytes */
	int64_t damaged;  /* the recording in which damage was met; 0 = none */
};

static void finalizep(sqlite3_stmt **s)
{
	sqlite3_finalize(*s);
}

int memtraces_reader_new(struct memtraces_reader **rp, const char *state)
{
	CLEANUP(memtraces_reader_freep) struct memtraces_reader *r = calloc(1, sizeof(*r));

	if (!r || codec_reader_init(&r->codec) < 0)
		return -ENOMEM;
	r->content = malloc(ARCHIVE_PIECE_MAX);
	if (!r->content)
		return -ENOMEM;
	if (asprintf(&r->path, "%s/" MEMTRACES_FILE, state) < 0) {
		r->path = NULL;
		return -ENOMEM;
	}
	*rp = TAKE_PTR(r);
	return 0;
}

static void reader_close(struct memtraces_reader *r)
{
	sqlite3_close(r->db);
	r->db = NULL;
}

struct memtraces_reader *memtraces_reader_free(struct memtraces_reader *r)
{
	if (!r)
		return NULL;
	reader_close(r);
	codec_reader_deinit(&r->codec);
	free(r->content);
	free(r->path);
	free(r);
	return NULL;
}

int memtraces_reader_ready(struct memtraces_reader *r)
{
	if (r->db && database_file_changed(&r->file, r->path))
		reader_close(r);
	if (r->db)
		return 0;
	if (access(r->path, F_OK) < 0 && errno == ENOENT)
		return ARCHIVE_E_ABSENT;
	r->opened++;
	return database_read_open(&r->db, r->path, MEMTRACES_VERSION, &r->file);
}

/* A statement with its first parameters. */
static int prepare(struct memtraces_reader *r, const char *text, size_t n, const int64_t *values, sqlite3_stmt **s)
{
	int rc = memtraces_reader_ready(r);

	if (rc != 0)
		return rc;
	rc = sqlite3_prepare_v2(r->db, text, -1, s, NULL);
	if (rc != SQLITE_OK)
		return database_read_error(r->db, rc);
	for (size_t i = 0; i < n; i++)
		sqlite3_bind_int64(*s, (int)i + 1, values[i]);
	return 0;
}

int memtraces_version(struct memtraces_reader *r, struct memtraces_version *version)
{
	CLEANUP(finalizep) sqlite3_stmt *s = NULL;
	int rc = prepare(r, "PRAGMA data_version", 0, NULL, &s);

	if (rc != 0)
		return rc;
	rc = sqlite3_step(s);
	if (rc != SQLITE_ROW)
		return database_read_error(r->db, rc);
	*version = (struct memtraces_version){.commits = sqlite3_column_int64(s, 0), .archives = r->opened};
	return 0;
}

static const char *text_at(sqlite3_stmt *s, int at)
{
	return (const char *)sqlite3_column_text(s, at);
}

static uint64_t number_at(sqlite3_stmt *s, int at)
{
	return (uint64_t)sqlite3_column_int64(s, at);
}

static struct memtrace row(sqlite3_stmt *s)
{
	return (struct memtrace){
		.id = sqlite3_column_int64(s, 0),
		.run = sqlite3_column_int64(s, 1),
		.name = text_at(s, 2),
		.uuid = text_at(s, 3),
		.domid = sqlite3_column_type(s, 4) == SQLITE_NULL ? -1 : sqlite3_column_int64(s, 4),
		.address = text_at(s, 5),
		.port = (uint32_t)number_at(s, 6),
		.origin = text_at(s, 7),
		.state = text_at(s, 8),
		.reason = text_at(s, 9),
		.began_real = number_at(s, 10),
		.began_mono = number_at(s, 11),
		.ended_real = number_at(s, 12),
		.ended_mono = number_at(s, 13),
		.bytes = number_at(s, 14),
		.packets = number_at(s, 15),
		.dropped = number_at(s, 16),
		.pinned = number_at(s, 17) != 0,
		.note = text_at(s, 18),
		.version = (uint32_t)number_at(s, 19),
		.program = text_at(s, 20),
		.host = text_at(s, 21),
		.has_pid = sqlite3_column_type(s, 22) != SQLITE_NULL,
		.pid = sqlite3_column_int64(s, 22),
		.rate = sqlite3_column_double(s, 23),
		.context = text_at(s, 24),
		.connected_mono = number_at(s, 25),
		.damaged = number_at(s, 26),
	};
}

static int rows(struct memtraces_reader *r, sqlite3_stmt *s, memtraces_call *call, void *context, size_t *n)
{
	int rc;

	for (*n = 0; (rc = sqlite3_step(s)) == SQLITE_ROW; ++*n) {
		struct memtrace t = row(s);

		rc = call(context, &t);
		if (rc != 0)
			return rc;
	}
	return rc == SQLITE_DONE ? 0 : database_read_error(r->db, rc);
}

int memtraces_list(struct memtraces_reader *r, int64_t run, int64_t before, unsigned limit, memtraces_call *call,
		   void *context)
{
	static const char all[] = "SELECT " COLUMNS " FROM recordings WHERE id < ?2 AND state <> 'deleted' AND ?1 = 0 "
				  "ORDER BY id DESC LIMIT ?3";
	static const char of_run[] = "SELECT " COLUMNS " FROM recordings WHERE run = ?1 AND id < ?2 AND "
				     "state <> 'deleted' ORDER BY id DESC LIMIT ?3";
	CLEANUP(finalizep) sqlite3_stmt *s = NULL;
	size_t n;
	int rc = prepare(r, run ? of_run : all, 3, (int64_t[]){run, before, limit}, &s);

	if (rc == ARCHIVE_E_ABSENT)
		return 0;
	return rc ? rc : rows(r, s, call, context, &n);
}

int memtraces_recording(struct memtraces_reader *r, memtraces_call *call, void *context)
{
	CLEANUP(finalizep) sqlite3_stmt *s = NULL;
	size_t n;
	int rc = prepare(r,
			 "SELECT " COLUMNS " FROM recordings WHERE state = 'recording' AND run IS NOT NULL ORDER BY id",
			 0, NULL, &s);

	if (rc == ARCHIVE_E_ABSENT)
		return 0;
	return rc ? rc : rows(r, s, call, context, &n);
}

int memtraces_get(struct memtraces_reader *r, int64_t id, memtraces_call *call, void *context)
{
	CLEANUP(finalizep) sqlite3_stmt *s = NULL;
	size_t n = 0;
	int rc = prepare(r, "SELECT " COLUMNS " FROM recordings WHERE id = ?1 AND state <> 'deleted'", 1, &id, &s);

	if (rc == 0)
		rc = rows(r, s, call, context, &n);
	return rc ? rc : n ? 0 : ARCHIVE_E_ABSENT;
}

int memtraces_at(struct memtraces_reader *r, int64_t run, uint64_t real, uint64_t grace, int64_t *id)
{
	CLEANUP(finalizep) sqlite3_stmt *s = NULL;
	int rc = prepare(r,
			 "SELECT id FROM recordings WHERE run = ?1 AND began_real <= ?2 AND state <> 'deleted' AND "
			 "(ended_real IS NULL OR ended_real >= ?2 - ?3) ORDER BY id DESC LIMIT 1",
			 3, (int64_t[]){run, (int64_t)real, (int64_t)grace}, &s);

	if (rc != 0)
		return rc;
	rc = sqlite3_step(s);
	if (rc == SQLITE_ROW)
		*id = sqlite3_column_int64(s, 0);
	return rc == SQLITE_ROW ? 0 : rc == SQLITE_DONE ? ARCHIVE_E_ABSENT : database_read_error(r->db, rc);
}

/* RC is an error of SQLite's that came up while the recording ID was read. */
static int meet_error(struct memtraces_reader *r, int64_t id, int rc)
{
	rc = database_read_error(r->db, rc);
	if (rc == -EBADMSG)
		r->damaged = id;
	return rc;
}

int memtraces_check(struct memtraces_reader *r, int64_t id)
{
	CLEANUP(finalizep) sqlite3_stmt *s = NULL;
	int rc = prepare(r,
			 "SELECT bytes = coalesce((SELECT offset + length FROM pieces WHERE recording = ?1 "
			 "ORDER BY offset DESC LIMIT 1), 0) FROM recordings WHERE id = ?1",
			 1, &id, &s);

	if (rc != 0)
		return rc;
	rc = sqlite3_step(s);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return meet_error(r, id, rc);
	if (rc == SQLITE_DONE || number_at(s, 0))
		return 0;
	r->damaged = id;
	return ARCHIVE_E_DAMAGED;
}

int64_t memtraces_take_damage(struct memtraces_reader *r)
{
	int64_t id = r->damaged;

	r->damaged = 0;
	return id;
}

/* The row's content; what does not fit what the row says of itself is damage. */
static int take_piece(struct memtraces_reader *r, sqlite3_stmt *s, int64_t id, bool as_stored,
		      struct memtraces_piece *p)
{
	int64_t length = sqlite3_column_int64(s, 1);
	int codec = sqlite3_column_int(s, 2);
	struct checksum_row sum = {.numbers = {id}, .n = 4};

	*p = (struct memtraces_piece){.offset = number_at(s, 0), .length = (uint32_t)length};
	p->data = sqlite3_column_blob(s, 3);
	p->bytes = (size_t)sqlite3_column_bytes(s, 3);
	for (int i = 0; i < 3; i++)
		sum.numbers[1 + i] = sqlite3_column_int64(s, i);
	sum.data = p->data;
	sum.data_bytes = p->bytes;
	if (!checksum_holds(s, 4, sqlite3_column_int(s, 5) != 0, &sum) || length < 1 || length > ARCHIVE_PIECE_MAX ||
	    !p->data)
		return ARCHIVE_E_DAMAGED;
	p->is_frame = as_stored && codec == CODEC_ZSTD;
	/* A frame without a checksum is unpacked once before it is handed on. */
	if (p->is_frame && sqlite3_column_type(s, 4) != SQLITE_NULL)
		return codec_is_frame_of(p->data, p->bytes, p->length) ? 0 : ARCHIVE_E_DAMAGED;
	if (!codec_decode(&r->codec, codec, p->data, p->bytes, r->content, p->length))
		return ARCHIVE_E_DAMAGED;
	if (p->is_frame)
		return 0;
	p->data = r->content;
	p->bytes = p->length;
	return 0;
}

int memtraces_read(struct memtraces_reader *r, int64_t id, uint64_t offset, bool as_stored, memtraces_piece_call *call,
		   void *context)
{
	CLEANUP(finalizep) sqlite3_stmt *s = NULL;
	struct memtraces_piece piece;
	int rc = prepare(r,
			 "SELECT offset, length, codec, data, checksum, id <= (SELECT pieces FROM unchecked) "
			 "FROM pieces WHERE recording = ?1 AND offset <= ?2 AND "
			 "EXISTS (SELECT 1 FROM recordings WHERE id = ?1 AND state <> 'deleted') "
			 "ORDER BY offset DESC LIMIT 1",
			 2, (int64_t[]){id, (int64_t)offset}, &s);

	if (rc != 0)
		return rc;
	rc = sqlite3_step(s);
	if (rc != SQLITE_ROW)
		return rc == SQLITE_DONE ? ARCHIVE_E_ABSENT : meet_error(r, id, rc);
	rc = take_piece(r, s, id, as_stored, &piece);
	if (rc == ARCHIVE_E_DAMAGED)
		r->damaged = id;
	if (rc == 0 && offset - piece.offset >= piece.length)
		return ARCHIVE_E_ABSENT;
	return rc ? rc : call(context, &piece);
}

int memtraces_totals(struct memtraces_reader *r, struct memtraces_totals *totals)
{
	CLEANUP(finalizep) sqlite3_stmt *s = NULL;
	int rc;

	*totals = (struct memtraces_totals){0};
	rc = prepare(r,
		     "SELECT count(*), coalesce(sum(state = 'recording'), 0), coalesce(sum(bytes), 0), "
		     "coalesce(sum(dropped), 0), coalesce(sum(damaged), 0), (SELECT pieces > 0 FROM unchecked) "
		     "FROM recordings WHERE state <> 'deleted'",
		     0, NULL, &s);
	if (rc != 0)
		return rc == ARCHIVE_E_ABSENT ? 0 : rc;
	rc = sqlite3_step(s);
	if (rc != SQLITE_ROW)
		return database_read_error(r->db, rc);
	*totals = (struct memtraces_totals){number_at(s, 0), number_at(s, 1), number_at(s, 2),
					    number_at(s, 3), number_at(s, 4), number_at(s, 5) != 0};
	return 0;
}
