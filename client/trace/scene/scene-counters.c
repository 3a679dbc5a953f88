/*
 * Counters, as step curves over the full height, each on its scale.
 *
 * Samples on one pixel are one vertical line from the least to the greatest.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scene-state.h"

#define BORDER	 5.0 /* pixels above the greatest value and below the least */
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

/* Keys in the order of the values. */
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
	double x, y;	  /* current position */
	uint32_t at, end; /* places in the list of samples */
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

	return c->f->w.height - BORDER - fmax(c->f->w.height - 2 * BORDER, 0) * part;
}

static void put(const struct curve *c, double x0, double y0, double x1, double y1)
{
	struct mprof_mark *mark = x0 == x1 && y0 == y1 ? NULL : frame_mark(c->f, MPROF_MARK_COUNTER);
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

/* Draw the samples on one pixel, from C->at on. */
static void step(struct curve *c)
{
	uint64_t time = sample_at(c, c->at)->time, limit;
	double x = frame_x(c->f, time), low, high;
	uint32_t next, *items = c->f->s->samples.items;
	struct pyramid *p = &c->f->s->values;

	limit = frame_time(c->f, floor(x) + 1);
	next = sample_from(c, c->at + 1, limit > time ? limit : time + 1);
	put(c, c->x, c->y, x, c->y);
	low = high = c->y;
	if (next - c->at > 1) {
		low = curve_y(c, c->f->v->samples[items[pyramid_least(p, GREATEST, c->at, next)]].value);
		high = curve_y(c, c->f->v->samples[items[pyramid_least(p, LEAST, c->at, next)]].value);
	}
	if (next - c->at > 1)
		put(c, x, fmin(low, c->y), x, fmax(high, c->y));
	low = curve_y(c, sample_at(c, next - 1)->value);
	if (next - c->at == 1)
		put(c, x, c->y, x, low);
	c->x = x;
	c->y = low;
	c->at = next;
}

static void draw_curve(struct curve *c)
{
	const struct scene_groups *g = &c->f->s->samples;
	uint32_t first = g->starts[c->counter];

	c->end = g->starts[c->counter + 1];
	c->at = sample_from(c, first, c->f->w.from);
	c->y = curve_y(c, c->at > first ? sample_at(c, c->at - 1)->value : 0);
	while (c->at < c->end && sample_at(c, c->at)->time <= c->f->w.to && !c->f->failed)
		step(c);
	put(c, c->x, c->y, c->f->w.width, c->y);
}

/*
 * Return the first free height from Y downwards among the N sorted heights in TAKEN, and insert it.
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
		struct curve c = {.f = f, .counter = list[i], .scale = &f->v->scales[f->v->counters[list[i]].scale]};

		draw_curve(&c);
		ends[i] = c.y;
	}
	for (uint32_t i = 0; i < n && !f->failed; i++)
		put_name(&(struct curve){.f = f, .counter = list[i]}, take_height(taken, i, fmax(ends[i] - 2, NAME)));
	free(ends);
	free(taken);
}
