/*
 * Vertical lines and arrows.
 *
 * One column of pixels can have any number of links of one kind. Up to frame.few links are all drawn. If
 * there are more, the first one is drawn and those that reach the farthest up, down and back in time,
 * so the picture shows the extent of all of them.
 */
#include <math.h>

#include "scene-state.h"

#define SLACK  1.0    /* pixels by which a column may be wider, if that is faster to find */
#define FADED  6000.0 /* an arrow over this many pixels to the left is faded so far that it is invisible */
#define FAINT  0.01
#define SHADED 0.125 /* least opacity of links that are drawn over their shade (scene-shade.c) */

static const enum mprof_mark_kind kinds[LINKS_KINDS] = {
	[LINKS_CREATION] = MPROF_MARK_CREATION,	      [LINKS_BECOMES] = MPROF_MARK_BECOMES,
	[LINKS_RESOLVE] = MPROF_MARK_RESOLVE,	      [LINKS_READ] = MPROF_MARK_READ,
	[LINKS_READ_FAILED] = MPROF_MARK_READ_FAILED, [LINKS_TRY_READ] = MPROF_MARK_TRY_READ,
	[LINKS_SIGNAL] = MPROF_MARK_SIGNAL,
};

/* Draw LINK with opacity ALPHA, 0 to 1. It is fainter if it is long. */
static void put_link(struct frame *f, const struct links *l, const struct link *link, double alpha)
{
	struct mprof_mark *mark;
	double x0, x1, y0, y1, edge = -(double)f->w.width;

	alpha *= 1 - frame_width(f, link->begin, link->time) / FADED;

	if (alpha <= FAINT)
		return;
	mark = frame_mark(f, kinds[l->of]);
	if (!mark)
		return;
	x0 = frame_x(f, link->begin);
	x1 = frame_clip(f, frame_x(f, link->time));
	y0 = frame_y(f, link->from);
	y1 = frame_y(f, link->to);
	if (x0 < edge && x1 > edge) {
		y0 += (y1 - y0) * (edge - x0) / (x1 - x0);
		x0 = edge;
	}
	mark->x0 = (float)x0;
	mark->y0 = (float)y0;
	mark->x1 = (float)x1;
	mark->y1 = (float)y1;
	mark->item = link->item;
	mark->stream = frame_stream(f, l->of < LINKS_RESOLVE ? link->item : f->v->interactions[link->item].thread);
	mark->shade = (uint16_t)(alpha * 65535);
}

static void put(struct frame *f, const struct links *l, uint32_t place)
{
	struct link link;

	links_get(l, place, &link);
	put_link(f, l, &link, 1);
}

/*
 * Draw the links from FROM up to, but not including, TO: all, or the first one and those that reach
 * the farthest.
 */
static void put_some(struct frame *f, struct links *l, uint32_t from, uint32_t to)
{
	uint32_t n = to - from, shown[1 + LINKS_WAYS], k;
	struct link_node farthest;
	struct link links[1 + LINKS_WAYS];
	double alpha = f->w.flags & MPROF_WINDOW_SHADED ? fmax(f->few / (double)n, SHADED) : 1;

	if (n <= f->few) {
		for (uint32_t i = from; i < to; i++)
			put(f, l, i);
		return;
	}
	links_farthest(l, from, to, &farthest);
	shown[0] = from;
	for (uint32_t i = 0; i < LINKS_WAYS; i++)
		shown[1 + i] = farthest.at[i];
	/* Each load misses the cache; loading them together overlaps the misses. */
	for (uint32_t i = 0; i < 1 + LINKS_WAYS; i++)
		links_get(l, shown[i], &links[i]);
	for (uint32_t i = 0; i < 1 + LINKS_WAYS; i++) {
		for (k = 0; k < i && shown[k] != shown[i]; k++) {
		}
		if (k == i)
			put_link(f, l, &links[i], alpha);
	}
}

double frame_column(const struct frame *f, double x)
{
	return floor(x / f->column) * f->column;
}

uint32_t frame_column_end(const struct frame *f, struct links *l, uint32_t place)
{
	uint64_t time = links_time(l, place), end;

	end = frame_time(f, frame_column(f, frame_x(f, time)) + f->column);
	end = end > time ? end : time + 1;
	return links_from(l, place, end, (uint64_t)fmin(SLACK / f->scale, (double)MPROF_TIME_MAX));
}

/*
 * Draw arrows from PLACE on, which end right of the picture: of each column of pixels up to frame.few of
 * those that reach into the picture.
 */
static void draw_from_right(struct frame *f, struct links *l, uint32_t place)
{
	uint64_t last = frame_time(f, 2 * (double)f->w.width);
	uint32_t end, stop = last < MPROF_TIME_MAX ? links_from(l, place, last + 1, 0) : l->n;

	while (!f->failed) {
		place = links_reaching(l, place, stop, f->w.to);
		if (place >= stop)
			return;
		end = frame_column_end(f, l, place);
		end = end < stop ? end : stop;
		for (uint32_t n = 0; n < f->few && place < end; n++) {
			put(f, l, place);
			place = links_reaching(l, place + 1, end, f->w.to);
		}
		place = end;
	}
}

static void draw_links(struct frame *f, enum links_of of)
{
	struct links *l = &f->s->links.of[of];
	uint32_t place = links_from(l, 0, f->w.from, 0), stop = links_from(l, place, f->w.to + 1, 0), end;

	for (; place < stop && !f->failed; place = end) {
		end = frame_column_end(f, l, place);
		end = end < stop ? end : stop;
		put_some(f, l, place, end);
	}
	if (of >= LINKS_RESOLVE)
		draw_from_right(f, l, stop);
}

void draw_verticals(struct frame *f)
{
	draw_links(f, LINKS_CREATION);
	draw_links(f, LINKS_BECOMES);
}

void draw_arrows(struct frame *f)
{
	for (unsigned of = LINKS_RESOLVE; of < LINKS_KINDS; of++)
		draw_links(f, of);
}
