/*
 * Counters and their scales.
 *
 * Counters with one base name (`buflen#1`, `buflen#2`) can only be compared on the same scale. So a
 * scale is an object of its own.
 *
 * Values are exact 64-bit numbers. Larger values are clamped and counted.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/model.h>

#include "model-state.h"

/* Smallest range of a scale. */
#define SCALE_SPAN 10

bool counters_reserve(struct mprof_model *m)
{
	return map_reserve(&m->counters, 1);
}

static int64_t sum(struct mprof_model *m, int64_t a, int64_t b)
{
	int64_t result;

	if (!__builtin_add_overflow(a, b, &result))
		return result;
	m->notes.counters_clipped++;
	return b < 0 ? INT64_MIN : INT64_MAX;
}

static uint32_t counter_of(struct mprof_model *m, uint32_t stream, uint32_t name, bool relative)
{
	uint64_t key = (uint64_t)stream << 32 | name;
	uint32_t i = map_get(&m->counters, key);

	if (i != MPROF_NONE)
		return i;
	i = m->arrays[MODEL_COUNTERS].n;
	*(struct mprof_counter *)grow_take(&m->arrays[MODEL_COUNTERS], sizeof(struct mprof_counter)) =
		(struct mprof_counter){
			.name = name,
			.scale = MPROF_NONE,
			.first = MPROF_NONE,
			.last = MPROF_NONE,
			.stream = (uint16_t)stream,
			.relative = relative,
			.grows = 1,
		};
	map_put(&m->counters, key, i);
	return i;
}

/* Take from E what it says of the counter C itself, before C's sample of E is counted. */
static void note_kind(struct mprof_counter *c, const struct mprof_raw_event *e)
{
	bool increase = e->id == MPROF_EVENT_increase;

	if (!c->kind && e->type < MPROF_COUNTER_KINDS)
		c->kind = e->type;
	/* The first value that is no change: from here on the counter is absolute. */
	if (!increase || c->kind == MPROF_COUNTER_AMOUNT)
		c->relative = false;
	if (c->samples && (!increase || e->number < 0))
		c->grows = false;
}

uint32_t counters_add(struct mprof_model *m, uint32_t stream, uint32_t name, const struct mprof_sample *sample,
		      const struct mprof_raw_event *e)
{
	bool increase = e->id == MPROF_EVENT_increase;
	uint32_t i = counter_of(m, stream, name, increase), at = m->arrays[MODEL_SAMPLES].n;
	struct mprof_sample *s = grow_take(&m->arrays[MODEL_SAMPLES], sizeof(*s)), *samples;
	struct mprof_counter *c = (struct mprof_counter *)m->arrays[MODEL_COUNTERS].items + i;

	samples = m->arrays[MODEL_SAMPLES].items;
	note_kind(c, e);
	*s = *sample;
	s->counter = i;
	s->previous = c->last;
	s->next = MPROF_NONE;
	s->value = e->number;
	if (c->kind == MPROF_COUNTER_AMOUNT)
		c->sum = sum(m, c->sum, e->number);
	else if (increase)
		s->value = sum(m, c->samples ? samples[c->last].value : 0, e->number);
	if (c->samples)
		samples[c->last].next = at;
	else
		c->first = at;
	c->min = !c->samples || s->value < c->min ? s->value : c->min;
	c->max = !c->samples || s->value > c->max ? s->value : c->max;
	c->last = at;
	c->samples++;
	return at;
}

/*
 * Return the name, a string, of the scale of the counter whose name is the string COUNTER: the name
 * up to its last `#`, the whole name if it has none, or for `tcp-ackd-segs` the name of the counter
 * with which it is compared. Return MPROF_NONE without memory.
 */
static uint32_t scale_name(struct mprof_model *m, uint32_t counter)
{
	static const char acknowledged[] = "tcp-ackd-segs", sent[] = "tcp-to-ip";
	const char *name = intern_text(&m->strings, counter), *hash;
	size_t bytes = intern_at(&m->strings, counter)->bytes;
	char *copy;
	uint32_t i;

	if (bytes == sizeof(acknowledged) - 1 && !memcmp(name, acknowledged, bytes))
		return intern_add(&m->strings, sent, sizeof(sent) - 1);
	hash = memrchr(name, '#', bytes);
	if (!hash)
		return counter;
	/* Copy the name: the arena may move while it grows. */
	bytes = (size_t)(hash - name);
	copy = malloc(bytes + 1);
	if (!copy)
		return MPROF_NONE;
	memcpy(copy, name, bytes);
	i = intern_add(&m->strings, copy, bytes);
	free(copy);
	return i;
}

static bool scale_counter(struct mprof_model *m, struct mprof_counter *c)
{
	uint32_t name = scale_name(m, c->name), i;
	uint64_t key = (uint64_t)c->stream << 32 | name;
	int64_t low = c->min < 0 ? c->min : 0;
	int64_t high = c->max > low + SCALE_SPAN ? c->max : low + SCALE_SPAN; /* LOW is at most 0 */
	struct mprof_scale *scale;

	high = high > 0 ? high : 0;
	if (name == MPROF_NONE || !map_reserve(&m->scales, 1) ||
	    !grow_reserve(&m->arrays[MODEL_SCALES], sizeof(*scale), 1))
		return false;
	i = map_get(&m->scales, key);
	if (i == MPROF_NONE) {
		i = m->arrays[MODEL_SCALES].n;
		scale = grow_take(&m->arrays[MODEL_SCALES], sizeof(*scale));
		*scale = (struct mprof_scale){.min = low, .max = high, .name = name, .stream = c->stream};
		map_put(&m->scales, key, i);
	}
	scale = (struct mprof_scale *)m->arrays[MODEL_SCALES].items + i;
	scale->min = low < scale->min ? low : scale->min;
	scale->max = high > scale->max ? high : scale->max;
	c->scale = i;
	return true;
}

bool model_counters_scale(struct mprof_model *m)
{
	struct mprof_counter *counters = m->arrays[MODEL_COUNTERS].items;

	for (uint32_t i = 0; i < m->arrays[MODEL_COUNTERS].n; i++)
		if (!scale_counter(m, &counters[i]))
			return false;
	return true;
}

struct named {
	struct mprof_counter counter;
	const char *text;
	uint32_t bytes;
	uint32_t was;
};

static int by_name(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	uint32_t shorter = x->bytes < y->bytes ? x->bytes : y->bytes;
	int order = shorter ? memcmp(x->text, y->text, shorter) : 0;

	if (order)
		return order;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? -1 : 1;
	return (x->was > y->was) - (x->was < y->was);
}

bool model_counters_sort(struct mprof_model *m)
{
	struct mprof_counter *counters = m->arrays[MODEL_COUNTERS].items;
	struct mprof_sample *samples = m->arrays[MODEL_SAMPLES].items;
	uint32_t n = m->arrays[MODEL_COUNTERS].n, *places;
	struct named *list;

	if (!n)
		return true;
	list = calloc(n, sizeof(*list));
	places = calloc(n, sizeof(*places));
	for (uint32_t i = 0; list && places && i < n; i++)
		list[i] = (struct named){counters[i], intern_text(&m->strings, counters[i].name),
					 intern_at(&m->strings, counters[i].name)->bytes, i};
	if (list && places) {
		qsort(list, n, sizeof(*list), by_name);
		for (uint32_t i = 0; i < n; i++) {
			counters[i] = list[i].counter;
			places[list[i].was] = i;
		}
		for (uint32_t i = 0; i < m->arrays[MODEL_SAMPLES].n; i++)
			samples[i].counter = places[samples[i].counter];
	}
	free(list);
	free(places);
	return list && places;
}

/* ---- labels ---- */

/*
 * Store the change from the previous sample to S as *SIGN and *AMOUNT, because a signed 64-bit
 * number may not hold it.
 */
static void change_of(const struct mprof_model_view *view, const struct mprof_sample *s, char *sign, uint64_t *amount)
{
	int64_t before = s->previous == MPROF_NONE ? 0 : view->samples[s->previous].value;

	*sign = s->value < before ? '-' : '+';
	*amount = s->value < before ? (uint64_t)before - (uint64_t)s->value : (uint64_t)s->value - (uint64_t)before;
}

size_t mprof_label_text(const struct mprof_model_view *view, uint32_t i, char *buf, size_t size)
{
	const struct mprof_label *label = &view->labels[i];
	const struct mprof_string *text = &view->strings[label->text];
	size_t bytes = text->bytes, fits;
	char change[24] = "", sign;
	uint64_t amount;

	if (label->sample != MPROF_NONE) {
		change_of(view, &view->samples[label->sample], &sign, &amount);
		snprintf(change, sizeof(change), "%c%" PRIu64, sign, amount);
	}
	if (size) {
		fits = bytes < size ? bytes : size - 1;
		if (fits)
			memcpy(buf, view->text + text->offset, fits);
		snprintf(buf + fits, size - fits, "%s", change);
	}
	return bytes + strlen(change);
}
