/* What is drawn from row to row: the creation of a thread, what it becomes, and arrows; by time. */
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

/* Which of some links reaches up farthest, down farthest, back in time farthest. */
enum { LINKS_UP, LINKS_DOWN, LINKS_BACK, LINKS_WAYS };

struct link {
	uint64_t time;	/* where it ends */
	uint64_t begin; /* where it begins: never later */
	uint32_t from;	/* row */
	uint32_t to;	/* row */
	uint32_t item;	/* thread or interaction */
};

struct link_node {
	uint64_t back; /* time */
	uint32_t up;   /* row */
	uint32_t down;
	uint32_t at[LINKS_WAYS]; /* whose that is: places */
};

struct links {
	const struct mprof_model_view *view; /* borrowed */
	const struct scene_life *lives;	     /* borrowed while the nodes are made, then NULL */
	const uint32_t *rows;		     /* of all threads; borrowed; NULL: they are looked up */
	enum links_of of;
	uint32_t n;
	const uint32_t *items; /* by time; borrowed */
	uint64_t *times;       /* of every sixteenth place; NULL of fewer */
	struct link_node *nodes[LINKS_LEVELS];
	uint64_t steps; /* looks at a place or node */
};

struct links_all {
	struct links of[LINKS_KINDS];
	uint32_t *
		rows; /* of all threads, close together: a link is mostly between two that are looked at nowhere else; NULL where there are many */
	struct scene_groups verticals[2]; /* of LINKS_CREATION, LINKS_BECOMES */
	struct scene_groups arrows;
};

/* All links of a model with those lives into a zeroed ALL, which stays where it is.  False without memory.  Deinit in any case. */
bool links_init(struct links_all *all, const struct mprof_model_view *view, const struct scene_life *lives);
void links_deinit(struct links_all *all);

void links_get(const struct links *l, uint32_t place, struct link *link);
/* Its time alone, which is soon found. */
uint64_t links_time(const struct links *l, uint32_t place);
/*
 * The first place from FROM on with a link that ends at TIME or later; or one up to which there are some more, if they all end less than SLACK
 * ns behind TIME and it is found sooner.
 */
uint32_t links_from(struct links *l, uint32_t from, uint64_t time, uint64_t slack);

/* The links from FROM up to TO, exclusively, that reach farthest. */
void links_farthest(struct links *l, uint32_t from, uint32_t to, struct link_node *farthest);
/* The first place from FROM up to TO, exclusively, of a link that begins at TIME or before; TO where there is none. */
uint32_t links_reaching(struct links *l, uint32_t from, uint32_t to, uint64_t time);

/* What the nodes of L say.  False without memory. */
bool links_nodes_init(struct links *l);
void links_nodes_deinit(struct links *l);

#endif
