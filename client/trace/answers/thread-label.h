/* The label that stands for a thread. */
#ifndef TRACE_THREAD_LABEL_H
#define TRACE_THREAD_LABEL_H

#include <mprof/model.h>

/* Return the first label of THREAD that the program wrote, a string; MPROF_NONE if there is none. */
static inline uint32_t thread_label(const struct mprof_model_view *v, uint32_t thread)
{
	uint32_t i = v->threads[thread].first_label;

	while (i != MPROF_NONE && v->labels[i].sample != MPROF_NONE)
		i = v->labels[i].next;
	return i == MPROF_NONE ? MPROF_NONE : v->labels[i].text;
}

#endif
