/*
 * libmprof: the answer of `mem leaks` as JSON: what was allocated after the run's beginning and lives at the end, and who holds what lives.
 *
 *   struct mprof_leaks_report r = {.profile = p, .nodes = mprof_profile_nodes(p, &n), .mem = d,
 *				    .leaks = mprof_leaks_new(p, d, start_us, last_us), .length_us = last_us - start_us};
 *   mprof_json_open(&json, NULL, '{');
 *   mprof_leaks_write(&r, &json);
 *
 * `mprofctl mem leaks --json` prints it, and the viewer reads it. schema/answers/leaks.json has its keys.
 */
#ifndef MPROF_LEAKS_REPORT_H
#define MPROF_LEAKS_REPORT_H

#include <mprof/flame.h>
#include <mprof/json-writer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Frames of a stack after which no further node of it is taken; see struct mprof_stack_walk. */
#define MPROF_LEAKS_FRAMES	12u
#define MPROF_LEAKS_PAGE_FRAMES 40u
/* Most leaks for a page. */
#define MPROF_LEAKS_PAGE_MAX 20000u
/* Most codes that mprof_leaks_holders() returns. */
#define MPROF_LEAKS_HOLDERS 3u

/* The caller owns all that a report points to. The calls use it, and so does a walk, until its end. */
struct mprof_leaks_report {
	struct mprof_profile *profile;
	const struct mprof_profile_node *nodes; /* of PROFILE, by mprof_profile_nodes(), which copies them all */
	const struct mprof_mem *mem;		/* the decoder from which the profile came */
	const struct mprof_leaks *leaks;	/* of PROFILE */
	uint64_t length_us;			/* length of the run, microseconds; 0 counts as a second */
	bool page;				/* write the leaks and the stacks for a page */
};

/* A leak as the answer describes it. */
struct mprof_leaks_entry {
	const char *sure; /* a constant: "none", "possible", "likely" or "sure" */
	double live_bytes;
	double growth_bytes;
	double bytes_per_s; /* GROWTH_BYTES by the time of the parts of the run that are growth */
	double error;	    /* relative error of the growth; 1 without growth */
	double allocated_growth_bytes;
	double stack_share; /* part of the live samples whose stack is the leak's */
};

/* Describe LEAK of the report. */
MPROF_API struct mprof_leaks_entry mprof_leaks_ask(const struct mprof_leaks_report *r, const struct mprof_leak *leak);
/*
 * Store the codes that hold most of what lives at the end in HOLDERS, the largest first. Return their number. They are valid until the
 * leaks of the report are freed.
 */
MPROF_API uint32_t mprof_leaks_holders(const struct mprof_leaks_report *r,
				       const struct mprof_leak *holders[MPROF_LEAKS_HOLDERS]);
/* Return a walk through the stack of LEAK. It is valid until the profile gets its next event. */
MPROF_API struct mprof_stack_walk mprof_leaks_stack(const struct mprof_leaks_report *r, const struct mprof_leak *leak);
/* Write the answer's members; the caller opens the object and closes it. */
MPROF_API void mprof_leaks_write(const struct mprof_leaks_report *r, struct mprof_json *j);

#ifdef __cplusplus
}
#endif

#endif
