/*
 * Delete the oldest content.
 *
 * The candidates are, of each stream, the oldest packet that is in no pinned capture; and the
 * oldest capture that is not pinned. The oldest candidate is deleted, again and again, until the
 * limits hold. The age of a packet is the age of the copy of its last byte, on the age clock (age.h).
 *
 * Two things are never deleted: the newest packet of a stream whose run has not ended, because the
 * stream may grow and is continued from there; and a capture of which packets are left, if only the
 * limit of bytes is exceeded.
 */
#include <errno.h>
#include <stdlib.h>

#include "clock.h"
#include "index-entries.h"
#include "row-sums.h"
#include "writer-state.h"

#define REMEMBERED_NS (24 * 3600 * NS_PER_S)
/* A reading, and the verdict on it, mostly take a second; many guests that end at once wait for one another. */
#define READING_NS	(60 * NS_PER_S)
#define PINNED_CHECK_NS (600 * NS_PER_S)

struct head {
	int64_t stream;
	bool is_ended; /* the run has ended */
	bool any;      /* there is a candidate, the packet SEQUENCE copied at AGE */
	uint64_t sequence;
	int64_t age;	/* on the age clock, ns */
	uint64_t real;	/* the same moment by CLOCK_REALTIME, ns */
	int64_t mended; /* packet with whose rows the index was made to agree; INT64_MIN = none */
	bool was_cut;	/* packets of the stream were deleted */
	int64_t gone;	/* number of complete packets that were deleted */
};

struct enforcement {
	struct archive_writer *w;
	const char *name; /* NULL = all guests */
	uint64_t bytes;
	int64_t before_age;	     /* what is older is deleted; 0 = nothing is */
	enum deletion_reason excess; /* why bytes beyond the limit are deleted */
	uint64_t held;
	struct head *heads;
	size_t n_heads;
	int64_t capture; /* oldest capture that may be deleted; 0 = none */
	int64_t capture_age;
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
		e->heads[e->n_heads++] = (struct head){.stream = sqlite3_column_int64(s, 0),
						       .mended = INT64_MIN,
						       .is_ended = sqlite3_column_int(s, 1) != 0};
		e->held += (uint64_t)usage_bytes(&e->w->usage, sqlite3_column_int64(s, 0));
	}
	return r;
}

static void recount(struct enforcement *e)
{
	e->held = 0;
	for (size_t i = 0; i < e->n_heads; i++)
		e->held += (uint64_t)usage_bytes(&e->w->usage, e->heads[i].stream);
}

int packet_copied(struct archive_writer *w, int64_t stream, int64_t sequence, struct archive_end *end)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, STATEMENT_PACKET_ROWS, VALUES(stream, sequence), &s);

	*end = (struct archive_end){0};
	if (!s)
		return r;
	while (end->offset == 0 && (r = statement_step(&w->store.statements, s)) == STATEMENT_ROW) {
		r = writer_row_end(w, sqlite3_column_int64(s, 0), end);
		if (r == ARCHIVE_E_DAMAGED)
			r = 0;
		if (r != 0)
			return r;
	}
	return r == STATEMENT_ROW ? 0 : r;
}

/*
 * Set H's age and real to the time when the last proven byte of its packet was copied, or to 0 if no byte is
 * proven.
 */
static int packet_age(struct archive_writer *w, struct head *h)
{
	struct archive_end end;
	int r = packet_copied(w, h->stream, (int64_t)h->sequence, &end);

	if (r != 0)
		return r;
	h->real = end.real;
	h->age = end.offset ? age_at(&w->age, (int64_t)end.mono, (int64_t)end.real) : 0;
	return 0;
}

/* Find the stream's oldest packet, from FROM on, that may be deleted, and store it in *H. */
static int find_head(struct enforcement *e, struct head *h, int64_t from)
{
	struct archive_writer *w = e->w;
	int64_t sequence, until, newest;
	bool is_none, is_free, is_mended;
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
	/* An entry of the index that names no row gets one, which has no age, and can be deleted. */
	r = index_entries_mend(w, h->stream, h->sequence, 0, &is_mended);
	if (r == 0 && is_mended && h->mended != sequence) {
		h->mended = sequence;
		recount(e);
		return find_head(e, h, from);
	}
	return r ? r : packet_age(w, h);
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
	e->capture_age = age_at(&e->w->age, sqlite3_column_int64(s, 1), sqlite3_column_int64(s, 2));
	one = sqlite3_column_int64(s, 0);
	if (e->capture_age < e->before_age) {
		e->capture = one;
		return 0;
	}
	r = statement_number(&e->w->store.statements, STATEMENT_CAPTURE_HAS_PACKETS, VALUES(one), &(int64_t){0},
			     &has_none);
	if (r == 0 && has_none)
		e->capture = one;
	return r;
}

static bool is_over(const struct enforcement *e, int64_t age)
{
	return (e->bytes && e->held > e->bytes) || age < e->before_age;
}

/* Return why content of AGE is deleted. */
static enum deletion_reason reason_for(const struct enforcement *e, int64_t age)
{
	return age < e->before_age ? DELETION_AGE : e->excess;
}

/*
 * Return whether A is older than B. Stamps of an earlier version have the same age; then CLOCK_REALTIME says which is
 * the older.
 */
static bool is_older(const struct head *a, const struct head *b)
{
	return a->age != b->age ? a->age < b->age : a->real < b->real;
}

/* Return the stream with the oldest packet, or NULL. */
static struct head *oldest_head(const struct enforcement *e)
{
	struct head *oldest = NULL;

	for (size_t i = 0; i < e->n_heads; i++)
		if (e->heads[i].any && (!oldest || is_older(&e->heads[i], oldest)))
			oldest = &e->heads[i];
	return oldest;
}

int packet_delete(struct archive_writer *w, int64_t stream, int64_t sequence, int64_t *bytes, int64_t *complete)
{
	int64_t gone = 0;
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, STATEMENT_DELETE_PACKET, VALUES(stream, sequence), &s);

	if (!s)
		return r;
	while ((r = statement_step(&w->store.statements, s)) == STATEMENT_ROW) {
		gone += sqlite3_column_int64(s, 0);
		*complete += sqlite3_column_int64(s, 1);
	}
	if (r != 0)
		return r;
	usage_add(&w->usage, stream, -gone);
	*bytes += gone;
	return 0;
}

static int delete_packet(struct enforcement *e, struct head *h)
{
	int64_t gone = 0;
	int r = packet_delete(e->w, h->stream, (int64_t)h->sequence, &gone, &h->gone);

	if (r != 0)
		return r;
	e->held -= (uint64_t)gone;
	h->was_cut = true;
	writer_tally_stream(e->w, h->stream,
			    &(struct deletion){.reason = reason_for(e, h->age), .packets = 1, .bytes = (uint64_t)gone});
	r = outbox_lose_packet(e->w, h->stream, h->sequence, h->real, (uint64_t)gone);
	return r ? r : find_head(e, h, (int64_t)h->sequence + 1);
}

static int find_heads(struct enforcement *e)
{
	int r = 0;

	for (size_t i = 0; i < e->n_heads && r == 0; i++)
		r = find_head(e, &e->heads[i], INT64_MIN);
	return r;
}

/* Return whether the ranges of pinned captures must be checked: each search for them reads all captures. */
static bool is_due(const struct archive_writer *w)
{
	return !w->pinned_checked || clock_mono() - w->pinned_checked > PINNED_CHECK_NS;
}

/* Check the ranges of pinned captures, which hold packets, before a packet is deleted. *RESTORED: the candidates are others now. */
static int check_pinned(struct enforcement *e, bool *restored)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&e->w->store.statements, STATEMENT_PINNED_CAPTURES, NO_VALUES, &s);
	bool is_some;

	*restored = false;
	while (s && (r = statement_step(&e->w->store.statements, s)) == STATEMENT_ROW) {
		r = list_check_ranges(e->w, sqlite3_column_int64(s, 0), &is_some);
		if (r != 0)
			return r;
		*restored |= is_some;
	}
	if (r == 0 && !*restored) /* the transaction of what was restored may yet fail */
		e->w->pinned_checked = clock_mono();
	return r;
}

/*
 * Delete the oldest candidate if a limit is exceeded. IS_DRY: do not delete. *MORE: a candidate was
 * deleted, or would have been.
 */
static int delete_oldest(struct enforcement *e, bool is_dry, bool *more)
{
	struct head *h = oldest_head(e);
	bool is_capture = e->capture && (!h || e->capture_age < h->age), is_damaged, restored = false;
	int r;

	*more = (h || is_capture) && is_over(e, is_capture ? e->capture_age : h->age);
	if (!*more || is_dry)
		return 0;
	if (!is_capture && is_due(e->w)) {
		r = check_pinned(e, &restored);
		if (r != 0 || restored)
			return r ? r : find_heads(e);
	}
	if (!is_capture) {
		r = delete_packet(e, h);
		/* The capture may have lost its last packet, and be a candidate now. */
		return r ? r : find_capture(e);
	}
	/* A stamp is believed only if its row is undamaged. Else the row is declared, and gets stamps that are possible. */
	r = row_sums_check_row(e->w, "captures", e->capture, &is_damaged);
	if (r == 0 && !is_damaged)
		r = capture_delete(e->w, e->capture, reason_for(e, e->capture_age));
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
			r = WRITER_RUN(w, STATEMENT_DELETE_BEGINNING, stream);
		if (r == 0)
			r = WRITER_RUN(w, STATEMENT_DELETE_STREAM, stream);
		if (r != 0)
			return r;
		usage_remove_stream(&w->usage, stream);
	}
	if (r == 0)
		writer_tally_run(w, run, &(struct deletion){.reason = DELETION_EMPTY, .runs = 1});
	return r ? r : WRITER_RUN(w, STATEMENT_DELETE_RUN, run);
}

/*
 * Delete ended runs without content. A run without a ring (its guest has only a memory profile), and one of which nothing
 * was archived before it was lost, is kept for REMEMBERED_NS; so is one whose packets were damaged, with the gaps that say
 * so, behind the damage. If the disk lacks room, neither is kept. A run that has captures has content, even if nothing of their bytes is left: they say what is
 * lost, until they are deleted by their age, by a quota as the oldest ones, or by a person.
 */
static int delete_empty_runs(struct enforcement *e)
{
	const int64_t before = e->excess == DELETION_DISK ? INT64_MAX : (int64_t)age_before(&e->w->age, REMEMBERED_NS);

	for (int64_t last = 0;;) {
		int64_t run = 0;
		int r;

		{
			CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;

			r = guest_statement(e, STATEMENT_GUEST_EMPTY_RUNS, STATEMENT_EMPTY_RUNS, &s);
			if (!s)
				return r;
			sqlite3_bind_int64(s, 2, before);
			r = statement_step(&e->w->store.statements, s);
			if (r != STATEMENT_ROW)
				return r;
			run = sqlite3_column_int64(s, 0);
		}
		/* A damaged index would repeat a run for ever. */
		r = run == last ? -EBADMSG : delete_run(e->w, run);
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
		if (r == 0 && (h->was_cut || e->before_age))
			r = WRITER_RUN(e->w, STATEMENT_DROP_GAPS, h->stream, h->was_cut ? INT64_MAX : e->before_age);
	}
	return r ? r : delete_empty_runs(e);
}

/* ---- captures that the reader has not looked at ---------------------------------------------- */

/* Find the oldest capture of the kind `unread` above *CAPTURE that nobody has changed, and that the reader had time for. */
static int next_unread(const struct enforcement *e, int64_t *capture, bool *is_none)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = guest_statement(e, STATEMENT_GUEST_UNREAD, STATEMENT_ALL_UNREAD, &s);

	if (!s)
		return r;
	sqlite3_bind_int64(s, 2, *capture);
	sqlite3_bind_int64(s, 3, (int64_t)age_before(&e->w->age, READING_NS));
	r = statement_step(&e->w->store.statements, s);
	*is_none = r != STATEMENT_ROW;
	if (r != STATEMENT_ROW)
		return r;
	*capture = sqlite3_column_int64(s, 0);
	return 0;
}

/*
 * While the limit of bytes is exceeded, delete the oldest captures of the kind `unread`, up to LIMIT packets. Most of them are no
 * crashes, and none pushes a crash out. The youngest stay for READING_NS: else no guest would be judged while another one fills
 * the archive. Each has a transaction of its own, and one that SQLite fails at is passed over. *MORE: more may have to be
 * deleted, and the next call finds out.
 */
static int drop_unread(struct enforcement *e, unsigned limit, bool *more)
{
	int64_t capture = 0;
	bool is_none, is_some = false;

	for (unsigned left = limit; left && e->held > e->bytes;) {
		const unsigned before = left;
		int r = next_unread(e, &capture, &is_none);

		if (r != 0)
			return r;
		if (is_none)
			break;
		r = unread_make_room(e->w, capture, e->excess, &left);
		if (r == ARCHIVE_E_DAMAGED && left) /* it is declared now, and can be deleted */
			r = unread_make_room(e->w, capture, e->excess, &left);
		if (r != 0 && !unread_is_passed(r))
			return r;
		if (r == 0 && left == before) /* it had no packets of its own */
			left--;
		is_some |= r == 0;
		recount(e);
	}
	*more = is_some && e->held > e->bytes;
	return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int enforce(struct enforcement *e, unsigned limit, bool *more)
{
	int r = 0;

	*more = false;
	if (e->before_age || (e->bytes && e->held > e->bytes)) {
		r = find_heads(e);
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

/* Enforce E in a transaction, behind captures of the kind `unread`, and free its heads. */
static int enforce_all(struct enforcement *e, unsigned limit, bool *more)
{
	bool is_mine;
	int r = list_streams(e);

	*more = false;
	if (r == 0 && e->bytes)
		r = drop_unread(e, limit, more);
	if (r == 0 && !*more && (r = writer_enter(e->w, &is_mine)) == 0)
		r = writer_leave(e->w, is_mine, enforce(e, limit, more));
	free(e->heads);
	return r;
}

int archive_writer_enforce(struct archive_writer *w, const char *name, uint64_t bytes, uint64_t before_age,
			   unsigned limit, bool *more)
{
	struct enforcement e = {
		.w = w, .name = name, .bytes = bytes, .before_age = (int64_t)before_age, .excess = DELETION_QUOTA};

	return enforce_all(&e, limit, more);
}

int archive_writer_make_room(struct archive_writer *w, unsigned limit, bool *more)
{
	struct enforcement e = {.w = w, .bytes = 1, .excess = DELETION_DISK};

	return enforce_all(&e, limit, more);
}
