/*
 * The ruler: lines at round times, with their times as texts.
 *
 * Times count from the trace's first event, because a guest's own clock means little to people. The
 * texts are exact: whole nanoseconds, with as many decimals as the distance of the lines needs.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scene-state.h"

#define SPACE 2.0 /* room between the texts of two lines, letters */
#define LINES 4096u

struct unit {
	const char *name;
	unsigned digits; /* decimals that a nanosecond has in this unit */
};

static const struct unit units[] = {{"s", 9}, {"ms", 6}, {"µs", 3}, {"ns", 0}};

struct ruler {
	struct frame *f;
	const struct unit *unit;
	uint64_t step;
	uint64_t round; /* the power of ten above the distance of two lines, ns */
	unsigned decimals;
};

/* Write NS, with a sign if NEGATIVE, in the ruler's unit into BUF of SIZE bytes. */
static void spell(const struct ruler *r, bool negative, uint64_t ns, char *buf, size_t size)
{
	uint64_t one = 1, fraction;

	for (unsigned i = 0; i < r->unit->digits; i++)
		one *= 10;
	fraction = ns % one;
	for (unsigned i = r->decimals; i < r->unit->digits; i++)
		fraction /= 10;
	if (r->decimals)
		snprintf(buf, size, "%s%" PRIu64 ".%0*" PRIu64 " %s", negative ? "-" : "", ns / one, (int)r->decimals,
			 fraction, r->unit->name);
	else
		snprintf(buf, size, "%s%" PRIu64 " %s", negative ? "-" : "", ns / one, r->unit->name);
}

/* Return the distance from the origin to the farther end of the window. */
static uint64_t farthest(const struct frame *f)
{
	uint64_t left = f->w.from > f->origin ? f->w.from - f->origin : f->origin - f->w.from;
	uint64_t right = f->w.to > f->origin ? f->w.to - f->origin : f->origin - f->w.to;

	return left > right ? left : right;
}

/*
 * Return true when lines STEP ns apart have room for their texts. STEP is 1, 2 or 5 times 10^ZEROS.
 * Set the ruler's unit and decimals for it.
 */
static bool fits(struct ruler *r, uint64_t step, unsigned zeros)
{
	uint64_t far = farthest(r->f);
	char text[64];

	r->unit = &units[far >= 1000000000 ? 0 : far >= 1000000 ? 1 : far >= 1000 ? 2 : 3];
	r->decimals = zeros < r->unit->digits ? r->unit->digits - zeros : 0;
	r->step = step;
	spell(r, r->f->w.from < r->f->origin, far, text, sizeof(text));
	return (double)step * r->f->scale >=
	       ((double)frame_text(r->f, NULL, text, strlen(text), sizeof(text)) + SPACE) * r->f->w.letter_width;
}

static void choose(struct ruler *r)
{
	static const uint64_t parts[] = {1, 2, 5};
	uint64_t ten = 1;

	for (unsigned zeros = 0; zeros < 19; zeros++, ten *= 10)
		for (unsigned i = 0; i < 3; i++) {
			r->round = ten < UINT64_MAX / 10 ? ten * 10 : ten;
			if ((zeros == 18 && parts[i] > 5) || fits(r, parts[i] * ten, zeros))
				return;
		}
}

static void put(const struct ruler *r, bool negative, uint64_t ns)
{
	uint64_t time = negative ? r->f->origin - ns : r->f->origin + ns;
	struct mprof_mark *mark = frame_mark(r->f, MPROF_MARK_GRID);
	char text[64];

	if (!mark)
		return;
	spell(r, negative && ns, ns, text, sizeof(text));
	mark->x0 = mark->x1 = (float)frame_x(r->f, time);
	mark->y1 = r->f->w.height;
	mark->item = ns % r->round == 0;
	frame_text(r->f, mark, text, strlen(text), sizeof(text));
}

void draw_grid(struct frame *f)
{
	struct ruler r = {.f = f};
	uint64_t ns;
	unsigned n = 0;

	choose(&r);
	f->grid_ns = r.step;
	if (f->w.from < f->origin)
		for (ns = (f->origin - f->w.from) / r.step * r.step; ns > 0 && n < LINES; ns -= r.step, n++)
			if (f->origin - ns <= f->w.to)
				put(&r, true, ns);
	if (f->w.to < f->origin)
		return;
	ns = f->w.from > f->origin ? (f->w.from - f->origin + r.step - 1) / r.step * r.step : 0;
	for (; ns <= f->w.to - f->origin && n < LINES; ns += r.step, n++) {
		put(&r, false, ns);
		if (UINT64_MAX - ns < r.step)
			return;
	}
}
