/*
 * Find the position of each stream in the archive, for a collector that starts.
 *
 * The position follows from the rows alone: it is the last chunk end of the newest packet, or the
 * beginning of the packet behind a complete packet or a gap. No position is stored, so nothing can
 * disagree with the rows after mprofd was killed.
 */
#include <errno.h>
#include <string.h>

#include "index-entries.h"
#include "row-sums.h"
#include "writer-state.h"

/*
 * Check the last row of packet NEWEST, the stream's newest. The position at which copying resumes is
 * the end of this row. If the row is damaged, repair the packet and set *DAMAGED.
 */
static int check_newest(struct archive_writer *w, int64_t stream, uint64_t newest, bool *damaged)
{
	struct packet_end end;
	struct archive_end last;
	int r = writer_packet_end(w, stream, newest, &end);

	*damaged = false;
	if (r == 0 && end.any)
		r = writer_row_end(w, end.id, &last);
	if (r == 0)
		r = packet_drop_dangling(w, stream, newest);
	return r == ARCHIVE_E_DAMAGED ? packet_repair(w, stream, newest, damaged) : r;
}

/*
 * Delete the bytes behind the last chunk end. Only the stream's newest packet can have such bytes;
 * if that packet is deleted altogether, the packet before it.
 */
static int drop_dangling(struct archive_writer *w, int64_t stream)
{
	int64_t newest, again;
	bool is_none, damaged = false;
	int r = statement_number(&w->store.statements, STATEMENT_NEWEST_PACKET, 1, &stream, &newest, &is_none);

	while (r == 0 && !is_none) {
		r = check_newest(w, stream, (uint64_t)newest, &damaged);
		if (r == 0)
			r = statement_number(&w->store.statements, STATEMENT_NEWEST_PACKET, 1, &stream, &again,
					     &is_none);
		if (r != 0 || (again == newest && !damaged))
			break;
		newest = again;
	}
	return r;
}

/*
 * Store the last bytes of row ID in *RESUME, whose position is the row's end. If the row is damaged, store none: whoever reads
 * the row reports it.
 */
static int last_bytes(struct archive_writer *w, int64_t id, struct archive_resume *resume)
{
	struct stored_row row = {0};
	int r = writer_read_row(w, id, &row);

	if (r == 0 && row.offset + row.length == resume->offset) {
		resume->n_last = row.length < sizeof(resume->last) ? row.length : (uint32_t)sizeof(resume->last);
		memcpy(resume->last, row.data + row.length - resume->n_last, resume->n_last);
	}
	statement_resetp(&row.statement);
	return r == ARCHIVE_E_DAMAGED ? 0 : r;
}

/*
 * Set the position in *RESUME: from the newest packet (HAS_PACKET), or from a gap (HAS_GAP) whose
 * next packet is BEHIND_GAP.
 */
static int find_position(struct archive_writer *w, struct archive_resume *resume, bool has_packet, bool has_gap,
			 uint64_t behind_gap)
{
	struct packet_end end;
	struct archive_end last = {0};
	int r;

	resume->offset = MPROF_PACKET_HEADER_BYTES;
	if (has_packet) {
		r = writer_packet_end(w, resume->stream, resume->last_sequence, &end);
		if (r == 0)
			r = writer_row_end(w, end.id, &last);
		if (r != 0)
			return r;
		resume->any = true;
		resume->first_timestamp = end.first_timestamp;
		resume->last_real = last.real;
		resume->last_mono = age_mono_now(&w->age, (int64_t)last.mono, (int64_t)last.real);
		resume->sequence = resume->last_sequence + 1;
		if (!(end.flags & ARCHIVE_CHUNK_LAST)) {
			resume->sequence = resume->last_sequence;
			resume->offset = end.offset;
		}
	}
	if (has_gap && behind_gap > resume->sequence) {
		resume->sequence = behind_gap;
		resume->offset = MPROF_PACKET_HEADER_BYTES;
	}
	if (resume->offset > MPROF_PACKET_HEADER_BYTES && strcmp(resume->state, "ended") != 0)
		return last_bytes(w, end.id, resume);
	return 0;
}

/* A tail without a range: of CAPTURE, or {0} if there is none. */
struct lone_tail {
	int64_t capture, stream;
};

static int find_tail(struct archive_writer *w, struct lone_tail *tail)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, STATEMENT_LONE_TAIL, NO_VALUES, &s);

	*tail = (struct lone_tail){0};
	if (r == 0)
		r = statement_step(&w->store.statements, s);
	if (r != STATEMENT_ROW)
		return r;
	*tail = (struct lone_tail){.capture = sqlite3_column_int64(s, 0), .stream = sqlite3_column_int64(s, 1)};
	return 0;
}

static int drop_tail(struct archive_writer *w, const struct lone_tail *tail)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, STATEMENT_DROP_TAIL, VALUES(tail->capture, tail->stream), &s);

	if (!s)
		return r;
	while ((r = statement_step(&w->store.statements, s)) == STATEMENT_ROW) {
		usage_add(&w->usage, sqlite3_column_int64(s, 0), -sqlite3_column_int64(s, 1));
		r = writer_tally_stream(w, sqlite3_column_int64(s, 0),
					&(struct deletion){.reason = DELETION_UNFINISHED, .bytes = column_u64(s, 1)});
		if (r != 0)
			return r;
	}
	return r;
}

/*
 * Delete tails that have no range. The range is written last, so mprofd was killed while it wrote
 * such a tail; or an entry of the index, or the range, was damaged: then it is mended, and the tail stays.
 */
static int drop_tails(struct archive_writer *w)
{
	struct lone_tail tail, last = {0};
	bool is_mended = false, is_restored = false;
	int r;

	while ((r = find_tail(w, &tail)) == 0 && tail.capture) {
		const bool is_new = tail.capture != last.capture || tail.stream != last.stream;

		if (!is_new && !is_mended && !is_restored) /* a damaged index would repeat it for ever */
			return -EBADMSG;
		r = is_new ? index_entries_mend(w, 0, 0, tail.capture, &is_mended) : 0;
		if (r == 0 && is_new)
			r = list_restore(w, tail.capture, tail.stream, &is_restored);
		if (r == 0 && !(is_new && (is_mended || is_restored))) {
			r = drop_tail(w, &tail);
			is_mended = is_restored = false;
		}
		if (r != 0)
			return r;
		last = tail;
	}
	return r;
}

/* Set the fields about captures of the run's end in *RESUME, from the current row of S. */
static void resume_captures(const struct age *age, sqlite3_stmt *s, struct archive_resume *resume)
{
	int64_t newest = sqlite3_column_int64(s, 11), whole = sqlite3_column_int64(s, 13);
	uint64_t captured = column_u64(s, 14), ended = column_u64(s, 15);

	resume->captured = newest != 0;
	resume->captured_as = column_text(s, 12);
	/* mprofd may have been killed after the capture and before it set the run's end. */
	if (captured)
		resume->captured_real = age_certain_real(age, strcmp(resume->state, "ended") == 0 ? ended : captured);
	resume->unfinished = newest > whole ? newest : 0;
}

/*
 * Return true if the newest capture of the stream's end reaches RESUME's position, or the loss of
 * the end is declared.
 */
static bool end_known(sqlite3_stmt *s, const struct archive_resume *resume)
{
	uint64_t sequence = (uint64_t)sqlite3_column_int64(s, 18), offset = (uint64_t)sqlite3_column_int64(s, 19);
	bool taken = sqlite3_column_type(s, 18) != SQLITE_NULL;

	if (sqlite3_column_int(s, 20))
		return true;
	return taken && (sequence > resume->sequence || (sequence == resume->sequence && offset >= resume->offset));
}

static int resume_row(struct archive_writer *w, sqlite3_stmt *s, struct archive_resume *resume)
{
	int r;

	*resume = (struct archive_resume){
		.run = sqlite3_column_int64(s, 0),
		.stream = sqlite3_column_int64(s, 1),
		.source = column_string(s, 2),
		.key = column_string(s, 3),
		.name = column_string(s, 4),
		.state = column_string(s, 5),
		.number = (uint32_t)sqlite3_column_int64(s, 6),
		.ring_bytes = (uint64_t)sqlite3_column_int64(s, 7),
		.ring_packets = (uint32_t)sqlite3_column_int64(s, 8),
		.last_sequence = (uint64_t)sqlite3_column_int64(s, 9),
		.uuid = column_text(s, 16),
		.label = column_text(s, 21),
		.has_begins = sqlite3_column_type(s, 22) != SQLITE_NULL,
		.begins = column_u64(s, 22),
		.domid = sqlite3_column_type(s, 17) == SQLITE_NULL ? -1 : sqlite3_column_int64(s, 17),
	};
	resume_captures(&w->age, s, resume);
	r = find_position(w, resume, sqlite3_column_type(s, 9) != SQLITE_NULL,
			  sqlite3_column_type(s, 10) != SQLITE_NULL, (uint64_t)sqlite3_column_int64(s, 10));
	resume->end_known = r == 0 && end_known(s, resume);
	return r;
}

int archive_writer_resume(struct archive_writer *w, int (*call)(void *context, const struct archive_resume *resume),
			  void *context)
{
	struct archive_resume resume;
	bool is_mine;
	int r;

	/* The clock may have been set, and the host started again, since the archive was written. */
	age_run(&w->age, &w->store, true);
	r = lists_check(w);
	if (r == 0)
		r = row_sums_check(w);
	if (r == 0)
		r = writer_enter(w, &is_mine);
	if (r != 0)
		return r;
	for (size_t i = 0; i < w->usage.n && r == 0; i++)
		r = drop_dangling(w, w->usage.entries[i].stream);
	if (r == 0)
		r = drop_tails(w);
	r = writer_leave(w, is_mine, r);
	if (r != 0)
		return r;
	{
		CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;

		r = statement_get(&w->store.statements, STATEMENT_RESUME, NO_VALUES, &s);
		while (s && (r = statement_step(&w->store.statements, s)) == STATEMENT_ROW) {
			r = resume_row(w, s, &resume);
			if (r == 0)
				r = call(context, &resume);
			if (r != 0)
				return r;
		}
	}
	return r;
}
