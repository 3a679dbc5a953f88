/* The answer of `mprofctl stats`: tallies (tally.h) as a report of libmprof, and the report as text. */
#ifndef CTL_STATS_ANSWER_H
#define CTL_STATS_ANSWER_H

#include <mprof/statistics-report.h>

#include "input.h"
#include "tally.h"
#include "timing.h"

/*
 * Fill REPORT from the tally T of a stream and from SOURCE, the counts of its reader. REPORT points into T and owns its lists
 * of counters and threads: report_deinit() frees them. Return false without memory.
 */
bool report_tally(struct mprof_statistics_report *report, struct tally *t, const struct input_stream *source);
void report_deinit(struct mprof_statistics_report *report);

/*
 * Print REPORT as tables on standard output, with times as TIMING shows them. Return an exit code.
 */
int stats_show(const struct mprof_statistics_report *report, struct timing *timing);

#endif
