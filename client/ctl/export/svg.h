/*
 * Write the marks of a scene (<mprof/scene.h>) as SVG shapes and texts, without scripts, links or
 * external parts.
 */
#ifndef CTL_SVG_H
#define CTL_SVG_H

#include <stdbool.h>

#include <mprof/scene.h>

#include "output-writer.h"

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

/*
 * Write one SVG document: its beginning, pictures, and its end. svg_picture() lays PICTURE, of HEIGHT pixels,
 * at TOP over what is there. RULER: write the times of the grid at its foot. Errors of writing stay in the writer.
 */
void svg_begin(const struct svg *svg);
void svg_picture(const struct svg *svg, const struct mprof_picture *picture, float top, float height, bool ruler);
void svg_end(const struct svg *svg);

#endif
