/*
 * Fields of a thread that building a scene reads often.
 *
 * Threads are large and accessed in any order, so that each access misses the cache. Three of these
 * fit a cache line.
 */
#ifndef TRACE_SCENE_ROW_INDEX_H
#define TRACE_SCENE_ROW_INDEX_H

#include <mprof/model.h>

#include "grow.h"

struct scene_life {
	uint64_t start;
	uint64_t end;
	uint32_t row;
	uint8_t failed;
	uint8_t created; /* draw its creation */
	uint8_t becomes; /* draw what it becomes; scene_lives_new() sets both */
};

static inline struct scene_life scene_life_of(const struct mprof_thread *t)
{
	return (struct scene_life){.start = t->start, .end = t->end, .row = t->row, .failed = t->failure != MPROF_NONE};
}

/* Return an item for each thread, which the caller frees; NULL without memory. */
struct scene_life *scene_lives_new(const struct mprof_model_view *view);

/* ---- rails ---- */

/*
 * Index of what lies on each row: stretches of time, and their view from afar.
 *
 * Level 0 has the stretches of each row. Level L has blocks of 4^L rows, and for each block its
 * pieces: the stretches in which there is anything on one of its rows. All levels together have
 * about half as many pieces as there are items: in a block with too many, the shortest gaps between
 * pieces are closed.
 */

#define ROW_INDEX_SHIFT	 2u /* a block is four blocks of the level below */
#define ROW_INDEX_LEVELS 17u
#define ROW_INDEX_NODES	 8u
#define NODE_SHIFT	 4u

enum row_index_kind {
	ROW_INDEX_THREADS, /* threads that did not fail */
	ROW_INDEX_FAILED,
	ROW_INDEX_ALL, /* all threads */
	ROW_INDEX_RUNNING,
	ROW_INDEX_SLEEPING, /* from here on the row is the stream */
	ROW_INDEX_COLLECTIONS,
	ROW_INDEX_GAPS,
};

struct row_piece {
	uint32_t first;	 /* place of the item that begins the piece */
	uint32_t last;	 /* place of the item that ends it */
	uint32_t before; /* number of items in the pieces before it */
};

/* Longest gap and longest stretch of consecutive stretches on a row, rounded up. */
struct row_node {
	float gap;
	float width;
};

/* Node I of level L covers 16^(L + 1) places from I * 16^(L + 1) on. */
struct row_nodes {
	struct row_node *levels[ROW_INDEX_NODES];
};

struct row_level {
	uint32_t *starts;		/* start of each block in PIECES; the last item is the end */
	const struct row_piece *pieces; /* items of GROWN, with one more for the end */
	struct grow grown;
	uint8_t *blurs; /* for each block the scale of its closed gaps (scene-levels.c) */
	uint32_t blocks;
	uint64_t blur; /* largest closed gap, ns */
	struct row_nodes nodes;
};

struct row_index {
	const struct mprof_model_view *view; /* the caller's */
	enum row_index_kind of;
	uint32_t rows;
	uint32_t n;
	uint32_t *items; /* by row, start and end */
	/*
	 * For each place the item up to there, on the same row, that ends last. NULL when no items
	 * of a row overlap.
	 */
	uint32_t *cover;
	/* Times, close together, because looking them up in the model is slow. NULL for bands. */
	uint64_t *bases;   /* start of every sixteenth place */
	uint32_t *begins;  /* start of each place after its base; UINT32_MAX: look it up */
	uint32_t *lengths; /* time up to row_index_end(); UINT32_MAX: look it up */
	/*
	 * Start of each row; the last item is the end; NULL for more rows than a quarter of the
	 * items.
	 */
	uint32_t *row_starts;
	struct row_nodes nodes;
	struct row_level levels[ROW_INDEX_LEVELS]; /* from 1 on */
	unsigned top;				   /* highest level, or 0 */
	uint64_t steps;				   /* number of accesses to a piece */
};

/*
 * Build the index of a kind over VIEW, with LIVES of its threads; for ROW_INDEX_ALL only of threads
 * with a bit in CHOSEN, unless that is NULL. Return false without memory. Call row_index_deinit()
 * in any case.
 */
bool row_index_init(struct row_index *l, const struct mprof_model_view *view, enum row_index_kind of,
		    const struct scene_life *lives, const uint8_t *chosen);
void row_index_deinit(struct row_index *l);

/* Return the row, start and end of an item. */
uint32_t row_index_row(const struct row_index *l, uint32_t item);
uint64_t row_index_item_start(const struct row_index *l, uint32_t item);
uint64_t row_index_item_end(const struct row_index *l, uint32_t item);

/*
 * Collect the items of each row, sort them, and store their times (scene-gather.c). STARTS, with an
 * item for each row and one more, is zeroed; it becomes the start of each row and the end of the
 * last. Return false without memory.
 */
bool row_index_gather(struct row_index *l, const struct scene_life *lives, const uint8_t *chosen, uint32_t *starts);

/* Return the start and end of what lies on a place. */
static inline uint64_t row_index_place_start(const struct row_index *l, uint32_t place)
{
	if (l->begins && l->begins[place] < UINT32_MAX)
		return l->bases[place >> NODE_SHIFT] + l->begins[place];
	return row_index_item_start(l, l->items[place]);
}

static inline uint64_t row_index_place_end(const struct row_index *l, uint32_t place)
{
	if (l->begins && l->begins[place] < UINT32_MAX && l->lengths[place] < UINT32_MAX)
		return l->bases[place >> NODE_SHIFT] + l->begins[place] + l->lengths[place];
	return row_index_item_end(l, l->cover ? l->cover[place] : l->items[place]);
}

/* Build the nodes over the N pieces of LEVEL. Return false without memory. */
bool row_index_sum_up(struct row_index *l, unsigned level, uint32_t n);
const struct row_nodes *row_index_nodes(const struct row_index *l, unsigned level);
/*
 * Return the number of pieces from FROM on that one node covers, if they are before TO and no gap
 * or piece of them is longer than GAP and WIDTH; else 0.
 */
uint32_t row_index_skip(const struct row_nodes *nodes, uint32_t from, uint32_t to, double gap, double width);
void row_nodes_deinit(struct row_nodes *nodes);

/* Store the pieces of BLOCK at LEVEL: from *FROM up to, but not including, *TO. */
void row_index_range(struct row_index *l, unsigned level, uint32_t block, uint32_t *from, uint32_t *to);
uint64_t row_index_start(struct row_index *l, unsigned level, uint32_t piece);
uint64_t row_index_end(struct row_index *l, unsigned level, uint32_t piece);
/* Return an item of a piece. */
uint32_t row_index_item(const struct row_index *l, unsigned level, uint32_t piece);
/* Return the number of items of the pieces from FROM up to, but not including, TO. */
uint32_t row_index_count(const struct row_index *l, unsigned level, uint32_t from, uint32_t to);
/*
 * Return the first piece from FROM up to, but not including, TO that ends at TIME or later; that
 * begins after TIME. Else return TO.
 */
uint32_t row_index_ends_from(struct row_index *l, unsigned level, uint32_t from, uint32_t to, uint64_t time);
uint32_t row_index_begins_after(struct row_index *l, unsigned level, uint32_t from, uint32_t to, uint64_t time);

/* Return the longest gap closed in a block or in the blocks below it, ns; 0 for none. */
uint64_t row_index_blur(const struct row_index *l, unsigned level, uint32_t block);

/*
 * Build the levels above 0 (scene-levels.c). STARTS is the start of each row in the items. Return
 * false without memory.
 */
bool row_index_build(struct row_index *l, const uint32_t *starts);

#endif
