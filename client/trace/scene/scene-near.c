/* What lies near a point, and how rows and heights go together. */
#include <math.h>

#include "scene-state.h"

#define HALVINGS 60

struct near {
	struct frame *f;
	uint64_t time; /* at the point */
	double y;
	double reach;
	double best; /* distance */
	uint32_t thread;
};

/* How far the nearest piece of a block is from the point's time in pixels, and a piece of it. */
static double nearest(struct near *n, struct rails *l, unsigned level, uint32_t block, uint32_t *piece)
{
	uint32_t from, to, at;
	double best = INFINITY, x;

	rails_range(l, level, block, &from, &to);
	at = rails_ends_from(l, level, from, to, n->time);
	*piece = at;
	if (at < to)
		best = fmax(frame_width(n->f, n->time, rails_start(l, level, at)), 0);
	if (at > from) {
		x = frame_width(n->f, rails_end(l, level, at - 1), n->time);
		*piece = x < best ? at - 1 : at;
		best = fmin(best, x);
	}
	return best;
}

/* From a block down to a row, by what is nearest in time. */
static void look(struct near *n, struct rails *l, const struct row_group *group)
{
	uint32_t block = group->block, piece, child, best_child, i;
	unsigned level = group->level;
	double x = nearest(n, l, level, block, &piece), its, distance = hypot(x, group->y - n->y);

	if (distance >= n->best || distance > n->reach)
		return;
	for (; level; level--) {
		x = INFINITY;
		best_child = block << RAILS_SHIFT;
		for (i = 0; i < 1u << RAILS_SHIFT; i++) {
			child = (block << RAILS_SHIFT) + i;
			if (child >= (level > 1 ? l->levels[level - 1].blocks : l->rows))
				break;
			its = nearest(n, l, level - 1, child, &piece);
			if (its < x) {
				x = its;
				best_child = child;
			}
		}
		block = best_child;
	}
	x = nearest(n, l, 0, block, &piece);
	distance = hypot(x, group->y - n->y);
	if (distance < n->best && distance <= n->reach) {
		n->best = distance;
		n->thread = rails_item(l, 0, piece);
	}
}

uint32_t mprof_scene_near(struct mprof_scene *s, const struct mprof_window *window, float x, float y, float reach)
{
	struct near n = {.y = y, .reach = reach, .best = INFINITY, .thread = MPROF_NONE};
	const struct row_group *groups;
	struct frame f;
	uint32_t i;

	if (!(reach >= 0) || !isfinite(x) || !isfinite(y) || !frame_init(&f, s, window) || !frame_group_rows(&f))
		return MPROF_NONE;
	n.f = &f;
	n.time = frame_time(&f, x);
	groups = s->groups.items;
	for (i = 0; i < s->groups.n; i++) {
		if (fabs((double)groups[i].y - y) > reach)
			continue;
		if (s->threads.n)
			look(&n, &s->threads, &groups[i]);
		if (s->failed.n)
			look(&n, &s->failed, &groups[i]);
	}
	return n.thread;
}

float mprof_scene_y(const struct mprof_scene *s, const struct mprof_window *window, double row)
{
	struct fold fold;

	fold_init(&fold, window, s->view->rows);
	return (float)fold_y(&fold, fmin(fmax(row, 0), fold.last));
}

double mprof_scene_focus(const struct mprof_scene *s, const struct mprof_window *window, double row, float y)
{
	struct mprof_window w = *window;
	double low = 0, high = s->view->rows ? s->view->rows - 1.0 : 0;
	struct fold fold;
	int i;

	/* The farther down the focus, the farther up a row. */
	for (i = 0; i < HALVINGS; i++) {
		w.focus = (low + high) / 2;
		fold_init(&fold, &w, s->view->rows);
		if (fold_y(&fold, row) > y)
			low = w.focus;
		else
			high = w.focus;
	}
	return (low + high) / 2;
}
