/* Load a memory profile, with the objects that the options select. */
#ifndef CTL_MEM_LOAD_H
#define CTL_MEM_LOAD_H

#include <stdbool.h>

#include <mprof/flame.h>
#include <mprof/profile.h>

#include "mem-input.h"
#include "options.h"

/* The options' values; NULL if not given. */
struct mem_filter_options {
	const char *allocated, *live, *collected, *size, *lifetime, *inside, *outside, *heap, *hide;
	const char *recording;
};

/* The option table's rows for O. --hide is for verbs that show stacks. */
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
	uint64_t recording; /* as in struct mem_input */
	bool given;	    /* a selection was given */
	bool at_peak;	    /* FILTER.live is the time of the peak, still to be found */
	struct mprof_mem_clause hidden[MPROF_MEM_CLAUSES_MAX];
	unsigned int n_hidden;
	char *names; /* the clauses' names; owned */
};

/* Parse the options. Return an exit code. The caller deinits F in any case. */
int mem_filter_parse(struct mem_filter *f, const struct mem_filter_options *options);
void mem_filter_deinit(struct mem_filter *f);

/*
 * Parse TEXT, the value of OPTION, as a time behind the start. NULL changes nothing. Return an exit
 * code.
 */
int mem_filter_time(const char *option, const char *text, uint64_t *us);

/* A loaded profile; loading reads the input as often as necessary. */
struct mem_load {
	/* Its decoder has the names and the trace's information. */
	struct mem_input in;
	struct mprof_profile_sums whole;   /* totals of all objects */
	struct mprof_selection *selection; /* NULL for all objects */
	struct mprof_profile *profile;	   /* profile of the selected objects */
	uint64_t start_us;		   /* start of the trace */
	/* A timeline of LINE_N points, in samples; owned by the caller. */
	uint64_t *line;
	uint32_t line_n;
};

/*
 * Load the profile OPERAND with the objects that F selects; fill LINE with a timeline if LINE_N is
 * not 0. Return an exit code; CTL_DAMAGED comes with a profile. The caller deinits L in any case.
 */
int mem_load(struct mem_load *l, const char *operand, struct mem_filter *f, bool tree, uint64_t *line, uint32_t line_n);
void mem_load_deinit(struct mem_load *l);

/* Return how many bytes a sample stands for. The result is finite for any sampling rate. */
double mem_load_scale(const struct mem_load *l);
/* Return AMOUNT (not negative) as an integer, at most INT64_MAX. */
uint64_t mem_load_whole(double amount);

#endif
