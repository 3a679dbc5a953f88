/*
 * What lies on the rows of a picture: stretches of time by row, and how they look from afar.
 *
 * Level 0 are the stretches of each row.  Level L has blocks of 4^L rows, and in each the stretches in which there is anything on one of them
 * ("pieces").  All levels together have at most as many pieces as half the items there are: where it would be more, the shortest
 * gaps between pieces are closed, up to BLUR.
 */
#ifndef TRACE_SCENE_LANES_H
#define TRACE_SCENE_LANES_H

#include <mprof/model.h>

#define LANES_SHIFT  2u /* a block is four of those below */
#define LANES_LEVELS 17u

enum lanes_of {
	LANES_THREADS, /* that did not fail */
	LANES_FAILED,
	LANES_ALL, /* threads */
	LANES_RUNNING,
	LANES_SLEEPING, /* the row is the stream, here and below */
	LANES_COLLECTIONS,
	LANES_GAPS,
};

struct lane_piece {
	uint32_t first;	 /* the item that begins it */
	uint32_t last;	 /* the item that ends it */
	uint32_t before; /* items in the pieces before it */
};

struct lane_level {
	uint32_t *starts;	   /* of each block in PIECES, and the end of the last */
	struct lane_piece *pieces; /* and one more for the end */
	uint32_t blocks;
	uint64_t blur;
};

struct lanes {
	const struct mprof_model_view *view; /* borrowed */
	enum lanes_of of;
	uint32_t rows;
	uint32_t n;
	uint32_t *items; /* by row, start and end */
	/* NULL where the items of a row do not overlap; else of each place the item up to there, on the same row, that ends last. */
	uint32_t *cover;
	struct lane_level levels[LANES_LEVELS]; /* from 1 on */
	unsigned top;				/* the highest level that is there, or 0 */
	uint64_t steps;				/* looks at a piece */
};

/* All of a kind; of LANES_ALL those whose bit stands in CHOSEN, if that is not NULL.  False without memory.  Deinit in any case. */
bool lanes_init(struct lanes *l, const struct mprof_model_view *view, enum lanes_of of, const uint8_t *chosen);
void lanes_deinit(struct lanes *l);

/* The row of an item, or MPROF_NONE where it is none of L's; when it begins and ends. */
uint32_t lanes_row(const struct lanes *l, uint32_t item);
uint64_t lanes_item_start(const struct lanes *l, uint32_t item);
uint64_t lanes_item_end(const struct lanes *l, uint32_t item);

/* The pieces of BLOCK at LEVEL: from *FROM up to *TO, exclusively. */
void lanes_range(struct lanes *l, unsigned level, uint32_t block, uint32_t *from, uint32_t *to);
uint64_t lanes_start(struct lanes *l, unsigned level, uint32_t piece);
uint64_t lanes_end(struct lanes *l, unsigned level, uint32_t piece);
/* An item of a piece, and how many it has. */
uint32_t lanes_item(const struct lanes *l, unsigned level, uint32_t piece);
/* How many items the pieces from FROM up to TO, exclusively, have. */
uint32_t lanes_count(const struct lanes *l, unsigned level, uint32_t from, uint32_t to);
/* The first piece from FROM up to TO, exclusively, that ends at TIME or later; that begins later than TIME. */
uint32_t lanes_ends_from(struct lanes *l, unsigned level, uint32_t from, uint32_t to, uint64_t time);
uint32_t lanes_begins_after(struct lanes *l, unsigned level, uint32_t from, uint32_t to, uint64_t time);

/* Make the levels above 0 (scene-levels.c); STARTS says where each row begins in the items.  False without memory. */
bool lanes_build(struct lanes *l, const uint32_t *starts);

#endif
