/*
 * Links sixteen by sixteen, and those again: which of them reaches farthest, and how far, so that a picture looks at no link that it does not draw.
 *
 * Invariant: node I of level L is about the places from I * 16^(L + 1) on, 16^(L + 1) of them as far as there are so many.
 */
#include <stdlib.h>

#include "scene-links.h"

#define SIXTEEN (1u << LINKS_SHIFT)

/* Let FARTHEST be about LINK too. */
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

static void fill_lowest(struct links *l, uint32_t i)
{
	struct link_node *node = &l->nodes[0][i];
	uint32_t place = i << LINKS_SHIFT;
	struct link link;

	*node = nothing;
	for (; place < l->n && place >> LINKS_SHIFT == i; place++) {
		links_get(l, place, &link);
		if (place % SIXTEEN == 0)
			l->times[i] = link.time;
		take(node, &link, place);
	}
}

static void fill(struct links *l, unsigned level, uint32_t i, uint32_t below)
{
	struct link_node *node = &l->nodes[level][i];
	uint32_t at = i << LINKS_SHIFT;

	*node = nothing;
	for (; at < below && at >> LINKS_SHIFT == i; at++)
		take_node(node, &l->nodes[level - 1][at]);
}

bool links_nodes_init(struct links *l)
{
	uint32_t below = l->n, count, i;
	unsigned level;

	for (level = 0; below >= SIXTEEN; level++, below = count) {
		count = (below - 1) / SIXTEEN + 1;
		l->nodes[level] = malloc((size_t)count * sizeof(*l->nodes[level]));
		if (!level)
			l->times = malloc((size_t)count * sizeof(*l->times));
		if (!l->nodes[level] || !l->times)
			return false;
		for (i = 0; i < count; i++)
			if (level)
				fill(l, level, i, below);
			else
				fill_lowest(l, i);
	}
	return true;
}

void links_nodes_deinit(struct links *l)
{
	unsigned level;

	for (level = 0; level < LINKS_LEVELS; level++)
		free(l->nodes[level]);
	free(l->times);
}

/* The level above the highest at which a node begins at place FROM and ends before TO; 0 for the place itself. */
static unsigned level_at(const struct links *l, uint32_t from, uint32_t to)
{
	unsigned level = 0;

	while (level < LINKS_LEVELS && l->nodes[level]) {
		uint64_t size = UINT64_C(1) << (LINKS_SHIFT * (level + 1));

		if (from & (size - 1) || size > to - from)
			break;
		level++;
	}
	return level;
}

void links_farthest(struct links *l, uint32_t from, uint32_t to, struct link_node *farthest)
{
	struct link link;
	unsigned level;

	*farthest = nothing;
	for (; from < to; from += UINT32_C(1) << (LINKS_SHIFT * level)) {
		l->steps++;
		level = level_at(l, from, to);
		if (level) {
			take_node(farthest, &l->nodes[level - 1][from >> (LINKS_SHIFT * level)]);
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
	if (level)
		return l->nodes[level - 1][i].back;
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
