/*
 * Find how much of a capture's packets deletion and damage have left.
 *
 * The archive stores that it has deleted packets of a stream, but not which packets. So the packets
 * are counted. If some are missing, adjacent gaps must explain each hole. A hole may lie anywhere,
 * because another pinned capture may keep older packets.
 */
#include <string.h>

#include <mprof/ring.h>

#include "capture-coverage.h"
#include "span-gaps.h"

#define PAGE	  64u
#define GAPS_MOST 65536u

/* A hole from packet AT to END. AT moves on as gaps explain packets. */
struct hole {
	uint64_t at, end;
	bool archived; /* only gaps of packets that were never archived explain it: none of damage */
};

static int explain(void *context, const struct archive_gap *gap)
{
	struct hole *h = context;
	/*
	 * A gap with an offset behind the header and no content before it: no byte of that packet
	 * is archived, either.
	 */
	uint64_t from = gap->after_offset > MPROF_PACKET_HEADER_BYTES ? gap->after_sequence + 1 : gap->after_sequence;

	if (h->archived && strcmp(gap->reason, "damaged") == 0)
		return 0;
	if (from <= h->at && gap->next_sequence > h->at)
		h->at = gap->next_sequence;
	return 0;
}

/*
 * Set *YES to whether gaps explain that the packets of HOLE are missing. FIRST as in
 * coverage_explained(). Return what the reader returns.
 */
static int explained(struct reader *r, int64_t stream, struct hole h, bool first, bool *yes)
{
	const uint64_t from = h.at, end = h.end;
	/* At the beginning of the range the gap may have begun in any earlier packet. */
	uint64_t least = first || from == 0 ? 0 : from - 1;
	int rc = from < end ? reader_gaps(r, stream, least, end - 1, GAPS_MOST, explain, &h) : 0;

	*yes = h.at >= h.end;
	return rc;
}

static int find_hole(struct reader *r, int64_t stream, uint64_t first, uint64_t last, bool *whole)
{
	struct reader_packet page[PAGE];
	uint64_t next = first;
	size_t n;
	int rc;

	do {
		n = PAGE;
		rc = reader_packets(r, (struct reader_source){.stream = stream}, next, last, false, page, &n);
		for (size_t i = 0; rc == 0 && i < n; i++) {
			rc = explained(r, stream, (struct hole){next, page[i].sequence, true}, next == first, whole);
			if (rc != 0 || !*whole)
				return rc;
			next = page[i].sequence + 1;
		}
	} while (rc == 0 && n == PAGE);
	return rc != 0 ? rc : explained(r, stream, (struct hole){next, last + 1, true}, false, whole);
}

static int see_damage(void *context, const struct archive_gap *gap)
{
	*(bool *)context |= strcmp(gap->reason, "damaged") == 0;
	return 0;
}

/* Set *COVERAGE for RANGE, whose packets are those from FIRST to END (not included). Return what the reader returns. */
static int count_packets(struct reader *r, const struct reader_capture_range *range, uint64_t first, uint64_t end,
			 enum coverage *coverage)
{
	const struct span span = span_of_range(range);
	bool whole = true, damaged = false;
	uint64_t packets;
	int rc = reader_present(r, range->range.stream, first, end - 1, &packets);

	if (rc != 0)
		return rc;
	if (packets != end - first)
		rc = find_hole(r, range->range.stream, first, end - 1, &whole);
	if (rc == 0 && packets == 0 && (!whole || range->deletions)) {
		/* A packet that is in the tail alone needs no others. */
		*coverage = range->tail_last > range->range.last_sequence ? COVERAGE_PART : COVERAGE_NONE;
		return 0;
	}
	if (rc == 0 && whole && range->damaged)
		rc = span_gaps(r, &span, GAPS_MOST, see_damage, &damaged);
	if (rc == 0 && (!whole || damaged))
		*coverage = COVERAGE_PART;
	return rc;
}

int coverage_of_range(struct reader *r, const struct reader_capture_range *range, enum coverage *coverage)
{
	uint64_t first = range->range.first_sequence, end = range->range.last_sequence;

	*coverage = range->tail_marked > range->tail_bytes ? COVERAGE_PART : COVERAGE_ALL;
	if (archive_range_is_lost(range->range.last_offset, range->tail_marked)) {
		*coverage = COVERAGE_NONE;
		return 0;
	}
	/*
	 * If the range ends at offset 30, the last packet may have been empty and need not be
	 * archived.
	 */
	end += range->range.last_offset > MPROF_PACKET_HEADER_BYTES;
	if ((range->deletions == 0 && range->damaged == 0) || end <= first)
		return 0;
	return count_packets(r, range, first, end, coverage);
}

int coverage_explained(struct reader *r, int64_t stream, uint64_t from, uint64_t end, bool first, bool *yes)
{
	return explained(r, stream, (struct hole){from, end, false}, first, yes);
}
