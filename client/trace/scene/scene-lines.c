/* Lines of threads, when they ran, and how they end. */
#include <math.h>

#include "scene-state.h"

#define OPEN_MIN  4.0  /* pixels: a shorter thread has no arrow head */
#define NAMED_MIN 16.0 /* nor has a text beside it */

static struct mprof_mark *put_run(struct frame *f, enum mprof_mark_kind kind, const struct run *run,
				  const struct row_group *group)
{
	struct mprof_mark *mark = frame_mark(f, kind);

	if (!mark)
		return NULL;
	mark->x0 = (float)frame_clip(f, frame_x(f, run->start));
	mark->x1 = (float)frame_clip(f, frame_x(f, run->end));
	mark->y0 = mark->y1 = group->y;
	mark->item = run->item;
	mark->shade = run->n - 1;
	return mark;
}

/* What else is to be drawn of a thread that has a line of its own. */
static bool note(struct frame *f, uint32_t thread, double width, const struct row_group *group)
{
	const struct mprof_thread *t = &f->v->threads[thread];
	struct open_end *end;
	uint32_t *named;

	/* Most are short, and not looked at. */
	if (width <= OPEN_MIN)
		return true;
	if (t->becomes == MPROF_NONE && !(t->flags & MPROF_THREAD_RESOLVED)) {
		end = grow_add(&f->s->open, sizeof(*end));
		if (!end)
			return false;
		*end = (struct open_end){thread, (float)frame_clip(f, frame_x(f, t->end)), group->y};
	}
	if (width > NAMED_MIN && (group->room || t->flags & MPROF_THREAD_NEVER_RESOLVED) &&
	    f->w.flags & MPROF_WINDOW_LABELS) {
		named = grow_add(&f->s->named, sizeof(*named));
		if (!named)
			return false;
		*named = thread;
	}
	return true;
}

static void draw_thread(struct frame *f, enum mprof_mark_kind kind, const struct run *run,
			const struct row_group *group)
{
	struct mprof_mark *mark = put_run(f, kind, run, group);

	if (!mark)
		return;
	mark->stream = frame_stream(f, run->item);
	if (run->single && run->n == 1 && !note(f, run->item, frame_width(f, run->start, run->end), group))
		f->failed = true;
}

static void draw_sound(struct frame *f, const struct run *run, const struct row_group *group)
{
	draw_thread(f, MPROF_MARK_THREAD, run, group);
}

static void draw_failure(struct frame *f, const struct run *run, const struct row_group *group)
{
	draw_thread(f, MPROF_MARK_FAILED, run, group);
}

static void draw_activation(struct frame *f, const struct run *run, const struct row_group *group)
{
	struct mprof_mark *mark = put_run(f, MPROF_MARK_RUNNING, run, group);

	if (mark && f->v->n_streams > 1)
		mark->stream = frame_stream(f, f->v->activations[run->item].thread);
}

void draw_threads(struct frame *f)
{
	f->s->named.n = f->s->open.n = 0;
	walk_rows(f, &f->s->threads, draw_sound);
}

void draw_failed(struct frame *f)
{
	f->s->open.n = 0;
	walk_rows(f, &f->s->failed, draw_failure);
	draw_open_ends(f);
}

void draw_running(struct frame *f)
{
	walk_rows(f, &f->s->running, draw_activation);
}

void draw_open_ends(struct frame *f)
{
	const struct open_end *ends = f->s->open.items;
	uint32_t i;

	for (i = 0; i < f->s->open.n && !f->failed; i++) {
		struct mprof_mark *mark =
			ends[i].x <= f->w.width + 6 && ends[i].x >= 0 ? frame_mark(f, MPROF_MARK_OPEN_END) : NULL;

		if (!mark)
			continue;
		mark->x0 = mark->x1 = ends[i].x;
		mark->y0 = mark->y1 = ends[i].y;
		mark->item = ends[i].thread;
		mark->stream = frame_stream(f, ends[i].thread);
	}
}
