/*
 * Number of events by time.
 *
 * Most items of a model are in the order of time, but late events and several streams break that
 * order. Items that are in order are searched in the model; the items of any other kind are sorted
 * once.
 */
#include <stdlib.h>

#include "scene-state.h"

static uint64_t time_of(const struct mprof_model_view *v, enum density_kind kind, uint32_t i)
{
	switch (kind) {
	case DENSITY_LABELS:
		return v->labels[i].time;
	case DENSITY_INTERACTIONS:
		return v->interactions[i].time;
	case DENSITY_ACTIVATIONS:
		return v->activations[i].start;
	default:
		return v->samples[i].time;
	}
}

static uint32_t count(const struct mprof_model_view *v, enum density_kind kind)
{
	switch (kind) {
	case DENSITY_LABELS:
		return v->n_labels;
	case DENSITY_INTERACTIONS:
		return v->n_interactions;
	case DENSITY_ACTIVATIONS:
		return v->n_activations;
	default:
		return v->n_samples;
	}
}

struct sorting {
	const struct mprof_model_view *view;
	enum density_kind kind;
};

static uint32_t group_of(const void *context, uint32_t item)
{
	(void)context;
	(void)item;
	return 0;
}

static uint64_t key_of(const void *context, uint32_t item)
{
	const struct sorting *s = context;

	return time_of(s->view, s->kind, item);
}

static bool is_sorted(const struct sorting *s, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		if (key_of(s, i) < key_of(s, i - 1))
			return false;
	return true;
}

bool density_init(struct mprof_scene *s)
{
	struct sorting sorting = {.view = s->view};
	struct scene_groups g;
	uint32_t n;

	s->origin = UINT64_MAX;
	for (uint32_t i = 0; i < s->view->n_streams; i++)
		if (s->view->streams[i].events && s->view->streams[i].start < s->origin)
			s->origin = s->view->streams[i].start;
	s->origin = s->origin == UINT64_MAX ? 0 : s->origin;
	for (unsigned kind = 0; kind < DENSITY_KINDS; kind++) {
		sorting.kind = kind;
		n = count(s->view, kind);
		if (is_sorted(&sorting, n))
			continue;
		if (!scene_group(&g, &(struct scene_source){&sorting, n, 1, group_of, key_of}))
			return false;
		s->by_time[kind] = g.items;
		free(g.starts);
	}
	return true;
}

void density_deinit(struct mprof_scene *s)
{
	for (unsigned kind = 0; kind < DENSITY_KINDS; kind++)
		free(s->by_time[kind]);
}

uint32_t density_before(const struct mprof_scene *s, enum density_kind kind, uint32_t from, uint64_t time)
{
	uint32_t to = count(s->view, kind), middle;
	const uint32_t *items = s->by_time[kind];

	while (from < to) {
		middle = from + (to - from) / 2;
		if (time_of(s->view, kind, items ? items[middle] : middle) < time)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* Return the start of part I of N, without a product that overflows 64 bits. */
static uint64_t part_start(uint64_t from, uint64_t to, uint32_t i, uint32_t n)
{
	uint64_t whole = to - from;

	return from + whole / n * i + whole % n * i / n;
}

void mprof_scene_density(const struct mprof_scene *s, uint64_t from, uint64_t to, uint32_t *parts, uint32_t n)
{
	uint32_t at, next;

	for (uint32_t i = 0; i < n; i++)
		parts[i] = 0;
	if (to <= from)
		return;
	for (unsigned kind = 0; kind < DENSITY_KINDS; kind++) {
		at = n ? density_before(s, kind, 0, from) : 0;
		for (uint32_t i = 0; i < n; i++, at = next) {
			next = density_before(s, kind, at, part_start(from, to, i + 1, n));
			parts[i] = UINT32_MAX - parts[i] > next - at ? parts[i] + (next - at) : UINT32_MAX;
		}
	}
}
