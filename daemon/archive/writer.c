/*
 * The only writer of the trace archive: open and close, transactions, and input.
 *
 * Invariants: a packet's rows follow each other from offset 30 without a hole; the row with
 * ARCHIVE_CHUNK_LAST is the packet's last row; the usage (usage.h) equals the sum of the lengths in
 * the tables chunks and tails.
 *
 * Appending to a growing packet writes two database pages only: the end of the table chunks, and
 * one page of its index. Therefore rows are counted only when their packet is complete, and there
 * is no table of packets.
 */
#include "array.h"
#include "database.h"
#include "index-entries.h"
#include "outbox-sum.h"
#include "row-sums.h"
#include "space.h"
#include "writer-state.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const sql[STATEMENTS] = {
#define STATEMENT(name, text) [STATEMENT_##name] = text,
#include "writer-statements.def"
};

static int load_usage(void *context)
{
	struct archive_writer *w = context;
	static const enum writer_statement sums[] = {STATEMENT_USAGE_CHUNKS, STATEMENT_USAGE_TAILS};
	CLEANUP(statement_resetp) sqlite3_stmt *streams = NULL;
	int r;

	usage_deinit(&w->usage);
	r = statement_get(&w->store.statements, STATEMENT_USAGE_STREAMS, NO_VALUES, &streams);
	while (streams && (r = statement_step(&w->store.statements, streams)) == STATEMENT_ROW)
		if (usage_add_stream(&w->usage, sqlite3_column_int64(streams, 0)) < 0)
			return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(sums) && r == 0; i++) {
		CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;

		r = statement_get(&w->store.statements, sums[i], NO_VALUES, &s);
		while (s && (r = statement_step(&w->store.statements, s)) == STATEMENT_ROW)
			usage_add(&w->usage, sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1));
	}
	usage_commit(&w->usage);
	return r;
}

int writer_recount(struct archive_writer *w, int64_t stream)
{
	static const enum writer_statement sums[] = {STATEMENT_STREAM_CHUNKS, STATEMENT_STREAM_TAILS};
	int64_t bytes, total = 0;
	bool is_null;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sums) && r == 0; i++) {
		r = statement_number(&w->store.statements, sums[i], 1, &stream, &bytes, &is_null);
		total += bytes;
	}
	if (r == 0)
		usage_add(&w->usage, stream, total - usage_bytes(&w->usage, stream));
	return r;
}

/* The SQL functions age_at(mono, real) and age_at_real(real). */
static void sql_age(sqlite3_context *c, int n, sqlite3_value **values)
{
	const struct age *age = sqlite3_user_data(c);

	sqlite3_result_int64(c, n == 1 ? age_at_real(age, sqlite3_value_int64(values[0]))
				       : age_at(age, sqlite3_value_int64(values[0]), sqlite3_value_int64(values[1])));
}

static int load(void *context)
{
	const int flags = SQLITE_UTF8 | SQLITE_DIRECTONLY;
	struct archive_writer *w = context;
	int rc = age_load(&w->age, w->store.db);

	if (rc == SQLITE_OK)
		rc = sqlite3_create_function(w->store.db, "age_at", 2, flags, &w->age, sql_age, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_create_function(w->store.db, "age_at_real", 1, flags, &w->age, sql_age, NULL, NULL);
	if (rc != SQLITE_OK)
		return database_error(w->store.db, rc);
	rc = outbox_open(w);
	if (rc == 0)
		rc = row_sums_open(w);
	return rc ? rc : load_usage(w);
}

static void on_ended(void *context, bool committed)
{
	struct archive_writer *w = context;

	if (committed)
		deletion_tally_move(&w->deletions, &w->open_deletions);
	w->open_deletions.n = 0;
	if (committed)
		usage_commit(&w->usage);
	else
		usage_rollback(&w->usage);
	w->wants_sync = false;
}

static const struct store_format format = {
	.directory = "archive",
	.file = "trace.db",
	.migrations = migrations_trace,
	.sql = sql,
	.n_statements = STATEMENTS,
	.opened = load,
	.ended = on_ended,
};

int archive_writer_open(struct archive_writer **wp, const char *state, const struct archive_options *options,
			char *sentence, size_t size)
{
	CLEANUP(archive_writer_freep) struct archive_writer *w = calloc(1, sizeof(*w));
	int r;

	snprintf(sentence, size, "no memory left to open the archive");
	if (!w)
		return -ENOMEM;
	w->hold_fd = -1;
	r = store_open(&w->store, state, &format, options, w, sentence, size);
	if (r != 0)
		return r;
	w->in = malloc(ARCHIVE_PIECE_MAX);
	w->out = malloc(ARCHIVE_PIECE_MAX);
	if (!w->in || !w->out)
		return -ENOMEM;
	/*
	 * If the disk is full, the lock file may not be created. Readers then cannot delay
	 * deletion.
	 */
	(void)hold_open(w->store.directory_fd, ARCHIVE_HOLD, &w->hold_fd);
	*wp = TAKE_PTR(w);
	return 0;
}

struct archive_writer *archive_writer_free(struct archive_writer *w)
{
	if (!w)
		return NULL;
	store_close(&w->store);
	usage_deinit(&w->usage);
	age_deinit(&w->age);
	pinned_deinit(&w->pinned);
	free(w->in);
	free(w->out);
	free(w->ends.bytes);
	closep(&w->hold_fd);
	free(w);
	return NULL;
}

void archive_writer_level(struct archive_writer *w, int level)
{
	w->store.encoder.level = level;
}

int archive_writer_begin(struct archive_writer *w)
{
	return store_begin(&w->store);
}

int archive_writer_commit(struct archive_writer *w)
{
	return store_commit(&w->store, w->wants_sync);
}

void archive_writer_rollback(struct archive_writer *w)
{
	store_rollback(&w->store);
}

int writer_enter(struct archive_writer *w, bool *is_mine)
{
	*is_mine = !w->store.in_transaction;
	return *is_mine ? archive_writer_begin(w) : 0;
}

int writer_leave(struct archive_writer *w, bool is_mine, int r)
{
	if (!is_mine)
		return r;
	if (r == 0)
		return archive_writer_commit(w);
	archive_writer_rollback(w);
	return r;
}

void archive_writer_run_age(struct archive_writer *w, bool may_write)
{
	age_run(&w->age, &w->store, may_write);
}

const struct age *archive_writer_age(const struct archive_writer *w)
{
	return &w->age;
}

struct deletion_tally *archive_writer_deletions(struct archive_writer *w)
{
	return &w->deletions;
}

/* Count DELETION of the guest that the statement WHICH finds by ID. */
static int tally(struct archive_writer *w, enum writer_statement which, int64_t id, const struct deletion *deletion)
{
	struct deletion of_guest = *deletion;
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = 0;

	snprintf(of_guest.guest, sizeof(of_guest.guest), "%s", w->deleted_of ? w->deleted_of : "");
	/* Where SQLite finds damage in a transaction, it writes no more until its end. */
	if (!w->deleted_of)
		r = statement_get(&w->store.statements, which, VALUES(id), &s);
	if (s)
		r = statement_step(&w->store.statements, s);
	if (r == STATEMENT_ROW)
		snprintf(of_guest.guest, sizeof(of_guest.guest), "%s", column_string(s, 1));
	/* To read a page, SQLite may have to write others: it fails on a full disk, and the transaction is over. */
	else if (r != 0 && r != -EBADMSG)
		return r;
	deletion_tally_add(w->store.in_transaction ? &w->open_deletions : &w->deletions, &of_guest);
	return 0;
}

int writer_tally_run(struct archive_writer *w, int64_t id, const struct deletion *deletion)
{
	return tally(w, STATEMENT_NAME_OF_RUN, id, deletion);
}

int writer_tally_stream(struct archive_writer *w, int64_t id, const struct deletion *deletion)
{
	return tally(w, STATEMENT_NAME_OF_STREAM, id, deletion);
}

int archive_writer_put_run(struct archive_writer *w, const struct archive_run *run)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, STATEMENT_PUT_RUN, VALUES(run->id), &s);

	if (!s)
		return r;
	statement_bind_text(s, 2, run->source);
	statement_bind_text(s, 3, run->key);
	statement_bind_text(s, 4, run->name);
	statement_bind_text(s, 5, run->uuid);
	if (run->domid >= 0)
		sqlite3_bind_int64(s, 6, run->domid);
	statement_bind_text(s, 7, run->state);
	sqlite3_bind_int64(s, 8, (int64_t)run->began_real);
	if (run->ended_real)
		sqlite3_bind_int64(s, 9, (int64_t)run->ended_real);
	statement_bind_text(s, 10, run->reason);
	r = statement_step(&w->store.statements, s);
	return r ? r : WRITER_RUN(w, STATEMENT_NOTE_IDS, run->id, 0, 0);
}

int archive_writer_put_stream(struct archive_writer *w, const struct archive_stream *stream)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, STATEMENT_PUT_STREAM,
			      VALUES(stream->id, stream->run, stream->number), &s);

	if (!s)
		return r;
	statement_bind_text(s, 4, stream->name);
	sqlite3_bind_int64(s, 5, (int64_t)stream->ring_bytes);
	sqlite3_bind_int64(s, 6, stream->ring_packets);
	sqlite3_bind_int64(s, 7, stream->flags);
	r = statement_step(&w->store.statements, s);
	if (r == 0)
		r = WRITER_RUN(w, STATEMENT_NOTE_IDS, 0, stream->id, 0);
	if (r == 0 && stream->has_begins)
		r = WRITER_RUN(w, STATEMENT_PUT_BEGINNING, stream->id, (int64_t)stream->begins);
	return r ? r : usage_add_stream(&w->usage, stream->id);
}

int writer_packet_end(struct archive_writer *w, int64_t stream, uint64_t sequence, struct packet_end *end)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, STATEMENT_PACKET_END, VALUES(stream, (int64_t)sequence), &s);

	*end = (struct packet_end){.offset = MPROF_PACKET_HEADER_BYTES};
	if (!s)
		return r;
	r = statement_step(&w->store.statements, s);
	if (r != STATEMENT_ROW)
		return r;
	end->any = true;
	end->id = sqlite3_column_int64(s, 0);
	end->row_begin = (uint32_t)sqlite3_column_int64(s, 1);
	end->offset = end->row_begin + (uint32_t)sqlite3_column_int64(s, 2);
	end->flags = (uint32_t)sqlite3_column_int64(s, 3);
	end->first_timestamp = (uint64_t)sqlite3_column_int64(s, 4);
	end->packet_bytes = (uint32_t)sqlite3_column_int64(s, 5);
	return 0;
}

int writer_row_end(struct archive_writer *w, int64_t id, struct archive_end *end)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, STATEMENT_READ_ENDS, VALUES(id), &s);

	if (!s)
		return r;
	*end = (struct archive_end){0};
	r = statement_step(&w->store.statements, s);
	if (r != STATEMENT_ROW) /* the index names a row that is not there */
		return r ? r : ARCHIVE_E_DAMAGED;
	*end = ends_last(sqlite3_column_blob(s, 8), (size_t)sqlite3_column_bytes(s, 8));
	return writer_row_holds(s, false) ? 0 : ARCHIVE_E_DAMAGED;
}

int writer_insert_chunk(struct archive_writer *w, const struct archive_piece *piece, const uint8_t *packed, size_t n)
{
	struct codec_row row = codec_encode(&w->store.encoder, piece->data, piece->length);
	const struct checksum_row sum = {
		.numbers = {piece->stream, (int64_t)piece->sequence, piece->offset, piece->length, piece->flags,
			    (int64_t)piece->first_timestamp, piece->packet_bytes, row.codec},
		.n = 8,
		.ends = packed,
		.ends_bytes = n,
		.data = row.data,
		.data_bytes = row.length,
	};
	uint8_t checksum[CHECKSUM_BYTES];
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, STATEMENT_INSERT_CHUNK, NO_VALUES, &s);

	if (!s)
		return r;
	checksum_make(&sum, checksum);
	for (int i = 0; i < 8; i++)
		sqlite3_bind_int64(s, i + 1, sum.numbers[i]);
	statement_bind_bytes(s, 9, packed, n);
	statement_bind_bytes(s, 10, row.data, row.length);
	sqlite3_bind_blob(s, 11, checksum, sizeof(checksum), SQLITE_STATIC);
	return statement_step(&w->store.statements, s);
}

/* Insert PIECE as one row. */
static int insert_piece(struct archive_writer *w, const struct archive_piece *piece)
{
	int r;

	w->ends.len = 0;
	r = ends_pack(&w->ends, piece->ends, piece->n_ends);
	return r ? r : writer_insert_chunk(w, piece, w->ends.bytes, w->ends.len);
}

static int complete_packet(struct archive_writer *w, const struct archive_piece *piece, const struct packet_end *end)
{
	struct archive_end last = {0};
	int r = 0;

	if (piece->n_ends)
		last = piece->ends[piece->n_ends - 1];
	else if (end->any)
		r = writer_row_end(w, end->id, &last);
	if (r == 0 || r == ARCHIVE_E_DAMAGED) /* packet_compact() reads the row again and finds the damage */
		r = end->any ? packet_compact(w, piece, end, true) : insert_piece(w, piece);
	if (r == 0)
		r = WRITER_RUN(w, STATEMENT_COUNT_PACKET, piece->stream, piece->offset + piece->length,
			       (int64_t)last.real, (int64_t)piece->sequence);
	return r ? r : outbox_add_packet(w, piece->stream, piece->sequence, last.real);
}

/*
 * Return whether PIECE completes a mebibyte of its packet and ends at a chunk end: that mebibyte is
 * then compacted (compaction.c).
 */
static bool fills_row(const struct archive_piece *piece)
{
	uint32_t begin = piece->offset - MPROF_PACKET_HEADER_BYTES, end = begin + piece->length;

	return begin / ARCHIVE_PIECE_MAX != end / ARCHIVE_PIECE_MAX && piece->n_ends &&
	       piece->ends[piece->n_ends - 1].offset == piece->offset + piece->length;
}

/* Remove the bytes that are stored already (those before END) from the beginning of PIECE. */
static void trim_piece(struct archive_piece *piece, const struct packet_end *end)
{
	uint32_t known = end->offset - piece->offset;

	if (known > piece->length)
		known = piece->length;
	piece->offset = end->offset;
	piece->length -= known;
	piece->data += known;
	while (piece->n_ends && piece->ends[0].offset <= end->offset) {
		piece->ends++;
		piece->n_ends--;
	}
	piece->first_timestamp = end->first_timestamp;
	piece->packet_bytes = end->packet_bytes;
}

static bool piece_holds(const struct archive_writer *w, const struct archive_piece *piece)
{
	return w->store.in_transaction && piece->offset >= MPROF_PACKET_HEADER_BYTES &&
	       piece->length <= ARCHIVE_PIECE_MAX && piece->length <= UINT32_MAX - piece->offset &&
	       (piece->length == 0 || piece->data);
}

int writer_mend(struct archive_writer *w, int64_t stream, uint64_t sequence)
{
	bool mended;
	int r = index_entries_mend(w, stream, sequence, 0, &mended);

	w->damage.pieces += r == 0 && mended;
	return r;
}

/*
 * Find the end of the packet that PIECE continues. The index alone tells it. So let the index agree with the rows before PIECE is dropped or cut by
 * it, and before rows are replaced: SQLite changes no row that differs from its entry.
 */
static int find_end(struct archive_writer *w, const struct archive_piece *piece, struct packet_end *end)
{
	int r = writer_packet_end(w, piece->stream, piece->sequence, end);
	const bool replaces = end->any && (piece->flags & ARCHIVE_CHUNK_LAST || fills_row(piece));

	if (r != 0 || (piece->offset == end->offset && !replaces && !(end->flags & ARCHIVE_CHUNK_LAST)))
		return r;
	r = writer_mend(w, piece->stream, piece->sequence);
	return r ? r : writer_packet_end(w, piece->stream, piece->sequence, end);
}

/* Append PIECE. Return as archive_writer_append(), or ARCHIVE_E_DAMAGED with nothing changed. */
static int append(struct archive_writer *w, const struct archive_piece *piece)
{
	struct archive_piece rest = *piece; /* the part of PIECE that is not stored yet */
	struct packet_end end;
	int r;

	r = find_end(w, &rest, &end);
	if (r != 0 || end.flags & ARCHIVE_CHUNK_LAST)
		return r;
	if (rest.offset > end.offset)
		return ARCHIVE_E_ABSENT;
	if (end.any)
		trim_piece(&rest, &end);
	if (rest.flags & ARCHIVE_CHUNK_LAST)
		r = complete_packet(w, &rest, &end);
	else if (rest.length == 0)
		return 0;
	else if (end.any && fills_row(&rest))
		r = packet_compact(w, &rest, &end, false);
	else
		r = insert_piece(w, &rest);
	if (r == 0)
		usage_add(&w->usage, rest.stream, rest.length);
	return r;
}

int archive_writer_append(struct archive_writer *w, const struct archive_piece *piece)
{
	int r;

	if (!piece_holds(w, piece))
		return -EINVAL;
	if (!usage_has(&w->usage, piece->stream))
		return ARCHIVE_E_ABSENT;
	r = append(w, piece);
	if (r != ARCHIVE_E_DAMAGED)
		return r;
	/*
	 * The packet's stored rows are damaged, so PIECE does not follow them any more. The repair
	 * declares a gap from the damage to the next packet.
	 */
	return packet_repair(w, piece->stream, piece->sequence, &(bool){false});
}

static int insert_gap(struct archive_writer *w, const struct archive_gap *gap)
{
	const int64_t numbers[] = {
		gap->stream,	       (int64_t)gap->after_sequence,
		gap->after_offset,     (int64_t)gap->next_sequence,
		(int64_t)gap->packets, gap->at_least,
		(int64_t)gap->real,    (int64_t)gap->mono,
	};
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, STATEMENT_INSERT_GAP, NO_VALUES, &s);

	if (!s)
		return r;
	for (int i = 0; i < 8; i++)
		sqlite3_bind_int64(s, i + 1, numbers[i]);
	statement_bind_text(s, 9, gap->kind);
	statement_bind_text(s, 10, gap->reason);
	return statement_step(&w->store.statements, s);
}

int archive_writer_gap(struct archive_writer *w, const struct archive_gap *gap)
{
	bool is_new;
	int64_t one;
	int r;

	if (!w->store.in_transaction)
		return -EINVAL;
	if (!usage_has(&w->usage, gap->stream))
		return ARCHIVE_E_ABSENT;
	r = statement_number(
		&w->store.statements, STATEMENT_FIND_GAP,
		VALUES(gap->stream, (int64_t)gap->after_sequence, gap->after_offset, (int64_t)gap->next_sequence), &one,
		&is_new);
	if (r != 0 || !is_new)
		return r;
	r = insert_gap(w, gap);
	if (r == 0)
		r = WRITER_RUN(w, strcmp(gap->kind, "lost") == 0 ? STATEMENT_COUNT_LOST : STATEMENT_COUNT_SKIPPED,
			       gap->stream, (int64_t)gap->packets);
	if (r == 0)
		r = packet_drop_dangling(w, gap->stream, gap->after_sequence);
	/*
	 * A row before the gap is damaged: repair the packet. The repair declares a gap itself,
	 * through this function; that gap is stored already or follows undamaged rows, so the
	 * recursion ends.
	 */
	return r == ARCHIVE_E_DAMAGED ? packet_repair(w, gap->stream, gap->after_sequence, &(bool){false}) : r;
}

int archive_writer_deleted(struct archive_writer *w, int64_t stream)
{
	if (!w->store.in_transaction)
		return -EINVAL;
	if (!usage_has(&w->usage, stream))
		return ARCHIVE_E_ABSENT;
	return WRITER_RUN(w, STATEMENT_SETTLE_STREAM, stream, 1, 0, 0);
}

int archive_writer_damaged(struct archive_writer *w, int64_t stream, uint64_t packets)
{
	if (!w->store.in_transaction)
		return -EINVAL;
	if (!usage_has(&w->usage, stream))
		return ARCHIVE_E_ABSENT;
	return WRITER_RUN(w, STATEMENT_SETTLE_STREAM, stream, 0, (int64_t)(packets & INT32_MAX), 0);
}

int archive_writer_put_period(struct archive_writer *w, const struct age_period *p)
{
	if (!w->store.in_transaction || w->age.any)
		return -EINVAL;
	return age_write_period(p, &w->store);
}

static int read_ids(struct archive_writer *w, int64_t *run, int64_t *stream, int64_t *capture)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, STATEMENT_READ_IDS, NO_VALUES, &s);

	if (!s)
		return r;
	r = statement_step(&w->store.statements, s);
	if (r != STATEMENT_ROW)
		return r ? r : ARCHIVE_E_ABSENT;
	*run = sqlite3_column_int64(s, 0);
	*stream = sqlite3_column_int64(s, 1);
	*capture = sqlite3_column_int64(s, 2);
	return 0;
}

int archive_writer_last_ids(struct archive_writer *w, int64_t *run, int64_t *stream, int64_t *capture)
{
	int r = read_ids(w, run, stream, capture);

	if (r != ARCHIVE_E_ABSENT)
		return r;
	r = statement_run(&w->store.statements, STATEMENT_MAKE_IDS, NO_VALUES);
	if (r != 0)
		return r;
	log_warning(
		"The archive has lost the row of the identifiers that were given, and the name of the archive: it has "
		"new ones, and a hub takes it for another archive");
	return read_ids(w, run, stream, capture);
}

int archive_writer_name(struct archive_writer *w, char name[ARCHIVE_NAME_BYTES])
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, STATEMENT_READ_NAME, NO_VALUES, &s);

	if (!s)
		return r;
	r = statement_step(&w->store.statements, s);
	if (r != STATEMENT_ROW)
		return r ? r : ARCHIVE_E_ABSENT;
	snprintf(name, ARCHIVE_NAME_BYTES, "%s", column_string(s, 0));
	return 0;
}

/* ---- readers delay deletion ---- */

struct store *archive_writer_store(struct archive_writer *w)
{
	return &w->store;
}

bool archive_writer_begin_deleting(struct archive_writer *w)
{
	return hold_begin(w->hold_fd);
}

void archive_writer_end_deleting(struct archive_writer *w)
{
	hold_end(w->hold_fd);
}
