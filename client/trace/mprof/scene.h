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
 * mark. If a column of pixels has many arrows or vertical lines, only some are drawn, the highest, the
 * lowest and the longest among them; MPROF_WINDOW_SHADED also draws how many there are. Nothing
 * vanishes without a mark. Coordinates are pixels from the upper left corner, x to the right, y
 * downwards. A mark that begins or ends outside of the picture is cut at most one picture's width
 * outside.
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
	MPROF_WINDOW_LABELS = 2,   /* draw labels and types of threads, as far as there is room */
	MPROF_WINDOW_ARROWS = 4,
	/*
	 * For a picture with tracks beside it (mprof_scene_tracks()), whose painter places the
	 * labels. The tracks name what the processor did, so bands of sleep and of collections get
	 * no names. Each label has up to 48 letters of its text, also where fewer fit. A thread
	 * without a label is named by its type and id.
	 */
	MPROF_WINDOW_TRACKED = 8,
	/*
	 * Rows without a thread in the window take no height; of several streams, each keeps its
	 * first row. In a window with very many rows some empty rows keep their height. If there
	 * is room for the labels of all rows that take height, these rows are equally far apart.
	 */
	MPROF_WINDOW_DENSE = 16,
	/*
	 * Draw how many arrows or vertical lines of one kind, or labels, share a column of pixels, if
	 * there are many (MPROF_MARK_SHADE; labels with MPROF_WINDOW_LABELS). The more there are, the
	 * fainter is each one that is drawn. Draw threads and activations that are too short to be
	 * drawn one by one with the share of time that they take.
	 */
	MPROF_WINDOW_SHADED = 32,
	MPROF_WINDOW_GRID_ORIGIN = 64, /* count the grid's lines from ORIGIN, not from the first event */
	/*
	 * Place the grid's lines at round times of day. The time of day of a time T is T + DAY_SHIFT
	 * modulo 24 hours.
	 */
	MPROF_WINDOW_GRID_DAY = 128,
};

struct mprof_window {
	uint64_t from; /* time at x = 0, ns */
	uint64_t to;   /* time at x = WIDTH, ns, more than FROM, at most MPROF_TIME_MAX */
	/*
	 * Focus: the row that is drawn at full height, from 0 to the model's number of rows. May be
	 * fractional.
	 */
	double focus;
	float width; /* WIDTH and HEIGHT of the picture, pixels, 1 to 16,384 */
	float height;
	float letter_width; /* average width of a letter, pixels, 1 to 16,384: decides which texts fit */
	uint32_t flags;	    /* enum mprof_window_flag */
	uint64_t day_shift; /* ns, added modulo 2^64; used with MPROF_WINDOW_GRID_DAY */
	int64_t origin;	    /* a time, ns, also below 0; used with MPROF_WINDOW_GRID_ORIGIN */
};

/*
 * Kinds of marks, in the order in which a picture has them. Each comment says what ITEM, TEXT and
 * SHADE of such a mark mean. A horizontal line at Y0 has Y1 = Y0. A band covers X0 to X1 and Y0 to
 * Y1; it has the picture's full height, or with several streams the height of its stream's rows.
 * Paint anything thinner than a pixel one pixel wide.
 */
enum mprof_mark_kind {
	/*
	 * Band: the program was idle. ITEM = activation of the root; SHADE = share of the band's
	 * time in which that was so, 65,535 = all.
	 */
	MPROF_MARK_SLEEPING,
	MPROF_MARK_COLLECTION, /* Band: garbage collection. ITEM = collection; SHADE as MPROF_MARK_SLEEPING. */
	MPROF_MARK_GAP,	       /* Band: missing packets. ITEM = gap; SHADE as MPROF_MARK_SLEEPING. */
	/*
	 * Vertical line of full height at X0. TEXT = the time there; ITEM = 1 if the time is a
	 * multiple of the next power of ten, else 0.
	 */
	MPROF_MARK_GRID,
	/*
	 * Area from X0 to X1 and Y0 to Y1 that many arrows or vertical lines of one kind cross, or
	 * that has many labels. ITEM = their kind, MPROF_MARK_CREATION to MPROF_MARK_SIGNAL, or
	 * MPROF_MARK_LABEL; SHADE = how many are in each column of pixels: 65,535 / 8 for one, and
	 * as much more for four times as many, up to 65,535.
	 */
	MPROF_MARK_SHADE,
	/*
	 * Highlight, 8 pixels wide, behind a thread's line from X0 to X1, or behind a vertical line
	 * from Y0 to Y1. Highlights of lines too short to be seen come after all other marks.
	 */
	MPROF_MARK_HIGHLIGHT,
	/*
	 * Line at Y0 from X0 to X1: life of a thread. ITEM = thread; COUNT = number of threads that
	 * share the line, less 1, at most 65,535; SHADE = share of the line's time in which one of
	 * them lived, 65,535 = all (MPROF_WINDOW_SHADED; else 65,535). If several rows are drawn at one
	 * height, SHADE is the share of these rows, over the line's time, in which one lived, estimated.
	 */
	MPROF_MARK_THREAD,
	/*
	 * Line at Y0 from X0 to X1: a thread ran. ITEM = activation; COUNT and SHADE as
	 * MPROF_MARK_THREAD, of activations.
	 */
	MPROF_MARK_RUNNING,
	/*
	 * Vertical line at X0 from the parent's Y0 to the child's Y1; ITEM = child; SHADE = opacity,
	 * 0 to 65,535.
	 */
	MPROF_MARK_CREATION,
	/*
	 * Vertical line at X0 from Y0 to Y1: a thread became another. ITEM = the thread that ends;
	 * SHADE = opacity.
	 */
	MPROF_MARK_BECOMES,
	/*
	 * Arrow head of 6 pixels that points to the right, with its point at X0, Y0: the thread was
	 * never resolved. ITEM = thread.
	 */
	MPROF_MARK_OPEN_END,
	/*
	 * Red line at Y0 from X0 to X1 with a bar at X1: life of a thread that failed, or that
	 * should have resolved and did not. ITEM, COUNT and SHADE as MPROF_MARK_THREAD.
	 */
	MPROF_MARK_FAILED,
	/*
	 * Arrow from X0, Y0 to X1, Y1, from the resolver to the thread that it resolved; so are the
	 * next four, with other ends. ITEM = interaction; SHADE = opacity, 0 to 65,535.
	 */
	MPROF_MARK_RESOLVE,
	MPROF_MARK_READ,	/* arrow from the thread that was read to the reader */
	MPROF_MARK_READ_FAILED, /* the same arrow, from a thread that failed */
	MPROF_MARK_TRY_READ,	/* arrow from the reader to the unresolved thread */
	MPROF_MARK_SIGNAL,	/* arrow from the sender of a signal to the receiver */
	/*
	 * TEXT above the thread's line at Y0: a label. Its left end is at X0, and it is cut at X1.
	 * ITEM = thread; SHADE = 1 if the label is longer than TEXT, else 0.
	 */
	MPROF_MARK_LABEL,
	MPROF_MARK_TYPE, /* TEXT below the thread's line: its type; else as MPROF_MARK_LABEL */
	/*
	 * A part of a counter's curve: a horizontal or vertical line from X0, Y0 to X1, Y1. ITEM =
	 * counter; SHADE = number of the colour, 0 to 3.
	 */
	MPROF_MARK_COUNTER,
	/*
	 * TEXT that ends at X1, with its base line at Y0: a counter's name. ITEM and SHADE as
	 * MPROF_MARK_COUNTER.
	 */
	MPROF_MARK_COUNTER_NAME,
	/* TEXT centred between X0 and X1, its base line at Y0: name of a band */
	MPROF_MARK_BAND_NAME,
	MPROF_MARK_TICK, /* Line at X0 from Y0 to Y1 that marks the time of a label. ITEM = thread. */
	/*
	 * Line at X0 from Y0 to Y1: the trace from there up to X1 was copied without proof that it
	 * was complete (mprof_scene_tail()). ITEM = stream. Hatch that range on a ruler, never over
	 * the threads.
	 */
	MPROF_MARK_TAIL,
	/*
	 * Band of a processor's track: the processor ran, except where a later band lies over this
	 * one. ITEM = stream.
	 */
	MPROF_MARK_BUSY,
	/*
	 * Lane of a counter, from Y0 to Y1, for the counter's curve. TEXT = the counter's name;
	 * ITEM and SHADE as MPROF_MARK_COUNTER.
	 */
	MPROF_MARK_LANE,
	/*
	 * Band on a pixel with several samples of a counter, from the least to the greatest one.
	 * ITEM and SHADE as MPROF_MARK_COUNTER.
	 */
	MPROF_MARK_ENVELOPE,
	/*
	 * Band of a processor's track: a thread's duration, the innermost one. ITEM = duration; SHADE as
	 * MPROF_MARK_SLEEPING.
	 */
	MPROF_MARK_DURATION,
	MPROF_MARK_KINDS,
};

struct mprof_mark {
	float x0, y0, x1, y1;
	uint32_t item;	/* index into the model's array that the kind names */
	uint32_t text;	/* offset in the picture's text, bytes */
	uint16_t bytes; /* length of the text */
	uint8_t kind;	/* enum mprof_mark_kind */
	uint8_t stream; /* index of the stream; 255 stands for stream 255 and all later ones */
	uint16_t shade;
	uint16_t count;
};

/*
 * One picture. The scene owns the marks and the text, which are valid until its next
 * mprof_scene_draw() or mprof_scene_near().
 */
struct mprof_picture {
	const struct mprof_mark *marks;
	/*
	 * Texts of the marks, printable UTF-8: control and direction characters, and broken bytes,
	 * are escaped.
	 */
	const char *text;
	uint32_t n_marks;
	uint32_t text_bytes;
	uint64_t grid_ns; /* distance of two grid lines, ns */
};

struct mprof_scene;

/*
 * Build a scene: an index over VIEW, of a finished model, which must outlive the scene. This takes
 * n log n in the model's size, and at most 16 bytes of memory per event. Return NULL without
 * memory.
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
	/*
	 * ITEM = stream; marks: MPROF_MARK_BUSY, and over it the bands of the stream and their
	 * names.
	 */
	MPROF_TRACK_PROCESSOR,
	MPROF_TRACK_COUNTER, /* ITEM = counter; marks: MPROF_MARK_LANE, then the counter's curve */
};

/* A horizontal stripe of a picture for one processor or one counter. */
struct mprof_track {
	uint32_t kind; /* enum mprof_track_kind */
	uint32_t item;
	float top, height; /* pixels */
};

/*
 * Draw the N TRACKS into *PICTURE: first the grid lines over the height of WINDOW, then track by
 * track. A counter's curve ends with its stream; it begins with its first sample, or with the
 * stream if the counter is relative. A track of a stream or counter that does not exist is left
 * out. Only the window's flags of the grid are used, and its focus is not. Return as mprof_scene_draw(); the picture is
 * valid as long.
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
 * mprof_scene_y() returns the y coordinate at which ROW is drawn, pixels. mprof_scene_focus()
 * returns the focus, in rows, with which ROW is drawn at the y coordinate Y, or as near to Y as
 * possible; it ignores the focus of WINDOW. mprof_scene_row() returns the row that is drawn at the y
 * coordinate Y, or the nearest one. WINDOW must be valid.
 */
MPROF_API float mprof_scene_y(struct mprof_scene *s, const struct mprof_window *window, double row);
MPROF_API double mprof_scene_focus(struct mprof_scene *s, const struct mprof_window *window, double row, float y);
MPROF_API double mprof_scene_row(struct mprof_scene *s, const struct mprof_window *window, float y);

/*
 * Record that the trace of STREAM is not proven from the time FROM_NS on: its last bytes were
 * copied without proof that they were complete. Later pictures show it (MPROF_MARK_TAIL). Return
 * false when there is no such stream, or no memory.
 */
MPROF_API bool mprof_scene_tail(struct mprof_scene *s, uint32_t stream, uint64_t from_ns);

/*
 * mprof_scene_highlight_none() ends all highlights. mprof_scene_highlight() adds THREAD to the
 * highlighted threads. mprof_scene_highlight_aliases() adds THREAD, all threads that it became, and
 * all that became it. A THREAD that the model does not have is ignored. Without memory fewer
 * threads are highlighted.
 */
MPROF_API void mprof_scene_highlight_none(struct mprof_scene *s);
MPROF_API void mprof_scene_highlight(struct mprof_scene *s, uint32_t thread);
MPROF_API void mprof_scene_highlight_aliases(struct mprof_scene *s, uint32_t thread);

#define MPROF_FILTER_LABEL_MAX 256u /* most bytes of a filter's LABEL */

/* Which threads to show: those that meet all conditions. */
struct mprof_thread_filter {
	/*
	 * A bit for each type (1 << enum mprof_thread_type); bit 31 stands for all types from 31
	 * on. 0: any type.
	 */
	uint32_t types;
	uint32_t unresolved; /* 1: only threads that were not resolved; 0: any */
	/*
	 * Only this thread and those on which it depends: those that it read, that resolved or
	 * signalled it, that it became, and those on which these depend. MPROF_NONE: any.
	 */
	uint32_t depends;
	/*
	 * Only threads with a label or a failure that contains the BYTES bytes at LABEL. A * stands
	 * for any text; ASCII letters match in either case. 0 bytes: any.
	 */
	uint32_t bytes;
	const char *label;
};

/*
 * Show only the threads that pass FILTER; NULL: all. The others have no marks, and mprof_scene_near()
 * does not find them. The scene is built anew, as in mprof_scene_new(), and copies nothing of FILTER.
 * Return MPROF_OK; MPROF_CORRUPT if LABEL is too long, or MPROF_NOMEM, both with nothing changed.
 */
MPROF_API enum mprof_status mprof_scene_filter(struct mprof_scene *s, const struct mprof_thread_filter *filter);

/*
 * Show or hide COUNTER, an index of the view's counters; any other number is ignored. At first the
 * first MPROF_SCENE_COUNTERS are shown. Without memory the counter stays hidden.
 */
MPROF_API void mprof_scene_counter(struct mprof_scene *s, uint32_t counter, bool shown);

/*
 * mprof_scene_sample() returns the last sample of COUNTER at TIME (ns) or before,
 * mprof_scene_sample_after() the first one after TIME, as an index of the view's samples. Return
 * MPROF_NONE if there is none, or no such counter.
 */
MPROF_API uint32_t mprof_scene_sample(const struct mprof_scene *s, uint32_t counter, uint64_t time);
MPROF_API uint32_t mprof_scene_sample_after(const struct mprof_scene *s, uint32_t counter, uint64_t time);

/*
 * Find the threads with a label, failure or id that contains the BYTES bytes at TEXT; ASCII letters
 * match in either case. Store the threads in *THREADS, by the time of the first match, and their
 * number in *N. They are valid until the next search. Return MPROF_OK, or MPROF_NOMEM with *N = 0.
 */
MPROF_API enum mprof_status mprof_scene_find(struct mprof_scene *s, const char *text, size_t bytes,
					     const uint32_t **threads, uint32_t *n);

/*
 * Count the labels, interactions, activations and samples, all together, in each of N equal parts
 * of the time from FROM to TO, ns. Store the N sums in PARTS, clamped to 32 bits; all are 0 when TO
 * is not after FROM.
 */
MPROF_API void mprof_scene_density(const struct mprof_scene *s, uint64_t from, uint64_t to, uint32_t *parts,
				   uint32_t n);

#ifdef __cplusplus
}
#endif

#endif
