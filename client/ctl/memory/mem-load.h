/* Which objects of a memory profile a verb is about, as options say. */
#ifndef CTL_MEM_LOAD_H
#define CTL_MEM_LOAD_H

#include <stdbool.h>

#include <mprof/flame.h>
#include <mprof/profile.h>

#include "mem-input.h"
#include "options.h"

/* The options' values; NULL where not given. */
struct mem_filter_options {
	const char *allocated, *live, *collected, *size, *lifetime, *inside, *outside, *heap, *hide;
	const char *recording;
};

/* The rows of a verb's option table for O; --hide is for verbs that show stacks. */
#define MEM_FILTER_OPTIONS(o)                                                                     \
	{"--allocated", NULL, &(o).allocated, NULL}, {"--live", NULL, &(o).live, NULL},           \
		{"--collected", NULL, &(o).collected, NULL}, {"--size", NULL, &(o).size, NULL},   \
		{"--lifetime", NULL, &(o).lifetime, NULL}, {"--inside", NULL, &(o).inside, NULL}, \
		{"--outside", NULL, &(o).outside, NULL}, {"--heap", NULL, &(o).heap, NULL},       \
	{                                                                                         \
		"--recording", NULL, &(o).recording, NULL                                         \
	}
#define MEM_HIDE_OPTION(o)                      \
	{                                       \
		"--hide", NULL, &(o).hide, NULL \
	}

struct mem_filter {
	struct mprof_mem_filter filter;
	uint64_t recording; /* as mem_input.recording */
	bool given;	    /* not all objects */
	bool at_peak;	    /* FILTER.live is the time of the peak, which is to be found */
	struct mprof_mem_clause hidden[MPROF_MEM_CLAUSES_MAX];
	unsigned int n_hidden;
	char *names; /* of the clauses; owned */
};

/* Take the values apart.  Returns an exit code, having said why; deinit it in any case. */
int mem_filter_parse(struct mem_filter *f, const struct mem_filter_options *options);
void mem_filter_deinit(struct mem_filter *f);

/* TEXT, the value of OPTION or NULL, as a time behind the start; nothing changes without.  As above. */
int mem_filter_time(const char *option, const char *text, uint64_t *us);

/* A memory profile, gone through as often as what is asked of it needs. */

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
