/* Read a stream's packets, their chunk ends, and its gaps. */
#include <string.h>

#include <mprof/bytes.h>
#include <mprof/ring.h>

#include "reader-state.h"

/* Pairs of packets out of order that reader_check_order() checks, at most. */
#define INVERSIONS_MOST 32u

/* The rows of a packet, summed up in the order in which they come. SQLite's GROUP BY takes several times as long. */
struct packet_rows {
	uint64_t n;
	int64_t sequence, first_timestamp, begin, end, length, room, id;
	int64_t unproven; /* lowest offset of an unproven row, if FLAGS has such */
	int64_t flags;	  /* of all rows */
};

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Return A + B, or the nearest limit. */
static int64_t sum(int64_t a, int64_t b)
{
	int64_t c;

	return !__builtin_add_overflow(a, b, &c) ? c : a < 0 ? INT64_MIN : INT64_MAX;
}

/* Add the current row of S to *ROWS, the rows before it of the same packet. */
static void rows_add(struct packet_rows *rows, sqlite3_stmt *s)
{
	int64_t time = sqlite3_column_int64(s, 1), offset = sqlite3_column_int64(s, 2),
		length = sqlite3_column_int64(s, 3), room = sqlite3_column_int64(s, 4), id = sqlite3_column_int64(s, 5),
		flags = sqlite3_column_int64(s, 6), end = sum(offset, length);

	if (rows->n == 0)
		*rows = (struct packet_rows){.sequence = rows->sequence,
					     .first_timestamp = time,
					     .begin = offset,
					     .end = end,
					     .room = room,
					     .id = id,
					     .unproven = INT64_MAX};
	rows->n++;
	rows->first_timestamp = larger(rows->first_timestamp, time);
	rows->begin = smaller(rows->begin, offset);
	rows->end = larger(rows->end, end);
	rows->length += smaller(larger(length, 0), ARCHIVE_PIECE_MAX);
	rows->room = larger(rows->room, room);
	rows->id = larger(rows->id, id);
	rows->flags |= flags;
	if (flags & ARCHIVE_CHUNK_UNPROVEN)
		rows->unproven = smaller(rows->unproven, offset);
}

/* Return N as 32 bits; a value outside of that range becomes the nearest limit. */
static uint32_t clamp(int64_t n)
{
	return n < 0 ? 0 : n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static void rows_end(struct packet_rows *rows, struct reader_packet *p)
{
	*p = (struct reader_packet){
		.sequence = (uint64_t)rows->sequence,
		.first_timestamp = (uint64_t)rows->first_timestamp,
		.begin = clamp(rows->begin),
		.end = clamp(rows->end),
		.room = clamp(rows->room),
		.stamp = rows->n << 48 ^ (uint64_t)rows->id,
		.complete = rows->flags & ARCHIVE_CHUNK_LAST,
		.clock = rows->flags & ARCHIVE_CHUNK_CLOCK,
		.unproven_from = rows->flags & ARCHIVE_CHUNK_UNPROVEN ? clamp(rows->unproven) : 0,
	};
	p->whole = p->begin >= MPROF_PACKET_HEADER_BYTES && p->end >= p->begin &&
		   p->end - p->begin == (uint64_t)rows->length && p->end <= MPROF_RING_BYTES_MAX;
	rows->n = 0;
}

int reader_packets(struct reader *r, struct reader_source source, uint64_t from, uint64_t to, bool descending,
		   struct reader_packet *packets, size_t *n)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	enum reader_statement which = source.capture ? (descending ? S_TAIL_PACKETS_DOWN : S_TAIL_PACKETS)
						     : (descending ? S_PACKETS_DOWN : S_PACKETS);
	struct packet_rows rows = {.n = 0};
	size_t max = *n;
	int rc = reader_statement(r, which, VALUES(source.stream, sequence_column(from), sequence_column(to)), &s);

	*n = 0;
	if (rc == 0 && source.capture)
		sqlite3_bind_int64(s, 4, source.capture);
	while (s && *n < max && (rc = statement_step(&r->statements, s)) == STATEMENT_ROW) {
		int64_t sequence = sqlite3_column_int64(s, 0);

		if (rows.n && sequence != rows.sequence)
			rows_end(&rows, &packets[(*n)++]);
		rows.sequence = sequence;
		if (*n < max)
			rows_add(&rows, s);
	}
	if (rc == 0 && rows.n)
		rows_end(&rows, &packets[(*n)++]);
	return rc == STATEMENT_ROW ? 0 : reader_damaged(r, rc, source, from);
}

#define ENDS_COLUMN 6

/* Return chunk end I of the current row of S. */
static struct archive_end column_end(sqlite3_stmt *s, size_t i)
{
	const uint8_t *p = (const uint8_t *)sqlite3_column_blob(s, ENDS_COLUMN) + i * ARCHIVE_END_BYTES;

	return (struct archive_end){
		.offset = mprof_load32(p), .mono = mprof_load64(p + 4), .real = mprof_load64(p + 12)};
}

static size_t column_ends(sqlite3_stmt *s)
{
	return (size_t)sqlite3_column_bytes(s, ENDS_COLUMN) / ARCHIVE_END_BYTES;
}

/*
 * Step S to the next row with chunk ends, and check the row. Return as statement_step(), or
 * ARCHIVE_E_DAMAGED.
 */
static int ends_step(struct reader *r, sqlite3_stmt *s, int64_t stream, uint64_t sequence)
{
	struct reader_source source = {.stream = stream};
	int rc = reader_damaged(r, statement_step(&r->statements, s), source, sequence);
	int damaged = rc == STATEMENT_ROW ? reader_row_check(r, s, source, sequence, false) : 0;

	return damaged ? damaged : rc;
}

int reader_end_below(struct reader *r, int64_t stream, uint64_t sequence, uint32_t most, struct archive_end *end)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int rc = reader_statement(r, S_ENDS_BELOW, VALUES(stream, sequence_column(sequence), most), &s);

	while (s && (rc = ends_step(r, s, stream, sequence)) == STATEMENT_ROW) {
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
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int rc = reader_statement(r, S_ENDS_BELOW, VALUES(stream, sequence_column(sequence), UINT32_MAX), &s);

	while (s && (rc = ends_step(r, s, stream, sequence)) == STATEMENT_ROW) {
		for (size_t i = column_ends(s); i-- > 0;) {
			*end = column_end(s, i);
			if (end->real <= real)
				return 0;
		}
	}
	return rc == 0 ? ARCHIVE_E_ABSENT : rc;
}

/* Put END, which is older than those of *ENDS, before them, if there is room. */
static void ends_put(struct reader_ends *ends, const struct archive_end *end)
{
	if (ends->n == READER_ENDS)
		return;
	memmove(ends->end + 1, ends->end, ends->n * sizeof(ends->end[0]));
	ends->end[0] = *end;
	ends->n++;
}

int reader_ends_below(struct reader *r, int64_t stream, uint64_t sequence, uint32_t most, struct reader_ends *ends)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int rc = reader_statement(r, S_ENDS_BELOW, VALUES(stream, sequence_column(sequence), most), &s);

	ends->n = 0;
	while (s && ends->n < READER_ENDS && (rc = ends_step(r, s, stream, sequence)) == STATEMENT_ROW) {
		for (size_t i = column_ends(s); i-- > 0;) {
			struct archive_end end = column_end(s, i);

			if (end.offset <= most)
				ends_put(ends, &end);
		}
	}
	if (rc != 0 && rc != STATEMENT_ROW)
		return rc;
	return ends->n ? 0 : ARCHIVE_E_ABSENT;
}

/* Add the current row of S to *STAMPS: its chunk ends up to the offset MOST. *ANY: there were some. */
static void add_stamps(sqlite3_stmt *s, uint32_t most, struct reader_stamps *stamps, bool *any)
{
	int flags = sqlite3_column_int(s, 2);

	stamps->first_timestamp = column_u64(s, 3);
	stamps->room = column_u32(s, 4);
	stamps->clock |= (flags & ARCHIVE_CHUNK_CLOCK) != 0;
	for (size_t i = column_ends(s); i-- > 0;) {
		struct archive_end end = column_end(s, i);

		if (end.offset > most)
			continue;
		if (!*any)
			stamps->last = end;
		stamps->first = end;
		ends_put(&stamps->newest, &end);
		*any = true;
	}
}

int reader_stamps(struct reader *r, int64_t stream, uint64_t sequence, uint32_t most, struct reader_stamps *stamps)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	bool any = false;
	int rc = reader_statement(r, S_ENDS_BELOW, VALUES(stream, sequence_column(sequence), most ? most - 1 : 0), &s);

	*stamps = (struct reader_stamps){0};
	while (s && (rc = ends_step(r, s, stream, sequence)) == STATEMENT_ROW)
		add_stamps(s, most, stamps, &any);
	return rc == 0 && !any ? ARCHIVE_E_ABSENT : rc;
}

/* Read the single number that S selects into *NUMBER; 0 if there is no row. */
static int read_number(struct reader *r, sqlite3_stmt *s, uint64_t *number)
{
	int rc = statement_step(&r->statements, s);

	*number = rc == STATEMENT_ROW ? column_u64(s, 0) : 0;
	return rc == STATEMENT_ROW ? 0 : rc;
}

int reader_present(struct reader *r, int64_t stream, uint64_t from, uint64_t to, uint64_t *packets)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int rc = reader_statement(r, S_PRESENT, VALUES(stream, sequence_column(from), sequence_column(to)), &s);

	return rc == 0 ? read_number(r, s, packets) : rc;
}

int reader_content_above(struct reader *r, int64_t stream, uint64_t sequence, uint64_t *bytes)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int rc = reader_statement(r, S_CONTENT_ABOVE, VALUES(stream, sequence_column(sequence)), &s);

	return rc == 0 ? read_number(r, s, bytes) : rc;
}

int reader_end_above(struct reader *r, int64_t stream, uint64_t sequence, uint32_t above, uint32_t reach,
		     struct archive_end *end)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	struct archive_end e;
	bool any = false;
	int rc = reader_statement(r, S_ENDS_ABOVE, VALUES(stream, sequence_column(sequence), above), &s);

	while (s && (rc = ends_step(r, s, stream, sequence)) == STATEMENT_ROW) {
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

static int read_gaps(struct reader *r, sqlite3_stmt *s, int64_t stream, reader_gap_call *call, void *context, bool *any)
{
	struct archive_gap gap;
	int rc;

	*any = false;
	while ((rc = statement_step(&r->statements, s)) == STATEMENT_ROW) {
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
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	bool any;
	int rc = reader_statement(r, S_GAPS, VALUES(stream, sequence_column(from), sequence_column(to), (int64_t)limit),
				  &s);

	return rc == 0 ? read_gaps(r, s, stream, call, context, &any) : rc;
}

int reader_gap_into(struct reader *r, int64_t stream, uint64_t sequence, reader_gap_call *call, void *context)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	bool any;
	int rc = reader_statement(r, S_GAP_INTO, VALUES(stream, sequence_column(sequence)), &s);

	if (rc == 0)
		rc = read_gaps(r, s, stream, call, context, &any);
	return rc == 0 && !any ? ARCHIVE_E_ABSENT : rc;
}

int reader_last_gap(struct reader *r, int64_t run, uint32_t number, reader_gap_call *call, void *context)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	bool any;
	int rc = reader_statement(r, S_LAST_GAP, VALUES(run, number), &s);

	if (rc == 0)
		rc = read_gaps(r, s, 0, call, context, &any);
	return rc == 0 && !any ? ARCHIVE_E_ABSENT : rc;
}

bool reader_range_holds(sqlite3_stmt *s, struct reader_source source)
{
	struct checksum_row row = {.numbers = {source.capture, source.stream}, .n = 7};

	for (int i = 0; i < 5; i++)
		row.numbers[2 + i] = sqlite3_column_int64(s, i);
	return checksum_holds(s, 5, sqlite3_column_int(s, 6) != 0, &row);
}

/* Return 1 if a gap declares that the end of the capture's tail is lost, 0 if not, or -errno. */
static int tail_is_declared(struct reader *r, struct reader_source source)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	uint64_t yes = 0;
	int rc = reader_statement(r, S_TAIL_DECLARED, VALUES(source.stream, source.capture), &s);

	if (rc == 0)
		rc = read_number(r, s, &yes);
	return rc < 0 ? rc : rc == 0 && yes;
}

/*
 * Check the capture's range of the stream, and the length of the capture's tail. Return 0 or an
 * error.
 */
static int check_range(struct reader *r, struct reader_source source)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	bool lacks_end, lacks_tail;
	int declared, rc = reader_statement(r, S_CHECK_RANGE, VALUES(source.stream, source.capture), &s);

	if (rc == 0)
		rc = reader_damaged(r, statement_step(&r->statements, s), source, 0);
	if (rc != STATEMENT_ROW)
		return rc;
	if (archive_range_is_lost(column_u32(s, 2), column_u64(s, 3)) && reader_range_holds(s, source))
		return 0;
	/*
	 * Rows at the end of the range are missing, and neither a gap nor a deletion explains that.
	 */
	lacks_end = sqlite3_column_int64(s, 8) < sqlite3_column_int64(s, 4) && !sqlite3_column_int(s, 9) &&
		    sqlite3_column_int64(s, 10) == 0;
	lacks_tail =
		sqlite3_column_type(s, 3) != SQLITE_NULL && sqlite3_column_int64(s, 3) != sqlite3_column_int64(s, 7);
	declared = sqlite3_column_int64(s, 7) < sqlite3_column_int64(s, 3) ? tail_is_declared(r, source) : 0;
	if (declared < 0)
		return declared;
	if (!reader_range_holds(s, source) || lacks_end || (lacks_tail && !declared))
		return reader_note_damage(r, source, column_u64(s, 1));
	return 0;
}

int reader_check(struct reader *r, struct reader_source source, struct reader_stream_check *check)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	struct reader_source chunks = {.stream = source.stream};
	bool is_empty;
	int rc = reader_statement(r, S_CHECK_STREAM, VALUES(source.stream), &s);

	*check = (struct reader_stream_check){0};
	if (rc == 0)
		rc = reader_damaged(r, statement_step(&r->statements, s), chunks, 0);
	if (rc != STATEMENT_ROW)
		return rc;
	check->known = sqlite3_column_type(s, 0) != SQLITE_NULL;
	check->oldest = column_u64(s, 0);
	check->deletions = column_u64(s, 2);
	is_empty = sqlite3_column_type(s, 3) == SQLITE_NULL;
	if (check->known && !is_empty && sqlite3_column_int64(s, 3) > sqlite3_column_int64(s, 0))
		return reader_note_damage(r, chunks, column_u64(s, 0));
	if (sqlite3_column_type(s, 1) != SQLITE_NULL &&
	    (is_empty || sqlite3_column_int64(s, 4) < sqlite3_column_int64(s, 1)))
		return reader_note_damage(r, chunks, column_u64(s, 1));
	return source.capture ? check_range(r, source) : 0;
}

int reader_check_held(struct reader *r, int64_t stream, bool *all)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int rc = reader_statement(r, S_CHECK_HELD, VALUES(stream), &s);

	*all = true;
	if (rc == 0)
		rc = reader_damaged(r, statement_step(&r->statements, s), (struct reader_source){.stream = stream}, 0);
	if (rc != STATEMENT_ROW)
		return rc;
	*all = sqlite3_column_int(s, 0) != 0;
	return 0;
}

int reader_stream_state(struct reader *r, struct reader_source source, uint64_t last, struct reader_stream_state *state)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int rc = reader_statement(r, S_STREAM_STATE, VALUES(source.stream, source.capture, sequence_column(last)), &s);

	if (rc == 0)
		rc = statement_step(&r->statements, s);
	if (rc != STATEMENT_ROW)
		return rc ? rc : ARCHIVE_E_ABSENT;
	for (unsigned i = 0; i < READER_STATE_NUMBERS; i++)
		state->numbers[i] =
			sqlite3_column_type(s, (int)i) == SQLITE_NULL ? -1 : sqlite3_column_int64(s, (int)i);
	return 0;
}

/* Check all rows of a packet. Return 0 or an error. */
static int check_packet(struct reader *r, int64_t stream, uint64_t sequence)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int rc = reader_statement(r, S_ENDS_BELOW, VALUES(stream, sequence_column(sequence), UINT32_MAX), &s);

	while (s && (rc = ends_step(r, s, stream, sequence)) == STATEMENT_ROW)
		;
	return rc;
}

int reader_check_beside(struct reader *r, int64_t stream, uint64_t from, uint64_t end)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int rc = reader_statement(r, S_BESIDE, VALUES(stream, sequence_column(from), sequence_column(end)), &s);
	int checked = 0;

	while (s && checked == 0 && (rc = statement_step(&r->statements, s)) == STATEMENT_ROW)
		if (sqlite3_column_type(s, 0) != SQLITE_NULL)
			checked = check_packet(r, stream, column_u64(s, 0));
	return checked ? checked : rc;
}

int reader_check_order(struct reader *r, int64_t stream)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	uint64_t before = 0, time_before = 0;
	int rc = reader_statement(r, S_TIMES, VALUES(stream), &s);
	unsigned int inversions = 0;
	int checked = 0;

	while (s && checked == 0 && inversions < INVERSIONS_MOST &&
	       (rc = statement_step(&r->statements, s)) == STATEMENT_ROW) {
		uint64_t sequence = column_u64(s, 0), time = column_u64(s, 1);

		if (time < time_before) {
			inversions++;
			checked = check_packet(r, stream, before);
			if (checked == 0)
				checked = check_packet(r, stream, sequence);
		}
		before = sequence;
		time_before = time;
	}
	if (checked)
		return checked;
	return rc == STATEMENT_ROW ? 0 : rc;
}
