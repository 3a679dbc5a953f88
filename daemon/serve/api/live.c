/*
 * /v1/domains/{domain}/live.
 *
 * A body is a cursor (sequence, offset) that moves forward from chunk end to chunk end. A step
 * sends the bytes between the cursor and a later chunk end of the same packet, as a CTF packet of
 * its own. A step reads the cursor's packet and the next packet in one transaction; otherwise a
 * packet that is completed between two reads could seem to end before its end.
 *
 * The client computes positions itself, from the counts in the packet headers. So the body ends at
 * a place where that would fail, and the client's next request, from its last position, continues
 * behind that place.
 *
 * Invalid bytes of a packet are left out, as in a trace (packet-walk.h), when its end is known. The body ends
 * there, too, because the header Mprof-Cut of the next answer declares them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <mprof/ring.h>

#include "emit.h"
#include "live-steps.h"
#include "live.h"
#include "notice.h"
#include "resource.h"
#include "routes.h"

#define HEADER	  MPROF_PACKET_HEADER_BYTES
#define JOIN_MOST (256u << 10) /* bytes of adjacent chunks sent as one packet, at most, when the body is behind */

enum live_state { LIVE_SEND, LIVE_WAIT, LIVE_END, LIVE_GONE };

struct live {
	struct exchange *exchange;
	struct selection selection; /* the stream; and the tail of its end, if the run has ended */
	struct emitter emitter;
	bool sending;
	bool sent_any;
	uint64_t sequence; /* sequence of the cursor */
	uint32_t offset;
	bool abandoned; /* the cursor's packet has invalid bytes behind the cursor: wait for its end */
	bool cut;	/* behind the cursor are invalid bytes that the next answer declares */
	/* Bytes that this answer declares as cut, the number of their packets, the last packet, and the first byte. */
	uint64_t cut_bytes, cut_packets, cut_sequence;
	struct position first_cut;
	uint64_t deletions;
	bool ended;   /* the run has ended */
	bool in_tail; /* all chunks were sent, and WALK continues with the tail */
	struct packet_walk walk;
};

void live_follow(const struct live *l)
{
	struct notice *collector = exchange_services(l->exchange)->collector;
	struct message_writer w;
	char text[128];

	message_begin(&w, text, sizeof(text), "follow", notice_tag(collector));
	message_add_number(&w, "run", (uint64_t)l->selection.run);
	message_add_number(&w, "stream", l->selection.number);
	notice_send(collector, &w);
}

static struct reader_source chunks(const struct live *l)
{
	return (struct reader_source){.stream = l->selection.stream};
}

static int see_run(void *context, const struct archive_run *run)
{
	struct live *l = context;

	l->ended = strcmp(run->state, "ended") == 0;
	return 0;
}

struct deletions {
	int64_t stream;
	uint64_t deletions;
};

static int see_stream(void *context, const struct reader_stream *s)
{
	struct deletions *d = context;

	if (s->stream.id == d->stream)
		d->deletions = s->deletions;
	return 0;
}

/* Prepare the emitter for the bytes of packet P from the cursor to END. */
static void send_part(struct live *l, const struct reader_packet *p, uint32_t end)
{
	struct packet_view view = {.sequence = l->sequence,
				   .first_timestamp = p->first_timestamp,
				   .room = p->room,
				   .begin = l->offset,
				   .chunks_end = end,
				   .end = end};

	emitter_begin(&l->emitter, &view);
	l->sending = true;
}

/* Leave BYTES behind OFFSET of packet SEQUENCE out, and declare them in this answer. */
static void note_cut(struct live *l, uint64_t sequence, uint32_t offset, uint64_t bytes)
{
	if (l->cut_packets == 0)
		l->first_cut = (struct position){l->selection.run, l->selection.number, sequence, offset};
	l->cut_packets += l->cut_packets == 0 || l->cut_sequence != sequence;
	l->cut_sequence = sequence;
	l->cut_bytes += bytes;
}

/*
 * Prepare to send the bytes of V up to its first cut. If the cut lies at its beginning, end the body, or pass the cut if the
 * headers are not sent yet. *STATE stays as it is if V has nothing to send.
 */
static void take_view(struct live *l, struct packet_view *v, enum live_state *state)
{
	bool has = v->room && (v->resume ? v->hole : v->end) > v->begin;

	if (v->cut && !has && l->sent_any) {
		*state = LIVE_END;
		return;
	}
	l->cut = v->cut && has;
	if (v->resume && has)
		v->end = v->hole;
	else if (v->resume)
		v->begin = v->resume;
	if (v->cut && !has)
		note_cut(l, v->sequence, v->resume ? v->hole : v->begin, v->resume ? v->resume - v->hole : v->cut);
	v->hole = v->resume = 0;
	if (!v->room || v->end <= v->begin) {
		l->sequence = v->sequence;
		l->offset = v->raw_end > v->begin ? v->raw_end : v->begin;
		return;
	}
	emitter_begin(&l->emitter, v);
	l->sending = true;
	*state = LIVE_SEND;
}

/*
 * Packet P is complete, and has invalid bytes behind the cursor: go on behind them, as a trace does. Return what the
 * reader returns.
 */
static int step_cut(struct live *l, const struct reader_packet *p, enum live_state *state)
{
	struct selection s = l->selection;
	struct packet_view view;
	struct packet_walk walk;
	bool have;
	int rc;

	s.capture = 0;
	s.empty = false;
	s.first = s.last = l->sequence;
	s.first_offset = l->offset;
	s.last_offset = p->end;
	packet_walk_init(&walk, exchange_reader(l->exchange), exchange_scratch(l->exchange), &s);
	rc = packet_walk_next(&walk, &view, &have);
	if (rc != 0 || !have)
		return rc;
	take_view(l, &view, state);
	if (*state == LIVE_WAIT) {
		l->offset = p->end;
		l->abandoned = false;
	}
	return 0;
}

/*
 * Find the bytes behind the cursor in its packet P and prepare to send them. *STATE is LIVE_WAIT if
 * there are none. Return what the reader returns.
 */
static int step_within(struct live *l, const struct reader_packet *p, enum live_state *state)
{
	struct exchange *x = l->exchange;
	struct mprof_tail limits = {.not_before = p->first_timestamp, .not_after = UINT64_MAX};
	struct archive_end e;
	struct tail_end valid;
	uint32_t end;
	int rc = packet_chunks_end(exchange_reader(x), l->selection.stream, p, &end);

	*state = LIVE_WAIT;
	if (rc != 0 || end <= l->offset)
		return rc;
	if (l->abandoned)
		return p->complete ? step_cut(l, p, state) : 0;
	rc = reader_end_above(exchange_reader(x), l->selection.stream, l->sequence, l->offset, JOIN_MOST, &e);
	if (rc == 0 && e.offset < end)
		end = e.offset;
	if (rc == 0)
		limits.not_after = mprof_tail_latest(p->first_timestamp, e.mono, e.real);
	if (rc != 0 && rc != ARCHIVE_E_ABSENT)
		return rc;
	valid.valid = end;
	rc = 0;
	if (p->unproven_from && end > p->unproven_from) {
		struct unproven u = {.source = chunks(l),
				     .ring_packets = l->selection.ring_packets,
				     .sequence = l->sequence,
				     .from = p->unproven_from > l->offset ? p->unproven_from : l->offset,
				     .to = end};

		rc = tail_verify(exchange_reader(x), exchange_scratch(x), &u, &limits, &valid);
		l->abandoned = valid.valid < end;
	}
	if (rc == 0 && valid.valid > l->offset) {
		send_part(l, p, valid.valid);
		*state = LIVE_SEND;
	}
	return rc == 0 && *state == LIVE_WAIT && p->complete ? step_cut(l, p, state) : rc;
}

struct gap_search {
	uint64_t next;
	bool explained, at_least;
};

static int see_gap(void *context, const struct archive_gap *gap)
{
	struct gap_search *s = context;

	s->explained |= gap->next_sequence == s->next;
	s->at_least |= gap->at_least;
	return 0;
}

/*
 * Move the cursor to P, the next packet in the archive. COMPLETE: the cursor's packet was complete.
 * Return what the reader returns.
 */
static int step_over(struct live *l, const struct reader_packet *p, bool complete, enum live_state *state)
{
	struct gap_search gaps = {.next = p->sequence};
	struct deletions d = {.stream = l->selection.stream};
	struct reader *r = exchange_reader(l->exchange);
	bool adjacent = p->sequence == l->sequence + 1 && complete;
	int rc = adjacent ? 0 : reader_gaps(r, l->selection.stream, l->sequence, p->sequence - 1, 4096, see_gap, &gaps);

	if (rc == 0 && !adjacent && !gaps.explained)
		rc = reader_streams(r, l->selection.run, see_stream, &d);
	if (rc != 0)
		return rc;
	*state = LIVE_SEND;
	if (!adjacent && !gaps.explained && d.deletions != l->deletions)
		*state = LIVE_GONE; /* the packets before P were deleted before they were sent */
	else if (l->sent_any && (gaps.at_least || p->sequence - l->sequence > UINT16_MAX))
		*state = LIVE_END;
	if (*state == LIVE_SEND) {
		l->sequence = p->sequence;
		l->offset = HEADER;
		l->abandoned = false;
	}
	return 0;
}

/*
 * The run has ended and all chunks were sent: continue with the tail of the capture of its end.
 * Return what the reader returns.
 */
static int tail_begin(struct live *l)
{
	struct selection *s = &l->selection;
	int rc = reader_end_capture(exchange_reader(l->exchange), s->stream, &s->capture);

	if (rc != 0 && rc != ARCHIVE_E_ABSENT)
		return rc;
	s->capture = rc == 0 ? s->capture : 0;
	l->emitter.tail.capture = s->capture;
	rc = selection_all(s, exchange_reader(l->exchange));
	s->first = l->sequence;
	s->first_offset = l->offset;
	l->in_tail = true;
	packet_walk_init(&l->walk, exchange_reader(l->exchange), exchange_scratch(l->exchange), s);
	packet_walk_seek(&l->walk, l->sequence);
	return rc;
}

static int tail_step(struct live *l, enum live_state *state)
{
	struct packet_view view;
	bool have;
	int rc;

	*state = LIVE_END;
	if (l->cut)
		return 0;
	for (;;) {
		rc = packet_walk_next(&l->walk, &view, &have);
		if (rc != 0 || !have)
			break;
		if (view.sequence < l->sequence)
			continue;
		*state = LIVE_WAIT;
		take_view(l, &view, state);
		if (*state != LIVE_WAIT)
			return 0;
	}
	*state = LIVE_END;
	return rc;
}

/* Find the next bytes to send in the archive, and set *STATE. Return what the reader returns. */
static int poll_archive(struct live *l, enum live_state *state)
{
	struct reader *r = exchange_reader(l->exchange);
	struct reader_packet p = {0};
	bool complete = false;
	size_t n;
	int rc;

	for (;;) {
		n = 1;
		rc = reader_packets(r, chunks(l), l->sequence, l->sequence, false, &p, &n);
		*state = LIVE_WAIT;
		if (rc == 0 && n)
			rc = step_within(l, &p, state);
		if (rc != 0 || *state != LIVE_WAIT)
			return rc;
		complete = n == 0 ? l->offset == HEADER && !l->sent_any : p.complete;
		n = 1;
		if (l->sequence < INT64_MAX)
			rc = reader_packets(r, chunks(l), l->sequence + 1, INT64_MAX, false, &p, &n);
		if (rc != 0 || n == 0)
			break;
		rc = step_over(l, &p, complete, state);
		if (rc != 0 || *state != LIVE_SEND)
			return rc;
	}
	if (rc == 0)
		rc = reader_run(r, l->selection.run, see_run, l);
	if (rc == ARCHIVE_E_ABSENT)
		*state = LIVE_GONE, rc = 0;
	return rc == 0 && *state == LIVE_WAIT && l->ended ? tail_begin(l) : rc;
}

static int live_next(struct live *l, enum live_state *state)
{
	int rc;

	if (!l->in_tail) {
		rc = reader_begin(exchange_reader(l->exchange));
		if (rc == 0) {
			rc = poll_archive(l, state);
			reader_end(exchange_reader(l->exchange));
		}
		if (rc != 0 || !l->in_tail)
			return rc;
	}
	return tail_step(l, state);
}

static struct live_cursor cursor(const struct live *l)
{
	return (struct live_cursor){.stream = l->selection.stream,
				    .sequence = l->sequence,
				    .offset = l->offset,
				    .deletions = l->deletions,
				    .sent_any = l->sent_any,
				    .abandoned = l->abandoned,
				    .zstd = l->emitter.zstd};
}

/* The packet that was being sent is sent: move the cursor behind it. */
static void send_end(struct live *l)
{
	l->sending = false;
	l->sent_any = true;
	l->sequence = l->emitter.view.sequence;
	l->offset = l->emitter.view.end;
}

/* Emit what is being sent, *N of at most MAX bytes. */
static int send_pull(struct live *l, char *out, size_t max, size_t *n)
{
	size_t got;
	int rc;

	for (*n = 0; l->sending && *n < max; *n += got) {
		rc = emitter_pull(&l->emitter, out + *n, max - *n, NULL, &got);
		if (rc != 0)
			return *n ? 0 : rc;
		if (got == 0)
			send_end(l);
	}
	return 0;
}

/* Take the step that another body has read, if there is one. */
static bool step_taken(struct live *l, char *out, size_t max, size_t *n, enum live_state *state)
{
	struct live_cursor from = cursor(l);
	const struct live_step *s = live_steps_find(exchange_services(l->exchange)->live_steps, &from);

	if (l->in_tail || !s || s->n > max)
		return false;
	memcpy(out, s->bytes, s->n);
	*n = s->n;
	*state = s->n ? LIVE_SEND : LIVE_WAIT;
	l->sequence = s->to.sequence;
	l->offset = s->to.offset;
	l->sent_any = s->to.sent_any;
	l->abandoned = s->to.abandoned;
	return true;
}

/* Read the next step, emit it, and keep it for others if it is whole. */
static int step_read(struct live *l, char *out, size_t max, size_t *n, enum live_state *state)
{
	struct live_cursor from = cursor(l), to;
	int rc = live_next(l, state);

	*n = 0;
	if (rc != 0)
		return rc;
	if (*state == LIVE_SEND)
		rc = send_pull(l, out, max, n);
	if (rc != 0 || l->sending || l->in_tail || (*state != LIVE_SEND && *state != LIVE_WAIT))
		return rc;
	to = cursor(l);
	live_steps_add(exchange_services(l->exchange)->live_steps, &from, &to, out, *n);
	return 0;
}

static ssize_t on_live(void *context, uint64_t position, char *out, size_t max)
{
	struct live *l = context;
	enum live_state state = LIVE_SEND;
	size_t n = 0;
	int rc;

	(void)position;
	while (l->exchange && !exchange_must_end(l->exchange)) {
		if (l->sending)
			rc = send_pull(l, out, max, &n);
		else
			rc = step_taken(l, out, max, &n, &state) ? 0 : step_read(l, out, max, &n, &state);
		if (rc == ARCHIVE_E_BUSY && !l->sending)
			state = LIVE_WAIT;
		else if (rc != 0 || state == LIVE_GONE)
			return MHD_CONTENT_READER_END_WITH_ERROR;
		if (n)
			return (ssize_t)n;
		if (state == LIVE_END)
			return MHD_CONTENT_READER_END_OF_STREAM;
		if (state == LIVE_WAIT) {
			exchange_suspend(l->exchange, WAIT_COMMIT);
			return 0;
		}
	}
	/*
	 * The server stops, or the client has left. If the client comes back, it continues from its
	 * position.
	 */
	return MHD_CONTENT_READER_END_OF_STREAM;
}

static void live_free(struct live *l)
{
	emitter_deinit(&l->emitter);
	free(l);
}

static void on_live_free(void *context)
{
	struct live *l = context;

	if (l->exchange) {
		l->exchange->live = NULL;
		l->exchange->back = NULL;
	}
	live_free(l);
}

/*
 * Set *OK to whether a body may begin at P. Behind the last chunk end of a packet it may begin only
 * in a tail, or in invalid bytes. Return what the reader returns.
 */
static int after_ok(struct live *l, const struct position *p, bool *ok)
{
	struct reader *r = exchange_reader(l->exchange);
	struct reader_source tail = chunks(l);
	struct reader_packet packet;
	size_t n = 1;
	int rc = selection_offset_ok(r, l->selection.stream, p->sequence, p->offset, ok);

	if (rc != 0 || *ok)
		return rc;
	rc = reader_packets(r, chunks(l), p->sequence, p->sequence, false, &packet, &n);
	if (rc == 0 && n && packet.unproven_from && p->offset > packet.unproven_from && p->offset <= packet.end) {
		*ok = l->abandoned = true;
		return 0;
	}
	if (rc == 0 && l->ended) {
		rc = reader_end_capture(r, l->selection.stream, &tail.capture);
		n = 1;
		if (rc == 0)
			rc = reader_packets(r, tail, p->sequence, p->sequence, false, &packet, &n);
		*ok = rc == 0 && n && p->offset >= packet.begin && p->offset <= packet.end;
	}
	return rc == ARCHIVE_E_ABSENT ? 0 : rc;
}

/* Set the cursor to AFTER. Return false if that is not possible; the request is then answered. */
static bool begin_after(struct exchange *x, struct live *l, const struct resource_stream *stream,
			const struct position *after)
{
	uint64_t last = l->selection.last;
	bool ok = false;
	int rc;

	if (stream->deletions && (l->selection.empty || after->sequence < l->selection.first)) {
		resource_deleted(x, l->selection.run, stream);
		return false;
	}
	rc = after_ok(l, after, &ok);
	if (rc != 0) {
		exchange_reader_problem(x, rc, "");
		return false;
	}
	if (!ok || (after->offset == HEADER && after->sequence > (l->selection.empty ? 0 : last + 1) && !l->ended)) {
		exchange_problem(x, MHD_HTTP_BAD_REQUEST,
				 "after is not a chunk end of this stream. Take positions from Mprof-Position and "
				 "whole packets.");
		return false;
	}
	l->sequence = after->sequence;
	l->offset = after->offset;
	l->sent_any = false;
	return true;
}

static void add_cut(struct exchange *x, const struct live *l, struct MHD_Response *response)
{
	char at[POSITION_TEXT], text[POSITION_TEXT + 64];

	if (!l->cut_packets)
		return;
	position_format(&l->first_cut, at);
	snprintf(text, sizeof(text), "bytes=%" PRIu64 "; packets=%" PRIu64 "; at=%s", l->cut_bytes, l->cut_packets, at);
	exchange_add_header(x, response, "Mprof-Cut", text);
}

static enum outcome live_respond(struct exchange *x, struct live *l)
{
	struct position at = {l->selection.run, l->selection.number, l->sequence, l->offset};
	struct MHD_Response *response;
	char text[POSITION_TEXT];

	if (l->sending) {
		at.sequence = l->emitter.view.sequence;
		at.offset = l->emitter.view.begin;
	}
	position_format(&at, text);
	response = exchange_stream(x, EXCHANGE_BLOCK, on_live, l, on_live_free);
	if (!response) {
		live_free(l);
		return exchange_reader_problem(x, -ENOMEM, "");
	}
	x->live = l;
	x->live_run = l->selection.run;
	x->back = &l->exchange;
	live_follow(l);
	exchange_add_header(x, response, "Mprof-Position", text);
	add_cut(x, l, response);
	exchange_add_header(x, response, "Mprof-Run-State", l->ended ? "ended" : "running");
	exchange_add_header(x, response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/x-ctf-stream");
	exchange_add_header(x, response, MHD_HTTP_HEADER_VARY, "Accept-Encoding");
	exchange_add_header(x, response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	if (l->emitter.zstd)
		exchange_add_header(x, response, MHD_HTTP_HEADER_CONTENT_ENCODING, "zstd");
	return exchange_respond(x, MHD_HTTP_OK, response);
}

static enum outcome live_begin(struct exchange *x, const struct resource *res, const struct resource_stream *stream,
			       const struct position *after)
{
	struct live *l = calloc(1, sizeof(*l));
	enum live_state state;
	int rc;

	if (!l)
		return exchange_reader_problem(x, -ENOMEM, "");
	l->exchange = x;
	l->ended = res->ended;
	l->deletions = stream->deletions;
	l->selection = (struct selection){
		.run = res->run, .number = stream->number, .stream = stream->id, .ring_packets = stream->ring_packets};
	rc = selection_all(&l->selection, exchange_reader(x));
	l->sequence = l->selection.first;
	l->offset = HEADER;
	if (rc == 0)
		rc = emitter_init(&l->emitter, exchange_reader(x), exchange_scratch(x), &l->selection,
				  !x->http10 &&
					  request_accepts_zstd(exchange_header(x, MHD_HTTP_HEADER_ACCEPT_ENCODING)));
	if (rc == 0 && after && !begin_after(x, l, stream, after)) {
		live_free(l);
		return OUTCOME_DONE;
	}
	/*
	 * Read once before the headers are sent, because a header has the position of the first
	 * packet. That packet may lie behind a gap of unknown length.
	 */
	if (rc == 0)
		rc = live_next(l, &state);
	if (rc != 0) {
		live_free(l);
		return exchange_reader_problem(x, rc, "");
	}
	l->sent_any = true;
	return live_respond(x, l);
}

enum outcome get_domain_live(struct exchange *x)
{
	CLEANUP(resource_deinit) struct resource res = {0};
	const struct resource_stream *stream;
	struct position store;
	const struct position *after;

	if (!resource_position(x, "after", &store, &after) || !resource_domain(x, after, &res) ||
	    !resource_pick(x, &res, after, &stream))
		return OUTCOME_DONE;
	if (!stream)
		return exchange_problem(x, MHD_HTTP_SERVICE_UNAVAILABLE, "The run has no stream yet; try again.");
	return live_begin(x, &res, stream, after);
}
