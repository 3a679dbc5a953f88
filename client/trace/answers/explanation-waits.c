/* Say what the groups of waiting threads that an answer shows leave open. */
#include <inttypes.h>

#include <mprof/ids.h>

#include "explanation-parts.h"

/* Find a hole in which a wait of any guest could be. */
static struct mprof_coverage find_hole(const struct mprof_explanation *e, const struct mprof_waits *w)
{
	struct mprof_coverage c = {0};

	for (uint32_t i = 0; i < e->view->n_streams && c.hole == MPROF_HOLE_NONE; i++)
		if (e->view->streams[i].events && (!i || e->view->streams[i].guest != e->view->streams[i - 1].guest))
			mprof_waits_coverage(w, i, &c);
	return c;
}

static bool has_events(const struct mprof_model_view *v)
{
	for (uint32_t i = 0; i < v->n_streams; i++)
		if (v->streams[i].events)
			return true;
	return false;
}

/* Return the number of threads that are unresolved at the end, and that nobody tried to read: no objects and places. */
static uint32_t count_unread(const struct mprof_model_view *v)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < v->n_threads; i++) {
		const struct mprof_thread *t = &v->threads[i];

		n += !(t->flags & (MPROF_THREAD_RESOLVED | MPROF_THREAD_ROOT | MPROF_THREAD_PREEXISTING)) &&
		     t->becomes == MPROF_NONE && !MPROF_IS_VCPU(t->id) && t->type != MPROF_THREAD_Place &&
		     t->type != MPROF_THREAD_Process && t->type != MPROF_THREAD_Condition &&
		     t->type != MPROF_THREAD_Semaphore && t->type != MPROF_THREAD_Stream &&
		     t->type != MPROF_THREAD_Mutex;
	}
	return n;
}

/* Say that no thread waits. */
static void say_none_waits(struct mprof_explanation *e, const struct mprof_waits *w)
{
	struct mprof_coverage c = find_hole(e, w);
	uint32_t unread = count_unread(e->view);

	if (!has_events(e->view)) {
		explain_put(e, "the trace has no event");
	} else if (unread) {
		explain_put(e,
			    unread == 1 ? "no cause of a hang is proven: 1 thread is not resolved"
					: "no cause of a hang is proven: %" PRIu32 " threads are not resolved",
			    unread);
		explain_put(e, ", and the trace has no thread that waits for another at its end");
	} else if (c.hole == MPROF_HOLE_NONE) {
		explain_put(e, "nothing here is stuck: no thread waits at the end of the trace");
	} else {
		explain_put(e, "the trace has no thread that waits at its end. A wait would not be here");
		explain_hole(e, &c, UINT64_MAX);
		explain_put(e, ".");
	}
	explain_line(e);
}

enum mprof_status mprof_explanation_rest(struct mprof_explanation *e, const struct mprof_waits *w)
{
	uint32_t n, shown = mprof_waits_shown(w);
	const struct mprof_waits_group *groups = mprof_waits_groups(w, &n);

	explain_begin(e);
	if (!n) {
		say_none_waits(e, w);
	} else if (shown && mprof_waits_name(groups[0].kind)) {
		/* The causes say what is wrong. */
	} else if (shown) {
		explain_put(e, "no cause of a hang is proven: each of these waits may still end");
		explain_line(e);
	} else {
		explain_put(e, "no cause of a hang is proven: threads wait, and neither they nor what they wait for "
			       "has a name");
		explain_line(e);
	}
	return explain_end(e);
}
