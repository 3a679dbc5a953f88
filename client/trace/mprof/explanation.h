/*
 * libmprof: explanations of a model, in sentences for people.
 *
 *   e = mprof_explanation_new(view, why, NULL);
 *   mprof_explanation_why(e, thread);
 *   for (piece = mprof_explanation_pieces(e, &n); n; n--, piece++)
 *           fwrite(mprof_explanation_text(e) + piece->offset, 1, piece->bytes, stdout);
 *
 * An explanation is a text of several lines, divided into pieces. A piece can name a thread, which
 * a program can show as a link, or state a time, which a program can format otherwise. Texts of the
 * trace are made printable (mprof_text_show()). Sizes are bounded: long texts are cut, and long
 * lists end with the number of items left out.
 */
#ifndef MPROF_EXPLANATION_H
#define MPROF_EXPLANATION_H

#include <mprof/area.h>
#include <mprof/waits.h>
#include <mprof/why.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Largest number of waits of a chain (<mprof/why.h>) that one explanation lists. */
#define MPROF_EXPLANATION_LINKS 64u
/* Largest number of bytes taken from one text of the trace. */
#define MPROF_EXPLANATION_TEXT 4096u
/* Time of a piece that states no time. */
#define MPROF_EXPLANATION_UNTIMED UINT64_MAX

struct mprof_explanation_piece {
	uint32_t offset; /* offset in mprof_explanation_text(), bytes */
	uint32_t bytes;
	uint32_t thread; /* thread that the piece names, or MPROF_NONE */
	uint32_t line;	 /* line number, from 0 */
	uint64_t time;	 /* time that the piece states, ns on the model's time line, or MPROF_EXPLANATION_UNTIMED */
};

struct mprof_explanation;

/*
 * Return an empty explanation, or NULL without memory. STREAMS are the names of the view's streams;
 * NULL when explanations should name no stream. VIEW, WHY and STREAMS must outlive the explanation.
 */
MPROF_API struct mprof_explanation *mprof_explanation_new(const struct mprof_model_view *view,
							  const struct mprof_why *why, char *const *streams);
/* Free E, which may be NULL. Return NULL. */
MPROF_API struct mprof_explanation *mprof_explanation_free(struct mprof_explanation *e);

/*
 * mprof_explanation_why() explains why THREAD waits, with times of the trace.
 * mprof_explanation_thread() lists the actions of THREAD and those of others on it, with times
 * since the trace's first event. mprof_explanation_last() names the thread that ran last in STREAM.
 * Each call replaces the previous text. Return MPROF_OK; MPROF_NOMEM, with an empty text; or
 * MPROF_CORRUPT when there is no such thread or stream.
 */
MPROF_API enum mprof_status mprof_explanation_why(struct mprof_explanation *e, uint32_t thread);
MPROF_API enum mprof_status mprof_explanation_thread(struct mprof_explanation *e, uint32_t thread);
MPROF_API enum mprof_status mprof_explanation_last(struct mprof_explanation *e, uint32_t stream);
/*
 * mprof_explanation_group() explains why the thread of GROUP waits, and how many threads wait behind the same
 * thing. mprof_explanation_rest() says what the groups W that an answer shows leave open: that nothing is stuck
 * if the trace would show it, or else why it may be. They are as the calls above. The text of the second one may
 * be empty.
 */
MPROF_API enum mprof_status mprof_explanation_group(struct mprof_explanation *e, const struct mprof_waits_group *group);
MPROF_API enum mprof_status mprof_explanation_rest(struct mprof_explanation *e, const struct mprof_waits *w);

/*
 * mprof_explanation_area() says what can be missing in A, an area of the view; the text is empty if nothing is. mprof_explanation_hole()
 * is the end of a sentence that something would not be here: the hole of COVERAGE, which has one. They are as the calls above.
 */
MPROF_API enum mprof_status mprof_explanation_hole(struct mprof_explanation *e, const struct mprof_coverage *coverage);
MPROF_API enum mprof_status mprof_explanation_area(struct mprof_explanation *e, const struct mprof_area *a);

/*
 * mprof_explanation_pieces() returns the pieces, and their number in *N. mprof_explanation_text()
 * returns the text to which the pieces' offsets refer. E owns both; they are valid until the next
 * explanation.
 */
MPROF_API const struct mprof_explanation_piece *mprof_explanation_pieces(const struct mprof_explanation *e,
									 uint32_t *n);
MPROF_API const char *mprof_explanation_text(const struct mprof_explanation *e);

#ifdef __cplusplus
}
#endif

#endif
