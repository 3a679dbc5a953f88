/*
 * Links by time.
 *
 * A read's arrow comes from where its source ended, a resolution's from where the resolver did if that was before.  Everything else happens at
 * one time.
 */
#include <stdlib.h>

#include "scene-links.h"
#include "scene-sort.h"

#define SIXTEEN (1u << LINKS_SHIFT)

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

static bool links_index(struct links *l, const struct mprof_model_view *view, enum links_of of, const uint32_t *items,
			uint32_t n)
{
	*l = (struct links){.view = view, .of = of, .n = n, .items = items};
	return links_nodes_init(l);
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
		links_nodes_deinit(&all->of[of]);
	scene_groups_deinit(&all->births[LINKS_CREATION]);
	scene_groups_deinit(&all->births[LINKS_BECOMES]);
	scene_groups_deinit(&all->arrows);
}

static uint64_t time_of(const struct links *l, uint32_t place)
{
	uint32_t item = l->items[place];

	return l->of == LINKS_CREATION	? l->view->threads[item].start
	       : l->of == LINKS_BECOMES ? l->view->threads[item].end
					: l->view->interactions[item].time;
}

void links_get(const struct links *l, uint32_t place, struct link *link)
{
	get(l->view, l->of, l->items[place], link);
}

/* The first node from FROM on that begins at TIME or later, or the number of nodes. */
static uint32_t node_from(struct links *l, uint32_t from, uint64_t time)
{
	uint32_t to = l->times ? (l->n - 1) / SIXTEEN + 1 : 0, step = 1, middle;

	from = from < to ? from : to;
	/* Mostly it is one of the next. */
	while (step < to - from && l->times[from + step - 1] < time) {
		from += step;
		step *= 2;
		l->steps++;
	}
	to = step < to - from ? from + step : to;
	while (from < to) {
		middle = from + (to - from) / 2;
		l->steps++;
		if (l->times[middle] < time)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

uint32_t links_from(struct links *l, uint32_t from, uint64_t time, uint64_t slack)
{
	uint32_t node = node_from(l, (from + SIXTEEN - 1) / SIXTEEN, time), to = l->n, middle;

	if (l->times && node < (l->n - 1) / SIXTEEN + 1)
		to = node * SIXTEEN;
	if (to > from && to < l->n && l->times[node] - time < slack)
		return to;
	if (node && (node - 1) * SIXTEEN > from)
		from = (node - 1) * SIXTEEN;
	while (from < to) {
		middle = from + (to - from) / 2;
		l->steps++;
		if (time_of(l, middle) < time)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}
