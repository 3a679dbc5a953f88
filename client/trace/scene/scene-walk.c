/*
 * Walk over the pieces of rows (scene-row-index.h), with no more steps than pixels.
 *
 * A piece of at least WIDE pixels is drawn by itself. Shorter ones less than a pixel apart, or two in
 * a shaded picture, are one line, a run: the next step goes to the first piece that begins more than
 * that after the run, however many pieces are on that pixel.
 */
#include <math.h>

#include "scene-state.h"

#define WIDE	 2.0
#define GAP_SEEN 2.0
#define TOGETHER 2.0 /* rows whose heights together are at most this are drawn at one height, pixels */

void walk_init(struct walk *w, struct frame *f, struct row_index *index, unsigned level, uint32_t block)
{
	*w = (struct walk){.f = f, .l = index, .level = level};
	row_index_range(index, level, block, &w->at, &w->end);
	w->at = row_index_ends_from(index, level, w->at, w->end, f->w.from);
	w->end = row_index_begins_after(index, level, w->at, w->end, f->w.to);
}

/*
 * Extend RUN by the next pieces as long as each begins less than frame.near pixels after the run and
 * is narrower than WIDE.
 */
static void widen(struct walk *w, struct run *run)
{
	const struct row_nodes *nodes = row_index_nodes(w->l, w->level);
	double pixel = w->f->near / w->f->scale;
	uint64_t start, end;
	uint32_t n;

	for (; w->at < w->end; w->at += n) {
		start = row_index_start(w->l, w->level, w->at);
		if (start > run->end && (double)(start - run->end) > pixel)
			return;
		n = w->at % (1u << NODE_SHIFT) ? 0 : row_index_skip(nodes, w->at, w->end, pixel, WIDE / w->f->scale);
		end = row_index_end(w->l, w->level, w->at + (n ? n - 1 : 0));
		if (!n && frame_width(w->f, start > run->end ? start : run->end, end) >= WIDE)
			return;
		n = n ? n : 1;
		run->end = end > run->end ? end : run->end;
		run->n += row_index_count(w->l, w->level, w->at, w->at + n);
		run->single = false;
	}
}

/* When items of a row overlap, skip pieces that end before the end of the last run. */
static void skip_drawn(struct walk *w)
{
	if (w->l->cover && w->drawn)
		w->at = row_index_ends_from(w->l, w->level, w->at, w->end, w->drawn + 1);
}

bool walk_next(struct walk *w, struct run *run)
{
	uint64_t start;

	skip_drawn(w);
	if (w->at >= w->end || w->drawn > w->f->w.to)
		return false;
	start = row_index_start(w->l, w->level, w->at);
	/*
	 * Only the part after the last run is new; otherwise any number of overlapping pieces could
	 * be drawn.
	 */
	run->start = start > w->drawn ? start : w->drawn;
	run->end = row_index_end(w->l, w->level, w->at);
	run->item = row_index_item(w->l, w->level, w->at);
	run->n = row_index_count(w->l, w->level, w->at, w->at + 1);
	run->single = true;
	run->from = w->at++;
	if (frame_width(w->f, run->start, run->end) < WIDE)
		widen(w, run);
	w->drawn = run->end;
	run->to = w->at;
	run->start = start;
	return true;
}

/*
 * Return how many levels below LEVEL to draw BLOCK of INDEX, as low as is needed for closed gaps to be
 * invisible, as far as the budget allows.
 */
static unsigned closer(struct frame *f, const struct row_index *index, unsigned level, uint32_t block)
{
	double seen = GAP_SEEN / f->scale;
	uint64_t row = (uint64_t)f->w.width + 16;
	unsigned by = 0;

	if ((double)row_index_blur(index, level, block) <= seen)
		return 0;
	while (++by < level && (double)index->levels[level - by].blur > seen) {
	}
	while (by && row << (ROW_INDEX_SHIFT * by) > f->budget)
		by--;
	return by;
}

static void walk_group(struct frame *f, struct row_index *index, const struct row_group *group,
		       void (*draw)(struct frame *f, const struct run *run, const struct row_group *group))
{
	unsigned by = group->level ? closer(f, index, group->level, group->block) : 0;
	uint64_t n = UINT64_C(1) << (ROW_INDEX_SHIFT * by), before = index->steps, spent;
	struct row_group part = *group;
	struct walk w;
	struct run run;

	part.level = (uint16_t)(group->level - by);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t block = ((uint64_t)group->block << (ROW_INDEX_SHIFT * by)) + i;

		if (part.level ? block >= index->levels[part.level].blocks : block >= index->rows)
			break;
		part.block = (uint32_t)block;
		if (by)
			part.y = (float)fisheye_y(
				&f->fisheye, (double)(((block * 2 + 1) << (ROW_INDEX_SHIFT * part.level)) - 1) / 2);
		walk_init(&w, f, index, part.level, part.block);
		while (walk_next(&w, &run))
			draw(f, &run, &part);
	}
	spent = by ? index->steps - before : 0;
	f->budget -= spent < f->budget ? spent : f->budget;
}

void walk_rows(struct frame *f, struct row_index *index,
	       void (*draw)(struct frame *f, const struct run *run, const struct row_group *group))
{
	const struct row_group *groups = f->s->groups.items;

	for (uint32_t i = 0; index->n && i < f->s->groups.n && !f->failed; i++)
		walk_group(f, index, &groups[i], draw);
}

/*
 * Return the highest level with a block that begins with ROW, which is drawn at Y, and is drawn at
 * most TOGETHER pixels high.
 */
static unsigned level_for(const struct frame *f, uint32_t row, double y)
{
	unsigned level = 0;
	uint64_t rows;

	for (; level + 1 < ROW_INDEX_LEVELS; level++) {
		rows = UINT64_C(1) << (ROW_INDEX_SHIFT * (level + 1));
		if (row & (rows - 1) || rows >> ROW_INDEX_SHIFT >= f->v->rows ||
		    fisheye_y(&f->fisheye, fmin((double)row + (double)rows, f->fisheye.last)) - y > TOGETHER)
			break;
	}
	return level;
}

bool frame_group_rows(struct frame *f)
{
	uint64_t rows = f->v->rows;
	double above = 0, y;

	f->s->groups.n = 0;
	for (uint64_t row = f->fisheye.shown ? shown_from(f->fisheye.shown, 0) : 0; row < rows;) {
		struct row_group *group = grow_add(&f->s->groups, sizeof(*group));
		uint64_t n;

		if (!group)
			return false;
		f->s->steps++;
		y = frame_y(f, (uint32_t)row);
		group->level = (uint16_t)level_for(f, (uint32_t)row, y);
		n = UINT64_C(1) << (ROW_INDEX_SHIFT * group->level);
		group->block = (uint32_t)(row >> (ROW_INDEX_SHIFT * group->level));
		group->y = (float)fisheye_y(&f->fisheye, fmin((double)row + (double)(n - 1) / 2, f->fisheye.last));
		group->room = (uint16_t)(group->level ? 0 : fmin(y - above, UINT16_MAX));
		row += n;
		if (f->fisheye.shown && row < rows)
			row = shown_from(f->fisheye.shown, (uint32_t)row);
		above = y;
	}
	return true;
}
