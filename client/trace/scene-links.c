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

static enum links_of arrow_of(const struct mprof_model_view *v, const struct mprof_interaction *it)
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
		return LINKS_KINDS;
	}
}

/* A thread's birth is not drawn below a root, nor where it was moved to its wake-up. */
static bool is_created(const struct mprof_model_view *v, const struct mprof_thread *t)
{
	return t->parent != MPROF_NONE && v->threads[t->parent].row != MPROF_NONE && t->row != MPROF_NONE &&
	       !(t->flags & MPROF_THREAD_SIMPLIFIED);
}

static bool is_link(const struct links *l, uint32_t item)
{
	const struct mprof_model_view *v = l->view;
	const struct mprof_interaction *it;
	const struct mprof_thread *t;

	if (l->of == LINKS_CREATION)
		return is_created(v, &v->threads[item]);
	if (l->of == LINKS_BECOMES) {
		t = &v->threads[item];
		return t->becomes != MPROF_NONE && v->threads[t->becomes].row != MPROF_NONE && t->row != MPROF_NONE &&
		       v->threads[t->becomes].row != t->row;
	}
	it = &v->interactions[item];
	return arrow_of(v, it) == l->of && it->thread != it->other && v->threads[it->thread].row != MPROF_NONE &&
	       v->threads[it->other].row != MPROF_NONE;
}

static uint32_t group_of(const void *data, uint32_t item)
{
	return is_link(data, item) ? 0 : UINT32_MAX;
}

static uint64_t time_of(const void *data, uint32_t item)
{
	const struct links *l = data;
	struct link link;

	get(l->view, l->of, item, &link);
	return link.time;
}

static void measure(const void *data, uint32_t place, uint64_t *keys)
{
	struct link link;

	links_get(data, place, &link);
	keys[LINKS_UP] = link.from < link.to ? link.from : link.to;
	keys[LINKS_DOWN] = UINT32_MAX - (link.from > link.to ? link.from : link.to);
	keys[LINKS_BACK] = link.begin;
}

bool links_init(struct links *l, const struct mprof_model_view *view, enum links_of of)
{
	struct scene_groups g;

	*l = (struct links){.view = view, .of = of};
	if (!scene_group(&g, &(struct scene_source){
				     .data = l,
				     .total = of < LINKS_RESOLVE ? view->n_threads : view->n_interactions,
				     .groups = 1,
				     .group = group_of,
				     .key = time_of,
			     }))
		return false;
	l->items = g.items;
	l->n = g.n;
	free(g.starts);
	return pyramid_init(&l->pyramid, l->n, LINKS_WAYS, measure, l);
}

void links_deinit(struct links *l)
{
	free(l->items);
	pyramid_deinit(&l->pyramid);
}

void links_get(const struct links *l, uint32_t place, struct link *link)
{
	get(l->view, l->of, l->items[place], link);
}

uint32_t links_from(struct links *l, uint32_t from, uint64_t time)
{
	uint32_t to = l->n, step = 1, middle;

	/* Mostly it is one of the next. */
	while (step < to - from && time_of(l, l->items[from + step - 1]) < time) {
		from += step;
		step *= 2;
		l->pyramid.steps++;
	}
	to = step < to - from ? from + step : to;
	while (from < to) {
		middle = from + (to - from) / 2;
		l->pyramid.steps++;
		if (time_of(l, l->items[middle]) < time)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}
