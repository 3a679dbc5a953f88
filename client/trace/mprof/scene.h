/*
 * libmprof: what is drawn of a finished model in a window of time, as a list of marks.  Whoever paints (a canvas, an SVG) decides nothing.
 *
 *   scene = mprof_scene_new(mprof_model_view(m));
 *   mprof_scene_draw(scene, &(struct mprof_window){.from = 0, .to = view_end, .width = 1200, .height = 800, .letter = 7}, &picture);
 *   for (i = 0; i < picture.n_marks; i++)
 *           paint(&picture.marks[i]);               // in this order: later ones lie above earlier ones
 *
 * A picture costs no more than it has pixels, whatever the trace holds: lines that lie on one pixel are one mark, and of the arrows and
 * vertical lines in one column of pixels some are drawn, the highest, the lowest and the longest among them.  Nothing that is there is left out
 * as if it were not.  Coordinates are pixels from the picture's upper left corner, x to the right; what begins or ends outside is cut at most
 * one picture's width outside.
 *
 * Rows are drawn through a fish-eye: those near the focus have their full height, the farther the smaller, the first and the last row are
 * always within the picture.
 */
#ifndef MPROF_SCENE_H
#define MPROF_SCENE_H

#include <mprof/model.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPROF_SCENE_COUNTERS 24u /* so many counters are drawn unless told otherwise */

enum mprof_window_flag {
	MPROF_WINDOW_COUNTERS = 1, /* draw counters */
	MPROF_WINDOW_LABELS = 2,   /* labels and types, as room allows */
	MPROF_WINDOW_ARROWS = 4,
};

struct mprof_window {
	uint64_t from; /* time at x = 0 */
	uint64_t to;   /* time at x = WIDTH, more than FROM */
	double focus;  /* the row that is drawn largest, from 0 to the model's rows; fractions too */
	float width;   /* pixels, 1 to 16,384 */
	float height;
	float letter;	/* average width of a letter, pixels: for what room a text needs */
	uint32_t flags; /* enum mprof_window_flag */
};

/*
 * The marks of a picture are in the order in which they are painted.  A line at Y0 has Y1 = Y0.  Of a band X0 to X1 and Y0 to Y1 are its corners;
 * it is of full height unless there are several streams: then it is as high as its own stream's rows.  What is thinner than a pixel is to be painted
 * a pixel wide.
 */
enum mprof_mark_kind {
	MPROF_MARK_SLEEPING,   /* band: nothing runs; ITEM = activation; SHADE = the share of its time, 65,535 = all */
	MPROF_MARK_COLLECTION, /* band: garbage is collected; ITEM = collection; SHADE as above */
	MPROF_MARK_GAP,	       /* band: packets are missing; ITEM = gap; SHADE as above */
	MPROF_MARK_GRID, /* line of full height at X0; TEXT = its time, exact; ITEM = 1 for a rounder time than its neighbours' */
	MPROF_MARK_HIGHLIGHT, /* 8 pixels wide behind a thread's line, or behind a line from Y0 to Y1; one too short to be seen comes last of all marks */
	MPROF_MARK_THREAD,    /* line at Y0 from X0 to X1; ITEM = thread; SHADE = how many threads lie on it, less 1 */
	MPROF_MARK_RUNNING,   /* the same: it ran; ITEM = activation; SHADE = how many activations, less 1 */
	MPROF_MARK_CREATION,  /* vertical line at X0 from the parent's Y0 to the child's Y1; ITEM = child */
	MPROF_MARK_BECOMES,   /* vertical line at X0 from Y0 to Y1; ITEM = the thread that ends */
	MPROF_MARK_OPEN_END, /* an arrow head, 6 pixels long, with its point at X0, Y0, to the right: never resolved; ITEM = thread */
	MPROF_MARK_FAILED, /* red line at Y0 from X0 to X1 with a bar at X1: failed, or should have resolved; ITEM and SHADE as THREAD's */
	MPROF_MARK_RESOLVE,	/* arrow from X0, Y0 to X1, Y1; ITEM = interaction; SHADE = opacity, 0 to 65,535 */
	MPROF_MARK_READ,	/* arrow from the thread that was read to the reader */
	MPROF_MARK_READ_FAILED, /* the same, of a thread that failed */
	MPROF_MARK_TRY_READ,	/* arrow from the reader to the thread that was not resolved */
	MPROF_MARK_SIGNAL,	/* arrow from the sender */
	MPROF_MARK_LABEL,	/* TEXT above the line at Y0, its left end at X0, cut at X1; ITEM = thread */
	MPROF_MARK_TYPE,	/* the same below the line: a thread's type */
	MPROF_MARK_COUNTER, /* a step: line from X0, Y0 to X1, Y1 (one of the two is constant); ITEM = counter; SHADE = its colour, 0 to 3 */
	MPROF_MARK_COUNTER_NAME, /* TEXT that ends at X1, its foot at Y0; ITEM = counter; SHADE = its colour */
	MPROF_MARK_BAND_NAME,	 /* TEXT centred between X0 and X1, its foot at Y0: what a band is */
	MPROF_MARK_TICK,	 /* at X0 from Y0 to Y1: here a label belongs; ITEM = thread */
	MPROF_MARK_TAIL,	 /* band: what stands here was not proven when it was copied; ITEM = stream */
	MPROF_MARK_KINDS,
};

struct mprof_mark {
	float x0, y0, x1, y1;
	uint32_t item;	/* index into the model's array that the kind names */
	uint32_t text;	/* offset in the picture's text */
	uint16_t bytes; /* of the text */
	uint8_t kind;	/* enum mprof_mark_kind */
	uint8_t stream; /* of several: its index, 255 for all later ones */
	uint32_t shade;
};

/* Lent until the next picture of the same scene. */
struct mprof_picture {
	const struct mprof_mark *marks;
	const char *text; /* printable UTF-8: control and direction characters are escaped, broken bytes too */
	uint32_t n_marks;
	uint32_t text_bytes;
	uint64_t grid_ns; /* between two grid lines */
};

struct mprof_scene;

/* An index over a finished model, which must outlive it; NULL without memory.  n log n in the model's size, at most 16 bytes an event more. */
MPROF_API struct mprof_scene *mprof_scene_new(const struct mprof_model_view *view);
/* Takes NULL too; returns NULL. */
MPROF_API struct mprof_scene *mprof_scene_free(struct mprof_scene *s);

/* Draw.  MPROF_OK; MPROF_CORRUPT for a window that cannot be; MPROF_NOMEM. */
MPROF_API enum mprof_status mprof_scene_draw(struct mprof_scene *s, const struct mprof_window *window,
					     struct mprof_picture *picture);

/* The thread whose line is nearest to a point of the picture, up to REACH pixels away, or MPROF_NONE. */
MPROF_API uint32_t mprof_scene_near(struct mprof_scene *s, const struct mprof_window *window, float x, float y,
				    float reach);

/* Where a row is drawn, and the focus at which ROW is drawn at height Y, or as near to it as can be. */
MPROF_API float mprof_scene_y(const struct mprof_scene *s, const struct mprof_window *window, double row);
MPROF_API double mprof_scene_focus(const struct mprof_scene *s, const struct mprof_window *window, double row, float y);

/* What STREAM has from FROM_NS on was not proven: it is drawn as that.  False where there is no such stream. */
MPROF_API bool mprof_scene_tail(struct mprof_scene *s, uint32_t stream, uint64_t from_ns);

/* Highlight nothing; THREAD too; THREAD and all that it becomes or that became it. */
MPROF_API void mprof_scene_plain(struct mprof_scene *s);
MPROF_API void mprof_scene_highlight(struct mprof_scene *s, uint32_t thread);
MPROF_API void mprof_scene_family(struct mprof_scene *s, uint32_t thread);

/* Draw COUNTER or do not.  At first the MPROF_SCENE_COUNTERS first ones are drawn. */
MPROF_API void mprof_scene_counter(struct mprof_scene *s, uint32_t counter, bool shown);

/*
 * The threads with a label (or an id) that contains BYTES bytes of TEXT, upper and lower case of ASCII being one, in the order of their first
 * such label: their number; THREADS (lent until the next search) says which.  MPROF_NOMEM leaves none.
 */
MPROF_API enum mprof_status mprof_scene_find(struct mprof_scene *s, const char *text, size_t bytes,
					     const uint32_t **threads, uint32_t *n);

/* How much happens: items (labels, interactions, activations, samples) in each of N equal parts of the time from FROM up to TO. */
MPROF_API void mprof_scene_density(const struct mprof_scene *s, uint64_t from, uint64_t to, uint32_t *parts,
				   uint32_t n);

#ifdef __cplusplus
}
#endif

#endif
