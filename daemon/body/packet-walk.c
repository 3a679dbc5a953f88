/*
 * Walk over the packets of a selection, as they are served. Invariant: a view never passes the
 * selection's last position. So a body that is walked twice, for its plan and for its bytes, is the
 * same although the archive grows. The first walk over a tail verifies its bytes; all others have
 * the ends that it found (tail-ends.h).
 */
#include <mprof/ring.h>

#include "capture-coverage.h"
#include "packet-walk.h"
#include "time-bound.h"

#define HEADER	  MPROF_PACKET_HEADER_BYTES
#define GAPS_MOST 4096u

uint64_t packet_view_bytes(const struct packet_view *v)
{
	return HEADER + (uint64_t)(v->end - v->begin) - (v->resume - v->hole);
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
		.limits = {.not_after = UINT64_MAX},
	};
}

/* ---- what earlier walks have verified ---- */

/* The tail of W's selection begins at OFFSET of packet SEQUENCE. */
static void name_tail(struct packet_walk *w, uint64_t sequence, uint32_t offset)
{
	w->tail = (struct tail_name){.archives = reader_archives(w->reader),
				     .stream = w->selection->stream,
				     .capture = w->selection->capture,
				     .begin_sequence = sequence,
				     .begin_offset = offset};
	w->tail_next = sequence;
}

/*
 * Return the record of W's tail, and continue at its end; NULL if there is none, or if it was forgotten
 * and begun again behind W.
 */
static struct tail_record *recall(struct packet_walk *w)
{
	struct tail_record *r = w->selection->raw ? NULL : tail_ends_find(&w->scratch->tails, &w->tail);

	w->remembers = r && r->next >= w->tail_next;
	if (!w->remembers)
		return NULL;
	w->limits.not_before = r->not_before;
	w->limits.not_after = r->not_after;
	return r;
}

/* The tail was found, and nothing is verified of it: begin its record. */
static void remember(struct packet_walk *w)
{
	w->remembers = !w->selection->raw &&
		       tail_ends_begin(&w->scratch->tails, &w->tail, w->limits.not_before, w->limits.not_after) != NULL;
}

/* Name the tail as a walk over the whole selection does. */
static void name_selected_tail(struct packet_walk *w)
{
	const struct selection *s = w->selection;

	name_tail(w, s->empty ? 0 : s->last, s->empty ? 0 : s->last_offset);
}

/*
 * Set *END to the valid bytes of the tail packet P: as an earlier walk found them, else verify them. ENDS:
 * events behind an invalid one are looked for. Return what the reader returns.
 */
static int tail_end(struct packet_walk *w, struct reader_source source, const struct reader_packet *p, bool ends,
		    struct tail_end *end)
{
	struct unproven u = {.source = source,
			     .ring_packets = w->selection->ring_packets,
			     .sequence = p->sequence,
			     .from = p->begin,
			     .to = p->end,
			     .ends = ends};
	struct tail_end cut = {.resume = 0};
	struct tail_record *r = w->remembers ? recall(w) : NULL;
	struct mprof_tail limits = w->limits;
	int rc = 0;

	/*
	 * Only the newest packet can have a new number and the bytes of its slot's former packet. The first event of
	 * an earlier one is its own; if it is older than the packet before, the clock was set back.
	 */
	if (w->left && p->begin == HEADER)
		limits.not_before = 0;
	limits.settled = w->left;
	limits.earlier = w->limits.not_before;

	if (!r || !tail_record_end(r, p->sequence, p->begin, p->end, end)) {
		rc = tail_verify(w->reader, w->scratch, &u, &limits, end);
		/* The next packet of the tail begins later than this one. */
		if (end->valid > HEADER && p->begin == HEADER)
			w->limits.not_before = p->first_timestamp;
		if (end->resume < p->end)
			cut.resume = end->resume;
		cut.valid = end->valid;
		if (rc == 0 && r)
			tail_ends_note(&w->scratch->tails, r, p->sequence, cut.valid < p->end ? &cut : NULL,
				       w->limits.not_before);
	}
	w->tail_next = p->sequence + 1;
	return rc;
}

void packet_walk_seek(struct packet_walk *w, uint64_t sequence)
{
	const struct selection *s = w->selection;
	const struct tail_record *r = NULL;

	w->n = w->at = 0;
	w->follows = w->is_open = false;
	w->chunks_done = s->empty;
	if (s->capture && (s->empty || sequence > s->last)) {
		name_selected_tail(w);
		r = recall(w);
	}
	w->remembers = r && sequence < r->next;
	if (w->remembers) {
		w->chunks_done = true;
		w->next = w->expected = w->tail_next = sequence;
		return;
	}
	/*
	 * A tail is verified against the packets before it, so a walk into the tail begins at the
	 * last packet that has chunks.
	 */
	w->next = sequence <= s->last ? sequence : s->empty ? s->first : s->last;
	w->expected = w->next;
	w->tail = (struct tail_name){0}; /* the walk names it again, with its limits, when it comes to it */
	w->limits = (struct mprof_tail){.not_after = UINT64_MAX};
}

/* ---- views ---- */

/*
 * Cut V, whose unproven bytes are valid as END says. If its first event lies in the hole, read the time of the
 * first one that is served. Return what the reader returns.
 */
static int view_cut(struct packet_walk *w, struct reader_source source, const struct tail_end *end,
		    struct packet_view *v)
{
	uint8_t time[8];
	size_t got = 0;
	int rc = 0;

	if (end->resume == v->raw_end) {
		v->cut = v->raw_end - end->valid;
		v->end = end->valid;
		return 0;
	}
	v->hole = end->valid;
	v->resume = end->resume;
	v->cut = v->resume - v->hole;
	v->end = v->raw_end;
	if (v->hole == HEADER)
		rc = reader_bytes(w->reader, source, v->sequence, v->resume, sizeof(time), time, w->scratch->piece,
				  &got);
	if (got == sizeof(time))
		v->first_timestamp = mprof_load64(time);
	return rc;
}

/*
 * Verify the unproven bytes of packet P's chunks, from UNPROVEN to V->end, and cut V. Return what the reader returns.
 */
static int verify_chunks(struct packet_walk *w, const struct reader_packet *p, uint32_t unproven, struct packet_view *v)
{
	const struct selection *s = w->selection;
	struct unproven u = {.source = {.stream = s->stream},
			     .ring_packets = s->ring_packets,
			     .sequence = p->sequence,
			     .from = unproven,
			     .to = v->end,
			     .ends = true};
	struct tail_end end;
	uint64_t newest = p->first_timestamp;
	struct mprof_tail limits = {.not_after = UINT64_MAX};
	struct archive_end copied;
	int rc = reader_end_below(w->reader, s->stream, p->sequence, v->end, &copied);

	/* If several writers wrote at once, only the host's clocks tell a latest time. */
	if (rc == 0)
		limits.not_after = mprof_tail_latest(p->first_timestamp, copied.mono, copied.real);
	if (rc == ARCHIVE_E_ABSENT)
		rc = 0;
	if (rc == 0 && unproven > HEADER)
		rc = packet_newest(w->reader, w->scratch, s->stream, p->sequence, unproven, &newest);
	limits.not_before = time_bound_not_before(p->first_timestamp, newest);
	limits.settled = p->complete;
	if (rc == 0)
		rc = tail_verify(w->reader, w->scratch, &u, &limits, &end);
	return rc ? rc : view_cut(w, u.source, &end, v);
}

/* Fill *V from the chunks of packet P. Return what the reader returns. */
static int view_chunks(struct packet_walk *w, const struct reader_packet *p, struct packet_view *v)
{
	const struct selection *s = w->selection;
	uint32_t end, unproven = p->unproven_from;
	int rc = packet_chunks_end(w->reader, s->stream, p, &end);

	/* No packet has the size 0, and such a packet would be left out without notice. */
	if (rc == 0 && p->room == 0)
		rc = reader_note_damage(w->reader, (struct reader_source){.stream = s->stream}, p->sequence);
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
	if (end && unproven && unproven < v->end && !s->raw)
		rc = verify_chunks(w, p, unproven, v);
	v->chunks_end = v->end;
	if (rc == 0 && end == 0)
		v->room = 0; /* no byte of it can be served, not even its header */
	return rc;
}

/*
 * Append the tail packet P to *V, whose chunks end where P begins. Return what the reader returns.
 */
static int view_tail(struct packet_walk *w, const struct reader_packet *p, struct packet_view *v)
{
	const struct selection *s = w->selection;
	struct reader_source source = {.stream = s->stream, .capture = s->capture};
	struct tail_end end = {.valid = p->end, .resume = p->end};
	uint32_t hole = v->hole, resume = v->resume, cut = v->cut;
	int rc = 0;

	if (!p->whole || p->room == 0)
		return reader_note_damage(w->reader, source, p->sequence);
	if (p->begin != v->end || (v->cut && !v->resume)) {
		struct reader_piece first;

		/*
		 * P does not follow V, so all of P is cut. But check its row, because damage may be
		 * the reason.
		 */
		v->cut += p->end - p->begin;
		return reader_piece(w->reader, source, p->sequence, p->begin, 0, PIECE_DECODED, w->scratch->piece,
				    &first);
	}
	if (!s->raw)
		rc = tail_end(w, source, p, resume == 0, &end);
	if (resume) /* a packet has one hole */
		end.resume = p->end;
	v->tail = true;
	v->raw_end = p->end;
	if (rc == 0)
		rc = view_cut(w, source, &end, v);
	if (resume) {
		v->hole = hole;
		v->resume = resume;
		v->cut += cut;
	}
	return rc;
}

static int walk_page(struct packet_walk *w, bool tail)
{
	struct reader_source source = {.stream = w->selection->stream, .capture = tail ? w->selection->capture : 0};

	w->at = 0;
	w->n = PACKET_WALK_PAGE;
	return reader_packets(w->reader, source, w->next, tail ? INT64_MAX : w->selection->last, false, w->page, &w->n);
}

/*
 * Find the newest event before the tail, which begins behind V, and the latest time of its events. Return what
 * the reader returns.
 */
static int begin_tail(struct packet_walk *w, const struct packet_view *v)
{
	const struct selection *s = w->selection;
	uint64_t newest = v->first_timestamp;
	int rc;

	name_tail(w, v->sequence, v->end);
	if (recall(w))
		return 0;
	rc = packet_newest(w->reader, w->scratch, s->stream, v->sequence, v->end, &newest);
	/* If the guest's clock was set back, it may be set again, so only the host's clocks tell a latest time. */
	if (rc == 0 && !s->raw)
		rc = time_bound_not_after(w->reader,
					  &(struct time_bound_event){
						  .stream = s->stream,
						  .sequence = v->sequence,
						  .end = !v->unproven && !v->clock && v->end > HEADER ? v->end : 0,
						  .timestamp = newest,
					  },
					  s->capture, &w->limits.not_after);
	w->limits.not_before = time_bound_not_before(v->first_timestamp, newest);
	if (rc == 0)
		remember(w);
	return rc;
}

/* View the last packet of the chunks, and append its tail. Return what the reader returns. */
static int walk_last(struct packet_walk *w, struct packet_view *v)
{
	struct reader_source source = {.stream = w->selection->stream, .capture = w->selection->capture};
	struct reader_packet t;
	size_t n = 1;
	int rc = begin_tail(w, v);

	if (rc == 0)
		rc = reader_packets(w->reader, source, v->sequence, v->sequence, false, &t, &n);
	return rc == 0 && n ? view_tail(w, &t, v) : rc;
}

/* Fill *V for packet P of the tail, of which there are no chunks. */
static void view_fresh(const struct selection *s, const struct reader_packet *p, struct packet_view *v)
{
	*v = (struct packet_view){.sequence = p->sequence,
				  .first_timestamp = p->first_timestamp,
				  .room = p->room,
				  .begin = p->sequence == s->first ? s->first_offset : HEADER,
				  .chunks_end = HEADER,
				  .end = HEADER,
				  .raw_end = p->end,
				  .complete = true,
				  .unproven = true,
				  .stamp = p->stamp};
}

/*
 * The packets FROM to END (not included) are missing: report damage if neither a gap nor a deletion
 * explains that. Return what the reader returns.
 */
static int check_hole(struct packet_walk *w, uint64_t from, uint64_t end)
{
	/* Behind the last packet nothing but the capture's range says what must be there. */
	struct reader_source source = {.stream = w->selection->stream},
			     damaged = {.stream = source.stream, .capture = w->chunks_done ? w->selection->capture : 0};
	bool explained = true, all = true;
	int rc;

	if (from >= end || !w->check.known || from < w->check.oldest)
		return 0;
	rc = coverage_explained(w->reader, source.stream, from, end, !w->follows, &explained);
	if (rc != 0 || explained)
		return rc;
	rc = reader_check(w->reader, source, &w->check); /* they may have been deleted since CHECK was read */
	if (rc == 0 && w->check.deletions)
		rc = reader_check_held(w->reader, source.stream, &all);
	if (rc == 0 && (!w->check.deletions || !all))
		rc = reader_note_damage(w->reader, damaged, end);
	if (rc == 0)
		rc = reader_check_beside(w->reader, source.stream, from, end);
	if (rc != 0 || w->order_checked)
		return rc;
	w->order_checked = true;
	return reader_check_order(w->reader, source.stream);
}

static int see_gap(void *context, const struct archive_gap *gap)
{
	*(bool *)context |= gap->next_sequence > gap->after_sequence;
	return 0;
}

/*
 * The packet before EXPECTED is incomplete, and the stream went on behind it: report damage if no gap declares its rest lost. Return what the
 * reader returns.
 */
static int check_rest(struct packet_walk *w)
{
	/* Behind the last packet nothing but the capture's range says that the stream went on. */
	struct reader_source source = {.stream = w->selection->stream,
				       .capture = w->chunks_done ? w->selection->capture : 0};
	uint64_t before = w->expected - 1;
	bool any = false;
	int rc;

	if (!w->check.known || before < w->check.oldest)
		return 0;
	rc = reader_gaps(w->reader, source.stream, before, before, GAPS_MOST, see_gap, &any);
	if (rc != 0 || any)
		return rc;
	/* The packet may have been deleted with its gap since CHECK was read. */
	rc = reader_check(w->reader, (struct reader_source){.stream = source.stream}, &w->check);
	if (rc != 0 || !w->check.known || before < w->check.oldest)
		return rc;
	return reader_note_damage(w->reader, source, before);
}

/*
 * Check that the walk has met the last packet of the selection. If the selection ends at offset 30
 * of that packet, it may have been empty. Return what the reader returns.
 */
static int check_end(struct packet_walk *w)
{
	const struct selection *s = w->selection;
	int rc = 0;

	if (s->empty)
		return 0;
	if (w->is_open && s->capture && w->expected <= s->last)
		rc = check_rest(w);
	return rc ? rc : check_hole(w, w->expected, s->last + (s->last_offset > HEADER));
}

/*
 * Read pages of packets until there is one. *END: there are no more. Return what the reader
 * returns.
 */
static int walk_fill(struct packet_walk *w, bool *end)
{
	const struct selection *s = w->selection;
	int rc = 0;

	*end = false;
	while (rc == 0 && !*end && w->at == w->n) {
		if (!w->chunks_done && w->next > s->last) {
			w->chunks_done = true;
			rc = check_end(w);
		}
		*end = w->chunks_done && !s->capture;
		if (rc != 0 || *end)
			break;
		rc = walk_page(w, w->chunks_done);
		if (rc != 0 || w->n)
			break;
		*end = w->chunks_done;
		if (!w->chunks_done) {
			w->chunks_done = true;
			rc = check_end(w);
		}
	}
	return rc;
}

/*
 * Fill *V from packet P, which has chunks, after checks of the packets before it. *HAVE: it is
 * served. Return what the reader returns.
 */
static int view_next_chunks(struct packet_walk *w, const struct reader_packet *p, struct packet_view *v, bool *have)
{
	const struct selection *s = w->selection;
	int rc = check_hole(w, w->expected, p->sequence);

	if (rc == 0 && w->is_open)
		rc = check_rest(w);
	w->is_open = !p->complete;
	w->expected = p->sequence + 1;
	w->follows = true;
	if (rc == 0)
		rc = view_chunks(w, p, v);
	if (rc == 0 && p->sequence == s->last && s->capture)
		rc = walk_last(w, v);
	*have = rc == 0 && (v->room || v->cut);
	return rc;
}

/*
 * Begin a tail before which no packet was viewed: only the host's clocks tell a latest time. Return what the
 * reader returns.
 */
static int fresh_begin(struct packet_walk *w)
{
	const struct selection *s = w->selection;
	int rc = s->raw ? 0
			: time_bound_not_after(w->reader, &(struct time_bound_event){.stream = s->stream}, s->capture,
					       &w->limits.not_after);

	if (rc == 0 && s->empty)
		remember(w);
	return rc;
}

/* Find out whether the tail has packets behind P. Return what the reader returns. */
static int find_left(struct packet_walk *w, const struct reader_packet *p)
{
	struct reader_source source = {.stream = w->selection->stream, .capture = w->selection->capture};
	struct reader_packet behind;
	size_t n = 1;
	int rc = 0;

	if (w->at == w->n)
		rc = reader_packets(w->reader, source, p->sequence + 1, INT64_MAX, false, &behind, &n);
	w->left = n != 0;
	return rc;
}

/*
 * Fill *V from packet P, which is in the tail only. *HAVE: it is served or cut. Return what the
 * reader returns.
 */
static int view_next_fresh(struct packet_walk *w, const struct reader_packet *p, struct packet_view *v, bool *have)
{
	int rc = 0;

	/* A selection without chunks, or one that begins in the tail: no packet before the tail was viewed. */
	if (!w->tail.archives) {
		name_selected_tail(w);
		if (!recall(w))
			rc = fresh_begin(w);
	}
	if (rc == 0)
		rc = find_left(w, p);
	if (rc != 0)
		return rc;
	view_fresh(w->selection, p, v);
	rc = view_tail(w, p, v);
	/*
	 * Without a valid event, the slot held the bytes of the ring's former packet under the new
	 * number: they are not served.
	 */
	*have = rc == 0 && (v->end > HEADER || v->cut);
	if (v->end == HEADER)
		v->room = 0;
	return rc;
}

/*
 * Let V end at its beginning at least. If it begins behind the beginning of its hole, it has none. Bytes before its
 * beginning do not count as cut.
 */
static void view_clip(struct packet_view *v)
{
	uint32_t before = v->room && v->begin > v->end ? v->begin - v->end : 0;

	if (v->end < v->begin)
		v->end = v->begin;
	if (v->resume && v->begin > v->hole) {
		before += (v->begin < v->resume ? v->begin : v->resume) - v->hole;
		if (v->begin < v->resume)
			v->begin = v->resume;
		v->hole = v->resume = 0;
	}
	v->cut -= before < v->cut ? before : v->cut;
}

int packet_walk_next(struct packet_walk *w, struct packet_view *v, bool *have)
{
	const struct selection *s = w->selection;
	const struct reader_packet *p;
	bool end = false;
	int rc = 0;

	*have = false;
	if (!w->checked)
		rc = reader_check(w->reader, (struct reader_source){.stream = s->stream, .capture = s->capture},
				  &w->check);
	w->checked = rc == 0;
	while (rc == 0 && !*have) {
		rc = walk_fill(w, &end);
		if (rc != 0 || end)
			break;
		p = &w->page[w->at++];
		w->next = p->sequence + 1;
		rc = w->chunks_done ? view_next_fresh(w, p, v, have) : view_next_chunks(w, p, v, have);
		if (rc == 0)
			view_clip(v);
	}
	return rc;
}
