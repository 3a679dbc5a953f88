/*
 * libmprof: the answer of `why` as JSON: why threads wait, and what the whole trace says about it.
 *
 *   struct mprof_why_report report = {.view = view, .why = why, .waits = waits, .asked = groups, .n = n};
 *   mprof_why_write(&report, &json);
 *
 * `mprofctl why --json` prints it, and the viewer reads it. schema/answers/why.json has its keys.
 */
#ifndef MPROF_WHY_REPORT_H
#define MPROF_WHY_REPORT_H

#include <mprof/explanation.h>
#include <mprof/json-writer.h>
#include <mprof/waits.h>
#include <mprof/why.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Most answers without a further wish. */
#define MPROF_WHY_ANSWERS_MAX 100u

struct mprof_why_report {
	const struct mprof_model_view *view;
	const struct mprof_why *why;
	const struct mprof_waits *waits; /* NULL: a person has named the threads */
	char *const *streams;		 /* the names of the view's streams; NULL if there is one stream */
	/*
	 * Makes the sentences of a page: each answer has its `story`, each thread its `index`, and texts are those that
	 * a page shows (SHOWN of struct mprof_json). NULL: the answer has none of these.
	 */
	struct mprof_explanation *explanation;
	/* The answers are about the threads of these N groups; one of no THREADS is about a single thread. */
	const struct mprof_waits_group *asked;
	uint32_t n;
	uint32_t left_out;	 /* number of further answers */
	uint64_t should_resolve; /* number of threads that the program marked to be resolved */
	/* Counts of the reader of the trace. */
	uint64_t lost_packets;
	uint64_t cut_bytes;
	uint64_t damages;
	uint64_t unproven_events;
};

/*
 * Write the answer's members; the caller opens the object and closes it. Return MPROF_OK, or MPROF_NOMEM without memory for a
 * sentence.
 */
MPROF_API enum mprof_status mprof_why_write(const struct mprof_why_report *r, struct mprof_json *j);

/* Return the name of VERDICT, a constant: "missed-signal", "circle" and so on. */
MPROF_API const char *mprof_why_verdict_name(enum mprof_why_verdict verdict);

#ifdef __cplusplus
}
#endif

#endif
