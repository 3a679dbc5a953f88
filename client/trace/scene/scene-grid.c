/*
 * The ruler: lines at round times, with their times as texts.
 *
 * Times count from the trace's first event, because a guest's own clock means little to people; or
 * from another time, or as times of day, if the window says so. The texts are exact: whole nanoseconds, with as
 * many decimals as the distance of the lines needs.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "array.h"
#include "scene-state.h"

#define SPACE 2.0 /* room between the texts of two lines, letters */
#define LINES 4096u
#define TEXT  64u /* most bytes of a line's text, with its NUL */

#define SECOND 1000000000u
#define DAY    (86400ull * SECOND)

struct unit {
	const char *name;
	unsigned digits; /* decimals that a nanosecond has in this unit */
};

static const struct unit units[] = {{"s", 9}, {"ms", 6}, {"µs", 3}, {"ns", 0}};

struct ruler {
	struct frame *f;
	const struct unit *unit;
	uint64_t origin; /* the time from which the lines' times count, ns, modulo 2^64: it may be below 0 */
	uint64_t step;
	uint64_t round; /* next larger round time above the distance of two lines, ns */
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

/* Return true if TIME is before the origin. */
static bool is_before(const struct ruler *r, uint64_t time)
{
	return (int64_t)time < (int64_t)r->origin;
}

/* Return the distance from the origin to the farther end of the window. */
static uint64_t farthest(const struct ruler *r)
{
	const struct mprof_window *w = &r->f->w;
	uint64_t left = is_before(r, w->from) ? r->origin - w->from : w->from - r->origin;
	uint64_t right = is_before(r, w->to) ? r->origin - w->to : w->to - r->origin;

	return left > right ? left : right;
}

/* Return true if TEXT fits between two lines STEP ns apart. */
static bool has_room(const struct ruler *r, uint64_t step, const char *text)
{
	double letters = (double)frame_text(r->f, NULL, text, strlen(text), TEXT) + SPACE;

	return (double)step * r->f->scale >= letters * r->f->w.letter_width;
}

/*
 * Return true when lines STEP ns apart have room for their texts. STEP is 1, 2 or 5 times 10^ZEROS.
 * Set the ruler's unit and decimals for it.
 */
static bool fits(struct ruler *r, uint64_t step, unsigned zeros)
{
	uint64_t far = farthest(r);
	char text[TEXT];

	r->unit = &units[far >= 1000000000 ? 0 : far >= 1000000 ? 1 : far >= 1000 ? 2 : 3];
	r->decimals = zeros < r->unit->digits ? r->unit->digits - zeros : 0;
	r->step = step;
	spell(r, is_before(r, r->f->w.from), far, text, sizeof(text));
	return has_room(r, step, text);
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

/* Draw the line of TIME with TEXT. ROUND: it is a rounder time than that of most lines. */
static void put(const struct ruler *r, uint64_t time, bool round, const char *text)
{
	struct mprof_mark *mark = frame_mark(r->f, MPROF_MARK_GRID);

	if (!mark)
		return;
	mark->x0 = mark->x1 = (float)frame_x(r->f, time);
	mark->y1 = r->f->w.height;
	mark->item = round;
	frame_text(r->f, mark, text, strlen(text), TEXT);
}

/* Draw the line NS after the ruler's origin, or before it if NEGATIVE. */
static void put_from_origin(const struct ruler *r, bool negative, uint64_t ns)
{
	char text[TEXT];

	spell(r, negative && ns, ns, text, sizeof(text));
	put(r, negative ? r->origin - ns : r->origin + ns, ns % r->round == 0, text);
}

static void draw_from_origin(struct ruler *r)
{
	const struct mprof_window *w = &r->f->w;
	uint64_t ns;
	unsigned n = 0;

	choose(r);
	if (is_before(r, w->from))
		for (ns = (r->origin - w->from) / r->step * r->step; ns > 0 && n < LINES; ns -= r->step, n++)
			if ((int64_t)(r->origin - ns) <= (int64_t)w->to)
				put_from_origin(r, true, ns);
	if (is_before(r, w->to))
		return;
	ns = is_before(r, w->from) ? 0 : (w->from - r->origin + r->step - 1) / r->step * r->step;
	for (; ns <= w->to - r->origin && n < LINES; ns += r->step, n++) {
		put_from_origin(r, false, ns);
		if (UINT64_MAX - ns < r->step)
			return;
	}
}

/* ---- times of day ---- */

/* Write the time of day of CLOCK, ns of a clock whose 0 is a midnight, into BUF of SIZE bytes. */
static void spell_day(const struct ruler *r, uint64_t clock, char *buf, size_t size)
{
	uint64_t seconds = clock % DAY / SECOND;
	uint64_t fraction = clock % SECOND;
	int n = snprintf(buf, size, "%02" PRIu64 ":%02" PRIu64, seconds / 3600, seconds / 60 % 60);

	if (r->step < 60ull * SECOND)
		n += snprintf(buf + n, size - (size_t)n, ":%02" PRIu64, seconds % 60);
	for (unsigned i = r->decimals; i < 9; i++)
		fraction /= 10;
	if (r->decimals)
		snprintf(buf + n, size - (size_t)n, ".%0*" PRIu64, (int)r->decimals, fraction);
}

/*
 * Choose lines STEP ns apart if they have room for their texts, and return true. DECIMALS is the
 * number of decimals of a second in the texts, ROUND the next larger round time.
 */
static bool fits_day(struct ruler *r, uint64_t step, unsigned decimals, uint64_t round)
{
	char text[TEXT];

	r->step = step;
	r->decimals = decimals;
	r->round = round;
	spell_day(r, 0, text, sizeof(text));
	return has_room(r, step, text);
}

/* Choose the least distance with room: of decimals of a second, of round parts of a day, of days. */
static void choose_day(struct ruler *r)
{
	static const uint16_t tens[] = {1, 2, 5};
	static const uint16_t seconds[] = {1,	2,    5,    10,	  20,	30,    60,    120,  300,
					   600, 1200, 1800, 3600, 7200, 10800, 21600, 43200};
	uint64_t ten = 1;

	for (unsigned decimals = 9; decimals > 0; decimals--, ten *= 10)
		for (unsigned i = 0; i < ARRAY_SIZE(tens); i++)
			if (fits_day(r, tens[i] * ten, decimals, ten * 10))
				return;
	for (unsigned i = 0; i < ARRAY_SIZE(seconds); i++)
		if (fits_day(r, (uint64_t)seconds[i] * SECOND, 0,
			     seconds[i] < 60	 ? 60ull * SECOND
			     : seconds[i] < 3600 ? 3600ull * SECOND
						 : DAY))
			return;
	for (uint64_t days = 1; days < 100000 && !fits_day(r, days * DAY, 0, 10 * days * DAY); days *= 10)
		;
}

static void draw_day(struct ruler *r)
{
	const struct mprof_window *w = &r->f->w;
	uint64_t shift = w->day_shift;
	uint64_t time = w->from, past;

	choose_day(r);
	past = (time + shift) % r->step;
	if (past)
		time += r->step - past;
	for (unsigned n = 0; time <= w->to && n < LINES; time += r->step, n++) {
		char text[TEXT];

		spell_day(r, time + shift, text, sizeof(text));
		put(r, time, (time + shift) % r->round == 0, text);
	}
}

void draw_grid(struct frame *f)
{
	bool chosen = f->w.flags & MPROF_WINDOW_GRID_ORIGIN;
	struct ruler r = {.f = f, .origin = chosen ? (uint64_t)f->w.origin : f->origin};

	if (f->w.flags & MPROF_WINDOW_GRID_DAY)
		draw_day(&r);
	else
		draw_from_origin(&r);
	f->grid_ns = r.step;
}
