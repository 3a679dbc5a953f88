/* The answer of `mprofctl diff` (<mprof/diff-report.h>) as text. */
#ifndef CTL_DIFF_ANSWER_H
#define CTL_DIFF_ANSWER_H

#include <mprof/diff-report.h>

#include "timing.h"

/* Print REPORT as text on standard output, times as CLOCK of each run shows them: a struct timing. Return an exit code. */
int diff_show(const struct mprof_diff_report *report);

#endif
