/*
 * Links by time.
 *
 * The arrow of a read begins at the time at which its source ended. The arrow of a resolution
 * begins at the time at which the resolver ended, if that was before the resolution. All other
 * links begin and end at the same time.
 */
#include <stdlib.h>

#include "scene-links.h"
#include "scene-sort.h"

#define SIXTEEN (1u << LINKS_SHIFT)

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t end_of(const struct links *l, uint32_t thread)
{
	return l->lives ? l->lives[thread].end : l->view->threads[thread].end;
}

static inline uint32_t row_of(const struct links *l, uint32_t thread)
{
	if (l->lives)
		return l->lives[thread].row;
	return l->rows ? l->rows[thread] : l->view->threads[thread].row;
}

uint64_t links_time(const struct links *l, uint32_t place)
{
	uint32_t item;

	if (l->times && place % SIXTEEN == 0 && !l->lives)
		return l->times[place / SIXTEEN];
	item = l->items[place];
	if (l->of >= LINKS_RESOLVE)
		return l->view->interactions[item].time;
	if (l->of == LINKS_BECOMES)
		return end_of(l, item);
	return l->lives ? l->lives[item].start : l->view->threads[item].start;
}

void links_get(const struct links *l, uint32_t place, struct link *link)
{
	const struct mprof_thread *t = l->view->threads;
	const struct mprof_interaction *it;
	uint32_t item = l->items[place], from, to;
	bool read = l->of == LINKS_READ || l->of == LINKS_READ_FAILED;

	link->item = item;
	link->time = link->begin = links_time(l, place);
	if (l->of == LINKS_CREATION || l->of == LINKS_BECOMES) {
		from = l->of == LINKS_CREATION ? t[item].parent : item;
		to = l->of == LINKS_CREATION ? item : t[item].becomes;
	} else {
		it = &l->view->interactions[item];
		from = read ? it->other : it->thread;
		to = read ? it->thread : it->other;
		if (read || l->of == LINKS_RESOLVE)
			link->begin = earlier(link->time, end_of(l, from));
	}
	link->from = row_of(l, from);
	link->to = row_of(l, to);
}

struct link_rows links_rows(const struct links *l, uint32_t place)
{
	struct link link;

	if (l->lowest && place % SIXTEEN == 0)
		return l->lowest[place / SIXTEEN].first;
	links_get(l, place, &link);
	return (struct link_rows){link.from, link.to};
}

struct link_source {
	const struct mprof_model_view *view;
	const struct scene_life *lives;
	const uint32_t *rows;
	enum links_of of;
};

static uint32_t arrow_of(const struct mprof_interaction *it, const struct scene_life *other)
{
	switch (it->kind) {
	case MPROF_INTERACTION_RESOLVE:
		return LINKS_RESOLVE;
	case MPROF_INTERACTION_READ:
		return other->failed ? LINKS_READ_FAILED : LINKS_READ;
	case MPROF_INTERACTION_TRY_READ:
		return LINKS_TRY_READ;
	case MPROF_INTERACTION_SIGNAL:
		return LINKS_SIGNAL;
	default:
		return UINT32_MAX;
	}
}

static uint32_t vertical_group(const void *context, uint32_t item)
{
	const struct link_source *from = context;
	const struct scene_life *life = &from->lives[item];

	return (from->of == LINKS_CREATION ? life->created : life->becomes) ? 0 : UINT32_MAX;
}

static uint32_t arrow_group(const void *context, uint32_t item)
{
	const struct link_source *from = context;
	const struct mprof_interaction *it = &from->view->interactions[item];

	if (it->thread == it->other || from->lives[it->thread].row == MPROF_NONE ||
	    from->lives[it->other].row == MPROF_NONE)
		return UINT32_MAX;
	return arrow_of(it, &from->lives[it->other]);
}

static uint64_t vertical_time(const void *context, uint32_t item)
{
	const struct link_source *from = context;

	return from->of == LINKS_CREATION ? from->lives[item].start : from->lives[item].end;
}

static uint64_t arrow_time(const void *context, uint32_t item)
{
	return ((const struct link_source *)context)->view->interactions[item].time;
}

static bool links_index(struct links *l, const struct link_source *from, enum links_of of, const uint32_t *items,
			uint32_t n)
{
	bool ok;

	*l = (struct links){
		.view = from->view, .lives = from->lives, .rows = from->rows, .of = of, .n = n, .items = items};
	ok = links_nodes_init(l);
	l->lives = NULL;
	return ok;
}

/*
 * Return an array with the row of each thread, if threads are few compared with interactions. Else,
 * or without memory, return NULL: rows are then looked up in the model.
 */
static uint32_t *rows_of(const struct mprof_model_view *view, const struct scene_life *lives)
{
	bool few = view->n_threads <= view->n_interactions / 3 * 2;
	uint32_t *rows = few ? malloc(((size_t)view->n_threads + 1) * sizeof(*rows)) : NULL;

	for (uint32_t i = 0; rows && i < view->n_threads; i++)
		rows[i] = lives[i].row;
	return rows;
}

bool links_init(struct links_all *all, const struct mprof_model_view *view, const struct scene_life *lives)
{
	struct link_source from = {.view = view, .lives = lives};
	struct scene_source verticals = {&from, view->n_threads, 1, vertical_group, vertical_time};
	struct scene_source arrows = {&from, view->n_interactions, LINKS_KINDS, arrow_group, arrow_time};

	all->rows = rows_of(view, lives);
	from.rows = all->rows;
	for (unsigned of = LINKS_CREATION; of <= LINKS_BECOMES; of++) {
		from.of = of;
		if (!scene_group(&all->verticals[of], &verticals) ||
		    !links_index(&all->of[of], &from, of, all->verticals[of].items, all->verticals[of].n))
			return false;
	}
	/* There are many arrows, so one pass groups all kinds of them. */
	if (!scene_group(&all->arrows, &arrows))
		return false;
	for (unsigned of = LINKS_RESOLVE; of < LINKS_KINDS; of++)
		if (!links_index(&all->of[of], &from, of, all->arrows.items + all->arrows.starts[of],
				 all->arrows.starts[of + 1] - all->arrows.starts[of]))
			return false;
	return true;
}

void links_deinit(struct links_all *all)
{
	for (unsigned of = 0; of < LINKS_KINDS; of++)
		links_nodes_deinit(&all->of[of]);
	scene_groups_deinit(&all->verticals[LINKS_CREATION]);
	scene_groups_deinit(&all->verticals[LINKS_BECOMES]);
	scene_groups_deinit(&all->arrows);
	free(all->rows);
}

/* Return the first node from FROM on that begins at TIME or later, or the number of nodes. */
static uint32_t node_from(struct links *l, uint32_t from, uint64_t time)
{
	uint32_t to = l->times ? (l->n - 1) / SIXTEEN + 1 : 0, step = 1, middle;

	from = from < to ? from : to;
	/* Mostly it is one of the next nodes: search in steps that double. */
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
		if (links_time(l, middle) < time)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* ---- nodes ---- */

/*
 * A node covers sixteen links, or sixteen nodes of the level below. It says which of its links
 * reaches the farthest in each direction, and how far, so a picture does not read links that it
 * does not draw.
 *
 * Invariant: node I of level L covers 16^(L + 1) places from I * 16^(L + 1) on, as far as they
 * exist.
 */

/* Update FARTHEST with LINK, which is at PLACE. */
static void take(struct link_node *farthest, const struct link *link, uint32_t place)
{
	uint32_t up = link->from < link->to ? link->from : link->to;
	uint32_t down = link->from < link->to ? link->to : link->from;

	if (farthest->at[LINKS_UP] == MPROF_NONE || up < farthest->up) {
		farthest->up = up;
		farthest->at[LINKS_UP] = place;
	}
	if (farthest->at[LINKS_DOWN] == MPROF_NONE || down > farthest->down) {
		farthest->down = down;
		farthest->at[LINKS_DOWN] = place;
	}
	if (farthest->at[LINKS_BACK] == MPROF_NONE || link->begin < farthest->back) {
		farthest->back = link->begin;
		farthest->at[LINKS_BACK] = place;
	}
}

static void take_node(struct link_node *farthest, const struct link_node *node)
{
	if (farthest->at[LINKS_UP] == MPROF_NONE || node->up < farthest->up) {
		farthest->up = node->up;
		farthest->at[LINKS_UP] = node->at[LINKS_UP];
	}
	if (farthest->at[LINKS_DOWN] == MPROF_NONE || node->down > farthest->down) {
		farthest->down = node->down;
		farthest->at[LINKS_DOWN] = node->at[LINKS_DOWN];
	}
	if (farthest->at[LINKS_BACK] == MPROF_NONE || node->back < farthest->back) {
		farthest->back = node->back;
		farthest->at[LINKS_BACK] = node->at[LINKS_BACK];
	}
}

static const struct link_node nothing = {.at = {MPROF_NONE, MPROF_NONE, MPROF_NONE}};

/* Return node I of LEVEL, which exists. */
static inline struct link_node node_of(const struct links *l, unsigned level, uint32_t i)
{
	const struct link_lowest *low;
	struct link_node node;

	if (level)
		return l->nodes[level][i];
	low = &l->lowest[i];
	node = (struct link_node){.back = low->back, .up = low->up, .down = low->down};
	for (unsigned way = 0; way < LINKS_WAYS; way++)
		node.at[way] = (i << LINKS_SHIFT) + low->at[way];
	return node;
}

static void fill_lowest(struct links *l, uint32_t i)
{
	struct link_lowest *low = &l->lowest[i];
	uint32_t place = i << LINKS_SHIFT;
	struct link_node node = nothing;
	struct link link;

	for (; place < l->n && place >> LINKS_SHIFT == i; place++) {
		links_get(l, place, &link);
		if (place % SIXTEEN == 0) {
			l->times[i] = link.time;
			low->first = (struct link_rows){link.from, link.to};
		}
		take(&node, &link, place);
	}
	low->back = node.back;
	low->up = node.up;
	low->down = node.down;
	for (unsigned way = 0; way < LINKS_WAYS; way++)
		low->at[way] = (uint8_t)(node.at[way] % SIXTEEN);
}

static void fill(struct links *l, unsigned level, uint32_t i, uint32_t below)
{
	struct link_node *node = &l->nodes[level][i], part;
	uint32_t at = i << LINKS_SHIFT;

	*node = nothing;
	for (; at < below && at >> LINKS_SHIFT == i; at++) {
		part = node_of(l, level - 1, at);
		take_node(node, &part);
	}
}

/* Make room for COUNT nodes of LEVEL. Return false without memory. */
static bool level_make(struct links *l, unsigned level, uint32_t count)
{
	if (level) {
		l->nodes[level] = malloc((size_t)count * sizeof(*l->nodes[level]));
		return l->nodes[level] != NULL;
	}
	l->times = malloc((size_t)count * sizeof(*l->times));
	l->lowest = malloc((size_t)count * sizeof(*l->lowest));
	return l->times && l->lowest;
}

bool links_nodes_init(struct links *l)
{
	uint32_t below = l->n, count;

	for (unsigned level = 0; below >= SIXTEEN; level++, below = count) {
		count = (below - 1) / SIXTEEN + 1;
		if (!level_make(l, level, count))
			return false;
		for (uint32_t i = 0; i < count; i++)
			if (level)
				fill(l, level, i, below);
			else
				fill_lowest(l, i);
	}
	return true;
}

void links_nodes_deinit(struct links *l)
{
	for (unsigned level = 1; level < LINKS_LEVELS; level++)
		free(l->nodes[level]);
	free(l->times);
	free(l->lowest);
}

/*
 * Return 1 + the highest level with a node that begins at place FROM and does not reach beyond TO;
 * 0 if there is no such node.
 */
static unsigned level_at(const struct links *l, uint32_t from, uint32_t to)
{
	unsigned level = 0;

	while (level < LINKS_LEVELS && (level ? l->nodes[level] != NULL : l->lowest != NULL)) {
		uint64_t size = UINT64_C(1) << (LINKS_SHIFT * (level + 1));

		if (from & (size - 1) || size > to - from)
			break;
		level++;
	}
	return level;
}

void links_farthest(struct links *l, uint32_t from, uint32_t to, struct link_node *farthest)
{
	struct link_node node;
	struct link link;
	unsigned level;

	*farthest = nothing;
	for (; from < to; from += UINT32_C(1) << (LINKS_SHIFT * level)) {
		l->steps++;
		level = level_at(l, from, to);
		if (level) {
			node = node_of(l, level - 1, from >> (LINKS_SHIFT * level));
			take_node(farthest, &node);
		} else {
			links_get(l, from, &link);
			take(farthest, &link, from);
		}
	}
}

static uint64_t begin_at(struct links *l, unsigned level, uint32_t i)
{
	struct link link;

	l->steps++;
	if (level > 1)
		return l->nodes[level - 1][i].back;
	if (level)
		return l->lowest[i].back;
	links_get(l, i, &link);
	return link.begin;
}

uint32_t links_reaching(struct links *l, uint32_t from, uint32_t to, uint64_t time)
{
	unsigned level;
	uint32_t i;

	for (; from < to; from += UINT32_C(1) << (LINKS_SHIFT * level)) {
		level = level_at(l, from, to);
		i = from >> (LINKS_SHIFT * level);
		if (begin_at(l, level, i) > time)
			continue;
		for (; level; level--)
			for (i <<= LINKS_SHIFT; begin_at(l, level - 1, i) > time;)
				i++;
		return i;
	}
	return to;
}
