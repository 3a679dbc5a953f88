/* The threads of a program that has several rings: each ring knows a part of what happened to a thread. */
#ifndef CTL_SHARED_THREADS_H
#define CTL_SHARED_THREADS_H

#include <mprof/statistics-report.h>

#include "tally.h"

/* The rings of all programs. The caller owns all that is pointed to. */
struct shared_rings {
	const struct tally *tallies; /* ended */
	const uint32_t *guests;	     /* for each ring its program; NULL: each ring is a program of its own */
	struct mprof_statistics_report *reports; /* for each ring; their threads that should resolve are judged */
	unsigned int n;
};

/*
 * Let each report of R say whether a thread that should resolve did so by what all rings of its program tell: it is resolved if
 * another ring has its end, and unsure if its end may be missing, or the end of another thread with its id. Store in *PREEXISTING
 * the number of threads that no ring of their program creates. Return false without memory.
 */
bool shared_threads_judge(const struct shared_rings *r, uint64_t *preexisting);

#endif
