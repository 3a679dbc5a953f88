/* Coverage: how much of the packets that a capture names is still archived. */
#ifndef SERVE_CAPTURE_COVERAGE_H
#define SERVE_CAPTURE_COVERAGE_H

#include "reader.h"

enum coverage { COVERAGE_ALL, COVERAGE_PART, COVERAGE_NONE };

/*
 * Find the coverage of one stream. Packets that gaps declare count as covered: they were never
 * archived. Return what the reader returns.
 */
int coverage_of_range(struct reader *r, const struct reader_capture_range *range, enum coverage *coverage);
/*
 * Check whether gaps explain that the packets FROM to END (excluded) are missing: *YES. With FIRST
 * the packet before FROM is unknown, and a gap may have begun anywhere before; else that packet is
 * there. Return what the reader returns.
 */
int coverage_explained(struct reader *r, int64_t stream, uint64_t from, uint64_t end, bool first, bool *yes);

#endif
