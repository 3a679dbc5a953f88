/*
 * libmprof: the answer of `threads`: the threads of a trace, each with its times, its state and its label.
 *
 *   t = mprof_threads_new(mprof_model_view(m), &(struct mprof_threads_options){.to = UINT64_MAX});
 *   mprof_json_open(&json, NULL, '{');
 *   mprof_threads_write(t, &json);
 *
 * `mprofctl threads --json` prints it, and the viewer reads single threads of it. schema/answers/threads.json has its keys.
 */
#ifndef MPROF_THREADS_REPORT_H
#define MPROF_THREADS_REPORT_H

#include <mprof/explanation.h>
#include <mprof/json-writer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Most labels of a thread for a page. */
#define MPROF_THREADS_LABELS_MAX 1000u

/* The caller owns all that the options point to. It must outlive the threads. */
struct mprof_threads_options {
	const struct mprof_why *why; /* of the view. NULL: no thread has a sample, as in a trace without states */
	char *const *streams;	     /* the names of the view's streams; NULL: the answer names no stream */
	const uint8_t *chosen;	     /* one byte for each thread of the view: 0 = do not list it; NULL: list all */
	uint64_t from,
		to; /* list threads that live in this time, ns on the model's time line; both ends are part of it */
	uint32_t longest; /* most threads to list, the longest first; 0: all, in the order of the view */
	bool unresolved;  /* list only threads that did not resolve */
};

/* A thread as the answer describes it. */
struct mprof_threads_entry {
	const char *state; /* a constant: "resolved", "failed", "became", "unresolved" or "never resolved" */
	const struct mprof_state
		*sample; /* the state in which the thread was seen last, if its ring does not tell it; else NULL */
	uint32_t label;	 /* string: the first label; MPROF_NONE: none */
	uint32_t became, parent; /* threads of the view, never a root; MPROF_NONE: none */
	bool ends;		 /* END of the thread is known */
};

struct mprof_threads;

/* Return the threads of VIEW, which must outlive them, or NULL without memory. OPTIONS are copied. */
MPROF_API struct mprof_threads *mprof_threads_new(const struct mprof_model_view *view,
						  const struct mprof_threads_options *options);
/* Free T, which may be NULL. Return NULL. */
MPROF_API struct mprof_threads *mprof_threads_free(struct mprof_threads *t);
/* Return the threads to list, indices of the view, and their number in *N. T owns them. No root is among them. */
MPROF_API const uint32_t *mprof_threads_list(const struct mprof_threads *t, uint32_t *n);
/* Describe THREAD, an index of the view. */
MPROF_API struct mprof_threads_entry mprof_threads_ask(const struct mprof_threads *t, uint32_t thread);

/* Write the answer's members about the listed threads; the caller opens the object and closes it. */
MPROF_API void mprof_threads_write(const struct mprof_threads *t, struct mprof_json *j);
/*
 * Write the members of THREAD, an index of the view, for a page: those that the answer has, and those that only a page shows, with the sentences of
 * EXPLANATION; the caller opens the object and closes it. Return MPROF_OK, or MPROF_NOMEM without memory for a sentence.
 */
MPROF_API enum mprof_status mprof_threads_write_one(const struct mprof_threads *t, uint32_t thread,
						    struct mprof_explanation *explanation, struct mprof_json *j);

#ifdef __cplusplus
}
#endif

#endif
