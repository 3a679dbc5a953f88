/*
 * Rows from afar: the levels of scene-rails.h, each made of the one below.
 *
 * Why gaps may be closed: rows that lie on one pixel are drawn as one, and so are stretches that lie a pixel apart.  How long a pixel is nobody
 * knows here.  Whoever draws looks at BLUR, and takes a lower level where a gap that was closed could be seen.
 */
#include <stdlib.h>

#include "scene-rails.h"

#define WAYS   (1u << RAILS_SHIFT)
#define SCALES 128u  /* lengths of gaps, by their two leading bits and how many follow */
#define SMALL  1024u /* pieces that a level may have in any case */

struct build {
	struct rails *l;
	unsigned level;		    /* that is being made */
	const uint32_t *row_starts; /* of level 0 */
	uint64_t blur;		    /* gaps up to that are closed */
	uint32_t n;		    /* pieces */
	uint32_t items;		    /* in them */
	uint32_t *gaps;		    /* how many of each scale; NULL in the second pass */
	struct rail_piece *out;	    /* NULL in the first pass */
};

/* The children that a block is merged from, as far as they have pieces left. */
struct children {
	uint32_t at[WAYS];
	uint32_t end[WAYS];
	uint64_t start[WAYS];
};

static unsigned scale_of(uint64_t gap)
{
	unsigned top = gap < 4 ? 0 : 63 - (unsigned)__builtin_clzll(gap);

	return top ? 2 * top + (unsigned)(gap >> (top - 1) & 1) : (unsigned)gap;
}

/* The longest gap of a scale. */
static uint64_t longest(unsigned scale)
{
	unsigned top = scale / 2;

	return scale < 4 ? scale : ((UINT64_C(2) | (scale & 1)) << (top - 1)) + ((UINT64_C(1) << (top - 1)) - 1);
}

static void children_init(struct children *c, struct build *b, uint32_t block)
{
	uint32_t way, child, blocks = b->level > 1 ? b->l->levels[b->level - 1].blocks : b->l->rows;
	const uint32_t *starts = b->level > 1 ? b->l->levels[b->level - 1].starts : b->row_starts;

	for (way = 0; way < WAYS; way++) {
		child = (block << RAILS_SHIFT) + way;
		c->at[way] = c->end[way] = 0;
		if (child >= blocks)
			continue;
		c->at[way] = starts[child];
		c->end[way] = starts[child + 1];
		if (c->at[way] < c->end[way])
			c->start[way] = rails_start(b->l, b->level - 1, c->at[way]);
	}
}

/* The child whose next piece begins first, or WAYS. */
static uint32_t children_next(const struct children *c)
{
	uint32_t way, best = WAYS;

	for (way = 0; way < WAYS; way++)
		if (c->at[way] < c->end[way] && (best == WAYS || c->start[way] < c->start[best]))
			best = way;
	return best;
}

static void children_drop(struct children *c, struct build *b, uint32_t way)
{
	if (++c->at[way] < c->end[way])
		c->start[way] = rails_start(b->l, b->level - 1, c->at[way]);
}

static void put(struct build *b, const struct rail_piece *piece)
{
	if (b->out)
		b->out[b->n] = *piece;
	b->n++;
}

static void merge_block(struct build *b, uint32_t block)
{
	struct rail_piece piece = {MPROF_NONE, MPROF_NONE, 0};
	struct children c;
	uint64_t end = 0, its_end;
	uint32_t way, at;

	children_init(&c, b, block);
	while ((way = children_next(&c)) < WAYS) {
		at = c.at[way];
		its_end = rails_end(b->l, b->level - 1, at);
		if (piece.first != MPROF_NONE && c.start[way] > end) {
			if (b->gaps)
				b->gaps[scale_of(c.start[way] - end)]++;
			if (c.start[way] - end > b->blur) {
				put(b, &piece);
				piece.first = MPROF_NONE;
			}
		}
		if (piece.first == MPROF_NONE) {
			piece = (struct rail_piece){rails_item(b->l, b->level - 1, at), MPROF_NONE, b->items};
			end = 0;
		}
		if (piece.last == MPROF_NONE || its_end > end) {
			end = its_end;
			piece.last = b->level > 1  ? b->l->levels[b->level - 1].pieces[at].last
				     : b->l->cover ? b->l->cover[at]
						   : b->l->items[at];
		}
		b->items += rails_count(b->l, b->level - 1, at, at + 1);
		children_drop(&c, b, way);
	}
	if (piece.first != MPROF_NONE)
		put(b, &piece);
}

/* So many gaps may stay that there are at most MOST pieces; what there was counted without BLUR. */
static uint64_t blur_for(const struct build *b, uint32_t most)
{
	uint32_t n = b->n, scale;

	for (scale = 0; scale < SCALES - 1 && n > most; scale++)
		n -= b->gaps[scale];
	return scale ? longest(scale - 1) : 0;
}

static bool level_make(struct rails *l, unsigned level, const uint32_t *row_starts)
{
	uint32_t gaps[SCALES] = {0}, blocks = ((level > 1 ? l->levels[level - 1].blocks : l->rows) - 1) / WAYS + 1, i;
	struct build b = {.l = l, .level = level, .row_starts = row_starts, .gaps = gaps};
	struct rail_level *made = &l->levels[level];
	uint32_t most = (l->n >> (level + 1)) + SMALL;

	for (i = 0; i < blocks; i++)
		merge_block(&b, i);
	b.blur = b.n > most ? blur_for(&b, most) : 0;
	if (level > 1 && b.blur < l->levels[level - 1].blur)
		b.blur = l->levels[level - 1].blur;
	b.gaps = NULL;
	if (b.blur)
		b.n = b.items = 0;
	for (i = 0; b.blur && i < blocks; i++)
		merge_block(&b, i);
	made->starts = malloc(((size_t)blocks + 1) * sizeof(*made->starts));
	made->pieces = malloc(((size_t)b.n + 1) * sizeof(*made->pieces));
	if (!made->starts || !made->pieces)
		return false;
	b.out = made->pieces;
	b.n = b.items = 0;
	for (i = 0; i < blocks; i++) {
		made->starts[i] = b.n;
		merge_block(&b, i);
	}
	made->starts[blocks] = b.n;
	made->pieces[b.n] = (struct rail_piece){MPROF_NONE, MPROF_NONE, b.items};
	made->blocks = blocks;
	made->blur = b.blur;
	return true;
}

bool rails_build(struct rails *l, const uint32_t *starts)
{
	uint32_t blocks = l->rows;

	if (!l->n)
		return true;
	while (blocks > 1) {
		if (!level_make(l, l->top + 1, starts))
			return false;
		blocks = l->levels[++l->top].blocks;
	}
	l->steps = 0;
	return true;
}
