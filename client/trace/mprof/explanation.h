/*
 * libmprof: what a model tells, in sentences for people.
 *
 *   t = mprof_explanation_new(view, why, NULL);
 *   mprof_explanation_why(t, thread);
 *   for (piece = mprof_explanation_pieces(t, &n); n; n--, piece++)
 *           ...             // fwrite(mprof_explanation_text(t) + piece->offset, 1, piece->bytes, stdout)
 *
 * A tale is lines of pieces; a piece that names a thread says which, so that it can be a link, and one that is a time says that, so that it can be
 * told otherwise.  What comes from the trace is printable
 * (mprof_text_show()), and bounded: long texts are cut, of long lists the beginning is told and how many more there are.
 */
#ifndef MPROF_EXPLANATION_H
#define MPROF_EXPLANATION_H

#include <mprof/why.h>

#ifdef __cplusplus
extern "C" {
#endif

/* So many links of a chain are told. */
#define MPROF_EXPLANATION_LINKS 64u
/* So many bytes of a guest's text are. */
#define MPROF_EXPLANATION_TEXT 4096u
/* The time of a piece that tells none. */
#define MPROF_EXPLANATION_UNTIMED UINT64_MAX

struct mprof_explanation_piece {
	uint32_t offset; /* of its text in the tale's */
	uint32_t bytes;
	uint32_t thread; /* that it names, or MPROF_NONE */
	uint32_t line;	 /* from 0 */
	uint64_t time;	 /* that it tells with the clock of the trace, ns, or MPROF_EXPLANATION_UNTIMED */
};

struct mprof_explanation;

/* VIEW, WHY and the names of the view's STREAMS (NULL: none is told) are borrowed.  An empty tale, or NULL without memory. */
MPROF_API struct mprof_explanation *mprof_explanation_new(const struct mprof_model_view *view,
							  const struct mprof_why *why, char *const *streams);
/* Takes NULL too; returns NULL. */
MPROF_API struct mprof_explanation *mprof_explanation_free(struct mprof_explanation *t);

/*
 * Tell, in place of what was told before: MPROF_OK, MPROF_NOMEM with nothing told, or MPROF_CORRUPT where there is no such thread or stream.
 *
 * Why THREAD waits, with the times of the trace; what it did and what was done to it, with times from the trace's beginning; what ran last in
 * STREAM.
 */
MPROF_API enum mprof_status mprof_explanation_why(struct mprof_explanation *t, uint32_t thread);
MPROF_API enum mprof_status mprof_explanation_thread(struct mprof_explanation *t, uint32_t thread);
MPROF_API enum mprof_status mprof_explanation_last(struct mprof_explanation *t, uint32_t stream);

/* What was told, lent until the next telling. */
MPROF_API const struct mprof_explanation_piece *mprof_explanation_pieces(const struct mprof_explanation *t,
									 uint32_t *n);
MPROF_API const char *mprof_explanation_text(const struct mprof_explanation *t);

#ifdef __cplusplus
}
#endif

#endif
