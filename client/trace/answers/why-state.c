/* The samples of threads (mprof/events.def) that an answer uses. */
#include <stdlib.h>
#include <string.h>

#include <mprof/event.h>

#include "why-index.h"

bool why_states_init(struct mprof_why *w)
{
	const struct mprof_model_view *v = w->view;

	if (!v->n_states)
		return true;
	w->sampled = malloc(((size_t)v->n_threads + 1) * sizeof(*w->sampled));
	if (!w->sampled)
		return false;
	memset(w->sampled, 0xff, v->n_threads * sizeof(*w->sampled));
	for (uint32_t i = 0; i < v->n_states; i++)
		w->sampled[w->final[v->states[i].thread]] = i;
	return true;
}

/* Return the processor time that the thread of the states FIRST and LAST used between them, ns. */
static uint64_t used(const struct mprof_state *first, const struct mprof_state *last)
{
	return last->processor_ns > first->processor_ns ? last->processor_ns - first->processor_ns : 0;
}

/* Find the name of the place in the kernel in the text of sample S: behind its first space. */
static void find_channel(const struct mprof_model_view *v, uint32_t text, struct mprof_why_state *s)
{
	const struct mprof_string *string = &v->strings[text];
	const char *begin = string->bytes ? v->text + string->offset : "";
	const char *space = memchr(begin, ' ', string->bytes);

	s->channel = MPROF_NONE;
	s->channel_offset = 0;
	if (!space || space + 1 == begin + string->bytes)
		return;
	s->channel = text;
	s->channel_offset = (uint32_t)(space + 1 - begin);
}

bool mprof_why_state(const struct mprof_why *w, uint32_t thread, uint64_t from, struct mprof_why_state *s)
{
	const struct mprof_state *all = w->view->states;
	uint32_t last = w->sampled ? w->sampled[thread] : MPROF_NONE, first = last;

	*s = (struct mprof_why_state){.kind = MPROF_STATE_KINDS, .channel = MPROF_NONE};
	if (last == MPROF_NONE || all[last].time < from || all[last].kind == MPROF_STATE_waits ||
	    all[last].kind >= MPROF_STATE_KINDS)
		return false;
	s->samples = 1;
	for (uint32_t i = all[last].previous;
	     i != MPROF_NONE && all[i].kind == all[last].kind && all[i].time >= from && all[i].time <= all[first].time;
	     i = all[i].previous) {
		first = i;
		s->samples++;
	}
	s->kind = (enum mprof_state_kind)all[last].kind;
	s->from = all[first].time;
	s->to = all[last].time;
	s->processor_ns = used(&all[first], &all[last]);
	find_channel(w->view, all[last].text, s);
	return true;
}

/* Return since when THREAD, which waits for nothing, may run without a break, ns: its ring says so, or it has none. */
static uint64_t ran_from(const struct mprof_why *w, uint32_t thread)
{
	const struct mprof_model_view *v = w->view;
	const struct mprof_thread *t = &v->threads[thread];

	for (uint32_t i = 0; i < v->n_streams; i++)
		if (v->streams[i].running == thread && v->streams[i].guest == v->streams[t->stream].guest)
			return v->streams[i].since;
	return t->created;
}

bool why_state_of_thread(const struct mprof_why *w, uint32_t thread, struct mprof_why_state *s)
{
	uint32_t link = mprof_why_link(w, thread);

	if (link == MPROF_NONE)
		return mprof_why_state(w, thread, 0, s);
	return mprof_why_state(w, thread, w->view->interactions[link].time, s) && mprof_state_is_stop(s->kind);
}

uint32_t why_state_of_answer(const struct mprof_why *w, const struct mprof_why_answer *a, struct mprof_why_state *s)
{
	if (why_is_thread(w, a->root) && !why_resolved(w, a->root) && !a->cycle &&
	    mprof_why_state(w, a->root, ran_from(w, a->root), s))
		return a->root;
	if (mprof_why_link(w, a->thread) != MPROF_NONE && why_state_of_thread(w, a->thread, s))
		return a->thread;
	return MPROF_NONE;
}

/* Return since when the program slept at the end of the trace, or since when no thread that STREAM's guest has is known to run, ns. */
static uint64_t last_from(const struct mprof_why *w, uint32_t stream)
{
	uint64_t asleep = mprof_coverage_asleep(w->view, stream);
	uint32_t last = mprof_why_last(w, stream, true);

	return asleep != UINT64_MAX ? asleep : last == MPROF_NONE ? 0 : w->view->activations[last].end;
}

/* Find a thread of GUEST that runs by its ring, and whose samples since then tell something. */
static uint32_t find_running(const struct mprof_why *w, uint32_t guest, struct mprof_why_state *s)
{
	const struct mprof_model_view *v = w->view;

	for (uint32_t i = 0; i < v->n_streams; i++)
		if (v->streams[i].guest == guest && v->streams[i].running != MPROF_NONE &&
		    mprof_why_state(w, w->final[v->streams[i].running], v->streams[i].since, s))
			return w->final[v->streams[i].running];
	return MPROF_NONE;
}

uint32_t mprof_why_program_state(const struct mprof_why *w, uint32_t stream, struct mprof_why_state *s)
{
	const struct mprof_model_view *v = w->view;
	uint64_t from = w->sampled ? last_from(w, stream) : 0;
	uint32_t found = MPROF_NONE, guest = v->streams[stream].guest;
	struct mprof_why_state now;

	for (uint32_t i = 0; w->sampled && i < v->n_threads; i++) {
		if (w->sampled[i] == MPROF_NONE || v->streams[v->threads[i].stream].guest != guest ||
		    !mprof_why_state(w, i, from, &now))
			continue;
		if (now.kind != MPROF_STATE_stopped &&
		    (now.kind != MPROF_STATE_runs || (found != MPROF_NONE && now.processor_ns <= s->processor_ns)))
			continue;
		*s = now;
		found = i;
		if (now.kind == MPROF_STATE_stopped)
			break;
	}
	return found == MPROF_NONE && w->sampled ? find_running(w, guest, s) : found;
}

const char *mprof_why_state_name(enum mprof_state_kind kind)
{
	return mprof_state_name(kind);
}
