/*
 * The writer of memory profiles.
 *
 * Invariant: a recording's pieces follow each other from offset 0 without a hole, and their lengths
 * add up to the recording's bytes. Both are written in one transaction.
 *
 * A recording may have many gigabytes, so it is deleted in two steps: its row is marked as deleted
 * at once, and its pieces are deleted later, a few per call of memtraces_purge().
 */
#include "memtraces.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "codec.h"
#include "database.h"
#include "statement.h"
#include "store.h"

#define GUEST                                                                                                        \
	"CASE WHEN uuid IS NOT NULL THEN 'u:' || uuid WHEN name IS NOT NULL THEN 'n:' || name ELSE 'a:' || address " \
	"END"
#define DELETABLE "state = 'ended' AND pinned = 0"

enum memtraces_statement {
	M_BEGIN,
	M_COMMIT,
	M_LAST_ID,
	M_NOTE_ID,
	M_PUT,
	M_APPEND,
	M_PATCH,
	M_PIECES,
	M_EXTENT,
	M_NAME,
	M_DELETE_FROM,
	M_CUT,
	M_DELETE,
	M_END_ALL,
	M_SUMS,
	M_OLDEST,
	M_DELETED,
	M_PURGE,
	M_FORGET,
	M_STATEMENTS,
};

static const char *const sql[M_STATEMENTS] = {
	[M_BEGIN] = STORE_BEGIN_SQL,
	[M_COMMIT] = STORE_COMMIT_SQL,
	[M_LAST_ID] = "SELECT recording FROM identifiers",
	[M_NOTE_ID] = "UPDATE identifiers SET recording = ?1 WHERE recording < ?1",
	[M_PUT] =
		"INSERT INTO recordings (id, run, name, uuid, domid, address, port, origin, state, reason, began_real, "
		"began_mono, ended_real, ended_mono, bytes, packets, dropped, version, program, host, pid, rate, "
		"context, connected_mono) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, "
		"?21, "
		"?22, ?23, ?24) ON CONFLICT (id) DO UPDATE SET run = ?2, name = ?3, uuid = ?4, domid = ?5, "
		"state = CASE state WHEN 'deleted' THEN state ELSE ?9 END, reason = ?10, ended_real = ?13, "
		"ended_mono = ?14, "
		/* A damaged recording does not grow any more. */
		"bytes = CASE WHEN damaged IS NULL THEN ?15 ELSE bytes END, packets = ?16, dropped = ?17",
	[M_APPEND] =
		"INSERT INTO pieces (recording, offset, length, codec, data, checksum) SELECT ?1, ?2, ?3, ?4, ?5, ?6 "
		"WHERE NOT EXISTS (SELECT 1 FROM recordings WHERE id = ?1 AND damaged IS NOT NULL)",
	[M_PIECES] = "SELECT recording, offset, length, codec, data, checksum, "
		     "id <= (SELECT pieces FROM unchecked) FROM pieces WHERE recording = ?1 ORDER BY offset",
	[M_EXTENT] = "SELECT bytes FROM recordings WHERE id = ?1 AND state <> 'deleted'",
	[M_NAME] = "SELECT coalesce(name, uuid, address) FROM recordings WHERE id = ?1",
	[M_DELETE_FROM] = "DELETE FROM pieces WHERE recording = ?1 AND offset >= ?2",
	[M_CUT] = "UPDATE recordings SET damaged = coalesce(damaged, 0) + max(bytes - ?2, 0), bytes = ?2 WHERE id = ?1",
	[M_PATCH] = "UPDATE recordings SET pinned = coalesce(?2, pinned), note = coalesce(?3, note) "
		    "WHERE id = ?1 AND state <> 'deleted'",
	[M_DELETE] = "UPDATE recordings SET state = 'deleted' WHERE id = ?1 AND state <> 'deleted' RETURNING "
		     "coalesce(name, uuid, address), bytes",
	[M_END_ALL] = "UPDATE recordings SET state = 'ended', reason = ?1, ended_real = ?2, ended_mono = ?3 "
		      "WHERE state = 'recording'",
	[M_SUMS] = "SELECT " GUEST ", sum(bytes + 4096), total(CASE WHEN " DELETABLE
		   " THEN bytes + 4096 END) FROM recordings WHERE state <> 'deleted' GROUP BY 1",
	[M_OLDEST] = "SELECT id, bytes + 4096 FROM recordings WHERE " DELETABLE " AND (?1 IS NULL OR " GUEST
		     " = ?1) AND (?2 = 0 OR age_at(began_mono, began_real) < ?2) ORDER BY id LIMIT 1",
	[M_DELETED] = "SELECT id FROM recordings WHERE state = 'deleted' LIMIT 1",
	[M_PURGE] = "DELETE FROM pieces WHERE id IN (SELECT id FROM pieces WHERE recording = ?1 LIMIT ?2)",
	[M_FORGET] = "DELETE FROM recordings WHERE id = ?1",
};

struct memtraces {
	struct store store;
	struct age age;			      /* the age clock */
	struct deletion_tally open_deletions; /* of the open transaction */
	struct deletion_tally deletions;      /* committed, and not taken yet */
	uint8_t *content; /* ARCHIVE_PIECE_MAX bytes, for a piece that is decoded only to check it */
};

/* The SQL function age_at(mono, real). */
static void sql_age(sqlite3_context *c, int n, sqlite3_value **values)
{
	(void)n;
	sqlite3_result_int64(
		c, age_at(sqlite3_user_data(c), sqlite3_value_int64(values[0]), sqlite3_value_int64(values[1])));
}

static int load(void *context)
{
	struct memtraces *m = context;
	int rc = age_load(&m->age, m->store.db);

	if (rc == SQLITE_OK)
		rc = sqlite3_create_function(m->store.db, "age_at", 2, SQLITE_UTF8 | SQLITE_DIRECTONLY, &m->age,
					     sql_age, NULL, NULL);
	return database_error(m->store.db, rc);
}

static void on_ended(void *context, bool committed)
{
	struct memtraces *m = context;

	if (committed)
		deletion_tally_move(&m->deletions, &m->open_deletions);
	m->open_deletions.n = 0;
}

static const struct store_format format = {
	.directory = "memtraces",
	.file = "memtraces.db",
	.migrations = migrations_memtraces,
	.sql = sql,
	.n_statements = M_STATEMENTS,
	.opened = load,
	.ended = on_ended,
};

int memtraces_open(struct memtraces **mp, const char *state, const struct archive_options *options, char *sentence,
		   size_t size)
{
	CLEANUP(memtraces_freep) struct memtraces *m = calloc(1, sizeof(*m));
	int r;

	snprintf(sentence, size, "no memory left to open the archive");
	if (!m)
		return -ENOMEM;
	r = store_open(&m->store, state, &format, options, m, sentence, size);
	if (r != 0)
		return r;
	m->content = malloc(ARCHIVE_PIECE_MAX);
	if (!m->content)
		return -ENOMEM;
	*mp = TAKE_PTR(m);
	return 0;
}

struct memtraces *memtraces_free(struct memtraces *m)
{
	if (!m)
		return NULL;
	store_close(&m->store);
	age_deinit(&m->age);
	free(m->content);
	free(m);
	return NULL;
}

void memtraces_level(struct memtraces *m, int level)
{
	m->store.encoder.level = level;
}

int memtraces_begin(struct memtraces *m)
{
	return store_begin(&m->store);
}

int memtraces_commit(struct memtraces *m)
{
	return store_commit(&m->store, false);
}

void memtraces_rollback(struct memtraces *m)
{
	store_rollback(&m->store);
}

int memtraces_last_id(struct memtraces *m, int64_t *id)
{
	return database_number(m->store.db, sql[M_LAST_ID], id);
}

/* Bind VALUE, or NULL if VALUE is 0 (unknown). */
static void bind_some(sqlite3_stmt *s, int at, uint64_t value)
{
	if (value)
		sqlite3_bind_int64(s, at, (int64_t)value);
}

static void bind_recording(sqlite3_stmt *s, const struct memtrace *m)
{
	const char *const texts[] = {m->origin, m->state, m->reason};

	sqlite3_bind_int64(s, 1, m->id);
	bind_some(s, 2, (uint64_t)m->run);
	statement_bind_text(s, 3, m->name);
	statement_bind_text(s, 4, m->uuid);
	if (m->domid >= 0)
		sqlite3_bind_int64(s, 5, m->domid);
	statement_bind_text(s, 6, m->address);
	sqlite3_bind_int64(s, 7, m->port);
	for (int i = 0; i < 3; i++)
		statement_bind_text(s, 8 + i, texts[i]);
	sqlite3_bind_int64(s, 11, (int64_t)m->began_real);
	sqlite3_bind_int64(s, 12, (int64_t)m->began_mono);
	bind_some(s, 13, m->ended_real);
	bind_some(s, 14, m->ended_mono);
	sqlite3_bind_int64(s, 15, (int64_t)m->bytes);
	sqlite3_bind_int64(s, 16, (int64_t)m->packets);
	sqlite3_bind_int64(s, 17, (int64_t)m->dropped);
	sqlite3_bind_int64(s, 18, m->version);
	statement_bind_text(s, 19, m->program);
	statement_bind_text(s, 20, m->host);
	if (m->has_pid)
		sqlite3_bind_int64(s, 21, m->pid);
	if (m->rate > 0)
		sqlite3_bind_double(s, 22, m->rate);
	statement_bind_text(s, 23, m->context);
	bind_some(s, 24, m->connected_mono);
}

int memtraces_put(struct memtraces *m, const struct memtrace *recording)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&m->store.statements, M_PUT, NO_VALUES, &s);

	if (!s)
		return r;
	bind_recording(s, recording);
	r = statement_step(&m->store.statements, s);
	return r ? r : statement_run(&m->store.statements, M_NOTE_ID, VALUES(recording->id));
}

int memtraces_append(struct memtraces *m, int64_t id, uint64_t offset, const uint8_t *data, uint32_t length)
{
	struct codec_row row = codec_encode(&m->store.encoder, data, length);
	const struct checksum_row sum = {.numbers = {id, (int64_t)offset, length, row.codec},
					 .n = 4,
					 .data = row.data,
					 .data_bytes = row.length};
	uint8_t checksum[CHECKSUM_BYTES];
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&m->store.statements, M_APPEND, VALUES(id, (int64_t)offset, length, row.codec), &s);

	if (!s)
		return r;
	sqlite3_bind_blob64(s, 5, row.data, row.length, SQLITE_STATIC);
	checksum_make(&sum, checksum);
	sqlite3_bind_blob(s, 6, checksum, sizeof(checksum), SQLITE_STATIC);
	return statement_step(&m->store.statements, s);
}

/* Return whether the current row of S, a piece, is undamaged and begins at the offset AT. */
static bool piece_holds(struct memtraces *m, sqlite3_stmt *s, int64_t at)
{
	const void *data = sqlite3_column_blob(s, 4);
	struct checksum_row row = {.n = 4, .data = data, .data_bytes = (size_t)sqlite3_column_bytes(s, 4)};
	int64_t length = sqlite3_column_int64(s, 2);

	for (int i = 0; i < 4; i++)
		row.numbers[i] = sqlite3_column_int64(s, i);
	return row.numbers[1] == at && checksum_holds(s, 5, sqlite3_column_int(s, 6) != 0, &row) && length >= 1 &&
	       length <= ARCHIVE_PIECE_MAX && data &&
	       codec_decode(&m->store.decoder, sqlite3_column_int(s, 3), data, row.data_bytes, m->content,
			    (size_t)length);
}

/*
 * Set *END to the end of the undamaged pieces at the recording's beginning. If a damaged piece
 * follows, add 1 to *PIECES.
 */
static int find_end(struct memtraces *m, int64_t id, int64_t *end, uint64_t *pieces)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&m->store.statements, M_PIECES, VALUES(id), &s);

	*end = 0;
	if (!s)
		return r;
	while ((r = statement_step(&m->store.statements, s)) == STATEMENT_ROW) {
		if (!piece_holds(m, s, *end)) {
			++*pieces;
			return 0;
		}
		*end += sqlite3_column_int64(s, 2);
	}
	return r;
}

/* Count BYTES of recording ID as deleted because they were damaged. */
static void tally_damage(struct memtraces *m, int64_t id, uint64_t bytes)
{
	struct deletion deletion = {.reason = DELETION_DAMAGE, .bytes = bytes};
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;

	(void)statement_get(&m->store.statements, M_NAME, VALUES(id), &s);
	if (s && statement_step(&m->store.statements, s) == STATEMENT_ROW)
		snprintf(deletion.guest, sizeof(deletion.guest), "%s", column_string(s, 0));
	deletion_tally_add(&m->open_deletions, &deletion);
}

int memtraces_repair(struct memtraces *m, int64_t id, uint64_t *pieces)
{
	int64_t bytes = 0, end;
	int r;

	*pieces = 0;
	{
		CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;

		r = statement_get(&m->store.statements, M_EXTENT, VALUES(id), &s);
		if (!s)
			return r;
		r = statement_step(&m->store.statements, s);
		if (r != STATEMENT_ROW)
			return r ? r : ARCHIVE_E_ABSENT;
		bytes = sqlite3_column_int64(s, 0);
	}
	r = find_end(m, id, &end, pieces);
	if (r != 0 || (end == bytes && *pieces == 0))
		return r;
	*pieces += *pieces == 0; /* a piece is missing */
	r = statement_run(&m->store.statements, M_DELETE_FROM, VALUES(id, end));
	if (r == 0)
		r = statement_run(&m->store.statements, M_CUT, VALUES(id, end));
	if (r == 0)
		tally_damage(m, id, bytes > end ? (uint64_t)(bytes - end) : 0);
	return r;
}

/*
 * R is the result of a statement that changes one row. Return ARCHIVE_E_ABSENT if R is 0 and no row
 * was changed; else R.
 */
static int changed(struct memtraces *m, int r)
{
	return r ? r : sqlite3_changes(m->store.db) ? 0 : ARCHIVE_E_ABSENT;
}

int memtraces_patch(struct memtraces *m, int64_t id, int pinned, const char *note)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&m->store.statements, M_PATCH, VALUES(id), &s);

	if (!s)
		return r;
	if (pinned >= 0)
		sqlite3_bind_int64(s, 2, pinned);
	statement_bind_text(s, 3, note);
	return changed(m, statement_step(&m->store.statements, s));
}

/* Mark recording ID as deleted, for REASON. Return as memtraces_delete(). */
static int delete_for(struct memtraces *m, int64_t id, enum deletion_reason reason)
{
	struct deletion deletion = {.reason = reason, .captures = 1};
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&m->store.statements, M_DELETE, VALUES(id), &s);

	if (!s)
		return r;
	r = statement_step(&m->store.statements, s);
	if (r != STATEMENT_ROW)
		return r ? r : ARCHIVE_E_ABSENT;
	snprintf(deletion.guest, sizeof(deletion.guest), "%s", column_string(s, 0));
	deletion.bytes = column_u64(s, 1);
	deletion_tally_add(&m->open_deletions, &deletion);
	return 0;
}

int memtraces_delete(struct memtraces *m, int64_t id)
{
	return delete_for(m, id, DELETION_REQUEST);
}

int memtraces_end_all(struct memtraces *m, const char *reason, uint64_t real, uint64_t mono)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&m->store.statements, M_END_ALL, NO_VALUES, &s);

	if (!s)
		return r;
	statement_bind_text(s, 1, reason);
	sqlite3_bind_int64(s, 2, (int64_t)real);
	sqlite3_bind_int64(s, 3, (int64_t)mono);
	return statement_step(&m->store.statements, s);
}

int memtraces_sums(struct memtraces *m, memtraces_sum_call *call, void *context)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&m->store.statements, M_SUMS, NO_VALUES, &s);

	while (s && (r = statement_step(&m->store.statements, s)) == STATEMENT_ROW) {
		r = call(context, (const char *)sqlite3_column_text(s, 0), (uint64_t)sqlite3_column_int64(s, 1),
			 (uint64_t)sqlite3_column_int64(s, 2));
		if (r)
			return r;
	}
	return r;
}

int memtraces_delete_oldest(struct memtraces *m, const char *guest, uint64_t before_age, enum deletion_reason reason,
			    uint64_t *bytes)
{
	int64_t id;
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&m->store.statements, M_OLDEST, NO_VALUES, &s);

	*bytes = 0;
	if (!s)
		return r;
	statement_bind_text(s, 1, guest);
	sqlite3_bind_int64(s, 2, (int64_t)before_age);
	r = statement_step(&m->store.statements, s);
	if (r != STATEMENT_ROW)
		return r ? r : ARCHIVE_E_ABSENT;
	id = sqlite3_column_int64(s, 0);
	*bytes = (uint64_t)sqlite3_column_int64(s, 1);
	return delete_for(m, id, reason);
}

int memtraces_purge(struct memtraces *m, unsigned limit, bool *more)
{
	int64_t id;
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&m->store.statements, M_DELETED, NO_VALUES, &s);

	*more = false;
	if (!s)
		return r;
	r = statement_step(&m->store.statements, s);
	if (r != STATEMENT_ROW)
		return r;
	*more = true;
	id = sqlite3_column_int64(s, 0);
	r = statement_run(&m->store.statements, M_PURGE, VALUES(id, limit));
	if (r == 0 && sqlite3_changes(m->store.db) < (int)limit)
		r = statement_run(&m->store.statements, M_FORGET, VALUES(id));
	return r;
}

struct store *memtraces_store(struct memtraces *m)
{
	return &m->store;
}

void memtraces_run_age(struct memtraces *m, bool may_write)
{
	age_run(&m->age, &m->store, may_write);
}

const struct age *memtraces_age(const struct memtraces *m)
{
	return &m->age;
}

struct deletion_tally *memtraces_deletions(struct memtraces *m)
{
	return &m->deletions;
}
