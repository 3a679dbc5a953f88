/* The fish-eye: where rows are drawn. */
#ifndef TRACE_SCENE_FOLD_H
#define TRACE_SCENE_FOLD_H

#include <mprof/scene.h>

#define FOLD_ROW 30.0 /* pixels from row to row at the focus, in a picture that cannot show all rows like that */

/*
 * Rows lie FOLD_ROW units below each other, and a unit D from the focus is drawn at tanh(D / (2 SCALE)), stretched so that the first and
 * the last row are MARGIN pixels from the picture's edges.
 */
struct fold {
	double focus; /* units */
	double scale;
	double top; /* what the first row comes to */
	double range;
	double margin; /* pixels */
	double inner;  /* pixels between the first and the last row */
	double last;   /* row */
};

void fold_init(struct fold *f, const struct mprof_window *w, uint32_t rows);
/* The height at which ROW is drawn; grows with it, or stays. */
double fold_y(const struct fold *f, double row);
/* The row at height Y, between the first and the last one. */
double fold_row(const struct fold *f, double y);

#endif
