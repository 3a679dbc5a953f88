/* The answer of `mprofctl why` (<mprof/why-report.h>) as text. */
#ifndef CTL_WHY_ANSWER_H
#define CTL_WHY_ANSWER_H

#include <mprof/why-report.h>

#include "modeller.h"
#include "timing.h"

/*
 * Print REPORT as text: the explanation of what it asks, what it leaves open, and the threads that ran last in each guest
 * of LAST, NULL = none. TIMING shows times. Return an exit code.
 */
int why_show(const struct mprof_why_report *report, struct timing *timing, const struct modeller *last);

#endif
