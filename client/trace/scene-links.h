/* What is drawn from row to row: the creation of a thread, what it becomes, and arrows; by time. */
#ifndef TRACE_SCENE_LINKS_H
#define TRACE_SCENE_LINKS_H

#include <mprof/model.h>

#include "scene-pyramid.h"
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

/* The measures of the pyramid: the link that reaches up farthest, down farthest, back in time farthest. */
enum { LINKS_UP, LINKS_DOWN, LINKS_BACK, LINKS_WAYS };

struct link {
	uint64_t time;	/* where it ends */
	uint64_t begin; /* where it begins: never later */
	uint32_t from;	/* row */
	uint32_t to;	/* row */
	uint32_t item;	/* thread or interaction */
};

struct links {
	const struct mprof_model_view *view; /* borrowed */
	enum links_of of;
	uint32_t n;
	const uint32_t *items; /* by time; borrowed */
	struct pyramid pyramid;
};

struct links_all {
	struct links of[LINKS_KINDS];
	struct scene_groups births[2]; /* of LINKS_CREATION, LINKS_BECOMES */
	struct scene_groups arrows;
};

/* All links of a model into a zeroed ALL, which stays where it is.  False without memory.  Deinit in any case. */
bool links_init(struct links_all *all, const struct mprof_model_view *view);
void links_deinit(struct links_all *all);

void links_get(const struct links *l, uint32_t place, struct link *link);
/* The first place from FROM on with a link that ends at TIME or later. */
uint32_t links_from(struct links *l, uint32_t from, uint64_t time);

#endif
