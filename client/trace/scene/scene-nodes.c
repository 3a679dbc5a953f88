/*
 * Stretches of one row, sixteen by sixteen: what is merged in a picture is passed over without a look at each.
 *
 * A node that reaches over the end of a row is never asked for, so that it does not matter what it says.
 */
#include <stdlib.h>

#include "scene-rails.h"

#define SIXTEEN (1u << NODE_SHIFT)
#define UPWARDS 1.0000002f /* more than a float is off */

static float not_less(uint64_t ns)
{
	return (float)ns * UPWARDS;
}

static float larger(float a, float b)
{
	return a > b ? a : b;
}

static void fill_lowest(const struct rails *l, unsigned level, struct rail_node *node, uint32_t at, uint32_t n)
{
	const struct rail_piece *pieces = level ? l->levels[level].pieces : NULL;
	uint64_t end = 0, start, gap = 0, width = 0, i;

	for (i = at; i < n && i < (uint64_t)at + SIXTEEN; i++) {
		start = rails_place_start(l, pieces ? pieces[i].first : (uint32_t)i);
		if (i > at && start > end && start - end > gap)
			gap = start - end;
		end = rails_place_end(l, pieces ? pieces[i].last : (uint32_t)i);
		if (end > start && end - start > width)
			width = end - start;
	}
	*node = (struct rail_node){not_less(gap), not_less(width)};
}

/* What lies between the places before AT and at AT, both of which are there. */
static float gap_before(struct rails *l, unsigned level, uint32_t at)
{
	uint64_t end = rails_end(l, level, at - 1), start = rails_start(l, level, at);

	return start > end ? not_less(start - end) : 0;
}

static void fill(struct rails *l, unsigned level, struct rail_nodes *nodes, unsigned k, uint32_t i, uint32_t below)
{
	struct rail_node *node = &nodes->levels[k][i];
	const struct rail_node *part;
	uint32_t at;

	*node = (struct rail_node){0};
	for (at = i << NODE_SHIFT; at < below && at < (i + 1) << NODE_SHIFT; at++) {
		part = &nodes->levels[k - 1][at];
		node->width = larger(node->width, part->width);
		node->gap = larger(node->gap, part->gap);
		if (at > i << NODE_SHIFT)
			node->gap = larger(node->gap, gap_before(l, level, at << (NODE_SHIFT * k)));
	}
}

bool rails_sum_up(struct rails *l, unsigned level, uint32_t n)
{
	struct rail_nodes *nodes = level ? &l->levels[level].nodes : &l->nodes;
	uint32_t below = n, count, i;
	unsigned k;

	for (k = 0; below >= SIXTEEN; k++, below = count) {
		count = (below - 1) / SIXTEEN + 1;
		nodes->levels[k] = malloc((size_t)count * sizeof(*nodes->levels[k]));
		if (!nodes->levels[k])
			return false;
		for (i = 0; i < count; i++)
			if (k)
				fill(l, level, nodes, k, i, below);
			else
				fill_lowest(l, level, &nodes->levels[0][i], i * SIXTEEN, n);
	}
	return true;
}

const struct rail_nodes *rails_nodes(const struct rails *l, unsigned level)
{
	return level ? &l->levels[level].nodes : &l->nodes;
}

uint32_t rails_skip(const struct rail_nodes *nodes, uint32_t from, uint32_t to, double gap, double width)
{
	uint32_t size = 1;
	unsigned k;

	for (k = 0; k < RAILS_NODES && nodes->levels[k]; k++) {
		const struct rail_node *node = &nodes->levels[k][(uint64_t)from >> (NODE_SHIFT * (k + 1))];
		uint64_t next = UINT64_C(1) << (NODE_SHIFT * (k + 1));

		if (from & (next - 1) || next > to - from || node->gap > gap || node->width >= width)
			break;
		size = (uint32_t)next;
	}
	return size > 1 ? size : 0;
}

void rail_nodes_deinit(struct rail_nodes *nodes)
{
	unsigned k;

	for (k = 0; k < RAILS_NODES; k++)
		free(nodes->levels[k]);
	*nodes = (struct rail_nodes){0};
}
