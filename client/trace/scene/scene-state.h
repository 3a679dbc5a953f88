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

/* The fish-eye: heights of rows. */
/* Pixels between rows at the focus, in a picture too small for all rows. */
#define FISHEYE_ROW 30.0

/*
 * Rows are FISHEYE_ROW units apart. A unit at distance D from the focus is drawn at tanh(D / (2
 * SCALE)), stretched so that the first and the last row are MARGIN pixels from the picture's edges.
 */
struct fisheye {
	double focus; /* units */
	double scale;
	double top; /* projection of the first row */
	double range;
	double margin; /* pixels */
	double inner;  /* pixels between the first and the last row */
	double last;   /* last row */
};

void fisheye_init(struct fisheye *f, const struct mprof_window *w, uint32_t rows);
/* Return the height at which ROW is drawn; it never falls with ROW. */
double fisheye_y(const struct fisheye *f, double row);
/* Return the row at height Y, clamped to the first and the last row. */
double fisheye_row(const struct fisheye *f, double y);

/* ---- scenes ---- */

enum scene_bands { BANDS_SLEEPING, BANDS_COLLECTION, BANDS_GAP, BANDS };

/* Items that mprof_scene_density() counts. */
enum density_kind { DENSITY_LABELS, DENSITY_INTERACTIONS, DENSITY_ACTIVATIONS, DENSITY_SAMPLES, DENSITY_KINDS };

/* Total time of the bands of one kind before each sixteenth. */
struct band_sums {
	uint64_t *at;
};

struct mprof_scene {
	const struct mprof_model_view *view; /* the caller's */
	struct row_index threads, failed, running;
	struct row_index bands[BANDS];
	struct band_sums sums[BANDS];
	struct links_all links;
	struct scene_groups labels;	  /* by thread; without STARTS */
	struct scene_groups samples;	  /* by counter */
	struct pyramid values;		  /* smallest and greatest value of those */
	uint32_t *by_time[DENSITY_KINDS]; /* items by time; NULL: as in the model */
	uint64_t origin;		  /* time of the first event */
	uint8_t *chosen;		  /* bit for each thread: highlighted; NULL: none */
	struct row_index highlights;	  /* index of those, when HIGHLIGHTS_KNOWN */
	bool highlights_known;
	struct grow counters; /* uint32_t, sorted: shown counters */
	/*
	 * Start of the unproven tail of each stream, UINT64_MAX for none; NULL: no stream has one.
	 */
	uint64_t *tails;
	uint32_t *found;    /* result of the last search, threads */
	struct grow marks;  /* struct mprof_mark */
	struct grow text;   /* char */
	struct grow groups; /* struct row_group */
	struct grow named;  /* uint32_t, threads with room for a text */
	struct grow open;   /* struct open_end */
	uint64_t steps;	    /* steps of the last picture: accesses to items of the model, and marks */
};

/* Rows drawn at one height: a block of a level (scene-row-index.h). */
struct row_group {
	uint32_t block;
	uint16_t level;
	uint16_t room; /* whole pixels up to the row above; 0 for more than one row */
	float y;
};

struct open_end {
	uint32_t thread;
	float x, y;
};

#define FRAME_ROWS 512u

/* A picture being drawn. */
struct frame {
	struct mprof_scene *s;
	const struct mprof_model_view *v;
	struct mprof_window w;
	struct fisheye fisheye;
	double scale; /* pixels per nanosecond */
	struct frame_row {
		uint32_t row;
		double y;
	} rows[FRAME_ROWS]; /* heights of some rows, because many links lead to them */
	uint64_t origin;    /* time of the first event */
	uint64_t budget;    /* steps left for a closer look at rows on one pixel */
	uint64_t grid_ns;
	bool failed; /* out of memory */
};

/* Begin a picture, and discard the previous one. Return false for an invalid WINDOW. */
bool frame_init(struct frame *f, struct mprof_scene *s, const struct mprof_window *window);

/*
 * Convert times to x, as exactly as a double can; clip x to at most one picture's width outside;
 * convert a duration to a width.
 */
double frame_x(const struct frame *f, uint64_t time);
double frame_clip(const struct frame *f, double x);
double frame_width(const struct frame *f, uint64_t from, uint64_t to);
/* Return the last time that is not right of X, clamped to 0 … MPROF_TIME_MAX. */
uint64_t frame_time(const struct frame *f, double x);
double frame_y(struct frame *f, uint32_t row);

/* Append a mark, zeroed but for KIND. Return NULL without memory, and set FAILED. */
struct mprof_mark *frame_mark(struct frame *f, enum mprof_mark_kind kind);
/* Return the stream of a thread, as a mark has it. */
uint8_t frame_stream(const struct frame *f, uint32_t thread);
/*
 * Set the text of MARK to the beginning of BYTES bytes at TEXT that has at most LETTERS letters.
 * Return its length in letters, escaped.
 */
uint32_t frame_text(struct frame *f, struct mprof_mark *mark, const char *text, size_t bytes, uint32_t letters);
/* Return how many letters fit into WIDTH. */
uint32_t frame_letters(const struct frame *f, double width);

/* Parts of a picture, in drawing order. */
void draw_bands(struct frame *f);
void draw_grid(struct frame *f);
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
/* Parts of a picture of tracks: see mprof_scene_tracks(). */
void draw_processor(struct frame *f, uint32_t stream, double top, double bottom);
void draw_lane(struct frame *f, uint32_t counter, double top, double bottom);

/* Compute which rows are drawn together. Return false without memory. */
bool frame_group_rows(struct frame *f);

/* Build the indices of single parts. Return false without memory. */
bool bands_init(struct mprof_scene *s);
bool labels_init(struct mprof_scene *s);
bool counters_init(struct mprof_scene *s);
bool density_init(struct mprof_scene *s);
void density_deinit(struct mprof_scene *s);

/* Walk over the pieces of a block, in runs that are drawn as one line. */
struct walk {
	struct frame *f;
	struct row_index *l;
	unsigned level;
	uint32_t at, end; /* pieces */
	uint64_t drawn;	  /* time up to which runs were drawn */
};

struct run {
	uint64_t start, end; /* time */
	uint32_t item;	     /* first item */
	uint32_t n;	     /* number of items */
	bool single;	     /* it is one piece */
};

void walk_init(struct walk *w, struct frame *f, struct row_index *l, unsigned level, uint32_t block);
/* Store the next run. Return false after the last. */
bool walk_next(struct walk *w, struct run *run);
/*
 * Call DRAW for all runs of L in the window, row group by row group; when a level is not exact
 * enough, for the rows below it. GROUP's ROOM is 0 when several rows are drawn together.
 */
void walk_rows(struct frame *f, struct row_index *l,
	       void (*draw)(struct frame *f, const struct run *run, const struct row_group *group));

#endif
