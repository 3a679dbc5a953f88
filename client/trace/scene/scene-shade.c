/*
 * Shades: how many links of one kind cross each area of a picture, and how many labels are in it,
 * where they are too many to be drawn one by one.
 *
 * A column of pixels (frame_column()) with more than a few links of a kind is divided into cells. The number of
 * links that cross a cell is estimated from at most SAMPLES of the links. The samples are at places
 * that are multiples of a power of two, so they stay the same while a user pans. The number is
 * rounded to a power of four, and cells of the same number next to each other are one mark. A label
 * is in the cell of its thread's row.
 */
#include <math.h>
#include <string.h>

#include "scene-state.h"

#define CELL	6.0 /* height of a cell, pixels */
#define CELLS	1024u
#define SAMPLES 8u
#define WIDER	2u /* number of columns of links that are one column of labels */
#define FULL	65535.0
#define STEPS	8u /* number of different shades */
/* An area that continues one of this many last marks extends that mark. */
#define RECENT 24u

static const enum mprof_mark_kind kinds[LINKS_KINDS] = {
	[LINKS_CREATION] = MPROF_MARK_CREATION,	      [LINKS_BECOMES] = MPROF_MARK_BECOMES,
	[LINKS_RESOLVE] = MPROF_MARK_RESOLVE,	      [LINKS_READ] = MPROF_MARK_READ,
	[LINKS_READ_FAILED] = MPROF_MARK_READ_FAILED, [LINKS_TRY_READ] = MPROF_MARK_TRY_READ,
	[LINKS_SIGNAL] = MPROF_MARK_SIGNAL,
};

/* The shades of one kind of links, or of labels. */
struct shading {
	struct frame *f;
	struct links *l; /* NULL for labels */
	enum mprof_mark_kind kind;
	uint32_t cells; /* cells of a column, 1 to CELLS */
	double cell;	/* height of a cell, pixels */
	/* For each cell of the column the links that begin to cross it, less those that end above it. */
	double changes[CELLS + 1];
	uint32_t first; /* index of the first mark of this kind */
};

static uint32_t cell_at(const struct shading *s, double y)
{
	double cell = y / s->cell;

	return cell <= 0 ? 0 : cell >= s->cells - 1.0 ? s->cells - 1 : (uint32_t)cell;
}

/* Store the rows of ITEM, the place of a link or of a label by time. Return false if it is hidden. */
static bool rows_of(struct shading *s, uint32_t item, uint32_t *from, uint32_t *to)
{
	const struct mprof_scene *scene = s->f->s;
	const uint32_t *by_time = scene->by_time[DENSITY_LABELS];
	struct link_rows rows;
	uint32_t thread;

	if (s->l) {
		rows = links_rows(s->l, item);
		s->l->steps++;
		*from = rows.from;
		*to = rows.to;
		return true;
	}
	thread = s->f->v->labels[by_time ? by_time[item] : item].thread;
	s->f->s->steps++;
	*from = *to = s->f->v->threads[thread].row;
	return *from != MPROF_NONE && !(scene->hidden && scene->hidden[thread / 8] >> thread % 8 & 1);
}

/* Count the items from FROM up to, but not including, TO in the cells that they cross. */
static void count(struct shading *s, uint32_t from, uint32_t to)
{
	uint32_t step = 1, first, n, top, bottom;
	double y0, y1, weight;

	while ((to - from) / step > SAMPLES)
		step *= 2;
	first = (from + step - 1) / step * step;
	n = (to - 1 - first) / step + 1;
	weight = (to - from) / (double)n;
	memset(s->changes, 0, (s->cells + 1) * sizeof(s->changes[0]));
	for (uint32_t i = 0; i < n; i++) {
		if (!rows_of(s, first + i * step, &top, &bottom))
			continue;
		y0 = frame_y(s->f, top);
		y1 = frame_y(s->f, bottom);
		s->changes[cell_at(s, fmin(y0, y1))] += weight;
		s->changes[cell_at(s, fmax(y0, y1)) + 1] -= weight;
	}
}

/* Return the shade for N items, in steps. */
static uint32_t step_of(double n)
{
	return n < 0.5 ? 0 : (uint32_t)fmin(1 + fmax(log2(n) / 2, 0), STEPS);
}

/* Draw the cells from FROM up to, but not including, TO of the column from X0 to X1. */
static void put(struct shading *s, double x0, double x1, uint32_t from, uint32_t to, uint32_t step)
{
	float top = (float)(from * s->cell), bottom = (float)(to * s->cell);
	uint16_t shade = (uint16_t)(step * FULL / STEPS);
	struct mprof_mark *marks = s->f->s->marks.items, *mark;
	uint32_t n = s->f->s->marks.n;

	for (uint32_t i = n; i > s->first && n - i < RECENT; i--) {
		mark = &marks[i - 1];
		if (mark->y0 == top && mark->y1 == bottom && mark->shade == shade && mark->x1 == (float)x0) {
			mark->x1 = (float)x1;
			return;
		}
	}
	mark = frame_mark(s->f, MPROF_MARK_SHADE);
	if (!mark)
		return;
	mark->x0 = (float)x0;
	mark->x1 = (float)x1;
	mark->y0 = top;
	mark->y1 = bottom;
	mark->item = s->kind;
	mark->shade = shade;
}

static void put_column(struct shading *s, double x0, double x1)
{
	uint32_t from = 0, step = 0, next;
	double n = 0;

	for (uint32_t i = 0; i < s->cells; i++) {
		n += s->changes[i];
		next = step_of(n);
		if (next == step)
			continue;
		if (step)
			put(s, x0, x1, from, i, step);
		from = i;
		step = next;
	}
	if (step)
		put(s, x0, x1, from, s->cells, step);
}

static void draw_kind(struct shading *s)
{
	struct frame *f = s->f;
	uint32_t place = links_from(s->l, 0, f->w.from, 0), stop = links_from(s->l, place, f->w.to + 1, 0), end;
	double x;

	s->first = f->s->marks.n;
	for (; place < stop && !f->failed; place = end) {
		end = frame_column_end(f, s->l, place);
		end = end < stop ? end : stop;
		if (end - place <= f->few)
			continue;
		x = frame_column(f, frame_x(f, links_time(s->l, place)));
		count(s, place, end);
		/* A link of the next column, which frame_column_end() may add, does not shade that, too. */
		put_column(s, x, x + f->column);
	}
}

/* Draw how many labels are in each cell of the columns that have more than a few. */
static void draw_labels_shaded(struct shading *s)
{
	struct frame *f = s->f;
	uint32_t at = density_before(f->s, DENSITY_LABELS, 0, f->w.from), next;
	double width = WIDER * f->column;

	s->first = f->s->marks.n;
	for (double x = 0; x < f->w.width && !f->failed; x += width, at = next) {
		next = density_before(f->s, DENSITY_LABELS, at, frame_time(f, x + width) + 1);
		f->s->steps++;
		if (next - at <= WIDER * f->few)
			continue;
		count(s, at, next);
		put_column(s, x, x + width);
	}
}

void draw_shades(struct frame *f)
{
	struct shading s = {.f = f};
	unsigned kinds_drawn = f->w.flags & MPROF_WINDOW_ARROWS ? LINKS_KINDS : LINKS_RESOLVE;

	s.cells = (uint32_t)fmin(fmax(floor((double)f->w.height / CELL), 1), CELLS);
	s.cell = (double)f->w.height / s.cells;
	for (unsigned of = 0; of < kinds_drawn; of++) {
		s.l = &f->s->links.of[of];
		s.kind = kinds[of];
		draw_kind(&s);
	}
	if (!(f->w.flags & MPROF_WINDOW_LABELS))
		return;
	s.l = NULL;
	s.kind = MPROF_MARK_LABEL;
	draw_labels_shaded(&s);
}
