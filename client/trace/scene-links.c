/*
 * Links by time.
 *
 * A read's arrow comes from where its source ended, a resolution's from where the resolver did if that was before.  Everything else happens at
 * one time.
 */
#include <stdlib.h>

#include "scene-links.h"
#include "scene-sort.h"

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void get(const struct mprof_model_view *v, enum links_of of, uint32_t item, struct link *link)
{
	const struct mprof_thread *t = v->threads, *a, *b;
	const struct mprof_interaction *it;

	link->item = item;
	if (of == LINKS_CREATION) {
		link->time = link->begin = t[item].start;
		link->from = t[t[item].parent].row;
		link->to = t[item].row;
		return;
	}
	if (of == LINKS_BECOMES) {
		link->time = link->begin = t[item].end;
		link->from = t[item].row;
		link->to = t[t[item].becomes].row;
		return;
	}
	it = &v->interactions[item];
	a = &t[it->thread];
	b = &t[it->other];
	link->time = it->time;
	link->begin = of == LINKS_RESOLVE			    ? earlier(it->time, a->end)
		      : of == LINKS_READ || of == LINKS_READ_FAILED ? earlier(it->time, b->end)
								    : it->time;
	link->from = of == LINKS_READ || of == LINKS_READ_FAILED ? b->row : a->row;
	link->to = of == LINKS_READ || of == LINKS_READ_FAILED ? a->row : b->row;
}

static uint32_t arrow_of(const struct mprof_model_view *v, const struct mprof_interaction *it)
{
	switch (it->kind) {
	case MPROF_INTERACTION_RESOLVE:
		return LINKS_RESOLVE;
	case MPROF_INTERACTION_READ:
		return v->threads[it->other].failure == MPROF_NONE ? LINKS_READ : LINKS_READ_FAILED;
	case MPROF_INTERACTION_TRY_READ:
		return LINKS_TRY_READ;
	case MPROF_INTERACTION_SIGNAL:
		return LINKS_SIGNAL;
	default:
		return UINT32_MAX;
	}
}

/* A thread's birth is not drawn below a root, nor where it was moved to its wake-up. */
static bool is_created(const struct mprof_model_view *v, const struct mprof_thread *t)
{
	return t->parent != MPROF_NONE && v->threads[t->parent].row != MPROF_NONE && t->row != MPROF_NONE &&
	       !(t->flags & MPROF_THREAD_SIMPLIFIED);
}

struct gathering {
	const struct mprof_model_view *view;
	enum links_of of;
};

/* Creations, or what becomes another on another row. */
static uint32_t birth_group(const void *data, uint32_t item)
{
	const struct gathering *from = data;
	const struct mprof_model_view *v = from->view;
	const struct mprof_thread *t = &v->threads[item];

	if (from->of == LINKS_CREATION)
		return is_created(v, t) ? 0 : UINT32_MAX;
	return t->becomes != MPROF_NONE && v->threads[t->becomes].row != MPROF_NONE && t->row != MPROF_NONE &&
			       v->threads[t->becomes].row != t->row
		       ? 0
		       : UINT32_MAX;
}

static uint32_t arrow_group(const void *data, uint32_t item)
{
	const struct mprof_model_view *v = ((const struct gathering *)data)->view;
	const struct mprof_interaction *it = &v->interactions[item];

	if (it->thread == it->other || v->threads[it->thread].row == MPROF_NONE ||
	    v->threads[it->other].row == MPROF_NONE)
		return UINT32_MAX;
	return arrow_of(v, it);
}

static uint64_t birth_time(const void *data, uint32_t item)
{
	const struct gathering *from = data;
	const struct mprof_thread *t = &from->view->threads[item];

	return from->of == LINKS_CREATION ? t->start : t->end;
}

static uint64_t arrow_time(const void *data, uint32_t item)
{
	return ((const struct gathering *)data)->view->interactions[item].time;
}

static void measure(const void *data, uint32_t place, uint64_t *keys)
{
	struct link link;

	links_get(data, place, &link);
	keys[LINKS_UP] = link.from < link.to ? link.from : link.to;
	keys[LINKS_DOWN] = UINT32_MAX - (link.from > link.to ? link.from : link.to);
	keys[LINKS_BACK] = link.begin;
}

static bool links_index(struct links *l, const struct mprof_model_view *view, enum links_of of, const uint32_t *items,
			uint32_t n)
{
	*l = (struct links){.view = view, .of = of, .n = n, .items = items};
	return pyramid_init(&l->pyramid, n, LINKS_WAYS, measure, l);
}

bool links_init(struct links_all *all, const struct mprof_model_view *view)
{
	struct gathering from = {.view = view};
	struct scene_source births = {&from, view->n_threads, 1, birth_group, birth_time};
	struct scene_source arrows = {&from, view->n_interactions, LINKS_KINDS, arrow_group, arrow_time};
	unsigned of;

	for (of = LINKS_CREATION; of <= LINKS_BECOMES; of++) {
		from.of = of;
		if (!scene_group(&all->births[of], &births) ||
		    !links_index(&all->of[of], view, of, all->births[of].items, all->births[of].n))
			return false;
	}
	/* All kinds of arrows at once, since there are so many of them. */
	if (!scene_group(&all->arrows, &arrows))
		return false;
	for (of = LINKS_RESOLVE; of < LINKS_KINDS; of++)
		if (!links_index(&all->of[of], view, of, all->arrows.items + all->arrows.starts[of],
				 all->arrows.starts[of + 1] - all->arrows.starts[of]))
			return false;
	return true;
}

void links_deinit(struct links_all *all)
{
	unsigned of;

	for (of = 0; of < LINKS_KINDS; of++)
		pyramid_deinit(&all->of[of].pyramid);
	scene_groups_deinit(&all->births[LINKS_CREATION]);
	scene_groups_deinit(&all->births[LINKS_BECOMES]);
	scene_groups_deinit(&all->arrows);
}

static uint64_t time_of(const struct links *l, uint32_t place)
{
	struct link link;

	links_get(l, place, &link);
	return link.time;
}

void links_get(const struct links *l, uint32_t place, struct link *link)
{
	get(l->view, l->of, l->items[place], link);
}

uint32_t links_from(struct links *l, uint32_t from, uint64_t time)
{
	uint32_t to = l->n, step = 1, middle;

	/* Mostly it is one of the next. */
	while (step < to - from && time_of(l, from + step - 1) < time) {
		from += step;
		step *= 2;
		l->pyramid.steps++;
	}
	to = step < to - from ? from + step : to;
	while (from < to) {
		middle = from + (to - from) / 2;
		l->pyramid.steps++;
		if (time_of(l, middle) < time)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}
