#include "scene-lives.h"

#include <stdlib.h>

struct scene_life *scene_lives_new(const struct mprof_model_view *view)
{
	struct scene_life *lives = malloc(((size_t)view->n_threads + 1) * sizeof(*lives));
	uint32_t i;

	for (i = 0; lives && i < view->n_threads; i++)
		lives[i] = scene_life_of(&view->threads[i]);
	return lives;
}
