/* Marks of a scene as SVG: shapes and texts, without scripts, links or anything from elsewhere. */
#ifndef CTL_SVG_H
#define CTL_SVG_H

#include <mprof/scene.h>

#include "writer.h"

#define SVG_LETTER 6.6f /* average width of a letter in pixels */

struct svg {
	struct writer *out; /* borrowed */
	const char
		*title; /* of the picture, and what is to be said to who cannot see it: any printable text; borrowed */
	const char *description;
	float width, height;
};

/* Write all of PICTURE.  Errors stay in the writer. */
void svg_write(const struct svg *svg, const struct mprof_picture *picture);

#endif
