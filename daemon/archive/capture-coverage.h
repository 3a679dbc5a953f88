/* The coverage of a capture: how much of its packets is still archived. */
#ifndef ARCHIVE_CAPTURE_COVERAGE_H
#define ARCHIVE_CAPTURE_COVERAGE_H

#include "reader.h"

enum coverage { COVERAGE_ALL, COVERAGE_PART, COVERAGE_NONE };

/*
 * Set *COVERAGE for one stream of a capture. Packets that a gap declares lost, wholly or in part, count as covered,
 * because they were never archived; but not those that were damaged in the archive. So a capture may be complete and
 * have lost packets: the two numbers answer whether the archive has kept all, and whether it got all. Return what the
 * reader returns.
 */
int coverage_of_range(struct reader *r, const struct reader_capture_range *range, enum coverage *coverage);
/*
 * Set *YES to whether gaps explain that the packets FROM to END (not included) are missing. FIRST:
 * nothing is known about the packet before FROM, so the gap may have begun in any earlier packet;
 * else the packet before FROM is archived. Return what the reader returns.
 */
int coverage_explained(struct reader *r, int64_t stream, uint64_t from, uint64_t end, bool first, bool *yes);

#endif
