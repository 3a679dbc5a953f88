/* Lines of threads, their activations and ends. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alias.h"
#include "scene-state.h"

#define OPEN_MIN  4.0  /* a thread shorter than this has no arrow head, pixels */
#define NAMED_MIN 16.0 /* a thread shorter than this has no text, pixels */

#define FULL	    65535.0
#define STEPS	    8	/* number of different shares of time */
#define SHARE_WIDTH 4.0 /* width of an area with one share, pixels */

/* How to draw the runs of a row group. */
struct line {
	struct frame *f;
	struct row_index *l;
	const struct row_group *group;
	enum mprof_mark_kind kind;
	uint8_t stream; /* as a mark's field STREAM has it */
};

/* Draw RUN; SHARE is the share of its time in which it had an item. */
static void put_run(const struct line *line, const struct run *run, double share)
{
	struct frame *f = line->f;
	struct mprof_mark *mark = frame_mark(f, line->kind);

	if (!mark)
		return;
	mark->x0 = (float)frame_clip(f, frame_x(f, run->start));
	mark->x1 = (float)frame_clip(f, frame_x(f, run->end));
	mark->y0 = mark->y1 = line->group->y;
	mark->item = run->item;
	mark->stream = line->stream;
	mark->count = (uint16_t)(run->n - 1 < UINT16_MAX ? run->n - 1 : UINT16_MAX);
	mark->shade = (uint16_t)(share * FULL);
}

/* Return the end of the area of one share that has the time START, at most LAST. */
static uint64_t area_end(const struct frame *f, uint64_t start, uint64_t last)
{
	/* START may be the end of the area before, which is rounded down. */
	uint64_t end = frame_time(f, (floor(frame_x(f, start + 1) / SHARE_WIDTH) + 1) * SHARE_WIDTH);

	end = end > start ? end : start + 1;
	return end < last ? end : last;
}

/*
 * Return the share of DURATION ns that the items from FROM up to, but not including, TO take, as a
 * multiple of 1 / STEPS, at least one.
 */
static uint32_t steps_of(const struct line *line, uint32_t from, uint32_t to, uint64_t duration)
{
	double share = (double)row_index_total(line->l, from, to) / (double)duration;

	return (uint32_t)fmax(ceil(STEPS * fmin(share, 1)), 1);
}

/* Draw RUN, which has several items on one row, in parts of the same share of time. */
static void put_shares(const struct line *line, const struct run *run)
{
	const struct frame *f = line->f;
	uint64_t start = run->start > f->w.from ? run->start : f->w.from, end;
	uint64_t last = run->end < f->w.to ? run->end : f->w.to;
	struct run part = *run;
	uint32_t step = 0, next, to;

	part.n = 0;
	part.to = run->from;
	for (; start < last && !f->failed; start = end) {
		end = area_end(f, start, last);
		to = end < last ? row_index_begins_after(line->l, 0, part.to, run->to, end - 1) : run->to;
		next = steps_of(line, part.to, to, end - start);
		if (next != step && part.n) {
			part.end = start;
			put_run(line, &part, (double)step / STEPS);
			part.start = start;
			part.n = 0;
		}
		if (!part.n)
			part.item = row_index_item(line->l, 0, to > part.to ? part.to : run->from);
		part.n += to > part.to || part.n ? to - part.to : 1;
		part.to = to;
		step = next;
	}
	part.end = run->end;
	if (part.n)
		put_run(line, &part, (double)step / STEPS);
}

/* ---- rows that are drawn together ---- */

#define SAMPLED_ROWS   4u
#define SAMPLED_PIECES 8u /* most pieces of a row and an area that are read */

/* A row, and its pieces that do not end before the area that is being counted. */
struct sampled_row {
	uint32_t at, end;
};

/* Return the time between FROM and TO in which there is an item on ROW, ns. Go on behind TO. */
static double alive_on(struct row_index *index, struct sampled_row *row, uint64_t from, uint64_t to)
{
	uint32_t next = row_index_begins_after(index, 0, row->at, row->end, to - 1), n = next - row->at, step;
	uint64_t start, end;
	double sum = 0;

	step = n > SAMPLED_PIECES ? n / SAMPLED_PIECES : 1;
	for (uint32_t i = 0; i < n; i += step) {
		start = row_index_start(index, 0, row->at + i);
		end = row_index_end(index, 0, row->at + i);
		start = start > from ? start : from;
		end = end < to ? end : to;
		sum += end > start ? (double)(end - start) * step : 0;
	}
	/* The last piece may go on in the next area. */
	row->at = n && row_index_end(index, 0, next - 1) > to ? next - 1 : next;
	return sum;
}

/* Count in F->alive how many of the rows of GROUP, which has several, have an item of INDEX over time. */
static void count_alive(struct frame *f, struct row_index *index, const struct row_group *group)
{
	uint64_t first = (uint64_t)group->block << (ROW_INDEX_SHIFT * group->level), from = f->w.from, to;
	uint64_t n = UINT64_C(1) << (ROW_INDEX_SHIFT * group->level);
	uint32_t areas = (uint32_t)(f->w.width / ALIVE_WIDTH) + 1, rows;
	struct sampled_row sampled[SAMPLED_ROWS];
	double share;

	f->alive.l = index;
	f->alive.block = group->block;
	f->alive.level = group->level;
	n = n < index->rows - first ? n : index->rows - first;
	rows = n < SAMPLED_ROWS ? (uint32_t)n : SAMPLED_ROWS;
	for (uint32_t i = 0; i < rows; i++) {
		struct sampled_row *row = &sampled[i];
		/* The distances of the sampled rows differ from powers of two, which rows often repeat in. */
		uint64_t of = ((2 * i + 1) * n / (2 * rows) + i) % n;

		row_index_range(index, 0, (uint32_t)(first + of), &row->at, &row->end);
		row->at = row_index_ends_from(index, 0, row->at, row->end, from);
	}
	for (uint32_t area = 0; area < areas && area < ALIVE_AREAS; area++, from = to) {
		to = frame_time(f, (area + 1) * ALIVE_WIDTH);
		to = to > from ? to : from + 1;
		share = 0;
		for (uint32_t i = 0; i < rows; i++)
			share += fmin(alive_on(index, &sampled[i], from, to) / (double)(to - from), 1) / rows;
		f->alive.steps[area] = (uint8_t)fmax(ceil(STEPS * share), 1);
	}
}

/* Return the area of F->alive that has TIME. */
static uint32_t alive_area(const struct frame *f, uint64_t time)
{
	double area = floor(frame_x(f, time) / ALIVE_WIDTH);

	return area < 0 ? 0 : area < ALIVE_AREAS - 1 ? (uint32_t)area : ALIVE_AREAS - 1;
}

/* Draw RUN, of rows that are drawn together, in parts of the same share of rows and time. */
static void put_alive(const struct line *line, const struct run *run)
{
	struct frame *f = line->f;
	const struct row_group *group = line->group;
	uint64_t last = run->end < f->w.to ? run->end : f->w.to, end;
	/* As in area_end(), the start may be the end of the area before. */
	uint32_t area = alive_area(f, (run->start > f->w.from ? run->start : f->w.from) + 1);
	uint32_t stop = alive_area(f, last);
	struct run part = *run;

	if (f->alive.l != line->l || f->alive.block != group->block || f->alive.level != group->level)
		count_alive(f, line->l, group);
	stop = stop > area ? stop : area;
	for (uint32_t i = area; i <= stop; i++) {
		if (i < stop && f->alive.steps[i + 1] == f->alive.steps[i])
			continue;
		end = frame_time(f, (i + 1) * ALIVE_WIDTH);
		part.end = i == stop || end > run->end ? run->end : end;
		put_run(line, &part, (double)f->alive.steps[i] / STEPS);
		part.start = part.end;
		/* All items of the run count in its first mark. */
		part.n = 1;
	}
}

/* Draw RUN, shaded by its share of time if the window asks for that. */
static void put_line(const struct line *line, const struct run *run)
{
	if (run->n < 2 || !(line->f->w.flags & MPROF_WINDOW_SHADED))
		put_run(line, run, 1);
	else if (line->group->level)
		put_alive(line, run);
	else if (line->l->cover)
		put_run(line, run, 1);
	else
		put_shares(line, run);
}

/*
 * Record what to draw later for THREAD, which has a line of its own, WIDTH pixels long, in GROUP:
 * an open end, and texts if there is room. Return false without memory.
 */
static bool note(struct frame *f, uint32_t thread, double width, const struct row_group *group)
{
	const struct mprof_thread *t = &f->v->threads[thread];
	struct open_end *end;
	uint32_t *named;

	/* Most threads are too short for anything else. */
	if (width <= OPEN_MIN)
		return true;
	if (t->becomes == MPROF_NONE && !(t->flags & MPROF_THREAD_RESOLVED)) {
		end = grow_add(&f->s->open, sizeof(*end));
		if (!end)
			return false;
		*end = (struct open_end){thread, (float)frame_clip(f, frame_x(f, t->end)), group->y};
	}
	if (width > NAMED_MIN && (group->room || t->flags & MPROF_THREAD_NEVER_RESOLVED) &&
	    f->w.flags & MPROF_WINDOW_LABELS) {
		named = grow_add(&f->s->named, sizeof(*named));
		if (!named)
			return false;
		*named = thread;
	}
	return true;
}

static void draw_thread(struct frame *f, enum mprof_mark_kind kind, const struct run *run,
			const struct row_group *group)
{
	struct line line = {f, kind == MPROF_MARK_FAILED ? &f->s->failed : &f->s->threads, group, kind,
			    frame_stream(f, run->item)};

	put_line(&line, run);
	if (run->single && run->n == 1 && !note(f, run->item, frame_width(f, run->start, run->end), group))
		f->failed = true;
}

static void draw_sound(struct frame *f, const struct run *run, const struct row_group *group)
{
	draw_thread(f, MPROF_MARK_THREAD, run, group);
}

static void draw_failure(struct frame *f, const struct run *run, const struct row_group *group)
{
	draw_thread(f, MPROF_MARK_FAILED, run, group);
}

static void draw_activation(struct frame *f, const struct run *run, const struct row_group *group)
{
	uint8_t stream = f->v->n_streams > 1 ? frame_stream(f, f->v->activations[run->item].thread) : 0;

	put_line(&(struct line){f, &f->s->running, group, MPROF_MARK_RUNNING, stream}, run);
}

void draw_threads(struct frame *f)
{
	f->s->named.n = f->s->open.n = 0;
	walk_rows(f, &f->s->threads, draw_sound);
}

void draw_failed(struct frame *f)
{
	f->s->open.n = 0;
	walk_rows(f, &f->s->failed, draw_failure);
	draw_open_ends(f);
}

void draw_running(struct frame *f)
{
	walk_rows(f, &f->s->running, draw_activation);
}

void draw_open_ends(struct frame *f)
{
	const struct open_end *ends = f->s->open.items;

	for (uint32_t i = 0; i < f->s->open.n && !f->failed; i++) {
		struct mprof_mark *mark =
			ends[i].x <= f->w.width + 6 && ends[i].x >= 0 ? frame_mark(f, MPROF_MARK_OPEN_END) : NULL;

		if (!mark)
			continue;
		mark->x0 = mark->x1 = ends[i].x;
		mark->y0 = mark->y1 = ends[i].y;
		mark->item = ends[i].thread;
		mark->stream = frame_stream(f, ends[i].thread);
	}
}

/* ---- highlights ---- */

/* Highlighted threads. */

#define NARROW 32.0 /* the highlight of a line shorter than this is drawn after all other marks, pixels */
#define HALF   4.0

static bool choose(struct mprof_scene *s, uint32_t thread)
{
	if (!s->chosen)
		s->chosen = calloc((size_t)s->view->n_threads / 8 + 1, 1);
	if (!s->chosen || thread >= s->view->n_threads)
		return false;
	s->chosen[thread / 8] |= (uint8_t)(1u << thread % 8);
	s->highlights_known = false;
	return true;
}

static bool is_chosen(const struct mprof_scene *s, uint32_t thread)
{
	return s->chosen[thread / 8] >> thread % 8 & 1;
}

void mprof_scene_highlight_none(struct mprof_scene *s)
{
	free(s->chosen);
	s->chosen = NULL;
	row_index_deinit(&s->highlights);
	s->highlights_known = false;
}

void mprof_scene_highlight(struct mprof_scene *s, uint32_t thread)
{
	choose(s, thread);
}

void mprof_scene_highlight_aliases(struct mprof_scene *s, uint32_t thread)
{
	const struct mprof_thread *t = s->view->threads;
	uint32_t *final;

	if (thread >= s->view->n_threads)
		return;
	final = malloc(s->view->n_threads * sizeof(*final));
	for (uint32_t i = 0; final && i < s->view->n_threads; i++)
		final[i] = t[i].becomes == MPROF_NONE ? i : t[i].becomes;
	for (uint32_t i = 0; final && i < s->view->n_threads; i++)
		if (alias_find(final, i) == alias_find(final, thread))
			choose(s, i);
	if (!final)
		choose(s, thread);
	free(final);
}

static void put(struct frame *f, const struct run *run, double y0, double y1, bool narrow)
{
	struct mprof_mark *mark = frame_mark(f, MPROF_MARK_HIGHLIGHT);

	if (!mark)
		return;
	mark->x0 = (float)frame_clip(f, frame_x(f, run->start));
	mark->x1 = (float)frame_clip(f, frame_x(f, run->end));
	mark->y0 = (float)y0;
	mark->y1 = (float)y1;
	mark->item = run->item;
	mark->shade = narrow;
	mark->stream = frame_stream(f, run->item);
}

/*
 * Highlight the vertical line from the thread of RUN to the thread that it becomes, if both are
 * highlighted.
 */
static void draw_link(struct frame *f, const struct run *run, const struct row_group *group)
{
	const struct mprof_thread *t = &f->v->threads[run->item], *next;
	struct run end = {.start = t->end, .end = t->end, .item = run->item};

	if (!run->single || run->n > 1 || t->becomes == MPROF_NONE || !is_chosen(f->s, t->becomes))
		return;
	next = &f->v->threads[t->becomes];
	if (f->s->hidden && f->s->hidden[t->becomes / 8] >> t->becomes % 8 & 1)
		return;
	if (next->row != t->row && next->row != MPROF_NONE && t->end >= f->w.from && t->end <= f->w.to)
		put(f, &end, group->y, frame_y(f, next->row), false);
}

static void draw_wide(struct frame *f, const struct run *run, const struct row_group *group)
{
	if (frame_width(f, run->start, run->end) >= NARROW)
		put(f, run, group->y, group->y, false);
	draw_link(f, run, group);
}

static void draw_narrow(struct frame *f, const struct run *run, const struct row_group *group)
{
	if (frame_width(f, run->start, run->end) < NARROW)
		put(f, run, group->y, group->y, true);
}

void draw_highlights(struct frame *f, bool narrow)
{
	struct mprof_scene *s = f->s;
	struct scene_life *lives;

	if (!s->chosen)
		return;
	if (!s->highlights_known) {
		lives = scene_lives_new(s->view, s->hidden);
		row_index_deinit(&s->highlights);
		s->highlights_known = lives && row_index_init(&s->highlights, s->view, ROW_INDEX_ALL, lives, s->chosen);
		free(lives);
		if (!s->highlights_known) {
			f->failed = true;
			return;
		}
	}
	walk_rows(f, &s->highlights, narrow ? draw_narrow : draw_wide);
}
