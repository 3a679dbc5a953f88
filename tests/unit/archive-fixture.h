/*
 * A scratch archive for tests: a new directory with an archive in it, packets with known bytes, and
 * direct SQL access to the tables.
 */
#ifndef UNIT_ARCHIVE_FIXTURE_H
#define UNIT_ARCHIVE_FIXTURE_H

#include <ftw.h>
#include <sched.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "codec.h"
#include "writer.h"

#include <mprof/bytes.h>

#define FIXTURE_WAL (64ull << 20)

struct fixture {
	char state[64];
	struct archive_writer *w;
};

static inline int fixture_remove(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static inline bool fixture_open(struct fixture *f)
{
	struct archive_options options = {.wal_limit_bytes = FIXTURE_WAL, .level = 1};
	char sentence[256];
	int r = archive_writer_open(&f->w, f->state, &options, sentence, sizeof(sentence));

	if (r != 0)
		fprintf(stderr, "%s\n", sentence);
	return CHECK_EQ_INT(r, 0);
}

static inline bool fixture_init(struct fixture *f)
{
	strcpy(f->state, "/tmp/mprof-test-XXXXXX");
	f->w = NULL;
	return CHECK(mkdtemp(f->state) != NULL) && fixture_open(f);
}

/*
 * Mount a file system of 16 MiB on PATH. The caller unmounts it. Return false if this process has
 * no right to mount.
 */
static inline bool fixture_mount(const char *path)
{
	return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", path, "tmpfs", 0, "size=16m") == 0;
}

static inline void fixture_deinit(struct fixture *f)
{
	f->w = archive_writer_free(f->w);
	nftw(f->state, fixture_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void fixture_reopen(struct fixture *f)
{
	f->w = archive_writer_free(f->w);
	fixture_open(f);
}

static inline int fixture_put(struct fixture *f, int64_t run, const char *name, const char *state, int64_t stream)
{
	struct archive_run r = {.id = run,
				.source = "dir",
				.key = "key",
				.name = name,
				.domid = -1,
				.state = state,
				.began_real = 1000};
	struct archive_stream s = {.id = stream, .run = run, .ring_bytes = 1 << 20, .ring_packets = 4};
	int c = archive_writer_begin(f->w);

	if (c == 0)
		c = archive_writer_put_run(f->w, &r);
	if (c == 0)
		c = archive_writer_put_stream(f->w, &s);
	return c ? c : archive_writer_commit(f->w);
}

/*
 * Fill OUT with the bytes of a packet from OFFSET on. The bytes depend on stream, sequence and
 * offset, and compress as well as traces do.
 */
static inline void fixture_fill(uint8_t *out, int64_t stream, uint64_t sequence, uint32_t offset, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++) {
		uint64_t at = offset + i, word = at / 8;
		uint64_t x = (word * 2654435761u + sequence * 40503u + (uint64_t)stream * 97u) >> 7;

		out[i] = at % 8 < 5 ? (uint8_t)(word >> 6) : (uint8_t)(x >> (8 * (at % 8 - 5)));
	}
}

/*
 * Append bytes [OFFSET, OFFSET+LENGTH) of a packet, copied at the time REAL. If HAS_END,
 * OFFSET+LENGTH is the only chunk end; else there is no chunk end.
 */
static inline int fixture_append(struct fixture *f, int64_t stream, uint64_t sequence, uint32_t offset, uint32_t length,
				 uint32_t flags, bool has_end, uint64_t real)
{
	struct archive_end end = {.offset = offset + length, .mono = real / 2, .real = real};
	uint8_t *data = malloc(length + 1);
	struct archive_piece piece = {.stream = stream,
				      .sequence = sequence,
				      .offset = offset,
				      .length = length,
				      .flags = flags,
				      .packet_bytes = 256u << 20,
				      .first_timestamp = 7000 + sequence,
				      .ends = &end,
				      .n_ends = has_end,
				      .data = data};
	int r;

	fixture_fill(data, stream, sequence, offset, length);
	r = archive_writer_append(f->w, &piece);
	free(data);
	return r;
}

/* Append one whole packet of CONTENT bytes, header included, in a transaction of its own. */
static inline int fixture_packet(struct fixture *f, int64_t stream, uint64_t sequence, uint32_t content, uint64_t real)
{
	int r = archive_writer_begin(f->w);

	if (r == 0)
		r = fixture_append(f, stream, sequence, 30, content - 30, ARCHIVE_CHUNK_LAST, true, real);
	return r ? r : archive_writer_commit(f->w);
}

static inline sqlite3 *fixture_database(const struct fixture *f)
{
	char path[128];
	sqlite3 *db = NULL;

	snprintf(path, sizeof(path), "%s/archive/trace.db", f->state);
	CHECK_EQ_INT(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	sqlite3_busy_timeout(db, 5000);
	return db;
}

__attribute__((format(printf, 2, 3))) static inline int64_t fixture_number(const struct fixture *f, const char *format,
									   ...)
{
	sqlite3 *db = fixture_database(f);
	sqlite3_stmt *s = NULL;
	int64_t value = INT64_MIN;
	char sql[512];
	va_list args;

	va_start(args, format);
	vsnprintf(sql, sizeof(sql), format, args);
	va_end(args);
	if (CHECK_EQ_INT(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK) && sqlite3_step(s) == SQLITE_ROW)
		value = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	sqlite3_close(db);
	return value;
}

/* Run SQL, which changes the columns of INDEX of TABLE, as a disk changes them: the index stays as it was. */
static inline void fixture_change_table(const struct fixture *f, const char *table, const char *index, const char *sql)
{
	sqlite3 *db = fixture_database(f);
	char all[1024];

	snprintf(all, sizeof(all),
		 "PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF; PRAGMA writable_schema = ON;"
		 "CREATE TEMP TABLE kept AS SELECT rowid AS n, * FROM main.sqlite_schema WHERE name IN ('%s', '%s');"
		 "DELETE FROM main.sqlite_schema WHERE name = '%s';"
		 "UPDATE main.sqlite_schema SET sql = replace(sql, 'UNIQUE (run, number)', 'CHECK (1)') WHERE name = "
		 "'%s';"
		 "PRAGMA writable_schema = RESET; %s; PRAGMA writable_schema = ON;"
		 "INSERT OR REPLACE INTO main.sqlite_schema (rowid, type, name, tbl_name, rootpage, sql) SELECT * FROM "
		 "kept;"
		 "PRAGMA writable_schema = RESET",
		 table, index, index, table, sql);
	CHECK_EQ_INT(sqlite3_exec(db, all, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static inline bool fixture_integrity(const struct fixture *f)
{
	sqlite3 *db = fixture_database(f);
	sqlite3_stmt *s = NULL;
	bool ok = false;

	if (sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &s, NULL) == SQLITE_OK &&
	    sqlite3_step(s) == SQLITE_ROW)
		ok = strcmp((const char *)sqlite3_column_text(s, 0), "ok") == 0;
	sqlite3_finalize(s);
	sqlite3_close(db);
	return ok;
}

/* Summary of a packet's rows, with every byte compared to the byte that was written. */
struct fixture_packet {
	unsigned rows, ends;
	uint32_t end;	   /* end of the content, in bytes from the packet's start */
	uint32_t last_end; /* the last chunk end */
	bool is_whole;	   /* the rows are adjacent from offset 30 on, chunk ends ascend, and the bytes are right */
	bool is_complete;  /* exactly the last row has the LAST flag */
	uint32_t flags;	   /* flags of all rows, combined by OR */
};

static inline bool fixture_row_holds(sqlite3_stmt *s, int64_t stream, uint64_t sequence, struct fixture_packet *p)
{
	uint32_t offset = (uint32_t)sqlite3_column_int64(s, 0), length = (uint32_t)sqlite3_column_int64(s, 1);
	const uint8_t *ends = sqlite3_column_blob(s, 4);
	uint8_t *got = malloc(length + 1), *want = malloc(length + 1);
	struct codec_reader codec = {0};
	bool ok = offset == p->end && length <= ARCHIVE_PIECE_MAX && codec_reader_init(&codec) == 0;

	ok = ok && codec_decode(&codec, sqlite3_column_int(s, 3), sqlite3_column_blob(s, 5),
				(size_t)sqlite3_column_bytes(s, 5), got, length);
	fixture_fill(want, stream, sequence, offset, length);
	ok = ok && memcmp(got, want, length) == 0;
	for (int i = 0; ok && i < sqlite3_column_bytes(s, 4); i += (int)ARCHIVE_END_BYTES, p->ends++) {
		uint32_t at = mprof_load32(ends + i);

		ok = at >= p->last_end && at > offset && at <= offset + length &&
		     mprof_load64(ends + i + 12) / 2 == mprof_load64(ends + i + 4);
		p->last_end = at;
	}
	codec_reader_deinit(&codec);
	free(got);
	free(want);
	p->end = offset + length;
	return ok;
}

static inline struct fixture_packet fixture_read(const struct fixture *f, int64_t stream, uint64_t sequence)
{
	struct fixture_packet p = {.end = 30, .is_whole = true};
	sqlite3 *db = fixture_database(f);
	sqlite3_stmt *s = NULL;

	CHECK_EQ_INT(sqlite3_prepare_v2(db,
					"SELECT offset, length, flags, codec, ends, data FROM chunks"
					" WHERE stream = ?1 AND sequence = ?2 ORDER BY offset",
					-1, &s, NULL),
		     SQLITE_OK);
	sqlite3_bind_int64(s, 1, stream);
	sqlite3_bind_int64(s, 2, (int64_t)sequence);
	while (sqlite3_step(s) == SQLITE_ROW) {
		if (p.is_complete) /* a row follows the last one */
			p.is_whole = false;
		p.rows++;
		p.flags |= (uint32_t)sqlite3_column_int(s, 2);
		p.is_complete = sqlite3_column_int(s, 2) & ARCHIVE_CHUNK_LAST;
		if (!fixture_row_holds(s, stream, sequence, &p))
			p.is_whole = false;
	}
	sqlite3_finalize(s);
	sqlite3_close(db);
	return p;
}

#endif
