/* Select packets of a stream: all of them, by guest time, or by bytes. */
#include <mprof/ring.h>

#include "array.h"
#include "selection.h"

#define HEADER MPROF_PACKET_HEADER_BYTES
#define PAGE   64u

int selection_all(struct selection *s, struct reader *r)
{
	struct reader_packet p;
	uint32_t end = 0;
	int rc = stream_newest(r, s->stream, &p);

	s->span = span_all(s->stream);
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

/*
 * Set *SEQUENCE to the newest packet of the selection whose first event is at or before TIME, or to
 * the selection's first packet if there is none. Timestamps ascend with sequences, so bisect.
 * Return what the reader returns.
 */
static int packet_at(const struct selection *s, struct reader *r, uint64_t time, uint64_t *sequence)
{
	struct reader_packet page[8];
	uint64_t low = s->first, high = s->last, middle;
	size_t n, i;
	int rc;

	while (low < high) {
		middle = low + (high - low + 1) / 2;
		n = ARRAY_SIZE(page);
		rc = reader_packets(r, (struct reader_source){.stream = s->stream}, middle, high, false, page, &n);
		if (rc != 0)
			return rc;
		for (i = 0; i < n && page[i].end <= HEADER; i++)
			; /* an empty packet has no timestamp */
		if (i < n && page[i].first_timestamp <= time)
			low = page[i].sequence;
		else
			high = middle - 1;
	}
	*sequence = low;
	return 0;
}

/*
 * Narrow the span of S, which has been narrowed to times from FROM on, and END if its last packet is not that of the
 * stream. Packets may be missing behind its last one, and some of their events would be in it. Return what the reader
 * returns.
 */
static int narrow_span(struct selection *s, struct reader *r, uint64_t from, bool ends)
{
	struct reader_packet p;
	size_t n = 1;
	int rc = reader_packets(r, (struct reader_source){.stream = s->stream}, s->first, s->last, false, &p, &n);

	/* If its first packet is later than FROM, packets may be missing before it. */
	if (rc == 0 && from && n && (p.end <= HEADER || p.first_timestamp <= from))
		span_begin(&s->span, s->first);
	n = 1;
	if (rc == 0 && ends)
		rc = reader_packets(r, (struct reader_source){.stream = s->stream}, s->last + 1, INT64_MAX, false, &p,
				    &n);
	if (rc == 0 && ends && n)
		span_end(&s->span, p.sequence - 1, UINT32_MAX);
	return rc;
}

int selection_times(struct selection *s, struct reader *r, uint64_t from, uint64_t to)
{
	uint64_t first = s->first, last = s->last;
	bool ends;
	struct reader_packet p;
	size_t n = 1;
	int rc = s->empty ? 0 : packet_at(s, r, from, &first);

	if (rc == 0 && !s->empty && to != UINT64_MAX)
		rc = packet_at(s, r, to, &last);
	if (rc != 0 || s->empty)
		return rc;
	ends = last < s->last;
	if (ends) {
		s->last_offset = UINT32_MAX;
		s->capture = 0;
	}
	s->first_offset = first > s->first ? HEADER : s->first_offset;
	s->first = first;
	s->last = last;
	/* All packets of the selection may be later than TO. */
	rc = reader_packets(r, (struct reader_source){.stream = s->stream}, first, last, false, &p, &n);
	if (rc == 0 && n && p.end > HEADER && p.first_timestamp > to)
		s->empty = true, s->capture = 0;
	return rc == 0 ? narrow_span(s, r, from, ends) : rc;
}

int selection_last_bytes(struct selection *s, struct reader *r, uint64_t bytes)
{
	struct reader_packet page[PAGE];
	uint64_t sum = 0, at = s->last;
	size_t n;
	int rc;

	while (!s->empty && sum < bytes && at >= s->first) {
		n = PAGE;
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
		span_begin(&s->span, at);
	}
	return 0;
}

int selection_newest(const struct selection *s, struct reader *r, struct scratch *scratch, uint64_t *timestamp)
{
	struct reader_packet page[8];
	uint64_t at = s->last;
	uint32_t end;
	size_t n = ARRAY_SIZE(page);
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
			rc = packet_newest(r, scratch, s->stream, page[i].sequence, end, timestamp);
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
