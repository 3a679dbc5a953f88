/* The words that tales are made of. */
#ifndef TRACE_EXPLANATION_H
#define TRACE_EXPLANATION_H

#include <mprof/explanation.h>

#include "grow.h"

struct mprof_explanation {
	const struct mprof_model_view *view;
	const struct mprof_why *why;
	char *const *streams;
	struct grow text;
	struct grow pieces;
	uint32_t line;
	uint64_t zero; /* told times count from here */
	bool failed;   /* no memory */
};

static inline const struct mprof_thread *explain_thread(const struct mprof_explanation *e, uint32_t thread)
{
	return &e->view->threads[thread];
}

/* Forget what was told. */
void explain_begin(struct mprof_explanation *e);
/* What becomes of it: MPROF_OK, or MPROF_NOMEM with nothing told. */
enum mprof_status explain_end(struct mprof_explanation *e);

__attribute__((format(printf, 2, 3))) void explain_put(struct mprof_explanation *e, const char *format, ...);
void explain_line(struct mprof_explanation *e);
/* A time as `dump` prints it; one from the trace's beginning on, `+1.234 ms`; the span between two, 0 where it goes back. */
void explain_time(struct mprof_explanation *e, uint64_t ns);
void explain_since(struct mprof_explanation *e, uint64_t ns);
void explain_span(struct mprof_explanation *e, uint64_t from, uint64_t to);
/* String I of the view in quotes. */
void explain_quote(struct mprof_explanation *e, uint32_t i);
/* The name of STREAM, of which there are some. */
void explain_name(struct mprof_explanation *e, uint32_t stream);
/* Who THREAD is by its label at TIME: `4453 (Condition, "Wait for ARP response")`; what is no thread is the program itself. */
void explain_who(struct mprof_explanation *e, uint32_t thread, uint64_t time);
/* The same, and ` at ` TIME. */
void explain_who_when(struct mprof_explanation *e, uint32_t thread, uint64_t time);

#endif
