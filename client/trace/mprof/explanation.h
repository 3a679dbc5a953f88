/*
 * libmprof: explanations of a model, in sentences for people.
 *
 *   e = mprof_explanation_new(view, why, NULL);
 *   mprof_explanation_why(e, thread);
 *   for (piece = mprof_explanation_pieces(e, &n); n; n--, piece++)
 *           fwrite(mprof_explanation_text(e) + piece->offset, 1, piece->bytes, stdout);
 *
 * An explanation is lines of pieces. A piece can name a thread, which makes it a link, or a time,
 * which a program can format otherwise. Texts of the trace are made printable (mprof_text_show()).
 * Sizes are bounded: long texts are cut, and long lists end with the number of items left out.
 */
#ifndef MPROF_EXPLANATION_H
#define MPROF_EXPLANATION_H

#include <mprof/why.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Largest number of links of a chain in one explanation. */
#define MPROF_EXPLANATION_LINKS 64u
/* Largest number of bytes taken from one text of the trace. */
#define MPROF_EXPLANATION_TEXT 4096u
/* Time of a piece that states no time. */
#define MPROF_EXPLANATION_UNTIMED UINT64_MAX

struct mprof_explanation_piece {
	uint32_t offset; /* offset in mprof_explanation_text(), bytes */
	uint32_t bytes;
	uint32_t thread; /* named thread, or MPROF_NONE */
	uint32_t line;	 /* line number, from 0 */
	uint64_t time;	 /* stated time by the trace's clock, ns, or MPROF_EXPLANATION_UNTIMED */
};

struct mprof_explanation;

/*
 * Return an empty explanation, or NULL without memory. VIEW, WHY and STREAMS, the names of the
 * view's streams, must outlive it. STREAMS is NULL when no stream is to be named.
 */
MPROF_API struct mprof_explanation *mprof_explanation_new(const struct mprof_model_view *view,
							  const struct mprof_why *why, char *const *streams);
/* Free E, which may be NULL. Return NULL. */
MPROF_API struct mprof_explanation *mprof_explanation_free(struct mprof_explanation *e);

/*
 * Explain why THREAD waits, with times of the trace; list the actions of THREAD and on it, with
 * times since the trace's first event; name the thread that ran last in STREAM. Each replaces the
 * previous text. Return MPROF_OK; MPROF_NOMEM, with an empty text; or MPROF_CORRUPT when there is
 * no such thread or stream.
 */
MPROF_API enum mprof_status mprof_explanation_why(struct mprof_explanation *e, uint32_t thread);
MPROF_API enum mprof_status mprof_explanation_thread(struct mprof_explanation *e, uint32_t thread);
MPROF_API enum mprof_status mprof_explanation_last(struct mprof_explanation *e, uint32_t stream);

/*
 * Return the pieces, their number in *N, and the text that they are of. Both are valid until the
 * next call that explains.
 */
MPROF_API const struct mprof_explanation_piece *mprof_explanation_pieces(const struct mprof_explanation *e,
									 uint32_t *n);
MPROF_API const char *mprof_explanation_text(const struct mprof_explanation *e);

#ifdef __cplusplus
}
#endif

#endif
