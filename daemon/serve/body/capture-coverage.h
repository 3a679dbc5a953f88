/* What is left of the packets that a capture names. */
#ifndef SERVE_CAPTURE_COVERAGE_H
#define SERVE_CAPTURE_COVERAGE_H

#include "reader.h"

enum coverage { COVERAGE_ALL, COVERAGE_PART, COVERAGE_NONE };

/* Of one stream.  What gaps declare counts as there: it was never archived.  Returns what the reader returns. */
int coverage_of_range(struct reader *r, const struct reader_capture_range *range, enum coverage *coverage);
/*
 * Do gaps explain that packets FROM to END, which is not included, are not there?  FIRST: nothing is known of the packet before FROM, and
 * a gap may have begun anywhere before; else that packet is there.
 */
int coverage_explained(struct reader *r, int64_t stream, uint64_t from, uint64_t end, bool first, bool *yes);

#endif
