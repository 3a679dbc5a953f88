/*
 * Fields of a thread that building a scene reads often. Threads are large and accessed in any
 * order, so each access misses the cache. Three of these structures fit a cache line.
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
	uint8_t created; /* 1: draw the vertical line of its creation */
	uint8_t becomes; /* 1: draw the vertical line to the thread that it becomes */
};

static inline struct scene_life scene_life_of(const struct mprof_thread *t)
{
	return (struct scene_life){.start = t->start, .end = t->end, .row = t->row, .failed = t->failure != MPROF_NONE};
}

/*
 * Return an item for each thread, which the caller frees; NULL without memory. The ROW of a thread
 * whose bit is set in HIDDEN is MPROF_NONE. HIDDEN may be NULL.
 */
struct scene_life *scene_lives_new(const struct mprof_model_view *view, const uint8_t *hidden);

/* ---- the row index ---- */

/*
 * Index of what lies on each row. A *stretch* is an item with its time: the life of a thread, an
 * activation, or a band. The *place* of a stretch is its position in a list by row and then by
 * time.
 *
 * Level 0 has the stretches of each row. For pictures of many rows, level L has *blocks* of 4^L
 * rows, and for each block its *pieces*: the times in which there is a stretch on at least one of
 * the block's rows. All levels above 0 together have about half as many pieces as there are items:
 * in a block with more pieces, the shortest gaps between pieces are closed.
 */

#define ROW_INDEX_SHIFT	 2u /* a block is four blocks of the level below */
#define ROW_INDEX_LEVELS 17u
#define ROW_INDEX_NODES	 8u
#define NODE_SHIFT	 4u
#define SUM_SHIFT	 8u

enum row_index_kind {
	ROW_INDEX_THREADS, /* threads that did not fail */
	ROW_INDEX_FAILED,
	ROW_INDEX_ALL, /* all threads, or those that are highlighted */
	ROW_INDEX_RUNNING,
	ROW_INDEX_SLEEPING, /* for this and the following kinds, the row is the index of the stream */
	ROW_INDEX_COLLECTIONS,
	ROW_INDEX_GAPS,
	ROW_INDEX_PIECES, /* of durations */
};

struct row_piece {
	uint32_t first;	 /* place of the item that begins the piece */
	uint32_t last;	 /* place of the item that ends the piece */
	uint32_t before; /* number of items in the pieces before this one */
};

/* Longest gap and longest piece among consecutive pieces of a row, ns, rounded up. */
struct row_node {
	float gap;
	float width;
};

/* Node I of level L covers 16^(L + 1) places from I * 16^(L + 1) on. */
struct row_nodes {
	struct row_node *levels[ROW_INDEX_NODES];
};

struct row_level {
	/* For each block the index of its first piece in PIECES; one more item is the end. */
	uint32_t *starts;
	const struct row_piece *pieces; /* pieces of all blocks, and one more for the end; in the memory of GROWN */
	struct grow grown;
	uint8_t *blurs; /* for each block 1 + the scale (scene-levels.c) of its longest closed gap, or 0 */
	uint32_t blocks;
	uint64_t blur; /* longest closed gap of the level, ns */
	struct row_nodes nodes;
};

struct row_index {
	const struct mprof_model_view *view; /* the caller's */
	enum row_index_kind of;
	uint32_t rows;
	uint32_t n;
	uint32_t *items; /* items by place: sorted by row, then by start, then by end */
	/*
	 * For each place the item that ends last, of the items on the same row up to that place.
	 * NULL when no items of a row overlap.
	 */
	uint32_t *cover;
	/*
	 * Times of the places, close together, because looking them up in the model is slow. NULL
	 * for bands.
	 */
	uint64_t *bases; /* start of every sixteenth place, ns */
	/*
	 * For each place its start less the item of BASES for its group of sixteen, ns; UINT32_MAX:
	 * look it up in the model.
	 */
	uint32_t *begins;
	/*
	 * For each place the time from its start to row_index_end(), ns; UINT32_MAX: look it up in
	 * the model.
	 */
	uint32_t *lengths;
	uint64_t *sums; /* total time of the stretches before every 256th place, ns; NULL for bands */
	/*
	 * For each row the place of its first stretch; one more item is the end. NULL when there
	 * are more rows than a quarter of the items.
	 */
	uint32_t *row_starts;
	struct row_nodes nodes;
	struct row_level levels[ROW_INDEX_LEVELS]; /* levels from 1 on; item 0 is not used */
	unsigned top;				   /* highest level, or 0 */
	uint64_t steps;				   /* number of accesses to a piece so far */
};

/*
 * Build the index of kind OF over VIEW. LIVES are those of its threads. ROW_INDEX_ALL has only the
 * threads whose bit is set in CHOSEN, or all if that is NULL. Return false without memory. Call
 * row_index_deinit() in any case.
 */
bool row_index_init(struct row_index *index, const struct mprof_model_view *view, enum row_index_kind of,
		    const struct scene_life *lives, const uint8_t *chosen);
void row_index_deinit(struct row_index *index);

/* Return the row, start and end of an item. */
uint32_t row_index_row(const struct row_index *index, uint32_t item);
uint64_t row_index_item_start(const struct row_index *index, uint32_t item);
uint64_t row_index_item_end(const struct row_index *index, uint32_t item);

/*
 * Collect the items of each row, sort them, and store their times (scene-gather.c). The caller
 * zeroes STARTS, with an item for each row and one more; it becomes the first place of each row,
 * and the end of the last. Return false without memory.
 */
bool row_index_gather(struct row_index *index, const struct scene_life *lives, const uint8_t *chosen, uint32_t *starts);

/* Return the start of the stretch at PLACE, ns; row_index_place_end() the end. */
static inline uint64_t row_index_place_start(const struct row_index *index, uint32_t place)
{
	if (index->begins && index->begins[place] < UINT32_MAX)
		return index->bases[place >> NODE_SHIFT] + index->begins[place];
	return row_index_item_start(index, index->items[place]);
}

static inline uint64_t row_index_place_end(const struct row_index *index, uint32_t place)
{
	if (index->begins && index->begins[place] < UINT32_MAX && index->lengths[place] < UINT32_MAX)
		return index->bases[place >> NODE_SHIFT] + index->begins[place] + index->lengths[place];
	return row_index_item_end(index, index->cover ? index->cover[place] : index->items[place]);
}

/*
 * Build the nodes over the N pieces of LEVEL, which let row_index_skip() skip pieces. Return false
 * without memory.
 */
bool row_index_sum_up(struct row_index *index, unsigned level, uint32_t n);
const struct row_nodes *row_index_nodes(const struct row_index *index, unsigned level);
/*
 * Return the number of pieces from FROM on that one node covers, if all are before TO, no gap
 * between them is longer than GAP ns, and none of them is longer than WIDTH ns. Else return 0.
 */
uint32_t row_index_skip(const struct row_nodes *nodes, uint32_t from, uint32_t to, double gap, double width);
void row_nodes_deinit(struct row_nodes *nodes);

/*
 * Return the total time of the stretches at the places from FROM up to, but not including, TO, ns.
 * INDEX must not be an index of bands.
 */
uint64_t row_index_total(struct row_index *index, uint32_t from, uint32_t to);

/* Store the pieces of BLOCK at LEVEL: from *FROM up to, but not including, *TO. */
void row_index_range(struct row_index *index, unsigned level, uint32_t block, uint32_t *from, uint32_t *to);
uint64_t row_index_start(struct row_index *index, unsigned level, uint32_t piece);
uint64_t row_index_end(struct row_index *index, unsigned level, uint32_t piece);
/* Return one of the items of PIECE. */
uint32_t row_index_item(const struct row_index *index, unsigned level, uint32_t piece);
/* Return the number of items of the pieces from FROM up to, but not including, TO. */
uint32_t row_index_count(const struct row_index *index, unsigned level, uint32_t from, uint32_t to);
/*
 * Search the pieces from FROM up to, but not including, TO. row_index_ends_from() returns the first
 * that ends at TIME or later, row_index_begins_after() the first that begins after TIME. Both
 * return TO if there is none.
 */
uint32_t row_index_ends_from(struct row_index *index, unsigned level, uint32_t from, uint32_t to, uint64_t time);
uint32_t row_index_begins_after(struct row_index *index, unsigned level, uint32_t from, uint32_t to, uint64_t time);

/*
 * Return the longest gap closed in BLOCK of LEVEL or in a block of a lower level that is part of
 * it, ns; 0 for none.
 */
uint64_t row_index_blur(const struct row_index *index, unsigned level, uint32_t block);

/*
 * Build the levels above 0 (scene-levels.c). STARTS is the start of each row in the items. Return
 * false without memory.
 */
bool row_index_build(struct row_index *index, const uint32_t *starts);

#endif
