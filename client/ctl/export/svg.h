/*
 * Write the marks of a scene (<mprof/scene.h>) as SVG shapes and texts, without scripts, links or
 * external parts.
 */
#ifndef CTL_SVG_H
#define CTL_SVG_H

#include <mprof/scene.h>

#include "writer.h"

#define SVG_LETTER 6.6f /* average width of a letter in pixels */
struct svg {
	struct writer *out; /* output; borrowed */
	/*
	 * Title of the picture, and its description for screen readers. Both are printable text;
	 * borrowed.
	 */
	const char *title;
	const char *description;
	float width, height;
};

/* Write PICTURE as one SVG document. Errors of writing stay in the writer. */
void svg_write(const struct svg *svg, const struct mprof_picture *picture);

#endif
