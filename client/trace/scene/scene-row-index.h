/*
 * What is looked at of each thread again and again while the index of a scene is made.
 *
 * Why: threads are large and named in any order, so that each look at one is a wait for memory.  Three to a cache line they mostly are there.
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
	uint8_t created; /* its creation is drawn */
	uint8_t becomes; /* and so is what it becomes: these two scene_lives_new() alone says */
};

static inline struct scene_life scene_life_of(const struct mprof_thread *t)
{
	return (struct scene_life){.start = t->start, .end = t->end, .row = t->row, .failed = t->failure != MPROF_NONE};
}

/* Of all threads, owned by the caller, to be freed; NULL without memory. */
struct scene_life *scene_lives_new(const struct mprof_model_view *view);

/* ---- rails ---- */

/*
 * What lies on the rows of a picture: stretches of time by row, and how they look from afar.
 *
 * Level 0 are the stretches of each row.  Level L has blocks of 4^L rows, and in each the stretches in which there is anything on one of them
 * ("pieces").  All levels together have about as many pieces as half the items there are: where a block would have more than its part, its
 * shortest gaps between pieces are closed.
 */

#define ROW_INDEX_SHIFT	 2u /* a block is four of those below */
#define ROW_INDEX_LEVELS 17u
#define ROW_INDEX_NODES	 8u
#define NODE_SHIFT	 4u

enum row_index_kind {
	ROW_INDEX_THREADS, /* that did not fail */
	ROW_INDEX_FAILED,
	ROW_INDEX_ALL, /* threads */
	ROW_INDEX_RUNNING,
	ROW_INDEX_SLEEPING, /* the row is the stream, here and below */
	ROW_INDEX_COLLECTIONS,
	ROW_INDEX_GAPS,
};

struct row_piece {
	uint32_t first;	 /* the place of the item that begins it */
	uint32_t last;	 /* of the item that ends it */
	uint32_t before; /* items in the pieces before it */
};

/* Of stretches that follow each other on a row: the longest gap between two of them, and the longest of them; never less than it is. */
struct row_node {
	float gap;
	float width;
};

/* Node I of level L sums up 16^(L + 1) places from I * 16^(L + 1) on. */
struct row_nodes {
	struct row_node *levels[ROW_INDEX_NODES];
};

struct row_level {
	uint32_t *starts;		/* of each block in PIECES, and the end of the last */
	const struct row_piece *pieces; /* and one more for the end: what GROWN holds */
	struct grow grown;
	uint8_t *blurs; /* of each block, as a scale (scene-levels.c) */
	uint32_t blocks;
	uint64_t blur; /* the largest */
	struct row_nodes nodes;
};

struct row_index {
	const struct mprof_model_view *view; /* borrowed */
	enum row_index_kind of;
	uint32_t rows;
	uint32_t n;
	uint32_t *items; /* by row, start and end */
	/* NULL where the items of a row do not overlap; else of each place the item up to there, on the same row, that ends last. */
	uint32_t *cover;
	/* The times, close together: to look them up in the model costs more than all else.  Of bands NULL. */
	uint64_t *bases; /* of sixteen places each: when the first begins */
	uint32_t *
		begins; /* of each place: how much later it begins; UINT32_MAX = too much, or before: it is looked up */
	uint32_t *lengths;    /* up to row_index_end(); the same */
	uint32_t *row_starts; /* of each row, and the end of the last; NULL where there are as many rows as items */
	struct row_nodes nodes;
	struct row_level levels[ROW_INDEX_LEVELS]; /* from 1 on */
	unsigned top;				   /* the highest level that is there, or 0 */
	uint64_t steps;				   /* looks at a piece */
};

/*
 * All of a kind, of the model whose lives those are; of ROW_INDEX_ALL those whose bit stands in CHOSEN, if that is not NULL.  False without memory.
 * Deinit in any case.
 */
bool row_index_init(struct row_index *l, const struct mprof_model_view *view, enum row_index_kind of,
		    const struct scene_life *lives, const uint8_t *chosen);
void row_index_deinit(struct row_index *l);

/* The row of an item of L; when it begins and ends. */
uint32_t row_index_row(const struct row_index *l, uint32_t item);
uint64_t row_index_item_start(const struct row_index *l, uint32_t item);
uint64_t row_index_item_end(const struct row_index *l, uint32_t item);

/*
 * Find the items of each row, put them in order, and their times beside them (scene-gather.c).  STARTS, of all rows and one more, is zeroed;
 * it comes to say where each row begins, and where the last ends.  False without memory.
 */
bool row_index_gather(struct row_index *l, const struct scene_life *lives, const uint8_t *chosen, uint32_t *starts);

/* When what lies on a place begins and ends. */
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

/* Sum up the pieces of LEVEL, N of them.  False without memory. */
bool row_index_sum_up(struct row_index *l, unsigned level, uint32_t n);
const struct row_nodes *row_index_nodes(const struct row_index *l, unsigned level);
/* How many pieces from FROM up to TO, exclusively, no gap or piece of which is longer than GAP and WIDTH, one node sums up; 0 for none. */
uint32_t row_index_skip(const struct row_nodes *nodes, uint32_t from, uint32_t to, double gap, double width);
void row_nodes_deinit(struct row_nodes *nodes);

/* The pieces of BLOCK at LEVEL: from *FROM up to *TO, exclusively. */
void row_index_range(struct row_index *l, unsigned level, uint32_t block, uint32_t *from, uint32_t *to);
uint64_t row_index_start(struct row_index *l, unsigned level, uint32_t piece);
uint64_t row_index_end(struct row_index *l, unsigned level, uint32_t piece);
/* An item of a piece, and how many it has. */
uint32_t row_index_item(const struct row_index *l, unsigned level, uint32_t piece);
/* How many items the pieces from FROM up to TO, exclusively, have. */
uint32_t row_index_count(const struct row_index *l, unsigned level, uint32_t from, uint32_t to);
/* The first piece from FROM up to TO, exclusively, that ends at TIME or later; that begins later than TIME. */
uint32_t row_index_ends_from(struct row_index *l, unsigned level, uint32_t from, uint32_t to, uint64_t time);
uint32_t row_index_begins_after(struct row_index *l, unsigned level, uint32_t from, uint32_t to, uint64_t time);

/* Gaps up to that long were closed in a block, or in those that it is made of; 0 for none. */
uint64_t row_index_blur(const struct row_index *l, unsigned level, uint32_t block);

/* Make the levels above 0 (scene-levels.c); STARTS says where each row begins in the items.  False without memory. */
bool row_index_build(struct row_index *l, const uint32_t *starts);

#endif
