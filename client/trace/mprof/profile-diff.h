/*
 * libmprof: the answer of `mem diff`: the functions that allocate more bytes per second in one memory profile than in another.
 *
 *   d = mprof_profile_diff_new((struct mprof_profile_run[2]){{pa, da, length_a}, {pb, db, length_b}});
 *   mprof_json_open(&json, NULL, '{');
 *   mprof_profile_diff_write(d, &json);
 *
 * Two runs of one program differ by chance, too: each number is an estimate from samples, and has an error. A difference is sure if it is
 * more than twice its error. `mprofctl mem diff --json` prints the answer; schema/answers/profile-diff.json has its keys.
 */
#ifndef MPROF_PROFILE_DIFF_H
#define MPROF_PROFILE_DIFF_H

#include <mprof/flame.h>
#include <mprof/json-writer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One of the two profiles. The caller owns what it points to, which must outlive the difference. */
struct mprof_profile_run {
	struct mprof_profile *profile;
	const struct mprof_mem *mem; /* the decoder from which the profile came */
	uint64_t length_us;	     /* length of the run, microseconds; 0 counts as a second */
};

/* A function of both profiles, or of one. The texts are of the runs' decoders, or constants, without a terminator. */
struct mprof_profile_change {
	const char *function;
	const char *file; /* "" without a name */
	size_t function_bytes;
	size_t file_bytes;
	uint64_t self[2];  /* samples that the function allocates itself, of each run */
	uint64_t total[2]; /* samples of the stacks on which it is */
};

/* A function as the answer describes it. */
struct mprof_profile_rates {
	double bytes_per_s[2]; /* allocated by the function itself */
	double grown;	       /* difference of BYTES_PER_S */
	double error;	       /* of GROWN */
	double share[2];       /* part of all samples of the run */
	double total_grown;    /* difference of what the function and all below it allocate */
	bool sure;
};

struct mprof_profile_diff;

/* Return the difference of two profiles, or NULL without memory. */
MPROF_API struct mprof_profile_diff *mprof_profile_diff_new(const struct mprof_profile_run runs[2]);
/* Free D, which may be NULL. Return NULL. */
MPROF_API struct mprof_profile_diff *mprof_profile_diff_free(struct mprof_profile_diff *d);
/* Return the functions that allocate in a run, by the size of their difference, the largest first, and their number in *N. D owns them. */
MPROF_API const struct mprof_profile_change *mprof_profile_diff_list(const struct mprof_profile_diff *d, uint32_t *n);
/* Describe CHANGE of D. */
MPROF_API struct mprof_profile_rates mprof_profile_diff_ask(const struct mprof_profile_diff *d,
							    const struct mprof_profile_change *change);
/* Return what all functions of run WHICH, 0 or 1, allocate, bytes per second. */
MPROF_API double mprof_profile_diff_rate(const struct mprof_profile_diff *d, uint32_t which);
/* Write the answer's members; the caller opens the object and closes it. */
MPROF_API void mprof_profile_diff_write(const struct mprof_profile_diff *d, struct mprof_json *j);

#ifdef __cplusplus
}
#endif

#endif
