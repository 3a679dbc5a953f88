/* The inside of a scene: its indices, and the picture that is being drawn. */
#ifndef TRACE_SCENE_STATE_H
#define TRACE_SCENE_STATE_H

#include <mprof/scene.h>

#include "grow.h"
#include "scene-links.h"
#include "scene-pyramid.h"
#include "scene-row-index.h"
#include "scene-sort.h"

/* ---- the fish-eye ---- */

/* The fish-eye: where rows are drawn. */
#define FISHEYE_ROW 30.0 /* pixels from row to row at the focus, in a picture that cannot show all rows like that */

/*
 * Rows lie FISHEYE_ROW units below each other, and a unit D from the focus is drawn at tanh(D / (2 SCALE)), stretched so that the first and
 * the last row are MARGIN pixels from the picture's edges.
 */
struct fisheye {
	double focus; /* units */
	double scale;
	double top; /* what the first row comes to */
	double range;
	double margin; /* pixels */
	double inner;  /* pixels between the first and the last row */
	double last;   /* row */
};

void fisheye_init(struct fisheye *f, const struct mprof_window *w, uint32_t rows);
/* The height at which ROW is drawn; grows with it, or stays. */
double fisheye_y(const struct fisheye *f, double row);
/* The row at height Y, between the first and the last one. */
double fisheye_row(const struct fisheye *f, double y);

/* ---- scenes ---- */

enum scene_bands { BANDS_SLEEPING, BANDS_COLLECTION, BANDS_GAP, BANDS };

/* What density counts. */
enum density_kind { DENSITY_LABELS, DENSITY_INTERACTIONS, DENSITY_ACTIVATIONS, DENSITY_SAMPLES, DENSITY_KINDS };

/* Time in bands of one kind up to each sixteenth. */
struct band_sums {
	uint64_t *at;
};

struct mprof_scene {
	const struct mprof_model_view *view; /* borrowed */
	struct row_index threads, failed, running;
	struct row_index bands[BANDS];
	struct band_sums sums[BANDS];
	struct links_all links;
	struct scene_groups labels;	  /* by thread; without STARTS */
	struct scene_groups samples;	  /* by counter */
	struct pyramid values;		  /* of those: least and greatest */
	uint32_t *by_time[DENSITY_KINDS]; /* by time; NULL = as they lie */
	uint64_t origin;		  /* the first event of all */
	uint8_t *chosen;		  /* a bit per thread: highlighted; NULL = none is */
	struct row_index highlights;	  /* of those, where they are known */
	bool highlights_known;
	struct grow counters; /* uint32_t, sorted: those that are shown */
	uint64_t *tails;      /* of each stream, UINT64_MAX for none; NULL = of none */
	uint32_t *found;      /* threads, by the last search */
	struct grow marks;    /* struct mprof_mark */
	struct grow text;     /* char */
	struct grow groups;   /* struct row_group */
	struct grow named;    /* uint32_t, threads with room for a text */
	struct grow open;     /* struct open_end */
	uint64_t steps;	      /* of the last picture: looks at an item of the model, and marks */
};

/* Rows that are drawn on one height: a block of a level (scene-row-index.h). */
struct row_group {
	uint32_t block;
	uint16_t level;
	uint16_t room; /* whole pixels up to the row above; 0 where it is more than one row */
	float y;
};

struct open_end {
	uint32_t thread;
	float x, y;
};

#define FRAME_ROWS 512u

/* A picture that is being drawn. */
struct frame {
	struct mprof_scene *s;
	const struct mprof_model_view *v;
	struct mprof_window w;
	struct fisheye fisheye;
	double scale; /* pixels a nanosecond */
	struct frame_row {
		uint32_t row;
		double y;
	} rows[FRAME_ROWS]; /* where some rows are drawn, since many links lead to them */
	uint64_t origin;    /* the first event of all */
	uint64_t budget;    /* steps that may yet be taken to look closer at rows that lie on one pixel */
	uint64_t grid_ns;
	bool failed; /* no memory */
};

/* False where WINDOW cannot be one.  What was drawn before is gone. */
bool frame_init(struct frame *f, struct mprof_scene *s, const struct mprof_window *window);

/* A time's place, exact as far as a double is; of a time far outside, one picture's width outside. */
double frame_x(const struct frame *f, uint64_t time);
double frame_clip(const struct frame *f, double x);
double frame_width(const struct frame *f, uint64_t from, uint64_t to);
/* The last time that is not right of X; held between 0 and MPROF_TIME_MAX. */
uint64_t frame_time(const struct frame *f, double x);
double frame_y(struct frame *f, uint32_t row);

/* One more mark, cleared but for KIND; NULL without memory, which the frame remembers. */
struct mprof_mark *frame_mark(struct frame *f, enum mprof_mark_kind kind);
/* The stream of a thread, as a mark has it. */
uint8_t frame_stream(const struct frame *f, uint32_t thread);
/* Give MARK a text of BYTES bytes, of which no more is taken than LETTERS letters need; returns how many letters it has, escaped. */
uint32_t frame_text(struct frame *f, struct mprof_mark *mark, const char *text, size_t bytes, uint32_t letters);
/* How many letters fit in a width. */
uint32_t frame_letters(const struct frame *f, double width);

/* The parts of a picture, in the order in which they are drawn. */
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

/* Which rows are drawn together; false without memory. */
bool frame_group_rows(struct frame *f);

/* The indices of single parts; false without memory. */
bool bands_init(struct mprof_scene *s);
bool labels_init(struct mprof_scene *s);
bool counters_init(struct mprof_scene *s);
bool density_init(struct mprof_scene *s);
void density_deinit(struct mprof_scene *s);

/* A stretch of pieces of a block that is drawn as one line. */
struct walk {
	struct frame *f;
	struct row_index *l;
	unsigned level;
	uint32_t at, end; /* pieces */
	uint64_t drawn;	  /* up to then */
};

struct run {
	uint64_t start, end; /* time */
	uint32_t item;	     /* the first */
	uint32_t n;	     /* items */
	bool single;	     /* one piece */
};

void walk_init(struct walk *w, struct frame *f, struct row_index *l, unsigned level, uint32_t block);
/* The next one; false where there is none. */
bool walk_next(struct walk *w, struct run *run);
/*
 * Call DRAW for all runs of L in the window, row group by row group; where what a level shows is not exact enough, the rows below it.  ROOM
 * is the group's, 0 where rows are drawn together.
 */
void walk_rows(struct frame *f, struct row_index *l,
	       void (*draw)(struct frame *f, const struct run *run, const struct row_group *group));

#endif
