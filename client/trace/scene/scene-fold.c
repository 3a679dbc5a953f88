/*
 * The fish-eye.
 *
 * Why a curve with ends, and not a scroll bar: one sees at each moment how much there is above and below, and what goes on there.
 *
 * Stretching the curve to the picture's edges would also stretch it at the focus when that is near one of them; SCALE makes up for that.
 */
#include <math.h>

#include "scene-fold.h"

#define MARGIN	30.0
#define HALFWAY 1000.0 /* units from an edge, from where on it matters ever less */

static double project(const struct fold *f, double units)
{
	return tanh((units - f->focus) / (2 * f->scale));
}

void fold_init(struct fold *f, const struct mprof_window *w, uint32_t rows)
{
	double height, edge;

	f->last = rows ? rows - 1.0 : 0;
	height = f->last * FOLD_ROW;
	f->focus = fmin(fmax(w->focus, -1), f->last + 1) * FOLD_ROW;
	edge = f->focus < height / 2 ? f->focus : height - f->focus;
	f->scale = w->height * (0.5 - 0.25 * tanh(edge / HALFWAY));
	f->top = project(f, 0);
	f->range = project(f, height) - f->top;
	f->margin = fmin(MARGIN, w->height / 4.0);
	f->inner = w->height - 2 * f->margin;
}

double fold_y(const struct fold *f, double row)
{
	if (!(f->range > 0))
		return f->margin;
	return f->margin + f->inner * (project(f, row * FOLD_ROW) - f->top) / f->range;
}

double fold_row(const struct fold *f, double y)
{
	double part = (y - f->margin) / f->inner, row;

	if (!(part > 0))
		return 0;
	if (part >= 1)
		return f->last;
	row = (2 * f->scale * atanh(f->top + part * f->range) + f->focus) / FOLD_ROW;
	return fmin(fmax(row, 0), f->last);
}
