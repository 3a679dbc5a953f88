/*
 * Take damaged rows out of service.
 *
 * A reader that finds a row which does not agree with its checksum, or misses rows, only reports
 * the place. The writer checks that place in one transaction. It deletes the damaged row and the
 * rows of the same packet behind it, because a packet is served from its beginning and without a
 * hole. It declares the loss as a gap, as the collector does for bytes that it could not copy.
 */
#include <errno.h>
#include <stdlib.h>

#include "clock.h"
#include "index-entries.h"
#include "writer-state.h"

struct repair {
	struct archive_writer *w;
	int64_t stream;
	uint64_t sequence;
	int64_t *ids; /* ids of the packet's rows */
	size_t n, room;
	uint32_t end;	  /* offset at which the kept rows end */
	bool is_complete; /* the last kept row is the packet's last row (ARCHIVE_CHUNK_LAST) */
	bool at_least;	  /* it is not known how many packets the next gap has */
	bool restored; /* a range was written again by the list of its capture, or the stream's edges were corrected */
	uint64_t removed;  /* number of rows deleted */
	uint64_t declared; /* number of packets that new gaps declare lost */
	uint64_t packets;  /* number of packets that have lost rows */
};

static int list_ids(struct repair *repair, enum writer_statement which, int64_t first, int64_t second)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&repair->w->store.statements, which, VALUES(first, second), &s);

	repair->n = 0;
	if (!s)
		return r;
	while ((r = statement_step(&repair->w->store.statements, s)) == STATEMENT_ROW) {
		if (repair->n == repair->room) {
			size_t room = 2 * repair->room + 16;
			int64_t *more = realloc(repair->ids, room * sizeof(*more));

			if (!more)
				return -ENOMEM;
			repair->ids = more;
			repair->room = room;
		}
		repair->ids[repair->n++] = sqlite3_column_int64(s, 0);
	}
	return r;
}

static int declare(struct repair *repair, uint64_t after, uint32_t offset, uint64_t next)
{
	struct moment now = moment_now();
	const struct archive_gap gap = {.stream = repair->stream,
					.kind = "lost",
					.reason = "damaged",
					.after_sequence = after,
					.after_offset = offset,
					.next_sequence = next,
					.packets = next > after ? next - after : 1,
					.at_least = repair->at_least,
					.real = now.real,
					.mono = now.mono};

	int r = archive_writer_gap(repair->w, &gap);

	repair->declared += gap.packets;
	return r ? r : outbox_lose_damaged(repair->w, repair->stream, after, after + gap.packets - 1);
}

/* Read row ID. Keep it if it is undamaged and follows the kept rows; else delete it. */
static int repair_row(struct repair *repair, int64_t id)
{
	struct stored_row row = {0};
	int r = writer_read_row(repair->w, id, &row);

	statement_resetp(&row.statement);
	if (r == 0 && row.offset == repair->end && !repair->is_complete) {
		repair->end += row.length;
		repair->is_complete = row.flags & ARCHIVE_CHUNK_LAST;
		return 0;
	}
	if (r != 0 && r != ARCHIVE_E_DAMAGED)
		return r;
	repair->removed++;
	repair->w->damage.pieces += r == ARCHIVE_E_DAMAGED;
	return WRITER_RUN(repair->w, STATEMENT_DELETE_CHUNK, id);
}

/* Declare the packet at hand lost from its last chunk end on. */
static int declare_rest(struct repair *repair)
{
	struct packet_end end;
	struct archive_end last = {0};
	int r = writer_packet_end(repair->w, repair->stream, repair->sequence, &end);

	if (r == 0 && end.any)
		r = writer_row_end(repair->w, end.id, &last);
	if (last.offset < MPROF_PACKET_HEADER_BYTES)
		last.offset = MPROF_PACKET_HEADER_BYTES;
	return r ? r : declare(repair, repair->sequence, last.offset, repair->sequence + 1);
}

/*
 * Take the damaged rows of the packet out of service. The rest of the packet may be missing: declare it lost, unless a gap does. GOES_ON:
 * the stream went on behind the packet.
 */
static int repair_rows(struct repair *repair, bool goes_on)
{
	const uint64_t removed = repair->removed;
	int64_t lacks = 0;
	bool is_null;
	int r = list_ids(repair, STATEMENT_REPAIR_ROWS, repair->stream, (int64_t)repair->sequence);

	repair->end = MPROF_PACKET_HEADER_BYTES;
	repair->is_complete = false;
	for (size_t i = 0; i < repair->n && r == 0; i++)
		r = repair_row(repair, repair->ids[i]);
	if (r == 0 && repair->n && repair->removed == removed && !repair->is_complete)
		r = statement_number(&repair->w->store.statements, STATEMENT_REPAIR_REST,
				     VALUES(repair->stream, (int64_t)repair->sequence, goes_on), &lacks, &is_null);
	if (r != 0 || (repair->removed == removed && !lacks) || repair->is_complete)
		return r;
	repair->packets += repair->removed != removed;
	return declare_rest(repair);
}

/*
 * Move *FROM behind the packets that a gap declares lost, at most to END. *NEXT is the next packet that a gap declares,
 * at most END.
 */
static int skip_explained(struct repair *repair, uint64_t *from, uint64_t end, uint64_t *next_gap)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&repair->w->store.statements, STATEMENT_REPAIR_GAPS, VALUES(repair->stream, (int64_t)end),
			      &s);

	*next_gap = end;
	if (!s)
		return r;
	while (*from < end && *next_gap == end &&
	       (r = statement_step(&repair->w->store.statements, s)) == STATEMENT_ROW) {
		uint64_t begin = (uint64_t)sqlite3_column_int64(s, 0), next = (uint64_t)sqlite3_column_int64(s, 2);

		/* A gap whose offset is 30 covers the whole packet. */
		begin += sqlite3_column_int64(s, 1) > (int64_t)MPROF_PACKET_HEADER_BYTES;
		if (begin <= *from && next > *from)
			*from = next;
		else if (begin > *from && next > begin)
			*next_gap = begin;
	}
	return r == STATEMENT_ROW ? 0 : r;
}

/* Declare those packets from FROM to END (not included) that no gap declares yet. */
static int repair_hole(struct repair *repair, uint64_t from, uint64_t end)
{
	uint64_t next;
	int r = 0;

	while (r == 0 && from < end) {
		r = skip_explained(repair, &from, end, &next);
		if (r == 0 && from < next)
			r = declare(repair, from, MPROF_PACKET_HEADER_BYTES, next);
		from = next;
	}
	return r;
}

/*
 * Find packets that the archive must have and that are missing, and declare them lost: directly
 * before SEQUENCE, before the stream's first packet, and behind its last.
 */
static int repair_holes(struct repair *repair)
{
	int64_t v[7];
	bool is_null[7];
	int r;

	{
		CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;

		r = statement_get(&repair->w->store.statements, STATEMENT_REPAIR_HOLE,
				  VALUES(repair->stream, (int64_t)repair->sequence), &s);
		if (!s)
			return r;
		r = statement_step(&repair->w->store.statements, s);
		if (r != STATEMENT_ROW)
			return r;
		for (int i = 0; i < 7; i++) {
			v[i] = sqlite3_column_int64(s, i);
			is_null[i] = sqlite3_column_type(s, i) == SQLITE_NULL;
		}
	}
	/* DELETED: packets of the stream were deleted, and the number of packets is right. */
	enum { BEFORE, BEHIND, FIRST, LAST, OLDEST, NEWEST, DELETED };
	const bool lacks_first = !is_null[OLDEST] && !is_null[FIRST] && v[FIRST] > v[OLDEST];
	const bool lacks_last = !is_null[NEWEST] && (is_null[LAST] || v[LAST] < v[NEWEST]);

	r = 0;
	if (!is_null[BEFORE] && !is_null[BEHIND] && v[DELETED] == 0 && !is_null[OLDEST] && v[BEFORE] >= v[OLDEST])
		r = repair_hole(repair, (uint64_t)v[BEFORE] + 1, (uint64_t)v[BEHIND]);
	if (r == 0 && lacks_first)
		r = repair_hole(repair, (uint64_t)v[OLDEST], (uint64_t)v[FIRST]);
	if (r == 0 && lacks_last)
		r = repair_hole(repair,
				is_null[LAST] ? (uint64_t)v[is_null[OLDEST] ? NEWEST : OLDEST] : (uint64_t)v[LAST] + 1,
				(uint64_t)v[NEWEST] + 1);
	/* Gaps declare all that is missing at the edges: the stream must have what is left. */
	if (r == 0 && (lacks_first || lacks_last)) {
		repair->restored = true;
		r = WRITER_RUN(repair->w, STATEMENT_SETTLE_STREAM, repair->stream, 0, 0, 0);
	}
	return r;
}

/*
 * Set *DAMAGED to whether this repair has deleted rows or declared gaps. If so, add them to
 * archive_writer_damage(), and update the stream's row: its deletions, damaged packets, and
 * expected packets. Return 0 or an error.
 */
static int settle(struct repair *repair, bool *damaged)
{
	struct archive_damage *d = &repair->w->damage;
	int r = 0;

	*damaged = repair->removed || repair->declared || repair->restored;
	if (!repair->removed && !repair->declared)
		return 0;
	if (repair->removed)
		r = writer_tally_stream(repair->w, repair->stream,
					&(struct deletion){.reason = DELETION_DAMAGE, .packets = repair->packets});
	if (r != 0)
		return r;
	d->packets += repair->declared;
	d->stream = repair->stream;
	d->sequence = repair->sequence;
	r = WRITER_RUN(repair->w, STATEMENT_SETTLE_STREAM, repair->stream, 0, (int64_t)repair->declared, 0);
	if (r == 0)
		r = WRITER_RUN(repair->w, STATEMENT_COUNT_HELD, repair->stream);
	/* The length of a damaged row is unknown. */
	return r ? r : writer_recount(repair->w, repair->stream);
}

int packet_repair(struct archive_writer *w, int64_t stream, uint64_t sequence, bool *damaged)
{
	struct repair m = {.w = w, .stream = stream, .sequence = sequence};
	bool mended;
	int r = index_entries_mend(w, stream, sequence, 0, &mended);

	*damaged = false;
	if (r == 0)
		r = repair_rows(&m, false);
	if (r == 0)
		r = repair_holes(&m);
	free(m.ids);
	if (r == 0)
		r = settle(&m, damaged);
	/* If only the index was wrong, its rows are there again. */
	w->damage.pieces += mended && !*damaged;
	*damaged |= mended;
	return r;
}

/* Repair the packets of STREAM at which losses may not be declared. Return 0 or an error. */
static int repair_suspects(struct archive_writer *w, int64_t stream)
{
	struct repair list = {.w = w, .stream = stream};
	int64_t after = -1;
	bool damaged;
	int r;

	do {
		r = list_ids(&list, STATEMENT_REPAIR_SUSPECTS, stream, after);
		for (size_t i = 0; i < list.n && r == 0; i++) {
			after = list.ids[i];
			r = packet_repair(w, stream, (uint64_t)after, &damaged);
		}
	} while (r == 0 && list.n);
	free(list.ids);
	return r;
}

/* ---- the ranges and tails of captures -------------------------------------------------------- */

/*
 * Return whether the N numbers from column FIRST of S on, and the data in column DATA (-1 = no
 * data), agree with the checksum in column CHECKSUM.
 */
static bool holds(sqlite3_stmt *s, int first, size_t n, int data, int checksum)
{
	struct checksum_row row = {.n = n};

	for (size_t i = 0; i < n; i++)
		row.numbers[i] = sqlite3_column_int64(s, first + (int)i);
	if (data >= 0) {
		row.data = sqlite3_column_blob(s, data);
		row.data_bytes = (size_t)sqlite3_column_bytes(s, data);
	}
	return checksum_holds(s, checksum, sqlite3_column_int(s, checksum + 1) != 0, &row);
}

/*
 * Return whether the current row of S, of a tail, is undamaged. It must also decode, because it may
 * have no checksum.
 */
static bool tail_holds(struct archive_writer *w, sqlite3_stmt *s)
{
	int64_t length = sqlite3_column_int64(s, 5);

	return holds(s, 1, 8, 9, 10) && length >= 0 && length <= ARCHIVE_PIECE_MAX &&
	       codec_decode(&w->store.decoder, sqlite3_column_int(s, 8), sqlite3_column_blob(s, 9),
			    (size_t)sqlite3_column_bytes(s, 9), w->in, (size_t)length);
}

/* The position from which on a tail is damaged. */
struct tail_damage {
	bool any;
	uint64_t sequence;
	uint32_t offset;
	uint64_t last; /* the last packet of the tail, as far as its rows tell; its caller sets that of the range */
};

/*
 * Set REPAIR->ids to the rows of the tail that must be deleted: the first damaged row and all rows
 * behind it. *D is the position of the first.
 */
static int find_tails(struct repair *repair, int64_t capture, struct tail_damage *d)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	const uint64_t first = d->last; /* the tail may begin in the middle of this packet alone */
	int64_t end = 0;		/* of the rows of packet LAST so far */
	size_t n = 0;
	int r = list_ids(repair, STATEMENT_REPAIR_TAILS, capture, repair->stream);

	if (r == 0)
		r = statement_get(&repair->w->store.statements, STATEMENT_REPAIR_TAILS, VALUES(capture, repair->stream),
				  &s);
	if (!s)
		return r;
	while (n < repair->n && (r = statement_step(&repair->w->store.statements, s)) == STATEMENT_ROW) {
		uint64_t sequence = (uint64_t)sqlite3_column_int64(s, 3);
		bool is_good = tail_holds(repair->w, s);
		const bool is_next = end == 0 || sequence != d->last; /* the first row of its packet */
		bool follows = is_next ? sequence <= first || sqlite3_column_int64(s, 4) == MPROF_PACKET_HEADER_BYTES
				       : sqlite3_column_int64(s, 4) == end;

		/* The number of a damaged row may be wrong. */
		if (sequence > d->last && (is_good || sequence == d->last + 1))
			d->last = sequence;
		if (!d->any && is_good && follows) {
			end = sqlite3_column_int64(s, 4) + sqlite3_column_int64(s, 5);
			continue;
		}
		repair->w->damage.pieces += !d->any;
		if (!d->any) {
			d->any = true;
			d->sequence = sequence;
			d->offset = follows   ? (uint32_t)sqlite3_column_int64(s, 4)
				    : is_next ? MPROF_PACKET_HEADER_BYTES
					      : (uint32_t)end;
		}
		repair->ids[n++] = sqlite3_column_int64(s, 0);
	}
	repair->n = n;
	return r == STATEMENT_ROW ? 0 : r;
}

/*
 * Read the capture's range of the stream into *RANGE, and the length of its tail.
 * ARCHIVE_E_DAMAGED: the row does not agree with its checksum.
 */
static int read_range(struct repair *repair, int64_t capture, struct archive_capture_stream *range, int64_t *tail_bytes)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&repair->w->store.statements, STATEMENT_REPAIR_RANGE, VALUES(capture, repair->stream),
			      &s);

	if (!s)
		return r;
	r = statement_step(&repair->w->store.statements, s);
	if (r != STATEMENT_ROW)
		return r ? r : ARCHIVE_E_ABSENT;
	*range = (struct archive_capture_stream){.capture = sqlite3_column_int64(s, 0),
						 .stream = sqlite3_column_int64(s, 1),
						 .first_sequence = (uint64_t)sqlite3_column_int64(s, 2),
						 .last_sequence = (uint64_t)sqlite3_column_int64(s, 3),
						 .last_offset = (uint32_t)sqlite3_column_int64(s, 4)};
	*tail_bytes = sqlite3_column_type(s, 5) == SQLITE_NULL ? -1 : sqlite3_column_int64(s, 5);
	return holds(s, 0, 7, -1, 7) ? 0 : ARCHIVE_E_DAMAGED;
}

/*
 * Delete the tail of a damaged range. The capture has no bytes of this stream any more. A range without packets
 * stays, so that the capture shows that it lacks them.
 */
static int lose_range(struct repair *repair, int64_t capture)
{
	const struct archive_capture_stream lost = {.capture = capture, .stream = repair->stream, .tail_marked = 1};
	int r = list_ids(repair, STATEMENT_REPAIR_TAILS, capture, repair->stream);

	for (size_t i = 0; i < repair->n && r == 0; i++)
		r = WRITER_RUN(repair->w, STATEMENT_DELETE_TAIL, repair->ids[i]);
	repair->removed++;
	repair->w->damage.pieces++;
	return r ? r : archive_writer_put_capture_stream(repair->w, &lost);
}

/*
 * If rows of the range's last packet are missing, and neither a gap nor a deletion explains that,
 * declare them lost.
 */
static int repair_end(struct repair *repair, const struct archive_capture_stream *range)
{
	int64_t lacks = 0, end = 0;
	bool is_null;
	int r = statement_number(&repair->w->store.statements, STATEMENT_REPAIR_END,
				 VALUES(repair->stream, range->capture), &lacks, &is_null);

	if (r == 0 && lacks)
		r = statement_number(&repair->w->store.statements, STATEMENT_REACHED,
				     VALUES(repair->stream, (int64_t)range->last_sequence, INT64_MAX), &end, &is_null);
	if (r != 0 || !lacks)
		return r;
	if (end < (int64_t)MPROF_PACKET_HEADER_BYTES)
		end = MPROF_PACKET_HEADER_BYTES;
	return declare(repair, range->last_sequence, (uint32_t)end, range->last_sequence + 1);
}

/*
 * If the range's last packet has no rows, nothing but the range says that what is before it must be there: the rest of the newest packet
 * before it, and the packets between both, unless packets of the stream were deleted. Declare what no gap declares.
 */
static int repair_before_end(struct repair *repair, const struct archive_capture_stream *range)
{
	int64_t before, next;
	bool is_null;
	int r = statement_number(&repair->w->store.statements, STATEMENT_REPAIR_NEWEST_BEFORE,
				 VALUES(repair->stream, (int64_t)range->first_sequence, (int64_t)range->last_sequence),
				 &before, &is_null);

	if (r == 0 && !is_null) {
		repair->sequence = (uint64_t)before;
		r = repair_rows(repair, true);
	}
	if (r == 0)
		r = statement_number(
			&repair->w->store.statements, STATEMENT_REPAIR_BEFORE_END,
			VALUES(repair->stream, (int64_t)range->first_sequence, (int64_t)range->last_sequence), &next,
			&is_null);
	return r == 0 && !is_null ? repair_hole(repair, (uint64_t)next, range->last_sequence) : r;
}

/*
 * Declare what is missing at the beginning of the range, before the stream's first packet, and what no gap declares. Only what the ring had
 * when it was attached for the first time can be missing, and only if nothing was deleted.
 */
static int repair_beginning(struct repair *repair, const struct archive_capture_stream *range)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int64_t first, from;
	int r = statement_get(&repair->w->store.statements, STATEMENT_REPAIR_BEGINNING,
			      VALUES(repair->stream, (int64_t)range->first_sequence), &s);

	if (!s)
		return r;
	r = statement_step(&repair->w->store.statements, s);
	if (r != STATEMENT_ROW || column_is_null(s, 0))
		return r == STATEMENT_ROW ? 0 : r;
	first = sqlite3_column_int64(s, 0);
	from = sqlite3_column_int64(s, 1);
	statement_resetp(&s);
	if (first > (int64_t)range->last_sequence)
		first = (int64_t)range->last_sequence;
	return from < first ? repair_hole(repair, (uint64_t)from, (uint64_t)first) : 0;
}

/* Declare the packets that are missing between those of the tail of CAPTURE, behind packet LAST. */
static int repair_tail_holes(struct repair *repair, int64_t capture, uint64_t last)
{
	int64_t begin, next;
	bool is_null = false;
	int r = 0;

	while (r == 0) {
		r = statement_number(&repair->w->store.statements, STATEMENT_NEXT_TAIL,
				     VALUES(capture, repair->stream, (int64_t)last), &next, &is_null);
		if (r != 0 || is_null)
			return r;
		begin = (int64_t)last + 1;
		if (next > begin)
			r = declare(repair, (uint64_t)begin, MPROF_PACKET_HEADER_BYTES, (uint64_t)next);
		last = (uint64_t)next;
	}
	return r;
}

/*
 * Declare the end of the capture's tail as lost, from the place D on; or, without D, if the tail that is left is not
 * EXPECTED bytes long and no gap says so. The range keeps the length that the tail had, so that the
 * capture shows what it lacks.
 */
static int repair_tail(struct repair *repair, const struct archive_capture_stream *range, struct tail_damage *d,
		       int64_t expected)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	struct archive_capture_stream marked;
	int64_t bytes = 0;
	bool is_null;
	int r = statement_number(&repair->w->store.statements, STATEMENT_TAIL_BYTES,
				 VALUES(range->capture, repair->stream), &bytes, &is_null);

	if (r == 0 && !d->any && bytes == expected)
		return 0;
	if (r == 0)
		r = statement_get(&repair->w->store.statements, STATEMENT_REPAIR_TAIL_END,
				  VALUES(repair->stream, range->capture), &s);
	if (r == 0)
		r = statement_step(&repair->w->store.statements, s);
	if (r != STATEMENT_ROW || sqlite3_column_int(s, 2))
		return r == STATEMENT_ROW ? 0 : r;
	/* If rows of the tail are missing, or are in the wrong place, nothing says how many packets they had. */
	if (!d->any || d->sequence < (uint64_t)sqlite3_column_int64(s, 0) || d->sequence > d->last) {
		repair->at_least = true;
		d->sequence = (uint64_t)sqlite3_column_int64(s, 0);
		d->offset = (uint32_t)sqlite3_column_int64(s, 1);
	}
	if (d->last < d->sequence)
		d->last = d->sequence;
	statement_resetp(&s);
	r = declare(repair, d->sequence, d->offset, d->last + 1);
	if (r == 0 && repair->at_least)
		r = repair_tail_holes(repair, range->capture, range->last_sequence);
	repair->at_least = false;
	/* An older version did not store the length. A tail that is longer than the range says gets its own length. */
	if (r != 0 || (range->tail_marked && bytes <= expected))
		return r;
	marked = *range;
	marked.tail_marked = (uint64_t)expected;
	return archive_writer_put_capture_stream(repair->w, &marked);
}

/* Do as read_range(), but write the row again by the capture's list if it is damaged or missing. */
static int restore_range(struct repair *repair, int64_t capture, struct archive_capture_stream *range,
			 int64_t *tail_bytes)
{
	bool restored = false;
	int rc, r = read_range(repair, capture, range, tail_bytes);

	if (r != ARCHIVE_E_DAMAGED && r != ARCHIVE_E_ABSENT)
		return r;
	rc = list_restore(repair->w, capture, repair->stream, &restored);
	repair->restored |= restored;
	if (rc != 0)
		return rc;
	return restored ? read_range(repair, capture, range, tail_bytes) : r;
}

static int capture_repair(struct repair *repair, int64_t capture)
{
	struct archive_capture_stream range = {0};
	struct tail_damage d = {0};
	int64_t expected = -1;
	int r = restore_range(repair, capture, &range, &expected);

	d.last = range.last_sequence;
	range.tail_marked = expected > 0 ? (uint64_t)expected : 0;
	if (r == ARCHIVE_E_DAMAGED)
		return lose_range(repair, capture);
	if (r == 0 && archive_range_is_lost(range.last_offset, range.tail_marked))
		return 0;
	if (r == 0 && expected < 0)
		r = statement_number(&repair->w->store.statements, STATEMENT_TAIL_BYTES,
				     VALUES(capture, repair->stream), &expected, &(bool){false});
	if (r == 0)
		r = find_tails(repair, capture, &d);
	for (size_t i = 0; i < repair->n && r == 0; i++)
		r = WRITER_RUN(repair->w, STATEMENT_DELETE_TAIL, repair->ids[i]);
	if (r != 0)
		return r == ARCHIVE_E_ABSENT ? 0 : r;
	repair->removed += repair->n;
	if (!d.any) /* rows of the last packet may be missing */
		r = repair_end(repair, &range);
	if (r == 0)
		r = repair_before_end(repair, &range);
	return r ? r : repair_tail(repair, &range, &d, expected);
}

/* Call repair_beginning() for each whole range of STREAM that begins before the stream's first packet. */
static int repair_early(struct archive_writer *w, int64_t stream)
{
	struct repair m = {.w = w, .stream = stream};
	int r = list_ids(&m, STATEMENT_REPAIR_EARLY, stream, 0);

	for (size_t i = 0; i < m.n && r == 0; i++) {
		struct archive_capture_stream range;
		int64_t tail_bytes;

		r = read_range(&m, m.ids[i], &range, &tail_bytes);
		if (r == 0)
			r = repair_beginning(&m, &range);
		else if (r == ARCHIVE_E_DAMAGED || r == ARCHIVE_E_ABSENT) /* the check of ranges finds it */
			r = 0;
	}
	free(m.ids);
	return r ? r : settle(&m, &(bool){false});
}

int losses_declare(struct archive_writer *w)
{
	int r = 0;

	for (size_t i = 0; i < w->usage.n && r == 0; i++) {
		r = repair_suspects(w, w->usage.entries[i].stream);
		if (r == 0)
			r = repair_early(w, w->usage.entries[i].stream);
	}
	return r;
}

int archive_writer_repair(struct archive_writer *w, int64_t stream, uint64_t sequence, int64_t capture, bool *damaged)
{
	struct archive_damage before = w->damage;
	struct repair m = {.w = w, .stream = stream, .sequence = sequence};
	bool is_mine, list_damaged = false, mended = false;
	int r;

	*damaged = false;
	if (!capture && !usage_has(&w->usage, stream))
		return ARCHIVE_E_ABSENT;
	r = writer_enter(w, &is_mine);
	if (r != 0)
		return r;
	if (capture)
		r = index_entries_mend(w, stream, sequence, capture, &mended);
	if (r == 0 && capture)
		r = list_repair(w, capture, &list_damaged);
	w->damage.pieces += list_damaged;
	if (r == 0 && capture && usage_has(&w->usage, stream)) {
		r = capture_repair(&m, capture);
		if (r == 0)
			r = settle(&m, damaged);
		free(m.ids);
	}
	*damaged |= list_damaged;
	if (r == 0 && !*damaged)
		r = usage_has(&w->usage, stream) ? packet_repair(w, stream, sequence, damaged) : ARCHIVE_E_ABSENT;
	*damaged |= mended;
	r = writer_leave(w, is_mine, r);
	if (r != 0)
		w->damage = before;
	return r;
}

struct archive_damage archive_writer_damage(const struct archive_writer *w)
{
	return w->damage;
}

int archive_writer_unchecked(struct archive_writer *w, bool *unchecked)
{
	int64_t largest;
	bool is_null;
	int r = statement_number(&w->store.statements, STATEMENT_READ_UNCHECKED, NO_VALUES, &largest, &is_null);

	*unchecked = r == 0 && !is_null && largest > 0;
	return r;
}
