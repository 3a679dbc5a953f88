/*
 * libmprof: the answer of `mem hotspots` and `mem peak` as JSON: the functions that allocate, and their callers.
 *
 *   struct mprof_hotspots_report r = {.profile = p, .mem = d, .hotspots = mprof_hotspots_new(p, d, weight), .weight = weight};
 *   mprof_json_open(&json, NULL, '{');
 *   mprof_hotspots_write(&r, &json);
 *
 * `mprofctl mem hotspots --json` prints it, and the viewer reads it. schema/answers/hotspots.json has its keys.
 */
#ifndef MPROF_HOTSPOTS_REPORT_H
#define MPROF_HOTSPOTS_REPORT_H

#include <mprof/flame.h>
#include <mprof/json-writer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Most functions, and most callers of one, for a page. */
#define MPROF_HOTSPOTS_PAGE_MAX	    20000u
#define MPROF_HOTSPOTS_CALLERS_PAGE 20u

/* The caller owns all that a report points to; it is used during the calls only. */
struct mprof_hotspots_report {
	const struct mprof_profile *profile;
	const struct mprof_mem *mem;	       /* the decoder from which the profile came */
	const struct mprof_hotspots *hotspots; /* of PROFILE and WEIGHT */
	enum mprof_weight weight;
	/*
	 * For a page: list the functions that allocate nothing themselves, too, at most MPROF_HOTSPOTS_PAGE_MAX; a caller has its index in the
	 * list in place of its name. The list has MPROF_HOTSPOTS_CALLERS_PAGE callers of each function at most, the direct ones first.
	 */
	bool indexed;
};

struct mprof_hotspots_totals {
	uint64_t samples; /* of all functions */
	uint64_t objects;
	uint64_t peak_us;   /* time of the peak behind the start, microseconds; 0 without a peak */
	uint32_t functions; /* number of functions that allocate: the first ones of mprof_hotspots_list() */
};

/* Sum up what the report is about. */
MPROF_API struct mprof_hotspots_totals mprof_hotspots_totals(const struct mprof_hotspots_report *r);
/*
 * Return whether CALLER explains what its callee allocates: the callee's share of what the caller is above is more than a tenth, and more
 * than 1.2 times its share of TOTALS; and it is more than 0.5 % of them.
 */
MPROF_API bool mprof_hotspots_explains(const struct mprof_hotspots_report *r,
				       const struct mprof_hotspots_totals *totals,
				       const struct mprof_hotspot_caller *caller);
/* Write the answer's members; the caller opens the object and closes it. */
MPROF_API void mprof_hotspots_write(const struct mprof_hotspots_report *r, struct mprof_json *j);

#ifdef __cplusplus
}
#endif

#endif
