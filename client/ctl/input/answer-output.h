/* Print an answer of libmprof as JSON on standard output, as --json asks. */
#ifndef CTL_ANSWER_OUTPUT_H
#define CTL_ANSWER_OUTPUT_H

#include <mprof/json-writer.h>

#include "timing.h"

/*
 * Return the writer of an answer, an object that the caller opens. With --time wall, each time of TIMING's trace gets its wall time;
 * TIMING is NULL for an answer about a memory profile.
 */
struct mprof_json answer_output(struct timing *timing);
/*
 * With --time wall, write the member `wall_uncertainty_ns`: by how much the true wall times can be earlier, or null if
 * that is unknown.
 */
void answer_output_uncertainty(const struct timing *timing, struct mprof_json *j);
/* Close the object, and end the output with a new line. Return an exit code. */
int answer_output_end(struct mprof_json *j);

#endif
