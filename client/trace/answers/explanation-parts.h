/* Functions that append parts of an explanation to its text. */
#ifndef TRACE_EXPLANATION_H
#define TRACE_EXPLANATION_H

#include <mprof/explanation.h>

#include "grow.h"

struct mprof_explanation {
	const struct mprof_model_view *view;
	const struct mprof_why *why;
	char *const *streams;
	uint32_t guests; /* 1 = all streams are of one guest; 2 = of several */
	struct grow text;
	struct grow pieces;
	uint32_t line;
	uint64_t zero; /* time from which explain_since() counts, ns */
	bool failed;   /* out of memory */
};

static inline const struct mprof_thread *explain_thread(const struct mprof_explanation *e, uint32_t thread)
{
	return &e->view->threads[thread];
}

/* Discard the previous text. */
void explain_begin(struct mprof_explanation *e);
/* End the explanation. Return MPROF_OK, or MPROF_NOMEM with an empty text. */
enum mprof_status explain_end(struct mprof_explanation *e);

__attribute__((format(printf, 2, 3))) void explain_put(struct mprof_explanation *e, const char *format, ...);
void explain_line(struct mprof_explanation *e);
/*
 * explain_time() appends the time NS as `mprofctl dump` prints it. explain_since() appends NS as a
 * time relative to ZERO, such as `+1.234 ms`. explain_span() appends the duration from FROM to TO;
 * 0 when TO is before FROM.
 */
void explain_time(struct mprof_explanation *e, uint64_t ns);
void explain_since(struct mprof_explanation *e, uint64_t ns);
void explain_span(struct mprof_explanation *e, uint64_t from, uint64_t to);
/* Append string I of the view in quotes. */
void explain_quote(struct mprof_explanation *e, uint32_t i);
/* Append the name of STREAM. The explanation must have names of streams. */
void explain_name(struct mprof_explanation *e, uint32_t stream);
/*
 * Append THREAD with its label at TIME: `4453 (Condition, "Wait for ARP response")`, or "the
 * program itself" for a root.
 */
void explain_who(struct mprof_explanation *e, uint32_t thread, uint64_t time);
/*
 * Append a line on what the vCPUs of the guest of STREAM did from FROM to TO, ns; nothing if the trace
 * does not tell. It takes time in proportion to the durations of the trace.
 */
void explain_vcpus(struct mprof_explanation *e, uint32_t stream, uint64_t from, uint64_t to);
/*
 * Append the end of a sentence that an event would not be here: the hole C, in which it could be. SINCE is the time
 * at which a wait for it began, ns, or UINT64_MAX.
 */
void explain_hole(struct mprof_explanation *e, const struct mprof_coverage *c, uint64_t since);
/* Append what a thread did by its samples S, which do not say that it waits: ` was stopped by a signal, in 3 samples …`. */
void explain_state(struct mprof_explanation *e, const struct mprof_why_state *s);
/* Append string I of the view from byte OFFSET on, made printable. */
void explain_string(struct mprof_explanation *e, uint32_t i, uint32_t offset);
/* As explain_who(), and append ` at ` and TIME. */
void explain_who_when(struct mprof_explanation *e, uint32_t thread, uint64_t time);

#endif
