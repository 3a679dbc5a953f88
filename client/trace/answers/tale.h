/* The words that tales are made of. */
#ifndef TRACE_TALE_H
#define TRACE_TALE_H

#include <mprof/tale.h>

#include "grow.h"

struct mprof_tale {
	const struct mprof_model_view *view;
	const struct mprof_why *why;
	char *const *streams;
	struct grow text;
	struct grow pieces;
	uint32_t line;
	uint64_t zero; /* told times count from here */
	bool failed;   /* no memory */
};

static inline const struct mprof_thread *tale_thread(const struct mprof_tale *t, uint32_t thread)
{
	return &t->view->threads[thread];
}

/* Forget what was told. */
void tale_begin(struct mprof_tale *t);
/* What becomes of it: MPROF_OK, or MPROF_NOMEM with nothing told. */
enum mprof_status tale_end(struct mprof_tale *t);

__attribute__((format(printf, 2, 3))) void tale_put(struct mprof_tale *t, const char *format, ...);
void tale_line(struct mprof_tale *t);
/* A time as `dump` prints it; one from the trace's beginning on, `+1.234 ms`; the span between two, 0 where it goes back. */
void tale_time(struct mprof_tale *t, uint64_t ns);
void tale_since(struct mprof_tale *t, uint64_t ns);
void tale_span(struct mprof_tale *t, uint64_t from, uint64_t to);
/* String I of the view in quotes. */
void tale_quote(struct mprof_tale *t, uint32_t i);
/* The name of STREAM, of which there are some. */
void tale_name(struct mprof_tale *t, uint32_t stream);
/* Who THREAD is by its label at TIME: `4453 (Condition, "Wait for ARP response")`; what is no thread is the program itself. */
void tale_who(struct mprof_tale *t, uint32_t thread, uint64_t time);
/* The same, and ` at ` TIME. */
void tale_deed(struct mprof_tale *t, uint32_t thread, uint64_t time);

#endif
