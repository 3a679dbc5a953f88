/* State of a scene: its indices, and the picture being drawn. */
#ifndef TRACE_SCENE_STATE_H
#define TRACE_SCENE_STATE_H

#include <mprof/scene.h>

#include "grow.h"
#include "scene-links.h"
#include "scene-pyramid.h"
#include "scene-row-index.h"
#include "scene-sort.h"

/* ---- the fish-eye ---- */

/*
 * The rows that take height, in runs of rows that follow each other (scene-shown.c). The *place* of
 * such a row is the number of such rows before it. The rows between two runs have the place half
 * way between these.
 */
struct shown_rows {
	struct grow runs;  /* struct shown_run, and one more for the end */
	uint32_t n;	   /* number of runs */
	uint32_t total;	   /* number of rows of all runs */
	uint64_t from, to; /* the window for which RUNS were computed, valid if KNOWN */
	bool known;
};

void shown_deinit(struct shown_rows *r);
/* Return the place of ROW, from -0.5 to TOTAL - 0.5; shown_row() is its inverse. */
double shown_place(const struct shown_rows *r, double row);
double shown_row(const struct shown_rows *r, double place);
/* Return the first row from ROW on that takes height; UINT32_MAX if there is none. */
uint32_t shown_from(const struct shown_rows *r, uint32_t row);

/* The fish-eye: heights of rows. */
/* Pixels between rows at the focus, in a picture too small for all rows. */
#define FISHEYE_ROW 30.0
/* Height that a label needs above its line, in widths of a letter. */
#define LABEL_ABOVE 1.6

/*
 * Places are FISHEYE_ROW units apart. A point at a distance of D units from the focus is drawn at
 * tanh(D / (2 SCALE)), stretched so that the first and the last row are MARGIN pixels from the
 * picture's edges. With MPROF_WINDOW_DENSE and room for the labels of all rows, rows are equally far
 * apart.
 */
struct fisheye {
	const struct shown_rows *shown; /* NULL: the place of each row is its number */
	double focus;			/* units */
	double scale;
	double top; /* project() (scene-frame.c) of the first row */
	double range;
	double margin; /* pixels */
	double inner;  /* pixels between the first and the last row */
	double last;   /* index of the last row */
	double end;    /* place of the last row that takes height */
};

/* SHOWN are the rows that take height; NULL: all. */
void fisheye_init(struct fisheye *f, const struct mprof_window *w, uint32_t rows, const struct shown_rows *shown);
/* Return the place of ROW; fisheye_at() the height at which PLACE is drawn. */
double fisheye_place(const struct fisheye *f, double row);
double fisheye_at(const struct fisheye *f, double place);
/* Return the height at which ROW is drawn; it never falls with ROW. */
double fisheye_y(const struct fisheye *f, double row);
/* Return the row at height Y, clamped to the first and the last row. */
double fisheye_row(const struct fisheye *f, double y);

/* ---- scenes ---- */

/* Durations are drawn in a processor's track only. */
enum scene_bands { BANDS_SLEEPING, BANDS_COLLECTION, BANDS_GAP, BANDS_DURATION, BANDS };

/* Kinds of items that mprof_scene_density() counts. */
enum density_kind { DENSITY_LABELS, DENSITY_INTERACTIONS, DENSITY_ACTIVATIONS, DENSITY_SAMPLES, DENSITY_KINDS };

/* For every sixteenth band of one kind, the total time of the bands before it, ns. */
struct band_sums {
	uint64_t *at;
};

struct mprof_scene {
	const struct mprof_model_view *view; /* the caller's */
	struct row_index threads, failed, running;
	struct row_index bands[BANDS];
	struct band_sums sums[BANDS];
	struct links_all links;
	struct scene_groups labels;  /* labels by thread; STARTS is not kept */
	struct scene_groups samples; /* by counter */
	/* Finds the sample of SAMPLES with the smallest and with the greatest value. */
	struct pyramid values;
	/* For each kind the items by time; NULL: the model has them in that order. */
	uint32_t *by_time[DENSITY_KINDS];
	uint64_t origin;	     /* time of the first event */
	uint8_t *hidden;	     /* bit for each thread that the filter leaves out; NULL: none */
	uint8_t *chosen;	     /* bit for each thread that is highlighted; NULL: no thread is */
	struct row_index highlights; /* index of the highlighted threads, valid when HIGHLIGHTS_KNOWN */
	bool highlights_known;
	struct grow counters; /* uint32_t, sorted: shown counters */
	/*
	 * Start of the unproven tail of each stream, UINT64_MAX for none; NULL: no stream has one.
	 */
	uint64_t *tails;
	struct shown_rows shown;
	uint32_t *found;    /* result of the last search, threads */
	struct grow marks;  /* struct mprof_mark */
	struct grow text;   /* char */
	struct grow groups; /* struct row_group */
	struct grow named;  /* uint32_t, threads with room for a text */
	struct grow open;   /* struct open_end */
	uint64_t steps;	    /* cost of the last picture: accesses to items of the model, and marks */
};

/* Rows drawn at one height: block BLOCK of level LEVEL (scene-row-index.h). */
struct row_group {
	uint32_t block;
	uint16_t level;
	uint16_t room; /* whole pixels up to the row above; 0 for more than one row */
	float y;
};

/*
 * Return the rows that take height in WINDOW, valid until the next call; NULL: all do.
 */
const struct shown_rows *shown_rows(struct mprof_scene *s, const struct mprof_window *window);

struct open_end {
	uint32_t thread;
	float x, y;
};

#define FRAME_ROWS 512u

#define ALIVE_WIDTH 16.0  /* width of an area of struct alive, pixels */
#define ALIVE_AREAS 1025u /* a picture is at most 16,384 pixels wide */

/*
 * For rows that are drawn together, the share of the rows and of the time of each area of the picture in
 * which there is an item, in steps.
 */
struct alive {
	const struct row_index *l; /* the index and the block of its level; NULL: nothing is known */
	uint32_t block;
	uint16_t level;
	uint8_t steps[ALIVE_AREAS];
};

/* A picture being drawn. */
struct frame {
	struct mprof_scene *s;
	const struct mprof_model_view *v;
	struct mprof_window w;
	struct fisheye fisheye;
	double scale; /* pixels per nanosecond */
	/*
	 * Links that end on a column of pixels are drawn together; COLUMN is its width, and FEW the
	 * number of links of one kind up to which each is drawn.
	 */
	double column;
	uint32_t few;
	double near; /* short lines on a row that are less than this apart are one, pixels */
	struct frame_row {
		uint32_t row;
		double y;
	} rows[FRAME_ROWS]; /* a cache of heights of rows, because many links lead to the same rows */
	struct alive alive; /* of the rows that are being drawn */
	uint64_t origin;    /* time of the first event */
	uint64_t budget;    /* pieces that may still be read to draw rows on one pixel more exactly */
	uint64_t grid_ns;
	bool failed; /* out of memory */
};

/* Begin a picture, and discard the previous one. Return false for an invalid WINDOW. */
bool frame_init(struct frame *f, struct mprof_scene *s, const struct mprof_window *window);

/*
 * frame_x() converts a time to x, as exactly as a double can. frame_clip() limits x to at most one
 * picture's width outside of the picture. frame_width() converts a duration to pixels.
 */
double frame_x(const struct frame *f, uint64_t time);
double frame_clip(const struct frame *f, double x);
double frame_width(const struct frame *f, uint64_t from, uint64_t to);
/* Return the last time that is not drawn right of X, clamped to 0 … MPROF_TIME_MAX. */
uint64_t frame_time(const struct frame *f, double x);
double frame_y(struct frame *f, uint32_t row);

/*
 * Append a mark of KIND with all other fields 0. Return it, valid until the next call. Without
 * memory return NULL and set FAILED.
 */
struct mprof_mark *frame_mark(struct frame *f, enum mprof_mark_kind kind);
/* Return the stream of THREAD as a mark's field STREAM has it. */
uint8_t frame_stream(const struct frame *f, uint32_t thread);
/*
 * Set the text of MARK to as much of the BYTES bytes at TEXT as LETTERS letters hold when it is
 * escaped. Return the number of letters. If MARK is NULL, only count.
 */
uint32_t frame_text(struct frame *f, struct mprof_mark *mark, const char *text, size_t bytes, uint32_t letters);
/* Return the number of letters that fit into WIDTH pixels. */
uint32_t frame_letters(const struct frame *f, double width);

/* Parts of a picture, in drawing order. */
void draw_bands(struct frame *f);
void draw_grid(struct frame *f);
void draw_shades(struct frame *f);
void draw_highlights(struct frame *f, bool narrow);
void draw_threads(struct frame *f);
void draw_running(struct frame *f);
void draw_verticals(struct frame *f);
void draw_open_ends(struct frame *f);
void draw_failed(struct frame *f);
void draw_arrows(struct frame *f);
void draw_labels(struct frame *f);
void draw_counters(struct frame *f);
void draw_band_names(struct frame *f);
/* Return the left edge of the column of pixels that contains X. */
double frame_column(const struct frame *f, double x);
/*
 * Return the place after the links that end on the same column of pixels as the link at PLACE, or
 * up to a pixel after that column.
 */
uint32_t frame_column_end(const struct frame *f, struct links *l, uint32_t place);

/* Parts of a picture of tracks: see mprof_scene_tracks(). */
void draw_processor(struct frame *f, uint32_t stream, double top, double bottom);
void draw_lane(struct frame *f, uint32_t counter, double top, double bottom);

/*
 * Compute which rows are drawn together at one height (struct row_group). Return false without
 * memory.
 */
bool frame_group_rows(struct frame *f);

/*
 * Build the indices of everything on the rows of threads anew, after HIDDEN changed. Return false
 * without memory, with nothing changed.
 */
bool threads_renew(struct mprof_scene *s);

/* Build the indices of single parts. Return false without memory. */
bool bands_init(struct mprof_scene *s);
bool labels_init(struct mprof_scene *s);
bool counters_init(struct mprof_scene *s);
bool density_init(struct mprof_scene *s);
void density_deinit(struct mprof_scene *s);
/* Return the number of items of KIND before TIME. The first FROM items are before TIME. */
uint32_t density_before(const struct mprof_scene *s, enum density_kind kind, uint32_t from, uint64_t time);

/* A walk over the pieces of a block. It joins pieces that are drawn as one line to a *run*. */
struct walk {
	struct frame *f;
	struct row_index *l;
	unsigned level;
	uint32_t at, end; /* pieces */
	uint64_t drawn;	  /* end of the last run, ns */
};

struct run {
	uint64_t start, end; /* time */
	uint32_t item;	     /* first item */
	uint32_t n;	     /* number of items */
	uint32_t from, to;   /* pieces: from FROM up to, but not including, TO */
	bool single;	     /* the run is one piece */
};

void walk_init(struct walk *w, struct frame *f, struct row_index *index, unsigned level, uint32_t block);
/* Store the next run in *RUN. Return false after the last one. */
bool walk_next(struct walk *w, struct run *run);
/*
 * Call DRAW for all runs of INDEX in the window, row group by row group. If a level is not exact enough
 * for a group, walk over rows or blocks of a lower level instead. The ROOM of the GROUP that DRAW
 * gets is 0 when several rows are drawn together.
 */
void walk_rows(struct frame *f, struct row_index *index,
	       void (*draw)(struct frame *f, const struct run *run, const struct row_group *group));

#endif
