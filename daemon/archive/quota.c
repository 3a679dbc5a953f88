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
 *
 * Where the file is damaged, SQLite fails, and the whole transaction is rolled back. Such a place is passed over from then on (bad-places.h), and
 * the call begins anew: one damaged guest stops no limit of others, and none of the archive. If the list of streams cannot be read, it is read row by
 * row, and has the streams that can be read. SQLite writes nothing more in a transaction in which it has found damage, so a deletion reads no row that
 * is known to be damaged.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "clock.h"
#include "index-entries.h"
#include "row-sums.h"
#include "writer-state.h"

#define REMEMBERED_NS (24 * 3600 * NS_PER_S)
/* A reading, and the verdict on it, mostly take a second; many guests that end at once wait for one another. */
#define READING_NS   (60 * NS_PER_S)
#define PASSES_MOST  16u /* places that a call passes over; the next call finds the others */
#define PACKETS_MOST 8u	 /* packets of a stream that are passed over; with one more it is the whole stream */
#define STREAMS_MOST \
	8u /* streams that are passed over; with one more the list is read row by row, which finds all whose rows are damaged */

struct head {
	int64_t stream, run;
	bool is_ended;	  /* the run has ended */
	bool is_held;	  /* the run may have pinned packets, and nothing tells which */
	bool is_nameless; /* the row of the run cannot be read */
	bool any;	  /* there is a candidate, the packet SEQUENCE copied at AGE */
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
	uint64_t unlisted; /* bytes of streams that cannot be listed; HELD has them */
	struct head *heads;
	size_t n_heads, room;
	int64_t capture; /* oldest capture that may be deleted; 0 = none */
	int64_t capture_age;
	bool has_checked;    /* the ranges of pinned captures were checked */
	bool wants_check;    /* they must be before a packet is deleted */
	struct bad_place at; /* the place to pass over if what is done now fails */
};

static struct bad_place place_at(enum bad_place_kind kind, int64_t id)
{
	return (struct bad_place){.kind = kind, .id = id};
}

/* Return the place of KIND at which this guest's content, or that of all, is looked for. A guest's name may not be in memory; a stream of it is. */
static struct bad_place search_of(const struct enforcement *e, enum bad_place_kind kind)
{
	return (struct bad_place){kind, !e->name ? 0 : e->n_heads ? e->heads[0].stream : -1, 0};
}

/* Return whether PLACE is passed over. If it is not, what follows happens there. */
static bool is_passed(struct enforcement *e, struct bad_place place)
{
	e->at = place;
	return bad_places_has(&e->w->bad_places, &place);
}

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

/* Return the place of the list of this guest's streams, or of all. Two guests with one number share a place, and both lists are read row by row then. */
static struct bad_place list_place(const struct enforcement *e)
{
	return place_at(BAD_PLACE_STREAMS, e->name ? (int64_t)(XXH3_64bits(e->name, strlen(e->name)) >> 1 | 1) : 0);
}

static int add_head(struct enforcement *e, const struct head *h)
{
	if (e->n_heads == e->room) {
		const size_t room = 2 * e->room + 16;
		struct head *more = realloc(e->heads, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		e->heads = more;
		e->room = room;
	}
	e->heads[e->n_heads] = *h;
	e->heads[e->n_heads++].mended = INT64_MIN;
	return 0;
}

static int list_all(struct enforcement *e)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = guest_statement(e, STATEMENT_GUEST_STREAMS, STATEMENT_ALL_STREAMS, &s);

	while (s && (r = statement_step(&e->w->store.statements, s)) == STATEMENT_ROW) {
		r = add_head(e, &(struct head){.stream = sqlite3_column_int64(s, 0),
					       .is_ended = sqlite3_column_int(s, 1) != 0,
					       .run = sqlite3_column_int64(s, 2)});
		if (r != 0)
			return r;
	}
	return r;
}

/*
 * List STREAM of RUN, if the run is of the guest. If the row of the run cannot be read, nobody knows whose it is, and the run counts as going on: a
 * limit of all guests keeps the newest packet.
 */
static int list_stream(struct enforcement *e, int64_t stream, int64_t run)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&e->w->store.statements, STATEMENT_RUN_ENDED, VALUES(run), &s);

	if (!s)
		return r;
	r = statement_step(&e->w->store.statements, s);
	if (r == -EBADMSG && !e->name)
		return add_head(e, &(struct head){.stream = stream, .run = run, .is_nameless = true});
	if (r != STATEMENT_ROW)
		return r == -EBADMSG ? 0 : r;
	if (e->name && strcmp(e->name, column_string(s, 1)) != 0)
		return 0;
	return add_head(e, &(struct head){.stream = stream, .run = run, .is_ended = sqlite3_column_int(s, 0) != 0});
}

/* Streams that cannot be listed, because their rows cannot be read. */
struct unlisted {
	uint64_t n;
	bool is_new; /* the log does not say it of all of them */
};

/* List STREAM, if its row can be read. */
static int list_row(struct enforcement *e, int64_t stream, struct unlisted *u)
{
	struct usage *usage = &e->w->usage;
	int64_t run;
	bool is_none;
	int r = statement_number(&e->w->store.statements, STATEMENT_RUN_OF_STREAM, VALUES(stream), &run, &is_none);

	if (r != -EBADMSG)
		return r || is_none ? r : list_stream(e, stream, run);
	u->n++;
	u->is_new |= usage_mark_unlisted(usage, stream);
	e->unlisted += e->name ? 0 : (uint64_t)usage_bytes(usage, stream);
	return 0;
}

/* List this guest's streams, which the indexes name: their cost is that of its streams, not of all. -EBADMSG: an index is damaged. */
static int list_by_indexes(struct enforcement *e, struct unlisted *u)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&e->w->store.statements, STATEMENT_GUEST_STREAM_IDS, NO_VALUES, &s);

	if (!s)
		return r;
	statement_bind_text(s, 1, e->name);
	while ((r = statement_step(&e->w->store.statements, s)) == STATEMENT_ROW) {
		r = list_row(e, sqlite3_column_int64(s, 0), u);
		if (r != 0)
			return r;
	}
	return r;
}

/* List this guest's streams, or those of all. The usage names all streams. */
static int list_by_usage(struct enforcement *e, struct unlisted *u)
{
	const struct usage *usage = &e->w->usage;
	int r = 0;

	*u = (struct unlisted){.is_new = u->is_new}; /* the marks stay */
	e->n_heads = 0;
	e->unlisted = 0;
	for (size_t i = 0; i < usage->n && r == 0; i++)
		if (!usage->entries[i].is_gone)
			r = list_row(e, usage->entries[i].stream, u);
	return r;
}

/* The list cannot be read as a whole: list the streams whose rows can be read, one by one, and log the number of the others, each once. */
static int list_readable(struct enforcement *e)
{
	struct unlisted u = {0};
	int r = e->name ? list_by_indexes(e, &u) : -EBADMSG;
	bool is_of_guest = r != -EBADMSG;

	if (!is_of_guest)
		r = list_by_usage(e, &u);
	if (r == 0 && u.is_new)
		log_write_limited(
			&e->w->bad_places.lines, LOG_LEVEL_ERROR, is_of_guest ? e->name : NULL,
			"The archive's file is damaged in the list of its streams. Limits delete nothing of the "
			"streams that cannot be listed: streams=%llu",
			(unsigned long long)u.n);
	return r;
}

static void recount(struct enforcement *e)
{
	e->held = e->unlisted;
	for (size_t i = 0; i < e->n_heads; i++)
		e->held += (uint64_t)usage_bytes(&e->w->usage, e->heads[i].stream);
}

static int list_streams(struct enforcement *e)
{
	int r;

	e->n_heads = 0;
	e->unlisted = 0;
	r = is_passed(e, list_place(e)) ? list_readable(e) : list_all(e);
	if (r == 0)
		recount(e);
	return r;
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

/* Return the packet's place. */
static struct bad_place packet_place(const struct head *h, int64_t sequence)
{
	return (struct bad_place){BAD_PLACE_PACKET, h->stream, (uint64_t)sequence};
}

/* Find the stream's oldest packet from FROM on that is in no pinned capture and is not passed over. */
static int find_free(struct enforcement *e, const struct head *h, int64_t from, int64_t *sequence, bool *is_none)
{
	struct archive_writer *w = e->w;
	int64_t until;
	bool is_free;

	for (;;) {
		struct bad_place place;
		int r = statement_number(&w->store.statements, STATEMENT_FIRST_PACKET, VALUES(h->stream, from),
					 sequence, is_none);

		if (r != 0 || *is_none)
			return r;
		if (*sequence < from) /* a damaged index would repeat a packet for ever */
			return -EBADMSG;
		r = statement_number(&w->store.statements, STATEMENT_PINNED_UNTIL, VALUES(h->stream, *sequence), &until,
				     &is_free);
		place = packet_place(h, *sequence);
		if (r != 0 || (is_free && !bad_places_has(&w->bad_places, &place)))
			return r;
		until = is_free ? *sequence : until;
		*is_none = until == INT64_MAX;
		if (*is_none)
			return 0;
		from = until + 1;
	}
}

/* Find the stream's oldest packet, from FROM on, that may be deleted, and store it in *H. */
static int find_head(struct enforcement *e, struct head *h, int64_t from)
{
	struct archive_writer *w = e->w;
	int64_t sequence, newest;
	bool is_none, is_mended;
	int r;

	h->any = false;
	if (h->is_held || is_passed(e, place_at(BAD_PLACE_STREAM, h->stream)))
		return 0;
	r = find_free(e, h, from, &sequence, &is_none);
	if (r != 0 || is_none)
		return r;
	if (!h->is_ended) {
		r = statement_number(&w->store.statements, STATEMENT_NEWEST_PACKET, 1, &h->stream, &newest, &is_none);
		if (r != 0 || newest == sequence)
			return r;
	}
	/* A deletion changes the row of the stream: if it cannot be read, the damage is found here. */
	r = statement_number(&w->store.statements, STATEMENT_RUN_OF_STREAM, VALUES(h->stream), &(int64_t){0}, &is_none);
	if (r != 0)
		return r;
	h->any = true;
	h->sequence = (uint64_t)sequence;
	e->at = packet_place(h, sequence);
	/* An entry of the index that names no row gets one, which has no age, and can be deleted. */
	r = index_entries_mend(w, h->stream, h->sequence, 0, &is_mended);
	if (r == 0 && is_mended && h->mended != sequence) {
		h->mended = sequence;
		recount(e);
		return find_head(e, h, from);
	}
	return r ? r : packet_age(w, h);
}

/* Find the oldest capture above *ONE that is not pinned, with its age. */
static int next_capture(struct enforcement *e, int64_t *one, bool *is_none)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = guest_statement(e, STATEMENT_GUEST_OLDEST_CAPTURE, STATEMENT_OLDEST_CAPTURE, &s);

	if (!s)
		return r;
	sqlite3_bind_int64(s, 2, *one);
	r = statement_step(&e->w->store.statements, s);
	*is_none = r != STATEMENT_ROW;
	if (*is_none)
		return r;
	*one = sqlite3_column_int64(s, 0);
	e->capture_age = age_at(&e->w->age, sqlite3_column_int64(s, 1), sqlite3_column_int64(s, 2));
	return 0;
}

/* Find the oldest capture that may be deleted. */
static int find_capture(struct enforcement *e)
{
	const struct bad_place search = search_of(e, BAD_PLACE_CAPTURES);
	bool is_none = true, has_none;
	int64_t one = INT64_MIN;
	int r;

	e->capture = 0;
	do {
		if (is_passed(e, search))
			return 0;
		r = next_capture(e, &one, &is_none);
		if (r != 0 || is_none)
			return r;
	} while (is_passed(e, place_at(BAD_PLACE_CAPTURE, one)));
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
	int r;

	e->at = packet_place(h, (int64_t)h->sequence);
	r = packet_delete(e->w, h->stream, (int64_t)h->sequence, &gone, &h->gone);

	if (r != 0)
		return r;
	e->held -= (uint64_t)gone;
	h->was_cut = true;
	e->w->deleted_of = e->name ? e->name : h->is_nameless ? "" : NULL;
	r = writer_tally_stream(
		e->w, h->stream,
		&(struct deletion){.reason = reason_for(e, h->age), .packets = 1, .bytes = (uint64_t)gone});
	e->w->deleted_of = NULL;
	if (r == 0)
		r = outbox_lose_packet(e->w, h->stream, h->sequence, h->real, (uint64_t)gone);
	return r ? r : find_head(e, h, (int64_t)h->sequence + 1);
}

static int find_heads(struct enforcement *e)
{
	int r = 0;

	for (size_t i = 0; i < e->n_heads && r == 0; i++) {
		e->heads[i].is_held = pinned_holds(&e->w->pinned, e->heads[i].run);
		r = find_head(e, &e->heads[i], INT64_MIN);
	}
	return r;
}

/* Return whether the ranges of pinned captures must be checked before a packet is deleted. If captures cannot be looked for, ranges hold as they are. */
static bool is_due(const struct enforcement *e)
{
	const struct bad_place search = place_at(BAD_PLACE_PINNED, 0);

	return !e->has_checked && pinned_is_due(&e->w->pinned) && !bad_places_has(&e->w->bad_places, &search);
}

/* Check the ranges of pinned captures, once in this call. */
static int check_pinned(struct enforcement *e)
{
	e->has_checked = true;
	/* In an open transaction it also fails at one capture, and remembers that. */
	e->at = place_at(e->w->store.in_transaction ? BAD_PLACE_NONE : BAD_PLACE_PINNED, 0);
	return pinned_check(e->w, e->name);
}

static int delete_capture(struct enforcement *e)
{
	bool is_damaged, is_none;
	int64_t run;
	int r;

	e->at = place_at(BAD_PLACE_CAPTURE, e->capture);
	/* A stamp is believed only if its row is undamaged. Else the row is declared, and gets stamps that are possible. */
	r = row_sums_check_row(e->w, "captures", e->capture, &is_damaged);
	if (r != 0 || is_damaged)
		return r;
	r = statement_number(&e->w->store.statements, STATEMENT_RUN_OF_CAPTURE, VALUES(e->capture), &run, &is_none);
	if (r != 0)
		return r;
	e->w->deleted_of = e->name;
	for (size_t i = 0; i < e->n_heads && !e->name; i++)
		if (e->heads[i].is_nameless && e->heads[i].run == run)
			e->w->deleted_of = "";
	r = capture_delete(e->w, e->capture, reason_for(e, e->capture_age));
	e->w->deleted_of = NULL;
	return r;
}

/*
 * Delete the oldest candidate if a limit is exceeded. IS_DRY: do not delete. *MORE: a candidate was
 * deleted, or would have been. If the ranges of pinned captures must be checked before, delete nothing, and set wants_check.
 */
static int delete_oldest(struct enforcement *e, bool is_dry, bool *more)
{
	struct head *h = oldest_head(e);
	bool is_capture = e->capture && (!h || e->capture_age < h->age);
	int r;

	*more = (h || is_capture) && is_over(e, is_capture ? e->capture_age : h->age);
	if (!*more || is_dry)
		return 0;
	/* A damaged range ends a transaction, so each is checked in one of its own. */
	e->wants_check = !is_capture && is_due(e);
	if (e->wants_check)
		return 0;
	if (!is_capture) {
		r = delete_packet(e, h);
		/* The capture may have lost its last packet, and be a candidate now. */
		return r ? r : find_capture(e);
	}
	r = delete_capture(e);
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
		r = writer_tally_run(w, run, &(struct deletion){.reason = DELETION_EMPTY, .runs = 1});
	return r ? r : WRITER_RUN(w, STATEMENT_DELETE_RUN, run);
}

/* Find the first ended run without content above *RUN. BEFORE is on the age clock. */
static int next_empty_run(const struct enforcement *e, int64_t before, int64_t *run, bool *is_none)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = guest_statement(e, STATEMENT_GUEST_EMPTY_RUNS, STATEMENT_EMPTY_RUNS, &s);

	if (!s)
		return r;
	sqlite3_bind_int64(s, 2, before);
	sqlite3_bind_int64(s, 3, *run);
	r = statement_step(&e->w->store.statements, s);
	*is_none = r != STATEMENT_ROW;
	if (*is_none)
		return r;
	*run = sqlite3_column_int64(s, 0);
	return 0;
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
	const struct bad_place search = search_of(e, BAD_PLACE_RUNS);
	int64_t run = 0;

	while (!is_passed(e, search)) {
		bool is_none = true;
		int r = next_empty_run(e, before, &run, &is_none);

		if (r == 0 && !is_none && !is_passed(e, place_at(BAD_PLACE_RUN, run)))
			r = delete_run(e->w, run);
		if (r != 0 || is_none)
			return r;
	}
	return 0;
}

/* Delete the gaps before the oldest packet of H's stream: all, if packets were deleted, else those that are too old. */
static int drop_gaps(struct enforcement *e, const struct head *h)
{
	int r = WRITER_RUN(e->w, STATEMENT_DROP_GAPS, h->stream, h->was_cut ? INT64_MAX : e->before_age);

	/* No deletion says that packets before the first one were declared: a check for lost gaps would declare them again. */
	if (r == 0 && !h->was_cut && sqlite3_changes(e->w->store.db))
		r = WRITER_RUN(e->w, STATEMENT_DELETE_BEGINNING, h->stream);
	return r;
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

		e->at = place_at(BAD_PLACE_STREAM, h->stream);
		if (h->was_cut)
			r = WRITER_RUN(e->w, STATEMENT_SETTLE_STREAM, h->stream, 1, 0, h->gone);
		if (r == 0 && (h->was_cut || e->before_age) && !is_passed(e, place_at(BAD_PLACE_GAPS, h->stream)))
			r = drop_gaps(e, h);
	}
	return r ? r : delete_empty_runs(e);
}

/* ---- captures that the reader has not looked at ---------------------------------------------- */

/*
 * While the limit of bytes is exceeded, delete the oldest captures of the kind `unread`, up to LIMIT packets. Most of them are no
 * crashes, and none pushes a crash out. The youngest stay for READING_NS: else no guest would be judged while another one fills
 * the archive. Each has a transaction of its own, and one that SQLite fails at is passed over. *MORE: more may have to be
 * deleted, and the next call finds out.
 */
static int drop_unread(struct enforcement *e, unsigned limit, bool *more)
{
	/* The reader had time for the others. */
	const struct unread_search search = {.which = e->name ? STATEMENT_GUEST_UNREAD : STATEMENT_ALL_UNREAD,
					     .guest = e->name,
					     .before_age = (int64_t)age_before(&e->w->age, READING_NS)};
	const struct bad_place place = search_of(e, BAD_PLACE_UNREAD);
	int64_t capture = 0;
	bool is_none = true, is_some = false;

	for (unsigned left = limit; left && e->held > e->bytes && !is_passed(e, place);) {
		const unsigned before = left;
		int r = unread_next(e->w, &search, &capture, &is_none);

		if (r != 0)
			return r;
		if (is_none)
			break;
		e->at = place_at(BAD_PLACE_NONE, 0);
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
		for (unsigned i = 0; i < limit && *more && r == 0 && !e->wants_check; i++)
			r = delete_oldest(e, false, more);
		if (r == 0 && *more && !e->wants_check)
			r = delete_oldest(e, true, more);
	}
	return r ? r : tidy(e);
}

/* Enforce E in a transaction. After an error what it counted as damage is as before, because nothing of it was declared. */
static int enforce_once(struct enforcement *e, unsigned limit, bool *more)
{
	const struct archive_damage damage = e->w->damage;
	bool is_mine;
	int r;

	e->at = place_at(BAD_PLACE_NONE, 0);
	r = writer_enter(e->w, &is_mine);
	if (r != 0)
		return r;
	r = enforce(e, limit, more);
	if (r == 0)
		e->at = place_at(BAD_PLACE_NONE, 0);
	r = writer_leave(e->w, is_mine, r);
	if (r != 0)
		e->w->damage = damage;
	return r;
}

/* Enforce E, behind captures of the kind `unread`. Where the ranges of pinned captures must be checked first, do so, and begin anew. */
static int try(struct enforcement *e, unsigned limit, bool *more)
{
	int r = 0;

	e->has_checked = false;
	/* Without a packet that may be deleted, nothing else would find that a run need not be held any more. */
	if (e->w->pinned.n && is_due(e))
		r = check_pinned(e);
	do {
		*more = e->wants_check = false;
		if (r == 0)
			r = list_streams(e);
		if (r == 0 && e->bytes)
			r = drop_unread(e, limit, more);
		if (r == 0 && !*more)
			r = enforce_once(e, limit, more);
		if (r == 0 && e->wants_check)
			r = check_pinned(e);
	} while (r == 0 && e->wants_check);
	return r;
}

/* After R, pass over the place where E is, and count it as damage. Return whether E may be tried again. */
static bool pass_over(struct enforcement *e, int r)
{
	bool is_new;

	const struct bad_place list = list_place(e);

	if (e->at.kind == BAD_PLACE_PACKET &&
	    bad_places_count(&e->w->bad_places, BAD_PLACE_PACKET, e->at.id) >= PACKETS_MOST)
		e->at = place_at(BAD_PLACE_STREAM, e->at.id);
	if (e->at.kind == BAD_PLACE_STREAM && !bad_places_has(&e->w->bad_places, &list) &&
	    bad_places_count(&e->w->bad_places, BAD_PLACE_STREAM, 0) >= STREAMS_MOST)
		e->at = list;
	if ((r != -EBADMSG && r != ARCHIVE_E_ABSENT && r != ARCHIVE_E_DAMAGED) ||
	    !bad_places_note(&e->w->bad_places, &e->at, e->name, &is_new))
		return false;
	e->w->damage.pieces += is_new;
	e->w->damage.passed += is_new;
	return true;
}

/* Enforce E, and pass over the places where the file is damaged. */
static int enforce_all(struct enforcement *e, unsigned limit, bool *more)
{
	const bool is_mine = !e->w->store.in_transaction;
	unsigned passes = 0;
	int r;

	while ((r = try(e, limit, more)) != 0 && pass_over(e, r) && is_mine)
		if (++passes == PASSES_MOST) {
			*more = true;
			r = 0;
			break;
		}
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
