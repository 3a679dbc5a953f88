/* Select the part of a resource for which the query of a request asks. */
#include <string.h>

#include "quantity.h"
#include "readings.h"
#include "resource.h"

/*
 * Narrow S to the packets between the position FIRST and the query's `end`. Return false if a
 * position is invalid; the request is then answered.
 */
static bool select_positions(struct exchange *x, const struct resource_stream *stream, const struct position *first,
			     struct selection *s)
{
	struct reader *r = exchange_reader(x);
	struct position store;
	const struct position *end;
	bool ok = true;
	int rc = 0;

	if (!resource_position(x, "end", &store, &end))
		return false;
	if (first && stream->deletions && (s->empty || first->sequence < s->first)) {
		resource_deleted(x, s->run, stream);
		return false;
	}
	if (first)
		span_begin(&s->span, first->sequence);
	if (first && first->sequence >= s->first) {
		s->first = first->sequence;
		s->first_offset = first->offset;
		rc = selection_offset_ok(r, s->stream, first->sequence, first->offset, &ok);
	}
	if (end && rc == 0 && ok) {
		ok = end->run == s->run && end->stream == s->number;
		if (ok)
			rc = selection_offset_ok(r, s->stream, end->sequence, end->offset, &ok);
		s->empty |= end->sequence < s->first;
		if (end->sequence <= s->last) {
			s->last_offset =
				end->sequence < s->last || end->offset < s->last_offset ? end->offset : s->last_offset;
			s->last = end->sequence;
			s->capture = 0;
			span_end(&s->span, end->sequence, end->offset);
		}
	}
	if (s->first > s->last && !s->capture)
		s->empty = true;
	if (rc != 0)
		exchange_reader_problem(x, rc, "");
	else if (!ok)
		exchange_problem(x, MHD_HTTP_BAD_REQUEST,
				 "A position's offset must be a chunk end of its packet, and both must be of one run "
				 "and stream.");
	return rc == 0 && ok;
}

/*
 * Narrow S to the query's `last`, a duration or a number of bytes. Return false if it is invalid;
 * the request is then answered.
 */
static bool select_last(struct exchange *x, const char *last, struct selection *s)
{
	uint64_t value, newest;
	int rc;

	if (quantity_duration(last, &value)) {
		rc = selection_newest(s, exchange_reader(x), exchange_scratch(x), &newest);
		if (rc == 0)
			rc = selection_times(s, exchange_reader(x), newest > value ? newest - value : 0, UINT64_MAX);
	} else if (quantity_bytes(last, &value)) {
		rc = selection_last_bytes(s, exchange_reader(x), value);
	} else {
		exchange_problem(x, MHD_HTTP_BAD_REQUEST,
				 "The query parameter last must be bytes (5MB) or a duration (10s), not %.100s.", last);
		return false;
	}
	if (rc != 0)
		exchange_reader_problem(x, rc, "");
	return rc == 0;
}

static bool select_times(struct exchange *x, struct selection *s)
{
	uint64_t from, to;
	int rc;

	if (!exchange_number(x, "from", 0, UINT64_MAX, 0, &from) ||
	    !exchange_number(x, "to", 0, UINT64_MAX, UINT64_MAX, &to))
		return false;
	if (from > to) {
		exchange_problem(x, MHD_HTTP_BAD_REQUEST, "from is greater than to.");
		return false;
	}
	rc = from || to != UINT64_MAX ? selection_times(s, exchange_reader(x), from, to) : 0;
	if (rc != 0)
		exchange_reader_problem(x, rc, "");
	return rc == 0;
}

/* Set S to all bytes of the stream that belong to the resource. Return what the reader returns. */
static int select_base(struct exchange *x, const struct resource *res, const struct resource_stream *stream,
		       struct selection *s)
{
	struct reader *r = exchange_reader(x);
	int rc = selection_all(s, r);

	if (rc != 0)
		return rc;
	if (!res->capture && res->ended) {
		rc = reader_end_capture(r, s->stream, &s->capture);
		if (rc == ARCHIVE_E_ABSENT)
			s->capture = 0, rc = 0;
		return rc;
	}
	if (!res->capture)
		return 0;
	s->capture = res->capture;
	s->span = stream->span;
	if (stream->range.last_sequence < s->last ||
	    (stream->range.last_sequence == s->last && stream->range.last_offset < s->last_offset)) {
		s->last = stream->range.last_sequence;
		s->last_offset = stream->range.last_offset;
	}
	if (stream->range.first_sequence > s->first)
		s->first = stream->range.first_sequence;
	if (s->first > s->last) { /* only the tail may be left */
		s->empty = true;
		s->first = s->last = stream->range.last_sequence;
	}
	return 0;
}

/*
 * Check that the query narrows the selection in one way only: by times, by `last`, or by positions.
 * Return false if not; the request is then answered.
 */
static bool one_way(struct exchange *x)
{
	bool times = request_query(&x->request, "from") || request_query(&x->request, "to");
	bool last = request_query(&x->request, "last") != NULL;
	bool positions = request_query(&x->request, "first") || request_query(&x->request, "end");

	if (times + last + positions <= 1)
		return true;
	exchange_problem(x, MHD_HTTP_BAD_REQUEST, "Give only one of: from and to; last; first and end.");
	return false;
}

bool resource_select(struct exchange *x, struct resource *res, const struct resource_stream *stream,
		     const struct position *first, struct selection *s)
{
	const char *tail = request_query(&x->request, "tail"), *last = request_query(&x->request, "last");
	int rc;

	*s = (struct selection){.run = res->run,
				.number = stream->number,
				.stream = stream->id,
				.ring_packets = stream->ring_packets,
				.raw = tail && strcmp(tail, "raw") == 0};
	if (tail && !s->raw && strcmp(tail, "cut") != 0) {
		exchange_problem(x, MHD_HTTP_BAD_REQUEST, "The query parameter tail must be cut or raw.");
		return false;
	}
	if (!one_way(x) || resource_gone(x, res, stream))
		return false;
	rc = select_base(x, res, stream, s);
	if (rc != 0) {
		exchange_reader_problem(x, rc, "");
		return false;
	}
	/* The ends of the tail may be known from an earlier process. */
	if (s->capture && s->capture != res->tails_of && exchange_services(x)->readings) {
		(void)readings_find(exchange_services(x)->readings, s->capture, true);
		res->tails_of = s->capture;
	}
	if (last)
		return select_last(x, last, s);
	if (first || request_query(&x->request, "end"))
		return select_positions(x, stream, first, s);
	return select_times(x, s);
}
