/*
 * Add, turn into losses, and delete rows of the outbox.
 *
 * The outbox is bounded: a capture that the archive has is one row, the complete packets of a stream
 * are one row, and LOST_MOST rows are losses. If there are more losses, the oldest are deleted and
 * counted.
 */
#include "outbox.h"

#include <errno.h>
#include <string.h>

#include "clock.h"
#include "database.h"
#include "outbox-sum.h"
#include "writer-state.h"

#define LOST_MOST 4096

/* ---- adding ---------------------------------------------------------------------------------- */

/* Count the rows that the statement WHICH selects, by run and number, as deleted for REASON. */
static int tally_rows(struct archive_writer *w, enum writer_statement which, enum deletion_reason reason)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, which, NO_VALUES, &s);

	while (s && (r = statement_step(&w->store.statements, s)) == STATEMENT_ROW) {
		r = writer_tally_run(w, sqlite3_column_int64(s, 0),
				     &(struct deletion){.reason = reason, .outbox = column_u64(s, 1)});
		if (r != 0)
			return r;
	}
	return r;
}

/* Delete all rows: nothing is sent any more. */
static int empty(struct archive_writer *w)
{
	bool is_mine;
	int r = writer_enter(w, &is_mine);

	if (r != 0)
		return r;
	r = tally_rows(w, STATEMENT_OUTBOX_BY_RUN, DELETION_UNSENT);
	if (r == 0)
		r = statement_run(&w->store.statements, STATEMENT_OUTBOX_EMPTY, NO_VALUES);
	return writer_leave(w, is_mine, r);
}

int archive_writer_send(struct archive_writer *w, archive_send_call *call, const void *context)
{
	int64_t rows = 0;
	bool is_null;
	int r;

	w->send = call;
	w->send_context = context;
	if (call)
		return 0;
	r = statement_number(&w->store.statements, STATEMENT_OUTBOX_ANY, NO_VALUES, &rows, &is_null);
	return r == 0 && rows ? empty(w) : r;
}

/* Set *SEND to what is sent of the guest that the statement WHICH finds by ID, and *RUN to its run. */
static int send_of(struct archive_writer *w, enum writer_statement which, int64_t id, enum archive_send *send,
		   int64_t *run)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, which, VALUES(id), &s);

	*send = ARCHIVE_SEND_NOTHING;
	*run = 0;
	if (!s)
		return r;
	r = statement_step(&w->store.statements, s);
	if (r != STATEMENT_ROW)
		return r;
	*run = sqlite3_column_int64(s, 0);
	*send = w->send(w->send_context, column_string(s, 1));
	return 0;
}

/* Return how soon a capture of KIND is sent: the column urgency. */
static int64_t urgency_of(const char *kind)
{
	return strcmp(kind, "crash") == 0 || strcmp(kind, "watchdog") == 0 ? 0 : 1;
}

/* Return whether a capture of KIND is not sent yet, because the reader has not looked at it. */
static bool is_unread(const char *kind)
{
	return strcmp(kind, ARCHIVE_UNREAD) == 0;
}

int outbox_add_capture(struct archive_writer *w, const struct archive_capture *capture)
{
	enum archive_send send;
	int64_t run;
	int r;

	if (!w->send || is_unread(capture->kind))
		return 0;
	r = send_of(w, STATEMENT_NAME_OF_RUN, capture->run, &send, &run);
	if (r != 0 || send == ARCHIVE_SEND_NOTHING)
		return r;
	return WRITER_RUN(w, STATEMENT_OUTBOX_CAPTURE, 0, urgency_of(capture->kind), (int64_t)capture->real,
			  capture->run, capture->id);
}

int outbox_add_packet(struct archive_writer *w, int64_t stream, uint64_t sequence, uint64_t real)
{
	enum archive_send send;
	int64_t run;
	int r;

	if (!w->send)
		return 0;
	r = send_of(w, STATEMENT_NAME_OF_STREAM, stream, &send, &run);
	if (r != 0 || send != ARCHIVE_SEND_ALL)
		return r;
	real = real ? real : clock_real();
	r = WRITER_RUN(w, STATEMENT_OUTBOX_EXTEND, stream, (int64_t)sequence);
	if (r != 0 || sqlite3_changes(w->store.db))
		return r;
	return WRITER_RUN(w, STATEMENT_OUTBOX_PACKETS, (int64_t)real, run, stream, (int64_t)sequence);
}

int archive_writer_finish_capture(struct archive_writer *w, int64_t capture)
{
	return WRITER_RUN(w, STATEMENT_OUTBOX_READY, capture);
}

int archive_writer_finish_old(struct archive_writer *w, int64_t last)
{
	return WRITER_RUN(w, STATEMENT_OUTBOX_READY_OLD, last);
}

/* Add the capture of the current row of S (id, run, kind, real) as ready. */
static int send_again(struct archive_writer *w, sqlite3_stmt *s)
{
	const int64_t id = sqlite3_column_int64(s, 0), urgency = urgency_of(column_string(s, 2));
	enum archive_send send;
	int64_t run;
	int r = send_of(w, STATEMENT_NAME_OF_RUN, sqlite3_column_int64(s, 1), &send, &run);

	if (r != 0 || send == ARCHIVE_SEND_NOTHING || is_unread(column_string(s, 2)))
		return r;
	return WRITER_RUN(w, STATEMENT_OUTBOX_CAPTURE, 1, urgency, sqlite3_column_int64(s, 3), run, id);
}

int archive_writer_send_again(struct archive_writer *w, int64_t capture)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r;

	if (!w->send)
		return 0;
	r = statement_get(&w->store.statements, STATEMENT_OUTBOX_FIND, VALUES(capture), &s);
	if (!s)
		return r;
	r = statement_step(&w->store.statements, s);
	return r == STATEMENT_ROW ? send_again(w, s) : r ? r : ARCHIVE_E_ABSENT;
}

int archive_writer_send_packets_again(struct archive_writer *w, int64_t stream, uint64_t first, uint64_t last)
{
	enum archive_send send;
	int64_t run;
	int r;

	if (!w->send)
		return 0;
	r = send_of(w, STATEMENT_NAME_OF_STREAM, stream, &send, &run);
	if (r != 0 || send != ARCHIVE_SEND_ALL)
		return r;
	r = WRITER_RUN(w, STATEMENT_OUTBOX_WIDEN, stream, (int64_t)first, (int64_t)last);
	if (r != 0 || sqlite3_changes(w->store.db))
		return r;
	r = WRITER_RUN(w, STATEMENT_OUTBOX_PACKETS, (int64_t)clock_real(), run, stream, (int64_t)first);
	return r ? r : WRITER_RUN(w, STATEMENT_OUTBOX_EXTEND, stream, (int64_t)last);
}

/* ---- losses ---------------------------------------------------------------------------------- */

/* Delete the oldest losses that are too many, and count them. */
static int bound_losses(struct archive_writer *w)
{
	int64_t n, many;
	bool is_null;
	int r = statement_number(&w->store.statements, STATEMENT_OUTBOX_LOSSES, NO_VALUES, &n, &is_null);

	if (r != 0 || n <= LOST_MOST)
		return r;
	many = n - LOST_MOST;
	r = WRITER_RUN(w, STATEMENT_OUTBOX_FORGET, many);
	return r ? r : WRITER_RUN(w, STATEMENT_OUTBOX_COUNT, 0, 0, many);
}

int outbox_lose_packet(struct archive_writer *w, int64_t stream, uint64_t sequence, uint64_t real, uint64_t bytes)
{
	int64_t run = 0, one;
	bool is_free;
	int r;

	if (!w->send)
		return 0;
	r = statement_number(&w->store.statements, STATEMENT_OUTBOX_NAMES, VALUES(stream, (int64_t)sequence), &one,
			     &is_free);
	if (r != 0 || is_free)
		return r;
	real = real ? real : clock_real();
	/* The row of the run may be damaged, and is not needed. */
	r = statement_number(&w->store.statements, STATEMENT_RUN_OF_STREAM, VALUES(stream), &run, &is_free);
	if (r == 0)
		r = WRITER_RUN(w, STATEMENT_OUTBOX_SHORTEN, stream, (int64_t)sequence);
	if (r == 0)
		r = WRITER_RUN(w, STATEMENT_OUTBOX_SPENT, stream);
	if (r == 0)
		r = WRITER_RUN(w, STATEMENT_OUTBOX_COUNT, 1, 0, 0);
	if (r == 0)
		r = WRITER_RUN(w, STATEMENT_OUTBOX_LOSE_MORE, stream, (int64_t)sequence, (int64_t)real, (int64_t)bytes);
	if (r != 0 || sqlite3_changes(w->store.db))
		return r;
	r = WRITER_RUN(w, STATEMENT_OUTBOX_LOSE, (int64_t)real, run, stream, (int64_t)sequence, (int64_t)bytes);
	return r ? r : bound_losses(w);
}

int outbox_lose_damaged(struct archive_writer *w, int64_t stream, uint64_t first, uint64_t last)
{
	int64_t packets = 0;
	int r;

	if (!w->send)
		return 0;
	r = WRITER_RUN(w, STATEMENT_OUTBOX_LOSE_DAMAGED, stream, (int64_t)first, (int64_t)last, (int64_t)clock_real());
	if (r != 0 || !sqlite3_changes(w->store.db))
		return r;
	packets = last - first < INT32_MAX ? (int64_t)(last - first) + 1 : 1;
	r = WRITER_RUN(w, STATEMENT_OUTBOX_COUNT, packets, 0, 0);
	return r ? r : bound_losses(w);
}

int outbox_lose_capture(struct archive_writer *w, int64_t capture, enum deletion_reason reason)
{
	const int64_t code = reason == DELETION_REQUEST ? 1 : reason == DELETION_DAMAGE ? 2 : 0;
	int r = WRITER_RUN(w, STATEMENT_OUTBOX_LOSE_CAPTURE, capture, code);

	if (r != 0 || !sqlite3_changes(w->store.db))
		return r;
	r = WRITER_RUN(w, STATEMENT_OUTBOX_COUNT, 0, 1, 0);
	return r ? r : bound_losses(w);
}

/* ---- acknowledgements ------------------------------------------------------------------------ */

int archive_writer_sent(struct archive_writer *w, const struct archive_sent *sent)
{
	bool is_mine, is_absent;
	int64_t one;
	int r = writer_enter(w, &is_mine);

	if (r != 0)
		return r;
	r = statement_number(&w->store.statements, STATEMENT_OUTBOX_HAS, VALUES(sent->id), &one, &is_absent);
	if (r == 0 && is_absent)
		r = ARCHIVE_E_ABSENT;
	/* Delete the row unless it has more; then what is left is the rest of it. */
	if (r == 0)
		r = WRITER_RUN(w, STATEMENT_OUTBOX_SENT, sent->id, (int64_t)sent->sequence);
	if (r == 0)
		r = WRITER_RUN(w, STATEMENT_OUTBOX_REST, sent->id, (int64_t)sent->sequence, (int64_t)sent->packets,
			       (int64_t)sent->bytes);
	return writer_leave(w, is_mine, r);
}

int archive_writer_outbox(struct archive_writer *w, struct archive_outbox *outbox)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, STATEMENT_OUTBOX_SUMS, NO_VALUES, &s);

	*outbox = (struct archive_outbox){0};
	if (!s)
		return r;
	r = statement_step(&w->store.statements, s);
	if (r != STATEMENT_ROW)
		return r;
	*outbox = (struct archive_outbox){
		.rows = column_u64(s, 0),
		.oldest_real = column_u64(s, 1),
		.lost_packets = column_u64(s, 2),
		.lost_captures = column_u64(s, 3),
		.untold = column_u64(s, 4),
		.damaged = column_u64(s, 5),
	};
	return 0;
}

/* ---- checksums ------------------------------------------------------------------------------- */

/*
 * Triggers of the writer's connection keep the checksum of each row, and the number of rows, in step with every
 * statement above. Whoever else changes the table has no triggers, and so leaves a wrong checksum or number. A
 * row that was wrong before a change stays wrong.
 */
static const char keep_sums[] =
	"PRAGMA recursive_triggers = ON;" /* INSERT OR REPLACE deletes, too */
	"CREATE TEMP TRIGGER outbox_added AFTER INSERT ON main.outbox BEGIN"
	" UPDATE outbox SET checksum = outbox_checksum(" OUTBOX_SUMMED ") WHERE id = NEW.id;"
	" UPDATE outbox_sums SET held = held + 1; END;"
	"CREATE TEMP TRIGGER outbox_changed AFTER UPDATE OF " OUTBOX_SUMMED " ON main.outbox"
	" WHEN OLD.checksum IS outbox_checksum(OLD.id, OLD.kind, OLD.ready, OLD.urgency, OLD.real, OLD.run, OLD.stream,"
	" OLD.capture, OLD.first_sequence, OLD.last_sequence, OLD.packets, OLD.bytes, OLD.reason) BEGIN"
	" UPDATE outbox SET checksum = outbox_checksum(" OUTBOX_SUMMED ") WHERE id = NEW.id; END;"
	"CREATE TEMP TRIGGER outbox_gone AFTER DELETE ON main.outbox BEGIN"
	" UPDATE outbox_sums SET held = held - 1; END;";

/* Give checksums to the rows of a version that knew none. */
static const char add_sums[] = "UPDATE outbox SET checksum = outbox_checksum(" OUTBOX_SUMMED ") WHERE checksum IS NULL"
			       " AND id <= (SELECT unchecked FROM outbox_sums);"
			       "UPDATE outbox_sums SET unchecked = 0 WHERE unchecked <> 0;";

int outbox_open(struct archive_writer *w)
{
	sqlite3 *db = w->store.db;
	int r = database_error(db, outbox_sum_define(db));

	if (r == 0)
		r = database_run(db, keep_sums);
	return r ? r : database_run(db, add_sums);
}

/*
 * Set *BAD to the number of damaged rows, and *DIFFERENCE to how many rows there are too many (negative: are
 * missing).
 */
static int count_damage(struct archive_writer *w, int64_t *bad, int64_t *difference)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, STATEMENT_OUTBOX_CHECK, NO_VALUES, &s);

	*bad = 0;
	*difference = 1; /* the sums are missing */
	if (!s)
		return r;
	r = statement_step(&w->store.statements, s);
	if (r != STATEMENT_ROW)
		return r;
	*bad = sqlite3_column_int64(s, 0);
	*difference = sqlite3_column_int64(s, 1);
	return 0;
}

int archive_writer_check_outbox(struct archive_writer *w)
{
	int64_t bad, difference;
	bool is_mine;
	int r = count_damage(w, &bad, &difference);

	if (r != 0 || (bad == 0 && difference == 0))
		return r;
	r = writer_enter(w, &is_mine);
	if (r != 0)
		return r;
	r = tally_rows(w, STATEMENT_OUTBOX_BAD_BY_RUN, DELETION_DAMAGE);
	if (r == 0)
		r = statement_run(&w->store.statements, STATEMENT_OUTBOX_DROP, NO_VALUES);
	if (r == 0)
		r = WRITER_RUN(w, STATEMENT_OUTBOX_RESUM, bad + (difference < 0 ? -difference : difference));
	return writer_leave(w, is_mine, r);
}
