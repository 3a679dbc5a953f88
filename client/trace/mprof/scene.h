/*
 * libmprof: the picture of a finished model in a window of time, as a list of marks for a painter
 * (a canvas, an SVG).
 *
 *   scene = mprof_scene_new(mprof_model_view(m));
 *   window = (struct mprof_window){.to = end, .width = 1200, .height = 800, .letter_width = 7};
 *   mprof_scene_draw(scene, &window, &picture);
 *   for (i = 0; i < picture.n_marks; i++)
 *           paint(&picture.marks[i]);               // in this order: later ones lie above earlier ones
 *
 * The cost of a picture depends on its pixels and not on the trace: lines on one pixel are one
 * mark, and of the arrows and vertical lines in one column of pixels only some are drawn, the
 * highest, the lowest and the longest among them. Nothing vanishes without a mark. Coordinates are
 * pixels from the upper left corner, x to the right. Marks that begin or end outside are cut at
 * most one picture's width outside.
 *
 * Rows are drawn through a fish-eye: rows near the focus have their full height, farther ones are
 * smaller, and the first and the last row are always inside the picture.
 */
#ifndef MPROF_SCENE_H
#define MPROF_SCENE_H

#include <mprof/model.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPROF_SCENE_COUNTERS 24u /* number of counters shown at first */

enum mprof_window_flag {
	MPROF_WINDOW_COUNTERS = 1, /* draw counters */
	MPROF_WINDOW_LABELS = 2,   /* draw labels and types, as far as there is room */
	MPROF_WINDOW_ARROWS = 4,
	/*
	 * Tracks stand beside the picture (mprof_scene_tracks()), which name what the processor did, and
	 * the painter places labels: bands of sleep and of collections get no names, each label has its
	 * text as far as 48 letters also where it has less room, and a thread without a label is named
	 * by its type and id.
	 */
	MPROF_WINDOW_TRACKED = 8,
};

struct mprof_window {
	uint64_t from; /* time at x = 0, ns */
	uint64_t to;   /* time at x = WIDTH, ns, more than FROM, at most MPROF_TIME_MAX */
	/* Row with the full height, from 0 to the model's rows; may be fractional. */
	double focus;
	float width; /* pixels, 1 to 16,384; HEIGHT too */
	float height;
	float letter_width; /* average, pixels, 1 to 16,384; decides which texts fit */
	uint32_t flags;	    /* enum mprof_window_flag */
};

/*
 * Kinds of marks, in the order in which a picture has them. A horizontal line at Y0 has Y1 = Y0. A
 * band covers X0 to X1 and Y0 to Y1; it has the full height, or with several streams the height of
 * its stream's rows. Paint anything thinner than a pixel one pixel wide.
 */
enum mprof_mark_kind {
	/* Band: idle; ITEM = activation; SHADE = share of its time, 65,535 = all. */
	MPROF_MARK_SLEEPING,
	MPROF_MARK_COLLECTION, /* band: garbage collection; ITEM = collection; SHADE likewise */
	MPROF_MARK_GAP,	       /* band: missing packets; ITEM = gap; SHADE likewise */
	/* Line of full height at X0; TEXT = its exact time; ITEM = 1 for a rounder time. */
	MPROF_MARK_GRID,
	/*
	 * Highlight, 8 pixels wide. If Y0 = Y1, it lies behind the line of a thread, from X0 to X1.
	 * Else it is a vertical line at X0 from Y0 to Y1, to the row on which the thread continues.
	 * ITEM = thread. SHADE = 1 for a highlight so short that it could be missed: it comes after
	 * all other marks, and is painted over them.
	 */
	MPROF_MARK_HIGHLIGHT,
	/* Line at Y0 from X0 to X1; ITEM = thread; SHADE = number of threads on it, less 1. */
	MPROF_MARK_THREAD,
	/* Line likewise: it ran; ITEM = activation; SHADE = number of activations, less 1. */
	MPROF_MARK_RUNNING,
	/* Vertical line at X0 from the parent's Y0 to the child's Y1; ITEM = child. */
	MPROF_MARK_CREATION,
	MPROF_MARK_BECOMES, /* vertical line at X0 from Y0 to Y1; ITEM = the thread that ends */
	/*
	 * Arrow head of 6 pixels, its point at X0, Y0, to the right: never resolved; ITEM = thread.
	 */
	MPROF_MARK_OPEN_END,
	/*
	 * Red line at Y0 from X0 to X1 with a bar at X1: failed, or never resolved; ITEM and SHADE
	 * as MPROF_MARK_THREAD.
	 */
	MPROF_MARK_FAILED,
	/* Arrow from X0, Y0 to X1, Y1; ITEM = interaction; SHADE = opacity, 0 to 65,535. */
	MPROF_MARK_RESOLVE,
	MPROF_MARK_READ,	/* arrow from the thread that was read to the reader */
	MPROF_MARK_READ_FAILED, /* arrow likewise, from a thread that failed */
	MPROF_MARK_TRY_READ,	/* arrow from the reader to the unresolved thread */
	MPROF_MARK_SIGNAL,	/* arrow from the sender */
	/*
	 * TEXT above the line at Y0, its left end at X0, cut at X1; ITEM = thread; SHADE = 1: the label
	 * is longer than TEXT
	 */
	MPROF_MARK_LABEL,
	MPROF_MARK_TYPE, /* TEXT below the line: the thread's type */
	/*
	 * Step: line from X0, Y0 to X1, Y1, horizontal or vertical; ITEM = counter; SHADE = colour,
	 * 0 to 3.
	 */
	MPROF_MARK_COUNTER,
	/* TEXT that ends at X1, its base line at Y0; ITEM = counter; SHADE = colour */
	MPROF_MARK_COUNTER_NAME,
	/* TEXT centred between X0 and X1, its base line at Y0: name of a band */
	MPROF_MARK_BAND_NAME,
	MPROF_MARK_TICK, /* line at X0 from Y0 to Y1: position of a label; ITEM = thread */
	/*
	 * Line at X0 from Y0 to Y1: the content from there up to X1 was not proven when it was
	 * copied; ITEM = stream. Hatch that range on a ruler, never over the threads.
	 */
	MPROF_MARK_TAIL,
	/* Band of a processor's track: it ran as far as no later band says otherwise; ITEM = stream */
	MPROF_MARK_BUSY,
	/*
	 * Lane of a counter: its curve lies between Y0 and Y1; TEXT = its name; ITEM = counter;
	 * SHADE = colour
	 */
	MPROF_MARK_LANE,
	/* Band on a pixel with several samples, from the least to the greatest; ITEM = counter; SHADE = colour */
	MPROF_MARK_ENVELOPE,
	MPROF_MARK_KINDS,
};

struct mprof_mark {
	float x0, y0, x1, y1;
	uint32_t item;	/* index into the model's array that the kind names */
	uint32_t text;	/* offset in the picture's text, bytes */
	uint16_t bytes; /* length of the text */
	uint8_t kind;	/* enum mprof_mark_kind */
	uint8_t stream; /* index of the stream, 255 for all later ones */
	uint32_t shade;
};

/*
 * One picture. The scene owns the marks and the text, which are valid until its next
 * mprof_scene_draw() or mprof_scene_near().
 */
struct mprof_picture {
	const struct mprof_mark *marks;
	/* printable UTF-8: control and direction characters, and broken bytes, are escaped */
	const char *text;
	uint32_t n_marks;
	uint32_t text_bytes;
	uint64_t grid_ns; /* distance of two grid lines, ns */
};

struct mprof_scene;

/*
 * Build an index over a finished model, which must outlive the scene. Takes n log n in the model's
 * size, and at most 16 bytes per event. Return NULL without memory.
 */
MPROF_API struct mprof_scene *mprof_scene_new(const struct mprof_model_view *view);
/* Free S, which may be NULL. Return NULL. */
MPROF_API struct mprof_scene *mprof_scene_free(struct mprof_scene *s);

/*
 * Draw WINDOW into *PICTURE. Return MPROF_OK; MPROF_CORRUPT for an invalid window, or MPROF_NOMEM,
 * both with an empty picture.
 */
MPROF_API enum mprof_status mprof_scene_draw(struct mprof_scene *s, const struct mprof_window *window,
					     struct mprof_picture *picture);

enum mprof_track_kind {
	MPROF_TRACK_PROCESSOR, /* ITEM = stream: MPROF_MARK_BUSY, and the bands and their names over it */
	MPROF_TRACK_COUNTER,   /* ITEM = counter: MPROF_MARK_LANE, then its curve */
};

/* A part of a picture that has one thing. */
struct mprof_track {
	uint32_t kind; /* enum mprof_track_kind */
	uint32_t item;
	float top, height; /* pixels */
};

/*
 * Draw the N TRACKS into *PICTURE: a grid of the height of WINDOW, then track by track. A curve ends
 * with its stream, and begins with its first sample, or with its stream if the counter is relative.
 * A track of a stream or counter that does not exist is left out. Focus and flags are not used.
 * Return, and the lifetime of the picture, as mprof_scene_draw().
 */
MPROF_API enum mprof_status mprof_scene_tracks(struct mprof_scene *s, const struct mprof_window *window,
					       const struct mprof_track *tracks, uint32_t n,
					       struct mprof_picture *picture);

/*
 * Return the thread whose line is nearest to the point X, Y of the picture, at most REACH pixels
 * away. Return MPROF_NONE when there is none, for an invalid window, and without memory.
 */
MPROF_API uint32_t mprof_scene_near(struct mprof_scene *s, const struct mprof_window *window, float x, float y,
				    float reach);

/*
 * Return the y coordinate at which ROW is drawn, pixels; and the focus, in rows, at which ROW is
 * drawn at Y, or as near to it as possible. WINDOW must be valid; mprof_scene_focus() ignores its
 * focus.
 */
MPROF_API float mprof_scene_y(const struct mprof_scene *s, const struct mprof_window *window, double row);
MPROF_API double mprof_scene_focus(const struct mprof_scene *s, const struct mprof_window *window, double row, float y);

/*
 * Mark STREAM as not proven from FROM_NS on. Return false when there is no such stream, or no
 * memory.
 */
MPROF_API bool mprof_scene_tail(struct mprof_scene *s, uint32_t stream, uint64_t from_ns);

/*
 * Highlight no thread; highlight THREAD in addition; highlight in addition THREAD and all threads
 * that it became or that became it. A THREAD that the model does not have is ignored. Without
 * memory less is highlighted.
 */
MPROF_API void mprof_scene_highlight_none(struct mprof_scene *s);
MPROF_API void mprof_scene_highlight(struct mprof_scene *s, uint32_t thread);
MPROF_API void mprof_scene_highlight_aliases(struct mprof_scene *s, uint32_t thread);

/*
 * Show or hide COUNTER, an index of the view's counters; any other number is ignored. At first the
 * first MPROF_SCENE_COUNTERS are shown. Without memory the counter stays hidden.
 */
MPROF_API void mprof_scene_counter(struct mprof_scene *s, uint32_t counter, bool shown);

/*
 * Find the threads with a label, failure or id that contains the BYTES bytes at TEXT, ASCII letters
 * in either case, by the time of the first match. Store them in *THREADS, valid until the next
 * search, and their number in *N. Return MPROF_OK, or MPROF_NOMEM with none found.
 */
MPROF_API enum mprof_status mprof_scene_find(struct mprof_scene *s, const char *text, size_t bytes,
					     const uint32_t **threads, uint32_t *n);

/*
 * Count labels, interactions, activations and samples in each of N equal parts of the time from
 * FROM to TO, ns. Store the N counts in PARTS, clamped to 32 bits; all are 0 when TO is not after
 * FROM.
 */
MPROF_API void mprof_scene_density(const struct mprof_scene *s, uint64_t from, uint64_t to, uint32_t *parts,
				   uint32_t n);

#ifdef __cplusplus
}
#endif

#endif
