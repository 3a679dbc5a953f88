/* Load a memory profile, restricted to the objects that the options select. */
#ifndef CTL_MEM_LOAD_H
#define CTL_MEM_LOAD_H

#include <stdbool.h>

#include <mprof/flame.h>
#include <mprof/profile-report.h>
#include <mprof/profile.h>

#include "mem-input.h"
#include "options.h"

struct mem_filter {
	struct mprof_mem_filter filter;
	uint64_t recording; /* number of the recording as in struct mem_input */
	bool given;	    /* at least one selecting option was given */
	bool at_peak;	    /* FILTER.live must be set to the time of the peak before use */
	struct mprof_mem_clause hidden[MPROF_MEM_CLAUSES_MAX];
	unsigned int n_hidden;
	char *names; /* buffer of the names in the clauses; owned */
};

/* Set F from the options that select objects, and --hide and --recording. Return an exit code. The caller deinits F in any case. */
int mem_filter_parse(struct mem_filter *f, const struct options *o);
void mem_filter_deinit(struct mem_filter *f);

/*
 * Parse TEXT, the value of OPTION, as a time since the start of the profile, into *US microseconds.
 * If TEXT is NULL, leave *US as it is. Return an exit code.
 */
int mem_filter_time(const char *option, const char *text, uint64_t *us);

/* A loaded profile. mem_load() reads the input as many times as it needs. */
struct mem_load {
	/*
	 * The input. Its decoder has the names of the functions and the information on the program.
	 */
	struct mem_input in;
	struct mprof_profile_sums whole;   /* totals of all objects */
	struct mprof_selection *selection; /* NULL for all objects */
	struct mprof_profile *profile;	   /* profile of the selected objects */
	uint64_t start_us;		   /* time of the profile's start, in microseconds since 1970 */
	/* Timeline of LINE_N points, in samples; owned by the caller; NULL without a timeline. */
	uint64_t *line;
	uint32_t line_n;
};

/*
 * Load the profile OPERAND with the objects that F selects. TREE is true if the call stacks are
 * needed. If LINE_N is not 0, write a timeline of LINE_N points to LINE. Return an exit code; with
 * CTL_DAMAGED the profile is loaded, too. The caller deinits L in any case.
 */
int mem_load(struct mem_load *l, const char *operand, struct mem_filter *f, bool tree, uint64_t *line, uint32_t line_n);
void mem_load_deinit(struct mem_load *l);

/* Return the report of the loaded profile, valid until mem_load_deinit(). */
struct mprof_profile_report mem_load_report(const struct mem_load *l);
/* Return how long the profile is, in microseconds; 0 if it has no event. */
uint64_t mem_load_length(const struct mem_load *l);
/* Return AMOUNT (0 or more) without its fraction, at most INT64_MAX. */
uint64_t mem_load_whole(double amount);

#endif
