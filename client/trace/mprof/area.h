/*
 * libmprof: the threads of an area of the picture (a range of time and of rows), in groups of one
 * label and one type: how long they lived, ran and waited.
 *
 *   a = mprof_area_new(mprof_model_view(m), &(struct mprof_area_place){from, to, 0, UINT32_MAX});
 *   n = mprof_area_list(a, MPROF_AREA_WAITING, true, "", 0);
 *   for (i = 0; i < n; i++)
 *           print(&mprof_area_groups(a)[mprof_area_order(a)[i]]);
 *
 * All times are the parts inside of the range. A thread waits while it lives and does not run; it
 * can run on for a moment after its end. Inside of a gap the trace has no events, so a thread seems
 * to go on there as it was. mprof_area_coverage() tells whether something is missing: then a 0 is no
 * proof that there is nothing.
 */
#ifndef MPROF_AREA_H
#define MPROF_AREA_H

#include <mprof/coverage.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Number of lengths in mprof_area_waits(): 1, 2 and 5 times each power of ten, ns. */
#define MPROF_AREA_WAITS 57u

struct mprof_area_place {
	uint64_t from, to;	      /* ns on the model's time line; both ends are part of the range */
	uint32_t first_row, last_row; /* rows of the model; both are part of the area */
};

/* Times of the threads of a group. */
struct mprof_area_sum {
	uint64_t total_ns;
	uint64_t longest_ns; /* the largest time of one thread */
};

struct mprof_area_group {
	struct mprof_area_sum alive, running, waiting;
	uint32_t label;	  /* string: the threads' first label; MPROF_NONE: they have none */
	uint32_t threads; /* number of threads that live in the area */
	uint32_t first;	  /* the earliest of these threads */
	uint8_t type;	  /* enum mprof_thread_type, or any other value */
	uint8_t untold; /* 1: nothing tells when one of these threads runs, so RUNNING and WAITING mean nothing; else 0 */
	uint8_t reserved[2];
};

/* Keys by which the list of groups can be sorted. */
enum mprof_area_key {
	MPROF_AREA_LABEL, /* byte by byte; groups without a label last */
	MPROF_AREA_TYPE,
	MPROF_AREA_THREADS,
	MPROF_AREA_ALIVE,
	MPROF_AREA_ALIVE_LONGEST,
	MPROF_AREA_RUNNING,
	MPROF_AREA_RUNNING_LONGEST,
	MPROF_AREA_WAITING,
	MPROF_AREA_WAITING_LONGEST,
};

/* A thread of a group. */
struct mprof_area_thread {
	uint64_t alive_ns, running_ns, waiting_ns;
	uint32_t thread; /* index of the view */
	uint32_t reserved;
};

/* Sums over all groups. */
struct mprof_area_totals {
	struct mprof_area_sum alive, running, waiting;
	uint64_t waits;	       /* number of times in which a thread waited */
	uint64_t lost_packets; /* packets that are missing in the range, of all streams */
	uint32_t groups;
	uint32_t threads;
	uint32_t untold; /* 1: a group is UNTOLD, so RUNNING, WAITING and WAITS mean nothing; else 0 */
	uint32_t reserved;
};

struct mprof_area;

/*
 * Make the groups of PLACE, in the order of their first threads. It takes linear time. VIEW must
 * outlive the area. Return NULL without memory.
 */
MPROF_API struct mprof_area *mprof_area_new(const struct mprof_model_view *view, const struct mprof_area_place *place);
/* Free A, which may be NULL. Return NULL. */
MPROF_API struct mprof_area *mprof_area_free(struct mprof_area *a);

/*
 * Totals, groups (GROUPS of the totals), and the numbers of waits by their length:
 * MPROF_AREA_WAITS items; item I counts waits of at least 10^(I / 3) ns times 1, 2 or 5 (I % 3 = 0,
 * 1 or 2) and shorter than that of item I + 1. Owned by A.
 */
MPROF_API const struct mprof_area_totals *mprof_area_totals(const struct mprof_area *a);
MPROF_API const struct mprof_area_group *mprof_area_groups(const struct mprof_area *a);
MPROF_API const uint64_t *mprof_area_waits(const struct mprof_area *a);
/*
 * Return the hole in which threads, runs and ends of the area could be that the trace does not have: the first one of the programs
 * whose threads have rows there, and of vCPUs that have. Without a hole the trace has all of them. If the hole is MPROF_HOLE_BEGIN and its
 * FROM is its TO, the trace has all that happened in the area, but may lack threads that did nothing since that time. Owned by A.
 */
MPROF_API const struct mprof_coverage *mprof_area_coverage(const struct mprof_area *a);

/*
 * Sort by KEY, the largest first if DESCENDING, the groups whose label or type contains the BYTES
 * bytes of TEXT, in any case of the letters A to Z. Return their number; mprof_area_order() then has
 * their indices, owned by A and valid until the next call. Groups that are equal keep their order.
 */
MPROF_API uint32_t mprof_area_list(struct mprof_area *a, enum mprof_area_key key, bool descending, const char *text,
				   uint32_t bytes);
MPROF_API const uint32_t *mprof_area_order(const struct mprof_area *a);

/*
 * Store in OUT the threads of GROUP that waited longest, at most N, the longest first. Return their
 * number.
 */
MPROF_API uint32_t mprof_area_threads(const struct mprof_area *a, uint32_t group, struct mprof_area_thread *out,
				      uint32_t n);

#ifdef __cplusplus
}
#endif

#endif
