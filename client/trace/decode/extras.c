/* Interned texts, and the events that use them. */
#include "extras.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/extra.h>

#define NUMBER_MAX 16u /* bytes of the text that stands for an unknown one */

/* A fixed seed serves: the table has at most EXTRAS_TEXTS_MAX keys of 32 bits. */
#define SEED UINT64_C(0x6d70726f66)

/* A text of the packet. */
struct kept {
	char *text;	 /* owned */
	uint8_t counter; /* enum mprof_counter_kind that its TEXT declares */
};

void extras_init(struct extras *x)
{
	map_init(&x->map, SEED);
	x->texts = (struct grow){0};
}

void extras_clear(struct extras *x)
{
	if (!x->texts.n)
		return;
	for (uint32_t i = 0; i < x->texts.n; i++)
		free(((struct kept *)x->texts.items)[i].text);
	x->texts.n = 0;
	map_deinit(&x->map);
	map_init(&x->map, SEED);
}

void extras_deinit(struct extras *x)
{
	extras_clear(x);
	map_deinit(&x->map);
	grow_deinit(&x->texts);
}

/*
 * Keep a copy of the LEN bytes at TEXT under KEY, which the map does not have, with the kind COUNTER. Return the copy,
 * or NULL.
 */
static const char *text_keep(struct extras *x, uint64_t key, const char *text, size_t len, uint8_t counter)
{
	char *copy;

	if (x->texts.n == EXTRAS_TEXTS_MAX || !map_reserve(&x->map, 1) ||
	    !grow_reserve(&x->texts, sizeof(struct kept), 1))
		return NULL;
	copy = malloc(len + 1);
	if (!copy)
		return NULL;
	memcpy(copy, text, len);
	copy[len] = 0;
	map_put(&x->map, key, x->texts.n);
	*(struct kept *)grow_take(&x->texts, sizeof(struct kept)) = (struct kept){copy, counter};
	return copy;
}

/* Return the text ID, and its kind in *COUNTER. A text that the packet does not have becomes its number. */
static const char *text_find(struct extras *x, uint32_t id, uint8_t *counter, struct mprof_totals *totals)
{
	const uint64_t unknown = UINT64_C(1) << 32 | id; /* the key of the number: no id has it */
	uint32_t i = map_get(&x->map, id);
	char number[NUMBER_MAX];
	const char *kept;
	int n;

	if (i != MPROF_NONE) {
		*counter = ((struct kept *)x->texts.items)[i].counter;
		return ((struct kept *)x->texts.items)[i].text;
	}
	totals->unknown_texts++;
	i = map_get(&x->map, unknown);
	if (i != MPROF_NONE)
		return ((struct kept *)x->texts.items)[i].text;
	n = snprintf(number, sizeof(number), "#%" PRIu32, id);
	kept = text_keep(x, unknown, number, (size_t)n, 0);
	return kept ? kept : "#?";
}

/* Take the RECORDER in EXTRA. Return as extras_take(). */
static bool take_recorder(const struct extras *x, const struct mprof_extra *extra, struct mprof_raw_event *raw)
{
	raw->context = 0;
	raw->number = (int64_t)(extra->dialect | (uint32_t)extra->version << 8 | (uint32_t)extra->flags << 16);
	raw->text = NULL;
	raw->text_bytes = 0;
	return x->recorders;
}

bool extras_take(struct extras *x, struct mprof_raw_event *raw, struct mprof_totals *totals)
{
	static const uint8_t ids[MPROF_EXTRA_KINDS] = {
		[MPROF_EXTRA_DURATION] = MPROF_EVENT_extra,    [MPROF_EXTRA_LABEL] = MPROF_EVENT_label,
		[MPROF_EXTRA_INCREASE] = MPROF_EVENT_increase, [MPROF_EXTRA_COUNTER] = MPROF_EVENT_counter,
		[MPROF_EXTRA_STATE] = MPROF_EVENT_extra,
	};
	struct mprof_extra extra;

	if (!mprof_extra_load(&extra, raw)) {
		totals->skipped_extras++;
		return false;
	}
	if (extra.kind == MPROF_EXTRA_RECORDER)
		return take_recorder(x, &extra, raw);
	if (extra.kind == MPROF_EXTRA_TEXT) {
		/* The first text of an id counts: events that were given out may use it. */
		if (map_get(&x->map, extra.id) == MPROF_NONE)
			text_keep(x, extra.id, extra.text, extra.text_bytes, extra.counter);
		return false;
	}
	if (!extra.text) {
		extra.text = text_find(x, extra.id, &extra.counter, totals);
		extra.text_bytes = strlen(extra.text);
	}
	raw->id = ids[extra.kind];
	raw->type = extra.kind == MPROF_EXTRA_INCREASE || extra.kind == MPROF_EXTRA_COUNTER ? extra.counter
		    : extra.kind == MPROF_EXTRA_STATE					    ? MPROF_EXTRA_STATE
											    : 0;
	raw->context = extra.thread;
	raw->number = extra.number;
	raw->text = extra.text;
	raw->text_bytes = extra.text_bytes;
	return extra.kind != MPROF_EXTRA_STATE || x->recorders;
}
