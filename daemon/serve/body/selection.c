/*
 * Packets as they are served.
 *
 * Invariants: a view never reaches past the selection's last position, so that a body that is made twice (for its length, then for its
 * bytes) is the same although the archive grows; whatever of a view is unproven was walked in this very pass.
 */
#include <errno.h>
#include <string.h>
#include <zstd.h>

#include <mprof/event.h>
#include <mprof/ring.h>

#include "bound.h"
#include "kept.h"
#include "selection.h"

#define HEADER		 MPROF_PACKET_HEADER_BYTES
#define RECOMPRESS_LEVEL 1
#define GAPS_MOST	 4096u

int scratch_init(struct scratch *s)
{
	s->window = malloc(2 * ARCHIVE_PIECE_MAX);
	s->before = malloc(2 * ARCHIVE_PIECE_MAX);
	s->piece = malloc(ARCHIVE_PIECE_MAX);
	s->zstd = ZSTD_createCCtx();
	if (s->window && s->before && s->piece && s->zstd &&
	    !ZSTD_isError(ZSTD_CCtx_setParameter(s->zstd, ZSTD_c_compressionLevel, RECOMPRESS_LEVEL)) &&
	    !ZSTD_isError(ZSTD_CCtx_setParameter(s->zstd, ZSTD_c_checksumFlag, 1)))
		return 0;
	scratch_deinit(s);
	return -ENOMEM;
}

void scratch_deinit(struct scratch *s)
{
	free(s->window);
	free(s->before);
	free(s->piece);
	ZSTD_freeCCtx(s->zstd);
	*s = (struct scratch){0};
}

uint64_t packet_view_bytes(const struct packet_view *v)
{
	return HEADER + (uint64_t)(v->end - v->begin);
}

/* The timestamp of the last of the whole events at P; *NEWEST is left alone where there is none. */
static void last_timestamp(const uint8_t *p, size_t len, uint64_t *newest)
{
	struct mprof_raw_event e;

	for (size_t at = 0; at < len && mprof_event_load(&e, p + at, len - at) == MPROF_EVENT_OK; at += e.bytes)
		*newest = e.timestamp;
}

int tail_hold(struct reader *r, struct scratch *scratch, struct reader_source source, uint32_t ring_packets,
	      uint64_t sequence, uint32_t from, uint32_t to, uint64_t not_after, uint64_t *not_before, uint32_t *held)
{
	struct reader_source chunks = {.stream = source.stream};
	struct mprof_tail tail = {.not_before = *not_before, .not_after = not_after};
	struct mprof_raw_event e;
	size_t fill = 0, got, want, n;
	int rc;

	*held = from;
	while (*held + fill < to) {
		want = to - *held - fill;
		rc = reader_bytes(r, source, sequence, *held + (uint32_t)fill,
				  want < ARCHIVE_PIECE_MAX ? want : ARCHIVE_PIECE_MAX, scratch->window + fill,
				  scratch->piece, &got);
		if (rc != 0)
			return rc;
		if (got == 0)
			break;
		fill += got;
		if (sequence >= ring_packets) {
			rc = reader_bytes(r, chunks, sequence - ring_packets, *held, fill, scratch->before,
					  scratch->piece, &tail.before_bytes);
			if (rc != 0)
				return rc;
			tail.before = scratch->before;
		}
		n = mprof_tail_walk(&tail, scratch->window, fill);
		last_timestamp(scratch->window, n, &tail.not_before);
		*held += (uint32_t)n;
		fill -= n;
		memmove(scratch->window, scratch->window + n, fill);
		/* An event that the piece cut in two is tried again with the next piece; one longer than a piece does not hold. */
		if (fill &&
		    (fill > ARCHIVE_PIECE_MAX || mprof_event_load(&e, scratch->window, fill) != MPROF_EVENT_CUT))
			break;
	}
	*not_before = tail.not_before;
	return 0;
}

int stream_oldest(struct reader *r, int64_t stream, struct reader_packet *p)
{
	size_t n = 1;
	int rc = reader_packets(r, (struct reader_source){.stream = stream}, 0, INT64_MAX, false, p, &n);

	return rc == 0 && n == 0 ? ARCHIVE_E_ABSENT : rc;
}

int stream_newest(struct reader *r, int64_t stream, struct reader_packet *p)
{
	size_t n = 1;
	int rc = reader_packets(r, (struct reader_source){.stream = stream}, 0, INT64_MAX, true, p, &n);

	return rc == 0 && n == 0 ? ARCHIVE_E_ABSENT : rc;
}

int packet_chunks_end(struct reader *r, int64_t stream, const struct reader_packet *p, uint32_t *end)
{
	struct archive_end e;
	int rc;

	*end = p->end;
	if (!p->whole ||
	    p->begin != HEADER) /* its rows lie one behind the other from the header on, or some are gone */
		return reader_note_damage(r, (struct reader_source){.stream = stream}, p->sequence);
	if (p->complete)
		return 0;
	rc = reader_end_below(r, stream, p->sequence, UINT32_MAX, &e);
	*end = rc == 0 ? (e.offset < p->end ? e.offset : p->end) : 0;
	return rc == ARCHIVE_E_ABSENT ? 0 : rc;
}

/* The timestamp of the last event before offset END of a packet's chunks. */
static int newest_before(struct reader *r, struct scratch *scratch, int64_t stream, uint64_t sequence, uint32_t end,
			 uint64_t *newest)
{
	struct archive_end e = {.offset = HEADER};
	size_t got;
	int rc;

	if (end <= HEADER)
		return 0;
	rc = reader_end_below(r, stream, sequence, end - 1, &e);
	if (rc != 0 && rc != ARCHIVE_E_ABSENT)
		return rc;
	if (rc == ARCHIVE_E_ABSENT || e.offset < HEADER)
		e.offset = HEADER;
	if (end - e.offset > 2 * ARCHIVE_PIECE_MAX)
		return 0;
	rc = reader_bytes(r, (struct reader_source){.stream = stream}, sequence, e.offset, end - e.offset,
			  scratch->window, scratch->piece, &got);
	if (rc == 0)
		last_timestamp(scratch->window, got, newest);
	return rc;
}

void packet_walk_init(struct packet_walk *w, struct reader *reader, struct scratch *scratch,
		      const struct selection *selection)
{
	*w = (struct packet_walk){
		.reader = reader,
		.scratch = scratch,
		.selection = selection,
		.next = selection->first,
		.expected = selection->first,
		.chunks_done = selection->empty,
		.not_after = UINT64_MAX,
	};
}

void packet_walk_seek(struct packet_walk *w, uint64_t sequence)
{
	const struct selection *s = w->selection;

	/* What holds of a tail depends on the packets before it, from the last of the chunks on. */
	w->next = sequence <= s->last ? sequence : s->empty ? s->first : s->last;
	w->expected = w->next;
	w->follows = w->is_open = false;
	w->n = w->at = 0;
	w->chunks_done = s->empty;
}

/* The packet's chunks as they are served. */
static int view_chunks(struct packet_walk *w, const struct reader_packet *p, struct packet_view *v)
{
	const struct selection *s = w->selection;
	uint32_t end, unproven = p->unproven_from;
	uint64_t newest = p->first_timestamp;
	int rc = packet_chunks_end(w->reader, s->stream, p, &end);

	if (rc != 0)
		return rc;
	*v = (struct packet_view){.sequence = p->sequence,
				  .first_timestamp = p->first_timestamp,
				  .room = p->room,
				  .begin = p->sequence == s->first ? s->first_offset : HEADER,
				  .complete = p->complete,
				  .unproven = unproven != 0,
				  .clock = p->clock,
				  .stamp = p->stamp};
	if (p->sequence == s->last && end > s->last_offset)
		end = s->last_offset;
	v->raw_end = v->end = end;
	if (end == 0)
		v->cut = p->end > HEADER ? p->end - HEADER : 0;
	if (end && unproven && unproven < v->end && !s->raw) {
		if (unproven > HEADER)
			rc = newest_before(w->reader, w->scratch, s->stream, p->sequence, unproven, &newest);
		/* Of several writers nothing is proven that a latest time could be derived from. */
		if (rc == 0)
			rc = tail_hold(w->reader, w->scratch, (struct reader_source){.stream = s->stream},
				       s->ring_packets, p->sequence, unproven, v->end, UINT64_MAX, &newest, &end);
		v->cut = v->end - end;
		v->end = end;
	}
	v->chunks_end = v->end;
	if (rc == 0 && end == 0)
		v->room = 0; /* nothing of it can be served, not even its header */
	return rc;
}

/* Join the tail packet T to V, whose chunks end where T begins. */
static int view_tail(struct packet_walk *w, const struct reader_packet *t, struct packet_view *v)
{
	const struct selection *s = w->selection;
	struct reader_source source = {.stream = s->stream, .capture = s->capture};
	uint32_t held = t->end;
	int rc = 0;

	if (!t->whole)
		return reader_note_damage(w->reader, source, t->sequence);
	if (t->begin != v->end || v->cut) {
		struct reader_piece first;

		/* It does not join; but is that what it said when it was written? */
		v->cut += t->end - t->begin;
		return reader_piece(w->reader, source, t->sequence, t->begin, 0, false, w->scratch->piece, &first);
	}
	if (!s->raw)
		rc = tail_hold(w->reader, w->scratch, source, s->ring_packets, t->sequence, t->begin, t->end,
			       w->not_after, &w->newest, &held);
	v->tail = true;
	v->end = held;
	v->raw_end = t->end;
	v->cut = t->end - held;
	return rc;
}

static int walk_page(struct packet_walk *w, bool tail)
{
	struct reader_source source = {.stream = w->selection->stream, .capture = tail ? w->selection->capture : 0};

	w->at = 0;
	w->n = SELECTION_PAGE;
	return reader_packets(w->reader, source, w->next, tail ? INT64_MAX : w->selection->last, false, w->page, &w->n);
}

/* The last packet of the chunks, to which a tail may join. */
static int walk_last(struct packet_walk *w, struct packet_view *v)
{
	const struct selection *s = w->selection;
	struct reader_packet t;
	size_t n = 1;
	int rc;

	w->newest = v->first_timestamp;
	rc = newest_before(w->reader, w->scratch, s->stream, v->sequence, v->end, &w->newest);
	/* A clock that was set back may be set again. */
	if (rc == 0 && !s->raw && !v->unproven && !v->clock && v->end > HEADER)
		rc = bound_not_after(w->reader, &(struct bound_event){s->stream, v->sequence, v->end, w->newest},
				     s->capture, &w->not_after);
	if (rc == 0)
		rc = reader_packets(w->reader, (struct reader_source){.stream = s->stream, .capture = s->capture},
				    v->sequence, v->sequence, false, &t, &n);
	return rc == 0 && n ? view_tail(w, &t, v) : rc;
}

/* A packet of which all that there is lies in the tail. */
static void view_fresh(const struct selection *s, const struct reader_packet *t, struct packet_view *v)
{
	*v = (struct packet_view){.sequence = t->sequence,
				  .first_timestamp = t->first_timestamp,
				  .room = t->room,
				  .begin = t->sequence == s->first ? s->first_offset : HEADER,
				  .chunks_end = HEADER,
				  .end = HEADER,
				  .raw_end = t->end,
				  .complete = true,
				  .unproven = true,
				  .stamp = t->stamp};
}

/* Are packets FROM to END, which is not included, missing, and neither a gap nor a deletion says why? */
static int check_hole(struct packet_walk *w, uint64_t from, uint64_t end)
{
	struct reader_source source = {.stream = w->selection->stream};
	bool explained = true, all = true;
	int rc;

	if (from >= end || !w->check.known || from < w->check.oldest)
		return 0;
	rc = kept_explained(w->reader, source.stream, from, end, !w->follows, &explained);
	if (rc != 0 || explained)
		return rc;
	rc = reader_check(w->reader, source, &w->check); /* they may have been deleted since */
	if (rc == 0 && w->check.deletions)
		rc = reader_check_held(w->reader, source.stream, &all);
	if (rc == 0 && (!w->check.deletions || !all))
		rc = reader_note_damage(w->reader, source, end);
	return rc;
}

static int see_gap(void *context, const struct archive_gap *gap)
{
	*(bool *)context |= gap->next_sequence > gap->after_sequence;
	return 0;
}

/* Packet P follows one that is not complete: does a gap say so, or did its last rows vanish? */
static int check_rest(struct packet_walk *w, const struct reader_packet *p)
{
	struct reader_source source = {.stream = w->selection->stream};
	bool was_open = w->is_open, any = false, all = true;
	uint64_t before = w->expected - 1;
	int rc;

	w->is_open = !p->complete;
	if (!was_open || !w->check.known || before < w->check.oldest)
		return 0;
	rc = reader_gaps(w->reader, source.stream, before, before, GAPS_MOST, see_gap, &any);
	if (rc == 0 && !any)
		rc = reader_check_held(w->reader, source.stream, &all);
	return rc == 0 && !all ? reader_note_damage(w->reader, source, before) : rc;
}

/* The chunks' packets are through: is the selection's last one among them?  It may have been empty. */
static int check_end(struct packet_walk *w)
{
	const struct selection *s = w->selection;

	return s->empty ? 0 : check_hole(w, w->expected, s->last + (s->last_offset > HEADER));
}

int packet_walk_next(struct packet_walk *w, struct packet_view *v, bool *have)
{
	const struct selection *s = w->selection;
	struct reader_packet *p;
	int rc = 0;

	*have = false;
	if (!w->checked)
		rc = reader_check(w->reader, (struct reader_source){.stream = s->stream, .capture = s->capture},
				  &w->check);
	w->checked = rc == 0;
	while (rc == 0 && !*have) {
		if (w->at == w->n) {
			if (!w->chunks_done && w->next > s->last) {
				w->chunks_done = true;
				rc = check_end(w);
				if (rc != 0)
					return rc;
			}
			if (w->chunks_done && !s->capture)
				return 0;
			rc = walk_page(w, w->chunks_done);
			if (rc != 0)
				return rc;
			if (w->n == 0 && w->chunks_done)
				return 0;
			if (w->n == 0) {
				w->chunks_done = true;
				rc = check_end(w);
			}
			continue;
		}
		p = &w->page[w->at++];
		w->next = p->sequence + 1;
		if (w->chunks_done) {
			view_fresh(s, p, v);
			rc = view_tail(w, p, v);
			/* What holds nothing is the incarnation before, and is not served under the new number. */
			*have = v->end > HEADER || v->cut;
			if (v->end == HEADER)
				v->room = 0;
		} else {
			rc = check_hole(w, w->expected, p->sequence);
			if (rc == 0)
				rc = check_rest(w, p);
			w->expected = p->sequence + 1;
			w->follows = true;
			if (rc == 0)
				rc = view_chunks(w, p, v);
			if (rc == 0 && p->sequence == s->last && s->capture)
				rc = walk_last(w, v);
			*have = v->room || v->cut;
		}
		if (v->end < v->begin)
			v->end = v->begin;
	}
	return rc;
}

int selection_all(struct selection *s, struct reader *r)
{
	struct reader_packet p;
	uint32_t end = 0;
	int rc = stream_newest(r, s->stream, &p);

	s->empty = rc == ARCHIVE_E_ABSENT;
	s->first_offset = HEADER;
	s->last_offset = UINT32_MAX;
	if (rc != 0)
		return s->empty ? 0 : rc;
	rc = packet_chunks_end(r, s->stream, &p, &end);
	if (rc != 0)
		return rc;
	s->last = p.sequence;
	s->last_offset = end;
	rc = stream_oldest(r, s->stream, &p);
	s->first = rc == 0 ? p.sequence : s->last;
	return rc == ARCHIVE_E_ABSENT ? 0 : rc;
}

/* The newest packet of the selection that begins at or before TIME; the first where none does.  Sequences are probed, since times ascend with them. */
static int packet_at(const struct selection *s, struct reader *r, uint64_t time, uint64_t *sequence)
{
	struct reader_packet page[8];
	uint64_t low = s->first, high = s->last, middle;
	size_t n, i;
	int rc;

	while (low < high) {
		middle = low + (high - low + 1) / 2;
		n = sizeof(page) / sizeof(page[0]);
		rc = reader_packets(r, (struct reader_source){.stream = s->stream}, middle, high, false, page, &n);
		if (rc != 0)
			return rc;
		for (i = 0; i < n && page[i].end <= HEADER; i++)
			; /* an empty packet has no time */
		if (i < n && page[i].first_timestamp <= time)
			low = page[i].sequence;
		else
			high = middle - 1;
	}
	*sequence = low;
	return 0;
}

int selection_times(struct selection *s, struct reader *r, uint64_t from, uint64_t to)
{
	uint64_t first = s->first, last = s->last;
	struct reader_packet p;
	size_t n = 1;
	int rc = s->empty ? 0 : packet_at(s, r, from, &first);

	if (rc == 0 && !s->empty && to != UINT64_MAX)
		rc = packet_at(s, r, to, &last);
	if (rc != 0 || s->empty)
		return rc;
	if (last < s->last) {
		s->last_offset = UINT32_MAX;
		s->capture = 0;
	}
	s->first_offset = first > s->first ? HEADER : s->first_offset;
	s->first = first;
	s->last = last;
	/* All of it may lie behind TO. */
	rc = reader_packets(r, (struct reader_source){.stream = s->stream}, first, last, false, &p, &n);
	if (rc == 0 && n && p.end > HEADER && p.first_timestamp > to)
		s->empty = true, s->capture = 0;
	return rc;
}

int selection_last_bytes(struct selection *s, struct reader *r, uint64_t bytes)
{
	struct reader_packet page[SELECTION_PAGE];
	uint64_t sum = 0, at = s->last;
	size_t n;
	int rc;

	while (!s->empty && sum < bytes && at >= s->first) {
		n = SELECTION_PAGE;
		rc = reader_packets(r, (struct reader_source){.stream = s->stream}, s->first, at, true, page, &n);
		if (rc != 0)
			return rc;
		for (size_t i = 0; i < n && sum < bytes; i++) {
			sum += page[i].end;
			at = page[i].sequence;
		}
		if (n == 0 || at == s->first || sum >= bytes)
			break;
		at--;
	}
	if (!s->empty && at > s->first) {
		s->first = at;
		s->first_offset = HEADER;
	}
	return 0;
}

int selection_newest(const struct selection *s, struct reader *r, struct scratch *scratch, uint64_t *timestamp)
{
	struct reader_packet page[8];
	uint64_t at = s->last;
	uint32_t end;
	size_t n = 8;
	int rc;

	*timestamp = 0;
	if (s->empty)
		return 0;
	rc = reader_packets(r, (struct reader_source){.stream = s->stream}, s->first, at, true, page, &n);
	for (size_t i = 0; rc == 0 && i < n && *timestamp == 0; i++) {
		rc = packet_chunks_end(r, s->stream, &page[i], &end);
		if (rc == 0 && page[i].sequence == s->last && end > s->last_offset)
			end = s->last_offset;
		if (rc == 0 && end > HEADER) {
			*timestamp = page[i].first_timestamp;
			rc = newest_before(r, scratch, s->stream, page[i].sequence, end, timestamp);
		}
	}
	return rc;
}

int selection_offset_ok(struct reader *r, int64_t stream, uint64_t sequence, uint32_t offset, bool *ok)
{
	struct archive_end e;
	int rc;

	*ok = offset == HEADER;
	if (*ok)
		return 0;
	rc = reader_end_below(r, stream, sequence, offset, &e);
	*ok = rc == 0 && e.offset == offset;
	return rc == ARCHIVE_E_ABSENT ? 0 : rc;
}
