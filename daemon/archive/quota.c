/*
 * Delete the oldest content.
 *
 * The candidates are, of each stream, the oldest packet that is in no pinned capture; and the
 * oldest capture that is not pinned. The oldest candidate is deleted, again and again, until the
 * limits hold. The age of a packet is the age of the copy of its last byte.
 *
 * Two things are never deleted: the newest packet of a stream whose run has not ended, because the
 * stream may grow and is continued from there; and a capture of which packets are left, if only the
 * limit of bytes is exceeded.
 */
#include <errno.h>
#include <stdlib.h>

#include "clock.h"
#include "writer-state.h"

#define REMEMBERED_NS (24 * 3600 * NS_PER_S)

struct head {
	int64_t stream;
	bool is_ended; /* the run has ended */
	bool any;      /* there is a candidate, the packet SEQUENCE copied at REAL */
	uint64_t sequence;
	uint64_t real;
	bool was_cut; /* packets of the stream were deleted */
	int64_t gone; /* number of complete packets that were deleted */
};

struct enforcement {
	struct archive_writer *w;
	const char *name; /* NULL = all guests */
	uint64_t bytes, before_real;
	uint64_t held;
	struct head *heads;
	size_t n_heads;
	int64_t capture; /* oldest capture that may be deleted; 0 = none */
	uint64_t capture_real;
};

/*
 * Get the statement OF_GUEST with the guest's name bound; or OF_ALL, if the limits are for all
 * guests.
 */
static int guest_statement(const struct enforcement *e, enum writer_statement of_guest, enum writer_statement of_all,
			   sqlite3_stmt **s)
{
	int r = statement_get(&e->w->store.statements, e->name ? of_guest : of_all, NO_VALUES, s);

	if (r == 0 && e->name)
		statement_bind_text(*s, 1, e->name);
	return r;
}

static int list_streams(struct enforcement *e)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	size_t room = 0;
	int r = guest_statement(e, STATEMENT_GUEST_STREAMS, STATEMENT_ALL_STREAMS, &s);

	while (s && (r = statement_step(&e->w->store.statements, s)) == STATEMENT_ROW) {
		if (e->n_heads == room) {
			struct head *more = realloc(e->heads, (room = 2 * room + 16) * sizeof(*more));

			if (!more)
				return -ENOMEM;
			e->heads = more;
		}
		e->heads[e->n_heads++] =
			(struct head){.stream = sqlite3_column_int64(s, 0), .is_ended = sqlite3_column_int(s, 1) != 0};
		e->held += (uint64_t)usage_bytes(&e->w->usage, sqlite3_column_int64(s, 0));
	}
	return r;
}

/*
 * Set *REAL to the time when the packet's last proven byte was copied, or to 0 if no byte is
 * proven.
 */
static int packet_real(struct archive_writer *w, int64_t stream, uint64_t sequence, uint64_t *real)
{
	struct archive_end end = {0};
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, STATEMENT_PACKET_ROWS, VALUES(stream, (int64_t)sequence), &s);

	if (!s)
		return r;
	while (end.offset == 0 && (r = statement_step(&w->store.statements, s)) == STATEMENT_ROW) {
		r = writer_row_end(w, sqlite3_column_int64(s, 0), &end);
		/* The age of a damaged row is the time that the row has, right or wrong. */
		if (r == ARCHIVE_E_DAMAGED)
			r = 0;
		if (r != 0)
			return r;
	}
	*real = end.real;
	return r == STATEMENT_ROW ? 0 : r;
}

/* Find the stream's oldest packet, from FROM on, that may be deleted, and store it in *H. */
static int find_head(struct enforcement *e, struct head *h, int64_t from)
{
	struct archive_writer *w = e->w;
	int64_t sequence, until, newest;
	bool is_none, is_free;
	int r;

	h->any = false;
	for (;;) {
		r = statement_number(&w->store.statements, STATEMENT_FIRST_PACKET, VALUES(h->stream, from), &sequence,
				     &is_none);
		if (r != 0 || is_none)
			return r;
		if (sequence < from) /* a damaged index would repeat a packet for ever */
			return -EBADMSG;
		r = statement_number(&w->store.statements, STATEMENT_PINNED_UNTIL, VALUES(h->stream, sequence), &until,
				     &is_free);
		if (r != 0)
			return r;
		if (is_free)
			break;
		if (until == INT64_MAX)
			return 0;
		from = until + 1;
	}
	if (!h->is_ended) {
		r = statement_number(&w->store.statements, STATEMENT_NEWEST_PACKET, 1, &h->stream, &newest, &is_none);
		if (r != 0 || newest == sequence)
			return r;
	}
	h->any = true;
	h->sequence = (uint64_t)sequence;
	return packet_real(w, h->stream, h->sequence, &h->real);
}

/* Find the oldest capture that may be deleted. */
static int find_capture(struct enforcement *e)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	bool has_none;
	int64_t one;
	int r = guest_statement(e, STATEMENT_GUEST_OLDEST_CAPTURE, STATEMENT_OLDEST_CAPTURE, &s);

	e->capture = 0;
	if (!s)
		return r;
	r = statement_step(&e->w->store.statements, s);
	if (r != STATEMENT_ROW)
		return r;
	e->capture_real = (uint64_t)sqlite3_column_int64(s, 1);
	one = sqlite3_column_int64(s, 0);
	if (e->capture_real < e->before_real) {
		e->capture = one;
		return 0;
	}
	r = statement_number(&e->w->store.statements, STATEMENT_CAPTURE_HAS_PACKETS, VALUES(one), &(int64_t){0},
			     &has_none);
	if (r == 0 && has_none)
		e->capture = one;
	return r;
}

static bool is_over(const struct enforcement *e, uint64_t real)
{
	return (e->bytes && e->held > e->bytes) || real < e->before_real;
}

/* Return the stream with the oldest packet, or NULL. */
static struct head *oldest_head(const struct enforcement *e)
{
	struct head *oldest = NULL;

	for (size_t i = 0; i < e->n_heads; i++)
		if (e->heads[i].any && (!oldest || e->heads[i].real < oldest->real))
			oldest = &e->heads[i];
	return oldest;
}

static int delete_packet(struct enforcement *e, struct head *h)
{
	int64_t gone = 0;
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&e->w->store.statements, STATEMENT_DELETE_PACKET, VALUES(h->stream, (int64_t)h->sequence),
			      &s);

	if (!s)
		return r;
	while ((r = statement_step(&e->w->store.statements, s)) == STATEMENT_ROW) {
		gone += sqlite3_column_int64(s, 0);
		h->gone += sqlite3_column_int64(s, 1);
	}
	if (r != 0)
		return r;
	usage_add(&e->w->usage, h->stream, -gone);
	e->held -= (uint64_t)gone;
	h->was_cut = true;
	r = outbox_lose_packet(e->w, h->stream, h->sequence, h->real, (uint64_t)gone);
	return r ? r : find_head(e, h, (int64_t)h->sequence + 1);
}

static void recount(struct enforcement *e)
{
	e->held = 0;
	for (size_t i = 0; i < e->n_heads; i++)
		e->held += (uint64_t)usage_bytes(&e->w->usage, e->heads[i].stream);
}

/*
 * Delete the oldest candidate if a limit is exceeded. IS_DRY: do not delete. *MORE: a candidate was
 * deleted, or would have been.
 */
static int delete_oldest(struct enforcement *e, bool is_dry, bool *more)
{
	struct head *h = oldest_head(e);
	bool is_capture = e->capture && (!h || e->capture_real < h->real);
	int r;

	*more = (h || is_capture) && is_over(e, is_capture ? e->capture_real : h->real);
	if (!*more || is_dry)
		return 0;
	if (!is_capture) {
		r = delete_packet(e, h);
		/* The capture may have lost its last packet, and be a candidate now. */
		return r ? r : find_capture(e);
	}
	r = capture_delete(e->w, e->capture, false);
	recount(e);
	return r ? r : find_capture(e);
}

static int delete_run(struct archive_writer *w, int64_t run)
{
	int64_t stream, before = 0;
	bool is_none;
	int r;

	for (;; before = stream) {
		r = statement_number(&w->store.statements, STATEMENT_RUN_STREAMS, 1, &run, &stream, &is_none);
		if (r != 0 || is_none)
			break;
		if (stream == before) /* a damaged index would repeat a stream for ever */
			return -EBADMSG;
		r = WRITER_RUN(w, STATEMENT_DELETE_GAPS, stream);
		if (r == 0)
			r = WRITER_RUN(w, STATEMENT_DELETE_STREAM, stream);
		if (r != 0)
			return r;
		usage_remove_stream(&w->usage, stream);
	}
	return r ? r : WRITER_RUN(w, STATEMENT_DELETE_RUN, run);
}

/*
 * Delete ended runs without content. A run without a ring (its guest has only a memory profile) is
 * kept for REMEMBERED_NS.
 */
static int delete_empty_runs(struct enforcement *e)
{
	uint64_t now = clock_real(), before = now > REMEMBERED_NS ? now - REMEMBERED_NS : 0;

	for (int64_t last = 0;;) {
		int64_t run = 0;
		int r;

		{
			CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;

			r = guest_statement(e, STATEMENT_GUEST_EMPTY_RUNS, STATEMENT_EMPTY_RUNS, &s);
			if (!s)
				return r;
			sqlite3_bind_int64(s, 2, (int64_t)before);
			r = statement_step(&e->w->store.statements, s);
			if (r != STATEMENT_ROW)
				return r;
			run = sqlite3_column_int64(s, 0);
		}
		r = run == last ? -EBADMSG : delete_run(e->w, run); /* a damaged index would repeat a run for ever */
		if (r != 0)
			return r;
		last = run;
	}
}

/*
 * After deletions: update the counters of the streams, and delete the gaps before the oldest
 * packets and the runs without content.
 */
static int tidy(struct enforcement *e)
{
	int r = 0;

	for (size_t i = 0; i < e->n_heads && r == 0; i++) {
		const struct head *h = &e->heads[i];

		if (h->was_cut)
			r = WRITER_RUN(e->w, STATEMENT_SETTLE_STREAM, h->stream, 1, 0, h->gone);
		if (r == 0 && (h->was_cut || e->before_real))
			r = WRITER_RUN(e->w, STATEMENT_DROP_GAPS, h->stream,
				       h->was_cut ? INT64_MAX : (int64_t)e->before_real);
	}
	return r ? r : delete_empty_runs(e);
}

static int enforce(struct enforcement *e, unsigned limit, bool *more)
{
	int r = list_streams(e);

	*more = false;
	if (r == 0 && (e->before_real || (e->bytes && e->held > e->bytes))) {
		for (size_t i = 0; i < e->n_heads && r == 0; i++)
			r = find_head(e, &e->heads[i], INT64_MIN);
		if (r == 0)
			r = find_capture(e);
		*more = r == 0;
		for (unsigned i = 0; i < limit && *more && r == 0; i++)
			r = delete_oldest(e, false, more);
		if (r == 0 && *more)
			r = delete_oldest(e, true, more);
	}
	return r ? r : tidy(e);
}

int archive_writer_enforce(struct archive_writer *w, const char *name, uint64_t bytes, uint64_t before_real,
			   unsigned limit, bool *more)
{
	struct enforcement e = {.w = w, .name = name, .bytes = bytes, .before_real = before_real};
	bool is_mine;
	int r = writer_enter(w, &is_mine);

	*more = false;
	if (r != 0)
		return r;
	r = enforce(&e, limit, more);
	free(e.heads);
	return writer_leave(w, is_mine, r);
}
