/* Threads that are highlighted. */
#include <stdlib.h>
#include <string.h>

#include "becomes.h"
#include "scene-state.h"

#define NARROW 32.0 /* pixels: behind a shorter line a highlight is not seen */
#define HALF   4.0

static bool choose(struct mprof_scene *s, uint32_t thread)
{
	if (!s->chosen)
		s->chosen = calloc((size_t)s->view->n_threads / 8 + 1, 1);
	if (!s->chosen || thread >= s->view->n_threads)
		return false;
	s->chosen[thread / 8] |= (uint8_t)(1u << thread % 8);
	s->highlights_known = false;
	return true;
}

static bool is_chosen(const struct mprof_scene *s, uint32_t thread)
{
	return s->chosen[thread / 8] >> thread % 8 & 1;
}

void mprof_scene_plain(struct mprof_scene *s)
{
	free(s->chosen);
	s->chosen = NULL;
	rails_deinit(&s->highlights);
	s->highlights_known = false;
}

void mprof_scene_highlight(struct mprof_scene *s, uint32_t thread)
{
	choose(s, thread);
}

void mprof_scene_family(struct mprof_scene *s, uint32_t thread)
{
	const struct mprof_thread *t = s->view->threads;
	uint32_t *final, i;

	if (thread >= s->view->n_threads)
		return;
	final = malloc(s->view->n_threads * sizeof(*final));
	for (i = 0; final && i < s->view->n_threads; i++)
		final[i] = t[i].becomes == MPROF_NONE ? i : t[i].becomes;
	for (i = 0; final && i < s->view->n_threads; i++)
		if (becomes_find(final, i) == becomes_find(final, thread))
			choose(s, i);
	if (!final)
		choose(s, thread);
	free(final);
}

static void put(struct frame *f, const struct run *run, double y0, double y1, bool narrow)
{
	struct mprof_mark *mark = frame_mark(f, MPROF_MARK_HIGHLIGHT);

	if (!mark)
		return;
	mark->x0 = (float)frame_clip(f, frame_x(f, run->start));
	mark->x1 = (float)frame_clip(f, frame_x(f, run->end));
	mark->y0 = (float)y0;
	mark->y1 = (float)y1;
	mark->item = run->item;
	mark->shade = narrow;
	mark->stream = frame_stream(f, run->item);
}

/* The way to the thread that goes on, where that is on another row. */
static void draw_link(struct frame *f, const struct run *run, const struct row_group *group)
{
	const struct mprof_thread *t = &f->v->threads[run->item], *next;
	struct run end = {.start = t->end, .end = t->end, .item = run->item};

	if (!run->single || run->n > 1 || t->becomes == MPROF_NONE || !is_chosen(f->s, t->becomes))
		return;
	next = &f->v->threads[t->becomes];
	if (next->row != t->row && next->row != MPROF_NONE && t->end >= f->w.from && t->end <= f->w.to)
		put(f, &end, group->y, frame_y(f, next->row), false);
}

static void draw_wide(struct frame *f, const struct run *run, const struct row_group *group)
{
	if (frame_width(f, run->start, run->end) >= NARROW)
		put(f, run, group->y, group->y, false);
	draw_link(f, run, group);
}

static void draw_narrow(struct frame *f, const struct run *run, const struct row_group *group)
{
	if (frame_width(f, run->start, run->end) < NARROW)
		put(f, run, group->y, group->y, true);
}

void draw_highlights(struct frame *f, bool narrow)
{
	struct mprof_scene *s = f->s;
	struct scene_life *lives;

	if (!s->chosen)
		return;
	if (!s->highlights_known) {
		lives = scene_lives_new(s->view);
		rails_deinit(&s->highlights);
		s->highlights_known = lives && rails_init(&s->highlights, s->view, RAILS_ALL, lives, s->chosen);
		free(lives);
		if (!s->highlights_known) {
			f->failed = true;
			return;
		}
	}
	walk_rows(f, &s->highlights, narrow ? draw_narrow : draw_wide);
}
