/*
 * Counters, as step curves, each on its scale: over the full height of the picture, or each in a
 * lane of its own.
 *
 * Several samples on one pixel become one vertical line from the least to the greatest one; in a
 * lane they become a band.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scene-state.h"

#define BORDER	 5.0 /* pixels that are left free above the greatest value and below the least */
#define NEXT	 1.5 /* the bands of two pixels this many pixels apart or less touch */
#define COLOURS	 4u
#define NAME	 16.0 /* pixels, height of a name */
#define NAME_MAX 40u  /* letters */

enum { LEAST, GREATEST, WAYS };

static uint32_t counter_of(const void *context, uint32_t item)
{
	return ((const struct mprof_model_view *)context)->samples[item].counter;
}

static uint64_t time_of(const void *context, uint32_t item)
{
	return ((const struct mprof_model_view *)context)->samples[item].time;
}

/*
 * Compute two keys of the sample at PLACE: the first one in the order of the values, the second one
 * in the opposite order.
 */
static void measure(const void *context, uint32_t place, uint64_t *keys)
{
	const struct mprof_scene *s = context;
	uint64_t value = (uint64_t)s->view->samples[s->samples.items[place]].value ^ UINT64_C(1) << 63;

	keys[LEAST] = value;
	keys[GREATEST] = ~value;
}

bool counters_init(struct mprof_scene *s)
{
	uint32_t *shown;

	if (!scene_group(&s->samples, &(struct scene_source){s->view, s->view->n_samples, s->view->n_counters,
							     counter_of, time_of}) ||
	    !pyramid_init(&s->values, s->samples.n, WAYS, measure, s))
		return false;
	for (uint32_t i = 0; i < s->view->n_counters && i < MPROF_SCENE_COUNTERS; i++) {
		shown = grow_add(&s->counters, sizeof(*shown));
		if (!shown)
			return false;
		*shown = i;
	}
	return true;
}

/* Return the place, in the list of samples, after those of COUNTER at TIME or before. */
static uint32_t place_after(const struct mprof_scene *s, uint32_t counter, uint64_t time)
{
	const struct mprof_sample *samples = s->view->samples;
	uint32_t from = s->samples.starts[counter], to = s->samples.starts[counter + 1], middle;

	while (from < to) {
		middle = from + (to - from) / 2;
		if (samples[s->samples.items[middle]].time <= time)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

uint32_t mprof_scene_sample(const struct mprof_scene *s, uint32_t counter, uint64_t time)
{
	uint32_t place;

	if (counter >= s->view->n_counters)
		return MPROF_NONE;
	place = place_after(s, counter, time);
	return place > s->samples.starts[counter] ? s->samples.items[place - 1] : MPROF_NONE;
}

uint32_t mprof_scene_sample_after(const struct mprof_scene *s, uint32_t counter, uint64_t time)
{
	uint32_t place;

	if (counter >= s->view->n_counters)
		return MPROF_NONE;
	place = place_after(s, counter, time);
	return place < s->samples.starts[counter + 1] ? s->samples.items[place] : MPROF_NONE;
}

void mprof_scene_counter(struct mprof_scene *s, uint32_t counter, bool shown)
{
	uint32_t *list = s->counters.items, i;

	for (i = 0; i < s->counters.n && list[i] < counter; i++) {
	}
	if (counter >= s->view->n_counters || (i < s->counters.n && list[i] == counter) == shown)
		return;
	if (shown && !grow_reserve(&s->counters, sizeof(*list), 1))
		return;
	list = s->counters.items;
	if (shown) {
		memmove(list + i + 1, list + i, (s->counters.n - i) * sizeof(*list));
		list[i] = counter;
		s->counters.n++;
	} else {
		memmove(list + i, list + i + 1, (s->counters.n - i - 1) * sizeof(*list));
		s->counters.n--;
	}
}

/* The visible part of one counter's curve. */
struct curve {
	struct frame *f;
	uint32_t counter;
	const struct mprof_scale *scale;
	double top, bottom; /* y of the greatest value of the scale, and of the least, pixels */
	double x, y;	    /* end of the curve as drawn so far, pixels */
	bool lane;	    /* draw several samples on one pixel as a band */
	bool banded;	    /* the last mark was such a band */
	uint32_t at, end;   /* places in the list of samples */
};

static const struct mprof_sample *sample_at(const struct curve *c, uint32_t place)
{
	c->f->s->steps++;
	return &c->f->v->samples[c->f->s->samples.items[place]];
}

static double curve_y(const struct curve *c, int64_t value)
{
	double range = (double)((uint64_t)c->scale->max - (uint64_t)c->scale->min);
	double part = (double)((uint64_t)value - (uint64_t)c->scale->min) / range;

	return c->bottom - (c->bottom - c->top) * part;
}

static void put_kind(const struct curve *c, enum mprof_mark_kind kind, double x0, double y0, double x1, double y1)
{
	struct mprof_mark *mark = x0 == x1 && y0 == y1 ? NULL : frame_mark(c->f, kind);
	uint16_t stream = c->f->v->counters[c->counter].stream;

	if (!mark)
		return;
	mark->x0 = (float)x0;
	mark->y0 = (float)y0;
	mark->x1 = (float)x1;
	mark->y1 = (float)y1;
	mark->item = c->counter;
	mark->shade = c->counter % COLOURS;
	mark->stream = stream < UINT8_MAX ? (uint8_t)stream : UINT8_MAX;
}

static void put(const struct curve *c, double x0, double y0, double x1, double y1)
{
	put_kind(c, MPROF_MARK_COUNTER, x0, y0, x1, y1);
}

/* Return the first place from FROM on with a sample at TIME or later. */
static uint32_t sample_from(const struct curve *c, uint32_t from, uint64_t time)
{
	uint32_t to = c->end, step = 1, middle;

	while (step < to - from && sample_at(c, from + step - 1)->time < time) {
		from += step;
		step *= 2;
	}
	to = step < to - from ? from + step : to;
	while (from < to) {
		middle = from + (to - from) / 2;
		if (sample_at(c, middle)->time < time)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* Draw the samples on the pixel of the sample at C->at, and move C->at behind them. */
static void step(struct curve *c)
{
	uint64_t time = sample_at(c, c->at)->time, limit;
	double x = frame_x(c->f, time), low, high;
	uint32_t next, *items = c->f->s->samples.items;
	struct pyramid *p = &c->f->s->values;

	limit = frame_time(c->f, floor(x) + 1);
	next = sample_from(c, c->at + 1, limit > time ? limit : time + 1);
	if (!c->banded || x - c->x > NEXT)
		put(c, c->x, c->y, x, c->y);
	low = high = c->y;
	if (next - c->at > 1) {
		low = curve_y(c, c->f->v->samples[items[pyramid_least(p, GREATEST, c->at, next)]].value);
		high = curve_y(c, c->f->v->samples[items[pyramid_least(p, LEAST, c->at, next)]].value);
	}
	c->banded = c->lane && next - c->at > 1;
	if (c->banded)
		put_kind(c, MPROF_MARK_ENVELOPE, x, fmin(low, c->y), x + 1, fmax(high, c->y));
	else if (next - c->at > 1)
		put(c, x, fmin(low, c->y), x, fmax(high, c->y));
	low = curve_y(c, sample_at(c, next - 1)->value);
	if (next - c->at == 1)
		put(c, x, c->y, x, low);
	c->x = x;
	c->y = low;
	c->at = next;
}

/* Draw C's curve up to X. Return false when the curve begins after X. */
static bool draw_curve(struct curve *c, double x)
{
	const struct mprof_counter *counter = &c->f->v->counters[c->counter];
	const struct scene_groups *g = &c->f->s->samples;
	uint32_t first = g->starts[c->counter];

	c->end = g->starts[c->counter + 1];
	c->at = sample_from(c, first, c->f->w.from);
	c->y = curve_y(c, c->at > first ? sample_at(c, c->at - 1)->value : 0);
	if (c->lane && c->at == first) {
		/* Before the first sample the value is unknown, or 0 if it counts from the stream's start. */
		if (counter->relative) {
			c->x = fmax(frame_x(c->f, c->f->v->streams[counter->stream].start), 0);
			/* An event may be older than its stream's first one. */
			if (c->at < c->end)
				c->x = fmin(c->x, frame_x(c->f, sample_at(c, c->at)->time));
		} else if (c->at == c->end || sample_at(c, c->at)->time > c->f->w.to) {
			return false;
		} else {
			c->x = frame_x(c->f, sample_at(c, c->at)->time);
			c->y = curve_y(c, sample_at(c, c->at)->value);
		}
	}
	while (c->at < c->end && sample_at(c, c->at)->time <= c->f->w.to && !c->f->failed)
		step(c);
	if (x > c->x)
		put(c, c->x, c->y, x, c->y);
	return true;
}

/*
 * Return the first y from Y downwards that has room for a name beside the N names at the sorted
 * heights in TAKEN, and insert it there.
 */
static double take_height(double *taken, uint32_t n, double y)
{
	uint32_t i;

	for (i = 0; i < n && y + NAME >= taken[i]; i++)
		y = fmax(y, taken[i] + NAME);
	memmove(taken + i + 1, taken + i, (n - i) * sizeof(*taken));
	taken[i] = y;
	return y;
}

static void put_name(const struct curve *c, double y)
{
	const struct mprof_string *s = &c->f->v->strings[c->f->v->counters[c->counter].name];
	uint16_t stream = c->f->v->counters[c->counter].stream;
	struct mprof_mark *mark = y < c->f->w.height + NAME ? frame_mark(c->f, MPROF_MARK_COUNTER_NAME) : NULL;
	uint32_t letters;

	if (!mark)
		return;
	letters = frame_text(c->f, mark, s->bytes ? c->f->v->text + s->offset : "", s->bytes, NAME_MAX);
	mark->x1 = c->f->w.width;
	mark->x0 = (float)fmax(c->f->w.width - letters * (double)c->f->w.letter_width, 0);
	mark->y0 = mark->y1 = (float)y;
	mark->item = c->counter;
	mark->shade = c->counter % COLOURS;
	mark->stream = stream < UINT8_MAX ? (uint8_t)stream : UINT8_MAX;
}

void draw_counters(struct frame *f)
{
	uint32_t n = f->s->counters.n, *list = f->s->counters.items;
	double *ends = calloc((size_t)n + 1, sizeof(*ends)), *taken = calloc((size_t)n + 1, sizeof(*taken));

	f->failed = f->failed || !ends || !taken;
	for (uint32_t i = 0; i < n && !f->failed; i++) {
		struct curve c = {.f = f,
				  .counter = list[i],
				  .scale = &f->v->scales[f->v->counters[list[i]].scale],
				  .top = fmin(BORDER, f->w.height - BORDER),
				  .bottom = f->w.height - BORDER};

		draw_curve(&c, f->w.width);
		ends[i] = c.y;
	}
	for (uint32_t i = 0; i < n && !f->failed; i++)
		put_name(&(struct curve){.f = f, .counter = list[i]}, take_height(taken, i, fmax(ends[i] - 2, NAME)));
	free(ends);
	free(taken);
}

void draw_lane(struct frame *f, uint32_t counter, double top, double bottom)
{
	const struct mprof_counter *it = &f->v->counters[counter];
	const struct mprof_string *name = &f->v->strings[it->name];
	double end = fmin(frame_x(f, f->v->streams[it->stream].end), f->w.width);
	struct curve c = {.f = f,
			  .counter = counter,
			  .scale = &f->v->scales[it->scale],
			  .top = top,
			  .bottom = bottom,
			  .lane = true};
	struct mprof_mark *mark = frame_mark(f, MPROF_MARK_LANE);

	if (!mark)
		return;
	mark->x1 = f->w.width;
	mark->y0 = (float)top;
	mark->y1 = (float)bottom;
	mark->item = counter;
	mark->shade = counter % COLOURS;
	mark->stream = it->stream < UINT8_MAX ? (uint8_t)it->stream : UINT8_MAX;
	frame_text(f, mark, name->bytes ? f->v->text + name->offset : "", name->bytes, NAME_MAX);
	draw_curve(&c, end);
}
