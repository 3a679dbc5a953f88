/* A memory profile, gone through as often as what is asked of it needs. */
#ifndef CTL_MEM_LOAD_H
#define CTL_MEM_LOAD_H

#include <mprof/profile.h>

#include "mem-filter.h"
#include "mem-input.h"

struct mem_load {
	struct mem_input in;		   /* its decoder has the names, and the trace's info */
	struct mprof_profile_sums whole;   /* of all objects */
	struct mprof_selection *selection; /* NULL: all objects */
	struct mprof_profile *profile;	   /* of those */
	uint64_t start_us;		   /* of the trace */
	uint64_t *line;			   /* with a timeline: LINE_N points, samples; owned by the caller */
	uint32_t line_n;
};

/*
 * Load what OPERAND names, of the objects that F selects; with LINE_N points a timeline, into LINE.  Returns an exit code, having said why, CTL_DAMAGED
 * with a profile too; deinit it in any case.
 */
int mem_load(struct mem_load *l, const char *operand, struct mem_filter *f, bool tree, uint64_t *line, uint32_t line_n);
void mem_load_deinit(struct mem_load *l);

/* What a sample stands for, in bytes; finite, however small a sampling rate the profile states. */
double mem_load_scale(const struct mem_load *l);
/* AMOUNT, not negative, as a whole number of 63 bits, the largest of them where it is larger. */
uint64_t mem_load_whole(double amount);

#endif
