#include "scene-lives.h"

#include <stdlib.h>

/* A thread's creation is not drawn below a root, nor where it was moved to its wake-up; nor what it becomes on the same row. */
static void mark_births(const struct mprof_thread *t, const struct scene_life *lives, struct scene_life *life)
{
	if (t->row == MPROF_NONE)
		return;
	life->created =
		t->parent != MPROF_NONE && !(t->flags & MPROF_THREAD_SIMPLIFIED) && lives[t->parent].row != MPROF_NONE;
	life->becomes =
		t->becomes != MPROF_NONE && lives[t->becomes].row != MPROF_NONE && lives[t->becomes].row != t->row;
}

struct scene_life *scene_lives_new(const struct mprof_model_view *view)
{
	struct scene_life *lives = malloc(((size_t)view->n_threads + 1) * sizeof(*lives));
	uint32_t i;

	for (i = 0; lives && i < view->n_threads; i++)
		lives[i] = scene_life_of(&view->threads[i]);
	for (i = 0; lives && i < view->n_threads; i++)
		mark_births(&view->threads[i], lives, &lives[i]);
	return lives;
}
