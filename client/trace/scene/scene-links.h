/*
 * *Links*: lines from row to row, by time. They are the vertical lines of creations and of threads
 * that become another, and the arrows of interactions.
 */
#ifndef TRACE_SCENE_LINKS_H
#define TRACE_SCENE_LINKS_H

#include <mprof/model.h>

#include "scene-row-index.h"
#include "scene-sort.h"

enum links_of {
	LINKS_CREATION,
	LINKS_BECOMES,
	LINKS_RESOLVE,
	LINKS_READ,
	LINKS_READ_FAILED,
	LINKS_TRY_READ,
	LINKS_SIGNAL,
	LINKS_KINDS,
};

#define LINKS_SHIFT  4u
#define LINKS_LEVELS 8u /* 16^8 = 2^32 */

/*
 * Directions in which one of several links reaches the farthest: to the highest row, to the lowest
 * row, and to the earliest time.
 */
enum { LINKS_UP, LINKS_DOWN, LINKS_BACK, LINKS_WAYS };

struct link {
	uint64_t time;	/* time at which the link ends */
	uint64_t begin; /* time at which the link begins, at or before TIME */
	uint32_t from;	/* row */
	uint32_t to;	/* row */
	uint32_t item;	/* index of the thread or interaction */
};

/* The rows of a link. */
struct link_rows {
	uint32_t from, to;
};

struct link_node {
	uint64_t back; /* time */
	uint32_t up;   /* row; DOWN too */
	uint32_t down;
	uint32_t at[LINKS_WAYS]; /* for each direction, the place of the link that reaches the farthest */
};

/* A node of the lowest level, and the rows of its first link. */
struct link_lowest {
	uint64_t back;
	uint32_t up;
	uint32_t down;
	struct link_rows first;
	uint8_t at[LINKS_WAYS]; /* as in struct link_node, but counted from the node's first place */
};

struct links {
	const struct mprof_model_view *view; /* the caller's */
	const struct scene_life *lives;	     /* the caller's, while the nodes are built; NULL afterwards */
	/* Row of each thread, the caller's; NULL: look the rows up in the model. */
	const uint32_t *rows;
	enum links_of of;
	uint32_t n;
	const uint32_t *items;	    /* items sorted by time, the caller's; the position of an item is its *place* */
	uint64_t *times;	    /* time of every sixteenth place; NULL for fewer than 16 */
	struct link_lowest *lowest; /* NULL for fewer than 16 */
	struct link_node *nodes[LINKS_LEVELS]; /* of the levels from 1 on */
	uint64_t steps;			       /* number of accesses to a place or node so far */
};

struct links_all {
	struct links of[LINKS_KINDS];
	uint32_t *
		/*
		 * The row of each thread. They are close together here, which saves cache misses:
		 * most of the two threads that a link joins are read for nothing else. NULL when
		 * there are many threads.
		 */
		rows;
	struct scene_groups verticals[2]; /* items of LINKS_CREATION, LINKS_BECOMES */
	struct scene_groups arrows;
};

/*
 * Build all links of VIEW, with LIVES of its threads, into a zeroed ALL, which must not move.
 * Return false without memory. Call links_deinit() in any case.
 */
bool links_init(struct links_all *all, const struct mprof_model_view *view, const struct scene_life *lives);
void links_deinit(struct links_all *all);

void links_get(const struct links *l, uint32_t place, struct link *link);
/*
 * Return the rows of the link at PLACE. This is faster than links_get(), and much faster for every
 * sixteenth place.
 */
struct link_rows links_rows(const struct links *l, uint32_t place);
/* Return the time at which the link at PLACE ends. The same holds for it. */
uint64_t links_time(const struct links *l, uint32_t place);
/*
 * Return the first place from FROM on whose link ends at TIME or later. To be faster, it may return
 * a later place if all links between end less than SLACK ns after TIME.
 */
uint32_t links_from(struct links *l, uint32_t from, uint64_t time, uint64_t slack);

/*
 * Store in *FARTHEST which links at the places from FROM up to, but not including, TO reach the
 * farthest.
 */
void links_farthest(struct links *l, uint32_t from, uint32_t to, struct link_node *farthest);
/*
 * Return the first place from FROM up to, but not including, TO whose link begins at TIME or
 * before; else TO.
 */
uint32_t links_reaching(struct links *l, uint32_t from, uint32_t to, uint64_t time);

/* Build the nodes of L. Return false without memory. */
bool links_nodes_init(struct links *l);
void links_nodes_deinit(struct links *l);

#endif
