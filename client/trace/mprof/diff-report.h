/*
 * libmprof: the answer of `diff` as JSON: the differences of two traces, a good run and a bad one.
 *
 *   struct mprof_diff_report report = {.diff = d, .runs = {{.view = good, .name = "a"}, {.view = bad, .name = "b"}}};
 *   mprof_diff_write(&report, &json);
 *
 * `mprofctl diff --json` prints it, and the viewer reads it. schema/answers/diff.json has its keys.
 */
#ifndef MPROF_DIFF_REPORT_H
#define MPROF_DIFF_REPORT_H

#include <mprof/diff.h>
#include <mprof/explanation.h>
#include <mprof/json-writer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One of the two traces. The caller owns all that it points to; it is used during the call only. */
struct mprof_diff_report_run {
	const struct mprof_model_view *view;
	char *const *streams; /* the names of the view's streams; NULL: the answer names no stream */
	const char *name;     /* of the trace */
	void *clock;	      /* CLOCK of the writer (struct mprof_json) for the times of this trace */
	/* If the output has wall times: by how much the true ones can be earlier, ns; UINT64_MAX: unknown. */
	uint64_t wall_uncertainty_ns;
	uint64_t lost_packets;
	/* For a page: says what the trace can lack. NULL: the answer does not. */
	struct mprof_explanation *explanation;
};

struct mprof_diff_report {
	const struct mprof_diff *diff;
	struct mprof_diff_report_run runs[2]; /* the good run first */
	/* For a page: threads have their index, and all divergences that the diff lists are there, not only the first. */
	bool indexed;
};

/*
 * Write the answer's members; the caller opens the object and closes it. Return MPROF_OK, or MPROF_NOMEM without memory for a
 * label or a sentence.
 */
MPROF_API enum mprof_status mprof_diff_write(const struct mprof_diff_report *r, struct mprof_json *j);

/*
 * Return the *BYTES bytes of a label at TEXT with `#` for each number: the label of threads whose labels differ only in their
 * numbers (struct mprof_diff_unmatched). Store its length in *BYTES. The caller frees it. Return NULL without memory.
 */
MPROF_API char *mprof_diff_shape(const char *text, size_t *bytes);

#ifdef __cplusplus
}
#endif

#endif
