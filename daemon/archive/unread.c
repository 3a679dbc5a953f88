/*
 * Captures of the kind `unread` (schema/archive/0011-unread-captures.sql), and what becomes of them.
 *
 * Packets that no other capture names are deleted with such a capture if they were copied for it: a policy that keeps
 * crashes alone archives nothing else. Those that were copied before it began are of another policy, and stay.
 */
#include <errno.h>
#include <stdio.h>

#include "writer-state.h"

struct unread {
	int64_t capture, run;
	uint64_t real, mono;
	bool is_changed; /* somebody has pinned, noted or marked it */
	char reason[32]; /* of the end of its run */
};

/* Fill *U for CAPTURE. Return 0, ARCHIVE_E_ABSENT if it is not of the kind or its run goes on, or an error. */
static int find(struct archive_writer *w, int64_t capture, struct unread *u)
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
			     .is_changed = sqlite3_column_int(s, 3) != 0};
	snprintf(u->reason, sizeof(u->reason), "%s", column_string(s, 4));
	return 0;
}

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
static int drop_packet(struct archive_writer *w, const struct unread *u, int64_t stream, int64_t sequence,
		       struct deletion *deletion, int64_t *complete)
{
	struct archive_end end;
	int64_t bytes = 0;
	int r = packet_copied(w, stream, sequence, &end);

	if (r != 0 || (end.offset && end.mono < u->mono))
		return r;
	r = packet_delete(w, stream, sequence, &bytes, complete);
	if (r != 0)
		return r;
	deletion->packets++;
	deletion->bytes += (uint64_t)bytes;
	return outbox_lose_packet(w, stream, (uint64_t)sequence, end.real, (uint64_t)bytes);
}

/* Delete the packets of STREAM from FIRST to LAST that were copied for the capture of U alone. */
static int drop_packets(struct archive_writer *w, const struct unread *u, int64_t stream, int64_t first, int64_t last)
{
	struct deletion deletion = {.reason = DELETION_POLICY};
	int64_t sequence, complete = 0;
	bool is_none = false;
	int r = 0;

	while (first <= last) {
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
	writer_tally_stream(w, stream, &deletion);
	r = WRITER_RUN(w, STATEMENT_SETTLE_STREAM, stream, 1, 0, complete);
	return r ? r : WRITER_RUN(w, STATEMENT_DROP_GAPS, stream, INT64_MAX);
}

/* Delete the capture of U, which is no crash; or keep it, if somebody has changed it. */
static int drop(struct archive_writer *w, const struct unread *u)
{
	int r = 0;

	if (u->is_changed)
		return settle(w, u, u->reason);
	{
		CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;

		r = statement_get(&w->store.statements, STATEMENT_UNREAD_RANGES, VALUES(u->capture), &s);
		while (s && r == 0 && (r = statement_step(&w->store.statements, s)) == STATEMENT_ROW)
			r = drop_packets(w, u, sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1),
					 sqlite3_column_int64(s, 2));
	}
	return r ? r : capture_delete(w, u->capture, DELETION_POLICY);
}

int archive_writer_judge(struct archive_writer *w, int64_t capture, bool crashed)
{
	struct unread u;
	bool is_mine;
	int r = writer_enter(w, &is_mine);

	if (r != 0)
		return r;
	r = find(w, capture, &u);
	if (r == 0)
		r = crashed ? settle(w, &u, "crash") : drop(w, &u);
	if (r == 0 && crashed)
		r = WRITER_RUN(w, STATEMENT_RUN_CRASHED, u.run);
	return writer_leave(w, is_mine, r);
}

int archive_writer_drop_unread(struct archive_writer *w, uint64_t before_age, unsigned limit, unsigned *dropped)
{
	bool is_mine, is_none = false;
	int64_t capture;
	struct unread u;
	int r = writer_enter(w, &is_mine);

	*dropped = 0;
	if (r != 0)
		return r;
	while (r == 0 && *dropped < limit) {
		r = statement_number(&w->store.statements, STATEMENT_UNREAD_OLD, VALUES((int64_t)before_age), &capture,
				     &is_none);
		if (r != 0 || is_none)
			break;
		r = find(w, capture, &u);
		if (r == 0)
			r = drop(w, &u);
		*dropped += r == 0;
	}
	return writer_leave(w, is_mine, r);
}
