/* The signals of each condition in the order of time, and for which of them nobody waited. */
#ifndef TRACE_SIGNAL_INDEX_H
#define TRACE_SIGNAL_INDEX_H

#include <stdbool.h>
#include <stdint.h>

struct mprof_why;

/* The signals of a condition, seen at one time. Signals are interactions of the view. */
struct signal_count {
	uint32_t all;	  /* number of signals */
	uint32_t last;	  /* the last one of all, or MPROF_NONE */
	uint32_t since;	  /* number of signals after the time */
	uint32_t first;	  /* the first one of these, or MPROF_NONE */
	uint32_t unheard; /* number of signals in a row, up to the last one before, that nobody waited for or took */
	uint32_t lost;	  /* the last one of these, or MPROF_NONE */
};

/*
 * Build W's arrays of signals (why-index.h): WAKES, UNHEARD, TAKEN and ENDS, from SIGNALS, MADE and LOOKED.
 * Return false without memory. It takes n log n time for n threads and interactions.
 */
bool signal_index_init(struct mprof_why *w);

/* Count the signals of CONDITION in *COUNT, as seen at SINCE, ns. It takes the logarithm of their number. */
void signal_index_count(const struct mprof_why *w, uint32_t condition, uint64_t since, struct signal_count *count);

#endif
