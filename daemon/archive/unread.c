/*
 * Captures of the kind `unread` (schema/archive/0011-unread-captures.sql), and what becomes of them.
 *
 * Packets that no other capture names are deleted with such a capture if they were copied for it: a policy that keeps
 * crashes alone archives nothing else. Those that were copied before it began are of another policy, and stay.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "index-entries.h"
#include "log.h"
#include "row-sums.h"
#include "writer-state.h"

struct unread {
	int64_t capture, run;
	uint64_t real, mono;
	bool is_changed;	   /* somebody has pinned, noted or marked it */
	bool is_whole;		   /* nothing of it was damaged, so its stamp is right */
	char reason[32];	   /* of the end of its run */
	enum deletion_reason told; /* why it is deleted */
	unsigned left;		   /* packets that may be deleted yet */
};

/* ---- what is believed ------------------------------------------------------------------------ */

/* Return 0 if row ID of TABLE agrees with its checksum. Else declare it, and return ARCHIVE_E_DAMAGED, or an error. */
static int check(struct archive_writer *w, const char *table, int64_t id)
{
	bool is_damaged;
	int r = row_sums_check_row(w, table, id, &is_damaged);

	return r ? r : is_damaged ? ARCHIVE_E_DAMAGED : 0;
}

/* Return whether the current row of S, a statement of ranges, agrees with its checksum. */
static bool range_holds(sqlite3_stmt *s)
{
	struct checksum_row row = {.n = 7};

	for (int i = 0; i < 7; i++)
		row.numbers[i] = sqlite3_column_int64(s, i);
	return checksum_holds(s, 7, sqlite3_column_int(s, 8) != 0, &row);
}

/* Fill *U of CAPTURE by its rows. Return as find(). */
static int read_rows(struct archive_writer *w, int64_t capture, struct unread *u)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, STATEMENT_UNREAD, VALUES(capture), &s);

	if (!s)
		return r;
	r = statement_step(&w->store.statements, s);
	if (r != STATEMENT_ROW)
		return r ? r : ARCHIVE_E_ABSENT;
	*u = (struct unread){.capture = capture,
			     .run = sqlite3_column_int64(s, 0),
			     .real = column_u64(s, 1),
			     .mono = column_u64(s, 2),
			     .is_changed = sqlite3_column_int(s, 3) != 0,
			     .is_whole = sqlite3_column_int(s, 5) != 0,
			     .told = DELETION_POLICY,
			     .left = UINT_MAX};
	snprintf(u->reason, sizeof(u->reason), "%s", column_string(s, 4));
	return 0;
}

/*
 * Fill *U for CAPTURE. Return 0; ARCHIVE_E_ABSENT if it is not of the kind or its run goes on; ARCHIVE_E_DAMAGED if its row or
 * that of its run was damaged, and is declared now: another call finds it; or an error.
 */
static int find(struct archive_writer *w, int64_t capture, struct unread *u)
{
	int r = check(w, "captures", capture);

	if (r == 0)
		r = read_rows(w, capture, u);
	return r ? r : check(w, "runs", u->run);
}

/* Log once that CAPTURE cannot be decided on, if R says that SQLite failed at it. Return R. */
static int tell(struct archive_writer *w, int64_t capture, int r)
{
	if (r != -EBADMSG || capture <= w->unread_told)
		return r;
	w->unread_told = capture;
	log_write_limited(&w->failure_lines, LOG_LEVEL_ERROR, NULL,
			  "A capture of the kind unread cannot be decided on, because the archive's file is damaged; "
			  "mprofd --fsck saves what is whole: capture=%lld",
			  (long long)capture);
	return r;
}

/* ---- the search ------------------------------------------------------------------------------ */

/* Find the first capture of SEARCH from FIRST to LAST in one statement, which fails at a row that cannot be read. */
static int first_between(struct archive_writer *w, const struct unread_search *search, int64_t first, int64_t last,
			 int64_t *capture, bool *is_none)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, search->which, VALUES(0, first, last, search->before_age), &s);

	if (!s)
		return r;
	if (search->guest)
		statement_bind_text(s, 1, search->guest);
	r = statement_step(&w->store.statements, s);
	*is_none = r != STATEMENT_ROW;
	if (*is_none)
		return r;
	*capture = sqlite3_column_int64(s, 0);
	return 0;
}

/* Find the first capture of SEARCH from FIRST on whose rows can be read. The index alone names all of this kind. */
static int first_readable(struct archive_writer *w, const struct unread_search *search, int64_t first, int64_t *capture,
			  bool *is_none)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, STATEMENT_UNREAD_IDS, VALUES(first), &s);

	*is_none = true;
	while (s && *is_none && (r = statement_step(&w->store.statements, s)) == STATEMENT_ROW) {
		const int64_t id = sqlite3_column_int64(s, 0);

		r = tell(w, id, first_between(w, search, id, id, capture, is_none));
		if (r != 0 && r != -EBADMSG)
			return r;
	}
	return r == STATEMENT_ROW || !*is_none ? 0 : r;
}

int unread_next(struct archive_writer *w, const struct unread_search *search, int64_t *capture, bool *is_none)
{
	int r = 0;

	*is_none = true;
	if (*capture < INT64_MAX)
		r = first_between(w, search, *capture + 1, INT64_MAX, capture, is_none);
	return r == -EBADMSG ? first_readable(w, search, *capture + 1, capture, is_none) : r;
}

/* ---- what becomes of it ---------------------------------------------------------------------- */

/* Give the capture of U the kind KIND. It is complete, and is sent now if captures are. */
static int settle(struct archive_writer *w, const struct unread *u, const char *kind)
{
	const struct archive_capture capture = {.id = u->capture, .run = u->run, .kind = kind, .real = u->real};
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, STATEMENT_SETTLE_CAPTURE, VALUES(u->capture), &s);

	if (!s)
		return r;
	statement_bind_text(s, 2, kind);
	r = statement_step(&w->store.statements, s);
	if (r == 0)
		r = outbox_add_capture(w, &capture);
	if (r == 0)
		r = archive_writer_finish_capture(w, u->capture);
	w->wants_sync |= r == 0;
	return r;
}

/* Delete packet SEQUENCE, unless it was copied before the capture of U. Add to *DELETION, and to *COMPLETE. */
static int drop_packet(struct archive_writer *w, struct unread *u, int64_t stream, int64_t sequence,
		       struct deletion *deletion, int64_t *complete)
{
	struct archive_end end;
	int64_t bytes = 0;
	int r = index_entries_mend(w, stream, (uint64_t)sequence, 0, &(bool){false});

	if (r == 0)
		r = packet_copied(w, stream, sequence, &end);
	if (r != 0 || (end.offset && end.mono < u->mono))
		return r;
	r = packet_delete(w, stream, sequence, &bytes, complete);
	if (r != 0)
		return r;
	u->left--;
	deletion->packets++;
	deletion->bytes += (uint64_t)bytes;
	return outbox_lose_packet(w, stream, (uint64_t)sequence, end.real, (uint64_t)bytes);
}

/* Delete the packets of STREAM from FIRST to LAST that were copied for the capture of U alone. */
static int drop_packets(struct archive_writer *w, struct unread *u, int64_t stream, int64_t first, int64_t last)
{
	struct deletion deletion = {.reason = u->told};
	int64_t sequence, complete = 0;
	bool is_none = false;
	int r = 0;

	while (first <= last && u->left) {
		r = statement_number(&w->store.statements, STATEMENT_UNREAD_PACKET,
				     VALUES(u->capture, stream, first, last), &sequence, &is_none);
		if (r != 0 || is_none)
			break;
		if (sequence < first || sequence == INT64_MAX) /* a damaged index would repeat a packet for ever */
			return -EBADMSG;
		r = drop_packet(w, u, stream, sequence, &deletion, &complete);
		if (r != 0)
			break;
		first = sequence + 1;
	}
	if (r != 0 || !deletion.packets)
		return r;
	r = writer_tally_stream(w, stream, &deletion);
	if (r == 0)
		r = WRITER_RUN(w, STATEMENT_SETTLE_STREAM, stream, 1, 0, complete);
	return r ? r : WRITER_RUN(w, STATEMENT_DROP_GAPS, stream, INT64_MAX);
}

/*
 * Set *HOLDS to whether the ranges that other captures have of STREAM agree with their checksums. If one does not, any packet may be
 * in it.
 */
static int check_others(struct archive_writer *w, const struct unread *u, int64_t stream, bool *holds)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, STATEMENT_UNREAD_OTHERS, VALUES(u->capture, stream), &s);

	*holds = true;
	while (s && *holds && (r = statement_step(&w->store.statements, s)) == STATEMENT_ROW)
		*holds = range_holds(s);
	return r == STATEMENT_ROW ? 0 : r;
}

/* Delete the packets of the current row of S, a range of the capture of U. Nothing is deleted for a damaged range or capture. */
static int drop_range(struct archive_writer *w, struct unread *u, sqlite3_stmt *s)
{
	const int64_t stream = sqlite3_column_int64(s, 1);
	bool holds = u->is_whole && range_holds(s);
	int r = holds ? check_others(w, u, stream, &holds) : 0;

	if (r != 0 || !holds)
		return r;
	return drop_packets(w, u, stream, sqlite3_column_int64(s, 2), sqlite3_column_int64(s, 3));
}

/*
 * Delete the capture of U, which is no crash; or keep it, if somebody has changed it. It stays, too, if it has more packets than may be
 * deleted.
 */
static int drop(struct archive_writer *w, struct unread *u)
{
	int r = 0;

	if (u->is_changed)
		return settle(w, u, u->reason);
	{
		CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;

		r = statement_get(&w->store.statements, STATEMENT_UNREAD_RANGES, VALUES(u->capture), &s);
		while (s && r == 0 && (r = statement_step(&w->store.statements, s)) == STATEMENT_ROW)
			r = drop_range(w, u, s);
	}
	return r || !u->left ? r : capture_delete(w, u->capture, u->told);
}

static int decide(struct archive_writer *w, struct unread *u, bool crashed)
{
	bool is_mine;
	int r = writer_enter(w, &is_mine);

	if (r != 0)
		return r;
	r = crashed ? settle(w, u, "crash") : drop(w, u);
	if (r == 0 && crashed)
		r = WRITER_RUN(w, STATEMENT_RUN_CRASHED, u->run);
	return writer_leave(w, is_mine, r);
}

int archive_writer_judge(struct archive_writer *w, int64_t capture, bool crashed)
{
	struct unread u;
	int r = find(w, capture, &u);

	return tell(w, capture, r ? r : decide(w, &u, crashed));
}

bool unread_is_passed(int r)
{
	return r == -EBADMSG || r == ARCHIVE_E_DAMAGED || r == ARCHIVE_E_ABSENT;
}

int unread_make_room(struct archive_writer *w, int64_t capture, enum deletion_reason reason, unsigned *left)
{
	struct unread u;
	int r = find(w, capture, &u);

	if (r == 0) {
		u.told = reason;
		u.left = *left;
		r = decide(w, &u, false);
	}
	*left = r ? *left - 1 : u.left;
	return tell(w, capture, r);
}

/* The search failed with R. Note it, if the index is damaged: it is tried again later (bad-places.h). Return R, or 0 if it is noted. */
static int pass_search(struct archive_writer *w, const struct bad_place *search, int r)
{
	bool is_new;

	if (r != -EBADMSG || !bad_places_note(&w->bad_places, search, NULL, &is_new))
		return r;
	w->damage.pieces += is_new;
	w->damage.passed += is_new;
	return 0;
}

int archive_writer_drop_unread(struct archive_writer *w, uint64_t before_age, unsigned limit, int64_t *after,
			       unsigned *dropped)
{
	const struct unread_search search = {.which = STATEMENT_UNREAD_OLD, .before_age = (int64_t)before_age};
	const struct bad_place place = {.kind = BAD_PLACE_UNREAD};
	int64_t capture = *after;

	*dropped = 0;
	*after = 0;
	if (bad_places_has(&w->bad_places, &place))
		return 0;
	for (unsigned i = 0; i < limit; i++) {
		struct unread u;
		bool is_none;
		int r = unread_next(w, &search, &capture, &is_none);

		if (r != 0 || is_none)
			return pass_search(w, &place, r);
		r = find(w, capture, &u);
		r = tell(w, capture, r ? r : decide(w, &u, false));
		if (r != 0 && !unread_is_passed(r))
			return r;
		*dropped += r == 0 && !u.is_changed;
	}
	*after = capture;
	return 0;
}
