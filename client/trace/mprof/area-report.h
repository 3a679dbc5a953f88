/*
 * libmprof: the answer about an area of the picture as JSON: its threads in groups of one label and one type.
 *
 *   struct mprof_area_report report = {.view = view, .area = a, .key = MPROF_AREA_WAITING, .descending = true, .most = 100};
 *   mprof_json_open(&json, NULL, '{');
 *   mprof_area_write(&report, &json);
 *
 * The viewer reads it. schema/answers/area.json has its keys.
 */
#ifndef MPROF_AREA_REPORT_H
#define MPROF_AREA_REPORT_H

#include <mprof/explanation.h>
#include <mprof/json-writer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Most threads of a group in an answer. */
#define MPROF_AREA_THREADS_MAX 200u

/* The caller owns all that a report points to; it is used during the calls only. */
struct mprof_area_report {
	const struct mprof_model_view *view;
	struct mprof_area *area; /* of the view */
	char *const *streams;	 /* the names of the view's streams; NULL: the answer names no stream */
	/* Makes the sentences on what can be missing. NULL: the answer has none. */
	struct mprof_explanation *explanation;
	/* As for mprof_area_list(): which groups the answer lists, and in which order. */
	const char *text;
	uint32_t bytes;
	enum mprof_area_key key;
	bool descending;
	uint32_t most; /* most groups to list, the first ones */
};

/*
 * Write the answer's members; the caller opens the object and closes it. The order of the area's list becomes that of the report.
 * Return MPROF_OK, or MPROF_NOMEM without memory for a sentence.
 */
MPROF_API enum mprof_status mprof_area_write(const struct mprof_area_report *r, struct mprof_json *j);
/* Write the threads of GROUP, an index of the area's groups, that waited longest, as the member `threads`. */
MPROF_API void mprof_area_write_threads(const struct mprof_area_report *r, uint32_t group, struct mprof_json *j);

#ifdef __cplusplus
}
#endif

#endif
