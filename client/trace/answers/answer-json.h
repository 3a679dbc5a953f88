/* The JSON that answers have in common: threads, texts of a model, holes, stories. */
#ifndef TRACE_ANSWER_JSON_H
#define TRACE_ANSWER_JSON_H

#include <mprof/coverage.h>
#include <mprof/explanation.h>
#include <mprof/json-writer.h>

/* A trace that an answer is about. */
struct answer_trace {
	const struct mprof_model_view *view;
	const struct mprof_why *why;
	char *const *streams;		       /* NULL: the answer names no stream */
	struct mprof_explanation *explanation; /* NULL: the answer has no stories */
	bool indexed;			       /* threads have their index */
};

/* Write N as the member KEY; at most INT64_MAX. */
void answer_put_count(struct mprof_json *j, const char *key, uint64_t n);
/* Return the bytes of string I of V, or NULL if I is MPROF_NONE, and their number in *BYTES. */
const char *answer_bytes_of(const struct mprof_model_view *v, uint32_t i, size_t *bytes);
/* Write string I of the view, or null if I is MPROF_NONE. */
void answer_put_string(const struct answer_trace *t, struct mprof_json *j, const char *key, uint32_t i);
/* Write the members of a thread with its label at TIME. THREAD is none of a root, and not MPROF_NONE. */
void answer_put_members(const struct answer_trace *t, struct mprof_json *j, uint32_t thread, uint64_t time);
/* Return whether THREAD is one that an answer names: not MPROF_NONE, and no root, which stands for the sleeping program. */
bool answer_names(const struct answer_trace *t, uint32_t thread);
/* Write THREAD as an object, or null if an answer does not name it. */
void answer_put_thread(const struct answer_trace *t, struct mprof_json *j, const char *key, uint32_t thread,
		       uint64_t time);
/* Write what an absent event means: the hole in which it could be, or null if it did not happen. */
void answer_put_coverage(const struct answer_trace *t, struct mprof_json *j, const char *key,
			 const struct mprof_coverage *c);
/* Write the sentences of the trace's explanation as `story`, if it was made with MPROF_OK, the value of STATUS. Return STATUS. */
enum mprof_status answer_put_story(const struct answer_trace *t, struct mprof_json *j, const char *key,
				   enum mprof_status status);

#endif
