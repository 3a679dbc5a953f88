/*
 * Scenes: their indices, and the drawing order.
 *
 * Invariant: a picture only depends on the model, the window, the highlights, the counters and the
 * tails.
 */
#include <math.h>
#include <stdlib.h>

#include "scene-state.h"

#define WIDTH_MAX 16384.0f
/*
 * For each pixel of width and of height, this many pieces may be read to draw rows on one pixel
 * more exactly.
 */
#define CLOSER 128u
/* Number of links of one kind on one pixel of width up to which each is drawn. */
#define LINKS_FEW 7u
/*
 * In a shaded picture the width of a column of links, and the distance between short lines that are
 * drawn as one, in pixels. With 1 for both a picture of millions of events has more than twice as
 * many marks.
 */
#define SHADED_COLUMN 3.0
#define SHADED_NEAR   2.0

/* Build the indices of everything on the rows of threads, or between them. */
static bool threads_init(struct mprof_scene *s)
{
	const struct mprof_model_view *view = s->view;
	struct scene_life *lives = scene_lives_new(view, s->hidden);
	bool ok = lives && row_index_init(&s->threads, view, ROW_INDEX_THREADS, lives, NULL) &&
		  row_index_init(&s->failed, view, ROW_INDEX_FAILED, lives, NULL) &&
		  row_index_init(&s->running, view, ROW_INDEX_RUNNING, lives, NULL) &&
		  links_init(&s->links, view, lives);

	free(lives);
	return ok;
}

static void threads_deinit(struct mprof_scene *s)
{
	row_index_deinit(&s->threads);
	row_index_deinit(&s->failed);
	row_index_deinit(&s->running);
	links_deinit(&s->links);
}

bool threads_renew(struct mprof_scene *s)
{
	struct mprof_scene new = {.view = s->view, .hidden = s->hidden};

	if (!threads_init(&new)) {
		threads_deinit(&new);
		return false;
	}
	threads_deinit(s);
	s->threads = new.threads;
	s->failed = new.failed;
	s->running = new.running;
	s->links = new.links;
	s->highlights_known = s->shown.known = false;
	return true;
}

struct mprof_scene *mprof_scene_new(const struct mprof_model_view *view)
{
	struct mprof_scene *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->view = view;
	if (!threads_init(s) || !bands_init(s) || !labels_init(s) || !counters_init(s) || !density_init(s))
		return mprof_scene_free(s);
	return s;
}

struct mprof_scene *mprof_scene_free(struct mprof_scene *s)
{
	if (!s)
		return NULL;
	threads_deinit(s);
	row_index_deinit(&s->highlights);
	for (unsigned i = 0; i < BANDS; i++) {
		row_index_deinit(&s->bands[i]);
		free(s->sums[i].at);
	}
	scene_groups_deinit(&s->labels);
	scene_groups_deinit(&s->samples);
	pyramid_deinit(&s->values);
	shown_deinit(&s->shown);
	density_deinit(s);
	free(s->hidden);
	free(s->chosen);
	free(s->tails);
	free(s->found);
	grow_deinit(&s->counters);
	grow_deinit(&s->marks);
	grow_deinit(&s->text);
	grow_deinit(&s->groups);
	grow_deinit(&s->named);
	grow_deinit(&s->open);
	free(s);
	return NULL;
}

static bool is_window(const struct mprof_window *w)
{
	return w->to > w->from && w->to <= MPROF_TIME_MAX && isfinite(w->focus) && w->width >= 1 &&
	       w->width <= WIDTH_MAX && w->height >= 1 && w->height <= WIDTH_MAX && w->letter_width >= 1 &&
	       w->letter_width <= WIDTH_MAX;
}

bool frame_init(struct frame *f, struct mprof_scene *s, const struct mprof_window *window)
{
	if (!is_window(window))
		return false;
	*f = (struct frame){
		.s = s,
		.v = s->view,
		.w = *window,
		.scale = window->width / (double)(window->to - window->from),
		.origin = s->origin,
		.column = window->flags & MPROF_WINDOW_SHADED ? SHADED_COLUMN : 1,
		.few = window->flags & MPROF_WINDOW_SHADED ? (uint32_t)SHADED_COLUMN * LINKS_FEW : LINKS_FEW,
		.near = window->flags & MPROF_WINDOW_SHADED ? SHADED_NEAR : 1,
		.budget = CLOSER * (uint64_t)(window->width + window->height),
	};
	for (uint32_t i = 0; i < FRAME_ROWS; i++)
		f->rows[i].row = MPROF_NONE;
	s->marks.n = s->text.n = 0;
	s->steps = s->threads.steps = s->failed.steps = s->running.steps = s->highlights.steps = s->values.steps = 0;
	for (uint32_t i = 0; i < BANDS; i++)
		s->bands[i].steps = 0;
	for (uint32_t i = 0; i < LINKS_KINDS; i++)
		s->links.of[i].steps = 0;
	fisheye_init(&f->fisheye, window, s->view->rows, shown_rows(s, window));
	return true;
}

static void count_steps(struct mprof_scene *s)
{
	s->steps += s->threads.steps + s->failed.steps + s->running.steps + s->highlights.steps + s->values.steps;
	for (uint32_t i = 0; i < BANDS; i++)
		s->steps += s->bands[i].steps;
	for (uint32_t i = 0; i < LINKS_KINDS; i++)
		s->steps += s->links.of[i].steps;
}

static void draw(struct frame *f)
{
	draw_bands(f);
	draw_grid(f);
	if (f->w.flags & MPROF_WINDOW_SHADED)
		draw_shades(f);
	draw_highlights(f, false);
	draw_threads(f);
	draw_running(f);
	draw_verticals(f);
	draw_open_ends(f);
	draw_failed(f);
	if (f->w.flags & MPROF_WINDOW_ARROWS)
		draw_arrows(f);
	if (f->w.flags & MPROF_WINDOW_LABELS)
		draw_labels(f);
	if (f->w.flags & MPROF_WINDOW_COUNTERS)
		draw_counters(f);
	draw_band_names(f);
	draw_highlights(f, true);
}

/*
 * Store the picture drawn in F in *PICTURE. Return MPROF_OK, or MPROF_NOMEM if memory was missing.
 */
static enum mprof_status finish(const struct frame *f, struct mprof_picture *picture)
{
	if (f->failed)
		return MPROF_NOMEM;
	*picture = (struct mprof_picture){
		.marks = f->s->marks.items,
		.text = f->s->text.items,
		.n_marks = f->s->marks.n,
		.text_bytes = f->s->text.n,
		.grid_ns = f->grid_ns,
	};
	return MPROF_OK;
}

enum mprof_status mprof_scene_draw(struct mprof_scene *s, const struct mprof_window *window,
				   struct mprof_picture *picture)
{
	struct frame f;

	*picture = (struct mprof_picture){0};
	if (!frame_init(&f, s, window))
		return MPROF_CORRUPT;
	if (!frame_group_rows(&f))
		return MPROF_NOMEM;
	draw(&f);
	count_steps(s);
	return finish(&f, picture);
}

static void draw_track(struct frame *f, const struct mprof_track *track)
{
	double bottom = (double)track->top + (double)track->height;

	if (track->kind == MPROF_TRACK_PROCESSOR && track->item < f->v->n_streams)
		draw_processor(f, track->item, track->top, bottom);
	else if (track->kind == MPROF_TRACK_COUNTER && track->item < f->v->n_counters)
		draw_lane(f, track->item, track->top, bottom);
}

enum mprof_status mprof_scene_tracks(struct mprof_scene *s, const struct mprof_window *window,
				     const struct mprof_track *tracks, uint32_t n, struct mprof_picture *picture)
{
	struct frame f;

	*picture = (struct mprof_picture){0};
	if (!frame_init(&f, s, window))
		return MPROF_CORRUPT;
	draw_grid(&f);
	for (uint32_t i = 0; i < n && !f.failed; i++)
		draw_track(&f, &tracks[i]);
	count_steps(s);
	return finish(&f, picture);
}
