/*
 * Levels of the row index (scene-row-index.h), each built from the one below.
 *
 * Rows on one pixel are drawn as one, and so are stretches less than a pixel apart, so short gaps
 * can be closed. How long a pixel is, in ns, is not known when the levels are built. When a picture
 * is drawn, BLUR says how long the closed gaps of a block are, and a lower level is used if they
 * could be seen.
 */
#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "scene-row-index.h"

#define WAYS (1u << ROW_INDEX_SHIFT)
/*
 * Number of scales. A scale is a class of gaps of similar length: their lengths have the same number
 * of bits, and the same two leading bits.
 */
#define SCALES 128u
#define SMALL  4096u /* number of pieces that a level may have in any case */

#define NO_MORE UINT64_MAX /* the start of a piece that does not exist, after all times */

struct build {
	struct row_index *l;
	unsigned level;		    /* level being built */
	const uint32_t *row_starts; /* starts of level 0 */
	struct grow out;	    /* struct row_piece */
	uint32_t items;		    /* number of items in OUT */
	/* For the current block: */
	uint32_t gaps[SCALES]; /* number of the block's gaps of each scale */
	uint32_t its_items;
	bool failed; /* out of memory */
};

/*
 * The blocks of the level below from which a block is merged, its *children*: for each the pieces
 * not merged yet, and the start of the first of them.
 */
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

/* Return the longest gap that belongs to SCALE, ns. */
static uint64_t longest(unsigned scale)
{
	unsigned top = scale / 2;

	return scale < 4 ? scale : ((UINT64_C(2) | (scale & 1)) << (top - 1)) + ((UINT64_C(1) << (top - 1)) - 1);
}

static inline uint32_t last_of(const struct build *b, uint32_t piece)
{
	if (b->level > 1)
		return b->l->levels[b->level - 1].pieces[piece].last;
	return piece;
}

static inline uint32_t first_of(const struct build *b, uint32_t piece)
{
	return b->level > 1 ? b->l->levels[b->level - 1].pieces[piece].first : piece;
}

static void children_init(struct children *c, struct build *b, uint32_t block)
{
	uint32_t child, blocks = b->level > 1 ? b->l->levels[b->level - 1].blocks : b->l->rows;
	const uint32_t *starts = b->level > 1 ? b->l->levels[b->level - 1].starts : b->row_starts;

	for (uint32_t way = 0; way < WAYS; way++) {
		child = (block << ROW_INDEX_SHIFT) + way;
		c->start[way] = NO_MORE;
		if (child >= blocks)
			continue;
		c->at[way] = starts[child];
		c->end[way] = starts[child + 1];
		if (c->at[way] < c->end[way])
			c->start[way] = row_index_place_start(b->l, first_of(b, c->at[way]));
	}
}

/* Return the child whose next piece begins first, or WAYS when no pieces are left. */
static inline uint32_t children_next(const struct children *c)
{
	uint32_t best = 0;

	for (uint32_t way = 1; way < WAYS; way++)
		best = c->start[way] < c->start[best] ? way : best;
	return c->start[best] < NO_MORE ? best : WAYS;
}

static inline void children_drop(struct children *c, const struct build *b, uint32_t way)
{
	uint32_t at = ++c->at[way];

	c->start[way] = at < c->end[way] ? row_index_place_start(b->l, first_of(b, at)) : NO_MORE;
}

static void put(struct build *b, const struct row_piece *piece)
{
	struct row_piece *out = grow_add(&b->out, sizeof(*out));

	if (out)
		*out = *piece;
	else
		b->failed = true;
}

/*
 * Merge the pieces of BLOCK's children into pieces of BLOCK, without closing gaps, and count the
 * gaps of each scale.
 */
static void merge_block(struct build *b, uint32_t block)
{
	struct row_piece piece = {MPROF_NONE, MPROF_NONE, b->items};
	struct children c;
	uint64_t end = 0, its_end;
	uint32_t way, at;

	b->its_items = 0;
	children_init(&c, b, block);
	for (; (way = children_next(&c)) < WAYS; children_drop(&c, b, way)) {
		at = c.at[way];
		its_end = row_index_place_end(b->l, last_of(b, at));
		if (piece.first == MPROF_NONE || c.start[way] > end) {
			if (piece.first != MPROF_NONE) {
				b->gaps[scale_of(c.start[way] - end)]++;
				put(b, &piece);
			}
			piece = (struct row_piece){first_of(b, at), last_of(b, at), b->items + b->its_items};
			end = its_end;
		} else if (its_end > end) {
			end = its_end;
			piece.last = last_of(b, at);
		}
		b->its_items += b->level > 1 ? row_index_count(b->l, b->level - 1, at, at + 1) : 1;
	}
	if (piece.first != MPROF_NONE)
		put(b, &piece);
}

/* Close all gaps of at most BLUR ns between the pieces of OUT from FROM on. */
static void close_gaps(struct build *b, uint32_t from, uint64_t blur)
{
	struct row_piece *out = b->out.items;
	uint32_t kept = from;

	for (uint32_t i = from + 1; i < b->out.n; i++) {
		if (row_index_place_start(b->l, out[i].first) - row_index_place_end(b->l, out[kept].last) <= blur)
			out[kept].last = out[i].last;
		else
			out[++kept] = out[i];
	}
	b->out.n = kept + 1;
}

/*
 * Return 1 + the scale up to which gaps must be closed to leave at most MOST of N pieces; 0 if no
 * gap must be closed.
 */
static uint8_t blur_for(const struct build *b, uint32_t n, uint32_t most)
{
	uint32_t scale;

	for (scale = 0; scale < SCALES && n > most; scale++)
		n -= b->gaps[scale];
	return (uint8_t)scale;
}

/* Return the largest BLUR of BLOCK's children, in the form that blur_for() returns. */
static uint8_t blur_below(const struct build *b, uint32_t block)
{
	const struct row_level *below = &b->l->levels[b->level - 1];
	uint32_t child;
	uint8_t blur = 0;

	for (uint32_t i = 0; b->level > 1 && i < WAYS; i++) {
		child = (block << ROW_INDEX_SHIFT) + i;
		if (child < below->blocks && below->blurs[child] > blur)
			blur = below->blurs[child];
	}
	return blur;
}

static void make_block(struct build *b, uint32_t block)
{
	struct row_level *made = &b->l->levels[b->level];
	uint8_t blur = blur_below(b, block), own;
	uint32_t from = b->out.n;

	memset(b->gaps, 0, sizeof(b->gaps));
	made->starts[block] = from;
	merge_block(b, block);
	own = blur_for(b, b->out.n - from, (b->its_items >> (b->level + 1)) + SMALL / made->blocks + 1);
	if (own)
		close_gaps(b, from, longest(own - 1u));
	blur = own > blur ? own : blur;
	made->blurs[block] = blur;
	b->items += b->its_items;
	if (blur && longest(blur - 1u) > made->blur)
		made->blur = longest(blur - 1u);
}

static bool level_make(struct row_index *index, unsigned level, const uint32_t *row_starts)
{
	struct build b = {.l = index, .level = level, .row_starts = row_starts};
	struct row_level *made = &index->levels[level];
	struct row_piece *end;

	made->blocks = ((level > 1 ? index->levels[level - 1].blocks : index->rows) - 1) / WAYS + 1;
	made->starts = malloc(((size_t)made->blocks + 1) * sizeof(*made->starts));
	made->blurs = malloc(made->blocks);
	for (uint32_t i = 0; made->starts && made->blurs && !b.failed && i < made->blocks; i++)
		make_block(&b, i);
	end = made->starts && made->blurs && !b.failed ? grow_add(&b.out, sizeof(*end)) : NULL;
	if (!end) {
		grow_deinit(&b.out);
		return false;
	}
	*end = (struct row_piece){MPROF_NONE, MPROF_NONE, b.items};
	made->starts[made->blocks] = b.out.n - 1;
	grow_trim(&b.out, sizeof(*end));
	made->grown = b.out;
	made->pieces = b.out.items;
	return row_index_sum_up(index, level, b.out.n - 1);
}

uint64_t row_index_blur(const struct row_index *index, unsigned level, uint32_t block)
{
	uint8_t blur = level && level <= index->top ? index->levels[level].blurs[block] : 0;

	return blur ? longest(blur - 1u) : 0;
}

bool row_index_build(struct row_index *index, const uint32_t *starts)
{
	uint32_t blocks = index->rows;

	if (!index->n)
		return true;
	while (blocks > 1) {
		if (!level_make(index, index->top + 1, starts))
			return false;
		blocks = index->levels[++index->top].blocks;
	}
	index->steps = 0;
	return true;
}
