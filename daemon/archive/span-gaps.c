/*
 * Choose the gaps of a span.
 *
 * A gap names the last archived packet before it, or the first missing one if no byte of that packet is archived. Packets
 * that are missing at an edge of the span have no neighbour in it. So the span's own marks choose its gaps, never the
 * packets that are left.
 */
#include <string.h>

#include <mprof/ring.h>

#include "span-gaps.h"

#define HEADER	  MPROF_PACKET_HEADER_BYTES
#define GAPS_MOST 65536u

struct span span_all(int64_t stream)
{
	return (struct span){.stream = stream, .last = UINT64_MAX, .last_offset = UINT32_MAX};
}

struct span span_of_range(const struct reader_capture_range *range)
{
	return (struct span){
		.stream = range->range.stream,
		.first = range->range.first_sequence,
		.begins_missing = true,
		.last = range->range.last_sequence,
		.last_offset = range->range.last_offset,
		.tail_last = range->tail_last,
		.tail_end = range->tail_end,
		.tail_lost = range->tail_marked > range->tail_bytes,
		.is_end = range->is_end,
	};
}

/* Return whether GAP, which begins behind S, declares the missing end of a capture's tail, or of the stream. */
static bool end_has(const struct span *s, const struct archive_gap *gap)
{
	uint64_t sequence = s->tail_end ? s->tail_last : s->last;
	uint32_t end = s->tail_end ? s->tail_end : s->last_offset;

	if (s->is_end && gap->after_sequence >= s->last)
		return gap->after_sequence <= sequence + 1;
	if (!s->tail_lost || strcmp(gap->reason, "damaged") != 0)
		return false;
	return gap->after_sequence == sequence ? gap->after_offset == end
					       : gap->after_sequence == sequence + 1 && gap->after_offset <= HEADER;
}

bool span_has(const struct span *s, const struct archive_gap *gap)
{
	if (gap->after_sequence < s->first)
		return false;
	if (gap->after_sequence < s->last || (gap->after_sequence == s->last && gap->after_offset < s->last_offset))
		return true;
	return gap->next_sequence <= s->tail_last || end_has(s, gap);
}

void span_begin(struct span *s, uint64_t first)
{
	s->begins_missing = false;
	if (first > s->first)
		s->first = first;
}

void span_end(struct span *s, uint64_t last, uint32_t offset)
{
	if (last < s->last || (last == s->last && offset < s->last_offset)) {
		s->last = last;
		s->last_offset = offset;
	}
	s->tail_last = s->tail_end = 0;
	s->tail_lost = s->is_end = false;
}

/* Return the packet behind the last one of S. */
static uint64_t packets_end(const struct span *s)
{
	uint64_t end = s->last_offset > HEADER && s->last < UINT64_MAX ? s->last + 1 : s->last;

	return s->tail_end && s->tail_last >= end ? s->tail_last + 1 : end;
}

/* Return the number of packets of S that GAP declares missing, wholly or in part, from packet FROM on. */
static uint64_t count(const struct span *s, const struct archive_gap *gap, uint64_t from)
{
	uint64_t end = gap->next_sequence < packets_end(s) || end_has(s, gap) ? gap->next_sequence : packets_end(s);

	if (from <= gap->after_sequence && end == gap->next_sequence)
		return gap->packets;
	return end <= from ? 0 : end - from < gap->packets ? end - from : gap->packets;
}

void span_losses_add(struct span_losses *losses, const struct span *s, const struct archive_gap *gap)
{
	const bool is_damage = strcmp(gap->reason, "damaged") == 0;
	const uint64_t seen = is_damage ? losses->seen : losses->seen_damaged;
	uint64_t from = gap->after_sequence < s->first ? s->first : gap->after_sequence;

	if (strcmp(gap->kind, "lost") != 0) {
		losses->skipped += count(s, gap, from);
		return;
	}
	losses->packets += count(s, gap, seen > from ? seen : from);
	losses->at_least |= gap->at_least;
	if (gap->next_sequence > losses->seen)
		losses->seen = gap->next_sequence;
	if (is_damage && gap->next_sequence > losses->seen_damaged)
		losses->seen_damaged = gap->next_sequence;
}

struct choice {
	const struct span *span;
	unsigned left;
	reader_gap_call *call;
	void *context;
};

static int choose(void *context, const struct archive_gap *gap)
{
	struct choice *c = context;

	if (!c->left || !span_has(c->span, gap))
		return 0;
	c->left--;
	return c->call(c->context, gap);
}

int span_gaps(struct reader *r, const struct span *s, unsigned limit, reader_gap_call *call, void *context)
{
	struct choice c = {s, limit, call, context};
	uint64_t to = (s->tail_last > s->last ? s->tail_last : s->last) +
		      ((s->tail_lost || s->is_end) && s->last < UINT64_MAX);
	int rc = s->begins_missing && s->first ? reader_gap_into(r, s->stream, s->first, call, context) : 0;

	if (rc != 0 && rc != ARCHIVE_E_ABSENT)
		return rc;
	/* A few gaps that begin in packet TO are behind the span's end. */
	return reader_gaps(r, s->stream, s->first, to, limit + 16, choose, &c);
}

struct sum {
	const struct span *span;
	struct span_losses *losses;
	unsigned n;
};

static int add_loss(void *context, const struct archive_gap *gap)
{
	struct sum *sum = context;

	span_losses_add(sum->losses, sum->span, gap);
	sum->losses->at_least |= ++sum->n >= GAPS_MOST;
	return 0;
}

int span_lost(struct reader *r, const struct span *s, struct span_losses *losses)
{
	struct sum sum = {.span = s, .losses = losses};

	*losses = (struct span_losses){0};
	return span_gaps(r, s, GAPS_MOST, add_loss, &sum);
}
